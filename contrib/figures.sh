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
#   contrib/figures.sh                      the figures of Small and Yuan, 3 rounds
#   contrib/figures.sh --only ud            those of Koop, Sur and Panda
#   contrib/figures.sh --quick --mpi none   what the tests run
# Options:
#   --only PART      rc or ud (rc)
#   --mpi NAME       rc: mpich, openmpi, all (default: all that are installed) or none;
#                    repeatable
#   --skip NAME      leave out perf (ucxri_perf), rc: counters, ud: loss or memory; repeatable
#   --quick          one round, a few sizes, hardly any time for each
#   --rounds N       rounds (3)
#   --add            keep the samples that are in the output directory, and add to them
#   --strict         exit with 3 when a budget is missed or was not measured

set -u -o pipefail
. "$(dirname "$0")/bench/run.sh"
. "$bench/counters.sh"

read_options "perf counters loss memory" "$@"
[ $set = ud ] || ! { skips loss || skips memory; } ||
    misuse "--skip loss and memory are of --only ud"
[ $set = rc ] || ! skips counters || misuse "--skip counters is not of --only ud"
[ $set = rc ] || [ ${#mpis[@]} -eq 0 ] || misuse "--mpi is not of --only ud"
prepare_hca
. "$bench/figures_$set.sh"
export SOFTHCA_LINK=$link

run_rounds
draw
judge "$([ $quick = yes ] || echo yes)"
echo
echo "samples, summary and charts: $out"
finish
