/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "send_tell.h"
#include "../core/types/conn_types.h"
#include "../core/tell.h"
#include "../link/planes.h"
#include "../proto/select_why.h"

#include <assert.h>
#include <string.h>

static_assert(RI_PROTO_LAST <= 31, "a bit for each in ri_conn_t.told.protocols");

static ri_proto_t tell_number(const ri_send_proto_t *proto)
{
    ri_proto_t number = 0;

    while ((number < RI_PROTO_LAST - 1) && (ri_send_protos[number] != proto)) {
        ++number;
    }
    return number;
}

/* Protocols of one name are one to the user: the bit of the first counts. */
static unsigned tell_bit(const char *name)
{
    ri_proto_t number = 0;

    while (strcmp(ri_select_why_name(number), name) != 0) {
        ++number;
    }
    return 1u << number;
}

void ri_send_tell(const ri_send_req_t *req, const ri_select_param_t *select,
                  unsigned plane)
{
    const ri_choice_t choice = {tell_number(req->proto), plane};
    const char *name         = ri_select_why_name(choice.proto);
    unsigned bit             = tell_bit(name);
    const char *why;

    if (req->conn->told.protocols & bit) {
        return;
    }
    why = ri_select_why(select, choice);
    if ((why == ri_select_why_no_plane) && ri_planes_may_come(req->conn)) {
        why = "the ways of the pair are being set up";
    }
    if (ri_tell_first(req->conn, "", select->length, name, why)) {
        req->conn->told.protocols |= bit;
    }
}
