# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with figures.sh
#
# contrib/figures.sh --only ud: messages by datagrams that are copied (stock UCX's ud_verbs), by
# datagrams without a copy (the plane ud), and by connections (stock's rc_verbs and the plane rc).
# And what losses cost, beside sending the whole message again.

loss=1%
link=ddr2k
if [ $quick = yes ]; then
    rounds=${rounds:-1} timing=(-t 0.02 -b 4) loss_window=2 memory_peers=4
else
    rounds=${rounds:-3} timing=(-t 0.3 -b 50) loss_window=8 memory_peers=64
fi
raw=$out/ud-samples.csv
summary=$out/ud-summary.csv
skips perf && skips loss && skips memory || suites=(ud)

# All messages of the plane ud go by datagrams, UCP's own as well. loss_free is ud with the window
# of those with losses.
variant_env()
{
    local tls=ud_verbs,self
    [[ $1 != rc* ]] || tls=rc_verbs,ud_verbs:aux,self
    env_args=(UCX_TLS=$tls LD_PRELOAD="$hca")
    case $1 in
    copy) return ;;
    rc_stock) env_args+=(UCX_RNDV_THRESH=8k); return ;;
    rc) env_args+=(UCXRI_IB_TRANSPORT=rc) ;;
    *) env_args+=(UCXRI_IB_TRANSPORT=ud) ;;
    esac
    env_args+=("${hca_library[@]}")
    [[ ! $1 =~ ^(loss|whole)$ ]] || env_args+=(SOFTHCA_FAULTS="ud_drop=$loss" SOFTHCA_SEED="$round")
    [ "$1" != whole ] || env_args+=(UCXRI_UD_REPAIR=n)
}

suite_variants()
{
    skips perf || echo -n "copy ud rc_stock rc "
    skips loss || echo -n "loss_free loss whole"
}

# memory: prints a CSV file of what peers take: as ucxri_info reckons it from structures and queues,
# and what malloc() gives a process for each of its peers while it has a number of them
memory()
{
    local variant log rc ud qps qp peers bytes
    echo "peers,variant,bytes,bytes_per_peer,how"
    # Lines may be wrapped
    read -r rc ud qps qp < <(
        env UCXRI_IB_DEVICES=softhca0 UCXRI_IB_TRANSPORT=auto LD_PRELOAD="$hca" "$tree/src/ucxri_info" \
            2>/dev/null | paste -sd' ' |
            sed -n -E 's/.*peers by rc [^,]*, about ([0-9]+) .*peers by ud *([0-9]+) bytes (.*)/\1 \2 \3/; T
                       s/ each,.* ([0-9]+) +queue pairs of about ([0-9]+) .*/ \1 \2/p'
    ) || die "ucxri_info does not tell of memory"
    # More processes than fit here as well
    for peers in 64 1024 8192; do
        bytes=$((peers * ud + qps * qp))
        echo "$peers,rc,$((peers * rc)),$rc,computed"
        echo "$peers,ud,$bytes,$((bytes / peers)),computed"
    done
    for variant in copy ud rc_stock rc; do
        log=$out/logs/ud.$variant.memory.log
        variant_env "$variant"
        if ! timeout --foreground 280 env "${env_args[@]}" "$bin/bench/peer_memory" -n $memory_peers \
                >"$log" 2>&1 </dev/null; then
            note_failure ud "$variant" peer_memory "$log"
            continue
        fi
        awk -v OFS=, -v variant="$variant" \
            '$2 == "peer_memory_heap" { print $3, variant, int($3 * $4), int($4), "measured" }' "$log"
        rm -f "$log"
    done
}

# After the rounds: what the samples do not say, and the charts
draw()
{
    local labels
    skips memory || memory >"$out/ud-memory.csv"

    labels=("copy=datagrams, copied (stock UCX, ud_verbs)" "ud=datagrams, not copied (plane ud)"
            "rc_stock=connections (stock UCX, rc_verbs)" "rc=connections (plane rc)")
    chart ud-fig4-latency "Latency, one way" ud perf_latency "${labels[@]}"
    chart ud-fig5-bandwidth "Bandwidth, one direction, windows of 64" ud perf_bandwidth "${labels[@]}"
    chart ud-fig6-bidirectional "Bandwidth, sum of both directions" ud perf_bidirectional "${labels[@]}"
    chart ud-loss "Bandwidth, $loss of the datagrams lost, windows of $loss_window" ud perf_bandwidth \
        "loss_free=none lost" "loss=repaired in place" "whole=the whole message again"
}
