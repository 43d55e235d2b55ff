#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs Open MPI, as Debian ships it, on the emulated adapter: one process sends to itself through
# UCX, over one transport after the other. Each byte is compared, in 67 sizes from 1 byte to 4 MiB:
# messages that come before their receive is posted and after it, several messages in flight,
# strided messages, put, get, and atomics. Installs Open MPI (about 60 MB).
#
# usage: usertools/openmpi.sh [TRANSPORT...]     default: rc_x dc_x ud_x
#   rc_v, ud_v         by libibverbs: RC, UD
#   rc_x, dc_x, ud_x   UCX writes the queues of the adapter itself: RC, DC, UD
#
# The exit code is 0 if all data were right with every transport, and if UCX reports that it used only this transport.
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

# UCX's name of each transport.
declare -A transport=([rc_v]=rc_verbs [rc_x]=rc_mlx5 [dc_x]=dc_mlx5 [ud_v]=ud_verbs [ud_x]=ud_mlx5)

[ $# -gt 0 ] || set -- rc_x dc_x ud_x
for name in "$@"; do
	[ -n "${transport[$name]:-}" ] ||
		die "unknown transport '$name': it is one of rc_v, rc_x, dc_x, ud_v, ud_x"
done

need "${build_packages[@]}" openmpi-bin libopenmpi-dev
say "building the adapter in build/"
targets=(drivers/softhca/softhca) # links to the library
build build
program=$top/build/mpi_self
mpicc -O2 -Wall -Wextra -Werror -o "$program" "$top/test/conformance/mpi_self.c" ||
	die "mpicc failed; its output is above"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fail WHAT: reports an error of one transport. Prints the program's output first, without UCX's
# remarks.
failed=0
fail() {
	failed=1
	grep -v ' UCX  \(INFO\|DIAG\) ' "$log" | head -n 40 >&2 || true
	printf 'error: %s\n' "$1" >&2
}

# Shared memory and loopback are off, so Open MPI sends only by UCX, and UCX only by this transport.
# UCX 1.13 has mlx5 transports on a ConnectX-7, but does not support the BlueField-3.
run() {
	SOFTHCA_PART_ID=4129 UCX_TLS=$1 UCX_NET_DEVICES=mlx5_0:1 UCX_LOG_LEVEL=info SOFTHCA_FORCE=1 OMPI_ALLOW_RUN_AS_ROOT=1 \
		OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 600 mpirun -np 1 --mca pml ucx --mca osc ucx \
		--mca btl self "$top/build/drivers/softhca/softhca" "$program" </dev/null >"$log" 2>&1
}

for name in "$@"; do
	if ! run "$name"; then
		fail "$name: the program failed"
		continue
	fi
	# UCX's lines "ep_cfg[0]: tag(rc_mlx5/mlx5_0:1)" show which transport each connection uses.
	used=$(sed -n 's/.*ep_cfg\[[0-9]*\]://p' "$log" | grep -o '[a-z0-9_]*/mlx5_0' | sort -u | tr '\n' ' ')
	if [ "$used" != "${transport[$name]}/mlx5_0 " ]; then
		fail "$name: UCX used '${used:-nothing}', not ${transport[$name]}"
		continue
	fi
	say "$name (${transport[$name]}): $(sed -n 's/^mpi_self: //p' "$log")"
done
exit $failed
