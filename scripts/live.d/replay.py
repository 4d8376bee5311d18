# SPDX-License-Identifier: Apache-2.0
"""Replays the captures of a run against fresh NICs, by `rnic-sim replay`, one at a time beside the next cases."""

import subprocess

import process


class Replays:
    def __init__(self, program):
        self.program = program
        self.waiting = []
        self.current = None

    def add(self, outcome):
        """What passed has a capture that must replay, when `rnic-sim live` says how."""
        if outcome.passed and (outcome.folder / "wire.json").exists():
            self.waiting.append(outcome)
            self.advance()

    def advance(self):
        if self.current is not None and self.current[0].poll() is not None:
            self.collect()
        if self.current is None and self.waiting:
            outcome = self.waiting.pop(0)
            with open(outcome.folder / "replay.log", "wb") as log:
                command = [self.program, "replay", str(outcome.folder / "wire.json")]
                self.current = process.start(command, stdout=log, stderr=subprocess.STDOUT), outcome

    def collect(self):
        child, outcome = self.current
        child.wait()
        process.end(child)
        self.current = None
        if child.returncode == 0:
            outcome.replay = "replayed"
            return
        lines = (outcome.folder / "replay.log").read_text(errors="replace").strip().splitlines()
        outcome.problems.append(f"replay: status {child.returncode}: {lines[-1] if lines else ''}")

    def finish(self):
        """All that are left."""
        while self.current is not None or self.waiting:
            self.advance()
            if self.current is not None:
                self.collect()
