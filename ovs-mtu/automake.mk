# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Copying and distribution of this file, with or without modification,
# are permitted in any medium without royalty provided the copyright
# notice and this notice are preserved.  This file is offered as-is,
# without warranty of any kind.

bin_SCRIPTS += utilities/ovs-mtu
completion_SCRIPTS += utilities/ovs-mtu-bashcomp.bash
MAN_ROOTS += utilities/ovs-mtu.8
man_MANS += utilities/ovs-mtu.8
EXTRA_DIST += utilities/ovs-mtu.in
EXTRA_DIST += utilities/ovs-mtu-bashcomp.bash
EXTRA_DIST += python/ovs/tests/mtu_guest.json
EXTRA_DIST += python/ovs/tests/mtu_ovn.json
pkgdata_DATA += utilities/ovs-mtu-rules.yml
EXTRA_DIST += utilities/ovs-mtu-rules.yml
pkgdata_DATA += utilities/ovs-mtu-dashboard.json
EXTRA_DIST += utilities/ovs-mtu-dashboard.json.in
CLEANFILES += utilities/ovs-mtu-dashboard.json
CLEANFILES += utilities/ovs-mtu
FLAKE8_PYFILES += utilities/ovs-mtu.in
