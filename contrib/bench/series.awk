# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Makes one series of a chart from samples: prints the medians and quartiles of the benchmarks that
# match a pattern, in the form of a CSV file of ucxri_perf.
#
#   awk -F, -v OFS=, -v where=perf -v variant=net -v pattern=_latency$ -f stats.awk -f series.awk samples.csv

FNR > 1 && $2 == variant && $3 == where {
    key = $4 SUBSEP $5
    if (!(key in count)) {
        order[++num_keys] = key
    }
    sample[key, ++count[key]] = $6
    unit[key] = $7
}

# The quantiles of the samples of one key: sets q[1..3]
function summarise(key,    i, v)
{
    for (i = 1; i <= count[key]; i++) {
        v[i] = sample[key, i]
    }
    sort_values(v, count[key])
    for (i = 1; i <= 3; i++) {
        q[i] = quantile(v, count[key], i / 4)
    }
}

END {
    print "bench,library,size,config,median,q1,q3,unit,batches,disturbed,core_ns,extra1_us,extra2_us"
    for (k = 1; k <= num_keys; k++) {
        split(order[k], part, SUBSEP)
        name = part[1]
        if (name !~ pattern) {
            continue
        }
        config = work = ideal = ""
        if (sub(/^progress:/, "", name)) {
            config = name
            name = "progress"
            summarise("work:" config SUBSEP part[2])
            work = q[2]
            summarise("ideal:" config SUBSEP part[2])
            ideal = q[2]
        } else {
            sub(/^(perf|mpi)_/, "", name)
            sub(/^bw$/, "bandwidth", name)
        }
        summarise(order[k])
        print name, variant, part[2], config, q[2], q[1], q[3], unit[order[k]], count[order[k]], 0, 0,
              work, ideal
    }
}
