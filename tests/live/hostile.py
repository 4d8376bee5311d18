# SPDX-License-Identifier: Apache-2.0
"""A link whose other side says what it likes: `rnic-sim live` names what was wrong and goes on.

    python3 hostile.py RNIC-SIM

The other side is this program, on UNIX datagram sockets; its frames are built by byte offset.
"""

import contextlib
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from nic_process import SCENARIO, NicProcess, checksum

NIC_MAC, MAC = bytes.fromhex("020000000001"), bytes.fromhex("52540077000a")
NIC_IP, IP = bytes([10, 77, 0, 9]), bytes([10, 77, 0, 10])
LIMIT = 60
QKEY = 0x8001_0000  # of QP 1
ICMP, IGMP, UDP = 1, 2, 17
REQ, DREQ, DREP = 0x10, 0x15, 0x16
simulator = None


def ethernet(kind, body):
    return NIC_MAC + MAC + struct.pack(">H", kind) + body


def ipv4(protocol, body, source=IP, options=b""):
    head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, 0, 20 + len(options) + len(body), 0, 0x4000, 64, protocol, 0)
    head += source + NIC_IP + options
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + body


def arp_reply(sender):
    return ethernet(0x0806, struct.pack(">HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 2, MAC, sender, NIC_MAC, NIC_IP))


def datagram(payload, qkey=QKEY, pkey=0xFFFF, source=IP, damaged=False):
    """A UD SEND to QP 1 with its iCRC."""
    pad = -len(payload) % 4
    body = struct.pack(">BBHIIII", 0x64, 0x40 | pad << 4, pkey, 1, 0, qkey, 1) + payload + bytes(pad)
    packet = ipv4(UDP, struct.pack(">HHHH", 0xC001, 4791, 12 + len(body), 0) + body + bytes(4), source)[:-4]
    covered = bytearray(packet)
    for at in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, both checksums, the BTH's fifth byte
        covered[at] = 0xFF
    crc = zlib.crc32(b"\xff" * 8 + bytes(covered)) ^ (1 if damaged else 0)
    return ethernet(0x0800, packet + struct.pack("<I", crc))


def mad(attribute, body=b"", transaction=1, base=1, kind=7, version=2, method=3):
    head = struct.pack(">BBBBHHQHHI", base, kind, version, method, 0, 0, transaction, attribute, 0, 0)
    return (head + body).ljust(256, b"\0")


def dreq(number):
    """For a connection that nobody has: it is answered all the same."""
    return mad(DREQ, struct.pack(">III", number, number, 0), transaction=number)


def is_drep(frame, transaction):
    return frame[23] == UDP and frame[70:78] == struct.pack(">Q", transaction) and frame[78:80] == struct.pack(">H", DREP)


class Nic(NicProcess):
    """`rnic-sim live` and the other end of its link. `answers`: whether this IP address has a MAC."""

    def __init__(self, *words, answers=lambda ip: ip == IP):
        folder = tempfile.TemporaryDirectory(prefix="rnic-hostile-")
        path = pathlib.Path(folder.name)
        self.there, self.answers = str(path / "nic"), answers
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.link.bind(str(path / "peer"))
        self.link.settimeout(0.05)
        super().__init__(simulator, f"dgram:{self.there}:{path / 'peer'}", *words, folder=folder)
        self.wait_line("rnic-sim: ready")

    def __exit__(self, *error):
        super().__exit__(*error)
        self.link.close()

    def send(self, frame):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            with contextlib.suppress(BlockingIOError, TimeoutError):
                self.link.sendto(frame, self.there)
                return
        raise AssertionError("the NIC reads no more")

    def receive(self, wanted):
        """The next frame that `wanted` likes; ARP is answered meanwhile."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                frame = self.link.recv(70000)
                if frame[12:14] == b"\x08\x06":
                    if self.answers(frame[38:42]):
                        self.send(arp_reply(frame[38:42]))
                elif wanted(frame):
                    return frame
        raise AssertionError("no answer")

    def end(self):
        self.program.send_signal(signal.SIGTERM)
        return super().end()


class Hostile(unittest.TestCase):
    def test_datagrams_that_the_nic_drops_do_not_shift_those_that_it_keeps(self):
        with Nic("--for", "300") as nic:
            for frame in (datagram(dreq(1), pkey=0), datagram(dreq(2), qkey=0), datagram(dreq(3) + bytes(4)), datagram(dreq(4), damaged=True)):
                nic.send(frame)
            for number in (6, 7):
                nic.send(datagram(dreq(number)))
                nic.receive(lambda f, n=number: is_drep(f, n))
            status, result = nic.end()
        self.assertEqual([result["counters"].get(name, 0) for name in ("rx_pkey_errors", "rx_qkey_errors", "rx_icrc_errors")], [1, 1, 1])
        self.assertEqual([p for p in result["problems"] if p.startswith("QP 1")], [])
        self.assertEqual(result["cm"]["received"], 2)
        self.assertEqual(status, 1)  # it tells of the damaged one

    def test_management_datagrams_of_another_kind_are_counted_and_not_answered(self):
        with Nic("--for", "300") as nic:
            for words in ({"base": 2}, {"kind": 1}, {"version": 1}, {"method": 1}, {"method": 0x81}):
                nic.send(datagram(mad(REQ, **words)))
            for size in (0, 1, 24, 255):
                nic.send(datagram(dreq(1)[:size]))
            nic.send(datagram(dreq(9)))
            nic.receive(lambda f: is_drep(f, 9))
            _, result = nic.end()
        self.assertEqual((result["cm"]["malformed"], result["cm"]["sent"]), (9, 1), result["problems"])

    def test_senders_that_answer_no_arp_keep_nobody_from_being_answered(self):
        with Nic("--for", "300", "--set", "live.cm_response=18") as nic:
            for number in range(1, 401):  # more than may wait
                nic.send(datagram(dreq(number), source=bytes([10, 77, 1 + number // 200, 1 + number % 200])))
            nic.send(datagram(dreq(1000)))
            nic.receive(lambda f: is_drep(f, 1000))
            self.assertEqual(nic.end()[0], 0)

    def test_more_peers_than_the_nic_has_paths(self):
        with Nic("--for", "300", answers=lambda ip: ip[:2] == b"\x0a\x4d") as nic:
            for number in range(1, 101):
                nic.send(datagram(dreq(number), source=bytes([10, 77, 1, number])))
                answer = nic.receive(lambda f, n=number: is_drep(f, n))
                self.assertEqual(answer[30:34], bytes([10, 77, 1, number]))
            self.assertEqual(nic.end()[0], 0)

    def test_ip_options_of_other_protocols_are_no_fault(self):
        with Nic("--for", "300") as nic:
            nic.send(ethernet(0x0800, ipv4(IGMP, b"\x22\0\xfa\1\0\0\0\1\4\0\0\0\xe0\0\0\xfb", options=b"\x94\4\0\0")))
            nic.send(datagram(dreq(1)))
            nic.receive(lambda f: is_drep(f, 1))
            self.assertEqual(nic.end()[0], 0)


class CommandLine(unittest.TestCase):
    """Nothing runs: status 2 (or 3: the link) and the reason, at once."""

    def refused(self, reason, *words, status=2, scenario=""):
        with tempfile.TemporaryDirectory(prefix="rnic-hostile-") as folder:
            path = pathlib.Path(folder) / "case.yaml"
            path.write_text(scenario)
            link = () if "--link" in words else ("--link", f"dgram:{folder}/a:{folder}/b")
            command = [simulator, "live", str(path), "--no-files", "--for", "0.01", *words, *link]
            done = subprocess.run(command, text=True, capture_output=True, timeout=LIMIT, check=False)
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            self.assertIn(reason, done.stdout + done.stderr)

    def test_values_of_a_scenario(self):
        for scenario, reason in (
            ("live: {runs: [{run: ib_write_bw, expect: SUCCES}]}", "key 'live.runs[0].expect'"),
            ("live: {mac: 'ff:ff:ff:ff:ff:ff'}", "case.yaml:1:13: key 'live.mac'"),
            ("live: {mac: '00:00:00:00:00:00'}", "live.mac"),
            ("live: {ip: 224.0.0.1}", "case.yaml:1:12: key 'live.ip'"),
            ("live: {ip: 0.0.0.0}", "live.ip"),
            ("live: {ip6: 'ff02::1'}", "case.yaml:1:13: key 'live.ip6'"),
            ("live: {ip6: '::'}", "live.ip6"),
        ):
            with self.subTest(scenario=scenario):
                self.refused(reason, scenario=scenario)

    def test_numbers(self):
        for option in ("--seed=-1", "--seed=18446744073709551616", "--seed=1x"):
            with self.subTest(option=option):
                self.refused("no whole number", option)

    def test_places_that_cannot_be_written(self):
        self.refused("/nowhere/x.json: cannot be written", "--json", "/nowhere/x.json")
        self.refused("/dev/full: cannot be written", "--json", "/dev/full", status=1)

    def test_a_stream_whose_other_side_goes_ends_the_run(self):
        with tempfile.TemporaryDirectory(prefix="rnic-hostile-") as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen(1)
            command = [simulator, "live", str(SCENARIO), "--no-files", "--link", f"stream-connect:{folder}/s", "--for", "100"]
            program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            listener.accept()[0].close()
            text = program.communicate(timeout=LIMIT)[0]
            self.assertEqual(program.returncode, 1)
            self.assertIn("has gone", text)


if __name__ == "__main__":
    simulator = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
