#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every RTL module alone with Verilator (lint, -Wall) and Yosys (hierarchy, proc, check).

Modules with a parameter DATA_W are linted at 128, 256, 512 and 1024. Runs in parallel; a result is
kept under the build folder by the contents of all files that the module uses and the tool's version,
so that a second run takes no time. Exits with 1 when anything is reported.

  rtl_check.py [--cache DIR] [--jobs N] [--only verilator|yosys] [MODULE...]
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RTL = ROOT / "rtl"
WIDTHS = (128, 256, 512, 1024)
# Registers in an array that is read in several places at once: meant so. Newer versions of Verilator
# report sizes and times.
HARMLESS = re.compile(
    r"Warning: Replacing memory \S+ with list of registers|^- (V e r i l a t i o n|Verilator:) "
)
WORD = re.compile(r"`?[A-Za-z_][A-Za-z0-9_$]*")


def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


class Sources:
    """All modules and packages, and who uses whom."""

    def __init__(self):
        self.text = {}
        self.modules = {}
        self.packages = []
        for path in sorted(RTL.glob("*/*.sv")):
            self.text[path] = path.read_text()
            code = strip_comments(self.text[path])
            if re.search(r"^\s*package\s+(\w+)", code, re.M):
                self.packages.append(path)
            for name in re.findall(r"^\s*module\s+(?:automatic\s+)?(\w+)", code, re.M):
                self.modules[name] = path
        for path in RTL.glob("*/*.svh"):
            self.text[path] = path.read_text()
        self.headers = {p.name: p for p in self.text if p.suffix == ".svh"}
        self.package_of = {p.stem: p for p in self.packages}
        self.uses = {path: self._uses(path) for path in self.text}

    def _uses(self, path):
        code = strip_comments(self.text[path])
        found = set()
        words = set(WORD.findall(code))
        for word in words:
            if word in self.modules and self.modules[word] != path:
                found.add(self.modules[word])
            if word in self.package_of and self.package_of[word] != path:
                found.add(self.package_of[word])
        for name in re.findall(r'`include\s+"([^"]+)"', code):
            if name in self.headers:
                found.add(self.headers[name])
        return found

    def closure(self, path):
        seen, todo = set(), [path]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            todo.extend(self.uses[at])
        return sorted(seen)

    def files(self, module):
        """Sources of a module, packages first, no headers."""
        closure = [p for p in self.closure(self.modules[module]) if p.suffix == ".sv"]
        packages = [p for p in self.packages if p in closure]
        return packages + [p for p in closure if p not in packages]

    def data_w(self, module):
        """Default of the parameter DATA_W, or None."""
        found = re.search(
            r"parameter\s+(?:int\s+unsigned\s+)?DATA_W\s*=\s*(\w+)",
            strip_comments(self.text[self.modules[module]]),
        )
        return found.group(1) if found else None


def include_args():
    return [f"-I{RTL / 'common'}"]


def verilator_job(sources, module, width):
    args = ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "--unroll-count", "256"]
    args += include_args() + [str(ROOT / "scripts/cmake/verilator.vlt")]
    args += ["--top-module", module]
    if width:
        args += [f"-GDATA_W={width}"]
    return args + [str(p) for p in sources.files(module)]


def yosys_job(sources, module):
    files = " ".join(str(p) for p in sources.files(module))
    includes = " ".join(include_args())
    script = (
        f"read_verilog -sv {includes} {files}; hierarchy -check -top {module}; proc; check -assert"
    )
    return ["yosys", "-q", "-p", script]


def tool_version(name):
    flag = "-V" if name == "yosys" else "--version"
    return subprocess.run([name, flag], capture_output=True, text=True, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", default=str(ROOT / "build/check"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=("verilator", "yosys"))
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()

    sources = Sources()
    unknown = [m for m in options.modules if m not in sources.modules]
    if unknown:
        print(f"rtl_check: no module {', '.join(unknown)}", file=sys.stderr)
        return 2
    modules = options.modules or sorted(sources.modules)
    cache = pathlib.Path(options.cache)
    cache.mkdir(parents=True, exist_ok=True)

    jobs = []  # (label, command, key)
    for tool in ("verilator", "yosys"):
        if options.only not in (None, tool):
            continue
        version = tool_version(tool)
        for module in modules:
            closure = sources.closure(sources.modules[module])
            widths = (None,)
            if tool == "verilator" and sources.data_w(module):
                widths = WIDTHS
            for width in widths:
                if tool == "verilator":
                    command = verilator_job(sources, module, width)
                    label = f"verilator {module}" + (f" DATA_W={width}" if width else "")
                else:
                    command = yosys_job(sources, module)
                    label = f"yosys     {module}"
                key = hashlib.sha256()
                key.update(version.encode())
                key.update(" ".join(command).encode())
                key.update((ROOT / "scripts/cmake/verilator.vlt").read_bytes())
                for path in closure:
                    key.update(sources.text[path].encode())
                jobs.append((label, command, key.hexdigest()))

    # The largest first, so that no processor waits for it at the end.
    jobs.sort(key=lambda job: -len(job[1][-1]) if job[1][0] == "yosys" else -len(job[1]))
    todo = [job for job in jobs if not (cache / job[2]).exists()]
    print(f"rtl_check: {len(modules)} modules, {len(jobs)} checks, {len(todo)} to run", flush=True)

    def run(job):
        label, command, key = job
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=900)
            output, status = done.stdout + done.stderr, done.returncode
        except subprocess.TimeoutExpired:
            output, status = "took more than 900 s", 1
        output = "\n".join(
            line for line in output.splitlines() if line.strip() and not HARMLESS.search(line)
        )
        clean = status == 0 and not output
        if clean:
            (cache / key).write_text(label + "\n")
        return label, clean, output, time.monotonic() - start

    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for label, clean, output, seconds in pool.map(run, todo):
            if clean:
                continue
            failed.append(label)
            lines = output.splitlines()
            print(f"---- {label} ({seconds:.1f} s)")
            print("\n".join(lines[:30]).replace(str(ROOT) + "/", ""))
            if len(lines) > 30:
                print(f"     ... {len(lines) - 30} lines more")
            sys.stdout.flush()
    if failed:
        print(f"rtl_check: {len(failed)} of {len(jobs)} checks report something:")
        for label in failed:
            print(f"  {label}")
        return 1
    print("rtl_check: clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
