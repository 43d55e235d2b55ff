#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs Gantry into a temporary folder, and builds and runs examples/embed against it.

usage: test_embed.py MESON BUILD_DIR EXAMPLE_DIR PREFIX LIBDIR
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(argv, **kwargs):
    """Runs a program, and ends the test with its output if it fails."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def install(meson, build, folder, prefix):
    """Installs below `folder`, and lets the .pc files name the place where the files are now.
    @return the prefix there."""
    run(meson + ["install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder])
    moved = os.path.join(folder, prefix.lstrip("/"))
    for where, _, names in os.walk(moved):
        for name in names:
            if name.endswith(".pc"):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(re.sub(r"(?m)^prefix=.*$", lambda _: "prefix=" + moved, text))
    return moved


def before(variable, folder):
    """The folders of a variable, and this one before them."""
    return ":".join(filter(None, [folder, os.environ.get(variable)]))


def main():
    meson, build, example, prefix, libdir = sys.argv[1:]
    for tool in ("make", "pkg-config"):
        if shutil.which(tool) is None:
            print(f"{tool} is not installed")
            sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        libraries = os.path.join(install([meson], build, folder, prefix), libdir)
        program = os.path.join(folder, "embed")
        shutil.copytree(example, program)
        env = dict(os.environ, LD_LIBRARY_PATH=before("LD_LIBRARY_PATH", libraries),
            PKG_CONFIG_PATH=before("PKG_CONFIG_PATH", os.path.join(libraries, "pkgconfig")))
        run(["make", "-C", program, "CFLAGS=-O2 -Wall -Wextra -Werror"], env=env)
        linked = run(["ldd", os.path.join(program, "embed")], env=env)
        for library in ("libgantry", "libhwq", "libsofthca"):
            if not re.search(rf"{library}\.so\S* => {re.escape(libraries)}/", linked):
                sys.exit(f"{library} is not the installed one:\n{linked}")
        output = run([os.path.join(program, "embed"), "--no-huge", "-m", "64", "--no-pci"], env=env)
        print(output)
        if "1000 packets logged" not in output:
            sys.exit("embed did not say that it logged 1000 packets")


main()
