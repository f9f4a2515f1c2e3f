"""The part of the benchmark with guests, which are in User-mode Linux."""

import contextlib
import itertools
import time

from bench_traffic import (ADDRESSES, bits_per_second, iperf3_between,
                           pmd_counted, set_mtu)
from jumbo_bench import (NOT_GRANTED, Part, Skip, Spread, Table, cells, header,
                         how_many_runs, need, plot, refused, values)
from jumbo_lab import SLEEP, Host, add_address, run
from jumbo_uml import UmlGuest, missing_for_uml

MEMORY_MIB = 4096                  # what the unpatched switch wants
GUEST_MIB = 192
MTUS = (1500, 3000, 4000, 6000, 9000, 9710)
FEW_MTUS = (1500, 9000, 9710)
QUICK_MTUS = (1500, 9710)
STREAMS = 4


def need_guests(bench, *tools):
    """Raises Skip unless there are guests, whose image has the tools of this
    machine."""
    lacks = missing_for_uml(bench.image or "(no folder)")
    if lacks:
        raise Skip("; ".join(line.rstrip(".") for line in lacks))
    need(*tools)


class Pair:
    """Two guests, each with a vhost-user port."""

    ports = ("p0", "p1")
    memory_mib = GUEST_MIB

    def __init__(self, lab, switch, image, **how):
        self.lab = lab
        self._start(switch, [
            UmlGuest(lab, image, list(map(lab.path, ports)), name=f"uml{n}",
                     memory_mib=self.memory_mib, number=n, **how)
            for n, ports in enumerate(self._vhosts())])

    def _vhosts(self):
        """Returns the names of each guest's ports."""
        return [[port] for port in self.ports]

    def _start(self, switch, guests):
        self.guests = guests
        for guest, ports in zip(guests, self._vhosts()):
            for port in ports:
                switch.add_vhost("br0", port, self.lab.path(port))
            guest.wait_up()
            for eth, port in enumerate(ports):
                guest.run(f"ip link set eth{eth} up")
                switch.wait(port, "link_state=up")
        self._connect(switch)

    def _connect(self, switch):
        switch.connect("br0", self.ports)
        for guest, address in zip(self.guests, ADDRESSES):
            guest.run(f"ip addr add {address}/24 dev eth0")

    def prepare(self, mtu, gso):
        """Gives the guests' devices an MTU, and GSO "on" or "off".

        It is always off where the switch doesn't take packets without
        checksums (3.1).
        """
        for guest, ports in zip(self.guests, self._vhosts()):
            for eth in range(len(ports)):
                guest.run(f"ip link set eth{eth} mtu {mtu}")
                guest.try_run(f"ethtool -K eth{eth} gso {gso}")

    def listen(self):
        """Starts the server of iperf3, for one client."""
        self.guests[1].run("iperf3 -s -1 --forceflush >/tmp/log 2>&1 & :")
        self.wait_log("listening")

    def wait_log(self, text):
        """Waits until the server of iperf3 has printed `text`."""
        self.guests[1].run(f"until grep -q '{text}' /tmp/log; do "
                           "usleep 10000; done")

    def iperf3(self, streams, seconds):
        """Returns what iperf3 prints."""
        self.listen()
        return self.guests[0].run(
            f"iperf3 -c {ADDRESSES[1]} -P {streams} -t {seconds} --json 2>&1; "
            "wait", seconds + 60)

    def cpu_seconds(self):
        return sum(guest.cpu_seconds() for guest in self.guests)

    def counted(self, switch, action):
        """Calls action(); returns what it returned, the cycles for which the
        PMD thread was busy meanwhile, and the guests' CPU time in seconds."""
        switch.appctl("dpif-netdev/pmd-stats-clear")
        used = self.cpu_seconds()
        result = action()
        used = self.cpu_seconds() - used
        cycles, _ = pmd_counted(
            switch.appctl("dpif-netdev/pmd-perf-show").stdout)
        return result, cycles, used


class Through(Pair):
    """A guest that routes between two physical-type ports, as in test case 1
    of Intel's article."""

    ports = ("dpdk0", "vhost0", "vhost1", "dpdk1")
    receiver = "198.51.100.1"

    def _vhosts(self):
        return [self.ports[1:3]]

    def _connect(self, switch):
        self._hosts = []
        for port, network, eth in zip(
                self.ports[::3], (ADDRESSES[0], self.receiver), (0, 1)):
            host = Host(self.lab, port, switch)
            self._hosts.append(host)
            switch.add_wire("br0", port, host)
            add_address(host.namespace, f"{network}/24")
            gateway = network.rpartition(".")[0] + ".254"
            run(["ip", "-n", host.namespace, "route", "add", "default", "via",
                 gateway])
            self.guests[0].run(f"ip addr add {gateway}/24 dev eth{eth}")
        self.guests[0].run("echo 1 > /proc/sys/net/ipv4/ip_forward")
        switch.connect("br0", self.ports[:2], self.ports[2:])

    def prepare(self, mtu, gso):
        super().prepare(mtu, gso)
        for host in self._hosts:
            run(["ip", "-n", host.namespace, "link", "set", "eth0", "mtu",
                 str(mtu)])

    def iperf3(self, streams, seconds):
        return iperf3_between(self.lab, *self._hosts, self.receiver, seconds)


# Each: what connects the guests, how, more other_config, what the guests are
# like, and (name, MTUs, streams, GSO) of what is measured.
SETUPS = (
    (Pair, (), {}, (("one stream", MTUS, 1, "on"),
                    (f"{STREAMS} streams", MTUS, STREAMS, "on"),
                    ("one stream, no GSO", FEW_MTUS, 1, "off"))),
    (Pair, (), {"packed": True}, (
        ("one stream, packed rings", FEW_MTUS, 1, "on"),)),
    (Pair, ("userspace-tso-enable=true",), {}, (
        ("one stream, TSO", FEW_MTUS, 1, "on"),)),
    (Through, (), {}, (("through a guest", MTUS, 1, "on"),)))


class Guests(Part):
    """iperf3 between guests, and what it costs the switch and the guests."""

    key = "guests"
    title = "TCP between two guests, and through one (iperf3)"

    @staticmethod
    def _seconds(bench):
        return 1 if bench.quick else 3

    @staticmethod
    def _cases(bench):
        """Yields (what connects, other_config, how, [(name, MTU, streams,
        GSO)])."""
        for pair, config, how, ways in SETUPS:
            yield pair, config, how, [
                (name, mtu, streams, gso) for name, mtus, streams, gso
                in (ways[:1] if bench.quick else ways)
                for mtu in (QUICK_MTUS if bench.quick else mtus)]

    def plan(self, bench):
        cases = [len(each[-1]) for each in self._cases(bench)]
        return (bench.runs * len(bench.builds) * sum(cases),
                self._seconds(bench) + 1 + 6 * len(cases) / sum(cases))

    def measure(self, bench):
        need_guests(bench, "iperf3", "ethtool")
        rows = []
        for number in range(1, bench.runs + 1):
            for pair, config, how, ways in self._cases(bench):
                with contextlib.ExitStack() as stack:
                    there = {}
                    for build in bench.builds:
                        lab, switch = stack.enter_context(bench.switch(
                            build, MEMORY_MIB, other_config=SLEEP + config))
                        there[build] = switch, pair(lab, switch, bench.image,
                                                    **how)
                        # A guest gets its memory when it first uses it.
                        self._measure(bench, build, *there[build],
                                      *ways[0][1:])
                    # In turn, so that other load affects all alike.
                    for (name, *way), build in itertools.product(
                            bench.order(number, ways), bench.order(number)):
                        rows.append({
                            "run": number, "build": build,
                            "case": f"{name}, MTU {way[0]}",
                            **self._measure(bench, build, *there[build], *way)
                        })
                        bench.progress(self._line(**rows[-1]))
        return {"seconds": self._seconds(bench), "rows": rows}

    @staticmethod
    def _line(build, case, bits_per_second, pmd_cycles_per_byte, **_):
        return f"{build}, {case}: " + (
            f"{bits_per_second / 1e9:.2f} Gb/s, "
            f"{pmd_cycles_per_byte:.2f} cycles/byte"
            if bits_per_second else NOT_GRANTED)

    def _measure(self, bench, build, switch, ends, mtu, streams, gso):
        quantities = ("bits_per_second", "pmd_cycles_per_byte",
                      "guest_ns_per_byte", "guest_cpus")
        if not set_mtu(switch, mtu, ends.ports):
            return dict.fromkeys(quantities, refused(build, mtu))
        ends.prepare(mtu, gso)
        seconds, began = self._seconds(bench), time.monotonic()
        text, cycles, used = ends.counted(
            switch, lambda: ends.iperf3(streams, seconds))
        taken = time.monotonic() - began
        rate = bits_per_second(text)
        size = rate * seconds / 8
        return dict(zip(quantities, (
            rate, cycles / size, used * 1e9 / size, used / taken)))

    def tables(self, results, about):
        def table(title, quantity, scale, note):
            lines = []
            for case in cases:
                name, mtu = case.split(", MTU ")
                found = [of(build, quantity, case) for build in builds]
                lines.append([name, mtu, *cells(found, "{:.2f}", scale,
                                                "{:.3f}")])
                first = f"{name}, MTU {MTUS[0]}"
                if mtu == str(MTUS[-1]):
                    lines.append([name, f"{mtu} to {MTUS[0]}", *(
                        Spread([b / a for a, b in zip(
                            of(build, quantity, first), new)]).show("{:.2f}")
                        if new else "" for build, new in zip(builds, found))])
            return Table(f"{self.title}: {title}", f"{note}  Medians of "
                         f"{how_many_runs(about)} (smallest to largest).",
                         header(about, "way", "MTU"), lines)

        def of(build, quantity, case):
            return values(results["rows"], build, quantity, case=case)

        builds = about["builds"]
        cases = list(dict.fromkeys(row["case"] for row in results["rows"]))
        return [
            table("rate", "bits_per_second", 1e-9,
                  "Guests in User-mode Linux, with the real virtio-net "
                  "driver, on the CPUs that the PMD thread leaves.  Gb/s of "
                  f"TCP data in {results['seconds']} s.  GSO is the guest's; "
                  "TSO is with userspace-tso-enable; on 3.1 there is no GSO "
                  "without it."),
            table("cost in the switch", "pmd_cycles_per_byte", 1,
                  "Cycles for which the PMD thread is busy, per byte of TCP "
                  "data.  It may sleep when it is idle (pmd-sleep-max=100)."),
            table("cost in the guests", "guest_ns_per_byte", 1,
                  "CPU time of the guests, ns per byte of TCP data."),
            table("CPUs that the guests use", "guest_cpus", 1,
                  "CPU time of the guests per time: where it is near the "
                  "number of CPUs that they have, they are the limit.")]

    def draw(self, axes, results, about):
        name = SETUPS[0][-1][0][0]
        rows = [{**row, "mtu": int(row["case"].split()[-1])}
                for row in results["rows"]
                if row["case"].startswith(f"{name}, MTU")]
        plot(axes, {"rows": rows}, about, "bits_per_second", "mtu", 1e-9,
             "{:.2f}")
        axes.set_xlabel(f"MTU ({name})")
        axes.set_ylabel("TCP data, Gb/s")
