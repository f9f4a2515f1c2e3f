"""Parts of the benchmark: what mempools cost."""

import contextlib
import json
import re
import time

from jumbo_bench import (BUILDS, MB, NOT_GRANTED, PATCHED, Heartbeat, Part,
                         Skip, Table, Unixctl, cells, header, how_many_runs,
                         log_ticks, need, plot, plural, refused, values)
from jumbo_lab import TESTPMD, Guest, LabError, wait_for

JUMBO = 9000
MTUS = (1500, 2000, 3000, 4000, 6000, 9000, 9710)
JUMBO_MEMORY_MIB = 4096            # unpatched, 3,227 MB go to one mempool
MANY_MTUS = (1500, 2500, 3500, 4500, 6000, 7000, 9000, 9710)
MANY_MEMORY_MIB = 1024
VHOST_MTUS = (1500, 3000, 6000, 9000)
VHOST_COUNTS = (1, 2, 4, 8, 16, 32, 64)
VHOST_MEMORY_MIB = dict(zip(BUILDS, (8192, 2048)))
UPLINK = "and an uplink"
# testpmd takes up to 32 (RTE_MAX_ETHPORTS), but connects one per second.
VDEVS_PER_GUEST = 16
CYCLE_MTUS = (68, 9710)
CYCLE_MEMORY_MIB = 1024
CYCLE_STEPS = 10                   # progress lines
IDLE_SECONDS = 0.5                 # how long an idle main thread is watched


def mempools(switch, *port):
    """Returns [{name, mbufs, object_bytes}] of all mempools, or a port's."""
    text = switch.appctl("netdev-dpdk/get-mempool-info", *port,
                         check=not port).stdout    # some ports have none yet
    pools = [{"name": name, "mbufs": int(mbufs), "object_bytes": int(size)}
             for name, mbufs, size in re.findall(
                 r"^mempool <(ovs.*?)>@.*?^ *populated_size=(\d+)$"
                 r".*?^ *total_obj_size=(\d+)$", text, re.M | re.S)]
    if len(pools) != text.count("mempool <ovs"):
        raise LabError(f"Mempools that can't be read: {text}")
    return pools


def mempool_bytes(pools):
    return sum(pool["mbufs"] * pool["object_bytes"] for pool in pools)


def heap_bytes(switch):
    """Returns how much of DPDK's memory is in use, whoever uses it."""
    sizes = re.findall(r"Alloc_size:(\d+)",
                       switch.appctl("dpdk/get-malloc-stats").stdout)
    if not sizes:
        raise LabError("dpdk/get-malloc-stats tells no Alloc_size.")
    return sum(map(int, sizes))


def datapath_ports(shown):
    """Returns the names of the ports in the output of dpctl/show."""
    return re.findall(r"^ +port \d+: (\S+)", shown, re.M)


def pause():
    """Keeps a condition that costs the switch something from looking often."""
    time.sleep(0.2)


def interfaces(switch, *columns):
    """Returns {name: {column: value}}; what is empty is None."""
    table = json.loads(switch.vsctl(
        "--format=json", "--columns=name," + ",".join(columns), "list",
        "Interface").stdout)
    return {row[0]: {column: None if value == ["set", []] else value
                     for column, value in zip(columns, row[1:])}
            for row in table["data"]}


class OnePort(Part):
    """Memory and time of one port, in most cases of MTU 9000."""

    key = "one_port"
    title = "One port"

    def plan(self, bench):
        return len(self._steps(bench)), 4

    @staticmethod
    def _steps(bench):
        """Returns [(run, build, MTU)]: all MTUs once, one in each run."""
        mtus = (1500, JUMBO) if bench.quick else MTUS
        return [(number, build, mtu) for number, build in bench.pairs()
                for mtu in (mtus if number == 1 else (JUMBO,))]

    def measure(self, bench):
        rows = []
        for number, build, mtu in self._steps(bench):
            row = {"run": number, "build": build, "mtu": mtu,
                   **self._add_port(bench, build, mtu)}
            rows.append(row)
            bench.progress(f"{build}, MTU {mtu}: " + (
                f"{row['mbufs']:,} mbufs, {row['bytes'] / MB:,.1f} MB, "
                f"{row['seconds']:.2f} s, {row['blocked_seconds']:.2f} s "
                "blocked" if row["granted"] else NOT_GRANTED))
        return {"memory_mib": JUMBO_MEMORY_MIB, "rows": rows}

    @staticmethod
    def _add_port(bench, build, mtu):
        with bench.switch(build, JUMBO_MEMORY_MIB) as (_, switch):
            with Heartbeat(switch) as idle:
                time.sleep(IDLE_SECONDS)
            before = heap_bytes(switch)
            with Heartbeat(switch) as busy:
                start = time.monotonic()
                switch.add_null(0, mtu)
                switch.wait("p0", "mtu>0", "link_state=up", seconds=60)
                seconds = time.monotonic() - start
            if "p0" not in datapath_ports(switch.appctl("dpctl/show").stdout):
                raise LabError("Port p0 is not in the datapath.")
            if switch.get("Interface", "p0", "mtu") != str(mtu):
                refused(build, mtu)
                return {"granted": False, **dict.fromkeys(
                    ("mbufs", "bytes", "heap_bytes", "seconds",
                     "blocked_seconds", "idle_blocked_seconds"))}
            pools = mempools(switch)
            if not mempools(switch, "p0"):
                raise LabError("Port p0 has no mempool.")
            return {"granted": True,
                    "mbufs": sum(pool["mbufs"] for pool in pools),
                    "bytes": mempool_bytes(pools),
                    "heap_bytes": heap_bytes(switch) - before,
                    "seconds": seconds, "blocked_seconds": busy.longest,
                    "idle_blocked_seconds": idle.longest}

    def tables(self, results, about):
        rows = results["rows"]

        def line(label, quantity, form, scale=1, ratio="{:.3f}", mtu=JUMBO):
            found = [values(rows, build, quantity, mtu=mtu)
                     for build in about["builds"]]
            return [label, *cells(found, form, scale, ratio)]

        one = [line("mbufs", "mbufs", "{:,.0f}"),
               line("their memory, MB", "bytes", "{:,.1f}", 1 / MB),
               line("taken from DPDK's memory, MB", "heap_bytes", "{:,.1f}",
                    1 / MB),
               line("until the port is up, s", "seconds", "{:.3f}"),
               line("main thread blocked, s", "blocked_seconds", "{:.3f}"),
               line("the same before, idle, s", "idle_blocked_seconds",
                    "{:.3f}", ratio="{:.1f}")]
        every = [line(str(mtu), "bytes", "{:,.1f}", 1 / MB, mtu=mtu)
                 for mtu in dict.fromkeys(row["mtu"] for row in rows)]
        return [
            Table(f"One port of MTU {JUMBO}",
                  "A ``type=dpdk`` port (net_null), one receive queue, "
                  f"default descriptors, {results['memory_mib']:,} MiB for "
                  f"DPDK.  Medians of {how_many_runs(about)} (smallest to "
                  "largest).  Blocked: the longest time between two answers "
                  "of the main thread to requests sent back to back.  The "
                  "memory of the mbufs is their number times the size of "
                  "one.  What is taken besides is the mempool's ring and, as "
                  "the pages have 4 kB here, padding: the unpatched switch "
                  "rounds such an mbuf up to whole pages.",
                  header(about, ""), one),
            Table("One port of other MTUs",
                  "The same port: the memory of its mbufs, in MB.",
                  header(about, "MTU"), every)]

    def draw(self, axes, results, about):
        rows = [row for row in results["rows"] if row["run"] == 1]
        plot(axes, {"rows": rows}, about, "bytes", "mtu", 1 / MB, "{:,.0f}")
        axes.set_xlabel("MTU")
        axes.set_ylabel("memory of its mbufs, MB")


class ManyPorts(Part):
    """Ports of many MTUs with little memory."""

    key = "many_ports"
    title = (f"{len(MANY_MTUS)} ports of as many MTUs, {MANY_MEMORY_MIB:,} "
             "MiB for DPDK")

    def plan(self, bench):
        return len(bench.builds), 7

    def measure(self, bench):
        rows = []
        for build in bench.builds:
            new = self._add_ports(bench, build)
            rows += new
            bench.progress(f"{build}: {granted(new)} of {len(new)} ports are "
                           "up with the MTU that was requested")
        return {"memory_mib": MANY_MEMORY_MIB, "rows": rows}

    @staticmethod
    def _add_ports(bench, build):
        def settled():
            """Returns (datapath's ports, interfaces) if both agree."""
            shown = datapath_ports(switch.appctl("dpctl/show").stdout)
            columns = interfaces(switch, "mtu", "link_state", "error")
            return (all((name in shown) == (columns[name]["mtu"] is not None
                                            and columns[name]["link_state"]
                                            is not None) for name in names)
                    and (shown, columns))

        names = [f"p{number}" for number in range(len(MANY_MTUS))]
        with bench.switch(build, MANY_MEMORY_MIB) as (_, switch):
            for number, mtu in enumerate(MANY_MTUS):
                switch.add_null(number, mtu, check=False)  # may be refused
            time.sleep(1)              # for what comes late
            shown, columns = wait_for("the ports' state", settled, 15,
                                      switch.log)
            rows = []
            for name, mtu in zip(names, MANY_MTUS):
                there = name in shown
                pools = mempools(switch, name) if there else []
                if there and not pools:
                    raise LabError(f"Port {name} has no mempool.")
                row = {"build": build, "requested": mtu, "in_datapath": there,
                       "mbufs": sum(pool["mbufs"] for pool in pools),
                       **columns[name]}
                row["granted"] = (there and row["mtu"] == mtu
                                  and row["link_state"] == "up")
                rows.append(row)
            return rows

    def tables(self, results, about):
        def state(row):
            if not row["in_datapath"]:
                return "not in the datapath"
            mtu = f"MTU {row['mtu']}" if row["granted"] else (
                f"MTU {row['mtu']}, not {row['requested']}")
            return f"{mtu}; {row['mbufs']:,} mbufs"

        per_build = [[row for row in results["rows"] if row["build"] == build]
                     for build in about["builds"]]
        rows = [[str(ports[0]["requested"]), *map(state, ports)]
                for ports in zip(*per_build)]
        rows.append(["as requested", *(f"{granted(ports)} of {len(ports)}"
                                       for ports in per_build)])
        return [Table(
            f"{len(per_build[0])} ports of as many MTUs",
            "``type=dpdk`` ports (net_null), added one after the other, with "
            f"{results['memory_mib']:,} MiB for DPDK: what each has in the "
            "end.", header(about, "mtu_request", ratio=None), rows)]


def granted(rows):
    return sum(row["granted"] for row in rows)


class Vhost(Part):
    """Memory of vhost-user ports with guests."""

    key = "vhost"
    title = ("vhost-user ports of MTU " + ", ".join(map(str, VHOST_MTUS))
             + " in turn")

    @staticmethod
    def _counts(bench):
        return [count for count in VHOST_COUNTS
                if not bench.quick or count <= 4]

    def plan(self, bench):
        return (len(bench.builds) * (len(self._counts(bench)) + 1),
                2 if bench.quick else 8)

    def measure(self, bench):
        need(TESTPMD)
        return {"mtus": VHOST_MTUS,
                "rows": [row for build in bench.builds
                         for row in self._measure(bench, build)]}

    def _measure(self, bench, build):
        """Returns rows for rising numbers of ports, then with an uplink."""
        rows = []

        def add_row(ports, uplink):
            pools = mempools(switch)
            rows.append({"build": build, "run": 1,
                         "ports": f"{ports} {UPLINK}" if uplink else ports,
                         "mempools": len(pools),
                         "mbufs": sum(pool["mbufs"] for pool in pools),
                         "bytes": mempool_bytes(pools),
                         "heap_bytes": heap_bytes(switch)})
            bench.progress(f"{build}: {plural(ports, 'port')}"
                           + (f" {UPLINK}" if uplink else "")
                           + f", {plural(len(pools), 'mempool')}, "
                           f"{rows[-1]['bytes'] / MB:,.1f} MB")

        with bench.switch(build, VHOST_MEMORY_MIB[build]) as (lab, switch):
            guests = []
            for count in self._counts(bench):
                self._add_guests(lab, switch, guests, count)
                add_row(count, uplink=False)
            switch.add_null(0, JUMBO, ",no-rx=1")
            switch.wait("p0", f"mtu={JUMBO}", "link_state=up", seconds=60)
            add_row(count, uplink=True)
        return rows

    @staticmethod
    def _add_guests(lab, switch, guests, count):
        """Adds vhost ports up to that number, with guests, and waits."""
        done = sum(len(guest.sockets) for guest in guests)
        wanted = {f"v{number}": VHOST_MTUS[number % len(VHOST_MTUS)]
                  for number in range(count)}
        new = list(wanted)[done:]
        for first in range(0, len(new), VDEVS_PER_GUEST):
            # "-i": it waits for commands and leaves the CPU to the switch.
            guests.append(Guest(
                lab, [lab.path(name) for name in
                      new[first:first + VDEVS_PER_GUEST]],
                mtu=1500, memory_mib=128, name=f"guest{len(guests)}",
                args=("-i",)))
        for name in new:
            switch.add_port("br0", name, "type=dpdkvhostuserclient",
                            f"options:vhost-server-path={lab.path(name)}",
                            f"mtu_request={wanted[name]}")

        def connected():
            for process in (*guests, switch.vswitchd):
                process.check()
            columns = interfaces(switch, "mtu", "link_state")
            return all(columns[name] == {"mtu": mtu, "link_state": "up"}
                       for name, mtu in wanted.items()) or pause()

        def with_mempool():            # it comes shortly after the link
            return all(mempools(switch, name) for name in wanted)

        wait_for(f"{count} guests' ports", connected, 60 + 3 * count,
                 switch.log)
        wait_for(f"{count} ports' mempools", with_mempool, 30, switch.log)

    def tables(self, results, about):
        def of(build, quantity, ports):
            return values(results["rows"], build, quantity, ports=ports)

        rows = []
        for ports in dict.fromkeys(row["ports"] for row in results["rows"]):
            size, heap = ([of(build, quantity, ports)
                           for build in about["builds"]]
                          for quantity in ("bytes", "heap_bytes"))
            rows.append([
                str(ports), str(*of(about["builds"][-1], "mempools", ports)),
                *cells(size, "{:,.1f}", 1 / MB, "{:.3f}"),
                *cells(heap, "{:,.1f}", 1 / MB, None)])
        return [Table(
            "vhost-user ports",
            "``type=dpdkvhostuserclient`` ports of MTU "
            + ", ".join(map(str, results["mtus"])) + " in turn, each with a "
            "guest: the memory of all mbufs, and all that is in use of "
            "DPDK's memory, in MB.  The uplink is a ``type=dpdk`` port of MTU "
            f"{JUMBO}.",
            [*header(about, "ports", "mempools"),
             *(f"in use, {build}" for build in about["builds"])], rows)]

    def draw(self, axes, results, about):
        rows = [row for row in results["rows"]
                if isinstance(row["ports"], int)]
        plot(axes, {"rows": rows}, about, "bytes", "ports", 1 / MB, "{:,.0f}")
        log_ticks(axes, {"rows": rows}, "ports", 2)
        axes.set_xlabel("ports, each with a guest")
        axes.set_ylabel("memory of all mbufs, MB")


class Cycles(Part):
    """What memory is left in use after many ports have come and gone."""

    key = "cycles"
    title = "Add a port, change its MTU, delete it, many times"

    @staticmethod
    def _count(bench):
        return 50 if bench.quick else 1000

    def plan(self, bench):
        return CYCLE_STEPS, self._count(bench) / CYCLE_STEPS * 0.15

    def measure(self, bench):
        """Counts from the end of a first cycle: a device keeps what it needs.

        The device is there from the start, like a NIC: net_null loses
        memory when it is detached (DPDK 22.11, with either switch).
        """
        if PATCHED not in bench.builds:
            raise Skip("it is about the patched switch, which isn't measured")
        count, (low, high) = self._count(bench), CYCLE_MTUS
        with bench.switch(PATCHED, CYCLE_MEMORY_MIB, "--vdev=net_null0") \
                as (_, switch), Unixctl(switch) as unixctl:
            sizes = {"before the first use of the device": heap_bytes(switch)}
            self._cycle(switch, unixctl, low, high)
            sizes["at the start, after one cycle"] = self._idle_heap(switch)
            for number in range(count):
                # One MTU rises, the other falls, over the whole range.
                mtu = low + (high - low) * number // (count - 1)
                self._cycle(switch, unixctl, mtu, low + high - mtu)
                if (number + 1) % (count // CYCLE_STEPS) == 0:
                    bench.progress(plural(number + 1, "cycle"))
            sizes["at the end"] = self._idle_heap(switch)
            return {"count": count, "mtus": CYCLE_MTUS, "rows": [
                {"build": PATCHED, "moment": moment, "bytes": size}
                for moment, size in sizes.items()]}

    @staticmethod
    def _cycle(switch, unixctl, first, second):
        """Adds a port with one MTU, changes it to the other, deletes it."""
        def check(mtu):
            shown = unixctl.call("dpctl/show")
            if not re.search(rf"^ +port \d+: p0 .*\bmtu={mtu}\b", shown,
                             re.M):
                raise LabError(f"Port p0 has not got MTU {mtu}: {shown}")

        switch.add_null(0, first)
        check(first)
        switch.vsctl("set", "Interface", "p0", f"mtu_request={second}")
        check(second)
        switch.vsctl("del-port", "p0")
        if "p0" in datapath_ports(unixctl.call("dpctl/show")):
            raise LabError("Port p0 has not been deleted.")

        def is_free():
            with contextlib.suppress(LabError):
                unixctl.call("netdev-dpdk/get-mempool-info", "p0")
                return False
            return True

        # Open vSwitch 4.0 keeps the device for its offloads until all threads
        # have been quiescent (dpif-offload-dpdk.c, dpdk_offload_free_port()).
        wait_for("the device to be free", is_free, 10)

    @staticmethod
    def _idle_heap(switch):
        """Returns the heap's bytes after the last mempool has gone.

        A mempool that no port uses is freed within five seconds.
        """
        with contextlib.suppress(LabError):
            wait_for("the mempools to go", lambda: not mempools(switch), 10)
        return heap_bytes(switch)

    def tables(self, results, about):
        low, high = results["mtus"]
        rows = [[row["moment"], row["bytes"]] for row in results["rows"]]
        rows.append(["end less start", rows[-1][1] - rows[-2][1]])
        return [Table(
            f"{results['count']:,} cycles",
            f"Add a port, change its MTU, delete it, with MTUs from {low} to "
            f"{high}, on the patched switch: what is in use of DPDK's "
            "memory, in bytes.  What the device takes when it is used for "
            "the first time is kept.", ["", "bytes"],
            [[moment, f"{size:,}"] for moment, size in rows])]
