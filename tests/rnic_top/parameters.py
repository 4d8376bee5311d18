#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elaborates rnic_top with legal and illegal parameters.

Legal ones must be clean in Verilator's lint (-Wall); illegal ones must stop it with a message that
names the parameter. `--all` takes every set, `--of NAME` those that set a parameter of this name,
else a few of them.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import rtl_check  # noqa: E402

LEGAL = [
    # the smallest, odd sizes with everything optional, the largest
    dict(N_QP=2, N_CQ=2, N_EQ=1, N_MR=2, N_PD=2, N_PATH=2, N_MSIX=1, N_TXSLOT=4, N_TAG=8),
    dict(DATA_W=128, N_QP=100, N_CQ=77, N_EQ=3, N_MR=1000, N_PD=5, N_PATH=9, N_MSIX=7, N_MSG=9,
         N_WQE=33, CTX_LAT=3, UAR_STRIDE=256, GEN_FCS=1, RX_BUF_BYTES=32768, N_RXPKT=16),
    dict(DATA_W=1024, N_QP=1024, N_CQ=4096, N_MR=65535, N_PD=1024, N_PATH=1024, N_MSIX=64,
         N_EQ=256, N_TAG=256, N_TXSLOT=256, DEVMEM_BYTES=2097152),
    dict(DATA_W=256, CTX_LAT=2, GEN_FCS=1, DEVMEM_BYTES=4096),
    dict(N_QP=16384),
    dict(N_QP=16384, N_CTX=64),
    dict(N_QP=1),
    dict(N_MSG=513, N_WQE=1024),
    dict(CORE_PS=1250, MAC_PS=1250, DATA_W=1024),
    dict(N_GROUP=2, DEVMEM_BYTES=524288),
    dict(N_GROUP=2, N_SLOT=4, N_STAGE=4, N_RING=4, DATA_W=1024),
    dict(N_GROUP=4, N_SLOT=64, DEVMEM_BYTES=1048576, DATA_W=256),
    dict(N_GROUP=8, N_SLOT=32, DEVMEM_BYTES=2097152),
    dict(N_GROUP=16, N_SLOT=16, N_STAGE=256, N_RING=256, DEVMEM_BYTES=2097152, DATA_W=128),
]
ILLEGAL = [
    ("DATA_W", 333), ("N_CQ", 5000), ("DEVMEM_BYTES", 4194304), ("N_TXSLOT", 3),
    ("DATA_W", 64), ("DATA_W", 2048), ("N_QP", 0), ("N_QP", 32768), ("UAR_STRIDE", 512),
    ("CTX_LAT", 0), ("CTX_LAT", 4), ("CORE_PS", 0), ("MAC_PS", 0), ("N_TAG", 0), ("N_TAG", 300),
    ("GEN_FCS", 2), ("N_MSIX", 0), ("N_MSIX", 65), ("N_EQ", 0), ("N_EQ", 300), ("N_CQ", 0),
    ("N_MR", 0), ("N_MR", 65536), ("N_PD", 0), ("N_PATH", 0), ("DEVMEM_BYTES", 1000),
    ("RX_BUF_BYTES", 100), ("N_RXPKT", 0), ("N_TXSLOT", 0), ("N_TXSLOT", 300), ("N_WQE", 8),
    ("N_MSG", 0),
]
# with what the others need, so that it is this one that is refused
ILLEGAL_SETS = [
    dict(N_GROUP=3, DEVMEM_BYTES=1048576), dict(N_GROUP=32, DEVMEM_BYTES=1048576),
    dict(N_GROUP=2, DEVMEM_BYTES=262144),
]


def chosen(arguments):
    every = "--all" in arguments
    legal, illegal = LEGAL, [{k: v} for k, v in ILLEGAL] + ILLEGAL_SETS
    if "--of" in arguments:
        name = arguments[arguments.index("--of") + 1]
        legal = [p for p in legal if name in p]
        illegal = [p for p in illegal if name in p]
    elif not every:
        legal, illegal = legal[:2], illegal[:4]
    return [(p, True) for p in legal] + [(p, False) for p in illegal]


def lint(sources, parameters):
    args = ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "--unroll-count", "256"]
    args += rtl_check.include_args() + [str(ROOT / "scripts/cmake/verilator.vlt")]
    args += ["--top-module", "rnic_top"] + [f"-G{k}={v}" for k, v in parameters.items()]
    args += [str(p) for p in sources.files("rnic_top")]
    run = subprocess.run(args, capture_output=True, text=True, check=False)
    return run.returncode, [line for line in run.stderr.splitlines() if line.startswith("%")]


def judge(sources, parameters, legal):
    code, lines = lint(sources, parameters)
    if legal:
        return "" if code == 0 and not lines else "not clean: " + "; ".join(lines[:3])
    name = next(iter(parameters))
    said = [x for x in lines if "USERERROR" in x and name in x]
    if code == 0:
        return "accepted"
    # A memory of no words stops the tool before it comes to our message.
    if parameters[name] == 0:
        return ""
    return "" if said else "no message names it: " + "; ".join(lines[:2])


def main():
    sets = chosen(sys.argv[1:])
    sources = rtl_check.Sources()
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(p, l, pool.submit(judge, sources, p, l)) for p, l in sets]
        for parameters, legal, job in jobs:
            text = job.result()
            if text:
                bad += 1
                print(f"{'legal' if legal else 'illegal'} {parameters}: {text}", flush=True)
    print(f"parameters: {len(sets)} sets, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
