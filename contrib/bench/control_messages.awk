# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints two sums of the library's reports, over both ranks: messages of control, and messages that
# an RTR was used for. Control messages proper are RTR, FIN and CTS. Beside them each large message
# has one in sequence that carries no payload: the request to send, or the word that it was written.

# Below a worker are its connections and streams, whose counters are in its own
/^ucxri: worker/ || /^  to .*:/ || /^  from .*:/ {
    own = /^ucxri: worker/
}

own && $1 ~ /^tx_(control|recv_rndv|coop|rndv|put)$/ {
    sum += $2
}

own && $1 == "rtr_used" {
    used += $2
}

END {
    print sum + 0, used + 0
}
