# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# The analysis of contrib/matrix.sh: prints the cells where the library loses, then all cells; or with
# -v need=1 the samples that another round has to take again: suite, variant, benchmark, size.
#
#   awk -v rounds=5 -v boundary=130 -v summary=summary.csv -f stats.awk -f matrix.awk raw.csv
#
# A cell is a benchmark of an MPI with a message size in one state of the two cores: near, where the
# core probe is below the boundary in ns, or far. A sample without a probe is dropped: the state
# changed while it was taken. The base of a cell is the scheme of stock whose median is best.
#
# Exit code 3: there is a cell in which the library loses to stock or to ob1.

BEGIN {
    FS = ","
    num_states = split("near far", states, " ")
    num_columns = split("latency latency_used bw bibw fast_receive", columns, " ")
    num_coll = split("barrier bcast allreduce alltoall allgather", colls, " ")
}

# Samples: round,variant,where,bench,size,value,unit,core_ns

FNR > 1 && $4 !~ /^(ideal|work):/ {
    key = $3 SUBSEP $4 SUBSEP $5
    if (!(key in unit)) {
        keys[++num_keys] = key
        unit[key] = $7
    }
    id = $2 SUBSEP key
    if ($8 + 0 <= 0) {
        dropped++
        if (!(id in lacks)) {
            lacks[id] = 1
            lacking[++num_lacking] = id
        }
        next
    }
    kept[id]++
    state = ($8 + 0 < boundary) ? "near" : "far"
    value[state, id, ++count[state, id]] = $6 + 0
    if (!count_of[state]++ || $8 + 0 < lowest[state]) {
        lowest[state] = $8 + 0
    }
    if ($8 + 0 > highest[state]) {
        highest[state] = $8 + 0
    }
}

function is_rate(key)
{
    return unit[key] ~ /\/s$/
}

# The median of a variant in a cell; 0: no samples
function median_of(state, variant, key,    id, i, v)
{
    id = variant SUBSEP key
    for (i = 1; i <= count[state, id]; i++) {
        v[i] = value[state, id, i]
    }
    sort_values(v, count[state, id])
    return count[state, id] ? quantile(v, count[state, id], 0.5) : 0
}

# How many times slower the library is: from a ratio of times or rates
function loss_of(ratio, key)
{
    return is_rate(key) ? 1 / ratio : ratio
}

# Compares the library with another variant: sets ratio[] and samples[]
function compare(state, key, name, other, other_median, lib_median,    cell, n, m)
{
    if (other_median <= 0 || lib_median <= 0) {
        return
    }
    cell = state SUBSEP key SUBSEP name
    base[cell] = other
    base_median[cell] = other_median
    value_median[cell] = lib_median
    ratio[cell] = lib_median / other_median
    n = count[state, other, key]
    m = count[state, "ring", key]
    samples[cell] = (n < m) ? n : m
    total[state, name]++
    if (loss_of(ratio[cell], key) > 1) {
        losing[state, name, ++losses[state, name]] = key
    }
}

function compute(state, key,    i, median, gain, best, best_median, lib_median)
{
    lib_median = median_of(state, "ring", key)
    for (i = 1; i <= num_schemes; i++) {
        median = median_of(state, schemes[i], key)
        gain = is_rate(key) ? median - best_median : best_median - median
        if (median > 0 && (!best_median || gain > 0)) {
            best = schemes[i]
            best_median = median
        }
    }
    compare(state, key, "stock", best, best_median, lib_median)
    compare(state, key, "ob1", "ob1", median_of(state, "ob1", key), lib_median)
}

function print_row(where, bench, size, other, a, b, what, r, n)
{
    printf "%-8s %-24s %9s %-5s %9s %9s %-6s %7s %4s\n", where, bench, size, other, a, b, what, r, n
}

# The cells of one kind in which the library loses, the worst one first
function print_losing(state, name, title,    i, j, n, key, order, loss, part, cell)
{
    if (!total[state, name]) {
        return
    }
    n = losses[state, name] + 0
    printf "\n%s: %s in %d of %d cells\n", state, title, n, total[state, name]
    for (i = 1; i <= n; i++) {
        key = losing[state, name, i]
        loss[key] = loss_of(ratio[state, key, name], key)
        for (j = i - 1; j >= 1 && loss[order[j]] < loss[key]; j--) {
            order[j + 1] = order[j]
        }
        order[j + 1] = key
    }
    if (n) {
        print_row("where", "bench", "size", "base", "base", "library", "unit", "ratio", "n")
    }
    for (i = 1; i <= n; i++) {
        split(order[i], part, SUBSEP)
        cell = state SUBSEP order[i] SUBSEP name
        print_row(part[1], part[2], part[3], scheme_name[base[cell]], number(base_median[cell]),
                  number(value_median[cell]), unit[order[i]], sprintf("%.3f", ratio[cell]),
                  samples[cell])
    }
}

# A cell of the matrix: the ratio to stock, the number of samples, the ratio to ob1
function text_of(state, key,    cell, text)
{
    cell = state SUBSEP key SUBSEP "stock"
    if (!(key in unit) || !(cell in ratio)) {
        return "-"
    }
    text = sprintf("%.3f%s %d", ratio[cell], loss_of(ratio[cell], key) > 1 ? "*" : " ", samples[cell])
    cell = state SUBSEP key SUBSEP "ob1"
    if (cell in ratio) {
        text = text sprintf(" %.3f%s", ratio[cell], loss_of(ratio[cell], key) > 1 ? "*" : " ")
    }
    return text
}

# Sizes as rows and benchmarks as columns: those whose name is PREFIX COLUMN SUFFIX
function print_table(state, where, title, names, num_names, prefix, suffix,
                     i, j, n, key, part, sizes, seen, used, line)
{
    for (i = 1; i <= num_keys; i++) {
        split(keys[i], part, SUBSEP)
        for (j = 1; j <= num_names; j++) {
            if (part[1] == where && part[2] == prefix names[j] suffix) {
                shown[keys[i]] = 1
                if (text_of(state, keys[i]) == "-") {
                    continue
                }
                used[j] = 1
                if (!(part[3] in seen)) {
                    seen[part[3]] = 1
                    sizes[++n] = part[3] + 0
                }
            }
        }
    }
    if (!n) {
        return
    }
    sort_values(sizes, n)
    printf "\n%s, %s, %s\n", state, where, title
    for (i = 0; i <= n; i++) {
        line = sprintf("%9s", i ? sizes[i] : "size")
        for (j = 1; j <= num_names; j++) {
            key = where SUBSEP prefix names[j] suffix SUBSEP sizes[i]
            if (j in used) {
                line = line sprintf("  %-18s", i ? text_of(state, key) : names[j])
            }
        }
        sub(/ +$/, "", line)
        print line
    }
}

# All cells of one state
function print_matrix(state,    i, j, part, places, n, ranks, m, place_seen, rank_seen, head)
{
    for (i = 1; i <= num_keys; i++) {
        split(keys[i], part, SUBSEP)
        if (!(part[1] in place_seen)) {
            place_seen[part[1]] = 1
            places[++n] = part[1]
        }
        if (part[2] ~ /^coll_.*:/) {
            sub(/.*:/, "", part[2])
            if (!(part[2] in rank_seen)) {
                rank_seen[part[2]] = 1
                ranks[++m] = part[2]
            }
        }
    }
    for (i = 1; i <= n; i++) {
        print_table(state, places[i], "two ranks", columns, num_columns, "mpi_", "")
        for (j = 1; j <= m; j++) {
            print_table(state, places[i], "collectives of " ranks[j] " ranks", colls, num_coll,
                        "coll_", ":" ranks[j])
        }
    }
    for (i = 1; i <= num_keys; i++) {
        split(keys[i], part, SUBSEP)
        if (!(keys[i] in shown) && text_of(state, keys[i]) != "-") {
            if (!head++) {
                printf "\n%s, all else\n", state
            }
            printf "%-8s %-24s %8s  %s\n", part[1], part[2], part[3], text_of(state, keys[i])
        }
    }
}

function write_summary(state, key, name,    part, cell)
{
    cell = state SUBSEP key SUBSEP name
    split(key, part, SUBSEP)
    if (cell in ratio) {
        printf "%s,%s,%s,%s,%s,%g,%g,%s,%.4f,%d,%s\n", state, part[1], part[2], part[3],
               scheme_name[base[cell]], base_median[cell], value_median[cell], unit[key], ratio[cell],
               samples[cell], (loss_of(ratio[cell], key) > 1) ? "loses" : "ok" > summary
    }
}

END {
    if (need != "") {
        for (i = 1; i <= num_lacking; i++) {
            split(lacking[i], part, SUBSEP)
            if (kept[lacking[i]] < rounds) {
                print part[2], part[1], part[3], part[4]
            }
        }
        exit 0
    }
    if (num_keys == 0) {
        print "no samples" > "/dev/stderr"
        exit 1
    }
    print "state,where,bench,size,base,base_median,value_median,unit,ratio,samples,verdict" > summary
    for (s = 1; s <= num_states; s++) {
        state = states[s]
        bound = (state == "near") ? "below" : "from"
        if (!count_of[state]) {
            printf "%s (%s %d ns): not seen\n", state, bound, boundary
            continue
        }
        printf "%s (%s %d ns): %d samples, of %.0f to %.0f ns\n", state, bound, boundary,
               count_of[state], lowest[state], highest[state]
        for (k = 1; k <= num_keys; k++) {
            compute(state, keys[k])
            write_summary(state, keys[k], "stock")
            write_summary(state, keys[k], "ob1")
        }
    }
    printf "dropped: %d samples whose state changed\n", dropped
    for (s = 1; s <= num_states; s++) {
        print_losing(states[s], "stock", "the library loses to the best of stock")
        print_losing(states[s], "ob1", "ob1 is faster than the library")
        sum += losses[states[s], "stock"] + losses[states[s], "ob1"]
    }
    print "\nAll cells: library / the best of stock (* loses), samples, library / ob1. Times are better" \
          "\nbelow 1, bw, bibw and rates above 1."
    for (s = 1; s <= num_states; s++) {
        print_matrix(states[s])
    }
    exit sum ? 3 : 0
}
