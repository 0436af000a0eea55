/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ucxri_run: starts a program with the library, in the place of the program:
 * mpiexec -n 4 ucxri_run ./app. The launcher itself is not preloaded.
 *
 * What is wrong is said before the start, in one line and once in a job. Then the program runs
 * without the library: with the switch and without the library, UCX would end the job.
 */
#include "ucxri_check.h"
#include "ucxri_check_openmpi.h"
#include "ucxri_run_env.h"
#include "ucxri_wrap.h"
#include "ucp/core/settings/config_value.h"
#include "ucp/core/version.h"
#include "ucp/wire/wire.h"
#include "ucs/rank.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Wrong usage is 2 as of all programs here; the others are as of env, nice and timeout. */
enum {
    RUN_EXIT_USAGE     = 2,
    RUN_EXIT_FAILURE   = 125, /* no memory */
    RUN_EXIT_CANNOT    = 126, /* the program cannot be started */
    RUN_EXIT_NOT_FOUND = 127
};

typedef struct run_options {
    int is_off, is_check;
    int report, trace;
    const char *report_dest, *trace_dest, *timeline, *library;
    char **command; /* the program with its arguments */
} run_options_t;

static void misuse(const char *format, ...)
        __attribute__((noreturn, format(printf, 1, 2)));

static void usage(FILE *stream)
{
    fprintf(stream,
            "Usage: mpiexec -n 4 ucxri_run [options] PROGRAM [ARGUMENTS]\n"
            "Starts a program with the library, and switches it on. All ranks of a job need it.\n"
            "  --report[=DEST]  print a report at exit, as UCXRI_REPORT=y; DEST is stdout, stderr\n"
            "                   or a file name, in which %%p is the process id, %%h the host,\n"
            "                   %%r the rank and %%j the job; json:FILE writes it as JSON,\n"
            "                   which is there even if the job is killed; of\n"
            "                   many ranks, \"mpiexec ... 2>&1 | ucxri_info -r -\" makes one page\n"
            "  --trace[=DEST]   keep a trace and print it at exit, as UCXRI_TRACE=y\n"
            "  --timeline=FILE  write what happens to a file of each process, as "
            "UCXRI_TRACE=FILE,\n"
            "                   for ucxri_info --timeline; without %%r or %%p, job and "
            "rank are put\n"
            "                   behind FILE\n"
            "  --off            run the program without the library, to compare\n"
            "  --check          only say whether the library would be active; the exit status\n"
            "                   is 0 if so, otherwise 1\n"
            "  --library=FILE   preload this library\n"
            "  -v, --version    print the version\n"
            "  -h, --help       print this help\n"
            "The exit status is that of the program, 2 for wrong options, 126 if the program\n"
            "cannot be started, 127 if there is none, and 125 without memory.\n");
}

/* End, with one message. */
static void misuse(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    wrap_printf(stderr, "ucxri_run: ", "%s; see --help", text);
    exit(RUN_EXIT_USAGE);
}

/* An option is not one of those here: is it the launcher's? */
static void misuse_option(const char *option)
{
    static const char *const of_launchers[] = {
            "-n",         "-np", "-c", "-host", "--host", "-hosts", "-hostfile",
            "--hostfile", "-f",  "-x", "-genv", "--mca",  "-ppn"};
    size_t i;

    for (i = 0; i < sizeof(of_launchers) / sizeof(of_launchers[0]); ++i) {
        if (!strcmp(option, of_launchers[i])) {
            misuse("'%s' is an option of the launcher: write it in front of ucxri_run",
                   option);
        }
    }
    misuse("wrong option '%s'", option);
}

/* End if options do not go together, or lack something. */
static void check_options(const run_options_t *options)
{
    if (options->command[0] == NULL) {
        misuse("there is no program to start");
    }
    if ((options->timeline != NULL) && (options->timeline[0] == '\0')) {
        misuse("--timeline needs the name of a file");
    }
    if ((options->report_dest != NULL) &&
        (!strcmp(options->report_dest, RI_CONFIG_REPORT_JSON) ||
         (options->report_dest[0] == '\0'))) {
        misuse("--report=%s needs the name of a file", options->report_dest);
    }
    if ((options->trace_dest != NULL) && (options->trace_dest[0] == '\0')) {
        misuse("--trace= needs the name of a file");
    }
    if ((options->trace_dest != NULL) &&
        !strncmp(options->trace_dest, RI_CONFIG_REPORT_JSON,
                 strlen(RI_CONFIG_REPORT_JSON))) {
        misuse("--trace=%s: a trace is text; --timeline=FILE is what can be drawn",
               options->trace_dest);
    }
    if ((options->library != NULL) && (options->library[0] == '\0')) {
        misuse("--library needs the name of a file");
    }
    if (options->is_off && options->is_check) {
        misuse("--off and --check exclude each other");
    }
    if (options->trace && (options->timeline != NULL)) {
        misuse("--trace and --timeline exclude each other");
    }
    if (run_env_is_launcher(options->command[0])) {
        misuse("%s is a launcher: write ucxri_run behind it and its options, in front of "
               "the program: %s -n 4 ucxri_run ./app",
               options->command[0], options->command[0]);
    }
}

static void parse(int argc, char **argv, run_options_t *options)
{
    static const struct option names[] = {{"report", optional_argument, NULL, 'r'},
                                          {"trace", optional_argument, NULL, 't'},
                                          {"timeline", required_argument, NULL, 'T'},
                                          {"off", no_argument, NULL, 'o'},
                                          {"check", no_argument, NULL, 'c'},
                                          {"library", required_argument, NULL, 'l'},
                                          {"version", no_argument, NULL, 'v'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int at                             = 1; /* of the option that is read */
    int c;

    memset(options, 0, sizeof(*options));
    opterr = 0;
    /* Options behind the program are the program's */
    for (; (c = getopt_long(argc, argv, "+:vh", names, NULL)) != -1; at = optind) {
        switch (c) {
        case 'r':
            options->report      = 1;
            options->report_dest = optarg;
            break;
        case 't':
            options->trace      = 1;
            options->trace_dest = optarg;
            break;
        case 'T':
            options->timeline = optarg;
            break;
        case 'o':
            options->is_off = 1;
            break;
        case 'c':
            options->is_check = 1;
            break;
        case 'l':
            options->library = optarg;
            break;
        case 'v':
            printf("ucxri %s, wire version %d\n", RI_VERSION_STRING, RI_WIRE_VERSION);
            exit(EXIT_SUCCESS);
        case 'h':
            usage(stdout);
            exit(EXIT_SUCCESS);
        case ':':
            misuse("'%s' needs a value", argv[at]);
        default:
            misuse_option(argv[at]);
        }
    }
    options->command = argv + optind;
    check_options(options);
}

/* The path of the library: absolute, as programs change their folder. */
static void find_library(const run_options_t *options, char *library)
{
    char self[PATH_MAX];
    ssize_t length;

    if (options->library != NULL) {
        if (realpath(options->library, library) == NULL) {
            snprintf(library, PATH_MAX, "%s", options->library);
        }
        return;
    }
    length                          = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[(length < 0) ? 0 : length] = '\0';
    run_env_find_library(self, library, PATH_MAX);
}

static void must(int is_done)
{
    if (!is_done) {
        fprintf(stderr, "ucxri_run: out of memory\n");
        exit(RUN_EXIT_FAILURE);
    }
}

static void set(const char *name, const char *value)
{
    must(setenv(name, value, 1) == 0);
}

/* The settings by which Open MPI selects UCX, also where there is no adapter. */
static const char *const openmpi_parameters[][2] = {{"pml", "ucx"},
                                                    {"opal_common_ucx_tls", "any"},
                                                    {"opal_common_ucx_devices", "any"}};

/* The error if the user has restricted with what Open MPI uses UCX. */
#define OPENMPI_RESTRICTED \
    "%s: Open MPI takes UCX only where it has such, and the library is inert " \
    "elsewhere; " \
    "unset that, or set OMPI_MCA_pml=ucx"

/* @return Whether the user has restricted with what Open MPI uses UCX. Then UCX is not to be forced
 * on hosts that have nothing of it: Open MPI would end. */
static int openmpi_is_restricted(char *name, size_t max)
{
    char value[256], where[256];
    size_t i;

    if (check_openmpi_get("pml", NULL, value, where, sizeof(value))) {
        return 0;
    }
    for (i = 1; i < sizeof(openmpi_parameters) / sizeof(openmpi_parameters[0]); ++i) {
        if (check_openmpi_get(openmpi_parameters[i][0], NULL, value, where,
                              sizeof(value)) &&
            strcmp(value, openmpi_parameters[i][1])) {
            snprintf(name, max, "%s is %s", openmpi_parameters[i][0], value);
            return 1;
        }
    }
    return 0;
}

/* Set the parameters of Open MPI that the user has not set, and list them in @a text. With
 * @a is_check they are only listed. */
static void openmpi_set(int is_check, char *text, size_t max)
{
    char name[64], value[256], where[256];
    size_t used = 0;
    size_t i;

    text[0] = '\0';
    for (i = 0; i < sizeof(openmpi_parameters) / sizeof(openmpi_parameters[0]); ++i) {
        if (check_openmpi_get(openmpi_parameters[i][0], NULL, value, where,
                              sizeof(value))) {
            continue;
        }
        snprintf(name, sizeof(name), "OMPI_MCA_%s", openmpi_parameters[i][0]);
        used += snprintf(text + used, max - used, "%s%s=%s", (used == 0) ? "" : " ", name,
                         openmpi_parameters[i][1]);
        if (!is_check) {
            set(name, openmpi_parameters[i][1]);
        }
    }
}

static int run_check(const check_t *check)
{
    char parameters[400], note[600];

    note[0] = '\0';
    if (check->is_openmpi && openmpi_is_restricted(parameters, sizeof(parameters))) {
        snprintf(note, sizeof(note), OPENMPI_RESTRICTED, parameters);
    } else if (check->is_openmpi) {
        openmpi_set(1, parameters, sizeof(parameters));
        if (parameters[0] != '\0') {
            snprintf(note, sizeof(note), "ucxri_run sets %s", parameters);
        }
    }
    if (ri_rank_is_first()) {
        run_env_tell_replaced();
    }
    return check_print(check, note[0] == '\0' ? NULL : note);
}

/* Set a variable to @a prefix and the name of a file, which is absolute, as programs change their
 * folder; or to stdout or stderr. */
static void set_output(const char *variable, const char *prefix, const char *name)
{
    char folder[PATH_MAX], value[2 * PATH_MAX];
    int is_file = strcmp(name, "stdout") && strcmp(name, "stderr") && (name[0] != '/') &&
                  (getcwd(folder, sizeof(folder)) != NULL);

    snprintf(value, sizeof(value), "%s%s%s%s", prefix, is_file ? folder : "",
             is_file ? "/" : "", name);
    set(variable, value);
}

/* --report, --report=json:FILE, or --report=DEST. */
static void set_report(const run_options_t *options)
{
    const size_t json = strlen(RI_CONFIG_REPORT_JSON);
    const char *dest  = options->report_dest;

    if ((dest != NULL) && !strncmp(dest, RI_CONFIG_REPORT_JSON, json)) {
        set_output("UCXRI_REPORT", RI_CONFIG_REPORT_JSON, dest + json);
        return;
    }
    if (options->report) {
        set("UCXRI_REPORT", "y");
    }
    if (dest != NULL) {
        set_output("UCXRI_REPORT_DEST", "", dest);
    }
}

static void set_outputs(const run_options_t *options)
{
    set_report(options);
    if (options->timeline != NULL) {
        set_output("UCXRI_TRACE", "", options->timeline);
    }
    if (options->trace) {
        set("UCXRI_TRACE", "y");
    }
    if (options->trace_dest != NULL) {
        set_output("UCXRI_TRACE_DEST", "", options->trace_dest);
    }
}

/* The messages before the start: once in a job, but of a host without the library. */
static void warn(const check_t *check, int lacks_windows)
{
    int is_loud = (check->fault == CHECK_NO_LIBRARY) ? ri_rank_is_first_of_host() :
                                                       ri_rank_is_first();

    if ((check->fault != CHECK_NO_FAULT) && is_loud) {
        wrap_printf(stderr, "ucxri_run: ", "%s: %s; %s", check->because,
                    check_can_preload(check) ? "the library is inert in it" :
                                               "the program runs without the library",
                    check->remedy);
    }
    if ((check->launcher[0] != '\0') && ri_rank_is_first()) {
        wrap_print(stderr, "ucxri_run: ", check->launcher);
    }
    if (lacks_windows && ri_rank_is_first()) {
        wrap_print(stderr, "ucxri_run: ", check->windows_line);
    }
}

/* Say that a program could not be started. @return The exit status. */
static int start_failed(const char *name, const char *program, int error)
{
    const char *why = strerror(error);
    int status      = (error == ENOENT) ? RUN_EXIT_NOT_FOUND : RUN_EXIT_CANNOT;

    if ((error == ENOENT) && (access(program, F_OK) == 0)) {
        if (strchr(program, '/') == NULL) {
            why = "it is not on the PATH: write ./ in front of a program of this folder";
        } else {
            why    = "the interpreter that it names is not there";
            status = RUN_EXIT_CANNOT;
        }
    }
    fprintf(stderr, "ucxri_run: cannot start %s: %s\n", name, why);
    return status;
}

int main(int argc, char **argv)
{
    char library[PATH_MAX], program[PATH_MAX], parameters[512];
    char libraries[2 * PATH_MAX + 1];
    run_options_t options;
    int lacks_windows;
    check_t check;

    parse(argc, argv, &options);
    find_library(&options, library);
    if (check_has_program(&check, options.command[0], program, sizeof(program))) {
        check_program(&check, options.is_off ? NULL : library, program);
    }
    run_env_add_windows(library, check.windows, libraries, sizeof(libraries));
    lacks_windows = check_note_windows(&check, libraries);
    if (options.is_check) {
        return run_check(&check);
    }

    if (check.fault != CHECK_NO_PROGRAM) {
        /* With --off as well: what is compared is the library, and not UCX with something else */
        if (check.is_openmpi && openmpi_is_restricted(parameters, sizeof(parameters))) {
            if (ri_rank_is_first() && !options.is_off) {
                wrap_printf(stderr, "ucxri_run: ", OPENMPI_RESTRICTED, parameters);
            }
        } else if (check.is_openmpi) {
            openmpi_set(0, parameters, sizeof(parameters));
        }
        if (!options.is_off) {
            warn(&check, lacks_windows);
        }
        if (options.is_off || !check_can_preload(&check)) {
            must(run_env_switch_off());
        } else {
            must(run_env_switch_on(libraries, ri_rank_is_first()));
            set_outputs(&options);
        }
    }

    if (check.fault == CHECK_ARCHITECTURE) {
        /* execvp() would take it for a script if this machine cannot run it */
        execv(program, options.command);
    } else {
        execvp(options.command[0], options.command);
    }
    return start_failed(options.command[0], program, errno);
}
