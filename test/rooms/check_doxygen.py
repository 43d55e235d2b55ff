#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that everything in the installed headers is documented: doxygen has no warning about them. Each
parameter, return value, member, enum value and macro counts.

usage: check_doxygen.py SOURCE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
FOLDERS = ['lib/gantry/include', 'lib/gantry_cm/include', 'lib/hwq']


def warnings(source, folders):
    """The warnings of doxygen about the headers of these folders."""
    with open(os.path.join(source, 'doc/Doxyfile'), encoding='utf-8') as f:
        text = f.read()
    with tempfile.TemporaryDirectory(prefix='check-doxygen.') as folder:
        # doxygen must write man pages. If doxygen 1.9.4 writes XML, or writes nothing, it also warns about parameters
        # that are documented.
        text += '\n'.join(['', 'INPUT = ' + ' '.join(folders), 'OUTPUT_DIRECTORY = ' + folder, 'GENERATE_HTML = NO',
                           'GENERATE_MAN = YES', ''])
        run = subprocess.run(['doxygen', '-'], cwd=source, input=text, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        pages = os.listdir(os.path.join(folder, 'man/man3')) if os.path.isdir(os.path.join(folder, 'man/man3')) else []
    return run.stdout, len(pages)


def main():
    source = sys.argv[1]
    if shutil.which('doxygen') is None:
        print('skipped: doxygen is not installed')
        return SKIPPED
    said, pages = warnings(source, FOLDERS)
    print(said, end='')
    found = len(re.findall('warning:|error:', said))
    print(f'{pages} pages, {found} warnings')
    return 1 if said or pages < 10 else 0


if __name__ == '__main__':
    sys.exit(main())
