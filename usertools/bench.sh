#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry without assertions and prints the costs of the emulated adapter: 64-byte operations,
# copies against memcpy(3), idle queues, an idle adapter, and instructions per operation (by valgrind).
# hwq: the costs of posting and polling, by stock libmlx5 and by lib/hwq.
#
# usage: usertools/bench.sh [ops|copies|idle|wait|instructions|hwq]...     default: all of them
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}"
say "building in build-bench/"
build build-bench -Dbuildtype=release
bench=$top/build-bench/test/bench/bench_softhca
bench_hwq=$top/build-bench/test/bench/bench_hwq
bench_idle=$top/build-bench/test/bench/bench_idle

# The instructions of softhca_pump() and its callees, divided by its operations: 64 bursts of 32.
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

# What an idle adapter costs, and how soon it answers. Other work on the machine spoils both, so its load
# is printed too.
waiting() {
	printf '%s CPUs; load of the last minute %s\n' "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
	"$bench_idle"
}

# One run for each burst size measures both libraries. Reads the inclusive cost of each function.
hwq() {
	local out counts burst
	command -v valgrind >/dev/null || need valgrind
	out=$(mktemp)
	counts=$(mktemp)
	for burst in 1 32; do
		SOFTHCA_THREADS=0 valgrind --tool=callgrind --callgrind-out-file="$out" \
			--toggle-collect='measured_*' "$bench_hwq" count "$burst" \
			>"$out.ops" 2>/dev/null || die "callgrind failed at bursts of $burst"
		callgrind_annotate --inclusive=yes --threshold=100 "$out" |
			awk -v burst="$burst" 'NR == FNR {ops[$1] = $2; next}
				match($0, /measured_[a-z0-9_]+/) {
					name = substr($0, RSTART, RLENGTH); n = $1; gsub(",", "", n)
					if (name in ops && n + 0 > best[name] + 0) best[name] = n
				}
				END {for (name in best) print name, burst, best[name] / ops[name]}' \
				"$out.ops" - >>"$counts"
	done
	"$bench_hwq" "$counts"
	rm -f "$out" "$out.ops" "$counts"
}

[ $# -gt 0 ] || set -- ops copies idle wait instructions hwq
for what in "$@"; do
	case $what in
	ops | copies | idle) "$bench" "$what" ;;
	wait) waiting ;;
	instructions | hwq) "$what" ;;
	*) die "unknown '$what': ops, copies, idle, wait, instructions or hwq" ;;
	esac
done
