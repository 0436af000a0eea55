#!/bin/bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# The first process of the virtual machine: makes a Linux of it with the RDMA devices rxe0
# and rxe1, runs the cases, and turns it off. The kernel talks on the first serial line, the
# tests on the second one. Not busybox's shell: it takes its own, lesser ip. One of two machines
# (vm.host) has rxe0 on its link to the other one (pair_init.sh).
if [ $$ -ne 1 ]; then
    echo "init.sh: runs in the virtual machines of tests only" >&2
    exit 2
fi
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C LC_ALL=C TMPDIR=/tmp

/bin/busybox --install -s /usr/bin 2>/dev/null

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd

stty -F /dev/ttyS1 raw -echo
exec </dev/null >/dev/ttyS1 2>&1
echo "@up"

off()
{
    [ $# -eq 0 ] || echo "@broken $*"
    sync
    # What is in the serial line's buffer
    sleep 1
    poweroff -f
}

while read -r module; do
    insmod "/vm/modules/$module" || off "insmod $module"
done </vm/modules/load

host=$(sed -n 's/.*vm\.host=\([^ ]*\).*/\1/p' /proc/cmdline)
if [ -n "$host" ]; then
    . /vm/pair_init.sh
    pair_init "$host" "$(sed -n 's/.*vm\.mtu=\([^ ]*\).*/\1/p' /proc/cmdline)"
    cd /vm || off "no tests"
    bash ./guest.sh
    off
fi

hostname vm
# Traffic within one rxe device goes through the kernel only, but it needs a network device
# with room for the largest packets. That between two of them, on both ends of a veth, goes
# through it, and through what tc puts there. Both ends are in the same namespace: rxe does not
# take what comes to another one. So the kernel must take packets that come from itself, and an
# end must not answer for the other one.
ip link set lo up
ip link add v0 type veth peer name v1 || off "no veth"
for dev in all v0 v1; do
    echo 1 >/proc/sys/net/ipv4/conf/$dev/accept_local
    echo 0 >/proc/sys/net/ipv4/conf/$dev/rp_filter
    echo 1 >/proc/sys/net/ipv4/conf/$dev/arp_ignore
done
for i in 0 1; do
    ip link set v$i mtu 4500
    rdma link add rxe$i type rxe netdev v$i || off "no rxe device"
    # It learns from this that its port is up
    ip link set v$i up
    ip addr add 10.0.0.$((i + 1))/24 dev v$i
done
for i in 0 1; do
    ip neigh replace 10.0.0.$((2 - i)) dev v$i nud permanent \
        lladdr "$(cat /sys/class/net/v$((1 - i))/address)"
done

# port_is_ready N: the port is active after a moment, and the link-local address, GID 0, is
# there when nobody else was found to have it
port_is_ready()
{
    rdma link show rxe$1/1 | grep -q 'state ACTIVE' &&
        ip -6 addr show dev v$1 scope link -tentative | grep -q fe80
}

tries=0
until port_is_ready 0 && port_is_ready 1; do
    sleep 0.1
    tries=$((tries + 1))
    [ $tries -lt 100 ] || off "the ports do not become active"
done

ulimit -l unlimited
ulimit -c 0
cd /vm || off "no tests"
bash ./guest.sh
off
