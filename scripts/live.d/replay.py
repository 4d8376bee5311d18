# SPDX-License-Identifier: Apache-2.0
"""Replays a capture of a run against a fresh NIC, by `rnic-sim replay`."""

import subprocess


def replay(program, outcome):
    recorded = outcome.folder / "wire.json"
    if not outcome.passed or not recorded.exists():
        return
    done = subprocess.run([program, "replay", str(recorded)], capture_output=True, text=True, check=False)
    (outcome.folder / "replay.log").write_text(done.stdout + done.stderr)
    if done.returncode == 0:
        outcome.replay = "replayed"
    else:
        lines = (done.stderr + done.stdout).strip().splitlines()
        outcome.problems.append(f"replay: status {done.returncode}: {lines[-1] if lines else ''}")
