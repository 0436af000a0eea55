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
 * A hash of what processes have in common that can open each other's /proc/<pid>: the
 * kernel since it was booted, the pid namespace and the effective user.
 *
 * @return 0 where /proc cannot be read.
 */
uint64_t ri_host_id(void);

/**
 * When a process was started, in clock ticks since the kernel was. No two processes have
 * both the same number and the same start.
 *
 * @return 0 if there is no such process, or /proc cannot be read.
 */
uint64_t ri_host_process_start(uint32_t pid);

#endif
