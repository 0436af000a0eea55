/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A program without an MPI that loads a plugin with one, as an interpreter does: with LATE_MAIN the
 * program, which is told the plugin's file, else the plugin. It puts into a window of all ranks.
 */
#ifdef LATE_MAIN

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = (argc == 2) ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(void);

    if (plugin == NULL) {
        fprintf(stderr, "late_mpi: %s\n", (argc == 2) ? dlerror() : "which plugin?");
        return 2;
    }
    run = (int (*)(void))dlsym(plugin, "late_mpi_run");
    return run();
}

#else

#include <mpi.h>
#include <stdio.h>

int late_mpi_run(void);

int late_mpi_run(void)
{
    int rank, size, left, *memory;
    MPI_Win win;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Whole pages: stock MPICH over UCX 1.13 takes a wrong address for others (docs/facts.md) */
    MPI_Win_allocate(65536, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    *memory = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    /* There, a fence may also end before the put is there */
    for (int i = 0; i < 50; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    left = *memory;
    MPI_Win_free(&win);
    MPI_Finalize();
    printf("%s late_mpi rank %d has %d\n",
           (left == (rank + size - 1) % size) ? "PASS" : "FAIL", rank, left);
    return 0;
}

#endif
