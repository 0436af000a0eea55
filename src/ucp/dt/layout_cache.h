/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts that two processes know by slot and generation (layout_wire.h): the two tables of a ring.
 *
 * The receiver of messages, whose layouts they are, decides which slot is given to another layout:
 * the one that was named least recently. The sender does what it is told, so what is named is
 * always there. An RTR is looked up when it comes. What it means stays as it is then, whatever
 * becomes of the slot.
 */
#ifndef RI_LAYOUT_CACHE_H
#define RI_LAYOUT_CACHE_H

#include "layout_wire.h"

/* Layouts of this process that a peer knows. Each has a reference. */
typedef struct ri_layouts_out {
    uint64_t clock; /* how often a layout was named */
    struct {
        ri_layout_t *layout; /* NULL: the slot was never used */
        uint64_t named;      /* the clock when it was named last */
        uint32_t generation; /* how often the slot was given away */
        int refused;         /* the peer does not keep the layout */
    } slot[RI_WIRE_LAYOUTS];
} ri_layouts_out_t;

/** @return A table that is empty, which ri_layouts_out_free() frees; NULL without memory. */
ri_layouts_out_t *ri_layouts_out_make(void);

/** Free a table, which may be NULL. */
void ri_layouts_out_free(ri_layouts_out_t *out);

/** @return The slot of a layout, which is named now; -1: it has none. */
int ri_layouts_out_name(ri_layouts_out_t *out, const ri_layout_t *layout);

/** @return The slot of a layout with the definition that ri_layout_wire_define() has just written
 * for @a layout; it is named now, and has @a layout from now on. -1: there is none. */
int ri_layouts_out_name_same(ri_layouts_out_t *out, ri_layout_t *layout,
                             const uint8_t *bytes, size_t length);

/** The peer does not keep the layout of a slot. @return 0: the slot has another one meanwhile, and
 * nothing was done. */
int ri_layouts_out_refuse(ri_layouts_out_t *out, unsigned slot, uint32_t generation);

/** @return The slot that the next layout gets. */
unsigned ri_layouts_out_next(const ri_layouts_out_t *out);

/** Give a slot to a layout: its generation is one more then. */
void ri_layouts_out_set(ri_layouts_out_t *out, unsigned slot, ri_layout_t *layout);

/** The definition of a slot was not sent: it is given away before all others, with another
 * generation. */
void ri_layouts_out_unset(ri_layouts_out_t *out, unsigned slot);

/* Number of RTRs of a ring that may name layouts at a time, each by its grant. */
#define RI_LAYOUTS_IN_USES 32

/* Elements of a layout of a peer. */
typedef struct ri_layout_use {
    ri_layout_t *layout; /* with a reference; NULL: there was none yet */
    uint64_t count;
} ri_layout_use_t;

/* Layouts of a peer. */
typedef struct ri_layouts_in {
    struct {
        ri_layout_t *layout; /* with a reference; NULL: it could not be taken */
        uint32_t generation;
        int defined; /* 0: the slot was never used */
    } slot[RI_WIRE_LAYOUTS];
    ri_layout_use_t use[RI_LAYOUTS_IN_USES];
} ri_layouts_in_t;

/** @return A table that is empty, which ri_layouts_in_free() frees; NULL without memory. */
ri_layouts_in_t *ri_layouts_in_make(void);

/** @return How many bytes of the heap a table takes, with its layouts; 0 if it is NULL. */
size_t ri_layouts_in_bytes(const ri_layouts_in_t *in);

/** Free a table, which may be NULL, and what ri_layouts_in_use() has returned. */
void ri_layouts_in_free(ri_layouts_in_t *in);

/** A slot is given to a layout, whose reference is taken over. @a layout NULL: it could not be
 * taken. @return 0: the slot knows this generation or a later one, and nothing was done. */
int ri_layouts_in_define(ri_layouts_in_t *in, unsigned slot, uint32_t generation,
                         ri_layout_t *layout);

/** @return The layout of a slot; NULL if it is of another generation, or could not be taken. */
ri_layout_t *ri_layouts_in_find(const ri_layouts_in_t *in, unsigned slot,
                                uint32_t generation);

/** Keep the elements of an RTR by its grant, in place of those of an earlier one, which is over.
 * @return Where they are. */
const ri_layout_use_t *ri_layouts_in_use(ri_layouts_in_t *in, unsigned grant,
                                         ri_layout_t *layout, uint64_t count);

#endif
