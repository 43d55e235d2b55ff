#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rdma(8), as Debian's iproute2 ships it, on the emulated adapter.

usage: test_rdma_tool.py LAUNCHER
"""
import json
import os
import shutil
import subprocess
import sys

SKIP = 77
TIMEOUT = 60


def run(launcher, *words, fails=False, **settings):
    """The output of `rdma WORDS`. Another result than wanted, or a line on stderr, ends the test."""
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
           [{'ifindex': 0, 'ifname': 'mlx5_0', 'node_type': 'ca', 'fw': '28.36.1010', **guid}])
    shown = json.loads(run(launcher, '-j', 'dev', 'show', 'mlx5_1', SOFTHCA_DEVICES='2'))
    expect('rdma dev show mlx5_1', (shown[0]['ifindex'], shown[0]['node_guid']),
           (1, '0053:48ff:fe00:0100'))
    expect('an adapter that is not there', run(launcher, 'dev', 'show', 'mlx5_9', fails=True),
           'Wrong device name - mlx5_9\n')


def links(launcher):
    # rdma-core's own tests ask this before anything else.
    expect('rdma link show -j', json.loads(run(launcher, 'link', 'show', '-j')),
           [{'ifindex': 0, 'ifname': 'mlx5_0', 'port': 1, 'state': 'ACTIVE',
             'physical_state': 'LINK_UP'}])
    expect('rdma link', run(launcher, 'link', SOFTHCA_DEVICES='2', SOFTHCA_PORTS='2'),
           ''.join(f'link mlx5_{d}/{p} state ACTIVE physical_state LINK_UP \n'
                   for d in (0, 1) for p in (1, 2)))
    expect('rdma link on InfiniBand',
           run(launcher, 'link', 'show', 'mlx5_0/2', SOFTHCA_PORTS='2',
               SOFTHCA_LINK_LAYER='infiniband'),
           'link mlx5_0/2 subnet_prefix fe80:0000:0000:0000 lid 2 sm_lid 1 lmc 0 state ACTIVE '
           'physical_state LINK_UP \n')
    expect('rdma link of a port that is not there', run(launcher, 'link', 'show', 'mlx5_0/2', fails=True),
           'Wrong device name\n')


def others(launcher):
    expect('rdma system', run(launcher, 'system'), 'netns shared copy-on-fork on\n')
    expect('rdma dev set', run(launcher, 'dev', 'set', 'mlx5_0', 'name', 'other', fails=True),
           'error: Operation not supported\n')


def main():
    if shutil.which('rdma') is None:
        print('skipped: there is no rdma (Debian package iproute2)')
        sys.exit(SKIP)
    devices(sys.argv[1])
    links(sys.argv[1])
    others(sys.argv[1])


main()
