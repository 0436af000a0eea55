/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each sample is one run of a program: of this one, or of the command that the user gives. What
 * switches the library is ucxri_run, with and without --off, so that it is found as it is for a
 * user's program. The two sides take turns, and the one that goes first changes from round to
 * round, so that what drifts with time favours nobody.
 *
 * Collectives, and several pairs at a time, are measured by a command, the MPI programs of
 * test/bench, and not by algorithms in this program: what a user's program sees is what its MPI
 * chooses by size and number of ranks, and another algorithm would say nothing about that.
 */
#include "ucxri_perf_compare_run.h"
#include "ucxri_perf_fatal.h"
#include "ucxri_perf_link.h"
#include "ucxri_perf_result.h"
#include "ucs/time_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Arguments that are put in front of a command or behind it */
#define MAX_MORE 32

/* Of what a program that failed has said */
#define MAX_SAID 4096

/* Points of one configuration, which one run measures */
typedef struct {
    uint32_t first;
    uint32_t count;
} group_t;

typedef struct {
    perf_options_t *options;
    perf_compare_t *compare;
    group_t groups[PERF_MAX_POINTS];
    int num_groups;
    int round;
    int step, num_steps;     /* of the progress that is shown */
    int out, err;            /* files in memory: of the results, and of messages */
    char csv[64];            /* the former as a path */
    char self[PATH_MAX];     /* this program */
    char run_tool[PATH_MAX]; /* ucxri_run beside it */
} run_t;

static int memory_file(void)
{
    int fd = memfd_create("ucxri_perf", 0);

    if (fd < 0) {
        perf_fatal("cannot make a file in memory: %s", strerror(errno));
    }
    return fd;
}

static void find_programs(run_t *run)
{
    ssize_t length = readlink("/proc/self/exe", run->self, sizeof(run->self) - 1);
    char *name;

    run->self[(length < 0) ? 0 : length] = '\0';
    name                                 = strrchr(run->self, '/');
    if (name == NULL) {
        perf_fatal("cannot find out the path of this program");
    }
    snprintf(run->run_tool, sizeof(run->run_tool), "%.*s/%.32s", (int)(name - run->self),
             run->self, PERF_COMPARE_RUN_TOOL);
    if (access(run->run_tool, X_OK) != 0) {
        perf_fatal("there is no " PERF_COMPARE_RUN_TOOL " beside %s", run->self);
    }
}

/* Points that follow each other and have the same computation */
static void make_groups(run_t *run)
{
    const perf_params_t *params = &run->options->params;
    group_t *group              = NULL;
    uint32_t i;

    for (i = 0; i < params->num_points; ++i) {
        if ((group == NULL) ||
            memcmp(params->points[i].comps, params->points[group->first].comps,
                   sizeof(params->points[i].comps)) != 0) {
            group        = &run->groups[run->num_groups++];
            group->first = i;
        }
        ++group->count;
    }
    if (params->num_points == 0) {
        run->num_groups = 1; /* all that the command measures */
    }
}

/* Copy what a program has said to stderr */
static void repeat_messages(run_t *run)
{
    char text[MAX_SAID];
    ssize_t length = pread(run->err, text, sizeof(text), 0);

    perf_show(NULL);
    if (length > 0) {
        fwrite(text, 1, length, stderr);
    }
}

static void truncate_files(run_t *run)
{
    if ((ftruncate(run->out, 0) != 0) || (ftruncate(run->err, 0) != 0) ||
        (lseek(run->out, 0, SEEK_SET) != 0) || (lseek(run->err, 0, SEEK_SET) != 0)) {
        perf_fatal("cannot empty a file in memory: %s", strerror(errno));
    }
}

/* The user, or a time limit, wants an end: what there is by then is told. The signal, and the
 * program that is to end as well, or 0 */
static volatile sig_atomic_t is_interrupted;
static volatile sig_atomic_t running_pid;

/* Who asks twice does not want to wait */
static void interrupt(int number)
{
    int is_again = (is_interrupted != 0);

    is_interrupted = number;
    if (running_pid != 0) {
        kill(running_pid, is_again ? SIGKILL : SIGTERM);
    }
}

/* A signal that is ignored stays ignored, as in a job in the background. */
static void await_interrupt(int number)
{
    const struct sigaction action = {.sa_handler = interrupt};
    struct sigaction before;

    if ((sigaction(number, NULL, &before) == 0) && (before.sa_handler != SIG_IGN)) {
        sigaction(number, &action, NULL);
    }
}

/* In the new process. The benchmark writes a file, and a command its standard output: what that
 * says beside its results is for the user. */
static void __attribute__((noreturn)) become(const run_t *run, char **argv, pid_t parent)
{
    int null = open("/dev/null", O_RDWR);

    if (is_interrupted) {
        _exit(EXIT_FAILURE);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    dup2(null, STDIN_FILENO);
    dup2((run->options->command != NULL) ? run->out : null, STDOUT_FILENO);
    if (run->options->command == NULL) {
        dup2(run->err, STDERR_FILENO);
    }
    execvp(argv[0], argv);
    fprintf(stderr, "ucxri_perf: cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(EXIT_FAILURE);
}

static const char *side_text(perf_compare_side_t side)
{
    return (side == PERF_COMPARE_STOCK) ? "stock UCX" : "the library";
}

/* Run a program to its end, with what it has written in the files in memory. Returns 0 if it was
 * interrupted, so that its results count for nothing */
static int execute(run_t *run, perf_compare_side_t side, char **argv)
{
    pid_t parent = getpid();
    int status;
    pid_t pid;

    truncate_files(run);
    fflush(NULL);
    pid = fork();
    if (pid < 0) {
        perf_fatal("cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        become(run, argv, parent);
    }
    running_pid = pid;
    if (is_interrupted) { /* before that, so that nobody has told the program */
        kill(pid, SIGTERM);
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            perf_fatal("cannot wait for a process: %s", strerror(errno));
        }
    }
    running_pid = 0;
    if (is_interrupted) {
        return 0;
    }
    if (status != 0) {
        repeat_messages(run);
        perf_fatal("a run with %s failed, with %s %d", side_text(side),
                   WIFSIGNALED(status) ? "signal" : "exit status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return 1;
}

/* The argument behind ucxri_run that makes a side; NULL: none is needed */
static char *switch_argument(run_t *run, perf_compare_side_t side, char *text, size_t max)
{
    if (side == PERF_COMPARE_STOCK) {
        return "--off";
    }
    if (run->options->library == NULL) {
        return NULL;
    }
    snprintf(text, max, "--library=%s", run->options->library);
    return text;
}

/*
 * The user's command
 */
static int is_run_tool(const char *argument)
{
    return !strcmp(basename(argument), PERF_COMPARE_RUN_TOOL);
}

static void measure_command(run_t *run, perf_compare_side_t side)
{
    char library[PATH_MAX + 16];
    char *text = switch_argument(run, side, library, sizeof(library));
    int i, count, length, is_complete;
    char **argv;
    FILE *file;

    for (length = 0; run->options->command[length] != NULL; ++length) {}
    argv = calloc(2 * length + 1, sizeof(*argv));
    if (argv == NULL) {
        perf_fatal("out of memory");
    }
    for (i = 0, count = 0; i < length; ++i) {
        argv[count++] = run->options->command[i];
        if ((text != NULL) && is_run_tool(run->options->command[i])) {
            argv[count++] = text;
        }
    }
    is_complete = execute(run, side, argv);
    free(argv);
    if (!is_complete) {
        return;
    }

    file = fdopen(dup(run->out), "r");
    if (file == NULL) {
        perf_fatal("cannot read a file in memory: %s", strerror(errno));
    }
    rewind(file);
    count = perf_compare_read(run->compare, side, file);
    if (count <= 0) {
        perf_fatal((count == 0) ? "the command printed no RESULT line" :
                                  "the command printed too many different RESULT lines");
    }
    fclose(file);
}

/*
 * This program's benchmarks
 */

/* Whether another sample of a point is needed */
static int is_wanted(const run_t *run, const perf_point_t *point)
{
    const char *bench = perf_benches[run->options->params.bench].name;
    char config[64]   = "";
    const perf_compare_line_t *line;
    int i;

    if (perf_benches[run->options->params.bench].has_config) {
        perf_params_format_config(config, sizeof(config), point);
    }
    for (i = 0; i < run->compare->count; ++i) {
        line = &run->compare->lines[i];
        if ((line->size == point->size) && !strcmp(line->config, config) &&
            !strcmp(line->bench, bench)) {
            return perf_compare_lacks(run->compare, line, run->options->rounds);
        }
    }
    return 1;
}

/* The sizes of a group as a list, of those that are wanted; returns their number */
static int list_sizes(const run_t *run, const group_t *group, int only_wanted, char *text,
                      size_t max)
{
    const perf_point_t *points = &run->options->params.points[group->first];
    size_t used                = 0;
    int count                  = 0;
    uint32_t i;

    for (i = 0; i < group->count; ++i) {
        if (only_wanted && !is_wanted(run, &points[i])) {
            continue;
        }
        used += snprintf(text + used, max - used, "%s%llu", (count == 0) ? "" : ",",
                         (unsigned long long)points[i].size);
        ++count;
    }
    return count;
}

static void add_results(run_t *run, perf_compare_side_t side)
{
    perf_results_t *results = calloc(1, sizeof(*results));
    const char *name;
    int is_library, i;

    if (results == NULL) {
        perf_fatal("out of memory");
    }
    perf_csv_read(run->csv, results);
    name       = results->results[0].library;
    is_library = !strncmp(name, "ucxri", 5);
    if (is_library != (side == PERF_COMPARE_LIBRARY)) {
        repeat_messages(run);
        perf_fatal("in a run with %s the tag matching was done by %s", side_text(side),
                   name);
    }
    snprintf(run->compare->names[side], sizeof(run->compare->names[side]), "%s", name);
    for (i = 0; i < results->count; ++i) {
        const perf_result_t *result        = &results->results[i];
        const perf_compare_sample_t sample = {.bench     = result->bench->name,
                                              .config    = result->config,
                                              .unit      = result->bench->unit,
                                              .size      = result->size,
                                              .value     = result->value.median,
                                              .core_ns   = result->core_ns,
                                              .disturbed = result->disturbed};

        perf_compare_add(run->compare, side, &sample);
    }
    free(results);
}

static void measure_group(run_t *run, perf_compare_side_t side, const group_t *group,
                          const char *sizes)
{
    const perf_options_t *options = run->options;
    const perf_params_t *params   = &options->params;
    const perf_bench_t *bench     = &perf_benches[params->bench];
    char library[PATH_MAX + 16], config[64], seconds[32], batches[32], window[32];
    char unit[32], timeout[32], cpus[32];
    char *argv[MAX_MORE];
    int count = 0;

    snprintf(seconds, sizeof(seconds), "%g", params->seconds);
    snprintf(batches, sizeof(batches), "%u", params->batches);
    snprintf(window, sizeof(window), "%u", params->window);
    snprintf(timeout, sizeof(timeout), "%g", params->timeout);
    snprintf(cpus, sizeof(cpus), "%d,%d", options->cpus[0], options->cpus[1]);
    argv[count++] = run->run_tool;
    argv[count]   = switch_argument(run, side, library, sizeof(library));
    count += (argv[count] != NULL);
    argv[count++] = run->self;
    argv[count++] = (char *)bench->name;
    argv[count++] = "--sizes";
    argv[count++] = (char *)sizes;
    argv[count++] = "--seconds";
    argv[count++] = seconds;
    argv[count++] = "--batches";
    argv[count++] = batches;
    argv[count++] = "--window";
    argv[count++] = window;
    argv[count++] = "--timeout";
    argv[count++] = timeout;
    argv[count++] = "--cpus";
    argv[count++] = cpus;
    argv[count++] = "--csv";
    argv[count++] = run->csv;
    if (bench->has_config) {
        perf_params_format_config(config, sizeof(config), &params->points[group->first]);
        snprintf(unit, sizeof(unit), "%g", params->unit_us);
        argv[count++] = "--config";
        argv[count++] = config;
        argv[count++] = "--unit";
        argv[count++] = unit;
    }
    if (params->target_us > 0) {
        snprintf(unit, sizeof(unit), "%g", params->target_us);
        argv[count++] = "--target-computes";
        argv[count++] = unit;
    }
    argv[count] = NULL;
    if (execute(run, side, argv)) {
        add_results(run, side);
    }
}

/*
 * Rounds
 */
static void show_step(run_t *run, perf_compare_side_t side, int again)
{
    char text[128];

    if (again) {
        snprintf(text, sizeof(text),
                 "[%d/%d] what was disturbed again, %d of up to %d: %s", run->num_steps,
                 run->num_steps, run->round - run->options->rounds + 1,
                 run->options->rounds, side_text(side));
    } else {
        snprintf(text, sizeof(text), "[%d/%d] round %d of %d: %s", ++run->step,
                 run->num_steps, run->round + 1, run->options->rounds, side_text(side));
    }
    perf_show(text);
}

/* Where nobody sees the steps: a line for each round, and before the first one how long it takes */
static void tell_round(const run_t *run, int again)
{
    const perf_options_t *options = run->options;
    double seconds                = run->num_steps * options->params.num_points *
                     options->params.seconds / run->num_groups;
    char text[32];

    if (isatty(STDERR_FILENO)) {
        return;
    }
    if ((run->round == 0) && (options->command == NULL)) {
        ri_time_text(ceil(seconds) * 1e6, text, sizeof(text));
        fprintf(stderr,
                "ucxri_perf: this takes %s or more, and much longer on a busy machine\n",
                text);
    }
    fprintf(stderr, "ucxri_perf: %s %d of %s%d\n",
            again ? "what was disturbed again," : "round",
            again ? run->round - options->rounds + 1 : run->round + 1,
            again ? "up to " : "", options->rounds);
}

static void measure_both(run_t *run, const group_t *group, int again)
{
    char sizes[PERF_MAX_POINTS * 12];
    perf_compare_side_t side;
    int turn;

    if ((run->options->command == NULL) &&
        (list_sizes(run, group, again, sizes, sizeof(sizes)) == 0)) {
        return;
    }
    for (turn = 0; turn < PERF_COMPARE_SIDES; ++turn) {
        side = (turn + run->round) % PERF_COMPARE_SIDES;
        show_step(run, side, again);
        if (run->options->command != NULL) {
            measure_command(run, side);
        } else {
            measure_group(run, side, group, sizes);
        }
        if (is_interrupted) {
            return;
        }
    }
}

static int has_all(const run_t *run)
{
    int i;

    for (i = 0; i < run->compare->count; ++i) {
        if (perf_compare_lacks(run->compare, &run->compare->lines[i],
                               run->options->rounds)) {
            return 0;
        }
    }
    return 1;
}

void perf_compare_run(perf_options_t *options, perf_compare_t *compare)
{
    run_t *run = calloc(1, sizeof(*run));
    int again, i;

    if (run == NULL) {
        perf_fatal("out of memory");
    }
    run->options = options;
    run->compare = compare;
    run->out     = memory_file();
    run->err     = memory_file();
    snprintf(run->csv, sizeof(run->csv), "/proc/self/fd/%d", run->out);
    if (options->command == NULL) {
        find_programs(run);
        perf_link_choose_cpus(options->cpus);
    }
    make_groups(run);
    compare->enough = (options->rounds < 3) ? options->rounds : (options->rounds + 1) / 2;
    run->num_steps  = options->rounds * run->num_groups * PERF_COMPARE_SIDES;
    await_interrupt(SIGINT);
    await_interrupt(SIGTERM);
    for (run->round = 0; !is_interrupted && (run->round < 2 * options->rounds);
         ++run->round) {
        again = (run->round >= options->rounds);
        if (again && has_all(run)) {
            break;
        }
        tell_round(run, again);
        for (i = 0; !is_interrupted && (i < run->num_groups); ++i) {
            measure_both(run, &run->groups[i], again);
        }
    }
    perf_show(NULL);
    compare->interrupted = is_interrupted;
    perf_compare_conclude(compare);
    close(run->out);
    close(run->err);
    free(run);
}
