/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What each variable is named, where its value goes and which default it has stands in
 * config_table.c. Here the values are read from the environment, checked against each other, and
 * printed for ucxri_info.
 */
#include "config.h"
#include "config_table.h"
#include "costs.h"
#include "../../dt/mpi_abi.h"
#include "../../../ucs/misspelt.h"
#include "../../../ucs/log.h"
#include "../../../ucs/warn_once.h"
#include "../../../uct/ib/rc/rc_channel.h"
#include "../../../uct/shm/ring.h"
#include "../../../uct/shm/quick.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <ucs/sys/string.h>

/* The shortest runs of derived datatypes that are moved one by one, in bytes: through a network,
 * and within a host. There the kernel takes some 0.3 us to find the pages of each run of a receive,
 * a third of the time in which it copies the run. */
#define CONFIG_RUN      4096
#define CONFIG_RUN_HOST 8192

#define CONFIG_PREFIX "UCXRI_"
#define CONFIG_AUTO   "auto"

/* The most wrong letters of a name that may be meant for another one. */
#define CONFIG_ERRORS 2

/* The pool has room for at least this number of messages of HYBRID_THRESH bytes, unless its size is
 * set. */
#define CONFIG_POOL_MESSAGES 16

/* Of rings, where RING_SIZE is auto. A large one is larger than a core's own cache, which makes it
 * faster between cores that share the next one: what its receiver has read has left the receiver's
 * cache when the sender writes there again. With a medium one a message of 64 KB took 5.2 us, with
 * a large one 3.5, and a row of them went at 11 GB/s rather than 20 (performance.md). */
#define CONFIG_RING_SMALL  (64ul << 10)
#define CONFIG_RING_MEDIUM (256ul << 10)
#define CONFIG_RING_LARGE  (1ul << 20)

/* Up to here a ring takes data in runs, if RING_EAGER_MAX is left to the library: UCX's copies take
 * no less time then. In runs of 1 KB, 16 KB took 3.4 us by the ring and 4.1 by UCX, 64 KB 10.6 and
 * 9.2. */
#define CONFIG_RING_RUNS_MAX (16ul << 10)

/* The most that RING_QUICK_MAX may be, and what it is if it is left to the library. */
#define CONFIG_RING_QUICK_MAX (256ul << 10)

/* Where a receiver reads slowly, whole messages go through the ring: reads of lines that are in a
 * far core's cache took 33 us for 128 KB, the ring 22; 192 KB went in 66 and in 40 us. */
#define CONFIG_RING_SLOW_MAX (256ul << 10)

/* An exchange of messages through a network takes at least this number of times as long as one
 * within a host. What a copy may cost grows with that. */
#define CONFIG_NET_EXCHANGE 4

/* A receiver that is away lets its sender wait for much longer than an exchange takes. So messages
 * are copied up to CONFIG_AWAY times the length, but none that needs more than 1 / CONFIG_POOL_AWAY
 * of the pool. */
#define CONFIG_AWAY      4
#define CONFIG_POOL_AWAY 8

/* Up to where the channel through a network is faster than active messages: nowhere, on the
 * software adapter, and no other one was tried. (performance.md) */
#define CONFIG_IB_EAGER_MAX 0

extern char **environ;

static ri_config_t config_given; /* before it was brought into range */

/* Of who reads settings, all of them or a few; and whether all were read. */
static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;
static int config_is_read;

static void *config_member(const ri_config_field_t *field)
{
    return (char *)&ri_config + field->offset;
}

/* @return The variable's value in the environment, or NULL. */
static const char *config_getenv(const ri_config_field_t *field)
{
    char name[64];

    snprintf(name, sizeof(name), CONFIG_PREFIX "%s", field->name);
    return getenv(name);
}

/* The one line about a value that is not good, in the words of who has set it. */
static void config_reject(const ri_config_field_t *field, const char *value)
{
    char name[64], accepted[RI_CONFIG_TEXT_MAX];

    snprintf(name, sizeof(name), CONFIG_PREFIX "%s", field->name);
    ri_config_value_describe(field, accepted, sizeof(accepted));
    ri_warn_value(name, value, accepted, field->dfl);
    ri_config_value_read(field, field->dfl, config_member(field));
}

/* Programs may change their environment later. */
static void config_keep_text(const ri_config_field_t *field)
{
    char **text = config_member(field);

    *text = strdup(*text);
    if (*text == NULL) {
        ri_config_value_read(field, field->dfl, text);
    }
}

static void config_read_field(const ri_config_field_t *field)
{
    const char *value = config_getenv(field);

    if (value == NULL) {
        ri_config_value_read(field, field->dfl, config_member(field));
    } else if (!ri_config_value_read(field, value, config_member(field))) {
        config_reject(field, value);
    } else if (ri_config_value_is_text(field)) {
        config_keep_text(field);
    }
}

static const ri_config_field_t *config_find(const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < ri_config_num_fields; ++i) {
        if ((strlen(ri_config_fields[i].name) == length) &&
            !strncmp(ri_config_fields[i].name, name, length)) {
            return &ri_config_fields[i];
        }
    }
    return NULL;
}

/* @return The variable that was likely to be meant, or NULL. */
static const ri_config_field_t *config_guess(const char *name, size_t length)
{
    const ri_config_field_t *best = NULL;
    int least                     = CONFIG_ERRORS + 1;
    char word[RI_MISSPELT_MAX + 1];
    int errors;
    size_t i;

    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    for (i = 0; word[i] != '\0'; ++i) {
        word[i] = toupper((unsigned char)word[i]);
    }
    for (i = 0; i < ri_config_num_fields; ++i) {
        errors = ri_misspelt_letters(word, ri_config_fields[i].name);
        if ((errors < least) && (2 * errors < (int)strlen(word))) {
            least = errors;
            best  = &ri_config_fields[i];
        }
    }
    return best;
}

static void config_warn_unknown(void)
{
    size_t prefix_len = strlen(CONFIG_PREFIX);
    const ri_config_field_t *meant;
    size_t len;
    char **env;

    for (env = environ; (env != NULL) && (*env != NULL); ++env) {
        len = strcspn(*env, "=");
        if (strncmp(*env, CONFIG_PREFIX, prefix_len) ||
            (config_find(*env + prefix_len, len - prefix_len) != NULL)) {
            continue;
        }
        meant = config_guess(*env + prefix_len, len - prefix_len);
        if (meant != NULL) {
            ri_warn_once("unknown variable %.*s is ignored: did you mean " CONFIG_PREFIX
                         "%s?",
                         (int)len, *env, meant->name);
        } else {
            ri_warn_once("unknown variable %.*s is ignored (ucxri_info -c lists all)",
                         (int)len, *env);
        }
    }
}

/* The bit of full members says nothing: which of its entries is used the port knows. */
static void config_set_pkey(void)
{
    unsigned long pkey;

    ri_config.ib_pkey_value = 0;
    if (strcasecmp(ri_config.ib_pkey, CONFIG_AUTO) != 0) {
        pkey = strtoul(ri_config.ib_pkey, NULL, 16) & INT16_MAX;
        if (pkey == 0) {
            config_reject(config_find("IB_PKEY", strlen("IB_PKEY")), ri_config.ib_pkey);
        }
        ri_config.ib_pkey_value = pkey;
    }
}

static void config_set_report(void)
{
    ri_config.report_json = ri_config_value_report(ri_config.report_how,
                                                   &ri_config.report);
}

static void config_set_trace(void)
{
    ri_config.trace_file = ri_config_value_trace(ri_config.trace_how, &ri_config.trace);
}

/* Who names devices expects them to be used. */
static void config_check_devices(void)
{
#if !HAVE_VERBS
    const char *names = ri_config.ib_devices;

    if ((names[0] != '\0') && strcmp(names, CONFIG_AUTO) && strcmp(names, "all")) {
        ri_warn_once(CONFIG_PREFIX
                     "IB_DEVICES=%s: no transfers by verbs: this build has none",
                     names);
    }
#endif
}

/* Bring a value into what another variable, or the protocol, allows. "inf", a default and what is
 * left to the library mean as much as can be: nothing is said. */
static void config_lower(const char *name, size_t *member, size_t limit, const char *why)
{
    const ri_config_field_t *field = config_find(name, strlen(name));
    char given[RI_CONFIG_TEXT_MAX], lowered[RI_CONFIG_TEXT_MAX];
    size_t value = *member;

    *member = ri_min(value, limit);
    if ((value > limit) && (value != UCS_MEMUNITS_INF) &&
        (config_getenv(field) != NULL)) {
        ri_config_value_print(field, &value, given, sizeof(given));
        ri_config_value_print(field, member, lowered, sizeof(lowered));
        ri_warn_once(CONFIG_PREFIX "%s=%s is lowered to %s: at most %s", name, given,
                     lowered, why);
    }
}

/* Set the sizes of rings, and the thresholds that depend on them: those of messages that go through
 * a ring, or are copied into an active message. */
static void config_set_eager(const ri_costs_t *costs)
{
    ri_config_t *c = &ri_config;
    int eager_auto = (c->eager_thresh == UCS_MEMUNITS_AUTO);
    int ring_auto  = (c->ring_eager == UCS_MEMUNITS_AUTO);
    int both_auto  = eager_auto && ring_auto;

    c->ring_large = c->ring_medium = 0;
    if (c->ring_size == UCS_MEMUNITS_AUTO) {
        c->ring_size   = CONFIG_RING_SMALL;
        c->ring_medium = CONFIG_RING_MEDIUM;
        c->ring_large  = CONFIG_RING_LARGE;
    }
    if (eager_auto) {
        c->eager_thresh = ri_min(ri_costs_eager_thresh(costs),
                                 c->ring_size / RI_RING_MESSAGES);
    }
    config_lower("EAGER_THRESH", &c->eager_thresh, ri_min(c->ring_size / 4, 32768ul),
                 "1/4 of " CONFIG_PREFIX "RING_SIZE, and 32k");
    if (ring_auto) {
        c->ring_eager = eager_auto ? ri_costs_ring_thresh(costs) : c->eager_thresh;
    }
    config_lower("RING_EAGER_MAX", &c->ring_eager, RI_COSTS_EAGER_MAX, "64k");
    c->ring_runs = both_auto ? ri_max(c->ring_eager, CONFIG_RING_RUNS_MAX) :
                               c->ring_eager;
    c->ring_slow = both_auto ? CONFIG_RING_SLOW_MAX : c->ring_eager;
    if (c->ring_quick == UCS_MEMUNITS_AUTO) {
        c->ring_quick = both_auto ? CONFIG_RING_QUICK_MAX : c->ring_eager;
    }
    config_lower("RING_QUICK_MAX", &c->ring_quick, CONFIG_RING_QUICK_MAX, "256k");
    config_lower("AM_INLINE", &c->am_inline, c->eager_thresh,
                 CONFIG_PREFIX "EAGER_THRESH");
    if (c->ib_eager_max == UCS_MEMUNITS_AUTO) {
        c->ib_eager_max = CONFIG_IB_EAGER_MAX;
    }
    config_lower("IB_EAGER_MAX", &c->ib_eager_max,
                 ri_min(ri_channel_max_payload(c->ib_eager_size), c->eager_thresh),
                 CONFIG_PREFIX "EAGER_THRESH, and 1/4 of " CONFIG_PREFIX
                               "IB_EAGER_SIZE but 32 bytes");
}

/* Set the thresholds of messages that go by the pool. config_set_eager() has been called. */
static void config_set_hybrid(const ri_costs_t *costs)
{
    ri_config_t *c = &ri_config;
    size_t hybrid_net, hybrid_away, hybrid_runs;

    /* Not below EAGER_THRESH, for the sake of who reads it; and some messages must fit the
     * pool at the same time. */
    if (c->hybrid_thresh == UCS_MEMUNITS_AUTO) {
        hybrid_runs      = c->pool_size / 2;
        c->hybrid_thresh = ri_max(ri_costs_hybrid_thresh(costs), c->eager_thresh);
        hybrid_away      = ri_min(c->hybrid_thresh * CONFIG_AWAY,
                                  c->pool_size / CONFIG_POOL_AWAY);
        hybrid_net       = ri_min(c->hybrid_thresh * CONFIG_NET_EXCHANGE,
                                  c->pool_size / CONFIG_POOL_MESSAGES);
        c->hybrid_thresh = ri_min(c->hybrid_thresh, c->pool_size / CONFIG_POOL_MESSAGES);
    } else {
        hybrid_net = hybrid_away = hybrid_runs = c->hybrid_thresh;
    }
    c->hybrid_away_runs = c->hybrid_away;
    if (c->hybrid_away == UCS_MEMUNITS_AUTO) {
        c->hybrid_away      = hybrid_away;
        c->hybrid_away_runs = hybrid_runs;
    }
    if (c->hybrid_net == UCS_MEMUNITS_AUTO) {
        c->hybrid_net = hybrid_net;
    }
}

/* Set the values that are left to the library. Others stay as they are, within limits that can
 * work. */
static void config_set_thresholds(const ri_costs_t *costs)
{
    ri_config_t *c = &ri_config;

    config_set_eager(costs);
    config_set_hybrid(costs);
    if (c->coop_thresh == UCS_MEMUNITS_AUTO) {
        c->coop_thresh = ri_costs_coop_thresh(costs);
    }
    c->dt_run_host = c->dt_run_min;
    if (c->dt_run_min == UCS_MEMUNITS_AUTO) {
        c->dt_run_min  = CONFIG_RUN;
        c->dt_run_host = CONFIG_RUN_HOST;
    }
}

/* Where it is not known how many ticks are a nanosecond, no ring is taken for quick. */
static void config_set_quick(const ri_costs_t *costs)
{
    double ticks = ri_costs_ticks(costs);

    ri_quick_rate = (ticks > 0) ? ri_costs_quick_rate(costs) / ticks : 0;
}

/* Where it is not known what is far, no receiver is taken for far. */
static void config_set_far(const ri_costs_t *costs)
{
    ri_distance_far_ticks = (ri_config.ring_far == UCS_YES) ? 1 :
                            (ri_config.ring_far == UCS_NO)  ? 0 :
                                                              ri_costs_far_ticks(costs);
}

/* Sizes that are left to the library are so again: the others were brought into range. */
static void config_restore_auto(void)
{
    const size_t *given;
    size_t i;

    for (i = 0; i < ri_config_num_fields; ++i) {
        const ri_config_field_t *field = &ri_config_fields[i];

        given = (const size_t *)((const char *)&config_given + field->offset);
        if ((field->type == RI_CONFIG_SIZE) && (*given == UCS_MEMUNITS_AUTO)) {
            *(size_t *)config_member(field) = *given;
        }
    }
}

/* All that follows from what was measured. */
static void config_follow_costs(void)
{
    config_set_thresholds(&ri_costs);
    config_set_far(&ri_costs);
    config_set_quick(&ri_costs);
}

void ri_config_use_costs(const ri_costs_t *costs)
{
    ri_costs = *costs;
    config_restore_auto();
    config_follow_costs();
}

static void config_read_all(void)
{
    size_t i;

    /* First what is printed, as others may have something to say */
    config_read_field(config_find("LOG_LEVEL", strlen("LOG_LEVEL")));
    ri_log_level = ri_config.log_level;
    for (i = 0; i < ri_config_num_fields; ++i) {
        if (strcmp(ri_config_fields[i].name, "LOG_LEVEL") != 0) {
            config_read_field(&ri_config_fields[i]);
        }
    }
    config_set_pkey();
    config_set_report();
    config_set_trace();
    ri_config.use_rc = (ri_config.ib_transport != RI_CONFIG_TRANSPORT_UD);
    ri_config.use_ud = (ri_config.ib_transport != RI_CONFIG_TRANSPORT_RC);
    config_given     = ri_config;

    ri_costs_measure(&ri_costs, ri_config.cma ? &ri_plane_cma : NULL);
    config_follow_costs();
    config_check_devices();
    config_warn_unknown();
    config_is_read = 1;
}

void ri_config_read(void)
{
    pthread_mutex_lock(&config_lock);
    if (!config_is_read) {
        config_read_all();
    }
    pthread_mutex_unlock(&config_lock);
}

static void config_read_output(void)
{
    static const char *const names[] = {"LOG_LEVEL", "REPORT", "REPORT_DEST"};
    const ri_config_field_t *field;
    const char *value;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        field = config_find(names[i], strlen(names[i]));
        value = config_getenv(field);
        if ((value == NULL) ||
            !ri_config_value_read(field, value, config_member(field))) {
            ri_config_value_read(field, field->dfl, config_member(field));
        }
    }
    config_set_report();
    ri_log_level = ri_config.log_level;
}

void ri_config_read_output(void)
{
    pthread_mutex_lock(&config_lock);
    if (!config_is_read) {
        config_read_output();
    }
    pthread_mutex_unlock(&config_lock);
}

/* Tags of MPICH 4 and 5 over UCX: context id and rank of the source in the upper half. It
 * does not tell UCX. */
#define CONFIG_MPICH_SENDER_MASK 0xffffffff00000000ul

uint64_t ri_config_sender_mask(uint64_t of_application)
{
    if (strcasecmp(ri_config.tag_sender_mask, CONFIG_AUTO) != 0) {
        return strtoull(ri_config.tag_sender_mask, NULL, 16);
    }
    if (of_application != 0) {
        return of_application;
    }
    return (ri_mpi_kind() == RI_MPI_MPICH) ? CONFIG_MPICH_SENDER_MASK : 0;
}

static void config_write_field(const ri_config_field_t *field, const ri_config_t *config,
                               char *value, size_t max)
{
    ri_config_value_print(field, (const char *)config + field->offset, value, max);
}

/* @return Whether a variable of type RI_CONFIG_SIZE is auto. */
static int config_is_auto(const ri_config_field_t *field)
{
    return *(const size_t *)((const char *)&config_given + field->offset) ==
           UCS_MEMUNITS_AUTO;
}

/* The value in effect. Where auto stands for several values, that word says more than one of
 * them. */
static void config_write_effect(const ri_config_field_t *field, char *value, size_t max)
{
    int is_several = (field->flags & RI_CONFIG_SEVERAL) && config_is_auto(field);

    config_write_field(field, is_several ? &config_given : &ri_config, value, max);
}

static void config_print_doc(FILE *stream, const ri_config_field_t *field)
{
    char accepted[RI_CONFIG_TEXT_MAX];
    const char *line = field->doc;

    fprintf(stream, "#\n");
    while (*line != '\0') {
        int len = strcspn(line, "\n");

        fprintf(stream, "# %.*s\n", len, line);
        line += len + (line[len] == '\n');
    }
    ri_config_value_describe(field, accepted, sizeof(accepted));
    fprintf(stream, "#\n# accepted: %s; default: %s\n", accepted, field->dfl);
}

void ri_config_print(FILE *stream, int doc)
{
    char given[RI_CONFIG_TEXT_MAX], value[RI_CONFIG_TEXT_MAX];
    size_t i;

    for (i = 0; i < ri_config_num_fields; ++i) {
        const ri_config_field_t *field = &ri_config_fields[i];

        config_write_field(field, &config_given, given, sizeof(given));
        config_write_effect(field, value, sizeof(value));
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

/* @return Whether the user has set another value than the default. */
static int config_is_set(const ri_config_field_t *field)
{
    char given[RI_CONFIG_TEXT_MAX], preset[RI_CONFIG_TEXT_MAX];
    ri_config_t config = config_given;

    ri_config_value_read(field, field->dfl, (char *)&config + field->offset);
    config_write_field(field, &config, preset, sizeof(preset));
    config_write_field(field, &config_given, given, sizeof(given));
    return strcmp(given, preset) != 0;
}

void ri_config_foreach(void (*func)(const char *name, const char *value, int is_set,
                                    void *arg),
                       void *arg)
{
    char name[64], value[RI_CONFIG_TEXT_MAX];
    size_t i;

    for (i = 0; i < ri_config_num_fields; ++i) {
        snprintf(name, sizeof(name), CONFIG_PREFIX "%s", ri_config_fields[i].name);
        config_write_effect(&ri_config_fields[i], value, sizeof(value));
        func(name, value, config_is_set(&ri_config_fields[i]), arg);
    }
}

void ri_config_print_measured(FILE *stream)
{
    char value[RI_CONFIG_TEXT_MAX];
    size_t i;

    for (i = 0; i < ri_config_num_fields; ++i) {
        if (ri_config_fields[i].flags & RI_CONFIG_MEASURED) {
            config_write_field(&ri_config_fields[i], &ri_config, value, sizeof(value));
            fprintf(stream, "export " CONFIG_PREFIX "%s=%s\n", ri_config_fields[i].name,
                    value);
        }
    }
}

int ri_config_is_measured(void)
{
    size_t i;

    for (i = 0; i < ri_config_num_fields; ++i) {
        if ((ri_config_fields[i].flags & RI_CONFIG_MEASURED) &&
            config_is_auto(&ri_config_fields[i])) {
            return 1;
        }
    }
    return 0;
}

void ri_config_print_setting(const char *name, char *text, size_t max)
{
    char given[RI_CONFIG_TEXT_MAX];
    size_t i;

    text[0] = '\0';
    for (i = 0; i < ri_config_num_fields; ++i) {
        if (!strcmp(ri_config_fields[i].name, name)) {
            config_write_field(&ri_config_fields[i], &config_given, given, sizeof(given));
            snprintf(text, max, CONFIG_PREFIX "%s=%s", name, given);
        }
    }
}
