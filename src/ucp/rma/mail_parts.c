/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Both sides copy at the same time: the one writes a part, or reads it, while the other is at the
 * next one.
 */
#include "mail_parts.h"
#include "mail_queue.h"
#include "../core/costs.h"
#include "../../ucs/clock.h"
#include "../../ucs/settings.h"

/* Up to this length parts take less time than a system call, however far the other core is: what a
 * call costs hardly depends on the length. Longer operations go in parts where the mailbox is quick
 * (uct/shm/quick.h), up to the length of messages that a quick ring takes. */
#define PARTS_FAR ((size_t)4 * RI_MAILBOX_DATA)

/* So much is posted without a wait. */
#define PARTS_ENTRIES ((size_t)RI_MAILBOX_DEPTH * RI_MAILBOX_DATA)

/* @return Whether so much is to go in parts. */
static int parts_pay(ri_reach_t *reach, ri_quick_t *quick, size_t length)
{
    if (reach->absent > 0) {
        --reach->absent;
        return 0;
    }
    if (length <= PARTS_FAR) {
        return 1;
    }
    if (!ri_quick_is(quick)) {
        ri_quick_pass_by(quick);
        return 0;
    }
    return 1;
}

/* Use the mail of a reach for an operation in parts. @return Whether it may, and is this thread's. */
static int parts_try(ri_reach_t *reach, ri_quick_t *quick, size_t length)
{
    if ((length > ri_max(PARTS_FAR, ri_config.ring_quick)) || !ri_mail_queue_try(reach)) {
        return 0;
    }
    if (!parts_pay(reach, quick, length)) {
        ri_reach_unlock(reach);
        return 0;
    }
    return 1;
}

/* So much has gone in parts, which has taken so many ticks: a system call may have been faster. */
static void parts_judge(ri_quick_t *quick, size_t length, uint64_t ticks)
{
    if (length > PARTS_FAR) {
        ri_quick_note(quick, ticks <= ri_costs_plane_ticks(&ri_costs, length));
    }
}

/* Post one part after the other until the target does not look. @return As ri_mail_parts_put(). */
static size_t parts_post(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         const uint8_t *data, size_t length, unsigned *taken_back_p)
{
    ri_mailbox_head_t part = *head;
    uint64_t begin         = ri_ticks();
    size_t done            = 0;

    while (done < length) {
        ri_mail_queue_make_room(reach, taken_back_p);
        if ((reach->absent > 0) || ri_reach_is_out(reach)) {
            break;
        }
        part.address = head->address + done;
        part.length = part.data_length = ri_min(length - done, (size_t)RI_MAILBOX_DATA);
        ri_mail_queue_post_put(reach, &part, data + done);
        done += part.length;
    }
    /* What found free entries for all of it has not waited for the target. */
    if (done > PARTS_ENTRIES) {
        parts_judge(&reach->quick_puts, done, ri_ticks() - begin);
    }
    return done;
}

size_t ri_mail_parts_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         const void *data, size_t length, unsigned *taken_back_p)
{
    size_t done;

    if (!parts_try(reach, &reach->quick_puts, length)) {
        return 0;
    }
    done = parts_post(reach, head, data, length, taken_back_p);
    ri_reach_unlock(reach);
    return done;
}

/* Ask for parts behind the first @a asked bytes, as many as there are free entries. @return How
 * many bytes are asked for then. */
static size_t parts_ask(ri_reach_t *reach, const ri_mailbox_head_t *head, size_t length,
                        size_t asked)
{
    ri_mailbox_head_t part = *head;

    while ((asked < length) && !ri_mail_queue_is_full(reach)) {
        part.address = head->address + asked;
        part.length  = ri_min(length - asked, (size_t)RI_MAILBOX_DATA);
        ri_mailbox_tx_post(&reach->mail, &part, NULL);
        asked += part.length;
    }
    return asked;
}

/* Wait for a part, the next one that was posted, and for puts before it. @return Whether it is
 * there. */
static int parts_wait_for_one(ri_reach_t *reach, uint32_t number, unsigned *taken_back_p)
{
    ri_mail_queue_end_puts(reach, number,
                           ri_mail_queue_wait(reach, number + 1, reach->mail.next),
                           taken_back_p);
    return ri_mailbox_tx_state(&reach->mail, number) == RI_MAILBOX_DONE;
}

/* The target has lost its processor in an earlier part: what it did not have begun was taken back. */
static int parts_is_taken_back(const ri_reach_t *reach, uint32_t number)
{
    return ri_mailbox_tx_state(&reach->mail, number) == RI_MAILBOX_FREE;
}

/* Take one part after the other, while the target is at the next ones. @return As
 * ri_mail_parts_get(). */
static size_t parts_take(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         uint8_t *result, size_t length, unsigned *taken_back_p)
{
    uint32_t number = reach->mail.next;
    uint64_t begin  = ri_ticks();
    size_t asked    = 0;
    size_t done     = 0;
    size_t part;

    while ((done < length) && ((asked == done) || !parts_is_taken_back(reach, number))) {
        asked = parts_ask(reach, head, length, asked);
        if (!parts_wait_for_one(reach, number, taken_back_p)) {
            break;
        }
        part = ri_min(length - done, (size_t)RI_MAILBOX_DATA);
        ri_mail_queue_take_result(reach, number, part, result + done);
        ri_mailbox_tx_free(&reach->mail, number++);
        reach->oldest = number;
        done += part;
    }
    ri_mail_queue_drop(reach, number);
    parts_judge(&reach->quick_gets, done, ri_ticks() - begin);
    return done;
}

size_t ri_mail_parts_get(ri_reach_t *reach, const ri_mailbox_head_t *head, void *result,
                         size_t length, unsigned *taken_back_p)
{
    unsigned taken_back = 0;
    size_t done         = 0;

    if (!parts_try(reach, &reach->quick_gets, length)) {
        return 0;
    }
    ri_mail_queue_make_room(reach, &taken_back);
    if (taken_back == 0) {
        done = parts_take(reach, head, result, length, &taken_back);
    }
    if (done == length) {
        ri_mail_queue_note_done(reach);
    } else {
        reach->absent = RI_MAIL_ABSENT;
    }
    *taken_back_p += taken_back;
    ri_reach_unlock(reach);
    return done;
}
