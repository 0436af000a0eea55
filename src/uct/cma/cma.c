/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First what one call moves, then how a process makes sure that it writes the one that it means (a
 * cookie), then the plane's operations.
 */
#include "cma.h"
#include "../api/cursor.h"
#include "../shm/host.h"
#include "../../ucs/log.h"
#include "../../ucs/heap.h"
#include "../../ucs/clock.h"
#include "../../ucs/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Segments of each side in one call. More is hardly faster: a call costs what two segments
 * cost. */
#define CMA_BATCH 64

/* The first call of a process is slow, and any may be interrupted. */
#define CMA_MEASURE_TRIES 16

typedef struct cma_plane {
    ri_plane_t super;
    ri_cma_address_t address;
    volatile uint64_t cookie; /* read by remote processes */
} cma_plane_t;

typedef struct cma_ep {
    ri_plane_ep_t super;
    pid_t pid;
    ri_cma_address_t address;
} cma_ep_t;

typedef struct cma_call {
    const char *name;
    ssize_t (*func)(pid_t pid, const struct iovec *local, unsigned long num_local,
                    const struct iovec *remote, unsigned long num_remote,
                    unsigned long flags);
} cma_call_t;

/* The segments that one call moves, at both ends. */
typedef struct cma_lists {
    struct iovec local[CMA_BATCH];
    struct iovec remote[CMA_BATCH];
    unsigned long num_local;
    unsigned long num_remote;
} cma_lists_t;

static const cma_call_t cma_call_read  = {"process_vm_readv", process_vm_readv};
static const cma_call_t cma_call_write = {"process_vm_writev", process_vm_writev};

/* A process may always access itself: only a filter of system calls forbids that. */
#define CMA_REMEDY_FILTER \
    "a container needs a seccomp profile that allows the call, or --cap-add SYS_PTRACE"

/* The advice to a person about a call that does not work at all. */
static const char *cma_remedy(int error)
{
    switch (error) {
    case EPERM:
        return "both processes must be of one user and have the same capabilities; "
               "/proc/sys/kernel/yama/ptrace_scope must be 0, or 1 and UCX built with "
               "CMA; "
               "a container may need a seccomp profile that allows the call, or "
               "--cap-add SYS_PTRACE";
    case ENOSYS:
        return "the kernel needs CONFIG_CROSS_MEMORY_ATTACH, and a container a seccomp "
               "profile that allows the call";
    case ESRCH:
        return "the process has ended, or /proc does not show it";
    case EFAULT:
        return "the process is not the one that is meant, or no longer uses this plane";
    default:
        return "not expected";
    }
}

/* Describe up to @a max of the bytes that come next, as many as a batch has room for.
 * @return Their number. */
static size_t cma_fill(const ri_cursor_t *cursor, struct iovec *iov,
                       unsigned long *count_p, size_t max)
{
    const ri_segment_t *segment = cursor->segment;
    uint64_t offset             = cursor->offset;
    unsigned long count         = 0;
    size_t total                = 0;

    for (; (segment < cursor->end) && (count < CMA_BATCH) && (total < max); ++segment) {
        size_t length = ri_min(segment->length - offset, max - total);

        if (length > 0) {
            iov[count].iov_base = (void *)(uintptr_t)(segment->address + offset);
            iov[count].iov_len  = length;
            total += length;
            ++count;
        }
        offset = 0;
    }
    *count_p = count;
    return total;
}

static ucs_status_t cma_failed(const cma_ep_t *ep, const cma_call_t *call, int error)
{
    switch (error) {
    case EPERM:
    case ENOSYS:
    case ESRCH:
        ri_info("no more direct copies with process %d: %s: %s; %s", (int)ep->pid,
                call->name, strerror(error), cma_remedy(error));
        return UCS_ERR_UNREACHABLE;
    case EFAULT:
        return UCS_ERR_INVALID_ADDR;
    case ENOMEM:
        return UCS_ERR_NO_MEMORY;
    default:
        return UCS_ERR_IO_ERROR;
    }
}

/* Read the cookie of a remote process. @return 0, or the error that says why not. */
static int cma_read_cookie(const ri_cma_address_t *address)
{
    uint64_t cookie = 0;
    struct iovec local, remote;
    ssize_t length;

    local.iov_base  = &cookie;
    local.iov_len   = sizeof(cookie);
    remote.iov_base = (void *)(uintptr_t)address->cookie_address;
    remote.iov_len  = sizeof(cookie);
    length          = cma_call_read.func(address->pid, &local, 1, &remote, 1, 0);
    if (length < 0) {
        return errno;
    }
    return ((length == sizeof(cookie)) && (cookie == address->cookie)) ? 0 : EFAULT;
}

/* Let the last call of a read also read whether the remote side has its plane still, behind the
 * data: the kernel copies in the order of the list. */
static void cma_add_cookie(const cma_ep_t *ep, cma_lists_t *lists, uint64_t *cookie)
{
    *cookie = 0;
    if ((lists->num_local < CMA_BATCH) && (lists->num_remote < CMA_BATCH)) {
        lists->local[lists->num_local++]   = (struct iovec){cookie, sizeof(*cookie)};
        lists->remote[lists->num_remote++] = (struct iovec){
                (void *)(uintptr_t)ep->address.cookie_address, sizeof(*cookie)};
    }
}

/* All has been read. @return Whether that was while the remote side had its plane. */
static ucs_status_t cma_verified(const cma_ep_t *ep, uint64_t cookie)
{
    int error = EFAULT;

    if (cookie == ep->address.cookie) {
        return UCS_OK;
    }
    if (cookie == 0) {
        error = cma_read_cookie(&ep->address); /* there was no room for it in the lists */
    }
    return (error == 0) ? UCS_OK : UCS_ERR_UNREACHABLE;
}

static ucs_status_t cma_transfer(const cma_ep_t *ep, const ri_transfer_t *transfer,
                                 const cma_call_t *call)
{
    size_t left        = transfer->length;
    uint64_t cookie    = 0;
    ri_cursor_t local  = ri_cursor_at(transfer->local, transfer->num_local,
                                      transfer->offset);
    ri_cursor_t remote = ri_cursor_at(transfer->remote, transfer->num_remote,
                                      transfer->offset);
    cma_lists_t lists;
    ssize_t moved;
    size_t total;

    while (left > 0) {
        total = cma_fill(&local, lists.local, &lists.num_local, left);
        total = cma_fill(&remote, lists.remote, &lists.num_remote, total);
        if (total == 0) {
            return UCS_ERR_INVALID_PARAM; /* one of the lists is too short */
        }
        if (transfer->verify && (total == left)) {
            cma_add_cookie(ep, &lists, &cookie);
        }

        /* Moves the shorter of the two, or less */
        moved = call->func(ep->pid, lists.local, lists.num_local, lists.remote,
                           lists.num_remote, 0);
        if (ri_unlikely(moved <= 0)) {
            if ((moved < 0) && (errno == EINTR)) {
                continue;
            }
            return cma_failed(ep, call, (moved < 0) ? errno : EFAULT);
        }

        moved = ri_min((size_t)moved, left); /* without the cookie */
        ri_cursor_advance(&local, moved);
        ri_cursor_advance(&remote, moved);
        left -= moved;
    }
    return transfer->verify ? cma_verified(ep, cookie) : UCS_OK;
}

/* Can this process make the call at all? It may always access itself, so if not, it is not
 * the other side that refuses. */
static int cma_works(cma_plane_t *plane, const cma_call_t *call)
{
    struct iovec local, remote;
    uint64_t word = plane->cookie; /* or the write would change it */
    int error;

    local.iov_base  = &word;
    local.iov_len   = sizeof(word);
    remote.iov_base = (void *)&plane->cookie;
    remote.iov_len  = sizeof(plane->cookie);
    if (call->func(getpid(), &local, 1, &remote, 1, 0) == sizeof(word)) {
        return 1;
    }
    error = errno;
    ri_info("no direct copies: %s of the own memory: %s; %s", call->name, strerror(error),
            (error == EPERM) ? CMA_REMEDY_FILTER : cma_remedy(error));
    return 0;
}

static ucs_status_t cma_open(ri_plane_t **plane_p)
{
    uint64_t host  = ri_host_id();
    uint64_t start = ri_host_process_start(getpid());
    cma_plane_t *plane;

    if ((host == 0) || (start == 0)) {
        ri_info("no direct copies: /proc cannot be read");
        return UCS_ERR_UNSUPPORTED;
    }

    plane = calloc(1, sizeof(*plane));
    if (plane == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    plane->cookie            = ri_random();
    plane->super.peer_memory = ri_heap_block(sizeof(cma_ep_t));

    plane->super.ops = &ri_plane_cma;
    if (!cma_works(plane, &cma_call_read)) {
        free(plane);
        return UCS_ERR_UNSUPPORTED;
    }
    plane->super.capabilities = RI_PLANE_READ | RI_PLANE_LISTS | RI_PLANE_INLINE;
    if (cma_works(plane, &cma_call_write)) {
        plane->super.capabilities |= RI_PLANE_WRITE;
    }

    plane->address.host           = host;
    plane->address.pid            = getpid();
    plane->address.start          = (uint32_t)start;
    plane->address.cookie_address = (uintptr_t)&plane->cookie;
    plane->address.cookie         = plane->cookie;
    *plane_p                      = &plane->super;
    return UCS_OK;
}

/* Who asks from now on finds another process than the one it means. */
static void cma_leave(ri_plane_t *super)
{
    ri_container_of(super, cma_plane_t, super)->cookie = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* before any memory is given back */
}

static void cma_close(ri_plane_t *super)
{
    cma_leave(super);
    free(ri_container_of(super, cma_plane_t, super));
}

static size_t cma_address(ri_plane_t *super, void *address)
{
    const cma_plane_t *plane = ri_container_of(super, cma_plane_t, super);

    memcpy(address, &plane->address, sizeof(plane->address));
    return sizeof(plane->address);
}

/* Is it the process that is meant? @return 0, or the error that says why not. */
static int cma_verify(const ri_cma_address_t *address)
{
    return ((uint32_t)ri_host_process_start(address->pid) == address->start) ?
                   cma_read_cookie(address) :
                   ESRCH;
}

/* The address of a process that has no such plane tells who it is, if anything. */
static void cma_say_no_plane(const void *address, size_t length)
{
    ri_host_process_t process;

    if (length == sizeof(process)) {
        memcpy(&process, address, sizeof(process));
        ri_info("no direct copies with process %u: it makes none itself: UCXRI_CMA=n, or "
                "it is "
                "not allowed to (a line of its own says why)",
                process.pid);
    } else if (length == 0) {
        ri_info("no direct copies with a process that can read no /proc, or makes none "
                "itself");
    } else {
        ri_info("no direct copies: a malformed address of %zu bytes", length);
    }
}

static ucs_status_t cma_connect(ri_plane_t *super, const void *address, size_t length,
                                ri_plane_ep_t **ep_p)
{
    const cma_plane_t *plane = ri_container_of(super, cma_plane_t, super);
    ri_cma_address_t remote;
    cma_ep_t *ep;
    int error;

    if (length != sizeof(remote)) {
        cma_say_no_plane(address, length);
        return UCS_ERR_UNREACHABLE;
    }
    memcpy(&remote, address, sizeof(remote));
    if (!ri_host_may_reach(remote.host, plane->address.host)) {
        ri_debug("no direct copies with process %u: another host, pid namespace or user",
                 remote.pid);
        return UCS_ERR_UNREACHABLE;
    }
    error = cma_verify(&remote);
    if (error != 0) {
        ri_info("no direct copies with process %u: %s: %s; %s", remote.pid,
                cma_call_read.name, strerror(error), cma_remedy(error));
        return UCS_ERR_UNREACHABLE;
    }

    ep = malloc(sizeof(*ep));
    if (ep == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ep->super.plane = super;
    ep->pid         = remote.pid;
    ep->address     = remote;
    *ep_p           = &ep->super;
    return UCS_OK;
}

static void cma_disconnect(ri_plane_ep_t *super)
{
    free(ri_container_of(super, cma_ep_t, super));
}

static ucs_status_t cma_read(ri_plane_ep_t *super, const ri_transfer_t *transfer)
{
    return cma_transfer(ri_container_of(super, cma_ep_t, super), transfer,
                        &cma_call_read);
}

static ucs_status_t cma_write(ri_plane_ep_t *super, const ri_transfer_t *transfer)
{
    return cma_transfer(ri_container_of(super, cma_ep_t, super), transfer,
                        &cma_call_write);
}

static ucs_status_t cma_check(ri_plane_ep_t *super)
{
    const ri_cma_address_t *address = &ri_container_of(super, cma_ep_t, super)->address;
    const ri_host_process_t process = {address->host, address->pid, address->start};
    int error                       = cma_read_cookie(address);

    switch (error) {
    case 0:
        return UCS_OK;
    case EFAULT:
        return UCS_ERR_UNREACHABLE;
    case ESRCH:
        /* Its first thread has no memory any more. Another one may still be in a copy. */
        return (ri_host_process_look(&process) == RI_HOST_RUNS) ? UCS_OK :
                                                                  UCS_ERR_UNREACHABLE;
    default:
        /* An access that is not allowed any more does not mean that the process is gone. */
        return (ri_host_process_look(&process) == RI_HOST_GONE) ? UCS_ERR_UNREACHABLE :
                                                                  UCS_OK;
    }
}

/* Read from the own process. @return The shortest of some tries, in seconds; 0 if that does
 * not work. */
static double cma_time_read(void *to, void *from, size_t length, int tries)
{
    struct iovec local  = {.iov_base = to, .iov_len = length};
    struct iovec remote = {.iov_base = from, .iov_len = length};
    double best         = 0;
    double time;
    int i;

    for (i = 0; i < tries; ++i) {
        time = ri_clock_now();
        if (cma_call_read.func(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)length) {
            return 0;
        }
        time = ri_clock_now() - time;
        best = ((i == 0) || (time < best)) ? time : best;
    }
    return best;
}

static ucs_status_t cma_measure(void *to, void *from, size_t length,
                                ri_plane_cost_t *cost)
{
    double call = cma_time_read(to, from, 1, 2 * CMA_MEASURE_TRIES);
    double all  = (call > 0) ? cma_time_read(to, from, length, CMA_MEASURE_TRIES) : 0;

    if ((call <= 0) || (all <= call)) {
        return UCS_ERR_UNSUPPORTED;
    }
    cost->call = call * 1e9;
    cost->rate = length / ((all - call) * 1e9);
    return UCS_OK;
}

const ri_plane_ops_t ri_plane_cma = {
        .name       = "cma",
        .open       = cma_open,
        .close      = cma_close,
        .address    = cma_address,
        .connect    = cma_connect,
        .disconnect = cma_disconnect,
        .read       = cma_read,
        .write      = cma_write,
        .check      = cma_check,
        .measure    = cma_measure,
        .leave      = cma_leave,
};
