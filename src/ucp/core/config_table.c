/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names, types, defaults and documentation of the variables.
 */
#include "config_table.h"
#include "config.h"
#include "../wire/wire.h"
#include "../../uct/ib/channel.h"
#include "../../uct/ib/ud_transfer.h"

#define FIELD(_member) offsetof(ri_config_t, _member)

/* In the order of ri_sender_scheme_t, of ri_config_transport_t, and of ri_log_level_t. */
static const char *const config_schemes[]    = {"auto", "get", "put", NULL};
static const char *const config_transports[] = {"auto", "rc", "ud", NULL};
static const char *const config_log_levels[] = {"error", "warn", "info", "debug", NULL};

const ri_config_field_t ri_config_fields[] = {
        {"EAGER_THRESH", RI_CONFIG_SIZE, "auto", FIELD(eager_thresh),
         "Messages up to this size are sent eagerly: copied into the ring of the pair\n"
         "or into one active message. At most 1/4 of RING_SIZE and 32k. auto: from "
         "costs\n"
         "measured at start, as the next two (ucxri_info shows them).",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF},
        {"HYBRID_THRESH", RI_CONFIG_SIZE, "auto", FIELD(hybrid_thresh),
         "Messages above EAGER_THRESH and up to this size are copied to a pool if their\n"
         "receive is not known yet; the send is complete then, and the receiver reads\n"
         "from there. 0 turns that off.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF},
        {"COOP_THRESH", RI_CONFIG_SIZE, "auto", FIELD(coop_thresh),
         "Messages of this size and above are copied by sender and receiver together,\n"
         "as far as each of them is in the library. inf turns that off.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF},
        {"SENDER_SCHEME", RI_CONFIG_NAME, "auto", FIELD(scheme),
         "Who moves a message when the sender is first: get (the receiver reads it), "
         "put\n"
         "(the sender writes it), or auto: get. If the system allows only one of the "
         "two,\n"
         "that one is used.",
         .names = config_schemes},
        {"RTR", RI_CONFIG_TERNARY, "auto", FIELD(rtr),
         "Let receives that are posted early tell the sender where to write. auto: "
         "where\n"
         "that pays, because the receiver is busy with something else when the message\n"
         "is sent.",
         .flags = 0},
        {"TAG_SENDER_MASK", RI_CONFIG_HEX, "auto", FIELD(tag_sender_mask),
         "Which bits of a tag tell the sender apart (a hexadecimal number). auto: as "
         "the\n"
         "application says, else the layout of MPICH if it is MPICH, else learnt.",
         .flags = RI_CONFIG_AUTO},
        {"POOL_SIZE", RI_CONFIG_SIZE, "4m", FIELD(pool_size),
         "Memory of a worker for messages of up to HYBRID_THRESH that wait for their\n"
         "receiver. When it is used up, they wait in the application's memory.",
         .flags = RI_CONFIG_INF},
        {"AM_INLINE", RI_CONFIG_SIZE, "1k", FIELD(am_inline),
         "Contiguous messages up to this size that go by active message are copied\n"
         "behind their header; above it, header and payload are gathered without a\n"
         "copy.",
         .flags = RI_CONFIG_INF},
        {"RING_PEERS", RI_CONFIG_COUNT, "64", FIELD(ring_peers),
         "How many peers on the same host may have a ring in shared memory to send to\n"
         "this process; the least recently active give theirs back. 0 turns rings off.",
         .max = 4096},
        {"RING_SIZE", RI_CONFIG_SIZE, "64k", FIELD(ring_size),
         "Size of one ring, a power of two. One page more is used for its indices.",
         .flags = RI_CONFIG_POWER, .min = 4096, .max = 1 << 30},
        {"RING_AFTER", RI_CONFIG_COUNT, "4", FIELD(ring_after),
         "A pair gets its ring after this many messages in one direction.",
         .flags = RI_CONFIG_INF},
        {"CMA", RI_CONFIG_BOOL, "y", FIELD(cma),
         "Messages above EAGER_THRESH between processes of one host are copied straight\n"
         "from memory to memory (process_vm_readv, process_vm_writev), where the system\n"
         "allows that.",
         .flags = 0},
        {"REG_CACHE", RI_CONFIG_BOOL, "y", FIELD(reg_cache),
         "Keep memory registered with an HCA when a message is done, until it is\n"
         "unmapped. Needs UCX's memory events (UCX_MEM_EVENTS). n: it is registered for\n"
         "each message.",
         .flags = 0},
        {"REG_CACHE_SIZE", RI_CONFIG_SIZE, "inf", FIELD(reg_cache_size),
         "How much memory of a process may be registered before what was not used for\n"
         "longest is given up. Memory in use stays, whatever the limit; none of it can\n"
         "be swapped out.",
         .flags = RI_CONFIG_INF},
        {"REG_CACHE_REGIONS", RI_CONFIG_NUMBER, "4096", FIELD(reg_cache_count),
         "The same as a number of regions. Each takes an entry in the tables of\n"
         "the HCA.",
         .flags = RI_CONFIG_INF},
        {"PROGRESS_SKIP", RI_CONFIG_COUNT, "8", FIELD(progress_skip),
         "While messages arrive through rings, UCX's own progress is called at every\n"
         "n-th call only. 1 calls it always.",
         .flags = RI_CONFIG_INF, .min = 1},
        {"IB_DEVICES", RI_CONFIG_TEXT, "auto", FIELD(ib_devices),
         "InfiniBand and RoCE devices that may be used, in the order of preference:\n"
         "names, or names with a port (mlx5_0:1,mlx5_1). The first with an active port "
         "is\n"
         "used, and the fastest port of it. all: the fastest of all; empty: none. auto:\n"
         "the fastest of those that UCX may use (UCX_NET_DEVICES, UCX_TLS), if there is\n"
         "only one.",
         .flags = 0},
        {"IB_TRANSPORT", RI_CONFIG_NAME, "auto", FIELD(ib_transport),
         "How messages travel there: rc (a connection for each peer), ud (datagrams,\n"
         "which take no more queue pairs for more peers), or auto: rc for up to\n"
         "RC_MAX_PEERS peers, ud for others.",
         .names = config_transports},
        {"IB_GID_INDEX", RI_CONFIG_NUMBER, "auto", FIELD(ib_gid_index),
         "Which entry of the port's GID table is its address. auto: on RoCE one of "
         "RoCE\n"
         "v2 and IPv4 if there is one, 0 on InfiniBand.",
         .flags = RI_CONFIG_AUTO, .max = UINT8_MAX},
        {"IB_PKEY", RI_CONFIG_HEX, "auto", FIELD(ib_pkey),
         "Partition of the network: the number of a P_Key, in hexadecimal, with or\n"
         "without the bit of full members. Ports that are not in it are not used. auto:\n"
         "the first one of which the port is a full member. See UCX_IB_PKEY.",
         .flags = RI_CONFIG_AUTO, .min = 1, .max = UINT16_MAX},
        {"IB_SL", RI_CONFIG_NUMBER, "auto", FIELD(ib_sl),
         "Service level (InfiniBand) or priority (RoCE), 0 to 15. auto: 0. See "
         "UCX_IB_SL.",
         .flags = RI_CONFIG_AUTO, .max = 15},
        {"IB_TRAFFIC_CLASS", RI_CONFIG_NUMBER, "auto", FIELD(ib_traffic_class),
         "Traffic class of packets that have a global header, 0 to 255. auto: 106 on\n"
         "RoCE v2, else 0, as with UCX_IB_TRAFFIC_CLASS.",
         .flags = RI_CONFIG_AUTO, .max = UINT8_MAX},
        {"IB_TX_QUEUE", RI_CONFIG_COUNT, "256", FIELD(ib_tx_queue),
         "How many work requests may be under way to one peer. At most what the device\n"
         "allows.",
         .min = 1, .max = 65536},
        {"IB_IDLE", RI_CONFIG_TIME, "60s", FIELD(ib_idle),
         "A connection of verbs that was not used for so long is closed, if the peer\n"
         "agrees, and made again when it is needed. 0 or inf: never.",
         .flags = RI_CONFIG_INF},
        {"RC_MAX_PEERS", RI_CONFIG_COUNT, "256", FIELD(rc_max_peers),
         "How many connections of verbs each worker has at most. Further peers are\n"
         "reached by datagrams; with IB_TRANSPORT=rc, the connection that was not used\n"
         "for longest is closed when another one is needed.",
         .flags = RI_CONFIG_INF, .min = 1},
        {"IB_EAGER_PEERS", RI_CONFIG_COUNT, "16", FIELD(ib_eager_peers),
         "How many peers may have a buffer in this process into which they write "
         "control\n"
         "and short messages by RDMA (verbs), and into how many it writes itself; the\n"
         "least recently active give theirs back. 0: none.",
         .max = 4096},
        {"IB_EAGER_SIZE", RI_CONFIG_SIZE, "64k", FIELD(ib_eager_size),
         "Size of one such buffer, a power of two. Both sides have memory of that size\n"
         "registered for it.",
         .flags = RI_CONFIG_POWER, .min = RI_CHANNEL_SIZE_MIN,
         .max = RI_CHANNEL_SIZE_MAX},
        {"IB_EAGER_MAX", RI_CONFIG_SIZE, "auto", FIELD(ib_eager_max),
         "Messages up to this size go that way. At most EAGER_THRESH and nearly 1/4 of\n"
         "IB_EAGER_SIZE. auto, 0: control messages only, which tell of longer ones.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF},
        {"IB_EAGER_AFTER", RI_CONFIG_COUNT, "64", FIELD(ib_eager_after),
         "A pair gets its buffer after this many active messages in one direction.",
         .flags = RI_CONFIG_INF},
        {"UD_QPS", RI_CONFIG_COUNT, "64", FIELD(ud_qps),
         "How many queue pairs a worker has for messages that come as datagrams. Each\n"
         "takes one such message at a time; further ones wait.",
         .min = 1, .max = 4096},
        {"UD_WINDOW", RI_CONFIG_COUNT, "512", FIELD(ud_window),
         "How many datagrams of such a message may be under way. A power of two, else\n"
         "the next one below.",
         .min = RI_UD_WINDOW_MIN, .max = RI_UD_WINDOW_MAX},
        {"UD_TIMEOUT", RI_CONFIG_TIME, "300s", FIELD(ud_timeout),
         "How long a sender of datagrams waits for a receiver that does not answer.\n"
         "inf: for ever.",
         .flags = RI_CONFIG_INF | RI_CONFIG_POSITIVE},
        {"UD_REPAIR", RI_CONFIG_BOOL, "y", FIELD(ud_repair),
         "Whether a receiver asks for those datagrams only that got lost. n: for the "
         "whole\n"
         "message again, as often as it takes.",
         .flags = 0},
        {"REORDER_WINDOW", RI_CONFIG_NUMBER, "1048576", FIELD(reorder_window),
         "How many messages may overtake the next one in order of a connection before\n"
         "the peer is taken to be broken and its messages are dropped.",
         .max = 1 << 30},
        {"CONNECT_TIMEOUT", RI_CONFIG_TIME, "300s", FIELD(connect_timeout),
         "A peer reached by socket address that has not answered for so long while\n"
         "this process waits for it is taken to run without this library. inf waits\n"
         "for ever.",
         .flags = RI_CONFIG_INF | RI_CONFIG_POSITIVE},
        {"CLOSE_TIMEOUT", RI_CONFIG_TIME, "2s", FIELD(close_timeout),
         "How long the close of an endpoint waits for a peer that has not received all\n"
         "messages yet and shows no sign of progress. Such messages can be received\n"
         "later, as long as the worker exists. inf waits for ever.",
         .flags = RI_CONFIG_INF},
        {"AM_ID", RI_CONFIG_COUNT, "4079", FIELD(am_id),
         "The active message id that this library takes for itself on each worker. Not\n"
         "one that the application uses. Each process tells its own in its worker\n"
         "address; only where socket addresses are used it must be the same in all.",
         .max = RI_WIRE_AM_ID_MAX},
        {"LOG_LEVEL", RI_CONFIG_NAME, "warn", FIELD(log_level),
         "What is printed on stderr: error, warn, info or debug.",
         .names = config_log_levels},
        {"STATS", RI_CONFIG_BOOL, "n", FIELD(stats),
         "Dump the counters of each worker when it is destroyed or the process exits.",
         .flags = 0},
        {"STATS_DEST", RI_CONFIG_OUTPUT, "stderr", FIELD(stats_dest),
         "Where the counters go: stderr, stdout or a file name, in which %p is the\n"
         "process id and %h the host.",
         .flags = 0},
        {"REPORT", RI_CONFIG_BOOL, "n", FIELD(report),
         "Print at the end of each process what went by which protocol, and why: one\n"
         "line in each of two tables for all ranks (ucxri_info -r sums them up).",
         .flags = 0},
        {"REPORT_DEST", RI_CONFIG_OUTPUT, "stderr", FIELD(report_dest),
         "Where the report goes: stderr, stdout or a file name, in which %p is the\n"
         "process id and %h the host.",
         .flags = 0},
        {"TRACE", RI_CONFIG_BOOL, "n", FIELD(trace),
         "Keep the latest protocol events of each worker in memory. They are dumped on\n"
         "SIGUSR2, on an error, and at exit.",
         .flags = 0},
        {"TRACE_SIZE", RI_CONFIG_COUNT, "4096", FIELD(trace_size),
         "How many events each worker keeps, rounded up to a power of two.",
         .max = 1 << 24},
        {"TRACE_DEST", RI_CONFIG_OUTPUT, "stderr", FIELD(trace_dest),
         "Where the trace goes: stderr, stdout or a file name, in which %p is the\n"
         "process id and %h the host.",
         .flags = 0},
};

const size_t ri_config_num_fields = sizeof(ri_config_fields) /
                                    sizeof(ri_config_fields[0]);
