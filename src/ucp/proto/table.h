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

/* number, table */
/* clang-format off */
#define RI_SEND_PROTOS(_p) \
    _p(SELF, self)                 /* to the own worker: matched at once */ \
    _p(EAGER_RING, eager_ring)     /* into the pair's ring */ \
    _p(EAGER_RDMA, eager_rdma)     /* into the pair's channel through a network */ \
    _p(EAGER_COPY, eager_copy)     /* one active message, header and payload copied together */ \
    _p(EAGER_GATHER, eager_gather) /* one active message, the payload from the user's buffer */ \
    _p(EAGER_FRAGS, eager_frags)   /* in pieces that need nothing of the receiver */ \
    _p(POOL, pool)                 /* copied to a pool, from which the receiver reads it */ \
    _p(RTR_HOST, rtr_host)         /* written into the receive that an RTR offered */ \
    _p(RTR_NET, rtr_net)           /* written into the receive of an RTR, through a network */ \
    _p(RTR_POOL, rtr_pool)         /* written into the receive of an RTR, from a pool */ \
    _p(RTR_UD, rtr_ud)             /* sent to where an RTR has said, as datagrams */ \
    _p(RTR_COOP, rtr_coop)         /* copied by both sides into the receive of an RTR */ \
    _p(COOP, coop)                 /* copied by both sides when the receiver has matched it */ \
    _p(RNDV_GET, rndv_get)         /* the receiver reads it by a data plane */ \
    _p(RNDV_PUT, rndv_put)         /* written by a data plane where the receiver says */ \
    _p(RNDV_UD, rndv_ud)           /* sent as datagrams to where the receiver says */ \
    _p(BULK, bulk)                 /* as UCP chooses for its size */ \
    _p(BULK_RNDV, bulk_rndv)       /* by UCP's rendezvous: completes when it was matched */
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

/* number, table */
/* clang-format off */
#define RI_FETCH_PROTOS(_f) \
    _f(COOP, coop)               /* both sides copy */ \
    _f(PUT, put)                 /* the sender writes it where it is told to */ \
    _f(GET, get)                 /* it is read, straight into the receive's memory or in stages */ \
    _f(BOUNCE, bounce)           /* it is read to other memory, and placed from there */ \
    _f(AM, am)                   /* by UCP, which is asked of the sender */ \
    _f(SENT, sent)               /* the sender sends it straight into the receive's memory */ \
    _f(SENT_BOUNCE, sent_bounce) /* the sender sends it into other memory, and it is placed */ \
    _f(SENT_AM, sent_am)         /* the sender was to send it, and is asked for it by UCP */ \
    _f(NOTHING, nothing)         /* no data: the receive is too short, and the sender is told */ \
    _f(LOST, lost)               /* no data: the sender has written, and nobody knows where */ \
    _f(BROKEN, broken)           /* no data: the sender writes into another receive */
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

extern const ri_rtr_ops_t ri_rtr_ops_grant; /* rtr/rtr_send_host.c */
extern const ri_rtr_ops_t ri_rtr_ops_key;   /* rtr/rtr_send_net.c */
extern const ri_rtr_ops_t ri_rtr_ops_ud;    /* rtr/rtr_send_ud.c */

#endif
