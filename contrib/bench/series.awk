# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Makes one series of a chart from samples: prints the medians and quartiles of the benchmarks that
# match a pattern, in the form of a CSV file of ucxri_perf.
#
#   awk -F, -v OFS=, -v where=perf -v variant=net -v pattern=_latency$ -f stats.awk -f series.awk samples.csv
#
# Of several variants, as stock+stock_get, each line has the one with the best median. As in the
# tables of analyse.awk, the samples that count are those in the reference placement, the median of
# all core probes. A line with less than half of its samples there has all of them, and is marked as
# disturbed. Where no sample has a probe, all count.

BEGIN {
    num_variants = split(variant, variants, "+")
    for (i = 1; i <= num_variants; i++) {
        wanted[variants[i]] = 1
    }
}

FNR > 1 && $8 + 0 > 0 {
    probes[++num_probes] = $8 + 0
}

FNR > 1 && ($2 in wanted) && $3 == where {
    key = $4 SUBSEP $5
    if (!(key in unit)) {
        order[++num_keys] = key
        unit[key] = $7
    }
    n = ++count[$2, key]
    sample[$2, key, n] = $6
    probe[$2, key, n] = $8 + 0
}

# The quantiles of the samples of one variant and key: sets q[1..3], used and disturbed
function summarise(name, key,    i, n, all, v)
{
    n = 0
    all = count[name, key]
    for (i = 1; i <= all; i++) {
        if (!num_probes || same_place(probe[name, key, i], reference)) {
            v[++n] = sample[name, key, i]
        }
    }
    disturbed = (2 * n < all)
    for (i = 1; disturbed && i <= all; i++) {
        v[i] = sample[name, key, i]
    }
    used = disturbed ? all : n
    sort_values(v, used)
    for (i = 1; i <= 3; i++) {
        q[i] = quantile(v, used, i / 4)
    }
}

# The variant whose median is best
function best_variant(key,    i, best, best_median, gain)
{
    best = ""
    for (i = 1; i <= num_variants; i++) {
        if (!((variants[i], key) in count)) {
            continue
        }
        summarise(variants[i], key)
        gain = (unit[key] ~ /\/s$/) ? q[2] - best_median : best_median - q[2]
        if (best == "" || gain > 0) {
            best = variants[i]
            best_median = q[2]
        }
    }
    return best
}

END {
    sort_values(probes, num_probes)
    reference = num_probes ? quantile(probes, num_probes, 0.5) : 0
    print "bench,library,size,config,median,q1,q3,unit,batches,disturbed,core_ns,extra1_us,extra2_us"
    for (k = 1; k <= num_keys; k++) {
        split(order[k], part, SUBSEP)
        name = part[1]
        if (name !~ pattern) {
            continue
        }
        config = work = ideal = ""
        best = best_variant(order[k])
        if (sub(/^progress:/, "", name)) {
            config = name
            name = "progress"
            summarise(best, "work:" config SUBSEP part[2])
            work = q[2]
            summarise(best, "ideal:" config SUBSEP part[2])
            ideal = q[2]
        } else {
            sub(/^(perf|mpi)_/, "", name)
            sub(/^bw$/, "bandwidth", name)
        }
        summarise(best, order[k])
        print name, best, part[2], config, q[2], q[1], q[3], unit[order[k]], used, disturbed, 0, work, ideal
    }
}
