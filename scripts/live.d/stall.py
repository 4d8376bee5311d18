# SPDX-License-Identifier: Apache-2.0
"""How long this machine lets programs wait that have something to do.

The peer's clock runs from the moment a frame leaves it until the simulator has seen the frame and stopped the clock. When
the machine is so busy that this takes longer than the peer's time-out (67 ms), the peer sends again, and rightly so.

    with Watch() as watch:
        watch.pids.append(program.pid)
        ...
    watch.waited        # seconds that the threads of these programs were ready to run and did not
"""

import contextlib
import pathlib
import threading

TICK = 0.05


def delay(pid):
    """Seconds that the threads of a process have waited for a processor since they began."""
    total = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(path.read_text().split()[1])
    return total / 1e9


class Watch:
    def __init__(self, *pids):
        self.pids = list(pids)
        self.first = {pid: delay(pid) for pid in pids}
        self.last = dict(self.first)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def waited(self):
        return sum(self.last.values()) - sum(self.first.values())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self._look()
        self.ended.set()
        self.thread.join()

    def _look(self):
        for pid in list(self.pids):
            self.last[pid] = max(self.last.get(pid, 0.0), delay(pid))

    def _watch(self):
        while not self.ended.wait(TICK):
            self._look()
