# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages. Sections 1 and 5 are pages of doc/man, which quote the programs' own help, and which Sphinx formats. Section 3
has a page for each call of lib/gantry, from the comments in the headers."""
import glob
import os
import re
import subprocess
import textwrap
import time
import xml.etree.ElementTree as ET

import tables

# The programs that a page may quote: name, path in the build directory or, with a colon, in the source tree.
PROGRAMS = {'testgantry': 'app/testgantry/testgantry', 'hwq-decode': 'app/hwq-decode/hwq-decode',
            'softhca': 'drivers/softhca/softhca', 'gantry-top': ':usertools/gantry-top'}


def today():
    """Returns the date of the pages. Packages set it, so that a second build makes equal files."""
    return time.strftime('%Y-%m-%d', time.gmtime(int(os.environ.get('SOURCE_DATE_EPOCH', time.time()))))


def said(source, build, words):
    """Returns the output of a program of the project, for example of ['testgantry', '-h']."""
    path = PROGRAMS[words[0]]
    path = os.path.join(source, path[1:]) if path.startswith(':') else os.path.join(build, path)
    done = subprocess.run([path, *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=True, env=dict(os.environ, COLUMNS='80'))
    return done.stdout


def setting_list(source, build):
    """Returns the settings as definition lists, for softhca.conf(5)."""
    out = []
    for title, rows in tables.settings(tables.said(build, '--list-settings')):
        out += [f'### {title}', '']
        for name, default, allowed, means, card in rows:
            means = means.replace('see "What is assumed"', 'see the book').replace('*', '\\*')
            out += [f'**{name}**', f':   {means} Allowed: {allowed}. Default: {default or "none"}.'
                    + (' A card profile may have this setting.' if card else ''), '']
    return '\n'.join(out)


def fault_list(build):
    """Returns the faults as definition lists."""
    text = tables.said(build, '--list-faults')
    out = []
    for form, means in re.findall(r'^(\w.*)\n    (.*)', text, re.M):
        out += [f'**{form}**', f':   {means}', '']
    names = text.partition('# Names of calls')[2].split('\n')[1:]
    return '\n'.join(out) + f'\nThe names of calls for **refuse** are: {", ".join(filter(None, names))}.\n'


def stage_pages(source, build, stage):
    """Writes the pages of sections 1 and 5 for Sphinx. Returns the rows NAME|SECTION|PURPOSE of conf.py, whose pages are
    man/NAME."""
    rows = []
    os.makedirs(os.path.join(stage, 'man'), exist_ok=True)
    for path in sorted(glob.glob(os.path.join(source, 'doc/man/*.md'))):
        name, section = re.fullmatch(r'(.*)\.(\d)\.md', os.path.basename(path)).groups()
        with open(path, encoding='utf-8') as file:
            text = file.read()
        purpose = re.search(r'^# \S+ - (.*)', text, re.M)[1]
        text = re.sub(r'^\{output: (.*)\}$', lambda m: '```\n' + said(source, build, m[1].split()) + '```', text, flags=re.M)
        text = text.replace('{settings}', setting_list(source, build)).replace('{faults}', fault_list(build))
        with open(os.path.join(stage, 'man', name + '.md'), 'w', encoding='utf-8') as file:
            file.write(text)
        rows.append(f'{name}|{section}|{purpose}')
    with open(os.path.join(stage, 'index.md'), 'w', encoding='utf-8') as file:
        file.write('# Manual pages\n\n```{toctree}\n:glob:\nman/*\n```\n')
    return rows


def mend(text):
    """Returns a manual page without what mandoc(1) warns of: vertical space after a heading, fonts of teletypes, long lines."""
    text = re.sub(r'^\.ft [CP]\n', '', text, flags=re.M)
    text = re.sub(r'^(\.S[HS] .*\n)(?:\.sp\n|\.PP\n)+', r'\1', text, flags=re.M)
    text = re.sub(r'^(?:\.sp\n|\.PP\n)+(?=\.S[HS] )', '', text, flags=re.M)
    # The tag of a paragraph is one line; a macro may be longer than text.
    text = re.sub(r'^(\.TP.*\n)\\fB([^\\\n]*(?:\\[-_.][^\\\n]*)*)\\fP$', lambda m: m[1] + '.B ' + m[2].replace('"', '\\(dq'), text, flags=re.M)
    out, filled = [], True
    for line in text.split('\n'):
        if line in ('.nf', '.fi'):
            filled = line == '.fi'
        out += [line] if not filled or line.startswith(('.', "'")) else wrapped(line)
    return '\n'.join(out)


def wrapped(line):
    """Breaks a line of text. A word that begins with a dot or an apostrophe stays behind the word before it, because a line that
    begins with such a character is a request."""
    held = re.sub(r" (?=[.'])", '\1', line)
    return [part.replace('\1', ' ') for part in textwrap.wrap(held, 78, break_long_words=False, break_on_hyphens=False)] or ['']


# ---- section 3

def escaped(text):
    text = text.replace('\\', '\\e').replace('-', '\\-').replace('…', '...')
    return re.sub(r"(?m)^([.'])", r'\\&\1', text)


def inline(element):
    """Returns the text of a paragraph with the fonts of troff, without paragraphs inside it."""
    text = escaped(re.sub(r'\s+', ' ', element.text or ''))
    for child in element:
        if child.tag in ('itemizedlist', 'parameterlist', 'simplesect', 'verbatim', 'orderedlist', 'programlisting', 'table'):
            pass
        elif child.tag in ('computeroutput', 'bold'):
            text += '\\fB' + inline(child) + '\\fR'
        elif child.tag == 'emphasis':
            text += '\\fI' + inline(child) + '\\fR'
        elif child.tag in ('ndash', 'mdash'):
            text += '\\-'
        else:
            text += inline(child)
        text += escaped(re.sub(r'\s+', ' ', child.tail or ''))
    return text


def blocks(element, out, first='.PP'):
    """Writes the paragraphs of a description."""
    for para in element.findall('para'):
        text = inline(para).strip()
        if text:
            out += [first, text]
        for child in para:
            if child.tag in ('itemizedlist', 'orderedlist'):
                for item in child.findall('listitem'):
                    out += ['.IP \\(bu 2', ' '.join(inline(p).strip() for p in item.iter('para'))]
            elif child.tag == 'verbatim':
                out += ['.PP', '.nf', escaped((child.text or '').strip('\n')), '.fi']
            elif child.tag == 'simplesect' and child.get('kind') != 'return':
                out += ['.PP', ' '.join(inline(p).strip() for p in child.iter('para'))]
    for section in element.findall('sect1'):
        out += ['.SS ' + escaped(section.findtext('title') or '')]
        blocks(section, out)


def prototype(member):
    """Returns the declaration of a function: its lines."""
    kind = re.sub(r'\b(GANTRY|HWQ|SOFTHCA)_\w+\s*', '', ''.join(member.find('type').itertext())).strip()
    kind = re.sub(r'^(static|inline)\s+', '', kind)
    kind += '' if kind.endswith('*') else ' '
    params = []
    for param in member.findall('param'):
        word = ''.join(param.find('type').itertext()).strip()
        name = param.findtext('declname') or ''
        if '(*)' in word or '(*' in word:
            params.append(word.replace('(*', '(*' + name, 1) + (param.findtext('array') or '') + (param.findtext('argsstring') or ''))
        else:
            params.append(word + ('' if word.endswith('*') or not name else ' ') + name + (param.findtext('array') or ''))
    head = f'{kind}{member.findtext("name")}('
    whole = head + ', '.join(params or ['void']) + ');'
    if len(whole) <= 76:
        return [whole]
    lines, now = [], head
    for i, param in enumerate(params):
        word = param + (', ' if i + 1 < len(params) else ');')
        if len(now) + len(word) > 77 and now.strip():
            lines.append(now.rstrip())
            now = '    '
        now += word
    return lines + [now]


def page(member, version, others):
    name, header = member.findtext('name'), os.path.basename(member.find('location').get('file'))
    include = 'gantry.h' if '/gantry/include/' in '/' + member.find('location').get('file') else header
    brief = tables.text_of(member.find('briefdescription')).rstrip('.')
    out = [f'.TH {name.upper()} 3 {today()} "Gantry {version}" "Gantry: calls"', '.SH NAME',
           f'{escaped(name)} \\- {escaped(brief[:1].lower() + brief[1:])}', '.SH SYNOPSIS', '.nf', f'\\fB#include <{include}>\\fR', '.PP']
    out += ['\\fB' + escaped(line) + '\\fR' for line in prototype(member)] + ['.fi']
    described = []
    detail = member.find('detaileddescription')
    blocks(detail, described)
    out += ['.SH DESCRIPTION', escaped(brief + '.')] + described
    lists = {kind: [(item.find('.//parametername'), item.find('parameterdescription')) for one in detail.iter('parameterlist')
                    if one.get('kind') == kind for item in one.findall('parameteritem')] for kind in ('param', 'retval')}
    if lists['param']:
        out += ['.SH PARAMETERS']
        for key, means in lists['param']:
            out += ['.TP', '.I ' + escaped(tables.text_of(key)), ' '.join(inline(p).strip() for p in means.findall('para')) or '\\&']
    returned = [sect for sect in detail.iter('simplesect') if sect.get('kind') == 'return']
    if returned or lists['retval']:
        out += ['.SH RETURN VALUE']
        for sect in returned:
            blocks(sect, out)
            if out[-2:-1] == ['.PP'] and out[-3] == '.SH RETURN VALUE':
                del out[-2]
        for key, means in lists['retval']:
            out += ['.TP', '.B ' + escaped(tables.text_of(key)), ' '.join(inline(p).strip() for p in means.findall('para')) or '\\&']
    see = [other for other in others if other != name]
    if see:
        out += ['.SH SEE ALSO', ',\n'.join(f'.BR {escaped(other)} (3)' for other in see).replace('(3),', '(3),')]
    text = '\n'.join(out).replace('(3),\n', '(3),\n') + '\n'
    text = re.sub(r'^\.PP\n(?=\.(?:PP|SH|IP|TP|nf))', '', text, flags=re.M)
    text = re.sub(r'^(\.S[HS] .*\n)\.PP\n', r'\1', text, flags=re.M)
    return mend(re.sub(r'[ \t]+$', '', text, flags=re.M))


def calls(xml, version):
    """Returns the pages of section 3: {name: text}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(xml, 'xml', '*_8h.xml'))):
        members = [m for m in ET.parse(path).iter('memberdef') if m.get('kind') == 'function' and
                   m.findtext('name').startswith('gantry_')]
        names = sorted(m.findtext('name') for m in members)
        for member in members:
            found[member.findtext('name')] = page(member, version, names)
    return found
