#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the example two_processes or two_processes_cm as a user does: one process listens, the other connects.

usage: test_two_processes.py TWO_PROCESSES
"""
import os
import subprocess
import sys
import tempfile

TIMEOUT = 400
EAL = ["--no-huge", "-m", "64", "--no-shconf", "--no-pci", "--no-telemetry", "--"]


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        # two_processes_cm has a port instead of a path: 0 is a free one, which its first line names.
        by_port = os.path.basename(program) == "two_processes_cm"
        path = "0" if by_port else os.path.join(folder, "socket")
        with subprocess.Popen([program, *EAL, "listen", path], stdout=subprocess.PIPE) as listens:
            try:
                lines = []
                while not lines or b"listening at" not in lines[-1]:
                    lines.append(listens.stdout.readline())
                    if lines[-1] == b"":
                        sys.exit("it does not listen")
                where = ["127.0.0.1", lines[-1].split()[-1].decode()] if by_port else [path]
                connects = subprocess.run([program, *EAL, "connect", *where], stdout=subprocess.PIPE, timeout=TIMEOUT, check=False)
                out = listens.communicate(timeout=TIMEOUT)[0]
            finally:
                listens.kill()
    print(out.decode(), connects.stdout.decode())
    if (listens.returncode, connects.returncode) != (0, 0):
        sys.exit(f"exit codes {listens.returncode} and {connects.returncode}")
    for text, expected in (out, b'got "written by the process that connects", verified'), \
        (connects.stdout, b'got "sent by the process that listens", verified'):
        if expected not in text:
            sys.exit(f"{expected} is missing")


if __name__ == "__main__":
    main(sys.argv[1])
