#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generated Python modules against the generated C headers, compiled, and against a device that is a dictionary.

  python_test.py RNIC_REGS CC MAP...

Every number that a C header defines for registers, fields, enumerations and constants must be the module's; every setter
of a descriptor must make the bytes that pack() makes. Then the accessors: order of words, what they refuse.
"""

import importlib.util
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, COMPILER, MAPS = sys.argv[1], sys.argv[2], sys.argv[3:]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="regs_py_"))


def load(map_path):
    """The module and the text of the C header."""
    out = WORK / pathlib.Path(map_path).stem
    subprocess.run([PROGRAM, "gen", map_path, "--outputs", "c,py", "--out-dir", out], check=True, stdout=subprocess.DEVNULL)
    source = next(out.glob("*_regs.py"))
    spec = importlib.util.spec_from_file_location(f"{out.name}_{source.stem}", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, next(out.glob("*_regs.h"))


def run_c(header, body, name):
    """What a C program that includes the header prints."""
    source = WORK / f"{name}.c"
    source.write_text(f'#include "{header}"\n#include <stdio.h>\nint main(void) {{\n{body}\nreturn 0; }}\n')
    subprocess.run([COMPILER, "-std=c11", "-Wall", "-Werror", "-o", WORK / name, source], check=True)
    return subprocess.run([WORK / name], check=True, capture_output=True, text=True).stdout.splitlines()


class Device:
    """A bus that is a dictionary, and remembers what was done to it."""

    def __init__(self, **words):
        self.words, self.log = {}, []

    def read32(self, offset):
        self.log.append(("r", offset))
        return self.words.get(offset, 0)

    def write32(self, offset, value):
        self.log.append(("w", offset, value))
        self.words[offset] = value


def blocks_of(module):
    return [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, module.Block) and c.NAME]


def descriptors_of(module):
    return [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, module.Descriptor) and c.NAME]


class AgainstC(unittest.TestCase):
    def test_every_number_of_the_header(self):
        for path in MAPS:
            module, header = load(path)
            upper = module.MAP_NAME.upper()
            want = {}  # C expression: value
            for name, value in vars(module.Constants).items() if hasattr(module, "Constants") else ():
                if not name.startswith("_"):
                    want[f"{upper}_{name}"] = value
            for c in vars(module).values():
                if isinstance(c, type) and issubclass(c, module.enum.IntEnum) and c.__name__.endswith("Enum") and len(c):
                    stem = re.sub(r"(?<!^)(?=[A-Z])", "_", c.__name__[:-4]).upper()
                    for member in c:
                        want[f"{upper}_{stem}_{member.name}"] = member.value
            for block in blocks_of(module):
                stem = f"{upper}_{block.NAME.upper()}"
                want[f"{stem}_SIZE"] = block.SIZE
                want[f"{stem}_BAR"] = block.BAR
                device = block(Device())
                for info in block.registers().values():
                    for index, register in self.elements(module, device[info.name]):
                        args = f"({', '.join(map(str, index))})" if index else ""
                        want[f"{stem}_{info.name}{args}"] = register.address
                    want[f"{stem}_{info.name}_RESET_VALUE"] = info.reset
                    for f in info.fields.values():
                        want[f"{stem}_{info.name}_{f.name.upper()}_MASK"] = f.mask
                        want[f"{stem}_{info.name}_{f.name.upper()}_SHIFT"] = f.lsb
                for name, offset, size, _ in block.windows().values():
                    want[f"{stem}_{name}"] = offset
                    want[f"{stem}_{name}_SIZE"] = size
            want[f"{upper}_MAP_HASH"] = module.MAP_HASH
            text = header.read_text()
            defined = set(re.findall(rf"\b({upper}_\w+)", text))
            missing = [e for e in want if e.split("(")[0] not in defined]
            self.assertEqual(missing, [], path)
            body = "\n".join(f'printf("%llx\\n", (unsigned long long)({e}));' for e in want)
            got = [int(x, 16) for x in run_c(header, body, f"{header.stem}_numbers")]
            self.assertGreater(len(got), 20, path)
            for (expression, value), c_value in zip(want.items(), got, strict=True):
                self.assertEqual(value, c_value, f"{path}: {expression}")

    def elements(self, module, item, index=()):
        if isinstance(item, module.RegisterArray):
            for i in range(len(item)):
                yield from self.elements(module, item[i], (*index, i))
        else:
            yield index, item

    def test_every_field_of_descriptors(self):
        rng = random.Random(1)
        n = 0
        for path in MAPS:
            module, header = load(path)
            lower = module.MAP_NAME.lower()
            text = header.read_text()
            body, want = [], []
            for d in descriptors_of(module):
                variants = [(None, None, ())] + [(tag, v[1][0], v[2]) for tag, vs in d._UNIONS for v in vs]
                for tag, value, more in variants:
                    for name, _, width, is_bytes, _ in more if tag else d._FIELDS:
                        setter = next((s for s in (f"{lower}_{d.NAME}_set_{name}", *self.variant_setters(text, lower, d, name))
                                       if f" {s}(" in text), None)
                        self.assertIsNotNone(setter, f"{path}: {d.NAME}.{name}")
                        given = {tag: value} if tag else {}
                        body.append(f"{{ unsigned char d[{d.SIZE}] = {{0}}; unsigned i;")
                        if tag:
                            body.append(f"{lower}_{d.NAME}_set_{tag}(d, {value});")
                        if is_bytes:
                            given[name] = rng.randbytes(width // 8)
                            body.append(f"{{ const unsigned char b[] = {{{', '.join(map(str, given[name]))}}}; {setter}(d, b); }}")
                        else:
                            given.setdefault(name, rng.getrandbits(width))
                            body.append(f"{setter}(d, {given[name]:#x}ull);")
                        body.append('for (i = 0; i < sizeof(d); ++i) { printf("%02x", d[i]); } printf("\\n"); }')
                        want.append((d, given))
            if not body:
                continue
            for line, (d, given) in zip(run_c(header, "\n".join(body), f"{header.stem}_fields"), want, strict=True):
                n += 1
                if any(t in given and len(given) == 1 for t, _ in d._UNIONS):
                    continue  # a tag alone, perhaps of no variant: judged below
                self.assertEqual(d(**given).pack().hex(), line, f"{path}: {d.NAME} {given}")
                self.assertEqual(d.unpack(bytes.fromhex(line)), d(**given))
        self.assertGreater(n, 20)

    @staticmethod
    def variant_setters(text, lower, d, name):
        return [f"{lower}_{d.NAME}_{v[0]}_set_{name}" for _, vs in d._UNIONS for v in vs if any(f[0] == name for f in v[2])] + \
               [f"{lower}_{d.NAME}_set_{v[0]}_{name}" for _, vs in d._UNIONS for v in vs if any(f[0] == name for f in v[2])]


class Accessors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m, _ = load(next(p for p in MAPS if p.endswith("all_map.yaml")))

    def setUp(self):
        self.bus = Device()
        self.b = self.m.PlainBlock(self.bus)

    def test_values_have_fields_and_members(self):
        self.bus.words[0] = 0xAA3C5A02
        value = self.b.RW.read()
        self.assertEqual(value, 0xAA3C5A02)
        self.assertIs(value.mode, self.m.ModeEnum.AUTO)
        self.assertEqual((value["start"], value.loaded, value.soft), (0x5A, 0x3C, 0xAA))
        self.assertEqual(str(value), "0xaa3c5a02 mode=AUTO start=90 loaded=60 soft=170")
        self.bus.words[0] = 3
        self.assertEqual(self.b.RW.read().mode, 3)  # a value without a name

    def test_write_takes_resets_and_what_changes_nothing(self):
        self.b.RW.write(mode="ON")
        self.assertEqual(self.bus.log, [("w", 0, 0x003C5A01)])
        self.bus.log.clear()
        self.b.ZERO.write(c=0xFE)  # w0c, w0s, w0t: ones change nothing
        self.assertEqual(self.bus.log, [("w", 0x10, 0xFFFFFE)])
        self.bus.log.clear()
        self.b.ONE.write(s=1)  # w1c, w1s, w1t: zeros change nothing
        self.assertEqual(self.bus.log, [("w", 0x0C, 0x100)])
        with self.assertRaisesRegex(self.m.AccessError, "every write acts on ANY.s"):
            self.b.ANY.write(c=1)

    def test_modify_refuses_what_could_do_harm(self):
        with self.assertRaisesRegex(self.m.AccessError, "RW.loaded"):
            self.b.RW.modify(mode=1)  # hardware may load it between the read and the write
        with self.assertRaisesRegex(self.m.AccessError, "a read acts on ON_READ"):
            self.b.ON_READ.modify(ws=1)
        with self.assertRaisesRegex(self.m.AccessError, "WO.top"):
            self.b.WO.modify(v=1)
        self.assertEqual(self.bus.log, [])
        self.bus.words[0x28] = 0b101
        with self.assertRaises(self.m.AccessError):
            self.b.LOCK.modify(open=0)  # key is rw_once
        self.bus.words[0x58] = 0x89ABCDEF
        self.bus.words[0x5C] = 0x01234567
        self.b.WIDE["v"].set(5)
        self.assertEqual(self.bus.log, [("r", 0x58), ("r", 0x5C), ("w", 0x58, 5), ("w", 0x5C, 0)])

    def test_modify_keeps_what_it_does_not_name(self):
        self.bus.words[0x100] = 0x0000_0001
        self.b.CHAN_CTRL[0].modify(on=0)  # lock is w1s: a 0 changes nothing
        self.assertEqual(self.bus.log[-1], ("w", 0x100, 0))
        self.bus.words[0x140] = 0x8000_0000
        self.b.CHAN_CTRL[1].modify(on=1)
        self.assertEqual(self.bus.log[-1], ("w", 0x140, 1))

    def test_arrays(self):
        self.assertEqual(self.b.CHAN_RING_HEAD[1][1].address, 0x100 + 0x40 + 0x10 + 0x10)
        self.assertEqual(self.b.CHAN_RING_HEAD[1, 0].address, 0x150)
        self.assertEqual([r.address for r in self.b.PAR], [0xC0, 0xC4, 0xC8])
        with self.assertRaises(IndexError):
            self.b.PAR[3].read()

    def test_errors_name_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, "0x4 does not fit into mode, 2 bits"):
            self.b.RW.write(mode=4)
        with self.assertRaisesRegex(ValueError, "no value named 'SLOW'"):
            self.b.RW.write(mode="SLOW")
        with self.assertRaisesRegex(AttributeError, "RW has no field 'mod'"):
            self.b.RW.write(mod=4)
        with self.assertRaisesRegex(self.m.AccessError, "RO.live cannot be written"):
            self.b.RO.write(live=1)
        with self.assertRaisesRegex(self.m.AccessError, "WO cannot be read"):
            self.b.WO.read()
        with self.assertRaisesRegex(AttributeError, "no register or window 'NONE'"):
            self.b.NONE.read()
        with self.assertRaises(self.m.AccessError):
            self.b.ROM.write32(0, 1)
        with self.assertRaises(self.m.AccessError):
            self.b.MEM.read32(0x100)
        self.assertEqual(self.bus.log, [])

    def test_map_hash(self):
        self.bus.words[0x304] = self.m.MAP_HASH
        self.b.check_map_hash()
        self.bus.words[0x304] ^= 1
        with self.assertRaises(self.m.MapMismatch):
            self.b.check_map_hash()

    def test_windows_and_base(self):
        b = self.m.PlainBlock(self.bus, base=0x10000)
        b.MEM.write_bytes(8, bytes(range(6)))
        self.assertEqual(self.bus.log, [("w", 0x10808, 0x03020100), ("w", 0x1080C, 0x0504)])
        self.assertEqual(b.MEM.read_bytes(8, 6), bytes(range(6)))

    def test_dump_is_what_decode_reads(self):
        self.bus.words[0] = 2
        text = self.b.dump()
        self.assertNotIn("\n0x18:", "\n" + text)  # ON_READ: a read acts
        path = next(p for p in MAPS if p.endswith("all_map.yaml"))
        shown = subprocess.run([PROGRAM, "decode", path, "--block", "plain", "-"], input=text, text=True, check=True,
                               capture_output=True).stdout
        self.assertRegex(shown, r"0x00000000 RW = 0x00000002 +mode=AUTO")

    def test_mmap_of_a_file(self):
        path = WORK / "resource"
        path.write_bytes(bytes(0x1000))
        with self.m.MmapBus(path) as bus:
            b = self.m.PlainBlock(bus)
            b.RW.write(mode="AUTO", start=1)
            self.assertEqual(b.RW.read().mode, self.m.ModeEnum.AUTO)
            with self.assertRaises(self.m.AccessError):
                bus.read32(2)
            with self.assertRaises(self.m.AccessError):
                bus.write32(0x1000, 0)
            del b
        self.assertEqual(path.read_bytes()[:4], (0x003C0102).to_bytes(4, "little"))


class Descriptors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m, _ = load(next(p for p in MAPS if p.endswith("keys_map.yaml")))

    def test_unions_follow_the_tag(self):
        job = self.m.JobDesc
        d = job(kind="A", n=0x12, tag=b"abcd")
        self.assertEqual(d.pack().hex(), "0000120061626364")
        self.assertEqual(job.unpack(d.pack()), d)
        self.assertEqual(job(kind="B", m=0x1234).pack().hex(), "0100341200000000")
        self.assertEqual(job.unpack(bytes.fromhex("0100341200000000")).m, 0x1234)
        with self.assertRaisesRegex(ValueError, "job has m only with another value"):
            job(kind="A", m=1).pack()
        with self.assertRaises(AttributeError):
            job(kind="A").m
        with self.assertRaisesRegex(ValueError, "8 bytes, not 7"):
            job.unpack(bytes(7))
        with self.assertRaisesRegex(ValueError, "tag is 4 bytes, not 3"):
            job(tag=b"abc").pack()
        self.assertEqual(job(module=0xF).pack().hex(), "003c000000000000")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
