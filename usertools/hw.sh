#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs Gantry on a real mlx5 device, for at most ten minutes, and writes a report: the device's capabilities, whether Gantry works
# on it, how fast it is, and where it differs from the emulated adapter. Stages that need a missing capability are skipped, and
# the report names it.
#
# usage: usertools/hw.sh [--rehearse] [--short] [--out DIR] [--built DIR] [DEVICE]     default: the first mlx5 device
#   --rehearse   runs on the emulated adapter if the machine has no mlx5 device; without this option, hw.sh fails then.
#                Settings of the adapter (SOFTHCA_...) stay as they are
#   --short      the same stages with less work: about one minute
#   --out DIR    folder of the report; default: hw-report
#   --built DIR  a build directory whose programs are used as they are; by default, hw.sh builds in build/
#
# The stages, in this order:
#   capabilities   the device's capabilities, and those that Gantry needs
#   twins          the same work by libmlx5 and by lib/hwq, each on its own queues: bytes, completions and effects are equal
#   faults         wrong keys and bounds, missing receives, queues that fail or stop, CQs that overrun: each status is right
#   model          random work and faults, compared with a model of the engine
#   main job       testgantry in every mode; by DMA MMO and by RDMA; with signatures, under SQD, and encrypted
#   probes         the emulated adapter's assumptions about cards, tested one by one
#   benchmarks     copies and writes by length: ns and operations a second
#
# Read report.txt, and send report.json back. They contain no GUID, address, host name, user name, serial number or path of
# the machine. They show the end of the output of each failed stage. hw.sh leaves no other file. After a signal it stops, and
# writes no report.
#
# Exit code: 0: each stage succeeded or was skipped, whatever the probes found; 1: a stage failed, or there is no device;
# 3: the device lacks a capability that Gantry needs (the report says which); 129, 130, 143: a signal.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# Limits in seconds: of all stages, of one stage.
all_seconds=590
stage_seconds=120
# The amount of work.
want_mb=20
model_seconds=60
twin_cases=2000
rounds=9
workers=2

help_if_asked "$@"
device=() rehearse=() out=hw-report built=
while [ $# -gt 0 ]; do
	case $1 in
	--rehearse) rehearse=(--rehearse) ;;
	--short) want_mb=4 model_seconds=2 twin_cases=40 rounds=1 ;;
	--out | --built)
		[ $# -ge 2 ] || die "$1 needs a folder"
		[ "$1" = --out ] && out=$2 || built=$2
		shift
		;;
	-*) die "unknown option $1: see usertools/hw.sh --help" ;;
	*)
		[ ${#device[@]} -eq 0 ] || die "one device at a time: see usertools/hw.sh --help"
		device=(--device "$1")
		;;
	esac
	shift
done

twins=(test_hwq_bytes test_hwq_bytes_transports test_hwq_bytes_umr test_hwq_bytes_mkey test_hwq_effects)
if [ -z "$built" ]; then
	need "${build_packages[@]}"
	say "building in build/ (a minute the first time)"
	targets=(test/hw/hw_probe test/hw/hw_caps app/testgantry/testgantry test/test_gantry_device test/test_gantry_random
		test/bench/bench_throughput "${twins[@]/#/test/}")
	build build
	built=$top/build
fi
built=$(cd "$built" && pwd)
[ -x "$built/test/hw/hw_caps" ] || die "$built has no test/hw/hw_caps: build it there with ISA-L (package libisal-dev)"

# All files of the stages are in this folder, which is removed at the end, even if a stage was killed.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gantry-hw.XXXXXX")
export TMPDIR=$scratch RUNTIME_DIRECTORY=$scratch XDG_RUNTIME_DIR=$scratch
stopped() {
	trap '' HUP INT TERM
	# The processes of the stage that runs, even if the signal came before their group's number
	# was stored.
	local pids
	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} -eq 0 ] || { kill -TERM "${pids[@]}" && wait "${pids[@]}"; } 2>/dev/null || true
	printf 'stopped: there is no report\n' >&2
	exit "$1"
}
trap 'rm -rf "$scratch"' EXIT
trap 'stopped 129' HUP
trap 'stopped 130' INT
trap 'stopped 143' TERM

stop_at=$((SECONDS + all_seconds))
runs=0 failed=0
: >"$scratch/stages"

# run COMMAND...: runs a command in a separate process group, at most as long as a stage may take.
# Writes its output to $log, and its messages to $log.err.
run() {
	local limit=$((stop_at - SECONDS)) code=0
	[ "$limit" -le "$stage_seconds" ] || limit=$stage_seconds
	runs=$((runs + 1))
	log=$scratch/$runs.log
	timeout -k 5 "$limit" "$@" >"$log" 2>"$log.err" &
	wait $! || code=$?
	[ "$code" -ne 124 ] && [ "$code" -ne 137 ] || printf 'hw.sh: it did not end in %s seconds\n' "$limit" >>"$log.err"
	return "$code"
}

# note NAME RESULT WHY SECONDS [LOG]: writes a line of the report, for hw_report.py.
note() {
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "${5:-}" >>"$scratch/stages"
}

# lacks ID...: prints the first of these capabilities that the device does not have.
lacks() {
	local id
	for id in "$@"; do
		awk -F'\t' -v id="$id" '$1 == id && $2 == "no" {print $3; found = 1} END {exit !found}' "$scratch/caps" && return 0
	done
	return 1
}

# has ID WORD: succeeds if the value of a capability contains WORD.
has() {
	awk -F'\t' -v id="$1" -v word="$2" '$1 == id && $2 == "yes" && index($4, word) {found = 1} END {exit !found}' "$scratch/caps"
}

# stage NAME NEEDS COMMAND...: runs a stage if the device has all capabilities of NEEDS, and notes
# the result.
stage() {
	local name=$1 needs=$2 start=$SECONDS code=0 missing
	shift 2
	log=/dev/null
	# shellcheck disable=SC2086
	if missing=$(lacks $needs); then
		note "$name" skipped "the device has no $missing" 0
	elif [ ! -x "$1" ]; then
		note "$name" skipped "this build does not have the program" 0
	elif [ $((stop_at - SECONDS)) -lt 5 ]; then
		note "$name" skipped "no time is left" 0
	else
		say "$name"
		run "$@" || code=$?
		if [ "$code" -eq 77 ]; then
			note "$name" skipped "$(tail -q -n 1 "$log")" 0
		elif [ "$code" -eq 0 ]; then
			note "$name" "done" "" $((SECONDS - start))
		else
			failed=1
			cat "$log" "$log.err" >"$log.all"
			tail -n 20 "$log.all" >&2
			note "$name" failed "exit code $code" $((SECONDS - start)) "$log.all"
		fi
	fi
}

# ---- capabilities: the device, whether this user may open it, and whether Gantry can run on it. If
# not, hw_caps says what the user can do.
say capabilities
caps=("$built/test/hw/hw_caps" "${rehearse[@]}")
code=0
run "${caps[@]}" "${device[@]}" --json || code=$?
if [ "$code" -ne 0 ] && [ "$code" -ne 3 ]; then
	grep -v '^softhca: no mlx5 device' "$log.err" >&2 || true
	die "there is no report: see the line above"
fi
cp "$log" "$scratch/caps.json"
runs_here=$code
cat "$log.err" >&2
"$top/usertools/hw_report.py" caps "$scratch/caps.json" >"$scratch/caps"
note capabilities "done" "" 0
run "${caps[@]}" "${device[@]}" || true
device=(--device "$(sed -n 's/^\([^ ,]*\), part .*/\1/p' "$log")")

# ---- twins. The twins of layouts also give layouts to keys for signatures.
twin() {
	stage "twins, $1" "opens rc atomics $2" "$built/test/$3" "${device[@]}" "$twin_cases" 1
}
twin "bytes of RC and UC" "" test_hwq_bytes
twin "bytes of UD, XRC, DC and frames" dc test_hwq_bytes_transports
twin "bytes of layouts" "keys signatures" test_hwq_bytes_umr
twin "bytes of signatures and encryption" "keys signatures" test_hwq_bytes_mkey
twin effects dc test_hwq_effects

# ---- the engine
engine="opens rc rdma port"
stage faults "$engine" "$built/test/test_gantry_device" "${device[@]}"
stage model "$engine keys dc atomics" "$built/test/test_gantry_random" "${device[@]}" "$model_seconds"

# ---- the main job
mapfile -t files < <(find /usr/lib /usr/bin -xdev -type f -size +64k -size -4096k -readable -printf '%p\t%s\n' | LC_ALL=C sort |
	awk -F'\t' -v want=$((want_mb * 1000000)) 'total < want {total += $2; print $1}')
[ ${#files[@]} -gt 0 ] || die "found no readable files under /usr"
read -ra eal <<<"$(eal_args "$workers" 512)"
gantry=("$built/app/testgantry/testgantry" "${eal[@]}" --no-telemetry -- "${device[@]}")

# job NEEDS OPTION...: moves the files, and removes the outputs.
job() {
	local needs=$1
	shift
	stage "main job, $*" "$needs" "${gantry[@]}" "$@" --out "$scratch/out" --parents "${files[@]}"
	rm -rf "$scratch/out"
}
job "$engine" --mode copy
job "$engine mmo" --mode copy --copy-path mmo
job "$engine" --mode copy --copy-path rdma
job "$engine" --mode write
job "$engine" --mode read
if "${gantry[0]}" --help | grep -q '^ *dma[:,]'; then
	job "$engine" --mode dma
fi

# Block sizes and kinds of signatures that the device supports.
sig=(--mode sig --chunk 32K)
has signatures 4096 && sig+=(--block 4096) || sig+=(--block 512)
has signatures 'T10-DIF CRC' && sig+=(--guard crc) || sig+=(--guard crc32c)
plain=("${sig[@]}" --wire none)
has signatures CRC32C && has signatures 'T10-DIF CRC' && sig+=(--wire crc32c) || sig+=(--wire none)
stage "main job, --mode sig" "$engine keys signatures" "${gantry[@]}" "${sig[@]}" --corrupt 0 "${files[0]}"
stage "main job, --mode sig, wrong signatures under SQD" "$engine keys signatures pipelining" "${gantry[@]}" "${sig[@]}" \
	--corrupt 5 "${files[0]}"
stage "main job, --mode sig --encrypt data" "$engine keys signatures encryption plain-deks" "${gantry[@]}" "${plain[@]}" \
	--encrypt data --corrupt 1 "${files[0]}"

# ---- probes. Each has its own time limit; probes that wait for retries take long.
stage_seconds=300
stage probes "" "$built/test/hw/hw_probe" "${rehearse[@]}" "${device[@]}" --json
cp "$log" "$scratch/probes.json"

# ---- benchmarks
stage benchmarks "$engine" "$built/test/bench/bench_throughput" "${device[@]}" --rounds "$rounds" length peers
grep '^[a-z]*,' "$log" >"$scratch/bench.csv" || true

mkdir -p "$out"
"$top/usertools/hw_report.py" write "$scratch" "$out"
cat "$out/report.txt"
say "the report is in $out; report.json is to be sent back"
[ "$failed" -eq 0 ] || exit 1
exit "$runs_here"
