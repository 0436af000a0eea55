/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the events come is tried out with memory of our own. ucm_test_events() cannot be
 * asked: that of 1.13.1 says yes with UCX_MEM_EVENTS=n, too, and it moves the program break
 * up and down, which takes memory from another thread that does so at the same time.
 */
#include "mem_events.h"
#include "../../../ucs/log.h"
#include "../../../ucs/stock.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucm/api/ucm.h>
#include <unistd.h>

/* More than malloc ever keeps for itself: it is given back to the system when it is freed. */
#define EVENTS_PROBE_BLOCK (64ul << 20)

/* The order among several users of libucm; nobody depends on this one. */
#define EVENTS_PRIORITY 1000

typedef __typeof__(ucm_set_event_handler) *events_set_func_t;
typedef __typeof__(ucm_unset_event_handler) *events_unset_func_t;

static void events_handler(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    ri_mem_events_t *events = arg;
    /* of the same form in both kinds of event */
    uintptr_t start = (uintptr_t)event->vm_unmapped.address;
    uintptr_t end   = start + event->vm_unmapped.size;

    if (event->vm_unmapped.size == 0) {
        return;
    }
    if (end < start) {
        end = UINTPTR_MAX;
    }
    if ((start < atomic_load_explicit(&events->probe_end, memory_order_relaxed)) &&
        (end > atomic_load_explicit(&events->probe_start, memory_order_relaxed))) {
        atomic_fetch_add_explicit(&events->probe_seen, 1, memory_order_relaxed);
    }
    events->func(start, end, events->arg);
}

static void events_probe_set(ri_mem_events_t *events, const void *address, size_t length)
{
    atomic_store_explicit(&events->probe_seen, 0, memory_order_relaxed);
    atomic_store_explicit(&events->probe_start, (uintptr_t)address, memory_order_relaxed);
    atomic_store_explicit(&events->probe_end, (uintptr_t)address + length,
                          memory_order_relaxed);
}

/* @return Whether something was seen of the range since it was set, or called so last. */
static int events_probe_seen(ri_mem_events_t *events)
{
    unsigned seen = atomic_load_explicit(&events->probe_seen, memory_order_relaxed);

    atomic_store_explicit(&events->probe_seen, 0, memory_order_relaxed);
    return seen > 0;
}

/* Try calls of a program. @return The name of one that was not seen, or NULL. */
static const char *events_probe_calls(ri_mem_events_t *events, size_t page)
{
    const char *missed = NULL;
    size_t length      = 2 * page;
    void *p;

    p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return "mmap";
    }

    events_probe_set(events, (char *)p + page, page);
    if ((mmap(p, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
              -1, 0) == MAP_FAILED) ||
        !events_probe_seen(events)) {
        missed = "mmap with MAP_FIXED";
    } else if ((madvise(p, length, MADV_DONTNEED) != 0) || !events_probe_seen(events)) {
        missed = "madvise";
    } else if (mremap(p, length, page, 0) == p) {
        length = page; /* what is behind it may be somebody else's now */
        missed = events_probe_seen(events) ? NULL : "mremap";
    }

    events_probe_set(events, p, page);
    munmap(p, length);
    if ((missed == NULL) && !events_probe_seen(events)) {
        missed = "munmap";
    }
    return missed;
}

/* Find what is not seen of what the C library unmaps by itself. Another malloc than glibc's may
 * keep the memory; what matters is that memory which is gone was seen to go. */
static const char *events_probe_free(ri_mem_events_t *events, size_t page)
{
    unsigned char present;
    void *volatile p; /* or the compiler leaves malloc and free out */
    uintptr_t inside;

    p = malloc(EVENTS_PROBE_BLOCK);
    if (p == NULL) {
        return NULL;
    }
    inside = ((uintptr_t)p + EVENTS_PROBE_BLOCK / 2) & ~(uintptr_t)(page - 1);
    events_probe_set(events, (void *)inside, page);
    free(p);
    return ((mincore((void *)inside, page, &present) != 0) &&
            !events_probe_seen(events)) ?
                   "free" :
                   NULL;
}

/*
 * With UCX_MEM_MMAP_HOOK_MODE=reloc libucm takes malloc over, and looks up the C library's sbrk
 * when it first needs it: from inside of its malloc, with that one's lock held. Where it does
 * not find it at once, as in a process that has loaded the C library before libucm, the C library
 * allocates memory to note the error, and waits for that lock for ever. So it is made to look
 * it up here, where it may.
 */
static void events_find_sbrk(void)
{
    typedef void *(*sbrk_func_t)(intptr_t increment);
    sbrk_func_t func = (sbrk_func_t)ri_stock_symbol("ucm_orig_dlsym_sbrk");

    if (func != NULL) {
        func(0);
    }
}

ucs_status_t ri_mem_events_start(ri_mem_events_t *events, ri_mem_events_func_t func,
                                 void *arg)
{
    events_set_func_t set = (events_set_func_t)ri_stock_symbol("ucm_set_event_handler");
    size_t page           = sysconf(_SC_PAGESIZE);
    ucs_status_t status   = UCS_ERR_UNSUPPORTED;
    const char *missed;

    *events = (ri_mem_events_t){.func = func,
                                .arg  = arg,
                                .mask = UCM_EVENT_VM_UNMAPPED | UCM_EVENT_VM_MAPPED};
    events_find_sbrk();
    if (set != NULL) {
        status = set(events->mask, EVENTS_PRIORITY, events_handler, events);
        if (status != UCS_OK) {
            /* Where Open MPI's hooks feed libucm, there is only this one */
            events->mask = UCM_EVENT_VM_UNMAPPED;
            status       = set(events->mask, EVENTS_PRIORITY, events_handler, events);
        }
    }
    if (status != UCS_OK) {
        events->mask = 0;
        ri_warn("unmapping of memory cannot be watched: libucm has no events here: "
                "%s; see UCX_MEM_EVENTS and UCX_MEM_MMAP_HOOK_MODE",
                ri_stock_status_string(status));
        return UCS_ERR_UNSUPPORTED;
    }

    missed = events_probe_calls(events, page);
    if (missed == NULL) {
        missed = events_probe_free(events, page);
    }
    events_probe_set(events, NULL, 0);
    if (missed != NULL) {
        ri_warn("unmapping of memory cannot be watched: libucm does not notice %s; see "
                "UCX_MEM_MMAP_HOOK_MODE",
                missed);
        ri_mem_events_stop(events);
        return UCS_ERR_UNSUPPORTED;
    }
    return UCS_OK;
}

void ri_mem_events_stop(ri_mem_events_t *events)
{
    events_unset_func_t unset =
            (events_unset_func_t)ri_stock_symbol("ucm_unset_event_handler");

    if ((events->mask != 0) && (unset != NULL)) {
        unset(events->mask, events_handler, events);
    }
    events->mask = 0;
}
