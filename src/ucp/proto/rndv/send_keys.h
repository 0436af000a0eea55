/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Data of a send that is registered, so that the peer can read it through a network, or this
 * process can write or send it there. Protocols get the keys in `take`, and let go of them in
 * `forget`.
 */
#ifndef RI_SEND_KEYS_H
#define RI_SEND_KEYS_H

#include "../../core/types/send_proto.h"
#include "../../link/net_transfer.h"

/** Register the data of a send for the way to its peer, which is known; the way counts as used
 * then. @return Whether that works. Then req->way is set, and @a keys are the caller's to release
 * (ri_keys_release). */
int ri_send_keys_register(ri_send_req_t *req, ri_keys_t *keys);

/** Register the data of a send as @ref ri_send_keys_register does, with keys that are the
 * request's.
 * @return Whether that works; then req->keys is set, to be let go of by ri_send_keys_forget(). */
int ri_send_keys_get(ri_send_req_t *req);

/** For `take` of protocols whose data a plane moves, and that register it if the plane needs keys.
 * @return 0 or RI_SEND_LACKS_KEYS. */
unsigned ri_send_keys_take(ri_send_req_t *req, const ri_send_terms_t *terms);

/** Write where the data of a send is into its RTS, and behind that the keys of the request, if it
 * has some; there is room for RI_WIRE_RTS_MAX bytes. With keys, flags and way of the RTS are
 * set. */
void ri_send_keys_describe(const ri_send_req_t *req, ri_wire_rts_t *rts);

/** For `forget`: the peer does not read the data any more. Release and free the request's keys, if
 * it has some. */
void ri_send_keys_forget(ri_send_req_t *req);

#endif
