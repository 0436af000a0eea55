/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that is present listens at a socket, whose name is made of the job and of the rank. It never
 * answers: that the kernel lets others connect is all they want to know. Such a name is in no file
 * system, and goes away with the process, however that ends.
 *
 * What is compared must be the same for all ranks of a job, and for them only. What the launcher
 * gives to the processes is: PMIx has a name for the job; with the simpler PMI the process at the
 * other end of a connection belongs to one job; Slurm has numbers.
 *
 * "Can see each other" is the same from both sides, and goes on from one pair to the next. So
 * either all ranks see all others, or none does, or there are some that see some others; and each
 * rank that is present knows which.
 */
#include "present.h"
#include "../ucs/log.h"
#include "../uct/shm/host.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Each rank connects to each other one once, and nobody accepts. */
#define PRESENT_BACKLOG 4096

/* What is known of a rank of MPI_COMM_WORLD. */
typedef enum present_look {
    PRESENT_UNKNOWN,
    PRESENT_YES,
    PRESENT_NO
} present_look_t;

static struct {
    pthread_mutex_t lock;
    char job[256];         /* empty: the launcher has not said which it is */
    uint64_t host;         /* ri_host_id() */
    int socket;            /* -1: this rank is not present */
    int rank;              /* as the launcher says */
    int ranks;             /* of MPI_COMM_WORLD; 0: not looked at yet */
    present_look_t *looks; /* of each rank; NULL: there is none to keep */
} present = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};

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

/* The same for PMIx. */
static int present_is_pmix(void)
{
    const char *name = getenv("PMIX_NAMESPACE");

    present.rank = present_number("PMIX_RANK");
    if ((name == NULL) || (present.rank < 0)) {
        return 0;
    }
    snprintf(present.job, sizeof(present.job), "pmix %s", name);
    return 1;
}

/* The same for Slurm's own numbers. */
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

/* The name of a rank's socket. @return Its length. */
static socklen_t present_name(int rank, struct sockaddr_un *name)
{
    uint64_t hash = 0xcbf29ce484222325ul;
    const char *c;
    int length;

    /* The name of a job may be longer than that of a socket */
    for (c = present.job; *c != '\0'; ++c) {
        hash = (hash ^ (uint8_t)*c) * 0x100000001b3ul;
    }
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    length           = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
                                "ucxri-win.%llx.%llx.%d", (unsigned long long)present.host,
                                (unsigned long long)hash, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int present_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void ri_present_begin(void)
{
    struct sockaddr_un name;
    socklen_t length;

    pthread_mutex_lock(&present.lock);
    if ((present.job[0] == '\0') && present_has_job()) {
        present.host = ri_host_id();
        length       = present_name(present.rank, &name);
        if (present.host != 0) {
            present.socket = present_socket();
        }
        if ((present.socket >= 0) &&
            ((bind(present.socket, (struct sockaddr *)&name, length) != 0) ||
             (listen(present.socket, PRESENT_BACKLOG) != 0))) {
            close(present.socket);
            present.socket = -1;
        }
    }
    pthread_mutex_unlock(&present.lock);
}

/* This rank does not know what the others do, and would hang or let them hang. */
static void present_fail(const char *what)
{
    ri_error(
            "this rank cannot find out which others have the library for windows: %s: %s",
            what, strerror(errno));
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* Knock. */
static present_look_t present_knock(int rank)
{
    present_look_t look = PRESENT_NO;
    struct ucred peer   = {};
    socklen_t peer_size = sizeof(peer);
    struct sockaddr_un name;
    socklen_t length = present_name(rank, &name);
    int fd           = present_socket();

    if (fd < 0) {
        present_fail("a socket");
        return PRESENT_NO;
    }
    if (connect(fd, (struct sockaddr *)&name, length) == 0) {
        /* Anybody may listen at any name */
        if ((getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0) &&
            (peer.uid == geteuid())) {
            look = PRESENT_YES;
        }
    } else if (errno == EAGAIN) { /* too many have knocked */
        look = PRESENT_YES;
    } else if ((errno == ENOMEM) || (errno == ENOBUFS)) {
        present_fail("a connection");
    }
    close(fd);
    return look;
}

/* With the lock. @return Whether a rank of MPI_COMM_WORLD is present. */
static int present_look(int rank)
{
    present_look_t *look, found;

    if (rank == present.rank) {
        return present.socket >= 0;
    }
    look = (present.looks != NULL) ? &present.looks[rank] : NULL;
    if ((look != NULL) && (*look != PRESENT_UNKNOWN)) {
        return *look == PRESENT_YES;
    }
    found = present_knock(rank);
    if (look != NULL) {
        *look = found;
    }
    return found == PRESENT_YES;
}

/* With the lock. The launcher's number of this rank must be that of MPI_COMM_WORLD. */
static void present_look_at_world(void)
{
    int rank;

    if ((present.ranks != 0) ||
        (PMPI_Comm_size(MPI_COMM_WORLD, &present.ranks) != MPI_SUCCESS) ||
        (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS)) {
        return;
    }
    present.looks = calloc((size_t)present.ranks, sizeof(*present.looks));
    if ((present.socket >= 0) && (rank != present.rank)) {
        ri_debug("rank %d is %d for the launcher", rank, present.rank);
        close(present.socket);
        present.socket = -1;
    }
}

/* The ranks of MPI_COMM_WORLD that those of a communicator are. @return NULL if there is no memory. */
static int *present_world_ranks(MPI_Comm comm, int ranks)
{
    int *of_world = malloc((size_t)ranks * 2 * sizeof(*of_world));
    MPI_Group group, world;
    int i;

    if (of_world == NULL) {
        return NULL;
    }
    for (i = 0; i < ranks; ++i) {
        of_world[ranks + i] = i;
    }
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, ranks, of_world + ranks, world, of_world);
    PMPI_Group_free(&world);
    PMPI_Group_free(&group);
    return of_world;
}

/* With the lock. @return Why no other rank is asked, or NULL. */
static const char *present_own_objection(void)
{
    if (present.job[0] == '\0') {
        return "the launcher gives no name to the job";
    }
    if (present.socket < 0) {
        return "this rank cannot be seen by the others";
    }
    return NULL;
}

const char *ri_present_objection(MPI_Comm comm, int ranks, int *speaker_p)
{
    const char *objection;
    int *of_world;
    int i;

    *speaker_p = 0;
    if (ranks == 1) {
        return NULL;
    }
    pthread_mutex_lock(&present.lock);
    present_look_at_world();
    objection = present_own_objection();
    of_world  = (objection == NULL) ? present_world_ranks(comm, ranks) : NULL;
    if ((objection == NULL) && (of_world == NULL)) {
        present_fail("no memory");
    }
    for (i = ranks - 1; (i >= 0) && (of_world != NULL); --i) {
        if (of_world[i] == MPI_UNDEFINED) {
            objection = "its ranks are not all of one MPI_COMM_WORLD";
        } else if (present_look(of_world[i])) {
            *speaker_p = i;
        } else {
            objection = "a rank has no library for windows, or is on another host";
        }
    }
    pthread_mutex_unlock(&present.lock);
    free(of_world);
    return objection;
}
