#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of a C++ table of every register field of a block, from the generated C header alone:

  every_field.py HEADER BLOCK      {"ALL_PLAIN_RW_MODE", "rw", 32, ALL_PLAIN_RW, ALL_PLAIN_RW, ALL_PLAIN_RW_MODE_MASK},

Name, access, width of the register, offset of its first and of its last element, mask; all but the first two
are the header's own macros, so that the compiler evaluates them.
"""

import re
import sys


def main():
    header, block = sys.argv[1:]
    register = None
    counts = {}
    with open(header, encoding="utf-8") as f:
        lines = f.read().splitlines()
    for line in lines:
        m = re.match(rf"#define ({block}_\w+?_COUNT(?:_[A-Z])?) \d+u$", line)
        if m:
            counts[m.group(1)] = True
    for line in lines:
        m = re.match(rf"#define ({block}_\w+)(\([a-z, ]+\))? (0x[0-9a-f]+u$|\(0x)", line)
        if m and not re.search(r"_(RESET_VALUE|RMW_MASK|RMW_ONES|SIZE|STRIDE)$", m.group(1)):
            register, arguments = m.group(1), m.group(2)
            first = last = register
            if arguments:
                names = [a.strip() for a in arguments.strip("()").split(",")]
                of = ([f"{register}_COUNT"] if len(names) == 1
                      else [f"{register}_COUNT_{a.upper()}" for a in names])
                assert all(c in counts for c in of), (register, of)
                first = f"{register}({', '.join('0' for _ in names)})"
                last = f"{register}({', '.join(c + ' - 1' for c in of)})"
        m = re.match(rf"#define ({block}_\w+)_MASK \w+_GENMASK(_ULL)?\(.*\) /\* (\w+):", line)
        if m:
            assert register and m.group(1).startswith(register + "_"), line
            print(f'{{"{m.group(1)}", "{m.group(3)}", {64 if m.group(2) else 32}, {first}, {last}, '
                  f'{m.group(1)}_MASK}},')


if __name__ == "__main__":
    main()
