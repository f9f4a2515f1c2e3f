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

"""What is known, as a page of HTML that needs nothing else."""

import collections
import html

from ovs.mtu.report import count
from ovs.mtu.tunnels import Underlay

# A network shows at most so many boxes of a kind, those with findings first.
MOST_BOXES = 24

STYLE = """
body { font: 15px/1.4 sans-serif; color: #222; background: #fff;
       max-width: 76em; margin: 1.5em auto; padding: 0 1em }
h1 { margin-bottom: .2em }
h2 { margin-top: 1.8em; border-bottom: 1px solid #ccc }
h3 { margin: 1.4em 0 .4em }
h4 { margin: 0 0 .4em; font-weight: normal; color: #555 }
code { background: #f3f3f3; padding: 0 .3em; overflow-wrap: anywhere }
small { display: block; color: #555 }
ul { padding-left: 1.3em }
.verdict { padding: .5em .8em; border-radius: .3em; font-weight: bold }
.good { background: #e2f3e2; color: #14521a }
.bad { background: #fbe3e1; color: #8c1208 }
.unknown { background: #fdf2cf; color: #664a00 }
.path { display: flex; align-items: center; gap: .6em; overflow-x: auto }
.column { flex: 0 1 21em; min-width: 13em; border: 1px solid #ddd;
          border-radius: .4em; padding: .6em }
.boxes { display: flex; flex-direction: column; gap: .5em }
.box { border: 1px solid #8aa; border-radius: .3em; padding: .3em .6em;
       background: #f5f9fb; color: #222; overflow-wrap: anywhere }
.box.bad { border: 2px solid #c5281c; background: #fbe3e1 }
.why { color: #8c1208; font-weight: bold }
.arrow { font-size: 1.6em; color: #888 }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .5em 0 }
th, td { border: 1px solid #ddd; padding: .2em .5em; text-align: left;
         vertical-align: top }
th { background: #f3f3f3 }
tr.bad td { background: #fbe3e1 }
td.number { text-align: right }
summary { cursor: pointer; font-weight: bold }
"""

HELP = (
    ("MTU", "The size, in bytes, of the largest packet that fits somewhere.  "
     "Most networks have 1500; \"jumbo frames\" have up to 9000 or more.  A "
     "packet that is larger than the MTU of one place on its way is dropped "
     "there, mostly without a word: small packets pass, large transfers "
     "hang."),
    ("Switch, bridge, port, interface", "Open vSwitch connects virtual "
     "machines, containers and network cards of a host.  Its bridges are "
     "switches; what is plugged into a port is an interface.  A port with "
     "several interfaces is a bond."),
    ("Network", "All that can exchange packets without a router.  Everybody "
     "in it should have the same MTU, and every way between them should take "
     "at least that."),
    ("VLAN", "A number that tells several networks on the same wire apart."),
    ("Way out", "An interface by which packets leave the host.  A larger MTU "
     "than needed does no harm there."),
    ("Tunnel", "Carries packets to another host inside of other packets, "
     "whose headers take some bytes of the MTU of the way out."),
    ("Requested", "The MTU that an operator asked for, of an interface or of "
     "its whole bridge.  Limits are what the device could have."),
    ("Neighbor", "The device at the other end of the cable, as it describes "
     "itself (LLDP)."),
    ("Dropped", "Packets that were thrown away since the port exists, by "
     "reason.  Few are normal on a busy host; those that were too large are "
     "not."),
)

# Why packets were dropped, as Open vSwitch names it.
REASONS = {
    "rx_mtu_exceeded": "received, too large",
    "tx_mtu_exceeded": "to send, too large",
    "tx_guest_buffer": "the guest had no buffer for it",
    "tx_failure": "the device, or the guest, took no more",
    "tx_too_big_told": "too large for the tunnel, the sender was told",
    "tx_too_big_rate_limited": "too large for the tunnel",
    "tx_qos": "to send, above its rate", "rx_qos": "received, above its rate",
}


# Elements that end a line.
BLOCKS = ("body", "dd", "details", "div", "h1", "h2", "h3", "head", "html",
          "li", "p", "section", "style", "summary", "table", "title", "tr",
          "ul")


class Raw(str):
    """Text that is HTML already."""


def tag(name, *content, **attributes):
    """Returns an element.  What isn't Raw is escaped; None is left out."""
    text = "".join(' %s="%s"' % (k.rstrip("_"), html.escape(str(v)))
                   for k, v in attributes.items() if v is not None)
    inside = "".join(c if isinstance(c, Raw) else html.escape(str(c))
                     for c in content if c is not None)
    end = "\n" if name in BLOCKS else ""
    return Raw(f"<{name}{text}>{inside}</{name}>{end}")


def joined(elements):
    return Raw("".join(elements))


class Page:
    """topology: of the hosts that could be read.  findings: what check() has
    found there.  by_place: these, by Interface or else Bridge.
    wrong_on: {Network: [Interface, ...]}, those that findings are about."""

    def __init__(self, hosts, topology, findings):
        self.hosts = hosts
        self.topology = topology
        self.findings = findings
        self.by_place = collections.defaultdict(list)
        self.wrong_on = collections.defaultdict(list)
        for finding in findings:
            i = finding.interface
            self.by_place[i or finding.bridge].append(finding)
            if i:
                self.wrong_on[topology.by_vlan.get(
                    (i.bridge, i.port.native))].append(i)
        self.ids = {}
        for interface in topology.interfaces:
            self.ids[interface] = f"i{len(self.ids)}"

    def render(self, when):
        """Returns the page.  when: the time, as text."""
        unknown = [h for h in self.hosts if h.error or h.doubt]
        title = "MTUs of " + (self.hosts[0].name if len(self.hosts) == 1
                              else count(len(self.hosts), "host"))
        return "<!DOCTYPE html>\n" + tag(
            "html", tag("head", Raw('<meta charset="utf-8">\n'),
                        tag("title", title), tag("style", Raw(STYLE))),
            tag("body", tag("h1", title),
                tag("p", f"{when}, by ovs-mtu.  How to read this page is at "
                    "its ", tag("a", "end", href="#help"), "."),
                self.verdict(unknown), self.list_unknown(unknown),
                self.list_findings(), self.draw_networks(),
                self.list_hosts(), self.explain()), lang="en")

    def verdict(self, unknown):
        checked = count(len(self.topology.interfaces), "interface")
        if self.findings:
            return tag("p", f"{count(len(self.findings), 'problem')} at "
                       f"{checked}.", class_="verdict bad")
        if unknown:
            return tag("p", f"No problem is known at {checked}, but not all "
                       "is known.", class_="verdict unknown")
        return tag("p", f"No problems at {checked}.", class_="verdict good")

    def list_unknown(self, hosts):
        return joined(tag("p", f"{host.name}: {host.error or host.doubt}.",
                          class_="verdict unknown") for host in hosts)

    def list_findings(self):
        if not self.findings:
            return None
        items = []
        for finding in self.findings:
            where = f"{finding.host.name}, bridge {finding.bridge.name}"
            if finding.interface:
                where = tag("a", where,
                            href="#" + self.ids[finding.interface])
            commands = [tag("li", tag("code", each))
                        for each in finding.commands]
            items.append(tag(
                "li", where, ": ", tag("span", finding.text, class_="why"),
                ".", tag("ul", *commands) if commands else None))
        return joined([tag("h2", "What is wrong"), tag("ul", *items)])

    # Networks.

    def draw_networks(self):
        drawn = [each for each in map(self.draw_network,
                                      self.topology.networks) if each]
        return joined([tag("h2", "Networks")] + (drawn or [
            tag("p", "None is known: nothing is connected.")]))

    def draw_network(self, network):
        """Returns a picture of it: its ends, then how packets leave."""
        ends, ways = network.ends(), self.ways(network)
        tunnels = self.tunnels(network)
        users = [i for i, _ in ends if i not in ways]
        drawn = users + ways + [u.interface for u in tunnels]
        users += [i for i in self.wrong_on[network] if i not in drawn]
        if not users and not ways:
            return None
        mtus = dict(ends)
        columns = [self.column(*each) for each in (
            ("Who is connected",
             [self.box(network, i, mtus.get(i)) for i in users]),
            ("Ways out of the host" + (", of which a controller chooses"
                                       if network.doors else ""),
             [self.box(network, i) for i in ways]),
            ("Tunnels to other hosts",
             [self.tunnel(network, u) for u in tunnels]),
            ("What carries the tunnels", self.carriers(network, tunnels)))]
        arrow = tag("span", "\u2192", class_="arrow")
        return tag("section", tag("h3", self.name(network, ends)),
                   self.reasons(network, network.bridge),
                   tag("div", Raw(arrow.join(filter(None, columns))),
                       class_="path"))

    def name(self, network, ends):
        where = network.bridge.name
        if len(self.hosts) > 1:
            where = f"{network.bridge.host.name}, {where}"
        vlan = f", VLAN {network.vlan}" if network.vlan else ""
        mtus = sorted({mtu for _, mtu in ends})
        what = (f"packets have up to {mtus[-1]} bytes" if mtus else
                "carries tunnels" if network.is_underlay else
                "who uses it isn't known here")
        return f"{where}{vlan}: {what}"

    def ways(self, network):
        ports = network.transit + [port for port, _ in self.exits(network)
                                   if not port.first.is_tunnel]
        return list(dict.fromkeys(i for port in ports
                                  for i in port.interfaces))

    def tunnels(self, network):
        return [self.topology.underlay(i, tagged)
                for i, tagged in network.tunnels.items()] + [
                    self.topology.underlay(port.first)
                    for port, _ in self.exits(network) if port.first.is_tunnel]

    def exits(self, network):
        return self.topology.exits(network) if network.doors else []

    @staticmethod
    def column(title, boxes):
        """Returns a column, or None if it has no box.  boxes: [(whether
        something is wrong, element)]."""
        boxes = sorted(boxes, key=lambda each: not each[0])
        shown, rest = boxes[:MOST_BOXES], boxes[MOST_BOXES:]
        bad = sum(is_bad for is_bad, _ in rest)
        more = f"and {len(rest)} more" + (
            f", {bad} of them with problems" if bad else "")
        return boxes and tag(
            "div", tag("h4", title),
            tag("div", *[element for _, element in shown], class_="boxes"),
            tag("p", more) if rest else None, class_="column")

    def label(self, interface):
        return (interface.name if len(self.hosts) < 2 else
                f"{interface.host.name}: {interface.name}")

    def box(self, network, interface, mtu=None):
        """Returns (whether something is wrong with it, its element)."""
        about = neighbor(interface)
        return self.draw_box(
            self.label(interface), f"MTU {mtu or interface.mtu or 'unknown'}",
            self.reasons(network, interface),
            limits(interface), about and f"neighbor: {about}",
            dropped(interface))

    def tunnel(self, network, underlay):
        interface = underlay.interface
        bytes_ = underlay.overhead or "an unknown number of"
        return self.draw_box(
            self.label(interface), "MTU unknown" if underlay.limit is None
            else f"fits up to {underlay.limit}",
            self.reasons(network, interface),
            f"headers of {interface.type} add {bytes_} bytes",
            interface.path_mtu and "BFD: packets of up to "
            f"{interface.path_mtu} bytes pass",
            dropped(interface))

    def carriers(self, network, underlays):
        """Returns boxes of their hops, of which some may be no interfaces of
        Open vSwitch."""
        hops = dict.fromkeys((u.interface.host, *hop) for u in underlays
                             for hop in u.hops)
        return [self.box(network, interface) if interface else self.draw_box(
            name if len(self.hosts) < 2 else f"{host.name}: {name}",
            f"MTU {mtu}", None) for host, name, mtu, interface in hops]

    @staticmethod
    def draw_box(name, what, reasons, *lines):
        return bool(reasons), tag(
            "div", tag("b", name), " ", what, reasons,
            *[tag("small", line) for line in lines if line],
            class_="box bad" if reasons else "box")

    def reasons(self, network, place):
        """Returns what is wrong there, or None."""
        texts = [tag("p", f.text + ".", class_="why")
                 for f in self.by_place.get(place, ())
                 if f.numbers.get("vlan", network.vlan) == network.vlan]
        return joined(texts) if texts else None

    # Hosts.

    def list_hosts(self):
        return joined([tag("h2", "Hosts")] + [
            self.list_interfaces(host) for host in self.topology.hosts])

    def list_interfaces(self, host):
        head = ("bridge", "interface", "type", "VLAN", "MTU", "requested",
                "limits", "guest has", "neighbor", "dropped", "wrong")
        rows = [self.row(i) for bridge in host.bridges
                for port in bridge.ports for i in port.interfaces]
        missing = (tag("p", "Its database is older and has no "
                       + ", ".join(host.missing) + ".")
                   if host.missing else None)
        is_open = len(rows) <= 50 or None
        return tag(
            "details", tag("summary", f"{host.name}: "
                           f"{count(len(rows), 'interface')}"), missing,
            tag("div", tag("table", tag("thead", tag(
                "tr", *[tag("th", each) for each in head])),
                tag("tbody", *rows)), class_="wide"),
            open=is_open and "open")

    def row(self, i):
        underlay = self.topology.underlay(i) if i.is_tunnel else None
        found = self.by_place.get(i, ())
        requested, by = i.mtu_request, ""
        if requested is None and i.is_controlled:
            requested, by = i.bridge.mtu_request, " (bridge)"
        cells = (i.bridge.name, i.name + (
            f" of {i.port.name}" if i.port.name != i.name else ""),
            i.type, i.port.access, i.mtu,
            None if requested is None else f"{requested}{by}",
            tunnel_limit(underlay) if underlay else limits(i), i.guest_mtu,
            neighbor(i), drops(i), "; ".join(f.text for f in found))
        return tag("tr", *[
            tag("td", cell, class_="number" if isinstance(cell, int) else None)
            for cell in cells], id=self.ids[i],
            class_="bad" if found else None)

    @staticmethod
    def explain():
        return joined([tag("h2", "How to read this page", id="help"),
                       tag("dl", *[element for word, text in HELP for element
                                   in (tag("dt", tag("b", word)),
                                       tag("dd", text))])])


def limits(interface):
    lowest, highest = interface.limits
    return (f"could have {lowest or '?'} to {highest or '?'}"
            if lowest or highest else None)


def tunnel_limit(underlay: Underlay):
    if underlay.limit is None:
        return None
    name, mtu, _ = underlay.bottleneck
    return f"up to {underlay.limit} ({name} has {mtu})"


def neighbor(interface):
    """What the device at the other end tells of itself."""
    size = interface.neighbor_frame
    return interface.neighbor and interface.neighbor + (
        f", takes frames of up to {size} bytes" if size else "")


def drops(interface):
    return "; ".join(f"{n} ({REASONS.get(why, why.replace('_', ' '))})"
                     for why, n in sorted(interface.drops.items())
                     if n) or None


def dropped(interface):
    found = drops(interface)
    return found and "dropped: " + found
