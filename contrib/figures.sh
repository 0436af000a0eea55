#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Makes the figures of docs/figures: those of Small and Yuan (ICS'09) that compare protocols,
# on the software HCA with a link of 2 us and 2 GB/s. Stock UCX's rc_verbs beside the library
# on the same device, alternately, in one go: ucxri_perf, and MPI programs under each MPI
# that is installed. docs/figures/README.md says what is in them.
#
#   contrib/figures.sh                      all of these, 3 rounds
#   contrib/figures.sh --only ud            those of Koop, Sur and Panda
#   contrib/figures.sh --quick --mpi none   what the tests run

set -u -o pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
bench_src=$root/test/bench

usage()
{
    cat <<EOF
Usage: contrib/figures.sh [options]
  --only PART      rc: the figures of Small and Yuan; ud: those of Koop, Sur and Panda, by
                   contrib/figures_ud.sh, whose options the others then are (rc)
  --mpi NAME       mpich, openmpi, all (default: all that are installed) or none;
                   repeatable
  --skip NAME      leave out perf (ucxri_perf) or counters; repeatable
  --quick          one round, a few sizes, hardly any time for each
  --rounds N       rounds (3)
  --add            keep the samples that are in the output directory, and add to them
  --build-dir DIR  where the library, ucxri_perf and the software HCA were built
                   (build, below the source)
  --lib PATH       the library (found below the build directory)
  --out DIR        where the results go (figures, below the build directory)
  --cpus A,B       the two cores (the first two that this shell may use)
  --strict         exit with 2 when a budget is missed or was not measured
  -h, --help       this help
Exit code: 0 when everything ran, 1 when something failed.
EOF
}

. "$root/contrib/bench.sh"

mpis=()
skip=" "
rounds=
build_dir=$root/build
lib=
out=
cpus=
strict=no
quick=no
add=no
only=
words=("$@")

# Another part has a script of its own
for ((i = 0; i < ${#words[@]}; i++)); do
    if [ "${words[i]}" = --only ]; then
        only=${words[i + 1]:-}
        [[ $only =~ ^(rc|ud)$ ]] || die "--only $only: expected rc or ud"
        words=("${words[@]:0:i}" "${words[@]:i + 2}")
        break
    fi
done
[ "$only" != ud ] || exec "$root/contrib/figures_ud.sh" "${words[@]}"
set -- "${words[@]}"

while [ $# -gt 0 ]; do
    case $1 in
    --mpi | --skip | --rounds | --build-dir | --lib | --out | --cpus)
        arg=$(value_of "$@") || exit 1
        ;;
    esac
    case $1 in
    --mpi)
        case $arg in
        mpich | openmpi | none) mpis+=("$arg") ;;
        all) mpis+=(mpich openmpi) ;;
        *) die "--mpi $arg: expected mpich, openmpi, all or none" ;;
        esac
        shift
        ;;
    --skip)
        case $arg in
        perf | counters) skip+="$arg " ;;
        *) die "--skip $arg: expected perf or counters" ;;
        esac
        shift
        ;;
    --rounds)
        [[ $arg =~ ^[1-9][0-9]{0,3}$ ]] || die "--rounds $arg: expected a number"
        rounds=$arg
        shift
        ;;
    --build-dir) build_dir=$arg; shift ;;
    --lib) lib=$arg; shift ;;
    --out) out=$arg; shift ;;
    --cpus)
        [[ $arg =~ ^[0-9]+,[0-9]+$ ]] || die "--cpus $arg: expected A,B"
        cpus=$arg
        shift
        ;;
    --quick) quick=yes ;;
    --add) add=yes ;;
    --strict) strict=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
    esac
    shift
done

# What there is to measure. A batch has to be long enough for some messages, and short enough
# not to be interrupted.
if [ $quick = yes ]; then
    rounds=${rounds:-1}
    seconds=0.02
    batches=4
    latency_sizes="16384 65536"
    late_units="30"
    overlap_sizes="32768"
    early_sizes="65536 1048576"
    bandwidth_sizes="1048576"
    counter_sizes="16384 1048576"
else
    rounds=${rounds:-3}
    seconds=0.2
    batches=100
    latency_sizes="16384 32768 65536 131072 262144"
    late_units="10 20 30 40 50"
    overlap_sizes="16384 24576 32768"
    early_sizes="65536 131072 262144 524288 1048576"
    bandwidth_sizes="65536 262144 1048576"
    counter_sizes="16384 32768 65536 262144 1048576"
fi
link_rate=2000 # MB/s, of SOFTHCA_LINK=ddr
early_sender=()
for units in $late_units; do
    early_sender+=("0/0/60/$units/0/0=30720")
done
early_sender+=("0/20/0/5/5/20=${overlap_sizes// /,}")
early_receiver=("20/20/20/0/0/0=${early_sizes// /,}" "27/0/0/20/20/20=${early_sizes// /,}")

choose_cpus
[ "$lib" != stock ] || die "--lib stock is for contrib/compare.sh"
find_library
mkdir -p "$build_dir/bench" || exit 1
build_dir=$(cd "$build_dir" && pwd)

perf=$(find_built '*/src/ucxri_perf')
hca=$(find_built '*/test/bin/libsofthca.so')
[ -n "$perf" ] || die "no ucxri_perf below $build_dir: build it first"
[ -n "$hca" ] || die "no libsofthca.so below $build_dir: make check-build first"
out=${out:-$build_dir/figures}
mkdir -p "$out/logs" || exit 1
out=$(cd "$out" && pwd)
raw=$out/samples.csv
summary=$out/summary.csv
counters=$out/counters.csv
work=$(mktemp -d) || exit 1
rm -f "$out"/logs/*.log

suites=()
command -v taskset >/dev/null || die "taskset is missing (package util-linux)"
[[ $skip == *" perf "* ]] || suites+=(perf)
[ ${#mpis[@]} -gt 0 ] || mpis=(mpich openmpi)
add_mpis "${mpis[@]}"
[ ${#suites[@]} -gt 0 ] || die "nothing left to measure"

forget_settings
export SOFTHCA_LINK=ddr SOFTHCA_FABRIC=figures$$ UCX_NET_DEVICES=softhca0:1
export UCX_TLS=rc_verbs,ud_verbs:aux,self

# stock chooses eager messages in pieces for nearly all sizes here, by its own estimate of the
# network; stock_rndv has its rendezvous from 8 KB on
variants="stock stock_rndv net"

# The environment of a variant, as arguments of env. Both processes are on one host, and are to
# find each other by the network only.
variant_env()
{
    env_args=(LD_PRELOAD="$hca")
    case $1 in
    stock_rndv) env_args+=(UCX_RNDV_THRESH=8k) ;;
    net)
        env_args=(LD_PRELOAD="$lib $hca" UCX_RNDV_SCHEME=recv_init UCXRI_CMA=n
                  UCXRI_RING_PEERS=0 UCXRI_IB_DEVICES=softhca0)
        ;;
    esac
}

cleanup()
{
    rm -rf "$work"
    rm -f "/dev/shm/softhca.$SOFTHCA_FABRIC".*
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# run_perf_bench VARIANT BENCHMARK ARGUMENTS...: results in the form of RESULT lines
run_perf_bench()
{
    local variant=$1 bench=$2 csv=$work/perf.csv log=$out/logs/perf.$1.$2.$round.log
    shift 2
    if ! timeout --foreground 120 env "${env_args[@]}" "$perf" "$bench" --csv "$csv" \
            --cpus "$cpu0,$cpu1" -t "$seconds" -b "$batches" "$@" >"$log" 2>&1 </dev/null; then
        note_failure perf "$variant" "$bench" "$log"
        return 1
    fi
    awk -F, '
        FNR == 1 {
            next
        }
        $1 != "progress" {
            print "RESULT", "perf_" $1, $3, $5, $8, 0
            next
        }
        {
            print "RESULT", "progress:" $4, $3, $5, $8, 0
            print "RESULT", "ideal:" $4, $3, $13, $8, 0
            print "RESULT", "work:" $4, $3, $12, $8, 0
        }' "$csv" >"$work/results"
    add_samples perf "$variant" "$work/results" || return 1
    rm -f "$log"
}

# The configurations of mpi_perf as arguments of ucxri_perf, which takes one list of sizes
run_perf()
{
    local variant=$1 point
    run_perf_bench "$variant" latency --sizes "${latency_sizes// /,}"
    run_perf_bench "$variant" bandwidth --sizes "${bandwidth_sizes// /,}"
    for point in "${early_sender[@]}" "${early_receiver[@]}"; do
        run_perf_bench "$variant" progress --config "${point%%=*}" --sizes "${point#*=}"
    done
}

run_mpi()
{
    local mpi=$1 variant=$2 log=$out/logs/$1.$2.$round.log
    if ! launch "$mpi" -t "$seconds" -b "$batches" "latency=${latency_sizes// /,}" \
            "bw=${bandwidth_sizes// /,}" "${early_sender[@]/#/progress:}" \
            "${early_receiver[@]/#/progress:}" >"$log" 2>&1; then
        note_failure "$mpi" "$variant" mpi_perf "$log"
        return 1
    fi
    # The distance of the cores has no part in this: no sample is left out for it
    sed 's/[^ ]*$/0/' "$log" | grep '^RESULT' >"$work/results"
    add_samples "$mpi" "$variant" "$work/results" || return 1
    rm -f "$log"
}

# Bandwidth as a share of the link
add_link_shares()
{
    awk -F, -v OFS=, -v rate=$link_rate '
        { print }
        ($4 == "perf_bandwidth" || $4 == "mpi_bw") && $2 == "net" {
            print $1, $2, $3, "link_share", $5, $6 / rate, "share", 0
        }' "$raw" >"$work/raw" && mv "$work/raw" "$raw"
}

# count_run MPI COUNT SIZE: the software HCA's counters, both ranks, of a ping-pong
count_run()
{
    local mpi=$1 count=$2 size=$3
    rm -f "$work/counts"
    variant_env "$variant"
    env_args+=(SOFTHCA_COUNTERS="$work/counts")
    launch "$mpi" -n "$count" "latency=$size" >"$log" 2>&1 || return 1
    # wr_recv are those that were posted; the others are of what is sent
    awk '$1 != "softhca" {
             next
         }
         $3 ~ /^wr_/ && $3 != "wr_recv" {
             sum["work_requests"] += $4
         }
         { sum[$3] += $4 }
         END {
             print sum["post_send"], sum["work_requests"],
                   sum["post_recv"] + sum["post_srq_recv"], sum["messages"] + 0,
                   sum["packets"] + 0, sum["completions"] + 0
         }' "$work/counts"
}

# What is done once, at the start, is in both runs
run_counters()
{
    local mpi=$1 size variant log few many turns=1000
    [ $quick = no ] || turns=200
    for size in $counter_sizes; do
        for variant in $variants; do
            log=$out/logs/$mpi.$variant.counters.$size.log
            if ! few=$(count_run "$mpi" 50 "$size") ||
               ! many=$(count_run "$mpi" $((50 + turns)) "$size"); then
                note_failure "$mpi" "$variant" "counters" "$log"
                continue
            fi
            # A turn has two transfers. How many receives are posted at first differs from run
            # to run, by more than some transfers need.
            awk -v head="$mpi,$size,$variant" -v few="$few" -v many="$many" \
                -v transfers=$((2 * turns)) 'BEGIN {
                n = split(few, a, " ")
                split(many, b, " ")
                printf "%s", head
                for (i = 1; i <= n; i++) {
                    printf ",%.2f", (b[i] > a[i]) ? (b[i] - a[i]) / transfers : 0
                }
                print ""
            }' >>"$counters"
            rm -f "$log"
        done
    done
}

# chart NAME WHERE TITLE BENCH...
chart()
{
    local name=$1 where=$2 title=$3 variant files=()
    shift 3
    for variant in $variants; do
        series "$where" "$variant" "$*" >"$work/$variant.csv"
    done
    files=("stock UCX=$work/stock.csv" "stock UCX, rendezvous from 8 KB on=$work/stock_rndv.csv"
           "receiver-initiated=$work/net.csv")
    "$perf" chart --svg "$out/$name-$where.svg" --title "$title" "${files[@]}" ||
        die "no chart $name-$where.svg"
}

draw_charts()
{
    local where prefix bandwidth text
    local sender=("${early_sender[@]/#/progress:}") receiver=("${early_receiver[@]/#/progress:}")
    for where in $(awk -F, 'FNR > 1 && !seen[$3]++ { print $3 }' "$raw"); do
        case $where in
        perf) prefix=perf bandwidth=perf_bandwidth text="UCP" ;;
        mpich) prefix=mpi bandwidth=mpi_bw text="MPICH" ;;
        *) prefix=mpi bandwidth=mpi_bw text="Open MPI" ;;
        esac
        chart fig7 "$where" "Ping-pong, $text" ${prefix}_latency
        chart fig9 "$where" "Progress, the sender is early, $text" "${sender[@]%%=*}"
        chart fig10 "$where" "Progress, the receiver is early, $text" "${receiver[@]%%=*}"
        chart bandwidth "$where" "Bandwidth, windows of 64 messages, $text" $bandwidth
    done
}

first_round=1
if [ $add = yes ] && [ -s "$raw" ]; then
    first_round=$(($(tail -n +2 "$raw" | cut -d, -f1 | sort -n | tail -1) + 1))
    sed -i '/,link_share,/d' "$raw"
else
    echo "round,variant,where,bench,size,value,unit,core_ns" >"$raw"
fi
last_round=$((first_round + rounds - 1))
step=0
steps=$((rounds * ${#suites[@]} * 3))
start_time=$SECONDS
for ((round = first_round; round <= last_round; round++)); do
    for suite in "${suites[@]}"; do
        # Who goes first changes from round to round
        for ((i = 0; i < 3; i++)); do
            read -ra names <<<"$variants"
            variant=${names[(i + round) % 3]}
            show_progress "$suite" "$variant"
            step=$((step + 1))
            variant_env "$variant"
            if [ "$suite" = perf ]; then
                run_perf "$variant"
            else
                run_mpi "$suite" "$variant"
            fi
        done
    done
done
end_progress

# ucxri_perf runs for a time, not for a number of messages
if [[ $skip != *" counters "* ]]; then
    echo "mpi,size,variant,doorbells,work_requests,receive_doorbells,messages,packets,completions" \
        >"$counters"
    for suite in "${suites[@]}"; do
        [ "$suite" = perf ] || run_counters "$suite"
    done
fi
add_link_shares
draw_charts

expect=
for suite in "${suites[@]}"; do
    expect+=" $suite:net"
done
[ $quick = no ] || expect=
awk -v rounds="$rounds" -v summary="$summary" -v expect="$expect" \
    -f "$root/contrib/compare.awk" "$root/contrib/figures.tsv" "$raw"
missed=$?
[ $missed -eq 0 ] || [ $missed -eq 3 ] || die "the analysis failed"
if [ -s "$counters" ] && [[ $skip != *" counters "* ]]; then
    echo
    echo "The software HCA's counters, for each message of a ping-pong, both processes:"
    column -t -s, "$counters" 2>/dev/null || cat "$counters"
fi
echo
echo "samples, summary and charts: $out"
if [ $failures -gt 0 ]; then
    echo "$failures runs FAILED, see above" >&2
    exit 1
fi
[ $strict = no ] || [ $missed -eq 0 ] || exit 2
exit 0
