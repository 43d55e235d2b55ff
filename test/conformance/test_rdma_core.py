#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's own tests, as Debian ships them, on the emulated adapter.

Judged by name: each of the tests below must say "ok". With no device, or one that lacks a
capability, they would be skipped, and a skip is no success here.

usage: test_rdma_core.py LAUNCHER
"""
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = '/usr/share/doc/rdma-core/tests'
TIMEOUT = 600
SKIP = 77

MUST_PASS = {
    'test_addr.AHTest': [
        'test_create_ah', 'test_create_ah_roce', 'test_destroy_ah'],
    'test_atomic.AtomicTest': [
        'test_atomic_cmp_and_swap', 'test_atomic_fetch_and_add', 'test_atomic_invalid_lkey',
        'test_atomic_invalid_mr_access', 'test_atomic_invalid_qp_access',
        'test_atomic_invalid_rkey', 'test_atomic_non_aligned_addr'],
    'test_cq.CQAPITest': [
        'test_create_cq', 'test_create_cq_bad_flow', 'test_create_cq_with_comp_channel'],
    'test_cq_events.CqEventsTestCase': [
        'test_cq_events_rc'],
    'test_cqex.CQEXAPITest': [
        'test_create_cq_ex', 'test_create_cq_ex_bad_flow'],
    'test_cqex.CqExTestCase': [
        'test_rc_traffic_cq_ex'],
    'test_device.DeviceTest': [
        'test_dev_list', 'test_open_dev', 'test_phys_port_cnt_ex', 'test_query_device',
        'test_query_device_ex', 'test_query_gid', 'test_query_gid_ex',
        'test_query_gid_ex_bad_flow', 'test_query_gid_table', 'test_query_gid_table_bad_flow',
        'test_query_pkey', 'test_query_port', 'test_query_port_bad_flow'],
    'test_fork.ForkAPITest': [
        'test_is_fork_initialized'],
    'test_mlx5_cq.DvCqTest': [
        'test_dv_cq_cqe_size_128', 'test_dv_cq_cqe_size_64',
        'test_dv_cq_cqe_size_environment_var', 'test_dv_cq_cqe_size_with_bad_size',
        'test_dv_cq_traffic'],
    'test_mlx5_dma_memcpy.DmaGgaMemcpy': [
        'test_dma_memcpy_data', 'test_dma_memcpy_different_pd_bad_flow',
        'test_dma_memcpy_large_data_bad_flow', 'test_dma_memcpy_protection_bad_flow'],
    'test_mlx5_query_port.Mlx5DVQueryPortTestCase': [
        'test_dv_query_port'],
    'test_mlx5_raw_wqe.RawWqeTest': [
        'test_mixed_raw_wqe_traffic'],
    'test_mlx5_timestamp.TimeStampTest': [
        'test_timestamp_free_running_rc_traffic', 'test_timestamp_real_time_rc_traffic'],
    'test_mlx5_uar.Mlx5UarTestCase': [
        'test_alloc_uar'],
    'test_mr.MRTest': [
        'test_mr_rereg_access', 'test_mr_rereg_access_bad_flow', 'test_mr_rereg_addr',
        'test_mr_rereg_pd', 'test_reg_mr_bad_flags'],
    'test_parent_domain.ParentDomainTrafficTest': [
        'test_default_allocators_rc_traffic', 'test_mem_align_rc_traffic'],
    'test_pd.PDTest': [
        'test_alloc_pd', 'test_dealloc_pd', 'test_destroy_pd_twice', 'test_multiple_pd_creation'],
    'test_qp.QPTest': [
        'test_create_rc_qp_ex_no_attr',
        'test_create_rc_qp_ex_with_attr', 'test_create_rc_qp_no_attr',
        'test_create_rc_qp_with_attr', 'test_query_rc_qp'],
    'test_qpex.QpExTestCase': [
        'test_qp_ex_rc_atomic_cmp_swp', 'test_qp_ex_rc_atomic_fetch_add',
        'test_qp_ex_rc_rdma_read', 'test_qp_ex_rc_rdma_read_zero_size',
        'test_qp_ex_rc_rdma_write', 'test_qp_ex_rc_rdma_write_imm',
        'test_qp_ex_rc_rdma_write_zero_length', 'test_qp_ex_rc_send', 'test_qp_ex_rc_send_imm'],
    'test_relaxed_ordering.RoTestCase': [
        'test_ro_rc_traffic'],
    'test_shared_pd.SharedPDTestCase': [
        'test_imported_rc_ex_rdma_write'],
}


def skip(reason):
    print('skipped:', reason)
    sys.exit(SKIP)


def unpack(folder):
    shutil.copytree(SOURCE, os.path.join(folder, 'tests'))
    for packed in glob.glob(os.path.join(folder, 'tests', '*.gz')):
        with gzip.open(packed, 'rb') as f, open(packed[:-3], 'wb') as out:
            shutil.copyfileobj(f, out)


def results(output):
    """Each test's name and verdict. A test with a docstring takes two lines; logs may be between."""
    verdicts, name = {}, None
    for line in output.splitlines():
        match = re.match(r'\w+ \(tests\.([\w.]+)\)', line)
        if match:
            name = match[1]
        match = re.search(r'(?:\.\.\. |^)(ok|ERROR|FAIL|skipped .*)$', line)
        if match and name:
            verdicts[name] = match[1]
            name = None
    return verdicts


def main():
    launcher = os.path.abspath(sys.argv[1])
    if not os.path.isdir(SOURCE):
        skip(f'{SOURCE} is not there (package python3-pyverbs)')
    if subprocess.run([sys.executable, '-c', 'import pyverbs.device'], capture_output=True,
                      check=False).returncode != 0:
        skip('pyverbs is not there (package python3-pyverbs)')
    wanted = [f'{group}.{test}' for group, tests in MUST_PASS.items() for test in tests]
    env = dict(os.environ, SOFTHCA_FORCE='1')
    with tempfile.TemporaryDirectory(prefix='rdma-core-tests.') as folder:
        unpack(folder)
        run = subprocess.run(
            [launcher, sys.executable, 'tests/run_tests.py', '-v', '--dev', 'mlx5_0', '--port', '1',
             *(f'tests.{name}' for name in wanted)],
            cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=TIMEOUT, check=False)
    verdicts = results(run.stdout)
    bad = {name: verdicts.get(name, 'did not run') for name in wanted
           if verdicts.get(name) != 'ok'}
    for name, verdict in bad.items():
        print(f'{name}: {verdict}')
    if bad:
        print(run.stdout)
    print(f'{len(wanted) - len(bad)} of {len(wanted)} ok')
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()
