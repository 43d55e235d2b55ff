#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts instructions per operation, and fails where one has grown by more than 3 %.

Callgrind counts what the benchmarks execute: pumped, on one thread, so the counts repeat to the digit.
instructions.txt has the counts of one compiler with one set of libraries. With others the counts are
not comparable: the test is skipped.

usage: check_instructions.py BENCH_FOLDER BUILD            compares
       check_instructions.py BENCH_FOLDER BUILD --update   writes instructions.txt anew
BUILD: the compiler, the libraries and the options of the build, in words
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

COUNTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'instructions.txt')
MOST = 1.03
SKIPPED = 77
ENGINE = ['copy', 'write', 'read', 'nop', 'inline', 'inline_write', 'short_write', 'fill', 'regions8', 'mixed', 'peers',
          'copy_mmo', 'fence8', 'fence1', 'send', 'write_imm', 'fetch_add', 'compare_swap', 'send_recv', 'write56', 'write200',
          'dc_write', 'dc_short', 'dc_peers', 'sg1', 'sg4', 'gather', 'scatter', 'layouts8', 'layouts', 'one_fill', 'patterns',
          'copy_write', 'read_write', 'any_order', 'idle', 'enqueue', 'enqueue_hts', 'enqueue_mp']
DEVICE = ['memcpy', 'write', 'read', 'inline', 'nop']
DEVICE_OPERATIONS = 64 * 32  # of one run of bench_softhca


def callgrind(program, args, collect, **settings):
    """Returns what the program prints, the instructions of each function with its callees, and their sum."""
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={out.name}',
                              f'--toggle-collect={collect}', program] + args,
                             env=dict(os.environ, SOFTHCA_THREADS='0', **settings), capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f'{program} {" ".join(args)} failed under valgrind:\n{run.stderr[-2000:]}')
        text = subprocess.run(['callgrind_annotate', '--inclusive=yes', '--threshold=100', out.name],
                              capture_output=True, text=True, check=True).stdout
        with open(out.name) as f:
            total = int(re.findall(r'^(?:summary|totals): (\d+)', f.read(), re.M)[-1])
    costs = {}
    for number, name in re.findall(r'^ *([\d,]+) .*?:(measured_\w+)', text, re.M):
        costs[name] = max(costs.get(name, 0), int(number.replace(',', '')))
    return run.stdout, costs, total


def measure(folder):
    """Returns instructions per operation by name."""
    counts = {}
    for burst in (32, 1):
        printed, costs, _ = callgrind(f'{folder}/bench_gantry', ['count', str(burst)] + ENGINE, 'measured_*')
        for case in ENGINE:
            counts[f'engine {case} {burst}'] = costs[f'measured_{case}'] / int(printed.split()[-1])
    # Burst 0: bursts of 1, where the 1 is a constant of the code.
    for burst in (32, 1, 0):
        printed, costs, _ = callgrind(f'{folder}/bench_hwq', ['count', str(burst)], 'measured_*')
        for line in printed.splitlines():
            function, operations = line.split()
            # What libmlx5 executes is no concern of this test.
            if 'stock' not in function:
                counts[f'hwq {function[len("measured_"):]} {burst}'] = costs[function] / int(operations)
    # What libmlx5 executes is no concern of this test, and batches are counted above.
    for burst in (16, 1):
        printed, costs, _ = callgrind(f'{folder}/bench_signature', [str(burst)], 'measured_*')
        for line in printed.splitlines():
            function, operations = line.split()
            if 'image' in function or 'hwq' in function:
                counts[f'signature {function[len("measured_"):]} {burst}'] = costs[function] / int(operations)
    # A copy by the dmadev driver, with DPDK's calls.
    for burst in (32, 1):
        printed, _, total = callgrind(f'{folder}/bench_dma', ['count', 'mlx5', str(burst)], 'measured_*')
        counts[f'dma copy {burst}'] = total / int(printed.split()[-1])
    for burst in (16, 1):
        printed, costs, _ = callgrind(f'{folder}/bench_txn', ['512', str(burst), 'engine', 'two', 'crypto'], 'measured_*',
                                      SOFTHCA_CRYPTO='plaintext')
        for line in printed.splitlines():
            function, transactions = line.split()
            counts[f'txn {function[len("measured_"):]} {burst}'] = costs[function] / int(transactions)
    for operation in DEVICE:
        _, _, total = callgrind(f'{folder}/bench_softhca', ['count', operation], 'softhca_pump')
        counts[f'softhca {operation} 32'] = total / DEVICE_OPERATIONS
    return counts


def read_file():
    with open(COUNTS) as f:
        lines = f.read().splitlines()
    build = next(line[len('# build: '):] for line in lines if line.startswith('# build: '))
    rows = (line.rsplit(' ', 1) for line in lines if line and not line.startswith('#'))
    return build, {name.strip(): float(value) for name, value in rows}


def main():
    folder, build = sys.argv[1], sys.argv[2]
    update = '--update' in sys.argv[3:]
    if not shutil.which('valgrind'):
        print('skipped: valgrind is not installed')
        return SKIPPED
    if not update:
        theirs, before = read_file()
        if theirs != build:
            print(f'skipped: instructions.txt is of another build:\n  {theirs}\nthis one is\n  {build}')
            return SKIPPED
    counts = measure(folder)
    if update:
        with open(COUNTS, 'w') as f:
            f.write('# Instructions per 64-byte operation: check_instructions.py writes and compares them.\n'
                    '# What was counted, the burst size, and the instructions.\n'
                    f'# build: {build}\n')
            f.writelines(f'{name:32} {value:8.1f}\n' for name, value in counts.items())
        print('The pages quote these counts: run test/rooms/check_docs.py . --update')
        return 0
    bad = 0
    for name in sorted(set(counts) | set(before)):
        if name not in counts or name not in before:
            print(f'{name}: only {"the file" if name in before else "the benchmark"} has it')
            bad += 1
        elif counts[name] > before[name] * MOST:
            print(f'{name}: {counts[name]:.1f} instructions, {before[name]:.1f} before')
            bad += 1
        elif counts[name] * MOST < before[name]:
            print(f'{name}: {counts[name]:.1f} instructions, better than {before[name]:.1f}; write the file anew')
    print(f'{len(counts)} counts, {bad} faults')
    if bad:
        print('If a count has grown for a reason, write the file anew: check_instructions.py --update.')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
