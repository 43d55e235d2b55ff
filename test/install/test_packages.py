#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests Debian packages of the files that this build installs, by the lists of packaging/debian. Together the packages
must contain all files. The name of a library's package must be that of the library. Programs must run from a folder
into which dpkg-deb unpacks the packages.

usertools/package.sh makes the packages from a separate build; usertools/package-try.sh uses those in a bare system.

usage: test_packages.py MESON BUILD PREFIX LISTS
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MESON, BUILD, PREFIX, LISTS = (sys.argv.pop(1) for _ in range(4))
SKIPPED = 77
EAL = ['--lcores=0@0,1@0', '--no-huge', '-m', '64', '--no-shconf', '--no-pci', '--no-telemetry']

# What debhelper(7) and the whole control file add: documents, dependencies, triggers, stripping, compression.
DEBHELPER = ['extended-description-is-empty', 'lacks-ldconfig-trigger', 'no-changelog', 'no-copyright-file', 'no-manual-page',
             'no-shlibs', 'python3-script-but-no-python3-dep', 'recommended-field', 'shared-library-is-executable',
             'undeclared-elf-prerequisites', 'unstripped-binary-or-object', 'uses-no-compression-for-control-tarball',
             'uses-no-compression-for-data-tarball']


def run(*argv, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith('SOFTHCA_') and k != 'LD_PRELOAD'}
    done = subprocess.run(argv, env=dict(env, **settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace', timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f'{" ".join(argv)}: exit code {done.returncode}\n{done.stdout[-6000:]}')
    return done.stdout


def files_below(folder):
    return {os.path.relpath(os.path.join(where, name), folder) for where, folders, names in os.walk(folder) for name in
            names + [f for f in folders if os.path.islink(os.path.join(where, f))]}


def needed_name(soname):
    """Debian Policy, 8.1: the name of a library's package. For example, libx.so.1 is in libx1, and liby2.so.3 in
    liby2-3."""
    name, version = re.fullmatch(r'(.+)\.so\.(.+)', soname).groups()
    name = name.replace('_', '-').lower()
    return name + ('-' if name[-1].isdigit() else '') + version


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.mkdtemp(prefix='gantry-packages.')
        cls.addClassCleanup(shutil.rmtree, cls.tmp)
        run(MESON, 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', os.path.join(cls.tmp, 'stage'))
        cls.stage = os.path.join(cls.tmp, 'all')
        # Moves the files to the packages' prefix, /usr: installed programs find their files with any prefix.
        os.makedirs(cls.stage)
        os.rename(os.path.join(cls.tmp, 'stage') + PREFIX, os.path.join(cls.stage, 'usr'))
        with open(os.path.join(LISTS, 'control'), encoding='utf-8') as f:
            stanzas = [dict(re.findall(r'^([\w-]+): *(.*)$', stanza, re.M)) for stanza in f.read().split('\n\n')]
        cls.maintainer = stanzas[0]['Maintainer']
        cls.stanzas = {stanza['Package']: stanza for stanza in stanzas[1:]}
        with open(os.path.join(LISTS, 'changelog'), encoding='utf-8') as f:
            cls.version = re.match(r'gantry \((.*?)\)', f.read())[1]
        cls.holds, cls.unmatched = {}, []
        for package in cls.stanzas:
            cls.fill(package)
        cls.root = os.path.join(cls.tmp, 'root')
        for package in cls.stanzas:
            deb = os.path.join(cls.tmp, package + '.deb')
            run('dpkg-deb', '--build', '-Znone', '--root-owner-group', os.path.join(cls.tmp, package), deb)
            run('dpkg-deb', '-x', deb, cls.root)

    @classmethod
    def fill(cls, package):
        """Copies the files that the package's list names, as dh_install(1) does."""
        folder = os.path.join(cls.tmp, package)
        os.makedirs(os.path.join(folder, 'DEBIAN'))
        with open(os.path.join(folder, 'DEBIAN/control'), 'w', encoding='utf-8') as f:
            f.write(f'Package: {package}\nVersion: {cls.version}\n'
                    f'Architecture: {cls.stanzas[package]["Architecture"]}\nMaintainer: {cls.maintainer}\n'
                    f'Description: {cls.stanzas[package]["Description"]}\n')
        with open(os.path.join(LISTS, package + '.install'), encoding='utf-8') as f:
            patterns = f.read().split()
        for pattern in patterns:
            paths = glob.glob(os.path.join(cls.stage, pattern))
            # Without -Dbook=enabled there are no manual pages and no book.
            if not paths and not re.match('usr/share/(man/|doc/gantry/html)', pattern):
                cls.unmatched.append(f'{package}: {pattern}')
            for path in paths:
                target = os.path.join(folder, os.path.relpath(path, cls.stage))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if os.path.isdir(path):
                    shutil.copytree(path, target, symlinks=True)
                else:
                    shutil.copy2(path, target, follow_symlinks=False)
        cls.holds[package] = {name for name in files_below(folder) if not name.startswith('DEBIAN/')}

    def test_each_file_is_in_one_package(self):
        self.assertEqual(self.unmatched, [])
        held = [name for names in self.holds.values() for name in names]
        self.assertEqual(sorted(held), sorted(files_below(self.stage)))

    def test_libraries_lie_in_packages_of_their_names(self):
        sonames = {}
        for package, names in self.holds.items():
            for name in names:
                path = os.path.join(self.stage, name)
                if re.search(r'\.so\.\d', name) and not os.path.islink(path):
                    sonames[re.search(r'SONAME.*\[(.*)\]', run('readelf', '-d', path))[1]] = package
        self.assertEqual({needed_name(soname): package for soname, package in sonames.items()},
                         {package: package for package in sonames.values()})
        self.assertEqual(len(sonames), 5)
        # What a program needs when it is linked and when it is loaded: the link is in the -dev package, the SONAME in
        # the library's package.
        for soname, package in sonames.items():
            self.assertTrue(any(os.path.basename(name) == soname for name in self.holds[package]), soname)

    def test_packages_depend_on_packages_that_are_made(self):
        for package, stanza in self.stanzas.items():
            own = set(re.findall(r'(\S+) \(= \$\{binary:Version\}\)', stanza.get('Depends', '')))
            self.assertLessEqual(own, set(self.stanzas), package)
            if package.endswith('-dev'):
                self.assertGreater(len(own), 0, package)

    def test_lintian_finds_nothing(self):
        """The packages here have files and names only; the tags of DEBHELPER are about what package.sh adds."""
        if shutil.which('lintian') is None:
            self.skipTest('lintian is not installed')
        run('lintian', '--allow-root', '--fail-on', 'error,warning', '--suppress-tags', ','.join(DEBHELPER),
            *glob.glob(os.path.join(self.tmp, '*.deb')))

    def test_unpacked_programs_run(self):
        bin = os.path.join(self.root, 'usr/bin')
        out = os.path.join(self.tmp, 'out')
        run(os.path.join(bin, 'testgantry'), *EAL, '--', '--mode', 'copy', '--out', out, __file__)
        with open(__file__, 'rb') as one, open(os.path.join(out, os.path.basename(__file__)), 'rb') as other:
            self.assertEqual(one.read(), other.read())
        # A card's part id is its PCI device id.
        said = run(os.path.join(bin, 'softhca'), '--like', 'connectx-7', sys.executable, '-c', 'open("/dev/infiniband/uverbs0")',
                   SOFTHCA_FORCE='1')
        self.assertIn(f'part {0x1021},', said)


if __name__ == '__main__':
    if shutil.which('dpkg-deb') is None:
        print('skipped: dpkg-deb is not installed')
        sys.exit(SKIPPED)
    if glob.glob('/sys/class/infiniband/mlx5_*'):
        print('skipped: this machine has an mlx5 device')
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
