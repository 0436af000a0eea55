/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Three planes of ud on a device, and messages between them, for tests of single events.
 */
#ifndef RI_UD_PLANE_TEST_H
#define RI_UD_PLANE_TEST_H

#include "ud_test.h"

#if HAVE_VERBS

namespace {

const size_t LENGTH = 100000;
const uint8_t FILL  = 0xa5;

/* Three planes, with ways from the first two to the third one. */
struct trio {
    trio()
    {
        for (ud_node &node : nodes) {
            EXPECT_TRUE(node.open());
            list.push_back(&node);
        }
        a_c.join(nodes[0], nodes[2]);
        b_c.join(nodes[1], nodes[2]);
    }
    ~trio()
    {
        for (ud_node &node : nodes) {
            EXPECT_TRUE(node.all_home());
            node.close();
        }
    }

    ud_node &a() { return nodes[0]; }
    ud_node &b() { return nodes[1]; }
    ud_node &c() { return nodes[2]; }

    ud_node nodes[3];
    std::vector<ud_node *> list;
    ud_way a_c, b_c;
};

/* A message of one segment. */
struct plane_transfer {
    plane_transfer(ud_node &from, ud_node &to, size_t length = LENGTH)
        : length(length), source(from.plane, length), sink(to.plane, length)
    {
        rng random(length);

        for (size_t i = 0; i < length; ++i) {
            source.data()[i] = random.next();
        }
        memset(sink.data(), FILL, length);
    }

    ucs_status_t start_recv(ri_plane_ep_t *ep, bool is_offer = false)
    {
        return recv.recv(ep, {{(uintptr_t)sink.data(), length}}, sink.key(), length,
                         is_offer);
    }

    ucs_status_t start_send(ri_plane_ep_t *ep, const ri_ud_target_t &target)
    {
        return send.send(ep, {{(uintptr_t)source.data(), length}}, source.key(), length,
                         target);
    }

    bool is_received() const { return memcmp(source.data(), sink.data(), length) == 0; }

    bool ended() const { return (recv.ends == recv.begun) && (send.ends == send.begun); }

    size_t length;
    ud_buffer source, sink;
    ud_op recv, send;
};

class ud_plane_test : public ud_test {
protected:
    /* Wait until @a pieces pieces have left a node, while nobody looks for them. A datagram whose
     * end is known is with the software HCA of the receiver; other devices may take some more
     * time. */
    static void wait_sent(ud_node &node, uint64_t pieces)
    {
        const ri_ud_data_t *data = &node.ud()->data;

        wait({&node},
             [&]() { return (data->ended >= pieces) && (data->ended == data->posted); });
        usleep(20000);
    }

    void run(const std::function<void(trio &)> &func, const char *faults = "")
    {
        in_process({{"SOFTHCA_FAULTS", faults}}, [&]() {
            trio t;

            func(t);
        });
    }
};

} // namespace

#endif

#endif
