/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of the types of messages: what each looks like, whom it is addressed to, and how it may
 * travel. Whoever packs, parses or hands over a message asks it.
 */
#ifndef RI_WIRE_TYPES_H
#define RI_WIRE_TYPES_H

#include "base.h"

/* Whose id a message has. */
typedef enum ri_wire_to {
    RI_WIRE_TO_STREAM,       /* of a stream of the receiver, which must be there */
    RI_WIRE_TO_CONN,         /* of a conn of the receiver, which must be there */
    RI_WIRE_TO_CONN_OR_NONE, /* of a conn of the receiver: it means something without it */
    RI_WIRE_TO_SENDER        /* of the conn that sends, at the sender */
} ri_wire_to_t;

/* How a message may travel. */
enum {
    RI_WIRE_BY_AM      = 1 << 0, /* as an active message */
    RI_WIRE_BY_RING    = 1 << 1, /* as a record of a ring */
    RI_WIRE_BY_CHANNEL = 1 << 2  /* as a record of a channel through a network */
};

/* Which messages of a type have a hello, which introduces the sender. */
typedef enum ri_wire_greets {
    RI_WIRE_GREETS_NEVER, /* no message of the type has a hello */
    RI_WIRE_GREETS_FIRST, /* as long as the sender does not know its stream's id */
    RI_WIRE_GREETS_ALWAYS /* all messages of the type have a hello */
} ri_wire_greets_t;

/* The data of an active message besides its header. */
typedef enum ri_wire_payload {
    RI_WIRE_PAYLOAD_NONE,    /* nothing */
    RI_WIRE_PAYLOAD_HERE,    /* a payload, which may be empty */
    RI_WIRE_PAYLOAD_SOME,    /* a payload of at least one byte */
    RI_WIRE_PAYLOAD_ANYWHERE /* a payload, which may still be at the sender */
} ri_wire_payload_t;

/* A field of a header. */
typedef struct ri_wire_field {
    const char *name; /* as in protocol.md */
    uint8_t offset;   /* in the header */
    uint8_t size;     /* bytes */
    /* offset in ri_wire_msg_t; RI_WIRE_RESERVED: 0 is sent, and not read */
    uint16_t member;
    uint64_t min; /* a message with a smaller value is malformed */
    uint64_t max; /* a message with a larger value is malformed; 0: any value will do */
} ri_wire_field_t;

/* The member of a field that is reserved. */
#define RI_WIRE_RESERVED UINT16_MAX

struct ri_wire_msg;

/* The description of a type of message. */
typedef struct ri_wire_type_row {
    const char *name; /* as in protocol.md; NULL: there is no such type */
    uint8_t to;       /* ri_wire_to_t */
    uint8_t routes;   /* RI_WIRE_BY_* */
    uint8_t greets;   /* ri_wire_greets_t */
    uint8_t payload;  /* ri_wire_payload_t */
    /* the hint of the record in a ring (ri_ring_record_t) is set, and is read */
    uint8_t hints : 1;
    uint8_t in_sequence : 1; /* takes part in matching, and has a sequence number */
    uint8_t announces : 1;   /* the payload, a ri_wire_rts_t, says where the data is */
    uint8_t is_eager : 1;    /* a short message, whole and without an answer before it */
    uint8_t is_bound : 1; /* says something about the endpoint that carries the message */
    /* about an RTR: a send that looks for one takes the record out of a ring at once */
    uint8_t is_ahead : 1;
    /* the receiver may need the memory of the send until that send has ended */
    uint8_t lends : 1;
    uint8_t length;     /* of the header without a hello */
    uint8_t num_fields; /* entries of `fields` */
    /* all fields behind the base header, without gaps; one may be the value of the base header */
    const ri_wire_field_t *fields;

    /** Check what fields have to do with each other or with the payload, when each of them is known
     * to be in its range. NULL: nothing is to be checked. @return 0 for a malformed message. */
    int (*check)(const struct ri_wire_msg *msg);
} ri_wire_row_t;

/* The rows of all types, by ri_wire_type_t (types.c). */
extern const ri_wire_row_t ri_wire_rows[RI_WIRE_TYPE_LAST];

/** @return The row of a type, or NULL if there is no such type. @a type: the byte without its flag,
 * as it came. */
static inline const ri_wire_row_t *ri_wire_type_row(uint8_t type)
{
    const ri_wire_row_t *row = &ri_wire_rows[(type < RI_WIRE_TYPE_LAST) ? type : 0];

    return (row->name != NULL) ? row : NULL;
}

/* Room for the text of any number that is no type. */
#define RI_WIRE_TYPE_TEXT_MAX 16

/** @return The name of a type, for people; of a number that is no type, that number, in @a text. @a
 * type: the byte as it came, with or without its flag. */
const char *ri_wire_type_text(unsigned type, char text[RI_WIRE_TYPE_TEXT_MAX]);

/** @return Whether there is such a type, and its messages take part in matching and have a sequence
 * number. @a type: the byte without its flag, as it came. */
static inline int ri_wire_type_in_sequence(uint8_t type)
{
    return (type < RI_WIRE_TYPE_LAST) && ri_wire_rows[type].in_sequence;
}

/** @return Whether there is such a type, and it may travel by @a route, one of RI_WIRE_BY_*. @a
 * type: the byte without its flag, as it came. */
static inline int ri_wire_type_may_go(uint8_t type, unsigned route)
{
    return (type < RI_WIRE_TYPE_LAST) && ((ri_wire_rows[type].routes & route) != 0);
}

#endif
