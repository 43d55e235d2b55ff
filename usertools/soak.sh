#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A soak: random descriptors on four queues, two of them on lcores of their own, while the adapter fails and
# memory, peers and layouts are created and destroyed. A model checks every completion and every byte. Prints a line every
# ten seconds, with the numbers of the process's file descriptors and mappings. At the end, as many descriptors must have
# completed as were submitted, and file descriptors, mappings and memory must not have grown since the first minute;
# otherwise the exit code is 1.
#
# With --transactions it runs random transactions instead: blocks with signatures, some of them
# damaged, from a target to an initiator. Bad data must get no good response, good data no bad
# response, and each transaction must complete once; otherwise the exit code is 1. The test compares
# the memory of target and initiator with signatures that it computes. Prints a line every ten
# seconds. N is the number of transactions, such as 1000000.
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
