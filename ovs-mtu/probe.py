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

"""Finds out by packets how large those may be that a path passes."""

import contextlib
import errno
import fcntl
import ipaddress
import os
import re
import select
import socket
import struct
import subprocess
import time

from ovs.mtu.tunnels import (IPV4_LEN, IPV6_LEN, IPV6_MIN_MTU, UDP_LEN,
                             kernel_mtu)

ICMP_LEN = 8
MAX_HOPS = 16
LIKELY = (1500, 9000, 1450, 1400)
PMTUDISC_PROBE = 3                      # DF set, whatever the kernel knows.
SIOCGIFADDR = 0x8915


class IPv4:
    header_len, min_mtu = IPV4_LEN, 68  # RFC 791.
    level, icmp = socket.IPPROTO_IP, socket.IPPROTO_ICMP
    TTL, MTU_DISCOVER, RECVERR, MTU, RECVFRAGSIZE = 2, 10, 11, 14, 25
    echo_request, echo_reply = 8, 0
    # By type and code of ICMP; that a port is closed is an answer.
    kinds = {(3, 4): "too big", (11, None): "expired", (3, 3): "reply"}
    offender = slice(20, 24)            # In what goes with an error.


class IPv6:
    header_len, min_mtu = IPV6_LEN, IPV6_MIN_MTU
    level, icmp = socket.IPPROTO_IPV6, socket.IPPROTO_ICMPV6
    TTL, MTU_DISCOVER, RECVERR, MTU, RECVFRAGSIZE = 16, 23, 25, 24, 77
    echo_request, echo_reply = 128, 129
    kinds = {(2, None): "too big", (3, None): "expired", (1, 4): "reply"}
    offender = slice(24, 40)


class ProbeError(Exception):
    """Why nothing can be found out about an address."""


class Answer:
    """The answer to a probe.

    kind: "reply" by the target; "too big" by a router ('by', with the 'mtu'
    that it allows) or by this host ('by' is None); "expired", by a router;
    "other" for another error; None for nothing.
    fragment: the largest fragment of a reply that came in several."""

    def __init__(self, kind=None, by=None, mtu=None, fragment=None):
        self.kind, self.by, self.mtu = kind, by, mtu
        self.fragment = fragment


class Path:
    """What is known about the path to an address, None where it isn't.

    error: why nothing is.  needs: the size of packets that must pass.
    path_mtu: the size that passes.  back_mtu: that of the fragments in which
    replies come.  too_big, too_big_mtu: who said that packets are too large,
    and for which MTU.  there: whether those that are lost arrive there.
    last: the last router that answered.  packets: how many were sent."""

    def __init__(self, address):
        self.address = address
        self.error = self.needs = self.path_mtu = self.back_mtu = None
        self.too_big = self.too_big_mtu = self.there = self.last = None
        self.packets = None

    def to_json(self):
        found = {k: v for k, v in vars(self).items() if v is not None}
        return dict(found, text=f"{self.address}: {self._say()}")

    def _say(self):
        if self.error is not None:
            return f"can't tell: {self.error}"
        if self.path_mtu >= self.needs:
            return f"packets of {self.needs} bytes pass" + (
                "" if self.back_mtu is None else "; those that come back are "
                f"fragments of up to {self.back_mtu} bytes")
        text = f"needs {self.needs}, passes up to {self.path_mtu}; "
        if self.too_big:
            return text + f"{self.too_big} says that " + (
                f"its MTU is {self.too_big_mtu}" if self.too_big_mtu
                else "fragmentation is needed")
        if self.there:
            return text + ("larger ones arrive there, but are lost on the way "
                           "back (black hole)")
        return text + "larger ones vanish on the way there (black hole); " + (
            f"the last that answered was {self.last}" if self.last
            else "no router on the way answered")


class Prober:
    """Sends packets that must not be fragmented to one address."""

    def __init__(self, address, most_packets, until):
        family, _, _, _, self.to = socket.getaddrinfo(
            address, 33434, type=socket.SOCK_DGRAM)[0]
        self.ip = IPv6 if family == socket.AF_INET6 else IPv4
        self.packets = 0
        self.most_packets, self.until = most_packets, until
        self.patience = 1.0
        self.is_raw = False
        self._family = family
        self.icmp = self._open_icmp()
        self.udp = self._open(socket.SOCK_DGRAM, 0)
        self.udp.connect(self.to)

    def close(self):
        for each in (self.icmp, self.udp):
            if each:
                each.close()

    def _open(self, kind, protocol):
        s = socket.socket(self._family, kind, protocol)
        s.setsockopt(self.ip.level, self.ip.MTU_DISCOVER, PMTUDISC_PROBE)
        s.setsockopt(self.ip.level, self.ip.RECVERR, 1)
        with contextlib.suppress(OSError):      # An old kernel.
            s.setsockopt(self.ip.level, self.ip.RECVFRAGSIZE, 1)
        s.setblocking(False)
        return s

    def _open_icmp(self):
        """Returns a socket for echo requests, or None if that isn't allowed;
        it may be to the program "ping"."""
        for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
            with contextlib.suppress(PermissionError):
                s = self._open(kind, self.ip.icmp)
                self.is_raw = kind == socket.SOCK_RAW
                s.connect(self.to[:1] + (0,) + self.to[2:])
                return s
        return None

    def local_mtu(self):
        """The MTU of the device by which packets leave.  The MTU of the route
        may be one that routers have reported before."""
        name = device_of(self.udp.getsockname()[0])
        return min(name and kernel_mtu(name) or self.udp.getsockopt(
            self.ip.level, self.ip.MTU), 65535)

    def _take_packet(self):
        """Returns the number of the next packet."""
        if self.packets >= self.most_packets:
            raise ProbeError("gave up after too many packets")
        if time.monotonic() > self.until:
            raise ProbeError("timed out")
        self.packets += 1
        return self.packets & 0xffff

    def echo(self, size, tries=2):
        """Returns the Answer to an echo request of 'size' bytes."""
        for _ in range(tries):
            answer = self._echo(size, self._take_packet())
            if answer.kind:
                break
        return answer

    def _echo(self, size, number):
        data = bytes(max(size - self.ip.header_len - ICMP_LEN, 0))
        if not self.icmp:
            return self._ping(len(data))
        # Only for raw sockets of IPv4, the kernel leaves these to us.
        ident = os.getpid() & 0xffff
        packet = struct.pack("!BBHHH", self.ip.echo_request, 0, 0, ident,
                             number) + data
        packet = packet[:2] + checksum(packet) + packet[4:]

        def is_reply(data):
            if self.is_raw and self.ip is IPv4:     # Behind its IP header.
                data = data[(data[0] & 0xf) * 4:]
            kind, _, _, its_ident, its_number = struct.unpack_from(
                "!BBHHH", data)
            return (kind == self.ip.echo_reply and its_number == number
                    and (not self.is_raw or its_ident == ident))

        return self._exchange(self.icmp, packet, is_reply)

    def knock(self, size, hops=0, tries=2):
        """Returns the Answer to a UDP packet of 'size' bytes: a target reports
        that nobody listens.  Only the way there must pass that size.  'hops',
        if not 0, limits how far it goes."""
        answer = Answer()
        for _ in range(tries):
            port = 33434 + self._take_packet() % 1000
            self.udp.connect(self.to[:1] + (port,) + self.to[2:])
            self.udp.setsockopt(self.ip.level, self.ip.TTL, hops or 64)
            answer = self._exchange(
                self.udp, bytes(max(size - self.ip.header_len - UDP_LEN, 0)),
                lambda data: True)
            if answer.kind:
                break
            time.sleep(0.1)             # Kernels limit the rate of these.
        return answer

    def _exchange(self, s, packet, is_reply):
        drain(s)
        end = time.monotonic() + self.patience
        try:
            s.send(packet)
        except OSError as e:
            if e.errno == errno.EMSGSIZE:
                drain(s)
                return Answer("too big", mtu=self.local_mtu())
            if e.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH,
                           errno.EINVAL, errno.EACCES, errno.EPERM):
                raise ProbeError(e.strerror)
            # The error of an earlier packet.
        poll = select.poll()
        poll.register(s, select.POLLIN | select.POLLERR)
        while True:
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return Answer()
            answer = self._receive_error(s) or self._receive(s, is_reply)
            if answer:
                return answer

    def _receive(self, s, is_reply):
        try:
            data, ancillary, _, _ = s.recvmsg(65536, 512)
        except OSError:
            return None
        if not is_reply(data):
            return None
        fragment = None
        for level, kind, value in ancillary:
            if (level, kind) == (self.ip.level, self.ip.RECVFRAGSIZE):
                fragment = struct.unpack("i", value)[0] or None
        return Answer("reply", fragment=fragment)

    def _receive_error(self, s):
        try:
            _, ancillary, _, _ = s.recvmsg(65536, 512, socket.MSG_ERRQUEUE)
        except OSError:
            return None
        for level, kind, value in ancillary:
            if (level, kind) != (self.ip.level, self.ip.RECVERR):
                continue
            _, origin, type_, code, _, mtu, _ = struct.unpack_from(
                "=IBBBBII", value)
            if origin == 1:             # This host.
                return Answer("too big", mtu=mtu or self.local_mtu())
            kind = (self.ip.kinds.get((type_, code))
                    or self.ip.kinds.get((type_, None), "other"))
            return Answer(kind, str(ipaddress.ip_address(
                value[self.ip.offender])), kind == "too big" and mtu or None)
        return None

    def _ping(self, data_len):
        """Makes "ping" send the request, since it is allowed to."""
        try:
            done = subprocess.run(
                ["ping", "-n", "-c", "1", "-W", f"{self.patience:g}", "-M",
                 "do", "-s", str(data_len), self.to[0]],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, universal_newlines=True,
                env=dict(os.environ, LC_ALL="C"))
        except OSError:
            raise ProbeError("echo requests aren't allowed, and there is no "
                             "program \"ping\"")
        if done.returncode == 0:
            return Answer("reply")
        found = re.search(r"(?:From (\S+) .*|too long, )mtu ?= ?(\d+)",
                          done.stdout)
        if found:
            return Answer("too big", found[1], int(found[2]))
        if "permitted" in done.stdout:
            raise ProbeError("echo requests aren't allowed")
        return Answer()


def device_of(address):
    """Returns the name of the device with that address, or None."""
    ip = ipaddress.ip_address(address.split("%")[0])
    if ip.version == 6:
        with open("/proc/net/if_inet6") as file:
            names = {line.split()[0]: line.split()[-1] for line in file}
        return names.get(ip.packed.hex())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _, name in socket.if_nameindex():
            request = struct.pack("40s", name.encode())
            with contextlib.suppress(OSError):      # It has no address.
                if fcntl.ioctl(s, SIOCGIFADDR, request)[20:24] == ip.packed:
                    return name
    return None


def is_own(address):
    """Returns true if it is this host's: packets to it come from it."""
    try:
        info = socket.getaddrinfo(address, 33434, type=socket.SOCK_DGRAM)[0]
        with socket.socket(*info[:2]) as s:
            s.connect(info[4])
            return s.getsockname()[0] == info[4][0]
    except (OSError, UnicodeError):
        return False


def drain(s):
    """Discards what has arrived before."""
    for flags in (socket.MSG_ERRQUEUE, 0):
        with contextlib.suppress(OSError):
            while True:
                s.recvmsg(65536, 512, flags)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack("!H", ~total & 0xffff)


def probe_path(address, need, most_packets, until):
    """Returns the Path to an address.

    need: the MTU that must pass, or None for that of the device by which
    packets leave.  until: of time.monotonic()."""
    path = Path(address)
    prober = None
    try:
        prober = Prober(address, most_packets, until)
        path.needs = need or prober.local_mtu()
        probe_size(prober, path)
    except ProbeError as e:
        path.error = str(e)
    except (OSError, UnicodeError) as e:
        path.error = getattr(e, "strerror", None) or str(e)
    finally:
        if prober:
            path.packets = prober.packets
            prober.close()
    return path


def probe_size(prober, path):
    small, need = prober.ip.min_mtu, path.needs
    begin = time.monotonic()
    if prober.echo(min(small, need), 3).kind == "reply":
        # A path under load may take longer than it just took.
        prober.patience = min(1.0, max(0.2, 5 * (time.monotonic() - begin)))
        send, tries = prober.echo, 3
    elif prober.knock(small).kind == "reply":
        send, tries = prober.knock, 2
    else:
        raise ProbeError("no answer, not even to small packets")
    answer = send(need, tries=tries)
    if answer.kind == "reply":
        path.path_mtu, path.back_mtu = need, answer.fragment
        return
    if answer.kind == "too big":
        path.too_big, path.too_big_mtu = answer.by or "this host", answer.mtu
    path.path_mtu = search(send, small, need, answer)
    if path.too_big:
        return
    if send == prober.echo:
        # No answer: in which direction, and how far?
        prober.patience = min(1.0, 2 * prober.patience)
        path.there = prober.knock(need, tries=3).kind == "reply"
    if not path.there:
        path.last = last_router(prober, need)


def last_router(prober, need):
    """Returns the last router that answers to packets of that size."""
    last, missing = None, 0
    for hops in range(1, MAX_HOPS):
        answer = prober.knock(need, hops)
        if answer.kind == "expired":
            last, missing = answer.by, 0
        else:
            missing += 1
            if answer.kind or missing == 2:
                break
    return last


def search(send, good, bad, answer):
    """Returns the largest size that passes: 'good' does; 'bad', to which
    'answer' came, doesn't."""
    likely = list(LIKELY)
    while bad - good > 1:
        told = answer.mtu if answer.kind == "too big" else None
        likely = [n for n in [told or 0] + likely if good < n < bad]
        size = likely.pop(0) if likely else (good + bad) // 2
        answer = send(size)
        if answer.kind != "reply":
            bad = size
        else:
            if size == told or size in LIKELY:
                likely.insert(0, size + 1)
            good = size
    return good
