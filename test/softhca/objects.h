/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An object that programs see begins with the structure of libibverbs, so a pointer to one is a
 * pointer to the other; only a context has that structure at its end. Most source files have no
 * header of their own: their functions are declared here, file by file. A child by fork() has dead
 * copies of its parent's objects, which sh_context_valid() tells.
 */
#ifndef SH_OBJECTS_H_
#define SH_OBJECTS_H_

/*
 * The verbs objects behind the structures that programs see.
 *
 * Locks, in the order in which they are taken:
 *   sh_proc.lock       control verbs, and the agent while it works
 *   qp->sq_lock        the send queue; posting needs this one only
 *   qp->rq.lock, srq->rq.lock
 *   those of the fabric's peers
 *   sh_mr_lock, cq->lock, event locks, that of the agent's calls: nothing is taken below
 *   them, but below cq->lock an event lock, that of the calls, and that of a peer, which is
 *   not held while one takes cq->lock
 * A QP's state is changed with sh_proc.lock and sq_lock held, and read with one of them.
 */
#include "fabric.h"
#include "pages.h"
#include "settings.h"
#include "wire.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <sys/uio.h>

#define SH_MAX_WR       16384
#define SH_MAX_CQE      65535
#define SH_ARRIVALS     32 /* datagrams that are received together */
#define SH_MAX_MRS      65536
#define SH_MAX_RD_ATOM  16
#define SH_MAX_MSG_SIZE (1u << 31)
#define SH_GRH_SIZE     40
#define SH_IPV4_OFFSET  20 /* where a header of IPv4 is in it */

/* What libibverbs' providers look at behind a device's structure must be readable, and
 * equal to none of theirs. */
typedef struct sh_device {
    struct ibv_device super;
    uint8_t provider_part[1024];
    unsigned index;
} sh_device_t;

/* A list of pending events behind a file descriptor that is readable while it has any. */
typedef struct sh_event {
    struct sh_event *next;
    struct ibv_async_event async; /* of an async queue */
    struct ibv_cq *cq;            /* of a completion channel */
} sh_event_t;

typedef struct sh_event_queue {
    pthread_mutex_t lock;
    int fd;
    sh_event_t *head;
    sh_event_t **end;
} sh_event_queue_t;

typedef struct sh_context {
    sh_device_t *device;
    uint32_t proc_id; /* sh_proc.id of the process that opened it */
    uint16_t lid;
    sh_event_queue_t events;
    struct verbs_context verbs; /* grows at its beginning in later versions */
} sh_context_t;

typedef struct sh_channel {
    struct ibv_comp_channel super;
    sh_event_queue_t events;
} sh_channel_t;

typedef struct sh_pd {
    struct ibv_pd super;
    unsigned users; /* atomic */
} sh_pd_t;

typedef struct sh_mr {
    struct ibv_mr super;
    uint64_t iova;
    unsigned access;
    unsigned users; /* accesses going on; with sh_mr_lock */
    int dead;
    sh_pages_t *pages; /* that it had when it was registered; NULL: nobody looks */
} sh_mr_t;

struct sh_qp;
struct responder_request;

typedef struct sh_cqe {
    struct ibv_wc wc;
    struct sh_qp *qp;
    uint64_t sq_count; /* of a send: work requests up to this one are done with */
    uint64_t due;      /* the program sees it not before; 0: at once */
    int solicited;
    sh_fetch_t fetch; /* of a send: nor before this is done */
} sh_cqe_t;

typedef struct sh_cq {
    union {
        struct ibv_cq super;
        struct ibv_cq_ex ex;
    };
    pthread_mutex_t lock;
    sh_cqe_t *ring;
    uint32_t size; /* power of two, more than super.cqe */
    uint64_t head;
    uint64_t tail;
    uint64_t first_due;  /* of the oldest one; UINT64_MAX: none. Read without the lock */
    int armed;           /* 0, 1: for solicited ones, 2: for all */
    uint64_t armed_from; /* not for those before */
    uint64_t call_at;    /* when the agent looks whether there is an event; 0: not */
    int wanted;          /* by sh_agent_want() */
    unsigned want;       /* the word for that, in sh_inbox_t.wanted */
    int overrun;
    unsigned users;        /* QPs; atomic */
    uint32_t comp_events;  /* given out by ibv_get_cq_event */
    uint32_t async_events; /* given out by ibv_get_async_event */
    sh_cqe_t current;      /* of the extended poll */
} sh_cq_t;

typedef struct sh_recv_wqe {
    uint64_t wr_id;
    unsigned num_sge;
    struct ibv_sge sge[SH_MAX_SGE];
} sh_recv_wqe_t;

/* A receive queue, of a QP or an SRQ. */
typedef struct sh_rq {
    pthread_mutex_t lock;
    uint8_t *ring; /* of sh_recv_wqe_t with max_sge entries each */
    uint32_t size; /* power of two */
    uint32_t max_wr;
    uint32_t max_sge;
    uint64_t head;
    uint64_t tail;
    uint32_t limit; /* of an SRQ; 0: no event wanted */
} sh_rq_t;

typedef struct sh_srq {
    struct ibv_srq super;
    sh_rq_t rq;
    unsigned users; /* QPs; atomic */
    uint32_t async_events;
} sh_srq_t;

typedef struct sh_ah {
    struct ibv_ah super;
    struct ibv_ah_attr attr;
} sh_ah_t;

typedef struct sh_send_wqe {
    uint64_t wr_id;
    uint64_t remote_address;
    uint64_t compare_add;
    uint64_t swap;
    uint64_t length;
    uint32_t rkey;
    uint32_t imm;
    uint32_t psn;
    uint32_t remote_qpn; /* UD */
    uint32_t remote_qkey;
    uint8_t opcode;
    uint8_t status;  /* enum ibv_wc_status, of an error found when it was started */
    uint8_t started; /* has a PSN, and its keys were right */
    uint8_t num_sge; /* 0 with inline data */
    unsigned flags;
    unsigned inline_size;
    struct ibv_ah_attr ah; /* UD */
    union {
        struct ibv_sge sge[SH_MAX_SGE];
        uint8_t data[SH_MAX_INLINE];
    };
} sh_send_wqe_t;

/* The send queue. Counts of work requests ever: head <= next <= tail. */
typedef struct sh_sq {
    sh_send_wqe_t *ring;
    uint32_t size;
    uint32_t max_wr;
    uint32_t max_sge;
    uint32_t max_inline;
    uint64_t released; /* done with, as the program knows from completions */
    uint64_t head;     /* the oldest that is not complete */
    uint64_t next;     /* to be sent next */
    uint64_t tail;
    uint32_t psn; /* of the next new one */
    uint32_t epoch;
    unsigned rd_atomics; /* reads and atomics under way */
    unsigned retries;    /* left, until something is acknowledged */
    unsigned rnr_retries;
    int lost;           /* a real peer would not have answered: wait for the timeout */
    int stopped;        /* the next one has an error, which comes out in its turn */
    int fatal;          /* the completion queue overran */
    int wanted;         /* by sh_agent_want() */
    uint64_t rnr_until; /* nothing is sent before; 0: no RNR */
    uint64_t retry_at;  /* if lost */
    uint64_t check_at;  /* when to see whether the peer lives */
    uint64_t check_head;
    uint64_t timer_at; /* the agent looks at the QP then; 0: not */
    uint32_t peer_generation;
    uint64_t count;         /* for fault injection */
    uint64_t losses;        /* datagrams of a kind that were lost */
    uint64_t lost_in_a_row; /* datagrams of a size, without one between that was not */
} sh_sq_t;

/* An answer that waits for an earlier one, a read's. */
typedef struct sh_answer {
    struct sh_answer *next;
    int ready;
    sh_msg_t msg;
} sh_answer_t;

typedef struct sh_ud_stage sh_ud_stage_t;

typedef struct sh_qp {
    struct ibv_qp super;
    uint32_t uid; /* never used twice in a process */
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    pthread_mutex_t sq_lock;
    sh_sq_t sq;
    sh_rq_t rq;
    /* The agent's attention */
    struct sh_qp *attention_next;
    int attention;
    /* Responder; with sh_proc.lock */
    uint32_t epsn; /* also read without it, for a query */
    int rnr_sent;  /* what follows the refused request is dropped */
    int established;
    struct responder_request *requests; /* link model: to be begun in this order */
    struct responder_request **requests_end;
    uint64_t last_due; /* link model: the latest end of a request so far */
    uint64_t last_answer;
    sh_answer_t *answers;
    sh_answer_t **answers_end;
    sh_msg_t ack; /* to be sent at the end of the batch, if ack_wanted */
    int ack_wanted;
    struct sh_qp *ack_next;
    uint32_t async_events;
    uint64_t sent; /* link model: when what it has sent has left */
    /* Fault injection */
    uint64_t random;
    uint64_t random_rx;
    unsigned late;        /* datagrams that wait for their time, as they had no receive */
    sh_ud_stage_t *stage; /* data that are to be sent; with sq_lock */
    sh_fetch_t fetch;     /* of the datagrams sent so far; with sq_lock */
    void *held; /* a datagram that others overtake, and how many still have to */
    unsigned held_count;
} sh_qp_t;

/* The process, while a context is open. */
typedef struct sh_proc {
    pthread_mutex_t lock;
    unsigned contexts;
    uint32_t id; /* changes with each fork and each time the fabric is joined */
    int attached;
    sh_qp_t *qps[SH_MAX_QPS];
    uint32_t next_qp;
    uint32_t next_uid;
} sh_proc_t;

extern sh_proc_t sh_proc;

/** Take and release sh_proc.lock in a control verb; the agent makes way. */
void sh_control_lock(void);
void sh_control_unlock(void);

static inline sh_context_t *sh_context(struct ibv_context *context)
{
    return (sh_context_t *)(void *)((char *)context -
                                    offsetof(sh_context_t, verbs.context));
}

/** @return Whether an object of this context is of this process, not inherited by a fork. */
static inline int sh_context_valid(struct ibv_context *context)
{
    return sh_context(context)->proc_id == sh_proc.id;
}

static inline sh_rq_t *sh_qp_rq(sh_qp_t *qp)
{
    return (qp->super.srq != NULL) ? &((sh_srq_t *)(void *)qp->super.srq)->rq : &qp->rq;
}

/*
 * context.c
 */

/** Read the settings, unless a context is open. */
void sh_proc_settings(void);

/*
 * device.c
 */
/** The address of the port: on Ethernet the GID, which belongs to a LID that nobody sees. */
void sh_context_gid(struct ibv_context *context, union ibv_gid *gid);

/** @return The LID that an address leads to; 0: none. */
uint16_t sh_device_lid_of(const struct ibv_ah_attr *ah);

static inline uint16_t sh_context_lid(struct ibv_context *context)
{
    return __atomic_load_n(&sh_context(context)->lid, __ATOMIC_RELAXED);
}

void sh_query_device(unsigned index, struct ibv_device_attr *attr);
int sh_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                  size_t size);

/** Set the functions that programs call through the context. */
void sh_context_set_ops(struct verbs_context *verbs);

/*
 * event.c
 */
int sh_event_queue_init(sh_event_queue_t *queue);
void sh_event_queue_cleanup(sh_event_queue_t *queue);

/** Tell the program that something happened to @a element of the event. */
void sh_async_event(struct ibv_context *context, enum ibv_event_type type, void *element);

/** Give one event to the channel of a CQ. */
void sh_channel_event(sh_channel_t *channel, struct ibv_cq *cq);

/**
 * Remove the events of an object that is being destroyed, which nobody has got yet, and
 * wait until those that somebody got are acknowledged.
 */
void sh_async_remove(struct ibv_context *context, void *element, pthread_mutex_t *mutex,
                     pthread_cond_t *cond, const uint32_t *given, const uint32_t *acked);
void sh_channel_remove(sh_channel_t *channel, sh_cq_t *cq);

/*
 * mr.c
 */

/**
 * Find a region by its key for an access, which goes on until sh_mr_put().
 * @param access The rights that are needed, all of them.
 * @param local  Set to the memory.
 * @return The region, or NULL.
 */
sh_mr_t *sh_mr_get(const struct ibv_pd *pd, uint32_t key, uint64_t address,
                   uint64_t length, unsigned access, void **local);
void sh_mr_put(sh_mr_t *mr);

/** The same for a region that sh_mr_get() has found, for one more access before sh_mr_put().
 * @return The memory, or NULL: it is another one. */
void *sh_mr_again(const sh_mr_t *mr, const struct ibv_pd *pd, uint32_t key,
                  uint64_t address, uint64_t length, unsigned access);

/** Forget all regions: they were a parent process's, or the last context is closed. */
void sh_mr_forget(void);

/*
 * cq.c
 */

/**
 * Add a completion.
 * @param sq_count Of a send, see sh_cqe_t; 0 for a receive.
 * @return 0, or -1 if the queue overran.
 */
int sh_cq_push(sh_cq_t *cq, sh_qp_t *qp, const struct ibv_wc *wc, uint64_t sq_count,
               int solicited);

/** Add a completion that the program is to see at a time, but not before those of the same
 * queue. No agent has to be awake then, unless the program waits for an event. */
int sh_cq_push_at(sh_cq_t *cq, sh_qp_t *qp, const struct ibv_wc *wc, uint64_t sq_count,
                  int solicited, uint64_t due);

/** As sh_cq_push_at(), with cq->lock held. */
int sh_cq_add(sh_cq_t *cq, sh_qp_t *qp, const struct ibv_wc *wc, uint64_t sq_count,
              int solicited, uint64_t due);

/** Let go of cq->lock, unless @a cq is NULL. */
static inline void sh_cq_unlock(sh_cq_t *cq)
{
    if (cq != NULL) {
        pthread_mutex_unlock(&cq->lock);
    }
}

/** Forget the completions of a QP that is destroyed or reset. */
void sh_cq_purge(sh_cq_t *cq, const sh_qp_t *qp);
void sh_cq_set_ops(struct ibv_context_ops *ops);
struct ibv_cq_ex *sh_create_cq_ex(struct ibv_context *context,
                                  struct ibv_cq_init_attr_ex *attr);
void sh_cq_set_ex(sh_cq_t *cq);

/*
 * rq.c
 */
int sh_rq_init(sh_rq_t *rq, uint32_t max_wr, uint32_t max_sge);
void sh_rq_cleanup(sh_rq_t *rq);
int sh_rq_post(sh_rq_t *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/** What a receive takes, with as many entries as there may be. */
static inline size_t sh_rq_stride(const sh_rq_t *rq)
{
    return offsetof(sh_recv_wqe_t, sge) + rq->max_sge * sizeof(struct ibv_sge);
}

static inline sh_recv_wqe_t *sh_rq_at(const sh_rq_t *rq, uint64_t count)
{
    return (sh_recv_wqe_t *)(void *)(rq->ring +
                                     (count & (rq->size - 1)) * sh_rq_stride(rq));
}

/** Take the next receive. @return 0, or -1 if there is none. */
int sh_rq_take(sh_qp_t *qp, sh_recv_wqe_t *wqe);

static inline int sh_rq_is_empty(sh_rq_t *rq)
{
    return __atomic_load_n(&rq->head, __ATOMIC_RELAXED) ==
           __atomic_load_n(&rq->tail, __ATOMIC_RELAXED);
}

/** Put it back, because what came in was not complete. */
void sh_rq_untake(sh_qp_t *qp, const sh_recv_wqe_t *wqe);
uint64_t sh_rq_capacity(const sh_recv_wqe_t *wqe);
int sh_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad_wr);

/*
 * qp.c, qp_modify.c
 */
sh_qp_t *sh_qp_find(uint32_t qpn);
struct ibv_qp *sh_create_qp_ex(struct ibv_context *context,
                               struct ibv_qp_init_attr_ex *attr);

/**
 * Move a QP into the error state: what is in its queues is flushed. With sh_proc.lock and
 * sq_lock held.
 * @param event An async event to give, or -1.
 */
void sh_qp_error(sh_qp_t *qp, int event);

/** A QP leaves the states in which its requests are executed: from now on no other process
 * touches memory for them. With sh_proc.lock and sq_lock held. */
void sh_qp_end_epoch(sh_qp_t *qp);

/*
 * post.c
 */
int sh_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int sh_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/*
 * requester.c
 */

/** Send what can be sent. With sq_lock held. */
void sh_sq_progress(sh_qp_t *qp);

/** An answer came in. With sh_proc.lock held. */
void sh_requester_answer(sh_qp_t *qp, const sh_msg_t *msg);

/** The agent was asked to look at the QP, or its timer is over. With sh_proc.lock held. */
void sh_requester_attend(sh_qp_t *qp, uint64_t now);

/** Complete the oldest work request. With sq_lock held. */
void sh_sq_complete(sh_qp_t *qp, enum ibv_wc_status status);

/** As sh_sq_complete(), with a completion that is seen at the time @a due. */
void sh_sq_complete_at(sh_qp_t *qp, enum ibv_wc_status status, uint64_t due);

/** Complete all with an error. With sq_lock held. */
void sh_sq_flush(sh_qp_t *qp);

/** The queue is emptied, or goes: it waits for nothing. With sq_lock held. */
void sh_sq_unwanted(sh_qp_t *qp);

static inline sh_send_wqe_t *sh_sq_at(sh_sq_t *sq, uint64_t count)
{
    return &sq->ring[count & (sq->size - 1)];
}

/*
 * responder.c
 */
void sh_responder_request(sh_qp_t *qp, unsigned slot, pid_t pid, const sh_msg_t *msg);

/** Answer a request for a QP that is not there. */
void sh_responder_nobody(unsigned slot, const sh_msg_t *msg);

/** Send the acknowledgements of this batch. */
void sh_responder_flush_acks(void);

/** Drop what is under way for a QP. With sh_proc.lock held. */
void sh_responder_purge(sh_qp_t *qp);

/*
 * ud.c
 */

/**
 * Send a datagram, or several with faults. With sq_lock held.
 * @param status Set to that of the work request.
 * @param gone   Set to the time when it will have left, or 0.
 * @return 0, or EAGAIN: try again when the agent is woken.
 */
int sh_ud_send(sh_qp_t *qp, sh_send_wqe_t *wqe, enum ibv_wc_status *status,
               uint64_t *gone);
void sh_ud_receive(sh_qp_t *qp, pid_t pid, const sh_msg_t *msg,
                   const struct iovec data[2]);

/*
 * ud_stage.c
 */

/** Fetch the data of a work request, and of some of those behind it. With sq_lock held.
 * @return The data, or NULL: its list has to be looked at. */
const void *sh_ud_stage(sh_qp_t *qp, uint64_t number);

/** Forget what was fetched. */
void sh_ud_unstage(sh_qp_t *qp);

/*
 * ud_arrive.c
 */

/** Give a datagram the next receive, with a completion at the time @a due. Its data stay where
 * they are until sh_ud_flush(). With sh_proc.lock held.
 * @param pid Of the sender.
 * @return 0, or -1 if there is none, or too short a one. */
int sh_ud_accept(sh_qp_t *qp, pid_t pid, const sh_msg_t *msg, const struct iovec data[2],
                 uint64_t due);

/** Write what was accepted, and complete it. With sh_proc.lock held. */
void sh_ud_flush(void);

#endif
