"""The part of the benchmark that changes the MTU of ports in use."""

import contextlib
import re
import time

from jumbo_bench import (PATCHED, Part, Table, cells, how_many_runs, need,
                         values)
from jumbo_lab import (NUMBERED_FILTER, TESTPMD, Capture, End, Guest, Host,
                       Lab, LabError, Testpmd, number_of, numbered_frame, run,
                       say)

MEMORY_MIB = 4096                  # what the unpatched switch wants
GAP = 0.001                        # between two frames, in seconds
FRAMES = 30000                     # more than are sent
TESTPMD_ALONE = "testpmd"
PREPARED = "prepared"              # patched, with this
PREPARE = ("dpdk-prepared-mtu=9000",)


class TapEnd(End):
    """The kernel's end of a net_tap, in the namespace of its process."""

    device = "tap0"

    def __init__(self, lab, namespace):
        self.lab = lab
        self.namespace = namespace
        run(["ip", "-n", namespace, "link", "set", self.device, "up"])
        self.open()

    def _put(self, frame):
        with contextlib.suppress(OSError):     # down, while DPDK stops it
            super()._put(frame)


class Kind:
    """A kind of port, and the MTUs that it is to have, one after the other.

    device: DPDK's, or None for vhost-user.
    """

    def __init__(self, name, device, *changes):
        self.name = name
        self.device = device
        self.changes = changes

    def add(self, lab, switch, mtu):
        """Adds the port v0 with that MTU; returns the End behind it."""
        host = Host(lab, "v0", switch)
        self._add(switch, "v0", self.device, mtu)
        return host

    @staticmethod
    def _add(switch, port, device, mtu, *settings):
        switch.add_port("br0", port, "type=dpdk", f"mtu_request={mtu}",
                        f"options:dpdk-devargs={device}", *settings)

    def stand_alone(self, lab, place):
        """Returns the End behind the device, for testpmd at `place`."""
        return Host(lab, "v0", place)


class Tap(Kind):
    """net_tap, which requires as many receive as transmit queues."""

    def add(self, lab, switch, mtu):
        self._add(switch, "v0", self.device, mtu, "options:n_rxq=2")
        return TapEnd(lab, switch.namespace)

    def stand_alone(self, lab, place):
        return None                    # testpmd makes it


class Vhost(Kind):
    """A vhost-user port, whose guest forwards to another one."""

    def add(self, lab, switch, mtu):
        paths = [lab.path("v0.sock"), lab.path("v1.sock")]
        self._guest(lab, paths)
        for port, path in zip(("v0", "v1"), paths):
            self._join(switch, port, path, mtu)
        for port in ("v0", "v1"):
            switch.wait(port, "link_state=up")
        host = Host(lab, "h0", switch)
        switch.add_wire("br0", "h0", host)
        switch.connect("br0", ("v1", "h0"))
        return host

    def _guest(self, lab, paths):
        Guest(lab, paths, args=["--auto-start"])

    def _join(self, switch, port, path, mtu):
        switch.add_vhost("br0", port, path)
        switch.vsctl("set", "Interface", port, f"mtu_request={mtu}")


class VirtioUser(Vhost):
    """The other side: a virtio device, whose host forwards to another one."""

    def _guest(self, lab, paths):
        Testpmd(lab, lab.namespace("host"),
                [f"net_vhost{n},iface={path}" for n, path in enumerate(paths)],
                512, args=["--auto-start", "--mbuf-size=10240"]
                ).wait_printed("Press", 20)

    def _join(self, switch, port, path, mtu):
        number = port[1]
        self._add(switch, port,
                  f"net_virtio_user{number},path={path},"
                  f"mac=02:00:00:00:00:0{number}", mtu)


SAME, OTHER, SMALL = (1500, 2000), (1500, 9000), (1400, 1500)
KINDS = (Vhost("vhost-user", None, SAME, OTHER),
         Kind("net_pcap", "net_pcap0,iface=v0", SAME, OTHER),
         VirtioUser("net_virtio_user", None, SAME, OTHER),
         # DPDK 22.11 allows no larger ones for these.
         Kind("net_af_packet", "net_af_packet0,iface=v0", SMALL),
         Tap("net_tap", "net_tap0,iface=tap0", SMALL))


class Change(Part):
    """What an MTU change costs the port, and two others."""

    key = "change"
    title = "An MTU changes under traffic"

    @staticmethod
    def _cases(bench):
        if bench.quick:
            return [(kind, OTHER) for kind in KINDS[:2]]
        return [(kind, change) for kind in KINDS for change in kind.changes]

    @staticmethod
    def _variants(bench, build):
        """Returns the names of what is measured, and their settings."""
        variants = {build: ()}
        if build == PATCHED and not bench.quick:
            variants[PREPARED] = PREPARE
        return variants.items()

    def plan(self, bench):
        variants = sum(len(self._variants(bench, build))
                       for build in bench.builds)
        return (bench.runs * (variants * len(self._cases(bench))
                              + (not bench.quick)), 7)

    def measure(self, bench):
        need("tcpdump", TESTPMD, scapy=True)
        rows = []
        for number, build in bench.pairs():
            for variant, config in self._variants(bench, build):
                for kind, (old, new) in self._cases(bench):
                    case = f"{kind.name}, {old} to {new}"
                    with bench.switch(build, MEMORY_MIB,
                                      other_config=config) as (lab, switch):
                        row = self._change(lab, switch, kind, old, new)
                    rows.append({"run": number, "build": variant,
                                 "change": case, **row})
                    bench.progress(
                        f"{variant}, {case}: {row['lost']} frames lost, away "
                        f"for {row['outage_seconds'] * 1e3:.1f} ms, "
                        f"{row['starts']} starts, {row['others']} lost "
                        "elsewhere")
        if not bench.quick:
            for number in range(1, bench.runs + 1):
                rows += [{"run": number, "build": TESTPMD_ALONE,
                          "change": kind.name, **self._stand_alone(kind)}
                         for kind in KINDS if kind.device]
                bench.progress("stop and start in testpmd")
        return {"rows": rows}

    @staticmethod
    def _change(lab, switch, kind, old, new):
        """Measures frames from and to the port, and between two others."""
        hosts = [Host(lab, name, switch) for name in ("p0", "p1", "p2")]
        for host in hosts:
            switch.add_wire("br0", host.wire, host)
        end = kind.add(lab, switch, old)
        switch.connect("br0", ("p0", "v0"), ("p1", "p2"))
        starts = device_starts(switch)

        def change():
            start = time.time()
            switch.vsctl("set", "Interface", "v0", f"mtu_request={new}")
            switch.wait("v0", f"mtu={new}")
            return time.time() - start

        seconds, found = during(
            lab, [(hosts[0], end), (end, hosts[0]), tuple(hosts[1:])], change)
        lost, outage = cost(found[:2])
        return {"seconds": seconds, "lost": lost, "outage_seconds": outage,
                "others": found[2][0],
                "starts": device_starts(switch) - starts}

    @staticmethod
    def _stand_alone(kind):
        """Measures a stop and a start of the same device in testpmd."""
        with Lab(echo=say) as lab:
            place = End(lab, "testpmd")
            end = kind.stand_alone(lab, place)
            other = Host(lab, "o0", place)
            program = Testpmd(lab, place.namespace,
                              [kind.device, "net_pcap1,iface=o0"], 512,
                              args=["-i"])
            program.wait_printed("testpmd>", 20)
            end = end or TapEnd(lab, place.namespace)

            def restart():
                program.write("stop\nport stop 0\nport start 0\nstart\n")
                time.sleep(1)

            program.write("start\n")
            _, found = during(lab, [(other, end), (end, other)], restart)
            lost, outage = cost(found)
            return {"outage_seconds": outage, "lost": lost}

    def tables(self, results, about):
        builds = list(dict.fromkeys(
            row["build"] for row in results["rows"]
            if row["build"] != TESTPMD_ALONE))

        def of(case, quantity, form, scale=1, builds=builds):
            found = [values(results["rows"], build, quantity, change=case)
                     for build in builds]
            return cells(found, form, scale, None) if all(found) else [""]

        lines = [[case, *of(case, "lost", "{:.0f}"),
                  *of(case, "outage_seconds", "{:.1f}", 1e3),
                  *of(case.split(",")[0], "outage_seconds", "{:.1f}", 1e3,
                      [TESTPMD_ALONE]),
                  *of(case, "starts", "{:.0f}"),
                  *of(case, "others", "{:.0f}")]
                 for case in dict.fromkeys(
                     row["change"] for row in results["rows"]
                     if row["build"] != TESTPMD_ALONE)]
        return [Table(
            self.title,
            "A thousand frames a second pass in each direction, and a "
            "thousand between two other ports.  Away: the longest time "
            "without a frame; next to it, that of a bare stop and start of "
            "the same device in testpmd.  Starts: of devices.  Medians of "
            + how_many_runs(about)
            + " (smallest to largest).",
            ["port and MTUs", *(f"frames lost, {build}" for build in builds),
             *(f"away, ms, {build}" for build in builds),
             "away, ms, testpmd", *(f"starts, {build}" for build in builds),
             *(f"lost elsewhere, {build}" for build in builds)], lines)]


def device_starts(switch):
    """Returns how often Ethernet devices were started."""
    with open(switch.log) as log:
        return len(re.findall(r"\|Port \d+: ", log.read()))


def during(lab, paths, action, gap=GAP):
    """Sends numbered frames along paths, (sender, receiver), `gap` seconds
    apart, and calls action() meanwhile.

    Returns what action() returned, and for each path how many frames were lost
    and the longest time, in seconds, in which none arrived.
    """
    frames = [numbered_frame(number) for number in range(FRAMES)]
    captures = []
    with contextlib.ExitStack() as stack:
        for number, (sender, receiver) in enumerate(paths):
            captures.append(stack.enter_context(Capture(
                receiver, lab.path(f"path{number}.pcap"), NUMBERED_FILTER)))
        with contextlib.ExitStack() as senders:
            for sender, _ in paths:
                senders.enter_context(sender.sending(frames, gap))
            wait_for_frames(captures, time.time())
            result = action()
            wait_for_frames(captures, time.time() + 0.3)
        time.sleep(0.5)                # for frames on the way
        found = [capture.read() for capture in captures]
    return result, [(missing(number_of(frame) for _, frame in got),
                     max(b - a for (a, _), (b, _) in zip(got, got[1:])))
                    for got in found]


def cost(found):
    """Returns, of what during() found, how many frames were lost on all paths,
    and the longest time, in seconds, in which none arrived on one of them.
    """
    lost, gaps = zip(*found)
    return sum(lost), max(gaps)


def wait_for_frames(captures, since):
    """Waits until each capture has a few frames after that time."""
    for capture in captures:
        if not capture.wait(lambda got: len(got) > 100
                            and got[-100][0] > since, 20):
            raise LabError("No frames pass.")


def missing(numbers):
    """Returns how many numbers the range from lowest to highest lacks."""
    numbers = set(numbers)
    return max(numbers) - min(numbers) + 1 - len(numbers)
