/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How many messages of which size a worker sent, by protocol: wanted by UCXRI_REPORT=json:FILE
 * only.
 *
 * A size is counted where its message is, next to the counter of its protocol (counters.h), and
 * goes by the name of that counter. Where nobody wants sizes it costs one look at a pointer; the
 * fast path through rings has not even that: it looks whether anything watches at all
 * (ri_worker_t.watched), as it did for the trace alone. Rejected: sizes in every process, as the
 * fast path would write one line of memory more for each message; and sizes told from the
 * differences of counters around a call, which a message that waits for room in its ring would
 * escape.
 */
#ifndef RI_SIZES_H
#define RI_SIZES_H

#include "counters.h"
#include "../../../ucs/base.h"

#include <stddef.h>

/* Class 0 has the empty messages, class n those of up to 2^(n-1) bytes that are in no lower one.
 * The last one has all that are longer, too. */
#define RI_SIZES_CLASSES 36

/* The sizes of a worker, about 10 KB. */
typedef struct ri_sizes {
    /* by the index of the counter in ri_conn_counters_t, and the class of the length */
    uint64_t messages[sizeof(ri_conn_counters_t) / sizeof(uint64_t)][RI_SIZES_CLASSES];
} ri_sizes_t;

/* The place of a counter, as @ref ri_sizes_note takes it. */
#define RI_SIZES_OF(_counter) offsetof(ri_conn_counters_t, _counter)

/** @return The class of a length. */
static inline unsigned ri_sizes_class(uint64_t length)
{
    unsigned size_class = (length <= 1) ? (unsigned)length :
                                          65u - (unsigned)__builtin_clzll(length - 1);

    return (size_class < RI_SIZES_CLASSES) ? size_class : RI_SIZES_CLASSES - 1;
}

/** @return The largest length of a class. The last class has larger ones as well. */
static inline uint64_t ri_sizes_bound(unsigned size_class)
{
    return (size_class == 0) ? 0 : UINT64_C(1) << (size_class - 1);
}

/** Note that a message of @a length bytes was sent, which is counted by the counter at @a offset
 * (RI_SIZES_OF). @a sizes may be NULL: nobody wants to know. */
static inline void ri_sizes_note(ri_sizes_t *sizes, size_t offset, uint64_t length)
{
    if (ri_unlikely(sizes != NULL)) {
        ++sizes->messages[offset / sizeof(uint64_t)][ri_sizes_class(length)];
    }
}

#endif
