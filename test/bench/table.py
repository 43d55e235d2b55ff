#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints a table with the cost of each operation, beside the cost of libmlx5, dma_skeleton, memcpy(3), cp(1) and cmp(1)
in the same run.

A row has instructions and cache misses per operation (counts.py), nanoseconds, and the same figures of the row's
neighbour. "times" is the time divided by the neighbour's time, measured in alternating runs. If not both were timed, it
is the instructions divided by the neighbour's instructions.

usage: table.py BUILD_FOLDER [PART]...    parts: engine hwq dma transactions device memory programs; default: all
"""
import collections
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from counts import ENGINE, measure

PAIRS = 9             # runs of the main job and of its neighbours
FILE_LEN = 256 << 20  # length in bytes of the main job's file
DEPTH = 512           # depth of the connection whose memory is measured
BURSTS = (32, 1)

# Pairs of a case with many objects and a case with one object, which are measured together.
RATIOS = {'regions1000': 'copy', 'regions': 'copy', 'mixed': 'inline', 'peers': 'write', 'queues': 'inline'}

# The functions of libmlx5 for the same operation: this function posts, and ibv_poll_cq(3) polls the CQE.
STOCK = {'inline': 'memcpy', 'copy_mmo': 'memcpy', 'inline_write': 'write'}

HWQ = [('write', 'hwq_write', 'stock_write'), ('write, hwq_burst.h', 'burst_write', 'stock_write'),
       ('memcpy', 'hwq_memcpy', 'stock_memcpy'), ('memcpy, hwq_burst.h', 'burst_memcpy', 'stock_memcpy'),
       ('UMR list of four', 'hwq_umr', 'stock_umr'), ('UMR list of four, image', 'hwq_image', 'stock_umr'),
       ('a CQE', 'hwq_cqe', 'stock_cqe'), ('a CQE of a UMR', 'hwq_long_cqe', 'stock_cqe'),
       ('an empty poll', 'hwq_empty', 'stock_empty')]

Row = collections.namedtuple('Row', 'what burst cost ns neighbour their_cost their_ns times',
                             defaults=(None, None, '', None, None, None))


def run(*command, **settings):
    """Returns the text that a program prints."""
    done = subprocess.run(command, env=dict(os.environ, **settings), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'{" ".join(command)} failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}')
    return done.stdout


def pairs(text):
    """Returns a dictionary of the numbers in lines "NAME NUMBER"."""
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}


class Table:
    def __init__(self, folder):
        self.bench, self.folder = f'{folder}/test/bench', folder
        self.counted = None

    def counts(self, name):
        if self.counted is None:
            self.counted = dict(measure(self.bench, caches=True, neighbours=True))
        return self.counted[name]

    def engine(self):
        called = dict(line.split('\t') for line in run(f'{self.bench}/bench_gantry', 'list').splitlines())
        for burst in BURSTS:
            ns = pairs(run(f'{self.bench}/bench_gantry', 'time', str(burst), *ENGINE))
            stock = pairs(run(f'{self.bench}/bench_hwq', 'time', str(burst)))
            for case in ENGINE:
                row = Row(called[case], burst, self.counts(f'engine {case} {burst}'), ns[case])
                if case in RATIOS and burst == 32:
                    many, one, times = map(float, run(f'{self.bench}/bench_gantry', 'ratio', case, RATIOS[case]).split())
                    row = row._replace(ns=many, neighbour=called[RATIOS[case]], their_ns=one, times=times,
                                       their_cost=self.counts(f'engine {RATIOS[case]} {burst}'))
                elif case in STOCK:
                    theirs = [f'stock_{STOCK[case]}', 'stock_cqe']
                    row = row._replace(neighbour='libmlx5: post, poll',
                                       their_cost=self.counts(f'hwq {theirs[0]} {burst}') + self.counts(f'hwq {theirs[1]} {burst}'),
                                       their_ns=sum(stock[f'measured_{name}'] for name in theirs))
                yield row

    def hwq(self):
        for burst in (32, 1, 0):
            ns = pairs(run(f'{self.bench}/bench_hwq', 'time', str(burst)))
            for what, ours, theirs in HWQ:
                yield Row(what + (', the 1 is a constant' if burst == 0 else ''), burst or 1, self.counts(f'hwq {ours} {burst}'),
                          ns[f'measured_{ours}'], 'libmlx5', self.counts(f'hwq {theirs} {burst}'), ns[f'measured_{theirs}'])

    def dma(self):
        times = {}
        for line in run(f'{self.bench}/bench_dma', 'times', SOFTHCA_THREADS='0').splitlines()[1:]:
            _, length, series, _, _, ns, *_ = line.split(',')
            times[int(length), series] = float(ns)
        for burst in BURSTS:
            timed = burst == 32
            yield Row('copy by the dmadev driver', burst, self.counts(f'dma copy {burst}'), times[64, 'dma_mlx5'] if timed else None,
                      'dma_skeleton', self.counts(f'skeleton copy {burst}'), times[64, 'dma_skeleton'] if timed else None)
        for length in (64, 4096, 65536):
            yield Row(f'copy of {length:,} bytes by the dmadev driver', 32, None, times[length, 'dma_mlx5'], 'memcpy(3)', None,
                      times[length, 'memcpy'])

    def transactions(self):
        for burst in (16, 1):
            theirs = self.counts(f'txn stock_all {burst}') + self.counts(f'txn stock_done {burst}')
            for what, name, beside in (('transaction', 'engine', True), ('transaction of two transfers', 'two', False),
                                       ('transaction that encrypts', 'crypto', False)):
                cost = self.counts(f'txn {name}_submit {burst}') + self.counts(f'txn {name}_poll {burst}')
                yield Row(what, burst, cost, None, 'libmlx5' if beside else '', theirs if beside else None)
            yield Row('the same by lib/hwq alone, image', burst, self.counts(f'signature image_all {burst}') +
                      self.counts(f'signature hwq_done {burst}'), None, 'libmlx5', theirs)

    def device(self):
        for name in ('memcpy', 'write', 'read', 'inline', 'nop'):
            yield Row(f'{name}, in the emulated adapter', 32, self.counts(f'softhca {name} 32'))

    def memory(self):
        """Returns lines of text, because bytes of memory are not a cost per operation."""
        for line in run(f'{self.bench}/bench_gantry', 'memory', str(DEPTH)).splitlines():
            kind, eal, c = line.split()
            yield f'  a connection of {DEPTH} of an {kind} queue: {int(eal):,} bytes of EAL\'s heap, {int(c):,} of malloc(3), ' \
                  "which are libmlx5's and its QP's"

    def programs(self):
        yield from self.main_job()
        yield from self.signatures()
        for how in ('own', 'shared'):
            text = run(f'{self.bench}/bench_pause', how)
            ours, theirs = (1e3 * float(us) for us in re.findall(r'median +([\d.]+) us,', text))
            times = float(re.search(r'ratios: of the medians ([\d.]+)', text)[1])
            yield Row(f'copy after a pause of 200 us, {"a CPU each" if how == "own" else "shared CPUs"}', 1, None, ours,
                      'dma_skeleton', None, theirs, times)

    def testgantry(self, *args):
        """Runs testgantry with the lcores that two CPUs allow, and otherwise with its defaults."""
        lcores = f'--lcores=0@0,1@{1 % os.cpu_count()}' + (',2@0' if 'sig' in args else '')
        return run(f'{self.folder}/app/testgantry/testgantry', lcores, '--no-huge', '--no-shconf', '--no-telemetry', '-m', '64',
                   '--', *args)

    def main_job(self):
        """cp, cmp and testgantry alternate, so that other load on the machine affects all of them."""
        def seconds(work, *args):
            start = time.monotonic()
            work(*args)
            return time.monotonic() - start

        ours, theirs = [], []
        with tempfile.TemporaryDirectory(prefix='gantry-bench.') as scratch:
            with open(f'{scratch}/in', 'wb') as f:
                for _ in range(FILE_LEN >> 20):
                    f.write(random.Random(1).randbytes(1 << 20))
            for _ in range(PAIRS):
                theirs.append(seconds(run, 'cp', '--reflink=never', f'{scratch}/in', f'{scratch}/copy') +
                              seconds(run, 'cmp', f'{scratch}/in', f'{scratch}/copy'))
                os.remove(f'{scratch}/copy')
                ours.append(seconds(self.testgantry, '--out', f'{scratch}/out', f'{scratch}/in'))
                shutil.rmtree(f'{scratch}/out')
        yield Row(f'testgantry moves a file of {FILE_LEN >> 20} MiB', 1, None, 1e9 * statistics.median(ours), 'cp and cmp', None,
                  1e9 * statistics.median(theirs), statistics.median(a / b for a, b in zip(ours, theirs)))

    def signatures(self):
        with tempfile.NamedTemporaryFile(prefix='gantry-bench.') as file:
            file.write(random.Random(1).randbytes(64 << 20))
            file.flush()
            text = self.testgantry('--mode', 'sig', file.name)
        took, times = re.search(r'in ([\d.]+) s, ([\d.]+) times what memcpy', text).groups()
        yield Row('testgantry --mode sig, a file of 64 MiB', 1, None, 1e9 * float(took), 'memcpy, CRC, memcmp', None,
                  1e9 * float(took) / float(times), float(times))


def cells(cost, ns):
    return ('%9.1f %6.2f %6.2f' % cost if cost else ' ' * 23) + \
        (' %10.1f' % ns if ns is not None and ns < 1e7 else ' %8.3f s' % (ns / 1e9) if ns is not None else ' ' * 11)


def text_of(row):
    """Returns a row as a line of text."""
    if isinstance(row, str):
        return row
    times = row.times
    if times is None and row.ns and row.their_ns:
        times = row.ns / row.their_ns
    elif times is None and row.their_cost:
        times = row.cost.instructions / row.their_cost.instructions
    theirs = f'  {row.neighbour:40} {cells(row.their_cost, row.their_ns)} {times:6.2f}' if row.neighbour else ''
    return f'  {row.what:52} {row.burst:5} {cells(row.cost, row.ns)}{theirs}'.rstrip()


def build_type(folder):
    options = subprocess.run(['meson', 'introspect', '--buildoptions', folder], capture_output=True, text=True, check=True).stdout
    return re.search(r'"name": "buildtype", "value": "(\w+)"', options)[1]


def main():
    folder = os.path.abspath(sys.argv[1])
    table, parts = Table(folder), ['engine', 'hwq', 'dma', 'transactions', 'device', 'memory', 'programs']
    wanted = sys.argv[2:] or parts
    if unknown := set(wanted) - set(parts):
        sys.exit(f'{", ".join(sorted(unknown))}: no part of the table; its parts: {" ".join(parts)}')
    with open('/proc/loadavg', encoding='ascii') as f:
        load = f.read().split()[0]
    print(f'Build type {build_type(folder)}. test/bench/instructions.txt has the counts of debugoptimized, which the suite holds.\n'
          f'{os.cpu_count()} CPUs, load of the last minute {load}. Per operation, of 64 bytes unless its row says otherwise:\n'
          'instructions and misses (D1, LL) by callgrind, nanoseconds by the clock.')
    print(f'  {"":52} burst {"instr.":>9} {"D1":>6} {"LL":>6} {"ns":>10}  {"beside":40} {"instr.":>9} {"D1":>6} {"LL":>6} '
          f'{"ns":>10}  times')
    for part in wanted:
        for row in getattr(table, part)():
            print(text_of(row), flush=True)


if __name__ == '__main__':
    main()
