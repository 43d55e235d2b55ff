#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs testgantry as a user does, on files made here, and checks outputs, messages and exit codes.

usage: test_testgantry.py TESTGANTRY LYING_ENGINE.so VERSION [unittest's arguments]
"""
import contextlib
import csv
import glob
import hashlib
import itertools
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

TIMEOUT = 400  # seconds for one run: longer than any machine needs
CHUNK = 64 << 10
DEPTH = 32  # the default of --depth
LONG, SLOWLY = 32 << 20, ("--chunk", "1")  # a file that takes a minute: 33 million descriptors
# Runs a command as root, but without the capability to ignore file permissions. Another user might be unable to access
# the program, which may be in root's home.
WITHOUT_RIGHTS = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]
FORCED = {"SOFTHCA_FORCE": "1"}  # uses the emulated adapter, even if the machine has a real device

NO_LCORES = ["--no-huge", "--no-shconf", "--no-telemetry", "-m", "64", "--"]

program, lying_engine, project_version = "", "", ""


def eal(workers=1):
    """Returns EAL's arguments for a main lcore and n worker lcores, on the available CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    lcores = ",".join(f"{i}@{cpus[i % len(cpus)]}" for i in range(workers + 1))
    return [f"--lcores={lcores}", *NO_LCORES]


class Result:
    def __init__(self, code, out):
        self.code = code
        self.out = out


def run(args, env=None, **more):
    """Runs the program. Returns standard output and error as one text."""
    done = subprocess.run([*more.pop("under", []), program, *args], stdin=more.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False,
        env={**os.environ, **FORCED, **(env or {})}, **more)
    return Result(done.returncode, done.stdout.decode(errors="replace"))


def move(*args, workers=1, env=None, **more):
    return run([*eal(workers), "--chunk", str(CHUNK), *map(str, args)], env=env, **more)


def lying(lie, at):
    return {"LD_PRELOAD": lying_engine, "LIE": lie, "LIE_AT": str(at),
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def tree(folder):
    """Returns every file below a folder: {relative path: hash of its content}."""
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            found[os.path.relpath(path, folder)] = sha256(path)
    return found


def wait_for(condition, process, seconds=TIMEOUT):
    """Waits until the condition holds while the process runs."""
    end = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None:
            raise AssertionError(f"it ended too early:\n{process.stdout.read().decode()}")
        if time.monotonic() > end:
            raise AssertionError(f"nothing happened in {seconds} s")
        time.sleep(0.01)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="test-testgantry.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        os.chmod(self.dir, 0o755)
        self.out = os.path.join(self.dir, "out")
        self.random = random.Random(1)

    def path(self, name):
        return os.path.join(self.dir, name)

    def make(self, name, size):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(self.random.randbytes(size))
        return path

    def make_sparse(self, name, size, data=()):
        """Creates a sparse file with data at these offsets: {offset: length}."""
        path = self.make(name, 0)
        os.truncate(path, size)
        with open(path, "r+b") as file:
            for at, length in dict(data).items():
                file.seek(at)
                file.write(self.random.randbytes(length))
        return path

    def extents(self, path):
        """Returns where the file has data: [(begin, end), ...]."""
        found, at = [], 0
        with open(path, "rb") as file:
            while True:
                try:
                    begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
                except OSError:  # there are no data after it
                    return found
                at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
                found.append((begin, at))

    def make_sizes(self):
        sizes = [0, 1, 4095, 4096, 4097, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7,
            2 * DEPTH * CHUNK + 12345]
        for size in sizes:
            self.make(f"in/{size}", size)
        return self.path("in")

    def faults(self, line):
        path = self.path("faults")
        with open(path, "w", encoding="ascii") as file:
            file.write(line + "\n")
        return {"SOFTHCA_FAULTS": path}

    @contextlib.contextmanager
    def running(self, *args, workers=1, env=None):
        chunk = [] if "--load" in args else ["--chunk", str(CHUNK)]
        with subprocess.Popen([program, *eal(workers), *chunk, *map(str, args)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **FORCED, **(env or {})}) as process:
            try:
                yield process
            finally:
                process.kill()

    def stopped_after(self, text, *args, workers=1, env=None, times=1):
        """Runs the program, and sends SIGINT when it has printed this text this number of times."""
        with self.running(*args, workers=workers, env=env) as process:
            out = b""
            while out.count(text.encode()) < times:
                line = process.stdout.readline()
                self.assertNotEqual(line, b"", out.decode())
                out += line
            process.send_signal(signal.SIGINT)
            more, _ = process.communicate(timeout=TIMEOUT)
        result = Result(process.returncode, (out + more).decode())
        self.assertEqual(result.code, 128 + signal.SIGINT, result.out)
        self.assertNotIn("Bye", result.out)
        return result

    def leftovers(self, folder=None):
        return glob.glob(os.path.join(glob.escape(folder or self.dir), "**", ".testgantry-*"), recursive=True)

    def check_moved(self, result, source, moved):
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("every byte is equal", result.out)
        self.assertEqual(tree(source), tree(moved))
        self.assertEqual(self.leftovers(), [])

    def check_refused(self, result, *words):
        """Checks that the program failed, printed these words, and left no file."""
        self.assertEqual(result.code, 1, result.out)
        for word in words:
            self.assertIn(word, result.out)
        self.assertEqual(self.leftovers(), [])

    def table(self, result):
        """Returns the last table of the output: {lcore: [descriptors, bytes, ..., errors]}."""
        rows = re.findall(r"^ *(\d+|total) +(\d[\d. ]*)$", result.out, re.MULTILINE)
        return {name: row.split() for name, row in rows}


class Moves(Case):
    def test_every_mode_and_1_to_3_workers_move_every_size(self):
        source = self.make_sizes()
        for mode, workers in ("copy", 3), ("write", 2), ("read", 1):
            with self.subTest(mode=mode, workers=workers):
                out = self.path(mode)
                result = move("--mode", mode, "--out", out, source, workers=workers)
                self.check_moved(result, source, os.path.join(out, "in"))

    def test_the_table_counts_every_chunk_and_every_byte(self):
        source = self.make_sizes()
        sizes = [os.path.getsize(os.path.join(source, name)) for name in os.listdir(source)]
        result = move("--out", self.out, source, workers=2)
        rows = self.table(result)
        self.assertEqual(set(rows), {"1", "2", "total"}, result.out)
        self.assertEqual(int(rows["total"][0]), sum(-(-size // CHUNK) for size in sizes))
        self.assertEqual(int(rows["total"][1]), sum(sizes))
        self.assertEqual(int(rows["total"][-1]), 0)
        for column in 0, 1:
            self.assertEqual(int(rows["1"][column]) + int(rows["2"][column]),
                int(rows["total"][column]))
            self.assertGreater(int(rows["2"][column]), 0)

    def test_nb_cores_leaves_lcores_out(self):
        source = self.make_sizes()
        result = move("--nb-cores", 1, "--out", self.out, source, workers=2)
        self.check_moved(result, source, self.path("out/in"))
        self.assertEqual(set(self.table(result)), {"1", "total"})

    def test_odd_settings_move_the_same_bytes(self):
        source = self.make_sizes()
        for args in (["--depth", 1, "--burst", 256], ["--depth", 3, "--burst", 2, "--chunk", 4099],
            ["--ring-size", 2, "--depth", 64], ["--chunk", "8M", "--depth", 2]):
            with self.subTest(args=args):
                shutil.rmtree(self.out, ignore_errors=True)
                result = move("--out", self.out, *args, source)
                self.check_moved(result, source, self.path("out/in"))

    def workers_of(self, *args, workers=1, env=None):
        """Returns the line of each worker, the largest number of descriptors that one call enqueued, and the largest
        number of descriptors that the worker had."""
        noted, source = self.path("noted"), self.make("in/a", 100 * CHUNK)
        shutil.rmtree(self.out, ignore_errors=True)
        result = move("--out", self.out, *args, os.path.dirname(source), workers=workers,
            env={**lying("none", 0), "WORKERS": noted, **(env or {})})
        self.check_moved(result, os.path.dirname(source), self.path("out/in"))
        with open(noted, encoding="ascii") as file:
            *lines, last = file.read().splitlines()
        return lines, [int(n) for n in last.split()[1:]]

    def test_workers_are_made_as_the_options_say(self):
        """Depths are rounded up to powers of two; 0 ring elements mean the engine's default; idle 0 is spin, 1 is
        sleep."""
        self.assertEqual(self.workers_of(workers=2)[0], ["worker 32 0 8 1"] * 2)
        for depth, ring, burst in (5, 64, 3), (64, 2, 256), (2, 1024, 1):
            with self.subTest(depth=depth, ring=ring, burst=burst):
                lines, (handed, *_) = self.workers_of("--depth", depth, "--ring-size", ring, "--burst", burst,
                    "--idle", "spin", workers=2)
                self.assertEqual(lines, [f"worker {8 if depth == 5 else depth} {ring} {burst} 0"] * 2)
                self.assertLessEqual(handed, burst)
                self.assertLessEqual(handed, depth)

    def test_the_peer_of_each_worker_is_the_next_one(self):
        """Checks both ends of each connection by the numbers of their queues: the first end is the worker's."""
        noted, source = self.path("noted"), self.make("in/a", 9 * CHUNK)
        for mode in "write", "read":
            for workers in 1, 3:
                with self.subTest(mode=mode, workers=workers):
                    out = self.path(f"{mode}{workers}")
                    result = move("--mode", mode, "--out", out, os.path.dirname(source), workers=workers,
                        env={**lying("none", 0), "NOTED": noted})
                    self.check_moved(result, os.path.dirname(source), os.path.join(out, "in"))
                    with open(noted, encoding="ascii") as file:
                        ends = [int(line.split()[1]) for line in file if line.startswith("end ")]
                    numbers = sorted(set(ends))
                    self.assertEqual(len(numbers), workers)
                    self.assertEqual([(numbers.index(near), numbers.index(far)) for near, far in zip(ends[::2], ends[1::2])],
                        [(i, (i + 1) % workers) for i in range(workers)])

    def test_a_worker_has_as_many_chunks_as_depth_says_and_no_more(self):
        """The third chunk is late, so that the worker gets as many chunks as it may have in flight."""
        for depth in 3, 20:
            with self.subTest(depth=depth):
                _, (_, out, *_) = self.workers_of("--depth", depth, "--burst", 1, env=self.faults("late ms=1000 op=3"))
                self.assertEqual(out, depth)

    def test_a_table_is_printed_every_so_many_seconds_and_at_the_end(self):
        tables = lambda result: len(re.findall(r"(?m)^ *total ", result.out))
        result = move("--out", self.out, self.make("in/a", 3 * CHUNK), env=self.faults("late ms=1500 op=2"))
        self.assertEqual(result.code, 0, result.out)
        self.assertEqual(tables(result), 1, result.out)
        begin = time.monotonic()
        result = move("--out", self.path("slow"), self.path("in"), "--stats-period", 1, env=self.faults("late ms=2500 op=2"))
        self.assertEqual(result.code, 0, result.out)
        self.assertIn(tables(result), range(2, int(time.monotonic() - begin) + 2), result.out)
        result = self.stopped_after("total ", "--out", self.out, "--stats-period", 1, *SLOWLY, self.make("big", LONG), times=3)
        self.assertGreaterEqual(tables(result), 4, result.out)

    def test_workers_that_sleep_move_the_same_bytes(self):
        """The third chunk completes half a second late, so the worker has no descriptors to handle for that time."""
        source = self.make_sizes()
        for idle, sleeps in ("spin", False), ("sleep", True):
            with self.subTest(idle=idle):
                out = self.path(idle)
                result = move("--idle", idle, "--out", out, source, env=self.faults("late ms=500 op=3"))
                self.check_moved(result, source, os.path.join(out, "in"))
                times = int(re.search(r"(?m)^the workers slept (\d+) times$", result.out).group(1))
                self.assertEqual(times > 0, sleeps, result.out)

    def test_waking_is_measured_for_each_way_of_waiting(self):
        result = run([*eal(), "--wake-up", "20"])
        self.assertEqual(result.code, 0, result.out)
        for idle in "spin", "sleep":
            row = re.search(rf"^  {idle} +([\d.]+) us +([\d.]+) us +([\d.]+) us$", result.out, re.MULTILINE)
            median, most, longest = (float(figure) for figure in row.groups())
            self.assertTrue(0 < median <= most <= longest, result.out)
        self.assertRegex(result.out, r"(?m)^  monitor +([\d.]+ us|this CPU cannot wait)")
        with open("/proc/cpuinfo", encoding="ascii") as file:
            able = "waitpkg" in file.read() or os.uname().machine != "x86_64"
        source = self.make("a", 1000)
        result = move("--idle", "monitor", "--out", self.out, source)
        if able:
            self.assertEqual(result.code, 0, result.out)
        else:
            self.check_refused(result, "--idle sleep")

    def test_waking_is_measured_by_as_many_copies_as_were_asked_for(self):
        noted = self.path("noted")
        result = run([*eal(), "--wake-up", "7"], env={**lying("none", 0), "WORKERS": noted})
        self.assertEqual(result.code, 0, result.out)
        rows = len(re.findall(r"(?m)^  (spin|sleep|monitor) +[\d.]+ us", result.out))
        with open(noted, encoding="ascii") as file:
            self.assertEqual(int(file.read().split()[-1]), 7 * rows)

    def test_chunks_may_have_one_byte(self):
        self.make("in/tiny", 3000)
        result = move("--out", self.out, "--chunk", 1, self.path("in"), workers=2)
        self.check_moved(result, self.path("in"), self.path("out/in"))
        self.assertEqual(int(self.table(result)["total"][0]), 3000)

    def test_files_longer_than_the_buffers_stream_through(self):
        self.make("in/long", 30 << 20)
        result = move("--out", self.out, "--depth", 2, self.path("in"))
        self.check_moved(result, self.path("in"), self.path("out/in"))

    def test_more_files_than_may_be_open_at_once(self):
        for i in range(400):
            self.make(f"in/{i % 7}/{i}", i)
        result = move("--out", self.out, self.path("in"), workers=2,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        self.check_moved(result, self.path("in"), self.path("out/in"))


class Outputs(Case):
    def test_many_empty_files_need_no_descriptor(self):
        for i in range(200):
            self.make(f"in/{i}", 0)
        result = move("--out", self.out, self.path("in"))
        self.check_moved(result, self.path("in"), self.path("out/in"))
        self.assertEqual(int(self.table(result)["total"][0]), 0)

    def test_an_older_output_is_replaced_and_modes_are_kept(self):
        source = self.make("in/tool", 5000)
        os.chmod(source, 0o750)
        self.make("out/tool", 77)
        result = move("--out", self.out, source)
        self.check_moved(result, self.path("in"), self.out)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out/tool")).st_mode), 0o750)

    def test_an_output_gets_the_permissions_that_the_umask_allows_and_no_others(self):
        source = self.make("in/tool", 5000)
        os.chmod(source, 0o7777)
        result = move("--out", self.out, source, umask=0o027)
        self.check_moved(result, self.path("in"), self.out)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out/tool")).st_mode), 0o750)

    def test_holes_of_sparse_files_stay_holes(self):
        size = 4 << 20
        for name, data in {"none": {}, "begin": {0: 5000}, "end": {size - 100: 100}, "middle": {size // 2: 3 * CHUNK},
            "several": {i << 20: 70000 * (i + 1) for i in range(4)}, "all": {0: size}}.items():
            self.make_sparse(f"in/{name}", size, data)
        if self.extents(self.path("in/none")):
            self.skipTest("this file system knows no holes")
        with_data = {name: self.extents(self.path(f"in/{name}")) for name in os.listdir(self.path("in"))}
        n_bytes = sum(end - begin for parts in with_data.values() for begin, end in parts)
        for mode in "copy", "write", "read":
            for chunk in CHUNK, 3000:
                with self.subTest(mode=mode, chunk=chunk):
                    out = self.path(f"{mode}{chunk}")
                    result = move("--mode", mode, "--out", out, "--chunk", chunk, self.path("in"), workers=2)
                    self.check_moved(result, self.path("in"), os.path.join(out, "in"))
                    for name, parts in with_data.items():
                        self.assertEqual(self.extents(os.path.join(out, "in", name)), parts, name)
                    self.assertEqual(int(self.table(result)["total"][1]), n_bytes)
                    self.assertIn(f"6 files, {n_bytes / 1e6:.1f} MB, and {(6 * size - n_bytes) / 1e6:.1f} MB of holes, moved", result.out)

    def test_data_where_a_hole_should_be_are_found_out(self):
        """The file system is wrong: the last byte of a range that it reports as a hole is not 0."""
        source = self.make_sparse("in/file", 1 << 20, {1 << 19: 4096})
        with open(source, "r+b") as file:
            file.seek((1 << 19) - 1)
            file.write(b"x")
        self.check_refused(move("--out", self.out, source, env=lying("hole", (1 << 19))), "differs", f"at byte {(1 << 19) - 1}:")

    def test_names_with_spaces_dashes_and_255_bytes(self):
        for name in "a b", "-weird", "n" * 255, "\n", "ü":
            self.make(f"in/{name}", 100)
        result = move("--out", self.out, "--", "-weird", cwd=self.path("in"))
        self.assertEqual(result.code, 0, result.out)
        result = move("--out", self.out, self.path("in"))
        self.check_moved(result, self.path("in"), self.path("out/in"))

    def test_without_dashes_every_argument_goes_to_the_app(self):
        source = self.make("in/file", 5000)
        result = run(["--out", self.out, source])
        if "Is another primary process running" in result.out:
            self.skipTest("another DPDK program runs on this machine")
        if "too few lcores" in result.out:
            self.skipTest("EAL has one lcore here")
        self.check_moved(result, self.path("in"), self.out)

    def test_progress_is_plain_lines_in_a_pipe(self):
        source = self.make("in/late", 100000)
        result = move("--out", self.out, source, "--chunk", 4096, "--stats-period", 1, env=self.faults("late ms=2500 op=3"))
        self.check_moved(result, self.path("in"), self.out)
        self.assertRegex(result.out, r"(?m)^moved 0\.0 of 0\.1 MB, 0\.00 GB/s; verified 0 of 1 files$")
        self.assertNotIn("\r", result.out)
        self.assertNotIn("\033", result.out)


class Reorder(Case):
    def test_an_adapter_that_reorders_moves_every_byte(self):
        source = self.make_sizes()
        for mode in "copy", "write", "read":
            for path in ("mmo", "rdma") if mode == "copy" else ("auto",):
                with self.subTest(mode=mode, path=path):
                    out = self.path(f"{mode}-{path}")
                    result = move("--mode", mode, "--copy-path", path, "--out", out, source, workers=2,
                        env={"SOFTHCA_REORDER": "1"})
                    self.check_moved(result, source, os.path.join(out, "in"))


class CopyPaths(Case):
    def setUp(self):
        super().setUp()
        self.source = self.make_sizes()

    def test_a_device_without_mmo_copies_by_loopback_rdma_and_the_app_says_so(self):
        result = move("--out", self.out, self.source, env={"SOFTHCA_MAX_MEMCPY": "0"})
        self.check_moved(result, self.source, self.path("out/in"))
        self.assertIn("no MMO on this device: copies go by loopback RDMA", result.out)

    def test_mmo_that_the_device_lacks_is_refused_with_the_remedy(self):
        result = move("--out", self.out, "--copy-path", "mmo", self.source,
            env={"SOFTHCA_MAX_MEMCPY": "0"})
        self.check_refused(result, "--copy-path auto")
        self.assertFalse(os.path.exists(self.out))

    def test_copies_by_rdma_can_be_requested(self):
        result = move("--out", self.out, "--copy-path", "rdma", self.source)
        self.check_moved(result, self.source, self.path("out/in"))
        self.assertIn("loopback RDMA, as asked", result.out)

    def test_copies_longer_than_the_device_takes_are_split(self):
        result = move("--out", self.out, self.source, env={"SOFTHCA_MAX_MEMCPY": "4096"})
        self.check_moved(result, self.source, self.path("out/in"))
        rows = self.table(result)
        self.assertGreater(float(rows["total"][5]), 10, "WQEs a descriptor")

    def policy(self, text):
        path = self.path("policy")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def test_a_policy_says_who_carries_copies(self):
        for rules, who in (("any any cpu", r"copies: \d\d+ by the CPU, 0 by DMA MMO, 0 by RDMA"),
            ("any any rdma", r"copies: 0 by the CPU, 0 by DMA MMO, \d\d+ by RDMA"),
            ("any 100 cpu # few", r"copies: 3 by the CPU, \d\d+ by DMA MMO, 0 by RDMA")):
            with self.subTest(rules=rules):
                shutil.rmtree(self.out, ignore_errors=True)
                result = move("--out", self.out, "--policy", self.policy(rules), self.source)
                self.check_moved(result, self.source, self.path("out/in"))
                self.assertRegex(result.out, who)

    def test_a_policy_that_cannot_be_followed_is_refused_with_the_remedy(self):
        result = move("--out", self.out, "--policy", self.policy("any any cpu\n1 2 gpu"), self.source)
        self.check_refused(result, "line 2 of a policy", "--measure-policy")
        result = move("--out", self.out, "--policy", self.path("none"), self.source)
        self.check_refused(result, "--policy: cannot use " + self.path("none"), "No such file", "--measure-policy")
        result = move("--out", self.out, "--policy", self.policy("1 2 mmo"), self.source,
            env={"SOFTHCA_MAX_MEMCPY": "0"})
        self.check_refused(result, "--policy: the mlx5 device cannot use", "--measure-policy")

    def test_a_file_that_is_no_policy_is_refused_by_what_it_is(self):
        for path, words in ((program, "it is no text: it has zero bytes"), (self.dir, "Is a directory"),
            (self.policy("# \n" * 6000), "it is longer than the 16383 bytes that a policy can have"),
            (self.policy("x" * 16384), "it is longer than the 16383 bytes that a policy can have")):
            with self.subTest(words=words):
                self.check_refused(move("--out", self.out, "--policy", path, self.source), f"--policy: cannot use {path} ", words,
                    "--measure-policy")

    def test_a_device_can_be_named(self):
        result = move("--out", self.out, "--device", "mlx5_1", self.source,
            env={"SOFTHCA_DEVICES": "2"})
        self.check_moved(result, self.source, self.path("out/in"))
        self.assertIn("device mlx5_1", result.out)

    def test_a_device_can_be_named_by_its_pci_address(self):
        # The adapters are in the first PCI domain from ca00 on that the machine does not use.
        domain = next(n for n in range(0xca00, 0x10000) if not os.path.exists(f"/sys/devices/pci{n:04x}:00"))
        result = move("--out", self.out, "--device", f"{domain:04x}:00:02.0", self.source, env={"SOFTHCA_DEVICES": "2"})
        self.check_moved(result, self.source, self.path("out/in"))
        self.assertIn("device mlx5_1", result.out)
        result = move("--out", self.out, "--device", "03:00.0", self.source)
        self.check_refused(result, "no mlx5 device has the PCI address 03:00.0", "--device: there is no 03:00.0")

    def test_a_device_that_is_not_there_is_named_in_the_error(self):
        result = move("--out", self.out, "--device", "mlx5_9", self.source)
        self.check_refused(result, "--device: there is no mlx5_9", "ibv_devices")
        for args in (["--mode", "sig", self.source], ["--wake-up", "2"], ["--measure-policy", self.path("new")]):
            result = run([*eal(2), "--device", "mlx5_9", *args])
            self.check_refused(result, "--device: there is no mlx5_9", "ibv_devices")
        self.assertFalse(os.path.exists(self.path("new")))


class Shared(Case):
    """--export: copies between two functions of a card."""

    def export(self, *args, **env):
        return run([*eal(), "--device", "mlx5_0", "--export", "mlx5_1", *args],
            env={"SOFTHCA_DEVICES": "2", "SOFTHCA_FUNCTIONS": "2", **env})

    def test_all_ways_are_run_and_compared(self):
        for env in {}, {"SOFTHCA_MAX_MEMCPY": "0"}, {"SOFTHCA_CROSS_VHCA": "direct"}:
            result = self.export(**env)
            self.assertEqual(result.code, 0, result.out)
            ways = re.findall(r"^(mlx5_\d copies \w+ mlx5_\d): 28 copies, 48\.3 MiB, all bytes equal; [0-9.]+ GiB/s$",
                result.out, re.M)
            self.assertEqual(ways, [f"mlx5_{a} copies {way} mlx5_{1 - a}" for a in (1, 0) for way in ("from", "to", "inside")])

    def test_refusals_say_what_to_do(self):
        self.check_refused(self.export(SOFTHCA_FUNCTIONS="1"), "only functions of one card share memory",
            "--export: mlx5_1: cannot import memory")
        self.check_refused(self.export(SOFTHCA_CROSS_VHCA="off"), "--export: mlx5_0 lets no other function",
            "doc/hardware.md")
        self.check_refused(self.export("in"), "--export moves no files")
        self.check_refused(self.export("--wake-up", "2"), "--export moves no other bytes")


class Measured(Case):
    def test_a_measured_policy_can_be_followed(self):
        path, source = self.path("measured"), self.make_sizes()
        for env, carriers in (({}, {"cpu", "mmo", "rdma"}), ({"SOFTHCA_MAX_MEMCPY": "0"}, {"cpu", "rdma"})):
            result = run([*eal(), "--measure-policy", path], env=env)
            self.assertEqual(result.code, 0, result.out)
            with open(path, encoding="ascii") as file:
                rules = [line.split() for line in file if not line.startswith("#")]
            self.assertEqual(rules[-1][:2], ["any", "any"])
            self.assertLessEqual({rule[2] for rule in rules}, carriers)
            # The carrier that is marked in the last line of the tables must be the carrier of the last rule.
            last = re.findall(r"^ +262144 (.*)$", result.out, re.M)[-1].split()
            names = re.findall(r"^ *64 in flight +(.*)$", result.out, re.M)[0].split()
            self.assertEqual(set(names), carriers)
            self.assertEqual([n for n, t in zip(names, last) if t.endswith("*")], [rules[-1][2]])
            moved = move("--out", self.out, "--policy", path, source, env=env)
            self.check_moved(moved, source, self.path("out/in"))
            shutil.rmtree(self.out)
        result = run([*eal(), "--measure-policy", self.path("no/where")])
        self.check_refused(result, "--measure-policy: cannot write the policy to", "No such file", "name a file")

    def test_a_signal_says_that_not_all_was_measured_and_leaves_an_older_policy(self):
        older = self.make("older", 100)
        before = sha256(older)
        for path in older, self.path("new"):
            result = self.stopped_after("measuring which", "--measure-policy", path)
            self.assertIn("stopped by Interrupt: no policy was written", result.out)
        self.assertEqual(sha256(older), before)
        self.assertFalse(os.path.exists(self.path("new")))
        result = self.stopped_after("longest", "--wake-up", 1000000)
        self.assertIn("stopped by Interrupt: the measurement is not complete", result.out)

    def test_a_measurement_that_fails_leaves_no_file_and_an_older_one_as_it_was(self):
        path, older = self.path("measured"), self.path("older")
        with open(older, "w", encoding="ascii") as file:
            file.write("any any cpu\n")
        before = sha256(older)
        for args, env in ((["--device", "mlx5_9"], None), ([], self.faults("device_fatal op=50"))):
            with self.subTest(args=args):
                result = run([*eal(), *args, "--measure-policy", path], env=env)
                self.assertEqual(result.code, 1, result.out)
                self.assertFalse(os.path.exists(path))
                result = run([*eal(), *args, "--measure-policy", older], env=env)
                self.assertEqual(result.code, 1, result.out)
                self.assertEqual(sha256(older), before)


def draw(seed, block):
    """Returns the first random number of a block, by SplitMix64: there are four numbers for each block."""
    ones = (1 << 64) - 1
    x = (seed + (4 * block + 1) * 0x9e3779b97f4a7c15) & ones
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & ones
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & ones
    return x ^ x >> 31


class SignatureCase(Case):
    def setUp(self):
        super().setUp()
        for size in 0, 1, 4097, 60000:
            self.make(f"in/{size}", size)

    def sig(self, block, chunk, *args, workers=2, env=None):
        return run([*eal(workers), "--mode", "sig", "--block", str(block), "--chunk", str(chunk), *map(str, args),
            self.path("in")], env=env)

    def rows(self, result):
        """Returns the rows of the table with their two numbers: pipelined, and waiting."""
        found = re.findall(r"^ +(\S.*?) {2,}([\d.]+|-) +([\d.]+|-)$", result.out, re.MULTILINE)
        return {name: numbers for name, *numbers in found}

    def n_blocks(self, block=512):
        return sum(-(-size // block) for size in (0, 1, 4097, 60000))

    def check_run(self, block, chunk, depth, guard, wire, percent, seed, *more, env=None):
        result = self.sig(block, chunk, "--depth", depth, "--guard", guard, "--wire", wire, "--corrupt", percent, "--seed", seed,
            *more, env=env)
        self.assertEqual(result.code, 0, result.out)
        n_blocks = self.n_blocks(block)
        n = -(-n_blocks * block // chunk)
        text, refused = f"\n{n_blocks} blocks of {block} bytes", {}
        for place, kind, of_place in (("disk", guard, seed), ("wire", wire, seed + (1 << 32))):
            bad = [b for b in range(n_blocks) if kind != "none" and draw(of_place, b) % 100 < percent]
            refused[place] = len({b // (chunk // block) for b in bad})
            text += f"; on the {place}: {kind}, {len(bad)} corrupted"
        self.assertIn(text, result.out)
        # If signatures are on the wire, blocks are first stored with corruptions, and then without.
        n_stores, all_refused = n if wire == "none" else 2 * n, sum(refused.values())
        self.assertRegex(result.out, r"(?m)^  counts of transactions +pipelined +waiting$")
        rows = self.rows(result)
        for name, count in {"stored, good response": n_stores - refused["wire"], "stored, bad response": refused["wire"],
            "fetched, good response": n - refused["disk"], "fetched, bad response": refused["disk"],
            "transactions opened": n_stores + n, "done": n_stores + n, "corrupted on the disk": refused["disk"],
            "detected on the disk": refused["disk"], "missed on the disk": 0, "corrupted on the wire": refused["wire"],
            "detected on the wire": refused["wire"], "missed on the wire": 0, "false alarms": 0,
            "good response, wrong bytes": 0}.items():
            self.assertEqual(rows[name], [str(count)] * 2, name)
        # One stop can be for several wrong signatures, so there may be fewer stops. Good responses that wait need not
        # be cancelled: the response of a READ may wait for its data, and without pipelining all responses wait.
        stops, none = map(int, rows["stops of the send queue"])
        self.assertTrue(min(1, all_refused) <= stops <= all_refused and none == 0, stops)
        cancelled, none = map(int, rows["good responses cancelled"])
        self.assertTrue(refused["disk"] <= cancelled <= all_refused and none == 0, cancelled)
        self.assertIn("stored and fetched twice", result.out)
        self.assertRegex(result.out, r"(?m)^in \d+\.\d{3} s, \d+\.\d times what memcpy \(\d+\.\d{3} s\), a CRC of each signature's block "
            rf"\(\d+\.\d{{3}} s\) and memcmp \(\d+\.\d{{3}} s\) take on one CPU for {4 if wire == 'none' else 6} stores and fetches"
            f"{', without encryption' if '--encrypt' in more else ''}$")
        return result


class Signatures(SignatureCase):
    def test_one_run(self):
        self.check_run(512, 2048, 8, "crc", "none", 10, 7)

    def test_every_corruption_is_refused_and_nothing_else(self):
        for setting in ((4096, 8192, 32, "csum", "none", 30, 8), (4096, 4096, 3, "crc", "crc", 0, 9),
            (512, 16384, 1, "csum", "crc32", 100, 10), (512, 2048, 8, "crc64", "crc", 10, 11), (4096, 4096, 2, "none", "csum", 30, 12)):
            with self.subTest(setting=setting):
                self.check_run(*setting)

    def test_without_a_corruption_it_says_that_there_was_none(self):
        for percent, said in (0, "no block was corrupted, every byte is equal"), (100, "every corruption was detected"):
            result = self.check_run(512, 2048, 8, "crc", "none", percent, 7)
            self.assertIn("stored and fetched twice: " + said, result.out)
            self.assertEqual("every corruption was detected" in result.out, percent != 0)

    def test_the_defaults_are_those_of_the_help(self):
        """The defaults: crc on the disk and no signature on the wire, blocks of 4096 bytes, 1 % of them corrupted."""
        self.make("in/more", 3 << 20)
        result = run([*eal(2), "--mode", "sig", self.path("in")])
        self.assertEqual(result.code, 0, result.out)
        n = sum(-(-size // 4096) for size in (0, 1, 4097, 60000, 3 << 20))
        n_bad = sum(draw(1, block) % 100 < 1 for block in range(n))
        self.assertGreater(n_bad, 0)
        self.assertIn(f"\n{n} blocks of 4096 bytes; on the disk: crc, {n_bad} corrupted; on the wire: none, 0 corrupted", result.out)

    def test_of_empty_files_nothing_is_stored(self):
        result = run([*eal(2), "--mode", "sig", self.path("in/0")])
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("nothing was stored: the files are empty\n", result.out)
        self.assertNotIn("stored and fetched", result.out)

    def test_a_long_run_shows_how_far_it_is_and_a_signal_has_it_say_so(self):
        """Request 100 is answered so late that the program prints a line each second before."""
        progress = r"(?m)^stored and fetched 0\.0 of 0\.1 MB, \d+\.\d+ GB/s; verified 0 of 4 files$"
        args = ["--mode", "sig", "--block", 512, "--chunk", 512, "--depth", 2, self.path("in")]
        result = self.stopped_after("verified", *args, workers=2, env=self.faults("late ms=4000 op=100"))
        self.assertRegex(result.out, progress)
        self.assertIn("stopping; a second signal ends the program at once", result.out)
        self.assertIn("stopped by Interrupt: 0.0 of 0.1 MB were stored, fetched and compared", result.out)
        self.assertNotIn("was detected", result.out)
        self.assertGreater(int(self.rows(result)["transactions opened"][0]), 0)

    def test_as_many_transactions_are_in_flight_as_depth_says(self):
        """The first request is answered so late that meanwhile the program opens as many transactions as it may."""
        for depth in 1, 3, 9:
            with self.subTest(depth=depth):
                noted = self.path("noted")
                env = {**lying("none", 0), **self.faults("late ms=2000 op=1"), "WORKERS": noted}
                result = self.sig(512, 512, "--depth", depth, env=env)
                self.assertEqual(result.code, 0, result.out)
                with open(noted, encoding="ascii") as file:
                    self.assertEqual(int(file.read().split()[-2]), depth)

    def test_a_device_that_is_wrong_is_found_out(self):
        for lie, words in (("blind", r"[1-9]\d* corruptions were missed, 0 alarms"),
            ("alarm", r" 0 corruptions were missed, 1 alarms were false, 1 good"),
            ("shift", r" 0 corruptions were missed, 0 alarms were false, 2 good")):
            with self.subTest(lie=lie):
                percent = 10 if lie == "blind" else 0
                result = self.sig(512, 2048, "--corrupt", percent, env=lying(lie, 0))
                self.check_refused(result, "wrong bytes")
                self.assertRegex(result.out, words)

    def test_what_cannot_work_is_refused_with_the_remedy(self):
        self.check_refused(self.sig(4096, 5000), "--chunk", "whole blocks of 4096 bytes")
        self.check_refused(self.sig(4096, "2M"), "--chunk", "at most 1048576 bytes")
        self.check_refused(self.sig(512, 512, "--depth", 2000), "--depth", "1024")
        self.check_refused(self.sig(512, 512, "--corrupt", 101), "--corrupt", "0 to 100")
        self.check_refused(self.sig(512, 512, "--guard", "none"), "--guard none, --wire none: the device would check nothing", "--encrypt data")
        self.check_refused(self.sig(512, 512, "--wire", "md5"), "--wire", "none, crc, csum, crc32, crc32c, crc64")
        self.check_refused(self.sig(512, 512, "--out", self.out), "leave out --out")
        self.check_refused(self.sig(512, 512, workers=1), "--mode sig needs 3")
        for option in ("--policy=x", "--burst=1", "--idle=spin", "--stats-period=1", "--parents"):
            self.check_refused(self.sig(512, 512, option), option.split("=")[0], "--mode sig does not use it")
        self.check_refused(move("--out", self.out, "--corrupt", 1, self.make("file", 10)), "--corrupt",
            "--mode copy does not use it")


class Encryption(SignatureCase):
    ON = {"SOFTHCA_CRYPTO": "plaintext"}

    def blocks(self, block):
        """Returns the blocks of all files, sorted by their bytes."""
        found = []
        for name in os.listdir(self.path("in")):
            with open(self.path("in/" + name), "rb") as file:
                data = file.read()
            found += [data[at:at + block].ljust(block, b"\0") for at in range(0, len(data), block)]
        return sorted(found)

    def decrypted(self, stored, block, unit):
        """Decrypts what was stored. Returns {DEK: {number of a block: its data}}, the keys of the DEKs, the retired DEKs,
        and how often each key is found in the program's memory at the end."""
        added, retired, left, found = {}, set(), {}, {}
        with open(stored, encoding="ascii") as lines:
            for what, number, *fields in (line.split() for line in lines):
                first, *rest = map(bytes.fromhex, fields or [""])
                if what == "add":
                    added[number] = first
                elif what == "retire":
                    retired.add(number)
                elif what == "left":
                    left[number] = first[0]
                else:
                    self.assertIn(number, added.keys() - retired)
                    tweak = int.from_bytes(first, "little")
                    for at in range(0, len(rest[0]), self.stride):
                        cipher = Cipher(algorithms.AES(added[number]), modes.XTS(tweak.to_bytes(16, "little"))).decryptor()
                        data = cipher.update(rest[0][at:at + unit]) + cipher.finalize()
                        found.setdefault(number, {})[tweak] = data[:block]
                        tweak += 1
        return found, added, retired, left

    def test_what_is_stored_decrypts_to_the_files_by_another_library(self):
        for encrypt, unit, self.stride, setting in (("data", 4096, 4104, (4096, 8192, 4, "crc", "none", 30, 1)),
            ("data", 512, 512, (512, 4096, 3, "none", "crc32c", 10, 2)), ("all", 520, 520, (512, 2048, 8, "crc64", "csum", 10, 3))):
            with self.subTest(encrypt=encrypt, setting=setting):
                block, stored = setting[0], self.path("stored")
                result = self.check_run(*setting, "--encrypt", encrypt, env={**lying("none", 0), **self.ON, "STORED": stored})
                found, added, retired, left = self.decrypted(stored, block, unit)
                self.assertEqual(len(found), 2)
                for blocks in found.values():
                    self.assertEqual(sorted(blocks), list(range(len(blocks))))
                    self.assertEqual(sorted(blocks.values()), self.blocks(block))
                # One further DEK was added for a round that did not take place.
                self.assertEqual(len(set(added.values())), 3)
                self.assertEqual(retired, set(added))
                self.assertEqual(left, dict.fromkeys(added, 0))
                self.assertIn("keys, one after the other: 2\n", result.out)
                self.assertIn("each block on the disk had the ciphertext that OpenSSL computes\n", result.out)
                for key in added.values():
                    self.assertNotIn(key.hex(), result.out)

    def test_a_device_that_is_wrong_is_found_out(self):
        for lie in "plain", "tweak":
            with self.subTest(lie=lie):
                result = self.sig(512, 2048, "--corrupt", 0, "--encrypt", "data", env={**lying(lie, 0), **self.ON})
                self.check_refused(result, "wrong bytes")
                n = str(-(-len(self.blocks(512)) // 4))
                # Stored blocks are wrong; fetched blocks are correct.
                rows = self.rows(result)
                self.assertEqual(rows["good response, wrong bytes"], [n, n])
                self.assertEqual(rows["fetched, good response"], [n, n])

    def test_what_cannot_work_is_refused_with_the_remedy(self):
        self.check_refused(self.sig(512, 512, "--encrypt", "signed"), "--encrypt", "none, data, all")
        self.check_refused(self.sig(512, 512, "--encrypt", "data", "--wire", "crc"), "--wire none, --guard none")
        self.check_refused(self.sig(4096, 4096, "--encrypt", "all"), "cannot be 4104 bytes", "--block 512")
        self.check_refused(self.sig(512, 512, "--encrypt", "all"), "--guard crc64, or --corrupt 0")
        self.check_refused(self.sig(512, 512, "--encrypt", "data"), "does not encrypt", "SOFTHCA_CRYPTO=plaintext")
        wrapped = {"SOFTHCA_CRYPTO": "wrapped", "SOFTHCA_CRYPTO_KEK": "00" * 16, "SOFTHCA_CRYPTO_CREDENTIAL": "00" * 40}
        self.check_refused(self.sig(512, 512, "--encrypt", "data", env=wrapped), "takes wrapped keys", "SOFTHCA_CRYPTO=plaintext")

    def close_a_device_that_hangs(self, still):
        """Sends SIGINT when no block was stored for `still` seconds. The engine waits ten seconds for the device."""
        stored = self.path("stored")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(stored)
        with subprocess.Popen([program, *eal(2), "--mode", "sig", "--block", "512", "--chunk", "512", "--encrypt", "data", self.path("in")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **FORCED, **lying("none", 0), **self.ON, **self.faults("late ms=600000 op=300"),
                "STORED": stored}) as process:
            try:
                size, since = 0, time.monotonic()
                while process.poll() is None and (size == 0 or time.monotonic() - since < still):
                    time.sleep(0.1)
                    now = os.path.getsize(stored) if os.path.exists(stored) else 0
                    if now != size:
                        size, since = now, time.monotonic()
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()
        return Result(process.returncode, out.decode())

    def test_closing_waits_a_few_seconds_for_what_a_device_does_not_complete(self):
        # On a busy machine the device may stop earlier, and the engine may give up before the signal is sent.
        for still in (3, 5, 7, 3, 5, 7):
            result = self.close_a_device_that_hangs(still)
            if "did not complete" in result.out:
                break
        self.assertEqual(result.code, 128 + signal.SIGINT, result.out)
        self.assertRegex(result.out, r"\d+ sends of the initiator and \d+ transactions of the target did not complete in 5 s")

    def test_closing_does_not_wait_for_a_queue_that_cannot_be_destroyed(self):
        begin = time.monotonic()
        self.assertEqual(self.sig(512, 512, "--encrypt", "data", env=self.ON).code, 0)
        usual = time.monotonic() - begin
        self.check_refused(self.sig(512, 512, "--encrypt", "data",
            env={**self.ON, **self.faults("refuse call=destroy_qp errno=16 times=1000")}),
            "cannot close the queue of the target")
        self.assertLess(time.monotonic() - begin, 40 + 10 * usual)

    def test_a_device_that_encrypts_one_unit_in_a_transaction(self):
        single = {"SOFTHCA_CRYPTO": "plaintext_single"}
        self.check_refused(self.sig(512, 1024, "--encrypt", "data", "--guard", "none", env=single), "use --chunk 512")
        self.check_refused(self.sig(512, 512, "--encrypt", "data", env=single), "--guard none")
        self.check_run(4096, 4096, 4, "none", "crc", 10, 4, "--encrypt", "data", env=single)
        self.check_run(512, 512, 4, "csum", "crc32", 0, 5, "--encrypt", "all", env=single)


class Names(Case):
    def test_two_inputs_of_one_name_are_refused_and_parents_keeps_them_apart(self):
        a, b = self.make("a/same", 10), self.make("b/same", 20)
        result = move("--out", self.out, a, b)
        self.check_refused(result, a, b, "--parents")
        self.assertFalse(os.path.exists(self.out))
        result = move("--out", self.out, "--parents", "a/same", "./b//same", cwd=self.dir)
        self.assertEqual(result.code, 0, result.out)
        self.assertEqual(tree(self.out), {"a/same": sha256(a), "b/same": sha256(b)})

    def test_parents_keeps_absolute_paths_below_the_output_folder(self):
        source = self.make("a/file", 10)
        self.assertEqual(move("--out", self.out, "--parents", source).code, 0)
        self.assertEqual(sha256(self.out + source), sha256(source))

    def test_parents_refuses_dots_that_lead_out(self):
        self.make("a/file", 10)
        result = move("--out", self.out, "--parents", "../a/file", cwd=self.path("a"))
        self.check_refused(result, "'..'", "--parents")

    def test_the_same_input_twice_is_refused(self):
        source = self.make("file", 10)
        self.check_refused(move("--out", self.out, source, source), "both become")

    def test_folders_come_out_under_their_names(self):
        self.make("in/a/b/deep", 10)
        self.make("in/top", 10)
        for argument in self.path("in"), self.path("in") + "//", "in":
            with self.subTest(argument=argument):
                shutil.rmtree(self.out, ignore_errors=True)
                result = move("--out", self.out, argument, cwd=self.dir)
                self.check_moved(result, self.path("in"), self.path("out/in"))

    def test_the_folder_dot_comes_out_without_a_name(self):
        self.make("in/a/deep", 10)
        result = move("--out", self.out, ".", cwd=self.path("in"))
        self.check_moved(result, self.path("in"), self.out)

    def test_links_and_specials_in_folders_are_skipped_and_counted(self):
        self.make("in/file", 10)
        os.symlink("file", self.path("in/link"))
        os.symlink("nowhere", self.path("in/broken"))
        os.mkfifo(self.path("in/pipe"))
        result = move("--out", self.out, self.path("in"))
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("skipped 2 symbolic links", result.out)
        self.assertIn("skipped 1 devices, sockets or pipes", result.out)
        self.assertEqual(list(tree(self.path("out/in"))), ["file"])

    def test_a_link_that_is_named_is_followed(self):
        source = self.make("file", 10)
        os.symlink("file", self.path("link"))
        self.assertEqual(move("--out", self.out, self.path("link")).code, 0)
        self.assertEqual(tree(self.out), {"link": sha256(source)})
        os.mkdir(self.path("below"))
        os.rename(source, self.path("below/file"))
        os.symlink("below", self.path("way"))
        self.assertEqual(move("--out", self.path("other"), self.path("way")).code, 0)
        self.assertEqual(tree(self.path("other")), {"way/file": sha256(self.path("below/file"))})

    def test_a_special_file_that_is_named_is_refused(self):
        os.mkfifo(self.path("pipe"))
        self.check_refused(move("--out", self.out, self.path("pipe")), "is a pipe")
        self.check_refused(move("--out", self.out, "/dev/null"), "is a character device")


class Refusals(Case):
    def setUp(self):
        super().setUp()
        self.source = self.make("in/file", 10)

    def test_a_missing_file(self):
        result = move("--out", self.out, self.source, self.path("in/nothing"))
        self.check_refused(result, self.path("in/nothing"), "No such file")
        self.assertFalse(os.path.exists(self.out))

    def move_without_rights(self, *args):
        """Moves files in a process to which file permissions apply, even if root runs the test."""
        return move(*args, under=WITHOUT_RIGHTS if os.geteuid() == 0 else [])

    def make_open_out(self):
        os.mkdir(self.out)
        os.chmod(self.out, 0o777)

    def test_an_unreadable_file(self):
        os.chmod(self.source, 0)
        self.make_open_out()
        result = self.move_without_rights("--out", self.out, self.source)
        self.check_refused(result, self.source, "Permission denied")
        self.assertNotIn("EAL", result.out, "said before anything is started")

    def close_some(self):
        """Makes two files and a folder unreadable, beside two readable ones."""
        for name in "in/closed/file", "in/b", "in/d/e", "in/d/f":
            self.make(name, 10)
        closed = [self.path(name) for name in ("in/b", "in/closed", "in/d/e")]
        for path in closed:
            self.addCleanup(os.chmod, path, 0o755)
            os.chmod(path, 0)
        self.make_open_out()
        return closed

    def test_all_files_and_folders_that_cannot_be_read_are_named_before_anything_is_moved(self):
        closed = self.close_some()
        result = self.move_without_rights("--out", self.out, self.path("in"))
        self.check_refused(result, "nothing was moved, because of the files or folders above", "--skip-unreadable")
        self.assertEqual(re.findall("cannot read (.*): Permission denied", result.out), closed)
        self.assertNotIn("EAL", result.out, "said before anything is started")
        self.assertEqual(os.listdir(self.out), [])

    def test_what_cannot_be_read_is_skipped_and_counted_if_asked(self):
        closed = self.close_some()
        result = self.move_without_rights("--out", self.out, "--skip-unreadable", self.path("in"))
        self.assertEqual(result.code, 0, result.out)
        self.assertEqual(re.findall("cannot read (.*): Permission denied", result.out), closed)
        self.assertRegex(result.out, "2 files, .* every byte is equal; skipped 3 files or folders that cannot be read\n")
        self.assertEqual(sorted(tree(self.path("out/in"))), ["d/f", "file"])
        result = run([*eal(2), "--mode", "sig", "--skip-unreadable", self.path("in")],
            under=WITHOUT_RIGHTS if os.geteuid() == 0 else [])
        self.assertEqual(result.code, 0, result.out)
        self.assertRegex(result.out, "2 files, .* no alarm was false; skipped 3 files or folders that cannot be read\n")
        self.check_refused(self.move_without_rights("--out", self.out, "--skip-unreadable", self.path("in/b")),
            "the inputs contain no regular files that can be read")

    def test_an_input_that_is_not_there_is_never_skipped(self):
        self.check_refused(move("--out", self.out, "--skip-unreadable", self.source, self.path("nothing"), self.path("in/file/x")),
            f"cannot read {self.path('nothing')}: No such file", f"cannot read {self.path('in/file/x')}: Not a directory",
            "name files and folders that are there")
        self.assertFalse(os.path.exists(self.out))

    def test_a_file_that_vanishes_before_it_is_read_is_skipped_if_asked(self):
        """The first chunk is late. Meanwhile 64 files are opened, and no more."""
        for i in range(100):
            self.make(f"in/{i:03}", 100)
        for option, code in (["--skip-unreadable"], 0), ([], 1):
            last = self.make("in/last", 100)
            with self.running("--out", self.out, *option, self.path("in"), env=self.faults("late ms=2000 op=1")) as process:
                wait_for(self.leftovers, process)
                os.remove(last)
                out, _ = process.communicate(timeout=TIMEOUT)
            result = Result(process.returncode, out.decode())
            self.assertEqual(result.code, code, result.out)
            self.assertIn(f"cannot read {last}: No such file", result.out)
            self.assertEqual("101 files, 0.0 MB, moved" in result.out, code == 0, result.out)
            self.assertEqual("; skipped 1 file or folder that cannot be read" in result.out, code == 0)
            self.assertEqual(self.leftovers(), [])
            shutil.rmtree(self.out)

    def test_names_are_printed_as_ls_prints_them(self):
        """No byte of a printed name controls a terminal, and a shell reads the names as they are printed."""
        names = [b"a\nb", b"\n", b"\x1b[31mred\x1b[m", b"tab\tand\rreturn", b"\a\b\v\f\x01\x7f", "ü €".encode(), b"caf\xe9", b"a b",
            b"csi\xc2\x9b", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", "𝄞\n".encode(), b"$x", b"a=b", b"!", b"plain-1.5,+@%:_"]
        for name in names:
            self.make("names/" + os.fsdecode(name), 10)
        listed = subprocess.run(["ls", "--quoting-style=shell-escape", "-1"], cwd=self.path("names"), env={"LC_ALL": "C.UTF-8"},
            capture_output=True, check=True).stdout.decode()
        self.assertEqual(len(listed.splitlines()), len(names))
        for name in names:
            os.makedirs(self.path("out/names/" + os.fsdecode(name)))
            result = run([*eal(), "--out", "out/names", os.fsdecode(b"names/" + name)], cwd=self.dir)
            one = subprocess.run(["ls", "--quoting-style=shell-escape", "-d", "names/" + os.fsdecode(name)], cwd=self.dir,
                env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True).stdout.decode()[:-1]
            self.check_refused(result, "cannot be the output of " + one)
            self.assertTrue(all(c == "\n" or (c.isprintable() and c.isascii()) or c in "ü€𝄞" for c in result.out), repr(result.out))
        result = run([*eal(), "-i", "--out", self.out, self.path("names")], stdin=subprocess.DEVNULL)
        self.assertNotIn("\x1b", result.out)

    def test_an_output_folder_without_permission(self):
        os.mkdir(self.out, 0o555)
        os.chmod(self.dir, 0o555)
        for out in self.out, os.path.join(self.out, "new/er"):
            self.check_refused(self.move_without_rights("--out", out, self.source), "--out", self.out,
                "Permission denied")

    def test_an_output_folder_that_is_a_file(self):
        for out in self.source, self.source + "/below":
            result = move("--out", out, self.make("other", 5))
            self.check_refused(result, "--out", self.source)

    def test_an_output_folder_inside_an_input_folder(self):
        os.symlink("in", self.path("way"))
        for out in "in", "in/out", "in/new/out", "way/out", "in/../in/out":
            with self.subTest(out=out):
                result = move("--out", self.path(out), self.path("in"))
                self.check_refused(result, "inside the input folder")
                self.assertEqual(os.listdir(self.path("in")), ["file"])

    def test_an_output_folder_whose_name_begins_like_the_inputs_is_accepted(self):
        result = move("--out", self.path("inside"), self.path("in"))
        self.check_moved(result, self.path("in"), self.path("inside/in"))

    def test_an_output_that_is_its_input(self):
        before = tree(self.path("in"))
        self.check_refused(move("--out", self.path("in"), self.source), "its own output")
        self.check_refused(move("--out", self.dir, self.path("in")), "its own output")
        self.assertEqual(tree(self.path("in")), before)

    def test_an_output_that_is_another_input(self):
        os.makedirs(self.out)
        os.link(self.source, self.path("out/other"))
        result = move("--out", self.out, self.source, self.make("b/other", 5))
        self.check_refused(result, "which is an input")

    def test_a_folder_with_the_name_of_an_output(self):
        os.makedirs(self.path("out/file"))
        self.check_refused(move("--out", self.out, self.source), self.path("out/file"),
            "cannot be the output of")

    def test_a_file_with_the_name_of_an_output_folder(self):
        self.make("out/in", 3)
        self.check_refused(move("--out", self.out, self.path("in")), self.path("out/in"))
        self.assertEqual(os.listdir(self.out), ["in"])

    def test_no_files_and_no_folder(self):
        self.check_refused(move("--out", self.out), "no files to move")
        self.check_refused(move(self.source), "--out DIR")
        os.mkdir(self.path("empty"))
        self.check_refused(move("--out", self.out, self.path("empty")), "no regular files")

    def test_wrong_options(self):
        for args, words in {
            ("--nothing",): ("unknown option '--nothing'", "before '--'"),
            ("-l", "0-1"): ("unknown option '-l'", "before '--'"),
            ("--chunk",): ("--chunk needs a value",),
            ("--parents=on",): ("'--parents=on': this option takes no value",),
            ("--interactive=yes",): ("'--interactive=yes': this option takes no value",),
            ("--parents", "-xi"): ("unknown option '-x'",),
            ("--chunk", "0"): ("--chunk: '0'", "from 1 to"),
            ("--chunk", "12x"): ("--chunk: '12x'",),
            ("--chunk", "-1"): ("--chunk: '-1'",),
            ("--chunk", "1T"): ("--chunk: '1T'",),
            ("--chunk", "99999999999999999999"): ("--chunk",),
            ("--chunk", "17179869185G"): ("--chunk: '17179869185G'",),
            ("--depth", "16385"): ("from 1 to 16384",),
            ("--burst", "257"): ("from 1 to 256",),
            ("--ring-size", "3"): ("power of two",),
            ("--nb-cores", "x"): ("--nb-cores: 'x'",),
            ("--mode", "move"): ("--mode: 'move'", "copy, write, read"),
            ("--copy-path", "dma"): ("auto, mmo, rdma",),
            ("--device", ""): ("--device", "empty"),
            ("--m", "x"): ("--m: several options begin like this",),
            ("--ver",): ("--ver: several options begin like this",),
            ("--i", "sleep"): ("--i: several options begin like this",),
            ("--mode=a\nb",): ("--mode: 'a'$'\\n''b' is none of",),
            ("--out", "x" * 4096): ("--out: the value has 4096 bytes, and at most 4095", "give a folder"),
        }.items():
            with self.subTest(args=args):
                self.check_refused(move("--out", self.out, self.source, *args), *words)

    def test_an_error_names_the_option_the_value_the_rule_and_what_to_give(self):
        number, choice = r"--{}: '{}' is refused: give a number{} from \d+ to \d+[:;] \w+", "--{}: '{}' is none of{} .*: give one of them"
        for name, value, form, more in (("chunk", "2G", number, " of bytes"), ("depth", "1K", number, ""), ("burst", "-1", number, ""),
            ("ring-size", "x", number, ""), ("nb-cores", "70000", number, ""), ("stats-period", "-1", number, ""), ("wake-up", "1M", number, ""),
            ("corrupt", "101", number, ""), ("seed", "4294967296", number, ""), ("mode", "x", choice, ""), ("copy-path", "x", choice, ""),
            ("idle", "x", choice, ""), ("block", "1024", choice, ""), ("guard", "md5", choice, ""), ("wire", "md5", choice, ""),
            ("encrypt", "x", choice, "")):
            with self.subTest(name=name):
                result = move(f"--{name}={value}", self.source)
                self.check_refused(result)
                self.assertRegex(result.out, "^testgantry: " + form.format(name, value, more) + "[^\n]*\n$")
                # Only numbers of bytes can be given in K, M and G.
                self.assertEqual("K, M or G" in result.out, name == "chunk")
        self.check_refused(move("--ring-size", 3, self.source), "--ring-size: '3' is refused: give a power of two")
        for name, words in ("out", "a folder"), ("device", "ibv_devices"), ("policy", "a file"), ("measure-policy", "a file"):
            self.check_refused(move(f"--{name}=", self.source), f"--{name}: the value is empty: give", words)
        self.check_refused(move("--wake-up", 2, "--measure-policy", "x"), "--wake-up and --measure-policy", "one of them")

    def test_an_option_of_the_app_before_the_dashes(self):
        for option in "--out=x", "--out", "--parents":
            self.check_refused(run([option, *eal(), self.source]), "after '--'")

    def test_too_few_lcores(self):
        self.check_refused(move("--out", self.out, self.source, workers=0), "too few lcores", f"give {eal(1)[0]} before '--'")
        self.check_refused(move("--out", self.out, "--nb-cores", 3, self.source, workers=2),
            "too few lcores: --nb-cores 3", f"give {eal(3)[0]} before '--'")

    def test_more_lcores_than_cpus_are_refused_on_a_page_with_the_remedy(self):
        last = max(os.sched_getaffinity(0))
        result = run(["-l", f"0-{last + 1}", *NO_LCORES, "--out", self.out, self.source])
        self.check_refused(result, f"lcore {last + 1} unavailable", "EAL did not start", eal(1)[0])
        self.assertLessEqual(len(result.out.splitlines()), 12, result.out)

    def test_on_one_cpu_it_needs_no_option_of_eal(self):
        cpu = min(os.sched_getaffinity(0))
        for mode, n in ("copy", 2), ("sig", 3):
            args = ["--out", self.out] if mode == "copy" else []
            result = run([*NO_LCORES, "--mode", mode, *args, self.source], under=["taskset", "-c", str(cpu)])
            self.assertEqual(result.code, 0, result.out)
            self.assertIn("running with --lcores=" + ",".join(f"{i}@{cpu}" for i in range(n)), result.out)

    def test_eal_that_does_not_start_says_what_to_add(self):
        result = run(["--lcores=0@0,1@0", "--no-huge", "--iova-mode=none", "--",
            "--out", self.out, self.source])
        self.check_refused(result, "--no-huge -m 512", "--file-prefix")
        # EAL sets no rte_errno here.
        result = run(["--lcores=0@0,1@0", "--no-huge", "-m", "64", "--proc-type=secondary", "--file-prefix=nobody", "--",
            "--out", self.out, self.source])
        self.check_refused(result, "EAL did not start; its lines above say why", "--file-prefix")

    def test_buffers_larger_than_memory(self):
        result = move("--out", self.out, "--chunk", "1G", "--depth", 16384, self.source)
        self.check_refused(result, "lower --depth or --chunk")
        self.assertFalse(os.path.exists(self.out))


class Lies(Case):
    """testgantry detects an engine that reports wrong results."""

    def check_lie_caught(self, lie, *words, mode="copy"):
        source = self.make("in/file", 40 * CHUNK + 5)
        result = move("--out", self.path(f"new-{lie}-{mode}/er"), "--mode", mode, source,
            env=lying(lie, 21))
        self.check_refused(result, "0 of 1 files", *words)
        self.assertEqual(glob.glob(self.path("new*")), [], "folders that are empty")
        self.assertIn("total", self.table(result))

    def test_a_chunk_that_was_not_moved(self):
        for mode in "copy", "write", "read":
            self.check_lie_caught("skip", f"differs from {self.path('in/file')} at byte {21 * CHUNK}:",
                mode=mode)

    def test_zeros_that_were_not_moved_over_zeros(self):
        source = self.path("zeros")
        with open(source, "wb") as file:
            file.write(bytes(40 * CHUNK))
        result = move("--out", self.out, "--depth", 4, source, env=lying("skip", 21))
        self.check_refused(result, "differs", f"at byte {21 * CHUNK}:")

    def test_a_chunk_without_its_last_byte(self):
        self.check_lie_caught("short", f"at byte {22 * CHUNK - 1}:")

    def test_a_chunk_with_a_byte_too_many(self):
        self.check_lie_caught("long", "past the end of its destination")

    def test_a_chunk_from_the_wrong_place(self):
        self.check_lie_caught("wrong", f"at byte {21 * CHUNK}:")

    def test_a_run_that_fails_prints_no_rate_that_it_did_not_have(self):
        source = self.make("in/file", 40 * CHUNK)
        result = move("--out", self.out, source, env={**lying("status", 0), **self.faults("late ms=500 op=1")})
        self.check_refused(result, "0 of 1 files")
        row = self.table(result)["total"]
        self.assertLessEqual(float(row[3]), int(row[1]) / 0.5e9 + 0.0005, "GB/s")
        self.assertLessEqual(float(row[2]), int(row[0]) / 0.5e6 + 0.00005, "Mops/s")

    def test_an_older_output_stays_until_the_new_one_is_verified(self):
        """There are two files; the chunk that is not moved belongs to the second file."""
        self.make("in/a", 10)
        self.make("in/file", 40 * CHUNK)
        older = [self.make(f"out/in/{name}", size) for name, size in (("a", 5), ("file", 77))]
        before = sha256(older[1])
        self.check_refused(move("--out", self.out, self.path("in"), env=lying("skip", 21)), "differs")
        self.assertEqual(sha256(older[1]), before)
        self.assertEqual(sorted(os.listdir(self.path("out/in"))), ["a", "file"])

    def test_a_completion_that_is_an_error(self):
        self.check_lie_caught("status", self.path("in/file"), f"{CHUNK} bytes from {21 * CHUNK} on")

    def test_completions_out_of_order(self):
        self.check_lie_caught("order", "the completion of chunk 22 came where 21's was due")

    def test_a_completion_that_is_lost(self):
        self.check_lie_caught("lost", "the completion of chunk 22 came where 21's was due")


class Failures(Case):
    """After an error during the run, only complete files are left."""

    def test_an_error_of_the_device_is_in_the_table_and_named_below_it(self):
        source = self.make("in/file", 40 * CHUNK)
        result = move("--out", self.out, source, env=self.faults("complete syndrome=0x4 op=5"), workers=2)
        self.check_refused(result, "0 of 1 files", source)
        rows = self.table(result)
        self.assertEqual(sorted(int(rows[lcore][-1]) for lcore in ("1", "2")), [0, 1])
        self.assertEqual(rows["total"][-1], "1")
        lcore = "1" if rows["1"][-1] == "1" else "2"
        self.assertEqual(re.findall(r"(?m)^lcore (\d+): (\d+) x (.+)$", result.out), [(lcore, "1", "the device refused local memory or the WQE")])
        self.assertEqual(re.findall(r"(?m)^lcore (\d+): connection set up again (\d+) times$", result.out), [(lcore, "1")])

    def mount_tmpfs(self):
        os.mkdir(self.out)
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.out]
        if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
            self.skipTest("cannot mount a tmpfs here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.out], check=True)

    def test_a_full_disk(self):
        self.mount_tmpfs()
        small, big = self.make("a-small", 5000), self.make("big", 4 << 20)
        result = move("--out", self.out, small, big)
        self.check_refused(result, "No space left", "choose another --out")
        # The small file exists only if it was verified before the disk was full.
        whole = {"a-small": sha256(small)} if "1 of 2 files" in result.out else {}
        self.assertEqual(tree(self.out), whole)

    def test_a_limit_of_file_sizes(self):
        # High enough for the files that EAL and the emulated adapter create.
        limit = 32 << 20
        source = self.make_sparse("file", limit + 1)
        result = move("--out", self.out, source,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.check_refused(result, "File too large", "ulimit -f")
        self.assertFalse(os.path.exists(self.out))

    def test_rings_that_are_full_push_back_and_lose_nothing(self):
        source = self.make_sizes()
        result = move("--out", self.out, source, env=lying("full", 0))
        self.check_moved(result, source, self.path("out/in"))

    def test_an_input_that_shrinks(self):
        source = self.make("file", LONG)
        with self.running("--out", self.out, "--depth", 2, *SLOWLY, source) as process:
            wait_for(self.leftovers, process)
            os.truncate(source, 1000)
            out, _ = process.communicate(timeout=TIMEOUT)
        self.check_refused(Result(process.returncode, out.decode()), source)
        self.assertFalse(os.path.exists(self.out))

    def test_an_input_that_grows(self):
        source = self.make("file", 40 * CHUNK)
        with self.running("--out", self.out, source, env=self.faults("late ms=3000 op=3")) as process:
            wait_for(self.leftovers, process)
            os.truncate(source, 40 * CHUNK + 1)
            out, _ = process.communicate(timeout=TIMEOUT)
        self.check_refused(Result(process.returncode, out.decode()), source, "is shorter than")
        self.assertFalse(os.path.exists(self.out))

    def test_while_nothing_comes_back_no_cpu_is_busy(self):
        source = self.make("file", 40 * CHUNK)
        with self.running("--out", self.out, source, env=self.faults("late ms=1000000 op=3")) as process:
            wait_for(self.leftovers, process)
            # When all chunks are in flight, no CPU is busy. This state lasts for more than a second.
            wait_for(lambda: self.cpu_seconds_in_a_second(process) < 0.5, process)

    @staticmethod
    def cpu_seconds_in_a_second(process):
        """Returns the CPU time of all threads of a process: proc(5), utime and stime."""
        def cpu_seconds():
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before = cpu_seconds()
        time.sleep(1)
        return cpu_seconds() - before

    def test_signals_stop_it_with_the_table_and_nothing_half_written(self):
        first = self.make("a-first", 1000)
        big = self.make("big", LONG)
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            for workers in 1, 2:
                with self.subTest(signal=number, workers=workers):
                    shutil.rmtree(self.out, ignore_errors=True)
                    with self.running("--out", self.out, *SLOWLY, first, big, workers=workers) as process:
                        wait_for(lambda: os.path.exists(self.path("out/a-first")) and
                            self.leftovers(), process)
                        process.send_signal(number)
                        out, _ = process.communicate(timeout=TIMEOUT)
                    result = Result(process.returncode, out.decode())
                    self.assertEqual(result.code, 128 + number, result.out)
                    self.assertIn("total", self.table(result))
                    self.assertIn("1 of 2 files", result.out)
                    self.assertEqual(self.leftovers(), [])
                    self.assertEqual(os.listdir(self.out), ["a-first"])

    def test_a_second_signal_ends_it_while_a_dead_device_gives_nothing_back(self):
        source = self.make("file", 40 * CHUNK)
        for _ in range(20):
            with self.running("--out", self.out, source, env=self.faults("late ms=1000000 op=3")) as process:
                wait_for(self.leftovers, process)
                process.send_signal(signal.SIGINT)
                wait_for(lambda: not self.leftovers(), process)
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=TIMEOUT)
            result = Result(process.returncode, out.decode())
            self.assertEqual(result.code, 128 + signal.SIGINT, result.out)
            self.assertFalse(os.path.exists(self.out))
            # The first signal may come before the first chunk is submitted. Then the program does not wait for any
            # chunk.
            if self.table(result).get("total", [None])[0] != "0":
                break
        self.assertNotIn("total", self.table(result), "it has waited for the device's deadline")

    def test_a_closed_output_pipe_does_not_stop_it(self):
        source = self.make_sizes()
        with self.running("--out", self.out, source) as process:
            process.stdout.close()
            self.assertEqual(process.wait(timeout=TIMEOUT), 0)
        self.assertEqual(tree(source), tree(self.path("out/in")))


class LoadCase(Case):
    def load(self, *args, workers=1, env=None, **more):
        return run([*eal(workers), *map(str, args)], env=env, **more)

    def rows(self, result):
        """Returns the table of a load: [{column: value}, ...]."""
        head, rows = None, []
        for line in result.out.splitlines():
            words = line.split()
            if "Mops/s" in words:
                head = words
            elif head and len(words) == len(head) and re.fullmatch(r"[\d.]+", words[-1]):
                rows.append({name: word if name == "op" else float(word) for name, word in zip(head, words)})
        return rows

    def measured(self, *args, **more):
        """Returns the rows of a load that ends without an error."""
        result = self.load(*args, **more)
        self.assertEqual(result.code, 0, result.out)
        return self.rows(result), result


# For each operation of a load: the options that it needs, and its name in the table.
LOAD_OPS = {"copy": [], "fill": [], "sg": ["--sge", 5], "gather": ["--layouts", 20], "scatter": ["--layouts", 3], "write": [], "write-imm": [],
    "read": [], "send": [], "atomic": [], "cas": [], "txn": ["--block", 512]}



class Load(LoadCase):
    def test_each_operation_is_carried_out_as_often_as_was_asked_for_and_verified(self):
        for via, lanes, peers in ("ring", 1, 1), ("inline", 2, 3):
            for op, more in LOAD_OPS.items():
                with self.subTest(via=via, op=op):
                    rows, result = self.measured("--load", op, *more, "--via", via, "--total-ops", 1001, "--depth", 7, "--size", 1024,
                        "--peers", peers, workers=lanes)
                    self.assertEqual([(row["op"], row["ops"]) for row in rows], [(op, 1001)], result.out)
                    self.assertRegex(result.out, r"(?m)^[1-9]\d+ more operations were verified: every byte is equal$")
                    self.assertTrue(0 < rows[0]["50%"] <= rows[0]["99%"] <= rows[0]["99.9%"] <= rows[0]["longest"], result.out)

    def test_a_mix_has_exactly_its_weights(self):
        for via in "ring", "inline":
            rows, result = self.measured("--load", "copy=3,write=1,read=2", "--via", via, "--total-ops", 12000, "--size", 100, workers=2)
            self.assertEqual({row["op"]: row["ops"] for row in rows}, {"copy": 6000, "write": 2000, "read": 4000, "all": 12000}, result.out)
        rows, result = self.measured("--load", "write=500,read=1000", "--total-ops", 3)
        self.assertEqual({row["op"]: row["ops"] for row in rows}, {"write": 1, "read": 2, "all": 3}, result.out)
        rows, result = self.measured("--load", "layouts=3,send", "--total-ops", 8000, "--via", "inline", workers=2)
        self.assertEqual({row["op"]: row["ops"] for row in rows}, {"gather": 3000, "scatter": 3000, "send": 2000, "all": 8000}, result.out)

    def test_all_operations_in_one_load(self):
        for via in "ring", "inline":
            rows, result = self.measured("--load", ",".join(LOAD_OPS), "--via", via, "--total-ops", 600 * len(LOAD_OPS), "--size", "4096,8192",
                "--sge", "1,51", "--peers", 2, "--regions", 3, workers=2)
            self.assertEqual([(row["op"], row["ops"]) for row in rows],
                [*[(op, 600) for op in LOAD_OPS], ("all", 600 * len(LOAD_OPS))] * 4, result.out)

    def test_transactions_of_every_signature(self):
        for kind in "crc", "csum", "crc32", "crc32c", "crc64":
            with self.subTest(kind=kind):
                rows, result = self.measured("--load", "txn", "--guard", kind, "--total-ops", 100, "--size", "12K")
                self.assertEqual(rows[0]["ops"], 100, result.out)

    def test_a_device_without_pipelining_carries_transactions(self):
        rows, result = self.measured("--load", "txn", "--size", "4K", "--total-ops", 100, env={"SOFTHCA_SIG_PIPELINING": "0"})
        self.assertEqual(rows[0]["ops"], 100, result.out)

    def test_depth_and_burst_are_what_was_asked_for(self):
        """The third operation is late, so that the worker gets as many operations as it may have in flight."""
        for depth, burst in (20, 5), (4, 64):
            noted = self.path("noted")
            self.measured("--load", "copy", "--depth", depth, "--burst", burst, "--total-ops", 200, "--verify", "off",
                env={**lying("none", 0), "WORKERS": noted, **self.faults("late ms=1000 op=3")})
            with open(noted, encoding="ascii") as file:
                handed, out, _, all_of_them = (int(n) for n in file.read().split()[-4:])
            self.assertEqual((handed, out, all_of_them), (min(burst, depth), depth, 200))

    def test_workers_are_made_as_the_options_say(self):
        """Depths are rounded up to powers of two; 0 ring elements mean the engine's default; idle 0 is spin, 1 is
        sleep."""
        noted = self.path("noted")
        for args, line in ((), "worker 32 0 8 1"), (("--idle", "spin", "--ring-size", 64, "--burst", 3, "--depth", 5), "worker 8 64 3 0"):
            self.measured("--load", "copy", *args, "--total-ops", 100, "--verify", "off", workers=2, env={**lying("none", 0), "WORKERS": noted})
            with open(noted, encoding="ascii") as file:
                self.assertEqual(file.read().splitlines()[:-1], [line] * 2)

    def test_rings_that_are_full_push_back_and_lose_nothing(self):
        rows, result = self.measured("--load", "copy,send", "--total-ops", 2000, env=lying("full", 0))
        self.assertEqual([row["ops"] for row in rows], [1000, 1000, 2000], result.out)
        rows, result = self.measured("--load", "copy", "--total-ops", 2000, "--ring-size", 2, "--depth", 64)
        self.assertEqual([row["ops"] for row in rows], [2000], result.out)

    def noted(self, *args, env=None):
        """Runs a load of 64 operations. Returns the lines of NOTED=FILE (lying_engine.c), {first word: [[number, ...],
        ...]}, and the result of the load."""
        noted, found = self.path("noted"), {"region": [], "queue": [], "peer": [], "end": [], "desc": [], "base": [], "done": []}
        _, result = self.measured("--load", *args, "--total-ops", 64, "--verify", "off", env={**lying("none", 0), "NOTED": noted,
            **(env or {})})
        with open(noted, encoding="ascii") as file:
            for what, *numbers in map(str.split, file):
                found[what].append([int(number) for number in numbers])
        self.assertEqual(len(found["desc"]), 64)
        return found, result

    def test_descriptors_are_what_the_options_ask_for(self):
        copy, write, read, fill, fence = 2, 3, 4, 6, 1  # values of gantry_desc.h
        for option, by in ("cpu", 1 << 2), ("mmo", 1 << 3), ("policy", 0):
            self.assertEqual({flags for _, flags, _ in self.noted("copy", "--by", option)[0]["desc"]}, {by}, option)
        found, _ = self.noted("copy,write", "--by", "rdma", "--copy-path", "rdma", "--order", "even")
        self.assertEqual([(op, flags) for op, flags, _ in found["desc"]], [(copy, 1 << 4), (write, 0)] * 32)
        for every in 1, 8, 0:
            found, result = self.noted("copy", "--fence", every)
            self.assertEqual([flags for _, flags, _ in found["desc"]],
                [fence if every != 0 and number % every == 0 else 0 for number in range(1, 65)])
            self.assertEqual(f", fence {every}\n" in result.out, every != 0, result.out)
        found, _ = self.noted("copy=3,read=1", "--order", "even")
        self.assertEqual([op for op, _, _ in found["desc"]].count(read), 16)
        for at in range(0, 64, 4):
            self.assertIn([read, 0, 0], found["desc"][at:at + 4])
        found, _ = self.noted("fill,copy", "--patterns", 5, "--order", "even")
        patterns = [pattern for op, _, pattern in found["desc"] if op == fill]
        self.assertEqual(len(set(patterns[:5])), 5)
        self.assertEqual(patterns, (patterns[:5] * 7)[:32])

    def test_a_layout_lies_in_as_many_places_as_was_asked_for_in_turn(self):
        for op in "gather", "scatter":
            for places in 1, 5:
                with self.subTest(op=op, places=places):
                    bases = self.noted(op, "--layouts", places, "--depth", 16)[0]["base"]
                    self.assertEqual(len(bases), 64)
                    self.assertEqual(len({base for base, in bases[:places]}), places)
                    # All offsets of the memory are used, and then all of them again.
                    period = next(n for n in range(places, 65) if bases[n:] == bases[:-n])
                    self.assertEqual(bases[:period], (bases[:places] * period)[:period])

    def test_queues_connections_and_regions_are_what_the_options_ask_for(self):
        rc, dc, dc_target = 0, 1, 2  # values of gantry.h
        found, result = self.noted("write", "--peers", 2)
        self.assertEqual((found["queue"], found["peer"]), ([[0]], [[rc, 0]] * 4))
        self.assertEqual(len(found["region"]), 1)
        found, result = self.noted("write", "--peers", 2, "--transport", "dc", "--max-inline", 256, "--unordered", "on")
        self.assertEqual((found["queue"], found["peer"]), ([[1]], [[dc, 256], [dc_target, 0]] * 2))
        self.assertIn(", transport dc, max-inline 256, unordered on\n", result.out)
        for mixed, lengths in ("off", {1}), ("on", set(range(1, 9))):
            regions = [length for length, in self.noted("copy", "--regions", 64, "--mixed-regions", mixed)[0]["region"]]
            self.assertEqual(len(regions), 64)
            self.assertEqual({length / min(regions) for length in regions}, lengths)

    def test_an_unordered_queue_keeps_the_order_of_each_connection(self):
        for transport in "rc", "dc":
            rows, result = self.measured("--load", "copy,write,read,send,atomic", "--unordered", "on", "--transport", transport, "--peers", 4,
                "--total-ops", 5000, "--depth", 64, workers=2)
            self.assertEqual([row["ops"] for row in rows], [1000] * 5 + [5000], result.out)
        rows, result = self.measured("--load", "txn,copy", "--unordered", "on", "--peers", 3, "--size", "4K", "--total-ops", 600, "--via", "inline")
        self.assertEqual([row["ops"] for row in rows], [300, 300, 600], result.out)

    def test_a_connection_that_is_late_holds_back_its_own_alone_in_an_unordered_queue(self):
        """Of 64 writes, each of 4 connections gets 16. The tenth write that the adapter begins is late by 3 s, and so
        are all later writes on the same connection. The order in which the adapter serves connections is not known, so
        the late connection is not known either."""
        for unordered in "off", "on":
            found, _ = self.noted("write", "--peers", 4, "--depth", 32, "--burst", 1, "--unordered", unordered,
                env=self.faults("late ms=3000 op=10"))
            order = [cookie for cookie, in found["done"]]
            if unordered == "off":
                self.assertEqual(order, list(range(64)))
            else:
                late = list(itertools.takewhile(lambda cookie: cookie % 4 == order[-1] % 4, reversed(order)))[::-1]
                # At most nine writes of this connection were begun before the late one.
                self.assertGreaterEqual(len(late), 16 - 9)
                self.assertEqual(late, list(range(late[0], 64, 4)))
                for connection in range(4):
                    self.assertEqual([cookie for cookie in order if cookie % 4 == connection], list(range(connection, 64, 4)))

    def test_a_sweep_measures_each_combination(self):
        rows, result = self.measured("--load", "copy", "--size", "1,100-400", "--depth", "1-3", "--total-ops", 50, "--nb-cores", "1,2", workers=2)
        self.assertEqual([(row["lcores"], row["depth"], row["size"], row["ops"]) for row in rows],
            [(lcores, depth, size, 50) for lcores in (1, 2) for depth in (1, 2) for size in (1, 100, 200, 400)], result.out)
        self.assertIn("\nregions 1, burst 8\n", result.out)

    def test_many_regions_and_peers(self):
        rows, result = self.measured("--load", "copy,write,read", "--regions", "1,300", "--peers", "1,5", "--total-ops", 3000,
            "--size", "4099", "--depth", 33, "--burst", 64)
        self.assertEqual([row["ops"] for row in rows if row["op"] == "all"], [3000] * 4, result.out)

    def test_it_lasts_as_long_as_was_asked_for(self):
        """A load never ends before its time. It may end later on a slow machine."""
        begin = time.monotonic()
        rows, result = self.measured("--load", "copy", "--duration", 1, "--verify", "off")
        self.assertGreater(time.monotonic() - begin, 1)
        self.assertGreater(rows[0]["ops"], 0)
        self.assertIn("nothing was verified", result.out)

    def files(self):
        """Returns the CSV and the JSON of a load, which must have the same values: [{name: value}, ...], with numbers
        as numbers."""
        with open(self.path("a.csv"), newline="", encoding="ascii") as file:
            lines = list(csv.DictReader(file, strict=True))
        with open(self.path("a.json"), encoding="ascii") as file:
            points = json.load(file)["points"]
        self.assertEqual(len(lines), len(points))
        for line, point in zip(lines, points):
            self.assertEqual(list(line), list(point))
            self.assertEqual({name: value if isinstance(value, str) else float(value) for name, value in point.items()},
                {name: line[name] if isinstance(point[name], str) else float(line[name]) for name in line})
        return points

    def test_files_for_other_programs_have_a_row_for_each_point_and_agree_with_the_table(self):
        rows, result = self.measured("--load", "copy=3,write=1", "--total-ops", 400, "--size", "64,100", "--depth", "1,8", "--peers", 3,
            "--percentiles", "10,99.99", "--via", "inline", "--csv", self.path("a.csv"), "--json", self.path("a.json"))
        points = self.files()
        self.assertEqual([(point["depth"], point["size_bytes"], point["peers"], point["ops"], point["copy_ops"], point["write_ops"], point["complete"])
            for point in points], [(depth, size, 3, 400, 300, 100, 1) for depth in (1, 8) for size in (64, 100)])
        for point, row in zip(points, [row for row in rows if row["op"] == "all"]):
            self.assertEqual((point["device"], point["load"], point["via"]), ("mlx5_0", "copy=3,write", "inline"))
            for name, column in ("ops", "ops"), ("p10_us", "10%"), ("p99.99_us", "99.99%"), ("max_us", "longest"):
                self.assertAlmostEqual(point[name], row[column], delta=0.06, msg=name)
            self.assertAlmostEqual(point["ops_per_s"] * point["seconds"], 400, delta=0.1)
            self.assertAlmostEqual(point["bytes_per_s"] / point["ops_per_s"], point["size_bytes"], delta=0.1)
            self.assertEqual((point["unsent_ops"], point["rate_per_s"], point["sge"]), (0, 0, 0))
            self.assertGreater(point["verified_ops"], 0)
            self.assertTrue(0 < point["p10_us"] <= point["mean_us"] <= point["max_us"])
            self.assertGreaterEqual(point["wqes_per_op"], 1)
            self.assertTrue(0 < point["doorbells_per_op"] <= 1 and 0 < point["cqes_per_op"] <= 1)

    def test_of_a_load_that_was_stopped_the_files_have_what_was_measured(self):
        result = self.stopped_after("operations, ", "--load", "copy", "--duration", 1000, "--csv", self.path("a.csv"), "--json", self.path("a.json"))
        point, = self.files()
        self.assertEqual((point["complete"], point["verified_ops"]), (0, 0), result.out)
        self.assertEqual(point["ops"], self.rows(result)[0]["ops"])
        result = self.load("--load", "copy", "--total-ops", 100, "--csv", self.path("a.csv"), "--json", self.path("a.json"), env=lying("skip", 150))
        point, = self.files()
        self.assertEqual((point["complete"], point["ops"]), (0, 100), result.out)
        # The layout is refused before the first measurement.
        self.load("--load", "gather", "--sge", 60, "--json", self.path("a.json"))
        with open(self.path("a.json"), encoding="ascii") as file:
            self.assertEqual(json.load(file), {"points": []})

    def test_an_open_loop_never_hands_over_more_than_its_rate(self):
        for via, lanes in ("ring", 1), ("inline", 3):
            with self.subTest(via=via):
                begin = time.monotonic()
                self.measured("--load", "copy", "--via", via, "--rate", "200,1000", "--total-ops", 100, "--csv", self.path("a.csv"),
                    "--json", self.path("a.json"), workers=lanes)
                self.assertGreater(time.monotonic() - begin, 100 / 200 + 100 / 1000)
                for point in self.files():
                    self.assertEqual(point["ops"], 100)
                    self.assertLessEqual(point["ops_per_s"], point["rate_per_s"])

    def test_what_was_due_is_handed_over_or_counted(self):
        for rate in 100, 10 ** 9:
            self.measured("--load", "copy", "--rate", rate, "--duration", 1, "--csv", self.path("a.csv"), "--json", self.path("a.json"), workers=2,
                env=self.faults("late ms=300 op=40"))
            point, = self.files()
            self.assertEqual(point["ops"] + point["unsent_ops"], rate)
        self.assertGreater(point["unsent_ops"], 0)

    def test_latencies_of_an_open_loop_begin_when_an_operation_is_due(self):
        """A thousand operations, one each millisecond. Operation 10 and all operations after it complete a second late,
        so operation k is late by at least 1010 - k milliseconds, although few operations are in flight at a time. In a
        closed loop, only these few operations are late.
        """
        self.measured("--load", "copy", "--rate", 1000, "--total-ops", 1000, "--depth", 4, "--percentiles", "20,45,60", "--verify", "off",
            "--csv", self.path("a.csv"), "--json", self.path("a.json"), env=self.faults("late ms=1000 op=10"))
        point, = self.files()
        self.assertGreater(point["p20_us"], 150e3)
        self.assertGreater(point["p45_us"], 400e3)
        self.assertGreater(point["p60_us"], 550e3)
        self.assertGreater(point["max_us"], 990e3)

    def test_a_percentile_is_a_latency_that_so_many_do_not_exceed(self):
        """Of two hundred operations, which are executed one at a time, ten are late by 100 ms: in the sorted list of
        latencies, number 191 is the first of these ten."""
        lines = "".join(f"late ms=100 op={n}\n" for n in range(10, 101, 10))
        self.measured("--load", "copy", "--total-ops", 200, "--depth", 1, "--percentiles", "95.5,99,100", "--verify", "off",
            "--csv", self.path("a.csv"), "--json", self.path("a.json"), env=self.faults(lines))
        point, = self.files()
        self.assertGreaterEqual(point["p95.5_us"], 100e3)
        self.assertTrue(point["p95.5_us"] <= point["p99_us"] <= point["p100_us"] == point["max_us"])
        self.assertGreaterEqual(point["mean_us"], 5e3)

    def test_the_longest_latency_is_that_of_all_workers(self):
        """With one operation, only the first worker has an operation. With two operations, each of the first two
        workers has one, and one of them is late."""
        for via in "ring", "inline":
            for ops, lines in (1, "late ms=100 op=1"), (2, "late ms=100 op=1\nlate ms=300 op=1 times=2"):
                with self.subTest(via=via, ops=ops):
                    rows, result = self.measured("--load", "copy", "--via", via, "--total-ops", ops, "--verify", "off", "--csv", self.path("a.csv"),
                        "--json", self.path("a.json"), workers=3, env=self.faults(lines))
                    point, = self.files()
                    late = 300e3 if ops == 2 else 100e3
                    self.assertGreaterEqual(point["max_us"], late)
                    self.assertGreaterEqual(rows[0]["longest"], late, result.out)

    def test_a_signal_ends_it_with_the_figures_so_far(self):
        for via in "ring", "inline":
            with self.subTest(via=via):
                result = self.stopped_after("operations, ", "--load", "copy", "--duration", 1000, "--via", via)
                self.assertGreater(self.rows(result)[-1]["ops"], 0)
                self.assertIn("stopped by Interrupt: the table has 1 of 1 measurements; the last one was stopped early", result.out)
                self.assertNotIn("verified", result.out)

    def test_a_device_that_fails_ends_it_with_the_figures_so_far(self):
        for via in "ring", "inline":
            for fault, words in ("complete syndrome=0x13 op=500", r"(copy|send) failed: .* \(syndrome 0x13,"), \
                ("recv_complete syndrome=1 op=500", r"(send|receive) failed: .* \(syndrome 0x(14|01),"), ("device_fatal op=500", "failed: device lost"):
                with self.subTest(via=via, fault=fault):
                    result = self.load("--load", "copy,send", "--via", via, "--total-ops", 10000, workers=2, env=self.faults(fault))
                    self.assertEqual(result.code, 1, result.out)
                    self.assertRegex(result.out, f"(?m)^testgantry: lcore [12]: .*{words}")
                    self.assertTrue(100 < self.rows(result)[-1]["ops"] < 10000, result.out)
                    self.assertNotIn("still in use", result.out)

    def test_its_help_is_a_page_and_names_its_options(self):
        result = run(["--load", "help"])
        self.assertEqual(result.code, 0)
        self.assertLessEqual(len(result.out.splitlines()), 70)
        self.assertLessEqual(max(map(len, result.out.splitlines())), 100)
        for name in [f"--{name} " for name in ("load", "size", "depth", "burst", "nb-cores", "peers", "regions", "duration", "total-ops", "via",
            "verify", "seed", "rate", "percentiles", "csv", "json", "sge", "layouts", "block", "guard", "order", "fence", "by", "patterns",
            "transport", "max-inline", "unordered", "mixed-regions")] + [*LOAD_OPS, "layouts"]:
            self.assertIn(name, result.out)

    def test_the_examples_of_its_help_run(self):
        examples = re.findall(r"(?m)^  testgantry (.*)$", run(["--load", "help"]).out)
        self.assertEqual(len(examples), 3)
        for example in examples:
            args = re.sub(r"--duration \d+|--total-ops \d+", "", example).split()
            if "--" in args:
                args[args.index("--"):args.index("--") + 1] = NO_LCORES
            else:
                args = [*eal(), *args]
            result = run([*args, "--total-ops", "70"])
            self.assertEqual(result.code, 0, result.out)
            self.assertTrue(self.rows(result), result.out)


class LoadRefused(LoadCase):
    """Tests that errors are reported."""

    def check_found(self, op, lie, at, words):
        with self.subTest(op=op, lie=lie, at=at):
            result = self.load("--load", op, "--size", 512, "--block", 512, "--total-ops", 100, env=lying(lie, at))
            self.assertEqual(result.code, 1, result.out)
            self.assertIn("testgantry: ", result.out)
            self.assertIn(words, result.out)
            self.assertNotIn("every byte is equal", result.out)
            self.assertTrue(self.rows(result), result.out)

    def test_an_engine_that_is_wrong_is_found_out(self):
        """Operations from number 100 on are verified."""
        for op in "copy", "fill", "sg", "gather", "scatter", "write", "read":
            self.check_found(op, "skip", 150, f"{op}: byte 0 of 512 is 0xff")
        self.check_found("txn", "status", 150, "txn failed while it was verified")
        for op in "copy", "fill", "read", "gather":
            self.check_found(op, "short", 150, f"{op}: byte 511 of 512 is 0xff")
        for op in "copy", "write":
            self.check_found(op, "long", 150, f"{op}: it has changed bytes that are not its own")
        for op in "copy", "send":
            self.check_found(op, "wrong", 150, f"{op}: byte 0 of 512 is ")
        self.check_found("send", "short", 150, "send: the peer's receive has a wrong length")

    def test_what_was_measured_is_checked_as_far_as_can_be_known(self):
        self.check_found("copy", "status", 50, ": copy failed: ")
        self.check_found("copy", "order", 50, "completions came in a wrong order")
        result = self.load("--load", "write", "--unordered", "on", "--peers", 3, "--total-ops", 100, env=lying("order", 50))
        self.assertIn("completions came in a wrong order", result.out)
        self.check_found("atomic", "skip", 50, "the peer's counters add up to 99 after 100 times atomic")
        self.check_found("atomic", "skip", 150, "atomic: the counter is 1, and the result 0: they should be 2 and 1")
        self.check_found("cas", "skip", 150, "cas: the counter is 0, and the result 0: they should be 1 and 0")
        self.check_found("send", "skip", 50, "100 messages were sent, and the peer has received 99")
        self.check_found("write-imm", "skip", 150, "it has completed, but the peer has not received it")

    def test_what_cannot_work_is_refused_with_the_remedy(self):
        for args, words in {
            ("--load", "move"): "--load: 'move' is refused: it names no operation: give one or more of copy, fill, sg, gather,",
            ("--load", "copy,"): "--load: 'copy,' is refused: it names no operation",
            ("--load", "copy=0"): "after = give a weight from 1 to 1000",
            ("--load", "copy=1001"): "after = give a weight",
            ("--load", "copy=1x"): "after = give a weight",
            ("--load", "copy,write,copy"): "an operation is given twice",
            ("--load", "layouts,gather"): "an operation is given twice",
            ("--load", "sg", "--size", "8,3"): "--size: 3 bytes cannot be divided into --sge 4 pieces",
            ("--load", "gather", "--sge", "60"): "cannot prepare a layout of --sge 60 pieces",
            ("--load", "txn"): "--size: a txn has whole blocks, but 64 bytes are not: give a multiple of --block 4096",
            ("--load", "txn", "--size", "2M"): "--size: a txn has at most 1048576 bytes",
            ("--load", "txn", "--size", "4K", "--guard", "none"): "--guard: a txn checks signatures",
            ("--load", "txn", "--size", "4K", "--transport", "dc"): "--transport dc: a txn needs a connection of its own: use rc, or leave txn out",
            ("--load", "write", "--by", "mmo"): "--by: no operation of this --load uses it: leave it out, or add copy, fill or sg",
            ("--load", "copy", "--by", "rdma"): "--by: mlx5_0 has no such carrier of copies: give another one, or add --copy-path rdma",
            ("--load", "copy", "--by", "dma"): "--by: 'dma' is none of policy, cpu, mmo, rdma: give one of them",
            ("--load", "copy", "--patterns", "2"): "--patterns: no operation of this --load uses it: leave it out, or add fill",
            ("--load", "fill", "--patterns", "0"): "--patterns: '0' is refused: give a number from 1 to 65536: patterns that fills use in turn",
            ("--load", "copy", "--transport", "dc"): "--transport: no operation of this --load uses it: leave it out, or add an operation that",
            ("--load", "write", "--transport", "ud"): "--transport: 'ud' is none of rc, dc: give one of them",
            ("--load", "read", "--max-inline", "64"): "--max-inline: no operation of this --load uses it: leave it out, or add write, write-imm,",
            ("--load", "write", "--max-inline", "513"): "--max-inline: '513' is refused: give a number from 0 to 512: bytes of a message",
            ("--load", "copy", "--fence", "65537"): "--fence: '65537' is refused: give a number from 0 to 65536: every N-th operation has a fence",
            ("--load", "copy", "--order", "odd"): "--order: 'odd' is none of random, even: give one of them",
            ("--load", "copy", "--unordered", "yes"): "--unordered: 'yes' is none of off, on: give one of them",
            ("--load", "copy", "--mixed-regions", "1"): "--mixed-regions: '1' is none of off, on: give one of them",
            ("--fence", "1", "/etc"): "--fence: it has an effect only with --load",
            ("--load", "copy", "--corrupt", "1"): "--corrupt: --load does not use it",
            ("--load", "copy", "--size", "1-1M", "--depth", "1-1024", "--burst", "1-256", "--regions", "1-64"): "measurements: at most 10000",
            ("--load", "copy", "--size", "0"): "--size: '0' is refused: give a number of bytes from 1 to",
            ("--load", "copy", "--size", "64,x"): "--size: '64,x' is refused: give a number",
            ("--load", "copy", "--size", "64-32"): "--size: '64-32' is refused: give a number",
            ("--load", "copy", "--size", "-64"): "a list, 16,64,256, or a range that doubles, 16-256",
            ("--load", "copy", "--size", "1,,2"): "--size: '1,,2' is refused",
            ("--load", "copy", "--depth", "16385"): "--depth: '16385' is refused: give a number from 1 to 16384",
            ("--load", "copy", "--via", "usb"): "--via: 'usb' is none of ring, inline",
            ("--load", "copy", "--rate", "1000000001"): "--rate: '1000000001' is refused: give a number from 0 to 1000000000: operations a second",
            ("--load", "copy", "--percentiles", "50,0"): "--percentiles: '50,0' is refused: give up to 8 numbers above 0 and up to 100",
            ("--load", "copy", "--percentiles", "101"): "--percentiles: '101' is refused",
            ("--load", "copy", "--percentiles", "50,"): "--percentiles: '50,' is refused",
            ("--load", "copy", "--percentiles", "1,2,3,4,5,6,7,8,9"): "--percentiles: '1,2,3,4,5,6,7,8,9' is refused",
            ("--load", "copy", "--csv", "/nowhere/x"): "--csv: cannot write the measurements to /nowhere/x: No such file or directory",
            ("--load", "copy", "--json", "/"): "--json: cannot write the measurements to /: Is a directory",
            ("--load", "copy", "--csv", "/dev/full", "--total-ops", "10"): "--csv: cannot write the measurements to /dev/full: No space left",
            ("--load", "copy", "--total-ops", "0"): "--total-ops: '0' is refused: give a number from 1 to",
            ("--load", "copy", "--mode", "write"): "--mode: --load does not use it",
            ("--load", "copy", "--out", "x"): "--out: --load does not use it",
            ("--load", "copy", "-i"): "--load moves no files: leave out -i and the files",
            ("--load", "copy", "/etc"): "--load moves no files: leave out -i and the files",
            ("--size", "64", "/etc"): "--size: it has an effect only with --load",
            ("--depth", "1,2", "/etc"): "--depth: only --load takes a list",
            ("--load", "copy", "--nb-cores", "3"): "too few lcores: --nb-cores 3",
            ("--load", "copy", "--size", "1G", "--depth", "16384"): "lower --size, --depth, --peers or --regions",
        }.items():
            with self.subTest(args=args):
                self.check_refused(self.load(*args), words)
        result = self.script_line("set depth 1,2")
        self.assertIn("--depth: only --load takes a list", result.out)

    def script_line(self, line):
        with tempfile.TemporaryFile() as stdin:
            stdin.write(line.encode())
            stdin.seek(0)
            return self.load("-i", stdin=stdin)


class Pair:
    """Two processes: one listens, the other connects to it. Their output goes to files, so that neither waits for the test.

    All files of a pair are in its own folder. So pairs can run at the same time: a process mostly waits, for EAL and for its
    partner."""

    def __init__(self, case, tcp=False):
        self.case, self.folder, self.processes = case, tempfile.mkdtemp(prefix="pair.", dir=case.dir), {}
        self.socket, self.out = self.path("socket"), self.path("out")
        self.address = "127.0.0.1:0" if tcp else "unix:" + self.socket

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, role, *args, workers=1, env=None, without=(), **more):
        """Starts a process. role: "listen", or "connect", which is started when the process that listens is ready.
        without: arguments of EAL that are left out."""
        if role == "connect" and "listen" in self.processes:
            self.wait_until_ready()
        log = open(self.path(role), "wb")
        self.case.addCleanup(log.close)
        first = [arg for arg in eal(workers) if arg not in without]
        process = subprocess.Popen([program, *first, f"--{role}", self.address, *map(str, args)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **FORCED, **(env or {})}, **more)
        self.processes[role] = process
        self.case.addCleanup(self.stop, process)
        return self

    def wait_until_ready(self):
        """Waits until the process listens. Notes its address."""
        self.wait_for("listen", "waiting for another process: testgantry --connect")
        if self.address.endswith(":0"):
            self.address = re.search(r"--connect (\S+)", self.text("listen")).group(1)

    def stop(self, process):
        process.kill()
        process.wait()

    def text(self, role):
        """Returns what the process has printed."""
        with open(self.path(role), encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for(self, role, text):
        end = time.monotonic() + TIMEOUT
        while text not in self.text(role):
            if self.processes[role].poll() is not None or time.monotonic() > end:
                self.case.fail(f"{text!r} is missing:\n{self.text(role)}")
            time.sleep(0.01)

    def end(self, role):
        code = self.processes[role].wait(TIMEOUT)
        return Result(code, self.text(role))

    def ends(self):
        return self.end("listen"), self.end("connect")

    def signal(self, role, number):
        self.processes[role].send_signal(number)

    def leftovers(self):
        return self.case.leftovers(self.folder)


class Plan:
    """Arguments of a pair. both: of both processes; listen and connect: of one; files: what is moved. envs: of listen, of
    connect. The process that listens gets "--out" if out is true."""

    def __init__(self, *both, listen=(), connect=(), files=(), out=True, tcp=False, workers=1, envs=(None, None)):
        self.both, self.listen, self.connect, self.out = both, listen, [*connect, *files], out
        self.tcp, self.workers, self.envs = tcp, workers, envs


class PairCase(Case):
    def start(self, *plans, **more):
        """Starts a pair for each plan, all at the same time. Returns the pairs."""
        pairs = []
        for plan in plans:
            pair = Pair(self, plan.tcp)
            out = ["--out", pair.out] if plan.out else []
            pairs.append(pair.start("listen", *plan.both, *plan.listen, *out, workers=plan.workers, env=plan.envs[0], **more))
        for pair, plan in zip(pairs, plans):
            pair.start("connect", *plan.both, *plan.connect, workers=plan.workers, env=plan.envs[1], **more)
        return pairs

    def pair(self, *both, **plan):
        """Runs two processes to their ends."""
        return self.start(Plan(*both, **plan))[0].ends()

    def check_pair(self, pair, source):
        """Checks that both processes of a pair have moved this folder. No other pair may run."""
        listen, connect = pair.ends()
        for result in listen, connect:
            self.check_moved(result, source, os.path.join(pair.out, os.path.basename(source)))
        self.assertFalse(os.path.exists(pair.socket))
        return listen, connect

    def check_survivor(self, pair, role, *words):
        """Checks the end of the process whose partner has ended, and that it has left no file."""
        result = pair.end(role)
        self.assertEqual(result.code, 1, result.out)
        for word in words:
            self.assertIn(word, result.out)
        if role == "listen":
            self.assertEqual(pair.leftovers(), [])


RC, DC, DC_TARGET = 0, 1, 2  # values of enum gantry_transport
READ, WRITE_IMM, SEND, SEND_IMM = 4, 9, 10, 11  # values of enum gantry_op


class Pairs(PairCase):
    def noted(self, path, word):
        """Returns the first numbers of the lines that begin with this word."""
        with open(path, encoding="ascii") as file:
            return {int(line.split()[1]) for line in file if line.startswith(word + " ")}

    def test_every_mode_and_transport_moves_every_size_by_workers_and_inline(self):
        source = self.make_sizes()
        sizes = [os.path.getsize(os.path.join(source, name)) for name in os.listdir(source)]
        chunks = sum(-(-size // CHUNK) for size in sizes)
        runs = [("write", "rc", "ring", 1), ("write", "dc", "inline", 2), ("read", "rc", "inline", 2), ("read", "dc", "ring", 1),
            ("send", "rc", "ring", 2), ("send", "dc", "inline", 1)]

        def noted(run, role):
            return self.path("-".join(["noted", *map(str, run), role]))

        pairs = self.start(*(Plan("--chunk", CHUNK, "--mode", run[0], "--transport", run[1], "--via", run[2], connect=[source],
            tcp=run[1] == "dc", workers=run[3], envs=[{**lying("none", 0), "NOTED": noted(run, role)} for role in ("listen", "connect")])
            for run in runs))
        for pair in pairs:
            pair.ends()
        for run, pair in zip(runs, pairs):
            mode, transport, via, workers = run
            with self.subTest(mode=mode, transport=transport, via=via):
                listen, connect = self.check_pair(pair, source)
                for role in "listen", "connect":
                    self.assertEqual(self.noted(noted(run, role), "peer"), {RC} if transport == "rc" else {DC, DC_TARGET})
                if via == "ring":  # only descriptors that are enqueued to workers are noted
                    self.assertEqual(self.noted(noted(run, "connect"), "desc"), {WRITE_IMM if mode == "write" else SEND})
                    self.assertEqual(self.noted(noted(run, "listen"), "desc"), {SEND_IMM, READ} if mode == "read" else {SEND_IMM})
                # The process with the files has a descriptor for each chunk. The other process has an answer for each
                # chunk, and with mode read also a READ. The process with the files ends when the files are verified, so
                # on a busy machine the last answers may be left out: those for the slots of a lane, 32 by default.
                self.assertEqual(int(self.table(connect)["total"][0]), chunks)
                answered = int(self.table(listen)["total"][0]) - (chunks if mode == "read" else 0)
                self.assertIn(answered, range(chunks - 32 * workers + 1, chunks + 1))
                self.assertEqual(len(self.table(connect)), workers + 1)
                self.assertIn(f", {transport.upper()}:", connect.out)

    def test_the_two_processes_may_differ_in_what_is_their_own(self):
        source = self.make_sizes()
        pair, = self.start(Plan("--chunk", "5000", "--depth", 3, listen=["--via", "inline", "--idle", "spin"],
            connect=["--burst", 1, "--via", "ring", source]))
        self.check_pair(pair, source)

    def test_the_totals_are_equal_although_the_last_answers_are_late(self):
        """The process that listens verifies the file while the adapter holds back its answers."""
        faults = self.path("faults")
        with open(faults, "w", encoding="ascii") as file:
            file.write("late ms=1000 op=3\n")
        pair, = self.start(Plan(connect=[self.make("in/a", 5 << 20)], envs=({"SOFTHCA_FAULTS": faults}, None)))
        for result in pair.ends():
            self.assertEqual(result.code, 0, result.out)
            self.assertIn("1 file, 5.2 MB, ", result.out)

    def test_names_permissions_and_holes_are_kept(self):
        self.make("in/a/x", 100)
        self.make("in/b/x", 200)
        os.chmod(self.path("in/b/x"), 0o751)
        sparse = self.make_sparse("in/b/sparse", 8 << 20, {1 << 20: 5000, (6 << 20) + 100: 70000})
        self.make_sparse("in/b/hole", 1 << 20)
        pair, = self.start(Plan(connect=["--parents", self.path("in/a/x"), self.path("in/b")]))
        listen, connect = pair.ends()
        for result in listen, connect:
            self.assertEqual(result.code, 0, result.out)
        moved = pair.out + self.path("in")
        self.assertEqual(tree(self.path("in")), tree(moved))
        self.assertEqual(stat.S_IMODE(os.stat(f"{moved}/b/x").st_mode), 0o751)
        self.assertEqual(self.extents(f"{moved}/b/sparse"), self.extents(sparse))
        self.assertEqual(self.extents(f"{moved}/b/hole"), [])
        self.assertIn("MB of holes", connect.out)

    def test_the_connecting_process_may_start_first(self):
        source = self.make_sizes()
        pair = Pair(self)
        pair.start("connect", source)
        pair.wait_for("connect", "no process listens at")
        pair.start("listen", "--out", pair.out)
        self.check_pair(pair, source)

    def test_both_processes_start_without_an_option_of_eal_that_separates_them(self):
        source = self.make_sizes()
        pair, = self.start(Plan(connect=[source]), without=["--no-shconf"])
        self.check_pair(pair, source)

    def test_transactions_are_checked_by_both_processes(self):
        source = self.make("in/a", 900000)
        runs = [(["--guard", "crc"], None, 20), (["--guard", "csum", "--wire", "crc32c", "--block", 512], None, 2),
            (["--encrypt", "data", "--guard", "crc"], "plaintext", 20),
            (["--encrypt", "all", "--block", 512, "--guard", "crc64", "--wire", "crc"], "plaintext", 2)]
        # Only the target encrypts.
        pairs = self.start(*(Plan("--mode", "sig", "--chunk", "16K", "--corrupt", percent, *args, connect=[source], out=False,
            envs=({"SOFTHCA_CRYPTO": env} if env else None, None)) for args, env, percent in runs))
        for (args, env, _), pair in zip(runs, pairs):
            with self.subTest(args=args):
                listen, connect = pair.ends()
                self.assertEqual((listen.code, connect.code), (0, 0), listen.out + connect.out)
                self.assertIn("every corruption was detected, every other byte is equal, and no alarm was false", connect.out)
                self.assertIn("every signature on the disk is right", listen.out)
                self.assertEqual("OpenSSL decrypts every block" in listen.out, env is not None)
                block = 512 if 512 in args else 4096
                self.assertIn(f"\n{2 * -(-900000 // block)} blocks of the other process were stored", listen.out)
                corrupted = sum(map(int, " ".join(re.findall(r"(?m)^  corrupted on the (?:disk|wire) +(\d+ +\d+)$", connect.out)).split()))
                self.assertGreater(corrupted, 0)
                self.assertIn(f"; {corrupted} transactions with a wrong signature were refused", listen.out)

    def test_a_process_that_was_stopped_for_a_moment_goes_on(self):
        source = os.path.dirname(self.make("in/big", 24 << 20))
        roles = "listen", "connect"
        pairs = self.start(*(Plan("--chunk", 4096, "--give-up", 60, connect=[source]) for _ in roles))
        for role, pair in zip(roles, pairs):
            pair.wait_for("connect", "RDMA write to the other process")
            pair.signal(role, signal.SIGSTOP)
        time.sleep(1.5)
        for role, pair in zip(roles, pairs):
            pair.signal(role, signal.SIGCONT)
        for pair in pairs:
            pair.ends()
        for role, pair in zip(roles, pairs):
            with self.subTest(role=role):
                self.check_pair(pair, source)


SILENCE = 3  # seconds; a process that lives says so more often, but on a busy machine it may be late


class RdmaCm(PairCase):
    """The processes meet by rdma_cm. What they do then is as with a socket: the classes Pairs and PairFailures."""

    def plan(self, *both, **more):
        return Plan("--rdma-cm", *both, tcp=True, **more)

    def test_files_move_in_each_mode(self):
        source = self.path("in")
        for name, size in ("a", 0), ("b", 1), ("c", 20 * CHUNK + 5):
            self.make("in/" + name, size)
        runs = ("write", "rc", "ring", 2), ("read", "dc", "inline", 1), ("send", "rc", "ring", 1)
        pairs = self.start(*(self.plan("--chunk", CHUNK, "--mode", mode, "--transport", transport, "--via", via, connect=[source],
            workers=workers) for mode, transport, via, workers in runs))
        for pair in pairs:
            pair.ends()
        for run, pair in zip(runs, pairs):
            with self.subTest(run=run):
                self.check_pair(pair, source)

    def test_names_of_many_files_fill_the_stream(self):
        for i in range(600):
            self.make(f"in/{i:05}-" + 60 * "x", 0)
        source = self.path("in")
        pair, = self.start(self.plan(connect=[source]))
        self.check_pair(pair, source)

    def test_transactions_are_checked_by_both_processes(self):
        source = self.make("in/a", 300000)
        pair, = self.start(self.plan("--mode", "sig", "--guard", "crc", "--chunk", "16K", "--corrupt", 20, connect=[source], out=False))
        listen, connect = pair.ends()
        self.assertEqual((listen.code, connect.code), (0, 0), listen.out + connect.out)
        self.assertIn("every corruption was detected, every other byte is equal, and no alarm was false", connect.out)
        self.assertIn("every signature on the disk is right", listen.out)

    def test_the_connecting_process_may_start_first(self):
        source = os.path.dirname(self.make("in/a", 1000))
        pair = Pair(self, tcp=True)
        with socket.socket() as free:  # TCP has ports of its own, but such a port is usually free in rdma_cm, too
            free.bind(("127.0.0.1", 0))
            pair.address = "127.0.0.1:%d" % free.getsockname()[1]
        pair.start("connect", "--rdma-cm", source)
        pair.wait_for("connect", "nobody listens at")
        pair.start("listen", "--rdma-cm", "--out", pair.out)
        self.check_pair(pair, source)

    def test_a_killed_process_is_told_by_the_other_one(self):
        file = self.make("in/big", LONG // 4)
        roles = ("connect", "listen"), ("listen", "connect")
        pairs = self.start(*(self.plan("--give-up", 20, *SLOWLY, files=[file]) for _ in roles))
        for (role, other), pair in zip(roles, pairs):
            with self.subTest(killed=role):
                pair.wait_for("listen", "received ")
                pair.signal(role, signal.SIGKILL)
                pair.end(role)
                self.check_survivor(pair, other, "the other process has ended, and has not said why", "0 of 1 files were verified")

    def test_what_one_process_cannot_do_is_told_by_both(self):
        pair, = self.start(self.plan(listen=["--depth", 7], connect=[self.make("in/file", 10)]))
        listen, connect = pair.ends()
        self.check_refused(listen, "--depth: the other process has 32, and this process has 7")
        self.check_refused(connect, "--depth: the other process has 7, and this process has 32")

    def test_a_signal_ends_a_process_that_waits_for_the_other_one(self):
        for role, args, text in ("listen", ["--out", self.out], "waiting for another process"), \
            ("connect", ["--give-up", 3600, self.make("in/a", 10)], "nobody listens at"):
            pair = Pair(self, tcp=True)
            if role == "connect":
                pair.address = "127.0.0.1:1"
            pair.start(role, "--rdma-cm", *args)
            pair.wait_for(role, text)
            pair.signal(role, signal.SIGINT)
            result = pair.end(role)
            self.assertEqual(result.code, 128 + signal.SIGINT, result.out)
            self.assertIn("stopped by Interrupt: nothing was moved", result.out)

    def test_nobody_listens(self):
        result = run([*eal(), "--rdma-cm", "--connect", "127.0.0.1:1", "--give-up", "1", self.make("a", 10)])
        self.check_refused(result, "no process answers at", "start testgantry --rdma-cm --listen there first")


class PairFailures(PairCase):
    def running(self, *plans):
        """Starts pairs that move a file for a long time. plans: arguments of both processes of each pair."""
        file = self.make("in/big", LONG // 4)
        pairs = self.start(*(Plan(*SLOWLY, *both, files=[file]) for both in plans))
        for pair in pairs:
            pair.wait_for("listen", "received ")
        return pairs

    def test_a_killed_process_is_told_by_the_other_one(self):
        runs = [("connect", "listen", ["--mode", "write"]), ("listen", "connect", ["--mode", "write", "--via", "inline"]),
            ("connect", "listen", ["--mode", "read", "--transport", "dc"]), ("listen", "connect", ["--mode", "send"])]
        pairs = self.running(*(["--give-up", 60, *args] for _, _, args in runs))
        for (role, _, _), pair in zip(runs, pairs):
            pair.signal(role, signal.SIGKILL)
        for (role, other, args), pair in zip(runs, pairs):
            with self.subTest(killed=role, args=args):
                pair.end(role)
                if role == "listen":  # a killed process removes nothing
                    shutil.rmtree(pair.out)
                self.check_survivor(pair, other, "the other process has ended, and has not said why", "0 of 1 files were verified")

    def test_a_process_that_ends_by_a_signal_says_so(self):
        pair, = self.running(["--give-up", 60])
        pair.signal("connect", signal.SIGINT)
        self.assertEqual(pair.end("connect").code, 128 + signal.SIGINT)
        self.check_survivor(pair, "listen", 'the other process has stopped: it got the signal "Interrupt"')

    def test_a_signal_ends_a_process_that_waits_for_the_other_one(self):
        for role, args, text in ("listen", ["--out", self.out], "waiting for another process"), \
            ("connect", ["--give-up", 3600, self.make("in/a", 10)], "no process listens at"):
            pair = Pair(self)
            pair.start(role, *args)
            pair.wait_for(role, text)
            pair.signal(role, signal.SIGINT)
            result = pair.end(role)
            self.assertEqual(result.code, 128 + signal.SIGINT, result.out)
            self.assertIn("stopped by Interrupt: nothing was moved", result.out)
            self.assertFalse(os.path.exists(pair.socket))

    def test_a_silent_process_is_given_up(self):
        """Only the process that must give up has a short --give-up. On a slow machine the other one may also be late."""
        roles = ("connect", "listen"), ("listen", "connect")
        file = self.make("in/big", LONG // 4)
        pairs = self.start(*(Plan(*SLOWLY, files=[file], **{other: ["--give-up", SILENCE], role: ["--give-up", 60]}) for role, other in roles))
        for pair in pairs:
            pair.wait_for("listen", "received ")
        for (role, _), pair in zip(roles, pairs):
            pair.signal(role, signal.SIGSTOP)
        for (role, other), pair in zip(roles, pairs):
            with self.subTest(stopped=role):
                result = pair.end(other)
                self.assertEqual(result.code, 1, result.out)
                self.assertIn(f"the other process has been silent for {SILENCE} s: it is stopped or hangs", result.out)
                pair.signal(role, signal.SIGCONT)
                self.check_survivor(pair, role)
                self.assertEqual(pair.leftovers(), [])

    def test_a_killed_process_of_mode_sig_is_told_by_the_other_one(self):
        source = self.make_sparse("in/big", 500 << 20)
        roles = ("connect", "listen"), ("listen", "connect")
        pairs = self.start(*(Plan("--mode", "sig", "--chunk", "32K", connect=[source], out=False) for _ in roles))
        for (role, _), pair in zip(roles, pairs):
            pair.wait_for("listen", "is the target")
            pair.wait_for("connect", "stored and fetched ")
            pair.signal(role, signal.SIGKILL)
        for (role, other), pair in zip(roles, pairs):
            with self.subTest(killed=role):
                self.check_survivor(pair, other, "the other process has ended, and has not said why")

    def test_what_one_process_cannot_do_is_told_by_both(self):
        limit = 32 << 20  # as in test_a_limit_of_file_sizes
        source = self.make_sparse("in/file", limit + 1)
        for folder, words, set_limit in ("out/file", "it is a folder", None), \
            ("out", "see ulimit -f", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))):
            with self.subTest(words):
                pair = Pair(self)
                os.makedirs(pair.path(folder))
                pair.start("listen", "--out", pair.out, preexec_fn=set_limit)
                pair.start("connect", source)
                self.check_survivor(pair, "listen", words)
                self.check_survivor(pair, "connect", "the other process has stopped: ", words)

    def test_a_chunk_that_was_not_moved_or_moved_wrongly(self):
        """With depth 1 the listening process submits a READ and an answer in turn: each even descriptor is a READ."""
        source = self.make("in/file", 40 * CHUNK + 5)
        zeros = self.path("zeros")
        with open(zeros, "wb") as file:
            file.write(bytes(40 * CHUNK))
        runs = [("skip", source), ("wrong", source), ("short", source), ("skip", zeros)]
        pairs = self.start(*(Plan("--mode", "read", "--depth", 1, "--chunk", CHUNK, connect=[file], envs=(lying(lie, 20), None))
            for lie, file in runs))
        results = [pair.ends() for pair in pairs]
        for run, (listen, connect) in zip(runs, results):
            with self.subTest(run):
                self.check_refused(listen, "its SHA-256 is another one", "0 of 1 files")
                self.check_refused(connect, "the other process has stopped: ", "its SHA-256 is another one")

    def test_a_target_whose_blocks_are_wrong(self):
        source = self.make("in/a", 900000)
        listen, connect = self.pair("--mode", "sig", "--guard", "crc", "--chunk", "16K", "--corrupt", 0, connect=[source], out=False,
            envs=(lying("shift", 3), None))
        self.assertEqual((listen.code, connect.code), (1, 1), listen.out + connect.out)
        self.assertIn("good responses had wrong bytes", connect.out)

    def test_adapters_that_do_not_reach_each_other(self):
        off = {"SOFTHCA_WIRE": "off"}
        listen, connect = self.pair("--give-up", 60, connect=[self.make("in/file", 100000)], envs=(off, off))
        self.check_refused(connect, "peer does not answer", " with the other process ended with: ")
        self.check_refused(listen, "the other process has stopped: ", " with the other process ended with: ")

    def test_nobody_listens(self):
        result = run([*eal(), "--connect", self.path("nobody"), "--give-up", "1", self.make("a", 10)])
        self.check_refused(result, "no process answers at", "No such file or directory; start testgantry --listen there first")

    def test_another_program_or_version_answers(self):
        for answer, words in (b"HTTP/1.1 400 Bad Request\r\n", "does not talk as testgantry does"), \
            (b"GTRY\2\0\3\0\0\0\0\0", "the other process has version 2 of the exchange, this process has version 1"):
            with self.subTest(words), socket.socket() as server:
                server.bind(("127.0.0.1", 0))
                server.listen()
                with subprocess.Popen([program, *eal(), "--connect", "127.0.0.1:%d" % server.getsockname()[1], self.make("a", 10)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **FORCED}) as process:
                    client, _ = server.accept()
                    client.send(answer)
                    out = process.communicate(timeout=TIMEOUT)[0].decode()
                    client.close()
                self.check_refused(Result(process.returncode, out), words)

    def test_a_name_that_leads_out_of_the_output_folder_is_refused(self):
        pair = Pair(self)
        pair.start("listen", "--out", pair.out)
        pair.wait_until_ready()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(pair.socket)
            client.send(b"G")
            hello = b""
            while len(hello) < 12 or len(hello) < 12 + int.from_bytes(hello[8:12], "little"):
                received = client.recv(65536)
                self.assertNotEqual(received, b"", "the hello ends early")
                hello += received
            client.send(hello[1:])  # the same settings
            content = struct.pack("<QII", 5, 0o644, 0) + b"../outside"
            client.send(b"GTRY" + struct.pack("<HHI", 1, 6, len(content)) + content)
            self.check_survivor(pair, "listen", "../outside", "must stay below the output folder")
        self.assertFalse(os.path.exists(pair.path("outside")))
        self.assertFalse(os.path.exists(pair.out))


class PairRefusals(PairCase):
    def test_settings_that_differ_are_refused_by_both(self):
        source = self.make("in/file", 10)
        sig = ["--mode", "sig"]
        runs = [(["--mode", "read"], ["--mode", "send"], ("--mode", "send", "read")),
            (sig, ["--mode", "write"], ("--mode", "write", "sig")),
            (["--transport", "dc"], [], ("--transport", "rc", "dc")),
            (["--chunk", "4K"], ["--chunk", "8K"], ("--chunk", "8192", "4096")),
            (["--depth", 7], [], ("--depth", "32", "7")),
            (sig + ["--wire", "crc32c"], sig, ("--wire", "none", "crc32c")),
            (sig + ["--guard", "crc", "--seed", 5], sig, ("--seed", "1", "5"))]
        pairs = self.start(*(Plan(listen=listen, connect=[*connect, source], out=listen[:2] != sig) for listen, connect, _ in runs))
        for (_, _, words), pair in zip(runs, pairs):
            with self.subTest(words=words):
                option, theirs, ours = words
                results = pair.ends()
                self.check_refused(results[0], f"{option}: the other process has {theirs}, and this process has {ours}: give both the same")
                self.check_refused(results[1], f"{option}: the other process has {ours}, and this process has {theirs}: give both the same")
                self.assertFalse(os.path.exists(pair.out))

    def test_the_numbers_of_worker_lcores_must_be_equal(self):
        pair = Pair(self)
        pair.start("listen", "--out", pair.out, workers=2)
        pair.start("connect", self.make("in/file", 10))
        self.check_survivor(pair, "listen", "--nb-cores: the other process has 1, and this process has 2: give both the same")
        self.check_survivor(pair, "connect", "--nb-cores: the other process has 2, and this process has 1: give both the same")

    def test_options_that_cannot_be_are_refused_before_eal_starts(self):
        file = self.make("in/file", 10)
        here = self.path("socket")
        for args, *words in (["--listen", here, "--connect", here, file], "one process has --listen, and the other one --connect"), \
            (["--listen", here, "-i"], "leave out -i"), \
            (["--listen", here], "no output folder: --out DIR"), \
            (["--listen", here, "--out", self.out, file], "name the files after --connect"), \
            (["--connect", here], "no files to move"), \
            (["--connect", here, self.path("nothing")], "No such file"), \
            (["--connect", here, "--out", self.out, file], "--out: the process with --listen writes the files"), \
            (["--connect", here, "--mode", "copy", file], "--mode copy: a copy stays in one process: use --mode write, read or send"), \
            (["--connect", here, "--mode", "sig", "--transport", "dc", file], "--transport: it has an effect only with --load, or when files move between two processes"), \
            (["--connect", here, "--chunk", "1G", file], "--chunk: between two processes at most"), \
            (["--connect", "127.0.0.1:65536", file], "there is no port '65536': give one of at most 65535"), \
            (["--connect", here, "--copy-path", "mmo", file], "--copy-path: --mode write does not use it"), \
            (["--connect", "7400", file], "'7400' is no address"), \
            (["--connect", "7400", "--rdma-cm", file], "'7400' is no address"), \
            (["--connect", here, "--rdma-cm", file], "is the path of a socket: give HOST:PORT to --connect"), \
            (["--rdma-cm", "--out", self.out, file], "--rdma-cm: it has an effect only between two processes"), \
            (["--rdma-cm", "--mode", "sig", file], "--rdma-cm: it has an effect only between two processes"), \
            (["--connect", here, "--give-up", 0, file], "--give-up: '0' is refused"), \
            (["--mode", "send", "--out", self.out, file], "--mode send: messages need two processes"), \
            (["--transport", "dc", "--out", self.out, file], "--transport: it has an effect only with --load, or when files move between"), \
            (["--load", "copy", "--listen", here], "--listen: --load does not use it"), \
            (["--connect", here, file, self.make("other/file", 10)], "would both become /file", "--parents"):
            with self.subTest(args=args):
                result = run(list(map(str, args)))
                self.check_refused(result, *words)
                self.assertNotIn("EAL:", result.out)

    def test_an_address_that_is_in_use_is_refused(self):
        pair = Pair(self)
        pair.start("listen", "--out", pair.out)
        pair.wait_until_ready()
        result = run([*eal(), "--listen", pair.socket, "--out", self.out])
        self.check_refused(result, "--listen: cannot use the address", "Address already in use; choose another one")
        self.assertIsNone(pair.processes["listen"].poll())

    def test_the_help_names_every_option_of_two_processes(self):
        page = run(["--listen", "help"])
        self.assertEqual(page.code, 0)
        self.assertEqual(run(["--connect", "help"]).out, page.out)
        self.assertLessEqual(max(map(len, page.out.splitlines())), 100)
        for option in ("--listen", "--connect", "--give-up", "--mode", "--transport", "--chunk", "--depth", "--nb-cores", "--via", "--burst",
            "--idle", "--device", "--parents", "--skip-unreadable", "--out"):
            self.assertIn(option, page.out)
        self.assertIn("--listen help explains", run(["-h"]).out)


class Help(Case):
    def test_help_is_one_page_and_needs_no_eal(self):
        for args in (["-h"], ["--help"], ["--no-huge", "--", "-h"], ["-l", "0-1", "--", "--help"],
            ["--out", "x", "-h"]):
            with self.subTest(args=args):
                result = run(args)
                self.assertEqual(result.code, 0)
                self.assertTrue(result.out.startswith("usage: testgantry"), result.out)
                self.assertNotIn("EAL:  ", result.out)
                self.assertLessEqual(len(result.out.splitlines()), 70)
                self.assertLessEqual(max(map(len, result.out.splitlines())), 100)

    def test_the_version_is_the_projects_and_needs_no_eal(self):
        for args in (["--version"], ["--no-huge", "--", "--version"], ["--out", "x", "--version"]):
            with self.subTest(args=args):
                result = run(args)
                self.assertEqual((result.code, result.out), (0, f"testgantry {project_version}\n"))
        self.assertIn("--version", run(["-h"]).out)

    def test_the_examples_of_the_help_run_on_the_cpus_that_there_are(self):
        self.make("in/a.iso", 5000)
        self.make("in/b.iso", 6000)
        for under in [], ["taskset", "-c", str(min(os.sched_getaffinity(0)))]:
            example, = re.findall(r"(?m)^  testgantry (--lcores=.*a\.iso b\.iso)$", run(["-h"], under=under).out)
            args = example.replace(" -- ", " " + " ".join(NO_LCORES) + " ").replace("/tmp/out", self.out).split()
            result = run(args, under=under, cwd=self.path("in"))
            self.check_moved(result, self.path("in"), self.out)
            self.assertEqual(set(self.table(result)), {"1", "2", "total"})
            shutil.rmtree(self.out)

    def test_eals_own_help_comes_before_the_dashes(self):
        result = run(["-h", "--"])
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("--huge-dir", result.out)

    def test_help_names_every_option(self):
        page = run(["-h"]).out
        for option in ("--out", "--parents", "--mode", "--copy-path", "--device", "--chunk",
            "--policy", "--measure-policy", "--depth", "--burst", "--ring-size", "--nb-cores", "--stats-period",
            "--block", "--guard", "--wire", "--encrypt", "--corrupt", "--seed", "--interactive", "--help", "--no-huge", "--lcores",
            "--skip-unreadable", "--wake-up"):
            self.assertIn(option, page)


class PromptCase(Case):
    def setUp(self):
        super().setUp()
        self.source = self.make_sizes()

    def script(self, *lines, args=(), end="\n", **more):
        with tempfile.TemporaryFile() as stdin:
            stdin.write(("\n".join(lines) + end).encode())
            stdin.seek(0)
            return move("-i", *args, stdin=stdin, **more)

    def talk(self, fd, process, lines):
        """Types each line when the prompt appears. Returns the text that was displayed."""
        screen = b""
        seen = 0
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end and process.poll() is None:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    screen += os.read(fd, 4096)
                except OSError:
                    break
            if lines and screen.count(b"testgantry> ") > seen:
                seen = screen.count(b"testgantry> ")
                line = lines.pop(0)
                os.write(fd, (line if isinstance(line, bytes) else line.encode()) + b"\r")
        with contextlib.suppress(OSError):
            while select.select([fd], [], [], 0)[0]:  # the last output of the program
                screen += os.read(fd, 4096)
        return screen.decode(errors="replace")

    def on_terminal(self, *lines):
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        before = termios.tcgetattr(side)
        with subprocess.Popen([program, *eal(), "-i", "--out", self.out, self.source], stdin=side,
            stdout=side, stderr=side, start_new_session=True, cwd=self.dir,
            env={**os.environ, **FORCED}) as process:
            try:
                screen = self.talk(main, process, list(lines))
                self.assertIsNotNone(process.poll(), screen)
                self.assertEqual(termios.tcgetattr(side), before, "the terminal's mode")
            finally:
                process.kill()
                os.close(side)
        return Result(process.returncode, screen)


class Prompt(PromptCase):
    def test_the_lines_of_a_file_come_before_those_of_standard_input(self):
        file = self.path("commands")
        with open(file, "w", encoding="ascii") as lines:
            lines.write(f"# a job\nadd {self.source}\nset depth 5\nstart\nwait\nset burst 3")
        result = self.script("show config", args=("--cmdline-file", file, "--out", self.out))
        self.check_moved(result, self.path("in"), os.path.join(self.out, "in"))
        self.assertRegex(result.out, r"(?s)testgantry> # a job\n.*testgantry> set burst 3\n\n"
            r"testgantry> show config\n.*depth +5\nburst +3\n.*Bye")
        with open(file, "a", encoding="ascii") as lines:
            lines.write("\nquit\n")
        result = self.script("set depth 6", args=("--cmdline-file", file, "--out", self.out))
        self.assertEqual(result.code, 0, result.out)
        self.assertNotIn("set depth 6", result.out)
        with open(file, "w", encoding="ascii") as lines:
            lines.write("jump\n")
        result = self.script("quit", args=("--cmdline-file", file))
        self.check_refused(result, "there is no command 'jump'", "testgantry> quit")
        self.check_refused(self.script("quit", args=("--cmdline-file", self.path("none"))),
            f"--cmdline-file: cannot read {self.path('none')}: No such file or directory")
        self.check_refused(move("--cmdline-file", file, "--out", self.out, self.source), "--cmdline-file", "its lines are for the prompt: add -i")

    def test_a_script_sets_starts_waits_and_shows(self):
        result = self.script("set mode write", f"set out {self.out}", f"add {self.source}",
            "show files", "set burst 4", "start", "wait", "show stats", "show config", "quit")
        self.check_moved(result, self.source, self.path("out/in"))
        self.assertRegex(result.out, r"mode +write")
        self.assertRegex(result.out, r"burst +4")
        self.assertIn("10 files", result.out)
        self.assertIn("Bye...", result.out)
        self.assertEqual(result.out.count("  errors"), 2, "tables")

    def test_every_mode_in_one_go(self):
        lines = []
        for mode in "copy", "write", "read":
            lines += [f"set mode {mode}", f"set out {self.path(mode)}", "start", "wait"]
        result = self.script(*lines, "quit", args=[self.source])
        for mode in "copy", "write", "read":
            self.check_moved(result, self.source, self.path(f"{mode}/in"))
        # Each table must belong to its own job.
        n_bytes = sum(os.path.getsize(os.path.join(self.source, name)) for name in os.listdir(self.source))
        self.assertEqual(re.findall(r"(?m)^ *total +\d+ +(\d+) ", result.out), [str(n_bytes)] * 3)

    def test_the_end_of_the_script_lets_the_run_finish(self):
        result = self.script("start", args=["--out", self.out, self.source])
        self.check_moved(result, self.source, self.path("out/in"))

    def test_quit_and_stop_end_a_run_and_remove_what_is_unfinished(self):
        big = self.make("big", LONG)
        for lines in ["start", "quit"], ["start", "set depth 8", "stop", "stop", "quit"]:
            with self.subTest(lines=lines):
                result = self.script(*lines, args=["--out", self.out, *SLOWLY, big])
                self.check_refused(result, "stopped: 0 of 1 files")
                self.assertFalse(os.path.exists(self.out))
        self.assertIn("a job is running", result.out)
        self.assertIn("nothing is running", result.out)

    def test_clear_stats_restarts_the_counters(self):
        """The third chunk is late, so the worker sleeps until it completes."""
        result = self.script("show stats", "start", "wait", "clear stats", "show stats", "quit",
            args=["--out", self.out, self.source], env=self.faults("late ms=500 op=3"))
        self.assertIn("nothing has run yet", result.out)
        before, after = result.out.split("> clear stats\n")
        sleeps = r"(?m)^the workers slept (\d+) times$"
        self.assertGreater(int(re.search(sleeps, before).group(1)), 0)
        self.assertIn("copies: ", before)
        self.assertEqual(re.findall(sleeps, after), ["0"])
        self.assertNotIn("copies: ", after)
        for row in "1", "total":
            self.assertEqual({float(number) for number in self.table(Result(0, after))[row]}, {0})

    def test_while_a_job_runs_its_files_and_settings_stay(self):
        big = self.make("big", LONG)
        result = self.script("start", "start", "add /etc", "clear files", "set depth 8", "show files", "show stats", "show config",
            "stop", "clear files", "start", args=["--out", self.out, *SLOWLY, big])
        self.check_refused(result, "stopped: 0 of 1 files", "no files to move")
        self.assertEqual(result.out.count("a job is running: stop it first, or wait"), 4, result.out)
        self.assertIn(f"{LONG}  {big} -> {self.out}/big\n1 file,", result.out)
        self.assertRegex(result.out, r"(?m)^depth +32$")
        self.assertEqual(len(re.findall(r"(?m)^ *total ", result.out)), 2)

    def test_a_job_that_failed_is_told_by_the_exit_status_and_the_next_one_runs(self):
        source = self.make("few/file", 40 * CHUNK)
        result = self.script("start", "wait", "start", "wait", args=["--out", self.out, source], env=lying("skip", 21))
        self.check_refused(result, "failed: 0 of 1 files", "every byte is equal")
        self.assertEqual(tree(self.out), {"file": sha256(source)})

    def test_a_signal_ends_a_job_of_the_prompt(self):
        source = self.make("few/file", LONG)
        with subprocess.Popen([program, *eal(), "-i", *SLOWLY, "--out", self.out, source], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **FORCED}) as process:
            try:
                process.stdin.write(b"start\n")
                process.stdin.flush()
                wait_for(self.leftovers, process)
                process.send_signal(signal.SIGHUP)
                out = process.stdout.read()
                self.assertEqual(process.wait(timeout=TIMEOUT), 128 + signal.SIGHUP)
            finally:
                process.kill()
        self.assertIn("stopped by Hangup: 0 of 1 files were verified", out.decode())
        self.assertEqual(self.leftovers(), [])

    def test_a_terminal(self):
        result = self.on_terminal("show config", "nonsensx\x7fe", "start", "wait", "quit")
        self.assertIn("there is no command 'nonsense'", result.out)
        self.assertIn("every byte is equal", result.out)
        self.assertEqual(result.code, 1, "a line was refused")
        self.assertEqual(tree(self.source), tree(self.path("out/in")))

    def test_sigterm_at_the_prompt(self):
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        self.addCleanup(os.close, side)
        before = termios.tcgetattr(side)
        with subprocess.Popen([program, *eal(), "-i"], stdin=side, stdout=side, stderr=side,
            start_new_session=True) as process:
            try:
                screen = b""
                while b"testgantry> " not in screen:
                    screen += os.read(main, 4096)
                process.terminate()
                self.assertEqual(process.wait(timeout=TIMEOUT), 128 + signal.SIGTERM)
            finally:
                process.kill()
        self.assertEqual(termios.tcgetattr(side), before)


class Lines(PromptCase):
    """Tests the commands of the prompt. A job moves few files or no files."""

    def test_wrong_commands_are_reported_and_change_nothing(self):
        result = self.script("set chunk 12x", "set nothing 1", "nonsense", "start", "clear files",
            f"set out {self.out}", "start", "help", "quit", args=[self.source])
        self.assertEqual(result.code, 1, result.out)
        self.assertIn("'12x'", result.out)
        self.assertIn("there is no command 'nonsense'", result.out)
        self.assertIn("no output folder", result.out)
        self.assertIn("no files to move", result.out)
        self.assertIn("show stats", result.out)

    def settings(self, result):
        """Returns what "show config" has printed: {name: value}."""
        return dict(re.findall(r"(?m)^([a-z]+(?:-[a-z]+)*)  +(\S.*)$", result.out.split("show config\n")[-1]))

    def test_show_config_has_every_setting_and_its_default(self):
        """The defaults must be those that the help shows."""
        with tempfile.TemporaryFile() as stdin:
            stdin.write(b"set nothing 1\nshow config\n")
            stdin.seek(0)
            result = run([*eal(), "-i"], stdin=stdin)
        names = re.search(r"there is no setting 'nothing': give one of (.*)", result.out).group(1).split(", ")
        shown = self.settings(result)
        self.assertEqual(sorted(shown), sorted(names))
        self.assertEqual(shown, {"mode": "copy", "out": "(not set)", "chunk": str(256 << 10), "depth": "32", "burst": "8",
            "ring-size": "(the engine's default)", "copy-path": "auto", "policy": "(none)", "device": "(the first)", "idle": "sleep",
            "nb-cores": "(all)", "stats-period": "0", "parents": "off", "skip-unreadable": "off"})
        page = run(["-h"]).out
        for name in names:
            self.assertRegex(page, f"(?m)^  --{name} ")

    def test_what_is_set_is_shown(self):
        given = {"mode": "read", "out": "/tmp/a b", "chunk": "4096", "depth": "7", "burst": "9", "ring-size": "64", "copy-path": "rdma",
            "policy": "rules", "device": "mlx5_3", "idle": "spin", "nb-cores": "2", "stats-period": "11", "parents": "on",
            "skip-unreadable": "on"}
        result = self.script(*[f"set {name} {value}" for name, value in given.items()], "show config")
        self.assertEqual(result.code, 0, result.out)
        self.assertEqual(self.settings(result), {**given, "out": "'/tmp/a b'"})
        for text, number in ("3k", 3 << 10), ("2M", 2 << 20), ("1g", 1 << 30), ("7", 7):
            self.assertEqual(self.settings(self.script(f"set chunk {text}", "show config"))["chunk"], str(number))

    def test_a_path_goes_to_the_end_of_its_line(self):
        names = ["a#b", "a b", "a?b", "a\tb", "aüb", "ab ", "'ab'", "x" * 200 + "/" + "y" * 200 + "/" + "z" * 200]
        for name in ["a", "ab", "x" * 200 + "/y", *names]:
            self.make(f"few/{name}", 100)
        self.make("few/ab", 5)
        result = self.script(f"set out {self.out}", "set parents on", *[f"add few/{name}" for name in names],
            "start", "wait", cwd=self.dir)
        self.assertEqual(result.code, 0, result.out)
        self.assertEqual(tree(self.out),
            {f"few/{name}": sha256(self.path(f"few/{name}")) for name in names})

    def test_a_line_that_is_not_understood_as_a_whole_does_nothing(self):
        long = "/" * 4000 + self.path("in")
        for line, words in {
            "add " + "x" * 4091: "longer than 4094 bytes",
            "add " + long + "/" * 9000: "longer than 4094 bytes",
            f"add {self.path('in')}\r": "control character 0x0d",
            f"add {self.path('in')}\0": "control character 0x00",
            "add\x1b[A x": "control character 0x1b",
            "start now": "'start' takes no argument, but has 'now'",
            "clear stats files": "'clear stats' takes no argument",
            "show": "there is no command 'show'",
            "showfiles": "there is no command 'showfiles'",
            "add": "'add' needs PATH",
            "set": "'set' needs NAME VALUE",
            "set chunk": "--chunk: ''",
            "set chunk 4K # small": "--chunk: '4K # small'",
            "set parents yes": "--parents: 'yes' is none of off, on",
            "set wake-up 5": "there is no setting 'wake-up'",
        }.items():
            with self.subTest(line=line[:40]):
                result = self.script(line, "show files", "show config", args=["--out", self.out])
                self.assertEqual(result.code, 1, result.out)
                self.assertIn(words, result.out)
                self.assertIn("no files to move", result.out)
                self.assertRegex(result.out, r"(?m)^chunk +65536$")

    def test_a_line_of_4094_bytes_is_understood(self):
        source = self.make("few/file", 100)
        result = self.script(f"set out {self.out}", "add " + source.rjust(4090, "/"), "start", "wait")
        self.check_moved(result, self.path("few"), self.out)

    def test_comments_and_empty_lines_do_nothing(self):
        result = self.script("# start", "", "  ", "\t# x", " show   stats ", "quit")
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("nothing has run yet", result.out)

    def test_the_last_line_needs_no_newline(self):
        result = self.script("start", args=["--out", self.out, self.source], end="")
        self.check_moved(result, self.source, self.path("out/in"))

    def test_a_line_that_the_terminals_editing_does_not_take_is_refused(self):
        result = self.on_terminal("add " + "x" * 5000, "add a\u00fcb", "show files", "quit")
        # The limit is 512 bytes until DPDK 24.03, and then LINE_MAX, which is 2048.
        self.assertRegex(result.out, r"a line is longer than (512|2048) bytes, the most that line editing on a terminal accepts; nothing was done: give long paths")
        self.assertIn("a line has the byte 0xbc, and line editing on a terminal accepts only ASCII; nothing was done: give such", result.out)
        self.assertIn("10 files", result.out)
        self.assertEqual(result.code, 1)

    def test_keys_edit_a_line(self):
        """Keys: left, beginning and end of the line, the previous line, delete everything right of the cursor."""
        result = self.on_terminal(b"set burst 7\x1b[D3", b"st\x01set dep\x05", b"set depth 5\x01\x05", b"\x1b[A\x7f9", b"set chunk 4K 9\x1b[D\x1b[D\x0b",
            "show config", "quit")
        for setting in r"burst +37", r"depth +9", r"chunk +4096":
            self.assertRegex(result.out, f"(?m)^{setting}\r?$")
        self.assertIn("there is no setting 'depst'", result.out)

    def test_tab_completes_and_a_question_mark_lists(self):
        self.make("few/only", 100)
        result = self.on_terminal("sho\tc\t", "set mo\twr\t", "set par\to\tff\x17on", "cl\tf\t", "add fe\t\t", "show f\t", "set copy-path ?mmo", "show config", "quit")
        self.assertEqual(result.code, 0, result.out)
        screen = re.sub(r"\x1b(\[[0-9]*[A-Z]|[A-Z])", "", result.out).replace("\r\r", "\r")
        for line in "testgantry> show config ", "testgantry> set mode write", "testgantry> clear files ", "testgantry> add few/only", "testgantry> show files ", \
            " auto\r\n mmo\r\n rdma\r\n":
            self.assertIn(line, screen)
        self.assertRegex(result.out, r"mode +write")
        self.assertRegex(result.out, r"copy-path +mmo")
        self.assertIn(f"100  few/only -> {self.out}/few/only", result.out)

    def test_the_end_of_input_on_a_terminal_ends_it(self):
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        with subprocess.Popen([program, *eal(), "-i"], stdin=side, stdout=side, stderr=side, start_new_session=True) as process:
            os.close(side)
            try:
                screen = b""
                while b"testgantry> " not in screen:
                    screen += os.read(main, 4096)
                os.write(main, b"x\x7f\x04")
                with contextlib.suppress(OSError):
                    while data := os.read(main, 4096):
                        screen += data
                self.assertEqual(process.wait(timeout=TIMEOUT), 0, screen)
            finally:
                process.kill()
        self.assertIn(b"Bye...", screen)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, lying_engine = map(os.path.abspath, sys.argv[1:3])
    project_version = sys.argv[3]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
