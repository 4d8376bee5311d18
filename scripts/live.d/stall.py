# SPDX-License-Identifier: Apache-2.0
"""How long this machine lets a program wait that has something to do.

The peer's clock runs from the moment a frame leaves it until the simulator has seen the frame and stopped the clock. When
the machine is so busy that this takes longer than the peer's time-out (67 ms), the peer sends again, and rightly so.

    with Watch() as watch:
        ...
    watch.longest       # seconds
"""

import threading
import time

TICK = 0.005


class Watch:
    def __init__(self):
        self.longest = 0.0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def _watch(self):
        last = time.monotonic()
        while not self.ended.is_set():
            time.sleep(TICK)
            now = time.monotonic()
            self.longest = max(self.longest, now - last - TICK)
            last = now
