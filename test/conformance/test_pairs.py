#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that people run in pairs over RDMA, unmodified, between two processes: rdma-core's pingpongs, perftest, qperf,
and UCX's ucx_perftest.

The programs check part of the data themselves. The pingpongs compare some bytes of each page with -c. ib_write_lat
waits until the last byte has arrived; ucx_perftest as test_ucx.py says; qperf verifies atomics. Where perftest checks
nothing, the test compares the buffers of both ends, which are files (--mmap).

usage: test_pairs.py LAUNCHER
"""
import os
import re

from launched import PairCase, main
from perftest_case import PerftestCase

HOST = '127.0.0.1'
# Bytes of a message. If the other process has no CPU for 100 ms, a full connection loses UC messages (two-processes.md),
# and the programs then wait for ever. All messages that are under way at a time fit into a connection.
UC_SIZE = 8192


class Pingpong(PairCase):
    def pingpong(self, kind, rounds, size, *options, server_options=()):
        port = self.new_port()
        argv = [f'ibv_{kind}_pingpong', '-g', '3', '-s', str(size), '-p', str(port), '-n', str(rounds), *options]
        return self.run_pairs([(port, [*argv, *server_options], [*argv, HOST])])[0]

    def check(self, kind, size, *options):
        for output in self.pingpong(kind, 50, size, '-c', *options):
            # A round has two messages.
            self.assertRegex(output, rf'(?m)^{2 * 50 * size} bytes in .*\n50 iters in ')
            self.assertNotIn('invalid data', output)

    def test_rc(self):
        self.check('rc', 300000)

    def test_rc_with_events(self):
        self.check('rc', 4096, '-e')

    def test_uc(self):
        self.check('uc', UC_SIZE)

    def test_ud(self):
        self.check('ud', 1024)

    def test_srq(self):
        self.check('srq', 8192)

    def test_xsrq(self):
        self.pingpong('xsrq', 50, 8192, server_options=('-c', '1'))


class Perftest(PerftestCase):
    """perftest 4.5. Each program measures the speed of its clock for a tenth of a second, and waits for its peer again and
    again, so the pairs of a case run at the same time."""

    class Run:
        """A pair. It runs ib_TEST at both ends."""

        def __init__(self, case, test, size, options, qps):
            self.case, self.test, self.size, self.options, self.qps = case, test, size, options, qps
            # ib_write_lat clears its buffer; with several queue pairs, perftest 4.5 cannot use a file.
            compares = size >= 4096 and qps == 1 and test != 'write_lat'
            self.port = case.new_port()
            self.buffers = {end: case.buffer(f'{end}.{self.port}') for end in ('server', 'client')} if compares else {}

        def argv(self, end):
            argv = [f'ib_{self.test}', '-F', '-p', str(self.port), '-n', str(self.case.N), '-s', str(self.size), *self.options]
            if end == 'client':
                argv.append(HOST)
            return [*argv, '--mmap', self.buffers[end]] if self.buffers else argv

        def check(self, out):
            """Checks that the client reports all messages, and that their bytes have arrived."""
            self.case.check_rows(out, self.size, self.qps)
            if self.buffers:
                self.case.compare(self.size, '-b' in self.options, **self.buffers)

    def run_tests(self, *lists):
        """Runs perftest's tests. Each list has names of tests, the size of a message, and options."""
        runs = [self.Run(self, test, 8 if 'atomic' in test else size, options, int(options[1]) if '-q' in options else 1)
                for names, size, *options in lists for test in names.split()]
        outputs = self.run_pairs([(run.port, run.argv('server'), run.argv('client')) for run in runs])
        for run, output in zip(runs, outputs):
            with self.subTest(test=run.test, options=run.options):
                run.check(output[1])

    def test_rc_bw(self):
        self.run_tests(('write_bw read_bw send_bw atomic_bw', 200000))

    def test_rc_lat(self):
        self.run_tests(('write_lat read_lat send_lat atomic_lat', 4096))

    def test_uc(self):
        self.run_tests(('write_bw send_bw', UC_SIZE, '-c', 'UC'), ('write_lat send_lat', 100, '-c', 'UC'))

    def test_xrc(self):
        self.run_tests(('write_bw send_bw', 200000, '-c', 'XRC'), ('write_lat send_lat', 100, '-c', 'XRC'))

    def test_dc(self):
        self.run_tests(('write_bw send_bw', 200000, '-c', 'DC'), ('write_lat send_lat', 100, '-c', 'DC'))

    def test_ud(self):
        self.run_tests(('send_bw', 4096, '-c', 'UD'), ('send_lat', 100, '-c', 'UD'))

    def test_events_queue_pairs_and_both_ways(self):
        """With -e the tests of latency would take any event for the completion that they wait for."""
        self.run_tests(('read_bw send_bw', 4096, '-e'), ('write_bw', 4096, '-q', '8'), ('write_bw send_bw', 4096, '-b'))


class Qperf(PairCase):
    """qperf addresses its peer by a LID, which Ethernet does not have. Each test takes a second, so all tests of a
    transport run at the same time. Most of them wait for events (-cp 0): with so many processes, polling would take
    long."""
    SETTINGS = {'SOFTHCA_LINK_LAYER': 'infiniband'}
    # The name of the test, and a line for each of its figures.
    LINES = r'(?m)^{}:\n((?: +\w+ += .*\n?)*)\Z'

    def pair_of(self, name, seconds):
        port = self.new_port()
        argv = ['qperf', '-lp', str(port)]
        options = ['-t', str(seconds), '-to', '60', *([] if 'poll' in name else ['-cp', '0'])]
        return port, argv, ['qperf', HOST, *argv[1:], *options, name]

    def figures(self, name, server, client):
        """Returns the figures of a test that has ended."""
        self.expect_end(client, server)
        out = client.output()
        self.assertNotIn('softhca: queue', out + server.output())
        lines = re.search(self.LINES.format(name), out)
        self.assertIsNotNone(lines, out)
        return re.findall(r'= +(.*)', lines[1])

    def run_tests(self, names):
        names = names.split()
        ends = self.start_pairs([self.pair_of(name, 1) for name in names], **self.SETTINGS)
        figures = {name: self.figures(name, *pair) for name, pair in zip(names, ends)}
        for name in names:
            # On a busy machine, a pair may get no CPU in its second, and transfer nothing. Then it runs again, alone and
            # longer.
            if not self.are_good(figures[name]):
                ends, = self.start_pairs([self.pair_of(name, 10)], **self.SETTINGS)
                again = self.figures(name, *ends)
                self.assertTrue(self.are_good(again), f'{name}: {figures[name]}, then {again}')

    @staticmethod
    def are_good(figures):
        """Tells whether there is a figure, and none is 0."""
        return bool(figures) and all(re.match('[1-9.]', figure) for figure in figures)

    def test_rc(self):
        self.run_tests('rc_bi_bw rc_bw rc_lat rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat '
                       'rc_rdma_write_poll_lat rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap '
                       'ver_rc_fetch_add')

    def test_uc(self):
        self.run_tests('uc_bi_bw uc_bw uc_lat uc_rdma_write_bw uc_rdma_write_lat uc_rdma_write_poll_lat')

    def test_ud(self):
        self.run_tests('ud_bi_bw ud_bw ud_lat')


class Ucx(PairCase):
    """ucx_perftest 1.13, with the settings of test_ucx.py. Above some KiB UCX reads or writes the peer's memory."""
    N = 10
    TESTS = """
tag_8 -t tag_lat -s 8
tag_64k -t tag_lat -s 65536
tag_1m -t tag_bw -s 1048576
tag_sleep -t tag_lat -s 4096 -E sleep
am_4k -t ucp_am_lat -s 4096
put_8 -t ucp_put_lat -s 8
put_64k -t ucp_put_lat -s 65536
get_64k -t ucp_get -s 65536
fadd -t ucp_fadd -s 8
"""

    def ucx(self, tls, transport):
        path = os.path.join(self.tmp, 'batch')
        with open(path, 'w', encoding='ascii') as f:
            f.write(self.TESTS.strip() + '\n')
        port = self.new_port()
        argv = ['ucx_perftest', '-p', str(port), '-b', path, '-n', str(self.N), '-w', '2', '-f', '-v']
        # Over UD, UCX sends again what is not acknowledged in time, perhaps until its peer has gone on to the next test.
        late = 'which this process has destroyed: such messages are lost' if tls.startswith('ud') else None
        outputs, = self.run_pairs([(port, argv, [*argv, HOST])], late, UCX_NET_DEVICES='mlx5_0:1', UCX_TLS=tls, UCX_LOG_LEVEL='info',
                                  SOFTHCA_PART_ID='4129', SOFTHCA_GID_IPV4=None)
        # A row of ucx_perftest's table: the name, the number of rounds, and figures.
        self.assertEqual(re.findall(rf'(?m)^(\w+), *{self.N},', outputs[1]),
                         [line.split()[0] for line in self.TESTS.strip().splitlines()], outputs[1])
        for output in outputs:
            used = {t for line in re.findall(r'cfg\[\d+\]: (.*)', output) for t in re.findall(r'(\w+)/\w+', line)}
            self.assertEqual(used, {transport}, output)
            self.assertNotIn(' ERROR ', output)

    def test_rc_verbs(self):
        self.ucx('rc_v', 'rc_verbs')

    def test_rc_mlx5(self):
        self.ucx('rc_x', 'rc_mlx5')

    def test_dc_mlx5(self):
        self.ucx('dc_x', 'dc_mlx5')

    def test_ud_verbs(self):
        self.ucx('ud_v', 'ud_verbs')

    def test_ud_mlx5(self):
        self.ucx('ud_x', 'ud_mlx5')


if __name__ == '__main__':
    main(failfast=True)  # if one pair hangs, others hang too
