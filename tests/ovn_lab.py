"""Real OVN, as build-aux/get-ovn makes it, on the switches of jumbo_lab:

    central = Central(lab, root, folder)       # databases, ovn-northd
    central.join(switch, "172.16.0.1")         # ovn-controller, a chassis
    central.nb("ls-add", "ls1", "--", "lsp-add", "ls1", "vm1", ...)
    switch.vsctl("set", "Interface", port, "external_ids:iface-id=vm1")
    central.sync()                             # the chassis are up to date
"""

import os
import re

from jumbo_lab import Process, run, wait_for

class Central:
    """OVN's databases and ovn-northd."""

    def __init__(self, lab, root, ovn):
        self.lab, self.root, self.ovn = lab, os.path.abspath(root), ovn
        self.folder = lab.path("central")
        os.mkdir(self.folder)
        self.namespace = lab.namespace("central")
        self.env = dict(lab.env, PATH=f"{ovn}/bin:{os.environ['PATH']}",
                        OVN_RUNDIR=self.folder, OVN_LOGDIR=self.folder,
                        OVN_DBDIR=self.folder, OVS_RUNDIR=self.folder)
        self.remotes = {db: f"unix:{self.folder}/ovn{db}_db.sock"
                        for db in ("nb", "sb")}
        for db, remote in self.remotes.items():
            file = f"{self.folder}/{db}.db"
            run([f"{self.root}/bin/ovsdb-tool", "create", file,
                 f"{ovn}/share/ovn/ovn-{db}.ovsschema"])
            server = self._daemon(f"{self.root}/sbin/ovsdb-server", db, file,
                                  f"--remote=p{remote}",
                                  f"--unixctl={self.folder}/{db}.ctl")
            wait_for(f"the {db} database", lambda: server.check()
                     and os.path.exists(remote[len("unix:"):]), 10, server.log)
            self._ctl(db, "init")
        self._daemon(f"{ovn}/bin/ovn-northd", "northd",
                     f"--ovnnb-db={self.remotes['nb']}",
                     f"--ovnsb-db={self.remotes['sb']}")

    def _daemon(self, program, name, *args, namespace=None, env=None):
        return Process(self.lab, namespace or self.namespace,
                       [program, *args,
                        f"--pidfile={self.folder}/{name}.pid",
                        f"--log-file={self.folder}/{name}.log",
                        "-vconsole:off"], env or self.env,
                       f"{self.folder}/{name}.out")

    def _ctl(self, db, *args):
        return run([f"{self.ovn}/bin/ovn-{db}ctl", "--timeout=40",
                    f"--db={self.remotes[db]}", *args],
                   env=self.env).stdout.strip()

    def nb(self, *args):
        """Runs ovn-nbctl; returns what it prints."""
        return self._ctl("nb", *args)

    def sb(self, *args):
        """Runs ovn-sbctl; returns what it prints."""
        return self._ctl("sb", *args)

    def sync(self):
        """Waits until all chassis have done what the databases say."""
        self.nb("--wait=hv", "sync")

    def clear(self):
        """Deletes all logical switches and routers."""
        for kind in ("ls", "lr"):
            for name in re.findall(r"\((.*)\)", self.nb(f"{kind}-list")):
                self.nb(f"{kind}-del", name)

    def configure(self, switch, address, encap="geneve", dpdk=True):
        """Sets what ovn-controller reads in a switch's database."""
        switch.vsctl(
            "set", "Open_vSwitch", ".",
            f"external_ids:system-id={os.path.basename(switch.folder)}",
            f"external_ids:ovn-remote={self.remotes['sb']}",
            f"external_ids:ovn-encap-type={encap}",
            f"external_ids:ovn-encap-ip={address}",
            *(["external_ids:ovn-bridge-datapath-type=netdev"]
              if dpdk else []))

    def join(self, switch, address, **how):
        """Makes a switch a chassis; returns the Process of ovn-controller."""
        self.configure(switch, address, **how)
        name = "controller-" + os.path.basename(switch.folder)
        controller = self._daemon(
            f"{self.ovn}/bin/ovn-controller", name,
            f"unix:{switch.run_folder}/db.sock", namespace=switch.namespace,
            env=dict(self.env, OVS_RUNDIR=switch.run_folder,
                     OVN_RUNDIR=switch.run_folder))
        wait_for("br-int", lambda: controller.check() and "br-int"
                 in switch.vsctl("list-br").stdout.split(), 20,
                 controller.log)
        return controller


def missing(ovn):
    """Returns what has to be said if there is no OVN in that folder."""
    return ([] if os.path.exists(f"{ovn}/bin/ovn-northd")
            else [f"{ovn} has no OVN: run make ovn."])
