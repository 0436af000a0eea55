/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rtr_state.h"

#define RTR_STATE(_name) (1u << RI_RTR_##_name)

/* By the state before: the states that may follow. */
static const uint16_t rtr_may_become[RI_RTR_STATE_LAST] = {
        [RI_RTR_NONE] = RTR_STATE(QUEUED) | RTR_STATE(BY_GRANT) | RTR_STATE(BY_UD) |
                        RTR_STATE(BY_KEY),
        [RI_RTR_QUEUED] = RTR_STATE(QUEUED) | RTR_STATE(NONE) | RTR_STATE(BY_GRANT) |
                          RTR_STATE(BY_UD) | RTR_STATE(BY_KEY),
        [RI_RTR_BY_GRANT] = RTR_STATE(NONE) | RTR_STATE(KEPT),
        [RI_RTR_KEPT]     = RTR_STATE(NONE),
        [RI_RTR_BY_UD]    = RTR_STATE(NONE),
        [RI_RTR_BY_KEY]   = RTR_STATE(NONE) | RTR_STATE(KEY_USED) | RTR_STATE(WRITTEN) |
                          RTR_STATE(NAMED),
        [RI_RTR_KEY_USED] = RTR_STATE(NONE) | RTR_STATE(WRITTEN) | RTR_STATE(NAMED),
        [RI_RTR_WRITTEN]  = RTR_STATE(NONE),
        [RI_RTR_NAMED]    = RTR_STATE(NONE),
};

int ri_rtr_state_may_become(ri_rtr_state_t from, ri_rtr_state_t to)
{
    return (rtr_may_become[from] >> to) & 1;
}
