#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A long run of the engine's random test: a seed draws descriptors, and a model says the effect of each.
# It runs on adapters with DMA MMO, with the shortest MMO limit, and without MMO; plain, then under ASan and
# UBSan with a tenth of the descriptors.
#
# usage: usertools/random.sh [DESCRIPTORS [SEED]]     default: 1000000 for each queue, a seed by the clock
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
n=${1:-1000000} seed=${2:-$(date +%s)}

need "${build_packages[@]}"
targets=(test/test_gantry_random)
say "building in build/ and build-test/asan/"
build build
build build-test/asan -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false

for max_memcpy in 1048576 64 0; do
	say "SOFTHCA_MAX_MEMCPY=$max_memcpy, seed $seed"
	SOFTHCA_MAX_MEMCPY=$max_memcpy "$top/build/test/test_gantry_random" "$seed" "$n"
	say "SOFTHCA_MAX_MEMCPY=$max_memcpy, seed $seed, under ASan and UBSan"
	SOFTHCA_MAX_MEMCPY=$max_memcpy UBSAN_OPTIONS=halt_on_error=1 \
		"$top/build-test/asan/test/test_gantry_random" "$seed" $((n / 10 > 4000 ? n / 10 : 4000))
done
