/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts and gets of private memory by the mailbox. What an entry has room for (RI_MAILBOX_DATA) goes
 * in one, and what is longer goes in parts, one entry each (mail_queue.h).
 */
#ifndef RI_MAIL_PARTS_H
#define RI_MAIL_PARTS_H

#include "reach.h"

/**
 * Post a put, in one entry or in parts, if that is faster than another way: for one entry
 * ri_mail_pays_put() says so; in parts the target has looked at what was posted of late, and the
 * length is one that is faster so.
 *
 * @param head       Of all of it, but for the lengths.
 * @param data       Of @a length bytes.
 * @param withdrawn  Puts are added that had to make way, and were done here in place of the
 *                   target.
 *
 * @return How many bytes are posted, and to be settled. The rest is to be put otherwise.
 */
size_t ri_mail_parts_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         const void *data, size_t length, unsigned *withdrawn);

/**
 * Get by the mailbox, under the same conditions, but that ri_mail_pays() says whether one entry is
 * asked for.
 *
 * @param head       Of all of it, but for the lengths.
 * @param result     Has room for @a length bytes.
 * @param withdrawn  Puts are added that were posted before, and were done here in place of the
 *                   target; and one more for a get in one entry that the target did not look at.
 *
 * @return How many bytes are at @a result. The rest is to be got in another way.
 */
size_t ri_mail_parts_get(ri_reach_t *reach, const ri_mailbox_head_t *head, void *result,
                         size_t length, unsigned *withdrawn);

#endif
