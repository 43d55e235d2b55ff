# SPDX-License-Identifier: BSD-3-Clause
"""Reads structs, enums and #defines from the text of a C header, without a compiler.

Layouts are dictionaries from a field's path ("qpc.mtu") to (offset, width) in bits; the path "" is the
whole struct. In structs named *_bits, of the kernel's interface to the firmware, each array element is a bit.
"""
import ast
import re

WIDTHS = {'8': 8, '16': 16, '32': 32, '64': 64}
# Types of system headers that these headers use: width and alignment in bits.
TYPES = {'char': (8, 8), 'int': (32, 32), 'unsigned': (32, 32), 'ibv_tmh': (128, 64), 'ib_grh': (320, 32)}
SIZES = {'ETHERNET_LL_SIZE': 6, 'ETH_ALEN': 6, 'CHAR_BIT': 8}
SCALAR = re.compile(r'^(?:__)?(?:rte_)?(?:be|u|uint|int|s)_?(8|16|32|64)(?:_t)?$')
PACKED = re.compile(r'__rte_packed_begin|__rte_packed_end|__rte_packed|__attribute__\s*\(\(packed\)\)|__packed')
NOISE = re.compile(PACKED.pattern + r'|__counted_by\s*\(\w+\)|__attribute__\s*\(\(.*?\)\)|__rte_aligned\(\w+\)'
                   r'|\b(?:const|volatile)\b')


class Unreadable(Exception):
    """The text has a construct that this reader does not support."""


def strip(text):
    """Removes comments. Of each #if, keeps one branch: the first branch that is not for cache lines of
    128 bytes. Returns the text without directives, and the #defines."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S).replace('\\\n', ' ')
    kept, defines, branches = [], [], []
    for line in text.split('\n'):
        word = re.match(r'\s*#\s*(\w+)\s*(.*)', line)
        if word is None:
            if all(branches):
                kept.append(line)
            continue
        if word[1] in ('if', 'ifdef', 'ifndef'):
            branches.append('128' not in word[2])
        elif word[1] in ('else', 'elif') and branches:
            branches[-1] = not branches[-1] and '128' not in word[2]
        elif word[1] == 'endif' and branches:
            branches.pop()
        elif word[1] == 'define' and all(branches):
            name = re.match(r'(\w+)\s+(\S.*)', word[2])
            if name is not None:
                defines.append((name[1], name[2]))
    return '\n'.join(kept), defines


def evaluate(text, known):
    """Returns the value of a constant expression; None if the text is no constant expression."""
    text = re.sub(r'\bBIT(?:_ULL|32|64)?\s*\(|\bRTE_BIT(?:32|64)\s*\(|\bBITUL\s*\(', '(1 << (', text)
    text = text + ')' * (text.count('(') - text.count(')'))
    text = re.sub(r'\((?:u?int\d+_t|__u\d+|unsigned int|int)\)', '', text)
    text = re.sub(r'\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b', r'\1', text).strip()
    try:
        return value_of(ast.parse(text, mode='eval').body, known)
    except (SyntaxError, KeyError, ValueError, TypeError):
        return None


OPERATORS = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
             ast.LShift: lambda a, b: a << b if b < 128 else None, ast.BitOr: lambda a, b: a | b,
             ast.RShift: lambda a, b: a >> b, ast.BitAnd: lambda a, b: a & b, ast.Div: lambda a, b: a // b}


def value_of(node, known):
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value_of(node.left, known), value_of(node.right, known))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value_of(node.operand, known)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return ~value_of(node.operand, known)
    raise ValueError


def block(text, start):
    """Returns the index after the brace that closes the brace at start."""
    depth = 0
    for i in range(start, len(text)):
        depth += {'{': 1, '}': -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    raise Unreadable('a brace that is not closed')


def parts(text, separator):
    """Splits at separators that are outside braces and parentheses."""
    depth, at = 0, 0
    for i, c in enumerate(text):
        depth += {'{': 1, '(': 1, '[': 1, '}': -1, ')': -1, ']': -1}.get(c, 0)
        if c == separator and depth == 0:
            yield text[at:i]
            at = i + 1
    yield text[at:]


def tidy(text):
    return NOISE.sub('', text).strip()


class Header:
    """The constants and structs of one or several headers. A header may use names of earlier headers."""

    def __init__(self):
        self.constants, self.bodies, self.layouts = dict(SIZES), {}, {}

    def read(self, text):
        text, defines = strip(text)
        for m in re.finditer(r'\benum\b\s*\w*\s*(\{)', text):
            self.read_enum(text[m.start(1) + 1:block(text, m.start(1)) - 1])
        waiting = defines
        while True:  # repeated, because a #define may use a name that is defined later
            left = [(name, value) for name, value in waiting if not self.define(name, value)]
            if len(left) == len(waiting):
                break
            waiting = left
        text = re.sub(r'struct_group(?:_tagged)?\(\s*\w+\s*,(.*?)\n\s*\)\s*;', r'\1', text, flags=re.S)
        for m in re.finditer(r'\b(struct|union)\s+((?:__\w+(?:\(\w*\))?\s+)*)(\w+)\s*(\{)', text):
            end = block(text, m.start(4))
            tail = text[end:end + 60].split(';')[0]
            packed = PACKED.search(m[2] + tail) is not None or '__rte_packed' in tail
            self.bodies.setdefault(m[3], (m[1], text[m.start(4) + 1:end - 1], packed))

    def define(self, name, text):
        value = evaluate(text, self.constants)
        if value is not None:
            self.constants.setdefault(name, value)
        return value is not None

    def read_enum(self, body):
        value = -1
        for item in parts(body, ','):
            name, _, text = item.strip().partition('=')
            if not re.fullmatch(r'\w+', name.strip()):
                continue
            value = evaluate(text, self.constants) if text else None if value is None else value + 1
            if value is not None:
                self.constants.setdefault(name.strip(), value)

    def layout(self, name):
        """Returns the fields of a struct, or None if there is no such struct."""
        if name not in self.layouts:
            if name not in self.bodies:
                return None
            kind, body, packed = self.bodies[name]
            self.layouts[name] = None  # ends the recursion if a struct contains itself
            self.layouts[name] = self.lay_out(kind, body, packed, re.fullmatch(r'(mlx5_ifc|uct_ib_mlx5)_\w+_bits', name))[0]
        return self.layouts[name]

    def lay_out(self, kind, body, packed, bits):
        """Returns the fields of a struct with this body, and its alignment in bits."""
        fields, at, most, align, unit_end = {}, 0, 0, 1 if bits else 8, None
        for member in parts(body, ';'):
            name, sub, width, its_align, is_bitfield = self.member(member.strip(), bits)
            if name is None:
                continue
            if not packed and not bits and not is_bitfield:
                at = -(-at // its_align) * its_align
                align = max(align, its_align)
            if unit_end is not None and not is_bitfield:
                at = -(-at // 8) * 8
            unit_end = at if is_bitfield else None
            start = 0 if kind == 'union' else at
            if name:
                fields[name] = (start, width)
            for path, (offset, its_width) in sub.items():
                if path:
                    fields[f'{name}.{path}' if name else path] = (start + offset, its_width)
            at = start + width
            most = max(most, at)
        most = -(-most // align) * align
        fields[''] = (0, most)
        return fields, align

    def member(self, text, bits):
        """Returns a member's name ('' if it has none), its inner fields, width, alignment, and whether it is a bit-field."""
        before, brace, rest = text.partition('{')
        inside, _, after = rest.rpartition('}')
        packed = PACKED.search(before + after) is not None
        text = tidy(before) + (brace + inside + '}' + tidy(after) if brace else '')
        flexible = re.fullmatch(r'DECLARE_FLEX_ARRAY\s*\(\s*\w+\s*,\s*(\w+)\s*\)', text)
        if flexible:
            return flexible[1], {}, 0, 8, False
        m = re.match(r'(struct|union)\s*(\w*)\s*(\{)', text)
        if m:
            end = block(text, m.start(3))
            sub, align = self.lay_out(m[1], text[m.start(3) + 1:end - 1], packed, bits)
            return self.array(text[end:].strip(), sub, sub[''][1], align)
        m = re.fullmatch(r'(?:(?:struct|union|enum)\s+)?(\w+)\s+(.*)', text, flags=re.S)
        if not m:
            return None, {}, 0, 8, False
        if m[2].startswith('*'):
            return self.array(m[2].lstrip('* '), {}, 64, 64)
        if m[1] in ('u8', 'uint8_t', '__u8') and bits:
            return self.array(m[2], {}, 1, 1)
        scalar = SCALAR.match(m[1])
        if scalar:
            width = WIDTHS[scalar[1]]
            field = re.fullmatch(r'(\w*)\s*:\s*(\d+)', m[2])
            if field:
                return field[1], {}, int(field[2]), width, True
            return self.array(m[2], {}, width, width)
        if m[1] in TYPES:
            return self.array(m[2], {}, *TYPES[m[1]])
        sub = self.layout(m[1])
        if sub is None:
            raise Unreadable(f'type {m[1]}')
        return self.array(m[2], sub, sub[''][1], 8 if bits else self.alignment(m[1]))

    def alignment(self, name):
        kind, body, packed = self.bodies[name]
        return self.lay_out(kind, body, packed, False)[1] if not packed else 8

    def array(self, text, sub, width, align):
        m = re.fullmatch(r'(\w*)\s*((?:\[[^]]*\]\s*)*)', text)
        if not m:
            raise Unreadable(text)
        for size in re.findall(r'\[([^]]*)\]', m[2]):
            n = evaluate(size, self.constants) if size.strip() else 0
            if n is None:
                raise Unreadable(f'size {size}')
            width *= n
        return m[1], sub, width, align, False
