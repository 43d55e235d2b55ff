#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rdma(8), as Debian's iproute2 ships it, on the emulated adapter.

usage: test_rdma_tool.py LAUNCHER
"""
import json
import os
import shutil
import socket
import subprocess
import sys

SKIP = 77
TIMEOUT = 400


def run(launcher, *words, fails=False, **settings):
    """Returns the output of `rdma WORDS`. Fails if the exit status is wrong, or if there is a line on stderr."""
    env = {k: v for k, v in os.environ.items() if not k.startswith('SOFTHCA_')}
    env.update(SOFTHCA_FORCE='1', **settings)
    done = subprocess.run([launcher, 'rdma', *words], env=env, capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)
    if (done.returncode != 0) != fails or (done.stderr != '') != fails:
        sys.exit(f'rdma {" ".join(words)}: exit code {done.returncode}, {done.stderr!r}')
    return done.stderr if fails else done.stdout


def expect(what, got, want):
    if got != want:
        sys.exit(f'{what}:\n  got  {got!r}\n  want {want!r}')
    print('ok:', what)


def devices(launcher):
    guid = {'node_guid': '0053:48ff:fe00:0000', 'sys_image_guid': '0053:48ff:fe00:0000'}
    expect('rdma dev', json.loads(run(launcher, '-j', 'dev')),
           [{'ifindex': 0, 'ifname': 'mlx5_0', 'node_type': 'ca', 'fw': '32.47.1088', **guid}])
    shown = json.loads(run(launcher, '-j', 'dev', 'show', 'mlx5_1', SOFTHCA_DEVICES='2'))
    expect('rdma dev show mlx5_1', (shown[0]['ifindex'], shown[0]['node_guid']),
           (1, '0053:48ff:fe00:0100'))
    expect('an adapter that is not there', run(launcher, 'dev', 'show', 'mlx5_9', fails=True),
           'Wrong device name - mlx5_9\n')


def links(launcher):
    # rdma-core's own tests make this request first.
    expect('rdma link show -j', json.loads(run(launcher, 'link', 'show', '-j')),
           [{'ifindex': 0, 'ifname': 'mlx5_0', 'port': 1, 'state': 'ACTIVE',
             'physical_state': 'LINK_UP'}])
    expect('rdma link', run(launcher, 'link', SOFTHCA_DEVICES='2', SOFTHCA_PORTS='2'),
           ''.join(f'link mlx5_{d}/{p} state ACTIVE physical_state LINK_UP \n'
                   for d in (0, 1) for p in (1, 2)))
    index = socket.if_nametoindex('lo')
    expect('rdma link with a network interface',
           json.loads(run(launcher, 'link', 'show', '-j', SOFTHCA_NETDEV='lo')),
           [{'ifindex': 0, 'ifname': 'mlx5_0', 'port': 1, 'state': 'ACTIVE',
             'physical_state': 'LINK_UP', 'netdev': 'lo', 'netdev_index': index}])
    expect('rdma link on InfiniBand',
           run(launcher, 'link', 'show', 'mlx5_0/2', SOFTHCA_PORTS='2',
               SOFTHCA_LINK_LAYER='infiniband'),
           'link mlx5_0/2 subnet_prefix fe80:0000:0000:0000 lid 2 sm_lid 1 lmc 0 state ACTIVE '
           'physical_state LINK_UP \n')
    expect('rdma link of a port that is not there', run(launcher, 'link', 'show', 'mlx5_0/2', fails=True),
           'Wrong device name\n')


# The program holds objects, and runs rdma(8) as its child. Each line of its output is one answer in JSON.
HOLDER = """
import subprocess, sys
import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
ctx = Context(name='mlx5_0')
pds = [PD(ctx), PD(ctx)]
cq = CQ(ctx, 100)
mr = MR(pds[0], 4096, e.IBV_ACCESS_LOCAL_WRITE)
init = QPInitAttr(qp_type=e.IBV_QPT_UD, scq=cq, rcq=cq, cap=QPCap())
qps = [QP(pds[1], init, QPAttr(port_num=1)) for _ in range(3)]
print([qp.qp_num for qp in qps], flush=True)
for words in (['res'], ['res', 'show', 'qp'], ['res', 'show', 'cq'], ['res', 'show', 'mr'],
              ['res', 'show', 'pd'], ['res', 'show', 'ctx'], ['res', 'show', 'srq'],
              ['res', 'show', 'cm_id'], ['res', 'show', 'qp', 'lqpn', str(qps[1].qp_num)]):
    subprocess.run(['rdma', '-j', *words], check=True)
"""


def resources(launcher):
    """A child of a program sees the objects of the program."""
    env = {k: v for k, v in os.environ.items() if not k.startswith('SOFTHCA_')}
    env.update(SOFTHCA_FORCE='1')
    done = subprocess.run([launcher, sys.executable, '-c', HOLDER], env=env, capture_output=True,
                          text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        sys.exit(f'the program that holds objects: exit code {done.returncode}, {done.stderr!r}')
    numbers, total, qps, cqs, mrs, pds, ctxs, srqs, cm_ids, one = (
        json.loads(line) for line in done.stdout.splitlines() if line)
    expect('rdma res', total, [{'ifindex': 0, 'ifname': 'mlx5_0', 'pd': 2, 'cq': 1, 'qp': 3,
                                'cm_id': 0, 'mr': 1, 'ctx': 1, 'srq': 0}])
    expect('rdma res show qp', [(q['lqpn'], q['type'], q['state'], q['port']) for q in qps],
           [(n, 'UD', 'RTS', 1) for n in numbers])
    expect('rdma res show cq', [(c['cqe'], c['users']) for c in cqs], [(127, 6)])
    expect('rdma res show mr', [m['mrlen'] for m in mrs], [4096])
    expect('rdma res show pd', [p['users'] for p in pds], [1, 3])
    expect('rdma res show ctx', len(ctxs), 1)
    expect('the program that holds them', {o['comm'] for o in qps + cqs + mrs + pds + ctxs},
           {os.path.basename(sys.executable)[:15]})
    expect('rdma res show srq, cm_id', (srqs, cm_ids), ([], []))
    expect('rdma res show qp lqpn', [q['lqpn'] for q in one], numbers[1:2])


def others(launcher):
    shown = json.loads(run(launcher, '-j', 'statistic', 'show', 'link', 'mlx5_0/1'))
    expect('rdma statistic', [(s['ifname'], s['port'], s['rx_write_requests']) for s in shown],
           [('mlx5_0', 1, 0)])
    expect('rdma statistic qp mode', run(launcher, 'statistic', 'qp', 'mode'),
           'link mlx5_0/1 mode qp auto off \n')
    expect('rdma system', run(launcher, 'system'), 'netns shared copy-on-fork on\n')
    expect('rdma dev set', run(launcher, 'dev', 'set', 'mlx5_0', 'name', 'other', fails=True),
           'error: Operation not supported\n')


def main():
    if shutil.which('rdma') is None:
        print('skipped: there is no rdma (Debian package iproute2)')
        sys.exit(SKIP)
    devices(sys.argv[1])
    links(sys.argv[1])
    resources(sys.argv[1])
    others(sys.argv[1])


main()
