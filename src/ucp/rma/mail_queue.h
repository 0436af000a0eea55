/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The entries that were posted to a mailbox and are not known to be over, in the order in which
 * they were posted: from reach->oldest up to reach->mail.next. Puts stay there; an operation of
 * another kind is at the end only, while its caller waits for it.
 *
 * The caller has the lock of the reach, which has a mailbox.
 */
#ifndef RI_MAIL_QUEUE_H
#define RI_MAIL_QUEUE_H

#include "reach.h"
#include "../core/settings/costs.h"

/* Operations in parts that are not posted when a target did not look. */
#define RI_MAIL_SKIP_PARTS 64

/* Looks at an entry until an operation is withdrawn. A target that looks all the time has answered
 * within some 20, and within 60 if its core is far. */
#define RI_MAIL_LOOKS 64

/* How long RI_MAIL_LOOKS looks take, in ns: some 20 each. */
#define RI_MAIL_LOOKS_TIME 1200.0

/* The most copies that are made here, without asking, when a target did not look. */
#define RI_MAIL_SKIP_MAX 32

/** @return How many ns an answer to an operation of @a length bytes saves, which takes
 * @a calls system calls otherwise. */
static inline double ri_mail_queue_gain(size_t length, unsigned calls)
{
    return calls * ri_costs.plane.call + length / ri_costs.plane.rate -
           ri_costs_mail(&ri_costs, length);
}

/** A target did not look at an operation of @a length bytes, for which @a calls system calls are
 * made now. It is not asked for the next ones, until these have taken as much more time than an
 * answer as the look was in vain. */
static inline void ri_mail_queue_skip(ri_reach_t *reach, size_t length, unsigned calls)
{
    double more = ri_mail_queue_gain(length, calls);
    int skip    = RI_MAIL_SKIP_MAX;

    if (more > RI_MAIL_LOOKS_TIME / RI_MAIL_SKIP_MAX) {
        skip = (int)(RI_MAIL_LOOKS_TIME / more);
    }
    atomic_store_explicit(&reach->skip_mail, skip, memory_order_relaxed);
}

/* 1 if a put was ever lost in this process: the target had not done it, and this process could not
 * do it in its place. ri_reach_t.lost says which of both it was. */
extern _Atomic(int) ri_mail_lost;

/** Take the lock of a reach, if no other thread has it, and the reach has a mailbox. @return
 * Whether this thread has it now; then ri_reach_unlock() lets go of it. */
static inline int ri_mail_queue_try(ri_reach_t *reach)
{
    if (!ri_reach_trylock(reach)) {
        return 0;
    }
    if (reach->mail.area == NULL) {
        ri_reach_unlock(reach);
        return 0;
    }
    return 1;
}

/** @return Whether there is no free entry. */
static inline int ri_mail_queue_is_full(const ri_reach_t *reach)
{
    return reach->mail.next - reach->oldest == RI_MAILBOX_DEPTH;
}

/** Post a put, for which there is a free entry. The head and its data are copied. */
static inline void ri_mail_queue_post_put(ri_reach_t *reach,
                                          const ri_mailbox_head_t *head, const void *data)
{
    uint32_t number = ri_mailbox_tx_post(&reach->mail, head, data);

    reach->heads[number % RI_MAILBOX_DEPTH] = *head;
}

/** Note that the target has done something that was asked for. */
static inline void ri_mail_queue_note_done(ri_reach_t *reach)
{
    reach->skip_calls = 0;
    reach->skip_parts = 0;
    atomic_store_explicit(&reach->skip_mail, 0, memory_order_relaxed);
}

/** How many seconds a put waits for its target that this process cannot do in its place. */
extern double ri_mail_queue_patience;

/**
 * Wait for all that was posted before @a end. If the target does not look, withdraw as much of it
 * as there is: nothing was posted behind it then.
 *
 * @return The first one that was withdrawn, and with it all others up to @a end; or @a end: all
 *         before it is over, or its target is gone.
 */
uint32_t ri_mail_queue_wait(ri_reach_t *reach, uint32_t end);

/** Wait for an operation as long as it is under way, but no longer than @a seconds, and no
 * longer than the target lives. It is not withdrawn. */
void ri_mail_queue_wait_long(ri_reach_t *reach, uint32_t number, double seconds);

/**
 * Give up the puts up to @a end, from which on there may be other operations. They are over, or
 * were withdrawn from @a first_withdrawn on, which ri_mail_queue_wait() has returned. What was
 * withdrawn or refused is done here, in place of the target. What was withdrawn and cannot be done
 * here, as the target alone can write that memory, is posted again and waited for, up to
 * ri_mail_queue_patience; from then on UCX has all (reach->stock_only). A put that nobody can do is
 * lost (reach->lost), and so are all like it behind one that was lost.
 *
 * @param withdrawn_p  The number of puts that were withdrawn is added to it.
 */
void ri_mail_queue_end_puts(ri_reach_t *reach, uint32_t end, uint32_t first_withdrawn,
                            unsigned *withdrawn_p);

/** Wait for the puts up to @a end, and give them up, as ri_mail_queue_end_puts() says. The number
 * of puts that were withdrawn is added to @a withdrawn_p. */
void ri_mail_queue_settle(ri_reach_t *reach, uint32_t end, unsigned *withdrawn_p);

/** Withdraw an operation that is not a put, or wait for its end if the target has begun with it. */
void ri_mail_queue_withdraw(ri_reach_t *reach, uint32_t number);

/** Withdraw what was posted from a number on, or wait for its end, and give it up. None of it is a
 * put. */
void ri_mail_queue_drop(ri_reach_t *reach, uint32_t number);

/** Give up the oldest puts, as far as they are over. */
void ri_mail_queue_reap(ri_reach_t *reach);

/** What ri_mail_queue_make_room() does if there is no free entry. */
void ri_mail_queue_make_room_slow(ri_reach_t *reach, unsigned *withdrawn_p);

/** Make an entry free, if none is: that of the oldest put if the target looks, else those of all
 * puts. The number of puts that were withdrawn is added to @a withdrawn_p. */
static inline void ri_mail_queue_make_room(ri_reach_t *reach, unsigned *withdrawn_p)
{
    if (ri_mail_queue_is_full(reach)) {
        ri_mail_queue_make_room_slow(reach, withdrawn_p);
    }
}

#endif
