/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Protection domains and memory regions. A key is an index into the table of regions, the
 * process's slot, and a count of the index's uses, so that an old key or one of another
 * process is hardly ever good by chance.
 */
#include "counters.h"
#include "export.h"
#include "fabric.h"
#include "objects.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define MR_ACCESS \
    ((unsigned)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
                IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
                IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE))

static pthread_mutex_t sh_mr_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mr_unused   = PTHREAD_COND_INITIALIZER;
static sh_mr_t *mr_table[SH_MAX_MRS];
static uint8_t mr_uses[SH_MAX_MRS];
static uint32_t mr_next;
static uint64_t mr_bytes;

static uint32_t mr_key(uint32_t index)
{
    return (index << 16) | (sh_fabric_slot() << 8) | mr_uses[index];
}

void sh_mr_forget(void)
{
    sh_mutex_init(&sh_mr_lock);
    pthread_cond_init(&mr_unused, NULL);
    memset(mr_table, 0, sizeof(mr_table));
    mr_bytes = 0;
}

SH_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    sh_pd_t *pd = calloc(1, sizeof(*pd));

    if (pd != NULL) {
        pd->super.context = context;
    }
    return (pd == NULL) ? NULL : &pd->super;
}

SH_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
    sh_pd_t *own = (sh_pd_t *)(void *)pd;

    if (sh_context_valid(pd->context) &&
        (__atomic_load_n(&own->users, __ATOMIC_RELAXED) != 0)) {
        return EBUSY;
    }
    free(own);
    return 0;
}

/* Not libc's function, in which memory hooks look for unmapping. */
static int mr_populate(uintptr_t address, size_t length, int advice)
{
    return (int)syscall(SYS_madvise, address, length, advice);
}

/* Have the pages there, as pinning would. @return 0, or an errno value. */
static int mr_pin(void *addr, size_t length, unsigned access)
{
    uintptr_t begin = (uintptr_t)addr & ~(uintptr_t)(SH_PAGE - 1);
    uintptr_t end;

    if (length == 0) {
        return 0;
    }
    if (__builtin_add_overflow((uintptr_t)addr, length, &end) ||
        (end > UINTPTR_MAX - SH_PAGE)) {
        return EINVAL;
    }
    end = (end + SH_PAGE - 1) & ~(uintptr_t)(SH_PAGE - 1);
    if (!mr_populate(begin, end - begin,
                     (access & IBV_ACCESS_LOCAL_WRITE) ? MADV_POPULATE_WRITE :
                                                         MADV_POPULATE_READ)) {
        return 0;
    }
    /* Before Linux 5.14 there is no such advice: accesses will tell */
    return mr_populate((uintptr_t)&end & ~(uintptr_t)(SH_PAGE - 1), SH_PAGE,
                       MADV_POPULATE_READ) ?
                   0 :
                   EFAULT;
}

/* Take an index. With sh_mr_lock held. @return SH_MAX_MRS if there is none. */
static uint32_t mr_take_index(void)
{
    uint32_t i, index;

    for (i = 0; i < SH_MAX_MRS; ++i) {
        index = (mr_next + i) % SH_MAX_MRS;
        /* 0 is what programs take for no key */
        if ((mr_table[index] == NULL) && (index != 0)) {
            mr_next = (index + 1) % SH_MAX_MRS;
            ++mr_uses[index];
            return index;
        }
    }
    return SH_MAX_MRS;
}

static int mr_check(unsigned access, size_t length)
{
    if ((access & ~MR_ACCESS) ||
        ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
         !(access & IBV_ACCESS_LOCAL_WRITE))) {
        return EINVAL;
    }
    return (length > (1UL << 46)) ? EINVAL : 0;
}

/* With sh_mr_lock held. @return 0, or ENOMEM. */
static int mr_insert(sh_mr_t *mr)
{
    uint32_t index;

    if (mr->super.length > sh_settings.max_reg - sh_min(mr_bytes, sh_settings.max_reg)) {
        return ENOMEM;
    }
    index = mr_take_index();
    if (index == SH_MAX_MRS) {
        return ENOMEM;
    }
    mr_table[index]  = mr;
    mr->super.handle = index;
    mr->super.lkey   = mr_key(index);
    mr->super.rkey   = mr->super.lkey;
    mr_bytes += mr->super.length;
    return 0;
}

static struct ibv_mr *mr_register(struct ibv_pd *pd, void *addr, size_t length,
                                  uint64_t iova, unsigned access)
{
    sh_mr_t *mr = NULL;
    int error   = sh_context_valid(pd->context) ? mr_check(access, length) : EIO;

    if (!error && (((uintptr_t)addr ^ iova) % SH_PAGE)) {
        error = EINVAL; /* devices translate whole pages */
    }
    if (!error) {
        error = mr_pin(addr, length, access);
    }
    if (!error) {
        mr    = calloc(1, sizeof(*mr));
        error = (mr == NULL) ? ENOMEM : 0;
    }
    if (!error) {
        mr->super.context = pd->context;
        mr->super.pd      = pd;
        mr->super.addr    = addr;
        mr->super.length  = length;
        mr->iova          = (access & IBV_ACCESS_ZERO_BASED) ? 0 : iova;
        mr->access        = access;
        error             = sh_pages_hold(addr, length, &mr->pages);
    }
    if (!error) {
        pthread_mutex_lock(&sh_mr_lock);
        error = mr_insert(mr);
        pthread_mutex_unlock(&sh_mr_lock);
    }
    if (error) {
        if (mr != NULL) {
            sh_pages_release(mr->pages, 1);
        }
        free(mr);
        errno = error;
        return NULL;
    }
    __atomic_fetch_add(&((sh_pd_t *)(void *)pd)->users, 1, __ATOMIC_RELAXED);
    sh_count(mr_regs, 1);
    sh_count(mr_bytes, length);
    return &mr->super;
}

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

SH_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
                                    int access)
{
    return mr_register(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

SH_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
                                         uint64_t iova, int access)
{
    return mr_register(pd, addr, length, iova, (unsigned)access);
}

SH_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
                                          uint64_t iova, unsigned access)
{
    return mr_register(pd, addr, length, iova, access);
}

/* Nobody finds the region any more, and nobody uses it. With sh_mr_lock held. */
static void mr_quiesce(sh_mr_t *mr)
{
    mr->dead = 1;
    while (mr->users > 0) {
        pthread_cond_wait(&mr_unused, &sh_mr_lock);
    }
}

SH_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
    sh_mr_t *own = (sh_mr_t *)(void *)mr;

    if (sh_context_valid(mr->context)) {
        pthread_mutex_lock(&sh_mr_lock);
        mr_quiesce(own);
        mr_table[mr->handle] = NULL;
        mr_bytes -= mr->length;
        pthread_mutex_unlock(&sh_mr_lock);
        __atomic_fetch_sub(&((sh_pd_t *)(void *)mr->pd)->users, 1, __ATOMIC_RELAXED);
        sh_count(mr_deregs, 1);
        sh_count(mr_bytes, -mr->length);
    }
    sh_pages_release(own->pages, sh_context_valid(mr->context));
    free(own);
    return 0;
}

SH_EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
                           size_t length, int access)
{
    sh_mr_t *own        = (sh_mr_t *)(void *)mr;
    void *new_addr      = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) ? addr : mr->addr;
    size_t new_length   = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) ? length : mr->length;
    unsigned new_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) ? (unsigned)access :
                                                                 own->access;
    sh_pages_t *old_pages, *pages = NULL;

    if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) || (flags == 0) ||
        mr_check(new_access, new_length) || mr_pin(new_addr, new_length, new_access) ||
        ((flags & IBV_REREG_MR_CHANGE_PD) && (pd == NULL)) ||
        sh_pages_hold(new_addr, new_length, &pages)) {
        errno = EINVAL;
        return IBV_REREG_MR_ERR_INPUT;
    }
    pthread_mutex_lock(&sh_mr_lock);
    mr_quiesce(own);
    mr_bytes += new_length - mr->length;
    sh_count(mr_bytes, new_length - mr->length);
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        own->iova = (uintptr_t)new_addr;
    }
    if (flags & IBV_REREG_MR_CHANGE_PD) {
        __atomic_fetch_sub(&((sh_pd_t *)(void *)mr->pd)->users, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&((sh_pd_t *)(void *)pd)->users, 1, __ATOMIC_RELAXED);
        mr->pd = pd;
    }
    old_pages   = own->pages;
    own->pages  = pages;
    mr->addr    = new_addr;
    mr->length  = new_length;
    own->access = new_access;
    ++mr_uses[mr->handle];
    mr->lkey  = mr_key(mr->handle);
    mr->rkey  = mr->lkey;
    own->dead = 0;
    pthread_mutex_unlock(&sh_mr_lock);
    sh_pages_release(old_pages, 1);
    return 0;
}

/* Where an access goes to. */
static void *mr_memory(const sh_mr_t *mr, uint64_t address, uint64_t length)
{
    char *memory = (char *)mr->super.addr + (address - mr->iova);

    return (mr->pages == NULL) ? memory : sh_pages_check(mr->pages, memory, length);
}

static int mr_is_for(const sh_mr_t *mr, const struct ibv_pd *pd, uint32_t key,
                     uint64_t address, uint64_t length, unsigned access)
{
    return (mr->super.lkey == key) && (mr->super.pd == pd) &&
           ((mr->access & access) == access) && (address >= mr->iova) &&
           (length <= mr->super.length) &&
           (address - mr->iova <= mr->super.length - length);
}

sh_mr_t *sh_mr_get(const struct ibv_pd *pd, uint32_t key, uint64_t address,
                   uint64_t length, unsigned access, void **local)
{
    uint32_t index = key >> 16;
    sh_mr_t *mr;

    pthread_mutex_lock(&sh_mr_lock);
    mr = mr_table[index];
    if ((mr == NULL) || mr->dead || !mr_is_for(mr, pd, key, address, length, access)) {
        mr = NULL;
    } else {
        ++mr->users;
    }
    pthread_mutex_unlock(&sh_mr_lock);
    if (mr != NULL) {
        *local = mr_memory(mr, address, length);
    }
    return mr;
}

void *sh_mr_again(const sh_mr_t *mr, const struct ibv_pd *pd, uint32_t key,
                  uint64_t address, uint64_t length, unsigned access)
{
    return mr_is_for(mr, pd, key, address, length, access) ?
                   mr_memory(mr, address, length) :
                   NULL;
}

void sh_mr_put(sh_mr_t *mr)
{
    if (mr == NULL) {
        return;
    }
    pthread_mutex_lock(&sh_mr_lock);
    if ((--mr->users == 0) && mr->dead) {
        pthread_cond_broadcast(&mr_unused);
    }
    pthread_mutex_unlock(&sh_mr_lock);
}
