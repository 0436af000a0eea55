/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The first fault that is found is the one that counts. Faults of the library come first, then
 * those that keep any library out of the program, then the program's use of UCX.
 *
 * A line about a fault has three parts: what is wrong (because), what follows from it, which the
 * caller adds, and what to do (remedy).
 */
#include "ucxri_check.h"
#include "ucxri_check_libs.h"
#include "ucxri_check_openmpi.h"
#include "ucxri_check_windows.h"
#include "ucxri_wrap.h"
#include "ucp/core/settings/switch.h"
#include "ucs/rank.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Of Open MPI 4 and 5. */
#define CHECK_OPENMPI "libmpi.so.40"

/* A function that the library exports. */
#define CHECK_LIBRARY_HAS "ucxri_version_string"

#define CHECK_LIBRARY_AGAIN "install ucxri again, or name the library by --library=FILE"

#define CHECK_PRINT_FUNC __attribute__((format(printf, 3, 4)))

/* Programs that start or load others. Nothing can be said about those. */
static const char *const check_openers[] = {
        "bash",  "csh",        "dash",       "env",    "gdb",     "java",
        "julia", "ksh",        "lua",        "ltrace", "nice",    "node",
        "nohup", "numactl",    "perf",       "perl",   "R",       "Rscript",
        "ruby",  "setarch",    "sh",         "stdbuf", "strace",  "taskset",
        "tclsh", "tcsh",       "hwloc-bind", "time",   "timeout", "valgrind",
        "zsh",   "ucxri_info", "ucxri_run"};

CHECK_PRINT_FUNC static void check_because(check_t *check, check_fault_t fault,
                                           const char *format, ...)
{
    va_list args;

    check->fault = fault;
    va_start(args, format);
    vsnprintf(check->because, sizeof(check->because), format, args);
    va_end(args);
    check->remedy[0] = '\0';
}

__attribute__((format(printf, 2, 3))) static void check_remedy(check_t *check,
                                                               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(check->remedy, sizeof(check->remedy), format, args);
    va_end(args);
}

int check_can_preload(const check_t *check)
{
    switch (check->fault) {
    case CHECK_NO_LIBRARY:
    case CHECK_BAD_PATH:
    case CHECK_NOT_A_LIBRARY:
    case CHECK_ARCHITECTURE:
    case CHECK_STATIC:
    case CHECK_SETUID:
    case CHECK_NO_PROGRAM:
        return 0;
    default:
        return 1;
    }
}

/* Whether an entry of LD_PRELOAD is a file of this name, in any folder. */
static int check_is_named(const char *entry, size_t length, const char *name)
{
    size_t own = strlen(name);

    return (length >= own) && !strncmp(entry + length - own, name, own) &&
           ((length == own) || (entry[length - own - 1] == '/'));
}

int check_is_library(const char *entry, size_t length)
{
    return check_is_named(entry, length, CHECK_LIBRARY);
}

int check_is_ours(const char *entry, size_t length)
{
    return check_is_library(entry, length) ||
           check_is_named(entry, length, CHECK_WIN_MPICH) ||
           check_is_named(entry, length, CHECK_WIN_OPENMPI);
}

/* @return The first entry of a list, as LD_PRELOAD is one or NULL, that is a file of this name, and
 * its length; NULL: there is none. */
static const char *check_find_entry(const char *list, const char *name, size_t *length_p)
{
    size_t length;

    for (; (list != NULL) && (*list != '\0'); list += length + (list[length] != '\0')) {
        length = strcspn(list, ": ");
        if (check_is_named(list, length, name)) {
            *length_p = length;
            return list;
        }
    }
    return NULL;
}

/* @return Whether the library is a file that can be preloaded, into programs of its machine. */
static int check_library(check_t *check, const char *library, check_elf_t *elf)
{
    check_elf_kind_t kind = check_elf_read(library, elf);
    char host[64];

    if (kind == CHECK_ELF_NONE) {
        ri_rank_host(host, sizeof(host));
        check_because(check, CHECK_NO_LIBRARY, "%s cannot be read on %s (%s)", library,
                      host, strerror(errno));
        check_remedy(check, "install ucxri on all hosts, or name the library by "
                            "--library=FILE");
        return 0;
    }
    if (library[strcspn(library, ": \t\n")] != '\0') {
        check_because(check, CHECK_BAD_PATH,
                      "the path '%s' has a blank or a colon, which LD_PRELOAD does not "
                      "allow",
                      library);
        check_remedy(check, "install ucxri in another folder, or name a link to the "
                            "library by --library=FILE");
        return 0;
    }
    if ((kind == CHECK_ELF_SCRIPT) || (kind == CHECK_ELF_OTHER) ||
        ((kind == CHECK_ELF_FILE) && !elf->is_dynamic)) {
        check_because(check, CHECK_NOT_A_LIBRARY, "%s is not a shared library", library);
        check_remedy(check, CHECK_LIBRARY_AGAIN);
        return 0;
    }
    if ((kind == CHECK_ELF_FILE) && !check_elf_has_text(library, CHECK_LIBRARY_HAS)) {
        check_because(check, CHECK_NOT_A_LIBRARY, "%s is not that of ucxri", library);
        check_remedy(check, CHECK_LIBRARY_AGAIN);
        return 0;
    }
    return 1;
}

/* The loader ignores LD_PRELOAD if a program runs with more rights than who starts it. */
static int check_is_setuid(const char *program)
{
    char capability[64];
    struct stat st;

    if (stat(program, &st) != 0) {
        return 0;
    }
    return ((st.st_mode & S_ISUID) && (st.st_uid != getuid())) ||
           ((st.st_mode & S_ISGID) && (st.st_gid != getgid())) ||
           ((getuid() != 0) && (getxattr(program, "security.capability", capability,
                                         sizeof(capability)) > 0));
}

/* @return Whether a script names an interpreter that is not there. */
static int check_lacks_interpreter(const char *program)
{
    FILE *stream = fopen(program, "re");
    char line[PATH_MAX];
    char *path;
    int lacks = 0;

    if (stream == NULL) {
        return 0;
    }
    if ((fgets(line, sizeof(line), stream) != NULL) && !strncmp(line, "#!", 2)) {
        path                           = line + 2 + strspn(line + 2, " \t");
        path[strcspn(path, " \t\r\n")] = '\0';
        lacks                          = (access(path, X_OK) != 0);
    }
    fclose(stream);
    return lacks;
}

static int check_can_start_others(const char *program)
{
    const char *name = basename(program);
    size_t i;

    for (i = 0; i < sizeof(check_openers) / sizeof(check_openers[0]); ++i) {
        if (!strcmp(name, check_openers[i])) {
            return 1;
        }
    }
    return !strncmp(name, "python", strlen("python"));
}

/* Open MPI is there: is its component, and is it wanted? */
static void check_openmpi(check_t *check, const char *program, const check_lib_t *libmpi,
                          const check_lib_t *libucp, int is_by_user)
{
    char value[CHECK_TEXT_MAX / 4], where[CHECK_TEXT_MAX / 4], component[PATH_MAX];

    if (libucp != NULL) {
        snprintf(component, sizeof(component), "%s", libucp->path);
    } else if (!check_openmpi_find_component(libmpi->path, component,
                                             sizeof(component))) {
        check_because(check, CHECK_NO_COMPONENT,
                      "the Open MPI of %s (%s) has no component mca_pml_ucx.so", program,
                      libmpi->path);
        check_remedy(check, "install an Open MPI that was built with UCX");
        return;
    }
    if (check_openmpi_get("pml", is_by_user ? NULL : libmpi->path, value, where,
                          sizeof(value)) &&
        !check_openmpi_allows_ucx(value)) {
        check_because(check, CHECK_OTHER_PML,
                      "Open MPI was told not to use UCX (pml is %s, %s%s)", value,
                      (*where == '/') ? "by " : "by the variable ", where);
        check_remedy(check, "leave pml unset, or set OMPI_MCA_pml=ucx (mpirun --mca pml "
                            "ucx)");
        return;
    }
    check->is_openmpi = 1;
    check->windows    = CHECK_WIN_OPENMPI;
    check_because(check, CHECK_NO_FAULT, "the Open MPI of %s can use UCX (%s)", program,
                  component);
}

/* The program starts or loads others, which nothing is known of. If Open MPI has started it, they
 * are likely to use that one. */
static void check_unknown(check_t *check, const char *program, int is_by_user)
{
    char path[PATH_MAX];
    check_libs_t libs;
    check_t other;

    check_because(
            check, CHECK_NO_FAULT,
            "%s is preloaded, with what it starts or loads; the library acts in what "
            "of that uses UCX",
            program);
    if ((getenv("OMPI_COMM_WORLD_RANK") == NULL) ||
        !check_libs_locate(CHECK_OPENMPI, path, sizeof(path))) {
        return;
    }
    memset(&other, 0, sizeof(other));
    check_libs_find(&libs, path);
    if (check_libs_get(&libs, "libopen-pal") != NULL) {
        check_openmpi(&other, program, &libs.libs[0], check_libs_get(&libs, "libucp.so"),
                      is_by_user);
        check->is_openmpi = other.is_openmpi;
    }
    check_libs_free(&libs);
}

/* Names of functions of MPICH's module for shared memory, which stand in its messages. */
#define CHECK_MPICH_SHARED "MPIDI_POSIX_"

/* An MPICH that has such a module uses it between processes of a host, past UCX, unless it is told
 * not to. */
static void check_mpich(check_t *check, const char *path)
{
    const char *nolocal = getenv("MPIR_CVAR_NOLOCAL");

    if (((nolocal == NULL) || !strcmp(nolocal, "0")) &&
        check_elf_has_text(path, CHECK_MPICH_SHARED)) {
        snprintf(check->hint, sizeof(check->hint),
                 "the MPICH of %.512s has shared memory of its own: messages within a "
                 "host "
                 "do not come to UCX: set MPIR_CVAR_NOLOCAL=1",
                 path);
    }
}

/* @return Whether mpiexec of MPICH has started this process: by itself, as srun sets such variables
 * for any MPI. */
static int check_is_by_hydra(void)
{
    return ((getenv("PMI_FD") != NULL) || (getenv("PMI_PORT") != NULL)) &&
           (getenv("SLURM_PROCID") == NULL) && (getenv("PMIX_RANK") == NULL);
}

/* Processes that another MPI's launcher has started do not find each other: each is a job of its
 * own. An MPI that was built with PMIx can be started by Open MPI's. */
static void check_launcher(check_t *check, const char *program, const check_libs_t *libs)
{
    if (check->is_openmpi && check_is_by_hydra()) {
        snprintf(
                check->launcher, sizeof(check->launcher),
                "MPICH's launcher has started %.512s, whose MPI is Open MPI: each rank is a "
                "job of its own; use Open MPI's mpirun",
                program);
    } else if (!check->is_openmpi && (check_libs_get(libs, "libmpich") != NULL) &&
               (check_libs_get(libs, "libpmix") == NULL) &&
               (getenv("OMPI_COMM_WORLD_RANK") != NULL)) {
        snprintf(
                check->launcher, sizeof(check->launcher),
                "Open MPI's launcher has started %.512s, whose MPI is MPICH: each rank is a "
                "job of its own; use MPICH's mpiexec",
                program);
    }
}

static void check_ucx(check_t *check, const char *program, const check_libs_t *libs,
                      int is_by_user)
{
    const check_lib_t *libucp  = check_libs_get(libs, "libucp.so");
    const check_lib_t *openpal = check_libs_get(libs, "libopen-pal");
    const check_lib_t *libmpi  = check_libs_get(libs, "libmpi.so");
    const check_lib_t *mpich   = check_libs_get(libs, "libmpich");
    const check_lib_t *mpi     = (mpich != NULL) ? mpich : libmpi;

    if ((libucp != NULL) && (libucp->path == NULL)) {
        check_because(check, CHECK_NO_UCX, "%s needs %s, which is not found", program,
                      libucp->name);
        check_remedy(check, "set LD_LIBRARY_PATH, or install UCX");
    } else if ((openpal != NULL) && (libmpi != NULL) && (libmpi->path != NULL)) {
        check_openmpi(check, program, libmpi, libucp, is_by_user);
    } else if (libucp != NULL) {
        check_because(check, CHECK_NO_FAULT, "%s uses UCX (%s%s%s)", program,
                      (libucp->parent == 0) ? "" : libs->libs[libucp->parent].name,
                      (libucp->parent == 0) ? "" : ", ", libucp->path);
        if ((mpi == NULL) || (mpi->path != NULL)) {
            check_mpich(check, (mpi == NULL) ? program : mpi->path);
        }
        check->windows = (mpi == NULL) ? NULL : CHECK_WIN_MPICH;
    } else if (check_can_start_others(program)) {
        check_unknown(check, program, is_by_user);
    } else if (mpi != NULL) {
        check_because(check, CHECK_MPI_WITHOUT_UCX, "the MPI of %s (%s) does not use UCX",
                      program, (mpi->path == NULL) ? "not found" : mpi->path);
        check_remedy(check, "use an MPI that was built with UCX, as MPICH with "
                            "--with-device=ch4:ucx");
    } else {
        check_because(check, CHECK_NO_UCX, "%s has neither UCX nor an MPI", program);
        check_remedy(check, "start a program that has, or one that starts such programs");
    }
    check_launcher(check, program, libs);
}

/* With @a is_by_user only what the user has set for Open MPI counts. */
static void check_files(check_t *check, const char *library, const char *program,
                        int is_by_user)
{
    check_elf_t elf = {.kind = CHECK_ELF_NONE};
    const check_elf_t *own;
    check_libs_t libs;
    char machine[32]; /* check_elf_machine() has one text */

    memset(check, 0, sizeof(*check));
    if ((library != NULL) && !check_library(check, library, &elf)) {
        check_elf_free(&elf);
        return;
    }
    check_libs_find(&libs, program);
    own = &libs.libs[0].elf;
    if ((own->kind == CHECK_ELF_SCRIPT) && check_lacks_interpreter(program)) {
        check_because(check, CHECK_NO_PROGRAM,
                      "the interpreter that %s names is not there", program);
        check_remedy(check, "correct its first line");
    } else if ((own->kind != CHECK_ELF_FILE) && (own->kind != CHECK_ELF_FOREIGN)) {
        check_unknown(check, program, is_by_user);
    } else if ((library != NULL) &&
               ((own->machine != elf.machine) || (own->bits != elf.bits))) {
        snprintf(machine, sizeof(machine), "%s", check_elf_machine(&elf));
        check_because(check, CHECK_ARCHITECTURE, "%s is for %s, and %s for %s", library,
                      machine, program, check_elf_machine(own));
        check_remedy(check, "build ucxri for the machine of the program, and name it by "
                            "--library=FILE");
    } else if (check_is_setuid(program)) {
        check_because(check, CHECK_SETUID,
                      "%s runs with other rights (setuid, setgid or capabilities), so "
                      "that LD_PRELOAD is ignored",
                      program);
        check_remedy(check, "start a copy of it without these");
    } else if ((own->kind == CHECK_ELF_FILE) && !own->has_interpreter) {
        check_because(check, CHECK_STATIC,
                      "%s is linked statically, so that nothing can be preloaded",
                      program);
        check_remedy(check, "link it without -static");
    } else {
        check_ucx(check, program, &libs, is_by_user);
    }
    check_libs_free(&libs);
    check_elf_free(&elf);
}

int check_note_windows(check_t *check, const char *libraries)
{
    size_t length;

    return (check->fault == CHECK_NO_FAULT) && (check->windows != NULL) &&
           check_windows(check->windows, !check->is_openmpi,
                         check_find_entry(libraries, check->windows, &length) != NULL,
                         check->windows_line, sizeof(check->windows_line));
}

void check_program(check_t *check, const char *library, const char *program)
{
    check_files(check, library, program, 1);
}

/* @return The entry of LD_PRELOAD that is the library, in memory for free(), or NULL. */
static char *check_preload_entry(void)
{
    size_t length     = 0;
    const char *entry = check_find_entry(getenv("LD_PRELOAD"), CHECK_LIBRARY, &length);

    return (entry == NULL) ? NULL : strndup(entry, length);
}

static int check_look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
    return check_is_library(info->dlpi_name, strlen(info->dlpi_name));
}

/* Why the loader has not loaded a library that LD_PRELOAD names. */
static void check_not_loaded(check_t *check, const char *library)
{
    check_elf_t elf = {.kind = CHECK_ELF_NONE};

    /* a name without a folder is the loader's to find */
    if ((strchr(library, '/') != NULL) && !check_library(check, library, &elf)) {
        check_elf_free(&elf);
        return;
    }
    if (elf.kind == CHECK_ELF_FOREIGN) {
        check_because(check, CHECK_ARCHITECTURE,
                      "LD_PRELOAD has %s, which is for another machine (%s)", library,
                      check_elf_machine(&elf));
        check_remedy(check, "build ucxri for this one");
    } else {
        check_because(check, CHECK_NOT_LOADED,
                      "LD_PRELOAD has %s, which the loader has not loaded", library);
        check_remedy(check, "correct the path, or start the program by ucxri_run");
    }
    check_elf_free(&elf);
}

/* Open MPI gives UCX a prefix, whose variables win. */
static int check_switch(check_t *check, const char *name)
{
    const char *value = getenv(name);

    if (ri_switch_is_on(value)) {
        return 1;
    }
    if ((value == NULL) || (value[0] == '\0')) {
        check_because(check, CHECK_NO_SWITCH, "%s is %s", name,
                      (value == NULL) ? "not set" : "empty");
    } else {
        check_because(check, CHECK_NO_SWITCH, "%s is '%s'", name, value);
    }
    if (!strcmp(name, RI_SWITCH_VARIABLE)) {
        check_remedy(check, "set " RI_SWITCH_VARIABLE "=" RI_SWITCH_VALUE
                            ", or start the program by ucxri_run");
    } else {
        check_remedy(check, "unset it, or start the program by ucxri_run");
    }
    return 0;
}

/* @return Whether LD_PRELOAD and the switch are as they should be. */
static int check_variables(check_t *check, const char *library)
{
    const char *scheme = getenv(RI_SWITCH_VARIABLE);

    if (library == NULL) {
        check_because(check, CHECK_NOT_PRELOADED, "LD_PRELOAD has no " CHECK_LIBRARY);
        check_remedy(check, "start the program by ucxri_run");
    } else if (dl_iterate_phdr(check_look_at, NULL) == 0) {
        check_not_loaded(check, library);
    } else if (check_switch(check, RI_SWITCH_VARIABLE)) {
        check_because(check, CHECK_NO_FAULT,
                      "LD_PRELOAD has %s and " RI_SWITCH_VARIABLE " is '%s'", library,
                      scheme);
        return 1;
    }
    return 0;
}

void check_environment(check_t *check, const char *program)
{
    char *library = check_preload_entry();

    memset(check, 0, sizeof(*check));
    if (!check_variables(check, library)) {
        free(library);
        return;
    }
    if (program != NULL) {
        /* a name without a folder is the loader's to find, and it has */
        check_files(check, (strchr(library, '/') == NULL) ? NULL : library, program, 0);
        if ((check->fault == CHECK_NO_FAULT) && check->is_openmpi &&
            (getenv(RI_SWITCH_PREFIXED) != NULL)) {
            check_switch(check, RI_SWITCH_PREFIXED);
        }
    }
    if ((check->fault == CHECK_NO_FAULT) && (check->hint[0] == '\0') &&
        (ri_switch_read(getenv(RI_SWITCH_VARIABLE)) == RI_SWITCH_MEANT)) {
        snprintf(check->hint, sizeof(check->hint),
                 RI_SWITCH_VARIABLE "='%.64s' " RI_SWITCH_IS_MEANT,
                 getenv(RI_SWITCH_VARIABLE));
    }
    check_note_windows(check, getenv("LD_PRELOAD"));
    free(library);
}

int check_find_program(const char *name, char *path, size_t max)
{
    const char *list = getenv("PATH");
    char standard[256];
    struct stat st;
    int length;

    snprintf(path, max, "%s", name);
    if (strchr(name, '/') != NULL) {
        return (stat(name, &st) == 0) && S_ISREG(st.st_mode) && (access(name, X_OK) == 0);
    }
    if (list == NULL) {
        confstr(_CS_PATH, standard, sizeof(standard));
        list = standard;
    }
    for (;; list += length + 1) {
        length = strcspn(list, ":");
        snprintf(path, max, "%.*s%s%s", length, list, (length == 0) ? "./" : "/", name);
        if ((stat(path, &st) == 0) && S_ISREG(st.st_mode) && (access(path, X_OK) == 0)) {
            return 1;
        }
        if (list[length] == '\0') {
            snprintf(path, max, "%s", name);
            return 0;
        }
    }
}

int check_has_program(check_t *check, const char *name, char *path, size_t max)
{
    if (check_find_program(name, path, max)) {
        return 1;
    }
    memset(check, 0, sizeof(*check));
    if ((strchr(name, '/') != NULL) && (access(name, F_OK) == 0)) {
        check_because(check, CHECK_NO_PROGRAM, "%s is no file that can be executed",
                      name);
        check_remedy(check,
                     "name a program, or for a script its interpreter in front of it");
    } else if (access(name, F_OK) == 0) {
        check_because(check, CHECK_NO_PROGRAM, "%s is not on the PATH", name);
        check_remedy(check, "write ./%s", name);
    } else {
        check_because(check, CHECK_NO_PROGRAM, "there is no program %s", name);
        check_remedy(check, "give its path");
    }
    return 0;
}

int check_print(const check_t *check, const char *note)
{
    const char *rank = ri_rank_text();
    char label[96]   = "";
    char host[64];

    /* lines of other processes may come in between if this is not one piece */
    setvbuf(stdout, NULL, _IOFBF, 8 * CHECK_TEXT_MAX);
    if (rank != NULL) {
        ri_rank_host(host, sizeof(host));
        snprintf(label, sizeof(label), "rank %s on %s: ", rank, host);
    }
    wrap_printf(stdout, label, "active: %s, because %s%s%s",
                (check->fault == CHECK_NO_FAULT) ? "yes" : "no", check->because,
                (check->remedy[0] == '\0') ? "" : ": ", check->remedy);
    if (check->windows_line[0] != '\0') {
        wrap_print(stdout, label, check->windows_line);
    }
    if (check->launcher[0] != '\0') {
        wrap_print(stdout, label, check->launcher);
    }
    if (check->hint[0] != '\0') {
        wrap_print(stdout, label, check->hint);
    }
    if (note != NULL) {
        wrap_print(stdout, label, note);
    }
    fflush(stdout);
    return (check->fault == CHECK_NO_FAULT) ? EXIT_SUCCESS : EXIT_FAILURE;
}
