# SPDX-License-Identifier: Apache-2.0
"""The kept peer, and a command line whose places and numbers are no good."""

import contextlib
import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from here import LIVE

import packages
import prepare


def build(folder, _say):
    for name in prepare.FILES:
        (folder / name).write_text(f"{name} as it was made")
    prepare.seal(folder)


class Kept(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        cache = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(mock.patch.dict(os.environ, {"XDG_CACHE_HOME": cache}))
        stack.enter_context(mock.patch.object(packages, "run", lambda *_, **__: "amd64\n"))
        stack.enter_context(mock.patch.object(prepare, "emulator", lambda: "an emulator"))
        self.build = stack.enter_context(mock.patch.object(prepare, "build", side_effect=build))
        self.said = []

    def prepare(self):
        return prepare.prepare(self.said.append)

    def test_what_is_whole_is_kept(self):
        folder = self.prepare()
        self.assertEqual(self.prepare(), folder)
        self.assertEqual(self.build.call_count, 1)

    def test_what_is_damaged_is_made_anew_and_said(self):
        folder = self.prepare()
        for count, name in enumerate([*prepare.FILES, prepare.SUMS], start=2):
            for damage in (lambda path: path.write_text("x" * 20), lambda path: path.write_text("")):
                damage(folder / name)
                self.prepare()
                self.assertTrue(prepare.whole(folder), name)
                self.assertIn("damaged", "".join(self.said))
                self.said.clear()
            self.assertEqual(self.build.call_count, 2 * count - 1)
        (folder / "vmlinuz").unlink()
        self.prepare()
        self.assertTrue(prepare.whole(folder))

    def test_one_without_sums_is_taken_unless_a_file_is_empty(self):
        folder = self.prepare()
        (folder / prepare.SUMS).unlink()
        self.prepare()
        self.assertEqual(self.build.call_count, 1)
        (folder / "vmlinuz").write_text("")
        self.prepare()
        self.assertEqual(self.build.call_count, 2)


class CommandLine(unittest.TestCase):
    def run_live(self, *words, **environment):
        return subprocess.run([sys.executable, str(LIVE), *words], capture_output=True, text=True, check=False, timeout=120,
                              env={**os.environ, **environment})  # fmt: skip

    def test_numbers_out_of_range_are_refused(self):
        for option, value in (("--seed", "-1"), ("--seed", str(1 << 63)), ("--seed", "x"), ("--limit", "0"), ("--limit", "-5"),
                              ("--limit", "nan"), ("--limit", "1e9")):  # fmt: skip
            with self.subTest(option=option, value=value):
                done = self.run_live(f"{option}={value}", "--list")
                self.assertEqual(done.returncode, 2)
                self.assertIn(option, done.stderr)

    def test_a_result_that_cannot_be_written_is_said_at_once(self):
        done = self.run_live("--json", "/nowhere/x.json", "rping")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/x.json", done.stdout)
        self.assertNotIn("Traceback", done.stderr)
        self.assertNotIn("emulator", done.stdout)

    def test_a_cache_or_folder_that_cannot_be_made_is_named(self):
        with tempfile.TemporaryDirectory() as folder, _programs(folder) as path:
            file = pathlib.Path(folder) / "file"
            file.write_text("")
            done = self.run_live("--prepare", XDG_CACHE_HOME=str(file), PATH=path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(file), done.stdout)
            self.assertNotIn("Traceback", done.stderr)

    def test_two_runs_do_not_share_a_folder(self):
        with tempfile.TemporaryDirectory() as folder, _programs(folder) as path:
            environment = {"XDG_CACHE_HOME": f"{folder}/cache", "PATH": path}
            with mock.patch.dict(os.environ, environment):
                kept = prepare.cache_folder() / prepare.key()
                kept.mkdir(parents=True)
                build(kept, None)
            out = pathlib.Path(folder) / "out"
            out.mkdir()
            with open(out / ".lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                done = self.run_live("--out", str(out), "rping", **environment)
            self.assertEqual(done.returncode, 1)
            self.assertIn("another scripts/live", done.stdout)


@contextlib.contextmanager
def _programs(folder):
    """A PATH with an emulator and dpkg that only tell what they are."""
    programs = pathlib.Path(folder) / "programs"
    programs.mkdir()
    for name, word in ((prepare.EMULATOR, "an emulator"), ("dpkg", "amd64")):
        (programs / name).write_text(f"#!/bin/sh\necho {word}\n")
        (programs / name).chmod(0o755)
    yield f"{programs}:{os.environ['PATH']}"


if __name__ == "__main__":
    unittest.main()
