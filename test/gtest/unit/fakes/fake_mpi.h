/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The MPI that layouts are read from: datatypes as tests say. (gtest_unit is linked with --wrap;
 * without such an MPI the library asks that of its process, which has none.)
 */
#ifndef RI_TEST_FAKE_MPI_H
#define RI_TEST_FAKE_MPI_H

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/dt/mpi_abi.h"
}

#include <map>
#include <vector>

namespace fake {

/* A datatype, and what the MPI says of it. */
struct mpi_type {
    int combiner;
    std::vector<int64_t> ints       = {};
    std::vector<intptr_t> addresses = {};
    std::vector<uintptr_t> types    = {};
    int64_t size                    = 0;
    intptr_t lb                     = 0;
    intptr_t extent                 = 0;
    intptr_t true_lb                = 0;
    intptr_t true_extent            = 0;
    int references                  = 0;     /* that were told, and not given back */
    bool is_silent                  = false; /* it is not said how it was made */
};

/* The MPI of the process as long as this lives. */
class mpi {
public:
    explicit mpi(ri_mpi_kind_t kind);
    ~mpi();

    uintptr_t add(const mpi_type &type);
    uintptr_t add_basic(int64_t size, int combiner = RI_MPI_NAMED);
    mpi_type &type(uintptr_t handle);
    int references() const;
    ri_mpi_abi_t *abi() { return &m_abi; }

    static mpi *current;
    ri_mpi_kind_t kind;
    unsigned asked = 0; /* how often an envelope was asked for */

private:
    ri_mpi_abi_t m_abi = {};
    std::map<uintptr_t, mpi_type> m_types;
    uintptr_t m_next = 0x4c000000;
};

} // namespace fake

#endif
