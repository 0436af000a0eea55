/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that several processes of a host map already, whoever made it: the segment of a window of
 * MPI, or what UCX has allocated. One process tells which file its memory is of, and another one
 * that maps the same file makes a view of it, by which it reads and writes that memory with its own
 * processor.
 *
 * What is mapped is asked from the kernel, or before Linux 6.11 read from /proc/self/maps, which
 * costs some 20 to 100 us. A view is a mapping of its own: it stays when the memory from which it
 * was made is unmapped, in either process.
 */
#ifndef RI_MAPPING_H
#define RI_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "../../ucs/base.h"

/* A place in a file that is mapped shared. On the wire. (protocol.md section 11) */
typedef struct ri_mapping_place {
    uint64_t device; /* major number << 32 | minor number */
    uint64_t
            inode; /* of System V segments 1 + the id; 0: memory that is no such file's */
    uint64_t offset; /* in the file */
    /* where the inode is a number: of System V segments, the inode of the IPC namespace; 0 of all
     * other files */
    uint64_t space;
} __attribute__((packed)) ri_mapping_place_t;

/* For tests: whether the kernel is asked at all (1), and how often it has answered. */
extern int ri_mapping_asks;
extern unsigned ri_mapping_answers;

/* A view of memory. */
typedef struct ri_mapping_view {
    void *address; /* where the place is in the view; NULL: there is no view */
    void *start;   /* where the view is mapped, from the start of a page on */
    size_t length; /* bytes that are mapped from `start` on */
} ri_mapping_view_t;

/**
 * Find out which file memory of this process is of.
 *
 * @param place  Set in any case; its inode is 0 after an error.
 *
 * @return UCS_OK. UCS_ERR_NO_ELEM: not all of it is mapped shared, readable and writable, from
 *         adjoining places of one file. UCS_ERR_IO_ERROR: /proc cannot be read.
 */
ucs_status_t ri_mapping_find(const void *address, size_t length,
                             ri_mapping_place_t *place);

/**
 * Make a view of @a length bytes of a file, if one mapping of this process has them all. It is the
 * caller's, who ends it by ri_mapping_view_end(). The place is wire input. Shared memory of this
 * library (ri_shared_file_make()) is not viewed.
 *
 * @param view  Set in any case; its address is NULL after an error.
 *
 * @return UCS_OK. UCS_ERR_NO_ELEM: this process does not map it. UCS_ERR_IO_ERROR: /proc cannot be
 *         read, or the kernel makes no view of this kind of memory.
 */
ucs_status_t ri_mapping_view_make(const ri_mapping_place_t *place, size_t length,
                                  ri_mapping_view_t *view);

/** Unmap a view, if there is one. There is none afterwards. */
void ri_mapping_view_end(ri_mapping_view_t *view);

#endif
