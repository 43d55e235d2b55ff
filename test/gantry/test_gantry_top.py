#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs gantry-top on a program with engines, as a user does, and without such a program.

usage: test_gantry_top.py GANTRY_TOP LOOKED_AT VERSION [unittest's arguments]
"""
import json
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

TIMEOUT = 400  # seconds: longer than any machine needs
DPDK_TELEMETRY = "/usr/bin/dpdk-telemetry.py"  # from Debian's package dpdk
# Runs a command as root, but without the capability to ignore file permissions.
WITHOUT_RIGHTS = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]
top, looked_at, project_version = "", "", ""


class Case(unittest.TestCase):
    def setUp(self):
        # In this test EAL keeps its files in this folder, which every user can read: rte_eal_get_runtime_dir().
        self.dir = tempfile.mkdtemp(prefix="test-gantry-top.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.env = {**os.environ, "RUNTIME_DIRECTORY": self.dir, "SOFTHCA_FORCE": "1"}

    def start(self, prefix, reap=True):
        """Starts a program with an engine, two queues and two peers. One write has failed. With `reap`, the program
        must end without an error."""
        process = subprocess.Popen([looked_at, prefix], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=self.env, text=True)
        self.addCleanup(self.end if reap else self.close, process)
        for line in process.stdout:
            if line == "ready\n":
                return process
        raise AssertionError(f"looked_at ended with {process.wait()}")

    def end(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 0)
        process.stdout.close()

    @staticmethod
    def close(process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def look_until(self, there):
        """Waits for a page for which `there` is true. On a busy machine, the program may stop for some time."""
        for _ in range(100):
            code, out, err = self.run_top("--once", "-s", "0.2")
            self.assertEqual((code, err), (0, ""))
            if there(out):
                break
        return out

    def run_top(self, *args, under=()):
        done = subprocess.run([*under, sys.executable, top, *args], env=self.env, capture_output=True, text=True,
            timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout, done.stderr


def rows(text, heading):
    """Returns the table below a heading: for each row, a dictionary of its columns."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(heading + " "))
    head = re.split(r" {2,}", lines[at].strip())
    found = []
    for line in lines[at + 1:]:
        if not line:
            break
        found.append(dict(zip(head, re.split(r" {2,}", line.strip()))))
    return found


class Shown(Case):
    def test_a_running_program(self):
        process = self.start("seen")
        # Each copy has its own doorbell. The counters of operations and doorbells are read one after the other, so the
        # program may copy between the two reads.
        out = self.look_until(lambda page: rows(page, "QUEUE")[0]["OPS/BELL"] == "1.0")
        self.assertIn(f"looked_at, process {process.pid}", out)
        engine, = rows(out, "ENGINE")
        self.assertEqual((engine["STATE"], engine["QUEUES"], engine["REGIONS"], engine["MEMORY"]),
            ("works", "2", "1", "8.2kB"))
        lcore, = rows(out, "LCORE")
        self.assertEqual((lcore["LCORE"], lcore["WORKERS"]), ("1", "1"))
        self.assertRegex(lcore["BUSY"], r"^\d+ %$")
        worker, inline = rows(out, "QUEUE")
        self.assertEqual((worker["LCORE"], inline["LCORE"]), ("1", "-"))
        self.assertNotEqual(worker["OPS/s"], "0")
        self.assertEqual(worker["OPS/BELL"], "1.0")
        self.assertEqual((worker["FAILED"], worker["PEERS"]), ("0", "-"))
        self.assertEqual((inline["OPS/s"], inline["FAILED"], inline["IN FLIGHT"]), ("0", "1", "0"))
        self.assertRegex(inline["PEERS"], r"1 down|2 down")
        row, = rows(out, "TRANSACTIONS OF QUEUE")
        self.assertEqual(row, {"TRANSACTIONS OF QUEUE": inline["QUEUE"], "OPEN": "0", "DONE/s": "0", "DONE": "1", "STOPS/s": "0",
            "STOPS": "0", "CANCELLED": "0"})
        self.assertIn("write  remote_access  syndrome 0x13", out)
        self.assertIn("    WQE 0x0000", out)

    def test_latencies_of_queues_on_which_they_are_measured(self):
        self.start("seen")
        self.assertNotIn("LATENCY", self.run_top("--once", "-s", "0.1")[1])
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(os.path.join(self.dir, "dpdk", "seen", "dpdk_telemetry.v2"))
            s.recv(1024)
            s.send(b"/gantry/latency,0,on")
            self.assertIn(b'"on":1', s.recv(16384))
        out = self.look_until(lambda page: "LATENCY" in page)
        row, = rows(out, "LATENCY OF QUEUE")
        self.assertEqual((row["LATENCY OF QUEUE"], row["OPERATION"]), ("0", "copy"))
        self.assertRegex(row["99 %"], r"^[0-9.]+ [num]s$")

    def test_on_a_terminal(self):
        self.start("seen")
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(sys.executable, [sys.executable, top, "-s", "0.1"], {**self.env, "TERM": "xterm", "LINES": "40",
                "COLUMNS": "160"})
        text = b""
        while b"LAST" not in text or text.count(b"rates of") < 1:
            self.assertTrue(select.select([fd], [], [], TIMEOUT)[0], text)
            text += os.read(fd, 65536)
        os.write(fd, b"q")
        try:
            while os.read(fd, 65536):
                pass
        except OSError:  # the other end is closed
            pass
        self.assertEqual(os.waitpid(pid, 0)[1], 0, text)
        os.close(fd)

    @unittest.skipUnless(os.path.exists(DPDK_TELEMETRY), f"no {DPDK_TELEMETRY}: it is in Debian's package dpdk")
    def test_dpdk_s_own_tool_shows_it_too(self):
        self.start("seen")
        done = subprocess.run([DPDK_TELEMETRY, "-f", "seen"], input="/gantry/engines\n/gantry/queue\n/help,/gantry/peers\n",
            env=self.env, capture_output=True, text=True, timeout=TIMEOUT, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual(answers[-3]["/gantry/engines"]["engines"]["0"]["queues"], 2)
        self.assertIn("give /gantry/queue,QUEUE", answers[-2]["/gantry/queue"]["error"])
        self.assertIn("Peers of a queue", json.dumps(answers[-1]))


class Told(Case):
    """This class acts as a program and gives the answers, field by field. The program has two engines; the adapter of
    the second engine is lost."""
    PARTS = {  # lists whose answers come in several parts
        "/gantry/engines": {"engines": {"0": {"device": "mlx5_4", "copies_by": "mmo", "queues": 2, "failures": 3, "device_lost": 0,
            "ports_down": "0x2"}}, "next": 1},
        "/gantry/engines,1": {"engines": {"1": {"device": "mlx5_7", "copies_by": "rdma", "queues": 1, "failures": 0, "device_lost": 1,
            "ports_down": "0x0"}}},
        "/gantry/queues,0": {"queues": [0], "next": 1}, "/gantry/queues,0,1": {"queues": [1]}, "/gantry/queues,1": {"queues": [5]},
        "/gantry/memory,0": {"regions": 12, "bytes": 3456789}, "/gantry/memory,1": {"regions": 0, "bytes": 0},
        "/gantry/peers,1": {"peers": {"0": {"state": "ready"}, "1": {"state": "down"}}, "next": 2},
        "/gantry/peers,1,2": {"peers": {"2": {"state": "ready"}, "3": {"state": "ready"}}},
        "/gantry/errors,0": {"list": {"0": {"time": "2026-11-22T19:48:22.846Z", "times": 3, "queue": 1, "connection": "peer", "peer": 7,
            "status": "remote_access", "op": "write", "syndrome": "0x13", "wqe": ["WQE a", "  raddr b"]},
            "1": {"time": "2026-11-22T19:48:21.000Z", "times": 1, "queue": 0, "status": "bad_length", "op": "copy", "syndrome": "0x0",
            "wqe": []}}},
        "/gantry/errors,1": {"list": {"0": {"time": "2026-11-22T19:48:20.000Z", "times": 1, "queue": 5, "connection": "dc_initiator",
            "status": "device_lost", "op": "send", "syndrome": "0x0", "wqe": []}}},
        "/gantry/latency,0": {"on": 1, "ops": {"copy": {"count": 17, "p50_ns": 9999, "p99_ns": 12345, "max_ns": 98765432}}},
        "/gantry/latency,1": {"on": 0, "ops": {"copy": {"count": 1, "p50_ns": 1, "p99_ns": 1, "max_ns": 1}}}, "/gantry/latency,5": {},
    }

    @staticmethod
    def queue(engine, peers, **more):
        return {"engine": engine, "state": "ready", "in_flight": 6, "depth": 512, "peers": peers, **more}

    @staticmethod
    def counters(n, opened):
        """Raises the counters n times: one doorbell for four operations of 64 bytes. One of 100 operations fails, one
        of 50 is a transaction."""
        return {"completed": 400 * n, "bytes": 25600 * n, "doorbells": 100 * n, "by_status": {"ok": 396 * n, "overlap": 3 * n, "bad_key": n},
            "txn_opened": opened and 8 * n + 5, "txn_done": 8 * n, "txn_stops": 2 * n, "txn_cancelled": 77}

    def answer(self, command, second):
        n = 1000 if second else 500
        told = {**self.PARTS, "/": ["/gantry/engines"],
            "/gantry/queue,0": self.queue(0, 0, worker={"lcore": 9, "descriptors_waiting": 31}),
            "/gantry/queue,1": self.queue(0, 4, in_flight=0, depth=64, state="down"), "/gantry/queue,5": self.queue(1, 0),
            "/gantry/counters,0": self.counters(n, False), "/gantry/counters,1": self.counters(2 * n, True),
            "/gantry/counters,5": self.counters(0, False),
            "/gantry/lcores": {"lcores": {"9": {"workers": 3, "cycles": 1000 * n, "busy_cycles": 250 * n, "sleeps": 400 * n}}, "next": 11},
            "/gantry/lcores,11": {"lcores": {"11": {"workers": 1, "cycles": 5, "busy_cycles": 5, "sleeps": 0}}}}
        return json.dumps({command.split(",")[0]: told[command]}).encode()

    def serve(self, listener):
        with listener.accept()[0] as connection:
            connection.send(json.dumps({"version": "x", "pid": os.getpid(), "max_output_len": 16384}).encode())
            n_samples = 0
            while command := connection.recv(1024).decode():
                n_samples += command == "/"
                connection.send(self.answer(command, n_samples == 2))

    def page(self, name="socket", args=()):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            listener.listen()
            server = threading.Thread(target=self.serve, args=(listener,), daemon=True)
            server.start()
            code, out, err = self.run_top("--once", "-s", "0.05", *(args or ("--socket", path, "-f", "none", "-i", "3")))
            self.assertEqual((code, err), (0, ""))
            server.join(TIMEOUT)
        return out

    @staticmethod
    def number(text):
        """Converts "12.3M" to 12300000.0."""
        text = text.rstrip("B")
        return float(text.rstrip("kMG")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)

    def test_a_program_of_many_with_one_prefix(self):
        """EAL numbers the sockets of programs that run with --in-memory: the name of the second socket ends in :1."""
        for prefix, args in ("rte", ("-i", "1")), ("other", ("-f", "other", "-i", "1")):
            self.assertIn(f"process {os.getpid()};", self.page(f"dpdk/{prefix}/dpdk_telemetry.v2:1", args))

    def test_every_field(self):
        out = self.page()
        self.assertEqual(rows(out, "ENGINE"), [
            {"ENGINE": "0", "DEVICE": "mlx5_4", "COPIES BY": "mmo", "QUEUES": "2", "REGIONS": "12", "MEMORY": "3.5MB", "FAILURES": "3",
                "STATE": "port down"},
            {"ENGINE": "1", "DEVICE": "mlx5_7", "COPIES BY": "rdma", "QUEUES": "1", "REGIONS": "0", "MEMORY": "0B", "FAILURES": "0",
                "STATE": "LOST"}])
        queues = rows(out, "QUEUE")
        names = ["QUEUE", "ENGINE", "LCORE", "STATE", "IN FLIGHT", "DEPTH", "WAITING", "OPS/BELL", "FAILED", "PEERS"]
        self.assertEqual([[q[name] for name in names] for q in queues], [
            ["0", "0", "9", "ready", "6", "512", "31", "4.0", "4000", "-"],
            ["1", "0", "-", "down", "0", "64", "-", "4.0", "8000", "3 ready, 1 down"],
            ["5", "1", "-", "ready", "6", "512", "-", "-", "0", "-"]])
        lcore, other = rows(out, "LCORE")
        self.assertEqual((lcore["LCORE"], lcore["WORKERS"], lcore["BUSY"]), ("9", "3", "25 %"))
        self.assertEqual((other["LCORE"], other["WORKERS"], other["BUSY"], other["SLEEPS/s"]), ("11", "1", "-", "0"))
        row, = rows(out, "TRANSACTIONS OF QUEUE")
        self.assertEqual([row[name] for name in ("TRANSACTIONS OF QUEUE", "OPEN", "DONE", "STOPS", "CANCELLED")],
            ["1", "5", "16000", "4000", "77"])
        self.assertEqual(rows(out, "LATENCY OF QUEUE"), [{"LATENCY OF QUEUE": "0", "OPERATION": "copy", "SAMPLES": "17", "MEDIAN": "9999 ns",
            "99 %": "12.3 us", "MAX": "98.8 ms"}])
        # All rates are computed for the same period.
        ops = self.number(queues[0]["OPS/s"])
        for text, share in ((queues[0]["BYTES/s"], 64), (queues[0]["FAILED/s"], 0.01), (queues[1]["OPS/s"], 2),
            (lcore["SLEEPS/s"], 1), (row["DONE/s"], 0.04), (row["STOPS/s"], 0.01)):
            self.assertLess(abs(self.number(text) / ops / share - 1), 0.15, (text, ops))
        self.assertEqual((queues[2]["OPS/s"], queues[2]["BYTES/s"], queues[2]["FAILED/s"]), ("0", "0B", "0"))
        seconds = float(re.search(r"rates of the last ([\d.]+) s", out).group(1))
        self.assertLess(abs(400 * 500 / ops - seconds), 0.06 + 0.1 * seconds)
        self.assertEqual(out.split("LAST FAILURES\n")[1],
            "2026-11-22 19:48:22.846Z  engine 0 queue 1  peer 7  write  remote_access  syndrome 0x13  3 times\n"
            "    WQE a\n      raddr b\n"
            "2026-11-22 19:48:21.000Z  engine 0 queue 0  copy  bad_length\n"
            "2026-11-22 19:48:20.000Z  engine 1 queue 5  dc initiator  send  device_lost\n")


class Ended(Case):
    """The program ends while gantry-top displays it."""

    def test_on_a_terminal(self):
        process = self.start("ends", reap=False)
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(sys.executable, [sys.executable, top, "-s", "0.1"], {**self.env, "TERM": "xterm", "LINES": "40",
                "COLUMNS": "160"})
        text = b""
        while b"rates of" not in text:
            self.assertTrue(select.select([fd], [], [], TIMEOUT)[0], text)
            text += os.read(fd, 65536)
        process.kill()
        process.wait(TIMEOUT)
        try:
            while more := os.read(fd, 65536):
                text += more
        except OSError:  # the other end is closed
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 1, text)
        os.close(fd)
        self.assertIn(f"gantry-top: The program has ended: looked_at, process {process.pid}.", text.decode(errors="replace"))

    def serve(self, path, n_answers, unread):
        """Acts as a program that ends after some answers. With unread, gantry-top has sent the next command, but the
        program has not read it."""
        answers = {b"/": ["/gantry/engines"], b"/gantry/engines": {"engines": {}}, b"/gantry/lcores": {"lcores": {}}}
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            listener.listen()
            self.listening.set()
            connection, _ = listener.accept()
        with connection:
            connection.send(json.dumps({"version": "x", "pid": self.ended.pid, "max_output_len": 16384}).encode())
            for _ in range(n_answers):
                command = connection.recv(1024)
                connection.send(json.dumps({command.decode(): answers[command]}).encode())
            if unread:
                select.select([connection], [], [], TIMEOUT)

    def test_at_every_answer(self):
        self.ended = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(self.ended.wait)
        self.addCleanup(self.ended.kill)
        for n in range(6):
            for unread in False, True:
                with self.subTest(n=n, unread=unread):
                    path = os.path.join(self.dir, f"socket{n}{unread}")
                    self.listening = threading.Event()
                    server = threading.Thread(target=self.serve, args=(path, n, unread))
                    server.start()
                    self.listening.wait(TIMEOUT)
                    code, out, err = self.run_top("--once", "-s", "0.1", "--socket", path)
                    server.join(TIMEOUT)
                    self.assertEqual((code, out), (1, ""))
                    self.assertEqual(err, f"gantry-top: The program has ended: sleep, process {self.ended.pid}.\n")


class Nothing(Case):
    def refused(self, *args, **more):
        code, out, err = self.run_top("--once", *args, **more)
        self.assertEqual((code, out), (1, ""))
        self.assertNotIn("Traceback", err)
        return err

    def test_no_program(self):
        self.assertIn("No DPDK program with telemetry runs here", self.refused())
        self.assertIn("No DPDK program with telemetry runs here", self.refused("-f", "other"))
        self.assertIn("No program answers at", self.refused("--socket", os.path.join(self.dir, "none")))

    def test_a_socket_that_a_killed_program_left(self):
        path = os.path.join(self.dir, "dpdk", "killed", "dpdk_telemetry.v2")
        os.makedirs(os.path.dirname(path))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(path)
        self.assertIn("No DPDK program with telemetry runs here", self.refused())
        self.assertIn("No program answers at", self.refused("-f", "killed"))

    def test_several_programs(self):
        first = self.start("first")
        self.assertIn("No program runs with -f second", self.refused("-f", "second"))
        second = self.start("second")
        text = self.refused()
        self.assertRegex(text, rf"gantry-top -f first +# looked_at, process {first.pid}\n")
        self.assertRegex(text, rf"gantry-top -f second +# looked_at, process {second.pid}\n")
        self.assertIn("No program runs with -f third", self.refused("-f", "third"))
        code, out, _ = self.run_top("--once", "-f", "second")
        self.assertEqual(code, 0)
        self.assertIn(f"process {second.pid}", out)
        self.assertGreaterEqual(float(re.search(r"rates of the last ([\d.]+) s", out).group(1)), 1)  # the default

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv"), "needs root, and setpriv of util-linux")
    def test_wrong_permissions(self):
        self.start("seen")
        folder = os.path.join(self.dir, "dpdk", "seen")
        os.chown(folder, 12345, 12345)
        os.chmod(folder, 0o700)
        text = self.refused("-f", "seen", under=WITHOUT_RIGHTS)
        unnamed = self.refused(under=WITHOUT_RIGHTS)
        os.chown(folder, 0, 0)
        self.assertIn("may not be opened by user 0: run gantry-top as user 12345, or as root", text)
        self.assertIn(f"User 0 may not look into {folder}.", unnamed)

    def test_the_version_is_the_projects(self):
        self.assertEqual(self.run_top("--version"), (0, f"gantry-top {project_version}\n", ""))

    def test_a_wrong_option(self):
        for seconds in "0", "0.049", "3601":
            code, _, err = self.run_top("-s", seconds)
            self.assertEqual(code, 2)
            self.assertIn("0.05 to 3600 are possible", err)


if __name__ == "__main__":
    top, looked_at, project_version = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
