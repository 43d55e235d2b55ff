# SPDX-License-Identifier: BSD-3-Clause
"""This project's layouts of the same fields: softhca's enums of offsets and tables of capabilities, and the structs
and assertions of lib/hwq. pairs.txt lists the files, and the names of the fields in other projects."""
import os
import re

import ctext

# Headers whose constants the files of a folder use.
BASES = {'drivers/softhca/devx/': ['drivers/softhca/devx/devx.h', 'drivers/softhca/devx/devx_qpc.h'],
         'drivers/softhca/key/': ['drivers/softhca/base/wire.h'], 'lib/hwq/wire/': ['lib/hwq/wire/hwq_wire.h']}


class Mistake(Exception):
    """pairs.txt does not match the project's files."""


class Item:
    """One fact of this project: a number, or a place (offset, width). The width is None if the code does not say it."""

    def __init__(self, group, name, value, structs, fields):
        self.group, self.name, self.value, self.structs, self.fields = group, name, value, structs, fields


def ifc(struct):
    return [f'mlx5_ifc_{s}_bits' for s in struct.split('|')]


class Ours:
    def __init__(self, top):
        self.top, self.texts, self.headers = top, {}, {}
        self.bit_uses, self.byte_uses = {}, {}
        for folder, _, files in os.walk(os.path.join(top, 'drivers/softhca')):
            for name in files:
                if name.endswith(('.c', '.h')):
                    self.note_uses(self.text(os.path.relpath(os.path.join(folder, name), top)))

    def text(self, path):
        if path not in self.texts:
            try:
                with open(os.path.join(self.top, path), encoding='utf-8') as f:
                    self.texts[path] = f.read()
            except OSError as e:
                raise Mistake(f'{path}: {e.strerror}: correct usertools/layouts/pairs.txt') from e
        return self.texts[path]

    def header(self, path):
        if path not in self.headers:
            header = self.headers[path] = ctext.Header()
            bases = next((b for folder, b in BASES.items() if path.startswith(folder)), [])
            for base in [b for b in bases if b != path] + [path]:
                header.read(self.text(base))
        return self.headers[path]

    def note_uses(self, text):
        """Notes the widths with which the code accesses fields of firmware structures and of segments."""
        for m in re.finditer(r'\bbits_(?:get|set)\(\s*[^,;]+?,\s*([^,;]+?),\s*(\d+)\b', text):
            self.bit_uses.setdefault(re.findall(r'\w+', m[1])[-1], set()).add(int(m[2]))
        for m in re.finditer(r'\bbits_get64\(\s*[^,;]+?,\s*([^,;)]+)', text):
            self.bit_uses.setdefault(re.findall(r'\w+', m[1])[-1], set()).add(64)
        for m in re.finditer(r'_be(16|32|64)\(\s*[\w>.()\[\]-]+\s*\+\s*([A-Z]\w+)\s*[,)]', text):
            self.byte_uses.setdefault(m[2], set()).add(int(m[1]))
        for m in re.finditer(r'\w\[([A-Z]\w+)\]', text):
            self.byte_uses.setdefault(m[1], set()).add(8)

    def width(self, path, name, uses):
        """Returns the width of a field, from the comment beside its name or from its uses; None if unknown or ambiguous."""
        said = re.search(rf'^[^\n/]*\b{name}\b\s*[=,][^\n]*?/\*[^*]*?\b(\d+) bits?\b', self.text(path), flags=re.M)
        used = uses.get(name, set())
        if said is not None:
            return int(said[1])
        return next(iter(used)) if len(used) == 1 else None

    def names(self, path, prefix):
        text, defines = ctext.strip(self.text(path))
        text += ' '.join(name for name, _ in defines)
        known = self.header(path).constants
        return [n for n in dict.fromkeys(re.findall(r'\b[A-Z][A-Z0-9_]+\b', text))
                if n.startswith(prefix) and n in known]

    def section(self, head, lines):
        """Returns the items of one section of pairs.txt."""
        kind, path, *rest = head.split()
        return getattr(self, 'read_' + kind)(path, rest, {line.split()[0]: line.split()[1:] for line in lines})

    def places(self, path, prefix, said, structs, base, unit, uses):
        known = self.header(path).constants
        for name in said:
            if name not in known:
                raise Mistake(f'{path} has no {name}: correct usertools/layouts/pairs.txt')
        for name in dict.fromkeys(self.names(path, prefix) + list(said)):
            field, *width = said.get(name, [name[len(prefix):].lower()])
            if field == '-':
                continue
            width = int(width[0]) if width else self.width(path, name, uses)
            if field == 'SIZE':
                yield Item(path, name, (0, (known[name] - base) * unit), structs, [''])
            else:
                yield Item(path, name, ((known[name] - base) * unit, width), structs, field.split('|'))

    def read_bits(self, path, rest, said):
        """bits FILE PREFIX STRUCT [BASE]: offsets in bits, of a struct of the firmware's interface."""
        base = self.header(path).constants[rest[2]] if len(rest) > 2 else 0
        return self.places(path, rest[0], said, ifc(rest[1]), base, 1, self.bit_uses)

    def read_bytes(self, path, rest, said):
        """bytes FILE PREFIX STRUCT [BASE]: offsets in bytes, of a C struct."""
        base = self.header(path).constants[rest[2]] if len(rest) > 2 else 0
        return self.places(path, rest[0], said, rest[1].split('|'), base, 8, self.byte_uses)

    def read_values(self, path, rest, said):
        """values FILE PREFIX THEIRS: numbers, whose names begin with THEIRS elsewhere."""
        known = self.header(path).constants
        for name in dict.fromkeys(self.names(path, rest[0]) + list(said)):
            if name not in known:
                raise Mistake(f'{path} has no {name}: correct usertools/layouts/pairs.txt')
            theirs, *scale = said.get(name, ['|'.join(p + name[len(rest[0]):] for p in rest[1].split('|'))])
            if theirs != '-':
                yield Item(path, name, known[name] << int(scale[0]) if scale else known[name], None,
                           theirs.split('|'))

    def read_table(self, path, rest, said):
        """table FILE FUNCTION STRUCT: rows {bit, width, value} in a function. Each row needs a name."""
        body = re.search(rf'\b{rest[0]}\([^)]*\)\n\{{(.*?)\n\}}', ctext.strip(self.text(path))[0], flags=re.S)
        if body is None:
            raise Mistake(f'{path} has no function {rest[0]}(): correct usertools/layouts/pairs.txt')
        rows = re.findall(r'\{\s*(0x[0-9a-f]+|\d+)\s*,\s*(\d+)\s*,', body[1])
        for bit, width in rows:
            if bit not in said:
                raise Mistake(f'{path}: {rest[0]}() has a field at {bit}: name it in usertools/layouts/pairs.txt')
            yield Item(path, f'{said[bit][0]}', (int(bit, 0), int(width)), ifc(rest[1]), said[bit][0].split('|'))
        for bit in said:
            if bit not in [row[0] for row in rows]:
                raise Mistake(f'{path}: {rest[0]}() has no field at {bit}: correct usertools/layouts/pairs.txt')

    def read_members(self, path, rest, said):
        """members FILE STRUCT THEIRS: a struct of lib/hwq."""
        layout = self.header(path).layout(rest[0])
        if layout is None:
            raise Mistake(f'{path} has no struct {rest[0]}: correct usertools/layouts/pairs.txt')
        for field, place in layout.items():
            theirs = said.get(field, [field])[0]
            if theirs != '-' and 'reserved' not in field:
                yield Item(path, f'{rest[0]}.{field}' if field else f'{rest[0]}: size', place, rest[1].split('|'),
                           theirs.split('|'))

    def read_asserts(self, path, _rest, said):
        """asserts FILE: what static_assert says of structs of mlx5dv.h."""
        for struct, field, number in re.findall(
                r'static_assert\(offsetof\(struct (\w+), (\w+)\) == (\d+)', self.text(path)):
            if not struct.startswith('hwq_'):
                yield Item(path, f'{struct}.{field}', (int(number) * 8, None),
                           said.get(struct, [struct])[0].split('|'),
                           said.get(f'{struct}.{field}', [field])[0].split('|'))
        for struct, number in re.findall(r'static_assert\(sizeof\(struct (\w+)\) == (\d+)', self.text(path)):
            if not struct.startswith('hwq_'):
                yield Item(path, f'{struct}: size', (0, int(number) * 8), said.get(struct, [struct])[0].split('|'),
                           [''])


def read_pairs(text):
    """Returns (head, lines) of each section."""
    sections = []
    for line in text.split('\n'):
        line = line.split('#')[0].rstrip()
        if line.startswith('\t'):
            sections[-1][1].append(line.strip())
        elif line:
            sections.append((line, []))
    return sections
