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

"""Reads databases of Open vSwitch: what they say, as they say it."""

import contextlib
import errno
import fcntl
import json
import os
import re
import struct
import time

from ovs import jsonrpc
from ovs.poller import Poller
from ovs.stream import Stream

# What is asked for; a column that a database doesn't have is left out.
COLUMNS = {
    "Open_vSwitch": ["bridges", "cur_cfg", "next_cfg", "external_ids"],
    "Bridge": ["_uuid", "name", "ports", "datapath_type", "fail_mode",
               "controller", "mirrors", "mtu_request", "external_ids"],
    "Port": ["_uuid", "name", "interfaces", "tag", "trunks", "vlan_mode",
             "external_ids", "other_config"],
    "Mirror": ["_uuid", "output_port"],
    "Interface": ["_uuid", "name", "type", "options", "mtu", "mtu_request",
                  "mtu_error", "error", "admin_state", "status", "statistics",
                  "bfd_status", "external_ids"],
}

LOCK = "ovs_vswitchd"                   # Of ovs-vswitchd, while connected.
# ovs-vswitchd refreshes these columns, each 5 seconds by default.
REFRESHED = {"Interface": "statistics", "Controller": "status",
             "Open_vSwitch": "statistics"}
REFRESH_SECONDS = 6


class ReadError(Exception):
    """Why a database can't be read: a text, or the number of an error."""

    def __str__(self):
        why = self.args[0]
        return why if isinstance(why, str) else ERRORS.get(
            why, os.strerror(abs(why)))


def decode(value):
    """Returns a column's value (RFC 7047, section 5.1) as a list, dict, or
    atom.  A set of one element is that atom, as the server sends it."""
    if isinstance(value, list):
        kind, content = value
        if kind == "map":
            return dict(content)
        return [decode(v) for v in content] if kind == "set" else content
    return value


# What errors mean here.
ERRORS = {
    errno.EAFNOSUPPORT:
        "not a database: unix:FILE, tcp:HOST:PORT or ssl:HOST:PORT",
    errno.EPROTO: "not an OVSDB server",
    errno.EMSGSIZE: "its answer is too long",
    jsonrpc.EOF: "the connection was closed",
    errno.ECONNRESET: "the connection was closed",
    errno.EPIPE: "the connection was closed",
    errno.ENOEXEC: "the connection was closed",     # SSL_ERROR_EOF.
}


# By these, one of which comes first, an SSL server shows that it doesn't know
# who signed the client's certificate: the client believes to be connected.
REFUSALS = (errno.EPERM, errno.ENOEXEC, errno.ENOTCONN, errno.ECONNRESET,
            errno.EPIPE, jsonrpc.EOF)


class Connection(jsonrpc.Connection):
    """With Python's own parser: that of ovs.json, where it is not the one in
    C, takes seconds for a large database."""

    MAX_INPUT = 1 << 28

    def __init__(self, stream):
        super().__init__(stream)
        self._input = bytearray()
        self.has_answered = False

    def recv(self):
        while not self.status:
            message = self._parse()
            if message:
                return 0, message
            if self.status:
                break
            error, data = self.stream.recv(1 << 16)
            if error == errno.EAGAIN:
                return error, None
            if error or not data:
                self.error(error or jsonrpc.EOF)
                break
            self._input += data
            if len(self._input) > self.MAX_INPUT:
                self.error(errno.EMSGSIZE)
        return self.status, None

    def _parse(self):
        """Returns the first message, if it is complete."""
        if self._input[:1].strip() not in (b"", b"{"):
            self.error(errno.EPROTO)
        if self.status or not self._input[-9:].rstrip().endswith(b"}"):
            return None
        try:
            text = self._input.decode().lstrip()
            content, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return None                 # More is to come.
        self._input[:] = text[end:].encode()
        self.has_answered = True
        message = jsonrpc.Message.from_json(content)
        if isinstance(message, jsonrpc.Message):
            return message
        self.error(errno.EPROTO)
        return None


class Database:
    """What a database says.

    remote: where it is.  is_member: it is one of a cluster's servers.
    error: why it can't be read.  tables: {table: [row, ...]}.
    columns: {table: [name, ...]}, those that its schema has.
    has_switch: whether ovs-vswitchd is connected to it, or None.
    until: when to give up, of time.monotonic()."""

    NAME, COLUMNS = "Open_vSwitch", COLUMNS

    def __init__(self, remote, seconds, is_member=False):
        self.remote = remote
        self.is_member = is_member
        self.error = self.tables = self.columns = self.has_switch = None
        self.until = time.monotonic() + seconds

    def read(self, with_statistics):
        """Reads it, without blocking: a generator of functions that make a
        poller wait for what it needs to go on."""
        stream = None
        try:
            stream = self._open()
            connection = yield from connect(stream)
            if self.is_member:
                yield from check_member(connection, self.NAME)
            yield from self._read(connection, with_statistics)
        except ReadError as e:
            self.error = str(e)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
            self.error = f"not an OVSDB server, or its reply is invalid ({e})"
        finally:
            if stream:
                stream.close()

    def _open(self):
        """Returns its Stream."""
        try:
            error, stream = Stream.open(self.remote)
        except (OSError, ValueError, TypeError) as e:
            if self.remote.startswith("ssl:"):
                raise ReadError("ssl: needs the files of --private-key, "
                                f"--certificate and --ca-cert ({e})")
            error = getattr(e, "errno", None) or errno.EINVAL
        if error:
            raise ReadError(error)
        return stream

    def _read(self, connection, with_statistics):
        reply = yield from ask(connection, "get_schema", [self.NAME])
        if reply.error:
            raise ReadError(f"it has no database {self.NAME}")
        schema = reply.result["tables"]
        self.columns = {t: ["_uuid"] + list(schema[t]["columns"])
                        for t in self.COLUMNS if t in schema}
        # A single transaction: what it sees is consistent.
        reply = yield from ask(connection, "transact", [self.NAME] + [
            {"op": "select", "table": t, "where": [],
             "columns": [c for c in self.COLUMNS[t] if c in has
                         and (with_statistics or c != "statistics")]}
            for t, has in self.columns.items()])
        results = reply.result or [reply.error]
        wrong = [r for r in results if not r or "rows" not in r]
        if wrong:                       # Its schema has just changed, perhaps.
            raise ReadError(f"it cannot be read: {wrong[0]}")
        tables = {
            t: [{c: decode(v) for c, v in row.items()}
                for row in result["rows"]]
            for t, result in zip(self.columns, results)}
        yield from self._read_more(connection, schema)
        self.tables = tables

    def _read_more(self, connection, schema):
        """Finds out whether ovs-vswitchd is connected.  To ask for its lock
        would not be harmless: if it connected at that moment, it would take
        this program for another ovs-vswitchd, and delete its bridges."""
        reply = yield from ask(connection, "get_lock", [LOCK])
        if not reply.error and (reply.result["locked"]
                                or not self.is_member):
            self.has_switch = reply.result["locked"]
            return
        # An older server, or one of a cluster's, each with its own locks.
        if self.remote.startswith("unix:"):
            self.has_switch = holds_pidfile(os.path.join(
                os.path.dirname(self.remote[5:]), "ovs-vswitchd.pid"))
        if self.has_switch is None:
            yield from self._await_refresh(connection, schema)

    def _await_refresh(self, connection, schema):
        """Waits until a column has been refreshed.  If none is, that may be
        because there is no traffic."""
        yield from ask(connection, "monitor", [self.NAME, None, {
            table: {"columns": [column], "select": {"initial": False}}
            for table, column in REFRESHED.items()
            if column in schema.get(table, {"columns": ()})["columns"]}])
        end = time.monotonic() + REFRESH_SECONDS
        self.until = max(self.until, end + 1)
        while time.monotonic() < end:
            message = yield from receive(connection, end)
            if message and message.method == "update":
                self.has_switch = True
                return


def holds_pidfile(path):
    """Returns whether a process holds the lock of its pidfile, or None if
    there is no such file."""
    with contextlib.suppress(OSError), open(path) as file:
        lock = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(
            "hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        return struct.unpack_from("h", lock)[0] != fcntl.F_UNLCK
    return None


def connect(stream):
    """Waits, like Database.read(), and returns a Connection."""
    while True:
        stream.run()
        try:
            error = stream.connect()
        except OSError as e:            # Of SSL, in older versions.
            error = e.errno
        if error != errno.EAGAIN:
            break
        yield lambda poller: (stream.run_wait(poller),
                              stream.connect_wait(poller))
    if error == errno.EPERM and stream.name.startswith("ssl:"):
        raise ReadError("it isn't an SSL server whose certificate --ca-cert "
                        "has signed")
    if error:
        raise ReadError(error)
    return Connection(stream)


def check_member(connection, name):
    """Waits, like Database.read(), for what a cluster's server says of
    itself: while it has lost the others, its content may be old."""
    reply = yield from ask(connection, "transact", ["_Server", {
        "op": "select", "table": "Database",
        "where": [["name", "==", name]], "columns": ["connected"]}])
    rows = reply.result[0].get("rows") if reply.result else None
    if rows and not rows[0]["connected"]:
        raise ReadError("it has lost the other servers of its cluster")


def ask(connection, method, params):
    """Waits, like Database.read(), and returns the reply."""
    request = jsonrpc.Message.create_request(method, params)
    request.id = method
    connection.send(request)
    while True:
        message = yield from receive(connection)
        if message.id == method:
            return message


def receive(connection, until=None):
    """Waits, like Database.read(), and returns a message, or None at the time
    'until'."""
    while True:
        connection.run()
        error, message = connection.recv()
        if error == errno.EAGAIN:
            left = until and until - time.monotonic()
            if until and left <= 0:
                return None
            yield lambda poller: (
                connection.wait(poller), connection.recv_wait(poller),
                until and poller.timer_wait(int(left * 1000) + 1))
        elif error in REFUSALS and not connection.has_answered and (
                connection.name.startswith("ssl:")):
            raise ReadError("it refuses the certificate of --certificate")
        elif error:
            raise ReadError(error)
        elif message.method == "echo":
            connection.send(jsonrpc.Message.create_reply(message.params,
                                                         message.id))
        else:
            return message


def servers(remote):
    """Returns the servers of a remote "A,B,C", as ovs-vsctl splits it: what
    has no colon is a part of a file's name."""
    return re.split(r",(?=[^,]*:)", remote)


def read(remotes, seconds, with_statistics, kind=Database):
    """Reads all databases at once, none for longer than 'seconds', and returns
    them.  Of a cluster, the server that answers first is enough.  Statistics
    are most of a database."""
    clusters = []
    for remote in remotes:
        names = servers(remote)
        clusters.append([kind(name, seconds, len(names) > 1)
                         for name in names])
    reading = {each: each.read(with_statistics)
               for cluster in clusters for each in cluster}

    def is_missing(cluster):
        return (reading.keys() & cluster
                and not any(each.tables for each in cluster))

    while any(map(is_missing, clusters)):
        poller = Poller()
        for database, steps in list(reading.items()):
            wait = next(steps, None)
            left = database.until - time.monotonic()
            if wait and left > 0:
                wait(poller)
                poller.timer_wait(int(left * 1000) + 1)
                continue
            if wait:
                steps.close()
                database.error = f"no answer within {seconds:g} seconds"
            del reading[database]
        if any(map(is_missing, clusters)):
            poller.block()
    for steps in reading.values():
        steps.close()
    return [choose(*each) for each in zip(remotes, clusters)]


def choose(remote, cluster):
    """Returns the server of a cluster that could be read, with the name of the
    cluster, or else one that says why none could."""
    answer = next((each for each in cluster if each.tables), cluster[0])
    if not answer.tables and len(cluster) > 1:
        answer.error = "; ".join(f"{each.remote}: {each.error}"
                                 for each in cluster)
    answer.remote = remote
    return answer
