#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified programs of the distribution find the emulated adapter at the paths at which a real machine has its
adapter.

Expected values: the manual pages of ibstat(8) and ibstatus(8), and what the kernel shows in /sys
(Documentation/ABI/stable/sysfs-class-infiniband). A program that is not installed is skipped.

usage: test_discovery.py LAUNCHER
"""
import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys

from launched import LAUNCHER, Case, HELLO, clean_env, main

IBDEV = '/sys/class/infiniband/mlx5_0'
BDF = 'ca00:00:01.0'
FUNCTION = f'/sys/devices/pcica00:00/{BDF}'


class Tools(Case):
    """Common commands."""

    def test_ls(self):
        self.assertEqual(self.output('ls', '/sys/class/infiniband'), 'mlx5_0\n')
        self.assertEqual(self.output('ls', '/dev/infiniband').split()[-1], 'uverbs0')
        self.assertIn('ca00:00:01.0', self.output('ls', '/sys/bus/pci/devices').split())
        result = self.run_on('ls', '-l', IBDEV + '/', '/dev/infiniband/uverbs0')
        self.assertEqual(result.stderr, HELLO % 41692)
        self.assertRegex(result.stdout, r'crw-rw-rw- .* 231, +192 .* /dev/infiniband/uverbs0\n')
        self.assertRegex(result.stdout, r'-r--r--r-- .* fw_ver\n')
        self.assertRegex(result.stdout, r'device -> \.\./\.\./\.\./ca00:00:01\.0\n')

    def test_several_adapters_and_ports(self):
        self.assertEqual(self.output('ls', '/sys/class/infiniband', '-1', SOFTHCA_DEVICES='3').split(),
                         ['mlx5_0', 'mlx5_1', 'mlx5_2'])
        self.assertEqual(self.output('ls', IBDEV + '/ports', SOFTHCA_PORTS='2').split(), ['1', '2'])
        names = self.shell('for d in /sys/class/infiniband/*; do basename $(readlink -f $d/device); done',
                           SOFTHCA_DEVICES='3')
        self.assertEqual(names.split(), ['ca00:00:01.0', 'ca00:00:02.0', 'ca00:00:03.0'])

    def test_cat(self):
        self.assertEqual(self.output('cat', IBDEV + '/fw_ver', IBDEV + '/node_type',
                                     IBDEV + '/ports/1/gids/3', IBDEV + '/ports/1/gid_attrs/types/3'),
                         '32.47.1088\n1: CA\n0000:0000:0000:0000:0000:ffff:c633:640b\nRoCE v2\n')
        self.assertEqual(self.output('cat', IBDEV + '/fw_ver', SOFTHCA_FW_VER='22.7.15'), '22.7.0015\n')
        self.assertEqual(self.output('cat', IBDEV + '/ports/1/lid', SOFTHCA_LINK_LAYER='infiniband'),
                         '0x1\n')
        self.assertIn('PCI_SLOT_NAME=ca00:00:01.0\n', self.output('cat', IBDEV + '/device/uevent'))

    def gids(self, **settings):
        """Returns the IPv4 GID of each port of two adapters, as sysfs shows it. Checks that the line that softhca
        prints at its start names the first of these GIDs."""
        result = self.run_on('bash', '-c', 'cat /sys/class/infiniband/mlx5_{0,1}/ports/{1,2}/gids/3; ibv_devices',
                             SOFTHCA_DEVICES='2', SOFTHCA_PORTS='2', **settings)
        said = re.findall(r'GID ([\d.]+)\)$', result.stderr, re.M)
        gids = [str(ipaddress.IPv6Address(gid).ipv4_mapped) for gid in result.stdout.split()[:4]]
        self.assertEqual(said, [gids[0]], result.stderr)
        return gids

    def test_GIDs_are_the_addresses_of_interfaces_that_are_up(self):
        if shutil.which('ip') is None or shutil.which('ibv_devices') is None:
            self.skipTest('ip or ibv_devices is not there (packages iproute2, ibverbs-utils)')
        links = json.loads(subprocess.check_output(['ip', '-j', '-4', 'addr', 'show', 'up'], text=True))
        up = [a['local'] for link in links if 'LOOPBACK' not in link.get('flags', []) for a in link.get('addr_info', [])]
        gids = self.gids(SOFTHCA_GID_IPV4=None)
        reserve = ['198.51.100.11', '198.51.100.12', '198.51.100.13', '198.51.100.14']
        self.assertEqual(set(gids[:len(up)]) - set(up), set())
        self.assertEqual(gids[len(up):], reserve[len(up):])
        self.assertEqual(len(set(gids)), 4)
        self.assertEqual(self.gids(SOFTHCA_GID_IPV4='203.0.113.254'),
                         ['203.0.113.254', '203.0.113.255', '203.0.114.0', '203.0.114.1'])
        for address in ('', '203.0.113', '0.0.0.0', '203.0.113.256', 'fd00::1', 'lo'):
            result = self.run_on('ibv_devices', status=None, SOFTHCA_GID_IPV4=address)
            self.assertIn(f'gid_ipv4 = "{address}" is not allowed; it takes an IPv4 address', result.stderr)

    def test_GIDs_on_a_machine_without_addresses(self):
        alone = ['unshare', '--user', '--net', '--map-root-user']
        if shutil.which('unshare') is None or subprocess.run([*alone, 'true'], check=False, capture_output=True).returncode:
            self.skipTest('no network namespace can be made')
        shown = subprocess.run([*alone, LAUNCHER, 'cat', IBDEV + '/ports/1/gids/3'], check=True, text=True,
                               capture_output=True, env=clean_env(TMPDIR=self.tmp, SOFTHCA_GID_IPV4=None))
        self.assertEqual(shown.stdout, '0000:0000:0000:0000:0000:ffff:c633:640b\n')

    def test_readlink(self):
        self.assertEqual(self.output('readlink', '-f', IBDEV), FUNCTION + '/infiniband/mlx5_0\n')
        self.assertEqual(self.output('readlink', '-e', IBDEV + '/device/driver'),
                         '/sys/bus/pci/drivers/mlx5_core\n')
        self.assertEqual(self.output('realpath', IBDEV + '/../..'), FUNCTION + '\n')

    def test_find(self):
        found = self.output('find', '/sys/class/infiniband', '/sys/devices/pcica00:00', '-name', 'mlx5*')
        self.assertEqual(found.split(), [IBDEV, FUNCTION + '/infiniband/mlx5_0'])
        files = self.output('find', IBDEV + '/ports/1/', '-type', 'f').split()
        self.assertEqual(len([f for f in files if '/gids/' in f]), 255)
        self.assertEqual(self.output('find', '/sys/class', '-maxdepth', '1', '-name', 'infiniband').split(),
                         ['/sys/class/infiniband'])
        # Some entries of gid_attrs cannot be read, as on a real machine.
        self.assertEqual(self.output('grep', '-l', '32.47.1088', '-r', IBDEV + '/', '--exclude-dir=gid_attrs'), IBDEV + '/fw_ver\n')

    def test_shells(self):
        for shell in ('sh', 'bash'):
            out = self.output(shell, '-c', f'cd {IBDEV}/device; pwd -P; /bin/pwd; cat vendor; '
                              'echo infiniband/*/fw_ver; cat < ../../../class/infiniband/mlx5_0/hca_type; '
                              'test -c /dev/infiniband/uverbs0 && test -d . && test -r device && echo yes')
            self.assertEqual(out, f'{FUNCTION}\n{FUNCTION}\n0x15b3\ninfiniband/mlx5_0/fw_ver\nMT41692\nyes\n')

    def test_network_interface(self):
        names = f'{IBDEV}/device/net/'
        result = self.run_on('bash', '-c', f'ls {names}; cat {IBDEV}/ports/1/gid_attrs/ndevs/0', status=None)
        self.assertEqual((result.stdout, result.returncode), ('', 1))
        self.assertIn(f"cannot access '{names}': No such file", result.stderr)
        self.assertIn('ndevs/0: Invalid argument', result.stderr)
        with open('/sys/class/net/lo/ifindex', encoding='ascii') as f:
            index = f.read()
        out = self.shell(f'ls {names}; realpath {names}lo; cat {names}lo/ifindex '
                         f'{IBDEV}/ports/1/gid_attrs/ndevs/3', SOFTHCA_NETDEV='lo')
        self.assertEqual(out, f'lo\n{os.path.realpath("/sys/class/net/lo")}\n{index}lo\n')
        result = self.run_on('cat', f'{IBDEV}/ports/1/gid_attrs/ndevs/4', status=1, SOFTHCA_NETDEV='lo')
        self.assertIn('Invalid argument', result.stderr)  # the table entry is empty

    def test_the_last_interface_is_of_all_ports_behind_it(self):
        others = sorted(set(os.listdir('/sys/class/net')) - {'lo', 'bonding_masters'})
        if not others:
            self.skipTest('this machine has one network interface')
        out = self.shell('for d in 0 1; do cat /sys/class/infiniband/mlx5_$d/ports/*/gid_attrs/ndevs/0; done; '
                         'ls /sys/class/infiniband/mlx5_0/device/net /sys/class/infiniband/mlx5_1/device/net',
                         SOFTHCA_DEVICES='2', SOFTHCA_PORTS='2', SOFTHCA_NETDEV=f'lo,{others[0]}').split('\n')
        self.assertEqual(out[:4], ['lo', others[0], others[0], others[0]])
        self.assertEqual(out[4:], ['/sys/class/infiniband/mlx5_0/device/net:', *sorted(['lo', others[0]]), '',
                                   '/sys/class/infiniband/mlx5_1/device/net:', others[0], ''])

    def in_namespace(self, script):
        """Runs a shell in a network namespace of its own, where the shell may create interfaces."""
        return subprocess.run(['unshare', '-rn', 'sh', '-c', script], env=clean_env(TMPDIR=self.tmp),
                              capture_output=True, text=True, timeout=400, check=False)

    def test_an_interface_that_goes_away(self):
        make = 'ip link add softhca-t type %s'
        kinds = [k for k in ('dummy', 'bridge', 'veth') if self.in_namespace(make % k).returncode == 0]
        if not kinds:
            self.skipTest('no network interface can be made')
        script = os.path.join(self.tmp, 'script.py')
        with open(script, 'w', encoding='ascii') as f:
            f.write('import os, subprocess\n'
                    f'path = "{IBDEV}/ports/1/gid_attrs/ndevs/0"\n'
                    'print(open(path).read().strip())\n'
                    'subprocess.run(["ip", "link", "del", "softhca-t"], check=True)\n'
                    'try:\n    os.open(path, os.O_RDONLY)\n'
                    'except OSError as error:\n    print(os.strerror(error.errno), flush=True)\n'
                    'subprocess.run(["rdma", "link"])\n')
        result = self.in_namespace(f'{make % kinds[0]}; SOFTHCA_NETDEV=softhca-t {LAUNCHER} '
                                   f'{sys.executable} {script}')
        self.assertEqual(result.stdout, 'softhca-t\nInvalid argument\n', result.stderr)
        # A new process fails, because its setting names an interface that does not exist.
        self.assertIn('netdev = "softhca-t" is not allowed', result.stderr)

    def test_writing_is_refused(self):
        result = self.run_on('bash', '-c', f'echo 1 > {IBDEV}/fw_ver; cat {IBDEV}/fw_ver')
        self.assertIn('Permission denied', result.stderr)
        self.assertEqual(result.stdout, '32.47.1088\n')

    def test_python(self):
        script = ('import os, glob, pathlib; '
                  f'print(os.listdir("/sys/class/infiniband"), os.path.realpath("{IBDEV}/device"), '
                  f'open("{IBDEV}/hca_type").read().strip(), glob.glob("/sys/class/infiniband/*/ports/*"), '
                  f'pathlib.Path("{IBDEV}").is_symlink(), [e.name for e in os.scandir("{IBDEV}/ports")])')
        self.assertEqual(self.output(sys.executable, '-c', script),
                         f"['mlx5_0'] {FUNCTION} MT41692 ['{IBDEV}/ports/1'] True ['1']\n")

    def test_the_machine_is_still_there(self):
        for path in ('/sys/class/net', '/sys/bus/pci/devices', '/sys/devices/system/cpu', '/proc/self', '/etc'):
            if not os.path.isdir(path):
                continue
            with self.subTest(path=path):
                names = set(self.output('ls', '-A', path).split())
                self.assertLessEqual(set(os.listdir(path)), names)


class Diagnostics(Case):
    """Programs of the package infiniband-diags."""

    def fields(self, *argv, **settings):
        return dict(re.findall(r'^\s*([\w ]+?):[ \t]+(.*?)\s*$', self.output(*argv, **settings), re.M))

    def test_ibstat(self):
        f = self.fields('ibstat')
        self.assertEqual((f['CA type'], f['Number of ports'], f['Firmware version'], f['Node GUID']),
                         ('MT41692', '1', '32.47.1088', '0x005348fffe000000'))
        self.assertEqual((f['State'], f['Physical state'], f['Rate'], f['Base lid'], f['Link layer'],
                          f['Port GUID']),
                         ('Active', 'LinkUp', '400', '0', 'Ethernet', '0x005348fffe000001'))
        f = self.fields('ibstat', SOFTHCA_LINK_LAYER='infiniband')
        self.assertEqual((f['Base lid'], f['SM lid'], f['Link layer']), ('1', '1', 'InfiniBand'))
        self.assertEqual(self.output('ibstat', '-l', SOFTHCA_DEVICES='2').split(), ['mlx5_0', 'mlx5_1'])
        self.assertEqual(len(self.output('ibstat', '-p', SOFTHCA_PORTS='2').split()), 2)

    def test_ibstatus(self):
        out = self.output('ibstatus', SOFTHCA_PORTS='2')
        self.assertEqual(re.findall(r"Infiniband device '(\w+)' port (\d) status", out),
                         [('mlx5_0', '1'), ('mlx5_0', '2')])
        self.assertIn('default gid:\t fe80:0000:0000:0000:0053:48ff:fe00:0001\n', out)
        self.assertEqual(re.findall(r'rate:\t+ (.*)', out), ['400 Gb/sec (4X NDR)'] * 2)
        self.assertEqual(re.findall(r'\tstate:\t+ (.*)', out), ['4: ACTIVE'] * 2)

    def test_management_datagrams_are_refused(self):
        result = self.run_on('perfquery', status=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('softhca: management datagrams (umad) are not emulated', result.stderr)

    def test_devlink_does_not_know_the_adapter(self):
        # `ip link` does not name a netlink family, and `ip l2tp` uses a family other than NETLINK_RDMA: softhca must
        # print no line about them.
        self.assertEqual(self.run_on('ip', 'link', 'show', 'lo').stderr, '')
        self.assertNotIn('softhca:', self.run_on('ip', 'l2tp', 'show', 'tunnel', status=None).stderr)
        for argv in (('devlink', 'dev', 'show'), ('devlink', 'port', 'show', f'pci/{BDF}/1'), ('vdpa', 'dev', 'show')):
            result = self.run_on(*argv, status=None)
            self.assertEqual(result.stderr.count(f'softhca: {argv[0]} is not emulated: '), 1, result.stderr)
            self.assertNotIn(BDF, result.stdout)

    def test_lspci_knows_the_ids_only(self):
        result = self.run_on('lspci', '-D', '-n', status=None)
        self.assertIn('ca00:00:01.0 0200: 15b3:a2dc', result.stdout)
        self.assertEqual(result.stderr.count('softhca: the PCI configuration space is not emulated'), 1)


class Children(Case):
    def test_a_child_sees_its_parents_tree(self):
        # The parent reads a file of the adapter first. Then its child must see the tree of the parent, which is removed
        # when the parent ends.
        script = (f'[ -r {IBDEV}/fw_ver ] && stat -L -c %i:%y {IBDEV} && stat -L -c %i:%y {IBDEV}; '
                  f'sh -c "cat {IBDEV}/fw_ver"; true')
        lines = self.shell(script).splitlines()
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(lines[2], '32.47.1088')
        self.assertEqual(os.listdir(self.tmp), [])

    def test_a_child_with_other_settings_has_its_own_tree(self):
        out = self.shell(f'ls {IBDEV}/ports; [ -r {IBDEV}/fw_ver ]; '
                         f'SOFTHCA_PORTS=2 ls {IBDEV}/ports; ls {IBDEV}/ports')
        self.assertEqual(out.split(), ['1', '1', '2', '1'])

    def test_children_of_a_program_with_a_device(self):
        script = ('import subprocess, os; f = os.open("/dev/infiniband/uverbs0", os.O_RDWR); '
                  f'print(subprocess.run(["cat", "{IBDEV}/fw_ver"], capture_output=True, '
                  'text=True).stdout, subprocess.run(["ibv_devices"], capture_output=True, '
                  'text=True).stdout)')
        out = self.output(sys.executable, '-c', script)
        self.assertIn('32.47.1088\n', out)
        self.assertIn('005348fffe000000', out)
        self.assertEqual(os.listdir(self.tmp), [])


if __name__ == '__main__':
    main()
