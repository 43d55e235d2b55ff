# SPDX-License-Identifier: BSD-3-Clause
"""Source trees of other projects: finds out which project a tree is, its revision, and its layouts and constants."""
import os
import subprocess

import adb
import ctext

# For each tree: a file by which the tree is recognized, the tree's name, and the headers to read,
# in order.
KINDS = (
    ('include/linux/mlx5/mlx5_ifc.h', 'Linux', ['include/linux/mlx5/' + h for h in (
        'mlx5_ifc_fpga.h', 'mlx5_ifc.h', 'device.h', 'qp.h', 'cq.h', 'doorbell.h')]
     + ['drivers/infiniband/hw/mlx5/' + h for h in ('wr.h', 'mlx5_ib.h')]),
    ('drivers/common/mlx5/mlx5_prm.h', 'DPDK', ['drivers/common/mlx5/mlx5_prm.h']),
    ('lib/mlx5/mlx5_ifc.h', 'SPDK', ['lib/mlx5/mlx5_ifc.h', 'lib/mlx5/mlx5_priv.h',
                                     'include/spdk_internal/mlx5.h']),
    ('providers/mlx5/mlx5_ifc.h', 'rdma-core', ['providers/mlx5/' + h for h in (
        'mlx5_ifc.h', 'mlx5dv.h', 'wqe.h', 'mlx5.h', 'cq.c')]),
    ('src/uct/ib/mlx5/dv/ib_mlx5_ifc.h', 'UCX', ['src/uct/ib/mlx5/dv/ib_mlx5_ifc.h']),
    ('tools_layouts/adb/prm/hca/ext/hca_cap_table.adb', 'mstflint', [
        'tools_layouts/adb/prm/hca/ext/hca_cap_table.adb']),
)
ORDER = [name for _, name, _ in KINDS]


class Tree:
    def __init__(self, name, revision):
        self.name, self.revision = name, revision
        self.header, self.nodes = ctext.Header(), {}

    def layout(self, struct):
        """Returns the fields of a struct, by its name in the headers of Linux ("mlx5_ifc_qpc_bits"), or None."""
        if struct.startswith('mlx5_ifc_') and struct[9:-5] in self.nodes:
            return self.nodes[struct[9:-5]]
        return self.header.layout(struct) or self.header.layout(struct.replace('mlx5_ifc_', 'uct_ib_mlx5_'))

    def constant(self, name):
        return self.header.constants.get(name)


def git(path, *args):
    got = subprocess.run(['git', '-C', path, *args], capture_output=True, check=False)
    return got.stdout.decode(errors='replace') if got.returncode == 0 else None


def reader(path):
    """Returns a function that reads a file of a tree: of a directory, or of a git directory without a work tree."""
    if os.path.exists(os.path.join(path, 'HEAD')) and not os.path.exists(os.path.join(path, '.git')):
        return lambda name: git(path, 'show', 'HEAD:' + name)

    def read(name):
        try:
            with open(os.path.join(path, name), encoding='utf-8', errors='replace') as f:
                return f.read()
        except OSError:
            return None
    return read


def open_tree(argument):
    """Opens PATH or PATH=REVISION. On failure, raises a ValueError that says what the user can do."""
    path, _, revision = argument.partition('=')
    if not os.path.isdir(path):
        raise ValueError(f'{path}: no such directory: give the top directory of a source tree')
    read = reader(path)
    for mark, name, files in KINDS:
        if read(mark) is None:
            continue
        top = git(path, 'rev-parse', '--show-prefix')
        if not revision and (top is None or top.strip() == ''):
            revision = (git(path, 'log', '-1', '--format=%h of %cs') or '').strip()
        tree = Tree(name, revision or 'unknown revision')
        for text in filter(None, map(read, files)):
            if mark.endswith('.adb'):
                tree.nodes.update(adb.read(text))
            else:
                tree.header.read(text)
        return tree
    raise ValueError(f'{path}: not a source tree that is known here: it has none of '
                     + ', '.join(mark for mark, _, _ in KINDS))
