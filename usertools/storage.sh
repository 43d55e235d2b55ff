#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs storage programs that connect by rdma_cm, between two processes on the emulated adapter: fio with ioengine=rdma,
# tgt's iSER target with libiscsi's initiator in qemu-img, and the migration of a virtual machine of QEMU. The bytes are
# compared. Installs fio, tgt and QEMU. The suite `conformance` runs the same without the migration.
#
# usage: usertools/storage.sh [CASE...]     default: Fio Iser Qemu
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" "${test_packages[@]}" qemu-system-x86 seabios
say "building the adapter in build/"
targets=(drivers/softhca/softhca) # links to the library
build build
[ $# -gt 0 ] || set -- Fio Iser Qemu
"$top/test/conformance/test_storage.py" "$top/build/drivers/softhca/softhca" "$@"
