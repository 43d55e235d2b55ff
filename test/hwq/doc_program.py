#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the program that a page of the documentation contains: its first block of C.

usage: doc_program.py PAGE PROGRAM
"""
import re
import sys

with open(sys.argv[1], encoding='utf-8') as page:
    found = re.search(r'^```c\n(.*?)^```$', page.read(), re.M | re.S)
if found is None:
    sys.exit(f'{sys.argv[1]}: no block that begins with ```c: a program stands there')
with open(sys.argv[2], 'w', encoding='utf-8') as program:
    program.write(found[1])
