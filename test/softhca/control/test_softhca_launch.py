#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the launcher and the settings as a user sees them: stock ibv_devinfo on the emulated adapter.

usage: test_softhca_launch.py LAUNCHER WATCH_MAPPINGS
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LAUNCHER = sys.argv.pop(1) if len(sys.argv) > 1 else 'softhca'
WATCH_MAPPINGS = sys.argv.pop(1) if len(sys.argv) > 1 else './watch_mappings.so'
SAYS_SO = 'softhca: no mlx5 device here, emulating'

# The whole output of ibv_devinfo -v for the default adapter. Limits are those of doc/softhca-reference.md. The other
# values are those of a BlueField-3, or 0 if a feature is not emulated.
DEVINFO = """\
hca_id: mlx5_0
transport: InfiniBand (0)
fw_ver: 32.47.1088
node_guid: 0053:48ff:fe00:0000
sys_image_guid: 0053:48ff:fe00:0000
vendor_id: 0x02c9
vendor_part_id: 41692
hw_ver: 0x1
board_id: SOFTHCA0000000001
phys_port_cnt: 1
max_mr_size: 0xffffffffffffffff
page_size_cap: 0xfffffffffffff000
max_qp: 16384
max_qp_wr: 32768
device_cap_flags: 0x05321c26
BAD_PKEY_CNTR
BAD_QKEY_CNTR
CHANGE_PHY_PORT
PORT_ACTIVE_EVENT
SYS_IMAGE_GUID
RC_RNR_NAK_GEN
MEM_WINDOW
XRC
MEM_MGT_EXTENSIONS
MEM_WINDOW_TYPE_2B
RAW_IP_CSUM
max_sge: 30
max_sge_rd: 30
max_cq: 16384
max_cqe: 131071
max_mr: 131072
max_pd: 16384
max_qp_rd_atom: 16
max_ee_rd_atom: 0
max_res_rd_atom: 262144
max_qp_init_rd_atom: 16
max_ee_init_rd_atom: 0
atomic_cap: ATOMIC_HCA (1)
max_ee: 0
max_rdd: 0
max_mw: 131072
max_raw_ipv6_qp: 0
max_raw_ethy_qp: 0
max_mcast_grp: 0
max_mcast_qp_attach: 0
max_total_mcast_qp_attach: 0
max_ah: 65536
max_fmr: 0
max_srq: 16384
max_srq_wr: 32767
max_srq_sge: 31
max_pkeys: 128
local_ca_ack_delay: 16
general_odp_caps:
ODP_SUPPORT
ODP_SUPPORT_IMPLICIT
rc_odp_caps:
SUPPORT_SEND
SUPPORT_RECV
SUPPORT_WRITE
SUPPORT_READ
SUPPORT_ATOMIC
SUPPORT_SRQ
uc_odp_caps:
SUPPORT_SEND
SUPPORT_RECV
SUPPORT_WRITE
ud_odp_caps:
SUPPORT_SEND
SUPPORT_RECV
SUPPORT_SRQ
xrc_odp_caps:
SUPPORT_SEND
SUPPORT_WRITE
SUPPORT_READ
SUPPORT_ATOMIC
SUPPORT_SRQ
completion timestamp_mask: 0x7fffffffffffffff
hca_core_clock: 1000000kHZ
device_cap_flags_ex: 0x5321C26
tso_caps:
max_tso: 262144
supported_qp:
SUPPORT_RAW_PACKET
rss_caps:
max_rwq_indirection_tables: 16384
max_rwq_indirection_table_size: 2048
rx_hash_function: 0x0
rx_hash_fields_mask: 0x0
max_wq_type_rq: 16384
packet_pacing_caps:
qp_rate_limit_min: 0kbps
qp_rate_limit_max: 0kbps
tag matching not supported
cq moderation caps:
max_cq_count: 65535
max_cq_period: 4095 us
maximum available device memory: 262144Bytes
num_comp_vectors: 8
port: 1
state: PORT_ACTIVE (4)
max_mtu: 4096 (5)
active_mtu: 4096 (5)
sm_lid: 0
port_lid: 0
port_lmc: 0x00
link_layer: Ethernet
max_msg_sz: 0x40000000
port_cap_flags: 0x04010000
port_cap_flags2: 0x0000
max_vl_num: invalid value (0)
bad_pkey_cntr: 0x0
qkey_viol_cntr: 0x0
sm_sl: 0
pkey_tbl_len: 1
gid_tbl_len: 255
subnet_timeout: 0
init_type_reply: 0
active_width: 4X (2)
active_speed: 100.0 Gbps (128)
phys_state: LINK_UP (5)
GID[  0]: fe80:0000:0000:0000:0053:48ff:fe00:0001, RoCE v1
GID[  1]: fe80::53:48ff:fe00:1, RoCE v2
GID[  2]: 0000:0000:0000:0000:0000:ffff:c633:640b, RoCE v1
GID[  3]: ::ffff:198.51.100.11, RoCE v2
"""

# With link_layer=infiniband, these lines replace lines of DEVINFO.
INFINIBAND = (
    ('device_cap_flags: 0x05321c26', 'device_cap_flags: 0x01321c26'),
    ('RAW_IP_CSUM', ''),
    ('device_cap_flags_ex: 0x5321C26', 'device_cap_flags_ex: 0x1321C26'),
    ('gid_tbl_len: 255', 'gid_tbl_len: 8'),
    ('max_tso: 262144\nsupported_qp:\nSUPPORT_RAW_PACKET', 'max_tso: 0'),
    ('max_rwq_indirection_tables: 16384\n'
     'max_rwq_indirection_table_size: 2048',
     'max_rwq_indirection_tables: 0\n'
     'max_rwq_indirection_table_size: 0'),
    ('max_wq_type_rq: 16384', 'max_wq_type_rq: 0'),
    ('sm_lid: 0\nport_lid: 0', 'sm_lid: 1\nport_lid: 1'),
    ('link_layer: Ethernet', 'link_layer: InfiniBand'),
    ('port_cap_flags: 0x04010000', 'port_cap_flags: 0xa751ec48'),
    ('max_vl_num: invalid value (0)', 'max_vl_num: 8 (4)'),
    ('pkey_tbl_len: 1', 'pkey_tbl_len: 128'),
    ('subnet_timeout: 0', 'subnet_timeout: 18'),
    ('GID[  0]: fe80:0000:0000:0000:0053:48ff:fe00:0001, RoCE v1\n'
     'GID[  1]: fe80::53:48ff:fe00:1, RoCE v2\n'
     'GID[  2]: 0000:0000:0000:0000:0000:ffff:c633:640b, RoCE v1\n'
     'GID[  3]: ::ffff:198.51.100.11, RoCE v2',
     'GID[  0]: fe80:0000:0000:0000:0053:48ff:fe00:0001'),
)


def clean_env(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith('SOFTHCA_')}
    env.pop('SYSFS_PATH', None)
    env['SOFTHCA_GID_IPV4'] = '198.51.100.11'
    env.update(more)
    return env


class Case(unittest.TestCase):
    def setUp(self):
        memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        self.tmp = tempfile.mkdtemp(prefix='softhca-test.', dir=memory)
        self.addCleanup(shutil.rmtree, self.tmp)

    def run_on(self, *argv, **settings):
        env = clean_env(TMPDIR=self.tmp, **settings)
        return subprocess.run([LAUNCHER, *argv], env=env, capture_output=True, text=True,
                              timeout=400, check=False)

    def devinfo(self, *argv, **settings):
        """Returns the output of ibv_devinfo -v, as a list of (field, value)."""
        result = self.run_on('ibv_devinfo', '-v', *argv, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return re.findall(r'^\s*([\w\[\] ]+):\s+(.*?)\s*$', result.stdout, re.M)

    def value(self, field, **settings):
        return dict(self.devinfo(**settings))[field]

    def assert_no_device(self, result):
        self.assertRegex(result.stdout + result.stderr,
                         'No IB devices found|Failed to get IB devices list')
        self.assertNotIn('hca_id', result.stdout)

    def trees(self):
        return glob.glob(os.path.join(self.tmp, 'softhca-*'))


class Launcher(Case):
    def test_devinfo_reads_like_a_real_card(self):
        info = dict(self.devinfo())
        self.assertEqual(info['hca_id'], 'mlx5_0')
        self.assertEqual(info['fw_ver'], '32.47.1088')
        self.assertEqual(info['vendor_id'], '0x02c9')
        self.assertEqual(info['vendor_part_id'], '41692')
        self.assertEqual(info['state'], 'PORT_ACTIVE (4)')
        self.assertEqual(info['link_layer'], 'Ethernet')
        self.assertEqual(info['atomic_cap'], 'ATOMIC_HCA (1)')
        self.assertEqual(info['phys_state'], 'LINK_UP (5)')
        self.assertTrue(info['GID[  1]'].endswith('RoCE v2'))

    def lines(self, **settings):
        result = self.run_on('ibv_devinfo', '-v', **settings)
        lines = [' '.join(line.split()) for line in result.stdout.splitlines() if line.strip()]
        # Since version 65 of rdma-core, ibv_devinfo also prints the product of speed and width.
        for line in [line for line in lines if line.startswith('effective_speed:')]:
            self.assertEqual(line, 'effective_speed: 400.0 Gbps')
            lines.remove(line)
        return lines

    def test_devinfo_prints_exactly_these_lines(self):
        self.maxDiff = None
        expected = [' '.join(line.split()) for line in DEVINFO.splitlines()]
        lines = self.lines()
        if 'ODP_SUPPORT' not in lines:
            self.skipTest('this kernel gives no memory on demand')
        self.assertEqual(lines, expected)

    def test_devinfo_prints_other_lines_on_infiniband(self):
        self.maxDiff = None
        text = DEVINFO
        for ethernet, infiniband in INFINIBAND:
            self.assertIn(ethernet + '\n', text)
            text = text.replace(ethernet + '\n', infiniband + '\n' if infiniband else '')
        expected = [' '.join(line.split()) for line in text.splitlines()]
        lines = self.lines(SOFTHCA_LINK_LAYER='infiniband')
        if 'ODP_SUPPORT' not in lines:
            self.skipTest('this kernel gives no memory on demand')
        self.assertEqual(lines, expected)
        # A second port differs from the first port only in its addresses.
        port = expected[expected.index('port: 1'):]
        port = [line.replace('port: 1', 'port: 2').replace('port_lid: 1', 'port_lid: 2')
                .replace('fe00:0001', 'fe00:0002') for line in port]
        lines = self.lines(SOFTHCA_LINK_LAYER='infiniband', SOFTHCA_PORTS='2')
        self.assertEqual(lines[lines.index('port: 2'):], port)

    def test_one_line_says_that_it_is_emulated(self):
        result = self.run_on('ibv_devices')
        # An rdma-core that is built but not installed has no configuration folder.
        lines = [line for line in result.stderr.splitlines()
                 if "couldn't open config directory" not in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(SAYS_SO), lines)

    def test_a_program_that_asks_for_no_device_prints_nothing(self):
        result = self.run_on('true')
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))

    def test_the_exit_status_is_that_of_the_program(self):
        self.assertEqual(self.run_on('sh', '-c', 'exit 42').returncode, 42)

    def test_libraries_see_the_mappings_of_the_program(self):
        program = f"""if True:
            import ctypes, mmap
            libs = ctypes.CDLL(None)
            n = lambda call: ctypes.c_uint.in_dll(ctypes.CDLL({WATCH_MAPPINGS!r}), 'watch_n_' + call).value
            libs.mmap.restype = libs.mremap.restype = ctypes.c_void_p
            before = n('mmap'), n('mremap')
            at = libs.mmap(None, ctypes.c_size_t(4096), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0))
            at = libs.mremap(ctypes.c_void_p(at), ctypes.c_size_t(4096), ctypes.c_size_t(8192), 1, None)
            print(n('mmap') - before[0], n('mremap') - before[1])"""
        result = self.run_on(sys.executable, '-c', program, LD_PRELOAD=WATCH_MAPPINGS)
        self.assertEqual(result.stdout, '1 1\n', result.stderr)

    def test_help(self):
        result = self.run_on('-h')
        self.assertEqual(result.returncode, 0)
        self.assertIn('usage: softhca [--like CARD] PROGRAM', result.stdout)
        self.assertIn('SOFTHCA_FAULTS=FILE', result.stdout)

    def test_nothing_to_run(self):
        result = self.run_on()
        self.assertEqual(result.returncode, 2)
        self.assertIn('usage: softhca [--like CARD] PROGRAM', result.stderr)

    def test_a_program_that_does_not_exist(self):
        result = self.run_on('/no/such/program')
        self.assertEqual(result.returncode, 127)
        self.assertIn('cannot run /no/such/program: No such file or directory', result.stderr)

    def test_a_program_that_cannot_run(self):
        result = self.run_on('/etc/passwd')
        self.assertEqual(result.returncode, 126)
        self.assertIn('cannot run /etc/passwd: Permission denied', result.stderr)

    def test_an_unknown_option(self):
        result = self.run_on('--frobnicate')
        self.assertEqual(result.returncode, 2)
        self.assertIn('--frobnicate', result.stderr)


class CardProfile(Case):
    """ibv_devinfo -v prints the part id and the firmware version, which DOCA 3.1 General Support names."""
    def info(self, *like, **settings):
        result = self.run_on(*like, 'ibv_devinfo', '-v', **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return dict(line.split(':', 1) for line in result.stdout.replace('\t', '').splitlines() if ':' in line), result.stderr

    def test_a_card_by_its_name(self):
        for name, part, fw in (('connectx-4-lx', '4117', '14.32.1010'), ('bluefield-2', '41686', '24.46.1006')):
            info, _ = self.info('--like', name)
            self.assertEqual((info['vendor_part_id'], info['fw_ver']), (part, fw))
        info, _ = self.info(SOFTHCA_LIKE='connectx-7', SOFTHCA_PART_ID='4125')
        self.assertEqual((info['vendor_part_id'], info['fw_ver']), ('4125', '28.46.1006'))

    def test_a_report(self):
        path = os.path.join(self.tmp, 'report.json')
        with open(path, 'w', encoding='ascii') as f:
            f.write('{"probes": {"device": {"part": 4119, "fw": "16.35.4554"}, "card_profile": {"max_sge": 11, "wings": 2}}}')
        info, said = self.info('--like', path)
        self.assertEqual((info['vendor_part_id'], info['max_sge']), ('4119', '11'))
        self.assertIn('report.json also has what no setting can express: wings\n', said)
        # ibv_devinfo runs in another working directory than the launcher: it must find the report all the same.
        result = subprocess.run([os.path.abspath(LAUNCHER), '--like', 'report.json', 'sh', '-c', 'cd / && ibv_devinfo'], cwd=self.tmp,
                                capture_output=True, text=True, check=True)
        self.assertIn('4119', result.stdout)

    def test_wrong_ones(self):
        result = self.run_on('--like', 'connectx-3', 'ibv_devinfo')
        self.assertIn('has no such card profile', result.stderr)
        self.assert_no_device(result)
        result = self.run_on('--like', './none', 'ibv_devinfo')
        self.assertEqual((result.returncode, result.stderr), (2, 'softhca: --like ./none: No such file or directory\n'))
        result = self.run_on('--like', 'connectx-7')
        self.assertEqual(result.returncode, 2)
        self.assertIn('--like takes a card and a program', result.stderr)


class Settings(Case):
    def test_each_setting_takes_effect(self):
        for settings, field, expected in (
                ({'SOFTHCA_PART_ID': '0x1021'}, 'vendor_part_id', '4129'),
                ({'SOFTHCA_PART_ID': '0x1021'}, 'hw_ver', '0x0'),
                ({'SOFTHCA_PART_ID': '4125'}, 'vendor_part_id', '4125'),
                ({'SOFTHCA_FW_VER': '22.7.15'}, 'fw_ver', '22.7.0015'),
                ({'SOFTHCA_LINK_LAYER': 'infiniband'}, 'link_layer', 'InfiniBand'),
                ({'SOFTHCA_LINK_LAYER': 'infiniband'}, 'pkey_tbl_len', '128'),
                ({'SOFTHCA_PORTS': '2'}, 'phys_port_cnt', '2'),
                ({'SOFTHCA_MAX_QP': '77'}, 'max_qp', '77'),
                ({'SOFTHCA_MAX_CQ': '78'}, 'max_cq', '78'),
                ({'SOFTHCA_MAX_CQE': '1000'}, 'max_cqe', '1000'),
                ({'SOFTHCA_MAX_QP_WR': '1024'}, 'max_qp_wr', '1024'),
                ({'SOFTHCA_MAX_SGE': '7'}, 'max_sge', '7'),
                ({'SOFTHCA_MAX_MR': '79'}, 'max_mr', '79'),
                ({'SOFTHCA_MAX_PD': '80'}, 'max_pd', '80'),
                ({'SOFTHCA_MAX_AH': '81'}, 'max_ah', '81'),
                ({'SOFTHCA_MAX_MR_SIZE': '65536'}, 'max_mr_size', '0x10000'),
                ({'SOFTHCA_MAX_RD_ATOMIC': '4'}, 'max_qp_rd_atom', '4')):
            with self.subTest(**settings):
                self.assertEqual(self.value(field, **settings), expected)

    def test_several_devices(self):
        names = [v for k, v in self.devinfo(SOFTHCA_DEVICES='3') if k == 'hca_id']
        self.assertEqual(sorted(names), ['mlx5_0', 'mlx5_1', 'mlx5_2'])
        guids = [v for k, v in self.devinfo(SOFTHCA_DEVICES='3') if k == 'node_guid']
        self.assertEqual(len(set(guids)), 3)

    def test_a_file(self):
        path = os.path.join(self.tmp, 'adapter.conf')
        with open(path, 'w', encoding='ascii') as f:
            f.write('# an adapter\n\nports = 2   # both\n\tmax_qp=99\n')
        info = dict(self.devinfo(SOFTHCA_CONFIG=path))
        self.assertEqual((info['phys_port_cnt'], info['max_qp']), ('2', '99'))
        info = dict(self.devinfo(SOFTHCA_CONFIG=path, SOFTHCA_MAX_QP='98'))
        self.assertEqual((info['phys_port_cnt'], info['max_qp']), ('2', '98'))

    def test_a_wrong_setting_is_named_and_no_device_comes_up(self):
        for settings, expected in (
                ({'SOFTHCA_MAX_QPS': '5'}, ['unknown setting "max_qps"', ' max_qp ']),
                ({'SOFTHCA_PORTS': '3'}, ['ports = "3"', 'a number from 1 to 2']),
                ({'SOFTHCA_PORTS': ''}, ['ports = ""', 'a number from 1 to 2']),
                ({'SOFTHCA_PORTS': '1x'}, ['ports = "1x"']),
                ({'SOFTHCA_PORTS': '-1'}, ['ports = "-1"']),
                ({'SOFTHCA_DEVICES': '0'}, ['devices = "0"', 'a number from 1 to 8']),
                ({'SOFTHCA_MAX_MEMCPY': '1000'}, ['max_memcpy = "1000"', 'a power of two']),
                ({'SOFTHCA_MAX_MEMCPY': '4294967296'}, ['max_memcpy', 'to 2147483648']),
                ({'SOFTHCA_MAX_CQE': '99999999999999999999'}, ['max_cqe']),
                ({'SOFTHCA_FW_VER': '28.36'}, ['fw_ver', 'MAJOR.MINOR.SUB']),
                ({'SOFTHCA_LINK_LAYER': 'token ring'}, ['link_layer', '"ethernet"']),
                ({'SOFTHCA_FORCE': 'yes'}, ['force = "yes"', '0 or 1']),
                ({'SOFTHCA_CONFIG': '/no/such/file'}, ['/no/such/file', 'No such file'])):
            with self.subTest(**settings):
                result = self.run_on('ibv_devinfo', **settings)
                for text in expected:
                    self.assertIn(text, result.stderr)
                self.assert_no_device(result)
                self.assertNotIn(SAYS_SO, result.stderr)

    def test_a_wrong_line_is_named_by_its_number(self):
        path = os.path.join(self.tmp, 'adapter.conf')
        for text, expected in (('ports = 1\nportz = 2\n', ':2: unknown setting "portz"'),
                               ('\n\nports 2\n', ':3: "ports 2" is not "key = value"'),
                               ('x' * 600 + '\n', ':1: a line longer than')):
            with self.subTest(text=text[:20]):
                with open(path, 'w', encoding='ascii') as f:
                    f.write(text)
                result = self.run_on('ibv_devinfo', SOFTHCA_CONFIG=path)
                self.assertIn(path + expected, result.stderr)
                self.assert_no_device(result)


    def test_a_wrong_file_of_faults_is_named_and_no_device_comes_up(self):
        path = os.path.join(self.tmp, 'faults')
        for text, expected in ((None, ': No such file or directory'),
                               ('drop op=1\n\nexplode\n', ':3: no fault "explode"; there are: complete drop'),
                               ('late ms=soon', ':1: ms=soon: not a number'),
                               ('drop device=1', ':1: device=1: there is no mlx5_1: the setting devices is 1'),
                               ('port_up\nport_up port=2\n', ':2: port=2: mlx5_0 has no port 2: the setting ports is 1'),
                               ('drop op=9\n' * 65, ':65: more than 64 faults')):
            with self.subTest(expected=expected):
                if text is not None:
                    with open(path, 'w', encoding='ascii') as f:
                        f.write(text)
                result = self.run_on('ibv_devinfo', SOFTHCA_FAULTS=path)
                self.assertIn('softhca: SOFTHCA_FAULTS: ' + path + expected, result.stderr)
                self.assertIn('the adapter does not come up until this is corrected', result.stderr)
                self.assert_no_device(result)
        with open(path, 'w', encoding='ascii') as f:
            f.write('# none\nrefuse call=query_device errno=5 times=1\n')
        result = self.run_on('ibv_devinfo', SOFTHCA_FAULTS=path, SOFTHCA_LOG_FAULTS='1')
        self.assertRegex(result.stderr, SAYS_SO + r' 1 \(mlx5_0, part 41692, GID [0-9.]+; SOFTHCA_FAULTS lists 1 fault\)\n')
        self.assertIn('the fault "refuse call=query_device errno=5 times=1" strikes', result.stderr)
        result = self.run_on('ibv_devinfo', SOFTHCA_FAULTS=path)
        self.assertNotIn('strikes', result.stderr)
        with open(path, 'w', encoding='ascii') as f:
            f.write('port_down port=2 device=1\n')
        with open(path, 'a', encoding='ascii') as f:
            f.write('drop op=9\n')
        result = self.run_on('ibv_devinfo', SOFTHCA_FAULTS=path, SOFTHCA_DEVICES='2', SOFTHCA_PORTS='2')
        self.assertIn('; SOFTHCA_FAULTS lists 2 faults)\n', result.stderr)
        with open(path, 'w', encoding='ascii') as f:
            f.write('# nothing\n')
        self.assertNotIn('SOFTHCA_FAULTS', self.run_on('ibv_devinfo', SOFTHCA_FAULTS=path).stderr)
        self.assertEqual(result.stdout.count('PORT_ACTIVE'), 3, result.stderr)


class Neighbours(Case):
    """The machine has other devices: a fake sysfs describes them."""

    def machine(self, *devices):
        root = os.path.join(self.tmp, 'sys')
        shutil.rmtree(root, ignore_errors=True)
        for n, (ibdev, modalias) in enumerate(devices):
            verbs = f'{root}/class/infiniband_verbs/uverbs{n}'
            ib = f'{root}/class/infiniband/{ibdev}'
            for path, text in ((f'{verbs}/ibdev', ibdev), (f'{verbs}/dev', f'231:{192 + n}'),
                               (f'{verbs}/abi_version', '1'), (f'{ib}/node_type', '1: CA'),
                               (f'{ib}/node_guid', '0000:0000:0000:0001'),
                               (f'{ib}/device/modalias', modalias)):
                if text is None:
                    continue
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, 'w', encoding='ascii') as f:
                    f.write(text + '\n')
        return root

    REAL = ('mlx5_0', 'pci:v000015B3d0000101Dsv000015B3sd00000001bc02sc00i00')

    def test_a_real_device_is_never_shadowed(self):
        for device in (self.REAL, ('renamed', self.REAL[1]),
                       ('mlx5_7', 'auxiliary:mlx5_core.sf'), ('mlx5_7', None)):
            with self.subTest(device=device):
                result = self.run_on('ibv_devices', SYSFS_PATH=self.machine(device))
                self.assertNotIn('softhca', result.stderr)
                self.assertNotIn('mlx5_', result.stdout)
                self.assertEqual(self.trees(), [])

    def test_a_real_device_is_shadowed_by_force(self):
        root = self.machine(self.REAL)
        info = self.devinfo(SYSFS_PATH=root, SOFTHCA_FORCE='1')
        self.assertEqual([v for k, v in info if k == 'hca_id'], ['mlx5_0'])
        self.assertEqual(dict(info)['vendor_part_id'], '41692')

    def test_devices_of_other_vendors_stay(self):
        root = self.machine(('rxe0', 'virtual:rxe'), ('mlx4_0', 'pci:v000015B3d00001003sv0'))
        script = ('ls $SYSFS_PATH/class/infiniband_verbs; ls $SYSFS_PATH/class/infiniband; '
                  'cat $SYSFS_PATH/class/infiniband_verbs/uverbs1/ibdev; ibv_devices')
        result = self.run_on('sh', '-c', script, SYSFS_PATH=root)
        self.assertEqual(result.stdout.split()[:8],
                         ['abi_version', 'uverbs0', 'uverbs1', 'uverbs2',
                          'mlx4_0', 'mlx5_0', 'rxe0', 'mlx4_0'])
        self.assertIn('005348fffe000000', result.stdout)


class Trees(Case):
    def test_trees_are_removed_at_exit(self):
        # sh is not used: it ends by _exit(2), as a killed program does, and its tree is removed only when another
        # program starts.
        for program in (['ibv_devices'], ['bash', '-c', 'ibv_devices; ibv_devices; true'],
                        ['bash', '-c', '(ibv_devices); exit 3']):
            with self.subTest(program=program):
                self.run_on(*program)
                self.assertEqual(self.trees(), [])

    def test_trees_of_dead_processes_are_removed_and_others_stay(self):
        env = clean_env(TMPDIR=self.tmp)
        # This program reads a file of the tree, and then continues to run.
        waits = [LAUNCHER, 'tail', '-f', '/sys/class/infiniband/mlx5_0/node_type']
        with subprocess.Popen(waits, env=env, stdout=subprocess.DEVNULL) as killed, \
                subprocess.Popen(waits, env=env, stdout=subprocess.DEVNULL) as living:
            deadline = time.monotonic() + 400
            while len(self.trees()) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            before = self.trees()
            self.assertEqual(len(before), 2)
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            self.run_on('ibv_devices')
            self.assertEqual(len(self.trees()), 1)
            self.assertIn(self.trees()[0], before)
            living.send_signal(signal.SIGKILL)
            living.wait()
        self.run_on('ibv_devices')
        self.assertEqual(self.trees(), [])


if __name__ == '__main__':
    if shutil.which('ibv_devinfo') is None:
        print('skipped: ibv_devinfo is not installed (package ibverbs-utils)')
        sys.exit(77)
    if glob.glob('/sys/class/infiniband/mlx5_*'):
        print('skipped: this machine has an mlx5 device')
        sys.exit(77)
    unittest.main(verbosity=2)
