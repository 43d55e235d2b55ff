#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads what an object file says about its driver, and writes it as the C string that dpdk-pmdinfo.py finds in a library.

The object has symbols that macros of DPDK make: this_pmd_name* (RTE_PMD_EXPORT_NAME), __NAME_param_string_export
(RTE_PMD_REGISTER_PARAM_STRING) and __NAME_kmod_dep_export (RTE_PMD_REGISTER_KMOD_DEP). The string's form is that
of DPDK's buildtools/pmdinfogen.py.

usage: pmdinfo.py OBJECT OUTPUT.c
"""
import json
import sys

from elftools.elf.elffile import ELFFile


def main():
    with open(sys.argv[1], 'rb') as f:
        elf = ELFFile(f)
        symbols = {symbol.name: symbol for symbol in elf.get_section_by_name('.symtab').iter_symbols()}

        def text(symbol):
            data = elf.get_section(symbol['st_shndx']).data()[symbol['st_value']:]
            return data[:data.index(0)].decode()

        names = [text(symbol) for name, symbol in symbols.items() if name.startswith('this_pmd_name')]
        if len(names) != 1:
            sys.exit(f'{sys.argv[1]}: {len(names)} drivers; it must have one')
        info = {'name': names[0]}
        for key, suffix in (('params', 'param_string_export'), ('kmod', 'kmod_dep_export')):
            symbol = symbols.get(f'__{names[0]}_{suffix}')
            if symbol is not None:
                info[key] = text(symbol)
        info['pci_ids'] = []
    quoted = json.dumps('PMD_INFO_STRING= ' + json.dumps(info))
    with open(sys.argv[2], 'w', encoding='ascii') as f:
        f.write(f'static const char pmd_info[] __attribute__((used)) = {quoted};\n')


if __name__ == '__main__':
    main()
