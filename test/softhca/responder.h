/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A request goes through the stages in their order, or to the last one when it is refused. Without
 * the link model one call does it all; with the model the agent's calls lead from stage to stage,
 * and the request is in memory of its own. All of it is done with sh_proc.lock held.
 */
#ifndef SH_RESPONDER_H_
#define SH_RESPONDER_H_

/*
 * What the parts of the responder share: responder.c goes on with a request from step to
 * step, responder_check.c decides what becomes of it, answer.c tells the requester.
 */
#include "objects.h"

typedef enum sh_request_stage {
    RESPONDER_BEGIN, /* nothing was looked at */
    RESPONDER_COPY,  /* checked, and the data are being copied */
    RESPONDER_LAST,  /* but for the last word everything is there */
    RESPONDER_TOLD,  /* answered, but the program does not see it yet */
    RESPONDER_END    /* refused */
} sh_request_stage_t;

typedef struct responder_request {
    sh_qp_t *qp;
    unsigned slot;
    pid_t pid;
    uint64_t due;  /* link model: when all of it is there; 0 without */
    uint64_t done; /* bytes copied */
    struct responder_request *next;
    sh_request_stage_t stage;
    int left;    /* the next one may begin */
    int waited;  /* for its end */
    int in_turn; /* it had the number that was expected */
    int has_recv;
    int reads; /* data go to the requester */
    uint8_t answer;
    uint64_t value;     /* of the answer */
    int event;          /* async event of an error, or -1 */
    sh_answer_t *place; /* an answer's place in the order, if it takes time */
    sh_recv_wqe_t recv;
    struct ibv_wc wc;
    struct iovec remote_iov[SH_MAX_SGE];
    struct iovec local_iov[SH_MAX_SGE];
    unsigned num_remote;
    unsigned num_local;
    sh_mr_t *mrs[SH_MAX_SGE];
    unsigned num_mrs;
    sh_msg_t msg;
    uint8_t payload[sizeof(sh_sge_t) * SH_MAX_SGE];
} sh_request_t;

/*
 * answer.c
 */

/** Fill in an answer. @param time Link model: when it leaves. */
void sh_answer_init(sh_msg_t *answer, const sh_msg_t *msg, uint8_t judgement,
                    uint64_t value, uint64_t time);

/** Keep a place in the order of a QP's answers. @return NULL without memory. */
sh_answer_t *sh_answer_reserve(sh_qp_t *qp);

/** Answer a request: at once, or when the reads before it are done. */
void sh_answer_request(sh_request_t *req);

/** Send what no read holds up any more. */
void sh_answer_send_ready(sh_qp_t *qp);

/** Forget what is to be sent for a QP. */
void sh_answer_purge(sh_qp_t *qp);

/*
 * responder_check.c
 */

/** Check and prepare a request.
 * @return 0 to copy, 1 to finish it now, -1 to drop it. */
int sh_check_request(sh_request_t *req);

/**
 * The request is refused and breaks the connection.
 * @param remote The requester's status.
 * @param local  That of the receive that it took, if it did.
 * @return 1: nothing is to be copied.
 */
int sh_check_refuse(sh_request_t *req, enum ibv_wc_status remote,
                    enum ibv_wc_status local, int event);

#endif
