# SPDX-License-Identifier: Apache-2.0
"""Programs that are started here always end here, also when this process is told to end, or killed."""

import contextlib
import ctypes
import os
import signal
import subprocess

running = []


class Stopped(BaseException):
    """A signal told us to end; the clean-up of every `finally` and of `end_all` follows."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


def _stop(number, _frame):
    raise Stopped(number)


def catch_signals():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _stop)


def start(command, **options):
    """From the main thread, since a child ends with the thread that started it."""

    def prepare():
        set_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        os.setsid()  # the terminal's signals are for us, who end our children in order

    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=prepare, **options)
    running.append(program)
    return program


def end(program, patience=5):
    """Asks it to end, then ends it."""
    for act in (program.terminate, program.kill):
        if program.poll() is None:
            act()
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(patience)
    if program in running:
        running.remove(program)
    return program.returncode


def end_all():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    for program in list(running):
        end(program, patience=2)
