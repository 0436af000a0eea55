/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/wire/address.c */

#include "wire_test.h"

namespace {

class test_wire_address : public wire_test {};

TEST_F(test_wire_address, address_pack_and_parse)
{
    ri_wire_worker_t worker = {UID, 0, 0}, read;
    ri_wire_address_t prefix;
    const void *stock;

    for (unsigned am_id : {0u, 1u, 4080u, RI_WIRE_AM_ID_MAX + 1u}) {
        worker.am_id = am_id;
        ri_wire_address_pack(&prefix, &worker);
        EXPECT_EQ(0, prefix.stock_header);
        EXPECT_EQ(0xff, prefix.stock_end);
        EXPECT_EQ(sizeof(prefix), prefix.length);
        EXPECT_EQ(0, prefix.rank);
        EXPECT_EQ(am_id, reinterpret_cast<uint8_t *>(&prefix)[20] +
                                 256u * reinterpret_cast<uint8_t *>(&prefix)[21]);
        EXPECT_EQ(UCS_OK, ri_wire_address_parse(&prefix, &stock, &read));
        EXPECT_EQ(UID, read.uid);
        EXPECT_EQ(am_id, read.am_id);
        EXPECT_EQ(&prefix + 1, stock);
    }
}

/* For people only: a rank that is not known, or too high, is none. */
TEST_F(test_wire_address, address_rank)
{
    const void *stock;

    for (long rank : {-1l, 0l, 1l, 1000l, 65534l, 65535l, 1000000l}) {
        ri_wire_worker_t worker = {UID, 5, ri_wire_address_rank(rank)}, read = {};
        bool is_told = (rank >= 0) && (rank <= RI_WIRE_RANK_MAX);
        ri_wire_address_t prefix;

        ri_wire_address_pack(&prefix, &worker);
        EXPECT_EQ(is_told ? rank + 1 : 0,
                  reinterpret_cast<uint8_t *>(&prefix)[22] +
                          256 * reinterpret_cast<uint8_t *>(&prefix)[23]);
        EXPECT_EQ(UCS_OK, ri_wire_address_parse(&prefix, &stock, &read));
        EXPECT_EQ(is_told ? rank + 1 : 0, read.rank) << rank;
    }
}

TEST_F(test_wire_address, address_process)
{
    ri_wire_worker_t worker = {UID, 4080, 0};
    ri_wire_address_t prefix;
    ri_host_process_t process;

    ri_wire_address_pack(&prefix, &worker);
    EXPECT_EQ(0u, ri_wire_address_process(&prefix).host);
    prefix.process = {77, 88, 99};
    process        = ri_wire_address_process(&prefix);
    EXPECT_EQ(77u, process.host);
    EXPECT_EQ(88u, process.pid);
    EXPECT_EQ(99u, process.start);

    /* It says that it has none: then nothing behind it is read. */
    for (size_t length : {20, 24, 39}) {
        prefix.length          = length;
        const uint8_t *content = reinterpret_cast<const uint8_t *>(&prefix);
        exact copy(bytes(content, content + length));

        EXPECT_EQ(0u, ri_wire_address_process(copy.get()).host) << length;
    }
}

TEST_F(test_wire_address, address_windows)
{
    ri_wire_worker_t worker = {UID, 4080, 5};
    ri_wire_address_t prefix;
    ri_wire_worker_t read;
    const void *stock;

    ri_wire_address_pack(&prefix, &worker);
    EXPECT_EQ(0u, ri_wire_address_windows(&prefix).job);
    prefix.process     = {77, 88, 99};
    prefix.window_job  = 11;
    prefix.window_rank = 12;
    EXPECT_EQ(11u, ri_wire_address_windows(&prefix).job);
    EXPECT_EQ(12u, ri_wire_address_windows(&prefix).rank);

    /* The part that this version has begun with, and one that ends within what is new */
    for (size_t length : {40, 44}) {
        prefix.length          = length;
        const uint8_t *content = reinterpret_cast<const uint8_t *>(&prefix);
        exact copy(bytes(content, content + length));

        EXPECT_EQ((length >= 44) ? 11u : 0u, ri_wire_address_windows(copy.get()).job);
        EXPECT_EQ(0u, ri_wire_address_windows(copy.get()).rank);
        EXPECT_EQ(77u, ri_wire_address_process(copy.get()).host);
        EXPECT_EQ(UCS_OK, ri_wire_address_parse(copy.get(), &stock, &read));
        EXPECT_EQ(5u, read.rank);
    }
}

TEST_F(test_wire_address, address_parse_stock)
{
    /* Nothing beyond the shortest stock address may be read: exact copies */
    const bytes addresses[] = {
            {0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x00},
            {0x03, 1, 2, 3, 4, 5, 6, 7, 8, 0xff},
            {0x10, 1, 2, 3, 4, 5, 6, 7, 8, 0x01},
    };

    for (const bytes &address : addresses) {
        exact copy(address);
        const void *stock       = nullptr;
        ri_wire_worker_t worker = {77, 78, 79};

        EXPECT_EQ(UCS_ERR_NO_ELEM, ri_wire_address_parse(copy.get(), &stock, &worker));
        EXPECT_EQ(copy.get(), stock);
        EXPECT_EQ(77u, worker.uid);
        EXPECT_EQ(78u, worker.am_id);
    }
}

TEST_F(test_wire_address, address_parse_another_magic)
{
    ri_wire_worker_t worker = {UID, 1, 0};
    ri_wire_address_t prefix;
    const void *stock;

    ri_wire_address_pack(&prefix, &worker);
    prefix.magic ^= 1;
    EXPECT_EQ(UCS_ERR_NO_ELEM, ri_wire_address_parse(&prefix, &stock, &worker));
    EXPECT_EQ((void *)&prefix, stock);
}

TEST_F(test_wire_address, address_parse_another_version)
{
    uint8_t address[100];
    ri_wire_address_t prefix;
    const void *stock;
    ri_wire_worker_t worker = {UID, 5, 6}, read = {};

    /* A later version may have a longer prefix, and something else where this one has an id */
    ri_wire_address_pack(&prefix, &worker);
    prefix.version = RI_WIRE_VERSION + 1;
    prefix.length  = 32;
    memcpy(address, &prefix, sizeof(prefix));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ri_wire_address_parse(address, &stock, &read));
    EXPECT_EQ(address + 32, stock);
    EXPECT_EQ(UID, read.uid);
    EXPECT_EQ(0u, read.am_id);
}

} // namespace
