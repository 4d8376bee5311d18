#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Maps made at random: every output is written, judged by the tools that read it, and the RTL runs against its reference.

  random_maps.py RNIC_REGS [--maps 4] [--seed 1] [--cycles 30000] [--work DIR]

A map has registers of every access type, hardware side and policy, of 32 and 64 bits, arrays, register files in register
files, locks, parameters, external registers, windows, interrupt groups, counters, and descriptors with unions. For each:
lint without a complaint; the layout of fmt is the same map; SystemRDL read again is the same map; the readers of IP-XACT and
SVD take the exports; headers compile with warnings as errors, Python loads the module, Verilator lints and Yosys reads
the register file and its structs; the bench finds no difference. A failure prints the seed of its map, which repeats it alone.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STORED = ["rw", "w1c", "w1s", "w1t", "w0c", "w0s", "w0t", "wc", "ws", "rc", "rs", "wrc", "wrs", "rw_once", "ro"]
NEEDS_SOURCE = {"w1c", "w0c", "wc", "rc"}
NO_READ = {"wo"}
COUNTS = ["ro", "rw", "rc", "wrc", "w1c", "w0c", "wc"]


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.n = 0

    def chance(self, p):
        return self.rng.random() < p

    def name(self, stem):
        self.n += 1
        return f"{stem}{self.n}"

    def field(self, lsb, width, buffered=True):
        r = self.rng
        f = {"name": self.name("f"), "bits": f'"{lsb + width - 1}:{lsb}"' if width > 1 else f'"{lsb}"'}
        straddles = not buffered and lsb < 32 <= lsb + width - 1
        if straddles:
            f["access"] = r.choice(["rw", "wo"])
            return f
        kind = r.choice(["stored"] * 6 + ["counter"] * 2 + ["in", "const", "wo", "wt", "pulse", "inout"])
        if kind == "in":
            return f | {"access": "ro", "hw": r.choice(["in", "[in, rd_pulse]"])}
        if kind == "const":
            return f | {"access": "ro", "const": r.getrandbits(width)}
        if kind == "wo":
            return f | {"access": "wo", "hw": r.choice(["out", "[out, wr_pulse]"]), "reset": r.getrandbits(width)}
        if kind == "wt":
            return f | {"access": "wt"}
        if kind == "pulse":
            return f | {"access": "pulse"}
        if kind == "inout":
            return f | {"access": "rw", "hw": "inout"}
        f["access"] = r.choice(COUNTS if kind == "counter" else STORED)
        hw = ["out"] if self.chance(0.6) else []
        moves = []
        if kind == "counter":
            f["counter"] = self.counter(width)
            moves = [x for x in ("we", "clear") if self.chance(0.3)]
        else:
            moves = [x for x in ("we", "set", "clear") if self.chance(0.4)]
            if f["access"] == "ro" and not moves:
                moves = ["we"]
            if f["access"] in NEEDS_SOURCE and not {"we", "set"} & set(moves):
                moves.append("set")
        hw += moves
        if f["access"] not in ("ro", "rc", "rs") and self.chance(0.3):
            hw.append("wr_pulse")
        if self.chance(0.3):
            hw.append("rd_pulse")
        f["hw"] = hw or "none"
        if (moves or kind == "counter") and self.chance(0.4):
            f["collision"] = "software"
        if self.chance(0.6):
            most = f.get("counter", {}).get("saturate", True)
            f["reset"] = r.getrandbits(width) if most is True else r.randint(0, most)
            if self.chance(0.2) and most is True:
                f["reset"] = "P_RESET" if width >= 4 else 1
        return f

    def counter(self, width):
        r = self.rng
        c = {"incr": r.randint(0, min(width, 32)), "decr": r.randint(0, min(width, 32))}
        if c["incr"] + c["decr"] == 0:
            c["incr"] = 1
        top = (1 << width) - 1
        how = r.randrange(3)
        if how == 1:
            c["saturate"] = True
        elif how == 2:
            c["saturate"] = top = r.randint(1, top)
        if self.chance(0.3):
            c["threshold"] = r.randint(1, top)
        return c

    def fields(self, width, buffered=True):
        r, at, all_fields = self.rng, 0, []
        while at < width:
            if self.chance(0.2):
                at += r.randint(1, 8)
            w = min(r.choice([1, 1, 2, 3, 7, 8, 12, 16, 31, 32, 33, 64]), width - at)
            if w <= 0:
                break
            all_fields.append(self.field(at, w, buffered))
            at += w
        return all_fields or [self.field(0, width, buffered)]

    def register(self, locks=()):
        r = self.rng
        reg = {"name": self.name("R")}
        width = r.choice([32, 32, 64])
        if width == 64:
            reg["width"] = 64
        if self.chance(0.08):
            return reg | {"external": True,
                          "fields": [{"name": "v", "bits": f'"{width - 1}:0"', "access": r.choice(["rw", "ro", "wo"])}]}
        buffered = True
        if width == 64 and self.chance(0.4):
            reg["buffered"] = buffered = False
        reg["fields"] = self.fields(width, buffered)
        for f in reg["fields"]:
            if locks and self.chance(0.3) and f["access"] not in ("ro", "rc", "rs"):
                f[r.choice(["locked_by", "enabled_by"])] = r.choice(locks)
        return reg

    def place(self, entry, at, locks):
        """Offset, count and stride; what it takes."""
        r = self.rng
        size = max(x.get("width", 32) for x in self.leaves(entry)) // 8
        body = entry["_size"] if "registers" in entry else size
        at = -(-at // size) * size
        entry["offset"] = hex(at)
        if not self.chance(0.3):
            return at + body
        own = [f for f in entry.get("fields", []) if f.get("locked_by") or f.get("enabled_by")]
        count = r.randint(2, 4)
        stride = -(-body // size) * size + size * r.randint(0, 2)
        if not own and "fields" in entry and not entry.get("external") and self.chance(0.3):
            entry["count"] = "P_COUNT"
            count = 4  # its most
        else:
            entry["count"] = count
        entry["stride"] = hex(stride)
        return at + (count - 1) * stride + body

    def leaves(self, entry):
        if "registers" not in entry:
            return [entry]
        return [x for e in entry["registers"] for x in self.leaves(e)]

    def file(self, locks, depth=0):
        entry, at = {"name": self.name("F"), "registers": []}, 0
        for _ in range(self.rng.randint(1, 3)):
            sub = self.file(locks, depth + 1) if depth == 0 and self.chance(0.3) else self.register(locks)
            at = self.place(sub, at, locks)
            entry["registers"].append(sub)
        entry["_size"] = at
        return entry

    def block(self, name):
        r = self.rng
        lock = {"name": self.name("LOCK"), "offset": "0x0", "fields": [
            {"name": "a", "bits": '"0"', "access": "rw", "reset": 1}, {"name": "b", "bits": '"1"', "access": "w1c", "hw": "set"},
            {"name": "c", "bits": '"5"', "access": "rw_once"}]}
        locks = [f"{lock['name']}.{x}" for x in "abc"]
        registers, at = [lock], 8
        for _ in range(r.randint(2, 9)):
            entry = self.file(locks) if self.chance(0.25) else self.register(locks)
            at = self.place(entry, at + 4 * r.choice([0, 0, 1, 5]), locks)
            registers.append(entry)
        b = {"name": name, "bad_access": r.choice(["all_ones", "slverr"]), "pipelined": self.chance(0.4)}
        if self.chance(0.5):
            at = -(-at // 4) * 4
            registers.append({"name": "BAD", "offset": hex(at), "fields": [
                {"name": "addr", "bits": '"23:0"', "access": "ro", "hw": "in"},
                {"name": "write", "bits": '"30"', "access": "ro", "hw": "in"},
                {"name": "valid", "bits": '"31"', "access": "w1c", "hw": "set"}]})
            b["bad_access_capture"] = "BAD"
            at += 4
        if self.chance(0.6):
            at = -(-at // 4) * 4
            b["interrupts"] = [{"name": self.name("IRQ"), "offset": hex(at), "sources": [
                {"name": f"s{i}", "kind": r.choice(["pulse", "rising", "falling", "both", "level"])}
                for i in range(r.randint(1, 32))]}]
            at += 12
        windows = []
        for _ in range(r.randint(0, 2)):
            size = 1 << r.randint(2, 8)
            at = -(-at // size) * size
            windows.append({"name": self.name("W"), "offset": hex(at), "size": hex(size), "access": r.choice(["rw", "ro"])})
            at += size
        if windows:
            b["windows"] = windows
        b["size"] = hex(max(8, 1 << (at - 1).bit_length()))
        b["registers"] = registers
        return b

    def desc_fields(self, at, end):
        """Byte by byte from `at`: numbers that may share bytes, byte strings."""
        r, fields = self.rng, []
        bit = at * 8
        while bit < end * 8 and len(fields) < 12:
            if self.chance(0.2):
                bit += r.randint(1, 20)
            left = end * 8 - bit
            if left <= 0:
                break
            if bit % 8 == 0 and left >= 24 and self.chance(0.15):
                w = 8 * r.randint(1, min(12, left // 8))
                fields.append({"name": self.name("d"), "at": bit // 8, "width": w, "bytes": True})
            else:
                w = min(r.choice([1, 2, 5, 8, 12, 16, 24, 32, 48, 64]), left, 64 - bit % 8)
                fields.append({"name": self.name("d"), "at": bit // 8, "width": w})
                if bit % 8:
                    fields[-1]["bit"] = bit % 8
            bit += w
        return fields

    def descriptor(self):
        r = self.rng
        size = r.choice([8, 16, 32, 64])
        d = {"name": self.name("desc"), "size": size,
             "fields": [{"name": "op", "at": 0, "width": 8, "enum": "ops"}] + self.desc_fields(1, size // 2)}
        if self.chance(0.7):
            d["unions"] = [{"by": "op", "variants": [
                {"name": self.name("v"), "when": [when], "fields": self.desc_fields(size // 2, size) or
                 [{"name": self.name("d"), "at": size // 2, "width": 8}]} for when in ("ONE", "TWO", 77)]}]
        return d

    def text(self, name):
        blocks = [self.block(f"b{i}") for i in range(self.rng.randint(1, 2))]
        lines = [f"name: {name}", "version: {major: 1, minor: 2, patch: 3}",
                 "parameters: {P_RESET: {value: 9, max: 15}, P_COUNT: {value: 3, min: 1, max: 4}}",
                 "enums: {ops: {values: {NIL: 0, ONE: 1, TWO: 2}}}", "blocks:"]
        for b in blocks:
            lines.append(f"  - name: {b.pop('name')}")
            registers = b.pop("registers")
            lines += [f"    {k}: {flow(v)}" for k, v in b.items()]
            lines.append("    registers:")
            lines += self.entries(registers, 6)
        lines.append("descriptors:")
        lines += [f"  - {flow(self.descriptor())}" for _ in range(self.rng.randint(1, 3))]
        return "\n".join(lines) + "\n"

    def entries(self, registers, indent):
        lines, pad = [], " " * indent
        for e in registers:
            e.pop("_size", None)
            if "registers" not in e:
                lines.append(f"{pad}- {flow(e)}")
                continue
            inner = e.pop("registers")
            head = "\n".join(f"{pad}{'- ' if i == 0 else '  '}{k}: {flow(v)}" for i, (k, v) in enumerate(e.items()))
            lines += [head, f"{pad}  registers:"] + self.entries(inner, indent + 4)
        return lines


class Failed(Exception):
    pass


def run(work, *command):
    child = subprocess.run([str(c) for c in command], cwd=work, capture_output=True, text=True, check=False)
    if child.returncode != 0:
        raise Failed(f"{' '.join(str(c) for c in command)}: status {child.returncode}\n{child.stdout[-1500:]}{child.stderr[-1500:]}")
    return child.stdout


def try_map(options, work, seed):
    program = options.program
    work.mkdir(parents=True, exist_ok=True)
    (work / "m.yaml").write_text(Maker(seed).text("m"))
    complaints = subprocess.run([program, "lint", "m.yaml"], cwd=work, capture_output=True, text=True, check=False)
    if "error:" in complaints.stderr or complaints.returncode != 0:
        raise Failed(f"lint refuses it:\n{complaints.stderr[:2000]}")
    run(work, program, "gen", "m.yaml", "--outputs", "all", "--out-dir", ".")
    (work / "laid.yaml").write_text((work / "m.yaml").read_text())
    run(work, program, "fmt", "laid.yaml")
    run(work, program, "diff", "m.yaml", "laid.yaml", "--for", "both")
    run(work, program, "import", "m_regs.rdl", "-o", "again.yaml")
    run(work, program, "diff", "m.yaml", "again.yaml", "--for", "both")
    for reader, file in (("read_ipxact.py", "m_regs.ipxact.xml"), ("read_svd.py", "m_regs.svd")):
        run(work, sys.executable, "-B", HERE.parent / "regs" / "exports" / reader, file)
    strict = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    for standard in ("c99", "c11"):
        run(work, options.cc, f"-std={standard}", *strict, "-x", "c", "m_regs.h")
    run(work, options.cxx, "-std=c++17", *strict, "-x", "c++", "m_regs.h")
    (work / "user.cpp").write_text('#include "m_regs.hpp"\n')
    run(work, options.cxx, "-std=c++20", *strict, "user.cpp")
    run(work, sys.executable, "-B", "-c", "import m_regs")
    for top in sorted(p.stem for p in work.glob("m_b?.sv")):
        run(work, "verilator", "--lint-only", "-Wall", f"{top}.sv")
        run(work, "verilator", "--lint-only", "-Wall", f"{top}_ports_pkg.sv", f"{top}.sv", f"{top}_st.sv", "--top-module", f"{top}_st")
        run(work, "yosys", "-q", "-p", f"read_verilog -sv {top}_ports_pkg.sv {top}.sv {top}_st.sv; "
            f"hierarchy -check -top {top}_st; proc; check -assert")
        run(work, "yosys", "-q", "-p", f"read_verilog -sv -formal -D RNIC_REGS_PROPERTIES {top}.sv; hierarchy -check -top {top}; proc")
        remotes = "unsigned WINDOW_TIMEOUT" in (work / f"{top}.sv").read_text()
        run(work, "verilator", "--cc", "--exe", "--build", "--assert", "-Wall", *["-GWINDOW_TIMEOUT=40"] * remotes,
            "-CFLAGS", "-std=c++20 -O1", "--Mdir", f"obj_{top}", f"{top}.sv", f"{top}_bench.cpp")
        out = run(work, work / f"obj_{top}" / f"V{top}", seed, options.cycles)
        if "agreed" not in out:
            raise Failed(out[-500:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--maps", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cycles", type=int, default=30000)
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--work", type=pathlib.Path)
    o = parser.parse_args()
    o.program = pathlib.Path(o.program).resolve()
    failures = 0
    for seed in range(o.seed, o.seed + o.maps):
        with tempfile.TemporaryDirectory(prefix="regs_random_") as temporary:
            work = (o.work or pathlib.Path(temporary)).resolve() / f"m{seed}"
            try:
                try_map(o, work, seed)
                print(f"seed {seed}: agreed", flush=True)
            except Failed as error:
                failures += 1
                print(f"seed {seed}: FAIL: {error}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
