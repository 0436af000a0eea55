/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A conn with such puts has the flag RI_CONN_POSTED, which keeps its messages off the fast path,
 * and has the reach, so that it is there when the key has gone.
 */
#include "posts.h"
#include "mail_queue.h"
#include "../core/types/module.h"
#include "../../ucs/log.h"
#include "../../ucs/stock.h"

/* Calls of progress until puts that are not over are settled. */
#define POSTS_PATIENCE 64

_Atomic(unsigned) ri_posts_workers;

static ucs_status_t posts_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->rma.posted);
    return UCS_OK;
}

/* A conn keeps the reach of its latest puts, for what became of them. */
static void posts_hold(ri_conn_t *conn, ri_reach_t *reach)
{
    if (conn->rma.reach != reach) {
        ri_reach_put(conn->rma.reach);
        ri_reach_hold(reach);
        conn->rma.reach = reach;
    }
}

static void posts_begin(ri_conn_t *conn, ri_reach_t *reach)
{
    ri_worker_t *worker = conn->worker;

    if (ucs_list_is_empty(&worker->rma.posted)) {
        atomic_fetch_add(&ri_posts_workers, 1);
    }
    posts_hold(conn, reach);
    conn->rma.age = 0;
    ri_conn_set_flags(conn, RI_CONN_POSTED);
    conn->fast_max = 0;
    ucs_list_add_tail(&worker->rma.posted, &conn->rma.posted_link);
    worker->attention = 1;
}

/* All is over. */
static void posts_end(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;

    ucs_list_del(&conn->rma.posted_link);
    if (ucs_list_is_empty(&worker->rma.posted)) {
        atomic_fetch_sub(&ri_posts_workers, 1);
    }
    ri_conn_clear_flags(conn, RI_CONN_POSTED);
    ri_conn_update_fast(conn);
}

void ri_posts_settle_slow(ri_conn_t *conn)
{
    unsigned withdrawn = 0;

    ri_mail_settle(conn->rma.reach, &withdrawn);
    conn->counters.rma_withdrawn += withdrawn;
    posts_end(conn);
}

void ri_posts_settle_all(ri_worker_t *worker)
{
    while (ri_posts_has_work(worker)) {
        ri_posts_settle_slow(
                ucs_list_head(&worker->rma.posted, ri_conn_t, rma.posted_link));
    }
}

/* @return Why puts are lost, as UCX says it; UCS_OK if none are. */
static ucs_status_t posts_lost(const ri_conn_t *conn)
{
    ucs_status_t lost = (conn->rma.reach != NULL) ? conn->rma.reach->lost : UCS_OK;

    return (lost == UCS_ERR_UNREACHABLE) ? UCS_ERR_CONNECTION_RESET : lost;
}

/* Rarely asked: something was lost in this process. */
static ucs_status_t posts_lost_of_worker(ri_worker_t *worker)
{
    ucs_status_t status = UCS_OK;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        if ((status == UCS_OK) && !(conn->flags & RI_CONN_LEFT)) {
            status = posts_lost(conn);
        }
    }
    return status;
}

ucs_status_t ri_posts_flush(ri_worker_t *worker, ri_conn_t *conn)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (conn != NULL) {
        ri_posts_settle(conn);
        return posts_lost(conn);
    }
    ri_posts_settle_all(worker);
    return ri_unlikely(ri_mail_lost) ? posts_lost_of_worker(worker) : UCS_OK;
}

void ri_posts_note(ri_conn_t *conn, ri_reach_t *reach)
{
    if ((conn->flags & RI_CONN_POSTED) && (conn->rma.reach != reach)) {
        ri_posts_settle_slow(conn);
    }
    if (!(conn->flags & RI_CONN_POSTED)) {
        posts_begin(conn, reach);
    }
}

void ri_posts_progress(ri_worker_t *worker)
{
    ri_conn_t *conn, *next;

    ucs_list_for_each_safe(conn, next, &worker->rma.posted, rma.posted_link) {
        if (ri_mail_is_settled(conn->rma.reach)) {
            posts_end(conn);
        } else if (++conn->rma.age > POSTS_PATIENCE) {
            ri_posts_settle_slow(conn);
        }
    }
}

static void posts_conn_closes(ri_conn_t *conn)
{
    ri_posts_settle(conn);
    ri_reach_put(conn->rma.reach);
    conn->rma.reach = NULL;
}

const ri_module_t ri_module_posts = {.name        = "posts",
                                     .worker_made = posts_worker_made,
                                     .conn_closes = posts_conn_closes};
