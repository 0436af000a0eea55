/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread of the target that is called has to wake up, which takes so long that the time it gets
 * is taken from a clock.
 */
#include "mail.h"
#include "mail_queue.h"
#include "serve.h"

#include <sched.h>
#include <string.h>

/* Seconds that the thread of a target gets that was called. It answers within some 10 us, and
 * within some turns of all others where more programs run than there are processors. A process that
 * is gone, or was stopped, does not. */
#define MAIL_CALLED 0.2

/* Calls that are left out when the thread did not come. */
#define MAIL_SKIP_CALLS 16

/* Looks for a reach that another thread uses, which mostly has its answer soon. */
#define MAIL_LOOKS_BUSY 1024

/* Another thread may be at the mail of the reach: it does not take long. */
static void mail_lock(ri_reach_t *reach)
{
    while (!ri_reach_trylock(reach)) {
        ri_serve();
        sched_yield();
    }
}

/* @return Whether a copy is made without asking, as the target did not look. */
static int mail_skips(ri_reach_t *reach)
{
    int skip = atomic_load_explicit(&reach->skip_mail, memory_order_relaxed);

    if (ri_likely(skip == 0)) {
        return 0;
    }
    atomic_store_explicit(&reach->skip_mail, skip - 1, memory_order_relaxed);
    return 1;
}

int ri_mail_pays(ri_reach_t *reach, size_t length, unsigned calls)
{
    double gain = ri_mail_queue_gain(length, calls);

    /* The gain is worth a look in any case, or the target has looked of late. */
    return (gain >= 0) && ((gain > RI_MAIL_LOOKS_TIME) || !mail_skips(reach));
}

int ri_mail_pays_put(ri_reach_t *reach, size_t length)
{
    return (length <= RI_MAILBOX_INLINE) ? !mail_skips(reach) :
                                           ri_mail_pays(reach, length, 1);
}

ri_mail_fate_t ri_mail_put(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, unsigned *withdrawn_p)
{
    if (!ri_mail_queue_try(reach)) {
        return RI_MAIL_REFUSED;
    }
    ri_mail_queue_make_room(reach, withdrawn_p);
    ri_mail_queue_post_put(reach, head, data);
    ri_reach_unlock(reach);
    return RI_MAIL_DONE;
}

/* An operation was posted behind the puts: they are over, and it is. */
static ri_mail_fate_t mail_finish(ri_reach_t *reach, uint32_t number, size_t length,
                                  void *result, unsigned *withdrawn_p)
{
    ri_mailbox_tx_t *mail    = &reach->mail;
    uint32_t first_withdrawn = ri_mail_queue_wait(reach, number + 1);
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail, number);

    ri_mail_queue_end_puts(reach, number, first_withdrawn, withdrawn_p);
    reach->oldest = mail->next; /* also puts that were posted once more */
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
        return RI_MAIL_WITHDRAWN; /* or its process is gone */
    }
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
                           const void *data, void *result, unsigned *withdrawn_p)
{
    ri_mail_fate_t fate = RI_MAIL_REFUSED;
    uint32_t number;

    if (!mail_lock_soon(reach)) {
        return RI_MAIL_WITHDRAWN; /* another thread waits for its own */
    }
    if (reach->mail.area != NULL) {
        ri_mail_queue_make_room(reach, withdrawn_p);
        number = ri_mailbox_tx_post(&reach->mail, head, data);
        fate   = mail_finish(reach, number, head->length, result, withdrawn_p);
        if (fate != RI_MAIL_WITHDRAWN) {
            ri_mail_queue_note_done(reach);
        }
    }
    ri_reach_unlock(reach);
    return fate;
}

ri_mail_fate_t ri_mail_ask_quickly(ri_reach_t *reach, const ri_mailbox_head_t *head,
                                   const void *data, void *result, unsigned calls,
                                   unsigned *withdrawn_p)
{
    ri_mail_fate_t fate;

    if (!ri_mail_pays(reach, head->length, calls)) {
        return RI_MAIL_WITHDRAWN;
    }
    fate = ri_mail_ask(reach, head, data, result, withdrawn_p);
    if (fate == RI_MAIL_WITHDRAWN) {
        ri_mail_queue_skip(reach, head->length, calls);
    }
    return fate;
}

/* The reach is locked, and the target has a thread. */
static ri_mail_fate_t mail_call(ri_reach_t *reach, const ri_mailbox_head_t *head,
                                const void *data, void *result, unsigned *withdrawn_p)
{
    ri_mail_fate_t fate;
    uint32_t number;

    ri_mail_queue_settle(reach, reach->mail.next, withdrawn_p);
    number = ri_mailbox_tx_post(&reach->mail, head, data);
    ri_mailbox_tx_call(&reach->mail);
    ri_mail_queue_wait_long(reach, number, MAIL_CALLED);
    fate              = mail_finish(reach, number, head->length, result, withdrawn_p);
    reach->skip_calls = (fate == RI_MAIL_WITHDRAWN) ? MAIL_SKIP_CALLS : 0;
    return fate;
}

ri_mail_fate_t ri_mail_call(ri_reach_t *reach, const ri_mailbox_head_t *head,
                            const void *data, void *result, unsigned *withdrawn_p)
{
    ri_mail_fate_t fate = RI_MAIL_WITHDRAWN;

    mail_lock(reach);
    if (reach->skip_calls > 0) {
        --reach->skip_calls;
    } else if (ri_mailbox_tx_has_thread(&reach->mail)) {
        fate = mail_call(reach, head, data, result, withdrawn_p);
    }
    ri_reach_unlock(reach);
    return fate;
}

void ri_mail_settle(ri_reach_t *reach, unsigned *withdrawn_p)
{
    mail_lock(reach);
    ri_mail_queue_settle(reach, reach->mail.next, withdrawn_p);
    ri_reach_unlock(reach);
}

int ri_mail_is_settled(ri_reach_t *reach)
{
    int is_settled = 0;

    if (ri_reach_trylock(reach)) {
        ri_mail_queue_reap(reach);
        is_settled = (reach->oldest == reach->mail.next);
        ri_reach_unlock(reach);
    }
    return is_settled;
}
