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

#include <limits.h>
#include <string.h>

#include "dpdk-mempool-demand.h"
#include "packets.h"
#include "util.h"

/* As known from their sources in DPDK 22.11, 24.11 and 25.11, and for the
 * virtual ones also from tests.
 *
 * Receive rings:
 *
 *   - net_bnxt has another one for a queue, 4 times as long, for what doesn't
 *     fit into the first buffer (bnxt_ring.h, AGG_RING_SIZE_FACTOR), if RX
 *     scatter is requested, which Open vSwitch does for an MTU above 1500.
 *
 *   - net_bnx2x takes whole pages, of which it can't use all, so that 2048
 *     descriptors become 4096 (bnx2x_rxtx.c, bnx2x_dev_rx_queue_setup()).
 *
 *   - net_idpf and net_cpfl have two buffer queues (idpf_rxtx.c, cpfl_rxtx.c),
 *     net_vmxnet3 two command rings (vmxnet3_rxtx.c,
 *     vmxnet3_dev_rx_queue_setup()).
 *
 *   - net_tap and net_tun have room for no more than 1023 mbufs
 *     (rte_eth_tap.h, the limit of writev()).  Those of virtio mostly have
 *     shorter rings, and start with what there is (virtio_user_ethdev.c,
 *     VIRTIO_USER_DEF_Q_SZ; QEMU's default; virtio_rxtx.c,
 *     virtio_dev_rx_queue_setup_finish()).
 *
 * A different MTU while they run: drivers that aren't marked restart the
 * device themselves (vmxnet3_ethdev.c, vmxnet3_dev_mtu_set()), or have set up
 * their queues for the previous MTU (mlx5_rxq.c, mlx5_mprq_prepare()).
 *
 * The MTU: net_pcap receives frames from a memory-mapped ring of libpcap's,
 * which cuts them at 16,128 bytes (measured with libpcap 1.10.3).  They can't
 * be told from whole ones of that length, which are too long for this MTU,
 * with two VLAN tags, too.
 *
 * A mempool's memory: net_af_xdp, for example, registers it when a port starts
 * (rte_eth_af_xdp.c, xdp_umem_configure()), and so does mlx5 (mlx5_rxq.c,
 * mlx5_mr_mempool_register()). */
static const struct dpdk_driver drivers[] = {
    /* Virtual devices. */
    { .name = "net_af_packet", .per_burst = true,
      .changes_mtu = true },
    { .name = "net_memif", .per_burst = true },
    { .name = "net_null", .per_burst = true,
      .changes_mtu = true },
    { .name = "net_pcap", .per_burst = true, .max_mtu = 16105 },
    { .name = "net_ring", .per_burst = true },
    { .name = "net_tap", .most_filled = 1023,
      .changes_mtu = true },
    { .name = "net_tun", .most_filled = 1023,
      .changes_mtu = true },
    { .name = "net_vhost", .per_burst = true },
    { .name = "net_virtio_user", .most_filled = 256,
      .changes_mtu = true },

    /* Other devices. */
    { .name = "net_ark" },
    { .name = "net_atlantic" },
    { .name = "net_avp" },
    { .name = "net_axgbe" },
    { .name = "net_bnx2x", .n_rings = 2 },
    { .name = "net_bnx2xvf", .n_rings = 2 },
    { .name = "net_bnxt", .n_rings = 5, .rings_above = ETH_PAYLOAD_MAX },
    { .name = "net_cpfl", .n_rings = 2 },
    { .name = "net_cxgbe" },
    { .name = "net_cxgbevf" },
    { .name = "net_e1000_em", .changes_mtu = true },
    { .name = "net_e1000_igb" },
    { .name = "net_e1000_igb_vf" },
    { .name = "net_ena" },
    { .name = "net_enetc" },
    { .name = "net_enetc4" },
    { .name = "net_enetc4_vf" },
    { .name = "net_enic" },
    { .name = "net_fm10k" },
    { .name = "net_gve" },
    { .name = "net_hinic" },
    { .name = "net_hinic3" },
    { .name = "net_hns3" },
    { .name = "net_hns3_vf" },
    { .name = "net_i40e" },
    { .name = "net_iavf" },
    { .name = "net_ice" },
    { .name = "net_ice_dcf" },
    { .name = "net_idpf", .n_rings = 2 },
    { .name = "net_igc" },
    { .name = "net_ionic_pci" },
    { .name = "net_ixgbe" },
    { .name = "net_ixgbe_vf" },
    { .name = "net_liovf" },
    { .name = "net_nfb" },
    { .name = "net_nfp_pf" },
    { .name = "net_nfp_vf" },
    { .name = "net_ngbe" },
    { .name = "net_ngbe_vf" },
    { .name = "net_ntnic" },
    { .name = "net_otx_ep" },
    { .name = "net_qede" },
    { .name = "net_qede_vf" },
    { .name = "net_r8169" },
    { .name = "net_rnp" },
    { .name = "net_txgbe" },
    { .name = "net_txgbe_vf" },
    { .name = "net_vcpf", .n_rings = 2 },
    { .name = "net_virtio", .most_filled = 256, .changes_mtu = true },
    { .name = "net_xsc" },
    { .name = "net_zxdh" },
    { .name = "nfp_common_pci" },

    /* Those that keep a record of a mempool's memory. */
    { .name = "cnxk_eswitch", .keeps_record = true },
    { .name = "mlx5_auxiliary", .keeps_record = true },
    { .name = "mlx5_pci", .keeps_record = true },
    { .name = "net_af_xdp", .keeps_record = true },
    { .name = "net_bonding", .keeps_record = true,
      .member_keys = { "slave=", "member=" } },
    { .name = "net_cn10k", .keeps_record = true },
    { .name = "net_cn20k", .keeps_record = true },
    { .name = "net_cn9k", .keeps_record = true },
    { .name = "net_dpaa", .keeps_record = true },
    { .name = "net_dpaa2", .keeps_record = true },
    { .name = "net_enetfec", .keeps_record = true },
    { .name = "net_failsafe", .keeps_record = true,
      .member_keys = { "dev(", "exec(", "fd(" } },
    { .name = "net_ionic", .keeps_record = true },
    { .name = "net_ipn3ke_afu", .keeps_record = true },
    { .name = "net_kni", .keeps_record = true },
    { .name = "net_mana", .keeps_record = true },
    { .name = "net_mlx4", .keeps_record = true },
    { .name = "net_mvneta", .keeps_record = true },
    { .name = "net_mvpp2", .keeps_record = true },
    { .name = "net_nbl", .keeps_record = true },
    { .name = "net_netvsc", .keeps_record = true, .n_other = 2 },
    { .name = "net_octeontx", .keeps_record = true },
    { .name = "net_pfe", .keeps_record = true },
    { .name = "net_sfc_efx", .keeps_record = true },
    { .name = "net_softnic", .keeps_record = true },
    { .name = "net_thunderx", .keeps_record = true },
    { .name = "net_vmxnet3", .keeps_record = true, .n_rings = 2 },
};

/* Devargs with which a driver keeps mbufs, or a record of their memory:
 * net_memif's and net_pcap's. */
static const char *const keeping_devargs[] = {
    "zero-copy=yes", "infinite_rx=1",
};

/* Returns what is known about the driver 'name', or NULL. */
static const struct dpdk_driver *
find_driver(const char *name)
{
    for (int i = 0; i < ARRAY_SIZE(drivers); i++) {
        if (!strcmp(name, drivers[i].name)) {
            return &drivers[i];
        }
    }
    return NULL;
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

/* Sets in 'needs', those of an Ethernet port, what follows from its driver's
 * 'name', and from 'devargs', which may be NULL. */
void
dpdk_driver_apply(const char *name, const char *devargs,
                  struct mempool_needs *needs)
{
    static const struct dpdk_driver unknown = {
        .name = "", .keeps_record = true,
    };
    const struct dpdk_driver *driver = find_driver(name);

    needs->driver = driver ? driver : &unknown;
    needs->n_devices = needs->driver->n_other;
    needs->keeps_mbufs = false;
    if (devargs) {
        for (const char *const *key = needs->driver->member_keys; *key;
             key++) {
            needs->n_devices += count(devargs, *key);
        }
        for (int i = 0; i < ARRAY_SIZE(keeping_devargs); i++) {
            if (strstr(devargs, keeping_devargs[i])) {
                needs->keeps_mbufs = true;
            }
        }
    }
}

/* Returns true if running devices of the driver 'name' take another MTU whose
 * frames fit into their buffers. */
bool
dpdk_driver_changes_mtu(const char *name)
{
    const struct dpdk_driver *driver = find_driver(name);

    return driver && driver->changes_mtu;
}

/* Returns the largest MTU for which devices of the driver 'name' receive whole
 * frames, whatever they report, or INT_MAX if that isn't known. */
int
dpdk_driver_max_mtu(const char *name)
{
    const struct dpdk_driver *driver = find_driver(name);

    return driver && driver->max_mtu ? driver->max_mtu : INT_MAX;
}

bool
dpdk_driver_is_known(const char *name)
{
    return find_driver(name) != NULL;
}
