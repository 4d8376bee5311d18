# SPDX-License-Identifier: Apache-2.0
"""Reads the datagrams of the connection manager, by byte offset, and follows its connections through a capture.

    mad = parse(payload)            # Mad, or None when it is no datagram of the connection manager
    follow = Connections()
    follow.take("nic", mad)         # in the order of the wire
    follow.problems                 # answers to nothing, wrong ids
    follow.repeated                 # {"nic": 0, "peer": 1}: datagrams that were sent before
"""

import collections
import struct
from dataclasses import dataclass, field

MAD_BYTES = 256
QPN, QKEY = 1, 0x80010000
NAMES = {0x10: "REQ", 0x11: "MRA", 0x12: "REJ", 0x13: "REP", 0x14: "RTU", 0x15: "DREQ", 0x16: "DREP", 0x17: "SIDR_REQ",
         0x18: "SIDR_REP"}  # fmt: skip
HEADER = bytes([1, 7, 2, 3])  # base version, class, class version, method Send
ANSWERS = {"REP": "REQ", "RTU": "REP", "DREP": "DREQ", "SIDR_REP": "SIDR_REQ"}


@dataclass
class Mad:
    name: str
    transaction: int
    local: int  # communication id of the sender; of SIDR the request's
    remote: int = 0
    qpn: int = 0
    psn: int = 0
    service: int = 0
    mtu: int = 0
    reason: int = 0
    addresses: tuple = ()  # in a REQ's private data: of the client, of the server
    problems: list = field(default_factory=list)


def parse(payload):
    if len(payload) != MAD_BYTES or payload[:4] != HEADER:
        return None
    name = NAMES.get(struct.unpack_from(">H", payload, 16)[0])
    if name is None:
        return None
    mad = Mad(name, *struct.unpack_from(">Q", payload, 8), *struct.unpack_from(">I", payload, 24))
    if name in ("MRA", "REJ", "REP", "RTU", "DREQ", "DREP"):
        mad.remote = struct.unpack_from(">I", payload, 28)[0]
    if name == "REQ":
        request(mad, payload)
    elif name == "REP":
        mad.qpn, mad.psn = (int.from_bytes(payload[i : i + 3], "big") for i in (36, 44))
    elif name == "REJ":
        mad.reason = struct.unpack_from(">H", payload, 34)[0]
    elif name == "DREQ":
        mad.qpn = int.from_bytes(payload[32:35], "big")
    elif name == "SIDR_REQ":
        mad.service = struct.unpack_from(">Q", payload, 32)[0]
        mad.addresses = addresses(payload[40:76])
    elif name == "SIDR_REP":
        mad.reason, mad.qpn = payload[28], int.from_bytes(payload[32:35], "big")
    if name in ("REQ", "REP") and mad.qpn < 2:
        mad.problems.append(f"{name} names QP {mad.qpn}")
    return mad


def request(mad, payload):
    mad.service = struct.unpack_from(">Q", payload, 32)[0]
    mad.qpn, mad.psn = (int.from_bytes(payload[i : i + 3], "big") for i in (56, 68))
    mad.mtu = payload[74] >> 4
    mad.addresses = addresses(payload[164:200])
    gids = payload[80:96], payload[96:112]
    if not 1 <= mad.mtu <= 5:
        mad.problems.append(f"REQ with MTU code {mad.mtu}")
    if mad.addresses and mad.addresses != gids:
        mad.problems.append("REQ: the addresses in its private data are not those of its path")


def addresses(head):
    """Both IP addresses of rdma_cm's head of the private data, as GIDs; () when there is none."""
    version = head[1] >> 4
    if head[0] != 0 or version not in (4, 6):
        return ()
    pair = head[4:20], head[20:36]
    return tuple(bytes(10) + b"\xff\xff" + entry[12:] for entry in pair) if version == 4 else pair


class Connections:
    def __init__(self):
        self.sent = set()  # (side, name, transaction, ids)
        self.known = {}  # (side, communication id): QPN
        self.psns = {}  # (side, QPN): the PSN that it waits for, until a packet has come
        self.names = collections.Counter()
        self.repeated = {"nic": 0, "peer": 0}
        self.reasons = collections.Counter()
        self.late = 0  # about connections from before the capture
        self.problems = []

    def take(self, side, mad):
        other = "peer" if side == "nic" else "nic"
        self.problems += [f"{text}" for text in mad.problems]
        self.names[mad.name] += 1
        key = (side, mad.name, mad.transaction, mad.local, mad.remote)
        if key in self.sent:
            self.repeated[side] += 1
            return
        self.sent.add(key)
        if mad.name == "REJ":
            self.reasons[f"{side} {mad.reason}"] += 1
        if mad.name in ("REQ", "REP"):
            self.known[side, mad.local] = mad.qpn
            self.psns[side, mad.qpn] = mad.psn
        mine, theirs = (side, mad.local) in self.known, (other, mad.remote) in self.known
        asked = ANSWERS.get(mad.name)
        answers = not asked or any(entry[:3] == (other, asked, mad.transaction) for entry in self.sent)
        if side == "peer" and not mine and not theirs and (mad.name == "DREQ" or (mad.name == "DREP" and not answers)):
            self.late += 1
            return
        if side == "nic" and mad.name == "DREP" and not mine:
            return  # to one of those
        if mad.name in ("REP", "RTU", "DREQ") and not theirs:
            self.problems.append(f"{mad.name} to the communication id {mad.remote:08x}, which nobody has")
        if mad.name in ("RTU", "DREQ") and not mine:
            self.problems.append(f"{mad.name} from the communication id {mad.local:08x}, which nobody has")
        if mad.name == "DREQ" and self.known.get((other, mad.remote), mad.qpn) != mad.qpn:
            self.problems.append(f"DREQ names QP {mad.qpn:#x}, connected is {self.known[other, mad.remote]:#x}")
        if not answers:
            self.problems.append(f"{mad.name} of transaction {mad.transaction:#x}, of which there was no {asked}")

    def take_request(self, side, qpn, psn):
        """A request of an RC QP: the first one begins where the other side said."""
        named = self.psns.pop(("peer" if side == "nic" else "nic", qpn), psn)
        if named != psn:
            self.problems.append(f"the first packet to QP {qpn:#x} has PSN {psn:#x}, the connection was made for {named:#x}")
