/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages, sends and receives, and the replay that says whether receives got what MPI's order
 * allows.
 */

#include "mix.h"

#include <stdlib.h>
#include <string.h>

static const char *const send_names[S_MODES] = {
        "Isend", "Issend",    "Ibsend",     "Irsend",     "Bsend",
        "Rsend", "Send_init", "Ssend_init", "Bsend_init", "Rsend_init",
        "Send",  "Ssend",     "Sendrecv"};

int tags[ALL_TAGS];
stream_t streams[MAX_RANKS];
receive_t *receives;
int num_receives;
static int space_receives;
static send_t *sends;
int num_sends;
static int space_sends;
char *bsend_buf;

size_t phase_max;
size_t tag_size[ALL_TAGS];
int tag_fixed[ALL_TAGS];
long total_messages, total_bytes, total_cancelled, total_wild;

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

void plan_add(mt_rng_t *rng, int src, int dst, int comm, int tag, int mode, size_t size)
{
    stream_t *stream = &streams[src];
    message_t *msg;

    stream->list = grow(stream->list, stream->count, &stream->space, sizeof(*msg));
    msg          = &stream->list[stream->count++];
    *msg         = (message_t){src, dst, comm, tag, mode, size, mt_rand(rng), 0};
}

int plan_comm(mt_rng_t *rng, int a, int b)
{
    int comm = (int)mt_below(rng, MAX_COMMS);

    return comm_joins(&comms[comm], a, b) ? comm : 0;
}

size_t plan_size(mt_rng_t *rng, int tag_index)
{
    return tag_fixed[tag_index] ? tag_size[tag_index] :
                                  mt_rand_size(rng, tag_size[tag_index]);
}

static int is_buffered(int mode)
{
    return (mode == S_BSEND) || (mode == S_IBSEND) || (mode == S_BSEND_INIT);
}

int plan_buffered(int mode, size_t size, size_t *used)
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

int tag_index(int tag)
{
    for (int i = 0; i < ALL_TAGS; i++) {
        if (tags[i] == tag) {
            return i;
        }
    }
    return -1;
}

size_t tag_limit(int tag)
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

void send_start(const message_t *msg)
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

void sends_test(mt_rng_t *rng)
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

void sends_finish(mt_rng_t *rng)
{
    mt_stage("waiting for %d sends", num_sends);
    while (num_sends > 0) {
        int i = (int)mt_below(rng, (uint64_t)num_sends);

        MPI_Wait(&sends[i].request, MPI_STATUS_IGNORE);
        send_done(&sends[i]);
    }
}

receive_t *receive_add(int comm, int src, int tag, size_t size)
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

void receive_done(receive_t *recv, MPI_Status *status)
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

void receive_post(receive_t *recv, int persistent)
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

void receive_matched(receive_t *recv, MPI_Message *message, int blocking)
{
    MPI_Status status;

    if (blocking) {
        MPI_Mrecv(recv->buf, (int)recv->size, MPI_BYTE, message, &status);
        receive_done(recv, &status);
    } else {
        MPI_Imrecv(recv->buf, (int)recv->size, MPI_BYTE, message, &recv->request);
    }
}

void receive_probed(int comm, MPI_Status *found)
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

int receive_test(receive_t *recv)
{
    MPI_Status status;
    int flag;

    MPI_Test(&recv->request, &flag, &status);
    if (flag) {
        receive_done(recv, &status);
    }
    return flag;
}

int receive_cancel(receive_t *recv, int state)
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

void phase_end(void)
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

void messages_free(void)
{
    for (int i = 0; i < mt_size; i++) {
        free(streams[i].list);
    }
    free(receives);
    free(sends);
}
