#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own test of DMA devices on the dmadev driver, and programs that load the driver by -d.

dpdk-test 22.11 and 23.11 print "Test OK" although a copy or an error case has failed: their runner counts only negative
results as failures, and these cases return 1. So this test checks the lines that dpdk-test prints for the device: each
case must have run, and the counts must be those of a complete run (app/test/test_dmadev.c of DPDK 22.11 to 26.11).

usage: test_dmadev.py LAUNCHER DRIVER NO_SKELETON
"""
import json
import os
import re
import shutil
import subprocess
import sys

from launched import LAUNCHER, clean_env, main
from dma_driver import ABI, DRIVER, DRIVER_BYTES, LOAD, SMALL_PAGES, DmaCase, folders

NO_SKELETON = sys.argv.pop(1)
EAL = [*LOAD, '-l', '0']
HUGE_PAGES = ['--in-memory', '-m', '64']
FREE_PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages'
RING = 512
MAX_SGES = 32

# For each case: the number of operations, and the number of operations that fail.
COPIES = 640 * (1 + 4 + 4 * 32)
CAPACITY = 2 * (65536 // RING) * (RING // 128 + 1) * 64
# Without and with fences: 4 positions of the error, 3 ways to find it, bursts of 16. Then 4 errors in each of 2 bursts.
ERRORS = 2 * (4 * 3 * 16 + 2 * 16), 2 * (4 * 3 + 2 * 4)
OPERATIONS = {'copy': (COPIES, 0), 'sg_copy': (MAX_SGES * MAX_SGES, 0), 'stop_start': (1, 0), 'burst_capacity': (CAPACITY, 0),
              'error_handling': ERRORS, 'fill': (6, 0)}
# The cases of each version: 22.11, 23.11, and all later versions.
CASES = {23: ['copy', 'burst_capacity', 'error_handling', 'fill'],
         24: ['copy', 'stop_start', 'burst_capacity', 'error_handling', 'fill']}.get(ABI, list(OPERATIONS))
# From 24.11 on, cases that test the dmadev interface are run first on each device, and the end of each case is printed.
N_SECTIONS = 2 if ABI >= 25 else 1
N_ENDS = {23: 0, 24: 0, 25: 13 + 7}.get(ABI, 14 + 9)
SECTION = r'### Test dmadev (?:infrastructure using|instance) \d+ \[%s\]\n(.*?)(?=###|Test OK|Test Failed|\Z)'
# Cases for devices that report SVA, M2D_AUTO_FREE or OPS_ENQ_DEQ.
BY_CAPABILITY = {'sva_copy', 'm2d_auto_free', 'm2d_autofree', 'dma_enq_deq', 'test_dma_ops_enq_deq'}

# A program that is linked only with EAL.
LOADER = rf'''
import ctypes, sys
eal = ctypes.CDLL('librte_eal.so.{ABI}')
arguments = [b'loader', *(word.encode() for word in sys.argv[1:])]
assert eal.rte_eal_init(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)) >= 0
print(ctypes.CDLL('librte_dmadev.so.{ABI}').rte_dma_count_avail(), 'DMA devices')
assert eal.rte_eal_cleanup() == 0
'''

# As above, but the process also prints its drivers and devices.
STARTER = rf'''
import ctypes, os, sys, time
eal = ctypes.CDLL('librte_eal.so.{ABI}')
arguments = [b'starter', *(word.encode() for word in sys.argv[1:])]
begin = time.monotonic()
assert eal.rte_eal_init(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)) >= 0
print(time.monotonic() - begin)
print('driver', any('librte_dma_mlx5' in line for line in open('/proc/self/maps')))
print('threads', sorted(open(f'/proc/self/task/{{task}}/comm').read() for task in os.listdir('/proc/self/task')))
with os.scandir('/proc/self/fd') as entries:
    print('files', sorted(os.readlink(entry.path).split(':')[0].replace(str(os.getpid()), 'self') for entry in entries))
assert eal.rte_eal_cleanup() == 0
'''

# A primary process, which runs until its input ends.
PRIMARY = rf'''
import ctypes, sys
eal = ctypes.CDLL('librte_eal.so.{ABI}')
arguments = [b'primary', *(word.encode() for word in sys.argv[1:])]
assert eal.rte_eal_init(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)) >= 0
print('ready', flush=True)
sys.stdin.read()
assert eal.rte_eal_cleanup() == 0
'''


class Dmadev(DmaCase):
    FOLDERS = folders(NO_SKELETON)

    def need_huge_pages(self, n=256):
        """Skips the test if too few huge pages are free: other tests may use some at the same time."""
        free = 0
        if os.path.exists(FREE_PAGES):
            with open(FREE_PAGES, encoding='ascii') as f:
                free = int(f.read())
        if free < n:
            self.skipTest(f'{free} huge pages of 2 MiB are free; it takes {n}: vm.nr_hugepages')

    def judge(self, out, device):
        """Checks that every case has run on the device, and has executed all of its operations."""
        sections = re.findall(SECTION % device, out, re.S)
        self.assertEqual(len(sections), N_SECTIONS, out)
        ends = re.findall(r'TestCase \[ *\d+\] : (\w+) (\w+)', ''.join(sections))
        self.assertEqual(len(ends), N_ENDS, out)
        self.assertLessEqual({name for name, end in ends if end != 'succeeded'}, BY_CAPABILITY, out)
        runs = re.split(r'Running ([a-z_ -]+) Tests', sections[-1])[1:]
        names = [re.sub('[ -]', '_', name) for name in runs[::2]]
        texts = {name: text for name, text in zip(names, runs[1::2]) if name not in BY_CAPABILITY}
        self.assertEqual(list(texts), CASES, out)
        for name, text in texts.items():
            # The test prints its counts several times on one line.
            last = re.findall(r'Ops submitted: (\d+)\tOps completed: (\d+)\tErrors: (\d+)\n', text)[-1:]
            operations, errors = OPERATIONS[name]
            self.assertEqual(last, [(str(operations), str(operations), str(errors))], f'{device}, {name}')
        succeeded = [end for _, end in ends].count('succeeded') if ends else len(texts)
        n_operations = sum(OPERATIONS[name][0] for name in texts)
        print(f'counted: dmadev_autotest: {device}: {succeeded} of {N_ENDS or len(CASES)} cases, {n_operations} operations')

    def autotest(self, *memory):
        result = self.run_dpdk('dpdk-test', '-d', os.path.basename(NO_SKELETON), *EAL, *memory, '--vdev', 'dma_mlx5_0',
                               '--vdev', 'dma_mlx5_1,mode=rdma', DPDK_TEST='dmadev_autotest')
        # Lines in which the test reports a failure.
        self.assertEqual(re.findall(r'^In \w+:\d+ - .*', result.stdout + result.stderr, re.M), [])
        self.assertIn('Test OK', result.stdout)
        for device in ('dma_mlx5_0', 'dma_mlx5_1'):
            self.judge(result.stdout, device)

    def test_dmadev_autotest(self):
        self.autotest(*SMALL_PAGES)

    def test_dmadev_autotest_with_huge_pages(self):
        self.need_huge_pages()
        self.autotest(*HUGE_PAGES)

    def test_physical_addresses_are_refused(self):
        self.need_huge_pages()
        result = self.run_dpdk('dpdk-test', *EAL, *HUGE_PAGES, '--iova-mode=pa', '--vdev', 'dma_mlx5_0',
                               DPDK_TEST='version_autotest', status=None)
        if 'Test OK' not in result.stdout:
            self.skipTest('EAL has no physical addresses here: it takes huge pages and the right to look at them')
        self.assertIn('dma_mlx5_0 requires VA IOVA mode', result.stdout + result.stderr)

    def test_a_program_that_links_EAL_alone_loads_it(self):
        result = self.run_dpdk(sys.executable, '-c', LOADER, *EAL, *SMALL_PAGES, '--vdev', 'dma_mlx5_0')
        self.assertIn('1 DMA devices', result.stdout)

    def test_a_program_that_names_no_device_starts_as_without_the_driver(self):
        def start(*driver):
            result = self.run_dpdk(sys.executable, '-c', STARTER, '--no-pci', '--no-telemetry', '-l', '0', *driver, *SMALL_PAGES)
            seconds, loaded, has = result.stdout.split('\n', 2)
            self.assertEqual(loaded, f'driver {driver != ()}')
            return float(seconds), (has, result.stderr)
        starts = [(start(), start(*LOAD[-2:])) for _ in range(5)]
        for (_, plain), (_, with_driver) in starts:
            self.assertEqual(plain, with_driver)
        plain, with_driver = (sorted(pair[i][0] for pair in starts)[2] for i in (0, 1))
        print(f'rte_eal_init(): {1000 * plain:.1f} ms without the driver, {1000 * with_driver:.1f} ms with it, medians of 5')

    def test_a_secondary_process_works_beside_a_primary_one(self):
        self.need_huge_pages(16)
        if shutil.which('dpdk-proc-info') is None:
            self.skipTest('dpdk-proc-info is not installed')
        folder = os.path.join(self.tmp, 'huge')
        os.mkdir(folder)
        if subprocess.run(['mount', '-t', 'hugetlbfs', '-o', 'pagesize=2M', 'none', folder], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest('no right to mount a file system of huge pages')
        self.addCleanup(subprocess.run, ['umount', folder], check=True)
        eal = [*LOAD, '--huge-dir', folder, '--file-prefix', os.path.basename(self.tmp)]
        env = clean_env(LD_LIBRARY_PATH=self.FOLDERS, TMPDIR=self.tmp)
        with subprocess.Popen([LAUNCHER, sys.executable, '-c', PRIMARY, *eal, '-l', '0', '-m', '16', '--vdev', 'dma_mlx5_0'],
                              env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as primary:
            while primary.stdout.readline() not in ('ready\n', ''):
                pass
            result = subprocess.run(['dpdk-proc-info', *eal, '--', '-m'], env=env, capture_output=True, text=True,
                                    timeout=400, check=False)
            primary.communicate('')
        self.assertEqual((primary.returncode, result.returncode), (0, 0), result.stderr)
        said = result.stdout + result.stderr
        self.assertIn('rte_dma_dev_data', said)
        lines = [line for line in said.splitlines() if 'mlx5' in line or 'probe' in line or 'failed' in line]
        self.assertEqual(len(lines), 1, said)
        self.assertIn("dma_mlx5_0 is the primary process's alone", lines[0])

    def test_the_first_adapter_that_can_is_taken(self):
        """First only the last of three adapters has DMA MMO: a device without the argument `device` takes the first
        adapter that can do what `mode` asks for. Then no adapter has DMA MMO: no device is made."""
        def load(*devices, **settings):
            vdevs = [word for device in devices for word in ('--vdev', device)]
            result = self.run_dpdk(sys.executable, '-c', LOADER, *EAL, *SMALL_PAGES, *vdevs, SOFTHCA_DEVICES='3', **settings)
            return result.stdout + result.stderr
        log = load('dma_mlx5_0,mode=mmo', 'dma_mlx5_1', 'dma_mlx5_2,mode=rdma', 'dma_mlx5_3,device=mlx5_1,mode=mmo',
                   SOFTHCA_MMO_FROM='2')
        self.assertEqual(re.findall(r'(mlx5_\d): copies by ([A-Za-z ]+),', log),
                         [('mlx5_2', 'DMA MMO'), ('mlx5_0', 'loopback RDMA write'), ('mlx5_0', 'loopback RDMA write')])
        self.assertIn('mlx5_1 has no DMA MMO', log)
        self.assertIn('3 DMA devices', log)
        log = load('dma_mlx5_0,mode=mmo', SOFTHCA_MMO_FROM='3')
        self.assertIn('no device that may be used has DMA MMO', log)
        self.assertIn('0 DMA devices', log)

    def test_the_library_tells_of_its_driver(self):
        told = re.findall(rb'PMD_INFO_STRING= (\{[^\0]*\})\0', DRIVER_BYTES)
        if not told:
            self.skipTest('the driver was built without python3-pyelftools')
        self.assertEqual(len(told), 1)
        info = json.loads(told[0])
        self.assertEqual(info['name'], 'dma_mlx5')
        self.assertEqual(re.findall(r'(\w+)=', info['params']), ['device', 'max_desc', 'mode'])
        self.assertIn('mlx5_ib', info['kmod'])
        self.assertEqual(info['pci_ids'], [])
        if shutil.which('dpdk-pmdinfo.py'):
            del info['pci_ids']  # dpdk-pmdinfo.py leaves an empty list out
            self.assertIn(info, json.loads(self.output('dpdk-pmdinfo.py', DRIVER)))

    def test_without_adapter_and_launcher_probing_says_so(self):
        result = subprocess.run([sys.executable, '-c', LOADER, *EAL, *SMALL_PAGES, '--vdev', 'dma_mlx5_0'],
                                env=clean_env(LD_LIBRARY_PATH=self.FOLDERS),
                                capture_output=True, text=True, timeout=400, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('0 DMA devices', result.stdout)
        self.assertIn('start the program by the launcher softhca', result.stdout + result.stderr)


if __name__ == '__main__':
    main()
