/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The time that a target gets is counted in looks: a clock would cost as much as a look.
 *
 * What is posted is known here by its head, of which the origin keeps a copy: where it is copied to
 * in place of the target is not for the target to say.
 */
#include "mail.h"
#include "reach_copy.h"
#include "serve.h"
#include "../../ucs/clock.h"
#include "../../ucs/log.h"
#include "../../ucs/stock.h"

#include <sched.h>
#include <string.h>

/* Looks at an entry until an operation is taken back. A target that looks all the time has answered
 * within some 20, and within 60 if its core is far. */
#define MAIL_LOOKS 64

/* Looks between two at the clock at what the thread of a target was called for, and seconds that it
 * gets. It answers within some 10 us, and within some turns of all others where more programs run
 * than there are processors. A process that is gone, or was stopped, does not. */
#define MAIL_LOOKS_CALLED 64
#define MAIL_CALLED       0.2

/* Yields behind that, for an origin that did not run itself meanwhile. */
#define MAIL_YIELDS_LATE 64

/* Calls that are left out when the thread did not come. */
#define MAIL_SILENT 16

/* Looks for a way that another thread uses, which mostly has its answer soon. */
#define MAIL_LOOKS_BUSY 1024

/* Looks at the entry of a target that has begun, until the processor is left to others, which may
 * be the target; and until it is asked whether the process is there still. */
#define MAIL_LOOKS_YIELD 256
#define MAIL_LOOKS_BEGUN 65536

_Atomic(int) ri_mail_lost;

/* Another thread may be at the mail of the way: it does not take long. */
static void mail_lock(ri_reach_t *reach)
{
    while (!ri_reach_trylock(reach)) {
        ri_serve();
        sched_yield();
    }
}

static int mail_is_over(const ri_mailbox_tx_t *mail, uint32_t number)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail, number);

    return (state == RI_MAILBOX_DONE) || (state == RI_MAILBOX_REFUSED);
}

/* @return Whether there is something to wait for: the target is at the operation, or has not begun
 * with it. An entry that says anything else was written by a target that does not keep to the
 * protocol. */
static int mail_is_under_way(const ri_mailbox_tx_t *mail, uint32_t number)
{
    uint32_t word = ri_mailbox_tx_word(mail, number);

    return (word == RI_MAILBOX_WORD(number, RI_MAILBOX_SERVING)) ||
           (word == RI_MAILBOX_WORD(number, RI_MAILBOX_POSTED));
}

/* The target was at it when it was to be taken back. It needs some nanoseconds, unless it has lost
 * its processor, or is gone. */
static ri_noinline void mail_wait_for_end(ri_reach_t *reach, uint32_t number)
{
    unsigned looks = 0;

    while (mail_is_under_way(&reach->mail, number)) {
        ri_serve();
        if (++looks % MAIL_LOOKS_YIELD == 0) {
            if (ri_mailbox_tx_take_back(&reach->mail, number)) {
                return; /* it was not at this one */
            }
            sched_yield();
        }
        if ((looks % MAIL_LOOKS_BEGUN == 0) &&
            (reach->ep->plane->ops->check(reach->ep) != UCS_OK)) {
            return;
        }
    }
}

/* @return Whether an operation is over after so many looks. */
static int mail_look(ri_reach_t *reach, uint32_t number)
{
    unsigned looks;

    for (looks = 0; looks < MAIL_LOOKS; ++looks) {
        if (mail_is_over(&reach->mail, number)) {
            return 1;
        }
        ri_serve();
        ri_relax();
    }
    return 0;
}

/* Take back what was posted from one number on, the latest first: the target may be at what comes
 * before, but does nothing behind what is taken back. @return The first one that was taken back, or
 * @a end. */
static uint32_t mail_take_back(ri_reach_t *reach, uint32_t from, uint32_t end)
{
    while ((end != from) && ri_mailbox_tx_take_back(&reach->mail, end - 1)) {
        --end;
    }
    return end;
}

/* Wait for what was posted up to @a end, or take it back. @return The first one that was taken
 * back, or @a end: all before it is over, or its target is gone. */
static uint32_t mail_wait(ri_reach_t *reach, uint32_t end)
{
    uint32_t number = reach->oldest;

    for (; number != end; ++number) {
        if (!mail_look(reach, number)) {
            end = mail_take_back(reach, number, end);
            for (; number != end; ++number) {
                mail_wait_for_end(reach, number);
            }
            break;
        }
    }
    return end;
}

/* Do a put in place of the target. */
static ucs_status_t mail_copy(ri_reach_t *reach, uint32_t number)
{
    const ri_mailbox_head_t *head = &reach->heads[number % RI_MAILBOX_DEPTH];

    return ri_reach_copy(
            reach, 1,
            ri_mailbox_data(reach->mail.area, reach->mail.slot, number, head->length),
            head->address, head->length);
}

/* A put is over, or was taken back. */
static void mail_end_put(ri_reach_t *reach, uint32_t number, int is_taken_back,
                         unsigned *taken_back_p)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(&reach->mail, number);
    ucs_status_t status;

    ri_mailbox_tx_free(&reach->mail, number);
    if (!is_taken_back && (state == RI_MAILBOX_DONE)) {
        reach->silent = 0;
        return;
    }
    *taken_back_p += is_taken_back;
    status = mail_copy(reach, number);
    if (status != UCS_OK) {
        reach->lost  = status;
        ri_mail_lost = 1;
        ri_debug("one-sided: a put of %u bytes is lost: %s",
                 reach->heads[number % RI_MAILBOX_DEPTH].length,
                 ri_stock_status_string(status));
    }
}

/* Puts up to @a end are over, or from @a taken_back on are done here, in their order. */
static void mail_end_puts(ri_reach_t *reach, uint32_t end, uint32_t taken_back,
                          unsigned *taken_back_p)
{
    int is_taken_back = 0;

    for (; reach->oldest != end; ++reach->oldest) {
        is_taken_back |= (reach->oldest == taken_back);
        mail_end_put(reach, reach->oldest, is_taken_back, taken_back_p);
    }
}

/* Puts that are over, in front of others, are forgotten. */
static void mail_reap(ri_reach_t *reach)
{
    while ((reach->oldest != reach->mail.next) &&
           (ri_mailbox_tx_state(&reach->mail, reach->oldest) == RI_MAILBOX_DONE)) {
        ri_mailbox_tx_free(&reach->mail, reach->oldest++);
        reach->silent = 0;
    }
}

static void mail_settle(ri_reach_t *reach, uint32_t end, unsigned *taken_back_p)
{
    mail_end_puts(reach, end, mail_wait(reach, end), taken_back_p);
}

static int mail_is_full(const ri_reach_t *reach)
{
    return reach->mail.next - reach->oldest == RI_MAILBOX_DEPTH;
}

/* @return Whether the way has a mailbox, which this thread uses now. */
static int mail_try(ri_reach_t *reach)
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

/* Make an entry free, if none is: that of the oldest put if the target looks, else of all. */
static void mail_make_room(ri_reach_t *reach, unsigned *taken_back_p)
{
    if (!mail_is_full(reach)) {
        return;
    }
    mail_reap(reach);
    if (!mail_is_full(reach)) {
        return;
    }
    mail_settle(reach,
                mail_look(reach, reach->oldest) ? reach->oldest + 1 : reach->mail.next,
                taken_back_p);
}

ri_mail_fate_t ri_mail_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, unsigned *taken_back_p)
{
    uint32_t number;

    if (!mail_try(reach)) {
        return RI_MAIL_REFUSED;
    }
    mail_make_room(reach, taken_back_p);
    number = ri_mailbox_tx_post(&reach->mail, head, data);
    reach->heads[number % RI_MAILBOX_DEPTH] = *head;
    ri_reach_unlock(reach);
    return RI_MAIL_DONE;
}

/* An operation was posted behind the puts: they are over, and it is. */
static ri_mail_fate_t mail_finish(ri_reach_t *reach, uint32_t number, size_t length,
                                  void *result, unsigned *taken_back_p)
{
    ri_mailbox_tx_t *mail    = &reach->mail;
    uint32_t end             = number + 1;
    uint32_t taken_back      = mail_wait(reach, end);
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail, number);

    mail_end_puts(reach, number, taken_back, taken_back_p);
    reach->oldest = end;
    if ((state == RI_MAILBOX_DONE) && (result != NULL)) {
        memcpy(result, ri_mailbox_data(mail->area, mail->slot, number, length), length);
    }
    ri_mailbox_tx_free(mail, number);
    switch (state) {
    case RI_MAILBOX_DONE:
        return RI_MAIL_DONE;
    case RI_MAILBOX_REFUSED:
        return RI_MAIL_REFUSED;
    default:
        return RI_MAIL_TAKEN_BACK; /* or its process is gone */
    }
}

/* @return Whether the way is this thread's now. */
static int mail_lock_soon(ri_reach_t *reach)
{
    unsigned looks;

    for (looks = 0; !ri_reach_trylock(reach); ++looks) {
        if (looks == MAIL_LOOKS_BUSY) {
            return 0;
        }
        ri_serve();
        ri_relax();
    }
    return 1;
}

ri_mail_fate_t ri_mail_ask(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, void *result, unsigned *taken_back_p)
{
    ri_mail_fate_t fate = RI_MAIL_REFUSED;
    uint32_t number;

    if (!mail_lock_soon(reach)) {
        return RI_MAIL_TAKEN_BACK; /* another thread waits for its own */
    }
    if (reach->mail.area != NULL) {
        mail_make_room(reach, taken_back_p);
        number = ri_mailbox_tx_post(&reach->mail, head, data);
        fate   = mail_finish(reach, number, head->length, result, taken_back_p);
        if (fate != RI_MAIL_TAKEN_BACK) {
            reach->silent = 0;
        }
    }
    ri_reach_unlock(reach);
    return fate;
}

/* The thread of the target was called: it may need this processor. */
static void mail_wait_for_thread(ri_reach_t *reach, uint32_t number)
{
    double end     = ri_clock_now() + MAIL_CALLED;
    unsigned looks = 0;
    unsigned late  = 0;

    while (!mail_is_over(&reach->mail, number)) {
        ri_serve();
        ri_relax();
        if (++looks % MAIL_LOOKS_CALLED == 0) {
            late += (ri_clock_now() > end);
            if ((late > MAIL_YIELDS_LATE) || !ri_reach_is_there(reach)) {
                return;
            }
            sched_yield();
        }
    }
}

/* The way is locked, and the target has a thread. */
static ri_mail_fate_t mail_call(ri_reach_t *reach, const ri_mailbox_head_t *head,
                                const void *data, void *result, unsigned *taken_back_p)
{
    ri_mail_fate_t fate;
    uint32_t number;

    mail_settle(reach, reach->mail.next, taken_back_p);
    number = ri_mailbox_tx_post(&reach->mail, head, data);
    ri_mailbox_tx_call(&reach->mail);
    mail_wait_for_thread(reach, number);
    fate          = mail_finish(reach, number, head->length, result, taken_back_p);
    reach->silent = (fate == RI_MAIL_TAKEN_BACK) ? MAIL_SILENT : 0;
    return fate;
}

ri_mail_fate_t ri_mail_call(ri_reach_t *reach, const ri_mailbox_head_t *head,
                            const void *data, void *result, unsigned *taken_back_p)
{
    ri_mail_fate_t fate = RI_MAIL_TAKEN_BACK;

    mail_lock(reach);
    if (reach->silent > 0) {
        --reach->silent;
    } else if (ri_mailbox_tx_has_thread(&reach->mail)) {
        fate = mail_call(reach, head, data, result, taken_back_p);
    }
    ri_reach_unlock(reach);
    return fate;
}

void ri_mail_settle(ri_reach_t *reach, unsigned *taken_back_p)
{
    mail_lock(reach);
    mail_settle(reach, reach->mail.next, taken_back_p);
    ri_reach_unlock(reach);
}

int ri_mail_is_settled(ri_reach_t *reach)
{
    int is_settled = 0;

    if (ri_reach_trylock(reach)) {
        mail_reap(reach);
        is_settled = (reach->oldest == reach->mail.next);
        ri_reach_unlock(reach);
    }
    return is_settled;
}
