/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_buffer.h"

#if HAVE_VERBS

#include "../../../ucs/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ucs_status_t ri_ud_buffer_init(ri_ib_device_t *device, size_t length,
                               ri_ud_buffer_t *buffer)
{
    size_t page = sysconf(_SC_PAGESIZE);
    void *data;

    /* Whole pages: a child process may have a registered one all to itself */
    length = (length + page - 1) / page * page;
    if (posix_memalign(&data, page, length) != 0) {
        return UCS_ERR_NO_MEMORY;
    }
    memset(data, 0, length);
    buffer->mr = ri_verbs.reg_mr(device->pd, data, length, IBV_ACCESS_LOCAL_WRITE);
    if (buffer->mr == NULL) {
        ri_debug("%zu bytes for datagrams cannot be registered: %s", length,
                 strerror(errno));
        free(data);
        return UCS_ERR_NO_MEMORY;
    }
    buffer->data = data;
    return UCS_OK;
}

void ri_ud_buffer_cleanup(ri_ud_buffer_t *buffer)
{
    if (buffer->mr != NULL) {
        ri_verbs.dereg_mr(buffer->mr);
        free(buffer->data);
        buffer->mr = NULL;
    }
}

void ri_ud_buffer_end(ri_ud_buffer_t *buffer, int is_gone)
{
    if (is_gone) {
        ri_ud_buffer_cleanup(buffer);
    } else if (buffer->mr != NULL) {
        ri_warn("%zu bytes of a queue pair that cannot be destroyed stay as they are",
                buffer->mr->length);
        buffer->mr = NULL;
    }
}

#endif
