/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ri_select() is the sender's choice, from the top down: what is best comes first.
 * ri_select_fetch() is the receiver's, of announced data. Both look at their parameter only.
 */
#include "select.h"
#include "../wire/wire.h"
#include "../../uct/shm/slot.h"

#include <stdint.h>

/* The capabilities of a plane that each method needs. RI_PLANE_INLINE is what a method needs that
 * is there only for processes of a host: memory that both see, or nothing to be registered. */
#define NEED_COOP     (RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_INLINE)
#define NEED_RTR_HOST (RI_PLANE_WRITE | RI_PLANE_INLINE)
#define NEED_NET_RNDV (RI_PLANE_WRITE | RI_PLANE_NOTIFY)
#define NEED_POOL     RI_PLANE_READ
#define NEED_PUT      RI_PLANE_WRITE
#define NEED_GET      RI_PLANE_READ
#define NEED_UD       RI_PLANE_MESSAGES

static inline int select_can(unsigned plane, unsigned need)
{
    return (plane & need) == need;
}

/* Whether a message of medium length can be copied to the pool. A synchronous send has to wait
 * for its receive, so there is nothing to be gained. Longer ones are copied where the receiver is
 * away, as they would wait for it. */
static int select_has_pool(const ri_select_param_t *param, unsigned plane)
{
    size_t thresh = (plane & RI_PLANE_KEYS) ?
                            param->hybrid_net :
                            ri_max(param->hybrid_thresh, param->hybrid_away);

    return (param->length <= thresh) && param->pool_free && !param->sync;
}

/* Within a host a copy would only delay what a receiver waits for, as it has said or its RTRs show.
 * Through a network it takes less than the exchange that it saves, and the sender, who goes on,
 * posts its next receive in time for what follows. */
static int select_is_for_pool(const ri_select_param_t *param, unsigned plane)
{
    return select_has_pool(param, plane) &&
           ((plane & RI_PLANE_KEYS) || (!param->awaited && !param->rtr_expected));
}

/* Whether the word that a message was written can follow at once. Until it is on its way the
 * receiver cannot cancel its receive any more, nor complete it. */
static int select_may_follow(const ri_select_param_t *param)
{
    return !param->has_ring || param->ring_open;
}

/* Whether both sides can copy into the receive of an RTR: neither's data is in runs. */
static int select_is_for_both(const ri_select_param_t *param)
{
    return param->pieces && !param->rtr_in_runs;
}

/* Whether the sender can write by an RTR within the host. A receiver that waits would rather take
 * data in runs from a shelf: both copy then, in less time than the kernel takes to write them. In
 * an exchange each side has one message to copy, and reads its own: if one of the two has an RTR,
 * and its sender wrote it, that side would copy both. In a crowd it is not known whether there is
 * an exchange. */
static int select_may_write(const ri_select_param_t *param)
{
    return !param->rtr_by_net && ri_select_is_early(param) &&
           (!param->exchanges || param->crowded) &&
           (select_is_for_both(param) ||
            ((param->pieces || param->gathers) && !param->awaited));
}

/* Whether the sender alone copies the message, into the pool or by an RTR: it is done with it at
 * once then. A message that is longer is copied by both sides; and so is one whose receiver waits,
 * which has sent no RTR, and wants no copy. */
static int select_is_for_one(const ri_select_param_t *param)
{
    int writes = select_may_write(param);

    if (writes && select_is_for_both(param)) {
        return param->length <= param->hybrid_thresh;
    }
    return (writes && select_may_follow(param)) ||
           select_is_for_pool(param, param->host_plane);
}

/* Whether a receiver that sends as well is to say in a slot who copies. Of several messages at once
 * it reads all but the first: it does not come to look at many slots, nor the sender to write by
 * them. */
static int select_may_both(const ri_select_param_t *param)
{
    int one_by_one = param->exchanges ? (param->alone && !param->crowded) :
                                        !param->peer_sends;

    return (param->pieces && (one_by_one || param->in_row)) || param->spread;
}

/* Both sides may copy, and the receiver says who does. If both send, each has a copy of its own to
 * make: unless one of them is to make all of this one, or the other cannot read data in runs.
 * Without rings of its own this worker may sleep, and nothing would wake it up. */
static int select_has_coop(const ri_select_param_t *param)
{
    return !select_is_for_one(param) &&
           ((param->length >= param->coop_thresh) ||
            ((param->exchanges || (param->in_row && !select_may_write(param))) &&
             (param->coop_thresh != SIZE_MAX))) &&
           (param->length <= RI_SLOT_LENGTH_MAX) && select_may_both(param) &&
           param->has_ring && param->slot_free && param->polls;
}

/* The choice for a message above EAGER_THRESH that a data plane moves. @return RI_PROTO_BULK if
 * this plane cannot. */
static ri_proto_t select_by_plane(const ri_select_param_t *param, unsigned plane)
{
    int writes = select_may_write(param);
    int put    = param->pieces && select_can(plane, NEED_PUT);
    int get    = param->pieces && select_can(plane, NEED_GET);

    if (select_can(plane, NEED_COOP) && select_has_coop(param)) {
        /* A receive that is promised to a slot cannot do without it. */
        return (writes && param->ring_open && select_is_for_both(param)) ?
                       RI_PROTO_RTR_COOP :
                       RI_PROTO_COOP;
    }
    if (select_can(plane, NEED_RTR_HOST) && writes && select_may_follow(param)) {
        return RI_PROTO_RTR_HOST;
    }
    if (select_can(plane, NEED_POOL) && select_is_for_pool(param, plane)) {
        return RI_PROTO_POOL;
    }
    /* The scheme is a wish: the other one is still better than UCP. */
    if (put && ((param->scheme == RI_SENDER_SCHEME_PUT) || !get)) {
        return RI_PROTO_RNDV_PUT;
    }
    if (get) {
        return RI_PROTO_RNDV_GET;
    }
    return (param->pieces && select_can(plane, NEED_UD)) ? RI_PROTO_RNDV_UD :
                                                           RI_PROTO_BULK;
}

/* Whether the RTR of the receive came through a network, and can be used. A receive has one RTR, so
 * it is not written within the host then, even if both processes are on one. Data in too many
 * pieces to be written from where they are can be, once it is in the pool. */
static int select_has_net_rtr(const ri_select_param_t *param)
{
    int by_ud = select_can(param->net_plane, NEED_UD);

    return param->rtr_by_net && ri_select_is_early(param) &&
           (by_ud || select_can(param->net_plane, NEED_NET_RNDV)) &&
           (param->pieces || (!by_ud && select_has_pool(param, param->net_plane)));
}

/* A message that goes as datagrams is not written from the pool: the receiver would have to be told
 * who frees the buffer. Any other write through a network ends when it is acknowledged, a latency
 * after the receiver has the data. With a copy the sender goes on before: a receive that it posts
 * then is offered by the time that the other side answers. */
static ri_proto_t select_by_net_rtr(const ri_select_param_t *param)
{
    if (select_can(param->net_plane, NEED_UD)) {
        return RI_PROTO_RTR_UD;
    }
    return select_has_pool(param, param->net_plane) ? RI_PROTO_RTR_POOL :
                                                      RI_PROTO_RTR_NET;
}

/* By the plane within the host, if it can. */
static ri_choice_t select_plane(const ri_select_param_t *param)
{
    ri_proto_t proto;

    if (select_has_net_rtr(param)) {
        return (ri_choice_t){select_by_net_rtr(param), param->net_plane};
    }
    proto = select_by_plane(param, param->host_plane);
    if (proto != RI_PROTO_BULK) {
        return (ri_choice_t){proto, param->host_plane};
    }
    proto = select_by_plane(param, param->net_plane);
    return (ri_choice_t){proto, (proto != RI_PROTO_BULK) ? param->net_plane : 0};
}

/* A message that no plane moves: a short one, which goes through a ring, a channel or active
 * messages, or one that UCP moves. */
static ri_proto_t select_am(const ri_select_param_t *param)
{
    /* The processor must not touch memory that is not the host's: UCP moves it */
    if ((param->length > param->eager_thresh) || !param->host_memory) {
        return param->sync ? RI_PROTO_BULK_RNDV : RI_PROTO_BULK;
    }

    /* A receiver that has no endpoint to this process may have none by the time that it
     * matches the message, see RI_WIRE_CONN_REQ_PEER. UCP's rendezvous needs none. */
    if (param->sync && param->peer_mode) {
        return RI_PROTO_BULK_RNDV;
    }

    if (param->has_ring && (param->length <= param->ring_max)) {
        return RI_PROTO_EAGER_RING;
    }

    if (param->has_channel && (param->length <= param->channel_max)) {
        return RI_PROTO_EAGER_RDMA;
    }

    /* The first messages of a connection must not wait for an answer of the peer: it may be
     * busy, and so may soon be the sender. UCP would wait for one before anything but the
     * shortest active message. */
    if (!param->am_ready &&
        (param->length >
         (param->has_hello ? (size_t)RI_WIRE_SHORT_HELLO : RI_WIRE_SHORT))) {
        return RI_PROTO_EAGER_FRAGS;
    }

    /* A synchronous header does not fit a short message's cache line anyway, and its
     * request exists already. */
    if (param->contig && (param->length > param->am_inline)) {
        return RI_PROTO_EAGER_GATHER;
    }
    return RI_PROTO_EAGER_COPY;
}

ri_choice_t ri_select(const ri_select_param_t *param)
{
    ri_choice_t choice = {RI_PROTO_BULK, 0};

    if (param->self) {
        return (ri_choice_t){RI_PROTO_SELF, 0};
    }

    /* The ring beats a system call up to some length. */
    if (param->ring_takes && param->host_memory && !param->sync &&
        !ri_select_is_early(param)) {
        return (ri_choice_t){RI_PROTO_EAGER_RING, 0};
    }

    /* In mode PEER the receiver may have no way to say that it has read the data. */
    if ((param->length > param->eager_thresh) && param->host_memory &&
        !param->peer_mode) {
        choice = select_plane(param);
    }
    if (choice.proto == RI_PROTO_BULK) {
        choice.proto = select_am(param);
    }
    return choice;
}

void ri_select_without(ri_select_param_t *param, unsigned lacks,
                       const ri_select_now_t *now)
{
    if (lacks & RI_SEND_LACKS_RTR) {
        param->rtr_room   = 0;
        param->host_plane = now->host_plane; /* the plane may have failed */
    }
    if (lacks & RI_SEND_LACKS_POOL) {
        param->pool_free = 0;
    }
    if ((lacks & RI_SEND_LACKS_KEYS) && param->pieces && param->in_runs) {
        param->pieces     = 0; /* what is packed into the pool needs no keys of its own */
        param->hybrid_net = now->hybrid_packed;
    } else if (lacks & RI_SEND_LACKS_KEYS) {
        param->net_plane = 0;
    }
    if (lacks & RI_SEND_LACKS_SLOT) {
        param->slot_free = 0;
    }
}

/* Whether both sides can copy to a receive whose memory is of a form that allows it. */
static int fetch_has_coop(const ri_select_fetch_t *param)
{
    return param->host_memory && (param->length <= param->room) &&
           (param->length <= RI_SLOT_LENGTH_MAX);
}

/* An RTS names a slot. Where either side's data is in runs, parts come by a shelf. @return
 * RI_FETCH_NOTHING: it is as if there were none. */
static ri_fetch_t fetch_by_slot(const ri_select_fetch_t *param)
{
    int has_coop = fetch_has_coop(param);
    int writable = has_coop && param->contig && param->has_address;
    int by_shelf = has_coop && param->shelf && (writable || param->spread);

    if (!param->slot_there) {
        return param->slot_offered ? RI_FETCH_LOST : RI_FETCH_NOTHING;
    }
    if (param->slot_offered) {
        return (writable && !param->slot_is_other && !param->sent_spread) ?
                       RI_FETCH_COOP :
                       RI_FETCH_BROKEN;
    }
    if (param->sent_spread) {
        return by_shelf ? RI_FETCH_COOP : RI_FETCH_NOTHING;
    }
    return ((writable || by_shelf) && select_can(param->host_plane, RI_PLANE_READ)) ?
                   RI_FETCH_COOP :
                   RI_FETCH_NOTHING;
}

/* Whether the sender can be told to write the memory of a receive. In error handling mode PEER
 * that would have to end when the connection fails, and the sender might still write it then. */
static int fetch_has_put(const ri_select_fetch_t *param)
{
    return param->wants_put && param->can_answer && param->contig && param->host_memory &&
           (!param->has_keys || select_can(param->net_plane, RI_PLANE_WRITE));
}

/* The send of a message in the pool is complete, so its sender may be busy with something
 * else: it must not be asked for the data, if that can be avoided. */
static ri_fetch_t fetch_get(const ri_select_fetch_t *param)
{
    if (param->sends) {
        return !select_can(param->net_plane, RI_PLANE_MESSAGES) ? RI_FETCH_SENT_AM :
               (param->host_memory && param->pieces)            ? RI_FETCH_SENT :
                                                                  RI_FETCH_SENT_BOUNCE;
    }
    if (param->has_keys) {
        return !select_can(param->net_plane, RI_PLANE_READ) ? RI_FETCH_AM :
               (param->host_memory && param->pieces)        ? RI_FETCH_GET :
                                                              RI_FETCH_BOUNCE;
    }
    if (!select_can(param->host_plane, RI_PLANE_READ)) {
        return RI_FETCH_AM;
    }
    return param->host_memory ? RI_FETCH_GET :
           param->is_pool     ? RI_FETCH_BOUNCE :
                                RI_FETCH_AM;
}

ri_fetch_t ri_select_fetch(const ri_select_fetch_t *param)
{
    ri_fetch_t fetch = RI_FETCH_NOTHING;

    if (param->slot_named && !param->is_pool) {
        fetch = fetch_by_slot(param);
    }
    if ((fetch != RI_FETCH_NOTHING) || (param->length > param->room)) {
        return fetch;
    }
    if (!param->is_pool && param->sent_spread) {
        return RI_FETCH_AM;
    }
    if (!param->is_pool && fetch_has_put(param)) {
        return RI_FETCH_PUT;
    }
    return fetch_get(param);
}
