/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/wire/rkey.[hc]: what stands in front of packed keys. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

typedef std::vector<uint8_t> bytes;

/* Content whose end is that of the memory: whoever reads more crashes. */
class edge {
public:
    explicit edge(const bytes &content) : m_page(sysconf(_SC_PAGESIZE))
    {
        m_memory = static_cast<uint8_t *>(mmap(nullptr, 2 * m_page,
                                               PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_EQ(0, mprotect(m_memory + m_page, m_page, PROT_NONE));
        m_content = m_memory + m_page - content.size();
        std::copy(content.begin(), content.end(), m_content);
    }

    ~edge() { munmap(m_memory, 2 * m_page); }

    const uint8_t *get() const { return m_content; }

private:
    size_t m_page;
    uint8_t *m_memory;
    uint8_t *m_content;
};

class test_wire_rkey : public ::testing::Test {
protected:
    /* One with something in each field. */
    static ri_wire_rkey_t sample()
    {
        ri_wire_rkey_t rkey;

        ri_wire_rkey_init(&rkey);
        rkey.atomics      = RI_WIRE_ATOMICS_CPU;
        rkey.plane_length = 31;
        rkey.mailbox      = 0x10111213;
        rkey.process      = {0x2021222324252627, 0x30313233, 0x40414243};
        rkey.address      = 0x5051525354555657;
        rkey.size         = 0x6061626364656667;
        rkey.region       = 0x7071727374757677;
        rkey.place        = {0x8081828384858687, 0x9091929394959697, 0x1011121314151617,
                             0xa0a1a2a3a4a5a6a7};
        for (unsigned i = 0; i < sizeof(rkey.plane); ++i) {
            rkey.plane[i] = 0xb0 + i;
        }
        return rkey;
    }

    static bytes bytes_of(const ri_wire_rkey_t &rkey)
    {
        const auto *data = reinterpret_cast<const uint8_t *>(&rkey);

        return bytes(data, data + sizeof(rkey));
    }

    /* Parse bytes that nothing comes behind. What is not set is left as it was. */
    ucs_status_t parse(const bytes &content)
    {
        const ri_wire_rkey_t before = sample();
        const void *stock           = nullptr;
        edge packed(content);
        ucs_status_t status;

        m_rkey  = before;
        status  = ri_wire_rkey_parse(packed.get(), &stock, &m_rkey);
        m_stock = static_cast<const uint8_t *>(stock) - packed.get();
        if (status != UCS_OK) {
            EXPECT_EQ(0, memcmp(&before, &m_rkey, sizeof(before)));
        }
        return status;
    }

    ucs_status_t parse(const ri_wire_rkey_t &rkey) { return parse(bytes_of(rkey)); }

    ri_wire_rkey_t m_rkey;
    ptrdiff_t m_stock; /* where stock's key begins */
};

TEST_F(test_wire_rkey, init)
{
    ri_wire_rkey_t rkey;

    memset((void *)&rkey, 0xaa, sizeof(rkey));
    ri_wire_rkey_init(&rkey);
    bytes expected(120);
    const uint8_t head[] = {'_', 'X', 'R', 'I', 'K', 'E', 'Y', 0xf4, 1, 120};
    std::copy(std::begin(head), std::end(head), expected.begin());
    EXPECT_EQ(expected, bytes_of(rkey));
    EXPECT_EQ(UCS_OK, parse(rkey));
}

/* Where each field stands: little endian, without gaps. */
TEST_F(test_wire_rkey, bytes_on_the_wire)
{
    const struct {
        const char *name;
        size_t offset;
        size_t length;
        uint64_t value;
    } fields[] = {
            {"magic", 0, 8, 0xf459454b4952585f},
            {"version", 8, 1, 1},
            {"length", 9, 1, 120},
            {"atomics", 10, 1, 1},
            {"plane_length", 11, 1, 31},
            {"mailbox", 12, 4, 0x10111213},
            {"process.host", 16, 8, 0x2021222324252627},
            {"process.pid", 24, 4, 0x30313233},
            {"process.start", 28, 4, 0x40414243},
            {"address", 32, 8, 0x5051525354555657},
            {"size", 40, 8, 0x6061626364656667},
            {"region", 48, 8, 0x7071727374757677},
            {"place.device", 56, 8, 0x8081828384858687},
            {"place.inode", 64, 8, 0x9091929394959697},
            {"place.offset", 72, 8, 0x1011121314151617},
            {"place.space", 80, 8, 0xa0a1a2a3a4a5a6a7},
            {"plane, its start", 88, 8, 0xb7b6b5b4b3b2b1b0},
            {"plane, its end", 112, 8, 0xcfcecdcccbcac9c8},
    };
    bytes content = bytes_of(sample());

    ASSERT_EQ(120u, content.size());
    for (const auto &field : fields) {
        for (size_t i = 0; i < field.length; ++i) {
            EXPECT_EQ((uint8_t)(field.value >> (8 * i)), content[field.offset + i])
                    << field.name << ' ' << i;
        }
    }
}

TEST_F(test_wire_rkey, parse_own)
{
    ri_wire_rkey_t rkey = sample();

    rkey.address ^= 1;
    EXPECT_EQ(UCS_OK, parse(rkey));
    EXPECT_EQ(bytes_of(rkey), bytes_of(m_rkey));
    EXPECT_EQ(120, m_stock);
}

/* Nothing beyond the mask may be read of stock's own, and no key needs to be aligned. */
TEST_F(test_wire_rkey, parse_stock)
{
    const uint64_t masks[] = {0,
                              1,
                              0x8000000000000000,
                              RI_WIRE_RKEY_MAGIC ^ 1,
                              RI_WIRE_RKEY_MAGIC ^ (1ul << 63),
                              UINT64_MAX};

    for (uint64_t mask : masks) {
        bytes content(8);

        memcpy(content.data(), &mask, sizeof(mask));
        EXPECT_EQ(UCS_ERR_NO_ELEM, parse(content)) << std::hex << mask;
        EXPECT_EQ(0, m_stock);
        content.resize(9, 1);
        EXPECT_EQ(UCS_ERR_NO_ELEM, parse(content));
        EXPECT_EQ(0, m_stock);
    }
    for (unsigned bit = 0; bit < 64; ++bit) {
        ri_wire_rkey_t rkey = sample();

        rkey.magic ^= 1ul << bit;
        EXPECT_EQ(UCS_ERR_NO_ELEM, parse(rkey));
        EXPECT_EQ(0, m_stock);
    }
}

/* Not even what all versions have: only those ten bytes are read. */
TEST_F(test_wire_rkey, parse_length_too_short)
{
    bytes content = bytes_of(sample());

    content.resize(10);
    for (unsigned length = 0; length < 10; ++length) {
        content[9] = length;
        EXPECT_EQ(UCS_ERR_NO_ELEM, parse(content)) << length;
        EXPECT_EQ(0, m_stock);
    }
}

TEST_F(test_wire_rkey, parse_other_length)
{
    bytes content = bytes_of(sample());

    content.resize(10);
    for (unsigned length = 10; length < 256; ++length) {
        content[9] = length;
        if (length != 120) {
            EXPECT_EQ(UCS_ERR_UNSUPPORTED, parse(content)) << length;
            EXPECT_EQ((ptrdiff_t)length, m_stock);
        }
    }
}

TEST_F(test_wire_rkey, parse_other_version)
{
    bytes content = bytes_of(sample());

    content.resize(10);
    for (unsigned version = 0; version < 256; ++version) {
        for (unsigned length : {10u, 120u, 200u}) {
            content[8] = version;
            content[9] = length;
            if (version != RI_WIRE_RKEY_VERSION) {
                EXPECT_EQ(UCS_ERR_UNSUPPORTED, parse(content)) << version;
                EXPECT_EQ((ptrdiff_t)length, m_stock);
            }
        }
    }
}

TEST_F(test_wire_rkey, parse_atomics)
{
    for (unsigned atomics = 0; atomics < 256; ++atomics) {
        ri_wire_rkey_t rkey = sample();

        rkey.atomics = atomics;
        EXPECT_EQ((atomics < 2) ? UCS_OK : UCS_ERR_INVALID_PARAM, parse(rkey));
        EXPECT_EQ(120, m_stock);
    }
}

TEST_F(test_wire_rkey, parse_plane_length)
{
    for (unsigned length = 0; length < 256; ++length) {
        ri_wire_rkey_t rkey = sample();

        rkey.plane_length = length;
        EXPECT_EQ((length <= 32) ? UCS_OK : UCS_ERR_INVALID_PARAM, parse(rkey));
        EXPECT_EQ(120, m_stock);
    }
}

/* Ranges that go on beyond the last address, or offset in a file */
TEST_F(test_wire_rkey, parse_ranges)
{
    const struct {
        uint64_t start;
        uint64_t size;
        bool good;
    } ranges[] = {
            {0, 0, true},
            {0, UINT64_MAX, true},
            {1, UINT64_MAX, false},
            {1, UINT64_MAX - 1, true},
            {UINT64_MAX, 0, true},
            {UINT64_MAX, 1, false},
            {UINT64_MAX - 7, 7, true},
            {UINT64_MAX - 7, 8, false},
            {UINT64_MAX, UINT64_MAX, false},
            {1ul << 63, 1ul << 63, false},
            {1ul << 63, (1ul << 63) - 1, true},
    };

    for (const auto &range : ranges) {
        for (bool in_file : {false, true}) {
            ri_wire_rkey_t rkey = sample();

            rkey.address      = in_file ? 0 : range.start;
            rkey.place.offset = in_file ? range.start : 0;
            rkey.size         = range.size;
            EXPECT_EQ(range.good ? UCS_OK : UCS_ERR_INVALID_PARAM, parse(rkey))
                    << range.start << ' ' << range.size << ' ' << in_file;
            EXPECT_EQ(120, m_stock);
        }
    }
}

/* What @ref ri_wire_rkey_parse should say, in other words. */
ucs_status_t judge(const bytes &content, ptrdiff_t *stock)
{
    ri_wire_rkey_t rkey;

    *stock = 0;
    memcpy((void *)&rkey, content.data(), sizeof(rkey));
    if ((rkey.magic != RI_WIRE_RKEY_MAGIC) || (rkey.length < 10)) {
        return UCS_ERR_NO_ELEM;
    }
    *stock = rkey.length;
    if ((rkey.version != 1) || (rkey.length != 120)) {
        return UCS_ERR_UNSUPPORTED;
    }
    return ((rkey.atomics > 1) || (rkey.plane_length > 32) ||
            ((unsigned __int128)rkey.address + rkey.size > UINT64_MAX) ||
            ((unsigned __int128)rkey.place.offset + rkey.size > UINT64_MAX)) ?
                   UCS_ERR_INVALID_PARAM :
                   UCS_OK;
}

TEST_F(test_wire_rkey, random_bytes)
{
    for_seeds(2000, [&](rng &random) {
        bytes content = bytes_of(sample());
        ptrdiff_t stock;

        for (unsigned i = random.percent(80) ? 10 : random.below(10); i < 120; ++i) {
            if (random.percent(30)) {
                content[i] = random.percent(50) ? random.next() : random.below(4);
            }
        }
        if (random.percent(10)) {
            for (uint8_t &byte : content) {
                byte = random.next();
            }
        }
        ucs_status_t status = judge(content, &stock);
        ASSERT_EQ(status, parse(content));
        ASSERT_EQ(stock, m_stock);
        if (status == UCS_OK) {
            ASSERT_EQ(content, bytes_of(m_rkey));
        }
    });
}

} // namespace
