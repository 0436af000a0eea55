/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI stands behind this library in the order of the loader. Only if a program has loaded it by
 * dlopen() it is not there, and is looked for among all libraries of the process.
 */
#include "real_mpi.h"
#include "../ucs/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A symbol that only the other MPI has, whose handles are of another type. */
#ifdef OPEN_MPI
#define REAL_NAME       "Open MPI"
#define REAL_OTHER      "MPICH"
#define REAL_OTHER_SIGN "MPIR_Err_return_comm"
#else
#define REAL_NAME       "MPICH"
#define REAL_OTHER      "Open MPI"
#define REAL_OTHER_SIGN "ompi_mpi_comm_world"
#endif

/* How the name of a library with handles of the standard begins. */
#define REAL_ABI "libmpi_abi."

static ri_real_t real_functions;
static pthread_once_t real_once = PTHREAD_ONCE_INIT;

/* The first loaded library that has the name of an MPI. */
static int real_find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (strncmp(basename(info->dlpi_name), "libmpi", strlen("libmpi")) != 0) {
        return 0;
    }
    snprintf(arg, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

static void real_look(void)
{
    char path[PATH_MAX];

    if ((dlsym(RTLD_NEXT, "PMPI_Comm_dup") == NULL) &&
        dl_iterate_phdr(real_find_library, path)) {
        /* Now its symbols are found as if the program had been linked with it */
        dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    }
#define REAL_SET(_name) real_functions._name = dlsym(RTLD_NEXT, "PMPI_" #_name);
    RI_REAL_COMMON(REAL_SET)
    RI_REAL_LARGE(REAL_SET)
}

/* Before the program calls anything with handles of another type. */
static void __attribute__((constructor)) real_check(void)
{
    void *other = dlsym(RTLD_DEFAULT, "PMPI_Comm_dup");
    Dl_info info;

    if ((other != NULL) && dladdr(other, &info) && (info.dli_fname != NULL) &&
        !strncmp(basename(info.dli_fname), REAL_ABI, strlen(REAL_ABI))) {
        ri_error(
                "the library for windows is preloaded, and the program uses the standard "
                "ABI of MPI 5, for which there is none");
        _exit(1);
    }
    if (dlsym(RTLD_DEFAULT, REAL_OTHER_SIGN) != NULL) {
        ri_error("the library for windows of %s is preloaded, and the program uses %s; "
                 "ucxri_run chooses the right one",
                 REAL_NAME, REAL_OTHER);
        _exit(1);
    }
}

const ri_real_t *ri_real(void)
{
    pthread_once(&real_once, real_look);
    return &real_functions;
}
