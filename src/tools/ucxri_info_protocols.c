/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The facts of a message are made up as tag/send.c would find them here: in the steady state of a
 * pair, in host memory, contiguous or in runs that have the same length at both sides. The chooser
 * is asked for many lengths, and where two neighbours differ the limit between them is looked for.
 */
#include "ucxri_info_protocols.h"

#include "ucxri_wrap.h"
#include "ucp/core/settings/config.h"
#include "ucp/core/exchange.h"
#include "ucp/dt/dt.h"
#include "ucp/link/ring_life.h"
#include "ucp/proto/select_why.h"
#include "ucs/rank.h"
#include "ucs/size_text.h"
#include "uct/shm/host.h"
#include "uct/shm/quick.h"
#include "uct/shm/ring.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Longer ones are as those of this length. */
#define PROTOCOLS_MAX (1ul << 32)

/* The facts about this machine. */
typedef struct protocols_here {
    size_t ring_payload; /* longest payload of a record; 0: there are no rings */
    size_t ring_long; /* longest payload that goes through a ring rather than by a plane */
    size_t ring_runs; /* longest payload in runs that goes through a ring rather than by a plane */
    unsigned host_plane; /* RI_PLANE_* */
    int crowded; /* the host has fewer processors than ranks, as the launcher has told */
} protocols_here_t;

/* Who is ready first. */
typedef enum protocols_first {
    PROTOCOLS_WAITS,    /* the receiver, which does nothing else */
    PROTOCOLS_COMPUTES, /* the receiver, which is busy with something else */
    PROTOCOLS_SENDER,
    PROTOCOLS_BOTH /* both send and receive, and wait for the other one */
} protocols_first_t;

/* A table. */
typedef struct protocols_case {
    const protocols_here_t *here; /* NULL: the two are on different hosts */
    unsigned net_plane;
    protocols_first_t first;
    size_t run;   /* length of the runs of both sides' data; 0: it is contiguous */
    size_t quick; /* a ring that is found to be quick takes messages up to this length */
} protocols_case_t;

static protocols_here_t protocols_look(void)
{
    size_t size           = ri_settings_ring_size(0);
    protocols_here_t here = {0};
    const uint64_t cookie = 0x5ca1ab1e;
    ri_plane_t *plane;
    ri_ring_rx_t rx;
    ri_ring_tx_t tx;

    if ((ri_config.ring_peers > 0) && (ri_host_id() != 0) &&
        (ri_ring_create(&rx, size, cookie) == UCS_OK)) {
        if (ri_ring_open(&tx, getpid(), rx.fd, size, cookie) == UCS_OK) {
            here.ring_payload = tx.max_payload;
            here.ring_long    = ri_ring_life_long(size);
            here.ring_runs    = ri_ring_life_long_runs(size);
            ri_ring_tx_close(&tx);
        }
        ri_ring_rx_close(&rx);
    }
    here.crowded = (ri_rank_local_count() > sysconf(_SC_NPROCESSORS_ONLN));
    if (ri_config.cma && (ri_plane_cma.open(&plane) == UCS_OK)) {
        here.host_plane = plane->capabilities;
        plane->ops->close(plane);
    }
    return here;
}

/* Whether a message is in runs: one that fits one run is contiguous. */
static int protocols_is_in_runs(const protocols_case_t *which, size_t length)
{
    return (which->run > 0) && (length > which->run);
}

/* Whether the pieces of a message can be described where it is announced. */
static int protocols_has_pieces(const protocols_case_t *which, size_t length)
{
    return !protocols_is_in_runs(which, length) ||
           ((which->here == NULL) && (which->run >= ri_config.dt_run_min) &&
            (length <= which->run * RI_WIRE_SEGMENTS_MAX));
}

/* Up to where a message is copied to the pool for a receiver of this host that is away. */
static size_t protocols_hybrid_away(const protocols_case_t *which, size_t length)
{
    if (which->first != PROTOCOLS_SENDER) {
        return 0;
    }
    return (protocols_is_in_runs(which, length) && (which->run < RI_DT_SHORT_RUN)) ?
                   ri_config.hybrid_away_runs :
                   ri_config.hybrid_away;
}

/* Up to where a message through a network is copied to the pool. */
static size_t protocols_hybrid_net(const protocols_case_t *which, size_t length)
{
    return ((ri_config.hybrid_net == 0) || protocols_has_pieces(which, length)) ?
                   ri_config.hybrid_net :
                   ri_max(ri_config.hybrid_net, ri_min(length, ri_config.pool_size / 2));
}

/* Up to where a ring of this host takes a message like one of this length. */
static size_t protocols_ring_max(const protocols_case_t *which, size_t length)
{
    return protocols_is_in_runs(which, length) ? which->here->ring_runs :
                                                 which->here->ring_long;
}

/* Whether a receive of this length is offered to the sender, if its receiver is first. One that
 * waits for nothing else does not offer it, but by UCXRI_RTR=y. */
static int protocols_has_rtr(const protocols_case_t *which, size_t length)
{
    const protocols_here_t *here = which->here;

    if ((ri_config.rtr == UCS_NO) || (which->first == PROTOCOLS_SENDER) ||
        (length <= ri_config.eager_thresh) ||
        (protocols_is_in_runs(which, length) &&
         (which->run <
          ((here == NULL) ? ri_config.dt_run_min : ri_config.dt_run_host)))) {
        return 0;
    }
    if (ri_config.rtr == UCS_YES) {
        return (here == NULL) || (here->ring_payload > 0);
    }
    return (which->first == PROTOCOLS_COMPUTES) &&
           ((here == NULL) ? (which->net_plane != 0) :
                             (here->ring_payload > 0) &&
                                     (length > protocols_ring_max(which, length)));
}

/* Whether the ring takes a message, though it is above EAGER_THRESH. */
static int protocols_ring_takes(const protocols_case_t *which, size_t length)
{
    return (which->here != NULL) && (length > ri_config.eager_thresh) &&
           (length <= protocols_ring_max(which, length));
}

static ri_select_param_t protocols_facts(const protocols_case_t *which, size_t length)
{
    const protocols_here_t *here = which->here;
    int has_ring                 = (here != NULL) && (here->ring_payload > 0);
    int is_in_runs               = protocols_is_in_runs(which, length);
    int has_rtr                  = protocols_has_rtr(which, length);
    int waits     = (which->first == PROTOCOLS_WAITS) || (which->first == PROTOCOLS_BOTH);
    int exchanges = has_ring && !is_in_runs && (which->first == PROTOCOLS_BOTH) &&
                    (here->host_plane & RI_PLANE_READ) && (ri_config.rtr != UCS_YES) &&
                    (length > ri_config.eager_thresh) &&
                    (length > ri_exchange_min(here->ring_long, here->crowded));
    int has_channel = (which->net_plane & RI_PLANE_KEYS) &&
                      (ri_config.ib_eager_max > 0) && (length <= ri_config.ib_eager_max);

    return (ri_select_param_t){
            .has_ring    = has_ring,
            .ring_open   = has_ring,
            .ring_takes  = protocols_ring_takes(which, length) && !exchanges,
            .has_channel = has_channel,
            .polls       = (ri_config.ring_peers > 0),
            .am_ready    = 1,
            .contig      = !is_in_runs,
            .host_memory = 1,
            .pieces      = protocols_has_pieces(which, length),
            .spread      = is_in_runs && (length >= ri_config.coop_thresh) &&
                      (ri_config.shelf_peers > 0),
            .gathers     = has_rtr && is_in_runs && (which->run >= ri_config.dt_run_min),
            .exchanges   = exchanges,
            .alone       = 1,
            .crowded     = (here != NULL) && here->crowded,
            .awaited     = (here != NULL) && waits && (ri_config.rtr != UCS_YES),
            .pool_free   = (length <= ri_config.pool_size),
            .slot_free   = 1,
            .rtr_by_net  = (here == NULL),
            .rtr_in_runs = has_rtr && is_in_runs,
            .rtr_room    = has_rtr ? UINT64_MAX : 0,
            .host_plane  = (here != NULL) ? here->host_plane : 0,
            .net_plane   = which->net_plane,
            .scheme      = ri_config.scheme,
            .length      = length,
            .hybrid_thresh = ri_config.hybrid_thresh,
            .hybrid_away   = protocols_hybrid_away(which, length),
            .hybrid_net    = protocols_hybrid_net(which, length),
            .coop_thresh   = ri_config.coop_thresh,
            .ring_max = has_ring ? ri_min(here->ring_payload, ri_config.eager_thresh) : 0,
            .channel_max  = has_channel ? ri_config.ib_eager_max : 0,
            .eager_thresh = ri_config.eager_thresh,
            .am_inline    = ri_config.am_inline};
}

/* The contents of a row. */
typedef struct protocols_row {
    const char *name, *what, *why;
} protocols_row_t;

static protocols_row_t protocols_ask(const protocols_case_t *which, size_t length)
{
    ri_select_param_t param = protocols_facts(which, length);
    ri_choice_t choice      = ri_select(&param);

    return (protocols_row_t){ri_select_why_name(choice.proto),
                             ri_select_why_mover(choice), ri_select_why(&param, choice)};
}

/* Whether two messages are of one row. All those of the ring are, and the reason is that of the
 * longest: it takes the short ones anyhow. */
static int protocols_equal(const protocols_row_t *a, const protocols_row_t *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->what, b->what) &&
           (!strcmp(a->name, "ring") || !strcmp(a->why, b->why));
}

/* @return The longest message that is as one of @a from, which one of @a to is not. Between the two
 * there is one limit. */
static size_t protocols_limit(const protocols_case_t *which, size_t from, size_t to)
{
    const protocols_row_t row = protocols_ask(which, from);

    while (to - from > 1) {
        size_t middle               = from + (to - from) / 2;
        const protocols_row_t other = protocols_ask(which, middle);

        if (protocols_equal(&row, &other)) {
            from = middle;
        } else {
            to = middle;
        }
    }
    return from;
}

static void protocols_print_row(const char *length, const char *name, const char *what,
                                const char *why)
{
    printf("  %-13s %-8s%-36s%s\n", length, name, what, why);
}

/* A limit, as people write it: "up to 64 KB", or "below 64 KB". */
static void protocols_print(const protocols_case_t *which, size_t last)
{
    const protocols_row_t row = protocols_ask(which, last);
    char size[32], text[48] = "any length";

    if (last < PROTOCOLS_MAX) {
        int is_below = ((last + 1) % 1024 == 0);

        ri_size_text(last + is_below, size, sizeof(size));
        snprintf(text, sizeof(text), "%s %s", is_below ? "below" : "up to", size);
    }
    protocols_print_row(text, row.name, row.what, row.why);
}

/* Which ring is quick shows in a job: this row stands beside the others. */
static void protocols_print_quick(const protocols_case_t *which)
{
    char size[32], text[48];

    ri_size_text(which->quick, size, sizeof(size));
    snprintf(text, sizeof(text), "or to %s", size);
    protocols_print_row(text, "ring", "a ring that is found to be quick",
                        "as between cores with one cache");
}

static void protocols_table(const char *title, const protocols_case_t *which)
{
    size_t last         = 0;
    protocols_row_t row = protocols_ask(which, last);
    int is_first        = 1;
    protocols_row_t next;
    size_t length;

    printf("\n%s\n", title);
    for (length = 1; length <= PROTOCOLS_MAX; length *= 2) {
        next = protocols_ask(which, length);
        while (!protocols_equal(&row, &next)) {
            last = protocols_limit(which, last, length);
            protocols_print(which, last);
            is_first = 0;
            row      = protocols_ask(which, ++last);
        }
        last = length;
    }
    if (is_first) {
        protocols_print(which, PROTOCOLS_MAX);
    } else {
        row = protocols_ask(which, last);
        protocols_print_row("longer", row.name, row.what, row.why);
    }
    if (which->quick > 0) {
        protocols_print_quick(which);
    }
}

/* The names of settings in the tables, with their values. */
static void protocols_values(void)
{
    const struct {
        const char *name;
        size_t value;
    } values[] = {{"EAGER_THRESH", ri_config.eager_thresh},
                  {"HYBRID_THRESH", ri_config.hybrid_thresh},
                  {"HYBRID_AWAY_MAX", ri_config.hybrid_away},
                  {"COOP_THRESH", ri_config.coop_thresh}};
    char text[24];
    size_t i;

    printf("\n");
    for (i = 0; i < sizeof(values) / sizeof(values[0]); ++i) {
        ri_size_text(values[i].value, text, sizeof(text));
        printf("%s%s is %s", (i == 0) ? "" : ", ", values[i].name,
               (values[i].value > PROTOCOLS_MAX) ? "inf" : text);
    }
    printf(".\n");
}

static void protocols_host(size_t run)
{
    const protocols_here_t here = protocols_look();
    protocols_case_t which      = {.here = &here, .run = run};
    size_t quick                = 0;

    if ((ri_quick_rate != 0) && (here.ring_payload > 0) && (run == 0)) {
        quick = ri_ring_life_long_quick(ri_settings_ring_size(0));
    }
    which.first = PROTOCOLS_WAITS;
    which.quick = quick;
    protocols_table(
            "On one host, the receiver waits in the library (MPI_Recv, MPI_Wait):",
            &which);
    which.first = PROTOCOLS_COMPUTES;
    which.quick = 0;
    protocols_table(
            "On one host, the receive is posted early, and the receiver computes:",
            &which);
    which.first = PROTOCOLS_SENDER;
    protocols_table("On one host, the sender is first, and the receiver computes:",
                    &which);
    if (run == 0) {
        which.first = PROTOCOLS_BOTH;
        which.quick = quick / RI_EXCHANGE_RING_PARTS;
        protocols_table("On one host, both send and wait, as neighbours that exchange "
                        "their borders:",
                        &which);
    }
    if (here.ring_payload == 0) {
        printf("\nThere are no rings here: ucxri_info says why.\n");
    } else if (run == 0) {
        printf("\nBetween far cores the sender writes messages from %u KB on into the ring past "
               "its\ncache; from %u KB on where they come in a row.\n",
               RI_RING_STREAM_MIN / 1024, RI_RING_STREAM_MIN_ROW / 1024);
    }
}

/* By a plane of verbs. */
static void protocols_net(const char *name, int is_wanted, const ri_plane_ops_t *ops,
                          size_t run)
{
    protocols_case_t which = {.here = NULL, .run = run};
    ri_plane_t *plane      = NULL;
    char title[96];

    if (!is_wanted || (ri_config.ib_devices[0] == '\0') ||
        (ops->open(&plane) != UCS_OK)) {
        printf("\nBetween hosts by %s: not here, %s.\n", name,
               !is_wanted ? "UCXRI_IB_TRANSPORT does not allow it" :
                            "there is no adapter for it (ucxri_info, line verbs)");
        return;
    }
    which.net_plane = plane->capabilities;
    plane->ops->close(plane);
    which.first = PROTOCOLS_COMPUTES;
    snprintf(title, sizeof(title),
             "Between hosts by %s, the receive is posted early:", name);
    protocols_table(title, &which);
    which.first = PROTOCOLS_SENDER;
    snprintf(title, sizeof(title), "Between hosts by %s, the sender is first:", name);
    protocols_table(title, &which);
}

/* Print which data the tables are for. */
static void protocols_title(size_t run)
{
    char host[64], size[32], data[96] = "contiguous data";

    ri_rank_host(host, sizeof(host));
    if (run > 0) {
        ri_size_text(run, size, sizeof(size));
        snprintf(data, sizeof(data), "derived datatypes in runs of %s at regular places",
                 size);
    }
    wrap_printf(stdout, "", "Protocols on %s, for %s in host memory", host, data);
    printf("They hold once a pair of processes has exchanged some messages. Before that, short\n"
           "messages go by active messages of UCX, and the first long one goes as UCX chooses.\n");
}

void info_protocols(size_t run)
{
    const protocols_case_t ucx = {.first = PROTOCOLS_SENDER, .run = run};

    if (!ri_rank_is_first_of_host()) {
        return; /* the others of the host would print the same */
    }
    protocols_title(run);
    protocols_host(run);
    protocols_net("rc", ri_config.use_rc, &ri_plane_rc, run);
    protocols_net("datagrams", ri_config.use_ud, &ri_plane_ud, run);
    protocols_table("Between hosts without RDMA:", &ucx);
    protocols_values();
    if (run == 0) {
        printf("Derived datatypes: --protocols=LENGTH, with the length of their runs.\n");
    }
    printf("The names are those of the report. UCXRI_LOG_LEVEL=info prints a line when a pair\n"
           "takes a protocol for the first time.\n");
}
