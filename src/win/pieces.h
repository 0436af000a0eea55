/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on many short pieces of memory of another process, which that process carries out. A
 * system call takes as long for each of them as this takes for thirty.
 */
#ifndef RI_WIN_PIECES_H
#define RI_WIN_PIECES_H

#include "buffer_move.h"
#include "window.h"
#include "../uct/api/plane.h"

/* Up to this mean length pieces are short: in bytes. */
#define RI_PIECES_SHORT 256

/* In the kind of a mailbox (ri_mailbox_head_t), beside RI_WINDOW_OPS_KIND and the code of
 * ri_element_code(): what is asked for is about pieces; their locks are taken; the bytes as they
 * were are the result. */
#define RI_PIECES_KIND  0x1000u
#define RI_PIECES_LOCK  0x0800u
#define RI_PIECES_FETCH 0x4000u

/**
 * Have the process of a part do an operation on pieces of its memory, as many as one request has
 * room for.
 *
 * @param kind    The code of the operation, and RI_PIECES_LOCK or not.
 * @param from    Packed data for all pieces; NULL: the operation has none.
 * @param result  Gets the pieces as they were, packed; NULL: that is not wanted.
 *
 * @return How many of the pieces are done, the first ones; 0: none is, as the process does not
 *         look, or does not want to.
 */
size_t ri_pieces_ask(ri_window_t *window, const ri_window_part_t *part, unsigned kind,
                     const char *from, char *result, const ri_segment_t *pieces,
                     size_t count);

/**
 * Have the process do an operation as ri_pieces_ask() does, on data of which all runs have one
 * length, no more than RI_PIECES_SHORT, and one stride: in as many requests as it takes.
 *
 * @param there  A buffer of that process.
 * @param size   Bytes of its data.
 *
 * @return How many bytes are done, the first ones; 0 also if the runs are others.
 */
size_t ri_pieces_ask_runs(ri_window_t *window, const ri_window_part_t *part,
                          unsigned kind, const char *from, char *result,
                          const ri_typed_t *there, size_t size);

/** Do what another process has asked for in this way: wire input. @return As ri_mailbox_func_t. */
int ri_pieces_serve(ri_window_t *window, const ri_mailbox_head_t *head, uint8_t *data);

#endif
