/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which processes can reach each other by their process numbers, and which process a
 * number means.
 */
#ifndef RI_HOST_H
#define RI_HOST_H

#include <stdint.h>

/**
 * Where this process runs. The lower 40 bits are a hash of what processes have in common that
 * can open each other's /proc/<pid>: the kernel since it was booted, the pid namespace and the
 * effective user. The others are a hash of the host's name: machines that were made of one memory
 * image have the same kernel in that sense, but not the same processes. Names alone do not tell,
 * as containers that share their processes may differ in it.
 *
 * @return 0 where /proc cannot be read.
 */
uint64_t ri_host_id(void);

/** @return Whether a process number of host @a a may mean the same process at host @a b. It is to
 * be proved by a look at something that only that process has. Without a proof the number means the
 * same only if @a a and @a b are equal. Both are values of ri_host_id(). */
int ri_host_may_reach(uint64_t a, uint64_t b);

/**
 * When a process was started, in clock ticks since the kernel was. No two processes have
 * both the same number and the same start.
 *
 * @return 0 if there is no such process, or /proc cannot be read.
 */
uint64_t ri_host_process_start(uint32_t pid);

/* The name of a process among all others of this host. On the wire. (protocol.md section 7) */
typedef struct ri_host_process {
    uint64_t host;  /* ri_host_id(): process numbers mean the same; 0: it is not known */
    uint32_t pid;   /* number of the process */
    uint32_t start; /* the lower bits of ri_host_process_start() */
} __attribute__((packed)) ri_host_process_t;

/** @return This process; host is 0 where /proc cannot be read. */
ri_host_process_t ri_host_process_self(void);

/* The results of a look at a process. */
typedef enum ri_host_look {
    RI_HOST_RUNS,   /* the process exists, and a thread of it runs */
    RI_HOST_GONE,   /* no thread of it runs, whether or not its parent has noticed */
    RI_HOST_UNKNOWN /* /proc cannot be read */
} ri_host_look_t;

/** Look whether @a process, which may be wire input, exists. Its host must be this one. A process
 * of that number which was started at another time is another one. @return RI_HOST_RUNS, GONE or
 * UNKNOWN. */
ri_host_look_t ri_host_process_look(const ri_host_process_t *process);

#endif
