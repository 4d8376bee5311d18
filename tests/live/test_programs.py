# SPDX-License-Identifier: Apache-2.0
"""Children, signals, the wait for lines, the changed key, the exit status without a peer."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from here import LIVE

import cases
import keychange
import packages
import simulator
from errors import LiveError
from replay import Replays


class Lines(unittest.TestCase):
    def child(self, code):
        log = pathlib.Path(tempfile.mkdtemp()) / "child.log"
        return simulator.Simulator([sys.executable, "-u", "-c", code], log)

    def test_lines_are_awaited_in_order_and_logged(self):
        with self.child("print('one'); print('two 2'); print('two 3')") as child:
            self.assertEqual(child.wait_line("two", 20), "two 2")
            self.assertEqual(child.wait_line("two", 20), "two 3")
            self.assertEqual(child.wait(20), 0)
        self.assertEqual(child.log.read_text(), "one\ntwo 2\ntwo 3\n")

    def test_an_end_and_silence_are_errors(self):
        with self.child("import sys; sys.exit('no link')") as child, self.assertRaisesRegex(LiveError, "no link"):
            child.wait_line("ready", 20)
        with self.child("import time; time.sleep(60)") as child:
            with self.assertRaisesRegex(LiveError, "within"):
                child.wait_line("ready", 0.3)
            self.assertIsNone(child.wait(0.1))
        self.assertIsNotNone(child.program.returncode)


class Fetching(unittest.TestCase):
    """An archive that fails so many times."""

    def fetch(self, failures, refreshed=True):
        left = iter([packages.Unavailable(f"no answer {n}") for n in range(failures)])
        said = []

        def answer():
            if error := next(left, None):
                raise error
            return ["a.deb"]

        refresh = mock.Mock(side_effect=None if refreshed else packages.Unavailable("no root"))
        with mock.patch.object(packages, "refresh", refresh), mock.patch.object(packages.time, "sleep") as sleep:
            try:
                found = packages.fetch(types.SimpleNamespace(fetch=answer), said.append)
            except packages.Unavailable as error:
                found = str(error)
        return found, said, sleep.call_count, refresh.call_count

    def test_packages_are_asked_for_again_with_new_lists(self):
        self.assertEqual(self.fetch(0), (["a.deb"], [], 0, 0))
        found, said, pauses, refreshed = self.fetch(2)
        self.assertEqual((found, pauses, refreshed), (["a.deb"], 2, 2))
        self.assertRegex(said[1], "no answer 1; trying again in [0-9]+ s")

    def test_lists_that_cannot_be_had_are_told_and_do_not_end_it(self):
        found, said, _, _ = self.fetch(1, refreshed=False)
        self.assertEqual((found, said[1]), (["a.deb"], "no root"))

    def test_in_the_end_it_says_how_often_and_why(self):
        times = len(packages.PAUSES) + 1
        self.assertEqual(self.fetch(99)[0], f"the peer's packages could not be fetched, tried {times} times: no answer {times - 1}")

    def test_of_a_failed_command_the_errors_are_told(self):
        code = "import sys; print('W: w', 'E: one', 'E: two', 'E: advice', sep=chr(10), file=sys.stderr); sys.exit(100)"
        with self.assertRaisesRegex(packages.Unavailable, "^apt-get: E: one; E: two$"):
            packages.run([sys.executable, "-c", code], "apt-get")
        with self.assertRaisesRegex(packages.Unavailable, "^x: status 7$"):
            packages.run([sys.executable, "-c", "import sys; sys.exit(7)"], "x")


def ended(pid):
    """Within 20 s; a process whose parent has not asked for its status counts as ended."""
    stat = pathlib.Path(f"/proc/{pid}/stat")
    for _ in range(200):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.1)
    return False


class Signals(unittest.TestCase):
    def test_children_end_with_the_parent(self):
        code = ("import process, time; process.catch_signals()\n"
                "try:\n"
                "  print(process.start(['sleep', '600']).pid, flush=True); time.sleep(600)\n"
                "finally:\n"
                "  process.end_all()\n")  # fmt: skip
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            with subprocess.Popen([sys.executable, "-c", code], cwd=LIVE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as parent:  # fmt: skip
                child = int(parent.stdout.readline())
                parent.send_signal(number)
                parent.wait(60)
                self.assertTrue(ended(child), number)


KEYS = b"0000:0001:000011:a564f1:00001234:00007f0000001000:" + b"00:" * 16 + b"00000000:\0"


class Keys(unittest.TestCase):
    def test_only_the_key_changes(self):
        changed = keychange.change(KEYS)
        self.assertEqual(len(changed), 108)
        self.assertEqual(changed[:24], KEYS[:24])
        self.assertEqual(changed[32:], KEYS[32:])
        self.assertEqual(changed[24:32], b"5a5a4834")
        self.assertEqual(keychange.change(b"6.06\0" + bytes(11)), b"6.06\0" + bytes(11))

    def test_only_the_servers_words_are_changed(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            between = keychange.KeyChange(server.getsockname()[1])
            heard = []

            def serve():
                accepted, _ = server.accept()
                with accepted:
                    heard.append(accepted.recv(200))
                    accepted.sendall(KEYS)
                    accepted.recv(1)

            thread = threading.Thread(target=serve)
            thread.start()
            with socket.create_connection(("127.0.0.1", between.port)) as client:
                client.sendall(KEYS)
                answer = client.recv(200)
            thread.join(10)
            between.close()
        self.assertEqual((heard[0], answer, between.changed), (KEYS, keychange.change(KEYS), 1))


class Status(unittest.TestCase):
    def run_without_emulator(self, release):
        empty = tempfile.mkdtemp()
        os.symlink("/usr/bin/dpkg", f"{empty}/dpkg")
        code = (f"import runpy, sys, packages; packages.system = lambda: {release!r}\n"
                f"sys.argv = ['live', '--out', {empty!r}]\n"
                f"runpy.run_path({str(LIVE / '__main__.py')!r}, run_name='__main__')\n")  # fmt: skip
        return subprocess.run([sys.executable, "-c", code], cwd=LIVE, env={"PATH": empty, "HOME": empty},
                              capture_output=True, text=True, check=False)  # fmt: skip

    def test_without_an_emulator_it_is_skipped_but_on_debian_12_it_fails(self):
        done = self.run_without_emulator(("debian", "13"))
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertIn("SKIPPED: no qemu-system-x86_64", done.stdout)
        done = self.run_without_emulator(("debian", "12"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAIL: no qemu-system-x86_64", done.stdout)

    def test_a_tool_that_nobody_knows_is_an_error_of_the_command_line(self):
        done = subprocess.run([sys.executable, LIVE, "ib_nothing"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stdout)

    def test_a_program_that_fails_is_told_by_its_last_words(self):
        with self.assertRaisesRegex(LiveError, "it: no such thing"):
            packages.run(["sh", "-c", "echo no such thing >&2; exit 3"], "it")
        with mock.patch.object(packages, "system", lambda: ("debian", "12")):
            self.assertTrue(packages.required())


class Replayed(unittest.TestCase):
    def outcome(self, with_parameters=True, problems=(), tool="ib_read_bw"):
        folder = pathlib.Path(tempfile.mkdtemp())
        if with_parameters:
            (folder / "wire.json").write_text("{}")
        problems = list(problems)
        return types.SimpleNamespace(case=cases.Case(tool, "server"), folder=folder, passed=not problems,
                                     problems=problems, replay="")  # fmt: skip

    def test_every_capture_of_a_run_that_passed_replays(self):
        first, second = self.outcome(), self.outcome(tool="ibv_ud_pingpong")
        left = [self.outcome(with_parameters=False), self.outcome(problems=["x"])]
        replays = Replays("true")
        for outcome in [first, second, *left]:
            replays.add(outcome)
        replays.finish()
        self.assertEqual([outcome.replay for outcome in [first, second, *left]], ["replayed"] * 2 + [""] * 2)

    def test_a_capture_that_does_not_replay_fails_the_case(self):
        outcome = self.outcome()
        replays = Replays("false")
        replays.add(outcome)
        replays.finish()
        self.assertRegex(outcome.problems[0], "replay: status 1")


class Waiting(unittest.TestCase):
    def test_the_wait_for_a_line_takes_no_longer_than_told(self):
        began = time.monotonic()
        log = pathlib.Path(tempfile.mkdtemp()) / "child.log"
        with simulator.Simulator(["sleep", "60"], log) as child, self.assertRaises(LiveError):
            child.wait_line("x", 0.5)
        self.assertLess(time.monotonic() - began, 50)  # the child would take 60


if __name__ == "__main__":
    unittest.main()
