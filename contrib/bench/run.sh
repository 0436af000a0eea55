# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared
#
# What runs the points of points.tsv and judges them, for contrib/compare.sh, contrib/matrix.sh and
# contrib/figures.sh. A script that sources this sets
#
#   set              its lines of points.tsv
#   suites           what it measures; a suite is a program, or an MPI with its programs
#   timing           options for how long the programs measure
#   raw, summary     the files of the samples and of their medians, where they are not raw.csv and
#                    summary.csv
#   analysis         what awk has to run on the samples, where it is not analyse.awk
#   suite_variants SUITE    prints the variants of a suite
#   variant_env VARIANT     sets env_args, the environment of a variant as arguments of env, unless
#                           it is that within a host

. "$(dirname "${BASH_SOURCE[0]}")/prepare.sh"

bench=$root/contrib/bench
suites=()
declare -A titles=([perf]=UCP [mpich]=MPICH [openmpi]="Open MPI")
analysis=(-f "$bench/analyse.awk" "$bench/budgets.tsv")
core_probe=yes # the samples depend on how far the two cores are apart
launch_limit=120
lacking=() # while rounds are repeated: the suites that need it, or their samples

# Stock with each of its schemes, Open MPI without UCX (ob1), the library as it is (ring), without
# rings (am) and with an RTR for each receive (rtr)
variant_env()
{
    env_args=()
    case $1 in
    stock_get) env_args+=(UCX_RNDV_SCHEME=get_zcopy) ;;
    stock_put) env_args+=(UCX_RNDV_SCHEME=put_zcopy) ;;
    ring | am | rtr)
        [ "$lib" != stock ] || return 0
        env_args+=(LD_PRELOAD="$lib" UCX_RNDV_SCHEME=recv_init)
        [ "$1" != am ] || env_args+=(UCXRI_RING_PEERS=0)
        [ "$1" != rtr ] || env_args+=(UCXRI_RTR=y)
        ;;
    esac
}

# wants PROGRAM VARIANT BENCHMARK SIZE: whether it is to be measured, by --sizes and --rows. While
# rounds are repeated, the matrix names each sample that lacks, with the benchmark's name of a RESULT
# line, but the table the suite only.
wants()
{
    local ranks="" all
    [ -z "$sizes" ] || [[ $4 == all || ,$sizes, == *,$4,* ]] || return
    [[ -z $rows || $3 =~ ^($rows)$ ]] || return
    [[ ${lacking[0]-} == *" "* ]] || return 0
    [[ $1 != *:* ]] || ranks=:${1#*:}
    printf -v all '%s;' "${lacking[@]}"
    [[ ";$all" == *";$suite $2 "?(mpi_|coll_)"$3$ranks $4;"* ]]
}

# sized_points PROGRAM VARIANT: sets points, BENCHMARK=SIZES each, of the sizes that are asked for
sized_points()
{
    local program=$1 variant=$2 of programs variants names name short long size list
    points=()
    while IFS=$'\t' read -r of programs variants names short long; do
        [[ ,$of, == *,$set,* && ,$programs, == *,$program,* && ,$variants, =~ ,(all|$variant), ]] ||
            continue
        [ $quick = no ] || long=$short
        IFS=, read -ra names <<<"$names"
        for name in "${names[@]}"; do
            list=
            for size in ${long//,/ }; do
                [ "$size" = - ] || ! wants "$program" "$variant" "$name" "$size" || list+=,$size
            done
            [ -z "$list" ] || points+=("$name=${list#,}")
        done
    done <"$bench/points.tsv"
}

# The total counts the rounds that are sure to come. What is repeated has a count of its own, which is
# as long as it may become. Variants take different times, so only whole rounds tell how long all takes.
show_progress()
{
    local suite=$1 variant=$2 now=$((SECONDS - start_time)) left="" part
    if [ "$round" -le "$last_sure" ]; then
        part="[$step/$steps] round $round of $last_sure"
        [ $in_all -le $now ] || left=$((in_all - now))
    else
        part="[$steps/$steps] what was disturbed once more, $((round - last_sure)) of up to $rounds"
    fi
    if [ -t 2 ]; then
        printf '\r\033[K%s: %s %s, %d s%s' "$part" "$suite" "$variant" $now \
            "${left:+, about $left s left}" >&2
    elif [ "$suite" != "$last_suite" ]; then
        printf '%s: %s, %d s\n' "$part" "$suite" $now >&2
    fi
    last_suite=$suite
}

end_progress()
{
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

# note_failure SUITE VARIANT TEXT LOG
failures=0
declare -A failed=()
note_failure()
{
    failures=$((failures + 1))
    failed[$1,$2]=$((${failed[$1,$2]:-0} + 1))
    end_progress
    echo "FAILED: $1, $2: $3; see $4" >&2
    sed -n 's/^/    /; 1,5p' "$4" >&2
}

# add_samples SUITE VARIANT LOG: those of the RESULT lines; false if there are none
add_samples()
{
    awk -v round="$round" -v suite="$1" -v variant="$2" -v probe=$core_probe -v OFS=, '
        $1 == "RESULT" {
            print round, variant, suite, $2, $3, $4, $5, probe == "yes" ? $6 : 0
            n++
        }
        END { exit !n }' "$3" >>"$raw"
}

# run_logged SUITE VARIANT NAME COMMAND...: adds the samples of a command that prints RESULT lines
run_logged()
{
    local suite=$1 variant=$2 name=$3 log=$out/logs/$1.$2.$3.$round.log
    shift 3
    if ! "$@" >"$log" 2>&1 </dev/null || ! add_samples "$suite" "$variant" "$log"; then
        note_failure "$suite" "$variant" "$name" "$log"
        return 1
    fi
    rm -f "$log"
}

# launch MPI PROGRAM ARGUMENTS...: in the environment env_args, of the variant if there is one.
# PROGRAM:N has N ranks, else there are two.
#
# Ranks are pinned by taskset, each by itself, because binding options are silently without effect
# in some containers; env comes after the launcher, so that only the ranks see the library. More ranks
# are pinned in turns, so that pairs are always on two cores: where the kernel puts them is by far
# what counts most otherwise. They give the cores away while they wait: Open MPI has an option for
# that, MPICH a library in front of what is preloaded.
launch()
{
    local mpi=$1 program=$bin/$1/bench/${2%:*} launcher=$MPIEXEC_MPICH ranks=2 args=() settings preload
    settings=("${env_args[@]}")
    [[ $2 != *:* ]] || ranks=${2#*:}
    shift 2
    if [ "$mpi" = openmpi ]; then
        launcher=$MPIRUN_OPENMPI
        [ "$(id -u)" -ne 0 ] || args+=(--allow-run-as-root)
        args+=(--host "localhost:$ranks" --bind-to none)
        [ "${variant-}" != ob1 ] || args+=(--mca pml ob1 --mca btl "self,vader")
        [ "${variant-}" = ob1 ] ||
            args+=(--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any)
        [ "$ranks" -eq 2 ] || args+=(--mca mpi_yield_when_idle 1)
    else
        args+=(-bind-to none)
    fi
    if [ "$ranks" -gt 2 ] && [ "$mpi" != openmpi ]; then
        preload=$(printf '%s\n' "${settings[@]}" | sed -n 's/^LD_PRELOAD=/ /p')
        settings+=(LD_PRELOAD="$bin/bench/idle_yield.so$preload")
    fi
    # Not a command for each rank: with several the launcher of Open MPI 5.0.7 crashes
    # shellcheck disable=SC2016  # that shell expands
    args+=(-n "$ranks" bash -c '[ $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % 2)) -eq 0 ] &&
                                cores=$0 || cores=$1
                                exec taskset -c "$cores" "${@:2}"'
        "$cpu0" "$cpu1" env "${settings[@]}" "$program" "$@")
    timeout --foreground "$launch_limit" "$launcher" "${args[@]}" </dev/null
}

# run_ucxri_perf BENCHMARK SIZES: prints its results as RESULT lines without core probes. A
# configuration of progress is written as mpi_perf has it.
run_ucxri_perf()
{
    local csv=$work/perf.csv
    # shellcheck disable=SC2086  # options are words
    timeout --foreground 280 env "${env_args[@]}" "$perf" ${1/:/ --config } --sizes "$2" \
        --csv "$csv" --cpus "$cpu0,$cpu1" "${timing[@]}" &&
        awk -F, '
            FNR > 1 && $1 != "progress" { print "RESULT", "perf_" $1, $3, $5, $8, 0 }
            FNR > 1 && $1 == "progress" {
                print "RESULT", "progress:" $4, $3, $5, $8, 0
                print "RESULT", "ideal:" $4, $3, $13, $8, 0
                print "RESULT", "work:" $4, $3, $12, $8, 0
            }' "$csv"
}

# run_suite SUITE VARIANT: all its points. A program that failed is the last one.
run_suite()
{
    local suite=$1 variant=$2 program point
    local programs="mpi_perf mpi_perf:4 mpi_coll:2 mpi_coll:4 mpi_coll:8 mpi_coll:16 control"
    case $suite in
    perftest) programs=ucx_perftest ;;
    ucp) programs=tag_match ;;
    perf | ud) programs=ucxri_perf ;;
    # Debian's settings of Open MPI leave its osc/ucx out, and osc/rdma does without UCP
    mpich) skips rma || programs="mpi_rma $programs" ;;
    esac
    variant_env "$variant"
    for program in $programs; do
        sized_points "$program" "$variant"
        [ ${#points[@]} -gt 0 ] || continue
        case $program in
        ucx_perftest) run_perftest "$variant" ;;
        tag_match)
            run_logged "$suite" "$variant" tag_match timeout --foreground 120 taskset -c "$cpu0" \
                env "${env_args[@]}" "$bin/bench/tag_match" -t "$seconds"
            ;;
        control)
            # Neither placement nor noise changes a number of messages: once is enough
            [ "$round" -ne "$last_sure" ] || [ "$lib" = stock ] ||
                run_logged "$suite" "$variant" control count_control "$suite" "$variant"
            ;;
        ucxri_perf)
            for point in "${points[@]}"; do
                run_logged "$suite" "$variant" "${point%%[ :=]*}" \
                    run_ucxri_perf "${point%=*}" "${point#*=}"
            done
            ;;
        *)
            run_logged "$suite" "$variant" "$program" \
                launch "$suite" "$program" "${timing[@]}" "${points[@]}"
            ;;
        esac || return
    done
}

# run_round SUITE...: every variant once. Who goes first changes from round to round, so that what
# drifts with time favours nobody.
run_round()
{
    local suite variant variants i
    for suite in "$@"; do
        read -ra variants <<<"$(suite_variants "$suite")"
        for ((i = 0; i < ${#variants[@]}; i++)); do
            variant=${variants[(i + round - 1) % ${#variants[@]}]}
            show_progress "$suite" "$variant"
            step=$((step + 1))
            # What failed twice will fail again
            [ "${failed[$suite,$variant]:-0}" -ge 2 ] || run_suite "$suite" "$variant"
        done
    done
}

# run_rounds: all suites. With --add the samples that are there stay.
run_rounds()
{
    local first_round=1 suite
    [ ${#suites[@]} -gt 0 ] || die "nothing left to measure"
    if [ $add = yes ] && [ -s "$raw" ]; then
        first_round=$(($(tail -n +2 "$raw" | cut -d, -f1 | sort -n | tail -1) + 1))
    else
        echo "round,variant,where,bench,size,value,unit,core_ns" >"$raw"
    fi
    last_sure=$((first_round + rounds - 1))
    last_suite="" in_all=0 step=0
    steps=$((rounds * $(for suite in "${suites[@]}"; do suite_variants "$suite"; done | wc -w)))
    start_time=$SECONDS
    busy=$(cores_busy)
    for ((round = first_round; round <= last_sure; round++)); do
        run_round "${suites[@]}"
        in_all=$(((SECONDS - start_time) * rounds / (round - first_round + 1)))
    done
    end_progress
}

# analyse OPTION...: of awk, as the analysis has them
analyse()
{
    awk -v rounds="$rounds" -v summary="$summary" "$@" -f "$bench/stats.awk" "${analysis[@]}" "$raw"
}

# repeat_moved: more rounds, up to as many again, of the suites whose samples were taken in different
# places. The analysis names them, one a line; what follows a name is for wants().
repeat_moved()
{
    local again
    while [ $failures -eq 0 ] && [ "$round" -le $((2 * rounds)) ]; do
        mapfile -t lacking < <(analyse -v need=1 | sort -u)
        [ ${#lacking[@]} -gt 0 ] || break
        mapfile -t again < <(printf '%s\n' "${lacking[@]%% *}" | uniq)
        run_round "${again[@]}"
        round=$((round + 1))
    done
    end_progress
}

# core_ping: prints the time of the core probe
core_ping()
{
    "$bin/bench/core_ping" "$cpu0" "$cpu1" | awk '{ print $6 }'
}

# cores_busy: prints the ticks of all processes on the two cores but this script and its children
cores_busy()
{
    { sed "s/^.*)/own/" /proc/$$/stat; cat /proc/stat; } | awk -v a="cpu$cpu0" -v b="cpu$cpu1" '
        $1 == "own" { sum -= $13 + $14 + $15 + $16 }
        $1 == a || $1 == b { sum += $2 + $3 + $4 + $7 + $8 }
        END { print sum + 0 }'
}

# say_end: how long the measurement took, what others did meanwhile, and where the results are
say_end()
{
    local ticks=$(((SECONDS - start_time) * 2 * $(getconf CLK_TCK))) others=$(($(cores_busy) - busy))
    echo
    others=$((ticks > 0 && others > 0 ? 100 * others / ticks : 0))
    echo "$((SECONDS - start_time)) s; other processes used $others % of the two cores"
    [ $others -lt 10 ] || echo "the machine was not idle: expect noise"
    echo "all samples: $raw"
    echo "summary:     $summary"
}

# judge ALL: prints the table and the budgets that are missed; ALL=yes: whatever was to be measured
# must have been. Sets missed, which is 0 if none is.
judge()
{
    local suite variant expect=
    for suite in "${suites[@]}"; do
        [ "$1" = yes ] || continue
        for variant in $(suite_variants "$suite"); do
            expect+=" $suite:$variant"
        done
    done
    analyse -v expect="$expect"
    missed=$?
    [ $missed -eq 0 ] || [ $missed -eq 3 ] || die "the analysis failed"
}

# finish: ends the script with its exit code
finish()
{
    [ $failures -eq 0 ] || die "$failures runs FAILED, see above"
    [ $strict = no ] || [ $missed -eq 0 ] || exit 3
    exit 0
}

# chart FILE TITLE WHERE BENCH VARIANT=LABEL...: a chart of the samples whose benchmark matches
# BENCH; what has no samples is left out. Of several variants, with + between them, the best one
# counts.
chart()
{
    local file=$1 title=$2 where=$3 pattern=$4 files=() part csv
    shift 4
    for part in "$@"; do
        csv=$work/${part%%=*}.csv
        awk -v where="$where" -v variant="${part%%=*}" -v pattern="$pattern" \
            -f "$bench/stats.awk" -f "$bench/series.awk" "$raw" >"$csv"
        [ "$(wc -l <"$csv")" -lt 2 ] || files+=("${part#*=}=$csv")
    done
    [ ${#files[@]} -eq 0 ] || "$perf" chart --svg "$out/$file.svg" --title "$title" "${files[@]}" ||
        die "no chart $file.svg"
}
