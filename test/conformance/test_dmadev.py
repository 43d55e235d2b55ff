#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own test of DMA devices on the dmadev driver, and programs that load the driver by -d.

dpdk-test 22.11 prints "Test OK" although a copy or an error case has failed: its runner takes only negative
results for failures, and these cases return 1. So the lines of the device are judged: each case must have run, and the
counts must be those of a run that did all of it (app/test/test_dmadev.c of DPDK 22.11).

usage: test_dmadev.py LAUNCHER DRIVER NO_SKELETON
"""
import json
import os
import re
import shutil
import subprocess
import sys

from launched import Case, clean_env, main

DRIVER, NO_SKELETON = sys.argv.pop(1), sys.argv.pop(1)
FOLDERS = ':'.join(os.path.dirname(os.path.abspath(path)) for path in (DRIVER, NO_SKELETON))
EAL = ['--no-pci', '--no-telemetry', '-l', '0', '-d', os.path.basename(DRIVER)]
SMALL_PAGES = ['--no-huge', '--no-shconf', '-m', '256']
HUGE_PAGES = ['--in-memory', '-m', '64']
FREE_PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages'
RING = 512

# Case: operations, and how many of them fail.
COPIES = 640 * (1 + 4 + 4 * 32)
CAPACITY = 2 * (65536 // RING) * (RING // 128 + 1) * 64
# Without and with fences; 4 places of the error, 3 ways to find it, bursts of 16; then 4 errors in each of 2 bursts.
ERRORS = 2 * (4 * 3 * 16 + 2 * 16), 2 * (4 * 3 + 2 * 4)
CASES = {'copy': (COPIES, 0), 'burst capacity': (CAPACITY, 0), 'error handling': ERRORS, 'fill': (6, 0)}

# A program that links EAL alone.
LOADER = r'''
import ctypes, sys
eal = ctypes.CDLL('librte_eal.so.23')
arguments = [b'loader', *(word.encode() for word in sys.argv[1:])]
assert eal.rte_eal_init(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)) >= 0
print(ctypes.CDLL('librte_dmadev.so.23').rte_dma_count_avail(), 'DMA devices')
assert eal.rte_eal_cleanup() == 0
'''


class Dmadev(Case):
    def run_dpdk(self, *argv, **settings):
        """Runs a program of DPDK that finds the driver by its bare name: EAL refuses a path that all may write to."""
        return self.run_on(*argv, timeout=250, LD_LIBRARY_PATH=FOLDERS, **settings)

    def need_huge_pages(self):
        """Other tests may take some at the same time."""
        free = 0
        if os.path.exists(FREE_PAGES):
            with open(FREE_PAGES, encoding='ascii') as f:
                free = int(f.read())
        if free < 256:
            self.skipTest(f'{free} huge pages of 2 MiB are free; it takes 256: vm.nr_hugepages')

    def judge(self, out, device):
        """Every case has run on the device, and did all of its operations."""
        section = re.search(r'### Test dmadev instance \d+ \[%s\]\n(.*?)(?=###|Test OK|Test Failed|\Z)' % device, out, re.S)
        self.assertIsNotNone(section, out)
        self.assertNotIn('skipping', section[1])
        runs = re.split(r'Running ([a-z ]+) Tests', section[1])[1:]
        self.assertEqual(runs[::2], list(CASES), section[1])
        for name, text in zip(runs[::2], runs[1::2]):
            # The test prints its counts again and again on one line.
            last = re.findall(r'Ops submitted: (\d+)\tOps completed: (\d+)\tErrors: (\d+)\n', text)[-1:]
            operations, errors = CASES[name]
            self.assertEqual(last, [(str(operations), str(operations), str(errors))], f'{device}, {name}')

    def autotest(self, *memory):
        result = self.run_dpdk('dpdk-test', '-d', os.path.basename(NO_SKELETON), *EAL, *memory, '--vdev', 'dma_mlx5_0',
                               '--vdev', 'dma_mlx5_1,mode=rdma', DPDK_TEST='dmadev_autotest')
        # The test's own failures.
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

    def test_the_library_tells_of_its_driver(self):
        with open(DRIVER, 'rb') as f:
            told = re.findall(rb'PMD_INFO_STRING= (\{[^\0]*\})\0', f.read())
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
                                env=clean_env(LD_LIBRARY_PATH=FOLDERS),
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('0 DMA devices', result.stdout)
        self.assertIn('start the program by the launcher softhca', result.stdout + result.stderr)


if __name__ == '__main__':
    main()
