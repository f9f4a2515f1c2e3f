#!/usr/bin/env python3
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

"""Sends frames of several kinds through a switch, each around a limit.

frame_kinds.py FROM TO MTU: sends from the device FROM frames of MTU + 12 to
MTU + 24 bytes, without CRC, and prints by how many bytes the longest of each
kind that arrives at the device TO exceeds MTU, or which arrive if others are
missing between them.

There are never more than two frames on the way: each is followed by a short
one of the same kind, which a switch must not send before it.  So nothing that
happens to hold fewer frames than were sent, such as the packet ring of a
thread that doesn't run, loses any.
"""

import socket
import struct
import sys

# The headers behind the Ethernet addresses.  A flow may give frames that end
# with 88b6 a tag, and take one from those that end with 88b7.
KINDS = [line.split("=") for line in """
untagged=88b5
IPv4=0800
MPLS=8847000010ff
PPPoE=886411000001
0x9100=91000001.88b5
priority=81000000.88b5
tagged=81000001.88b5
service=88a80001.88b5
tagged-IPv4=81000001.0800
tagged-MPLS=81000001.8847000010ff
tagged-PPPoE=81000001.886411000001
priority-tagged=81000000.81000001.88b5
QinQ=88a80001.81000002.88b5
2-tags=81000001.81000002.88b5
QinQ-IPv4=88a80001.81000002.0800
3-tags=88a80001.81000002.81000003.88b5
pushed=88b6
popped=81000001.88b7
""".split()]

# By which frames of this program are known; the last byte is the kind.
ADDRESSES = bytes.fromhex("020000000001" "0200000000")

# From <linux/if_ether.h>, <linux/socket.h> and <linux/if_packet.h>.
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID = 16


def make_frame(kind, length):
    header = KINDS[kind][1]
    frame = ADDRESSES + bytes([kind]) + bytes.fromhex(header.replace(".", ""))
    if header.endswith("0800"):
        frame += struct.pack("!BBHHHBBHII", 0x45, 0, length - len(frame), 0,
                             0x4000, 64, 253, 0, 0x0a000001, 0x0a000002)
    return frame + bytes(length - len(frame))


def open_socket(device, protocol=0):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    s.settimeout(30)
    s.bind((device, protocol))
    return s


def receive(s, kind):
    """Returns the length of the next frame of that kind."""
    while True:
        frame, messages, _, _ = s.recvmsg(65536, 128)
        if frame.startswith(ADDRESSES + bytes([kind])):
            # The kernel takes the outer tag off.
            return len(frame) + 4 * any(
                struct.unpack_from("=I", data)[0] & TP_STATUS_VLAN_VALID
                for _, _, data in messages)


def pass_kind(to_switch, from_switch, mtu, kind):
    """Sends frames of a kind, and returns by how many bytes those that arrive
    exceed 'mtu'."""
    found = []
    for length in range(mtu + 12, mtu + 25):
        to_switch.send(make_frame(kind, length))
        to_switch.send(make_frame(kind, mtu // 2))
        length = receive(from_switch, kind)
        while length > mtu:
            found.append(length - mtu)
            length = receive(from_switch, kind)
    return found


def longest(to_switch, from_switch, mtu):
    """Returns {kind: what the longest that arrives exceeds 'mtu' by, or a list
    of all if any is missing}."""
    result = {}
    for kind, (name, _) in enumerate(KINDS):
        found = pass_kind(to_switch, from_switch, mtu, kind)
        first = 12 + {"pushed": 4, "popped": -4}.get(name, 0)
        are_all = found and found == list(range(first, found[-1] + 1))
        result[name] = found[-1] if are_all else found
    return result


def main(sender, receiver, mtu):
    with open_socket(sender) as to_switch, \
            open_socket(receiver, ETH_P_ALL) as from_switch:
        for name, excess in longest(to_switch, from_switch, int(mtu)).items():
            print(name, excess)


if __name__ == "__main__":
    main(*sys.argv[1:])
