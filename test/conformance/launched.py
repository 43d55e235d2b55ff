# SPDX-License-Identifier: BSD-3-Clause
"""Runs other people's programs under the launcher, whose path is the test's first argument."""
import glob
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
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


class End:
    """One of two programs that talk to each other. Its output goes to files, because a full pipe would stop it."""

    def __init__(self, name, argv, env):
        self.name, self.argv = name, argv
        self.logs = [tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace') for _ in range(2)]
        self.process = subprocess.Popen([LAUNCHER, *argv], env=env, stdin=subprocess.DEVNULL, stdout=self.logs[0],
                                        stderr=self.logs[1], start_new_session=True)

    def listens_on(self, port):
        """Tells whether a socket of this network namespace listens on the TCP port."""
        for table in ('tcp', 'tcp6'):
            try:
                with open(f'/proc/{self.process.pid}/net/{table}', encoding='ascii') as f:
                    rows = [line.split() for line in f]
            except OSError:
                continue  # the kernel has no IPv6, or the process has ended
            if any(row[3] == '0A' and row[1].endswith(f':{port:04X}') for row in rows):
                return True
        return False

    def listens_by_cm(self, space, number):
        """Tells whether an id of rdma_cm listens at a port of the space 'tcp' or 'udp'."""
        with open(f'/proc/{self.process.pid}/net/unix', encoding='utf-8', errors='replace') as f:
            rows = [line.split() for line in f]
        # The fourth column has the flag __SO_ACCEPTCON of a socket that listens.
        return any(row[-1] == f'@softhca/cm/{space}/{number}' and int(row[3], 16) & 0x10000 for row in rows[1:])

    def wait(self, seconds):
        """Waits for the end. Returns the exit code, or None if the program still runs."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def output(self):
        """Returns what the program has written to its standard error, and then to its standard output."""
        text = ''
        for log in reversed(self.logs):
            log.seek(0)
            text += log.read()
        return text

    def stop(self):
        """Ends the program and its children. It may be called again."""
        if self.logs[0].closed:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for log in self.logs:
            log.close()


class PairCase(Case):
    """Two processes that find each other at a TCP port, and then talk over their adapters."""
    PATIENCE = 300  # seconds; on a busy machine a program may wait long for a CPU

    # From these the kernel takes no port for a connection (ip_local_port_range), so a chosen port stays free.
    PORTS = range(20000, 32000)
    ports = itertools.count(os.getpid() * 100)

    def new_port(self):
        """Chooses a free TCP port for a pair."""
        while True:
            port = self.PORTS[next(self.ports) % len(self.PORTS)]
            with socket.socket() as s:
                try:
                    s.bind(('', port))
                    return port
                except OSError:
                    continue

    def start(self, name, argv, **settings):
        if shutil.which(argv[0]) is None:
            self.skipTest(f'{argv[0]} is not installed')
        end = End(name, argv, clean_env(TMPDIR=self.tmp, **settings))
        self.addCleanup(end.stop)
        return end

    def give_up(self, reason, *ends):
        self.fail('\n'.join([reason, *(f'---- {end.name}: {" ".join(end.argv)}\n{end.output()[-6000:]}'
                                       for end in ends)]))

    def start_pairs(self, pairs, **settings):
        """Starts pairs of programs, all at the same time. pairs: [(port, server's argv, client's argv), ...]. A client
        starts when its server listens on the port. Returns [(server, client), ...]."""
        servers = [self.start('server', argv, **settings) for _, argv, _ in pairs]
        clients = []
        for server, (port, _, client) in zip(servers, pairs):
            last = time.monotonic() + self.PATIENCE
            while not server.listens_on(port):
                if server.wait(0.005) is not None:
                    self.give_up(f'the server ended with {server.process.returncode} before it listened', server)
                if time.monotonic() > last:
                    self.give_up(f'the server does not listen on port {port}', server)
            clients.append(self.start('client', client, **settings))
        return list(zip(servers, clients))

    def expect_end(self, end, *others):
        code = end.wait(self.PATIENCE)
        if code != 0:
            self.give_up(f'the {end.name} did not end' if code is None else f'the {end.name} ended with {code}',
                         end, *others)

    def run_pairs(self, pairs, may_say=None, **settings):
        """Runs pairs as start_pairs() does, to their ends, which must be good. may_say: a line that adapters may log. Returns
        [(server's output, client's output), ...]."""
        outputs = []
        for ends in self.start_pairs(pairs, **settings):
            self.expect_end(ends[1], ends[0])
            self.expect_end(*ends)
            outputs.append([end.output() for end in ends])
            for end, output in zip(ends, outputs[-1]):
                # Each adapter says one line, that it is there. All other lines are about errors.
                lines = [line for line in output.splitlines() if 'softhca: ' in line]
                if len([line for line in lines if may_say is None or may_say not in line]) != 1:
                    self.give_up(f'the adapter of the {end.name} reports something', *ends)
            for end in ends:
                end.stop()
        return outputs


def main(failfast=False):
    """Runs all cases, with failfast until one fails. Exits with 77 if each of them was skipped."""
    if glob.glob('/sys/class/infiniband/mlx5_*'):
        print('skipped: this machine has an mlx5 device')
        sys.exit(77)
    result = unittest.main(module='__main__', verbosity=2, failfast=failfast, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    if len(result.skipped) == result.testsRun:
        print('skipped:', result.skipped[0][1])
        sys.exit(77)
