/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the libraries for windows of MPI (src/win) ask libucxri.so for: memory of other processes of
 * the host that only those have mapped. Small operations are left to the process that has the memory,
 * by its mailbox, and all else is copied by system calls.
 *
 * Both libraries are of one package, but a program may load those of two: the table has a version.
 */
#ifndef RI_WINDOW_OPS_H
#define RI_WINDOW_OPS_H

#include "../../uct/api/plane.h"
#include "../../uct/shm/mailbox.h"

#include <stddef.h>
#include <stdint.h>

/* Changed with anything in this file. */
#define RI_WINDOW_OPS_VERSION 1

/* The name of the function that returns the table, which is looked up by dlsym(). Its parameter is the
 * version that the caller knows. It returns NULL for another one, and if the library is not in use. */
#define RI_WINDOW_OPS_SYMBOL "ucxri_window_ops"

/* Operations of windows have this bit in their kind (ri_mailbox_head_t); the others are those of
 * ri_window_server_t.apply(). */
#define RI_WINDOW_OPS_KIND 0x8000u

/* How others of the host reach a process: bytes that it tells them. */
typedef struct ri_window_address {
    uint32_t length;  /* of plane; 0: they do not */
    uint32_t mailbox; /* 1 + its descriptor; 0: there is none */
    uint32_t pid;
    uint8_t plane[RI_PLANE_ADDRESS_MAX];
} ri_window_address_t;

/* What a process does for others with memory of its own. Both functions may be called at any time by
 * any thread, until the region is closed. They must not wait, and call nothing of MPI. */
typedef struct ri_window_server {
    /** @return Whether all of @a length bytes, which are not 0, at @a address may be used by others:
     * wire input. */
    int (*has)(void *arg, uint64_t address, size_t length);

    /** An operation with RI_WINDOW_OPS_KIND, a function as of a mailbox: wire input. What memory it is
     * about, and whether others may use that, is for the function to see.
     * @return As ri_mailbox_func_t. */
    int (*apply)(void *arg, const ri_mailbox_head_t *head, uint8_t *data);
    void *arg; /* the first parameter of both functions */
} ri_window_server_t;

/* How an operation has ended. */
typedef enum ri_window_fate {
    RI_WINDOW_OPS_DONE,
    RI_WINDOW_OPS_POSTED,   /* data is copied, and settle() is to be called */
    RI_WINDOW_OPS_NOT_DONE, /* ask() only: the process does not look, or it does not pay */
    RI_WINDOW_OPS_REFUSED,  /* ask() only: the process does not want to */
    RI_WINDOW_OPS_BAD,      /* there is no such memory */
    RI_WINDOW_OPS_FAILED,   /* the system has not copied it, and the process is there */
    RI_WINDOW_OPS_GONE      /* the process has ended */
} ri_window_fate_t;

/* A function with a reach may be called by several threads. */
typedef struct ri_window_ops {
    /** The address of this process. @return 0 if others cannot reach its memory. */
    int (*self)(ri_window_address_t *address);

    /** Serve others. @a server is copied. @return A number for their operations; 0: no memory. */
    uint64_t (*open)(const ri_window_server_t *server);

    /** End that. Nobody calls the functions of the server any more when this returns. */
    void (*close)(uint64_t region);

    /** @param address  Wire input. @return A reach, for disconnect(); NULL: the process cannot be
     * reached. */
    void *(*connect)(const ri_window_address_t *address);

    /** All that was posted is settled. */
    void (*disconnect)(void *reach);

    /** Copy to memory of another process. @a region is its number. */
    ri_window_fate_t (*put)(void *reach, uint64_t region, uint64_t address,
                            const void *data, size_t length);

    /** Copy from there. */
    ri_window_fate_t (*get)(void *reach, uint64_t region, uint64_t address, void *data,
                            size_t length);

    /** Copy by system calls, with lists of the same length of bytes on both sides. */
    ri_window_fate_t (*copy)(void *reach, int is_put, const ri_segment_t *local,
                             size_t num_local, const ri_segment_t *remote,
                             size_t num_remote, size_t length);

    /** @return Whether an operation on so many bytes is to be asked for, in one or several pieces, which
     * this process can do by so many system calls: an answer takes less time. */
    int (*pays)(void *reach, size_t length, unsigned calls);

    /** Have the process do an operation, by apply() of its server, and wait for its end, unless
     * so many system calls take less time. @a head has the region. The result, of head->length bytes,
     * is written to @a result, unless that is NULL. */
    ri_window_fate_t (*ask)(void *reach, const ri_mailbox_head_t *head, const void *data,
                            void *result, unsigned calls);

    /** Wait for all puts that are POSTED. */
    ri_window_fate_t (*settle)(void *reach);

    /** Do what others have asked for. A process that waits calls it now and then. */
    void (*serve)(void);
} ri_window_ops_t;

#endif
