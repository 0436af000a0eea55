# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Where the packages of another release come from: where this system's own do. Sourced by run.sh.

# source_entries RELEASE: a line "URL SUITE COMPONENTS..." for each place that apt on this system
# has Debian's packages from, with RELEASE in place of the release that runs here
source_entries()
{
    local release=$1 id=none codename=none
    # shellcheck disable=SC1091  # the system's own
    [ ! -r /etc/os-release ] || . <(sed -n 's/^ID=/id=/p; s/^VERSION_CODENAME=/codename=/p' /etc/os-release)
    [ "$id" = debian ] || return 1
    # apt reads its lists itself, in whatever form they are
    # shellcheck disable=SC2016  # apt's own variables
    apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 2>/dev/null |
        awk -v here="$codename" -v release="$release" '
            $2 == here || $2 == here "-updates" || $2 == here "-security" {
                sub("^" here, release, $2)
                place = $1 " " $2
                if (!(place in components)) {
                    order[++places] = place
                }
                if (index(components[place] " ", " " $3 " ") == 0) {
                    components[place] = components[place] " " $3
                }
            }
            END {
                for (i = 1; i <= places; ++i) {
                    print order[i] components[order[i]]
                }
            }'
}

# source_mirror: of these lines (input), the URL of the release itself
source_mirror()
{
    awk -v release="$1" '$2 == release && / main( |$)/ { print $1; exit }'
}

# source_settings MIRROR: how apt on this system gets there, as lines of apt.conf for another one
source_settings()
{
    local mirror=$1 command proxy
    apt-config dump | grep -E '^Acquire::((http|https)::|Retries |ForceIPv[46] |Check-Date |Check-Valid-Until )' |
        grep -v -i -E '^Acquire::[a-z]*::Proxy-?Auto-?Detect|"";$'
    # A program of this system's that names the proxy
    for command in Proxy-Auto-Detect ProxyAutoDetect; do
        command=$(apt-config dump | sed -n "s/^Acquire::http::$command \"\(.*\)\";\$/\1/p")
        [ -n "$command" ] || continue
        proxy=$($command "$mirror" 2>/dev/null)
        [ -z "$proxy" ] || [ "$proxy" = DIRECT ] || echo "Acquire::http::Proxy \"$proxy\";"
    done
}

# source_proxy SCHEME: of these lines (input), the proxy for http or https
source_proxy()
{
    sed -n "s/^Acquire::$1::Proxy \"\(.*\)\";\$/\1/p" | grep -v -i -x DIRECT | tail -n 1
}
