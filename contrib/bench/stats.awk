# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Samples and their statistics, for the other programs here: which samples were taken in the
# placement that counts, medians, which variant is best, the names of stock's schemes, and numbers.
#
# A sample is a line round,variant,where,bench,size,value,unit,core_ns. Where, bench and size are
# its key; those of one variant at one key are a series.

BEGIN {
    FS = ","
    TOLERANCE = 1.3 # PERF_STATE_TOLERANCE of src/tools/ucxri_perf_state.h
    LEAST_PART = 0.5
    num_schemes = split("stock stock_get stock_put stock_rndv", schemes, " ")
    split("auto get put rndv", scheme_names, " ")
    for (i = 1; i <= num_schemes; i++) {
        scheme_name[schemes[i]] = scheme_names[i]
    }
    scheme_name["ob1"] = "ob1"
}

# The key of this line's sample, which is added to keys[1..num_keys]
function add_key(    key)
{
    key = $3 SUBSEP $4 SUBSEP $5
    if (!(key in unit)) {
        keys[++num_keys] = key
        unit[key] = $7
    }
    return key
}

# Adds this line's sample to a series, as its n-th one: numbers may be left out
function add_sample(series, n)
{
    value[series, n] = $6
    probe[series, n] = $8 + 0
    count[series]++
    if (n > last_number) {
        last_number = n
    }
}

# Adds this line's core probe to those of which the reference is the median
function add_probe()
{
    if ($8 + 0 > 0) {
        probes[++num_probes] = $8 + 0
    }
}

# Sets the reference, 0 if no sample has a probe
function set_reference()
{
    sort_values(probes, num_probes)
    reference = num_probes ? quantile(probes, num_probes, 0.5) : 0
}

# Whether two core probes were taken in the same placement
function same_place(a, b)
{
    return a > 0 && b > 0 && a <= b * TOLERANCE && b <= a * TOLERANCE
}

# Sets v[] to the samples of a series in a placement, or to all if that is 0. Returns their number.
function samples_in(place, series, v,    i, n)
{
    for (i = 1; i <= last_number; i++) {
        if (((series, i) in value) && (!place || same_place(probe[series, i], place))) {
            v[++n] = value[series, i]
        }
    }
    return n + 0
}

# Sets v[] to the sorted samples of a series in the reference placement. If these are less than half
# of all, the series is disturbed, and v[] has all. Returns their number.
function select_samples(series, v,    n)
{
    n = samples_in(reference, series, v)
    disturbed = (n < LEAST_PART * count[series])
    if (disturbed) {
        n = samples_in(0, series, v)
    }
    sort_values(v, n)
    return n
}

# The median of a series; 0: it has no samples
function median_of(series,    v, n)
{
    n = select_samples(series, v)
    return n ? quantile(v, n, 0.5) : 0
}

function is_rate(units)
{
    return units ~ /\/s$/
}

# Whether a value is better than another one
function is_better(a, b, units)
{
    return is_rate(units) ? a > b : a < b
}

# The variant of names[1..n] with samples at a key whose median is best, "" if none has; sets
# best_median
function best_of(names, n, key, units,    i, median, best)
{
    best_median = 0
    for (i = 1; i <= n; i++) {
        if ((names[i], key) in count) {
            median = median_of(names[i] SUBSEP key)
            if (best == "" || is_better(median, best_median, units)) {
                best = names[i]
                best_median = median
            }
        }
    }
    return best
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
