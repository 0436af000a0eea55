# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Order statistics, for the other programs here.

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
