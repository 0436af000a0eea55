/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters of conns and streams that live are added to those of the worker; planes are asked for
 * theirs.
 */
#include "worker_counters.h"
#include "peer_memory.h"
#include "../core/peer_name.h"
#include "../core/worker.h"
#include "../../ucs/rank.h"
#include "../../uct/ib/ud/ud.h"

#include <inttypes.h>

/* What the planes through a network have counted. Memory is registered for the device that they
 * share, and counted there. */
static void counters_add_planes(const ri_worker_t *worker, ri_worker_counters_t *out)
{
    ri_plane_t *plane = (worker->net.rc != NULL) ? worker->net.rc : worker->net.ud;
    const ri_ud_counters_t *ud;
    ri_plane_counters_t reg;

#define COUNTER_ADD(_name, _unit, _doc) out->_name += reg._name;
    if ((plane != NULL) && (plane->ops->counters != NULL)) {
        plane->ops->counters(plane, &reg);
        RI_PLANE_COUNTERS(COUNTER_ADD)
    }
#undef COUNTER_ADD
#define COUNTER_ADD(_name, _unit, _doc) out->_name += ud->_name;
    if (worker->net.ud != NULL) {
        ud = worker->net.ud->ops->ud->counters(worker->net.ud);
        RI_UD_COUNTERS(COUNTER_ADD)
    }
#undef COUNTER_ADD
}

/* What peers that are reached through a network cost beside the ends of their ways. */
static void counters_add_peers(const ri_worker_t *worker, ri_worker_counters_t *out)
{
    const ri_peer_t *peer;

    ucs_list_for_each(peer, &worker->net.ways, way.link) {
        if (peer->way.kind == RI_WIRE_PLANE_RC) {
            out->rc_peers_bytes += ri_peer_memory_now(peer);
        } else {
            out->ud_peers_bytes += ri_peer_memory_now(peer);
        }
    }
}

void ri_worker_counters_snapshot(const ri_worker_t *worker, ri_worker_counters_t *out)
{
    const ri_conn_t *conn;
    const ri_stream_t *stream;

    *out = worker->counters;
    counters_add_planes(worker, out);
    counters_add_peers(worker, out);
    ucs_list_for_each(conn, &worker->conns, list) {
        ri_conn_counters_add(&out->conns, &conn->counters);
    }
    ucs_list_for_each(stream, &worker->streams, list) {
        ri_stream_counters_add(&out->streams, &stream->counters);
    }
}

static void counter_print(const char *name, const char *unit, const char *doc,
                          uint64_t value, void *arg)
{
    if (value != 0) {
        fprintf(arg, "  %-18s %14" PRIu64 " %-9s %s\n", name, value, unit, doc);
    }
}

static void counter_print_short(const char *name, const char *unit, const char *doc,
                                uint64_t value, void *arg)
{
    if (value != 0) {
        fprintf(arg, " %s=%" PRIu64, name, value);
    }
}

/* Whose counters follow: the rank, or what stands for it where no launcher has told one. */
static void counters_print_owner(const ri_worker_t *worker, FILE *stream)
{
    const char *rank = ri_rank_text();
    char process[96];

    ri_rank_process(process, sizeof(process));
    if (rank != NULL) {
        fprintf(stream, "ucxri: worker of rank %s, process %s\n", rank, process);
    } else {
        fprintf(stream, "ucxri: worker 0x%" PRIx64 ", process %s\n", worker->uid,
                process);
    }
}

void ri_worker_counters_dump(const ri_worker_t *worker, FILE *stream)
{
    ri_worker_counters_t counters;
    char name[RI_PEER_NAME_MAX];
    const ri_stream_t *in;
    const ri_conn_t *conn;

    ri_worker_counters_snapshot(worker, &counters);
    counters_print_owner(worker, stream);
    ri_worker_counters_foreach(&counters, counter_print, stream);
    ucs_list_for_each(conn, &worker->conns, list) {
        ri_peer_name(worker, conn->peer, name);
        fprintf(stream, "  conn 0x%x to %s:", conn->id,
                (conn->flags & RI_CONN_SELF) ? "itself" : name);
        ri_conn_counters_foreach(&conn->counters, counter_print_short, stream);
        fprintf(stream, "\n");
    }
    ucs_list_for_each(in, &worker->streams, list) {
        ri_peer_name(worker, in->peer, name);
        fprintf(stream, "  stream 0x%x from %s:", in->id, name);
        ri_stream_counters_foreach(&in->counters, counter_print_short, stream);
        fprintf(stream, "\n");
    }
}
