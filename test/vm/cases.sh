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
short plane_rc           300 unit 'test_rc_process.*'
short softhca            300 softhca '*:-*_thread.*:*.large:*.many_*:*all_lengths*:*process.atomics'
short connect            300 ucp 'ucp/test_worker.*/shm:*two_process.stream_in/shm:*two_process.sequential_peers/shm'
short rc_protocols       300 ucp_rc 'ucp/test_tag_large.*/shm:ucp/test_tag_sync.*/shm'
short hybrid             300 ucp_rc 'ucp/test_tag_hybrid.*/shm'
short early              300 ucp_rc 'ucp/test_tag_early.*/shm:-*random*:*ten_thousand*:*many_messages*'
short put                300 ucp_rc 'ucp/test_tag_large.*/shm' UCXRI_SENDER_SCHEME=put
short errors             300 ucp 'ucp/test_peer_death.*:ucp/test_tag_cancel.*/shm'
short mem_events         300 unit 'test_mem_events.*:test_reg_cache.*'
short mpich              300 mpi mpich order --iters 2
short openmpi            300 mpi openmpi order --iters 2
short ucx_rc             300 perftest tag_bw -s 100000 -n 10 -w 1 UCX_TLS=rc_v,self
short ucx_ud             300 perftest tag_lat -s 8 -n 50 -w 5 UCX_TLS=ud_v,self
full  softhca_all       1200 softhca '*'
full  rc_pingpong_ipv4    60 pingpong ibv_rc_pingpong -n 100 -g 1
full  reg_cache_load     600 unit 'test_reg_cache_load.*'
full  ucp_shm           3600 ucp 'ucp/*/shm:-*killed*:*ten_thousand*'
full  ucp_tcp           3600 ucp 'ucp/*/tcp:-*killed*:*ten_thousand*'
full  mpich_mix          600 mpi mpich mix_modes --iters 20
full  mpich_types        600 mpi mpich pt2pt_types --iters 40
full  mpich_early        600 mpi mpich early_receives --iters 4
full  mpich_cancel       600 mpi mpich cancel_trunc
full  mpich_collectives  600 mpi mpich collectives --iters 2
full  mpich_rma          600 mpi mpich rma
full  mpich_events       600 mpi mpich mem_events
full  openmpi_mix        600 mpi openmpi mix_modes --iters 20
full  openmpi_types      600 mpi openmpi pt2pt_types --iters 40
full  openmpi_early      600 mpi openmpi early_receives --iters 4
full  openmpi_cancel     600 mpi openmpi cancel_trunc
full  openmpi_events     600 mpi openmpi mem_events
full  ucx_rc_get         120 perftest ucp_get -s 100000 -n 10 -w 1 UCX_TLS=rc_v,self
full  ucx_ud_bw          120 perftest tag_bw -s 20000 -n 10 -w 1 UCX_TLS=ud_v,self
full  library_rc_v       240 perftest tag_bw -s 100000 -n 10 -w 1 UCX_TLS=rc_v,self LIBRARY=y
END
}

LIBRARY=/vm/src/.libs/libucxri.so
# This library on the RDMA device only, as between two hosts
OVER_RC=(UCX_RNDV_SCHEME=recv_init UCXRI_IB_DEVICES=rxe0 UCXRI_IB_GID_INDEX=0 UCXRI_CMA=n
    UCXRI_RING_PEERS=0)
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
    listening 18515 && "$program" -d rxe0 -g 0 -p 18515 "$@" 127.0.0.1 && wait $server
}

# gtest PROGRAM FILTER NAME=VALUE...
gtest()
{
    need "/vm/test/gtest/$1" libgtest-dev
    env "${@:3}" "/vm/test/gtest/$1" --gtest_color=no --gtest_filter="$2"
}

unit()
{
    gtest gtest_unit "$1"
}

# The tests of the software adapter on what it imitates
softhca()
{
    gtest gtest_softhca "$1"
}

# read_something: whether a process got data through the device
read_something()
{
    cat /tmp/stats.* 2>/dev/null | awk '
        / (rx_read_bytes|tx_written_bytes) / { sum += $2 }
        END {
            print "by RDMA: " sum + 0 " bytes"
            exit !sum
        }'
}

# ucp FILTER NAME=VALUE...
ucp()
{
    gtest gtest_ucp "$1" "${OVER_RC[@]}" "${@:2}" LD_PRELOAD=$LIBRARY
}

# The same for tests with messages that must have gone by the device
ucp_rc()
{
    rm -f /tmp/stats.*
    ucp "$@" UCXRI_STATS=y UCXRI_STATS_DEST=/tmp/stats.%p && read_something
}

# mpi MPI PROGRAM OPTIONS...: two ranks, and something must have gone by the device
mpi()
{
    local mpi=$1 program=/vm/test/bin/$1/$2 word
    local -a words=() launch=()
    # shellcheck disable=SC2054  # these are UCX's commas
    local -a setup=("${OVER_RC[@]}" UCX_TLS=posix,sysv,self UCXRI_STATS=y
        UCXRI_STATS_DEST=/tmp/stats.%p LD_PRELOAD=$LIBRARY)
    need "$program" "$mpi"
    rm -f /tmp/stats.*
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
    "${launch[@]}" -n 2 "${words[@]}" "$program" "${@:3}" || return
    [ "$2" = mem_events ] || read_something
}

# perftest TEST OPTIONS... NAME=VALUE...
perftest()
{
    local server word
    local -a options=() setup=("${ON_RXE[@]}")
    need ucx_perftest ucx-utils
    for word in "$@"; do
        case $word in
        LIBRARY=y) setup+=(UCX_RNDV_SCHEME=recv_init LD_PRELOAD=$LIBRARY) ;;
        [A-Z]*=*) setup+=("$word") ;;
        *) options+=("$word") ;;
        esac
    done
    env "${setup[@]}" ucx_perftest -p 13337 &
    server=$!
    listening 13337 &&
        env "${setup[@]}" ucx_perftest -f -p 13337 127.0.0.1 -t "${options[@]}" && wait $server
}
