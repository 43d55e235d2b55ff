#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks that the tests detect mistakes: draws small changes of the sources (mutants) by a seed,
# builds each mutant, runs the tests until a test fails, and prints which test detected which
# mutant.
#
# usage: usertools/mutate.sh [--seed N] [--count N] [--area FOLDER]... [--survivors] [--list]
#   --seed N        the seed that selects the mutants; default 1
#   --count N       number of mutants to test; default 150
#   --area FOLDER   lib/gantry, lib/hwq or drivers/softhca; default all three
#   --survivors     after tests were added: tests again the mutants that no test detected
#   --list          prints the mutants that would be drawn, and runs nothing
#
# The sources are changed in a copy under build-mutate/. Each result is kept there at once, so the command
# can be stopped and started again. To draw new mutants after a change of the sources, remove the folder's
# mutants-*.json and results-*.jsonl.
# Mutants of lines about locks and memory that the plain tests do not detect are also tried under sanitizers.
# Mutants without any effect are listed in test/mutants-equivalent.txt, each with its reason. They are printed and
# not counted. Statements that only log are not drawn.
# Exit code 0 if at least 95 % were detected. 150 mutants take about two hours on two cores.
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" python3 python3-pyverbs python3-scapy rdma-core ibverbs-utils
exec "$top/usertools/mutate.py" --root "$top" --work "$top/build-mutate" "$@"
