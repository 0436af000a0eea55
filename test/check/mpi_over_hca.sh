#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Common part of mpi_rc.test and mpi_ud.test: MPI programs under both MPIs whose long messages go
# through the software HCA, with all long receives offered to their senders. It judges registrations
# by their pages, which has a control.
. "${srcdir-$(dirname "$0")/..}/check/common.sh"

if [ "$SAN_NAME" != no ]; then
    skip_all "MPI programs cannot load a library built with $SAN_NAME"
fi
need_softhca

used()
{
    # shellcheck disable=SC2086  # they are words
    ways_used "$TMP/log" $1 >"$TMP/ways"
    cat "$TMP/ways"
    ! grep -q FAILED "$TMP/ways"
}

# run_program MPI RANKS PROGRAM [OPTIONS...]: its output in $TMP/log. Options of the form UCXRI_NAME=VALUE
# are variables.
run_program()
{
    local mpi=$1 ranks=$2 program=$3 word
    local -a variables=() options=()
    shift 3
    for word in "$@"; do
        case $word in
        UCXRI_*=*) variables+=("$word") ;;
        *) options+=("$word") ;;
        esac
    done
    launch_mpi "$mpi" "$ranks" LD_PRELOAD="$LIB:$hca" SOFTHCA_FABRIC="$SOFTHCA_FABRIC" \
        SOFTHCA_PAGES="$SOFTHCA_PAGES" UCX_RNDV_SCHEME=recv_init UCX_TLS=posix,sysv,self \
        UCXRI_CMA=n UCXRI_RING_PEERS=0 \
        UCXRI_IB_DEVICES=softhca0 UCXRI_IB_TRANSPORT="$transport" UCXRI_RTR=y UCXRI_REPORT=y \
        "${variables[@]}" -- "bin/$mpi/$program" "${options[@]}" </dev/null >"$TMP/log" 2>&1
}

# run_one MPI WAYS RANKS PROGRAM [OPTIONS...]: WAYS are words
run_one()
{
    run_program "$1" "${@:3}" && grep -q "^PASS $4 " "$TMP/log" && fresh_pages "$TMP/log" &&
        used "$2" >>"$TMP/log"
}

# run_control MPI: memory that is replaced behind everybody's back is noticed by the device, and by
# the program, which aborts (its words can get lost in that); and nothing else is wrong with it
run_control()
{
    local reason
    ! run_program "$1" 2 replaced_memory --raw 1 && ! fresh_pages "$TMP/log"
    status=$?
    reason=$(sed -n 's/^softhca: pages are not compared: //p' "$TMP/log" | head -n 1)
    if [ -n "$reason" ]; then
        tap_skip "$1 control" "$reason"
        return
    fi
    tap_result $status "$1 control: replaced behind everybody's back" "$TMP/log"
    SOFTHCA_PAGES='' run_program "$1" 2 replaced_memory --raw 1
    tap_result $? "$1 control: nobody looks" "$TMP/log"
}

# run_all TRANSPORT: what to run is in the input, a line for each: ways with + between them,
# program, ranks, options
run_all()
{
    local transport=$1 mpi skip ways program ranks options lines status
    lines=$(cat)
    for mpi in mpich openmpi; do
        skip=SKIP_${mpi^^}
        while read -r ways program ranks options; do
            if [ -n "${!skip}" ]; then
                tap_skip "$mpi $program np=$ranks" "${!skip}"
                continue
            fi
            # shellcheck disable=SC2086  # options are words
            run_one $mpi "${ways//+/ }" "$ranks" "$program" $options
            tap_result $? "$mpi $program np=$ranks${options:+ $options}" "$TMP/log"
        done <<<"$lines"
        run_control $mpi
    done
    tap_done
}
