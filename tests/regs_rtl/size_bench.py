#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time, lint, latency, area and depth of register files against the size of the map.

  size_bench.py RNIC_REGS [--sizes 100,1000,10000] [--lint] [--latency 64] [--area 64,256,1000] [--work DIR]

Prints a table: seconds of `gen --outputs all`, bytes written, verdict (exit status) and seconds of the lint,
for maps that are pipelined where they have more than 1000 registers; with --latency the cycles of a read in
the Verilated file, from the edge that takes the address to the first with the answer; with --area the cells
and the longest path that Yosys makes of the RTL (generic gates of two inputs), in all and per register, plain
and pipelined.
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


def generate_rtl(program, work, n, pipelined):
    write_map(work / "big.yaml", n, pipelined)
    subprocess.run([program, "gen", "big.yaml", "--outputs", "sv", "--out-dir", "."], cwd=work, check=True,
                   stdout=subprocess.DEVNULL)


def timed(command, cwd=None):
    start = time.monotonic()
    child = subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False)
    return time.monotonic() - start, child


# Reads every register, one after another; $stop where one does not read its reset value.
LATENCY = """
module tb;
  logic clk = 1'b0, rst = 1'b1;
  logic arvalid = 1'b0, arready, rvalid;
  logic [31:0] rdata;
  int unsigned n = 0, waited = 0, least = 1000, most = 0, cycle = 0;
  big_csr dut (
      .clk_i(clk), .rst_i(rst), .s_awaddr('0), .s_awvalid(1'b0), .s_wdata('0), .s_wstrb('0), .s_wvalid(1'b0),
      .s_bready(1'b1), .s_araddr(@ADDR@'(4 * n)), .s_arvalid(arvalid), .s_rready(1'b1), .s_arready(arready),
      .s_rvalid(rvalid), .s_rdata(rdata), @INPUTS@);
  initial forever #1 clk = !clk;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    rst <= cycle < 4;
    if (cycle == 5) arvalid <= 1'b1;
    if (arvalid && arready) begin
      arvalid <= 1'b0;
      waited <= 1;
    end else if (waited != 0) begin
      waited <= waited + 1;
    end
    if (rvalid) begin
      if (rdata != 32'h3 || waited == 0) $stop;
      if (waited < least) least = waited;
      if (waited > most) most = waited;
      waited <= 0;
      n <= n + 1;
      arvalid <= n != @COUNT@ - 1;
      if (n == @COUNT@ - 1) begin
        $display("latency %0d to %0d", least, most);
        $finish;
      end
    end
  end
endmodule
"""


def latency(work, n):
    size = max(8, 1 << (4 * n - 1).bit_length())
    inputs = ", ".join(f".r{i}_live_i('0), .r{i}_event_i('0)" for i in range(n))
    text = LATENCY.replace("@ADDR@", str(size.bit_length() - 1)).replace("@COUNT@", str(n))
    (work / "tb.sv").write_text(text.replace("@INPUTS@", inputs))
    _, child = timed(["verilator", "--binary", "--timing", "-Wno-fatal", "-Wno-lint", "--top-module", "tb", "--Mdir",
                      "obj", "tb.sv", "big_csr.sv"], work)
    assert child.returncode == 0, child.stderr
    _, child = timed(["obj/Vtb"], work)
    found = re.findall(r"latency (\d+) to (\d+)", child.stdout)
    return " to ".join(found[0]) if found else "failed"


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
    parser.add_argument("--latency", default="")
    parser.add_argument("--area", default="")
    parser.add_argument("--lint", action="store_true")
    parser.add_argument("--work", default=tempfile.mkdtemp(prefix="regs_size_"))
    options = parser.parse_args()
    work = pathlib.Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    program = str(pathlib.Path(options.program).resolve())
    sizes = [int(x) for x in options.sizes.split(",") if x]
    if sizes:
        print("| registers | gen --outputs all, s | of it CPU, s | MB | lint -Wall |\n|---|---|---|---|---|")
    for n in sizes:
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
    if options.latency:
        print("\n| registers | pipelined | cycles of a read |\n|---|---|---|")
    for n in [int(x) for x in options.latency.split(",") if x]:
        for pipelined in (False, True):
            generate_rtl(program, work, n, pipelined)
            print(f"| {n} | {'yes' if pipelined else 'no'} | {latency(work, n)} |", flush=True)
    if options.area:
        print("\n| registers | pipelined | flip-flops | gates | gates per register | longest path, gates |")
        print("|---|---|---|---|---|---|")
    for n in [int(x) for x in options.area.split(",") if x]:
        for pipelined in (False, True):
            generate_rtl(program, work, n, pipelined)
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
