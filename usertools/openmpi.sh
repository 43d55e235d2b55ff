#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs Open MPI, as Debian ships it, on the emulated adapter through UCX, over one transport after the other:
#   - One process sends to itself. Each byte is compared, in 67 sizes from 1 byte to 4 MiB: messages that come before
#     their receive is posted and after it, several messages in flight, strided messages, put, get, and atomics.
#   - Four processes send to each other: point to point, in collective operations, by put, get, and atomics. Each byte
#     is compared, and the received bytes are the same as those of a run over TCP without the adapter.
#   - One of four processes is killed. The job must end with an error that names the signal.
# Installs Open MPI (about 60 MB).
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
for program in mpi_self mpi_ranks; do
	mpicc -O2 -Wall -Wextra -Werror -o "$top/build/$program" "$top/test/conformance/$program.c" ||
		die "mpicc failed; its output is above"
done

folder=$(mktemp -d)
log=$folder/log
job= # process id of mpirun, while a process of its job is to be killed
trap '[ -z "$job" ] || kill "$job" 2>/dev/null || true; rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# fail WHAT: reports an error of one transport. Prints the program's output first, without UCX's
# remarks.
failed=0
fail() {
	failed=1
	grep -v ' UCX  \(INFO\|DIAG\) ' "$log" | head -n 40 >&2 || true
	printf 'error: %s\n' "$1" >&2
}

# on_adapter TRANSPORT PROCESSES PROGRAM [ARGUMENT...]: runs an MPI program under the launcher.
# Shared memory and loopback are off, so Open MPI sends only by UCX, and UCX only by this transport.
# UCX 1.13 has mlx5 transports on a ConnectX-7, but does not support the BlueField-3.
on_adapter() {
	SOFTHCA_PART_ID=4129 UCX_TLS=$1 UCX_NET_DEVICES=mlx5_0:1 UCX_LOG_LEVEL=info SOFTHCA_FORCE=1 \
		timeout 600 mpirun --oversubscribe -np "$2" --mca pml ucx --mca osc ucx --mca btl self \
		"$top/build/drivers/softhca/softhca" "$top/build/$3" "${@:4}" </dev/null >"$log" 2>&1
}

# run TRANSPORT PROCESSES PROGRAM [ARGUMENT...]: the same, and checks the result and the transport that UCX used.
# UCX's lines "ep_cfg[0]: tag(rc_mlx5/mlx5_0:1)" show which transport each connection uses.
run() {
	local used
	if ! on_adapter "$@"; then
		fail "$1: $3 failed"
		return 1
	fi
	used=$(sed -n 's/.*ep_cfg\[[0-9]*\]://p' "$log" | grep -o '[a-z0-9_]*/[a-z0-9_]*:' | sort -u | tr '\n' ' ')
	if [ "$used" != "${transport[$1]}/mlx5_0: " ]; then
		fail "$1: UCX used '${used:-nothing}', not ${transport[$1]}"
		return 1
	fi
	say "$1 (${transport[$1]}): $(sed -n "s/^$3: //p" "$log")"
}

# same_as_tcp TRANSPORT: compares what each of four processes has received with what it received over TCP.
same_as_tcp() {
	local rank
	for rank in 0 1 2 3; do
		if ! cmp "$folder/$1.$rank" "$folder/tcp.$rank" >>"$log" 2>&1; then
			fail "$1: process $rank has not received the same bytes as over TCP"
			return
		fi
	done
	say "$1: the four processes received the same bytes as over TCP"
	rm -f "$folder/$1".*
}

# kill_one TRANSPORT: kills the third of four processes while they send to each other.
kill_one() {
	local victim= tries=0 code=0 left
	: >"$log"
	on_adapter "$1" 4 mpi_ranks --until-killed &
	job=$!
	while [ "$(grep -c ' sends$' "$log")" -lt 4 ]; do
		sleep 0.1
		tries=$((tries + 1))
		if [ "$tries" -gt 600 ] || ! kill -0 "$job" 2>/dev/null; then
			fail "$1: the processes do not send"
			return
		fi
	done
	victim=$(sed -n 's/^mpi_ranks: process \([0-9]*\) of rank 2 sends$/\1/p' "$log")
	kill -9 "$victim"
	wait "$job" || code=$?
	job=
	if [ "$code" -ne 137 ] || ! grep -q 'rank 2 .* exited on signal 9' "$log"; then
		fail "$1: a process was killed, and mpirun ended with $code"
		return
	fi
	# mpirun may end a moment before the processes that it has killed.
	for _ in $(seq 100); do
		left=$(sed -n 's/^mpi_ranks: process \([0-9]*\) of .*/\1/p' "$log" | while read -r pid; do
			[ ! -d "/proc/$pid" ] || echo "$pid"
		done)
		[ -n "$left" ] || break
		sleep 0.1
	done
	if [ -n "$left" ]; then
		fail "$1: processes are left after a process was killed: $left"
		return
	fi
	say "$1: rank 2 was killed: $(grep -o 'process rank 2 .* exited on signal 9 (Killed)' "$log"); mpirun ended with $code"
}

say "TCP, without the adapter"
if timeout 600 mpirun --oversubscribe -np 4 --mca pml ob1 --mca osc ^ucx --mca btl self,tcp "$top/build/mpi_ranks" \
	"$folder/tcp" </dev/null >"$log" 2>&1; then
	say "TCP: $(sed -n 's/^mpi_ranks: //p' "$log")"
else
	fail "TCP: mpi_ranks failed"
fi
for name in "$@"; do
	run "$name" 1 mpi_self || true
	! run "$name" 4 mpi_ranks "$folder/$name" || same_as_tcp "$name"
	kill_one "$name"
done
exit $failed
