#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Measures MPI programs with the library and with the best that stock UCX can do, alternately, in one
# go, and prints a matrix of the ratios: where the library loses first, the worst first, then all.
# Open MPI's own transport for a host (ob1 with vader) is measured as well. What is measured is in
# contrib/bench/points.tsv; test/bench/README.md explains the method and the columns.
#
# Usage: contrib/matrix.sh [options]
#   contrib/matrix.sh                             everything, 5 rounds
#   contrib/matrix.sh --quick --rows latency,bw   a coarse one of two benchmarks
#   LD_LIBRARY_PATH=/opt/ucx/lib contrib/matrix.sh    on another UCX
# Options:
#   --mpi NAME       mpich, openmpi or all (default: all that are installed); repeatable
#   --rows LIST      only these: latency, used (buffers that are written and read), bw, bibw, rate,
#                    fast (receives posted early), progress, coll; separated by commas
#   --quick          3 short rounds of fewer sizes instead of 5
#   --rounds N       rounds (5); up to N more follow, of the samples that were dropped
#   --sizes LIST     only these message sizes (bytes, separated by commas); a barrier has 0
#   --strict         exit with 3 when the library loses in a cell

set -u -o pipefail
. "$(dirname "$0")/bench/run.sh"
set=matrix
# Below this number of ns the two cores are near, else far
boundary=$(sed -n 's/^#define PERF_STATE_NEAR_NS //p' "$root/src/tools/ucxri_perf_state.h")
analysis=(-v boundary="$boundary" -f "$bench/matrix.awk")
launch_limit=900

read_options "" "$@"
[[ " ${mpis[*]} " != *" none "* ]] || misuse "--mpi none: expected mpich, openmpi or all"
if [ $quick = yes ]; then
    rounds=${rounds:-3} timing=(-t 0.03 -w 0.05)
else
    rounds=${rounds:-5} timing=(-t 0.1 -w 0.1)
fi
# The benchmarks of the rows, as a pattern
rows=${rows//,/|}
rows=${rows/used/latency_used|bw_used}
rows=${rows/fast/fast_receive}
rows=${rows/progress/progress:.*}
rows=${rows/coll/barrier|bcast|allreduce|alltoall|allgather}
prepare_host
add_mpis "${mpis[@]}"

# Stock in the library's place shows the noise, which a choice of stock's schemes would hide
suite_variants()
{
    [ "$lib" != stock ] || { echo "stock ring"; return; }
    echo "stock stock_get stock_put ring$([ "$1" != openmpi ] || echo " ob1")"
}

echo "library: $lib; cores $cpu0 and $cpu1, a line takes $(core_ping) ns one way; rounds: $rounds"
variant_env stock
for mpi in "${suites[@]}"; do
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
