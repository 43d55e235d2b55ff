#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the example two_processes or two_processes_cm as a user does: one process listens, the other connects.

usage: test_two_processes.py TWO_PROCESSES
Before, mistakes are made. Each must get an answer that says what to do.
"""
import os
import socket
import subprocess
import sys
import tempfile

TIMEOUT = 400
EAL = ["--no-huge", "-m", "64", "--no-shconf", "--no-pci", "--no-telemetry", "--"]


def refused(program, args, *expected):
    """Runs the program, which must refuse its arguments with each of the texts."""
    done = subprocess.run([program, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    for text in expected:
        if done.returncode != 1 or text not in done.stdout.decode():
            sys.exit(f"exit code {done.returncode}, or not said: {text}\n{done.stdout.decode()}")


def make_mistakes(program, by_port, path):
    # EAL sets no rte_errno if there is no primary process.
    refused(program, ["--no-huge", "-m", "64", "--proc-type=secondary", "--file-prefix=nobody", "--", "listen", path], "EAL did not start")
    if by_port:
        return
    with open(path, "w", encoding="ascii") as file:
        file.write("not a socket")
    refused(program, [*EAL, "listen", path], f"cannot make a socket at {path}: Address already in use")
    os.remove(path)  # fails if the program has removed it
    refused(program, [*EAL, "listen", path * 10], "the path is longer than 107 bytes")
    # A process that was killed leaves such a socket.
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    refused(program, [*EAL, "connect", path], f"cannot connect to {path}: Connection refused. First start the process that listens")


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        # two_processes_cm has a port instead of a path: 0 is a free one, which its first line names.
        by_port = os.path.basename(program) == "two_processes_cm"
        path = "0" if by_port else os.path.join(folder, "socket")
        make_mistakes(program, by_port, path)
        with subprocess.Popen([program, *EAL, "listen", path], stdout=subprocess.PIPE) as listens:
            try:
                lines = []
                while not lines or b"listening at" not in lines[-1]:
                    lines.append(listens.stdout.readline())
                    if lines[-1] == b"":
                        sys.exit("it does not listen")
                if not by_port:
                    refused(program, [*EAL, "listen", path], f"another process listens at {path}")
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
