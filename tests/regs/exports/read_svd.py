#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a CMSIS-SVD 1.3 file and prints every field of every register.

    read_svd.py FILE     lines: a field (xml_rules.Field.text), "memory BLOCK BASE SIZE"

Written from the schema and its rules, to check exports by: order of elements, what must be there, forms of
names and numbers, what is inherited (registerPropertiesGroup), dim, derivedFrom, alternate descriptions.
Vendor extensions are passed over. Status 1 with the rule that is broken.
"""

import copy
import re
import sys
from dataclasses import dataclass

from xml_rules import (ACCESS, MODIFIED_WRITE, Field, RuleError, check_fields, check_order, one_of,
                       print_map, text_of, unique)

PROPERTIES = "opt:size opt:access opt:protection opt:resetValue opt:resetMask"
DIM = "one:dim one:dimIncrement opt:dimIndex opt:dimName opt:dimArrayIndex"
DEVICE = ("opt:vendor opt:vendorID one:name opt:series one:version one:description opt:licenseText opt:cpu "
          "opt:headerSystemFilename opt:headerDefinitionsPrefix one:addressUnitBits one:width " + PROPERTIES +
          " one:peripherals opt:vendorExtensions")
PERIPHERAL = ("one:name opt:version opt:description opt:alternatePeripheral opt:groupName opt:prependToName "
              "opt:appendToName opt:headerStructName opt:disableCondition one:baseAddress " + PROPERTIES +
              " any:addressBlock any:interrupt opt:registers")
CLUSTER = ("one:name one:description opt:alternateCluster opt:headerStructName one:addressOffset " + PROPERTIES +
           " some:register|cluster")
REGISTER = ("one:name opt:displayName opt:description opt:alternateGroup opt:alternateRegister one:addressOffset " +
            PROPERTIES + " opt:dataType opt:modifiedWriteValues opt:writeConstraint opt:readAction opt:fields")
FIELD_HEAD = "one:name opt:description "
FIELD_TAIL = " opt:access opt:modifiedWriteValues opt:writeConstraint opt:readAction any:enumeratedValues"
BIT_RANGES = ("one:lsb one:msb", "one:bitOffset opt:bitWidth", "one:bitRange")
NUMBER = r"[+]?(0x|0X|#)?[0-9a-fA-F]+[kmgtKMGT]?"
VALUE = r"[+]?(((0x|0X)[0-9a-fA-F]+)|([0-9]+)|((#|0b)[01xX]+))"
NAME = (r"((%s)|(%s)[_A-Za-z][_A-Za-z0-9]*)|([_A-Za-z][_A-Za-z0-9]*(\[%s\])?)"
        r"|([_A-Za-z][_A-Za-z0-9]*(%s)?[_A-Za-z0-9]*)")


def number_of(text):
    text = text.lstrip("+")
    scale = 1
    if text[-1:].lower() in "kmgt" and not text[-1:].isdigit():
        scale = 1024 ** ("kmgt".index(text[-1].lower()) + 1)
        text = text[:-1]
    if text.lower().startswith("0x"):
        return int(text, 16) * scale
    if text.startswith("#"):
        return int(text[1:], 2) * scale
    return int(text) * scale


def number(node, name, where):
    text = text_of(node, name, where, NUMBER)
    return None if text is None else number_of(text)


def name_of(node, where):
    return text_of(node, "name", where, NAME)


def text_if_given(node, name, where):
    """stringType: at least one character where the element is there."""
    if node.find(name) is not None:
        text_of(node, name, where)


@dataclass(frozen=True)
class Properties:
    """registerPropertiesGroup: what an element does not say, it has from the one around it."""

    size: int = 32
    access: str = "read-write"
    reset: int = 0
    mask: int = 0

    def of(self, node, where):
        def pick(value, inherited):
            return inherited if value is None else value
        return Properties(pick(number(node, "size", where), self.size),
                          one_of(node, "access", where, ACCESS) or self.access,
                          pick(number(node, "resetValue", where), self.reset),
                          pick(number(node, "resetMask", where), self.mask))


@dataclass(frozen=True)
class Dim:
    names: list
    increment: int
    is_array: bool


def dim_of(node, where, name):
    """Names of the elements, and the step between them."""
    if node.find("dim") is None:
        if "%s" in name:
            raise RuleError(f"{where}: %s in a name without dim")
        return Dim([name], 0, False)
    if "%s" not in name:
        raise RuleError(f"{where}: dim without %s in the name")
    count = number(node, "dim", where)
    index = text_of(node, "dimIndex", where)
    if name.endswith("[%s]"):
        if index is not None:
            raise RuleError(f"{where}: dimIndex of an array")
        words = [str(i) for i in range(count)]
    elif index is None:
        words = [str(i) for i in range(count)]
    elif re.fullmatch(r"[0-9]+-[0-9]+", index):
        low, high = (int(n) for n in index.split("-"))
        words = [str(i) for i in range(low, high + 1)]
    else:
        words = [w.strip() for w in index.split(",")]
    if count < 1 or len(words) != count:
        raise RuleError(f"{where}: dim is {count}, but there are {len(words)} indices")
    return Dim([name.replace("%s", w) for w in words], number(node, "dimIncrement", where), name.endswith("[%s]"))


def order(node, sequence, where):
    check_order(node, (DIM + " " if node.find("dim") is not None else "") + sequence, where)


class Reader:
    def __init__(self):
        self.fields = []
        self.others = []  # lines
        self.width = 0

    def device(self, root):
        if root.tag != "device" or root.get("schemaVersion") is None:
            raise RuleError("the root is not a device with a schemaVersion")
        check_order(root, DEVICE, "device")
        text_of(root, "name", "device", r"[_A-Za-z0-9]*")
        text_of(root, "description", "device")
        if number(root, "addressUnitBits", "device") != 8:
            raise RuleError("device: addresses are not bytes")
        self.width = number(root, "width", "device")
        properties = Properties().of(root, "device")
        peripherals = root.find("peripherals")
        check_order(peripherals, "some:peripheral", "peripherals")
        self.peripherals(peripherals, properties)
        check_fields(self.fields)

    def peripherals(self, node, properties):
        known = {}
        ranges = []  # of those that are no alternate description
        for child in node:
            child = self.derive(child, known, "peripherals")
            name = name_of(child, "peripheral")
            known[name] = child
            order(child, PERIPHERAL, name)
            for key in ("version", "description"):
                text_if_given(child, key, name)
            blocks = [self.address_block(b, name) for b in child.findall("addressBlock")]
            if not blocks:
                raise RuleError(f"{name}: no addressBlock")
            base = number(child, "baseAddress", name)
            other = text_of(child, "alternatePeripheral", name)
            if other is not None and other not in known:
                raise RuleError(f"{name}: alternatePeripheral {other} is not described before")
            for low, end in blocks:
                for start, stop, owner in ranges:
                    overlap = base + low < stop and start < base + end
                    if overlap and owner != name and other is None:
                        raise RuleError(f"{name}: its addresses are those of {owner}, without alternatePeripheral")
                    if overlap and owner == name:
                        raise RuleError(f"{name}: its address blocks overlap")
                if other is None:
                    ranges.append((base + low, base + end, name))
            if child.find("registers") is not None:
                self.peripheral(child, name, properties.of(child, name), blocks)
        unique(list(known), "peripherals")

    @staticmethod
    def derive(node, known, where):
        """A copy of what derivedFrom names, with what the element itself gives in its place."""
        source = node.get("derivedFrom")
        if source is None:
            return node
        if source not in known:
            raise RuleError(f"{where}: derivedFrom {source}, which is not known here")
        merged = copy.deepcopy(known[source])
        merged.attrib.pop("derivedFrom", None)
        for child in node:
            old = merged.find(child.tag)
            if old is not None:
                merged[list(merged).index(old)] = child
            else:
                raise RuleError(f"{where}: <{child.tag}> beside derivedFrom is not supported")
        return merged

    def address_block(self, node, where):
        check_order(node, "one:offset one:size one:usage opt:protection", where)
        low, size = number(node, "offset", where), number(node, "size", where)
        if one_of(node, "usage", where, ("registers", "buffer", "reserved")) == "buffer":
            self.others.append(f"memory {where} 0x{low:x} 0x{size:x}")
        return low, low + size

    def peripheral(self, node, name, properties, blocks):
        first = len(self.fields)
        self.registers(node.find("registers"), name, name, "", 0, properties)
        for f in self.fields[first:]:
            if not any(low <= f.address and f.address + f.size // 8 <= end for low, end in blocks):
                raise RuleError(f"{name}.{f.register}: not in one address block")

    def registers(self, node, where, block, prefix, base, properties):
        known, taken = {}, {}
        for child in node:
            if child.tag not in ("register", "cluster"):
                raise RuleError(f"{where}: <{child.tag}> among registers")
        for child in node:
            child = self.derive(child, known, where)
            name = name_of(child, where)
            known[name] = child
            path = f"{where}.{name}"
            dim = dim_of(child, path, name)
            if child.tag == "cluster":
                self.cluster(child, path, dim, (block, prefix, base, properties))
            else:
                self.register(child, path, dim, (block, prefix, base, properties), taken)
        unique(list(known), where)

    def cluster(self, node, where, dim, context):
        block, prefix, base, properties = context
        order(node, CLUSTER, where)
        offset = number(node, "addressOffset", where)
        inner = properties.of(node, where)
        children = copy.copy(node)
        for child in list(children):
            if child.tag not in ("register", "cluster"):
                children.remove(child)
        for i, name in enumerate(dim.names):
            first = len(self.fields)
            start = base + offset + i * dim.increment
            self.registers(children, where, block, f"{prefix}{name}.", start, inner)
            for f in self.fields[first:]:
                if len(dim.names) > 1 and f.address + f.size // 8 > start + dim.increment:
                    raise RuleError(f"{where}: {f.register} is behind its element")

    def register(self, node, where, dim, context, taken):
        block, prefix, base, properties = context
        order(node, REGISTER, where)
        for key in ("displayName", "description"):
            text_if_given(node, key, where)
        properties = properties.of(node, where)
        offset = number(node, "addressOffset", where)
        if properties.size > self.width:
            raise RuleError(f"{where}: {properties.size} bits; registers of this device have at most {self.width}")
        if dim.is_array and dim.increment != properties.size // 8:
            raise RuleError(f"{where}: the elements of an array [%s] follow each other without gaps")
        fields = node.find("fields")
        if fields is not None:
            check_order(fields, "some:field", where)
            unique([name_of(f, where) for f in fields], where)
        other = text_of(node, "alternateRegister", where)
        for i, name in enumerate(dim.names):
            at = base + offset + i * dim.increment
            for byte in range(at, at + properties.size // 8):
                if other != taken.get(byte, other):
                    raise RuleError(f"{where}: its address is that of {taken[byte]}, without alternateRegister")
                taken.setdefault(byte, name_of(node, where))
            for f in fields if fields is not None else ():
                self.field(f, f"{where}.{name_of(f, where)}",
                           Field(block, prefix + name, at, properties.size, name_of(f, where), 0, 1, ""), properties)

    def field(self, node, where, out, properties):
        if node.find("dim") is not None or node.get("derivedFrom") is not None:
            raise RuleError(f"{where}: dim and derivedFrom of fields are not supported")
        style = next((s for s in BIT_RANGES if node.find(s.split()[0].split(":")[1]) is not None), BIT_RANGES[0])
        check_order(node, FIELD_HEAD + style + FIELD_TAIL, where)
        text_if_given(node, "description", where)
        out.lsb, out.width = self.bits(node, where)
        out.access = one_of(node, "access", where, ACCESS) or properties.access
        out.modified_write = one_of(node, "modifiedWriteValues", where, MODIFIED_WRITE) or "-"
        out.read_action = one_of(node, "readAction", where, ("clear", "set", "modify", "modifyExternal")) or "-"
        mask = ((1 << out.width) - 1) << out.lsb
        if properties.mask & mask == mask:
            out.reset = f"0x{(properties.reset & mask) >> out.lsb:x}"
        elif properties.mask & mask:
            raise RuleError(f"{where}: resetMask has a part of the field")
        self.enums(node, where, out)
        self.fields.append(out)

    @staticmethod
    def bits(node, where):
        if node.find("bitRange") is not None:
            text = text_of(node, "bitRange", where, r"\[([0-4])?[0-9]:([0-4])?[0-9]\]")
            high, low = (int(n) for n in text.strip("[]").split(":"))
        elif node.find("bitOffset") is not None:
            low = number(node, "bitOffset", where)
            high = low + (number(node, "bitWidth", where) or 1) - 1
        else:
            low, high = number(node, "lsb", where), number(node, "msb", where)
        if high < low:
            raise RuleError(f"{where}: bits {high}:{low}")
        return low, high - low + 1

    @staticmethod
    def enums(node, where, out):
        groups = node.findall("enumeratedValues")
        if len(groups) > 2:
            raise RuleError(f"{where}: more than two enumeratedValues")
        for group in groups:
            check_order(group, "opt:name opt:headerEnumName opt:usage some:enumeratedValue", where)
            for value in group.findall("enumeratedValue"):
                check_order(value, "one:name opt:description one:value|isDefault", where)
                text_if_given(value, "description", where)
                text = text_of(value, "value", where, VALUE)
                if text is not None:
                    out.enums.append((text_of(value, "name", where, r"[_A-Za-z0-9]*"), number_of(text)))
        unique([name for name, _ in out.enums], where)


def main():
    reader = Reader()
    return print_map(sys.argv[1], reader.device, reader)


if __name__ == "__main__":
    sys.exit(main())
