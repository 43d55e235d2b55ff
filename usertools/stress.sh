#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A long run of the adapter's load test: 4 threads and 64 queue pairs, with every byte checked. Then the
# adapter is opened and closed many times, without a leak. First without sanitizers,
# then under TSan with a tenth of the operations.
#
# usage: usertools/stress.sh [OPERATIONS [CYCLES [SEED]]]     default: 20000000 10000, a seed by the clock
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
ops=${1:-20000000} cycles=${2:-10000} seed=${3:-$(date +%s)}

need "${build_packages[@]}" util-linux
targets=(test/test_softhca_stress)
say "building in build/ and build-test/tsan/"
build build
build build-test/tsan -Dwerror=true -Db_sanitize=thread -Db_lundef=false

for threads in 0 2; do
	say "SOFTHCA_THREADS=$threads, seed $seed"
	SOFTHCA_THREADS=$threads "$top/build/test/test_softhca_stress" "$ops" "$cycles" "$seed"
	say "SOFTHCA_THREADS=$threads, seed $seed, under TSan"
	SOFTHCA_THREADS=$threads TSAN_OPTIONS="exitcode=66 suppressions=$top/config/tsan.supp" \
		setarch -R "$top/build-test/tsan/test/test_softhca_stress" \
		$((ops / 10)) $((cycles / 10)) "$seed"
done
