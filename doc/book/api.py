# SPDX-License-Identifier: BSD-3-Clause
"""The calls of the libraries: Doxygen's XML of the installed headers, and a page of the book for each header."""
import glob
import os
import re
import subprocess
import sys

# A part of the reference: its folder, its title, its headers.
PARTS = [('gantry', 'lib/gantry', 'lib/gantry*/include/*.h'), ('hwq', 'lib/hwq', 'lib/hwq/*/*.h'),
         ('softhca', 'softhca', 'drivers/softhca/include/*.h')]


def headers(source):
    """Returns the public headers: {path in the tree: part}."""
    found = {}
    for part, _, pattern in PARTS:
        for path in sorted(glob.glob(os.path.join(source, pattern))):
            found[os.path.relpath(path, source)] = part
    return found


def write_xml(source, out):
    """Runs Doxygen on the public headers, and writes out/xml."""
    with open(os.path.join(source, 'doc/Doxyfile'), encoding='utf-8') as file:
        conf = file.read()
    os.makedirs(out, exist_ok=True)
    # check_doxygen.py asks for complete documentation. Doxygen 1.9.4, when it writes XML, warns of parameters that are
    # documented.
    conf += '\n'.join(['', f'OUTPUT_DIRECTORY = {out}', 'GENERATE_HTML = NO', 'GENERATE_XML = YES', 'XML_PROGRAMLISTING = NO',
                       'INPUT = ' + ' '.join(headers(source)), 'WARN_IF_UNDOCUMENTED = NO', 'WARN_IF_DOC_ERROR = NO',
                       'PREDEFINED += SOFTHCA_API= HWQ_INLINE=inline HWQ_ON_LINE= __extension__=', ''])
    done = subprocess.run(['doxygen', '-'], cwd=source, input=conf, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0 or done.stdout:
        sys.exit(f'doxygen: exit code {done.returncode}\n{done.stdout}')
    # The headers' comments have sections of the second level ("## ..."), and none of the first. Breathe leaves such sections out.
    for path in glob.glob(os.path.join(out, 'xml', '*.xml')):
        with open(path, encoding='utf-8') as file:
            text = file.read()
        if '<sect2' in text:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(re.sub(r'(</?)sect2\b', r'\1sect1', text))


def brief(text):
    """Returns the first sentence of a header."""
    found = re.search(r'@file\s*\*?\s*(.*?[.:])(?=\s)', re.sub(r'\n \*( |$)', ' ', text), re.S)
    return re.sub(r'\s+', ' ', found[1]).rstrip(':') + '.' * found[1].endswith(':') if found else ''


def pages(source, files):
    """Returns the pages of the reference: {page: text}."""
    out = {}
    for part, title, _ in PARTS:
        names = []
        rows = []
        for path, its in files.items():
            if its != part:
                continue
            name = os.path.basename(path)
            with open(os.path.join(source, path), encoding='utf-8') as file:
                text = file.read()
            out[f'reference/{part}/{name[:-2]}.md'] = (
                f'# {name}\n\n```{{eval-rst}}\n.. doxygenfile:: {name}\n   :sections: briefdescription detaileddescription innerclass '
                'public-attrib enum func define typedef var user-defined\n```\n')
            names.append(name[:-2])
            rows.append(f'| [{name}]({name[:-2]}.md) | {brief(text)} |')
        out[f'reference/{part}/index.md'] = (
            f'# Calls of {title}\n\nThis part is made from the headers. The search field finds a call by its name.\n\n'
            '| header | purpose |\n|---|---|\n' + '\n'.join(rows) + '\n\n```{toctree}\n:hidden:\n' + '\n'.join(names) + '\n```\n')
    return out
