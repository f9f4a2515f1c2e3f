"""A benchmark of two Open vSwitches, unpatched and patched, side by side.

A Part measures one thing and knows how to show it; a Bench runs parts, with
one build or both, and writes JSON, from which report() makes what people
read: tables, a page, a picture.
"""

import collections
import contextlib
import json
import os
import platform
import re
import shutil
import socket
import statistics
import tempfile
import threading
import time

import jumbo_lab as lab_library
from jumbo_lab import (CPUS, HUGE_EAL, Lab, LabError, NO_HUGE_EAL, Switch,
                       available_memory_mib, run, say, tail)

MB = 1e6                           # as in netdev-dpdk/mempool-show
SPARE_MIB = 1536                   # for guests, the switch's own, the machine
BUILDS = ("unpatched", "patched")
PATCHED = BUILDS[1]
COLORS = dict(zip(BUILDS, ("#b3452c", "#1f5fa8")))
PATCHED_ONLY = "netdev-dpdk/mempool-show"
NOT_GRANTED = "not granted"
BAR_WIDTH = 20
FEW_CPUS = 4                       # with fewer, all are shared
TOOLS = {**lab_library.PACKAGES, "iperf3": "iperf3", "ethtool": "ethtool",
         "ping": "iputils-ping"}


class Skip(Exception):
    """Why a part can't be measured on this machine, in a sentence."""


# The switch.

class PlainSwitch(Switch):
    """A switch with exactly `memory_mib` for DPDK, of that kind of memory.

    The memory doesn't depend on how many hugepages there are, so that the
    numbers of two machines can be compared, and is never less than requested.
    """

    def __init__(self, lab, root, memory_mib, eal, hugepages, other_config,
                 vswitchd_args):
        self._exact = memory_mib, hugepages, (
            f"{HUGE_EAL if hugepages else NO_HUGE_EAL} -m {memory_mib} {eal}")
        super().__init__(lab, root, other_config=other_config,
                         vswitchd_args=vswitchd_args)

    def _start(self, other_config):
        self.memory_mib, self.hugepages, self.eal = self._exact
        super()._start(other_config)


def plural(count, what):
    return f"{count:,} {what}" + ("s" if count != 1 else "")


class Unixctl:
    """A lasting connection to ovs-vswitchd; ovs-appctl is far slower."""

    def __init__(self, switch, seconds=120):
        self._log = switch.log
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(seconds)
        self._socket.connect(
            f"{switch.folder}/ovs-vswitchd.{switch.vswitchd.pid}.ctl")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def call(self, command, *args):
        """Returns what the switch answers; an error is a LabError."""
        try:
            self._socket.sendall(json.dumps(
                {"id": 0, "method": command, "params": args}).encode(),
                socket.MSG_NOSIGNAL)   # SIGPIPE would end the program
            reply = self._receive()
        except OSError as error:
            raise LabError(f"{command}: {error}."
                           + tail(self._log))
        if reply.get("error"):
            raise LabError(f"{command}: {reply['error']}")
        return reply["result"]

    def _receive(self):
        """Returns the next JSON text; there is only ever one on the way."""
        data = b""
        while True:
            more = self._socket.recv(1 << 16)
            if not more:
                raise OSError("the switch has closed the connection")
            data += more
            with contextlib.suppress(ValueError):
                return json.loads(data)


class Heartbeat:
    """Asks the switch's main thread for a sign of life, again and again.

    longest: the longest time between two answers, in seconds; valid after the
    "with".  An answer takes some 0.1 ms if nothing else goes on.
    """

    def __init__(self, switch):
        self._unixctl = Unixctl(switch)
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._gaps = []
        self._error = None

    def _beat(self):
        try:
            self._unixctl.call("version")
            last = time.monotonic()
            self._ready.set()
            while not self._stop.is_set():
                self._unixctl.call("version")
                now = time.monotonic()
                self._gaps.append(now - last)
                last = now
        except LabError as error:
            self._error = error
        finally:
            self._ready.set()

    def __enter__(self):
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind, *_):
        self._stop.set()
        if kind is None:               # else it may wait for a dead switch
            self._thread.join()
        self._unixctl.__exit__()
        if kind is None and self._error:
            raise self._error

    @property
    def longest(self):
        if not self._gaps:
            raise LabError("The main thread has never answered.")
        return max(self._gaps)


# What is measured.

class Part:
    """One thing that is measured, and how it is shown.

    key: its name in the results, which are a dict, for JSON, whose "rows" are
    dicts of what was measured; None: no result.
    """

    key = title = None

    def plan(self, bench):
        """Returns (number of lines of progress, seconds that each takes)."""
        raise NotImplementedError

    def measure(self, bench):
        """Returns the results; raises Skip or LabError."""
        raise NotImplementedError

    def tables(self, results, about):
        """Returns a list of Table."""
        raise NotImplementedError

    draw = None                    # draw(axes, results, about), if it has one

    def panels(self):
        """Returns [(title, a function like draw)] of its picture."""
        return [(self.title, self.draw)] if self.draw else []


class Bench:
    """Runs parts, in order, and keeps what they found in `results`.

    roots: {build: its installed tree}, of one build or both.  image: for
    guests in QEMU, or None.  skipped, failed: {part's key: why}; such a part
    has no results at all.
    """

    def __init__(self, parts, roots, image, runs, quick):
        self.parts = parts
        self.roots = roots
        self.builds = tuple(roots)
        self.image = image
        self.runs = runs
        self.quick = quick
        self.results = {}
        self.skipped = {}
        self.failed = {}

    def run(self):
        """Runs the parts; an error in one doesn't stop the next."""
        plans = [part.plan(self) for part in self.parts]
        self._done = self._taken = 0.0     # seconds: expected, real
        for number, part in enumerate(self.parts):
            self._left, self._step = plans[number]
            self._later = sum(steps * seconds
                              for steps, seconds in plans[number + 1:])
            self._last = time.monotonic()
            say(f"\n{part.title}")
            try:
                self.results[part.key] = part.measure(self)
            except Skip as why:
                self.skipped[part.key] = str(why)
                say(f"Skipped: {why}.")
            except LabError as error:
                self.failed[part.key] = str(error).splitlines()[0]
                say(f"Failed: {error}")

    def progress(self, text):
        """Prints what a step has found, and how long the rest will take.

        The rest is taken to deviate from its expected time by the same factor
        as the steps that are done.
        """
        now = time.monotonic()
        self._taken += now - self._last
        self._last = now
        self._left = max(self._left - 1, 0)
        self._done += self._step
        rest = self._left * self._step + self._later
        share = self._done / (self._done + rest)
        minutes, seconds = divmod(round(rest * self._taken / self._done), 60)
        say(f"  [{'#' * round(share * BAR_WIDTH):<{BAR_WIDTH}}] {share:>4.0%} "
            f"{minutes:>3}:{seconds:02} left  {text}")

    @contextlib.contextmanager
    def switch(self, build, memory_mib, eal="", hugepages=False,
               other_config=(), vswitchd_args=()):
        """A lab and a running switch with bridge br0, for the "with"."""
        needed, there = SPARE_MIB, available_memory_mib()
        if not hugepages:
            needed += memory_mib
        if there < needed:
            raise Skip(f"the {build} switch needs {needed:,} MiB of memory "
                       f"here, and {there:,} MiB are available")
        root = self.roots[build]
        with Lab(echo=say) as lab:
            switch = PlainSwitch(lab, root, memory_mib, eal, hugepages,
                                 other_config, vswitchd_args)
            commands = switch.appctl("list-commands").stdout
            if (PATCHED_ONLY in commands) != (build == PATCHED):
                raise LabError(f"{root} is not the {build} switch: "
                               f"{PATCHED_ONLY} tells them apart.")
            switch.add_bridge("br0")
            try:
                yield lab, switch
            except LabError:
                switch.vswitchd.check()    # its death would explain the rest
                raise
            switch.vswitchd.check()

    def order(self, number, items=None):
        """Returns the builds, or other items, in the order for that run: every
        other one begins with the last.
        """
        return (items or self.builds)[::1 if number % 2 else -1]

    def pairs(self):
        """Yields (run, build): first the one build, then the other.

        The two of a pair follow each other, so that other load on the machine
        affects both.
        """
        for number in range(1, self.runs + 1):
            for build in self.order(number):
                yield number, build


def refused(build, mtu):
    """Raises LabError unless that build may refuse that MTU; returns None."""
    if build == PATCHED:
        raise LabError(f"The patched switch does not grant MTU {mtu}.")


def need(*tools, scapy=False):
    """Raises Skip unless these of TOOLS are installed."""
    lacks = [f"{tool} is missing (Debian: {TOOLS[tool]})" for tool in tools
             if not shutil.which(tool)]
    if scapy and lab_library.Ether is None:
        lacks.append("scapy is missing (Debian: python3-scapy)")
    if lacks:
        raise Skip(", ".join(lacks))


# What it was measured on.

def machine():
    """Returns what the numbers depend on, for the reader."""
    with open("/proc/cpuinfo") as info:
        model = re.search(r"^model name\s*: (.*)$", info.read(), re.M)
    with open("/proc/meminfo") as info:
        total = int(re.search(r"MemTotal: +(\d+)", info.read())[1])
    system = {}
    with contextlib.suppress(OSError), open("/etc/os-release") as release:
        system = dict(line.split("=", 1) for line in
                      map(str.strip, release) if "=" in line)
    return {"cpu": model[1] if model else platform.machine(),
            "cpus": len(CPUS), "memory_mib": total // 1024,
            "kernel": platform.release(),
            "system": system.get("PRETTY_NAME", "").strip('"')}


def versions(root):
    """Returns the versions of Open vSwitch and of the DPDK in it."""
    text = run([f"{root}/sbin/ovs-vswitchd", "--version"]).stdout
    ovs = re.search(r"\(Open vSwitch\) (\S+)", text)
    dpdk = re.search(r"DPDK (\S+)", text)
    if not ovs or not dpdk:
        raise LabError(f"{root} is not an Open vSwitch with DPDK: {text}")
    return {"ovs": ovs[1], "dpdk": dpdk[1]}


# The report.  Everything in it is made from the JSON file.

class Table(collections.namedtuple("Table", "title note header rows")):
    """A part's results for a reader; a row may end early."""

    @property
    def lines(self):
        """Header and rows, of equal length."""
        return [[*row, *[""] * (len(self.header) - len(row))]
                for row in (self.header, *self.rows)]


class Spread:
    """The median and the spread of values."""

    def __init__(self, values):
        self.median = statistics.median(values)
        self.low, self.high = min(values), max(values)

    def show(self, form, scale=1):
        shown = form.format(self.median * scale)
        if self.low == self.high:
            return shown
        return (shown + " (" + form.format(self.low * scale) + " to "
                + form.format(self.high * scale) + ")")


def values(rows, build, quantity, **case):
    """Returns the values of a quantity in the rows of a build and a case, by
    run; [] if one of them is missing."""
    found = [row[quantity] for row in sorted(rows, key=lambda r: r["run"])
             if row["build"] == build and case.items() <= row.items()]
    return [] if None in found else found


def cells(per_build, form, scale=1, ratio="{:.2f}"):
    """Returns the cells for [values by run] of each build, and of their ratio.

    The ratio is the second build's to the first's, in each run.  ratio: its
    format, or None for a table without.
    """
    shown = [Spread(each).show(form, scale) if each else NOT_GRANTED
             for each in per_build]
    if len(per_build) == 2 and ratio:
        old, new = per_build
        shown.append(Spread([b / a for a, b in zip(old, new)]).show(ratio)
                     if old and new else "")
    return shown


def header(about, *first, ratio="ratio"):
    """Returns the header of a table with a column for each build."""
    return [*first, *about["builds"],
            *([ratio] if ratio and len(about["builds"]) == 2 else [])]


def how_many_runs(about):
    return plural(about["runs"], "run")


def plot(axes, results, about, quantity, x, scale=1, label="{:,.1f}",
         log=False):
    """Plots the medians of a quantity against a case, with their spread.

    Linear from zero, unless log: on a logarithmic scale the differences look
    small.
    """
    spreads = {}                       # {(case, build): Spread}
    for case in dict.fromkeys(row[x] for row in results["rows"]):
        for build in about["builds"]:
            found = values(results["rows"], build, quantity, **{x: case})
            if found:
                spreads[case, build] = Spread([v * scale for v in found])
    top = max(one.high for one in spreads.values())
    for build in about["builds"]:
        points = {case: spread for (case, of), spread in spreads.items()
                  if of == build}
        axes.errorbar(
            list(points), [spread.median for spread in points.values()], yerr=(
                [spread.median - spread.low for spread in points.values()],
                [spread.high - spread.median for spread in points.values()]),
            fmt="o-", color=COLORS[build], linewidth=2, capsize=3,
            label=build)
        for case, spread in points.items():
            above = spread.median >= max(
                one.median for (at, _), one in spreads.items() if at == case
            ) or (not log and spread.median < top / 10)
            axes.annotate(label.format(spread.median), (case, spread.median),
                          color=COLORS[build], textcoords="offset points",
                          ha="center", fontsize=8,
                          xytext=(0, 8 if above else -14))
    if log:
        axes.set_yscale("log")
        axes.set_ylim(min(one.low for one in spreads.values()) / 2, 2 * top)
    else:
        axes.set_ylim(0, 1.15 * top)
    axes.margins(x=0.07)


def log_ticks(axes, results, x, base):
    """Makes the x axis logarithmic, with a tick for each case."""
    cases = sorted({row[x] for row in results["rows"]})
    axes.set_xscale("log", base=base)
    axes.set_xticks(cases, (f"{case:,}" if case % 1000 or not case
                            else f"{case // 1000:,}k" for case in cases),
                    fontsize=8)
    axes.minorticks_off()


def draw(path, parts, results):
    """Draws the panels of all parts, as PATH.svg.

    Returns why not, or None.
    """
    drawn = [(part, *panel) for part in parts if part.key in results
             for panel in part.panels()]
    if not drawn:
        return "no part that has a picture has results"
    os.environ.setdefault("MPLCONFIGDIR", tempfile.gettempdir())
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return "matplotlib is missing (Debian: python3-matplotlib)"
    matplotlib.rcParams.update({"svg.hashsalt": "jumbo", "font.size": 10})
    lines = -(-len(drawn) // 2)
    figure, panels = pyplot.subplots(lines, min(len(drawn), 2), squeeze=False,
                                     figsize=(6.4 * min(len(drawn), 2),
                                              4.2 * lines))
    for (part, title, panel), axes in zip(drawn, panels.flat):
        panel(axes, results[part.key], results["about"])
        axes.set_title(title)
        axes.grid(axis="y", color="#dddddd")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="best")
    for axes in panels.flat[len(drawn):]:
        axes.set_visible(False)
    figure.tight_layout()
    figure.savefig(f"{path}.svg", metadata={"Date": None})
    return None


def show_table(table):
    """Returns a table as text for the screen."""
    widths = [max(map(len, column)) for column in zip(*table.lines)]
    return "\n".join([table.title, *(
        "  " + line[0].ljust(widths[0]) + "".join(
            cell.rjust(width + 2) for cell, width in
            zip(line[1:], widths[1:])) for line in table.lines)])


def rst_table(table):
    """Returns a table, with its title and note, as reStructuredText."""
    lines = [table.title, "-" * len(table.title), "",
             *wrap(table.note), "", ".. list-table::", "   :header-rows: 1",
             ""]
    for row in table.lines:
        for mark, cell in zip("*" + " " * len(row), row):
            lines.append(f"   {mark} - {cell}".rstrip())
    return "\n".join(lines)


def wrap(text, width=79):
    """Returns the lines of a paragraph, two spaces between sentences kept."""
    lines = [""]
    for word in text.replace(".  ", ".\0 ").split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return [line.replace("\0", " ").rstrip() for line in lines]


def about_lines(about):
    """Returns [(term, text)] that show where the numbers come from."""
    where = about["machine"]
    return [
        ("Machine", f"{where['cpu']}, {where['cpus']} CPUs, "
         f"{where['memory_mib']:,} MiB"),
        ("System", f"{where['system']}, kernel {where['kernel']}"),
        *((build.capitalize(), "OVS {ovs} with DPDK {dpdk}".format(
            **about["versions"][build])) for build in about["builds"]),
        ("Command", about["command"]),
        ("Date", f"{about['date']}, {about['seconds']:.0f} s, load average "
         f"{about['load'][0]:.1f} before, {about['load'][1]:.1f} after"
         + (", with --quick: one short run, only to try it out"
            if about["quick"] else ""))]


def limits(about):
    """Returns sentences: what can't be concluded on this machine."""
    cpus = about["machine"]["cpus"]
    told = []
    if cpus < FEW_CPUS:
        told.append(
            f"This machine has {plural(cpus, 'CPU')}.  The switch's PMD "
            "thread has one of them; senders, receivers, guests, kernel and "
            "the switch's other threads share what is left.  Rates say "
            "little about other machines; the ratio of two builds, measured "
            "in turn, says more.")
    told.append(
        "No NIC is used: physical-type ports are net_null, which costs "
        "nothing, or net_pcap on a veth, which costs system calls for each "
        "frame.  So large frames gain more here than with a NIC.")
    if len(about["builds"]) < 2:
        told.append("Only one build was measured: there is nothing to "
                    "compare it with.")
    return told


def write_rst(path, title, parts, results, drawn):
    """Writes the page; drawn: whether it has a picture."""
    about = results["about"]
    lines = [".. Made by tests/bench from its JSON: do not edit.",
             "", "=" * len(title), title, "=" * len(title), "",
             *(f":{term}: ``{text}``" if term == "Command" else
               f":{term}: {text}" for term, text in about_lines(about)), ""]
    for sentence in limits(about):
        lines += wrap(sentence) + [""]
    for word in ("skipped", "failed"):
        for key, why in results[word].items():
            lines += wrap(f"The part ``{key}`` was {word}: {why}"
                          + ("" if why.endswith(".") else ".")) + [""]
    if drawn:
        lines += [f".. image:: {os.path.basename(path)[:-4]}.svg",
                  "   :alt: What follows, drawn", ""]
    for table in tables(parts, results):
        lines += [rst_table(table), ""]
    with open(path, "w") as file:
        file.write("\n".join(lines).rstrip() + "\n")


def tables(parts, results):
    return [table for part in parts if part.key in results
            for table in part.tables(results[part.key], results["about"])]


def report(path, parts):
    """Makes PATH.rst and PATH.svg from PATH.json, and shows the summary."""
    with open(f"{path}.json") as file:
        results = json.load(file)
    about = results["about"]
    with contextlib.suppress(FileNotFoundError):
        os.remove(f"{path}.svg")       # that of another run
    why_not = draw(path, parts, results)
    title = "What was measured with OVS " + next(
        reversed(about["versions"].values()))["ovs"]
    write_rst(f"{path}.rst", title, parts, results, not why_not)
    say()
    for term, text in about_lines(about):
        say(f"{term + ':':<14}{text}")
    for table in tables(parts, results):
        say("\n" + show_table(table))
    say()
    if why_not:
        say(f"Not drawn: {why_not}.")
    say("Results: " + ", ".join(
        f"{path}.{end}" for end in ("json", "rst", *([] if why_not
                                                     else ["svg"]))))
    for word in ("skipped", "failed"):
        for key, why in results[word].items():
            say(f"{word.upper()}: {key}: {why}")
