/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What memory a process has for each process that it is connected with.
 *
 *   cc -O2 -o peer_memory peer_memory.c -lucp -lucs
 *   UCX_TLS=rc_verbs,ud_verbs:aux,self ./peer_memory [-n 64] [-s 64k]
 *
 * One process, the hub, exchanges messages of that size with each of n others, both ways, one
 * after the other; all stay connected. Each has posted its receive when the other sends, so that
 * receives are offered both ways. What the hub has once, whatever the number of the others, is
 * there after a quarter of them at the latest, so the figure is what it has more at the end, by the
 * number of those that came in between:
 *
 *   peer_memory_heap      what malloc() has given out
 *   peer_memory_resident  pages that are the process's own
 *
 * It prints "RESULT <name> <n> <bytes> bytes 0" for each. UCX's own memory for its endpoints is in
 * there, and with the software HCA that of its queues.
 */
#include "bench.h"

#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#define ADDRESS_MAX 4096

/* Exchanges with each of the others: who sends a message is learnt from those before */
#define ROUNDS 4

#define TAG_ADDRESS 1ull
#define TAG_TO_HUB  2ull
#define TAG_BACK    3ull

/* A peer that takes longer than this has failed */
#define TIMEOUT_SEC 60

/* How often one looks that waits for its turn, or for the end */
#define NAP_US 2000

static const char usage[] =
        "Usage: peer_memory [options]\n"
        "Memory that a process has for each one that it is connected with, UCP level.\n"
        "  -n N     other processes (64)\n"
        "  -s SIZE  size of the messages that are exchanged (64k)\n"
        "  -h       this help\n";

/* What the processes share */
typedef struct {
    atomic_int turn; /* of the peer with this number, from 1; above all: the end */
    atomic_int
            posted; /* the hub's receive of this peer and round: number * ROUNDS + round */
    size_t length;
    uint8_t address[ADDRESS_MAX]; /* of the hub */
} common_t;

/* Of one process */
typedef struct {
    ucp_context_h context;
    ucp_worker_h worker;
    uint8_t *message;
    uint8_t *reply;
    size_t size;
} side_t;

typedef struct {
    double heap;
    double resident;
} memory_t;

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "peer_memory: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(EXIT_FAILURE);
}

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        die("%s: %s", what, ucs_status_string(status));
    }
}

static void side_init(side_t *side, size_t size)
{
    ucp_worker_params_t worker_params = {0};
    ucp_params_t params               = {0};

    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG;
    check(ucp_init(&params, NULL, &side->context), "ucp_init");
    check(ucp_worker_create(side->context, &worker_params, &side->worker),
          "ucp_worker_create");
    side->size    = size;
    side->message = malloc(size);
    side->reply   = malloc(size);
    if ((side->message == NULL) || (side->reply == NULL)) {
        die("out of memory");
    }
    memset(side->message, 1, size);
}

static void side_cleanup(side_t *side)
{
    ucp_worker_destroy(side->worker);
    ucp_cleanup(side->context);
    free(side->message);
    free(side->reply);
}

static void side_wait(side_t *side, void *req, const char *what)
{
    double deadline = bench_now() + TIMEOUT_SEC;
    ucs_status_t status;

    if (req == NULL) {
        return;
    }
    if (UCS_PTR_IS_ERR(req)) {
        check(UCS_PTR_STATUS(req), what);
    }
    while ((status = ucp_request_check_status(req)) == UCS_INPROGRESS) {
        ucp_worker_progress(side->worker);
        if (bench_now() > deadline) {
            die("%s: not complete after %d s", what, TIMEOUT_SEC);
        }
    }
    ucp_request_free(req);
    check(status, what);
}

static ucp_ep_h side_connect(side_t *side, const uint8_t *address)
{
    ucp_ep_params_t params = {0};
    ucp_ep_h ep;

    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = (const ucp_address_t *)address;
    check(ucp_ep_create(side->worker, &params, &ep), "ucp_ep_create");
    return ep;
}

static void side_send(side_t *side, ucp_ep_h ep, const void *data, size_t length,
                      ucp_tag_t tag)
{
    static const ucp_request_param_t param = {0};

    side_wait(side, ucp_tag_send_nbx(ep, data, length, tag, &param), "send");
}

/* Post a receive, for side_wait() */
static void *side_post(side_t *side, void *data, size_t length, ucp_tag_t tag)
{
    static const ucp_request_param_t param = {0};

    return ucp_tag_recv_nbx(side->worker, data, length, tag, UINT64_MAX, &param);
}

/* A number of /proc/self/smaps_rollup, which is in kB there */
static double resident(const char *name)
{
    FILE *file   = fopen("/proc/self/smaps_rollup", "r");
    double value = 0;
    char line[128];

    if (file == NULL) {
        die("/proc/self/smaps_rollup: %s", strerror(errno));
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = strtod(line + strlen(name), NULL) * 1024;
        }
    }
    fclose(file);
    return value;
}

static memory_t memory_now(void)
{
    struct mallinfo2 info = mallinfo2();
    memory_t memory;

    memory.heap     = (double)info.uordblks + (double)info.hblkhd;
    memory.resident = resident("Private_Clean:") + resident("Private_Dirty:");
    return memory;
}

/* A receive of its own for each of the others: so it is known whom it waits for */
static ucp_tag_t tag_of(ucp_tag_t tag, int number)
{
    return tag + ((ucp_tag_t)number << 8);
}

/* One of the others: exchange when it is its turn, and stay till the end. */
static void run_peer(common_t *common, int number, int peers, size_t size)
{
    ucp_address_t *address;
    size_t length;
    side_t side;
    int round;
    void *req;
    ucp_ep_h ep;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (atomic_load(&common->turn) < number) {
        usleep(NAP_US);
    }
    side_init(&side, size);
    check(ucp_worker_get_address(side.worker, &address, &length),
          "ucp_worker_get_address");
    ep = side_connect(&side, common->address);
    side_send(&side, ep, address, length, TAG_ADDRESS);
    ucp_worker_release_address(side.worker, address);
    for (round = 1; round <= ROUNDS; ++round) {
        req = side_post(&side, side.reply, size, TAG_BACK);
        while (atomic_load(&common->posted) < number * ROUNDS + round) {
            ucp_worker_progress(side.worker);
        }
        side_send(&side, ep, side.message, size, tag_of(TAG_TO_HUB, number));
        side_wait(&side, req, "receive");
    }
    while (atomic_load(&common->turn) <= peers) {
        ucp_worker_progress(side.worker);
        usleep(NAP_US);
    }
    side_cleanup(&side);
}

/* What the hub does with each of the others */
static void exchange(side_t *side, common_t *common, int number, size_t size)
{
    static uint8_t there[ADDRESS_MAX];
    ucp_ep_h ep;
    int round;
    void *req;

    atomic_store(&common->turn, number);
    side_wait(side, side_post(side, there, sizeof(there), TAG_ADDRESS), "receive");
    ep = side_connect(side, there);
    for (round = 1; round <= ROUNDS; ++round) {
        req = side_post(side, side->reply, size, tag_of(TAG_TO_HUB, number));
        atomic_store(&common->posted, number * ROUNDS + round);
        side_wait(side, req, "receive");
        side_send(side, ep, side->message, size, TAG_BACK);
    }
}

static void run_hub(common_t *common, int peers, size_t size)
{
    const int steady = (peers + 3) / 4;
    memory_t first   = {0, 0};
    ucp_address_t *address;
    memory_t last;
    side_t side;
    int number;

    side_init(&side, size);
    check(ucp_worker_get_address(side.worker, &address, &common->length),
          "ucp_worker_get_address");
    if (common->length > ADDRESS_MAX) {
        die("an address of %zu bytes", common->length);
    }
    memcpy(common->address, address, common->length);
    ucp_worker_release_address(side.worker, address);
    for (number = 1; number <= peers; ++number) {
        exchange(&side, common, number, size);
        if (number == steady) {
            first = memory_now();
        }
    }
    last = memory_now();
    bench_print("peer_memory_heap", peers, (last.heap - first.heap) / (peers - steady),
                "bytes", 0);
    bench_print("peer_memory_resident", peers,
                (last.resident - first.resident) / (peers - steady), "bytes", 0);
    atomic_store(&common->turn, peers + 1);
    while (waitpid(-1, NULL, WNOHANG) >= 0) { /* until no child is left */
        ucp_worker_progress(side.worker);
        usleep(NAP_US);
    }
    side_cleanup(&side);
}

int main(int argc, char **argv)
{
    size_t sizes[BENCH_MAX_SIZES] = {65536};
    double peers                  = 64;
    int bad                       = 0;
    common_t *common;
    int c, number;
    pid_t pid;

    while ((c = getopt(argc, argv, "n:s:h")) != -1) {
        switch (c) {
        case 'n':
            bad |= bench_parse_number("-n", optarg, 2, 1000, &peers);
            break;
        case 's':
            bad |= (bench_parse_sizes(optarg, sizes) != 1);
            break;
        case 'h':
            printf("%s", usage);
            return EXIT_SUCCESS;
        default:
            bad = -1;
        }
    }
    if (bad || (optind != argc)) {
        fprintf(stderr, "%s", usage);
        return EXIT_FAILURE;
    }

    common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (common == MAP_FAILED) {
        die("out of memory");
    }
    for (number = 1; number <= (int)peers; ++number) {
        pid = fork();
        if (pid < 0) {
            die("fork: %s", strerror(errno));
        }
        if (pid == 0) {
            run_peer(common, number, (int)peers, sizes[0]);
            return EXIT_SUCCESS;
        }
    }
    run_hub(common, (int)peers, sizes[0]);
    return EXIT_SUCCESS;
}
