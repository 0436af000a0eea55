/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "export.h"
#include "objects.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>

SH_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    sh_ah_t *ah;

    if ((attr->port_num != 1) || (sh_settings.ethernet && !attr->is_global) ||
        (attr->is_global && (attr->grh.sgid_index != 0))) {
        errno = EINVAL;
        return NULL;
    }
    ah = calloc(1, sizeof(*ah));
    if (ah == NULL) {
        return NULL;
    }
    ah->super.context = pd->context;
    ah->super.pd      = pd;
    ah->attr          = *attr;
    return &ah->super;
}

SH_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}

SH_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port,
                                  struct ibv_wc *wc, struct ibv_grh *grh,
                                  struct ibv_ah_attr *attr)
{
    struct iphdr ip;
    uint32_t flow;

    (void)context;
    memset(attr, 0, sizeof(*attr));
    attr->dlid          = wc->slid;
    attr->sl            = wc->sl;
    attr->src_path_bits = wc->dlid_path_bits;
    attr->port_num      = port;
    if ((wc->wc_flags & IBV_WC_GRH) && sh_settings.ipv4) {
        memcpy(&ip, (const char *)grh + SH_IPV4_OFFSET, sizeof(ip));
        attr->is_global         = 1;
        attr->grh.hop_limit     = ip.ttl;
        attr->grh.traffic_class = ip.tos;
        memset(attr->grh.dgid.raw + 10, 0xff, 2);
        memcpy(attr->grh.dgid.raw + 12, &ip.saddr, sizeof(ip.saddr));
    } else if (wc->wc_flags & IBV_WC_GRH) {
        flow                    = ntohl(grh->version_tclass_flow);
        attr->is_global         = 1;
        attr->grh.dgid          = grh->sgid;
        attr->grh.flow_label    = flow & 0xfffff;
        attr->grh.hop_limit     = grh->hop_limit;
        attr->grh.traffic_class = (uint8_t)(flow >> 20);
    }
    return 0;
}

SH_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
                                               struct ibv_grh *grh, uint8_t port)
{
    struct ibv_ah_attr attr;

    ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr);
    return ibv_create_ah(pd, &attr);
}
