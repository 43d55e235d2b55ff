# SPDX-License-Identifier: BSD-3-Clause
"""Counts, with callgrind, the instructions and cache misses of the benchmarks for one operation.

The benchmarks run pumped, on one thread, so that each run has exactly the same number of instructions. Cache misses are
those of callgrind's model: a first-level cache of 32 KiB (D1), a last one of 1 MiB (LL), lines of 64 bytes. The adapter
runs between two bursts and uses the caches too; its own instructions and misses are not counted.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

ENGINE = ['copy', 'write', 'read', 'nop', 'inline', 'inline_write', 'short_write', 'fill', 'regions8', 'regions1000', 'regions',
          'mixed', 'peers', 'queues', 'copy_mmo', 'fence8', 'fence1', 'send', 'write_imm', 'fetch_add', 'compare_swap',
          'send_recv', 'write56', 'write200', 'dc_write', 'dc_short', 'dc_peers', 'sg1', 'sg4', 'gather', 'scatter',
          'layouts8', 'layouts', 'one_fill', 'patterns', 'copy_write', 'read_write', 'any_order', 'idle', 'enqueue',
          'enqueue_hts', 'enqueue_mp']
DEVICE = ['memcpy', 'write', 'read', 'inline', 'nop']
DEVICE_OPERATIONS = 64 * 32  # number of operations in one run of bench_softhca
MODEL = ['--cache-sim=yes', '--I1=32768,8,64', '--D1=32768,8,64', '--LL=1048576,16,64']
EVENTS = ['Ir', 'D1mr', 'D1mw', 'DLmr', 'DLmw']


class Cost(collections.namedtuple('Cost', 'instructions d1 ll')):
    """Instructions and misses. If the caches are not modelled, misses are 0."""

    def __truediv__(self, n):
        return Cost(*(value / n for value in self))

    def __add__(self, other):
        return Cost(*(a + b for a, b in zip(self, other)))

    def __sub__(self, other):
        return Cost(*(a - b for a, b in zip(self, other)))

    @staticmethod
    def of(counts):
        """Returns the Cost of the counts of callgrind's events. counts: a dictionary, by the event's name."""
        at = collections.defaultdict(int, counts)
        return Cost(at['Ir'], at['D1mr'] + at['D1mw'], at['DLmr'] + at['DLmw'])


def total(path):
    """Returns the sum of a callgrind file. In such a file, counts of 0 at the end of a line are left out."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    events = re.search(r'^events: (.*)$', text, re.M)[1].split()
    counts = re.findall(r'^(?:summary|totals): (.*)$', text, re.M)[-1].split()
    return Cost.of(zip(events, map(int, counts)))


def by_function(path, events):
    """Returns the cost of each measured function, including the functions that it calls."""
    text = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--threshold=100', f'--show={",".join(events)}', path],
                          capture_output=True, text=True, check=True).stdout
    costs = {}
    for line in text.splitlines():
        name = re.search(r':(measured_\w+)', line)
        # Each count is followed by its percentage in brackets, unless the count is 0.
        counts = re.findall(r'([\d,]+|\.)(?: \([^)]*\))?', line)[:len(events)]
        if name and len(counts) == len(events):
            cost = Cost.of((event, int(count.replace(',', '').replace('.', '0'))) for event, count in zip(events, counts))
            costs[name[1]] = max(costs.get(name[1], cost), cost)
    return costs


def callgrind(program, args, caches, collect='measured_*', at_start=True, **settings):
    """Returns what the program prints, the cost of each measured function, and their sum.

    at_start: callgrind counts from the start of the program. If it is false, the program itself tells callgrind when to begin,
    and runs faster until then.
    """
    options = MODEL if caches else []
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out.name}',
                              f'--toggle-collect={collect}', f'--instr-atstart={"yes" if at_start else "no"}', *options, program,
                              *args],
                             env=dict(os.environ, SOFTHCA_THREADS='0', **settings), capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f'{program} {" ".join(args)} failed under valgrind:\n{run.stderr[-2000:]}')
        costs = by_function(out.name, EVENTS if caches else EVENTS[:1])
        if not costs and not at_start:
            sys.exit(f'{program} was compiled without valgrind/callgrind.h: install valgrind, and build anew')
        return run.stdout, costs, total(out.name)


def by_line(run):
    """Yields the name of each function without "measured_", and its cost per operation. The program has printed lines
    "FUNCTION OPERATIONS"."""
    printed, costs, _ = run
    for function, operations in (line.split() for line in printed.splitlines()):
        yield function[len('measured_'):], costs[function] / int(operations)


def measure(folder, caches=False, neighbours=False):
    """Yields "WHAT BURST" and the cost per operation.

    folder: the folder of the benchmarks. neighbours: libmlx5 and dma_skeleton are counted too.
    """
    for burst in (32, 1):
        printed, costs, _ = callgrind(f'{folder}/bench_gantry', ['count', str(burst)] + ENGINE, caches, at_start=False)
        for case in ENGINE:
            yield f'engine {case} {burst}', costs[f'measured_{case}'] / int(printed.split()[-1])
    # Burst 0: bursts of 1, where the length 1 is a constant in the code.
    for burst in (32, 1, 0):
        for function, cost in by_line(callgrind(f'{folder}/bench_hwq', ['count', str(burst)], caches)):
            if neighbours or 'stock' not in function:
                yield f'hwq {function} {burst}', cost
    # Functions that post in batches (wr_*) are left out, because bench_hwq above has counted batches.
    for burst in (16, 1):
        for function, cost in by_line(callgrind(f'{folder}/bench_signature', [str(burst)], caches)):
            if 'image' in function or 'hwq' in function or (neighbours and 'stock' in function):
                yield f'signature {function} {burst}', cost
    # Copies by the dmadev driver, with DPDK's calls.
    for driver in ['mlx5'] + (['skeleton'] if neighbours else []):
        for burst in (32, 1):
            printed, _, cost = callgrind(f'{folder}/bench_dma', ['count', driver, str(burst)], caches)
            yield f'{"dma" if driver == "mlx5" else driver} copy {burst}', cost / int(printed.split()[-1])
    for burst in (16, 1):
        for function, cost in by_line(callgrind(f'{folder}/bench_txn', ['512', str(burst), 'engine', 'two', 'crypto'] +
                                                (['stock'] if neighbours else []), caches, SOFTHCA_CRYPTO='plaintext')):
            yield f'txn {function} {burst}', cost
    for operation in DEVICE:
        _, _, cost = callgrind(f'{folder}/bench_softhca', ['count', operation], caches, 'softhca_pump')
        yield f'softhca {operation} 32', cost / DEVICE_OPERATIONS
