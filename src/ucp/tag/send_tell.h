/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The line of log level info that says by which protocol a send goes, and why.
 */
#ifndef RI_SEND_TELL_H
#define RI_SEND_TELL_H

#include "../core/send_req.h"
#include "../proto/select.h"

/** A protocol was chosen for @a req: log it with the reason, unless the conn has used it before. So
 * there are as many lines for a conn as protocols that it uses.
 *
 * @param select  The facts by which it was chosen.
 * @param plane   RI_PLANE_* of the plane that was chosen with it; 0: none. */
void ri_send_tell(const ri_send_req_t *req, const ri_select_param_t *select,
                  unsigned plane);

#endif
