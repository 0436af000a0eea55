#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Makes those figures of docs/figures that are of Koop, Sur and Panda (Zero-Copy Protocol for
# MPI using InfiniBand Unreliable Datagram): messages by datagrams that are copied (stock UCX's
# ud_verbs), by datagrams without a copy (the plane ud), and by connections (stock's rc_verbs and
# the plane rc), on the software HCA as in their time, alternately, in one go. And what losses
# cost, beside sending the whole message again. contrib/figures.sh --only ud runs it.

set -u -o pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
bench_src=$root/test/bench

usage()
{
    cat <<EOF
Usage: contrib/figures.sh --only ud [options]
  --quick          one round, a few sizes, hardly any time for each
  --rounds N       rounds (3)
  --skip NAME      leave out perf, loss or memory; repeatable
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

skip=" "
rounds=
build_dir=$root/build
lib=
out=
cpus=
strict=no
quick=no
add=no

while [ $# -gt 0 ]; do
    case $1 in
    --skip | --rounds | --build-dir | --lib | --out | --cpus) arg=$(value_of "$@") || exit 1 ;;
    esac
    case $1 in
    --skip)
        [[ $arg =~ ^(perf|loss|memory)$ ]] ||
            die "--skip $arg: expected perf, loss or memory"
        skip+="$arg "
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

# The paper's copies end, and its figures are about, messages from 32 KB on
if [ $quick = yes ]; then
    rounds=${rounds:-1}
    seconds=0.02
    batches=4
    sizes="65536 1048576"
    loss_sizes="65536 1048576"
    loss_window=2
    memory_peers=4
else
    rounds=${rounds:-3}
    seconds=0.3
    batches=50
    sizes="8192 16384 32768 65536 131072 262144 524288 1048576"
    loss_sizes="65536 131072 262144 524288 1048576"
    loss_window=8
    memory_peers=64
fi
loss=1%

choose_cpus
[ "$lib" != stock ] || die "--lib stock is for contrib/compare.sh"
find_library
perf=$(find_built '*/src/ucxri_perf')
hca=$(find_built '*/test/bin/libsofthca.so')
[ -n "$perf" ] || die "no ucxri_perf below $build_dir: build it first"
[ -n "$hca" ] || die "no libsofthca.so below $build_dir: make check-build first"
info=$(find_built '*/src/ucxri_info')
peer_memory=$(find_built '*/test/bin/bench/peer_memory')
[ -n "$info" ] || die "no ucxri_info below $build_dir: build it first"
[ -n "$peer_memory" ] || die "no peer_memory below $build_dir: make bench first"
out=${out:-$build_dir/figures}
mkdir -p "$out/logs" || exit 1
out=$(cd "$out" && pwd)
raw=$out/ud-samples.csv
summary=$out/ud-summary.csv
work=$(mktemp -d) || exit 1

forget_settings
export SOFTHCA_LINK=ddr2k SOFTHCA_FABRIC=figures$$ UCX_NET_DEVICES=softhca0:1

# loss_free is ud with the window of those with losses
variants="copy ud rc_stock rc"
loss_variants="loss_free loss whole"

# The environment of a variant, as arguments of env. Both processes are on one host, and are to
# find each other by the network only. All of ud's messages go by datagrams, UCP's own as well.
variant_env()
{
    env_args=(UCX_TLS="ud_verbs,self" LD_PRELOAD="$hca")
    case $1 in
    rc | rc_stock) env_args=(UCX_TLS="rc_verbs,ud_verbs:aux,self" LD_PRELOAD="$hca") ;;
    esac
    case $1 in
    copy) return ;;
    rc_stock)
        env_args+=(UCX_RNDV_THRESH=8k)
        return
        ;;
    rc) env_args+=(UCXRI_IB_TRANSPORT=rc) ;;
    *) env_args+=(UCXRI_IB_TRANSPORT=ud) ;;
    esac
    env_args+=(LD_PRELOAD="$lib $hca" UCX_RNDV_SCHEME=recv_init UCXRI_CMA=n
               UCXRI_RING_PEERS=0 UCXRI_IB_DEVICES=softhca0)
    case $1 in
    loss | whole) env_args+=(SOFTHCA_FAULTS="ud_drop=$loss" SOFTHCA_SEED="$round") ;;
    esac
    case $1 in
    whole) env_args+=(UCXRI_UD_REPAIR=n) ;;
    esac
}

cleanup()
{
    rm -rf "$work"
    rm -f "/dev/shm/softhca.$SOFTHCA_FABRIC".*
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# run_bench VARIANT BENCHMARK ARGUMENTS...
run_bench()
{
    local variant=$1 bench=$2 log=$out/logs/ud.$1.$2.$round.log
    shift 2
    variant_env "$variant"
    if ! timeout --foreground 280 env "${env_args[@]}" "$perf" "$bench" --results \
            --cpus "$cpu0,$cpu1" -t "$seconds" -b "$batches" "$@" >"$log" 2>&1 </dev/null ||
       ! sed 's/[^ ]*$/0/' "$log" | grep '^RESULT' >"$work/results"; then
        note_failure ud "$variant" "$bench" "$log"
        return 1
    fi
    add_samples ud "$variant" "$work/results" || return 1
    rm -f "$log"
}

# add_ratio NAME SIZE BENCH VARIANT BASE...: of each round, to the best one of the others
add_ratio()
{
    local name=$1 size=$2 bench=$3 variant=$4
    shift 4
    awk -F, -v OFS=, -v name="$name" -v size="$size" -v bench="perf_$bench" \
        -v variant="$variant" -v others="$*" '
        BEGIN {
            n = split(others, list, " ")
            for (i = 1; i <= n; i++) {
                is_base[list[i]] = 1
            }
        }
        FNR > 1 && $4 == bench && $5 == size {
            if ($2 == variant) {
                value[$1] = $6
            }
            if (($2 in is_base) &&
                (!($1 in base) || (($7 ~ /\/s$/) ? $6 > base[$1] : $6 < base[$1]))) {
                base[$1] = $6
            }
            last = ($1 > last) ? $1 : last
        }
        END {
            for (r = 1; r <= last; r++) {
                if ((r in value) && (r in base) && base[r] > 0) {
                    print r, "ud", "ud", name, size, value[r] / base[r], "share", 0
                }
            }
        }' "$raw" >"$work/ratios" && cat "$work/ratios" >>"$raw"
}

# chart NAME BENCH TITLE VARIANT=LABEL...
chart()
{
    local name=$1 bench=$2 title=$3 files=() part
    shift 3
    for part in "$@"; do
        series ud "${part%%=*}" "$bench" >"$work/${part%%=*}.csv"
        [ "$(wc -l <"$work/${part%%=*}.csv")" -lt 2 ] ||
            files+=("${part#*=}=$work/${part%%=*}.csv")
    done
    [ ${#files[@]} -gt 0 ] || return 0
    "$perf" chart --svg "$out/ud-$name.svg" --title "$title" "${files[@]}" ||
        die "no chart ud-$name.svg"
}

# What malloc() gives a process for each of its peers while it has a number of them
measure_memory()
{
    local variant log
    for variant in $variants; do
        log=$out/logs/ud.$variant.memory.log
        variant_env "$variant"
        if ! timeout --foreground 280 env "${env_args[@]}" "$peer_memory" -n $memory_peers \
                >"$log" 2>&1 </dev/null; then
            note_failure ud "$variant" peer_memory "$log"
            continue
        fi
        awk -v OFS=, -v variant="$variant" '$2 == "peer_memory_heap" {
            print $3, variant, int($3 * $4), int($4), "measured"
        }' "$log"
        rm -f "$log"
    done
}

# As ucxri_info reckons it from the structures and queues, for more processes than fit here as well
reckon_memory()
{
    env UCXRI_IB_DEVICES=softhca0 UCXRI_IB_TRANSPORT=auto LD_PRELOAD="$hca" "$info" 2>/dev/null |
        awk -v OFS=, '
        # The number in front of a word
        function number(word,    i) {
            for (i = 2; i <= NF && $i != word; i++) {}
            return $(i - 1) + 0
        }
        /^peers by rc/ { rc = number("bytes") }
        /^peers by ud/ { ud = number("bytes"); qps = number("queue"); qp = $(NF - 3) + 0 }
        function line(plane, n, bytes) { print n, plane, bytes, int(bytes / n), "computed" }
        END {
            if (rc * ud * qps * qp == 0) {
                exit 1
            }
            n = split("64 1024 8192", peers, " ")
            for (i = 1; i <= n; i++) {
                line("rc", peers[i], peers[i] * rc)
            }
            for (i = 1; i <= n; i++) {
                line("ud", peers[i], peers[i] * ud + qps * qp)
            }
        }'
}

memory()
{
    echo "peers,variant,bytes,bytes_per_peer,how"
    reckon_memory || die "ucxri_info does not tell of memory"
    measure_memory
}

first_round=1
if [ $add = yes ] && [ -s "$raw" ]; then
    sed -i '/,share,/d' "$raw"
    first_round=$(($(tail -n +2 "$raw" | cut -d, -f1 | sort -n | tail -1) + 1))
else
    echo "round,variant,where,bench,size,value,unit,core_ns" >"$raw"
fi
last_round=$((first_round + rounds - 1))
step=0
all=
[[ $skip == *" perf "* ]] || all+=$variants
[[ $skip == *" loss "* ]] || all+=" $loss_variants"
read -ra names <<<"$all"
[ ${#names[@]} -gt 0 ] || [[ $skip != *" memory "* ]] || die "nothing left to measure"
steps=$((rounds * ${#names[@]}))
start_time=$SECONDS
for ((round = first_round; round <= last_round; round++)); do
    # Who goes first changes from round to round
    for ((i = 0; i < ${#names[@]}; i++)); do
        variant=${names[(i + round) % ${#names[@]}]}
        show_progress ud "$variant"
        step=$((step + 1))
        case " $loss_variants " in
        *" $variant "*)
            run_bench "$variant" bandwidth --window $loss_window --sizes "${loss_sizes// /,}"
            ;;
        *)
            for bench in latency bandwidth bidirectional; do
                run_bench "$variant" $bench --sizes "${sizes// /,}"
            done
            ;;
        esac
    done
done
end_progress

for size in 65536 1048576; do
    add_ratio bandwidth/rc $size bandwidth ud rc_stock rc
    add_ratio bandwidth/copy $size bandwidth ud copy
done
add_ratio bidirectional/rc 1048576 bidirectional ud rc_stock rc
add_ratio latency/rc 1048576 latency ud rc_stock rc
add_ratio loss/loss_free 1048576 bandwidth loss loss_free
add_ratio loss/whole 1048576 bandwidth loss whole

[[ $skip == *" memory "* ]] || memory >"$out/ud-memory.csv"
labels=("copy=datagrams, copied (stock UCX, ud_verbs)" "ud=datagrams, not copied (plane ud)"
        "rc_stock=connections (stock UCX, rc_verbs)" "rc=connections (plane rc)")
chart fig4-latency perf_latency "Latency, one way" "${labels[@]}"
chart fig5-bandwidth perf_bandwidth "Bandwidth, one direction, windows of 64" "${labels[@]}"
chart fig6-bidirectional perf_bidirectional "Bandwidth, sum of both directions" "${labels[@]}"
chart loss perf_bandwidth "Bandwidth, $loss of the datagrams lost, windows of $loss_window" \
    "loss_free=none lost" "loss=repaired in place" "whole=the whole message again"

expect=ud:ud
[ $quick = no ] || expect=
awk -v rounds="$rounds" -v summary="$summary" -v expect="$expect" \
    -f "$root/contrib/compare.awk" "$root/contrib/figures.tsv" "$raw"
missed=$?
[ $missed -eq 0 ] || [ $missed -eq 3 ] || die "the analysis failed"
echo
echo "samples, summary and charts: $out"
if [ $failures -gt 0 ]; then
    echo "$failures runs FAILED, see above" >&2
    exit 1
fi
[ $strict = no ] || [ $missed -eq 0 ] || exit 2
exit 0
