# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints sums of the software HCA's counters, over both ranks: doorbells, work requests, receive
# doorbells, messages, packets, completions.

$1 == "softhca" {
    sum[$3] += $4
}

# wr_recv counts the work requests that were posted to receive; the others send
$1 == "softhca" && $3 ~ /^wr_/ && $3 != "wr_recv" {
    sends += $4
}

END {
    print sum["post_send"] + 0, sends + 0, sum["post_recv"] + sum["post_srq_recv"],
          sum["messages"] + 0, sum["packets"] + 0, sum["completions"] + 0
}
