# SPDX-License-Identifier: Apache-2.0
"""The peer's memory image (a newc cpio archive) out of unpacked Debian packages.

Programs, the libraries they name, the kernel modules in the order in which they load. The scripts in `guest/` beside
this file come as a second archive behind it, when the peer boots.
"""

import fnmatch
import lzma
import os
import pathlib
import re
import struct

from errors import Unavailable

GUEST = pathlib.Path(__file__).resolve().parent / "guest"
PROGRAMS = ["busybox", "ip", "rdma", "ibv_*", "ib_*", "rping", "ucmatose", "udaddy"]
LIBRARIES = ["librxe-rdmav*.so", "libgcc_s.so.1"]  # opened by name when the program runs
MODULES = ["virtio_pci", "virtio_net", "virtio_console", "virtio_rng", "crc32_generic", "crc32c_generic",
           "ib_uverbs", "rdma_rxe", "rdma_ucm", "ib_umad"]
LIBRARY_FOLDER = "usr/lib/x86_64-linux-gnu"
LINKS = {"bin": "usr/bin", "sbin": "usr/bin", "usr/sbin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
FOLDERS = ["dev", "proc", "sys", "tmp", "run", "root", "etc"]


class Elf:
    """As much of a 64-bit ELF file as tells which libraries it needs."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        offset, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(count)]

    def at(self, address):
        """Position in the file of a virtual address."""
        for kind, _, offset, start, _, length, _, _ in self.segments:
            if kind == 1 and start <= address < start + length:
                return offset + address - start
        raise ValueError(f"address {address:#x} is in no segment")

    def needed(self):
        dynamic = []
        for kind, _, offset, _, _, length, _, _ in self.segments:
            if kind == 2:
                dynamic = [struct.unpack_from("<QQ", self.data, offset + i) for i in range(0, length, 16)]
        strings = next((self.at(value) for tag, value in dynamic if tag == 5), 0)
        return [self.text(strings + value) for tag, value in dynamic if tag == 1]

    def interpreter(self):
        for kind, _, offset, *_ in self.segments:
            if kind == 3:
                return self.text(offset)
        return None

    def text(self, offset):
        return self.data[offset : self.data.index(b"\0", offset)].decode()


class Cpio:
    """Files for the kernel to unpack, as `cpio -H newc` writes them."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def add(self, name, mode, data=b""):
        if name in self.names:
            return
        parent = name.rpartition("/")[0]
        if parent and parent not in self.names:
            self.add(parent, 0o040755)
        self.names.add(name)
        self._entry(name, mode, data)

    def _entry(self, name, mode, data):
        encoded = name.encode() + b"\0"
        fields = [len(self.parts) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        self.parts.append(padded(head) + padded(data))

    def bytes(self):
        self._entry("TRAILER!!!", 0, b"")
        return b"".join(self.parts)


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def module_name(path):
    return re.sub(r"\.ko(\.xz)?$", "", path.name).replace("-", "_")


def module_bytes(path):
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def module_needs(data):
    found = re.search(rb"\0depends=([^\0]*)\0", data)
    return [name.replace("-", "_") for name in found.group(1).decode().split(",") if name] if found else []


class Image:
    """Collects the files of one peer from `root`, where packages are unpacked."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.archive = Cpio()
        self.files = {}
        for path in sorted(self.root.rglob("*")):
            if not path.is_dir():
                self.files.setdefault(path.name, path)
        for folder in FOLDERS:
            self.archive.add(folder, 0o040755)
        for name, target in LINKS.items():
            self.archive.add(target, 0o040755)
            self.archive.add(name, 0o120777, os.path.relpath(target, os.path.dirname(name) or ".").encode())

    def find(self, name):
        path = self.files.get(name)
        if path is None:
            raise Unavailable(f"the peer's packages have no {name}")
        return path

    def resolve(self, path):
        """What a link inside the packages points to, which may be absolute."""
        while path.is_symlink():
            target = os.readlink(path)
            path = self.root / target.lstrip("/") if target.startswith("/") else path.parent / target
            if not path.exists() and not path.is_symlink():
                path = self.find(path.name)
        return path

    def add_binary(self, target, path):
        if target in self.archive.names:
            return
        data = self.resolve(path).read_bytes()
        self.archive.add(target, 0o100755, data)
        elf = Elf(data)
        if loader := elf.interpreter():
            self.add_library(os.path.basename(loader), "usr/lib64")
        for name in elf.needed():
            self.add_library(name)

    def add_library(self, name, folder=LIBRARY_FOLDER):
        if name.startswith("ld-linux"):
            folder = "usr/lib64"
        self.add_binary(f"{folder}/{name}", self.find(name))

    def programs(self):
        folders = {"bin", "sbin"}
        for pattern in PROGRAMS:
            found = [path for name, path in self.files.items()
                     if fnmatch.fnmatch(name, pattern) and path.parent.name in folders]
            if not found:
                raise Unavailable(f"the peer's packages have no program {pattern}")
            for path in found:
                if self.resolve(path).read_bytes()[:4] == b"\x7fELF":
                    self.add_binary(f"usr/bin/{path.name}", path)
        for pattern in LIBRARIES:
            for name in [name for name in self.files if fnmatch.fnmatch(name, pattern)]:
                folder = f"{LIBRARY_FOLDER}/libibverbs" if "rdmav" in name else LIBRARY_FOLDER
                self.add_binary(f"{folder}/{name}", self.files[name])
        self.archive.add("etc/libibverbs.d/rxe.driver", 0o100644, b"driver rxe\n")

    def modules(self):
        """Adds the modules and the list in which every one stands behind those that it needs."""
        known = {module_name(path): path for name, path in self.files.items() if re.search(r"\.ko(\.xz)?$", name)}
        if not known:
            raise Unavailable("the peer's kernel package has no modules")
        order = []

        def visit(name):
            if name in order or name not in known:  # what is no module is part of the kernel
                return
            data = module_bytes(known[name])
            for need in module_needs(data):
                visit(need)
            order.append(name)
            self.archive.add(f"modules/{name}.ko", 0o100644, data)

        for name in MODULES:
            visit(name)
        if "rdma_rxe" not in order:
            raise Unavailable("the peer's kernel package has no module rdma_rxe")
        self.archive.add("modules/order", 0o100644, "".join(f"{name}\n" for name in order).encode())

    def build(self):
        self.programs()
        self.modules()
        return self.archive.bytes()

    def kernel(self):
        names = [name for name in self.files if name.startswith("vmlinuz-")]
        if not names:
            raise Unavailable("the peer's kernel package has no kernel")
        return self.files[names[0]].read_bytes()


def guest_scripts():
    archive = Cpio()
    for path in sorted(GUEST.iterdir()):
        archive.add(path.name, 0o100755, path.read_bytes())
    return archive.bytes()
