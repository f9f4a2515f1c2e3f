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

"""Acts as QEMU for a vhost-user port: sends the MTU that a guest was given.

vhost-guest.py SOCKET MTU...: connects for each MTU, negotiates it, prints
whether it was accepted, and vanishes.

vhost-guest.py --start --connect SOCKET MTU...: the same, but starts the
device before it vanishes.

vhost-guest.py --start SOCKET MTU: listens, and goes on as if a driver had
started the device, with a pair of empty rings, for each connection in turn,
until it is killed.  An MTU of 0 is that of a guest that was given none.
"""

import argparse
import os
import socket
import struct

# The vhost-user protocol, as in QEMU's docs/interop/vhost-user.rst.
GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE = 8, 9, 10
SET_VRING_KICK, SET_VRING_CALL = 12, 13
GET_PROTOCOL_FEATURES, SET_PROTOCOL_FEATURES = 15, 16
SET_VRING_ENABLE, NET_SET_MTU = 18, 20
VERSION, NEED_REPLY = 1, 1 << 3
PROTOCOL_F_REPLY_ACK, PROTOCOL_F_NET_MTU = 1 << 3, 1 << 4

VIRTIO_NET_F_MTU, VIRTIO_F_VERSION_1 = 1 << 3, 1 << 32
VHOST_USER_F_PROTOCOL_FEATURES = 1 << 30

RING_SIZE = 256
RING_MEMORY = 0x10000                  # for each ring
MEMORY = 2 << 20
ADDRESS = 1 << 30                      # of MEMORY, in the guest and here


class Device:
    def __init__(self, connection):
        self.socket = connection

    def tell(self, request, payload=b"", fds=(), flags=0):
        header = struct.pack("=III", request, VERSION | flags, len(payload))
        socket.send_fds(self.socket, [header + payload], fds)

    def ask(self, *args, **kwargs):
        self.tell(*args, **kwargs)
        return struct.unpack("=IIIQ",
                             self.socket.recv(20, socket.MSG_WAITALL))[3]

    def negotiate(self, mtu):
        """Returns true if the switch accepts that MTU."""
        features = VHOST_USER_F_PROTOCOL_FEATURES | VIRTIO_F_VERSION_1
        self.tell(SET_OWNER)
        assert self.ask(GET_FEATURES) & VIRTIO_NET_F_MTU
        assert self.ask(GET_PROTOCOL_FEATURES) & PROTOCOL_F_NET_MTU
        self.tell(SET_PROTOCOL_FEATURES, struct.pack(
            "=Q", PROTOCOL_F_REPLY_ACK | PROTOCOL_F_NET_MTU))
        if mtu is None:
            self.tell(SET_FEATURES, struct.pack("=Q", features))
            return True
        self.tell(SET_FEATURES,
                  struct.pack("=Q", features | VIRTIO_NET_F_MTU))
        return not self.ask(NET_SET_MTU, struct.pack("=Q", mtu),
                            flags=NEED_REPLY)

    def start(self):
        memory = os.memfd_create("guest")
        os.ftruncate(memory, MEMORY)
        self.tell(SET_MEM_TABLE, struct.pack("=IIQQQQ", 1, 0, ADDRESS, MEMORY,
                                             ADDRESS, 0), [memory])
        for ring in 0, 1:
            descs = ADDRESS + ring * RING_MEMORY
            avail = descs + 16 * RING_SIZE
            used = descs + RING_MEMORY // 2
            self.tell(SET_VRING_NUM, struct.pack("=II", ring, RING_SIZE))
            self.tell(SET_VRING_BASE, struct.pack("=II", ring, 0))
            self.tell(SET_VRING_ADDR, struct.pack("=IIQQQQ", ring, 0, descs,
                                                  used, avail, 0))
            for request in SET_VRING_KICK, SET_VRING_CALL:
                self.tell(request, struct.pack("=Q", ring), [os.eventfd(0)])
        for ring in 0, 1:
            self.tell(SET_VRING_ENABLE, struct.pack("=II", ring, 1))


def serve(path, mtu):
    if os.path.exists(path):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            with server.accept()[0] as connection:
                try:
                    device = Device(connection)
                    assert device.negotiate(mtu)
                    device.start()
                    connection.recv(1)         # until it is closed
                except (OSError, struct.error):
                    pass                       # it was, before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--start", action="store_true")
    parser.add_argument("--connect", action="store_true")
    parser.add_argument("socket")
    parser.add_argument("mtu", type=int, nargs="+")
    args = parser.parse_args()
    if args.start and not args.connect:
        serve(args.socket, args.mtu[0] or None)
    for mtu in args.mtu:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(args.socket)
            device = Device(connection)
            print(mtu, "accepted" if device.negotiate(mtu) else "refused")
            if args.start:
                device.start()
                device.ask(GET_FEATURES)       # All of it was seen.


if __name__ == "__main__":
    main()
