/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A byte for each rank. A rank of the job is noted with the job's number; one that takes no windows
 * has no such number in its address, and is noted by the rank that it has told for people.
 */
#include "window_ranks.h"
#include "../../ucs/base.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* More than any job has: an address may say anything. */
#define RANKS_MAX ((uint32_t)1 << 24)

/* All under the lock. */
static struct {
    pthread_mutex_t lock;
    ri_wire_windows_t self;
    int is_used;   /* an address has said so */
    int is_closed; /* nothing is noted any more */
    uint8_t *seen; /* of each rank: 0, or ri_window_rank_t */
    size_t count;  /* of bytes there */
} ranks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ri_window_ranks_tell(ri_wire_windows_t self)
{
    pthread_mutex_lock(&ranks.lock);
    if (ranks.count > 0) {
        memset(ranks.seen, 0, ranks.count);
    }
    ranks.self      = self;
    ranks.is_used   = 0;
    ranks.is_closed = 0;
    pthread_mutex_unlock(&ranks.lock);
}

ri_wire_windows_t ri_window_ranks_use(void)
{
    ri_wire_windows_t self;

    pthread_mutex_lock(&ranks.lock);
    self          = ranks.self;
    ranks.is_used = (self.job != 0);
    pthread_mutex_unlock(&ranks.lock);
    return self;
}

/* Under the lock. @return Whether there is room for a rank. */
static int ranks_reserve(size_t rank)
{
    size_t count = ri_max((size_t)64, ranks.count);
    uint8_t *seen;

    while (count <= rank) {
        count *= 2;
    }
    if (count > ranks.count) {
        seen = realloc(ranks.seen, count);
        if (seen == NULL) {
            return 0;
        }
        memset(seen + ranks.count, 0, count - ranks.count);
        ranks.seen  = seen;
        ranks.count = count;
    }
    return 1;
}

void ri_window_ranks_note(ri_wire_windows_t other, uint16_t number)
{
    ri_window_rank_t is = RI_WINDOW_RANK_TAKES;
    uint32_t rank       = other.rank;

    if (other.job == 0) {
        is   = RI_WINDOW_RANK_NOT;
        rank = (uint32_t)number - 1; /* too large if it is not known */
    }
    pthread_mutex_lock(&ranks.lock);
    if ((ranks.self.job != 0) && !ranks.is_closed &&
        ((other.job == 0) || (other.job == ranks.self.job)) && (rank < RANKS_MAX) &&
        ranks_reserve(rank)) {
        ranks.seen[rank] = (uint8_t)is;
    }
    pthread_mutex_unlock(&ranks.lock);
}

void ri_window_ranks_close(void)
{
    pthread_mutex_lock(&ranks.lock);
    ranks.is_closed = 1;
    pthread_mutex_unlock(&ranks.lock);
}

ri_window_rank_t ri_window_ranks_look(uint32_t rank)
{
    ri_window_rank_t is = RI_WINDOW_RANK_UNSEEN;

    pthread_mutex_lock(&ranks.lock);
    if (!ranks.is_used) {
        is = RI_WINDOW_RANK_UNUSED;
    } else if ((rank < ranks.count) && (ranks.seen[rank] != 0)) {
        is = (ri_window_rank_t)ranks.seen[rank];
    }
    pthread_mutex_unlock(&ranks.lock);
    return is;
}
