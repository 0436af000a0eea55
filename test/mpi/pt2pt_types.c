/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random derived datatypes on one or both sides of a message.
 *
 * Run: mpiexec -n 1..4 pt2pt_types [--seed N] [--iters N] [--max-size BYTES]
 *
 * Each exchange builds a datatype for either side out of nested vectors, indexed, struct,
 * resized and subarray types, together with a list of the bytes it selects, which is
 * worked out here and not by MPI. The types are freed right after the call that uses
 * them. The whole receive buffer is compared, gaps included. A receive may also name
 * more data than comes, and either side may be MPI_PACKED.
 */

#include "pt2pt_types/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE_CONTIG,
    SIDE_TYPED,
    SIDE_PACKED,
    SIDES
};
enum {
    S_ISEND,
    S_ISSEND,
    S_SEND,
    S_SSEND,
    S_BSEND,
    S_MODES
};
enum {
    R_IRECV,
    R_RECV,
    R_PROBE,
    R_MRECV,
    R_IMRECV,
    R_MODES
};
enum {
    NOTE_TAG = 1000
};

static const char *const side_names[SIDES]   = {"contiguous", "derived", "packed"};
static const char *const send_names[S_MODES] = {"Isend", "Issend", "Send", "Ssend",
                                                "Bsend"};
static const char *const recv_names[R_MODES] = {"Irecv", "Recv", "Probe+Recv",
                                                "Mprobe+Mrecv", "Mprobe+Imrecv"};

static long iters    = 150;
static long max_size = 2 << 20;
static MPI_Comm notes;

/* One message and all that both sides choose about it; the same on all ranks. */
typedef struct {
    int src, dst, tag, base;
    size_t size, recv_size;
    int send_side, recv_side, send_mode, recv_mode;
    int receiver_first;
    uint64_t key;
} exchange_t;

typedef struct {
    layout_t layout;
    char *buf;     /* what MPI gets */
    size_t length; /* of buf */
    char *packed;
    int count;
    MPI_Datatype type;
} side_t;

static exchange_t plan(int index, MPI_Comm comm)
{
    mt_rng_t rng = mt_rng(mt_key((uint64_t)index, 0, 0, 1));
    exchange_t x = {0};
    size_t unit;

    x.src = (int)mt_below(&rng, (uint64_t)mt_size);
    x.dst = mt_chance(&rng, 85) ? (int)mt_below(&rng, (uint64_t)mt_size) : x.src;
    if (comm == MPI_COMM_SELF) {
        x.src = x.dst = mt_rank;
    }
    x.tag  = (int)mt_below(&rng, 4);
    x.base = (int)mt_below(&rng, MT_LEN(bases));
    unit   = bases[x.base].size;
    x.size = mt_chance(&rng, 25) ? mt_below(&rng, (uint64_t)max_size + 1) :
                                   mt_rand_size(&rng, (size_t)max_size);
    x.size -= x.size % unit;
    x.recv_size = x.size;
    if (mt_chance(&rng, 30)) {
        x.recv_size += unit * mt_rand_size(&rng, 10000);
    }
    x.send_side      = (int)mt_below(&rng, SIDES);
    x.recv_side      = (int)mt_below(&rng, SIDES);
    x.send_mode      = (int)mt_below(&rng, S_MODES);
    x.recv_mode      = (int)mt_below(&rng, R_MODES);
    x.receiver_first = mt_chance(&rng, 50);
    x.key            = mt_rand(&rng);
    if (x.src == x.dst) {
        /* One rank does both: the first of the two calls must not wait for the second. */
        if (x.receiver_first) {
            x.recv_mode = R_IRECV;
        } else if ((x.send_mode == S_SEND) || (x.send_mode == S_SSEND)) {
            x.send_mode = S_ISEND;
        }
    } else if (x.recv_mode != R_IRECV) {
        x.receiver_first = 0;
    }
    return x;
}

static void side_open(side_t *side, mt_rng_t *rng, int kind, int base, size_t size)
{
    memset(side, 0, sizeof(*side));
    side->layout.type = MPI_DATATYPE_NULL;
    side->length      = size;
    side->count       = (int)(size / bases[base].size);
    side->type        = bases[base].type;
    if (kind == SIDE_TYPED) {
        side->layout = layout_random(rng, base, size);
        side->length = side->layout.end + 16;
        side->count  = 1;
        side->type   = side->layout.type;
    } else if (kind == SIDE_PACKED) {
        side->count = (int)size;
        side->type  = MPI_PACKED;
    }
    side->buf    = mt_alloc(side->length);
    side->packed = mt_alloc(size);
    memset(side->buf, 0xcc, side->length);
}

/* Pending operations have to keep the type alive. */
static void side_free_type(side_t *side)
{
    if (side->layout.type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&side->layout.type);
    }
}

static void side_close(side_t *side)
{
    free(side->layout.pieces);
    free(side->buf);
    free(side->packed);
}

static void do_send(const exchange_t *x, mt_rng_t *rng, MPI_Comm comm, side_t *side,
                    MPI_Request *request)
{
    int dst   = (comm == MPI_COMM_SELF) ? 0 : x->dst;
    int place = 0;
    char *pack;
    int size;

    side_open(side, rng, x->send_side, x->base, x->size);
    mt_fill(side->packed, x->size, x->key);
    if (x->send_side == SIDE_TYPED) {
        layout_scatter(&side->layout, side->buf, side->packed, x->size);

        MPI_Pack_size(1, side->type, comm, &size);
        pack = mt_alloc((size_t)size);
        MPI_Pack(side->buf, 1, side->type, pack, size, &place, comm);
        if (((size_t)place != x->size) || memcmp(pack, side->packed, x->size)) {
            mt_fail("MPI_Pack of %zu bytes gave %d bytes or other data", x->size, place);
        }
        free(pack);
    } else {
        memcpy(side->buf, side->packed, x->size);
    }

    *request = MPI_REQUEST_NULL;
    switch (x->send_mode) {
    case S_ISEND:
        MPI_Isend(side->buf, side->count, side->type, dst, x->tag, comm, request);
        break;
    case S_ISSEND:
        MPI_Issend(side->buf, side->count, side->type, dst, x->tag, comm, request);
        break;
    case S_SEND:
        MPI_Send(side->buf, side->count, side->type, dst, x->tag, comm);
        break;
    case S_SSEND:
        MPI_Ssend(side->buf, side->count, side->type, dst, x->tag, comm);
        break;
    default:
        MPI_Bsend(side->buf, side->count, side->type, dst, x->tag, comm);
        break;
    }
    side_free_type(side);
}

static void do_recv(const exchange_t *x, mt_rng_t *rng, MPI_Comm comm, side_t *side,
                    MPI_Request *request, MPI_Status *status)
{
    int src = (comm == MPI_COMM_SELF) ? 0 : x->src;
    MPI_Message message;

    side_open(side, rng, x->recv_side, x->base, x->recv_size);
    *request = MPI_REQUEST_NULL;
    switch (x->recv_mode) {
    case R_IRECV:
        MPI_Irecv(side->buf, side->count, side->type, src, x->tag, comm, request);
        break;
    case R_PROBE:
        MPI_Probe(src, x->tag, comm, status);
        /* fall through */
    case R_RECV:
        MPI_Recv(side->buf, side->count, side->type, src, x->tag, comm, status);
        break;
    default:
        MPI_Mprobe(src, x->tag, comm, &message, status);
        if (x->recv_mode == R_MRECV) {
            MPI_Mrecv(side->buf, side->count, side->type, &message, status);
        } else {
            MPI_Imrecv(side->buf, side->count, side->type, &message, request);
        }
        break;
    }
}

static void check_recv(const exchange_t *x, MPI_Comm comm, side_t *side,
                       MPI_Status *status)
{
    size_t unit = (x->recv_side == SIDE_PACKED) ? 1 : bases[x->base].size;
    int src     = (comm == MPI_COMM_SELF) ? 0 : x->src;
    char *image = mt_alloc(side->length);
    int place   = 0;
    int count;
    char *unpacked;

    if ((x->recv_side == SIDE_TYPED) && (side->layout.type == MPI_DATATYPE_NULL)) {
        unit = 1;
        MPI_Get_count(status, MPI_BYTE, &count);
    } else {
        MPI_Get_elements(status, side->type, &count);
    }
    if ((status->MPI_SOURCE != src) || (status->MPI_TAG != x->tag) ||
        ((size_t)count * unit != x->size)) {
        mt_fail("status says source %d, tag %d, %d elements of %zu bytes; expected "
                "source %d, tag %d, size %zu",
                status->MPI_SOURCE, status->MPI_TAG, count, unit, src, x->tag, x->size);
    }

    memset(image, 0xcc, side->length);
    mt_fill(side->packed, x->size, x->key);
    if (x->recv_side == SIDE_TYPED) {
        layout_scatter(&side->layout, image, side->packed, x->size);
    } else {
        memcpy(image, side->packed, x->size);
    }
    for (size_t i = 0; i < side->length; i++) {
        if (image[i] != side->buf[i]) {
            mt_fail("peer %d, tag %d, size %zu: byte %zu of the buffer of %zu is 0x%02x, "
                    "expected 0x%02x",
                    x->src, x->tag, x->size, i, side->length, (unsigned char)side->buf[i],
                    (unsigned char)image[i]);
        }
    }

    if ((x->recv_side == SIDE_PACKED) && (x->size > 0)) {
        unpacked = mt_alloc(x->size);
        MPI_Unpack(side->buf, (int)x->size, &place, unpacked,
                   (int)(x->size / bases[x->base].size), bases[x->base].type, comm);
        mt_expect(unpacked, x->size, x->key, x->src, x->tag);
        free(unpacked);
    }
    free(image);
}

/* A zero-byte message on another communicator tells that the first call is made. */
static void note_send(int peer)
{
    MPI_Send(NULL, 0, MPI_BYTE, peer, NOTE_TAG, notes);
}

static void note_wait(int peer)
{
    MPI_Recv(NULL, 0, MPI_BYTE, peer, NOTE_TAG, notes, MPI_STATUS_IGNORE);
}

static void run(int index, MPI_Comm comm)
{
    exchange_t x         = plan(index, comm);
    mt_rng_t rng         = mt_rng(x.key ^ (uint64_t)(mt_rank + 1));
    int sender           = x.src == mt_rank;
    int receiver         = x.dst == mt_rank;
    int nonblocking_send = (x.send_mode == S_ISEND) || (x.send_mode == S_ISSEND);
    MPI_Request send_req = MPI_REQUEST_NULL;
    MPI_Request recv_req = MPI_REQUEST_NULL;
    MPI_Status status;
    side_t to, from;

    mt_stage("%d: %s %s of %zu bytes from %d to %s %s of %zu, tag %d, base size %zu%s",
             index, side_names[x.send_side], send_names[x.send_mode], x.size, x.src,
             side_names[x.recv_side], recv_names[x.recv_mode], x.recv_size, x.tag,
             bases[x.base].size, x.receiver_first ? ", receiver first" : "");
    if (receiver && x.receiver_first) {
        do_recv(&x, &rng, comm, &to, &recv_req, &status);
        if (!sender) {
            note_send(x.src);
        }
    }
    if (sender) {
        if (!receiver && x.receiver_first) {
            note_wait(x.dst);
        }
        do_send(&x, &rng, comm, &from, &send_req);
        if (!receiver && !x.receiver_first && nonblocking_send) {
            note_send(x.dst);
        }
    }
    if (receiver && !x.receiver_first) {
        if (!sender && nonblocking_send) {
            note_wait(x.src);
        }
        do_recv(&x, &rng, comm, &to, &recv_req, &status);
    }

    if (receiver) {
        /* Straight after the call, or only once MPI_Get_elements has used it. */
        if (mt_chance(&rng, 60)) {
            side_free_type(&to);
        }
        if (recv_req != MPI_REQUEST_NULL) {
            MPI_Wait(&recv_req, &status);
        }
        check_recv(&x, comm, &to, &status);
        side_free_type(&to);
        side_close(&to);
    }
    if (sender) {
        MPI_Wait(&send_req, MPI_STATUS_IGNORE);
        side_close(&from);
    }
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"iters", &iters, "number of messages on each communicator"},
            {"max-size", &max_size, "largest message"},
    };
    char *attached;
    int size;

    mt_start(&argc, &argv, "pt2pt_types", "derived datatypes in messages", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &notes);
    attached = mt_alloc((size_t)max_size * 4 + (1 << 20));
    MPI_Buffer_attach(attached, (int)max_size * 4 + (1 << 20));
    for (int i = 0; i < (int)iters; i++) {
        run(i, MPI_COMM_WORLD);
        if (i % 3 == 0) {
            run(i + (int)iters, MPI_COMM_SELF);
        }
        if (i % 4 == 0) {
            /* Empties the buffer before new buffered sends can overflow it. */
            MPI_Buffer_detach(&attached, &size);
            MPI_Buffer_attach(attached, size);
        }
    }
    MPI_Buffer_detach(&attached, &size);
    free(attached);
    MPI_Comm_free(&notes);
    return mt_pass("messages=%ld:", iters);
}
