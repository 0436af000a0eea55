/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Partition, service level and traffic class, as far as a device shows them. Without one they are
 * skipped. (src/uct/ib/device/link.c)
 */

#include "unit/uct/ib/ud/ud_plane_test.h"

#if HAVE_VERBS

namespace {

class test_ud_marks : public ud_plane_test {
protected:
    static struct ibv_ah_attr seen;
    static __typeof__(ri_verbs.create_ah) create_ah;
};

struct ibv_ah_attr test_ud_marks::seen;
__typeof__(ri_verbs.create_ah) test_ud_marks::create_ah;

TEST_F(test_ud_marks, are_those_of_packets)
{
    ri_config.ib_pkey_value    = 0x7fff;
    ri_config.ib_sl            = 3;
    ri_config.ib_traffic_class = 77;
    in_process({}, []() {
        ASSERT_EQ(UCS_OK, ri_verbs_resolve());
        create_ah          = ri_verbs.create_ah;
        ri_verbs.create_ah = [](struct ibv_pd *pd, struct ibv_ah_attr *attr) {
            seen = *attr;
            return create_ah(pd, attr);
        };
        trio t;
        plane_transfer x(t.a(), t.c());

        EXPECT_EQ(3, seen.sl);
        EXPECT_EQ(seen.is_global ? 77 : 0, seen.grh.traffic_class);
        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_TRUE(x.is_received());
    });
}

TEST_F(test_ud_marks, another_partition)
{
    ri_config.ib_pkey_value = 3;
    in_process({}, []() {
        ud_node node;

        EXPECT_FALSE(node.open());
        ri_config.ib_pkey_value = 0;
        EXPECT_TRUE(node.open());
        node.close();
    });
}

} // namespace

#endif
