# SPDX-License-Identifier: BSD-3-Clause
"""Compares our layouts with those of other projects: check-layouts.sh --help has the usage."""
import argparse
import os
import re
import sys
import textwrap

import ours
import trees

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE_WIDTH = 100  # the longest line in doc/ that check_format allows


def arguments():
    p = argparse.ArgumentParser(prog='check-layouts.sh', description=(
        'Compares offset, width and value of every field that softhca and lib/hwq know of WQEs, CQEs, firmware commands '
        'and capabilities with what other projects say. It reads the text of their headers, and runs no compiler.'),
        epilog='Exit status: 0 if all agree, or each disagreement is in usertools/layouts/resolved.txt; 1 if not; 2 if '
               'a tree or a file of usertools/layouts cannot be used.')
    p.add_argument('trees', metavar='TREE[=REVISION]', nargs='+', help='the top directory of a source tree, or a bare git '
                   'repository, of ' + ', '.join(trees.ORDER) + '. What it is, is found out')
    p.add_argument('--table', action='store_true', help='print the whole table as Markdown, for doc/layouts.md')
    p.add_argument('--top', default=os.path.join(HERE, '..', '..'), help=argparse.SUPPRESS)
    p.add_argument('--pairs', default=os.path.join(HERE, 'pairs.txt'), help=argparse.SUPPRESS)
    p.add_argument('--resolved', default=os.path.join(HERE, 'resolved.txt'), help=argparse.SUPPRESS)
    return p.parse_args()


def place(layout, field):
    """Returns the position of a field, or None. Forms: NAME; NAME[FIRST:N], some of its bits; A+B, adjacent fields."""
    some = re.fullmatch(r'(.*)\[(\d+):(\d+)\]', field)
    if some is not None:
        whole = layout.get(some[1])
        return None if whole is None else (whole[0] + int(some[2]), int(some[3]))
    places = [layout.get(name) for name in field.split('+')]
    if None in places or any(a[0] + a[1] != b[0] for a, b in zip(places, places[1:])):
        return None
    return places[0][0], sum(width for _, width in places)


def found(tree, item):
    """Returns the value or position of an item in the tree, or None."""
    if item.structs is None:
        return next((v for v in map(tree.constant, item.fields) if v is not None), None)
    for struct in item.structs:
        layout = tree.layout(struct)
        for field in item.fields if layout is not None else []:
            if place(layout, field) is not None:
                return place(layout, field)
    return None


def agrees(mine, theirs):
    if isinstance(mine, int):
        return mine == theirs
    return mine[0] == theirs[0] and mine[1] in (None, theirs[1])


def show(value):
    if value is None:
        return ''
    if isinstance(value, int):
        return hex(value) if value > 9 else str(value)
    return hex(value[0]) + ('' if value[1] is None else f' +{value[1]}')


class Row:
    def __init__(self, item, known_trees, resolved):
        self.item = item
        self.said = {t.name: found(t, item) for t in known_trees}
        self.against = [t for t, v in self.said.items() if v is not None and not agrees(item.value, v)]
        self.agreed = [t for t, v in self.said.items() if v is not None and agrees(item.value, v)]
        self.open = [t for t in self.against if (item.name, t, show(self.said[t])) not in resolved]

    def verdict(self):
        if self.open:
            return 'DISAGREED'
        if self.against:
            return 'decided'
        return f'{len(self.agreed)} agree' if len(self.agreed) > 1 else '1 agrees' if self.agreed else 'no source'

    def line(self, names):
        cells = [show(self.said[n]) if n in self.against else 'as ours' if n in self.agreed else '' for n in names]
        return '| ' + ' | '.join([f'`{self.item.name}`', show(self.item.value), *cells, self.verdict()]) + ' |'


def print_table(rows, names):
    group = None
    for row in rows:
        if row.item.group != group:
            group = row.item.group
            print(f'\n## {group}\n\n| ours | place or value | ' + ' | '.join(names) + ' | |')
            print('|---' * (3 + len(names)) + '|')
        print(row.line(names))


def print_summary(rows):
    for title, some in (('DISAGREED', [r for r in rows if r.open]),
                        ('sources differ, decided in doc/hardware.md', [r for r in rows if r.against and not r.open]),
                        ('no source', [r for r in rows if not r.against and not r.agreed])):
        for row in some:
            says = '; '.join(f'{t}: {show(row.said[t])}' for t in row.against)
            print(f'{title}: {row.item.group}: {row.item.name} {show(row.item.value)}{"; " if says else ""}{says}')


def resolved_in(path):
    """Reads lines of the form NAME | TREE | WHAT IT SAYS | REASON."""
    with open(path, encoding='utf-8') as f:
        lines = [line.split('|') for line in f if line.strip() and not line.startswith('#')]
    return {tuple(part.strip() for part in line[:3]) for line in lines}


def main():
    args = arguments()
    try:
        known = sorted(map(trees.open_tree, args.trees), key=lambda t: trees.ORDER.index(t.name))
        mine = ours.Ours(args.top)
        with open(args.pairs, encoding='utf-8') as f:
            items = [i for head, lines in ours.read_pairs(f.read()) for i in mine.section(head, lines)]
        resolved = resolved_in(args.resolved)
        rows = [Row(item, known, resolved) for item in items]
    except (ValueError, OSError, ours.Mistake, trees.ctext.Unreadable) as e:
        print(f'check-layouts.sh: {e}', file=sys.stderr)
        return 2
    if args.table:
        print_table(rows, [t.name for t in known])
    else:
        print_summary(rows)
    several = sum(len(r.agreed) > 1 and not r.against for r in rows)
    single = sum(len(r.agreed) == 1 and not r.against for r in rows)
    alone = sum(not r.agreed and not r.against for r in rows)
    wrong = sum(bool(r.open) for r in rows)
    sums = (f'{len(rows)} facts, compared with ' + ', '.join(f'{t.name} ({t.revision})' for t in known)
            + f': {several} confirmed by several sources, {single} by one; {sum(bool(r.against) for r in rows) - wrong} where '
            f'sources differ, decided; {alone} in no source; {wrong} undecided')
    print('\n' + (textwrap.fill(sums, PAGE_WIDTH) if args.table else sums))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
