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
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-grow.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-grow.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-host.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-host.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-info.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-info.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-memory.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-memory.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-plan.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-plan.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-pool.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-pool-private.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-rx.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-rx.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-show.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-show.h
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-wanted.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-words.c
lib_libopenvswitch_la_SOURCES += lib/netdev-dpdk-jumbo/jumbo-words.h
endif
