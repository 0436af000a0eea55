/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "send_tell.h"
#include "../../ucs/log.h"
#include "../core/conn_types.h"
#include "../core/peer_name.h"
#include "../proto/select_why.h"

#include <assert.h>
#include <stdio.h>

static_assert(RI_PROTO_LAST <= 31, "a bit for each in ri_conn_t.told, beside one");

static ri_proto_t tell_number(const ri_send_proto_t *proto)
{
    ri_proto_t number = 0;

    while ((number < RI_PROTO_LAST - 1) && (ri_send_protos[number] != proto)) {
        ++number;
    }
    return number;
}

/* Sizes are exact, and in a unit where they are round. */
static void tell_size(size_t size, char *text, size_t max)
{
    if ((size < 1024) || (size % 1024 != 0)) {
        snprintf(text, max, "%zu B", size);
    } else if ((size < 1048576) || (size % 1048576 != 0)) {
        snprintf(text, max, "%zu KB", size / 1024);
    } else {
        snprintf(text, max, "%zu MB", size / 1048576);
    }
}

void ri_send_tell(const ri_send_req_t *req, const ri_select_param_t *select,
                  unsigned plane)
{
    ri_conn_t *conn          = req->conn;
    const ri_choice_t choice = {tell_number(req->proto), plane};
    char peer[RI_PEER_NAME_MAX], size[32];

    if (conn->told & (1u << choice.proto)) {
        return;
    }
    conn->told |= 1u << choice.proto;
    ri_peer_name(conn->worker, conn->peer, peer);
    tell_size(select->length, size, sizeof(size));
    ri_info("first to %s, %s: %s (%s), because %s", peer, size,
            ri_select_name(choice.proto), ri_select_what(choice),
            ri_select_why(select, choice));
}
