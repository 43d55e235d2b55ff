#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry without assertions and prints what the emulated adapter costs: 64-byte operations,
# copies against memcpy(3), idle queues; and, where valgrind is there, instructions per operation.
#
# usage: usertools/bench.sh [ops|copies|idle|instructions]...     default: all of them
set -euo pipefail
. "$(dirname "$0")/common.sh"

case ${1:-} in
-h | --help)
	sed -n '3,6s/^# \{0,1\}//p' "$0"
	exit 0
	;;
esac

need "${build_packages[@]}"
say "building in build-bench/"
build build-bench -Dbuildtype=release
bench=$top/build-bench/test/bench/bench_softhca

# What softhca_pump() and all it calls executed, over the operations that it ran: 64 bursts of 32.
instructions() {
	local op out count
	command -v valgrind >/dev/null || need valgrind
	out=$(mktemp)
	printf 'instructions per 64-byte operation in the device, at bursts of 32 (callgrind)\n'
	for op in memcpy write read inline nop; do
		SOFTHCA_THREADS=0 valgrind --tool=callgrind --callgrind-out-file="$out" \
			--toggle-collect=softhca_pump "$bench" count "$op" >/dev/null 2>&1 ||
			die "callgrind failed on $op"
		count=$(awk '/^(summary|totals):/ {n = $2} END {print n}' "$out")
		printf '  %-8s %6d\n' "$op" $((count / (64 * 32)))
	done
	rm -f "$out"
}

[ $# -gt 0 ] || set -- ops copies idle instructions
for what in "$@"; do
	case $what in
	ops | copies | idle) "$bench" "$what" ;;
	instructions) instructions ;;
	*) die "unknown '$what': ops, copies, idle or instructions" ;;
	esac
done
