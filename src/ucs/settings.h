/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The values of the variables UCXRI_*. (ucp/core/settings/config.h reads them)
 */
#ifndef RI_SETTINGS_H
#define RI_SETTINGS_H

#include <stddef.h>

/* Who moves what the sender offers: a wish. */
typedef enum ri_sender_scheme {
    RI_SENDER_SCHEME_AUTO,
    RI_SENDER_SCHEME_GET, /* the receiver reads */
    RI_SENDER_SCHEME_PUT  /* the sender writes */
} ri_sender_scheme_t;

/* The values of IB_TRANSPORT. */
typedef enum ri_config_transport {
    RI_CONFIG_TRANSPORT_AUTO,
    RI_CONFIG_TRANSPORT_RC,
    RI_CONFIG_TRANSPORT_UD
} ri_config_transport_t;

typedef struct ri_config {
    size_t eager_thresh;  /* EAGER_THRESH; this field and all others: as in effect */
    size_t hybrid_thresh; /* HYBRID_THRESH */
    size_t hybrid_away;   /* HYBRID_AWAY_MAX */
    size_t hybrid_away_runs; /* HYBRID_AWAY_MAX, or what follows from it, for data in short runs */
    size_t hybrid_net;     /* IB_HYBRID_THRESH */
    size_t coop_thresh;    /* COOP_THRESH */
    int scheme;            /* SENDER_SCHEME: ri_sender_scheme_t */
    int rtr;               /* RTR: UCS_NO, UCS_YES, UCS_AUTO */
    char *tag_sender_mask; /* TAG_SENDER_MASK */
    size_t pool_size;      /* POOL_SIZE */
    int dt_layouts;        /* DT_LAYOUTS */
    size_t dt_run_min;     /* DT_RUN_MIN */
    size_t dt_run_host;    /* what follows from DT_RUN_MIN for receives within a host */
    size_t am_inline;      /* AM_INLINE */
    unsigned ring_peers;   /* RING_PEERS */
    size_t ring_size;      /* RING_SIZE; auto: of rings that are not among the first */
    size_t ring_eager;     /* RING_EAGER_MAX */
    size_t ring_runs;      /* what follows from RING_EAGER_MAX for data in runs */
    size_t ring_slow; /* what follows from RING_EAGER_MAX for a receiver that reads slowly */
    size_t ring_quick;       /* RING_QUICK_MAX */
    unsigned ring_after;     /* RING_AFTER */
    int ring_far;            /* RING_FAR: UCS_NO, UCS_YES, UCS_AUTO */
    unsigned shelf_peers;    /* SHELF_PEERS */
    size_t shelf_size;       /* SHELF_SIZE */
    int cma;                 /* CMA */
    int rma;                 /* RMA */
    int rma_thread;          /* RMA_THREAD */
    int win;                 /* WIN, which the libraries for windows read by themselves */
    int win_hosts;           /* WIN_HOSTS, as WIN */
    int reg_cache;           /* REG_CACHE */
    size_t reg_cache_size;   /* REG_CACHE_SIZE */
    size_t reg_cache_count;  /* REG_CACHE_REGIONS */
    unsigned progress_skip;  /* PROGRESS_SKIP */
    char *ib_devices;        /* IB_DEVICES */
    int ib_transport;        /* IB_TRANSPORT: ri_config_transport_t */
    size_t ib_gid_index;     /* IB_GID_INDEX; UCS_ULUNITS_AUTO */
    char *ib_pkey;           /* IB_PKEY */
    size_t ib_sl;            /* IB_SL; UCS_ULUNITS_AUTO */
    size_t ib_traffic_class; /* IB_TRAFFIC_CLASS; UCS_ULUNITS_AUTO */
    unsigned ib_tx_queue;    /* IB_TX_QUEUE */
    double ib_idle;          /* IB_IDLE, seconds; 0: inf */
    unsigned rc_max_peers;   /* RC_MAX_PEERS */
    unsigned ib_eager_peers; /* IB_EAGER_PEERS */
    size_t ib_eager_size;    /* IB_EAGER_SIZE */
    size_t ib_eager_max;     /* IB_EAGER_MAX */
    unsigned ib_eager_after; /* IB_EAGER_AFTER */
    unsigned ud_qps;         /* UD_QPS */
    unsigned ud_window;      /* UD_WINDOW */
    double ud_timeout;       /* UD_TIMEOUT, seconds */
    int ud_repair;           /* UD_REPAIR */
    size_t reorder_window;   /* REORDER_WINDOW */
    double connect_timeout;  /* CONNECT_TIMEOUT, seconds */
    double close_timeout;    /* CLOSE_TIMEOUT, seconds */
    unsigned am_id;          /* AM_ID */
    int log_level;           /* LOG_LEVEL: ri_log_level_t */
    int stats;               /* STATS */
    char *stats_dest;        /* STATS_DEST */
    char *report_how;        /* REPORT */
    char *report_dest;       /* REPORT_DEST */
    char *trace_how;         /* TRACE */
    size_t trace_limit;      /* TRACE_LIMIT */
    unsigned trace_size;     /* TRACE_SIZE */
    char *trace_dest;        /* TRACE_DEST */

    /* No variables of their own: */
    int ib_pkey_value;       /* what ib_pkey says; 0: auto */
    int report;              /* report_how wants a report */
    const char *report_json; /* the file for a report as JSON; NULL: lines */
    int trace;               /* trace_how wants a trace in memory */
    const char *trace_file;  /* the file for a timeline; NULL: there is none */
    int use_rc;              /* ib_transport allows rc */
    int use_ud;              /* ib_transport allows ud */
    size_t ring_large;  /* of the first rings of a worker, if RING_SIZE is auto; else 0 */
    size_t ring_medium; /* of the rings behind the first ones, if ring_large is not 0 */
} ri_config_t;

/* Filled by ri_config_read(). */
extern ri_config_t ri_config;

/* The most rings of a worker that are large, and the most that are large or of medium size, where
 * their size is left to the library. Most processes have no more busy neighbours on their host, and
 * those that have would need much memory. */
#define RI_CONFIG_LARGE_RINGS  4
#define RI_CONFIG_MEDIUM_RINGS 8

/** @return The size of the next ring of a worker that has @a num_rings of them. */
static inline size_t ri_settings_ring_size(unsigned num_rings)
{
    return ((ri_config.ring_large == 0) || (num_rings >= RI_CONFIG_MEDIUM_RINGS)) ?
                   ri_config.ring_size :
           (num_rings >= RI_CONFIG_LARGE_RINGS) ? ri_config.ring_medium :
                                                  ri_config.ring_large;
}

#endif
