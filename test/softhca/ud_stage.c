/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The data of datagrams that are to be sent are fetched for many work requests with one call
 * of the kernel, which costs more than the bytes do.
 */
#include "copy.h"
#include "counters.h"
#include "objects.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Datagrams, and pieces of memory, of a call. */
#define STAGE_DATAGRAMS 32
#define STAGE_PIECES    96

struct sh_ud_stage {
    uint64_t from; /* the first work request whose data are here */
    unsigned count;
    uint32_t ends[STAGE_DATAGRAMS]; /* of the data of each */
    uint8_t data[STAGE_DATAGRAMS * SH_MAX_MTU];
};

/* What is being put together */
typedef struct stage_list {
    struct iovec remote[STAGE_PIECES];
    struct iovec local[STAGE_DATAGRAMS];
    unsigned num_remote;
    unsigned num_local;
    sh_mr_t *mrs[STAGE_PIECES];
    unsigned num_mrs;
} stage_list_t;

/* Add what a work request sends. @return 0, or -1 if that cannot be. */
static int stage_add(const sh_qp_t *qp, const sh_send_wqe_t *wqe, stage_list_t *list,
                     uint8_t *data)
{
    void *addresses[SH_MAX_SGE];
    unsigned i, first = list->num_mrs;

    if (wqe->flags & IBV_SEND_INLINE) {
        memcpy(data, wqe->data, wqe->inline_size);
        return 0;
    }
    if (list->num_mrs + wqe->num_sge > STAGE_PIECES) {
        return -1;
    }
    for (i = 0; i < wqe->num_sge; ++i) {
        list->mrs[first + i] = sh_mr_get(qp->super.pd, wqe->sge[i].lkey, wqe->sge[i].addr,
                                         wqe->sge[i].length, 0, &addresses[i]);
        if (list->mrs[first + i] == NULL) {
            while (i-- > 0) {
                sh_mr_put(list->mrs[first + i]);
            }
            return -1;
        }
    }
    list->num_mrs += wqe->num_sge;
    for (i = 0; i < wqe->num_sge; ++i) {
        sh_pieces_append(list->remote, &list->num_remote, addresses[i],
                         wqe->sge[i].length);
    }
    sh_pieces_append(list->local, &list->num_local, data, wqe->length);
    return 0;
}

const void *sh_ud_stage(sh_qp_t *qp, uint64_t number)
{
    sh_ud_stage_t *stage = qp->stage;
    uint32_t end         = 0;
    const sh_send_wqe_t *wqe;
    stage_list_t list;
    unsigned i;

    if (stage == NULL) {
        stage = qp->stage = malloc(sizeof(*stage));
        if (stage == NULL) {
            return NULL;
        }
        stage->count = 0;
    }
    if (number - stage->from >= stage->count) {
        list.num_remote = list.num_local = list.num_mrs = 0;
        stage->from                                     = number;
        stage->count                                    = 0;
        while ((stage->count < STAGE_DATAGRAMS) &&
               (number + stage->count < qp->sq.tail)) {
            wqe = sh_sq_at(&qp->sq, number + stage->count);
            if ((wqe->length > sh_settings.mtu) ||
                stage_add(qp, wqe, &list, stage->data + end)) {
                break;
            }
            end += (uint32_t)wqe->length;
            stage->ends[stage->count++] = end;
        }
        if (sh_copy_many(getpid(), (sh_pieces_t){list.remote, list.num_remote},
                         (sh_pieces_t){list.local, list.num_local})) {
            stage->count = 0;
        }
        for (i = 0; i < list.num_mrs; ++i) {
            sh_mr_put(list.mrs[i]);
        }
    }
    if (stage->count == 0) {
        return NULL;
    }
    i = (unsigned)(number - stage->from);
    return stage->data + ((i == 0) ? 0 : stage->ends[i - 1]);
}

void sh_ud_unstage(sh_qp_t *qp)
{
    if (qp->stage != NULL) {
        qp->stage->count = 0;
    }
}
