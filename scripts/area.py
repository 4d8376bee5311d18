#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Area of a module and of every module in it, counted on Yosys' coarse cells (no technology mapping).

  area.py TOP [--report FILE]
  area.py --luts MODULE        synth_xilinx of one module
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import rtl_check  # noqa: E402

MUXES = {"$mux": 1, "$pmux": 0}
ARITHMETIC = {"$add", "$sub", "$neg", "$lt", "$le", "$gt", "$ge", "$eq", "$ne", "$mul", "$alu"}


def read_script(sources, module):
    files = " ".join(str(p) for p in sources.files(module))
    return f"read_verilog -sv {' '.join(rtl_check.include_args())} {files}"


def number(value):
    return int(value, 2) if isinstance(value, str) else int(value)


def count(module):
    """Bits of one module, without its instances; and the instances."""
    bits = dict.fromkeys(("ff", "mem", "mux", "arith", "logic"), 0)
    children = {}
    for cell in module["cells"].values():
        kind, params = cell["type"], cell["parameters"]
        if not kind.startswith("$"):
            children[kind] = children.get(kind, 0) + 1
            continue
        if kind == "$paramod" or kind.startswith("$paramod"):
            children[kind] = children.get(kind, 0) + 1
        elif "dff" in kind or "dlatch" in kind:
            bits["ff"] += number(params["WIDTH"])
        elif kind in ("$mem", "$mem_v2"):
            bits["mem"] += number(params["WIDTH"]) * number(params["SIZE"])
        elif kind == "$mux":
            bits["mux"] += number(params["WIDTH"])
        elif kind == "$pmux":
            bits["mux"] += number(params["WIDTH"]) * number(params["S_WIDTH"])
        elif kind in ("$shiftx", "$shift", "$shr", "$shl", "$sshr"):
            # A barrel: one multiplexer layer per bit of the amount.
            layers = number(params["B_WIDTH"])
            bits["mux"] += max(number(params["Y_WIDTH"]), 1) * layers
        elif kind in ARITHMETIC:
            bits["arith"] += max(number(params["A_WIDTH"]), number(params["B_WIDTH"]) if "B_WIDTH" in params else 0)
        elif "Y_WIDTH" in params:
            bits["logic"] += max(number(params["Y_WIDTH"]), number(params.get("A_WIDTH", 0)))
    return bits, children


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module")
    parser.add_argument("--luts", action="store_true")
    parser.add_argument("--report")
    options = parser.parse_args()
    sources = rtl_check.Sources()
    if options.module not in sources.modules:
        print(f"area: no module {options.module}", file=sys.stderr)
        return 2

    if options.luts:
        script = read_script(sources, options.module)
        script += f"; synth_xilinx -family xcup -top {options.module} -flatten -noiopad; tee -o /dev/stdout stat"
        done = subprocess.run(["yosys", "-q", "-p", script], text=True)
        return done.returncode

    # The report of unchanged sources is kept.
    key = hashlib.sha256(rtl_check.tool_version("yosys").encode())
    key.update(pathlib.Path(__file__).read_bytes())
    for path in sources.closure(sources.modules[options.module]):
        key.update(sources.text[path].encode())
    kept = options.report and pathlib.Path(f"{options.report}.{key.hexdigest()[:16]}")
    if kept and kept.exists():
        print(kept.read_text(), end="")
        return 0

    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/design.json"
        script = read_script(sources, options.module)
        width = " -chparam DATA_W 512" if sources.data_w(options.module) not in (None, "512") else ""
        script += f"; hierarchy -check -top {options.module}{width}; proc; opt -full; wreduce; peepopt; opt_clean"
        script += f"; memory -nomap; opt_clean; write_json {out}"
        done = subprocess.run(["yosys", "-q", "-p", script], text=True, capture_output=True)
        if done.returncode != 0:
            print(done.stdout + done.stderr)
            return 1
        modules = json.loads(pathlib.Path(out).read_text())["modules"]

    own, children = {}, {}
    for name, module in modules.items():
        own[name], children[name] = count(module)

    totals = {}

    def total(name):
        if name not in totals:
            result = dict(own[name])
            for child, times in children[name].items():
                if child in own:
                    for key, value in total(child).items():
                        result[key] += times * value
            totals[name] = result
        return totals[name]

    def plain(name):
        # $paramod\module\N=... or $paramod$hash\module
        if name.startswith("$paramod"):
            return name.split("\\")[1]
        return name

    top = next(n for n, m in modules.items() if number(m["attributes"].get("top", "0")) == 1)
    uses = {top: 1}
    order = []

    def visit(name, depth, times):
        order.append((name, depth, times))
        for child, n in sorted(children[name].items(), key=lambda c: -total(c[0])["ff"] if c[0] in own else 0):
            if child in own and depth < 2:
                visit(child, depth + 1, n)

    visit(top, 0, 1)
    lines = [f"{'module (with all inside)':44} {'count':>5} {'ff bits':>9} {'mem bits':>10} {'mux bits':>9} "
             f"{'arith':>8} {'logic':>9}"]
    for name, depth, times in order:
        t = total(name)
        lines.append(f"{'  ' * depth + plain(name):44} {times:>5} {t['ff']:>9} {t['mem']:>10} {t['mux']:>9} "
                     f"{t['arith']:>8} {t['logic']:>9}")
    text = "\n".join(lines)
    print(text)
    if options.report:
        report = pathlib.Path(options.report)
        for old in report.parent.glob(report.name + ".*"):
            old.unlink()
        report.write_text(text + "\n")
        kept.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
