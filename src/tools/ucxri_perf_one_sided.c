/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An operation and its flush are timed, as it takes both to know that it has ended at the target.
 * The origin tells the target that a batch has ended by a put, which is not timed: a message would
 * need another kind of progress.
 */
#include "ucxri_perf_one_sided.h"
#include "ucxri_perf_clock.h"
#include "ucxri_perf_compute.h"

#include <stdlib.h>
#include <string.h>

/* Of the target: written by the origin. */
typedef struct {
    uint64_t ended; /* batches */
    uint64_t sum;
} words_t;

/* The address of the target's memory for the origin, with a key behind it */
typedef struct {
    uint64_t address;
    uint64_t length; /* of the key */
} remote_t;

/* More than any key; it comes from another process */
#define MAX_KEY 4096

typedef struct {
    ucp_mem_h memh;
    ucp_rkey_h rkey; /* of the other process's */
    uint64_t remote; /* address of that */
} area_t;

struct perf_one_sided {
    area_t recv, send, word;
    words_t *words;
    uint64_t batches; /* that have ended */
    uint64_t sum;     /* as the origin expects it */
};

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        perf_peer_failed(status, what);
    }
}

static void *allocate(size_t size)
{
    void *memory = NULL;

    if (posix_memalign(&memory, 64, size) != 0) {
        perf_fatal("out of memory");
    }
    memset(memory, 0, size);
    return memory;
}

/* Map memory of this process, and get a key of the other one's */
static void open_area(perf_peer_t *peer, area_t *area, void *memory, size_t size)
{
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                                 UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                   .address = memory,
                                   .length  = (size > 0) ? size : 1};
    remote_t mine, theirs;
    char buffer[MAX_KEY];
    size_t length;
    void *key;

    check(ucp_mem_map(peer->context, &params, &area->memh), "ucp_mem_map");
    check(ucp_rkey_pack(peer->context, area->memh, &key, &length), "ucp_rkey_pack");
    if (length > sizeof(buffer)) {
        perf_fatal("a remote key has %zu bytes", length);
    }
    memset(buffer, 0, sizeof(buffer));
    memcpy(buffer, key, length);
    ucp_rkey_buffer_release(key);
    mine = (remote_t){.address = (uintptr_t)memory, .length = length};
    perf_link_exchange(&peer->link, &mine, &theirs, sizeof(mine));
    if ((theirs.length == 0) || (theirs.length > sizeof(buffer))) {
        perf_fatal("the other process sent a key of %llu bytes",
                   (unsigned long long)theirs.length);
    }
    perf_link_exchange(&peer->link, buffer, buffer, sizeof(buffer));
    area->remote = theirs.address;
    check(ucp_ep_rkey_unpack(peer->ep, buffer, &area->rkey), "ucp_ep_rkey_unpack");
}

static void destroy_keys(perf_one_sided_t *state)
{
    ucp_rkey_destroy(state->recv.rkey);
    ucp_rkey_destroy(state->send.rkey);
    ucp_rkey_destroy(state->word.rkey);
}

void perf_one_sided_open(perf_peer_t *peer)
{
    perf_one_sided_t *state = allocate(sizeof(*state));

    state->words = allocate(sizeof(*state->words));
    open_area(peer, &state->recv, peer->recvbuf, peer->recv_size);
    open_area(peer, &state->send, peer->sendbuf, peer->send_size);
    open_area(peer, &state->word, state->words, sizeof(*state->words));
    peer->one_sided = state;
}

void perf_one_sided_close(perf_peer_t *peer)
{
    perf_one_sided_t *state = peer->one_sided;

    if (state == NULL) {
        return;
    }
    destroy_keys(state);
    /* Nobody has a key of this process's memory any more */
    perf_link_agree(&peer->link, 0);
    ucp_mem_unmap(peer->context, state->recv.memh);
    ucp_mem_unmap(peer->context, state->send.memh);
    ucp_mem_unmap(peer->context, state->word.memh);
    free(state->words);
    free(state);
}

/* All that the origin has started has ended at the target when this returns */
static void flush(perf_peer_t *peer)
{
    static const ucp_request_param_t param = {0};
    void *request                          = ucp_ep_flush_nbx(peer->ep, &param);

    if (__builtin_expect(UCS_PTR_IS_ERR(request), 0)) {
        perf_peer_failed(UCS_PTR_STATUS(request), "flush");
    }
    perf_peer_complete(peer, request);
}

static void put(perf_peer_t *peer, const area_t *area, size_t offset, const void *data,
                size_t size)
{
    ucs_status_t status = ucp_put_nbi(peer->ep, data, size, area->remote + offset,
                                      area->rkey);

    if (__builtin_expect(status < 0, 0)) {
        perf_peer_failed(status, "put");
    }
}

static void get(perf_peer_t *peer, const area_t *area, void *data, size_t size)
{
    ucs_status_t status = ucp_get_nbi(peer->ep, data, size, area->remote, area->rkey);

    if (__builtin_expect(status < 0, 0)) {
        perf_peer_failed(status, "get");
    }
}

/* The origin: all operations of a batch have ended */
static void tell_end(perf_peer_t *peer)
{
    perf_one_sided_t *state = peer->one_sided;

    ++state->batches;
    put(peer, &state->word, offsetof(words_t, ended), &state->batches,
        sizeof(state->batches));
    flush(peer);
}

/* The target, until the origin has told the end of the batch */
static void be_target(perf_peer_t *peer, const perf_params_t *params)
{
    static const char what[] = "a batch of operations did not end";
    perf_one_sided_t *state  = peer->one_sided;
    perf_wait_t wait         = {0};

    ++state->batches;
    while (__atomic_load_n(&state->words->ended, __ATOMIC_ACQUIRE) != state->batches) {
        if (params->target_us > 0) {
            perf_compute(peer->loops_per_unit);
            perf_link_check(&peer->link, &wait, what);
        }
        ucp_worker_progress(peer->worker);
        perf_link_spin(&peer->link, &wait, what);
    }
}

/* Time a batch: the origin calls func, once for each operation or window */
static void run(perf_peer_t *peer, const perf_params_t *params, const perf_point_t *point,
                long count, double *seconds,
                void (*func)(perf_peer_t *peer, const perf_params_t *params, size_t size))
{
    double start;
    long i;

    perf_peer_barrier(peer);
    if (peer->link.rank == 1) {
        be_target(peer, params);
        seconds[0] = 0;
        return;
    }
    start = perf_clock_now();
    for (i = 0; i < count; ++i) {
        func(peer, params, point->size);
    }
    seconds[0] = perf_clock_now() - start;
    tell_end(peer);
}

static void put_once(perf_peer_t *peer, const perf_params_t *params, size_t size)
{
    put(peer, &peer->one_sided->recv, 0, peer->sendbuf, size);
    flush(peer);
}

static void get_once(perf_peer_t *peer, const perf_params_t *params, size_t size)
{
    get(peer, &peer->one_sided->send, peer->recvbuf, size);
    flush(peer);
}

static void put_window(perf_peer_t *peer, const perf_params_t *params, size_t size)
{
    uint32_t i;

    for (i = 0; i < params->window; ++i) {
        put(peer, &peer->one_sided->recv, i * perf_params_stride(size), peer->sendbuf,
            size);
    }
    flush(peer);
}

static void get_window(perf_peer_t *peer, const perf_params_t *params, size_t size)
{
    uint32_t i;

    for (i = 0; i < params->window; ++i) {
        get(peer, &peer->one_sided->send, perf_peer_recv_buffer(peer, size, i), size);
    }
    flush(peer);
}

/* Its result says whether all before it were carried out once */
static void atomic_once(perf_peer_t *peer, const perf_params_t *params, size_t size)
{
    perf_one_sided_t *state         = peer->one_sided;
    uint64_t one                    = 1;
    uint64_t old                    = 0;
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
                                                       UCP_OP_ATTR_FIELD_REPLY_BUFFER,
                                       .datatype     = ucp_dt_make_contig(sizeof(one)),
                                       .reply_buffer = &old};
    void *request;

    request = ucp_atomic_op_nbx(peer->ep, UCP_ATOMIC_OP_ADD, &one, 1,
                                state->word.remote + offsetof(words_t, sum),
                                state->word.rkey, &param);
    if (__builtin_expect(UCS_PTR_IS_ERR(request), 0)) {
        perf_peer_failed(UCS_PTR_STATUS(request), "atomic operation");
    }
    perf_peer_complete(peer, request);
    if (__builtin_expect(old != state->sum++, 0)) {
        perf_fatal("an atomic operation found %llu and not %llu", (unsigned long long)old,
                   (unsigned long long)state->sum - 1);
    }
}

void perf_one_sided_put(perf_peer_t *peer, const perf_params_t *params,
                        const perf_point_t *point, long count, double *seconds)
{
    run(peer, params, point, count, seconds, put_once);
}

void perf_one_sided_get(perf_peer_t *peer, const perf_params_t *params,
                        const perf_point_t *point, long count, double *seconds)
{
    run(peer, params, point, count, seconds, get_once);
}

void perf_one_sided_atomic(perf_peer_t *peer, const perf_params_t *params,
                           const perf_point_t *point, long count, double *seconds)
{
    run(peer, params, point, count, seconds, atomic_once);
}

void perf_one_sided_put_windows(perf_peer_t *peer, const perf_params_t *params,
                                const perf_point_t *point, long count, double *seconds)
{
    run(peer, params, point, count, seconds, put_window);
}

void perf_one_sided_get_windows(perf_peer_t *peer, const perf_params_t *params,
                                const perf_point_t *point, long count, double *seconds)
{
    run(peer, params, point, count, seconds, get_window);
}
