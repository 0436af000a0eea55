/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names, types, defaults and documentation of the variables.
 */
#include "config_table.h"
#include "../../../ucs/log.h"
#include "../../../ucs/settings.h"
#include "../../wire/grid.h"
#include "../../wire/wire.h"
#include "../../../uct/ib/rc/rc_channel.h"
#include "../../../uct/ib/ud/ud_transfer.h"

#define FIELD(_member) offsetof(ri_config_t, _member)

/* Names of values, each list with NULL behind its last one. */
static const char *const config_schemes[]    = {[RI_SENDER_SCHEME_AUTO] = "auto",
                                                [RI_SENDER_SCHEME_GET]  = "get",
                                                [RI_SENDER_SCHEME_PUT]  = "put",
                                                NULL};
static const char *const config_transports[] = {[RI_CONFIG_TRANSPORT_AUTO] = "auto",
                                                [RI_CONFIG_TRANSPORT_RC]   = "rc",
                                                [RI_CONFIG_TRANSPORT_UD]   = "ud",
                                                NULL};
static const char *const config_log_levels[] = {[RI_LOG_LEVEL_ERROR] = "error",
                                                [RI_LOG_LEVEL_WARN]  = "warn",
                                                [RI_LOG_LEVEL_INFO]  = "info",
                                                [RI_LOG_LEVEL_DEBUG] = "debug",
                                                NULL};

const ri_config_field_t ri_config_fields[] = {
        {"EAGER_THRESH", RI_CONFIG_SIZE, "auto", FIELD(eager_thresh),
         "Messages up to this size are sent eagerly: copied into the ring of the\n"
         "pair, or into one active message. At most 1/4 of RING_SIZE and 32k. auto:\n"
         "computed from costs that are measured at start, as HYBRID_THRESH and\n"
         "COOP_THRESH are (ucxri_info prints them).",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_MEASURED},
        {"HYBRID_THRESH", RI_CONFIG_SIZE, "auto", FIELD(hybrid_thresh),
         "Messages above EAGER_THRESH and up to this size are copied to a pool if\n"
         "their receive is not known yet. Their send is complete then, and the\n"
         "receiver reads from the pool. 0: none.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_MEASURED},
        {"HYBRID_AWAY_MAX", RI_CONFIG_SIZE, "auto", FIELD(hybrid_away),
         "HYBRID_THRESH of messages within a host to a receiver that is away: it has\n"
         "said that it neither waits for long messages nor asks for them soon. auto:\n"
         "four times the HYBRID_THRESH that is measured, at most 1/8 of POOL_SIZE; or\n"
         "HYBRID_THRESH if that is set. Not below HYBRID_THRESH.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_MEASURED},
        {"COOP_THRESH", RI_CONFIG_SIZE, "auto", FIELD(coop_thresh),
         "Messages of this size and above are copied by sender and receiver\n"
         "together, as far as each of them is in a call. inf: none.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_MEASURED},
        {"SENDER_SCHEME", RI_CONFIG_NAME, "auto", FIELD(scheme),
         "Who moves a message when the sender is ready first: get (the receiver\n"
         "reads it), put (the sender writes it), or auto (get). If the system allows\n"
         "only one of the two, that one is used.",
         .names = config_schemes},
        {"RTR", RI_CONFIG_TERNARY, "auto", FIELD(rtr),
         "Whether receives that are posted early tell their sender where to write\n"
         "(RTR). auto: where that pays, because the receiver is busy with something\n"
         "else when the message is sent. y: wherever possible. n: never.",
         .flags = 0},
        {"TAG_SENDER_MASK", RI_CONFIG_HEX, "auto", FIELD(tag_sender_mask),
         "The bits of a tag that identify the sender, as a hexadecimal number. auto:\n"
         "as the application says; else the layout of MPICH's tags, if it is MPICH;\n"
         "else learnt.",
         .flags = RI_CONFIG_AUTO},
        {"POOL_SIZE", RI_CONFIG_SIZE, "4m", FIELD(pool_size),
         "Memory of a worker for messages that wait for their receiver: up to\n"
         "HYBRID_THRESH, and in half of it longer ones in many pieces that go through a\n"
         "network. When it is used up, they wait in the application's memory.",
         .flags = RI_CONFIG_INF},
        {"DT_LAYOUTS", RI_CONFIG_BOOL, "y", FIELD(dt_layouts),
         "Whether the library finds out where the data of an MPI's derived datatypes\n"
         "is, and packs and unpacks by itself. n: the MPI does, by its callbacks.",
         .flags = 0},
        {"DT_RUN_MIN", RI_CONFIG_SIZE, "auto", FIELD(dt_run_min),
         "Runs of a derived datatype of this length and more are moved one by one:\n"
         "written into a receive that was offered, or registered with a device.\n"
         "Shorter ones are packed. auto: 8k for receives within a host, else 4k. At\n"
         "least 1k. inf: all are packed.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_SEVERAL,
         .min = RI_GRID_RUN_MIN, .max = 1 << 30},
        {"AM_INLINE", RI_CONFIG_SIZE, "1k", FIELD(am_inline),
         "Contiguous messages up to this size that go by active message are copied\n"
         "behind their header. Above it, header and payload are gathered without a\n"
         "copy.",
         .flags = RI_CONFIG_INF},
        {"RING_PEERS", RI_CONFIG_COUNT, "64", FIELD(ring_peers),
         "How many peers on the same host may have a ring in shared memory into this\n"
         "process. The least recently active ones give theirs back. 0: no rings.",
         .max = 4096},
        {"RING_SIZE", RI_CONFIG_SIZE, "auto", FIELD(ring_size),
         "Size of one ring, a power of two. 8 KB more hold its indices.\n"
         "auto: 1m for the first 4 rings of a worker, 256k for the next 4, 64k for all\n"
         "others.",
         .flags = RI_CONFIG_POWER | RI_CONFIG_AUTO | RI_CONFIG_SEVERAL, .min = 4096,
         .max = 1 << 30},
        {"RING_EAGER_MAX", RI_CONFIG_SIZE, "auto", FIELD(ring_eager),
         "Contiguous messages up to this size go through a ring that has room for four\n"
         "of them, at most 64k. auto: measured if EAGER_THRESH is auto (of data in runs\n"
         "at least 16k), else EAGER_THRESH.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_MEASURED},
        {"RING_QUICK_MAX", RI_CONFIG_SIZE, "auto", FIELD(ring_quick),
         "The same for a ring that is found to be quick, as between cores that share a\n"
         "cache: at most 256k. auto: 256k, or RING_EAGER_MAX if that or EAGER_THRESH is\n"
         "set. Not above RING_EAGER_MAX: a quick ring is as all others.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_MEASURED},
        {"RING_AFTER", RI_CONFIG_COUNT, "4", FIELD(ring_after),
         "A pair gets its ring after this many messages in one direction.",
         .flags = RI_CONFIG_INF},
        {"RING_FAR", RI_CONFIG_TERNARY, "auto", FIELD(ring_far),
         "Whether the two cores of a ring are far from each other, as between sockets:\n"
         "its sender then writes messages from 3 KB on past its cache, and the\n"
         "receiver reads them from memory. auto: as a line of the receiver's takes\n"
         "longer to come than one of memory, or not.",
         .flags = 0},
        {"SHELF_PEERS", RI_CONFIG_COUNT, "8", FIELD(shelf_peers),
         "How many peers on the same host may have a shelf: shared memory by way of\n"
         "which both sides copy long messages (COOP_THRESH), without system calls. A\n"
         "peer gets one with its fourth such message, and gives it back with its\n"
         "ring. 0: no shelves.",
         .max = 4096},
        {"SHELF_SIZE", RI_CONFIG_SIZE, "1m", FIELD(shelf_size),
         "Size of one shelf, a power of two. Some pages more are used for its indices.",
         .flags = RI_CONFIG_POWER, .min = 1 << 16, .max = 1 << 30},
        {"CMA", RI_CONFIG_BOOL, "y", FIELD(cma),
         "Whether messages above EAGER_THRESH between processes of one host are\n"
         "copied straight from memory to memory (process_vm_readv,\n"
         "process_vm_writev), where the system allows it.",
         .flags = 0},
        {"RMA", RI_CONFIG_BOOL, "y", FIELD(rma),
         "Whether one-sided operations (put, get, atomics) between processes of one host\n"
         "are carried out by the process that asks for them, without the target: in\n"
         "memory that both map, or by direct copies (CMA). n at either side: UCX does\n"
         "them.",
         .flags = 0},
        {"RMA_THREAD", RI_CONFIG_BOOL, "y", FIELD(rma_thread),
         "Whether a process whose private memory others may use by atomic operations\n"
         "has a thread that does them while the process computes. It sleeps until it\n"
         "is called. n: they wait for the next progress of the process.",
         .flags = 0},
        {"WIN", RI_CONFIG_TERNARY, "auto", FIELD(win),
         "Whether windows of MPI are carried out by the library for windows, if\n"
         "ucxri_run has loaded it. y: also without the switch\n"
         "UCX_RNDV_SCHEME=recv_init, and with a warning if a window is left to the MPI.\n"
         "n at one rank leaves the windows of all to the MPI.",
         .flags = 0},
        {"WIN_HOSTS", RI_CONFIG_TERNARY, "auto", FIELD(win_hosts),
         "Whether that holds for windows with ranks on several hosts, too. Their locks\n"
         "and accumulates between hosts need progress of the target. auto: with MPICH,\n"
         "where that is so anyway. n at one rank leaves the windows of all to the MPI.",
         .flags = 0},
        {"REG_CACHE", RI_CONFIG_BOOL, "y", FIELD(reg_cache),
         "Whether memory stays registered with the adapter when a message is done,\n"
         "until it is unmapped. Needs UCX's memory events (UCX_MEM_EVENTS). n: it is\n"
         "registered for each message.",
         .flags = 0},
        {"REG_CACHE_SIZE", RI_CONFIG_SIZE, "inf", FIELD(reg_cache_size),
         "How much memory of a process may stay registered before the least recently\n"
         "used is given up. Memory in use stays registered, whatever the limit.\n"
         "Registered memory cannot be swapped out.",
         .flags = RI_CONFIG_INF},
        {"REG_CACHE_REGIONS", RI_CONFIG_NUMBER, "4096", FIELD(reg_cache_count),
         "How many regions of memory may stay registered. Each takes an entry in the\n"
         "adapter's tables.",
         .flags = RI_CONFIG_INF},
        {"PROGRESS_SKIP", RI_CONFIG_COUNT, "8", FIELD(progress_skip),
         "While messages arrive through rings, UCX's own progress is called at every\n"
         "n-th call only. 1: always.",
         .flags = RI_CONFIG_INF, .min = 1},
        {"IB_DEVICES", RI_CONFIG_TEXT, "auto", FIELD(ib_devices),
         "InfiniBand and RoCE devices that may be used, in the order of preference:\n"
         "names, or names with a port (mlx5_0:1,mlx5_1). The first with an active\n"
         "port is used, and its fastest port. all: the fastest port of all devices.\n"
         "Empty: none. auto: the fastest port that UCX may use (UCX_NET_DEVICES,\n"
         "UCX_TLS), if no other is as fast.",
         .flags = 0},
        {"IB_TRANSPORT", RI_CONFIG_NAME, "auto", FIELD(ib_transport),
         "How messages travel through InfiniBand or RoCE. rc: by a queue pair for\n"
         "each peer. ud: by datagrams, which take no more queue pairs for more\n"
         "peers. auto: rc for up to RC_MAX_PEERS peers, ud for others.",
         .names = config_transports},
        {"IB_GID_INDEX", RI_CONFIG_NUMBER, "auto", FIELD(ib_gid_index),
         "Which entry of the port's GID table is its address. auto: on RoCE one of\n"
         "RoCE v2 and IPv4 if there is one, on InfiniBand 0.",
         .flags = RI_CONFIG_AUTO, .max = UINT8_MAX},
        {"IB_PKEY", RI_CONFIG_HEX, "auto", FIELD(ib_pkey),
         "Partition of the network: the number of a P_Key, in hexadecimal, with or\n"
         "without the bit of full members. Ports that are not in it are not used.\n"
         "auto: the first one of which the port is a full member. See UCX_IB_PKEY.",
         .flags = RI_CONFIG_AUTO, .min = 1, .max = UINT16_MAX},
        {"IB_SL", RI_CONFIG_NUMBER, "auto", FIELD(ib_sl),
         "Service level (InfiniBand, 0 to 15) or priority (RoCE, 0 to 7). auto: 0.\n"
         "See UCX_IB_SL.",
         .flags = RI_CONFIG_AUTO, .max = 15},
        {"IB_TRAFFIC_CLASS", RI_CONFIG_NUMBER, "auto", FIELD(ib_traffic_class),
         "Traffic class of packets that have a global header, 0 to 255. auto: 106 on\n"
         "RoCE v2, else 0, as with UCX_IB_TRAFFIC_CLASS.",
         .flags = RI_CONFIG_AUTO, .max = UINT8_MAX},
        {"IB_TX_QUEUE", RI_CONFIG_COUNT, "256", FIELD(ib_tx_queue),
         "How many work requests may be under way to one peer. At most what the\n"
         "device allows.",
         .min = 1, .max = 65536},
        {"IB_HYBRID_THRESH", RI_CONFIG_SIZE, "auto", FIELD(hybrid_net),
         "HYBRID_THRESH of messages between hosts. auto: four times the HYBRID_THRESH\n"
         "that is measured, at most 1/16 of POOL_SIZE; or HYBRID_THRESH if that is set.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF | RI_CONFIG_MEASURED},
        {"IB_IDLE", RI_CONFIG_TIME, "60s", FIELD(ib_idle),
         "A queue pair that was not used for this long is closed, if the peer\n"
         "agrees, and made again when it is needed. 0 or inf: never.",
         .flags = RI_CONFIG_INF},
        {"RC_MAX_PEERS", RI_CONFIG_COUNT, "256", FIELD(rc_max_peers),
         "To how many peers each worker has a queue pair at most. Further peers are\n"
         "reached by datagrams. With IB_TRANSPORT=rc, the least recently used queue\n"
         "pair is closed when another one is needed.",
         .flags = RI_CONFIG_INF, .min = 1},
        {"IB_EAGER_PEERS", RI_CONFIG_COUNT, "16", FIELD(ib_eager_peers),
         "How many peers may have a buffer in this process into which they write\n"
         "control and short messages by RDMA, and to how many this process may write\n"
         "so. The least recently active ones give theirs back. 0: none.",
         .max = 4096},
        {"IB_EAGER_SIZE", RI_CONFIG_SIZE, "64k", FIELD(ib_eager_size),
         "Size of one buffer of IB_EAGER_PEERS, a power of two. Both sides have\n"
         "memory of that size registered for it.",
         .flags = RI_CONFIG_POWER, .min = RI_CHANNEL_SIZE_MIN,
         .max = RI_CHANNEL_SIZE_MAX},
        {"IB_EAGER_MAX", RI_CONFIG_SIZE, "auto", FIELD(ib_eager_max),
         "Messages up to this size go through the buffers of IB_EAGER_PEERS. At most\n"
         "EAGER_THRESH and nearly 1/4 of IB_EAGER_SIZE. auto, 0: control messages\n"
         "only.",
         .flags = RI_CONFIG_AUTO | RI_CONFIG_INF},
        {"IB_EAGER_AFTER", RI_CONFIG_COUNT, "64", FIELD(ib_eager_after),
         "A pair gets its buffer of IB_EAGER_PEERS after this many active messages\n"
         "in one direction.",
         .flags = RI_CONFIG_INF},
        {"UD_QPS", RI_CONFIG_COUNT, "64", FIELD(ud_qps),
         "How many queue pairs a worker has for messages that come as datagrams.\n"
         "Each takes one message at a time; further messages wait.",
         .min = 1, .max = 4096},
        {"UD_WINDOW", RI_CONFIG_COUNT, "512", FIELD(ud_window),
         "How many datagrams of one message may be under way: a power of two, else\n"
         "the next one below.",
         .min = RI_UD_WINDOW_MIN, .max = RI_UD_WINDOW_MAX},
        {"UD_TIMEOUT", RI_CONFIG_TIME, "300s", FIELD(ud_timeout),
         "How long a sender of datagrams waits for a receiver that does not answer.\n"
         "inf: for ever.",
         .flags = RI_CONFIG_INF | RI_CONFIG_POSITIVE},
        {"UD_REPAIR", RI_CONFIG_BOOL, "y", FIELD(ud_repair),
         "Whether a receiver asks for lost datagrams only. n: for the whole message\n"
         "again, as often as it takes.",
         .flags = 0},
        {"REORDER_WINDOW", RI_CONFIG_NUMBER, "1048576", FIELD(reorder_window),
         "How many messages of a connection may overtake the next one in order\n"
         "before the peer is considered broken and its messages are dropped.",
         .max = 1 << 30},
        {"CONNECT_TIMEOUT", RI_CONFIG_TIME, "300s", FIELD(connect_timeout),
         "How long a peer that was reached by socket address may take to answer\n"
         "before it is considered to run without this library. inf: for ever.",
         .flags = RI_CONFIG_INF | RI_CONFIG_POSITIVE},
        {"CLOSE_TIMEOUT", RI_CONFIG_TIME, "2s", FIELD(close_timeout),
         "How long the close of an endpoint waits for a peer that has not received\n"
         "all messages yet and shows no sign of progress. Such messages can be\n"
         "received later, as long as the worker exists. inf: for ever.",
         .flags = RI_CONFIG_INF},
        {"AM_ID", RI_CONFIG_COUNT, "4079", FIELD(am_id),
         "The active message id by which each worker takes the library's messages.\n"
         "The application must not use it. Each process tells its own in its worker\n"
         "address; only where peers meet by socket addresses it must be the same in\n"
         "all.",
         .max = RI_WIRE_AM_ID_MAX},
        {"LOG_LEVEL", RI_CONFIG_NAME, "warn", FIELD(log_level),
         "Which lines are printed on stderr: error, warn, info or debug.",
         .names = config_log_levels},
        {"STATS", RI_CONFIG_BOOL, "n", FIELD(stats),
         "Print the counters of each worker when it is destroyed or the process\n"
         "exits.",
         .flags = 0},
        {"STATS_DEST", RI_CONFIG_OUTPUT, "stderr", FIELD(stats_dest),
         "Where the counters go: stderr, stdout or a file name, in which %p is the\n"
         "process id, %h the host, %r the rank and %j the job.",
         .flags = 0},
        {"REPORT", RI_CONFIG_REPORT, "n", FIELD(report_how),
         "Print a report at the end of each process: messages by protocol, and where\n"
         "the time went. y: six lines for each rank, and one more each for one-sided\n"
         "operations and windows. json:FILE: as JSON to a file of its own, with sizes\n"
         "of messages and who was sent to; now and then, too, as the process may be\n"
         "killed. In its name %r is the rank, %j the job, %p the process id and %h the\n"
         "host. (ucxri_info -r, --html)",
         .flags = 0},
        {"REPORT_DEST", RI_CONFIG_OUTPUT, "stderr", FIELD(report_dest),
         "Where the report goes: stderr, stdout or a file name, in which %p is the\n"
         "process id, %h the host, %r the rank and %j the job.",
         .flags = 0},
        {"TRACE", RI_CONFIG_TRACE, "n", FIELD(trace_how),
         "y: keep the latest protocol events of each worker in memory. They are printed\n"
         "on SIGUSR2, on an error, and at exit. FILE: write a timeline of long messages,\n"
         "copies, computing and waiting to a file of its own (ucxri_info --timeline). In\n"
         "its name %r is the rank, %j the job, %p the process id and %h the host. A name\n"
         "of a file has a dot, a slash or a percent sign.",
         .flags = 0},
        {"TRACE_LIMIT", RI_CONFIG_SIZE, "64M", FIELD(trace_limit),
         "How long the file of a timeline becomes, per process.", .flags = RI_CONFIG_INF},
        {"TRACE_SIZE", RI_CONFIG_COUNT, "4096", FIELD(trace_size),
         "How many events each worker keeps, rounded up to a power of two.",
         .max = 1 << 24},
        {"TRACE_DEST", RI_CONFIG_OUTPUT, "stderr", FIELD(trace_dest),
         "Where the trace goes: stderr, stdout or a file name, in which %p is the\n"
         "process id, %h the host, %r the rank and %j the job.",
         .flags = 0},
};

const size_t ri_config_num_fields = sizeof(ri_config_fields) /
                                    sizeof(ri_config_fields[0]);
