# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints sums of counters over both ranks, for counters.sh. With -v of=hca those of the software
# HCA: doorbells, work requests, receive doorbells, messages, packets, completions.
#
# With -v of=control two sums of the library's reports: messages of control, and messages that an
# RTR was used for. Control messages proper are RTR, FIN and CTS. Beside them each large message
# has one in sequence that carries no payload: the request to send, or the word that it was written.

# Below a worker are its connections and streams, whose counters are in its own
/^ucxri: worker/ || /^  to .*:/ || /^  from .*:/ {
    own = /^ucxri: worker/
}

own && $1 ~ /^tx_(control|recv_rndv|coop|rndv|put)$/ {
    control += $2
}

own && $1 == "rtr_used" {
    used += $2
}

# wr_recv counts the work requests that were posted to receive; the others send
$1 == "softhca" {
    sum[$3] += $4
    sends += ($3 ~ /^wr_/ && $3 != "wr_recv") ? $4 : 0
}

END {
    if (of == "control") {
        print control + 0, used + 0
    } else {
        print sum["post_send"] + 0, sends + 0, sum["post_recv"] + sum["post_srq_recv"],
              sum["messages"] + 0, sum["packets"] + 0, sum["completions"] + 0
    }
}
