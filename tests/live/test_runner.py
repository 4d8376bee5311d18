# SPDX-License-Identifier: Apache-2.0
"""What a case is judged by: a stand-in for the simulator, a stand-in for the peer, recorded captures."""

import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from here import CAPTURES

import cases
import frames
import runner
import scenario

PROGRAM = """#!{python}
import json, pathlib, shutil, signal, sys, time
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
words = sys.argv[1:]
options = dict(zip(words[2::2], words[3::2]))
folder = pathlib.Path(options["--out"]) / pathlib.Path(words[1]).stem
print("rnic-sim: ready\\nrnic-sim: listening on 127.0.0.1:1: tool\\nrnic-sim: pause\\nrnic-sim: ended: pass: tool\\n"
      "rnic-sim: listening on 127.0.0.1:2: tool", flush=True)
shutil.copy({capture!r}, folder / "wire.pcap")
pathlib.Path(options["--json"]).write_text(json.dumps({result!r}))
time.sleep({pause})
sys.exit({status})
"""


class StandIn:
    """A peer whose tools end at once."""

    def __init__(self, status=0, moved=()):
        self.link_here = self.link_there = self.clock = pathlib.Path("/nowhere")
        self.forwarded = [1, 2]
        self.end_status = status
        self.moved = dict(moved)
        self.asked = 0
        self.commands = []
        self.killed = []
        self.signals = []
        self.thawed = 0

    def counters(self):
        self.asked += 1
        names = [*runner.TROUBLE, "rcvd_pkts"]
        return {name: self.moved.get(name, 0) if self.asked > 1 else 0 for name in names}

    def start(self, job, command):
        self.commands.append(command)

    def status(self, job):
        return self.end_status

    def wait(self, job, limit):
        return self.end_status, "its words"

    def output(self, job):
        return "its words"

    def kill(self, job, signal="KILL"):
        (self.killed if signal == "KILL" else self.signals).append(job if signal == "KILL" else (job, signal))

    def state(self, job):
        return f"what {job} does"

    def wait_listening(self, port, job):
        return True

    wait_cm_listening = wait_listening

    def thaw(self):
        self.thawed += 1


def run(case, capture="write_bw_v4_mtu1024", status=0, peer=None, result=None, kept=(), limit=30, pause=0):
    folder = pathlib.Path(tempfile.mkdtemp())
    result = result or {"problems": [], "runs": [{"command": "x", "verdict": "pass", "problem": ""}], "wire": {"faults": {"drop": 1}}}
    program = folder / "rnic-sim"
    program.write_text(PROGRAM.format(python=sys.executable, capture=str(CAPTURES / f"{capture}.pcap"), result=result, status=status, pause=pause))
    program.chmod(0o755)
    peer = peer or StandIn()
    # A recorded software stack stands for the NIC: it does not set MigReq.
    with mock.patch.object(scenario, "NIC_MAC", "52:54:00:77:00:01"), mock.patch.object(runner, "KEPT", kept):
        outcome = runner.Runner(peer, str(program), folder / "out", 1, limit).run(case)
    return outcome, peer


CLEAN = cases.Case("ib_write_bw", "server")


class Connections(unittest.TestCase):
    def judge(self, name="rping_v4", **keys):
        case = cases.Case("rping", "server", mtu=4096, **keys)
        return run(case, capture=name)[0].problems

    def test_a_recorded_connection_passes(self):
        self.assertEqual(self.judge(), [])

    def test_a_capture_without_a_connection_does_not(self):
        self.assertIn("no REQ in the capture", self.judge("write_bw_v4_mtu1024"))

    def test_a_datagram_that_should_have_come_again_and_did_not(self):
        self.assertEqual(self.judge(datagrams={"REQ": 2}, resent={}), ["1 REQ in the capture, expected 2"])

    def test_nobody_must_have_refused_with_that_reason(self):
        self.assertEqual(len(self.judge(nobody=True, resent={})), 1)

    def test_data_must_have_established_the_connection(self):
        result = {"problems": [], "runs": [], "wire": {"faults": {"drop": 1}}, "cm": {"established_by_data": 0}}
        case = cases.Case("rping", "server", mtu=4096, by_data=True, resent={})
        self.assertIn("no connection was established by data before its RTU", run(case, capture="rping_v4", result=result)[0].problems)


class Judgement(unittest.TestCase):
    def assert_problem(self, outcome, pattern):
        self.assertRegex("\n".join(outcome.problems), pattern)

    def test_a_clean_run_passes_in_both_roles(self):
        for role in cases.ROLES:
            outcome, peer = run(cases.Case("ib_write_bw", role))
            self.assertEqual(outcome.problems, [])
            self.assertEqual((outcome.roce, outcome.resent), (145, {"nic": 0, "peer": 0}))
            self.assertEqual(peer.commands[0].endswith("10.0.2.2"), role == "server")
            self.assertTrue(peer.thawed)
            self.assertIn("its words", (outcome.folder / "job0.peer.log").read_text())
            self.assertEqual(json.loads(json.dumps(outcome.report()))["verdict"], "pass")

    def test_the_simulators_status_and_findings_count(self):
        self.assert_problem(run(CLEAN, status=1)[0], "rnic-sim: status 1")
        result = {"problems": ["counter rx_bad is 3"], "runs": [{"command": "ib", "verdict": "fail", "problem": "byte 7"}]}
        outcome, _ = run(CLEAN, result=result)
        self.assert_problem(outcome, "ib: byte 7\ncounter rx_bad is 3")

    def test_the_peers_status_counts(self):
        self.assert_problem(run(CLEAN, peer=StandIn(status=9))[0], "status 9: its words")
        failing = cases.Case("ib_write_bw", "server", peer_fails=True, resent={})
        self.assertTrue(run(failing, peer=StandIn(status=9))[0].passed)
        self.assert_problem(run(failing)[0], "an error was expected")

    def test_a_tool_of_the_peer_that_hangs_is_told_and_killed(self):
        outcome, peer = run(CLEAN, peer=StandIn(status=None))
        self.assert_problem(outcome, "did not end")
        self.assertEqual(peer.killed, ["job0"])

    def test_a_run_that_does_not_end_leaves_what_the_peers_tool_did(self):
        outcome, _ = run(CLEAN, limit=1, pause=60)
        self.assert_problem(outcome, "rnic-sim did not end within 1 s")
        self.assertEqual((outcome.folder / "job0.peer-state.txt").read_text(), "what job0 does")

    def test_error_counters_of_the_peer_stand_still_on_a_clean_wire(self):
        moved = StandIn(moved={"rcvd_seq_err": 2, "rcvd_pkts": 80})
        self.assert_problem(run(CLEAN, peer=moved)[0], "rcvd_seq_err 2")
        wanted = cases.Case("ib_write_bw", "server", resent={}, peer_counters={"send_rnr_err": 1})
        self.assert_problem(run(wanted)[0], "send_rnr_err 0, expected 1")
        self.assertTrue(run(wanted, peer=StandIn(moved={"send_rnr_err": 4}))[0].passed)

    def test_packets_sent_again_fail_on_a_clean_wire_and_may_be_expected(self):
        self.assert_problem(run(CLEAN, "wire_drop_ack")[0], "the nic sent 5 packets again on a clean wire")
        lossy = cases.Case("ib_write_bw", "server", faults=[{"do": "drop"}], resent={"nic": 1})
        self.assertTrue(run(lossy, "wire_drop_ack")[0].passed)
        self.assert_problem(run(lossy)[0], "sent 0 packets again, expected 1")

    def test_faults_must_happen(self):
        lossy = cases.Case("ib_write_bw", "server", faults=[{"do": "drop"}], resent={})
        result = {"problems": [], "runs": [], "wire": {"faults": {"drop": 0}}}
        self.assert_problem(run(lossy, result=result)[0], "no fault happened")

    def test_a_peer_that_was_to_be_killed_has_been_killed(self):
        killed = cases.Case("ib_write_bw", "client", kill_after=5, resent={})
        outcome, peer = run(killed, peer=StandIn(status=137))
        self.assertTrue(outcome.passed)
        self.assertEqual(peer.killed, ["job0"])
        self.assert_problem(run(killed)[0], "was not killed")

    def test_a_peer_stands_until_it_has_told_that_no_receive_is_ready(self):
        case = cases.Case("ib_send_bw", "client", stop_after=3, resent={}, peer_counters={"send_rnr_err": 1})
        outcome, peer = run(case, peer=StandIn(moved={"send_rnr_err": 1}))
        self.assertEqual(outcome.problems, [])
        self.assertEqual(peer.signals, [("job0", "STOP"), ("job0", "CONT")])
        self.assertRegex((outcome.folder.parent / f"{case.name}.yaml").read_text(), "pause_after: 3")
        self.assert_problem(run(case, limit=8)[0], "no RNR NAK within 8 s")

    def test_a_second_tool_follows_when_the_nic_has_been_reset(self):
        for role in cases.ROLES:
            case = cases.Case("ib_write_bw", role, reset_after=5, expect="RESET", resent={}, peer_fails=True,
                              afterwards=cases.Case("ib_read_bw", role, size=100))  # fmt: skip
            peer = StandIn()
            peer.wait = lambda job, limit: (137 if job == "job0" else 0, "its words")
            outcome, _ = run(case, peer=peer)
            self.assertEqual(outcome.problems, [])
            self.assertEqual(peer.killed, ["job0"])
            self.assertEqual([command.split()[0] for command in peer.commands], ["ib_write_bw", "ib_read_bw"])
            scenario_text = (outcome.folder.parent / f"{case.name}.yaml").read_text()
            self.assertRegex(scenario_text, r"(?s)ib_write_bw[^\n]*reset_after: 5.*ib_read_bw [^\n]*-s 100")
            runs = [{"command": name, "verdict": "pass", "problem": "", "resent": {"nic": 3, "peer": 0}} for name in ("one", "two")]
            again = run(case, peer=peer, result={"problems": [], "runs": runs, "wire": {}})[0]
            self.assertEqual(again.problems, ["two: sent again after a reset: {'nic': 3}"])
            peer.wait = lambda job, limit: (137 if job == "job0" else 3, "its words")
            self.assert_problem(run(case, peer=peer)[0], "ib_read_bw: status 3")

    def test_the_nic_keeps_rules_that_the_peer_breaks(self):
        outcome, _ = run(CLEAN)
        self.assertEqual(outcome.deviations, {frames.NO_MIG_REQ: 55})
        self.assert_problem(run(CLEAN, kept=[frames.NO_MIG_REQ])[0], "the NIC breaks a rule: MigReq is 0")
        self.assertTrue(run(CLEAN, kept=[frames.HEADLESS])[0].passed)
        expected = cases.Case("ib_read_bw", "client", resent={}, deviation=frames.HEADLESS)
        self.assertTrue(run(expected, "wire_drop_read_resp_last")[0].passed)
        self.assert_problem(run(expected)[0], "the peer kept a rule that it was expected to break: a READ's answer")

    def test_a_key_that_passes_unchanged_is_told(self):
        self.assert_problem(run(cases.Case("ib_write_bw", "client", wrong_key=True, resent={}))[0], "no key was changed")


if __name__ == "__main__":
    unittest.main()
