/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory of the ud plane's own: for datagrams that have no place in a message.
 */
#ifndef RI_UD_BUFFER_H
#define RI_UD_BUFFER_H

#include "../device/device_types.h"

#if HAVE_VERBS

/* Registered memory. */
typedef struct ri_ud_buffer {
    uint8_t *data;
    struct ibv_mr *mr; /* NULL: there is none */
} ri_ud_buffer_t;

/** Allocate and register at least @a length bytes of zeros, for a device to write into;
 * ri_ud_buffer_cleanup() or ri_ud_buffer_end() frees them. @return UCS_OK, or UCS_ERR_NO_MEMORY,
 * after which there is nothing to be freed. */
ucs_status_t ri_ud_buffer_init(ri_ib_device_t *device, size_t length,
                               ri_ud_buffer_t *buffer);

/** Free the memory, if there is any. No device uses it any more. */
void ri_ud_buffer_cleanup(ri_ud_buffer_t *buffer);

/** Free the memory of a queue pair.
 * @param is_gone  The queue pair is destroyed. If it is not, the memory is left as it is, for
 * ever. */
void ri_ud_buffer_end(ri_ud_buffer_t *buffer, int is_gone);

#endif

#endif
