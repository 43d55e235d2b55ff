#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs Gantry on a real mlx5 device, for ten minutes at most, and writes what it saw: which assumptions of the emulated
# adapter hold there, and whether the main job moves every byte right in every mode. What the device lacks is skipped by name.
# Nothing but the report is left behind.
#
# usage: usertools/hw.sh [--rehearse] [--out DIR] [--built DIR] [DEVICE]     default: the first mlx5 device
#   --rehearse   asks the emulated adapter where the machine has no mlx5 device; without it, hw.sh fails there
#   --out DIR    folder of the report; default: hw-report. report.txt is to read, report.json to send back: neither
#                has an address or a name of the machine
#   --built DIR  a build directory whose programs are used as they are; by default, build/ is built
# Exit code: 0 each stage was done or skipped, whatever the probes answered; 1 a stage failed, or there is no device.
set -euo pipefail
. "$(dirname "$0")/common.sh"

modes=(copy write read)
workers=2
want_mb=20
stage_seconds=140 # four stages: below ten minutes

help_if_asked "$@"
device=() rehearse=() out=hw-report built=
while [ $# -gt 0 ]; do
	case $1 in
	--rehearse) rehearse=(--rehearse) ;;
	--out | --built)
		[ $# -ge 2 ] || die "$1 needs a folder"
		[ "$1" = --out ] && out=$2 || built=$2
		shift
		;;
	-*) die "unknown option $1: see usertools/hw.sh --help" ;;
	*) device=(--device "$1") ;;
	esac
	shift
done

if [ -z "$built" ]; then
	need "${build_packages[@]}"
	say "building in build/ (a minute the first time)"
	targets=(test/hw/hw_probe app/testgantry/testgantry)
	build build
	built=$top/build
fi
probe=$built/test/hw/hw_probe
[ -x "$probe" ] || die "$built has no test/hw/hw_probe: build it there with ISA-L (package libisal-dev)"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/gantry-hw.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out"

# Which device, and may it be asked? Without one, hw_probe says what to do.
say "asking the device what the emulated adapter assumes"
timeout "$stage_seconds" "$probe" "${rehearse[@]}" "${device[@]}" --json >"$scratch/probes.json" ||
	die "there is no report: see the line above"

stages=() failed=0

# stage NAME COMMAND...: runs a stage, and notes its result.
stage() {
	local name=$1 result=done code=0
	shift
	say "$name"
	timeout "$stage_seconds" "$@" >"$scratch/log" 2>&1 || code=$?
	if [ "$code" -ne 0 ]; then
		result="failed with exit code $code"
		failed=1
		tail -n 20 "$scratch/log" >&2
	fi
	stages+=("$name: $result")
}

mapfile -t files < <(find /usr/lib /usr/bin -xdev -type f -size +64k -readable -printf '%p\t%s\n' | LC_ALL=C sort |
	awk -F'\t' -v want=$((want_mb * 1000000)) 'total < want {total += $2; print $1}')
[ ${#files[@]} -gt 0 ] || die "found no readable files under /usr"
read -ra eal <<<"$(eal_args "$workers" 512)"
gantry=("$built/app/testgantry/testgantry" "${eal[@]}" -- "${device[@]}")
for mode in "${modes[@]}"; do
	stage "main job, --mode $mode" "${gantry[@]}" --mode "$mode" --out "$scratch/$mode" --parents "${files[@]}"
	rm -rf "${scratch:?}/$mode"
done
if grep -q '"sig-crc32c", "answer": "cannot be asked here"' "$scratch/probes.json"; then
	stages+=("main job, --mode sig: skipped, because the device has no block signatures")
else
	stage "main job, --mode sig" "${gantry[@]}" --mode sig --guard crc --wire crc32c --block 4096 --chunk 32K \
		--corrupt 1 "${files[0]}"
fi

# count ANSWER: how many probes answered so.
count() {
	grep -c "\"answer\": \"$1\"" "$scratch/probes.json" || true
}

{
	printf '{"stages": ['
	separator=
	for line in "${stages[@]}"; do
		printf '%s\n  "%s"' "$separator" "$line"
		separator=,
	done
	printf '],\n"probes": '
	cat "$scratch/probes.json"
	printf '}\n'
} >"$out/report.json"
{
	printf '%s\n' "Stages" "${stages[@]/#/  }"
	printf '%s\n' "What the emulated adapter assumes" "  as assumed: $(count 'as assumed')" \
		"  cannot be asked here: $(count 'cannot be asked here')" \
		"  otherwise: $(count 'otherwise'). Here the device differs from the emulated adapter:"
	sed -n 's/^ *{"id": "\([^"]*\)", "answer": "otherwise", "seen": "\(.*\)"}.*/    \1: \2/p' "$scratch/probes.json"
	printf '%s\n' "What each name means: doc/softhca.md, \"What is assumed\"."
} >"$out/report.txt"
cat "$out/report.txt"
say "the report is in $out; report.json is to be sent back"
exit "$failed"
