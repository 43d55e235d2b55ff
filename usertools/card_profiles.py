#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the engine's tests on card profiles. With a profile, the emulated adapter has only the features of that card.

For each profile it runs the probes, and then the test programs of lib/gantry. The programs have the settings of the suite,
except settings that belong to a card. A test that needs a feature that the card lacks prints the reason and is skipped
(exit code 77).

usage: card_profiles.py [--short] BUILD [PROFILE]...
  BUILD      a build directory with the test programs: meson compile -C BUILD
  PROFILE    a name, or the path of a profile or of a report (softhca --help); default: all profiles in
             drivers/softhca/card-profiles and test/card-profiles
  --short    runs two programs, each with one set of settings, and no probes; the suite uses this option
Exit code: 0 nothing failed; 1 a test failed; 2 wrong arguments.
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHORT = ['gantry_ops', 'gantry_dm']
# Settings that belong to a card, but that the suite sets too. Here the profile sets them.
OF_CARD = ['MAX_MEMCPY', 'ODP', 'PART_ID', 'LINK_LAYER', 'CRYPTO', 'CRYPTO_KEK', 'CRYPTO_CREDENTIAL']
SKIPPED = 77
SECONDS = 300


def default_profiles():
    cards = [os.path.basename(path)[:-5] for path in glob.glob(f'{TOP}/drivers/softhca/card-profiles/*.conf')]
    return sorted(cards) + sorted(glob.glob(f'{TOP}/test/card-profiles/*.conf'))


def programs(build, short):
    """Returns (name, command, settings) of each test of lib/gantry that uses an adapter.

    Of the tests that run one program with equal settings, only one is returned.
    """
    listing = subprocess.run(['meson', 'introspect', '--tests', build], check=True, capture_output=True, text=True).stdout
    folder = os.path.join(os.path.abspath(build), 'test')
    found = {}
    for test in json.loads(listing):
        command = test['cmd']
        program = os.path.basename(command[0]).removeprefix('test_')
        if os.path.dirname(command[0]) != folder or not program.startswith('gantry_') or program == 'gantry_regions' or (
                short and program not in SHORT):
            continue
        settings = {key: value for key, value in test['env'].items() if key.removeprefix('SOFTHCA_') not in OF_CARD}
        found.setdefault((program, json.dumps(settings, sort_keys=True)), (test['name'], command, settings))
        if short:
            SHORT.remove(program)
    return sorted(found.values(), key=lambda test: test[0])


def run(profile, name, command, settings):
    """Runs a test. Returns (result, reason or end of the output)."""
    env = {key: value for key, value in os.environ.items() if not key.startswith('SOFTHCA_')}
    env.update(settings, SOFTHCA_FORCE='1', SOFTHCA_LIKE=profile)
    # Meson puts the libraries of the build before those of the caller, too.
    env['LD_LIBRARY_PATH'] = ':'.join(filter(None, [settings.get('LD_LIBRARY_PATH'), os.environ.get('LD_LIBRARY_PATH')]))
    try:
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=SECONDS, errors='replace')
    except subprocess.TimeoutExpired:
        return 'failed', f'it did not end within {SECONDS} seconds'
    lines = [line for line in done.stdout.splitlines() if line.strip()] or ['']
    if done.returncode == 0:
        return 'passed', ''
    if done.returncode == SKIPPED:
        why = next((line.partition(': ')[2] for line in reversed(lines) if line.startswith('skipped: ')), 'no reason')
        return 'skipped', f'{why}; {sum(line.endswith(" ok") for line in lines)} other cases passed'
    return 'failed', '\n    '.join([f'exit code {done.returncode}'] + lines[-8:])


def main():
    args = sys.argv[1:]
    if args[:1] in (['-h'], ['--help']):
        print(__doc__.strip())
        return 0
    short = '--short' in args
    args = [arg for arg in args if arg != '--short']
    if not args or args[0].startswith('-') or not os.path.isdir(args[0]):
        print('card_profiles.py: a build directory is missing: see card_profiles.py --help', file=sys.stderr)
        return 2
    build, profiles = args[0], args[1:] or default_profiles()
    tests = programs(build, short)
    if not tests:
        print(f'card_profiles.py: {build} has no test programs of lib/gantry: build it first', file=sys.stderr)
        return 2
    if not short:
        tests.append(('hw_probe', [os.path.join(build, 'test/hw/hw_probe'), '--rehearse', '--json'], {}))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for profile in profiles:
            counts = {'passed': 0, 'skipped': 0, 'failed': 0}
            remarks = []
            for (name, _, _), (result, why) in zip(tests, pool.map(lambda t: run(profile, *t), tests)):
                counts[result] += 1
                if why:
                    remarks.append(f'  {name}: {result}: {why}')
            failed += counts['failed']
            print(f'{os.path.basename(profile)}: ' + ', '.join(f'{n} {result}' for result, n in counts.items()))
            print('\n'.join(remarks) + ('\n' if remarks else ''), end='', flush=True)
    return 1 if failed else 0


sys.exit(main())
