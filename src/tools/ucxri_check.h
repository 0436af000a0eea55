/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the library would be active in a program, and why not: for ucxri_run and ucxri_info.
 * It is told by files and by the environment alone; nothing is loaded or run.
 */
#ifndef UCXRI_CHECK_H
#define UCXRI_CHECK_H

#include <stddef.h>

/* The file name of the library. */
#define CHECK_LIBRARY "libucxri.so"

/* Those of the libraries for windows. */
#define CHECK_WIN_MPICH   "libucxri_win_mpich.so"
#define CHECK_WIN_OPENMPI "libucxri_win_openmpi.so"

typedef enum check_fault {
    CHECK_NO_FAULT,

    /* The library cannot be preloaded. */
    CHECK_NO_LIBRARY,    /* there is no such file */
    CHECK_BAD_PATH,      /* with a blank or a colon in it */
    CHECK_NOT_A_LIBRARY, /* the file is something else */
    CHECK_ARCHITECTURE,  /* library and program are for different machines */
    CHECK_STATIC,        /* no loader starts the program */
    CHECK_SETUID,        /* the loader ignores the environment */
    CHECK_NO_PROGRAM,    /* there is no such file */

    /* The library can be loaded, and has nothing to do there. */
    CHECK_NO_UCX,
    CHECK_MPI_WITHOUT_UCX,
    CHECK_NO_COMPONENT, /* Open MPI without pml ucx */
    CHECK_OTHER_PML,    /* the user wants another one */

    /* The environment does not ask for the library. */
    CHECK_NOT_PRELOADED,
    CHECK_NOT_LOADED,
    CHECK_NO_SWITCH
} check_fault_t;

/* A part of a line. */
#define CHECK_TEXT_MAX 1024

typedef struct check {
    check_fault_t fault;
    int is_openmpi; /* with pml ucx, which has still to be selected if the user has not */
    const char *windows; /* the name of the library for windows of its MPI; NULL: none */
    char because[CHECK_TEXT_MAX]; /* what the fault is, or what says that there is none */
    char remedy[CHECK_TEXT_MAX];  /* "": none */
    char hint[CHECK_TEXT_MAX];    /* what is to be known beside that; "": nothing */
    char windows_line[CHECK_TEXT_MAX]; /* whose the windows of MPI are; "": not known */
    char launcher[CHECK_TEXT_MAX]; /* that it is another MPI's launcher; "": it is not */
} check_t;

/** @return Whether the library can be preloaded: there is no fault, or one of those behind that. */
int check_can_preload(const check_t *check);

/** Check a library and a program, each by its path. What the user has not set for Open MPI is taken
 * for something that ucxri_run sets. */
void check_program(check_t *check, const char *library, const char *program);

/** Check whether the environment of this process asks for the library, and whether the loader has
 * loaded it here; then @a program by its path, unless it is NULL. */
void check_environment(check_t *check, const char *program);

/** Note whose the windows of the program are, if there is no fault. @a libraries are what is
 * preloaded, as LD_PRELOAD has it; NULL: nothing.
 *
 * @return Whether the user wants the library's (UCXRI_WIN=y), and it is not preloaded. */
int check_note_windows(check_t *check, const char *libraries);

/** Find a program as execvp() does.
 *
 * @param path  Gets where it is, @a max bytes with the end; or the name, if it was not found.
 *
 * @return Whether it was found. */
int check_find_program(const char *name, char *path, size_t max);

/** Check whether there is a program of this name, for what check_program() goes on with.
 *
 * @param path  As of check_find_program().
 *
 * @return Whether there is. If not, @a check says so. */
int check_has_program(check_t *check, const char *name, char *path, size_t max);

/** Print the verdict on standard output: "active: yes, because ...", or "active: no, because ...",
 * under a launcher with the rank and the host in front, and then the lines about windows and the
 * launcher, and the hint, if there are any. All of it is written in one piece.
 *
 * @param note  A last line, or NULL.
 *
 * @return The exit status: EXIT_SUCCESS if active. */
int check_print(const check_t *check, const char *note);

/** @return Whether an entry of LD_PRELOAD, of this length, is a libucxri.so. */
int check_is_library(const char *entry, size_t length);

/** @return Whether an entry of LD_PRELOAD is any library of ucxri, one for windows included. */
int check_is_ours(const char *entry, size_t length);

#endif
