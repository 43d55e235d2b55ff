#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the reference that are tables: settings and faults of softhca, statuses, telemetry keys, log lines. Each table is
read from what the code itself uses: from a program's output, a header's XML, or the calls in the sources.

usage: tables.py SOURCE BUILD --update      writes the pages of doc/ that have such tables: softhca-settings.md, softhca-faults.md
"""
import glob
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

HERE = 'doc/book'
FAULTS_BEGIN, FAULTS_END = '<!-- table: softhca --list-faults -->', '<!-- end of the table -->'


def read(source, path):
    with open(os.path.join(source, path), encoding='utf-8') as file:
        return file.read()


def said(build, *options):
    """Returns what the launcher prints."""
    return subprocess.run([os.path.join(build, 'drivers/softhca/softhca'), *options], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def code(text):
    """Returns code for a cell of a table. Its text may have backticks."""
    text = cell(text)
    return f'`` {text} ``' if '`' in text else f'`{text}`'


def cell(text):
    return re.sub(r'\s+', ' ', text).strip().replace('|', '\\|')


# ---- softhca

def headings(source):
    """Returns the headings of softhca's pages: {title: link}."""
    found = {}
    # The reference comes first, because other pages may have sections of the same title.
    for path in sorted(glob.glob(os.path.join(source, 'doc/softhca*.md')), key=lambda path: ('reference' not in path, path)):
        name = os.path.basename(path)
        if name in ('softhca-settings.md', 'softhca-programs.md') or name.startswith('softhca-rdma-core'):
            continue
        for title in re.findall(r'^#+ (.*)', read(source, 'doc/' + name), re.M):
            anchor = re.sub(r'[^\w\- ]', '', title.strip().lower()).replace(' ', '-')
            found.setdefault(title, f'{name}#{anchor}')
    return found


def linked(text, titles):
    """Makes links of quoted titles of sections."""
    return re.sub(r'"([^"]*)"', lambda m: f'[{m[1]}]({titles[m[1]]})' if m[1] in titles else m[0], text)


def settings(text):
    """Parses the output of softhca --list-settings. Yields (title of a group, [(name, default, allowed, meaning, of a card)])."""
    for part in re.split(r'^## ', text, flags=re.M)[1:]:
        title, _, rest = part.partition('\n')
        rows = []
        for block, name, default in re.findall(r'((?:^# .*\n)+)#(\w+) =(.*)', rest, re.M):
            words = re.sub(r'^# ', '', block, flags=re.M).replace('\n', ' ')
            means, _, more = words.partition('Allowed: ')
            allowed, _, card = more.partition('. A card profile')
            rows.append((name, default.strip(), allowed.rstrip('. '), means.strip(), bool(card)))
        yield title, rows


def settings_page(source, text):
    """Returns the page doc/softhca-settings.md."""
    titles = headings(source)
    out = ['# Settings of softhca', '',
           'This page is the output of `softhca --list-settings` as tables, which `doc/book/tables.py` writes. The manual page '
           'softhca.conf(5) has the same text. [Common settings](softhca.md#common-settings) says which setting serves which '
           'goal, and where a setting is given.', '']
    groups = list(settings(text))
    for title, rows in groups:
        out += [f'## {title}', '', '| setting | default | allowed | meaning |', '|---|---|---|---|']
        for name, default, allowed, means, _ in rows:
            out.append(f'| `{name}` | {default or "none"} | {cell(allowed)} | {cell(linked(means, titles))} |')
        out.append('')
    of_card = [name for _, rows in groups for name, _, _, _, card in rows if card]
    out += ['## Settings of a card', '', 'A [card profile](softhca-reference.md#card-profiles) may have these settings:', '',
            ', '.join(f'`{name}`' for name in of_card) + '.', '']
    return '\n'.join(wrap(line) for line in out)


def wrap(line):
    """Breaks a line of prose at 96 columns."""
    if line.startswith('|') or len(line) <= 96:
        return line
    out, now = [], ''
    for word in line.split(' '):
        if now and len(now) + 1 + len(word) > 96:
            out.append(now)
            now = word
        else:
            now = f'{now} {word}' if now else word
    return '\n'.join(out + [now])


def faults_table(source, text):
    """Returns the tables of faults and of names of calls for doc/softhca-faults.md."""
    titles = headings(source)
    out = ['| line | what happens |', '|---|---|']
    for form, means in re.findall(r'^(\w.*)\n    (.*)', text, re.M):
        out.append(f'| `{form}` | {cell(linked(means, titles))} |')
    names = text.partition('# Names of calls')[2].split('\n')[1:]
    out += ['', 'The names of calls for `refuse` are:', '', '    ' + wrap(' '.join(filter(None, names))).replace('\n', '\n    ')]
    return '\n'.join(out)


def with_faults(source, page, text):
    before, begin, rest = page.partition(FAULTS_BEGIN)
    _, end, after = rest.partition(FAULTS_END)
    return f'{before}{begin}\n{faults_table(source, text)}\n{end}{after}' if begin and end else page


def written_pages(source, build):
    """Returns the pages of doc/ that have tables of the launcher: {path: text}."""
    faults = 'doc/softhca-faults.md'
    return {'doc/softhca-settings.md': settings_page(source, said(build, '--list-settings')),
            faults: with_faults(source, read(source, faults), said(build, '--list-faults'))}


# ---- statuses

def text_of(element):
    """Returns the text of an XML element, in one line."""
    return re.sub(r'\s+', ' ', ''.join(element.itertext())).strip() if element is not None else ''


def enum_values(xml, header, enum):
    """Returns the values of an enum: [(name, description)]."""
    tree = ET.parse(os.path.join(xml, 'xml', header.replace('_', '__').replace('.h', '_8h') + '.xml'))
    for member in tree.iter('memberdef'):
        if member.get('kind') == 'enum' and member.findtext('name') == enum:
            return [(value.findtext('name'), f"{text_of(value.find('briefdescription'))} {text_of(value.find('detaileddescription'))}".strip())
                    for value in member.findall('enumvalue')]
    sys.exit(f'{header} has no enum {enum}')


def next_steps(source):
    """Returns what a program does after each kind of status: doc/book/statuses.txt."""
    return dict(line.split(' ', 1) for line in read(source, f'{HERE}/statuses.txt').splitlines() if line and line[0] != '#')


def statuses(source, xml):
    steps = next_steps(source)
    names = dict(re.findall(r'\[(GANTRY_\w+)\] = "(\w+)"', read(source, 'lib/gantry/queue/gantry_names.c')))
    values = enum_values(xml, 'gantry_desc.h', 'gantry_status')
    unknown = sorted(set(steps) ^ {name for name, _ in values})
    if unknown:
        sys.exit(f'{HERE}/statuses.txt and enum gantry_status do not have the same statuses: {" ".join(unknown)}: one line for each status')
    texts = dict(re.findall(r'\[(GANTRY_\w+)\] = "([^"]+)"', body_of(read(source, 'lib/gantry/queue/gantry_stats.c'), 'gantry_status_name')))
    if sorted(texts) != sorted(name for name, _ in values):
        sys.exit('gantry_status_name() in gantry_stats.c does not have a text for each status')
    rows = [f'| `{name}` | {cell(texts[name])} | `{names.get(name, "")}` | {cell(means)} | {cell(steps[name])} |' for name, means in values]
    return ('# Statuses\n\nThe status of a completion (`gantry_comp::status`) is a value of `enum gantry_status`. '
            '[gantry_desc.h](gantry/gantry_desc.md) defines the values; the table is made from it. The column "text" has what '
            '`gantry_status_name()` returns and programs print. The column "telemetry" has the name in answers of telemetry and in '
            '`gantry-top`.\n\n'
            '| status | text | telemetry | meaning | what to do |\n|---|---|---|---|---|\n' + '\n'.join(rows) + '\n')


# ---- telemetry

def body_of(code, function):
    found = re.search(r'^%s\(.*?^\}' % function, code, re.M | re.S)
    return found[0] if found else ''


def keys_of(code, function, seen=()):
    """Returns the keys that a function adds to an answer, in order, and those of the functions that it calls."""
    keys = []
    for call in re.finditer(r'(?:rte_tel_data_add_dict_\w+|add_bool|add_hex|add_lines|add)\(\w+,\s*"(\w+)"|\b((?:tell|add)_\w+)\(', body_of(code, function)):
        if call[1]:
            keys.append(call[1])
        elif call[2] not in seen and call[2] != function and call[2] not in ('add_bool', 'add_hex', 'add_lines', 'add_numbered'):
            keys += keys_of(code, call[2], seen + (function,))
    return list(dict.fromkeys(keys))


def members(xml, struct):
    """Returns the members of a struct: {name: description}."""
    path = os.path.join(xml, 'xml', 'struct' + struct.replace('_', '__') + '.xml')
    return {m.findtext('name'): f"{text_of(m.find('briefdescription'))} {text_of(m.find('detaileddescription'))}".strip()
            for m in ET.parse(path).iter('memberdef')}


def telemetry(source, xml):
    code = read(source, 'lib/gantry/observe/gantry_telemetry.c')
    told = {}
    for line in read(source, f'{HERE}/telemetry.txt').splitlines():
        if line and line[0] != '#':
            command, key, means = line.split(' ', 2)
            told[command, key] = means
    of_structs = {'/gantry/counters': members(xml, 'gantry_stats'), '/gantry/latency': members(xml, 'gantry_latency'),
                  '/gantry/lcores': members(xml, 'gantry_lcore_load')}
    out, faults, used = [], [], set()
    commands = re.findall(r'\{"(/gantry/\w+)", \w+, \S+,\s*"([^"]*)",\s*(answer_\w+)\}', code)
    if len(commands) != code.count('{"/gantry/'):
        sys.exit('tables.py cannot read commands[] of gantry_telemetry.c: its rows have another form')
    for command, help, function in commands:
        out += [f'## {command}', '', help + '.', '', '| key | meaning |', '|---|---|']
        for key in keys_of(code, function):
            means = told.get((command, key)) or told.get(('*', key)) or of_structs.get(command, {}).get(key)
            used |= {(command, key)} if (command, key) in told else {('*', key)} if ('*', key) in told else set()
            if not means:
                faults.append(f'{HERE}/telemetry.txt has no line "{command} {key} MEANING": add it')
            out.append(f'| `{key}` | {cell(means or "")} |')
        out.append('')
    faults += [f'{HERE}/telemetry.txt: no answer to {command} has the key {key}: remove the line' for command, key in
               sorted(set(told) - used)]
    if faults:
        sys.exit('\n'.join(faults))
    return ('# Telemetry keys\n\nThese are the commands of DPDK\'s telemetry that a program with an engine answers, and the keys of each '
            'answer. [Looking at the engine while it runs](../telemetry.md) explains how to ask. A list in an answer is a dictionary whose keys are numbers. '
            'Each key of an element is in the table of its command.\n\n' + '\n'.join(out))


# ---- log lines

LOGS = [
    # Name of a macro or function, number of arguments before the format, prefix of its lines, folders.
    ('LOG', 1, 'gantry: ', ['lib/gantry']),
    ('LOG', 1, 'gantry_cm: ', ['lib/gantry_cm']),
    ('LOG_RATED', 2, 'gantry: ', ['lib/gantry']),
    ('DMA_MLX5_LOG', 1, 'dma_mlx5: ', ['drivers/dma/mlx5']),
    ('hwq_log', 0, 'hwq: ', ['lib/hwq']),
    ('softhca_log', 0, 'softhca: ', ['drivers/softhca']),
]
# Words that say what to do. A line that has one of them in an instruction needs no other remedy.
ADVICE = re.compile(r'(?:[:;,.(] ?|\band |\bor |\bso )(?:use|call|give|set|choose|destroy|close|open|add|register|populate|begin|see|submit|create|'
                    r'enable|unregister|correct|start|load|install|ask|raise|run|try|check|free|wait|remove|make|post|poll|connect|pass|unset|'
                    r'take it over|name memory|copy by|numbers are|carriers are|each of its|'
                    r'at least|at most|exactly|only|it must|must|all must|needs)\b|\b(?:must|needs|is possible|are possible|is for|may be|'
                    r'at most|at least|not more than|is allowed|allows)\b', re.I)


def arguments(text):
    """Splits the arguments of a call; text begins after the opening parenthesis. Returns the arguments."""
    args, depth, now, at = [], 0, '', 0
    while at < len(text):
        c = text[at]
        if c == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == '\\' else 1
            now += text[at:end + 1]
            at = end + 1
            continue
        if c in '([{':
            depth += 1
        elif c in ')]}':
            if depth == 0:
                return args + [now.strip()]
            depth -= 1
        if c == ',' and depth == 0:
            args.append(now.strip())
            now = ''
        else:
            now += c
        at += 1
    return args


def shown(format):
    """Returns the text of a format: literals joined, and an ellipsis for each value."""
    text = ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r'\bPRI\w+', '"u"', format)))
    text = text.replace('\\n', ' ').replace('\\"', '"')
    return re.sub(r'\s+', ' ', re.sub(r'%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]', '…', text)).strip()


def lines(source):
    """Yields the log lines of the sources: (prefix, level, text, has an errno, path)."""
    for name, skip, prefix, folders in LOGS:
        for folder in folders:
            pattern = os.path.join(source, folder, '**/*.[ch]')
            for path in sorted(glob.glob(pattern, recursive=True)):
                code = re.sub(r'/\*.*?\*/', '', read(source, path), flags=re.S)
                for found in re.finditer(r'(?<![\w"])%s\(' % name, code):
                    args = arguments(code[found.end():])
                    if len(args) <= skip or '"' not in args[skip] or args[skip].startswith('fmt'):
                        continue
                    text = shown(args[skip])
                    if re.sub(r'[…\s:]', '', text):
                        level = args[skip - 1] if skip else ''
                        yield prefix, level, text, any('strerror' in a for a in args[skip + 1:]), os.path.relpath(path, source)


def log_lines(source):
    remedies = []
    for line in read(source, f'{HERE}/remedies.txt').splitlines():
        if line and line[0] != '#':
            begin, _, remedy = line.partition(' => ')
            remedies.append([begin, remedy, False])
    parts, faults = {}, []
    for prefix, level, text, has_errno, path in lines(source):
        whole = prefix + text
        remedy = None
        for row in remedies:
            if whole.startswith(row[0]):
                remedy, row[2] = row[1], True
                break
        if remedy is None and ADVICE.search(text):
            remedy = 'as the line says'
        elif remedy is None and has_errno:
            remedy = 'see [Errors of calls](#errors-of-calls)'
        elif remedy is None and level in ('DEBUG', 'INFO', 'NOTICE'):
            remedy = 'nothing: the line reports a state'
        if remedy is None:
            faults.append(f'{path}: the log line "{whole}" does not say what to do: let it, or add a line to {HERE}/remedies.txt')
            continue
        parts.setdefault(prefix, {})[whole] = (level, remedy, path)
    faults += [f'{HERE}/remedies.txt: no log line begins with "{begin}": correct the text' for begin, _, used in remedies if not used]
    if faults:
        sys.exit('\n'.join(faults))
    out = ['# Log lines', '',
           'This page has the log lines of the libraries, the driver and the emulated adapter. The lines are read from the sources. An '
           'ellipsis (…) stands for a value. The search field of the book finds a line by its words. Lines of lib/gantry and of the dmadev '
           'driver go to DPDK\'s log: the types `lib.gantry` and `pmd.dma.mlx5` of `--log-level`. Lines of lib/hwq go to the standard error '
           'output, or to the function that the program has given to `hwq_log_to()`; in a program with an engine they go to DPDK\'s log. '
           'Lines of softhca go to the standard error output.', '',
           'Many lines say themselves what to do. A line that ends with the error of a call is explained below.', '']
    for prefix, title in (('gantry: ', 'lib/gantry'), ('gantry_cm: ', 'lib/gantry_cm'), ('hwq: ', 'lib/hwq'), ('dma_mlx5: ', 'The dmadev driver'),
                          ('softhca: ', 'softhca')):
        has_level = any(level for level, _, _ in parts[prefix].values())
        out += [f'## {title}', '', '| line | level | what to do |' if has_level else '| line | what to do |',
                '|---|---|---|' if has_level else '|---|---|']
        for whole, (level, remedy, _) in sorted(parts[prefix].items(), key=lambda item: item[0].replace('…', '~')):
            out.append(f'| {code(whole)} | ' + (f'{level} | ' if has_level else '') + f'{remedy} |')
        out.append('')
    out += ['## Errors of calls', '', 'A line may end with the error of a call of the kernel or of the device:', '',
            '| error | usual reason | what to do |', '|---|---|---|']
    for line in read(source, f'{HERE}/errors.txt').splitlines():
        if line and line[0] != '#':
            name, reason, remedy = line.split(' | ')
            number = os.strerror(__import__('errno').__dict__[name])
            out.append(f'| {name}, "{number}" | {reason} | {remedy} |')
    return '\n'.join(out) + '\n'


def pages(source, build, xml):
    """Returns the pages of tables: {page: text}."""
    return {'reference/statuses.md': statuses(source, xml), 'reference/telemetry-keys.md': telemetry(source, xml),
            'reference/log-lines.md': log_lines(source)}


if __name__ == '__main__':
    if len(sys.argv) != 4 or sys.argv[3] != '--update':
        sys.exit(__doc__)
    for page, new in written_pages(*sys.argv[1:3]).items():
        with open(os.path.join(sys.argv[1], page), 'w', encoding='utf-8') as f:
            f.write(new)
