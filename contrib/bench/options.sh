# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared
#
# The options of the measuring scripts, and what they need to run: two cores, the library, programs
# and MPIs. It is a part of run.sh.

die()
{
    echo "${0##*/}: $*" >&2
    exit 1
}

# misuse TEXT: ends the script for options that are wrong
misuse()
{
    echo "${0##*/}: $*; see --help" >&2
    exit 2
}

# usage: the script's head comment
usage()
{
    sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
}

# The options, where none is given
mpis=()
skip=" "
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

# option_value OPTION VALUE SKIPPABLE
option_value()
{
    case $1 in
    --mpi)
        case $2 in
        mpich | openmpi | none) mpis+=("$2") ;;
        all) mpis+=(mpich openmpi) ;;
        *) misuse "--mpi $2: expected mpich, openmpi, all or none" ;;
        esac
        ;;
    --only)
        [[ $2 =~ ^(rc|ud)$ ]] || misuse "--only $2: expected rc or ud"
        set=$2
        ;;
    --skip)
        [[ " $3 " == *" $2 "* ]] || misuse "--skip $2: expected ${3// / or }"
        skip+="$2 "
        ;;
    --rounds)
        [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || misuse "--rounds $2: expected a number"
        rounds=$2
        ;;
    --sizes)
        [[ $2 =~ ^[0-9]+(,[0-9]+)*$ ]] || misuse "--sizes $2: expected numbers"
        sizes=$2
        ;;
    --rows)
        [[ $2 =~ ^(latency|used|bw|bibw|rate|fast|progress|coll|,)+$ ]] ||
            misuse "--rows $2: expected some of latency,used,bw,bibw,rate,fast,progress,coll"
        rows=$2
        ;;
    --build-dir) build_dir=$2 ;;
    --lib) lib=$2 ;;
    --out) out=$2 ;;
    --cpus)
        [[ $2 =~ ^[0-9]+,[0-9]+$ ]] || misuse "--cpus $2: expected A,B"
        cpus=$2
        ;;
    esac
}

# parse_options KNOWN SKIPPABLE OPTION...: KNOWN are the options of this script beside those that
# all have, SKIPPABLE the values of --skip
parse_options()
{
    local skippable=$2
    local known=" --quick --rounds --build-dir --lib --out --cpus --strict -h --help $1 "
    shift 2
    while [ $# -gt 0 ]; do
        [[ $known == *" $1 "* ]] || misuse "unknown option '$1'"
        case $1 in
        --quick) quick=yes ;;
        --add) add=yes ;;
        --strict) strict=yes ;;
        -h | --help) usage; exit 0 ;;
        *)
            [ $# -ge 2 ] || misuse "$1 needs a value"
            option_value "$1" "$2" "$skippable"
            shift
            ;;
        esac
        shift
    done
}

# skips NAME: whether --skip NAME was given
skips()
{
    [[ $skip == *" $1 "* ]]
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

# prepare FOLDER: the cores, the library and the directory of the results, FOLDER by default
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
    out=${out:-$build_dir/$1}
    mkdir -p "$out/logs" || exit 1
    out=$(cd "$out" && pwd)
    rm -f "$out"/logs/*.log
}

# prepare_hca: what measures over the software HCA: the programs, a fabric of its own, and a
# temporary directory work
prepare_hca()
{
    [ "$lib" != stock ] || die "--lib stock is for contrib/compare.sh"
    perf=$(find_built '*/src/ucxri_perf' "build it first") || exit 1
    hca=$(find_built '*/test/bin/libsofthca.so' "make check-build first") || exit 1
    work=$(mktemp -d) || exit 1
    forget_settings
    export SOFTHCA_FABRIC=figures$$ UCX_NET_DEVICES=softhca0:1
    trap 'rm -rf "$work"; rm -f "/dev/shm/softhca.$SOFTHCA_FABRIC".*' EXIT
    trap 'exit 130' INT TERM
}

# forget_settings: only the settings of the variants may differ between them
forget_settings()
{
    local var
    for var in $(compgen -e); do
        case $var in
        UCX_* | UCXRI_* | MPI_UCX_* | SOFTHCA_* | LD_PRELOAD) unset "$var" ;;
        esac
    done
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

# add_mpis NAME..., or all: builds the MPI programs for those that are installed, adds these to suites and
# found_mpis, and sets mpiexec_of. The names of Debian's commands come before the plain ones.
found_mpis=()
declare -A mpiexec_of=()
add_mpis()
{
    local mpi mpicc mpiexec program
    [ $# -gt 0 ] || set -- mpich openmpi
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
