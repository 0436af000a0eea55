# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# With -v seconds prints the batch file of ucx_perftest that gives one sample: -v test, -v size.
# Without, prints the RESULT line of the sample from the output of that batch, by the names of its
# CSV header. The core probes before it and after it (-v before, -v after) must agree, or the exit
# code is 1.

function run(n, more)
{
    print "run -t " test " -s " size " -n " n " -w " int(n / 5) more
}

function print_batch(    i, n, is_short)
{
    if (test == "tag_bw") {
        for (i = 1; i <= 10; i++) {
            run(int(seconds / 10 / 1.5e-7))
        }
        return
    }
    # About 0.6 us and 0.4 ns per byte for the way there and back
    is_short = (size < 65536)
    n = int(seconds / (is_short ? 30 : 3) / (6e-7 + size * 4e-10))
    n = (n < 20) ? 20 : n
    for (i = 0; i < (is_short ? 10 : 3); i++) {
        run(n, " -R " (is_short ? 10 * i + 5 : 50))
    }
}

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
    if (seconds != "") {
        print_batch()
        exit
    }
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
