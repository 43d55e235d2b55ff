#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes Debian packages of this source tree (package.sh), and installs the packages in a minimal
# Debian system that mmdebstrap makes in a temporary folder. Tests there the programs, the driver
# (which EAL must find), and a program that is built against the packages. The system is removed at
# the end. The script needs the network.
#
# usage: usertools/package-try.sh [FOLDER]     FOLDER: use the packages in it, and make none
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need mmdebstrap
folder=${1:-}
if [ -z "$folder" ]; then
	folder=$top/build-packages
	"$top/usertools/package.sh" "$folder"
fi
mapfile -t debs < <(find "$folder" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*')
[ ${#debs[@]} -gt 0 ] || die "$folder has no packages"
# The packages are for the Debian release on which they were built.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gantry-try.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/gantry"
cp "${debs[@]}" "$scratch/gantry"
cat >"$scratch/gantry/use" <<'END'
set -eu
cd /gantry
eal="--no-huge -m 64 --no-shconf --no-pci --no-telemetry"
echo "== programs, without the development packages"
apt-get -q install -y --no-install-recommends ./gantry-tools_*.deb ./libgantry[0-9]*.deb ./libgantry-cm[0-9]*.deb ./libhwq[0-9]*.deb ./libsofthca[0-9]*.deb \
	./librte-dma-mlx5-*.deb ./softhca_*.deb ibverbs-utils >apt.log 2>&1 || { tail -n 30 apt.log; exit 1; }
testgantry --lcores=0@0,1@0 $eal -- --mode copy --out out /usr/bin/testgantry
cmp out/testgantry /usr/bin/testgantry
softhca --like connectx-7 ibv_devinfo | grep -w 4129
gantry-top --help >/dev/null
hwq-decode --help >/dev/null
softhca --version
softhca --list-settings | grep -x "#ports = 1"
echo "== a program that uses the library"
apt-get -q install -y --no-install-recommends ./*.deb gcc g++ libc6-dev make pkg-config libsystemd-dev >apt.log 2>&1 || { tail -n 30 apt.log; exit 1; }
test -s /usr/share/doc/gantry/html/index.html
# A minimal system may leave out manual pages, so they are looked for in the packages.
for page in gantry-tools:man1/testgantry.1 softhca:man5/softhca.conf.5 libgantry-dev:man3/gantry_create.3; do
	dpkg-deb -c ./${page%%:*}_*.deb | grep -q "/usr/share/man/${page#*:}.gz"
done
cp -r /usr/share/doc/gantry/examples/embed .
for compiler in gcc g++; do
	for how in embed static; do
		make -s -B -C embed CC=$compiler $how
		embed/embed --no-huge -m 64 --no-pci
	done
done
flags="-DALLOW_EXPERIMENTAL_API /usr/share/doc/gantry/examples/dmadev_copy.c -o dmadev_copy"
echo "== the driver, which EAL finds in its folder"
gcc $flags $(pkg-config --cflags --libs libdpdk)
softhca ./dmadev_copy $eal --vdev dma_mlx5_0 | grep "^dmadev_copy: copied .* verified$"
echo "== the driver inside a program"
gcc $flags $(pkg-config --cflags librte_dma_mlx5) $(pkg-config --static --libs librte_dma_mlx5)
softhca ./dmadev_copy $eal --vdev dma_mlx5_0 | grep "^dmadev_copy: copied .* verified$"
END
say "packages: a bare $release, and ${#debs[@]} packages in it"
mmdebstrap --quiet --variant=apt --customize-hook="copy-in $scratch/gantry /" \
	--customize-hook='chroot "$1" sh /gantry/use' "$release" /dev/null
say "packages: all is well"
