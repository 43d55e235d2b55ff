#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry and runs the tests that use the emulated adapter with SOFTHCA_WIRE=loop: messages between queue pairs
# of one process then go through sockets, as messages between two processes do. Prints the names of the failed tests
# with the end of their outputs. The exit code is 0 if no test failed.
#
# usage: usertools/loop.sh [TEST...]     default: the suites emu and conformance
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" "${test_packages[@]}"
dir=$top/build-test/plain
say "building in build-test/plain"
build build-test/plain -Dwerror=true -Dc_args=-g1

[ $# -gt 0 ] || set -- --suite emu --suite conformance
log=$dir/meson-logs/testlog.json
rm -f "$log"
code=0
SOFTHCA_WIRE=loop meson test -C "$dir" --no-rebuild --timeout-multiplier 4 "$@" || code=$?
[ -f "$log" ] || die "meson test wrote no $log"
read -r passed failed skipped <<<"$("$top/usertools/count-tests.py" --outputs "$log")"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
exit "$code"
