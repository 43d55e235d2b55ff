#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs plot.py as a user does: it must report wrong input in one line, and must draw the CSVs of doc/.

usage: test_plot.py PLOT DOC [unittest's arguments]
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TIMEOUT = 120  # seconds for one run
THROUGHPUT = "axis,x,series,length,ns,ns_least,to_memcpy\n"
PIPELINING = "round_trip_ns,op,qps,bad_percent,depth,mode,response_median_us,per_second\n"
LOAD = "device,load,via,options,lcores,peers,regions,sge,layouts,depth,burst,rate_per_s,size_bytes,ops_per_s,bytes_per_s,p50_us,p99.9_us,max_us\n"
plot, doc = "", ""


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="test-plot.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def run_plot(self, *args):
        return subprocess.run([sys.executable, plot, *args], capture_output=True, text=True, timeout=TIMEOUT, check=False)

    def check_refused(self, args, said):
        done = self.run_plot(*args)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("plot.py: " + said), done.stderr)

    def csv(self, text):
        path = os.path.join(self.dir, "in.csv")
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path


class Refused(Case):
    def test_a_file_that_cannot_be_read(self):
        path = os.path.join(self.dir, "none.csv")
        self.check_refused([path, self.dir], f"cannot read {path}: No such file or directory")
        self.check_refused([self.dir, self.dir], f"cannot read {self.dir}: Is a directory")

    def test_a_file_that_is_no_such_csv(self):
        for text, said in (("", " is empty: "), ("\n\n", " is empty: "), ("a,b\n1,2\n", ", line 1: no column is called axis or round_trip_ns"),
            (THROUGHPUT, " has a line of names, and no values"), (PIPELINING, " has a line of names, and no values"),
            (THROUGHPUT.replace("ns_least,", ""), ", line 1: there is no column ns_least: "),
            (PIPELINING.replace("qps,", "").replace("mode,", ""), ", line 1: there is no column mode, qps: ")):
            with self.subTest(text=text):
                path = self.csv(text)
                self.check_refused([path, self.dir], path + said)
        path = self.csv(THROUGHPUT.encode() + b"depth,1,gantry,64,\xff,1,1\n")
        self.check_refused([path, self.dir], f"cannot read {path}: it is no CSV: ")
        path = self.csv(THROUGHPUT + '"depth"1,1,gantry,64,1,1,1\n')
        self.check_refused([path, self.dir], f"cannot read {path}: it is no CSV: ")

    def test_a_value_that_cannot_be_drawn_and_its_line(self):
        good = "depth,1,gantry,64,2.5,2,0.5\n"
        for line, said in (("depth,1,gantry,64,fast,2,0.5", "ns is 'fast', which is not a number"),
            ("depth,,gantry,64,2.5,2,0.5", "x is '', which is not a number"), ("depth,1,gantry,64,0,2,0.5", "ns is 0, which cannot be drawn"),
            ("depth,1,gantry,64,nan,2,0.5", "ns is nan, which cannot be drawn"), ("depth,1,gantry,-64,2,2,0.5", "length is -64, which cannot"),
            ("height,1,gantry,64,2.5,2,0.5", "axis is 'height', which is none of depth, burst"),
            ("depth,1,theirs,64,2.5,2,0.5", "series is 'theirs', which is none of memcpy, "),
            ("depth,1,gantry,64,2.5,2", "it has fewer values than the 7 columns"), ("depth,1,gantry,64,2.5,2,0.5,9", "it has more values than")):
            with self.subTest(line=line):
                path = self.csv(THROUGHPUT + good + good + line + "\n" + good)
                self.check_refused([path, self.dir], f"{path}, line 4: {said}")
        path = self.csv(PIPELINING + "2000,write,1,0,1,slowly,2.4,5\n")
        self.check_refused([path, self.dir], f"{path}, line 2: mode is 'slowly', which is none of pipelined, waiting")

    def test_a_load_that_cannot_be_drawn(self):
        good = '"mlx5_0","copy=3,write","ring","",1,1,1,0,0,32,8,0,64,1e6,64e6,1.5,20,30\n'
        for text, said in ((LOAD + good, " has one point, which is no line: give testgantry --load a list"), (LOAD, " has a line of names, and no values"),
            (LOAD.replace("depth,", ""), ", line 1: there is no column depth: "),
            (LOAD + good + good.replace("1e6", "0"), ", line 3: ops_per_s is 0, which cannot be drawn: it must be above 0"),
            (LOAD + good + good.replace("20", "soon"), ", line 3: p99.9_us is 'soon', which is not a number"),
            (LOAD + good + good.replace("ring", "mail"), ", line 3: via is 'mail', which is none of ring, inline")):
            with self.subTest(text=text):
                path = self.csv(text)
                self.check_refused([path, self.dir], path + said)

    def test_a_folder_that_is_not_there(self):
        path = self.csv(THROUGHPUT + "depth,1,gantry,64,2.5,2,0.5\n")
        self.check_refused([path, path], f"{path} is no folder: make it first")

    def test_wrong_usage(self):
        for args in [], ["a"], ["a", "b", "c"], ["--help", "x"]:
            done = self.run_plot(*args)
            self.assertEqual(done.returncode, 1)
            self.assertIn("usage: plot.py CSV FOLDER", done.stderr)


class Drawn(Case):
    def test_loads(self):
        """Draws sweeps of one axis, of two axes, and of rates, and checks the texts of titles, axes and lines."""
        row = '"mlx5_0","copy=3,write","{}","fence 8, by mmo",1,2,1,0,0,{},8,{},{},{},64e6,1.5,20,30\n'
        for name, rows, said, not_said in (
            ("sizes", [row.format("ring", 32, 0, size, 1e6) for size in (64, 128, 256, 512, 1024)],
                ["copy=3,write on mlx5_0, via ring", "depth 32, burst 8, lcores 1, peers 2, regions 1, fence 8, by mmo", "bytes of each operation", "64", "1K", "99.9 %",
                    "million operations a second", "GB/s", "latency, us", "longest"], ["pieces", "a second,"]),
            ("depths", [row.format(via, depth, 0, 64, 1e6 + depth) for depth in (1, 2, 4) for via in ("ring", "inline")],
                ["copy=3,write on mlx5_0", "64 bytes, burst 8", "operations in flight, at most", "ring", "inline", "99.9 % of latencies, us, at most"], []),
            ("rates", [row.format("ring", 32, rate, 64, max(rate, 1) / 2) for rate in (0, 1000, 10000, 1000000)],
                ["operations a second that are due", "what is due", "what was done", "1k", "1M"], [])):
            with self.subTest(name=name):
                path = os.path.join(self.dir, name + ".csv")
                with open(path, "w", encoding="ascii") as file:
                    file.write(LOAD + "".join(rows))
                done = self.run_plot(path, self.dir)
                if "matplotlib is needed" in done.stderr:
                    self.assertIn("install Debian's python3-matplotlib", done.stderr)
                    continue
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                text = ""
                for part in "throughput", "latency":
                    with open(os.path.join(self.dir, f"{name}-{part}.svg"), encoding="utf-8") as file:
                        text += file.read()
                texts = set(re.findall(r"(?s)<text [^>]*>(.*?)</text>", text)) | set(re.findall(r"(?s)<tspan [^>]*>(.*?)</tspan>", text))
                for words in said:
                    self.assertTrue(any(words in one for one in texts), (words, texts))
                for words in not_said:
                    self.assertFalse(any(words in one for one in texts), (words, texts))

    def test_the_csvs_of_the_pages(self):
        paths = glob.glob(os.path.join(doc, "*", "*.csv"))
        self.assertEqual(len(paths), 3)
        for path in paths:
            done = self.run_plot(path, self.dir)
            if "matplotlib is needed" in done.stderr:
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn("install Debian's python3-matplotlib", done.stderr)
                continue
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            names = {os.path.basename(name) for name in glob.glob(os.path.join(os.path.dirname(path), "*.svg"))}
            self.assertLessEqual(names, set(os.listdir(self.dir)))


if __name__ == "__main__":
    plot, doc = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
