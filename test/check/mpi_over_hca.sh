#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Common part of mpi_rc.test and mpi_ud.test: MPI programs under both MPIs whose long messages go
# through the software HCA, with all long receives offered to their senders.
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

# run_one MPI WAYS RANKS PROGRAM [OPTIONS...]: WAYS are words
run_one()
{
    local mpi=$1 ways=$2 ranks=$3 program=$4
    shift 4
    launch_mpi "$mpi" "$ranks" LD_PRELOAD="$LIB:$hca" SOFTHCA_FABRIC="$SOFTHCA_FABRIC" \
        SOFTHCA_PAGES="$SOFTHCA_PAGES" UCX_RNDV_SCHEME=recv_init UCX_TLS=posix,sysv,self \
        UCXRI_CMA=n UCXRI_RING_PEERS=0 \
        UCXRI_IB_DEVICES=softhca0 UCXRI_IB_TRANSPORT="$transport" UCXRI_RTR=y UCXRI_REPORT=y \
        -- "bin/$mpi/$program" "$@" </dev/null >"$TMP/log" 2>&1 &&
        grep -q "^PASS $program " "$TMP/log" && fresh_pages "$TMP/log" &&
        used "$ways" >>"$TMP/log"
}

# run_all TRANSPORT: what to run is in the input, a line for each: ways with + between them, program,
# ranks, options
run_all()
{
    local transport=$1 mpi skip ways program ranks options lines
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
    done
    tap_done
}
