/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which functions the library calls through pointers while a message goes from one worker of this
 * process to another one, for direct_calls.test. Processors can stop after each instruction (the
 * trap flag), so the calls are counted as they are carried out.
 *
 * Usage: direct_calls LENGTH MESSAGES
 *
 * For each such call it prints "send" or "receive", and the function called: its name, or only that
 * it is in the library. The last line has the number of instructions of the library.
 */
#include <ucp/api/ucp.h>

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define WARM_UP 3000 /* messages after which there is a ring, and all is learnt */
#define CALLS   1024 /* that are noted, at most */

typedef struct call {
    const char *side;
    uintptr_t target;
} call_t;

static struct node {
    ucp_worker_h worker;
    ucp_ep_h ep;
} a, b;

static void *buffers[2];
static size_t length;
static int num_received;

/* Written by the handler of traps */
static volatile struct {
    const char *side;       /* that is looked at */
    uintptr_t library, end; /* its memory */
    int is_call; /* the instruction that has just been carried out is a call through a pointer */
    unsigned num_calls;
    unsigned long instructions;
} look;
static call_t calls[CALLS];

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        printf("%s: %s\n", what, ucs_status_string(status));
        exit(EXIT_FAILURE);
    }
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* @return Whether an instruction is "call" with an operand in a register or in memory. */
static int is_call_by_pointer(const uint8_t *code)
{
    while ((*code == 0xf2) || (*code == 0x3e) || ((*code & 0xf0) == 0x40)) {
        ++code; /* prefixes */
    }
    return (code[0] == 0xff) && (((code[1] >> 3) & 7) == 2);
}

/* The program has stopped in front of an instruction. */
static void on_trap(int number, siginfo_t *info, void *arg)
{
    uintptr_t at = ((ucontext_t *)arg)->uc_mcontext.gregs[REG_RIP];

    if (look.is_call && (look.num_calls < CALLS)) {
        calls[look.num_calls].side     = look.side;
        calls[look.num_calls++].target = at;
    }
    look.is_call = 0;
    if ((at >= look.library) && (at < look.end)) {
        ++look.instructions;
        look.is_call = is_call_by_pointer((const uint8_t *)at);
    }
}

static void look_at(const char *side)
{
    look.side = side;
    __asm__ volatile(
            "sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; add $128, %%rsp" ::
                    : "cc", "memory");
}

static void look_away(void)
{
    __asm__ volatile(
            "sub $128, %%rsp; pushf; andl $~0x100, (%%rsp); popf; add $128, %%rsp" ::
                    : "cc", "memory");
    look.is_call = 0;
}

#else

static void on_trap(int number, siginfo_t *info, void *arg) {}

static void look_at(const char *side)
{
    printf("cannot look at single instructions\n");
    exit(77);
}

static void look_away(void) {}

#endif

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                     void *arg)
{
    check(status, "receive");
    ++num_received;
}

/* One message from a to b, whose receive is posted first. */
static void exchange(int is_looked_at)
{
    ucp_request_param_t recv = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK,
                                .cb.recv      = received};
    ucp_request_param_t send = {.op_attr_mask = 0};
    ucs_status_ptr_t posted, sent;
    int before = num_received;

    posted = ucp_tag_recv_nbx(b.worker, buffers[1], length, 1, ~0ul, &recv);
    if (is_looked_at) {
        look_at("send");
    }
    sent = ucp_tag_send_nbx(a.ep, buffers[0], length, 1, &send);
    if (is_looked_at) {
        look_away();
        look_at("receive");
    }
    while (num_received == before) {
        ucp_worker_progress(b.worker);
        if (UCS_PTR_IS_PTR(sent) && (num_received == before)) {
            ucp_worker_progress(
                    a.worker); /* the message is long, or there is no ring yet */
        }
    }
    if (is_looked_at) {
        look_away();
    }
    ucp_request_free(posted);
    if (UCS_PTR_IS_PTR(sent)) {
        while (ucp_request_check_status(sent) == UCS_INPROGRESS) {
            ucp_worker_progress(a.worker);
            ucp_worker_progress(b.worker);
        }
        ucp_request_free(sent);
    }
    ucp_worker_progress(a.worker);
}

static void connect_to(struct node *from, struct node *to)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    size_t size;

    check(ucp_worker_get_address(to->worker, &address, &size), "address");
    params.address = address;
    check(ucp_ep_create(from->worker, &params, &from->ep), "endpoint");
    ucp_worker_release_address(to->worker, address);
}

static void start(void)
{
    ucp_params_t params               = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                         .features   = UCP_FEATURE_TAG};
    ucp_worker_params_t worker_params = {.field_mask = 0};
    ucp_context_h context;

    check(ucp_init(&params, NULL, &context), "context");
    check(ucp_worker_create(context, &worker_params, &a.worker), "worker");
    check(ucp_worker_create(context, &worker_params, &b.worker), "worker");
    connect_to(&a, &b);
    connect_to(&b, &a);
    buffers[0] = calloc(1, length);
    buffers[1] = calloc(1, length);
}

static void print_calls(void)
{
    const char *name;
    Dl_info found;
    unsigned i;

    for (i = 0; i < look.num_calls; ++i) {
        name = "unknown";
        if (calls[i].target == (uintptr_t)received) {
            name = "callback";
        } else if (dladdr((void *)calls[i].target, &found)) {
            name = ((uintptr_t)found.dli_fbase == look.library) ? "library" :
                   (found.dli_sname != NULL)                    ? found.dli_sname :
                                                                  found.dli_fname;
        }
        printf("%s %s\n", calls[i].side, name);
    }
    printf("instructions %lu\n", look.instructions);
}

/* Find the memory of the library that has ucp_tag_send_nbx(). */
static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t function = (uintptr_t)arg, end = 0;
    int i;

    for (i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
                  info->dlpi_phdr[i].p_memsz;
        }
    }
    if ((function < info->dlpi_addr) || (function >= end)) {
        return 0;
    }
    look.library = info->dlpi_addr;
    look.end     = end;
    return 1;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    int i;

    if ((argc != 3) ||
        !dl_iterate_phdr(find_library, dlsym(RTLD_DEFAULT, "ucp_tag_send_nbx"))) {
        return EXIT_FAILURE;
    }
    length = strtoul(argv[1], NULL, 0);
    start();
    for (i = 0; i < WARM_UP; ++i) {
        exchange(0);
    }
    sigaction(SIGTRAP, &action, NULL);
    for (i = 0; i < atoi(argv[2]); ++i) {
        exchange(1);
    }
    print_calls();
    fflush(stdout);
    _Exit(EXIT_SUCCESS);
}
