# SPDX-License-Identifier: Apache-2.0
"""Reads a capture and checks every frame of it, by a second reading of the protocol beside the simulator's own.

    capture = Capture("wire.pcap", nic_mac="02:00:00:00:00:01", mtu=1024)
    capture.problems      # texts, with the frame's number (from 1, as tshark counts)
    capture.deviations    # {"nic": Counter, "peer": Counter}: rules, beyond those of a frame by itself, that packets broke
    capture.resent        # {"nic": 0, "peer": 0}: request packets whose PSN their sender had sent before
    capture.connections   # what the connection managers said (mads.Connections)
"""

import collections
import pathlib
import struct
import zlib
from dataclasses import dataclass, field

import mads

ROCE_PORT = 4791
RC, UC, UD = 0, 1, 3
SEGMENTS = {0: "SEND_FIRST", 1: "SEND_MIDDLE", 2: "SEND_LAST", 3: "SEND_LAST_IMM", 4: "SEND_ONLY", 5: "SEND_ONLY_IMM",
            6: "WRITE_FIRST", 7: "WRITE_MIDDLE", 8: "WRITE_LAST", 9: "WRITE_LAST_IMM", 10: "WRITE_ONLY",
            11: "WRITE_ONLY_IMM", 12: "READ_REQUEST", 13: "READ_RESPONSE_FIRST", 14: "READ_RESPONSE_MIDDLE",
            15: "READ_RESPONSE_LAST", 16: "READ_RESPONSE_ONLY", 17: "ACK", 18: "ATOMIC_ACK", 19: "COMPARE_SWAP",
            20: "FETCH_ADD", 22: "SEND_LAST_INV", 23: "SEND_ONLY_INV"}  # fmt: skip
FULL = {0, 1, 6, 7, 13, 14}  # FIRST and MIDDLE: exactly one path MTU
RESPONSES = {13, 14, 15, 16, 17, 18}
READ_REQUEST = 12
CNP = 0x81
EXTRA = {3: 4, 5: 4, 6: 16, 9: 4, 10: 16, 11: 20, 12: 16, 13: 4, 15: 4, 16: 4, 17: 4, 18: 12, 19: 28, 20: 28, 22: 4, 23: 4}
PSN_MASK = 0xFFFFFF


def opcode_name(opcode):
    if opcode == CNP:
        return "CNP"
    service = {RC: "RC", UC: "UC", UD: "UD"}.get(opcode >> 5)
    segment = SEGMENTS.get(opcode & 31)
    fits = service == "RC" or (service == "UC" and opcode & 31 < 12) or (service == "UD" and opcode & 31 in (4, 5))
    return f"{service}_{segment}" if service and segment and fits else None


@dataclass
class Packet:
    """One RoCEv2 packet; `problems` are rules that it breaks by itself."""

    source: bytes
    destination: bytes
    opcode: int
    pad: int
    qpn: int
    psn: int
    ack_request: bool
    icrc: int
    mig_req: bool = True
    payload: int = 0
    syndrome: int | None = None
    read_length: int | None = None
    mad: mads.Mad | None = None  # to QP 1
    problems: list = field(default_factory=list)


def ones_sum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def icrc(packet, ip_length):
    """Invariant CRC of `packet`: IP header to the last pad byte, with the fields that may change on the way masked."""
    masked = bytearray(packet)
    if packet[0] >> 4 == 4:
        masked[1] = masked[8] = masked[10] = masked[11] = 0xFF  # TOS, TTL, header checksum
    else:
        masked[0] |= 0x0F  # traffic class and flow label
        masked[1] = masked[2] = masked[3] = masked[7] = 0xFF  # and hop limit
    masked[ip_length + 6] = masked[ip_length + 7] = 0xFF  # UDP checksum
    masked[ip_length + 12] = 0xFF  # FECN, BECN
    return zlib.crc32(b"\xff" * 8 + masked)


def roce_part(frame):
    """(IP packet, length of its header) when the frame is RoCEv2, else None."""
    offset, ether_type = 14, frame[12:14]
    if ether_type == b"\x81\x00":
        offset, ether_type = 18, frame[16:18]
    if ether_type == b"\x08\x00" and len(frame) >= offset + 28:
        length = struct.unpack_from(">H", frame, offset + 2)[0]
        header, protocol = (frame[offset] & 15) * 4, frame[offset + 9]
    elif ether_type == b"\x86\xdd" and len(frame) >= offset + 48:
        length = 40 + struct.unpack_from(">H", frame, offset + 4)[0]
        header, protocol = 40, frame[offset + 6]
    else:
        return None
    if protocol != 17 or frame[offset + header + 2 : offset + header + 4] != ROCE_PORT.to_bytes(2, "big"):
        return None
    return frame[offset : offset + length], header, length, len(frame) - offset


def parse(frame):
    """A Packet, or None when the frame is not RoCEv2."""
    found = roce_part(frame)
    if found is None:
        return None
    packet, header, length, there = found
    problems = []
    if there < length or len(packet) < header + 24:
        problems.append(f"{there} bytes of {length}")
        return Packet(b"", b"", 0, 0, 0, 0, False, 0, problems=problems)
    version = packet[0] >> 4
    udp = packet[header:]
    if version == 4 and ones_sum(packet[:header]) != 0xFFFF:
        problems.append("IPv4 header checksum")
    if struct.unpack_from(">H", udp, 4)[0] != len(udp):
        problems.append(f"UDP length {struct.unpack_from('>H', udp, 4)[0]} of {len(udp)}")
    flags, pkey = udp[9], struct.unpack_from(">H", udp, 10)[0]
    sent = struct.unpack("<I", udp[-4:])[0]
    result = Packet(
        source=packet[12:16] if version == 4 else packet[8:24],
        destination=packet[16:20] if version == 4 else packet[24:40],
        opcode=udp[8],
        pad=flags >> 4 & 3,
        qpn=int.from_bytes(udp[13:16], "big"),
        psn=int.from_bytes(udp[17:20], "big"),
        ack_request=bool(udp[16] >> 7),
        icrc=sent,
        mig_req=bool(flags & 0x40) or udp[8] == CNP,
        problems=problems,
    )
    expected = icrc(packet[:-4], header)
    if expected != sent:
        problems.append(f"iCRC {sent:08x}, expected {expected:08x}")
    if flags & 15:
        problems.append(f"transport version {flags & 15}")
    if pkey != 0xFFFF:
        problems.append(f"P_Key {pkey:#06x}")
    body(result, udp)
    return result


def body(packet, udp):
    """What stands behind the base header."""
    if opcode_name(packet.opcode) is None:
        packet.problems.append(f"opcode {packet.opcode:#04x}")
        return
    if packet.opcode == CNP:
        return
    segment = packet.opcode & 31
    extra = EXTRA.get(segment, 0) + (8 if packet.opcode >> 5 == UD else 0)
    packet.payload = len(udp) - 20 - extra - 4 - packet.pad
    if packet.payload < 0:
        packet.problems.append("shorter than its headers")
        return
    if (packet.payload + packet.pad) % 4:
        packet.problems.append(f"{packet.payload} bytes with pad count {packet.pad}")
    if any(udp[len(udp) - 4 - packet.pad : len(udp) - 4]):
        packet.problems.append("pad bytes that are not zero")
    if segment in FULL and packet.payload not in (256, 512, 1024, 2048, 4096):
        packet.problems.append(f"{packet.payload} bytes in {opcode_name(packet.opcode)}")
    if segment in (12, 17, 18, 19, 20) and packet.payload:
        packet.problems.append(f"{packet.payload} bytes in {opcode_name(packet.opcode)}")
    if segment in (13, 15, 16, 17, 18):
        packet.syndrome = udp[20]
    if segment == READ_REQUEST:
        packet.read_length = struct.unpack_from(">I", udp, 32)[0]
    if packet.qpn == mads.QPN:
        datagram(packet, udp)


def datagram(packet, udp):
    """What goes to QP 1: a datagram of the connection manager, from a QP 1."""
    qkey, source = struct.unpack_from(">II", udp, 20)
    if opcode_name(packet.opcode) != "UD_SEND_ONLY":
        packet.problems.append(f"{opcode_name(packet.opcode)} to QP 1")
        return
    packet.mad = mads.parse(udp[28:-4])
    if packet.mad is None:
        packet.problems.append("no datagram of the connection manager")
    if (qkey, source) != (mads.QKEY, mads.QPN):
        packet.problems.append(f"to QP 1 with Q_Key {qkey:#x} from QP {source}")


def read_pcap(path):
    """Frames of a capture, in order."""
    data = pathlib.Path(path).read_bytes()
    orders = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
    order = orders.get(data[:4])
    if order is None or len(data) < 24:
        raise ValueError(f"{path}: not a pcap file")
    offset = 24
    while offset < len(data):
        if offset + 16 > len(data):
            raise ValueError(f"{path}: cut in a record's head")
        size = struct.unpack_from(order + "I", data, offset + 8)[0]
        offset += 16
        if offset + size > len(data):
            raise ValueError(f"{path}: cut in a frame")
        yield data[offset : offset + size]
        offset += size


def write_pcap(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for index, frame in enumerate(frames):
            out.write(struct.pack("<IIII", index // 1000000, index % 1000000 * 1000, len(frame), len(frame)) + frame)


class Requests:
    """PSNs of the requests to each QP, in the order in which their sender sent them."""

    def __init__(self, mtu):
        self.mtu = mtu
        self.next = {}
        self.resent = 0

    def take(self, packet):
        if packet.opcode >> 5 != RC or packet.opcode & 31 in RESPONSES:
            return
        key = (packet.source, packet.destination, packet.qpn)
        expected = self.next.get(key, packet.psn)
        if (packet.psn - expected) & 0x800000:
            self.resent += 1
            return
        taken = max(1, -(-(packet.read_length or 0) // self.mtu))  # a READ takes the PSNs of its responses
        self.next[key] = packet.psn + taken & PSN_MASK


NO_MIG_REQ = "MigReq is 0"
HEADLESS = "a READ's answer begins with MIDDLE or LAST"


class Answers:
    """READ responses to each QP: one begins with FIRST or ONLY, also when a READ is asked for again."""

    def __init__(self):
        self.last = {}

    def headless(self, packet):
        if packet.opcode not in range(13, 17):
            return False
        key = (packet.source, packet.destination, packet.qpn)
        before = self.last.get(key)
        self.last[key] = packet
        goes_on = before is not None and before.opcode in (13, 14) and (before.psn + 1 & PSN_MASK) == packet.psn
        return packet.opcode in (14, 15) and not goes_on


class Capture:
    """Every frame of a capture checked; what the peers' requests did."""

    def __init__(self, path, nic_mac, mtu, cut=()):
        """`cut`: positions of frames that ended in an error on the cable and reached nobody."""
        mac = bytes.fromhex(nic_mac.replace(":", ""))
        requests = {"nic": Requests(mtu), "peer": Requests(mtu)}
        answers = Answers()
        self.deviations = {"nic": collections.Counter(), "peer": collections.Counter()}
        self.frames = 0
        self.packets = []
        self.problems = []
        self.opcodes = collections.Counter()
        self.naks = collections.Counter()
        self.connections = mads.Connections()
        for frame in read_pcap(path):
            self.frames += 1
            packet = None if self.frames - 1 in cut else parse(frame)
            if packet is None:
                continue
            side = "nic" if frame[6:12] == mac else "peer"
            self.packets.append((self.frames, side, packet))
            self.problems += [f"frame {self.frames} of the {side}: {text}" for text in packet.problems]
            self.opcodes[opcode_name(packet.opcode) or hex(packet.opcode)] += 1
            if packet.syndrome is not None and packet.syndrome >> 5:
                self.naks[f"{side} {packet.syndrome:#04x}"] += 1
            requests[side].take(packet)
            if not packet.problems:
                self.deviations[side][NO_MIG_REQ] += not packet.mig_req
                self.deviations[side][HEADLESS] += answers.headless(packet)
            if packet.mad is not None:
                self.connections.take(side, packet.mad)
            elif packet.opcode >> 5 == RC and packet.opcode & 31 not in RESPONSES:
                self.connections.take_request(side, packet.qpn, packet.psn)
        self.resent = {side: entry.resent for side, entry in requests.items()}
        self.problems += self.connections.problems
