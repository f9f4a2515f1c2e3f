# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Copying and distribution of this file, with or without modification,
# are permitted in any medium without royalty provided the copyright
# notice and this notice are preserved.  This file is offered as-is,
# without warranty of any kind.
#
# One file a line: each line comes with the patch that first uses its file.

TESTSUITE_AT += tests/jumbo-macros.at
TESTSUITE_AT += tests/jumbo-check-macros.at
TESTSUITE_AT += tests/bond-members.at
TESTSUITE_AT += tests/ofproto-mtu.at
TESTSUITE_AT += tests/netdev-mtu.at
TESTSUITE_AT += tests/dpdk-mempool-demand.at
TESTSUITE_AT += tests/dpdk-mempool.at
TESTSUITE_AT += tests/dpdk-rx.at
TESTSUITE_AT += tests/ovsdb-idl-column.at
TESTSUITE_AT += tests/vswitchd-startup.at
TESTSUITE_AT += tests/vswitchd-mtu-error.at
TESTSUITE_AT += tests/ovs-vsctl-mtu.at
TESTSUITE_AT += tests/vswitchd-bridge-mtu.at
TESTSUITE_AT += tests/ovs-mtu.at
TESTSUITE_AT += tests/bfd-mtu.at
TESTSUITE_AT += tests/bfd-controller.at
TESTSUITE_AT += tests/bfd-path-mtu.at
TESTSUITE_AT += tests/lldp.at
TESTSUITE_AT += tests/tunnel-pmtu.at
TESTSUITE_AT += tests/tnl-too-big.at

SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-macros.at
SYSTEM_DPDK_TESTSUITE_AT += tests/jumbo-check-macros.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-internal.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-segments.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-push.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-burst.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-vlan.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-away.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-fallback.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-buffers.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-stats.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-show.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-limits.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-mempool.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-plan.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-host.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-headroom.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-grow.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-keep.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-oversize.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-change.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-prepared.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-low.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-restart.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-error.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-kernel.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-lldp.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-bridge.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-paths.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-guest.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-metrics.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-check.at
SYSTEM_DPDK_TESTSUITE_AT += tests/system-dpdk-tunnel.at

EXTRA_DIST += tests/fuzz-netdev-mtu.c
EXTRA_DIST += tests/frame_kinds.py
EXTRA_DIST += tests/vhost-guest.py
EXTRA_DIST += tests/tnl-too-big.py
EXTRA_DIST += tests/ovsdb-relay.py
EXTRA_DIST += tests/tcp-transfer.py
EXTRA_DIST += tests/ovs-mtu.schema.json
EXTRA_DIST += tests/ovs-mtu-prometheus.py
EXTRA_DIST += tests/ovs-mtu-rules-test.yml
EXTRA_DIST += tests/inet_checksum.py
EXTRA_DIST += tests/tunnel-pmtu.py

tests_ovstest_SOURCES += tests/test-bfd-path-mtu.c
tests_ovstest_SOURCES += tests/test-dpdk-mempool-demand.c
tests_ovstest_SOURCES += tests/test-netdev-mtu.c
tests_ovstest_SOURCES += tests/test-tnl-pmtu.c

if DPDK_NETDEV
tests_ovstest_SOURCES += tests/test-dpdk-mempool.h
tests_ovstest_SOURCES += tests/test-dpdk-mempool.c
tests_ovstest_SOURCES += tests/test-dpdk-rx.c
endif

include tests/dpdk-inject.mk
