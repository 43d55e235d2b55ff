# SPDX-License-Identifier: BSD-3-Clause
"""Reads layouts from the .adb files of mstflint: XML, in which a field has offset="BYTE.BIT", counted from the
lowest bit of a 32-bit word. Returns the form of ctext.py: bits counted from the highest bit of the first byte."""
import re
import xml.etree.ElementTree as xml


def bits(text):
    """Converts an offset, such as "0x4.16", to a number of bits."""
    m = re.fullmatch(r'(0x[0-9a-fA-F]+|\d+)(?:\.(\d+))?', text)
    if m is None:
        raise ValueError(f'not an offset: {text}')
    return int(m[1], 0) * 8 + int(m[2] or 0)


def place(offset, width):
    """Converts a position that is counted from the lowest bit of a word. A field longer than a word starts at a word."""
    if width > 32 or offset % 32 + width > 32:
        return offset
    return offset // 32 * 32 + 32 - offset % 32 - width


def read(text):
    """Returns {name of a node: its layout}."""
    layouts = {}
    for node in xml.fromstring(text).iter('node'):
        fields = {'': (0, bits(node.get('size')))}
        for field in node.iter('field'):
            width = bits(field.get('size'))
            fields[field.get('name')] = (place(bits(field.get('offset')), width), width)
        layouts[node.get('name')] = fields
    return layouts
