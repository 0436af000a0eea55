#!/bin/sh
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Generates configure and the Makefile.in files. Run it once after a checkout, from
# anywhere; contrib/check.sh and contrib/demo.sh call it themselves.
#
# Usage: ./autogen.sh
set -e

case ${1-} in
"") ;;
-h | --help)
    sed -n '/^# Generates/,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
    ;;
*)
    echo "autogen.sh: unknown argument '$1'; see --help" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")"

need()
{
    command -v "$1" >/dev/null 2>&1 && return
    echo "autogen.sh: $1 not found: install the Debian package $2" >&2
    echo "autogen.sh: contrib/deps.sh installs all packages that are needed" >&2
    exit 1
}
need autoreconf autoconf
need automake automake
need m4 m4

mkdir -p config/m4
autoreconf --install --force --warnings=all,no-portability,no-obsolete
echo "autogen.sh: done; next: ./configure && make"
