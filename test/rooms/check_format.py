#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every C file is formatted as clang-format 14 does it, by .clang-format.

Other versions format some lines differently. Without version 14, which Debian 12 has, the test is skipped.

usage: check_format.py SOURCE_DIR
"""
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from project_files import c_files

VERSION = "14"


def find():
    """clang-format of that version, or None."""
    for name in ("clang-format-" + VERSION, "clang-format"):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
            if f"version {VERSION}." in said:
                return name
    return None


def main(source):
    formatter = find()
    if formatter is None:
        print(f"skipped: clang-format {VERSION} is not here")
        return 77
    files = list(c_files(source))
    run = subprocess.run([formatter, "--dry-run", "-Werror", *files], cwd=source, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    bad = sorted({line.split(":")[0] for line in run.stdout.splitlines() if ": error: " in line})
    for path in bad:
        print(f"{path} differs from what clang-format writes; mend it with: {formatter} -i {path}")
    if run.returncode != 0 and not bad:
        print(run.stdout)
    print(f"{len(files)} files, {len(bad)} differ")
    return 1 if run.returncode != 0 else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
