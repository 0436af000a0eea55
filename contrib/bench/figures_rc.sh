# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with figures.sh
#
# contrib/figures.sh --only rc: stock UCX's rc_verbs beside the library on the same device, by
# ucxri_perf and by MPI programs under each MPI that is installed.

link=ddr
export UCX_TLS=rc_verbs,ud_verbs:aux,self
# A batch has to be long enough for some messages, and short enough not to be interrupted
if [ $quick = yes ]; then
    rounds=${rounds:-1} timing=(-t 0.02 -b 4) turns=200
else
    rounds=${rounds:-3} timing=(-t 0.2 -b 100) turns=1000
fi
raw=$out/samples.csv
counters=$out/counters.csv
skips perf || suites+=(perf)
add_mpis "${mpis[@]}"

# Stock chooses eager messages in pieces for nearly all sizes here, by its own estimate of the
# network; stock_rndv has its rendezvous from 8 KB on.
variant_env()
{
    env_args=(LD_PRELOAD="$hca")
    case $1 in
    stock_rndv) env_args+=(UCX_RNDV_THRESH=8k) ;;
    net) env_args=("${hca_library[@]}") ;;
    esac
}

suite_variants()
{
    echo stock stock_rndv net
}

# After the rounds: what the samples do not say, and the charts
draw()
{
    local where name labels
    # ucxri_perf runs for a time, not for a number of messages
    if ! skips counters; then
        echo "mpi,size,variant,doorbells,work_requests,receive_doorbells,messages,packets,completions" \
            >"$counters"
        for mpi in "${suites[@]#perf}"; do
            [ -z "$mpi" ] || count_hca "$mpi" $turns "$(suite_variants "$mpi")" "$counters"
        done
        echo
        echo "The software HCA's counters, for each message of a ping-pong, both processes:"
        column -t -s, "$counters" 2>/dev/null || cat "$counters"
        echo
    fi
    labels=("stock=stock UCX" "stock_rndv=stock UCX, rendezvous from 8 KB on" "net=receiver-initiated")
    for where in perf mpich openmpi; do
        name=${titles[$where]}
        chart "fig7-$where" "Ping-pong, $name" "$where" '_latency$' "${labels[@]}"
        chart "fig9-$where" "Progress, the sender is early, $name" "$where" '^progress:0/' "${labels[@]}"
        chart "fig10-$where" "Progress, the receiver is early, $name" "$where" '^progress:2' "${labels[@]}"
        chart "bandwidth-$where" "Bandwidth, windows of 64 messages, $name" "$where" '_(bw|bandwidth)$' \
            "${labels[@]}"
    done
}
