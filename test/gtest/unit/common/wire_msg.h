/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Messages as they stand on the wire, for tests that play the other side. */
#ifndef RI_TEST_WIRE_MSG_H
#define RI_TEST_WIRE_MSG_H

#include "ri_cpp.h"

#include <vector>

typedef std::vector<uint8_t> bytes;

/* The payload of an RTS or POOL. */
inline bytes rts_payload(const std::vector<ri_segment_t> &segments, uint16_t flags = 0,
                         uint16_t slot = 0)
{
    ri_wire_rts_t rts = {};
    bytes out;

    rts.num_segments = segments.size();
    rts.flags        = flags;
    rts.slot         = slot;
    out.resize(sizeof(rts) + segments.size() * sizeof(ri_segment_t));
    memcpy(out.data(), &rts, sizeof(rts));
    for (size_t i = 0; i < segments.size(); ++i) {
        memcpy(&out[sizeof(rts) + i * sizeof(ri_segment_t)], &segments[i],
               sizeof(ri_segment_t));
    }
    return out;
}

/* Set what the type has, then take the header. */
struct wire_msg {
    wire_msg(ri_wire_type_t type, uint32_t id, uint32_t value)
        : type(type), id(id), value(value)
    {
    }

    wire_msg &hello(uint64_t from_uid, uint32_t conn_id, uint64_t host = 0,
                    uint32_t serial = 1)
    {
        has_hello        = true;
        greeting         = {};
        greeting.magic   = RI_WIRE_MAGIC;
        greeting.version = RI_WIRE_VERSION;
        greeting.uid     = from_uid;
        greeting.host    = host;
        greeting.conn_id = conn_id;
        greeting.serial  = serial;
        return *this;
    }

    bytes header() const
    {
        bytes out;
        ri_wire_base_t base;

        base.type  = type | (has_hello ? RI_WIRE_FLAG_HELLO : 0);
        base.value = value;
        ri_wire_set_id(&base, id);
        if (!append_message(out, base) && !append_way(out, base) &&
            !append_rtr(out, base) && !append_word(out, base)) {
            append(out, base);
        }
        if (has_hello) {
            append(out, greeting);
        }
        return out;
    }

    /* Messages with data, or what announces data. False: the type is none of them. */
    bool append_message(bytes &out, const ri_wire_base_t &base) const
    {
        switch (type) {
        case RI_WIRE_EAGER:
        case RI_WIRE_BULK:
            append(out, ri_wire_eager_t{base, tag});
            break;
        case RI_WIRE_EAGER_SYNC:
        case RI_WIRE_RTS:
        case RI_WIRE_POOL:
        case RI_WIRE_PLACED:
            append(out, ri_wire_eager_sync_t{base, tag, req_id, 0});
            break;
        case RI_WIRE_FIRST:
            append(out, ri_wire_first_t{base, tag, req_id, total});
            break;
        case RI_WIRE_FRAG:
            append(out, ri_wire_frag_t{base, uid});
            break;
        default:
            return false;
        }
        return true;
    }

    /* Connections, rings, planes and channels. False: the type is none of them. */
    bool append_way(bytes &out, const ri_wire_base_t &base) const
    {
        switch (type) {
        case RI_WIRE_CONN_ACK:
            append(out, ri_wire_conn_ack_t{base, uid});
            break;
        case RI_WIRE_RING_OFFER:
            append(out, ri_wire_ring_offer_t{base, pid, fd, stream_id, 0, cookie, uid});
            break;
        case RI_WIRE_RING_STOP:
            append(out, ri_wire_ring_stop_t{base, uid});
            break;
        case RI_WIRE_PLANE_REQ:
        case RI_WIRE_PLANE_ACK: {
            ri_wire_plane_t msg = {};

            msg.base   = base;
            msg.plane  = plane;
            msg.length = address_length;
            msg.way    = way;
            msg.asked  = asked;
            std::copy(address.begin(), address.end(), msg.address);
            append(out, msg);
            break;
        }
        case RI_WIRE_CHANNEL_OFFER:
        case RI_WIRE_CHANNEL_ACCEPT:
        case RI_WIRE_CHANNEL_STOP:
        case RI_WIRE_CHANNEL_CLOSE: {
            ri_wire_channel_t msg = {base,   stream_id, serial, uid,
                                     cookie, number,    key,    {way}};

            if (type == RI_WIRE_CHANNEL_CLOSE) {
                msg.reason = reason;
            }
            append(out, msg);
            break;
        }
        case RI_WIRE_CHANNEL_AGAIN: {
            ri_wire_channel_again_t msg = {};

            msg.base   = base;
            msg.serial = serial;
            msg.way    = way;
            msg.tag    = tag;
            msg.value  = sn;
            msg.extra  = req_id;
            msg.type   = record;
            append(out, msg);
            break;
        }
        default:
            return false;
        }
        return true;
    }

    /* Receives that are offered, and what becomes of the offers. False: the type is none of them. */
    bool append_rtr(bytes &out, const ri_wire_base_t &base) const
    {
        switch (type) {
        case RI_WIRE_RTR:
            append(out, rtr<ri_wire_rtr_msg_t>(base));
            break;
        case RI_WIRE_RTR_GRID: {
            ri_wire_rtr_grid_t msg = rtr<ri_wire_rtr_grid_t>(base);

            msg.grid = grid;
            append(out, msg);
            break;
        }
        case RI_WIRE_RTR_LAYOUT: {
            ri_wire_rtr_layout_msg_t msg = rtr<ri_wire_rtr_layout_msg_t>(base);

            msg.count   = number;
            msg.defined = serial;
            msg.slot    = asked;
            append(out, msg);
            break;
        }
        case RI_WIRE_LAYOUT:
            append(out, ri_wire_layout_t{base, asked, 0});
            break;
        case RI_WIRE_LAYOUT_REFUSED:
            append(out, ri_wire_layout_refused_t{base, asked, (uint16_t)flags});
            break;
        case RI_WIRE_RTR_UD: {
            ri_wire_rtr_ud_t msg = {base,       tag, cookie, way, recv_id,
                                    generation, 0,   entry,  {}};

            std::copy(target.begin(), target.end(), msg.target);
            append(out, msg);
            break;
        }
        case RI_WIRE_REVOKE:
            append(out, ri_wire_revoke_t{base, entry, 0, stream_id, uid});
            break;
        case RI_WIRE_REVOKED:
            append(out, ri_wire_revoked_t{base, entry, (uint16_t)flags, 0});
            break;
        case RI_WIRE_USED: {
            ri_wire_used_t msg = {};

            msg.base  = base;
            msg.count = total;
            if (!release.empty()) {
                memcpy((uint8_t *)&msg + offsetof(ri_wire_used_t, rtrs), release.data(),
                       release.size() * sizeof(uint32_t));
            }
            append(out, msg);
            break;
        }
        default:
            return false;
        }
        return true;
    }

    /* Words about a message that is under way. False: the type is none of them. */
    bool append_word(bytes &out, const ri_wire_base_t &base) const
    {
        switch (type) {
        case RI_WIRE_NACK:
            append(out, ri_wire_nack_t{base, recv_id, flags});
            break;
        case RI_WIRE_CTS:
            append(out, ri_wire_cts_t{base, recv_id, 0, cookie});
            break;
        case RI_WIRE_RELEASE: {
            ri_wire_release_t msg = {};

            msg.base = base;
            if (!release.empty()) {
                memcpy((uint8_t *)&msg + sizeof(base), release.data(),
                       release.size() * sizeof(uint32_t));
            }
            append(out, msg);
            break;
        }
        case RI_WIRE_TARGET: {
            ri_wire_target_t msg = {base, recv_id, sn, way, flags, {}};

            std::copy(target.begin(), target.end(), msg.target);
            append(out, msg);
            break;
        }
        case RI_WIRE_ABANDON:
            append(out, ri_wire_abandon_t{base, recv_id, sn});
            break;
        default:
            return false;
        }
        return true;
    }

    template <typename T> T rtr(const ri_wire_base_t &base) const
    {
        T msg = {};

        msg.base       = base;
        msg.tag        = tag;
        msg.mask       = cookie;
        msg.address    = cookie;
        msg.length     = length;
        msg.key        = key;
        msg.way        = way;
        msg.seen       = recv_id;
        msg.generation = generation;
        msg.entry      = entry;
        return msg;
    }

    template <typename T> static void append(bytes &out, const T &field)
    {
        const uint8_t *at = reinterpret_cast<const uint8_t *>(&field);

        out.insert(out.end(), at, at + sizeof(field));
    }

    ri_wire_type_t type;
    uint32_t id;
    uint32_t value;
    std::vector<uint32_t> release;
    uint64_t tag           = 0;
    uint32_t req_id        = 0;
    uint64_t uid           = 0;
    uint32_t total         = 0;
    uint32_t pid           = 0;
    uint32_t fd            = 0;
    uint32_t stream_id     = 0;
    uint64_t cookie        = 0; /* or an address */
    uint32_t serial        = 0;
    uint64_t number        = 0;
    uint32_t key           = 0;
    uint32_t recv_id       = 0;
    uint32_t flags         = 0;
    uint8_t plane          = RI_WIRE_PLANE_CMA;
    uint8_t address_length = 0;
    uint32_t way           = 0;
    uint32_t reason        = 0;
    uint16_t asked         = 0;
    uint64_t length        = 1; /* of the receive of an RTR */
    uint32_t generation    = 0;
    uint16_t entry         = 0;
    uint32_t sn            = 0;             /* of a record, its value */
    uint8_t record         = RI_WIRE_EAGER; /* its type */
    ri_wire_grid_t grid    = {};
    bytes target;  /* at most RI_PLANE_TARGET_SIZE */
    bytes address; /* at most RI_PLANE_ADDRESS_MAX */
    bool has_hello           = false;
    ri_wire_hello_t greeting = {};
};

#endif
