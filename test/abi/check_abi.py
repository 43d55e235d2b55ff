#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the binary interfaces of libgantry and libgantry_cm with test/abi/gantry.abi and test/abi/gantry_cm.abi:
functions with their versions and prototypes, the layout of every struct, the values of enums and macros.

usage: check_abi.py SOURCE BUILD            fails if an interface differs from its file
       check_abi.py SOURCE BUILD --update   writes the files; after a release it refuses changes that break programs

doc/abi.md says what may change.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LIBRARIES = ('gantry', 'gantry_cm')  # each has one header that includes its others
HEADERS = ['lib/gantry/include', 'lib/gantry_cm/include']
# Values that change with releases: versions, and the number of elements of an enum.
NO_ABI = re.compile(r'GANTRY_(VERSION.*|API|EXPERIMENTAL|ALLOW_EXPERIMENTAL|\w+_H|(OP|STATUS|CARRIER|SIG_KIND|ENCRYPTED)_MAX)$')


def output(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def functions(library, folder, compiler):
    """Yields a line for each function that the library exports."""
    aux = os.path.join(folder, 'aux')
    output(*compiler, '-aux-info', aux)
    prototypes = named(aux)
    for line in output('nm', '-D', '--defined-only', '--with-symbol-versions', library).splitlines():
        name, _, version = line.split()[-1].partition('@@')
        if version:
            yield f'function {name} {version}: {prototypes.get(name, "in no public header")}'


def named(aux):
    """Maps the name of each function to its prototype, as the compiler has it."""
    with open(aux, encoding='utf-8') as f:
        found = re.findall(r'extern ([^;]*?)(gantry_\w+) (\([^;]*\));', f.read())
    return {name: f'{kind.strip()} {args}' for kind, name, args in found}


def types(name_of, folder):
    """Yields the lines of each struct and enum of a library."""
    text = output('pahole', '--sizes', os.path.join(folder, 'all.o'))
    structs = sorted(line.split()[0] for line in text.splitlines() if line.startswith(name_of + '_'))
    with open(os.path.join(folder, 'all.i'), encoding='utf-8') as f:
        enums = sorted(set(re.findall(rf'\benum ({name_of}_\w+)\s*\{{', f.read())))
    for name in structs + enums:
        text = output('pahole', '-C', name, os.path.join(folder, 'all.o'))
        size = re.search(r'/\* size: (\d+)', text)
        if not size:
            yield f'enum {name}'
            yield from (f'  {value} {number}' for value, number in re.findall(r'^\t(\w+)\s*= (\d+),', text, re.M))
            continue
        align = re.search(r'__aligned__\((\d+)\)\)\);\s*$', text)
        yield f'struct {name} {size[1]}' + (f' aligned {align[1]}' if align else '')
        for kind, at, length in re.findall(r'^\t(\S.*?);\s*/\*\s*(\d+)\s+(\d+)(?: \S+)? \*/', text, re.M):
            yield f'  {at} {length} ' + re.sub(r'\s+', ' ', kind)


def macros(name_of, compiler):
    """Yields a line for each macro of a library that has a value."""
    for name, value in sorted(re.findall(rf'^#define ({name_of.upper()}_\w+) (.+)$', output(*compiler, '-E', '-dM'), re.M)):
        if not NO_ABI.match(name):
            yield f'macro {name} {value}'


def interface(name, source, build):
    """Returns the SONAME of a library, and the lines of its file after the first line."""
    with tempfile.TemporaryDirectory(prefix='check-abi.') as folder:
        whole = os.path.join(folder, 'all.c')
        with open(whole, 'w', encoding='utf-8') as f:
            f.write(f'#include <{name}.h>\n')
        compiler = ['gcc', *(f'-I{os.path.join(source, headers)}' for headers in HEADERS), '-D', 'GANTRY_ALLOW_EXPERIMENTAL', whole]
        output(*compiler, '-g', '-fno-eliminate-unused-debug-types', '-fno-eliminate-unused-debug-symbols', '-c', '-o',
               os.path.join(folder, 'all.o'))
        output(*compiler, '-E', '-o', os.path.join(folder, 'all.i'))
        library = os.path.join(build, f'lib/{name}/lib{name}.so')
        soname = re.search(r'SONAME.*\[(.*)\]', output('readelf', '-d', library))[1]
        check = compiler + ['-c', '-o', os.path.join(folder, 'all.o2')]
        return soname, [*sorted(functions(library, folder, check)), *types(name, folder), *macros(name, compiler)]


def blocks(lines):
    """Maps each head (a line that is not indented) to the indented lines below it. The size of a struct is part of its
    head: `struct gantry_conf 32`."""
    found, head = {}, None
    for line in lines:
        if line.startswith('  '):
            found[head].append(line.strip())
        else:
            head = line
            found[head] = []
    return found


def is_reserved(line):
    return re.search(r' (reserved|zero)\d*(\[\d+\])?$', line) is not None


def bytes_of(line):
    at, length = line.split()[:2]
    return range(int(at), int(at) + int(length))


def is_growth(head, old, new):
    """True if these fields or values may replace the old ones. An enum may have more values. Reserved bytes of a struct
    may get names; gaps between fields may not, because callers may leave any bytes in gaps."""
    if head.startswith('enum'):
        return new[:len(old)] == old
    if any(line not in new for line in old if not is_reserved(line)):
        return False
    free = {byte for line in old if is_reserved(line) for byte in bytes_of(line)}
    return all(free.issuperset(bytes_of(line)) for line in new if line not in old)


def breaks(old, new):
    """Yields the changes that would break a program built with the old interface."""
    old, new = blocks(old), blocks(new)
    for head, lines in old.items():
        if head not in new:
            # The compatibility promise does not include EXPERIMENTAL functions.
            if ' EXPERIMENTAL: ' not in head:
                yield f'gone or changed: {head}'
        elif not is_growth(head, lines, new[head]):
            yield f'changed inside: {head}'


def check(name, source, build, is_update):
    """Checks a library, or writes its file. Returns true if its interface is as it should be."""
    soname, lines = interface(name, source, build)
    file = f'test/abi/{name}.abi'
    path = os.path.join(source, file)
    said, old = ['soname', '', 'unreleased'], []
    if os.path.exists(path):
        with open(path, encoding='utf-8') as f:
            said, *old = f.read().splitlines()
        said = said.split()
    released = said[2] == 'released'
    broken = list(breaks(old, lines)) if said[1] == soname else []
    if is_update:
        if broken and released:
            print('\n'.join(broken))
            print(f'These break programs that were linked with {soname}: keep them, or raise its soversion (doc/abi.md)')
            return False
        with open(path, 'w', encoding='utf-8') as f:
            state = 'released' if released and said[1] == soname else 'unreleased'
            f.write('\n'.join([f'soname {soname} {state}', *lines]) + '\n')
        print(f'{file}: {len(lines)} lines')
        return True
    if said[1] == soname and old == lines:
        print(f'{soname}: {len(lines)} lines as in {file}')
        return True
    for line in sorted(set(old) - set(lines)):
        print(f'- {line.strip()}')
    for line in sorted(set(lines) - set(old)):
        print(f'+ {line.strip()}')
    print('\n'.join(broken) or 'Nothing of this breaks a program.')
    print(f'The interface is not that of {file}. If the change is meant, write it anew:\n  test/abi/check_abi.py . BUILD --update')
    return False


def main():
    source, build, *rest = sys.argv[1:]
    for tool in ('gcc', 'pahole', 'nm', 'readelf'):
        if shutil.which(tool) is None:
            print(f'skipped: {tool} is not installed')
            return SKIPPED
    return 0 if all([check(name, source, build, rest == ['--update']) for name in LIBRARIES]) else 1


if __name__ == '__main__':
    sys.exit(main())
