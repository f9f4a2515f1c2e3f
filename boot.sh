#!/bin/bash
# boot.sh: generates configure, as OVS's boot.sh does.
# boot.sh COMMAND [--base=BASE | --onto=DIR] [--topic=TOPIC [--merged=TOPIC...]]
# [-- MAKE-ARGUMENT...]: does all the set-up that COMMAND needs, then COMMAND.
# As root on Debian it installs the packages that are missing; all the rest
# happens in _build/BASE, or _build/onto.  Exits with 2 if it was called
# wrongly, with 1 if something failed or is missing, and says what.
set -eu
called=$PWD
cd "$(dirname "$0")"
. build-aux/lib.sh

usage() {
    cat <<END
usage: ./boot.sh [COMMAND [--base=BASE | --onto=DIR]
                  [--topic=TOPIC [--merged=TOPIC...]] [-- MAKE-ARGUMENT...]]

  demo            show jumbo frames passing a patched switch (as root)
  check           build, then run the tests
  build           build the patched Open vSwitch in _build/BASE/root
  bench           measure it against the unpatched one (as root, long)
  deb             make Debian packages of it in _build/BASE/deb (as root)
  series          write the patches as mails in _build/BASE/series, or those
                  of one topic in _build/BASE/series-TOPIC, on top of the topics
                  that upstream has taken, each a --merged=TOPIC, in that order
  check-upstream  compare OVS's whole testsuite, patched and unpatched (long)
  (none)          only generate ./configure

BASE is the Open vSwitch release to build: $(kept | paste -sd' ').  Default: the one that
this machine's own release packages.  DIR is an Open vSwitch tree of your own, from
3.1 to upstream's main; the output is in _build/onto then.
TOPIC: $(topics | paste -sd' ').
END
}

wrong() {
    echo "boot.sh: error: $*" >&2
    usage >&2
    exit 2
}

command= base= onto= work= topic= merged=
while [ $# -gt 0 ]; do
    case $1 in
    --base=*) base=${1#--base=} ;;
    --onto=?*) onto=${1#--onto=} ;;
    --topic=*) topic=${1#--topic=} ;;
    --merged=*) merged+=" ${1#--merged=}" ;;
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
"") [ ! "$base$onto$topic$merged" ] && [ $# = 0 ] || wrong "without a command there is nothing to give options to" ;;
*) wrong "unknown command \"$command\"" ;;
esac
[ ! "$base" ] || kept | grep -qxF -e "$base" || wrong "unknown base \"$base\""
for each in "$topic" $merged; do
    [ ! "$each" ] || topics | grep -qxF -e "$each" || wrong "unknown topic \"$each\""
done
[ ! "$topic" ] || [ "$command" = series ] || wrong "--topic is only for \"series\""
[ ! "$merged" ] || [ "$topic" ] || wrong "--merged is only for --topic"
[ ! "$base" ] || [ ! "$onto" ] || wrong "--base and --onto are two ways to say it"

if [ ! "$command" ]; then
    mkdir -p build-aux/autotools
    exec autoreconf --install --force
elif [ "$onto" ]; then
    onto=$(cd "$called" && cd "$onto" && pwd)/
    base=$(build-aux/pick-base "$onto")
    work=$top/_build/onto
    rm -rf "$work"
    if [ "$command" = series ]; then    # needs no more than git
        build-aux/apply "$base" "$work" "$onto"
        exec build-aux/series "$base" "$work" ${topic:+"$topic"} $merged
    fi
fi

# packages [2]: the names in build-aux/packages, or those with dnf.
packages() {
    sed '/^#/d;s/  */ /g' build-aux/packages | cut -d' ' -f"${1:-1}" | grep -v '^-'
}
# missing: the packages that the command needs and that aren't installed.
missing() {
    LC_ALL=C comm -13 <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^.i *//p' | LC_ALL=C sort -u) \
                      <({ packages; [ "$command" != deb ] || echo debootstrap; } | LC_ALL=C sort) | paste -sd' '
}
install() {
    apt-get install -y --no-install-recommends "$@" || {
        apt-get update && apt-get install -y --no-install-recommends "$@"
    }
}

family=$(. /etc/os-release 2>/dev/null && echo " ${ID-} ${ID_LIKE-} " || :)
case $family in
" debian "*) ;;
*" debian "*)
    echo "boot.sh: this was tested on Debian;${family%% debian *} is derived from it, so it may work here" >&2
    own=/usr/src/openvswitch/openvswitch.tar.gz ;;
*)
    { echo "boot.sh: error: this is not Debian, so boot.sh can't install what it needs.  With dnf, that is"
      echo "  dnf install $(packages 2 | paste -sd' ')"
      echo "With these and an Open vSwitch tree of your own, 3.1 to upstream's main:"
      echo "  ./boot.sh && ./configure --with-ovs=DIR && make"; } >&2
    exit 1 ;;
esac
case $command in
demo | bench) root_for="network namespaces" ;;
deb) root_for="debootstrap and chroot" ;;
*) root_for= ;;
esac
[ ! "$root_for" ] || [ "$(id -u)" = 0 ] ||
    die "$command needs root, for $root_for: sudo ./boot.sh $command"
missing=$(missing)
if [ "$missing" ]; then
    [ "$(id -u)" = 0 ] || die "these packages are missing: $missing
Install them (as root), then run this again:
  apt-get install $missing"
    export DEBIAN_FRONTEND=noninteractive
    logged "installing $missing" "$top/_build/packages.log" install $missing
fi
[ "$command" != check ] || [ "$(id -u)" = 0 ] ||
    echo "boot.sh: not root: the tests that need network namespaces will be skipped" >&2

if [ "${own-}" ] && [ ! "$base" ]; then
    onto=$top/_build/own/
    mkdir -p "$onto"
    tar xzf "$own" -C "$onto" --strip-components=1
    base=$onto
fi
base=$(build-aux/pick-base "$base")
work=${work:-$top/_build/$base}
if [ ! -e configure ] || [ configure.ac -nt configure ] || [ ! -e Makefile.in ]; then
    logged "generating configure" "$top/_build/autoreconf.log" ./boot.sh
fi
if [ ! -e "$work/config.status" ] || [ configure -nt "$work/config.status" ]; then
    configure() {
        cd "$work" && ../../configure --with-base="$base" ${onto:+--with-ovs="$onto"}
    }
    logged "configuring for base $base" "$work/configure.log" configure
fi
exec make -s -C "$work" "$target" ${topic:+TOPIC="$topic" MERGED="$merged"} "$@"
