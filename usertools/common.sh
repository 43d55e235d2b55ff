# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-3-Clause
# Functions that the scripts of this folder share: messages, packages, builds, EAL's arguments.
# Scripts source this file; it is not run itself.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian's meson and pyelftools need Debian's own python3, so its folders come first in PATH.
PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH
export PATH

say() {
	printf '== %s\n' "$*"
}

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# help_if_asked ARGUMENT...: for -h and --help, prints the comment at the top of the calling script.
help_if_asked() {
	case ${1:-} in
	-h | --help)
		sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	esac
}

# need PACKAGE...: installs missing packages. Prints a line only if a package is missing.
need() {
	local missing=() package
	for package in "$@"; do
		dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
			missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return
	command -v apt-get >/dev/null ||
		die "this script installs Debian packages; install by hand: ${missing[*]}"
	local as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo)
	say "installing ${#missing[@]} Debian packages (a few minutes on a bare machine): ${missing[*]}"
	local log
	log=$(mktemp)
	if ! { "${as_root[@]}" apt-get -q update &&
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get -q install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		die "apt-get failed; its whole output is in $log"
	fi
	rm -f "$log"
}

build_packages=(gcc libc6-dev meson ninja-build pkg-config libdpdk-dev libibverbs-dev librdmacm-dev
	ibverbs-providers libisal-dev libssl-dev python3-pyelftools)

# The book and the manual pages.
book_packages=(doxygen graphviz man-db mandoc python3-breathe python3-myst-parser python3-sphinx)

# The tests also need nm, clang-format 14, and the programs of other projects.
test_packages=(binutils clang-format doxygen dwarves g++ libsystemd-dev lintian make python3 python3-cryptography
	python3-cryptography-vectors python3-pyverbs python3-scapy rdma-core ibverbs-utils
	util-linux bsdextrautils xxd infiniband-diags iproute2 pciutils perftest qperf rdmacm-utils ucx-utils libucx-dev
	libfabric-bin fio tgt qemu-utils qemu-block-extra dpdk-dev dpdk-doc valgrind
	"${book_packages[@]}")

# Packages that are needed to make Debian packages.
package_packages=(debhelper dpkg-dev lintian "${book_packages[@]}")

# The targets that build() builds. Empty: all targets.
targets=()

# build DIR [MESON OPTION...]: configures DIR the first time, then builds. Prints nothing unless the
# build fails.
build() {
	local dir=$top/$1 log
	shift
	log=$(mktemp)
	if ! { { [ -f "$dir/build.ninja" ] || meson setup "$dir" "$top" "$@"; } &&
		ninja -C "$dir" "${targets[@]}"; } >"$log" 2>&1; then
		tail -n 60 "$log" >&2
		! grep -q 'unknown target' "$log" ||
			die "$dir was set up without a target that this needs. If it was set up with -Dtests=false, run meson configure $dir -Dtests=true; otherwise install the packages of doc/building.md and remove $dir. Then run this again"
		die "the build in $dir failed; the end of its output is above"
	fi
	rm -f "$log"
}

# eal_args WORKERS MEGABYTES: EAL options for one main lcore and WORKERS worker lcores, mapped to the
# available CPUs. Uses huge pages if enough are free.
eal_args() {
	local workers=$1 megabytes=$2 cpus map='0@0' i free size
	cpus=$(nproc)
	for ((i = 1; i <= workers; i++)); do
		map+=",$i@$((i % cpus))"
	done
	free=$(awk '/^HugePages_Free/ {print $2}' /proc/meminfo)
	size=$(awk '/^Hugepagesize/ {print $2}' /proc/meminfo)
	if [ $((${free:-0} * ${size:-0} / 1024)) -ge "$megabytes" ]; then
		printf '%s' "--lcores=$map --in-memory --no-pci -m $megabytes"
	else
		printf '%s' "--lcores=$map --no-huge --no-shconf --no-pci -m $megabytes"
	fi
}
