#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Writes those parts of the manual pages in data/ that say what the programs say themselves: the
# options of the tools by their --help, and the variables by ucxri_info -f, which is the table of the
# library. Run it with a built tree after one of them has changed. The build only puts paths and the
# version in, so that it runs no program that it has built, which a cross build could not.
#
# Usage: contrib/man.sh [--check] BUILD_DIR
#   --check     write nothing, fail if a page is out of date
#   BUILD_DIR   where the tools were built: their folder is BUILD_DIR/src
set -eu -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

check=no
operand=
parse_options "$@"
build=$operand
for tool in ucxri_info ucxri_perf ucxri_run; do
    [ -x "$build/src/$tool" ] || misuse "there is no src/$tool in '$build'"
done
# The defaults, whatever is set here
forget_settings

# What roff would take for its own. A sign of minus is what a user types.
roff='function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.\047]/) {
        text = "\\&" text
    }
    return text
}
# A column of units behind the text
function unit(text, at) {
    at = match(text, /   +[A-Za-z\/]+$/)
    if (at) {
        match(text, /[A-Za-z\/]+$/)
        text = substr(text, 1, at - 1) ", in " substr(text, RSTART)
    }
    return text
}'

# entries OPTIONS: the items of a help text, each with its name and, behind two blanks or in the lines
# that follow, its meaning. With OPTIONS=1 those that begin with "-", else those in front of them.
entries()
{
    awk -v options="$1" "$roff"'
        # What the items that follow have in common
        !options && /^and .*:$/ {
            sub(/^and /, "")
            print ".PP\n" toupper(substr($0, 1, 1)) roff(substr($0, 2))
        }
        /^[A-Za-z]/ { open = 0; next }
        /^$/ { open = 0; next }
        /^ ? ?ucxri/ || /^Usage/ { next }
        match($0, /^  (    )?-[^ ]/) || (!options && match($0, /^  [a-z]/)) {
            open = (($0 ~ /^ +-/) == options)
            if (open) {
                text = $0
                sub(/^ +/, "", text)
                at = match(text, /   */)
                name = at ? substr(text, 1, at - 1) : text
                print ".TP\n.B " roff(name)
                if (at) {
                    sub(/^ +/, "", text)
                    text = substr(text, at)
                    sub(/^ +/, "", text)
                    print roff(unit(text))
                }
            }
            next
        }
        open {
            sub(/^ +/, "")
            print roff(unit($0))
        }'
}

# variables: the items of ucxri_info -f
variables()
{
    awk "$roff"'
        /^#$/ || /^# in effect here: / || /^$/ { next }
        /^# accepted: / {
            sub(/^# accepted: /, "")
            at = match($0, /; default: /)
            accepted = substr($0, 1, at - 1)
            dfl = substr($0, at + 11)
            next
        }
        /^# / { doc = doc roff(substr($0, 3)) "\n"; next }
        /^UCXRI_/ {
            sub(/=.*/, "")
            printf ".TP\n.B %s\n%s.br\nAccepted: %s; default: %s.\n", $0, doc, roff(accepted),
                   (dfl == "") ? "empty" : roff(dfl)
            doc = ""
        }'
}

# part NAME PAGE: what a page has between its lines "begin NAME" and "end"
part()
{
    local tool
    tool=$build/src/$(basename "$2" .1.in)
    case $1 in
    options) "$tool" --help | entries 1 ;;
    benchmarks) "$tool" --help | entries 0 ;;
    variables) "$build/src/ucxri_info" -f | variables ;;
    esac
}

status=0
new=$(mktemp)
trap 'rm -f "$new"' EXIT
for page in "$root"/data/*.[17].in; do
    skip=no
    while IFS= read -r line; do
        case $line in
        '.\" begin '*)
            echo "$line"
            name=${line#*begin }
            part "${name%%:*}" "$page"
            skip=yes
            ;;
        '.\" end') skip=no ;;
        esac
        [ $skip = yes ] || printf '%s\n' "$line"
    done <"$page" >"$new"
    if cmp -s "$new" "$page"; then
        continue
    elif [ $check = yes ]; then
        diff -u "$page" "$new" >&2 || true
        echo "man.sh: $page is out of date: run contrib/man.sh" >&2
        status=1
    else
        cat "$new" >"$page"
        echo "man.sh: wrote $page"
    fi
done
exit $status
