#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the book and the manual pages, and checks them: no warning; no complaint of man(1) and mandoc(1); a manual page for each
call that libraries export, for each setting a paragraph; a page of the book for each header and each page of doc/; no link inside
the book that leads nowhere.

usage: test_book.py SOURCE BUILD VERSION
"""
import concurrent.futures
import glob
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

SOURCE, BUILD, VERSION = (sys.argv.pop(1) for _ in range(3))
SKIPPED = 77


def said(*argv):
    """Returns what a program prints, on both outputs."""
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, LC_ALL='C.UTF-8', MANWIDTH='100')).stdout


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def complaints(page):
    """Returns what man and mandoc say against a page."""
    text = subprocess.run(['man', '--warnings', '-l', page], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False, env=dict(os.environ, LC_ALL='C.UTF-8')).stderr
    return text + (said('mandoc', '-T', 'lint', page) if shutil.which('mandoc') else '')


class Book(unittest.TestCase):
    out = None

    def test_pages_of_the_tree_are_pages_of_the_book(self):
        for path in glob.glob(os.path.join(SOURCE, 'doc/**/*.md'), recursive=True):
            name = os.path.relpath(path, os.path.join(SOURCE, 'doc'))
            if not name.startswith('man/'):
                self.assertTrue(os.path.exists(os.path.join(self.out, 'html', name[:-3] + '.html')), name)

    def test_headers_are_pages_of_the_reference(self):
        for part, pattern in (('gantry', 'lib/gantry/include/*.h'), ('hwq', 'lib/hwq/*/*.h'), ('softhca', 'drivers/softhca/include/*.h')):
            headers = glob.glob(os.path.join(SOURCE, pattern))
            self.assertGreater(len(headers), 0)
            for header in headers:
                page = os.path.join(self.out, 'html/reference', part, os.path.basename(header)[:-2] + '.html')
                self.assertTrue(os.path.exists(page), page)

    def test_links_inside_the_book_lead_to_a_place(self):
        top, ids, wrong = os.path.join(self.out, 'html'), {}, []
        pages = glob.glob(top + '/**/*.html', recursive=True)
        for page in pages:
            ids[page] = set(re.findall(r'\bid="([^"]*)"', read(page)))
        for page in pages:
            for kind, target in re.findall(r'\b(href|src)="([^"]*)"', read(page)):
                target = html.unescape(target)
                # The index has entries for members of unnamed structs, which have no place of their own.
                if re.match(r'[a-z]+:', target) or '@' in target:
                    continue
                path, _, anchor = target.partition('#')
                full = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(path))) if path else page
                if not os.path.exists(full) or anchor and full in ids and urllib.parse.unquote(anchor) not in ids[full]:
                    wrong.append(f'{os.path.relpath(page, top)}: {kind} {target}')
        self.assertEqual(wrong, [])

    def test_each_call_has_a_manual_page(self):
        n = 0
        for path in glob.glob(os.path.join(SOURCE, 'lib/gantry*/*.map')):
            for name in re.findall(r'^\s*(gantry_\w+);', read(path), re.M):
                self.assertTrue(os.path.exists(os.path.join(self.out, f'man/man3/{name}.3')), f'{path}: {name}')
                n += 1
        self.assertGreater(n, 50)

    def test_manual_pages_have_no_complaint(self):
        pages = sorted(glob.glob(os.path.join(self.out, 'man/*/*')))
        self.assertGreater(len(pages), 60)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.assertEqual('', ''.join(pool.map(complaints, pages)))

    def test_programs_have_manual_pages(self):
        for name in ('man1/testgantry.1', 'man1/gantry-top.1', 'man1/hwq-decode.1', 'man1/softhca.1', 'man5/softhca.conf.5'):
            text = said('man', '-l', os.path.join(self.out, 'man', name))
            for section in ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'SEE ALSO'):
                self.assertRegex(text, '(?m)^%s$' % section, name)

    def test_tags_of_paragraphs_are_whole_lines(self):
        text = said('man', '-l', os.path.join(self.out, 'man/man1/softhca.1'))
        self.assertRegex(text, r'(?m)^ +complete syndrome=1\.\.255 \[vendor=0\.\.255\] \[op=N\] \[times=N\] \[qp=N\] \[device=N\]$')

    def test_settings_are_in_the_manual_page(self):
        code = read(os.path.join(SOURCE, 'drivers/softhca/process/settings.c'))
        names = set(re.findall(r'^\t\{"(\w+)", KIND_', code, re.M))
        self.assertGreater(len(names), 40)
        page = read(os.path.join(self.out, 'man/man5/softhca.conf.5'))
        shown = {name.replace('\\_', '_') for name in re.findall(r'^\.B (\S+)$', page, re.M)}
        self.assertEqual(names - shown, set())


class Launcher(unittest.TestCase):
    program = os.path.join(BUILD, 'drivers/softhca/softhca')

    def test_version(self):
        self.assertEqual(said(self.program, '--version'), f'softhca {VERSION}\n')

    def test_list_of_settings_is_a_file_of_settings(self):
        listed = said(self.program, '--list-settings')
        # Each setting that has a default is set to it; then the adapter must come up.
        given = re.sub(r'^#(\w+ = .*)', r'\1', listed, flags=re.M)
        self.assertGreater(given.count('\nmax_qp = '), 0)
        with tempfile.NamedTemporaryFile('w', suffix='.conf') as file:
            file.write(given)
            file.flush()
            env = {key: value for key, value in os.environ.items() if not key.startswith('SOFTHCA_')}
            done = subprocess.run([self.program, 'sh', '-c', 'ls /sys/class/infiniband'], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False,
                                  env=dict(env, SOFTHCA_CONFIG=file.name, SOFTHCA_FORCE='1'))
        self.assertIn('mlx5_0', done.stdout)

    def test_listed_faults_are_faults(self):
        listed = said(self.program, '--list-faults')
        forms = re.findall(r'^([a-z_]+)(?: .*)?\n    ', listed, re.M)
        self.assertEqual(len(forms), 13)
        names = listed.partition('Names of calls')[2].split('\n')[1:]
        lines = []
        for form in forms:
            values = {'complete': ' syndrome=0x13', 'recv_complete': ' syndrome=0x13', 'late': ' ms=1', 'recv_late': ' ms=1',
                      'refuse': ' call=create_qp errno=12'}
            lines.append(form + values.get(form, ''))
        lines += [f'refuse call={name} errno=12' for name in names if name]
        env = {key: value for key, value in os.environ.items() if not key.startswith('SOFTHCA_')}
        for i in range(0, len(lines), 60):
            with tempfile.NamedTemporaryFile('w') as file:
                # The file is read when the adapter comes up. Faults that act at once wait for an operation.
                file.write('\n'.join(line + (' op=1000' if line in ('port_down', 'device_fatal') else '') for line in lines[i:i + 60]))
                file.write('\n')
                file.flush()
                done = subprocess.run([self.program, 'ls', '/sys/class/infiniband'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, check=False, env=dict(env, SOFTHCA_FAULTS=file.name, SOFTHCA_FORCE='1'))
            self.assertEqual(done.stdout, 'mlx5_0\n')


def main():
    if shutil.which('man') is None:
        print('skipped: manual pages are looked at by man: apt-get install man-db')
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix='gantry-book.') as out:
        done = subprocess.run([sys.executable, os.path.join(SOURCE, 'doc/book/build.py'), SOURCE, BUILD, out], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, end='', flush=True)
        if done.returncode != 0:
            return done.returncode
        Book.out = out
        return 0 if unittest.main(verbosity=2, exit=False).result.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(main())
