#!/bin/sh
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Build and run the MPI test programs under MPICH and Open MPI, on stock UCX and with
# the library preloaded. See README.md and --help.

usage() {
    cat <<'END'
Usage: run.sh [options]
  --mpi mpich|openmpi|all     which MPI (default all, those that are installed)
  --mode LIST                 stock: without the library; recv_init: with it; rtr: with it and
                              UCXRI_RTR=y, only the programs that post long receives early,
                              each of which must have used RTRs; a list with commas, or all
                              (default all if --lib is given, else stock)
  --lib PATH                  libucxri.so; needed for recv_init and rtr
  --tls shm|tcp|all           transports (default: --quick has shm and a few programs
                              on tcp, --long has all)
  --quick | --long            number of runs and iterations (default --quick)
  --filter REGEX              only runs whose line matches, e.g. 'mix_modes.*np=4'
  --ranks LIST                e.g. "2 4" (default by program)
  --seed N                    seed of all programs (default 1)
  --bin-dir DIR               programs, in DIR/mpich and DIR/openmpi (default:
                              build-mpi in the current directory)
  --build                     compile the programs into the bin dir first, then run,
                              unless --no-run is given
  --no-run                    only build
  --log-dir DIR               logs (default <bin-dir>/logs)
  --list                      print the runs, do not start them
  -h, --help                  this text
One line per run, then "N passed, N failed". Exit status 0 if none failed, 1 if some
did, 2 for a usage error. Variables: MPICH_CC, OPENMPI_CC, MPICH_RUN, OPENMPI_RUN name
the compilers and launchers, CFLAGS the compiler flags; UCXRI_*, UCX_* and MPIR_CVAR_*
variables of the caller reach the ranks.
END
}

die() {
    echo "run.sh: $*" >&2
    exit 2
}

# misuse TEXT: ends the script for options that are wrong
misuse() {
    die "$*; see --help"
}

# is_like PATTERN TEXT: all of it
is_like() {
    printf '%s\n' "$2" | grep -Exq -e "$1"
}

src_dir=$(cd "$(dirname "$0")" && pwd) || exit 2
mpis=all
modes=
lib=
tls=default
effort=quick
filter=.
ranks=
seed=1
bin_dir=build-mpi
log_dir=
build=no
run=yes
list=no

while [ $# -gt 0 ]; do
    case $1 in
    --*=*)
        arg=${1#*=} opt=${1%%=*}
        shift
        set -- "$opt" "$arg" "$@"
        ;;
    esac
    case $1 in
    --mpi | --mode | --lib | --tls | --filter | --ranks | --seed | --bin-dir | --log-dir)
        [ $# -ge 2 ] || misuse "$1 needs a value"
        ;;
    esac
    case $1 in
    --mpi) mpis=$2; shift ;;
    --mode) modes=$2; shift ;;
    --lib) lib=$2; shift ;;
    --tls) tls=$2; shift ;;
    --filter) filter=$2; shift ;;
    --ranks) ranks=$2; shift ;;
    --seed) seed=$2; shift ;;
    --bin-dir) bin_dir=$2; shift ;;
    --log-dir) log_dir=$2; shift ;;
    --quick) effort=quick ;;
    --long) effort=long ;;
    --build) build=yes ;;
    --no-run) run=no ;;
    --list) list=yes ;;
    -h | --help) usage; exit 0 ;;
    *) misuse "unknown option $1" ;;
    esac
    shift
done

[ $effort:$tls != long:default ] || tls=all
case $mpis in
all) mpis="mpich openmpi" all_mpis=yes ;;
mpich | openmpi) all_mpis=no ;;
*) misuse "--mpi is mpich, openmpi or all, not $mpis" ;;
esac
[ -n "$modes" ] || { [ -n "$lib" ] && modes=all || modes=stock; }
[ "$modes" != all ] || modes=stock,recv_init,rtr
modes=$(echo "$modes" | tr , ' ')
for mode_name in $modes; do
    case $mode_name in
    stock | recv_init | rtr) ;;
    *) misuse "--mode is stock, recv_init, rtr or all, not $mode_name" ;;
    esac
done
case $tls in
shm | tcp | all | default) ;;
*) misuse "--tls is shm, tcp or all, not $tls" ;;
esac
is_like '[0-9]{1,9}' "$seed" || misuse "--seed is a number of up to nine digits, not $seed"
is_like '([1-9][0-9]{0,2} ?)*' "$ranks" || misuse "--ranks are numbers up to 999, as '2 4', not $ranks"
echo | grep -Eq -e "$filter" 2>/dev/null
[ $? -ne 2 ] || misuse "--filter is no regular expression: $filter"
[ -z "$lib" ] || [ -r "$lib" ] || misuse "cannot read $lib"
case $modes in
*recv_init* | *rtr*)
    [ -n "$lib" ] || die "--mode recv_init and rtr need --lib"
    lib=$(cd "$(dirname "$lib")" && pwd)/$(basename "$lib")
    ;;
esac
mkdir -p "$bin_dir" || exit 2
bin_dir=$(cd "$bin_dir" && pwd)
: "${log_dir:=$bin_dir/logs}"
mkdir -p "$log_dir" || exit 2

first_of() {
    for cmd; do
        if command -v "$cmd" >/dev/null 2>&1; then
            echo "$cmd"
            return
        fi
    done
}

: "${MPICH_CC:=$(first_of mpicc.mpich)}"
: "${MPICH_RUN:=$(first_of mpiexec.hydra mpiexec.mpich)}"
: "${OPENMPI_CC:=$(first_of mpicc.openmpi)}"
: "${OPENMPI_RUN:=$(first_of mpirun.openmpi)}"

programs="mix_modes order pt2pt_types wildcards cancel_trunc many_requests threads
collectives rma selfsend finalize_early compute_first early_receives any_source mem_events
type_layouts type_storm few_runs unreceived disconnect"

# One line per run: program, number of ranks, transports, arguments.
plan_quick() {
    cat <<'END'
mix_modes       2 shm --iters 60
mix_modes       3 shm --iters 30
mix_modes       4 shm --iters 30
order           2 shm --iters 15
order           4 shm --iters 6 --burst 24
pt2pt_types     1 shm --iters 80
pt2pt_types     2 shm --iters 150
pt2pt_types     4 shm --iters 100
type_layouts    1 shm
type_storm      2 shm
few_runs        2 shm
wildcards       3 shm
wildcards       4 shm
early_receives  2 shm
early_receives  4 shm --iters 15
any_source      3 shm --iters 30
cancel_trunc    2 shm
cancel_trunc    3 shm
many_requests   2 shm
many_requests   3 shm --count 2000
threads         2 shm
collectives     2 shm
collectives     4 shm
rma             2 shm
rma             4 shm
selfsend        1 shm
selfsend        2 shm
finalize_early  2 shm
finalize_early  4 shm
finalize_early  2 shm --warm 1 --messages 60 --max-size 30000
finalize_early  2 shm --warm 1 --messages 20 --max-size 30000 --compute 3000
unreceived      2 shm --size 9000
unreceived      4 shm --size 1000000
unreceived      6 shm --warm 1 --size 60000 --all 1
unreceived      2 shm --warm 1 --size 9000
unreceived      2 shm --warm 1 --size 60000 --who 1 --messages 3
unreceived      2 shm --warm 1 --size 60000 --who 2
unreceived      4 shm --warm 1 --size 1000000 --messages 3
disconnect      1 shm
disconnect      1 shm --size 1000000 --children 1
compute_first   2 shm
compute_first   2 shm --size 4096
mem_events      1 shm
mix_modes       2 tcp --iters 30
order           2 tcp --iters 6
pt2pt_types     2 tcp --iters 60
cancel_trunc    2 tcp
many_requests   2 tcp --count 2000
collectives     2 tcp --iters 4
finalize_early  2 tcp
finalize_early  4 tcp --messages 100
unreceived      2 tcp --warm 1 --size 9000
unreceived      2 tcp --size 100
disconnect      1 tcp
rma             2 tcp
END
}

# Programs whose long receives are there before their messages.
plan_rtr() {
    cat <<'END'
mix_modes       2 shm --iters 60
mix_modes       4 shm --iters 30
order           2 shm --iters 30
order           4 shm --iters 12 --burst 24
wildcards       4 shm
few_runs        2 shm
few_runs        2 shm --iters 2 --early 20
early_receives  2 shm
early_receives  4 shm --iters 15
cancel_trunc    2 shm
cancel_trunc    3 shm
threads         2 shm
collectives     4 shm
END
}

# How many RTRs the ranks' reports in a log say were used.
rtrs_used() {
    awk '$1 == "ucxri:recv" && $2 == "rank" {
             for (i = 1; i <= NF; ++i) {
                 column = ($i == "used") ? i : column
             }
         }
         $1 == "ucxri:recv" && $2 != "rank" { line[++lines] = $0 }
         END {
             for (i = 1; i <= lines; ++i) {
                 split(line[i], field)
                 used += field[column]
             }
             print used + 0
         }' "$1"
}

# With a seed of its own per repetition.
plan_long() {
    for prog in $programs; do
        for np in 1 2 3 4; do
            case $prog:$np in
            pt2pt_types:1 | selfsend:1 | mem_events:1 | type_layouts:1 | disconnect:1) ;;
            *:1 | wildcards:2 | mem_events:* | type_layouts:* | disconnect:*) continue ;;
            type_storm:[34]) continue ;;
            compute_first:3 | compute_first:4) continue ;;
            esac
            case $prog in
            mix_modes)
                for i in 1 2 3 4 5; do
                    echo "$prog $np shm --iters 100 --seed $((seed * 100 + i))"
                done
                ;;
            order) echo "$prog $np shm --iters 40" ;;
            pt2pt_types) echo "$prog $np shm --iters 500" ;;
            unreceived)
                for size in 8 5000 9000 30000 100000 300000 1000000; do
                    for who in 1 2 3; do
                        echo "$prog $np shm --warm 1 --size $size --who $who --messages 2"
                    done
                done
                ;;
            *) echo "$prog $np shm" ;;
            esac
        done
    done
}

if [ $build = yes ]; then
    for mpi in $mpis; do
        case $mpi in
        mpich) cc=$MPICH_CC ;;
        *) cc=$OPENMPI_CC ;;
        esac
        if [ -z "$cc" ]; then
            [ $all_mpis = yes ] || die "no compiler for $mpi"
            echo "no compiler for $mpi: not built"
            continue
        fi
        mkdir -p "$bin_dir/$mpi" || exit 2
        for prog in $programs; do
            # MPI_STATUSES_IGNORE of MPICH sets off -Wstringop-overflow in gcc.
            $cc -std=c11 ${CFLAGS--O2 -g -Wall -Wextra -Wno-stringop-overflow} \
                -o "$bin_dir/$mpi/$prog" "$src_dir/$prog.c" "$src_dir/mpitest.c" \
                -lpthread || die "cannot build $prog with $cc"
        done
    done
fi
[ $run = yes ] || exit 0

passed=0 failed=0 skipped=0

# Words for the launcher that set variable $1 to $2 for all ranks.
add_env() {
    case $mpi in
    mpich) launch_env="$launch_env -genv $1 $2" ;;
    *) launch_env="$launch_env -x $1=$2" ;;
    esac
}

# Run one program; sets nothing but the counters.
run_one() {
    mpi=$1 mode=$2 prog=$3 np=$4 transport=$5
    shift 5
    name="$mpi $mode $transport $prog np=$np${*:+ $*}"
    [ "$run_seed" = 1 ] || name="$name --seed $run_seed"
    echo "$name" | grep -Eq -e "$filter" || return 0
    if [ $list = yes ]; then
        echo "$name"
        return 0
    fi

    case $effort:$transport in
    quick:*) limit=90 ;;
    *) limit=300 ;;
    esac

    launch_env=
    case $transport in
    tcp)
        add_env UCX_TLS tcp,self
        add_env UCX_NET_DEVICES lo
        ;;
    esac
    if [ "$mode" != stock ]; then
        add_env UCX_RNDV_SCHEME recv_init
        add_env LD_PRELOAD "$lib"
    fi
    if [ "$mode" = rtr ]; then
        add_env UCXRI_RTR y
        add_env UCXRI_REPORT y
    fi

    case $mpi in
    mpich)
        # hydra hands the caller's environment to the ranks by itself.
        set -- "$MPICH_RUN" -n "$np" $launch_env "$bin_dir/$mpi/$prog" "$@"
        ;;
    openmpi)
        for var in $(env | sed -n 's/^\(UCXRI_[A-Z0-9_]*\)=.*/\1/p
                                   s/^\(UCX_[A-Z0-9_]*\)=.*/\1/p'); do
            case " $launch_env" in
            *" $var="*) ;;
            *) launch_env="$launch_env -x $var" ;;
            esac
        done
        root=
        [ "$(id -u)" != 0 ] || root=--allow-run-as-root
        set -- "$OPENMPI_RUN" $root --oversubscribe --bind-to none \
            --mca mpi_yield_when_idle 1 --mca pml ucx --mca osc "${OMPI_MCA_osc-ucx}" \
            --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any -n "$np" $launch_env \
            "$bin_dir/$mpi/$prog" "$@"
        ;;
    esac

    log=$log_dir/$(echo "$name" | tr -c 'A-Za-z0-9\n' _ | tr -s _).log
    begin=$(date +%s.%N)
    {
        echo "$*"
        echo
    } >"$log"

    # MPICH 4.0.2 on stock UCX hangs in MPI_Finalize over TCP now and then, after an empty
    # program too (see README.md): without the library only a hang in each of several tries is a
    # failure.
    tries=1
    [ "$mpi:$transport:$mode" != mpich:tcp:stock ] || tries=5
    while :; do
        tries=$((tries - 1))
        timeout -k 5 "$limit" "$@" --seed "$run_seed" --hang $((limit - 10)) \
            </dev/null >"$log.out" 2>&1
        status=$?
        cat "$log.out" >>"$log"
        [ $status -ne 0 ] && [ $tries -gt 0 ] && grep -q "^PASS $prog " "$log.out" &&
            grep -q '^HANG .* at: MPI_Finalize$' "$log.out" || break
        echo "run.sh: hang in MPI_Finalize, trying again" >>"$log"
    done
    rm -f "$log.out"
    seconds=$(echo "$(date +%s.%N) $begin" | awk '{ printf "%.1f", $1 - $2 }')
    if [ "$mode:$status" = rtr:0 ] && grep -q "^PASS $prog " "$log" &&
        [ "$(rtrs_used "$log")" -eq 0 ]; then
        echo "FAIL $prog: no RTR was used" >>"$log"
        status=3
    fi

    # UCX 1.18 with assertions does not take messages that nobody received, see README.md
    ended_by_ucx=no
    [ "$mode:$prog" != stock:unreceived ] ||
        ! grep -q "Assertion .region->refcount == 0. failed" "$log" || ended_by_ucx=yes
    if [ $ended_by_ucx = yes ]; then
        skipped=$((skipped + 1))
        echo "skip ${seconds}s $name (UCX ends the process)"
    elif [ $status -eq 0 ] && grep -q "^PASS $prog " "$log"; then
        passed=$((passed + 1))
        echo "ok   ${seconds}s $name"
    elif [ $status -eq 0 ] && grep -q "^SKIP $prog" "$log"; then
        skipped=$((skipped + 1))
        echo "skip ${seconds}s $name ($(sed -n "s/^SKIP $prog: //p" "$log"))"
    else
        failed=$((failed + 1))
        [ $status -ne 124 ] || echo "run.sh: no end after $limit s" >>"$log"
        echo "FAIL ${seconds}s $name (status $status, log $log)"
        grep -E '^(FAIL|HANG) ' "$log" | head -n 4 | sed 's/^/       /'
    fi
}

for mpi_name in $mpis; do
    case $mpi_name in
    mpich) launcher=$MPICH_RUN ;;
    *) launcher=$OPENMPI_RUN ;;
    esac
    if [ -z "$launcher" ]; then
        [ $all_mpis = yes ] || die "no launcher for $mpi_name"
        skipped=$((skipped + 1))
        echo "skip $mpi_name is not installed"
        continue
    fi
    for mode_name in $modes; do
        case $mode_name:$effort in
        rtr:*) plan=$(plan_rtr) ;;
        *:quick) plan=$(plan_quick) ;;
        *) plan=$(plan_long) ;;
        esac
        # The here document keeps the loop, and its counters, in this shell.
        while read -r prog np transport args; do
            case $tls:$transport in
            default:*) list_tls=$transport ;;
            shm:shm) list_tls=shm ;;
            tcp:shm) list_tls=tcp ;;
            all:shm) list_tls="shm tcp" ;;
            *) continue ;;
            esac
            run_seed=$seed
            case $args in
            *--seed*)
                run_seed=${args##*--seed }
                args=${args%--seed *}
                ;;
            esac
            for n in ${ranks:-$np}; do
                for t in $list_tls; do
                    # Connections over TCP need progress on both sides, and MPICH's
                    # MPI_Finalize hangs there without the library (see run_one).
                    case $mpi_name:$prog:$t in
                    *:compute_first:tcp) continue ;;
                    mpich:finalize_early:tcp) [ "$mode_name" != stock ] || continue ;;
                    # Wrong on stock, see README.md
                    mpich:type_storm:*) [ "$mode_name" != stock ] || args="--packed 0" ;;
                    # UCX 1.18 buffers less
                    *:finalize_early:*) [ "$mode_name" != stock ] || args="$args --buffered 4096" ;;
                    esac
                    run_one "$mpi_name" "$mode_name" "$prog" "$n" "$t" $args
                done
            done
        done <<END
$plan
END
    done
done

[ $list = no ] || exit 0
[ $((passed + failed + skipped)) -gt 0 ] || die "nothing was selected"
printf '%d passed, %d failed' $passed $failed
[ $skipped -eq 0 ] || printf ', %d skipped' $skipped
echo
[ $failed -eq 0 ]
