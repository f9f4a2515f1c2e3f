"""A lab for jumbo frames: a real DPDK switch, guests and hosts on one machine.

Everything lives in network namespaces and in one temporary folder, which
belong to a Lab and go away with it:

    with Lab() as lab:
        switch = Switch(lab, root)             # ovsdb-server, ovs-vswitchd
        guest = Guest(lab, [lab.path("v0"), lab.path("v1")])   # testpmd
        sender = Host(lab, "sender", switch)   # a namespace with eth0, whose
        receiver = Host(lab, "receiver", switch)    # wire ends at the switch
        switch.add_bridge("br0")
        switch.add_wire("br0", "dpdk0", sender)      # type=dpdk, net_pcap
        switch.add_vhost("br0", "vhost0", guest.sockets[0])
        ...
        guest.wait_forwarding()
        got = exchange(sender, receiver, frames, lab.path("far.pcap"))

A "frame" here is what a capture shows: from the Ethernet header to the last
byte of data, without the 4 bytes of FCS that the standard counts.  A wait has
a deadline; what goes wrong is a LabError that ends with the tail of the log.
"""

import argparse
import base64
import contextlib
import ctypes
import fcntl
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

try:
    from scapy.layers.inet import IP, TCP
    from scapy.layers.l2 import Ether
    from scapy.utils import RawPcapReader, wrpcap
except ImportError:                # missing() says so
    Ether = IP = wrpcap = None

ETHER_LEN = 14                     # header; a VLAN tag is not counted
FCS_LEN = 4
UDP_HEADERS_LEN = 20 + 8           # of IPv4 and UDP, or ICMP
VXLAN_LEN = 50                     # what VXLAN over IPv4 adds to a packet
NUMBERED = b"\x88\xb5"             # EtherType: the first experimental one
NUMBERED_FILTER = "ether proto 0x88b5"
WIRE_MTU = 16000                   # kernel MTU of the veths: never the limit
MAX_ETHERNET_PORTS = 32            # RTE_MAX_ETHPORTS of Debian's DPDK
# An idle PMD thread may sleep up to 100 us: others get the CPU, and its busy
# time is its own; without sleep, it is preempted while it works.  The second
# name is that of 3.1.
SLEEP = ("pmd-sleep-max=100", "pmd-maxsleep=100")
CPUS = sorted(os.sched_getaffinity(0))
PMD_CPU = CPUS[1 % len(CPUS)]      # the switch polls here,
GUEST_CPU = CPUS[2 % len(CPUS)]    # the guest here: the same one if only one

# DPDK 22.11 refuses --in-memory with --no-huge, and ovs-vswitchd adds it by
# itself unless there is --legacy-mem.
HUGE_EAL = "--no-pci --no-telemetry --in-memory"
NO_HUGE_EAL = "--no-pci --no-telemetry --no-huge --legacy-mem --no-shconf"

QEMU = "qemu-system-x86_64"
GUEST_IS_UP = "guest is up"
KVM_BOOT_SECONDS = 15

TESTPMD = "dpdk-testpmd"
PACKAGES = {"ip": "iproute2", "tcpdump": "tcpdump", TESTPMD: "dpdk-dev",
            "ping": "iputils-ping"}
PROGRAMS = ("bin/ovs-vsctl", "bin/ovs-appctl", "bin/ovs-ofctl",
            "bin/ovsdb-tool", "sbin/ovsdb-server", "sbin/ovs-vswitchd",
            "share/openvswitch/vswitch.ovsschema")

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                  signal.SIGPIPE)

MODULE = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                      os.pardir, "netdev-dpdk-jumbo")

_libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1


class LabError(Exception):
    """What went wrong, in a sentence, with the tail of the log, if any."""


# What the lab needs.

def missing(root, tools=("ip", "tcpdump", TESTPMD), scapy=True):
    """Returns a sentence for each thing that the lab lacks.

    tools, scapy: what is needed of PACKAGES, and to read captures.
    """
    lacks = []
    if os.geteuid():
        lacks.append("Only root can make network namespaces: run as root.")
    if scapy and Ether is None:
        lacks.append("Python's scapy is missing: install python3-scapy.")
    lacks += [f"{tool} is missing: install {PACKAGES[tool]}."
              for tool in tools if not shutil.which(tool)]
    absent = [p for p in PROGRAMS if not os.path.exists(f"{root}/{p}")]
    if absent:
        lacks.append(f"{root} is not an installed Open vSwitch: it has no "
                     + ", ".join(absent) + ".")
    if not os.path.exists("/dev/net/tun"):
        lacks.append("/dev/net/tun is missing: load the kernel module tun.")
    if len(tempfile.gettempdir()) > 45:            # sun_path has 108 bytes
        lacks.append(f"{tempfile.gettempdir()} is too long for the names of "
                     "unix sockets: set TMPDIR to a shorter one.")
    return lacks


def missing_for_vms(image):
    """Returns a sentence for each thing that guests in QEMU lack."""
    lacks = []
    if not shutil.which(QEMU):
        lacks.append(f"{QEMU} is missing: install qemu-system-x86.")
    if not os.path.exists(f"{image}/initrd.gz"):
        lacks.append(f"{image} has no guest: run make guests.")
    return lacks


def missing_for_sharing(image):
    """Returns a sentence for each thing that guests in QEMU with this
    machine's file system lack."""
    lacks = missing_for_vms(image)
    if not lacks and "virtio-9p-pci" not in emulated_devices():
        lacks.append(f"This {QEMU} can't share a file system: it has no 9p.")
    return lacks


def emulated_devices():
    """Returns the names of the devices that QEMU emulates."""
    shown = run([QEMU, "-device", "help"]).stdout
    return re.findall(r'^name "([^"]*)"', shown, re.M)


def available_memory_mib():
    """Returns the available memory of the machine, in MiB."""
    with open("/proc/meminfo") as meminfo:
        return int(re.search(r"MemAvailable: +(\d+)",
                             meminfo.read())[1]) // 1024


def free_hugepages_mib():
    """Returns the total of free hugepages of all sizes, in MiB."""
    total = 0
    folder = "/sys/kernel/mm/hugepages"
    for size in os.listdir(folder) if os.path.isdir(folder) else ():
        with open(f"{folder}/{size}/free_hugepages") as count:
            total += int(re.search(r"\d+", size)[0]) * int(count.read())
    return total // 1024


def say(line=""):
    """Prints a line at once, also into a pipe."""
    print(line, flush=True)


# Waiting, and the end.

def wait_for(what, condition, seconds, log=None):
    """Returns the first true value of condition(), which it calls often.

    After `seconds` raises LabError, naming `what` and quoting `log`.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise LabError(f"Waited {seconds} s in vain for {what}."
                           + tail(log))
        time.sleep(0.02)


def comes(condition, seconds):
    """Returns whether condition() becomes true within that time."""
    with contextlib.suppress(LabError):
        return bool(wait_for("it", condition, seconds))
    return False


def tail(log, lines=15):
    """Returns the end of the file `log`, under a line with its name."""
    if not log or not os.path.exists(log):
        return ""
    with open(log, errors="replace") as text:
        return f"\n--- end of {log}:\n" + "".join(text.readlines()[-lines:])


def exit_on_signals():
    """Turns the first of ENDING_SIGNALS into SystemExit.

    It unwinds every "with"; more of these signals can't disturb that.
    """
    def leave(number, _):
        _ignore_signals()
        raise SystemExit(128 + number)

    for number in ENDING_SIGNALS:
        signal.signal(number, leave)


def _ignore_signals():
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


class Lab:
    """The owner of everything: namespaces, processes, a folder.

    name: unique on the machine; the namespaces' names begin with it.
    folder: logs, sockets, captures.  It is removed at the end, unless `keep`
        is set or an exception other than an exit ended the lab.
    echo: called with each line of the transcript.
    """

    def __init__(self, echo=lambda line: None):
        self.echo = echo
        self.keep = False
        self.processes = []
        self._stack = contextlib.ExitStack()
        self.folder = tempfile.mkdtemp(prefix=f"jumbo-{os.getpid()}-")
        self.name = os.path.basename(self.folder)
        self.env = dict(os.environ, RUNTIME_DIRECTORY=self.folder)  # for EAL

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        handlers = {n: signal.getsignal(n) for n in ENDING_SIGNALS}
        _ignore_signals()
        try:
            self._stack.close()
        finally:
            if self.keep or kind and issubclass(kind, Exception):
                self.echo(f"Logs and captures are kept in {self.folder}")
            else:
                shutil.rmtree(self.folder, ignore_errors=True)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def path(self, name):
        """Returns the path of a file in the lab's folder."""
        return os.path.join(self.folder, name)

    def at_end(self, function, *args):
        """Calls function(*args) at the end, in reverse order."""
        self._stack.callback(function, *args)

    def leftovers(self):
        """Returns the names of namespaces and programs that are there."""
        names = os.listdir("/run/netns") if os.path.isdir("/run/netns") else ()
        return ([name for name in names if name.startswith(self.name)]
                + [each.name for each in self.processes if each.running()])

    def namespace(self, name):
        """Makes a network namespace without IPv6; returns its full name."""
        full = f"{self.name}-{name}"
        self.at_end(lambda: run(["ip", "netns", "del", full], check=False))
        run(["ip", "netns", "add", full])
        run(["ip", "-n", full, "link", "set", "lo", "up"])
        with in_namespace(full):       # no router solicitations in captures
            for which in ("all", "default"):
                file = f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6"
                if os.path.exists(file):
                    with open(file, "w") as switch:
                        switch.write("1")
        return full


@contextlib.contextmanager
def in_namespace(name):
    """Puts the calling thread into that network namespace for the "with".

    A socket stays in the namespace in which it was made.
    """
    with open("/proc/thread-self/ns/net") as here, \
            open(f"/run/netns/{name}") as there:
        _setns(there)
        try:
            yield
        finally:
            _setns(here)


def _setns(file):
    if _libc.setns(file.fileno(), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


# Processes.

def run(argv, seconds=60, env=None, check=True):
    """Runs a command to its end; returns its subprocess.CompletedProcess.

    Standard error is kept apart.  A status other than 0 is a LabError,
    unless `check` is false.
    """
    try:
        done = subprocess.run(argv, env=env, timeout=seconds, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        raise LabError(f"{shlex.join(argv)}: still running after {seconds} s.")
    if check and done.returncode:
        raise LabError(f"{shlex.join(argv)}: status {done.returncode}: "
                       f"{(done.stderr or done.stdout).strip()}")
    return done


class Process:
    """A program that runs in a namespace until the lab ends.

    Its output goes to the file `log`.  It is in a session of its own, so that
    Ctrl-C reaches only this process, and dies with it however that ends.
    """

    def __init__(self, lab, namespace, argv, env=None, log=None):
        self.name = os.path.basename(argv[0])
        self.log = log or lab.path(f"{self.name}.out")
        with open(self.log, "ab") as output:
            self._popen = subprocess.Popen(
                ["ip", "netns", "exec", namespace, *argv],
                env=env or lab.env, stdin=subprocess.PIPE, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=lambda: _libc.prctl(PR_SET_PDEATHSIG,
                                               signal.SIGKILL))
        self.pid = self._popen.pid
        lab.processes.append(self)
        lab.at_end(self.stop)

    def running(self):
        return self._popen.poll() is None

    def check(self):
        """Raises LabError if the program has ended; returns True."""
        if not self.running():
            raise LabError(f"{self.name} ended with status "
                           f"{self._popen.returncode}." + tail(self.log))
        return True

    def printed(self):
        """Returns all that the program has printed so far."""
        with open(self.log, errors="replace") as text:
            return text.read()

    def wait_printed(self, text, seconds):
        """Waits until the program has printed `text`."""
        wait_for(f"'{text}' from {self.name}",
                 lambda: text in self.printed() or not self.check(),
                 seconds, self.log)

    def write(self, text):
        """Writes to the program's standard input."""
        self._popen.stdin.write(text.encode())
        self._popen.stdin.flush()

    def kill(self):
        """Ends the program by force."""
        self._popen.kill()
        self._popen.wait()

    def stop(self, seconds=3):
        """Ends the program, by force if it takes longer than that."""
        if self.running():
            self._popen.terminate()
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        self._popen.stdin.close()


# The switch.

class Switch:
    """An Open vSwitch with DPDK, from the installed tree `root`.

    It runs in the namespace `namespace`; its database, sockets and logs are
    in the lab's folder.  memory_mib: what EAL may take, of hugepages if
    enough of them are free, otherwise of ordinary memory.  (Without this
    series' pools, the switch takes as much as it gets, up to 2.7 GB for a
    port, and blocks for seconds while it writes to all of it.)
    eal: more EAL arguments.  other_config: more keys for Open_vSwitch.
    vswitchd_args: more arguments of ovs-vswitchd.
    """

    pmd_cpu = PMD_CPU
    run_folder = None              # of the sockets, if different
    vswitchd_args = ()

    def __init__(self, lab, root, name="switch", memory_mib=1024, eal="",
                 other_config=(), vswitchd_args=()):
        self._settle(lab, root, name)
        self.vswitchd_args = vswitchd_args
        self.namespace = lab.namespace(name)
        self.env = dict(lab.env, **self.settings)
        self.hugepages = free_hugepages_mib() >= memory_mib
        self.memory_mib = min(memory_mib, available_memory_mib() // 2)
        self.eal = (HUGE_EAL if self.hugepages else
                    f"{NO_HUGE_EAL} -m {self.memory_mib}") + f" {eal}".rstrip()
        self._start(other_config)

    def _settle(self, lab, root, name):
        """Makes its folder and `settings`, its environment variables."""
        self.lab = lab
        self.root = os.path.abspath(root)
        self.folder = lab.path(name)
        self.run_folder = self.run_folder or self.folder
        self.log = f"{self.folder}/ovs-vswitchd.log"
        self.settings = dict(PATH=f"{self.root}/bin:{self.root}/sbin:"
                             + os.environ["PATH"],
                             OVS_PKGDATADIR=f"{self.root}/share/openvswitch")
        for place in ("LOG", "DB", "SYSCONF"):
            self.settings[f"OVS_{place}DIR"] = self.folder
        self.settings["OVS_RUNDIR"] = self.run_folder
        os.mkdir(self.folder)

    def _start(self, other_config):
        database = f"{self.folder}/conf.db"
        run([f"{self.root}/bin/ovsdb-tool", "create", database,
             f"{self.root}/share/openvswitch/vswitch.ovsschema"])
        self.ovsdb = self._daemon("ovsdb-server", database,
                                  f"--remote=punix:{self.run_folder}/db.sock")
        wait_for("ovsdb-server", lambda: self.ovsdb.check() and self._exists(
            f"{self.run_folder}/db.sock"), 10, self.ovsdb.log)
        if self.eal:
            other_config = (
                "dpdk-init=true", f'dpdk-extra="{self.eal}"',
                f"pmd-cpu-mask={hex(1 << self.pmd_cpu)}", *other_config)
        self.vsctl("--no-wait", "init", "--", "set", "Open_vSwitch", ".",
                   "other_config={}",
                   *(f"other_config:{pair}" for pair in other_config))
        self.start_vswitchd()

    def start_vswitchd(self):
        """Starts ovs-vswitchd; waits for DPDK and the configuration."""
        self.vswitchd = self._daemon("ovs-vswitchd", *self.vswitchd_args,
                                     f"unix:{self.run_folder}/db.sock")
        if self.eal:
            wait_for("DPDK in ovs-vswitchd",
                     lambda: self.vswitchd.check() and self.get(
                         "Open_vSwitch", ".", "dpdk_initialized") == "true",
                     60, self.log)
        self.vsctl("set", "Open_vSwitch", ".",
                   f"external_ids:started={self.vswitchd.pid}")

    def _daemon(self, program, *args):
        return Process(self.lab, self.namespace,
                       [f"{self.root}/sbin/{program}", *args, "--pidfile",
                        "-vconsole:warn",
                        f"--log-file={self.folder}/{program}.log"],
                       self.env, f"{self.folder}/{program}.out")

    @staticmethod
    def _exists(path):
        return os.path.exists(path)

    def kill(self):
        """Kills ovs-vswitchd, without a chance to clean up."""
        self.vswitchd.kill()
        self.vsctl("--no-wait", "clear", "Open_vSwitch", ".",
                   "dpdk_initialized", check=False)

    # Its tools.  Each returns a subprocess.CompletedProcess.

    def tool(self, *argv, echo=False, check=True, seconds=60):
        """Runs one of Open vSwitch's programs against this switch.

        echo: the command and what it prints go into the transcript.
        """
        if echo:
            self.lab.echo("$ " + shlex.join(argv))
        done = run(["ip", "netns", "exec", self.namespace, *argv],
                   seconds, self.env, check=False)
        if echo:
            for line in (done.stdout + done.stderr).splitlines():
                self.lab.echo(line)
        if check and done.returncode:
            raise LabError(f"{shlex.join(argv)}: status {done.returncode}: "
                           + done.stderr.strip() + tail(self.log))
        return done

    def vsctl(self, *args, **how):
        return self.tool("ovs-vsctl", *args, **how)

    def appctl(self, *args, **how):
        return self.tool("ovs-appctl", *args, **how)

    def ofctl(self, *args, **how):
        return self.tool("ovs-ofctl", *args, **how)

    def get(self, table, record, column):
        """Returns a column's (or column:key's) value, without quotes.

        An empty column is "", and so is one that this switch doesn't have.
        """
        done = self.vsctl("--timeout=10", "--if-exists", "get", table, record,
                          column, check=False)
        value = done.stdout.strip()
        if value.startswith('"'):
            return json.loads(value)
        return "" if value == "[]" else value

    def statistic(self, port, key):
        """Returns a statistic of a port, 0 if there is none yet."""
        return int(self.get("Interface", port, f"statistics:{key}") or 0)

    def end(self):
        """Stops ovs-vswitchd regularly.  Returns what its sanitizers reported,
        and all that it printed."""
        self.appctl("exit", "--cleanup")
        wait_for("ovs-vswitchd to end", lambda: not self.vswitchd.running(),
                 60)
        with open(f"{self.folder}/ovs-vswitchd.out",
                  errors="replace") as file:
            output = file.read()
        return re.findall(r"^.*(?:ERROR: \w+Sanitizer|runtime error:).*$",
                          output, re.M) + races(output), output

    def wait(self, record, *conditions, table="Interface", seconds=20, **how):
        """Waits with ovs-vsctl until a record meets the conditions.

        Returns whether it did; if not, that is a LabError unless `check` is
        false.
        """
        return not self.vsctl(f"--timeout={seconds}", "wait-until", table,
                              record, *conditions, seconds=seconds + 5,
                              **how).returncode

    def mtus(self):
        """Returns {port: mtu} of the ports of which dpctl/show reports it."""
        shown = self.appctl("dpctl/show").stdout
        return {port: int(mtu) for port, mtu in re.findall(
            r"^ +port \d+: (\S+) \(.*\bmtu=(\d+)", shown, re.M)}

    def appctl_json(self, *args):
        """Returns the reply to a command, from JSON; None if it failed."""
        done = self.appctl("--format=json", *args, check=False)
        if done.returncode:             # before Open vSwitch 3.4
            done = self.appctl(*args, "format=json", check=False)
        return None if done.returncode else json.loads(done.stdout)

    def mempools(self):
        """Returns the mempools that mempool-show reports; None if there is no
        such command, as unpatched."""
        reply = self.appctl_json("netdev-dpdk/mempool-show")
        return reply and reply["pools"]

    @staticmethod
    def sent_packets(shown, port):
        """Returns the packets that a port has sent, from `dpctl/show -s`."""
        # A port without statistics ends without a new line.
        found = re.search(rf" port \d+: {port} .*?TX packets:(\d+)", shown,
                          re.S)
        if not found:
            raise LabError(f"dpctl/show tells no counters of {port}.")
        return int(found[1])

    # Its ports.

    def add_bridge(self, bridge, **how):
        """Adds a bridge of the userspace datapath, without any flow."""
        self.vsctl("add-br", bridge, "--", "set", "Bridge", bridge,
                   "datapath_type=netdev", "fail_mode=secure", **how)

    def add_port(self, bridge, port, *settings, **how):
        """Adds a port; raises LabError if the switch reports an error."""
        self.vsctl("add-port", bridge, port, "--", "set", "Interface", port,
                   *settings, **how)       # before 4.0 its status is always 0
        error = self.get("Interface", port, "error")
        if error:
            raise LabError(f"Port {port}: {error}." + tail(self.log))

    def add_wire(self, bridge, port, host, *settings, **how):
        """Adds a type=dpdk port at the end of a host's wire."""
        self.add_port(bridge, port, "type=dpdk", "options:dpdk-devargs="
                      f"net_pcap_{port},iface={host.wire}", *settings, **how)

    def add_null(self, number, mtu, devargs="", bridge="br0", **how):
        """Adds the type=dpdk port p<number>, a net_null device."""
        self.vsctl("add-port", bridge, f"p{number}", "--", "set", "Interface",
                   f"p{number}", "type=dpdk", f"mtu_request={mtu}",
                   f"options:dpdk-devargs=net_null{number}{devargs}", **how)

    def add_vhost(self, bridge, port, path, *settings, **how):
        """Adds a vhost-user port, the client of the guest's socket."""
        self.add_port(bridge, port, "type=dpdkvhostuserclient",
                      f"options:vhost-server-path={path}", *settings, **how)

    def add_tunnel(self, bridge, tunnel, kind, underlay, local, remote):
        """Adds to a bridge a tunnel whose packets come from another bridge, or
        the same, which gets the local address; the remote one needs no ARP."""
        self.add_port(bridge, tunnel, f"type={kind}",
                      f"options:remote_ip={remote}")
        add_address(self.namespace, f"{local}/24", underlay)
        run(["ip", "-n", self.namespace, "link", "set", underlay, "up"])
        self.appctl("tnl/neigh/set", underlay, remote, "02:00:00:00:00:02")

    def connect(self, bridge, *pairs, **how):
        """Adds a flow in each direction between the ports of each pair."""
        for one, other in (*pairs, *(pair[::-1] for pair in pairs)):
            self.ofctl("add-flow", bridge,
                       f"in_port={one},actions=output:{other}", **how)


def races(output):
    """Returns what ThreadSanitizer reported about the module, and not only
    about Open vSwitch or DPDK: where three functions at most are between the
    access, or the lock, and a file of the module."""
    files = "|".join(map(re.escape, os.listdir(MODULE)))
    found = []
    for report in output.split("WARNING: ThreadSanitizer: ")[1:]:
        where = re.split(r"(?m)^  (?:Location is|Thread T|Mutex \S+ (?:\S+ "
                         r"created|is already))", report)[0]
        if re.search(rf"(?m)^ +#[0-3] .*/lib/(?:{files}):\d", where):
            found.append(re.search("SUMMARY: .*", report)[0])
    return found


class KernelSwitch(Switch):
    """A Switch without DPDK: its ports are devices of the kernel."""

    eal = None

    def __init__(self, lab, root, name="switch"):
        self._settle(lab, root, name)
        self.namespace = lab.namespace(name)
        self.env = dict(lab.env, **self.settings)
        self._start(())


class GuestSwitch(Switch):
    """A switch in a guest that has this machine's file system and the lab's
    folder.  eal: EAL's arguments, or None without DPDK.  pmd_cpu: the guest's
    CPU on which the switch polls.
    """

    run_folder = "/run"            # a shared folder takes no sockets

    def __init__(self, lab, guest, root, name="switch", eal=None,
                 other_config=(), pmd_cpu=1):
        self.guest = guest
        self.pmd_cpu = pmd_cpu
        self._settle(lab, root, name)
        self.eal = eal
        guest.run("export RUNTIME_DIRECTORY=/run " + " ".join(
            f"{name}={shlex.quote(value)}"
            for name, value in self.settings.items()))
        self._start(other_config)

    def stop(self):
        """Ends the switch, so that another one can start in the guest."""
        self.appctl("exit", "--cleanup")
        wait_for("the end of ovs-vswitchd", lambda: not self._exists(
            f"{self.run_folder}/ovs-vswitchd.pid"), 20)
        self.tool("ovs-appctl", "-t", "ovsdb-server", "exit")

    def _daemon(self, program, *args):
        command = shlex.join([program, *args, "--pidfile", "-vconsole:warn",
                              f"--log-file={self.folder}/{program}.log"])
        self.guest.run(f"{{ {command} > {self.folder}/{program}.out 2>&1 & "
                       "}")
        return self.guest

    def _exists(self, path):
        return not self.guest.try_run(f"[ -e {path} ]")[0]

    def tool(self, *argv, echo=False, check=True, seconds=60):
        errors = f"{self.folder}/errors"
        status, text = self.guest.try_run(f"{shlex.join(argv)} 2> {errors}",
                                          seconds)
        with open(errors) as file:
            done = subprocess.CompletedProcess(argv, status, text, file.read())
        if check and status:
            raise LabError(f"{shlex.join(argv)}: status {status}: "
                           + done.stderr.strip() + tail(self.log))
        return done


# Guests and hosts.

class Testpmd(Process):
    """testpmd in a namespace, with devices such as "net_pcap0,iface=eth0".

    It forwards frames between the first and the second, and so on in pairs,
    unchanged.  Its memory is never hugepages.  args: more arguments of
    testpmd, not of EAL.
    """

    def __init__(self, lab, namespace, devices, memory_mib=256, name="testpmd",
                 args=()):
        cpus = ",".join(map(str, CPUS))
        super().__init__(lab, namespace, [
            "stdbuf", "-oL", TESTPMD, *NO_HUGE_EAL.split(), f"-m{memory_mib}",
            f"--lcores=0@({cpus}),1@{GUEST_CPU}",
            *(f"--vdev={device}" for device in devices),
            "--", "--forward-mode=io", "--total-num-mbufs=8192", *args],
            log=lab.path(f"{name}.log"))


class Guest(Testpmd):
    """A guest without a VM: testpmd with a virtio-user port per socket.

    It is the server of the sockets.  A frame for `mtu` fits into one of its
    buffers; with mrg_rxbuf=1, a larger one takes several.  vdev, args: more
    for each device and for testpmd.  Returns at once: the ports come up
    when the switch connects, one after the other.
    """

    def __init__(self, lab, sockets, mtu=9000, memory_mib=256, name="guest",
                 vdev="mrg_rxbuf=1", args=()):
        self.sockets = sockets
        self.mtu = mtu
        frame = mtu + ETHER_LEN + FCS_LEN
        super().__init__(lab, lab.namespace(name), [
            f"net_virtio_user{n},path={path},server=1,{vdev}"
            for n, path in enumerate(sockets)], memory_mib, name,
            [f"--max-pkt-len={frame}", f"--mbuf-size={frame + 256}", *args])

    def wait_forwarding(self, seconds=20):
        """Waits until the guest forwards; the switch must have its ports."""
        self.wait_printed("Press enter to exit", seconds)


class Console(Process):
    """A guest whose console is a shell and goes to `log`."""

    _commands = 0

    def wait_up(self, seconds=60):
        """Waits until the guest has booted."""
        self.wait_printed(GUEST_IS_UP, seconds)

    def run(self, command, seconds=30):
        """Runs a command in the guest; returns what it prints.

        A status other than 0 is a LabError.
        """
        status, text = self.try_run(command, seconds)
        if status:
            raise LabError(f"{command} in the guest: status {status}: "
                           + text.strip())
        return text

    def try_run(self, command, seconds=30):
        """Runs a command in the guest; returns its status and what it prints.
        """
        self._commands += 1
        mark = f"{self._commands}:{os.urandom(4).hex()}"
        begin = len(self.printed())
        self.write(f"{command}; echo \"<$?:{mark}>\"\n")
        end = re.compile(rf"(.*)<(\d+):{mark}>", re.S)
        found = wait_for(f"'{command}' in the guest",
                         lambda: (end.match(self.printed()[begin:])
                                  or not self.check()), seconds, self.log)
        return int(found[2]), found[1].replace("\r", "")

    def read(self, path):
        """Returns what is in a file of the guest."""
        return base64.b64decode(self.run(f"base64 {path}"))

    def capture(self, eth):
        """Has the guest's tcpdump capture TCP on `eth`; returns the file."""
        file = f"/tmp/{eth}-{self._commands}.pcap"
        self.run(f"tcpdump -ni {eth} --immediate-mode -U -w {file} tcp "
                 f"2>{file}.out & until grep -q listening {file}.out; "
                 "do usleep 10000; done")
        return file

    def captured(self, files, frames):
        """Ends captures when they are as long as these frames; returns what
        tcpdump prints for each."""
        size = 24 + sum(16 + len(frame) for frame in frames)
        for file in files:             # the guest may be slow
            self.run(f"for i in $(seq 50); do [ $(stat -c %s {file}) -lt "
                     f"{size} ] || break; usleep 100000; done")
        self.run("killall tcpdump; wait")
        return [self.run(f"tcpdump -nvr {file} 2>/dev/null") for file in files]


class Machine(Console):
    """A machine in QEMU.

    image: the folder that build-aux/guest-image made.  devices: arguments
    that give it some.  boot: more for its kernel's command line.  shares: it
    has this machine's file system, to which it doesn't write, and the lab's
    folder.
    """

    _kvm_works = None              # not known yet

    def __init__(self, lab, image, devices, memory_mib, name, boot="",
                 shares=False):
        self._folder = lab.folder if shares else None
        if shares:
            options = "security_model=none,multidevs=remap"
            devices = [
                *devices, "-virtfs",
                f"local,path=/,mount_tag=root,readonly=on,{options}",
                "-virtfs", f"local,path={lab.folder},mount_tag=lab,{options}"]
            boot = f"share=root {boot}".rstrip()
        self.monitor = lab.path(f"{name}.qmp")
        self.namespace = lab.namespace(name)
        super().__init__(lab, self.namespace, [
            *self._qemu(image, self.kvm_works(lab, image), boot),
            "-m", f"{memory_mib}",
            "-qmp", f"unix:{self.monitor},server=on,wait=off", *devices],
            log=lab.path(f"{name}.log"))

    @staticmethod
    def _qemu(image, kvm, boot=""):
        return [QEMU, "-nodefaults", "-display", "none", "-no-reboot",
                "-serial", "stdio", *(["-accel", "kvm", "-cpu", "host"] if kvm
                                      else ["-accel", "tcg", "-cpu", "max"]),
                "-kernel", f"{image}/vmlinuz", "-initrd", f"{image}/initrd.gz",
                "-append", f"console=ttyS0 quiet panic=-1 {boot}".rstrip()]

    @classmethod
    def kvm_works(cls, lab, image):
        """Returns whether a guest boots with KVM; it may not, even if there is
        a /dev/kvm."""
        if cls._kvm_works is None and os.access("/dev/kvm", os.W_OK):
            probe = Process(lab, lab.namespace("probe"),
                            [*cls._qemu(image, True), "-m", "128"],
                            log=lab.path("probe.log"))
            with contextlib.suppress(LabError):
                probe.wait_printed(GUEST_IS_UP, KVM_BOOT_SECONDS)
                cls._kvm_works = True
            probe.stop()
        cls._kvm_works = bool(cls._kvm_works)
        return cls._kvm_works

    def wait_up(self, seconds=120):
        super().wait_up(seconds)
        if self._folder:
            self.run(f"dmesg -n 1; mkdir -p {self._folder}; "
                     f"mount -t 9p -o trans=virtio lab {self._folder}")

    def qmp(self, command, **arguments):
        """Sends a command to QEMU's monitor; returns what it answers."""
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(30)
            control.connect(self.monitor)
            with control.makefile("rw") as lines:
                def ask(what):
                    lines.write(json.dumps(what) + "\n")
                    lines.flush()
                    while True:        # events come in between
                        answer = json.loads(lines.readline())
                        if "return" in answer:
                            return answer["return"]
                        if "error" in answer:
                            raise LabError(f"QEMU: {answer['error']['desc']}")

                lines.readline()       # the greeting
                ask({"execute": "qmp_capabilities"})
                return ask({"execute": command, "arguments": arguments})


class Vm(Machine):
    """A guest in QEMU: Linux with busybox, and eth0, eth1 ... for the sockets.

    It is the server of the sockets; QEMU waits until the switch connects.
    host_mtu: the MTU that QEMU gives the guest, or None.  incoming: the path
    of a socket at which it waits for another Vm's state, a live migration.
    number: in its MAC addresses, 52:54:00:00:<number>:<eth>.
    """

    def __init__(self, lab, image, sockets, host_mtu=None, memory_mib=128,
                 name="vm", incoming=None, number=0):
        # Without KVM, QEMU 7.2 crashes on a vhost-user device with MSI-X.
        device = "virtio-net-pci,mrg_rxbuf=on" + (
            "" if self.kvm_works(lab, image) else ",vectors=0")
        if host_mtu:
            device += f",host_mtu={host_mtu}"
        super().__init__(lab, image, [
            "-object", f"memory-backend-memfd,id=m0,size={memory_mib}M,"
                       "share=on", "-machine", "q35,memory-backend=m0",
            *(argument for n, path in enumerate(sockets) for argument in (
                "-chardev", f"socket,id=c{n},path={path},server=on,wait=off",
                "-netdev", f"vhost-user,id=n{n},chardev=c{n}",
                "-device", f"{device},netdev=n{n},"
                           f"mac=52:54:00:00:{number:02}:{n:02}")),
            *(["-incoming", f"unix:{incoming}"] if incoming else [])],
            memory_mib, name)

    def migrate(self, path, seconds=60):
        """Moves the guest to the Vm that waits at the socket `path`."""
        self.qmp("migrate", uri=f"unix:{path}")

        def over():
            status = self.qmp("query-migrate").get("status")
            if status == "failed":
                raise LabError("The migration failed." + tail(self.log))
            return status == "completed"

        wait_for("the end of the migration", over, seconds, self.log)


class End:
    """A namespace with a device, eth0; sends frames there."""

    device = "eth0"

    def __init__(self, lab, name):
        self.lab = lab
        self.namespace = lab.namespace(name)

    def open(self):
        """Must be called when the device is there."""
        with in_namespace(self.namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self._socket.bind((self.device, 0))
        self.lab.at_end(self._socket.close)

    def send(self, frames, gap=0.001, stop=None):
        """Sends frames, `gap` seconds apart.

        Ends early when the threading.Event `stop` is set.
        """
        stop = stop or threading.Event()
        for frame in frames:
            self._put(frame)
            if stop.wait(gap):
                break

    def _put(self, frame):
        self._socket.send(frame)

    @contextlib.contextmanager
    def sending(self, frames, gap=0.001):
        """Sends frames in a thread as long as the "with" lasts."""
        stop = threading.Event()
        thread = threading.Thread(target=self.send, args=(frames, gap, stop),
                                  daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


class Host(End):
    """A namespace with eth0, at the end of a wire to the switch.

    wire: the name of the other end, in the switch's namespace.
    """

    def __init__(self, lab, name, switch, mtu=WIRE_MTU):
        super().__init__(lab, name)
        self.wire = name
        run(["ip", "-n", self.namespace, "link", "add", "eth0", "mtu",
             str(mtu), "type", "veth", "peer", "name", self.wire, "mtu",
             str(mtu), "netns", switch.namespace])
        for namespace, device in ((self.namespace, "eth0"),
                                  (switch.namespace, self.wire)):
            with in_namespace(namespace):
                offloads_off(device)
            run(["ip", "-n", namespace, "link", "set", device, "up"])
        self.open()


def wire(sites, name, middle):
    """Joins sites by a wire that has that name at each, and a switch, Linux's
    bridge, in the namespace 'middle'.

    A site has a name, which its port there ends with, and a switch.
    """
    bridge = f"br-{name}"
    run(["ip", "-n", middle, "link", "add", bridge, "type", "bridge"])
    for site in sites:
        port = f"{name}-{site.name}"
        run(["ip", "-n", site.switch.namespace, "link", "add", name, "mtu",
             str(WIRE_MTU), "type", "veth", "peer", "name", port, "mtu",
             str(WIRE_MTU), "netns", middle])
        for namespace, device in ((site.switch.namespace, name),
                                  (middle, port)):
            with in_namespace(namespace):
                offloads_off(device)
            run(["ip", "-n", namespace, "link", "set", device, "up"])
        run(["ip", "-n", middle, "link", "set", port, "master", bridge])
    run(["ip", "-n", middle, "link", "set", bridge, "up"])


def add_address(namespace, address, device="eth0"):
    """Gives a device in a namespace an IPv4 address, with its prefix length.
    """
    run(["ip", "-n", namespace, "addr", "add", address, "dev", device])


def enable_ipv6(namespace, *devices):
    """Enables IPv6 for new devices of a namespace, and for those named, whose
    addresses can be used at once."""
    with in_namespace(namespace):
        for name in ("default", *devices):
            for key in "disable_ipv6", "accept_dad":
                with open(f"/proc/sys/net/ipv6/conf/{name}/{key}",
                          "w") as switch:
                    switch.write("0")


def offloads_off(device):
    """Makes the kernel send and receive frames on `device` unchanged.

    Does what "ethtool -K device rx off tx off sg off tso off gso off gro off"
    does, in the calling thread's namespace.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        # ETHTOOL_SRXCSUM, STXCSUM, SSG, STSO, SGSO, SGRO; SIOCETHTOOL
        for command in (0x15, 0x17, 0x19, 0x1f, 0x24, 0x2c):
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", device.encode(),
                                  ctypes.addressof(value))
            fcntl.ioctl(control, 0x8946, request)


TRANSFER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ovs",
                        "tcp-transfer.py")


def tcp_transfer(sender, receiver, address, n_bytes, seconds):
    """Sends data by TCP from a namespace to an address in another; returns how
    many seconds they took, None if they stall for that time."""
    receive, send = (
        ["ip", "netns", "exec", namespace, sys.executable, TRANSFER, how,
         address, str(n_bytes), str(seconds)]
        for namespace, how in ((receiver, "receive"), (sender, "send")))
    with subprocess.Popen(receive, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as receiving:
        run(send, 3 * seconds + 10, check=False)
        printed = receiving.communicate()[0]
    return None if receiving.returncode else float(printed)


def read_capture(path):
    """Returns [(seconds since the epoch, frame)] of a capture's whole frames.
    """
    if os.path.getsize(path) < 24:
        return []
    with contextlib.closing(RawPcapReader(path)) as reader:
        return [(meta.sec + meta.usec / 1e6, data)
                for data, meta in reader if len(data) == meta.caplen]


class Capture:
    """What tcpdump sees arrive at a host, in the file `path`."""

    def __init__(self, host, path, which="ip"):
        self.path = path
        self._tcpdump = Process(host.lab, host.namespace, [
            "tcpdump", "-i", host.device, "-n", "-Q", "in", "-U", "-Z", "root",
            "--immediate-mode", "-B", "16384", "-w", path, which],
            log=f"{path}.out")
        self._tcpdump.wait_printed("listening on", 10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tcpdump.stop()

    def read(self):
        """Returns [(seconds since the epoch, frame)] of what has arrived."""
        return read_capture(self.path)

    def frames(self):
        """Returns the frames that have arrived."""
        return [frame for _, frame in self.read()]

    def wait(self, enough, seconds):
        """Waits until enough(read()) is true; returns whether it became so."""
        return comes(lambda: enough(self.read()), seconds)


def exchange(sender, receiver, frames, path, window=6, seconds=5):
    """Sends frames; returns those captured at the receiver, in `path`.

    At most `window` frames are on the way at any time, so that a switch that
    must share its CPU loses none: while the thread that polls a net_pcap
    doesn't run, there are eight buffers, each of which may have a single frame.
    Gives up when no frame arrives for that many seconds.
    """
    with Capture(receiver, path) as capture:
        for end in range(window, len(frames) + window, window):
            sender.send(frames[end - window:end])
            if not capture.wait(
                    lambda got: len(got) >= min(end, len(frames)), seconds):
                break
    return capture.frames()


def dummy_numa(threads):
    """Returns the argument with which ovs-vswitchd has CPUs for so many PMD
    threads, which then run on any CPU, besides the main thread's."""
    return "--dummy-numa=" + ",".join("0" * (threads + 1))


def pmd_cpu_mask(threads):
    """Returns the setting for so many PMD threads, on CPUs of dummy_numa()."""
    return f"pmd-cpu-mask={hex((2 << threads) - 2)}"


def thread_seconds(pid, thread):
    """Returns for how long the kernel has run a thread of a process."""
    with open(f"/proc/{pid}/task/{thread}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e9


def numbered_frame(number, length=60, tags=b""):
    """Returns a frame of `length` bytes, without FCS, that has a number.

    tags: VLAN tags.  Its EtherType, NUMBERED, is one for experiments.
    """
    head = bytes.fromhex("020000000001020000000002") + tags + NUMBERED
    return (head + number.to_bytes(4, "big")).ljust(length, b"\0")


def number_of(frame):
    """Returns the number of a numbered_frame() without tags."""
    return int.from_bytes(frame[ETHER_LEN:ETHER_LEN + 4], "big")


def lost(frames):
    """Returns how many frames are missing before the highest number."""
    numbers = {number_of(frame) for frame in frames}
    return max(numbers, default=-1) + 1 - len(numbers)


def tcp_frame(number, length, macs=("02:00:00:00:00:01", "02:00:00:00:00:02"),
              addresses=("192.0.2.1", "192.0.2.2"), ttl=64):
    """Returns a TCP segment with DF set, in a frame of `length` bytes.

    The data are pseudo-random: `number` decides them, and is the sequence
    number.  macs, addresses: of source and destination.
    """
    headers = (Ether(src=macs[0], dst=macs[1])
               / IP(src=addresses[0], dst=addresses[1], flags="DF", ttl=ttl,
                    id=number & 0xffff)
               / TCP(sport=40000, dport=5001, flags="A", seq=number))
    data = random.Random(number).randbytes(length - len(headers))
    return bytes(headers / data)


def is_intact(frame):
    """Returns whether a frame is, bit for bit, one of tcp_frame()'s."""
    packet = Ether(frame)
    return TCP in packet and frame == tcp_frame(packet[TCP].seq, len(frame))


def is_fragment(frame):
    """Returns whether the IPv4 packet in a frame is a fragment."""
    packet = Ether(frame)
    return IP in packet and bool(packet[IP].flags.MF or packet[IP].frag)


# Programs that check, step by step, what holds.

class Steps:
    """Steps, in order, and the sentences that didn't hold, in `failures`.

    A subclass has a method for each name in `steps`, whose docstring is its
    title.
    """

    steps = ()

    def __init__(self, lab, root, image):
        self.lab = lab
        self.root = root
        self.image = image
        self.failures = []

    def check(self, sentence, held):
        say(f"  {'ok    ' if held else 'FAILED'}  {sentence}")
        if not held:
            self.failures.append(sentence)

    def check_mempools(self, pools):
        self.check("each mempool has what its ports demand",
                   pools and not any(pool["missing_mbufs"] for pool in pools))

    def run(self):
        """Runs the steps; one in which something didn't hold is the last."""
        for name in self.steps:
            step = getattr(self, name)
            self.title = step.__doc__
            say(f"\n{self.title}")
            try:
                step()
            except LabError as error:
                self.check(str(error), False)
            if self.failures:
                break


def run_steps(steps, description, lacking=missing_for_vms, variant=None):
    """The main program for a class of Steps; returns its exit status.

    lacking: returns what its kind of guests lacks, given their image; None if
        there are no guests.
    variant: an option, what it does, and the class that it takes instead.
    """
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawTextHelpFormatter,
        epilog="Exit status: 0 if all of it held, 1 if not, 2 if something is "
               "missing.")
    parser.add_argument("--root", required=True,
                        help="the installed Open vSwitch")
    if lacking:
        parser.add_argument("--image", required=True,
                            help="what build-aux/guest-image made")
    else:
        parser.set_defaults(image=None)
    if variant:
        option, what, other = variant
        parser.add_argument(option, dest="steps", action="store_const",
                            const=other, help=what)
    parser.set_defaults(steps=steps)
    args = parser.parse_args()
    lacks = missing(args.root) + (lacking(args.image) if lacking else [])
    if lacks:
        print("\n".join(lacks), file=sys.stderr)
        return 2

    exit_on_signals()
    with Lab(echo=say) as lab:
        if lacking is missing_for_vms:
            say("Guests: QEMU, " + ("KVM" if Vm.kvm_works(lab, args.image)
                                    else "without KVM (TCG)"))
        it = args.steps(lab, args.root, args.image)
        it.run()
        lab.keep = bool(it.failures)
    return 1 if it.failures else 0
