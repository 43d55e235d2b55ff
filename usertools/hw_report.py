#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the report of hw.sh: report.txt to read, report.json to send back.

usage: hw_report.py caps CAPS.JSON        prints a line for each capability: identity, yes or no, name, value; by tabs
       hw_report.py write SCRATCH OUT     SCRATCH has hw.sh's results: stages, caps.json, probes.json, bench.csv

The report contains no address, GUID, name or path of the machine: clean() removes them from the output of programs.
"""
import csv
import getpass
import glob
import json
import os
import re
import socket
import subprocess
import sys

LINES_OF_A_FAILURE = 30
# The possible answers of a probe, for readers of the report.
ANSWERS = ('as assumed', 'otherwise', 'cannot be asked here')
COLUMNS = ('axis', 'series', 'length', 'depth', 'burst', 'peers')

PATTERNS = [
    (r'[\w.+-]+@[\w-]+(\.[\w-]+)+', 'ADDRESS'),
    # Paths: with at least two names, or with one name below the root.
    (r'(?<![\w.])~?\.{0,2}(/[\w.+@%~:-]+){1,}/?', 'PATH'),
    (r'\b[\w.+-]+(/[\w.+@%~-]+){2,}', 'PATH'),
    (r'\b[\w.+-]+/[\w+@%~-]+\.\w+', 'PATH'),
    # PCI functions, MAC addresses, GIDs and IPv6 addresses, GUIDs, UUIDs, IPv4 addresses.
    (r'\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b', 'ADDRESS'),
    (r'\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b', 'ADDRESS'),
    (r'(?<![\w:])[0-9a-fA-F]{1,4}(:{1,2}[0-9a-fA-F]{1,4}){2,}(?![\w:])', 'ADDRESS'),
    (r'(?<![\w:])[0-9a-fA-F]{0,4}::([0-9a-fA-F]{1,4}:?)*', 'ADDRESS'),
    (r'\b\d{1,3}(\.\d{1,3}){3}\b', 'ADDRESS'),
    (r'\b(0x)?[0-9a-fA-F]{12,}\b', 'NUMBER'),
    # Anything that is called a serial number.
    (r'(?i)\b(serial( (number|no\.?))?|s/n)(\s*(is|[:=])\s*|\s+)[\w-]+', 'SERIAL'),
]


def read_line(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return ''


def names_of_machine():
    """Returns the names of this machine, its users and its devices."""
    names = {socket.gethostname(), socket.gethostname().partition('.')[0], os.uname().nodename,
        os.environ.get('USER', ''), os.environ.get('LOGNAME', ''), os.environ.get('SUDO_USER', ''),
        read_line('/etc/machine-id')}
    try:
        names.add(getpass.getuser())
    except (KeyError, OSError):
        pass
    for path in glob.glob('/sys/class/dmi/id/*serial') + glob.glob('/sys/class/dmi/id/*uuid'):
        names.add(read_line(path))
    for folder in ('/sys/class/net', '/sys/class/infiniband', '/sys/class/infiniband_verbs'):
        if os.path.isdir(folder):
            names.update(os.listdir(folder))
    # Words that occur in many texts are no secrets: 'root', 'lo'.
    return {name for name in names if len(name) > 1} - {'lo', 'root', 'localhost', 'None'}


NAMES = sorted(names_of_machine(), key=len, reverse=True)


def clean(text):
    """Returns the text without words that identify the machine."""
    for name in NAMES:
        text = re.sub(r'(?<![A-Za-z0-9])' + re.escape(name) + r'(?![A-Za-z0-9])', 'NAME', text)
    text = re.sub(r'\bmlx[45]_\w+', 'DEVICE', text)
    for pattern, word in PATTERNS:
        text = re.sub(pattern, word, text)
    return ''.join(c if c.isprintable() else ' ' for c in text)


def load(path, otherwise):
    """Reads a program's JSON. If the program was stopped, returns the complete elements of its list."""
    text = read_line(path)
    for end in ('', ']}'):
        try:
            return json.loads(text + end)
        except ValueError:
            pass
    return otherwise


def print_caps(path):
    for cap in load(path, {'capabilities': []})['capabilities']:
        print(cap['id'], 'yes' if cap['has'] else 'no', cap['name'], cap['value'], sep='\t')


def read_stages(scratch):
    stages = []
    with open(os.path.join(scratch, 'stages'), encoding='utf-8', errors='replace') as lines:
        for line in lines:
            name, result, why, seconds, log = line.rstrip('\n').split('\t')
            stage = {'name': name, 'result': result, 'seconds': int(seconds)}
            if why:
                stage['why'] = clean(why)
            if log:
                stage['output'] = [clean(text) for text in read_line(log).splitlines()[-LINES_OF_A_FAILURE:]]
            stages.append(stage)
    return stages


def read_bench(scratch):
    rows = []
    try:
        with open(os.path.join(scratch, 'bench.csv'), encoding='utf-8') as file:
            for row in csv.DictReader(file):
                # memcpy(3) stays, for comparison. DPDK's dma_skeleton is left out, because it does
                # not use the device.
                if row['series'] == 'dma_skeleton' or (row['series'] == 'memcpy' and row['peers'] != '0'):
                    continue
                rows.append({k: int(v) if v.isdigit() else v for k, v in row.items() if k in COLUMNS} |
                    {'ns': float(row['ns']), 'ops_per_s': round(float(row['mops']) * 1e6)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return rows


def versions():
    """Returns the versions of the kernel and of libraries. A kernel's name may contain private words, so only numbers are used."""
    found = {'kernel': re.match(r'[\d.]*', os.uname().release)[0]}
    for library in ('libibverbs', 'libdpdk'):
        try:
            run = subprocess.run(['pkg-config', '--modversion', library], capture_output=True, text=True, check=True)
            found[library] = run.stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            pass
    return found


def verdict(report):
    missing = [c['name'] for c in report['capabilities'] if c['needed'] and not c['has']]
    failed = [s['name'] for s in report['stages'] if s['result'] == 'failed']
    if missing:
        return 'Gantry does not run on this device. It lacks: ' + '; '.join(missing) + '.'
    if failed:
        return 'Gantry does not work on this device as it should. These stages failed: ' + '; '.join(failed) + '.'
    return 'Gantry works on this device, in all that it has.'


def lines_of(report):
    device = report['device']
    yield f'Part {device["part"]}, firmware {device["fw"]}' + (', which is the emulated adapter' if device['emulated'] else '')
    yield 'With ' + ', '.join(f'{name} {version}' for name, version in report['software'].items())
    yield report['verdict']
    yield ''
    yield 'What the device has'
    for cap in report['capabilities']:
        yield f'  {"yes" if cap["has"] else "no ":3}  {cap["name"]}' + (f': {cap["value"]}' if cap['value'] else '')
        yield f'       for {cap["use"]}' + ('. Gantry does not run without it' if cap['needed'] and not cap['has'] else '')
    yield ''
    yield 'Stages'
    for stage in report['stages']:
        why = f', {stage["why"]}' if 'why' in stage else ''
        took = f' ({stage["seconds"]} s)' if stage['result'] != 'skipped' else ''
        yield f'  {stage["result"]:8} {stage["name"]}{took}{why}'
        for text in stage.get('output', []):
            yield f'             {text}'
    yield ''
    yield 'What the emulated adapter assumes about cards'
    for answer in ANSWERS:
        yield f'  {answer}: {sum(p["answer"] == answer for p in report["probes"]["answers"])}'
    differences = [p for p in report['probes']['answers'] if p['answer'] == 'otherwise']
    if differences:
        yield 'Here this device differs from the emulated adapter:'
    for probe in differences:
        yield f'  {probe["id"]}'
        yield f'    assumed: {probe["assumed"]}'
        yield f'    seen: {probe["seen"]}'
        yield f'    what depends on it: {probe["matters"]}'
    yield ''
    yield 'How fast it is: nanoseconds and operations a second, by bytes of an operation'
    for row in report['benchmarks']:
        peers = '' if row['peers'] == 0 else f', writes to {row["peers"]} peer{"" if row["peers"] == 1 else "s in turn"}'
        what = {'gantry': 'Gantry', 'memcpy': 'memcpy(3), for comparison'}[row['series']] + (peers or ', copies')
        yield f'  {what:36} {row["length"]:8} bytes {row["ns"]:12.1f} ns {row["ops_per_s"]:12} a second'


def write(scratch, out):
    caps = load(os.path.join(scratch, 'caps.json'), {'device': {}, 'capabilities': []})
    answers = load(os.path.join(scratch, 'probes.json'), {'answers': []})['answers']
    for answer in answers:
        answer['seen'] = clean(answer['seen'])
    report = {'device': caps['device'], 'software': versions(), 'capabilities': caps['capabilities'],
        'card_profile': caps.get('card_profile', {}), 'stages': read_stages(scratch), 'probes': {'answers': answers},
        'benchmarks': read_bench(scratch)}
    report = {'verdict': verdict(report)} | report
    with open(os.path.join(out, 'report.json'), 'w', encoding='utf-8') as file:
        json.dump(report, file, indent=1)
        file.write('\n')
    with open(os.path.join(out, 'report.txt'), 'w', encoding='utf-8') as file:
        file.writelines(line + '\n' for line in lines_of(report))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == 'caps':
        print_caps(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == 'write':
        write(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)


main()
