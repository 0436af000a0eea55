/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of cooperative copies (coop.h): one side of a copy. It copies what it claims, and
 * sees what the other side has copied; how a copy begins and ends is the matter of coop_send.c and
 * coop_recv.c.
 */
#ifndef RI_COOP_COPY_H
#define RI_COOP_COPY_H

#include "coop_side.h"

/** Set up a side of a copy of @a length bytes by @a slot. Nobody knows of it, and its other fields
 * are the caller's to set. */
void ri_coop_copy_init(ri_coop_t *coop, ri_worker_t *worker, ri_ring_slot_t *slot,
                       size_t length);

/** @return A side of a copy, set up by ri_coop_copy_init(), in memory of its own, or NULL without
 * memory. The caller attaches it. */
ri_coop_t *ri_coop_copy_new(ri_worker_t *worker, ri_ring_slot_t *slot, size_t length);

/** Let progress see to a copy, until ri_coop_copy_free(). */
void ri_coop_copy_attach(ri_coop_t *coop);

/** Take a copy, which was attached, out of progress and free it: the slot is not used by this side
 * any more, or not for this message. The slot itself, and who points to the copy, are the caller's
 * to change. */
void ri_coop_copy_free(ri_coop_t *coop);

/** @return Whether the other process is known to be gone, so that it neither reads nor writes any
 * more; 0 also if that cannot be told. */
int ri_coop_copy_is_peer_gone(const ri_coop_t *coop);

/**
 * This side copies no more: leave nothing for either. The caller counts what nobody will copy as
 * done (ri_slot_add_done()), or the other side would wait for it.
 *
 * @param why      RI_RING_SLOT_*, to be told to the other side; 0: nothing.
 * @param count_p  Set to the units that nobody will copy, also after an error.
 *
 * @return UCS_OK, or UCS_ERR_INVALID_PARAM if what the slot says cannot be true.
 */
ucs_status_t ri_coop_copy_fail(ri_coop_t *coop, uint32_t why, uint32_t *count_p);

/** Copy the next part, if @a may_copy, and see what the other side has done. The other side's
 * memory is known (coop->known). A part that cannot be copied is counted as done and told in the
 * slot, which leaves nothing more to be copied; the plane may be given up. @return What has become
 * of the copy. */
ri_coop_state_t ri_coop_copy_step(ri_coop_t *coop, int may_copy);

/** This side has nothing to do, as the other side copies within a call: look whether it has ended.
 * Now and then, look also whether the other process still exists. @return RI_COOP_WAITS, DONE,
 * BROKEN or GONE. */
ri_coop_state_t ri_coop_copy_wait(ri_coop_t *coop);

#endif
