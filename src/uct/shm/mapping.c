/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First all mappings of the process, then what is looked for among them, then views. The kernel
 * makes a second mapping of shared pages when mremap() is asked to move none of the first one.
 *
 * From 6.11 on the kernel answers questions about mappings. It passes over those that are not
 * shared, which are nearly all. To read them as text takes some 70 us.
 */
#include "mapping.h"
#include "shared_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAPS_FILE "/proc/self/maps"

/* How the kernel names the memory of shmget(). */
#define MAPS_SYSV "/SYSV"

/* One mapping of this process. */
typedef struct maps_line {
    uintptr_t start;
    uintptr_t end;
    ri_mapping_place_t place; /* of its start; inode 0: it cannot be viewed */
} maps_line_t;

/* Called for each mapping. @return Whether the look at all mappings is to go on. */
typedef int (*maps_func_t)(const maps_line_t *line, void *arg);

static uint64_t maps_ipc_namespace(void)
{
    struct stat st;

    return (stat("/proc/self/ns/ipc", &st) == 0) ? st.st_ino : 0;
}

/* Memory in files with such names is known by device and inode. In other file systems two files may
 * have the same. */
static const char *const maps_names[] = {"/dev/shm/", "/memfd:", "/dev/zero", MAPS_SYSV};

/* Whether memory is mapped shared, for reading and writing, and is not this library's own. */
static int maps_is_of_interest(const char *permissions, const char *name)
{
    size_t i;

    if ((permissions[0] != 'r') || (permissions[1] != 'w') || (permissions[3] != 's') ||
        !strncmp(name, RI_SHARED_FILE_MARK, strlen(RI_SHARED_FILE_MARK))) {
        return 0;
    }
    for (i = 0; i < sizeof(maps_names) / sizeof(maps_names[0]); ++i) {
        if (!strncmp(name, maps_names[i], strlen(maps_names[i]))) {
            return 1;
        }
    }
    return 0;
}

/* Segments of System V are numbered in each IPC namespace, from 0 on, which means no file here. */
static void maps_set_space(ri_mapping_place_t *place, const char *name)
{
    if (!strncmp(name, MAPS_SYSV, strlen(MAPS_SYSV))) {
        place->space = maps_ipc_namespace();
        place->inode = (place->space != 0) ? place->inode + 1 : 0;
    }
}

/* @return Whether it is a line as the kernel writes it. */
static int maps_parse(const char *text, maps_line_t *line)
{
    char permissions[5] = "";
    char name[64]       = "";
    unsigned major, minor;
    uint64_t offset, inode;

    if (sscanf(text, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %63s",
               &line->start, &line->end, permissions, &offset, &major, &minor, &inode,
               name) < 7) {
        return 0;
    }
    memset(&line->place, 0, sizeof(line->place));
    if (maps_is_of_interest(permissions, name)) {
        line->place.device = makedev(major, minor);
        line->place.inode  = inode;
        line->place.offset = offset;
        maps_set_space(&line->place, name);
    }
    return 1;
}

/* A question to the kernel, and its answer. Headers before 6.11 do not have it. */
typedef struct maps_query {
    uint64_t size;    /* of this structure */
    uint64_t flags;   /* which mappings are meant */
    uint64_t address; /* where to begin */
    uint64_t start;   /* from here on: the answer */
    uint64_t end;
    uint64_t vma_flags;
    uint64_t page_size;
    uint64_t offset;
    uint64_t inode;
    uint32_t major;
    uint32_t minor;
    uint32_t name_size; /* of the room for the name */
    uint32_t build_id_size;
    uint64_t name; /* where to write it */
    uint64_t build_id;
} maps_query_t;

#define MAPS_QUERY _IOWR('f', 17, maps_query_t)

static_assert((sizeof(maps_query_t) == 104) && (offsetof(maps_query_t, name) == 88),
              "as the kernel has it");

/* Readable, writable, shared, of a file; the one with the address, or the next one. */
#define MAPS_QUERY_FLAGS (0x01 | 0x02 | 0x08 | 0x20 | 0x10)

int ri_mapping_asks = 1;
unsigned ri_mapping_answers;

/* @return Whether there is such a mapping at @a from or behind it. -1: it cannot be asked for. */
static int maps_ask(int fd, uintptr_t from, maps_line_t *line)
{
    char name[PATH_MAX];
    maps_query_t query = {.size      = sizeof(query),
                          .flags     = MAPS_QUERY_FLAGS,
                          .address   = from,
                          .name      = (uintptr_t)name,
                          .name_size = sizeof(name)};

    name[0] = '\0';
    if (!ri_mapping_asks || (ioctl(fd, MAPS_QUERY, &query) != 0)) {
        return (ri_mapping_asks && (errno == ENOENT)) ? 0 : -1;
    }
    ++ri_mapping_answers;
    memset(line, 0, sizeof(*line));
    line->start = query.start;
    line->end   = query.end;
    if (maps_is_of_interest("rw-s", name)) {
        line->place.device = makedev(query.major, query.minor);
        line->place.inode  = query.inode;
        line->place.offset = query.offset;
        maps_set_space(&line->place, name);
    }
    return 1;
}

/* @return As maps_ask(): 0 when all were looked at. */
static int maps_ask_all(int fd, uintptr_t from, maps_func_t func, void *arg)
{
    maps_line_t line;
    int ret;

    while (((ret = maps_ask(fd, from, &line)) > 0) && func(&line, arg)) {
        from = line.end;
    }
    return ri_min(ret, 0);
}

/* Longer lines have long names, whose ends are passed over. */
static ucs_status_t maps_read_all(maps_func_t func, void *arg)
{
    FILE *file = fopen(MAPS_FILE, "re");
    int is_new = 1;
    char text[256];
    maps_line_t line;

    if (file == NULL) {
        return UCS_ERR_IO_ERROR;
    }
    while (fgets(text, sizeof(text), file) != NULL) {
        if (is_new && maps_parse(text, &line) && !func(&line, arg)) {
            break;
        }
        is_new = (strchr(text, '\n') != NULL);
    }
    fclose(file);
    return UCS_OK;
}

/* All mappings by rising addresses, from the one at @a from on, or others before it as well. Those
 * that cannot be viewed may be left out. */
static ucs_status_t maps_foreach(uintptr_t from, maps_func_t func, void *arg)
{
    int fd = open(MAPS_FILE, O_RDONLY | O_CLOEXEC);
    int ret;

    if (fd < 0) {
        return UCS_ERR_IO_ERROR;
    }
    ret = maps_ask_all(fd, from, func, arg);
    close(fd);
    return (ret == 0) ? UCS_OK : maps_read_all(func, arg);
}

static int place_is_of_file(const ri_mapping_place_t *a, const ri_mapping_place_t *b)
{
    return (a->inode != 0) && (a->inode == b->inode) && (a->device == b->device) &&
           (a->space == b->space);
}

/* Memory whose file is looked for. Lines come by rising addresses. */
typedef struct maps_search {
    uintptr_t start;
    uintptr_t end;
    uintptr_t at; /* up to here all is found */
    ri_mapping_place_t *place;
} maps_search_t;

/* Whether a line that has search->at goes on with the file that was found before it. */
static int maps_search_goes_on(const maps_search_t *search, const maps_line_t *line,
                               uint64_t offset)
{
    return place_is_of_file(search->place, &line->place) &&
           (offset - search->place->offset == search->at - search->start);
}

static int maps_search_line(const maps_line_t *line, void *arg)
{
    maps_search_t *search = arg;
    uint64_t offset;

    if (line->end <= search->at) {
        return 1;
    }
    if ((line->start > search->at) || (line->place.inode == 0)) {
        return 0;
    }
    offset = line->place.offset + (search->at - line->start);
    if (search->at == search->start) {
        *search->place        = line->place;
        search->place->offset = offset;
    } else if (!maps_search_goes_on(search, line, offset)) {
        return 0;
    }
    search->at = ri_min(line->end, search->end);
    return search->at < search->end;
}

ucs_status_t ri_mapping_find(const void *address, size_t length,
                             ri_mapping_place_t *place)
{
    maps_search_t search = {.start = (uintptr_t)address,
                            .end   = (uintptr_t)address + length,
                            .at    = (uintptr_t)address,
                            .place = place};
    ucs_status_t status;

    memset(place, 0, sizeof(*place));
    if ((length == 0) || (length > UINTPTR_MAX - search.start)) {
        return UCS_ERR_NO_ELEM;
    }
    status = maps_foreach(search.start, maps_search_line, &search);
    if ((status == UCS_OK) && (search.at < search.end)) {
        status = UCS_ERR_NO_ELEM;
    }
    if (status != UCS_OK) {
        place->inode = 0;
    }
    return status;
}

/* A mapping that has all of a place. */
typedef struct maps_holder {
    const ri_mapping_place_t *place;
    size_t length;
    uintptr_t address; /* of the place; 0: not found */
} maps_holder_t;

static int maps_holder_line(const maps_line_t *line, void *arg)
{
    maps_holder_t *holder           = arg;
    const ri_mapping_place_t *place = holder->place;
    uint64_t size                   = line->end - line->start;
    uint64_t into;

    if (!place_is_of_file(place, &line->place) || (place->offset < line->place.offset)) {
        return 1;
    }
    into = place->offset - line->place.offset;
    if ((into >= size) || (size - into < holder->length)) {
        return 1;
    }
    holder->address = line->start + into;
    return 0;
}

/* Another thread may have mapped something else there meanwhile. */
static int view_is_of(const ri_mapping_view_t *view, const ri_mapping_place_t *place,
                      size_t length)
{
    ri_mapping_place_t found;

    return (ri_mapping_find(view->address, length, &found) == UCS_OK) &&
           place_is_of_file(&found, place) && (found.offset == place->offset);
}

ucs_status_t ri_mapping_view_make(const ri_mapping_place_t *place, size_t length,
                                  ri_mapping_view_t *view)
{
    maps_holder_t holder = {.place = place, .length = length, .address = 0};
    uintptr_t page       = sysconf(_SC_PAGESIZE);
    uintptr_t into;
    ucs_status_t status;
    void *start;

    memset(view, 0, sizeof(*view));
    if ((place->inode == 0) || (length == 0)) {
        return UCS_ERR_NO_ELEM;
    }
    status = maps_foreach(0, maps_holder_line, &holder);
    if (status != UCS_OK) {
        return status;
    }
    if (holder.address == 0) {
        return UCS_ERR_NO_ELEM;
    }

    into  = holder.address & (page - 1);
    start = mremap((void *)(holder.address - into), 0, into + length, MREMAP_MAYMOVE);
    if (start == MAP_FAILED) {
        return UCS_ERR_IO_ERROR;
    }
    view->start   = start;
    view->length  = into + length;
    view->address = (char *)start + into;
    if (!view_is_of(view, place, length)) {
        ri_mapping_view_end(view);
        return UCS_ERR_NO_ELEM;
    }
    return UCS_OK;
}

void ri_mapping_view_end(ri_mapping_view_t *view)
{
    if (view->address != NULL) {
        munmap(view->start, view->length);
        memset(view, 0, sizeof(*view));
    }
}
