/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The time that a target gets is counted in looks: a clock would cost as much as a look.
 *
 * What is posted is known here by its head, of which the origin keeps a copy: where it is copied to
 * in place of the target is not for the target to say.
 */
#include "mail_queue.h"
#include "reach_copy.h"
#include "serve.h"
#include "../../ucs/clock.h"
#include "../../ucs/log.h"
#include "../../ucs/stock.h"

#include <sched.h>
#include <string.h>

/* Looks at the entry of a target that has begun, until the processor is left to others, which may
 * be the target; and until it is asked whether the process is there still. */
#define QUEUE_LOOKS_YIELD 256
#define QUEUE_LOOKS_BEGUN 65536

/* Looks between two at the clock in a long wait, and yields behind its end, for an origin that did
 * not run itself meanwhile. */
#define QUEUE_LOOKS_CLOCK 64
#define QUEUE_YIELDS_LATE 64

_Atomic(int) ri_mail_lost;

double ri_mail_queue_patience = 2;

static int queue_is_over(const ri_mailbox_tx_t *mail, uint32_t number)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail, number);

    return (state == RI_MAILBOX_DONE) || (state == RI_MAILBOX_REFUSED);
}

/* @return Whether there is something to wait for: the target is at the operation, or has not begun
 * with it. An entry that says anything else was written by a target that does not keep to the
 * protocol. */
static int queue_is_under_way(const ri_mailbox_tx_t *mail, uint32_t number)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail, number);

    return (state == RI_MAILBOX_SERVING) || (state == RI_MAILBOX_POSTED);
}

static int queue_target_lives(ri_reach_t *reach)
{
    return reach->ep->plane->ops->check(reach->ep) == UCS_OK;
}

/* The target was at it when it was to be withdrawn. It needs some nanoseconds, unless it has lost
 * its processor, or is gone. */
static ri_noinline void queue_wait_for_end(ri_reach_t *reach, uint32_t number)
{
    unsigned looks = 0;

    while (queue_is_under_way(&reach->mail, number)) {
        ri_serve();
        if (++looks % QUEUE_LOOKS_YIELD == 0) {
            /* The target may not have begun this operation. Then it is not under way any more. */
            ri_mailbox_tx_withdraw(&reach->mail, number);
            sched_yield();
        }
        if ((looks % QUEUE_LOOKS_BEGUN == 0) && !queue_target_lives(reach)) {
            return;
        }
    }
}

/* @return Whether an operation is over after RI_MAIL_LOOKS looks. */
static int queue_look(ri_reach_t *reach, uint32_t number)
{
    unsigned looks;

    for (looks = 0; looks < RI_MAIL_LOOKS; ++looks) {
        if (queue_is_over(&reach->mail, number)) {
            return 1;
        }
        ri_serve();
        ri_relax();
    }
    return 0;
}

/* Withdraw what was posted from one number on, the latest first: the target may be at what comes
 * before, but does nothing behind what is withdrawn. @return The first one that was withdrawn, or
 * @a end. */
static uint32_t queue_withdraw(ri_reach_t *reach, uint32_t from, uint32_t end)
{
    while ((end != from) && ri_mailbox_tx_withdraw(&reach->mail, end - 1)) {
        --end;
    }
    return end;
}

uint32_t ri_mail_queue_wait(ri_reach_t *reach, uint32_t end)
{
    uint32_t number = reach->oldest;

    for (; number != end; ++number) {
        if (!queue_look(reach, number)) {
            end = queue_withdraw(reach, number, end);
            for (; number != end; ++number) {
                queue_wait_for_end(reach, number);
            }
            return end;
        }
    }
    return end;
}

/* Do a put in place of the target. */
static ucs_status_t queue_copy(ri_reach_t *reach, uint32_t number)
{
    const ri_mailbox_head_t *head = &reach->heads[number % RI_MAILBOX_DEPTH];

    return ri_reach_copy(
            reach, 1,
            ri_mailbox_data(reach->mail.area, reach->mail.slot, number, head->length),
            head->address, head->length);
}

/* Nobody has done a put: its target is gone, or its memory cannot be written. */
static void queue_lose(ri_reach_t *reach, uint32_t number, ucs_status_t status)
{
    if (!queue_target_lives(reach)) {
        status = UCS_ERR_UNREACHABLE;
    } else if (status == UCS_ERR_UNREACHABLE) {
        status = UCS_ERR_INVALID_ADDR;
    }
    reach->lost  = status;
    ri_mail_lost = 1;
    ri_debug("one-sided: a put of %u bytes is lost: %s",
             reach->heads[number % RI_MAILBOX_DEPTH].length,
             ri_stock_status_string(status));
}

void ri_mail_queue_wait_long(ri_reach_t *reach, uint32_t number, double seconds)
{
    double end     = ri_clock_now() + seconds;
    unsigned looks = 0;
    unsigned late  = 0;

    while (queue_is_under_way(&reach->mail, number)) {
        ri_serve();
        ri_relax();
        if (++looks % QUEUE_LOOKS_CLOCK == 0) {
            late += (ri_clock_now() > end);
            if ((late > QUEUE_YIELDS_LATE) || !ri_reach_is_there(reach)) {
                return;
            }
            sched_yield();
        }
    }
}

/* @return Whether a put may be left to the target, which would end at memory that is not there. */
static int queue_may_leave(ri_reach_t *reach, uint32_t number, ucs_status_t status)
{
    const ri_mailbox_head_t *head = &reach->heads[number % RI_MAILBOX_DEPTH];
    uint8_t there[RI_MAILBOX_DATA];

    return (reach->lost == UCS_OK) && queue_target_lives(reach) &&
           ((status == UCS_ERR_UNREACHABLE) ||
            (ri_reach_copy(reach, 0, there, head->address, head->length) == UCS_OK));
}

/* Post a put again that this process cannot do: its memory may be protected, and a handler of the
 * target mends that, or this process may not write there any more. What is behind it was
 * withdrawn, so the order stays. @return Whether it is done. */
static ri_noinline int queue_leave_to_target(ri_reach_t *reach, uint32_t number)
{
    ri_mailbox_tx_t *mail  = &reach->mail;
    ri_mailbox_head_t head = reach->heads[number % RI_MAILBOX_DEPTH];
    uint8_t data[RI_MAILBOX_DATA];
    ri_mailbox_state_t state;
    uint32_t again;

    /* The new entry may be the old one */
    memcpy(data, ri_mailbox_data(mail->area, mail->slot, number, head.length),
           head.length);
    reach->stock_only = 1;
    again             = ri_mailbox_tx_post(mail, &head, data);
    if (ri_mailbox_tx_has_thread(mail)) {
        ri_mailbox_tx_call(mail);
    }
    ri_mail_queue_wait_long(reach, again, ri_mail_queue_patience);
    ri_mail_queue_withdraw(reach, again);
    state = ri_mailbox_tx_state(mail, again);
    ri_mailbox_tx_free(mail, again);
    return state == RI_MAILBOX_DONE;
}

/* A put is over, or was withdrawn. */
static void queue_end_put(ri_reach_t *reach, uint32_t number, int is_withdrawn,
                          unsigned *withdrawn_p)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(&reach->mail, number);
    ucs_status_t status;

    ri_mailbox_tx_free(&reach->mail, number);
    if (!is_withdrawn && (state == RI_MAILBOX_DONE)) {
        ri_mail_queue_note_done(reach);
        return;
    }
    reach->skip_parts = RI_MAIL_SKIP_PARTS;
    ri_mail_queue_skip(reach, reach->heads[number % RI_MAILBOX_DEPTH].length, 1);
    *withdrawn_p += is_withdrawn;
    status = queue_copy(reach, number);
    if (ri_likely(status == UCS_OK)) {
        return;
    }
    if (!is_withdrawn || !queue_may_leave(reach, number, status) ||
        !queue_leave_to_target(reach, number)) {
        queue_lose(reach, number, status);
    }
}

void ri_mail_queue_end_puts(ri_reach_t *reach, uint32_t end, uint32_t first_withdrawn,
                            unsigned *withdrawn_p)
{
    int is_withdrawn = 0;

    for (; reach->oldest != end; ++reach->oldest) {
        is_withdrawn |= (reach->oldest == first_withdrawn);
        queue_end_put(reach, reach->oldest, is_withdrawn, withdrawn_p);
    }
}

void ri_mail_queue_reap(ri_reach_t *reach)
{
    while ((reach->oldest != reach->mail.next) &&
           (ri_mailbox_tx_state(&reach->mail, reach->oldest) == RI_MAILBOX_DONE)) {
        ri_mailbox_tx_free(&reach->mail, reach->oldest++);
        ri_mail_queue_note_done(reach);
    }
}

void ri_mail_queue_settle(ri_reach_t *reach, uint32_t end, unsigned *withdrawn_p)
{
    int is_all = (end == reach->mail.next);

    ri_mail_queue_end_puts(reach, end, ri_mail_queue_wait(reach, end), withdrawn_p);
    if (is_all) {
        reach->oldest = reach->mail.next; /* also what was posted once more */
    }
}

void ri_mail_queue_withdraw(ri_reach_t *reach, uint32_t number)
{
    if (!ri_mailbox_tx_withdraw(&reach->mail, number)) {
        queue_wait_for_end(reach, number);
    }
}

void ri_mail_queue_drop(ri_reach_t *reach, uint32_t number)
{
    uint32_t at;

    /* The latest first: the target goes on to none of them */
    for (at = reach->mail.next; at != number; --at) {
        ri_mailbox_tx_withdraw(&reach->mail, at - 1);
    }
    for (; at != reach->mail.next; ++at) {
        queue_wait_for_end(reach, at);
        ri_mailbox_tx_free(&reach->mail, at);
    }
    reach->oldest = at;
}

void ri_mail_queue_make_room_slow(ri_reach_t *reach, unsigned *withdrawn_p)
{
    uint32_t end;

    ri_mail_queue_reap(reach);
    if (ri_mail_queue_is_full(reach)) {
        end = queue_look(reach, reach->oldest) ? reach->oldest + 1 : reach->mail.next;
        ri_mail_queue_settle(reach, end, withdrawn_p);
    }
}
