# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared
#
# The options that all measuring scripts have:
#   --build-dir DIR  where the library was built; the programs that measure are built
#                    there, too (build, below the source)
#   --lib PATH       the library (found below the build directory), or "stock" to
#                    run stock in its place, which shows the noise (not figures.sh)
#   --out DIR        where the results go (named as the script, below the build directory)
#   --cpus A,B       the two cores (the first two that this shell may use)
#   -h, --help       this help
# Exit code: 0 when everything ran, 1 when something failed.

# What else such a script needs to run: two cores, the library, programs and MPIs. This file is a
# part of run.sh.

. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# The options, where none is given
mpis=()
skip=()
rounds=
sizes=
rows=
build_dir=$root/build
lib=
out=
cpus=
strict=no
quick=no
add=no

# read_options SKIPPABLE ARGUMENT...: those of a script that measures; SKIPPABLE are the values of
# --skip. Those of --mpi are in mpis then, and that of --only in set.
read_options()
{
    local mpi=() only=rc
    help_files+=("$bench/options.sh")
    expect --mpi 'mpich|openmpi|all|none' "mpich, openmpi, all or none"
    expect --only 'rc|ud' "rc or ud"
    expect --skip "${1// /|}" "${1// / or }"
    expect --rounds '[1-9][0-9]{0,3}' "a number"
    expect --sizes '[0-9]+(,[0-9]+)*' "numbers"
    expect --rows '(latency|used|bw|bibw|rate|fast|progress|coll|,)+' \
        "some of latency,used,bw,bibw,rate,fast,progress,coll"
    expect --cpus '[0-9]+,[0-9]+' "A,B"
    parse_options "${@:2}"
    mpis=("${mpi[@]}")
    set=${set:-$only}
}

# skips NAME: whether --skip NAME was given
skips()
{
    [[ " ${skip[*]} " == *" $1 "* ]]
}

# choose_cpus: the two cores, cpu0 and cpu1: those of --cpus, or the first two that this shell may
# use
choose_cpus()
{
    local range cpu list=()
    if [ -z "$cpus" ]; then
        for range in $(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status | tr , ' '); do
            for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do
                list+=("$cpu")
            done
        done
        [ ${#list[@]} -ge 2 ] || die "two cores are needed, and this shell may use only one"
        cpus=${list[0]},${list[1]}
    fi
    cpu0=${cpus%,*}
    cpu1=${cpus#*,}
}

# find_built PATTERN HINT: prints the latest such file below the build directory
find_built()
{
    local found
    found=$(find "$build_dir" -path "$1" -type f -printf '%T@ %p\n' 2>/dev/null | sort -rn |
            sed -n '1s/^[^ ]* //p')
    [ -n "$found" ] || die "no ${1##*/} below $build_dir: $2"
    echo "$found"
}

# prepare: the cores, the library, and where the results go
prepare()
{
    command -v taskset >/dev/null || die "taskset is missing (package util-linux)"
    choose_cpus
    if [ -z "$lib" ]; then
        lib=$(find_built '*/src/libucxri.so' "build it first, or give --build-dir or --lib") ||
            exit 1
    fi
    if [ "$lib" != stock ]; then
        [ -r "$lib" ] || die "cannot read the library $lib"
        lib=$(realpath "$lib")
    fi
    mkdir -p "$build_dir/bench" || exit 1
    build_dir=$(cd "$build_dir" && pwd)
    out=${out:-$build_dir/$(basename "$0" .sh)}
    mkdir -p "$out/logs" || exit 1
    out=$(cd "$out" && pwd)
    rm -f "$out"/logs/*.log
    raw=$out/raw.csv
    summary=$out/summary.csv
}

# prepare_host: what measures within a host: the core probe, and the transports of shared memory.
# The settings that the variants have are theirs only.
prepare_host()
{
    prepare
    build "$build_dir/bench/core_ping" "${CC:-cc}" core_ping.c
    unset LD_PRELOAD UCX_RNDV_SCHEME MPI_UCX_RNDV_SCHEME
    export UCX_TLS=${UCX_TLS:-posix,sysv,cma,self}
}

# prepare_hca: what measures over the software HCA: the programs, a fabric of its own, a temporary
# directory work, and hca_library, the library's settings there. Both processes are on one host, and
# are to find each other by the network only.
prepare_hca()
{
    prepare
    core_probe=no
    [ "$lib" != stock ] || die "--lib stock is for contrib/compare.sh"
    perf=$(find_built '*/src/ucxri_perf' "build it first") || exit 1
    hca=$(find_built '*/test/bin/libsofthca.so' "make check-build first") || exit 1
    hca_library=(LD_PRELOAD="$lib $hca" UCX_RNDV_SCHEME=recv_init UCXRI_CMA=n UCXRI_RING_PEERS=0
                 UCXRI_IB_DEVICES=softhca0)
    work=$(mktemp -d) || exit 1
    forget_settings
    export SOFTHCA_FABRIC=figures$$ UCX_NET_DEVICES=softhca0:1
    trap 'rm -rf "$work"; rm -f "/dev/shm/softhca.$SOFTHCA_FABRIC".*' EXIT
    trap 'exit 130' INT TERM
}

# build PROGRAM COMPILER SOURCE [LIBRARIES]: unless it is newer than its source and headers, some of
# which it shares with ucxri_perf
build()
{
    local program=$1 compiler=$2 source=$test_bench/$3 file stale=no
    shift 3
    mkdir -p "$(dirname "$program")" || exit 1
    for file in "$source" "$test_bench"/*.h "$root"/src/tools/ucxri_perf_{progress,state}.h; do
        [ "$program" -nt "$file" ] || stale=yes
    done
    # shellcheck disable=SC2086  # it may have words, as in "ccache gcc"
    [ $stale = no ] || $compiler -O2 -std=gnu11 -o "$program" "$source" "$@" ||
        die "cannot build $source with $compiler"
}

# mpi_command PATTERN NAME...: prints the first of these commands whose version matches
mpi_command()
{
    local pattern=$1 name
    shift
    for name in "$@"; do
        if command -v "$name" >/dev/null && [[ $("$name" --version 2>&1) =~ $pattern ]]; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

# add_mpis NAME..., none: all: builds the MPI programs for those that are installed, adds these to
# suites and found_mpis, and sets mpiexec_of. The names of Debian's commands come before the plain
# ones.
found_mpis=()
declare -A mpiexec_of=()
add_mpis()
{
    local mpi mpicc mpiexec program
    [[ $# -gt 0 && " $* " != *" all "* ]] || set -- mpich openmpi
    for mpi in "$@"; do
        [ "$mpi" != none ] && [ -z "${mpiexec_of[$mpi]:-}" ] || continue
        case $mpi in
        mpich) mpiexec=$(mpi_command 'HYDRA' mpiexec.mpich mpiexec.hydra mpiexec) ;;
        openmpi) mpiexec=$(mpi_command 'Open MPI|OpenRTE' mpirun.openmpi mpirun) ;;
        esac
        mpicc=$(command -v "mpicc.$mpi" || command -v mpicc)
        if [ -z "$mpiexec" ] || [ -z "$mpicc" ]; then
            echo "$mpi is not installed: left out" >&2
            continue
        fi
        for program in mpi_perf mpi_rma mpi_coll; do
            build "$build_dir/bench/$mpi/$program" "$mpicc" $program.c
        done
        mpiexec_of[$mpi]=$mpiexec
        found_mpis+=("$mpi")
        suites+=("$mpi")
    done
}
