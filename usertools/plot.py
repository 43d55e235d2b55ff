#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the CSV of bench_throughput or bench_dma, one SVG for each axis: throughput, and the ratio to memcpy(3). For the CSV of
bench_pipelining: one SVG for each round trip, by depth, and one SVG by the share of wrong signatures. For the CSV of a sweep of
testgantry --load: CSV-throughput.svg and CSV-latency.svg. The x axis is the setting with most values; each combination of the
other settings is a line.

usage: plot.py CSV FOLDER
"""
import csv
import math
import os
import re
import sys

LABELS = {
    "depth": "operations in flight, at most",
    "burst": "operations handed over at a time",
    "length": "bytes of each copy",
    "regions": "registered regions, used in random order",
    "peers": "peers, written to in turn",
    "lcores": "worker lcores",
}
COLOURS = {"memcpy": "#777777", "dma_skeleton": "#c05a1c", "gantry": "#1c5fc0", "dma_mlx5": "#1c5fc0"}
# The settings of a load: the label of each on an axis, and its text in a title.
LOAD_LABELS = {
    "size_bytes": ("bytes of each operation", "{} bytes"),
    "rate_per_s": ("operations a second that are due", "{} a second"),
    "depth": ("operations in flight, at most", "depth {}"),
    "burst": ("operations handed over at a time", "burst {}"),
    "lcores": ("worker lcores", "lcores {}"),
    "peers": ("connections of each lcore, used in turn", "peers {}"),
    "regions": ("registered regions of each lcore, used in random order", "regions {}"),
    "sge": ("pieces of each operation", "pieces {}"),
    "layouts": ("places of the layout, used in turn", "layouts {}"),
}
PERCENTILE = re.compile(r"p([0-9.]+)_us")
# The columns to draw: names, and numbers. The key is a column that only this kind of CSV has.
KINDS = {
    "axis": (("axis", "series"), ("x", "length", "ns", "ns_least", "to_memcpy")),
    "round_trip_ns": (("op", "mode"), ("round_trip_ns", "qps", "bad_percent", "depth", "response_median_us", "per_second")),
    "ops_per_s": (("device", "load", "via", "options"), (*LOAD_LABELS, "ops_per_s", "bytes_per_s", "max_us")),
}
TEXTS = ("device", "load", "options")
NAMES = {"axis": tuple(LABELS), "series": tuple(COLOURS), "op": ("write", "read"), "mode": ("pipelined", "waiting"),
    "via": ("ring", "inline")}
POSITIVE = ("ns", "ns_least", "per_second", "size_bytes", "ops_per_s")  # used as divisors, or drawn on a logarithmic axis

matplotlib = plt = None  # load() imports them after the input was checked, because the import takes seconds


class Unusable(Exception):
    """The message says what is wrong, and what the user can do."""


def load():
    """Imports matplotlib."""
    global matplotlib, plt
    try:
        import matplotlib
        import matplotlib.ticker
        matplotlib.use("svg")
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise Unusable(f"matplotlib is needed ({e}): install Debian's python3-matplotlib, and run this by /usr/bin/python3") from None
    # With these settings, equal pictures have equal bytes.
    matplotlib.rcParams.update({"svg.hashsalt": "gantry", "svg.fonttype": "none", "font.size": 9})


def value_of(name, text, where):
    """Returns a value of a column: a name or a number."""
    if name in NAMES:
        if text not in NAMES[name]:
            raise Unusable(f"{where}: {name} is {text!r}, which is none of {', '.join(NAMES[name])}")
        return text
    if name in TEXTS:
        return text
    try:
        number = float(text)
    except ValueError:
        raise Unusable(f"{where}: {name} is {text!r}, which is not a number") from None
    if not math.isfinite(number) or number < 0 or (number == 0 and name in POSITIVE):
        raise Unusable(f"{where}: {name} is {text}, which cannot be drawn: it must be {'above 0' if name in POSITIVE else '0 or more'}")
    return number


def read(path):
    """Returns the kind of the CSV, and its rows; a row has the columns to draw."""
    try:
        with open(path, newline="", encoding="ascii") as file:
            lines = csv.DictReader(file, strict=True)
            head = lines.fieldnames
            if not head:
                raise Unusable(f"{path} is empty: bench_throughput, bench_dma, bench_pipelining and testgantry --load write what it "
                    "should have")
            kind = next((kind for kind in KINDS if kind in head), None)
            if kind is None:
                raise Unusable(f"{path}, line 1: no column is called {' or '.join(KINDS)}: this is no CSV of bench_throughput, "
                    "bench_dma, bench_pipelining or testgantry --load")
            names = [name for part in KINDS[kind] for name in part]
            if kind == "ops_per_s":
                names += [name for name in head if PERCENTILE.fullmatch(name)]
            missing = [name for name in names if name not in head]
            if missing:
                raise Unusable(f"{path}, line 1: there is no column {', '.join(missing)}: make the CSV again with the program that goes "
                    "with this plot.py")
            rows = []
            for row in lines:
                where = f"{path}, line {lines.line_num}"
                if None in row or None in row.values():
                    raise Unusable(f"{where}: it has {'more' if None in row else 'fewer'} values than the {len(head)} columns of line 1")
                rows.append({name: value_of(name, row[name], where) for name in names})
    except (OSError, csv.Error, UnicodeDecodeError) as e:
        why = e.strerror if isinstance(e, OSError) else f"it is no CSV: {e}"
        raise Unusable(f"cannot read {path}: {why}") from None
    if not rows:
        raise Unusable(f"{path} has a line of names, and no values: the program that should have printed them has failed")
    return kind, rows


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def draw_throughput(rows, folder):
    axes = {}
    for row in rows:
        axes.setdefault(row["axis"], {}).setdefault(row["series"], []).append(row)
    for axis, series in axes.items():
        draw(axis, series, os.path.join(folder, axis + ".svg"))


# The subject of a picture, by its axis.
TITLES = {
    "depth": "by operations in flight",
    "burst": "by the length of a burst",
    "length": "by the length of a copy",
    "regions": "by the number of regions",
    "peers": "by the number of peers",
    "lcores": "by the number of worker lcores",
}


def tick(value):
    """Returns a number for a tick: 64, 4K, 1M."""
    for unit, text in ((1 << 20, "M"), (1 << 10, "K")):
        if value >= unit and value % unit == 0:
            return f"{value / unit:g}{text}"
    return f"{value:g}"


def decades(plot):
    """Labels the y axis, which is logarithmic, by plain numbers: 1, 2, 5, 10 if it has few decades, otherwise 1, 10, 100."""
    low, high = plot.get_ylim()
    plot.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5) if high / low < 200 else (1,)))
    plot.yaxis.set_major_formatter("{x:g}")
    plot.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())


def draw(axis, series, path):
    by_length = axis == "length"
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4))
    for name, rows in series.items():
        x = [row["x"] for row in rows]
        # Bytes, or thousands of operations, per nanosecond: GB/s, Mops/s.
        work = [row["length"] if by_length else 1e3 for row in rows]
        left.plot(x, [w / row["ns_least"] for w, row in zip(work, rows)], marker=".", color=COLOURS[name],
            label=name)
        left.fill_between(x, [w / row["ns"] for w, row in zip(work, rows)],
            [w / row["ns_least"] for w, row in zip(work, rows)], color=COLOURS[name], alpha=0.15, lw=0)
        if name != "memcpy":
            right.plot(x, [row["to_memcpy"] for row in rows], marker=".", color=COLOURS[name], label=name)
    left.set_ylabel("GB/s" if by_length else "million operations a second")
    right.set_ylabel("throughput, memcpy = 1")
    left.set_title(f"Throughput {TITLES[axis]}", fontsize=10)
    right.set_title("Compared with memcpy", fontsize=10)
    for plot in left, right:
        plot.set_xlabel(LABELS[axis])
        plot.set_yscale("log")
        decades(plot)
        if axis != "lcores":
            plot.set_xscale("log", base=2)
        # At most nine labels, so that they do not touch.
        ticks = x[::1 + (len(x) - 1) // 9]
        plot.set_xticks(ticks, [tick(value) for value in ticks])
        plot.set_xticks([], minor=True)
        plot.grid(True, which="major", lw=0.3)
        plot.legend(fontsize=8)
    save(figure, path)


def plain_numbers(plot, x):
    """Labels the axes: the x axis with the values of x; the y axis, which is logarithmic, with 1, 2, 5, 10, ..."""
    plot.set_xticks(x, [f"{value:g}" for value in x])
    plot.set_xticks([], minor=True)
    plot.set_yscale("log", subs=[])
    plot.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    plot.yaxis.set_major_formatter("{x:g}")
    plot.grid(True, which="major", lw=0.3)


def by_depth(rows, path):
    """Draws latency and throughput of transactions whose signatures are right."""
    figure, plots = plt.subplots(2, 2, figsize=(8, 6))
    for line, op in zip(plots, ("write", "read")):
        for qps, style in (1, "-"), (4, "--"):
            for mode, colour in ("pipelined", "#1c5fc0"), ("waiting", "#777777"):
                some = [row for row in rows if (row["op"], row["qps"], row["mode"], row["bad_percent"]) ==
                    (op, qps, mode, 0)]
                x = [row["depth"] for row in some]
                name = f"{mode}, {qps} QP{'s' if qps > 1 else ''}"
                line[0].plot(x, [row["response_median_us"] for row in some], style, marker=".", color=colour, label=name)
                line[1].plot(x, [row["per_second"] / 1e6 for row in some], style, marker=".", color=colour, label=name)
        line[0].set_title(f"{op}: latency", fontsize=10)
        line[1].set_title(f"{op}: throughput", fontsize=10)
        line[0].set_ylabel("us to the response, median")
        line[1].set_ylabel("million transactions a second")
        for plot in line:
            plot.set_xlabel("transactions open at once")
            plot.set_xscale("log", base=2)
            plain_numbers(plot, x)
            plot.legend(fontsize=7)
    save(figure, path)


def by_share(rows, path):
    """Draws the throughput of pipelining relative to waiting (1), by the share of wrong signatures."""
    trips = sorted({row["round_trip_ns"] for row in rows})
    figure, plots = plt.subplots(1, len(trips), figsize=(8, 3.2), squeeze=False)
    for plot, trip in zip(plots[0], trips):
        for op, colour in ("write", "#1c5fc0"), ("read", "#c05a1c"):
            for depth, qps, style in (1, 1, "-"), (16, 1, "--"), (16, 4, ":"):
                rate = {(row["mode"], row["bad_percent"]): row["per_second"] for row in rows
                    if (row["round_trip_ns"], row["op"], row["depth"], row["qps"]) == (trip, op, depth, qps)}
                x = sorted({share for _, share in rate})
                plot.plot(x, [rate["pipelined", share] / rate["waiting", share] for share in x], style, marker=".",
                    color=colour, label=f"{op}, {depth} open, {qps} QP{'s' if qps > 1 else ''}")
        plot.axhline(1, color="black", lw=0.8)
        plot.set_title(f"round trip {trip / 1e3:g} us", fontsize=9)
        plot.set_xlabel("wrong signatures, %")
        plot.set_ylabel("transactions a second, waiting = 1")
        plot.set_xscale("symlog", linthresh=0.1)
        plot.set_xlim(left=0)
        plain_numbers(plot, x[:2] + x[3:])
    plots[0][0].legend(fontsize=6)
    figure.suptitle("Throughput of pipelining, compared with waiting", fontsize=10)
    save(figure, path)


def draw_pipelining(rows, folder):
    for trip in sorted({row["round_trip_ns"] for row in rows}):
        by_depth([row for row in rows if row["round_trip_ns"] == trip],
            os.path.join(folder, f"round-trip-{trip / 1e3:g}us.svg"))
    by_share(rows, os.path.join(folder, "wrong.svg"))


def short(name, number):
    """Returns the short form of a number. Bytes: 1024 is 1K, as for --size. Rates: 1000 is 1k."""
    units = {"size_bytes": ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")), "rate_per_s": ((1e6, "M"), (1e3, "k"))}
    for unit, sign in units.get(name, ()):
        if number >= unit and number * 100 % unit == 0:
            return f"{number / unit:g}{sign}"
    return f"{number:g}"


def load_axes(rows, path):
    """Returns the setting on the x axis, and the columns that differ between lines."""
    values = {name: sorted({row[name] for row in rows}) for name in ("device", "load", "via", "options", *LOAD_LABELS)}
    swept = [name for name in LOAD_LABELS if len(values[name]) > 1]
    if not swept:
        raise Unusable(f"{path} has one point, which is no line: give testgantry --load a list, as --size 64-64K")
    x = max(swept, key=lambda name: len(values[name]))
    return x, [name for name in values if name != x and len(values[name]) > 1], values


def load_lines(rows, x, apart):
    """Returns {name of a line: its rows}."""
    lines = {}
    for row in rows:
        name = ", ".join(LOAD_LABELS[part][1].format(short(part, row[part])) if part in LOAD_LABELS else str(row[part]) for part in apart)
        lines.setdefault(name, []).append(row)
    for line in lines.values():
        line.sort(key=lambda row: row[x])
    return lines


def load_title(what, rows, x, apart, values):
    fixed = [form.format(short(name, values[name][0])) for name, (_, form) in LOAD_LABELS.items()
        if name != x and name not in apart and values[name][0] > 0]  # 0: the load does not use this setting
    fixed += [text for text in values["options"] if text and "options" not in apart]
    first = [values[name][0] for name in ("load", "device") if name not in apart]
    return f"{what}: {' on '.join(first)}{', via ' + values['via'][0] if 'via' not in apart else ''}\n{', '.join(fixed)}"


def load_plot(plot, x, ticks, label):
    plot.set_xlabel(LOAD_LABELS[x][0])
    plot.set_ylabel(label)
    if ticks[-1] / max(ticks[0], 1) > 8:
        plot.set_xscale("log", base=2)
    some = ticks[::-(-len(ticks) // 8)]
    plot.set_xticks(some, [short(x, tick) for tick in some])
    plot.set_xticks([], minor=True)
    plot.grid(True, which="major", lw=0.3)


def log_latencies(plot):
    plot.set_yscale("log", subs=[])
    plot.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    plot.yaxis.set_major_formatter("{x:,.10g}")
    plot.legend(fontsize=7)


def draw_load(rows, stem, path):
    """Draws throughput and latency of a sweep of testgantry --load."""
    x, apart, values = load_axes(rows, path)
    if x == "rate_per_s":
        rows = [row for row in rows if row[x] > 0] or rows  # 0 means a closed loop, which cannot be on this axis
    ticks = sorted({row[x] for row in rows})
    lines = load_lines(rows, x, apart)
    load()
    figure, plots = plt.subplots(1, 2, figsize=(9, 3.8))
    for plot, column, unit, label in (plots[0], "ops_per_s", 1e6, "million operations a second"), (plots[1], "bytes_per_s", 1e9, "GB/s"):
        for name, line in lines.items():
            plot.plot([row[x] for row in line], [row[column] / unit for row in line], marker=".",
                label=name or ("what was done" if x == "rate_per_s" else None))
        if x == "rate_per_s" and column == "ops_per_s":
            plot.plot(ticks, [tick / unit for tick in ticks], color="#777777", lw=0.8, ls=":", label="what is due")
        load_plot(plot, x, ticks, label)
        plot.set_ylim(bottom=0)
        if any(label for label in plot.get_legend_handles_labels()[1]):
            plot.legend(fontsize=7)
    figure.suptitle(load_title("throughput", rows, x, apart, values), fontsize=9)
    save(figure, stem + "-throughput.svg")

    percentiles = [name for name in rows[0] if PERCENTILE.fullmatch(name)]
    columns = {**{name: f"{PERCENTILE.fullmatch(name).group(1)} % of latencies, us, at most" for name in percentiles}, "max_us": "longest latency, us"}
    if len(lines) == 1:  # all percentiles in one picture
        figure, plot = plt.subplots(figsize=(6, 3.8))
        line, = lines.values()
        for column in columns:
            name = "longest" if column == "max_us" else PERCENTILE.fullmatch(column).group(1) + " %"
            plot.plot([row[x] for row in line], [row[column] for row in line], marker=".", label=name)
        load_plot(plot, x, ticks, "latency, us")
        log_latencies(plot)
    else:
        figure, plots = plt.subplots(1, len(columns), figsize=(3.6 * len(columns), 3.8), squeeze=False, sharey=True)
        for plot, (column, label) in zip(plots[0], columns.items()):
            for name, line in lines.items():
                plot.plot([row[x] for row in line], [row[column] for row in line], marker=".", label=name)
            load_plot(plot, x, ticks, label)
            log_latencies(plot)
    figure.suptitle(load_title("latency", rows, x, apart, values), fontsize=9)
    save(figure, stem + "-latency.svg")


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    path, folder = sys.argv[1:]
    try:
        kind, rows = read(path)
        if not os.path.isdir(folder):
            raise Unusable(f"{folder} is no folder: make it first")
        try:
            if kind == "ops_per_s":
                draw_load(rows, os.path.join(folder, os.path.splitext(os.path.basename(path))[0]), path)
                return
            load()
            (draw_throughput if kind == "axis" else draw_pipelining)(rows, folder)
        except OSError as e:
            raise Unusable(f"cannot write {e.filename}: {e.strerror}") from None
        except KeyError as e:
            raise Unusable(f"{path}: there is no row with {e.args[0]}: the run that made it was not complete") from None
    except Unusable as e:
        sys.exit(f"plot.py: {e}")


if __name__ == "__main__":
    main()
