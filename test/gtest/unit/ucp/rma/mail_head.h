/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What another process is asked by its mailbox. */

#ifndef RI_TEST_MAIL_HEAD_H
#define RI_TEST_MAIL_HEAD_H

#include "unit/common/ri_cpp.h"

/* @a length: of the memory; @a data_length: of what comes with the question */
inline ri_mailbox_head_t mail_head(unsigned kind, uint64_t region, uint64_t address,
                                   size_t length, size_t data_length)
{
    ri_mailbox_head_t head = {};

    head.kind        = kind;
    head.length      = length;
    head.data_length = data_length;
    head.region      = region;
    head.address     = address;
    return head;
}

#endif
