#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Measures MPI programs with the library and with the best that stock UCX can do, alternately, in one
# go, and prints a matrix of the ratios: where the library loses first, the worst first, then all.
# Open MPI's own transport for a host (ob1 with vader) is measured as well. What is measured is in
# contrib/bench/points.tsv; test/bench/README.md explains the method and the columns.
#
# Usage: contrib/matrix.sh [options]
#   --mpi NAME       mpich, openmpi or all (default: all that are installed); repeatable
#   --rows LIST      only these: latency, used (buffers that are written and read), bw, bibw, rate,
#                    fast (receives posted early), progress, coll; separated by commas
#   --quick          3 short rounds of fewer sizes instead of 5
#   --rounds N       rounds (5); up to N more follow, of the samples that were dropped
#   --sizes LIST     only these message sizes (bytes, separated by commas); a barrier has 0
#   --build-dir DIR  where the library was built, and where the programs are built
#                    (build, below the source)
#   --lib PATH       the library (found below the build directory), or "stock" to
#                    run stock in its place, which shows the noise
#   --out DIR        where the results go (matrix, below the build directory)
#   --cpus A,B       the two cores (the first two that this shell may use)
#   --strict         exit with 2 when the library loses in a cell
#   -h, --help       this help
# Exit code: 0 when everything ran, 1 when something failed.
#
#   contrib/matrix.sh                             everything, 5 rounds
#   contrib/matrix.sh --quick --rows latency,bw   a coarse one of two benchmarks
#   LD_LIBRARY_PATH=/opt/ucx/lib contrib/matrix.sh    on another UCX

set -u -o pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/contrib/bench/run.sh"
set=matrix
# ns: below it the two cores are near, else far
boundary=$(sed -n 's/^#define PERF_STATE_NEAR_NS //p' "$root/src/tools/ucxri_perf_state.h")
launch_limit=900

parse_options "--mpi --rows --sizes" "" "$@"
if [ $quick = yes ]; then
    rounds=${rounds:-3} timing=(-t 0.03 -w 0.05)
else
    rounds=${rounds:-5} timing=(-t 0.1 -w 0.1)
fi
prepare matrix
raw=$out/raw.csv
summary=$out/summary.csv
build "$build_dir/bench/core_ping" "${CC:-cc}" core_ping.c
build "$build_dir/bench/idle_yield.so" "${CC:-cc}" idle_yield.c -fPIC -shared
add_mpis "${mpis[@]}"

within_host

# Stock in the library's place shows the noise, which a choice of stock's schemes would hide
suite_variants()
{
    [ "$lib" != stock ] || { echo "stock ring"; return; }
    echo "stock stock_get stock_put ring$([ "$1" != openmpi ] || echo " ob1")"
}

# row_of BENCHMARK: prints its name in --rows
row_of()
{
    case $1 in
    latency_used) echo used ;;
    fast_receive) echo fast ;;
    progress:*) echo progress ;;
    latency | bw | bibw | rate) echo "$1" ;;
    *) echo coll ;;
    esac
}

# result_name PROGRAM BENCHMARK: prints its name in a RESULT line
result_name()
{
    case $1,$2 in
    mpi_perf,progress:*) echo "$2" ;;
    mpi_perf,*) echo "mpi_$2" ;;
    mpi_perf:*) echo "mpi_$2:${1#*:}" ;;
    *) echo "coll_$2:${1#*:}" ;;
    esac
}

# While rounds are repeated, only the samples that were dropped
wants()
{
    local program=$1 variant=$2 benchmark=$3 size=$4 all
    [ -z "$sizes" ] || [[ ,$sizes, == *,$size,* ]] || return
    [ -z "$rows" ] || [[ ,$rows, == *,$(row_of "$benchmark"),* ]] || return
    [ ${#lacking[@]} -gt 0 ] || return 0
    printf -v all '%s;' "${lacking[@]}"
    [[ ";$all" == *";$suite $variant $(result_name "$program" "$benchmark") $size;"* ]]
}

analyse()
{
    awk -v rounds="$rounds" -v boundary=$boundary -v summary="$summary" "$@" \
        -f "$bench/stats.awk" -f "$bench/matrix.awk" "$raw"
}

[ ${#suites[@]} -gt 0 ] || die "nothing left to measure"
echo "library: $lib; cores $cpu0 and $cpu1, a line takes $(core_ping) ns one way; rounds: $rounds"
variant_env stock
for mpi in "${found_mpis[@]}"; do
    log=$out/logs/$mpi.version.log
    launch "$mpi" mpi_perf -v >"$log" 2>&1 || die "$mpi does not run, see $log"
    sed -n "s/^VERSION /$mpi: /p" "$log"
done
run_rounds
repeat_moved
echo
judge ""
say_end
finish
