#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts instructions per operation, and fails if one has grown by more than 3 %.

counts.py measures the counts. instructions.txt has the counts of one compiler with one set of libraries. With another
compiler or other libraries the counts are not comparable: the test is skipped.

usage: check_instructions.py BENCH_FOLDER BUILD            compares
       check_instructions.py BENCH_FOLDER BUILD --update   writes instructions.txt again
BUILD: the compiler, the libraries and the options of the build, in words
"""
import os
import shutil
import sys

from counts import measure

COUNTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'instructions.txt')
MOST = 1.03
SKIPPED = 77


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
    counts = {name: cost.instructions for name, cost in measure(folder)}
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
