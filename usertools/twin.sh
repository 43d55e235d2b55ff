#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry and gives stock libmlx5 and lib/hwq the same random work requests, on twin queues: equal
# bytes, equal errors. Prints how often each QP type, builder, setter and set of flags came up.
#
# usage: usertools/twin.sh [CASES [SEED]]     of each builder and type; default: 1000000, the clock
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}"
say "building in build/"
build build
cases=${1:-1000000}
seed=${2:-$(date +%s%N)}
for program in test_hwq_bytes test_hwq_bytes_transports test_hwq_bytes_umr test_hwq_bytes_mkey; do
	say "$program, at least $cases cases of each, seed $seed"
	env SOFTHCA_CRYPTO="${SOFTHCA_CRYPTO:-objects}" \
		"$top/build/test/emu/$program" "$cases" "$seed"
done
