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

"""What is known, as text, JSON or Prometheus's metrics."""

import collections
import json
import sys

from ovs.mtu.check import DROPS, Finding
from ovs.mtu.model import ACCEPT

DATABASE_UP = "Whether the database could be read, and is not empty."


def count(n, what):
    return f"{n} {what}" + ("" if n == 1 else "s")


def known(**values):
    """Returns those of the values that are known."""
    return {k: v for k, v in values.items() if v is not None}


def interface_to_json(interface, topology):
    requested, source = interface.mtu_request, "interface"
    if requested is None and interface.is_controlled:
        requested, source = interface.bridge.mtu_request, "bridge"
    lowest, highest = interface.limits
    found = known(
        host=interface.host.name, bridge=interface.bridge.name,
        port=interface.port.name, interface=interface.name,
        type=interface.type, vlan=interface.port.access, mtu=interface.mtu,
        requested=requested,
        requested_by=source if requested is not None else None,
        min_mtu=lowest, max_mtu=highest,
        prepared_mtu=interface.number("prepared_mtu"),
        guest_mtu=interface.guest_mtu,
        buffer_size=interface.number("mempool_buffer_size"),
        neighbor=interface.neighbor,
        neighbor_frame_size=interface.neighbor_frame,
        error=interface.mtu_error,
        accepted=interface.external_ids.get(ACCEPT),
        mbufs=interface.number("mempool_mbufs"),
        missing_mbufs=interface.number("mempool_missing_mbufs"),
        least_free_mbufs=interface.statistics.get("ovs_mempool_least_free"),
        path_mtu=interface.path_mtu,
        drops=interface.drops or None,
        rx_drops=interface.statistics.get(DROPS[0]),
        tx_drops=interface.statistics.get(DROPS[1]),
        guest_drops=interface.statistics.get(DROPS[2]))
    if interface.is_tunnel:
        underlay = topology.underlay(interface)
        name, mtu, _ = underlay.bottleneck or (None, None, None)
        found.update(known(overhead=underlay.overhead, underlay=name,
                           underlay_mtu=mtu, largest_inner_mtu=underlay.limit))
    return found


def finding_to_json(finding):
    interface = finding.interface
    return known(
        kind=finding.kind, host=finding.host.name, bridge=finding.bridge.name,
        numbers=finding.numbers, text=finding.text, commands=finding.commands,
        port=interface and interface.port.name,
        interface=interface and interface.name)


def databases_to_json(hosts, southbound=None):
    others = [southbound] if southbound else []
    return [known(database=host.remote, host=host.name,
                  running=host.is_running, error=host.error or host.doubt,
                  missing=host.missing or None) for host in hosts] + [
        known(database=each.remote, error=each.error) for each in others]


def print_json(**content):
    json.dump(content, sys.stdout, indent=2, sort_keys=True)
    print()


def print_table(rows):
    """Prints rows of texts; the first row has the headings."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    for row in rows:
        print(" ".join(text.ljust(width) for text, width
                       in zip(row, widths)).rstrip())


def print_interfaces(interfaces, with_hosts):
    """Prints a table of what interface_to_json() returned."""
    rows = [["bridge", "port", "interface", "type", "vlan", "mtu", "requested",
             "limits", "guest", "buffer", "rx-drops", "tx-drops", "error"]]
    for each in interfaces:
        requested = limits = "-"
        if "requested" in each:
            requested = "{requested} ({requested_by})".format(**each)
        if "min_mtu" in each and "max_mtu" in each:
            limits = "{min_mtu}..{max_mtu}".format(**each)
            if "prepared_mtu" in each:
                limits += f", prepared for {each['prepared_mtu']}"
        elif "largest_inner_mtu" in each:
            limits = "up to {largest_inner_mtu} ({underlay})".format(**each)
        rows.append([str(each.get(key, "-")) for key in (
            "bridge", "port", "interface", "type", "vlan", "mtu")]
            + [requested, limits] + [str(each.get(key, "-")) for key in (
                "guest_mtu", "buffer_size", "rx_drops", "tx_drops", "error")])
    if with_hosts:
        for row, each in zip(rows, [{"host": "host"}] + interfaces):
            row.insert(0, each["host"])
    if interfaces:
        print_table(rows)


def print_findings(findings, with_hosts):
    for finding in findings:
        where = finding.bridge.name
        if with_hosts:
            where = f"{finding.host.name}: {where}"
        print(f"{where}: {finding.text}.")
        for command in finding.commands:
            print("    " + command)


class Metrics:
    """Prometheus's text format, which has each series only once."""

    def __init__(self):
        self._families = {}

    def add(self, name, help_, value, **labels):
        series = self._families.setdefault((name, help_), {})
        text = ",".join('%s="%s"' % (k, v.replace("\\", r"\\").replace(
            '"', r'\"').replace("\n", r"\n")) for k, v in labels.items())
        series[text] = value

    def print(self):
        for (name, help_), series in self._families.items():
            type_ = "counter" if name.endswith("_total") else "gauge"
            print(f"# HELP ovs_mtu_{name} {help_}")
            print(f"# TYPE ovs_mtu_{name} {type_}")
            for text, value in series.items():
                print("ovs_mtu_%s{%s} %d" % (name, text, value))


def print_values(prefix, rows, described, labels):
    """Prints metrics of rows of JSON, described as [(key, name, help)]."""
    metrics = Metrics()
    for key, name, help_ in described:
        for row in rows:
            if key in row:
                metrics.add(prefix + name, help_, row[key],
                            **{k: row[k] for k in labels if k in row})
    metrics.print()


def print_interface_metrics(interfaces):
    labels = "host", "bridge", "port", "interface", "reason"
    drops = [dict({k: i[k] for k in labels[:-1]}, reason=why, drops=n)
             for i in interfaces for why, n in i.get("drops", {}).items()]
    rows = [{k: v for k, v in i.items() if k != "drops"} for i in interfaces]
    print_values("interface_", rows + drops, (
        ("mtu", "mtu_bytes", "MTU in effect."),
        ("requested", "requested_mtu_bytes", "MTU that is requested."),
        ("guest_mtu", "guest_mtu_bytes",
         "MTU that the hypervisor gave the guest."),
        ("max_mtu", "max_mtu_bytes", "Largest MTU of the device."),
        ("neighbor_frame_size", "neighbor_frame_bytes",
         "Largest frame that the neighbor takes, as it says by LLDP."),
        ("largest_inner_mtu", "inner_mtu_bytes",
         "Largest MTU that fits into the tunnel."),
        ("path_mtu", "path_mtu_bytes",
         "Size of packets that pass the tunnel, by BFD."),
        ("mbufs", "mempool_mbufs",
         "Mbufs of the mempool that it receives into."),
        ("missing_mbufs", "mempool_missing_mbufs",
         "Mbufs that this mempool lacks, for want of memory."),
        ("least_free_mbufs", "mempool_least_free_mbufs",
         "Fewest mbufs that were free there."),
        ("drops", "drops_total",
         "Packets dropped, by the name that Open vSwitch has for it."),
        ("rx_drops", "rx_exceeded_drops_total",
         "Received packets dropped because of their size."),
        ("tx_drops", "tx_exceeded_drops_total",
         "Packets to send dropped because of their size.")), labels)


def print_finding_metrics(hosts, southbound, findings):
    metrics = Metrics()
    if southbound:
        metrics.add("database_up", DATABASE_UP, not southbound.error,
                    database=southbound.remote)
    for host in hosts:
        metrics.add("database_up", DATABASE_UP, not host.error,
                    database=host.remote, host=host.name)
        if host.is_running is not None:
            metrics.add("vswitchd_up", "Whether ovs-vswitchd runs, and has "
                        "applied the last change.",
                        host.is_running and not (host.error or host.doubt),
                        database=host.remote, host=host.name)
        for kind in Finding.KINDS:
            metrics.add("findings", "How many things ovs-mtu check has found.",
                        len([f for f in findings if f.host is host
                             and f.kind == kind]),
                        host=host.name, kind=kind)
    where = collections.Counter(
        (f.host.name, f.kind, f.bridge.name,
         f.interface.name if f.interface else "") for f in findings)
    for labels, n in where.items():
        metrics.add("finding", "Where it has found how many.", n, **dict(
            zip(("host", "kind", "bridge", "interface"), labels)))
    metrics.print()


def print_probe_metrics(paths):
    """paths: what Path.to_json() returned."""
    print_values("probe_", paths, (
        ("needs", "needed_mtu_bytes", "Size of packets that must pass."),
        ("path_mtu", "path_mtu_bytes", "Size of packets that pass.")),
        ("via", "address"))
