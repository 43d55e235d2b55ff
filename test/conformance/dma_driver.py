# SPDX-License-Identifier: BSD-3-Clause
"""The dmadev driver under test, and programs of DPDK that load it. Its path is the second argument of the test.

DPDK is the one that the driver was linked with. If it is not the distribution's, PATH must lead to its programs,
LD_LIBRARY_PATH to its libraries, and PKG_CONFIG_PATH to libdpdk.pc: usertools/dpdk.sh does so.
"""
import os
import re
import sys

from launched import Case

DRIVER = sys.argv.pop(1)
with open(DRIVER, 'rb') as driver:
    DRIVER_BYTES = driver.read()
ABI = int(re.search(rb'librte_eal\.so\.(\d+)', DRIVER_BYTES)[1])
# EAL refuses a path that everybody may write to, so the driver is loaded by its name alone.
LOAD = ['--no-pci', '--no-telemetry', '-d', os.path.basename(DRIVER)]
SMALL_PAGES = ['--no-huge', '--no-shconf', '-m', '256']


def folders(*paths):
    """LD_LIBRARY_PATH, with the folders of the libraries `paths` added."""
    own = [os.path.dirname(os.path.abspath(path)) for path in (DRIVER, *paths)]
    return ':'.join(own + list(filter(None, [os.environ.get('LD_LIBRARY_PATH')])))


class DmaCase(Case):
    FOLDERS = folders()

    def run_dpdk(self, *argv, **settings):
        return self.run_on(*argv, LD_LIBRARY_PATH=self.FOLDERS, **settings)
