# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034  # variables are shared with the scripts that source this
#
# What the scripts here have in common: the folder that they are in, how they end, and options. A
# script's help is its head comment, and its options are those that begin a line there. Each has a
# variable of its name, with _ for -, which the script sets to what holds without the option.
# parse_options puts the option's value there, or "yes" if it takes none.

export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2
help_files=("$(readlink -f "${BASH_SOURCE[-1]}")")
die_code=1

# die TEXT: ends the script
die()
{
    echo "${0##*/}: $*" >&2
    exit $die_code
}

# misuse TEXT: ends the script for options that are wrong
misuse()
{
    die_code=2
    die "$*; see --help"
}

# usage: prints the help
usage()
{
    sed -s -n '4,/^\([^#]\|$\)/s/^# \{0,1\}//p' "${help_files[@]}"
}

# expect OPTION PATTERN TEXT: its value has to match, or the text says what is expected
declare -A value_pattern=() value_text=()
expect()
{
    value_pattern[$1]=$2
    value_text[$1]=$3
}

# set_option NAME VALUE: sets its variable. An array gets one more value: the option may be repeated.
set_option()
{
    local -n variable=$1
    if [[ $(declare -p "$1") == "declare -a"* ]]; then
        variable+=("$2")
    else
        # shellcheck disable=SC2178  # it is none here
        variable=$2
    fi
}

# parse_options ARGUMENT...: those of the script. A script that takes another argument than options
# has a variable operand for it.
parse_options()
{
    local help name
    help=$(usage)
    while [ $# -gt 0 ]; do
        name=${1#-}
        name=${name#-}
        name=${name//-/_}
        if [[ $1 =~ ^(-h|--help)$ ]]; then
            usage
            exit 0
        elif [[ $1 != -* && -v operand ]]; then
            operand=$1
        elif [[ ! $1 =~ ^--?[a-z][a-z-]*$ || $help != *$'\n'"  $1 "* ]]; then
            misuse "unknown option '$1'"
        # A blank behind the option, and no second one
        elif [[ $help != *$'\n'"  $1 "[^\ ]* ]]; then
            set_option "$name" yes
        elif [ $# -lt 2 ]; then
            misuse "$1 needs a value"
        elif [[ -v value_pattern[$1] && ! $2 =~ ^(${value_pattern[$1]})$ ]]; then
            misuse "$1 $2: expected ${value_text[$1]}"
        else
            set_option "$name" "$2"
            shift
        fi
        shift
    done
}

# forget_settings: only what a script sets itself is to have an effect
forget_settings()
{
    local var
    for var in $(compgen -e); do
        case $var in
        UCX_* | UCXRI_* | MPI_UCX_* | SOFTHCA_* | LD_PRELOAD) unset "$var" ;;
        esac
    done
}
