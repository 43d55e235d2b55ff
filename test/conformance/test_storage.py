#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Storage programs that use rdma_cm, unmodified, between two processes: fio with ioengine=rdma; tgt's iSER target with
libiscsi's initiator; and the migration of QEMU's virtual machines.

usage: test_storage.py LAUNCHER [CASE...]
"""
import json
import os
import random
import shutil
import socket
import subprocess
import time

from cm_case import HOST, CmCase, Pair
from launched import main


class Fio(CmCase):
    """fio 3.33. The job that reads is the server. Its verb comes from the client."""
    SIZE = 16 << 20
    BLOCK = 64 << 10

    def fio(self, verb, depth, server=(), client=()):
        options = ['--ioengine=rdma', f'--port={self.new_port()}', f'--bs={self.BLOCK}', f'--size={self.SIZE}',
                   '--output-format=json', f'--iodepth={depth}']
        return Pair(verb, ['fio', *options, '--name=server', '--rw=read', *server],
                    ['fio', *options, '--name=client', '--rw=write', f'--hostname={HOST}', f'--verb={verb}', *client],
                    self.port)

    def results(self, pair):
        """Returns the results of both jobs."""
        jobs = []
        for output in pair.outputs:
            text = output[output.index('{\n'):output.rindex('\n}') + 2]
            jobs.append(json.loads(text)['jobs'][0])
            self.assertEqual(jobs[-1]['error'], 0, output)
        return jobs

    def test_send(self):
        """Each block has a checksum and its number; the receiver verifies them. fio's SENDs do not wait for a receive
        (rnr_retry_count is 0), so the server posts receives for all blocks at once."""
        verify = ['--verify=crc32c', '--verify_fatal=1']
        pair = self.fio('send', 4, [f'--iodepth={self.SIZE // self.BLOCK}', *verify], verify)
        self.together(pair)
        server, client = self.results(pair)
        self.assertEqual(client['write']['io_bytes'], self.SIZE)
        self.assertEqual(server['read']['io_bytes'], self.SIZE)

    def test_write_and_read(self):
        """RDMA write and read. The jobs' buffers are files, which the test compares."""
        pairs = []
        for verb in 'write', 'read':
            ends = []
            for end in 'server', 'client':
                path = os.path.join(self.tmp, f'{verb}.{end}')
                with open(path, 'wb') as f:
                    f.write(random.Random(path).randbytes(self.BLOCK + 4096))
                ends.append(path)
            pair = self.fio(verb, 1, [f'--iomem=mmapshared:{ends[0]}'], [f'--iomem=mmapshared:{ends[1]}'])
            pair.files = ends
            pairs.append(pair)
        self.together(*pairs)
        for pair in pairs:
            _, client = self.results(pair)
            self.assertEqual(client['write']['io_bytes'], self.SIZE)
            contents = []
            for path in pair.files:
                with open(path, 'rb') as f:
                    contents.append(f.read()[:self.BLOCK])
            self.assertTrue(contents[0] == contents[1], f"the buffers differ after {pair.name}")


class Iser(CmCase):
    """tgt 1.0.85 has an iSER target. qemu-img reads and writes it by libiscsi 1.19."""
    SIZE = 16 << 20
    PORT = 3260  # tgtd refuses another port: it takes an old errno for the result of strtol(3)
    NAME = 'iqn.2026-01.org.example:disk'

    def setUp(self):
        super().setUp()
        for program in 'tgtd', 'tgtadm', 'qemu-img':
            if shutil.which(program) is None:
                self.skipTest(f'{program} is not installed')
        self.reserve('iser')
        self.control = str(os.getpid() % 30000 + 1000)
        self.disk = os.path.join(self.tmp, 'disk')
        with open(self.disk, 'wb') as f:
            f.truncate(self.SIZE)
        os.makedirs('/var/run/tgtd', exist_ok=True)

    def tgtadm(self, *options, check=True):
        return subprocess.run(['tgtadm', '-C', self.control, '--lld', 'iser', *options], check=check, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def target(self):
        """Starts a target with a disk. Returns it when it listens."""
        end = self.start('target', ['tgtd', '-f', '-C', self.control, '--iscsi', f'portal={HOST}:{self.new_port()}'])
        last = time.monotonic() + self.PATIENCE
        while not end.listens_by_cm('tcp', self.PORT) or 'System' not in self.tgtadm('--mode', 'system', '--op', 'show',
                                                                               check=False):
            if end.wait(0.02) is not None or time.monotonic() > last:
                self.give_up('the target does not listen', end)
        self.tgtadm('--mode', 'target', '--op', 'new', '--tid', '1', '--targetname', self.NAME)
        self.tgtadm('--mode', 'logicalunit', '--op', 'new', '--tid', '1', '--lun', '1', '--backing-store', self.disk)
        # The iSER target wants both.
        self.tgtadm('--mode', 'target', '--op', 'bind', '--tid', '1', '--initiator-address', 'ALL')
        self.tgtadm('--mode', 'target', '--op', 'bind', '--tid', '1', '--initiator-name', 'iqn.2008-11.org.linux-kvm')
        self.url = f'iser://{HOST}:{self.PORT}/{self.NAME}/1'
        # libiscsi's iSER has no transfers of more than 256 KiB, so QEMU has to split its requests.
        self.options = ('driver=raw,file.driver=blkdebug,file.max-transfer=131072,file.image.driver=iscsi,'
                        f'file.image.transport=iser,file.image.portal={HOST}:{self.PORT},'
                        f'file.image.target={self.NAME},file.image.lun=1')
        return end

    def data(self, seed):
        path = os.path.join(self.tmp, f'data.{seed}')
        with open(path, 'wb') as f:
            f.write(random.Random(seed).randbytes(self.SIZE))
        return path

    def qemu_img(self, *argv):
        end = self.start('initiator', ['qemu-img', *argv])
        return end

    def expect_good(self, *argv):
        end = self.qemu_img(*argv)
        self.expect_end(end)
        output = end.output()
        end.stop()
        return output

    def write(self, path):
        self.expect_good('convert', '-n', '-f', 'raw', '--target-image-opts', path, self.options)

    def expect_data(self, path):
        """Compares a file with what an initiator reads."""
        source = 'driver=raw,file.driver=file,file.filename=' + path
        self.assertIn('Images are identical', self.expect_good('compare', '--image-opts', source, self.options))

    def test_write_and_read(self):
        self.target()
        data, back = self.data(1), os.path.join(self.tmp, 'back')
        self.write(data)
        self.expect_data(data)
        self.expect_good('convert', '--image-opts', '-O', 'raw', self.options, back)
        for path in self.disk, back:
            with open(path, 'rb') as f, open(data, 'rb') as g:
                self.assertEqual(f.read(), g.read(), path)

    def write_for_long(self):
        """Starts an initiator that writes blocks until it is killed. Returns it when the disk has such a block."""
        end = self.start('initiator', ['qemu-img', 'bench', '-f', 'raw', '-w', '-c', '100000000', '-d', '4', '-s', '65536',
                                       '--pattern', '90', self.url])
        last = time.monotonic() + self.PATIENCE
        while True:
            with open(self.disk, 'rb') as f:
                if f.read(65536) == b'Z' * 65536:
                    return end
            if end.wait(0.02) is not None or time.monotonic() > last:
                self.give_up('the initiator does not write', end)

    def test_kill_initiator(self):
        target = self.target()
        end = self.write_for_long()
        self.assertIn('Initiator:', self.tgtadm('--mode', 'target', '--op', 'show'))
        end.process.kill()
        last = time.monotonic() + self.PATIENCE
        while 'Initiator:' in self.tgtadm('--mode', 'target', '--op', 'show'):
            if time.monotonic() > last:
                self.give_up('the target still has the session of the dead initiator', target)
            time.sleep(0.05)
        data = self.data(3)
        self.write(data)
        self.expect_data(data)

    def test_kill_target(self):
        """The initiator's SEND fails. libiscsi 1.19 then connects by TCP for ever, because the context that it makes for
        this (iscsi_reconnect()) has the transport TCP. A new target serves a new initiator."""
        target = self.target()
        end = self.write_for_long()
        target.process.kill()
        last = time.monotonic() + self.PATIENCE
        while 'no peer had answered when the retries ended' not in end.output():
            if end.wait(0.02) is not None or time.monotonic() > last:
                self.give_up('the initiator does not notice that its target is dead', end)
        self.target()
        data = self.data(4)
        self.write(data)
        self.expect_data(data)


class Qemu(CmCase):
    """QEMU 7.2: a virtual machine without a system migrates by RDMA. Its memory has random bytes."""
    MEMORY = 64 << 20

    def qemu(self, name, *options):
        random_bytes = os.path.join(self.tmp, 'random')
        if not os.path.exists(random_bytes):
            with open(random_bytes, 'wb') as f:
                f.write(random.Random(2).randbytes(24 << 20))
        return self.start(name, ['qemu-system-x86_64', '-machine', 'pc,accel=tcg', '-m', '64', '-display', 'none',
                                 '-nodefaults', '-qmp', f'unix:{self.tmp}/{name},server=on,wait=off', *options])

    def qmp(self, name, command, **arguments):
        """Gives a command, and returns its answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f'{self.tmp}/{name}')
            with s.makefile('rw') as f:
                f.readline()
                for line in {'execute': 'qmp_capabilities'}, {'execute': command, 'arguments': arguments}:
                    f.write(json.dumps(line))
                    f.flush()
                    answer = {}
                    while not answer.keys() & {'return', 'error'}:
                        answer = json.loads(f.readline())
        self.assertNotIn('error', answer, f'{name}: {command}')
        return answer['return']

    def test_migration(self):
        port = self.new_port()
        loader = ['-device', f'loader,file={self.tmp}/random,addr=0x1000000,force-raw=on']
        source = self.qemu('source', *loader)
        target = self.qemu('target', '-incoming', f'rdma:{HOST}:{port}')
        last = time.monotonic() + self.PATIENCE
        while not target.listens_by_cm('tcp', port):
            if target.wait(0.02) is not None or time.monotonic() > last:
                self.give_up('the target does not listen', target)
        self.qmp('source', 'migrate', uri=f'rdma:{HOST}:{port}')
        while True:
            state = self.qmp('source', 'query-migrate')
            if state['status'] in ('completed', 'failed', 'cancelled') or time.monotonic() > last:
                break
            time.sleep(0.1)
        if state['status'] != 'completed':
            self.give_up(f'the migration is not complete: {state}', source, target)
        self.qmp('target', 'stop')
        for name in 'source', 'target':
            self.qmp(name, 'pmemsave', val=0, size=self.MEMORY, filename=f'{self.tmp}/{name}.memory')
        with open(f'{self.tmp}/source.memory', 'rb') as f:
            memory = f.read()
        with open(f'{self.tmp}/random', 'rb') as f:
            self.assertEqual(memory[16 << 20:40 << 20], f.read())
        with open(f'{self.tmp}/target.memory', 'rb') as f:
            self.assertEqual(f.read()[16 << 20:40 << 20], memory[16 << 20:40 << 20])
        self.assertGreater(state['ram']['normal-bytes'], 24 << 20)


if __name__ == '__main__':
    main()
