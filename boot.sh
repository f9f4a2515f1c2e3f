#!/bin/bash
# boot.sh: generates configure, as OVS's boot.sh does.
# boot.sh COMMAND [--base=BASE] [-- MAKE-ARGUMENT...]: does all the set-up that
# COMMAND needs, then COMMAND.  As root on Debian it installs the packages that
# are missing; all the rest happens in _build/BASE.  Exits with 2 where it was
# called wrongly, 1 where something failed or is missing, saying what.
set -eu
cd "$(dirname "$0")"
. build-aux/lib.sh

usage() {
    cat <<END
usage: ./boot.sh [COMMAND [--base=BASE] [-- MAKE-ARGUMENT...]]

  demo            show jumbo frames passing a patched switch (as root)
  check           build, then run the tests
  build           build the patched Open vSwitch in _build/BASE/root
  bench           measure it against the unpatched one (as root, long)
  deb             make Debian packages of it in _build/BASE/deb (as root)
  series          write the patches as mails in _build/BASE/series
  check-upstream  compare OVS's whole testsuite, patched and unpatched (long)
  (none)          only generate ./configure

BASE is the Open vSwitch release to build: $(kept | paste -sd' ').  Default: the one that
this machine's own release packages.
END
}

wrong() {
    echo "boot.sh: error: $*" >&2
    usage >&2
    exit 2
}

command=
base=
while [ $# -gt 0 ]; do
    case $1 in
    --base=*) base=${1#--base=} ;;
    --help | -h) usage; exit 0 ;;
    --) shift; break ;;
    -*) wrong "unknown option \"$1\"" ;;
    *) [ ! "$command" ] || wrong "one command at a time: \"$command\" and \"$1\""
       command=$1 ;;
    esac
    shift
done
case $command in
build) target=all ;;
demo | check | bench | deb | series | check-upstream) target=$command ;;
"") [ ! "$base" ] && [ $# = 0 ] || wrong "without a command there is nothing to give options to" ;;
*) wrong "unknown command \"$command\"" ;;
esac
[ ! "$base" ] || kept | grep -qxF -e "$base" || wrong "unknown base \"$base\""

if [ ! "$command" ]; then
    mkdir -p build-aux/autotools
    exec autoreconf --install --force
fi

# packages: their names, or with "reasons" what for, of build-aux/packages.
packages() {
    sed '/^#/d' build-aux/packages | if [ $# = 0 ]; then cut -d' ' -f1; else cat; fi
}
# missing: the packages that aren't installed.
missing() {
    LC_ALL=C comm -13 <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^.i *//p' | LC_ALL=C sort -u) \
                      <(packages | LC_ALL=C sort) | paste -sd' '
}
install() {
    apt-get install -y --no-install-recommends "$@" || {
        apt-get update && apt-get install -y --no-install-recommends "$@"
    }
}

distribution=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown}" || echo unknown)
if [ "$distribution" != debian ]; then
    { echo "boot.sh: error: this is not Debian ($distribution), so boot.sh can't install what it needs here."
      echo "Needed, under their Debian names:"
      packages reasons | sed 's/^/  /'
      echo "With these and an Open vSwitch tree of your own ($(kept | paste -sd' ')):"
      echo "  ./boot.sh && ./configure --with-ovs=DIR && make"; } >&2
    exit 1
fi
missing=$(missing)
if [ "$missing" ]; then
    [ "$(id -u)" = 0 ] || die "these packages are missing: $missing
Install them (as root), then run this again:
  apt-get install $missing"
    export DEBIAN_FRONTEND=noninteractive
    logged "installing $missing" "$top/_build/packages.log" install $missing
fi
case $command in
demo | bench) root_for="network namespaces" ;;
deb) root_for="debootstrap and chroot" ;;
*) root_for= ;;
esac
[ ! "$root_for" ] || [ "$(id -u)" = 0 ] ||
    die "$command needs root, for $root_for: sudo ./boot.sh $command"
[ "$command" != check ] || [ "$(id -u)" = 0 ] ||
    echo "boot.sh: not root: the tests that need network namespaces will be skipped" >&2

base=$(build-aux/pick-base "$base")
work=$top/_build/$base
if [ ! -e configure ] || [ configure.ac -nt configure ] || [ ! -e Makefile.in ]; then
    logged "generating configure" "$top/_build/autoreconf.log" ./boot.sh
fi
if [ ! -e "$work/config.status" ] || [ configure -nt "$work/config.status" ]; then
    configure() {
        cd "$work" && ../../configure --with-base="$base"
    }
    logged "configuring for base $base" "$work/configure.log" configure
fi
exec make -s -C "$work" "$target" "$@"
