#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the memory maps of an IP-XACT component (IEEE 1685-2014) and prints every field of every register.

    read_ipxact.py FILE     lines: a field (xml_rules.Field.text), "memory BLOCK BASE SIZE ACCESS",
                            "volatile BLOCK REGISTER FIELD"

Written from the standard, to check exports by: the order of elements, what must be there, expressions of
SystemVerilog as numbers, and what is inherited. Vendor extensions are passed over. Status 1 with the rule
that is broken.
"""

import re
import sys
from itertools import product

from xml_rules import (ACCESS, MODIFIED_WRITE, Field, RuleError, check_fields, check_order, one_of,
                       print_map, text_of, unique)

NS = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"
NAMES = "one:name opt:displayName opt:description"
COMPONENT = ("one:vendor one:library one:name one:version opt:busInterfaces opt:indirectInterfaces opt:channels "
             "opt:remapStates opt:addressSpaces opt:memoryMaps opt:model opt:componentGenerators opt:choices "
             "opt:fileSets opt:whiteboxElements opt:cpus opt:otherClockDrivers opt:resetTypes opt:description "
             "opt:parameters opt:assertions opt:vendorExtensions")
MEMORY_MAP = (NAMES + " opt:isPresent any:addressBlock|bank|subspaceMap any:memoryRemap opt:addressUnitBits "
              "opt:shared opt:vendorExtensions")
ADDRESS_BLOCK = (NAMES + " opt:accessHandles opt:isPresent one:baseAddress opt:typeIdentifier one:range one:width "
                 "opt:usage opt:volatile opt:access opt:parameters any:register|registerFile opt:vendorExtensions")
REGISTER_FILE = (NAMES + " opt:accessHandles opt:isPresent any:dim one:addressOffset opt:typeIdentifier one:range "
                 "some:register|registerFile opt:parameters opt:vendorExtensions")
REGISTER = (NAMES + " opt:accessHandles opt:isPresent any:dim one:addressOffset opt:typeIdentifier one:size "
            "opt:volatile opt:access some:field opt:alternateRegisters opt:parameters opt:vendorExtensions")
MEMORY_REGISTER = REGISTER.replace("some:field", "any:field")  # the schema allows none
FIELD = (NAMES + " opt:accessHandles opt:isPresent one:bitOffset opt:resets opt:typeIdentifier one:bitWidth "
         "opt:volatile opt:access opt:enumeratedValues opt:modifiedWriteValue opt:writeValueConstraint "
         "opt:readAction opt:testable opt:reserved opt:parameters opt:vendorExtensions")
NUMBER = r"(\d+|\d*'[sS]?[hHdDoObB][0-9a-fA-F_]+)"
NAME = r"[A-Za-z_:][\w:.-]*"


def number(node, name, where):
    """A constant expression of SystemVerilog; no prefix 0x, which the standard of 2009 had."""
    text = text_of(node, NS + name, where, NUMBER)
    if text is None:
        return None
    size, _, digits = text.rpartition("'")
    if not _:
        return int(text)
    digits = digits.lstrip("sS")
    value = int(digits[1:], {"h": 16, "d": 10, "o": 8, "b": 2}[digits[0].lower()])
    if size and value >> int(size):
        raise RuleError(f"{where}: <{name}> {text} does not fit its size")
    return value


def flag(node, name, where):
    return one_of(node, NS + name, where, ("true", "false", "1", "0")) in ("true", "1")


def name_of(node, where):
    return text_of(node, NS + "name", where, NAME)


def dims_of(node, where):
    dims = []
    for dim in node.findall(NS + "dim"):
        if not re.fullmatch(NUMBER, (dim.text or "").strip()) or int(dim.text) < 1:
            raise RuleError(f"{where}: <dim> is '{dim.text}'")
        dims.append(int(dim.text))
    return dims


class Reader:
    def __init__(self):
        self.fields = []
        self.others = []  # lines

    def component(self, root):
        if root.tag != NS + "component":
            raise RuleError(f"the root is {root.tag}, not a component of 1685-2014")
        check_order(root, COMPONENT, "component", NS)
        maps = root.findall(f"{NS}memoryMaps/{NS}memoryMap")
        unique([name_of(m, "memoryMap") for m in maps], "memoryMaps")
        for m in maps:
            self.memory_map(m)
        check_fields(self.fields)

    def memory_map(self, node):
        block = name_of(node, "memoryMap")
        check_order(node, MEMORY_MAP, block, NS)
        if (number(node, "addressUnitBits", block) or 8) != 8:
            raise RuleError(f"{block}: addresses are not bytes")
        ranges = []
        blocks = node.findall(NS + "addressBlock")
        unique([name_of(b, block) for b in blocks], block)
        for b in blocks:
            ranges.append(self.address_block(b, block))
        ranges.sort()
        for (low, end, name), (start, _, other) in zip(ranges, ranges[1:]):
            if start < end:
                raise RuleError(f"{block}: address blocks {name} and {other} overlap")

    def address_block(self, node, block):
        where = f"{block}/{name_of(node, block)}"
        check_order(node, ADDRESS_BLOCK, where, NS)
        base, size = number(node, "baseAddress", where), number(node, "range", where)
        width = number(node, "width", where)
        usage = one_of(node, NS + "usage", where, ("memory", "register", "reserved"))
        access = one_of(node, NS + "access", where, ACCESS) or "read-write"
        if usage == "memory" and node.find(NS + "registerFile") is not None:
            raise RuleError(f"{where}: register files in a block of usage memory")
        if usage == "memory":
            self.others.append(f"memory {block} 0x{base:x} 0x{size:x} {access}")
        self.registers(node, where, (block, "", base, access, width, usage == "memory"), size)
        return base, base + size, name_of(node, block)

    def registers(self, node, where, context, room):
        block, prefix, base, access, width, memory = context
        inner = [c for c in node if c.tag in (NS + "register", NS + "registerFile")]
        unique([name_of(c, where) for c in inner], where)
        for c in inner:
            path = f"{where}.{name_of(c, where)}"
            if c.tag == NS + "register":
                end = self.register(c, path, (block, prefix, base, access, width, memory))
            else:
                end = self.register_file(c, path, (block, prefix, base, access, width, memory))
            if end > room:
                raise RuleError(f"{path}: ends at 0x{end:x}, behind the range 0x{room:x}")

    def register_file(self, node, where, context):
        block, prefix, base, access, width, memory = context
        check_order(node, REGISTER_FILE, where, NS)
        offset, size = number(node, "addressOffset", where), number(node, "range", where)
        dims = dims_of(node, where)
        elements = list(product(*(range(d) for d in dims)))
        for i, index in enumerate(elements):
            path = prefix + name_of(node, where) + "".join(f"[{n}]" for n in index) + "."
            self.registers(node, where, (block, path, base + offset + i * size, access, width, memory), size)
        return offset + len(elements) * size

    def register(self, node, where, context):
        block, prefix, base, access, width, memory = context
        check_order(node, MEMORY_REGISTER if memory else REGISTER, where, NS)
        offset, size = number(node, "addressOffset", where), number(node, "size", where)
        if size > width:
            raise RuleError(f"{where}: {size} bits in an address block of {width}")
        access = one_of(node, NS + "access", where, ACCESS) or access
        elements = list(product(*(range(d) for d in dims_of(node, where))))
        fields = node.findall(NS + "field")
        unique([name_of(f, where) for f in fields], where)
        for i, index in enumerate(elements):
            path = prefix + name_of(node, where) + "".join(f"[{n}]" for n in index)
            for f in fields:
                self.field(f, f"{where}.{name_of(f, where)}", Field(
                    block, path, base + offset + i * size // 8, size, name_of(f, where), 0, 1, access))
        return offset + len(elements) * size // 8

    def field(self, node, where, out):
        check_order(node, FIELD, where, NS)
        out.lsb, out.width = number(node, "bitOffset", where), number(node, "bitWidth", where)
        if out.width < 1:
            raise RuleError(f"{where}: no bits")
        out.access = one_of(node, NS + "access", where, ACCESS) or out.access
        out.modified_write = one_of(node, NS + "modifiedWriteValue", where, MODIFIED_WRITE) or "-"
        out.read_action = one_of(node, NS + "readAction", where, ("clear", "set", "modify")) or "-"
        out.reset = self.reset(node, where, out.width)
        values = node.find(NS + "enumeratedValues")
        if values is not None:
            check_order(values, "some:enumeratedValue", where, NS)
            for value in values:
                check_order(value, NAMES + " one:value opt:vendorExtensions", where, NS)
                out.enums.append((name_of(value, where), number(value, "value", where)))
            unique([name for name, _ in out.enums], where)
        if flag(node, "volatile", where):
            self.others.append(f"volatile {out.block} {out.register} {out.name}")
        if not flag(node, "reserved", where):
            self.fields.append(out)

    @staticmethod
    def reset(node, where, width):
        resets = node.find(NS + "resets")
        if resets is None:
            return "-"
        check_order(resets, "some:reset", where, NS)
        for reset in resets:
            if "resetTypeRef" in reset.attrib:  # another reset than the hard one
                continue
            check_order(reset, "one:value opt:mask", where, NS)
            value, mask = number(reset, "value", where), number(reset, "mask", where)
            if value >> width or mask not in (None, (1 << width) - 1):
                raise RuleError(f"{where}: a reset value or mask that is not of the whole field")
            return f"0x{value:x}"
        return "-"


def main():
    reader = Reader()
    return print_map(sys.argv[1], reader.component, reader)


if __name__ == "__main__":
    sys.exit(main())
