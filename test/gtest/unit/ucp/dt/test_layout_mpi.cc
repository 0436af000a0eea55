/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/dt/layout_mpi.c: what is made of what an MPI says of a datatype, and of what is wrong in
 * that. (test/mpi/type_layouts.c does this with real MPIs.)
 */

#include "unit/common/ri_cpp.h"
#include "unit/fakes/fake_malloc.h"
#include "unit/fakes/fake_mpi.h"

extern "C" {
#include "ucp/dt/layout_mpi.h"
}

#include <algorithm>
#include <gtest/gtest.h>

namespace {

using fake::mpi_type;

using places = std::vector<int64_t>;

constexpr uint64_t BASE = uint64_t(1) << 40; /* of a buffer that nobody looks at */

/* The places of bytes in runs, each of @a length. */
places runs(size_t length, const places &starts)
{
    places all;

    for (int64_t start : starts) {
        for (size_t i = 0; i < length; ++i) {
            all.push_back(start + (int64_t)i);
        }
    }
    return all;
}

places operator+(places first, const places &second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

class test_layout_mpi : public testing::TestWithParam<ri_mpi_kind_t> {
protected:
    void TearDown() override
    {
        EXPECT_EQ(0, m_mpi.references()) << "types were not given back";
    }

    /* The places of the bytes of an element, in the order of the data. */
    static places places_of(const ri_layout_t *layout)
    {
        places all;
        size_t length;

        while (all.size() < layout->size) {
            ri_segment_t segments[4];

            length       = layout->size - all.size();
            size_t count = ri_layout_copy_segments(layout, (void *)BASE, 1, all.size(),
                                                   &length, segments, 4);
            EXPECT_GT(count, 0u);
            for (size_t i = 0; i < count; ++i) {
                all = all +
                      runs(segments[i].length, {(int64_t)(segments[i].address - BASE)});
            }
        }
        return all;
    }

    /* A type of which the MPI knows that its data is there; it has no gaps at its ends. */
    uintptr_t add(mpi_type type, const places &there)
    {
        type.size = (int64_t)there.size();
        if (!there.empty()) {
            type.true_lb     = *std::min_element(there.begin(), there.end());
            type.true_extent = *std::max_element(there.begin(), there.end()) + 1 -
                               type.true_lb;
        }
        type.lb = type.true_lb;
        if (type.extent == 0) {
            type.extent = type.true_extent;
        }
        return m_mpi.add(type);
    }

    void expect(const mpi_type &type, const places &there)
    {
        uintptr_t handle    = add(type, there);
        ri_layout_t *layout = ri_layout_mpi_read(handle);

        ASSERT_NE(nullptr, layout);
        EXPECT_EQ(there, places_of(layout));
        EXPECT_EQ(m_mpi.type(handle).extent, layout->extent);
        ri_layout_put(layout);
    }

    /* Nothing is made of a type. */
    void expect_none(uintptr_t handle) { EXPECT_EQ(nullptr, ri_layout_mpi_read(handle)); }

    void expect_none(const mpi_type &type, const places &there = runs(8, {0}))
    {
        expect_none(add(type, there));
    }

    fake::mpi m_mpi{GetParam()};
    uintptr_t m_int    = m_mpi.add_basic(4);
    uintptr_t m_double = m_mpi.add_basic(8);
};

TEST_P(test_layout_mpi, basic)
{
    for (int combiner :
         {RI_MPI_NAMED, RI_MPI_F90_REAL, RI_MPI_F90_COMPLEX, RI_MPI_F90_INTEGER}) {
        mpi_type type = {combiner};

        expect(type, runs(16, {0}));
        expect(type, {});
        expect(type, runs(2, {0}) + runs(4, {4})); /* a short and an int */
        expect_none(type, runs(6, {0}) + runs(4, {6 + 2}));
        expect_none(type, runs(2, {0}) + runs(4, {6}));
        expect_none(type, runs(8, {4}));
        type.size = -1;
        expect_none(m_mpi.add(type));
    }
}

TEST_P(test_layout_mpi, another_as_it_is)
{
    uintptr_t two = add({RI_MPI_CONTIGUOUS, {2}, {}, {m_int}}, runs(8, {0}));

    expect({RI_MPI_DUP, {}, {}, {two}}, runs(8, {0}));
    mpi_type resized = {RI_MPI_RESIZED, {}, {0, 32}, {two}};
    resized.extent   = 32;
    expect(resized, runs(8, {0}));
    expect_none({RI_MPI_DUP, {}, {}, {}});
    expect_none({RI_MPI_DUP, {}, {}, {two, two}});
}

TEST_P(test_layout_mpi, contiguous)
{
    mpi_type wide = {RI_MPI_RESIZED, {}, {0, 12}, {m_int}};
    wide.extent   = 12;

    expect({RI_MPI_CONTIGUOUS, {5}, {}, {m_int}}, runs(20, {0}));
    expect({RI_MPI_CONTIGUOUS, {3}, {}, {add(wide, runs(4, {0}))}}, runs(4, {0, 12, 24}));
    expect({RI_MPI_CONTIGUOUS, {0}, {}, {m_int}}, {});
    expect_none({RI_MPI_CONTIGUOUS, {-1}, {}, {m_int}});
    expect_none({RI_MPI_CONTIGUOUS, {}, {}, {m_int}});
    expect_none({RI_MPI_CONTIGUOUS, {2}, {}, {}});
}

TEST_P(test_layout_mpi, vector)
{
    expect({RI_MPI_VECTOR, {3, 2, 4}, {}, {m_int}}, runs(8, {0, 16, 32}));
    expect({RI_MPI_VECTOR, {3, 1, -2}, {}, {m_int}}, runs(4, {0, -8, -16}));
    expect({RI_MPI_HVECTOR, {3, 2}, {9}, {m_int}}, runs(8, {0, 9, 18}));
    expect({RI_MPI_HVECTOR, {2, 2}, {-20}, {m_int}}, runs(8, {0, -20}));
    expect({RI_MPI_VECTOR, {0, 2, 4}, {}, {m_int}}, {});
    expect_none({RI_MPI_VECTOR, {-1, 2, 4}, {}, {m_int}});
    expect_none({RI_MPI_VECTOR, {3, -2, 4}, {}, {m_int}});
    expect_none({RI_MPI_VECTOR, {3, 2}, {}, {m_int}});
    expect_none({RI_MPI_HVECTOR, {3}, {9}, {m_int}});
    expect_none({RI_MPI_HVECTOR, {3, 2}, {}, {m_int}});

    mpi_type far = {RI_MPI_RESIZED, {}, {0, INT64_MAX / 2}, {m_int}};
    far.extent   = INT64_MAX / 2;
    expect_none({RI_MPI_VECTOR, {2, 1, 4}, {}, {add(far, runs(4, {0}))}});
}

TEST_P(test_layout_mpi, indexed)
{
    expect({RI_MPI_INDEXED, {3, 1, 0, 2, 5, 9, -3}, {}, {m_int}},
           runs(4, {20}) + runs(8, {-12}));
    expect({RI_MPI_HINDEXED, {2, 2, 1}, {30, 5}, {m_int}}, runs(8, {30}) + runs(4, {5}));
    expect({RI_MPI_INDEXED_BLOCK, {3, 2, 7, 0, 4}, {}, {m_int}}, runs(8, {28, 0, 16}));
    expect({RI_MPI_HINDEXED_BLOCK, {2, 2}, {50, 3}, {m_int}}, runs(8, {50, 3}));
    expect({RI_MPI_INDEXED, {0}, {}, {m_int}}, {});

    expect_none({RI_MPI_INDEXED, {3, 1, 0, 2, 5, 9}, {}, {m_int}});
    expect_none({RI_MPI_INDEXED, {-1, 1}, {}, {m_int}});
    expect_none({RI_MPI_INDEXED, {1, -1, 0}, {}, {m_int}});
    expect_none({RI_MPI_HINDEXED, {2, 2}, {30, 5}, {m_int}});
    expect_none({RI_MPI_HINDEXED, {2, 2, 1}, {30}, {m_int}});
    expect_none({RI_MPI_INDEXED_BLOCK, {3, 2, 7, 0}, {}, {m_int}});
    expect_none({RI_MPI_INDEXED_BLOCK, {3}, {}, {m_int}});
    expect_none({RI_MPI_HINDEXED_BLOCK, {2, 2}, {50}, {m_int}});
}

TEST_P(test_layout_mpi, structs)
{
    uintptr_t two = add({RI_MPI_CONTIGUOUS, {2}, {}, {m_int}}, runs(8, {0}));

    expect({RI_MPI_STRUCT, {3, 1, 2, 1}, {0, 8, 40}, {m_int, m_double, two}},
           runs(4, {0}) + runs(16, {8}) + runs(8, {40}));
    expect({RI_MPI_STRUCT, {3, 1, 1, 1}, {0, 9, 40}, {two, two, m_int}},
           runs(8, {0, 9}) + runs(4, {40}));
    expect({RI_MPI_STRUCT, {0}, {}, {}}, {});

    m_mpi.asked = 0;
    expect({RI_MPI_STRUCT, {2, 1, 1}, {0, 9}, {m_int, m_int}}, runs(4, {0, 9}));
    EXPECT_EQ(4u, m_mpi.asked) << "the struct, its type once, and both to be given back";

    expect_none({RI_MPI_STRUCT, {}, {}, {m_int}});
    expect_none({RI_MPI_STRUCT, {-1}, {}, {m_int}});
    expect_none({RI_MPI_STRUCT, {2, 1}, {0, 9}, {m_int, two}});
    expect_none({RI_MPI_STRUCT, {2, 1, 1}, {0}, {m_int, two}});
    expect_none({RI_MPI_STRUCT, {2, 1, 1}, {0, 9}, {two}});
    expect_none({RI_MPI_STRUCT, {2, 1, -1}, {0, 9}, {two, m_int}});

    uintptr_t silent             = m_mpi.add_basic(4);
    m_mpi.type(silent).is_silent = true;
    expect_none({RI_MPI_STRUCT, {2, 1, 1}, {0, 9}, {two, silent}});
    expect_none({RI_MPI_STRUCT, {2, 1, 1}, {0, 9}, {silent, two}});
}

TEST_P(test_layout_mpi, subarray)
{
    int c = m_mpi.abi()->order_c, fortran = m_mpi.abi()->order_fortran;

    /* 2 x 3 of 4 x 10, from (1, 5) on; in C's order the last dimension is the fast one */
    expect({RI_MPI_SUBARRAY, {2, 4, 10, 2, 3, 1, 5, c}, {}, {m_int}},
           runs(12, {4 * 15, 4 * 25}));
    expect({RI_MPI_SUBARRAY, {2, 4, 10, 2, 3, 1, 5, fortran}, {}, {m_int}},
           runs(8, {4 * 21, 4 * 25, 4 * 29}));
    expect({RI_MPI_SUBARRAY, {1, 10, 0, 3, c}, {}, {m_int}}, {});

    expect_none({RI_MPI_SUBARRAY, {1, 10, 2, 3, 99}, {}, {m_int}});
    expect_none({RI_MPI_SUBARRAY, {1, -1, 2, 3, c}, {}, {m_int}});
    expect_none({RI_MPI_SUBARRAY, {1, 10, -2, 3, c}, {}, {m_int}});
    expect_none({RI_MPI_SUBARRAY, {1, 10, 2, c}, {}, {m_int}});
    expect_none({RI_MPI_SUBARRAY, {65}, {}, {m_int}});

    std::vector<int64_t> many(2 + 3 * 65, 1);
    many.front() = 65;
    many.back()  = c;
    expect_none({RI_MPI_SUBARRAY, many, {}, {m_int}}, runs(4, {0}));
}

/* Functions with counts may have arguments that no int can hold. */
TEST_P(test_layout_mpi, counts)
{
    const int64_t most = INT64_MAX;
    uintptr_t type =
            m_mpi.add({RI_MPI_HINDEXED, {2, most >> 10, 7}, {-(1l << 40), 64}, {m_int}});
    ri_layout_t *layout;

    mpi_type &entry = m_mpi.type(type);

    entry.size        = ((most >> 10) + 7) * 4;
    entry.true_lb     = -(1l << 40);
    entry.true_extent = (most >> 10) * 4;
    entry.extent      = entry.true_extent;
    layout            = ri_layout_mpi_read(type);
    ASSERT_NE(nullptr, layout);
    EXPECT_EQ(2u, layout->stats.runs);
    EXPECT_EQ(-(1l << 40), layout->stats.lo);
    ri_layout_put(layout);

    expect_none({RI_MPI_CONTIGUOUS, {most}, {}, {m_int}});
    expect_none({RI_MPI_VECTOR, {2, most / 2, 8}, {}, {m_int}});
    expect_none({RI_MPI_INDEXED, {most}, {}, {m_int}});
    expect_none({RI_MPI_HINDEXED_BLOCK, {most, 1}, {0}, {m_int}});
    expect_none({RI_MPI_STRUCT, {most}, {0}, {m_int}});
    expect_none({RI_MPI_SUBARRAY, {most}, {}, {m_int}});
    expect_none({RI_MPI_DARRAY, {1, 0, most, 1}, {}, {m_int}});
}

/* One dimension: of @a size, of process @a rank of @a procs. */
mpi_type darray(int size, int distribution, int argument, int procs, int rank, int order,
                uintptr_t type)
{
    return {RI_MPI_DARRAY,
            {procs, rank, 1, size, distribution, argument, procs, order},
            {},
            {type}};
}

TEST_P(test_layout_mpi, darray)
{
    const ri_mpi_abi_t *abi = m_mpi.abi();
    int order               = abi->order_c;
    int none                = abi->distribute_default;
    int block               = abi->distribute_block;
    int cyclic              = abi->distribute_cyclic;

    /* 10 elements for 3: 4, 4 and 2 */
    expect(darray(10, block, none, 3, 0, order, m_int), runs(16, {0}));
    expect(darray(10, block, none, 3, 2, order, m_int), runs(8, {32}));
    expect(darray(10, block, 5, 3, 1, order, m_int), runs(20, {20}));
    expect(darray(10, block, 5, 3, 2, order, m_int), {});
    expect(darray(10, cyclic, none, 3, 0, order, m_int), runs(4, {0, 12, 24, 36}));
    expect(darray(10, cyclic, none, 3, 1, order, m_int), runs(4, {4, 16, 28}));
    expect(darray(11, cyclic, 2, 2, 0, order, m_int), runs(8, {0, 16, 32}));
    expect(darray(9, cyclic, 2, 2, 0, order, m_int), runs(8, {0, 16}) + runs(4, {32}));
    expect(darray(10, abi->distribute_none, none, 1, 0, order, m_int), runs(40, {0}));

    expect_none(darray(10, abi->distribute_none, none, 2, 0, order, m_int));
    expect_none(darray(10, 77, none, 2, 0, order, m_int));
    expect_none(darray(10, cyclic, 0, 2, 0, order, m_int));
    expect_none(darray(10, block, -7, 2, 0, order, m_int));
    expect_none(darray(0, block, none, 2, 0, order, m_int));
    expect_none(darray(10, block, none, 0, 0, order, m_int));
    expect_none(darray(10, block, none, -1, 0, order, m_int));
    expect_none(darray(10, block, none, 2, 0, 99, m_int));
    expect_none({RI_MPI_DARRAY, {2, 0, 1}, {}, {m_int}});
    expect_none({RI_MPI_DARRAY, {2, 0, -1, order}, {}, {m_int}});
    expect_none({RI_MPI_DARRAY, {2, 0, 65, order}, {}, {m_int}});
    expect_none({RI_MPI_DARRAY, {2, 0, 1, 10, block, none, 2}, {}, {m_int}});
    expect_none({RI_MPI_DARRAY, {2, 0, 1, 10, block, none, 2, order}, {}, {}});
}

/* 4 x 6 elements for 2 x 3 processes: the last dimension of the processes is the fast one. */
TEST_P(test_layout_mpi, darray_of_two_dimensions)
{
    const ri_mpi_abi_t *abi = m_mpi.abi();
    int none                = abi->distribute_default;
    int block               = abi->distribute_block;

    auto type = [&](int rank, int order) {
        return mpi_type{RI_MPI_DARRAY,
                        {6, rank, 2, 4, 6, block, block, none, none, 2, 3, order},
                        {},
                        {m_int}};
    };

    /* (0, 1), (1, 2) of the processes */
    expect(type(1, abi->order_c), runs(8, {4 * 2, 4 * 8}));
    expect(type(5, abi->order_c), runs(8, {4 * 16, 4 * 22}));
    expect(type(1, abi->order_fortran), runs(8, {4 * 8, 4 * 12}));
    expect(type(5, abi->order_fortran), runs(8, {4 * 18, 4 * 22}));
}

TEST_P(test_layout_mpi, what_the_mpi_sees_otherwise)
{
    mpi_type type = {RI_MPI_VECTOR, {3, 1, -1}, {}, {m_int}};
    places there  = runs(4, {0, -4, -8});

    expect(type, there);
    expect_none(type, runs(12, {0}));        /* as Open MPI 4.1 does */
    expect_none(type, there + runs(1, {4})); /* another size */
    expect_none(type, runs(12, {-7}));
    expect_none(type, runs(12, {-9}));
    type.combiner = 99;
    expect_none(type, there);
    type.combiner = RI_MPI_HVECTOR_INTEGER;
    expect_none(type, there);
}

TEST_P(test_layout_mpi, no_mpi)
{
    m_mpi.kind = RI_MPI_NONE;
    expect_none(m_int);
}

/* As many types as are asked for. */
TEST_P(test_layout_mpi, many_types)
{
    for (int count : {4095, 4096}) {
        mpi_type type = {RI_MPI_STRUCT, {count}, {}, {}};
        places there;

        for (int i = 0; i < count; ++i) {
            type.ints.push_back(1);
            type.addresses.push_back(5 * i);
            type.types.push_back((i % 2) ? m_int : m_mpi.add_basic(4));
            there.push_back(5 * i);
        }
        there = runs(4, there);
        if (count == 4095) {
            expect(type, there);
        } else {
            expect_none(type, there);
        }
    }
}

TEST_P(test_layout_mpi, too_many_arguments)
{
    mpi_type type = {RI_MPI_HINDEXED_BLOCK, {1, 1}, {0}, {m_double}};

    type.addresses.resize(2 * RI_LAYOUT_ENTRIES_MAX + 2);
    expect(type, runs(8, {0}));
    type.addresses.resize(2 * RI_LAYOUT_ENTRIES_MAX + 3);
    expect_none(type);
}

TEST_P(test_layout_mpi, no_memory)
{
    uintptr_t pairs     = add({RI_MPI_VECTOR, {2, 1, 2}, {}, {m_int}}, runs(4, {0, 8}));
    uintptr_t handle    = add({RI_MPI_STRUCT, {2, 1, 1}, {0, 90}, {pairs, m_double}},
                              runs(4, {0, 8}) + runs(8, {90}));
    ri_layout_t *layout = nullptr;
    int fails           = 0;

    for (; layout == nullptr; ++fails) {
        ASSERT_LT(fails, 100);
        fake::malloc_fails_after = fails;
        layout                   = ri_layout_mpi_read(handle);
        EXPECT_TRUE((layout != nullptr) || (fake::malloc_fails_after == -1)) << fails;
        fake::malloc_fails_after = -1;
        EXPECT_EQ(0, m_mpi.references());
    }
    EXPECT_GT(fails, 2);
    EXPECT_EQ(runs(4, {0, 8}) + runs(8, {90}), places_of(layout));
    ri_layout_put(layout);
}

INSTANTIATE_TEST_SUITE_P(mpis, test_layout_mpi,
                         testing::Values(RI_MPI_MPICH, RI_MPI_OPEN_MPI),
                         [](const testing::TestParamInfo<ri_mpi_kind_t> &info) {
                             return (info.param == RI_MPI_MPICH) ? "mpich" : "openmpi";
                         });

} // namespace
