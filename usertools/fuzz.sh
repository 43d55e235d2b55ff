#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A long run of the adapter's fuzzers: malformed control calls, malformed netlink requests, malformed records of
# other processes, malformed commands of rdma_cm, and malformed work on queues of every type, one seed after the other; without sanitizers, and under ASan and UBSan. The control calls also run with a device thread
# under TSan. Stops at the first seed that fails, and prints how to repeat it.
#
# usage: usertools/fuzz.sh [SECONDS [FIRST SEED]]     default: 600, a seed by the clock
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
seconds=${1:-600} seed=${2:-$(date +%s)} first=$seed

need "${build_packages[@]}" util-linux
targets=(test/fuzz_queues test/fuzz_ioctl test/fuzz_netlink test/fuzz_wire test/fuzz_cm)
say "building in build/, build-test/asan/ and build-test/tsan/"
build build
build build-test/asan -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false
targets=(test/fuzz_ioctl test/fuzz_cm) # only these have threads, which TSan checks
build build-test/tsan -Dwerror=true -Db_sanitize=thread -Db_lundef=false

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# try DIR THREADS FUZZER AMOUNT: runs one seed. Fuzzers use addresses too, so a seed repeats its run
# only without address randomisation and without threads.
try() {
	local again="SOFTHCA_FORCE=1 SOFTHCA_CM_RETRY_MS=50 SOFTHCA_THREADS=$2 setarch -R $1/test/$3 $4 $seed"

	if ! env SOFTHCA_FORCE=1 SOFTHCA_CM_RETRY_MS=50 SOFTHCA_THREADS="$2" ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=0 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		TSAN_OPTIONS="exitcode=66 suppressions=$top/config/tsan.supp" \
		timeout 600 setarch -R "$top/$1/test/$3" "$4" "$seed" >"$log" 2>&1; then
		tail -n 60 "$log" >&2
		die "seed $seed fails; again: $again"
	fi
}

end=$((SECONDS + seconds))
while [ $SECONDS -lt "$end" ]; do
	try build 0 fuzz_queues 100000
	try build 0 fuzz_ioctl 10
	try build 0 fuzz_netlink 20000
	try build 0 fuzz_wire 10000
	try build 0 fuzz_cm 100000
	try build-test/asan 0 fuzz_queues 20000
	try build-test/asan 0 fuzz_ioctl 5
	try build-test/asan 0 fuzz_netlink 10000
	try build-test/asan 0 fuzz_wire 4000
	try build-test/asan 0 fuzz_cm 40000
	try build-test/tsan 1 fuzz_ioctl 2
	try build-test/tsan 0 fuzz_cm 10000
	seed=$((seed + 1))
done
say "$((seed - first)) seeds from $first on: no crash, no hang, nothing touched that is not registered"
