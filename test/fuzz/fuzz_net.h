/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Planes through a network for the fuzz target: one that reads and writes remote memory, one that
 * takes messages to posted memory. What the remote side has is made up; operations end in progress,
 * when and how the input says.
 */
#ifndef FUZZ_NET_H
#define FUZZ_NET_H

#include "ucp/core/worker.h"

#define FUZZ_CHECK(_condition) \
    do { \
        if (!(_condition)) { \
            fuzz_failed(#_condition); \
        } \
    } while (0)

/* Says what does not hold, and aborts. */
void fuzz_failed(const char *what);

/** Give a worker both planes. Nothing is asked of a peer yet. */
void fuzz_net_open(ri_worker_t *worker);

/** The worker is gone: nothing may be left. */
void fuzz_net_closed(void);

/** How the planes behave from now on: bits of FUZZ_NET_*. */
void fuzz_net_mode(unsigned mode);

enum {
    FUZZ_NET_NO_WAY    = 1 << 0, /* no way can be prepared */
    FUZZ_NET_NO_MEMORY = 1 << 1, /* nothing can be registered */
    FUZZ_NET_NO_START  = 1 << 2, /* operations fail at once */
    FUZZ_NET_FULL      = 1 << 3, /* all queue pairs for messages are in use */
    FUZZ_NET_UNHEARD   = 1 << 4  /* senders have not said that they know of ends */
};

/** The n-th operation that is under way ends, in the next progress.
 * @param how  0, 1: well; 2: the memory is not there; 3: the way does not work any more. */
void fuzz_net_end(unsigned n, unsigned how);

/** Something of the n-th operation has come, if it receives a message. */
void fuzz_net_hear(unsigned n);

/** The remote side says that it has written, by the n-th way. */
void fuzz_net_notify(unsigned n, uint32_t immediate, size_t length);

/** The n-th way stops working. */
void fuzz_net_break(unsigned n);

#endif
