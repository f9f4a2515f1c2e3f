# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Copying and distribution of this file, with or without modification,
# are permitted in any medium without royalty provided the copyright
# notice and this notice are preserved.  This file is offered as-is,
# without warranty of any kind.
#
# One file a line: each line comes with the patch that first uses its file.

lib_libopenvswitch_la_SOURCES += lib/bfd-path-mtu.c
lib_libopenvswitch_la_SOURCES += lib/bfd-path-mtu.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-driver.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-driver.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-frame.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-demand.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-demand.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-compat.h
lib_libopenvswitch_la_SOURCES += lib/netdev-mtu.c
lib_libopenvswitch_la_SOURCES += lib/netdev-mtu.h
lib_libopenvswitch_la_SOURCES += lib/tnl-pmtu.c
lib_libopenvswitch_la_SOURCES += lib/tnl-pmtu.h
lib_libopenvswitch_la_SOURCES += lib/tnl-too-big.c
lib_libopenvswitch_la_SOURCES += lib/tnl-too-big.h

if DPDK_NETDEV
lib_libopenvswitch_la_SOURCES += lib/dpdk-memory.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-memory.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-grow.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-grow.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-plan.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-plan.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-show.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool-show.h
lib_libopenvswitch_la_SOURCES += lib/dpdk-mempool.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-rx.c
lib_libopenvswitch_la_SOURCES += lib/dpdk-rx.h
endif
