/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a command in which system calls fail, as a container's seccomp profile lets them.
 *
 * Usage: forbid CALL=ERROR... -- COMMAND...     (forbid memfd_create=EPERM -- program)
 *
 * Exit code 77: the kernel has no filters; 2: wrong usage.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct word {
    const char *name;
    int number;
} word_t;

static const word_t calls[]  = {{"memfd_create", SYS_memfd_create},
                                {"process_vm_readv", SYS_process_vm_readv},
                                {"process_vm_writev", SYS_process_vm_writev},
                                {NULL, 0}};
static const word_t errors[] = {{"EPERM", EPERM},   {"ENOSYS", ENOSYS},
                                {"EACCES", EACCES}, {"ENOMEM", ENOMEM},
                                {"EMFILE", EMFILE}, {NULL, 0}};

static int find(const word_t *words, const char *name, size_t length, int *number)
{
    for (; words->name != NULL; ++words) {
        if ((strlen(words->name) == length) && !strncmp(words->name, name, length)) {
            *number = words->number;
            return 1;
        }
    }
    return 0;
}

static int forbid(unsigned call, unsigned error)
{
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) &&
           (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    int i, call, error;
    size_t length;

    for (i = 1; (i < argc) && strcmp(argv[i], "--"); ++i) {
        length = strcspn(argv[i], "=");
        if ((argv[i][length] != '=') || !find(calls, argv[i], length, &call) ||
            !find(errors, argv[i] + length + 1, strlen(argv[i] + length + 1), &error)) {
            fprintf(stderr, "forbid: not understood: %s\n", argv[i]);
            return 2;
        }
        if (!forbid(call, error)) {
            return 77;
        }
    }
    if (i + 1 >= argc) {
        fprintf(stderr, "forbid: no command\n");
        return 2;
    }
    execvp(argv[i + 1], argv + i + 1);
    perror(argv[i + 1]);
    return 2;
}
