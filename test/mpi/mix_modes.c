/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Seeded random programs of all kinds of sends, receives, probes and cancels.
 *
 * Run: mpiexec -n 2..4 mix_modes [--seed N] [--iters PHASES] [--max-size BYTES]
 *
 * The run is a sequence of phases. Every rank derives all messages of a phase from the
 * seed, so a receiver knows what each sender sends, in which order. Two kinds of phase:
 *
 * - free: every rank issues its sends (those that need no receiver to return) in between
 *   random receives, probes and cancels, until all messages to it have arrived;
 * - lockstep: all ranks walk through one global list of exchanges, in which the blocking
 *   calls are safe because every rank takes part in that order.
 *
 * What is checked is more than the content. Matching is determined by the order of the
 * sends and the order of the receives on both sides: in the order of posting, a receive
 * that got a message of source S got the first message of S on this communicator that
 * fits its tag and that no earlier receive got. (The first receive and the first message
 * that fits it prefer each other to all else; take them away and repeat.) So each phase
 * ends with a replay of its receives against the list of messages, which finds every
 * case of overtaking, loss and repetition, also between wildcard and exact receives.
 */

#include "mpitest.h"

#include <stdlib.h>
#include <string.h>

enum {
    COMM_DUP,
    COMM_REVERSED,
    COMM_PARITY,
    COMM_LEAVE_OUT,
    COMM_GROUP,
    COMM_IDUP,
    COMM_KINDS,
    COMM_WORLD = COMM_KINDS
};

enum {
    S_ISEND,
    S_ISSEND,
    S_IBSEND,
    S_IRSEND,
    S_BSEND,
    S_RSEND,
    S_SEND_INIT,
    S_SSEND_INIT,
    S_BSEND_INIT,
    S_RSEND_INIT,
    S_FREE_MODES, /* those above return without the receiver: free phases use them */
    S_SEND = S_FREE_MODES,
    S_SSEND,
    S_SENDRECV,
    S_MODES
};

enum {
    R_RECV,
    R_IRECV,
    R_RECV_INIT,
    R_PROBE,
    R_MPROBE_MRECV,
    R_MPROBE_IMRECV,
    R_MODES
};

enum {
    REC_PENDING,
    REC_DONE,
    REC_CANCELLED,
    REC_LEFT
};

enum {
    MAX_RANKS      = 16,
    MAX_COMMS      = 4,
    NUM_TAGS       = 8, /* of ordinary messages */
    NUM_READY_TAGS = 2, /* of ready sends */
    ALL_TAGS       = NUM_TAGS + NUM_READY_TAGS,
    ONCE_TAG       = 5000, /* and above: a tag for one message of a lockstep phase */
    ANY            = -1,
    BSEND_SPACE    = 8 << 20
};

typedef struct {
    int src, dst; /* world ranks */
    int comm;
    int tag;
    int mode;
    size_t size;
    uint64_t key;
    int taken; /* by a receive, in the replay */
} message_t;

typedef struct {
    message_t *list;
    int count, space;
} stream_t;

typedef struct {
    int comm;
    int src, tag; /* as posted, ANY possible; src is a world rank */
    int state;
    int keep; /* never cancel: a ready send relies on it */
    int persistent;
    char *buf;
    size_t size; /* of buf */
    MPI_Request request;
    int got_src, got_tag; /* as received */
    size_t got_size;
} receive_t;

typedef struct {
    MPI_Request request;
    char *buf;
    size_t size;
    int persistent;
} send_t;

typedef struct {
    int kind;
    int left_out;
    MPI_Comm handle;
} comm_t;

typedef struct {
    int src, dst, comm, tag, any_tag, any_src, late, rmode;
    int message; /* in the stream of src */
    int back;    /* in the stream of dst: the other half of a Sendrecv, or -1 */
} step_t;

static const char *const send_names[S_MODES] = {
        "Isend", "Issend",    "Ibsend",     "Irsend",     "Bsend",
        "Rsend", "Send_init", "Ssend_init", "Bsend_init", "Rsend_init",
        "Send",  "Ssend",     "Sendrecv"};

static long iters    = 40;
static long max_size = 4 << 20;

static comm_t comms[MAX_COMMS];
static int tags[ALL_TAGS];
static stream_t streams[MAX_RANKS];
static receive_t *receives;
static int num_receives, space_receives;
static send_t *sends;
static int num_sends, space_sends;
static char *bsend_buf;

/* Of the current phase. */
static size_t phase_max;
static size_t tag_size[ALL_TAGS]; /* the size of all messages, or the limit */
static int tag_fixed[ALL_TAGS];
static long total_messages, total_bytes, total_cancelled, total_wild;

static void *grow(void *array, int count, int *space, size_t size)
{
    if (count < *space) {
        return array;
    }

    *space = *space ? 2 * *space : 64;
    array  = realloc(array, (size_t)*space * size);
    if (array == NULL) {
        mt_fail("out of memory");
    }
    return array;
}

static int comm_color(const comm_t *comm, int rank)
{
    switch (comm->kind) {
    case COMM_PARITY:
        return rank & 1;
    case COMM_LEAVE_OUT:
    case COMM_GROUP:
        return (rank == comm->left_out) ? -1 : 0;
    default:
        return 0;
    }
}

static int comm_rank(const comm_t *comm, int rank)
{
    switch (comm->kind) {
    case COMM_REVERSED:
        return mt_size - 1 - rank;
    case COMM_PARITY:
        return rank / 2;
    case COMM_LEAVE_OUT:
    case COMM_GROUP:
        return rank - (rank > comm->left_out);
    default:
        return rank;
    }
}

/* The world rank of the member of this rank's group that has the given rank. */
static int world_rank(const comm_t *comm, int rank)
{
    for (int i = 0; i < mt_size; i++) {
        if ((comm_color(comm, i) == comm_color(comm, mt_rank)) &&
            (comm_rank(comm, i) == rank)) {
            return i;
        }
    }
    mt_fail("source %d is no member of communicator kind %d", rank, comm->kind);
}

static int comm_joins(const comm_t *comm, int a, int b)
{
    return (comm_color(comm, a) >= 0) && (comm_color(comm, a) == comm_color(comm, b));
}

static void comm_open(comm_t *comm, int kind, int left_out)
{
    MPI_Group world, group;
    MPI_Request request;
    int color, rank;

    comm->kind     = kind;
    comm->left_out = left_out;
    comm->handle   = MPI_COMM_NULL;
    color          = comm_color(comm, mt_rank);
    switch (kind) {
    case COMM_WORLD:
        comm->handle = MPI_COMM_WORLD;
        break;
    case COMM_DUP:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm->handle);
        break;
    case COMM_IDUP:
        MPI_Comm_idup(MPI_COMM_WORLD, &comm->handle, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case COMM_GROUP:
        if (color >= 0) {
            MPI_Comm_group(MPI_COMM_WORLD, &world);
            MPI_Group_excl(world, 1, &left_out, &group);
            MPI_Comm_create_group(MPI_COMM_WORLD, group, 77, &comm->handle);
            MPI_Group_free(&group);
            MPI_Group_free(&world);
        }
        break;
    default:
        MPI_Comm_split(MPI_COMM_WORLD, (color < 0) ? MPI_UNDEFINED : color,
                       (kind == COMM_REVERSED) ? -mt_rank : mt_rank, &comm->handle);
        break;
    }

    if (comm->handle != MPI_COMM_NULL) {
        MPI_Comm_rank(comm->handle, &rank);
        if (rank != comm_rank(comm, mt_rank)) {
            mt_fail("rank %d in communicator kind %d, not %d", rank, kind,
                    comm_rank(comm, mt_rank));
        }
    }
}

static void comm_close(comm_t *comm)
{
    if ((comm->kind != COMM_WORLD) && (comm->handle != MPI_COMM_NULL)) {
        MPI_Comm_free(&comm->handle);
    }
}

static void plan_add(mt_rng_t *rng, int src, int dst, int comm, int tag, int mode,
                     size_t size)
{
    stream_t *stream = &streams[src];
    message_t *msg;

    stream->list = grow(stream->list, stream->count, &stream->space, sizeof(*msg));
    msg          = &stream->list[stream->count++];
    *msg         = (message_t){src, dst, comm, tag, mode, size, mt_rand(rng), 0};
}

static int plan_comm(mt_rng_t *rng, int a, int b)
{
    int comm = (int)mt_below(rng, MAX_COMMS);

    return comm_joins(&comms[comm], a, b) ? comm : 0;
}

static size_t plan_size(mt_rng_t *rng, int tag_index)
{
    return tag_fixed[tag_index] ? tag_size[tag_index] :
                                  mt_rand_size(rng, tag_size[tag_index]);
}

static int is_buffered(int mode)
{
    return (mode == S_BSEND) || (mode == S_IBSEND) || (mode == S_BSEND_INIT);
}

/* Buffered sends have to fit into the attached buffer all together. */
static int plan_buffered(int mode, size_t size, size_t *used)
{
    if (is_buffered(mode)) {
        *used += size + MPI_BSEND_OVERHEAD + 64;
        if (*used > BSEND_SPACE) {
            *used -= size + MPI_BSEND_OVERHEAD + 64;
            return S_ISEND;
        }
    }
    return mode;
}

static int tag_index(int tag)
{
    for (int i = 0; i < ALL_TAGS; i++) {
        if (tags[i] == tag) {
            return i;
        }
    }
    return -1;
}

/* How large a message with this tag can be, ANY included. */
static size_t tag_limit(int tag)
{
    int index = (tag == ANY) ? -1 : tag_index(tag);

    return (index < 0) ? phase_max : tag_size[index];
}

static void send_push(MPI_Request request, char *buf, size_t size, int persistent)
{
    sends              = grow(sends, num_sends, &space_sends, sizeof(*sends));
    sends[num_sends++] = (send_t){request, buf, size, persistent};
}

/* The buffer belongs to the caller again: overwriting it shows who still reads it. */
static void send_done(send_t *send)
{
    if (send->persistent) {
        MPI_Request_free(&send->request);
    }
    memset(send->buf, 0xdd, send->size);
    free(send->buf);
    *send = sends[--num_sends];
}

static void send_start(const message_t *msg)
{
    const comm_t *comm = &comms[msg->comm];
    int dst            = comm_rank(comm, msg->dst);
    int count          = (int)msg->size;
    char *buf          = mt_alloc(msg->size);
    MPI_Request req    = MPI_REQUEST_NULL;
    int persistent     = 0;

    mt_stage("%s of %zu bytes to %d, tag %d, comm kind %d", send_names[msg->mode],
             msg->size, msg->dst, msg->tag, comm->kind);
    mt_fill(buf, msg->size, msg->key);
    switch (msg->mode) {
    case S_SEND:
        MPI_Send(buf, count, MPI_BYTE, dst, msg->tag, comm->handle);
        break;
    case S_SSEND:
        MPI_Ssend(buf, count, MPI_BYTE, dst, msg->tag, comm->handle);
        break;
    case S_BSEND:
        MPI_Bsend(buf, count, MPI_BYTE, dst, msg->tag, comm->handle);
        break;
    case S_RSEND:
        MPI_Rsend(buf, count, MPI_BYTE, dst, msg->tag, comm->handle);
        break;
    case S_ISEND:
        MPI_Isend(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    case S_ISSEND:
        MPI_Issend(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    case S_IBSEND:
        MPI_Ibsend(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    case S_IRSEND:
        MPI_Irsend(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    case S_SEND_INIT:
        MPI_Send_init(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    case S_SSEND_INIT:
        MPI_Ssend_init(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    case S_BSEND_INIT:
        MPI_Bsend_init(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    case S_RSEND_INIT:
        MPI_Rsend_init(buf, count, MPI_BYTE, dst, msg->tag, comm->handle, &req);
        break;
    default:
        mt_fail("no such send mode");
    }

    if ((msg->mode >= S_SEND_INIT) && (msg->mode <= S_RSEND_INIT)) {
        persistent = 1;
        MPI_Start(&req);
    }

    send_push(req, buf, msg->size, persistent);
    if (!persistent && (req == MPI_REQUEST_NULL)) {
        send_done(&sends[num_sends - 1]);
    }
}

static void sends_test(mt_rng_t *rng)
{
    int flag, i;

    if (num_sends > 0) {
        i = (int)mt_below(rng, (uint64_t)num_sends);
        MPI_Test(&sends[i].request, &flag, MPI_STATUS_IGNORE);
        if (flag) {
            send_done(&sends[i]);
        }
    }
}

static void sends_finish(mt_rng_t *rng)
{
    mt_stage("waiting for %d sends", num_sends);
    while (num_sends > 0) {
        int i = (int)mt_below(rng, (uint64_t)num_sends);

        MPI_Wait(&sends[i].request, MPI_STATUS_IGNORE);
        send_done(&sends[i]);
    }
}

static receive_t *receive_add(int comm, int src, int tag, size_t size)
{
    receive_t *recv;

    receives = grow(receives, num_receives, &space_receives, sizeof(*receives));
    recv     = &receives[num_receives++];
    memset(recv, 0, sizeof(*recv));
    recv->comm    = comm;
    recv->src     = src;
    recv->tag     = tag;
    recv->size    = size;
    recv->buf     = mt_buf_alloc(size);
    recv->request = MPI_REQUEST_NULL;
    mt_stage("receive %d of up to %zu bytes from %d, tag %d, comm kind %d",
             num_receives - 1, size, src, tag, comms[comm].kind);
    return recv;
}

static void receive_done(receive_t *recv, MPI_Status *status)
{
    int count;

    MPI_Get_count(status, MPI_BYTE, &count);
    recv->got_src  = world_rank(&comms[recv->comm], status->MPI_SOURCE);
    recv->got_tag  = status->MPI_TAG;
    recv->got_size = (size_t)count;
    recv->state    = REC_DONE;
    if (recv->persistent) {
        MPI_Request_free(&recv->request);
    }
}

static void receive_post(receive_t *recv, int persistent)
{
    const comm_t *comm = &comms[recv->comm];
    int src            = (recv->src == ANY) ? MPI_ANY_SOURCE : comm_rank(comm, recv->src);
    int tag            = (recv->tag == ANY) ? MPI_ANY_TAG : recv->tag;

    total_wild += (recv->src == ANY) || (recv->tag == ANY);
    if (persistent) {
        MPI_Recv_init(recv->buf, (int)recv->size, MPI_BYTE, src, tag, comm->handle,
                      &recv->request);
        recv->persistent = 1;
        MPI_Start(&recv->request);
    } else {
        MPI_Irecv(recv->buf, (int)recv->size, MPI_BYTE, src, tag, comm->handle,
                  &recv->request);
    }
}

/* Receive what was found by a matched probe. */
static void receive_matched(receive_t *recv, MPI_Message *message, int blocking)
{
    MPI_Status status;

    if (blocking) {
        MPI_Mrecv(recv->buf, (int)recv->size, MPI_BYTE, message, &status);
        receive_done(recv, &status);
    } else {
        MPI_Imrecv(recv->buf, (int)recv->size, MPI_BYTE, message, &recv->request);
    }
}

/* Receive with a blocking call what a probe has found. */
static void receive_probed(int comm, MPI_Status *found)
{
    MPI_Status status;
    receive_t *recv;
    int count;

    MPI_Get_count(found, MPI_BYTE, &count);
    recv = receive_add(comm, world_rank(&comms[comm], found->MPI_SOURCE), found->MPI_TAG,
                       (size_t)count);
    MPI_Recv(recv->buf, count, MPI_BYTE, found->MPI_SOURCE, found->MPI_TAG,
             comms[comm].handle, &status);
    mt_expect_status(&status, found->MPI_SOURCE, found->MPI_TAG, (size_t)count);
    receive_done(recv, &status);
}

/* Returns whether the receive has completed. */
static int receive_test(receive_t *recv)
{
    MPI_Status status;
    int flag;

    MPI_Test(&recv->request, &flag, &status);
    if (flag) {
        receive_done(recv, &status);
    }
    return flag;
}

/* Returns whether it had a message, in which case it is received. */
static int receive_cancel(receive_t *recv, int state)
{
    MPI_Status status;
    int flag;

    mt_stage("cancel of a receive from %d, tag %d", recv->src, recv->tag);
    MPI_Cancel(&recv->request);
    MPI_Wait(&recv->request, &status);
    MPI_Test_cancelled(&status, &flag);
    if (!flag) {
        receive_done(recv, &status);
        return 1;
    }

    recv->state = state;
    total_cancelled++;
    if (recv->persistent) {
        MPI_Request_free(&recv->request);
    }
    return 0;
}

static int accepts(const receive_t *recv, const message_t *msg)
{
    return (msg->dst == mt_rank) && (msg->comm == recv->comm) &&
           ((recv->src == ANY) || (recv->src == msg->src)) &&
           ((recv->tag == ANY) || (recv->tag == msg->tag));
}

/* Say which message it was that came instead of the expected one. */
static void fail_wrong(const receive_t *recv, int expected)
{
    const stream_t *stream = &streams[recv->got_src];
    const message_t *msg   = &stream->list[expected];
    long at                = -1;

    if (recv->got_size == msg->size) {
        at = mt_diff(recv->buf, msg->size, msg->key);
    }
    for (int i = 0; i < stream->count; i++) {
        const message_t *other = &stream->list[i];

        if ((i != expected) && (other->dst == mt_rank) && (other->comm == recv->comm) &&
            (other->tag == recv->got_tag) && (other->size == recv->got_size) &&
            (other->size > 3) && (mt_diff(recv->buf, other->size, other->key) < 0)) {
            mt_fail("order: receive %d (source %d, tag %d, comm %d) got message %d of "
                    "peer %d (tag %d, size %zu, %s) instead of %d (tag %d, size %zu, %s)",
                    (int)(recv - receives), recv->src, recv->tag, recv->comm, i,
                    recv->got_src, other->tag, other->size, send_names[other->mode],
                    expected, msg->tag, msg->size, send_names[msg->mode]);
        }
    }

    mt_fail("receive %d (source %d, tag %d, comm %d) of message %d of peer %d (tag %d, "
            "size %zu, %s) got tag %d, size %zu, first wrong byte %ld",
            (int)(recv - receives), recv->src, recv->tag, recv->comm, expected,
            recv->got_src, msg->tag, msg->size, send_names[msg->mode], recv->got_tag,
            recv->got_size, at);
}

/* Replay matching as MPI specifies it, and compare it with what happened. */
static void phase_verify(void)
{
    int done = 0;

    mt_stage("verification of %d receives", num_receives);
    for (int i = 0; i < num_receives; i++) {
        const receive_t *recv = &receives[i];
        stream_t *stream      = &streams[recv->got_src];
        message_t *msg;
        int j = 0;

        if (recv->state != REC_DONE) {
            continue;
        }

        while ((j < stream->count) &&
               (stream->list[j].taken || !accepts(recv, &stream->list[j]))) {
            j++;
        }
        if (j == stream->count) {
            mt_fail("receive %d (source %d, tag %d, comm %d) got a message of peer %d, "
                    "tag %d, size %zu that was not sent",
                    i, recv->src, recv->tag, recv->comm, recv->got_src, recv->got_tag,
                    recv->got_size);
        }

        msg = &stream->list[j];
        if ((recv->got_tag != msg->tag) || (recv->got_size != msg->size) ||
            (mt_diff(recv->buf, msg->size, msg->key) >= 0)) {
            fail_wrong(recv, j);
        }
        mt_buf_guard(recv->buf, recv->got_size, recv->size, recv->got_src, recv->got_tag);
        msg->taken = 1;
        done++;

        /* A receive without a message must not have been passed over. */
        for (int k = 0; k < i; k++) {
            if ((receives[k].state == REC_LEFT) && accepts(&receives[k], msg)) {
                mt_fail("receive %d (source %d, tag %d) was passed over: message %d of "
                        "peer %d (tag %d, size %zu) went to receive %d",
                        k, receives[k].src, receives[k].tag, j, recv->got_src, msg->tag,
                        msg->size, i);
            }
        }
    }

    for (int i = 0; i < mt_size; i++) {
        for (int j = 0; j < streams[i].count; j++) {
            const message_t *msg = &streams[i].list[j];

            if ((msg->dst == mt_rank) && !msg->taken) {
                mt_fail("message %d of peer %d (tag %d, size %zu, %s) is missing", j, i,
                        msg->tag, msg->size, send_names[msg->mode]);
            }
            total_bytes += (msg->dst == mt_rank) ? (long)msg->size : 0;
        }
    }
    total_messages += done;
}

static void phase_end(void)
{
    int size;

    phase_verify();
    for (int i = 0; i < num_receives; i++) {
        free(receives[i].buf);
    }
    num_receives = 0;

    /* Empties the buffer, so that the next phase can count on all of it. */
    mt_stage("MPI_Buffer_detach");
    MPI_Buffer_detach(&bsend_buf, &size);
    MPI_Buffer_attach(bsend_buf, size);
}

static void plan_free(mt_rng_t *rng)
{
    int count;

    for (int src = 0; src < mt_size; src++) {
        size_t buffered = 0;

        count = (int)((phase_max > 65536) ? 4 + mt_below(rng, 16) :
                                            10 + mt_below(rng, 90));
        for (int i = 0; i < count; i++) {
            int dst  = (int)mt_below(rng, (uint64_t)mt_size);
            int mode = (int)mt_below(rng, S_FREE_MODES);
            int tag  = (int)mt_below(rng, NUM_TAGS);
            size_t size;

            if ((mode == S_IRSEND) || (mode == S_RSEND) || (mode == S_RSEND_INIT)) {
                tag = NUM_TAGS + (int)mt_below(rng, NUM_READY_TAGS);
            }
            size = plan_size(rng, tag);
            mode = plan_buffered(mode, size, &buffered);
            plan_add(rng, src, dst, plan_comm(rng, src, dst), tags[tag], mode, size);
        }
    }
}

/* Post a receive that some message fits, with wildcards here and there. */
static void free_post(mt_rng_t *rng)
{
    const stream_t *stream = &streams[mt_below(rng, (uint64_t)mt_size)];
    const message_t *msg;
    int src, tag;
    size_t size;

    if (stream->count == 0) {
        return;
    }
    msg = &stream->list[mt_below(rng, (uint64_t)stream->count)];
    if (msg->dst != mt_rank) {
        return;
    }

    src  = mt_chance(rng, 25) ? ANY : msg->src;
    tag  = mt_chance(rng, 25) ? ANY : msg->tag;
    size = tag_limit(tag) + (mt_chance(rng, 20) ? mt_rand_size(rng, 4096) : 0);
    receive_post(receive_add(msg->comm, src, tag, size), mt_chance(rng, 20));
}

/* Returns the number of messages received: 0 or 1. */
static int free_probe(mt_rng_t *rng)
{
    int index    = (int)mt_below(rng, MAX_COMMS);
    comm_t *comm = &comms[index];
    int src      = ANY;
    int tag      = ANY;
    int found, count, from;
    MPI_Message message;
    MPI_Status status;
    receive_t *recv;

    if (comm->handle == MPI_COMM_NULL) {
        return 0;
    }
    if (mt_chance(rng, 30)) {
        src = (int)mt_below(rng, (uint64_t)mt_size);
        src = comm_joins(comm, mt_rank, src) ? src : ANY;
    }
    if (mt_chance(rng, 30)) {
        tag = tags[mt_below(rng, ALL_TAGS)];
    }

    mt_stage("probe for source %d, tag %d, comm kind %d", src, tag, comm->kind);
    from = (src == ANY) ? MPI_ANY_SOURCE : comm_rank(comm, src);
    if (mt_chance(rng, 50)) {
        MPI_Iprobe(from, (tag == ANY) ? MPI_ANY_TAG : tag, comm->handle, &found, &status);
        if (found) {
            receive_probed(index, &status);
        }
        return found;
    }

    MPI_Improbe(from, (tag == ANY) ? MPI_ANY_TAG : tag, comm->handle, &found, &message,
                &status);
    if (!found) {
        return 0;
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    recv = receive_add(index, src, tag, (size_t)count);
    receive_matched(recv, &message, mt_chance(rng, 50));
    if (recv->state != REC_DONE) {
        /* The message is its own by now: it cannot be cancelled any more. */
        recv->keep = 1;
        return 0;
    }
    return 1;
}

static void free_prepost(mt_rng_t *rng)
{
    int count = (int)mt_below(rng, 12);

    for (int i = 0; i < count; i++) {
        free_post(rng);
    }

    for (int src = 0; src < mt_size; src++) {
        for (int i = 0; i < streams[src].count; i++) {
            const message_t *msg = &streams[src].list[i];
            receive_t *recv;

            if ((msg->dst == mt_rank) && (tag_index(msg->tag) >= NUM_TAGS)) {
                recv       = receive_add(msg->comm, src, msg->tag, tag_limit(msg->tag));
                recv->keep = 1;
                receive_post(recv, mt_chance(rng, 20));
            }
        }
    }
}

static int free_pending(mt_rng_t *rng, int *pending)
{
    int count = 0;

    for (int i = 0; i < num_receives; i++) {
        if (receives[i].state == REC_PENDING) {
            pending[count++] = i;
        }
    }
    mt_shuffle(rng, pending, count);
    return count;
}

static void phase_free(mt_rng_t *rng, int phase)
{
    mt_rng_t own   = mt_rng(mt_key((uint64_t)phase, (uint64_t)mt_rank, 1, 0));
    stream_t *mine = &streams[mt_rank];
    int sent       = 0;
    int received   = 0;
    int expected   = 0;
    int *pending;
    int num_pending;

    plan_free(rng);
    for (int i = 0; i < mt_size; i++) {
        for (int j = 0; j < streams[i].count; j++) {
            expected += streams[i].list[j].dst == mt_rank;
        }
    }

    free_prepost(&own);
    mt_stage("barrier before the sends");
    MPI_Barrier(MPI_COMM_WORLD);

    while ((sent < mine->count) || (received < expected)) {
        switch (mt_below(&own, 6)) {
        case 0:
        case 1:
            if (sent < mine->count) {
                send_start(&mine->list[sent++]);
            }
            break;
        case 2:
            /* The limit keeps most messages for receives that are there in time. */
            if (num_receives < 2 * expected) {
                free_post(&own);
            }
            break;
        case 3:
            received += free_probe(&own);
            break;
        case 4:
            sends_test(&own);
            mt_idle();
            break;
        default:
            pending     = mt_alloc((size_t)(num_receives + 1) * sizeof(*pending));
            num_pending = free_pending(&own, pending);
            mt_stage("tests of %d receives, %d of %d messages sent, %d of %d received",
                     num_pending, sent, mine->count, received, expected);
            for (int i = 0; i < num_pending; i++) {
                receive_t *recv = &receives[pending[i]];

                if (!recv->keep && mt_chance(&own, 2)) {
                    received += receive_cancel(recv, REC_CANCELLED);
                } else {
                    received += receive_test(recv);
                }
            }
            free(pending);
            break;
        }
    }

    sends_finish(&own);
    for (int i = 0; i < num_receives; i++) {
        if ((receives[i].state == REC_PENDING) &&
            receive_cancel(&receives[i], REC_LEFT)) {
            mt_fail("one message too many: peer %d, tag %d, size %zu",
                    receives[i].got_src, receives[i].got_tag, receives[i].got_size);
        }
    }

    /* Nobody may start the next phase while a wildcard here could still take from it. */
    mt_stage("barrier behind the receives");
    MPI_Barrier(MPI_COMM_WORLD);
    phase_end();
}

/*
 * Late phases post some receives after their successors. No wildcards are used there, so
 * that a receive that comes early cannot leave a late one with nothing, and every other
 * tag has only sends that return without the receiver and may be received late: a
 * blocking send whose receive was taken by an earlier message would wait for that one's.
 */
static int plan_lockstep(mt_rng_t *rng, step_t **result)
{
    static const int modes[] = {S_SEND,   S_SSEND, S_SEND,   S_SENDRECV,  S_ISEND,
                                S_ISSEND, S_BSEND, S_IBSEND, S_SEND_INIT, S_SSEND_INIT};
    int count                = (phase_max > 65536) ? 24 : 80;
    int late                 = mt_chance(rng, 50);
    step_t *steps            = mt_alloc((size_t)count * sizeof(*steps));
    size_t buffered          = 0;

    for (int i = 0; i < count; i++) {
        step_t *step = &steps[i];
        int tag      = (int)mt_below(rng, NUM_TAGS);
        int mode     = modes[mt_below(rng, MT_LEN(modes))];
        size_t size  = plan_size(rng, tag);
        size_t other = plan_size(rng, tag);
        int may_late = late && (tag % 2 == 0);

        if (may_late && ((mode == S_SEND) || (mode == S_SENDRECV))) {
            mode = S_ISEND;
        } else if (may_late && (mode == S_SSEND)) {
            mode = S_ISSEND;
        }
        mode          = plan_buffered(mode, size, &buffered);
        step->src     = (int)mt_below(rng, (uint64_t)mt_size);
        step->dst     = step->src + 1 + (int)mt_below(rng, (uint64_t)mt_size - 1);
        step->dst     = step->dst % mt_size;
        step->comm    = plan_comm(rng, step->src, step->dst);
        step->tag     = tags[tag];
        step->rmode   = (int)mt_below(rng, R_MODES);
        step->any_src = (mode != S_SENDRECV) && mt_chance(rng, 20);
        step->any_tag = !step->any_src && !late && mt_chance(rng, 30);
        step->late    = (may_late && mt_chance(rng, 40)) ? 1 + (int)mt_below(rng, 8) : 0;
        if (step->any_src) {
            step->tag = ONCE_TAG + i;
        }
        step->back    = -1;
        step->message = streams[step->src].count;
        plan_add(rng, step->src, step->dst, step->comm, step->tag, mode, size);
        if (mode == S_SENDRECV) {
            step->back = streams[step->dst].count;
            plan_add(rng, step->dst, step->src, step->comm, step->tag, mode, other);
        }
    }

    *result = steps;
    return count;
}

static void lockstep_recv(const step_t *step, mt_rng_t *rng)
{
    const comm_t *comm = &comms[step->comm];
    int src            = step->any_src ? ANY : step->src;
    int tag            = step->any_tag ? ANY : step->tag;
    int from           = step->any_src ? MPI_ANY_SOURCE : comm_rank(comm, step->src);
    int wanted         = step->any_tag ? MPI_ANY_TAG : step->tag;
    MPI_Message message;
    MPI_Status status;
    receive_t *recv;
    int count;

    switch (step->rmode) {
    case R_PROBE:
        mt_stage("MPI_Probe for %d, tag %d", src, tag);
        MPI_Probe(from, wanted, comm->handle, &status);
        receive_probed(step->comm, &status);
        return;
    case R_MPROBE_MRECV:
    case R_MPROBE_IMRECV:
        mt_stage("MPI_Mprobe for %d, tag %d", src, tag);
        MPI_Mprobe(from, wanted, comm->handle, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        receive_matched(receive_add(step->comm, src, tag, (size_t)count), &message,
                        step->rmode == R_MPROBE_MRECV);
        return;
    default:
        break;
    }

    recv = receive_add(step->comm, src, tag, tag_limit(tag));
    if (step->rmode == R_RECV) {
        MPI_Recv(recv->buf, (int)recv->size, MPI_BYTE, from, wanted, comm->handle,
                 &status);
        receive_done(recv, &status);
    } else {
        receive_post(recv, step->rmode == R_RECV_INIT);
        if (mt_chance(rng, 30)) {
            receive_test(recv);
        }
    }
}

static void lockstep_sendrecv(const step_t *step)
{
    int peer             = (step->src == mt_rank) ? step->dst : step->src;
    int index            = (step->src == mt_rank) ? step->message : step->back;
    const message_t *msg = &streams[mt_rank].list[index];
    const comm_t *comm   = &comms[step->comm];
    int tag              = step->any_tag ? ANY : step->tag;
    char *buf            = mt_alloc(msg->size);
    receive_t *recv      = receive_add(step->comm, peer, tag, tag_limit(tag));
    MPI_Status status;

    mt_fill(buf, msg->size, msg->key);
    mt_stage("MPI_Sendrecv of %zu bytes with %d, tag %d", msg->size, peer, step->tag);
    MPI_Sendrecv(buf, (int)msg->size, MPI_BYTE, comm_rank(comm, peer), step->tag,
                 recv->buf, (int)recv->size, MPI_BYTE, comm_rank(comm, peer),
                 step->any_tag ? MPI_ANY_TAG : step->tag, comm->handle, &status);
    receive_done(recv, &status);
    memset(buf, 0xdd, msg->size);
    free(buf);
}

static void phase_lockstep(mt_rng_t *rng, int phase)
{
    mt_rng_t own = mt_rng(mt_key((uint64_t)phase, (uint64_t)mt_rank, 2, 0));
    step_t *steps;
    int count = plan_lockstep(rng, &steps);

    for (int i = 0; i < count + 8; i++) {
        /* Receives that are due now although their messages went out earlier. */
        for (int j = (i > 8) ? i - 8 : 0; (j < i) && (j < count); j++) {
            if ((steps[j].dst == mt_rank) && (steps[j].late > 0) &&
                (j + steps[j].late == i)) {
                lockstep_recv(&steps[j], &own);
            }
        }
        if (i >= count) {
            continue;
        }

        if (steps[i].back >= 0) {
            if ((steps[i].src == mt_rank) || (steps[i].dst == mt_rank)) {
                lockstep_sendrecv(&steps[i]);
            }
        } else if (steps[i].src == mt_rank) {
            send_start(&streams[mt_rank].list[steps[i].message]);
        } else if ((steps[i].dst == mt_rank) && (steps[i].late == 0)) {
            lockstep_recv(&steps[i], &own);
        }
    }

    for (int i = 0; i < num_receives; i++) {
        receive_t *recv = &receives[i];
        MPI_Status status;

        if (recv->state == REC_PENDING) {
            mt_stage("MPI_Wait of receive %d from %d, tag %d", i, recv->src, recv->tag);
            MPI_Wait(&recv->request, &status);
            receive_done(recv, &status);
        }
    }
    sends_finish(&own);
    free(steps);
    phase_end();
}

/* Communicators come and go: each phase replaces one of them at random. */
static void phase_comms(mt_rng_t *rng)
{
    int index    = 1 + (int)mt_below(rng, MAX_COMMS - 1);
    int kind     = (int)mt_below(rng, COMM_KINDS);
    int left_out = (int)mt_below(rng, (uint64_t)mt_size);

    mt_stage("replacing communicator %d by kind %d", index, kind);
    comm_close(&comms[index]);
    comm_open(&comms[index], kind, left_out);
}

static void phase_sizes(mt_rng_t *rng)
{
    static const size_t limits[] = {64, 2048, 8192, 65536, 262144, 1 << 20, 4 << 20};

    phase_max = limits[mt_below(rng, MT_LEN(limits))];
    phase_max = (phase_max > (size_t)max_size) ? (size_t)max_size : phase_max;
    for (int i = 0; i < ALL_TAGS; i++) {
        tag_fixed[i] = mt_chance(rng, 50);
        tag_size[i]  = mt_chance(rng, 50) ? mt_rand_size(rng, phase_max) :
                                            phase_max >> mt_below(rng, 6);
    }
    /* One tag at least takes everything. */
    tag_fixed[0] = 0;
    tag_size[0]  = phase_max;
}

static void choose_tags(void)
{
    static const int fixed[] = {0, 1, 2, 7, 255, 32767};
    int *ub, flag;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
    for (int i = 0; i < ALL_TAGS; i++) {
        tags[i] = (i < MT_LEN(fixed)) ? fixed[i] : *ub - i;
    }
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"iters", &iters, "number of phases"},
            {"max-size", &max_size, "largest message"},
    };
    mt_rng_t rng;
    int size;

    mt_start(&argc, &argv, "mix_modes", "random mix of all sends and receives", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    if (mt_size > MAX_RANKS) {
        mt_skip("at most %d ranks", MAX_RANKS);
    }

    choose_tags();
    bsend_buf = mt_alloc(BSEND_SPACE + 65536);
    MPI_Buffer_attach(bsend_buf, BSEND_SPACE + 65536);
    rng = mt_rng(mt_key(0, 0, 0, 0));
    comm_open(&comms[0], COMM_WORLD, 0);
    for (int i = 1; i < MAX_COMMS; i++) {
        comm_open(&comms[i], i - 1, 0);
    }

    for (long i = 0; i < iters; i++) {
        phase_comms(&rng);
        phase_sizes(&rng);
        for (int j = 0; j < mt_size; j++) {
            streams[j].count = 0;
        }
        if (mt_chance(&rng, 60)) {
            phase_free(&rng, (int)i);
        } else {
            phase_lockstep(&rng, (int)i);
        }
    }

    for (int i = 1; i < MAX_COMMS; i++) {
        comm_close(&comms[i]);
    }
    for (int i = 0; i < mt_size; i++) {
        free(streams[i].list);
    }
    MPI_Buffer_detach(&bsend_buf, &size);
    free(bsend_buf);
    free(receives);
    free(sends);
    return mt_pass("phases=%ld; rank 0 got %ld messages, %ld bytes, cancelled %ld, wild "
                   "%ld:",
                   iters, total_messages, total_bytes, total_cancelled, total_wild);
}
