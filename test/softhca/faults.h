/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_FAULTS_H_
#define SH_FAULTS_H_

#include "objects.h"

/*
 * Fault injection. A QP's faults depend on the seed, on how many QPs its process made
 * before it, and on the number of its message: they are the same in every run.
 */

/** What is to become of a datagram. */
typedef struct sh_ud_fault {
    int drop;
    int dup;
    unsigned hold; /* number of others that overtake it */
    uint64_t delay_ns;
} sh_ud_fault_t;

void sh_faults_init(sh_qp_t *qp, uint32_t number);

/** @return The status with which the next work request of an RC QP fails. */
enum ibv_wc_status sh_faults_rc(sh_qp_t *qp);

/** After a work request: if the device is to move, give its port another address and tell so. What
 * is sent to the old one does not come in any more. */
void sh_faults_move(sh_qp_t *qp);

/** @return Whether the link is cut now: what is sent does not come in anywhere. */
int sh_faults_cut(void);

/** @return Whether a request is to be refused as if no receive were there. */
int sh_faults_rnr(sh_qp_t *qp);

void sh_faults_ud(sh_qp_t *qp, sh_ud_fault_t *fault);

#endif
