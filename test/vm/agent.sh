#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# What both MPIs start their processes on the other machine with, in place of ssh or rsh. As the
# server, it runs the command that comes as the first line, and says how that has ended.
# Usage: agent.sh [-x] HOST COMMAND...
#        busybox nc -ll -p 514 -e agent.sh     (in that machine)
if [ $# -eq 0 ]; then
    IFS= read -r command || exit
    cd /vm || exit
    [ "$command" = "bash /vm/pair_clean.sh" ] || export PAIR_CASE=y
    # nc ignores the ends of its children, which is inherited, and hydra's proxy waits for its own
    env --default-signal=CHLD bash -c "$command" </dev/null 2>&1
    printf '\n@exit %d\n' $?
    exit
fi

[ "$1" != -x ] || shift
host=$1
shift
exec 3<>"/dev/tcp/$host/514" || exit 255
printf '%s\n' "$*" >&3
while IFS= read -r line <&3; do
    case $line in
    "@exit "*) exit "${line#@exit }" ;;
    *) printf '%s\n' "$line" ;;
    esac
done
echo "$host does not answer any more" >&2
exit 255
