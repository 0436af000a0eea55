/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First which MPI there is, then a wrapper of each function, which is of one type in MPICH and of
 * another one in Open MPI.
 */
#include "mpi_abi.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than either MPI writes. */
#define MPI_VERSION_BYTES 8192

/* Types of functions: with a handle that is a number, or a pointer. */
typedef int (*envelope_int_t)(int, int *, int *, int *, int *);
typedef int (*envelope_large_t)(int, int64_t *, int64_t *, int64_t *, int64_t *, int *);
typedef int (*envelope_ptr_t)(void *, int *, int *, int *, int *);
typedef int (*contents_int_t)(int, int, int, int, int *, intptr_t *, int *);
typedef int (*contents_large_t)(int, int64_t, int64_t, int64_t, int64_t, int *,
                                intptr_t *, int64_t *, int *);
typedef int (*contents_ptr_t)(void *, int, int, int, int *, intptr_t *, void **);
typedef int (*size_int_t)(int, long long *);
typedef int (*size_ptr_t)(void *, long long *);
typedef int (*extent_int_t)(int, intptr_t *, intptr_t *);
typedef int (*extent_ptr_t)(void *, intptr_t *, intptr_t *);
typedef int (*free_int_t)(int *);
typedef int (*free_ptr_t)(void **);
typedef int (*args_t)(const void *, int32_t, int32_t *, int32_t *, int32_t *, ptrdiff_t *,
                      int32_t *, void **, int32_t *);
typedef int (*version_t)(char *, int *);

typedef struct mpi_functions {
    ri_mpi_kind_t kind;
    unsigned version; /* of MPICH, as 402 for 4.2 */
    void *envelope;
    /* MPICH from MPI 4 on: also of types that are made with counts */
    void *envelope_large;
    void *contents_large;
    void *contents;
    void *size;
    void *extent;
    void *true_extent;
    void *free;
    void *args; /* Open MPI: says without an error handler whether there is an envelope */
} mpi_functions_t;

static mpi_functions_t mpi;
static _Atomic(int) mpi_found;
static pthread_mutex_t mpi_lock = PTHREAD_MUTEX_INITIALIZER;

static const ri_mpi_abi_t mpi_mpich = {.first_combiner     = 1,
                                       .order_c            = 56,
                                       .order_fortran      = 57,
                                       .distribute_block   = 121,
                                       .distribute_cyclic  = 122,
                                       .distribute_none    = 123,
                                       .distribute_default = -49767};

static const ri_mpi_abi_t mpi_open_mpi = {.first_combiner     = 0,
                                          .order_c            = 0,
                                          .order_fortran      = 1,
                                          .distribute_block   = 0,
                                          .distribute_cyclic  = 1,
                                          .distribute_none    = 2,
                                          .distribute_default = -1};

/* Whether a function is in a library whose file name begins with one of @a prefixes. */
static int mpi_is_in(const void *address, const char *const *prefixes)
{
    const char *name;
    Dl_info info;

    if (!dladdr(address, &info) || (info.dli_fname == NULL)) {
        return 0;
    }
    name = basename(info.dli_fname);
    for (; *prefixes != NULL; ++prefixes) {
        if (!strncmp(name, *prefixes, strlen(*prefixes))) {
            return 1;
        }
    }
    return 0;
}

int ri_mpi_is_open_mpi(const void *address)
{
    static const char *const prefixes[] = {"mca_pml_ucx.", "libmpi.", NULL};

    return mpi_is_in(address, prefixes);
}

/* Which MPI says this of itself. Others have the numbers of one of the two, or none. */
static ri_mpi_kind_t mpi_kind_of(const char *version)
{
    if (!strncmp(version, "MPICH Version", 13)) {
        return RI_MPI_MPICH;
    }
    /* ompi_datatype_get_args() has another form in newer ones. */
    if (!strncmp(version, "Open MPI v4.", 12) || !strncmp(version, "Open MPI v5.0", 13)) {
        return RI_MPI_OPEN_MPI;
    }
    return RI_MPI_NONE;
}

/* 0: it is another MPI. */
static unsigned mpi_mpich_version_of(const char *text)
{
    unsigned major, minor;

    return (sscanf(text, "MPICH Version: %u.%u", &major, &minor) == 2) ?
                   major * 100 + minor :
                   0;
}

/* Look the functions up. All have to be there. @return Which MPI they are of. */
static ri_mpi_kind_t mpi_look_up(version_t get_version)
{
    /* Handles of the standard's ABI are pointers also in MPICH. */
    static const char *const others[] = {"libmpi_abi.", NULL};
    char *version                     = calloc(1, MPI_VERSION_BYTES);
    ri_mpi_kind_t kind                = RI_MPI_NONE;
    int length;

    if ((version != NULL) && (get_version(version, &length) == 0)) {
        version[MPI_VERSION_BYTES - 1] = '\0';
        kind                           = mpi_kind_of(version);
        mpi.version                    = mpi_mpich_version_of(version);
    }
    free(version);

    mpi.envelope       = dlsym(RTLD_DEFAULT, "PMPI_Type_get_envelope");
    mpi.envelope_large = dlsym(RTLD_DEFAULT, "PMPI_Type_get_envelope_c");
    mpi.contents_large = dlsym(RTLD_DEFAULT, "PMPI_Type_get_contents_c");
    mpi.contents       = dlsym(RTLD_DEFAULT, "PMPI_Type_get_contents");
    mpi.size           = dlsym(RTLD_DEFAULT, "PMPI_Type_size_x");
    mpi.extent         = dlsym(RTLD_DEFAULT, "PMPI_Type_get_extent");
    mpi.true_extent    = dlsym(RTLD_DEFAULT, "PMPI_Type_get_true_extent");
    mpi.free           = dlsym(RTLD_DEFAULT, "PMPI_Type_free");
    mpi.args           = dlsym(RTLD_DEFAULT, "ompi_datatype_get_args");
    if ((mpi.envelope == NULL) || (mpi.contents == NULL) || (mpi.size == NULL) ||
        (mpi.extent == NULL) || (mpi.true_extent == NULL) || (mpi.free == NULL) ||
        ((kind == RI_MPI_OPEN_MPI) && (mpi.args == NULL)) ||
        mpi_is_in(mpi.envelope, others)) {
        return RI_MPI_NONE;
    }
    return kind;
}

ri_mpi_kind_t ri_mpi_kind(void)
{
    version_t get_version;

    if (atomic_load_explicit(&mpi_found, memory_order_acquire)) {
        return mpi.kind;
    }
    get_version = (version_t)dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
    if (get_version == NULL) {
        return RI_MPI_NONE; /* until one is loaded */
    }
    pthread_mutex_lock(&mpi_lock);
    if (!atomic_load_explicit(&mpi_found, memory_order_relaxed)) {
        mpi.kind = mpi_look_up(get_version);
        atomic_store_explicit(&mpi_found, 1, memory_order_release);
    }
    pthread_mutex_unlock(&mpi_lock);
    return mpi.kind;
}

unsigned ri_mpi_mpich_version(void)
{
    return (ri_mpi_kind() == RI_MPI_MPICH) ? mpi.version : 0;
}

const ri_mpi_abi_t *ri_mpi_abi(void)
{
    switch (ri_mpi_kind()) {
    case RI_MPI_MPICH:
        return &mpi_mpich;
    case RI_MPI_OPEN_MPI:
        return &mpi_open_mpi;
    default:
        return NULL;
    }
}

/* Types that Open MPI has made for itself, as in collectives, have no envelope, and its function
 * calls the error handler for them. */
static int mpi_has_envelope(uintptr_t type)
{
    int32_t ints, addresses, types, combiner;

    return ((args_t)mpi.args)((void *)type, 0, &ints, NULL, &addresses, NULL, &types,
                              NULL, &combiner) == 0;
}

/* How many counts of a type are addresses where there are no counts: the last ones. */
static int64_t mpi_addresses_among(int combiner, int64_t counts)
{
    switch (combiner) {
    case RI_MPI_HVECTOR:
        return 1;
    case RI_MPI_HINDEXED:
    case RI_MPI_STRUCT:
        return (counts - 1) / 2;
    case RI_MPI_HINDEXED_BLOCK:
        return counts - 2;
    case RI_MPI_RESIZED:
        return counts;
    default:
        return 0;
    }
}

/* How many integers come before what are counts. */
static int64_t mpi_ints_before(int combiner)
{
    switch (combiner) {
    case RI_MPI_SUBARRAY:
        return 1;
    case RI_MPI_DARRAY:
        return 3;
    default:
        return 0;
    }
}

/* Ask how a type of MPICH was made, by the function that tells of all types: asked in integers for
 * one that was made with counts, MPICH ends the process. */
static int mpi_envelope_large(uintptr_t type, ri_mpi_envelope_t *envelope)
{
    int64_t counts = 0;
    int ret;

    ret = ((envelope_large_t)mpi.envelope_large)(
            (int)type, &envelope->num_ints, &envelope->num_addresses, &counts,
            &envelope->num_types, &envelope->combiner);
    if (ret != 0) {
        return ret;
    }
    envelope->num_counts = counts;
    envelope->combiner -= ri_mpi_abi()->first_combiner;
    if ((counts > 0) && (mpi.contents_large == NULL)) {
        return -1;
    }
    if (counts > 0) {
        envelope->num_addresses = mpi_addresses_among(envelope->combiner, counts);
        envelope->num_ints += counts - envelope->num_addresses;
    }
    return ret;
}

static int mpi_envelope_small(uintptr_t type, ri_mpi_envelope_t *envelope)
{
    int ints = 0, addresses = 0, types = 0;
    int ret;

    if (mpi.kind == RI_MPI_MPICH) {
        ret = ((envelope_int_t)mpi.envelope)((int)type, &ints, &addresses, &types,
                                             &envelope->combiner);
    } else if (mpi_has_envelope(type)) {
        ret = ((envelope_ptr_t)mpi.envelope)((void *)type, &ints, &addresses, &types,
                                             &envelope->combiner);
    } else {
        return -1;
    }
    if (ret != 0) {
        return ret;
    }
    envelope->num_ints      = ints;
    envelope->num_addresses = addresses;
    envelope->num_types     = types;
    envelope->num_counts    = 0;
    envelope->combiner -= ri_mpi_abi()->first_combiner;
    return ret;
}

int ri_mpi_envelope(uintptr_t type, ri_mpi_envelope_t *envelope)
{
    int is_large = (mpi.kind == RI_MPI_MPICH) && (mpi.envelope_large != NULL);
    int ret      = is_large ? mpi_envelope_large(type, envelope) :
                              mpi_envelope_small(type, envelope);

    return (ret == 0) && (envelope->num_ints >= 0) && (envelope->num_addresses >= 0) &&
           (envelope->num_types >= 0) && (envelope->num_counts >= 0);
}

/* The first @a num of the entries are integers, which are half as wide: the last one is widened
 * first. @a is_signed: they may be negative. */
static void mpi_widen(int64_t *entries, int64_t num, int is_signed)
{
    int value;

    while (num-- > 0) {
        memcpy(&value, (int *)entries + num, sizeof(value));
        entries[num] = is_signed ? value : (int64_t)(unsigned)value;
    }
}

/* The arguments of a type that was made with counts. */
static int mpi_contents_counts(uintptr_t type, const ri_mpi_envelope_t *envelope,
                               int64_t *ints, intptr_t *addresses, int *types)
{
    int64_t num_counts = envelope->num_counts;
    int64_t kept    = num_counts - envelope->num_addresses; /* which are no addresses */
    int64_t num_few = envelope->num_ints - kept;
    int64_t before  = ri_min(mpi_ints_before(envelope->combiner), num_few);
    int *few        = calloc(num_few + 1, sizeof(*few));
    int64_t *counts = calloc(num_counts, sizeof(*counts));
    int is_told;
    int64_t i;

    is_told = (few != NULL) && (counts != NULL) &&
              (((contents_large_t)mpi.contents_large)((int)type, num_few, 0, num_counts,
                                                      envelope->num_types, few, addresses,
                                                      counts, types) == 0);
    for (i = 0; is_told && (i < num_few); ++i) {
        ints[(i < before) ? i : kept + i] = few[i];
    }
    for (i = 0; is_told && (i < num_counts); ++i) {
        if (i < kept) {
            ints[before + i] = counts[i];
        } else {
            addresses[i - kept] = counts[i];
        }
    }
    free(few);
    free(counts);
    return is_told;
}

int ri_mpi_contents(uintptr_t type, const ri_mpi_envelope_t *envelope, int64_t *ints,
                    intptr_t *addresses, uintptr_t *types)
{
    int num_ints  = (int)envelope->num_ints;
    int num_addr  = (int)envelope->num_addresses;
    int num_types = (int)envelope->num_types;
    int is_told;

    if (mpi.kind == RI_MPI_OPEN_MPI) {
        is_told = ((contents_ptr_t)mpi.contents)((void *)type, num_ints, num_addr,
                                                 num_types, (int *)ints, addresses,
                                                 (void **)types) == 0;
    } else {
        is_told = (envelope->num_counts > 0) ?
                          mpi_contents_counts(type, envelope, ints, addresses,
                                              (int *)types) :
                          (((contents_int_t)mpi.contents)((int)type, num_ints, num_addr,
                                                          num_types, (int *)ints,
                                                          addresses, (int *)types) == 0);
        mpi_widen((int64_t *)types, is_told ? num_types : 0, 0);
    }
    if (envelope->num_counts == 0) {
        mpi_widen(ints, is_told ? num_ints : 0, 1);
    }
    return is_told;
}

void ri_mpi_type_free(uintptr_t type)
{
    if (mpi.kind == RI_MPI_MPICH) {
        int handle = (int)type;

        ((free_int_t)mpi.free)(&handle);
    } else {
        void *handle = (void *)type;

        ((free_ptr_t)mpi.free)(&handle);
    }
}

int64_t ri_mpi_size(uintptr_t type)
{
    long long size = -1;
    int ret;

    if (mpi.kind == RI_MPI_MPICH) {
        ret = ((size_int_t)mpi.size)((int)type, &size);
    } else {
        ret = ((size_ptr_t)mpi.size)((void *)type, &size);
    }
    return (ret == 0) ? size : -1;
}

int ri_mpi_extent(uintptr_t type, int is_true, intptr_t *lb, intptr_t *extent)
{
    void *func = is_true ? mpi.true_extent : mpi.extent;

    if (mpi.kind == RI_MPI_MPICH) {
        return ((extent_int_t)func)((int)type, lb, extent) == 0;
    }
    return ((extent_ptr_t)func)((void *)type, lb, extent) == 0;
}
