/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The only lists of three things. Each of the protocols of sends has a table, ri_send_proto_NAME,
 * at the end of its file (core/types/send_proto.h), and a number, by which proto/select.c chooses
 * it. Each of the ways in which receivers fetch data that was only announced has a table and a
 * number, too (core/types/fetch_proto.h). So has each kind of RTR, by which some protocols write
 * (match/rtr_table.h).
 */
#ifndef RI_PROTO_TABLE_H
#define RI_PROTO_TABLE_H

#include "../core/types/fetch_proto.h"
#include "../core/types/send_proto.h"
#include "../match/rtr_table.h"

/* number, table; file of the table */
/* clang-format off */
#define RI_SEND_PROTOS(_p) \
    _p(SELF, self)                 /* self.c: to the own worker: matched at once */ \
    _p(EAGER_RING, eager_ring)     /* eager.c: into the pair's ring */ \
    _p(EAGER_RDMA, eager_rdma)     /* eager.c: into the pair's channel through a network */ \
    _p(EAGER_COPY, eager_copy)     /* eager.c: one active message, header and payload copied */ \
    _p(EAGER_GATHER, eager_gather) /* eager.c: one active message, payload of the user's buffer */ \
    _p(EAGER_FRAGS, eager_frags)   /* frag.c: in pieces that need nothing of the receiver */ \
    _p(POOL, pool)                 /* pool_send.c: copied to a pool; the receiver reads it */ \
    _p(RTR_HOST, rtr_host)         /* rtr_send_host.c: written into an RTR's receive */ \
    _p(RTR_NET, rtr_net)           /* rtr_send_net.c: written into an RTR's receive, by network */ \
    _p(RTR_POOL, rtr_pool)         /* rtr_send_pool.c: from a pool into an RTR's receive */ \
    _p(RTR_UD, rtr_ud)             /* rtr_send_ud.c: sent to where an RTR says, by datagrams */ \
    _p(RTR_COOP, rtr_coop)         /* rtr_send_host.c: both sides copy into an RTR's receive */ \
    _p(COOP, coop)                 /* coop_send.c: copied by both sides when it was matched */ \
    _p(RNDV_GET, rndv_get)         /* rndv_get.c: the receiver reads it by a data plane */ \
    _p(RNDV_PUT, rndv_put)         /* rndv_put.c: written by a plane where the receiver says */ \
    _p(RNDV_UD, rndv_ud)           /* rndv_ud.c: sent as datagrams to where the receiver says */ \
    _p(BULK, bulk)                 /* am_rndv.c: as UCP chooses for its size */ \
    _p(BULK_RNDV, bulk_rndv)       /* am_rndv.c: by UCP's rendezvous: completes if matched */
/* clang-format on */

typedef enum ri_proto {
#define RI_PROTO_NUMBER(_number, _table) RI_PROTO_##_number,
    RI_SEND_PROTOS(RI_PROTO_NUMBER)
#undef RI_PROTO_NUMBER
    RI_PROTO_LAST
} ri_proto_t;

#define RI_PROTO_DECLARE(_number, _table) \
    extern const ri_send_proto_t ri_send_proto_##_table;
RI_SEND_PROTOS(RI_PROTO_DECLARE)
#undef RI_PROTO_DECLARE

extern const ri_send_proto_t *const ri_send_protos[RI_PROTO_LAST];

/* number, table; file of the table */
/* clang-format off */
#define RI_FETCH_PROTOS(_f) \
    _f(COOP, coop)               /* coop_recv.c: both sides copy */ \
    _f(PUT, put)                 /* rndv_put.c: the sender writes it where it is told to */ \
    _f(GET, get)                 /* rndv_get.c: it is read, into the receive or in stages */ \
    _f(BOUNCE, bounce)           /* rndv_get.c: it is read to other memory, then placed */ \
    _f(AM, am)                   /* rndv_get.c: by UCP, which is asked of the sender */ \
    _f(SENT, sent)               /* rndv_ud_recv.c: the sender sends it into the receive */ \
    _f(SENT_BOUNCE, sent_bounce) /* rndv_ud_recv.c: the sender sends it elsewhere; it is placed */ \
    _f(SENT_AM, sent_am)         /* rndv_ud_recv.c: UCP gets what the sender was to send */ \
    _f(NOTHING, nothing)         /* rndv.c: no data: the receive is too short */ \
    _f(LOST, lost)               /* rndv.c: no data: the sender has written somewhere */ \
    _f(BROKEN, broken)           /* rndv.c: no data: the sender writes into another receive */
/* clang-format on */

typedef enum ri_fetch {
#define RI_FETCH_NUMBER(_number, _table) RI_FETCH_##_number,
    RI_FETCH_PROTOS(RI_FETCH_NUMBER)
#undef RI_FETCH_NUMBER
    RI_FETCH_LAST
} ri_fetch_t;

#define RI_FETCH_DECLARE(_number, _table) \
    extern const ri_fetch_proto_t ri_fetch_proto_##_table;
RI_FETCH_PROTOS(RI_FETCH_DECLARE)
#undef RI_FETCH_DECLARE

extern const ri_fetch_proto_t *const ri_fetch_protos[RI_FETCH_LAST];

#define RI_RTR_KIND_DECLARE(_number, _table) \
    extern const ri_rtr_ops_t ri_rtr_ops_##_table;
RI_RTR_KINDS(RI_RTR_KIND_DECLARE)
#undef RI_RTR_KIND_DECLARE

#endif
