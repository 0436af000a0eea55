# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared with who sources this
#
# What contrib/compare.sh and contrib/figures.sh have in common: where things run and with
# what, the MPIs, samples and failures. Who sources this sets root, bench_src and the variables
# of the options: cpus, lib, build_dir, out; and raw, the file of the samples.

die()
{
    echo "${0##*/}: $*" >&2
    exit 1
}

# value_of OPTION VALUE...: the value, if there is one
value_of()
{
    [ $# -ge 2 ] || die "$1 needs a value"
    echo "$2"
}

# The two cores, cpu0 and cpu1: those of cpus, or the first two that this shell may use
choose_cpus()
{
    [ -n "$cpus" ] || cpus=$(awk '/^Cpus_allowed_list/ {
        n = split($2, range, ",")
        for (i = 1; i <= n; i++) {
            split(range[i], end, "-")
            for (c = end[1] + 0; c <= (range[i] ~ /-/ ? end[2] : end[1]) + 0; c++) {
                list = list (count++ ? "," : "") c
                if (count == 2) {
                    print list
                    exit
                }
            }
        }
    }' /proc/self/status)
    [[ $cpus == *,* ]] || die "two cores are needed, and this shell may use only one"
    cpu0=${cpus%,*}
    cpu1=${cpus#*,}
}

# The library: lib, or the latest one below build_dir
find_library()
{
    if [ -z "$lib" ]; then
        lib=$(find "$build_dir" -path '*/src/.libs/libucxri.so' -printf '%T@ %p\n' \
              2>/dev/null | sort -rn | sed -n '1s/^[^ ]* //p')
        [ -n "$lib" ] || die "no libucxri.so below $build_dir: build it first, or" \
                             "give --build-dir or --lib"
    fi
    if [ "$lib" != stock ]; then
        [ -r "$lib" ] || die "cannot read the library $lib"
        lib=$(realpath "$lib")
    fi
}

# The command of an MPI: Debian's name, or the plain one if it is that MPI
mpi_command()
{
    local pattern=$1 name
    shift
    for name in "$@"; do
        if command -v "$name" >/dev/null &&
           [[ $("$name" --version 2>&1) =~ $pattern ]]; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

mpi_find()
{
    case $1 in
    mpich)
        mpicc=$(command -v mpicc.mpich || command -v mpicc) &&
        mpiexec=$(mpi_command 'HYDRA' mpiexec.mpich mpiexec.hydra mpiexec)
        ;;
    openmpi)
        mpicc=$(command -v mpicc.openmpi || command -v mpicc) &&
        mpiexec=$(mpi_command 'Open MPI|OpenRTE' mpirun.openmpi mpirun)
        ;;
    esac
}

# build PROGRAM COMPILER SOURCE [LIBRARIES]
build()
{
    local program=$1 compiler=$2 source=$3
    shift 3
    mkdir -p "$(dirname "$program")" || exit 1
    # Headers of its own, and the one that mpi_perf shares with ucxri_perf
    if [ "$program" -nt "$source" ] && [ "$program" -nt "$bench_src/bench.h" ] &&
       [ "$program" -nt "$bench_src/bench_mpi.h" ] &&
       [ "$program" -nt "$root/src/tools/ucxri_perf_progress.h" ]; then
        return 0
    fi
    "$compiler" -O2 -std=gnu11 -o "$program" "$source" "$@" ||
        die "cannot build $source with $compiler"
}

# add_mpis NAME...: build mpi_perf and mpi_rma for those that are installed; sets suites and
# mpiexec_of
declare -A mpiexec_of
add_mpis()
{
    local mpi
    for mpi in "$@"; do
        [ "$mpi" != none ] && [ -z "${mpiexec_of[$mpi]:-}" ] || continue
        if mpi_find "$mpi"; then
            build "$build_dir/bench/$mpi/mpi_perf" "$mpicc" "$bench_src/mpi_perf.c"
            build "$build_dir/bench/$mpi/mpi_rma" "$mpicc" "$bench_src/mpi_rma.c"
            mpiexec_of[$mpi]=$mpiexec
            suites+=("$mpi")
        else
            echo "$mpi is not installed: left out" >&2
        fi
    done
}

show_progress()
{
    local now=$SECONDS left
    left=$((step > 0 ? (now - start_time) * (steps - step) / step : 0))
    if [ -t 2 ]; then
        printf '\r\033[K[%d/%d] round %d of %d: %s %s, %d s, about %d s left' \
               "$step" "$steps" "$round" "$last_round" "$1" "$2" \
               $((now - start_time)) "$left" >&2
    elif [ "$1 $2" != "${last_shown:-}" ] && [ "$2" = stock ]; then
        printf '[%d/%d] round %d of %d: %s, %d s\n' "$step" "$steps" "$round" \
               "$last_round" "$1" $((now - start_time)) >&2
    fi
    last_shown="$1 $2"
}

end_progress()
{
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

failures=0
declare -A failed
note_failure()
{
    local suite=$1 variant=$2 what=$3 log=$4
    failures=$((failures + 1))
    failed[$suite,$variant]=$((${failed[$suite,$variant]:-0} + 1))
    end_progress
    echo "FAILED: $suite, $variant: $what; see $log" >&2
    sed -n 's/^/    /; 1,5p' "$log" >&2
}

# Turn the RESULT lines of a log into samples
add_samples()
{
    local suite=$1 variant=$2 log=$3
    awk -v round="$round" -v variant="$variant" -v suite="$suite" '
        $1 == "RESULT" {
            printf "%d,%s,%s,%s,%s,%s,%s,%s\n", round, variant, suite, $2, $3, $4,
                   $5, $6
            n++
        }
        END { exit n ? 0 : 1 }' "$log" >>"$raw"
}

# launch MPI ARGUMENTS...: mpi_perf, or mpi_program, with the environment of the variant.
#
# Both ranks are pinned by taskset as two programs of one job, because binding options are
# silently without effect in some containers; env comes after the launcher, so that only
# the ranks see the library
launch()
{
    local mpi=$1 args=() rank
    shift
    if [ "$mpi" = openmpi ]; then
        [ "$(id -u)" -ne 0 ] || args+=(--allow-run-as-root)
        args+=(--host localhost:2 --bind-to none --mca pml ucx
               --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any)
    else
        args+=(-bind-to none)
    fi
    for rank in "$cpu0" "$cpu1"; do
        args+=(-n 1 taskset -c "$rank" env "${env_args[@]}"
               "$build_dir/bench/$mpi/${mpi_program:-mpi_perf}" "$@" :)
    done
    unset 'args[-1]'
    timeout --foreground 120 "${mpiexec_of[$mpi]}" "${args[@]}" </dev/null
}

# find_built PATTERN: the latest one below the build directory
find_built()
{
    find "$build_dir" -path "$1" -type f -printf '%T@ %p\n' 2>/dev/null | sort -rn |
        sed -n '1s/^[^ ]* //p'
}

# Only what the variants set may differ between them
forget_settings()
{
    local var
    for var in $(compgen -e); do
        case $var in
        UCX_* | UCXRI_* | MPI_UCX_* | SOFTHCA_* | LD_PRELOAD) unset "$var" ;;
        esac
    done
}

# series WHERE VARIANT BENCH: the samples of one line of a chart, in the form of ucxri_perf
series()
{
    awk -F, -v where="$1" -v variant="$2" -v bench="$3" -v OFS=, '
        function quantile(v, n, q,    pos, low) {
            pos = 1 + (n - 1) * q
            low = int(pos)
            return (low >= n) ? v[n] : v[low] + (v[low + 1] - v[low]) * (pos - low)
        }
        # The quantiles of the samples of one key: sets q[1..3]
        function summarise(key,    i, j, x, v) {
            for (i = 1; i <= count[key]; i++) {
                x = sample[key, i]
                for (j = i - 1; j >= 1 && v[j] > x; j--) {
                    v[j + 1] = v[j]
                }
                v[j + 1] = x
            }
            for (i = 1; i <= 3; i++) {
                q[i] = quantile(v, count[key], i / 4)
            }
        }
        BEGIN {
            print "bench,library,size,config,median,q1,q3,unit,batches,disturbed,core_ns," \
                  "extra1_us,extra2_us"
            n = split(bench, wanted, " ")
        }
        FNR > 1 && $2 == variant && $3 == where {
            key = $4 SUBSEP $5
            if (!(key in count)) {
                order[++keys] = key
            }
            sample[key, ++count[key]] = $6
            unit[key] = $7
        }
        END {
            for (i = 1; i <= n; i++) {
                for (k = 1; k <= keys; k++) {
                    split(order[k], part, SUBSEP)
                    if (part[1] != wanted[i]) {
                        continue
                    }
                    name = part[1]
                    config = work = ideal = ""
                    if (sub(/^progress:/, "", name)) {
                        config = name
                        name = "progress"
                        summarise("work:" config SUBSEP part[2])
                        work = q[2]
                        summarise("ideal:" config SUBSEP part[2])
                        ideal = q[2]
                    } else {
                        sub(/^(perf|mpi)_/, "", name)
                        sub(/^bw$/, "bandwidth", name)
                    }
                    summarise(order[k])
                    print name, variant, part[2], config, q[2], q[1], q[3],
                          unit[order[k]], count[order[k]], 0, 0, work, ideal
                }
            }
        }' "$raw"
}
