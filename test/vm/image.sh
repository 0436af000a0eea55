# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The file system of the virtual machine: programs of this machine with the libraries that
# they need, the tests, and the kernel's modules, all in one initramfs. Sourced by run.sh.

# What the guest runs, and what the tests need if it is there
IMAGE_COMMANDS=(bash busybox env ip rdma tc timeout)
IMAGE_OPTIONAL=(ibv_devinfo ibv_rc_pingpong ibv_ud_pingpong ibv_srq_pingpong ucx_perftest
    stdbuf mpiexec.hydra hydra_pmi_proxy mpirun.openmpi orted)
# Names that are looked for below the libraries' directory: what is loaded at run time
IMAGE_PLUGINS=(libibverbs/librxe-rdmav*.so ucx/libuct_*.so* openmpi/lib/openmpi*/*.so
    'pmix*/lib/pmix/*.so' coreutils/libstdbuf.so)
IMAGE_DATA=(/etc/libibverbs.d/rxe.driver /etc/openmpi /usr/share/openmpi)
# All that the tests need of a build directory, those on two machines, and the others besides
IMAGE_BUILT_PAIR=(src/libucxri.so src/libucxri_win_mpich.so src/libucxri_win_openmpi.so
    test/bin/mpich test/bin/openmpi)
IMAGE_BUILT=("${IMAGE_BUILT_PAIR[@]}" test/gtest/gtest_unit test/gtest/gtest_ucp
    test/gtest/gtest_softhca)

# image_links ROOT: as in the system itself, /lib and its like are in /usr
image_links()
{
    local root=$1 dir
    mkdir -p "$root"/{dev,proc,sys,tmp,run,root,etc,vm,usr/bin,var/tmp}
    for dir in bin sbin lib lib32 lib64; do
        if [ -L /$dir ]; then
            mkdir -p "$root/usr/$dir"
            ln -s "usr/$dir" "$root/$dir"
        else
            mkdir -p "$root/$dir"
        fi
    done
}

# image_add ROOT PATH...: at the same place, with what symbolic links lead to
image_add()
{
    local root=$1 path dir target
    shift
    for path in "$@"; do
        dir=$(cd "$(dirname "$path")" && pwd -P) || continue
        path=$dir/${path##*/}
        if [ -e "$root$path" ] || [ -L "$root$path" ]; then
            continue
        fi
        mkdir -p "$root$dir"
        if [ -L "$path" ]; then
            target=$(readlink "$path")
            ln -s "$target" "$root$path"
            [[ $target == /* ]] || target=$dir/$target
            image_add "$root" "$target"
        else
            cp -r "$path" "$root$path"
        fi
    done
}

# image_libraries ROOT FILE...: all that the programs and libraries are linked with
image_libraries()
{
    local root=$1 library
    shift
    while read -r library; do
        image_add "$root" "$library"
    done < <(ldd "$@" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) (.*/\1/p; s/^\t\(\/[^ ]*\) (.*/\1/p' |
        sort -u)
}

# image_fill ROOT BUILD_DIR SOURCE_DIR KERNEL BUILT...: BUILT is what is needed of BUILD_DIR
image_fill()
{
    local root=$1 build=$2 source=$3 kernel=$4 name path libdir
    local -a built=("${@:5}")
    local -a files=() plugins=()
    for name in "${IMAGE_COMMANDS[@]}"; do
        path=$(command -v "$name") || {
            echo "$name is not installed" >&2
            return 1
        }
        files+=("$path")
    done
    for name in "${IMAGE_OPTIONAL[@]}"; do
        ! path=$(command -v "$name") || files+=("$path")
    done
    libdir=/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
    for name in "${IMAGE_PLUGINS[@]}"; do
        # shellcheck disable=SC2206  # patterns
        plugins+=($libdir/$name)
    done
    for path in "${plugins[@]}"; do
        [ ! -e "$path" ] || files+=("$path")
    done
    image_links "$root"
    image_add "$root" "${files[@]}"
    for path in "${IMAGE_DATA[@]}"; do
        [ ! -e "$path" ] || image_add "$root" "$path"
    done
    for name in "${built[@]}"; do
        [ ! -e "$build/$name" ] || files+=("$build/$name")
    done
    for name in "${built[@]}"; do
        path=$build/$name
        [ -e "$path" ] || continue
        # The tests are under /vm, whatever the build directory is called
        mkdir -p "$root/vm/$(dirname "$name")"
        cp -rL "$path" "$root/vm/$name"
        [ ! -d "$path" ] || files+=("$path"/*)
    done
    image_libraries "$root" "${files[@]}"
    # They are large, and nobody looks into them here
    find "$root/vm" -type f -perm -100 -exec strip --strip-debug {} + 2>/dev/null
    cp "$source"/{cases,guest,pair_cases,pair_init,pair_clean,agent,rank}.sh "$root/vm/"
    cp -r "$kernel/modules" "$root/vm/"
    cp "$source/init.sh" "$root/init"
    chmod +x "$root/init"
    echo 'root:x:0:0:root:/root:/bin/bash' >"$root/etc/passwd"
    printf '%s\n' '127.0.0.1 localhost vm' '10.1.0.1 alpha' '10.1.0.2 beta' >"$root/etc/hosts"
}

# image_pack ROOT FILE: everything belongs to root in the guest
image_pack()
{
    (cd "$1" && find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet) >"$2"
}
