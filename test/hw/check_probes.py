#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the documentation, the probes and the code name the same assumptions, and that softhca meets them.

Without --rehearse nothing is asked: doc/softhca-assumptions.md, "What is assumed" and "What is confirmed", must have
the groups, identities, sentences and reasons of `hw_probe --list`. Each identity of the first section must stand in a
comment "Assumed: identity." of drivers/softhca, each identity of the second section in a comment "Confirmed:
identity.". With --rehearse the probes ask the emulated adapter. Each probe must answer "as assumed", except probes that
do not exist, and probes of encryption if the adapter does not encrypt.

usage: check_probes.py SOURCE_DIR HW_PROBE [--rehearse]
"""
import glob
import json
import os
import re
import socket
import subprocess
import sys

ENCRYPTION = 'Encryption'
NOT_ASKED = ' No probe asks this, because '


def probes_of_table(hw_probe):
    """Maps each identity to (group, sentence, reason or ''). Below each identity is a sentence that says what depends
    on the assumption."""
    out = subprocess.run([hw_probe, '--list'], check=True, capture_output=True, text=True).stdout
    probes, group = {}, None
    lines = iter(out.splitlines())
    for line in lines:
        if not line.startswith(' '):
            group = line
            continue
        if not re.fullmatch(r' {4}[A-Z][^"]{30,}\.', next(lines, '')):
            sys.exit(f'hw_probe --list does not say in a sentence what depends on {line.strip().partition(":")[0]}')
        name, _, text = line.strip().partition(': ')
        sentence, _, reason = text.partition(NOT_ASKED)
        if name in probes:
            sys.exit(f'hw_probe --list names {name} twice')
        probes[name] = (group, sentence, reason)
    return probes


def probes_of_doc(source, kind):
    """As probes_of_table(), for a section of doc/softhca-assumptions.md; the sentence is all text before the reason."""
    with open(os.path.join(source, 'doc', 'softhca-assumptions.md'), encoding='utf-8') as doc:
        section = doc.read().partition(f'\n## What is {kind.lower()}\n')[2].partition('\n## ')[0]
    probes = {}
    for part in section.split('\n### ')[1:]:
        group, _, body = part.partition('\n')
        for bullet in re.findall(r'^- (.*(?:\n  .*)*)', body, re.M):
            text = ' '.join(bullet.split())
            match = re.match(r'`([a-z0-9-]+)`: (.*)', text)
            if match is None:
                sys.exit(f'doc/softhca-assumptions.md: this assumption has no identity: {text}')
            sentence, _, reason = match[2].partition(NOT_ASKED)
            probes[match[1]] = (group, sentence, reason)
    return probes


def identities_of_code(source, kind):
    found = set()
    for path in glob.glob(os.path.join(source, 'drivers', 'softhca', '**', '*.[ch]'), recursive=True):
        with open(path, encoding='utf-8') as code:
            for names in re.findall(kind + r':[\s*]+([a-z0-9-]+(?:,[\s*]+[a-z0-9-]+)*)\.', code.read()):
                found.update(re.split(r',[\s*]+', names))
    return found


def compare(source, table):
    faults, doc = [], {}
    for kind in 'Assumed', 'Confirmed':
        told, code = probes_of_doc(source, kind), identities_of_code(source, kind)
        faults += [f'doc/softhca-assumptions.md names {name} twice' for name in sorted(set(told) & set(doc))]
        faults += [f'{name} is "{kind.lower()}" in doc/softhca-assumptions.md, and not in the code' for name in sorted(set(told) - code)]
        faults += [f'{name} is "{kind.lower()}" in the code, and not in doc/softhca-assumptions.md' for name in sorted(code - set(told))]
        doc.update(told)
    faults += [f'doc/softhca-assumptions.md does not name {name}' for name in sorted(set(table) - set(doc))]
    faults += [f'doc/softhca-assumptions.md names {name}, which no probe has' for name in sorted(set(doc) - set(table))]
    for name in sorted(set(table) & set(doc)):
        (group, sentence, reason), (doc_group, doc_sentence, doc_reason) = table[name], doc[name]
        if group != doc_group:
            faults.append(f'{name} is in the group "{group}", in doc/softhca-assumptions.md in "{doc_group}"')
        if not doc_sentence.startswith(sentence):
            faults.append(f'{name}: the probe says "{sentence}", doc/softhca-assumptions.md "{doc_sentence}"')
        if reason != doc_reason:
            faults.append(f'{name}: no probe, because "{reason}"; in doc/softhca-assumptions.md "{doc_reason}"')
    return faults


def rehearse(hw_probe, table):
    faults = []
    run = subprocess.run([hw_probe, '--rehearse', '--json'], capture_output=True, text=True)
    if run.returncode != 0:
        return [f'hw_probe ended with {run.returncode}: {run.stderr}']
    report = json.loads(run.stdout)
    encrypts = os.environ.get('SOFTHCA_CRYPTO') == 'plaintext'
    if sorted(report) != ['answers', 'device'] or sorted(report['device']) != ['fw', 'part']:
        faults.append(f'the report has other parts: {run.stdout[:200]}')
    for secret in (socket.gethostname(), 'fe80:', 'mlx5_0'):
        if secret in run.stdout:
            faults.append(f'the report holds {secret}')
    if [answer['id'] for answer in report['answers']] != list(table):
        faults.append('the report does not answer each probe once, in the order of --list')
    for answer in report['answers']:
        group, _, reason = table[answer['id']]
        cannot = reason != '' or (group == ENCRYPTION and not encrypts)
        if answer['answer'] != ('cannot be asked here' if cannot else 'as assumed'):
            faults.append(f"{answer['id']}: {answer['answer']}: {answer['seen']}")
    return faults


def main():
    source, hw_probe = sys.argv[1:3]
    table = probes_of_table(hw_probe)
    faults = rehearse(hw_probe, table) if '--rehearse' in sys.argv else compare(source, table)
    for fault in faults:
        print(fault)
    print(f'{len(table)} assumptions, {sum(reason == "" for _, _, reason in table.values())} of them asked')
    sys.exit(1 if faults else 0)


main()
