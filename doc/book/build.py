#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the book and the manual pages: from the pages in doc/, from the tables and headers of the code, and from what the
programs say of themselves.

usage: build.py SOURCE BUILD OUT [html] [man]      default: both

Writes OUT/html and OUT/man. BUILD is a build directory with the programs. A warning of Sphinx, Doxygen or a generator is an
error. Exits with 77 if a package is missing, and names the package.
"""
import glob
import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import api
import manual
import tables

SKIPPED = 77
NEEDS = [('sphinx', 'python3-sphinx'), ('breathe', 'python3-breathe'), ('myst_parser', 'python3-myst-parser'),
         ('doxygen', 'doxygen'), ('dot', 'graphviz')]


def missing():
    """Returns the names of the packages that are not installed."""
    return [package for name, package in NEEDS if importlib.util.find_spec(name) is None and shutil.which(name) is None]


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def run(*argv, **more):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', check=False, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(argv)}: exit code {done.returncode}\n{done.stdout[-8000:]}')
    return done.stdout


class Book:
    """A copy of the pages, in which links lead to pages of the book."""

    def __init__(self, source, build, out):
        self.source, self.build, self.out = source, build, out
        self.stage, self.xml = os.path.join(out, 'stage'), os.path.join(out, 'doxygen')
        self.version = re.search(r"version: '([\d.]+)'", read(os.path.join(source, 'meson.build')))[1]
        self.headers = api.headers(source)

    def page_of(self, path):
        """Returns the page of the book that shows a file of the source tree, or None."""
        name = os.path.basename(path)
        if path.startswith('doc/'):
            return path[len('doc/'):]
        if path in ('README.md', 'CHANGELOG.md'):
            return 'readme.md' if path == 'README.md' else 'changelog.md'
        if path == 'examples/README.md':
            return 'examples/index.md'
        if path.startswith('examples/') and name.endswith('.c'):
            return f'examples/{name[:-2]}.md'
        if path in self.headers:
            return f'reference/{self.headers[path]}/{name[:-2]}.md'
        return None

    def mend_links(self, text, origin):
        """Rewrites the links of a page, which lead to files of the source tree. origin: the path of the page in the tree. A
        link to a file that the book does not show becomes the name of the file."""
        here = os.path.dirname(self.page_of(origin))

        def mend(match):
            label, target = match[1], match[2]
            path, _, anchor = target.partition('#')
            if re.match(r'https?:', target) or path == '':
                return match[0]
            full = os.path.normpath(os.path.join(os.path.dirname(origin), path))
            page = self.page_of(full)
            if page is None:
                return label if label.startswith('`') else f'{label} (`{full}`)' if label != full else f'`{full}`'
            return f'[{label}]({os.path.relpath(page, here or ".")}{"#" + anchor if anchor else ""})'

        text = re.sub(r'^\[([^\]]+)\]: (?!https?:)(\S+)$', lambda m: f'[{m[1]}]: {os.path.relpath(self.page_of(m[2]), here or ".")}', text,
                      flags=re.M)
        # Code keeps its text: in fences, and in lines that are indented.
        parts = re.split(r'(^```.*?^```$)', text, flags=re.M | re.S)
        for i in range(0, len(parts), 2):
            parts[i] = re.sub(r'^(?! {4}).*(?:\n(?! {4}|\n).*)*', lambda m: re.sub(r'(?<!!)\[([^\]]*)\]\(([^)\s]+)\)', mend, m[0]),
                              parts[i], flags=re.M)
        return ''.join(parts)

    def copy_page(self, path):
        text = self.mend_links(read(os.path.join(self.source, path)), path)
        # The lexer for consoles does not know lines that continue a command, and the lexer of C does not know names of files.
        text = re.sub(r'^```console$', '```text', re.sub(r'^```(c|sh) \S+$', r'```\1', text, flags=re.M), flags=re.M)
        write(os.path.join(self.stage, self.page_of(path)), text)

    def copy(self):
        for path in sorted(glob.glob(os.path.join(self.source, 'doc/**/*'), recursive=True)):
            name = os.path.relpath(path, self.source)
            if os.path.isdir(path) or name.startswith(('doc/book/', 'doc/man/')):
                continue
            if name.endswith('.md'):
                self.copy_page(name)
            elif name.endswith(('.svg', '.csv', '.dot')):
                target = os.path.join(self.stage, name[len('doc/'):])
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if name.endswith('.dot'):
                    run('dot', '-Tsvg', '-o', target[:-4] + '.svg', path)
                else:
                    shutil.copy(path, target)
        for path in ('README.md', 'CHANGELOG.md', 'examples/README.md'):
            self.copy_page(path)
        for path in sorted(glob.glob(os.path.join(self.source, 'examples/*.c')) + glob.glob(os.path.join(self.source, 'examples/*/*.c'))):
            name = os.path.basename(path)
            write(os.path.join(self.stage, f'examples/{name[:-2]}.md'), f'# {name}\n\n```c\n{read(path)}```\n')
        names = sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(self.stage, 'examples/*.md')))
        index = os.path.join(self.stage, 'examples/index.md')
        write(index, read(index) + '\n```{toctree}\n:hidden:\n' + '\n'.join(n for n in names if n != 'index') + '\n```\n')
        shutil.copytree(os.path.join(self.source, 'doc/book'), os.path.join(self.stage, '_static'),
                        ignore=lambda folder, all: [n for n in all if not n.endswith('.css')])

    def complete_index(self):
        """Adds pages that no list of contents has to a list of their own. Sphinx warns of such a page."""
        listed = set()
        pages = {os.path.relpath(path, self.stage)[:-3] for path in glob.glob(os.path.join(self.stage, '**/*.md'), recursive=True)}
        for page in pages:
            for block in re.findall(r'^```\{toctree\}\n(.*?)^```', read(os.path.join(self.stage, page + '.md')), re.M | re.S):
                listed |= {os.path.normpath(os.path.join(os.path.dirname(page), line)) for line in block.split('\n')
                           if line and line[0] != ':'}
        more = sorted(pages - listed - {'index'})
        if more:
            index = os.path.join(self.stage, 'index.md')
            write(index, read(index) + '\n```{toctree}\n:caption: More pages\n:hidden:\n\n' + '\n'.join(more) + '\n```\n')

    def check_sections(self):
        """Ends the program if a section of a header's comment is not in the book."""
        pages = ''.join(read(path) for path in glob.glob(os.path.join(self.out, 'html/reference/**/*.html'), recursive=True))
        shown = html.unescape(re.sub(r'<[^>]*>', '', pages))
        for path in sorted(glob.glob(os.path.join(self.xml, 'xml', '*.xml'))):
            for title in re.findall(r'<sect\d [^>]*>\s*<title>(.*?)</title>', read(path), re.S):
                if html.unescape(re.sub(r'<[^>]*>', '', title)) not in shown:
                    sys.exit(f'{os.path.basename(path)}: the section "{title}" is not in the book')

    def check_tables(self):
        """Ends the program if a line of a table or picture in a header's comment is prose in the book. Such a line has words that
        are two or more spaces apart. Doxygen keeps it if it is indented by 4 columns more than the text, below an empty line."""
        for path, part in self.headers.items():
            text = read(os.path.join(self.source, path))
            page = read(os.path.join(self.out, 'html/reference', part, os.path.basename(path)[:-2] + '.html'))
            kept = '\n'.join(re.findall(r'<pre>(.*?)</pre>', page, re.S))
            kept = {line.strip() for line in html.unescape(re.sub(r'<[^>]*>', '', kept)).split('\n')}
            for comment in re.finditer(r'/\*\*(.*?)\*/', text, re.S):
                first = text.count('\n', 0, comment.start()) + 1
                for i, line in enumerate(comment[1].split('\n')):
                    line = re.sub(r'^\s*[*<]', '', line).strip()
                    if re.search(r'\S {2,}\S', line) and line not in kept:
                        sys.exit(f'{path}:{first + i}: the line "{line}" of a table is prose in the book: indent the table by 4 '
                                 'columns more than the text, and let an empty line be before it')

    def generate(self):
        api.write_xml(self.source, self.xml)
        for page, text in {**api.pages(self.source, self.headers), **tables.pages(self.source, self.build, self.xml)}.items():
            write(os.path.join(self.stage, page), text)

    def sphinx(self, builder, folder, stage, **settings):
        env = dict(os.environ, GANTRY_VERSION=self.version, GANTRY_XML=os.path.join(self.xml, 'xml'), PYTHONDONTWRITEBYTECODE='1',
                   **settings)
        # Sphinx and Breathe keep many objects, which the collector would visit again and again: that took half of the time.
        run('/usr/bin/python3', '-c', 'import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))', '-q', '-W', '--keep-going', '-b', builder,
            '-c', os.path.join(self.source, 'doc/book'), '-d', os.path.join(self.out, 'doctrees-' + builder), stage, folder, env=env)

    def html(self):
        self.copy()
        self.generate()
        self.complete_index()
        self.sphinx('html', os.path.join(self.out, 'html'), self.stage, GANTRY_STATIC=os.path.join(self.stage, '_static'))
        self.check_sections()
        self.check_tables()

    def man(self):
        if not os.path.isdir(os.path.join(self.xml, 'xml')):
            api.write_xml(self.source, self.xml)
        stage, out = os.path.join(self.out, 'man-stage'), os.path.join(self.out, 'man')
        rows = manual.stage_pages(self.source, self.build, stage)
        self.sphinx('man', os.path.join(out, 'tmp'), stage, GANTRY_MAN='\n'.join(rows))
        for path in glob.glob(os.path.join(out, 'tmp', '*.[0-9]')):
            target = os.path.join(out, 'man' + path[-1], os.path.basename(path))
            write(target, manual.mend(read(path)))
        shutil.rmtree(os.path.join(out, 'tmp'))
        for name, text in manual.calls(self.xml, self.version).items():
            write(os.path.join(out, 'man3', name + '.3'), text)


def main(source, build, out, *what):
    gone = missing()
    if gone:
        print(f'skipped: the book needs packages: apt-get install {" ".join(gone)}')
        return SKIPPED
    # OUT may be a folder of a build directory, with files of others.
    for name in ('html', 'man', 'man-stage', 'stage', 'doxygen', 'doctrees-html', 'doctrees-man'):
        shutil.rmtree(os.path.join(out, name), ignore_errors=True)
    book = Book(os.path.abspath(source), os.path.abspath(build), os.path.abspath(out))
    if not what or 'html' in what:
        book.html()
    if not what or 'man' in what:
        book.man()
    n = len(glob.glob(os.path.join(out, 'html/**/*.html'), recursive=True))
    print(f'{n} pages in {out}/html, {len(glob.glob(os.path.join(out, "man/*/*")))} manual pages in {out}/man')
    return 0


if __name__ == '__main__':
    if len(sys.argv) < 4 or not set(sys.argv[4:]) <= {'html', 'man'}:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
