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

import errno
import json
import os
import types

import pytest

from ovs import jsonrpc
from ovs.mtu import check, database, model, networks, probe, tunnels


def captured(name="ovn"):
    """Returns what real databases said, as database.read() returns it."""
    path = os.path.join(os.path.dirname(__file__), f"mtu_{name}.json")
    columns = {table: ["_uuid"] + names
               for table, names in database.COLUMNS.items()}
    with open(path) as file:
        return [types.SimpleNamespace(remote=f"unix:{n}", error=None,
                                      columns=columns, tables=tables)
                for n, tables in enumerate(json.load(file))]


def row(a_database, table, name):
    return next(row for row in a_database.tables[table]
                if row["name"] == name)


def find(databases):
    """Returns [(kind, host, interface or bridge, needed MTU)]."""
    topology = networks.Topology([model.Host(each) for each in databases])
    return [(f.kind, f.host.name, (f.interface or f.bridge).name,
             f.numbers.get("needs")) for f in check.check(topology)]


def test_ovn_is_fine():
    # Guests of 1442 on two chassis, Geneve over 1500, and a port of Neutron's
    # metadata agent, with MTU 1500.
    assert find(captured()) == []


@pytest.mark.parametrize("host,name,mtu,found", [
    (0, "vm1", 1443, [("tunnel", "c1", "ovn-c2-0", 1501)]),
    (1, "vm2", 1443, [("tunnel", "c2", "ovn-c1-0", 1501)]),
    (1, "up0", 1400, [("tunnel", "c2", "ovn-c1-0", 1500)]),
])
def test_ovn_with_a_hop_that_disagrees(host, name, mtu, found):
    databases = captured()
    row(databases[host], "Interface", name).update(mtu=mtu, mtu_request=mtu)
    assert find(databases) == found


def test_ovn_guests_are_guests():
    hosts = [model.Host(each) for each in captured()]
    assert [i.name for host in hosts for i in host.interfaces.values()
            if i.is_guest] == ["vm1", "vm2"]


def test_request_that_is_not_in_effect():
    databases = captured()
    row(databases[0], "Interface", "vm1")["mtu_request"] = 9000
    assert find(databases) == [("request", "c1", "vm1", None)]


def test_port_whose_guest_was_given_more():
    databases = captured()
    row(databases[0], "Interface", "vm1")["status"]["guest_mtu"] = "1500"
    assert find(databases) == [("tunnel", "c1", "ovn-c2-0", 1558),
                               ("guest", "c1", "vm1", None)]


@pytest.mark.parametrize("changes,found", [
    ({"mtu": 1501}, [("internal", "c2", "br-phy", None)]),
    ({"mtu": 1501, "admin_state": "down"}, []),
    ({"mtu": 1501, "external_ids": {"ovs-mtu-accept": "1501"}}, []),
    # One that was requested is that of a network.
    ({"mtu": 1501, "mtu_request": 1501},
     [("uplink", "c2", "up0", 1501)]),
    ({"mtu": 1400}, []),
])
def test_internal_port_above_its_way_out(changes, found):
    databases = captured()
    row(databases[1], "Interface", "br-phy").update(changes)
    assert find(databases) == found


def test_kernel_device_that_others_changed():
    databases = captured()
    row(databases[0], "Interface", "up0")["mtu_error"] = (
        "the kernel's device was given MTU 1400")
    assert find(databases) == [("request", "c1", "up0", None)]


@pytest.mark.parametrize("remote,expected", [
    ("unix:a", ["unix:a"]),
    ("unix:a,b", ["unix:a,b"]),
    ("tcp:192.0.2.1:6640,tcp:[2001:db8::1]:6640,ssl:x:1",
     ["tcp:192.0.2.1:6640", "tcp:[2001:db8::1]:6640", "ssl:x:1"]),
    ("unix:a,b,unix:c", ["unix:a,b", "unix:c"]),
])
def test_servers_of_a_cluster(remote, expected):
    assert database.servers(remote) == expected


def test_row_that_is_missing():
    broken = captured()[0]
    broken.tables["Port"].pop()
    assert "schema is not known" in model.Host(broken).error


@pytest.mark.parametrize("kind,options,tagged,expected", [
    ("vxlan", {"remote_ip": "192.0.2.1"}, False, 50),
    ("vxlan", {"remote_ip": "192.0.2.1"}, True, 54),
    ("vxlan", {"remote_ip": "2001:db8::1"}, False, 70),
    ("gre", {"remote_ip": "192.0.2.1", "key": "1", "csum": "true"}, False, 46),
    ("gtpu", {"remote_ip": "192.0.2.1"}, False, 36),
    ("stt", {"remote_ip": "192.0.2.1"}, False, None),
])
def test_overhead(kind, options, tagged, expected):
    interface = types.SimpleNamespace(type=kind, options=options)
    assert tunnels.overhead(interface, tagged) == expected


class Path:
    """A path that passes packets up to 'mtu', and may say so."""

    def __init__(self, mtu, tells):
        self.mtu, self.tells, self.sent = mtu, tells, 0

    def send(self, size):
        self.sent += 1
        if size <= self.mtu:
            return probe.Answer("reply")
        return (probe.Answer("too big", "192.0.2.1", self.mtu) if self.tells
                else probe.Answer())


@pytest.mark.parametrize("mtu", [69, 576, 1300, 1400, 1450, 1499, 1500, 1501,
                                 8942, 8999])
@pytest.mark.parametrize("tells", [True, False])
def test_search(mtu, tells):
    path = Path(mtu, tells)
    assert probe.search(path.send, 68, 9000, path.send(9000)) == mtu
    assert path.sent <= (3 if tells else 20)


@pytest.mark.parametrize("known,text", [
    ({"error": "timed out"}, "can't tell: timed out"),
    ({"path_mtu": 9000}, "packets of 9000 bytes pass"),
    ({"path_mtu": 1500, "too_big": "192.0.2.9", "too_big_mtu": 1500},
     "needs 9000, passes up to 1500; 192.0.2.9 says that its MTU is 1500"),
    ({"path_mtu": 1500, "there": True},
     "needs 9000, passes up to 1500; larger ones arrive there, but are lost "
     "on the way back (black hole)"),
])
def test_path(known, text):
    path = probe.Path("192.0.2.1")
    vars(path).update(known, needs=9000)
    assert path.to_json() == dict(
        known, address="192.0.2.1", needs=9000, text="192.0.2.1: " + text)


class Stream:
    """Received data, in pieces, then nothing more for now."""
    name = "stream"

    def __init__(self, data, size):
        self.pieces = [data[n:n + size] for n in range(0, len(data), size)]

    def recv(self, size):
        return (0, self.pieces.pop(0)) if self.pieces else (errno.EAGAIN, "")

    def close(self):
        pass


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_messages_in_pieces(size):
    replies = [{"id": "a", "result": {"name": "caf\u00e9 }"}, "error": None},
               {"id": "b", "result": ["}"], "error": None}]
    data = "\n".join(json.dumps(each, ensure_ascii=False) for each in replies)
    connection = database.Connection(Stream(data.encode(), size))
    received = []
    while len(received) < 2:
        error, message = connection.recv()
        assert not error
        received.append(message.to_json())
    assert received == replies
    assert connection.recv() == (errno.EAGAIN, None)


@pytest.mark.parametrize("data,expected", [
    (b"HTTP/1.1 400 Bad Request", errno.EPROTO),
    (b'{"surprise": 1}', errno.EPROTO),
    (b"", jsonrpc.EOF),
])
def test_what_is_no_database(data, expected):
    stream = Stream(data, 1000)
    stream.pieces = stream.pieces or [b""]
    assert database.Connection(stream).recv() == (expected, None)
