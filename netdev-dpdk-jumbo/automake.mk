# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Copying and distribution of this file, with or without modification,
# are permitted in any medium without royalty provided the copyright
# notice and this notice are preserved.  This file is offered as-is,
# without warranty of any kind.

lib_libopenvswitch_la_SOURCES += \
	lib/netdev-dpdk-jumbo/compat.h \
	lib/netdev-dpdk-jumbo/jumbo-demand.c \
	lib/netdev-dpdk-jumbo/jumbo-demand.h \
	lib/netdev-dpdk-jumbo/jumbo-frame.h \
	lib/netdev-dpdk-jumbo/jumbo-mtu.c \
	lib/netdev-dpdk-jumbo/jumbo-mtu.h \
	lib/netdev-dpdk-jumbo/jumbo-path.c \
	lib/netdev-dpdk-jumbo/jumbo-path.h \
	lib/netdev-dpdk-jumbo/jumbo-pool.h \
	lib/netdev-dpdk-jumbo/jumbo-tunnel.c \
	lib/netdev-dpdk-jumbo/jumbo-tunnel.h

if DPDK_NETDEV
lib_libopenvswitch_la_SOURCES += \
	lib/netdev-dpdk-jumbo/jumbo-pool.c \
	lib/netdev-dpdk-jumbo/jumbo-rx.c \
	lib/netdev-dpdk-jumbo/jumbo-rx.h \
	lib/netdev-dpdk-jumbo/jumbo-show.c \
	lib/netdev-dpdk-jumbo/jumbo-show.h
endif

TESTSUITE_AT += \
	tests/jumbo-mtu.at \
	tests/jumbo-demand.at \
	tests/jumbo-pool.at \
	tests/jumbo-idl.at \
	tests/jumbo-error.at \
	tests/jumbo-vsctl.at \
	tests/jumbo-bridge.at \
	tests/jumbo-path.at \
	tests/jumbo-vsctl-show.at

SYSTEM_DPDK_TESTSUITE_AT += \
	tests/jumbo-macros.at \
	tests/jumbo-dpdk-show.at \
	tests/jumbo-dpdk-limits.at \
	tests/jumbo-dpdk-pool.at \
	tests/jumbo-dpdk-plan.at \
	tests/jumbo-dpdk-headroom.at \
	tests/jumbo-dpdk-keep.at \
	tests/jumbo-dpdk-oversize.at \
	tests/jumbo-dpdk-restart.at \
	tests/jumbo-dpdk-error.at \
	tests/jumbo-dpdk-bridge.at \
	tests/jumbo-dpdk-guest.at \
	tests/jumbo-dpdk-path.at

EXTRA_DIST += tests/fuzz-jumbo.c tests/jumbo-guest.py \
	tests/jumbo-path.schema.json

tests_ovstest_SOURCES += \
	tests/test-jumbo-demand.c \
	tests/test-jumbo-mtu.c

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
