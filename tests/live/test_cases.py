# SPDX-License-Identifier: Apache-2.0
"""What is run, and the scenario file of each."""

import pathlib
import tempfile
import unittest

import here  # noqa: F401

import cases
import report
import runner
import scenario


class Sets(unittest.TestCase):
    def test_the_representative_set_has_every_tool_role_mtu_and_address(self):
        known = cases.SETS["representative"]()
        self.assertEqual({(case.tool, case.role) for case in known},
                         {(tool, role) for tool in cases.TOOLS for role in cases.ROLES})  # fmt: skip
        self.assertEqual({case.mtu for case in known}, set(cases.MTUS))
        self.assertEqual({case.gid for case in known}, set(cases.GIDS))
        self.assertTrue({1, 1024 * 1024} <= {case.size for case in known})
        self.assertTrue(any(case.qps > 1 for case in known))

    def test_faults_meet_every_verb_in_each_direction_and_role(self):
        met = {(case.tool, case.role, rule["do"], rule["from"]) for case in cases.wire_faults() for rule in case.faults}
        self.assertEqual(len(met), 4 * 2 * 4 * 2)

    def test_the_soak_has_every_mtu_and_address_of_every_tool_with_a_choice_of_them(self):
        met = {(case.tool, case.role, case.mtu, case.gid) for case in cases.SETS["soak"]()}
        for tool in [*cases.ONE_SIDED, *cases.SEND, "ibv_rc_pingpong", "ibv_uc_pingpong"]:
            for role in cases.ROLES:
                for mtu in cases.MTUS:
                    self.assertTrue({(tool, role, mtu, gid) for gid in cases.GIDS} <= met)

    def test_the_soak_has_all_sizes_of_every_tool_that_counts_them_up(self):
        met = {(case.tool, case.role) for case in cases.SETS["soak"]() if "-a" in case.options.split()}
        self.assertEqual(met, {(tool, role) for tool in [*cases.ONE_SIDED, *cases.SEND] for role in cases.ROLES})

    def test_keys_are_wrong_for_every_verb_that_has_one_and_resets_meet_requester_and_responder(self):
        wrong = {(case.tool, case.role) for case in cases.faults() if case.wrong_key}
        self.assertEqual(wrong, {(tool, role) for tool in ("ib_write_bw", "ib_read_bw", "ib_atomic_bw") for role in cases.ROLES})
        self.assertEqual({case.role for case in cases.faults() if case.reset_after}, set(cases.ROLES))
        self.assertEqual({case.role for case in cases.reset() if case.afterwards}, set(cases.ROLES))

    def test_when_a_tool_is_killed_neither_qp_has_sent_all_whatever_their_turns_were(self):
        for case in cases.killed():
            of_the_other = case.beside.count * case.beside.size // case.beside.mtu
            own = case.count * (1 if "read" in case.tool else case.size // case.mtu)
            self.assertLess(case.kill_after, min(own, of_the_other), case.name)

    def test_the_representative_set_has_every_kind_of_trouble(self):
        known = cases.SETS["representative"]()
        self.assertEqual({rule["do"] for case in known for rule in case.faults}, set(cases.FAULTS))
        for kind in ("wrong_key", "kill_after", "reset_after", "peer_counters", "nobody"):
            self.assertTrue(any(getattr(case, kind) for case in known), kind)

    def test_each_datagram_of_a_connection_is_lost_once_in_each_role(self):
        lost = {(case.role, rule["from"], rule["nth"]) for case in cases.cm_faults() for rule in case.faults if rule["do"] == "drop"}
        every = {(role, end, nth) for role, ends in (("client", "ab"), ("server", "ba"))
                 for end, nths in zip(ends, ((1, 2, 3), (1, 2)), strict=True) for nth in nths}  # fmt: skip
        self.assertEqual(every - lost, {("server", "b", 3)})  # a DREQ that Linux's rping does not repeat
        self.assertTrue({case.name for case in cases.cm_faults()} <= {case.name for case in cases.faults()})

    def test_the_representative_set_has_each_verb_over_rdma_cm(self):
        met = {case.tool.split("_")[1] for case in cases.few_over_cm() if case.tool != cases.RPING}
        self.assertEqual(met, {"write", "read", "send", "atomic"})
        self.assertEqual(len(cases.few_over_cm()), 16)

    def test_every_tool_of_perftest_and_rping_runs_over_rdma_cm_in_both_roles(self):
        met = {(case.tool, case.role) for case in cases.over_cm() if case.over_cm}
        self.assertEqual(met, {(tool, role) for tool in cases.TOOLS if not tool.startswith("ibv") for role in cases.ROLES})

    def test_names_are_file_names_and_single(self):
        for name in cases.SETS:
            names = [case.name for case in cases.SETS[name]()]
            self.assertEqual(len(names), len(set(names)))
            for entry in names:
                self.assertRegex(entry, r"^[A-Za-z0-9_-]+$")

    def test_the_soak_holds_the_representative_set(self):
        names = {case.name for case in cases.SETS["soak"]()}
        self.assertTrue({case.name for case in cases.SETS["representative"]()} <= names)

    def test_cases_are_found_by_tool_and_by_name(self):
        known = cases.SETS["representative"]()
        self.assertTrue(all(case.tool == "ib_read_bw" for case in cases.matching(known, ["ib_read_bw"])))
        self.assertEqual(len(cases.matching(known, [known[3].name])), 1)
        self.assertEqual(cases.matching(known, ["nothing"]), [])


class Commands(unittest.TestCase):
    def test_perftest_and_pingpong_options(self):
        case = cases.Case("ib_write_bw", "server", size=100, qps=4, mtu=2048, gid=0, options="-I 64", peer_options="-r 1")
        self.assertEqual(case.command(5), "ib_write_bw -x 0 -n 5 -F -s 100 -m 2048 -q 4 -p 5 -I 64")
        self.assertEqual(case.command(5, "host", peer=True), "ib_write_bw -x 0 -n 5 -F -s 100 -m 2048 -q 4 -p 5 -I 64 -r 1 host")
        case = cases.Case("ibv_ud_pingpong", "client", size=7)
        self.assertEqual(case.command(6), "ibv_ud_pingpong -g 1 -n 5 -s 7 -p 6")

    def test_tools_over_rdma_cm_meet_on_the_link(self):
        job = runner.Job(cases.Case("rping", "server", size=100, gid=2), "job0", 7)
        self.assertEqual(job.nic, "rping -s -C 5 -S 100 -V -p 7")
        self.assertEqual(job.peer, "rping -c -C 5 -S 100 -V -a fd77::9 -p 7")
        job = runner.Job(cases.Case("rping", "client", size=100, nobody=True), "job0", 7)
        self.assertEqual(job.nic, "rping -c -C 5 -S 100 -V -a 10.77.0.10 -p 8")
        self.assertEqual(job.peer, "rping -s -C 5 -S 100 -V -p 7")
        job = runner.Job(cases.Case("ib_read_bw", "client", options="-R"), "job0", 7)
        self.assertEqual(job.nic, "ib_read_bw -x 1 -n 5 -F -s 64 -m 1024 -p 7 -R 10.77.0.10")
        self.assertEqual(job.peer, "ib_read_bw -x 1 -n 5 -F -s 64 -m 1024 -p 7 -R")

    def test_ids_and_qps_of_one_case_over_rdma_cm_do_not_come_again_in_the_next(self):
        case = cases.Case("rping", "client")
        first, second = (scenario.tree(case, [], seed, 60)["live"]["first_qpn"] for seed in (8, 15))
        self.assertNotEqual(first, second)
        self.assertNotIn("first_qpn", scenario.tree(cases.Case("ib_read_bw", "client"), [], 8, 60)["live"])

    def test_the_server_has_no_host_and_the_client_has_the_other_side(self):
        job = runner.Job(cases.Case("ib_read_bw", "server"), "job0", 7)
        self.assertTrue(job.nic.endswith("-p 7") and job.peer.endswith("-p 7 10.0.2.2"))
        job = runner.Job(cases.Case("ib_read_bw", "client"), "job0", 7)
        self.assertTrue(job.nic.endswith("-p 7 127.0.0.1") and job.peer.endswith("-p 7"))


class Scenario(unittest.TestCase):
    def test_the_file_says_what_the_case_says(self):
        case = cases.Case("ib_write_bw", "client", mtu=256, faults=[{"do": "drop", "nth": 2}], reset_after=9)
        path = pathlib.Path(tempfile.mkdtemp()) / "x.yaml"
        scenario.write(path, case, [("ib_write_bw it's", "REM_ACCESS_ERR")], seed=4, limit=120.0)
        self.assertEqual(path.read_text().splitlines()[2:], [
            "title: 'ib_write_bw-client-64B-mtu256-v4'", "seed: 4", "nic:", "  mtu: 256", "live:",
            "  mac: '02:00:00:00:00:01'", "  ip: '10.77.0.9'", "  ip6: 'fd77::9'", "  patience: '3 s'", "  limit: '120 s'", "  runs:",
            "    - {run: 'ib_write_bw it''s', expect: 'REM_ACCESS_ERR', reset_after: 9}",
            "wire:", "  faults:", "    - {do: 'drop', nth: 2}"])  # fmt: skip

    def test_only_the_first_run_is_reset(self):
        case = cases.Case("ib_write_bw", "client", reset_after=9)
        runs = scenario.tree(case, [("one", "RESET"), ("two", "SUCCESS")], seed=1, limit=60)["live"]["runs"]
        self.assertEqual(runs, [{"run": "one", "expect": "RESET", "reset_after": 9}, {"run": "two"}])


class Table(unittest.TestCase):
    def test_a_line_stands_below_its_head(self):
        outcome = runner.Outcome(cases.Case("ib_write_bw", "client", size=1024 * 1024, tag="rnr"), seconds=3.21)
        outcome.problems.append("something")
        head, line = report.head(), report.line(outcome)
        for name in ("size", "verdict", "wall s"):
            self.assertLess(head.index(name), len(line))
        self.assertEqual(line.split(), ["ib_write_bw", "client", "1048576", "5", "1", "1024", "IPv4", "FAIL", "0", "0", "3.2", "rnr"])
        self.assertEqual(report.summary([outcome], 9.0)[1], [outcome])

    def test_the_slowest_of_the_smallest_is_told(self):
        sizes = {8: 2.5, 64: 4.25, 65: 9.0}
        outcomes = [runner.Outcome(cases.Case("ib_write_bw", "client", size=size), seconds=time) for size, time in sizes.items()]
        self.assertIn("4.2 s at most (ib_write_bw-client-64B", report.quickness(outcomes))
        self.assertIn("no run", report.quickness(outcomes[2:]))


if __name__ == "__main__":
    unittest.main()
