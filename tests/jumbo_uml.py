"""Guests in User-mode Linux, for jumbo_lab.

Each is a Linux that is an ordinary process, whose real virtio-net driver is
connected to a vhost-user port.  Without KVM, it is far faster than QEMU, which
remains for what a hypervisor does: host_mtu and migration.
"""

import contextlib
import os
import selectors
import socket
import struct
import threading

from jumbo_lab import CPUS, PMD_CPU, Console

LINUX, XSTATE = "linux", "uml-xstate.so"
GUEST_CPUS = [cpu for cpu in CPUS if cpu != PMD_CPU] or CPUS

# Requests of the vhost-user protocol.
GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
SET_VRING_ADDR, SET_VRING_BASE = 9, 10
SET_PROTOCOL_FEATURES, NET_SET_MTU, SET_SLAVE_FD = 16, 20, 21
OF_VRINGS = (8, 9, 10, 12, 13, 14, 18)     # the number of a ring comes first
STATE = (SET_FEATURES, SET_OWNER, SET_MEM_TABLE, *OF_VRINGS,
         SET_PROTOCOL_FEATURES, NET_SET_MTU, SET_SLAVE_FD)
VERSION, NEED_REPLY = 1, 8                 # flags

F_MTU, F_PACKED = 1 << 3, 1 << 34
# The control queue: the driver would wait for ever for an answer that QEMU,
# not the switch, gives.
F_CONTROL = sum(1 << bit for bit in range(17, 24))
PACKED_START = 1 << 15                     # entry 0, wrap counter 1


def missing_for_uml(image):
    """Returns a sentence for each thing that such guests lack."""
    return [] if os.path.exists(f"{image}/{LINUX}") else [
        f"{image} has no User-mode Linux: run make guests."]


class Relay(threading.Thread):
    """Passes a guest's vhost-user messages on to the switch, and back.

    The guest's driver and the switch are both clients: the switch of `path`,
    the guest of the socket `guest_path`.  Changes what only a hypervisor gets
    right: which features the guest sees, where a packed ring begins, and the
    MTU that it has been given, if any.  A new switch gets all messages that
    the guest has sent to the one before.  Data pass through memory that the
    guest and the switch share, not through here.
    """

    def __init__(self, lab, path, mtu=None, packed=False):
        super().__init__(daemon=True)
        self.guest_path = f"{path}.guest"
        self._mtu = mtu
        self._packed = packed
        self._hidden = F_CONTROL | (0 if packed else F_PACKED)
        self._state = {}               # {key: (request, payload, fds)}
        self._for_guest, self._for_switch = map(self._listen, (
            self.guest_path, path))
        self.start()
        lab.at_end(self._end)

    def _end(self):
        for each in self._for_guest, self._for_switch:
            with contextlib.suppress(OSError):     # closed already
                each.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _listen(path):
        listener = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)            # of an earlier guest
        listener.bind(path)
        listener.listen()
        return listener

    def run(self):
        """Serves the guest as long as it is there."""
        try:
            with contextlib.suppress(OSError, EOFError), self._for_switch:
                with self._for_guest, self._accept(self._for_guest) as guest:
                    while True:
                        self._serve(guest)
        finally:
            for _, _, fds in self._state.values():
                for fd in fds:         # one of them is the guest's memory
                    os.close(fd)

    @staticmethod
    def _accept(listener):
        return listener.accept()[0]

    def _serve(self, guest):
        """Relays messages as long as the switch is there."""
        with self._accept(self._for_switch) as switch:
            for request, payload, fds in self._state.values():
                send(switch, request, VERSION, self._resumed(request, payload),
                     fds)
            with selectors.DefaultSelector() as sources:
                for source in guest, switch:
                    sources.register(source, selectors.EVENT_READ)
                while True:
                    for key, _ in sources.select():
                        try:
                            message = receive(key.fileobj)
                        except (EOFError, ConnectionError):
                            if key.fileobj is guest:
                                raise EOFError
                            return
                        if key.fileobj is guest:
                            self._to_switch(switch, *message)
                        else:
                            self._to_guest(guest, *message)

    def _to_guest(self, guest, request, flags, payload, fds):
        if request == GET_FEATURES:
            payload = u64(int.from_bytes(payload, "little") & ~self._hidden)
        send(guest, request, flags, payload, fds)

    def _to_switch(self, switch, request, flags, payload, fds):
        if request == SET_FEATURES and self._mtu:
            payload = u64(int.from_bytes(payload, "little") | F_MTU)
        elif request == SET_VRING_BASE and self._packed:
            payload = payload[:4] + PACKED_START.to_bytes(4, "little")
        self._keep(request, payload, fds)
        send(switch, request, flags, payload, fds)
        if request == SET_FEATURES and self._mtu:
            self._to_switch(switch, NET_SET_MTU, VERSION, u64(self._mtu), [])

    def _keep(self, request, payload, fds):
        """Keeps the newest message of each kind, in the order of arrival."""
        if request in STATE:
            key = request, payload[0] if request in OF_VRINGS else None
            for fd in self._state.pop(key, (0, 0, ()))[2]:
                os.close(fd)
            self._state[key] = request, payload, fds

    def _resumed(self, request, payload):
        """Returns the payload for a new switch: where it goes on in a ring,
        by the ring's own index of what was used, if the ring is split.
        """
        if request != SET_VRING_BASE or self._packed:
            return payload
        used = struct.unpack_from("<Q", self._state[
            SET_VRING_ADDR, payload[0]][1], 16)[0]
        _, table, fds = self._state[SET_MEM_TABLE, None]
        for region, fd in enumerate(fds):
            _, size, start, offset = struct.unpack_from("<4Q", table,
                                                        8 + 32 * region)
            if start <= used < start + size:
                return payload[:4] + os.pread(
                    fd, 2, used - start + offset + 2).ljust(4, b"\0")
        return payload


def u64(number):
    return number.to_bytes(8, "little")


def receive(source):
    """Returns (request, flags, payload, fds) of a vhost-user message."""
    head, fds, _, _ = socket.recv_fds(source, 12, 8)
    if len(head) < 12:
        raise EOFError
    request, flags, size = struct.unpack("<3I", head)
    payload = source.recv(size, socket.MSG_WAITALL) if size else b""
    return request, flags, payload, fds


def send(target, request, flags, payload, fds):
    """Sends a vhost-user message; the file descriptors stay open here."""
    socket.send_fds(target, [struct.pack("<3I", request, flags, len(payload))
                             + payload], fds)


class UmlGuest(Console):
    """A guest with eth0, eth1 ... for the sockets, as jumbo_lab.Vm.

    It is the server of the sockets, and waits until the switch connects.
    host_mtu: the MTU that is announced to the switch on its behalf; its own is
    1500 until it is changed there.  packed: with packed rings.  shares: it has
    this machine's file system, to which it doesn't write, and the lab's
    folder.
    """

    def __init__(self, lab, image, sockets, host_mtu=None, memory_mib=128,
                 name="uml", number=0, packed=False, shares=False):
        relays = [Relay(lab, path, host_mtu, packed) for path in sockets]
        self._folder = lab.folder if shares else None
        self._macs = [f"52:54:00:00:{number:02x}:{n:02x}"
                      for n in range(len(sockets))]
        super().__init__(lab, lab.namespace(name), [
            # All of its processes end with it, and with us.
            "unshare", "--pid", "--fork", "--kill-child",
            "taskset", "-c", ",".join(map(str, GUEST_CPUS)),
            # Else it takes more memory the farther its heap is from its text.
            "setarch", "--addr-no-randomize",
            "env", f"LD_PRELOAD={os.path.abspath(image)}/{XSTATE}",
            f"{image}/{LINUX}", f"mem={memory_mib}M",
            f"initrd={image}/initrd.gz", "con0=fd:0,fd:1", "con=null",
            "ssl=null", "console=tty0", "loglevel=1",
            f"umid={name}", f"uml_dir={lab.folder}",
            *(["share=/"] if shares else []),
            *(f"virtio_uml.device={relay.guest_path}:1" for relay in relays)],
            # Its memory is a file there, which must not be on a disk.
            env=dict(lab.env, TMPDIR="/dev/shm"), log=lab.path(f"{name}.log"))

    def wait_up(self, seconds=60):
        super().wait_up(seconds)
        self.run("; ".join(f"ip link set eth{n} address {mac}"
                           for n, mac in enumerate(self._macs)) or ":")
        if self._folder:
            self.run(f"mkdir -p {self._folder}; mount -t hostfs -o "
                     f"{self._folder} none {self._folder}")

    def stop(self, seconds=0):
        super().stop(seconds)

    def cpu_seconds(self):
        """Returns how long its processes have run."""
        ticks = 0
        ours = os.readlink(f"/proc/{self.pid}/ns/pid_for_children")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):     # it has ended
                if os.readlink(f"/proc/{pid}/ns/pid") == ours:
                    with open(f"/proc/{pid}/stat") as stat:
                        fields = stat.read().rpartition(")")[2].split()
                    ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")
