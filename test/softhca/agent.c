/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A turn looks at QPs that need attention, sends messages that were kept, takes messages out of the
 * rings, and makes the calls that are due, in this order. Whoever does a turn holds sh_proc.lock:
 * the agent's thread, a thread of the program that polls or sends datagrams and finds the lock
 * free, or a verb that is about to change a QP. Between turns the agent's thread sleeps on a futex,
 * or waits awake for what is due soon. While a thread polls again and again, the agent's thread
 * wakes up from time to time only, and other processes do not wake it. README.md has the reasons
 * ("Implementation").
 */
#include "agent.h"
#include "calls.h"
#include "counters.h"
#include "fabric.h"
#include "link.h"
#include "util.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a sleep takes from a thread that computes on the same core, in a virtual machine: there a
 * timer is some 20 us. What is due before is waited for awake. */
#define AGENT_SPIN_NS 15000

/* Sleeps end late. So each is asked to end this number of ns earlier. */
#define AGENT_EARLY_NS 3000

/* Polls that are not further apart, and at least this number of them, are likely to go on. After a
 * longer pause, in which the thread has copied something perhaps, a few are enough; after one that
 * is longer still it has computed. If it had polled for so long before that, the machine has rather
 * given the core to others: of a virtual one this may be so a thousand times in a second. */
#define AGENT_STEADY_NS    5000
#define AGENT_PAUSE_NS     50000
#define AGENT_LONG_NS      1000000
#define AGENT_STOPPED_NS   250000
#define AGENT_STEADY_POLLS 16
#define AGENT_AGAIN_POLLS  12

/* And for so long: to tell the agent takes as long as to be woken by a message or two. */
#define AGENT_STEADY_FOR_NS 60000

/* After a pause in which the thread has computed the agent is on its own again: longer than
 * PEERS_POLLED_NS, within which others rely on the polls. Until then it looks only so often whether
 * something was left over: each time is one that the thread does not have, so less often the longer
 * it polls. */
#define AGENT_TICK_NS      100000
#define AGENT_TICK_MOST_NS 1600000

/* So long what is due keeps a thread that polls from what is complete. */
#define AGENT_TURN_NS 20000

/* So long ago a poll counts as one of now: PEERS_POLLED_NS. */
#define AGENT_RECENT_NS 10000

/* A full ring's reader wakes the agent; this is for one that has died. */
#define AGENT_STALL_NS 1000000

static struct {
    pthread_t thread;
    int stop;
    /* QPs to look at; with attention_lock */
    pthread_mutex_t attention_lock;
    sh_qp_t *attention;
    sh_qp_t **attention_end;
    unsigned attention_count;
    int urgent;       /* one was added that is not stalled */
    unsigned waiting; /* control verbs that want sh_proc.lock */
    /* Threads that poll */
    uint64_t polled;      /* when somebody did last */
    unsigned quick_polls; /* in succession */
    uint64_t since;       /* when they began */
    uint64_t steady;      /* when somebody did last who will do it again soon */
    int ticking;          /* awake, or sleeping for a tick at most */
    uint64_t tick;        /* how long that is */
    int rung;             /* it was woken */
} agent;

static int agent_list(sh_qp_t *qp)
{
    int added = 0;

    pthread_mutex_lock(&agent.attention_lock);
    if (!qp->attention) {
        qp->attention        = 1;
        qp->attention_next   = NULL;
        *agent.attention_end = qp;
        agent.attention_end  = &qp->attention_next;
        __atomic_fetch_add(&agent.attention_count, 1, __ATOMIC_RELAXED);
        added = 1;
    }
    pthread_mutex_unlock(&agent.attention_lock);
    return added;
}

void sh_agent_attend(sh_qp_t *qp)
{
    agent_list(qp);
    __atomic_store_n(&agent.urgent, 1, __ATOMIC_SEQ_CST);
    sh_fabric_kick();
}

void sh_agent_stall(sh_qp_t *qp)
{
    /* The agent may sleep without a limit */
    if (agent_list(qp)) {
        sh_fabric_kick();
    }
}

void sh_agent_unattend(sh_qp_t *qp)
{
    sh_qp_t **link;

    pthread_mutex_lock(&agent.attention_lock);
    for (link = &agent.attention; *link != NULL; link = &(*link)->attention_next) {
        if (*link == qp) {
            *link = qp->attention_next;
            if (agent.attention_end == &qp->attention_next) {
                agent.attention_end = link;
            }
            __atomic_fetch_sub(&agent.attention_count, 1, __ATOMIC_RELAXED);
            break;
        }
    }
    qp->attention = 0;
    pthread_mutex_unlock(&agent.attention_lock);
}

/* Look at those that are in the list now; they may come again. */
static void agent_attend_all(uint64_t now)
{
    unsigned count;
    sh_qp_t *qp;

    __atomic_store_n(&agent.urgent, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&agent.attention_lock);
    for (count = agent.attention_count; count > 0; --count) {
        qp              = agent.attention;
        agent.attention = qp->attention_next;
        qp->attention   = 0;
        __atomic_fetch_sub(&agent.attention_count, 1, __ATOMIC_RELAXED);
        if (agent.attention == NULL) {
            agent.attention_end = &agent.attention;
        }
        pthread_mutex_unlock(&agent.attention_lock);
        sh_requester_attend(qp, now);
        pthread_mutex_lock(&agent.attention_lock);
        if (agent.attention == NULL) {
            break;
        }
    }
    pthread_mutex_unlock(&agent.attention_lock);
}

static int agent_answer_in_bounds(const sh_msg_t *msg)
{
    return (msg->size == sizeof(*msg)) && (msg->answer < SH_ANSWER_LAST);
}

static void agent_answer(void *data, int dropped)
{
    sh_msg_t *msg = data;
    sh_qp_t *qp;

    if (!dropped && ((qp = sh_qp_find(msg->dst_qpn)) != NULL)) {
        sh_requester_answer(qp, msg);
    }
    free(msg);
}

static void agent_message(unsigned slot, pid_t pid, const sh_msg_t *msg,
                          const struct iovec data[2])
{
    sh_qp_t *qp = sh_qp_find(msg->dst_qpn);
    sh_msg_t *copy;

    /* A process speaks for its own QPs only */
    if (sh_qpn_slot(msg->src_qpn) != slot) {
        sh_count(malformed, 1);
        return;
    }
    switch (msg->type) {
    case SH_MSG_REQUEST:
        if ((qp == NULL) || (qp->super.qp_type != IBV_QPT_RC)) {
            sh_responder_nobody(slot, msg);
        } else {
            sh_responder_request(qp, slot, pid, msg);
        }
        break;
    case SH_MSG_ANSWER:
        if (!agent_answer_in_bounds(msg)) {
            sh_count(malformed, 1);
        } else if (qp == NULL) {
            break;
        } else if (!sh_settings.link.enabled) {
            sh_requester_answer(qp, msg);
        } else if ((copy = malloc(sizeof(*copy))) != NULL) {
            *copy = *msg;
            /* The program polls for it, or has said that it wants it */
            if (sh_agent_at_poll(sh_link_answer(msg), agent_answer, copy, qp,
                                 (sh_cq_t *)(void *)qp->super.send_cq)) {
                free(copy);
            }
        }
        break;
    case SH_MSG_DATAGRAM:
        if (qp == NULL) {
            sh_count(ud_drops, 1);
        } else {
            sh_ud_receive(qp, pid, msg, data);
        }
        break;
    default:
        sh_count(malformed, 1);
    }
}

/* Everything that can be done now. With sh_proc.lock held. @return How much that was. */
static unsigned agent_turn(void)
{
    uint64_t end = sh_now() + AGENT_TURN_NS;
    unsigned work;

    __atomic_store_n(&sh_fabric_inbox()->room, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&agent.attention_count, __ATOMIC_RELAXED) > 0) {
        agent_attend_all(sh_now());
    }
    sh_fabric_flush();
    work = sh_fabric_receive(agent_message, sh_ud_flush);
    while (sh_calls_make(sh_now())) {
        ++work;
        if (__atomic_load_n(&agent.waiting, __ATOMIC_RELAXED) || (sh_now() > end)) {
            break;
        }
    }
    sh_ud_flush();
    sh_responder_flush_acks();
    return work;
}

/* On a core with the agent a thread does not poll while that works, and would seem to have stopped:
 * then the agent would be woken for all that comes, and keep the thread from it for ever. */
static void agent_worked(uint64_t polled, uint64_t began)
{
    uint64_t now = sh_now();

    if (began > polled) {
        __atomic_compare_exchange_n(&agent.polled, &polled, now - (began - polled), 0,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

/* @param polled  When the thread did last.
 * @return How long a pause has to be in which it has computed. */
static uint64_t agent_pause(uint64_t polled)
{
    uint64_t since = __atomic_load_n(&agent.since, __ATOMIC_RELAXED);

    return (polled - since < AGENT_LONG_NS) ? AGENT_PAUSE_NS : AGENT_STOPPED_NS;
}

/* A thread may have polled after @a now. */
static int agent_is_steady(uint64_t now)
{
    uint64_t steady = __atomic_load_n(&agent.steady, __ATOMIC_SEQ_CST);

    return now < steady + agent_pause(steady);
}

static unsigned agent_work(void)
{
    uint64_t polled = __atomic_load_n(&agent.polled, __ATOMIC_RELAXED);
    uint64_t began  = sh_now();
    unsigned work;

    pthread_mutex_lock(&sh_proc.lock);
    work = agent_turn();
    pthread_mutex_unlock(&sh_proc.lock);
    sh_fabric_wake();
    agent_worked(polled, began);
    return work;
}

/* Nobody wakes the agent while a thread polls; it does so itself from time to time. For
 * that, it must know of the thread before others do: either the thread sees that the agent
 * does not tick, and wakes it, or the agent sees the poll. */
void sh_agent_polled(uint64_t now)
{
    uint64_t pause = now - __atomic_exchange_n(&agent.polled, now, __ATOMIC_RELAXED);
    unsigned quick = __atomic_load_n(&agent.quick_polls, __ATOMIC_RELAXED);

    if (pause >= AGENT_STEADY_NS) {
        quick = sh_min(quick, AGENT_AGAIN_POLLS);
        if (pause >= agent_pause(now - pause)) {
            quick = 0;
            __atomic_store_n(&agent.since, now, __ATOMIC_RELAXED);
        }
        __atomic_store_n(&agent.quick_polls, quick, __ATOMIC_RELAXED);
        return;
    }
    if (quick < AGENT_STEADY_POLLS) {
        __atomic_fetch_add(&agent.quick_polls, 1, __ATOMIC_RELAXED);
        return;
    }
    if (now - __atomic_load_n(&agent.since, __ATOMIC_RELAXED) < AGENT_STEADY_FOR_NS) {
        return;
    }
    __atomic_store_n(&agent.steady, now, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&agent.ticking, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&sh_fabric_inbox()->polled, now, __ATOMIC_RELAXED);
    } else {
        sh_fabric_rouse();
    }
}

/* How long ago a thread polled that does so again and again. */
static uint64_t agent_polled_before(void)
{
    uint64_t polled = __atomic_load_n(&sh_fabric_inbox()->polled, __ATOMIC_RELAXED);
    uint64_t now    = sh_now();

    return (now > polled) ? now - polled : 0;
}

uint64_t sh_agent_enter(void)
{
    __atomic_fetch_add(&sh_fabric_inbox()->busy, 1, __ATOMIC_SEQ_CST);
    return agent_polled_before();
}

void sh_agent_leave(uint64_t before)
{
    uint64_t polled = sh_now() - before;

    /* As in sh_agent_polled() */
    if (before < AGENT_RECENT_NS) {
        __atomic_store_n(&agent.steady, polled, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&agent.ticking, __ATOMIC_SEQ_CST)) {
            __atomic_store_n(&sh_fabric_inbox()->polled, polled, __ATOMIC_RELAXED);
        }
    }
    __atomic_fetch_sub(&sh_fabric_inbox()->busy, 1, __ATOMIC_SEQ_CST);
    if (sh_fabric_pending()) {
        sh_fabric_kick();
    }
}

/* @return Whether it could be done. */
static int agent_try_turn(void)
{
    if (__atomic_load_n(&agent.waiting, __ATOMIC_RELAXED) ||
        pthread_mutex_trylock(&sh_proc.lock)) {
        return 0;
    }
    sh_count(helps, 1);
    agent_turn();
    pthread_mutex_unlock(&sh_proc.lock);
    sh_fabric_wake();
    return 1;
}

void sh_agent_help(uint64_t now)
{
    uint64_t before;
    int done;

    if (!sh_fabric_pending() && !__atomic_load_n(&agent.urgent, __ATOMIC_RELAXED) &&
        (sh_calls_due() > now)) {
        return;
    }
    before = sh_agent_enter();
    done   = agent_try_turn();
    sh_agent_leave(before);
    if (done) {
        /* That was no pause */
        __atomic_store_n(&agent.polled, sh_now(), __ATOMIC_RELAXED);
    }
}

void sh_agent_meanwhile(void)
{
    if (sh_fabric_pending()) {
        agent_try_turn();
    }
}

void sh_agent_catch_up(void)
{
    agent_turn();
}

void sh_agent_want(const sh_cq_t *cq, int more)
{
    uint32_t *wanted = &sh_fabric_inbox()->wanted[cq->want];

    if (!more) {
        __atomic_fetch_sub(wanted, 1, __ATOMIC_SEQ_CST);
        return;
    }
    __atomic_fetch_add(wanted, 1, __ATOMIC_SEQ_CST);
    if (sh_calls_promote() || sh_fabric_pending()) {
        sh_fabric_ring();
    }
}

void sh_agent_alone(void)
{
    __atomic_store_n(&agent.quick_polls, 0, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&agent.steady, 0, __ATOMIC_SEQ_CST) != 0) {
        __atomic_store_n(&sh_fabric_inbox()->polled, 0, __ATOMIC_SEQ_CST);
        sh_fabric_rouse();
    }
}

/* Whether a thread polls. @return 0 if the agent is on its own, and others know it. */
static int agent_is_helped(uint64_t now)
{
    if (agent_is_steady(now)) {
        return 1;
    }
    __atomic_store_n(&agent.ticking, 0, __ATOMIC_SEQ_CST);
    if (!agent_is_steady(now)) {
        return 0;
    }
    __atomic_store_n(&agent.ticking, 1, __ATOMIC_SEQ_CST);
    return 1;
}

/* Until when to sleep if no thread polls; 0: it is not worth it. */
static uint64_t agent_bedtime(uint64_t now)
{
    uint64_t until = sh_calls_sleep(now + AGENT_SPIN_NS);

    if (__atomic_load_n(&agent.attention_count, __ATOMIC_RELAXED) > 0) {
        until = sh_min(until, now + AGENT_STALL_NS);
    }
    if (until <= now + AGENT_SPIN_NS) {
        return 0;
    }
    return (until == UINT64_MAX) ? until : until - AGENT_EARLY_NS;
}

static void agent_wait(uint32_t doorbell, uint64_t until)
{
    struct timespec ts = {.tv_sec  = (time_t)(until / 1000000000UL),
                          .tv_nsec = (long)(until % 1000000000UL)};

    sh_count(sleeps, 1);
    syscall(SYS_futex, &sh_fabric_inbox()->doorbell, FUTEX_WAIT_BITSET, doorbell,
            (until == UINT64_MAX) ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* Sleep until somebody rings or something is due. */
static void agent_sleep(uint32_t doorbell)
{
    sh_inbox_t *inbox = sh_fabric_inbox();
    uint64_t now      = sh_now();
    uint64_t until;
    int helped;

    /* First: who adds something from now on rings */
    __atomic_store_n(&inbox->asleep, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    helped = agent_is_helped(now);
    until  = (helped && !agent.rung) ? UINT64_MAX : agent_bedtime(now);
    if (helped) {
        until = sh_min(until, now + agent.tick);
    }
    if (until == 0) {
        __atomic_store_n(&inbox->asleep, 0, __ATOMIC_RELAXED);
        __builtin_ia32_pause();
        return;
    }
    if (!__atomic_load_n(&agent.stop, __ATOMIC_RELAXED) &&
        (helped ||
         (!sh_fabric_pending() && !__atomic_load_n(&agent.urgent, __ATOMIC_SEQ_CST)))) {
        agent_wait(doorbell, until);
    }
    /* Others do not see the thread poll */
    agent.rung = __atomic_load_n(&inbox->doorbell, __ATOMIC_RELAXED) != doorbell;
    __atomic_store_n(&inbox->asleep, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&agent.ticking, 1, __ATOMIC_SEQ_CST);
    agent.tick = helped ? sh_min(2 * agent.tick, AGENT_TICK_MOST_NS) : AGENT_TICK_NS;
    sh_calls_awake();
}

/* Its turns are short, and a computing thread must not delay them. */
static void agent_set_priority(void)
{
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};

    prctl(PR_SET_NAME, "softhca", 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param)) {
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -10);
    }
}

static void *agent_main(void *arg)
{
    sh_inbox_t *inbox = sh_fabric_inbox();
    unsigned tries;
    uint32_t doorbell;

    agent_set_priority();
    while (!__atomic_load_n(&agent.stop, __ATOMIC_ACQUIRE)) {
        doorbell = __atomic_load_n(&inbox->doorbell, __ATOMIC_ACQUIRE);
        if (agent_work() == 0) {
            agent_sleep(doorbell);
        }
        for (tries = 0;
             (tries < 100) && __atomic_load_n(&agent.waiting, __ATOMIC_RELAXED);
             ++tries) {
            sh_sleep_ns(1000);
        }
    }
    return arg;
}

void sh_control_lock(void)
{
    __atomic_fetch_add(&agent.waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&sh_proc.lock);
    __atomic_fetch_sub(&agent.waiting, 1, __ATOMIC_RELAXED);
}

void sh_control_unlock(void)
{
    pthread_mutex_unlock(&sh_proc.lock);
    if (sh_proc.attached) {
        sh_fabric_wake();
    }
}

int sh_agent_start(void)
{
    sigset_t all, old;
    int error;

    sh_agent_forget();
    /* Signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&agent.thread, NULL, agent_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

void sh_agent_stop(void)
{
    __atomic_store_n(&agent.stop, 1, __ATOMIC_SEQ_CST);
    sh_fabric_rouse();
    pthread_join(agent.thread, NULL);
    sh_calls_cleanup();
}

void sh_agent_forked(void)
{
    agent.waiting = 0; /* those threads are the parent's */
    sh_agent_forget();
}

void sh_agent_forget(void)
{
    unsigned waiting = agent.waiting;

    memset(&agent, 0, sizeof(agent));
    agent.waiting = waiting;
    sh_calls_init();
    sh_mutex_init(&agent.attention_lock);
    agent.attention_end = &agent.attention;
    agent.ticking       = 1;
    agent.tick          = AGENT_TICK_NS;
}
