#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Runs in the virtual machine: each case of the list that the kernel's command line names,
# with a time limit of its own. What it prints is for run.sh:
#     @begin NAME                      output of the case follows
#     @end NAME STATUS SECONDS         STATUS 77: skipped, the last line says why
#     @done                            all were run
# Usage: guest.sh [--case COMMAND]
set -u
cd /vm || exit 99
. ./cases.sh
. ./pair_cases.sh

if [ "${1-}" = --case ]; then
    eval "$2"
    exit
fi

# show LOG STATUS: all that a failed case said, but its end at most, and no good tests of
# gtest; of a good case what gtest and the programs say at the end
show()
{
    if [ "$2" -eq 0 ] && [ $verbose = no ]; then
        grep -E '^(PASS |by the |\[  (PASSED |SKIPPED) \] [0-9])' "$1"
    elif [ $verbose = no ]; then
        grep -a -v -E '^\[( RUN  |       OK|  SKIPPED) |: Skipped$|^only for softhca' "$1" |
            tail -n 200 | cut -c 1-300
        # The test in which it ended, if that was in the middle of one
        grep -a -E '^\[( RUN  |       OK|  SKIPPED|  FAILED) ' "$1" | tail -n 1 | grep -a ' RUN '
    else
        tail -n 1000 "$1" | cut -c 1-300
    fi
}

verbose=no
set=short
only=.
list=cases_of
for word in $(cat /proc/cmdline); do
    case $word in
    vm.set=*) set=${word#*=} ;;
    vm.only=*) only=${word#*=} ;;
    vm.verbose) verbose=yes ;;
    vm.host=*) list=pair_cases_of ;;
    esac
done

# In one of two machines: once the other one is there
if [ $list = pair_cases_of ] && ! pair_wait; then
    echo "@broken beta does not answer"
    exit 1
fi

while read -r name limit command; do
    [[ $name =~ $only ]] || continue
    echo "@begin $name"
    read -r began _ </proc/uptime
    PAIR_CASE=y timeout -k 5 "$limit" bash /vm/guest.sh --case "$command" >/tmp/log 2>&1 </dev/null
    status=$?
    read -r ended _ </proc/uptime
    show /tmp/log $status
    echo "@end $name $status $((${ended%.*} - ${began%.*}))"
    if [ $list = pair_cases_of ]; then
        pair_clean
    else
        rm -rf /dev/shm/*
        tc qdisc del dev v0 root 2>/dev/null
        tc qdisc del dev v1 root 2>/dev/null
    fi
done < <($list "$set")
echo "@done"
