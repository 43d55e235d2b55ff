#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs Gantry's suites `fast` and `emu` with the libraries of another rdma-core, and that
# rdma-core's own tests on the emulated adapter. It builds Gantry, but not rdma-core: build
# rdma-core first, by its README.md (./build.sh, or cmake and ninja). Before anything runs, it
# checks that each program loads libibverbs and libmlx5 from BUILD, not from the system.
#
# usage: usertools/rdma-core.sh BUILD [--suites] [--tests] [--table FILE] [MODULE...]
#   BUILD          the build directory of rdma-core: it has lib/, python/ and CMakeCache.txt
#   --suites       only Gantry's suites
#   --tests        only rdma-core's tests. Prints the result of each. They need its pyverbs
#   --table FILE   writes the results of rdma-core's tests to FILE, as a page
#   MODULE...      only these of rdma-core's tests: test_cq, test_qp, ...
#
# The exit code is 0 if all tests of the suites passed, if each of rdma-core's tests that is "ok" with version
# 44 (test/conformance/rdma-core-44-must.txt) is "ok" or missing, and if only tests of steering failed.
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
usage() {
	die "$1: see usertools/rdma-core.sh --help"
}

[ $# -gt 0 ] || usage "BUILD is missing"
rdma=$1 suites='' tests='' table=() modules=()
shift
while [ $# -gt 0 ]; do
	case $1 in
	--suites) suites=yes ;;
	--tests) tests=yes ;;
	--table)
		[ $# -gt 1 ] || usage "--table needs a FILE"
		table=(--table "$2")
		shift
		;;
	-*) usage "unknown option '$1'" ;;
	*) modules+=("$1") ;;
	esac
	shift
done
[ -n "$suites$tests" ] || { suites=yes tests=yes; }

[ -d "$rdma" ] || die "$rdma is no directory"
rdma=$(cd "$rdma" && pwd -P)
[ -f "$rdma/CMakeCache.txt" ] ||
	die "$rdma has no CMakeCache.txt: BUILD is the directory in which cmake and ninja built rdma-core"
for lib in libibverbs.so.1 libmlx5.so.1; do
	[ -e "$rdma/lib/$lib" ] || die "$rdma/lib/$lib is not there: build rdma-core first"
done
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$rdma/CMakeCache.txt")
version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")$/\1/p' "$source/CMakeLists.txt" 2>/dev/null) || true
[ -n "$version" ] || die "'$source', named by $rdma/CMakeCache.txt, is no source of rdma-core"

need "${build_packages[@]}" "${test_packages[@]}" iproute2
dir=build-test/plain
say "building in $dir"
build "$dir" -Dwerror=true

# Some tests run ibv_devinfo. If rdma-core was not built to be used in its build directory,
# libibverbs searches for libmlx5 in folders of the system.
theirs=(PATH="$rdma/bin:$PATH" LD_LIBRARY_PATH="$rdma/lib" IBV_DRIVERS="$rdma/lib/libmlx5")

# programs: prints the programs of the suites, each once.
programs() {
	meson introspect --tests "$top/$dir" | /usr/bin/python3 -c '
import json, sys
for test in json.load(sys.stdin):
    if {suite.split(":")[-1] for suite in test["suite"]} & {"fast", "emu"}:
        print(test["cmd"][0])' | sort -u
}

# libraries PROGRAM: prints the paths of its libibverbs and libmlx5, as the loader finds them.
libraries() {
	env "${theirs[@]}" ldd "$1" 2>/dev/null | awk '$1 ~ /^lib(ibverbs|mlx5)\./ {print $3}'
}

# Ends the script if a program of the suites would load a library that is not from BUILD.
check_libraries() {
	local program path n=0
	while read -r program; do
		while read -r path; do
			n=$((n + 1))
			[[ $(realpath "$path") == "$rdma"/* ]] ||
				die "$program would load $path, and not the library of $rdma/lib"
		done < <(libraries "$program")
	done < <(programs)
	[ "$n" -gt 0 ] || die "no program of the suites loads libibverbs: is Gantry built with static libraries?"
	# libibverbs loads providers by name. Only a run of the program shows which file was loaded.
	local loaded
	loaded=$(env "${theirs[@]}" LD_DEBUG=libs SOFTHCA_THREADS=0 "$top/$dir/test/test_hwq_configure" 2>&1 |
		sed -n 's/.*calling init: \(.*lib\(ibverbs\|mlx5\).*\)/\1/p' | sort -u)
	while read -r path; do
		[[ $(realpath "$path") == "$rdma"/* ]] || die "a program of the suites loaded $path too"
	done <<<"$loaded"
	say "rdma-core $version: $n links to its libibverbs and libmlx5, and to no other"
}

failed=0
if [ -n "$suites" ]; then
	check_libraries
	log=$top/$dir/meson-logs/testlog.json
	rm -f "$log"
	say "the suites fast and emu, with the libraries of rdma-core $version"
	env "${theirs[@]}" meson test -C "$top/$dir" --no-rebuild --print-errorlogs --suite fast --suite emu ||
		failed=1
	[ -f "$log" ] || die "meson test wrote no $log"
	read -r p f s <<<"$("$top/usertools/count-tests.py" --names "$log")"
	suites_line="fast and emu: $p passed, $f failed, $s skipped"
fi
if [ -n "$tests" ]; then
	[ -d "$rdma/python/pyverbs" ] ||
		die "$rdma/python/pyverbs is not there: build rdma-core with pyverbs (cython, libpython3-dev), or run --suites"
	say "rdma-core $version's own tests"
	# Steering and raw receive queues are not emulated. Some tests of these features fail
	# instead of being skipped.
	"$top/test/conformance/test_rdma_core.py" "$top/$dir/drivers/softhca/softhca" \
		"$top/test/conformance/rdma-core-44-must.txt" --build "$rdma" --names "${table[@]}" \
		--may-fail 'tests.test_mlx5_dr.*' --may-fail 'tests.test_flow.*' \
		--may-fail 'tests.test_mlx5_flow.*' "${modules[@]}" || failed=1
fi
[ -z "$suites" ] || printf '%s\n' "$suites_line"
exit $failed
