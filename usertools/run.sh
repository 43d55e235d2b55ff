#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry and runs its main job: moves real files of this machine through lcore workers, hardware
# queues and the HCA (emulated, if there is none), in every mode, and checks every byte. Then it stores blocks of some
# files with signatures in memory that acts as a disk, corrupts some, and fetches them: every corruption must be
# detected. In the next run, which is always on the emulated adapter, the stored blocks are encrypted. At last, two
# processes move files between them.
#
# usage: usertools/run.sh [FILE OR FOLDER...]     default: at least 200 MB found under /usr
# GANTRY_BUILD names the build directory, below the repository; default: build
set -euo pipefail
. "$(dirname "$0")/common.sh"

modes=(copy write read)
workers=2
want_mb=200
sig_mb=8

help_if_asked "$@"

need "${build_packages[@]}"
dir=${GANTRY_BUILD:-build}
say "building in $dir/ (a minute the first time)"
build "$dir"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gantry-run.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# Programs and libraries of every size, in the order of their names, up to want_mb.
pick_files() {
	find /usr/lib /usr/bin /usr/share -xdev -type f -size +64k -readable -printf '%p\t%s\n' |
		LC_ALL=C sort |
		awk -F'\t' -v want=$((want_mb * 1000000)) 'total < want {total += $2; print $1}'
}

naming=()
if [ $# -gt 0 ]; then
	files=("$@")
else
	naming=(--parents) # some files have one name in different folders
	mapfile -t files < <(pick_files)
	[ ${#files[@]} -gt 0 ] || die "found no readable files under /usr; name some: $0 FILE..."
fi
bytes=$(du -bclL -- "${files[@]}" | tail -n 1 | cut -f 1)
[ $# -gt 0 ] || [ "$bytes" -ge $((want_mb * 1000000)) ] ||
	die "found only $bytes bytes of files under /usr; name more: $0 FILE..."

read -ra eal <<<"$(eal_args "$workers" 512)"
# Print EAL's warnings, but not its messages about this machine.
eal+=(--log-level=lib.eal:warning --no-telemetry)
for mode in "${modes[@]}"; do
	say "--mode $mode: ${#files[@]} inputs, $((bytes / 1000000)) MB, $workers workers"
	"$top/$dir/app/testgantry/testgantry" "${eal[@]}" -- --mode "$mode" \
		--out "$scratch/$mode" "${naming[@]}" "${files[@]}" ||
		die "testgantry --mode $mode failed with exit code $?"
	rm -rf "${scratch:?}/$mode"
done
# Uses files up to sig_mb in all, which is enough for a few seconds of transactions.
mapfile -t sig_files < <(find -L "${files[@]}" -type f -printf '%p\t%s\n' |
	awk -F'\t' -v room=$((sig_mb * 1000000)) '$2 <= room {room -= $2; print $1}')
[ ${#sig_files[@]} -gt 0 ] || sig_files=("${files[@]}")
for kinds in "--guard crc --wire none" "--guard csum --wire crc32c"; do
	say "--mode sig $kinds: blocks of ${#sig_files[@]} files are stored with signatures, corrupted, and fetched"
	# shellcheck disable=SC2086
	"$top/$dir/app/testgantry/testgantry" "${eal[@]}" -- --mode sig $kinds --block 4096 \
		--chunk 32K --corrupt 1 "${sig_files[@]}" ||
		die "testgantry --mode sig $kinds failed with exit code $?"
done
kinds="--encrypt data --guard crc"
say "--mode sig $kinds, on the emulated adapter: blocks of ${#sig_files[@]} files are stored encrypted," \
	"with signatures over the ciphertext, corrupted, and fetched"
# shellcheck disable=SC2086
SOFTHCA_FORCE=1 SOFTHCA_CRYPTO=plaintext "$top/$dir/app/testgantry/testgantry" "${eal[@]}" -- --mode sig $kinds \
	--block 4096 --chunk 32K --corrupt 1 "${sig_files[@]}" ||
	die "testgantry --mode sig $kinds failed with exit code $?"
mapfile -t pair_files < <(realpath -- "${sig_files[@]}" | sort -u)
say "two processes on the emulated adapter: one has --listen, and the other one sends ${#pair_files[@]} files to it"
SOFTHCA_FORCE=1 "$top/$dir/app/testgantry/testgantry" "${eal[@]}" -- --listen "$scratch/socket" \
	--out "$scratch/pair" >"$scratch/listen.log" 2>&1 &
listens=$!
SOFTHCA_FORCE=1 "$top/$dir/app/testgantry/testgantry" "${eal[@]}" -- --connect "$scratch/socket" --parents \
	"${pair_files[@]}" ||
	{ rc=$?; kill "$listens" || true; cat "$scratch/listen.log" >&2; die "testgantry --connect failed with exit code $rc"; }
wait "$listens" || { rc=$?; cat "$scratch/listen.log" >&2; die "testgantry --listen failed with exit code $rc"; }
say "the process with --listen: $(tail -n 1 "$scratch/listen.log")"
say "all is done: every byte of $((bytes / 1000000)) MB was moved and verified ${#modes[@]} times. ${#sig_files[@]} files were" \
	"stored with signatures, and stored encrypted: every corruption was detected"
