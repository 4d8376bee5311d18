# SPDX-License-Identifier: Apache-2.0
"""The NIC on network devices of this machine, in a network namespace of its own: TAP and AF_PACKET.

    python3 devices.py RNIC-SIM        # 77: this machine allows no such namespace or device

The kernel is the other side (ARP, neighbour discovery, echo), then a second NIC (tools over RoCEv2).
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import unittest

from nic_process import LIMIT, NicProcess, checksum

NIC_MAC = "02:00:00:00:00:01"
SKIPPED = 77
simulator = None


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def no_noise(device):
    """No router solicitations, no duplicate address detection, where that can be set."""
    for setting in ("accept_dad", "router_solicitations"):
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{device}/{setting}").write_text("0")


class Nic(NicProcess):
    def __init__(self, link, *words, addresses=None):
        settings = [part for key, value in (addresses or {}).items() for part in ("--set", f"live.{key}={value}")]
        super().__init__(simulator, link, "--set", "live.patience=20 s", *settings, *words)


def echo(address, size):
    """One echo request of this kernel's stack; the answer's data."""
    data = bytes(i * 7 & 255 for i in range(size))
    family, protocol, request, reply = (
        (socket.AF_INET6, socket.IPPROTO_ICMPV6, 128, 129) if ":" in address else (socket.AF_INET, socket.IPPROTO_ICMP, 8, 0))
    with socket.socket(family, socket.SOCK_RAW, protocol) as s:
        s.settimeout(LIMIT)
        head = struct.pack(">BBHHH", request, 0, 0, 0x524E, size)
        if family == socket.AF_INET:
            head = struct.pack(">BBHHH", request, 0, checksum(head + data), 0x524E, size)
        s.sendto(head + data, (address, 0))
        while True:
            packet, source = s.recvfrom(65536)
            if family == socket.AF_INET:
                packet = packet[(packet[0] & 15) * 4 :]
            if source[0] == address and packet[0] == reply and packet[4:8] == head[4:8]:
                return packet[8:] == data


class Devices(unittest.TestCase):
    def kernel_meets_nic(self, device, link):
        no_noise(device)
        ip(f"link set {device} mtu 4200 up")
        ip(f"addr add 10.77.0.10/24 dev {device}")
        ip(f"addr add fd77::10/64 dev {device} nodad")
        with Nic(link) as nic:
            nic.wait_line("rnic-sim: ready")
            for address in ("10.77.0.9", "fd77::9"):
                for size in (2, 56, 1400, 4000):
                    self.assertTrue(echo(address, size), f"{size} bytes to {address}")
                known = subprocess.run(["ip", "neigh", "show", address, "dev", device], capture_output=True, text=True, check=True)
                self.assertIn(NIC_MAC, known.stdout)
            nic.program.send_signal(signal.SIGINT)
            status, result = nic.end()
        self.assertEqual(status, 0, result["problems"])
        self.assertGreaterEqual(result["wire"]["frames"], 18)

    def test_the_kernel_meets_the_nic_on_a_tap_device(self):
        ip("tuntap add dev tap0 mode tap")
        self.kernel_meets_nic("tap0", "tap:tap0")
        ip("link del tap0")

    def test_the_kernel_meets_the_nic_on_a_packet_socket(self):
        ip("link add name pair0 type veth peer name pair1")
        no_noise("pair1")
        ip("link set pair1 mtu 4200 up")
        self.kernel_meets_nic("pair0", "packet:pair1")
        ip("link del pair0")

    def test_tools_between_a_nic_on_a_tap_device_and_one_on_a_packet_socket(self):
        ip("tuntap add dev tap1 mode tap")
        no_noise("tap1")
        ip("link set tap1 up")
        second = {"mac": "02:00:00:00:00:02", "ip": "10.77.0.2", "ip6": "fd77::2"}
        commands = ["ib_write_bw -n 5 -s 10000 -m 1024", "ib_read_bw -n 5 -s 10000 -m 1024 -x 2", "ib_send_lat -n 5 -s 64",
                    "ib_atomic_bw -n 20"]  # fmt: skip
        runs = [word for command in commands for word in ("--run", command)]
        with Nic("tap:tap1", *runs) as server:
            server.wait_line("rnic-sim: listening")
            # One client a run: the server listens for the next one when the last has ended.
            for index, command in enumerate(commands):
                if index:
                    server.wait_line("rnic-sim: listening")
                with Nic("packet:tap1", "--run", f"{command} 127.0.0.1", addresses=second) as client:
                    status, result = client.end()
                self.assertEqual(status, 0, result["problems"])
                self.assertEqual(result["runs"][0]["resent"], {"nic": 0, "peer": 0})
                self.assertGreater(result["runs"][0]["bytes_checked"], 0)
            status, result = server.end()
        self.assertEqual(status, 0, result["problems"])
        self.assertEqual([run["verdict"] for run in result["runs"]], ["pass"] * len(commands))


def main(words):
    global simulator
    if len(words) != 1:
        print("usage: devices.py RNIC-SIM")
        return 2
    if "RNIC_NAMESPACE" not in os.environ:
        enter = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]
        if shutil.which("ip") is None or shutil.which("unshare") is None:
            print("SKIPPED: no ip or unshare here")
            return SKIPPED
        if subprocess.run([*enter, "ip", "tuntap", "add", "dev", "try", "mode", "tap"], capture_output=True, check=False).returncode:
            print("SKIPPED: no network namespace or TAP device can be had here")
            return SKIPPED
        os.environ["RNIC_NAMESPACE"] = "1"
        os.execvp("unshare", [*enter, sys.executable, __file__, *words])
    simulator = words[0]
    ip("link set lo up")
    return 0 if unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
