# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints the batch file of ucx_perftest that gives one sample: -v test, -v size, -v seconds.

function run(n, more)
{
    print "run -t " test " -s " size " -n " n " -w " int(n / 5) more
}

BEGIN {
    if (test == "tag_bw") {
        for (i = 1; i <= 10; i++) {
            run(int(seconds / 10 / 1.5e-7))
        }
        exit
    }
    # About 0.6 us and 0.4 ns per byte for the way there and back
    is_short = (size < 65536)
    n = int(seconds / (is_short ? 30 : 3) / (6e-7 + size * 4e-10))
    n = (n < 20) ? 20 : n
    for (i = 0; i < (is_short ? 10 : 3); i++) {
        run(n, " -R " (is_short ? 10 * i + 5 : 50))
    }
}
