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

"""OVN's southbound database: which guests are in one network, and by which
ports and tunnels its packets leave a host."""

import collections

from ovs.mtu import database
from ovs.mtu.model import optional


class Southbound(database.Database):
    """What an OVN_Southbound database says, if it could be read.

    chassis: {name: _uuid}.
    bindings: {logical port: its row of Port_Binding}."""

    NAME = "OVN_Southbound"
    COLUMNS = {
        "Chassis": ["_uuid", "name"],
        "Datapath_Binding": ["_uuid", "external_ids"],
        "Port_Binding": ["_uuid", "logical_port", "type", "datapath",
                         "chassis", "options", "tag"],
    }

    def _read_more(self, connection, schema):
        yield from ()

    def _read(self, connection, with_statistics):
        yield from super()._read(connection, with_statistics)
        self.index()

    def index(self):
        self.chassis = {row["name"]: row["_uuid"]
                        for row in self.tables["Chassis"]}
        self._names = {row["_uuid"]: row["external_ids"].get(
            "name2", row["external_ids"].get("name"))
            for row in self.tables["Datapath_Binding"]}
        self.bindings = {row["logical_port"]: row
                         for row in self.tables["Port_Binding"]}
        self._routed = {}
        self._ports = collections.defaultdict(list)
        for row in self.bindings.values():
            self._ports[row["datapath"]].append(row)

    def name_of(self, datapath):
        return self._names.get(datapath)

    def knows(self, host):
        return host.external_ids.get("system-id") in self.chassis

    def guests_of(self, host):
        """Returns [(Interface, datapath)] for guests that the host has."""
        chassis = self.chassis[host.external_ids["system-id"]]
        for interface in host.interfaces.values():
            row = self.bindings.get(interface.external_ids.get("iface-id"))
            if row and row["type"] == "" and optional(
                    row["chassis"]) == chassis:
                yield interface, row["datapath"]

    def localnets(self, datapath):
        """Returns [(physical network, VLAN)] by which it leaves hosts without
        a tunnel."""
        return [(row["options"].get("network_name"), optional(row["tag"]) or 0)
                for row in self._ports[datapath] if row["type"] == "localnet"]

    def routed(self, datapath):
        """Returns the Routed to which it belongs."""
        if datapath not in self._routed:
            routed, todo = Routed(), [datapath]
            while todo:
                each = todo.pop()
                if each in self._routed:
                    continue
                self._routed[each] = routed
                for row in self._ports[each]:
                    routed.add(row)
                    peer = self.bindings.get(row["options"].get("peer"))
                    if row["type"] == "patch" and peer:
                        todo.append(peer["datapath"])
        return self._routed[datapath]


class Routed:
    """Datapaths that routers join.

    ends: {chassis: the datapaths that have guests there}.
    gateways: the chassis by which routers send packets to others."""

    def __init__(self):
        self.ends, self.gateways = collections.defaultdict(set), set()

    def add(self, row):
        chassis = optional(row["chassis"])
        if chassis and row["type"] in ("", "l2gateway"):
            self.ends[chassis].add(row["datapath"])
        elif chassis and row["type"] in ("chassisredirect", "l3gateway"):
            self.gateways.add(chassis)


def chassis_of(tunnel):
    """Returns the name of the chassis to which OVN's tunnel leads, or None."""
    # "NAME@IP", or "NAME@IP%LOCAL_IP"; NAME alone before OVN 2.12.
    name = tunnel.port.external_ids.get("ovn-chassis-id", "")
    return name.rsplit("@", 1)[0] or None


def networks(hosts, southbound, make):
    """Returns a network for each datapath that has guests on these hosts.

    make(bridge, name): a new Network."""
    members = collections.defaultdict(dict)
    for host in filter(southbound.knows, hosts):
        for interface, datapath in southbound.guests_of(host):
            if interface.network_mtu and not interface.is_accepted(
                    interface.network_mtu):
                members[datapath].setdefault(host, []).append(interface)
    largest = {datapath: {host: max(i.network_mtu for i in guests)
                          for host, guests in by_host.items()}
               for datapath, by_host in members.items()}
    by_chassis = {host.external_ids.get("system-id"): host for host in hosts}
    for datapath, by_host in members.items():
        first = next(iter(by_host.values()))[0]
        network = make(first.bridge, southbound.name_of(datapath))
        localnets = southbound.localnets(datapath)
        for host, guests in by_host.items():
            network.guests += guests
            if localnets:
                network.transit += mapped_ports(host, localnets)
            else:
                for tunnel in needed_tunnels(southbound, datapath, host,
                                             largest, by_chassis):
                    network.tunnels[tunnel] = False
        yield network


def mapped_ports(host, localnets):
    """Returns the ports of a host that lead to these physical networks."""
    for network, vlan in localnets:
        for bridge in host.bridges:
            if network and host.ovn_mappings.get(bridge.name) == network:
                yield from (port for port in bridge.ports
                            if port.is_transit and port.carries(vlan))


def needed_tunnels(southbound, datapath, host, largest, by_chassis):
    """Returns the tunnels that must take the largest packets of a datapath's
    guests on a host: those that lead to others of its guests, to its gateways,
    and, by a router, to guests that could take such packets.

    largest: {datapath: {Host: the largest MTU of its guests}}."""
    routed = southbound.routed(datapath)
    need = largest[datapath][host]
    for tunnel in host.interfaces.values():
        name = tunnel.is_tunnel and chassis_of(tunnel)
        chassis = name and southbound.chassis.get(name)
        if not chassis:
            continue
        there = routed.ends.get(chassis, ())
        peer = by_chassis.get(name)
        if (datapath in there or chassis in routed.gateways
                or any(not peer or largest.get(each, {}).get(peer, 0) >= need
                       for each in there)):
            yield tunnel
