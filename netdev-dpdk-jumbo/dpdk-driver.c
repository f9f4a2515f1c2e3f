/*
 * Copyright (c) 2026 netdev-dpdk-jumbo developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>

#include "dpdk-driver.h"

#include <string.h>

#include "dpdk-mempool-layout.h"
#include "packets.h"
#include "util.h"

/* Drivers that keep no record of a mempool's memory, so that they receive
 * into, and send, mbufs that it gets while they run, as known from their
 * sources in DPDK 22.11, 24.11 and 25.11, and for the virtual ones also from
 * tests.  The driver of AF_XDP receives into a mempool of its own, and copies
 * what it sends from others. */
static const char *const growing_drivers[] = {
    /* Virtual devices that take mbufs only when there are packets. */
    "net_af_packet", "net_memif", "net_null", "net_pcap", "net_ring",
    "net_vhost",

    /* Virtual devices that keep an mbuf in each descriptor. */
    "net_af_xdp", "net_tap", "net_tun", "net_virtio_user",

    /* PCI devices. */
    "net_ark", "net_atlantic", "net_avp", "net_axgbe", "net_bnx2x",
    "net_bnx2xvf", "net_bnxt", "net_cpfl", "net_cxgbe", "net_cxgbevf",
    "net_e1000_em", "net_e1000_igb", "net_e1000_igb_vf", "net_ena",
    "net_enetc", "net_enetc4", "net_enetc4_vf", "net_enic", "net_fm10k",
    "net_gve", "net_hinic", "net_hinic3", "net_hns3", "net_hns3_vf",
    "net_i40e", "net_iavf", "net_ice", "net_ice_dcf", "net_idpf", "net_igc",
    "net_ionic_pci", "net_ixgbe", "net_ixgbe_vf", "net_liovf", "net_nfb",
    "net_nfp_pf", "net_nfp_vf", "net_ngbe", "net_ngbe_vf", "net_ntnic",
    "net_otx_ep", "net_qede", "net_qede_vf", "net_r8169", "net_rnp",
    "net_txgbe", "net_txgbe_vf", "net_vcpf", "net_virtio", "net_xsc",
    "net_zxdh", "nfp_common_pci",
};

/* Other drivers of DPDK. */
static const char *const other_drivers[] = {
    "cnxk_eswitch", "mlx5_auxiliary", "mlx5_pci", "net_bonding", "net_cn10k",
    "net_cn20k", "net_cn9k", "net_dpaa", "net_dpaa2", "net_failsafe",
    "net_ionic", "net_ipn3ke_afu", "net_kni", "net_mana", "net_mlx4",
    "net_mvneta", "net_mvpp2", "net_nbl", "net_netvsc", "net_octeontx",
    "net_sfc_efx", "net_softnic", "net_thunderx", "net_vmxnet3",
};

/* How many growing drivers, from the first on, take mbufs only when there are
 * packets. */
#define N_PER_BURST 6

/* Devargs with which a driver does keep mbufs, or a record of their memory:
 * net_memif's and net_pcap's. */
static const char *const keeping_devargs[] = {
    "zero-copy=yes", "infinite_rx=1",
};

/* Drivers whose devices pass the mempool on to other devices, their members.
 * Each member has as many queues as the whole device. */
static const struct {
    const char *name;
    const char *keys[4];        /* Each is in the devargs once per member. */
    unsigned int n_other;       /* Not shown by devargs: itself, and a virtual
                                 * function. */
} stacked_drivers[] = {
    { "net_bonding", { "slave=", "member=" }, 0 },
    { "net_failsafe", { "dev(", "exec(", "fd(" }, 0 },
    { "net_netvsc", { NULL }, 2 },
};

/* Drivers that fill several receive rings for a queue, as known from their
 * sources in DPDK 22.11, 24.11 and 25.11:
 *
 *   - net_bnxt has another one, 4 times as long, for what doesn't fit into the
 *     first buffer (bnxt_ring.h, AGG_RING_SIZE_FACTOR), if RX scatter is
 *     requested, which Open vSwitch does for an MTU above 1500.
 *
 *   - net_bnx2x takes whole pages, of which it can't use all, so that 2048
 *     descriptors become 4096 (bnx2x_rxtx.c, bnx2x_dev_rx_queue_setup()).
 *
 *   - net_idpf and net_cpfl have two buffer queues (idpf_rxtx.c, cpfl_rxtx.c),
 *     net_vmxnet3 two command rings (vmxnet3_rxtx.c,
 *     vmxnet3_dev_rx_queue_setup()). */
static const struct {
    const char *name;
    unsigned int n_rings;
    int above;                  /* The MTU above which there are so many. */
} ring_drivers[] = {
    { "net_bnxt", 5, ETH_PAYLOAD_MAX },
    { "net_bnx2x", 2, 0 },
    { "net_bnx2xvf", 2, 0 },
    { "net_cpfl", 2, 0 },
    { "net_idpf", 2, 0 },
    { "net_vcpf", 2, 0 },
    { "net_vmxnet3", 2, 0 },
};

/* Drivers whose devices accept another MTU while they run, as long as a frame
 * fits into their buffers, as known from their sources in DPDK 22.11 and
 * 25.11, and from tests.  Other drivers restart the device themselves
 * (vmxnet3_ethdev.c, vmxnet3_dev_mtu_set()), or have set up their queues for
 * the previous MTU (mlx5_rxq.c, mlx5_mprq_prepare()). */
static const char *const running_drivers[] = {
    "net_af_packet", "net_e1000_em", "net_null", "net_tap", "net_tun",
    "net_virtio", "net_virtio_user",
};

static bool
is_in(const char *driver, const char *const drivers[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(driver, drivers[i])) {
            return true;
        }
    }
    return false;
}

static unsigned int
count(const char *s, const char *what)
{
    unsigned int n = 0;

    for (s = strstr(s, what); s; s = strstr(s + strlen(what), what)) {
        n++;
    }
    return n;
}

/* Returns how many devices receive into the mempool of a device of 'driver'
 * with 'devargs'. */
static unsigned int
count_devices(const char *driver, const char *devargs)
{
    for (int i = 0; i < ARRAY_SIZE(stacked_drivers); i++) {
        const char *const *keys = stacked_drivers[i].keys;
        unsigned int n = stacked_drivers[i].n_other;

        if (strcmp(driver, stacked_drivers[i].name)) {
            continue;
        }
        for (; devargs && *keys; keys++) {
            n += count(devargs, *keys);
        }
        return n;
    }
    return 1;
}

/* Sets in 'needs', whose queues and descriptors are set, what follows from
 * 'driver', the name in rte_eth_dev_info, and from 'devargs'.  If 'driver' is
 * NULL, there is no device. */
void
dpdk_driver_apply(const char *driver, const char *devargs,
                  struct mempool_needs *needs)
{
    needs->rx_filled = needs->rx_descs;
    if (!driver) {
        needs->grows_in_place = true;
        return;
    }

    needs->grows_in_place = is_in(driver, growing_drivers,
                                  ARRAY_SIZE(growing_drivers));
    if (is_in(driver, growing_drivers, N_PER_BURST)) {
        needs->rx_filled = 0;
    }
    for (int i = 0; devargs && i < ARRAY_SIZE(keeping_devargs); i++) {
        if (strstr(devargs, keeping_devargs[i])) {
            needs->grows_in_place = false;
            needs->rx_filled = needs->rx_descs;
        }
    }

    /* These have room for no more (rte_eth_tap.h, the limit of writev()), or
     * mostly have shorter rings, and start with what there is
     * (virtio_user_ethdev.c, VIRTIO_USER_DEF_Q_SZ; QEMU's default; and
     * virtio_rxtx.c, virtio_dev_rx_queue_setup_finish()). */
    if (!strcmp(driver, "net_tap") || !strcmp(driver, "net_tun")) {
        needs->rx_filled = MIN(needs->rx_filled, needs->n_rxq * 1023);
    } else if (!strcmp(driver, "net_virtio")
               || !strcmp(driver, "net_virtio_user")) {
        needs->rx_filled = MIN(needs->rx_filled, needs->n_rxq * 256);
    }

    for (int i = 0; i < ARRAY_SIZE(ring_drivers); i++) {
        if (!strcmp(driver, ring_drivers[i].name)) {
            needs->n_rings = ring_drivers[i].n_rings;
            needs->rings_above = ring_drivers[i].above;
        }
    }

    /* The driver doesn't release a receive queue's socket before it opens the
     * next one (rte_eth_af_xdp.c, eth_rx_queue_setup()). */
    needs->starts_once = !strcmp(driver, "net_af_xdp");

    needs->n_devices = count_devices(driver, devargs);
}

/* Returns true if running devices of 'driver' accept another MTU whose frames
 * fit into their buffers. */
bool
dpdk_driver_changes_mtu(const char *driver)
{
    return is_in(driver, running_drivers, ARRAY_SIZE(running_drivers));
}

/* Returns true if 'driver' is one of DPDK's. */
bool
dpdk_driver_exists(const char *driver)
{
    return (is_in(driver, growing_drivers, ARRAY_SIZE(growing_drivers))
            || is_in(driver, other_drivers, ARRAY_SIZE(other_drivers)));
}
