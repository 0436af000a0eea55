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
#include "ucxri_info_protocols.h"
#include "ucxri_info_report.h"
#include "ucxri_info_timeline.h"
#include "ucxri_info_tune.h"
#include "ucxri_option.h"
#include "ucxri_wrap.h"
#include "ucp/core/settings/config.h"
#include "ucp/core/settings/config_value.h"
#include "ucp/core/settings/costs.h"
#include "ucp/core/notes/counters.h"
#include "ucp/run/peer_memory.h"
#include "ucp/core/types/request.h"
#include "ucp/core/settings/switch.h"
#include "ucp/core/version.h"
#include "ucs/size_text.h"
#include "ucs/stock.h"
#include "ucp/wire/wire.h"
#include "uct/cma/cma.h"
#include "uct/ib/device/device.h"
#include "uct/ib/rc/rc_footprint.h"
#include "uct/ib/ud/ud_footprint.h"
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

/* As of all programs here. */
#define INFO_EXIT_USAGE 2

static void usage(FILE *stream)
{
    fprintf(stream,
            "Usage: ucxri_info [options]\n"
            "       ucxri_info -r [-a] FILE...\n"
            "       ucxri_info --html OUT FILE...\n"
            "       ucxri_info --timeline OUT FILE...\n"
            "       ucxri_info --check [PROGRAM]\n"
            "       ucxri_info --tune >ucxri.env\n"
            "Without options: prints the version, the findings on this machine, the measured\n"
            "costs, and the thresholds that follow from these.\n"
            "  -v, --version    print only the version\n"
            "  -c, --config     print the settings of the present environment\n"
            "  -f, --full       print the settings with explanations\n"
            "  -s, --stats      print the counters of UCXRI_STATS=y and their meaning\n"
            "  --protocols[=LENGTH]\n"
            "                   print which protocol a message takes here, by its size and by\n"
            "                   which side is ready first, and why; with a length, of derived\n"
            "                   datatypes in runs of that length\n"
            "  --tune           print the thresholds that are measured here, as a file for the\n"
            "                   shell: with it, all jobs have the same\n"
            "  -r, --report FILE...\n"
            "                   sum up the reports of jobs that ran with UCXRI_REPORT=y or\n"
            "                   json:FILE, each job on a page of its own; FILE is the output of\n"
            "                   a job, or a report as JSON; - is standard input, whose\n"
            "                   other lines are printed as they come\n"
            "  -a, --all        with -r: print the lines of all ranks, also if there are more\n"
            "                   than 16\n"
            "  --html OUT FILE...\n"
            "                   write these reports to OUT, as a page for a browser\n"
            "  --timeline OUT FILE...\n"
            "                   write what the processes of a job noted by "
            "UCXRI_TRACE=FILE to\n"
            "                   OUT, for Perfetto or Chrome (chrome://tracing)\n"
            "  --check [PROGRAM]\n"
            "                   say whether this environment makes the library active, in\n"
            "                   PROGRAM if it is given; the exit status is 0 if so, otherwise 1\n"
            "  -h, --help       print this help\n"
            "The exit status is 1 if something cannot be read or written, and 2 for "
            "wrong options.\n");
}

/* @return The exit status. */
static int misuse(const char *text, const char *word)
{
    fprintf(stderr, "ucxri_info: %s%s%s; see --help\n", text, (*word == '\0') ? "" : " ",
            word);
    return INFO_EXIT_USAGE;
}

static void print_version(void)
{
    printf("ucxri %s, wire version %d\n", RI_VERSION_STRING, RI_WIRE_VERSION);
}

/* Whether rings work: makes one and maps it as a peer does. */
static void print_rings(void)
{
    uint64_t cookie = 0x5ca1ab1e;
    size_t size     = ri_settings_ring_size(0);
    size_t sum      = 0;
    char first[32], all[32], shelf[32];
    ri_ring_rx_t rx;
    ri_ring_tx_t tx;
    unsigned i;
    int error;

    if (ri_config.ring_peers == 0) {
        wrap_named(stdout, "rings", "off (UCXRI_RING_PEERS=0)");
        return;
    }
    if (ri_host_id() == 0) {
        wrap_named(stdout, "rings", "not available: /proc is not readable");
        return;
    }
    if (ri_ring_create(&rx, size, cookie) != UCS_OK) {
        error = errno;
        wrap_named(stdout, "rings", "not available: %zu bytes of memfd: %s%s", size,
                   strerror(error), ri_ring_remedy(error));
        return;
    }
    for (i = 0; i < ri_config.ring_peers; ++i) {
        sum += RI_RING_CONTROL_SIZE + ri_settings_ring_size(i);
    }
    if (ri_ring_open(&tx, getpid(), rx.fd, size, cookie) == UCS_OK) {
        ri_size_text(RI_RING_CONTROL_SIZE + size, first, sizeof(first));
        ri_size_text(sum, all, sizeof(all));
        ri_size_text(ri_config.shelf_size, shelf, sizeof(shelf));
        wrap_named(stdout, "rings",
                   "available, the first has %s, up to %u per process (%s in all)", first,
                   ri_config.ring_peers, all);
        wrap_named(stdout, "shelves", "up to %u per process, %s each",
                   ri_config.shelf_peers, shelf);
        ri_ring_tx_close(&tx);
    } else {
        wrap_named(stdout, "rings", "not available: /proc/<pid>/fd cannot be opened");
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
    wrap_named(stdout, "peers here",
               "%zu bytes each, of which %zu are for long receives that are offered in "
               "both directions",
               peer_memory(RI_WIRE_PLANE_CMA) + end,
               ri_peer_memory_offers(RI_WIRE_PLANE_CMA));
}

#if HAVE_VERBS
static void print_verbs_peers(const ri_ib_device_t *device)
{
    if (ri_config.use_rc) {
        wrap_named(
                stdout, "peers by rc",
                "up to %u, about %zu bytes each, of which %zu are for queues and %zu for "
                "long receives that are offered in both directions",
                ri_config.rc_max_peers,
                peer_memory(RI_WIRE_PLANE_RC) + ri_rc_footprint_peer(device),
                ri_rc_footprint_queues(device), ri_peer_memory_offers(RI_WIRE_PLANE_RC));
    }
    if (ri_config.use_ud) {
        wrap_named(
                stdout, "peers by ud",
                "%zu bytes each, of which %zu are for long receives that are offered in "
                "both directions; and up to %u queue pairs of about %zu bytes for all",
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
        wrap_named(stdout, "verbs", "not available: libibverbs cannot be loaded");
    } else if (ri_ib_device_get(&device) != UCS_OK) {
        wrap_named(stdout, "verbs",
                   "not available: no device with an active port that "
                   "fits%s (UCXRI_IB_DEVICES=%s)",
                   strcmp(ri_config.ib_devices, "auto") ? "" : ", or several",
                   ri_config.ib_devices);
    } else {
        wrap_named(stdout, "verbs", "%s:%u, %s, GID index %u",
                   ri_verbs.get_device_name(device->context->device), device->port,
                   links[device->address.link], device->address.gid_index);
        print_verbs_peers(device);
        ri_ib_device_put(device);
    }
#else
    wrap_named(stdout, "verbs", "not available: built without infiniband/verbs.h");
#endif
}

static void print_costs(void)
{
    wrap_named(stdout, "costs",
               "memcpy %.1f GB/s%s; process_vm_readv %.2f us and %.1f GB/s%s; "
               "a cache line of another core %.0f ns%s (%s)%s",
               ri_costs.copy_rate, ri_costs_rate_limit(ri_costs.copy_rate),
               ri_costs.plane.call * 1e-3, ri_costs.plane.rate,
               ri_costs.plane_measured ? "" : " (assumed, not measured)", ri_costs.line,
               ri_costs_line_limit(ri_costs.line),
               ri_costs.line_measured ? "estimated by one of memory" : "assumed",
               ri_config_is_measured() ? "" : "; no threshold depends on them");
}

/* A threshold, in words. */
typedef struct threshold {
    const char *text, *before, *name;
    size_t value;
    size_t off; /* the value of one that is switched off */
} threshold_t;

static void print_threshold(const threshold_t *threshold, const char *behind)
{
    char setting[128], size[24];

    ri_config_print_setting(threshold->name, setting, sizeof(setting));
    ri_size_text(threshold->value, size, sizeof(size));
    if (threshold->value >= SIZE_MAX - 1) {
        snprintf(size, sizeof(size), "any length");
    }
    if (threshold->value == threshold->off) {
        wrap_named(stdout, threshold->text, "off (%s)", setting);
    } else {
        wrap_named(stdout, threshold->text, "%s %s (%s)%s", threshold->before, size,
                   setting, behind);
    }
}

/* Of rings: what a ring has to have for it. */
static void print_ring_threshold(const char *text, const char *name, size_t value)
{
    threshold_t threshold = {text, "up to", name, value, SIZE_MAX};
    char ring[24], behind[64];

    ri_size_text(value * RI_RING_LONG_MESSAGES, ring, sizeof(ring));
    snprintf(behind, sizeof(behind), ", if the ring has %s or more", ring);
    print_threshold(&threshold, behind);
}

static void print_thresholds(void)
{
    const threshold_t thresholds[] = {
            {"eager", "up to", "EAGER_THRESH", ri_config.eager_thresh, SIZE_MAX},
            {"hybrid", "up to", "HYBRID_THRESH", ri_config.hybrid_thresh, 0},
            {"hybrid, away", "up to", "HYBRID_AWAY_MAX", ri_config.hybrid_away, 0},
            {"hybrid, network", "up to", "IB_HYBRID_THRESH", ri_config.hybrid_net, 0},
            {"cooperative", "from", "COOP_THRESH", ri_config.coop_thresh, SIZE_MAX}};
    size_t i;

    for (i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); ++i) {
        print_threshold(&thresholds[i], "");
        if ((i > 0) || (ri_config.ring_peers == 0)) {
            continue;
        }
        if (ri_config.ring_eager > ri_config.eager_thresh) {
            print_ring_threshold("eager by ring", "RING_EAGER_MAX", ri_config.ring_eager);
        }
        if (ri_config.ring_quick > ri_config.ring_eager) {
            print_ring_threshold("by quick ring", "RING_QUICK_MAX", ri_config.ring_quick);
        }
    }
    print_costs();
}

static void print_found(void)
{
    const char *scheme  = getenv("UCX_RNDV_SCHEME");
    const char *preload = getenv("LD_PRELOAD");

    wrap_named(stdout, "stock UCX", "%u.%u.%u", ri_stock.version_major,
               ri_stock.version_minor, ri_stock.version_release);
    if (scheme == NULL) {
        wrap_named(stdout, "switch", "UCX_RNDV_SCHEME is not set here");
    } else {
        wrap_named(stdout, "switch", "UCX_RNDV_SCHEME='%s'%s", scheme,
                   ri_switch_is_on(scheme) ? "" :
                                             " (not recv_init: the library is inert)");
    }
    if (preload == NULL) {
        wrap_named(stdout, "preload", "LD_PRELOAD is not set here");
    } else {
        wrap_named(stdout, "preload", "LD_PRELOAD=%s", preload);
    }
    print_rings();
    print_peers();
    print_verbs();
    print_thresholds();
}

static void print_counter(const char *name, const char *unit, const char *doc,
                          uint64_t value, void *arg)
{
    printf("%-19s %-11s %s\n", name, unit, doc);
}

/* Outputs that are not printed together with others. */
enum {
    INFO_CHECK = 256,
    INFO_HTML,
    INFO_TIMELINE,
    INFO_PROTOCOLS,
    INFO_TUNE
};

typedef struct info_options {
    char prints[16]; /* options that print something short, in their order */
    unsigned num_prints;
    int mode; /* 0, 'r', INFO_* */
    int all;
    const char *argument; /* of --html, --timeline and --protocols; NULL: it has none */
    size_t run;           /* of --protocols, or 0 */
    char **words;         /* behind the options */
    int num_words;
} info_options_t;

/* --check: without loading UCX or measuring anything. */
static int check_here(const info_options_t *options)
{
    char program[PATH_MAX];
    check_t check;

    if (options->num_words == 0) {
        check_environment(&check, NULL);
    } else if (check_has_program(&check, options->words[0], program, sizeof(program))) {
        check_environment(&check, program);
    }
    return check_print(&check, NULL);
}

/* @return Whether UCX is there. It is loaded, not linked, as in a program under the preload. */
static int load_ucx(void)
{
    if (dlopen("libucp.so.0", RTLD_LAZY | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "ucxri_info: no UCX on this machine: %s\n", dlerror());
        return 0;
    }
    ri_stock_resolve();
    ri_config_read();
    return 1;
}

static void print_short(int option)
{
    const ri_worker_counters_t none = {0};

    switch (option) {
    case 'v':
        print_version();
        break;
    case 'c':
        ri_config_print(stdout, 0);
        break;
    case 'f':
        ri_config_print(stdout, 1);
        break;
    default:
        ri_counters_foreach(&none, print_counter, NULL);
    }
}

/* Print the parts that are about this machine, or about the settings. */
static int print_here(const info_options_t *options)
{
    unsigned i;

    if (!load_ucx()) {
        return EXIT_FAILURE;
    }
    for (i = 0; i < options->num_prints; ++i) {
        print_short(options->prints[i]);
    }
    if (options->mode == INFO_PROTOCOLS) {
        info_protocols(options->run);
    } else if (options->mode == INFO_TUNE) {
        info_tune();
    } else if (options->num_prints == 0) {
        print_version();
        print_found();
    }
    return EXIT_SUCCESS;
}

/* @return 0, or the exit status. */
static int parse(int argc, char **argv, info_options_t *options)
{
    static const struct option names[] = {
            {"version", no_argument, NULL, 'v'},
            {"config", no_argument, NULL, 'c'},
            {"full", no_argument, NULL, 'f'},
            {"stats", no_argument, NULL, 's'},
            {"report", no_argument, NULL, 'r'},
            {"all", no_argument, NULL, 'a'},
            {"help", no_argument, NULL, 'h'},
            {"check", no_argument, NULL, INFO_CHECK},
            {"html", required_argument, NULL, INFO_HTML},
            {"timeline", required_argument, NULL, INFO_TIMELINE},
            {"protocols", optional_argument, NULL, INFO_PROTOCOLS},
            {"tune", no_argument, NULL, INFO_TUNE},
            {NULL, 0, NULL, 0}};
    int at = 1; /* of the option that is read */
    int c;

    memset(options, 0, sizeof(*options));
    opterr = 0;
    for (; (c = getopt_long(argc, argv, ":vcfsrah", names, NULL)) != -1; at = optind) {
        if ((c == 'v') || (c == 'c') || (c == 'f') || (c == 's')) {
            options->prints[options->num_prints] = c;
            options->num_prints += (options->num_prints < sizeof(options->prints) - 1);
        } else if (c == 'a') {
            options->all = 1;
        } else if ((c == 'h') || ((c != '?') && (c != ':') && (options->mode == 0))) {
            options->mode     = c;
            options->argument = optarg;
            if (c == 'h') {
                return 0;
            }
        } else {
            return misuse((c == '?') ? "wrong option" :
                          (c == ':') ? "there is no file behind" :
                                       "one thing at a time, not also",
                          option_read(argv, at));
        }
    }
    options->words     = argv + optind;
    options->num_words = argc - optind;
    return 0;
}

/* The length of runs of --protocols, as in the value of a variable. @return Whether it is good. */
static int read_run(info_options_t *options)
{
    static const ri_config_field_t length = {
            .type = RI_CONFIG_SIZE, .min = 1, .max = 1ul << 32};

    return (options->argument == NULL) ||
           ri_config_value_read(&length, options->argument, &options->run);
}

/* Look for options and words that do not go together. @return 0, or the exit status. */
static int check_words(info_options_t *options)
{
    int takes_files = (options->mode == 'r') || (options->mode == INFO_HTML) ||
                      (options->mode == INFO_TIMELINE);

    if (options->all && (options->mode != 'r')) {
        return misuse("-a is for -r only", "");
    }
    if ((options->mode == INFO_PROTOCOLS) && !read_run(options)) {
        return misuse("--protocols takes a length, such as 64 or 8k, not",
                      options->argument);
    }
    if (takes_files && (options->num_words == 0)) {
        return misuse("there is no file to read", "");
    }
    if ((options->mode != 0) && (options->num_prints > 0)) {
        return misuse("one thing at a time, without -v, -c, -f and -s", "");
    }
    if (!takes_files && (options->num_words > (options->mode == INFO_CHECK))) {
        return misuse("unknown argument", options->words[options->mode == INFO_CHECK]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    info_options_t options;
    int status = parse(argc, argv, &options);

    if (options.mode == 'h') {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if ((status != 0) || ((status = check_words(&options)) != 0)) {
        return status;
    }
    switch (options.mode) {
    case INFO_CHECK:
        return check_here(&options);
    case 'r':
        return info_report(options.words, options.num_words, options.all);
    case INFO_HTML:
        return info_page(options.argument, options.words, options.num_words);
    case INFO_TIMELINE:
        return info_timeline(options.argument, options.words, options.num_words);
    default:
        return print_here(&options);
    }
}
