# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at:
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The commands."""

import argparse
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import time

from ovs.mtu import check, database, ovn, page, probe, report
from ovs.mtu.model import Host
from ovs.mtu.networks import Topology
from ovs.stream import Stream

FINE, FOUND, CANNOT_TELL = 0, 1, 2      # Exit statuses.


def fail(text):
    """Prints why there is no answer, and ends the program."""
    print(f"ovs-mtu: {text}", file=sys.stderr)
    sys.exit(CANNOT_TELL)


def read_hosts(args, with_statistics=False):
    """Returns the Hosts of the command line; prints which can't be read, or
    not completely."""
    remotes = list(dict.fromkeys(args.db or [args.default_db]))
    hosts = [Host(each, each.remote == args.default_db) for each in
             database.read(remotes, args.timeout, with_statistics)]
    for host in hosts:
        for text in (host.error or host.doubt, host.missing
                     and "its schema has no " + ", ".join(host.missing)):
            if text:
                print(f"ovs-mtu: {host.remote}: {text}", file=sys.stderr)
    return hosts


def read_southbound(args):
    """Returns OVN's southbound database, or None if none was given; prints
    why it can't be read."""
    if not args.southbound:
        return None
    southbound, = database.read([args.southbound], args.timeout, False,
                                ovn.Southbound)
    if southbound.error:
        print(f"ovs-mtu: {southbound.remote}: {southbound.error}",
              file=sys.stderr)
    return southbound


def wanted_bridges(hosts, names):
    """Returns a function that returns whether something is on one of the
    bridges with these names, or on any bridge if there are no names."""
    known = {bridge.name for host in hosts for bridge in host.bridges}
    for name in names:
        if name not in known and not any(host.error for host in hosts):
            fail(f"there is no bridge \"{name}\"")
    return lambda what: not names or what.bridge.name in names


def status_of(hosts, southbound=None):
    return (CANNOT_TELL if any(host.error or host.doubt for host in hosts)
            or southbound and southbound.error else FINE)


def run_show(args):
    hosts = read_hosts(args, True)
    is_wanted = wanted_bridges(hosts, args.bridges)
    topology = Topology(hosts)
    interfaces = [
        report.interface_to_json(i, topology) for host in topology.hosts
        for bridge in host.bridges for port in bridge.ports
        for i in port.interfaces if is_wanted(i)]
    if args.format == "json":
        report.print_json(databases=report.databases_to_json(hosts),
                          interfaces=interfaces)
    elif args.format == "prometheus":
        report.print_interface_metrics(interfaces)
    else:
        report.print_interfaces(interfaces, len(hosts) > 1)
    return status_of(hosts)


def read_before(path):
    """Returns {(host, interface): counters of check.DROPS} from the output of
    "show --format=json"."""
    try:
        with open(path) as file:
            return {(i["host"], i["interface"]):
                    [i.get(key, 0)
                     for key in ("rx_drops", "tx_drops", "guest_drops")]
                    for i in json.load(file)["interfaces"]}
    except (OSError, ValueError, KeyError, TypeError) as e:
        fail(f"{path}: not the output of \"ovs-mtu show --format=json\" ({e})")


def read_and_check(args, with_statistics=False):
    """Returns the Hosts, their Topology, and what is wrong there."""
    before = None
    if args.since:
        before = read_before(args.since)
    elif args.watch:
        before = {(host.name, i.name):
                  [i.statistics.get(key, 0) for key in check.DROPS]
                  for host in read_hosts(args, True)
                  for i in host.interfaces.values()}
        time.sleep(args.watch)
    hosts = read_hosts(args, with_statistics or before is not None)
    topology = Topology(hosts, read_southbound(args))
    return hosts, topology, check.check(topology, before)


def run_check(args):
    hosts, topology, found = read_and_check(args)
    is_wanted = wanted_bridges(hosts, args.bridges)
    findings = [f for f in found if is_wanted(f)]
    checked = len([i for i in topology.interfaces if is_wanted(i)])
    status = FOUND if findings else status_of(hosts, topology.southbound)
    if args.format == "json":
        report.print_json(databases=report.databases_to_json(
                              hosts, topology.southbound),
                          findings=[report.finding_to_json(f)
                                    for f in findings], checked=checked)
    elif args.format == "prometheus":
        report.print_finding_metrics(hosts, topology.southbound, findings)
    else:
        report.print_findings(findings, len(hosts) > 1)
        if checked or status == FINE:
            print("%s checked: %s." % (
                report.count(checked, "interface"),
                report.count(len(findings), "problem") if findings
                else "no problems"))
    return status


def run_report(args):
    hosts, topology, findings = read_and_check(args, True)
    text = page.Page(hosts, topology, findings).render(
        time.strftime("%Y-%m-%d %H:%M:%S %z"))
    try:
        if args.output:
            with open(args.output, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            sys.stdout.write(text)
    except OSError as e:
        if not args.output:
            raise
        fail(f"{args.output}: {e.strerror}")
    return FOUND if findings else status_of(hosts, topology.southbound)


def probe_targets(topology, size):
    """Returns [(address, needed MTU or None)]: the remote ends of tunnels,
    unless they are here.  A tunnel must pass 'size', or else the largest
    packets of its networks, or else the largest that its underlay allows."""
    targets = {}
    for interface in topology.interfaces:
        address = interface.options.get("remote_ip", "flow")
        if address == "flow":
            continue
        underlay = topology.underlay(interface)
        inner = topology.tunnel_need(interface)
        if size:
            need = size
        elif inner and underlay.overhead:
            need = inner + underlay.overhead
        else:
            need = underlay.bottleneck[1] if underlay.bottleneck else 0
        targets[address] = max(targets.get(address, 0), need)
    return [(address, need or None) for address, need in
            sorted(targets.items()) if not probe.is_own(address)]


def probe_here(args):
    """Returns ([path], [what a database says]), both for JSON."""
    until = time.monotonic() + args.seconds
    hosts, southbound = [], None
    if not args.addresses:
        hosts, southbound = read_hosts(args), read_southbound(args)
    targets = ([(address, args.size) for address in args.addresses]
               or probe_targets(Topology(hosts, southbound), args.size))
    paths = []
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for path in pool.map(lambda target: probe.probe_path(
                *target, args.packets, until), targets):
            paths.append(path.to_json())
            tell_paths(args, paths[-1:])
            if len(targets) > 16 and sys.stderr.isatty():
                print(f"{len(paths)} of {len(targets)}\r", end="",
                      file=sys.stderr, flush=True)
    databases = report.databases_to_json(hosts, southbound)
    if not paths:
        tell_paths(args, [], databases)
    return paths, databases


def tell_paths(args, paths, databases=(), command=None):
    if args.format != "text":
        return
    for each in paths:
        print(each["text"] + ".", flush=True)
    if not paths and not any("error" in each for each in databases):
        print(f"{command}: there are no tunnels to another host." if command
              else "There are no tunnels to another host.")


def probe_via(args, command):
    """Makes another host, to which 'command' leads, do the same."""
    argv = shlex.split(command) + [
        "ovs-mtu", "probe", "--format=json", f"--timeout={args.timeout:g}",
        f"--seconds={args.seconds:g}", f"--packets={args.packets}"]
    if args.size:
        argv.append(f"--size={args.size}")
    if args.southbound:
        argv.append(f"--southbound={args.southbound}")
    seconds = args.seconds + args.timeout + 5
    try:
        done = subprocess.run(
            argv + args.addresses, stdin=subprocess.DEVNULL, timeout=seconds,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True)
        said = done.stderr.strip().split("\n")[-1]
        answer = json.loads(done.stdout)
        paths = [dict(each, via=command, text=f"{command}: {each['text']}")
                 for each in answer["paths"]]
        return paths, [dict(each, via=command) for each in answer["databases"]]
    except subprocess.TimeoutExpired:
        error = f"no answer within {seconds:g} seconds"
    except OSError as e:
        error = e.strerror
    except (ValueError, KeyError, TypeError):
        error = said or "its answer is not that of ovs-mtu"
    return [{"via": command, "error": error,
             "text": f"{command}: can't tell: {error}"}], []


def probe_from_others(args):
    """Returns the same as probe_here(), from all hosts of --via."""
    paths, databases = [], []
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = pool.map(lambda each: probe_via(args, each), args.via)
        for command, (its_paths, its_databases) in zip(args.via, answers):
            paths += its_paths
            databases += its_databases
            for each in its_databases:
                if "error" in each:
                    print("ovs-mtu: {via}: {database}: {error}".format(**each),
                          file=sys.stderr)
            tell_paths(args, its_paths, its_databases, command)
    return paths, databases


def run_probe(args):
    paths, databases = (probe_from_others if args.via else probe_here)(args)
    if args.format == "json":
        report.print_json(databases=databases, paths=paths)
    elif args.format == "prometheus":
        report.print_probe_metrics(paths)
    if any(each.get("path_mtu", each.get("needs", 0)) < each.get("needs", 0)
           for each in paths):
        return FOUND
    return (CANNOT_TELL if any("error" in each for each in paths + databases)
            else FINE)


def positive(type_):
    def parse(text):
        value = type_(text)
        if value <= 0:
            raise ValueError
        return value
    parse.__name__ = "positive " + type_.__name__
    return parse


def readable(path):
    try:
        open(path).close()
        return path
    except OSError as e:
        raise argparse.ArgumentTypeError(f"{path}: {e.strerror}")


def command(text):
    if not shlex.split(text):
        raise ValueError
    return text


def parse_arguments(argv, version):
    parser = argparse.ArgumentParser(
        prog="ovs-mtu", description="Finds the hop whose MTU disagrees.",
        epilog="Exit status: 0 if all is fine, 1 if something was found, 2 if "
               "that is unknown.")
    parser.add_argument("-V", "--version", action="version",
                        version=f"ovs-mtu (Open vSwitch) {version}")
    reading = argparse.ArgumentParser(add_help=False)
    reading.add_argument(
        "--db", action="append", metavar="DATABASE",
        help="unix:FILE, tcp:HOST:PORT or ssl:HOST:PORT, or several of them, "
             "with commas between, for the servers of a cluster; can be given "
             "several times; default: the local one")
    reading.add_argument("-t", "--timeout", type=positive(float), default=5,
                         metavar="SECONDS",
                         help="for a database to answer; default: 5")
    for letter, name, what in (("p", "private-key", "private key"),
                               ("c", "certificate", "certificate"),
                               ("C", "ca-cert", "certificate of the CA")):
        reading.add_argument("-" + letter, "--" + name, metavar="FILE",
                             type=readable, help=f"the {what}, for ssl:")
    common = argparse.ArgumentParser(add_help=False, parents=[reading])
    common.add_argument("-f", "--format", default="text",
                        choices=("text", "json", "prometheus"))
    since = argparse.ArgumentParser(add_help=False)
    group = since.add_mutually_exclusive_group()
    group.add_argument("--since", metavar="FILE",
                       help="tell what was dropped since \"ovs-mtu show "
                            "--format=json\" wrote FILE")
    group.add_argument("--watch", type=positive(float), metavar="SECONDS",
                       help="tell what is dropped in that time")
    with_ovn = argparse.ArgumentParser(add_help=False)
    with_ovn.add_argument(
        "--southbound", metavar="DATABASE",
        help="OVN's southbound database, which says what its networks are")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    commands.required = True

    sub = commands.add_parser("show", parents=[common],
                              help="show the MTU of each interface")
    sub.add_argument("bridges", metavar="BRIDGE", nargs="*")
    sub.set_defaults(function=run_show)

    sub = commands.add_parser("check", parents=[common, since, with_ovn],
                              help="say what is wrong")
    sub.add_argument("bridges", metavar="BRIDGE", nargs="*")
    sub.set_defaults(function=run_check)

    sub = commands.add_parser("report", parents=[reading, since, with_ovn],
                              help="draw it all on a page of HTML")
    sub.add_argument("-o", "--output", metavar="FILE",
                     help="default: standard output")
    sub.set_defaults(function=run_report)

    sub = commands.add_parser("probe", parents=[common, with_ovn],
                              help="try the path to other hosts")
    sub.add_argument("addresses", metavar="ADDRESS", nargs="*",
                     help="default: the remote ends of tunnels")
    sub.add_argument("-s", "--size", type=positive(int), metavar="MTU",
                     help="of packets that must pass; default: what the "
                          "tunnel needs")
    sub.add_argument("--packets", type=positive(int), default=200,
                     metavar="N",
                     help="at most, to each address; default: 200")
    sub.add_argument("--seconds", type=positive(float), default=600,
                     metavar="N", help="at most, in all; default: 600")
    sub.add_argument("--via", action="append", type=command,
                     metavar="COMMAND",
                     help="have the host probe that the command leads to, "
                          "such as \"ssh HOST\"; can be given several times")
    sub.set_defaults(function=run_probe)
    args = parser.parse_args(argv)
    if args.command == "probe" and args.via and args.db:
        parser.error("with --via, hosts read their own databases, not --db")
    return args


def main(argv, version, rundir):
    """Runs ovs-mtu, and returns its exit status.

    rundir: where the local database is, unless the environment says it."""
    args = parse_arguments(argv, version)
    args.default_db = f"unix:{os.environ.get('OVS_RUNDIR', rundir)}/db.sock"
    for value, setter in (
            (args.private_key, Stream.ssl_set_private_key_file),
            (args.certificate, Stream.ssl_set_certificate_file),
            (args.ca_cert, Stream.ssl_set_ca_cert_file)):
        if value:
            setter(value)
    try:
        status = args.function(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT_TELL
    except KeyboardInterrupt:
        return 130
