# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared
#
# The options that all measuring scripts have:
#   --build-dir DIR  where ucxri was built, or a folder above that, where the latest build counts
#                    (build, below the source); the programs that measure are built there, too
#   --lib PATH       the library (that of the build), or "stock" to run stock in its
#                    place, which shows the noise (not figures.sh)
#   --out DIR        where the results go (named as the script, below the build directory)
#   --cpus A,B       the two cores (the first two that this shell may use)
#   -h, --help       this help
# Exit code: 0 when everything ran, 1 when something failed, 2 for wrong options, 3 for what --strict
# is about, 130 after an interrupt.

# What else such a script needs to run: two cores, the library, programs and MPIs. This file is a
# part of run.sh.

. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# The options, where none is given
mpis=() skip=()
rounds="" sizes="" rows="" lib="" out="" cpus=""
strict=no quick=no add=no
build_dir=$root/build

# read_options SKIPPABLE ARGUMENT...: those of a script that measures; SKIPPABLE are the values of
# --skip. Those of --mpi are in mpis then, and that of --only in set.
read_options()
{
    local mpi=() only=rc
    help_files+=("$bench/prepare.sh")
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

# first_cpus: prints the first two cores that this shell may use
first_cpus()
{
    sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status | tr , '\n' |
        awk -F- '{ for (cpu = $1; cpu <= $NF; cpu++) print cpu }' | sed 2q | paste -sd,
}

# prepare [TARGET]: the cores, the built tree with the programs that measure and TARGET, the library, and
# where the results go
prepare()
{
    command -v taskset >/dev/null || die "taskset is missing (package util-linux)"
    cpus=${cpus:-$(first_cpus)}
    [[ $cpus == *,* ]] || die "two cores are needed, and this shell may use only one"
    cpu0=${cpus%,*} cpu1=${cpus#*,}
    taskset -c "$cpu0" true 2>/dev/null && taskset -c "$cpu1" true 2>/dev/null ||
        misuse "--cpus $cpus: not cores that this shell may use"
    build_dir=$(realpath "$build_dir")
    tree=$(find "$build_dir" -path '*/src/libucxri.so' -printf '%T@ %h\n' 2>/dev/null | sort -n |
           sed -n '$s,^[^ ]* \(.*\)/src$,\1,p')
    [ -n "$tree" ] || die "no src/libucxri.so below $build_dir: build it first, or give --build-dir"
    bin=$tree/test/bin
    . "$tree/test/check/env.sh"
    out=${out:-$build_dir/$(basename "$0" .sh)}
    mkdir -p "$out/logs" || exit 1
    out=$(cd "$out" && pwd)
    rm -f "$out"/logs/*.log
    raw=$out/raw.csv
    summary=$out/summary.csv
    make -C "$tree/test" bench "$@" >"$out/logs/build.log" 2>&1 ||
        die "cannot build what measures, see $out/logs/build.log"
    lib=${lib:-$tree/src/libucxri.so}
    if [ "$lib" != stock ]; then
        [ -r "$lib" ] || die "cannot read the library $lib"
        lib=$(realpath "$lib")
    fi
}

# prepare_host: what measures within a host: the core probe, and the transports of shared memory.
# The settings that the variants have are theirs only.
prepare_host()
{
    prepare
    unset LD_PRELOAD UCX_RNDV_SCHEME MPI_UCX_RNDV_SCHEME
    export UCX_TLS=${UCX_TLS:-posix,sysv,cma,self}
}

# prepare_hca: what measures over the software HCA: the programs, a fabric of its own, a temporary
# directory work, and hca_library, the library's settings there. Both processes are on one host, and
# are to find each other by the network only.
prepare_hca()
{
    [ "$lib" != stock ] || die "--lib stock is for contrib/compare.sh"
    prepare bin/libsofthca.so
    core_probe=no
    perf=$tree/src/ucxri_perf
    hca=$bin/libsofthca.so
    hca_library=(LD_PRELOAD="$lib $hca" UCX_RNDV_SCHEME=recv_init UCXRI_CMA=n UCXRI_RING_PEERS=0
                 UCXRI_IB_DEVICES=softhca0)
    work=$(mktemp -d) || exit 1
    forget_settings
    export SOFTHCA_FABRIC=figures$$ UCX_NET_DEVICES=softhca0:1
    trap 'rm -rf "$work"; rm -f "/dev/shm/softhca.$SOFTHCA_FABRIC".*' EXIT
    trap 'exit 130' INT TERM
}

# add_found SUITE: adds it to suites, if configure has found what runs it
add_found()
{
    local reason=SKIP_${1^^}
    if [ -z "${!reason}" ]; then
        suites+=("$1")
    else
        echo "$1 is left out: ${!reason}" >&2
    fi
}

# add_mpis NAME..., none: all
add_mpis()
{
    local mpi
    [[ $# -gt 0 && " $* " != *" all "* ]] || set -- mpich openmpi
    for mpi in "$@"; do
        [[ " none ${suites[*]} " == *" $mpi "* ]] || add_found "$mpi"
    done
}
