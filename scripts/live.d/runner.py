# SPDX-License-Identifier: Apache-2.0
"""Runs one case: the simulator here, the tool in the peer; then judges both sides, the capture and the counters."""

import contextlib
import pathlib
import time
from dataclasses import dataclass, field

import cases
import frames
import keychange
import scenario
import simulator
from errors import LiveError
from peer import GATEWAY, IP4, IP6, free_ports

# Counters of the peer's device that stand still as long as nothing goes wrong.
TROUBLE = ["duplicate_request", "out_of_seq_request", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err",
           "retry_exceeded_err", "retry_rnr_exceeded_err", "completer_retry_err", "send_err"]  # fmt: skip


# Rules that the NIC keeps, whatever the peer does.
KEPT = [frames.NO_MIG_REQ, frames.HEADLESS]


@dataclass
class Outcome:
    case: object
    problems: list = field(default_factory=list)
    resent: dict = field(default_factory=lambda: {"nic": 0, "peer": 0})
    frames: int = 0
    cut: set = field(default_factory=set)  # positions in the capture of frames that ended in an error on the cable
    roce: int = 0
    deviations: dict = field(default_factory=dict)  # of the peer: how often it broke a rule
    peer_status: int | None = None
    peer_counters: dict = field(default_factory=dict)
    seconds: float = 0.0
    folder: pathlib.Path | None = None
    replay: str = ""

    @property
    def passed(self):
        return not self.problems

    def report(self):
        case = self.case
        return {
            "name": case.name, "tool": case.tool, "role": case.role, "size": case.size, "count": case.count,
            "qps": case.qps, "mtu": case.mtu, "gid": case.gid, "verdict": "pass" if self.passed else "fail",
            "problems": self.problems, "resent": self.resent, "frames": self.frames, "roce": self.roce, "deviations": self.deviations,
            "peer_status": self.peer_status, "peer_counters": self.peer_counters,
            "wall_s": round(self.seconds, 2), "replay": self.replay, "folder": str(self.folder),
        }  # fmt: skip


# Of the peer and of the NIC, where the tools meet on the RDMA link itself.
LINK_ADDRESSES = {1: (IP4, scenario.NIC_IP4), 2: (IP6, scenario.NIC_IP6)}
CM_PORT = 18600


class Job:
    """One pair of tools: what the NIC runs and what the peer runs."""

    def __init__(self, case, name, port, key_change=None):
        self.case, self.name, self.port = case, name, port
        nic_port = peer_port = port
        if key_change is not None:
            if case.role == "server":
                peer_port = key_change.port
            else:
                nic_port = key_change.port
        server = case.role == "server"
        there, here = ("127.0.0.1", GATEWAY) if not case.over_cm else LINK_ADDRESSES[case.gid]
        if case.nobody:
            nic_port += 1 if not server else 0
        self.nic = case.command(nic_port, "" if server else there)
        self.peer = case.command(peer_port, here if server else "", peer=True)


class Runner:
    def __init__(self, peer, program, out, seed, limit):
        """`program`: rnic-sim; `out`: folder of all results; `limit`: seconds of wall time of one case."""
        self.peer = peer
        self.program = program
        self.out = pathlib.Path(out)
        self.seed = seed
        self.limit = limit
        self.cases = 0

    def run(self, case):
        outcome = Outcome(case, folder=self.out / case.name)
        outcome.folder.mkdir(parents=True, exist_ok=True)
        for old in outcome.folder.iterdir():
            old.unlink()
        began = time.monotonic()
        before = self.peer.counters()
        try:
            with contextlib.ExitStack() as stack:
                self._run(case, outcome, stack, before)
        except (LiveError, TimeoutError) as error:
            outcome.problems.append(str(error))
        finally:
            self.peer.thaw()
        after = self.peer.counters()
        outcome.peer_counters = {name: after[name] - before[name] for name in after if after[name] != before[name]}
        self._judge(case, outcome)
        outcome.seconds = time.monotonic() - began
        return outcome

    # Both sides, to their ends.

    def _jobs(self, case, stack):
        pairs = [entry for entry in (case, case.beside, case.afterwards) if entry is not None]
        ports = self.peer.forwarded if case.role == "client" else free_ports(2)
        if case.over_cm:
            ports = [CM_PORT, CM_PORT + 10]  # not of this machine
        change = None
        if case.wrong_key:
            change = keychange.KeyChange(ports[0])
            stack.callback(change.close)
        return [Job(entry, f"job{i}", ports[i], change if i == 0 else None) for i, entry in enumerate(pairs)], change

    def _run(self, case, outcome, stack, before):
        limit = max(self.limit, case.limit)
        end = time.monotonic() + limit
        jobs, change = self._jobs(case, stack)
        stack.callback(self._end_jobs, jobs, outcome)
        if case.role == "client":
            for job in jobs:
                self.peer.start(job.name, job.peer)
                wait = self.peer.wait_cm_listening if case.over_cm else self.peer.wait_listening
                if not wait(job.port, job.name):
                    raise LiveError(f"the peer's {job.case.tool} ended: {self.peer.output(job.name).strip()[-300:]}")
        at_once = [job for job in jobs if job.case is not case.afterwards]
        later = jobs[len(at_once) :]
        runs = [(" & ".join(job.nic for job in at_once), case.expect), *((job.nic, "SUCCESS") for job in later)]
        path = self.out / f"{case.name}.yaml"
        self.cases += 1
        scenario.write(path, case, runs, self.seed + 7 * self.cases if case.over_cm else self.seed, limit)
        program = stack.enter_context(simulator.Simulator(self._command(path, outcome), outcome.folder / "rnic-sim.log"))
        program.wait_line("rnic-sim: ready", limit)
        if case.role == "server":
            for job in at_once:
                program.wait_line("rnic-sim: listening", 30)
                self.peer.start(job.name, job.peer)
        self._kill(case, jobs, program)
        self._stop(case, jobs[0], program, before)
        self._afterwards(case, jobs[0], later, program, limit)
        status = program.wait(end - time.monotonic())
        if status is None:
            self._keep_states(jobs, outcome)
            raise LiveError(f"rnic-sim did not end within {limit} s: {program.stop()}")
        self.peer.thaw()
        if status != 0:
            outcome.problems.append(f"rnic-sim: status {status}: {program.last_words()}")
        self._peer_end(case, jobs, outcome, end)
        if change is not None and change.changed == 0:
            outcome.problems.append("no key was changed on its way")

    def _command(self, path, outcome):
        return [self.program, "live", str(path), "--link", f"dgram:{self.peer.link_here}:{self.peer.link_there}",
                "--clock", str(self.peer.clock), "--json", str(outcome.folder / "result.json"),
                "--out", str(self.out)]  # fmt: skip

    def _kill(self, case, jobs, program):
        """Kills the peer's tool in mid-message, while the NIC stands."""
        if not case.kill_after:
            return
        program.wait_line("rnic-sim: pause", self.limit)
        self.peer.kill(jobs[0].name)
        self.peer.wait(jobs[0].name, 30)
        program.go_on()

    def _stop(self, case, job, program, before):
        """The peer's tool takes nothing and posts nothing until its device has told the NIC that no receive is ready."""
        if not case.stop_after:
            return
        program.wait_line("rnic-sim: pause", self.limit)
        self.peer.kill(job.name, "STOP")
        program.go_on()
        end = time.monotonic() + self.limit
        while self.peer.counters()["send_rnr_err"] == before["send_rnr_err"]:
            if time.monotonic() > end:
                raise LiveError(f"no RNR NAK within {self.limit} s of a tool that stands")
            time.sleep(0.1)
        self.peer.kill(job.name, "CONT")

    def _afterwards(self, case, first, later, program, limit):
        """What the NIC does when it is up again; the peer's first tool does not know that its QP is gone."""
        for job in later:
            program.wait_line("rnic-sim: ended", limit)
            self.peer.kill(first.name)
            if case.role == "server":
                program.wait_line("rnic-sim: listening", 30)
                self.peer.start(job.name, job.peer)

    def _keep_states(self, jobs, outcome):
        """What the peer's tools are doing, for whoever looks for the reason of a hang."""
        for job in jobs:
            with contextlib.suppress(TimeoutError, LiveError):
                (outcome.folder / f"{job.name}.peer-state.txt").write_text(self.peer.state(job.name))

    def _peer_end(self, case, jobs, outcome, end):
        for job in jobs:
            # A tool that waits for a NIC that has gone would wait for ever.
            patience = 5 if case.peer_fails else max(5, end - time.monotonic())
            status, output = self.peer.wait(job.name, patience)
            killed = case.kill_after and job is jobs[0]
            if status is None and not case.peer_fails:
                outcome.problems.append(f"the peer's {job.case.tool} did not end")
            elif job is jobs[0] and case.peer_fails:
                if status == 0:
                    outcome.problems.append(f"the peer's {job.case.tool} ended well, an error was expected")
            elif status not in (0, None) and not killed:
                outcome.problems.append(f"the peer's {job.case.tool}: status {status}: {output.strip()[-300:]}")
            elif killed and status != 137:
                outcome.problems.append(f"the peer's {job.case.tool} was not killed: status {status}")
            if job is jobs[0]:
                outcome.peer_status = status

    def _end_jobs(self, jobs, outcome):
        """What still runs in the peer ends; its words are kept."""
        self.peer.thaw()
        for job in jobs:
            if self.peer.status(job.name) is None:
                self.peer.kill(job.name)
            (outcome.folder / f"{job.name}.peer.log").write_text(f"{job.peer}\n{self.peer.output(job.name)}")

    # What must be true afterwards.

    def _judge(self, case, outcome):
        self._judge_result(case, outcome)
        self._judge_capture(case, outcome)
        for name in TROUBLE:
            if case.clean and outcome.peer_counters.get(name):
                outcome.problems.append(f"the peer counts {name} {outcome.peer_counters[name]}")
        for name, least in case.peer_counters.items():
            if outcome.peer_counters.get(name, 0) < least:
                outcome.problems.append(f"the peer counts {name} {outcome.peer_counters.get(name, 0)}, expected {least}")

    def _judge_result(self, case, outcome):
        result = simulator.read_result(outcome.folder / "result.json")
        if result is None:
            if outcome.passed:
                outcome.problems.append("rnic-sim wrote no result")
            return
        if case.faults and not sum(result.get("wire", {}).get("faults", {}).values()):
            outcome.problems.append("no fault happened on the cable")
        for run in result["runs"]:
            if run["verdict"] != "pass":
                outcome.problems.append(f"{run['command']}: {run['problem']}")
        outcome.problems += [text for text in result["problems"] if text not in outcome.problems]
        for run in result["runs"][1:] if case.afterwards else []:
            again = {side: number for side, number in run["resent"].items() if number}
            if again:
                outcome.problems.append(f"{run['command']}: sent again after a reset: {again}")
        if case.by_data and not result["cm"]["established_by_data"]:
            outcome.problems.append("no connection was established by data before its RTU")

    def _judge_capture(self, case, outcome):
        path = outcome.folder / "wire.pcap"
        if not path.exists():
            if outcome.passed:
                outcome.problems.append("rnic-sim wrote no capture")
            return
        result = simulator.read_result(outcome.folder / "result.json") or {}
        outcome.cut = set(result.get("wire", {}).get("cut", []))
        if outcome.cut and not case.reset_after:
            outcome.problems.append(f"frame {min(outcome.cut) + 1} ended in an error on the cable")
        capture = frames.Capture(path, scenario.NIC_MAC, case.mtu, outcome.cut)
        outcome.frames, outcome.roce, outcome.resent = capture.frames, len(capture.packets), capture.resent
        outcome.problems += capture.problems[:5]
        if not capture.packets:
            outcome.problems.append("no RoCEv2 packet in the capture")
        outcome.deviations = {rule: number for rule, number in capture.deviations["peer"].items() if number}
        outcome.problems += [f"the NIC breaks a rule: {rule}" for rule in KEPT if capture.deviations["nic"][rule]]
        if case.deviation and case.deviation not in outcome.deviations:
            outcome.problems.append(f"the peer kept a rule that it was expected to break: {case.deviation}")
        self._judge_connections(case, outcome, capture.connections)
        wanted = {} if case.resent is None else case.resent
        for side, number in capture.resent.items():
            if case.clean and number:
                outcome.problems.append(f"the {side} sent {number} packets again on a clean wire")
            if number < wanted.get(side, 0):
                outcome.problems.append(f"the {side} sent {number} packets again, expected {wanted[side]} at least")

    def _judge_connections(self, case, outcome, connections):
        """What the connection managers said; `frames` has looked at each datagram already."""
        if not case.over_cm:
            return
        steps = ["REQ", "REP", "RTU", "DREQ", "DREP"] if case.clean else []
        for name in steps:
            if not connections.names[name]:
                outcome.problems.append(f"no {name} in the capture")
        for side, number in connections.repeated.items():
            if case.clean and number:
                outcome.problems.append(f"the {side} repeated {number} datagrams of the connection manager on a clean wire")
        # A server of perftest listens once for its exchange and, a little later, for the QPs of the traffic (8). When it ends
        # before Linux's connection manager has dealt with our RTU, which may be after all its traffic, that one refuses (28).
        usual = {"peer 8", "peer 28"} if case.role == "client" and case.tool != cases.RPING else set()
        if case.clean and set(connections.reasons) - usual:
            outcome.problems.append(f"connections were refused: {dict(connections.reasons)}")
        for name, least in case.datagrams.items():
            if connections.names[name] < least:
                outcome.problems.append(f"{connections.names[name]} {name} in the capture, expected {least}")
        if case.nobody and set(connections.reasons) != {"peer 8"}:
            outcome.problems.append(f"nobody listens: refused with {dict(connections.reasons)}, expected reason 8 of the peer")
