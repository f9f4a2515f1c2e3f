# Copyright (c) 2026 netdev-dpdk-jumbo developers.
#
# Copying and distribution of this file, with or without modification,
# are permitted in any medium without royalty provided the copyright
# notice and this notice are preserved.  This file is offered as-is,
# without warranty of any kind.

if DPDK_NETDEV
noinst_DATA += tests/dpdk-inject.so
endif
EXTRA_DIST += tests/dpdk-inject.c
CLEANFILES += tests/dpdk-inject.so
tests/dpdk-inject.so: tests/dpdk-inject.c
	$(AM_V_CCLD)$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) \
	  $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -shared -fPIC -o $@ \
	  $(srcdir)/tests/dpdk-inject.c
