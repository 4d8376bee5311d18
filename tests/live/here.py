# SPDX-License-Identifier: Apache-2.0
"""Makes the modules of scripts/live.d importable; where the recorded traffic lies."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIVE = ROOT / "scripts/live.d"
CAPTURES = ROOT / "tests/captures"
sys.path.insert(0, str(LIVE))
