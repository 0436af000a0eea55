/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The time that a target gets is counted in looks: a clock would cost as much as a look.
 */
#include "mail.h"
#include "serve.h"

#include <sched.h>
#include <string.h>

/* Looks at the slot until an operation is taken back. A target that looks all the time has answered
 * within some 20, and within 60 if its core is far. */
#define MAIL_LOOKS 64

/* Looks at the slot of a target that has begun, until it is asked whether the process is there
 * still. */
#define MAIL_LOOKS_BEGUN 100000

static inline void mail_relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static int mail_is_over(const ri_mailbox_tx_t *mail)
{
    ri_mailbox_state_t state = ri_mailbox_tx_state(mail);

    return (state == RI_MAILBOX_DONE) || (state == RI_MAILBOX_REFUSED);
}

/* The target was at it when it was to be taken back. It needs some nanoseconds, unless it has lost
 * its processor, or is gone. @return Whether it is over. */
static ri_noinline int mail_wait_for_end(ri_reach_t *reach)
{
    unsigned looks = 0;

    while (!mail_is_over(&reach->mail)) {
        ri_serve();
        if (++looks % MAIL_LOOKS_BEGUN == 0) {
            if (reach->ep->plane->ops->check(reach->ep) != UCS_OK) {
                return 0;
            }
            sched_yield();
        }
    }
    return 1;
}

/* @return Whether it is over. */
static int mail_wait(ri_reach_t *reach)
{
    unsigned looks;

    for (looks = 0; looks < MAIL_LOOKS; ++looks) {
        if (mail_is_over(&reach->mail)) {
            return 1;
        }
        ri_serve();
        mail_relax();
    }
    return !ri_mailbox_tx_take_back(&reach->mail) && mail_wait_for_end(reach);
}

static ri_mail_fate_t mail_finish(ri_reach_t *reach, const ri_mailbox_head_t *head,
                                  void *result)
{
    ri_mailbox_tx_t *mail = &reach->mail;

    if (!mail_wait(reach)) {
        return RI_MAIL_TAKEN_BACK;
    }
    if (ri_mailbox_tx_state(mail) != RI_MAILBOX_DONE) {
        ri_mailbox_tx_free(mail);
        return RI_MAIL_REFUSED;
    }
    if (result != NULL) {
        memcpy(result, mail->slot->data, head->length);
    }
    ri_mailbox_tx_free(mail);
    return RI_MAIL_DONE;
}

ri_mail_fate_t ri_mail_ask(ri_reach_t *reach, const ri_mailbox_head_t *head,
                           const void *data, void *result)
{
    ri_mail_fate_t fate;

    if ((reach->mail.area == NULL) || atomic_flag_test_and_set(&reach->mailing)) {
        return RI_MAIL_REFUSED;
    }
    ri_mailbox_tx_post(&reach->mail, head, data);
    fate = mail_finish(reach, head, result);
    atomic_flag_clear(&reach->mailing);
    return fate;
}
