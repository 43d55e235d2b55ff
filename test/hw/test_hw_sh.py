#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests usertools/hw.sh on the emulated adapter: its report, and that it does not emulate unless it is asked to.

usage: test_hw_sh.py HW_SH BUILD_DIR
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest

HW_SH, BUILD = sys.argv.pop(1), sys.argv.pop(1)
STAGES = ['main job, --mode copy', 'main job, --mode write', 'main job, --mode read', 'main job, --mode sig']


class HwSh(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tmp = os.path.join(scratch.name, 'tmp')
        self.out = os.path.join(scratch.name, 'report')
        os.mkdir(self.tmp)

    def run_it(self, *args, **settings):
        return subprocess.run([HW_SH, '--built', BUILD, '--out', self.out, *args], capture_output=True, text=True,
                              env={**os.environ, 'TMPDIR': self.tmp, **settings}, check=False)

    def report(self):
        with open(os.path.join(self.out, 'report.json'), encoding='utf-8') as report:
            return report.read()

    def left_behind(self):
        return [name for name in os.listdir(self.tmp) if name.startswith('gantry-hw')]

    def test_report(self):
        run = self.run_it('--rehearse')
        self.assertEqual(run.returncode, 0, run.stderr)
        text = self.report()
        report = json.loads(text)
        self.assertEqual(report['stages'], [stage + ': done' for stage in STAGES])
        self.assertGreater(len(report['probes']['answers']), 50)
        for secret in (socket.gethostname(), 'mlx5_0', 'fe80:', 'tmp'):
            self.assertNotIn(secret, text)
        self.assertIsNone(re.search(r'([0-9a-f]{4}:){3}[0-9a-f]{4}', text), 'a GUID')
        self.assertEqual(self.left_behind(), [])

    def test_failed_stage(self):
        """The probes are those of the build; a program that fails stands for testgantry."""
        built = os.path.join(self.tmp, 'built')
        for folder in ('test/hw', 'app/testgantry'):
            os.makedirs(os.path.join(built, folder))
        os.symlink(os.path.join(BUILD, 'test/hw/hw_probe'), os.path.join(built, 'test/hw/hw_probe'))
        os.symlink('/bin/false', os.path.join(built, 'app/testgantry/testgantry'))
        run = self.run_it('--rehearse', '--built', built)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertEqual(json.loads(self.report())['stages'], [stage + ': failed with exit code 1' for stage in STAGES])
        self.assertEqual(self.left_behind(), [])

    def test_no_device(self):
        run = self.run_it()
        self.assertEqual(run.returncode, 1)
        self.assertIn('this machine has no mlx5 device', run.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.out, 'report.json')))

    def test_other_device(self):
        run = self.run_it('--rehearse', 'mlx5_77')
        self.assertEqual(run.returncode, 1)
        self.assertIn('there is no such mlx5 device', run.stderr)


unittest.main()
