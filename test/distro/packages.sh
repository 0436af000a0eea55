#!/usr/bin/env bash
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian packages, looks at them with lintian, installs them, runs the tests of debian/tests
# on what is installed, removes the packages, and looks for what is left. It changes the system that
# it runs in: run.sh RELEASE --packages runs it in one that is thrown away afterwards.
#
# Prints a line for each step, "ok ..." or "not ok ...", the latter with the end of its output. Exit
# code: 0 if all are good.
set -u
if [ -z "${DISTRO_HERE-}" ]; then
    echo "packages.sh: only for a system of test/distro/run.sh RELEASE --packages, which it changes" >&2
    exit 2
fi
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
log=$work/log
failed=0

# step NAME COMMAND...
step()
{
    local name=$1 began=$SECONDS
    shift
    if "$@" >"$log" 2>&1 </dev/null; then
        echo "ok $name ($((SECONDS - began)) s)"
        return 0
    fi
    failed=1
    echo "not ok $name"
    tail -n 25 "$log" | sed 's/^/    /'
    return 1
}

make_archive()
{
    ./autogen.sh && mkdir "$work/build" && (cd "$work/build" && "$OLDPWD/configure" && make dist) &&
        mkdir "$work/deb" && tar -C "$work/deb" -xzf "$work"/build/ucxri-*.tar.gz
}

# package_name FILE: of a .deb
package_name()
{
    dpkg-deb --show --showformat '${Package}\n' "$1"
}

install_packages()
{
    # A system for tests may leave documents out, and those of these packages are tested
    rm -f /etc/dpkg/dpkg.cfg.d/no-docs
    apt-get install -y --no-install-recommends "$work"/deb/ucxri*.deb "$work"/deb/libucxri*.deb
}

# Packages that Debian's tests ask for, but for those under test
test_needs()
{
    sed -n 's/^Depends: //p' debian/tests/control | tr -d ',' | tr ' ' '\n' | sort -u | grep -v ucxri
}

# As Debian's machines run them. Without a machine of its own, it uses this system (null).
autopkgtest_all()
{
    # shellcheck disable=SC2046  # names are words
    timeout 900 autopkgtest $(find "$work/deb" -maxdepth 1 -name '*.deb' ! -name '*dbgsym*') ./ -- null
}

nothing_left()
{
    local left
    left=$(find /usr /etc /var/lib/dpkg/info -name '*ucxri*' 2>/dev/null)
    echo "$left"
    [ -z "$left" ]
}

if step "the archive" make_archive; then
    cd "$work"/deb/ucxri-* || exit 2
    if step "dpkg-buildpackage" env DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b; then
        step "lintian" lintian --allow-root --fail-on error,warning "$work"/deb/*.changes
        # shellcheck disable=SC2046  # names are words
        step "what the tests need" apt-get install -y --no-install-recommends $(test_needs)
        if step "install" install_packages; then
            for test in $(sed -n 's/^Tests: //p' debian/tests/control); do
                step "debian/tests/$test" timeout 300 debian/tests/"$test"
            done
            step "autopkgtest itself" apt-get install -y --no-install-recommends autopkgtest &&
                step "all tests by autopkgtest" autopkgtest_all
            # shellcheck disable=SC2046
            step "remove" apt-get purge -y $(for deb in "$work"/deb/*.deb; do
                package_name "$deb"
            done) && step "nothing is left" nothing_left
        fi
    fi
fi
exit $failed
