/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters of conns and streams that live are added to those of the worker; planes are asked for
 * theirs.
 */
#include "worker_counters.h"
#include "peer_memory.h"
#include "report_table.h"
#include "../core/peer_name.h"
#include "../core/worker.h"
#include "../../ucs/rank.h"
#include "../../uct/ib/ud/ud.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Add the counters of the planes through a network. Memory is registered for the device that they
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
        ri_counters_conn_add(&out->conns, &conn->counters);
        out->layouts_bytes += ri_layouts_in_bytes(conn->rtr.net_layouts_in);
    }
    ucs_list_for_each(stream, &worker->streams, list) {
        ri_counters_stream_add(&out->streams, &stream->counters);
        out->layouts_bytes += ri_layouts_in_bytes(stream->rtr.ring_layouts_in);
    }
}

/* Lines of one worker. */
typedef struct counters_text {
    FILE *stream;
    size_t column; /* of a line that lists several */
} counters_text_t;

/* Long lines are broken here. */
#define COUNTERS_WIDTH 100

static void counter_print(const char *name, const char *unit, const char *doc,
                          uint64_t value, void *arg)
{
    const counters_text_t *text = arg;
    char bytes[24], scaled[32];

    if (value == 0) {
        return;
    }
    if (!strcmp(unit, "bytes") && (value >= 1048576)) {
        ri_report_table_format_bytes(value, bytes, sizeof(bytes));
        snprintf(scaled, sizeof(scaled), "= %s", bytes);
        unit = scaled;
    }
    fprintf(text->stream, "  %-18s %12" PRIu64 " %-9s %s\n", name, value, unit, doc);
}

static void counter_print_short(const char *name, const char *unit, const char *doc,
                                uint64_t value, void *arg)
{
    counters_text_t *text = arg;
    char entry[64];

    if (value == 0) {
        return;
    }
    snprintf(entry, sizeof(entry), " %s=%" PRIu64, name, value);
    if (text->column + strlen(entry) > COUNTERS_WIDTH) {
        text->column = fprintf(text->stream, "\n     ") - 1;
    }
    text->column += fprintf(text->stream, "%s", entry);
}

static void counter_find(const char *name, const char *unit, const char *doc,
                         uint64_t value, void *arg)
{
    int *is_any = arg;

    *is_any |= (value != 0);
}

/* Whose counters follow: the rank, or what stands for it where no launcher has told one. */
static void counters_print_owner(const ri_worker_t *worker, counters_text_t *text)
{
    const char *rank = ri_rank_text();
    char process[96];

    ri_rank_process(process, sizeof(process));
    if (rank != NULL) {
        fprintf(text->stream, "ucxri: worker of rank %s, process %s\n", rank, process);
    } else {
        fprintf(text->stream, "ucxri: worker 0x%" PRIx64 ", process %s\n",
                worker->self.uid, process);
    }
}

static void counters_print_conn(const ri_worker_t *worker, const ri_conn_t *conn,
                                counters_text_t *text)
{
    char name[RI_PEER_NAME_MAX];
    int is_any = 0;

    ri_counters_conn_foreach(&conn->counters, counter_find, &is_any);
    if (is_any) {
        ri_peer_name(worker, conn->peer, name);
        text->column = fprintf(
                text->stream, "  to %s:", (conn->flags & RI_CONN_SELF) ? "itself" : name);
        ri_counters_conn_foreach(&conn->counters, counter_print_short, text);
        fprintf(text->stream, "\n");
    }
}

static void counters_print_stream(const ri_worker_t *worker, const ri_stream_t *in,
                                  counters_text_t *text)
{
    char name[RI_PEER_NAME_MAX];
    int is_any = 0;

    ri_counters_stream_foreach(&in->counters, counter_find, &is_any);
    if (is_any) {
        ri_peer_name(worker, in->peer, name);
        text->column = fprintf(text->stream, "  from %s:", name);
        ri_counters_stream_foreach(&in->counters, counter_print_short, text);
        fprintf(text->stream, "\n");
    }
}

void ri_worker_counters_dump(const ri_worker_t *worker, FILE *stream)
{
    counters_text_t text = {NULL, 0};
    char *all            = NULL;
    size_t size          = 0;
    ri_worker_counters_t counters;
    const ri_stream_t *in;
    const ri_conn_t *conn;

    text.stream = open_memstream(&all, &size);
    if (text.stream == NULL) {
        return;
    }
    ri_worker_counters_snapshot(worker, &counters);
    counters_print_owner(worker, &text);
    ri_counters_foreach(&counters, counter_print, &text);
    ucs_list_for_each(conn, &worker->conns, list) {
        counters_print_conn(worker, conn, &text);
    }
    ucs_list_for_each(in, &worker->streams, list) {
        counters_print_stream(worker, in, &text);
    }
    fclose(text.stream);
    fputs(all, stream); /* at once, as others may write to the same file */
    free(all);
}
