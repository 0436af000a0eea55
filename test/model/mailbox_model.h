/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A model of the mailbox for small one-sided operations (docs/protocol.md, section 11): one slot, its
 * origin with a program of operations, and a target with two threads that may look, one of which
 * sleeps until it is called. Each step is one access to shared memory, so all interleavings of the two
 * processes are gone through. The target may stop anywhere, for good too; the origin may lose its
 * patience anywhere, and may die: then another one takes its slot.
 *
 * It has nothing of the library in it: what src/uct/shm/mailbox.c, src/ucp/rma/mail.c, serve.c and
 * attend.c do is written down once more, step by step.
 */
#ifndef MAILBOX_MODEL_H
#define MAILBOX_MODEL_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

constexpr int MAX_OPS = 4; /* of one origin */
constexpr int ORIGINS = 2; /* one after the other */
constexpr int DEPTH   = 2; /* entries of the slot */

/* What the rules are; each can be left out, and must be missed. */
enum mutation_t : uint8_t {
    MUT_NONE,
    MUT_NUMBER,         /* a state does not tell the number of its operation */
    MUT_SERVE_CAS,      /* the target takes an operation without compare-and-swap */
    MUT_WITHDRAW_CAS,   /* the origin withdraws one without compare-and-swap */
    MUT_WITHDRAW_FIRST, /* the origin withdraws the earliest first */
    MUT_COPY_EARLY, /* it does what it has withdrawn before all in front of that is over */
    MUT_COPY_ORDER,  /* ... and the latest first */
    MUT_ROOM,        /* for room it withdraws the oldest one alone */
    MUT_UNMAP_LOCK,  /* memory is unmapped while the target works on it */
    MUT_LATE_CALLS,  /* the thread looks at the calls behind the operations */
    MUT_CALL_SILENT, /* the origin does not wake the thread */
    MUT_SLOT_CLEAR,  /* what a dead origin has posted stays in its slot */
    MUT_SLOT_BUSY,   /* ... or is cleared while the target is at it */
    MUT_TWO_SERVE,   /* two threads of the target serve at the same time */
    MUT_LAST
};

struct mutation_name_t {
    const char *name, *config, *text;
};
extern const mutation_name_t mutation_names[MUT_LAST];

/* What an origin does: P a put, A an atomic operation that it waits for, C one that the thread is
 * called for if it is withdrawn. At the end it settles. */
struct mailbox_config_t {
    const char *name;
    const char *program[ORIGINS];
    bool has_thread, unmaps, target_dies, origin_dies;
    const char *text;
};
extern const std::vector<mailbox_config_t> mailbox_configs;

enum entry_status_t : uint8_t {
    FREE,
    POSTED,
    SERVING,
    DONE,
    REFUSED
};

struct entry_t {
    uint8_t status, number, op;
};

enum server_at_t : uint8_t {
    SERVER_IDLE,  /* the thread: it looks at the calls */
    SERVER_LOCK,  /* it waits for the lock */
    SERVER_LOOK,  /* at the doorbell */
    SERVER_TAKE,  /* the entry of the next number */
    SERVER_STORE, /* without compare-and-swap: the entry's state, behind a look at it */
    SERVER_COPY,  /* the operation */
    SERVER_CHECK, /* the memory */
    SERVER_APPLY,
    SERVER_REFUSE,
    SERVER_END,  /* has applied */
    SERVER_FALL, /* the thread: asleep, unless it was called meanwhile */
    SERVER_ASLEEP
};

struct server_t {
    uint8_t at, number, end, op, calls;
};

enum origin_at_t : uint8_t {
    ORIGIN_NEXT,     /* the next operation of its program */
    ORIGIN_WRITE,    /* the entry */
    ORIGIN_STATE,    /* the entry's state */
    ORIGIN_RING,     /* the doorbell */
    ORIGIN_CALL,     /* counts the call */
    ORIGIN_WAKE,     /* wakes the thread */
    ORIGIN_WAIT,     /* for number, in front of end */
    ORIGIN_WITHDRAW, /* withdraws, from reached on down to number */
    ORIGIN_BEGUN,    /* waits for number, which the target has begun with */
    ORIGIN_SETTLE,   /* takes what is over, and does what is withdrawn, from oldest on */
    ORIGIN_CLAIM,    /* another process: takes the slot */
    ORIGIN_FINISHED
};

/* What the origin does behind a wait. */
enum goal_t : uint8_t {
    GOAL_ROOM,
    GOAL_ASK,
    GOAL_END
};

struct origin_t {
    uint8_t id, at, op, goal, calling;
    uint8_t next, oldest; /* operations that were posted, and that are not over */
    uint8_t upto;         /* which are waited for now */
    uint8_t number, end,
            reached;       /* where the wait is; end falls when some are withdrawn */
    uint8_t posted[DEPTH]; /* operation of each entry: what it keeps itself */
};

struct state_t {
    uint8_t mapped, freed, lock, unmap_at;
    uint8_t target_is_dead, doorbell, seen, calls;
    entry_t entry[DEPTH];
    server_t server[2]; /* 0: the main thread */
    origin_t origin;
    /* what nobody sees */
    uint8_t applied[ORIGINS][MAX_OPS];
    uint8_t ended[ORIGINS][MAX_OPS]; /* nothing may happen to it any more */
    uint8_t lost[ORIGINS][MAX_OPS];
    uint8_t is_over[ORIGINS]; /* of a dead one: another one has its slot */

    bool operator==(const state_t &other) const
    {
        return memcmp(this, &other, sizeof(other)) == 0;
    }
};

class mailbox_model_t {
public:
    mailbox_model_t(const mailbox_config_t &config, mutation_t mutation)
        : m_config(config), m_mutation(mutation)
    {
    }

    state_t start() const;

    struct step_t {
        std::string text;
        state_t state;
        std::string error;
    };

    /* All that can happen next. */
    std::vector<step_t> steps(const state_t &state);

    /* What is wrong where nothing can happen any more but that the target goes on; "": nothing. */
    std::string check_end(const state_t &state) const;

private:
    void add(const std::string &text, const state_t &state);
    void apply(state_t *state, int origin, int op, const char *by);
    void server_steps(const state_t &state, int which);
    void server_take_steps(state_t next, int which);
    void server_serve_steps(const state_t &state, int which);
    void unmap_steps(const state_t &state);
    void origin_steps(const state_t &state);
    void origin_next(state_t state);
    void origin_ring_steps(state_t next);
    void origin_wait_steps(const state_t &state);
    void origin_withdraw_steps(state_t state);
    void origin_begun_steps(const state_t &state);
    uint8_t origin_to_settle(const state_t &state) const;
    void origin_settle_steps(state_t state);
    void origin_claim_steps(state_t state);
    void origin_waits(state_t *state, uint8_t end, goal_t goal);
    void origin_reached(state_t *state);
    void origin_begun_or_settle(state_t *state);
    bool is_over(const state_t &state, uint8_t number) const;
    bool may_serve(const state_t &state) const;
    char kind(const state_t &state, int op) const;

    const mailbox_config_t &m_config;
    const mutation_t m_mutation;
    std::vector<step_t> m_steps;
    std::string m_error;
};

#endif
