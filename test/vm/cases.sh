# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What is run over the kernel's rxe, and how. Sourced in the guest, and by run.sh for --list.

# cases_of short|full: a line for each: its name, its limit in seconds, the command. The
# processors are emulated: everything takes ten to thirty times as long.
cases_of()
{
    sed -n "s/^short  *//p$([ "$1" = short ] || echo '; s/^full  *//p')" <<'END'
short devinfo            300 devinfo
short rc_pingpong        300 pingpong ibv_rc_pingpong -n 100
short rc_pingpong_event  300 pingpong ibv_rc_pingpong -n 50 -e -s 100000 -m 1024 -c
short ud_pingpong        300 pingpong ibv_ud_pingpong -n 100
short srq_pingpong       300 pingpong ibv_srq_pingpong -n 50
short plane_rc           300 unit 'test_rc_process.lists:test_rc_process.many*:test_rc_process.hostile_key:test_rc_process.outside*:test_rc_process.remote_is_killed'
short plane_ud           300 unit 'test_ud_plane.*:test_ud_killed.receiver:test_ud_killed.sender'
short ud_pair_ipv6       300 netem 'loss 2%' ud_pair 'test_ud_pair.messages' RI_TEST_GID_INDEX=0
short ud_pair_faults     300 netem 'delay 1ms reorder 90% loss 1% duplicate 1% corrupt 1%' ud_pair 'test_ud_pair.messages:test_ud_pair.large'
short softhca            300 softhca '*:-*_thread.*:*.large:*.many_*:*all_lengths*:*process.atomics'
short connect            300 counted qp_created ucp 'ucp/test_worker.*/shm:*two_process.both_ways/shm'
short rc_protocols       300 ucp_rc 'ucp/test_tag_large.sizes/shm:ucp/test_tag_large.truncated/shm:ucp/test_tag_sync.with*/shm'
short ud_protocols       300 ucp_ud 'ucp/test_tag_large.sizes/shm:ucp/test_tag_large.truncated/shm:ucp/test_tag_sync.with*/shm'
short channel            300 ucp_channel 'ucp/test_tag_sync.*/shm:*two_process.stream_in/shm'
short hybrid             300 ucp_hybrid 'ucp/test_tag_hybrid.*/shm:-*many*:*ping_pong*:*order*:*close_after*'
short early              300 ucp_rtr 'ucp/test_tag_early.is_written*/shm:*early.any_size*/shm:*early.wildcard*/shm:*early.cancel_not_used/shm:*early.probe*/shm:*early.same*/shm'
short early_ud           300 ucp_rtr_ud 'ucp/test_tag_early.is_written*/shm:ucp/test_tag_early.crossing/shm'
short put                300 ucp_put 'ucp/test_tag_large.truncated/shm:ucp/test_tag_large.lists/shm:ucp/test_tag_large.cancel/shm'
short link_cut           300 netem 'delay 50us' ucp_cut
short peer_killed        300 counted planes_failed ucp 'rdma/*/rdma_read_rdma_end:rdma/*/ud_in_rdma_end'
short mem_events         300 unit 'test_mem_events.*'
short mpich              300 mpi_rc mpich order --iters 2
short openmpi            300 mpi_rc openmpi order --iters 2
short mpich_ud           300 netem 'loss 1%' mpi_ud mpich order --iters 2 PAIR=y
short openmpi_ud         300 mpi_ud openmpi order --iters 2 UCXRI_IB_GID_INDEX=1
short mpich_channel      300 mpi_channel mpich order --iters 2
short openmpi_channel    300 netem 'delay 50us' mpi_channel openmpi order --iters 2 PAIR=y
short ucx_rc             300 perftest tag_bw -s 100000 -n 10 -w 1 UCX_TLS=rc_v,self
short ucx_ud             300 perftest tag_lat -s 8 -n 50 -w 5 UCX_TLS=ud_v,self
full  hybrid_all         600 ucp_hybrid 'ucp/test_tag_hybrid.*/shm'
full  early_all          900 ucp_rtr 'ucp/test_tag_early.*/shm:-*random*:*ten_thousand*:*many_messages*'
full  early_ud_all       900 ucp_rtr_ud 'ucp/test_tag_early.*/shm:-*random*:*ten_thousand*:*many_messages*'
full  put_all            600 ucp_put 'ucp/test_tag_large.*/shm'
full  link_cut_put       300 netem 'delay 50us' ucp_cut UCXRI_SENDER_SCHEME=put
full  peers_killed      1200 counted planes_failed ucp 'rdma/*_rdma_end'
full  errors             300 ucp 'ucp/test_peer_death.*:ucp/test_tag_cancel.*/shm'
full  link_cut_ud        300 netem 'delay 50us' ucp_cut $BY_UD
full  mem_events_all     300 unit 'test_mem_events.*:test_reg_cache*-*_load.*:*_full.*'
full  plane_rc_all       600 unit 'test_rc_process.*'
full  plane_ud_pool      600 unit 'test_ud_process.small_pool'
full  rc_protocols_all   600 ucp_rc 'ucp/test_tag_large.*/shm:ucp/test_tag_sync.*/shm'
full  softhca_all       1200 softhca '*'
full  rc_pingpong_ipv4    60 pingpong ibv_rc_pingpong -n 100 -g 1
full  reg_cache_load    1800 unit 'test_reg_cache_load.*'
full  plane_ud_ipv6      600 unit 'test_ud_plane.*:test_ud_killed.receiver:test_ud_killed.sender:test_ud_process.small_pool' RI_TEST_GID_INDEX=0
full  plane_ud_large     900 unit 'test_ud_process.large'
full  ud_pair_all        600 netem 'delay 50us' ud_pair 'test_ud_pair.*'
full  ud_pair_loss       600 netem 'loss 5%' ud_pair 'test_ud_pair.*'
full  ud_pair_loss_much  600 netem 'loss 20%' ud_pair 'test_ud_pair.messages'
full  ud_pair_reorder    600 netem 'delay 2ms reorder 75% 25%' ud_pair 'test_ud_pair.*'
full  ud_pair_duplicate  600 netem 'duplicate 10%' ud_pair 'test_ud_pair.*'
full  ud_pair_corrupt    600 netem 'corrupt 5%' ud_pair 'test_ud_pair.*'
full  ud_pair_all_ipv6   600 netem 'delay 2ms 1ms reorder 50% loss 3% duplicate 3% corrupt 3%' ud_pair 'test_ud_pair.*' RI_TEST_GID_INDEX=0
full  ucp_shm           3600 ucp_rc 'ucp/*/shm:-*killed*:*ten_thousand*' UCP_TEST_SEED=1
full  ucp_tcp           3600 ucp_rc 'ucp/*/tcp:-*killed*:*ten_thousand*' UCP_TEST_SEED=1
full  ucp_ud            3600 ucp_ud 'ucp/*/shm:-*killed*:*ten_thousand*' UCP_TEST_SEED=1
full  ucp_ud_pair       1800 netem 'loss 2% duplicate 1%' ucp_ud 'ucp/test_two_process.*:ucp/test_ep_close.*/shm' TEST_PEER_IB_DEVICES=rxe1
full  ucp_channel       1800 ucp_channel 'ucp/test_tag_*/shm:ucp/test_two_process.*/shm:ucp/test_ep_close.*/shm:ucp/test_mixed_traffic.*/shm:ucp/test_threads.*/shm:-*ten_thousand*' UCXRI_IB_EAGER_SIZE=4k UCP_TEST_SEED=1
full  ucp_channel_pair  1800 netem 'delay 50us' ucp_channel 'ucp/test_two_process.*:ucp/test_ep_close.*/shm' TEST_PEER_IB_DEVICES=rxe1
full  mpich_rc_loss      600 netem 'loss 1%' mpi_rc mpich order --iters 2 PAIR=y
full  mpich_rc_ipv4      600 mpi_rc mpich order --iters 2 PAIR=y UCXRI_IB_GID_INDEX=1
full  mpich_mix          600 mpi_rc mpich mix_modes --iters 20
full  mpich_types        600 mpi_rc mpich pt2pt_types --iters 40
full  mpich_early        600 mpi_rc mpich early_receives --iters 4
full  mpich_cancel       600 mpi_rc mpich cancel_trunc
full  mpich_collectives  600 mpi_rc mpich collectives --iters 2
full  mpich_rma          600 mpi_rc mpich rma
full  mpich_events       600 mpi mpich mem_events
full  mpich_ud_faults    600 netem 'delay 1ms reorder 90% loss 2% duplicate 1% corrupt 1%' mpi_ud mpich mix_modes --iters 10 PAIR=y
full  mpich_ud_types     600 mpi_ud mpich pt2pt_types --iters 20 PAIR=y UCXRI_IB_GID_INDEX=1
full  mpich_ud_early     600 mpi_ud mpich early_receives --iters 4 PAIR=y
full  mpich_ud_collect   600 mpi_ud mpich collectives --iters 2 PAIR=y
full  mpich_ud_cancel    600 mpi_ud mpich cancel_trunc PAIR=y
full  mpich_channel_mix  600 mpi_channel mpich mix_modes --iters 20 PAIR=y
full  mpich_channel_coll 600 mpi_channel mpich collectives --iters 2 PAIR=y
full  openmpi_mix        600 mpi_rc openmpi mix_modes --iters 20
full  openmpi_types      600 mpi_rc openmpi pt2pt_types --iters 40
full  openmpi_early      600 mpi_rc openmpi early_receives --iters 4
full  openmpi_cancel     600 mpi_rc openmpi cancel_trunc
full  openmpi_events     600 mpi openmpi mem_events
full  openmpi_ud_faults  600 netem 'delay 1ms reorder 90% loss 2% duplicate 1% corrupt 1%' mpi_ud openmpi mix_modes --iters 10 PAIR=y
full  openmpi_ud_types   600 mpi_ud openmpi pt2pt_types --iters 20 PAIR=y UCXRI_IB_GID_INDEX=1
full  openmpi_ud_early   600 mpi_ud openmpi early_receives --iters 4 PAIR=y
full  openmpi_ud_cancel  600 mpi_ud openmpi cancel_trunc PAIR=y
full  openmpi_chan_mix   600 mpi_channel openmpi mix_modes --iters 20 PAIR=y
full  ucx_rc_get         120 perftest ucp_get -s 100000 -n 10 -w 1 UCX_TLS=rc_v,self
full  ucx_ud_bw          120 perftest tag_bw -s 20000 -n 10 -w 1 UCX_TLS=ud_v,self
full  library_rc_v       240 perftest tag_bw -s 100000 -n 10 -w 1 UCX_TLS=rc_v,self LIBRARY=y
END
}

LIBRARY=/vm/src/libucxri.so
# This library on the RDMA device only, as between two hosts
ON_DEVICE=(UCX_RNDV_SCHEME=recv_init UCXRI_IB_DEVICES=rxe0 UCXRI_IB_GID_INDEX=0 UCXRI_CMA=n
    UCXRI_RING_PEERS=0 UCXRI_STATS=y UCXRI_STATS_DEST=/tmp/stats.%p)
# and how it is told to send all long messages by datagrams, and short ones by RDMA soon
BY_UD=UCXRI_IB_TRANSPORT=ud
BY_CHANNEL=(UCXRI_IB_EAGER_PEERS=8 UCXRI_IB_EAGER_AFTER=4 UCXRI_IB_EAGER_MAX=4k)
# UCX's own rc_verbs and ud_verbs. The other GID is an IPv4 one, with which its UD fails.
ON_RXE=(UCX_NET_DEVICES=rxe0:1 UCX_IB_GID_INDEX=0)

skip()
{
    echo "$*"
    exit 77
}

need()
{
    command -v "$1" >/dev/null || [ -e "$1" ] || skip "$1 is not there (Debian package $2)"
}

# listening PORT: waits for somebody who does
listening()
{
    local hex tries=0
    hex=$(printf ':%04X .* 0A ' "$1")
    until cat /proc/net/tcp /proc/net/tcp6 | grep -q "$hex"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || return 1
        sleep 0.1
    done
}

devinfo()
{
    need ibv_devinfo ibverbs-utils
    ibv_devinfo -d rxe0 -v && ibv_devinfo -d rxe0 | grep -q PORT_ACTIVE
}

# pingpong PROGRAM OPTIONS...
pingpong()
{
    local program=$1 server
    shift
    need "$program" ibverbs-utils
    "$program" -d rxe0 -g 0 -p 18515 "$@" &
    server=$!
    listening 18515 && "$program" -d rxe0 -g 0 -p 18515 "$@" 127.0.0.1 && wait $server && return
    end_server $server
}

# end_server PID: one whose client has failed is not to meet the next case's
end_server()
{
    kill "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    return 1
}

# netem FAULTS COMMAND...: with a network between rxe0 and rxe1 that does this to either way,
# and that the command must have used, and suffered from. guest.sh removes it.
netem()
{
    local dev packets lost
    rm -f /tmp/stats.* /tmp/gtest.log
    for dev in v0 v1; do
        # shellcheck disable=SC2086  # words
        tc qdisc replace dev $dev root netem limit 100000 $1 || return
    done
    "${@:2}" || return
    read -r packets lost < <({ tc -s qdisc show dev v0; tc -s qdisc show dev v1; } |
        awk '$1 == "Sent" { packets += $4; lost += $7 } END { print packets + 0, lost + 0 }')
    echo "by the network: $packets packets, $lost lost"
    [ "$packets" -ge 100 ] || return
    # Of so few 1 % may be none
    [ "$packets" -gt 2000 ] || return 0
    [[ $1 != *loss* ]] || [ "$lost" -gt 0 ] || return
    # Of these the network does not say how many there were
    [[ $1 != *duplicate* ]] || some ud_duplicates || return
    [[ $1 != *reorder* ]] || some ud_moved
}

# some COUNTER: the processes of a test of gtest_unit, by what it prints, or those whose counters
# are in files have counted it
some()
{
    cat /tmp/stats.* /tmp/gtest.log 2>/dev/null | awk -v counter="$1" '
        $1 == counter { sum += $2 }
        $1 == "side" {
            for (i = 3; i <= NF; ++i) {
                split($i, pair, "=")
                sum += pair[1] == counter ? pair[2] : 0
            }
        }
        END {
            print "by the processes: " sum + 0 " " counter
            exit !sum
        }'
}

# gtest PROGRAM FILTER NAME=VALUE...
gtest()
{
    local log=/tmp/gtest.log
    need "/vm/test/gtest/$1" libgtest-dev
    env "${@:3}" "/vm/test/gtest/$1" --gtest_color=no --gtest_filter="$2" 2>&1 | tee $log
    [ "${PIPESTATUS[0]}" -eq 0 ] && all_parts "$2" $log
}

# all_parts FILTER LOG: of each part of the filter a test has passed, and not only been skipped.
# gtest itself is content with a filter that nothing matches.
all_parts()
{
    local part name
    local -a parts passed
    mapfile -t passed < <(sed -n 's/.*\[       OK \] \([^ ,]*\).*/\1/p' "$2")
    IFS=: read -ra parts <<<"${1%%-*}"
    [ ${#parts[@]} -gt 0 ] || parts=('*')
    for part in "${parts[@]}"; do
        for name in "${passed[@]}"; do
            # shellcheck disable=SC2053  # the part is a pattern
            [[ $name != $part ]] || continue 2
        done
        echo "no test of '$part' has passed"
        return 1
    done
}

# unit FILTER NAME=VALUE...
unit()
{
    gtest gtest_unit "$@"
}

# The ud plane between both devices
ud_pair()
{
    unit "$1" RI_TEST_DEVICES=rxe0,rxe1 RI_TEST_VERBOSE=y "${@:2}"
}

# The tests of the software adapter on what it imitates
softhca()
{
    gtest gtest_softhca "$1"
}

# counted COUNTERS COMMAND...: each of these words, a counter or several with | between, must
# have counted in some process
counted()
{
    local counters=$1
    rm -f /tmp/stats.*
    "${@:2}" || return
    cat /tmp/stats.* 2>/dev/null | awk -v counters="$counters" '
        BEGIN { words = split(counters, word) }
        {
            for (i = 1; i <= words; ++i) {
                sum[i] += ($1 ~ "^(" word[i] ")$") ? $2 : 0
            }
        }
        END {
            for (i = 1; i <= words; ++i) {
                print "by the device: " sum[i] + 0 " " word[i]
                missing += !sum[i]
            }
            exit !words || missing
        }'
}

# ucp FILTER NAME=VALUE...
ucp()
{
    gtest gtest_ucp "$1" "${ON_DEVICE[@]}" UCP_TEST_LIMIT=900 "${@:2}" LD_PRELOAD=$LIBRARY
}

# The same for tests with messages that must have gone by the device
ucp_rc()
{
    counted 'rx_read_bytes|tx_written_bytes' ucp "$@"
}

ucp_ud()
{
    counted ud_received ucp "$1" $BY_UD "${@:2}"
}

# Those in which medium messages must have been read from the sender's pool
ucp_hybrid()
{
    counted 'tx_hybrid rx_read_bytes' ucp "$1" UCXRI_RTR=n "${@:2}"
}

# in which receives must have been written by RTRs that were there before the message
ucp_rtr()
{
    counted 'rtr_used tx_recv_rndv tx_written_bytes' ucp "$1" UCXRI_RTR=y "${@:2}"
}

# by RTRs with a queue pair for datagrams
ucp_rtr_ud()
{
    counted 'rtr_used tx_recv_rndv ud_received' ucp "$1" UCXRI_RTR=y $BY_UD "${@:2}"
}

# and in which the sender must have written where the receiver said when it was asked
ucp_put()
{
    counted 'tx_put tx_written_bytes' ucp "$1" UCXRI_RTR=n UCXRI_SENDER_SCHEME=put \
        UCXRI_HYBRID_THRESH=0 "${@:2}"
}

# ucp_cut NAME=VALUE...: the network between both devices is cut while messages are on their way
ucp_cut()
{
    local change must='qp_failed reconnects'
    # With its path, as busybox's shell takes its own, lesser one
    change="$(command -v tc) qdisc change dev v0 root netem limit 100000"
    [[ " $* " != *" $BY_UD "* ]] || must='ud_resent|ud_restarts'
    counted "$must rtr_used" ucp 'ucp/test_cut_link.*/shm' UCXRI_RTR=y \
        TEST_PEER_IB_DEVICES=rxe1 UCP_TEST_CUT="$change loss 100%" UCP_TEST_MEND="$change" "$@"
}

ucp_channel()
{
    counted tx_eager_rdma ucp "$1" "${BY_CHANNEL[@]}" "${@:2}"
}

# mpi MPI PROGRAM OPTIONS... NAME=VALUE...: two ranks. PAIR=y: each with its own device
mpi()
{
    local mpi=$1 program=/vm/test/bin/$1/$2 word pair=
    # shellcheck disable=SC2054  # these are UCX's commas
    local -a words=() launch=() options=() setup=("${ON_DEVICE[@]}"
        UCX_TLS=posix,sysv,self "LD_PRELOAD=$LIBRARY")
    need "$program" "$mpi"
    for word in "${@:3}"; do
        case $word in
        PAIR=y) pair=y ;;
        [A-Z]*=*) setup+=("$word") ;;
        *) options+=("$word") ;;
        esac
    done
    if [ "$mpi" = mpich ]; then
        need mpiexec.hydra mpich
        for word in "${setup[@]}"; do
            words+=(-genv "${word%%=*}" "${word#*=}")
        done
        launch=(mpiexec.hydra -launcher fork)
    else
        need mpirun.openmpi openmpi-bin
        for word in "${setup[@]}"; do
            words+=(-x "$word")
        done
        # There is no rsh to start anything elsewhere, and nothing is to be
        launch=(mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none
            --mca plm isolated --mca mpi_yield_when_idle 1 --mca pml ucx --mca btl self
            --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any)
    fi
    launch+=(-n 2 "${words[@]}")
    if [ -n "$pair" ]; then
        # shellcheck disable=SC2016  # the rank's shell is to do it
        launch+=(bash -c 'UCXRI_IB_DEVICES=rxe${PMI_RANK:-$OMPI_COMM_WORLD_RANK} exec "$@"' rank)
    fi
    "${launch[@]}" "$program" "${options[@]}"
}

mpi_rc()
{
    counted 'rx_read_bytes|tx_written_bytes' mpi "$@"
}

mpi_ud()
{
    counted ud_received mpi "$@" $BY_UD
}

mpi_channel()
{
    counted tx_eager_rdma mpi "$@" "${BY_CHANNEL[@]}"
}

# perftest TEST OPTIONS... NAME=VALUE...
perftest()
{
    local server word
    local -a options=() setup=("${ON_RXE[@]}") program=(ucx_perftest)
    need ucx_perftest ucx-utils
    for word in "$@"; do
        case $word in
        LIBRARY=y) setup+=(UCX_RNDV_SCHEME=recv_init "LD_PRELOAD=$LIBRARY") ;;
        [A-Z]*=*) setup+=("$word") ;;
        *) options+=("$word") ;;
        esac
    done
    # One that is built with an MPI is a rank of a job unless it is told
    ! ucx_perftest -h 2>&1 | grep -q -e '-P <0|1>' || program+=(-P 0)
    env "${setup[@]}" "${program[@]}" -p 13337 &
    server=$!
    listening 13337 &&
        env "${setup[@]}" "${program[@]}" -f -p 13337 127.0.0.1 -t "${options[@]}" &&
        wait $server && return
    end_server $server
}
