"""Parts of the benchmark: traffic, and what disturbs it."""

import collections
import contextlib
import functools
import itertools
import json
import math
import os
import re
import statistics
import time

from jumbo_bench import (NOT_GRANTED, Part, Skip, Spread, Table, Unixctl,
                         cells, header, how_many_runs, log_ticks, need, plot,
                         plural, refused, values)
from jumbo_lab import (ETHER_LEN, FCS_LEN, IP, MAX_ETHERNET_PORTS, SLEEP,
                       TESTPMD, VXLAN_LEN, Ether, Guest, Host, LabError,
                       Process, add_address, comes, dummy_numa,
                       free_hugepages_mib, pmd_cpu_mask, run, thread_seconds,
                       wait_for, wrpcap)

MEMORY_MIB = 4096                  # what the unpatched switch needs
MTUS = (1500, 2000, 3000, 4000, 6000, 9000, 9710)
QUICK_MTUS = (1500, 9000, 9710)
FRAMES = (64, 256, 512, 1024, 1518, 9018)  # with FCS
QUICK_FRAMES = (64, 9018)
IDLE_PORTS, IDLE_QUEUES = 4, 8     # net_virtio_user has up to 8 queues
IDLE_FRAMES = (64, 1518, 9018)
MANY = tuple(itertools.product((1, 8, 64), (1, 4, 16)))  # ports, PMD threads
SLICE_SECONDS = 1                  # between two looks at the counters
FLOWS = (1, 1000, 8000, 16000, 32000, 64000, 128000)
SOME_CASES = FLOWS[2::2], (64, 1518, 9018)
QUICK_FLOWS = (1000,)
FIRST_DST = 10 << 24 | 253 << 16   # 10.253.0.0: testpmd's flowgen.c
INSTALL_SECONDS = 15               # for as many flows in the datapath
GAP = 0.001                        # between two frames, in seconds
GUEST_FRAMES = ((), (1514,), (16000,) * 4)
SETTLE_SECONDS = 2                 # of polling, before a rate is measured
RATE_SECONDS, QUICK_RATE_SECONDS = 3, 1
RATE_SLICES = 3
PORTS = ("p0", "p1")
ADDRESSES = ("192.0.2.1", "192.0.2.2")


def set_mtu(switch, mtu, ports):
    """Requests an MTU for ports; returns whether all of them have it."""
    for port in ports:
        switch.vsctl("set", "Interface", port, f"mtu_request={mtu}",
                     check=False)
    return all(switch.wait(port, f"mtu={mtu}", seconds=5, check=False)
               for port in ports)


def bits_per_second(text):
    """Returns the receiver's rate from what "iperf3 --json" printed."""
    try:
        report = json.loads(text[text.index("{"):])
        rate = report["end"]["sum_received"]["bits_per_second"]
    except (ValueError, KeyError):
        error = re.search(r'"error":\s*"(.*)"', text)
        raise LabError("iperf3: " + (error[1] if error else
                                     f"not its JSON: {text[:200]}"))
    if not rate:
        raise LabError("iperf3: no data arrived.")
    return rate


def iperf3_between(lab, client, server, address, seconds):
    """Runs iperf3 between two Hosts; returns what it prints."""
    log = lab.path(f"iperf3-{len(lab.processes)}.log")
    listener = Process(lab, server.namespace,
                       ["iperf3", "-s", "-1", "--forceflush"], log=log)
    listener.wait_printed("listening", 10)
    done = run(["ip", "netns", "exec", client.namespace, "iperf3", "-c",
                address, "-t", str(seconds), "--json"],
               seconds + 30, check=False)
    listener.stop()
    return done.stdout + done.stderr


class Throughput(Part):
    """iperf3 against the MTU."""

    key = "throughput"
    title = "TCP between two hosts (iperf3)"

    def _mtus(self, bench):
        return QUICK_MTUS if bench.quick else MTUS

    def plan(self, bench):
        mtus = len(self._mtus(bench))
        return (bench.runs * len(bench.builds) * mtus,
                self._seconds(bench) + 1 + 4 / mtus)

    @staticmethod
    def _seconds(bench):
        return 1 if bench.quick else 3

    def measure(self, bench):
        need("iperf3")
        rows = []
        for number, build in bench.pairs():
            with bench.switch(build, MEMORY_MIB) as (lab, switch):
                self._start(lab, switch)
                switch.connect("br0", PORTS)
                for mtu in self._mtus(bench):
                    if set_mtu(switch, mtu, PORTS):
                        rate = bits_per_second(
                            self._iperf3(mtu, self._seconds(bench)))
                    else:
                        rate = refused(build, mtu)
                    rows.append({"run": number, "build": build, "mtu": mtu,
                                 "bits_per_second": rate})
                    bench.progress(f"{build}, MTU {mtu}: " + (
                        f"{rate / 1e9:.2f} Gb/s" if rate else NOT_GRANTED))
        return {"seconds": self._seconds(bench), "rows": rows}

    def _start(self, lab, switch):
        self._lab = lab
        self._hosts = [Host(lab, port, switch) for port in PORTS]
        for host, address in zip(self._hosts, ADDRESSES):
            switch.add_wire("br0", host.wire, host)
            add_address(host.namespace, f"{address}/24")

    def _iperf3(self, mtu, seconds):
        """Gives both hosts that MTU; returns what iperf3 prints."""
        for host in self._hosts:
            run(["ip", "-n", host.namespace, "link", "set", "eth0", "mtu",
                 str(mtu)])
        return iperf3_between(self._lab, *self._hosts, ADDRESSES[1], seconds)

    def tables(self, results, about):
        def of(build, mtu):
            return values(results["rows"], build, "bits_per_second", mtu=mtu)

        mtus = list(dict.fromkeys(row["mtu"] for row in results["rows"]))
        lines = [[str(mtu), *cells([of(build, mtu) for build in
                                    about["builds"]], "{:.2f}", 1e-9,
                                   "{:.3f}")] for mtu in mtus]
        for mtu in mtus[1:]:
            lines.append([f"{mtu} to {mtus[0]}", *(
                Spread([b / a for a, b in zip(of(build, mtus[0]),
                                              of(build, mtu))]).show("{:.2f}")
                if of(build, mtu) else "" for build in about["builds"])])
        return [Table(self.title,
                      "Kernel TCP in two network namespaces, on veths whose "
                      "other ends are physical-type ports (net_pcap) of the "
                      "switch; no offloads.  Gb/s of TCP data in "
                      f"{results['seconds']} s, medians of "
                      f"{how_many_runs(about)} (smallest to largest), and the "
                      "factor that a larger MTU gives.",
                      header(about, "MTU"), lines)]

    def draw(self, axes, results, about):
        plot(axes, results, about, "bits_per_second", "mtu", 1e-9, "{:.2f}")
        axes.set_xlabel("MTU")
        axes.set_ylabel("TCP data, Gb/s")


class Forwarding(Part):
    """Packets of several sizes, one flow, as fast as a PMD thread goes."""

    key = "forwarding"
    title = "Forwarding, by the size of frames"
    beside = ""
    hugepages = False
    way = PORTS                    # that packets take, in and out
    by = {"frame": "bytes"}        # what a row of the table is for
    exit = "br0"                   # the bridge that has p1
    at_once = ("Both switches run at once, their PMD threads on one CPU, for ")

    @staticmethod
    def _slices(bench):
        return 2 if bench.quick else 6

    @staticmethod
    def _frames(bench):
        return QUICK_FRAMES if bench.quick else FRAMES

    def plan(self, bench):
        return (bench.runs * len(self._frames(bench)),
                4 + self._slices(bench) * SLICE_SECONDS)

    def measure(self, bench):
        """Lets both builds forward at once, on the same CPU.

        The kernel lets their PMD threads run in turn, some milliseconds each,
        so that other load on the machine affects both alike, and the packets
        of each are counted against the time that it ran.
        """
        rows = []
        for number in range(1, bench.runs + 1):
            for frame in self._frames(bench):
                builds = bench.order(number)
                rates = self._rates(bench, builds, frame)
                rows += [{"run": number, "build": build, "frame": frame,
                          "packets_per_second": rates[build]}
                         for build in bench.builds]
                bench.progress(
                    f"run {number}, {frame:,} bytes: " + ", ".join(
                        f"{build} {statistics.median(rates[build]) / 1e6:.2f}"
                        for build in bench.builds) + " million packets/s")
        return {"seconds": SLICE_SECONDS, "slices": self._slices(bench),
                "hugepages": self.hugepages, "rows": rows}

    @staticmethod
    def mtu(frame):
        return max(1500, frame - ETHER_LEN - FCS_LEN)

    def _rates(self, bench, builds, frame):
        """Returns {build: packets per second of its PMD thread, by slice}."""
        rates = {build: [] for build in builds}
        with contextlib.ExitStack() as stack:
            counts = {build: stack.enter_context(
                self._forwards(bench, build, frame)) for build in builds}
            time.sleep(1)              # warm-up
            last = {build: count() for build, count in counts.items()}
            for _ in range(self._slices(bench)):
                time.sleep(SLICE_SECONDS)
                for build, count in counts.items():
                    now = count()
                    packets, seconds = (b - a
                                        for a, b in zip(last[build], now))
                    if packets <= 0 or seconds <= 0:
                        raise LabError(f"The {build} switch has sent {packets}"
                                       f" packets in {seconds:.1f} s.")
                    rates[build].append(packets / seconds)
                    last[build] = now
        return rates

    @contextlib.contextmanager
    def _forwards(self, bench, build, frame):
        """A switch forwards frames from p0 to p1 during the "with".

        Yields a function that returns (packets that have left by p1, seconds
        for which the PMD thread has run).  net_null makes packets without
        FCS, and OVS counts them so.
        """
        def count():
            shown = unixctl.call("dpctl/show", "-s")
            return (switch.sent_packets(shown, "p1"),
                    pmd_seconds(switch.vswitchd.pid))

        length, mtu = frame - FCS_LEN, self.mtu(frame)
        with bench.switch(build, MEMORY_MIB, hugepages=self.hugepages,
                          **self._options()) as (lab, switch):
            self._add_more(lab, switch, mtu)
            # All the CPU is for p0.
            switch.add_null(1, mtu, ",no-rx=1", bridge=self.exit)
            switch.add_null(0, mtu, f",size={length}")
            for port in PORTS:
                switch.wait(port, f"mtu={mtu}", "link_state=up")
            for source, sink in self._flows():
                switch.ofctl("add-flow", "br0",
                             f"in_port={source},actions=output:{sink}")
            with Unixctl(switch) as unixctl:
                wait_for("packets at p1", lambda: count()[0], 60,
                         switch.log)
                yield count
            self._check_length(switch, length)

    def _options(self):
        """Returns other arguments of Bench.switch()."""
        return {}

    def _add_more(self, lab, switch, mtu):
        """Adds what there is besides the two ports."""

    def _flows(self):
        """Returns (port from which packets come, port to which they go)."""
        return list(zip(self.way[::2], self.way[1::2]))

    @staticmethod
    def _check_length(switch, length):
        """Raises LabError unless a flow's packets have that length.

        OVS reads a datapath flow's packets and bytes one after the other while
        its PMD thread goes on counting, so they differ by some packets.
        """
        def counted():
            flow = switch.ofctl("dump-flows", "br0", "in_port=p0").stdout
            counts = [int(re.search(rf"{what}=(\d+)", flow)[1])
                      for what in ("n_packets", "n_bytes")]
            return counts if all(counts) else None

        packets, size = wait_for("the flow's statistics", counted, 10,
                                 switch.log)
        if round(size / packets) != length:
            raise LabError(f"Not packets of {length} bytes: {packets} packets "
                           f"have {size} bytes.")

    def tables(self, results, about):
        lines = []
        for case in dict.fromkeys(tuple(row[each] for each in self.by)
                                  for row in results["rows"]):
            rates = [values(results["rows"], build, "packets_per_second",
                            **dict(zip(self.by, case)))
                     for build in about["builds"]]
            lines.append([*map(str, case), *cells(
                [list(map(statistics.median, each)) for each in rates],
                "{:.2f}", 1e-6, None)])
            if len(rates) == 2:
                lines[-1].append(Spread(list(map(ratio_of, *rates))).show(
                    "{:.3f}"))
        return [Table(
            self.title,
            f"net_null0 to net_null1 over one flow, {self.beside}with "
            f"{'hugepages' if results['hugepages'] else 'pages of 4 kB'}; "
            f"million packets per second of a PMD thread's CPU time.  "
            f"{self.at_once}{results['slices']} slices of "
            f"{results['seconds']} s; the ratio of a run is the median of its "
            "slices'.  Medians of "
            f"{how_many_runs(about)} (smallest to largest).  Frames are "
            "counted with their 4 bytes of FCS, which net_null and OVS leave "
            "out.  The ports' MTU is 1500, or what the packets need.",
            header(about, *self.by.values()), lines)]

    def draw(self, axes, results, about):
        rows = [{**row, "packets_per_second":
                 statistics.median(row["packets_per_second"])}
                for row in results["rows"]]
        plot(axes, {"rows": rows}, about, "packets_per_second", "frame", 1e-6,
             "{:.1f}")
        log_ticks(axes, results, "frame", 2)
        axes.set_xlabel("bytes of a frame")
        axes.set_ylabel("million packets/s")


class ForwardingIdle(Forwarding):
    """The same, while the PMD thread also polls the queues of an idle guest.

    On hugepages, where there are enough of them.
    """

    key = "idle"
    title = "Forwarding beside idle vhost queues"
    beside = (f"beside {IDLE_PORTS * IDLE_QUEUES} queues of a guest that "
              "sends nothing, ")
    guest_args = ["--interactive"]

    @staticmethod
    def _frames(bench):
        return QUICK_FRAMES[:1] if bench.quick else IDLE_FRAMES

    def measure(self, bench):
        need(TESTPMD)
        self.hugepages = lacking_hugepages(bench) is None
        return super().measure(bench)

    def _add_more(self, lab, switch, mtu):
        paths = [lab.path(f"v{number}") for number in range(IDLE_PORTS)]
        Guest(lab, paths, mtu=mtu, memory_mib=512,
              vdev=f"queues={IDLE_QUEUES}", args=[
                  f"--rxq={IDLE_QUEUES}", f"--txq={IDLE_QUEUES}",
                  "--total-num-mbufs=24576", *self.guest_args])
        for number, path in enumerate(paths):
            switch.add_vhost("br0", f"v{number}", path)
            switch.vsctl("set", "Interface", f"v{number}",
                         f"mtu_request={mtu}")
            switch.wait(f"v{number}", "link_state=up", f"mtu={mtu}")
        wait_for("the guest's queues", lambda: switch.appctl(
            "dpif-netdev/pmd-rxq-show").stdout.count("port: v")
            == IDLE_PORTS * IDLE_QUEUES, 10, switch.log)


class ThroughGuest(ForwardingIdle):
    """Packets go to a guest and come back, through one of its queues."""

    key = "pvp"
    title = "Through a guest (PVP), beside idle vhost queues"
    beside = ("by way of a guest, testpmd with net_virtio_user, which has "
              f"{IDLE_PORTS * IDLE_QUEUES} queues and sends by one, ")
    guest_args = []
    way = ("p0", "v0", "v1", "p1")
    at_once = "The switches run one after the other, for "

    def plan(self, bench):
        steps, seconds = super().plan(bench)
        return steps, seconds * len(bench.builds)

    def _rates(self, bench, builds, frame):
        rates = {}
        for build in builds:
            rates.update(super()._rates(bench, [build], frame))
        return rates


class ForwardingHuge(Forwarding):
    """The same on hugepages, as in a switch in production."""

    key = "hugepages"
    title = "Forwarding on hugepages, by the size of frames"
    hugepages = True

    def measure(self, bench):
        lacking = lacking_hugepages(bench)
        if lacking:
            raise Skip(lacking)
        return super().measure(bench)


class IntoTunnel(Forwarding):
    """The same, into a tunnel, by a port whose MTU they fit."""

    beside = "into a tunnel, "
    way = ("p0", "t0")
    exit = "br1"

    def __init__(self, kind):
        self.key = self._kind = kind
        self.title = self.title.replace(",", f" into {kind},")

    @staticmethod
    def _frames(bench):
        return FRAMES[:1] if bench.quick else FRAMES[::4]

    @staticmethod
    def mtu(frame):
        return Forwarding.mtu(frame) + VXLAN_LEN

    def _add_more(self, lab, switch, mtu):
        add_tunnel(switch, self._kind)


class ForwardingMany(Forwarding):
    """From many ports to one, in many PMD threads."""

    key = "many"
    title = "Forwarding, by the number of ports and PMD threads"
    by = {"ports": "ports", "threads": "PMD threads"}
    beside = ("and other ports alike, of which more than "
              f"{MAX_ETHERNET_PORTS - 1} are vhost-user ports without a "
              f"guest, {FRAMES[0]} bytes, ")
    draw = None

    @staticmethod
    def _frames(bench):
        return FRAMES[:1]

    @staticmethod
    def _cases(bench):
        return MANY[:1] if bench.quick else MANY

    def plan(self, bench):
        steps, seconds = super().plan(bench)
        return steps * len(self._cases(bench)), seconds

    def measure(self, bench):
        self.hugepages = lacking_hugepages(bench) is None
        rows = []
        for self._ports, self._threads in self._cases(bench):
            found = super().measure(bench)
            rows += [{"ports": self._ports, "threads": self._threads, **row}
                     for row in found["rows"]]
        return {**found, "rows": rows}

    def _options(self):
        return {"vswitchd_args": [dummy_numa(self._threads)],
                "other_config": [pmd_cpu_mask(self._threads)]}

    def _add_more(self, lab, switch, mtu):
        super()._add_more(lab, switch, mtu)
        for number in self._others():
            switch.add_null(number, mtu, f",size={FRAMES[0] - FCS_LEN}")
        for number in range(MAX_ETHERNET_PORTS, self._ports + 1):
            switch.add_vhost("br0", f"p{number}", lab.path(f"p{number}"))

    def _others(self):
        """Returns numbers of ports besides p0, and p1, the way out."""
        return range(2, min(self._ports + 1, MAX_ETHERNET_PORTS))

    def _flows(self):
        return super()._flows() + [(f"p{number}", self.way[1])
                                   for number in self._others()]


class BesideTooBig(Forwarding):
    """The same, while another port has a PMD thread tell its sender that its
    packets are too big for a tunnel."""

    key = "too-big"
    title = "Forwarding beside packets too big for a tunnel"
    beside = ("while the PMD thread also gets packets of 1,500 bytes for a "
              "tunnel that fits 1,450, as fast as it goes, ")
    draw = None

    @staticmethod
    def _frames(bench):
        return FRAMES[:1]

    def measure(self, bench):
        need(scapy=True)
        return super().measure(bench)

    def _add_more(self, lab, switch, mtu):
        add_tunnel(switch, "vxlan")
        switch.add_null(2, 1500, ",no-rx=1", bridge="br1")
        path = lab.path("large.pcap")
        wrpcap(path, [Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
                      / IP(src="10.0.0.1", dst="10.0.0.2", flags="DF")
                      / bytes(1480)] * 32)
        switch.add_port("br0", "p3", "type=dpdk", "options:dpdk-devargs="
                        f"net_pcap3,rx_pcap={path},infinite_rx=1")

    def _flows(self):
        return [*super()._flows(), ("p3", "t0")]


class IntoTunnelMany(ForwardingMany, IntoTunnel):
    """The same, into a tunnel."""

    beside = "into a tunnel, " + ForwardingMany.beside

    def __init__(self, kind):
        super().__init__(kind)
        self.key += "-many"


def add_tunnel(switch, kind):
    """Adds the tunnel t0 to br0, and br1, which it leaves by."""
    switch.add_bridge("br1")
    switch.ofctl("add-flow", "br1", "actions=NORMAL")
    switch.add_tunnel("br0", "t0", kind, "br1", *ADDRESSES)


def lacking_hugepages(bench):
    """Returns what is missing for both switches at once, or None."""
    needed = MEMORY_MIB * len(bench.builds)
    there = free_hugepages_mib()
    if there < needed:
        return (f"{needed:,} MiB of free hugepages are needed, and "
                f"{there:,} MiB are there")
    return None


def pmd_seconds(pid):
    """Returns how long the kernel has let the switch's PMD threads run."""
    ran = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm") as name:
                if not name.read().startswith("pmd-c"):
                    continue
        except (FileNotFoundError, ProcessLookupError):
            continue                   # Another thread, which has ended.
        try:
            ran.append(thread_seconds(pid, task))
        except OSError:
            raise Skip("the kernel doesn't tell how long a thread has run "
                       "(CONFIG_SCHED_INFO)")
    if not ran:
        raise LabError("The switch has no PMD thread.")
    return sum(ran)


def ratio_of(old, new):
    """Returns the median of the ratios of values that were measured at once.
    """
    return statistics.median(b / a for a, b in zip(old, new))


class Way(collections.namedtuple("Way", "title threads tunnel flows frames")):
    """What packets of many flows pass through.

    title: for people.  threads: PMD threads, with a queue of the guest each,
    as far as net_virtio_user has that many.  tunnel: whether it is a VXLAN
    tunnel.  flows, frames: the cases, how many flows by how many bytes, with
    FCS.
    """


class Flows(Part):
    """Packets of many flows, with a rule for each, and of several sizes."""

    key = "flows"
    title = "Forwarding, by the number of flows and rules"
    sink = "a net_null port"
    quick_threads = 1
    ways = (Way("one PMD thread", 1, False, FLOWS, FRAMES),
            Way("four PMD threads", 4, False, *SOME_CASES),
            Way("one PMD thread, into VXLAN", 1, True, *SOME_CASES))

    def _ways(self, bench):
        """Returns the ways, and for each the cases that are measured."""
        if not bench.quick:
            return self.ways
        return [way._replace(flows=QUICK_FLOWS, frames=QUICK_FRAMES[-1:])
                for way in self.ways if way.threads == self.quick_threads]

    @staticmethod
    def _slices(bench):
        return 1 if bench.quick else RATE_SLICES

    def plan(self, bench):
        return (bench.runs * len(bench.builds)
                * sum(len(way.flows) * len(way.frames)
                      for way in self._ways(bench)),
                5 + SETTLE_SECONDS + self._slices(bench) * SLICE_SECONDS)

    def measure(self, bench):
        need(TESTPMD)
        rows = []
        for number in range(1, bench.runs + 1):
            for way in self._ways(bench):
                for flows in way.flows:
                    for build in bench.order(number):
                        rows += self._forward(bench, number, build, way,
                                              flows)
        return {"rows": rows}

    def _forward(self, bench, number, build, way, flows):
        """Makes a guest send packets of that many flows to p1, with a rule for
        each; returns a row for each size."""
        rows = []
        queues = min(way.threads, IDLE_QUEUES)
        with bench.switch(
                build, MEMORY_MIB, other_config=SLEEP, vswitchd_args=[
                    dummy_numa(way.threads)]
                if way.threads > 1 else ()) as (lab, switch), \
                Unixctl(switch) as unixctl:
            self._connect(lab, switch, way, flows)
            for frame in way.frames:
                mtu = Forwarding.mtu(frame)
                guest = Guest(
                    lab, [lab.path("v0")], mtu=mtu, name=f"guest{frame}",
                    memory_mib=512, vdev=f"queues={queues}", args=[
                        "--forward-mode=flowgen", f"--flowgen-flows={flows}",
                        f"--txpkts={frame}", f"--rxq={queues}",
                        f"--txq={queues}"])
                sink = self._sink(lab, switch, frame)
                switch.wait("v0", "link_state=up")
                set_mtu(switch, mtu, ["v0"])
                set_mtu(switch, mtu + VXLAN_LEN * way.tunnel, ["p1"])
                row = self._look(switch, unixctl, way, flows,
                                 self._slices(bench))
                rows.append({
                    "run": number, "build": build, "case":
                    f"{way.title}: {flows:,} flows, {frame:,} bytes",
                    "way": way.title, "flows": flows, "frame": frame, **row})
                bench.progress(
                    f"{rows[-1]['case']}, {build}: "
                    f"{row['ns_per_packet']:.0f} ns/packet, "
                    f"{row['packets_per_second'] / 1e6:.2f} million packets/s")
                for one, port in (guest, "v0"), (sink, "p1"):
                    if one:
                        one.stop()
                        switch.wait(port, "link_state=down")
        return rows

    def _add_sink(self, lab, switch):
        """Adds the port p1."""
        switch.add_null(1, 1500, ",no-rx=1")

    def _sink(self, lab, switch, frame):
        """Starts the guest that receives from p1, if there is one."""

    def _connect(self, lab, switch, way, flows):
        """Adds the ports v0, from which packets come, and p1, by which they
        leave, and the rules."""
        if way.threads > 1:
            switch.vsctl("set", "Open_vSwitch", ".",
                         "other_config:" + pmd_cpu_mask(way.threads))
        switch.add_vhost("br0", "v0", lab.path("v0"))
        out = "p1"
        if way.tunnel:
            out = "t0"
            add_tunnel(switch, "vxlan")
            switch.add_null(1, 1500, ",no-rx=1", bridge="br1")
        else:
            self._add_sink(lab, switch)
        rules = lab.path("rules")
        with open(rules, "w") as file:
            file.writelines(
                f"in_port=v0,ip,nw_dst={dotted(FIRST_DST + number)},"
                f"actions=output:{out}\n" for number in range(flows))
        # All at once: one by one, each waits for an answer.
        switch.ofctl("--bundle", "add-flows", "br0", rules)

    @staticmethod
    def _look(switch, unixctl, way, flows, slices):
        """Returns what it costs to forward the guest's packets, the median of
        that many slices."""
        def installed():
            shown = unixctl.call("dpctl/show")
            return int(re.search(r"^ +flows: (\d+)", shown, re.M)[1])

        comes(lambda: installed() >= flows, INSTALL_SECONDS)
        time.sleep(SETTLE_SECONDS)
        def sent():
            return switch.sent_packets(unixctl.call("dpctl/show", "-s"), "p1")

        in_datapath, before = installed(), sent()
        found = [pmd_work(switch, unixctl) for _ in range(slices)]
        cost, packets = map(statistics.median, zip(*found))
        arrived = sent() - before
        if not arrived:
            raise LabError("p1 has sent nothing.")
        return {"installed": in_datapath, "ns_per_packet": cost,
                "packets_per_second": packets / SLICE_SECONDS,
                "arrived": min(arrived / sum(n for _, n in found), 1)}

    def tables(self, results, about):
        told = []
        for title in dict.fromkeys(row["way"] for row in results["rows"]):
            rows = [row for row in results["rows"] if row["way"] == title]
            frames = sorted({row["frame"] for row in rows})
            lines = []
            for flows in sorted({row["flows"] for row in rows}):
                line = [f"{flows:,}"]
                for frame in frames:
                    line.append(", ".join(cells(
                        [values(rows, build, "ns_per_packet", flows=flows,
                                frame=frame) for build in about["builds"]],
                        "{:,.0f}")))
                lines.append(line)
            lines += self._more_lines(rows, frames, about)
            told.append(Table(
                f"{self.title}: {title}",
                "A guest (testpmd, flowgen) sends packets of as many flows as "
                "there are OpenFlow rules, one for each destination, to "
                f"{self.sink}: ns of CPU time that the PMD threads take for "
                f"a packet, {', '.join(about['builds'])}"
                + (", and their ratio" if len(about["builds"]) == 2 else "")
                + ", by flows and by the bytes of a frame, with FCS.  Idle "
                f"threads may sleep ({SLEEP[-1]}).  Medians of "
                f"{how_many_runs(about)} (smallest to largest).",
                ["flows", *(f"{frame:,} bytes" for frame in frames)], lines))
        return told

    @staticmethod
    def _more_lines(rows, frames, about):
        """Returns more lines of a way's table."""
        return []

    def panels(self):
        return [(f"{self.title}: {size} frames",
                 functools.partial(self._draw, choose))
                for size, choose in (("small", min), ("large", max))]

    def _draw(self, choose, axes, results, about):
        rows = [row for row in results["rows"]
                if row["way"] == self.ways[0].title]
        frame = choose(row["frame"] for row in rows)
        rows = {"rows": [row for row in rows if row["frame"] == frame]}
        plot(axes, rows, about, "ns_per_packet", "flows", 1, "{:,.0f}",
             log=True)
        log_ticks(axes, rows, "flows", 2)
        axes.set_xlabel(f"flows of {frame:,} bytes, each with a rule")
        axes.set_ylabel("ns of CPU time per packet (fewer is better)")


class BetweenGuests(Flows):
    """Packets of many flows, by several queues of a guest to another one,
    whose queues are idle."""

    key = "vm2vm"
    title = "Between two guests (VM to VM), by several queues"
    sink = f"another guest, which has {IDLE_QUEUES} queues and sends nothing"
    ways = tuple(Way(plural(threads, "PMD thread"), threads, False,
                     QUICK_FLOWS, IDLE_FRAMES) for threads in (1, 8, 16))
    quick_threads = 8

    def panels(self):
        return []

    def _add_sink(self, lab, switch):
        switch.add_vhost("br0", "p1", lab.path("p1"))

    def _sink(self, lab, switch, frame):
        guest = Guest(
            lab, [lab.path("p1")], mtu=Forwarding.mtu(frame),
            name=f"sink{frame}", memory_mib=512,
            vdev=f"queues={IDLE_QUEUES}", args=[
                "--forward-mode=rxonly", f"--rxq={IDLE_QUEUES}",
                f"--txq={IDLE_QUEUES}", "--total-num-mbufs=24576"])
        switch.wait("p1", "link_state=up")
        return guest

    @staticmethod
    def _more_lines(rows, frames, about):
        return [["arrived", *(", ".join(cells(
            [values(rows, build, "arrived", frame=frame)
             for build in about["builds"]], "{:.0%}", ratio=None))
            for frame in frames)]]


def pmd_work(switch, unixctl):
    """Returns (ns of CPU time per packet, packets) of the PMD threads in a
    slice."""
    unixctl.call("dpif-netdev/pmd-stats-clear")
    ran = pmd_seconds(switch.vswitchd.pid)
    time.sleep(SLICE_SECONDS)
    _, packets = pmd_counted(unixctl.call("dpif-netdev/pmd-perf-show"))
    ran = pmd_seconds(switch.vswitchd.pid) - ran
    return ran * 1e9 / packets, packets


def pmd_counted(stats):
    """Returns (cycles spent on packets, packets) of all PMD threads, from what
    pmd-perf-show says."""
    found = [(int(packets), int(cycles)) for packets, cycles in re.findall(
        r"^ +Rx packets: +(\d+) +\(.*?, (\d+) cycles/pkt\)", stats, re.M)]
    if not found:
        raise LabError(f"The PMD threads got no packets: {stats}")
    return sum(map(math.prod, found)), sum(packets for packets, _ in found)


def dotted(address):
    """Returns an IPv4 address, given as a number, as text."""
    return ".".join(str(byte) for byte in address.to_bytes(4, "big"))


class Neighbour(Part):
    """What a guest that sends as fast as it can costs two other ports."""

    key = "neighbour"
    title = "A guest's traffic, and that of two other ports"

    def plan(self, bench):
        return (bench.runs * len(bench.builds) * len(GUEST_FRAMES),
                4 + SETTLE_SECONDS + self._seconds(bench))

    @staticmethod
    def _seconds(bench):
        return QUICK_RATE_SECONDS if bench.quick else RATE_SECONDS

    def measure(self, bench):
        need(TESTPMD)
        rows = []
        for number, build in bench.pairs():
            for lengths in GUEST_FRAMES:
                with bench.switch(build, MEMORY_MIB) as (lab, switch):
                    rate = self._rate(lab, switch, lengths,
                                      self._seconds(bench))
                if not lengths:
                    alone = rate
                rows.append({"run": number, "build": build,
                             "guest_frame": sum(lengths),
                             "packets_per_second": rate,
                             "share": rate / alone})
                bench.progress(f"{build}, guest's frames of {sum(lengths):,} "
                               f"bytes: {rate / 1e6:.2f} million packets/s")
        return {"rows": rows}

    @staticmethod
    def _rate(lab, switch, lengths, seconds):
        """Returns the packets that pass from p0 to p1 in a second.

        If there are lengths, a guest sends frames with segments of those
        lengths as fast as it can to a port that the same PMD thread polls.
        """
        def sent():
            shown = switch.appctl("dpctl/show", "-s").stdout
            return switch.sent_packets(shown, "p1"), time.monotonic()

        switch.add_null(1, 1500, ",no-rx=1")
        switch.add_null(0, 1500, ",size=60")
        switch.ofctl("add-flow", "br0", "in_port=p0,actions=output:p1")
        if lengths:
            path = lab.path("v0")
            Guest(lab, [path], mtu=max(lengths), memory_mib=512, args=[
                "--forward-mode=txonly", "--max-pkt-len=1518",
                "--tx-offloads=0x8000",    # frames of many segments
                "--txpkts=" + ",".join(map(str, lengths))])
            switch.add_vhost("br0", "v0", path)
            switch.ofctl("add-flow", "br0", "in_port=v0,actions=drop")
            switch.wait("v0", "link_state=up")
        time.sleep(SETTLE_SECONDS)
        packets, start = sent()
        time.sleep(seconds)
        more, end = sent()
        return (more - packets) / (end - start)

    def tables(self, results, about):
        lines = []
        for frame in dict.fromkeys(row["guest_frame"]
                                   for row in results["rows"]):
            shares, rates = ([values(results["rows"], build, quantity,
                                     guest_frame=frame)
                              for build in about["builds"]]
                             for quantity in ("share", "packets_per_second"))
            lines.append([f"{frame:,} bytes" if frame else "no guest",
                          *cells(shares, "{:.2f}"),
                          *cells(rates, "{:.2f}", 1e-6, None)])
        return [Table(
            self.title,
            "net_null0 to net_null1, while a guest whose port the same PMD "
            "thread polls sends frames as fast as it can: the share of their "
            "rate that they keep, and the rate, million packets/s.  Frames "
            "of 64,000 bytes are dropped, those of 1,514 bytes pass.  "
            f"Medians of {how_many_runs(about)} (smallest to largest).",
            [*header(about, "guest's frames"),
             *(f"rate, {build}" for build in about["builds"])], lines)]
