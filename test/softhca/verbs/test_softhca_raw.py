#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the capture file of raw packet queue pairs, with scapy's checksums and with tshark."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

try:
    from scapy.all import Ether, IP, IPv6, TCP, UDP, Dot1Q
except ImportError:
    print('skipped: python3-scapy is not installed')
    sys.exit(77)

SENDER = sys.argv.pop(1)
MACS = dict(dst='02:00:00:00:00:02', src='02:00:00:00:00:01')
TCP_HDR = dict(sport=40001, dport=40002, seq=0xfffffff0, ack=7, flags='CFPA', window=1000,
               options=[('NOP', None), ('NOP', None), ('Timestamp', (1, 2))])


def pattern(n):
    return bytes(i & 0xff for i in range(n))


class Raw(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.path = os.path.join(self.dir, 'frames.pcap')

    def tearDown(self):
        shutil.rmtree(self.dir)

    def run_sender(self, kind, header, length, mss=0, csum=1, count=1, capture=None,
                   **more):
        # mend_wrapped_header() of raw_sender.c needs a pumped adapter without BlueFlame.
        env = dict(os.environ, SOFTHCA_CAPTURE=capture or self.path, SOFTHCA_THREADS='0',
                   MLX5_SHUT_UP_BF='1', **more)
        out = subprocess.run([SENDER, kind, header.hex(), str(length), str(mss), str(csum),
                              str(count)], env=env, stdout=subprocess.PIPE, timeout=400,
                             stderr=subprocess.PIPE, universal_newlines=True)
        self.stderr = out.stderr
        if out.returncode == 77:
            self.skipTest(out.stdout)
        self.assertEqual(out.returncode, 0, out.stderr)
        return out.stdout.strip()

    def test_a_line_says_once_that_RDMA_is_not_captured(self):
        said = 'RDMA is not captured'
        env = dict(os.environ, SOFTHCA_CAPTURE=self.path)
        out = subprocess.run([SENDER, 'rdma'], env=env, capture_output=True, text=True, timeout=400, check=True)
        self.assertEqual(out.stderr.count(said), 1, out.stderr)
        self.assertIn(self.path, out.stderr)
        del env['SOFTHCA_CAPTURE']
        out = subprocess.run([SENDER, 'rdma'], env=env, capture_output=True, text=True, timeout=400, check=True)
        self.assertNotIn(said, out.stderr)
        self.run_sender('send', bytes(Ether(**MACS)), 64)
        self.assertNotIn(said, self.stderr)

    def frames(self, since=0):
        """Returns the frames as raw bytes. The test reads the file format itself, because scapy would compute fields
        again."""
        with open(self.path, 'rb') as f:
            data = f.read()
        # The largest length of a frame, 262144, is that of tcpdump.
        self.assertEqual(struct.unpack('<IHHIIII', data[:24]), (0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        at, frames = 24, []
        while at < len(data):
            sec, nsec, got, full = struct.unpack('<IIII', data[at:at + 16])
            self.assertEqual(got, full)
            self.assertLess(nsec, 1000000000)
            self.assertTrue(since <= sec + nsec / 1e9 + 0.01 and sec <= time.time())
            frames.append(data[at + 16:at + 16 + got])
            at += 16 + got
        self.assertEqual(at, len(data))
        return frames

    def check_sums(self, frame):
        """Deletes the checksums, and lets scapy compute them again: they must be equal to those in the frame."""
        packet = Ether(frame)
        ip = packet[IP] if IP in packet else packet[IPv6]
        fresh = ip.copy()
        if IP in packet:
            del fresh.chksum
        l4 = TCP if TCP in fresh else UDP
        del fresh[l4].chksum
        fresh = ip.__class__(bytes(fresh))
        if IP in packet:
            self.assertEqual(ip.chksum, fresh.chksum)
        self.assertEqual(ip[l4].chksum, fresh[l4].chksum)

    def check_tso(self, header, length, mss, count=1):
        self.assertEqual(self.run_sender('tso', bytes(header), length, mss, count=count), 'success')
        frames = self.frames()
        per = max(1, -(-length // mss))
        self.assertEqual(len(frames), per * count)
        template = Ether(bytes(header))
        for i, frame in enumerate(frames):
            n, packet = i % per, Ether(frame)
            data = pattern(length)[n * mss:(n + 1) * mss]
            seq = (template[TCP].seq + n * mss) & 0xffffffff
            self.assertEqual(packet[TCP].seq, seq)
            self.assertEqual(packet[TCP].ack, template[TCP].ack)
            flags = 'A' + ('C' if n == 0 else '') + ('FP' if n == per - 1 else '')
            self.assertEqual(set(str(packet[TCP].flags)), set(flags))
            self.assertEqual(packet[TCP].options, template[TCP].options)
            start = len(bytes(header))
            self.assertEqual(frame[start:start + len(data)], data)
            if IP in packet:
                self.assertEqual(packet[IP].len, len(bytes(header)) - (start - 20 - 32) + len(data))
                self.assertEqual(packet[IP].id, (template[IP].id + n) & 0xffff)
            else:
                self.assertEqual(packet[IPv6].plen, 32 + len(data))
            self.check_sums(frame)
            self.assertEqual(len(frame), max(60, start + len(data)))
        return frames

    def test_tso_ipv4(self):
        self.check_tso(Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2', id=0xfffe, len=0)
                       / TCP(**TCP_HDR), 10000, 1448)

    def test_tso_ipv4_exact(self):
        self.check_tso(Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2', id=1)
                       / TCP(**TCP_HDR), 2896, 1448)

    def test_tso_vlan(self):
        """A header longer than a WQEBB, sent often enough to cross the end of the ring."""
        header = Ether(**MACS) / Dot1Q(vlan=5) / IP(src='198.51.100.1', dst='198.51.100.2') \
            / TCP(**TCP_HDR)
        self.check_tso(header, 999, 100, count=100)

    def test_tso_ipv6(self):
        self.check_tso(Ether(**MACS) / IPv6(src='2001:db8::1', dst='2001:db8::2')
                       / TCP(**TCP_HDR), 5001, 1000)

    def test_tso_tiny(self):
        self.check_tso(Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2')
                       / TCP(**TCP_HDR), 3, 1448)

    def test_tso_refused(self):
        """TSO is refused for UDP, for a header with bytes after the TCP header, and for MSS 0."""
        udp = Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2') / UDP()
        tcp = Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2') / TCP(**TCP_HDR)
        for header, mss in ((bytes(udp), 100), (bytes(tcp) + b'xxxx', 100), (bytes(tcp), 0)):
            self.assertEqual(self.run_sender('tso', header, 500, mss), 'local QP operation error')
        self.assertEqual(self.run_sender('tso', bytes(tcp), 500, 9200), 'local length error')
        self.assertFalse(os.path.exists(self.path))

    def check_send(self, header, length, csum):
        since = time.time()
        self.assertEqual(self.run_sender('send', bytes(header), length, csum=csum), 'success')
        frames = self.frames(since)
        self.assertEqual(len(frames), 1)
        return frames[0]

    def test_send(self):
        """The frame must have the given bytes, padded to the shortest length of a frame."""
        header = bytes(Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2', len=49, chksum=1)
                       / UDP(sport=1, dport=2, len=29, chksum=1))
        frame = self.check_send(header, 21, 0)
        self.assertEqual(frame, header + pattern(21))
        frame = self.check_send(header, 1, 0)
        self.assertEqual(frame, (header + pattern(1)).ljust(60, b'\0'))

    def test_send_checksums(self):
        for l3, l4, size in ((IP, TCP, 20), (IP, UDP, 8), (IPv6, TCP, 20), (IPv6, UDP, 8)):
            with self.subTest(l3=l3, l4=l4):
                addr = dict(src='198.51.100.1', dst='198.51.100.2', len=20 + size + 101) \
                    if l3 is IP else dict(src='2001:db8::1', dst='2001:db8::2', plen=size + 101)
                header = Ether(**MACS) / l3(**addr) / l4(sport=1, dport=2, chksum=0x5555)
                if l4 is UDP:
                    header[UDP].len = 8 + 101
                self.check_sums(self.check_send(header, 101, 1))

    def test_send_short_packet(self):
        """The length in the IP header is too short for TCP or UDP: bytes after the packet must not change."""
        v4 = dict(src='198.51.100.1', dst='198.51.100.2')
        v6 = dict(src='2001:db8::1', dst='2001:db8::2')
        for ip, l4 in ((IP(len=20 + 19, **v4), TCP(chksum=0x5555)),
                       (IP(len=20 + 7, **v4), UDP(chksum=0x5555, len=8)),
                       (IPv6(plen=19, **v6), TCP(chksum=0x5555)),
                       (IPv6(plen=7, **v6), UDP(chksum=0x5555, len=8))):
            with self.subTest(ip=ip, l4=l4):
                header = bytes(Ether(**MACS) / ip / l4)
                self.assertEqual(self.check_send(header, 30, 1)[-30 - len(l4):],
                                 bytes(l4) + pattern(30))

    def test_too_long(self):
        header = bytes(Ether(**MACS, type=0x88b5))
        self.assertEqual(self.run_sender('send', header, 9216 - 14), 'success')
        self.assertEqual(self.run_sender('send', header, 9217 - 14), 'local length error')
        self.assertEqual(len(self.frames()), 1)

    def test_memory_on_demand(self):
        header = bytes(Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2')
                       / TCP(**TCP_HDR))
        for kind, mss in (('send', 0), ('tso', 1448)):
            self.assertEqual(self.run_sender(kind, header, 5000, mss, PAIR_ON_DEMAND='1'), 'success')
            frames = self.frames()
            self.assertEqual(b''.join(f[len(header):] for f in frames), pattern(5000))
            os.remove(self.path)
            self.assertEqual(self.run_sender(kind, header, 5000, mss, PAIR_ON_DEMAND='1',
                                             RAW_SENDER_GONE='1'), 'local protection error')
            self.assertFalse(os.path.exists(self.path))

    def test_file_that_cannot_be_written(self):
        header = bytes(Ether(**MACS, type=0x88b5))
        path = os.path.join(self.dir, 'none', 'frames.pcap')
        self.assertEqual(self.run_sender('send', header, 100, count=3, capture=path), 'success')
        self.assertEqual(self.stderr.count('cannot be written'), 1)
        # The file can be opened, but its header cannot be written, so the adapter closes it.
        self.assertEqual(self.run_sender('send', header, 100, count=3, capture='/dev/full',
                                         RAW_SENDER_CLOSES='/dev/full'), 'success')
        self.assertEqual(self.stderr.count('cannot be written'), 1)

    def test_file_that_is_cut_short(self):
        """The second record cannot be written: after that nothing is written."""
        header = bytes(Ether(**MACS, type=0x88b5))
        size = 24 + 16 + len(header) + 100
        self.assertEqual(self.run_sender('send', header, 100, count=4,
                                         RAW_SENDER_FILE_LIMIT=str(size + 50)), 'success')
        self.assertEqual(self.stderr.count('is cut short'), 1)
        self.assertEqual(os.path.getsize(self.path), size + 50)

    def test_file_that_exists(self):
        """The frames of an earlier process are removed."""
        header = bytes(Ether(**MACS, type=0x88b5))
        for count in (3, 2):
            self.assertEqual(self.run_sender('send', header, 100, count=count), 'success')
            self.assertEqual(len(self.frames()), count)

    def test_tshark_reads_it(self):
        """tshark verifies the checksums, and reassembles the segments."""
        if shutil.which('tshark') is None:
            self.skipTest('tshark is not installed')
        header = Ether(**MACS) / IP(src='198.51.100.1', dst='198.51.100.2') / TCP(**TCP_HDR)
        self.assertEqual(self.run_sender('tso', bytes(header), 10000, 1448), 'success')
        out = subprocess.run(
            ['tshark', '-r', self.path, '-o', 'ip.check_checksum:TRUE', '-o',
             'tcp.check_checksum:TRUE', '-T', 'fields', '-e', 'ip.checksum.status', '-e',
             'tcp.checksum.status', '-e', 'tcp.len', '-e', '_ws.malformed'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=400)
        rows = [line.split('\t') for line in out.stdout.strip('\n').split('\n')]
        self.assertEqual(len(rows), 7, out.stderr)
        self.assertEqual([r[:2] for r in rows], [['1', '1']] * 7)
        self.assertEqual([int(r[2]) for r in rows], [1448] * 6 + [10000 - 6 * 1448])
        self.assertEqual({r[3] for r in rows}, {''})


if __name__ == '__main__':
    unittest.main()
