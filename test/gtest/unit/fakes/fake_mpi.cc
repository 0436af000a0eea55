/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The linker leads calls of the library's functions for MPIs (mpi_abi.h) to here, so what these do
 * with a real MPI is not tested. While there is no fake::mpi, calls go on to them. A type that is
 * told as a content is counted until it is given back. A type that the MPI has by itself must not
 * be given back; those of F90_REAL, F90_COMPLEX and F90_INTEGER are taken for such. The MPI can
 * keep the envelope of a type to itself (is_silent); contents and extents are always told.
 */

#include "fake_mpi.h"

#include <gtest/gtest.h>

namespace fake {

mpi *mpi::current = nullptr;

mpi::mpi(ri_mpi_kind_t which) : kind(which)
{
    bool is_mpich = (which == RI_MPI_MPICH);

    m_abi.order_c            = is_mpich ? 56 : 0;
    m_abi.order_fortran      = is_mpich ? 57 : 1;
    m_abi.distribute_block   = is_mpich ? 121 : 0;
    m_abi.distribute_cyclic  = is_mpich ? 122 : 1;
    m_abi.distribute_none    = is_mpich ? 123 : 2;
    m_abi.distribute_default = is_mpich ? -49767 : -1;
    current                  = this;
}

mpi::~mpi()
{
    current = nullptr;
}

uintptr_t mpi::add(const mpi_type &type)
{
    m_types[++m_next] = type;
    return m_next;
}

uintptr_t mpi::add_basic(int64_t size, int combiner)
{
    mpi_type type = {combiner};

    type.size = type.extent = type.true_extent = size;
    return add(type);
}

mpi_type &mpi::type(uintptr_t handle)
{
    EXPECT_EQ(1u, m_types.count(handle)) << "there is no such type";
    return m_types[handle];
}

int mpi::references() const
{
    int sum = 0;

    for (auto &entry : m_types) {
        EXPECT_GE(entry.second.references, 0);
        sum += entry.second.references;
    }
    return sum;
}

static bool is_basic(const mpi_type &type)
{
    switch (type.combiner) {
    case RI_MPI_NAMED:
    case RI_MPI_F90_REAL:
    case RI_MPI_F90_COMPLEX:
    case RI_MPI_F90_INTEGER:
        return true;
    default:
        return false;
    }
}

} // namespace fake

using fake::mpi;

extern "C" {

ri_mpi_kind_t __real_ri_mpi_kind(void);
ri_mpi_kind_t __wrap_ri_mpi_kind(void);
const ri_mpi_abi_t *__real_ri_mpi_abi(void);
const ri_mpi_abi_t *__wrap_ri_mpi_abi(void);
int __real_ri_mpi_envelope(uintptr_t type, ri_mpi_envelope_t *envelope);
int __wrap_ri_mpi_envelope(uintptr_t type, ri_mpi_envelope_t *envelope);
int __real_ri_mpi_contents(uintptr_t type, const ri_mpi_envelope_t *envelope,
                           int64_t *ints, intptr_t *addresses, uintptr_t *types);
int __wrap_ri_mpi_contents(uintptr_t type, const ri_mpi_envelope_t *envelope,
                           int64_t *ints, intptr_t *addresses, uintptr_t *types);
void __real_ri_mpi_type_free(uintptr_t type);
void __wrap_ri_mpi_type_free(uintptr_t type);
int64_t __real_ri_mpi_size(uintptr_t type);
int64_t __wrap_ri_mpi_size(uintptr_t type);
int __real_ri_mpi_extent(uintptr_t type, int is_true, intptr_t *lb, intptr_t *extent);
int __wrap_ri_mpi_extent(uintptr_t type, int is_true, intptr_t *lb, intptr_t *extent);

ri_mpi_kind_t __wrap_ri_mpi_kind(void)
{
    return (mpi::current == nullptr) ? __real_ri_mpi_kind() : mpi::current->kind;
}

const ri_mpi_abi_t *__wrap_ri_mpi_abi(void)
{
    return (mpi::current == nullptr) ? __real_ri_mpi_abi() : mpi::current->abi();
}

int __wrap_ri_mpi_envelope(uintptr_t handle, ri_mpi_envelope_t *envelope)
{
    if (mpi::current == nullptr) {
        return __real_ri_mpi_envelope(handle, envelope);
    }

    fake::mpi_type &type = mpi::current->type(handle);

    ++mpi::current->asked;
    envelope->num_ints      = (int64_t)type.ints.size();
    envelope->num_addresses = (int64_t)type.addresses.size();
    envelope->num_types     = (int64_t)type.types.size();
    envelope->num_counts    = 0;
    envelope->combiner      = type.combiner;
    return !type.is_silent;
}

int __wrap_ri_mpi_contents(uintptr_t handle, const ri_mpi_envelope_t *envelope,
                           int64_t *ints, intptr_t *addresses, uintptr_t *types)
{
    if (mpi::current == nullptr) {
        return __real_ri_mpi_contents(handle, envelope, ints, addresses, types);
    }

    fake::mpi_type &type = mpi::current->type(handle);

    EXPECT_FALSE(is_basic(type)) << "it has no contents";
    EXPECT_EQ((int64_t)type.types.size(), envelope->num_types);
    std::copy(type.ints.begin(), type.ints.end(), ints);
    std::copy(type.addresses.begin(), type.addresses.end(), addresses);
    for (size_t i = 0; i < type.types.size(); ++i) {
        types[i] = type.types[i];
        mpi::current->type(types[i]).references +=
                !is_basic(mpi::current->type(types[i]));
    }
    return 1;
}

void __wrap_ri_mpi_type_free(uintptr_t handle)
{
    if (mpi::current == nullptr) {
        __real_ri_mpi_type_free(handle);
        return;
    }
    EXPECT_FALSE(is_basic(mpi::current->type(handle))) << "it is the MPI's own";
    --mpi::current->type(handle).references;
}

int64_t __wrap_ri_mpi_size(uintptr_t handle)
{
    return (mpi::current == nullptr) ? __real_ri_mpi_size(handle) :
                                       mpi::current->type(handle).size;
}

int __wrap_ri_mpi_extent(uintptr_t handle, int is_true, intptr_t *lb, intptr_t *extent)
{
    if (mpi::current == nullptr) {
        return __real_ri_mpi_extent(handle, is_true, lb, extent);
    }

    fake::mpi_type &type = mpi::current->type(handle);

    *lb     = is_true ? type.true_lb : type.lb;
    *extent = is_true ? type.true_extent : type.extent;
    return 1;
}
}
