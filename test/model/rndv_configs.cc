/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is explored. docs/testing.md says how many states that makes.
 */
#include "rndv_model.h"

/* What most of them have: eager and large messages, small and large receives */
static void two_lengths(config_t &c)
{
    c.lengths = c.capacities = "13";
}

static void one_tag(config_t &c)
{
    c.tags = c.recv_tags = "0";
}

static void two_senders(config_t &c)
{
    one_tag(c);
    two_lengths(c);
    c.senders    = 2;
    c.messages   = 2;
    c.messages_1 = 1;
}

static void canceling(config_t &c, int cancels)
{
    two_lengths(c);
    c.cancels = cancels;
    c.rtrs    = 2;
}

static void grants(config_t &c)
{
    c.grants = c.in_stream_fin = true;
}

static void datagrams(config_t &c)
{
    grants(c);
    c.ud = true;
}

const std::vector<named_config_t> named_configs = {
        {"order", "two tags, exact and any-tag receives; all lengths of messages", true,
         [](config_t &c) { c.capacities = "13"; }},
        {"lengths", "all lengths of messages and receives, exact and any-tag", true,
         [](config_t &c) { c.tags = "0", c.recv_tags = "0*"; }},
        {"long", "one tag, four messages, four receives", true,
         [](config_t &c) { one_tag(c), two_lengths(c), c.messages = c.recvs = 4; }},
        {"fin", "order, with FIN in sequence in place of notifications", true,
         [](config_t &c) { two_lengths(c), c.in_stream_fin = true; }},
        {"no-list", "order, with messages that list no receives", true,
         [](config_t &c) { two_lengths(c), c.list = 0; }},
        {"short-list", "long, with messages that list one receive at most", true,
         [](config_t &c) {
             one_tag(c), two_lengths(c), c.messages = c.recvs = 4, c.list = 1;
         }},
        {"slow", "reads, FIN and release of the pool take time", true,
         [](config_t &c) { one_tag(c), c.slow_reads = true; }},
        {"window", "the sender keeps one tag only", true,
         [](config_t &c) { two_lengths(c), c.window = 1; }},
        {"cancel", "a cancel, and a second RTR of each receive", true,
         [](config_t &c) { canceling(c, 1), c.messages = 2; }},
        {"cancel-two", "two cancels, one tag", true,
         [](config_t &c) { one_tag(c), canceling(c, 2); }},
        {"refuse", "a cancel, and the sender refuses what it likes; one tag", true,
         [](config_t &c) { one_tag(c), canceling(c, 1), c.refuse_any = true; }},
        {"source", "two senders, receives from each and from any", true,
         [](config_t &c) { two_senders(c), c.sources = "01*"; }},
        {"guess",
         "two senders, the receiver thinks that all comes from the first; a cancel", true,
         [](config_t &c) { two_senders(c), canceling(c, 1), c.sources = "g"; }},
        {"net",
         "two ways that fail, control messages overtake each other; a cancel, one tag",
         true,
         [](config_t &c) {
             one_tag(c), canceling(c, 1), c.messages = c.recvs = 2;
             c.net = c.unordered = true, c.ways = 2;
         }},
        {"net-guess", "guess, with a way that fails", true,
         [](config_t &c) {
             two_senders(c), canceling(c, 1), c.sources = "g", c.recvs = 2;
             c.net = true, c.ways = 1;
         }},
        {"net-named", "net, one way; the sender tells which receives it writes", true,
         [](config_t &c) {
             one_tag(c), canceling(c, 1), c.messages = c.recvs = 2;
             c.net = c.unordered = c.named = true, c.ways = 1;
         }},
        {"net-named-3", "net-named, three messages, no cancel", true,
         [](config_t &c) {
             one_tag(c), two_lengths(c);
             c.net = c.named = true, c.ways = 1;
         }},
        {"net-guess-named", "net-guess, and the sender tells which receives it writes",
         false,
         [](config_t &c) {
             two_senders(c), canceling(c, 1), c.sources = "g", c.recvs = 2;
             c.net = c.named = true, c.ways = 1;
         }},
        {"grants", "order, with grants and two lengths", true,
         [](config_t &c) { grants(c), two_lengths(c); }},
        {"grants-lengths", "lengths, with grants", true,
         [](config_t &c) { grants(c), c.tags = "0", c.recv_tags = "0*"; }},
        {"grants-long", "long, with grants", true,
         [](config_t &c) {
             grants(c), one_tag(c), two_lengths(c), c.messages = c.recvs = 4;
         }},
        {"grants-window", "window, with grants", true,
         [](config_t &c) { grants(c), two_lengths(c), c.window = 1; }},
        {"grants-cancel", "cancel, with grants", true,
         [](config_t &c) { grants(c), canceling(c, 1), c.messages = 2; }},
        {"grants-cancel-two", "cancel-two, with grants", true,
         [](config_t &c) { grants(c), one_tag(c), canceling(c, 2); }},
        {"grants-ignore", "a cancel, and the sender ignores what it likes; one tag", true,
         [](config_t &c) {
             grants(c), one_tag(c), canceling(c, 1), c.refuse_any = true;
         }},
        {"grants-whims",
         "one tag, two grants; the receiver takes RTRs back for no reason", true,
         [](config_t &c) {
             grants(c), one_tag(c), canceling(c, 0), c.whims = true, c.messages = 2,
                                                     c.words = 2;
         }},
        {"grants-unordered", "a cancel, and RTRs overtake each other; one tag", true,
         [](config_t &c) { grants(c), one_tag(c), canceling(c, 1), c.unordered = true; }},
        {"grants-fail", "writes fail; a cancel, one tag", true,
         [](config_t &c) {
             grants(c), one_tag(c), canceling(c, 1), c.messages = 2;
             c.lengths = "123", c.capacities = "123", c.write_fails = true;
         }},
        {"grants-slots", "both sides copy; copies fail, slots are withdrawn; one tag",
         true,
         [](config_t &c) {
             grants(c), one_tag(c), canceling(c, 1), c.messages = c.recvs = 2;
             c.lengths = "14", c.write_fails = c.slots_withdrawn = true;
         }},
        {"grants-ends", "the sender dies, its conn fails, or its stream ends; a cancel",
         true,
         [](config_t &c) {
             grants(c), one_tag(c), canceling(c, 1), c.messages = c.recvs = 2;
             c.lengths = "134", c.capacities = "3", c.rtrs = 1;
             c.dies = c.fails = c.breaks = c.write_fails = true;
         }},
        {"grants-ends-two", "two senders, one of which dies; a cancel", true,
         [](config_t &c) {
             grants(c), two_senders(c), canceling(c, 1), c.sources = "a";
             c.lengths = "14", c.capacities = "3", c.rtrs = 1, c.dies = true;
             c.messages = 1, c.recvs = 2;
         }},
        {"grants-source", "source, with grants", true,
         [](config_t &c) { grants(c), two_senders(c), c.sources = "01*"; }},
        {"grants-guess", "guess, with grants", true,
         [](config_t &c) {
             grants(c), two_senders(c), canceling(c, 1), c.sources = "g";
         }},
        {"grants-guesses", "two senders, guessed anew for each RTR, and any; writes fail",
         true,
         [](config_t &c) {
             grants(c), two_senders(c), canceling(c, 0), c.sources = "a*",
                                                         c.write_fails = true;
         }},
        {"ud", "order, with datagrams and two lengths", true,
         [](config_t &c) { datagrams(c), two_lengths(c); }},
        {"ud-lengths", "lengths, with datagrams", true,
         [](config_t &c) { datagrams(c), c.tags = "0", c.recv_tags = "0*"; }},
        {"ud-long", "long, with datagrams", true,
         [](config_t &c) {
             datagrams(c), one_tag(c), two_lengths(c), c.messages = c.recvs = 4;
         }},
        {"ud-window", "window, with datagrams", true,
         [](config_t &c) { datagrams(c), two_lengths(c), c.window = 1; }},
        {"ud-cancel", "cancel, with datagrams", true,
         [](config_t &c) { datagrams(c), canceling(c, 1), c.messages = 2; }},
        {"ud-cancel-two", "cancel-two, with datagrams", true,
         [](config_t &c) { datagrams(c), one_tag(c), canceling(c, 2); }},
        {"ud-whims",
         "one tag, two queue pairs, RTRs are withdrawn at any time; they overtake each "
         "other",
         true,
         [](config_t &c) {
             datagrams(c), one_tag(c), canceling(c, 0), c.whims = c.unordered = true;
             c.messages = c.recvs = c.words = 2;
         }},
        {"ud-fail", "transfers fail, RTRs are withdrawn at any time; a cancel, one tag",
         true,
         [](config_t &c) {
             datagrams(c), one_tag(c), canceling(c, 1), c.messages = c.recvs = 2;
             c.write_fails = c.whims = c.slow_reads = true;
         }},
        {"ud-source", "source, with datagrams", true,
         [](config_t &c) { datagrams(c), two_senders(c), c.sources = "01*"; }},
        {"ud-guess", "guess, with datagrams", true,
         [](config_t &c) {
             datagrams(c), two_senders(c), canceling(c, 1), c.sources = "g";
         }},
        {"ud-guesses", "two senders, guessed anew for each RTR, and any; transfers fail",
         true,
         [](config_t &c) {
             datagrams(c), two_senders(c), canceling(c, 0), c.sources = "a*",
                                                            c.write_fails = true;
         }},
        {"ud-walk", "all of it, and more of each: for walks", false,
         [](config_t &c) {
             datagrams(c), two_senders(c), canceling(c, 2), c.sources = "0ga*";
             c.messages = c.recvs = MAX_RECVS, c.messages_1 = 3, c.tags = "01";
             c.recv_tags = "01*", c.lengths = c.capacities = "123", c.words = 3;
             c.write_fails = c.whims = c.slow_reads = c.unordered = true;
         }},

        {"order-all", "order, with all lengths of receives", false, [](config_t &) {}},
        {"order-4-3", "order, with four messages and two lengths", false,
         [](config_t &c) { two_lengths(c), c.messages = 4; }},
        {"order-3-4", "order, with four receives and two lengths", false,
         [](config_t &c) { two_lengths(c), c.recvs = 4; }},
        {"long-5", "one tag, five messages, five receives", false,
         [](config_t &c) { one_tag(c), two_lengths(c), c.messages = c.recvs = 5; }},
        {"cancel-3", "cancel, with three messages", false,
         [](config_t &c) { canceling(c, 1); }},
        {"refuse-tags", "refuse, with two tags, any-tag receives and two messages", false,
         [](config_t &c) { canceling(c, 1), c.refuse_any = true, c.messages = 2; }},
        {"source-guess", "two senders, receives from the first, a guessed one, and any",
         false,
         [](config_t &c) {
             two_senders(c), canceling(c, 0), c.sources = "0g*", c.messages_1 = 2;
         }},
        {"grants-3", "order, with grants", false,
         [](config_t &c) { grants(c), c.capacities = "13"; }},
        {"grants-all", "order-all, with grants", false, [](config_t &c) { grants(c); }},
        {"grants-cancel-3", "grants-cancel, with three messages", false,
         [](config_t &c) { grants(c), canceling(c, 1); }},
        {"grants-long-5", "long-5, with grants", false,
         [](config_t &c) {
             grants(c), one_tag(c), two_lengths(c), c.messages = c.recvs = 5;
         }},
        {"grants-slots-3", "grants-slots, with three receives", false,
         [](config_t &c) {
             grants(c), one_tag(c), canceling(c, 1), c.messages = 2;
             c.lengths = "14", c.write_fails = c.slots_withdrawn = true;
         }},
        {"grants-ends-3", "grants-ends, with three receives and two lengths", false,
         [](config_t &c) {
             grants(c), one_tag(c), canceling(c, 1), c.messages = 2;
             c.lengths = "14", c.capacities = "3", c.rtrs = 1;
             c.dies = c.fails = c.breaks = c.write_fails = true;
         }},
        {"grants-ends-two-3", "grants-ends-two, with three receives", false,
         [](config_t &c) {
             grants(c), two_senders(c), canceling(c, 1), c.sources = "a";
             c.lengths = "14", c.capacities = "3", c.rtrs = 1, c.dies = true;
             c.messages = 1;
         }},
        {"grants-guess-tags", "grants-guess, with two tags, any tag, and no cancel",
         false,
         [](config_t &c) {
             grants(c), two_senders(c), canceling(c, 0), c.sources = "g*";
             c.tags = "01", c.recv_tags = "01*";
         }},
        {"grants-guess-2",
         "grants-guess, guessed anew for each RTR, two messages of each", false,
         [](config_t &c) {
             grants(c), two_senders(c), canceling(c, 1);
             c.sources = "a", c.messages_1 = 2;
         }},
};
