# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Makes one series of a chart from samples: prints the medians and quartiles of the benchmarks that
# match a pattern, in the form of a CSV file of ucxri_perf.
#
#   awk -v where=perf -v variant=net -v pattern=_latency$ -f stats.awk -f series.awk samples.csv
#
# Of several variants, as stock+stock_get, each line has the one with the best median. As in the
# tables of analyse.awk, the samples that count are those in the reference placement, the median of
# all core probes. A line with less than half of its samples there has all of them, and is marked as
# disturbed. Where no sample has a probe, all count.

BEGIN {
    OFS = ","
    num_variants = split(variant, variants, "+")
}

FNR > 1 {
    add_probe()
    if ($3 == where) {
        series = $2 SUBSEP add_key()
        add_sample(series, count[series] + 1)
    }
}

# The quartiles of one variant at a key: sets q[1..3], used and disturbed
function summarise(name, key,    i, v)
{
    used = select_samples(name SUBSEP key, v)
    for (i = 1; i <= 3; i++) {
        q[i] = quantile(v, used, i / 4)
    }
}

END {
    set_reference()
    print "bench,library,size,config,median,q1,q3,unit,batches,disturbed,core_ns,extra1_us,extra2_us"
    for (k = 1; k <= num_keys; k++) {
        split(keys[k], part, SUBSEP)
        name = part[2]
        best = best_of(variants, num_variants, keys[k], unit[keys[k]])
        if (name !~ pattern || best == "") {
            continue
        }
        config = work = ideal = ""
        if (sub(/^progress:/, "", name)) {
            config = name
            name = "progress"
            summarise(best, where SUBSEP "work:" config SUBSEP part[3])
            work = q[2]
            summarise(best, where SUBSEP "ideal:" config SUBSEP part[3])
            ideal = q[2]
        } else {
            sub(/^(perf|mpi)_/, "", name)
            sub(/^bw$/, "bandwidth", name)
        }
        summarise(best, keys[k])
        print name, best, part[3], config, q[2], q[1], q[3], unit[keys[k]], used, disturbed, 0,
              work, ideal
    }
}
