/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The structure of a worker (worker.h).
 */
#ifndef RI_WORKER_TYPES_H
#define RI_WORKER_TYPES_H

#include "../notes/calls.h"
#include "../notes/counters.h"
#include "link_types.h"
#include "match_types.h"
#include "request.h"
#include "rma_types.h"
#include "../notes/sizes.h"
#include "../notes/timeline.h"
#include "../notes/trace.h"
#include "../../../ucs/handle_map.h"
#include "../../../ucs/id_table.h"
#include "../../../uct/api/plane.h"
#include "../../../uct/shm/host.h"

#include <pthread.h>

/* Classes by which receives with RTRs are counted (ri_promises_class()). */
#define RI_RTR_CLASSES 256

/* Ways through networks, and transfers by them (link/way.h, link/net_transfer.h). */
typedef struct ri_worker_net {
    ri_plane_t *rc;       /* the plane by connections; NULL: none */
    ri_plane_t *ud;       /* the plane by datagrams; NULL: none */
    ucs_list_link_t ways; /* peers with an end of a way, by their latest use */
    unsigned num_ways;    /* ways by connections, whose number is limited */
    int way_ends_untold;  /* a peer may have way.end_untold */
    unsigned failures;    /* ri_plane_t.failures of both planes at the latest look */
    int lost;             /* a stream has rtr.lost */
    ucs_list_link_t done; /* transfers that have ended, whose end() is to be called */
    /* transfers that have ended, whose end() is to be called again */
    ucs_list_link_t again;
} ri_worker_net_t;

/* Rings that peers send into (link/ring_life.h); ri_worker_t has the rings themselves. */
typedef struct ri_worker_rings {
    unsigned num_stopping; /* rings that were asked back */
    unsigned max;          /* 0: rings are not used on this worker */
    unsigned crowd; /* number of rings from which on processes outnumber processors */
    unsigned num_shelves; /* that peers may put parts on (proto/coop/coop_shelf.h) */
    uint64_t clock;       /* messages delivered, by any route */
} ri_worker_rings_t;

/* Channels through a network (link/channel_life.h). */
typedef struct ri_worker_channels {
    ri_channel_in_t **in;  /* channels that peers write: num_in, of capacity 2 * max */
    unsigned num_in;       /* channels in the array `in` */
    unsigned num_stopping; /* channels that were asked back */
    unsigned max;          /* 0: channels are not used on this worker */
    uint32_t serial;       /* number of the latest channel that was offered */
    ucs_list_link_t out;   /* channels that this worker writes */
    /* channels that have ended at the sender, but whose credit may come */
    ucs_list_link_t kept;
} ri_worker_channels_t;

/* Messages that both sides copy (proto/coop/coop.h). */
typedef struct ri_worker_coop {
    ucs_list_link_t list; /* messages that both sides are copying, by their turns */
    ucs_list_link_t
            *next; /* in a round: the copy whose turn is next, or the list's head */
    unsigned turn; /* counts progress calls while there are transfers, see coop.c */
} ri_worker_coop_t;

/* Peers whose processes may be gone (link/gone.h). */
typedef struct ri_worker_gone {
    double checked; /* when the latest look was */
    unsigned round; /* how many looks there were */
    int hurry;      /* a peer seems to be gone: look again soon */
    int local;      /* there was a peer whose process could be looked for */
    int awaited; /* at the latest look, something waited for a peer that can be looked for */
    int timer;       /* descriptor, wakes an application that sleeps; -1: there is none */
    int never_wakes; /* no timer can wake it: there will be none */
    double wakes;    /* when the timer wakes the application; 0: it is not set */
    double due; /* since when progress is to look, as the timer has come; 0: it is not to */
} ri_worker_gone_t;

/* Receives that are offered (proto/rtr/rtr.h). */
typedef struct ri_worker_rtr {
    size_t num;         /* receives whose state is not NONE */
    size_t num_offered; /* receives whose RTR was sent: ri_rtr_state_is_offered() */
    /* receives whose state is not NONE, by ri_promises_class() */
    uint32_t by_class[RI_RTR_CLASSES];
    int retry; /* a queued receive may have its turn */
    /* conns with RTRs for messages that were announced by RTS */
    ucs_list_link_t late_conns;
    ucs_list_link_t queue; /* receives that are to send an RTR, and may soon */
    ri_recv_req_t *deep;   /* receives that wait until fewer are ahead */
    /* receives that met their message while its sender was writing */
    ucs_list_link_t writing;
    ucs_list_link_t notified; /* entries of RTRs through a network that have news */
    /* messages to this worker that wait, see stream->stalled */
    ucs_list_link_t stalled_self;
    size_t num_entries; /* RTRs through a network that are out */

    ucs_list_link_t full; /* peers with receives that wait for an entry (rtr_entries.h) */
    unsigned num_full;    /* peers in the list `full` */
    unsigned turns;       /* peers of the list `full` that are to be looked at */

    unsigned num_revoking;  /* RTRs through a network whose REVOKE is not answered */
    double revoking_looked; /* when it was last looked for REVOKEs that are late */
    int recheck;            /* what waits for answers to REVOKE may have its turn */

    double ud_after; /* nothing is offered by datagrams before that time; 0: it may be */
    unsigned ud_takes; /* offers by datagrams that had to make way, in a row */
} ri_worker_rtr_t;

/* Conns that wait for CONN_ACK, or are to ask for it (conn.h, link/control.h). */
typedef struct ri_worker_asking {
    ucs_list_link_t conns; /* conns that have asked, and wait with a time-out */
    ucs_list_link_t next;  /* conns that are to ask, by ri_conn_t.asking.link, too */
    unsigned countdown;    /* calls of progress until the conns of `next` ask */
} ri_worker_asking_t;

/* What the application does (activity.h). */
typedef struct ri_worker_activity {
    uint32_t received_us; /* when a long message was last received */
    uint32_t full_us;     /* when a send has last found no room in its ring */
    uint8_t full_is_news; /* there was no call of progress since that send */
    /* how often in a row the application was in progress at once after such a send */
    uint8_t full_times;
} ri_worker_activity_t;

/* Copies by way of UCX into memory that is not the host's (link/bounce.h). */
typedef struct ri_worker_bounce {
    ucp_ep_h ep;          /* to this worker; NULL: not needed yet */
    ucp_tag_t tag;        /* of the next copy */
    ucs_list_link_t list; /* copies that have not ended */
} ri_worker_bounce_t;

/* Ids for peers, of objects of a worker. Those of its pool's buffers are in ri_pool_t. */
typedef struct ri_worker_ids {
    ri_id_table_t conns;   /* of all conns */
    ri_id_table_t streams; /* of all streams */
    ri_id_table_t sends;   /* of sends that the peer answers */
    ri_id_table_t recvs;   /* of receives that wait for their data, or have an RTR */
} ri_worker_ids_t;

/* How peers are told of the worker (wire/address.h, and the hello in wire/forms.h). */
typedef struct ri_worker_self {
    uint64_t uid;   /* stock's uid of its worker, by which peers know this one */
    uint16_t am_id; /* 1 + the id of the worker's handler of active messages */
    uint64_t host;  /* ri_host_id(), as hellos tell; 0: no rings */
    ri_host_process_t process; /* this process, as peers on this host can look for it */
} ri_worker_self_t;

/* Of all closes (run/close.h). */
typedef struct ri_worker_closes {
    double attended;   /* seconds in which a close has waited, and progress was called */
    double checked;    /* the time of the latest look */
    double noted;      /* the value of `attended` when all conns were noted */
    int is_any;        /* there was a close */
    unsigned num_left; /* conns that are RI_CONN_LEFT */
} ri_worker_closes_t;

/* A worker. Only its own thread writes it or, if the worker is MULTI, the thread that has its
 * lock. */
struct ri_worker {
    /* What each call of progress looks at or changes when nothing comes, but for the rings
     * themselves and a counter; in one cache line, which worker_progress.c checks. */
    ucp_worker_h stock; /* the handle that the application has */
    /* streams with a ring: num_rings, of capacity 2 * rings.max */
    ri_stream_t **rings_in;
    unsigned num_rings; /* rings that peers send into */
    unsigned
            num_channel_ends; /* of channels that peers write, and of those written here */
    unsigned num_coops;       /* messages that both sides copy: length of coop.list */
    unsigned num_transfers;   /* transfers through a network that have not ended */
    unsigned linger;      /* progress calls in which late questions are still answered */
    unsigned attention;   /* there may be work of run/work.h */
    unsigned ring_credit; /* polls to go until rings count as quiet */
    unsigned countdown;   /* progress calls until the next housekeeping */
    uint32_t polls;       /* of rings, modulo 2^32 */
    unsigned stock_skipped; /* progress calls since stock's was last called */
    uint16_t stock_credit;  /* calls of stock's progress to go until it counts as quiet */
    uint8_t stock_looks;    /* how often a call looks, see ri_worker_progress_stock() */
    uint8_t stock_timed; /* stock's progress was measured since the latest housekeeping */
    uint8_t stock_cheap; /* stock's progress costs little */
    uint8_t progressing; /* progress is under way: it may be called from a callback */
    uint8_t guarded;     /* multi or timed: ri_worker_enter() has something to do */
    uint8_t observed; /* guarded, or with a timeline: a call of progress has more to do */

    /* Several threads enter it, so lock is used. Progress of a worker that is not guarded does not
     * look at it, and the lock is in another line anyway. */
    uint8_t multi;

    uint64_t
            skipped_ticks; /* ri_clock_ticks() when a call that would skip stock's was last timed */
    unsigned found_at; /* countdown at the latest call that found something in a ring */

    ri_context_t *context; /* which has the worker in its list `workers` */
    int timed;             /* time in calls is measured */
    int destroyed;   /* stock's worker is being destroyed: what arrives is dropped */
    int host_memory; /* this UCX knows no other kind of memory */
    /* the longest message or receive that neither trace nor timeline tells of; -1: none */
    int64_t unnoted;
    ri_worker_activity_t activity;

    /* A rendezvous descriptor that was kept while stock's callback has not returned yet: it
     * must not be released before. NULL again when stock is to do that. */
    void *arriving;

    ri_worker_rings_t rings;
    ri_worker_channels_t channels;

    /* Matching, and the memory of requests and messages. */
    ri_match_t match;
    ri_req_pool_t reqs;
    ri_msg_pool_t msgs;
    ri_am_pool_t am_buffers;
    ri_pool_t pool; /* buffers of messages that wait for their receiver */
    ri_sender_map_t senders;

    /* State of one part of the library each. */
    ri_worker_rtr_t rtr;
    ri_worker_net_t net;
    ri_worker_gone_t gone;
    ri_worker_asking_t asking;
    ri_worker_bounce_t bounce;
    int version_reported; /* that a peer speaks another version of the wire was reported */
    ri_rma_t rma;

    ucs_list_link_t pending_conns; /* conns with sends that wait for room in their ring */
    ucs_list_link_t ep_ops;        /* flushes and closes that wait for own work */
    ucs_list_link_t control;       /* control messages that stock had no memory for */
    ri_worker_coop_t coop;

    /* Processes and connections that this worker has to do with. */
    ri_worker_self_t self;
    ri_plane_t *plane;   /* the plane to processes on this host; NULL: none */
    ri_map_t peers;      /* by uid */
    ri_worker_ids_t ids; /* by which peers name what belongs to this worker */

    ucs_list_link_t conns; /* all conns */
    uint32_t conn_serial;  /* number of the latest conn */

    ri_worker_closes_t closes;
    ucs_list_link_t streams; /* all streams */

    /* Notes of what was done, for reports (core/notes). */
    ri_worker_counters_t counters;
    ri_calls_t calls; /* if timed */
    int watched; /* there is a trace, or sizes: the fast path of sends tells of its messages */
    ri_sizes_t *sizes; /* of messages sent; NULL: not wanted */
    ri_trace_t trace;
    ri_timeline_t timeline;

    pthread_mutex_t lock; /* recursive; MULTI workers only */
    ucs_list_link_t list; /* in context->workers */
};
#endif
