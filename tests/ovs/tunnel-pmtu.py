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

"""Prints, in hexadecimal digits, an Ethernet frame with what a router says
about a packet that is too big for it.  Arguments are KEY=VALUE:

remote     destination of the quoted packet (default 1.1.2.92)
me         its source, and the destination of the frame
src        its source, if that isn't the destination of the frame
mac        destination of the frame
proto      IP protocol of the quoted packet
dport      its UDP destination port
key        its GRE key; gre_proto, gre_csum likewise
len        its length, IP header included
udp_len    the length in its UDP header
df, frag   its "don't fragment" flag, its fragment offset
ihl, ver   its header's length, in words, and IP version
quote      how many bytes are quoted after its IP header
cut        how many bytes of the frame are left out at the end
mtu        what the router reports
type, code of the message
csum=bad   a wrong checksum
count      print so many frames, each with the next remote
"""

import ipaddress
import struct
import sys

from inet_checksum import checksum


def frame(args, index):
    def number(name, default):
        return int(args.get(name, str(default)), 0)

    remote = ipaddress.ip_address(args.get('remote', '1.1.2.92')) + index
    v4 = remote.version == 4
    me = ipaddress.ip_address(
        args.get('me', '1.1.2.88' if v4 else '2001:cafe::88'))
    src = ipaddress.ip_address(args.get('src', str(me)))
    router = ipaddress.ip_address('1.1.2.1' if v4 else '2001:cafe::1')

    header = 20 if v4 else 40
    length = number('len', 1550)
    proto = number('proto', 17)
    if proto == 47:
        flags = 0x2000 if 'key' in args else 0
        quoted = b''
        if number('gre_csum', 0):
            flags |= 0x8000
            quoted += b'\xab\xcd\0\0'
        if 'key' in args:
            quoted += struct.pack('!I', number('key', 0))
        quoted = (struct.pack('!HH', flags, number('gre_proto', 0x6558))
                  + quoted)
    else:
        quoted = struct.pack('!HHHH', 50000, number('dport', 4789),
                             number('udp_len', length - header), 0)
    quoted += b'\x08' + b'\0' * 2000
    quoted = quoted[:number('quote', 8 if v4 else 1000)]

    mtu = number('mtu', 1400)
    if v4:
        quoted = struct.pack('!BBHHHBBH4s4s',
                             number('ver', 4) << 4 | number('ihl', 5), 0,
                             length, 1,
                             number('df', 1) << 14 | number('frag', 0),
                             63, proto, 0, src.packed, remote.packed) + quoted
        icmp = struct.pack('!BBHHH', number('type', 3), number('code', 4), 0,
                           0, mtu) + quoted
        pseudo = b''
    else:
        quoted = struct.pack('!IHBB16s16s', number('ver', 6) << 28,
                             length - 40, proto, 63,
                             src.packed, remote.packed) + quoted
        icmp = struct.pack('!BBHI', number('type', 2), number('code', 0), 0,
                           mtu) + quoted
        pseudo = router.packed + me.packed + struct.pack('!II', len(icmp), 58)

    cut = number('cut', 0)
    icmp = icmp[:len(icmp) - cut]
    csum = checksum(pseudo + icmp)
    if args.get('csum') == 'bad':
        csum ^= 0x101
    icmp = icmp[:2] + struct.pack('!H', csum) + icmp[4:]

    if v4:
        ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(icmp), 2, 0, 64, 1,
                         0, router.packed, me.packed)
        ip = ip[:10] + struct.pack('!H', checksum(ip)) + ip[12:]
    else:
        ip = struct.pack('!IHBB16s16s', 6 << 28, len(icmp), 58, 64,
                         router.packed, me.packed)
    mac = bytes.fromhex(args.get('mac', 'aa:55:aa:55:00:00').replace(':', ''))
    return (mac + bytes.fromhex('020000000001')
            + struct.pack('!H', 0x0800 if v4 else 0x86dd) + ip + icmp)


def main(argv):
    args = dict(arg.split('=', 1) for arg in argv)
    for index in range(int(args.get('count', '1'))):
        print(frame(args, index).hex())


main(sys.argv[1:])
