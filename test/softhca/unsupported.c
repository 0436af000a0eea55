/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * What there is no model of. The real library's functions would take our objects for their
 * own, so each one that a program can call is here, to fail as if the device could not do
 * it. Functions that get no object of ours stay the real library's: ibv_copy_*, sysfs, and
 * what its providers call (ibv_cmd_*, verbs_*, execute_ioctl, ...).
 */
#include "export.h"

#include <errno.h>
#include <infiniband/verbs.h>

SH_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)qp;
    (void)gid;
    (void)lid;
    return EOPNOTSUPP;
}

SH_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)qp;
    (void)gid;
    (void)lid;
    return EOPNOTSUPP;
}

SH_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
                                           size_t length, uint64_t iova, int fd,
                                           int access)
{
    (void)pd;
    (void)offset;
    (void)length;
    (void)iova;
    (void)fd;
    (void)access;
    errno = EOPNOTSUPP;
    return NULL;
}

SH_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
    (void)cmd_fd;
    errno = EOPNOTSUPP;
    return NULL;
}

SH_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
    (void)context;
    (void)handle;
    errno = EOPNOTSUPP;
    return NULL;
}

SH_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
    (void)pd;
}

SH_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
    (void)pd;
    (void)handle;
    errno = EOPNOTSUPP;
    return NULL;
}

SH_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
    (void)mr;
}

SH_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
    (void)context;
    (void)handle;
    errno = EOPNOTSUPP;
    return NULL;
}

SH_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
    (void)dm;
}

SH_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    (void)ece;
    return EOPNOTSUPP;
}

SH_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    /* A device without such options says so with zeros */
    ece->vendor_id = 0;
    ece->options   = 0;
    ece->comp_mask = 0;
    return EOPNOTSUPP;
}

SH_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
                                          struct ibv_ah_attr *attr,
                                          uint8_t eth_mac[ETHERNET_LL_SIZE],
                                          uint16_t *vid)
{
    (void)context;
    (void)attr;
    (void)eth_mac;
    (void)vid;
    return -EOPNOTSUPP;
}

/* Copies between processes find the pages where they are: a fork harms nothing. */
SH_EXPORT int ibv_fork_init(void)
{
    return 0;
}

SH_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

SH_EXPORT int ibv_dontfork_range(void *base, size_t size)
{
    (void)base;
    (void)size;
    return 0;
}

SH_EXPORT int ibv_dofork_range(void *base, size_t size)
{
    (void)base;
    (void)size;
    return 0;
}
