/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small operation on memory of another process is left to that process by its mailbox
 * (uct/shm/mailbox.h), for as long as it may take one that looks. That is some 0.2 us, where a system
 * call costs 1.7 us. The operation is taken back from a process that does not look.
 */
#ifndef RI_MAIL_H
#define RI_MAIL_H

#include "reach.h"

/* What has become of an operation. */
typedef enum ri_mail_fate {
    RI_MAIL_DONE,
    RI_MAIL_TAKEN_BACK, /* nothing was done */
    RI_MAIL_REFUSED, /* nothing was done: there is no mailbox, or it does not do such a thing */
} ri_mail_fate_t;

/**
 * Have an operation carried out, which has ended when this returns. While it is waited for, this
 * process serves others: two that ask each other do not wait for each other.
 *
 * @param data    Of head->data_length bytes.
 * @param result  Set to head->length bytes with RI_MAIL_DONE; NULL: it is not wanted, or there is
 *                none.
 *
 * @return What has become of it. A process that is killed while it is at it counts as one that did
 *         not look: what it has done is gone with it.
 */
ri_mail_fate_t ri_mail_ask(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, void *result);

#endif
