/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_LINK_H_
#define SH_LINK_H_

#include "wire.h"

/*
 * The link model. Each process is a host with links of its own, one for each device: what
 * it sends queues on the way out, what it receives on the way in. An adapter sends the packets
 * of its QPs in turn: what is not longer than one goes between those of longer messages of other
 * QPs. Without a model all times are 0.
 */

/** Reserve the way out for a message that is posted now: sets its sent and wire.
 * @param turn  When what the QP has sent before has left; set to when this has. */
void sh_link_send(unsigned device, sh_msg_t *msg, uint64_t length, uint64_t *turn);

/** The same for messages with all of their data, one behind the other. */
void sh_link_send_all(unsigned device, sh_msg_t *msgs, unsigned count, uint64_t *turn);

/** The same for data that goes out not before @a earliest, of a read.
 * @return When the last bit is there. */
uint64_t sh_link_respond(unsigned device, uint64_t earliest, uint64_t length,
                         uint64_t *turn);

/** @return When the last bit of a message of @a length bytes is there, which is its turn on the
 * way in. One that comes far from now, as its sender says, has none: others do not wait for it. */
uint64_t sh_link_arrive(unsigned device, const sh_msg_t *msg, uint64_t length);

/** @return Whether a time is that far from now. */
int sh_link_is_far(uint64_t time);

/** @return When an acknowledgement is there. It takes no room on the link. */
uint64_t sh_link_answer(const sh_msg_t *msg);

/** @return How long before its time the copy of @a length bytes is to begin. */
uint64_t sh_link_copy_time(uint64_t length);

/** Learn from a copy. */
void sh_link_copied(uint64_t length, uint64_t ns);

/** Count a message and its packets. */
void sh_link_count(uint64_t length, unsigned mtu);

void sh_link_init(void);

#endif
