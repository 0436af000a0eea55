/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Libraries are searched in the order in which they are asked for, as the loader does. Those that
 * are asked for again are not searched twice. A file for another machine is passed over.
 *
 * What a program opens itself (dlopen) is not found.
 */
#include "ucxri_check_libs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBS_CACHE "/etc/ld.so.cache"

/* No program has more; a chain that never ends cannot be. */
#define LIBS_MAX 1024

/* The cache, as glibc has written it since 2.2, behind or without one of an older form. */
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

typedef struct cache_header {
    char magic[sizeof(CACHE_MAGIC) - 1];
    uint32_t count;
    uint32_t strings_size;
    uint32_t unused[5];
} cache_header_t;

typedef struct cache_entry {
    int32_t flags;
    uint32_t name; /* places of texts, from the header on */
    uint32_t value;
    uint32_t os_version;
    uint64_t hwcap;
} cache_entry_t;

const char *check_libs_cached(const char *cache, size_t size, const char *name,
                              const char *previous)
{
    const char *base = (cache == NULL) ?
                               NULL :
                               memmem(cache, size, CACHE_MAGIC, sizeof(CACHE_MAGIC) - 1);
    int found        = (previous == NULL);
    cache_header_t header;
    cache_entry_t entry;
    uint32_t i;

    if (base == NULL) {
        return NULL;
    }
    size -= base - cache;
    if (size < sizeof(header)) {
        return NULL;
    }
    memcpy(&header, base, sizeof(header));
    for (i = 0; (i < header.count) && (i < (size - sizeof(header)) / sizeof(entry));
         ++i) {
        memcpy(&entry, base + sizeof(header) + i * sizeof(entry), sizeof(entry));
        if ((entry.name >= size) || (entry.value >= size) ||
            (memchr(base + entry.name, '\0', size - entry.name) == NULL) ||
            (memchr(base + entry.value, '\0', size - entry.value) == NULL) ||
            strcmp(base + entry.name, name)) {
            continue;
        }
        if (found) {
            return base + entry.value;
        }
        found = (base + entry.value == previous);
    }
    return NULL;
}

/* Read a whole file. @return Memory for free(), or NULL. */
static char *libs_read_file(const char *path, size_t *size)
{
    int fd     = open(path, O_RDONLY | O_CLOEXEC);
    char *data = NULL;
    ssize_t got;
    struct stat st;

    if (fd < 0) {
        return NULL;
    }
    if ((fstat(fd, &st) == 0) && (st.st_size > 0)) {
        data = malloc(st.st_size);
    }
    for (*size = 0; (data != NULL) && (*size < (size_t)st.st_size); *size += got) {
        got = read(fd, data + *size, st.st_size - *size);
        if (got <= 0) {
            break;
        }
    }
    close(fd);
    return data;
}

/* Read a file, if it is for the same machine as the program. @return Whether it was taken. */
static int libs_take(const check_libs_t *libs, check_lib_t *lib, const char *path)
{
    check_elf_t elf;

    if ((check_elf_read(path, &elf) == CHECK_ELF_FILE) &&
        (elf.machine == libs->libs[0].elf.machine)) {
        lib->path = strdup(path);
        lib->elf  = elf;
        return 1;
    }
    check_elf_free(&elf);
    return 0;
}

/* Copy one folder of a list, with $ORIGIN as the folder of the file that has the list. @return
 * Whether it fits. */
static int libs_expand(const char *folder, size_t length, const char *owner, char *text)
{
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    const char *slash                  = strrchr(owner, '/');
    int origin_length                  = (slash == NULL) ? 1 : (int)(slash - owner);
    const char *origin                 = (slash == NULL) ? "." : owner;
    size_t i, n, used = 0;

    while (length > 0) {
        n = 0;
        for (i = 0; i < sizeof(origins) / sizeof(origins[0]); ++i) {
            if ((strlen(origins[i]) <= length) &&
                !strncmp(folder, origins[i], strlen(origins[i]))) {
                n = strlen(origins[i]);
            }
        }
        if (n > 0) {
            used += snprintf(text + used, PATH_MAX - used, "%.*s", origin_length, origin);
        } else {
            n            = 1;
            text[used++] = *folder;
        }
        if (used >= PATH_MAX - 1) {
            return 0;
        }
        folder += n;
        length -= n;
    }
    text[used] = '\0';
    return 1;
}

/* Look into the folders of a list. */
static int libs_search(const check_libs_t *libs, check_lib_t *lib, const char *list,
                       const char *owner)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX];
    size_t length;

    while ((list != NULL) && (*list != '\0')) {
        length = strcspn(list, ":;");
        if (libs_expand((length == 0) ? "." : list, (length == 0) ? 1 : length, owner,
                        folder) &&
            ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, lib->name) <
             sizeof(path)) &&
            libs_take(libs, lib, path)) {
            return 1;
        }
        list += length + (list[length] != '\0');
    }
    return 0;
}

/* DT_RPATH of a library holds for what its libraries need as well, unless there is DT_RUNPATH. */
static int libs_search_rpath(const check_libs_t *libs, check_lib_t *lib)
{
    const check_lib_t *owner = &libs->libs[lib->parent];

    if (owner->elf.runpath != NULL) {
        return 0;
    }
    for (;;) {
        if ((owner->elf.runpath == NULL) && (owner->path != NULL) &&
            libs_search(libs, lib, owner->elf.rpath, owner->path)) {
            return 1;
        }
        if (owner == libs->libs) {
            return 0;
        }
        owner = &libs->libs[owner->parent];
    }
}

static void libs_find_one(const check_libs_t *libs, check_lib_t *lib)
{
    static const char system_folders[] = "/lib64:/usr/lib64:/lib:/usr/lib";
    const check_lib_t *owner           = &libs->libs[lib->parent];
    const char *cached                 = NULL;

    if (strchr(lib->name, '/') != NULL) {
        libs_take(libs, lib, lib->name);
        return;
    }
    if (libs_search_rpath(libs, lib) ||
        libs_search(libs, lib, getenv("LD_LIBRARY_PATH"), libs->libs[0].path) ||
        libs_search(libs, lib, owner->elf.runpath, owner->path)) {
        return;
    }
    while ((cached = check_libs_cached(libs->cache, libs->cache_size, lib->name,
                                       cached)) != NULL) {
        if (libs_take(libs, lib, cached)) {
            return;
        }
    }
    libs_search(libs, lib, system_folders, "/");
}

static int libs_has(const check_libs_t *libs, const char *name)
{
    size_t i;

    for (i = 0; i < libs->count; ++i) {
        if (!strcmp(libs->libs[i].name, name)) {
            return 1;
        }
    }
    return 0;
}

static int libs_add(check_libs_t *libs, const char *name, size_t parent)
{
    check_lib_t *lib;
    char *copy;

    if (libs->libs == NULL) {
        libs->libs = calloc(LIBS_MAX, sizeof(*libs->libs));
    }
    copy = strdup(name);
    if ((libs->libs == NULL) || (libs->count == LIBS_MAX) || (copy == NULL)) {
        free(copy);
        return 0;
    }
    lib         = &libs->libs[libs->count++];
    lib->name   = copy;
    lib->parent = parent;
    return 1;
}

void check_libs_find(check_libs_t *libs, const char *path)
{
    check_lib_t *lib;
    size_t i, j;

    memset(libs, 0, sizeof(*libs));
    if (!libs_add(libs, path, 0)) {
        return;
    }
    libs->cache        = libs_read_file(LIBS_CACHE, &libs->cache_size);
    libs->libs[0].path = strdup(path);
    check_elf_read(path, &libs->libs[0].elf);
    for (i = 0; i < libs->count; ++i) {
        lib = &libs->libs[i];
        if (i > 0) {
            libs_find_one(libs, lib);
        }
        for (j = 0; (lib->path != NULL) && (j < lib->elf.num_needed); ++j) {
            if (!libs_has(libs, lib->elf.needed[j])) {
                libs_add(libs, lib->elf.needed[j], i);
            }
        }
    }
}

int check_libs_locate(const char *name, char *path, size_t max)
{
    check_libs_t libs = {.count = 0};
    int is_found      = 0;

    if (libs_add(&libs, "/proc/self/exe", 0) && libs_add(&libs, name, 0)) {
        libs.cache        = libs_read_file(LIBS_CACHE, &libs.cache_size);
        libs.libs[0].path = strdup(libs.libs[0].name);
        check_elf_read(libs.libs[0].name, &libs.libs[0].elf);
        libs_find_one(&libs, &libs.libs[1]);
        is_found = (libs.libs[1].path != NULL);
    }
    if (is_found) {
        snprintf(path, max, "%s", libs.libs[1].path);
    }
    check_libs_free(&libs);
    return is_found;
}

void check_libs_free(check_libs_t *libs)
{
    size_t i;

    for (i = 0; i < libs->count; ++i) {
        check_elf_free(&libs->libs[i].elf);
        free(libs->libs[i].name);
        free(libs->libs[i].path);
    }
    free(libs->libs);
    free(libs->cache);
    memset(libs, 0, sizeof(*libs));
}

const check_lib_t *check_libs_get(const check_libs_t *libs, const char *prefix)
{
    const char *name;
    size_t i;

    for (i = 1; i < libs->count; ++i) {
        name = basename(libs->libs[i].name);
        if (!strncmp(name, prefix, strlen(prefix))) {
            return &libs->libs[i];
        }
    }
    return NULL;
}
