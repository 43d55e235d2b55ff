#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the results in meson's testlog.json: prints "PASSED FAILED SKIPPED".

Names each skipped test with its own reason on standard error, so that a skip is never silent.
"""
import json
import sys


def main(path):
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
	print(count["passed"], count["failed"], count["skipped"])


if len(sys.argv) != 2:
	sys.exit("usage: count-tests.py TESTLOG.JSON")
main(sys.argv[1])
