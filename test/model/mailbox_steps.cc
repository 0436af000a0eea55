/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What the target and the origin of a mailbox do, a step at a time. */

#include "mailbox_model.h"

enum {
    UNLOCKED,
    LOCKED_BY_MAIN,
    LOCKED_BY_THREAD,
    LOCKED_BY_UNMAP
};

static const char *const names[] = {"main", "thread"};

static std::string text_of(const char *who, const char *what, int number)
{
    return std::string(who) + " " + what + " " + std::to_string(number);
}

state_t mailbox_model_t::start() const
{
    state_t state;

    memset(&state, 0, sizeof(state));
    state.mapped = 1;
    return state;
}

void mailbox_model_t::add(const std::string &text, const state_t &state)
{
    m_steps.push_back({text, state, m_error});
    m_error.clear();
}

char mailbox_model_t::kind(const state_t &state, int op) const
{
    return m_config.program[state.origin.id][op];
}

/* An operation changes the memory: once, behind all that come before it, and not when its origin knows
 * that it did not. */
void mailbox_model_t::apply(state_t *state, int origin, int op, const char *by)
{
    std::string name = std::string(1, "ab"[origin]) + std::to_string(op + 1);

    if (state->applied[origin][op]++) {
        m_error = name + " is carried out twice, the second time by " + by;
    }
    if (state->ended[origin][op]) {
        m_error = name + " is carried out by " + by + " when it has ended";
    }
    if (state->is_over[origin]) {
        m_error = name + " is carried out by " + by +
                  ", though its slot is another one's";
    }
    for (int later = op + 1; later < MAX_OPS; ++later) {
        if (state->applied[origin][later]) {
            m_error = name + " is carried out by " + by + " behind a later one";
        }
    }
    if (state->freed && strcmp(by, "origin")) {
        m_error = std::string("memory is used by ") + by + " when it is unmapped";
    }
}

/* The target */

bool mailbox_model_t::may_serve(const state_t &state) const
{
    return (state.lock == UNLOCKED) ||
           ((m_mutation == MUT_TWO_SERVE) && (state.lock != LOCKED_BY_UNMAP));
}

void mailbox_model_t::server_steps(const state_t &state, int which)
{
    const server_t &now = state.server[which];
    state_t next        = state;
    server_t &server    = next.server[which];

    if (state.target_is_dead || ((which == 1) && !m_config.has_thread)) {
        return;
    }
    switch (now.at) {
    case SERVER_IDLE:
        if (which == 0) {
            /* In progress, which may come at any time, or never */
            if ((state.doorbell != state.seen) && may_serve(state)) {
                next.lock = LOCKED_BY_MAIN;
                server.at = SERVER_LOOK;
                add("main locks", next);
            }
            break;
        }
        if (m_mutation != MUT_LATE_CALLS) {
            server.calls = state.calls;
        }
        server.at = SERVER_LOCK;
        add("thread sees the calls", next);
        break;
    case SERVER_LOCK:
        if (may_serve(state)) {
            next.lock = LOCKED_BY_THREAD;
            server.at = SERVER_LOOK;
            add("thread locks", next);
        }
        break;
    case SERVER_FALL:
        if (m_mutation == MUT_LATE_CALLS) {
            server.calls = state.calls;
        }
        server.at = (state.calls == server.calls) ? SERVER_ASLEEP : SERVER_IDLE;
        add((server.at == SERVER_ASLEEP) ? "thread falls asleep" : "thread was called",
            next);
        break;
    case SERVER_ASLEEP:
        break;
    default:
        server_serve_steps(state, which);
    }
}

/* The next entry up to the doorbell is taken, or there is none. */
void mailbox_model_t::server_take_steps(state_t next, int which)
{
    server_t &server = next.server[which];
    entry_t &entry   = next.entry[server.number % DEPTH];

    if (server.number == server.end) {
        next.lock = UNLOCKED;
        server.at = (which == 1) ? SERVER_FALL : SERVER_IDLE;
        add(std::string(names[which]) + " unlocks", next);
    } else if ((entry.status == POSTED) &&
               ((entry.number == server.number) || (m_mutation == MUT_NUMBER))) {
        if (m_mutation == MUT_SERVE_CAS) {
            server.at = SERVER_STORE;
        } else {
            entry.status = SERVING;
            server.at    = SERVER_COPY;
        }
        add(text_of(names[which], "takes", server.number), next);
    } else {
        ++server.number;
        add(text_of(names[which], "does not find", server.number - 1), next);
    }
}

void mailbox_model_t::server_serve_steps(const state_t &state, int which)
{
    const char *who  = names[which];
    state_t next     = state;
    server_t &server = next.server[which];
    entry_t &entry   = next.entry[server.number % DEPTH];
    int origin       = server.op >> 4;
    int op           = server.op & 15;

    switch (server.at) {
    case SERVER_LOOK:
        server.end    = state.doorbell;
        server.number = state.seen;
        if (uint8_t(server.end - server.number) > DEPTH) {
            server.number = server.end - DEPTH;
        }
        next.seen = server.end;
        server.at = SERVER_TAKE;
        add(text_of(who, "sees the doorbell", server.end), next);
        break;
    case SERVER_TAKE:
        server_take_steps(next, which);
        break;
    case SERVER_STORE:
        entry.status = SERVING;
        server.at    = SERVER_COPY;
        add(text_of(who, "says that it has", server.number), next);
        break;
    case SERVER_COPY:
        server.op = entry.op;
        server.at = SERVER_CHECK;
        add(text_of(who, "copies", server.number), next);
        break;
    case SERVER_CHECK:
        server.at = state.mapped ? SERVER_APPLY : SERVER_REFUSE;
        add(text_of(who, "checks", server.number), next);
        break;
    case SERVER_APPLY:
        apply(&next, origin, op, who);
        server.at = SERVER_END;
        add(text_of(who, "carries out", server.number), next);
        break;
    default:
        entry.status = (server.at == SERVER_END) ? DONE : REFUSED;
        entry.number = server.number;
        ++server.number;
        server.at = SERVER_TAKE;
        add(text_of(who, "ends", server.number - 1), next);
        break;
    }
}

/* The application of the target unmaps its memory, and uses it for something else. */
void mailbox_model_t::unmap_steps(const state_t &state)
{
    state_t next = state;

    if (!m_config.unmaps || state.target_is_dead) {
        return;
    }
    switch (state.unmap_at) {
    case 0:
        if ((state.lock == UNLOCKED) || (m_mutation == MUT_UNMAP_LOCK)) {
            next.unmap_at = 1;
            if (m_mutation != MUT_UNMAP_LOCK) {
                next.lock = LOCKED_BY_UNMAP;
            }
            add("the application unmaps", next);
        }
        break;
    case 1:
        next.mapped   = 0;
        next.unmap_at = 2;
        if (m_mutation != MUT_UNMAP_LOCK) {
            next.lock = UNLOCKED;
        }
        add("the memory is not mapped any more", next);
        break;
    case 2:
        next.freed    = 1;
        next.unmap_at = 3;
        add("the memory is another one's", next);
        break;
    default:
        break;
    }
}

/* The origin */

bool mailbox_model_t::is_over(const state_t &state, uint8_t number) const
{
    uint8_t status = state.entry[number % DEPTH].status;

    return (status == DONE) || (status == REFUSED);
}

void mailbox_model_t::origin_waits(state_t *state, uint8_t end, goal_t goal)
{
    state->origin.number = state->origin.oldest;
    state->origin.end    = end;
    state->origin.upto   = end;
    state->origin.goal   = goal;
    state->origin.at     = ORIGIN_WAIT;
}

/* The next operation, or the end of the program. */
void mailbox_model_t::origin_next(state_t state)
{
    origin_t &origin = state.origin;
    char what        = kind(state, origin.op);

    if (what == '\0') {
        origin_waits(&state, origin.next, GOAL_END);
        add("origin settles", state);
    } else if (uint8_t(origin.next - origin.oldest) == DEPTH) {
        bool is_one = is_over(state, origin.oldest) || (m_mutation == MUT_ROOM);

        origin_waits(&state, is_one ? origin.oldest + 1 : origin.next, GOAL_ROOM);
        add("origin wants room", state);
    } else {
        origin.at = ORIGIN_WRITE;
        add("origin begins with another one", state);
    }
}

/* The doorbell rings for the operation that is posted. */
void mailbox_model_t::origin_ring_steps(state_t next)
{
    origin_t &origin = next.origin;
    char what        = kind(next, origin.op);

    next.doorbell = ++origin.next;
    if (what == 'P') {
        ++origin.op;
        origin.at = ORIGIN_NEXT;
    } else if (origin.calling) {
        origin.at = ORIGIN_CALL;
    } else {
        origin_waits(&next, origin.next, GOAL_ASK);
    }
    add("origin rings", next);
}

void mailbox_model_t::origin_steps(const state_t &state)
{
    state_t next     = state;
    origin_t &origin = next.origin;
    entry_t &entry   = next.entry[origin.next % DEPTH];

    if ((origin.at == ORIGIN_FINISHED) || (origin.at == ORIGIN_CLAIM)) {
        origin_claim_steps(next);
        return;
    }
    switch (origin.at) {
    case ORIGIN_NEXT:
        origin_next(next);
        break;
    case ORIGIN_WRITE:
        entry.op                           = origin.id << 4 | origin.op;
        origin.posted[origin.next % DEPTH] = origin.op;
        origin.at                          = ORIGIN_STATE;
        add(text_of("origin", "writes", origin.next), next);
        break;
    case ORIGIN_STATE:
        entry.status = POSTED;
        entry.number = origin.next;
        origin.at    = ORIGIN_RING;
        add(text_of("origin", "posts", origin.next), next);
        break;
    case ORIGIN_RING:
        origin_ring_steps(next);
        break;
    case ORIGIN_CALL:
        ++next.calls;
        origin.at = ORIGIN_WAKE;
        add("origin counts a call", next);
        break;
    case ORIGIN_WAKE:
        if ((next.server[1].at == SERVER_ASLEEP) && (m_mutation != MUT_CALL_SILENT)) {
            next.server[1].at = SERVER_IDLE;
        }
        origin_waits(&next, origin.next, GOAL_ASK);
        add("origin wakes the thread", next);
        break;
    case ORIGIN_WAIT:
        origin_wait_steps(state);
        break;
    case ORIGIN_WITHDRAW:
        origin_withdraw_steps(next);
        break;
    case ORIGIN_BEGUN:
        origin_begun_steps(state);
        break;
    default:
        origin_settle_steps(next);
        break;
    }
}

void mailbox_model_t::origin_wait_steps(const state_t &state)
{
    state_t next     = state;
    origin_t &origin = next.origin;

    if (origin.number == origin.end) {
        origin.at = ORIGIN_SETTLE;
        add("origin has waited", next);
        return;
    }
    if (is_over(state, origin.number)) {
        ++origin.number;
        add(text_of("origin", "sees the end of", origin.number - 1), next);
        return;
    }
    /* Its patience ends */
    origin.at      = ORIGIN_WITHDRAW;
    origin.reached = (m_mutation == MUT_WITHDRAW_FIRST) ? origin.number : origin.end;
    add(text_of("origin", "does not wait for", origin.number), next);
}

/* What was withdrawn is done when all in front of it is over. */
void mailbox_model_t::origin_begun_or_settle(state_t *state)
{
    origin_t &origin = state->origin;

    origin.at = ((origin.number == origin.end) || (m_mutation == MUT_COPY_EARLY)) ?
                        ORIGIN_SETTLE :
                        ORIGIN_BEGUN;
}

void mailbox_model_t::origin_withdraw_steps(state_t state)
{
    origin_t &origin = state.origin;
    int is_first     = (m_mutation == MUT_WITHDRAW_FIRST);
    uint8_t number   = is_first ? origin.reached : origin.reached - 1;
    entry_t &entry   = state.entry[number % DEPTH];

    if (origin.reached == (is_first ? origin.end : origin.number)) {
        origin.end = is_first ? origin.end : origin.reached;
        origin_begun_or_settle(&state);
        add("origin has withdrawn all", state);
        return;
    }
    if ((entry.status == POSTED) ||
        ((m_mutation == MUT_WITHDRAW_CAS) && (entry.status == SERVING))) {
        entry.status   = FREE;
        origin.reached = is_first ? origin.reached + 1 : number;
        add(text_of("origin", "withdraws", number), state);
    } else {
        if (!is_first) {
            origin.end = origin.reached;
        }
        origin_begun_or_settle(&state);
        add(text_of("origin", "is too late to withdraw", number), state);
    }
}

void mailbox_model_t::origin_begun_steps(const state_t &state)
{
    state_t next     = state;
    origin_t &origin = next.origin;
    entry_t &entry   = next.entry[origin.number % DEPTH];

    if (origin.number == origin.end) {
        origin.at = ORIGIN_SETTLE;
        add("origin has waited for what was begun", next);
    } else if (is_over(state, origin.number) || (entry.status == FREE)) {
        ++origin.number;
        add(text_of("origin", "sees the end of", origin.number - 1), next);
    } else if (entry.status == POSTED) {
        entry.status = FREE;
        ++origin.number;
        add(text_of("origin", "withdraws late", origin.number - 1), next);
    } else if (state.target_is_dead) {
        ++origin.number;
        add(text_of("origin", "sees the death in", origin.number - 1), next);
    }
}

/* All that was waited for is over, or is done here, from the oldest one on. */
void mailbox_model_t::origin_reached(state_t *state)
{
    origin_t &origin = state->origin;

    switch (origin.goal) {
    case GOAL_ASK:
        ++origin.op;
        origin.calling = 0;
        origin.at      = ORIGIN_NEXT;
        break;
    case GOAL_END:
        origin.at = ORIGIN_FINISHED;
        break;
    default:
        origin.at = ORIGIN_NEXT;
        break;
    }
}

/* The next one to settle: the oldest. */
uint8_t mailbox_model_t::origin_to_settle(const state_t &state) const
{
    const origin_t &origin = state.origin;
    uint8_t number         = origin.upto;

    if (m_mutation != MUT_COPY_ORDER) {
        return origin.oldest;
    }
    do {
        --number;
    } while ((number != origin.oldest) &&
             state.ended[origin.id][origin.posted[number % DEPTH]]);
    return number;
}

void mailbox_model_t::origin_settle_steps(state_t state)
{
    origin_t &origin = state.origin;

    if (origin.oldest == origin.upto) {
        origin_reached(&state);
        add("origin goes on", state);
        return;
    }

    uint8_t number = origin_to_settle(state);
    entry_t &entry = state.entry[number % DEPTH];
    int op         = origin.posted[number % DEPTH];
    char what      = kind(state, op);
    std::string text;

    if (entry.status == DONE) {
        if (!state.applied[origin.id][op]) {
            m_error = "an operation is done that was not carried out";
        }
        text = text_of("origin", "knows the end of", number);
    } else if (entry.status == SERVING) {
        state.lost[origin.id][op] = 1; /* its target is dead, and the memory with it */
        text                      = text_of("origin", "gives up", number);
    } else if ((what == 'C') && !origin.calling && (entry.status == FREE)) {
        origin.calling = 1;
        origin.oldest  = number + 1;
        origin.at      = ORIGIN_NEXT;
        add(text_of("origin", "will call for", number), state);
        return;
    } else if ((what == 'P') && !state.target_is_dead && state.mapped) {
        apply(&state, origin.id, op, "origin");
        text = text_of("origin", "does by itself", number);
    } else {
        state.lost[origin.id][op] = 1; /* or done by stock */
        text                      = text_of("origin", "leaves to stock", number);
    }
    state.ended[origin.id][op] = 1;
    entry.status               = FREE;
    if (number == origin.oldest) {
        origin.oldest = (m_mutation == MUT_COPY_ORDER) ? origin.upto : number + 1;
    }
    add(text, state);
}

/* An origin that is dead, or has ended: another process takes its slot. */
void mailbox_model_t::origin_claim_steps(state_t state)
{
    origin_t &origin = state.origin;
    entry_t *entry;

    if (origin.at == ORIGIN_FINISHED) {
        if ((origin.id + 1 < ORIGINS) && (m_config.program[origin.id + 1] != nullptr)) {
            origin.at     = ORIGIN_CLAIM;
            origin.number = 0;
            add("another process wants the slot", state);
        }
        return;
    }
    entry = &state.entry[origin.number % DEPTH];
    if (origin.number < DEPTH) {
        if ((entry->status == SERVING) && (m_mutation != MUT_SLOT_BUSY)) {
            origin.number = 0; /* later again */
            return;
        }
        if (m_mutation != MUT_SLOT_CLEAR) {
            entry->status = FREE;
        }
        ++origin.number;
        add(text_of("another process", "clears entry", origin.number - 1), state);
        return;
    }
    state.is_over[origin.id] = 1;
    int id                   = origin.id + 1;

    memset(&origin, 0, sizeof(origin));
    origin.id     = id;
    origin.next   = state.doorbell;
    origin.oldest = origin.next;
    origin.at     = ORIGIN_NEXT;
    add("another process has the slot", state);
}

std::vector<mailbox_model_t::step_t> mailbox_model_t::steps(const state_t &state)
{
    state_t next = state;

    m_steps.clear();
    server_steps(state, 0);
    server_steps(state, 1);
    unmap_steps(state);
    origin_steps(state);
    if (m_config.target_dies && !state.target_is_dead) {
        next.target_is_dead = 1;
        add("the target dies", next);
    }
    if (m_config.origin_dies && (state.origin.id == 0) &&
        (state.origin.at < ORIGIN_CLAIM)) {
        next           = state;
        next.origin.at = ORIGIN_FINISHED;
        add("the origin dies", next);
    }
    return m_steps;
}

std::string mailbox_model_t::check_end(const state_t &state) const
{
    const origin_t &origin = state.origin;

    if ((state.server[1].at == SERVER_ASLEEP) && (origin.at == ORIGIN_WAIT) &&
        origin.calling && !state.target_is_dead &&
        (state.entry[(origin.next - 1) % DEPTH].status == POSTED)) {
        return "the thread sleeps, and was called";
    }
    if (origin.at != ORIGIN_FINISHED) {
        return "";
    }
    for (int id = 0; id <= origin.id; ++id) {
        for (int op = 0; (op < MAX_OPS) && m_config.program[id][op] &&
                         (id == origin.id) && !m_config.origin_dies;
             ++op) {
            if (!state.ended[id][op] || (!state.applied[id][op] && !state.lost[id][op])) {
                return "an operation has no end";
            }
        }
    }
    return "";
}
