/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A message in host form: what ri_wire_parse() makes of one that has come, and ri_wire_pack() of
 * one that is to be sent.
 */
#ifndef RI_WIRE_MSG_H
#define RI_WIRE_MSG_H

#include "forms.h"

/* Which members a type has is in its row (types.c). What a member means is in the structure of the
 * type (forms.h), where some names are shorter: cookie for ring_cookie, length for rtr_length or
 * plane_address_length. Members that a type does not have are 0, but for the arrays, which mean
 * nothing then. */
typedef struct ri_wire_msg {
    ri_wire_type_t type; /* without flags */
    uint32_t id;         /* of the conn or stream addressed; 0 with a hello */
    uint32_t value;      /* of the base header */
    uint32_t req_id;
    uint64_t tag;
    uint64_t uid;
    uint64_t address;
    uint64_t mask;
    uint64_t rtr_length; /* of the memory of an RTR's receive */
    uint64_t number;
    uint64_t count; /* elements of a layout */
    uint64_t ring_cookie;
    uint32_t ring_pid;
    uint32_t ring_fd;
    uint32_t ring_stream_id;
    uint32_t stream_id;
    uint32_t recv_id;
    uint32_t flags;
    uint32_t key;
    uint32_t way;
    uint32_t reason;
    uint32_t sn;
    uint32_t seen;
    uint32_t generation;
    uint32_t serial;
    uint32_t defined; /* generation of a definition */
    uint32_t total;
    uint32_t record_value; /* of the record of CHANNEL_AGAIN */
    uint32_t record_extra; /* of the record of CHANNEL_AGAIN */
    uint32_t used_count;   /* of used[] */
    uint16_t ahead;
    uint16_t entry;
    uint16_t asked;
    uint16_t slot;       /* of a definition */
    uint8_t record_type; /* of the record of CHANNEL_AGAIN */
    uint8_t plane;
    uint8_t plane_address_length; /* as it came: the array may be shorter */

    /* Arrays. */
    uint8_t plane_address[RI_PLANE_ADDRESS_MAX];
    uint8_t target[RI_PLANE_TARGET_SIZE];
    ri_wire_grid_t grid;
    uint32_t used[RI_WIRE_USED_MAX];
    uint32_t release[RI_WIRE_RELEASE_MAX]; /* the value says how many there are */

    int has_hello; /* the message has a hello, which says who is addressed in place of the id */
    ri_wire_hello_t hello __attribute__((aligned(8))); /* if it has one */
    const void *payload; /* in the caller's buffer; NULL if the data is elsewhere */
    size_t length;       /* of the payload */
} ri_wire_msg_t;

#endif
