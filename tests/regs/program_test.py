#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of rnic-regs as a script meets them: exit status, what is printed where, what is left on the disk.

  program_test.py RNIC_REGS
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
HEAD = "name: m\nversion: {{major: 1, minor: {}, patch: 0}}\nblocks:\n  - name: b\n    size: 0x40\n    registers:\n"
REGISTER = '      - {{name: {}, offset: {}, fields: [{{name: v, bits: "7:0", access: {}}}]}}\n'
GOOD = HEAD.format(0) + REGISTER.format("A", 0, "rw")


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="regs_program_")
        self.work = pathlib.Path(self.folder.name)
        self.write("m.yaml", GOOD)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.work / name).write_text(text)

    def run_it(self, *arguments, text="", out=subprocess.PIPE):
        child = subprocess.run([PROGRAM, *arguments], cwd=self.work, input=text, stdout=out, stderr=subprocess.PIPE,
                               text=True, timeout=60, check=False)
        return child.returncode, child.stdout, child.stderr

    def expect(self, status, *arguments, **options):
        got, out, err = self.run_it(*arguments, **options)
        self.assertEqual(got, status, f"{arguments}: {out}{err}")
        return out, err

    def test_gen_writes_what_has_changed_and_check_tells(self):
        out, _ = self.expect(0, "gen", "m.yaml", "--out-dir", "o")
        written = sorted(p.name for p in (self.work / "o").iterdir())
        self.assertEqual(sorted(pathlib.Path(x).name for x in out.split()), written)
        self.assertEqual(self.expect(0, "gen", "m.yaml", "--out-dir", "o"), ("", ""))
        self.expect(0, "gen", "m.yaml", "--out-dir", "o", "--check")
        (self.work / "o/m_regs.h").write_text("changed")
        _, err = self.expect(1, "gen", "m.yaml", "--out-dir", "o", "--check")
        self.assertIn("m_regs.h: out of date", err)
        self.assertEqual((self.work / "o/m_regs.h").read_text(), "changed")
        _, err = self.expect(1, "gen", "m.yaml", "--out-dir", "empty", "--check")
        self.assertIn("m_regs.h: missing", err)
        self.assertFalse((self.work / "empty").exists())

    def test_gen_refuses_bad_maps_and_writes_nothing(self):
        self.write("bad.yaml", GOOD + REGISTER.format("B", 2, "rw") + REGISTER.format("C", 4, "rx"))
        _, err = self.expect(1, "gen", "bad.yaml", "--out-dir", "o")
        self.assertEqual([x.split(" error:")[0] for x in err.splitlines()], ["bad.yaml:8:9:", "bad.yaml:8:27:", "bad.yaml:9:9:",
                                                                            "bad.yaml:9:70:"])
        self.assertFalse((self.work / "o").exists())

    def test_wrong_use(self):
        self.expect(2)
        self.expect(2, "gen")
        self.expect(2, "generate", "m.yaml")
        _, err = self.expect(2, "gen", "m.yaml", "--outputs", "sv,htm")
        self.assertIn("no output 'htm'; did you mean 'html'?", err)
        self.expect(2, "gen", "m.yaml", "--out-dir", "m.yaml/o")
        self.expect(2, "decode", "m.yaml")
        self.expect(2, "decode", "m.yaml", "--block", "b", "--descriptor", "d")
        self.expect(2, "decode", "m.yaml", "--block", "b", "nowhere.txt")
        self.expect(2, "decode", "m.yaml", "--block", "b", ".")
        self.expect(3, "diff", "m.yaml")
        self.expect(3, "diff", "m.yaml", "m.yaml", "--for", "nobody")
        for command in ("gen", "lint"):
            _, err = self.expect(1, command, ".")
            self.assertIn("is a folder", err)
        self.expect(1, "import", ".")

    def test_lint_and_werror(self):
        self.expect(0, "lint", "m.yaml")
        mixed = GOOD.replace('"7:0", access: rw}', '"3:0", access: rw}, {name: e, bits: "7:4", access: w1c, hw: set}')
        self.write("mixed.yaml", mixed)
        _, err = self.expect(0, "lint", "mixed.yaml")
        self.assertIn("[mixed-write]", err)
        self.expect(1, "lint", "mixed.yaml", "--werror")

    def test_diff_status(self):
        self.write("more.yaml", HEAD.format(1) + REGISTER.format("A", 0, "rw") + REGISTER.format("B", 4, "rw"))
        self.write("moved.yaml", HEAD.format(0) + REGISTER.format("A", 8, "rw"))
        self.write("bad.yaml", "name: 1\n")
        for new, status, word in (("m.yaml", 0, "identical"), ("more.yaml", 1, "compatible"), ("moved.yaml", 2, "breaking")):
            out, _ = self.expect(status, "diff", "m.yaml", new)
            self.assertIn(f"software: {word};", out)
            report = json.loads(self.expect(status, "diff", "m.yaml", new, "--json")[0])
            self.assertIn(word, json.dumps(report))
        self.expect(1, "diff", "m.yaml", "moved.yaml", "--for", "rtl")
        self.expect(2, "diff", "m.yaml", "moved.yaml", "--for", "both")
        self.expect(3, "diff", "m.yaml", "bad.yaml")
        self.expect(3, "diff", "nowhere.yaml", "m.yaml")

    def test_fmt(self):
        self.write("loose.yaml", GOOD.replace("      - {name: A", "      -   {name:   A"))
        self.expect(0, "fmt", "--check", "m.yaml")
        _, err = self.expect(1, "fmt", "--check", "m.yaml", "loose.yaml")
        self.assertIn("loose.yaml: not formatted", err)
        out, _ = self.expect(0, "fmt", "loose.yaml", "m.yaml")
        self.assertEqual(out, "loose.yaml\n")
        self.assertEqual((self.work / "loose.yaml").read_text(), GOOD)
        self.expect(2, "fmt", "--check", ".")
        self.expect(2, "fmt", "nowhere.yaml")

    def test_decode(self):
        self.write("d.yaml", GOOD + "descriptors: [{name: d, size: 2, fields: [{name: n, at: 0, width: 16}]}]\n")
        out, _ = self.expect(0, "decode", "d.yaml", "--block", "b", text="0x0: 0x12\n")
        self.assertEqual(out, "0x00000000 A = 0x00000012  v=0x12\n")
        out, _ = self.expect(0, "decode", "d.yaml", "--descriptor", "d", "-", text="3412\n")
        self.assertEqual(out, "d [0]\n  n = 0x1234\n")
        (self.work / "raw").write_bytes(b"\x00\x00\x34\x12")
        out, _ = self.expect(0, "decode", "d.yaml", "--descriptor", "d", "--binary", "raw")
        self.assertEqual(out, "d [0]\n  n = 0x0\nd [1]\n  n = 0x1234\n")
        _, err = self.expect(1, "decode", "d.yaml", "--block", "b", text="0: 1\nx\n")
        self.assertEqual(err, '-: error: line 2: expected "offset: value"\n')
        _, err = self.expect(1, "decode", "d.yaml", "--block", "bb")
        self.assertEqual(err, "d.yaml: error: --block bb: no block 'bb'; did you mean 'b'?\n")
        _, err = self.expect(1, "decode", "d.yaml", "--descriptor", "nothing")
        self.assertEqual(err, "d.yaml: error: --descriptor nothing: no descriptor 'nothing'; known: d\n")

    def test_import_of_the_own_export_is_the_same_map(self):
        self.expect(0, "gen", "m.yaml", "--outputs", "rdl", "--out-dir", ".")
        self.expect(0, "import", "m_regs.rdl", "-o", "again.yaml")
        self.expect(0, "diff", "m.yaml", "again.yaml", "--for", "both")
        self.assertEqual(self.expect(0, "import", "m_regs.rdl")[0], (self.work / "again.yaml").read_text())
        self.expect(0, "gen", "again.yaml", "--outputs", "all", "--out-dir", "all")

    def test_output_that_cannot_be_written(self):
        full = pathlib.Path("/dev/full")
        if not full.exists():
            self.skipTest("no /dev/full")
        self.expect(0, "gen", "m.yaml", "--outputs", "rdl", "--out-dir", ".")
        for status, *arguments in ((2, "schema"), (2, "import", "m_regs.rdl"), (2, "decode", "m.yaml", "--block", "b"),
                                   (2, "gen", "m.yaml", "--out-dir", "o"), (3, "diff", "m.yaml", "m.yaml")):
            with full.open("w") as out:
                _, err = self.expect(status, *arguments, text="0: 1\n", out=out)
            self.assertIn("standard output: cannot write", err)
        self.expect(2, "import", "m_regs.rdl", "-o", "/dev/full")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
