/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program or a library says of itself in its ELF file. Nothing of it is run. Files are
 * taken as they are: whatever stands in them, nothing outside of them is read.
 */
#ifndef UCXRI_CHECK_ELF_H
#define UCXRI_CHECK_ELF_H

#include <stddef.h>

typedef enum check_elf_kind {
    CHECK_ELF_NONE,   /* the file cannot be read; errno says why */
    CHECK_ELF_SCRIPT, /* the file begins with #! */
    CHECK_ELF_OTHER,  /* some other file, or a broken one */
    CHECK_ELF_FOREIGN, /* for another word length or byte order; only kind and machine are read */
    CHECK_ELF_FILE
} check_elf_kind_t;

typedef struct check_elf {
    check_elf_kind_t kind;
    int bits;            /* 32 or 64 */
    unsigned machine;    /* EM_... */
    int is_dynamic;      /* there is a list of libraries */
    int has_interpreter; /* a loader starts it, which reads LD_PRELOAD */
    const char **needed; /* names of libraries */
    size_t num_needed;
    const char *rpath;   /* NULL: none */
    const char *runpath; /* NULL: none */
    char *image;         /* all texts are in it */
} check_elf_t;

/** Read a file. @a elf holds memory until check_elf_free(), whatever its kind is.
 *
 * @return Its kind. */
check_elf_kind_t check_elf_read(const char *path, check_elf_t *elf);

/** @return Whether a file has a text that begins with @a text: it is behind a zero. */
int check_elf_has_text(const char *path, const char *text);

/** Free what check_elf_read() has allocated. */
void check_elf_free(check_elf_t *elf);

/** @return The name of the machine and word length, as people write them; the next call may
 * overwrite it. */
const char *check_elf_machine(const check_elf_t *elf);

#endif
