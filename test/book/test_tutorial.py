#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does a tutorial of the book as a reader does: writes the files that the page shows, runs its commands, and compares the output
with the page. Everything is taken from the page, so page and test cannot differ.

- A block that begins with ```LANGUAGE FILE is the file FILE. The text before the block must name the file.
- In a block that begins with ```console, a line "$ COMMAND" is a command, "> ..." continues it, and other lines are its output.
  In the output, "…" stands for any text; a line "…" stands for any lines.

The commands run in one shell, in an empty folder, with a terminal as output. $HOME/gantry is the installed tree, as the page
install.md makes it.

A page of doc/howto has no setting up, so the commands of install.md are run first. Several pages are done one after the other.

usage: test_tutorial.py MESON BUILD PREFIX PAGE...
"""
import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
NEEDS = {'cc': 'gcc', 'pkg-config': 'pkg-config', 'ibv_devinfo': 'ibverbs-utils'}
PATIENCE = 300  # seconds that one command may take
FENCE = re.compile(r'^```(\w+)(?: (\S+))?\n(.*?)^```$', re.M | re.S)


def blocks(text):
    """Yields the blocks of a page: (line number, language, file name or None, text)."""
    for found in FENCE.finditer(text):
        yield text.count('\n', 0, found.start()) + 1, found[1], found[2], found[3]


def commands(block):
    """Returns the commands of a console block: [(command, expected lines)]."""
    out = []
    for line in block.splitlines():
        if line.startswith('$ '):
            out.append([line[2:], []])
        elif line.startswith('> ') and out and not out[-1][1]:
            out[-1][0] += '\n' + line[2:]
        elif out:
            out[-1][1].append(line.rstrip())
        else:
            sys.exit(f'a console block begins with "{line}": it must begin with "$ COMMAND"')
    return out


def fits(expected, got):
    """True if the lines of output are those of the page."""
    if not expected:
        return not got
    if expected[0] == '…':
        return any(fits(expected[1:], got[i:]) for i in range(len(got) + 1))
    pattern = '.*'.join(re.escape(part) for part in expected[0].split('…'))
    return bool(got) and re.fullmatch(pattern, got[0]) is not None and fits(expected[1:], got[1:])


class Shell:
    """A shell with a terminal, of which the commands of a page are run."""

    def __init__(self, folder, env):
        self.terminal, inner = pty.openpty()
        self.shell = subprocess.Popen(['/bin/bash', '--norc', '--noprofile'], stdin=subprocess.PIPE, stdout=inner, stderr=inner,
                                      cwd=folder, env=env, text=True, start_new_session=True)
        os.close(inner)
        self.n = 0

    def run(self, command):
        """Returns the lines that a command has printed."""
        self.n += 1
        mark = f'@@@{self.n}@@@'
        self.shell.stdin.write(f"{command}\nprintf '%s\\n' '@@@'{self.n}'@@@'\n")
        self.shell.stdin.flush()
        said, end = '', time.monotonic() + PATIENCE
        while mark not in said:
            ready, _, _ = select.select([self.terminal], [], [], 1)
            if ready:
                try:
                    said += os.read(self.terminal, 65536).decode(errors='replace')
                except OSError:
                    break
            elif time.monotonic() > end or self.shell.poll() is not None:
                break
        lines = said.partition(mark)[0].replace('\r\n', '\n').split('\n')
        return [line.rstrip() for line in lines if line.rstrip() != ''], mark in said

    def end(self):
        self.shell.stdin.close()
        try:
            os.killpg(self.shell.pid, 15)
        except ProcessLookupError:
            pass
        self.shell.wait()
        os.close(self.terminal)


def install(meson, build, prefix, home):
    """Makes home/gantry, as the page install.md does."""
    stage = os.path.join(home, 'stage')
    subprocess.run([meson, 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', stage], check=True,
                   stdout=subprocess.DEVNULL)
    tree = os.path.join(home, 'gantry')
    os.rename(stage + prefix, tree)
    shutil.rmtree(stage)
    for where, _, names in os.walk(tree):
        for name in names:
            if name.endswith('.pc'):
                path = os.path.join(where, name)
                with open(path, encoding='utf-8') as file:
                    text = file.read()
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(re.sub(r'(?m)^prefix=.*$', lambda _: 'prefix=' + tree, text))


def do(page, shell, folder):
    """Does what a page says. Returns the number of faults."""
    with open(page, encoding='utf-8') as file:
        text = file.read()
    faults = n = 0
    for line, language, name, block in blocks(text):
        if name is not None:
            if f'`{name}`' not in text[:text.index('```' + language + ' ' + name)]:
                print(f'{page}:{line}: the text before the file does not name `{name}`')
                faults += 1
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(block)
        elif language == 'console':
            for command, expected in commands(block):
                got, ended = shell.run(command)
                n += 1
                expected = [line for line in expected if line != '']
                if not ended:
                    print(f'{page}:{line}: the command does not end: {command}\n' + '\n'.join(got))
                    return faults + 1
                if not fits(expected, got):
                    print(f'{page}:{line}: $ {command}\n-- the page says\n' + '\n'.join(expected) + '\n-- the command prints\n'
                          + '\n'.join(got))
                    return faults + 1
    print(f'{page}: {n} commands, {faults} faults')
    return faults


def main(meson, build, prefix, *pages):
    gone = sorted(package for program, package in NEEDS.items() if shutil.which(program) is None)
    if gone:
        print(f'skipped: the tutorial needs packages: apt-get install {" ".join(gone)}')
        return SKIPPED
    if os.path.isdir('/sys/class/infiniband_verbs') and os.listdir('/sys/class/infiniband_verbs'):
        print('skipped: this machine has an RDMA device, and the pages show the emulated adapter')
        return SKIPPED
    for page in pages:
        with open(page, encoding='utf-8') as file:
            if 'CAP_NET_RAW' in file.read() and os.geteuid() != 0:
                print(f'skipped: {page} has a step for root')
                return SKIPPED
    # EAL allows only one primary process with the default prefix of its files, which the pages use.
    lock = open(os.path.join(tempfile.gettempdir(), 'gantry-tutorial.lock'), 'a', encoding='ascii')
    with lock, tempfile.TemporaryDirectory(prefix='gantry-tutorial.') as home:
        install(meson, build, prefix, home)
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = os.path.join(home, 'work')
        os.mkdir(folder)
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(('SOFTHCA_', 'PKG_CONFIG', 'LD_')) and key not in ('MAKEFLAGS', 'CC', 'CFLAGS')}
        shell = Shell(folder, dict(env, HOME=home, LC_ALL='C.UTF-8', TERM='dumb', XDG_RUNTIME_DIR=home))
        try:
            if '/howto/' in pages[0]:
                pages = (os.path.join(os.path.dirname(pages[0]), '../tutorials/install.md'), *pages)
            return 1 if sum(do(page, shell, folder) for page in pages) else 0
        finally:
            shell.end()


if __name__ == '__main__':
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
