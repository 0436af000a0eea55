/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The services of libucxri.so for the libraries for windows of MPI (src/win): memory of other
 * processes that only those have mapped. On one host small operations are left to the process that
 * has the memory, by its mailbox, and all else is copied by system calls. Between hosts UCX puts
 * and gets, and all else is left to the process that has the memory, which serves others when it
 * makes progress.
 *
 * Both libraries are of one package, but a program may load those of two: the table has a version.
 */
#ifndef RI_WINDOW_OPS_H
#define RI_WINDOW_OPS_H

#include "../../../uct/api/plane.h"
#include "../../../uct/shm/mailbox.h"

#include <stddef.h>
#include <stdint.h>

/* Changed with anything in this file. */
#define RI_WINDOW_OPS_VERSION 2

/* The name of the function that returns the table, which is looked up by dlsym(). Its parameter is
 * the version that the caller knows. It returns NULL for another one, and if the library is not in
 * use. */
#define RI_WINDOW_OPS_SYMBOL "ucxri_window_ops"

/* Functions that are there at any time, as the table is not, by their names.
 *
 * This process takes windows of several hosts. It is said before its MPI has begun. */
#define RI_WINDOW_TELL_SYMBOL "ucxri_window_tell"
typedef void (*ri_window_tell_t)(uint32_t job, uint32_t rank);

/* MPI_Init() has ended. The number of the job is not looked at any more, unless it @a is_named: no
 * other job has it. */
#define RI_WINDOW_BEGAN_SYMBOL "ucxri_window_began"
typedef void (*ri_window_began_t)(int is_named);

/* How a rank of MPI_COMM_WORLD can be reached. */
#define RI_WINDOW_RANK_SYMBOL "ucxri_window_rank"
typedef enum ri_window_rank {
    RI_WINDOW_RANK_UNUSED, /* this process has given its address to nobody: nobody knows of it */
    RI_WINDOW_RANK_UNSEEN, /* UCX has not seen its address */
    RI_WINDOW_RANK_NOT,    /* the rank takes no windows of several hosts */
    RI_WINDOW_RANK_TAKES   /* the rank takes windows of several hosts */
} ri_window_rank_t;
typedef ri_window_rank_t (*ri_window_rank_func_t)(uint32_t rank);

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

/* The kinds of commands by which one process has another one change its control memory. */
typedef enum ri_window_command_kind {
    RI_WINDOW_COMMAND_ENTER, /* a gate (uct/shm/gate.h): done when the origin is inside */
    RI_WINDOW_COMMAND_JOIN,  /* a gate, past those who wait at it */
    RI_WINDOW_COMMAND_LEAVE, /* a gate */
    RI_WINDOW_COMMAND_LOCK,  /* stripes: done when the origin has all of them */
    RI_WINDOW_COMMAND_UNLOCK, /* stripes */
    RI_WINDOW_COMMAND_WORD,   /* write a number */
    RI_WINDOW_COMMAND_KINDS
} ri_window_command_kind_t;

/* A command, as it goes to the other process. */
typedef struct ri_window_command {
    uint32_t kind;    /* ri_window_command_kind_t */
    uint32_t rank;    /* of the origin, in the window */
    uint64_t stripes; /* a bit for each */
    uint32_t offset;  /* of a word, in the control memory */
    uint32_t value;   /* of a word */
    uint8_t is_all;   /* the gate of the window, not that of the target */
    uint8_t is_b;     /* as a user of the kind B */
    uint8_t is_alone; /* nobody else may be inside */
    uint8_t reserved[5];
} ri_window_command_t;

/* How far a command was carried out. */
typedef enum ri_window_served {
    RI_WINDOW_SERVED_BAD, /* the command cannot be carried out */
    RI_WINDOW_SERVED_DONE,
    RI_WINDOW_SERVED_LATER /* the command is to be looked at again */
} ri_window_served_t;

/* What apply() of a server returns if the operation is to be tried again later: whoever keeps it
 * from what it needs does so for a short time. Any other negative value: it is not done. */
#define RI_WINDOW_OPS_BUSY (-2)

/* What a process does for others with memory of its own. The functions may be called at any time by
 * any thread, until the region is closed. They must not wait, and call nothing of MPI. */
typedef struct ri_window_server {
    /** @return Whether all of @a length bytes, which are not 0, at @a address may be used by
     * others: wire input. */
    int (*has)(void *arg, uint64_t address, size_t length);

    /** An operation with RI_WINDOW_OPS_KIND, a function as of a mailbox: wire input. What memory it
     * is about, and whether others may use that, is for the function to see.
     * @return As ri_mailbox_func_t, or RI_WINDOW_OPS_BUSY. */
    int (*apply)(void *arg, const ri_mailbox_head_t *head, uint8_t *data);

    /** A command: wire input. @a state is 0 when the command is first looked at, and is the
     * function's.
     * @return What has become of it. */
    ri_window_served_t (*command)(void *arg, const ri_window_command_t *command,
                                  uint64_t *state);
    void *arg; /* the first parameter of the functions */
} ri_window_server_t;

/* How an operation has ended. */
typedef enum ri_window_fate {
    RI_WINDOW_OPS_DONE,
    RI_WINDOW_OPS_POSTED, /* data is copied or is being copied, and settle() is to be called */
    RI_WINDOW_OPS_NOT_DONE, /* ask() only: the process does not look, or it does not pay */
    RI_WINDOW_OPS_REFUSED,  /* ask() only: the process does not want to */
    RI_WINDOW_OPS_BAD,      /* there is no such memory */
    RI_WINDOW_OPS_FAILED,   /* the system has not copied it, and the process is there */
    RI_WINDOW_OPS_GONE      /* the process has ended */
} ri_window_fate_t;

/* The functions of a reach, which leads to one other process. Several threads may call them. */
typedef struct ri_window_reach_ops {
    size_t most; /* bytes of an operation that is asked for, and of its result */

    /** All that was posted is settled. */
    void (*disconnect)(void *reach);

    /** Copy to memory of another process. @a region is its number. Through a network @a data may be
     * used until settle_here(). @return DONE or POSTED, or why it is not done: BAD, FAILED,
     * GONE. */
    ri_window_fate_t (*put)(void *reach, uint64_t region, uint64_t address,
                            const void *data, size_t length);

    /** Copy from there. @return As put(); POSTED: the data is there after settle_here(). */
    ri_window_fate_t (*get)(void *reach, uint64_t region, uint64_t address, void *data,
                            size_t length);

    /** Copy with lists of the same length of bytes on both sides, by system calls or through a
     * network. Through a network the data may be used until settle_here(), as that of put() and
     * get(). @return As put(). */
    ri_window_fate_t (*copy)(void *reach, int is_put, const ri_segment_t *local,
                             size_t num_local, const ri_segment_t *remote,
                             size_t num_remote, size_t length);

    /** @return Whether an operation on @a length bytes is to be asked for, in one or several
     * pieces, which this process can do by @a calls system calls: an answer takes less time. */
    int (*pays)(void *reach, size_t length, unsigned calls);

    /** Have the process do an operation, by apply() of its server, and wait for its end, unless @a
     * calls system calls take less time. @a head has the region. The result, of head->length bytes,
     * is written to @a result, unless that is NULL. Through a network an operation without a result
     * is POSTED. @return Any fate. */
    ri_window_fate_t (*ask)(void *reach, const ri_mailbox_head_t *head, const void *data,
                            void *result, unsigned calls);

    /** Wait for all that is POSTED. @return DONE, or how one operation has failed, which is told
     * once. */
    ri_window_fate_t (*settle)(void *reach);
} ri_window_reach_ops_t;

/* Memory of a process that others reach through a network. */
typedef struct ri_window_net_memory {
    void *base;
    size_t size;
    uint64_t region; /* of ri_window_ops_t.open() */
} ri_window_net_memory_t;

/* The functions for processes of other hosts. */
typedef struct ri_window_net_ops {
    ri_window_reach_ops_t reach;

    /** Let others reach memory of this process. @a told_p is set to what they are to know, which is
     * the caller's to free, and @a length_p to its length. @return For hide(); NULL: it cannot be
     * done. */
    void *(*show)(const ri_window_net_memory_t *memory, void **told_p, size_t *length_p);

    /** End that. Nobody uses the memory any more. */
    void (*hide)(void *shown);

    /** @param told    What a process has told: wire input.
     *  @param base_p  Set to where its memory is there.
     *  @return A reach, for its disconnect(); NULL: there is no memory, or it is no such thing. */
    void *(*connect)(const void *told, size_t length, uint64_t *base_p);

    /** Send a command that is not answered. It gets there also if this process makes no progress.
     * @return POSTED, or why it cannot be sent: FAILED, GONE. */
    ri_window_fate_t (*say)(void *reach, const ri_window_command_t *command);

    /** Have a command carried out. @a wait is called with @a arg until it is; anything but 0 ends
     * the wait, with GONE. @return DONE, or why not; without such a function POSTED. */
    ri_window_fate_t (*command)(void *reach, const ri_window_command_t *command,
                                int (*wait)(void *arg), void *arg);

    /** Wait until this process may change what it puts, and has what it gets. @return As
     * settle(). */
    ri_window_fate_t (*settle_here)(void *reach);

    /** Wait until all that was put is there, and not for what was asked for. @return As
     * settle(). */
    ri_window_fate_t (*settle_moves)(void *reach);

    /** Begin what settle() waits for, of what settle_here() has waited for. */
    void (*settle_begin)(void *reach);

    /** @return Whether UCX has reported that the process cannot be reached any more. With @a looks
     * something is sent there if nothing was before, so that UCX has something to report. */
    int (*is_gone)(void *reach, int looks);
} ri_window_net_ops_t;

typedef struct ri_window_ops {
    const ri_window_reach_ops_t *reach; /* for processes of the same host */
    const ri_window_net_ops_t *net;     /* for those of other hosts */

    /** The address of this process. @return 0 if others cannot reach its memory. */
    int (*self)(ri_window_address_t *address);

    /** Serve others. @a server is copied. @return A number for their operations; 0: no memory. */
    uint64_t (*open)(const ri_window_server_t *server);

    /** End that. Nobody calls the functions of the server any more when this returns. */
    void (*close)(uint64_t region);

    /** @param address  Wire input. @return A reach, for disconnect(); NULL: the process cannot be
     * reached. */
    void *(*connect)(const ri_window_address_t *address);

    /** Do what others have asked for. A process that waits calls it now and then. */
    void (*serve)(void);
} ri_window_ops_t;

#endif
