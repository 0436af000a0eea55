#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Ends the processes that a case on two machines has left in this one, which are those with
# PAIR_CASE in the environment, and removes all temporary files: in such a machine only.
if [ "${BASH_SOURCE[0]}" != /vm/pair_clean.sh ]; then
    echo "pair_clean.sh: runs in the virtual machines of tests only" >&2
    exit 2
fi
for dir in /proc/[0-9]*; do
    if grep -qsz '^PAIR_CASE=' "$dir/environ"; then
        kill -KILL "${dir#/proc/}" 2>/dev/null
    fi
done
rm -rf /dev/shm/* /tmp/*
