#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry with warnings as errors and runs its tests: plain, under ASan and UBSan, and under TSan;
# then the main job of run.sh. At the end it prints the skipped tests, and the failed tests with the end of their output. The
# last line counts the results of all suites. Exits with 0 only if nothing failed. While the tests of a suite
# run, the next suite is built, at the lowest priority.
#
# usage: usertools/test.sh [plain|asan|tsan|main]...     default: all of them
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" "${test_packages[@]}"

passed=0 failed=0 skipped=0
# Lines about skipped and failed tests, for the end.
remarks=

# For each suite: its title, and Meson's options. The plain suite needs only line numbers as debug information; without all
# other debug information, gcc is a third faster.
declare -A what=([plain]="tests" [asan]="tests under ASan and UBSan" [tsan]="tests under TSan")
declare -A options=([plain]="-Dc_args=-g1"
	[asan]="-Db_sanitize=address,undefined -Db_lundef=false"
	[tsan]="-Db_sanitize=thread -Db_lundef=false")

# The process that builds the next suite. It leads a process group, so that a signal also ends its
# compilers.
building=
trap '[ -z "$building" ] || kill -- "-$building" 2>/dev/null || true' EXIT

# build_beside SUITE: starts to build a suite, with CPU time that the tests do not use.
build_beside() {
	say "${what[$1]}: building in build-test/$1"
	set -m
	# shellcheck disable=SC2086
	(renice -n 19 "$BASHPID" >/dev/null && build "build-test/$1" -Dwerror=true ${options[$1]}) &
	building=$!
	set +m
}

# suite NAME [NEXT]: runs one suite, while NEXT is built, and adds its results to the totals.
suite() {
	local name=$1 next=${2:-} dir=build-test/$1 log code=0 counts wrap=
	if [ -z "$building" ]; then
		say "${what[$name]}: building in $dir"
		# shellcheck disable=SC2086
		build "$dir" -Dwerror=true ${options[$name]}
	else
		wait "$building" || die "the tests cannot run, because their build failed: see above"
		building=
	fi
	[ -z "$next" ] || build_beside "$next"
	log=$top/$dir/meson-logs/testlog.json
	rm -f "$log"
	say "${what[$name]}: running"
	# TSan programs do not run with the address-space randomisation of newer kernels, so it is switched off.
	[ "$name" = tsan ] && setarch -R true 2>/dev/null && wrap='setarch -R'
	# Many tests wait for the device or for a clock. One more at a time than there are CPUs uses that time.
	# shellcheck disable=SC2086
	$wrap meson test -C "$top/$dir" --no-rebuild --print-errorlogs --num-processes $(($(nproc) + 1)) || code=$?
	[ -f "$log" ] || die "meson test wrote no $log"
	counts=$("$top/usertools/count-tests.py" --outputs "$log" 2>"$log.remarks")
	[ ! -s "$log.remarks" ] || remarks+="== ${what[$name]}"$'\n'$(<"$log.remarks")$'\n'
	read -r p f s <<<"$counts"
	# If meson fails although no test has failed, this counts as one failure.
	[ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

main_job() {
	say "the main job: usertools/run.sh"
	# Use the plain suite's build directory, because a separate build would take another minute.
	build build-test/plain -Dwerror=true
	if GANTRY_BUILD=build-test/plain "$top/usertools/run.sh"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		remarks+="failed: the main job: usertools/run.sh"$'\n'
	fi
}

[ $# -gt 0 ] || set -- plain asan tsan main
for name in "$@"; do
	[ -n "${what[$name]:-}" ] || [ "$name" = main ] || die "unknown suite '$name': plain, asan, tsan or main"
done
while [ $# -gt 0 ]; do
	if [ "$1" = main ]; then
		main_job
	else
		next=
		[ $# -gt 1 ] && [ "$2" != main ] && [ "$2" != "$1" ] && next=$2
		suite "$1" "$next"
	fi
	shift
done

[ $((passed + failed)) -gt 0 ] || failed=1
printf '%s' "$remarks"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
