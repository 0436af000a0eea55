/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Records of channels that the library did not write.
 */
#ifndef RI_TEST_CHANNEL_RECORD_H
#define RI_TEST_CHANNEL_RECORD_H

#include "wire_msg.h"

extern "C" {
#include "ucp/link/channel_life.h"
}

struct channel_record {
    uint8_t type;
    uint32_t value, extra;
    uint64_t tag;
    bytes payload;
    uint32_t length; /* as it says */

    /* The next record of a sender's is this one, and is in the receiver's memory already. */
    void put(ri_channel_out_t *out, ri_channel_in_t *in) const
    {
        ri_channel_record_t *record = ri_channel_tx_next(&out->tx);

        record->length = length;
        record->type   = type;
        record->value  = value;
        record->extra  = extra;
        record->tag    = tag;
        if (!payload.empty()) {
            memcpy(record->payload, payload.data(), payload.size());
        }
        ri_channel_tx_seal(&out->tx, record);
        memcpy(in->memory, out->memory, in->size);
    }
};

#endif
