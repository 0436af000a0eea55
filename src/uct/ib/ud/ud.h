/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The plane on unreliable datagrams of verbs: messages go straight from the sender's memory into
 * the receiver's, as on rc, but a process needs no more queue pairs for more peers
 * (protocol-ud.md).
 *
 * It is no remote memory: nothing moves before the receiver has posted its memory and the sender
 * has been told where. So there are functions besides those of other planes (ri_ud_ops_t). The
 * receiver begins (recv) and gets a target, which its protocol takes to the sender: in a TARGET,
 * when there is an RTS already, or in an RTR, when there is not. The sender's side (send)
 * needs nothing else. Which of the two it was makes no difference here, but for one: what was
 * offered in an RTR may never be used, and so gives its queue pair up when others wait.
 *
 * The message's length must be that of the target. If it could be shorter, a piece that lands
 * too late (behind one that came twice) would be written behind the end of the message, where MPI
 * allows no change.
 *
 * Control messages are datagrams, too, on a queue pair of their own, and not the reliable
 * messages of the layer above: a grant must not wait behind bulk data or for a progress of
 * another transport, and a transfer has to survive their loss in any case, as what goes with
 * them gets lost. Whether a transfer has ended well is known by its number: the receiver answers
 * a probe for one that it has given out and does not know any more with ACK, unless it
 * was cancelled. Those that were are kept until forget().
 *
 * That answer cannot be had from a process that has ended, so a receiver that is about to has to
 * know whether its last ACKs have arrived. The sender says so (DONE, for several at a time), and
 * what it has not said by then is repeated (remind), or told another way (unheard, heard).
 *
 * One queue pair sends the pieces of all transfers, in chains, in turn. So it has one queue,
 * and the receiver can tell the peer's datagrams from those of others by one number.
 */
#ifndef RI_UD_H
#define RI_UD_H

#include "ud_wire.h"

/* The calls of a transfer to its protocol, in whose memory this is until done(). Neither is called
 * from within the call that began the transfer. They may begin and cancel others, and end
 * ways. */
typedef struct ri_ud_op {
    /* Of a receive: there is a queue pair now. */
    void (*ready)(struct ri_ud_op *op, const ri_ud_target_t *target);

    /* OK. CANCELED: by either side, or the offer was withdrawn. UNREACHABLE: there was no
     * answer, or no end of losses, or the way or the plane has failed or ended. INVALID_ADDR: the
     * device cannot use the memory. IO_ERROR: the completion queue of a receive has failed.
     * NO_RESOURCE: a receive waited for a queue pair, and there is none any more. NO_MEMORY: there
     * was none when it got one. When this is called nobody touches the memory any more. */
    void (*done)(struct ri_ud_op *op, ucs_status_t status);

    void *transfer; /* the plane's */
    int heard; /* of a receive, when it has ended: its sender had begun. 0 before the call */
} ri_ud_op_t;

/* Memory of a message: as of ri_transfer_t, not needed when the call returns. */
typedef struct ri_ud_list {
    const ri_segment_t *segments;
    const uint32_t *keys;
    size_t count;
    uint64_t length; /* of the message, not 0 */
} ri_ud_list_t;

/* The functions of the plane besides ri_plane_ops_t. */
typedef struct ri_ud_ops {
    /**
     * Receive a message.
     *
     * @param is_offer  It goes with an RTR. No other transfer waits for it.
     * @param target    For the sender.
     *
     * @return UCS_OK: @a target is set. UCS_INPROGRESS: there is no queue pair now, op->ready()
     *         will have the target. After an error nothing has begun. UCS_ERR_NO_RESOURCE: there is
     *         no queue pair for an offer, or none at all. UCS_ERR_EXCEEDS_LIMIT: of this way too
     *         many were cancelled to offer more. UCS_ERR_UNREACHABLE: the way is not connected, or
     *         the way or the plane has failed. UCS_ERR_INVALID_PARAM: the message has too many
     *         pieces, or the list is too short. UCS_ERR_NO_MEMORY.
     */
    ucs_status_t (*recv)(ri_plane_ep_t *ep, const ri_ud_list_t *list, int is_offer,
                         ri_ud_op_t *op, ri_ud_target_t *target);

    /**
     * Send a message.
     *
     * @param target  Of the receiver: wire input.
     *
     * @return UCS_INPROGRESS: op->done() will tell. After an error nothing has begun.
     *         UCS_ERR_INVALID_PARAM: the target cannot be used, or is not for a message of this
     *         length, or the list is too short. UCS_ERR_UNREACHABLE: the way is not connected, or
     *         the way or the plane has failed. UCS_ERR_NO_MEMORY.
     */
    ucs_status_t (*send)(ri_plane_ep_t *ep, const ri_ud_list_t *list,
                         const ri_ud_target_t *target, ri_ud_op_t *op);

    /** End a transfer, with UCS_ERR_CANCELED if it has not ended otherwise: op->done() will tell,
     * which must not have been called yet. The sender of a receive that has a target is told, and
     * told again when it asks; the receiver of a send is not told. Nothing is received into the
     * memory of a message any more when this returns; that of a send may be read until op->done()
     * is called. */
    void (*cancel)(ri_ud_op_t *op);

    /** Cancel an offer whose sender was not heard of. @return 1: it has ended, and its sender
     * was not heard of. 0: its sender has begun, and it goes on or has ended. */
    int (*withdraw)(ri_ud_op_t *op);

    /** The sender of an offer has said that it begins: the offer keeps its queue pair. */
    void (*claim)(ri_ud_op_t *op);

    /** The sender has said that it will not ask for a transfer of this number that was
     * cancelled: it has not used the target, and will not. */
    void (*forget)(ri_plane_ep_t *ep, uint32_t number);

    /** @return How many messages were received by a way of which the sender has not said that it
     * knows; the numbers of the first @a max of them. */
    unsigned (*unheard)(ri_plane_ep_t *ep, uint32_t *numbers, unsigned max);

    /** Tell the sender again, if it is time to, of messages that were received by a way and of
     * which it has not said that it knows. To be called now and then, with progress between.
     * @return Whether that is worth while: it was not yet in vain for long. */
    int (*remind)(ri_plane_ep_t *ep);

    /** The receiver has said by another way that it has the message that is sent under a
     * number. */
    void (*heard)(ri_plane_ep_t *ep, uint32_t number);

    /** @return The counters of a plane. */
    const ri_ud_counters_t *(*counters)(const ri_plane_t *plane);
} ri_ud_ops_t;

#endif
