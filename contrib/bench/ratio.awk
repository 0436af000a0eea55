# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints new samples from those of ud: for each round the ratio of a variant to the best one of
# others. -v name, -v bench, -v size, -v variant, -v others; behind stats.awk.

BEGIN {
    OFS = ","
    n = split(others, list, " ")
    for (i = 1; i <= n; i++) {
        is_base[list[i]] = 1
    }
}

FNR > 1 && $4 == bench && $5 == size {
    if ($2 == variant) {
        value[$1] = $6
    }
    if (($2 in is_base) && (!($1 in base) || is_better($6, base[$1], $7))) {
        base[$1] = $6
    }
    last = ($1 > last) ? $1 : last
}

END {
    for (r = 1; r <= last; r++) {
        if ((r in value) && (r in base) && base[r] > 0) {
            print r, "ud", "ud", name, size, value[r] / base[r], "share", 0
        }
    }
}
