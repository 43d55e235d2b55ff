#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that files, tests and names in the pages of the documentation exist in the tree, and that figures are the counted ones.

Pages are README.md, CHANGELOG.md, examples/README.md, doc/**/*.md and lib/*/*/README.md. Each fault is printed with file, line, and what to do:
- links: the file is there, and the heading; the text is not the name of a page's file; of sources and scripts: the page doc/NAME.md that they name;
- files and folders of the tree;
- tests and test programs;
- settings of softhca (SOFTHCA_NAME, `name = value`);
- tables that doc/book/tables.py writes: they are what the launcher prints;
- options of Meson (-Dname), and the table of doc/building.md, which has each of the project's;
- options of the project's programs, in command lines and alone;
- functions, macros and types of the project;
- figures with a mark: 86<!-- engine copy 32 --> is the count "engine copy 32" of test/bench/instructions.txt, rounded; a mark
  with several counts and " + " is their sum. Readers do not see marks. With --update the marked figures are written again.

usage: check_docs.py SOURCE_DIR BUILD_DIR
       check_docs.py SOURCE_DIR --update
"""
import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../doc/book'))
import tables

COUNTS = 'test/bench/instructions.txt'
BUILDING = 'doc/building.md'
SETTINGS = 'drivers/softhca/process/settings.c'
MESON_OPTIONS = 'meson_options.txt'
# Pages that a program writes. They contain names of rdma-core's tests, which are not checked.
GENERATED = ('doc/softhca-rdma-core.md', 'doc/softhca-rdma-core-50.md', 'doc/softhca-rdma-core-65.md')
# Pages that other pages name as files. The text of any other link is a title, which readers of the book see.
NAMED_FILES = ('CHANGELOG.md', 'softhca-rdma-core.md')
TOP = ('app', 'config', 'doc', 'drivers', 'examples', 'lib', 'packaging', 'test', 'usertools')

# ---- names of other projects that our pages use, by owner

FOREIGN_FILES = {
    # Headers and sources of Linux, rdma-core, DPDK, SPDK, UCX, mstflint.
    'infiniband/mlx5dv.h', 'mlx5dv.h', 'mlx5_ifc.h', 'mlx5_prm.h', 'wqe.h', 'qp.h', 'device.h', 'rte_dmadev.h',
    'hca_cap_table.adb', 'linux/dim.h', 'test_mlx5_dr.py', 'mlx5_prm_structs.py', 'tests/mlx5_prm_structs.py',
    'tests/test_mlx5_dm_ops.py', 'test_mlx5_dc.py', 'test_rdmacm.py', 'test_mlx5_rdmacm.py',
    # Programs and libraries of Debian's packages.
    'dpdk-telemetry.py', 'dpdk-hugepages.py', 'dpdk-pmdinfo.py', 'usertools/dpdk-pmdinfo.py', 'libcrypto.so.3',
    # Files that the build or a program writes.
    'librte_dma_mlx5.so', 'librte_dma_mlx5.pc', 'libdpdk.pc', 'gantry.pc', 'hwq.pc', 'softhca.pc', 'report.json', 'report.txt',
    'hw-report/report.json', 'hw-report/report.txt', 'my_hwq.c',
}
FOREIGN_FOLDERS = {'hw-report/', 'build/', 'build-test/plain/', 'share/softhca/card-profiles/'}
FOREIGN_TESTS = {
    # A test of rdma-core that no generated page names, and tests of UCX.
    'test_mr_rereg_atomic', 'test_uct_peer_failure_multiple', 'test_ucp_mmap_export',
}
FOREIGN_SETTINGS = {'name'}  # in `name = value`, "name" stands for any setting
# Meson's own options, and those of DPDK's build.
FOREIGN_MESON = {'b_sanitize', 'b_lundef', 'werror', 'buildtype', 'c_args', 'debug', 'prefix', 'default_library',
                 'enable_driver_sdk', 'enable_drivers', 'enable_apps', 'platform'}
FOREIGN_OPTIONS = {
    # Options of EAL.
    'lcores', 'no-huge', 'no-shconf', 'no-pci', 'in-memory', 'iova-mode', 'vdev', 'file-prefix', 'no-telemetry', 'trace',
    'trace-dir', 'socket-mem',
    # Options of Docker, dpdk-test-crypto-perf and perftest.
    'device', 'cap-add', 'ulimit', 'network', 'client', 'server', 'ptest', 'devtype', 'help', 'setup', 'depth', 'membind',
    # Options of fio and tgtd.
    'rw', 'verb', 'iodepth', 'iomem', 'iser', 'initiator-address', 'initiator-name',
}
FOREIGN_NAMES = {
    # Functions of Linux, libmlx5, perftest and DPDK.
    'check_vma_flags', 'psv_transient_signature', 'rdma_cm_destroy_cma', 'set_psv_wr',
    # Functions of DOCA, for people who know them.
    'doca_buf_inventory_buf_get_by_addr', 'doca_buf_inventory_create', 'doca_dma_cap_task_memcpy_get_max_buf_size',
    'doca_dma_task_memcpy_alloc_init', 'doca_mmap_add_dev', 'doca_mmap_create', 'doca_mmap_create_from_export',
    'doca_mmap_export_pci', 'doca_mmap_set_memrange', 'doca_mmap_set_permissions', 'doca_mmap_start', 'doca_mmap_stop',
    'doca_pe_progress', 'doca_task_submit',
}


def read(source, path):
    with open(os.path.join(source, path), encoding='utf-8') as file:
        return file.read()


class Tree:
    """The files of the project, and the names in them."""

    def __init__(self, source, build):
        self.source = source
        self.files, self.folders = [], set()
        for top in TOP + ('.',):
            for folder, folders, names in os.walk(os.path.join(source, top)):
                folders[:] = [] if top == '.' else [name for name in folders if name != '__pycache__']
                inside = os.path.relpath(folder, source)
                self.files += [os.path.normpath(os.path.join(inside, name)) for name in names]
                self.folders.add(inside + '/')
        self.names = {os.path.basename(path) for path in self.files}
        self.stems = {os.path.splitext(name)[0] for name in self.names}
        self.words = set()
        for path in self.files:
            if path.endswith(('.c', '.h', '.py', '.sh', '.build', '.map')) or '/' in path and '.' not in os.path.basename(path):
                if not path.endswith(os.path.basename(__file__)):
                    self.words.update(re.findall(r'\w+', read(source, path)))
        self.settings = set(re.findall(r'^\t\{"(\w+)", KIND_', read(source, SETTINGS), re.M))
        self.variables = {'SOFTHCA_' + name.upper() for name in self.settings}
        for path in glob.glob(os.path.join(source, 'drivers/softhca/**/*.c'), recursive=True):
            self.variables.update(re.findall(r'"(SOFTHCA_\w+)"', read(source, path)))
        self.meson_options = re.findall(r"^option\('(\w+)'", read(source, MESON_OPTIONS), re.M)
        self.more_tests = set()
        for path in glob.glob(os.path.join(source, 'test/conformance/*.txt')) + [os.path.join(source, p) for p in GENERATED]:
            self.more_tests.update(re.findall(r'test_\w+', read(source, path)))
        # Variables of scripts whose names begin with "test_" are not names of tests.
        for path in glob.glob(os.path.join(source, 'usertools/*.sh')):
            self.more_tests.update(re.findall(r'^(test_\w+)=', read(source, path), re.M))
        self.tests, self.programs, self.built = set(), set(), set()
        if build:
            with open(os.path.join(build, 'meson-info/intro-tests.json'), encoding='utf-8') as file:
                self.tests = {test['name'] for test in json.load(file)}
            with open(os.path.join(build, 'meson-info/intro-targets.json'), encoding='utf-8') as file:
                for target in json.load(file):
                    for path in target['filename']:
                        self.built.add(os.path.relpath(path, build))
                        if target['type'] == 'executable':
                            self.programs.add(os.path.basename(path))
        self.own = {}  # the text of each program's sources

    def has_file(self, path):
        if '*' in path:
            pattern = re.compile('(.*/)?' + re.escape(path).replace(r'\*', '[^/]*'))
            return any(pattern.fullmatch(file) for file in self.files)
        return path in self.names or any(file == path or file.endswith('/' + path) for file in self.files)

    def has_folder(self, path):
        return any(folder == path or folder.endswith('/' + path) for folder in self.folders)

    def sources_of(self, program):
        """Returns the text of a program's sources, or '' if the project has no such program."""
        if program not in self.own:
            paths = {'testgantry': 'app/testgantry/*.c', 'hwq-decode': 'app/hwq-decode/*.c',
                     'softhca': 'drivers/softhca/process/launch.c', 'gantry-top': 'usertools/gantry-top'}.get(program)
            if paths is None and program + '.c' in self.names and program in self.programs:
                paths = 'test/**/*.c'
            elif paths is None and program.endswith(('.py', '.sh')) and any(f.endswith('/' + program) for f in self.files):
                paths = next(f for f in self.files if f.endswith('/' + program))
                # A script may pass its arguments on to a program or to another script.
                paths = paths if paths.startswith(('test/', 'doc/')) else 'usertools/*'
            found = glob.glob(os.path.join(self.source, paths), recursive=True) if paths else []
            self.own[program] = '\n'.join(read(self.source, path) for path in found if os.path.isfile(path))
        return self.own[program]

    def has_option(self, program, option):
        return re.search(r'--%s\b|"%s"' % (option, option), self.sources_of(program)) is not None

    def any_has_option(self, option):
        scripts = [path for path in self.files if path.startswith('usertools/') and path.count('/') == 1]
        programs = ['testgantry', 'hwq-decode', 'softhca', 'hw_probe', 'hw_caps', 'test_hwq_bytes', 'check_docs.py']
        return any(self.has_option(os.path.basename(program), option) for program in programs + scripts)


def code_of(text):
    """Yields the code in a page as (line number, whether it is in a code block, code): each line of a code block, and
    each `span` elsewhere."""
    fenced, block = False, None
    for number, line in enumerate(text.split('\n'), 1):
        if line.lstrip().startswith('```'):
            fenced = not fenced
            continue
        if fenced or re.match(r'( {4}|\t)', line):
            # A line that ends in a backslash continues in the next one.
            block = (block[0], block[1] + ' ' + line.strip()) if block else (number, line.strip())
            if block[1].endswith('\\'):
                block = (block[0], block[1][:-1])
                continue
            yield block[0], True, block[1]
            block = None
            continue
        for span in re.findall(r'`([^`]+)`', line):
            yield number, False, span


def slug(heading):
    """Returns the anchor of a heading, as GitHub makes it."""
    text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading).strip().lower()
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def links(tree, page, text):
    for number, line in enumerate(text.split('\n'), 1):
        for name in re.findall(r'\[([\w./-]+\.md)\]\(', line):
            if os.path.basename(name) not in NAMED_FILES and not page.startswith('lib/'):
                yield number, f'the text of a link is the name of the file {name}: give the title of the page or of the section'
        for target in re.findall(r'\]\(([^)\s]+)\)', line):
            if re.match(r'https?:', target):
                continue
            path, _, anchor = target.partition('#')
            full = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            # The book makes a picture from a source of graphviz, and pages of its reference.
            if full.endswith('.svg') and os.path.exists(os.path.join(tree.source, full[:-4] + '.dot')):
                continue
            if full.startswith('doc/reference/'):
                continue
            if not os.path.exists(os.path.join(tree.source, full)):
                yield number, f'the link {target} leads to no file: name one that exists'
            elif anchor and anchor not in {slug(h) for h in re.findall(r'^#+ (.*)', read(tree.source, full), re.M)}:
                yield number, f'the link {target} leads to no heading of {full}: name one that is there'


FILE = re.compile(r'(?<![\w/.$<>{}~-])((?:[\w.*-]+/)*[\w*-][\w.*-]*\.(?:c|h|py|sh|md|txt|csv|svg|conf|build|map|supp|pc))(?![\w*./(-]*\w)')


def files(tree, page, text):
    # Files that a tutorial shows, for the reader to write.
    shown = set(re.findall(r'^```\w+ (\S+)$', text, re.M))
    for number, block, code in code_of(text):
        for path in FILE.findall(code):
            # Capital letters stand for any name: verbs/uverbs_NAME.c, X.c.
            if path in FOREIGN_FILES | shown or block and path.split('/')[0] not in TOP or re.search(r'(?<![A-Za-z])[A-Z]+\.', path):
                continue
            if not tree.has_file(os.path.normpath(path)):
                yield number, (f'no file {path} is in the tree: correct the name; if it is not the project\'s, add it to '
                    'FOREIGN_FILES of check_docs.py')
        for path in re.findall(r'(?<!\S)build/([\w./-]+)', code):
            if tree.built and path not in tree.built and path.rstrip('/') not in {os.path.dirname(b) for b in tree.built}:
                yield number, f'the build makes no build/{path}: correct the name'
        if not block and re.fullmatch(r'(?![/~.])[\w./-]+/', code) and code not in FOREIGN_FOLDERS:
            if not tree.has_folder(os.path.normpath(code) + '/'):
                yield number, (f'no folder {code} is in the tree: correct the name; if it is not the project\'s, add it to '
                    'FOREIGN_FOLDERS of check_docs.py')


TEST = re.compile(r'(?<![\w/.-])((?:test|check|bench|fuzz|hw_probe|hw_caps)_[a-z0-9_]+|hw_probe|hw_caps|testgantry_\w+)(?![\w(*=])')


def tests(tree, page, text):
    if page in GENERATED:
        return
    known = tree.tests | tree.programs | tree.stems | tree.more_tests | FOREIGN_TESTS
    for number, line in enumerate(text.split('\n'), 1):
        for found in TEST.finditer(line):
            # A name of the form SUITE.CASE is a test of UCX.
            if re.match(r'\.(?!py\b|c\b|h\b)\w', line[found.end():]) or found.group(1) in known:
                continue
            yield number, (f'there is no test, program or file {found.group(1)}: correct the name; if it is not the '
                'project\'s, add it to FOREIGN_TESTS of check_docs.py')
        for name in re.findall(r'\b[Tt]ests? `([\w-]+)`', line):
            if name not in tree.tests and name not in known:
                yield number, f'Meson has no test {name}: correct the name; `meson test --list` has all'
    for number, _, code in code_of(text):
        for arguments in re.findall(r'\bmeson test ((?:(?:-C|--suite) \S+|[a-z]\w*|-\S+)(?: (?:(?:-C|--suite) \S+|[a-z]\w*|-\S+))*)', code):
            for name in re.sub(r'(?:-C|--suite) \S+|-\S+', '', arguments).split():
                if name not in tree.tests:
                    yield number, f'Meson has no test {name}: correct the name; `meson test --list` has all'


def settings(tree, page, text):
    for number, line in enumerate(text.split('\n'), 1):
        for name in re.findall(r'\bSOFTHCA_[A-Z0-9_]*[A-Z0-9]\b', line):
            if name not in tree.variables and name != 'SOFTHCA_NAME':  # any setting
                yield number, f'softhca has no setting {name}: correct the name; {SETTINGS} has all'
    for number, block, code in code_of(text):
        found = re.fullmatch(r'([a-z_0-9]+) = \w+', code)
        if found and not block and found[1] not in tree.settings | FOREIGN_SETTINGS:
            yield number, f'softhca has no setting {found[1]}: correct the name; {SETTINGS} has all'


def meson_options(tree, page, text):
    for number, line in enumerate(text.split('\n'), 1):
        for name in re.findall(r'(?<!\w)-D([a-z]\w*)', line):
            if name not in tree.meson_options and name not in FOREIGN_MESON:
                yield number, f'Meson has no option {name} here: correct the name; {MESON_OPTIONS} has the project\'s'
    if page == BUILDING:
        for name in tree.meson_options:
            if f'`-D{name}=' not in text:
                yield 1, f'the table of options has no row of {name} ({MESON_OPTIONS}): add it'


def program_options(tree, page, text):
    for number, block, code in code_of(text):
        words = code.split()
        program, eal = None, False
        if not block and code.startswith('--'):
            for option in re.findall(r'(?<!\S)--([a-z][a-z0-9-]*)', code):
                if option not in FOREIGN_OPTIONS and not tree.any_has_option(option):
                    yield number, (f'no program of the project has the option --{option}: correct the name; if it is another '
                        'program\'s, add it to FOREIGN_OPTIONS of check_docs.py')
            continue
        for i, word in enumerate(words):
            name = os.path.basename(word.rstrip('.,:;'))
            if word.startswith(('#', '$(')) or word == '|':
                program = None
            elif word == '--':
                eal = False
            elif not word.startswith('-') and name != 'softhca' and tree.sources_of(name):
                program, eal = name, '--' in words[i:] and not block or name == 'testgantry' and '--' in words[i:]
                following = words[i + 1] if i + 1 < len(words) else ''
                if name == 'bench.sh' and re.fullmatch('[a-z]+', following) and \
                        not re.search(r'\b%s\b' % following, tree.sources_of(name)):
                    yield number, f'bench.sh prints nothing called {following}: correct the name; bench.sh --help lists all'
            elif name == 'softhca' and not word.startswith('-'):
                program = 'softhca'
            elif program == 'softhca' and not word.startswith('-') and (i == 0 or words[i - 1] != '--like'):
                program = None  # the program that the launcher runs
            elif word.startswith('--') and program and not eal:
                option = re.match(r'--([a-z0-9-]*)', word)[1]
                if option and option not in ('help', 'list') and not tree.has_option(program, option):
                    yield number, f'{program} has no option --{option}: correct the name; {program} --help lists all'


NAME = re.compile(r'(?:(?:struct|enum) )?((?:gantry|hwq|softhca|GANTRY|HWQ|SOFTHCA)_\w+)(?:::\w+)?(?:\(.*\))?|([a-z]\w*)\(\)')


def names(tree, page, text):
    for number, block, code in code_of(text):
        found = NAME.fullmatch(code)
        if block or found is None or code.endswith('_'):
            continue
        name = found[1] or found[2]
        if name in tree.words or name in FOREIGN_NAMES or re.match(r'(ibv|mlx5dv|rte|mlx5)_|_', name):
            continue
        if name in tree.tests or name.startswith('SOFTHCA_'):
            continue
        yield number, (f'{name} is no name of the tree: correct it; if it is not the project\'s, add it to FOREIGN_NAMES of '
            'check_docs.py')


COUNT = r'(?:engine|hwq|signature|dma|txn|softhca) \w+ \d+'
FIGURE = re.compile(r'([\d,]+(?:\.\d+)?)( ?<!-- (%s(?: \+ %s)*) -->)' % (COUNT, COUNT))


def counts(source):
    return {' '.join(line.split()[:3]): float(line.split()[3]) for line in read(source, COUNTS).splitlines()
            if line and not line.startswith('#')}


def counted_as(counted, key, like):
    """Returns the count that the mark `key` names, or the sum of several counts, with as many decimals as `like`, the
    figure in the page. Returns None if there is no such count."""
    keys = key.split(' + ')
    if any(key not in counted for key in keys):
        return None
    return f'{sum(counted[key] for key in keys):,.{len(like.partition(".")[2])}f}'


def figures(tree, page, text):
    counted = counts(tree.source)
    for number, line in enumerate(text.split('\n'), 1):
        for figure, _, key in FIGURE.findall(line):
            right = counted_as(counted, key, figure)
            if right is None:
                yield number, f'{COUNTS} has no count "{key}": correct the mark'
            elif right != figure:
                yield number, (f'{figure} is not the count "{key}" of {COUNTS}, which is {right}: mend it with: '
                    'test/rooms/check_docs.py . --update')
        if '<!--' in FIGURE.sub('', line) and line not in (tables.FAULTS_BEGIN, tables.FAULTS_END):
            yield number, 'this mark is none of a figure: write 86<!-- engine copy 32 -->, or a sum: <!-- dma copy 32 + dma copy 1 -->'


def written(tree, build):
    """Yields a fault for each page whose tables are not what the launcher prints."""
    if '(settings_help.c does not' in tables.said(build, '--list-settings'):
        yield 'drivers/softhca/process/settings_help.c', 1, 'a setting has no row here: softhca --list-settings shows it: add the row'
    for page, text in tables.written_pages(tree.source, build).items():
        if text != read(tree.source, page):
            yield page, 1, 'the tables are not what softhca prints: write them by: doc/book/tables.py . BUILD --update'


def named_pages(tree):
    """Yields a fault for each page that a source or script names and that does not exist."""
    for path in tree.files:
        if path.endswith(('.c', '.h', '.py', '.sh', '.build', '.txt')) and not path.endswith(os.path.basename(__file__)):
            for number, line in enumerate(read(tree.source, path).split('\n'), 1):
                for page in re.findall(r'\bdoc/(?:[\w-]+/)*[\w-]+\.md\b', line):
                    if not os.path.exists(os.path.join(tree.source, page)):
                        yield path, number, f'there is no {page}: name a page that exists'


def pages(source):
    yield from (path for path in ('README.md', 'CHANGELOG.md', 'examples/README.md') if os.path.exists(os.path.join(source, path)))
    yield from sorted(os.path.relpath(path, source) for path in glob.glob(os.path.join(source, 'doc/**/*.md'), recursive=True))
    yield from sorted(os.path.relpath(path, source) for path in glob.glob(os.path.join(source, 'lib/*/*/README.md')))


def update(source):
    counted = counts(source)
    for page in pages(source):
        text = read(source, page)
        new = FIGURE.sub(lambda m: (counted_as(counted, m[3], m[1]) or m[1]) + m[2], text)
        if new != text:
            with open(os.path.join(source, page), 'w', encoding='utf-8') as file:
                file.write(new)
            print(f'{page}: figures are those of {COUNTS} now')


def main(source, build):
    tree, faults, n = Tree(source, build), 0, 0
    for page in pages(source):
        text = read(source, page)
        n += 1
        for check in links, files, tests, settings, meson_options, program_options, names, figures:
            for line, what in check(tree, page, text):
                print(f'{page}:{line}: {what}')
                faults += 1
    for path, line, what in [*named_pages(tree), *written(tree, build)]:
        print(f'{path}:{line}: {what}')
        faults += 1
    print(f'{n} pages, {faults} faults')
    return faults != 0


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[2] == '--update':
        sys.exit(update(sys.argv[1]))
    sys.exit(main(sys.argv[1], sys.argv[2]))
