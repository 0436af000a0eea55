/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The states that verbs know of a queue pair for datagrams.
 */
#ifndef RI_UD_QP_H
#define RI_UD_QP_H

#include "../device/device_types.h"

#if HAVE_VERBS

/** @return A Q_Key that nobody can guess. Its highest bit is 0: else it would stand for the
 *          Q_Key of the sender's own queue pair. */
uint32_t ri_ud_qp_random_key(void);

/** Bring a queue pair that is new or was reset up to receive, in the partition that the device's
 * port has now.
 * @param is_sender  Bring it up to send, too.
 * @return 0 or an error number. */
int ri_ud_qp_activate(ri_ib_device_t *device, struct ibv_qp *qp, uint32_t qkey,
                      int is_sender);

/** Put a queue pair into the state of a new one. When this returns 0 the device uses none of
 * what was posted any more. @return 0 or an error number. */
int ri_ud_qp_reset(struct ibv_qp *qp);

#endif

#endif
