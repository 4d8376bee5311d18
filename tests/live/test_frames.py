# SPDX-License-Identifier: Apache-2.0
"""The frame checker against recorded traffic of a software RoCEv2 stack, and against damaged frames."""

import json
import pathlib
import tempfile
import types
import unittest

from here import CAPTURES

import decode
import frames

CLIENT_MAC = "52:54:00:77:00:01"
LOSS = {"netem_loss4_v4", "vt_rnr_exhaust_v4", "vt_rnr_v4", "vt_send_inv_v4"}


def captures():
    for path in sorted(CAPTURES.glob("*.pcap")):
        yield path, json.loads(path.with_suffix(".json").read_text())


def roce_frame(name="write_bw_v4_mtu1024", opcode=6):
    for frame in frames.read_pcap(CAPTURES / f"{name}.pcap"):
        packet = frames.parse(frame)
        if packet is not None and packet.opcode == opcode:
            return frame
    raise AssertionError("no such frame")


class Recorded(unittest.TestCase):
    def test_every_recorded_packet_keeps_the_rules(self):
        for path, about in captures():
            with self.subTest(path.name):
                capture = frames.Capture(path, CLIENT_MAC, 1024)
                self.assertEqual(capture.problems, [])
                self.assertEqual(len(capture.packets), about["roce_frames"])
                self.assertEqual(capture.frames, about["frames"])

    def test_opcodes_are_counted_as_recorded(self):
        short = {"READ_REQUEST": "READ_REQ", "READ_RESPONSE": "READ_RESP"}
        for path, about in captures():
            with self.subTest(path.name):
                counted = {}
                for name, number in frames.Capture(path, CLIENT_MAC, 1024).opcodes.items():
                    for long, brief in short.items():
                        name = name.replace(long, brief)
                    counted[name.replace("COMPARE_SWAP", "CMP_SWAP")] = number
                self.assertEqual(counted, about["opcodes"])

    def test_packets_are_sent_again_only_where_some_were_lost(self):
        mtus = {"wrs_bw_v4_mtu256": 256, "wrs_bw_v4_mtu2048": 2048, "wrs_bw_v4_mtu4096": 4096,
                "wrs_bw_v6global_mtu4096": 4096, "vt_64k_v4_mtu256": 256}  # fmt: skip
        for path, about in captures():
            with self.subTest(path.name):
                resent = frames.Capture(path, CLIENT_MAC, mtus.get(path.stem, 1024)).resent
                lossy = path.stem in LOSS or any(event["action"] != "dup" for event in about["wire_events"])
                self.assertEqual(resent["nic"] > 0, lossy, resent)

    def test_a_read_that_resumes_counts_as_sent_again(self):
        capture = frames.Capture(CAPTURES / "wire_drop_read_resp_last.pcap", CLIENT_MAC, 1024)
        self.assertEqual(capture.resent, {"nic": 1, "peer": 0})

    def test_a_frame_that_was_cut_on_the_cable_reaches_nobody(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        whole = roce_frame()
        frames.write_pcap(folder / "wire.pcap", [whole, whole[: len(whole) - 5]])
        self.assertIn("frame 2", frames.Capture(folder / "wire.pcap", CLIENT_MAC, 1024).problems[0])
        capture = frames.Capture(folder / "wire.pcap", CLIENT_MAC, 1024, {1})
        self.assertEqual((capture.problems, capture.frames, len(capture.packets)), ([], 2, 1))

    def test_tshark_reads_the_same(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        whole = list(frames.read_pcap(CAPTURES / "wrs_bw_v6global_mtu4096.pcap"))
        frames.write_pcap(folder / "wire.pcap", whole + list(frames.read_pcap(CAPTURES / "vt_atomics_v4.pcap")))
        outcome = types.SimpleNamespace(folder=folder, problems=[], cut=set())
        self.assertIn("93 RoCEv2 packets of 1 captures", decode.compare([outcome]))
        self.assertEqual(outcome.problems, [])

    def test_tshark_takes_no_payload_for_another_protocol(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        # RC_WRITE_ONLY of one byte, where 0x60 0x00 is an EtherType; UD_SEND_ONLY, where 0xC4 looks like Ethernet within.
        write = bytes.fromhex(
            "52540077000a020000000001080045020040000040004011 25ff0a4d00090a4d000ac03612b7002c0000 0a70ffff0000001b80e02cbd"
            "000055815704c00000000cc600000001 60000000 2aff3e27")
        datagram = bytes.fromhex(
            "52540077000a020000000001080045020038000040004011 26070a4d00090a4d000ac05c12b700240000 6470ffff0000002e0031594d"
            "1111111100000002 c4000000 35a7de4c")
        frames.write_pcap(folder / "wire.pcap", [packet[:-8] + bytes([byte]) + packet[-7:]
                                                 for packet in (write, datagram) for byte in range(256)])  # fmt: skip
        outcome = types.SimpleNamespace(folder=folder, problems=[], cut=set())
        self.assertIn("512 RoCEv2 packets", decode.compare([outcome]))
        self.assertEqual(outcome.problems, [])

    def test_a_packet_that_tshark_reads_otherwise_is_told(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        frames.write_pcap(folder / "wire.pcap", [roce_frame()])
        outcome = types.SimpleNamespace(folder=folder, problems=[], cut=set())
        original = frames.parse
        frames.parse = lambda frame: types.SimpleNamespace(**{**vars(original(frame)), "psn": 1})
        try:
            decode.compare([outcome])
        finally:
            frames.parse = original
        self.assertEqual(len(outcome.problems), 1)


class Damaged(unittest.TestCase):
    def test_every_bit_that_the_icrc_covers_is_seen(self):
        for name, opcode, header in (("write_bw_v4_mtu1024", 6, 20), ("wrs_bw_v6global_mtu4096", 12, 40)):
            frame = roce_frame(name, opcode)
            bth = 14 + header + 8
            masked = {bth + 4, 14 + header + 6, 14 + header + 7}
            masked |= {15, 22, 24, 25} if header == 20 else {15, 16, 17, 21}
            for position in range(bth - 8, len(frame)):
                if position in masked or position in range(bth - 6, bth - 4):
                    continue  # another port is another protocol
                bad = bytearray(frame)
                bad[position] ^= 0x10
                self.assertTrue(frames.parse(bytes(bad)).problems, f"byte {position}")
            for position in masked - {24, 25}:
                changed = bytearray(frame)
                changed[position] ^= 0x01
                problems = frames.parse(bytes(changed)).problems
                self.assertFalse([text for text in problems if text.startswith("iCRC")], f"byte {position}: {problems}")

    def test_padding_of_a_short_frame_does_not_matter_and_a_cut_does(self):
        frame = roce_frame("send_bw_v4_mtu1024", 0x11)
        self.assertEqual(frames.parse(frame + bytes(10)).problems, [])
        self.assertTrue(frames.parse(frame[:-1]).problems)

    def test_what_is_no_rocev2_is_left_alone(self):
        frame = roce_frame()
        for other in (b"", frame[:13], frame[:12] + b"\x08\x06" + frame[14:], frame[:23] + b"\x06" + frame[24:]):
            self.assertIsNone(frames.parse(other))

    def test_a_broken_capture_is_refused(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        good = (CAPTURES / "vt_imm_v4.pcap").read_bytes()
        for content in (b"", b"\x00" * 64, good[:-1], good[:30]):
            (folder / "bad.pcap").write_bytes(content)
            with self.assertRaises(ValueError):
                list(frames.read_pcap(folder / "bad.pcap"))

    def test_a_rule_of_each_kind(self):
        changes = {  # byte of the UDP part, value: what is said
            "transport version": (9, 0x01), "P_Key": (10, 0x12), "opcode 0x15": (8, 0x15), "1023 bytes in RC_WRITE_FIRST": (9, 0x10)}  # fmt: skip
        for text, (position, value) in changes.items():
            bad = bytearray(roce_frame())
            bad[34 + position] = value
            self.assertTrue([p for p in frames.parse(bytes(bad)).problems if text in p], text)


if __name__ == "__main__":
    unittest.main()
