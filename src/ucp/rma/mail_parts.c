/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Both sides copy at the same time: the one writes a part, or reads it, while the other is at the
 * next one.
 */
#include "mail_parts.h"
#include "mail.h"
#include "mail_queue.h"
#include "serve.h"
#include "../core/settings/costs.h"
#include "../../ucs/clock.h"
#include "../../ucs/settings.h"

#include <string.h>

/* Up to this length parts take less time than a system call, if one part does, however far the
 * other core is: what a call costs hardly depends on the length. Longer operations go in parts
 * where the mailbox is quick (uct/shm/quick.h), up to the length of messages that a quick ring
 * takes. */
#define PARTS_FAR ((size_t)4 * RI_MAILBOX_DATA)

/* The bytes that are posted without a wait. */
#define PARTS_ENTRIES ((size_t)RI_MAILBOX_DEPTH * RI_MAILBOX_DATA)

/* @return Whether an operation of @a length bytes is to go in parts. */
static int parts_pay(ri_reach_t *reach, ri_quick_t *quick, size_t length)
{
    if (reach->skip_parts > 0) {
        --reach->skip_parts;
        return 0;
    }
    if (length <= PARTS_FAR) {
        return ri_mail_pays(reach, RI_MAILBOX_DATA, 1);
    }
    if (!ri_quick_is(quick)) {
        ri_quick_pass_by(quick);
        return 0;
    }
    return 1;
}

/* Use the mail of a reach for an operation in parts. @return Whether it may, and is this
 * thread's. */
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

/* @a length bytes have gone in parts, which has taken @a ticks: a system call may have been
 * faster. */
static void parts_judge(ri_quick_t *quick, size_t length, uint64_t ticks)
{
    if (length > PARTS_FAR) {
        ri_quick_note(quick, ticks <= ri_costs_plane_ticks(&ri_costs, length));
    }
}

/* Post one part after the other until the target does not look. @return As ri_mail_parts_put(). */
static size_t parts_post(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         const uint8_t *data, size_t length, unsigned *withdrawn_p)
{
    ri_mailbox_head_t part = *head;
    uint64_t begin         = ri_clock_ticks();
    size_t done            = 0;

    while (done < length) {
        ri_mail_queue_make_room(reach, withdrawn_p);
        if ((reach->skip_parts > 0) || ri_reach_is_out(reach)) {
            break;
        }
        part.address = head->address + done;
        part.length = part.data_length = ri_min(length - done, (size_t)RI_MAILBOX_DATA);
        ri_mail_queue_post_put(reach, &part, data + done);
        done += part.length;
    }
    /* A put that needs more entries than there are has waited for the target */
    if (done > PARTS_ENTRIES) {
        parts_judge(&reach->quick_puts, done, ri_clock_ticks() - begin);
    }
    return done;
}

/* Post a put that an entry has room for. @return As ri_mail_parts_put(). */
static size_t parts_post_one(ri_reach_t *reach, const ri_mailbox_head_t *head,
                             const void *data, size_t length, unsigned *withdrawn_p)
{
    ri_mailbox_head_t one = *head;

    one.length = one.data_length = length;
    return (ri_mail_pays_put(reach, length) &&
            (ri_mail_put(reach, &one, data, withdrawn_p) == RI_MAIL_DONE)) ?
                   length :
                   0;
}

size_t ri_mail_parts_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                         const void *data, size_t length, unsigned *withdrawn_p)
{
    size_t done;

    if (length <= RI_MAILBOX_DATA) {
        return parts_post_one(reach, head, data, length, withdrawn_p);
    }
    if (!parts_try(reach, &reach->quick_puts, length)) {
        return 0;
    }
    done = parts_post(reach, head, data, length, withdrawn_p);
    ri_reach_unlock(reach);
    return done;
}

/* A get in long operations, of which there are as many under way as the entries allow. */
typedef struct parts_get {
    ri_mailbox_head_t head; /* of all, but for the length */
    size_t length;
    size_t asked; /* bytes that were asked for: whole operations, but for the last one */
    size_t done;  /* bytes that are there */
    uint32_t first; /* the number of the first operation */
} parts_get_t;

/* @return The number of the operation that gets the byte at an offset. */
static uint32_t parts_get_number(const parts_get_t *get, size_t offset)
{
    return get->first + offset / RI_MAILBOX_LONG * RI_MAILBOX_LONG_ENTRIES;
}

/* @return The length of the operation that gets the byte at an offset. */
static size_t parts_get_length(const parts_get_t *get, size_t offset)
{
    return ri_min(get->length - offset / RI_MAILBOX_LONG * RI_MAILBOX_LONG,
                  (size_t)RI_MAILBOX_LONG);
}

/* Ask for as much as there are entries for. The latest bytes that were taken end an operation. */
static void parts_ask(ri_reach_t *reach, parts_get_t *get)
{
    ri_mailbox_head_t part = get->head;

    while ((get->asked < get->length) && (get->asked - get->done < PARTS_ENTRIES)) {
        part.address = get->head.address + get->asked;
        part.length  = parts_get_length(get, get->asked);
        ri_mailbox_tx_post_long(&reach->mail, &part);
        get->asked += part.length;
    }
}

/* @return How many bytes of the operation that is waited for are there. */
static size_t parts_ready(ri_reach_t *reach, const parts_get_t *get)
{
    uint32_t number = parts_get_number(get, get->done);
    size_t length   = parts_get_length(get, get->done);
    size_t ready    = ri_mailbox_tx_ready(&reach->mail, number);

    switch (ri_mailbox_tx_state(&reach->mail, number)) {
    case RI_MAILBOX_SERVING:
        /* The last page is there when the target has said that all is done */
        return ri_min(ready, (length - 1) / RI_MAILBOX_DATA * RI_MAILBOX_DATA);
    case RI_MAILBOX_DONE:
        return length;
    default:
        return 0;
    }
}

/* Take bytes that are there of the operation that is waited for. */
static void parts_take(ri_reach_t *reach, parts_get_t *get, size_t ready, uint8_t *result)
{
    const ri_mailbox_tx_t *mail = &reach->mail;
    uint32_t number             = parts_get_number(get, get->done);
    size_t length               = parts_get_length(get, get->done);
    size_t from                 = get->done % RI_MAILBOX_LONG;

    memcpy(result + get->done,
           ri_mailbox_data(mail->area, mail->slot, number, length) + from, ready - from);
    get->done += ready - from;
    if (ready == length) {
        ri_mailbox_tx_free(&reach->mail, number);
        parts_ask(reach, get);
    }
}

/* Wait for more bytes. @return How many of the operation are there, as parts_ready(). */
static size_t parts_wait(ri_reach_t *reach, const parts_get_t *get)
{
    uint32_t number = parts_get_number(get, get->done);
    size_t from     = get->done % RI_MAILBOX_LONG;
    size_t ready    = parts_ready(reach, get);
    unsigned looks;

    for (looks = 0; (ready <= from) && (looks < RI_MAIL_LOOKS); ++looks) {
        ri_serve();
        ri_relax();
        ready = parts_ready(reach, get);
    }
    if (ready <= from) {
        ri_mail_queue_withdraw(reach, number);
        ready = parts_ready(reach, get);
    }
    return ready;
}

/* Take what the target has, while it is at what comes next. @return As ri_mail_parts_get(). */
static size_t parts_get(ri_reach_t *reach, const ri_mailbox_head_t *head, uint8_t *result,
                        size_t length)
{
    parts_get_t get = {.head   = *head,
                       .length = length,
                       .first  = ri_mailbox_next_long(reach->mail.next)};
    uint64_t begin  = ri_clock_ticks();
    size_t ready;

    reach->mail.next = get.first;
    parts_ask(reach, &get);
    while (get.done < length) {
        ready = parts_wait(reach, &get);
        if (ready <= get.done % RI_MAILBOX_LONG) {
            break;
        }
        parts_take(reach, &get, ready, result);
    }
    ri_mail_queue_drop(reach, parts_get_number(&get, get.done));
    parts_judge(&reach->quick_gets, get.done, ri_clock_ticks() - begin);
    return get.done;
}

/* Get what an entry has room for. @return As ri_mail_parts_get(). */
static size_t parts_get_one(ri_reach_t *reach, const ri_mailbox_head_t *head,
                            void *result, size_t length, unsigned *withdrawn_p)
{
    ri_mailbox_head_t one = *head;
    ri_mail_fate_t fate;

    one.length = length;
    fate       = ri_mail_ask_quickly(reach, &one, NULL, result, 1, withdrawn_p);
    *withdrawn_p += (fate == RI_MAIL_WITHDRAWN);
    return (fate == RI_MAIL_DONE) ? length : 0;
}

size_t ri_mail_parts_get(ri_reach_t *reach, const ri_mailbox_head_t *head, void *result,
                         size_t length, unsigned *withdrawn_p)
{
    unsigned withdrawn = 0;
    size_t done        = 0;

    if (length <= RI_MAILBOX_DATA) {
        return parts_get_one(reach, head, result, length, withdrawn_p);
    }
    if (!parts_try(reach, &reach->quick_gets, length)) {
        return 0;
    }
    ri_mail_queue_settle(reach, reach->mail.next, &withdrawn);
    if ((withdrawn == 0) && !ri_reach_is_out(reach)) {
        done = parts_get(reach, head, result, length);
    }
    if (done == length) {
        ri_mail_queue_note_done(reach);
    } else {
        reach->skip_parts = RI_MAIL_SKIP_PARTS;
    }
    *withdrawn_p += withdrawn;
    ri_reach_unlock(reach);
    return done;
}
