# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints what ucxri_info says that peers take, for numbers of peers that do not fit here as well.

# The number in front of a word
function number(word,    i)
{
    for (i = 2; i <= NF && $i != word; i++) {
    }
    return $(i - 1) + 0
}

function line(plane, n, bytes)
{
    print n, plane, bytes, int(bytes / n), "computed"
}

/^peers by rc/ {
    rc = number("bytes")
}

/^peers by ud/ {
    ud = number("bytes")
    num_qps = number("queue")
    qp = $(NF - 3) + 0
}

END {
    if (rc * ud * num_qps * qp == 0) {
        exit 1
    }
    n = split("64 1024 8192", peers, " ")
    for (i = 1; i <= n; i++) {
        line("rc", peers[i], peers[i] * rc)
        line("ud", peers[i], peers[i] * ud + num_qps * qp)
    }
}
