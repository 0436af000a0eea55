/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_qp.h"

#if HAVE_VERBS

#include "../device/address.h"
#include "../../../ucs/random.h"

/* A work request's Q_Key with the highest bit stands for the one of the sender's queue pair. */
#define QP_QKEY_MASK 0x7fffffffu

#define QP_24_BITS 0xffffffu

uint32_t ri_ud_qp_random_key(void)
{
    return ri_random() & QP_QKEY_MASK;
}

int ri_ud_qp_activate(ri_ib_device_t *device, struct ibv_qp *qp, uint32_t qkey,
                      int is_sender)
{
    struct ibv_qp_attr attr = {
            .qp_state   = IBV_QPS_INIT,
            .pkey_index = ri_ib_address_get(device).pkey_index,
            .port_num   = device->port,
            .qkey       = qkey,
    };
    int ret;

    ret = ri_verbs.modify_qp(
            qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    if (ret != 0) {
        return ret;
    }
    attr.qp_state = IBV_QPS_RTR;
    ret           = ri_verbs.modify_qp(qp, &attr, IBV_QP_STATE);
    if ((ret != 0) || !is_sender) {
        return ret;
    }
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn   = ri_random() & QP_24_BITS;
    return ri_verbs.modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int ri_ud_qp_reset(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

    return ri_verbs.modify_qp(qp, &attr, IBV_QP_STATE);
}

#endif
