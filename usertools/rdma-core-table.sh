#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs rdma-core's own tests on the emulated adapter, and writes their results, with the reasons of skipped
# tests, to doc/softhca-rdma-core.md.
set -euo pipefail
. "$(dirname "$0")/common.sh"

need "${build_packages[@]}" python3 python3-cryptography python3-pyverbs python3-scapy rdma-core

build build-test/plain -Dwerror=true
# The table also shows tests that are not "ok", so the exit code is ignored.
"$top/test/conformance/test_rdma_core.py" "$top/build-test/plain/drivers/softhca/softhca" \
	"$top/test/conformance/rdma-core-44-must.txt" \
	--table "$top/doc/softhca-rdma-core.md" | tail -n 1
