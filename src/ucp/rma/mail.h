/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Small operations on memory of another process are left to that process by its mailbox
 * (uct/shm/mailbox.h), for as long as they may take one that looks. That is some 0.2 to 0.5 us,
 * where a system call takes 0.4 to 1.7 us. They are withdrawn from a process that does not look.
 *
 * A put is posted and not waited for, until it is settled. Other operations are waited for: their
 * results are wanted, or only UCX could do them in place of the target.
 */
#ifndef RI_MAIL_H
#define RI_MAIL_H

#include "reach.h"

/* How an operation has ended. */
typedef enum ri_mail_fate {
    RI_MAIL_DONE, /* the operation is done; a put may still be on its way, as it was posted only */
    /* nothing was done, as the target did not look, or another thread asks it */
    RI_MAIL_WITHDRAWN,
    RI_MAIL_REFUSED /* nothing was done: there is no mailbox, or it does not do such a thing */
} ri_mail_fate_t;

/** @return Whether an operation of @a length bytes is to be asked for, which this process can do by
 * @a calls system calls: an answer takes less time. A target that did not look of late is not asked
 * for some operations, each call being one of them, unless an answer saves more than a look in vain
 * costs. */
int ri_mail_pays(ri_reach_t *reach, size_t length, unsigned calls);

/** @return Whether a put of @a length bytes is to be posted, and not copied. What is short is, if
 * the target has looked of late: nobody waits for it. */
int ri_mail_pays_put(ri_reach_t *reach, size_t length);

/**
 * Post a put to the target's mailbox, without waiting for it. If all entries are taken by earlier
 * puts, those are settled first.
 *
 * @param head        The operation. It is copied.
 * @param data        The head->data_length bytes to put. They are copied.
 * @param withdrawn  The number of earlier puts that were done here, in place of the target, is
 *                    added to it.
 *
 * @return RI_MAIL_DONE: the put is posted, and ri_mail_settle() waits for it. RI_MAIL_REFUSED:
 *         nothing is posted, as there is no mailbox, or another thread uses it.
 */
ri_mail_fate_t ri_mail_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, unsigned *withdrawn);

/**
 * Have the target carry out an operation, and wait for its end. Puts that were posted before it
 * have ended, too, when this returns. While this process waits, it serves its own mailbox: so two
 * processes that ask each other do not wait for each other for ever.
 *
 * @param head        The operation. It is copied.
 * @param data        The head->data_length bytes that come with it. They are copied.
 * @param result      With RI_MAIL_DONE, head->length bytes are written there. NULL: there is no
 *                    result, or it is not wanted.
 * @param withdrawn  The number of earlier puts that were done here, in place of the target, is
 *                    added to it.
 *
 * @return What has become of the operation. RI_MAIL_WITHDRAWN stands also for a target that was
 *         killed while it carried the operation out: its memory is gone with it.
 */
ri_mail_fate_t ri_mail_ask(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, void *result, unsigned *withdrawn);

/** Have the target carry out an operation, as ri_mail_ask(), that this process can do by @a
 * calls system calls, unless these take less time: then nothing is done, and RI_MAIL_WITHDRAWN is
 * returned. */
ri_mail_fate_t ri_mail_ask_quickly(ri_reach_t *reach, const ri_mailbox_head_t *head,
                                   const void *data, void *result, unsigned calls,
                                   unsigned *withdrawn);

/** Have the thread of a target that does not look (attend.h) carry out an operation, and wait for
 * it up to 0.2 s. Another thread of this process that uses the reach is waited for. The parameters
 * are those of ri_mail_ask().
 *
 * @return As ri_mail_ask(). RI_MAIL_WITHDRAWN stands also for a target without such a thread, and
 *         for some operations that follow one for which the thread did not come.
 */
ri_mail_fate_t ri_mail_call(ri_reach_t *reach, const ri_mailbox_head_t *head,
                            const void *data, void *result, unsigned *withdrawn);

/** Wait until all posted puts of a reach are over, or withdraw them and do them here, in place of
 * the target. The number of those that were done here is added to @a withdrawn. A put that cannot
 * be done here is waited for, and one that neither can do is lost (mail_queue.h). */
void ri_mail_settle(ri_reach_t *reach, unsigned *withdrawn);

/** @return Whether all posted puts of a reach are over. It does not wait for any. */
int ri_mail_is_settled(ri_reach_t *reach);

#endif
