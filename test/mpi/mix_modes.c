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

#include "mix_modes/mix.h"

#include <stdlib.h>
#include <string.h>

/* How a step of a lockstep phase receives. */
enum {
    R_RECV,
    R_IRECV,
    R_RECV_INIT,
    R_PROBE,
    R_MPROBE_MRECV,
    R_MPROBE_IMRECV,
    R_MODES
};

/* One exchange of a lockstep phase. */
typedef struct {
    int src, dst, comm, tag, any_tag, any_src, late, rmode;
    int message; /* in the stream of src */
    int back;    /* in the stream of dst: the other half of a Sendrecv, or -1 */
} step_t;

static long iters    = 40;
static long max_size = 4 << 20;

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

/* Tests all open receives, and cancels a few. Returns how many have got a message. */
static int free_test(mt_rng_t *rng, int sent, int received, int expected)
{
    int *pending    = mt_alloc((size_t)(num_receives + 1) * sizeof(*pending));
    int num_pending = free_pending(rng, pending);
    int count       = 0;

    mt_stage("tests of %d receives, %d of %d messages sent, %d of %d received",
             num_pending, sent, streams[mt_rank].count, received, expected);
    for (int i = 0; i < num_pending; i++) {
        receive_t *recv = &receives[pending[i]];

        if (!recv->keep && mt_chance(rng, 2)) {
            count += receive_cancel(recv, REC_CANCELLED);
        } else {
            count += receive_test(recv);
        }
    }
    free(pending);
    return count;
}

static void phase_free(mt_rng_t *rng, int phase)
{
    mt_rng_t own   = mt_rng(mt_key((uint64_t)phase, (uint64_t)mt_rank, 1, 0));
    stream_t *mine = &streams[mt_rank];
    int sent       = 0;
    int received   = 0;
    int expected   = 0;

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
            received += free_test(&own, sent, received, expected);
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
    MPI_Buffer_detach(&bsend_buf, &size);
    free(bsend_buf);
    messages_free();
    return mt_pass("phases=%ld; rank 0 got %ld messages, %ld bytes, cancelled %ld, wild "
                   "%ld:",
                   iters, total_messages, total_bytes, total_cancelled, total_wild);
}
