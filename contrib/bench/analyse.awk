# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# The analysis of what contrib/bench/run.sh measures: reads the budgets, if there are any, and the
# raw samples. Prints the table of contrib/compare.sh and contrib/figures.sh; with -v need=1 the
# suites that need another round; with -v plain=PATTERN and where=mpich what the library and stock
# have at the benchmarks that match, for people.
#
#   awk -v rounds=7 -v summary=summary.csv -f stats.awk -f analyse.awk budgets.tsv raw.csv
#
# A pair is a stock and a library sample of one round. Its ratio counts when
# both were taken in the same placement (core probes within TOLERANCE of the
# reference, the median of all probes). A line with less than half of its pairs
# there falls back to pairs that at least match each other, marked with "~".
#
# Where stock was measured with several rendezvous schemes, the base of a line is the best
# of them: the scheme whose median is best. So it is where a budget names several variants.
# The base of "ideal" is what the same run says would be reached at best; that of "none" is 1.
# Beside "ideal" there may be "work", which is for charts only.
#
# Exit code 3: a budget is missed or could not be measured.

# Budgets

ARGC > 2 && FILENAME == ARGV[1] {
    if ($0 ~ /^#/ || $0 ~ /^[ \t]*$/) {
        next
    }
    if (split($0, field, "\t") != 9 || field[6] !~ /^(lower|higher)$/ ||
        field[7] !~ /^[a-z_+]+$/ || field[8] + 0 <= 0) {
        printf "%s:%d: not a budget line\n", FILENAME, FNR > "/dev/stderr"
        exit_code = 1
        exit
    }
    n = split(field[1], places, ",")
    for (i = 1; i <= n; i++) {
        b = ++num_budgets
        b_where[b] = places[i]; b_bench[b] = field[2]
        b_from[b] = field[3] + 0; b_to[b] = field[4] + 0
        b_mode[b] = field[5]; b_better[b] = field[6]
        b_against[b] = field[7]; b_budget[b] = field[8] + 0; b_issue[b] = field[9]
    }
    next
}

# Samples: those of one round are a pair

FNR > 1 {
    add_sample($2 SUBSEP add_key(), $1 + 0)
    add_probe()
}

# Fills ratios[], bases[] and values[] with the pairs of two series that count, or with the values
# alone if base is ""; strict: in the reference placement. Returns their number.
function collect(base, series, probed, strict,    r, n, place, base_value)
{
    n = 0
    for (r = 1; r <= last_number; r++) {
        if (!((series, r) in value) || (base != "" && !((base, r) in value))) {
            continue
        }
        base_value = (base == "") ? 1 : value[base, r]
        if (base_value <= 0) {
            continue
        }
        if (base != "" && probed) {
            place = strict ? reference : probe[base, r]
            if (!same_place(probe[base, r], place) || !same_place(probe[series, r], place)) {
                continue
            }
        }
        n++
        bases[n] = base_value
        values[n] = value[series, r]
        ratios[n] = values[n] / base_value
    }
    return n
}

# Whether a budget is for a mode and a benchmark, whose key is in part[]; without a mode, whether it is
# for the benchmark in any mode and size
function is_for(b, mode, part)
{
    return b_where[b] == part[1] && part[2] ~ ("^(" b_bench[b] ")$") && (mode == "" ||
           (b_mode[b] == mode && part[3] + 0 >= b_from[b] && part[3] + 0 <= b_to[b]))
}

# The first budget of those against a base, 0 if there is none
function find_budget(mode, part, against,    i)
{
    for (i = 1; i <= num_budgets; i++) {
        if (b_against[i] == against && is_for(i, mode, part)) {
            return i
        }
    }
    return 0
}

function is_met(b, ratio)
{
    return (b_better[b] == "lower") ? ratio <= b_budget[b] : ratio >= b_budget[b]
}

# Prints one line of the table and of the summary, from n pairs in ratios[], bases[] and values[]
function print_line(part, key, variant, against, base, n, mark, b,
                    budget, ratio, spread, verdict, row, text)
{
    row = sprintf("%9s %9s %-6s %7s %6s %3d ", "-", "-", unit[key], "-", "-", 0)
    text = "-,-," unit[key] ",-,-,-,-,0"
    if (n) {
        sort_values(bases, n); sort_values(values, n); sort_values(ratios, n)
        ratio = quantile(ratios, n, 0.5)
        spread = (quantile(ratios, n, 0.75) - quantile(ratios, n, 0.25)) / ratio
        row = sprintf("%9s %9s %-6s %7s %5.1f%% %3d%1s", number(quantile(bases, n, 0.5)),
                      number(quantile(values, n, 0.5)), unit[key], number(ratio), spread * 100, n, mark)
        text = sprintf("%g,%g,%s,%.4f,%.4f,%.4f,%.4f,%d", quantile(bases, n, 0.5),
                       quantile(values, n, 0.5), unit[key], ratio, ratios[1], ratios[n], spread, n)
    }
    budget = b ? sprintf("%s%.2f", b_better[b] == "lower" ? "<=" : ">=", b_budget[b]) : "-"
    verdict = !b ? "-" : !n ? "NOT MEASURED" : is_met(b, ratio) ? "ok" : "MISSED"
    printf "%-8s %-24s %8s %-9s %-9s %s %-6s %s\n", part[1], part[2], part[3], variant, base, row,
           budget, verdict
    printf "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n", part[1], part[2], part[3], variant, against, text,
           b ? b_better[b] : "-", b ? b_budget[b] : "-", verdict, base > summary
    if (verdict ~ /^[MN]/) {
        text = n ? sprintf("%.3f", ratio) : "not measured"
        missed[++num_missed] = sprintf("%s %s %s, %s against %s: %s, budget %s (issue %s)", part[1],
                                       part[2],
                                       (part[1] == "ucp") ? part[3] " tags" : size_text(part[3]),
                                       variant, base, text, budget, b_issue[b])
    }
}

function size_text(size)
{
    return size >= 1048576 ? size / 1048576 " MB" : size >= 1024 ? size / 1024 " KB" : size " B"
}

# A line for people: the medians of two series, which are those of a chart (series.awk), and that of
# the ratios of their n pairs
function print_plain(key, base, series, n,    part, name, label, format)
{
    split(key, part, SUBSEP)
    name = part[2]
    label = (sub(/^progress:/, "", name) ? name " " : "") size_text(part[3])
    format = (unit[key] == "MB/s") ? "%.0f" : "%.2f"
    sort_values(ratios, n)
    printf "  %-20s %11s %12s  %8s\n", label, sprintf(format, median_of(base)),
           sprintf(format, median_of(series)), n ? sprintf("%.2f", quantile(ratios, n, 0.5)) : "-"
}

# One line: what a variant has beside a base, which is a series or ""; or with -v need whether it
# needs another round
function report(variant, key, against, base, base_name,    part, series, probed, n, mark, b)
{
    split(key, part, SUBSEP)
    series = variant SUBSEP key
    probed = num_probes && part[1] != "ucp"
    n = collect(base, series, probed, 1)
    if (n < enough && base != "") {
        if (need != "") {
            print part[1]
        } else if (n < enough / 2) {
            n = collect(base, series, probed, 0)
            mark = "~"
        }
    }
    if (plain != "") {
        if (part[1] == where && part[2] ~ plain && variant == "ring" && against == "stock") {
            print_plain(key, base, series, n)
        }
    } else if (need == "") {
        b = find_budget(variant, part, against)
        budget_used[b] = 1
        print_line(part, key, variant, against, base_name, n, mark, b)
    }
}

function report_mode(mode,    i, part, key, variant, best)
{
    for (i = 1; i <= num_keys; i++) {
        key = keys[i]
        split(key, part, SUBSEP)
        if (!((mode, key) in count) || part[2] ~ /^(ideal|work):/) {
            continue
        }
        best = best_of(schemes, num_schemes, key, unit[key])
        if (part[2] ~ /^progress:/) {
            variant = (mode == "stock") ? best : mode
            report(variant, key, "ideal", variant SUBSEP part[1] SUBSEP \
                   "ideal" substr(part[2], 9) SUBSEP part[3], "ideal")
        }
        if (find_budget("", part, "empty")) {
            if (part[3] + 0 > 0) {
                report(mode, key, "empty", mode SUBSEP part[1] SUBSEP part[2] SUBSEP 0, "empty")
            }
        } else if (mode != "stock" && best != "") {
            report(mode, key, "stock", best SUBSEP key, scheme_name[best])
        }
        report_named(mode, key, part)
    }
}

# What budgets compare with variants that they name, or with nothing
function report_named(mode, key, part,    i, n, names, best)
{
    for (i = 1; i <= num_budgets; i++) {
        if (b_against[i] ~ /^(stock|empty|ideal)$/ || !is_for(i, mode, part)) {
            continue
        }
        n = (b_against[i] == "none") ? 0 : split(b_against[i], names, "+")
        best = best_of(names, n, key, unit[key])
        if (!n || best != "") {
            report(mode, key, b_against[i], n ? best SUBSEP key : "", n ? best : "none")
        }
    }
}

# Budgets of the suites and modes that were to run, but gave no sample
function report_unused(    i)
{
    for (i = 1; i <= num_budgets; i++) {
        if (!(i in budget_used) && index(" " expect " ", " " b_where[i] ":" b_mode[i] " ")) {
            missed[++num_missed] = sprintf("%s %s %d to %d, %s against %s: not measured (issue %s)",
                b_where[i], b_bench[i], b_from[i], b_to[i], b_mode[i], b_against[i], b_issue[i])
        }
    }
}

END {
    if (exit_code) {
        exit exit_code
    }
    if (num_keys == 0) {
        print "no samples" > "/dev/stderr"
        exit 1
    }

    set_reference()
    # Two thirds of the rounds, so that one odd placement costs no extra round
    enough = int(rounds * 2 / 3 + 0.5)

    if (need == "" && plain == "") {
        print "where,bench,size,mode,against,base_median,value_median,unit,ratio_median," \
              "ratio_min,ratio_max,ratio_iqr,pairs,better,budget,verdict,base" > summary
        printf "%-8s %-24s %8s %-9s %-9s %9s %9s %-6s %7s %6s %4s %-6s %s\n", "where", "bench", "size",
               "mode", "against", "base", "value", "unit", "ratio", "iqr", "n", "budget", "verdict"
    }
    n = split("ring rtr am net ud loss" (need == "" ? " stock" : ""), modes, " ")
    for (i = 1; i <= n; i++) {
        report_mode(modes[i])
    }
    if (need == "" && plain == "") {
        report_unused()
        if (num_probes) {
            printf "\ncore probe: reference %.0f ns one way, all samples %.0f to %.0f ns\n",
                   reference, probes[1], probes[num_probes]
        }
        printf "\nmissed budgets: %d\n", num_missed
        for (i = 1; i <= num_missed; i++) {
            print "  " missed[i]
        }
        exit num_missed ? 3 : 0
    }
}
