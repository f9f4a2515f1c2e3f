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

"""Frames, and the answers that tell their senders that they are too big.

    tnl-too-big.py frame [KEY=VALUE]...  prints a frame in hexadecimal.
    tnl-too-big.py told MTU FRAME AT...  FRAME was answered, and didn't pass.
    tnl-too-big.py fits AT...            A frame passed, and got no answer.

"told" and "fits" check that, and exit with 1 if it isn't so (yet).  AT is
FILE:SIZE: what a capture has beyond SIZE bytes.  The first one is that of the
sender's port.

Keys of a frame: "ip" (4 or 6), "size" (bytes, with IP header), "df" (0 or 1),
"vlans" (TCIs, separated by commas), "proto" (number), "type" (the first byte
of the payload), "dport" (of UDP), "frag" ("first" or "later"), "src" and "dst"
(IP), "smac" and "dmac", "bad" (1 for a TCP or UDP checksum that isn't).
"""

import ipaddress
import struct
import sys

from inet_checksum import checksum


def ip4(src, dst, proto, payload, df, ttl=64, frag=0):
    flags = (0x4000 if df else 0) | frag
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), 0,
                         flags, ttl, proto, 0, src, dst)
    return (header[:10] + struct.pack('!H', checksum(header)) + header[12:]
            + payload)


def ip6(src, dst, proto, payload):
    return struct.pack('!IHBB16s16s', 6 << 28, len(payload), proto, 64, src,
                       dst) + payload


def pseudo6(src, dst, length, proto):
    return src + dst + struct.pack('!II', length, proto)


def frame(ip='4', size='1500', df='1', vlans='', proto='17', type='4',
          dport='7', frag='', bad='0', src='', dst='',
          smac='50:54:00:00:00:09', dmac='50:54:00:00:00:0a'):
    v4 = ip == '4'
    src = ipaddress.ip_address(src or ('10.0.0.1' if v4 else 'fd00::1')).packed
    dst = ipaddress.ip_address(dst or ('10.0.0.2' if v4 else 'fd00::2')).packed
    proto, size = int(proto), int(size) - (20 if v4 else 40)
    fragment = b''
    if frag and not v4:
        size -= 8
        fragment = struct.pack('!BBHI', proto, 0,
                               1 if frag == 'first' else 1448 | 1, 7)
    if proto == 6:
        payload = struct.pack('!HHIIBBHHH', 1, 2, 3, 4, 5 << 4, 16, 5, 0, 0)
    else:
        # UDP, or something else with as many bytes.
        payload = struct.pack('!BBHHH', int(type), 0, int(dport), size, 0)
    payload += bytes(i & 0xff for i in range(size - len(payload)))
    if proto in (6, 17):
        head = (src + dst + struct.pack('!HH', proto, size) if v4
                else pseudo6(src, dst, size, proto))
        at = 16 if proto == 6 else 6
        csum = checksum(head + payload) ^ (0xffff if bad == '1' else 0)
        payload = payload[:at] + struct.pack('!H', csum) + payload[at + 2:]
    if v4:
        packet = ip4(src, dst, proto, payload, int(df),
                     frag={'': 0, 'first': 0x2000, 'later': 0x20b5}[frag])
    else:
        packet = ip6(src, dst, 44 if frag else proto, fragment + payload)
    tags = b''.join(struct.pack('!HH', 0x8100, int(tci))
                    for tci in vlans.split(',') if tci)
    return (bytes.fromhex((dmac + smac).replace(':', '')) + tags
            + (b'\x08\0' if v4 else b'\x86\xdd') + packet)


def answer(mtu, data):
    l3 = 14
    while data[l3 - 2:l3] == b'\x81\0':
        l3 += 4
    l2, packet = data[:l3], data[l3:]
    if packet[0] >> 4 == 4:
        quote = packet[:576 - 20 - 8]
        icmp = struct.pack('!BBHHH', 3, 4, 0, 0, int(mtu)) + quote
        csum = checksum(icmp)
        src, dst = packet[16:20], packet[12:16]
    else:
        quote = packet[:1280 - 40 - 8]
        icmp = struct.pack('!BBHI', 2, 0, 0, int(mtu)) + quote
        src, dst = packet[24:40], packet[8:24]
        csum = checksum(pseudo6(src, dst, len(icmp), 58) + icmp)
    icmp = icmp[:2] + struct.pack('!H', csum) + icmp[4:]
    return (l2[6:12] + l2[:6] + l2[12:]
            + (ip4(src, dst, 1, icmp, 1) if len(src) == 4
               else ip6(src, dst, 58, icmp)))


def captured(at):
    """The frames that a capture has beyond its size at that time."""
    name, size = at.rsplit(':', 1)
    with open(name, 'rb') as capture:
        order = '<' if capture.read(4) == b'\xd4\xc3\xb2\xa1' else '>'
        capture.seek(int(size))
        data = capture.read()
    frames = []
    while data:
        length = struct.unpack(order + '8xI4x', data[:16])[0]
        frames.append(data[16:16 + length])
        data = data[16 + length:]
    return frames


def check(expected, passed, at):
    """Whether the sender got these frames, and as many large ones passed."""
    got = captured(at[0])
    large = sum(len(each) >= 500
                for other in at[1:] for each in captured(other))
    if got == expected and large == passed:
        return 0
    print('answers:', [each.hex() for each in got], file=sys.stderr)
    print('expected:', [each.hex() for each in expected], file=sys.stderr)
    print(large, 'passed, expected', passed, file=sys.stderr)
    return 1


command, args = sys.argv[1], sys.argv[2:]
if command == 'frame':
    print(frame(**dict(arg.split('=', 1) for arg in args)).hex())
elif command == 'told':
    sys.exit(check([answer(args[0], bytes.fromhex(args[1]))], 0, args[2:]))
else:
    sys.exit(check([], 1, args))
