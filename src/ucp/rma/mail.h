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

/* Whether a put was ever lost in this process. */
extern _Atomic(int) ri_mail_lost;

/* What has become of an operation. */
typedef enum ri_mail_fate {
    RI_MAIL_DONE, /* a put: or posted */
    RI_MAIL_TAKEN_BACK, /* nothing was done, as the target did not look, or another thread asks it */
    RI_MAIL_REFUSED /* nothing was done: there is no mailbox, or it does not do such a thing */
} ri_mail_fate_t;

/**
 * Post a put.
 *
 * @param data  Of head->data_length bytes.
 * @param taken_back  Puts are added that had to make way, and were done here in place of the target.
 *
 * @return RI_MAIL_DONE: it is posted, and is to be settled. RI_MAIL_REFUSED.
 */
ri_mail_fate_t ri_mail_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, unsigned *taken_back);

/**
 * Have an operation carried out, which has ended when this returns, and puts that were posted before
 * it have, too. While it is waited for, this process serves others: two that ask each other do not
 * wait for each other.
 *
 * @param data    Of head->data_length bytes.
 * @param result  Set to head->length bytes with RI_MAIL_DONE; NULL: it is not wanted, or there is
 *                none.
 * @param taken_back  Puts before it are added that were done here in place of the target.
 *
 * @return What has become of it. A process that is killed while it is at it counts as one that did
 *         not look: what it has done is gone with it.
 */
ri_mail_fate_t ri_mail_ask(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, void *result, unsigned *taken_back);

/** Have an operation carried out by the thread of a target that does not look, where it has one. As
 * ri_mail_ask(), but that it waits for up to 0.2 s, and for another thread that uses the way. Without
 * a thread the operation counts as taken back, and so do some that follow one for which it did not
 * come. */
ri_mail_fate_t ri_mail_call(ri_reach_t *reach, const ri_mailbox_head_t *head,
                            const void *data, void *result, unsigned *taken_back);

/** Wait until all puts that were posted are over, or do them in place of the target, which adds to
 * @a taken_back. Puts that cannot be done are noted in reach->lost. */
void ri_mail_settle(ri_reach_t *reach, unsigned *taken_back);

/** @return Whether all puts that were posted are over, without waiting for any. */
int ri_mail_is_settled(ri_reach_t *reach);

#endif
