/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SOFTHCA_H_
#define SOFTHCA_H_

/*
 * What a program can ask libsofthca.so about itself. The function is found with
 * dlsym(RTLD_DEFAULT, "softhca_get_counters"): a program does not link with the library.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name and meaning of each counter; all are sums of this process, but for mr_bytes. */
#define SOFTHCA_COUNTERS(X) \
    X(wr_send, "work requests: SEND") \
    X(wr_send_imm, "work requests: SEND_WITH_IMM") \
    X(wr_write, "work requests: RDMA_WRITE") \
    X(wr_write_imm, "work requests: RDMA_WRITE_WITH_IMM") \
    X(wr_read, "work requests: RDMA_READ") \
    X(wr_cmp_swap, "work requests: ATOMIC_CMP_AND_SWP") \
    X(wr_fetch_add, "work requests: ATOMIC_FETCH_AND_ADD") \
    X(wr_recv, "work requests: receives of a QP or SRQ") \
    X(post_send, "doorbells: calls of ibv_post_send") \
    X(post_recv, "doorbells: calls of ibv_post_recv") \
    X(post_srq_recv, "doorbells: calls of ibv_post_srq_recv") \
    X(polls, "calls of ibv_poll_cq") \
    X(completions, "completions put into completion queues") \
    X(messages, "messages sent, without acknowledgements") \
    X(packets, "packets that these take on the link") \
    X(bytes, "bytes of data that these carry") \
    X(acks, "acknowledgements sent, negative ones too") \
    X(copies, "DMA copies: messages whose data this process moved") \
    X(copied_bytes, "bytes of these") \
    X(retries, "work requests sent again") \
    X(rnr_naks, "messages refused for want of a receive") \
    X(naks, "messages refused for another reason") \
    X(ud_drops, "datagrams dropped by the receiver: no receive, wrong key or size") \
    X(fault_drops, "datagrams dropped on purpose") \
    X(fault_dups, "datagrams sent twice on purpose") \
    X(fault_delays, "datagrams delayed or reordered on purpose") \
    X(fault_kills, "RC QPs broken on purpose") \
    X(fault_rnrs, "messages refused on purpose as if no receive were there") \
    X(malformed, "messages from shared memory that make no sense") \
    X(mr_regs, "memory regions registered") \
    X(mr_deregs, "memory regions deregistered") \
    X(mr_bytes, "bytes registered now") \
    X(sleeps, "times that the agent slept") \
    X(late_ns, "link model: nanoseconds that messages were late, in all") \
    X(helps, "times that a polling thread did the agent's work") \
    X(page_checks, "accesses whose pages were compared with those at registration") \
    X(page_stale, "accesses by registrations whose memory has other pages now") \
    X(page_unknown, "memory regions whose pages cannot be held or compared")

typedef struct softhca_counters {
#define SOFTHCA_COUNTER_FIELD(_name, _text) uint64_t _name;
    SOFTHCA_COUNTERS(SOFTHCA_COUNTER_FIELD)
#undef SOFTHCA_COUNTER_FIELD
} softhca_counters_t;

/**
 * Read this process's counters.
 * @param counters Is filled.
 * @param size     sizeof(*counters) of the caller; a later version only appends.
 */
void softhca_get_counters(softhca_counters_t *counters, size_t size);

#ifdef __cplusplus
}
#endif

#endif
