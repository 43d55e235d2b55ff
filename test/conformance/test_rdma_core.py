#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rdma-core's own tests, as Debian ships them, on the emulated adapter.

All tests are run, module by module. If a test ends the interpreter, the tests behind it are run in a
new one. Each test that the list file names must say "ok": a skip, as without a device or a capability,
is a failure. Any other test may be skipped, but must not fail, unless a line "fails NAME" expects
that. At least as many tests as the line "floor N" says must say "ok".

usage: test_rdma_core.py LAUNCHER LIST [--table FILE] [MODULE...]
  --table FILE   writes the results of all tests, as a page
  MODULE...      runs only these (test_cq, ...), and checks only their names, without the floor
"""
import argparse
import collections
import glob
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = '/usr/share/doc/rdma-core/tests'
MODULE_TIMEOUT = 120
SKIP = 77


def skip(reason):
    print('skipped:', reason)
    sys.exit(SKIP)


def unpack(folder):
    shutil.copytree(SOURCE, os.path.join(folder, 'tests'))
    for packed in glob.glob(os.path.join(folder, 'tests', '*.gz')):
        with gzip.open(packed, 'rb') as f, open(packed[:-3], 'wb') as out:
            shutil.copyfileobj(f, out)
        os.remove(packed)


def read_list(path):
    """The tests that must say "ok", those that are expected to fail, and the least number of "ok"."""
    names, failing, floor = [], [], 0
    with open(path, encoding='ascii') as f:
        for line in f:
            line = line.split('#')[0].strip()
            if line.startswith('floor '):
                floor = int(line.split()[1])
            elif line.startswith('fails '):
                failing.append(line.split()[1])
            elif line:
                names.append(line)
    return names, failing, floor


def all_names(folder):
    run = subprocess.run([sys.executable, 'tests/run_tests.py', '--list-tests'], cwd=folder,
                         capture_output=True, text=True, timeout=MODULE_TIMEOUT, check=False)
    names = [line for line in run.stdout.splitlines() if line.startswith('tests.')]
    if not names:
        sys.exit(f"rdma-core's tests do not load:\n{run.stderr}")
    return names


def results(output):
    """Each test's name and verdict. A test with a docstring has two lines; logs may be between them."""
    verdicts, name = collections.OrderedDict(), None
    for line in output.splitlines():
        match = re.match(r'(\w+) \((tests\.[\w.]+)\)', line)
        if match:
            name = match[2] if match[2].endswith('.' + match[1]) else f'{match[2]}.{match[1]}'
            verdicts[name] = None
        match = re.search(r'''(?:\.\.\. |^)(ok|ERROR|FAIL|skipped ['"].*['"])$''', line)
        if match and name:
            verdicts[name] = match[1]
            name = None
    return verdicts


def run_some(launcher, folder, names):
    """Runs one process. Returns the verdicts, its output, and how it ended."""
    env = dict(os.environ, SOFTHCA_FORCE='1')
    with subprocess.Popen(
            [launcher, sys.executable, 'tests/run_tests.py', '-v', '--dev', 'mlx5_0', '--port', '1',
             *names], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors='replace', start_new_session=True) as run:
        try:
            output = run.communicate(timeout=MODULE_TIMEOUT)[0]
            end = f'exit code {run.returncode}' if run.returncode >= 0 else \
                signal.Signals(-run.returncode).name
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            output = run.communicate()[0]
            end = f'more than {MODULE_TIMEOUT} s'
    return results(output), output, end


def run_module(launcher, folder, names):
    """Runs every test of a module. A test that ends the process gets a verdict, too."""
    verdicts, log, left = {}, '', list(names)
    while left:
        found, output, end = run_some(launcher, folder, left)
        log += output
        done = [name for name, verdict in found.items() if verdict is not None]
        verdicts.update((name, found[name]) for name in done)
        left = [name for name in left if name not in verdicts]
        if not left:
            break
        begun = [name for name in left if name in found]
        broken = begun[0] if begun else left[0]
        verdicts[broken] = f'ended the process: {end}'
        left.remove(broken)
    return verdicts, log


def write_table(path, verdicts):
    """Writes the results of each module, and the reasons of tests that were skipped."""
    modules, reasons = collections.OrderedDict(), collections.OrderedDict()
    for name, verdict in verdicts.items():
        _, module, _, test = name.split('.')
        counts = modules.setdefault(module, collections.Counter())
        counts['all'] += 1
        counts['failed' if not verdict.startswith(('ok', 'skipped')) else verdict[:7].strip()] += 1
        if verdict != 'ok':
            reason = re.sub(r'^skipped .(.*).$', r'\1', verdict)
            reasons.setdefault((module, reason), []).append(test)
    ok = sum(counts['ok'] for counts in modules.values())
    with open(path, 'w', encoding='ascii', errors='replace') as out:
        out.write("# rdma-core's tests on softhca\n\n"
                  'Generated by `usertools/rdma-core-table.sh`; the suite `conformance` runs the same.\n\n'
                  f'{ok} of {len(verdicts)} say "ok".\n\n'
                  '| module | tests | ok | skipped | failed |\n|---|---|---|---|---|\n')
        for module, counts in modules.items():
            out.write(f"| {module} | {counts['all']} | {counts['ok']} | {counts['skipped']} | "
                      f"{counts['failed']} |\n")
        out.write("\n## Those that are not ok, in the tests' own words\n\n")
        for (module, reason), tests in reasons.items():
            out.write(f"- **{module}**: {reason}\n  ({', '.join(tests)})\n")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('launcher')
    parser.add_argument('list')
    parser.add_argument('--table')
    parser.add_argument('modules', nargs='*')
    return parser.parse_args()


def main():
    args = arguments()
    if not os.path.isdir(SOURCE):
        skip(f'{SOURCE} is not there (package rdma-core)')
    if subprocess.run([sys.executable, '-c', 'import pyverbs.device, scapy.packet'],
                      capture_output=True, check=False).returncode != 0:
        skip('pyverbs or scapy is not there (packages python3-pyverbs, python3-scapy)')
    launcher = os.path.abspath(args.launcher)
    must, failing, floor = read_list(args.list)
    verdicts, logs = {}, {}
    with tempfile.TemporaryDirectory(prefix='rdma-core-tests.') as folder:
        unpack(folder)
        modules = collections.OrderedDict()
        for name in all_names(folder):
            modules.setdefault(name.split('.')[1], []).append(name)
        for module, names in modules.items():
            if args.modules and module not in args.modules:
                continue
            found, logs[module] = run_module(launcher, folder, names)
            verdicts.update((name, found[name]) for name in names)
    if args.modules:
        must = [name for name in must if name.split('.')[1] in args.modules]
        floor = 0
    bad = {name: verdicts.get(name, 'is no test here') for name in must
           if verdicts.get(name) != 'ok'}
    for name, verdict in verdicts.items():
        if name in must or verdict.startswith(('ok', 'skipped')):
            continue
        if name in failing:
            print(f'fails, as the list says: {name}: {verdict}')
        else:
            bad[name] = f'{verdict}, and the list does not expect that'
    for module in sorted({name.split('.')[1] for name in bad}):
        print(logs.get(module, ''))
    for name, verdict in bad.items():
        print(f'{name}: {verdict}')
    ok = [name for name, verdict in verdicts.items() if verdict == 'ok']
    if args.table:
        write_table(args.table, verdicts)
    for name in sorted(set(ok) - set(must)):
        print(f'ok, and not in the list: {name}')
    print(f'{len(must) - len(set(must) & set(bad))} of {len(must)} listed ok; {len(ok)} of {len(verdicts)} in all, '
          f'at least {floor} wanted')
    sys.exit(1 if bad or len(ok) < floor else 0)


if __name__ == '__main__':
    main()
