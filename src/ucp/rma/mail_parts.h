/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts and gets of private memory that are longer than an entry of a mailbox has room for: they go
 * in parts, one entry each (mail_queue.h).
 */
#ifndef RI_MAIL_PARTS_H
#define RI_MAIL_PARTS_H

#include "reach.h"

/**
 * Post a put that is longer than RI_MAILBOX_DATA, in parts, if that is faster than another way: the
 * target has looked at what was posted of late, and the length is one that is faster so.
 *
 * @param head  Of all of it, but for the lengths.
 * @param data  Of @a length bytes.
 * @param withdrawn  Puts are added that had to make way, and were done here in place of the
 *                    target.
 *
 * @return How many bytes are posted, and to be settled. The rest is to be put otherwise.
 */
size_t ri_mail_parts_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         const void *data, size_t length, unsigned *withdrawn);

/**
 * Get what is longer than RI_MAILBOX_DATA, in parts, under the same conditions.
 *
 * @param head  Of all of it, but for the lengths.
 * @param withdrawn  Puts are added that were posted before, and were done here in place of the
 *                    target.
 *
 * @return How many bytes are at @a result. The rest is to be got in another way.
 */
size_t ri_mail_parts_get(ri_reach_t *reach, const ri_mailbox_head_t *head, void *result,
                         size_t length, unsigned *withdrawn);

#endif
