/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The data plane of one host: process_vm_readv and process_vm_writev, which copy once,
 * between any two pieces of memory, without the other process taking part (ri_plane_cma in
 * uct/api/plane.h).
 *
 * What the kernel does (docs/facts.md): at most 1024 segments on either side and 2 GB in a
 * call; it stops where memory cannot be accessed, tells how much it has copied by then, and
 * names the error when it is called again for the rest. A call is not interrupted by
 * signals, so whoever needs to stay responsive moves large messages in parts.
 *
 * Segments are handed to the kernel in batches from the stack. Each costs it about as much
 * as the copy of 1.5 KB; below that, packing is faster.
 *
 * Who may access whom is decided by the kernel's rules for debuggers, and by seccomp filters
 * on the calling side. They cannot be told from outside, so connecting really reads a word
 * of the remote process. That word, a random number, also proves that it is the process that
 * is meant. Afterwards that is not verified again: a process number is used anew only after
 * all others had their turn, and the protocols access memory only when a message has just
 * told them to.
 *
 * Under Yama's ptrace_scope 1 a process may be accessed only if it has called
 * prctl(PR_SET_PTRACER). UCX does so in every ucp_init, whatever its transports, for any
 * process of the user (PR_SET_PTRACER_ANY). The plane does not: it would widen nothing where
 * UCX is built with CMA, and where it is not, opening a process to all others is not a
 * decision of a preloaded library.
 */
#ifndef RI_CMA_H
#define RI_CMA_H

#include "../api/plane.h"

/* The address by which another process reaches this one. On the wire. (protocol.md section 7) */
typedef struct ri_cma_address {
    uint64_t host; /* ri_host_id(): process numbers mean the same */
    uint32_t pid;
    uint32_t start; /* of the process: the lower bits of ri_host_process_start() */
    uint64_t cookie_address; /* where the cookie stands in its memory */
    uint64_t cookie;         /* a random number */
} __attribute__((packed)) ri_cma_address_t;

static_assert(sizeof(ri_cma_address_t) == RI_PLANE_ADDRESS_MAX, "wire format");

#endif
