# SPDX-License-Identifier: Apache-2.0
"""tshark's reading of all captures of a run beside this package's own: opcode, destination QP, PSN, iCRC of every packet."""

import itertools
import pathlib
import shutil
import subprocess
import tempfile

import frames

FIELDS = ["frame.number", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.invariant.crc"]

# tshark looks for these within payloads, by a few bytes that any payload may have, and then gives no iCRC.
GUESSED = ("drbd", "fcoib", "infiniband_sdp", "iser", "lnet", "nvme-rdma", "rpcordma", "smb_direct", "smc")


def tshark(path):
    """{frame number: (opcode, QP, PSN, iCRC)} of the RoCEv2 packets."""
    command = ["tshark", "-n", "-r", path, "-Y", "infiniband.bth", "-T", "fields", "-E", "occurrence=f",
               "--disable-heuristic", "mellanox_eoib", "-o", "infiniband.identify_payload:FALSE"]  # fmt: skip
    for protocol in GUESSED:
        command += ["--disable-protocol", protocol]
    for name in FIELDS:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"tshark: {done.stderr.strip()}")
    decoded = {}
    for line in done.stdout.splitlines():
        number, *values = line.split("\t")
        decoded[int(number)] = tuple(int(value, 0) if value else None for value in values)
    return decoded


def compare(outcomes):
    """Adds a problem to every outcome whose capture tshark reads otherwise; returns a line for the user."""
    captures = [outcome for outcome in outcomes if outcome.folder and (outcome.folder / "wire.pcap").exists()]
    if not captures:
        return "no captures"
    if shutil.which("tshark") is None:
        return "tshark is not here: captures are not decoded by it"
    with tempfile.TemporaryDirectory(prefix="rnic-live-") as folder:
        merged = pathlib.Path(folder) / "merged.pcap"
        lists = [list(frames.read_pcap(outcome.folder / "wire.pcap")) for outcome in captures]
        frames.write_pcap(merged, itertools.chain.from_iterable(lists))
        theirs = tshark(merged)
    number = compared = 0
    for outcome, captured in zip(captures, lists, strict=True):
        differences = []
        for index, frame in enumerate(captured, 1):
            number += 1
            if index - 1 in outcome.cut:
                continue
            packet = frames.parse(frame)
            ours = None if packet is None else (packet.opcode, packet.qpn, packet.psn, int.from_bytes(packet.icrc.to_bytes(4, "little"), "big"))
            if ours != theirs.get(number):
                differences.append(f"frame {index}: tshark reads {theirs.get(number)}, this reads {ours}")
            compared += ours is not None
        outcome.problems += differences[:3]
    return f"tshark reads the {compared} RoCEv2 packets of {len(captures)} captures the same way"
