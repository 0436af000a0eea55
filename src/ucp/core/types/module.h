/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events in the life of workers, peers, conns, streams, rings and ways, of which the parts of the
 * library want to know. Objects tell of it by these events, and know no part by name. All of them
 * are rare.
 *
 * A part is one file, or a few, and has a table of functions; run/modules.c lists the tables,
 * and the order of that list is the order of the calls of each event. Where the life of an
 * object ends, there is an event for each phase: what a phase promises holds when all of its
 * calls have returned.
 *
 * Unless said otherwise, functions must not call back into the application.
 */
#ifndef RI_MODULE_H
#define RI_MODULE_H

#include "types.h"

#include <stddef.h>

/*
 * What a stream may still be needed for, as its parts say (stream_is_needed). These do:
 *
 *   module     for what it has of the stream                          ITSELF  DATA  PEER
 *   match      messages that wait for their receive                     x
 *   ring       the ring                                                 x
 *   channel    memory of a channel                                      x
 *   assembly   a message that comes through the ring in parts                         x
 *   frag       messages of which pieces are missing                             x
 *   rndv_recv  receives that wait for their data                        x       x     x
 *   net_read   receives that are read through a network                 x       x
 *   coop_recv  receives that both sides copy                            x       x
 *   rtr        receives that were offered                                             x
 *              ... of them, those whose message had its turn            x
 *
 * Without a mark at PEER, net_read counts all the same, among the transfers of the way
 * (ri_peer_way_t.num_transfers), and coop_recv looks for the process by itself.
 */
typedef enum ri_stream_need {
    /* Something refers to it, or may still come by it though its sender has closed it: it must not
     * be freed. */
    RI_STREAM_NEED_ITSELF,

    /* The data of a message is on its way, or has come in part. */
    RI_STREAM_NEED_DATA,

    /* Something waits that only the sender ends: it would for ever if that process were gone. */
    RI_STREAM_NEED_PEER
} ri_stream_need_t;

/*
 * What a conn may still be needed for, as its parts say (conn_is_needed). These do:
 *
 *   module        for what it has of the conn                            OPEN  MEMORY  PEER
 *   (the conn)    sends that wait for room in the ring                           x
 *                 all unfinished sends                                                   x
 *   rndv          sends whose memory the peer may need                     x     x
 *   coop_send     slots of sends that are complete, and not read yet             x
 *   pool_send     buffers of the pool with its messages                          x       x
 *                 ... of them, those that are being written                x
 *                 ... those for which UCP had no memory                          x
 *   channel_send  records that are not acknowledged                                      x
 *
 * For MEMORY, rndv and coop_send count only if the conn goes on (ri_conn_goes_on): else the peer
 * receives nothing of theirs any more.
 */
typedef enum ri_conn_need {
    /* A number was lost, and what was sent before needs a conn that has not said BYE. */
    RI_CONN_NEED_OPEN,

    /* The peer may need memory of this process for what was sent. */
    RI_CONN_NEED_MEMORY,

    /* Something waits that only the peer ends: it would for ever if that process were gone. */
    RI_CONN_NEED_PEER
} ri_conn_need_t;

/* The table of a part. A function that a part does not need is NULL. */
typedef struct ri_module {
    const char *name; /* for debuggers */

    /*
     * A worker. It begins by worker_made and worker_starts. It ends by the other ones, in the order
     * in which they stand here, and between them its conns and streams end (run/worker_life.c):
     *
     *   worker_says     first: answers need conns and ways that work
     *   worker_stops    after what is said by ways, and before conns: what is under way uses the
     *                   memory of sends, which is given back with these
     *   each conn       by conn_stops, conn_closes, conn_closed and conn_freed. Before streams: its
     *                   ring has what was offered of their receives
     *   worker_ends     after conns, as flushes of the worker wait for them; before streams, as
     *                   messages and receives that wait belong to them
     *   each stream     by stream_ends and stream_freed; a peer goes with the last of its streams
     *   worker_closes   when no peer is left that a plane leads to
     *   (stock's worker is destroyed: it may call back, and then looks at memory of the worker)
     *   worker_freed    last
     */

    /** A worker, which has its context and whose memory is zero, is made: its lists and tables are
     * empty. All modules are told, also if one fails.
     * @return UCS_OK, or UCS_ERR_NO_MEMORY. If there is an error, or if the worker cannot be set up
     * for another reason, worker_freed is next. */
    ucs_status_t (*worker_made)(ri_worker_t *worker);

    /** The worker can receive messages. */
    void (*worker_starts)(ri_worker_t *worker);

    /** The worker ends. Phase 1, all conns are usable: peers are told of what has come, and no peer
     * begins with anything new: receives that both sides copy end, and offers through a network are
     * withdrawn. Calls back. */
    void (*worker_says)(ri_worker_t *worker);

    /** The worker ends. Phase 2: nothing is under way through a network, and ways have ended with
     * it; what waits for company on its way to a peer is sent; peers that read the memory of sends
     * will notice that it is given back. Calls back. */
    void (*worker_stops)(ri_worker_t *worker);

    /** The worker ends. Phase 3, there is no conn any more: what belongs to none ends: flushes of
     * the worker, rings of streams, receives that wait for their data, messages that wait for
     * their receive. Calls back. */
    void (*worker_ends)(ri_worker_t *worker);

    /** The worker ends. Phase 4, there is no stream and no peer any more: what is held of others
     * is given up, as memory that is registered, and planes. */
    void (*worker_closes)(ri_worker_t *worker);

    /** The worker ends. Phase 5, stock's worker is gone: its memory goes. */
    void (*worker_freed)(ri_worker_t *worker);

    /* A peer, by the life of what belongs to it: */

    /** A peer, whose memory is zero, is made: its lists are empty. Nothing else may be done: it may
     * go again without a call of peer_freed. */
    void (*peer_made)(ri_worker_t *worker, ri_peer_t *peer);

    /** A conn of the peer was made: there is a usable conn now. */
    void (*peer_reached)(ri_worker_t *worker, ri_peer_t *peer);

    /** The last usable conn to the peer has failed. Phase 1: what waits for its data ends. Calls
     * back; any stream may be freed by that, and the peer, too. */
    void (*peer_fails)(ri_worker_t *worker, uint64_t uid, ucs_status_t status);

    /** The last usable conn to the peer has failed. Phase 2: what else waits for its help ends.
     * Calls back; any stream may be freed by that, and the peer, too. */
    void (*peer_failed)(ri_worker_t *worker, uint64_t uid);

    /** The peer has no conn and no stream any more, and is freed. */
    void (*peer_freed)(ri_worker_t *worker, ri_peer_t *peer);

    /* A conn. It ends by conn_closes, conn_closed and conn_freed; it may have failed before, by
     * conn_fails, and lost a number before that, by conn_loses and conn_lost. */

    /** The conn has RI_CONN_UNTOLD, which one module sets, and the next number is that of a message
     * that does not say by itself what is untold (`tells_itself` of its protocol): say it. */
    void (*conn_tells)(ri_conn_t *conn);

    /** A number was lost: nothing is sent any more, but what was sent before is received as
     * ever. Its status is UCS_OK still. */
    void (*conn_loses)(ri_conn_t *conn);

    /** Nothing goes out by the conn any more: a number was lost, and all sends have ended but those
     * that the peer may need; or the worker of the conn ends, and the conn is destroyed next. */
    void (*conn_stops)(ri_conn_t *conn);

    /** @return Whether the module has anything of the conn that needs it for @a need. Asked by
     * ri_conn_is_needed(). */
    int (*conn_is_needed)(const ri_conn_t *conn, ri_conn_need_t need);

    /** Nothing needs the conn open any more (RI_CONN_NEED_OPEN): tell the peer of the loss, by the
     * conn @a by, which may be the conn itself. Any conn may be gone afterwards. */
    void (*conn_lost)(ri_conn_t *conn, ri_conn_t *by);

    /** The conn has failed, with conn->status; its sends end next. @a is_first: this is the
     * first time that it is told. */
    void (*conn_fails)(ri_conn_t *conn, int is_first);

    /** The conn is closed. Phase 1, before its sends end: what they need must outlive the conn,
     * or is given up. */
    void (*conn_closes)(ri_conn_t *conn);

    /** The conn is closed. Phase 2: all sends have ended; so do operations of the application on
     * the endpoint. Calls back. */
    void (*conn_closed)(ri_conn_t *conn, ucs_status_t status);

    /** The conn is closed. Phase 3: its memory goes. */
    void (*conn_freed)(ri_conn_t *conn);

    /* A stream. It ends by stream_ends and stream_freed, and may have broken before. */

    /** The stream has broken, and stream->broken is set: when all have returned, its sender
     * knows, and writes no memory of receives that could be withdrawn. */
    void (*stream_breaks)(ri_stream_t *stream);

    /** The stream is broken or freed: its receives end. Calls back; the stream is kept by
     * stream->busy. */
    void (*stream_ends)(ri_stream_t *stream, ucs_status_t status);

    /** The stream's sender has closed it, and there is no ring (any more): receives that the
     * sender could write until now end. Calls back; the stream is kept by stream->busy. */
    void (*stream_closed)(ri_stream_t *stream, ucs_status_t status);

    /** @return Whether the module has anything of the stream that needs it for @a need. Asked by
     * ri_stream_is_needed(). */
    int (*stream_is_needed)(const ri_stream_t *stream, ri_stream_need_t need);

    /** The memory of the stream goes. */
    void (*stream_freed)(ri_stream_t *stream);

    /* Planes and ways, by which memory is read and written past UCX. A way is one through a
     * network. */

    /** The worker has opened its planes. */
    void (*planes_opened)(ri_worker_t *worker);

    /** This process can write the memory of the conn's peer, by the plane within the host. */
    void (*conn_can_write)(ri_conn_t *conn);

    /** There is a way to the peer of the conn, which has said that it has its end.
     * @return Whether the peer is to be told that its receives can be written by it. */
    int (*way_opened)(ri_conn_t *conn);

    /** The peer has said that it writes what it sends by the stream, through a network. */
    void (*stream_will_be_written)(ri_stream_t *stream);

    /** The way to a peer has failed, and is about to end. */
    void (*way_fails)(ri_peer_t *peer);

    /** There is no way to the peer (any more). @a is_lost: what it has brought may not have been
     * seen. */
    void (*way_ended)(ri_worker_t *worker, ri_peer_t *peer, int is_lost);

    /* A ring: a conn sends into one, and a stream receives from one. */

    /** The receiver wants its ring back: withdraw what nobody has begun with.
     * @return Whether the ring is still needed. */
    int (*ring_tx_stops)(ri_conn_t *conn);

    /** The sender's side of a ring is about to be unmapped. */
    void (*ring_tx_closes)(ri_conn_t *conn);

    /** The receiver's side of a ring ends. Phase 1: what points into it is forgotten. */
    void (*ring_rx_closes)(ri_stream_t *stream);

    /** The receiver's side of a ring ends. Phase 2: unmap it, at once or when what needs it has
     * ended. Only one module has this function. */
    void (*ring_rx_unmap)(ri_stream_t *stream);

    /** The receiver's side of a ring ends. Phase 3: stream->ring is NULL; what was to come by it
     * ends. Calls back. */
    void (*ring_rx_closed)(ri_stream_t *stream);
} ri_module_t;

/* The tables of all parts, in the order of their calls, and NULL (run/modules.c). */
extern const ri_module_t *const ri_modules[];

/* Call a function of all modules. */
#define RI_MODULES_TELL(_event, ...) \
    do { \
        const ri_module_t *const *_module; \
        for (_module = ri_modules; *_module != NULL; ++_module) { \
            if ((*_module)->_event != NULL) { \
                (*_module)->_event(__VA_ARGS__); \
            } \
        } \
    } while (0)

/* Have all modules do what may fail: @a _status is UCS_OK, or the first error. */
#define RI_MODULES_TRY(_status, _event, ...) \
    do { \
        const ri_module_t *const *_module; \
        ucs_status_t _result; \
        (_status) = UCS_OK; \
        for (_module = ri_modules; *_module != NULL; ++_module) { \
            if ((*_module)->_event != NULL) { \
                _result   = (*_module)->_event(__VA_ARGS__); \
                (_status) = ((_status) == UCS_OK) ? _result : (_status); \
            } \
        } \
    } while (0)

/* Ask a question of all modules: @a _is is whether one of them says yes. */
#define RI_MODULES_ASK(_is, _question, ...) \
    do { \
        const ri_module_t *const *_module; \
        (_is) = 0; \
        for (_module = ri_modules; *_module != NULL; ++_module) { \
            if (((*_module)->_question != NULL) && (*_module)->_question(__VA_ARGS__)) { \
                (_is) = 1; \
            } \
        } \
    } while (0)

#endif
