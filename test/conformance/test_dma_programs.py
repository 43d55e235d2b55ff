#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's programs that copy with DMA devices, on the dmadev driver: dpdk-test-dma-perf and examples/dma.

usage: test_dma_programs.py LAUNCHER DRIVER
"""
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time

from launched import LAUNCHER, clean_env, main
from dma_driver import ABI, LOAD, SMALL_PAGES, DmaCase

PATIENCE_S = 400
TWO_LCORES = '--lcores=0@0,1@0'

# Since 24.03, dpdk-test-dma-perf supports lists, and its configuration names a worker's device in another form. Since
# ABI 26, settings for all cases have a section of their own, [GLOBAL]; before, each case had to repeat them.
LISTS = [(1, 1), (4, 1), (1, 4), (4, 4)] if ABI >= 25 else [(1, 1)]
WORKER = 'lcore_dma0=lcore=1,dev=%s,dir=mem2mem' if ABI >= 25 else 'lcore_dma=lcore1@%s'
HAS_GLOBAL = ABI >= 26
SIZES = (64, 4096)
PERF_CASE = '''[case%d]
type=DMA_MEM_COPY
mem_size=4
buf_size=%d,%d,%d,MUL
dma_ring_size=1024
kick_batch=32
src_numa_node=0
dst_numa_node=0
'''

N_PACKETS = 2000  # not more than the ring of examples/dma holds
PCAP_HEADER = struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)


def write_pcap(path, packets):
    with open(path, 'wb') as file:
        file.write(PCAP_HEADER)
        for packet in packets:
            file.write(struct.pack('<IIII', 0, 0, len(packet), len(packet)) + packet)


def read_pcap(path):
    with open(path, 'rb') as file:
        data = file.read()
    at, packets = len(PCAP_HEADER), []
    while at < len(data):
        length = struct.unpack_from('<8xI', data, at)[0]
        packets.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return packets


class Programs(DmaCase):
    def test_dpdk_test_dma_perf_copies_right_bytes(self):
        """The program compares the bytes of each buffer. It continues if they differ, so the test checks its output."""
        cases = [(device, *lists) for device in ('dma_mlx5_0', 'dma_mlx5_1') for lists in LISTS]
        config = os.path.join(self.tmp, 'perf.ini')
        vdevs = '--vdev dma_mlx5_0 --vdev dma_mlx5_1,mode=rdma'
        of_all = f'eal_args={" ".join([*LOAD, *SMALL_PAGES, TWO_LCORES])} {vdevs}\ncache_flush=0\ntest_seconds=1\n'
        with open(config, 'w', encoding='ascii') as file:
            if HAS_GLOBAL:
                file.write('[GLOBAL]\n' + of_all)
            for i, (device, n_src, n_dst) in enumerate(cases, 1):
                file.write(PERF_CASE % (i, *SIZES, SIZES[1] // SIZES[0]) + WORKER % device + '\n')
                file.write('' if HAS_GLOBAL else of_all)
                if (n_src, n_dst) != (1, 1):
                    file.write(f'dma_src_sge={n_src}\ndma_dst_sge={n_dst}\n')
        out = self.output('dpdk-test-dma-perf', '--config', config, '--result', os.path.join(self.tmp, 'perf.csv'),
                          LD_LIBRARY_PATH=self.FOLDERS)
        self.assertNotRegex(out, '(?i)fail|error|invalid|killed')
        rates = re.findall(r'Buffer Size: (\d+) B.*\n(?:Average )?Bandwidth: [\d.]+ Gbps, MOps: ([\d.]+)', out)
        self.assertEqual([int(size) for size, _ in rates], list(SIZES) * len(cases), out)
        self.assertTrue(all(float(rate) > 0 for _, rate in rates), out)
        print(f'counted: dpdk-test-dma-perf: {len(rates)} measurements')

    def build_example(self):
        prefix = self.output('pkg-config', '--variable=prefix', 'libdpdk').strip()
        source = os.path.join(prefix, 'share/dpdk/examples/dma')
        if not os.path.isdir(source):
            self.skipTest(f'{source} is not there: package dpdk-doc')
        folder = os.path.join(self.tmp, 'dma')
        shutil.copytree(source, folder)
        self.output('make', '-C', folder, 'shared')
        return os.path.join(folder, 'build/dmafwd')

    def forward(self, program, *vdevs, lcores):
        """Runs the example until it has sent all packets."""
        argv = [LAUNCHER, program, *LOAD, '--no-huge', '--no-shconf', '-m', '512', lcores]
        argv += [word for vdev in vdevs for word in ('--vdev', vdev)]
        argv += ['--', '-p', '0x3', '-q', '1', '-c', 'hw', '--no-mac-updating']
        printed = os.path.join(self.tmp, 'printed')
        with open(printed, 'wb') as file, \
                subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                 env=clean_env(TMPDIR=self.tmp, LD_LIBRARY_PATH=self.FOLDERS)) as process:
            end, sent = time.monotonic() + PATIENCE_S, ['0', '0']
            while process.poll() is None and time.monotonic() < end and sent != [str(N_PACKETS)] * 2:
                time.sleep(0.2)
                with open(printed, encoding='utf-8', errors='replace') as file:
                    sent = re.findall(r'Packets sent: +(\d+)\n', file.read())[-2:]
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE_S)
            finally:
                process.kill()
        with open(printed, encoding='utf-8', errors='replace') as file:
            out = file.read()
        self.assertEqual(process.returncode, 0, out)
        return out

    def test_examples_dma_sends_each_packet(self):
        program = self.build_example()
        draw = random.Random(1)
        packets = [[draw.randbytes(draw.randint(60, 1514)) for _ in range(N_PACKETS)] for _ in range(2)]
        for port in (0, 1):
            write_pcap(os.path.join(self.tmp, f'in{port}.pcap'), packets[port])
        ports = [f'net_pcap{port},rx_pcap={self.tmp}/in{port}.pcap,tx_pcap={self.tmp}/out{port}.pcap' for port in (0, 1)]
        n_packets = 0
        for lcores in (TWO_LCORES, '--lcores=0@0,1@0,2@0'):
            for mode in ('auto', 'rdma'):
                out = self.forward(program, f'dma_mlx5_0,mode={mode}', f'dma_mlx5_1,mode={mode}', *ports, lcores=lcores)
                # Each port sends the packets that it has received. (assertEqual() would search for differences for
                # minutes.)
                for port in (0, 1):
                    sent = read_pcap(os.path.join(self.tmp, f'out{port}.pcap'))
                    self.assertEqual(len(sent), N_PACKETS, out)
                    self.assertTrue(sent == packets[port], f'port {port}: packets differ')
                copies = re.findall(r'Total completed ops: (\d+)\n\t Total failed ops: (\d+)\n', out)[-2:]
                self.assertEqual(copies, [(str(N_PACKETS), '0')] * 2, out)
                n_packets += 2 * N_PACKETS
        print(f'counted: examples/dma: {n_packets} packets')


if __name__ == '__main__':
    main()
