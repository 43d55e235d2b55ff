#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that no test takes random numbers or a seed from the clock or from the system, so that each run of the suite
draws the same numbers.

Only the scripts in COMMANDS, which the suite does not run, draw fresh seeds. A seed that failed becomes a test
("failed_with" in test/meson.build).

usage: check_seeds.py SOURCE_DIR
"""
import os
import re
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the source tree
from project_files import c_files

COMMANDS = ("bench.sh", "fuzz.sh", "random.sh", "soak.sh", "stop-at-random.py", "stress.sh", "twin.sh")
# Fuzzers define getrandom(2), which does not count as a use.
SYSTEM = re.compile(r"\b((getrandom|getentropy|arc4random|rte_rand(_max)?|RAND_bytes)\((?!void)|AT_RANDOM\b)|/dev/u?random")
# A C statement with a seed, or a number from the command line, and a clock or a process ID.
SEED = re.compile(r"seed|\brnd\b|\brng\b|random|strtou?ll?\(argv")
CLOCK = re.compile(r"now(_ns)?\(|\btime\(|\bclock\w*\(|rdtsc|timer_cycles\(|get[pt]id\(")
# Random numbers of Python without a seed, and those of the shell.
SCRIPT = re.compile(r"(?<!self\.)random\.(?!Random\(\w|seed\(\w)\w+\(|urandom|\bsecrets\.|uuid[14]\(|\$\{?RANDOM|\bshuf\b|seed=.*\bdate\b")


def places(path, text):
    """Returns the places at which the file draws from the clock or the system: pairs of a line number and the text of
    the line."""
    if not path.endswith((".c", ".h")):
        return [(text.count("\n", 0, found.start()) + 1, found.group()) for found in SCRIPT.finditer(text)]
    # Comments become spaces, and lines keep their numbers.
    text = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment.group()), text, flags=re.S)
    bad = [(text.count("\n", 0, found.start()) + 1, found.group()) for found in SYSTEM.finditer(text)]
    for found in re.finditer(r"[^;{}]+", text):
        clock = CLOCK.search(found.group())
        if clock and SEED.search(found.group()):
            bad.append((text.count("\n", 0, found.start() + clock.start()) + 1, " ".join(found.group().split())))
    return bad


def files(source):
    yield from (path for path in c_files(source) if path.startswith("test/"))
    for top in ("test", "usertools"):
        for folder, _, names in os.walk(os.path.join(source, top)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), source)
                if name not in COMMANDS and (name.endswith((".py", ".sh")) or top == "usertools") and name != os.path.basename(__file__):
                    yield path


def main(source):
    failed = False
    for path in sorted(files(source)):
        with open(os.path.join(source, path), encoding="utf-8") as file:
            for line, text in places(path, file.read()):
                print(f"{path}:{line}: a test draws other numbers in each run: {text}")
                failed = True
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
