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

import html.parser

import pytest

from ovs.mtu import check, model, networks, page
from ovs.tests.test_mtu import captured, row


def interface(a_database, name):
    return row(a_database, "Interface", name)


def render(databases):
    hosts = [model.Host(each) for each in databases]
    topology = networks.Topology(hosts)
    return page.Page(hosts, topology, check.check(topology)).render("today")


class Reader(html.parser.HTMLParser):
    """Reads a page, whose elements must be nested and complete.

    boxes: {first word in it: (its class, its text)}.  rows: those of tables.
    words: all text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.names = [], [], [], set()
        self.boxes, self.rows, self.words = {}, [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        attributes = dict(attributes)
        self.names.add(name)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [v for k, v in attributes.items()
                       if k in ("href", "src", "action", "data")]
        if name != "meta":
            self.open.append((name, attributes.get("class") or "", []))

    def handle_endtag(self, name):
        opened, class_, words = self.open.pop()
        assert opened == name
        text = " ".join(" ".join(words).split())
        if "box" in class_.split():
            self.boxes[text.split(" MTU ")[0].split(" fits ")[0]] = (class_,
                                                                    text)
        elif name == "tr":
            self.rows.append((class_, text))

    def handle_data(self, data):
        assert self.open or not data.strip()
        for _, _, words in self.open:
            words.append(data)
        if self.open and self.open[-1][0] != "style":
            self.words += data


def test_all_is_well():
    reader = Reader(render(captured()))
    assert "No problems at 11 interfaces." in reader.words
    assert "What is wrong" not in reader.words
    assert "MTUs of 2 hosts" in reader.words
    assert reader.boxes["c1: vm1"][1].startswith("c1: vm1 MTU 1442")
    tunnel = reader.boxes["c1: ovn-c2-0"][1]
    assert "fits up to 1442" in tunnel
    assert "headers of geneve add 58 bytes" in tunnel
    assert not any("bad" in class_ for class_, _ in reader.boxes.values())
    assert not any("bad" in class_ for class_, _ in reader.rows)


def test_what_is_wrong_is_red_where_it_is():
    databases = captured()
    interface(databases[0], "vm1").update(mtu=9000, mtu_request=9000)
    reader = Reader(render(databases))
    assert "1 problem at 11 interfaces." in reader.words
    red = {name for name, (class_, _) in reader.boxes.items()
           if "bad" in class_}
    assert red == {"c1: ovn-c2-0"}
    assert "exceeds MTU 1500" in reader.boxes["c1: ovn-c2-0"][1]
    assert [text.split()[1] for class_, text in reader.rows
            if class_ == "bad"] == ["ovn-c2-0"]


def test_it_stands_alone():
    databases = captured()
    interface(databases[0], "vm1").update(mtu=9000)
    reader = Reader(render(databases))
    assert "script" not in reader.names and "link" not in reader.names
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.links
    assert all(link[0] == "#" and link[1:] in reader.ids
               for link in reader.links)


def test_names_are_no_html():
    databases = captured()
    interface(databases[0], "vm1").update(
        mtu=9000, mtu_error="<script>alert(1)</script> & \"more\"")
    databases[0].tables["Open_vSwitch"][0]["external_ids"]["hostname"] = "<b>"
    text = render(databases)
    reader = Reader(text)
    assert "script" not in reader.names
    assert "<script>alert(1)</script> & \"more\"" in reader.words
    assert "MTUs of 2 hosts" in reader.words and "<b>: vm1" in reader.boxes


@pytest.mark.parametrize("column,key,value,expected", [
    ("statistics", "ovs_tx_guest_buffer_drops", 7,
     "dropped: 7 (the guest had no buffer for it)"),
    ("statistics", "ovs_new_drops", 7, "dropped: 7 (new)"),
    ("statistics", "ovs_tx_failure_drops", 0, None),
    ("statistics", "tx_packets", 7, None),
    ("status", "max_mtu", "9702", "could have ? to 9702"),
])
def test_what_a_hop_tells(column, key, value, expected):
    databases = captured()
    vm1 = interface(databases[0], "vm1")
    vm1["status"] = {}
    vm1[column] = {key: value}
    assert Reader(render(databases)).boxes["c1: vm1"][1] == " ".join(
        filter(None, ["c1: vm1 MTU 1442", expected]))


def test_what_a_neighbor_tells():
    databases = captured()
    interface(databases[0], "up0")["status"] = {
        "lldp_system_name": "leaf1", "lldp_port_id": "Eth7",
        "lldp_max_frame_size": "1522"}
    assert ("neighbor: leaf1, port Eth7, takes frames of up to 1522 bytes"
            in Reader(render(databases)).words)


def test_databases_that_cant_be_read():
    databases = captured()
    databases[1].error = "no answer within 5 seconds"
    words = Reader(render(databases)).words
    assert "but not all is known" in words
    assert "unix:1: no answer within 5 seconds." in words
    words = Reader(render(databases[1:])).words
    assert "No problem is known at 0 interfaces" in words


def test_many_guests_are_counted():
    databases = captured()
    bridge = row(databases[0], "Bridge", "br-int")
    for n in range(100):
        for table in "Port", "Interface":
            new = dict(row(databases[0], table, "vm1"),
                       _uuid=f"{table}{n}", name=f"vm1-{n}")
            if table == "Port":
                new["interfaces"] = f"Interface{n}"
                bridge["ports"] = bridge["ports"] + [new["_uuid"]]
            databases[0].tables[table].append(new)
    last = interface(databases[0], "vm1-99")
    last["mtu_error"] = "no"
    reader = Reader(render(databases))
    assert f"and {101 - page.MOST_BOXES} more" in reader.words
    assert reader.boxes["c1: vm1-99"][0] == "box bad"
