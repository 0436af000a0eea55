# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034  # variables are for the scripts that source this
#
# Common part of the test scripts: what configure found, and TAP output. A script is run in
# the build directory's test/, by "make check", by contrib/check.sh or by hand:
#     cd build/test && ../../test/check/inert.test
# It prints a line for each test and, as the last one, the plan: a script that dies early
# leaves none and counts as failed. Its exit code is 0 if no test failed.
set -u
export LC_ALL=C
script_args=("$@")

if [ ! -r check/env.sh ]; then
    echo "${0##*/}: run this in the test/ of a configured build directory" >&2
    echo "Bail out! not in a build directory"
    exit 99
fi
. check/env.sh
. "$abs_srcdir/check/perftest.sh"

# In a virtual machine the first touch of a page may take over 10 us, which was half of the time of
# gtest_ucp. So UCX takes buffers of shared memory by 64, not by 512, for each of its workers, and
# what malloc gives to a test program are huge pages, where the kernel has some.
export UCX_MM_RX_BUFS_GROW=64
huge_malloc=GLIBC_TUNABLES=glibc.malloc.hugetlb=1

# mpis_in_turn PLACE: the MPIs that a script goes through: both, or with CHECK_QUICK one of them, which
# CHECK_TURN chooses. Scripts of different places (0 and 1) do not leave out the same one.
mpis_in_turn()
{
    local -a both=(mpich openmpi)

    if [ -n "${CHECK_QUICK-}" ] && [ -n "${CHECK_TURN-}" ] && [ -z "$SKIP_MPICH$SKIP_OPENMPI" ]; then
        echo "${both[($1 + CHECK_TURN) % 2]}"
    else
        echo "${both[@]}"
    fi
}

LIB=$abs_top_builddir/src/libucxri.so
TMP=$abs_builddir/check/tmp/$(basename "$0" .test)
rm -rf "$TMP"
mkdir -p "$TMP"

# How to preload the library: sanitizer runtimes that are shared libraries come first
PRELOAD=${SAN_PRELOAD:+$SAN_PRELOAD }$LIB

if [ -n "$UCX_LIBDIR" ]; then
    export LD_LIBRARY_PATH=$UCX_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

# A caller's own settings must not change what is tested
for var in $(compgen -e); do
    case $var in
    GTEST_LIMIT | GTEST_TOTAL_SHARDS | GTEST_SHARD_INDEX) ;;
    UCX_* | UCXRI_* | MPI_UCX_* | LD_PRELOAD | LD_BIND_NOW | GTEST_*) unset "$var" ;;
    esac
done

tap_count=0
tap_failed=0

tap_ok()
{
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

# tap_fail NAME [FILE]: FILE's last lines say why
tap_fail()
{
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $1"
    if [ $# -gt 1 ] && [ -s "$2" ]; then
        tail -n 40 "$2" | sed 's/^/# /'
    fi
}

# tap_skip NAME REASON
tap_skip()
{
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# tap_result STATUS NAME [FILE]
tap_result()
{
    if [ "$1" -eq 0 ]; then
        tap_ok "$2"
    else
        [ "$1" -ne 124 ] && [ "$1" -ne 137 ] || set -- "$1" "$2 (timed out)" "${@:3}"
        tap_fail "${@:2}"
    fi
}

# tap_part PREFIX FILE: the lines of a script or of run_gtest as part of this one's, with the prefix
# in front of the names
tap_part()
{
    local prefix=$1 line plan=
    while IFS= read -r line; do
        case $line in
        'ok '*)
            tap_ok "$prefix ${line#*- }"
            ;;
        'not ok '*)
            tap_fail "$prefix ${line#*- }"
            ;;
        '1..0 # SKIP'*)
            tap_skip "$prefix" "${line#*SKIP }"
            plan=y
            ;;
        1..*) plan=y ;;
        *) echo "$line" ;;
        esac
    done <"$2"
    [ -n "$plan" ] || tap_fail "$prefix ended early"
}

# A script that has tested nothing has failed: what cannot be tested is skipped by name.
tap_done()
{
    [ "$tap_count" -gt 0 ] || tap_fail "no test was run"
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}

skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}

# need_softhca [unit]: skips the script without the software HCA, whose library is in $hca then; it
# has a fabric of its own, which is removed at the end. It judges registrations by their pages,
# unless SOFTHCA_PAGES is set, as to nothing. Under AddressSanitizer only unit tests are judged,
# which tell themselves what memory goes away: its allocator gives memory back by system calls of
# its own, which UCX's hooks do not see, so that any cache of registrations is stale.
need_softhca()
{
    local judge=check
    hca=$abs_builddir/bin/libsofthca.so
    [ -f "$hca" ] || skip_all "no software HCA (install the Debian package libibverbs-dev)"
    [ "$SAN_NAME" != asan ] || [ "${1-}" = unit ] || judge=
    NEVER_SKIP="no RDMA device"
    export SOFTHCA_FABRIC=check$$ SOFTHCA_PAGES=${SOFTHCA_PAGES-$judge}
    trap 'rm -f "/dev/shm/softhca.$SOFTHCA_FABRIC".*' EXIT
}

# run_limited SECONDS COMMAND...: ends the command and what it started after SECONDS
run_limited()
{
    local limit=$1
    shift
    timeout -k 10 "$limit" "$@"
}

# run STATUS SETTINGS COMMAND...: whether it ends with this status; its output is in $TMP/out and
# $TMP/err, and in $TMP/log
run()
{
    local status=$1 settings=$2
    shift 2
    # shellcheck disable=SC2086  # settings are words
    run_limited 60 env $settings "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
    ran $?
    [ $? -eq "$status" ]
}

# ran STATUS: with this one a command has ended whose output is in $TMP/out and $TMP/err
ran()
{
    edit_output
    cat "$TMP/out" "$TMP/err" >"$TMP/log"
    echo "exit status $1" >>"$TMP/log"
    return "$1"
}

# What a script changes in $TMP/out and $TMP/err before it looks at them: its own function
edit_output()
{
    :
}

# has FILE PATTERN...: the file has a line for each pattern
has()
{
    local file=$1 pattern
    shift
    for pattern in "$@"; do
        grep -q -E -e "$pattern" "$file" || return 1
    done
}

# result NAME: what the last command was, whose output is in $TMP/log
result()
{
    tap_result $? "$1" "$TMP/log"
    : >"$TMP/log"
}

# timeline STATUS OUT FILE...: ucxri_info --timeline, whether it ends with this status; what it prints
# is added to $TMP/log
timeline()
{
    local status=$1 got
    shift
    run_limited 60 "$abs_top_builddir/src/ucxri_info" --timeline "$@" >>"$TMP/log" 2>&1 </dev/null
    got=$?
    echo "exit status $got" >>"$TMP/log"
    [ $got -eq "$status" ]
}

# timeline_py WHAT ARGUMENT...: what timeline.py does; what it prints is added to $TMP/log
timeline_py()
{
    python3 "$abs_srcdir/check/timeline.py" "$@" >>"$TMP/log" 2>&1
}

# fresh_pages FILE: fails if the software HCA has reported a stale registration in a program's
# output
fresh_pages()
{
    ! grep -q 'softhca: stale registration' "$1"
}

# launch_mpi MPI RANKS VARIABLE=VALUE... -- COMMAND...: a job, with these settings for its ranks
launch_mpi()
{
    local mpi=$1 ranks=$2 flag
    local -a vars=()
    shift 2
    [ "$mpi" = mpich ] && flag= || flag=-x
    vars+=($flag "$huge_malloc")
    while [ "$1" != -- ]; do
        vars+=($flag "$1")
        shift
    done
    shift
    if [ "$mpi" = mpich ]; then
        run_limited 120 env "${vars[@]}" "$MPIEXEC_MPICH" -n "$ranks" "$@"
    else
        run_limited 120 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            "$MPIRUN_OPENMPI" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
            --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any \
            -n "$ranks" "${vars[@]}" "$@"
    fi
}

# ways_used REPORT WAY...: for each way of sending, a column of ucxri:sent, :long or :data, a line as
# of a gtest test that passes if the reports in a file say that messages went by it
ways_used()
{
    local report=$1 way
    shift
    for way in "$@"; do
        echo "[ RUN      ] messages by $way"
        awk -v way="$way" '
            $1 !~ /^ucxri:(sent|long|data)$/ { next }
            $2 == "rank" {
                for (i = 4; i <= NF; ++i) {
                    if ($i == way) {
                        table = $1
                        column = i
                    }
                }
                next
            }
            { line[++lines] = $0 }
            END {
                for (i = 1; i <= lines; ++i) {
                    split(line[i], cell)
                    split(cell[column], part, "/")
                    sum += (cell[1] == table) ? part[1] : 0
                }
                if (sum == 0) {
                    print "none, by the reports of " lines / 3 " processes"
                }
                print (sum > 0 ? "[       OK ]" : "[  FAILED  ]") " messages by " way " (0 ms)"
            }' "$report"
    done
}

# counters_used FILE COUNTER...: a line as of a gtest test for each counter, which some process must
# have above 0
counters_used()
{
    local stats=$1 counter
    shift
    for counter in "$@"; do
        echo "[ RUN      ] $counter"
        awk -v counter="$counter" '
            $1 == counter && $2 ~ /^[0-9]+$/ { sum += $2 }
            END { print (sum > 0 ? "[       OK ] " : "[  FAILED  ] ") counter " (0 ms)" }' \
            "$stats"
    done
}

# own_filter OPTIONS...: the first filter of these that the caller of the script has not given
own_filter()
{
    local arg
    for arg; do
        if [[ $arg == --gtest_filter=* && " ${script_args[*]-} " != *" $arg "* ]]; then
            echo "${arg#*=}"
            return
        fi
    done
}

# dead_patterns FILTER COMMAND...: a failed test, in the form of gtest, if the command's program does not
# list its tests, or if there are patterns that select none
dead_patterns()
{
    local filter=$1 pattern dead
    local -a patterns
    shift
    IFS=: read -ra patterns <<<"${filter//-/:}"
    run_limited 120 "$@" --gtest_list_tests </dev/null 2>/dev/null >"$TMP/list" ||
        dead=" (no list of tests, status $?)"
    sed 's/ *#.*//' "$TMP/list" | awk '/^[^ ]/ { suite = $1; next } { print suite $1 }' >"$TMP/tests"
    for pattern in "${patterns[@]}"; do
        [ -n "$pattern" ] || continue
        pattern=${pattern//./\\.}
        grep -q -x -- "${pattern//\*/.*}" "$TMP/tests" || dead+=" $pattern"
    done
    [ -z "${dead-}" ] ||
        printf '%s\n' "[ RUN      ] patterns of the filter" "no test matches$dead" \
            "[  FAILED  ] patterns of the filter (0 ms)"
}

# run_gtest SECONDS PROGRAM [NAME=VALUE...] [--gtest options]: one TAP line for each gtest
# test; a crash, a hang or a sanitizer's report at exit fails as well, and so does a test in whose
# output the software HCA reports a stale registration. With WAYS set to columns of
# the report's tables of sends, messages must have gone by each of these, if all tests have passed;
# with COUNTERS set to names of counters, these must be above 0. Each pattern of the script's own filter
# must select a test. With NEVER_SKIP set to a part of a reason, no test may be
# skipped for that.
run_gtest()
{
    local limit=$1 program=$2
    shift 2
    local -a setup=() options=()
    local arg
    for arg in "$@"; do
        case $arg in
        -*) options+=("$arg") ;;
        *) setup+=("$arg") ;;
        esac
    done
    local filter
    filter=$(own_filter "${options[@]}")
    export ASAN_OPTIONS=abort_on_error=0:detect_leaks=1:${ASAN_OPTIONS-}
    export UBSAN_OPTIONS=print_stacktrace=1
    setup+=("$huge_malloc")
    export TSAN_OPTIONS=suppressions=$abs_srcdir/check/tsan.supp:second_deadlock_stack=1
    # Stock's hook of madvise runs at the end of a thread, after ThreadSanitizer has let go of
    # the thread, and crashes there
    [ "$SAN_NAME" != tsan ] || setup+=(UCX_MEM_EVENTS=n)
    [ -z "${WAYS-}" ] || setup+=(UCXRI_REPORT=y UCXRI_REPORT_DEST="$TMP/report")
    [ -z "${COUNTERS-}" ] || setup+=(UCXRI_STATS=y UCXRI_STATS_DEST="$TMP/stats")
    {
        [ -z "$filter" ] || dead_patterns "$filter" env "${setup[@]}" "$program"
        timeout -k 10 "$limit" env "${setup[@]}" "$program" --gtest_color=no \
            "${options[@]}" </dev/null 2>&1
        status=$?
        if [ $status -eq 0 ] && [ -n "${WAYS-}" ]; then
            # shellcheck disable=SC2086  # WAYS are words
            ways_used "$TMP/report" $WAYS
        fi
        if [ $status -eq 0 ] && [ -n "${COUNTERS-}" ]; then
            # shellcheck disable=SC2086  # COUNTERS are words
            counters_used "$TMP/stats" $COUNTERS
        fi
        echo "gtest exit status $status"
    } | tee "$TMP/gtest.log" | awk -v never="${NEVER_SKIP-}" '
        function result(ok, name, note) {
            ++count
            if (stale) {
                ok = 0
                note = " (stale registration)"
                stale = 0
            }
            if (!ok) {
                ++failed
            }
            print (ok ? "ok " : "not ok ") count " - " name note
            if (!ok) {
                # gtest says first what failed: the head matters most
                for (i = 1; i <= lines && i <= 60; ++i) {
                    print "# " text[i]
                }
            }
            name_now = ""
            lines = 0
        }
        /^\[==========\] Running / { planned = $3 }
        /softhca: stale registration/ { stale = 1 }
        /^softhca: pages are not compared: / { blind = substr($0, 34) }
        /\[ RUN      \] / {
            sub(/.*\[ RUN      \] /, "")
            name_now = $0
            lines = 0
            reason = ""
            next
        }
        name_now != "" && /\[       OK \] .* ms\)$/ { result(1, name_now, ""); next }
        name_now != "" && /\[  FAILED  \] .* ms\)$/ { result(0, name_now, ""); next }
        name_now != "" && /\[  SKIPPED \] .* ms\)$/ {
            if (never != "" && index(reason, never)) {
                result(0, name_now, " (skipped: " reason ")")
                next
            }
            result(1, name_now, " # SKIP " (reason == "" ? "by the test" : reason))
            next
        }
        /: Skipped$/ { want_reason = 1; next }
        /^Note: Google Test filter/ { filtered = 1 }
        want_reason && NF { reason = $0; want_reason = 0 }
        /^gtest exit status / {
            status = $4
            next
        }
        { text[++lines] = $0; next }
        END {
            if (name_now != "") {
                result(0, name_now, (status == 124 || status == 137) ? \
                       " (timed out)" : " (ended with status " status ")")
                if (planned > count) {
                    print "# " planned - count " tests did not run"
                }
            } else if (status != 0 && failed == 0) {
                result(0, "end of the program with status " status, "")
            } else if (count == 0) {
                if (filtered) { # by the caller
                    print "1..0 # SKIP no test matches the filter"
                    exit 0
                }
                result(0, "the program ran no test", "")
            }
            if (stale) {
                result(0, "after the tests", "")
            }
            if (blind != "") {
                result(1, "registrations are judged", " # SKIP " blind)
            }
            print "1.." count
            exit failed != 0
        }'
}
