/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks meet in a file of shared memory, whose name is made of the host, the user and the job.
 * Each rank that begins writes its number behind those of the others. The first rank whose
 * MPI_Init() has ended writes an end behind them. No rank can join after that, and all that are in
 * the file read the same. A rank that finds an end makes a new file, for itself and for those that
 * are as late. So the result does not depend on which rank waits for which other one in MPI_Init():
 * the ranks of one file see each other, and see nobody else.
 *
 * The job has its name from the launcher (job.h). If two jobs have the same name all the same, a
 * number is in the file twice, and the file counts for nothing.
 *
 * A rank that is in the file must not leave a window to the MPI for a reason that the others cannot
 * know. So the job ends where that would be necessary.
 *
 * Rejected: a socket for each rank, which the others connect to: what a rank sees depends on when
 * it looks. A lock of each rank in a file: a program that closes all its files gives it back.
 */
#include "ranks_here.h"
#include "job.h"
#include "setting.h"
#include "../ucp/core/types/window_ops.h"
#include "../ucs/clock.h"
#include "../ucs/hash.h"
#include "../ucs/log.h"
#include "../uct/shm/host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANKS_FOLDER "/dev/shm"

#define RANKS_NO_PLACE "the ranks cannot meet in " RANKS_FOLDER

#define RANKS_LOCKED \
    "a file in " RANKS_FOLDER " stays locked; a rank that was stopped may have it"

/* With it an MPI numbers the ranks otherwise than the launcher. */
#define RANKS_REORDER "MPICH_RANK_REORDER_METHOD"

/* Behind the numbers of the ranks. */
#define RANKS_END UINT32_MAX

/* No job has as many ranks on a host; a file that is longer was not written by this library. */
#define RANKS_MAX 65536

/* The file is locked for some microseconds. It takes longer if the process that has locked it was
 * stopped, which is waited for as long as this. Seconds. */
#define RANKS_PATIENCE 20

/* All under the lock. */
static struct {
    pthread_mutex_t lock;
    int has_begun, has_ended;
    ri_job_t job;
    int fd; /* the file, until MPI_Init() has ended; -1: there is none */
    char path[96];
    int is_told;      /* the address of this process says that it takes windows */
    const char *why;  /* this rank is not present; NULL: it is */
    int ranks;        /* of MPI_COMM_WORLD */
    uint8_t *is_here; /* of each rank of MPI_COMM_WORLD: it is present */
} present = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .fd   = -1,
             .why  = "MPI_Init() was not called by way of this library"};

/* @return Whether the file has a name. */
static int ranks_set_path(void)
{
    uint64_t hash = ri_hash_text(present.job.name);
    uint64_t host = ri_host_id();

    snprintf(present.path, sizeof(present.path),
             RANKS_FOLDER "/ucxri-win.%u.%016llx.%016llx", (unsigned)geteuid(),
             (unsigned long long)host, (unsigned long long)hash);
    return host != 0;
}

static void ranks_unlock_file(void)
{
    flock(present.fd, LOCK_UN);
}

/* With the lock of the file nobody else reads or changes it. @return Whether this process has
 * it. */
static int ranks_lock_file(void)
{
    double end = ri_clock_now() + RANKS_PATIENCE;

    while (flock(present.fd, LOCK_EX | LOCK_NB) != 0) {
        if (((errno != EWOULDBLOCK) && (errno != EINTR)) || (ri_clock_now() > end)) {
            return 0;
        }
        usleep(1000);
    }
    return 1;
}

static void ranks_close(void)
{
    close(present.fd);
    present.fd = -1;
}

/* Any user may have made a file of that name, or a link to another one. @return Whether it is one
 * that this library has made for this user. */
static int ranks_is_own_file(void)
{
    struct stat st;

    return (fstat(present.fd, &st) == 0) && S_ISREG(st.st_mode) &&
           (st.st_uid == geteuid()) && ((st.st_mode & 077) == 0) && (st.st_nlink <= 1);
}

/* Remove the name, if it is still that of this file. */
static void ranks_remove_name(void)
{
    struct stat mine, named;

    if ((fstat(present.fd, &mine) == 0) && (lstat(present.path, &named) == 0) &&
        (mine.st_dev == named.st_dev) && (mine.st_ino == named.st_ino)) {
        unlink(present.path);
    }
}

/* With the lock of the file. @return All numbers in it, for free(), or NULL. */
static uint32_t *ranks_read(size_t *count_p)
{
    uint32_t *here;
    struct stat st;

    if ((fstat(present.fd, &st) != 0) ||
        (st.st_size > (off_t)(RANKS_MAX * sizeof(*here))) ||
        (st.st_size % (off_t)sizeof(*here) != 0)) {
        return NULL;
    }
    here = malloc((size_t)st.st_size + 1);
    if ((here != NULL) &&
        (pread(present.fd, here, (size_t)st.st_size, 0) != (ssize_t)st.st_size)) {
        free(here);
        here = NULL;
    }
    *count_p = (size_t)st.st_size / sizeof(*here);
    return here;
}

/* With the lock of the file. */
static int ranks_write(uint32_t number)
{
    return write(present.fd, &number, sizeof(number)) == sizeof(number);
}

/* The result of a try to enter a file. */
typedef enum ranks_try {
    RANKS_IN,
    RANKS_AGAIN, /* nobody can enter it any more */
    RANKS_FAILED
} ranks_try_t;

/* With the lock of the file. */
static ranks_try_t ranks_enter_locked(void)
{
    ranks_try_t result = RANKS_FAILED;
    size_t count       = 0;
    uint32_t *here     = ranks_read(&count);

    if (here == NULL) {
        return RANKS_FAILED;
    }
    if ((count > 0) && (here[count - 1] == RANKS_END)) {
        ranks_remove_name();
        result = RANKS_AGAIN;
    } else if (ranks_write((uint32_t)present.job.rank)) {
        result = RANKS_IN;
    }
    free(here);
    return result;
}

static ranks_try_t ranks_enter_file(void)
{
    ranks_try_t result = RANKS_FAILED;

    present.fd = open(present.path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                      S_IRUSR | S_IWUSR);
    if (present.fd < 0) {
        return RANKS_FAILED;
    }
    if (ranks_is_own_file() && ranks_lock_file()) {
        result = ranks_enter_locked();
        ranks_unlock_file();
    }
    if (result != RANKS_IN) {
        ranks_close();
    }
    return result;
}

/* @return Why this rank is not in a file, or NULL. */
static const char *ranks_enter(void)
{
    ranks_try_t result = RANKS_AGAIN;
    int tries;

    if (getenv(RANKS_REORDER) != NULL) {
        return RANKS_REORDER
                " is set, so the MPI's numbers of ranks are not the launcher's";
    }
    if (!ri_job_find(&present.job)) {
        return "the launcher gives no name to the job";
    }
    if (!ranks_set_path()) {
        return "/proc cannot be read";
    }
    for (tries = 0; (tries < 100) && (result == RANKS_AGAIN); ++tries) {
        result = ranks_enter_file();
    }
    return (result == RANKS_IN) ? NULL : RANKS_NO_PLACE;
}

/* Others of the job are to know that this rank takes windows with those of other hosts. */
static void ranks_tell(void)
{
    ri_window_tell_t tell = (ri_window_tell_t)dlsym(RTLD_DEFAULT, RI_WINDOW_TELL_SYMBOL);

    if ((tell != NULL) && ri_setting_takes_hosts()) {
        tell(present.job.number, (uint32_t)present.job.rank);
        present.is_told = 1;
    }
}

/* MPI_Init() has ended, and has shown this rank who else takes such windows. */
static void ranks_told(void)
{
    ri_window_began_t began = (ri_window_began_t)dlsym(RTLD_DEFAULT,
                                                       RI_WINDOW_BEGAN_SYMBOL);

    if (began != NULL) {
        began(present.job.is_named);
    }
}

void ri_ranks_here_begin(void)
{
    pthread_mutex_lock(&present.lock);
    if (!present.has_begun) {
        present.has_begun = 1;
        present.why       = ranks_enter();
        if (present.why == NULL) {
            ranks_tell();
        }
    }
    pthread_mutex_unlock(&present.lock);
}

/* The others count on this rank, and would wait for it. */
static void __attribute__((noreturn)) ranks_abort(const char *why)
{
    ri_error("the job ends, as this rank cannot see which ranks have the library for "
             "windows: %s",
             why);
    if (present.fd >= 0) {
        ranks_unlock_file();
    }
    PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* Note the ranks of the file. @return Why they are of no use, or NULL. */
static const char *ranks_note(const uint32_t *here, size_t count)
{
    size_t i;

    for (i = 0; (i < count) && (here[i] != RANKS_END); ++i) {
        if ((here[i] >= (uint32_t)present.ranks) || present.is_here[here[i]]) {
            return "two jobs have the same name";
        }
        present.is_here[here[i]] = 1;
    }
    return NULL;
}

/* With the lock of the file: nobody enters it any more. @return Why this rank is not present, or
 * NULL. */
static const char *ranks_see(void)
{
    size_t count   = 0;
    int rank       = -1;
    uint32_t *here = ranks_read(&count);
    const char *why;

    if (here == NULL) {
        ranks_abort(RANKS_NO_PLACE);
    }
    if (((count == 0) || (here[count - 1] != RANKS_END)) && !ranks_write(RANKS_END)) {
        ranks_abort(RANKS_NO_PLACE);
    }
    ranks_remove_name();
    if ((PMPI_Comm_size(MPI_COMM_WORLD, &present.ranks) != MPI_SUCCESS) ||
        (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) ||
        ((rank != present.job.rank) && (present.ranks > 1))) {
        ranks_abort("it has another number than the launcher says");
    }
    present.is_here = calloc((size_t)present.ranks, sizeof(*present.is_here));
    if (present.is_here == NULL) {
        ranks_abort("no memory");
    }
    if (present.ranks == 1) {
        /* The MPI may not know the launcher, which has started several: each is alone then */
        present.job.rank   = rank;
        present.is_here[0] = 1;
        free(here);
        return NULL;
    }
    why = ranks_note(here, count);
    free(here);
    if ((why != NULL) && present.is_told) {
        /* Ranks of other hosts count on this one; addresses tell the jobs apart */
        memset(present.is_here, 0, (size_t)present.ranks);
        why = NULL;
    }
    return why;
}

void ri_ranks_here_end(int is_init)
{
    pthread_mutex_lock(&present.lock);
    if (!present.has_ended && (present.fd >= 0)) {
        if (!is_init) {
            present.why = "MPI_Init() has failed";
            ranks_remove_name();
        } else if (ranks_lock_file()) {
            present.why = ranks_see();
            ranks_unlock_file();
        } else {
            ranks_abort(RANKS_LOCKED);
        }
        ranks_close();
        ranks_told();
    }
    present.has_ended = 1;
    pthread_mutex_unlock(&present.lock);
}

/* The ranks of MPI_COMM_WORLD that those of a communicator are. */
static int ranks_world_ranks(MPI_Comm comm, int ranks, int *of_world, int *of_comm)
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

/* Have the MPI look for the address of a rank. Open MPI does so when it first has something for it:
 * a request to send, which is never started. */
static void ranks_find(int rank)
{
    MPI_Request request;

    if ((PMPI_Send_init(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request) !=
         MPI_SUCCESS) ||
        (PMPI_Request_free(&request) != MPI_SUCCESS)) {
        ranks_abort("the MPI has no way to a rank");
    }
}

/* Of a communicator with ranks of other hosts. What a rank does follows from what all ranks have
 * told, so that all come to the same. @return Why not all of them take windows, or NULL. */
static const char *ranks_look_far(const int *of_world, int ranks)
{
    ri_window_rank_func_t look = (ri_window_rank_func_t)dlsym(RTLD_DEFAULT,
                                                              RI_WINDOW_RANK_SYMBOL);
    ri_window_rank_t is        = RI_WINDOW_RANK_UNUSED;
    int i;

    for (i = 0; (i < ranks) && (look != NULL); ++i) {
        if (of_world[i] == present.job.rank) {
            continue;
        }
        is = look((uint32_t)of_world[i]);
        if (is == RI_WINDOW_RANK_UNSEEN) {
            ranks_find(of_world[i]);
            is = look((uint32_t)of_world[i]);
        }
        if (is == RI_WINDOW_RANK_UNSEEN) {
            ranks_abort("UCX has not seen the address of a rank of another host; "
                        "UCXRI_WIN_HOSTS=n leaves windows of several hosts to the MPI");
        }
        if (is != RI_WINDOW_RANK_TAKES) {
            break;
        }
    }
    return (is == RI_WINDOW_RANK_TAKES) ?
                   NULL :
                   "a rank is on another host, or has no library for windows that is "
                   "switched on";
}

/* Of a communicator with other ranks. */
static const char *ranks_look(MPI_Comm comm, int ranks, int *speaker_p)
{
    int *of_world         = malloc((size_t)ranks * 2 * sizeof(*of_world));
    const char *objection = NULL;
    int are_here          = 1;
    int i;

    if ((of_world == NULL) ||
        !ranks_world_ranks(comm, ranks, of_world, of_world + ranks)) {
        ranks_abort("no memory");
    }
    for (i = ranks - 1; i >= 0; --i) {
        if ((of_world[i] < 0) || (of_world[i] >= present.ranks)) {
            objection = "its ranks are not all of one MPI_COMM_WORLD";
        } else if (present.is_here[of_world[i]]) {
            *speaker_p = i;
        } else {
            are_here = 0;
        }
    }
    if ((objection == NULL) && !are_here) {
        objection = ranks_look_far(of_world, ranks);
    }
    free(of_world);
    return objection;
}

const char *ri_ranks_here_objection(MPI_Comm comm, int ranks, int *speaker_p)
{
    const char *objection;

    *speaker_p = -1;
    if (ranks == 1) {
        return NULL; /* nobody else is asked */
    }
    pthread_mutex_lock(&present.lock);
    /* In another thread MPI_Init() has made the MPI, and has not returned */
    while (present.has_begun && !present.has_ended) {
        pthread_mutex_unlock(&present.lock);
        sched_yield();
        pthread_mutex_lock(&present.lock);
    }
    objection = (present.why != NULL) ? present.why : ranks_look(comm, ranks, speaker_p);
    pthread_mutex_unlock(&present.lock);
    return objection;
}
