#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs Gantry, and uses the installed files: its programs, and programs that are built against it.

There are two trees. The first is in its own prefix: .pc files and -rpath name this prefix. The second is for
/usr/local, as DESTDIR leaves it: pkg-config reads this tree as a sysroot, and programs find its libraries by
LD_LIBRARY_PATH. Nothing else leads to files of Gantry. Each program is built by gcc and as C++ by g++, with shared
libraries and with Gantry and DPDK inside.

usage: test_install.py MESON BUILD PREFIX LIBDIR [TEST]...
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MESON, BUILD, PREFIX, LIBDIR = (sys.argv.pop(1) for _ in range(4))
SKIPPED = 77
OURS = re.compile(r'lib(gantry|gantry_cm|hwq|softhca|rte_dma_mlx5)\.')
STRICT = '-O1 -Wall -Wextra -Werror -DALLOW_EXPERIMENTAL_API '
CXX = '-Wno-missing-field-initializers'  # C++ compilers warn of fields that an initializer does not name; C compilers do not
LDFLAGS = '-Wl,--no-as-needed'  # the linker's own default, which some distributions change
EAL = ['--no-huge', '-m', '64', '--no-shconf', '--no-pci', '--no-telemetry']


def clean_env(**more):
    """Returns an environment in which only the variables in `more` lead to a library of Gantry."""
    left_out = ('SOFTHCA_', 'PKG_CONFIG_', 'LD_PRELOAD')
    env = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
    env.update(SOFTHCA_GID_IPV4='198.51.100.11', **more)
    return env


def run(*argv, status=0, **settings):
    """Returns the output of a program: standard output and standard error."""
    done = subprocess.run(argv, env=clean_env(**settings), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace', timeout=600, check=False)
    if done.returncode != status:
        raise AssertionError(f'{" ".join(argv)}: exit code {done.returncode}\n{done.stdout[-6000:]}')
    return done.stdout


def before(variable, folder):
    return ':'.join(filter(None, [folder, os.environ.get(variable)]))


class Tree:
    """An installed tree, and how programs are built against it."""

    def __init__(self, prefix, build, use):
        self.prefix, self.build, self.use = prefix, build, use
        self.libdir = os.path.join(prefix, LIBDIR)

    def bin(self, name):
        return os.path.join(self.prefix, 'bin', name)

    def pkg_config(self, *argv):
        return run('pkg-config', *argv, **self.build).split()


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.mkdtemp(prefix='gantry-install.')
        cls.addClassCleanup(shutil.rmtree, cls.tmp)
        stage = os.path.join(cls.tmp, 'stage')
        run(MESON, 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', stage)
        staged, own = stage + PREFIX, os.path.join(cls.tmp, 'own')
        shutil.copytree(staged, own, symlinks=True)
        for path in glob.glob(os.path.join(own, LIBDIR, 'pkgconfig', '*.pc')):
            with open(path, encoding='utf-8') as f:
                text = f.read()
            with open(path, 'w', encoding='utf-8') as f:
                f.write(re.sub(r'(?m)^prefix=.*$', lambda _: 'prefix=' + own, text))
        # All other files of the system are at their paths in the sysroot.
        for folder in ('include', 'lib'):
            path = os.path.join(stage, 'usr', folder)
            if PREFIX != '/usr':
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink('/usr/' + folder, path)
        dpdk = run('pkg-config', '--variable=prefix', 'libdpdk', PKG_CONFIG_PATH=os.environ.get('PKG_CONFIG_PATH', '')).strip()
        if dpdk != '/usr':
            os.makedirs(os.path.dirname(stage + dpdk), exist_ok=True)
            os.symlink(dpdk, stage + dpdk)
        pc = os.path.join(LIBDIR, 'pkgconfig')
        cls.own = Tree(own, {'PKG_CONFIG_PATH': before('PKG_CONFIG_PATH', os.path.join(own, pc)),
                             'LDFLAGS': f'{LDFLAGS} -Wl,-rpath,{own}/{LIBDIR}'}, {})
        cls.staged = Tree(staged, {'PKG_CONFIG_PATH': before('PKG_CONFIG_PATH', os.path.join(staged, pc)),
                                   'PKG_CONFIG_SYSROOT_DIR': stage, 'LDFLAGS': LDFLAGS},
                          {'LD_LIBRARY_PATH': before('LD_LIBRARY_PATH', os.path.join(staged, LIBDIR))})
        cls.trees = {'own': cls.own, 'staged': cls.staged}

    def libraries(self, path, **settings):
        """Returns the libraries of Gantry and DPDK with which a program or library is loaded: {name: path}."""
        listed = dict(re.findall(r'^\s*(\S+) => (.*?)(?: \(0x\w+\))?$', run('ldd', path, **settings), re.M))
        return {name: os.path.realpath(where) for name, where in listed.items() if OURS.match(name) or name.startswith('librte_')}

    def check_within(self, tree, libraries):
        for name, where in libraries.items():
            if OURS.match(name):
                self.assertTrue(where.startswith(os.path.realpath(tree.prefix) + '/'), f'{name} => {where}')

    # ---- the tree itself

    def test_programs_and_libraries_find_each_other(self):
        for tree in self.trees.values():
            found = set()
            for path in [tree.bin('testgantry'), tree.bin('hwq-decode'), *glob.glob(tree.libdir + '/*.so'),
                         *glob.glob(tree.libdir + '/dpdk/*/*.so')]:
                libraries = self.libraries(path)
                self.check_within(tree, libraries)
                found |= {name for name in libraries if OURS.match(name)}
            self.assertEqual({name.split('.')[0] for name in found}, {'libgantry', 'libgantry_cm', 'libhwq', 'libsofthca'})

    def test_links_lead_into_the_tree(self):
        n = 0
        for where, folders, names in os.walk(self.staged.prefix):
            for path in (os.path.join(where, name) for name in folders + names):
                if os.path.islink(path):
                    self.assertFalse(os.path.isabs(os.readlink(path)), path)
                    self.assertTrue(os.path.exists(path), f'{path} -> {os.readlink(path)}')
                    n += 1
        self.assertGreater(n, 0)

    def test_programs_run(self):
        for tree in self.trees.values():
            self.assertIn('--mode', run(tree.bin('testgantry'), '-h'))
            self.assertIn('usage: gantry-top', run(tree.bin('gantry-top'), '--help'))
            self.assertIn('usage: hwq-decode', run(tree.bin('hwq-decode'), '--help'))
            out = os.path.join(tree.prefix, 'out')
            run(tree.bin('testgantry'), '--lcores=0@0,1@0', *EAL, '--', '--mode', 'copy', '--out', out, __file__)
            with open(__file__, 'rb') as one, open(os.path.join(out, os.path.basename(__file__)), 'rb') as other:
                self.assertEqual(one.read(), other.read())

    def test_the_launcher_finds_its_library_and_the_cards(self):
        # A card's part id is its PCI device id. Source: pci.ids of the PCI ID project.
        for tree in self.trees.values():
            for card, part in ('connectx-5', 0x1017), ('connectx-7', 0x1021), ('bluefield-3', 0xa2dc):
                said = run(tree.bin('softhca'), '--like', card, sys.executable, '-c', 'open("/dev/infiniband/uverbs0")',
                           SOFTHCA_FORCE='1')
                self.assertIn(f'part {part},', said)

    def test_pages_and_examples_are_installed(self):
        pages = os.path.join(self.staged.prefix, 'share/doc/gantry')
        with open(os.path.join(pages, 'README.md'), encoding='utf-8') as f:
            links = re.findall(r'\]\(((?:doc|examples)/[^)#]+)', f.read())
        self.assertGreater(len(links), 10)
        for link in links:
            self.assertTrue(os.path.exists(os.path.join(pages, link)), link)

    # ---- the dmadev driver

    def skeleton(self):
        """Returns libdir, and the files of dma_skeleton, a dmadev driver of DPDK: {path below libdir: target of the
        link, or None}."""
        libdir = run('pkg-config', '--variable=libdir', 'libdpdk', PKG_CONFIG_PATH=self.own.build['PKG_CONFIG_PATH']).strip()
        return libdir, self.layout(libdir, 'skeleton')

    def layout(self, libdir, name):
        paths = glob.glob(f'{libdir}/librte_dma_{name}.*') + glob.glob(f'{libdir}/dpdk/*/librte_dma_{name}.*')
        return {os.path.relpath(path, libdir).replace(name, 'X'):
                os.readlink(path).replace(name, 'X') if os.path.islink(path) else None for path in paths}

    def soname(self, path):
        return re.search(r'SONAME.*\[(.*)\]', run('readelf', '-d', path))[1]

    def test_the_driver_lies_as_drivers_of_DPDK_do(self):
        libdir, theirs = self.skeleton()
        if not any(name.startswith('dpdk/') for name in theirs):
            self.skipTest(f'{libdir} has no dma_skeleton: DPDK was built without its drivers')
        self.assertEqual(self.layout(self.staged.libdir, 'mlx5'), theirs)
        name = next(name for name, link in theirs.items() if link is None and name.startswith('dpdk/'))
        soname = self.soname(os.path.join(self.staged.libdir, name.replace('X', 'mlx5')))
        self.assertEqual(soname, self.soname(os.path.join(libdir, name.replace('X', 'skeleton'))).replace('skeleton', 'mlx5'))

    # ---- programs of users

    def make(self, tree, name, compiler, static, packages, source):
        """Builds a program as its user does. Returns (path of the program, libraries with which it was loaded)."""
        folder = os.path.join(tree.prefix, 'built', '-'.join([name, compiler, 'static' if static else 'shared']))
        os.makedirs(folder)
        program = os.path.join(folder, name)
        cflags = STRICT + (CXX if compiler == 'g++' else '')
        try:
            if name == 'embed':
                shutil.copytree(os.path.join(tree.prefix, 'share/doc/gantry/examples/embed'), folder, dirs_exist_ok=True)
                run('make', '-C', folder, *(['static'] if static else []), f'CC={compiler}', f'CFLAGS={cflags}', MAKEFLAGS='', **tree.build)
            else:
                run(compiler, *cflags.split(), *tree.pkg_config('--cflags', *packages), '-o', program, source,
                    *tree.build['LDFLAGS'].split(), *tree.pkg_config(*(['--static'] if static else []), '--libs', *packages))
        except AssertionError as failed:
            lacking = re.findall(r'cannot find -l(?!:?lib(?:gantry|hwq|softhca)|gantry|hwq|softhca)(\S+?):', str(failed))
            if static and lacking:
                self.skipTest(f'DPDK cannot be linked statically here: lib{lacking[0]} is not installed for development')
            raise
        return program, self.libraries(program, **tree.use)

    def check_embed(self, tree, compiler, static):
        program, libraries = self.make(tree, 'embed', compiler, static, ['gantry', 'softhca'], None)
        self.check_within(tree, libraries)
        names = {name.split('.')[0] for name in libraries}
        if static:
            self.assertEqual(names, {'libsofthca'})
        else:
            self.assertLessEqual({'libgantry', 'libhwq', 'libsofthca', 'librte_eal'}, names)
        self.assertIn('1000 packets logged', run(program, *EAL, **tree.use))

    def test_embed(self):
        # Builds two programs at a time.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            # If Gantry's prefix is that of the system, the staged tree cannot be used as a sysroot.
            trees = {where: tree for where, tree in self.trees.items() if PREFIX != '/usr' or where != 'staged'}
            tried = {(where, compiler, static): pool.submit(self.check_embed, tree, compiler, static) for where, tree in trees.items()
                     for compiler in ('gcc', 'g++') for static in (True, False) if shutil.which(compiler)}
        for (where, compiler, static), future in tried.items():
            with self.subTest(tree=where, compiler=compiler, static=static):
                future.result()

    def test_gantry_brings_hwq_to_those_who_link_statically(self):
        # gantry.pc must require hwq also if DPDK has no mlx5 drivers, so that DPDK's libraries name neither libibverbs
        # nor libmlx5.
        self.assertEqual(self.own.pkg_config('--print-requires-private', 'gantry'), ['hwq'])

    def check_copied(self, said):
        self.assertIn('dmadev_copy: 1 DMA devices\n', said)
        self.assertRegex(said, r'(?m)^dmadev_copy: copied 256 pages in \d+ turns, verified$')

    def example(self, name):
        """An installed example."""
        return os.path.join(self.own.prefix, 'share/doc/gantry/examples', name + '.c')

    def test_hwq_without_DPDK(self):
        program, libraries = self.make(self.own, 'wr_post', 'gcc', False, ['hwq', 'softhca'], self.example('wr_post'))
        self.assertEqual({name.split('.')[0] for name in libraries}, {'libhwq', 'libsofthca'})
        self.check_within(self.own, libraries)
        run(program)

    def check_cm(self, static, expected):
        program, libraries = self.make(self.own, 'two_processes_cm', 'gcc', static, ['gantry_cm', 'softhca'], self.example('two_processes_cm'))
        self.check_within(self.own, libraries)
        self.assertEqual({name.split('.')[0] for name in libraries if OURS.match(name)}, expected)
        # The program itself is run by test/examples.
        self.assertIn('usage: two_processes_cm', run(program, *EAL, status=1))

    def test_gantry_cm_as_a_shared_library(self):
        self.check_cm(False, {'libgantry', 'libgantry_cm', 'libhwq', 'libsofthca'})

    def test_gantry_cm_inside_of_a_program(self):
        self.check_cm(True, {'libsofthca'})

    def test_a_program_of_DPDK_loads_the_driver_by_d(self):
        program, _ = self.make(self.own, 'dmadev_copy', 'gcc', False, ['libdpdk'], self.example('dmadev_copy'))
        # The driver is named without its path, because EAL refuses paths below folders that every user may write to.
        said = run(self.own.bin('softhca'), program, *EAL, '-d', 'librte_dma_mlx5.so', '--vdev', 'dma_mlx5_0',
                   LD_LIBRARY_PATH=before('LD_LIBRARY_PATH', self.own.libdir))
        self.check_copied(said)
        said = run(program, *EAL, '--vdev', 'dma_mlx5_0', status=1)
        self.assertIn('EAL: failed to parse device "dma_mlx5_0"', said)
        self.assertIn('the driver is not loaded: add -d librte_dma_mlx5.so.', said)

    def test_a_program_with_DPDK_inside_has_the_driver_inside(self):
        program, libraries = self.make(self.own, 'dmadev_copy', 'gcc', True, ['librte_dma_mlx5'], self.example('dmadev_copy'))
        self.assertEqual(libraries, {})
        said = run(self.own.bin('softhca'), program, *EAL, '--vdev', 'dma_mlx5_0')
        self.check_copied(said)


if __name__ == '__main__':
    for tool in ('make', 'pkg-config', 'gcc'):
        if shutil.which(tool) is None:
            print(f'skipped: {tool} is not installed')
            sys.exit(SKIPPED)
    if glob.glob('/sys/class/infiniband/mlx5_*'):
        print('skipped: this machine has an mlx5 device')
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
