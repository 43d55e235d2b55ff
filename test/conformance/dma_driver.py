# SPDX-License-Identifier: BSD-3-Clause
"""The dmadev driver under test, and programs of DPDK that load it. Its path is the second argument of the test.

The DPDK must be the one with which the driver was linked. If this is not the distribution's DPDK, PATH must lead to its
programs, LD_LIBRARY_PATH to its libraries, and PKG_CONFIG_PATH to libdpdk.pc: usertools/dpdk.sh sets them.
"""
import os
import re
import sys

from launched import Case

DRIVER = sys.argv.pop(1)
with open(DRIVER, 'rb') as driver:
    DRIVER_BYTES = driver.read()
ABI = int(re.search(rb'librte_eal\.so\.(\d+)', DRIVER_BYTES)[1])
# EAL refuses a path that every user may write to, so the driver is loaded by its file name alone.
LOAD = ['--no-pci', '--no-telemetry', '-d', os.path.basename(DRIVER)]
SMALL_PAGES = ['--no-huge', '--no-shconf', '-m', '256']


def folders(*paths):
    """Returns LD_LIBRARY_PATH, with the folders of the libraries `paths` added."""
    own = [os.path.dirname(os.path.abspath(path)) for path in (DRIVER, *paths)]
    return ':'.join(own + list(filter(None, [os.environ.get('LD_LIBRARY_PATH')])))


class DmaCase(Case):
    FOLDERS = folders()

    def run_dpdk(self, *argv, **settings):
        return self.run_on(*argv, LD_LIBRARY_PATH=self.FOLDERS, **settings)
