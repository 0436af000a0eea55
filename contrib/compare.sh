#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Measures stock UCX against the library, alternately, in one go: ucx_perftest,
# MPI programs under each MPI that is installed, and matching at the UCP level.
# Prints medians, ratios and the budgets of contrib/budgets.tsv that are
# missed; writes every sample to a CSV file. test/bench/README.md explains the
# method and the columns.
#
#   contrib/compare.sh                      everything, 7 rounds
#   contrib/compare.sh --quick --mpi mpich  3 short rounds, one MPI
#   contrib/compare.sh --lib stock          stock against stock: the noise

set -u -o pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
bench_src=$root/test/bench

usage()
{
    cat <<EOF
Usage: contrib/compare.sh [options]
  --mpi NAME       mpich, openmpi, all (default: all that are installed) or none
                   (only ucx_perftest and the UCP-level programs); repeatable
  --skip NAME      leave out perftest or ucp; repeatable
  --quick          3 short rounds instead of 7
  --rounds N       rounds (7); up to N more follow where a virtual machine moved
                   its cores in too many of them
  --sizes LIST     only these message sizes (bytes, separated by commas)
  --am-only        measure the library with the ring channel off, only
  --build-dir DIR  where the library was built, and where the programs are built
                   (build, below the source)
  --lib PATH       the library (found below the build directory), or "stock" to
                   run stock in its place, which shows the noise
  --out DIR        where the results go (compare, below the build directory)
  --cpus A,B       the two cores (the first two that this shell may use)
  --strict         exit with 2 when a budget is missed or was not measured
  -h, --help       this help
Exit code: 0 when everything ran, 1 when something failed.
EOF
}

. "$root/contrib/bench.sh"

# Options

mpis=()
skip=" "
rounds=
sizes=
modes="ring am"
build_dir=$root/build
lib=
out=
cpus=
strict=no
quick=no

while [ $# -gt 0 ]; do
    # An option's value is taken here once; a missing one is caught by value_of
    case $1 in
    --mpi | --skip | --rounds | --sizes | --build-dir | --lib | --out | --cpus)
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
        perftest | ucp) skip+="$arg " ;;
        *) die "--skip $arg: expected perftest or ucp" ;;
        esac
        shift
        ;;
    --rounds)
        [[ $arg =~ ^[1-9][0-9]{0,3}$ ]] || die "--rounds $arg: expected a number"
        rounds=$arg
        shift
        ;;
    --sizes)
        [[ $arg =~ ^[0-9]+(,[0-9]+)*$ ]] || die "--sizes $arg: expected numbers"
        sizes=$arg
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
    --am-only) modes=am ;;
    --strict) strict=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
    esac
    shift
done

if [ $quick = yes ]; then
    rounds=${rounds:-3}
    seconds=0.05
    mpi_seconds=0.03
else
    rounds=${rounds:-7}
    seconds=0.15
    mpi_seconds=0.08
fi

# What there is to measure

choose_cpus

find_library

mkdir -p "$build_dir/bench" || exit 1
build_dir=$(cd "$build_dir" && pwd)
out=${out:-$build_dir/compare}
mkdir -p "$out/logs" || exit 1
out=$(cd "$out" && pwd)
raw=$out/raw.csv
summary=$out/summary.csv
rm -f "$out"/logs/*.log

suites=()
cc=${CC:-cc}
command -v taskset >/dev/null || die "taskset is missing (package util-linux)"
build "$build_dir/bench/core_ping" "$cc" "$bench_src/core_ping.c"

if [[ $skip != *" perftest "* ]]; then
    if command -v ucx_perftest >/dev/null; then
        suites+=(perftest)
    else
        echo "ucx_perftest is not installed (package ucx-utils): left out" >&2
    fi
fi
[ ${#mpis[@]} -gt 0 ] || mpis=(mpich openmpi)
add_mpis "${mpis[@]}"
if [[ $skip != *" ucp "* ]]; then
    # The package of some distributions has no pkg-config file; then the
    # compiler's own paths have to do
    build "$build_dir/bench/tag_match" "$cc" "$bench_src/tag_match.c" \
          $(pkg-config --cflags --libs ucx 2>/dev/null || echo "-lucp -lucs")
    suites+=(ucp)
fi
[ ${#suites[@]} -gt 0 ] || die "nothing left to measure"

# Only what the variants set may differ between them
unset LD_PRELOAD UCX_RNDV_SCHEME MPI_UCX_RNDV_SCHEME
export UCX_TLS=${UCX_TLS:-posix,sysv,cma,self}

# The environment of a variant, as arguments of env
variant_env()
{
    env_args=()
    case $1 in
    stock_get) env_args+=(UCX_RNDV_SCHEME=get_zcopy); return ;;
    stock_put) env_args+=(UCX_RNDV_SCHEME=put_zcopy); return ;;
    esac
    if [ "$1" != stock ] && [ "$lib" != stock ]; then
        env_args+=(LD_PRELOAD="$lib" UCX_RNDV_SCHEME=recv_init)
        [ "$1" != am ] || env_args+=(UCXRI_RING_PEERS=0)
        [ "$1" != rtr ] || env_args+=(UCXRI_RTR=y)
    fi
}

# The sizes of a list that are asked for and that the variant has budgets for
select_sizes()
{
    local variant=$1 size
    shift
    for size in "$@"; do
        [ "$variant" != am ] || [ "$size" -le 8192 ] || continue
        [ -z "$sizes" ] || [[ ,$sizes, == *,$size,* ]] || continue
        echo "$size"
    done
}

lat_sizes="8 16 40 64 256 1024 4096 8192 65536 262144 1048576 4194304"

# The points of mpi_perf: eager ones, and those where stock has a choice of schemes
mpi_small=("latency=0 8 16 40 64 256 1024 4096 8192" "rate=8")
if [ $quick = yes ]; then
    mpi_early=("fast_receive=16384 262144 4194304")
    mpi_large=("latency=16384 131072 262144 524288 4194304" "bw=65536 1048576"
               "bibw=1048576" "${mpi_early[@]}")
    progress_late="10 30 50"
else
    mpi_early=("fast_receive=16384 65536 262144 1048576 4194304")
    mpi_large=("latency=16384 32768 65536 131072 262144 524288 1048576 4194304"
               "bw=65536 262144 1048576 4194304" "bibw=1048576" "${mpi_early[@]}")
    progress_late="10 20 30 40 50"
fi
for units in $progress_late; do
    mpi_large+=("progress:0/0/60/$units/0/0=30720")
done
mpi_large+=("progress:0/20/0/5/5/20=30720" "progress:27/0/0/20/20/20=1048576 4194304")

mpi_rma=()
for bench in put get accumulate get_accumulate lock fence_put fence_get pscw; do
    mpi_rma+=("$bench=8 1024 65536")
done
mpi_rma+=(fetch_and_op=8 compare_and_swap=8 put_many=8)

# Running

server_pid=

cleanup()
{
    [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 130' INT TERM

core_ping()
{
    "$build_dir/bench/core_ping" "$cpu0" "$cpu1" | awk '{ print $6 }'
}

# A TCP port that nobody listens on
free_port()
{
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        grep -qi ":$(printf '%04X' "$port") " /proc/net/tcp || break
    done
    echo "$port"
}

# True once something listens on the port; gives up when the server is gone
wait_listening()
{
    local pattern i
    pattern=":$(printf '%04X' "$1") 00000000:0000 0A"
    for ((i = 0; i < 1000; i++)); do
        grep -qi "$pattern" /proc/net/tcp && return 0
        kill -0 "$2" 2>/dev/null || return 1
        read -r -t 0.01 <&"$never_fd"
    done
    return 1
}

# run_pair BATCH-FILE LOG: one ucx_perftest server and client
run_pair()
{
    local batch=$1 log=$2 port rc
    port=$(free_port)
    timeout 110 taskset -c "$cpu0" env "${env_args[@]}" ucx_perftest -p "$port" \
        -b "$batch" >"$log.server" 2>&1 </dev/null &
    server_pid=$!
    if wait_listening "$port" "$server_pid"; then
        timeout --foreground 100 taskset -c "$cpu1" env "${env_args[@]}" \
            ucx_perftest 127.0.0.1 -p "$port" -b "$batch" -f -v >"$log" 2>&1 \
            </dev/null
        rc=$?
    else
        echo "the ucx_perftest server did not start" >"$log"
        rc=1
    fi
    [ $rc -eq 0 ] || kill "$server_pid" 2>/dev/null
    wait "$server_pid" || rc=1
    server_pid=
    [ $rc -eq 0 ] || cat "$log.server" >>"$log"
    rm -f "$log.server"
    return $rc
}

# perftest_batch TEST SIZE: the runs that make one sample.
#
# ucx_perftest gives a mean, which a single pre-emption spoils, or a percentile,
# and a median would hide what a library does every few messages only. So the
# sample of a short message is the mean of ten percentiles, each from a run of
# its own: the mean over all messages without the outliers. A long message has
# nothing to hide, and the median is the best defence.
perftest_batch()
{
    awk -v test="$1" -v size="$2" -v seconds="$seconds" 'BEGIN {
        if (test == "tag_bw") {
            n = int(seconds / 10 / 1.5e-7)
            for (i = 1; i <= 10; i++) {
                print "run", "-t", test, "-s", size, "-n", n, "-w", int(n / 5)
            }
            exit
        }
        # About 0.6 us and 0.4 ns per byte for the way there and back
        runs = (size < 65536) ? 10 : 3
        n = int(seconds / (runs * (size < 65536 ? 3 : 1)) / (6e-7 + size * 4e-10))
        n = (n < 20) ? 20 : n
        for (i = 0; i < runs; i++) {
            print "run", "-t", test, "-s", size, "-n", n, "-w", int(n / 5),
                  "-R", (runs == 10) ? 10 * i + 5 : 50
        }
    }'
}

# perftest_result TEST SIZE BEFORE AFTER: the RESULT line from the output of a
# batch, by the names of its CSV header; the core probes before and after
# decide whether it fails
perftest_result()
{
    awk -F, -v test="$1" -v size="$2" -v before="$3" -v after="$4" '
        /overall_lat/ {
            for (i = 1; i <= NF; i++) {
                column[$i ~ /percentile_lat/ ? "percentile" : $i] = i
            }
            next
        }
        NF > 4 && ("overall_lat" in column) {
            x = $column[test == "tag_bw" ? "overall_mr" : "percentile"] + 0
            for (i = n++; i >= 1 && sorted[i] > x; i--) {
                sorted[i + 1] = sorted[i]
            }
            sorted[i + 1] = x
            sum += x
        }
        END {
            if (n == 0) {
                exit 1
            }
            if (test == "tag_lat" && size < 65536) {
                x = sum / n
            } else {
                x = (sorted[int((n + 1) / 2)] + sorted[int(n / 2) + 1]) / 2
            }
            same = before <= after * 1.3 && after <= before * 1.3
            print "RESULT", test, size, test == "tag_bw" ? x * 1e-6 : x,
                  test == "tag_bw" ? "Mmsg/s" : "us", same ? (before + after) / 2 : 0
            exit same ? 0 : 1
        }'
}

run_perftest()
{
    local variant=$1 item test size log before runs
    for item in $(select_sizes "$variant" $lat_sizes) bw; do
        if [ "$item" = bw ]; then
            [ "$variant" != am ] && [ -n "$(select_sizes "$variant" 8)" ] || continue
            test=tag_bw size=8
        else
            test=tag_lat size=$item
        fi
        log=$out/logs/perftest.$variant.$test.$size.$round.log
        perftest_batch "$test" "$size" >"$log.batch"
        runs=$(wc -l <"$log.batch")
        # Repeat what was measured while the virtual machine moved its cores
        for _ in 1 2 3; do
            before=$(core_ping)
            # The exit code does not tell of a run of the batch that failed
            if ! run_pair "$log.batch" "$log" ||
               [ "$(grep -c '^run,' "$log")" -ne "$runs" ]; then
                note_failure perftest "$variant" "$test $size B" "$log"
                return 1
            fi
            perftest_result "$test" "$size" "$before" "$(core_ping)" <"$log" \
                >"$log.result" && break
        done
        if ! add_samples perftest "$variant" "$log.result"; then
            note_failure perftest "$variant" "$test $size B: no result" "$log"
            return 1
        fi
        rm -f "$log" "$log.batch" "$log.result"
    done
}

# The points of a variant, as arguments of mpi_perf
mpi_points()
{
    local variant=$1 all=() item list
    case $variant in
    stock_*) all=("${mpi_large[@]}") ;;
    am) all=("${mpi_small[0]}") ;;
    rtr) all=("${mpi_early[@]}") ;;
    *) all=("${mpi_small[@]}" "${mpi_large[@]}") ;;
    esac
    points=()
    for item in "${all[@]}"; do
        # shellcheck disable=SC2086  # sizes are words
        list=$(select_sizes "$variant" ${item#*=} | paste -sd,)
        [ -z "$list" ] || points+=("${item%%=*}=$list")
    done
}

# One-sided operations, of MPICH: Debian's settings of Open MPI leave its osc/ucx out, and osc/rdma
# does without UCP
run_rma()
{
    local mpi=$1 variant=$2 log=$out/logs/$1.$2.mpi_rma.$round.log item list points=()
    for item in "${mpi_rma[@]}"; do
        # shellcheck disable=SC2086  # sizes are words
        list=$(select_sizes "$variant" ${item#*=} | paste -sd,)
        [ -z "$list" ] || points+=("${item%%=*}=$list")
    done
    [ ${#points[@]} -gt 0 ] || return 0
    if ! mpi_program=mpi_rma launch "$mpi" -t "$mpi_seconds" "${points[@]}" >"$log" 2>&1 ||
       ! add_samples "$mpi" "$variant" "$log"; then
        note_failure "$mpi" "$variant" mpi_rma "$log"
        return 1
    fi
    rm -f "$log"
}

run_mpi()
{
    local mpi=$1 variant=$2 log=$out/logs/$1.$2.mpi_perf.$round.log
    if [ "$mpi" = mpich ] && [[ $variant =~ ^(stock|ring)$ ]]; then
        run_rma "$mpi" "$variant" || return 1
    fi
    mpi_points "$variant"
    [ ${#points[@]} -gt 0 ] || return 0
    if ! launch "$mpi" -t "$mpi_seconds" "${points[@]}" >"$log" 2>&1 ||
       ! add_samples "$mpi" "$variant" "$log"; then
        note_failure "$mpi" "$variant" mpi_perf "$log"
        return 1
    fi
    rm -f "$log"
}

# count_messages MPI COUNT LOG: what both ranks count for COUNT large messages whose receives are
# posted: messages of control, and those that an RTR was used for. Beside control messages
# proper, which are RTR, FIN and CTS, each message has one in sequence that carries no payload:
# the request to send, or the word that it was written.
control_counters="tx_control tx_recv_rndv tx_coop tx_rndv tx_put"

count_messages()
{
    local mpi=$1 count=$2 log=$3
    rm -f "$log".stats.*
    env_args+=(UCXRI_STATS=y UCXRI_STATS_DEST="$log.stats.%p")
    launch "$mpi" -n "$count" fast_receive=1048576 >"$log" 2>&1 || return 1
    awk -v names="$control_counters" '
        BEGIN {
            n = split(names, name, " ")
            for (i = 1; i <= n; i++) {
                wanted[name[i]] = 1
            }
        }
        # Below a worker are its connections, whose counters are in its own
        /^ucxri: worker/ || /^ *conn 0x/ || /^ *stream 0x/ { own = /^ucxri: worker/ }
        own && ($1 in wanted) { sum += $2 }
        own && $1 == "rtr_used" { used += $2 }
        END { print sum + 0, used + 0 }' "$log".stats.* && rm -f "$log".stats.*
}

# run_control MPI VARIANT: what is sent once, at the start, is in both runs
run_control()
{
    local mpi=$1 variant=$2 log=$out/logs/$1.$2.control.log few many
    variant_env "$variant"
    if ! few=$(count_messages "$mpi" 100 "$log") ||
       ! many=$(count_messages "$mpi" 600 "$log"); then
        note_failure "$mpi" "$variant" "control messages" "$log"
        return 1
    fi
    # shellcheck disable=SC2086  # numbers are words
    set -- $few $many
    if [ "$variant" = rtr ] && [ $(($4 - $2)) -lt 495 ]; then
        echo "$(($4 - $2)) of 500 messages used an RTR" >"$log"
        note_failure "$mpi" "$variant" "messages without RTR" "$log"
        return 1
    fi
    awk -v n=$(($3 - $1)) \
        'BEGIN { printf "RESULT control 1048576 %.3f msgs 0\n", n / 500 }' >"$log"
    add_samples "$mpi" "$variant" "$log"
    rm -f "$log"
}

run_ucp()
{
    local variant=$1 log=$out/logs/ucp.$1.tag_match.$round.log
    if ! timeout --foreground 120 taskset -c "$cpu0" env "${env_args[@]}" \
            "$build_dir/bench/tag_match" -t "$seconds" >"$log" 2>&1 </dev/null ||
       ! add_samples ucp "$variant" "$log"; then
        note_failure ucp "$variant" tag_match "$log"
        return 1
    fi
    rm -f "$log"
}

# Which variants a suite has
suite_variants()
{
    case $1 in
    ucp) echo "stock ${modes%% *}" ;;
    perftest) echo "stock $modes" ;;
    *)
        # Stock in the library's place shows the noise, which a choice would hide
        if [ "$lib" = stock ] || [[ $modes != *ring* ]]; then
            echo "stock $modes"
        else
            echo "stock stock_get stock_put $modes rtr"
        fi
        ;;
    esac
}

# Every suite given, every variant once; who goes first changes from round to
# round, so that what drifts with time favours nobody
run_round()
{
    local suite i n variants variant
    for suite in "$@"; do
        read -ra variants <<<"$(suite_variants "$suite")"
        n=${#variants[@]}
        for ((i = 0; i < n; i++)); do
            variant=${variants[(i + round - 1) % n]}
            show_progress "$suite" "$variant"
            step=$((step + 1))
            # What failed twice will fail again
            [ "${failed[$suite,$variant]:-0}" -lt 2 ] || continue
            variant_env "$variant"
            case $suite in
            perftest) run_perftest "$variant" ;;
            ucp) run_ucp "$variant" ;;
            *) run_mpi "$suite" "$variant" ;;
            esac
        done
    done
}

# Ticks of all processes on the two cores, and of this script's children
cpu_busy()
{
    awk -v a="cpu$cpu0" -v b="cpu$cpu1" \
        '$1 == a || $1 == b { sum += $2 + $3 + $4 + $7 + $8 }
         END { print sum + 0 }' /proc/stat
}

cpu_own()
{
    sed 's/^.*) //' /proc/$$/stat | awk '{ print $12 + $13 + $14 + $15 }'
}

analyse()
{
    awk -v rounds="$rounds" -v summary="$summary" "$@" \
        -f "$root/contrib/compare.awk" "$root/contrib/budgets.tsv" "$raw"
}

# A pipe that never delivers: reading it with a time-out waits without a fork
exec {never_fd}<> <(:)

ucx_version=$(ucx_info -v 2>/dev/null |
              sed -n 's/^# *\(Library v\|V\)ersion:* *\([0-9.]*\).*/\2/p' | head -1)
echo "stock: UCX ${ucx_version:-of unknown version}; library: $lib;" \
     "cores $cpu0 and $cpu1; $rounds rounds of: ${suites[*]}"
echo "round,variant,where,bench,size,value,unit,core_ns" >"$raw"

step=0
steps=0
for suite in "${suites[@]}"; do
    steps=$((steps + rounds * $(suite_variants "$suite" | wc -w)))
done
start_time=$SECONDS
start_busy=$(cpu_busy)
start_own=$(cpu_own)
last_round=$rounds

for ((round = 1; round <= rounds; round++)); do
    run_round "${suites[@]}"
done

# Rounds for the suites whose pairs were taken in different places
while [ $failures -eq 0 ] && [ "$round" -le $((2 * rounds)) ]; do
    mapfile -t again < <(analyse -v need=1 | sort -u)
    [ ${#again[@]} -gt 0 ] || break
    last_round=$round
    for suite in "${again[@]}"; do
        steps=$((steps + $(suite_variants "$suite" | wc -w)))
    done
    run_round "${again[@]}"
    round=$((round + 1))
done
end_progress

round=1
for suite in "${suites[@]}"; do
    if [ -n "${mpiexec_of[$suite]:-}" ] && [ -z "$sizes" ] && [ "$lib" != stock ] &&
       [[ $modes == *ring* ]]; then
        run_control "$suite" ring
        run_control "$suite" rtr
    fi
done

ticks=$(((SECONDS - start_time) * 2 * $(getconf CLK_TCK)))
others=$(($(cpu_busy) - start_busy - $(cpu_own) + start_own))
others=$((ticks > 0 && others > 0 ? 100 * others / ticks : 0))

expect=
if [ -z "$sizes" ]; then
    for suite in "${suites[@]}"; do
        for variant in $(suite_variants "$suite"); do
            expect+=" $suite:$variant"
        done
    done
fi
echo
analyse -v expect="$expect"
missed=$?
[ $missed -eq 0 ] || [ $missed -eq 3 ] || die "the analysis failed"

echo
echo "$((SECONDS - start_time)) s; other processes used $others % of the two cores"
[ "$others" -lt 10 ] || echo "the machine was not idle: expect noise"
echo "all samples: $raw"
echo "summary:     $summary"

if [ $failures -gt 0 ]; then
    echo "$failures runs FAILED, see above" >&2
    exit 1
fi
[ $strict = no ] || [ $missed -eq 0 ] || exit 2
exit 0
