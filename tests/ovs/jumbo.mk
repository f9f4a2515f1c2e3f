# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Copying and distribution of this file, with or without modification,
# are permitted in any medium without royalty provided the copyright
# notice and this notice are preserved.  This file is offered as-is,
# without warranty of any kind.

# One file a line: each line comes with the patch that first uses its file.

TESTSUITE_AT += tests/jumbo.at
TESTSUITE_AT += tests/jumbo-bond.at
TESTSUITE_AT += tests/jumbo-mtu.at
TESTSUITE_AT += tests/jumbo-demand.at
TESTSUITE_AT += tests/jumbo-layout.at
TESTSUITE_AT += tests/jumbo-pool.at
TESTSUITE_AT += tests/jumbo-grow.at
TESTSUITE_AT += tests/jumbo-rx.at
TESTSUITE_AT += tests/jumbo-idl.at
TESTSUITE_AT += tests/jumbo-startup.at
TESTSUITE_AT += tests/jumbo-error.at
TESTSUITE_AT += tests/jumbo-vsctl.at
TESTSUITE_AT += tests/jumbo-bridge.at
TESTSUITE_AT += tests/ovs-mtu.at
TESTSUITE_AT += tests/jumbo-bfd.at
TESTSUITE_AT += tests/jumbo-turn.at

SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-macros.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-segments.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-vlan.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-away.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-fallback.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-buffers.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-stats.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-show.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-limits.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-pool.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-plan.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-host.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-headroom.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-dpdk-grow.at
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
tests_ovstest_SOURCES += tests/test-jumbo-dpdk.h
tests_ovstest_SOURCES += tests/test-jumbo-grow.c
tests_ovstest_SOURCES += tests/test-jumbo-pool.c
tests_ovstest_SOURCES += tests/test-jumbo-rx.c
endif

include tests/jumbo-inject.mk
