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

"""What databases say about switches, as objects.

An MTU is in bytes, as in the database: the size of a packet without Ethernet
header and VLAN tags.
"""

import os
import re

from ovs.mtu.database import COLUMNS
from ovs.mtu.tunnels import OVN_OPTION_LEN

# What operators can set in external_ids: what they accept, for an Interface or
# a Bridge; and the physical network that a Bridge is connected to.
ACCEPT, NETWORK = "ovs-mtu-accept", "ovs-mtu-network"


# Features of virtio-net (its specification, 5.1.3): those with which a guest
# takes packets of any size, and that with which it knows its MTU.
ANY_SIZE = sum(1 << bit for bit in (
    7, 8, 10,                           # VIRTIO_NET_F_GUEST_TSO4, TSO6, UFO
    15,                                 # VIRTIO_NET_F_MRG_RXBUF
    54, 55))                            # VIRTIO_NET_F_GUEST_USO4, USO6
KNOWS_MTU = 1 << 3                      # VIRTIO_NET_F_MTU

# Counters of packets too big for a tunnel: others of that name go on.
TUNNEL_DROPS = "ovs_tx_too_big_told", "ovs_tx_too_big_rate_limited"


def as_list(value):
    return value if isinstance(value, list) else [value]


def by_name(things):
    return sorted(things, key=lambda thing: thing.name)


def optional(value):
    return None if value == [] else value


class Host:
    """A switch.

    error: why nothing is known about it.  doubt: why that may be wrong.
    is_running: whether its ovs-vswitchd is, or None.
    missing: the columns that its schema doesn't have.
    ovn_mappings: {name of a bridge: physical network}.
    interfaces: {name: Interface}, also those of ports that bridges leave out.
    addresses: the host's addresses to which tunnels of others may lead."""

    def __init__(self, database, is_default=False):
        self.remote = self.name = database.remote
        self.is_default = is_default
        self.error = database.error
        self.doubt = None
        self.is_running = None if self.error else database.has_switch
        self.missing = []
        self.external_ids, self.ovn_mappings = {}, {}
        self.bridges, self.interfaces = [], {}
        if not self.error:
            try:
                self._build(database.tables, database.columns)
            except (KeyError, TypeError, ValueError, IndexError) as e:
                self.error = f"its schema is not known here ({e!r})"
        self.addresses = self._addresses()

    def _build(self, tables, columns):
        self.missing = [f"{table}.{column}" for table in COLUMNS
                        for column in COLUMNS[table]
                        if column not in columns.get(table, ())]
        if not tables["Open_vSwitch"]:
            self.error = "it is empty: ovs-vswitchd has not started yet"
            return
        row = tables["Open_vSwitch"][0]
        self.external_ids = row["external_ids"]
        self.name = self.external_ids.get("hostname", os.uname().nodename
                                          if self.is_default else self.remote)
        self.ovn_mappings = {
            bridge: network for network, _, bridge in (
                pair.rpartition(":") for pair in self.external_ids.get(
                    "ovn-bridge-mappings", "").split(","))}
        self.can_request = "mtu_request" in columns["Interface"]
        by_uuid = {row["_uuid"]: row for table in tables.values()
                   for row in table if "_uuid" in row}
        self.bridges = by_name(Bridge(self, by_uuid[uuid], by_uuid)
                               for uuid in as_list(row["bridges"]))
        self.interfaces = {
            i.name: i for bridge in self.bridges for port in bridge.all_ports
            for i in port.interfaces}
        have_mtu = [i for i in self.interfaces.values() if i.has_mtu]
        if self.is_running is None:
            self.doubt = ("it isn't known whether ovs-vswitchd runs: this "
                          "server doesn't say, and no statistics change")
        elif not self.is_running:
            self.doubt = "ovs-vswitchd doesn't run, or isn't connected to it"
        elif have_mtu and not any(i.mtu for i in have_mtu):
            self.doubt = "no interface has an MTU there yet"
        elif row["cur_cfg"] < row["next_cfg"]:
            self.doubt = "ovs-vswitchd has not applied the last change yet"

    def _addresses(self):
        found = set(re.split(r"[,\s]+",
                             self.external_ids.get("ovn-encap-ip", "")))
        found |= {i.options.get("local_ip") for i in self.interfaces.values()
                  if i.is_tunnel}
        if self.remote.startswith(("tcp:", "ssl:")):
            found.add(self.remote[4:].rsplit(":", 1)[0].strip("[]"))
        return found - {"", "flow", None}


class Bridge:
    """ports: not those that only get copies, nor those in Neutron's VLAN for
    ports without network.
    by_flows: a controller decides which ports talk to each other.
    says_installed: ovn-controller marks the ports of guests."""

    def __init__(self, host, row, by_uuid):
        self.host = host
        self.name = row["name"]
        self.mtu_request = optional(row.get("mtu_request", []))
        self.is_userspace = row["datapath_type"] not in ("", "system")
        self.accept = row["external_ids"].get(ACCEPT)
        self.physical_network = row["external_ids"].get(
            NETWORK, host.ovn_mappings.get(self.name))
        self.all_ports = by_name(Port(self, by_uuid[uuid], by_uuid)
                                 for uuid in as_list(row["ports"]))
        mirrored = {uuid for mirror in as_list(row["mirrors"])
                    for uuid in as_list(by_uuid[mirror]["output_port"])}
        self.ports = [port for port in self.all_ports
                      if port.access != 4095 and port.uuid not in mirrored]
        self.says_installed = any("ovn-installed" in i.external_ids
                                  for port in self.ports
                                  for i in port.interfaces)
        # Without flows, tunnels of the last kind would lead nowhere.
        self.by_flows = (
            row["fail_mode"] == "secure" or bool(as_list(row["controller"]))
            or any("flow" in map(port.first.options.get, (
                "key", "in_key", "out_key", "remote_ip"))
                for port in self.ports))

    def runs_ovn(self):
        """Returns true if it is OVN's integration bridge."""
        ids = self.host.external_ids
        return (any("ovn-chassis-id" in port.external_ids
                    for port in self.ports)
                or "ovn-encap-ip" in ids
                and self.name == ids.get("ovn-bridge", "br-int"))


class Port:
    """access: its VLAN, if it has only one.  native: the VLAN of untagged
    packets.  trunks: the VLANs of tagged ones; empty for all."""

    def __init__(self, bridge, row, by_uuid):
        self.bridge = bridge
        self.uuid = row["_uuid"]
        self.name = row["name"]
        self.external_ids = row["external_ids"]
        self.other_config = row["other_config"]
        tag, mode = optional(row["tag"]), optional(row["vlan_mode"])
        self.trunks = set(as_list(row["trunks"]))
        self.access = None
        if mode in ("access", "dot1q-tunnel") or not mode and tag is not None:
            self.access = self.native = tag or 0
        elif mode in ("native-tagged", "native-untagged"):
            self.native = tag or 0
        else:
            self.native = 0 if not self.trunks or 0 in self.trunks else None
        self.interfaces = by_name(Interface(self, by_uuid[uuid])
                                  for uuid in as_list(row["interfaces"]))
        self.first = self.interfaces[0]

    def carries(self, vlan):
        if self.access is not None:
            return vlan == self.access
        return vlan == self.native or (
            vlan in self.trunks if self.trunks else vlan != 0)

    def tag_outside(self, vlan):
        """Returns the tag, 0 for none, that packets of that VLAN have there.
        """
        return 0 if vlan == self.native else vlan

    def vlan_of(self, tag):
        """Returns the VLAN, or None, of packets that arrive with that tag, 0
        for none."""
        if not tag:
            return self.native
        return tag if self.access is None and self.carries(tag) else None

    @property
    def peer(self):
        """The other one of a pair of patch ports, or None."""
        peer = self.bridge.host.interfaces.get(self.first.options.get("peer"))
        if (self.first.type == "patch" and peer and peer.type == "patch"
                and peer.options.get("peer") == self.first.name):
            return peer.port
        return None

    @property
    def is_transit(self):
        """True if it leads elsewhere, to unknown hosts."""
        return (self.first.has_mtu and self.first.type != "internal"
                and not any(i.is_guest or "iface-id" in i.external_ids
                            for i in self.interfaces))

    @property
    def smallest(self):
        """The interface that limits the MTU of what passes, or None."""
        return min((i for i in self.interfaces if i.is_up and i.mtu
                    and not i.is_accepted(i.mtu)),
                   key=lambda i: i.mtu, default=None)


class Interface:
    """is_controlled: nobody but Open vSwitch sets its MTU.
    limits: the smallest and the largest MTU, or None each.
    neighbor_frame: the largest frame that the neighbor takes, or None.
    network_mtu: what a guest behind it believes its network to have.
    path_mtu: of a tunnel, by BFD, or None.  max_path_mtu: BFD's limit."""

    def __init__(self, port, row):
        self.port = port
        self.bridge = port.bridge
        self.host = port.bridge.host
        self.name = row["name"]
        self.is_local = self.name == self.bridge.name
        self.type = "internal" if self.is_local else row["type"] or "system"
        self.options = row["options"]
        self.status = row["status"]
        self.statistics = row.get("statistics", {})
        self.external_ids = row["external_ids"]
        self.bfd_status = row["bfd_status"]
        self.mtu = optional(row["mtu"]) or None
        self.mtu_request = optional(row.get("mtu_request", []))
        self.admin_state = optional(row["admin_state"])
        self.is_up = row["admin_state"] != "down" and not row["error"]
        self.is_tunnel = "remote_ip" in self.options or self.type == "bareudp"
        self.has_mtu = not self.is_tunnel and self.type != "patch"
        self._mtu_error = optional(row.get("mtu_error", []))
        self.guest_mtu = self.number("guest_mtu")
        self.limits = self.number("min_mtu"), self.number("max_mtu")
        self.path_mtu = self.number("path_mtu", self.bfd_status)
        self.max_path_mtu = self.number("max_path_mtu", self.bfd_status)
        self.neighbor_frame = self.number("lldp_max_frame_size")
        self.network_mtu = self.guest_mtu or self.mtu
        self.is_controlled = self.type.startswith(("dpdk", "dummy"))

    @property
    def guest_limit(self):
        """The largest packets for which its guest must have buffers, or None
        if it takes any, or nothing is known about it.

        Without the features of ANY_SIZE, a guest's buffers must hold 1,526
        bytes, 12 of which are virtio's header (5.1.6.3.1 of the
        specification), and packets of its MTU, if it has negotiated that
        (5.1.4.2)."""
        try:
            features = int(self.status["features"], 16)
        except (KeyError, ValueError):
            return None
        if not self.type.startswith("dpdkvhostuser") or features & ANY_SIZE:
            return None
        return max(1500, features & KNOWS_MTU and self.guest_mtu or 0)

    @property
    def mtu_error(self):
        """Why its requested MTU isn't in effect, or None."""
        if self._mtu_error or not self.mtu_request:
            return self._mtu_error
        if not self.has_mtu:
            return (f"MTU {self.mtu_request} was requested, but Open vSwitch "
                    "does not control the MTU of this type of interface")
        if self.mtu and self.mtu != self.mtu_request:
            return (f"MTU {self.mtu_request} was requested, but MTU "
                    f"{self.mtu} is in effect; the log of ovs-vswitchd says "
                    "why")
        return None

    @property
    def drops(self):
        """{why: how many packets}, as Open vSwitch counts them."""
        return {re.sub("_drops$", "", key[4:]): n
                for key, n in self.statistics.items()
                if key.startswith("ovs_") and key.endswith("_drops")
                or key in TUNNEL_DROPS}

    @property
    def neighbor(self):
        """The device and port at the other end of the link, or None."""
        name, port, description = [self.status.get("lldp_" + key) for key in (
            "system_name", "port_id", "port_description")]
        name = name or self.status.get("lldp_chassis_id")
        if description not in (None, port):
            port = f"{port} ({description})"
        return name and port and f"{name}, port {port}"

    def number(self, key, column=None):
        """Returns that number of the column "status", or another one, or None.
        """
        value = (self.status if column is None else column).get(key, "")
        return int(value) if value.isdigit() else None

    @property
    def path_limit(self):
        """The largest packets that pass a tunnel, if BFD found a limit, or
        None.  BFD's packets have no option of Geneve; OVN's have one."""
        if not self.path_mtu or self.path_mtu >= (self.max_path_mtu or 0):
            return None
        limit = self.path_mtu
        if self.type == "geneve" and self.bridge.runs_ovn():
            limit -= OVN_OPTION_LEN
        return None if self.is_accepted(limit) else limit

    @property
    def is_guest(self):
        """True if a virtual machine, a container or the host itself is known
        to be behind it, so that its MTU is that of a network."""
        ids = self.external_ids
        if "iface-id" in ids and (
                ids["iface-id"].startswith("ovnmeta-")
                or self.bridge.says_installed and "ovn-installed" not in ids):
            return False                # Of Neutron: never leaves the host.
        if {"iface-id", "attached-mac", "vm-id", "vm-uuid",
                "container_id"} & set(ids):
            return True
        if self.type == "internal":
            return self.mtu_request is not None and not self.mtu_error
        return (self.type.startswith("dpdkvhostuser")
                or self.status.get("driver_name") == "tun"
                or "representor=" in self.options.get("dpdk-devargs", ""))

    def is_accepted(self, mtu):
        """Returns true if the operator has accepted that MTU."""
        mark = self.external_ids.get(ACCEPT)
        return mark in ("any", str(mtu)) or self.bridge.accept == "any"
