#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""UCX, as Debian's ucx-utils ships it, on the emulated adapter: ucx_info, and ucx_perftest with itself.

What ucx_perftest 1.13 checks (src/tools/perf/lib/uct_tests.cc and ucp_tests.cc): it has no option that compares data.
am_lat waits until the number of a message has arrived in its first byte; put_lat, ucp_put_lat and add_lat wait until it
is in the last byte of the memory that they wrote or added to. After a wrong byte they wait for ever. The other tests
only need that each operation completes without an error, and that each message is received.

usage: test_ucx.py LAUNCHER
"""
import os
import re

from launched import Case, main

DEVICE = 'mlx5_0:1'
ROUNDS = 20

# UCX's upper layer over one transport: the value of UCX_TLS, and the transport that UCX then reports.
UCP_TRANSPORTS = {'rc_v': 'rc_verbs', 'rc_x': 'rc_mlx5', 'dc_x': 'dc_mlx5', 'ud_v': 'ud_verbs',
                  'ud_x': 'ud_mlx5'}

# Lines of a batch file: the name of a test, and its options. For sizes above some KiB UCX uses the rendezvous protocol,
# which reads or writes the peer's memory. In UCX 1.13 no line may end in an option without a value.
UCP_TESTS = """
tag_8 -t tag_lat -s 8
tag_64k -t tag_lat -s 65536
tag_1m -t tag_bw -s 1048576 -n 20
tag_iov -t tag_lat -D iov,iov -s 16,48,8192,8192,14
tag_sync -t tag_sync_lat -s 4096
tag_unexpected -t tag_lat -U -s 1000
tag_sleep -t tag_lat -s 4096 -E sleep -n 20
stream -t stream_lat -s 4096
stream_64k -t stream_bw -r recv_data -s 65536
am_4k -t ucp_am_lat -s 4096
am_64k -t ucp_am_bw -s 65536
put_8 -t ucp_put_lat -s 8
put_64k -t ucp_put_lat -s 65536
get_64k -t ucp_get -s 65536
add_4 -t ucp_add -s 4
add_8 -t ucp_add -s 8
fadd -t ucp_fadd -s 8
swap -t ucp_swap -s 8
cswap_4 -t ucp_cswap -s 4
cswap_8 -t ucp_cswap -s 8
"""

# UCX's lower layer: one operation of one transport. UD has only messages.
UCT_MESSAGES = """
am_short -t am_lat -D short -s 16
am_bcopy -t am_lat -D bcopy -s 1024
am_zcopy -t am_lat -D zcopy -s 1024,1024
am_bw -t am_bw -D bcopy -s 2048
"""
UCT_MEMORY = """
put_short -t put_lat -D short -s 16
put_bcopy -t put_lat -D bcopy -s 2048
put_zcopy -t put_lat -D zcopy -s 262144
get_bcopy -t get -D bcopy -s 2048
get_zcopy -t get -D zcopy -s 262144
add -t add_lat -s 8
fadd -t fadd -s 8
cswap -t cswap -s 8
"""


class UcxCase(Case):
    def run_on(self, *argv, **settings):
        """UCX 1.13 has mlx5 transports for the adapters in its table, which ends with ConnectX-7; with other adapters
        it uses verbs. From 1.17 on it requires addresses to which the machine has a route.
        """
        return super().run_on(*argv, SOFTHCA_PART_ID='4129', SOFTHCA_GID_IPV4=None, **settings)


class Info(UcxCase):
    def test_it_lists_the_transports(self):
        out = self.output('ucx_info', '-d')
        found = re.findall(r'Transport: (\w+)\n#\s+Device: (\w+:\d)', out)
        self.assertEqual(sorted(t for t, device in found if device == DEVICE),
                         ['dc_mlx5', 'rc_mlx5', 'rc_verbs', 'ud_mlx5', 'ud_verbs'])


class Perftest(UcxCase):
    def batch(self, tests, **settings):
        """Runs the tests in one process. Returns its output."""
        path = os.path.join(self.tmp, 'batch')
        with open(path, 'w', encoding='ascii') as f:
            f.write(tests.strip() + '\n')
        result = self.run_on('ucx_perftest', '-l', '-b', path, '-n', str(ROUNDS), '-w', '10', '-f', '-v',
                             UCX_NET_DEVICES=DEVICE, **settings)
        # A row of ucx_perftest's table: the name, the number of rounds, and figures.
        done = re.findall(r'^(\w+), *(\d+),', result.stdout, re.M)
        wanted = [(line.split()[0], (re.findall(r'-n (\d+)', line) or [str(ROUNDS)])[0])
                  for line in tests.strip().splitlines()]
        self.assertEqual(done, wanted, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def ucp(self, tls):
        log = self.batch(UCP_TESTS, UCX_TLS=tls, UCX_LOG_LEVEL='info')
        # UCX 1.13 writes "ep_cfg[0]: tag(rc_verbs/mlx5_0:1)"; newer versions write "perftest self cfg#0
        # tag(rc_verbs/mlx5_0:1)".
        used = {t for line in re.findall(r'cfg(?:\[\d+\]:|#\d+) (.*)', log)
                for t in re.findall(r'(\w+)/\w+', line)}
        self.assertEqual(used, {UCP_TRANSPORTS[tls]})
        self.assertNotIn(' ERROR ', log)

    def uct(self, transport, tests):
        log = self.batch(''.join(f'{line} -x {transport} -d {DEVICE}\n'
                                 for line in tests.strip().splitlines() if line))
        self.assertNotIn(' ERROR ', log)

    def test_ucp_rc_verbs(self):
        self.ucp('rc_v')

    def test_ucp_rc_mlx5(self):
        self.ucp('rc_x')

    def test_ucp_dc_mlx5(self):
        self.ucp('dc_x')

    def test_ucp_ud_verbs(self):
        self.ucp('ud_v')

    def test_ucp_ud_mlx5(self):
        self.ucp('ud_x')

    def test_uct_rc_verbs(self):
        self.uct('rc_verbs', UCT_MESSAGES + UCT_MEMORY)

    def test_uct_rc_mlx5(self):
        self.uct('rc_mlx5', UCT_MESSAGES + UCT_MEMORY)

    def test_uct_dc_mlx5(self):
        self.uct('dc_mlx5', UCT_MESSAGES + UCT_MEMORY)

    def test_uct_ud_verbs(self):
        self.uct('ud_verbs', UCT_MESSAGES)

    def test_uct_ud_mlx5(self):
        self.uct('ud_mlx5', UCT_MESSAGES)


if __name__ == '__main__':
    main()
