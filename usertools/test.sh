#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry with warnings as errors and runs its tests: plain, under ASan and UBSan, and under TSan;
# then the main job of run.sh. The last line counts the results of all suites. Exits with 0 only if
# nothing failed.
#
# usage: usertools/test.sh [plain|asan|tsan|main]...     default: all of them
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" "${test_packages[@]}"

passed=0 failed=0 skipped=0

# suite NAME WHAT [MESON OPTION...]: builds and runs one suite, and adds its results to the totals.
suite() {
	local name=$1 what=$2 dir=build-test/$1 log code=0 counts
	shift 2
	say "$what: building in $dir"
	build "$dir" -Dwerror=true "$@"
	log=$top/$dir/meson-logs/testlog.json
	rm -f "$log"
	say "$what: running"
	# TSan programs do not run with the address-space randomisation of newer kernels, so it is switched off.
	setarch -R true 2>/dev/null && [ "$name" = tsan ] && local wrap='setarch -R'
	# shellcheck disable=SC2086
	${wrap:-} meson test -C "$top/$dir" --no-rebuild --print-errorlogs || code=$?
	[ -f "$log" ] || die "meson test wrote no $log"
	counts=$("$top/usertools/count-tests.py" "$log")
	read -r p f s <<<"$counts"
	# If meson fails without a failed test, that counts as one failure.
	[ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

main_job() {
	say "the main job: usertools/run.sh"
	# In the plain suite's build directory: a build of its own would take another minute.
	build build-test/plain -Dwerror=true
	if GANTRY_BUILD=build-test/plain "$top/usertools/run.sh"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

[ $# -gt 0 ] || set -- plain asan tsan main
for what in "$@"; do
	case $what in
	plain) suite plain "tests" ;;
	asan) suite asan "tests under ASan and UBSan" -Db_sanitize=address,undefined -Db_lundef=false ;;
	tsan) suite tsan "tests under TSan" -Db_sanitize=thread -Db_lundef=false ;;
	main) main_job ;;
	*) die "unknown suite '$what': plain, asan, tsan or main" ;;
	esac
done

[ $((passed + failed)) -gt 0 ] || failed=1
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
