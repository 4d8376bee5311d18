#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the assertions of a module with Yosys and z3, and reaches its cover statements.

  prove.py TOP [--source FILE...] [--param N=V...] [--define N=V...] [--depth N] [--induction N]
           [--cover N] [--variant NEW=MODULE:DEFINE] [--work DIR]

Reset is high in the first cycle and free after it. Bounded proof to --depth cycles, induction with
--induction steps when given (then the assertions hold for ever), covers within --cover cycles.
Modules that --source does not bring are found in rtl/. --variant reads a module once more, with a
macro defined, under a new name: two forms of one module can be compared.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import rtl_check  # noqa: E402

LIMIT_S = 500


def run(name, command, log):
    start = time.monotonic()
    # A session of its own, so that the solver ends with it.
    child = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             start_new_session=True)
    try:
        output, _ = child.communicate(timeout=LIMIT_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        os.killpg(child.pid, signal.SIGKILL)
        output = (child.communicate()[0] or "") + f"took more than {LIMIT_S} s"
    good = child.returncode == 0
    log.write(f"$ {' '.join(command)}\n{output}\n")
    print(f"prove: {name}: {'ok' if good else 'FAILED'} "
          f"({time.monotonic() - start:.1f} s)", flush=True)
    if not good:
        print("\n".join(output.splitlines()[-40:]))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("top")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--param", action="append", default=[])
    parser.add_argument("--define", action="append", default=[])
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--induction", type=int, default=0)
    parser.add_argument("--cover", type=int, default=0)
    parser.add_argument("--variant", action="append", default=[])
    parser.add_argument("--work", default=str(rtl_check.ROOT / "build/proofs"))
    options = parser.parse_args()

    sources = rtl_check.Sources()
    files = []
    words = {options.top} | {d.split("=")[-1] for d in options.define}
    for source in options.source:
        files.append(str(pathlib.Path(source).resolve()))
        words |= set(rtl_check.WORD.findall(pathlib.Path(source).read_text()))
    for module in sorted(words & set(sources.modules)):
        for path in sources.files(module):
            if str(path) not in files:
                files.append(str(path))
    files.sort(key=lambda file: pathlib.Path(file) not in sources.packages)  # packages first

    name = "-".join([options.top] + options.param + options.define)
    name = re.sub(r"[^A-Za-z0-9_.=-]", "_", name)
    work = pathlib.Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    smt2 = work / f"{name}.smt2"
    defines = " ".join(f"-D{d}" for d in options.define)
    chparam = "".join(f" -chparam {p.split('=')[0]} {p.split('=')[1]}" for p in options.param)
    variants = ""
    for variant in options.variant:
        new, module, define = re.fullmatch(r"(\w+)=(\w+):(\w+)", variant).groups()
        variants += (f"read_verilog -sv -formal -DFORMAL -D{define} "
                     f"{' '.join(rtl_check.include_args())} {sources.modules[module]}; "
                     f"rename {module} {new}; ")
    # async2sync: newer versions keep clocked assertions in cells of their own until then.
    script = (
        f"{variants}read_verilog -sv -formal -DFORMAL {defines} {' '.join(rtl_check.include_args())} "
        f"{' '.join(files)}; hierarchy -check -top {options.top}{chparam}; proc; flatten; "
        f"async2sync; "
        f"opt -full; wreduce; peepopt; opt -full; memory -nomap -nordff; opt -fast; fminit -seq rst_i 1'b1,1'bz; dffunmap; opt_clean; "
        f"check; write_smt2 -wires {smt2}"
    )
    good = True
    with open(work / f"{name}.log", "w") as log:
        # From a file: some versions take a comma in -p for the end of a command.
        commands = work / f"{name}.ys"
        commands.write_text(script.replace("; ", "\n") + "\n")
        ok = run(f"{name} model", ["yosys", "-q", "-s", str(commands)], log)
        if not ok:
            return 1
        # Without --unroll z3 does not end on some small models.
        solver = ["yosys-smtbmc", "--noprogress", "-s", "z3", "--unroll"]
        trace = ["--dump-vcd", str(work / f"{name}.vcd")]
        text = smt2.read_text()
        if "; yosys-smt2-assert" not in text and options.depth:
            print(f"prove: {name}: there is no assertion to prove")
            return 1
        ok = run(f"{name} bounded, {options.depth} cycles",
                    solver + ["-t", str(options.depth)] + trace + [str(smt2)], log)
        good &= ok
        if options.induction:
            ok = run(f"{name} induction, {options.induction} cycles",
                        solver + ["-i", "-t", str(options.induction)] + trace + [str(smt2)], log)
            good &= ok
        if options.cover:
            ok = run(f"{name} covers, {options.cover} cycles",
                        solver + ["-c", "-t", str(options.cover)] + [str(smt2)], log)
            good &= ok
    print(f"prove: {'PASS' if good else 'FAIL'}: {name} (log: {work / name}.log)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
