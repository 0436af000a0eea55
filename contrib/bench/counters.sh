# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154  # variables are shared with the scripts that source this
#
# Counts what messages cost, with mpi_perf: what is done once, at the start, is in two runs of
# different lengths, so their difference is that of the messages alone.

# Two sums of the library's reports: messages of control, and messages that an RTR was used for.
# Control messages proper are RTR, FIN and CTS. Beside them each large message has one in sequence
# that carries no payload: the request to send, or the word that it was written. Below a worker are
# its connections and streams, whose counters are in its own.
control_counters='
    /^ucxri: worker/ || /^  (to|from) .*:/ { own = /^ucxri: worker/ }
    own && $1 ~ /^tx_(control|recv_rndv|coop|rndv|put)$/ { control += $2 }
    own && $1 == "rtr_used" { used += $2 }
    END { print control + 0, used + 0 }'

# Sums of the software HCA: doorbells, work requests to send, receive doorbells, messages, packets,
# completions
hca_counters='
    $1 == "softhca" { sum[$3] += $4 }
    $1 == "softhca" && $3 ~ /^wr_/ && $3 != "wr_recv" { sends += $4 }
    END {
        print sum["post_send"] + 0, sends + 0, sum["post_recv"] + sum["post_srq_recv"],
              sum["messages"] + 0, sum["packets"] + 0, sum["completions"] + 0
    }'

# count_between MPI VARIANT POINT FEW MANY COUNTERS VARIABLE=VALUE...: sets counted, what MANY messages
# count beyond what FEW do, of both ranks. The variables have these write their counters into files
# whose names begin with logs/counts in out, from which the program COUNTERS of awk makes the sums.
# If a run fails, prints what it said.
count_between()
{
    local mpi=$1 variant=$2 point=$3 few=$4 many=$5 counters=$6 turns numbers said i
    variant_env "$variant"
    env_args+=("${@:7}")
    counted=()
    for turns in "$few" "$many"; do
        rm -f "$out"/logs/counts*
        if ! said=$(launch "$mpi" mpi_perf -n "$turns" "$point" 2>&1) ||
           ! read -ra numbers < <(awk "$counters" "$out"/logs/counts*); then
            echo "$said"
            return 1
        fi
        for i in "${!numbers[@]}"; do
            counted[i]=$((numbers[i] - ${counted[i]:-0}))
        done
    done
    rm -f "$out"/logs/counts*
}

# count_control MPI VARIANT: prints the control messages of a large message whose receive is posted,
# as a RESULT line. With an RTR for each receive, nearly all messages must use one.
count_control()
{
    count_between "$1" "$2" "${points[0]}" 100 600 "$control_counters" \
        UCXRI_STATS=y UCXRI_STATS_DEST="$out/logs/counts.%p" || return
    if [ "$2" = rtr ] && [ "${counted[1]}" -lt 495 ]; then
        echo "${counted[1]} of 500 messages used an RTR"
        return 1
    fi
    awk -v size="${points[0]#*=}" -v n="${counted[0]}" \
        'BEGIN { print "RESULT control", size, n / 500, "msgs", 0 }'
}

# count_hca MPI TURNS VARIANTS FILE: adds what the software HCA counts for each message of a
# ping-pong to a CSV file. A turn has two messages. How many receives are posted at first differs
# from run to run, by more than some messages need.
count_hca()
{
    local mpi=$1 turns=$2 variants=$3 file=$4 variant size log
    sized_points hca "${variants%% *}"
    for size in $(tr , ' ' <<<"${points[0]#*=}"); do
        for variant in $variants; do
            log=$out/logs/$mpi.$variant.counters.$size.log
            if ! count_between "$mpi" "$variant" "${points[0]%=*}=$size" 50 $((50 + turns)) \
                    "$hca_counters" SOFTHCA_COUNTERS="$out/logs/counts" >"$log"; then
                note_failure "$mpi" "$variant" "counters of $size bytes" "$log"
                continue
            fi
            awk -v head="$mpi,$size,$variant" -v messages=$((2 * turns)) '{
                printf "%s", head
                for (i = 1; i <= NF; i++) {
                    printf ",%.2f", ($i > 0) ? $i / messages : 0
                }
                print ""
            }' <<<"${counted[*]}" >>"$file"
            rm -f "$log"
        done
    done
}
