/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a conn is made, fails, loses a number, and ends; its phases are events of module.h.
 */
#ifndef RI_CONN_LIFE_H
#define RI_CONN_LIFE_H

#include "conn.h"
#include "types/worker_types.h"

/**
 * Make the conn of a new endpoint, or find the one that was made when stock made the endpoint for a
 * reply. A conn of an earlier endpoint at the same address, which stock has freed without a word,
 * is destroyed first, which calls back.
 *
 * @param remote          What is known of the remote worker; a uid of 0: nothing.
 * @param address_status  What ri_wire_address_parse said of the peer's address: with
 *                        UCS_ERR_NO_ELEM or UCS_ERR_UNSUPPORTED tag sends fail.
 * @param flags           RI_CONN_*; set in a conn that is found, too.
 * @param conn_p          Set to the conn with UCS_OK only. A conn that is found may have no peer,
 *                        for want of memory.
 *
 * @return UCS_OK, UCS_ERR_NO_MEMORY, or UCS_ERR_EXCEEDS_LIMIT if there is no id. After an error
 *         there is no conn; the endpoint stays the caller's in any case.
 */
ucs_status_t ri_conn_create(ri_worker_t *worker, ucp_ep_h ep,
                            const ri_wire_worker_t *remote, ucs_status_t address_status,
                            uint32_t flags, ri_conn_t **conn_p);

/** Free a conn, which leaves its endpoint open. Its unfinished sends end with @a status, or as
 * UCX says if they are in its hands; they do without the conn then. Flushes of it end, too.
 * Calls back, while the conn is not found any more; its peer may be gone afterwards. */
void ri_conn_destroy(ri_conn_t *conn, ucs_status_t status);

/** The conn cannot go on: end everything that is under way on it with @a status, also what a lost
 * number had left. A conn that has failed already keeps its first status. The application's
 * error handler is not called. Calls back; the conn may be gone afterwards. */
void ri_conn_fail(ri_conn_t *conn, ucs_status_t status);

/** Call the application's error handler: once, and not if the endpoint of conn @a id is closed or
 * being closed by now, as a callback of what ended before may have done. The conn may be gone
 * afterwards. */
void ri_conn_tell_failure(ri_worker_t *worker, uint32_t id, ucs_status_t status);

/** Number @a sn was not sent as a whole, and no other message can have it: the conn fails with @a
 * status. Sends with earlier numbers go on, as the peer receives them, and may be reading their
 * memory; all others end. Then the stream is told to end before the lost number. If a number was
 * lost before, and not told yet, the earlier one counts. Calls back; the conn may be gone
 * afterwards. */
void ri_conn_lose(ri_conn_t *conn, uint32_t sn, ucs_status_t status);

/** Stock reports that the endpoint failed, so the conn does. Endpoints to the same peer that only
 * stock has are likely to fail, too: stock frees them then and tells nobody, so their conns are
 * destroyed. If no usable conn is left, the peer fails. Then the application is told. Calls
 * back; the conn, its peer and any stream may be gone afterwards. */
void ri_conn_endpoint_failed(ri_conn_t *conn, ucs_status_t status);

/** Fail conns that have waited for an answer longer than CONNECT_TIMEOUT, with
 * UCS_ERR_UNREACHABLE, and report why. Time in which progress is not called hardly counts. The
 * application's error handler is not called. Calls back; any conn may be gone afterwards. */
void ri_conn_check_timeouts(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_conn_check_timeouts. */
static inline int ri_conn_has_timeouts(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->asking.conns);
}

/**
 * Say in one line why tag messages to a peer cannot work, and what to set; once per process
 * and cause. An error, as a job hardly goes on after that.
 *
 * @param why    UCS_ERR_NO_ELEM or UCS_ERR_UNSUPPORTED, as ri_wire_address_parse said;
 *               UCS_ERR_TIMED_OUT: it does not answer. Any other: there is nothing to say.
 */
void ri_conn_report_unusable(ucs_status_t why);

#endif
