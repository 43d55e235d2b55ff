#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry and posts random work requests through both stock libmlx5 and lib/hwq, on twin
# queues: bytes and errors must be equal. Prints how often each QP type, builder, setter and set of
# flags was drawn; then one line for each program. The exit code is 0 if all programs passed.
#
# usage: usertools/twin.sh [CASES [SEED]]     CASES of each builder and type; default: 1000000, a seed by
#                                             the clock
#
# CASES below 30000 become 30000: fewer cases do not draw every combination, which is a failure.
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

least=30000
cases=${1:-1000000}
seed=${2:-$(date +%s%N)}
[[ $# -le 2 && $cases =~ ^[0-9]{1,18}$ && $seed =~ ^[0-9]{1,19}$ ]] ||
	die "CASES and SEED are decimal numbers: see usertools/twin.sh --help"
cases=$((10#$cases))
if [ "$cases" -lt $least ]; then
	say "$cases cases do not draw every combination: $least instead"
	cases=$least
fi
programs=(test_hwq_bytes test_hwq_bytes_transports test_hwq_bytes_umr test_hwq_bytes_mkey)
targets=("${programs[@]/#/test/}")
need "${build_packages[@]}"
say "building in build/"
build build

lines=()
failed=0
for program in "${programs[@]}"; do
	say "$program, at least $cases cases of each, seed $seed"
	result=passed
	env SOFTHCA_CRYPTO="${SOFTHCA_CRYPTO:-plaintext}" \
		"$top/build/test/$program" "$cases" "$seed" || result="FAILED, exit code $?"
	[ "$result" = passed ] || failed=1
	lines+=("$(printf '%-26s at least %s cases of each, seed %s: %s' \
		"$program" "$cases" "$seed" "$result")")
done
say "results"
printf '%s\n' "${lines[@]}"
exit $failed
