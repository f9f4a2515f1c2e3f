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

"""ovs-mtu-prometheus.py RULES DASHBOARD BEFORE AFTER: has Prometheus read the
metrics in the files BEFORE, then AFTER, and evaluate all expressions of the
rules and of Grafana's dashboard.  Prints the names of metrics that aren't
there, and the expressions without a result.  Its files are put into the
current folder."""

import http.server
import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

CONFIG = """
global: {scrape_interval: 200ms}
scrape_configs:
  - job_name: ovs-mtu
    static_configs: [targets: ["127.0.0.1:%d"]]
"""


class Metrics(http.server.BaseHTTPRequestHandler):
    """Serves the first file three times, then the other one."""
    files, served = [], 0

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        with open(self.files[Metrics.served >= 3], "rb") as file:
            self.wfile.write(file.read())
        Metrics.served += 1

    def log_message(self, *args):
        pass


def expressions(rules, dashboard):
    """Returns those of the files; each of a rule begins on the line of "expr:"
    or on the next ones, which are indented further."""
    with open(rules) as file:
        text = file.read()
    found = [" ".join(match.group(2).split()) for match in re.finditer(
        r"^( +)expr:(?: >-)?((?:.*)(?:\n\1 +.*)*)", text, re.M)]
    with open(dashboard) as file:
        content = json.load(file)
    return found + [target["expr"].replace("$host", ".*")
                    for panel in content["panels"]
                    for target in panel["targets"]]


def start():
    """Starts Prometheus, and returns it and its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open("prometheus.yml", "w") as file:
        file.write(CONFIG % server.server_port)
    process = subprocess.Popen(
        ["prometheus", "--config.file=prometheus.yml",
         "--storage.tsdb.path=prometheus.db",
         "--web.listen-address=127.0.0.1:0"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        universal_newlines=True)
    for line in process.stderr:
        match = re.search(r'"?Listening on"? address=(\S+:[1-9]\d*)', line)
        if match:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, match.group(1)
    sys.exit("Prometheus doesn't start")


def query(address, expression):
    """Returns how many results there are now."""
    try:
        with urllib.request.urlopen(
                f"http://{address}/api/v1/query?" + urllib.parse.urlencode(
                    {"query": expression}), timeout=10) as reply:
            return len(json.load(reply)["data"]["result"])
    except urllib.error.HTTPError as e:
        sys.exit(f"{expression}: {e.read().decode()}")


def main(rules, dashboard, *files):
    Metrics.files = files
    todo = expressions(rules, dashboard)
    assert len(todo) > 20, todo
    names = sorted(set(re.findall(r"\bovs_mtu_\w+", " ".join(todo))))
    process, address = start()
    try:
        deadline = time.monotonic() + 60
        while Metrics.served < 10 and time.monotonic() < deadline:
            time.sleep(0.1)
        for name in names:
            if not query(address, name):
                print(f"{name} isn't there")
        for expression in dict.fromkeys(todo):
            if not query(address, expression):
                print(expression)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
