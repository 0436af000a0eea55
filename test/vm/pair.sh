# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Two machines and the link between them, a socket in the working directory. Sourced by run.sh.
# alpha runs the cases, and asks here for what cannot be done inside:
#     @ask kill HOST          as if it had lost its power
#     @ask boot HOST          once more
#     @ask cut HOST SECONDS   that host's end of the link is taken out and put in again; the other
#                             host notices nothing but that no packet comes
#     @ask unplug HOST        it is taken out
# The answer on alpha's third serial line, when it is done: "done" with the same words.

# Their clocks are an hour apart, and so are all that follow from them
PAIR_CLOCK_alpha=2031-05-01T10:00:00
PAIR_CLOCK_beta=2031-05-01T11:00:00
# So long a packet may be; rxe's are then of 4096 bytes and 1024
PAIR_MTU_alpha=4500
PAIR_MTU_beta=1500

# pair_boot HOST: in the background; its process is in $work/HOST.pid
pair_boot()
{
    local host=$1 clock=PAIR_CLOCK_$1 mtu=PAIR_MTU_$1 number=1 server=on
    if [ "$host" = beta ]; then
        number=2
        server=off
    fi
    : >"$work/$host.results"
    [ -e "$work/$host.orders.in" ] || mkfifo "$work/$host".{monitor,orders}.{in,out} || return
    machine_boot "$work/$host.console" "$work/$host.results" "vm.host=$host vm.mtu=${!mtu}" \
        -rtc "base=${!clock}" -chardev "pipe,id=orders,path=$work/$host.orders" -serial chardev:orders \
        -chardev "pipe,id=monitor,path=$work/$host.monitor" -mon chardev=monitor,mode=readline \
        -netdev "stream,id=link,server=$server,addr.type=unix,addr.path=$work/link" \
        -device "virtio-net-pci,netdev=link,mac=52:54:00:00:00:0$number,romfile=" &
    echo $! >"$work/$host.pid"
}

# pair_end HOST
pair_end()
{
    local pid
    pid=$(cat "$work/$1.pid" 2>/dev/null) || return 0
    rm -f "$work/$1.pid"
    # timeout(1), which hands it on
    kill "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null; do
        read -r -t 0.05 <>"$work/never"
    done
}

pair_monitor()
{
    echo "$2" >"$work/$1.monitor.in"
}

# pair_is_up HOST
pair_is_up()
{
    machine_is_up "$work/$1.results" "$(cat "$work/$1.pid")"
}

# pair_boot_again HOST: beta; alpha would make the link anew
pair_boot_again()
{
    local try=1
    pair_boot "$1"
    until pair_is_up "$1" || ! not_up $try; do
        pair_end "$1"
        try=$((try + 1))
        pair_boot "$1"
    done
}

# pair_do COMMAND...
pair_do()
{
    case $1 in
    kill) pair_end "$2" ;;
    boot) pair_boot_again "$2" ;;
    unplug) pair_monitor "$2" "set_link link off" ;;
    cut)
        pair_monitor "$2" "set_link link off"
        read -r -t "$3" <>"$work/never"
        pair_monitor "$2" "set_link link on"
        ;;
    esac
}

# pair_serve: what alpha asks for, until it ends
pair_serve()
{
    local line
    while IFS= read -r line; do
        line=${line%$'\r'}
        case $line in
        "@ask "*)
            # shellcheck disable=SC2086  # words
            pair_do ${line#@ask }
            echo "done ${line#@ask }" >"$work/alpha.orders.in"
            ;;
        esac
    done < <(tail -n +1 -s 0.2 -f --pid="$(cat "$work/alpha.pid")" "$work/alpha.results")
}

# pair_boot_both: fails if one of them does not get up
pair_boot_both()
{
    rm -f "$work/link"
    pair_boot alpha
    until [ -S "$work/link" ]; do
        kill -0 "$(cat "$work/alpha.pid")" 2>/dev/null || return 0
        read -r -t 0.05 <>"$work/never"
    done
    pair_boot beta
    pair_is_up alpha && pair_is_up beta
}

# pair_start: both, and whoever serves them. Each boot of alpha makes the link anew.
pair_start()
{
    local try=1
    until pair_boot_both || ! not_up $try; do
        pair_end beta
        pair_end alpha
        try=$((try + 1))
    done
    pair_serve &
}
