#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Shows what ucxri does: installs missing packages (as root or with sudo), builds in
# build/demo, measures MPI messages between two ranks under MPICH over shared memory, stock
# UCX and recv_init in turn, and prints both side by side. At the end it runs the progress
# benchmark of ucxri_perf on both and draws its chart, whose path is the last line. Takes
# two to four minutes, most of them for measuring.
#
# Usage: contrib/demo.sh [--build-dir DIR] [-h]
set -u
export LC_ALL=C

die()
{
    echo "demo.sh: $*" >&2
    exit 1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
build_dir=$root/build/demo
while [ $# -gt 0 ]; do
    case $1 in
    --build-dir)
        [ $# -gt 1 ] || die "--build-dir needs a value"
        build_dir=$2
        shift
        ;;
    -h | --help)
        sed -n '/^# Shows/,/^[^#]/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *) die "unknown option '$1'; see --help" ;;
    esac
    shift
done

echo "1/4 Packages"
"$root/contrib/deps.sh" || die "packages are missing, see above"

echo
echo "2/4 Build in $build_dir"
"$root/contrib/check.sh" --no-deps --only configure,build --build-dir "$build_dir" |
    sed -n '/^\[/p; /^        /p'
[ "${PIPESTATUS[0]}" -eq 0 ] || die "the build failed, see above"

echo
echo "3/4 Measurement: MPICH, 2 ranks, shared memory, stock and recv_init in turn"
results=$build_dir/compare
mkdir -p "$results"
"$root/contrib/compare.sh" --mpi mpich --skip perftest --skip ucp --quick \
    --build-dir "$build_dir" --out "$results" >"$results/table.txt"
status=$?
if [ $status -ne 0 ] || [ ! -s "$results/summary.csv" ]; then
    cat "$results/table.txt"
    die "the measurement failed, see above"
fi

awk -F, '
    function size_text(size) {
        if (size >= 1048576) {
            return size / 1048576 " MB"
        }
        return size >= 1024 ? size / 1024 " KB" : size " B"
    }
    function table(bench, unit, format, title,    i) {
        printf "%s\n      size %11s %12s     ratio\n", title, "stock" unit, "recv_init" unit
        for (i = 1; i <= rows[bench]; ++i) {
            split(line[bench, i], field, ",")
            printf "  %8s  " format "  " format "  %8.2f\n", size_text(field[3]),
                   field[6], field[7], field[9]
        }
        print ""
    }
    # stock: the best of its rendezvous schemes
    NR > 1 && $1 == "mpich" && $4 == "ring" && $5 == "stock" {
        line[$2, ++rows[$2]] = $0
    }
    END {
        print ""
        table("mpi_latency", " us", "%10.2f",
              "One-way latency (MPI ping-pong), medians, less is better")
        table("mpi_fast_receive", " us", "%10.2f",
              "From the send until the data is in a buffer that was posted before, medians")
        table("mpi_rate", "", "%10.2f", "Message rate, millions per second, more is better")
        table("mpi_bw", "", "%10.0f", "Bandwidth, MB/s, more is better")
        table("mpi_bibw", "", "%10.0f", "Bandwidth, both directions at once, MB/s, more is better")
    }' "$results/summary.csv"
sed -n '/other processes used/p; /machine was not idle/p' "$results/table.txt"
echo "All samples: $results/raw.csv"
echo
echo "The library is $build_dir/src/.libs/libucxri.so. With a program of yours:"
echo "  mpiexec.mpich -genv UCX_RNDV_SCHEME recv_init \\"
echo "      -genv LD_PRELOAD $build_dir/src/.libs/libucxri.so -n 4 ./app"

echo
echo "4/4 Progress: does a message move while its two sides compute?"
perf=$build_dir/src/ucxri_perf
export UCX_TLS=posix,sysv,cma,self
unset LD_PRELOAD UCX_RNDV_SCHEME

# progress NAME [VARIABLE=VALUE...]
progress()
{
    local csv=$results/progress-$1.csv
    shift
    timeout 120 env "$@" "$perf" progress --csv "$csv" >"$csv.log" 2>&1 </dev/null ||
        { cat "$csv.log"; die "the progress benchmark failed, see above"; }
    rm -f "$csv.log"
}

# to_png SVG PNG: with a converter that is there, or not at all
to_png()
{
    local program
    for program in rsvg-convert inkscape magick convert; do
        command -v $program >/dev/null || continue
        rm -f "$2"
        case $program in
        rsvg-convert) set -- "$1" "$2" --zoom 1.5 --output "$2" "$1" ;;
        inkscape) set -- "$1" "$2" --export-type=png --export-filename="$2" "$1" ;;
        *) set -- "$1" "$2" "$1" "$2" ;;
        esac
        if "$program" "${@:3}" >/dev/null 2>&1 </dev/null && [ -s "$2" ]; then
            return 0
        fi
        rm -f "$2"
    done
    return 1
}

progress stock
progress recv_init UCX_RNDV_SCHEME=recv_init \
    LD_PRELOAD="$build_dir/src/.libs/libucxri.so"
chart=$results/progress.svg
"$perf" chart --svg "$chart" --title "Progress while computing: stock UCX beside recv_init" \
    stock="$results/progress-stock.csv" recv_init="$results/progress-recv_init.csv" ||
    die "no chart"
awk -F, '
    FNR == 1 { next }
    NR == FNR { stock[$3, $4] = $5; next }
    !head++ {
        print "Time of an iteration, medians, less is better; work: its computation alone"
        print "  configuration        size    work us   stock us  recv_init us     ratio"
    }
    {
        printf "  %-16s %8d %10.0f %10.0f    %10.0f  %8.2f\n", $4, $3, $12,
               stock[$3, $4], $5, $5 / stock[$3, $4]
    }' "$results/progress-stock.csv" "$results/progress-recv_init.csv"
echo
[ -z "$(awk -F, 'FNR > 1 && $10 == 1' "$results"/progress-*.csv)" ] ||
    echo "Other programs disturbed some of these: pale in the chart."
if to_png "$chart" "${chart%.svg}.png"; then
    echo "The chart as a picture: ${chart%.svg}.png"
fi
echo "Chart: $chart"
