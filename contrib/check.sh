#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Builds ucxri and passes all tests: installs missing packages (as root or with sudo),
# builds in a directory of its own, prints a line for each step, a table, the number of
# skipped tests, and as the last line the sum "N passed, N failed".
#
# Usage: contrib/check.sh [options]
#   --cc gcc|clang    the compiler (gcc)
#   --asan            AddressSanitizer and UBSan: the gtest suites only
#   --tsan            ThreadSanitizer: the gtests with threads only
#   --werror          compiler warnings are errors
#   --quick           less of everything that takes long: fuzzing, TCP runs
#   --long            more of everything, see "The long run" in docs/testing.md; hours
#   --only LIST       only these steps, with commas: deps, configure, build, tests (builds
#                     them), layout, symbols, inert, switch, report, messages, peer_memory,
#                     sender_mask, model,
#                     gtest_unit, gtest_rc, gtest_rc_rxe, gtest_ucp_stock, gtest_ucp_recv_init,
#                     gtest_ucp_memory, gtest_ucp_put, gtest_ucp_rtr, gtest_ucp_rc,
#                     gtest_ucp_rc_put, gtest_ucp_rc_channel, gtest_ucp_rc_faults,
#                     gtest_ucp_rc_rtr, gtest_ucp_rc_rtr_faults, gtest_ucp_overtake,
#                     gtest_ucp_cut, gtest_ucp_ud, gtest_ucp_ud_faults, gtest_ucp_ud_rtr,
#                     gtest_ucp_ud_rtr_faults, gtest_ucp_ud_moves, gtest_ucp_ud_rxe,
#                     gtest_ucp_ud_sizes, gtest_wrap, perftest, mixed_job, perf_tool, compare, figures,
#                     mutate, softhca, stale, vm, vm_pair, mpi, mpi_rc, mpi_ud, mpi_auto, mixed_settings,
#                     fuzz, leftovers;
#                     configure and build always run, and tests if a later one needs it
#   --no-deps         do not look for missing packages
#   --build-dir DIR   where to build (build/check-<compiler>[-asan|-tsan])
#   -j N              parallel jobs of make (the number of cores)
#   -h, --help        this text
#
# The logs of the steps are in the build directory's logs/. Exit code: 0 if nothing failed.
set -u
export LC_ALL=C

die()
{
    echo "check.sh: $*" >&2
    exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2
start_dir=$PWD
cc=gcc
sanitizer=
werror=no
quick=no
long=no
only=
deps=yes
build_dir=
jobs=$(nproc 2>/dev/null || echo 2)

while [ $# -gt 0 ]; do
    case $1 in
    --cc | --only | --build-dir | -j)
        [ $# -gt 1 ] || die "$1 needs a value; see --help"
        ;;
    esac
    case $1 in
    --cc)
        cc=$2
        shift
        ;;
    --asan) sanitizer=${sanitizer}asan ;;
    --tsan) sanitizer=${sanitizer}tsan ;;
    --werror) werror=yes ;;
    --quick) quick=yes ;;
    --long) long=yes ;;
    --only)
        only=$2
        shift
        ;;
    --no-deps) deps=no ;;
    --build-dir)
        build_dir=$2
        shift
        ;;
    -j)
        jobs=$2
        shift
        ;;
    -h | --help)
        sed -n '/^# Builds/,/^[^#]/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *) die "unknown option '$1'; see --help" ;;
    esac
    shift
done

case $cc in
gcc) cxx=g++ ;;
clang) cxx=clang++ ;;
*) die "--cc $cc: expected gcc or clang" ;;
esac
case $sanitizer in
"" | asan | tsan) ;;
*) die "--asan and --tsan exclude each other" ;;
esac
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "-j $jobs: expected a number"

# Each step and its limit in seconds. A step's own limits for what it runs are shorter;
# these are for what nobody thought of.
case $sanitizer in
asan) steps=(gtest_unit gtest_rc gtest_ucp_stock gtest_ucp_recv_init gtest_ucp_memory
    gtest_ucp_ud) ;;
tsan) steps=(gtest_unit gtest_ucp_recv_init gtest_ucp_memory) ;;
*) steps=(layout symbols inert switch report messages peer_memory sender_mask model gtest_unit
    gtest_rc
    gtest_rc_rxe gtest_ucp_stock gtest_ucp_recv_init gtest_ucp_memory gtest_ucp_put
    gtest_ucp_rtr gtest_ucp_rc gtest_ucp_rc_put gtest_ucp_rc_channel gtest_ucp_rc_faults
    gtest_ucp_rc_rtr gtest_ucp_rc_rtr_faults gtest_ucp_overtake gtest_ucp_cut
    gtest_ucp_ud gtest_ucp_ud_faults gtest_ucp_ud_rtr gtest_ucp_ud_rtr_faults
    gtest_ucp_ud_moves gtest_ucp_ud_rxe gtest_ucp_ud_sizes gtest_wrap perftest mixed_job perf_tool
    compare figures mutate softhca stale vm vm_pair mpi mpi_rc mpi_ud mpi_auto mixed_settings fuzz) ;;
esac
steps=(deps configure build tests "${steps[@]}" leftovers)
declare -A limit=([deps]=900 [configure]=300 [build]=600 [tests]=1200 [layout]=120
    [symbols]=60 [inert]=300 [switch]=300 [report]=300 [messages]=900
    [peer_memory]=900 [sender_mask]=300
    [model]=300
    [gtest_unit]=660 [gtest_rc]=660 [gtest_rc_rxe]=660 [gtest_ucp_stock]=660
    [gtest_ucp_recv_init]=660 [gtest_ucp_rc_rtr]=660 [gtest_ucp_rc_rtr_faults]=660
    [gtest_ucp_memory]=720 [gtest_ucp_put]=660 [gtest_ucp_rtr]=660 [gtest_ucp_rc]=660
    [gtest_ucp_rc_put]=660 [gtest_ucp_rc_channel]=660 [gtest_ucp_rc_faults]=660
    [gtest_ucp_overtake]=360 [gtest_ucp_cut]=400 [gtest_ucp_ud]=660 [gtest_ucp_ud_faults]=660
    [gtest_ucp_ud_rtr]=660 [gtest_ucp_ud_rtr_faults]=660 [gtest_ucp_ud_rxe]=660
    [gtest_ucp_ud_moves]=660 [gtest_ucp_ud_sizes]=660 [gtest_wrap]=660 [perftest]=1200 [mixed_job]=300 [perf_tool]=600 [compare]=900
    [figures]=900 [mutate]=300 [softhca]=900 [stale]=300 [vm]=1200 [vm_pair]=900 [mpi]=1200 [mpi_rc]=900 [mpi_ud]=900
    [mpi_auto]=900 [mixed_settings]=900 [fuzz]=300 [leftovers]=60)
if [ $long = yes ]; then
    for step in "${!limit[@]}"; do
        limit[$step]=$((30 * limit[$step]))
    done
fi
if [ -n "$only" ]; then
    for step in ${only//,/ }; do
        [[ " ${steps[*]} " == *" $step "* ]] || die "--only: no step '$step' here"
    done
fi

selected=()
for step in "${steps[@]}"; do
    case $step in
    configure | build) ;;
    tests)
        [ -z "$only" ] ||
            [[ ,$only, =~ ,(tests|switch|report|messages|peer_memory|sender_mask|model|gtest_[a-z_]+|perf_tool|compare|figures|softhca|stale|vm(_pair)?|mpi(_rc|_ud|_auto)?|mixed_settings|fuzz), ]] || continue
        ;;
    *)
        [ "$step" != deps ] || [ $deps = yes ] || continue
        [ -z "$only" ] || [[ ,$only, == *,$step,* ]] || continue
        ;;
    esac
    selected+=("$step")
done
steps=("${selected[@]}")

# Which test programs those need: without MPI programs, the model and the fuzz target, which most do,
# building takes half as long. A compiler whose warnings are errors is to see all that is for it.
programs=check-build-gtest
[ $werror = no ] || programs=check-build-cc
for step in "${steps[@]}"; do
    case $step in
    deps | configure | build | layout | symbols | inert | perftest | leftovers) ;;
    tests) [[ ,$only, != *,tests,* ]] || programs=check-build ;;
    gtest_wrap) programs=check-build ;;
    gtest_*) ;;
    *) programs=check-build ;;
    esac
done

build_dir=${build_dir:-$root/build/check-$cc${sanitizer:+-$sanitizer}}
[[ $build_dir == /* ]] || build_dir=$start_dir/$build_dir
if [ -e "$root/config.status" ]; then
    die "the source tree is configured itself, which make refuses to build elsewhere:" \
        "run 'make distclean' in $root first"
fi
logs=$build_dir/logs
mkdir -p "$logs" || exit 2
rm -f "$logs"/*

# All processes that the tests start have this in their environment
export CHECK_SH_ID=$$.$(date +%s%N)

# others: the processes that were started with it. Subshells of this script are not among
# them, because a process shows the environment that it was executed with.
others()
{
    local dir
    for dir in /proc/[0-9]*; do
        # A zombie has no environment
        ! grep -qsz "^CHECK_SH_ID=$CHECK_SH_ID\$" "$dir/environ" || echo "${dir#/proc/}"
    done
}

step_pid=
stop()
{
    local pid
    trap '' INT TERM
    [ ! -t 1 ] || echo
    echo "check.sh: interrupted" >&2
    [ -z "$step_pid" ] || kill "$step_pid" 2>/dev/null
    for pid in $(others); do
        kill "$pid" 2>/dev/null
    done
    exit 130
}
# Not at once: a read with a time-out would cut the function short when its time is over
interrupted=no
trap 'interrupted=yes' INT TERM

#
# The steps that are no test scripts. Each runs in a process of its own.
#
step_deps()
{
    "$root/contrib/deps.sh"
}

step_configure()
{
    local -a options=()
    local file stale=no
    # Two checks of one checkout can run side by side, but not this part
    mkdir -p "$root/build" && exec 9>"$root/build/.autogen.lock" && flock 9 || return 1
    for file in configure Makefile.in src/Makefile.in test/Makefile.in config.h.in; do
        [ -e "$root/$file" ] || stale=yes
    done
    for file in configure.ac Makefile.am {src,test}/{Makefile,sources}.am; do
        [ ! "$root/$file" -nt "$root/configure" ] || stale=yes
    done
    if [ $stale = yes ]; then
        "$root/autogen.sh" || return 1
    fi
    exec 9>&-

    # Only tests are in C++, and compilers take two to three times as long to optimise them.
    # Instrumented code takes them long in C as well.
    options+=(CXXFLAGS="-O0 -g1")
    [ -z "$sanitizer" ] || options+=("--enable-$sanitizer" CFLAGS="-O1 -g")
    [ $werror = no ] || options+=(--enable-werror)
    cd "$build_dir" || return 1
    # Configured in the same way already: make looks after the rest
    if [ -e config.status ] && [ $stale = no ] && [ ! "$root/configure" -nt config.status ] &&
        [ "$(cat .configured 2>/dev/null)" = "$cc ${options[*]}" ]; then
        echo "configured already"
        return 0
    fi
    "$root/configure" CC=$cc CXX=$cxx "${options[@]}" || return 1
    echo "$cc ${options[*]}" >.configured
}

step_build()
{
    cd "$build_dir" && make -j "$jobs"
}

step_tests()
{
    cd "$build_dir/test" && make -j "$jobs" "$programs"
}

step_leftovers()
{
    local pid file deadline=$((SECONDS + 10)) bad=0
    # What was told to end may need a moment
    while [ -n "$(others)" ] && [ $SECONDS -lt $deadline ]; do
        read -r -t 0.1 <>"$build_dir/never"
    done
    echo "processes:"
    for pid in $(others); do
        echo "  $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
        kill -KILL "$pid"
        bad=1
    done
    echo "files in /dev/shm that nobody has open:"
    while read -r file; do
        if [ -O "/dev/shm/$file" ] && ! is_mapped "/dev/shm/$file"; then
            echo "  $file"
            # The MPIs' own segments outlive a killed rank; that is not for us to mend
            [[ $file != *ucx* ]] || bad=1
        fi
    done < <(comm -13 "$build_dir/shm.before" <(ls -A /dev/shm 2>/dev/null | sort))
    return $bad
}

is_mapped()
{
    local fd
    grep -qsF "$1" /proc/[0-9]*/maps && return 0
    for fd in /proc/[0-9]*/fd/*; do
        [ "$fd" -ef "$1" ] && return 0
    done
    return 1
}

# The test scripts, as "make check" runs them, from the build directory
step_script()
{
    local name=$1
    cd "$build_dir/test" || return 1
    export srcdir=$root/test
    export FUZZ_SECONDS=60 GTEST_LIMIT=600 UD_SEED=$ud_seed
    [ $quick = no ] || export FUZZ_SECONDS=10 CHECK_QUICK=1
    [ $long = no ] || export FUZZ_SECONDS=600 GTEST_LIMIT=3600 CHECK_LONG=1
    set --
    # Where ThreadSanitizer looks, only what has threads is worth its time
    [ "$sanitizer" != tsan ] || set -- '--gtest_filter=*thread*:*multi*'
    "$srcdir/check/$name.test" "$@"
}

#
# Running
#
total_passed=0
total_failed=0
total_skipped=0
table=()

# count_tap LOG: passed, failed and skipped; a missing plan is a failure
count_tap()
{
    awk '/^ok [0-9]/ { if (/ # SKIP/) ++skipped; else ++passed }
         /^not ok [0-9]/ { ++failed }
         /^1\.\.[0-9]+/ {
             planned = 1
             count = substr($1, 4) + 0
             if (count == 0) ++skipped
         }
         END {
             if (!planned || (count > 0 && count != passed + failed + skipped)) ++failed
             print passed + 0, failed + 0, skipped + 0
         }' "$1"
}

is_script()
{
    [ -e "$root/test/check/$1.test" ]
}

show_step()
{
    printf '[%2d/%d] %-20s %s' "$number" ${#steps[@]} "$1" "$2"
}

# run_step NAME
run_step()
{
    local name=$1 log began=$SECONDS status watch passed=0 failed=0 skipped=0 seconds text
    log=$logs/$(printf %02d "$number")-$name.log
    (
        trap - INT TERM
        if is_script "$name"; then
            step_script "$name"
        else
            "step_$name"
        fi
    ) >"$log" 2>&1 </dev/null &
    step_pid=$!
    while kill -0 $step_pid 2>/dev/null; do
        seconds=$((SECONDS - began))
        if [ $seconds -gt "${limit[$name]}" ]; then
            echo "not ok: $name did not end within ${limit[$name]} s" >>"$log"
            for watch in $(others); do
                kill -KILL "$watch" 2>/dev/null
            done
            kill -KILL $step_pid 2>/dev/null
            break
        fi
        if [ -t 1 ]; then
            printf '\r\033[K'
            show_step "$name" "$(grep -c -E '^(not )?ok [0-9]' "$log") done, $seconds s"
        fi
        read -r -t 0.2 <>"$build_dir/never"
        [ $interrupted = no ] || stop
    done
    wait $step_pid 2>/dev/null
    status=$?
    step_pid=
    seconds=$((SECONDS - began))

    if is_script "$name"; then
        read -r passed failed skipped < <(count_tap "$log")
        [ $status -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    elif [ $status -eq 0 ]; then
        passed=1
    else
        failed=1
    fi
    text="$passed passed, $failed failed"
    [ "$skipped" -eq 0 ] || text+=", $skipped skipped"
    [ ! -t 1 ] || printf '\r\033[K'
    show_step "$name" "$text ($seconds s)"
    echo
    if [ "$failed" -gt 0 ]; then
        if grep -q '^not ok' "$log"; then
            # The names of the first ones, then what the very first one said
            awk '/^not ok/ { if (++count <= 12) print }
                 /^# / && count == 1 && lines < 25 { text[++lines] = $0 }
                 END {
                     if (count > 12) print "... and " count - 12 " more; the first:"
                     for (i = 1; i <= lines; ++i) print text[i]
                 }' "$log" | sed 's/^/        /'
        else
            tail -n 25 "$log" | sed 's/^/        /'
        fi
        echo "        full log: $log"
    elif [ "$skipped" -gt 0 ]; then
        sed -n 's/.* # SKIP //p' "$log" | sort | uniq -c |
            sed 's/^ *\([0-9]*\) /        skipped \1: /'
    fi
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
    table+=("$(printf '%-22s %7d %7d %8d %6d s' "$name" "$passed" "$failed" "$skipped" \
        "$seconds")")
    [ "$failed" -eq 0 ]
}

rm -f "$build_dir/never"
mkfifo "$build_dir/never" || exit 2
ls -A /dev/shm 2>/dev/null | sort >"$build_dir/shm.before"

# Which datagrams get lost is another choice in each run
ud_seed=${UD_SEED-$(($(date +%s) / 60 % 10000 + 1))}
case " ${steps[*]} " in
*ud_faults\ * | *ud_rtr_faults\ *) echo "faults by UD_SEED=$ud_seed" ;;
esac

number=0
for step in "${steps[@]}"; do
    number=$((number + 1))
    if ! run_step "$step"; then
        # Nothing can be tested without these
        [[ $step =~ ^(configure|build|tests)$ ]] && break
    fi
done

echo
printf '%-22s %7s %7s %8s %8s\n' step passed failed skipped time
printf '%s\n' "${table[@]}"
echo "logs: $logs; $SECONDS s in all; $total_skipped skipped"
echo "$total_passed passed, $total_failed failed"
[ $total_failed -eq 0 ]
