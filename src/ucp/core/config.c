/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config.h"
#include "costs.h"
#include "log.h"
#include "../preload/stock.h"
#include "../../uct/ib/channel.h"
#include "../../uct/ib/ud_transfer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/sys/string.h>

#define CONFIG_PREFIX "UCXRI_"

/* How many messages of EAGER_THRESH at least a ring has room for, and of HYBRID_THRESH the pool,
 * if that is ours to say. */
#define CONFIG_RING_MESSAGES 8
#define CONFIG_POOL_MESSAGES 16

/* So many times longer, at least, takes an exchange of messages through a network than one within
 * a host: what a copy may cost grows with it. */
#define CONFIG_NET_EXCHANGE 4

/* Up to where the channel through a network is faster than active messages: nowhere, on the
 * software adapter, and no other one was tried. (performance.md) */
#define CONFIG_IB_EAGER_MAX 0

extern char **environ;

typedef struct config_field {
    const char *name;
    const char *type; /* of the UCS value parser: memunits, uint, bool, time_units, ... */
    const char *dfl;
    size_t offset;
    const char *doc;
} config_field_t;

#define FIELD(_member) offsetof(ri_config_t, _member)

static const config_field_t config_fields[] = {
        {"EAGER_THRESH", "memunits", "auto", FIELD(eager_thresh),
         "Messages up to this size are sent eagerly: copied into the ring of the pair\n"
         "or into one active message. At most 1/4 of RING_SIZE and 32k. auto: from "
         "costs\n"
         "measured at start, as the next two (ucxri_info shows them)."},
        {"HYBRID_THRESH", "memunits", "auto", FIELD(hybrid_thresh),
         "Messages above EAGER_THRESH and up to this size are copied to a pool if their\n"
         "receive is not known yet; the send is complete then, and the receiver reads\n"
         "from there. 0 turns that off."},
        {"COOP_THRESH", "memunits", "auto", FIELD(coop_thresh),
         "Messages of this size and above are copied by sender and receiver together,\n"
         "as far as each of them is in the library. inf turns that off."},
        {"SENDER_SCHEME", "string", "auto", FIELD(sender_scheme),
         "Who moves a message when the sender is first: get (the receiver reads it), "
         "put\n"
         "(the sender writes it), or auto: get. If the system allows only one of the "
         "two,\n"
         "that one is used."},
        {"RTR", "ternary_auto", "auto", FIELD(rtr),
         "Let receives that are posted early tell the sender where to write. auto: "
         "where\n"
         "that pays, because the receiver is busy with something else when the message\n"
         "is sent."},
        {"TAG_SENDER_MASK", "string", "auto", FIELD(tag_sender_mask),
         "Which bits of a tag tell the sender apart (a hexadecimal number). auto: as "
         "the\n"
         "application says, else the layout of MPICH if it is MPICH, else learnt."},
        {"POOL_SIZE", "memunits", "4m", FIELD(pool_size),
         "Memory of a worker for messages of up to HYBRID_THRESH that wait for their\n"
         "receiver. When it is used up, they wait in the application's memory."},
        {"AM_INLINE", "memunits", "1k", FIELD(am_inline),
         "Contiguous messages up to this size that go by active message are copied\n"
         "behind their header; above it, header and payload are gathered without a\n"
         "copy."},
        {"RING_PEERS", "uint", "64", FIELD(ring_peers),
         "How many peers on the same host may have a ring in shared memory to send to\n"
         "this process; the least recently active give theirs back. 0 turns rings off."},
        {"RING_SIZE", "memunits", "64k", FIELD(ring_size),
         "Size of one ring, a power of two. One page more is used for its indices."},
        {"RING_AFTER", "uint", "4", FIELD(ring_after),
         "A pair gets its ring after this many messages in one direction."},
        {"CMA", "bool", "y", FIELD(cma),
         "Messages above EAGER_THRESH between processes of one host are copied straight\n"
         "from memory to memory (process_vm_readv, process_vm_writev), where the system\n"
         "allows that."},
        {"REG_CACHE", "bool", "y", FIELD(reg_cache),
         "Keep memory registered with an HCA when a message is done, until it is\n"
         "unmapped. Needs UCX's memory events (UCX_MEM_EVENTS). n: it is registered for\n"
         "each message."},
        {"REG_CACHE_SIZE", "memunits", "inf", FIELD(reg_cache_size),
         "How much memory of a process may be registered before what was not used for\n"
         "longest is given up. Memory in use stays, whatever the limit; none of it can\n"
         "be swapped out."},
        {"REG_CACHE_REGIONS", "ulunits", "4096", FIELD(reg_cache_count),
         "The same as a number of regions. Each takes an entry in the tables of\n"
         "the HCA."},
        {"PROGRESS_SKIP", "uint", "8", FIELD(progress_skip),
         "While messages arrive through rings, UCX's own progress is called at every\n"
         "n-th call only. 1 calls it always."},
        {"IB_DEVICES", "string", "auto", FIELD(ib_devices),
         "InfiniBand and RoCE devices that may be used, in the order of preference:\n"
         "names, or names with a port (mlx5_0:1,mlx5_1). The first with an active port "
         "is\n"
         "used, and the fastest port of it. all: the fastest of all; empty: none. auto:\n"
         "the fastest of those that UCX may use (UCX_NET_DEVICES, UCX_TLS), if there is\n"
         "only one."},
        {"IB_TRANSPORT", "string", "auto", FIELD(ib_transport),
         "How messages travel there: rc (a connection for each peer), ud (datagrams,\n"
         "which take no more queue pairs for more peers), or auto: rc for up to\n"
         "RC_MAX_PEERS peers, ud for others."},
        {"IB_GID_INDEX", "ulunits", "auto", FIELD(ib_gid_index),
         "Which entry of the port's GID table is its address. auto: on RoCE one of "
         "RoCE\n"
         "v2 and IPv4 if there is one, 0 on InfiniBand."},
        {"IB_PKEY", "string", "auto", FIELD(ib_pkey),
         "Partition of the network: the number of a P_Key, in hexadecimal, with or\n"
         "without the bit of full members. Ports that are not in it are not used. auto:\n"
         "the first one of which the port is a full member. See UCX_IB_PKEY."},
        {"IB_SL", "ulunits", "auto", FIELD(ib_sl),
         "Service level (InfiniBand) or priority (RoCE), 0 to 15. auto: 0. See "
         "UCX_IB_SL."},
        {"IB_TRAFFIC_CLASS", "ulunits", "auto", FIELD(ib_traffic_class),
         "Traffic class of packets that have a global header, 0 to 255. auto: 106 on\n"
         "RoCE v2, else 0, as with UCX_IB_TRAFFIC_CLASS."},
        {"IB_TX_QUEUE", "uint", "256", FIELD(ib_tx_queue),
         "How many work requests may be under way to one peer. At most what the device\n"
         "allows."},
        {"IB_IDLE", "time", "60s", FIELD(ib_idle),
         "A connection of verbs that was not used for so long is closed, if the peer\n"
         "agrees, and made again when it is needed. 0 or inf: never."},
        {"RC_MAX_PEERS", "uint", "256", FIELD(rc_max_peers),
         "How many connections of verbs each worker has at most. Further peers are\n"
         "reached by datagrams; with IB_TRANSPORT=rc, the connection that was not used\n"
         "for longest is closed when another one is needed."},
        {"IB_EAGER_PEERS", "uint", "16", FIELD(ib_eager_peers),
         "How many peers may have a buffer in this process into which they write "
         "control\n"
         "and short messages by RDMA (verbs), and into how many it writes itself; the\n"
         "least recently active give theirs back. 0: none."},
        {"IB_EAGER_SIZE", "memunits", "64k", FIELD(ib_eager_size),
         "Size of one such buffer, a power of two. Both sides have memory of that size\n"
         "registered for it."},
        {"IB_EAGER_MAX", "memunits", "auto", FIELD(ib_eager_max),
         "Messages up to this size go that way. At most EAGER_THRESH and nearly 1/4 of\n"
         "IB_EAGER_SIZE. auto, 0: control messages only, which tell of longer ones."},
        {"IB_EAGER_AFTER", "uint", "64", FIELD(ib_eager_after),
         "A pair gets its buffer after this many active messages in one direction."},
        {"UD_QPS", "uint", "64", FIELD(ud_qps),
         "How many queue pairs a worker has for messages that come as datagrams. Each\n"
         "takes one such message at a time; further ones wait."},
        {"UD_WINDOW", "uint", "256", FIELD(ud_window),
         "How many datagrams of such a message may be under way. A power of two, else\n"
         "the next one below."},
        {"UD_TIMEOUT", "time", "300s", FIELD(ud_timeout),
         "How long a sender of datagrams waits for a receiver that does not answer.\n"
         "inf: for ever."},
        {"UD_REPAIR", "bool", "y", FIELD(ud_repair),
         "Whether a receiver asks for those datagrams only that got lost. n: for the "
         "whole\n"
         "message again, as often as it takes."},
        {"REORDER_WINDOW", "ulunits", "1048576", FIELD(reorder_window),
         "How many messages may overtake the next one in order of a connection before\n"
         "the peer is taken to be broken and its messages are dropped."},
        {"CONNECT_TIMEOUT", "time", "300s", FIELD(connect_timeout),
         "A peer reached by socket address that has not answered for so long while\n"
         "this process waits for it is taken to run without this library. inf waits\n"
         "for ever."},
        {"AM_ID", "uint", "4079", FIELD(am_id),
         "The active message id that this library takes for itself on each worker.\n"
         "Must be the same in all processes and not used by the application."},
        {"LOG_LEVEL", "string", "warn", FIELD(log_level),
         "What is printed on stderr: error, warn, info or debug."},
        {"STATS", "bool", "n", FIELD(stats),
         "Dump the counters of each worker when it is destroyed or the process exits."},
        {"STATS_DEST", "string", "stderr", FIELD(stats_dest),
         "Where the counters go: stderr, stdout or a file name, in which %p is the\n"
         "process id and %h the host."},
        {"REPORT", "bool", "n", FIELD(report),
         "Print at the end of each process what went by which protocol, and why: one\n"
         "line in each of two tables for all ranks (ucxri_info -r sums them up)."},
        {"REPORT_DEST", "string", "stderr", FIELD(report_dest),
         "Where the report goes: stderr, stdout or a file name, in which %p is the\n"
         "process id and %h the host."},
        {"TRACE", "bool", "n", FIELD(trace),
         "Keep the latest protocol events of each worker in memory. They are dumped on\n"
         "SIGUSR2, on an error, and at exit."},
        {"TRACE_SIZE", "uint", "4096", FIELD(trace_size),
         "How many events each worker keeps, rounded up to a power of two."},
        {"TRACE_DEST", "string", "stderr", FIELD(trace_dest),
         "Where the trace goes: stderr, stdout or a file name, in which %p is the\n"
         "process id and %h the host."},
};

#define CONFIG_VALUE_MAX 256

#define CONFIG_COUNT (sizeof(config_fields) / sizeof(config_fields[0]))

ri_config_t ri_config;

static ri_config_t config_given; /* before it was brought into range */

static pthread_once_t config_once = PTHREAD_ONCE_INIT;
static ucs_status_t config_status = UCS_OK;

typedef int (*config_read_func_t)(const char *buf, void *dest, const void *arg);
typedef int (*config_write_func_t)(char *buf, size_t max, const void *src,
                                   const void *arg);

static void *config_type_func(const char *verb, const char *type)
{
    char name[64];

    snprintf(name, sizeof(name), "ucs_config_%s_%s", verb, type);
    return ri_stock_symbol(name);
}

static void *config_member(const config_field_t *field)
{
    return (char *)&ri_config + field->offset;
}

static ucs_status_t config_read_field(const config_field_t *field)
{
    config_read_func_t read = (config_read_func_t)config_type_func("sscanf", field->type);
    const char *value;
    char name[64];

    snprintf(name, sizeof(name), CONFIG_PREFIX "%s", field->name);
    value = getenv(name);
    if (read == NULL) {
        ri_error("this UCX has no parser for values of type %s (%s)", field->type, name);
        return UCS_ERR_UNSUPPORTED;
    }

    if ((value != NULL) && read(value, config_member(field), NULL)) {
        return UCS_OK;
    }
    if (value != NULL) {
        ri_error("invalid value for %s: '%s' (expected: %s, default %s)", name, value,
                 field->type, field->dfl);
        return UCS_ERR_INVALID_PARAM;
    }
    return read(field->dfl, config_member(field), NULL) ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

static void config_warn_unknown(void)
{
    size_t prefix_len = strlen(CONFIG_PREFIX);
    size_t i, len;
    char **env;

    for (env = environ; (env != NULL) && (*env != NULL); ++env) {
        if (strncmp(*env, CONFIG_PREFIX, prefix_len)) {
            continue;
        }
        len = strcspn(*env, "=");
        for (i = 0; i < CONFIG_COUNT; ++i) {
            if ((strlen(config_fields[i].name) == (len - prefix_len)) &&
                !strncmp(*env + prefix_len, config_fields[i].name, len - prefix_len)) {
                break;
            }
        }
        if (i == CONFIG_COUNT) {
            ri_warn("unknown variable %.*s is ignored (ucxri_info -c lists all)",
                    (int)len, *env);
        }
    }
}

/* @return The index of a variable's value among @a names, of which NULL is the last, or -1. */
static int config_find_name(const char *variable, const char *value,
                            const char *const *names, const char *expected)
{
    int i;

    for (i = 0; names[i] != NULL; ++i) {
        if (!strcasecmp(value, names[i])) {
            return i;
        }
    }
    ri_error("invalid value for " CONFIG_PREFIX "%s: '%s' (expected: %s)", variable,
             value, expected);
    return -1;
}

static ucs_status_t config_set_log_level(void)
{
    static const char *const names[] = {"error", "warn", "info", "debug", NULL};
    int level = config_find_name("LOG_LEVEL", ri_config.log_level, names,
                                 "error, warn, info, debug");

    if (level < 0) {
        return UCS_ERR_INVALID_PARAM;
    }
    ri_log_level = level;
    return UCS_OK;
}

static ucs_status_t config_set_scheme(void)
{
    /* in the order of ri_sender_scheme_t */
    static const char *const names[] = {"auto", "get", "put", NULL};
    int scheme = config_find_name("SENDER_SCHEME", ri_config.sender_scheme, names,
                                  "auto, get, put");

    if (scheme < 0) {
        return UCS_ERR_INVALID_PARAM;
    }
    ri_config.scheme = scheme;
    return UCS_OK;
}

/* The bit of full members says nothing: which of its entries is used the port knows. */
static ucs_status_t config_set_pkey(void)
{
    const char *value = ri_config.ib_pkey;
    unsigned long pkey;
    char *end;

    ri_config.ib_pkey_value = 0;
    if (!strcasecmp(value, "auto")) {
        return UCS_OK;
    }
    pkey = strtoul(value, &end, 16);
    if ((end == value) || (*end != '\0') || (strchr(value, '-') != NULL) ||
        (pkey > UINT16_MAX) || ((pkey & INT16_MAX) == 0)) {
        ri_error("invalid value for UCXRI_IB_PKEY: '%s' (expected: a hexadecimal number "
                 "from 1 to 7fff, or auto)",
                 value);
        return UCS_ERR_INVALID_PARAM;
    }
    ri_config.ib_pkey_value = pkey & INT16_MAX;
    return UCS_OK;
}

static ucs_status_t config_set_transport(void)
{
    static const char *const names[] = {"auto", "rc", "ud", NULL};
    int transport = config_find_name("IB_TRANSPORT", ri_config.ib_transport, names,
                                     "auto, rc, ud");

    if (transport < 0) {
        return UCS_ERR_INVALID_PARAM;
    }
    ri_config.use_rc = (transport != 2);
    ri_config.use_ud = (transport != 1);
    return UCS_OK;
}

/* Values that parse, but that the rest of the library could not work with. */
static ucs_status_t config_check(void)
{
    ri_config_t *c = &ri_config;

    if ((c->ring_size < 4096) || (c->ring_size > (1ul << 30)) ||
        (c->ring_size & (c->ring_size - 1))) {
        ri_error("UCXRI_RING_SIZE must be a power of two from 4k to 1g");
        return UCS_ERR_INVALID_PARAM;
    }
    if ((c->am_id > UINT16_MAX) || (c->trace_size > (1u << 24)) ||
        (c->reorder_window > (1ul << 30))) {
        ri_error("out of range: UCXRI_AM_ID (65535), UCXRI_TRACE_SIZE (16777216) or "
                 "UCXRI_REORDER_WINDOW (1073741824)");
        return UCS_ERR_INVALID_PARAM;
    }

    if ((c->rc_max_peers < 1) || (c->ib_tx_queue < 1) || (c->ib_tx_queue > 65536) ||
        ((c->ib_gid_index != UCS_ULUNITS_AUTO) && (c->ib_gid_index > UINT8_MAX))) {
        ri_error("out of range: UCXRI_IB_TX_QUEUE (1 to 65536), UCXRI_RC_MAX_PEERS (from "
                 "1 on) or UCXRI_IB_GID_INDEX (255)");
        return UCS_ERR_INVALID_PARAM;
    }

    if (((c->ib_sl != UCS_ULUNITS_AUTO) && (c->ib_sl > 15)) ||
        ((c->ib_traffic_class != UCS_ULUNITS_AUTO) &&
         (c->ib_traffic_class > UINT8_MAX))) {
        ri_error("out of range: UCXRI_IB_SL (15) or UCXRI_IB_TRAFFIC_CLASS (255)");
        return UCS_ERR_INVALID_PARAM;
    }

    if (!ri_channel_size_is_valid(c->ib_eager_size)) {
        ri_error("UCXRI_IB_EAGER_SIZE must be a power of two from 4k to 16m");
        return UCS_ERR_INVALID_PARAM;
    }

    if ((c->ud_qps < 1) || (c->ud_qps > 4096) || (c->ud_window < RI_UD_WINDOW_MIN) ||
        (c->ud_window > RI_UD_WINDOW_MAX)) {
        ri_error("out of range: UCXRI_UD_QPS (1 to 4096) or UCXRI_UD_WINDOW (%d to %d)",
                 RI_UD_WINDOW_MIN, RI_UD_WINDOW_MAX);
        return UCS_ERR_INVALID_PARAM;
    }

    c->progress_skip = ri_max(c->progress_skip, 1u);
    return UCS_OK;
}

static ucs_status_t config_check_sender_mask(void)
{
    const char *value = ri_config.tag_sender_mask;
    char *end;

    strtoull(value, &end, 16);
    if (!strcasecmp(value, "auto") || ((end != value) && (*end == '\0'))) {
        return UCS_OK;
    }
    ri_error("invalid value for UCXRI_TAG_SENDER_MASK: '%s' (expected: a hexadecimal "
             "number or auto)",
             value);
    return UCS_ERR_INVALID_PARAM;
}

/* What is left to the library; other values stay as they are, within what can work. */
static void config_set_thresholds(const ri_costs_t *costs)
{
    ri_config_t *c = &ri_config;

    if (c->eager_thresh == UCS_MEMUNITS_AUTO) {
        /* So that some messages fit the ring at the same time */
        c->eager_thresh = ri_min(ri_costs_eager_thresh(costs),
                                 c->ring_size / CONFIG_RING_MESSAGES);
    }
    c->eager_thresh = ri_min(c->eager_thresh, ri_min(c->ring_size / 4, 32768ul));
    c->am_inline    = ri_min(c->am_inline, c->eager_thresh);
    if (c->ib_eager_max == UCS_MEMUNITS_AUTO) {
        c->ib_eager_max = CONFIG_IB_EAGER_MAX;
    }
    c->ib_eager_max = ri_min(c->ib_eager_max, ri_channel_max_payload(c->ib_eager_size));
    c->ib_eager_max = ri_min(c->ib_eager_max, c->eager_thresh);

    /* Not below EAGER_THRESH, for the sake of who reads it; and some messages must fit the
     * pool at the same time. */
    if (c->hybrid_thresh == UCS_MEMUNITS_AUTO) {
        c->hybrid_thresh = ri_max(ri_costs_hybrid_thresh(costs), c->eager_thresh);
        c->hybrid_net    = ri_min(c->hybrid_thresh * CONFIG_NET_EXCHANGE,
                                  c->pool_size / CONFIG_POOL_MESSAGES);
        c->hybrid_thresh = ri_min(c->hybrid_thresh, c->pool_size / CONFIG_POOL_MESSAGES);
    } else {
        c->hybrid_net = c->hybrid_thresh;
    }
    if (c->coop_thresh == UCS_MEMUNITS_AUTO) {
        c->coop_thresh = ri_costs_coop_thresh(costs);
    }
}

static void config_read_once(void)
{
    size_t i;

    for (i = 0; (i < CONFIG_COUNT) && (config_status == UCS_OK); ++i) {
        config_status = config_read_field(&config_fields[i]);
    }
    if (config_status == UCS_OK) {
        config_status = config_set_log_level();
    }
    config_given = ri_config;
    if (config_status == UCS_OK) {
        config_status = config_check_sender_mask();
    }
    if (config_status == UCS_OK) {
        config_status = config_set_scheme();
    }
    if (config_status == UCS_OK) {
        config_status = config_set_transport();
    }
    if (config_status == UCS_OK) {
        config_status = config_set_pkey();
    }
    if (config_status == UCS_OK) {
        config_status = config_check();
    }
    if (config_status == UCS_OK) {
        ri_costs_measure(&ri_costs, ri_config.cma ? &ri_plane_cma : NULL);
        config_set_thresholds(&ri_costs);
    }
    config_warn_unknown();
}

ucs_status_t ri_config_read(void)
{
    pthread_once(&config_once, config_read_once);
    return config_status;
}

/* Tags of MPICH 4 and 5 over UCX: context id and rank of the source in the upper half. It
 * does not tell UCX. */
#define CONFIG_MPICH_SENDER_MASK 0xffffffff00000000ul

uint64_t ri_config_sender_mask(uint64_t of_application)
{
    if (strcasecmp(ri_config.tag_sender_mask, "auto") != 0) {
        return strtoull(ri_config.tag_sender_mask, NULL, 16);
    }
    if (of_application != 0) {
        return of_application;
    }
    return (dlsym(RTLD_DEFAULT, "MPII_Version_string") != NULL) ?
                   CONFIG_MPICH_SENDER_MASK :
                   0;
}

static void config_write_field(const config_field_t *field, const ri_config_t *config,
                               char *value, size_t max)
{
    config_write_func_t write = (config_write_func_t)config_type_func("sprintf",
                                                                      field->type);

    if ((write == NULL) ||
        !write(value, max - 1, (const char *)config + field->offset, NULL)) {
        snprintf(value, max, "?");
    }
}

static void config_print_doc(FILE *stream, const config_field_t *field)
{
    const char *line = field->doc;

    fprintf(stream, "#\n");
    while (*line != '\0') {
        int len = strcspn(line, "\n");

        fprintf(stream, "# %.*s\n", len, line);
        line += len + (line[len] == '\n');
    }
    fprintf(stream, "#\n# type: %s, default: %s\n", field->type, field->dfl);
}

void ri_config_print(FILE *stream, int doc)
{
    char given[CONFIG_VALUE_MAX], value[CONFIG_VALUE_MAX];
    size_t i;

    for (i = 0; i < CONFIG_COUNT; ++i) {
        const config_field_t *field = &config_fields[i];

        config_write_field(field, &config_given, given, sizeof(given));
        config_write_field(field, &ri_config, value, sizeof(value));
        if (doc) {
            config_print_doc(stream, field);
            if (strcmp(given, value)) {
                fprintf(stream, "# in effect here: %s\n", value);
            }
            fprintf(stream, "#\n");
        }
        fprintf(stream, CONFIG_PREFIX "%s=%s\n%s", field->name, given, doc ? "\n" : "");
    }
}

void ri_config_print_value(FILE *stream, const char *name)
{
    char given[CONFIG_VALUE_MAX], value[CONFIG_VALUE_MAX];
    size_t i;

    for (i = 0; i < CONFIG_COUNT; ++i) {
        if (!strcmp(config_fields[i].name, name)) {
            config_write_field(&config_fields[i], &config_given, given, sizeof(given));
            config_write_field(&config_fields[i], &ri_config, value, sizeof(value));
            fprintf(stream, "%s (" CONFIG_PREFIX "%s=%s)", value, name, given);
        }
    }
}
