#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The long form of the adapter's fuzzer: malformed control calls and malformed WQEs, seed after seed,
# plain and under ASan and UBSan in turn. Stops at the first seed that fails, and says how to repeat it.
#
# usage: usertools/fuzz.sh [SECONDS [FIRST SEED]]     default: 600, a seed by the clock
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
end=$((SECONDS + ${1:-600})) seed=${2:-$(date +%s)} first=$seed rounds=10

need "${build_packages[@]}" util-linux
say "building in build/ and build-test/asan/"
build build
build build-test/asan -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false

log=$(mktemp)
trap 'rm -f "$log"' EXIT
while [ $SECONDS -lt "$end" ]; do
	# Addresses are part of what is tried: without randomisation a seed tries the same again.
	for dir in build build-test/asan; do
		if ! ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 \
			timeout 300 setarch -R "$top/$dir/test/emu/fuzz_softhca" "$rounds" "$seed" \
			>"$log" 2>&1; then
			tail -n 40 "$log" >&2
			die "seed $seed fails; again: setarch -R $dir/test/emu/fuzz_softhca $rounds $seed"
		fi
	done
	seed=$((seed + 1))
done
say "$((seed - first)) seeds from $first on: no crash, no hang, nothing touched that is not registered"
