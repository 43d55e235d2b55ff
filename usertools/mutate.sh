#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Asks whether the tests would notice a mistake: draws small changes of the sources by a seed (mutants),
# builds each, runs the tests until the first one fails, and prints which test noticed which mutant.
#
# usage: usertools/mutate.sh [--seed N] [--count N] [--area FOLDER]... [--survivors] [--list]
#   --seed N        which mutants are drawn; default 1
#   --count N       how many are judged; default 150
#   --area FOLDER   lib/gantry, lib/hwq or drivers/softhca; default all three
#   --survivors     judges again those that survived, after tests were added
#   --list          prints the mutants that would be drawn, and runs nothing
#
# The sources are changed in a copy under build-mutate/. Results are kept there as they come: the command
# can be stopped and called again. To draw afresh after a change of the sources, remove the folder's
# mutants-*.json and results-*.jsonl.
# Lines about locks and memory that survive the plain tests are tried under sanitizers too.
# A mutant that no program can tell from the original is listed, with its reason, in
# test/mutants-equivalent.txt; it is printed and does not count. Statements that only log are not drawn.
# Exit 0 if at least 95 of 100 were noticed. It takes about two hours for 150 on two cores.
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" python3 python3-pyverbs python3-scapy rdma-core ibverbs-utils
exec "$top/usertools/mutate.py" --root "$top" --work "$top/build-mutate" "$@"
