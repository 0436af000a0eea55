/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Opening and closing devices. The first open context makes the process a part of the
 * fabric and starts its agent, the last one ends that.
 */
#include "agent.h"
#include "counters.h"
#include "export.h"
#include "fabric.h"
#include "link.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

sh_proc_t sh_proc;

/* For the first and the last context; taken before all other locks. */
static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;

/* A child has the parent's objects in its memory, but no agent and no part in the fabric.
 * What it does with those objects has no effect; it can open devices of its own. */
static void context_forked(void)
{
    pthread_mutex_init(&context_lock, NULL);
    sh_mutex_init(&sh_proc.lock);
    ++sh_proc.id;
    if (sh_proc.attached) {
        sh_fabric_detach(1);
    }
    sh_agent_forked();
    sh_mr_forget();
    sh_pages_stop();
    memset(sh_proc.qps, 0, sizeof(sh_proc.qps));
    memset(&sh_counters, 0, sizeof(sh_counters));
    sh_proc.contexts = 0;
    sh_proc.attached = 0;
}

static int context_attach(void)
{
    static int registered;
    int error;

    if (!registered) {
        registered = 1;
        pthread_atfork(NULL, NULL, context_forked);
    }
    sh_settings_load();
    sh_link_init();
    sh_mr_forget();
    sh_pages_start();
    sh_mutex_init(&sh_proc.lock);
    error = sh_fabric_attach();
    if (error) {
        fprintf(stderr, "softhca: cannot join fabric %s: %s\n", sh_settings.fabric,
                strerror(error));
        return error;
    }
    ++sh_proc.id;
    sh_proc.next_qp  = 0;
    sh_proc.next_uid = 0;
    error            = sh_agent_start();
    if (error) {
        sh_fabric_detach(0);
        return error;
    }
    sh_proc.attached = 1;
    return 0;
}

static void context_detach(void)
{
    sh_agent_stop();
    sh_fabric_detach(0);
    sh_pages_stop();
    sh_proc.attached = 0;
    ++sh_proc.id;
}

void sh_proc_settings(void)
{
    pthread_mutex_lock(&context_lock);
    if (sh_proc.contexts == 0) {
        sh_settings_load();
    }
    pthread_mutex_unlock(&context_lock);
}

static void context_init(sh_context_t *context, struct ibv_device *device)
{
    struct ibv_context *super = &context->verbs.context;

    context->device         = (sh_device_t *)(void *)device;
    context->lid            = (uint16_t)(context->device->index + 1);
    context->verbs.sz       = sizeof(context->verbs);
    super->device           = device;
    super->cmd_fd           = -1;
    super->async_fd         = context->events.fd;
    super->num_comp_vectors = 1;
    super->abi_compat       = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&super->mutex, NULL);
    sh_context_set_ops(&context->verbs);
}

SH_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    sh_context_t *context = calloc(1, sizeof(*context));
    int error             = 0;

    if (context == NULL) {
        return NULL;
    }
    if (sh_event_queue_init(&context->events)) {
        free(context);
        return NULL;
    }
    pthread_mutex_lock(&context_lock);
    if (sh_proc.contexts == 0) {
        error = context_attach();
    }
    if (!error) {
        ++sh_proc.contexts;
        context->proc_id = sh_proc.id;
    }
    pthread_mutex_unlock(&context_lock);
    if (error) {
        sh_event_queue_cleanup(&context->events);
        free(context);
        errno = error;
        return NULL;
    }
    context_init(context, device);
    return &context->verbs.context;
}

SH_EXPORT int ibv_close_device(struct ibv_context *super)
{
    sh_context_t *context = sh_context(super);

    pthread_mutex_lock(&context_lock);
    if (sh_context_valid(super) && (--sh_proc.contexts == 0)) {
        context_detach();
    }
    pthread_mutex_unlock(&context_lock);
    sh_event_queue_cleanup(&context->events);
    free(context);
    return 0;
}

/* A program that ends without closing: what its agent has begun is finished, so that
 * nobody waits for an acknowledgement, and the files go. */
__attribute__((destructor)) static void context_exit(void)
{
    if (sh_proc.attached) {
        sh_control_lock();
        sh_fabric_leave();
        sh_control_unlock();
    }
    sh_counters_print();
}
