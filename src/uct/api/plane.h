/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Data planes: ways of moving data straight between the memory of two processes, past
 * UCP. A plane knows nothing of messages, of who is early, or of sizes: it reads and
 * writes lists of segments, and says what it can do. Protocols (src/ucp/proto) choose a
 * plane per connection and message, by its capabilities and measured costs.
 *
 * A plane that cannot, or no longer can, move something returns an error from the
 * operation; nothing of that is fatal, the protocol moves the rest another way.
 *
 * There are two kinds. Those with RI_PLANE_INLINE (CMA) move the data within the call, need
 * nothing to be registered, and know a remote process by one address. The others (verbs) go on
 * by themselves: operations end in progress, memory has keys, and each way to a remote process
 * has an address of its own, which both sides exchange. A plane with RI_PLANE_MESSAGES neither
 * reads nor writes remote memory, but sends into what the remote side has posted.
 *
 * To add a plane: implement ri_plane_ops_t, and have src/ucp/link/planes.c open it when a worker
 * starts.
 */
#ifndef RI_PLANE_H
#define RI_PLANE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "../../ucs/base.h"

/* The capabilities of a plane. */
enum {
    RI_PLANE_READ   = 1 << 0, /* read from the remote side's memory */
    RI_PLANE_WRITE  = 1 << 1, /* write to the remote side's memory */
    RI_PLANE_NOTIFY = 1 << 2, /* a write can carry an immediate that tells its peer */
    RI_PLANE_LISTS  = 1 << 3, /* several segments on either side in one operation */
    RI_PLANE_KEYS   = 1 << 4, /* memory has to be registered before it is described */
    RI_PLANE_INLINE = 1 << 5, /* operations end within their call: there is no progress */
    /* takes a whole message to where the remote side has posted memory for it: ops->ud */
    RI_PLANE_MESSAGES = 1 << 6
};

/* Where a message goes, as the receiver's plane tells the sender's: bytes for the wire. */
#define RI_PLANE_TARGET_SIZE 32

/* The longest description of a process that a plane puts into a hello. */
#define RI_PLANE_ADDRESS_MAX 32

/* A piece of memory: local, or of the remote side. As on the wire. */
typedef struct ri_segment {
    uint64_t address;
    uint64_t length;
} __attribute__((packed)) ri_segment_t;

static_assert(sizeof(ri_segment_t) == 16, "part of messages");

typedef struct ri_plane_ops ri_plane_ops_t;

/* Counters of registered memory: name, unit, what it counts */
/* clang-format off */
#define RI_PLANE_COUNTERS(_c) \
    _c(reg_hits, "lookups", "of memory that was registered already") \
    _c(reg_misses, "lookups", "of memory that had to be registered") \
    _c(reg_evicted, "regions", "given up for limits, or as the device was full") \
    _c(reg_replaced, "regions", "given up for a larger one that has their memory") \
    _c(reg_invalidated, "regions", "whose memory went away, or might have") \
    _c(reg_flushes, "times", "that all were given up: too much memory went") \
    _c(reg_regions, "regions", "registered now") \
    _c(reg_bytes, "bytes", "of memory that is registered now") \
    _c(reg_bytes_max, "bytes", "of registered memory, the most at any time")
/* clang-format on */

/* Invariant: each registration that was made is in reg_regions, or was evicted, replaced or
 * invalidated, or deregistered at once because nothing is kept. */
typedef struct ri_plane_counters {
#define RI_PLANE_COUNTER_MEMBER(_name, _unit, _doc) uint64_t _name;
    RI_PLANE_COUNTERS(RI_PLANE_COUNTER_MEMBER)
#undef RI_PLANE_COUNTER_MEMBER
} ri_plane_counters_t;

/* Memory that was registered, for planes with RI_PLANE_KEYS. */
typedef struct ri_plane_memory {
    void *registration;  /* the plane's own; NULL: not registered */
    uint32_t local_key;  /* for transfers that this process starts */
    uint32_t remote_key; /* for transfers that the remote process starts */
} ri_plane_memory_t;

/* An operation that is under way. It is the protocol's memory; the plane has it, and what the
 * transfer's segments describe, until it calls @a done: once, from progress or disconnect(),
 * and never from within the call that started it. */
typedef struct ri_plane_op {
    /* @a status is as those of read() and write(). Nobody touches the memory any more. */
    void (*done)(struct ri_plane_op *op, ucs_status_t status);
} ri_plane_op_t;

/* A plane in use by a worker; planes put their own state behind it. */
typedef struct ri_plane {
    const ri_plane_ops_t *ops;
    unsigned capabilities; /* RI_PLANE_*: what it can do here */
    unsigned failures; /* counts up when ways have stopped working by themselves; check()
                          says which ones */
    unsigned lost; /* RI_PLANE_NOTIFY: ways that ended without telling all that the remote
                      side may take for told */
    size_t notify_max;  /* RI_PLANE_NOTIFY: longest write from one segment to one whose
                              length the remote side is told */
    size_t peer_memory; /* bytes that each end of a way takes: an estimate */
} ri_plane_t;

/* A way to one remote process; planes put their own state behind it. */
typedef struct ri_plane_ep {
    ri_plane_t *plane;
    void *user; /* the protocol's; NULL: it is not told of notifications any more */
    /* how many the remote side may cause before those that it caused earlier have been
     * told */
    unsigned notifications;
    /* long writes under way: what is written now comes behind them */
    unsigned long_writes;
    int lost; /* the way counts in plane->lost */
} ri_plane_ep_t;

/** A write of the remote side with an immediate has ended, and with it all that it started
 * before: called from within progress() and disconnect(), of which it must call none.
 *
 * @param immediate  Wire input.
 * @param length     Of the write, if it was not longer than the plane's notify_max and went
 *                   from one segment to one; else of a part of it.
 */
typedef void (*ri_plane_notified_func_t)(ri_plane_ep_t *ep, uint32_t immediate,
                                         size_t length);

/* Lists of segments of both sides of an operation. The lists may be cut differently, and
 * may contain empty segments; each has to have offset + length bytes in all. */
typedef struct ri_transfer {
    const ri_segment_t *local;
    size_t num_local;
    const ri_segment_t *remote;
    size_t num_remote;
    size_t offset;              /* bytes to leave out at the start of either list */
    size_t length;              /* bytes to move */
    const uint32_t *local_keys; /* RI_PLANE_KEYS: the key of each local segment */
    /* RI_PLANE_KEYS: the key of each remote segment; wire input */
    const uint32_t *remote_keys;
    ri_plane_op_t *op; /* told of the end; not needed with RI_PLANE_INLINE */
    int verify; /* RI_PLANE_INLINE, of a read: fail with UCS_ERR_UNREACHABLE if the remote side
                   withdrew its plane before all was read */
    int notify; /* RI_PLANE_NOTIFY, of a write: the remote side is told when all of it is there */
    uint32_t immediate; /* if notify is set: what the remote side is told */
} ri_transfer_t;

/* The cost of an operation: a time in ns, and the bytes that it moves in each ns beyond. */
typedef struct ri_plane_cost {
    double call;
    double rate;
} ri_plane_cost_t;

struct ri_plane_ops {
    const char *name;

    /**
     * Open the plane for this process.
     *
     * @param plane_p  Set with UCS_OK only.
     *
     * @return UCS_OK. UCS_ERR_UNSUPPORTED: the plane cannot be used here. UCS_ERR_NO_MEMORY.
     */
    ucs_status_t (*open)(ri_plane_t **plane_p);

    /** Close the plane. No way of it may be left. */
    void (*close)(ri_plane_t *plane);

    /**
     * RI_PLANE_INLINE: write what a remote process needs to connect to this one. NULL: each way
     * has an address of its own, see ep_address().
     *
     * @param address  Room for RI_PLANE_ADDRESS_MAX bytes.
     *
     * @return The length of the address.
     */
    size_t (*address)(ri_plane_t *plane, void *address);

    /**
     * Connect this side's end of a way with a remote process. RI_PLANE_INLINE: memory of that
     * process has been read when this returns UCS_OK. Others: the remote process may not have
     * connected its own end yet.
     *
     * @param address  What address() or ep_address() has written there: wire input.
     * @param ep_p     A way of prepare(). Or NULL, in whose place a new way is put with UCS_OK.
     *
     * @return UCS_OK. UCS_ERR_UNREACHABLE: that is no address, or the process cannot be reached
     *         by it, or the way was connected before, or the plane has failed. Most reasons
     *         are logged, at level info or debug. UCS_ERR_NO_MEMORY. After an error a way of
     *         prepare() is still there, to be disconnected, and no new one is.
     */
    ucs_status_t (*connect)(ri_plane_t *plane, const void *address, size_t length,
                            ri_plane_ep_t **ep_p);

    /** End a way, in whatever state, and free it. All operations of the way that were not told of
     * their end are told within the call, when the way is gone: UCS_ERR_UNREACHABLE, unless they
     * had ended otherwise before. */
    void (*disconnect)(ri_plane_ep_t *ep);

    /**
     * Not RI_PLANE_INLINE: make this side's end of a way to a remote process of which no address
     * is known yet. Nothing can be moved before both sides have connected their ends.
     *
     * @param ep_p  Set with UCS_OK only, to a way that connect() takes.
     *
     * @return UCS_OK. UCS_ERR_UNREACHABLE: the plane or its device has failed, or makes no
     *         queue pair more. UCS_ERR_NO_MEMORY.
     */
    ucs_status_t (*prepare)(ri_plane_t *plane, ri_plane_ep_t **ep_p);

    /**
     * Not RI_PLANE_INLINE: write what the remote process needs to connect its end of a way with
     * this one. The way may be in any state, also if it is about to end.
     *
     * @param address  Room for RI_PLANE_ADDRESS_MAX bytes.
     *
     * @return The length of the address.
     */
    size_t (*ep_address)(ri_plane_ep_t *ep, void *address);

    /**
     * RI_PLANE_KEYS: make memory reachable for the remote and this side, until release().
     * Registrations are kept and used again, see uct/ib/device/reg_cache.h.
     *
     * @param memory  Set to the keys. Its registration is NULL after an error.
     *
     * @return UCS_OK. An error: nothing is registered.
     */
    ucs_status_t (*reg)(ri_plane_t *plane, void *address, size_t length,
                        ri_plane_memory_t *memory);

    /** RI_PLANE_KEYS: memory of reg() or reg_source() need not be reachable any more. If @a memory
     * has no registration there is nothing to do; it has none afterwards. */
    void (*release)(ri_plane_t *plane, ri_plane_memory_t *memory);

    /** Not RI_PLANE_INLINE: tell what has ended, go on with what waits. May be called at any
     * time, but not from within a function that the plane calls, such as done(). @return How many
     * operations have ended, or have got something that they waited for, and how many
     * notifications have come. 0: nothing has happened. */
    unsigned (*progress)(ri_plane_t *plane);

    /**
     * Move data from the remote process to this one, where the plane has the capability. The
     * remote list is wire input: what does not exist there is an error, never a crash.
     *
     * @return UCS_OK: all of it has been moved. UCS_INPROGRESS: transfer->op tells; the lists
     *         and keys are not needed any more. An error: an unknown part of it has been
     *         moved, and no more is. UCS_ERR_INVALID_ADDR: some memory, on either side,
     *         cannot be accessed in this way. UCS_ERR_INVALID_PARAM: a list is too short.
     *         UCS_ERR_UNREACHABLE: the way does not work (any more), and is not to be asked
     *         again.
     */
    ucs_status_t (*read)(ri_plane_ep_t *ep, const ri_transfer_t *transfer);

    /** Move data as read() does, from this process to the remote one. @return See read(). */
    ucs_status_t (*write)(ri_plane_ep_t *ep, const ri_transfer_t *transfer);

    /**
     * Look whether a way still works.
     *
     * @return RI_PLANE_INLINE, about the remote process: UCS_OK if it may still move something by
     *         the plane; UCS_ERR_UNREACHABLE if it has ended, or has closed its plane, and moves
     *         nothing any more. Others, about this side's end, without asking the remote process:
     *         UCS_OK if nothing is known to be wrong with the end, connected or not;
     *         UCS_ERR_UNREACHABLE if the end or its plane has failed.
     */
    ucs_status_t (*check)(ri_plane_ep_t *ep);

    /**
     * Find out what a read costs, between memory of this process; in well under a
     * millisecond. The plane need not be open. NULL: not known before it is used.
     *
     * @param to, from  Memory of @a length bytes each, whose pages are present.
     * @param cost      Set with UCS_OK only.
     *
     * @return UCS_OK. UCS_ERR_UNSUPPORTED: the plane does not work here, or the time cannot be
     *         told.
     */
    ucs_status_t (*measure)(void *to, void *from, size_t length, ri_plane_cost_t *cost);

    /** RI_PLANE_KEYS: copy the counters of the registration cache. NULL: there is none. */
    void (*counters)(ri_plane_t *plane, ri_plane_counters_t *counters);

    /**
     * RI_PLANE_NOTIFY: be told of writes with immediates, by ways that are prepared from now on.
     * What the remote side was told to have ended is told here, also if the way fails or is ended
     * meanwhile; or the way is lost. To be called once, and before any way is prepared.
     *
     * @return UCS_OK. UCS_ERR_UNSUPPORTED: nothing will be told, as the device cannot; the user has
     *         been warned.
     */
    ucs_status_t (*listen)(ri_plane_t *plane, ri_plane_notified_func_t func);

    /** RI_PLANE_KEYS: register as reg() does, for memory that nobody writes by the plane. The
     * memory may be constant, for which reg() fails. NULL: reg() is to be called. @return See
     * reg(). */
    ucs_status_t (*reg_source)(ri_plane_t *plane, void *address, size_t length,
                               ri_plane_memory_t *memory);

    /** RI_PLANE_MESSAGES: how they are sent and received (uct/ib/ud/ud.h). */
    const struct ri_ud_ops *ud;

    /** The plane is about to be closed, and memory that remote processes may be reading is
     * given back from now on: their reads with transfer->verify fail. NULL: they fail by
     * themselves. */
    void (*leave)(ri_plane_t *plane);
};

/* Memory of this process by process_vm_readv and process_vm_writev. */
extern const ri_plane_ops_t ri_plane_cma;

/* Messages by unreliable datagrams of an RDMA device, see uct/ib/ud/ud.h. Does not open where
 * ri_plane_rc does not. */
extern const ri_plane_ops_t ri_plane_ud;

/* Memory that is reached through an RDMA device, by reliable connections of verbs. Does not
 * open where the library was built without verbs.h, or there is no device. */
extern const ri_plane_ops_t ri_plane_rc;

#endif
