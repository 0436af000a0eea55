/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A worker: everything that belongs to one ucp_worker_h. Its life and its progress are in
 * run/worker_life.h and run/worker_progress.h.
 */
#ifndef RI_WORKER_H
#define RI_WORKER_H

#include "calls.h"
#include "context.h"
#include "conn.h"
#include "counters.h"
#include "msg.h"
#include "request.h"
#include "trace.h"
#include "../../ucs/handle_map.h"
#include "../../ucs/id_table.h"
#include "../../ucs/stock.h"
#include "../link/pool.h"
#include "../match/match.h"
#include "../match/sender_map.h"

#include <pthread.h>

/* Classes by which receives with RTRs are counted: tags of their masks, hashed. */
#define RI_RTR_KEYS 256

/* One-sided operations of the application, see rma.h. */
typedef struct ri_rma {
    uint64_t seq;                      /* of the latest one */
    ucs_list_link_t ops[RI_RMA_KINDS]; /* that have not ended here, by age */
    ucs_list_link_t closed;            /* of these, those whose conn has ended */
    ucs_list_link_t behind;            /* conns with RI_CONN_BEHIND_RMA */
    ri_rma_op_t *free;
    unsigned num_free;
} ri_rma_t;

struct ri_worker {
    /* What progress looks at, in one cache line. */
    ucp_worker_h stock;
    int multi;              /* entered by several threads: lock is used */
    int guarded;            /* multi or timed: ri_worker_enter() has something to do */
    int progressing;        /* re-entrance of progress */
    unsigned countdown;     /* progress calls until the next housekeeping */
    int attention;          /* there is work for worker_progress_slow() */
    unsigned num_rings;     /* that peers send into */
    unsigned num_channels;  /* that peers write, or that are written */
    unsigned ring_credit;   /* polls to go until rings count as quiet */
    unsigned stock_credit;  /* calls of stock's progress to go until it counts as quiet */
    unsigned stock_skipped; /* progress calls since stock's was last called */
    unsigned num_coops;     /* length of coops */
    unsigned coop_turn;     /* of reads, while there are any */
    unsigned num_reads;     /* transfers through a network that are under way */
    unsigned linger; /* progress calls in which late questions are still answered */

    ri_context_t *context;
    int timed;                     /* time in calls is measured */
    int destroyed;                 /* stock is being destroyed: drop what arrives */
    int host_memory;               /* this UCX knows no other kind of memory */
    ri_stream_t **rings;           /* num_rings, of capacity 2 * max_rings */
    unsigned num_stopping;         /* of them, asked back */
    unsigned max_rings;            /* 0: rings are not used on this worker */
    ri_channel_in_t **channels_in; /* num_channels_in, of capacity 2 * max_channels */
    unsigned num_channels_in;
    unsigned num_channels_stopping; /* of them, asked back */
    unsigned max_channels;          /* 0: they are not used on this worker */
    uint32_t channel_serial;        /* of the latest that was offered */
    ucs_list_link_t channels_out;
    ucs_list_link_t channels_kept; /* ended, but a credit may still come */
    uint64_t ring_clock;           /* messages delivered, by any way */
    uint32_t conn_serial;          /* of the latest conn */
    int version_reported;          /* that a peer speaks another one */

    /* A rendezvous descriptor that was kept while stock's callback has not returned yet: it
     * must not be released before. NULL again when stock is to do that. */
    void *arriving;

    ri_match_t match;
    ri_req_pool_t reqs;
    ri_msg_pool_t msgs;
    ri_am_pool_t am_buffers;
    ri_pool_t pool; /* of messages that wait for their receiver */

    ucs_list_link_t pending_conns; /* with sends that wait for ring space */
    ucs_list_link_t ep_ops;        /* flushes and closes that wait for own work */
    ucs_list_link_t control;       /* control messages that stock had no memory for */
    ucs_list_link_t asking;        /* conns that wait for CONN_ACK with a time-out */
    ucs_list_link_t to_ask;        /* conns that are to ask, by the same link */
    unsigned ask_countdown;        /* calls of progress until these do */
    ucs_list_link_t coops;         /* messages that both sides copy (proto/coop/coop.h) */
    ucs_list_link_t releasing;     /* peers whose pool buffers are to be given back */
    unsigned trace_signals;        /* of which it took notice */

    ri_rma_t rma;
    unsigned stock_looks; /* how often a call looks, see ri_worker_progress_stock() */
    int stock_timed;      /* what stock's progress costs: since the latest housekeeping */
    int stock_cheap;      /* ... it is little */

    uint64_t uid;
    uint16_t am_id; /* of its handler; 1 + that id, as peers are told */
    uint64_t host;  /* for hellos; 0: no rings */
    ri_map_t peers; /* by uid */
    ri_id_table_t conn_ids;
    ri_id_table_t stream_ids;
    ri_id_table_t req_ids;  /* of sends that the peer answers */
    ri_id_table_t recv_ids; /* of receives that wait for RNDV_DATA */
    ri_plane_t *plane;      /* to processes on this host; NULL: none */
    ri_plane_t *rdma;       /* through a network, by connections; NULL: none */
    ri_plane_t *ud;         /* likewise, by datagrams; NULL: none */
    ucs_list_link_t ways; /* peers with an end of a way by either, by their latest use */
    unsigned num_ways;    /* of these, by connections */
    int ways_untold;      /* a peer may have rdma_untold */
    ri_host_process_t process;   /* this one, as peers on this host can look for it */
    ucs_list_link_t reads_done;  /* transfers by it that have ended (link/rdma.c) */
    ucs_list_link_t reads_again; /* of these, whose end is to be tried again */
    double gone_checked;         /* when it was last looked whether peers exist */
    unsigned gone_round;         /* how often it was */
    int gone_hurry;              /* one seems to be gone: look again soon */
    int gone_local;              /* there was one whose process could be looked for */
    int gone_awaited;  /* at the latest look, something waited for such a peer */
    int gone_timer;    /* wakes an application that sleeps; -1: none yet, -2: never */
    double gone_wakes; /* when it does; 0: it is not set */
    double gone_due;   /* since when progress is to look; 0: it is not */

    ri_sender_map_t senders;
    uint64_t polls;     /* of rings */
    uint32_t active_us; /* when it was last done with a long message, see rtr_learn.c */
    size_t num_rtrs;    /* receives whose rtr is not NONE */
    size_t num_offered; /* of them, OUT or KEPT */
    uint32_t rtr_keys[RI_RTR_KEYS]; /* of them, those of each ri_rtr_key() */
    int rtr_retry;                  /* a queued receive may have its turn */
    ucs_list_link_t
            late_conns;        /* conns with RTRs for messages that were offered by RTS */
    ucs_list_link_t rtr_queue; /* receives that are to send an RTR, and may soon */
    ri_recv_req_t *rtr_deep;   /* receives of which too many are ahead: waiters */
    ucs_list_link_t
            rtr_full; /* peers to whom others wait for room, see proto/rtr/rtr_slots.h */
    unsigned num_rtr_full;       /* in that list */
    unsigned rtr_turns;          /* how many of these are to be looked at */
    ucs_list_link_t rtr_writing; /* receives that have met their message while the sender
                                    was writing by an RTR */

    ucs_list_link_t rtr_notified; /* slots of RTRs by message that have news */
    ucs_list_link_t
            stalled_self;   /* messages to this worker that wait, see stream->stalled */
    size_t num_rtr_slots;   /* RTRs by message that are out */
    unsigned num_revoking;  /* of these, that a REVOKE of is not answered */
    double revoking_looked; /* when it was last looked for such as are late */
    int rtr_recheck;        /* what waits for such answers may have its turn */
    double rtr_ud_after;    /* nothing is offered by ud before that time; 0: it may be */
    unsigned rtr_ud_takes;  /* offers by ud that had to make way, in a row */
    unsigned rdma_failures; /* of ways, that it took notice of */
    int rdma_lost;          /* a stream has rdma_lost */

    ucp_ep_h bounce_ep;   /* to this worker, see link/bounce.h; NULL: not needed yet */
    ucp_tag_t bounce_tag; /* of the next transfer by it */
    ucs_list_link_t bounces;
    ucs_list_link_t conns;
    unsigned num_left; /* of conns, RI_CONN_LEFT */
    ucs_list_link_t streams;
    ri_worker_counters_t counters;
    ri_calls_t calls; /* if timed */
    ri_trace_t trace;
    pthread_mutex_t lock; /* recursive; MULTI workers only */
    ucs_list_link_t list; /* in context->workers */
};

/* All workers of this process, by stock handle. */
extern ri_map_t ri_worker_map;

/* The one of this thread's latest call: progress is called over and over again. */
extern __thread ri_map_cache_t ri_worker_latest
        __attribute__((tls_model("initial-exec")));

/** @return The worker of a stock handle, or NULL if this library does not serve it. */
static inline ri_worker_t *ri_worker_find(ucp_worker_h stock)
{
    return (ri_worker_t *)ri_map_get_cached(&ri_worker_map, &ri_worker_latest,
                                            (uintptr_t)stock);
}

/** What is behind @ref ri_worker_enter. */
void ri_worker_enter_slow(ri_worker_t *worker);

/** What is behind @ref ri_worker_leave. */
void ri_worker_leave_slow(ri_worker_t *worker, ri_call_t call);

static inline void ri_worker_lock(ri_worker_t *worker)
{
    if (ri_unlikely(worker->multi)) {
        pthread_mutex_lock(&worker->lock);
    }
}

static inline void ri_worker_unlock(ri_worker_t *worker)
{
    if (ri_unlikely(worker->multi)) {
        pthread_mutex_unlock(&worker->lock);
    }
}

/** Begin a call of the application: lock the worker, and time the call. */
static inline void ri_worker_enter(ri_worker_t *worker)
{
    if (ri_unlikely(worker->guarded)) {
        ri_worker_enter_slow(worker);
    }
}

/** End it. */
static inline void ri_worker_leave(ri_worker_t *worker, ri_call_t call)
{
    if (ri_unlikely(worker->guarded)) {
        ri_worker_leave_slow(worker, call);
    }
}

/**
 * Get the request of an operation, from the pool or in the application's memory.
 *
 * @param kind  RI_REQ_RECV, RI_REQ_SEND or RI_REQ_EP_OP.
 *
 * @return NULL if there is no memory.
 */
static inline ri_req_t *ri_req_get(ri_worker_t *worker, const ucp_request_param_t *param,
                                   uint32_t kind)
{
    ri_req_pool_t *pool = &worker->reqs;
    ri_req_t *req;

    if (ri_unlikely(param->op_attr_mask & UCP_OP_ATTR_FIELD_REQUEST)) {
        req = ri_req_of_handle(param->request);
        kind |= RI_REQ_USER_MEM;
        req->worker = worker;
    } else {
        if (ri_unlikely(pool->free == NULL) && (ri_req_pool_grow(worker) != UCS_OK)) {
            return NULL;
        }
        req        = pool->free;
        pool->free = req->next_free;
        ++pool->in_use;
    }

    req->mark = RI_REQ_MARK;
    atomic_store_explicit(&req->flags, kind, memory_order_relaxed);
    return req;
}

/** @return Whether the pool has a request for @ref ri_req_get. */
static inline int ri_req_is_available(ri_worker_t *worker)
{
    return ri_likely(worker->reqs.free != NULL) || (ri_req_pool_grow(worker) == UCS_OK);
}

/** Put a finished pool request back. */
static inline void ri_req_put(ri_req_t *req)
{
    ri_req_pool_t *pool = &req->worker->reqs;

    req->mark      = RI_REQ_MARK_FREE;
    req->next_free = pool->free;
    pool->free     = req;
    --pool->in_use;
}

/** Complete a receive whose call has returned; as @ref ri_req_complete_send. */
static inline void ri_req_complete_recv(ri_recv_req_t *recv, ucs_status_t status)
{
    ri_req_t *req                  = &recv->super;
    ucp_tag_recv_nbx_callback_t cb = req->cb.recv;
    void *user_data                = req->user_data;
    uint32_t flags                 = ri_req_flags(req);

    /* Memory of the application may be gone as soon as COMPLETED is seen. */
    req->status = status;
    atomic_store_explicit(&req->flags, flags | RI_REQ_COMPLETED, memory_order_release);
    if (flags & RI_REQ_CALLBACK) {
        cb(ri_req_handle(req), status, &recv->info, user_data);
    }
    if (flags & RI_REQ_RELEASED) {
        ri_req_put(req);
    }
}

/** Count payload that is kept in memory, for @a stream if that is not NULL. */
static inline void ri_worker_hold_bytes(ri_worker_t *worker, ri_stream_t *stream,
                                        size_t length)
{
    if (stream != NULL) {
        stream->counters.stream_held_bytes += length;
    }
    worker->counters.held_bytes += length;
    worker->counters.held_bytes_max = ri_max(worker->counters.held_bytes_max,
                                             worker->counters.held_bytes);
}

/** It is not kept any longer. */
static inline void ri_worker_unhold_bytes(ri_worker_t *worker, ri_stream_t *stream,
                                          size_t length)
{
    if (stream != NULL) {
        stream->counters.stream_held_bytes -= length;
    }
    worker->counters.held_bytes -= length;
}

#endif
