# SPDX-License-Identifier: Apache-2.0
"""Kernel and memory image of the peer, made once and kept.

They live in $XDG_CACHE_HOME/rnic/live/KEY (~/.cache/rnic/live/KEY); KEY follows this machine's release and the files
that say what is in the image. `packages.txt` there names the packages with their versions.
"""

import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import time

import image
import packages
from errors import Unavailable

HERE = pathlib.Path(__file__).resolve().parent
EMULATOR = "qemu-system-x86_64"
FILES = ["vmlinuz", "image.cpio", "packages.txt"]
SUMS = "sums.json"  # of FILES, SHA-256


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "rnic/live"


def key():
    digest = hashlib.sha256(repr(packages.system()).encode())
    for path in [HERE / "packages.py", HERE / "image.py"]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def emulator():
    """Version line of the emulator."""
    if shutil.which(EMULATOR) is None:
        raise Unavailable(f"no {EMULATOR} here (Debian package qemu-system-x86)")
    return packages.run([EMULATOR, "--version"], EMULATOR).splitlines()[0]


def build(folder, say):
    """Fetches packages and writes FILES into `folder`."""
    with tempfile.TemporaryDirectory(prefix="rnic-live-") as work:
        archive = packages.Archive(pathlib.Path(work) / "apt")
        say("fetching the packages of the peer (some 85 MB; nothing is installed)")
        archives = packages.fetch(archive, say)
        say(f"unpacking {len(archives)} packages, making the image")
        root = pathlib.Path(work) / "root"
        packages.unpack(archives, root)
        peer = image.Image(root)
        (folder / "vmlinuz").write_bytes(peer.kernel())
        (folder / "image.cpio").write_bytes(peer.build())
        (folder / "packages.txt").write_text("".join(f"{path.name}\n" for path in archives))
        seal(folder)


def sums(folder):
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def seal(folder):
    (folder / SUMS).write_text(json.dumps(sums(folder), indent=1) + "\n")


def whole(folder):
    """Whether a kept peer is as it was made; one of a time without sums is taken as it is."""
    if not all((folder / name).exists() for name in FILES):
        return False
    if not (folder / SUMS).exists():
        return all((folder / name).stat().st_size > 0 for name in FILES)
    try:
        return json.loads((folder / SUMS).read_text()) == sums(folder)
    except ValueError:
        return False


def prepare(say, anew=False):
    """Folder with the peer's kernel and image; made when it is not there yet."""
    if packages.run(["dpkg", "--print-architecture"], "dpkg").strip() != "amd64":
        raise Unavailable("the peer is an amd64 system, made of this machine's packages")
    say(f"emulator: {emulator()}")
    folder = cache_folder() / key()
    if folder.exists() and not anew and not whole(folder):
        say(f"{folder} is damaged: it is made anew")
    elif folder.exists() and not anew:
        say(f"peer: {describe(folder)}, in {folder}")
        return folder
    began = time.monotonic()
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        build(fresh, say)
        install(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    say(f"peer: {describe(folder)}, in {folder}, made in {time.monotonic() - began:.0f} s")
    return folder


def install(fresh, folder):
    """In one step, since several runs may prepare at the same time; whoever comes last is kept."""
    old = fresh.with_name(fresh.name.replace("new-", "old-"))
    if folder.exists():
        folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:  # somebody else was quicker
        if not folder.exists():
            raise
    shutil.rmtree(old, ignore_errors=True)


def describe(folder):
    """Kernel and tools of a peer, as their packages are called."""
    wanted = ("linux-image", "perftest", "rdmacm-utils")
    names = (folder / "packages.txt").read_text().split()
    return ", ".join(name.rsplit("_", 1)[0] for name in names if name.startswith(wanted))
