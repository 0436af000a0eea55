#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# A rank of a job on two machines: as process 20000 of its machine, the next one there 20100, as
# those of the other machine are. Loads the library $PAIR_LIBRARY, but not on the host
# $PAIR_WITHOUT, and behind it the library for the windows of the MPI $PAIR_WINDOWS.
# Usage: rank.sh PROGRAM OPTIONS...
if [ ! -e /vm/rank.sh ]; then
    echo "rank.sh: runs in the virtual machines of tests only" >&2
    exit 2
fi
pid=$((20000 + 100 * ${MPI_LOCALRANKID-${OMPI_COMM_WORLD_LOCAL_RANK-0}}))
[ "$(hostname)" = alpha ] || pid=$((pid + ${PAIR_APART-0}))
with=()
if [ -n "$PAIR_LIBRARY" ] && [ "${PAIR_WITHOUT-}" != "$(hostname)" ]; then
    with=(UCX_RNDV_SCHEME=recv_init
        LD_PRELOAD="$PAIR_LIBRARY${PAIR_WINDOWS:+ ${PAIR_LIBRARY%.so}_win_$PAIR_WINDOWS.so}")
fi

# Another process may be started in between
status=99
tries=0
while [ $status -eq 99 ] && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
    (
        [ $BASHPID -eq $pid ] || exit 99
        exec env "${with[@]}" "$@"
    ) &
    wait $!
    status=$?
done
exit $status
