#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Runs tests on real kernel RDMA where there is none: boots Debian's own kernel with its
# software adapter rxe in qemu, without a hypervisor, and runs verbs programs, UCX, the
# library and both MPIs over it. Needs no privileges and changes nothing on this machine.
#
# Usage: test/vm/run.sh [options]
#   --short           what contrib/check.sh runs, at most 8 minutes (default)
#   --full            all cases: some 40 minutes
#   --pair            the cases on two machines that are joined by a link: all protocols
#                     with --full
#   --only REGEX      only cases whose name matches
#   --list            print the cases and their commands, start nothing
#   --build-dir DIR   a build directory after "make check-build" (the current directory, or
#                     the one above it)
#   --kernel DIR      where the kernel is, or is put: the package is fetched by apt-get
#                     download once (DIR of the build directory: test/bin/vm_kernel)
#   --limit SECONDS   for all of it, but for fetching the kernel (480, with --pair 600, with --full
#                     7200); what has not been run by then has failed
#   --memory MB       of the machine (2048), or of each of two (768)
#   --keep            keep the working directory with the console's log and the image
#   --verbose         print what the cases print, also if they pass
#   -h, --help        this text
#
# A line for each case, PASS, FAIL or SKIP; behind a FAIL what it printed. The last line is
# "N passed, N failed, N skipped, in N of N s". Exit code: 0 if nothing failed, 77 if there was
# nothing to run it with (with a line that says what is missing), 2 if it could not be started as
# told, else 1.
set -u
export LC_ALL=C

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
. "$source_dir/cases.sh"
. "$source_dir/kernel.sh"
. "$source_dir/image.sh"
. "$source_dir/pair_cases.sh"
. "$source_dir/pair.sh"

# On a loaded machine a kernel may get stuck before its first process begins, without a word
BOOT_LIMIT=120 # seconds
BOOT_TRIES=3

set=short
list=cases_of
only=.
build_dir=
kernel=
limit=
memory=
keep=no
verbose=
work=
qemu=
server=
action=run

die()
{
    echo "run.sh: $*" >&2
    exit 2
}

cannot()
{
    echo "SKIP $*"
    exit 77
}

cleanup()
{
    if [ -n "$qemu" ]; then
        kill "$qemu" 2>/dev/null
        wait "$qemu" 2>/dev/null
    fi
    if [ -n "$work" ]; then
        # Who serves them starts them, too
        [ -z "$server" ] || kill "$server" 2>/dev/null
        pair_end beta
        pair_end alpha
        if [ $keep = yes ]; then
            echo "kept: $work"
        else
            rm -rf "$work"
        fi
    fi
}

while [ $# -gt 0 ]; do
    case $1 in
    --only | --build-dir | --kernel | --limit | --memory)
        [ $# -gt 1 ] || die "$1 needs a value; see --help"
        ;;
    esac
    case $1 in
    --short) set=short ;;
    --full) set=full ;;
    --pair) list=pair_cases_of ;;
    --only)
        only=$2
        shift
        ;;
    --list) action=list ;;
    --build-dir)
        build_dir=$2
        shift
        ;;
    --kernel)
        kernel=$2
        shift
        ;;
    --limit)
        limit=$2
        shift
        ;;
    --memory)
        memory=$2
        shift
        ;;
    --keep) keep=yes ;;
    --verbose) verbose=vm.verbose ;;
    -h | --help)
        sed -n '/^# Runs/,/^[^#]/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *) die "unknown option '$1'; see --help" ;;
    esac
    shift
done
[[ $only != *[[:space:]]* ]] || die "--only: no blanks"
if [ $action = list ]; then
    $list $set
    exit 0
fi
built=("${IMAGE_BUILT[@]}")
default_limit=480
default_memory=2048
if [ $list = pair_cases_of ]; then
    built=("${IMAGE_BUILT_PAIR[@]}")
    default_limit=600
    default_memory=768
fi
[ $set = short ] || default_limit=7200
limit=${limit:-$default_limit}
memory=${memory:-$default_memory}
$list $set | awk -v only="$only" '$1 ~ only { ++n } END { exit !n }' ||
    die "no case has a name like '$only'"

if [ -z "$build_dir" ]; then
    build_dir=.
    [ -e test/gtest ] || build_dir=..
fi
build_dir=$(cd "$build_dir" 2>/dev/null && pwd) || die "no such build directory"
[ -e "$build_dir/test/check/env.sh" ] || die "$build_dir is no build directory"
kernel=${kernel:-$build_dir/test/bin/vm_kernel}

[ "$(uname -m)" = x86_64 ] || cannot "only for x86_64"
for command in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio \
    ip:iproute2 rdma:iproute2 tc:iproute2; do
    command -v ${command%:*} >/dev/null ||
        cannot "no ${command%:*} (Debian package ${command#*:})"
done
why=$(kernel_fetch "$kernel" 2>&1) || cannot "$why"
# From here on the limit counts
SECONDS=0
began=$(date +%s)

trap cleanup EXIT
trap 'exit 130' INT TERM
work=$(mktemp -d "${TMPDIR:-/tmp}/ucxri-vm.XXXXXX") || exit 1
mkdir "$work/root"
image_fill "$work/root" "$build_dir" "$source_dir" "$kernel" "${built[@]}" || cannot "no image"
image_pack "$work/root" "$work/image" || die "cannot write the image"
rm -rf "$work/root"

# machine_boot CONSOLE RESULTS APPEND OPTIONS...: becomes qemu, to the end of the machine
machine_boot()
{
    : >"$2"
    exec timeout -k 5 $((limit > SECONDS ? limit - SECONDS : 1)) qemu-system-x86_64 -nodefaults -no-user-config \
        -no-reboot -display none -machine pc,usb=off -accel tcg,thread=multi -cpu max -smp 2 \
        -m "$memory" -kernel "$kernel/vmlinuz" -initrd "$work/image" \
        -append "console=ttyS0 quiet panic=-1 no_timer_check cryptomgr.notests mitigations=off random.trust_cpu=on vm.set=$set vm.only=$only $verbose $3" \
        -serial "file:$1" -serial "file:$2" "${@:4}" </dev/null >"$1.qemu" 2>&1
}

# machine_is_up RESULTS PID: waits until the first process says so. Fails if it does not within
# BOOT_LIMIT, but not if the machine ends: it has said why.
machine_is_up()
{
    local deadline=$((SECONDS + BOOT_LIMIT))
    until grep -qs '^@up' "$1" || ! kill -0 "$2" 2>/dev/null; do
        [ $SECONDS -lt $deadline ] || return 1
        read -r -t 0.1 <>"$work/never"
    done
    return 0
}

# not_up TRY: says it, fails if there have been enough tries
not_up()
{
    echo "not up within $BOOT_LIMIT s, try $1 of $BOOT_TRIES"
    [ "$1" -lt $BOOT_TRIES ]
}

mkfifo "$work/never"
try=1
if [ $list = pair_cases_of ]; then
    results=$work/alpha.results
    pair_start
    server=$!
    qemu=$(cat "$work/alpha.pid")
else
    results=$work/results
    machine_boot "$work/console" "$results" "" &
    qemu=$!
    until machine_is_up "$results" $qemu || ! not_up $try; do
        kill $qemu 2>/dev/null
        wait $qemu
        try=$((try + 1))
        machine_boot "$work/console" "$results" "" &
        qemu=$!
    done
fi

# report: turns what the guest says into lines
report()
{
    awk -v names="$($list $set | awk -v only="$only" '$1 ~ only { print $1 }')" \
        -v verbose="$verbose" -v clock="date +%s" -v limit="$limit" -v began="$began" '
        function result(word, text) {
            print word " " text
            ++count[word]
            fflush()
        }
        BEGIN { left = split(names, list, "\n") }
        { sub(/\r$/, "") }
        /^@begin / { name = $2; lines = 0; note = ""; next }
        /^@end / {
            seconds = " (" $4 " s)"
            seen[$2] = 1
            name = ""
            if ($3 == 0) {
                result("PASS", $2 (note == "" ? "" : ": " note) seconds)
            } else if ($3 == 77) {
                result("SKIP", $2 ": " text[lines])
            } else {
                result("FAIL", $2 ($3 == 124 || $3 == 137 ? ": timed out" : ": status " $3) seconds)
            }
            for (i = 1; i <= lines && ($3 != 0 && $3 != 77 || verbose != ""); ++i) {
                print "    " text[i]
            }
            next
        }
        /^@done/ { done = 1; next }
        /^@(up|ask )/ { next }
        /^@broken / { sub(/^@broken /, ""); broken = $0; next }
        name != "" {
            text[++lines] = $0
            if ($0 ~ /^\[  (PASSED |SKIPPED) \] [0-9]/) {
                note = note (note == "" ? "" : ", ") $4 " " tolower(substr($2, 1, 6) == "PASSED" ? "passed" : "skipped")
            }
        }
        END {
            for (i = 1; i <= left; ++i) {
                if (!(list[i] in seen)) {
                    result("FAIL", list[i] ": " (list[i] == name ? "the machine stopped in it" : \
                        broken != "" ? "the machine did not start: " broken : "not run"))
                    for (j = 1; list[i] == name && j <= lines; ++j) {
                        print "    " text[j]
                    }
                }
            }
            clock | getline now
            printf "%d passed, %d failed, %d skipped, in %d of %d s\n", count["PASS"], \
                count["FAIL"], count["SKIP"], now - began, limit
            exit count["FAIL"] > 0 ? 1 : count["PASS"] ? 0 : 77
        }'
}

# In the background: a signal is to end this script at once
tail -n +1 -s 0.2 -f --pid=$qemu "$results" | report &
wait $!
status=$?
wait $qemu
qemu=
if ! grep -q '^@done' "$results"; then
    echo "qemu and the kernel:"
    tail -n 15 "$work"/*console.qemu "$work"/*console | cut -c 1-200 | sed 's/^/    /'
fi
exit "$status"
