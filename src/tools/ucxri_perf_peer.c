/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The worker addresses are exchanged over the link, and the first messages make the connection, so
 * that nothing of this is in a time that is measured.
 */
#include "ucxri_perf_peer.h"
#include "ucxri_perf_compute.h"

#include "ucp/api/ucxri.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any worker address; it comes from another process */
#define MAX_ADDRESS 65536

#define PAGE 4096

void perf_peer_failed(ucs_status_t status, const char *what)
{
    perf_fatal("%s: %s", what, ucs_status_string(status));
}

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        perf_peer_failed(status, what);
    }
}

static void progress(void *arg)
{
    perf_peer_t *peer = arg;

    ucp_worker_progress(peer->worker);
}

static void make_worker(perf_peer_t *peer, int is_one_sided)
{
    ucp_params_t context_params       = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                         .features   = UCP_FEATURE_TAG};
    ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                         .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_config_t *config;

    if (is_one_sided) {
        context_params.features |= UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    }
    check(ucp_config_read(NULL, NULL, &config), "configuration of UCX");
    check(ucp_init(&context_params, config, &peer->context), "ucp_init");
    ucp_config_release(config);
    check(ucp_worker_create(peer->context, &worker_params, &peer->worker),
          "ucp_worker_create");
}

/* The program is not linked with ucxri: whether that is there shows at run time only */
static void name_library(perf_peer_t *peer)
{
    int (*is_served)(ucp_worker_h worker) = dlsym(RTLD_DEFAULT, "ucxri_worker_is_served");
    const char *(*version)(void)          = dlsym(RTLD_DEFAULT, "ucxri_version_string");

    if ((is_served != NULL) && (version != NULL) && is_served(peer->worker)) {
        snprintf(peer->library, sizeof(peer->library), "ucxri %s", version());
    } else {
        snprintf(peer->library, sizeof(peer->library), "UCX %s",
                 ucp_get_version_string());
    }
}

/* The other process's worker address, to be freed */
static ucp_address_t *exchange_address(perf_peer_t *peer)
{
    ucp_address_t *own;
    size_t length;
    uint64_t lengths[2];
    char *both;

    check(ucp_worker_get_address(peer->worker, &own, &length), "ucp_worker_get_address");
    lengths[0] = length;
    perf_link_exchange(&peer->link, &lengths[0], &lengths[1], sizeof(lengths[0]));
    if ((lengths[1] == 0) || (lengths[1] > MAX_ADDRESS)) {
        perf_fatal("the other process sent an address of %llu bytes",
                   (unsigned long long)lengths[1]);
    }
    /* As many bytes in either direction, the shorter address padded */
    length = (lengths[0] > lengths[1]) ? lengths[0] : lengths[1];
    both   = calloc(1, length);
    if (both == NULL) {
        perf_fatal("out of memory");
    }
    memcpy(both, own, lengths[0]);
    perf_link_exchange(&peer->link, both, both, length);
    ucp_worker_release_address(peer->worker, own);
    return (ucp_address_t *)both;
}

static void connect_ep(perf_peer_t *peer)
{
    ucp_address_t *address = exchange_address(peer);
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                              .address    = address};

    check(ucp_ep_create(peer->worker, &params, &peer->ep), "ucp_ep_create");
    free(address);
}

static void *allocate(size_t size)
{
    void *buffer = NULL;

    if (posix_memalign(&buffer, PAGE, (size > 0) ? size : 1) != 0) {
        perf_fatal("cannot allocate %zu bytes", size);
    }
    memset(buffer, 0, size);
    return buffer;
}

static void allocate_buffers(perf_peer_t *peer, const perf_params_t *params,
                             uint32_t num_messages)
{
    size_t max_size = 0;
    uint32_t i;

    for (i = 0; i < params->num_points; ++i) {
        if (params->points[i].size > max_size) {
            max_size = params->points[i].size;
        }
    }
    peer->send_size = max_size;
    peer->recv_size = num_messages * perf_params_stride(max_size);
    peer->sendbuf   = allocate(peer->send_size);
    peer->recvbuf   = allocate(peer->recv_size);
    peer->requests  = allocate(2 * params->window * sizeof(*peer->requests));
}

void perf_peer_open(perf_peer_t *peer, const perf_params_t *params, uint32_t num_messages)
{
    make_worker(peer, perf_params_is_one_sided(params));
    peer->link.idle     = progress;
    peer->link.idle_arg = peer;
    name_library(peer);
    connect_ep(peer);
    allocate_buffers(peer, params, num_messages);
    if (params->bench == PERF_PROGRESS) {
        peer->loops_per_unit = perf_compute_calibrate(params->unit_us * 1e-6);
    } else if (params->target_us > 0) {
        peer->loops_per_unit = perf_compute_calibrate(params->target_us * 1e-6);
    }
    /* The first messages make the connection */
    perf_peer_complete(peer, perf_peer_send(peer, NULL, 0, PERF_TAG_ACK));
    perf_peer_complete(peer, perf_peer_recv(peer, NULL, 0, PERF_TAG_ACK));
}

void perf_peer_barrier(perf_peer_t *peer)
{
    uint64_t token = 0;
    void *recv_request, *send_request;

    if (peer->link.shared != NULL) {
        perf_link_barrier(&peer->link);
    } else {
        recv_request = perf_peer_recv(peer, &token, sizeof(token), PERF_TAG_BARRIER);
        send_request = perf_peer_send(peer, &token, sizeof(token), PERF_TAG_BARRIER);
        perf_peer_complete(peer, send_request);
        perf_peer_complete(peer, recv_request);
    }
    while (ucp_worker_progress(peer->worker) != 0) {}
}

static void close_ep(perf_peer_t *peer)
{
    static const ucp_request_param_t param = {0};
    void *request                          = ucp_ep_close_nbx(peer->ep, &param);

    if (UCS_PTR_IS_ERR(request)) {
        perf_peer_failed(UCS_PTR_STATUS(request), "close");
    }
    perf_peer_complete(peer, request);
}

void perf_peer_close(perf_peer_t *peer)
{
    perf_link_agree(&peer->link, 0);
    close_ep(peer);
    /* The other process may need this one's progress to close its end */
    perf_link_agree(&peer->link, 0);
    ucp_worker_destroy(peer->worker);
    ucp_cleanup(peer->context);
    free(peer->sendbuf);
    free(peer->recvbuf);
    free(peer->requests);
}
