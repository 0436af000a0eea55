/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The layout of the directory, of a process's segment, and of the messages in its rings. Processes
 * of another SH_VERSION are refused, so a change here needs a new one. The times of messages and
 * polls are those of CLOCK_MONOTONIC, which all processes of a host share. test_process.cc includes
 * this file to play a hostile process.
 */
#ifndef SH_WIRE_H_
#define SH_WIRE_H_

/*
 * What the agents of two processes tell each other, and what they share. All of it is in
 * shared memory that any process of the user can write: whoever reads it checks it against
 * bounds first, in a copy of its own. No atomic types here, so that tests in C++ can
 * include the file; the words are accessed with the compiler's atomic builtins.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SH_ASSERT static_assert
#else
#define SH_ASSERT _Static_assert
#endif

#define SH_MAGIC      0x616368746673UL /* "sfthca" */
#define SH_VERSION    7
#define SH_MAX_PROCS  256
#define SH_MAX_QPS    16384 /* of a process */
#define SH_RING_SIZE  (512 * 1024)
#define SH_MAX_SGE    30
#define SH_MAX_INLINE 220
#define SH_MAX_MTU    4096
#define SH_PAGE       4096
#define SH_WANTS      64 /* completion queues beyond share them */

/* A QP number is the slot of its process and an index: 8 and 16 bits. */
#define SH_QPN_SHIFT            16
#define sh_qpn_slot(_qpn)       (((_qpn) >> SH_QPN_SHIFT) % SH_MAX_PROCS)
#define sh_qpn_index(_qpn)      ((_qpn) & ((1u << SH_QPN_SHIFT) - 1))
#define sh_qpn(_slot, _index)   (((uint32_t)(_slot) << SH_QPN_SHIFT) | (_index))
#define sh_psn_add(_psn, _diff) (((_psn) + (_diff)) & 0xffffff)

enum {
    SH_MSG_REQUEST, /* from an RC QP; payload: list of sh_sge_t, or inline data */
    SH_MSG_ANSWER,  /* to an RC QP, about one request and all before it */
    SH_MSG_DATAGRAM /* from a UD QP; payload: the data, or with SH_MSG_FETCH a list of sh_sge_t */
};

/* How an answer judges a request. */
enum {
    SH_ANSWER_ACK,
    SH_ANSWER_RNR,     /* value: the timer's code */
    SH_ANSWER_NAK,     /* value: enum ibv_wc_status for the requester */
    SH_ANSWER_NOTHING, /* a real device would not have answered */
    SH_ANSWER_LAST
};

enum {
    SH_MSG_SOLICITED = 1 << 0,
    SH_MSG_IMM       = 1 << 1,
    SH_MSG_INLINE    = 1 << 2,
    SH_MSG_GLOBAL    = 1 << 3, /* a datagram with a GRH */
    SH_MSG_FETCH     = 1 << 4  /* a datagram whose data are fetched, see fetch.h */
};

typedef struct sh_sge {
    uint64_t address; /* in the requester's memory, or that of who sends a datagram */
    uint64_t length;
} sh_sge_t;

typedef struct sh_msg {
    uint32_t size;       /* of the message in the ring: header and payload */
    uint32_t generation; /* of the sender's slot */
    uint8_t type;        /* SH_MSG_REQUEST etc. */
    uint8_t opcode;      /* enum ibv_wr_opcode */
    uint8_t flags;       /* SH_MSG_SOLICITED etc. */
    uint8_t answer;      /* SH_ANSWER_ACK etc. */
    uint16_t slid;
    uint16_t dlid;
    uint32_t src_qpn;
    uint32_t dst_qpn;
    uint32_t psn;   /* one for each request */
    uint32_t epoch; /* of the QP that sends, for the guard */
    uint32_t rkey;
    uint32_t imm;  /* as the program gave it */
    uint32_t qkey; /* of a datagram; else see sh_inbox_t.wanted */
    uint16_t num_sge;
    uint8_t sl;
    uint8_t hop_limit; /* of a datagram; of a read or an atomic: how many are under way with it */
    uint64_t length; /* of the data */
    uint64_t remote_address;
    uint64_t value; /* atomics: operand, and in the answer the old value */
    uint64_t swap;
    uint64_t sent; /* link model: when the first bit leaves, CLOCK_MONOTONIC in ns */
    uint64_t wire; /* link model: how long all bits take, in ns */
    uint8_t sgid[16];
    uint8_t dgid[16];
} sh_msg_t;

SH_ASSERT(sizeof(sh_msg_t) == 128, "no padding");
SH_ASSERT(sizeof(sh_msg_t) % 8 == 0, "messages in a ring are aligned");

#define SH_MAX_MSG (sizeof(sh_msg_t) + SH_MAX_MTU)

/* One direction between two processes, in the segment of the receiver. */
typedef struct sh_ring {
    uint64_t tail; /* bytes ever put in; written by the sender */
    uint8_t pad1[56];
    uint64_t head;       /* bytes ever taken out; written by the receiver */
    uint32_t want_space; /* the sender waits for room */
    uint8_t pad2[SH_PAGE - 64 - 12];
    uint8_t data[SH_RING_SIZE];
} sh_ring_t;

SH_ASSERT(sizeof(sh_ring_t) == SH_PAGE + SH_RING_SIZE, "whole pages");

/* The head of a process's segment. The rings of all possible senders follow; only those in
 * use have memory. */
typedef struct sh_inbox {
    uint64_t magic;
    uint32_t version;
    uint32_t generation;
    uint32_t doorbell; /* futex of the agent */
    uint32_t asleep;
    uint64_t pending[SH_MAX_PROCS / 64]; /* rings with something new */
    uint8_t pad1[64 - 24 - SH_MAX_PROCS / 8];
    uint64_t polled;   /* when a thread looked that will look again soon; see agent.c */
    uint32_t busy;     /* threads that look before they leave the driver */
    uint32_t room;     /* there is some again in a ring that was full */
    uint32_t fetching; /* odd while data of datagrams are being fetched */
    uint8_t pad2[64 - 20];
    /* For what acknowledgements are wanted at once, see agent.h; requests name one of the words */
    uint32_t wanted[SH_WANTS];
    uint8_t pad3[SH_PAGE - 128 - 4 * SH_WANTS];
    /* For each QP the epoch of its send queue, times two, plus one while a responder
     * accesses the memory of its requests. An epoch ends when the QP leaves RTS: nobody
     * accesses memory for requests of an old one. */
    uint32_t guards[SH_MAX_QPS];
} sh_inbox_t;

SH_ASSERT(offsetof(sh_inbox_t, polled) == 64, "in a cache line of its own");
SH_ASSERT(sizeof(sh_inbox_t) % SH_PAGE == 0, "rings start at a page");

#define SH_SEGMENT_SIZE       (sizeof(sh_inbox_t) + SH_MAX_PROCS * sizeof(sh_ring_t))
#define sh_ring_offset(_slot) (sizeof(sh_inbox_t) + (_slot) * sizeof(sh_ring_t))

/* A process in the directory. */
typedef struct sh_slot {
    uint32_t pid; /* 0: the slot is free */
    uint32_t generation;
    uint64_t start_time; /* of the process, to tell it from a later one with this pid */
} sh_slot_t;

typedef struct sh_directory {
    uint64_t magic;
    uint32_t version;
    uint32_t next_slot;
    uint32_t last_generation;
    uint32_t atomic_owner; /* whose agent executes an atomic: its generation, or 0 */
    sh_slot_t slots[SH_MAX_PROCS];
} sh_directory_t;

#endif
