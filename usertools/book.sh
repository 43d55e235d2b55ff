#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the book and the manual pages from doc/ and from the code: build-book/doc/html/index.html, and
# build-book/doc/man. Builds the programs first, because pages quote their output.
#
# usage: usertools/book.sh
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" "${book_packages[@]}"
say "book: building the programs that its pages quote, and the pages (some minutes the first time)"
targets=(doc/html)
build build-book -Dtests=false -Dbook=enabled
say "book: build-book/doc/html/index.html; manual pages: build-book/doc/man"
