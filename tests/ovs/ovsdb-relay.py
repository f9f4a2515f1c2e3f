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

"""Relays between ovs-vswitchd and ovsdb-server, to hold what the first sends.

ovsdb-relay.py SOCKET SERVER: listens on the Unix domain socket SOCKET, and
connects its clients to the one of SERVER, until it is killed.  Appends what
clients send to the file "from-client", and what they get to "to-client".  As
long as there is a file "hold", nothing that clients send is passed on from
their next transaction on.
"""

import contextlib
import os
import select
import socket
import sys


def connect(path):
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    return server


def send(end, data):
    """Sends data, unless the other side is gone, which recv() tells."""
    with contextlib.suppress(OSError):
        end.sendall(data)


def main(path, server_path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    peers = {}                          # Both ends of each connection.
    clients = set()
    with open("from-client", "ab", buffering=0) as said, \
            open("to-client", "ab", buffering=0) as heard:
        held = []                       # Data that is held, and its client.
        while True:
            ready, _, _ = select.select([listener, *peers], [], [], 0.01)
            for end in ready:
                if end is listener:
                    client, _ = listener.accept()
                    server = connect(server_path)
                    peers.update({client: server, server: client})
                    clients.add(client)
                elif end in peers:
                    try:
                        data = end.recv(65536)
                    except OSError:
                        data = b""
                    if not data:
                        for closed in (end, peers.pop(end)):
                            peers.pop(closed, None)
                            closed.close()
                    elif end in clients:
                        said.write(data)
                        held.append((end, data))
                    else:
                        heard.write(data)
                        send(peers[end], data)
            if held and (not os.path.exists("hold") or not any(
                    b'"transact"' in data for _, data in held)):
                for client, data in held:
                    if client in peers:
                        send(peers[client], data)
                held.clear()


if __name__ == "__main__":
    main(*sys.argv[1:])
