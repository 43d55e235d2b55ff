#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes Debian packages of this source tree, and checks them by lintian. It builds in a copy of the
# tree, by dpkg-buildpackage, with the rules of packaging/debian. The names of the packages contain
# the SONAMEs and DPDK's ABI.
#
# usage: usertools/package.sh [FOLDER]     default: build-packages
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" "${package_packages[@]}"
out=${1:-$top/build-packages}
mkdir -p "$out"
out=$(cd "$out" && pwd)
# Build in the same folder each time, because ccache compares paths.
scratch=$out/work
rm -rf "$scratch"
mkdir -p "$scratch/gantry"
source=$scratch/gantry
# Copy the tree without the outputs of builds.
tar -C "$top" --exclude='./build*' --exclude=./.git --exclude=__pycache__ -c . | tar -C "$source" -x

# quietly WHAT COMMAND...: runs a command, and prints the end of its output if it fails.
quietly() {
	local what=$1
	shift
	if ! "$@" >"$scratch/log" 2>&1; then
		tail -n 60 "$scratch/log" >&2
		die "$what failed; the end of its output is above"
	fi
}

say "packages: building (some minutes)"
quietly "meson setup" meson setup "$scratch/names" "$source" -Dtests=false
cp -r "$source/packaging/debian" "$source/debian"
cp "$scratch"/names/packaging/debian/{changelog,control,rules,*.install} "$source/debian"
rm -f "$source"/debian/{meson.build,*.in}
chmod +x "$source/debian/rules"
(cd "$source" && quietly dpkg-buildpackage dpkg-buildpackage --build=binary --no-sign)
say "packages: lintian"
lintian --fail-on error,warning "$scratch"/*.changes
rm -f "$out"/*.deb
mv "$scratch"/*.deb "$out"
rm -rf "$scratch"
say "packages: $out has"
(cd "$out" && ls -1 ./*.deb)
