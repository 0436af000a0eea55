#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Measures stock UCX against the library, alternately, in one go: ucx_perftest, MPI programs under
# each MPI that is installed, and matching at the UCP level. Prints medians, ratios and the budgets
# of contrib/bench/budgets.tsv that are missed; writes every sample to a CSV file. What is measured
# is in contrib/bench/points.tsv; test/bench/README.md explains the method and the columns.
#
# Usage: contrib/compare.sh [options]
#   contrib/compare.sh                      everything, 7 rounds
#   contrib/compare.sh --quick --mpi mpich  3 short rounds, one MPI
#   contrib/compare.sh --lib stock          stock against stock: the noise
# Options:
#   --mpi NAME       mpich, openmpi, all (default: all that are installed) or none
#                    (only ucx_perftest and the UCP-level programs); repeatable
#   --skip NAME      leave out perftest, ucp or rma (one-sided MPI); repeatable
#   --quick          3 short rounds instead of 7
#   --rounds N       rounds (7); up to N more follow where a virtual machine moved
#                    its cores in too many of them
#   --sizes LIST     only these message sizes (bytes, separated by commas)
#   --strict         exit with 3 when a budget is missed or was not measured

set -u -o pipefail
. "$(dirname "$0")/bench/run.sh"
. "$bench/perftest.sh"
. "$bench/counters.sh"
set=compare

read_options "perftest ucp rma" "$@"
if [ $quick = yes ]; then
    rounds=${rounds:-3} seconds=0.05 timing=(-t 0.03)
else
    rounds=${rounds:-7} seconds=0.15 timing=(-t 0.08)
fi
prepare_host

skips perftest || add_found perftest
add_mpis "${mpis[@]}"
skips ucp || suites+=(ucp)

# Stock in the library's place shows the noise, which a choice of stock's schemes would hide
suite_variants()
{
    case $1 in
    ucp) echo "stock ring" ;;
    perftest) echo "stock ring am" ;;
    *) [ "$lib" = stock ] && echo "stock ring am" || echo "stock stock_get stock_put ring am rtr" ;;
    esac
}

version=$(ucx_info -v 2>/dev/null |
          sed -n 's/^# *\(Library v\|V\)ersion:* *\([0-9.]*\).*/\2/p' | head -1)
echo "stock: UCX ${version:-of unknown version}; library: $lib; cores $cpu0 and $cpu1;" \
    "$rounds rounds of: ${suites[*]}"
run_rounds
repeat_moved
echo
judge "$([ -n "$sizes" ] || skips rma || echo yes)"
say_end
finish
