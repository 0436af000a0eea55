#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Builds ucxri and passes all tests: installs missing packages (as root or with sudo),
# builds in a directory of its own, prints a line for each step, a table, the number of
# skipped tests, and as the last line the sum "N passed, N failed".
#
# Usage: contrib/check.sh [options]
#   --cc gcc|clang    the compiler (gcc)
#   --asan            AddressSanitizer and UBSan: the gtest suites and timeline_files only
#   --tsan            ThreadSanitizer: the gtests with threads only
#   --werror          compiler warnings are errors
#   --quick           less of everything that takes long: fuzzing, TCP runs, the other Debian; gtests
#                     are compiled several sources at a time, and with --werror with precompiled
#                     headers, so that what a source lacks does not show; and a third of the model's
#                     configurations, and of the API tests by each plane but the first, with a
#                     sanitizer of all gtests, another third in each run; a third of the seeds of
#                     tests that try many; some steps in one run of three only; and of some MPI
#                     tests those of one MPI, which UD_SEED chooses
#   --long            more of everything, see "The long run" in docs/testing.md; hours
#   --only LIST       only these steps, with commas, see --list; configure and build always
#                     run, and tests (builds them) if a later one needs it
#   --build-only      only build what those steps need
#   --list            print the steps, each with its limit in seconds, and run none
#   --lanes N         as many steps side by side, of those that may (2; 1: none)
#   --no-deps         do not look for missing packages
#   --build-dir DIR   where to build (build/check-<compiler>[-asan|-tsan])
#   -j N              parallel jobs of make (the number of cores)
#   -h, --help        this text
#
# The steps are in contrib/steps.tsv. Their logs are in the build directory's logs/. Exit code: 0 if
# nothing failed.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh" || exit 2
die_code=2 # 1 is for what failed

cc=gcc
asan=no
tsan=no
werror=no
quick=no
long=no
only=
build_only=no
list=no
lanes=2
no_deps=no
build_dir=
j=$(nproc 2>/dev/null || echo 2)
expect --cc 'gcc|clang' "gcc or clang"
expect --lanes '[1-9][0-9]*' "a number"
expect -j '[1-9][0-9]*' "a number"
parse_options "$@"

cxx=g++
[ $cc = gcc ] || cxx=clang++
sanitizer=
[ $asan = no ] || sanitizer=asan
[ $tsan = no ] || sanitizer=tsan
[ $asan$tsan != yesyes ] || misuse "--asan and --tsan exclude each other"

# It chooses which datagrams get lost and what is left out. By default it follows from the time.
ud_seed=${UD_SEED-$(($(date +%s) / 60 % 10000 + 1))}

# The steps of this kind of build, and of each its limit, what it needs built, its company, and whether
# --quick runs a third of its tests
steps=()
left_out=()
declare -A limit=() needs=() company=() third=()
while IFS=$'\t' read -r step seconds of_build builds with thirds turn; do
    [[ -n $step && $step != "#"* && ,$builds, == *,${sanitizer:-plain},* ]] || continue
    if [[ $quick == yes && -z $only && ${turn:--} != - && $turn != $((ud_seed % 3)) ]]; then
        left_out+=("$step")
        continue
    fi
    steps+=("$step")
    # A build ahead of its tests may be behind all else
    [ $long$build_only = nono ] || seconds=$((30 * seconds))
    limit[$step]=$seconds
    needs[$step]=$of_build
    company[$step]=$with
    [[ $quick != yes || ,$thirds, != *,${sanitizer:-plain},* ]] || third[$step]=yes
done <"$root/contrib/steps.tsv" || die "no list of steps"
[ -z "$only" ] || for step in ${only//,/ }; do
    [ -n "${limit[$step]-}" ] || die "--only: no step '$step' here; see --list"
done

wanted()
{
    [ -z "$only" ] || [[ ,$only, == *,$1,* ]]
}

# What they need of the test programs: all of them take several times as long to build as those of
# some steps. A compiler whose warnings are errors is to see all that is for it.
programs=
for step in "${steps[@]}"; do
    need=${needs[$step]}
    wanted "$step" && [[ $need =~ ^(tests|mpi|gtest|ucp|scripts)$ ]] || continue
    [[ $werror = no || $need =~ ^(tests|mpi)$ ]] || need=cc
    programs+=" check-build-$need"
done
[ -z "$only" ] || ! wanted tests || programs+=" check-build-tests"
# All of them, or each once
[[ $programs != *" check-build-tests"* ]] || programs=check-build
programs=$(xargs -n 1 <<<"$programs" | sort -u | xargs)

selected=()
for step in "${steps[@]}"; do
    case $step in
    configure | build) ;;
    tests) [ -n "$programs" ] || continue ;;
    deps) wanted "$step" && [ $no_deps = no ] || continue ;;
    *) wanted "$step" && [ $build_only = no ] || continue ;;
    esac
    selected+=("$step")
done
steps=("${selected[@]}")
if [ $list = yes ]; then
    for step in "${steps[@]}"; do
        printf '%-24s %6d\n' "$step" "${limit[$step]}"
    done
    exit 0
fi

build_dir=${build_dir:-$root/build/check-$cc${sanitizer:+-$sanitizer}}
[[ $build_dir == /* ]] || build_dir=$PWD/$build_dir
if [ -e "$root/config.status" ]; then
    die "the source tree is configured itself, which make refuses to build elsewhere:" \
        "run 'make distclean' in $root first"
fi
logs=$build_dir/logs
mkdir -p "$logs" || exit 2
rm -f "$logs"/*

# All processes that a step starts have CHECK_SH_ID=<this>/<step> in their environment; those of a
# check that a step runs have more behind that.
check_id=${CHECK_SH_ID:+$CHECK_SH_ID/}$$.$(date +%s%N)

# others [STEP]: those processes, or the ones of a step. Subshells of this script are not among
# them, because a process shows the environment that it was executed with.
others()
{
    # Before there is a process for grep, which would be one of them in a step
    local -a files=(/proc/[0-9]*/environ)
    # A zombie has no environment
    grep -lszxE "CHECK_SH_ID=$check_id/${1-[^/]*}(/.*)?" "${files[@]}" | grep -o '[0-9]*'
}

# kill_all SIGNAL [STEP]: sends it to all of them
kill_all()
{
    local pid
    for pid in $(others ${2+"$2"}); do
        kill "-$1" "$pid" 2>/dev/null
    done
}

# The steps that run, and of each that has begun its process, log, number and begin
running=()
declare -A pid_of=() log_of=() number_of=() began_at=() ended_at=() late=()
stop()
{
    local name tries
    trap '' INT TERM
    [ ! -t 1 ] || echo
    echo "check.sh: interrupted${running[*]:+ in ${running[*]}}" >&2
    for name in "${running[@]}"; do
        kill "${pid_of[$name]}" 2>/dev/null
    done
    kill_all TERM
    # What does not end by itself
    for ((tries = 0; tries < 40; ++tries)); do
        [ -n "$(others)" ] || break
        [ $tries -lt 15 ] || kill_all KILL
        read -r -t 0.2 <>"$build_dir/never"
    done
    exit 130
}
# Not at once: a read with a time-out would cut the function short when its time is over
interrupted=no
trap 'interrupted=yes' INT TERM

#
# The steps that are no test scripts. Each runs in a process of its own.
#
# Elsewhere than on Debian the log has what is needed, and configure says what is missing
step_deps()
{
    "$root/contrib/deps.sh" || ! command -v apt-get >/dev/null
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
    # What a source does not include itself is to show there, which takes several times as long
    [ $werror$quick != yesno ] || options+=(--disable-pch)
    [ $quick = no ] || options+=(--enable-test-groups)
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
    cd "$build_dir" && make -j "$j"
}

step_tests()
{
    # shellcheck disable=SC2086  # words
    cd "$build_dir/test" && make -j "$j" $programs
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
            echo "    made or written while these ran:$(steps_at "$(stat -c %Y "/dev/shm/$file")")"
            # The MPIs' own segments outlive a killed rank; that is not for us to mend
            [[ $file != *ucx* ]] || bad=1
        fi
    done < <(comm -13 "$build_dir/shm.before" <(ls -A /dev/shm 2>/dev/null | sort))
    return $bad
}

# steps_at TIME: the steps that ran at a time in seconds of the epoch
steps_at()
{
    local name second=$(($1 - (EPOCHSECONDS - SECONDS)))
    for name in "${!began_at[@]}"; do
        [ "${began_at[$name]}" -gt $second ] || [ "${ended_at[$name]-$second}" -lt $second ] ||
            echo -n " $name"
    done
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
    export FUZZ_SECONDS=60 UD_SEED=$ud_seed
    [ -z "$sanitizer" ] || export GTEST_LIMIT=840
    [ -z "${third[$name]-}" ] || export GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=$((ud_seed % 3))
    [ $quick = no ] || export FUZZ_SECONDS=10 CHECK_QUICK=1 RI_TEST_SHARE=3 RI_TEST_TURN=$((ud_seed % 3))
    [ $quick = no ] || [ -n "$only" ] || export CHECK_TURN=$ud_seed
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

# On a terminal: the steps that run, in one line
show_running()
{
    local name text=
    [ -t 1 ] || return
    for name in "${running[@]}"; do
        text+="${text:+; }$name: $(grep -c -E '^(not )?ok [0-9]' "${log_of[$name]}") done,"
        text+=" $((SECONDS - began_at[$name])) s"
    done
    printf '\r\033[K%s' "${text:0:$((${COLUMNS:-80} - 1))}"
}

# start_step NAME
start_step()
{
    local name=$1 log
    number=$((number + 1))
    log=$logs/$(printf %02d "$number")-$name.log
    : >"$log"
    (
        trap - INT TERM
        export CHECK_SH_ID=$check_id/$name
        if is_script "$name"; then
            step_script "$name"
        else
            "step_$name"
        fi
        status=$?
        # Of this process and of all that it waited for
        times >"$build_dir/times.$name"
        exit $status
    ) >>"$log" 2>&1 </dev/null & # behind what kill_late() writes meanwhile, not over it
    pid_of[$name]=$!
    log_of[$name]=$log
    number_of[$name]=$number
    began_at[$name]=$SECONDS
    running+=("$name")
}

# processor_time NAME: the seconds that a step and its processes computed, if it came to its end
processor_time()
{
    [ -s "$build_dir/times.$1" ] || {
        echo -
        return
    }
    awk '{
             for (i = 1; i <= NF; ++i) {
                 split($i, part, /[ms]/)
                 sum += 60 * part[1] + part[2]
             }
         }
         END { printf "%d s", sum + 0.5 }' "$build_dir/times.$1"
    rm -f "$build_dir/times.$1"
}

# kill_late NAME: ends a step that has run for too long, and all that it has started
kill_late()
{
    local name=$1 tries
    [ -z "${late[$name]-}" ] && [ $((SECONDS - began_at[$name])) -gt "${limit[$name]}" ] || return
    late[$name]=yes
    echo "not ok: $name did not end within ${limit[$name]} s" >>"${log_of[$name]}"
    kill -KILL "${pid_of[$name]}" 2>/dev/null
    # One that is found may have started another one meanwhile
    for ((tries = 0; tries < 20; ++tries)); do
        [ -n "$(others "$name")" ] || break
        kill_all KILL "$name"
    done
}

# end_step NAME: collects the result of a step whose process has ended
end_step()
{
    local name=$1 log=${log_of[$1]} status passed=0 failed=0 skipped=0 seconds text
    wait "${pid_of[$name]}" 2>/dev/null
    status=$?
    ended_at[$name]=$SECONDS
    unset "pid_of[$name]"
    mapfile -t running < <(printf '%s\n' "${running[@]}" | grep -vx "$name")
    seconds=$((SECONDS - began_at[$name]))

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
    printf '[%2d/%d] %-24s %s\n' "${number_of[$name]}" ${#steps[@]} "$name" "$text ($seconds s)"
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
    table[${number_of[$name]}]=$(printf '%-24s %7d %7d %8d %6d s %8s' "$name" "$passed" \
        "$failed" "$skipped" "$seconds" "$(processor_time "$name")")
    # Nothing can be tested without these
    [ "$failed" -eq 0 ] || [[ ! $name =~ ^(configure|build|tests)$ ]] || hopeless=yes
}

# wait_until COUNT: waits until at most COUNT steps run
wait_until()
{
    local name
    while [ ${#running[@]} -gt "$1" ]; do
        read -r -t 0.2 <>"$build_dir/never"
        [ $interrupted = no ] || stop
        show_running
        for name in "${running[@]}"; do
            kill_late "$name"
            kill -0 "${pid_of[$name]}" 2>/dev/null || end_step "$name"
        done
    done
}

rm -f "$build_dir/never" "$build_dir"/times.*
mkfifo "$build_dir/never" || exit 2
ls -A /dev/shm 2>/dev/null | sort >"$build_dir/shm.before"

chosen=()
for step in "${steps[@]}"; do
    [[ $step != *_ud*_faults ]] || chosen[0]="faults, "
    [ -z "${third[$step]-}" ] || chosen[1]="thirds of tests, "
done
text=$(printf %s "${chosen[@]}")
[ -z "$text" ] || echo "${text%, } by UD_SEED=$ud_seed"
[ ${#left_out[@]} -eq 0 ] || echo "left out in this run, by UD_SEED=$ud_seed: ${left_out[*]}"

# In their order: one that wants to be alone waits until nothing runs, and all others wait for it
number=0
hopeless=no
for step in "${steps[@]}"; do
    wait_until $((lanes - 1))
    [ "${company[$step]}" = beside ] || wait_until 0
    [ $hopeless = no ] || break
    start_step "$step"
    [ "${company[$step]}" = beside ] || wait_until 0
done
wait_until 0

echo
printf '%-24s %7s %7s %8s %8s %8s\n' step passed failed skipped time computed
printf '%s\n' "${table[@]}"
echo "logs: $logs; $SECONDS s in all; $total_skipped skipped"
echo "$total_passed passed, $total_failed failed"
[ $total_failed -eq 0 ]
