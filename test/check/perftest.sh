# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with the scripts that source this
#
# What runs ucx_perftest needs, for common.sh and for contrib/compare.sh. env.sh comes before it.

# find_perftest: the command of ucx_perftest, as the array ucx_perftest. One that is built with an
# MPI, as Debian 13's, is a rank of a job if its input is no terminal, unless it is told.
find_perftest()
{
    ucx_perftest=("$UCX_PERFTEST")
    ! "$UCX_PERFTEST" -h 2>&1 </dev/null | grep -q -e '-P <0|1>' || ucx_perftest+=(-P 0)
}

# free_port: a TCP port on which nothing listens; below the range of outgoing connections
free_port()
{
    local port hex
    while :; do
        port=$((15000 + RANDOM % 16000))
        hex=$(printf ':%04X ' "$port")
        if ! cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q "$hex"; then
            echo "$port"
            return
        fi
    done
}
