#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's mlx5 drivers, as Debian ships them, find the emulated adapter and go as far as it can serve them.

Each driver takes some part ids only (its table of PCI ids), and asks for capabilities before it uses them.
The messages are the drivers' own (drivers/compress/mlx5, drivers/crypto/mlx5, drivers/net/mlx5 of DPDK 22.11).

usage: test_dpdk.py LAUNCHER
"""
import glob
import os

from launched import Case, HELLO, main

FUNCTION = 'ca00:00:01.0'
BLUEFIELD_2, BLUEFIELD_3, CONNECTX_6DX = 0xa2d6, 0xa2dc, 0x101d


class Probe(Case):
    def dpdk(self, program, driver, *argv, part_id=4129, status=0, **settings):
        """Runs a program of DPDK with the adapter given to one driver. Returns all that it prints."""
        if not glob.glob(f'/usr/lib/*/dpdk/pmds-*/librte_{driver}_mlx5.so'):
            self.skipTest(f'DPDK\'s driver {driver}_mlx5 is not installed')
        name = {'net': 'eth'}.get(driver, driver)
        result = self.run_on(program, '--no-huge', '--no-shconf', '--no-telemetry', '-m', '256',
                             '--lcores', '0@0,1@0', '-a', f'{FUNCTION},class={name}',
                             f'--log-level=pmd.{driver}.mlx5:debug', *argv, status=status,
                             SOFTHCA_PART_ID=str(part_id), **settings)
        self.assertIn(HELLO % part_id, result.stderr)
        out = result.stdout + result.stderr
        self.assertIn(f'Probe PCI driver: mlx5_pci (15b3:{part_id:x}) device: {FUNCTION}', out)
        return out

    def compress(self, part_id):
        data = os.path.join(self.tmp, 'data')
        with open(data, 'w', encoding='ascii') as f:
            f.write('Gantry ' * 1000)
        return self.dpdk('dpdk-test-compress-perf', 'compress', '--', '--driver-name', 'mlx5_pci',
                         '--input-file', data, part_id=part_id, status=None)

    def test_compress_has_a_queue_pair_and_lacks_the_capability(self):
        for part_id in (BLUEFIELD_2, BLUEFIELD_3):
            out = self.compress(part_id)
            self.assertIn('mlx5_compress: Compress device mlx5_0 was created successfully.', out)
            self.assertRegex(out, r'mlx5_compress: QP 0: SQN=0x[0-9A-F]+ CQN=0x[0-9A-F]+ entries num = 512')
            self.assertIn('mlx5_compress: Not enough capabilities to support compress operation', out)
            self.assertIn('Private xform could not be created', out)

    def test_compress_takes_bluefield_only(self):
        self.assertIn(f'Requested device {FUNCTION} cannot be used', self.compress(4129))

    def test_crypto_is_made_where_the_objects_exist(self):
        out = self.dpdk('dpdk-test', 'crypto', part_id=CONNECTX_6DX, SOFTHCA_CRYPTO='plaintext')
        self.assertIn('mlx5_crypto: Crypto device mlx5_0 was created successfully.', out)
        out = self.dpdk('dpdk-test', 'crypto', part_id=CONNECTX_6DX)
        self.assertIn('mlx5_crypto: Not enough capabilities to support crypto operations', out)

    def test_net_finds_no_network_interface(self):
        out = self.dpdk('dpdk-test', 'net')
        self.assertIn('mlx5_net: PCI information matches for device "mlx5_0"', out)
        self.assertIn('mlx5_net: Unable to recognize master/representors on the multiple IB devices.', out)

    def test_net_with_a_network_interface_lacks_receive_queues(self):
        out = self.dpdk('dpdk-test', 'net', SOFTHCA_NETDEV='lo')
        self.assertIn('mlx5_common: DevX create RQ failed', out)
        self.assertIn('mlx5_net: Cannot create drop RX queue', out)


if __name__ == '__main__':
    main()
