# SPDX-License-Identifier: BSD-3-Clause
"""Runs other people's programs under the launcher, whose path is the test's first argument."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

LAUNCHER = sys.argv.pop(1) if len(sys.argv) > 1 else 'softhca'
ADDRESS = '198.51.100.11'
HELLO = 'softhca: no mlx5 device here, emulating 1 (mlx5_0, part %d, GID ' + ADDRESS + ')\n'


def clean_env(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith('SOFTHCA_')}
    env.pop('SYSFS_PATH', None)
    env['SOFTHCA_GID_IPV4'] = ADDRESS
    env.update(more)
    return {k: v for k, v in env.items() if v is not None}


class Case(unittest.TestCase):
    def setUp(self):
        memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        self.tmp = tempfile.mkdtemp(prefix='softhca-test.', dir=memory)
        self.addCleanup(shutil.rmtree, self.tmp)

    def run_on(self, *argv, status=0, timeout=400, **settings):
        """Runs a program to its end. `status`: the expected exit code; None: any exit code."""
        if shutil.which(argv[0]) is None:
            self.skipTest(f'{argv[0]} is not installed')
        try:
            result = subprocess.run([LAUNCHER, *argv], env=clean_env(TMPDIR=self.tmp, **settings),
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    timeout=timeout, check=False)
        except subprocess.TimeoutExpired as late:
            printed = b''.join(out[-4000:] for out in (late.stdout, late.stderr) if out)
            self.fail(f'{argv[0]} did not end in {timeout} s:\n{printed.decode(errors="replace")}')
        if status is not None:
            self.assertEqual(result.returncode, status, result.stdout[-4000:] + result.stderr)
        return result

    def output(self, *argv, **settings):
        return self.run_on(*argv, **settings).stdout

    def shell(self, script, **settings):
        return self.output('bash', '-c', script, **settings)


def main():
    """Runs all cases. Exits with 77 if each of them was skipped."""
    if glob.glob('/sys/class/infiniband/mlx5_*'):
        print('skipped: this machine has an mlx5 device')
        sys.exit(77)
    result = unittest.main(module='__main__', verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    if len(result.skipped) == result.testsRun:
        print('skipped:', result.skipped[0][1])
        sys.exit(77)
