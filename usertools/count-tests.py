#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the results in meson's testlog.json: prints "PASSED FAILED SKIPPED".

Prints each skipped test on standard error, with its last line of output, which is the reason. With
--names, also prints each failed test; with --outputs, the last lines of its output, too.

usage: count-tests.py [--names|--outputs] TESTLOG.JSON
"""
import json
import sys


LAST_LINES = 40


def main(path, mode):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            result = test["result"]
            kind = {"OK": "passed", "SKIP": "skipped"}.get(result, "failed")
            count[kind] += 1
            if kind == "skipped":
                output = (test.get("stdout", "") + test.get("stderr", "")).strip()
                reason = output.splitlines()[-1] if output else "no reason given"
                print(f"skipped: {test['name']}: {reason}", file=sys.stderr)
            elif kind == "failed" and mode:
                print(f"failed: {test['name']}: {result}", file=sys.stderr)
                if mode == "--outputs":
                    output = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
                    print(*output[-LAST_LINES:], sep="\n", file=sys.stderr)
    print(count["passed"], count["failed"], count["skipped"])


if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[1] not in ("--names", "--outputs")):
    sys.exit(__doc__)
main(sys.argv[-1], sys.argv[1] if len(sys.argv) == 3 else None)
