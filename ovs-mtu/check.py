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

"""Finds what is wrong: a function for each rule, which yields Findings."""

import collections
import functools
import itertools
import shlex

from ovs.mtu.tunnels import Underlay

DEFAULT_MTU = 1500
DROPS = ("ovs_rx_mtu_exceeded_drops", "ovs_tx_mtu_exceeded_drops",
         "ovs_tx_guest_buffer_drops")
# By what is known of Underlay.tells.
TELLS = {None: "", True: ", which senders are told by ICMP",
         False: ", which senders are not told: other_config:tunnel-pmtud is "
                "false"}


class Finding:
    """Something that is wrong, or will be.

    kind: the rule that found it.  where: the Interface, or a Bridge.
    numbers: by name.  commands: those that fix it, or none."""

    KINDS = ("network", "uplink", "neighbor", "tunnel", "bond", "guest",
             "buffers", "request", "drops", "bfd", "internal")

    def __init__(self, kind, where, text, numbers, commands=()):
        assert kind in self.KINDS
        self.kind = kind
        self.host = where.host
        self.bridge = getattr(where, "bridge", where)
        self.interface = None if where is self.bridge else where
        self.text = text
        self.numbers = numbers
        self.commands = list(commands)

    def sort_key(self):
        return (self.host.name, self.bridge.name,
                self.interface.name if self.interface else "",
                self.KINDS.index(self.kind))


def check(topology, before=None):
    """Returns what is wrong.  before: earlier counters of drops, by host and
    interface, or None.

    If the same hop is too small for several needs, only the largest is
    reported."""
    rules = [check_networks(topology), check_exits(topology),
             check_neutron(topology), check_neighbors(topology),
             check_bonds(topology)]
    for interface in topology.interfaces:
        if not interface.is_accepted(interface.mtu):
            rules += [check_request(interface),
                      check_guest(topology, interface),
                      check_buffers(interface),
                      check_drops(interface, before or {}),
                      check_bfd(topology, interface),
                      check_internal(topology, interface)]
    findings, by_hop = [], {}
    for finding in itertools.chain(*rules):
        if finding.bridge.accept == "any":
            continue
        if finding.kind not in ("uplink", "neighbor", "tunnel"):
            findings.append(finding)
            continue
        key = finding.kind, finding.interface
        if (key not in by_hop or by_hop[key].numbers["needs"]
                < finding.numbers["needs"]):
            by_hop[key] = finding
    return sorted(findings + list(by_hop.values()), key=Finding.sort_key)


def vsctl(host, *args):
    words = ["ovs-vsctl"] + list(args)
    if not host.is_default:
        words.insert(1, "--db=" + host.remote)
    return " ".join(map(shlex.quote, words))


def raising(interface, mtu):
    """Returns the command that gives an interface a larger MTU, or None if it
    isn't certain that the operator wants that."""
    lowest, highest = interface.limits
    if (not interface.host.can_request
            or not interface.is_controlled
            or interface.mtu_request is not None
            or interface.bridge.mtu_request is not None
            or interface.mtu_error
            or interface.guest_mtu and interface.guest_mtu < mtu
            or lowest and mtu < lowest or highest and mtu > highest):
        return None
    return vsctl(interface.host, "set", "Interface", interface.name,
                 f"mtu_request={mtu}")


# Texts.

def label(topology, interface):
    """The name of an interface, after its host's if there are several."""
    return (interface.name if len(topology.hosts) < 2 else
            f"{interface.host.name}:{interface.name}")


def shorten(names, limit=5):
    """Returns "p0, p1", and how many more there are above the limit."""
    return ", ".join(names[:limit]) + (
        f" and {len(names) - limit} more" if len(names) > limit else "")


def list_ends(topology, ends):
    """Returns "1500 (p0, p1), 9000 (p2)" for [(interface, MTU)]."""
    by_mtu = collections.defaultdict(list)
    for interface, mtu in ends:
        by_mtu[mtu].append(label(topology, interface))
    return ", ".join(f"{mtu} ({shorten(by_mtu[mtu])})"
                     for mtu in sorted(by_mtu))


def differ(topology, where, text, ends, vlan, commands=()):
    """Returns the Finding that ends of one network have different MTUs."""
    return Finding(
        "network", where,
        f"{text} different MTUs: {list_ends(topology, ends)}",
        {"mtus": {label(topology, i): mtu for i, mtu in ends}, "vlan": vlan},
        commands)


def largest(topology, network, ends):
    """Returns the largest MTU of ends of a network, and whose it is."""
    need = max(mtu for _, mtu in ends)
    whose = shorten([label(topology, i) for i, mtu in ends if mtu == need])
    return need, whose + (f", {network.label}" if network.label else "")


def too_small(topology, network, ends, hop, command=None, is_exit=False):
    """Returns the Finding that a hop, an Interface or an Underlay, doesn't
    take the largest packets of a network.  is_exit: it is the best of several
    exits."""
    need, whose = largest(topology, network, ends)
    commands = [command] if command else []
    if isinstance(hop, Underlay):
        name, mtu, _ = hop.bottleneck
        numbers = {"mtu": need, "overhead": hop.overhead, "underlay_mtu": mtu,
                   "needs": need + hop.overhead,
                   "largest_inner_mtu": hop.limit}
        if hop.tells is not None:
            numbers["senders_told"] = hop.tells
        return Finding(
            "tunnel", hop.interface,
            f"{hop.interface.name}: MTU {need} ({whose}) plus {hop.overhead} "
            f"bytes of {hop.interface.type} overhead exceeds MTU {mtu} of "
            f"egress interface {name}; the largest inner MTU is {hop.limit}"
            + TELLS[hop.tells], numbers, commands)
    what = ("too small, as are all other ways out: some packets have"
            if is_exit else "too small: packets of its network have")
    return Finding(
        "uplink", hop,
        f"{hop.name}: MTU {hop.mtu} is {what} up to {need} ({whose})",
        {"mtu": hop.mtu, "needs": need, "vlan": network.vlan}, commands)


# Networks whose hops are all known.

def check_networks(topology):
    for network in topology.networks:
        ends = network.ends() if network.is_one else []
        if not ends or network.bridge.by_flows and not network.guests:
            continue
        need = max(mtu for _, mtu in ends)
        lacking = find_lacking(topology, network, ends, need)
        commands = mend(network, ends, need, lacking)
        small = [i for i, mtu in ends if mtu < need]
        if small:
            prefix = f"{network.label}: " if network.label else ""
            yield differ(
                topology, small[0] if len(small) == 1 else small[0].bridge,
                prefix + "ports of one network have", ends, network.vlan,
                [commands[i] for i in small if i in commands])
        for hop in lacking:
            if hop not in small:
                yield too_small(topology, network, ends, hop,
                                commands.get(hop))


def find_lacking(topology, network, ends, need):
    """Returns the ends, interfaces of transit ports, and Underlays of tunnels
    that are too small."""
    lacking = [i for i, mtu in ends if mtu < need]
    for port in network.transit:
        if port.smallest and port.smallest.mtu < need:
            lacking += [i for i in port.interfaces if i.mtu
                        == port.smallest.mtu and i not in lacking]
    # Packets that only pass through may always have been smaller.
    has_ends = network.guests or network.access
    for interface, tagged in network.tunnels.items() if has_ends else ():
        underlay = topology.underlay(interface, tagged)
        if underlay.limit is not None and underlay.limit < need:
            lacking.append(underlay)
    return lacking


def mend(network, ends, need, lacking):
    """Returns the commands that make all in 'lacking' large enough, by what
    lacks: for all of it, or none."""
    wanted = [i for i, mtu in ends if mtu == need and (
        i.mtu_request == need
        or i.is_controlled and i.bridge.mtu_request == need)]
    commands = {}
    if wanted and not network.doors:
        for hop in lacking:
            if isinstance(hop, Underlay):
                mtu = need + hop.overhead
                hops = [] if hop.is_choice else hop.hops
                each = [i and raising(i, mtu) for _, m, i in hops if m < mtu]
                commands[hop] = (" && ".join(each)
                                 if each and all(each) else None)
            else:
                commands[hop] = raising(hop, need)
    return commands if all(commands.values()) else {}


# Networks whose further hops are decided by flows.

def check_exits(topology):
    """Reports networks for which no exit is large enough."""
    for network in topology.networks:
        ends = [(i, i.network_mtu) for i in network.guests]
        exits = decided_exits(topology, network) if ends else []
        if exits and are_too_small(exits, max(mtu for _, mtu in ends)):
            # An exit that is as large as some guests is right for these.
            right = {mtu for _, mtu in ends}
            port, _ = max(exits, key=lambda each: (each[1] not in right,
                                                   each[1]))
            yield too_small(topology, network, ends, topology.underlay(
                port.first) if port.first.is_tunnel else port.smallest,
                is_exit=len(exits) > 1)


def decided_exits(topology, network):
    """Returns the exits of a network, if only flows decide how it goes on."""
    if not network.kinds and (network.transit or network.tunnels):
        return []
    return topology.exits(network)


def are_too_small(exits, need):
    return all(mtu is not None and mtu < need for _, mtu in exits)


def check_neutron(topology):
    """Checks networks on several hosts, by Neutron's UUIDs: their ends, and
    the tunnels between these hosts."""
    by_id = collections.defaultdict(list)
    for network in topology.networks:
        for uuid in network.ids:
            by_id[uuid].append(network)
    for uuid, networks in by_id.items():
        ends = [(i, i.network_mtu) for network in networks
                for i in network.guests]
        if len({n.bridge.host for n in networks}) < 2 or not ends:
            continue
        each = {max(mtu for _, mtu in n.ends()) for n in networks if n.guests}
        if len(each) > 1:
            yield differ(topology, networks[0].bridge, f"network {uuid} has",
                         ends, networks[0].vlan)
        hosts = {n.bridge.host for n in networks if n.guests}
        for network in networks:
            if network.guests and network.kinds & {"vxlan", "geneve", "gre"}:
                yield from check_neutron_tunnels(topology, network, hosts)


def check_neutron_tunnels(topology, network, hosts):
    ends = network.ends()
    need = max(mtu for _, mtu in ends)
    exits = topology.exits(network)
    if are_too_small(exits, need):
        return                          # check_exits() reports it.
    for port, mtu in exits:
        peer = topology.peers.get(port.first)
        if peer and peer.host in hosts and mtu is not None and mtu < need:
            yield too_small(topology, network, ends,
                            topology.underlay(port.first))


# What is at the other end of links.

def check_neighbors(topology):
    """Reports neighbors, by LLDP, that don't take what a network needs."""
    if not any(i.neighbor_frame for i in topology.interfaces):
        return
    # Many networks, and tunnels, leave by the same ports.
    refused = functools.lru_cache(None)(functools.partial(refusing, topology))
    for network in topology.networks:
        ends = network.ends() if network.is_one else [
            (i, i.network_mtu) for i in network.guests]
        if not ends or network.bridge.by_flows and not network.guests:
            continue
        need, whose = largest(topology, network, ends)
        found = set()
        for port in network.transit:
            found.update(refused(port, need))
        for interface, tagged in network.tunnels.items():
            found.update(refused(interface.port, need, tagged))
        exits = [port for port, mtu in decided_exits(topology, network)
                 if mtu is None or mtu >= need]
        if all(refused(port, need) for port in exits):
            found.update(*(refused(port, need) for port in exits))
        for interface, needs in found:
            size = interface.neighbor_frame
            yield Finding(
                "neighbor", interface,
                f"{interface.name}: its neighbor, {interface.neighbor}, takes "
                f"frames of up to {size} bytes, but packets of up to {needs} "
                f"leave by it ({whose})", {"frame_size": size, "needs": needs})


def refusing(topology, port, need, tagged=False):
    """Returns [(Interface, MTU needed there)] where the neighbor doesn't take
    packets that leave by that port.

    What a frame has beside the packet counts for nothing here, since not all
    devices count it: what is found is certain."""
    ports, is_choice = [port], False
    if port.first.is_tunnel:
        underlay = topology.underlay(port.first, tagged)
        need += underlay.overhead or 0
        ports = [hop.port for _, _, hop in underlay.hops
                 if hop and hop.port.is_transit]
        is_choice = underlay.is_choice
    found = [[(i, need) for i in each.interfaces
              if i.is_up and i.neighbor and not i.is_accepted(i.mtu)
              and (i.neighbor_frame or need) < need] for each in ports]
    return ([] if is_choice and not all(found)
            else list(itertools.chain(*found)))


# Single ports and interfaces.

def check_bonds(topology):
    for port in (port for host in topology.hosts for bridge in host.bridges
                 for port in bridge.ports):
        ends = [(i, i.mtu) for i in port.interfaces
                if i.mtu and not i.is_accepted(i.mtu)]
        if len({mtu for _, mtu in ends}) < 2:
            continue
        need = max(mtu for _, mtu in ends)
        # The requested MTU of one member is meant for all.
        is_wanted = any(i.mtu_request == need for i, _ in ends)
        commands = [raising(i, need) for i, mtu in ends
                    if mtu < need and is_wanted]
        yield Finding(
            "bond", port.first, f"the members of bond {port.name} have "
            f"different MTUs: {list_ends(topology, ends)}",
            {"mtus": {label(topology, i): mtu for i, mtu in ends}},
            commands if all(commands) else [])


def check_request(interface):
    if interface.mtu_error:
        numbers = {"requested": interface.mtu_request, "mtu": interface.mtu}
        yield Finding(
            "request", interface, f"{interface.name}: {interface.mtu_error}",
            {k: v for k, v in numbers.items() if v is not None},
            [vsctl(interface.host, "clear", "Interface", interface.name,
                   "mtu_request")]
            if not interface.has_mtu and interface.mtu_request else [])


def check_guest(topology, interface):
    guest, mtu = interface.guest_mtu, interface.mtu
    if not guest or not mtu or guest <= mtu:
        return
    # The port can follow its guest if all else in its network fits.
    network = topology.by_vlan.get((interface.bridge, interface.port.native))
    command = raising(interface, guest)
    is_certain = (
        command and network and not network.doors
        and any(mtu == guest for i, mtu in network.ends()
                if i is not interface)
        and not find_lacking(topology, network, network.ends(), guest))
    yield Finding(
        "guest", interface, f"{interface.name}: the guest was given MTU "
        f"{guest}, but the port has MTU {mtu}: larger packets that the guest "
        "sends are dropped", {"mtu": mtu, "guest_mtu": guest},
        [command] if is_certain else [])


def check_buffers(interface):
    limit, mtu = interface.guest_limit, interface.mtu
    if limit and mtu and mtu > limit:
        yield Finding(
            "buffers", interface, f"{interface.name}: the guest has no "
            "mergeable buffers (VIRTIO_NET_F_MRG_RXBUF), and need not have "
            f"any for packets above {limit}, but the port has MTU {mtu}: "
            "packets that don't fit are dropped",
            {"mtu": mtu, "guest_limit": limit})


def check_drops(interface, before):
    then = before.get((interface.host.name, interface.name))
    if then is None:
        return
    now = [interface.statistics.get(key, 0) for key in DROPS]
    # Counters that have become smaller are those of a new port.
    rx, tx, refused = [n - b if n >= b else n for n, b in zip(now, then)]
    if rx or tx:
        yield Finding(
            "drops", interface, f"{interface.name}: dropped {rx} received and "
            f"{tx} outgoing packets that were larger than MTU {interface.mtu} "
            "allows",
            {"mtu": interface.mtu or 0, "rx_drops": rx, "tx_drops": tx})
    if refused:
        yield Finding(
            "drops", interface, f"{interface.name}: dropped {refused} "
            "outgoing packets for which the guest had no buffers",
            {"mtu": interface.mtu or 0, "guest_drops": refused})


def check_bfd(topology, interface):
    size = interface.number("padded_pdu_size", interface.bfd_status)
    state = interface.bfd_status.get("state", "")
    diagnostic = interface.bfd_status.get("diagnostic", "")
    if size and state != "up":
        lost = ""                       # RFC 5880, section 6.2.
        if state == "init":
            lost = ": packets to the other end are lost"
        elif diagnostic == "Control Detection Time Expired":
            lost = ": packets of the other end are lost"
        yield Finding(
            "bfd", interface, f"{interface.name}: BFD with control packets of "
            f"{size} bytes is {state} ({diagnostic}){lost}",
            {"padded_pdu_size": size})
    # What is smaller is reported by its name, if that is known.
    passes, need = interface.path_limit, topology.tunnel_need(interface)
    limit = topology.underlay(interface).limit
    if passes and need and passes < need and (limit is None or limit >= need):
        yield Finding(
            "bfd", interface, f"{interface.name}: packets have up to {need} "
            f"bytes, but BFD found that the path passes only up to {passes}",
            {"path_mtu": passes, "needs": need})


def check_internal(topology, interface):
    """Reports a port of the host itself whose MTU, set by "ip link", is larger
    than all by which packets of its network can go on.  Open vSwitch prevents
    that only within the same bridge.  The default may be too large, too, but
    nobody has said that it is needed."""
    network = topology.by_vlan.get((interface.bridge, interface.port.native))
    if (interface.type != "internal" or interface.is_guest
            or interface.admin_state != "up"
            or (interface.mtu or 0) <= DEFAULT_MTU
            or not network or network.doors):
        return
    ways = [(port.smallest.mtu, port.name) for port in network.transit
            if port.smallest]
    ways += [(i.network_mtu, i.name) for i in network.guests]
    ways += [(topology.underlay(i, tagged).limit, i.name)
             for i, tagged in network.tunnels.items()]
    if not ways or any(mtu is None for mtu, _ in ways):
        return
    limit, name = max(ways)
    if interface.mtu > limit:
        yield Finding(
            "internal", interface, f"{interface.name}: MTU {interface.mtu} "
            "was not requested, and is larger than all that its packets can "
            f"pass: {name} has the largest MTU, {limit}",
            {"mtu": interface.mtu, "largest": limit})
