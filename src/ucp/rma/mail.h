/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Small operations on memory of another process are left to that process by its mailbox
 * (uct/shm/mailbox.h), for as long as they may take one that looks. That is some 0.2 us, where a
 * system call costs 1.7 us. They are taken back from a process that does not look.
 *
 * A put is posted and not waited for, until it is settled. Other operations are waited for: their
 * results are wanted, or only UCX could do them in place of the target.
 */
#ifndef RI_MAIL_H
#define RI_MAIL_H

#include "reach.h"

/* What has become of an operation. */
typedef enum ri_mail_fate {
    RI_MAIL_DONE,       /* a put: or posted */
    RI_MAIL_TAKEN_BACK, /* nothing was done */
    RI_MAIL_REFUSED /* nothing was done: there is no mailbox, or it does not do such a thing */
} ri_mail_fate_t;

/* What has become of puts that were settled. */
typedef struct ri_mail_sum {
    unsigned
            taken_back; /* puts that the target did not look at: copied to it by the plane */
    ucs_status_t
            status; /* UCS_OK, or why puts are lost: the memory, or the target, is gone */
} ri_mail_sum_t;

/**
 * Post a put.
 *
 * @param data  Of head->data_length bytes.
 * @param sum   Added to, if puts before it had to make way.
 *
 * @return RI_MAIL_DONE: it is posted, and is to be settled. RI_MAIL_REFUSED.
 */
ri_mail_fate_t ri_mail_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, ri_mail_sum_t *sum);

/**
 * Have an operation carried out, which has ended when this returns, and puts that were posted before
 * it have, too. While it is waited for, this process serves others: two that ask each other do not
 * wait for each other.
 *
 * @param data    Of head->data_length bytes.
 * @param result  Set to head->length bytes with RI_MAIL_DONE; NULL: it is not wanted, or there is
 *                none.
 * @param sum     Added to, of the puts before it.
 *
 * @return What has become of it. A process that is killed while it is at it counts as one that did
 *         not look: what it has done is gone with it.
 */
ri_mail_fate_t ri_mail_ask(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, void *result, ri_mail_sum_t *sum);

/** Wait until all puts that were posted are over, or do them in place of the target. @a sum is added
 * to. */
void ri_mail_settle(ri_reach_t *reach, ri_mail_sum_t *sum);

/** @return Whether all puts that were posted are over, without waiting for any. */
int ri_mail_is_settled(ri_reach_t *reach);

#endif
