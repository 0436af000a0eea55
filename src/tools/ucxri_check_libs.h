/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All libraries that the loader would load with a program, found as it finds them: DT_RPATH,
 * LD_LIBRARY_PATH, DT_RUNPATH, /etc/ld.so.cache, and the folders of the system. Nothing is loaded
 * or run, so it also works for a program that one does not trust, or that would start a job.
 */
#ifndef UCXRI_CHECK_LIBS_H
#define UCXRI_CHECK_LIBS_H

#include "ucxri_check_elf.h"

typedef struct check_lib {
    char *name;    /* as it is asked for: libmpich.so.12 */
    char *path;    /* NULL: not found */
    size_t parent; /* which entry has asked for it first */
    check_elf_t elf;
} check_lib_t;

/* The first entry is the program. */
typedef struct check_libs {
    check_lib_t *libs;
    size_t count;
    char *cache; /* /etc/ld.so.cache, NULL: cannot be read */
    size_t cache_size;
} check_libs_t;

/** Find the libraries of a program or library. @a libs holds memory until check_libs_free(). */
void check_libs_find(check_libs_t *libs, const char *path);

/** Free what check_libs_find() has allocated. */
void check_libs_free(check_libs_t *libs);

/** @return The first library whose name begins with @a prefix, or NULL. The program is none. */
const check_lib_t *check_libs_get(const check_libs_t *libs, const char *prefix);

/** Find a library by its name, as the loader would for this program if it opened it: in
 * LD_LIBRARY_PATH, the cache, and the folders of the system.
 *
 * @param path  Gets where it is, @a max bytes with the end.
 *
 * @return Whether it was found. */
int check_libs_locate(const char *name, char *path, size_t max);

/**
 * Look a library up in the loader's cache.
 *
 * @param cache     The content of the file.
 * @param previous  An earlier result for the same name, after which the search goes on; NULL: from
 *                  the start. There may be libraries for several machines.
 *
 * @return A path within @a cache, or NULL. What is not a cache has no libraries.
 */
const char *check_libs_cached(const char *cache, size_t size, const char *name,
                              const char *previous);

#endif
