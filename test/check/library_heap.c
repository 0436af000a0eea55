/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Preloaded into a program on glibc, it has mallinfo2() tell of what libucxri.so alone has
 * allocated: the blocks that malloc() and its like were called for from there, with what malloc()
 * takes for itself, until they are freed. For tests of what the library says that it takes.
 */
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_MAX_BLOCKS (1ul << 20)

#define HEAP_EXPORT __attribute__((visibility("default")))

/* What stands in front of each block that malloc() gives */
#define HEAP_HEADER sizeof(size_t)

/* glibc's own, which cannot be found by dlsym(): that allocates */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static void *heap_blocks[HEAP_MAX_BLOCKS]; /* open addressing; HEAP_GRAVE: was one */
static size_t heap_bytes;
static uintptr_t heap_begin, heap_end; /* where the library is; 0: not known yet */

static char heap_gravestone;
#define HEAP_GRAVE ((void *)&heap_gravestone)

static int heap_find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    int i;

    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "/libucxri.so") == NULL) {
        return 0;
    }
    for (i = 0; i < info->dlpi_phnum; ++i) {
        if ((info->dlpi_phdr[i].p_type == PT_LOAD) &&
            (info->dlpi_phdr[i].p_flags & PF_X)) {
            heap_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            heap_end   = heap_begin + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}

__attribute__((constructor)) static void heap_start(void)
{
    dl_iterate_phdr(heap_find_library, NULL);
}

static size_t heap_place(const void *block)
{
    return (((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15ul) >> (64 - 20);
}

static void *heap_add(void *block, const void *caller)
{
    size_t i;

    if ((block == NULL) || ((uintptr_t)caller < heap_begin) ||
        ((uintptr_t)caller >= heap_end)) {
        return block;
    }
    pthread_mutex_lock(&heap_lock);
    for (i = heap_place(block);
         (heap_blocks[i] != NULL) && (heap_blocks[i] != HEAP_GRAVE);) {
        i = (i + 1) % HEAP_MAX_BLOCKS;
    }
    heap_blocks[i] = block;
    heap_bytes += malloc_usable_size(block) + HEAP_HEADER;
    pthread_mutex_unlock(&heap_lock);
    return block;
}

static void heap_remove(void *block)
{
    size_t i;

    if (block == NULL) {
        return;
    }
    pthread_mutex_lock(&heap_lock);
    for (i = heap_place(block); heap_blocks[i] != NULL; i = (i + 1) % HEAP_MAX_BLOCKS) {
        if (heap_blocks[i] == block) {
            heap_blocks[i] = HEAP_GRAVE;
            heap_bytes -= malloc_usable_size(block) + HEAP_HEADER;
            break;
        }
    }
    pthread_mutex_unlock(&heap_lock);
}

HEAP_EXPORT void *malloc(size_t size)
{
    return heap_add(__libc_malloc(size), __builtin_return_address(0));
}

HEAP_EXPORT void *calloc(size_t count, size_t size)
{
    return heap_add(__libc_calloc(count, size), __builtin_return_address(0));
}

HEAP_EXPORT void *realloc(void *block, size_t size)
{
    heap_remove(block);
    return heap_add(__libc_realloc(block, size), __builtin_return_address(0));
}

HEAP_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return heap_add(__libc_memalign(alignment, size), __builtin_return_address(0));
}

HEAP_EXPORT void free(void *block)
{
    heap_remove(block);
    __libc_free(block);
}

HEAP_EXPORT struct mallinfo2 mallinfo2(void)
{
    struct mallinfo2 info = {0};

    pthread_mutex_lock(&heap_lock);
    info.uordblks = heap_bytes;
    pthread_mutex_unlock(&heap_lock);
    return info;
}
