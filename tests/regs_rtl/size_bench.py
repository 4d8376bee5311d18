#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time, lint, area and depth of register files against the size of the map.

  size_bench.py RNIC_REGS [--sizes 100,1000,10000] [--area 64,256,1000] [--lint] [--work DIR]

Prints a table: seconds of `gen --outputs all`, bytes written, verdict (exit status) and seconds of the lint,
for maps that are pipelined where they have more than 1000 registers; and with --area the cells and the
longest path that Yosys makes of the RTL (generic gates of two inputs), in all and per register, plain and
pipelined.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile
import time

FIELDS = [
    '{name: mode, bits: "7:0", access: rw, reset: 3, desc: "What it does."}',
    '{name: live, bits: "15:8", access: ro, hw: in, desc: "What it shows."}',
    '{name: event, bits: "23:16", access: w1c, hw: set, desc: "What has happened."}',
]


def write_map(path, n, pipelined):
    size = 8
    while size < 4 * n:
        size *= 2
    with open(path, "w") as f:
        f.write("name: big\nversion: {major: 1, minor: 0, patch: 0}\nblocks:\n  - name: csr\n"
                f"    size: {size:#x}\n    pipelined: {'true' if pipelined else 'false'}\n    registers:\n")
        for i in range(n):
            f.write(f'      - {{name: R{i}, offset: {4 * i:#x}, desc: "Register number {i} of the map.", '
                    f'fields: [{", ".join(FIELDS)}]}}\n')


def timed(command, cwd=None):
    start = time.monotonic()
    child = subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False)
    return time.monotonic() - start, child


def area(work):
    script = ("read_verilog -sv big_csr.sv; hierarchy -check -top big_csr; proc; opt; memory; opt; techmap; "
              "opt; abc -g AND,OR,XOR,MUX; opt_clean; stat; ltp -noff")
    _, child = timed(["yosys", "-p", script], work)
    if child.returncode != 0:
        return None
    # The area of the last `stat`, the length of the longest path.
    cells = int(re.findall(r"Number of cells:\s+(\d+)", child.stdout)[-1])
    flops = sum(int(n) for n in re.findall(r"\$_\w*DFF\w*_\s+(\d+)", child.stdout.split("Printing statistics")[-1]))
    depth = int(re.findall(r"Longest topological path in .*\(length=(\d+)\)", child.stdout)[-1])
    return cells, flops, depth


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--sizes", default="100,300,1000,3000,10000")
    parser.add_argument("--area", default="")
    parser.add_argument("--lint", action="store_true")
    parser.add_argument("--work", default=tempfile.mkdtemp(prefix="regs_size_"))
    options = parser.parse_args()
    work = pathlib.Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    program = str(pathlib.Path(options.program).resolve())
    print("| registers | gen --outputs all, s | of it CPU, s | MB | lint -Wall |\n|---|---|---|---|---|")
    for n in [int(x) for x in options.sizes.split(",") if x]:
        pipelined = n > 1000
        write_map(work / "big.yaml", n, pipelined)
        seconds, child = timed(["bash", "-c", f"TIMEFORMAT='%U %S'; time {program} gen big.yaml --outputs all "
                                f"--out-dir out > /dev/null"], work)
        assert child.returncode == 0, child.stderr
        cpu = sum(float(x) for x in child.stderr.split()[-2:])
        size = sum(f.stat().st_size for f in (work / "out").iterdir()) / 1e6
        verdict = "-"
        if options.lint:
            spent, child = timed(["verilator", "--lint-only", "-Wall", "big_csr.sv"], work / "out")
            verdict = f"{'clean' if child.returncode == 0 else 'NOT CLEAN'}, {spent:.1f} s"
            print(child.stderr[:500], end="")
        print(f"| {n}{' (pipelined)' if pipelined else ''} | {seconds:.2f} | {cpu:.2f} | {size:.1f} | {verdict} |", flush=True)
    if options.area:
        print("\n| registers | pipelined | flip-flops | gates | gates per register | longest path, gates |")
        print("|---|---|---|---|---|---|")
    for n in [int(x) for x in options.area.split(",") if x]:
        for pipelined in (False, True):
            write_map(work / "big.yaml", n, pipelined)
            subprocess.run([program, "gen", "big.yaml", "--outputs", "sv", "--out-dir", "."], cwd=work, check=True,
                           stdout=subprocess.DEVNULL)
            found = area(work)
            if found is None:
                print(f"| {n} | {pipelined} | failed |")
                continue
            cells, flops, depth = found
            gates = cells - flops
            print(f"| {n} | {'yes' if pipelined else 'no'} | {flops} | {gates} | {gates / n:.1f} | {depth} |",
                  flush=True)


if __name__ == "__main__":
    main()
