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

"""Networks: layer 2 domains that may span VLANs, bridges and hosts."""

import collections

from ovs.mtu import ovn
from ovs.mtu.tunnels import Underlay, tunnel_peers


class Network:
    """VLANs of bridges that are connected.

    guests, access: interfaces at its ends; of 'access' it is only known that
    their port has this VLAN and no other.
    transit: ports that lead elsewhere; all packets must fit there.
    tunnels: {Interface: whether its packets have a VLAN tag inside}.
    doors: bridges where flows decide by which port packets go on.
    kinds, ids: from Neutron: "vxlan", for example, and its UUID.
    is_one: false if its guests may never see each other.
    name: that of the datapath, if OVN's southbound database says it.
    is_underlay: true if tunnels use it."""

    def __init__(self, bridge, vlan, is_one=True, name=None):
        self.bridge, self.vlan, self.is_one = bridge, vlan, is_one
        self.name = name
        self.guests, self.access, self.transit = [], [], []
        self.tunnels = {}
        self.doors = []
        self.kinds, self.ids = set(), set()
        self.is_underlay = False
        self.has_tags = False

    def add(self, port, vlan):
        first = port.first
        if first.type == "patch":
            if port.peer and not is_linked(port, port.peer):
                self.doors.append(port.peer.bridge)
        elif port.bridge.by_flows:
            if not port.is_transit and not first.is_tunnel:
                self.add_ends(port)
        elif first.is_tunnel:
            self.tunnels[first] = port.access is None and vlan != 0
        elif port.is_transit:
            self.transit.append(port)
            if port.access is not None and port.smallest:
                self.access.append(port.smallest)
        elif port.native == vlan:
            self.add_ends(port)
        elif first.type != "internal":
            self.transit.append(port)

    def add_ends(self, port):
        self.guests += [i for i in port.interfaces
                        if i.is_guest and i.network_mtu
                        and not i.is_accepted(i.network_mtu)]
        for key, values in (("network_type", self.kinds),
                            ("net_uuid", self.ids)):
            if port.other_config.get(key):
                values.add(port.other_config[key])

    @property
    def label(self):
        """What tells it from others of its bridge, or ""."""
        return (f"VLAN {self.vlan}" if self.vlan
                else f"network {self.name}" if self.name else "")

    def ends(self):
        """Returns [(interface, MTU)] of ends whose MTU is the network's."""
        if self.guests:
            return [(i, i.network_mtu) for i in self.guests]
        if self.access:
            return [(i, i.mtu) for i in self.access]
        if (self.doors or self.is_underlay
                or self.vlan == 0 and self.has_tags):
            return []                   # Its users aren't visible.
        return [(p.smallest, p.smallest.mtu) for p in self.transit
                if p.smallest]

    def goes_by(self, port):
        """Returns true if, according to Neutron, its packets can leave by that
        port."""
        if not self.kinds:
            return True
        if port.first.is_tunnel:
            return port.first.type in self.kinds
        return bool(self.kinds & {"vlan", "flat"})


class Topology:
    """The networks of hosts, and what carries their tunnels.

    hosts: those that could be read.  interfaces: all of these.
    southbound: OVN's database, or None.
    peers: {tunnel Interface: that of the other end}.
    networks: all.  by_vlan: {(Bridge, VLAN): Network}."""

    def __init__(self, hosts, southbound=None):
        self.hosts = [host for host in hosts if not host.error]
        self.southbound = southbound
        self.interfaces = [i for host in self.hosts
                           for i in host.interfaces.values()]
        self.peers = tunnel_peers(self.hosts)
        self.by_vlan = build_networks(self.hosts, self.peers)
        self.networks = (list(dict.fromkeys(self.by_vlan.values()))
                         + ovn_networks(self.hosts, southbound))
        self._underlays, self._exits = {}, {}
        for interface in self.interfaces:
            network = interface.is_tunnel and self.underlay(interface).network
            if network:
                network.is_underlay = True

    def underlay(self, interface, tagged=False):
        key = interface, tagged
        if key not in self._underlays:
            self._underlays[key] = Underlay(interface, tagged, self.by_vlan)
        return self._underlays[key]

    def exits(self, network):
        """Returns [(port, MTU or None)] by which packets of a network can
        leave the host if flows send them there: ports that lead elsewhere, and
        tunnels."""
        key = frozenset(network.doors), frozenset(network.kinds)
        if key not in self._exits:
            self._exits[key] = [each for each
                                in self._find_exits(network.doors)
                                if network.goes_by(each[0])]
        return self._exits[key]

    def tunnel_need(self, tunnel):
        """Returns the largest packets that a tunnel must take inside, as far
        as that is known, or None.  Where flows decide, it must take those of
        guests that fit, or that fit into no other exit either."""
        needs = []
        for network in self.networks:
            ends = [mtu for _, mtu in network.ends()]
            if tunnel in network.tunnels:
                needs += ends
            elif network.doors:
                limits = {port.first: mtu for port, mtu in self.exits(network)}
                limit = limits.get(tunnel)
                if limit:
                    most = max(mtu or limit for mtu in limits.values())
                    needs += [mtu for mtu in ends
                              if mtu <= limit or mtu > most]
        return max(needs, default=None)

    def _find_exits(self, bridges):
        todo, seen = list(bridges), set()
        while todo:
            bridge = todo.pop()
            if bridge in seen:
                continue
            seen.add(bridge)
            for port in bridge.ports:
                if port.first.type == "patch":
                    todo += [port.peer.bridge] if port.peer else []
                elif port.first.is_tunnel:
                    yield port, self.underlay(port.first).limit
                elif port.is_transit and port.smallest:
                    yield port, port.smallest.mtu


def is_linked(port, peer):
    """Returns true if packets go from 'port' to 'peer' and on by VLAN alone.
    """
    return all(not p.bridge.by_flows or p.access is not None
               for p in (port, peer))


class Joined:
    """Which (Bridge, VLAN) are in one network: sets that can be united."""

    def __init__(self):
        self.parents = {}

    def find(self, node):
        parents = self.parents
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def unite(self, node, other):
        self.parents[self.find(node)] = self.find(other)

    def spread(self, nodes, links):
        """Adds these nodes and all to which links lead."""
        nodes = [node for node in nodes if node not in self.parents]
        self.parents.update({node: node for node in nodes})
        while nodes:
            bridge, vlan = node = nodes.pop()
            for port, peer in links[bridge]:
                if not port.carries(vlan):
                    continue
                far = peer.bridge, peer.vlan_of(port.tag_outside(vlan))
                if far[1] is None:
                    continue
                if far not in self.parents:
                    self.parents[far] = far
                    nodes.append(far)
                self.unite(node, far)


def build_networks(hosts, peers):
    """Returns {(Bridge, VLAN): Network}; connected VLANs have the same
    Network."""
    bridges = [bridge for host in hosts for bridge in host.bridges]
    joined = join_vlans(bridges, find_links(bridges, peers))
    networks = {}
    by_bridge = collections.defaultdict(list)
    for bridge, vlan in sorted(joined.parents, key=lambda node: (
            hosts.index(node[0].host), node[0].name, node[1])):
        root = joined.find((bridge, vlan))
        if root not in networks:
            networks[root] = Network(bridge, vlan)
        networks[bridge, vlan] = networks[root]
        by_bridge[bridge].append((vlan, networks[root]))
    for bridge, its_networks in by_bridge.items():
        add_ports(bridge, its_networks)
    return networks


def find_links(bridges, peers):
    """Returns {Bridge: [(port, port of another one)]}, by VLAN alone."""
    links = collections.defaultdict(list)
    for bridge in bridges:
        for port in bridge.ports:
            peer = port.peer
            if port.first in peers:
                peer = peers[port.first].port
            if peer and is_linked(port, peer):
                links[bridge].append((port, peer))
    return links


def join_vlans(bridges, links):
    joined = Joined()
    for bridge in bridges:
        vlans = {port.access for port in bridge.ports
                 if port.access is not None}
        if not bridge.by_flows:
            vlans |= {0} | {port.native for port in bridge.ports
                            if port.native is not None}
        joined.spread(((bridge, vlan) for vlan in vlans), links)
    switching = [bridge for bridge in bridges if not bridge.by_flows]
    for bridge in switching:
        joined.spread([(bridge, vlan) for vlan
                       in trunk_only(bridge, joined.parents)], links)
    outside = {}                        # {(physical network, tag): node}
    for bridge, vlan in list(joined.parents):
        if bridge.physical_network and not bridge.by_flows:
            for tag in {port.tag_outside(vlan) for port in bridge.ports
                        if port.is_transit and port.carries(vlan)}:
                joined.unite(outside.setdefault(
                    (bridge.physical_network, tag), (bridge, vlan)),
                    (bridge, vlan))
    return joined


def trunk_only(bridge, known):
    """Returns one VLAN for each set of ports that only trunks lead to."""
    by_ports = {}
    listed = [port for port in bridge.ports if port.trunks
              and port.access is None]
    for vlan in set().union(*(port.trunks for port in listed)):
        if (bridge, vlan) not in known:
            by_ports[frozenset(p for p in listed if vlan in p.trunks)] = vlan
    return by_ports.values()


def add_ports(bridge, its_networks):
    """Adds a bridge's ports to its Networks, [(VLAN, Network)]."""
    narrow, wide = collections.defaultdict(list), []
    for port in bridge.ports:
        is_end = not port.first.is_tunnel and not port.is_transit and (
            port.first.type != "patch")
        if port.access is not None or is_end and not port.trunks:
            narrow[port.native].append(port)
        else:
            wide.append(port)
    has_tags = any(port.access or port.trunks for port in bridge.ports)
    for vlan, network in its_networks:
        network.has_tags |= has_tags
        if bridge.by_flows:
            network.doors.append(bridge)
        for port in narrow[vlan]:
            network.add(port, vlan)
        for port in wide:
            if not bridge.by_flows and port.carries(vlan):
                network.add(port, vlan)


def ovn_networks(hosts, southbound=None):
    """Returns OVN's networks: those that the southbound database has; of hosts
    that it doesn't know, a Network for each bridge of OVN, with all its
    guests: it isn't known which of them are in one network."""
    networks = []
    if southbound and not southbound.error:
        networks += ovn.networks(
            hosts, southbound,
            lambda bridge, name: Network(bridge, 0, name=name))
        hosts = [host for host in hosts if not southbound.knows(host)]
    for host in hosts:
        for bridge in host.bridges:
            if bridge.by_flows and bridge.runs_ovn():
                network = Network(bridge, 0, is_one=False)
                network.doors = [bridge]
                for port in bridge.ports:
                    if port.access is None and not port.is_transit:
                        network.add_ends(port)
                networks.append(network)
    return networks
