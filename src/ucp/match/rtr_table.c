/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First the word by which an RTR is used or withdrawn. Then the table, which has no order: an RTR
 * is for a message if its tag fits and no other receive is to be filled before it.
 */
#include "rtr_table.h"

void ri_rtr_table_reset(ri_rtr_table_t *table, uint32_t last_sn)
{
    table->expected    = 0;
    table->num_waiting = 0;
    table->num_late    = 0;
    table->first_sn    = last_sn + 1;
    table->last_sn     = last_sn;
}

int ri_rtr_table_is_out(const ri_rtr_t *rtr)
{
    return atomic_load_explicit(&rtr->grant->word, memory_order_relaxed) ==
           ri_grant_word(rtr->generation, RI_RING_GRANT_OUT);
}

int ri_rtr_table_use(const ri_rtr_t *rtr)
{
    return ri_grant_change(rtr->grant, rtr->generation, RI_RING_GRANT_USED);
}

void ri_rtr_table_end(const ri_rtr_t *rtr, uint32_t state)
{
    ri_grant_end(rtr->grant, rtr->generation, state);
}

int ri_rtr_table_note(ri_ring_grant_t *grant, uint32_t generation, uint32_t state)
{
    uint64_t word = atomic_load_explicit(&grant->word, memory_order_relaxed);

    assert((state == RI_RING_GRANT_OUT) || (state == RI_RING_GRANT_FREE));
    if ((word != 0) && ((int32_t)(generation - (uint32_t)(word >> 32)) <= 0)) {
        return 0;
    }
    atomic_store_explicit(&grant->word, ri_grant_word(generation, state),
                          memory_order_relaxed);
    return 1;
}

static int rtr_fits(const ri_rtr_t *rtr, uint64_t tag)
{
    return ((rtr->tag ^ tag) & rtr->mask) == 0;
}

static void rtr_remove(ri_rtr_table_t *table, unsigned i)
{
    table->waiting[i] = table->waiting[--table->num_waiting];
}

const ri_rtr_t *ri_rtr_table_find(ri_rtr_table_t *table, uint64_t tag)
{
    unsigned i = 0;

    while (i < table->num_waiting) {
        const ri_rtr_t *rtr = &table->waiting[i];

        if (!ri_rtr_table_is_out(rtr)) {
            rtr_remove(table, i);
        } else if (rtr_fits(rtr, tag) && (rtr->ahead == 0)) {
            return rtr;
        } else {
            ++i;
        }
    }
    return NULL;
}

void ri_rtr_table_count(ri_rtr_table_t *table, uint64_t tag)
{
    unsigned i = 0;

    while (i < table->num_waiting) {
        ri_rtr_t *rtr = &table->waiting[i];

        if (!rtr_fits(rtr, tag)) {
            ++i;
        } else if (rtr->ahead > 0) {
            --rtr->ahead;
            ++i;
        } else {
            rtr_remove(table, i);
        }
    }
}

/* Make room: what was withdrawn is of no use. */
static int rtr_table_has_room(ri_rtr_table_t *table)
{
    unsigned i;

    for (i = table->num_waiting; (i-- > 0) && (table->num_waiting == RI_RTR_MAX);) {
        if (!ri_rtr_table_is_out(&table->waiting[i])) {
            rtr_remove(table, i);
        }
    }
    return table->num_waiting < RI_RTR_MAX;
}

ri_rtr_fate_t ri_rtr_table_add(ri_rtr_table_t *table, const ri_rtr_t *rtr, uint32_t seen,
                               uint32_t *sn_p, uint32_t *req_id)
{
    uint32_t ahead = rtr->ahead;
    const ri_sent_t *sent;
    uint32_t sn;

    /* Seen before the log starts, or what was never sent */
    if (((int32_t)(seen + 1 - table->first_sn) < 0) ||
        ((int32_t)(table->last_sn - seen) < 0)) {
        return RI_RTR_DROPPED;
    }

    for (sn = seen + 1; sn != table->last_sn + 1; ++sn) {
        sent = &table->sent[sn % RI_RTR_WINDOW];
        if (!rtr_fits(rtr, sent->tag)) {
            continue;
        }
        if (ahead == 0) {
            *sn_p   = sn;
            *req_id = sent->req_id;
            return (sent->req_id != 0) ? RI_RTR_FOR_RTS : RI_RTR_DROPPED;
        }
        --ahead;
    }

    if (!rtr_table_has_room(table)) {
        return RI_RTR_DROPPED;
    }
    table->waiting[table->num_waiting]       = *rtr;
    table->waiting[table->num_waiting].ahead = ahead;
    ++table->num_waiting;
    return RI_RTR_WAITS;
}

void ri_rtr_table_add_late(ri_rtr_table_t *table, const ri_rtr_late_t *late)
{
    if (table->num_late < RI_RTR_MAX) {
        table->late[table->num_late++] = *late;
    }
}

int ri_rtr_table_pop_late(ri_rtr_table_t *table, double until, ri_rtr_late_t *late)
{
    unsigned i;

    for (i = 0; i < table->num_late; ++i) {
        if (table->late[i].since <= until) {
            *late          = table->late[i];
            table->late[i] = table->late[--table->num_late];
            return 1;
        }
    }
    return 0;
}

static int rtr_is_of(const ri_rtr_t *rtr, const ri_ring_control_t *control)
{
    return rtr->grant == &control->grants[rtr->index];
}

void ri_rtr_table_drop(ri_rtr_table_t *table, const ri_ring_control_t *control)
{
    unsigned i;

    for (i = table->num_waiting; i-- > 0;) {
        if (rtr_is_of(&table->waiting[i], control)) {
            rtr_remove(table, i);
        }
    }
    for (i = table->num_late; i-- > 0;) {
        if (rtr_is_of(&table->late[i].rtr, control)) {
            table->late[i] = table->late[--table->num_late];
        }
    }
}
