#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares the layouts of softhca and lib/hwq with those of other projects: usertools/layouts/. See --help.
exec python3 "$(dirname "$0")/layouts/compare.py" "$@"
