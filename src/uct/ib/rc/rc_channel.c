/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sum over a record, then the two ends: the sender seals records, the receiver takes those that
 * are complete.
 */
#include "rc_channel.h"

#include <string.h>

/* Odd, and with as many ones as zeros in no order. */
#define SUM_FACTOR 0xb5c18e6a3d2f9745ul

/* Words that are summed up side by side, as each step waits for the one before. */
#define SUM_LANES 4

/* One step is invertible, so a single word that differs always shows. Turning brings what is
 * in the upper bits of a word, which a product leaves there, to the lower ones. */
static inline uint64_t sum_step(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * SUM_FACTOR;
    return (sum << 31) | (sum >> 33);
}

static inline uint64_t sum_word(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

uint64_t ri_channel_sum(uint64_t key, uint32_t pos, const ri_channel_record_t *header,
                        const uint8_t *payload)
{
    size_t length = ri_channel_filled(header->length);
    uint64_t sum  = sum_step(key, pos);
    uint64_t lane[SUM_LANES];
    unsigned i;

    for (i = 0; i < sizeof(*header); i += sizeof(uint64_t)) {
        sum = sum_step(sum, sum_word((const uint8_t *)header + i));
    }
    if (length >= sizeof(lane)) {
        for (i = 0; i < SUM_LANES; ++i) {
            lane[i] = sum + i;
        }
        for (; length >= sizeof(lane); length -= sizeof(lane), payload += sizeof(lane)) {
            for (i = 0; i < SUM_LANES; ++i) {
                lane[i] = sum_step(lane[i], sum_word(payload + i * sizeof(uint64_t)));
            }
        }
        for (i = 0; i < SUM_LANES; ++i) {
            sum = sum_step(sum, lane[i]);
        }
    }
    for (; length > 0; length -= sizeof(uint64_t), payload += sizeof(uint64_t)) {
        sum = sum_step(sum, sum_word(payload));
    }
    return sum_step(sum, key);
}

void ri_channel_tx_init(ri_channel_tx_t *tx, void *shadow, size_t size, uint64_t key,
                        const uint64_t *credit)
{
    *tx = (ri_channel_tx_t){.shadow      = shadow,
                            .mask        = size / RI_CHANNEL_LINE - 1,
                            .max_payload = ri_channel_max_payload(size),
                            .credit      = credit,
                            .key         = key};
}

void ri_channel_rx_init(ri_channel_rx_t *rx, void *buffer, size_t size, uint64_t key)
{
    *rx = (ri_channel_rx_t){
            .buffer = buffer, .mask = size / RI_CHANNEL_LINE - 1, .key = key};
}

size_t ri_channel_tx_seal(const ri_channel_tx_t *tx, ri_channel_record_t *record)
{
    size_t filled = ri_channel_filled(record->length);
    uint64_t sum;

    record->stamp = ri_channel_stamp(tx->key, tx->pos);
    record->zero  = 0;
    memset(record->payload + record->length, 0, filled - record->length);
    sum = ri_channel_sum(tx->key, tx->pos, record, record->payload);
    memcpy(record->payload + filled, &sum, sizeof(sum));
    return RI_CHANNEL_EXTRA + filled;
}

uint64_t ri_channel_credit(uint64_t key, uint32_t consumed)
{
    return (sum_step(sum_step(key, consumed), key) << 32) | consumed;
}

void ri_channel_tx_update(ri_channel_tx_t *tx)
{
    uint64_t word     = __atomic_load_n(tx->credit, __ATOMIC_ACQUIRE);
    uint32_t consumed = word;

    if ((word == ri_channel_credit(tx->key, consumed)) &&
        (consumed - tx->consumed <= tx->pos - tx->consumed)) {
        tx->consumed = consumed;
    }
}

/* Whether all of a record whose stamp has come is there. The buffer may change at any time: the
 * header is a copy, and the sum is over what the payload is found to be. */
static int rx_is_complete(const ri_channel_rx_t *rx, const ri_channel_record_t *header,
                          const uint8_t *payload)
{
    uint32_t left = rx->mask + 1 - (rx->pos & rx->mask);

    if ((header->type == RI_CHANNEL_PAD) ? (header->length != 0) :
                                           (ri_channel_lines(header->length) > left)) {
        return 0;
    }
    return ri_channel_sum(rx->key, rx->pos, header, payload) ==
           sum_word(payload + ri_channel_filled(header->length));
}

const void *ri_channel_rx_peek(ri_channel_rx_t *rx, ri_channel_record_t *header)
{
    const ri_channel_record_t *record;

    for (;;) {
        record = (const ri_channel_record_t *)(rx->buffer + (size_t)(rx->pos & rx->mask) *
                                                                    RI_CHANNEL_LINE);
        if (ri_likely(__atomic_load_n(&record->stamp, __ATOMIC_ACQUIRE) !=
                      ri_channel_stamp(rx->key, rx->pos))) {
            return NULL;
        }
        memcpy(header, record, sizeof(*header));
        if (ri_unlikely(!rx_is_complete(rx, header, record->payload))) {
            return NULL;
        }
        if (ri_likely(header->type != RI_CHANNEL_PAD)) {
            return record->payload;
        }
        rx->pos += ri_channel_lines_at(rx->mask, rx->pos, header->type, 0);
    }
}
