/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_SETTINGS_H_
#define SH_SETTINGS_H_

#include <stdint.h>

#define SH_MAX_DEVICES 8

/* What the variables SOFTHCA_* ask for; the README describes them. */
typedef struct sh_settings {
    char fabric[32];
    unsigned num_devices;
    unsigned mtu;    /* bytes */
    int ethernet;    /* link layer */
    int ipv4;        /* the address on it, else IPv6 */
    int like_rxe;    /* where that differs from adapters */
    int check_pages; /* see pages.h */
    uint64_t max_reg;
    uint64_t seed;
    const char *counters;
    const char *cut; /* while this file exists nothing gets through, or NULL */
    struct {
        int enabled;
        uint64_t latency_ns;
        uint64_t message_ns;
        double ns_per_byte;
    } link;
    struct {
        double ud_drop;
        double ud_dup;
        double ud_reorder;
        unsigned ud_window; /* messages that a reordered one lets by */
        double ud_delay;
        uint64_t ud_delay_ns;
        uint8_t ud_lose; /* second byte of datagrams that get lost; 0: none */
        uint64_t ud_lose_count;
        uint64_t ud_lose_size; /* bytes of those of which some get lost; 0: of none */
        uint64_t
                ud_lose_each; /* number of those that get lost before each one that comes */
        uint64_t rc_kill_after; /* work requests of a QP; 0: never */
        uint64_t
                event_after; /* work requests of a QP until an event is raised; 0: never */
        unsigned event;      /* which: enum ibv_event_type */
        uint64_t move_after; /* ... until the port has another address */
        double rc_kill;
        unsigned rc_status; /* enum ibv_wc_status of a killed QP's work request */
        double rnr;
        int retry_always; /* a retry count of 7 has no end */
    } faults;
} sh_settings_t;

extern sh_settings_t sh_settings;

/**
 * Read the variables. A value that makes no sense is reported on stderr, and the default
 * is taken. To be called while no context is open.
 */
void sh_settings_load(void);

#endif
