/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The peers on this host: the plane that leads to the memory of one, and whether its process
 * exists. (protocol.md section 7)
 */
#ifndef RI_LOCAL_H
#define RI_LOCAL_H

#include "../core/worker.h"

/** Reach the process that a peer says it is, in a message of the plane within the host; not if
 * there is a way to it already. If that fails, what is known of the peer stays. @return Whether
 * there is a way to its memory. */
int ri_local_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg);

/** No way leads to the peer, but who it says it is tells when it has ended: note that, unless it
 * is not of this host or cannot be looked for. @return Whether it was noted, and runs. */
int ri_local_note(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg);

/** The address by which the endpoint of @a conn was made says which process has the peer's
 * worker: note it, if it is of this host and none is known yet. So it can be looked for although
 * nothing has come from it. */
void ri_local_learn(ri_conn_t *conn, ri_host_process_t process);

/** @return Whether the process of @a peer does not exist any more, or has closed the plane: it
 * neither reads nor writes this one's memory. 0 also if that cannot be told. */
int ri_local_is_gone(const ri_peer_t *peer);

/** @return Whether ri_local_is_gone() can tell. */
int ri_local_is_known(const ri_peer_t *peer);

/** The plane to @a peer has stopped working: there is no way to its memory from now on
 * (peer->local.ep). The old one is kept to tell when the process ends, unless it has. Does
 * nothing if there is no way. */
void ri_local_fail(ri_worker_t *worker, ri_peer_t *peer);

/** End the way to the memory of a peer on this host, and one that was kept by ri_local_fail(),
 * if there are any. */
void ri_local_disconnect(ri_peer_t *peer);

#endif
