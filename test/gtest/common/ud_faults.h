/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What happens to datagrams on their way, in all tests of messages by datagrams: one list of
 * settings, and of the seeds with each. They are for
 *
 *  - the software HCA, by text: processes and real memory (test_ud_process, test_ud_pair);
 *  - a simulated network: state machines, memory, a clock (test_ud_transfer);
 *  - walks of the state machines, with all memory looked at in each state (test_ud_explore);
 *  - walks of the model of the protocol above them (test/model/rndv_walk.cc), where a message
 *    is one thing and not pieces, and so only some of it means anything.
 *
 * A seed is one number for all of them; what it makes of a setting is another thing in each.
 */
#ifndef RI_TEST_UD_FAULTS_H
#define RI_TEST_UD_FAULTS_H

#include <cstdint>
#include <string>
#include <vector>

/* Chances in 1000. */
struct ud_faults {
    const char *name;
    unsigned drop;
    unsigned repeat;
    unsigned reorder, window; /* `window`: the most later datagrams that overtake one */
    unsigned delay;
    unsigned delay_us;
    unsigned lose,
            lose_count; /* a type of control message, and how many of it are lost */
    unsigned last;  /* how often the last piece of a message is lost, before it comes */
    unsigned seeds; /* from 1 on */
};

/* The software HCA does not know which piece is the last one: it goes by the length. */
const unsigned UD_LAST_LENGTH = 1500;

/* Timeouts of the plane are 200 us, 2 ms and more: 15 ms is past them. Types: 2 is NACK, 3 is
 * ACK, 6 is PROBE. */
inline const std::vector<ud_faults> &ud_fault_settings()
{
    static const std::vector<ud_faults> all = {
            {"none", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
            {"drop_0_1", 1, 0, 0, 0, 0, 0, 0, 0, 0, 2},
            {"drop_1", 10, 0, 0, 0, 0, 0, 0, 0, 0, 2},
            {"drop_5", 50, 0, 0, 0, 0, 0, 0, 0, 0, 2},
            {"drop_20", 200, 0, 0, 0, 0, 0, 0, 0, 0, 1},
            {"reorder_5", 0, 0, 50, 4, 0, 0, 0, 0, 0, 2},
            {"reorder_20", 0, 0, 200, 16, 0, 0, 0, 0, 0, 2},
            {"repeat_1", 0, 10, 0, 0, 0, 0, 0, 0, 0, 2},
            {"repeat_20", 0, 200, 0, 0, 0, 0, 0, 0, 0, 2},
            {"delay_300us", 0, 0, 0, 0, 10, 300, 0, 0, 0, 2},
            {"delay_15ms", 0, 0, 0, 0, 20, 15000, 0, 0, 0, 1},
            {"nack_lost", 20, 0, 0, 0, 0, 0, 2, 3, 0, 2},
            {"ack_lost", 10, 0, 0, 0, 0, 0, 3, 3, 0, 2},
            {"probe_lost", 20, 0, 0, 0, 0, 0, 6, 2, 0, 2},
            {"last_lost", 0, 0, 0, 0, 0, 0, 0, 0, 3, 2},
            {"everything", 30, 30, 50, 8, 10, 10000, 0, 0, 0, 4},
    };

    return all;
}

/* SOFTHCA_FAULTS of a setting. */
inline std::string ud_faults_text(const ud_faults &f)
{
    std::string text;
    auto add = [&text](const char *word, unsigned chance, const std::string &more) {
        if (chance > 0) {
            text += (text.empty() ? "" : ",") + std::string(word) + "=" +
                    std::to_string(chance / 10) + "." + std::to_string(chance % 10) +
                    "%" + more;
        }
    };

    add("ud_drop", f.drop, "");
    add("ud_dup", f.repeat, "");
    add("ud_reorder", f.reorder, "/" + std::to_string(f.window));
    add("ud_delay", f.delay, "/" + std::to_string(f.delay_us) + "us");
    auto add_count = [&text](const char *word, unsigned what, unsigned count) {
        if (count > 0) {
            text += (text.empty() ? "" : ",") + std::string(word) + "=" +
                    std::to_string(what) + "/" + std::to_string(count);
        }
    };

    add_count("ud_lose", f.lose, f.lose_count);
    add_count("ud_lose_size", UD_LAST_LENGTH, f.last);
    return text;
}

#endif
