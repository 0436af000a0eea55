/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ud plane puts on the wire (protocol-ud.md): addresses, the targets of transfers, and
 * control messages. Integers are little-endian, but for the immediate data of pieces, which
 * devices carry in network order.
 */
#ifndef RI_UD_WIRE_H
#define RI_UD_WIRE_H

#include "../../api/plane.h"
#include "ud_transfer.h"

#define RI_UD_VERSION 1

/* In front of a datagram in memory. */
#define RI_UD_GRH_SIZE 40

/* A way to a process. */
typedef struct ri_ud_address {
    uint8_t version;    /* RI_UD_VERSION */
    uint8_t link_mtu;   /* ri_ib_link_t, enum ibv_mtu * 16 */
    uint8_t control[3]; /* queue pair that control messages go to, and come from */
    uint8_t data[3];    /* that pieces come from */
    uint32_t qkey;      /* of the control queue pair; its highest bit is 0 */
    uint32_t ep;        /* what control messages for this way say */
    uint8_t where[16];  /* RoCE: GID. InfiniBand: subnet prefix, LID (u16), P_Key
                             (u16; 0: not known), zeros */
} __attribute__((packed)) ri_ud_address_t;

static_assert(sizeof(ri_ud_address_t) == RI_PLANE_ADDRESS_MAX, "wire format");

/* Where a message goes. The receiver gives it to the sender: in a TARGET, or in an RTR. */
typedef struct ri_ud_target {
    uint32_t qp; /* 24 bits */
    uint32_t qkey;
    uint32_t number;   /* of the transfer, among those to this receiver by this way */
    uint32_t sequence; /* of its first piece */
    uint32_t granted;  /* pieces that may be sent at once */
    uint16_t piece_size;
    uint16_t reserved;
    uint64_t length; /* that the message must have */
} __attribute__((packed)) ri_ud_target_t;

static_assert(sizeof(ri_ud_target_t) == RI_PLANE_TARGET_SIZE, "wire format");

/* A control message, a datagram of its own. Fields that a type does not have are 0. */
typedef struct ri_ud_control {
    uint8_t version;   /* RI_UD_VERSION */
    uint8_t type;      /* ri_ud_type_t */
    uint16_t num_bits; /* in bytes behind the header, lowest bit first */
    uint32_t ep;       /* from the address of whom it is for */
    uint32_t number;
    uint32_t epoch;
    uint32_t round;
    uint32_t base;
    uint32_t pieces;
    uint32_t sequence;
    uint32_t qkey;
} __attribute__((packed)) ri_ud_control_t;

static_assert(sizeof(ri_ud_control_t) == 36, "wire format");

/* The longest one; it fits the least MTU. */
#define RI_UD_CONTROL_MAX (sizeof(ri_ud_control_t) + RI_UD_WINDOW_MAX / 8)

static_assert(RI_UD_CONTROL_MAX <= 256, "wire format");

/** Write a control message into @a data, which has RI_UD_CONTROL_MAX bytes.
 * @param ep  The receiver's id of the way, from its address.
 * @return The length of the message. */
size_t ri_ud_wire_pack(const ri_ud_message_t *message, uint32_t ep, void *data);

/** Read a control message: wire input.
 * @param ep  Set to this side's id of the way, which may be any number.
 * @return 0 if that is not a message. */
int ri_ud_wire_unpack(const void *data, size_t length, ri_ud_message_t *message,
                      uint32_t *ep);

/** Check a target: wire input. @return What is wrong with it; NULL: nothing that can be told from
 * here. */
const char *ri_ud_wire_check_target(const ri_ud_target_t *target);

/** @return The number in 24 bits of an address. */
static inline uint32_t ri_ud_wire_get24(const uint8_t *bytes)
{
    return bytes[0] | (bytes[1] << 8) | ((uint32_t)bytes[2] << 16);
}

/** Write a number into 24 bits of an address. */
static inline void ri_ud_wire_put24(uint8_t *bytes, uint32_t value)
{
    bytes[0] = value;
    bytes[1] = value >> 8;
    bytes[2] = value >> 16;
}

/** @return The bytes that verbs mean by the number of an MTU (enum ibv_mtu). */
static inline unsigned ri_ud_wire_mtu(unsigned mtu)
{
    return 128u << mtu;
}

#endif
