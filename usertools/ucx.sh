#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs UCX of another version on the emulated adapter: its unit tests of the transports rc_mlx5, dc_mlx5 and ud_mlx5, and
# its ucx_perftest with itself. It builds Gantry, but not UCX: build UCX first, by its README.md, with
# contrib/configure-devel --with-verbs --with-mlx5 (unit tests are in test/gtest) and make.
#
# usage: usertools/ucx.sh BUILD [--tests] [--perf] [--gga] [SUITE...]
#   BUILD      the build directory of UCX: it has test/gtest/gtest and src/tools/perf/ucx_perftest
#   --tests    only the unit tests. Prints the result of each suite, and each test that failed
#   --perf     only ucx_perftest: test/conformance/test_ucx.py, its upper layer over each transport
#   --gga      only copies between functions of a card, with UCX 1.18 or later: unit tests of the transport gga_mlx5, of
#              exported keys and of DEVX, and ucx_perftest -l over gga_mlx5, also with data compared
#   SUITE...   only these suites of unit tests: rc_mlx5/uct_amo_cswap_test, ud_mlx5/test_ud, ...
#
# If a suite aborts or takes more than ten minutes, the script goes on with the next suite. The
# suites of performance (test_uct_perf, test_uct_loopback) are left out: they take longer than all
# other suites together, and compare no data. At the end the script prints the counts of each
# transport. The exit code is 0 if only tests failed that doc/softhca-programs.md lists.
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
[ $# -gt 0 ] || die "BUILD is missing: see usertools/ucx.sh --help"
ucx=$1 tests='' perf='' gga='' suites=()
shift
for word in "$@"; do
	case $word in
	--tests) tests=yes ;;
	--perf) perf=yes ;;
	--gga) gga=yes ;;
	-*) die "unknown option '$word': see usertools/ucx.sh --help" ;;
	*) suites+=("$word") tests=yes ;;
	esac
done
[ -n "$tests$perf$gga" ] || { tests=yes perf=yes; }
ucx=$(cd "$ucx" 2>/dev/null && pwd -P) || die "BUILD is no directory"
for file in test/gtest/gtest src/tools/perf/ucx_perftest; do
	[ -x "$ucx/$file" ] || die "$ucx/$file is not there: build UCX first, with unit tests (--enable-gtest)"
done

need "${build_packages[@]}" "${test_packages[@]}"
dir=build-test/plain
say "building in $dir"
build "$dir" -Dwerror=true
launcher=$top/$dir/drivers/softhca/softhca
# UCX supports cards up to the ConnectX-7. Its tests need the network interface of a GID, and CQs as
# long as those of cards.
netdev=$(ip -o -4 addr show up scope global | awk 'NR == 1 {print $2}')
part=4129
# DMA MMO is a feature of BlueField, which UCX knows since 1.18.
[ -z "$gga" ] || part=41692
log=$(mktemp)
trap 'rm -f "$log"' EXIT

gtest() {
	(cd "$ucx/test/gtest" && env SOFTHCA_PART_ID="$part" SOFTHCA_MAX_CQE=4194303 SOFTHCA_RETRY_MAX_MS=500 UCX_HANDLE_ERRORS=bt ${netdev:+SOFTHCA_NETDEV="$netdev"} timeout 600 "$launcher" ./gtest "$@")
}

declare -A ok=() skipped=() bad=()

# run_suite NAME: runs a suite, and prints its counts and the tests that failed or did not end.
# Counts failed tests that the page does not list.
run_suite() {
	local rc=0 failed name transport=${1%%/*} n_ok n_skipped
	gtest --gtest_filter="$1.*" >"$log" 2>&1 </dev/null || rc=$?
	failed=$(sed -n 's/^\[  FAILED  \] \([^ ,]*\).* (.* ms)$/\1/p' "$log" | sort -u)
	if ! grep -q '^\[==========\] .* ran\.' "$log"; then
		failed+=" $(sed -n 's/^\[ RUN      \] \([^ ]*\).*/\1/p' "$log" | tail -n 1)"
		say "$1 did not end (exit code $rc)"
	fi
	n_ok=$(grep -c '^\[       OK' "$log" || true)
	n_skipped=$(grep -c '^\[     SKIP' "$log" || true)
	say "$1: $n_ok ok, $n_skipped of them skipped"
	ok[$transport]=$((${ok[$transport]:-0} + n_ok)) skipped[$transport]=$((${skipped[$transport]:-0} + n_skipped))
	for name in $failed; do
		bad[$transport]=$((${bad[$transport]:-0} + 1))
		if grep -qF "\`${name%/*}\`" "$top/doc/softhca-programs.md"; then
			echo "failed, as listed: $name"
		else
			echo "FAILED: $name"
			unlisted=$((unlisted + 1))
		fi
	done
}

unlisted=0
if [ -n "$gga" ]; then
	[ ${#suites[@]} -gt 0 ] || mapfile -t suites < <(gtest --gtest_list_tests --gtest_filter='gga_mlx5/*:*devx*:*mmap_export*:*export*' 2>/dev/null |
		sed -n 's/^\([A-Za-z0-9_]*\/[A-Za-z0-9_]*\)\.$/\1/p' | grep -v -e /test_uct_perf -e /test_uct_loopback)
	[ ${#suites[@]} -gt 0 ] || die "$ucx/test/gtest/gtest lists no tests of gga_mlx5: UCX 1.18 or later has it, if it is configured --with-mlx5"
	for suite in "${suites[@]}"; do
		run_suite "$suite"
		awk '/^\[ RUN / {name = $4} /^\[     SKIP/ {sub(/^\[     SKIP \] /, ""); print "skipped: " name " " $0}' "$log"
	done
	for transport in "${!ok[@]}"; do
		say "$transport: ${ok[$transport]} ok, ${skipped[$transport]} of them skipped; ${bad[$transport]:-0} failed"
	done
	perftest() {
		env SOFTHCA_PART_ID="$part" SOFTHCA_MAX_CQE=4194303 ${netdev:+SOFTHCA_NETDEV="$netdev"} timeout 600 "$launcher" \
			"$ucx/src/tools/perf/ucx_perftest" -l -n 300 "$@"
	}
	for test in put_bw get; do
		for size in 1 4096 2097152; do
			say "ucx_perftest -l -x gga_mlx5 -t $test -s $size"
			perftest -t "$test" -x gga_mlx5 -d mlx5_0:1 -s "$size" -D zcopy | tail -n 1
		done
	done
	# ucx_perftest compares data only for messages of its upper layer. With these transports, it reads the data
	# of a message by gga_mlx5; its table of protocols says so.
	for size in 65536 1048583 2097152; do
		say "ucx_perftest -l, messages of $size bytes by gga_mlx5, data compared"
		UCX_TLS=gga_mlx5,self UCX_RNDV_THRESH=0 UCX_PROTO_INFO=y perftest -t tag_lat -V -s "$size" >"$log" 2>&1 ||
			die "ucx_perftest failed: $(tail -n 3 "$log")"
		grep -q 'zero-copy read from remote .*gga_mlx5' "$log" || die "ucx_perftest has not used gga_mlx5: $(<"$log")"
		tail -n 1 "$log"
	done
	tests='' perf=''
fi
if [ -n "$tests" ]; then
	[ ${#suites[@]} -gt 0 ] || mapfile -t suites < <(gtest --gtest_list_tests --gtest_filter='rc_mlx5/*:dc_mlx5/*:ud_mlx5/*' 2>/dev/null |
		sed -n 's/^\([a-z0-9_]*\/[A-Za-z0-9_]*\)\.$/\1/p' | grep -v -e /test_uct_perf -e /test_uct_loopback)
	[ ${#suites[@]} -gt 0 ] || die "$ucx/test/gtest/gtest lists no tests of mlx5 transports: configure UCX --with-verbs --with-mlx5"
	for suite in "${suites[@]}"; do
		run_suite "$suite"
	done
	for transport in "${!ok[@]}"; do
		say "$transport: ${ok[$transport]} ok, ${skipped[$transport]} of them skipped; ${bad[$transport]:-0} failed"
	done
fi
if [ -n "$perf" ]; then
	say "ucx_perftest, upper layer"
	PATH=$ucx/src/tools/perf:$PATH "$top/test/conformance/test_ucx.py" "$launcher" \
		Perftest.test_ucp_{rc_verbs,rc_mlx5,dc_mlx5,ud_verbs,ud_mlx5}
fi
[ "$unlisted" -eq 0 ] || die "$unlisted tests failed that doc/softhca-programs.md does not list"
