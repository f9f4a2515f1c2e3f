# What the scripts of this folder share; sourced, not run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# die MESSAGE...: ends the script, saying why.
die() {
    printf '%s: error: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

say() {
    printf '==> %s\n' "$*"
}

# Each make that a script starts sets its own parallelism.
unset MAKEFLAGS MFLAGS MAKELEVEL

# Building from a tarball needs no git, all else does.
have_git=$(command -v git || :)

# git as if the user had configured nothing: the same commits on every machine.
# The context that it names for hunks is a function or a macro, not a label.
unset $(command git rev-parse --local-env-vars 2>/dev/null) || :
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TEMPLATE_DIR=
export GIT_COMMITTER_NAME='netdev-dpdk-jumbo developers'
export GIT_COMMITTER_EMAIL=dev@netdev-dpdk-jumbo.invalid
git() {
    command git -c safe.directory='*' -c core.hooksPath=/dev/null \
                -c diff.c.xfuncname='^([A-Za-z_].*[^:]|#define.*\\)$' \
                -c core.fsmonitor=false -c gc.auto=0 -c advice.detachedHead=false \
                -c user.name="$GIT_COMMITTER_NAME" \
                -c user.email="$GIT_COMMITTER_EMAIL" "$@"
}

# logged WHAT LOG COMMAND...: runs COMMAND with its output in LOG, after a line
# that says so; if it fails, shows the end of LOG and ends the script.
logged() {
    local what=$1 log=$2
    shift 2
    say "$what (log: ${log#"$top"/})"
    mkdir -p "$(dirname "$log")"
    "$@" > "$log" 2>&1 < /dev/null || {
        tail -n 30 "$log" >&2
        die "$what failed; the end of ${log#"$top"/} is above"
    }
}

# ovs_version TREE: the version of that OVS.
ovs_version() {
    sed -n 's/^AC_INIT(\[*openvswitch\]*, *\[*\([0-9][^],) ]*\).*/\1/p' "$1/configure.ac" 2>/dev/null | grep . ||
        die "$1 has no configure.ac of openvswitch: it is no OVS source tree"
}

# releases [N]: what has more than N words (0) in build-aux/bases.
releases() {
    awk -v n="${1:-0}" '/^[^#]/ && NF > n { print $1 }' "$top/build-aux/bases"
}

# kept: the bases that are in Debian, the newest last.
kept() {
    releases 2
}

# version_of BASE: its version of OVS.
version_of() {
    awk -v base="$1" '$1 == base { print NF == 1 ? $1 : $2 }' "$top/build-aux/bases"
}

# suites_of BASE: the Debian suites that have it, in the order to try.
suites_of() {
    sed -n "s/^$1  *[^ ]*  *//p" "$top/build-aux/bases"
}

# hooks: the patches that the series names, in order.
hooks() {
    awk '/^[^# ]/ { print $1 }' "$top/patches/series"
}

# topics: the topics of the hooks.
topics() {
    awk '/^[^# ]/ && NF > 1 && !seen[$2]++ { print $2 }' "$top/patches/series"
}

# new_files: the files that are copied into OVS as they are, each as
# "path here<TAB>path there".
new_files() {
    (cd "$top"
     find netdev-dpdk-jumbo ovs-mtu tests/ovs -type f ! -name '.*' ! -name '*~' \
          ! -path '*/__pycache__/*' 2>/dev/null | LC_ALL=C sort) |
    sed 's,.*,&\t&,; s,\ttests/ovs/,\ttests/,; s,\tovs-mtu/\(test_.*\.py\|.*\.json\)$,\tpython/ovs/tests/\1,; s,\tovs-mtu/\(.*\.py\)$,\tpython/ovs/mtu/\1,; s,\tovs-mtu/,\tutilities/,; s,\tnetdev-dpdk-jumbo/,\tlib/,'
}

# The files of OVS that list others, a line for each: ours of the same name are
# appended to them, but for comments.
lists="lib/automake.mk tests/automake.mk tests/testsuite.at tests/system-dpdk-testsuite.at utilities/automake.mk"

# our_tests: the files of tests that this repository brings, without ".at", as
# a regular expression.
our_tests() {
    (cd "$top/tests/ovs" && ls *.at) | sed '/testsuite\.at$/d;s/\.at$//' | paste -sd'|'
}

# debian_dir SUITE[-PURPOSE]: where "in-debian" has that system.
debian_dir() {
    echo "$top/_build/debian/$1"
}

# mirror: the Debian mirror that this machine uses for its own release.
mirror() {
    apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v own="$(. /etc/os-release; echo "${VERSION_CODENAME:-}")" \
        '$2 == "main" && ($1 == own || $1 ~ /^((old)*stable|testing|unstable|sid)$/) { print $3; exit }'
}

# tests_of BUILD TESTSUITE REGEX: the numbers of the tests of an autotest suite
# that are in files whose names, without ".at", match REGEX.
tests_of() {
    (cd "$1/tests" && sh "$2" --list) |
    awk -v wanted="^($3)\\\\.at$" '
        /^ *[0-9]+: / {
            split($2, at, ":")
            if (at[1] ~ wanted) print $1 + 0
        }' | xargs
}

# again SUITE COMMAND...: has COMMAND run the failed tests of an autotest suite
# again, which removes their logs, and keeps the first logs in SUITE.first.
again() {
    rm -rf "$1.first"
    mv "$1.dir" "$1.first" || :
    "${@:2}"
}

# run_units BUILD TESTSUITE REGEX: runs these tests of "make check", and those
# that fail once more.  Tests wait more than they compute.
run_units() {
    local make=(make -j"$(nproc)" -C "$1" check) jobs=-j$((4 * $(nproc)))
    "${make[@]}" TESTSUITEFLAGS="$jobs $(tests_of "$@")" ||
        again "$1/tests/testsuite" "${make[@]}" TESTSUITEFLAGS="$jobs --recheck"
}

# run_dpdk BUILD TESTSUITE REGEX: the same for tests on DPDK ports.  Unlike in
# "make check-dpdk", they run in parallel: each has its network namespace, but
# their PMD threads share a core, however many there are.
run_dpdk() {
    local build=$1 script=$2 numbers
    numbers=$(tests_of "$@")
    [ "$numbers" ] || return 0
    set -- sh "$script" -C "$build/tests" AUTOTEST_PATH=utilities:vswitchd:ovsdb:vtep:tests
    "$@" -j6 $numbers || again "$build/tests/$(basename "$script")" "$@" --recheck
}

# free_hugepages: how many of 2 MB there are.
free_hugepages() {
    cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 2> /dev/null || echo 0
}

# id_of: an id of the files whose names it reads; it changes when a file does.
id_of() {
    (cd "$top" && xargs -d '\n' sha256sum | sha256sum | cut -d' ' -f1)
}

# files_id: the id of what "apply" copies.
files_id() {
    { new_files | cut -f1; printf 'build-aux/%s\n' generated apply lib.sh; } | id_of
}

# hooks_id BASE: the id of what its hooks come from.
hooks_id() {
    "$top/build-aux/hooks" --sources "$1" | id_of
}

# guard TREE: has TREE, in which not all hooks are, build with a DPDK older than
# it needs, by netdev-dpdk-compat.h, as the patched tree does, under another name
# than the one that a mail may bring.
guard() {
    if grep -q rte_vhost_driver_set_max_queue_num "$1/lib/netdev-dpdk.c"; then
        cp "$top/netdev-dpdk-jumbo/netdev-dpdk-compat.h" "$1/lib/compat.h"
        sed -i '0,/^#include "netdev-provider.h"/s//#include "compat.h"\n&/' "$1/lib/netdev-dpdk.c"
    fi
}
