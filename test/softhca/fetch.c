/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * A process that fetches says so by an odd number in its segment, and looks then whether the
 * epoch is still the one of the datagrams. Who ends the epoch looks at the number afterwards. So
 * nothing is held that a process could be killed with.
 */
#include "fetch.h"
#include "util.h"

/* Whoever has not fetched so long after the time may have died. */
#define FETCH_LATE_NS 1000000

/* How often an end is looked for before the other's life is doubted, and how long until it does not
 * matter any more. */
#define FETCH_TRIES 1000
#define FETCH_LIMIT 1000000

int sh_fetch_is_done(sh_fetch_t *fetch, uint64_t now)
{
    if (fetch->generation == 0) {
        return 1;
    }
    if (!sh_fabric_is_taken(fetch)) {
        if (fetch->check_at == 0) {
            fetch->check_at = now + FETCH_LATE_NS;
        }
        if (now < fetch->check_at) {
            return 0;
        }
        fetch->check_at = now + FETCH_LATE_NS;
        if (sh_fabric_alive(fetch->slot, fetch->generation)) {
            return 0;
        }
    }
    fetch->generation = 0;
    return 1;
}

void sh_fetch_end(sh_fetch_t *fetch)
{
    const uint32_t *word = NULL;
    uint32_t begun       = 0;
    unsigned tries;

    if ((fetch->generation != 0) && (fetch->slot != sh_fabric_slot())) {
        word = sh_fabric_fetching(fetch->slot, fetch->generation);
    }
    fetch->generation = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (word != NULL) {
        begun = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    }
    for (tries = 1; (begun % 2 != 0) && (tries < FETCH_LIMIT) &&
                    (__atomic_load_n(word, __ATOMIC_ACQUIRE) == begun);
         ++tries) {
        if (((tries % FETCH_TRIES) == 0) &&
            !sh_fabric_alive(fetch->slot, sh_fabric_generation(fetch->slot))) {
            break;
        }
        sh_sleep_ns(2000);
    }
}

/* Copy at once. If that fails, see why. */
static int fetch_copy(pid_t pid, sh_pieces_t from, sh_pieces_t to)
{
    if (!sh_copy_many(pid, from, to)) {
        return SH_COPY_OK;
    }
    if ((from.count > SH_MAX_SGE) || (to.count > SH_MAX_SGE)) {
        return SH_COPY_REMOTE;
    }
    return sh_copy(pid, 0, from, to, 0, sh_pieces_length(to));
}

int sh_fetch_is_there(uint32_t qpn, uint32_t epoch)
{
    const uint32_t *guard = sh_fabric_guard(sh_qpn_slot(qpn), sh_qpn_index(qpn));

    return (guard != NULL) && (__atomic_load_n(guard, __ATOMIC_SEQ_CST) == epoch * 2);
}

int sh_fetch(pid_t pid, uint32_t qpn, uint32_t epoch, sh_pieces_t from, sh_pieces_t to)
{
    sh_inbox_t *inbox = sh_fabric_inbox();
    int result        = SH_COPY_GONE;

    __atomic_fetch_add(&inbox->fetching, 1, __ATOMIC_SEQ_CST);
    if (sh_fetch_is_there(qpn, epoch)) {
        result = fetch_copy(pid, from, to);
    }
    __atomic_fetch_add(&inbox->fetching, 1, __ATOMIC_SEQ_CST);
    return result;
}
