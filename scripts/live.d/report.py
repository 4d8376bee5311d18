# SPDX-License-Identifier: Apache-2.0
"""The table of a run."""

COLUMNS = [("tool", 16), ("NIC is", 6), ("size", 8), ("count", 5), ("QPs", 3), ("MTU", 4), ("address", 15),
           ("verdict", 7), ("again NIC", 9), ("again peer", 10), ("wall s", 6), ("", 0)]  # fmt: skip
NUMBERS = {"size", "count", "QPs", "MTU", "again NIC", "again peer", "wall s"}
SMALL = 64
ADDRESS = {0: "IPv6 link-local", 1: "IPv4", 2: "IPv6"}


def row(values):
    cells = [str(value).rjust(width) if name in NUMBERS else str(value).ljust(width)
             for (name, width), value in zip(COLUMNS, values, strict=True)]  # fmt: skip
    return "  ".join(cells).rstrip()


def head():
    return row([name for name, _ in COLUMNS])


def line(outcome):
    case = outcome.case
    return row([case.tool, case.role, case.size, case.count, case.qps, case.mtu, ADDRESS[case.gid],
                "pass" if outcome.passed else "FAIL", outcome.resent["nic"], outcome.resent["peer"],
                f"{outcome.seconds:.1f}", case.tag])  # fmt: skip


def summary(outcomes, seconds):
    failed = [outcome for outcome in outcomes if not outcome.passed]
    frames = sum(outcome.frames for outcome in outcomes)
    text = f"{len(outcomes) - len(failed)} of {len(outcomes)} runs, {frames} frames checked, {seconds:.0f} s"
    return text, failed


def deviations(outcomes):
    """What the peer did against the rules, in how many captures; the NIC's own would be problems of their cases."""
    rules = sorted({rule for outcome in outcomes for rule in outcome.deviations})
    seen = [f"{rule} ({sum(rule in outcome.deviations for outcome in outcomes)} captures)" for rule in rules]
    return f"the peer deviates: {'; '.join(seen) or 'nowhere'}"


def replays(outcomes):
    done = sum(outcome.replay == "replayed" for outcome in outcomes)
    return f"{done} captures replay"


def quickness(outcomes):
    """Wall time of what is smallest: five messages on a clean wire."""
    small = [outcome for outcome in outcomes if outcome.case.clean and outcome.case.size <= SMALL and outcome.case.count == 5]
    if not small:
        return f"no run of 5 messages of at most {SMALL} bytes"
    slowest = max(small, key=lambda outcome: outcome.seconds)
    return f"5 messages of at most {SMALL} bytes: {slowest.seconds:.1f} s at most ({slowest.case.name})"
