# SPDX-License-Identifier: Apache-2.0
"""Why a run ends early."""


class LiveError(Exception):
    """Something is wrong: the run fails."""


class Unavailable(LiveError):
    """No live peer can be had here (no packages, no emulator): the run is skipped where that is allowed."""
