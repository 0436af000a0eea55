# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# The analysis of contrib/matrix.sh: reads the raw samples that contrib/bench/run.sh takes. Prints,
# of the library and the best of stock, and of ob1, the cells where the library loses, then all
# cells; or with -v need=1 the samples that another round has to take again: suite, variant,
# benchmark, size.
#
#   awk -v rounds=5 -v summary=summary.csv -v boundary=130 -f stats.awk -f matrix.awk raw.csv
#
# A cell is a benchmark of an MPI with a message size in one state of the two cores: near, where the
# core probe is below the boundary in ns, or far. A sample without a probe is dropped: the state
# changed while it was taken. The ratio of a cell is that of the medians.
#
# Exit code 3: the matrix has a cell in which the library loses.

BEGIN {
    num_states = split("near far", states, " ")
    num_places = split("mpich openmpi", places, " ")
    num_ranks = split("2 4 8 16", ranks, " ")
    num_columns = split("latency latency_used bw bw_used bibw fast_receive", columns, " ")
    num_coll = split("barrier bcast allreduce alltoall allgather", colls, " ")
    ROW = "%-8s %-24s %9s %-5s %9s %9s %-6s %7s %4s\n"
}

FNR > 1 && $4 !~ /^(ideal|work):/ {
    key = add_key()
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
    id = id SUBSEP state
    add_sample(id, count[id] + 1)
    if (!count_of[state]++ || $8 + 0 < lowest[state]) {
        lowest[state] = $8 + 0
    }
    if ($8 + 0 > highest[state]) {
        highest[state] = $8 + 0
    }
}

# Compares the library with another variant in a cell; NAME is stock or ob1. Sets its row, and loss[]:
# how many times slower the library is. Writes a line of the summary.
function compare(state, key, name, other, other_median, lib_median,    cell, n, ratio, part)
{
    if (other_median <= 0 || lib_median <= 0) {
        return
    }
    cell = state SUBSEP key SUBSEP name
    ratio = lib_median / other_median
    loss[cell] = is_rate(unit[key]) ? 1 / ratio : ratio
    marked[cell] = sprintf("%.3f%s", ratio, loss[cell] > 1 ? "*" : " ")
    n = count[other, key, state]
    samples[cell] = (n < count["ring", key, state]) ? n : count["ring", key, state]
    split(key, part, SUBSEP)
    row[cell] = sprintf(ROW, part[1], part[2], part[3], scheme_name[other], number(other_median),
                        number(lib_median), unit[key], sprintf("%.3f", ratio), samples[cell])
    printf "%s,%s,%s,%s,%s,%g,%g,%s,%.4f,%d,%s\n", state, part[1], part[2], part[3],
           scheme_name[other], other_median, lib_median, unit[key], ratio, samples[cell],
           (loss[cell] > 1) ? "loses" : "ok" > summary
    total[state, name]++
    if (loss[cell] > 1) {
        # The worst one first
        for (n = ++losses[state, name]; n > 1 && loss[losing[state, name, n - 1]] < loss[cell]; n--) {
            losing[state, name, n] = losing[state, name, n - 1]
        }
        losing[state, name, n] = cell
    }
}

# All cells of a benchmark in one state
function compare_all(state, key,    best, lib_median)
{
    lib_median = median_of("ring" SUBSEP key SUBSEP state)
    best = best_of(schemes, num_schemes, key SUBSEP state, unit[key])
    compare(state, key, "stock", best, best_median, lib_median)
    compare(state, key, "ob1", "ob1", median_of("ob1" SUBSEP key SUBSEP state), lib_median)
}

# The cells of one kind in which the library loses
function print_losing(state, name, title,    i, n)
{
    if (!total[state, name]) {
        return
    }
    n = losses[state, name] + 0
    printf "\n%s: %s in %d of %d cells\n", state, title, n, total[state, name]
    if (n) {
        printf ROW, "where", "bench", "size", "base", "base", "library", "unit", "ratio", "n"
    }
    for (i = 1; i <= n; i++) {
        printf "%s", row[losing[state, name, i]]
    }
}

# A cell of the matrix: the ratio to stock, with a mark where the library loses, the number of
# samples, the ratio to ob1
function text_of(state, key,    stock, ob1)
{
    stock = state SUBSEP key SUBSEP "stock"
    ob1 = state SUBSEP key SUBSEP "ob1"
    if (!(stock in loss)) {
        return "-"
    }
    return marked[stock] " " samples[stock] ((ob1 in loss) ? " " marked[ob1] : "")
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

# All cells of one state: in tables, and those that are in none
function print_matrix(state,    i, j, part, head)
{
    for (i = 1; i <= num_places; i++) {
        print_table(state, places[i], "two ranks", columns, num_columns, "mpi_", "")
        for (j = 1; j <= num_ranks; j++) {
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

END {
    if (num_keys == 0) {
        print "no samples" > "/dev/stderr"
        exit 1
    }
    if (need != "") {
        for (i = 1; i <= num_lacking; i++) {
            split(lacking[i], part, SUBSEP)
            if (kept[lacking[i]] < rounds) {
                print part[2], part[1], part[3], part[4]
            }
        }
        exit 0
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
            compare_all(state, keys[k])
        }
    }
    printf "dropped: %d samples whose state changed\n", dropped
    for (s = 1; s <= num_states; s++) {
        print_losing(states[s], "stock", "the library loses to the best of stock")
        print_losing(states[s], "ob1", "ob1 is faster than the library")
        sum += losses[states[s], "stock"] + losses[states[s], "ob1"]
    }
    print "\nAll cells: library / the best of stock (* loses), samples, library / ob1. Times are better" \
          "\nbelow 1, bandwidths and rates above 1."
    for (s = 1; s <= num_states; s++) {
        print_matrix(states[s])
    }
    exit sum ? 3 : 0
}
