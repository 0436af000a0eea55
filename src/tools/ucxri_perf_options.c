/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line is parsed in three steps: getopt_long() takes the options, then the benchmark or
 * the files are taken from what is left, then sizes and configurations become points. Sizes come
 * last because their default depends on the benchmark, whose name may stand anywhere. Each limit is
 * checked where its value is parsed, with a message that names the option.
 */
#include "ucxri_perf_options.h"
#include "ucxri_perf_bench.h"
#include "ucxri_perf_compare.h"
#include "ucxri_perf_fatal.h"
#include "ucxri_option.h"

#include "ucp/core/version.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORT    65535
#define MAX_CONFIGS 64

/*
 * The experiments of Small and Yuan (ICS'09), with message sizes for present machines, and what
 * those leave out: both sides compute while a message moves that is longer than 32 KB.
 */
typedef struct {
    const char *name;
    uint32_t comps[PERF_NUM_COMPS];
    const char *sizes;
    int is_own; /* not of the paper */
} config_t;

/* clang-format off */
static const config_t configs_known[] = {
    {"early-send",          {0, 0, 60, 10, 0, 0},    "30k", 0},
    {"early-send",          {0, 0, 60, 20, 0, 0},    "30k", 0},
    {"early-send",          {0, 0, 60, 30, 0, 0},    "30k", 0},
    {"early-send",          {0, 0, 60, 40, 0, 0},    "30k", 0},
    {"early-send",          {0, 0, 60, 50, 0, 0},    "30k", 0},
    {"early-send-overlap",  {0, 20, 0, 5, 5, 20},    "16k,24k,32k", 0},
    {"early-recv-sender",   {20, 20, 20, 0, 0, 0},   "64k,128k,256k,512k,1m", 0},
    {"early-recv-receiver", {27, 0, 0, 20, 20, 20},  "64k,128k,256k,512k,1m", 0},
    {"both-early-send",     {0, 30, 0, 10, 20, 0},   "64k,256k,1m,4m", 1},
    {"both-early-recv",     {10, 20, 0, 0, 30, 0},   "64k,256k,1m,4m", 1},
};
/* clang-format on */

#define NUM_CONFIGS (int)(sizeof(configs_known) / sizeof(configs_known[0]))

static const char help[] =
        "Usage: ucxri_perf BENCHMARK [options]          both processes on this host\n"
        "       ucxri_perf --listen PORT                wait for another host\n"
        "       ucxri_perf --connect HOST:PORT BENCHMARK [options]\n"
        "       ucxri_perf compare BENCHMARK [options]  stock UCX beside the library\n"
        "       ucxri_perf compare [options] -- COMMAND the same with another program\n"
        "       ucxri_perf chart --svg FILE [--title TEXT] LABEL=CSV...\n"
        "\n"
        "Measures tag messages of UCX between two processes, with or without ucxri,\n"
        "  latency        one way, from a ping-pong                        us\n"
        "  bandwidth      one direction, windows of messages               MB/s\n"
        "  bidirectional  both directions at once, the sum                 MB/s\n"
        "  rate           messages in one direction, windows of messages   Mmsg/s\n"
        "  fast-receive   from the send until the data is in a buffer that\n"
        "                 was posted before                                us\n"
        "  progress       computation before, between and after the start\n"
        "                 of a message and its wait, on either side        us\n"
        "and one-sided operations on memory of the other process:\n"
        "  put, get       one operation and its flush                      us\n"
        "  atomic         fetch and add of 8 bytes                         us\n"
        "  put-rate       windows of puts                                  Mmsg/s\n"
        "  put-bandwidth, get-bandwidth  windows of puts, and of gets      MB/s\n"
        "\n"
        "Options:\n"
        "  -s, --sizes LIST     message sizes in bytes, as 0,8,64k,4m\n"
        "  -t, --seconds SEC    time for each line of the table (0.3)\n"
        "  -b, --batches N      batches that the time is split into (200); the table has\n"
        "                       their median and quartiles\n"
        "  -w, --window N       bandwidths, bidirectional, rates: messages at a time (64);\n"
        "                       each one is received into memory of its own\n"
        "  -c, --cpus A,B       the cores of the two processes (the first two allowed);\n"
        "                       one core with --listen and --connect (none)\n"
        "      --config LIST    progress: units of computation as C1,C2,C3,C4,C5,C6, of\n"
        "                       the sender before, between and after, then of the\n"
        "                       receiver; or early-send, early-send-overlap,\n"
        "                       early-recv-sender, early-recv-receiver, or paper for these\n"
        "                       four; both-early-send, both-early-recv; or all (all);\n"
        "                       repeatable\n"
        "      --unit US        progress: one unit of computation (18)\n"
        "      --target-computes US\n"
        "                       one-sided: the target computes for so long between two\n"
        "                       calls of progress (0)\n"
        "      --csv FILE       also write the results to this file\n"
        "      --svg FILE       draw a chart of the results\n"
        "      --title TEXT     title of the chart\n"
        "      --results        print lines \"RESULT name size value unit core_ns\" and no\n"
        "                       table\n"
        "      --timeout SEC    give up when a message takes longer (60)\n"
        "      --rounds N       compare: how often each side is measured (5); up to as many\n"
        "                       again where samples were dropped\n"
        "      --library FILE   compare: the library (the one that ucxri_run finds)\n"
        "  -v, --version        print the version\n"
        "  -h, --help           this text\n"
        "\n"
        "compare runs stock UCX and the library in turn, on the same two cores of this\n"
        "host; it cannot compare between hosts. Samples of cores that were near each\n"
        "other and of cores that were far are kept apart; a sample during which that\n"
        "changed, or another program ran, is dropped and repeated. COMMAND prints RESULT\n"
        "lines, as the MPI programs beside the guide do for collectives and many pairs\n"
        "of ranks, and has ucxri_run in front of its program. Of the options it takes\n"
        "--rounds, --library, --csv, --svg and --title only.\n"
        "\n"
        "Examples:\n"
        "  ucxri_perf latency --csv stock.csv\n"
        "  ucxri_run ucxri_perf latency --csv ucxri.csv\n"
        "  ucxri_perf chart --svg latency.svg stock=stock.csv ucxri=ucxri.csv\n"
        "  ucxri_perf compare latency --svg latency.svg\n"
        "  ucxri_perf compare -- mpiexec -n 4 ucxri_run ./mpi_coll allreduce=8,64k\n"
        "  ucxri_perf progress --config 0,0,60,30,0,0 --sizes 16k,64k\n"
        "  ucxri_perf --listen 13337                             on the host node1\n"
        "  ucxri_perf --connect node1:13337 bandwidth            on another host\n"
        "\n"
        "Exit code: 0, 1 if a run failed or data arrived wrong, 2 for wrong options; of\n"
        "compare also 128 and the number of the signal after an interrupt.\n";

static void __attribute__((noreturn, format(printf, 1, 2)))
usage_error(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "ucxri_perf: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "; see --help\n");
    exit(PERF_EXIT_USAGE);
}

static double parse_number(const char *option, const char *text, double min, double max)
{
    double value;
    char *end;

    value = strtod(text, &end);
    if ((text[strspn(text, "0123456789.")] != '\0') || (end == text) || (*end != '\0') ||
        !(value >= min) || !(value <= max)) {
        usage_error("%s %s: expected a number from %.9g to %.9g", option, text, min, max);
    }
    return value;
}

static uint32_t parse_count(const char *option, const char *text, uint32_t max)
{
    double value = parse_number(option, text, 1, max);

    if (value != (uint32_t)value) {
        usage_error("%s %s: expected a whole number", option, text);
    }
    return (uint32_t)value;
}

/* One size at *text_p, which is moved behind it; returns 0 unless there is none */
static int parse_size(const char **text_p, uint64_t *size_p)
{
    unsigned shift = 0;
    unsigned long long value;
    char *end;

    if (!isdigit((unsigned char)**text_p)) {
        return -1;
    }
    errno = 0;
    value = strtoull(*text_p, &end, 10);
    if ((*end == 'k') || (*end == 'K')) {
        shift = 10;
    } else if ((*end == 'm') || (*end == 'M')) {
        shift = 20;
    }
    *text_p = (shift > 0) ? end + 1 : end;
    if ((errno != 0) || (value > (PERF_MAX_SIZE >> shift))) {
        return -1;
    }
    *size_p = value << shift;
    return 0;
}

/* A point for each size of the list, with the computation given or none */
static void add_points(perf_params_t *params, const char *sizes, const uint32_t *comps)
{
    const char *next = sizes;
    perf_point_t *point;

    do {
        if (params->num_points == PERF_MAX_POINTS) {
            usage_error("more than %d sizes and configurations", PERF_MAX_POINTS);
        }
        point = &params->points[params->num_points++];
        if ((parse_size(&next, &point->size) != 0) ||
            ((*next != ',') && (*next != '\0'))) {
            usage_error("--sizes %s: expected sizes up to 1024m, as in 0,8,64k,4m",
                        sizes);
        }
        if (comps != NULL) {
            memcpy(point->comps, comps, sizeof(point->comps));
        }
    } while (*next++ != '\0');
}

static int parse_comps(const char *text, uint32_t *comps)
{
    unsigned long value;
    char *end;
    int i;

    for (i = 0; i < PERF_NUM_COMPS; ++i) {
        if (!isdigit((unsigned char)*text)) {
            return -1;
        }
        value = strtoul(text, &end, 10);
        if (value > PERF_MAX_UNITS) {
            return -1;
        }
        comps[i] = (uint32_t)value;
        if ((i + 1 < PERF_NUM_COMPS) ? ((*end != ',') && (*end != '/')) :
                                       (*end != '\0')) {
            return -1;
        }
        text = end + 1;
    }
    return 0;
}

/* The points of one --config; sizes is NULL if none were given */
static void add_config(perf_params_t *params, const char *text, const char *sizes)
{
    uint32_t comps[PERF_NUM_COMPS];
    const config_t *config;
    int found = 0;
    int i;

    for (i = 0; i < NUM_CONFIGS; ++i) {
        config = &configs_known[i];
        if (!strcmp(text, "all") || (!strcmp(text, "paper") && !config->is_own) ||
            !strcmp(text, config->name)) {
            add_points(params, (sizes == NULL) ? config->sizes : sizes, config->comps);
            found = 1;
        }
    }
    if (found) {
        return;
    }
    if (parse_comps(text, comps) != 0) {
        usage_error("--config %s: expected six numbers up to %d, as 0,0,60,30,0,0, or a"
                    " name",
                    text, PERF_MAX_UNITS);
    }
    add_points(params, (sizes == NULL) ? "16k,64k,256k,1m" : sizes, comps);
}

static void parse_cpus(const char *text, int *cpus)
{
    char *end;
    long a = strtol(text, &end, 10);
    long b = -1;

    if (isdigit((unsigned char)*text) && (*end == ',') &&
        isdigit((unsigned char)end[1])) {
        b = strtol(end + 1, &end, 10);
    }
    if (!isdigit((unsigned char)*text) || (*end != '\0') || (a >= CPU_SETSIZE) ||
        (b >= CPU_SETSIZE)) {
        usage_error("--cpus %s: expected the numbers of two cores, as 0,1", text);
    }
    cpus[0] = (int)a;
    cpus[1] = (int)b;
}

/* Split HOST:PORT in place; an IPv6 address may stand in brackets */
static void parse_address(perf_options_t *options, char *text)
{
    char *colon = strrchr(text, ':');

    if ((colon == NULL) || (colon == text)) {
        usage_error("--connect %s: expected HOST:PORT", text);
    }
    options->port = colon + 1;
    parse_count("--connect: port", options->port, MAX_PORT);
    *colon = '\0';
    if ((text[0] == '[') && (colon[-1] == ']')) {
        colon[-1] = '\0';
        ++text;
    }
    options->host = text;
}

static void set_run(perf_options_t *options, perf_run_t run)
{
    if (options->run != PERF_RUN_HOST) {
        usage_error("--listen, --connect, compare and chart exclude each other");
    }
    options->run = run;
}

static void parse_bench(perf_params_t *params, const char *name)
{
    perf_bench_id_t id;

    for (id = 0; id < PERF_NUM_BENCHES; ++id) {
        if (!strcmp(name, perf_benches[id].name)) {
            params->bench = id;
            return;
        }
    }
    usage_error("no benchmark '%s'", name);
}

/* Make the points from --sizes and --config, or from their defaults */
static void make_points(perf_params_t *params, const char *sizes, char **configs,
                        int num_configs)
{
    int i;

    if (params->bench != PERF_PROGRESS) {
        if (num_configs > 0) {
            usage_error("only progress has --config");
        }
        add_points(params,
                   (sizes == NULL) ? perf_benches[params->bench].default_sizes : sizes,
                   NULL);
        return;
    }
    if (num_configs == 0) {
        add_config(params, "all", sizes);
    }
    for (i = 0; i < num_configs; ++i) {
        add_config(params, configs[i], sizes);
    }
}

/* A command without ucxri_run would give two sides that do not differ */
static void check_command(const perf_options_t *options, int num_measuring)
{
    char **argument = options->command;

    if (num_measuring > 0) {
        usage_error("compare with a command: only --rounds, --library, --csv, --svg and "
                    "--title are for it");
    }
    while ((*argument != NULL) && strcmp(basename(*argument), PERF_COMPARE_RUN_TOOL)) {
        ++argument;
    }
    if (*argument == NULL) {
        usage_error(
                "compare: write " PERF_COMPARE_RUN_TOOL
                " in front of the program, as in: -- mpiexec -n 4 " PERF_COMPARE_RUN_TOOL
                " ./app");
    }
}

/* The rest of the command line, behind the options */
static void parse_arguments(perf_options_t *options, const char *sizes, char **configs,
                            int num_configs, int argc, char **argv)
{
    if (options->run == PERF_RUN_CHART) {
        if ((argc == 0) || (argc > PERF_MAX_SERIES)) {
            usage_error("chart: expected 1 to %d files, as LABEL=FILE", PERF_MAX_SERIES);
        }
        if (options->svg == NULL) {
            usage_error("chart: --svg FILE is missing");
        }
        options->num_files = argc;
        memcpy(options->files, argv, argc * sizeof(*argv));
        return;
    }
    if (options->run == PERF_RUN_LISTEN) {
        if ((argc > 0) || (options->csv != NULL) || (options->svg != NULL)) {
            usage_error(
                    "--listen: the benchmark and the files are options of the connecting"
                    " process");
        }
        return;
    }
    if (argc != 1) {
        usage_error((argc == 0) ? "a benchmark is missing" : "more than one benchmark");
    }
    parse_bench(&options->params, argv[0]);
    if ((options->params.target_us > 0) && !perf_params_is_one_sided(&options->params)) {
        usage_error("only one-sided operations have --target-computes");
    }
    if ((options->params.unit_us > 0) && (options->params.bench != PERF_PROGRESS)) {
        usage_error("only progress has --unit");
    }
    options->params.unit_us = (options->params.unit_us > 0) ? options->params.unit_us :
                                                              18;
    make_points(&options->params, sizes, configs, num_configs);
    if ((options->params.bench == PERF_ATOMIC) &&
        ((options->params.num_points > 1) || (options->params.points[0].size != 8))) {
        usage_error("atomic has no sizes but 8");
    }
    if (!perf_bench_fits(&options->params)) {
        usage_error("windows of %u messages would take more than %lu GB: choose a smaller"
                    " --window",
                    options->params.window, PERF_MAX_MEMORY >> 30);
    }
    if ((options->run != PERF_RUN_CONNECT) && (options->cpus[0] >= 0) &&
        (options->cpus[1] < 0)) {
        usage_error("--cpus %d: expected two cores", options->cpus[0]);
    }
}

enum {
    OPTION_CONFIG = 256,
    OPTION_UNIT,
    OPTION_TARGET_COMPUTES,
    OPTION_CSV,
    OPTION_SVG,
    OPTION_TITLE,
    OPTION_RESULTS,
    OPTION_LISTEN,
    OPTION_CONNECT,
    OPTION_TIMEOUT,
    OPTION_ROUNDS,
    OPTION_LIBRARY
};

static const struct option long_options[] = {
        {"sizes", required_argument, NULL, 's'},
        {"seconds", required_argument, NULL, 't'},
        {"batches", required_argument, NULL, 'b'},
        {"window", required_argument, NULL, 'w'},
        {"cpus", required_argument, NULL, 'c'},
        {"config", required_argument, NULL, OPTION_CONFIG},
        {"unit", required_argument, NULL, OPTION_UNIT},
        {"target-computes", required_argument, NULL, OPTION_TARGET_COMPUTES},
        {"csv", required_argument, NULL, OPTION_CSV},
        {"svg", required_argument, NULL, OPTION_SVG},
        {"title", required_argument, NULL, OPTION_TITLE},
        {"results", no_argument, NULL, OPTION_RESULTS},
        {"listen", required_argument, NULL, OPTION_LISTEN},
        {"connect", required_argument, NULL, OPTION_CONNECT},
        {"timeout", required_argument, NULL, OPTION_TIMEOUT},
        {"rounds", required_argument, NULL, OPTION_ROUNDS},
        {"library", required_argument, NULL, OPTION_LIBRARY},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};

/* Values of options that are looked at when all of them are known. */
typedef struct parsed {
    char *configs[MAX_CONFIGS];
    int num_configs;
    const char *sizes;
    int num_measuring; /* options that say how this program measures */
} parsed_t;

/* Take option @a c if it says how this program measures. @return Whether it does. */
static int parse_measuring(perf_options_t *options, parsed_t *parsed, int c)
{
    perf_params_t *params = &options->params;

    switch (c) {
    case 's':
        parsed->sizes = optarg;
        return 1;
    case 't':
        params->seconds = parse_number("--seconds", optarg, 0.001, 1000);
        return 1;
    case 'b':
        params->batches = parse_count("--batches", optarg, PERF_MAX_BATCHES);
        return 1;
    case 'w':
        params->window = parse_count("--window", optarg, PERF_MAX_WINDOW);
        return 1;
    case 'c':
        parse_cpus(optarg, options->cpus);
        return 1;
    case OPTION_CONFIG:
        if (parsed->num_configs == MAX_CONFIGS) {
            usage_error("more than %d times --config", MAX_CONFIGS);
        }
        parsed->configs[parsed->num_configs++] = optarg;
        return 1;
    case OPTION_UNIT:
        params->unit_us = parse_number("--unit", optarg, 0.1, 1e6);
        return 1;
    case OPTION_TARGET_COMPUTES:
        params->target_us = parse_number("--target-computes", optarg, 0, 1e6);
        return 1;
    case OPTION_TIMEOUT:
        params->timeout = parse_number("--timeout", optarg, 1, 86400);
        return 1;
    case OPTION_RESULTS:
        options->results = 1;
        return 1;
    default:
        return 0;
    }
}

/* Take option @a c if it says what runs, or where its results go. @return Whether it does. */
static int parse_running(perf_options_t *options, int c)
{
    switch (c) {
    case OPTION_CSV:
    case OPTION_SVG:
        *((c == OPTION_CSV) ? &options->csv : &options->svg) = optarg;
        return 1;
    case OPTION_TITLE:
        options->title = optarg;
        return 1;
    case OPTION_LISTEN:
        set_run(options, PERF_RUN_LISTEN);
        parse_number("--listen", optarg, 0, MAX_PORT);
        options->port = optarg;
        return 1;
    case OPTION_CONNECT:
        set_run(options, PERF_RUN_CONNECT);
        parse_address(options, optarg);
        return 1;
    case OPTION_ROUNDS:
        options->rounds = parse_count("--rounds", optarg, PERF_COMPARE_MAX_ROUNDS);
        return 1;
    case OPTION_LIBRARY:
        options->library = optarg;
        return 1;
    default:
        return 0;
    }
}

/* Take all options. */
static void parse_options(perf_options_t *options, parsed_t *parsed, int argc,
                          char **argv)
{
    int at = 1; /* of the option that is read */
    int is_measuring, c;

    opterr = 0;
    for (; (c = getopt_long(argc, argv, ":s:t:b:w:c:vVh", long_options, NULL)) != -1;
         at = optind) {
        is_measuring = parse_measuring(options, parsed, c);
        parsed->num_measuring += is_measuring;
        if (is_measuring || parse_running(options, c)) {
            continue;
        }
        switch (c) {
        case 'v':
        case 'V':
            printf("ucxri_perf %s\n", RI_VERSION_STRING);
            exit(EXIT_SUCCESS);
        case 'h':
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        case ':':
            usage_error("%s needs a value", option_read(argv, at));
        default:
            usage_error("wrong option %s", option_read(argv, at));
        }
    }
}

void perf_options_parse(perf_options_t *options, int argc, char **argv)
{
    parsed_t parsed = {.sizes = NULL};
    int is_command  = 0;

    *options = (perf_options_t){.cpus = {-1, -1}};
    options->params =
            (perf_params_t){.batches = 200, .window = 64, .seconds = 0.3, .timeout = 60};
    parse_options(options, &parsed, argc, argv);
    if ((optind < argc) && !strcmp(argv[optind], "chart")) {
        set_run(options, PERF_RUN_CHART);
        ++optind;
    } else if ((optind < argc) && !strcmp(argv[optind], "compare")) {
        set_run(options, PERF_RUN_COMPARE);
        is_command = !strcmp(argv[optind - 1], "--");
        ++optind;
    }
    if ((options->run != PERF_RUN_COMPARE) &&
        ((options->rounds > 0) || (options->library != NULL))) {
        usage_error("only compare has --rounds and --library");
    }
    options->rounds = (options->rounds > 0) ? options->rounds : 5;
    if (is_command) {
        options->command = argv + optind;
        check_command(options, parsed.num_measuring);
        return;
    }
    if ((options->run == PERF_RUN_COMPARE) && options->results) {
        usage_error("compare has no --results");
    }
    parse_arguments(options, parsed.sizes, parsed.configs, parsed.num_configs,
                    argc - optind, argv + optind);
}
