#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Shows what ucxri does: installs what it needs of packages (as root or with sudo), builds in
# build/demo, measures MPI messages between two ranks over shared memory, stock
# UCX and ucxri in turn, and prints both side by side. It draws a chart of the progress of
# messages while their two sides compute, whose path is the last line. Takes four to
# eight minutes, half of them for measuring.
#
# Usage: contrib/demo.sh [options]
#   --mpi mpich|openmpi  the MPI that it shows (mpich)
#   --build-dir DIR      where to build (build/demo)
#   -h, --help           this text
set -u -o pipefail
. "$(dirname "$0")/bench/run.sh"

mpi=mpich
build_dir=$root/build/demo
expect --mpi 'mpich|openmpi' "mpich or openmpi"
parse_options "$@"

echo "1/3 Packages"
purpose=demo
[ $mpi = mpich ] || purpose=demo-$mpi
# Elsewhere than on Debian, configure says what is missing
"$root/contrib/deps.sh" --for $purpose || ! command -v apt-get >/dev/null ||
    die "packages are missing, see above"

echo
echo "2/3 Build in $build_dir"
"$root/contrib/check.sh" --no-deps --only configure,build --build-dir "$build_dir" |
    sed -u -n '/^\[/p; /^        /p' || die "the build failed, see above"

echo
echo "3/3 Measurement: ${titles[$mpi]}, 2 ranks, shared memory, stock UCX and ucxri in turn"
results=$build_dir/compare
rounds=3
mkdir -p "$results"
if ! "$root/contrib/compare.sh" --mpi $mpi --skip perftest --skip ucp --skip rma --quick --rounds $rounds \
        --build-dir "$build_dir" --out "$results" >"$results/table.txt"; then
    cat "$results/table.txt"
    die "the measurement failed, see above"
fi

# table PATTERN TITLE: the benchmarks whose name matches; stock: the best of its rendezvous schemes
table()
{
    printf '\n%s\n%22s %11s %12s     ratio\n' "$2" "" stock ucxri
    analyse -v plain="$1" -v where=$mpi
}
raw=$results/raw.csv summary=/dev/null
echo "Values are medians. A ratio is ucxri / stock: the median of those of all rounds."
table '^mpi_latency$' "One-way latency (MPI ping-pong), us, less is better"
table '^mpi_fast_receive$' "From the send until the data is in a buffer that was posted before, us"
table '^mpi_rate$' "Message rate, millions per second, more is better"
table '^mpi_bw$' "Bandwidth, MB/s, more is better"
table '^mpi_bibw$' "Bandwidth, both directions at once, MB/s, more is better"
table '^progress:' "Computing while a message is on its way, us for an iteration, less is better
(how long the sender computes before, during and after the send, in units of 18 us, then the receiver)"

echo
echo "The project asks for certain ratios, its budgets (contrib/bench/budgets.tsv)."
if grep -q '^missed budgets: [1-9]' "$results/table.txt"; then
    echo "Missed here, which a busy machine makes more likely:"
    sed -n '/^missed budgets: /,/^$/{ /^  /p }' "$results/table.txt"
    echo "(ring: the library as it is; am: without its rings; rtr: with an RTR for each receive; auto, get,"
    echo "put: stock UCX by this scheme; ideal: the shortest possible time; issues are the project's own)"
else
    echo "None was missed here."
fi
echo
sed -n '/other processes used/p; /machine was not idle/p' "$results/table.txt"
echo "All samples: $results/raw.csv"
echo
echo "The library is $build_dir/src/libucxri.so. With a program of yours:"
echo "  $([ $mpi = mpich ] && echo mpiexec.mpich || echo mpirun.openmpi) -n 4 $build_dir/src/ucxri_run \\"
echo "      --library=$build_dir/src/libucxri.so --report ./app"

echo

# to_png SVG PNG: with a converter that is there, or not at all
to_png()
{
    rm -f "$2"
    rsvg-convert --zoom 1.5 --output "$2" "$1" ||
        inkscape "$1" --export-type=png --export-filename="$2" || magick "$1" "$2" || convert "$1" "$2"
    [ -s "$2" ] || { rm -f "$2"; return 1; }
} >/dev/null 2>&1 </dev/null

perf=$build_dir/src/ucxri_perf out=$results
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chart progress "Progress while computing: stock UCX beside ucxri" $mpi '^progress:' \
    "stock+stock_get+stock_put=stock UCX, the best of its schemes" "ring=with ucxri"
[ -s "$out/progress.svg" ] || die "no chart"
if to_png "$out/progress.svg" "$out/progress.png"; then
    echo "The chart as a picture: $out/progress.png"
fi
echo "Chart: $out/progress.svg"
