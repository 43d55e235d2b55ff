#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry, and runs its plain suites several times while other processes keep CPUs busy: no
# test may depend on an idle machine. With "stops", each test is also stopped at random times for up
# to 0.3 s. Prints the result of each run, and the names of the tests that failed in it. The output
# of failed tests is in build-test/loaded-RUN.txt. The exit code is 0 if no test failed in any run.
#
# usage: usertools/loaded.sh [RUNS [BUSY [stops]]]     default: 10 runs with 2 busy processes
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
runs=${1:-10} busy=${2:-2}
[[ $# -le 3 && $runs =~ ^[1-9][0-9]{0,3}$ && $busy =~ ^[0-9]{1,3}$ && ${3:-stops} = stops ]] ||
	die "RUNS and BUSY are decimal numbers, and the third word is 'stops': see usertools/loaded.sh --help"
wrapper=()
[ $# -lt 3 ] || wrapper=(--wrapper "$top/usertools/stop-at-random.py")

need "${build_packages[@]}" "${test_packages[@]}"
say "building in build-test/plain"
build build-test/plain -Dwerror=true

pids=()
stop() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
}
trap stop EXIT
for ((i = 0; i < busy; i++)); do
	(while :; do :; done) &
	pids+=($!)
done

# The name of Meson's log contains the name of the wrapper.
log=$top/build-test/plain/meson-logs/testlog${wrapper:+-stop-at-random.py}.json
bad=0
for ((i = 1; i <= runs; i++)); do
	rm -f "$log"
	code=0
	# Tests take longer while other processes keep CPUs busy. A slow test is not a failure.
	meson test -C "$top/build-test/plain" --no-rebuild --quiet --timeout-multiplier 4 "${wrapper[@]}" \
		>/dev/null 2>&1 || code=$?
	[ -f "$log" ] || die "meson test wrote no $log"
	read -r passed failed skipped <<<"$("$top/usertools/count-tests.py" --names "$log")"
	[ "$code" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
	if [ "$failed" -gt 0 ]; then
		bad=$((bad + 1))
		cp "${log%.json}.txt" "$top/build-test/loaded-$i.txt"
	fi
	printf 'run %d of %d: %d passed, %d failed, %d skipped\n' "$i" "$runs" "$passed" "$failed" "$skipped"
done
printf '%d of %d runs without a failure\n' $((runs - bad)) "$runs"
[ "$bad" -eq 0 ]
