#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry and decodes a hex dump of WQEs or CQEs, from a file or standard input.
#
# usage: usertools/hwq-decode.sh [-t rc|uc|ud|xrc|dc|raw] [-e big|little] wqe|cqe [FILE]
#
#   echo '00000000 00012301 00000008 00000000' | usertools/hwq-decode.sh wqe
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" >&2
build build
exec "$top/build/app/hwq-decode/hwq-decode" "$@"
