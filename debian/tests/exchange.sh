# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# An MPI program by the installed ucxri_run: the library is active, carries messages by rings and
# copies, and all arrive. Sourced by the tests of the two MPIs.

# exchange COMPILER LAUNCHER...: the launcher is what starts two ranks
exchange()
{
    compiler=$1
    shift
    dir=${AUTOPKGTEST_TMP:-$(mktemp -d)}
    "$compiler" -O1 -o "$dir/exchange" debian/tests/exchange.c

    "$@" ucxri_run --check "$dir/exchange" >"$dir/check"
    cat "$dir/check"
    [ "$(grep -c 'active: yes' "$dir/check")" -eq 2 ]

    rm -f "$dir/report" # it would be appended
    "$@" ucxri_run --report="$dir/report" "$dir/exchange"
    ucxri_info -r "$dir/report" | tee "$dir/sum"
    [ "$(grep -c '^ucxri:sent *[01] ' "$dir/sum")" -eq 2 ]
    # More than a few messages went through a ring: the columns are messages/bytes
    awk '/^ucxri:sent *all/ { split($4, ring, "/"); found = ring[1] > 10 } END { exit !found }' "$dir/sum"

    "$@" ucxri_run --off "$dir/exchange"
}
