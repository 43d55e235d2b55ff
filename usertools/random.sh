#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A long run of the engine's random test: a seed draws descriptors, faults and other events, and a
# model knows the effect of each. It runs on adapters with DMA MMO, with the shortest MMO limit, and
# without MMO. It runs in one thread, where a seed repeats a run exactly, and in several threads
# with a hundredth of the descriptors. It runs first without sanitizers, then under ASan and UBSan
# with a tenth of the descriptors.
#
# With --empty, most descriptors are messages without data, and the seed decides the order in which the adapter moves bytes.
# Each message that succeeded must have a receive that succeeded. DESCRIPTORS run in one thread, then a tenth in several.
#
# With --two-processes, two processes send to each other, a thousand descriptors in each of ROUNDS rounds. In each round a seed
# decides whether one or both are stopped for a while, or one is killed and replaced by a fresh process.
#
# usage: usertools/random.sh [DESCRIPTORS [SEED]]     default: 1000000, a seed by the clock
#        usertools/random.sh --empty [DESCRIPTORS [SEED]]
#        usertools/random.sh --two-processes [ROUNDS [SEED]]     default: 1000
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
empty='' two=''
case ${1:-} in
--empty) empty=1 ;;
--two-processes) two=1 ;;
esac
[ -z "$empty$two" ] || shift
n=${1:-$((two ? 1000 : 1000000))} seed=${2:-$(date +%s)}

need "${build_packages[@]}"
targets=(test/test_gantry_random test/test_gantry_two)
if [ -n "$two" ]; then
	say "building in build/"
	build build
	for threads in 1 0; do
		say "SOFTHCA_THREADS=$threads, seed $seed"
		SOFTHCA_THREADS=$threads "$top/build/test/test_gantry_two" --rounds "$n" --seed "$seed"
	done
	exit
fi
if [ -n "$empty" ]; then
	say "building in build/"
	build build
	for threads in 0 1 2; do
		say "SOFTHCA_THREADS=$threads, seed $seed"
		SOFTHCA_THREADS=$threads SOFTHCA_REORDER=$seed "$top/build/test/test_gantry_random" --empty \
			$((threads == 0 ? n : n / 10)) "$seed"
	done
	exit
fi
say "building in build/ and build-test/asan/"
build build
build build-test/asan -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false

for max_memcpy in 1048576 64 0; do
	for threads in 0 1; do
		export SOFTHCA_MAX_MEMCPY=$max_memcpy SOFTHCA_THREADS=$threads
		m=$((threads == 0 ? n : n / 100))
		say "SOFTHCA_MAX_MEMCPY=$max_memcpy SOFTHCA_THREADS=$threads, seed $seed"
		"$top/build/test/test_gantry_random" "$seed" "$m"
		say "SOFTHCA_MAX_MEMCPY=$max_memcpy SOFTHCA_THREADS=$threads, seed $seed, under ASan and UBSan"
		UBSAN_OPTIONS=halt_on_error=1 "$top/build-test/asan/test/test_gantry_random" "$seed" $((m / 10))
	done
done
