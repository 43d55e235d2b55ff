#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs with --trace=gantry.*, and reads their events from the CTF folder that DPDK writes.

usage: test_gantry_trace.py TESTGANTRY EXAMPLE_PEERS [unittest's arguments]
"""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

TIMEOUT = 400
MAGIC = 0xC1FC1FC1  # magic number of a CTF packet: diamon.org/ctf, 5.1
SIZES = {"uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q", "int32_t": "i", "int64_t": "q", "uintptr_t": "Q",
    "string_bounded_t": "32s"}
READY, BROKEN, DRAINING = 2, 6, 5  # values of enum gantry_conn_state
testgantry, example_peers = "", ""


def read_events(folder):
    """Returns the events of all threads in order: (name, {field: value}). The file `metadata` describes the format."""
    with open(os.path.join(folder, "metadata"), encoding="ascii") as f:
        text = f.read()
    kinds = {}
    for number, name, fields in re.findall(r'event \{\s*id = (\d+);\s*name = "([^"]+)";\s*fields := struct \{(.*?)\};', text, re.S):
        kinds[int(number)] = name, re.findall(r"(\w+) +(\w+)(?:\[32\])?;", fields)
    events = []
    for path in glob.glob(os.path.join(folder, "channel*")):
        with open(path, "rb") as f:
            data = f.read()
        assert struct.unpack_from("<I", data)[0] == MAGIC, path
        at = 4 + 16 + 4 + 32  # length of packet.header and packet.context
        while at + 8 <= len(data):
            head, = struct.unpack_from("<Q", data, at)
            name, fields = kinds[head >> 48]
            shape = struct.Struct("<" + "".join(SIZES[kind] for kind, _ in fields))
            values = dict(zip((field for _, field in fields), shape.unpack_from(data, at + 8)))
            events.append((head & (1 << 48) - 1, name, values))
            at += (8 + shape.size + 7) // 8 * 8  # event.header is aligned to 64 bits
    return [(name, values) for _, name, values in sorted(events, key=lambda e: e[0])]


class Traced(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="test-gantry-trace.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def trace(self, program, *args, pattern="gantry.*", faults="", expect=0):
        """Returns the events of a program. args: the arguments after those of EAL."""
        traces, path = os.path.join(self.dir, "traces"), os.path.join(self.dir, "faults")
        with open(path, "w", encoding="ascii") as f:
            f.write(faults)
        os.mkdir(traces)
        cpus = sorted(os.sched_getaffinity(0))
        done = subprocess.run([program, f"--lcores=0@{cpus[0]},1@{cpus[-1]}", "--no-huge", "--no-shconf", "--no-telemetry",
            "-m", "64", f"--trace={pattern}", f"--trace-dir={traces}", *args], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, env={**os.environ, "SOFTHCA_FORCE": "1", "SOFTHCA_FAULTS": path},
            timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        folder, = glob.glob(os.path.join(traces, "*"))
        return read_events(folder)

    def trace_a_move(self, *args, **more):
        source = os.path.join(self.dir, "in")
        with open(source, "wb") as f:
            f.write(bytes(300000))
        return self.trace(testgantry, "--", "--chunk", "64K", "--out", os.path.join(self.dir, "out"), *args, source, **more)

    def test_what_comes_also_goes(self):
        events = self.trace_a_move("--mode", "write")
        names = [name for name, _ in events]
        self.assertEqual(names[0], "gantry.engine.create")
        self.assertEqual(events[0][1]["device"].rstrip(b"\0"), b"mlx5_0")
        self.assertEqual(names[-1], "gantry.engine.destroy")
        for come, go in (("queue.create", "queue.destroy"), ("worker.start", "worker.stop"),
            ("mem.register", "mem.unregister")):
            self.assertGreater(names.count("gantry." + come), 0)
            self.assertEqual(names.count("gantry." + come), names.count("gantry." + go), come)
            self.assertLess(names.index("gantry." + come), names.index("gantry." + go))
        for name, values in events:
            self.assertEqual(values.get("ret", 0), 0, name)
        queue = next(values["queue"] for name, values in events if name == "gantry.queue.create")
        self.assertEqual([values["queue"] for name, values in events if name == "gantry.worker.start"], [queue])
        self.assertEqual({values["lcore"] for name, values in events if name == "gantry.worker.start"}, {1})
        # Destroying a queue closes its peer.
        self.assertGreater(names.count("gantry.peer.open"), 0)
        self.assertEqual(names.count("gantry.peer.connect"), names.count("gantry.peer.open"))
        self.assertNotIn("gantry.conn.failure", names)

    def test_a_peer_opens_connects_and_closes(self):
        peers = [(name.rpartition(".")[2], values) for name, values in self.trace(example_peers)
            if name.startswith("gantry.peer.")]
        self.assertEqual([name for name, _ in peers], ["open"] * 2 + ["connect"] * 2 + ["close"] * 2)
        ends = {step: [(values["queue"], values["peer"]) for name, values in peers if name == step]
            for step in ("open", "connect", "close")}
        self.assertEqual(len(set(ends["open"])), 2)
        self.assertEqual(ends["connect"], ends["open"])
        self.assertEqual(ends["close"], ends["open"])
        self.assertEqual({values["ret"] for name, values in peers if name != "open"}, {0})

    def test_the_steps_of_a_repair(self):
        events = self.trace_a_move(faults="complete syndrome=0x04 op=2\n", expect=1)
        failure, = [values for name, values in events if name == "gantry.conn.failure"]
        self.assertEqual((failure["conn"], failure["syndrome"]), (1, 4))
        states = [values["state"] for name, values in events if name == "gantry.conn.state" and values["conn"] == 1]
        self.assertEqual(states, [DRAINING, BROKEN, READY])

    def test_only_what_is_asked_for_is_traced(self):
        names = {name for name, _ in self.trace_a_move(pattern="gantry.queue.*")}
        self.assertEqual(names, {"gantry.queue.create", "gantry.queue.destroy"})


if __name__ == "__main__":
    testgantry, example_peers = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
