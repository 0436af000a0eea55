# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Order statistics, whether two core probes are of one placement, the names of stock's schemes, and numbers, for the other programs here.

BEGIN {
    TOLERANCE = 1.3 # PERF_STATE_TOLERANCE of src/tools/ucxri_perf_state.h
    num_schemes = split("stock stock_get stock_put stock_rndv", schemes, " ")
    split("auto get put rndv", scheme_names, " ")
    for (i = 1; i <= num_schemes; i++) {
        scheme_name[schemes[i]] = scheme_names[i]
    }
    scheme_name["ob1"] = "ob1"
}

# Sorts v[1..n]
function sort_values(v, n,    i, j, x)
{
    for (i = 2; i <= n; i++) {
        x = v[i]
        for (j = i - 1; j >= 1 && v[j] > x; j--) {
            v[j + 1] = v[j]
        }
        v[j + 1] = x
    }
}

# Quantile q of the sorted v[1..n], linear between neighbours
function quantile(v, n, q,    pos, low)
{
    pos = 1 + (n - 1) * q
    low = int(pos)
    return (low >= n) ? v[n] : v[low] + (v[low + 1] - v[low]) * (pos - low)
}

# Three digits
function number(x)
{
    return sprintf(x >= 1000 ? "%.0f" : x >= 100 ? "%.1f" : x >= 10 ? "%.2f" : "%.3f", x)
}

# Whether two core probes were taken in the same placement
function same_place(a, b)
{
    return a > 0 && b > 0 && a <= b * TOLERANCE && b <= a * TOLERANCE
}
