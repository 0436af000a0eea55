/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/win/element.[hc]: operations on elements, against what C++ makes of them. Of the MPI there
 * are the handles only: its functions are the test's. */

#include "unit/common/rng.h"
#include "unit/win/win_cpp.h"

#if HAVE_WIN_MPICH

#include <climits>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace {

/* Types of which MPICH's handle does not say the size */
const MPI_Datatype PAIR = MPI_DOUBLE_INT;
const MPI_Aint GAP      = 4; /* behind each element of that type */

/* What MPI_Reduce_local() was called with */
struct reduced {
    const void *from;
    void *to;
    int count;
};

std::vector<reduced> g_reduced;
int g_reduce_result; /* of the last one that may be called */

size_t size_of(MPI_Datatype handle)
{
    return (handle == PAIR) ? sizeof(double) + sizeof(int) : (handle & 0xff00) >> 8;
}

} // namespace

extern "C" {

int PMPI_Type_size(MPI_Datatype handle, int *size)
{
    *size = (int)size_of(handle);
    return MPI_SUCCESS;
}

int PMPI_Type_get_extent(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *extent)
{
    *lb     = 0;
    *extent = (MPI_Aint)size_of(handle) + ((handle == PAIR) ? GAP : 0);
    return MPI_SUCCESS;
}

int PMPI_Reduce_local(const void *from, void *to, int count, MPI_Datatype, MPI_Op)
{
    g_reduced.push_back({from, to, count});
    return (g_reduced.size() == 2) ? g_reduce_result : MPI_SUCCESS;
}
}

namespace {

struct op_case {
    MPI_Op op;
    const char *name;
};

const op_case OPS[] = {
        {MPI_REPLACE, "REPLACE"}, {MPI_NO_OP, "NO_OP"},  {MPI_SUM, "SUM"},
        {MPI_PROD, "PROD"},       {MPI_MIN, "MIN"},      {MPI_MAX, "MAX"},
        {MPI_BAND, "BAND"},       {MPI_BOR, "BOR"},      {MPI_BXOR, "BXOR"},
        {MPI_LAND, "LAND"},       {MPI_LOR, "LOR"},      {MPI_LXOR, "LXOR"},
        {MPI_MINLOC, "MINLOC"},   {MPI_MAXLOC, "MAXLOC"}};

bool is_one_of(MPI_Op op, std::initializer_list<MPI_Op> ops)
{
    return std::find(ops.begin(), ops.end(), op) != ops.end();
}

template <typename type> struct number {
};

#define NUMBER(_name, _type) \
    template <> struct number<_type> { \
        static constexpr ri_element_kind_t kind = RI_ELEMENT_##_name; \
    };
RI_ELEMENT_NUMBERS(NUMBER)

/* What an operation makes of two numbers; integers wrap. */
template <typename type> type result(MPI_Op op, type a, type b)
{
    if (op == MPI_REPLACE) {
        return a;
    } else if (op == MPI_NO_OP) {
        return b;
    } else if (op == MPI_MIN) {
        return std::min(a, b);
    } else if (op == MPI_MAX) {
        return std::max(a, b);
    }
    if constexpr (std::is_integral_v<type>) {
        uint64_t x = (uint64_t)a, y = (uint64_t)b;

        return (type)((op == MPI_SUM)  ? x + y :
                      (op == MPI_PROD) ? x * y :
                      (op == MPI_BAND) ? (x & y) :
                      (op == MPI_BOR)  ? (x | y) :
                                         (x ^ y));
    } else {
        return (op == MPI_SUM) ? a + b : a * b;
    }
}

template <typename type> type any(rng &random)
{
    if (random.percent(20)) {
        return std::numeric_limits<type>::max();
    } else if (random.percent(20)) {
        return std::numeric_limits<type>::lowest();
    }
    return std::is_integral_v<type> ? (type)random.next() : (type)random.next() / 16;
}

class test_element : public ::testing::Test {
protected:
    test_element()
    {
        g_reduced.clear();
        g_reduce_result = MPI_SUCCESS;
    }

    static ri_element_t element(ri_element_kind_t kind, size_t size)
    {
        ri_element_t e = {};

        e.kind   = kind;
        e.size   = size;
        e.extent = (MPI_Aint)size;
        return e;
    }

    /* All operations that a type has, on elements at any address */
    template <typename type> static void apply(rng &random)
    {
        const ri_element_t e = element(number<type>::kind, sizeof(type));
        const size_t MOST    = 100;
        char from[(MOST + 1) * sizeof(type)], to[sizeof(from)], before[sizeof(from)];

        for (const op_case &op : OPS) {
            if (!is_done(e, op.op)) {
                continue;
            }
            const size_t count  = random.below(MOST);
            const size_t at     = random.below(sizeof(type));
            const unsigned code = ri_element_code(&e, op.op);
            type a, b, got;

            SCOPED_TRACE(op.name);
            for (size_t i = 0; i < MOST; ++i) {
                a = any<type>(random);
                b = any<type>(random);
                memcpy(from + at + i * sizeof(type), &a, sizeof(a));
                memcpy(before + at + i * sizeof(type), &b, sizeof(b));
            }
            for (bool by_code : {false, true}) {
                memcpy(to, before, sizeof(to));
                if (by_code) {
                    ASSERT_NE(0u, code);
                    ASSERT_TRUE(ri_element_apply_code(code, from + at, to + at,
                                                      count * sizeof(type)));
                } else {
                    ASSERT_EQ(MPI_SUCCESS,
                              ri_element_apply(&e, op.op, from + at, to + at, count));
                }
                for (size_t i = 0; i < MOST; ++i) {
                    memcpy(&a, from + at + i * sizeof(type), sizeof(a));
                    memcpy(&b, before + at + i * sizeof(type), sizeof(b));
                    memcpy(&got, to + at + i * sizeof(type), sizeof(got));
                    b = (i < count) ? result(op.op, a, b) : b;
                    ASSERT_EQ(0, memcmp(&b, &got, sizeof(b))) << i << " of " << count;
                }
            }
        }
        EXPECT_TRUE(g_reduced.empty());
    }

    /* Whether this library does it */
    static bool is_done(const ri_element_t &e, MPI_Op op)
    {
        return (ri_element_check(&e, op) == MPI_SUCCESS) &&
               !is_one_of(op, {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC});
    }
};

TEST_F(test_element, of_a_type)
{
    const struct {
        MPI_Datatype handle;
        ri_element_kind_t kind;
        size_t size;
    } types[] = {{MPI_INT, RI_ELEMENT_I32, 4},
                 {MPI_LONG, RI_ELEMENT_I64, 8},
                 {MPI_SHORT, RI_ELEMENT_I16, 2},
                 {MPI_SIGNED_CHAR, RI_ELEMENT_I8, 1},
                 {MPI_UNSIGNED_CHAR, RI_ELEMENT_U8, 1},
                 {MPI_UINT16_T, RI_ELEMENT_U16, 2},
                 {MPI_UNSIGNED, RI_ELEMENT_U32, 4},
                 {MPI_UINT64_T, RI_ELEMENT_U64, 8},
                 {MPI_AINT, RI_ELEMENT_I64, 8},
                 {MPI_FLOAT, RI_ELEMENT_F32, 4},
                 {MPI_DOUBLE, RI_ELEMENT_F64, 8},
                 {MPI_LONG_DOUBLE, RI_ELEMENT_OTHER, sizeof(long double)},
                 {MPI_C_DOUBLE_COMPLEX, RI_ELEMENT_COMPLEX, 16},
                 {MPI_C_BOOL, RI_ELEMENT_LOGICAL, 1},
                 {MPI_2INT, RI_ELEMENT_PAIR, 8},
                 {MPI_PACKED, RI_ELEMENT_TEXT, 1},
                 {MPI_BYTE, RI_ELEMENT_BYTE, 1}};

    for (const auto &type : types) {
        ri_element_t e = ri_element_of(type.handle);

        EXPECT_EQ(type.handle, e.handle);
        EXPECT_EQ(type.kind, e.kind) << std::hex << type.handle;
        EXPECT_EQ(type.size, e.size) << std::hex << type.handle;
        EXPECT_EQ((MPI_Aint)type.size, e.extent);
    }
    EXPECT_EQ((MPI_Aint)ri_element_of(PAIR).size + GAP, ri_element_of(PAIR).extent);
    EXPECT_EQ(0u, ri_element_of(MPI_DATATYPE_NULL).size);
    EXPECT_EQ(RI_ELEMENT_OTHER, ri_element_of(MPI_DATATYPE_NULL).kind);
}

/* All names that types have in C and Fortran, by what MPICH's handle says of the size */
TEST_F(test_element, of_all_types)
{
    const ri_element_kind_t integers[] = {RI_ELEMENT_I8, RI_ELEMENT_I16, RI_ELEMENT_I32,
                                          RI_ELEMENT_I64};
    const ri_element_kind_t naturals[] = {RI_ELEMENT_U8, RI_ELEMENT_U16, RI_ELEMENT_U32,
                                          RI_ELEMENT_U64};
    const std::vector<MPI_Datatype> i  = {
             MPI_CHAR,     MPI_LONG_LONG_INT, MPI_INT8_T,  MPI_INT16_T, MPI_INT32_T,
             MPI_INT64_T,  MPI_OFFSET,        MPI_COUNT,   MPI_INTEGER, MPI_INTEGER1,
             MPI_INTEGER2, MPI_INTEGER4,      MPI_INTEGER8};
    const std::vector<MPI_Datatype> u       = {MPI_UNSIGNED_LONG, MPI_UNSIGNED_SHORT,
                                               MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
                                               MPI_UINT32_T};
    const std::vector<MPI_Datatype> f32     = {MPI_REAL, MPI_REAL4};
    const std::vector<MPI_Datatype> f64     = {MPI_DOUBLE_PRECISION, MPI_REAL8};
    const std::vector<MPI_Datatype> complex = {MPI_C_FLOAT_COMPLEX, MPI_COMPLEX,
                                               MPI_DOUBLE_COMPLEX};
    const std::vector<MPI_Datatype> pairs = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT,
                                             MPI_SHORT_INT};
    const std::vector<MPI_Datatype> texts = {MPI_WCHAR, MPI_CHARACTER};
    auto check = [](MPI_Datatype handle, ri_element_kind_t kind) {
        if (handle != MPI_DATATYPE_NULL) { /* an MPI without Fortran */
            EXPECT_EQ(kind, ri_element_of(handle).kind) << std::hex << handle;
        }
    };

    for (MPI_Datatype handle : i) {
        check(handle, integers[__builtin_ctzl(size_of(handle))]);
    }
    for (MPI_Datatype handle : u) {
        check(handle, naturals[__builtin_ctzl(size_of(handle))]);
    }
    for (MPI_Datatype handle : f32) {
        check(handle, RI_ELEMENT_F32);
    }
    for (MPI_Datatype handle : f64) {
        check(handle, RI_ELEMENT_F64);
    }
    for (MPI_Datatype handle : complex) {
        check(handle, RI_ELEMENT_COMPLEX);
    }
    for (MPI_Datatype handle : pairs) {
        check(handle, RI_ELEMENT_PAIR);
    }
    for (MPI_Datatype handle : texts) {
        check(handle, RI_ELEMENT_TEXT);
    }
    check(MPI_LOGICAL, RI_ELEMENT_LOGICAL);
}

/* The table of the standard */
TEST_F(test_element, which_operations_a_type_has)
{
    for (int kind = RI_ELEMENT_OTHER; kind <= RI_ELEMENT_F64; ++kind) {
        ri_element_t e = element((ri_element_kind_t)kind, 8);

        for (const op_case &op : OPS) {
            const bool logical = is_one_of(op.op, {MPI_LAND, MPI_LOR, MPI_LXOR});
            const bool bits    = is_one_of(op.op, {MPI_BAND, MPI_BOR, MPI_BXOR});
            const bool sum     = is_one_of(op.op, {MPI_SUM, MPI_PROD});
            const bool order   = is_one_of(op.op, {MPI_MIN, MPI_MAX});
            bool has           = logical || bits || sum || order; /* integers */

            switch (kind) {
            case RI_ELEMENT_OTHER:
                has = true;
                break;
            case RI_ELEMENT_COMPLEX:
                has = sum;
                break;
            case RI_ELEMENT_LOGICAL:
                has = logical;
                break;
            case RI_ELEMENT_PAIR:
                has = is_one_of(op.op, {MPI_MINLOC, MPI_MAXLOC});
                break;
            case RI_ELEMENT_TEXT:
                has = false;
                break;
            case RI_ELEMENT_BYTE:
                has = bits;
                break;
            case RI_ELEMENT_F32:
            case RI_ELEMENT_F64:
                has = sum || order;
                break;
            default:
                break;
            }
            has = has || is_one_of(op.op, {MPI_REPLACE, MPI_NO_OP});
            EXPECT_EQ(has ? MPI_SUCCESS : MPI_ERR_OP, ri_element_check(&e, op.op))
                    << kind << ' ' << op.name;
        }
        EXPECT_EQ(MPI_ERR_OP, ri_element_check(&e, MPI_OP_NULL));
    }
}

TEST_F(test_element, numbers)
{
    for_seeds(100, [](rng &random) {
#define APPLY(_name, _type) \
    { \
        SCOPED_TRACE(#_name); \
        apply<_type>(random); \
    }
        RI_ELEMENT_NUMBERS(APPLY)
    });
}

/* The MPI does it, with at most INT_MAX elements at a time. */
TEST_F(test_element, by_the_mpi)
{
    const size_t COUNT   = 2ul * INT_MAX + 7;
    const size_t EXTENT  = 16;
    const ri_element_t e = ri_element_of(PAIR);
    char from[1], to[1];

    ASSERT_EQ((MPI_Aint)EXTENT, e.extent);
    EXPECT_EQ(MPI_SUCCESS, ri_element_apply(&e, MPI_MINLOC, from, to, COUNT));
    ASSERT_EQ(3u, g_reduced.size());
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ((uintptr_t)from + i * INT_MAX * EXTENT, (uintptr_t)g_reduced[i].from);
        EXPECT_EQ((uintptr_t)to + i * INT_MAX * EXTENT, (uintptr_t)g_reduced[i].to);
        EXPECT_EQ((i < 2) ? INT_MAX : 7, g_reduced[i].count);
    }
    g_reduced.clear();
    g_reduce_result = MPI_ERR_OP;
    EXPECT_EQ(MPI_ERR_OP, ri_element_apply(&e, MPI_MINLOC, from, to, COUNT));
    EXPECT_EQ(2u, g_reduced.size()) << "it ends there";
    g_reduced.clear();
    EXPECT_EQ(MPI_SUCCESS, ri_element_apply(&e, MPI_MINLOC, from, to, 0));
    EXPECT_TRUE(g_reduced.empty());
}

/* Gaps are copied as well. */
TEST_F(test_element, replaces_whole_elements)
{
    const ri_element_t e = ri_element_of(PAIR);
    char from[48], to[48];

    memset(from, 1, sizeof(from));
    memset(to, 2, sizeof(to));
    EXPECT_EQ(MPI_SUCCESS, ri_element_apply(&e, MPI_NO_OP, from, to, 2));
    EXPECT_EQ(std::string(48, 2), std::string(to, 48));
    EXPECT_EQ(MPI_SUCCESS, ri_element_apply(&e, MPI_REPLACE, from, to, 2));
    EXPECT_EQ(std::string(32, 1) + std::string(16, 2), std::string(to, 48));
    EXPECT_TRUE(g_reduced.empty());
}

/* Codes: what other hosts are asked for */

TEST_F(test_element, codes)
{
    for (int kind = RI_ELEMENT_OTHER; kind <= RI_ELEMENT_F64; ++kind) {
        ri_element_t e     = element((ri_element_kind_t)kind, 8);
        const bool is_byte = (kind == RI_ELEMENT_BYTE) || (kind == RI_ELEMENT_I8) ||
                             (kind == RI_ELEMENT_U8);

        for (const op_case &op : OPS) {
            const unsigned code = ri_element_code(&e, op.op);
            const bool is_moved = is_one_of(op.op, {MPI_REPLACE, MPI_NO_OP});

            SCOPED_TRACE(std::to_string(kind) + " " + op.name);
            EXPECT_EQ(0u, code & ~RI_ELEMENT_CODE_MASK);
            if (kind < RI_ELEMENT_BYTE) {
                EXPECT_EQ(is_moved, code != 0) << "else the MPI does it";
            } else if (is_done(e, op.op)) {
                EXPECT_NE(0u, code);
            }
            EXPECT_EQ(op.op == MPI_REPLACE, ri_element_code_replaces(code) != 0);
            EXPECT_EQ(op.op == MPI_NO_OP, ri_element_code_has_no_data(code) != 0);
            EXPECT_EQ(code != 0, ri_element_code_fits(code, 8) != 0);
            EXPECT_EQ((code != 0) && (is_moved || is_byte),
                      ri_element_code_fits(code, 7) != 0);
        }
    }
}

/* Any number may come: nothing is changed that should not be. */
TEST_F(test_element, codes_are_wire_input)
{
    for_seeds(20, [](rng &random) {
        for (unsigned low = 0; low <= RI_ELEMENT_CODE_MASK; ++low) {
            const unsigned code = low | ((unsigned)random.next() & ~RI_ELEMENT_CODE_MASK);
            const size_t bytes  = random.below(40);
            char from[64], to[64], before[64];

            for (size_t i = 0; i < sizeof(to); ++i) {
                from[i] = (char)random.next();
                to[i] = before[i] = (char)random.next();
            }
            if (!ri_element_apply_code(code, from, to, bytes)) {
                ASSERT_EQ(0, memcmp(before, to, sizeof(to))) << code;
            } else {
                ASSERT_TRUE(ri_element_code_fits(code, bytes)) << code;
            }
            ASSERT_EQ(0, memcmp(before + bytes, to + bytes, sizeof(to) - bytes)) << code;
        }
    });
    EXPECT_TRUE(g_reduced.empty());
}

} // namespace

#endif
