#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of check_abi.py: the changes that it allows, and the changes that it reports as breaks."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_abi  # pylint: disable=wrong-import-position

OLD = ['function gantry_stop GANTRY_0.1: int (struct gantry *)',
       'function gantry_try EXPERIMENTAL: int (int)',
       'struct gantry_conf 32', '  0 4 uint32_t mask', '  8 8 uint64_t len', '  16 16 uint64_t reserved[2]',
       'enum gantry_op', '  GANTRY_OP_NOP 1', '  GANTRY_OP_COPY 2',
       'macro GANTRY_DESC_FENCE (1u << 0)']


def breaks(change):
    """Returns the findings after some lines have changed: {old line: the lines that replace it}."""
    new = [line for old in OLD for line in change.get(old, [old])]
    return list(check_abi.breaks(OLD, new))


class Growth(unittest.TestCase):
    def test_is_allowed(self):
        last = OLD[-1]
        for change in ({}, {last: [last, 'macro GANTRY_DESC_NEW (1u << 1)']},
                       {OLD[0]: [OLD[0], 'function gantry_more GANTRY_0.2: int (void)']},
                       {OLD[1]: []}, {OLD[1]: ['function gantry_try EXPERIMENTAL: int (long)']},
                       {OLD[5]: ['  16 8 uint64_t more', '  24 8 uint64_t reserved[1]']},
                       {OLD[5]: ['  16 16 uint64_t more[2]']},
                       {OLD[8]: [OLD[8], '  GANTRY_OP_WRITE 3']}):
            self.assertEqual(breaks(change), [], change)

    def test_that_breaks_is_told(self):
        for change in ({OLD[0]: []}, {OLD[0]: ['function gantry_stop GANTRY_0.2: int (struct gantry *)']},
                       {OLD[0]: ['function gantry_stop GANTRY_0.1: void (struct gantry *)']},
                       {OLD[2]: ['struct gantry_conf 40']}, {OLD[2]: ['struct gantry_conf 32 aligned 32']},
                       {OLD[4]: ['  8 8 int64_t len']}, {OLD[4]: ['  8 4 uint32_t len']}, {OLD[4]: []},
                       # A new field in the gap after `mask` is a break, because callers may leave any bytes in gaps.
                       {OLD[3]: [OLD[3], '  4 4 uint32_t more']},
                       {OLD[5]: ['  8 24 uint64_t more[3]']},
                       {OLD[7]: ['  GANTRY_OP_NOP 0']}, {OLD[8]: []},
                       {OLD[7]: ['  GANTRY_OP_FIRST 0', OLD[7]]},
                       {OLD[9]: ['macro GANTRY_DESC_FENCE (1u << 1)']}, {OLD[9]: []}):
            self.assertEqual(len(breaks(change)), 1, change)


if __name__ == '__main__':
    unittest.main()
