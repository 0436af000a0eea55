# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154  # variables are shared with the scripts that source this
#
# How ucx_perftest is run. It gives a mean, which a single pre-emption spoils, or a percentile, and
# a median would hide what a library does every few messages only. So the sample of a short message
# is the mean of ten percentiles, each from a run of its own: the mean over all messages without the
# outliers. A long message has nothing to hide, and the median is the best defence. All runs of a
# sample are one batch of ucx_perftest: perftest.awk.

. "$root/test/check/perftest.sh"

server_pid=
trap '[ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

# wait_listening PORT SERVER: true once something listens there; gives up when the server is gone
wait_listening()
{
    local pattern
    pattern=":$(printf '%04X' "$1") 00000000:0000 0A"
    for _ in {1..1000}; do
        grep -qi "$pattern" /proc/net/tcp && return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.01
    done
    return 1
}

# run_pair BATCH LOG: a server and a client, of which the client says what it measures
run_pair()
{
    local batch=$1 log=$2 port rc=1
    port=$(free_port)
    timeout 110 taskset -c "$cpu0" env "${env_args[@]}" "${ucx_perftest[@]}" \
        -p "$port" -b "$batch" >"$log.server" 2>&1 </dev/null &
    server_pid=$!
    if wait_listening "$port" "$server_pid"; then
        timeout --foreground 100 taskset -c "$cpu1" env "${env_args[@]}" \
            "${ucx_perftest[@]}" 127.0.0.1 -p "$port" -b "$batch" -f -v >"$log" 2>&1 </dev/null
        rc=$?
    else
        echo "the ucx_perftest server did not start" >"$log"
    fi
    [ $rc -eq 0 ] || kill "$server_pid" 2>/dev/null
    wait "$server_pid" || rc=1
    server_pid=
    [ $rc -eq 0 ] || cat "$log.server" >>"$log"
    rm -f "$log.server"
    return $rc
}

# measure_perftest TEST SIZE: prints one sample, or what ucx_perftest said if it failed. What was
# measured while the virtual machine moved its cores is measured again.
measure_perftest()
{
    local log=$out/logs/perftest before result args
    args=(-v test="$1" -v size="$2" -f "$bench/stats.awk" -f "$bench/perftest.awk")
    awk -v seconds="$seconds" "${args[@]}" </dev/null >"$log.batch"
    for _ in 1 2 3; do
        before=$(core_ping)
        # The exit code does not tell of a run of the batch that failed
        if ! run_pair "$log.batch" "$log" || [ "$(grep -c '^run,' "$log")" -ne "$(wc -l <"$log.batch")" ]; then
            cat "$log"
            return 1
        fi
        result=$(awk -v before="$before" -v after="$(core_ping)" "${args[@]}" "$log") && break
    done
    echo "$result"
    rm -f "$log" "$log.batch"
}

# run_perftest VARIANT: all of points
run_perftest()
{
    local point size
    for point in "${points[@]}"; do
        for size in $(tr , ' ' <<<"${point#*=}"); do
            run_logged perftest "$1" "${point%=*}.$size" measure_perftest "${point%=*}" "$size" || return
        done
    done
}
