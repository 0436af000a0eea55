/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tag matching costs when many other tags are posted or unexpected.
 *
 *   cc -O2 -o tag_match tag_match.c -lucp -lucs
 *   UCX_TLS=posix,sysv,cma,self ./tag_match [-n 10000] [-t seconds] [-b batches]
 *
 * One thread drives two UCP workers of one process, so that the figure is the
 * whole cost of an 8-byte message on both sides, and no second core or its
 * placement comes into it. Each case is timed with empty queues and with n
 * other tags waiting, in turn, and prints for each of both
 * "RESULT <case> <0 or n> <ns> ns 0", the median over the batches:
 *
 *   match_posted  n receives of other tags are posted; post a receive, send
 *                 its message, complete it
 *   match_unexp   n messages of other tags are unexpected; the same operation
 *   match_late    n messages of other tags are unexpected; send, find the
 *                 message by a probe, then receive it
 *
 * with the mask all ones, and as <case>_mpich with the mask MPICH uses for a
 * receive from a known source (0xffffffff9fffffff).
 *
 * With -r instead, what receives cost it that have offered their memory to the sender, or are to
 * (set UCXRI_RTR=y; UCXRI_REPORT=y tells by rtr_sent whether they have):
 *
 *   match_rtr         one long receive of another tag is posted, with an RTR
 *   match_rtr_queued  40 such receives are posted, behind a wildcard
 */
#include "bench.h"

#include <ucp/api/ucp.h>
#include <unistd.h>

#define TAG_BASE   0x0004000300000000ull /* context 4, source 3, as MPICH lays out */
#define TAG_OTHERS 0x100000ull           /* first of the other tags */
#define TIMED_TAGS 64ul                  /* the timed messages go round these tags */
#define MASK_FULL  UINT64_MAX
#define MASK_MPICH 0xffffffff9fffffffull
#define TURNS      5 /* empty and full are timed this often */

#define TAG_LONG    0x1000000000000000ull /* in the tags of long messages */
#define LONG_LENGTH 100000ul
#define LONG_QUEUED 40ul
#define LONG_TAUGHT 8 /* messages until receives have RTRs */

/* A message that takes longer than this is lost */
#define TIMEOUT_SEC 30

static const char usage[] =
        "Usage: tag_match [options]\n"
        "Cost of matching with many other tags posted or unexpected, UCP level.\n"
        "  -n N     other tags (10000)\n"
        "  -t SEC   time per case, without warm-up (0.15)\n"
        "  -b N     batches that the time is split into (50)\n"
        "  -r       beside long receives that have RTRs (UCXRI_RTR=y)\n"
        "  -h       this help\n";

typedef struct {
    ucp_context_h context;
    ucp_worker_h sender;
    ucp_worker_h receiver;
    ucp_ep_h ep;   /* sender to receiver */
    ucp_ep_h back; /* the other way, for RTRs */
    ucp_tag_t mask;
    uint64_t serial; /* content of the next timed message */
    void **reqs;     /* receives of the other tags */
    uint64_t dummy;  /* buffer of the other receives */
    char *message;   /* a long one */
    char *received;  /* buffer of long receives */
} match_t;

typedef struct {
    const char *name;
    size_t count; /* of what waits; 0: as the options say */
    void (*fill)(match_t *match, size_t count);
    void (*drain)(match_t *match, size_t count);
    void (*step)(match_t *match);
} match_case_t;


static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "tag_match: %s: %s\n", what, ucs_status_string(status));
        exit(EXIT_FAILURE);
    }
}

static void progress(match_t *match)
{
    ucp_worker_progress(match->receiver);
    ucp_worker_progress(match->sender);
}

/* Wait for a request, free it, return its status */
static ucs_status_t wait_status(match_t *match, void *req, const char *what)
{
    unsigned spins  = 0;
    double deadline = 0;
    ucs_status_t status;

    if (req == NULL) {
        return UCS_OK;
    }
    if (UCS_PTR_IS_ERR(req)) {
        return UCS_PTR_STATUS(req);
    }
    while ((status = ucp_request_check_status(req)) == UCS_INPROGRESS) {
        progress(match);
        if ((++spins % 100000) == 0) {
            deadline = (deadline == 0) ? bench_now() + TIMEOUT_SEC : deadline;
            if (bench_now() > deadline) {
                fprintf(stderr, "tag_match: %s: not complete after %d s\n", what,
                        TIMEOUT_SEC);
                exit(EXIT_FAILURE);
            }
        }
    }
    ucp_request_free(req);
    return status;
}

static void wait_ok(match_t *match, void *req, const char *what)
{
    check(wait_status(match, req, what), what);
}

static void *post_recv(match_t *match, uint64_t *buffer, ucp_tag_t tag)
{
    static const ucp_request_param_t param = {0};

    return ucp_tag_recv_nbx(match->receiver, buffer, sizeof(*buffer), tag, match->mask,
                            &param);
}

static void *post_send(match_t *match, const uint64_t *buffer, ucp_tag_t tag)
{
    static const ucp_request_param_t param = {0};

    return ucp_tag_send_nbx(match->ep, buffer, sizeof(*buffer), tag, &param);
}

static void wait_arrival(match_t *match, ucp_tag_t tag)
{
    double deadline = 0;
    unsigned spins  = 0;
    ucp_tag_recv_info_t info;

    progress(match);
    while (ucp_tag_probe_nb(match->receiver, tag, match->mask, 0, &info) == NULL) {
        progress(match);
        if ((++spins % 100000) == 0) {
            deadline = (deadline == 0) ? bench_now() + TIMEOUT_SEC : deadline;
            if (bench_now() > deadline) {
                fprintf(stderr, "tag_match: a message did not arrive in %d s\n",
                        TIMEOUT_SEC);
                exit(EXIT_FAILURE);
            }
        }
    }
}

static void check_content(uint64_t value, uint64_t expected)
{
    if (value != expected) {
        fprintf(stderr, "tag_match: received message %llu instead of %llu\n",
                (unsigned long long)value, (unsigned long long)expected);
        exit(EXIT_FAILURE);
    }
}

static void step_posted(match_t *match)
{
    ucp_tag_t tag  = TAG_BASE + (match->serial % TIMED_TAGS);
    uint64_t value = ++match->serial;
    uint64_t received;
    void *recv_req, *send_req;

    recv_req = post_recv(match, &received, tag);
    send_req = post_send(match, &value, tag);
    wait_ok(match, recv_req, "receive");
    wait_ok(match, send_req, "send");
    check_content(received, value);
}

static void step_late(match_t *match)
{
    ucp_tag_t tag  = TAG_BASE + (match->serial % TIMED_TAGS);
    uint64_t value = ++match->serial;
    uint64_t received;
    void *send_req;

    send_req = post_send(match, &value, tag);
    wait_arrival(match, tag);
    wait_ok(match, post_recv(match, &received, tag), "receive");
    wait_ok(match, send_req, "send");
    check_content(received, value);
}

static void fill_posted(match_t *match, size_t count)
{
    size_t i;

    for (i = 0; i < count; ++i) {
        match->reqs[i] = post_recv(match, &match->dummy, TAG_BASE + TAG_OTHERS + i);
        if (UCS_PTR_IS_ERR(match->reqs[i]) || (match->reqs[i] == NULL)) {
            fprintf(stderr, "tag_match: receive %zu was not queued\n", i);
            exit(EXIT_FAILURE);
        }
    }
}

static void drain_posted(match_t *match, size_t count)
{
    ucs_status_t status;
    size_t i;

    for (i = 0; i < count; ++i) {
        ucp_request_cancel(match->receiver, match->reqs[i]);
        status = wait_status(match, match->reqs[i], "cancel");
        if (status != UCS_ERR_CANCELED) {
            fprintf(stderr, "tag_match: a cancelled receive ended with: %s\n",
                    ucs_status_string(status));
            exit(EXIT_FAILURE);
        }
    }
}

static void fill_unexp(match_t *match, size_t count)
{
    uint64_t value;

    for (value = 0; value < count; ++value) {
        wait_ok(match, post_send(match, &value, TAG_BASE + TAG_OTHERS + value), "send");
    }
    if (count > 0) {
        wait_arrival(match, TAG_BASE + TAG_OTHERS + count - 1);
    }
}

static void drain_unexp(match_t *match, size_t count)
{
    uint64_t received;
    size_t i;

    for (i = 0; i < count; ++i) {
        wait_ok(match, post_recv(match, &received, TAG_BASE + TAG_OTHERS + i), "receive");
        check_content(received, i);
    }
}

static void *post_long(match_t *match, ucp_tag_t tag, ucp_tag_t mask)
{
    static const ucp_request_param_t param = {0};
    void *req = ucp_tag_recv_nbx(match->receiver, match->received, LONG_LENGTH, tag, mask,
                                 &param);

    if (UCS_PTR_IS_ERR(req) || (req == NULL)) {
        fprintf(stderr, "tag_match: a long receive was not queued\n");
        exit(EXIT_FAILURE);
    }
    return req;
}

/* The receiver learns who sends long messages. */
static void teach_long(match_t *match)
{
    static const ucp_request_param_t param = {0};
    int i;

    for (i = 0; i < LONG_TAUGHT; ++i) {
        void *recv_req = post_long(match, TAG_BASE + TAG_LONG, MASK_FULL);
        void *send_req = ucp_tag_send_nbx(match->ep, match->message, LONG_LENGTH,
                                          TAG_BASE + TAG_LONG, &param);

        wait_ok(match, recv_req, "long receive");
        wait_ok(match, send_req, "long send");
    }
}

static void fill_rtr(match_t *match, size_t count)
{
    size_t i;

    teach_long(match);
    for (i = 0; i < count; ++i) {
        match->reqs[i] = post_long(match, TAG_BASE + TAG_LONG, MASK_FULL);
    }
}

/* The last one is the wildcard. */
static void fill_rtr_queued(match_t *match, size_t count)
{
    size_t i;

    teach_long(match);
    match->reqs[count] = post_long(match, TAG_LONG, TAG_LONG);
    for (i = 0; i < count; ++i) {
        match->reqs[i] = post_long(match, TAG_BASE + TAG_LONG, MASK_FULL);
    }
}

static void drain_rtr_queued(match_t *match, size_t count)
{
    drain_posted(match, count + 1);
}

/* Time `batches` batches of `seconds` together into times[], in ns per step */
static void measure(match_t *match, void (*step)(match_t *match), double seconds,
                    int batches, double *times)
{
    double start;
    long count, i;
    int batch;

    /* Warm-up, which also says how many steps make a batch */
    start = bench_now();
    for (count = 0; bench_now() - start < seconds / 10; count += 10) {
        for (i = 0; i < 10; ++i) {
            step(match);
        }
    }
    count = seconds / batches * count / (bench_now() - start);
    count = (count > 0) ? count : 1;

    for (batch = 0; batch < batches; ++batch) {
        start = bench_now();
        for (i = 0; i < count; ++i) {
            step(match);
        }
        times[batch] = (bench_now() - start) / count * 1e9;
    }
}

static void run_case(match_t *match, const match_case_t *test, const char *suffix,
                     size_t count, double seconds, int batches)
{
    int per_turn = (batches + TURNS - 1) / TURNS;
    double empty[BENCH_MAX_BATCHES + TURNS], full[BENCH_MAX_BATCHES + TURNS];
    char name[64];
    int turn;

    count = (test->count != 0) ? test->count : count;
    for (turn = 0; turn < TURNS; ++turn) {
        measure(match, test->step, seconds / TURNS, per_turn, &empty[turn * per_turn]);
        test->fill(match, count);
        measure(match, test->step, seconds / TURNS, per_turn, &full[turn * per_turn]);
        test->drain(match, count);
    }

    snprintf(name, sizeof(name), "%s%s", test->name, suffix);
    bench_print(name, 0, bench_median(empty, TURNS * per_turn), "ns", 0);
    bench_print(name, count, bench_median(full, TURNS * per_turn), "ns", 0);
}

static ucp_ep_h match_connect(ucp_worker_h from, ucp_worker_h to)
{
    ucp_ep_params_t params = {0};
    ucp_address_t *address;
    size_t length;
    ucp_ep_h ep;

    check(ucp_worker_get_address(to, &address, &length), "ucp_worker_get_address");
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = address;
    check(ucp_ep_create(from, &params, &ep), "ucp_ep_create");
    ucp_worker_release_address(to, address);
    return ep;
}

static void match_init(match_t *match, size_t count)
{
    ucp_worker_params_t worker_params = {0};
    ucp_params_t params               = {0};
    ucp_config_t *config;

    match->serial   = 0;
    match->reqs     = calloc(count + LONG_QUEUED + 1, sizeof(*match->reqs));
    match->message  = calloc(1, LONG_LENGTH);
    match->received = calloc(1, LONG_LENGTH);
    if ((match->reqs == NULL) || (match->message == NULL) || (match->received == NULL)) {
        fprintf(stderr, "tag_match: out of memory\n");
        exit(EXIT_FAILURE);
    }

    check(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG;
    check(ucp_init(&params, config, &match->context), "ucp_init");
    ucp_config_release(config);

    worker_params.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(match->context, &worker_params, &match->sender),
          "ucp_worker_create");
    check(ucp_worker_create(match->context, &worker_params, &match->receiver),
          "ucp_worker_create");
    match->ep   = match_connect(match->sender, match->receiver);
    match->back = match_connect(match->receiver, match->sender);
}

static void match_cleanup(match_t *match)
{
    static const ucp_request_param_t param = {0};

    wait_ok(match, ucp_ep_close_nbx(match->ep, &param), "ucp_ep_close_nbx");
    wait_ok(match, ucp_ep_close_nbx(match->back, &param), "ucp_ep_close_nbx");
    ucp_worker_destroy(match->sender);
    ucp_worker_destroy(match->receiver);
    ucp_cleanup(match->context);
    free(match->reqs);
    free(match->message);
    free(match->received);
}

static void run_cases(match_t *match, const match_case_t *cases, size_t num_cases,
                      size_t count, double seconds, int batches)
{
    size_t i;

    for (i = 0; i < num_cases; ++i) {
        match->mask = MASK_FULL;
        run_case(match, &cases[i], "", count, seconds, batches);
        match->mask = MASK_MPICH;
        run_case(match, &cases[i], "_mpich", count, seconds, batches);
    }
}

int main(int argc, char **argv)
{
    static const match_case_t cases[] = {
            {"match_posted", 0, fill_posted, drain_posted, step_posted},
            {"match_unexp", 0, fill_unexp, drain_unexp, step_posted},
            {"match_late", 0, fill_unexp, drain_unexp, step_late}};
    static const match_case_t rtr_cases[] = {
            {"match_rtr", 1, fill_rtr, drain_posted, step_posted},
            {"match_rtr_queued", LONG_QUEUED, fill_rtr_queued, drain_rtr_queued,
             step_posted}};
    double count   = 10000;
    double seconds = 0.15;
    double batches = 50;
    int bad        = 0;
    int rtr        = 0;
    match_t match;
    int c;

    while ((c = getopt(argc, argv, "n:t:b:rh")) != -1) {
        switch (c) {
        case 'n':
            bad |= bench_parse_number("-n", optarg, 1, 10e6, &count);
            break;
        case 't':
            bad |= bench_parse_number("-t", optarg, 0.001, 1000, &seconds);
            break;
        case 'b':
            bad |= bench_parse_number("-b", optarg, 1, BENCH_MAX_BATCHES, &batches);
            break;
        case 'r':
            rtr = 1;
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

    match_init(&match, count);
    if (rtr) {
        run_cases(&match, rtr_cases, sizeof(rtr_cases) / sizeof(*rtr_cases), count,
                  seconds, batches);
    } else {
        run_cases(&match, cases, sizeof(cases) / sizeof(*cases), count, seconds, batches);
    }
    match_cleanup(&match);
    return EXIT_SUCCESS;
}
