/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Preloaded into a program, it changes the last byte of all tag messages of WRONG_SIZE
 * bytes, for tests of the detection of wrong data.
 */
#include <dlfcn.h>
#include <string.h>
#include <ucp/api/ucp.h>

#define WRONG_SIZE 4096

__attribute__((visibility("default"))) ucs_status_ptr_t
ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
                 const ucp_request_param_t *param)
{
    static ucs_status_ptr_t (*next)(ucp_ep_h, const void *, size_t, ucp_tag_t,
                                    const ucp_request_param_t *);
    static unsigned char wrong[WRONG_SIZE];

    if (next == NULL) {
        next = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    }
    if (count == WRONG_SIZE) {
        memcpy(wrong, buffer, count);
        wrong[count - 1] ^= 1;
        buffer = wrong;
    }
    return next(ep, buffer, count, tag, param);
}
