#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program, and stops it and its children repeatedly, each time for up to 0.3 s, at random.

This is like a virtual machine that loses its CPUs for a while: a test with a time limit of a few milliseconds fails.
test_idle is not stopped, because it counts how often its threads wake up. Exits with the program's exit code.

usage: stop-at-random.py PROGRAM [ARG]...
"""
import os
import random
import signal
import subprocess
import sys
import time

RUNS_S = 0.06                 # on average, between two stops
STOPS_S = (0.005, 0.05, 0.3)  # with equal probability


def stop(group):
    os.killpg(group, signal.SIGSTOP)
    time.sleep(random.choice(STOPS_S))
    os.killpg(group, signal.SIGCONT)


def run(process, stops):
    while stops:
        try:
            return process.wait(0.002 + random.expovariate(1 / RUNS_S))
        except subprocess.TimeoutExpired:
            stop(process.pid)
    return process.wait()


def main(command):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    process = subprocess.Popen(command, process_group=0)
    try:
        code = run(process, os.path.basename(command[0]) != "test_idle")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return code if code >= 0 else 128 - code


if len(sys.argv) < 2:
    sys.exit(__doc__)
sys.exit(main(sys.argv[1:]))
