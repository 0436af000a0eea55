#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Writes the lists of source files that the Makefiles include, src/sources.am and
# test/sources.am, from the files that are there, and the list of test scripts from
# contrib/steps.tsv. Run it after adding, removing or renaming a source file or a step.
#
# Usage: contrib/sources.sh [--check]
#   --check   write nothing, fail if a list is out of date
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

check=no
parse_options "$@"
cd "$root"

# list NAME FILES...: one make variable
list()
{
    local name=$1 file
    shift
    echo
    printf '%s =' "$name"
    for file in "$@"; do
        printf ' \\\n    %s' "$file"
    done
    echo
}

# files DIR PATTERN...: the files below DIR, relative to the list's own directory
files()
{
    local top=${1%%/*} dir=$1 pattern
    shift
    [ -d "$dir" ] || return 0
    for pattern in "$@"; do
        find "$dir" -type f -name "$pattern" -printf '%p\n'
    done | sed "s,^$top/,," | sort
}

# groups NAME DIR: the C++ files of each folder in groups of up to eight neighbours, which make
# compiles as one source each: a variable for each group, and one with all of them
groups()
{
    local name=$1 folder group number first size count
    local -a sources=() all=()
    while read -r folder; do
        mapfile -t sources < <(find "$folder" -maxdepth 1 -name '*.cc' | sed 's,^[^/]*/,,' | sort)
        count=$(((${#sources[@]} + 7) / 8))
        for ((number = 0; number < count; ++number)); do
            first=$((${#sources[@]} * number / count))
            size=$((${#sources[@]} * (number + 1) / count - first))
            group=${folder#test/gtest/}
            group=${group//\//_}_$((number + 1))
            list "group_$group" "${sources[@]:first:size}"
            all+=("gtest/groups/$group.cc")
        done
    done < <(find "$2" -name '*.cc' -printf '%h\n' | sort -u)
    list "$name" "${all[@]}"
}

# programs DIR: the names of the C files with a main(); parts DIR: the other ones
programs()
{
    grep -l -E '^int main\(' "$1"/*.c | sed 's,.*/,,; s,\.c$,,' | sort
}

parts()
{
    grep -L -E '^int main\(' "$1"/*.c | sed "s,^${1%%/*}/,," | sort
}

# scripts: the test scripts, in the order of check.sh's steps
scripts()
{
    local step rest
    while read -r step rest; do
        [ ! -e "test/check/$step.test" ] || echo "check/$step.test"
    done <contrib/steps.tsv
}

head_comment()
{
    echo "# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause"
    echo "#"
    echo "# Written by contrib/sources.sh; do not edit."
}

src_lists()
{
    head_comment
    # shellcheck disable=SC2046  # no source file has a blank in its name
    {
        list UCXRI_SRCS $(files src/ucp '*.c'; files src/ucs '*.c'; files src/uct '*.c')
        list UCXRI_HDRS $({ files src/ucp '*.h'; files src/ucs '*.h'; files src/uct '*.h'; } |
                             grep -v '^ucp/api/')
        list UCXRI_API_HDRS $(files src/ucp/api '*.h')
        list UCXRI_WIN_SRCS $(files src/win '*.[ch]')
        list UCXRI_INFO_SRCS $(files src/tools 'ucxri_info*.[ch]')
        list UCXRI_CHECK_SRCS $(files src/tools 'ucxri_check*.[ch]')
        list UCXRI_RUN_SRCS $(files src/tools 'ucxri_run_*.[ch]' 'ucxri_option.h' \
                                   'ucxri_wrap.[ch]')
        list UCXRI_PERF_SRCS $(files src/tools 'ucxri_perf_*.[ch]')
    }
}

test_lists()
{
    head_comment
    # shellcheck disable=SC2046
    {
        list GTEST_COMMON_SRCS $(files test/gtest/common '*.cc' '*.h')
        list GTEST_UCP_SRCS $(files test/gtest/ucp '*.cc' '*.h')
        list GTEST_SOFTHCA_SRCS $(files test/gtest/softhca '*.cc' '*.h')
        list GTEST_UNIT_SRCS $(files test/gtest/unit '*.cc' '*.h')
        groups GTEST_UCP_GROUPS test/gtest/ucp
        groups GTEST_SOFTHCA_GROUPS test/gtest/softhca
        groups GTEST_UNIT_GROUPS test/gtest/unit
        list RNDV_MODEL_SRCS $(files test/model 'rndv_*.cc' 'rndv_*.h')
        list MAILBOX_MODEL_SRCS $(files test/model 'mailbox_*.cc' 'mailbox_*.h')
        list EPOCH_MODEL_SRCS $(files test/model 'epoch_*.cc' 'command_line.h' 'epoch_*.h')
        list MPI_TESTS $(programs test/mpi)
        list MPI_COMMON $(parts test/mpi)
        list MPI_MIX_MODES $(files test/mpi/mix_modes '*.c')
        list MPI_PT2PT_TYPES $(files test/mpi/pt2pt_types '*.c')
        list MPI_WINDOWS $(files test/mpi/windows '*.c')
        list MPI_TYPE_LAYOUTS $(files test/mpi/type_layouts '*.c')
        list MPI_HDRS $(files test/mpi '*.h')
        list BENCH_MPI $(programs test/bench | grep '^mpi_')
        list BENCH_UCP $(programs test/bench | grep -v -E '^(mpi|verbs)_')
        list BENCH_VERBS $(programs test/bench | grep '^verbs_')
        list BENCH_HDRS $(files test/bench '*.h')
        list SOFTHCA_SRCS $(files test/softhca '*.c')
        list SOFTHCA_HDRS $(files test/softhca '*.h')
        list FUZZ_SRCS $(files test/fuzz '*.[ch]')
        list CHECK_TESTS $(scripts)
    }
}

check_list()
{
    if ! diff -u "$2" <($1) >&2; then
        echo "sources.sh: $2 is out of date: run contrib/sources.sh" >&2
        return 1
    fi
}

if [ $check = yes ]; then
    status=0
    check_list src_lists src/sources.am || status=1
    check_list test_lists test/sources.am || status=1
    exit $status
fi
src_lists >src/sources.am.new
test_lists >test/sources.am.new
for am in src/sources.am test/sources.am; do
    # Keep the time stamp of an unchanged list, or everything is configured again
    if cmp -s "$am" "$am.new"; then
        rm "$am.new"
    else
        mv "$am.new" "$am"
        echo "sources.sh: wrote $am"
    fi
done
