/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The part that this library puts in front of the remote keys that applications exchange.
 * (protocol.md section 11)
 */
#ifndef RI_WIRE_RKEY_H
#define RI_WIRE_RKEY_H

#include <assert.h>
#include <stdint.h>

#include <ucs/type/status.h>

#include "../../uct/api/plane.h"
#include "../../uct/shm/host.h"
#include "../../uct/shm/mapping.h"

/* Who carries out atomic operations on the memory of a key. All origins must do the same. */
typedef enum ri_wire_atomics {
    RI_WIRE_ATOMICS_STOCK, /* UCX */
    /* any processor of the host, as UCX has them done by a processor, too: that of the target */
    RI_WIRE_ATOMICS_CPU,
    RI_WIRE_ATOMICS_COUNT
} ri_wire_atomics_t;

/*
 * In front of a packed key of stock, which begins with a mask of 64 memory domains. No process has
 * as many domains as the magic number would mean.
 */
typedef struct ri_wire_rkey {
    uint64_t magic;            /* RI_WIRE_RKEY_MAGIC */
    uint8_t version;           /* RI_WIRE_RKEY_VERSION */
    uint8_t length;            /* of this structure; the key of stock follows */
    uint8_t atomics;           /* ri_wire_atomics_t */
    uint8_t plane_length;      /* bytes of plane; 0: the memory is not copied directly */
    uint32_t mailbox;          /* 1 + descriptor of the mailbox in `process`; 0: none */
    ri_host_process_t process; /* whose memory it is */
    uint64_t address;          /* where the memory is in `process` */
    uint64_t size;             /* of the memory; 0: there is none */
    uint64_t region;           /* number of the memory, for the mailbox */
    ri_mapping_place_t place;  /* the file that the memory is of; inode 0: none */
    uint8_t plane[RI_PLANE_ADDRESS_MAX]; /* address of the plane within the host */
} __attribute__((packed)) ri_wire_rkey_t;

#define RI_WIRE_RKEY_MAGIC   0xf459454b4952585ful /* "_XRIKEY" and a byte of no text */
#define RI_WIRE_RKEY_VERSION 1

static_assert(sizeof(ri_wire_rkey_t) == 120, "wire format");

/** Write the fields that are equal in all keys: magic, version and length. All others are 0. */
void ri_wire_rkey_init(ri_wire_rkey_t *rkey);

/**
 * Look for this library's part in front of a packed key.
 *
 * @param packed  A key as an application hands it over; its length is not known.
 * @param stock   Set to stock's key within @a packed, whatever is returned.
 * @param rkey    Set to this library's part, with UCS_OK only. Its memory was checked to be a range
 *                of addresses. Nothing says that the range is there, or whose it is.
 *
 * @return UCS_OK. UCS_ERR_NO_ELEM for a plain key of stock. UCS_ERR_UNSUPPORTED for another
 *         version, UCS_ERR_INVALID_PARAM for a malformed part: stock's key is good all the same.
 */
ucs_status_t ri_wire_rkey_parse(const void *packed, const void **stock,
                                ri_wire_rkey_t *rkey);

#endif
