/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What order asks about receives that were offered.
 */
#include "../../order/promises.h"
#include "rtr.h"
#include "rtr_learn.h"
#include "rtr_lost.h"
#include "rtr_meet.h"
#include "rtr_queue.h"
#include "rtr_revoked.h"

const ri_promises_t ri_promises = {.match         = ri_rtr_match,
                                   .match_plain   = ri_rtr_match_plain,
                                   .ask_senders   = ri_rtr_revoked_ask_senders,
                                   .decide        = ri_rtr_lost_decide,
                                   .meet          = ri_rtr_meet,
                                   .learn         = ri_rtr_learn,
                                   .learn_waiting = ri_rtr_learn_waiting,
                                   .room_is_back  = ri_rtr_queue_wake};
