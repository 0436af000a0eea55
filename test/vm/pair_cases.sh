# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What is run on two machines, alpha and beta, and how. Sourced in alpha behind cases.sh, and by
# run.sh for --list.

# pair_cases_of short|full: as cases_of, those of "full" once with each MPI
pair_cases_of()
{
    local mpi
    pair_cases | sed -n 's/^short  *//p'
    [ "$1" = full ] || return 0
    for mpi in mpich openmpi; do
        pair_cases | sed -n "s/^full  *\([^ ]*\)\(.*\) MPI/\1_$mpi\2 $mpi/p"
    done
}

pair_cases()
{
    cat <<'END'
short rc_mpich              120 pair "$BY_RC" mpich 2 two_hosts
short ud_openmpi            120 pair 'ud_received' openmpi 2 two_hosts $BY_UD
short cut_mpich             120 pair_cut beta 5 'qp_created' mpich 2 two_hosts --rounds 2
short without_mpich         120 pair_without beta mpich 2 two_hosts
full  rc_get              300 pair 'tx_rndv rx_read_bytes' MPI 2 two_hosts UCXRI_RTR=n UCXRI_HYBRID_THRESH=0
full  rc_hybrid           300 pair 'tx_hybrid rx_read_bytes' MPI 2 two_hosts UCXRI_RTR=n
full  rc_early            300 pair 'rtr_used tx_recv_rndv tx_written_bytes' MPI 2 two_hosts --rounds 12 UCXRI_RTR=y
full  rc_put              300 pair 'tx_put tx_written_bytes' MPI 2 two_hosts UCXRI_RTR=n UCXRI_SENDER_SCHEME=put UCXRI_HYBRID_THRESH=0
full  rc_channel          300 pair 'tx_eager_rdma' MPI 2 order --iters 3 "${BY_CHANNEL[@]}"
full  rc_ipv4             300 pair "$BY_RC" MPI 2 two_hosts UCXRI_IB_GID_INDEX=1
full  rc_four             400 pair 'qp_created rings_offered rx_read_bytes|tx_written_bytes' MPI 4 two_hosts
full  ud_get              300 pair 'tx_ud ud_received' MPI 2 two_hosts UCXRI_RTR=n $BY_UD
full  ud_early            300 pair 'rtr_used tx_recv_rndv ud_received' MPI 2 mix_modes --iters 80 UCXRI_RTR=y $BY_UD
full  ud_ipv4             300 pair 'ud_received' MPI 2 two_hosts $BY_UD UCXRI_IB_GID_INDEX=1
full  ud_four             400 pair 'ud_received rings_offered' MPI 4 two_hosts $BY_UD
full  tcp                 300 pair 'tx_bulk' MPI 2 two_hosts UCXRI_IB_DEVICES=
full  tcp_four            400 pair 'tx_bulk rings_offered' MPI 4 two_hosts UCXRI_IB_DEVICES=
full  rc_order            400 pair "$BY_RC" MPI 2 order --iters 3 UCXRI_RTR=y
full  rc_mix_modes        400 pair "$BY_RC" MPI 2 mix_modes --iters 20 UCXRI_RTR=y
full  rc_pt2pt_types      400 pair_one_way "$BY_RC" MPI 2 pt2pt_types --iters 20 UCXRI_RTR=y
full  rc_early_receives   400 pair "$BY_RC" MPI 2 early_receives --iters 4 UCXRI_RTR=y
full  rc_collectives      400 pair "$BY_RC" MPI 2 collectives --iters 2 UCXRI_RTR=y
full  ud_order            400 pair 'ud_received' MPI 2 order --iters 3 UCXRI_RTR=y $BY_UD
full  ud_mix_modes        400 pair 'ud_received' MPI 2 mix_modes --iters 10 UCXRI_RTR=y $BY_UD
full  ud_cancel_trunc     400 pair_one_way 'ud_received' MPI 2 cancel_trunc UCXRI_RTR=y $BY_UD
full  tcp_mix_modes       400 pair 'tx_bulk' MPI 2 mix_modes --iters 20 UCXRI_IB_DEVICES=
full  windows_tcp         600 pair_windows MPI 2 --rounds 4 UCXRI_IB_DEVICES=
full  windows_created     600 pair_windows MPI 2 --rounds 2 --kind 2 UCXRI_IB_DEVICES=
full  windows_four        900 pair_windows MPI 4 --rounds 2 UCXRI_IB_DEVICES=
full  windows_rc          900 pair_windows MPI 2 --rounds 2 UCX_TLS=rc_v,self "${ON_RXE[@]}"
full  loss_rc             400 pair_netem 'loss 1%' pair "$BY_RC" MPI 2 two_hosts
full  loss_ud             400 pair_netem 'delay 1ms reorder 90% loss 1% duplicate 1%' pair 'ud_received ud_resent' MPI 2 two_hosts $BY_UD
full  cut_rc              400 pair_cut alpha 5 'qp_created' MPI 2 two_hosts --rounds 2 UCXRI_RTR=y
full  cut_long            400 pair_cut beta 20 'qp_created' MPI 2 two_hosts --rounds 2
full  cut_put             400 pair_cut beta 5 'tx_put' MPI 2 two_hosts --rounds 2 UCXRI_RTR=n UCXRI_SENDER_SCHEME=put UCXRI_HYBRID_THRESH=0
full  cut_ud              400 pair_cut beta 5 'ud_received' MPI 2 two_hosts --rounds 2 $BY_UD
full  cut_tcp             400 pair_cut beta 5 'tx_bulk' MPI 2 two_hosts --rounds 2 UCXRI_IB_DEVICES=
full  clones_rc           300 pair_clones "$BY_RC" MPI 2 two_hosts
full  clones_tcp          300 pair_clones tx_bulk MPI 2 two_hosts UCXRI_IB_DEVICES=
full  clones_apart        300 pair_clones "$BY_RC" MPI 2 two_hosts PAIR_APART=50
full  clones_no_cma       300 pair_clones "$BY_RC" MPI 2 two_hosts PAIR_APART=50 UCXRI_CMA=n
full  without_alpha       300 pair_without alpha MPI 2 two_hosts
full  without_beta        300 pair_without beta MPI 2 two_hosts
full  killed_rc           600 pair_killed MPI
full  killed_ud           600 pair_killed MPI $BY_UD
full  killed_tcp          600 pair_killed MPI UCXRI_IB_DEVICES=
END
}

# Counters of messages by rc
BY_RC='qp_created rx_read_bytes|tx_written_bytes'

# ask COMMAND...: run.sh does to the machines or to the link between them (pair.sh)
ask()
{
    local answer
    echo "@ask $*" >/dev/ttyS1
    read -r -t 300 -u 4 answer && [ "$answer" = "done $*" ]
}

# on_beta COMMAND: and its exit status
on_beta()
{
    /vm/agent.sh beta "$1"
}

# pair_clean: ends what a case has left in both machines, and removes its files; beta is there
# afterwards
pair_clean()
{
    local command='bash /vm/pair_clean.sh'
    $command
    timeout 30 /vm/agent.sh beta "$command" >/dev/null 2>&1 && return
    ask kill beta
    ask boot beta
    pair_wait
}

# pair_fetch: puts the counters and reports of beta next to those of alpha
pair_fetch()
{
    local line file=/dev/null
    while IFS= read -r line; do
        case $line in
        "@file "*) file=/tmp/${line#@file } ;;
        *) printf '%s\n' "$line" >>"$file" ;;
        esac
    done < <(on_beta 'cd /tmp; for f in stats.* report.*; do [ ! -e $f ] || { echo "@file $f"; cat $f; }; done')
}

# pair_mpi MPI RANKS PROGRAM OPTIONS... NAME=VALUE...: half of the ranks on either machine. STOCK=y:
# without the library
pair_mpi()
{
    local mpi=$1 ranks=$2 program=/vm/test/bin/$1/$3 word library=$LIBRARY tls=tcp,self try status
    local -a words=() launch=() options=() setup=()
    # Within a host as well, where there are two
    [ "$ranks" -eq 2 ] || tls=tcp,posix,sysv,self
    setup=("UCX_TLS=$tls" UCX_NET_DEVICES=eth0 UCXRI_IB_DEVICES=rxe0 UCXRI_STATS=y
        UCXRI_STATS_DEST=/tmp/stats.%h.%p UCXRI_REPORT=y UCXRI_REPORT_DEST=/tmp/report.%h.%p)
    need "$program" "$mpi"
    for word in "${@:4}"; do
        case $word in
        STOCK=y) library= ;;
        [A-Z]*=*) setup+=("$word") ;;
        *) options+=("$word") ;;
        esac
    done
    setup+=("PAIR_LIBRARY=$library")
    if [ "$mpi" = mpich ]; then
        need mpiexec.hydra mpich
        for word in "${setup[@]}"; do
            words+=(-genv "${word%%=*}" "${word#*=}")
        done
        launch=(mpiexec.hydra -launcher rsh -launcher-exec /vm/agent.sh -hosts alpha,beta
            -ppn $((ranks / 2)))
    else
        need mpirun.openmpi openmpi-bin
        for word in "${setup[@]}"; do
            words+=(-x "$word")
        done
        launch=(mpirun.openmpi --allow-run-as-root --host "alpha:$((ranks / 2)),beta:$((ranks / 2))"
            --bind-to none --mca plm_rsh_agent /vm/agent.sh --mca oob_tcp_if_include eth0
            --mca mpi_yield_when_idle 1 --mca pml ucx --mca btl self --mca osc ucx
            --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any)
    fi
    launch+=(-n "$ranks" "${words[@]}" /vm/rank.sh "$program" --hang 1000 "${options[@]}")
    # MPICH's MPI_Finalize may wait for ever on two hosts without the library: docs/facts.md
    for ((try = 1; try <= 3; ++try)); do
        "${launch[@]}" 2>&1 | tee /tmp/said
        status=${PIPESTATUS[0]}
        if [ "$mpi$library" != mpich ] || ! grep -q '^PASS ' /tmp/said || ! grep -q '^HANG .* at: MPI_Finalize' /tmp/said; then
            break
        fi
        rm -f /tmp/stats.* /tmp/report.*
        on_beta 'rm -f /tmp/stats.* /tmp/report.*'
    done
    return "$status"
}

# pair_counted COUNTERS WHERE FILES...: each of these words, a counter or several with | between,
# has counted in some of these statistics, which are of WHERE. If it is one file, its process has
# offered no ring.
pair_counted()
{
    awk -v counters="$1" -v where="$2" -v unwanted="${UNWANTED-rings_offered}" '
        BEGIN { words = split(counters, word) }
        FNR == 1 { ++files }
        {
            for (i = 1; i <= words; ++i) {
                sum[i] += ($1 ~ "^(" word[i] ")$") ? $2 : 0
            }
            rings += ($1 == unwanted) ? $2 : 0
        }
        END {
            for (i = 1; i <= words; ++i) {
                print "by " where ": " sum[i] + 0 " " word[i]
                missing += !sum[i]
            }
            if (files == 1 && rings) {
                print "by " where ": " rings " rings to the other host"
                missing = 1
            }
            exit !files || missing
        }' "${@:3}" </dev/null
}

# pair_used COUNTERS: they have counted in some process of either host. Where there is one on each,
# none has offered a ring, but for clones, which cannot know better; no such ring is in use.
pair_used()
{
    local host
    pair_fetch
    for host in alpha beta; do
        pair_counted "$1" $host /tmp/stats.$host.* || return
        grep -H . /tmp/report.$host.* || return
    done
}

# pair COUNTERS ARGUMENTS of pair_mpi
pair()
{
    pair_mpi "${@:2}" && pair_used "$1"
}

# pair_one_way COUNTERS ARGUMENTS of pair_mpi: of a program whose long messages may all go one way,
# so that only one host counts them
pair_one_way()
{
    pair_mpi "${@:2}" && pair_used '' &&
        pair_counted "$1" 'both hosts' /tmp/stats.alpha.* /tmp/stats.beta.*
}

# pair_begin LINE ARGUMENTS of pair_mpi: in the background, until it says a line that begins so
pair_begin()
{
    local tries=0
    pair_mpi "${@:2}" MT_UNTIL=/tmp/mended >/tmp/job 2>&1 &
    job=$!
    until grep -q "^$1" /tmp/job; do
        kill -0 $job 2>/dev/null || break
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || break
        sleep 0.1
    done
    grep -q "^$1" /tmp/job && return
    cat /tmp/job
    return 1
}

# pair_cut HOST SECONDS COUNTERS ARGUMENTS of pair_mpi: that host's end of the link is taken out for
# a while in the middle
pair_cut()
{
    local job status
    pair_begin 'round 3' "${@:4}" || return
    ask cut "$1" "$2" || return
    touch /tmp/mended
    wait $job
    status=$?
    cat /tmp/job
    [ $status -eq 0 ] && pair_used "$3"
}

# pair_netem FAULTS COMMAND...: on what either machine sends
pair_netem()
{
    local status change
    change="$(command -v tc) qdisc replace dev eth0 root netem limit 100000 $1"
    $change && on_beta "$change" || return
    "${@:2}"
    status=$?
    change="$(command -v tc) qdisc del dev eth0 root"
    $change
    on_beta "$change"
    return $status
}

# pair_clones COUNTERS ARGUMENTS of pair_mpi: with hosts that seem to be one and the same kernel,
# as machines do that were made of one memory image
pair_clones()
{
    local command='echo 01234567-89ab-cdef-0123-456789abcdef >/run/boot_id &&
        mount --bind /run/boot_id /proc/sys/kernel/random/boot_id' status
    bash -c "$command" && on_beta "${command//$'\n'/ }" || return
    UNWANTED=rx_ring pair "$@"
    status=$?
    umount /proc/sys/kernel/random/boot_id
    on_beta "umount /proc/sys/kernel/random/boot_id"
    return $status
}

# pair_without HOST ARGUMENTS of pair_mpi: that host has no library
pair_without()
{
    local status
    pair_mpi "${@:2}" PAIR_WITHOUT="$1" >/tmp/job 2>&1
    status=$?
    cat /tmp/job
    [ $status -ne 0 ] && ! grep -q '^round 1' /tmp/job &&
        grep -qE 'a peer runs without ucxri.*UCX_RNDV_SCHEME=recv_init.*LD_PRELOAD=libucxri.so|no active messages transport' /tmp/job
}

# pair_windows MPI RANKS OPTIONS... NAME=VALUE...: windows, whose ranks are on two machines, are those
# of the library
pair_windows()
{
    pair_mpi "$1" "$2" windows --target 1 "${@:3}" "PAIR_WINDOWS=$1" UCXRI_WIN_HOSTS=y \
        UCXRI_LOG_LEVEL=info && grep -q "window of $2 ranks.* by this library" /tmp/said
}

# pair_lose MPI NAME=VALUE...: beta loses its power, and comes back without the job. What becomes of
# messages to it and from it is in /tmp/lost. TCP, by which UCX learns of it, tries for a quarter of
# an hour by default, here for some 13 s.
pair_lose()
{
    local job limit=300 retries=/proc/sys/net/ipv4/tcp_retries2 kept
    rm -f /tmp/mended
    pair_begin ready "$1" 2 lost_host "${@:2}" || return
    kept=$(<$retries)
    echo 5 >$retries
    ask kill beta || return
    touch /tmp/mended
    while pidof lost_host >/dev/null && [ $limit -gt 0 ]; do
        limit=$((limit - 1))
        sleep 1
    done
    echo "$kept" >$retries
    # The launchers wait for beta
    kill $job 2>/dev/null
    cat /tmp/job
    grep -E '^(first|later) (send|receive)' /tmp/job >/tmp/lost
    ask boot beta && pair_wait && grep -q '^lost_host has ended' /tmp/job
}

# pair_killed MPI NAME=VALUE...: beta loses its power. What ends without the library must end with
# it, and all that is sent later than UCX has noticed must end with an error.
pair_killed()
{
    local stock=/run/lost.$1
    if [ ! -e "$stock" ]; then
        echo "without the library:"
        pair_lose "$1" STOCK=y || return
        mv /tmp/lost "$stock"
    fi
    echo "with it:"
    pair_lose "$@" || return
    awk -F ': ' '
        NR == FNR { stock[$1] = $2; next }
        { ++lines }
        $1 ~ /^later send/ { errors += ($2 == "error") }
        $2 == "waits" && stock[$1] != "waits" { print "it waits, stock does not: " $1; bad = 1 }
        END { exit bad || lines != 10 || errors != 4 }' "$stock" /tmp/lost
}

# pair_wait: until beta answers
pair_wait()
{
    local tries=0
    until timeout 5 /vm/agent.sh beta true >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return 1
        sleep 0.2
    done
}
