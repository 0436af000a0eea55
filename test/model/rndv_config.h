/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is explored: bounds, variants, and rules that are left out.
 */
#ifndef RI_TEST_RNDV_CONFIG_H
#define RI_TEST_RNDV_CONFIG_H

#include <functional>
#include <string>
#include <vector>

constexpr int MAX_SENDERS  = 2;
constexpr int MAX_MSGS     = 5; /* of each sender */
constexpr int MAX_RECVS    = 5;
constexpr int MAX_CONTROLS = 12;

/* Rules that can be left out or changed, one at a time; see the table in rndv_steps.cc */
enum mutation_t {
    MUT_NONE,
    MUT_IGNORE_AHEAD,
    MUT_IGNORE_SEEN,
    MUT_NO_SUSPEND,
    MUT_NO_PLACEHOLDER,
    MUT_READ_AT_CROSSING,
    MUT_NO_LENGTH_CHECK,
    MUT_NO_WINDOW_CHECK,
    MUT_EAGER_KEEPS_RTR,
    MUT_ADVANCE_ANNOUNCED,
    MUT_SKIP_GAPS,
    MUT_FORGET_AT_REFUSAL,
    MUT_CANCEL_AT_ONCE,
    MUT_CANCEL_OWN_ONLY,
    MUT_CANCEL_GONE,
    MUT_RTR_WHILE_CANCELING,
    MUT_REFUSED_IS_GONE,
    MUT_UNORDERED_TO_SENDER,
    MUT_UNORDERED_TO_RECEIVER,
    MUT_STEAL_AT_ONCE,
    MUT_IGNORE_USED,
    MUT_ANY_SOURCE_RTR,
    MUT_MIXED_GUESSES,
    MUT_WRITE_WITHOUT_CAS,
    MUT_GRANT_BLIND,
    MUT_IGNORE_GENERATION,
    MUT_STOP_AT_FIRST,
    MUT_PLACED_EARLY,
    MUT_COMPLETE_AT_USED,
    MUT_WAIT_FOR_FAILED,
    MUT_FAILED_IS_FREE,
    MUT_SHARING_IS_FAILED,
    MUT_SLOT_EARLY,
    MUT_DONE_AT_CLAIMED,
    MUT_SENT_AT_CLAIMED,
    MUT_SLOT_BLIND,
    MUT_END_AT_ONCE,
    MUT_LEAVE_SLOTS,
    MUT_CLOSE_AT_ONCE,
    MUT_KEEP_PROMISE,
    MUT_NO_REMATCH,
    MUT_FORGET_CANCEL,
    MUT_WAIT_FOR_DEAD,
    MUT_NOT_AGAIN,
    MUT_AGAIN_IS_NEW,
    MUT_KEEP_WAY,
    MUT_DROP_QUEUE,
    MUT_OLD_WAY,
    MUT_OLD_RTR,
    MUT_FORGET_GONE,
    MUT_NAMED_IS_DONE,
    MUT_NAMED_IS_THERE,
    MUT_KEEP_NAMED,
    MUT_NO_RESET,
    MUT_VOID_IS_USED,
    MUT_EARLY_IS_DONE,
    MUT_CANCEL_IS_END,
    MUT_LAST
};

struct mutation_name_t {
    const char *name;
    const char *config; /* the smallest configurations that show it: by messages, ... */
    const char *grants; /* ... with grants; NULL: there is no such rule */
    const char *ud;     /* ... with datagrams; NULL: there is no such rule */
    const char *what;
};
extern const mutation_name_t mutation_names[MUT_LAST];

/* What to explore */
struct config_t {
    int senders        = 1;
    int messages       = 3; /* of sender 0 */
    int messages_1     = 0; /* of sender 1 */
    int recvs          = 3;
    int cancels        = 0;
    int window         = MAX_MSGS; /* tags that a sender keeps */
    int rtrs           = 1;        /* RTRs of one receive, the first one included */
    bool refuse_any    = false; /* a sender may refuse any RTR that would have to wait */
    bool in_stream_fin = false; /* variant: FIN in sequence in place of notifications */
    bool grants        = false; /* variant: grants in shared memory; FIN in sequence */
    bool ud =
            false; /* variant: datagrams. What is a grant otherwise is a queue pair then,
                              with a number, and the receiver's alone */
    int words              = MAX_RECVS; /* grants of a link */
    bool whims             = false; /* the receiver may withdraw an RTR for no reason */
    bool unordered         = false; /* control messages may overtake each other */
    bool write_fails       = false; /* a write, or a copy of a part, may fail */
    bool slots_withdrawn   = false; /* a sender may withdraw its slots */
    bool dies              = false; /* sender 0 may vanish at any time */
    bool fails             = false; /* its conn may fail */
    bool breaks            = false; /* the receiver may end its stream */
    bool net               = false; /* variant: messages over ways that fail */
    int ways               = 0;     /* that may fail, with net */
    bool named             = false; /* with net: lists, which may come at any time */
    int list               = MAX_MSGS; /* receives that a message can list as used */
    bool slow_reads        = false;    /* reads, FIN and release take time */
    std::string lengths    = "123";
    std::string capacities = "123";
    std::string tags       = "01";
    std::string recv_tags  = "01*";
    std::string sources    = "0"; /* of receives: 0, 1, *, or guessed: g (0), a (anew) */
    mutation_t mutation    = MUT_NONE;
};

struct named_config_t {
    const char *name;
    const char *what;
    bool bounded; /* part of --all: what check.sh runs */
    std::function<void(config_t &)> set;
};
extern const std::vector<named_config_t> named_configs;

#endif
