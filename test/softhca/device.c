/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The devices and what they say of themselves. Real devices are not listed.
 */
#include "export.h"
#include "objects.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_GUID   0x0253480000000001UL /* locally administered; of the first device */
#define DEVICE_SUBNET 0xfe80000000000000UL
#define DEVICE_VENDOR 0x5348
#define DEVICE_PKEY   0xffff

enum {
    DEVICE_WIDTH_4X = 2,
    DEVICE_SDR      = 1,
    DEVICE_DDR      = 2,
    DEVICE_QDR      = 4,
    DEVICE_EDR      = 32,
    DEVICE_LINK_UP  = 5
};

static sh_device_t device_table[SH_MAX_DEVICES];
static pthread_once_t device_once = PTHREAD_ONCE_INIT;

static uint64_t device_guid(unsigned index)
{
    return htobe64(DEVICE_GUID + index);
}

static void device_init(sh_device_t *device, unsigned index)
{
    device->index                = index;
    device->super.node_type      = IBV_NODE_CA;
    device->super.transport_type = IBV_TRANSPORT_IB;
    snprintf(device->super.name, sizeof(device->super.name), "softhca%u", index);
    snprintf(device->super.dev_name, sizeof(device->super.dev_name), "softuverbs%u",
             index);
    /* Neither exists */
    snprintf(device->super.dev_path, sizeof(device->super.dev_path),
             "/sys/class/infiniband_verbs/softuverbs%u", index);
    snprintf(device->super.ibdev_path, sizeof(device->super.ibdev_path),
             "/sys/class/infiniband/softhca%u", index);
}

static void device_init_all(void)
{
    unsigned i;

    for (i = 0; i < SH_MAX_DEVICES; ++i) {
        device_init(&device_table[i], i);
    }
}

SH_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
    struct ibv_device **list;
    unsigned i;

    pthread_once(&device_once, device_init_all);
    sh_proc_settings();
    list = calloc(sh_settings.num_devices + 1, sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    for (i = 0; i < sh_settings.num_devices; ++i) {
        list[i] = &device_table[i].super;
    }
    if (num_devices != NULL) {
        *num_devices = (int)sh_settings.num_devices;
    }
    return list;
}

SH_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

SH_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

SH_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
    return (int)((sh_device_t *)(void *)device)->index;
}

SH_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
    return device_guid(((sh_device_t *)(void *)device)->index);
}

/* Of addresses by IPv4: one for documentation */
static const uint8_t device_network[3] = {192, 0, 2};

/* @param number  Of the first device, at first, it is 0; see sh_faults_move(). */
static void device_gid(unsigned number, union ibv_gid *gid)
{
    if (sh_settings.ipv4) {
        memset(gid, 0, sizeof(*gid));
        memset(gid->raw + 10, 0xff, 2);
        memcpy(gid->raw + 12, device_network, sizeof(device_network));
        gid->raw[15] = (uint8_t)(number + 1);
        return;
    }
    gid->global.subnet_prefix = htobe64(DEVICE_SUBNET);
    gid->global.interface_id  = device_guid(number);
}

void sh_context_gid(struct ibv_context *super, union ibv_gid *gid)
{
    device_gid(sh_settings.ethernet ? sh_context_lid(super) - 1u :
                                      sh_context(super)->device->index,
               gid);
}

uint16_t sh_device_lid_of(const struct ibv_ah_attr *ah)
{
    const union ibv_gid *to = &ah->grh.dgid;
    union ibv_gid gid;
    uint64_t number;

    if (!sh_settings.ethernet) {
        return ah->dlid;
    }
    number = sh_settings.ipv4 ? to->raw[15] - 1ul :
                                be64toh(to->global.interface_id) - DEVICE_GUID;
    if (number >= UINT16_MAX) {
        return 0;
    }
    device_gid((unsigned)number, &gid);
    return memcmp(&gid, to, sizeof(gid)) ? 0 : (uint16_t)(number + 1);
}

void sh_query_device(unsigned index, struct ibv_device_attr *attr)
{
    memset(attr, 0, sizeof(*attr));
    strcpy(attr->fw_ver, "1.0.0");
    attr->node_guid        = device_guid(index);
    attr->sys_image_guid   = attr->node_guid;
    attr->max_mr_size      = 1UL << 46;
    attr->page_size_cap    = SH_PAGE;
    attr->vendor_id        = DEVICE_VENDOR;
    attr->vendor_part_id   = 1;
    attr->hw_ver           = 1;
    attr->max_qp           = SH_MAX_QPS - 2;
    attr->max_qp_wr        = SH_MAX_WR;
    attr->device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
                             IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID;
    attr->max_sge             = SH_MAX_SGE;
    attr->max_sge_rd          = SH_MAX_SGE;
    attr->max_cq              = 65536;
    attr->max_cqe             = SH_MAX_CQE;
    attr->max_mr              = SH_MAX_MRS - 1;
    attr->max_pd              = 65536;
    attr->max_qp_rd_atom      = SH_MAX_RD_ATOM;
    attr->max_res_rd_atom     = SH_MAX_RD_ATOM * (SH_MAX_QPS - 2);
    attr->max_qp_init_rd_atom = SH_MAX_RD_ATOM;
    attr->atomic_cap          = IBV_ATOMIC_HCA;
    attr->max_ah              = 1 << 20;
    attr->max_srq             = 65536;
    attr->max_srq_wr          = SH_MAX_WR;
    attr->max_srq_sge         = SH_MAX_SGE;
    attr->max_pkeys           = 1;
    attr->local_ca_ack_delay  = 15;
    attr->phys_port_cnt       = 1;
}

SH_EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    sh_query_device(sh_context(context)->device->index, attr);
    return 0;
}

static int device_query_ex(struct ibv_context *context,
                           const struct ibv_query_device_ex_input *input,
                           struct ibv_device_attr_ex *attr, size_t size)
{
    struct ibv_device_attr_ex all;

    if ((input != NULL) && (input->comp_mask != 0)) {
        return EINVAL;
    }
    memset(&all, 0, sizeof(all));
    sh_query_device(sh_context(context)->device->index, &all.orig_attr);
    all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
    all.phys_port_cnt_ex    = 1;
    memset(attr, 0, size);
    memcpy(attr, &all, (size < sizeof(all)) ? size : sizeof(all));
    return 0;
}

/* The slowest link of four lanes that is as fast as the model's. */
static uint8_t device_speed(void)
{
    double ns_per_byte = sh_settings.link.enabled ? sh_settings.link.ns_per_byte : 0;

    if (ns_per_byte >= 1) {
        return DEVICE_SDR;
    }
    if (ns_per_byte >= 0.5) {
        return DEVICE_DDR;
    }
    return (ns_per_byte >= 0.25) ? DEVICE_QDR : DEVICE_EDR;
}

int sh_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                  size_t size)
{
    struct ibv_port_attr all;

    if (port != 1) {
        return EINVAL;
    }
    memset(&all, 0, sizeof(all));
    all.state   = IBV_PORT_ACTIVE;
    all.max_mtu = IBV_MTU_4096;
    while (128u << all.active_mtu < sh_settings.mtu) {
        all.active_mtu = (enum ibv_mtu)(all.active_mtu + 1);
    }
    all.max_mtu        = all.active_mtu;
    all.gid_tbl_len    = 1;
    all.port_cap_flags = IBV_PORT_SYS_IMAGE_GUID_SUP;
    all.max_msg_sz     = SH_MAX_MSG_SIZE;
    all.pkey_tbl_len   = 1;
    all.max_vl_num     = 1;
    all.subnet_timeout = 18;
    all.active_width   = DEVICE_WIDTH_4X;
    all.active_speed   = device_speed();
    all.phys_state     = DEVICE_LINK_UP;
    if (sh_settings.ethernet) {
        all.link_layer = IBV_LINK_LAYER_ETHERNET;
        all.flags      = IBV_QPF_GRH_REQUIRED;
    } else {
        all.link_layer = IBV_LINK_LAYER_INFINIBAND;
        all.lid        = sh_context_lid(context);
        all.sm_lid     = 1;
    }
    memset(attr, 0, size);
    memcpy(attr, &all, (size < sizeof(all)) ? size : sizeof(all));
    return 0;
}

#undef ibv_query_port

/* For programs that were compiled with older headers, whose structure is shorter */
SH_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port,
                             struct _compat_ibv_port_attr *attr)
{
    return sh_query_port(context, port, (struct ibv_port_attr *)(void *)attr,
                         offsetof(struct ibv_port_attr, port_cap_flags2));
}

SH_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index,
                            union ibv_gid *gid)
{
    if ((port != 1) || (index != 0)) {
        errno = EINVAL;
        return -1;
    }
    sh_context_gid(context, gid);
    return 0;
}

static void device_gid_entry(struct ibv_context *context, struct ibv_gid_entry *entry,
                             size_t size)
{
    struct ibv_gid_entry all;

    memset(&all, 0, sizeof(all));
    sh_context_gid(context, &all.gid);
    all.port_num = 1;
    all.gid_type = sh_settings.ethernet ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
    memset(entry, 0, size);
    memcpy(entry, &all, (size < sizeof(all)) ? size : sizeof(all));
}

SH_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port,
                                uint32_t index, struct ibv_gid_entry *entry,
                                uint32_t flags, size_t size)
{
    if ((port != 1) || (index != 0) || (flags != 0)) {
        return (flags != 0) ? EOPNOTSUPP : EINVAL;
    }
    device_gid_entry(context, entry, size);
    return 0;
}

SH_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
                                       struct ibv_gid_entry *entries, size_t max,
                                       uint32_t flags, size_t size)
{
    if (flags != 0) {
        return -EOPNOTSUPP;
    }
    if (max < 1) {
        return -EINVAL;
    }
    device_gid_entry(context, entries, size);
    return 1;
}

/* Known to libibverbs' own programs only; 0 is IB and RoCE v1, 1 is RoCE v2 */
SH_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port,
                                 unsigned index, int *type)
{
    (void)context;
    if ((port != 1) || (index != 0)) {
        errno = EINVAL;
        return -1;
    }
    *type = sh_settings.ethernet;
    return 0;
}

SH_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index,
                             __be16 *pkey)
{
    (void)context;
    if ((port != 1) || (index != 0)) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htons(DEVICE_PKEY);
    return 0;
}

SH_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
    (void)context;
    if ((port != 1) || (pkey != htons(DEVICE_PKEY))) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

void sh_context_set_ops(struct verbs_context *verbs)
{
    struct ibv_context_ops *ops = &verbs->context.ops;

    sh_cq_set_ops(ops);
    ops->post_send     = sh_post_send;
    ops->post_recv     = sh_post_recv;
    ops->post_srq_recv = sh_post_srq_recv;

    verbs->query_port      = sh_query_port;
    verbs->query_device_ex = device_query_ex;
    verbs->create_cq_ex    = sh_create_cq_ex;
    verbs->create_qp_ex    = sh_create_qp_ex;
}
