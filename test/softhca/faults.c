/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each QP has two sequences of random numbers: one for what it sends, used with sq_lock held, and
 * one for what it refuses, used with sh_proc.lock held. Faults after a number of work requests go
 * by sq.count, which is kept here for RC, and in requester.c for UD. Datagrams that get lost for
 * their kind or their size are in ud.c. A link that is cut follows no random numbers: each message
 * that is sent looks whether the file is there.
 */
#include "faults.h"
#include "counters.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* splitmix64 */
static uint64_t faults_random(uint64_t *state)
{
    uint64_t value = (*state += 0x9e3779b97f4a7c15UL);

    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9UL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebUL;
    return value ^ (value >> 31);
}

static int faults_hit(uint64_t *state, double share)
{
    return (share > 0) && ((double)(faults_random(state) >> 11) * 0x1p-53 < share);
}

void sh_faults_init(sh_qp_t *qp, uint32_t number)
{
    qp->random = sh_settings.seed * 0x2545f4914f6cdd1dUL + number;
    faults_random(&qp->random);
    qp->random_rx = ~qp->random;
}

/* Tell of a failure that has not happened. */
static void faults_event(sh_qp_t *qp)
{
    void *element = &qp->super;

    switch (sh_settings.faults.event) {
    case IBV_EVENT_CQ_ERR:
        element = qp->super.send_cq;
        break;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        element = (void *)1; /* the number of the port, in the same place */
        break;
    default:
        break;
    }
    sh_async_event(qp->super.context, (enum ibv_event_type)sh_settings.faults.event,
                   element);
}

void sh_faults_move(sh_qp_t *qp)
{
    sh_context_t *context = sh_context(qp->super.context);
    unsigned index        = context->device->index;
    unsigned lid          = sh_context_lid(qp->super.context);

    if ((sh_settings.faults.move_after == 0) ||
        (qp->sq.count != sh_settings.faults.move_after + 1)) {
        return;
    }
    lid = (lid + SH_MAX_DEVICES > UINT8_MAX) ? index + 1 : lid + SH_MAX_DEVICES;
    __atomic_store_n(&context->lid, (uint16_t)lid, __ATOMIC_RELAXED);
    sh_async_event(qp->super.context,
                   sh_settings.ethernet ? IBV_EVENT_GID_CHANGE : IBV_EVENT_LID_CHANGE,
                   (void *)1);
}

enum ibv_wc_status sh_faults_rc(sh_qp_t *qp)
{
    ++qp->sq.count;
    if ((sh_settings.faults.event_after != 0) &&
        (qp->sq.count == sh_settings.faults.event_after + 1)) {
        faults_event(qp);
    }
    sh_faults_move(qp);
    if (((sh_settings.faults.rc_kill_after != 0) &&
         (qp->sq.count > sh_settings.faults.rc_kill_after)) ||
        faults_hit(&qp->random, sh_settings.faults.rc_kill)) {
        sh_count(fault_kills, 1);
        return (enum ibv_wc_status)sh_settings.faults.rc_status;
    }
    return IBV_WC_SUCCESS;
}

int sh_faults_cut(void)
{
    int saved = errno, cut;

    if (sh_settings.cut == NULL) {
        return 0;
    }
    cut   = !access(sh_settings.cut, F_OK);
    errno = saved;
    return cut;
}

int sh_faults_rnr(sh_qp_t *qp)
{
    if (faults_hit(&qp->random_rx, sh_settings.faults.rnr)) {
        sh_count(fault_rnrs, 1);
        return 1;
    }
    return 0;
}

void sh_faults_ud(sh_qp_t *qp, sh_ud_fault_t *fault)
{
    memset(fault, 0, sizeof(*fault));
    if (faults_hit(&qp->random, sh_settings.faults.ud_drop) || sh_faults_cut()) {
        sh_count(fault_drops, 1);
        fault->drop = 1;
        return;
    }
    if (faults_hit(&qp->random, sh_settings.faults.ud_dup)) {
        sh_count(fault_dups, 1);
        fault->dup = 1;
    }
    if (faults_hit(&qp->random, sh_settings.faults.ud_reorder)) {
        sh_count(fault_delays, 1);
        fault->hold =
                1 + (unsigned)(faults_random(&qp->random) % sh_settings.faults.ud_window);
    } else if (faults_hit(&qp->random, sh_settings.faults.ud_delay)) {
        sh_count(fault_delays, 1);
        fault->delay_ns = sh_settings.faults.ud_delay_ns;
    }
}
