/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_UD_H_
#define SH_UD_H_

#include "objects.h"

/** Make the header of a datagram, but for its number. */
void sh_ud_header(const sh_qp_t *qp, const sh_send_wqe_t *wqe, sh_msg_t *msg);

/** Where the data of a datagram are that are to be fetched. @param pieces Room for SH_MAX_SGE.
 * @return How many. */
unsigned sh_ud_pieces(const sh_msg_t *msg, struct iovec *pieces);

/** @return Whether datagrams may be dropped. */
int sh_ud_may_drop(void);

/** @return Whether something else may happen to them, so that each is sent for itself. */
int sh_ud_is_faulty(void);

/**
 * Send what comes next in the send queue, as far as it can be sent together. With sq_lock held.
 * @return How many; 0: the next one is for sh_ud_send().
 */
unsigned sh_ud_burst(sh_qp_t *qp);

#endif
