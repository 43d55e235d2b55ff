# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of perftest's pairs share: perftest 4.5 compares no data, so its buffers are files (--mmap), and the
test compares them."""
import os

from launched import PairCase


class PerftestCase(PairCase):
    N = 10

    def buffer(self, name):
        """Makes a file for perftest's buffer, which perftest fills at its start with random bytes."""
        path = os.path.join(self.tmp, name + '.buffer')
        with open(path, 'wb') as f:
            f.truncate(4 << 20)
        return path

    def check_rows(self, out, size, qps=1):
        """Checks that the client reports all messages."""
        self.assertRegex(out, rf'(?m)^ {size} +{self.N * qps} ')

    def compare(self, size, both, server, client):
        """The first half of a buffer is what this end sends, or reads into. The second half is for the peer. At their
        starts both ends may have filled their buffers with the same bytes."""
        contents = []
        for path in (server, client):
            with open(path, 'rb') as f:
                contents.append(f.read())
        server, client = contents
        self.assertTrue(client[:size] in server[size:], "the client's bytes are not in the server's buffer")
        if both:
            self.assertTrue(server[:size] in client[size:], "the server's bytes are not in the client's buffer")
