#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A soak: random descriptors on four queues, two of them on lcores of their own, while the adapter fails and
# memory, peers and layouts come and go. A model judges every completion and every byte. Prints a line every
# ten seconds, with what the process has open and mapped. At the end the counts of descriptors submitted and
# completed must be equal, and descriptors of files, mappings and memory no more than after the first minute;
# else it ends with 1.
#
# With --transactions it is random transactions instead: blocks with signatures, some of them damaged, from a target to
# an initiator. No good response for bad data, no bad response for good data, each transaction completes once; else it
# ends with 1. The judge is the memory of both and the test's own signatures. Prints a line every ten seconds. N is a
# number, such as 1000000.
#
# usage: usertools/soak.sh [--seconds N] [--seed N]     default: 3600, a seed by the clock
#        usertools/soak.sh --transactions N [--seed N]
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"
seconds=3600 transactions= seed=$(date +%s)
while [ $# -gt 0 ]; do
	case $1 in
	--seconds) seconds=${2:?--seconds needs a number} ;;
	--transactions) transactions=${2:?--transactions needs a number} ;;
	--seed) seed=${2:?--seed needs a number} ;;
	*) die "unknown option $1: see usertools/soak.sh --help" ;;
	esac
	shift 2
done

need "${build_packages[@]}"
program=test_gantry_random
[ -z "$transactions" ] || program=test_gantry_txn_random
targets=("test/$program")
say "building in build/"
build build
if [ -n "$transactions" ]; then
	export SOFTHCA_CRYPTO=plaintext
	say "$transactions transactions, seed $seed"
	exec "$top/build/test/$program" --transactions "$transactions" "$seed"
fi
say "$seconds seconds, seed $seed"
exec "$top/build/test/$program" --soak "$seconds" "$seed"
