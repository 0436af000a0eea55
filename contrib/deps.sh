#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Installs the Debian packages that are missing to build and test ucxri. Where nothing is
# missing it does nothing and needs no network.
#
# Usage: contrib/deps.sh [--check] [--quiet] [--for demo|demo-openmpi] [--without LIST]
#   --check          install nothing, list what is missing
#   --quiet          say nothing if nothing is missing
#   --for demo       only what contrib/demo.sh needs, which has no tests; demo-openmpi: with Open MPI
#   --without LIST   leave these packages out, with commas; only those that are for some of the tests
#   -h, --help       this text
#
# Exit code: 0 if the required packages are there, 1 if one is missing; with --check, 1 if
# any package is missing. 1 also on a system that is not Debian, where the script says what is
# needed; 2 for wrong options.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Without these there is no library
required=(build-essential autoconf automake pkg-config libucx-dev)
# Each of these is for some of the tests. Without libibverbs-dev the library has no RDMA either.
optional=(ucx-utils libibverbs-dev ibverbs-utils rdma-core mpich libmpich-dev openmpi-bin libopenmpi-dev
    libgtest-dev clang clang-format libclang-rt-dev g++ qemu-system-x86 busybox-static cpio iproute2 debootstrap
    bash-completion chromium debhelper environment-modules lintian man-db rpm slurmctld slurmd slurm-client
    slurm-wlm-basic-plugins)
# Of these, what contrib/demo.sh needs, by the MPI that it shows
for_demo=(mpich libmpich-dev)
for_demo_openmpi=(openmpi-bin libopenmpi-dev)
# For people; never installed by this script
handy=(gdb valgrind)

check=no
quiet=no
without=
for=tests
expect --for 'demo|demo-openmpi' "demo or demo-openmpi"
parse_options "$@"
case $for in
demo) optional=("${for_demo[@]}") ;;
demo-openmpi) optional=("${for_demo_openmpi[@]}") ;;
esac
for package in ${without//,/ }; do
    [[ " ${optional[*]} " == *" $package "* ]] ||
        misuse "--without $package: it is not one of ${optional[*]}"
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "deps.sh: this is not a Debian system; needed are a C11 compiler, autoconf," \
        "automake and UCX 1.13 or later with headers; for RDMA infiniband/verbs.h of" \
        "libibverbs, without which the library is built without RDMA; and for the tests" \
        "ucx_perftest, ibv_devinfo, MPICH, Open MPI, GoogleTest, clang, and qemu with a static" \
        "busybox, cpio and iproute2; configure says what it misses" >&2
    exit 1
fi

# missing PACKAGES...: those that are not installed
missing()
{
    local package
    for package in "$@"; do
        # shellcheck disable=SC2016  # dpkg-query's own variable
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null |
            grep -qx installed || echo "$package"
    done
}

chosen=()
for package in "${optional[@]}"; do
    [[ ,$without, == *,$package,* ]] || chosen+=("$package")
done

mapfile -t need < <(missing "${required[@]}")
mapfile -t want < <(missing "${chosen[@]}")

if [ ${#need[@]} -eq 0 ] && [ ${#want[@]} -eq 0 ]; then
    [ $quiet = yes ] || echo "deps.sh: all packages are installed"
    exit 0
fi

if [ $check = yes ]; then
    [ ${#need[@]} -eq 0 ] || printf 'required: %s\n' "${need[@]}"
    [ ${#want[@]} -eq 0 ] || printf 'optional: %s\n' "${want[@]}"
    [ "$for" != tests ] || for package in $(missing "${handy[@]}"); do
        echo "handy:    $package"
    done
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    # A password can only be asked for at a terminal
    sudo=(sudo)
    [ -t 0 ] || sudo=(sudo -n)
    if ! command -v sudo >/dev/null || ! "${sudo[@]}" true; then
        echo "deps.sh: not root, and sudo does not work; as root, run" >&2
        echo "    apt-get install ${need[*]} ${want[*]}" >&2
        [ ${#need[@]} -eq 0 ]
        exit
    fi
    as_root=("${sudo[@]}")
fi

apt()
{
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o Dpkg::Use-Pty=0 "$@" </dev/null
}

echo "deps.sh: installing ${need[*]} ${want[*]}"
apt update || echo "deps.sh: apt-get update failed; trying with the lists that are there" >&2

# One package that this release does not have must not keep the others away
if ! apt install --no-install-recommends "${need[@]}" "${want[@]}"; then
    for package in "${need[@]}" "${want[@]}"; do
        apt install --no-install-recommends "$package" ||
            echo "deps.sh: could not install $package" >&2
    done
fi

mapfile -t need < <(missing "${required[@]}")
mapfile -t want < <(missing "${chosen[@]}")
if [ ${#want[@]} -ne 0 ] && [ "$for" = tests ]; then
    echo "deps.sh: still missing, some tests will be skipped: ${want[*]}" >&2
elif [ ${#want[@]} -ne 0 ]; then
    echo "deps.sh: still missing for contrib/demo.sh: ${want[*]}" >&2
fi
if [ ${#need[@]} -ne 0 ]; then
    echo "deps.sh: still missing, ucxri cannot be built: ${need[*]}" >&2
    exit 1
fi
echo "deps.sh: done"
