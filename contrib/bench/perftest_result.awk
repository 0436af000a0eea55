# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints the RESULT line of one sample from the output of a batch of ucx_perftest, by the names of
# its CSV header: -v test, -v size. The core probes before it and after it (-v before, -v after)
# must agree, or the exit code is 1.

/overall_lat/ {
    for (i = 1; i <= NF; i++) {
        column[$i ~ /percentile_lat/ ? "percentile" : $i] = i
    }
    next
}

NF > 4 && ("overall_lat" in column) {
    sorted[++n] = $column[test == "tag_bw" ? "overall_mr" : "percentile"] + 0
    sum += sorted[n]
}

END {
    if (n == 0) {
        exit 1
    }
    sort_values(sorted, n)
    x = (test == "tag_lat" && size < 65536) ? sum / n : quantile(sorted, n, 0.5)
    same = same_place(before, after)
    print "RESULT", test, size, test == "tag_bw" ? x * 1e-6 : x, test == "tag_bw" ? "Mmsg/s" : "us",
          same ? (before + after) / 2 : 0
    exit !same
}
