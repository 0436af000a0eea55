# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Debian's own kernel for the virtual machine: fetched as a package, never installed. Sourced
# by run.sh. Afterwards the kernel's directory has
#     release      its version
#     vmlinuz      the kernel
#     modules/     what it needs for rxe, and load, the order in which to load it

# The cloud kernels have no rdma_rxe, so it is the ordinary one
KERNEL_PACKAGE=linux-image-amd64
# rxe wants crc32 of the kernel's crypto layer and asks for it by name only
KERNEL_MODULES=(crc32_generic veth rdma_rxe ib_uverbs rdma_ucm sch_netem virtio_net virtio_pci)

# kernel_package: the name of the package with the kernel itself
kernel_package()
{
    apt-cache depends "$KERNEL_PACKAGE" 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1
}

# kernel_order TREE RELEASE: paths of the modules to load, each behind those it needs
kernel_order()
{
    local module
    (cd "$1/lib/modules/$2" && busybox depmod -b "$1" "$2") || return 1
    for module in "${KERNEL_MODULES[@]}"; do
        # A line names a module and then all that it needs, the first to load last
        sed -n "s,^\(.*/$module\.ko[^:]*\): *,\1 ,p" "$1/lib/modules/$2/modules.dep" |
            tr ' ' '\n' | sed '/^$/d' | tac
    done | awk '!seen[$0]++'
}

# kernel_older_form TREE: modules where Debian 12 has them, and not compressed as those of Debian 13
kernel_older_form()
{
    [ -e "$1/lib" ] || ln -s usr/lib "$1/lib" || return 1
    find "$1/lib/modules/" -name '*.ko.xz' -exec busybox unxz {} +
}

# kernel_pick TREE DIR: what is needed of an unpacked package
kernel_pick()
{
    local tree=$1 dir=$2 release file
    release=$(ls "$tree/lib/modules") || return 1
    mkdir -p "$dir/modules"
    kernel_order "$tree" "$release" >"$tree/order" || return 1
    if ! grep -q rdma_rxe "$tree/order"; then
        echo "kernel $release has no rdma_rxe" >&2
        return 1
    fi
    while read -r file; do
        cp "$tree/lib/modules/$release/$file" "$dir/modules/" || return 1
        echo "${file##*/}"
    done <"$tree/order" >"$dir/modules/load"
    cp "$tree/boot/vmlinuz-$release" "$dir/vmlinuz" || return 1
    echo "$release" >"$dir/release"
}

# kernel_complete DIR: whether it is there, with all modules that this version of the tests needs
kernel_complete()
{
    local dir=$1 module
    [ -s "$dir/release" ] || return 1
    for module in "${KERNEL_MODULES[@]}"; do
        grep -q "^$module\.ko" "$dir/modules/load" || return 1
    done
}

# kernel_fetch DIR: does nothing if it is there already. 1 and a line on stderr if it cannot
# be had.
kernel_fetch()
{
    local dir=$1 package command status
    ! kernel_complete "$dir" || return 0
    for command in apt-get dpkg-deb busybox; do
        if ! command -v $command >/dev/null; then
            echo "no $command to fetch and unpack a Debian kernel with" >&2
            return 1
        fi
    done
    package=$(kernel_package)
    if [ -z "$package" ]; then
        echo "apt knows no $KERNEL_PACKAGE (apt-get update?)" >&2
        return 1
    fi
    # Another run may be doing the same
    mkdir -p "$dir" && exec 8>"$dir/.lock" && flock 8 || return 1
    if kernel_complete "$dir"; then
        exec 8>&-
        return 0
    fi
    kernel_unpack "$dir" "$package"
    status=$?
    exec 8>&-
    return $status
}

# kernel_unpack DIR PACKAGE
kernel_unpack()
{
    local dir=$1 package=$2 work
    work=$(mktemp -d "$dir/fetch.XXXXXX") || return 1
    if ! (cd "$work" && timeout -k 5 "${KERNEL_LIMIT:-300}" apt-get -q download "$package" \
        </dev/null >log 2>&1); then
        echo "cannot download the package $package: $(grep '^E:' "$work/log" | head -n 1)" >&2
        rm -rf "$work"
        return 1
    fi
    if ! { dpkg-deb -x "$work"/*.deb "$work/tree" && kernel_older_form "$work/tree" &&
        kernel_pick "$work/tree" "$work/kernel"; }; then
        echo "cannot unpack the package $package" >&2
        rm -rf "$work"
        return 1
    fi
    rm -rf "$dir/modules"
    mv "$work/kernel/modules" "$work/kernel/vmlinuz" "$dir/" &&
        mv "$work/kernel/release" "$dir/release"
    rm -rf "$work"
    [ -s "$dir/release" ]
}
