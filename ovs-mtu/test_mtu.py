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
import re
import socket
import subprocess
import sys
import threading
import types

import pytest

from ovs import jsonrpc
from ovs.mtu import (check, database, main, model, networks, ovn, probe,
                     report, tunnels)


def captured(name="ovn"):
    """Returns what real databases said, as database.read() returns it."""
    path = os.path.join(os.path.dirname(__file__), f"mtu_{name}.json")
    columns = {table: ["_uuid"] + names
               for table, names in database.COLUMNS.items()}
    with open(path) as file:
        return [types.SimpleNamespace(remote=f"unix:{n}", error=None,
                                      columns=columns, tables=tables,
                                      has_switch=True)
                for n, tables in enumerate(json.load(file))]


def row(a_database, table, name):
    return next(row for row in a_database.tables[table]
                if row["name"] == name)


def find(databases, southbound=None):
    """Returns [(kind, host, interface or bridge, needed MTU)]."""
    topology = networks.Topology([model.Host(each) for each in databases],
                                 southbound)
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


@pytest.mark.parametrize("datapath,status,underlay,told", [
    ("netdev", {"tunnel_pmtud": "true"}, 1500, True),
    ("netdev", {"tunnel_pmtud": "false"}, 1500, False),
    ("netdev", {}, 1500, None),
    ("system", {"tunnel_pmtud": "true"}, 1500, None),
    # IPv6 senders are told of 1280 or more.
    ("netdev", {"tunnel_pmtud": "true"}, 1338, True),
    ("netdev", {"tunnel_pmtud": "true"}, 1337, None),
    ("netdev", {"tunnel_pmtud": "false"}, 1337, False),
])
def test_whether_senders_are_told(datapath, status, underlay, told):
    databases = captured()
    row(databases[0], "Bridge", "br-int")["datapath_type"] = datapath
    row(databases[0], "Interface", "ovn-c2-0")["status"].update(status)
    row(databases[0], "Interface", "up0").update(mtu=underlay, mtu_request=[])
    row(databases[0], "Interface", "vm1").update(mtu=1443, mtu_request=[])
    found, = check.check(networks.Topology([model.Host(databases[0])]))
    assert (found.kind, found.interface.name) == ("tunnel", "ovn-c2-0")
    assert found.numbers.get("senders_told") is told
    assert found.text.endswith(f"the largest inner MTU is {underlay - 58}"
                               + check.TELLS[told])


def test_ovn_guests_are_guests():
    hosts = [model.Host(each) for each in captured()]
    assert [i.name for host in hosts for i in host.interfaces.values()
            if i.is_guest] == ["vm1", "vm2"]


def say_neighbor(a_database, frame, **more):
    """Has the uplink's neighbor say what a switch does."""
    row(a_database, "Interface", "up0")["status"].update(
        lldp_system_name="leaf1", lldp_chassis_id="00:1c:73:00:00:01",
        lldp_port_id="Ethernet1/7", lldp_max_frame_size=str(frame), **more)


# Packets of 1442 in Geneve are packets of 1500.
@pytest.mark.parametrize("frame,found", [
    (9216, []), (1518, []), (1500, []),
    (1499, [("neighbor", "c1", "up0", 1500)]),
    (60, [("neighbor", "c1", "up0", 1500)]),
    ("absurd", []), ("", []), (-1, []),
])
def test_neighbor(frame, found):
    databases = captured()
    say_neighbor(databases[0], frame)
    assert find(databases) == found


def test_neighbor_of_large_packets():
    databases = captured()
    for each, guest in zip(databases, ("vm1", "vm2")):
        for name, mtu in (guest, 8942), ("up0", 9000), ("br-phy", 9000):
            row(each, "Interface", name).update(mtu=mtu, mtu_request=mtu)
        say_neighbor(each, 1518, lldp_port_description="to rack 7")
    assert find(databases) == [("neighbor", "c1", "up0", 9000),
                               ("neighbor", "c2", "up0", 9000)]
    topology = networks.Topology([model.Host(each) for each in databases])
    assert check.check(topology)[0].text == (
        "up0: its neighbor, leaf1, port Ethernet1/7 (to rack 7), takes frames "
        "of up to 1518 bytes, but packets of up to 9000 leave by it "
        "(c1:br-phy)")


def test_neighbor_that_is_accepted():
    databases = captured()
    say_neighbor(databases[0], 1400)
    row(databases[0], "Interface", "up0")["external_ids"].update(
        {"ovs-mtu-accept": "any"})
    assert find(databases) == []


@pytest.mark.parametrize("status,expected", [
    ({}, None),
    ({"lldp_chassis_id": "02:00:00:00:00:01"}, None),
    ({"lldp_chassis_id": "02:00:00:00:00:01", "lldp_port_id": "7"},
     "02:00:00:00:00:01, port 7"),
    ({"lldp_system_name": "s", "lldp_port_id": "7",
      "lldp_port_description": "7"}, "s, port 7"),
])
def test_name_of_neighbor(status, expected):
    databases = captured()
    row(databases[0], "Interface", "up0")["status"].update(status)
    assert model.Host(databases[0]).interfaces["up0"].neighbor == expected


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


@pytest.mark.parametrize("features,guest_mtu,found", [
    (0, None, [("buffers", "v")]),      # As captured.
    (0, 9000, [("buffers", "v")]),      # The guest doesn't know that.
    (1 << 3, 9000, []),                 # VIRTIO_NET_F_MTU
    (1 << 3, 8999, [("buffers", "v")]),
    (1 << 15, None, []),                # VIRTIO_NET_F_MRG_RXBUF
    (1 << 7, None, []),                 # VIRTIO_NET_F_GUEST_TSO4
    (1 << 11, None, [("buffers", "v")]),    # VIRTIO_NET_F_HOST_TSO4
])
def test_guest_without_mergeable_buffers(features, guest_mtu, found):
    # testpmd with net_virtio_user and mrg_rxbuf=0, on a port of 9000.
    databases = captured("guest")
    status = row(databases[0], "Interface", "v")["status"]
    assert not int(status["features"], 16) & 1 << 15
    status["features"] = f"{int(status['features'], 16) | features:#x}"
    if guest_mtu:
        status["guest_mtu"] = str(guest_mtu)
    assert [(kind, name) for kind, _, name, _ in find(databases)] == found


def test_packets_that_guest_refused():
    # As captured, after three such packets.
    topology = networks.Topology([model.Host(each)
                                  for each in captured("guest")])
    host = topology.hosts[0].name
    before = {(host, "v"): [0, 0, 1], (host, "a"): [0, 0, 0]}
    found = [f for f in check.check(topology, before) if f.kind == "drops"]
    assert [f.numbers for f in found] == [{"mtu": 9000, "guest_drops": 2}]


def test_row_that_is_missing():
    broken = captured()[0]
    broken.tables["Port"].pop()
    assert "schema is not known" in model.Host(broken).error


def test_database_that_is_empty(capsys):
    empty = captured()[0]
    empty.tables["Open_vSwitch"] = []
    empty.has_switch = False
    host = model.Host(empty)
    assert host.error == "it is empty: ovs-vswitchd has not started yet"
    report.print_finding_metrics([host], None, [])
    shown = re.sub("{.*?}", "", capsys.readouterr().out)
    assert "\novs_mtu_database_up 0\n" in shown
    assert "\novs_mtu_vswitchd_up 0\n" in shown


def test_packets_too_big_for_a_tunnel():
    host = model.Host(captured()[0])
    tunnel = next(i for i in host.interfaces.values() if i.is_tunnel)
    tunnel.statistics = {"ovs_tx_too_big_told": 3, "ovs_tx_too_big_no_df": 2,
                         "ovs_rx_mtu_exceeded_drops": 1}
    assert tunnel.drops == {"tx_too_big_told": 3, "rx_mtu_exceeded": 1}


@pytest.mark.parametrize("running,doubt", [
    (True, None), (False, "doesn't run"), (None, "isn't known")])
def test_switch_that_does_not_run(running, doubt):
    database = captured()[0]
    database.has_switch = running
    host = model.Host(database)
    assert host.is_running is running
    assert doubt in host.doubt if doubt else host.doubt is None


def test_pidfile(tmp_path):
    pidfile = tmp_path / "ovs-vswitchd.pid"
    assert database.holds_pidfile(pidfile) is None
    pidfile.write_text("1")
    assert database.holds_pidfile(pidfile) is False
    with subprocess.Popen(
            [sys.executable, "-c", "import fcntl, sys\n"
             "file = open(sys.argv[1], 'a')\nfcntl.lockf(file, "
             "fcntl.LOCK_EX)\nprint(flush=True)\nsys.stdin.read()",
             str(pidfile)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        owner.stdout.readline()
        assert database.holds_pidfile(pidfile) is True
        owner.communicate()
    assert database.holds_pidfile(pidfile) is False


class OldServer(threading.Thread):
    """A server that doesn't know "get_lock", and its database.  Statistics
    change as often as told."""

    def __init__(self, path, updates):
        super().__init__(daemon=True)
        self.updates, self.tables = updates, captured()[0].tables
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.start()

    def run(self):
        connection, _ = self.listener.accept()
        while True:
            data = connection.recv(65536)
            if not data:
                break
            request = json.loads(data.decode())
            connection.sendall(json.dumps(dict(
                self.answer(**request), id=request["id"])).encode())
            if request["method"] == "monitor":
                for _ in range(self.updates):
                    connection.sendall(json.dumps(
                        {"method": "update", "params": [None, {}],
                         "id": None}).encode())
        connection.close()
        self.listener.close()

    def answer(self, method, params, id):
        result, error = {}, None
        if method == "get_schema":
            result = {"tables": {
                table: {"columns": {name: {} for name in names}}
                for table, names in database.COLUMNS.items()}}
        elif method == "transact":
            result = [{"rows": []} for _ in params[1:]]
        elif method == "get_lock":
            result, error = None, "unknown method"
        return {"result": result, "error": error}


@pytest.mark.parametrize("updates,expected", [(0, None), (1, True)])
def test_old_server(tmp_path, monkeypatch, updates, expected):
    monkeypatch.setattr(database, "REFRESH_SECONDS", 0.3)
    path = str(tmp_path / "db.sock")
    OldServer(path, updates)
    read, = database.read(["unix:" + path], 5, False)
    assert (read.error, read.has_switch) == (None, expected)


def southbound(*bindings):
    """Returns a southbound database: two chassis, c1 and c2, and bindings as
    [(port, type, datapath, chassis, options)]."""
    found = ovn.Southbound("unix:sb", 1)
    found.tables = {
        "Chassis": [{"_uuid": f"uuid-{name}", "name": name}
                    for name in ("c1", "c2")],
        "Datapath_Binding": [{"_uuid": name, "external_ids": {"name": name}}
                             for name in ("ls1", "ls2", "r1", "public")],
        "Port_Binding": [
            {"logical_port": port, "type": kind, "datapath": datapath,
             "chassis": f"uuid-{chassis}" if chassis else [],
             "options": options, "tag": []}
            for port, kind, datapath, chassis, options in bindings]}
    found.index()
    return found


VM1, VM2 = (("vm1", "", "ls1", "c1", {}), ("vm2", "", "ls1", "c2", {}))
ROUTER = (("r1-ls1", "patch", "r1", None, {"peer": "ls1-r1"}),
          ("ls1-r1", "patch", "ls1", None, {"peer": "r1-ls1"}),
          ("r1-ls2", "patch", "r1", None, {"peer": "ls2-r1"}),
          ("ls2-r1", "patch", "ls2", None, {"peer": "r1-ls2"}))
GATEWAY = (("cr-r1", "chassisredirect", "r1", "c2", {}),)
TOO_LARGE = [("tunnel", "c1", "ovn-c2-0", 1501)]


@pytest.mark.parametrize("bindings,mtu,found", [
    ([VM1, VM2], 1442, []),
    # One network: the guests differ, and the tunnel is too small for one.
    ([VM1, VM2], 1443, [("network", "c2", "vm2", None),
                        ("tunnel", "c2", "ovn-c1-0", 1501)] + TOO_LARGE),
    # Two networks.
    ([VM1, ("vm2", "", "ls2", "c2", {})], 1443, []),
    # A router joins them: packets that vm2 wouldn't take needn't fit.
    ([VM1, ("vm2", "", "ls2", "c2", {}), *ROUTER], 1443, []),
    # A router that has its gateway on the other chassis.
    ([VM1, *ROUTER, *GATEWAY], 1443, TOO_LARGE),
    ([VM1, *ROUTER, *GATEWAY], 1442, []),
    # One whose port is gone.
    ([VM1, ("gone", "", "ls2", "c2", {}), *ROUTER], 1443, []),
    # Not on that chassis.
    ([("vm1", "", "ls1", "c2", {}), VM2], 1443, []),
])
def test_southbound(bindings, mtu, found):
    databases = captured()
    row(databases[0], "Interface", "vm1").update(mtu=mtu, mtu_request=mtu)
    assert sorted(find(databases, southbound(*bindings))) == sorted(found)


def with_provider(databases, mtu):
    """Adds br-phy to the physical network "phys", with up0 at that MTU."""
    for each in databases:
        each.tables["Open_vSwitch"][0]["external_ids"][
            "ovn-bridge-mappings"] = "phys:br-phy"
        row(each, "Interface", "up0").update(mtu=mtu, mtu_request=mtu)
    return databases


LOCALNET = ("provnet", "localnet", "ls1", None, {"network_name": "phys"})


@pytest.mark.parametrize("guests,port,found", [
    # Nothing of the provider network goes by the tunnel.
    (1500, 1500, []),
    (9000, 1500, [("uplink", host, "up0", 9000) for host in ("c1", "c2")]),
    (9000, 9000, []),
])
def test_southbound_provider_network(guests, port, found):
    databases = with_provider(captured(), port)
    for n, name in enumerate(("vm1", "vm2")):
        row(databases[n], "Interface", name).update(
            mtu=guests, mtu_request=guests)
    assert find(databases, southbound(VM1, VM2, LOCALNET)) == found


def kube_ovn(pods):
    """Returns a node of kube-ovn: the kernel's datapath; pods and the node's
    own port, ovn0, at that MTU; the tunnel leaves by eth0, which isn't in Open
    vSwitch."""
    node = captured()[0]
    row(node, "Bridge", "br-int")["datapath_type"] = "system"
    bridges = node.tables["Open_vSwitch"][0]
    bridges["bridges"] = row(node, "Bridge", "br-int")["_uuid"]
    row(node, "Interface", "ovn-c2-0")["status"][
        "tunnel_egress_iface"] = "eth0"
    for name, kind, lport in (("vm1", "", "web-0.default"),
                              ("tap5c2d8b0e-60", "internal", "node-c1")):
        row(node, "Interface", name).update(
            type=kind, mtu=pods, mtu_request=[], options={}, status={},
            external_ids={"iface-id": lport, "ovn-installed": "true"})
    return node


@pytest.mark.parametrize("pods,nic,found", [
    (1400, 1500, []),
    (8900, 9000, []),
    (1500, 1500, [("tunnel", "c1", "ovn-c2-0", 1558)]),
    (8900, 1500, [("tunnel", "c1", "ovn-c2-0", 8958)]),
])
def test_kube_ovn(monkeypatch, pods, nic, found):
    monkeypatch.setattr(tunnels, "kernel_mtu",
                        lambda device: nic if device == "eth0" else None)
    topology = networks.Topology([model.Host(kube_ovn(pods), True)])
    assert [(f.kind, f.host.name, f.interface.name, f.numbers["needs"])
            for f in check.check(topology)] == found


@pytest.mark.parametrize("guest,southbound,need", [
    (1442, None, 1500),
    (1300, None, 1358),
    (8942, None, 9000),
    (1300, southbound(VM1, VM2), 1500),     # vm2 has 1442.
    (1300, southbound(VM1), 1500),          # Nobody needs the tunnel.
])
def test_what_a_tunnel_must_pass(monkeypatch, guest, southbound, need):
    databases = captured()
    row(databases[0], "Interface", "vm1").update(mtu=guest, mtu_request=guest)
    topology = networks.Topology([model.Host(databases[0])], southbound)
    if southbound:
        topology = networks.Topology([model.Host(each) for each in databases],
                                     southbound)
    monkeypatch.setattr(probe, "is_own", lambda address: False)
    assert dict(main.probe_targets(topology, None))["172.16.0.2"] == need


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


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOEXEC, errno.EPIPE])
def test_certificate_that_is_refused(error):
    stream = Stream(b"", 1)
    stream.name = "ssl:192.0.2.1:6640"
    stream.recv = lambda size: (error, "")
    with pytest.raises(database.ReadError, match="refuses the certificate"):
        next(database.receive(database.Connection(stream)))


@pytest.mark.parametrize("data,expected", [
    (b"HTTP/1.1 400 Bad Request", errno.EPROTO),
    (b'{"surprise": 1}', errno.EPROTO),
    (b"", jsonrpc.EOF),
])
def test_what_is_no_database(data, expected):
    stream = Stream(data, 1000)
    stream.pieces = stream.pieces or [b""]
    assert database.Connection(stream).recv() == (expected, None)
