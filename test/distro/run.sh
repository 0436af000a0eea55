#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Runs the tests in another release of Debian: makes it in a folder (debootstrap, from where this
# system has its own packages), copies the sources into it as they are now, and runs
# contrib/check.sh there. Needs root. Everything is in that folder and is removed afterwards,
# but for the packages that were fetched; mounts and processes are in namespaces of their own
# and end with this script, however it ends.
#
# Usage: test/distro/run.sh RELEASE [options]
#   RELEASE           its code name: trixie (Debian 13), bookworm (Debian 12)
#   --short           a selection (default): builds the library, API tests and MPI programs
#   --packages        builds the Debian packages, installs and tests them (packages.sh)
#   --full            all of contrib/check.sh: as long as it takes here, and more packages
#   --only LIST       these steps of contrib/check.sh
#   --run COMMAND     this command of the shell instead, in the copy of the sources
#   --dir DIR         the folder (build/distro/RELEASE)
#   --keep            keep the folder: the next run begins with what is there, which takes seconds
#   --remove          remove the folder, the packages too, and end
#   --mirror URL      where to get the release from
#   --keyring FILE    with the keys that it is signed by (debian-archive-keyring's)
#   -j N              parallel jobs of make (the number of cores)
#   -h, --help        this text
#
# The output is that of contrib/check.sh, or of what else is run; the steps' logs are in DIR/logs
# afterwards. Exit code: that of what is run; 77 if there is nothing to make the release with (with
# a line "SKIP", and what is missing), 2 for a wrong option, 3 if the release could not be made.
set -u
export LC_ALL=C

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 2
tree=$(cd "$source_dir/../.." && pwd) || exit 2
. "$source_dir/source.sh"

# The steps of --short, with CHECK_QUICK set without what takes long to build, and the packages that
# they do without
short=symbols,inert,switch,gtest_ucp_recv_init,mpi
[ -z "${CHECK_QUICK-}" ] || short=symbols,inert,switch,mpi
unneeded_by_packages=clang,clang-format,libclang-rt-dev,qemu-system-x86,busybox-static,cpio,debootstrap
unneeded_by_packages+=,ibverbs-utils,rdma-core,chromium,environment-modules,rpm,slurmctld,slurmd,slurm-client
unneeded_by_packages+=,slurm-wlm-basic-plugins
unneeded=$unneeded_by_packages,bash-completion,debhelper,lintian,man-db

release=
set=short
only=
command=
dir=
keep=no
remove=no
mirror=
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
jobs=$(nproc 2>/dev/null || echo 2)
namespaces=

die()
{
    echo "run.sh: $*" >&2
    exit 2
}

cannot()
{
    echo "SKIP $*"
    exit 77
}

# remove_tree DIR: never through something that is mounted there
remove_tree()
{
    local path
    [ -e "$1" ] || return 0
    path=$(realpath "$1") || return 1
    if awk -v path="$path" '$5 == path || index($5, path "/") == 1 { found = 1 }
            END { exit !found }' /proc/self/mountinfo; then
        echo "run.sh: something is mounted in $path: it is left alone" >&2
        return 1
    fi
    rm -rf --one-file-system "$path"
}

cleanup()
{
    local status=$?
    trap '' INT TERM HUP
    if [ -n "$namespaces" ]; then
        # With it goes the first process in there, with that one all others and the mounts
        kill -KILL "$namespaces" 2>/dev/null
        wait "$namespaces" 2>/dev/null
    fi
    if [ -d "$dir/root/ucxri/build/check-gcc/logs" ]; then
        rm -rf "$dir/logs"
        cp -r "$dir/root/ucxri/build/check-gcc/logs" "$dir/logs"
    fi
    [ $keep = yes ] || remove_tree "$dir/root"
    exit $status
}

while [ $# -gt 0 ]; do
    case $1 in
    --only | --run | --dir | --mirror | --keyring | -j)
        [ $# -gt 1 ] || die "$1 needs a value; see --help"
        ;;
    esac
    case $1 in
    --short) set=short ;;
    --full) set=full ;;
    --packages) set=packages ;;
    --only)
        only=$2
        shift
        ;;
    --run)
        command=$2
        shift
        ;;
    --dir)
        dir=$2
        shift
        ;;
    --keep) keep=yes ;;
    --remove) remove=yes ;;
    --mirror)
        mirror=$2
        shift
        ;;
    --keyring)
        keyring=$2
        shift
        ;;
    -j)
        jobs=$2
        shift
        ;;
    -h | --help)
        sed -n '/^# Runs/,/^[^#]/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    -*) die "unknown option '$1'; see --help" ;;
    *)
        [ -z "$release" ] || die "one release at a time; see --help"
        release=$1
        ;;
    esac
    shift
done
[[ $release =~ ^[a-z]+$ ]] || die "which release? See --help"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "-j $jobs: expected a number"
dir=${dir:-$tree/build/distro/$release}
[[ $dir == /* ]] || dir=$PWD/$dir

[ "$(id -u)" -eq 0 ] || cannot "not root: a chroot cannot be made"
if [ $remove = yes ]; then
    remove_tree "$dir"
    exit
fi
for program in debootstrap:debootstrap unshare:util-linux setpriv:util-linux chroot:coreutils \
    apt-get:apt tar:tar; do
    command -v ${program%:*} >/dev/null || cannot "no ${program%:*} (Debian package ${program#*:})"
done
[ -r "$keyring" ] || cannot "no $keyring (Debian package debian-archive-keyring)"
enter=(setpriv --pdeathsig KILL unshare --mount --pid --ipc --fork --kill-child --propagation private)
"${enter[@]}" mount -t tmpfs none /mnt 2>/dev/null || cannot "no namespaces can be made, or nothing mounted"

if [ -n "$mirror" ]; then
    sources="$mirror $release main"
else
    sources=$(source_entries "$release") || cannot "this is not Debian: --mirror says where to get it from"
    mirror=$(source_mirror "$release" <<<"$sources")
fi
case $mirror in
http://*) include= ;;
https://*) include=ca-certificates ;;
*) cannot "apt has no http source of this system's release, but '$mirror': --mirror names one" ;;
esac
settings=$(source_settings "$mirror")
for scheme in http https; do
    proxy=$(source_proxy $scheme <<<"$settings")
    [ -z "$proxy" ] || export "${scheme}_proxy=$proxy"
done

mkdir -p "$dir/packages/partial" || exit 3
exec 9>"$dir/lock"
flock -n 9 || die "$dir is in use by another run"
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
[ $keep = yes ] || remove_tree "$dir/root" || exit 3
rm -rf "$dir/logs"

check=(contrib/check.sh --no-deps -j "$jobs")
without=
if [ -n "$command" ]; then
    check=(/bin/bash -c "$command")
elif [ -n "$only" ]; then
    check+=(--only "$only")
elif [ $set = packages ]; then
    check=(test/distro/packages.sh)
    without=$unneeded_by_packages
elif [ $set = short ]; then
    check=(env CHECK_SHORT=1 "${check[@]}" --quick --only $short)
    without=$unneeded
fi

# In the background: a signal is to end this script at once
env DISTRO_RELEASE="$release" DISTRO_DIR="$dir" DISTRO_MIRROR="$mirror" DISTRO_KEYRING="$keyring" \
    DISTRO_SOURCES="$sources" DISTRO_SETTINGS="$settings" DISTRO_INCLUDE="$include" \
    DISTRO_WITHOUT="$without" DISTRO_TREE="$tree" DISTRO_ID="${CHECK_SH_ID-}" \
    "${enter[@]}" "$BASH" "$source_dir/inside.sh" "${check[@]}" </dev/null 9>&- &
namespaces=$!
wait $namespaces
status=$?
namespaces=
exit $status
