#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums the instructions that callgrind counted in a program, separately for each stage of an operation.

An instruction belongs to the first stage that names one of the functions in whose source it is: the innermost inline
function, or a function into which that one is inlined (DWARF, by addr2line). Instructions that belong to no stage are
counted as "others".

usage: stages.py PROGRAM CALLGRIND_OUT STAGE=FUNCTION[,FUNCTION...] ...   prints "STAGE INSTRUCTIONS" lines
CALLGRIND_OUT: written with --dump-instr=yes. FUNCTION may be a pattern of fnmatch.
"""
import collections
import fnmatch
import re
import subprocess
import sys


def counted(path):
    """Returns the number of instructions at each address, for each object."""
    counts, names = collections.defaultdict(collections.Counter), {}
    address, current, is_call = 0, None, False
    with open(path, encoding='utf-8') as text:
        for line in text:
            name = re.match(r'ob=\((\d+)\)(?: (.*))?', line)
            cost = re.match(r'(0x[0-9a-f]+|[+-]\d+|\*) \S+ (\d+)$', line)
            if name:
                current = names.setdefault(name[1], name[2])
            elif named := re.match(r'cob=\((\d+)\) (.*)', line):
                names.setdefault(named[1], named[2])
            elif line.startswith('calls='):
                is_call = True
            elif cost:
                if cost[1].startswith('0x'):
                    address = int(cost[1], 16)
                elif cost[1] != '*':
                    address += int(cost[1])
                # The line after "calls=" has the cost of the called function.
                if not is_call:
                    counts[current][address] += int(cost[2])
                is_call = False
    return counts


def functions(program, addresses):
    """Returns the functions in whose source each address is, the innermost function first."""
    done = subprocess.run(['addr2line', '-a', '-i', '-f', '-e', program], input='\n'.join(map(hex, addresses)),
                          capture_output=True, text=True, check=True)
    lines, found = done.stdout.splitlines(), {}
    for at, line in enumerate(lines):
        if line.startswith('0x'):
            inside = found.setdefault(int(line, 16), [])
        elif not re.search(r':(\d+|\?)( \(discriminator \d+\))?$', line):
            inside.append(line)
    return found


def main(program, path, *rules):
    stages = [(stage, names.split(',')) for stage, names in (rule.split('=') for rule in rules)]
    sums = collections.Counter({stage: 0 for stage, _ in stages}, others=0)
    for obj, counts in counted(path).items():
        inside = functions(obj, counts) if obj.endswith(program.split('/')[-1]) else {}
        for address, count in counts.items():
            stage = next((stage for stage, patterns in stages
                          if any(fnmatch.fnmatchcase(name, p) for name in inside.get(address, []) for p in patterns)),
                         'others')
            sums[stage] += count
    for stage, count in sums.items():
        print(stage, count)


if len(sys.argv) < 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
