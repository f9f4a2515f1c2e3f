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

"""Tunnels: what they add to packets, what carries them, and which are the two
ends of one."""

import collections

IPV4_LEN, IPV6_LEN, UDP_LEN, ETH_LEN, VLAN_LEN = 20, 40, 8, 14, 4
OVN_OPTION_LEN = 8                      # of Geneve, with its header
IPV6_MIN_MTU = 1280                     # RFC 8200; senders heed no less.


def overhead(interface, tagged):
    """Returns the bytes by which an L3 packet in a tunnel becomes a larger L3
    packet outside: the inner Ethernet header, with a VLAN tag if 'tagged',
    the tunnel's own header, UDP and IP.  None if that isn't known.

    What flows may add is not counted, except for OVN's option of Geneve; nor
    is IPsec."""
    options, kind = interface.options, interface.type

    def is_true(key):
        return options.get(key) == "true"

    inner = ETH_LEN + (VLAN_LEN if tagged else 0)
    if options.get("packet_type") == "legacy_l3":
        inner = 0
    if kind == "vxlan":
        own = UDP_LEN + 8               # RFC 7348.
    elif kind == "geneve":              # RFC 8926.
        own = UDP_LEN + 8
        if interface.bridge.runs_ovn():
            own += OVN_OPTION_LEN
    elif kind in ("gre", "ip6gre"):     # RFC 2784, RFC 2890.
        own = 4 * (1 + is_true("csum") + is_true("seq")
                   + ("key" in options or "out_key" in options))
    elif kind in ("erspan", "ip6erspan"):
        # GRE with a sequence number, and a header of two or three words
        # (draft-foschiano-erspan-03).
        own = 8 + (8 if options.get("erspan_ver") == "1" else 12)
    elif kind == "gtpu":                # 3GPP TS 29.281, section 5.1.
        own, inner = UDP_LEN + (12 if is_true("seq") else 8), 0
    elif kind == "bareudp":             # RFC 7510.
        own, inner = UDP_LEN, 0
    elif kind == "lisp":                # RFC 9300.
        own, inner = UDP_LEN + 8, 0
    elif kind == "srv6":                # RFC 8754.
        own, inner = 8 + 16 * len(options.get("srv6_segs", "").split(",")), 0
    else:
        return None
    is_ipv6 = ":" in options.get("remote_ip", "")
    return (IPV6_LEN if is_ipv6 else IPV4_LEN) + own + inner


class Underlay:
    """The network under a tunnel.

    overhead: bytes that its headers add.  hops: [(name, MTU, Interface or
    None)], all of which packets pass, or, if 'is_choice', one of them.  If
    'hops' is empty, none is known.  network: the Network, if it is one.
    bottleneck: the hop that limits the MTU, or None."""

    def __init__(self, interface, tagged, networks):
        self.interface = interface
        self.overhead = overhead(interface, tagged)
        self.is_choice = False
        self.network = None
        egress = interface.status.get("tunnel_egress_iface")
        self.hops = (self._find(interface, egress, networks)
                     if egress and self.overhead is not None else [])
        self.bottleneck = (max if self.is_choice else min)(
            self.hops, key=lambda hop: hop[1], default=None)

    def _find(self, interface, egress, networks):
        host = interface.host
        device = host.interfaces.get(egress)
        if (not interface.bridge.is_userspace
                and interface.options.get("df_default") == "false"):
            return []                   # The kernel fragments.
        if not device:
            mtu = kernel_mtu(egress) if host.is_default else None
            return [(egress, mtu, None)] if mtu else []
        if device.type != "internal":
            return [(egress, device.mtu, device)] if device.mtu else []
        hops = []
        if not device.bridge.is_userspace and device.mtu:
            hops.append((egress, device.mtu, device))
        if device.bridge.by_flows:
            self.is_choice = True
            ports = [p for p in device.bridge.ports if p.is_transit]
        else:
            self.network = networks.get((device.bridge, device.port.native))
            ports = self.network.transit if self.network else []
        return hops + [(port.name, port.smallest.mtu, port.smallest)
                       for port in ports if port.smallest]

    @property
    def limit(self):
        """The largest inner MTU, or None if it isn't known."""
        if not self.bottleneck:
            return None
        limit = max(self.bottleneck[1] - self.overhead, 0)
        return None if self.interface.is_accepted(limit) else limit

    @property
    def tells(self):
        """Whether the switch tells senders that packets are too large, or None
        if it isn't known, or depends on the packets."""
        told = self.interface.status.get("tunnel_pmtud")
        if not told or not self.interface.bridge.is_userspace:
            return None
        if told == "false":
            return False
        _, mtu, hop = self.bottleneck or (None, None, None)
        if (hop and (self.is_choice or len(hop.port.interfaces) > 1)
                and any((i.mtu or 0) > mtu
                        for i in hop.host.interfaces.values())):
            return None                 # It may be chosen too late to tell.
        return (self.limit or 0) >= IPV6_MIN_MTU or None


def kernel_mtu(device):
    """Returns the MTU of a device of this host, or None."""
    try:
        with open("/sys/class/net/%s/mtu" % device.replace("/", "_")) as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def tunnel_peers(hosts):
    """Returns {tunnel Interface: that of the other end}, where known."""
    by_address = {address: host for host in hosts
                  for address in host.addresses}
    tunnels = collections.defaultdict(list)
    for host in hosts:
        for interface in host.interfaces.values():
            if interface.is_tunnel:
                remote = by_address.get(interface.options.get("remote_ip"))
                if remote and remote is not host:
                    tunnels[host, remote].append(interface)

    def key(interface, direction):
        options = interface.options
        return (interface.type, options.get("dst_port"),
                options.get(direction, options.get("key", "0")))

    peers = {}
    for (host, remote), mine in tunnels.items():
        theirs = {key(i, "in_key"): i for i in tunnels.get((remote, host), [])}
        for interface in mine:
            peer = theirs.get(key(interface, "out_key"))
            if peer:
                peers[interface] = peer
    return peers
