#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that people connect by rdma_cm, unmodified, between two processes: librdmacm's own programs, perftest with -R,
qperf with -cm1, UCX with a listener, and libfabric's fi_pingpong.

Most of these programs check their data: rping -V and rstream -T v compare each byte, udaddy and ucmatose count messages,
fi_pingpong -c and ucx_listener.c compare each byte. The test compares rcopy's file, and perftest's buffers.

Pairs of a case run at the same time, because most of them wait for each other most of the time.

usage: test_cm_pairs.py LAUNCHER
The variable GANTRY_UCX_LISTENER is the path of the program ucx_listener, if it was built.
"""
import os
import random
import re

from cm_case import HOST, CmCase, Pair, other_address
from launched import main
from perftest_case import PerftestCase

UCX_LISTENER = os.environ.get('GANTRY_UCX_LISTENER')


class Librdmacm(CmCase):
    """librdmacm's programs (rdmacm-utils)."""

    def rping(self, name, rounds, size, *options, host=HOST):
        argv = ['rping', '-v', '-V', '-a', host, '-p', self.new_port(), '-C', str(rounds), '-S', str(size), *options]
        return Pair(name, [*argv, '-s'], [*argv, '-c'], self.port)

    def test_rping(self):
        """The client compares what the server has sent back, and each end prints it."""
        rounds = 30
        outputs = self.together(self.rping('rping', rounds, 1000),
                                self.rping('rping -q', rounds, 60000, '-q'),
                                self.rping('rping, IPv6', rounds, 64, host='::1'))
        for name, (server, client) in outputs.items():
            sent = re.findall(r'(?m)^ping data: (.*)$', client)
            self.assertEqual([line.split(':')[0] for line in sent], [f'rdma-ping-{i}' for i in range(rounds)], name)
            self.assertEqual(re.findall(r'(?m)^server ping data: (.*)$', server), sent, name)

    def messages(self, program, name, count, *options, host=None, port=None, space='tcp'):
        argv = [program, *(['-p', self.new_port()] if port is None else []), '-C', str(count), *options]
        return Pair(name, [*argv, *(['-b', host] if host else [])], [*argv, '-s', host or HOST], port or self.port, space)

    def test_ucmatose(self):
        outputs = self.together(self.messages('ucmatose', 'one', 10),
                                self.messages('ucmatose', 'many', 10, '-c', '30', '-S', '4096', '-a', '14', '-t', '8'),
                                self.messages('ucmatose', 'migrate', 10, '-c', '5', '-m'),
                                self.messages('ucmatose', 'no messages', 0, '-c', '10'),
                                self.messages('ucmatose', 'IPv6', 10, '-c', '3', host='::1'))
        self.each_has(outputs, 'test complete', 'return status 0')

    def test_udaddy(self):
        self.reserve('udaddy')  # its port is fixed
        for name, options, host in ('one', [], None), ('many', ['-c', '20', '-S', '900'], None), ('IPv6', ['-c', '2'], '::1'):
            outputs = self.together(self.messages('udaddy', name, 10, *options, host=host, port=7174, space='udp'))
            self.each_has(outputs, 'data transfers complete', 'test complete', 'return status 0')

    def test_rdma_server_and_rdma_xserver(self):
        pairs = []
        for end in ('server', 'xserver'):
            argv = ['-p', self.new_port(), *(['-c', 'r'] if end == 'xserver' else [])]
            pairs.append(Pair(end, [f'rdma_{end}', *argv], [f'rdma_{end.replace("server", "client")}', *argv, '-s', HOST],
                              self.port))
        for name, both in self.together(*pairs).items():
            for program, output in zip((name, name.replace('server', 'client')), both):
                self.assertIn(f'rdma_{program}: end 0', output.splitlines(), output)

    def stream(self, program, name, *options, size=20000, host=HOST):
        """With -T a, only the server polls: an end that polls fails if its peer disconnects before it has read all."""
        argv = [program, '-p', self.new_port(), '-I', '3', '-C', '20', '-S', str(size), '-T', 'v']
        server = [*argv, *options]
        client = argv if 'a' in options else server
        return Pair(name, [*server, '-b', host], [*client, '-s', host], self.port)

    def streams(self, *pairs):
        """Both ends compare the bytes. The row that they print has the size, the number of bytes, and figures."""
        for name, both in self.together(*pairs).items():
            for output in both:
                self.assertRegex(output, r'(?m)^custom +\S+ +20 +3 +\S+ +[\d.]+s ', f'{name}:\n{output}')

    def test_rstream(self):
        self.streams(self.stream('rstream', 'plain'),
                     self.stream('rstream', 'asynchronous', '-T', 'a', size=1),
                     self.stream('rstream', 'blocking', '-T', 'b', size=70000),
                     self.stream('rstream', 'nonblocking', '-T', 'n', host='::1'),
                     self.stream('rstream', 'resolve', '-T', 'r'))

    def test_riostream(self):
        self.streams(self.stream('riostream', 'plain'),
                     self.stream('riostream', 'asynchronous', '-T', 'a'),
                     self.stream('riostream', 'blocking', '-T', 'b', size=70000))

    def test_rcopy(self):
        source, copy = (os.path.join(self.tmp, name) for name in ('source', 'copy'))
        data = random.Random(1).randbytes(5_000_001)
        with open(source, 'wb') as f:
            f.write(data)
        port = self.new_port()
        pair = Pair('rcopy', ['rcopy', '-p', port], ['rcopy', source, f'{HOST}:{copy}', '-p', port], port, stays=True)
        self.assertIn(f'{len(data)} bytes in ', self.together(pair)['rcopy'][1])
        with open(copy, 'rb') as f:
            self.assertEqual(f.read(), data)

    def test_cmtime(self):
        argv = ['cmtime', '-p', self.new_port(), '-c', '1000']
        client = self.together(Pair('cmtime', argv, [*argv, '-s', HOST], self.port, stays=True))['cmtime'][1]
        self.assertNotRegex(client, 'error|fail')
        for step in 'create id', 'resolve addr', 'resolve route', 'create qp', 'connect', 'disconnect', 'destroy':
            self.assertRegex(client, rf'(?m)^{step} *: +\d+\.\d+')


class Perftest(PerftestCase, CmCase):
    """perftest 4.5 with -R. UC, XRC and DC have no -R there.

    After they have exchanged a message over a first connection, the server listens again, and the client connects again.
    If the client is first, nobody listens, and the client's second try uses memory that it has freed.
    """

    @staticmethod
    def client_was_first(code, output):
        return code < 0 and 'Failed to connect RDMA CM events' in output

    def perftest(self, test, size, *options):
        argv = [f'ib_{test}', '-R', '-F', '-p', self.new_port(), '-n', str(self.N), '-s', str(size), *options]
        ends = {'server': argv, 'client': [*argv, HOST]}
        pair = Pair(test, ends['server'], ends['client'], self.port, own_fault=self.client_was_first)
        pair.size = size
        pair.buffers = []
        if size >= 4096:
            pair.buffers = [self.buffer(f'{end}.{self.port}') for end in ends]
            pair.argv = [[*argv, '--mmap', path] for argv, path in zip(pair.argv, pair.buffers)]
        return pair

    def all(self, *pairs):
        self.together(*pairs)
        for pair in pairs:
            with self.subTest(test=pair.name):
                self.check_rows(pair.outputs[1], pair.size)
                if pair.buffers:
                    self.compare(pair.size, False, *pair.buffers)

    def test_rc(self):
        self.all(*(self.perftest(test, 200000) for test in ('write_bw', 'read_bw', 'send_bw')),
                 self.perftest('atomic_bw', 8), self.perftest('send_lat', 64), self.perftest('write_lat', 64))

    def test_ud(self):
        self.all(self.perftest('send_bw', 4096, '-c', 'UD'), self.perftest('send_lat', 64, '-c', 'UD'))


class Qperf(CmCase):
    """qperf 0.4.11 with -cm1. It uses rdma_cm for RC only. The server tells its port over TCP, and then listens. If the
    client is first, nobody listens, and the client does not try again."""

    @staticmethod
    def client_was_first(code, output):
        return code == 1 and 'Event rejected' in output

    def test_rc(self):
        pairs = []
        for name in 'rc_bw rc_lat rc_rdma_read_lat rc_rdma_write_bw ver_rc_compare_swap ver_rc_fetch_add'.split():
            argv = ['qperf', '-lp', self.new_port()]
            client = ['qperf', HOST, *argv[1:], '-t', '1', '-to', '60', '-cm', '1', '-cp', '0', name]
            pairs.append(Pair(name, argv, client, self.port, space='socket', stays=True,
                              own_fault=self.client_was_first))
        for name, (_, client) in self.together(*pairs).items():
            # The name of the test, and a line for each of its figures.
            self.assertRegex(client, rf'(?m)^{name}:\n( +\w+ += +[1-9.].*\n?)+$')


class Ucx(CmCase):
    """A client and a server of UCX 1.13 that connect by ucp_listener over rdma_cm."""

    def pair_of(self, tls):
        argv = [UCX_LISTENER, 'server', HOST, self.new_port()]
        return Pair(tls, argv, [UCX_LISTENER, 'client', *argv[2:]], self.port, UCX_TLS=tls, UCX_NET_DEVICES='mlx5_0:1',
                    UCX_SOCKADDR_TLS_PRIORITY='rdmacm', UCX_LOG_LEVEL='info', SOFTHCA_PART_ID='4129',
                    SOFTHCA_GID_IPV4=None)

    def test_listener(self):
        if UCX_LISTENER is None:
            self.skipTest('UCX was not there when Gantry was built (package libucx-dev)')
        wanted = {'rc_v': 'rc_verbs', 'rc_x': 'rc_mlx5', 'ud_v': 'ud_verbs'}
        for tls, both in self.together(*(self.pair_of(tls) for tls in wanted)).items():
            self.assertIn('ucx_listener: server: 28 messages sent back', both[0].splitlines(), both[0])
            self.assertIn('ucx_listener: client: 4493256 bytes compared, 0 wrong', both[1].splitlines(), both[1])
            for output in both:
                used = {t for line in re.findall(r'cfg\[\d+\]: (.*)', output) for t in re.findall(r'(\w+)/\w+', line)}
                # UCX also uses UD, to find out whether the peer lives.
                self.assertIn(wanted[tls], used, output)
                self.assertLessEqual(used, {wanted[tls], 'ud_verbs', 'ud_mlx5'}, output)


class Libfabric(CmCase):
    """fi_pingpong of libfabric 1.17 over its provider verbs. The provider does not use the loopback interface."""

    def pair_of(self, kind, size, address):
        argv = ['fi_pingpong', '-p', 'verbs', '-e', kind, '-c', '-I', '20', '-S', str(size)]
        return Pair(f'{kind} {size}', [*argv, '-B', self.new_port()], [*argv, '-P', str(self.port), address], self.port,
                    space='socket', SOFTHCA_GID_IPV4=None)

    def test_pingpong(self):
        address = other_address()
        if address is None:
            self.skipTest('this machine has no IPv4 address but that of the loopback interface')
        outputs = self.together(*(self.pair_of(*test, address) for test in (('msg', 64), ('msg', 65536), ('dgram', 1024))))
        for name, both in outputs.items():
            for output in both:
                self.assertRegex(output, r'(?m)^(64|64k|1k) +20 +=20 ', f'{name}:\n{output}')
                self.assertNotIn('rror', output)


if __name__ == '__main__':
    main(failfast=True)  # if one pair hangs, others hang too
