/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The RDMA device of the unit tests: what devices and ports say. See fake_verbs.h. */

#include "fake_verbs_context.h"

#include <endian.h>

#if HAVE_VERBS

namespace fake {

namespace {

struct ibv_device **get_device_list(int *count)
{
    auto &devices = hca::current->devices;
    auto **list   = new struct ibv_device *[devices.size() + 1]();

    ++hca::current->lists;
    for (size_t i = 0; i < devices.size(); ++i) {
        list[i] = &devices[i]->super;
    }
    if (count != nullptr) {
        *count = devices.size();
    }
    return list;
}

void free_device_list(struct ibv_device **list)
{
    delete[] list;
}

const char *get_device_name(struct ibv_device *device)
{
    return device->name;
}

int query_device(struct ibv_context *super, struct ibv_device_attr *attr)
{
    *attr               = device_of(super)->attr;
    attr->phys_port_cnt = device_of(super)->ports.size();
    return 0;
}

int query_port(struct ibv_context *super, uint8_t port,
               struct _compat_ibv_port_attr *attr)
{
    if ((port == 0) || (port > device_of(super)->ports.size())) {
        return EINVAL;
    }
    const hca_port &of = device_of(super)->ports[port - 1];
    auto *all          = reinterpret_cast<struct ibv_port_attr *>(attr);
    *all               = of.attr;
    all->gid_tbl_len   = of.gids.size();
    all->pkey_tbl_len  = of.pkeys.size();
    return 0;
}

int query_gid(struct ibv_context *super, uint8_t port, int index, union ibv_gid *gid)
{
    const auto &gids = device_of(super)->ports.at(port - 1).gids;

    if ((size_t)index >= gids.size()) {
        return -1;
    }
    *gid = gids[index].gid;
    return 0;
}

int query_pkey(struct ibv_context *super, uint8_t port, int index, __be16 *pkey)
{
    const auto &pkeys = device_of(super)->ports.at(port - 1).pkeys;

    if ((size_t)index >= pkeys.size()) {
        return -1;
    }
    *pkey = htobe16(pkeys[index]);
    return 0;
}

int get_async_event(struct ibv_context *, struct ibv_async_event *event)
{
    hca *h = hca::current;

    if (h->events.empty()) {
        return -1;
    }
    *event = h->events.front();
    h->events.pop_front();
    ++h->unacked;
    return 0;
}

void ack_async_event(struct ibv_async_event *)
{
    --hca::current->unacked;
}

int query_gid_ex(struct ibv_context *super, uint32_t port, uint32_t index,
                 struct ibv_gid_entry *entry, uint32_t, size_t size)
{
    const auto &gids = device_of(super)->ports.at(port - 1).gids;

    EXPECT_EQ(sizeof(*entry), size);
    if (index >= gids.size()) {
        return ENODATA;
    }
    entry->gid      = gids[index].gid;
    entry->gid_type = gids[index].type;
    return 0;
}

} // namespace

void fill_device_functions()
{
    ri_verbs.get_device_list  = get_device_list;
    ri_verbs.free_device_list = free_device_list;
    ri_verbs.get_device_name  = get_device_name;
    ri_verbs.query_device     = query_device;
    ri_verbs.query_port       = query_port;
    ri_verbs.query_gid        = query_gid;
    ri_verbs.query_gid_ex     = query_gid_ex;
    ri_verbs.query_pkey       = query_pkey;
    ri_verbs.get_async_event  = get_async_event;
    ri_verbs.ack_async_event  = ack_async_event;
}

hca_port::hca_port()
{
    hca_gid gid = {};

    attr.state      = IBV_PORT_ACTIVE;
    attr.max_mtu    = IBV_MTU_4096;
    attr.active_mtu = IBV_MTU_4096;
    attr.max_msg_sz = 1u << 31;
    attr.lid        = 7;
    attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
    gid.gid.raw[0]  = 0xfe;
    gid.gid.raw[1]  = 0x80;
    gid.gid.raw[15] = 1;
    gids.push_back(gid);
}

hca_device::hca_device(const std::string &name)
{
    snprintf(super.name, sizeof(super.name), "%s", name.c_str());
    super.node_type          = IBV_NODE_CA;
    super.transport_type     = IBV_TRANSPORT_IB;
    attr.max_qp              = 1000;
    attr.max_qp_wr           = 8192;
    attr.max_sge             = 30;
    attr.max_sge_rd          = 30;
    attr.max_cqe             = 1 << 20;
    attr.max_qp_rd_atom      = 16;
    attr.max_qp_init_rd_atom = 16;
}

} // namespace fake

#endif
