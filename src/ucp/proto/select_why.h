/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A choice of select.h in words, for people: what moves the message, and which of the facts has
 * decided.
 */
#ifndef RI_SELECT_WHY_H
#define RI_SELECT_WHY_H

#include "select.h"

/** @return What a protocol is called in reports: "ring", "hybrid", "rtr". */
const char *ri_select_why_name(ri_proto_t proto);

/** @return What moves a message by a choice: a few words. */
const char *ri_select_why_mover(ri_choice_t choice);

/** What ri_select_why() returns of a message that goes by UCX because no plane leads to its
 * receiver. */
extern const char ri_select_why_no_plane[];

/** @return Why ri_select() has chosen @a choice for @a param: a part of a sentence, to follow
 * "because". */
const char *ri_select_why(const ri_select_param_t *param, ri_choice_t choice);

#endif
