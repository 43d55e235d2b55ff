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


class Pingpong(PairCase):
    def pingpong(self, kind, rounds, size, *options, server_options=()):
        argv = [f'ibv_{kind}_pingpong', '-g', '3', '-s', str(size), '-p', self.new_port(), '-n', str(rounds), *options]
        return self.pair([*argv, *server_options], [*argv, HOST])

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
        self.check('uc', 300000)

    def test_ud(self):
        self.check('ud', 1024)

    def test_srq(self):
        self.check('srq', 8192)

    def test_xsrq(self):
        self.pingpong('xsrq', 50, 8192, server_options=('-c', '1'))


class Perftest(PerftestCase):
    """perftest 4.5."""

    def perftest(self, test, size, *options, qps=1):
        """Runs ib_TEST at both ends. Checks that the client reports all messages, and that their bytes have arrived."""
        argv = [f'ib_{test}', '-F', '-p', self.new_port(), '-n', str(self.N), '-s', str(size), *options]
        ends = {'server': argv, 'client': [*argv, HOST]}
        # ib_write_lat clears its buffer; with several queue pairs, perftest 4.5 cannot use a file.
        compare = size >= 4096 and qps == 1 and test != 'write_lat'
        buffers = [self.buffer(end) for end in ends]
        if compare:
            ends = {end: [*argv, '--mmap', path] for (end, argv), path in zip(ends.items(), buffers)}
        self.check_rows(self.pair(ends['server'], ends['client'])[1], size, qps)
        if compare:
            self.compare(size, '-b' in options, *buffers)

    def each(self, tests, size, *options):
        for test in tests.split():
            with self.subTest(test=test, options=options):
                self.perftest(test, 8 if 'atomic' in test else size, *options)

    def test_rc_bw(self):
        self.each('write_bw read_bw send_bw atomic_bw', 200000)

    def test_rc_lat(self):
        self.each('write_lat read_lat send_lat atomic_lat', 4096)

    def test_uc(self):
        self.each('write_bw send_bw', 200000, '-c', 'UC')
        self.each('write_lat send_lat', 100, '-c', 'UC')

    def test_xrc(self):
        self.each('write_bw send_bw', 200000, '-c', 'XRC')
        self.each('write_lat send_lat', 100, '-c', 'XRC')

    def test_dc(self):
        self.each('write_bw send_bw', 200000, '-c', 'DC')
        self.each('write_lat send_lat', 100, '-c', 'DC')

    def test_ud(self):
        self.each('send_bw', 4096, '-c', 'UD')
        self.each('send_lat', 100, '-c', 'UD')

    def test_events(self):
        """With -e the tests of latency would take any event for the completion that they wait for."""
        self.each('read_bw send_bw', 4096, '-e')

    def test_queue_pairs(self):
        self.perftest('write_bw', 4096, '-q', '8', qps=8)

    def test_both_ways(self):
        self.each('write_bw send_bw', 4096, '-b')


class Qperf(PairCase):
    """qperf addresses its peer by a LID, which Ethernet does not have. Each test takes a second, so all tests of a
    transport run at the same time. Most of them wait for events (-cp 0): with so many processes, polling would take
    long."""

    def run_tests(self, names):
        pairs = []
        for name in names.split():
            argv = ['qperf', '-lp', self.new_port()]
            server = self.serve(argv, SOFTHCA_LINK_LAYER='infiniband')
            options = [*argv[1:], '-t', '1', '-to', '60', *([] if 'poll' in name else ['-cp', '0'])]
            client = self.start('client', ['qperf', HOST, *options, name], SOFTHCA_LINK_LAYER='infiniband')
            pairs.append((name, server, client))
        for name, server, client in pairs:
            self.expect_end(client, server)
            out = client.output()
            # The name of the test, and a line for each of its figures.
            self.assertRegex(out, rf'(?m)^{name}:\n( +\w+ += +[1-9.].*\n?)+$')
            self.assertNotIn('softhca: queue', out + server.output())

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
        argv = ['ucx_perftest', '-p', self.new_port(), '-b', path, '-n', '20', '-w', '5', '-f', '-v']
        outputs = self.pair(argv, [*argv, HOST], UCX_NET_DEVICES='mlx5_0:1', UCX_TLS=tls, UCX_LOG_LEVEL='info',
                            SOFTHCA_PART_ID='4129', SOFTHCA_GID_IPV4=None)
        # A row of ucx_perftest's table: the name, the number of rounds, and figures.
        self.assertEqual(re.findall(r'(?m)^(\w+), *20,', outputs[1]),
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
