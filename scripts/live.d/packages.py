# SPDX-License-Identifier: Apache-2.0
"""Debian packages of the peer: fetched with all they need and unpacked in a folder, never installed.

apt resolves against an empty list of installed packages, so that the peer's programs come with their libraries, of
this machine's release, whatever is installed here. No root is needed for that.
"""

import os
import pathlib
import platform
import re
import subprocess
import time

from errors import Unavailable

USERLAND = ["perftest", "ibverbs-utils", "ibverbs-providers", "rdmacm-utils", "iproute2", "busybox-static"]
KERNEL = "linux-image-amd64"
PAUSES = [0, 15, 60]  # seconds before the next try, when packages could not be fetched


def system():
    """('debian', '12') of this machine."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "unknown", ""
    return release.get("ID", "unknown"), release.get("VERSION_ID", "")


def required():
    """Debian 12 has the kernel that the tests know: there a live peer must work."""
    return system() == ("debian", "12") and platform.machine() == "x86_64"


def run(command, what, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    except FileNotFoundError as error:
        raise Unavailable(f"{what}: no program {error.filename}") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        reasons = [line for line in lines if line.startswith("E: ")][:2] or lines[-1:]  # apt's last line is only advice
        raise Unavailable(f"{what}: {'; '.join(reasons) or f'status {done.returncode}'}")
    return done.stdout


class Archive:
    """apt with an empty system of its own below `folder`, on the package lists of this machine."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.archives = self.folder / "archives"
        (self.archives / "partial").mkdir(parents=True, exist_ok=True)
        self.status = self.folder / "status"
        self.status.write_text("")

    def apt(self, *arguments):
        options = {
            "Dir::State::status": self.status,
            "Dir::Cache::archives": self.archives,
            "Debug::NoLocking": "1",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",
            "Acquire::Retries": "3",
            "Acquire::http::Timeout": "30",
            "Acquire::https::Timeout": "30",
        }
        command = ["apt-get", "-q", "-y"]
        for key, value in options.items():
            command += ["-o", f"{key}={value}"]
        return run([*command, *arguments], "apt-get " + " ".join(arguments[:2]), cwd=self.archives)

    def kernel(self):
        """The kernel package that KERNEL stands for now."""
        listed = run(["apt-cache", "depends", "--important", KERNEL], "apt-cache depends")
        names = re.findall(r"Depends: (linux-image-\S+)", listed)
        if not names:
            raise Unavailable(f"package {KERNEL} is not known here")
        return names[0]

    def fetch(self):
        self.apt("--download-only", "install", *USERLAND)
        self.apt("download", self.kernel())
        return sorted(self.archives.glob("*.deb"))


def refresh():
    """Fetches the package lists anew, where that is allowed."""
    command = ["apt-get", "-q", "update"]
    run(command if os.geteuid() == 0 else ["sudo", "-n", *command], "apt-get update")


def fetch(archive, say):
    """The archive's packages. Lists may be old and servers busy: the lists are fetched anew, then it is tried again;
    what has come already is kept."""
    for pause in PAUSES:
        try:
            return archive.fetch()
        except Unavailable as error:
            say(f"{error}; trying again in {pause} s, with new package lists")
        time.sleep(pause)
        try:
            refresh()
        except Unavailable as error:
            say(str(error))
    try:
        return archive.fetch()
    except Unavailable as error:
        raise Unavailable(f"the peer's packages could not be fetched, tried {len(PAUSES) + 1} times: {error}") from None


def unpack(archives, folder):
    for archive in archives:
        run(["dpkg-deb", "-x", archive, folder], f"unpacking {archive.name}")
