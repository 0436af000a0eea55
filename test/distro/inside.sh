#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# The part of run.sh that runs in namespaces of its own (mounts, processes, System V shared memory):
# makes the chroot if it is not there, copies the sources into it, and builds and tests them. All
# that is mounted here is gone with its last process. Not to be called by hand: run.sh says with
# what.
#
#   DISTRO_RELEASE    the release
#   DISTRO_DIR        its folder: root, the chroot, and packages, those that were fetched
#   DISTRO_MIRROR     where debootstrap gets it from
#   DISTRO_KEYRING    with the keys for that
#   DISTRO_SOURCES    the lines of sources.list, DISTRO_SETTINGS those of apt.conf
#   DISTRO_INCLUDE    packages that debootstrap adds
#   DISTRO_WITHOUT    packages that contrib/deps.sh leaves out
#   DISTRO_TREE       the sources
#   DISTRO_ID         check.sh's id of its own processes, if any
# and as arguments the command to run in the sources' copy.
set -u
export LC_ALL=C
umask 022

root=$DISTRO_DIR/root
packages=$DISTRO_DIR/packages
log=$DISTRO_DIR/make.log

die()
{
    echo "run.sh: $*" >&2
    exit 3
}

# made_of: what a chroot that is complete was made of; another one is made if that changes
made_of()
{
    echo "$DISTRO_RELEASE"
    echo "$DISTRO_SOURCES"
}

# in_root COMMAND...: in the chroot, with nothing of the caller's environment; DISTRO_HERE says
# where it is
in_root()
{
    env -i ${DISTRO_ID:+"CHECK_SH_ID=$DISTRO_ID"} DISTRO_HERE="$DISTRO_RELEASE" \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C \
        DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

# mount_system: /proc of these processes, /sys to read, the harmless devices, shared memory of its
# own
mount_system()
{
    local name
    # A mount point, as the root of any system: unshare --mount needs one
    mount --bind "$root" "$root" || return 1
    mount -t proc proc "$root/proc" && mount --bind /sys "$root/sys" &&
        mount -o remount,bind,ro "$root/sys" &&
        mount -t tmpfs -o mode=755,size=1m dev "$root/dev" || return 1
    for name in null zero full random urandom tty; do
        : >"$root/dev/$name" && mount --bind "/dev/$name" "$root/dev/$name" || return 1
    done
    mkdir "$root/dev/pts" "$root/dev/shm" &&
        mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts" &&
        mount -t tmpfs -o mode=1777 shm "$root/dev/shm" &&
        ln -s pts/ptmx "$root/dev/ptmx" && ln -s /proc/self/fd "$root/dev/fd" &&
        ln -s fd/0 "$root/dev/stdin" && ln -s fd/1 "$root/dev/stdout" &&
        ln -s fd/2 "$root/dev/stderr" || return 1
    mkdir -p "$root/var/cache/apt/archives" &&
        mount --bind "$packages" "$root/var/cache/apt/archives"
}

# bootstrap: the release itself
bootstrap()
{
    local script=
    # Younger releases than the program are made in the same way as the latest one
    [ -e "/usr/share/debootstrap/scripts/$DISTRO_RELEASE" ] || script=sid
    rm -rf --one-file-system "$root"
    debootstrap --foreign --variant=minbase --keyring="$DISTRO_KEYRING" --cache-dir="$packages" \
        ${DISTRO_INCLUDE:+--include="$DISTRO_INCLUDE"} "$DISTRO_RELEASE" "$root" "$DISTRO_MIRROR" \
        $script >"$log" 2>&1 </dev/null || {
        why_not
        echo "SKIP debootstrap cannot fetch $DISTRO_RELEASE from $DISTRO_MIRROR"
        exit 77
    }
    # It is thrown away: nothing needs to be on the disk, and nobody reads the documents
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
    printf 'path-exclude=/usr/share/%s/*\n' doc man locale >"$root/etc/dpkg/dpkg.cfg.d/no-docs"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
    # The mirror's name, or this machine's, may be known by it only
    cp -L /etc/hosts "$root/etc/hosts" 2>/dev/null
    in_root /debootstrap/debootstrap --second-stage >>"$log" 2>&1 </dev/null || return 1
    printf '%s\n' 'APT::Sandbox::User "root";' 'Acquire::Languages "none";' "$DISTRO_SETTINGS" \
        >"$root/etc/apt/apt.conf.d/90distro"
    sed 's/^/deb /' <<<"$DISTRO_SOURCES" >"$root/etc/apt/sources.list"
}

# why_not: what debootstrap or apt said
why_not()
{
    tail -n 15 "$log" | sed 's/^/    /' >&2
    [ ! -e "$root/debootstrap/debootstrap.log" ] ||
        tail -n 5 "$root/debootstrap/debootstrap.log" | sed 's/^/    /' >&2
    ! grep -q -i -E 'unknown key|NO_PUBKEY|invalid .*signature' "$log" ||
        echo "    the keys of $DISTRO_RELEASE are not in $DISTRO_KEYRING:" \
            "install a newer debian-archive-keyring, or name another file with --keyring" >&2
}

# copy_sources: what git has or would add, as it is now. Files keep their times, so that make builds
# what has changed; what is no longer there goes.
copy_sources()
{
    local copy=$root/ucxri
    mkdir -p "$copy" || return 1
    (
        cd "$DISTRO_TREE" || exit 1
        if git -c safe.directory='*' rev-parse --is-inside-work-tree >/dev/null 2>&1; then
            git -c safe.directory='*' ls-files -z --cached --others --exclude-standard \
                --exclude "${DISTRO_DIR#"$DISTRO_TREE"}/"
        else
            find . \( -path ./build -o -path ".${DISTRO_DIR#"$DISTRO_TREE"}" \) -prune -o -type f -print0
        fi
    ) | while IFS= read -r -d '' file; do
        [ ! -e "$DISTRO_TREE/$file" ] || printf '%s\0' "$file"
    done | sort -z >"$DISTRO_DIR/files" || return 1
    [ -s "$DISTRO_DIR/files" ] || return 1
    if [ -e "$root/ucxri.files" ]; then
        comm -z -23 "$root/ucxri.files" "$DISTRO_DIR/files" | (cd "$copy" && xargs -0 -r rm -f)
    fi
    tar -C "$DISTRO_TREE" --null --no-recursion --verbatim-files-from -T "$DISTRO_DIR/files" -cf - |
        tar -C "$copy" --no-same-owner -xf - || return 1
    mv "$DISTRO_DIR/files" "$root/ucxri.files"
}

began=$SECONDS
if [ "$(made_of)" != "$(cat "$root/made" 2>/dev/null)" ]; then
    echo "making $root from $DISTRO_MIRROR"
    bootstrap || {
        why_not
        die "debootstrap could not make $DISTRO_RELEASE"
    }
    echo "the system: $((SECONDS - began)) s"
fi
mount_system || die "cannot mount what the chroot needs"
copy_sources || die "cannot copy the sources"
began=$SECONDS
rm -f "$root/made"
in_root /ucxri/contrib/deps.sh ${DISTRO_WITHOUT:+--without "$DISTRO_WITHOUT"} >"$log" 2>&1 || {
    why_not
    die "contrib/deps.sh failed in $DISTRO_RELEASE"
}
grep 'still missing' "$log"
made_of >"$root/made"
in_root apt-get -q autoclean >/dev/null 2>&1
echo "the packages: $((SECONDS - began)) s"
# shellcheck disable=SC2016  # for the shell inside
in_root dpkg-query -W -f '${Package} ${Version}\n' gcc-14 gcc-12 libucx0 libmpich12 openmpi-bin libibverbs1 \
    2>/dev/null | awk '$2 != ""' | paste -s -d ',' | sed 's/,/, /g'

in_root /bin/bash -c 'cd /ucxri && exec "$@"' bash "$@" &
wait $!
exit $?
