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
#include "../core/costs.h"
#include "../../ucs/clock.h"
#include "../../ucs/log.h"
#include "../../ucs/settings.h"
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

/* Operations in parts that are not posted when a target did not look. */
#define MAIL_ABSENT 64

/* Up to this length parts take less time than a system call, however far the other core is: what a
 * call costs hardly depends on the length. Longer operations go in parts where the mailbox is quick
 * (uct/shm/quick.h), up to the length of messages that a quick ring takes. */
#define MAIL_PARTS_FAR ((size_t)4 * RI_MAILBOX_DATA)

/* So much is posted without a wait. */
#define MAIL_ENTRIES ((size_t)RI_MAILBOX_DEPTH * RI_MAILBOX_DATA)

/* Looks for a reach that another thread uses, which mostly has its answer soon. */
#define MAIL_LOOKS_BUSY 1024

/* Looks at the entry of a target that has begun, until the processor is left to others, which may
 * be the target; and until it is asked whether the process is there still. */
#define MAIL_LOOKS_YIELD 256
#define MAIL_LOOKS_BEGUN 65536

_Atomic(int) ri_mail_lost;

/* Another thread may be at the mail of the reach: it does not take long. */
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

/* Wait for what was posted before @a until. If the target does not look, take back as much as
 * there is up to @a end. @return The first one that was taken back, or @a until: all before it is
 * over, or its target is gone. */
static uint32_t mail_wait_until(ri_reach_t *reach, uint32_t until, uint32_t end)
{
    uint32_t number = reach->oldest;

    for (; number != until; ++number) {
        if (!mail_look(reach, number)) {
            end = mail_take_back(reach, number, end);
            for (; number != end; ++number) {
                mail_wait_for_end(reach, number);
            }
            return end;
        }
    }
    return until;
}

/* The same for all up to @a end. */
static uint32_t mail_wait(ri_reach_t *reach, uint32_t end)
{
    return mail_wait_until(reach, end, end);
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

/* The target has done something that was asked for. */
static void mail_note_done(ri_reach_t *reach)
{
    reach->silent = 0;
    reach->absent = 0;
}

/* A put is over, or was taken back. */
static void mail_end_put(ri_reach_t *reach, uint32_t number, int is_taken_back,
                         unsigned *taken_back_p)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(&reach->mail, number);
    ucs_status_t status;

    ri_mailbox_tx_free(&reach->mail, number);
    if (!is_taken_back && (state == RI_MAILBOX_DONE)) {
        mail_note_done(reach);
        return;
    }
    reach->absent = MAIL_ABSENT;
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
        mail_note_done(reach);
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

/* @return Whether the reach has a mailbox, which this thread uses now. */
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

/* Post a put, for which there is room. */
static void mail_post_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                          const void *data)
{
    uint32_t number = ri_mailbox_tx_post(&reach->mail, head, data);

    reach->heads[number % RI_MAILBOX_DEPTH] = *head;
}

ri_mail_fate_t ri_mail_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, unsigned *taken_back_p)
{
    if (!mail_try(reach)) {
        return RI_MAIL_REFUSED;
    }
    mail_make_room(reach, taken_back_p);
    mail_post_put(reach, head, data);
    ri_reach_unlock(reach);
    return RI_MAIL_DONE;
}

/* @return Whether so much is to go in parts. */
static int mail_takes_parts(ri_reach_t *reach, size_t length)
{
    if (reach->absent > 0) {
        --reach->absent;
        return 0;
    }
    if (length <= MAIL_PARTS_FAR) {
        return 1;
    }
    if (!ri_quick_is(&reach->quick)) {
        ri_quick_pass_by(&reach->quick);
        return 0;
    }
    return 1;
}

/* Use the mail of a reach for an operation in parts. @return Whether it may, and is this thread's. */
static int mail_try_parts(ri_reach_t *reach, size_t length)
{
    if ((length > ri_max(MAIL_PARTS_FAR, ri_config.ring_quick)) || !mail_try(reach)) {
        return 0;
    }
    if (!mail_takes_parts(reach, length)) {
        ri_reach_unlock(reach);
        return 0;
    }
    return 1;
}

/* So much has gone in parts, which has taken so many ticks: a system call may have been faster. */
static void mail_judge(ri_reach_t *reach, size_t length, uint64_t ticks)
{
    if (length > MAIL_PARTS_FAR) {
        ri_quick_note(&reach->quick, ticks <= ri_costs_plane_ticks(&ri_costs, length));
    }
}

/* Post one part after the other until the target does not look. @return As ri_mail_put_parts(). */
static size_t mail_post_parts(ri_reach_t *reach, const ri_mailbox_head_t *head,
                              const uint8_t *data, size_t length, unsigned *taken_back_p)
{
    ri_mailbox_head_t part = *head;
    uint64_t begin         = ri_ticks();
    size_t done            = 0;

    while (done < length) {
        mail_make_room(reach, taken_back_p);
        if ((reach->absent > 0) || (reach->lost != UCS_OK)) {
            break;
        }
        part.address = head->address + done;
        part.length = part.data_length = ri_min(length - done, (size_t)RI_MAILBOX_DATA);
        mail_post_put(reach, &part, data + done);
        done += part.length;
    }
    /* What found free entries for all of it has not waited for the target. */
    if (done > MAIL_ENTRIES) {
        mail_judge(reach, done, ri_ticks() - begin);
    }
    return done;
}

size_t ri_mail_put_parts(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         const void *data, size_t length, unsigned *taken_back_p)
{
    size_t done;

    if (!mail_try_parts(reach, length)) {
        return 0;
    }
    done = mail_post_parts(reach, head, data, length, taken_back_p);
    ri_reach_unlock(reach);
    return done;
}

/* What was got is there. */
static void mail_take_result(ri_reach_t *reach, uint32_t number, size_t length,
                             void *result)
{
    const ri_mailbox_tx_t *mail = &reach->mail;

    memcpy(result, ri_mailbox_data(mail->area, mail->slot, number, length), length);
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
        mail_take_result(reach, number, length, result);
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

/* Nothing of what was posted from a number on is wanted any more. */
static void mail_drop(ri_reach_t *reach, uint32_t number)
{
    uint32_t end        = reach->mail.next;
    uint32_t taken_back = mail_take_back(reach, number, end);

    for (; number != taken_back; ++number) {
        mail_wait_for_end(reach, number);
        ri_mailbox_tx_free(&reach->mail, number);
    }
    reach->oldest = end;
}

/* Ask for parts behind the first @a asked bytes, as many as there are free entries. @return How
 * many bytes are asked for then. */
static size_t mail_ask_parts(ri_reach_t *reach, const ri_mailbox_head_t *head,
                             size_t length, size_t asked)
{
    ri_mailbox_head_t part = *head;

    while ((asked < length) && !mail_is_full(reach)) {
        part.address = head->address + asked;
        part.length  = ri_min(length - asked, (size_t)RI_MAILBOX_DATA);
        ri_mailbox_tx_post(&reach->mail, &part, NULL);
        asked += part.length;
    }
    return asked;
}

/* Wait for a part, the next one that was posted, and for puts before it. @return Whether it is
 * there. */
static int mail_wait_for_part(ri_reach_t *reach, uint32_t number, unsigned *taken_back_p)
{
    mail_end_puts(reach, number, mail_wait_until(reach, number + 1, reach->mail.next),
                  taken_back_p);
    return ri_mailbox_tx_state(&reach->mail, number) == RI_MAILBOX_DONE;
}

/* Take one part after the other, while the target is at the next ones. @return As
 * ri_mail_get_parts(). */
static size_t mail_take_parts(ri_reach_t *reach, const ri_mailbox_head_t *head,
                              uint8_t *result, size_t length, unsigned *taken_back_p)
{
    uint32_t number = reach->mail.next;
    uint64_t begin  = ri_ticks();
    size_t asked    = 0;
    size_t done     = 0;
    size_t part;

    while (done < length) {
        asked = mail_ask_parts(reach, head, length, asked);
        if (!mail_wait_for_part(reach, number, taken_back_p)) {
            break;
        }
        part = ri_min(length - done, (size_t)RI_MAILBOX_DATA);
        mail_take_result(reach, number, part, result + done);
        ri_mailbox_tx_free(&reach->mail, number++);
        reach->oldest = number;
        done += part;
    }
    mail_drop(reach, number);
    mail_judge(reach, done, ri_ticks() - begin);
    return done;
}

size_t ri_mail_get_parts(ri_reach_t *reach, const ri_mailbox_head_t *head, void *result,
                         size_t length, unsigned *taken_back_p)
{
    unsigned taken_back = 0;
    size_t done         = 0;

    if (!mail_try_parts(reach, length)) {
        return 0;
    }
    mail_make_room(reach, &taken_back);
    if (taken_back == 0) {
        done = mail_take_parts(reach, head, result, length, &taken_back);
    }
    if (done == length) {
        mail_note_done(reach);
    } else {
        reach->absent = MAIL_ABSENT;
    }
    *taken_back_p += taken_back;
    ri_reach_unlock(reach);
    return done;
}

/* @return Whether the reach is this thread's now. */
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
            mail_note_done(reach);
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

/* The reach is locked, and the target has a thread. */
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
