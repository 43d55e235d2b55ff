# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of programs that connect by rdma_cm."""
import json
import socket
import subprocess
import time

from launched import PairCase

HOST = '127.0.0.1'


def other_address():
    """Returns an IPv4 address of an interface that is not loopback, or None."""
    shown = subprocess.run(['ip', '-j', '-4', 'addr', 'show', 'up', 'scope', 'global'], check=True, capture_output=True)
    addresses = [info['local'] for link in json.loads(shown.stdout) for info in link.get('addr_info', [])]
    return addresses[0] if addresses else None


class Pair:
    """A server and a client. The client is started when the server listens at the port: of rdma_cm's space 'tcp' or
    'udp', or of TCP ('socket')."""

    def __init__(self, name, server, client, port, space='tcp', stays=False, own_fault=None, **settings):
        self.name, self.argv, self.port, self.space = name, (server, client), int(port), space
        self.stays = stays  # the server does not end
        self.own_fault = own_fault  # tells by the client's exit code and output that the program is at fault: try again
        self.settings = settings
        self.server = self.client = None
        self.outputs = []


class CmCase(PairCase):
    def new_port(self):
        """Chooses the port of the next pair, and keeps it in `port`. Returns it as an argument."""
        self.port = super().new_port()
        return str(self.port)

    def listens(self, pair):
        if pair.space == 'socket':
            return pair.server.listens_on(pair.port)
        return pair.server.listens_by_cm(pair.space, pair.port)

    def reserve(self, what):
        """Waits until no other test of this machine has reserved this. For ports that a program does not let choose."""
        mine = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(mine.close)
        last = time.monotonic() + self.PATIENCE
        while True:
            try:
                mine.bind(f'\0softhca-test/{what}')
                return
            except OSError:
                if time.monotonic() > last:
                    self.fail(f'another test uses {what} all the time')
                time.sleep(0.05)

    def serve_pair(self, pair):
        pair.server = self.start(f'server of {pair.name}', pair.argv[0], **pair.settings)

    def start_clients(self, pairs):
        """Starts each client as soon as its server listens."""
        last = time.monotonic() + self.PATIENCE
        waiting = list(pairs)
        while waiting:
            for pair in list(waiting):
                if self.listens(pair):
                    pair.client = self.start(f'client of {pair.name}', pair.argv[1], **pair.settings)
                    waiting.remove(pair)
                elif pair.server.wait(0.005) is not None:
                    self.give_up(f'the {pair.server.name} ended with {pair.server.process.returncode} before it listened',
                                 pair.server)
                elif time.monotonic() > last:
                    self.give_up(f'the {pair.server.name} does not listen', pair.server)

    def expect_client(self, pair):
        """Waits for the client's end. If the program's own fault has ended it, starts the pair again."""
        for _ in range(20):
            code = pair.client.wait(self.PATIENCE)
            if pair.own_fault is None or code is None or not pair.own_fault(code, pair.client.output()):
                break
            pair.server.stop()
            self.serve_pair(pair)
            self.start_clients([pair])
        self.expect_end(pair.client, pair.server)

    def together(self, *pairs):
        """Runs pairs at the same time, to their ends, which must be good. Returns a dict with the outputs of each server
        and client."""
        for pair in pairs:
            self.serve_pair(pair)
        self.start_clients(pairs)
        for pair in pairs:
            self.expect_client(pair)
        for pair in pairs:
            if pair.stays:
                self.assertIsNone(pair.server.process.poll(), f'the {pair.server.name} has ended')
            else:
                self.expect_end(pair.server, pair.client)
            ends = pair.server, pair.client
            pair.outputs = [end.output() for end in ends]
            for end, output in zip(ends, pair.outputs):
                # Each adapter says one line, that it is there. All other lines are about errors.
                if output.count('softhca: ') != 1:
                    self.give_up(f'the adapter of the {end.name} reports something', *ends)
                end.stop()
        return {pair.name: pair.outputs for pair in pairs}

    def each_has(self, outputs, *lines):
        """Checks that both ends have printed these lines."""
        for name, both in outputs.items():
            for output in both:
                for line in lines:
                    self.assertIn(line, output.splitlines(), f'{name}:\n{output}')
