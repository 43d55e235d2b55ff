#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests check-layouts.sh on headers that are written here, with invented fields: each construct that it reads, an
agreement, and each kind of disagreement, which it must find. At the end it reads this project's own tables.

usage: test_layouts.py FOLDER     the folder usertools/layouts
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, FOLDER)

import adb  # noqa: E402
import ctext  # noqa: E402
import ours  # noqa: E402

FIRMWARE = '''
#ifndef TEAPOT_H /* the guard */
#define TEAPOT_H
enum { TEAPOT_CUPS = 3, TEAPOT_SPOONS, TEAPOT_LIDS = 1 << TEAPOT_CUPS };
#define TEAPOT_HEAT (TEAPOT_LIDS | 0x10u)
struct mlx5_ifc_leaf_bits {
	u8         green[0x3];   // three bits
	u8         reserved_at_3[0x1d];
	u8         sort[0x40];
};
struct mlx5_ifc_teapot_bits {
	u8 spout[0x8];
	u8 reserved_at_8[0x8];
	u8 handle[0x10];
	struct mlx5_ifc_leaf_bits leaf;
	union {
		struct mlx5_ifc_leaf_bits other;
		u8 raw[2][0x30];
	};
	u8 rest[0x20];
};
#endif
'''

SEGMENTS = '''
struct cup {
	u8 size;
	__be32 colour;
	union {
		struct { __be16 deep; __be16 wide; } inside;
		__be64 all;
	};
	u8 flag:1;
	u8 more:7;
	u8 tail[3];
};
struct __rte_packed_begin saucer { uint8_t edge; uint64_t disc; } __rte_packed_end;
struct spoon {
	struct_group(handle_group,
	__be16 handle;
	);
#if (RTE_CACHE_LINE_SIZE == 128)
	uint8_t padding[64];
#endif
	uint8_t bowl[CUPS];
	struct saucer under[2];
};
'''


def header(text):
    h = ctext.Header()
    h.read(text)
    return h


class Reading(unittest.TestCase):
    def test_firmware_structs_count_bits(self):
        teapot = header(FIRMWARE).layout('mlx5_ifc_teapot_bits')
        self.assertEqual(teapot['handle'], (0x10, 0x10))
        self.assertEqual(teapot['leaf.green'], (0x20, 3))
        self.assertEqual(teapot['leaf.sort'], (0x40, 0x40))
        self.assertEqual(teapot['other.sort'], (0xa0, 0x40))
        self.assertEqual(teapot['raw'], (0x80, 0x60))
        self.assertEqual(teapot['rest'], (0xe0, 0x20))
        self.assertEqual(teapot[''], (0, 0x100))

    def test_c_structs_are_aligned_unless_packed(self):
        h = header('enum { CUPS = 6 };' + SEGMENTS)
        cup = h.layout('cup')
        self.assertEqual(cup['colour'], (32, 32))
        self.assertEqual(cup['inside.wide'], (80, 16))
        self.assertEqual(cup['all'], (64, 64))
        self.assertEqual(cup['more'], (129, 7))
        self.assertEqual(cup['tail'], (136, 24))
        self.assertEqual(cup[''], (0, 192))
        self.assertEqual(h.layout('saucer'), {'edge': (0, 8), 'disc': (8, 64), '': (0, 72)})
        spoon = h.layout('spoon')
        self.assertEqual(spoon['handle'], (0, 16))
        self.assertEqual(spoon['bowl'], (16, 48))
        self.assertEqual(spoon['under.disc'], (72, 64))
        self.assertEqual(spoon[''], (0, 208))

    def test_constants(self):
        found = header(FIRMWARE + 'enum late { A = BIT(5), B, C = A + 0x10UL, D = sizeof(int), E };').constants
        self.assertEqual((found['TEAPOT_SPOONS'], found['TEAPOT_LIDS'], found['TEAPOT_HEAT']), (4, 8, 0x18))
        self.assertEqual((found['A'], found['B'], found['C']), (32, 33, 48))
        self.assertNotIn('D', found)
        self.assertNotIn('E', found)

    def test_an_unknown_type_is_said(self):
        with self.assertRaisesRegex(ctext.Unreadable, 'type mug'):
            header('struct shelf { struct mug first; };').layout('shelf')

    def test_adb_counts_from_the_lowest_bit(self):
        nodes = adb.read('<NodesDefinition><node name="kettle" descr="" size="0x10.0">'
                         '<field name="lid" descr="" offset="0x0.31" size="0x0.1"/>'
                         '<field name="base" descr="" offset="0x4.0" size="0x0.24"/>'
                         '<field name="water" descr="" offset="0x8.0" size="0x8.0"/></node></NodesDefinition>')
        self.assertEqual(nodes['kettle'], {'lid': (0, 1), 'base': (0x28, 24), 'water': (0x40, 64), '': (0, 128)})


OURS = '''
enum { POT_SPOUT = 0x00, /* 8 bits */ POT_HANDLE = 0x10, POT_GREEN = 0x20 };
enum { N_CUPS = 3 };
static void
table(void)
{
	static const struct row rows[] = {{0x40, 64, 1}};
}
static int brew(const uint8_t *in) { return bits_get(in, POT_HANDLE, 16) + bits_get(in, POT_GREEN, 3); }
'''

PAIRS = '''bits drivers/softhca/pot.c POT_ teapot
	POT_GREEN leaf.green
values drivers/softhca/pot.c N_ TEAPOT_
table drivers/softhca/pot.c table teapot
	0x40 leaf.sort
'''


class Comparing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return path

    def run_it(self, code=OURS, theirs=FIRMWARE, pairs=PAIRS, resolved='', options=()):
        """Compares with two trees: one that is recognized as Linux, and one that is recognized as DPDK and always agrees."""
        self.write('top/drivers/softhca/pot.c', code)
        self.write('linux/include/linux/mlx5/mlx5_ifc.h', theirs)
        self.write('dpdk/drivers/common/mlx5/mlx5_prm.h', FIRMWARE)
        return subprocess.run(
            ['bash', os.path.join(FOLDER, '..', 'check-layouts.sh'), '--top', os.path.join(self.folder.name, 'top'),
             '--pairs', self.write('pairs', pairs), '--resolved', self.write('resolved', resolved), *options,
             os.path.join(self.folder.name, 'linux=4.2'), os.path.join(self.folder.name, 'dpdk=of today')],
            capture_output=True, text=True, timeout=400, check=False)

    def expect(self, status, words, **changes):
        got = self.run_it(**changes)
        self.assertEqual(got.returncode, status, got.stdout + got.stderr)
        for word in words:
            self.assertIn(word, got.stdout + got.stderr)

    def test_agreement(self):
        self.expect(0, ['5 facts', 'Linux (4.2)', 'DPDK (of today)', '5 confirmed by several sources', ' 0 undecided'])

    def test_another_offset_of_ours_disagrees_with_both(self):
        self.expect(1, ['DISAGREED', 'POT_HANDLE 0x18 +16; Linux: 0x10 +16; DPDK: 0x10 +16'],
                    code=OURS.replace('POT_HANDLE = 0x10', 'POT_HANDLE = 0x18'))

    def test_another_width_disagrees(self):
        self.expect(1, ['POT_GREEN 0x20 +4; Linux: 0x20 +3'], code=OURS.replace('POT_GREEN, 3', 'POT_GREEN, 4'))

    def test_another_value_disagrees(self):
        self.expect(1, ['N_CUPS 4; Linux: 3'], code=OURS.replace('N_CUPS = 3', 'N_CUPS = 4'))

    def test_another_row_of_a_table_disagrees(self):
        self.expect(1, ['leaf.sort 0x48 +64; Linux: 0x40 +64'], code=OURS.replace('{0x40', '{0x48'),
                    pairs=PAIRS.replace('0x40 leaf', '0x48 leaf'))

    def test_one_tree_alone_disagrees_until_it_is_resolved(self):
        theirs = FIRMWARE.replace('spout[0x8];\n\tu8 reserved_at_8[0x8]', 'spout[0x9];\n\tu8 reserved_at_9[0x7]')
        self.expect(1, ['DISAGREED: drivers/softhca/pot.c: POT_SPOUT 0x0 +8; Linux: 0x0 +9'], theirs=theirs)
        self.expect(0, ['1 where sources differ, decided'], theirs=theirs, resolved='POT_SPOUT | Linux | 0x0 +9\n')
        self.expect(1, ['1 undecided'], theirs=theirs, resolved='POT_SPOUT | Linux | 0x0 +7\n')

    def test_what_nobody_else_has_is_said(self):
        self.expect(0, ['no source: drivers/softhca/pot.c: POT_KNOB 0xff', '1 in no source'],
                    code=OURS.replace('POT_SPOUT = 0x00,', 'POT_KNOB = 0xff, POT_SPOUT = 0x00,'))

    def test_the_table(self):
        got = self.run_it(options=['--table'])
        self.assertIn('| `POT_HANDLE` | 0x10 +16 | as ours | as ours | 2 agree |', got.stdout)

    def test_a_field_that_pairs_txt_does_not_name(self):
        self.expect(2, ['table() has a field at 0x40: name it'], pairs=PAIRS.replace('\t0x40 leaf.sort\n', ''))
        self.expect(2, ['has no POT_LID: correct'], pairs=PAIRS.replace('POT_GREEN', 'POT_LID'))

    def test_other_directories(self):
        got = subprocess.run(['bash', os.path.join(FOLDER, '..', 'check-layouts.sh'), self.folder.name],
                             capture_output=True, text=True, timeout=400, check=False)
        self.assertEqual(got.returncode, 2)
        self.assertIn('not a source tree that is known', got.stderr)


class Own(unittest.TestCase):
    def test_pairs_txt_fits_the_code(self):
        mine = ours.Ours(os.path.join(FOLDER, '..', '..'))
        with open(os.path.join(FOLDER, 'pairs.txt'), encoding='utf-8') as f:
            items = [i for head, lines in ours.read_pairs(f.read()) for i in mine.section(head, lines)]
        with open(os.path.join(FOLDER, '..', '..', 'doc', 'layouts.md'), encoding='utf-8') as f:
            table = {tuple(row) for row in re.findall(r'^\| `([^`]+)` \| ([^|]*) \|', f.read(), flags=re.M)}
        import compare
        self.assertGreater(len(items), 700)
        for item in items:
            self.assertTrue((item.name, compare.show(item.value)) in table,
                            f'{item.group}: {item.name} {compare.show(item.value)} is not in doc/layouts.md: make that '
                            'file anew, as it says itself')


unittest.main()
