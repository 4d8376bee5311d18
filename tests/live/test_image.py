# SPDX-License-Identifier: Apache-2.0
"""The memory image: what a program needs, the order of modules, the archive."""

import lzma
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import here  # noqa: F401

import image
from errors import Unavailable


def module(*needs):
    return b"\x7fELF..\0license=GPL\0depends=" + ",".join(needs).encode() + b"\0vermagic=6.1\0"


class Packages(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())

    def file(self, name, data):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def test_a_program_needs_what_readelf_says(self):
        program = pathlib.Path(sys.executable).resolve()
        listed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        elf = image.Elf(program.read_bytes())
        self.assertEqual(elf.needed(), re.findall(r"\(NEEDED\).*\[(.*)\]", listed))
        self.assertTrue(pathlib.Path(elf.interpreter()).exists())
        with self.assertRaises(ValueError):
            image.Elf(b"#!/bin/sh\n")

    def test_modules_load_behind_those_they_need(self):
        self.file("lib/modules/6.1/kernel/a/rdma_rxe.ko", module("ib_core", "udp-tunnel"))
        self.file("lib/modules/6.1/kernel/a/ib_core.ko", module("builtin_thing"))
        self.file("lib/modules/6.1/kernel/b/udp_tunnel.ko.xz", lzma.compress(module("ib_core")))
        made = image.Image(self.root)
        made.modules()
        order = lines(made.archive, "modules/order")
        self.assertEqual(order, ["ib_core", "udp_tunnel", "rdma_rxe"])

    def test_packages_without_a_needed_part_are_told(self):
        for needed, act in (("program busybox", "programs"), ("no modules", "modules"), ("kernel", "kernel")):
            with self.assertRaisesRegex(Unavailable, needed):
                getattr(image.Image(self.root), act)()
        self.file("lib/modules/6.1/kernel/ib_core.ko", module())
        with self.assertRaisesRegex(Unavailable, "rdma_rxe"):
            image.Image(self.root).modules()

    def test_links_inside_the_packages_are_followed(self):
        self.file("usr/lib/libx.so.1.2", b"library")
        (self.root / "usr/lib/libx.so.1").symlink_to("libx.so.1.2")
        (self.root / "usr/lib/libx.so").symlink_to("/usr/lib/libx.so.1")
        made = image.Image(self.root)
        self.assertEqual(made.resolve(made.find("libx.so")).read_bytes(), b"library")


class Archive(unittest.TestCase):
    def test_entries_have_parents_names_modes_and_data(self):
        archive = image.Cpio()
        archive.add("a/b/c", 0o100755, b"12345")
        archive.add("a/b/c", 0o100755, b"once is enough")
        archive.add("link", 0o120777, b"a/b/c")
        found = {name: (mode, data) for name, mode, data in entries(archive.bytes())}
        self.assertEqual(found["a/b/c"], (0o100755, b"12345"))
        self.assertEqual(found["a"][0], 0o040755)
        self.assertEqual(found["link"], (0o120777, b"a/b/c"))
        self.assertEqual(list(found), ["a", "a/b", "a/b/c", "link", "TRAILER!!!"])

    def test_the_peers_scripts_are_shell(self):
        for name, _, data in entries(image.guest_scripts()):
            if name != "TRAILER!!!":
                subprocess.run(["sh", "-n"], input=data, check=True)


def entries(data):
    """A second reading of the newc format: each field eight hexadecimal digits, name and data padded to 4 bytes."""
    offset = 0
    while offset < len(data):
        assert data[offset : offset + 6] == b"070701"
        fields = [int(data[offset + 6 + 8 * i : offset + 14 + 8 * i], 16) for i in range(13)]
        name_end = offset + 110 + fields[11]
        start = name_end + -name_end % 4
        yield data[offset + 110 : name_end - 1].decode(), fields[1], data[start : start + fields[6]]
        offset = start + fields[6] + -fields[6] % 4


def lines(archive, name):
    return next(data for entry, _, data in entries(archive.bytes()) if entry == name).decode().split()


if __name__ == "__main__":
    unittest.main()
