#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the CSV of bench_throughput, one SVG for each axis: throughput, and the ratio to memcpy(3).

usage: plot.py CSV FOLDER
"""
import csv
import os
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  the backend is chosen first

LABELS = {
	"depth": "operations in flight, at most",
	"burst": "operations handed over at a time",
	"length": "bytes of each copy",
	"regions": "registered regions, used in random order",
	"peers": "peers, written to in turn",
	"lcores": "worker lcores",
}
COLOURS = {"memcpy": "#777777", "dma_skeleton": "#c05a1c", "gantry": "#1c5fc0"}
# The same picture has the same bytes.
matplotlib.rcParams.update({"svg.hashsalt": "gantry", "svg.fonttype": "none", "font.size": 9})


def read(path):
	"""{axis: {series: [row with numbers]}}, in the order of the file."""
	axes = {}
	with open(path, newline="", encoding="ascii") as file:
		for row in csv.DictReader(file):
			axis, series = row.pop("axis"), row.pop("series")
			axes.setdefault(axis, {}).setdefault(series, []).append(
				{name: float(value) for name, value in row.items()})
	return axes


def draw(axis, series, path):
	by_length = axis == "length"
	figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
	for name, rows in series.items():
		x = [row["x"] for row in rows]
		# Bytes or thousands of operations in a nanosecond's worth of time: GB/s, Mops/s.
		work = [row["length"] if by_length else 1e3 for row in rows]
		left.plot(x, [w / row["ns_least"] for w, row in zip(work, rows)], marker=".", color=COLOURS[name],
			label=name)
		left.fill_between(x, [w / row["ns"] for w, row in zip(work, rows)],
			[w / row["ns_least"] for w, row in zip(work, rows)], color=COLOURS[name], alpha=0.15, lw=0)
		if name != "memcpy":
			right.plot(x, [row["to_memcpy"] for row in rows], marker=".", color=COLOURS[name], label=name)
	left.set_ylabel("GB/s" if by_length else "million operations a second")
	right.set_ylabel("throughput, memcpy = 1")
	for plot in left, right:
		plot.set_xlabel(LABELS[axis])
		plot.set_yscale("log")
		if axis == "lcores":
			plot.set_xticks(x)
		else:
			plot.set_xscale("log", base=2)
		plot.grid(True, which="major", lw=0.3)
		plot.legend(fontsize=8)
	figure.tight_layout()
	figure.savefig(path, metadata={"Date": None, "Creator": None})
	plt.close(figure)


def main():
	if len(sys.argv) != 3:
		sys.exit(__doc__)
	for axis, series in read(sys.argv[1]).items():
		draw(axis, series, os.path.join(sys.argv[2], axis + ".svg"))


if __name__ == "__main__":
	main()
