#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings SystemVerilog comments into 100 columns: fills paragraphs, puts a comment that is too long behind
its code above it. Code is left alone.

  reflow.py FILE...
"""

import pathlib
import re
import sys
import textwrap

WIDTH = 100
# A line of running text; indented or bulleted comment lines are tables, lists, drawings.
TEXT = re.compile(r"^(\s*)// (?![\s|+*-]|\d+\.|SPDX|verilator)(.*)$")
TRAILING = re.compile(r"^((\s*)\S.*?)\s*//\s*(.*)$")


def fill(indent, text):
    return [
        f"{indent}// {line}"
        for line in textwrap.wrap(
            text, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False
        )
    ]


def paragraphs(block):
    """A line that ends a sentence although the next word would have fitted ends a paragraph."""
    width = max(len(m.group(0)) for m in block)
    words = []
    for here, after in zip(block, block[1:] + [None]):
        words.append(here.group(2).strip())
        if after is None:
            continue
        room = len(here.group(0)) + 1 + len(after.group(2).split(" ")[0])
        if words[-1].endswith((".", ":")) and room <= width:
            yield " ".join(words)
            words = []
    yield " ".join(words)


def reflow(lines):
    out, i = [], 0
    while i < len(lines):
        line = lines[i]
        match = TEXT.match(line)
        if match:
            block = []
            while i < len(lines):
                again = TEXT.match(lines[i])
                if not again or again.group(1) != match.group(1):
                    break
                block.append(again)
                i += 1
            if any(len(m.group(0)) > WIDTH for m in block):
                for paragraph in paragraphs(block):
                    out += fill(match.group(1), paragraph)
            else:
                out += [m.group(0) for m in block]
            continue
        i += 1
        ruler = re.match(r"^(\s*// )-{5,}( .+)$", line)
        if ruler and len(line) > WIDTH:
            head, title = ruler.groups()
            line = head + "-" * (WIDTH - len(head) - len(title)) + title
        trailing = TRAILING.match(line) if len(line) > WIDTH else None
        if trailing and '"' not in line and len(trailing.group(1).rstrip()) <= WIDTH:
            out += fill(trailing.group(2), trailing.group(3))
            out.append(trailing.group(1).rstrip())
        else:
            out.append(line)
    return out


def main():
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        before = path.read_text()
        after = "\n".join(reflow(before.split("\n")))
        if after != before:
            path.write_text(after)
            print(f"reflowed: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
