# SPDX-License-Identifier: Apache-2.0
"""A running `rnic-sim live` for tests that are the other side of its link, and the Internet checksum."""

import json
import pathlib
import struct
import subprocess
import tempfile

SCENARIO = pathlib.Path(__file__).resolve().parents[2] / "sim/scenarios/live.yaml"
LIMIT = 120


class NicProcess:
    """The program with `words` behind its scenario, and a folder that goes with it; killed at the end."""

    def __init__(self, simulator, link, *words, folder=None):
        self.folder = folder or tempfile.TemporaryDirectory(prefix="rnic-live-test-")
        self.json = pathlib.Path(self.folder.name) / "result.json"
        self.program = subprocess.Popen(
            [simulator, "live", str(SCENARIO), "--link", link, "--no-files", "--json", str(self.json), *words],
            stdout=subprocess.PIPE, text=True)  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.kill()
        self.program.wait()
        self.program.stdout.close()
        self.folder.cleanup()

    def wait_line(self, start):
        for line in self.program.stdout:
            if line.startswith(start):
                return line
        raise AssertionError(f"rnic-sim ended without '{start}'")

    def end(self):
        """Exit status and result."""
        self.program.communicate(timeout=LIMIT)
        return self.program.returncode, json.loads(self.json.read_text())


def checksum(data):
    """Of RFC 1071, as a number in network order."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
