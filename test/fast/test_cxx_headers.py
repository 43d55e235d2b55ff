#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installed headers can be used in C++: each is compiled as the only header of a file, as C++ 11, 14, 17 and 20, from a
folder that contains only installed files. In C++, the libraries' functions must have their C names.

usage: test_cxx_headers.py SOURCE BUILD
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

STANDARDS = ('c++11', 'c++14', 'c++17', 'c++20')
# All warnings that another program may enable. -Wshadow=local ignores a function that has the name
# of a struct, such as stat(2).
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow=local', '-Wpointer-arith', '-Werror', '-fsyntax-only']
SKIPPED = 77


def install(build, folder):
    """Links the headers into a folder, as `meson install` places them. Returns their paths in this folder."""
    with open(os.path.join(build, 'meson-info/intro-install_plan.json'), encoding='utf-8') as f:
        plan = json.load(f)['headers']
    paths = []
    for source, where in plan.items():
        path = where['destination'].replace('{includedir}/', '')
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        os.symlink(source, os.path.join(folder, path))
        paths.append(path)
    return sorted(paths)


def others(build):
    """Returns the options by which the build finds the headers of libibverbs, libmlx5 and DPDK."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        commands = json.load(f)
    return sorted({o for c in commands if '/lib/' in c['file'] for o in re.findall(r'-isystem\S+', c['command'])})


def compiled(options, text, output=None):
    """Returns the messages of the compiler."""
    run = subprocess.run(['g++', '-x', 'c++', *options, '-', *(['-c', '-o', output] if output else [])], input=text,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout if run.returncode != 0 else ''


def check_headers(paths, options):
    """Yields the errors of each header when it is compiled alone."""
    jobs = [(path, standard) for path in paths for standard in STANDARDS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda job: compiled(STRICT + ['-std=' + job[1]] + options, f'#include <{job[0]}>\n'), jobs)
    for (path, standard), text in zip(jobs, said):
        if text:
            yield f'{path} is no {standard}:\n{text}'


def check_names(source, library, paths, options, folder):
    """Yields the functions whose exported name differs from the name that a C++ program needs."""
    with open(os.path.join(source, f'lib/{library}/{library}.map'), encoding='utf-8') as f:
        exported = re.findall(r'^\s+(\w+);', f.read(), re.M)
    texts = {}
    for path in paths:
        if path.startswith(library + '/'):
            with open(os.path.join(folder, path), encoding='utf-8') as f:
                texts[path] = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    public = [name for name in exported if any(re.search(rf'\b{name}\(', text) for text in texts.values())]
    if not public:
        yield f'lib{library} exports nothing that its headers declare'
    lines = [f'#include <{path}>' for path in texts]
    lines += ['typedef void (*any)();', 'any all[] = {', *(f'(any){name},' for name in public), '};']
    output = os.path.join(folder, library + '.o')
    wrong = compiled(['-std=c++11'] + options, '\n'.join(lines) + '\n', output)
    if wrong:
        yield wrong
        return
    wanted = subprocess.run(['nm', '-u', output], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    yield from (f'lib{library}: C++ does not find {name}()' for name in public if name not in wanted)


def main():
    source, build = sys.argv[1:]
    if shutil.which('g++') is None:
        print('skipped: g++ is not installed')
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix='test-cxx-headers.') as folder:
        paths = install(build, folder)
        # The same options as in pkg-config: the folder of each library.
        options = [f'-I{folder}/{name}' for name in ('hwq', 'gantry', 'gantry_cm', '')] + others(build)
        faults = list(check_headers(paths, options))
        for library in ('hwq', 'gantry', 'gantry_cm'):
            faults += check_names(source, library, paths, options, folder)
    for fault in faults:
        print(fault)
    print(f'{len(paths)} headers, {len(STANDARDS)} standards: {len(faults)} faults')
    return 1 if faults or len(paths) < 2 else 0


if __name__ == '__main__':
    sys.exit(main())
