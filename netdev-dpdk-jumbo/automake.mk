# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Copying and distribution of this file, with or without modification,
# are permitted in any medium without royalty provided the copyright
# notice and this notice are preserved.  This file is offered as-is,
# without warranty of any kind.

# One file a line: each line comes with the patch that first uses its file.

lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/compat.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-demand.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-demand.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-driver.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-driver.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-frame.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-layout.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-layout.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-mtu.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-mtu.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-pool.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-turn.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-turn.h

if DPDK_NETDEV
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-memory.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-memory.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-plan.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-plan.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-pool.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-rx.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-rx.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-show.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-show.h
endif

TESTSUITE_AT += tests/jumbo.at
TESTSUITE_AT += tests/jumbo-mtu.at
TESTSUITE_AT += tests/jumbo-demand.at
TESTSUITE_AT += tests/jumbo-layout.at
TESTSUITE_AT += tests/jumbo-pool.at
TESTSUITE_AT += tests/jumbo-idl.at
TESTSUITE_AT += tests/jumbo-error.at
TESTSUITE_AT += tests/jumbo-vsctl.at
TESTSUITE_AT += tests/jumbo-bridge.at
TESTSUITE_AT += tests/ovs-mtu.at
TESTSUITE_AT += tests/jumbo-bfd.at
TESTSUITE_AT += tests/jumbo-turn.at

SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-macros.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-show.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-limits.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-pool.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-plan.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-headroom.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-keep.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-oversize.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-change.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-bond.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-low.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-restart.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-error.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-bridge.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-paths.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-guest.at

EXTRA_DIST += tests/fuzz-jumbo.c
EXTRA_DIST += tests/jumbo-guest.py
EXTRA_DIST += tests/jumbo-relay.py
EXTRA_DIST += tests/ovs-mtu.schema.json

tests_ovstest_SOURCES += tests/test-jumbo-demand.c
tests_ovstest_SOURCES += tests/test-jumbo-layout.c
tests_ovstest_SOURCES += tests/test-jumbo-mtu.c
tests_ovstest_SOURCES += tests/test-jumbo-turn.c

if DPDK_NETDEV
tests_ovstest_SOURCES += tests/test-jumbo-pool.c
noinst_DATA += tests/jumbo-inject.so
endif
EXTRA_DIST += tests/jumbo-inject.c
CLEANFILES += tests/jumbo-inject.so
tests/jumbo-inject.so: tests/jumbo-inject.c
	$(AM_V_CCLD)$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) \
	  $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ \
	  $(srcdir)/tests/jumbo-inject.c

bin_SCRIPTS += utilities/ovs-mtu
completion_SCRIPTS += utilities/ovs-mtu-bashcomp.bash
MAN_ROOTS += utilities/ovs-mtu.8
man_MANS += utilities/ovs-mtu.8
EXTRA_DIST += utilities/ovs-mtu.in
EXTRA_DIST += utilities/ovs-mtu-bashcomp.bash
CLEANFILES += utilities/ovs-mtu
FLAKE8_PYFILES += utilities/ovs-mtu.in
