/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All variables are read anew when the first device is opened, and when devices are listed while
 * none is open. The caller holds the lock of context.c. The MTU is read before the link, which may
 * bring another one. A list is read word by word, so a word that makes no sense leaves the others
 * as they are.
 */
#include "settings.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MTU_MAX   4096
#define SETTINGS_DDR2K_MTU 2048

sh_settings_t sh_settings;

typedef struct settings_unit {
    const char *name;
    double factor;
} settings_unit_t;

/* The longest names first where one begins like another */
static const settings_unit_t settings_time[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const settings_unit_t settings_size[] = {{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
                                                {"B", 1},    {"", 1},     {NULL, 0}};
static const settings_unit_t settings_rate[] = {
        {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"B/s", 1}, {NULL, 0}};
static const settings_unit_t settings_share[] = {{"%", 0.01}, {"", 1}, {NULL, 0}};
static const settings_unit_t settings_count[] = {{"", 1}, {NULL, 0}};

static void settings_complain(const char *name, const char *value)
{
    fprintf(stderr, "softhca: %s=%s makes no sense and is ignored\n", name, value);
}

/* Parse a number with a unit that ends at a separator. @return 0, or -1. */
static int settings_number(const char *text, const settings_unit_t *units, double *value)
{
    char *end;
    double number = strtod(text, &end);

    if ((end == text) || !(number >= 0)) {
        return -1;
    }
    for (; units->name != NULL; ++units) {
        if (!strcmp(end, units->name)) {
            *value = number * units->factor;
            return 0;
        }
    }
    return -1;
}

static int settings_integer(const char *name, const settings_unit_t *units, uint64_t max,
                            uint64_t fallback, uint64_t *value)
{
    const char *text = getenv(name);
    double number;

    *value = fallback;
    if ((text == NULL) || !*text) {
        return 0;
    }
    if (settings_number(text, units, &number) || (number > (double)max)) {
        settings_complain(name, text);
        return -1;
    }
    *value = (uint64_t)number;
    return 0;
}

/* One word "name=value" of a list. @return 0, or -1 if it makes no sense. */
typedef int (*settings_word_func_t)(const char *name, char *value);

/* Call @a func for each word of the list in a variable. */
static void settings_list(const char *variable, settings_word_func_t func)
{
    const char *text = getenv(variable);
    char *copy, *word, *value, *save = NULL;

    if ((text == NULL) || !*text) {
        return;
    }
    copy = strdup(text);
    if (copy == NULL) {
        return;
    }
    for (word = strtok_r(copy, ",", &save); word != NULL;
         word = strtok_r(NULL, ",", &save)) {
        value = strchr(word, '=');
        if (value != NULL) {
            *value++ = 0;
        }
        if (func(word, value)) {
            if (value != NULL) {
                value[-1] = '=';
            }
            settings_complain(variable, word);
        }
    }
    free(copy);
}

/* A port of the time of DDR has a smaller MTU, unless another one is asked for. */
static void settings_link_ddr2k(void)
{
    const char *mtu = getenv("SOFTHCA_MTU");

    if ((mtu == NULL) || !*mtu) {
        sh_settings.mtu = SETTINGS_DDR2K_MTU;
    }
}

static int settings_link_word(const char *name, char *value)
{
    double number;

    if (value == NULL) {
        if (!strcmp(name, "ddr") || !strcmp(name, "ddr2k")) {
            sh_settings.link.latency_ns  = 2000;
            sh_settings.link.message_ns  = 200;
            sh_settings.link.ns_per_byte = 0.5;
        } else if (strcmp(name, "none")) {
            return -1;
        }
        if (!strcmp(name, "ddr2k")) {
            settings_link_ddr2k();
        }
        sh_settings.link.enabled = strcmp(name, "none") != 0;
        return 0;
    }
    if (!strcmp(name, "latency")) {
        if (settings_number(value, settings_time, &number)) {
            return -1;
        }
        sh_settings.link.latency_ns = (uint64_t)number;
    } else if (!strcmp(name, "message")) {
        if (settings_number(value, settings_time, &number)) {
            return -1;
        }
        sh_settings.link.message_ns = (uint64_t)number;
    } else if (!strcmp(name, "bandwidth")) {
        if (settings_number(value, settings_rate, &number) || !(number > 0)) {
            return -1;
        }
        sh_settings.link.ns_per_byte = 1e9 / number;
    } else {
        return -1;
    }
    sh_settings.link.enabled = 1;
    return 0;
}

static int settings_share_of(const char *value, double *share)
{
    double number;

    if ((value == NULL) || settings_number(value, settings_share, &number) ||
        (number > 1)) {
        return 1;
    }
    *share = number;
    return 0;
}

/* What gets lost because of what it is: "ud_lose=BYTE/N" or "ud_lose_size=BYTES/N". */
static int settings_lose(const char *name, const char *value, const char *detail)
{
    int is_size = !strcmp(name, "ud_lose_size");
    double number, count;

    if ((!is_size && strcmp(name, "ud_lose")) || (value == NULL) ||
        settings_number(value, settings_count, &number) || (number < 1) ||
        (number > (is_size ? SETTINGS_MTU_MAX : UINT8_MAX)) ||
        ((detail != NULL) && settings_number(detail, settings_count, &count))) {
        return -1;
    }
    if (is_size) {
        sh_settings.faults.ud_lose_size = (uint64_t)number;
        sh_settings.faults.ud_lose_each = (detail == NULL) ? 1 : (uint64_t)count;
        return 0;
    }
    sh_settings.faults.ud_lose = (uint8_t)number;
    if (detail != NULL) {
        sh_settings.faults.ud_lose_count = (uint64_t)count;
    }
    return 0;
}

/* ud_reorder and ud_delay have a share, and after a stroke within how many datagrams or what time. */
static int settings_shifted(const char *name, const char *value, const char *detail)
{
    double number;

    if (!strcmp(name, "ud_reorder")) {
        if (detail != NULL) {
            if (settings_number(detail, settings_count, &number) || (number < 1) ||
                (number > 64)) {
                return -1;
            }
            sh_settings.faults.ud_window = (unsigned)number;
        }
        return settings_share_of(value, &sh_settings.faults.ud_reorder);
    }
    if (detail != NULL) {
        if (settings_number(detail, settings_time, &number)) {
            return -1;
        }
        sh_settings.faults.ud_delay_ns = (uint64_t)number;
    }
    return settings_share_of(value, &sh_settings.faults.ud_delay);
}

static int settings_event(const char *value, const char *detail)
{
    double number;

    if (detail != NULL) {
        if (settings_number(detail, settings_count, &number) ||
            (number > IBV_EVENT_GID_CHANGE)) {
            return -1;
        }
        sh_settings.faults.event = (unsigned)number;
    }
    if ((value == NULL) || settings_number(value, settings_count, &number) ||
        (number < 1)) {
        return -1;
    }
    sh_settings.faults.event_after = (uint64_t)number;
    return 0;
}

static int settings_fault_word(const char *name, char *value)
{
    char *detail = (value == NULL) ? NULL : strchr(value, '/');
    double number;

    if (detail != NULL) {
        *detail++ = 0;
    }
    if (!strcmp(name, "ud_drop")) {
        return settings_share_of(value, &sh_settings.faults.ud_drop);
    }
    if (!strcmp(name, "ud_dup")) {
        return settings_share_of(value, &sh_settings.faults.ud_dup);
    }
    if (!strcmp(name, "ud_reorder") || !strcmp(name, "ud_delay")) {
        return settings_shifted(name, value, detail);
    }
    if (!strncmp(name, "ud_lose", strlen("ud_lose"))) {
        return settings_lose(name, value, detail);
    }
    if (!strcmp(name, "event_after")) {
        return settings_event(value, detail);
    }
    if (!strcmp(name, "rc_kill")) {
        return settings_share_of(value, &sh_settings.faults.rc_kill);
    }
    if (!strcmp(name, "rnr")) {
        return settings_share_of(value, &sh_settings.faults.rnr);
    }
    if (!strcmp(name, "retry_always")) {
        sh_settings.faults.retry_always |= (value == NULL);
        return (value == NULL) ? 0 : -1;
    }
    if ((value == NULL) || settings_number(value, settings_count, &number)) {
        return -1;
    }
    if (!strcmp(name, "move_after")) {
        sh_settings.faults.move_after = (uint64_t)number;
    } else if (!strcmp(name, "rc_kill_after")) {
        sh_settings.faults.rc_kill_after = (uint64_t)number;
    } else if (!strcmp(name, "rc_status") && (number > IBV_WC_SUCCESS) &&
               (number <= IBV_WC_GENERAL_ERR)) {
        sh_settings.faults.rc_status = (unsigned)number;
    } else {
        return -1;
    }
    return 0;
}

static void settings_load_fabric(void)
{
    const char *text = getenv("SOFTHCA_FABRIC");

    strcpy(sh_settings.fabric, "0");
    if ((text == NULL) || !*text) {
        return;
    }
    if ((strlen(text) >= sizeof(sh_settings.fabric)) || (strpbrk(text, "/.") != NULL)) {
        settings_complain("SOFTHCA_FABRIC", text);
        return;
    }
    strcpy(sh_settings.fabric, text);
}

void sh_settings_load(void)
{
    const char *text;
    uint64_t value;

    memset(&sh_settings, 0, sizeof(sh_settings));
    settings_load_fabric();
    settings_integer("SOFTHCA_DEVICES", settings_count, SH_MAX_DEVICES, 1, &value);
    sh_settings.num_devices = (unsigned)value;
    settings_integer("SOFTHCA_MTU", settings_count, SETTINGS_MTU_MAX, SETTINGS_MTU_MAX,
                     &value);
    if ((value < 256) || (value & (value - 1))) {
        settings_complain("SOFTHCA_MTU", getenv("SOFTHCA_MTU"));
        value = 4096;
    }
    sh_settings.mtu = (unsigned)value;
    settings_integer("SOFTHCA_MAX_REG", settings_size, UINT64_MAX, UINT64_MAX,
                     &sh_settings.max_reg);
    settings_integer("SOFTHCA_SEED", settings_count, UINT32_MAX, 1, &sh_settings.seed);

    text = getenv("SOFTHCA_LINK_LAYER");
    if ((text != NULL) && !strcmp(text, "ethernet")) {
        sh_settings.ethernet = 1;
    } else if ((text != NULL) && !strcmp(text, "ethernet_ipv4")) {
        sh_settings.ethernet = 1;
        sh_settings.ipv4     = 1;
    } else if ((text != NULL) && *text && strcmp(text, "infiniband")) {
        settings_complain("SOFTHCA_LINK_LAYER", text);
    }
    text = getenv("SOFTHCA_COUNTERS");
    if ((text != NULL) && *text && strcmp(text, "n")) {
        sh_settings.counters = text;
    }
    text = getenv("SOFTHCA_CUT");
    if ((text != NULL) && *text) {
        sh_settings.cut = text;
    }

    text = getenv("SOFTHCA_PAGES");
    if ((text != NULL) && !strcmp(text, "check")) {
        sh_settings.check_pages = 1;
    } else if ((text != NULL) && *text) {
        settings_complain("SOFTHCA_PAGES", text);
    }

    settings_list("SOFTHCA_LINK", settings_link_word);
    sh_settings.faults.ud_window     = 4;
    sh_settings.faults.ud_delay_ns   = 100000;
    sh_settings.faults.ud_lose_count = UINT64_MAX;
    sh_settings.faults.rc_status     = IBV_WC_RETRY_EXC_ERR;
    settings_list("SOFTHCA_FAULTS", settings_fault_word);

    text = getenv("SOFTHCA_LIKE");
    if ((text != NULL) && !strcmp(text, "rxe")) {
        sh_settings.like_rxe            = 1;
        sh_settings.faults.retry_always = 1;
    } else if ((text != NULL) && *text) {
        settings_complain("SOFTHCA_LIKE", text);
    }
}
