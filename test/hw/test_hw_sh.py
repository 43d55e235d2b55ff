#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests usertools/hw.sh on the emulated adapter: its stages and its report, that the report does not identify the
machine, that the script stops cleanly, and that it does not use the emulated adapter unless it is told to.

usage: test_hw_sh.py HW_SH BUILD_DIR
"""
import getpass
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HW_SH, BUILD = sys.argv.pop(1), sys.argv.pop(1)
TWINS = ['twins, ' + name for name in ('bytes of RC and UC', 'bytes of UD, XRC, DC and frames', 'bytes of layouts',
                                       'bytes of signatures and encryption', 'effects')]
JOBS = ['main job, --mode ' + name for name in ('copy', 'copy --copy-path mmo', 'copy --copy-path rdma', 'write', 'read',
                                               'sig', 'sig, wrong signatures under SQD', 'sig --encrypt data')]
STAGES = ['capabilities', *TWINS, 'faults', 'model', *JOBS, 'probes', 'benchmarks']
ENCRYPTION = (JOBS[-1],)
# Text that a program may print about a machine, one item on each line.
SECRETS = ['0002:c903:00a1:b2c3', 'fe80::202:c9ff:fe03:a1b2', '::ffff:c0a8:102', '192.168.17.4', '0x0002c90300a1b2c3',
           '0002c90300a1b2c3', 'b8:59:9f:01:02:03', '0000:3b:00.1', '4c4c4544-0033-4a10-8052-c4c04f4b4d32', '/home/someone/file',
           '~/notes', '../lib/secret/place.c', 'serial number MT2231X01234', 'S/N: MT1234', 'someone@example.org', 'mlx5_0',
           socket.gethostname(), '/sys/class/infiniband/mlx5_3', 'test/hw/hw_caps.c:12']


class HwSh(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.tmp = os.path.join(scratch.name, 'tmp')
        self.out = os.path.join(scratch.name, 'report')
        os.mkdir(self.tmp)

    def start(self, *args, hw_sh=HW_SH, **settings):
        return subprocess.Popen([hw_sh, '--built', BUILD, '--out', self.out, *args], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, 'TMPDIR': self.tmp, **settings})

    def run_it(self, *args, **settings):
        run = self.start(*args, **settings)
        run.stdout, run.stderr = run.communicate()
        self.assertEqual(os.listdir(self.tmp), [], 'left behind')
        return run

    def report(self):
        """Returns the report, which must be the same in both forms."""
        with open(os.path.join(self.out, 'report.txt'), encoding='utf-8') as file:
            text = file.read()
        with open(os.path.join(self.out, 'report.json'), encoding='utf-8') as file:
            json_text = file.read()
        report = json.loads(json_text)
        self.assertIn(report['verdict'], text)
        for part in (text, json_text):
            for secret in ('mlx5_', 'fe80:', self.folder, BUILD, socket.gethostname()):
                self.assertNotIn(secret, part)
            self.assertIsNone(re.search(r'([0-9a-f]{4}:){3}[0-9a-f]{4}', part), 'a GUID')
        return report, text

    def results(self):
        return {stage['name']: stage['result'] for stage in self.report()[0]['stages']}

    def fake_build(self, **programs):
        """Makes a build directory with the real hw_caps, and with shell scripts in place of other programs. Some
        programs are missing."""
        built = os.path.join(self.folder, 'built')
        for folder in ('test/hw', 'test/bench', 'app/testgantry'):
            os.makedirs(os.path.join(built, folder))
        if 'hw_caps' not in programs:
            os.symlink(os.path.join(BUILD, 'test/hw/hw_caps'), os.path.join(built, 'test/hw/hw_caps'))
        for name, text in programs.items():
            path = os.path.join(built, 'app/testgantry' if name == 'testgantry' else 'test/hw', name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\n' + text + '\n')
            os.chmod(path, 0o755)
        return built

    def test_report(self):
        """The whole report, on an adapter that does not encrypt. A slow machine gets all the time that it needs."""
        hw_sh = self.changed({'\nall_seconds=590\n': '\nall_seconds=100000\n', '\nstage_seconds=120\n': '\nstage_seconds=100000\n',
                              '\nstage_seconds=300\n': '\n'})
        run = self.run_it('--rehearse', '--short', hw_sh=hw_sh)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        report, text = self.report()
        for stage in report['stages']:
            want = 'skipped' if stage['name'] in ENCRYPTION else 'done'
            self.assertEqual(stage['result'], want, stage)
        self.assertEqual([stage['name'] for stage in report['stages']], STAGES)
        self.assertIn('the device has no AES-XTS', text)
        self.assertEqual(report['verdict'], 'Gantry works on this device, in all that it has.')
        self.assertEqual(report['device'], {'part': 41692, 'fw': '32.47.1088', 'emulated': True})
        self.assertTrue(all(cap['has'] for cap in report['capabilities'] if cap['needed']))
        self.assertGreater(len(report['probes']['answers']), 50)
        self.assertEqual(report['card_profile']['max_memcpy'], 2 << 20)
        self.assertEqual(report['card_profile']['crypto'], 'off')
        self.assertEqual(sorted(report['software']), ['kernel', 'libdpdk', 'libibverbs'])
        self.assertEqual({row['series'] for row in report['benchmarks']}, {'gantry', 'memcpy'})
        for row in report['benchmarks']:
            self.assertAlmostEqual(row['ops_per_s'] * row['ns'] / 1e9, 1, delta=0.1)

    def test_failed_stage(self):
        """A failed stage is in the report, without text that identifies the machine."""
        user = getpass.getuser()
        lines = SECRETS + (['user ' + user] if user != 'root' else []) + ['"a \\quoted\\ line"', 'status 12 is not 0x2a']
        built = self.fake_build(testgantry='cat <<\'END\'\n' + '\n'.join(lines) + '\nEND\nexit 9',
                                hw_probe='echo \'{"device": {}, "answers": [{"id": "x", "answer": "otherwise", "seen": '
                                '"at ../test/hw/probe.c:5 on mlx5_0", "assumed": "A.", "matters": "B."}\'; echo why >&2; exit 1')
        run = self.run_it('--rehearse', '--short', '--built', built)
        self.assertEqual(run.returncode, 1, run.stdout)
        report, text = self.report()
        results = self.results()
        for job in JOBS:
            self.assertEqual(results[job], 'skipped' if job in ENCRYPTION else 'failed')
        self.assertEqual(results['probes'], 'failed')
        self.assertEqual(results['faults'], 'skipped')
        # The program ended in the middle of its list. The answers before are in the report, and so is the program's
        # last message.
        self.assertEqual([answer['seen'] for answer in report['probes']['answers']], ['at PATH on DEVICE'])
        self.assertEqual(report['stages'][STAGES.index('probes')]['output'][-1], 'why')
        self.assertIn('These stages failed: main job, --mode copy;', report['verdict'])
        self.assertIn('status 12 is not 0x2a', text)
        for secret in lines[:-2]:
            for word in secret.split():
                if len(word) > 6 and word not in ('serial', 'number'):
                    self.assertNotIn(word, text)
                    self.assertNotIn(word, json.dumps(report))

    def test_difference(self):
        """If a probe's answer differs from the assumption, the report contains the answer and what depends on the
        assumption."""
        answer = ('{"id": "x-y", "answer": "otherwise", "seen": "state 4 at ../test/hw/probe.c:5", "assumed": "It is so.", '
                  '"matters": "All of it."}')
        built = self.fake_build(testgantry='exit 0', hw_probe=f"echo '{{\"device\": {{}}, \"answers\": [{answer}]}}'")
        run = self.run_it('--rehearse', '--short', '--built', built)
        self.assertEqual(run.returncode, 0, run.stdout)
        report, text = self.report()
        self.assertEqual(report['probes']['answers'][0]['seen'], 'state 4 at PATH')
        self.assertIn('  x-y\n    assumed: It is so.\n    seen: state 4 at PATH\n    what depends on it: All of it.\n', text)

    def test_lacking_device(self):
        """On a device that lacks what Gantry needs, everything except the probes is skipped."""
        caps = ('{"device": {"part": 4117, "fw": "14.32.1010", "emulated": false}, "capabilities": [{"id": "opens", "name": '
                '"Access", "has": false, "value": "", "use": "everything", "needed": true}]}')
        built = self.fake_build(hw_caps=f"case $* in *--json*) echo '{caps}' ;; *) echo 'mlx5_7, part 4117' ;; esac; exit 3",
                                testgantry='exit 1', hw_probe='echo \'{"answers": []}\'')
        run = self.run_it('--built', built)
        self.assertEqual(run.returncode, 3, run.stdout)
        self.assertEqual({n for n, r in self.results().items() if r != 'skipped'}, {'capabilities', 'probes'})
        self.assertIn('Gantry does not run on this device. It lacks: Access.', self.report()[1])

    def test_signal(self):
        """A signal ends the stage and the programs that it started, and leaves no files."""
        pid_file = os.path.join(self.folder, 'pid')
        built = self.fake_build(testgantry=f'[ "$1" = --help ] || {{ echo $$ >{pid_file}; touch $TMPDIR/rest; sleep 600; }}')
        run = self.start('--rehearse', '--short', '--built', built)
        while not os.path.exists(pid_file) or os.path.getsize(pid_file) == 0:
            self.assertIsNone(run.poll(), 'it ended early')
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate()
        self.assertEqual(run.returncode, 130)
        self.assertIn('there is no report', err)
        self.assertEqual(os.listdir(self.tmp), [])
        self.assertFalse(os.path.exists(self.out))
        with open(pid_file, encoding='utf-8') as file:
            self.assertFalse(os.path.exists('/proc/' + file.read().strip()))

    def changed(self, changes):
        """Makes a copy of hw.sh with these changes of its text."""
        usertools = os.path.join(self.folder, 'usertools')
        os.mkdir(usertools)
        for name in ('common.sh', 'hw_report.py'):
            os.symlink(os.path.join(os.path.dirname(HW_SH), name), os.path.join(usertools, name))
        with open(HW_SH, encoding='utf-8') as file:
            text = file.read()
        for old, new in changes.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = os.path.join(usertools, 'hw.sh')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def test_limits(self):
        """A stage that does not end fails. Then no time is left for the other stages."""
        hw_sh = self.changed({'\n# ---- the main job\n': '\nstage_seconds=1\n', '\n# ---- probes': '\nstop_at=$SECONDS\n# ---- probes'})
        built = self.fake_build(testgantry='[ "$1" = --help ] || sleep 600', hw_probe='echo \'{"answers": []}\'')
        run = self.run_it('--rehearse', '--short', '--built', built, hw_sh=hw_sh)
        self.assertEqual(run.returncode, 1, run.stdout)
        stages = {stage['name']: stage for stage in self.report()[0]['stages']}
        self.assertEqual(stages[JOBS[0]]['output'], ['hw.sh: it did not end in 1 seconds'])
        self.assertEqual(stages['probes']['why'], 'no time is left')

    def test_no_device(self):
        run = self.run_it()
        self.assertEqual(run.returncode, 1)
        self.assertIn('this machine has no mlx5 device', run.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_other_device(self):
        run = self.run_it('--rehearse', 'mlx5_77')
        self.assertEqual(run.returncode, 1)
        self.assertIn('there is no such mlx5 device', run.stderr)


unittest.main()
