/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks meet in a file of shared memory, whose name is made of the host, the user and the job. Who
 * begins writes his rank behind the others'. Who has ended MPI_Init() first removes the name: nobody
 * comes any more then, and all who are in the file read the same. One who is late makes a file of his
 * own, in which he is alone. So the result does not depend on who waits for whom in MPI_Init(): those
 * of one file see each other, and nobody else.
 *
 * What the name is made of must be the same for all ranks of a job, and for them only. The launcher
 * gives it to them: PMIx has a name for the job, and one for its server; with the simpler PMI it is the
 * process at the other end of a connection; Slurm has numbers. If two jobs have the same name all the
 * same, a rank is twice in the file, and it counts for none.
 *
 * Rejected: a socket for each rank, which the others connect to. Its name can be taken by any user, and
 * what a rank sees depends on when it looks. A lock of each rank in a file: a program that closes all
 * its files gives it back.
 */
#include "present.h"
#include "../ucs/log.h"
#include "../uct/shm/host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRESENT_FOLDER "/dev/shm"

/* No job has as many ranks on a host; a file that is longer was not written by this library. */
#define PRESENT_MAX 65536

static struct {
    pthread_mutex_t lock;
    int has_begun, has_ended;
    int rank; /* as the launcher says */
    int fd;   /* the file, until MPI_Init() has ended; -1: there is none */
    char path[96];
    char job[512];
    const char *why;  /* this rank is not present; NULL: it is */
    int ranks;        /* of MPI_COMM_WORLD */
    uint8_t *is_here; /* of each rank of MPI_COMM_WORLD: it is present */
} present = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .fd   = -1,
             .why  = "MPI_Init() was not called by way of this library"};

/* A variable that is a number. @return -1 if it is not there, or no number. */
static int present_number(const char *name)
{
    const char *value = getenv(name);
    char *end;
    long number;

    if (value == NULL) {
        return -1;
    }
    number = strtol(value, &end, 10);
    return ((end == value) || (*end != '\0') || (number < 0) || (number > INT32_MAX)) ?
                   -1 :
                   (int)number;
}

/* @return Whether PMI says which job this is, and which rank of it. */
static int present_is_pmi(void)
{
    struct ucred peer = {};
    socklen_t length  = sizeof(peer);
    int fd            = present_number("PMI_FD");

    present.rank = present_number("PMI_RANK");
    if ((present.rank < 0) || (fd < 0) ||
        (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) ||
        (peer.pid <= 0)) {
        return 0;
    }
    snprintf(present.job, sizeof(present.job), "pmi %d %llu", (int)peer.pid,
             (unsigned long long)ri_host_process_start((uint32_t)peer.pid));
    return 1;
}

/* The server of PMIx on this host: names of jobs are made of few bits, and may repeat. */
static const char *present_pmix_server(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                                        "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                        "PMIX_SERVER_URI2"};
    const char *value                = NULL;
    size_t i;

    for (i = 0; (i < sizeof(names) / sizeof(names[0])) && (value == NULL); ++i) {
        value = getenv(names[i]);
    }
    return (value == NULL) ? "" : value;
}

/* As present_is_pmi(), by PMIx. */
static int present_is_pmix(void)
{
    const char *name = getenv("PMIX_NAMESPACE");

    present.rank = present_number("PMIX_RANK");
    if ((name == NULL) || (present.rank < 0)) {
        return 0;
    }
    snprintf(present.job, sizeof(present.job), "pmix %s %s", name, present_pmix_server());
    return 1;
}

/* As present_is_pmi(), by Slurm's own numbers. */
static int present_is_slurm(void)
{
    int job  = present_number("SLURM_JOB_ID");
    int step = present_number("SLURM_STEP_ID");

    present.rank = present_number("SLURM_PROCID");
    if ((present.rank < 0) || (job < 0) || (step < 0)) {
        return 0;
    }
    snprintf(present.job, sizeof(present.job), "slurm %d.%d", job, step);
    return 1;
}

/* A job may run within another one, whose launcher has left its variables. */
static int present_has_job(void)
{
#ifdef OPEN_MPI
    return present_is_pmix() || present_is_pmi() || present_is_slurm();
#else
    return present_is_pmi() || present_is_pmix() || present_is_slurm();
#endif
}

/* @return Whether the file has a name. */
static int present_set_path(void)
{
    uint64_t hash = 0xcbf29ce484222325ul;
    uint64_t host = ri_host_id();
    const char *c;

    for (c = present.job; *c != '\0'; ++c) {
        hash = (hash ^ (uint8_t)*c) * 0x100000001b3ul;
    }
    snprintf(present.path, sizeof(present.path),
             PRESENT_FOLDER "/ucxri-win.%u.%016llx.%016llx", (unsigned)geteuid(),
             (unsigned long long)host, (unsigned long long)hash);
    return host != 0;
}

static void present_unlock_file(void)
{
    flock(present.fd, LOCK_UN);
}

/* With the lock of the file nobody else reads or changes it, or its name. */
static int present_lock_file(void)
{
    int ret;

    do {
        ret = flock(present.fd, LOCK_EX);
    } while ((ret != 0) && (errno == EINTR));
    return ret == 0;
}

static void present_close(void)
{
    close(present.fd);
    present.fd = -1;
}

/* Open the file of the job, and lock it. @return 0: there is none to be had. */
static int present_open(void)
{
    struct stat st;

    for (;;) {
        present.fd = open(present.path,
                          O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                          S_IRUSR | S_IWUSR);
        if (present.fd < 0) {
            return 0;
        }
        if (!present_lock_file() || (fstat(present.fd, &st) != 0) ||
            !S_ISREG(st.st_mode) || (st.st_uid != geteuid())) {
            present_close();
            return 0;
        }
        if (st.st_nlink > 0) {
            return 1;
        }
        present_close(); /* it has lost its name meanwhile */
    }
}

/* @return Why this rank is not in the file, or NULL. */
static const char *present_enter(void)
{
    uint32_t rank = (uint32_t)present.rank;
    int has_written;

    if (!present_has_job()) {
        return "the launcher gives no name to the job";
    }
    rank = (uint32_t)present.rank;
    if (!present_set_path()) {
        return "/proc cannot be read";
    }
    if (!present_open()) {
        return "the ranks cannot meet in " PRESENT_FOLDER;
    }
    has_written = write(present.fd, &rank, sizeof(rank)) == sizeof(rank);
    present_unlock_file();
    if (!has_written) {
        present_close();
        return "the ranks cannot meet in " PRESENT_FOLDER;
    }
    return NULL;
}

void ri_present_begin(void)
{
    pthread_mutex_lock(&present.lock);
    if (!present.has_begun) {
        present.has_begun = 1;
        present.why       = present_enter();
    }
    pthread_mutex_unlock(&present.lock);
}

/* With the lock of the file, which has @a count ranks. @return Why they are of no use, or NULL. */
static const char *present_read(const uint32_t *here, size_t count)
{
    size_t i;

    for (i = 0; i < count; ++i) {
        if ((here[i] >= (uint32_t)present.ranks) || present.is_here[here[i]]) {
            return "two jobs have the same name";
        }
        present.is_here[here[i]] = 1;
    }
    return NULL;
}

/* The others count on this rank, and would wait for it. */
static void __attribute__((noreturn)) present_abort(void)
{
    ri_error("no memory to see which ranks have the library for windows");
    PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* @return Why this rank is not present, or NULL. */
static const char *present_see(void)
{
    uint32_t *here;
    int rank = -1;
    const char *why;
    struct stat st;
    size_t size;

    if ((PMPI_Comm_size(MPI_COMM_WORLD, &present.ranks) != MPI_SUCCESS) ||
        (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) ||
        (rank != present.rank)) {
        return "the launcher gives this rank another number";
    }
    present.is_here = calloc((size_t)present.ranks, sizeof(*present.is_here));
    if ((fstat(present.fd, &st) != 0) ||
        (st.st_size > (off_t)(PRESENT_MAX * sizeof(*here)))) {
        return "the ranks cannot meet in " PRESENT_FOLDER;
    }
    size = (size_t)st.st_size;
    here = malloc(size + 1);
    if ((present.is_here == NULL) || (here == NULL) ||
        (pread(present.fd, here, size, 0) != (ssize_t)size)) {
        present_abort(); /* the others count on this rank */
    }
    why = present_read(here, size / sizeof(*here));
    free(here);
    return why;
}

void ri_present_end(int is_init)
{
    pthread_mutex_lock(&present.lock);
    if (!present.has_ended && (present.fd >= 0)) {
        present.why = "the ranks cannot meet in " PRESENT_FOLDER;
        if (present_lock_file()) {
            unlink(present.path);
            present.why = is_init ? present_see() : "MPI_Init() has failed";
            present_unlock_file();
        }
        present_close();
    }
    present.has_ended = 1;
    pthread_mutex_unlock(&present.lock);
}

/* The ranks of MPI_COMM_WORLD that those of a communicator are. */
static int present_world_ranks(MPI_Comm comm, int ranks, int *of_world, int *of_comm)
{
    MPI_Group group, world;
    int i, is_ok;

    for (i = 0; i < ranks; ++i) {
        of_comm[i] = i;
    }
    if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) {
        return 0;
    }
    is_ok = PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS;
    if (is_ok) {
        is_ok = PMPI_Group_translate_ranks(group, ranks, of_comm, world, of_world) ==
                MPI_SUCCESS;
        PMPI_Group_free(&world);
    }
    PMPI_Group_free(&group);
    return is_ok;
}

const char *ri_present_objection(MPI_Comm comm, int ranks, int *speaker_p)
{
    const char *objection = present.why; /* nothing changes after MPI_Init() */
    int *of_world;
    int i;

    *speaker_p = 0;
    if (ranks == 1) {
        return NULL; /* nobody else is asked */
    }
    if (objection != NULL) {
        return objection;
    }
    of_world = malloc((size_t)ranks * 2 * sizeof(*of_world));
    if ((of_world == NULL) ||
        !present_world_ranks(comm, ranks, of_world, of_world + ranks)) {
        present_abort();
    }
    for (i = ranks - 1; i >= 0; --i) {
        if ((of_world[i] < 0) || (of_world[i] >= present.ranks)) {
            objection = "its ranks are not all of one MPI_COMM_WORLD";
        } else if (present.is_here[of_world[i]]) {
            *speaker_p = i;
        } else {
            objection = "a rank is on another host, or has no library for windows";
        }
    }
    free(of_world);
    return objection;
}
