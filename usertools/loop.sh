#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry and runs the tests that use the emulated adapter with SOFTHCA_WIRE=loop: messages between queue pairs
# of one process then go through sockets, as messages between two processes do. Prints the names of the failed tests
# with the end of their outputs. The exit code is 0 if no test failed.
#
# usage: usertools/loop.sh [TEST...]     default: the suites emu and conformance, without the tests that left_out names
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" "${test_packages[@]}"
dir=$top/build-test/plain
say "building in build-test/plain"
build build-test/plain -Dwerror=true -Dc_args=-g1

# Tests that rely on what holds only inside a process: a regular expression for their names, and the reason.
left_out() {
	cat <<-'END'
		gantry_errors_loopback                        # a queue pair connected to itself has failed before the answer comes
		gantry_telemetry_loopback                     # the same
		gantry_mem_kinds_.*                           # the same
		test_hwq_crypto_crypto_(plaintext.*|wrapped)  # the same
		dma_mlx5_(mmo|tiny|reorder.*)                 # the same
		gantry_random_pumped                          # two runs with one seed make the same turns
	END
}
if [ $# -eq 0 ]; then
	pattern=$(left_out | sed 's/ *#.*//' | paste -sd '|')
	mapfile -t tests < <(meson test -C "$dir" --no-rebuild --list --suite emu --suite conformance |
		sed -n 's|.* / ||p' | grep -vxE "$pattern")
	set -- "${tests[@]}"
fi
log=$dir/meson-logs/testlog.json
rm -f "$log"
code=0
SOFTHCA_WIRE=loop meson test -C "$dir" --no-rebuild --timeout-multiplier 4 "$@" || code=$?
[ -f "$log" ] || die "meson test wrote no $log"
read -r passed failed skipped <<<"$("$top/usertools/count-tests.py" --outputs "$log")"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
exit "$code"
