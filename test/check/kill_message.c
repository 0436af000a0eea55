/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded behind libucxri.so, ends a process in place of the n-th active message that it would
 * send from some time on: what the library says by UCP, when there is no ring.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

void kill_message_arm(unsigned long n);

static unsigned long messages_left; /* 0: any number */

/* 0: never */
void kill_message_arm(unsigned long n)
{
    messages_left = n;
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
                                 size_t header_length, const void *buffer, size_t count,
                                 const ucp_request_param_t *param)
{
    __typeof__(ucp_am_send_nbx) *stock = (__typeof__(stock))dlsym(RTLD_NEXT,
                                                                  "ucp_am_send_nbx");

    if ((messages_left > 0) && (--messages_left == 0)) {
        if (getenv("KILL_MESSAGE_VERBOSE") != NULL) {
            /* Control messages are all payload */
            fprintf(stderr, "killed at a message of type %d\n",
                    *(const uint8_t *)((header_length > 0) ? header : buffer) & 0x7f);
        }
        kill(getpid(), SIGKILL);
    }
    return stock(ep, id, header, header_length, buffer, count, param);
}
