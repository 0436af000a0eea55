/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A worker of its own costs another connection for each pair of processes that use a window
 * together, made when it is first used. It needs nothing of the MPI: neither endpoints, which the
 * MPI may not have made, nor features of its context.
 *
 * Endpoints are closed only with the worker: a peer that has left a window may still be at the last
 * word that this process has written to it.
 */
#include "window_net.h"
#include "../core/settings/stock_config.h"
#include "../../ucs/handle_map.h"
#include "../../ucs/log.h"
#include "../../ucs/process.h"
#include "../../ucs/random.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Calls of progress that a closing endpoint gets. */
#define NET_CLOSE_CALLS 10000

_Atomic(int) ri_window_net_is_there;

/* All under the lock. */
static struct {
    pthread_mutex_t lock;
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: there is none */
    uint64_t uid;
    ucp_address_t *address;
    size_t length;
    unsigned generation; /* of the process that has made it */
    ucs_list_link_t peers;
    const ri_window_net_hooks_t *hooks;
    int forks_within; /* the thread that forks had the lock before */
} net = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

/* The same peers: each message has the number of its sender. */
static ri_map_t net_peers_by_uid = RI_MAP_INITIALIZER;

void ri_window_net_lock(void)
{
    pthread_mutex_lock(&net.lock);
}

void ri_window_net_unlock(void)
{
    pthread_mutex_unlock(&net.lock);
}

/* A handler of the application's may fork, for a fault in memory that is copied under the lock: the
 * thread has it already. */
static void net_before_fork(void)
{
    net.forks_within = (pthread_mutex_lock(&net.lock) == EDEADLK);
}

static void net_after_fork(void)
{
    if (!net.forks_within) {
        ri_window_net_unlock();
    }
}

/* The lock is of a thread of the parent. */
static void net_forked(void)
{
    net.lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
}

/* A child by fork() has the lock as it is then, and not the thread that would unlock it. */
static void __attribute__((constructor)) net_guard_forks(void)
{
    pthread_atfork(net_before_fork, net_after_fork, net_forked);
}

static ucs_status_t net_make_context(void)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features   = UCP_FEATURE_AM | UCP_FEATURE_RMA};
    ucp_config_t *config;
    ucs_status_t status;
    int is_selected;

    status = ri_stock_config_read(NULL, NULL, &config, &is_selected);
    if (status == UCS_OK) {
        status = ri_stock.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config,
                                       &net.context);
        ri_stock.config_release(config);
    }
    return status;
}

static ucs_status_t net_make_worker(void)
{
    ucp_worker_params_t params     = {.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                      .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                    UCP_AM_HANDLER_PARAM_FIELD_CB,
                                      .id = RI_WINDOW_NET_AM_ID,
                                      .cb = net.hooks->message};
    ucs_status_t status;

    status = ri_stock.worker_create(net.context, &params, &net.worker);
    if (status != UCS_OK) {
        net.worker = NULL;
        return status;
    }
    status = ri_stock.worker_set_am_recv_handler(net.worker, &handler);
    if (status == UCS_OK) {
        status = ri_stock.worker_get_address(net.worker, &net.address, &net.length);
    }
    if (status != UCS_OK) {
        ri_stock.worker_destroy(net.worker);
        net.worker = NULL;
    }
    return status;
}

int ri_window_net_start(const ri_window_net_hooks_t *hooks)
{
    ucs_status_t status = UCS_OK;

    ri_window_net_lock();
    if (net.worker == NULL) {
        ucs_list_head_init(&net.peers);
        net.hooks = hooks;
        status    = net_make_context();
        if (status == UCS_OK) {
            status = net_make_worker();
            if (status != UCS_OK) {
                ri_stock.cleanup(net.context);
            }
        }
        net.uid = ri_random() | (RI_MAP_KEY_GRAVE + 1); /* no key that a map reserves */
        net.generation = ri_process_generation;
    }
    atomic_store(&ri_window_net_is_there, net.worker != NULL);
    ri_window_net_unlock();
    if (status != UCS_OK) {
        ri_warn("UCX has nothing for windows of several hosts: %s",
                ri_stock_status_string(status));
    }
    return status == UCS_OK;
}

ucp_context_h ri_window_net_context(void)
{
    return net.context;
}

uint64_t ri_window_net_uid(void)
{
    return net.uid;
}

void ri_window_net_address(const void **address_p, size_t *length_p)
{
    *address_p = net.address;
    *length_p  = net.length;
}

ri_window_net_peer_t *ri_window_net_find_peer(uint64_t uid)
{
    return (uid > RI_MAP_KEY_GRAVE) ? ri_map_get(&net_peers_by_uid, uid) : NULL;
}

ri_window_net_peer_t *ri_window_net_get_peer(uint64_t uid, const void *address,
                                             size_t length)
{
    ri_window_net_peer_t *peer = ri_window_net_find_peer(uid);

    if (peer != NULL) {
        ++peer->users;
        return peer;
    }
    peer = (uid > RI_MAP_KEY_GRAVE) ? calloc(1, sizeof(*peer) + length) : NULL;
    if (peer == NULL) {
        return NULL;
    }
    if (ri_map_put(&net_peers_by_uid, uid, peer) != UCS_OK) {
        free(peer);
        return NULL;
    }
    peer->uid   = uid;
    peer->users = 1;
    memcpy(peer->address, address, length);
    ucs_list_add_tail(&net.peers, &peer->list);
    return peer;
}

void ri_window_net_put_peer(ri_window_net_peer_t *peer)
{
    if ((--peer->users == 0) && (peer->ep == NULL)) {
        if (ri_window_net_find_peer(peer->uid) ==
            peer) { /* not one that a worker has left */
            ri_map_remove(&net_peers_by_uid, peer->uid);
        }
        ucs_list_del(&peer->list);
        free(peer);
    }
}

void ri_window_net_peer_fails(ri_window_net_peer_t *peer, ucs_status_t status)
{
    ri_info("a process of a window on another host cannot be reached: %s",
            ri_stock_status_string(status));
    atomic_store(&peer->is_gone, 1);
}

static void net_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)ep;
    ri_window_net_peer_fails(arg, status);
}

ucp_ep_h ri_window_net_ep(ri_window_net_peer_t *peer)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address     = (const ucp_address_t *)peer->address,
                              .err_mode    = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {.cb = net_error, .arg = peer}};
    ucs_status_t status;

    if ((net.worker == NULL) || (net.generation != ri_process_generation)) {
        return NULL;
    }
    if (peer->ep == NULL) {
        status = ri_stock.ep_create(net.worker, &params, &peer->ep);
        if (status == UCS_ERR_UNREACHABLE) {
            /* Between containers of a host there may be transports only that do not tell of a
             * failure */
            params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
            status          = ri_stock.ep_create(net.worker, &params, &peer->ep);
        }
        if (status != UCS_OK) {
            peer->ep = NULL;
            ri_error("no way to a process of a window on another host: %s",
                     ri_stock_status_string(status));
            atomic_store(&peer->is_gone, 1);
        }
    }
    return peer->ep;
}

unsigned ri_window_net_progress_worker(void)
{
    unsigned count = 0;

    if (pthread_mutex_trylock(&net.lock) != 0) {
        return 0;
    }
    if ((net.worker != NULL) && (net.generation == ri_process_generation)) {
        count = ri_stock.worker_progress(net.worker) + net.hooks->serve();
    }
    ri_window_net_unlock();
    return count;
}

/* Close an endpoint without a word to the peer, which may have ended. */
static void net_close(ucp_ep_h ep)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags        = UCP_EP_CLOSE_FLAG_FORCE};
    ucs_status_ptr_t request  = ri_stock.ep_close_nbx(ep, &param);
    unsigned calls;

    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    for (calls = 0; (calls < NET_CLOSE_CALLS) &&
                    (ri_stock.request_check_status(request) == UCS_INPROGRESS);
         ++calls) {
        ri_stock.worker_progress(net.worker);
    }
    ri_stock.request_free(request);
}

void ri_window_net_end(void)
{
    ri_window_net_peer_t *peer, *next;

    ri_window_net_lock();
    if ((net.worker != NULL) && (net.generation == ri_process_generation)) {
        atomic_store(&ri_window_net_is_there, 0);
        ucs_list_for_each_safe(peer, next, &net.peers, list) {
            if (peer->ep != NULL) {
                net_close(peer->ep);
                peer->ep = NULL;
            }
            atomic_store(&peer->is_gone, 1);
            ri_map_remove(&net_peers_by_uid, peer->uid);
            ucs_list_del(&peer->list);
            ucs_list_head_init(&peer->list);
            if (peer->users == 0) {
                free(peer);
            }
        }
        net.hooks->drop();
        ri_stock.worker_release_address(net.worker, net.address);
        ri_stock.worker_destroy(net.worker);
        ri_stock.cleanup(net.context);
        net.worker = NULL;
    }
    ri_window_net_unlock();
}
