# SPDX-License-Identifier: Apache-2.0
"""`rnic-sim live` as a child: its standard output line by line, its log, its result."""

import json
import pathlib
import queue
import signal
import threading
import time

import process
from errors import LiveError


class Simulator:
    def __init__(self, command, log):
        self.log = pathlib.Path(log)
        self.lines = []
        self.queue = queue.Queue()
        self.errors = open(self.log.with_suffix(".err"), "wb")
        self.program = process.start(command, stdout=process.subprocess.PIPE, stderr=self.errors)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        process.end(self.program)
        self.reader.join(5)
        self.program.stdout.close()
        self.errors.close()

    def _read(self):
        with open(self.log, "w", encoding="utf-8") as out:
            for raw in self.program.stdout:
                line = raw.decode(errors="replace").rstrip("\n")
                out.write(line + "\n")
                out.flush()
                self.lines.append(line)
                self.queue.put(line)
        self.queue.put(None)

    def wait_line(self, start, limit):
        """The next line that begins so; LiveError when the program ends or time is up."""
        end = time.monotonic() + limit
        while True:
            try:
                line = self.queue.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise LiveError(f"rnic-sim did not say '{start}' within {limit:.0f} s") from None
            if line is None:
                raise LiveError(f"rnic-sim ended: {self.last_words()}")
            if line.startswith(start):
                return line

    def go_on(self):
        """After a pause."""
        self.program.send_signal(signal.SIGUSR1)

    def wait(self, limit):
        """Exit status, None when it still runs."""
        try:
            return self.program.wait(max(0.01, limit))
        except process.subprocess.TimeoutExpired:
            return None

    def stop(self):
        """Ends it; its last words."""
        process.end(self.program)
        return self.last_words()

    def last_words(self):
        self.reader.join(2)
        errors = self.log.with_suffix(".err").read_text(errors="replace").strip().splitlines()
        lines = [line for line in self.lines if line.strip()]
        return "; ".join([*errors[-3:], *lines[-1:]]) or f"status {self.program.returncode}"


def read_result(path):
    try:
        return json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return None
