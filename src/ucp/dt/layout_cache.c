/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots are few, so a search goes through all of them.
 */
#include "layout_cache.h"
#include "../../ucs/heap.h"

#include <stdlib.h>

ri_layouts_out_t *ri_layouts_out_make(void)
{
    return calloc(1, sizeof(ri_layouts_out_t));
}

void ri_layouts_out_free(ri_layouts_out_t *out)
{
    unsigned i;

    for (i = 0; (out != NULL) && (i < RI_WIRE_LAYOUTS); ++i) {
        ri_layout_put(out->slot[i].layout);
    }
    free(out);
}

int ri_layouts_out_name(ri_layouts_out_t *out, const ri_layout_t *layout)
{
    unsigned i;

    for (i = 0; i < RI_WIRE_LAYOUTS; ++i) {
        if (out->slot[i].layout == layout) {
            out->slot[i].named = ++out->clock;
            return (int)i;
        }
    }
    return -1;
}

int ri_layouts_out_name_same(ri_layouts_out_t *out, ri_layout_t *layout,
                             const uint8_t *bytes, size_t length)
{
    ri_layout_t *old;
    unsigned i;

    for (i = 0; i < RI_WIRE_LAYOUTS; ++i) {
        old = out->slot[i].layout;
        if ((old != NULL) && ri_layout_wire_is_defined_by(old, layout, bytes, length)) {
            out->slot[i].layout = ri_layout_get(layout);
            out->slot[i].named  = ++out->clock;
            ri_layout_put(old);
            return (int)i;
        }
    }
    return -1;
}

int ri_layouts_out_refuse(ri_layouts_out_t *out, unsigned slot, uint32_t generation)
{
    if ((out->slot[slot].layout == NULL) || (out->slot[slot].generation != generation)) {
        return 0;
    }
    out->slot[slot].refused = 1;
    return 1;
}

unsigned ri_layouts_out_next(const ri_layouts_out_t *out)
{
    unsigned next = 0;
    unsigned i;

    for (i = 1; i < RI_WIRE_LAYOUTS; ++i) {
        next = (out->slot[i].named < out->slot[next].named) ? i : next;
    }
    return next;
}

void ri_layouts_out_set(ri_layouts_out_t *out, unsigned slot, ri_layout_t *layout)
{
    ri_layout_put(out->slot[slot].layout);
    out->slot[slot].layout  = ri_layout_get(layout);
    out->slot[slot].named   = ++out->clock;
    out->slot[slot].refused = 0;
    ++out->slot[slot].generation;
}

void ri_layouts_out_unset(ri_layouts_out_t *out, unsigned slot)
{
    ri_layout_put(out->slot[slot].layout);
    out->slot[slot].layout = NULL;
    out->slot[slot].named  = 0;
}

ri_layouts_in_t *ri_layouts_in_make(void)
{
    return calloc(1, sizeof(ri_layouts_in_t));
}

size_t ri_layouts_in_bytes(const ri_layouts_in_t *in)
{
    size_t bytes = (in != NULL) ? ri_heap_block(sizeof(*in)) : 0;
    unsigned i;
    unsigned j;

    for (i = 0; (in != NULL) && (i < RI_WIRE_LAYOUTS); ++i) {
        bytes += (in->slot[i].layout != NULL) ? in->slot[i].layout->bytes : 0;
    }
    /* Those that no slot has any more, once each */
    for (i = 0; (in != NULL) && (i < RI_LAYOUTS_IN_USES); ++i) {
        const ri_layout_t *layout = in->use[i].layout;
        int known                 = (layout == NULL);

        for (j = 0; (j < RI_WIRE_LAYOUTS) && !known; ++j) {
            known = (in->slot[j].layout == layout);
        }
        for (j = 0; (j < i) && !known; ++j) {
            known = (in->use[j].layout == layout);
        }
        bytes += known ? 0 : layout->bytes;
    }
    return bytes;
}

void ri_layouts_in_free(ri_layouts_in_t *in)
{
    unsigned i;

    if (in == NULL) {
        return;
    }
    for (i = 0; i < RI_WIRE_LAYOUTS; ++i) {
        ri_layout_put(in->slot[i].layout);
    }
    for (i = 0; i < RI_LAYOUTS_IN_USES; ++i) {
        ri_layout_put(in->use[i].layout);
    }
    free(in);
}

int ri_layouts_in_define(ri_layouts_in_t *in, unsigned slot, uint32_t generation,
                         ri_layout_t *layout)
{
    if (in->slot[slot].defined &&
        ((int32_t)(generation - in->slot[slot].generation) <= 0)) {
        ri_layout_put(layout);
        return 0;
    }
    ri_layout_put(in->slot[slot].layout);
    in->slot[slot].layout     = layout;
    in->slot[slot].generation = generation;
    in->slot[slot].defined    = 1;
    return 1;
}

ri_layout_t *ri_layouts_in_find(const ri_layouts_in_t *in, unsigned slot,
                                uint32_t generation)
{
    return (in->slot[slot].generation == generation) ? in->slot[slot].layout : NULL;
}

const ri_layout_use_t *ri_layouts_in_use(ri_layouts_in_t *in, unsigned grant,
                                         ri_layout_t *layout, uint64_t count)
{
    ri_layout_use_t *use = &in->use[grant];
    ri_layout_t *old     = use->layout;

    use->layout = ri_layout_get(layout);
    use->count  = count;
    ri_layout_put(old);
    return use;
}
