#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the results in meson's testlog.json: prints "PASSED FAILED SKIPPED".

Prints each skipped test on standard error, with its last line of output, which is the reason. With
--names, also prints each failed test.

usage: count-tests.py [--names] TESTLOG.JSON
"""
import json
import sys


def main(path, names):
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
			elif kind == "failed" and names:
				print(f"failed: {test['name']}: {result}", file=sys.stderr)
	print(count["passed"], count["failed"], count["skipped"])


if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[1] != "--names"):
	sys.exit(__doc__)
main(sys.argv[-1], len(sys.argv) == 3)
