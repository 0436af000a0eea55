# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints what ucxri_info says that peers take, for numbers of peers that do not fit here as well.

# The number in front of a text
function number(text)
{
    return match($0, "[0-9]+ " text) ? substr($0, RSTART) + 0 : 0
}

/^peers by rc/ {
    rc = number("bytes")
}

/^peers by ud/ {
    ud = number("bytes")
    num_qps = number("queue")
    qp = number("bytes for all")
}

END {
    if (rc * ud * num_qps * qp == 0) {
        exit 1
    }
    n = split("64 1024 8192", peers, " ")
    for (i = 1; i <= n; i++) {
        bytes = peers[i] * ud + num_qps * qp
        print peers[i], "rc", peers[i] * rc, rc, "computed"
        print peers[i], "ud", bytes, int(bytes / peers[i]), "computed"
    }
}
