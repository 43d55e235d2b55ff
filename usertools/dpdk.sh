#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry against another DPDK, with warnings as errors, and tests it with this DPDK: the
# suites `fast` and `emu`, the dmadev driver with dpdk-test, dpdk-test-dma-perf and examples/dma,
# and vhost's asynchronous data path. It does not build DPDK: build and install it first
# (doc/building.md). Before anything runs, it checks that the programs load that DPDK, not the
# system's DPDK.
#
# usage: usertools/dpdk.sh DPDK [--short] [TEST...]
#   DPDK       the prefix where DPDK is installed, or its build directory after `ninja install`
#   --short    of the suite `emu`, only the tests of the driver, the examples, and a few of the engine
#   TEST...    only these tests, by their names in `meson test --list`
#
# DPDK must be configured with -Ddefault_library=shared, because its programs load drivers by -d. EAL refuses
# drivers below a folder that everybody may write to, such as /tmp. The exit code is 0 if no test failed.
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
usage() {
	die "$1: see usertools/dpdk.sh --help"
}

[ $# -gt 0 ] || usage "DPDK is missing"
dpdk=$1 short='' tests=()
shift
for word in "$@"; do
	case $word in
	--short) short=yes ;;
	-*) usage "unknown option '$word'" ;;
	*) tests+=("$word") ;;
	esac
done

[ -d "$dpdk" ] || die "$dpdk is not a directory"
dpdk=$(cd "$dpdk" && pwd -P)
if [ -f "$dpdk/meson-info/intro-buildoptions.json" ]; then
	prefix=$(/usr/bin/python3 -c '
import json, sys
print(*(option["value"] for option in json.load(open(sys.argv[1])) if option["name"] == "prefix"))' \
		"$dpdk/meson-info/intro-buildoptions.json")
	[ -d "$prefix" ] || die "$dpdk is not yet installed in $prefix: run ninja -C $dpdk install"
	dpdk=$(cd "$prefix" && pwd -P)
fi
pc=$(find "$dpdk" -name libdpdk.pc -path '*/pkgconfig/*' -print -quit)
[ -n "$pc" ] || die "$dpdk has no pkgconfig/libdpdk.pc: DPDK is the prefix of an installed DPDK, or its build directory"
export PKG_CONFIG_PATH=${pc%/*}
version=$(pkg-config --modversion libdpdk)
libdir=$(realpath "$(pkg-config --variable=libdir libdpdk)")
[ -e "$libdir/librte_eal.so" ] || die "$libdir/librte_eal.so does not exist: Gantry needs DPDK's shared libraries"
[ -x "$dpdk/bin/dpdk-test" ] || die "$dpdk/bin/dpdk-test does not exist: configure DPDK with -Dtests=true"
[[ $(ldd "$dpdk/bin/dpdk-test") == *librte_eal* ]] ||
	die "$dpdk/bin/dpdk-test is static and loads no drivers: configure DPDK with -Ddefault_library=shared"
folder=$libdir
while [ "$folder" != / ]; do
	[ -z "$(find "$folder" -maxdepth 0 -perm -o+w)" ] ||
		die "EAL loads no drivers below $folder, because everybody may write to it: install DPDK elsewhere"
	folder=$(dirname "$folder")
done

need "${build_packages[@]}" "${test_packages[@]}"
dir=build-test/dpdk-$version
say "DPDK $version in $dpdk: building in $dir"
build "$dir" -Dwerror=true -Dc_args=-g1

theirs=(PATH="$dpdk/bin:$PATH" LD_LIBRARY_PATH="$libdir")

# Ends the script if a program or library of the build would load a library of another DPDK.
check_libraries() {
	local path files paths
	mapfile -t files < <(meson introspect --targets "$top/$dir" | /usr/bin/python3 -c '
import json, os, sys
for target in json.load(sys.stdin):
    if target["type"] in ("executable", "shared library", "shared module"):
        print(*filter(os.path.isfile, target["filename"]), sep="\n")')
	mapfile -t paths < <(env "${theirs[@]}" ldd "${files[@]}" 2>/dev/null |
		awk '$1 ~ /^librte_/ && $1 !~ /^librte_dma_mlx5/ {print $3}' | sort -u)
	[ ${#paths[@]} -gt 0 ] || die "no program in $dir loads a library of DPDK"
	for path in "${paths[@]}"; do
		[[ $(realpath "$path") == "$libdir"/* ]] ||
			die "programs in $dir would load $path: $dir may be a build for another DPDK $version: remove it"
	done
	say "${#files[@]} programs and libraries load ${#paths[@]} libraries of $libdir, and none of another DPDK"
}
check_libraries

if [ ${#tests[@]} -eq 0 ]; then
	# names SUITE PATTERN: prints the tests of a suite whose names match the pattern.
	names() {
		meson test -C "$top/$dir" --no-rebuild --list --suite "$1" 2>/dev/null | sed 's/.* //' | grep -E "$2" || true
	}
	mapfile -t tests < <(
		names fast .
		[ -n "$short" ] || names emu .
		[ -z "$short" ] || names emu '^(dma_|example_|testgantry_(names|prompt)|gantry_(ops|eal|telemetry|trace)(_mmo)?$)'
		names conformance '^(dmadev|dma_programs)$'
	)
fi
log=$top/$dir/meson-logs/testlog.json
rm -f "$log"
say "${#tests[@]} tests with DPDK $version"
failed=0
env "${theirs[@]}" meson test -C "$top/$dir" --no-rebuild --print-errorlogs "${tests[@]}" || failed=1
[ -f "$log" ] || die "meson test wrote no $log"
read -r p f s <<<"$("$top/usertools/count-tests.py" --names "$log")"
# Prints the counts of the tests: cases of dpdk-test, packets, measurements.
/usr/bin/python3 -c '
import json, re, sys
for line in open(sys.argv[1], encoding="utf-8"):
    test = json.loads(line)
    if test["name"].split()[-1] in ("dmadev", "dma_programs"):
        print(*re.findall("^counted: .*", test.get("stdout", ""), re.M), sep="\n")' "$log"
printf 'DPDK %s: %s passed, %s failed, %s skipped\n' "$version" "$p" "$f" "$s"
exit $failed
