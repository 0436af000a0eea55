/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The time that a target gets is counted in looks: a clock would cost as much as a look.
 *
 * What is posted is known here by its head, of which the origin keeps a copy: where it is copied to in
 * place of the target is not for the target to say.
 */
#include "mail.h"
#include "serve.h"
#include "../../ucs/log.h"
#include "../../ucs/stock.h"

#include <sched.h>
#include <string.h>

/* Looks at an entry until an operation is taken back. A target that looks all the time has answered
 * within some 20, and within 60 if its core is far. */
#define MAIL_LOOKS 64

/* Looks at the entry of a target that has begun, until it is asked whether the process is there
 * still. */
#define MAIL_LOOKS_BEGUN 100000

static inline void mail_relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Another thread may be at the mail of this process: it does not take long. */
static void mail_lock(ri_reach_t *reach)
{
    while (atomic_exchange_explicit(&reach->mailing, 1, memory_order_acquire)) {
        sched_yield();
    }
}

static int mail_trylock(ri_reach_t *reach)
{
    return !atomic_exchange_explicit(&reach->mailing, 1, memory_order_acquire);
}

static void mail_unlock(ri_reach_t *reach)
{
    atomic_store_explicit(&reach->mailing, 0, memory_order_release);
}

static int mail_is_over(const ri_mailbox_tx_t *mail, uint8_t number)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail, number);

    return (state == RI_MAILBOX_DONE) || (state == RI_MAILBOX_REFUSED);
}

/* The target was at it when it was to be taken back. It needs some nanoseconds, unless it has lost
 * its processor, or is gone. */
static ri_noinline void mail_wait_for_end(ri_reach_t *reach, uint8_t number)
{
    unsigned looks = 0;

    while (!mail_is_over(&reach->mail, number)) {
        ri_serve();
        if (++looks % MAIL_LOOKS_BEGUN == 0) {
            if (reach->ep->plane->ops->check(reach->ep) != UCS_OK) {
                return;
            }
            sched_yield();
        }
    }
}

/* @return Whether an operation is over after so many looks. */
static int mail_look(ri_reach_t *reach, uint8_t number)
{
    unsigned looks;

    for (looks = 0; looks < MAIL_LOOKS; ++looks) {
        if (mail_is_over(&reach->mail, number)) {
            return 1;
        }
        ri_serve();
        mail_relax();
    }
    return 0;
}

/* Take back what was posted from one number on, the latest first: the target may be at what comes
 * before, but does nothing behind what is taken back. @return The first one that was taken back, or
 * @a end. */
static uint8_t mail_take_back(ri_reach_t *reach, uint8_t from, uint8_t end)
{
    while ((end != from) && ri_mailbox_tx_take_back(&reach->mail, (uint8_t)(end - 1))) {
        --end;
    }
    return end;
}

/* Wait for what was posted up to @a end, or take it back. @return The first one that was taken back,
 * or @a end: all before it is over, or its target is gone. */
static uint8_t mail_wait(ri_reach_t *reach, uint8_t end)
{
    uint8_t number = reach->oldest;

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
static ucs_status_t mail_copy(ri_reach_t *reach, uint8_t number)
{
    const ri_mailbox_head_t *head = &reach->heads[number % RI_MAILBOX_DEPTH];
    const ri_segment_t local      = {(uintptr_t)ri_mailbox_data(reach->mail.area,
                                                                reach->mail.slot, number,
                                                                head->length),
                                     head->length};
    const ri_segment_t remote     = {head->address, head->length};
    const ri_transfer_t moving    = {.local      = &local,
                                     .num_local  = 1,
                                     .remote     = &remote,
                                     .num_remote = 1,
                                     .length     = head->length};

    return reach->ep->plane->ops->write(reach->ep, &moving);
}

/* A put is over, or was taken back. */
static void mail_end_put(ri_reach_t *reach, uint8_t number, int is_taken_back,
                         ri_mail_sum_t *sum)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(&reach->mail, number);
    ucs_status_t status;

    ri_mailbox_tx_free(&reach->mail, number);
    if (!is_taken_back && (state == RI_MAILBOX_DONE)) {
        return;
    }
    sum->taken_back += is_taken_back;
    status = is_taken_back ? mail_copy(reach, number) : UCS_ERR_INVALID_ADDR;
    if (status != UCS_OK) {
        sum->status = status;
        ri_debug("one-sided: a put of %u bytes is lost: %s",
                 reach->heads[number % RI_MAILBOX_DEPTH].length,
                 ri_status_string(status));
    }
}

/* Puts up to @a end are over, or from @a taken_back on are done here, in their order. */
static void mail_end_puts(ri_reach_t *reach, uint8_t end, uint8_t taken_back,
                          ri_mail_sum_t *sum)
{
    int is_taken_back = 0;

    for (; reach->oldest != end; ++reach->oldest) {
        is_taken_back |= (reach->oldest == taken_back);
        mail_end_put(reach, reach->oldest, is_taken_back, sum);
    }
}

/* Puts that are over, in front of others, are forgotten. */
static void mail_reap(ri_reach_t *reach)
{
    while ((reach->oldest != reach->mail.next) &&
           (ri_mailbox_tx_state(&reach->mail, reach->oldest) == RI_MAILBOX_DONE)) {
        ri_mailbox_tx_free(&reach->mail, reach->oldest++);
    }
}

static void mail_settle(ri_reach_t *reach, uint8_t end, ri_mail_sum_t *sum)
{
    mail_end_puts(reach, end, mail_wait(reach, end), sum);
}

static int mail_is_full(const ri_reach_t *reach)
{
    return (uint8_t)(reach->mail.next - reach->oldest) == RI_MAILBOX_DEPTH;
}

/* Make an entry free, if none is: that of the oldest put if the target looks, else of all. */
static void mail_make_room(ri_reach_t *reach, ri_mail_sum_t *sum)
{
    if (!mail_is_full(reach)) {
        return;
    }
    mail_reap(reach);
    if (!mail_is_full(reach)) {
        return;
    }
    mail_settle(reach,
                mail_look(reach, reach->oldest) ? (uint8_t)(reach->oldest + 1) :
                                                  reach->mail.next,
                sum);
}

ri_mail_fate_t ri_mail_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, ri_mail_sum_t *sum)
{
    uint8_t number;

    if ((reach->mail.area == NULL) || !mail_trylock(reach)) {
        return RI_MAIL_REFUSED;
    }
    mail_make_room(reach, sum);
    number = ri_mailbox_tx_post(&reach->mail, head, data);
    reach->heads[number % RI_MAILBOX_DEPTH] = *head;
    mail_unlock(reach);
    return RI_MAIL_DONE;
}

/* An operation was posted behind the puts: they are over, and it is. */
static ri_mail_fate_t mail_finish(ri_reach_t *reach, uint8_t number, size_t length,
                                  void *result, ri_mail_sum_t *sum)
{
    ri_mailbox_tx_t *mail    = &reach->mail;
    uint8_t end              = number + 1;
    uint8_t taken_back       = mail_wait(reach, end);
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail, number);

    mail_end_puts(reach, number, taken_back, sum);
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

ri_mail_fate_t ri_mail_ask(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, void *result, ri_mail_sum_t *sum)
{
    ri_mail_fate_t fate;
    uint8_t number;

    if ((reach->mail.area == NULL) || !mail_trylock(reach)) {
        return RI_MAIL_REFUSED;
    }
    mail_make_room(reach, sum);
    number = ri_mailbox_tx_post(&reach->mail, head, data);
    fate   = mail_finish(reach, number, head->length, result, sum);
    mail_unlock(reach);
    return fate;
}

void ri_mail_settle(ri_reach_t *reach, ri_mail_sum_t *sum)
{
    mail_lock(reach);
    mail_settle(reach, reach->mail.next, sum);
    mail_unlock(reach);
}

int ri_mail_is_settled(ri_reach_t *reach)
{
    int is_settled = 0;

    if (mail_trylock(reach)) {
        mail_reap(reach);
        is_settled = (reach->oldest == reach->mail.next);
        mail_unlock(reach);
    }
    return is_settled;
}
