"""The part of the benchmark that changes the MTU of ports in use."""

import contextlib
import itertools
import multiprocessing
import os
import re
import select
import socket
import time

from jumbo_bench import (PATCHED, Part, Table, cells, how_many_runs, need,
                         values)
from jumbo_lab import (CPUS, NUMBERED, NUMBERED_FILTER, PMD_CPU, TESTPMD,
                       WIRE_MTU, Capture, End, Guest, Host, Lab, LabError,
                       Testpmd, in_namespace, number_of, numbered_frame,
                       offloads_off, run, say)

MEMORY_MIB = 4096                  # what the unpatched switch wants
GAP = 0.001                        # between two frames, in seconds
FRAMES = 30000                     # more than are sent
TESTPMD_ALONE = "testpmd"
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

    device: DPDK's, or None for vhost-user.  ports: those whose MTU changes.
    """

    ports = ("v0",)

    def __init__(self, name, device, *changes):
        self.name = name
        self.device = device
        self.changes = changes

    def add(self, lab, switch, mtu):
        """Adds the port v0 with that MTU; returns the End behind it."""
        host = Host(lab, "v0", switch)
        self._add(switch, "v0", self.device, mtu)
        return host

    def join(self, switch):
        """Makes frames go from the port p0 to that End, and back."""
        switch.connect("br0", ("p0", "v0"))

    def unsent(self, switch, frames):
        """Returns how many of so many frames the port has not sent though they
        arrived at that End."""
        return 0

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


class Null(Kind):
    """net_null, behind which there is nothing: what it gets, another port
    gets, too."""

    def add(self, lab, switch, mtu):
        far = Host(lab, "far", switch)
        switch.add_wire("br0", "far", far)
        self._add(switch, "v0", self.device, mtu)
        return far

    def join(self, switch):
        switch.connect("br0", ("p0", "far"))
        switch.ofctl("add-flow", "br0", "in_port=p0,actions=v0,far")

    def unsent(self, switch, frames):
        sent = int(re.search(r"tx pkts=(\d+)", switch.ofctl(
            "dump-ports", "br0", "v0").stdout)[1])
        return frames - sent


class Bond(Kind):
    """The members of a bond between br0 and br1."""

    ports = tuple("vwxy")

    def __init__(self, mode, *settings):
        super().__init__(f"bond, {mode}", None, OTHER)
        self.settings = (f"bond_mode={mode}", *settings)

    def add(self, lab, switch, mtu):
        far = Host(lab, "far", switch)
        switch.add_bridge("br1")
        switch.add_wire("br1", "far", far)
        for one, other in ("vx", "wy"):
            run(["ip", "-n", switch.namespace, "link", "add", one, "mtu",
                 str(WIRE_MTU), "type", "veth", "peer", "name", other, "mtu",
                 str(WIRE_MTU)])
            for device in (one, other):
                with in_namespace(switch.namespace):
                    offloads_off(device)
                run(["ip", "-n", switch.namespace, "link", "set", device,
                     "up"])
        for bridge, members in (("br0", "vw"), ("br1", "xy")):
            switch.vsctl(
                "add-bond", bridge, f"{bridge}-bond", *members, *self.settings,
                *itertools.chain(*(
                    ["--", "set", "Interface", member, "type=dpdk",
                     f"mtu_request={mtu}", "options:dpdk-devargs="
                     f"net_pcap_{member},iface={member}"]
                    for member in members)))
        for _ in range(100):
            shown = switch.appctl("bond/show").stdout
            if (len(re.findall("^member .: enabled", shown, re.M)) == 4
                    and "lacp_status: configured" not in shown):
                return far
            time.sleep(0.2)
        raise LabError(f"The bond does not come up: {shown}")

    def join(self, switch):
        for bridge, port, flow in (
                ("br0", "p0", "normal"), ("br1", "far", "normal"),
                *(("br0", member, "output:p0") for member in "vw"),
                *(("br1", member, "output:far") for member in "xy")):
            switch.ofctl("add-flow", bridge, f"in_port={port},actions={flow}")


SAME, OTHER, SMALL = (1500, 2000), (1500, 9000), (1400, 1500)
KINDS = (Vhost("vhost-user", None, SAME, OTHER),
         Kind("net_pcap", "net_pcap0,iface=v0", SAME, OTHER),
         VirtioUser("net_virtio_user", None, SAME, OTHER),
         # DPDK 22.11 allows no larger ones for these.
         Kind("net_af_packet", "net_af_packet0,iface=v0", SMALL),
         Tap("net_tap", "net_tap0,iface=tap0", SMALL))
PREPARED_KINDS = (*KINDS[:3], KINDS[4],
                  Null("net_null", "net_null0,no-rx=1", OTHER),
                  Bond("active-backup"), Bond("balance-slb"),
                  Bond("balance-tcp", "lacp=active",
                       "other_config:lacp-time=fast"))


class Change(Part):
    """What an MTU change costs the port, and two others."""

    key = "change"
    title = "An MTU changes under traffic"

    @staticmethod
    def _cases(bench):
        if bench.quick:
            return [(kind, OTHER) for kind in KINDS[:2]]
        return [(kind, change) for kind in KINDS for change in kind.changes]

    def plan(self, bench):
        return (bench.runs * (len(bench.builds) * len(self._cases(bench))
                              + (not bench.quick)), 7)

    def measure(self, bench):
        need("tcpdump", TESTPMD, scapy=True)
        rows = []
        for number, build in bench.pairs():
            for kind, (old, new) in self._cases(bench):
                case = f"{kind.name}, {old} to {new}"
                with bench.switch(build, MEMORY_MIB) as (lab, switch):
                    row = self._change(lab, switch, kind, old, new)
                rows.append({"run": number, "build": build, "change": case,
                             **row})
                bench.progress(
                    f"{build}, {case}: {row['lost']} frames lost, away for "
                    f"{row['outage_seconds'] * 1e3:.1f} ms, {row['starts']} "
                    f"starts, {row['others']} lost elsewhere")
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


class Prepared(Part):
    """What MTU changes cost ports that are prepared, beside unpatched."""

    key = "prepared"
    title = "MTUs of prepared ports change under traffic"
    CHANGES = 4                        # between a kind's last two MTUs
    RATES = (8000, None)               # None: the highest
    kinds = PREPARED_KINDS

    def plan(self, bench):
        return bench.runs * len(bench.builds) * len(self.kinds), 30

    def measure(self, bench):
        need(TESTPMD)
        rows = []
        for number, build in bench.pairs():
            for kind in self.kinds:
                with bench.switch(
                        build, MEMORY_MIB, other_config=PREPARE
                        if build == PATCHED else ()) as (lab, switch):
                    found = self._measure(lab, switch, kind)
                rows += [{"run": number, "build": build, **row}
                         for row in found]
                bench.progress(f"{build}, " + "; ".join(
                    f"{row['case']}: {row['rate']:,.0f}/s, {row['lost']} of "
                    f"{row['sent']:,} frames lost (of {row['calm_sent']:,} "
                    f"without a change {row['calm_lost']}), away for "
                    f"{row['outage_seconds'] * 1e3:.0f} ms (otherwise "
                    f"{row['calm_seconds'] * 1e3:.0f}), {row['starts']} "
                    "starts" for row in found))
        return {"rows": rows}

    def _measure(self, lab, switch, kind):
        """Returns a row for each rate."""
        host = Host(lab, "p0", switch)
        switch.add_wire("br0", "p0", host)
        switch.vsctl("set", "Interface", "p0", "mtu_request=9000")
        end = kind.add(lab, switch, kind.changes[-1][0])
        kind.join(switch)
        for process in lab.processes:
            prefer(process.pid)
        rows = []
        there = 0                      # frames for the port
        for rate in self.RATES:
            name = f"{rate:,}" if rate else "highest"
            calm = traffic(host, end, rate, lambda: time.sleep(2))
            starts = device_starts(switch)
            found = traffic(host, end, rate,
                            lambda: self._change(switch, kind))
            there += calm.there + found.there
            rows.append({
                "case": f"{kind.name}, {name}", "rate": found.rate,
                "sent": found.sent,
                "lost": found.lost + kind.unsent(switch, there),
                "outage_seconds": found.longest, "calm_sent": calm.sent,
                "calm_lost": calm.lost, "calm_seconds": calm.longest,
                "starts": device_starts(switch) - starts})
        return rows

    def _change(self, switch, kind):
        for mtu in (kind.changes[-1][::-1] * self.CHANGES)[:self.CHANGES]:
            command = []
            for port in kind.ports:
                command += ["--", "set", "Interface", port,
                            f"mtu_request={mtu}"]
            switch.vsctl(*command[1:])
            for port in kind.ports:
                switch.wait(port, f"mtu={mtu}")
            time.sleep(0.2)

    def tables(self, results, about):
        rows, builds = results["rows"], about["builds"]

        def of(case, quantity, form, scale=1):
            found = [values(rows, build, quantity, case=case)
                     for build in builds]
            return cells(found, form, scale, None)

        lines = [[case, *of(case, "rate", "{:,.0f}"),
                  *of(case, "sent", "{:,.0f}"), *of(case, "lost", "{:,.0f}"),
                  *of(case, "calm_lost", "{:,.0f}"),
                  *of(case, "outage_seconds", "{:.1f}", 1e3),
                  *of(case, "starts", "{:.0f}")]
                 for case in dict.fromkeys(row["case"] for row in rows)]
        return [Table(
            self.title,
            f"The MTU becomes 9000 and 1500 again (net_tap: 1500 and 1400), "
            f"{self.CHANGES} changes in all; the {PATCHED} switch has "
            f"other_config:{PREPARE[0]}.  Frames a "
            "second, in each direction: at most 8,000, or as many as pass; "
            f"at most {Stream.WINDOW} are on the way.  Calm: the same for two "
            "seconds without a change.  Away: the longest time without a "
            "frame.  Medians of " + how_many_runs(about)
            + " (smallest to largest).",
            ["port, rate", *(f"{what}, {build}" for what in
                             ("frames a second", "sent", "lost", "lost, calm",
                              "away, ms", "starts") for build in builds)],
            lines)]


def prefer(pid):
    """Gives the threads of a process the CPU before others."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread), -20)


class Stream:
    """Numbered frames from one End to another, of which at most WINDOW are on
    the way, so that only the switch can lose them, not the CPU that it lacks.

    They are sent, at most `rate` a second, and received by a process of its
    own, not on the CPU of the PMD thread, as long as the "with" lasts.  sent,
    received, longest (time between two frames, in seconds) and rate (what it
    was really) are valid after that.
    """

    WINDOW = 16
    PATIENCE = 0.02                    # seconds until another frame is sent

    def __init__(self, sender, receiver, rate):
        self._rate = rate or 1e6
        self._sender = self._socket(sender, 0)
        self._receiver = self._socket(receiver,
                                      int.from_bytes(NUMBERED, "big"))
        # SO_RCVBUFFORCE: what comes while the process is delayed.
        self._receiver.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
        self._stop = multiprocessing.Event()
        self._results, results = multiprocessing.Pipe(False)
        self._process = multiprocessing.Process(
            target=self._run, args=(results,), daemon=True)

    @staticmethod
    def _socket(end, protocol):
        with in_namespace(end.namespace):
            found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            found.bind((end.device, protocol))
        return found

    def __enter__(self):
        self._process.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self.sent, self.received, self.longest, self.rate = (
            self._results.recv())
        self._process.join()
        self._sender.close()
        self._receiver.close()

    def _run(self, results):
        os.sched_setaffinity(0, set(CPUS) - {PMD_CPU} or CPUS)
        prefer(os.getpid())
        sent, given_up, longest, numbers = 0, 0, 0, set()
        start = due = last = progress = now = time.perf_counter()
        while not self._stop.is_set():
            if (sent - len(numbers) - given_up >= self.WINDOW
                    and now > progress + self.PATIENCE):
                given_up += 1
                progress = now
            while (sent - len(numbers) - given_up < self.WINDOW
                   and due <= now):
                with contextlib.suppress(OSError):     # down, while it is
                    self._sender.send(numbered_frame(sent))     # stopped
                sent += 1
                due = max(due + 1 / self._rate, now - 0.001)
            if select.select([self._receiver], [], [], min(
                    self.PATIENCE, max(due - now, 0)
                    if sent - len(numbers) - given_up < self.WINDOW
                    else self.PATIENCE))[0]:
                arrived = set(self._arrived())
                if arrived:
                    numbers |= arrived
                    progress = time.perf_counter()
                    longest = max(longest, progress - last)
                    last = progress
            now = time.perf_counter()
        end = now
        while select.select([self._receiver], [], [], 0.5)[0]:
            numbers |= set(self._arrived())
        results.send((sent, len(numbers), longest, sent / (end - start)))

    def _arrived(self):
        with contextlib.suppress(OSError):  # no more, or the device is down
            while True:
                yield number_of(self._receiver.recv(64, socket.MSG_DONTWAIT))


def traffic(host, end, rate, action):
    """Sends up to `rate` frames a second between host and end, in both
    directions, while action() runs; returns a Stream with the sums and the
    worst of both, how many were lost, and how many arrived there, at the end.
    """
    with Stream(host, end, rate) as total, Stream(end, host, rate) as back:
        action()
    total.there = total.received
    total.sent += back.sent
    total.received += back.received
    total.longest = max(total.longest, back.longest)
    total.rate = min(total.rate, back.rate)
    total.lost = total.sent - total.received
    return total


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
