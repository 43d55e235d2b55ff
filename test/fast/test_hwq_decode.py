#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests hwq-decode as a user runs it: it must print the fields that are packed into a dump here.

The formats are those of infiniband/mlx5dv.h and of the kernel's linux/mlx5/device.h. Each dump is
packed by struct.pack; each expected line is written from the same fields.

usage: test_hwq_decode.py PROGRAM VERSION
"""
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM, VERSION = sys.argv[1:3]
failures = 0


def run(args, text):
    return subprocess.run([PROGRAM, *args], input=text, capture_output=True, text=True, timeout=400,
                          check=False)


def check(what, good, detail=''):
    global failures
    if not good:
        failures += 1
        print(f'FAILED: {what}\n{detail}')
    else:
        print(f'ok: {what}')


def decodes(what, args, data, lines):
    """Checks that exactly these lines are printed, in this order."""
    got = run(args, ' '.join(f'{b:02x}' for b in data))
    want = ''.join(line + '\n' for line in lines)
    check(what, got.returncode == 0 and got.stdout == want and got.stderr == '',
          f'--- got ({got.returncode})\n{got.stdout}{got.stderr}--- want\n{want}')


QPN, INDEX = 0xabcdef, 0x1234


def ctrl(opcode, ds, flags=8, imm=0, opmod=0, stream=0):
    return struct.pack('>IIBHBI', opmod << 24 | INDEX << 8 | opcode, QPN << 8 | ds, 0, stream, flags,
                       imm)


def head(name, ds, imm=0, opmod=0, rest=' SIGNALED'):
    return f'WQE 0x{INDEX:04x} qpn 0x{QPN:06x} {name} opmod 0x{opmod:02x} ds {ds} imm 0x{imm:08x}{rest}'


def data_seg(addr, length, lkey):
    return struct.pack('>IIQ', length, lkey, addr)


def data_line(addr, length, lkey, name='data'):
    return f'  {name} addr 0x{addr:016x} len {length} lkey 0x{lkey:08x}'


def raddr_seg(addr, rkey):
    return struct.pack('>QII', addr, rkey, 0)


def raddr_line(addr, rkey):
    return f'  raddr addr 0x{addr:016x} rkey 0x{rkey:08x}'


DATA = (0x7f0012345678, 4096, 0x11223344)
PEER = (0x7e00deadbeef, 0x55667788)
MAC, GID = bytes(range(6)), bytes(range(0xf0, 0x100))
GID_TEXT = ':'.join(GID[i:i + 2].hex() for i in range(0, 16, 2))


def av(key):
    return key + struct.pack('>IBBH4s6sBBI16s', 0x80000000 | 0x123456, 3 << 1, 0, 77, bytes(4), MAC,
                             0x5c, 9, 0, GID)


AV_REST = f' lid 77 sl 3 tclass 0x5c hop_limit 9 mac {MAC.hex(":")} gid {GID_TEXT}'


def wqes():
    for opcode, name in ((0x08, 'RDMA_WRITE'), (0x09, 'RDMA_WRITE_IMM'), (0x10, 'RDMA_READ')):
        decodes(name, ['wqe'], ctrl(opcode, 3, imm=5) + raddr_seg(*PEER) + data_seg(*DATA),
                [head(name, 3, 5), raddr_line(*PEER), data_line(*DATA)])
    for opcode, name in ((0x0a, 'SEND'), (0x0b, 'SEND_IMM'), (0x01, 'SEND_INVAL')):
        decodes(name, ['wqe'], ctrl(opcode, 2, flags=0x82) + data_seg(*DATA),
                [head(name, 2, rest=' SOLICITED FENCE'), data_line(*DATA)])
    for opcode, name in ((0x11, 'ATOMIC_CS'), (0x12, 'ATOMIC_FA')):
        decodes(name, ['wqe'],
                ctrl(opcode, 4, flags=0x28) + raddr_seg(*PEER) + struct.pack('>QQ', 7, 9)
                + data_seg(*DATA),
                [head(name, 4, rest=' SIGNALED SMALL_FENCE'), raddr_line(*PEER),
                 f'  atomic swap_add 0x{7:016x} compare 0x{9:016x}', data_line(*DATA)])
    decodes('a list of memory, two WQEBBs', ['wqe'],
            ctrl(0x0a, 5) + b''.join(data_seg(i, 10 + i, 20 + i) for i in range(4)) + bytes(48),
            [head('SEND', 5)] + [data_line(i, 10 + i, 20 + i) for i in range(4)])
    inline = bytes(range(1, 21))
    decodes('inline data', ['wqe'],
            ctrl(0x0a, 3) + struct.pack('>I', 0x80000000 | 20) + inline + bytes(8),
            [head('SEND', 3), '  inline len 20: ' + inline.hex(' ')])
    decodes('a memcpy', ['wqe'],
            ctrl(0x2f, 4, opmod=1) + struct.pack('>IIQ', 0, 0x99, 0x4000) + data_seg(1, 2, 3)
            + data_seg(4, 5, 6),
            [head('MMO', 4, opmod=1),
             f'  mmo control 0x00000000 opaque addr 0x{0x4000:016x} lkey 0x00000099',
             data_line(1, 2, 3, 'src'), data_line(4, 5, 6, 'dst')])
    decodes('a NOP and the WQE behind it', ['wqe'],
            ctrl(0, 1, flags=0) + bytes(48) + ctrl(0x0a, 2) + data_seg(*DATA),
            [head('NOP', 1, rest=''), head('SEND', 2), data_line(*DATA)])
    decodes('a UMR with a list of two keys', ['wqe'],
            ctrl(0x25, 12, imm=0xab00) + struct.pack('>B3xHHQ32x', 0x80, 4, 0, 1)
            + struct.pack('>BBBBIIIQQI16xI3xBI', 0, 0, 0x38, 0, 0xffffff05, 0, 0x11, 0x1000, 0x2000,
                          0, 4, 0, 0)
            + b''.join(struct.pack('>IIQ', 100 + i, 200 + i, 300 + i) for i in range(2)) + bytes(32),
            [head('UMR', 12, 0xab00), '  umr flags INLINE layout 4 bsf 0 sets LEN',
             '  key qpn 0xffffff variant 0x05 start 0x1000 len 8192 errors 0 rights LW RR RW']
            + [f'  klm addr 0x{300 + i:016x} len {100 + i} key 0x{200 + i:08x}' for i in range(2)]
            + [f'  klm addr 0x{0:016x} len 0 key 0x{0:08x}'] * 2)
    decodes('SET_PSV', ['wqe'], ctrl(0x20, 2) + struct.pack('>IHHQ', 0x123456, 0, 0, 0x99),
            [head('SET_PSV', 2), '  psv 0x123456 signature 0x0000000000000099'])
    decodes('an unknown opcode', ['wqe'], ctrl(0x7e, 2) + bytes(range(16)),
            [head('opcode 0x7e', 2), '  hex   ' + bytes(range(16)).hex(' ')])


def transports():
    decodes('a datagram', ['-t', 'ud', 'wqe'],
            ctrl(0x0a, 5) + av(struct.pack('>II', 0x11111111, 0)) + data_seg(*DATA),
            [head('SEND', 5), '  ud qpn 0x123456 qkey 0x11111111' + AV_REST, data_line(*DATA)])
    decodes('a write by DC, on a stream', ['--transport', 'dc', 'wqe'],
            ctrl(0x08, 6, stream=3) + av(struct.pack('>Q', 0x1122334455667788)) + raddr_seg(*PEER)
            + data_seg(*DATA),
            [head('RDMA_WRITE', 6) + ' stream 3',
             '  dc dctn 0x123456 key 0x1122334455667788' + AV_REST, raddr_line(*PEER),
             data_line(*DATA)])
    decodes('a read by XRC', ['-t', 'xrc', 'wqe'],
            ctrl(0x10, 4) + struct.pack('>I12x', 0x654321) + raddr_seg(*PEER) + data_seg(*DATA),
            [head('RDMA_READ', 4), '  xrc srqn 0x654321', raddr_line(*PEER), data_line(*DATA)])
    frame = bytes(range(54))
    eth = struct.pack('>IBBHIH', 0, 0x80, 0, 1460, 0, 54) + frame
    eth += bytes(-len(eth) % 16)
    decodes('TSO', ['-t', 'raw', 'wqe'], ctrl(0x0e, 1 + len(eth) // 16 + 1) + eth + data_seg(*DATA),
            [head('TSO', 2 + len(eth) // 16),
             '  eth L4_CSUM mss 1460 headers 54: ' + frame.hex(' '), data_line(*DATA)])


def cqe(opcode, *, qpn=QPN, wqe_opcode=0, counter=INDEX, body=b'', solicited=0):
    """body: the 52 bytes before the last 12; a shorter body is filled with zeros."""
    return (body.ljust(56, b'\0')[:56] + struct.pack('>I', wqe_opcode << 24 | qpn)
            + struct.pack('>HBB', counter, 0, opcode << 4 | solicited << 1))


def recv_body(imm=0, count=0, src=0, flags=0, sl=0, slid=0, csum=0, l3=0, vlan=0):
    return (bytes(22) + struct.pack('>HI', slid, flags << 28 | sl << 24 | src)
            + bytes([csum, l3 << 2]) + struct.pack('>H', vlan) + bytes(4)
            + struct.pack('>I4xI', imm, count))


def cqes():
    at = f'CQE qpn 0x{QPN:06x} WQE 0x{INDEX:04x} '
    decodes('a good send', ['cqe'], cqe(0, wqe_opcode=0x10, body=bytes(44) + struct.pack('>I', 99)),
            [at + 'REQ of RDMA_READ (0x10) byte_cnt 99 imm 0x00000000'])
    for opcode, name, extra in ((1, 'RESP_WR_IMM', ' imm 0x00000abc'), (2, 'RESP_SEND', ''),
                                (3, 'RESP_SEND_IMM', ' imm 0x00000abc'),
                                (4, 'RESP_SEND_INV', ' inval 0x00000abc')):
        decodes(name, ['cqe'],
                cqe(opcode, body=recv_body(0xabc, 1234, 0x777, 1, 5, 6, 0x6, 2, 100)),
                [at + name + f' byte_cnt 1234{extra} src_qp 0x000777 slid 6 sl 5 GRH L3_OK L4_OK '
                 'vlan 100'])
    error = bytearray(56)
    error[52], error[54], error[55] = 0x1d, 0x68, 0x04
    for opcode, name in ((13, 'REQ_ERR of RDMA_WRITE (0x08)'), (14, 'RESP_ERR')):
        decodes(name, ['cqe'], cqe(opcode, wqe_opcode=8, body=bytes(error)),
                [at + name + ': local protection error (syndrome 0x04 vendor 0x68 hw 0x1d)'])
    # Dumps of real cards; for more dumps see test_hwq_cards.c.
    for source, words, line in (
            ('spdk/spdk #500', '9d005304 0800011b 0008d0d2',
             'CQE qpn 0x00011b WQE 0x0008 REQ_ERR of RDMA_WRITE (0x08): local protection error '
             '(syndrome 0x04 vendor 0x53 hw 0x9d)'),
            ('a ConnectX-6, linux-nvme list', 'a9005604 000001e9 0054e8e2',
             'CQE qpn 0x0001e9 WQE 0x0054 RESP_ERR: local protection error (syndrome 0x04 vendor 0x56 '
             'hw 0xa9)')):
        decodes(source, ['cqe'], bytes(52) + bytes.fromhex(words), [line])
    decodes('two CQEs, the second not written yet', ['cqe'],
            cqe(0, wqe_opcode=8) + bytes(63) + b'\xf1',
            [at + 'REQ of RDMA_WRITE (0x08) byte_cnt 0 imm 0x00000000',
             'CQE qpn 0x000000 WQE 0x0000 INVALID byte_cnt 0 imm 0x00000000'])
    sig = (bytes(16) + struct.pack('>IIIIHBBIQ', 0x11223344, 0x99aabbcc, 0x55667788, 0xddeeff00,
                                   0x0800, 0, 1, 0xabcd05, 0x208))
    decodes('a signature error', ['cqe'], cqe(12, body=sig),
            [f'CQE qpn 0x{QPN:06x} WQE 0x0000 SIG_ERR of key 0x00abcd05: reference tag, in memory at '
             '520: 0xddeeff00 for 0x55667788 (syndrome 0x0800)'])


def inputs():
    wqe = ctrl(0x0a, 2) + data_seg(*DATA)
    want = run(['wqe'], wqe.hex()).stdout
    words = ' '.join(wqe[i:i + 4].hex() for i in range(0, 32, 4))
    for what, text in (('words', words), ('offsets and comments',
                        f'0000: {wqe[:16].hex(" ")}  # control\n0010: {wqe[16:].hex()}\n'),
                       ('0x', ' '.join(f'0x{b:02X}' for b in wqe)), ('upper case', wqe.hex().upper())):
        check(f'the same dump with {what}', run(['wqe'], text).stdout == want)
    for text in (f'00000000: {wqe.hex()}\n' * 2, f'ctrl: {wqe[:16].hex()}\ndata: {wqe[16:].hex()}\n' * 2):
        check('a dump behind another one', run(['wqe'], text + '00' * 32).stdout.startswith(want))
    # Offsets without a colon: 4 to 8 digits before a group of another length are an offset; all
    # other digits are data.
    row = [wqe[:16].hex(' '), wqe[16:].hex(' ')]
    for n in 4, 5, 8:
        check(f'offsets of {n} digits', run(['wqe'], f'{0:0{n}} {row[0]}\n{16:0{n}x} {row[1]}\n').stdout == want)
    for n in 2, 4, 8, 10, 16:
        text = f'{wqe.hex()[:n]} {wqe.hex()[n:2 * n]} {wqe.hex()[2 * n:]}'
        check(f'no offset: {n} digits', run(['wqe'], text).stdout == want)
    for n, m in (2, 4), (10, 2):
        text = f'{wqe.hex()[:n]} {wqe.hex()[n:n + m]} {wqe.hex()[n + m:]}'
        check(f'no offset: {n} digits before {m}', run(['wqe'], text).stdout == want)
    check('no offset: 3 digits', 'line 1, column 3: not a pair' in run(['wqe'], f'000 {wqe.hex()}').stderr)
    # A group of 8 digits is data in the first line, and an offset after a line with an offset.
    text = f'000000 {wqe[:16].hex(" ", 4)}\n00000010 {wqe[16:].hex(" ", 4)}\n'
    check('an offset as long as its groups', run(['-e', 'big', 'wqe'], text).stdout == want)
    for name in 'rc', 'uc':
        check(f'-t {name} is the default', run(['-t', name, 'wqe'], words).stdout == want)
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
        f.write(words)
        f.flush()
        check('from a file', run(['wqe', f.name], '').stdout == want)
    text = run(['--help'], '')
    check('--help', text.returncode == 0 and 'usage:' in text.stdout and run(['-h'], '').stdout == text.stdout)
    version = run(['--version'], '')
    check('--version', (version.returncode, version.stdout) == (0, f'hwq-decode {VERSION}\n'), version.stdout + version.stderr)
    example = next(line for line in text.stdout.splitlines() if 'echo' in line).split("'")[1]
    decodes('the example of --help', ['wqe'], bytes.fromhex(example),
            ['WQE 0x0000 qpn 0x000123 NOP opmod 0x00 ds 1 imm 0x00000000 SIGNALED'])
    for what, args, text, status, part in (
            ('nothing asked', [], '', 2, '--help'),
            ('another kind', ['xqe'], '', 2, 'neither wqe nor cqe: xqe'),
            ('two files', ['wqe', '/dev/null', '/dev/null'], '', 2, 'at most one file'),
            ('another option', ['-x', 'wqe'], words, 2, 'wrong option'),
            ('another transport', ['-t', 'tcp', 'wqe'], '', 2, 'no such transport: tcp'),
            ('no bytes', ['wqe'], '# nothing\n', 1, 'give a hex dump'),
            ('half a byte', ['wqe'], '00 0', 1, 'line 1, column 4'),
            ('no hex', ['wqe'], '00\n00 zz', 1, 'line 2, column 4'),
            ('half a CQE', ['cqe'], '00' * 32, 1, '32 bytes: a CQE has 64'),
            ('half a WQE', ['wqe'], ctrl(0x0a, 4).hex(), 1, 'has 64 bytes, and 16'),
            ('less than a control segment', ['wqe'], '00' * 8, 1, 'the control segment of a WQE has 16'),
            ('no such file', ['wqe', '/nonexistent'], '', 1, '/nonexistent'),
            ('no such order', ['-e', 'middle', 'wqe'], '', 2, '--endian is big or little, not middle'),
            ('a missing line', ['wqe'], f'00000000  {ROW}\n00000020  {ROW}\n', 1,
             'line 2: lines before it are missing: offset 00000020, where 0x10 is due; dump again'),
            ('an offset that is too low', ['wqe'], f'00000000  {ROW}\n00000010  {ROW}\n00000018  {ROW}\n', 1,
             'line 3: its offset is not where the previous line ends: offset 00000018, where 0x20 is due'),
            ('an offset behind * between two lines', ['wqe'], f'000000 {ROW}\n*\n000018\n', 1,
             "line 3: the offset after a '*' must be a whole number of lines further: offset 000018"),
            ('nothing behind *', ['wqe'], f'000000 {ROW}\n*\n', 1, "line 2: after a '*' a line with the next offset must come"),
            ('nothing before *', ['wqe'], f'*\n000010 {ROW}\n', 1, "line 1: a '*' repeats the previous line"),
            ('* without offsets', ['wqe'], f'{ROW}\n*\n', 1, "line 2: a '*' repeats the previous line"),
            ('* between offsets that are octal or not', ['wqe'], f'0000000 {ROW}\n*\n0000100\n', 1,
             "the lines that '*' repeats depend on the base of the offsets"),
            ('od without -t x1', ['wqe'], '0000000 000000 000010\n0000004\n', 1, 'line 1: a group has 6 digits'),
            ('od -b', ['wqe'], '0000000 000 010\n0000002\n', 1, 'line 1, column 11: not a pair of hex digits'),
            ('xxd -e', ['wqe'], '00000000: 44434241 00000000  ABCD....\n', 1, 'line 1, column 34: not a pair')):
        got = run(args, text)
        check(f'{what}: status {status}, and a message that says what to do',
              got.returncode == status and part in got.stderr and got.stdout == '',
              f'{got.returncode} {got.stderr}')


# A control segment: a NOP.
ROW = ctrl(0, 1).hex(' ')


def programs():
    """The output of xxd, hexdump and od for some bytes must be decoded as these bytes."""
    # The text after the bytes contains characters that have a meaning elsewhere in a dump: offsets,
    # comments, digits, blanks, ends of texts.
    text = b':#|> 0xabcdef 00 11 22:|>#*      '
    wqe = ctrl(0x0a, 3) + struct.pack('>I', 0x80000000 | 28) + text[:28]
    queue = wqe + bytes(16) + wqe + bytes(16) + ctrl(0, 1) + bytes(48) + 3 * bytes(64) + wqe + bytes(16) + 2 * bytes(64)
    ways = [['xxd', *args] for args in ([], ['-g1'], ['-g4'], ['-g8', '-c32'], ['-a'], ['-u'], ['-p'], ['-c', '7'])]
    ways += [['hexdump', *args] for args in ([], ['-C'], ['-v', '-C'], ['-x'])]
    ways += [['od', '-A', base, '-t', kind, *more] for base in 'xod' for kind in ('x1', 'x2', 'x4', 'x8', 'x1z', 'x4z')
             for more in ([], ['-v', '-w32'])]
    ways += [['od', '-A', 'n', '-v', '-t', 'x1']]
    others = [(['od', '-A', 'x', '-t', kind, '--endian=big'], ['-e', 'big']) for kind in ('x2', 'x4', 'x8')]
    others += [(['od', '-A', 'n', '-v', '-t', kind], ['--endian', 'little']) for kind in ('x2', 'x4', 'x8')]
    for data in wqe, queue, queue[:-2 * 64 - 16]:
        want = run(['wqe'], data.hex()).stdout
        with tempfile.NamedTemporaryFile() as f:
            f.write(data)
            f.flush()
            for way, options in [(way, []) for way in ways] + others:
                if shutil.which(way[0]) is None:
                    print(f'skipped: {way[0]} is not installed')
                    continue
                dump = subprocess.run([*way, f.name], capture_output=True, check=True, text=True).stdout
                got = run([*options, 'wqe'], dump)
                check(f'{len(data)} bytes by {" ".join(way)}', got.returncode == 0 and got.stdout == want,
                      f'{dump}--- got\n{got.stdout}{got.stderr}--- want\n{want}')
    words = ' '.join(f'{word:08x}' for word in struct.unpack('<4I', ctrl(0, 1)))
    for dump in (f'0000000 {words}\n0000020\n', f'00000000  {ROW}  |................|\n', f'000000 {ROW}\n'):
        check('one line', run(['wqe'], dump).returncode == 0, run(['wqe'], dump).stderr)
    # od pads the last group: the dump of 50 bytes equals the dump of 52 bytes, except for the last
    # offset.
    with tempfile.NamedTemporaryFile() as f:
        f.write(ctrl(0x0a, 3) + bytes(34))
        f.flush()
        dump = subprocess.run(['od', '-A', 'x', '-t', 'x4', f.name], capture_output=True, check=True, text=True).stdout
    check('a last group that is filled up', '50 bytes: a CQE has 64' in run(['cqe'], dump).stderr, run(['cqe'], dump).stderr)


wqes()
transports()
programs()
cqes()
inputs()
sys.exit(failures != 0)
