#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Makes the figures of docs/figures, on the software HCA, all variants alternately, in one go:
#   rc   those of Small and Yuan (ICS'09) that compare protocols, on a link of 2 us and 2 GB/s: stock
#        UCX's rc_verbs beside the library; ucxri_perf, and MPI programs under each MPI
#   ud   those of Koop, Sur and Panda (Zero-Copy Protocol for MPI using InfiniBand Unreliable
#        Datagram): messages by datagrams that are copied, by datagrams without a copy, and by
#        connections, on a link as in their time; and what losses cost
# What is measured is in contrib/bench/points.tsv; docs/figures/README.md says what the figures
# show.
#
# Usage: contrib/figures.sh [options]
#   --only PART      rc or ud (rc)
#   --mpi NAME       rc: mpich, openmpi, all (default: all that are installed) or none;
#                    repeatable
#   --skip NAME      leave out perf (ucxri_perf), rc: counters, ud: loss or memory; repeatable
#   --quick          one round, a few sizes, hardly any time for each
#   --rounds N       rounds (3)
#   --add            keep the samples that are in the output directory, and add to them
#   --build-dir DIR  where the library, ucxri_perf and the software HCA were built
#                    (build, below the source)
#   --lib PATH       the library (found below the build directory)
#   --out DIR        where the results go (figures, below the build directory)
#   --cpus A,B       the two cores (the first two that this shell may use)
#   --strict         exit with 2 when a budget is missed or was not measured
#   -h, --help       this help
# Exit code: 0 when everything ran, 1 when something failed.
#
#   contrib/figures.sh                      the figures of Small and Yuan, 3 rounds
#   contrib/figures.sh --only ud            those of Koop, Sur and Panda
#   contrib/figures.sh --quick --mpi none   what the tests run

set -u -o pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/contrib/bench/run.sh"
. "$root/contrib/bench/counters.sh"
set=rc
budgets=$bench/figures.tsv
core_probe=no

parse_options "--only --mpi --skip --add" "perf counters loss memory" "$@"
[ $set = ud ] || ! { skips loss || skips memory; } || die "--skip loss and memory are of --only ud"
[ $set = rc ] || ! skips counters || die "--skip counters is not of --only ud"
[ $set = rc ] || [ ${#mpis[@]} -eq 0 ] || die "--mpi is not of --only ud"
prepare figures
prepare_hca
. "$bench/figures_$set.sh"
export SOFTHCA_LINK=$link

run_rounds
draw
judge "$([ $quick = yes ] || echo yes)"
[ $set = ud ] || show
echo
echo "samples, summary and charts: $out"
finish
