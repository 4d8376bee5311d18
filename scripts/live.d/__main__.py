# SPDX-License-Identifier: Apache-2.0
"""Unmodified RDMA tools of Linux against the Verilated NIC. `scripts/live --help` tells the options."""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import cases
import decode
import packages
import prepare
import process
import report
from errors import LiveError, Unavailable
from peer import Peer
from replay import Replays
from runner import Runner

SKIPPED = 77


def say(text):
    print(f"live: {text}", flush=True)


def seed(text):
    value = int(text)
    if not 0 <= value < 1 << 63:  # a case adds to it
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 2^63 - 1")
    return value


def seconds(text):
    value = float(text)
    if not 1 <= value <= 1e6:  # refuses nan too
        raise argparse.ArgumentTypeError(f"{text} is not from 1 to 1000000 s")
    return value


def alone(out):
    """Makes the folder of the results ours, until the file that is returned is closed."""
    out.mkdir(parents=True, exist_ok=True)
    lock = open(out / ".lock", "w")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise LiveError(f"{out}: another scripts/live writes there (--out names another folder)") from None
    return lock


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="scripts/live", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Boots an emulated Linux peer with a software RoCEv2 device, links it with the Verilated NIC and runs\n"
                    "unmodified RDMA tools on it, the NIC as their server and as their client.",
        epilog="Exit status: 0 all is well; 1 something failed; 2 the command line is wrong; 77 skipped, since no peer can\n"
               "be had here (a failure on Debian 12, where it is required).")  # fmt: skip
    parser.add_argument("tool", nargs="*", help="only these tools, or cases by name; * and ? match")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--representative", dest="set", action="store_const", const="representative",
                       help="every tool, role, MTU and address family, some trouble (default)")  # fmt: skip
    which.add_argument("--soak", dest="set", action="store_const", const="soak", help="the whole matrix")
    which.add_argument("--faults", dest="set", action="store_const", const="faults", help="trouble on the wire and at the ends")
    parser.add_argument("--list", action="store_true", help="the cases, one a line")
    parser.add_argument("--json", metavar="F", help="results as JSON")
    parser.add_argument("--out", metavar="DIR", default="out/live", help="captures, logs, scenarios (default %(default)s)")
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="seed of the simulations (default %(default)s)")
    parser.add_argument("--limit", type=seconds, default=300, metavar="S", help="seconds of one case (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keeps the folder with the peer's console and sockets")
    parser.add_argument("--prepare", action="store_true", help="only prepares the peer")
    parser.add_argument("--anew", action="store_true", help="fetches the peer's packages again")
    parser.add_argument("--no-replay", action="store_true", help="does not replay the captures")
    parser.add_argument("--simulator", metavar="PROGRAM", default="build/bin/rnic-sim", help=argparse.SUPPRESS)
    parsed = parser.parse_args(words)
    parsed.holder = pathlib.Path(parsed.simulator).resolve().with_name("librnic_peer_clock.so")
    parsed.set = parsed.set or "representative"
    return parsed


def chosen(options):
    """Cases of the set that the command line names; a name that fits none is an error."""
    known = cases.SETS[options.set]()
    if not options.tool:
        return known
    for pattern in options.tool:
        if not cases.matching(known, [pattern]):
            raise ValueError(f"no tool or case '{pattern}' in this set (--list shows them)")
    return cases.matching(known, options.tool)


def run_all(options, selected, folder):
    """Outcomes of the cases, in order; prints the table as it goes."""
    outcomes = []
    replays = Replays(options.simulator)
    out = pathlib.Path(options.out)
    run = tempfile.mkdtemp(prefix="rnic-live-")
    try:
        with Peer(folder, run, say, options.holder) as peer:
            say(f"booted in {peer.boot_seconds:.0f} s")
            print(report.head(), flush=True)
            runner = Runner(peer, options.simulator, out, options.seed, options.limit)
            for case in selected:
                outcome = runner.run(case)
                outcomes.append(outcome)
                print(report.line(outcome), flush=True)
                for problem in outcome.problems:
                    print(f"    {problem}", flush=True)
                if not options.no_replay:
                    replays.add(outcome)
    finally:
        with contextlib.suppress(OSError):
            shutil.copy(pathlib.Path(run) / "console.log", out / "peer-console.log")
        if options.keep:
            say(f"kept: {run}")
        else:
            shutil.rmtree(run, ignore_errors=True)
    replays.finish()
    return outcomes


def perform(options):
    began = time.monotonic()
    selected = chosen(options)
    if options.list:
        print("\n".join(case.name for case in selected))
        return 0
    options.out = os.path.abspath(options.out)
    if options.json:
        open(options.json, "a").close()  # noqa: SIM115  not only found out at the end
    folder = prepare.prepare(say, options.anew)
    if options.prepare:
        say("PASS: the peer is prepared")
        return 0
    with alone(pathlib.Path(options.out)):
        outcomes = run_all(options, selected, folder)
    say(decode.compare(outcomes))
    say(report.deviations(outcomes))
    say(report.replays(outcomes))
    say(report.quickness(outcomes))
    text, failed = report.summary(outcomes, time.monotonic() - began)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps([outcome.report() for outcome in outcomes], indent=1) + "\n")
    for outcome in failed:
        say(f"failed: {outcome.case.name}: {outcome.problems[0]} ({outcome.folder})")
    say(f"{'FAIL' if failed else 'PASS'}: {text}")
    return 1 if failed else 0


def main(words):
    options = arguments(words)
    process.catch_signals()
    try:
        return perform(options)
    except ValueError as error:
        say(f"FAIL: {error}")
        return 2
    except Unavailable as error:
        if packages.required():
            say(f"FAIL: {error} (on Debian 12 the peer is required)")
            return 1
        say(f"SKIPPED: {error}")
        return SKIPPED
    except (LiveError, OSError) as error:  # OSError: full, read-only, not there; it names the file
        say(f"FAIL: {error}")
        return 1
    except process.Stopped as stopped:
        say(f"FAIL: stopped by {stopped}")
        return 128 + stopped.number
    finally:
        process.end_all()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
