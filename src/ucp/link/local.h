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
 * it is reached already. If that fails, what is known of the peer stays. @return Whether its
 * memory is reached. */
int ri_local_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg);

/** The peer's memory is not reached, but who it says it is tells when it has ended: note that,
 * unless it is not of this host or cannot be looked for. @return Whether it was noted, and runs. */
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

/** The plane to @a peer has stopped working: its memory is not reached from now on. What has led
 * to it (peer->local.ep) is kept to tell when the process ends, unless it has. Does nothing if the
 * memory is not reached. */
void ri_local_fail(ri_worker_t *worker, ri_peer_t *peer);

/** Give up what leads to the memory of a peer on this host, and what was kept by ri_local_fail(),
 * if there is anything. */
void ri_local_disconnect(ri_peer_t *peer);

#endif
