/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the parts of mix_modes share: communicators (comms.c), messages and receives (messages.c),
 * and the phases, which use them (../mix_modes.c).
 */
#ifndef MIX_H
#define MIX_H

#include "../mpitest.h"

enum {
    COMM_DUP,
    COMM_REVERSED,
    COMM_PARITY,
    COMM_LEAVE_OUT,
    COMM_GROUP,
    COMM_IDUP,
    COMM_KINDS,
    COMM_WORLD = COMM_KINDS
};

enum {
    S_ISEND,
    S_ISSEND,
    S_IBSEND,
    S_IRSEND,
    S_BSEND,
    S_RSEND,
    S_SEND_INIT,
    S_SSEND_INIT,
    S_BSEND_INIT,
    S_RSEND_INIT,
    S_FREE_MODES, /* those above return without the receiver: free phases use them */
    S_SEND = S_FREE_MODES,
    S_SSEND,
    S_SENDRECV,
    S_MODES
};

enum {
    REC_PENDING,
    REC_DONE,
    REC_CANCELLED,
    REC_LEFT
};

enum {
    MAX_RANKS      = 16,
    MAX_COMMS      = 4,
    NUM_TAGS       = 8, /* of ordinary messages */
    NUM_READY_TAGS = 2, /* of ready sends */
    ALL_TAGS       = NUM_TAGS + NUM_READY_TAGS,
    ONCE_TAG       = 5000, /* and above: a tag for one message of a lockstep phase */
    ANY            = -1,
    BSEND_SPACE    = 8 << 20
};

typedef struct {
    int src, dst; /* world ranks */
    int comm;
    int tag;
    int mode;
    size_t size;
    uint64_t key;
    int taken; /* by a receive, in the replay */
} message_t;

typedef struct {
    message_t *list;
    int count, space;
} stream_t;

typedef struct {
    int comm;
    int src, tag; /* as posted, ANY possible; src is a world rank */
    int state;
    int keep; /* never cancel: a ready send relies on it */
    int persistent;
    char *buf;
    size_t size; /* of buf */
    MPI_Request request;
    int got_src, got_tag; /* as received */
    size_t got_size;
} receive_t;

typedef struct {
    MPI_Request request;
    char *buf;
    size_t size;
    int persistent;
} send_t;

typedef struct {
    int kind;
    int left_out;
    MPI_Comm handle;
} comm_t;

/*
 * State of this rank
 */
extern comm_t comms[MAX_COMMS]; /* the first is all ranks */
extern int tags[ALL_TAGS];      /* their values */
extern stream_t streams
        [MAX_RANKS]; /* messages of this phase, by sender, in the order of their sends */
extern receive_t *receives; /* of this phase, in the order of posting */
extern int num_receives;
extern int num_sends; /* that have not ended */
extern char *bsend_buf;

/* Of the current phase. */
extern size_t phase_max;          /* the longest message */
extern size_t tag_size[ALL_TAGS]; /* the size of all messages, or the limit */
extern int tag_fixed[ALL_TAGS];

/* Of the run, by messages to this rank */
extern long total_messages, total_bytes, total_cancelled, total_wild;

/*
 * Communicators. Ranks are those of MPI_COMM_WORLD, but for what has a communicator's in its name.
 */

/** @return Rank of a member in the communicator. */
int comm_rank(const comm_t *comm, int rank);

/** @return World rank of the member of this rank's group that has that rank. */
int world_rank(const comm_t *comm, int rank);

/** @return Whether both ranks are members of one group of it. */
int comm_joins(const comm_t *comm, int a, int b);

/** Make it; all ranks call this. left_out: who is no member, for the kinds that leave one out */
void comm_open(comm_t *comm, int kind, int left_out);

void comm_close(comm_t *comm);

/*
 * Messages: all ranks plan all of them, with the same random numbers.
 */

void plan_add(mt_rng_t *rng, int src, int dst, int comm, int tag, int mode, size_t size);

/** @return Index of a communicator that both ranks are members of. */
int plan_comm(mt_rng_t *rng, int a, int b);

/** @return Size of a message of a tag. */
size_t plan_size(mt_rng_t *rng, int tag_index);

/** Buffered sends have to fit into the attached buffer all together. @return The mode to use. */
int plan_buffered(int mode, size_t size, size_t *used);

/** @return Index of a tag's value; -1: none has it. */
int tag_index(int tag);

/** @return How large a message with this tag can be, ANY included. */
size_t tag_limit(int tag);

/*
 * Sends and receives
 */

void send_start(const message_t *msg);

/** Test some send, if there is any. */
void sends_test(mt_rng_t *rng);

/** Wait for all of them, in any order. */
void sends_finish(mt_rng_t *rng);

/** @return A receive of up to that many bytes, which is not posted yet. */
receive_t *receive_add(int comm, int src, int tag, size_t size);

void receive_post(receive_t *recv, int persistent);

/** A receive has ended with that. */
void receive_done(receive_t *recv, MPI_Status *status);

/** Receive what was found by a matched probe. */
void receive_matched(receive_t *recv, MPI_Message *message, int blocking);

/** Receive with a blocking call what a probe has found. */
void receive_probed(int comm, MPI_Status *found);

/** @return Whether the receive has completed. */
int receive_test(receive_t *recv);

/**
 * Cancel a receive.
 *
 * @param state  What it is then, if it had no message
 *
 * @return Whether it had a message, in which case it is received.
 */
int receive_cancel(receive_t *recv, int state);

/** Compare what was received with what MPI's order allows, and forget the receives. */
void phase_end(void);

/** The lists of messages, sends and receives, at the end of the run */
void messages_free(void);

#endif
