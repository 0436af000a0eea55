/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config.h"
#include "config_table.h"
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

#define CONFIG_VALUE_MAX 256

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

static void *config_member(const ri_config_field_t *field)
{
    return (char *)&ri_config + field->offset;
}

static ucs_status_t config_read_field(const ri_config_field_t *field)
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
        for (i = 0; i < ri_config_num_fields; ++i) {
            if ((strlen(ri_config_fields[i].name) == (len - prefix_len)) &&
                !strncmp(*env + prefix_len, ri_config_fields[i].name, len - prefix_len)) {
                break;
            }
        }
        if (i == ri_config_num_fields) {
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

    for (i = 0; (i < ri_config_num_fields) && (config_status == UCS_OK); ++i) {
        config_status = config_read_field(&ri_config_fields[i]);
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

static void config_write_field(const ri_config_field_t *field, const ri_config_t *config,
                               char *value, size_t max)
{
    config_write_func_t write = (config_write_func_t)config_type_func("sprintf",
                                                                      field->type);

    if ((write == NULL) ||
        !write(value, max - 1, (const char *)config + field->offset, NULL)) {
        snprintf(value, max, "?");
    }
}

static void config_print_doc(FILE *stream, const ri_config_field_t *field)
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

    for (i = 0; i < ri_config_num_fields; ++i) {
        const ri_config_field_t *field = &ri_config_fields[i];

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

    for (i = 0; i < ri_config_num_fields; ++i) {
        if (!strcmp(ri_config_fields[i].name, name)) {
            config_write_field(&ri_config_fields[i], &config_given, given, sizeof(given));
            config_write_field(&ri_config_fields[i], &ri_config, value, sizeof(value));
            fprintf(stream, "%s (" CONFIG_PREFIX "%s=%s)", value, name, given);
        }
    }
}
