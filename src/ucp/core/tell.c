/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks are what a user knows. The time, host and process in front of the line take some 45
 * columns, so it does not repeat them.
 */
#include "tell.h"
#include "types/conn_types.h"
#include "peer_name.h"
#include "../../ucs/log.h"
#include "../../ucs/rank.h"
#include "../../ucs/size_text.h"

int ri_tell_first(const ri_conn_t *conn, const char *before, size_t length,
                  const char *name, const char *why)
{
    const char *rank = ri_rank_text();
    char peer[RI_PEER_NAME_MAX], size[24];

    if (ri_log_level < RI_LOG_LEVEL_INFO) {
        return 0;
    }
    ri_peer_name_short(conn->peer, peer);
    ri_size_text(length, size, sizeof(size));
    ri_info("%s%s%sto %s, %s%s: %s, %s", (rank == NULL) ? "" : "rank ",
            (rank == NULL) ? "" : rank, (rank == NULL) ? "" : " ", peer, before, size,
            name, why);
    return 1;
}
