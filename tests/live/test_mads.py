# SPDX-License-Identifier: Apache-2.0
"""The reader of connection managers' datagrams against recorded connections, and against changed ones."""

import unittest

from here import CAPTURES

import frames
import mads

CLIENT_MAC = "52:54:00:77:00:01"


def recorded(name="rping_v4"):
    """(side, payload) of the datagrams of a capture; the client is "nic"."""
    for frame in frames.read_pcap(CAPTURES / f"{name}.pcap"):
        packet = frames.parse(frame)
        if packet is not None and packet.mad is not None:
            ip, header, *_ = frames.roce_part(frame)
            yield "nic" if frame[11] == 1 else "peer", ip[header + 28 : -4]


def follow(datagrams):
    connections = mads.Connections()
    for side, payload in datagrams:
        connections.take(side, mads.parse(payload))
    return connections


def changed(payload, at, value):
    return payload[:at] + value + payload[at + len(value) :]


class Recorded(unittest.TestCase):
    def test_the_fields_are_those_that_tshark_shows(self):
        req, rep, rtu, dreq, drep = (mads.parse(payload) for _, payload in recorded())
        self.assertEqual((req.name, rep.name, rtu.name, dreq.name, drep.name), ("REQ", "REP", "RTU", "DREQ", "DREP"))
        self.assertEqual((req.local, req.qpn, req.psn, req.mtu), (0x3C51C21E, 0x14, 0x435BE7, 5))
        self.assertEqual(req.service, 0x1061C06)
        self.assertEqual([address[12:] for address in req.addresses], [bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2])])
        self.assertEqual((rep.local, rep.remote, rep.qpn, rep.psn), (0x8D83650E, 0x3C51C21E, 0x1F, 0x0CB5FE))
        self.assertEqual((dreq.remote, dreq.qpn), (rep.local, rep.qpn))

    def test_connections_of_the_recordings_hold_together(self):
        for name, steps in (("rping_v4", 5), ("read_bw_cm_v4", 10), ("send_lat_ud_cm_v4", 7)):
            capture = frames.Capture(CAPTURES / f"{name}.pcap", CLIENT_MAC, 4096)
            self.assertEqual(capture.problems, [])
            self.assertEqual(capture.connections.names.total(), steps)
            self.assertEqual(capture.connections.repeated, {"nic": 0, "peer": 0})

    def test_a_service_is_resolved_in_two_datagrams(self):
        found = [mads.parse(payload) for _, payload in recorded("send_lat_ud_cm_v4")]
        asked, answered = (entry for entry in found if entry.name.startswith("SIDR"))
        self.assertEqual(asked.service, 0x1110000 | 18515)
        self.assertEqual((answered.local, answered.reason), (asked.local, 0))
        self.assertGreater(answered.qpn, 1)


class Changed(unittest.TestCase):
    def setUp(self):
        self.all = list(recorded())

    def replaced(self, index, at, value):
        side, payload = self.all[index]
        return follow([*self.all[:index], (side, changed(payload, at, value)), *self.all[index + 1 :]])

    def test_a_repeated_datagram_is_counted(self):
        self.assertEqual(follow([*self.all, self.all[3]]).repeated, {"nic": 1, "peer": 0})

    def test_a_reply_to_another_id_is_found(self):
        self.assertIn("which nobody has", " ".join(self.replaced(1, 28, b"\1\2\3\4").problems))

    def test_a_reply_of_another_transaction_is_found(self):
        self.assertIn("there was no REQ", " ".join(self.replaced(1, 8, bytes(8)).problems))

    def test_a_dreq_that_names_another_qp_is_found(self):
        self.assertIn("connected is 0x1f", " ".join(self.replaced(3, 32, b"\0\0\x20").problems))

    def test_a_reply_without_a_qp_is_found(self):
        self.assertEqual(self.replaced(1, 36, b"\0\0\1").problems[:1], ["REP names QP 1"])

    def test_other_addresses_than_those_of_the_path_are_found(self):
        self.assertEqual(len(self.replaced(0, 164 + 19, b"\x63").problems), 1)

    def test_an_end_from_before_the_capture_is_no_problem(self):
        late = follow([(side, payload) for side, payload in ((("peer", self.all[3][1])), ("nic", self.all[4][1]))])
        self.assertEqual((late.problems, late.late), ([], 1))

    def test_other_bytes_are_no_datagram(self):
        payload = self.all[0][1]
        for at, value in ((0, b"\2"), (1, b"\3"), (2, b"\1"), (3, b"\1"), (17, b"\x19")):
            self.assertIsNone(mads.parse(changed(payload, at, value)))
        self.assertIsNone(mads.parse(payload[:255]))


class Sequence(unittest.TestCase):
    def test_the_first_packet_has_the_psn_that_its_receiver_named(self):
        connections = follow(recorded())
        connections.take_request("nic", 0x1F, 0x0CB5FE)
        connections.take_request("nic", 0x1F, 0x0CB5FF)
        self.assertEqual(connections.problems, [])
        connections.take_request("peer", 0x14, 0x435BE8)
        self.assertEqual(len(connections.problems), 1)


class Frames(unittest.TestCase):
    def test_what_goes_to_qp_1_must_be_a_datagram_with_its_key(self):
        for frame in frames.read_pcap(CAPTURES / "rping_v4.pcap"):
            packet = frames.parse(frame)
            if packet is not None and packet.mad is not None:
                break
        at = frame.index(bytes.fromhex("80010000"))
        self.assertIn("with Q_Key 0x80010001", " ".join(frames.parse(changed(frame, at, b"\x80\1\0\1")).problems))
        self.assertIn("from QP 2", " ".join(frames.parse(changed(frame, at + 4, b"\0\0\0\2")).problems))
        self.assertIn("no datagram", " ".join(frames.parse(changed(frame, at + 8, b"\2")).problems))


if __name__ == "__main__":
    unittest.main()
