/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether RTRs pay: who sends to a receive, and what the application does meanwhile.
 */
#include "rtr_learn.h"
#include "../../../ucs/settings.h"
#include "../../core/activity.h"
#include "../../core/exchange.h"
#include "rtr_net.h"
#include "rtr_state.h"
#include "rtr_ud.h"
#include "../../match/sender_map.h"

/* An application whose progress calls are further apart is busy with something else: what
 * the sender does for it meanwhile is won. One that waits in the library reads as well as the
 * sender writes, and has the data in its own cache then. Microseconds. (For planes whose
 * transfers take a processor's time.) */
#define RTR_BUSY 5

/* Bytes that an application copies in a microsecond if it does other things as well. */
#define RTR_SOON_BYTES 2048

/* Messages in a row that were not waited for, after which the next one will not be, either. */
#define RTR_WAITED 3

/* A message that is found by the first poll behind its receive was there before it. */
#define RTR_POLLS 2

typedef enum rtr_meanwhile {
    RTR_WAS_LATE,    /* the message was first, or nearly so */
    RTR_WAS_BUSY,    /* with something else */
    RTR_WAS_WAITING, /* for messages, in the library */
} rtr_meanwhile_t;

/* Whether a receive was posted, or asked for, right after another long message was done: then
 * its own has not waited for long, should it have been there before. */
static int rtr_was_prompt(const ri_worker_t *worker, uint32_t posted_us)
{
    return posted_us - worker->activity.received_us < RTR_BUSY;
}

/* How the application spent the time before the message had its receive, or between them. */
static rtr_meanwhile_t rtr_meanwhile(const ri_recv_req_t *recv, uint32_t now)
{
    const ri_worker_t *worker = recv->super.worker;
    uint32_t polls            = worker->polls - recv->rtr.posted_polls;

    if (!recv->rtr.early) {
        return rtr_was_prompt(worker, now) ? RTR_WAS_WAITING : RTR_WAS_LATE;
    }
    if (now - recv->rtr.posted_us >= (polls + 1ul) * RTR_BUSY) {
        return RTR_WAS_BUSY;
    }
    return ((polls >= RTR_POLLS) || rtr_was_prompt(worker, recv->rtr.posted_us)) ?
                   RTR_WAS_WAITING :
                   RTR_WAS_LATE;
}

/* Note whether one message more was waited for. A process that loses the processor for a moment
 * still waits. @return Whether the next ones are taken for something else than before. */
static int rtr_count_down(uint8_t *left, int waiting)
{
    int before = (*left > 0);

    if (waiting) {
        *left = RTR_WAITED;
    } else {
        *left -= before;
    }
    return before != (*left > 0);
}

/* Note whether one message more was met. With UCXRI_RTR=y nothing is learnt of that. @return
 * Whether the process is taken for away from now on, or for there. */
static int rtr_count_missed(uint8_t *missed, int was_met)
{
    int before = (*missed == RI_PEER_HINT_MISSED);

    *missed = (was_met || (ri_config.rtr == UCS_YES)) ? 0 : *missed + !before;
    return before != (*missed == RI_PEER_HINT_MISSED);
}

/* Whether the application has done hardly anything else since the latest long message than to copy
 * as much itself. */
static int rtr_was_soon(const ri_worker_t *worker, uint32_t now, size_t length)
{
    return now - worker->activity.received_us < RTR_BUSY + length / RTR_SOON_BYTES;
}

/* Note what the peer is to be told about a message of @a length bytes. */
static void rtr_note_waiting(const ri_stream_t *stream, int waiting, uint32_t now,
                             size_t length)
{
    ri_peer_t *peer = stream->peer;
    int soon        = (ri_config.rtr != UCS_YES) &&
               (waiting || rtr_was_soon(stream->worker, now, length));

    peer->hint.is_news |= rtr_count_down(&peer->hint.waited, waiting) |
                          rtr_count_down(&peer->hint.soon, soon) |
                          rtr_count_missed(&peer->hint.missed, waiting || soon);
}

/* A network writes without a processor, so there is a round trip to be saved whenever an RTR is
 * in time. One that is not costs a message, for which a processor that computes may be
 * interrupted. */
static int rtr_gain_by_message(const ri_recv_req_t *recv, uint32_t now)
{
    if (recv->rtr.state == RI_RTR_BY_KEY) {
        return -1;
    }
    if (ri_rtr_state_is_by_key(recv)) {
        return 1;
    }
    return recv->rtr.early && (rtr_meanwhile(recv, now) != RTR_WAS_LATE);
}

/* Of messages of an exchange, as their sender sees it: it uses no RTR. */
static int rtr_is_of_exchange(const ri_peer_t *peer)
{
    return (ri_config.rtr != UCS_YES) && (peer->hint.soon > 0) &&
           ri_exchange_also_sends(peer);
}

static int rtr_gain(rtr_meanwhile_t meanwhile)
{
    return (meanwhile == RTR_WAS_BUSY) ? 1 : (meanwhile == RTR_WAS_WAITING) ? -1 : 0;
}

void ri_rtr_learn_waiting(ri_recv_req_t *recv, const ri_stream_t *stream)
{
    uint32_t now = ri_clock_now_us();
    int waiting;

    if (recv->data.length > ri_config.eager_thresh) {
        waiting = (ri_config.rtr != UCS_YES) &&
                  (rtr_meanwhile(recv, now) == RTR_WAS_WAITING);
        rtr_note_waiting(stream, waiting, now, recv->data.length);
    }
    recv->super.worker->activity.received_us = now;
}

void ri_rtr_learn(ri_recv_req_t *recv, const ri_stream_t *stream,
                  const ri_arrival_t *arrival)
{
    ri_sender_map_t *senders  = &recv->super.worker->senders;
    rtr_meanwhile_t meanwhile = RTR_WAS_LATE;
    uint32_t now              = ri_clock_now_us();
    int gain;

    if (recv->data.length > ri_config.eager_thresh) {
        meanwhile = (ri_config.rtr == UCS_YES) ? RTR_WAS_BUSY : rtr_meanwhile(recv, now);
    }
    gain = rtr_gain(meanwhile);
    if ((ri_config.rtr != UCS_YES) &&
        (ri_rtr_net_is_possible(stream) || ri_rtr_ud_is_possible(stream))) {
        gain      = rtr_gain_by_message(recv, now);
        meanwhile = RTR_WAS_BUSY; /* the hint is for copies within a host */
    } else if (rtr_is_of_exchange(stream->peer)) {
        gain = -1;
    }
    rtr_note_waiting(stream, meanwhile == RTR_WAS_WAITING, now, arrival->length);
    recv->super.worker->activity.received_us = now;
    ri_sender_map_learn(senders, recv->tag, recv->mask, arrival->tag, stream->id);
    if ((ri_config.rtr != UCS_YES) && (recv->rtr.state == RI_RTR_BY_UD)) {
        /* The receive has a queue pair, in which receives are posted. If the queue pair is not
         * used, it has to be reset. */
        ri_sender_map_credit_costly(senders, recv->tag, recv->mask, stream->id,
                                    ri_rtr_ud_is_for(recv, stream, arrival));
    } else {
        ri_sender_map_credit(senders, recv->tag, recv->mask, stream->id, gain);
    }
}
