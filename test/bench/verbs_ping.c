/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs between two processes of one host, on the first RDMA device: latency, bandwidth, and
 * transfers between processes that compute. For the software HCA's link model, which is to
 * hold real time:
 *
 *   cc -O2 -o verbs_ping verbs_ping.c -libverbs
 *   SOFTHCA_LINK=ddr LD_PRELOAD=libsofthca.so ./verbs_ping
 *
 * Prints lines "RESULT <what> <bytes> <median> <unit> <best>":
 *   verbs_send   half the time of a send there and back, both sides poll
 *   verbs_write  rate of RDMA writes, 8 under way, the requester polls
 *   verbs_idle   from the post of an RDMA write until its last byte is seen, while neither
 *                side calls verbs
 */
#define _GNU_SOURCE
#include "bench.h"

#include <infiniband/verbs.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PING_MAX_SIZE (1ul << 20)
#define PING_WINDOW   8
#define PING_BATCHES  200
#define PING_LIMIT    20.0 /* seconds that one completion may take */

/* One process's end of the connection. */
typedef struct {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory; /* twice PING_MAX_SIZE: to send from, and to receive into */
    int socket;
} ping_end_t;

typedef struct {
    uint32_t qpn;
    uint16_t lid;
    union ibv_gid gid;
    uint64_t address;
    uint32_t rkey;
} ping_peer_t;

/* What both processes see: when the other one saw the last byte. */
static _Atomic double *ping_seen;

static void ping_check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "verbs_ping: %s failed: %s\n", what, strerror(errno));
        exit(EXIT_FAILURE);
    }
}

static void ping_open(ping_end_t *end)
{
    struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .sq_sig_all = 1};
    struct ibv_device **list     = ibv_get_device_list(NULL);

    ping_check((list != NULL) && (list[0] != NULL), "looking for a device");
    end->context = ibv_open_device(list[0]);
    ping_check(end->context != NULL, "ibv_open_device");
    end->pd = ibv_alloc_pd(end->context);
    end->cq = ibv_create_cq(end->context, 256, NULL, NULL, 0);
    ping_check(posix_memalign((void **)&end->memory, 4096, 2 * PING_MAX_SIZE) == 0,
               "memory");
    memset(end->memory, 0, 2 * PING_MAX_SIZE);
    end->mr = ibv_reg_mr(end->pd, end->memory, 2 * PING_MAX_SIZE,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ping_check((end->cq != NULL) && (end->mr != NULL), "registration");
    init.send_cq = init.recv_cq = end->cq;
    init.cap                    = (struct ibv_qp_cap){
                               .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1};
    end->qp = ibv_create_qp(end->pd, &init);
    ping_check(end->qp != NULL, "ibv_create_qp");
    ibv_free_device_list(list);
}

static void ping_connect(const ping_end_t *end, const ping_peer_t *peer)
{
    struct ibv_qp_attr attr = {.qp_state        = IBV_QPS_INIT,
                               .port_num        = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

    ping_check(ibv_modify_qp(end->qp, &attr,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                     IBV_QP_ACCESS_FLAGS) == 0,
               "INIT");
    attr = (struct ibv_qp_attr){.qp_state           = IBV_QPS_RTR,
                                .path_mtu           = IBV_MTU_1024,
                                .dest_qp_num        = peer->qpn,
                                .max_dest_rd_atomic = 1,
                                .min_rnr_timer      = 1};

    attr.ah_attr.dlid          = peer->lid;
    attr.ah_attr.port_num      = 1;
    attr.ah_attr.is_global     = peer->lid == 0;
    attr.ah_attr.grh.dgid      = peer->gid;
    attr.ah_attr.grh.hop_limit = 64;
    ping_check(ibv_modify_qp(end->qp, &attr,
                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ==
                       0,
               "RTR");
    attr = (struct ibv_qp_attr){.qp_state      = IBV_QPS_RTS,
                                .timeout       = 14,
                                .retry_cnt     = 7,
                                .rnr_retry     = 7,
                                .max_rd_atomic = 1};
    ping_check(ibv_modify_qp(end->qp, &attr,
                             IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                                     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                     IBV_QP_MAX_QP_RD_ATOMIC) == 0,
               "RTS");
}

/* A byte each way: both are there. */
static void ping_meet(const ping_end_t *end)
{
    char c = 0;

    ping_check((write(end->socket, &c, 1) == 1) && (read(end->socket, &c, 1) == 1),
               "talking to the other process");
}

static ping_peer_t ping_exchange(const ping_end_t *end)
{
    struct ibv_port_attr port = {0};
    ping_peer_t own = {0}, peer = {0};

    ibv_query_port(end->context, 1, &port);
    ibv_query_gid(end->context, 1, 0, &own.gid);
    own.qpn     = end->qp->qp_num;
    own.lid     = port.lid;
    own.address = (uintptr_t)end->memory + PING_MAX_SIZE;
    own.rkey    = end->mr->rkey;
    ping_check((write(end->socket, &own, sizeof(own)) == sizeof(own)) &&
                       (read(end->socket, &peer, sizeof(peer)) == sizeof(peer)),
               "exchange of addresses");
    return peer;
}

static void ping_poll(const ping_end_t *end, enum ibv_wc_opcode until)
{
    double limit = bench_now() + PING_LIMIT;
    struct ibv_wc wc;

    do {
        while (ibv_poll_cq(end->cq, 1, &wc) == 0) {
            ping_check(bench_now() < limit, "waiting for a completion");
        }
        ping_check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    } while (wc.opcode != until);
}

static void ping_recv(const ping_end_t *end, size_t size)
{
    struct ibv_sge sge    = {.addr   = (uintptr_t)end->memory + PING_MAX_SIZE,
                             .length = (uint32_t)size,
                             .lkey   = end->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

    ping_check(ibv_post_recv(end->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void ping_post(const ping_end_t *end, const ping_peer_t *write_to, size_t size)
{
    struct ibv_sge sge    = {.addr   = (uintptr_t)end->memory,
                             .length = (uint32_t)size,
                             .lkey   = end->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;

    if (write_to != NULL) {
        wr.opcode              = IBV_WR_RDMA_WRITE;
        wr.wr.rdma.remote_addr = write_to->address;
        wr.wr.rdma.rkey        = write_to->rkey;
    }
    ping_check(ibv_post_send(end->qp, &wr, &bad) == 0, "ibv_post_send");
}

static void ping_print(const char *what, size_t size, double *values, int count,
                       const char *unit, int largest_is_best)
{
    qsort(values, (size_t)count, sizeof(*values), bench_compare_double);
    printf("RESULT %s %zu %.2f %s %.2f\n", what, size, values[count / 2], unit,
           values[largest_is_best ? count - 1 : 0]);
}

static void ping_send(const ping_end_t *end, int first, size_t size)
{
    static double half[PING_BATCHES * 10];
    const int count = PING_BATCHES * 10;
    double start;
    int i;

    ping_recv(end, size);
    ping_meet(end);
    for (i = 0; i < count; ++i) {
        start = bench_now();
        if (first) {
            ping_post(end, NULL, size);
        }
        ping_poll(end, IBV_WC_RECV);
        half[i] = (bench_now() - start) / 2 * 1e6;
        if (!first) {
            ping_post(end, NULL, size);
        }
        /* In time for the next one */
        if (i + 1 < count) {
            ping_recv(end, size);
        }
    }
    ping_meet(end);
    if (first) {
        ping_print("verbs_send", size, half, count, "us", 0);
    }
}

static void ping_write(const ping_end_t *end, int first, size_t size,
                       const ping_peer_t *peer)
{
    static double rate[PING_BATCHES];
    double start, now;
    int i, j;

    ping_meet(end);
    for (i = 0; first && (i < PING_WINDOW); ++i) {
        ping_post(end, peer, size);
    }
    start = bench_now();
    for (i = 0; first && (i < PING_BATCHES); ++i, start = now) {
        for (j = 0; j < PING_WINDOW; ++j) {
            ping_poll(end, IBV_WC_RDMA_WRITE);
            ping_post(end, peer, size);
        }
        now     = bench_now();
        rate[i] = (double)(size * PING_WINDOW) / (now - start) / 1e6;
    }
    for (i = 0; first && (i < PING_WINDOW); ++i) {
        ping_poll(end, IBV_WC_RDMA_WRITE);
    }
    ping_meet(end);
    if (first) {
        /* The first batch was under way already */
        ping_print("verbs_write", size, rate + 1, PING_BATCHES - 1, "MB/s", 1);
    }
}

static void ping_idle(const ping_end_t *end, int first, size_t size,
                      const ping_peer_t *peer)
{
    volatile uint8_t *last = end->memory + PING_MAX_SIZE + size - 1;
    double limit, start, took[PING_BATCHES];
    int i;

    for (i = 0; i < PING_BATCHES; ++i) {
        end->memory[size - 1] = (uint8_t)(i + 1);
        *ping_seen            = 0;
        ping_meet(end);
        start = bench_now();
        limit = start + PING_LIMIT;
        if (first) {
            ping_post(end, peer, size);
            while (*ping_seen == 0) {
                ping_check(bench_now() < limit, "waiting for the last byte");
            }
            took[i] = (*ping_seen - start) * 1e6;
            ping_poll(end, IBV_WC_RDMA_WRITE);
        } else {
            while (*last != (uint8_t)(i + 1)) {
                ping_check(bench_now() < limit, "waiting for the last byte");
            }
            *ping_seen = bench_now();
        }
        ping_meet(end);
    }
    if (first) {
        ping_print("verbs_idle", size, took, PING_BATCHES, "us", 0);
    }
}

static void ping_run(int first, int socket)
{
    static const size_t sizes[] = {8, 4096, 65536, PING_MAX_SIZE};
    ping_end_t end              = {.socket = socket};
    ping_peer_t peer;
    size_t i;

    ping_open(&end);
    peer = ping_exchange(&end);
    ping_connect(&end, &peer);
    for (i = 0; i < 2; ++i) {
        ping_send(&end, first, sizes[i]);
    }
    for (i = 1; i < 4; ++i) {
        ping_write(&end, first, sizes[i], &peer);
    }
    for (i = 0; i < 4; ++i) {
        ping_idle(&end, first, sizes[i], &peer);
    }
    ibv_destroy_qp(end.qp);
    ibv_dereg_mr(end.mr);
    ibv_destroy_cq(end.cq);
    ibv_dealloc_pd(end.pd);
    ibv_close_device(end.context);
}

int main(int argc, char **argv)
{
    int status = 0, sockets[2];
    pid_t child;

    if (argc > 1) {
        fprintf(stderr, "Usage: verbs_ping\nVerbs between two processes of one host.\n");
        return strcmp(argv[1], "-h") ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    ping_seen = mmap(NULL, sizeof(*ping_seen), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ping_check(ping_seen != MAP_FAILED, "mmap");
    ping_check(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    child = fork();
    ping_check(child >= 0, "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(sockets[0]);
        ping_run(0, sockets[1]);
        return EXIT_SUCCESS;
    }
    close(sockets[1]);
    ping_run(1, sockets[0]);
    waitpid(child, &status, 0);
    return (WIFEXITED(status) && (WEXITSTATUS(status) == 0)) ? EXIT_SUCCESS :
                                                               EXIT_FAILURE;
}
