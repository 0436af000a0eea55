/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ucxri_info: the version, the findings on this machine, the settings, and the report of a job.
 *
 * It finds things as the library does in a process under the preload: it loads UCX, reads the
 * environment, opens a ring and the planes, and measures the costs. It keeps nothing of that.
 */
#include "ucxri_check.h"
#include "ucxri_info_report.h"
#include "ucxri_info_timeline.h"
#include "ucp/core/config.h"
#include "ucp/core/costs.h"
#include "ucp/core/counters.h"
#include "ucp/run/peer_memory.h"
#include "ucp/core/request.h"
#include "ucp/core/switch.h"
#include "ucp/core/version.h"
#include "ucs/stock.h"
#include "ucp/wire/wire.h"
#include "uct/cma/cma.h"
#include "uct/ib/device/device.h"
#include "uct/ib/rc/footprint.h"
#include "uct/ib/ud/footprint.h"
#include "uct/shm/host.h"
#include "uct/shm/ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void usage(FILE *stream)
{
    fprintf(stream, "Usage: ucxri_info [options]\n"
                    "       ucxri_info -r [-a] FILE...\n"
                    "       ucxri_info --html OUT FILE...\n"
                    "       ucxri_info --timeline OUT FILE...\n"
                    "       ucxri_info --check [PROGRAM]\n"
                    "Without options: prints the version, the findings on this machine, "
                    "the measured\n"
                    "costs, and the thresholds that follow from these.\n"
                    "  -v       print only the version\n"
                    "  -c       print the settings of the present environment\n"
                    "  -f       print the settings with explanations\n"
                    "  -s       print the counters of UCXRI_STATS=y and their meaning\n"
                    "  -r FILE...\n"
                    "           sum up the reports of jobs that ran with UCXRI_REPORT=y "
                    "or json:FILE,\n"
                    "           each job on a page of its own; FILE is the output of a "
                    "job, or a\n"
                    "           report as JSON, - is standard input\n"
                    "  -a       with -r: print the lines of all ranks, also if there are "
                    "more than 16\n"
                    "  --html OUT FILE...\n"
                    "           write these reports to OUT, as a page for a browser\n"
                    "  --timeline OUT FILE...\n"
                    "           write what the processes of a job noted by "
                    "UCXRI_TRACE=FILE to OUT, as\n"
                    "           JSON that Perfetto and Chrome (chrome://tracing) open\n"
                    "  --check [PROGRAM]\n"
                    "           say whether this environment makes the library active, "
                    "in PROGRAM if\n"
                    "           it is given; the exit status is 0 if so, otherwise 1\n"
                    "  -h       print this help\n");
}

static void print_version(void)
{
    printf("ucxri %s, wire version %d\n", RI_VERSION_STRING, RI_WIRE_VERSION);
}

/* Whether rings work: makes one and maps it as a peer does. */
static void print_rings(void)
{
    uint64_t cookie = 0x5ca1ab1e;
    size_t size     = ri_config_ring_size(0);
    size_t sum      = 0;
    ri_ring_rx_t rx;
    ri_ring_tx_t tx;
    unsigned i;
    int error;

    if (ri_config.ring_peers == 0) {
        printf("rings            off (UCXRI_RING_PEERS=0)\n");
        return;
    }
    if (ri_host_id() == 0) {
        printf("rings            not available: /proc is not readable\n");
        return;
    }
    if (ri_ring_create(&rx, size, cookie) != UCS_OK) {
        error = errno;
        printf("rings            not available: %zu bytes of memfd: %s%s\n", size,
               strerror(error), ri_ring_remedy(error));
        return;
    }
    for (i = 0; i < ri_config.ring_peers; ++i) {
        sum += RI_RING_CONTROL_SIZE + ri_config_ring_size(i);
    }
    if (ri_ring_open(&tx, getpid(), rx.fd, size, cookie) == UCS_OK) {
        printf("rings            available, the first has %zu bytes, up to %u per "
               "process "
               "(%zu bytes in all)\n",
               RI_RING_CONTROL_SIZE + size, ri_config.ring_peers, sum);
        printf("shelves          up to %u per process, %zu bytes each\n",
               ri_config.shelf_peers, ri_config.shelf_size);
        ri_ring_tx_close(&tx);
    } else {
        printf("rings            not available: /proc/<pid>/fd cannot be opened\n");
    }
    ri_ring_rx_close(&rx);
}

/* Bytes of memory for a peer, with receives offered in both directions. */
static size_t peer_memory(unsigned kind)
{
    return ri_peer_memory_connected(kind) + ri_peer_memory_offers(kind);
}

static void print_peers(void)
{
    ri_plane_t *plane;
    size_t end = 0;

    if (ri_plane_cma.open(&plane) == UCS_OK) {
        end = plane->peer_memory;
        plane->ops->close(plane);
    }
    printf("peers here       %zu bytes each, %zu of them once long receives were offered "
           "both ways\n",
           peer_memory(RI_WIRE_PLANE_CMA) + end,
           ri_peer_memory_offers(RI_WIRE_PLANE_CMA));
}

#if HAVE_VERBS
static void print_verbs_peers(const ri_ib_device_t *device)
{
    if (ri_config.use_rc) {
        printf("peers by rc      up to %u, about %zu bytes each, %zu of them for queues "
               "and "
               "%zu once long receives were offered both ways\n",
               ri_config.rc_max_peers,
               peer_memory(RI_WIRE_PLANE_RC) + ri_rc_footprint_peer(device),
               ri_rc_footprint_queues(device), ri_peer_memory_offers(RI_WIRE_PLANE_RC));
    }
    if (ri_config.use_ud) {
        printf("peers by ud      %zu bytes each, %zu of them once long receives were "
               "offered both ways; and up to %u queue pairs of about %zu bytes for all\n",
               peer_memory(RI_WIRE_PLANE_UD) + ri_ud_footprint_peer(),
               ri_peer_memory_offers(RI_WIRE_PLANE_UD), ri_config.ud_qps,
               ri_ud_footprint_qp(device));
    }
}
#endif

/* The device that the planes on verbs would use. */
static void print_verbs(void)
{
#if HAVE_VERBS
    static const char *const links[RI_IB_LINK_LAST] = {
            [RI_IB_LINK_INFINIBAND] = "InfiniBand",
            [RI_IB_LINK_ROCE]       = "RoCE",
            [RI_IB_LINK_ROCE_V1]    = "RoCE v1",
            [RI_IB_LINK_ROCE_V2]    = "RoCE v2",
    };
    ri_ib_device_t *device;

    if (ri_verbs_resolve() != UCS_OK) {
        printf("verbs            not available: libibverbs cannot be loaded\n");
    } else if (ri_ib_device_get(&device) != UCS_OK) {
        printf("verbs            not available: no device with an active port that "
               "fits%s (UCXRI_IB_DEVICES=%s)\n",
               strcmp(ri_config.ib_devices, "auto") ? "" : ", or several",
               ri_config.ib_devices);
    } else {
        printf("verbs            %s:%u, %s, GID index %u\n",
               ri_verbs.get_device_name(device->context->device), device->port,
               links[device->address.link], device->address.gid_index);
        print_verbs_peers(device);
        ri_ib_device_put(device);
    }
#else
    printf("verbs            not available: built without infiniband/verbs.h\n");
#endif
}

static void print_costs(void)
{
    printf("costs            memcpy %.1f GB/s; process_vm_readv %.2f us and %.1f GB/s%s; "
           "a cache line of another core %.0f ns (%s)\n",
           ri_costs.copy_rate, ri_costs.plane.call * 1e-3, ri_costs.plane.rate,
           ri_costs.plane_measured ? "" : " (assumed, not measured)", ri_costs.line,
           ri_costs.line_measured ? "estimated by one of memory" : "assumed");
}

static void print_thresholds(void)
{
    static const struct {
        const char *text, *name;
    } thresholds[] = {{"eager            up to ", "EAGER_THRESH"},
                      {"hybrid           up to ", "HYBRID_THRESH"},
                      {"cooperative      from ", "COOP_THRESH"}};
    size_t i;

    for (i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); ++i) {
        printf("%s", thresholds[i].text);
        ri_config_print_value(stdout, thresholds[i].name);
        printf("\n");
        if ((i == 0) && (ri_config.ring_eager > ri_config.eager_thresh)) {
            printf("eager by ring    up to %zuK, if the ring has %zuK or more\n",
                   ri_config.ring_eager / 1024,
                   ri_config.ring_eager * RI_RING_LONG_MESSAGES / 1024);
        }
    }
    print_costs();
}

static void print_found(void)
{
    const char *scheme  = getenv("UCX_RNDV_SCHEME");
    const char *preload = getenv("LD_PRELOAD");

    printf("stock UCX        %u.%u.%u\n", ri_stock.version_major, ri_stock.version_minor,
           ri_stock.version_release);
    printf("switch           UCX_RNDV_SCHEME=%s%s\n", (scheme == NULL) ? "" : scheme,
           ri_switch_is_on(scheme) ? "" : " (not recv_init: the library is inert)");
    printf("preload          LD_PRELOAD=%s\n", (preload == NULL) ? "" : preload);
    print_rings();
    print_peers();
    print_verbs();
    print_thresholds();
}

static void print_counter(const char *name, const char *unit, const char *doc,
                          uint64_t value, void *arg)
{
    printf("%-18s %-9s %s\n", name, unit, doc);
}

/* --check: without loading UCX or measuring anything. */
static int check_here(int argc, char **argv)
{
    char program[PATH_MAX];
    check_t check;

    if (argc > 1) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    if (argc == 0) {
        check_environment(&check, NULL);
    } else if (check_has_program(&check, argv[0], program, sizeof(program))) {
        check_environment(&check, program);
    }
    return check_print(&check, NULL);
}

/* -r: neither UCX nor any setting matters. */
static int report_here(int argc, char **argv)
{
    int all = (argc > 0) && !strcmp(argv[0], "-a");

    if (argc == all) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    return info_report(argv + all, argc - all, all);
}

static int page_here(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    return info_page(argv[0], argv + 1, argc - 1);
}

static int timeline_here(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    return info_timeline(argv[0], argv + 1, argc - 1);
}

int main(int argc, char **argv)
{
    const ri_worker_counters_t none = {0};
    int found                       = 1;
    int c;

    if ((argc > 1) && !strcmp(argv[1], "--check")) {
        return check_here(argc - 2, argv + 2);
    }
    if ((argc > 1) && !strcmp(argv[1], "-r")) {
        return report_here(argc - 2, argv + 2);
    }
    if ((argc > 1) && !strcmp(argv[1], "--html")) {
        return page_here(argc - 2, argv + 2);
    }
    if ((argc > 1) && !strcmp(argv[1], "--timeline")) {
        return timeline_here(argc - 2, argv + 2);
    }

    /* As in a program under the preload: UCX is loaded, not linked. */
    if (dlopen("libucp.so.0", RTLD_LAZY | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "ucxri_info: no UCX on this machine: %s\n", dlerror());
        return EXIT_FAILURE;
    }
    ri_stock_resolve();
    ri_config_read();

    while ((c = getopt(argc, argv, "vcfsh")) != -1) {
        found = 0;
        switch (c) {
        case 'v':
            print_version();
            break;
        case 'c':
            ri_config_print(stdout, 0);
            break;
        case 'f':
            ri_config_print(stdout, 1);
            break;
        case 's':
            ri_worker_counters_foreach(&none, print_counter, NULL);
            break;
        case 'h':
            usage(stdout);
            break;
        default:
            usage(stderr);
            return EXIT_FAILURE;
        }
    }
    if (optind < argc) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    if (found) {
        print_version();
        print_found();
    }
    return EXIT_SUCCESS;
}
