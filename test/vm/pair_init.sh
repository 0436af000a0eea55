# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What init.sh does in one of two machines: the link to the other one with rxe0 on it, and the
# server of agent.sh. beta stays with that; alpha goes on with the cases. The third serial line of
# alpha is for run.sh's answers.

# pair_init HOST MTU
pair_init()
{
    local host=$1 mtu=$2 tries=0
    hostname "$host"
    stty -F /dev/ttyS2 raw -echo
    exec 4</dev/ttyS2
    ip link set lo up
    ip link set eth0 mtu "$mtu" || off "no eth0"
    rdma link add rxe0 type rxe netdev eth0 || off "no rxe device"
    ip link set eth0 up
    ip addr add "$(awk -v host="$host" '$2 == host { print $1 }' /etc/hosts)/24" dev eth0
    until rdma link show rxe0/1 | grep -q 'state ACTIVE' &&
        ip -6 addr show dev eth0 scope link -tentative | grep -q fe80; do
        sleep 0.1
        tries=$((tries + 1))
        [ $tries -lt 300 ] || off "the port does not become active"
    done
    ulimit -l unlimited
    ulimit -c 0
    if [ "$host" = beta ]; then
        echo "@ready"
        exec busybox nc -ll -p 514 -e /vm/agent.sh
    fi
    busybox nc -ll -p 514 -e /vm/agent.sh &
}
