"""The part of the benchmark that answers an operator: what MTU is best?"""

import collections
import contextlib
import functools
import itertools
import re
import statistics

from bench_guests import MEMORY_MIB, Pair, need_guests
from bench_traffic import ADDRESSES, set_mtu
from jumbo_bench import (Part, Spread, Table, cells, header, how_many_runs,
                         plot, values)
from jumbo_lab import SLEEP, LabError

MTUS = (1500, 4000, 9000)
QUICK_MTUS = (1500, 9000)
FULL, QUICK = (256, 1000, 1000), (32, 200, 200)    # MiB, small files, pings
SMALL_BYTES = 4096
PING_GAP = 0.005                   # between two, in seconds
STREAM_BITS = 500_000_000          # per second
NEAR = 0.95                        # of the best counts as good
NO_SLEEP = tuple(f"{key.split('=')[0]}=0" for key in SLEEP)
# What exportfs and rpc.mountd pass to the kernel: who may mount, for ever,
# /data (fsid, no_subtree_check), the root of all exports.
EXPORT = (("auth.unix.ip", f"nfsd {ADDRESSES[0]} {2**31 - 1} all"),
          ("nfsd.export", f"all /data {2**31 - 1} {0x2400} 0 0 0"),
          ("nfsd.fh", rf"all 1 \x00000000 {2**31 - 1} /data"))


class Share(Pair):
    """Two guests; the first one mounts files of the second one over NFS: the
    file "large" and the folder "small".  All files are in memory."""

    memory_mib = 640               # two large files, and what Linux needs

    def serve(self, large_mib, small_files):
        """Makes the files and starts the server."""
        for guest in self.guests:
            guest.run("depmod && modprobe -a nfsd nfsv4 && mkdir /data && "
                      "mount -t tmpfs -o size=90% tmpfs /data")
        server, first = self.guests[1], 10**5      # names of equal length
        server.run("cd /data && mkdir small written && "
                   f"head -c {large_mib}m /dev/urandom >large", 60)
        server.run(
            "text=$(base64 -w 0 /dev/urandom | "
            f"head -c {SMALL_BYTES - len(str(first))}); for name in $(seq "
            f"{first} {first + small_files - 1}); do "
            "echo -n $name$text >small/$name || break; done")
        self.sizes = {"large": (1, large_mib << 20),
                      "small": (small_files, small_files * SMALL_BYTES)}
        self._sums = {name: self._sum(server, "/data", name)
                      for name in self.sizes}
        for name, (files, size) in self.sizes.items():
            if not self._sums[name].startswith(f"{files} {size} "):
                raise LabError(f"The guest made {name}: {self._sums[name]}")
        # Without this folder, it waits 90 s for clients of an earlier server.
        # Linux 7.2 listens nowhere by itself, and doesn't wait.
        server.run("mkdir -p /var/lib/nfs/v4recovery && "
                   "mount -t nfsd nfsd /proc/fs/nfsd && cd /proc/fs/nfsd && "
                   "echo -3 >versions && echo tcp 2049 >portlist && "
                   "echo 8 >threads && { echo Y >v4_end_grace || true; }")
        for cache, line in EXPORT:
            server.run(f"echo '{line}' >/proc/net/rpc/{cache}/channel")

    @staticmethod
    def _sum(guest, folder, name):
        """Returns the number of these files, their bytes and a checksum."""
        return guest.run(
            f"cd {folder} && find {name} -type f | sort >/tmp/names && "
            "echo $(wc -l </tmp/names) $(xargs cat </tmp/names | wc -c) "
            "$(xargs md5sum </tmp/names | md5sum)", 60)

    def copy(self, switch, name, write):
        """Reads what has that name, or then writes it back, each through a
        mount of its own, and compares it.

        Returns the seconds that it took, and what counted() returns.
        """
        client, server = self.guests
        source, target, guest, there = (
            ("/data", "/mnt/written", server, "/data/written") if write else
            ("/mnt", "/data", client, "/data"))
        client.run("mkdir -p /mnt && mount -t nfs4 -o vers=4.2,addr="
                   f"{ADDRESSES[1]} {ADDRESSES[1]}:/ /mnt")
        # When cp closes a file, all of it has arrived.
        text, *used = self.counted(switch, lambda: client.run(
            f"cat /proc/uptime && cp -r {source}/{name} {target} && "
            "cat /proc/uptime", 120))
        client.run("umount /mnt")
        if self._sum(guest, there, name) != self._sums[name]:
            raise LabError(f"{name} arrived otherwise than it was sent.")
        if write:
            for guest, folder in (client, "/data"), (server, there):
                guest.run(f"rm -r {folder}/{name}")
        began, ended = (float(line.split()[0]) for line in text.splitlines())
        return ended - began, *used

    def ping(self, count):
        """Returns the percentiles of round trips, and how many were lost."""
        text = self.guests[0].run(
            f"/usr/bin/ping -c {count} -i {PING_GAP} {ADDRESSES[1]} "
            ">/tmp/pings && cat /tmp/pings", 60)
        times = [float(ms) for ms in re.findall(r"time=(\S+) ms", text)]
        if len(times) < count / 2:
            raise LabError(f"{len(times)} of {count} pings were answered.")
        cuts = statistics.quantiles(times, n=100, method="inclusive")
        return {"p50_ms": cuts[49], "p99_ms": cuts[98],
                "lost": count - len(times)}

    def ping_beside_stream(self, count):
        """Returns the same, beside TCP, and what the server then received."""
        client, server = self.guests
        self.listen()
        client.run(f"iperf3 -c {ADDRESSES[1]} -b {STREAM_BITS} -t 600 "
                   ">/tmp/stream 2>&1 & :")
        self.wait_log("connected to")
        began, before = self._received()
        found = self.ping(count)
        ended, after = self._received()
        client.run("kill $! && wait")  # it lasted until now
        server.run("wait")
        return {**found, "received_bits_per_second":
                8 * (after - before) / (ended - began)}

    def _received(self):
        """Returns the server's time, in seconds, and the bytes by then."""
        uptime, _, size = self.guests[1].run(
            "cat /proc/uptime /sys/class/net/eth0/statistics/rx_bytes").split()
        return float(uptime), int(size)


# (The name in Share, whether it is written.)
COPIES = {"large file, read": ("large", False),
          "large file, written": ("large", True),
          "small files, read": ("small", False),
          "small files, written": ("small", True)}
BESIDE, ALONE = TRIPS = "beside a stream", "alone"
# What is shown, and of which workloads; the first one is drawn.  sense: 1 if
# more is better, or -1.
Measure = collections.namedtuple(
    "Measure", "title quantity workloads unit form scale sense note")

MEASURES = (
    Measure("Transfer rate", "bytes_per_second", list(COPIES)[:2], "MB/s",
            "{:.0f}", 1e-6, 1,
            "Two guests in User-mode Linux, on the CPUs that the PMD thread "
            "leaves; one mounts the other's tmpfs over NFS 4.2 and copies "
            "{large_mib} MiB from it and back."),
    Measure("Files per second", "files_per_second", list(COPIES)[2:],
            "files/s", "{:.0f}", 1, 1,
            f"The same with {{small_files:,}} files of {SMALL_BYTES:,} "
            "bytes."),
    Measure("Cost in the switch", "pmd_cycles_per_byte", list(COPIES),
            "cycles/byte", "{:.2f}", 1, -1,
            "Cycles for which the PMD thread is busy, per byte of the files.  "
            "It may sleep when it is idle (pmd-sleep-max=100)."),
    Measure("Cost in the guests", "guest_ns_per_byte", list(COPIES),
            "ns/byte", "{:.2f}", 1, -1,
            "CPU time of both guests, per byte of the files."),
    Measure("Round trip, p50", "p50_ms", TRIPS, "ms", "{:.3f}", 1, -1,
            f"{{pings:,}} pings of 84 bytes, {1 / PING_GAP:.0f} a second, "
            f"alone and beside a TCP stream of {STREAM_BITS / 1e6:.0f} Mb/s "
            "(measured: {received}) between the same guests, while the PMD "
            "thread doesn't sleep.  Half of the answers took at most so long; "
            "{lost} pings in all were lost."),
    Measure("Round trip, p99", "p99_ms", TRIPS, "ms", "{:.2f}", 1, -1,
            "The same: 99 % of the answers took at most so long."))


class Workloads(Part):
    """Files over NFS, and small packets beside a stream."""

    key = "workloads"
    title = "Which MTU should I use?"

    @staticmethod
    def _mtus(bench):
        return QUICK_MTUS if bench.quick else MTUS

    def plan(self, bench):
        return (bench.runs * len(bench.builds) * len(self._mtus(bench)),
                10 if bench.quick else 30)

    def measure(self, bench):
        need_guests(bench, "iperf3", "ethtool", "ping")
        large_mib, small_files, pings = QUICK if bench.quick else FULL
        rows = []
        for number in range(1, bench.runs + 1):
            with contextlib.ExitStack() as stack:
                there = {}
                for build in bench.builds:
                    lab, switch = stack.enter_context(bench.switch(
                        build, MEMORY_MIB, other_config=SLEEP))
                    there[build] = switch, Share(lab, switch, bench.image)
                    there[build][1].serve(large_mib, small_files)
                    # A guest gets most of its memory when it first uses it,
                    # which takes longer than a large file does.
                    for name, write in COPIES.values():
                        there[build][1].copy(switch, name, write)
                # In turn, so that other load affects all alike.
                for mtu, build in itertools.product(
                        bench.order(number, self._mtus(bench)),
                        bench.order(number)):
                    found = self._measure(*there[build], mtu, pings)
                    rows += [{"run": number, "build": build,
                              "case": f"{workload}, MTU {mtu}", **quantities}
                             for workload, quantities in found.items()]
                    bench.progress(f"{build}, MTU {mtu}: " + ", ".join(
                        one.form.format(found[one.workloads[0]][one.quantity]
                                        * one.scale) + f" {one.unit}"
                        for one in MEASURES))
        return {"large_mib": large_mib, "small_files": small_files,
                "pings": pings, "rows": rows}

    @staticmethod
    def _measure(switch, ends, mtu, pings):
        """Returns {workload: {quantity: value}}."""
        if not set_mtu(switch, mtu, ends.ports):
            raise LabError(f"MTU {mtu} is not granted.")
        ends.prepare(mtu, "on")
        found = {}
        for workload, (name, write) in COPIES.items():
            seconds, cycles, used = ends.copy(switch, name, write)
            files, size = ends.sizes[name]
            found[workload] = {"bytes_per_second": size / seconds,
                               "files_per_second": files / seconds,
                               "pmd_cycles_per_byte": cycles / size,
                               "guest_ns_per_byte": used * 1e9 / size}
        set_sleep(switch, NO_SLEEP)
        found[ALONE] = ends.ping(pings)
        found[BESIDE] = ends.ping_beside_stream(pings)
        set_sleep(switch, SLEEP)
        return found

    def tables(self, results, about):
        rows, builds = results["rows"], about["builds"]
        mtus = sorted({mtu_of(row) for row in rows})
        received = Spread([row["received_bits_per_second"] for row in rows
                          if "received_bits_per_second" in row])
        terms = {**results, "received": received.show("{:.0f}", 1e-6),
                 "lost": sum(row.get("lost", 0) for row in rows)}
        medians = (f"  Medians of {how_many_runs(about)} (smallest to "
                   "largest).")

        def of(build, one, workload, mtu):
            return values(rows, build, one.quantity,
                          case=f"{workload}, MTU {mtu}")

        def best(build, one, workload):
            gains = {mtu: [(b / a) ** one.sense for a, b in
                           zip(*(of(build, one, workload, each)
                                 for each in (mtus[0], mtu)))]
                     for mtu in mtus}
            enough = NEAR * max(map(min, gains.values()))
            mtu = next(mtu for mtu in mtus if min(gains[mtu]) >= enough)
            return f"{mtu}: {Spread(gains[mtu]).show('{:.2f}')}"

        return [
            Table(self.title, "By the worst run of each, the smallest MTU "
                  f"that is as good as any, but for {1 - NEAR:.0%}, and how "
                  f"many times better than MTU {mtus[0]} it is.{medians}",
                  header(about, "what", "workload", ratio=None),
                  [[f"{one.title}, {one.unit}", workload,
                    *(best(build, one, workload) for build in builds)]
                   for one in MEASURES for workload in one.workloads]),
            *(Table(f"{one.title}, {one.unit}",
                    one.note.format(**terms) + medians,
                    header(about, "workload", "MTU"),
                    [[workload, str(mtu), *cells(
                        [of(build, one, workload, mtu) for build in builds],
                        one.form, one.scale)]
                     for workload in one.workloads for mtu in mtus])
              for one in MEASURES)]

    def panels(self):
        return [(f"{one.title}: {one.workloads[0]}",
                 functools.partial(self._draw, one)) for one in MEASURES]

    @staticmethod
    def _draw(one, axes, results, about):
        rows = [{**row, "mtu": mtu_of(row)} for row in results["rows"]
                if row["case"].startswith(f"{one.workloads[0]}, MTU")]
        plot(axes, {"rows": rows}, about, one.quantity, "mtu", one.scale,
             one.form)
        axes.set_xticks(sorted({row["mtu"] for row in rows}))
        axes.set_xlabel("MTU")
        axes.set_ylabel(one.unit)


def mtu_of(row):
    return int(row["case"].split()[-1])


def set_sleep(switch, config):
    switch.vsctl("set", "Open_vSwitch", ".",
                 *(f"other_config:{pair}" for pair in config))
