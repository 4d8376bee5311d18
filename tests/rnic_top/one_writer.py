#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One writer per context field, in the netlist of the NIC: the write port of each half of the QP contexts comes
straight from its owner, every bit of it, and from nowhere else, with all contexts on chip and with ctx_cache; and in
qp_context_mgr every memory has the write port of one half. (tests/qp_context_mgr/formal proves that such a memory keeps
what its port says.)
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import rtl_check  # noqa: E402

# Owner, by the ports of the memories.
OWNERS = {
    ("cw_valid", "cw_qpn", "cw"): "cmd_unit",
    ("snd_wr_valid", "snd_wr_qpn", "snd_wr"): "sq_engine",
    ("ack_wr_valid", "ack_wr_qpn", "ack_wr"): "rx_completer",
    ("rcv_wr_valid", "rcv_wr_qpn", "rcv_wr"): "rx_responder",
}
VARIANTS = {"qp_context_mgr": "", "ctx_cache": "chparam -set N_QP 64 -set N_CTX 8 rnic_top"}
OUTPUT = re.compile(r"^\s*(?:output|inout)\s+(?:(?:logic|wire|[\w:]+_t)\s+)?(?:\[[^\]]*\]\s*)*(\w+)", re.M)


def netlist(sources, name, change=""):
    """A module alone, its instances as cells."""
    packages = [str(p) for p in sources.files(name) if p in sources.packages]
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "top.ys"
        result = pathlib.Path(folder) / "top.json"
        script.write_text("\n".join([
            f"read_verilog -sv {' '.join(rtl_check.include_args() + packages)} {sources.modules[name]}",
            change, f"hierarchy -top {name}", "proc", f"write_json {result}"]) + "\n")
        subprocess.run(["yosys", "-q", "-s", str(script)], check=True)
        modules = json.loads(result.read_text())["modules"]
    (top,) = (m for full, m in modules.items() if name in full)
    return top


def outputs(sources, cell):
    """Names of the output ports of a cell."""
    if "port_directions" in cell:
        return {p for p, d in cell["port_directions"].items() if d != "input"}
    text = rtl_check.strip_comments(sources.text[sources.modules[cell["type"]]])
    return set(OUTPUT.findall(text))


def drivers(sources, cells):
    """Bit -> (instance, module, port) that drive it."""
    found = {}
    for name, cell in cells.items():
        for port in outputs(sources, cell) & set(cell["connections"]):
            for bit in cell["connections"][port]:
                found.setdefault(bit, []).append((name, cell["type"], port))
    return found


def check_ports(sources, memory, change):
    """The ports of `memory` in rnic_top."""
    cells = netlist(sources, "rnic_top", change)["cells"]
    (memory_cell,) = (c for c in cells.values() if c["type"] == memory)
    driven = drivers(sources, cells)
    bits = 0
    faults = {}
    for ports, owner in OWNERS.items():
        for port in ports:
            for bit in memory_cell["connections"][port]:
                by = driven.get(bit, [])
                bits += 1
                if len(by) != 1 or by[0][1] != owner:
                    names = ", ".join(f"{instance}.{output}" for instance, _, output in by) or "nothing"
                    line = f"{memory}.{port}: driven by {names}, not by {owner} alone"
                    faults[line] = faults.get(line, 0) + 1
    for line, count in faults.items():
        print(f"one_writer: {line} ({count} bits)")
    print(f"one_writer: {memory}: {bits} bits of {len(OWNERS)} halves, {sum(faults.values())} without their one owner")
    return bits != 0 and not faults


def check_memories(sources):
    """The memories in qp_context_mgr."""
    top = netlist(sources, "qp_context_mgr")
    halves = {tuple(tuple(top["ports"][port]["bits"]) for port in ports): ports[2] for ports in OWNERS}
    found = {}
    strange = []
    for name, cell in top["cells"].items():
        if cell["type"] != "ctx_ram":
            continue
        port = tuple(tuple(cell["connections"][p]) for p in ("wr_valid", "wr_qpn", "wr"))
        if port in halves:
            found[halves[port]] = found.get(halves[port], 0) + 1
        else:
            strange.append(f"{name} is not written by one port")
    for text in strange:
        print(f"one_writer: qp_context_mgr: {text}")
    print(f"one_writer: qp_context_mgr: memories by port: {found}")
    return not strange and set(found) == set(halves.values())


def main():
    sources = rtl_check.Sources()
    good = [check_ports(sources, memory, change) for memory, change in VARIANTS.items()] + [check_memories(sources)]
    print(f"one_writer: {'PASS' if all(good) else 'FAIL'}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
