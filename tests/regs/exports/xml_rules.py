# SPDX-License-Identifier: Apache-2.0
"""What the readers of XML exports share: element order, numbers, and one way to print a map.

    check_order(node, "one:name opt:description any:register", "reg")
    sys.exit(print_map(sys.argv[1], reader.device, reader))

A schema that is a sequence is written as words COUNT:NAME in its order; COUNT is one, opt, any or some,
NAME may be a choice a|b that repeats in any order. Everything that breaks a rule raises RuleError.
"""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field


class RuleError(Exception):
    """The file breaks a rule of its standard; says where."""


_LIMITS = {"one": (1, 1), "opt": (0, 1), "any": (0, None), "some": (1, None)}


def load(path):
    try:
        return ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise RuleError(f"not well-formed: {error}") from error


def local(tag):
    return tag.rsplit("}", 1)[-1]


def check_order(node, sequence, where, namespace=""):
    """Children of `node` are those of `sequence`, in its order and as often as it allows."""
    children = list(node)
    at = 0
    for word in sequence.split():
        count, names = word.split(":")
        low, high = _LIMITS[count]
        wanted = {namespace + name for name in names.split("|")}
        seen = 0
        while at < len(children) and children[at].tag in wanted and (high is None or seen < high):
            at += 1
            seen += 1
        if seen < low:
            found = local(children[at].tag) if at < len(children) else "the end"
            raise RuleError(f"{where}: <{names}> expected, found {found}")
    if at < len(children):
        raise RuleError(f"{where}: <{local(children[at].tag)}> is unknown here or out of order")


def text_of(node, name, where, pattern=r"(?s).+"):
    """Text of the child, None without it. Spaces around a value do not count."""
    child = node.find(name)
    if child is None:
        return None
    value = (child.text or "").strip()
    if len(child) or not re.fullmatch(pattern, value):
        raise RuleError(f"{where}: <{local(name)}> is '{value}'")
    return value


def one_of(node, name, where, values):
    value = text_of(node, name, where)
    if value is not None and value not in values:
        raise RuleError(f"{where}: <{local(name)}> is '{value}', not one of {', '.join(values)}")
    return value


ACCESS = ("read-only", "write-only", "read-write", "writeOnce", "read-writeOnce")
MODIFIED_WRITE = ("oneToClear", "oneToSet", "oneToToggle", "zeroToClear", "zeroToSet", "zeroToToggle",
                  "clear", "set", "modify")


@dataclass
class Field:
    """A field of one element of one register, with all that is inherited filled in."""

    block: str
    register: str  # path with indices
    address: int  # in the block
    size: int
    name: str
    lsb: int
    width: int
    access: str
    modified_write: str = "-"
    read_action: str = "-"
    reset: str = "-"
    enums: list = field(default_factory=list)  # (name, value)

    def text(self):
        values = ",".join(f"{name}={value}" for name, value in self.enums) or "-"
        return (f"{self.block} {self.register} 0x{self.address:x} {self.size} {self.name} "
                f"{self.lsb + self.width - 1}:{self.lsb} {self.access} {self.modified_write} "
                f"{self.read_action} {self.reset} {values}")


def check_fields(fields):
    """Rules of both standards that concern a whole register: fields fit and do not overlap."""
    used = {}
    for f in fields:
        where = f"{f.block}.{f.register}.{f.name}"
        if f.lsb + f.width > f.size:
            raise RuleError(f"{where}: does not fit in {f.size} bits")
        taken = used.setdefault((f.block, f.register), {})
        for bit in range(f.lsb, f.lsb + f.width):
            if bit in taken:
                raise RuleError(f"{where}: bit {bit} is also in {taken[bit]}")
            taken[bit] = f.name
        for name, value in f.enums:
            if value >> f.width:
                raise RuleError(f"{where}: {name} = {value} is too wide")


def unique(names, where):
    seen = set()
    for name in names:
        if name in seen:
            raise RuleError(f"{where}: two elements are named {name}")
        seen.add(name)


def print_map(path, read, reader):
    """Prints what `read` puts into reader.fields and reader.others (lines); returns the exit status."""
    try:
        read(load(path))
    except RuleError as error:
        print(f"{path}: {error}")
        return 1
    print("\n".join([f.text() for f in reader.fields] + reader.others))
    return 0
