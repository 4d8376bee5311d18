# SPDX-License-Identifier: Apache-2.0
"""What is run: a tool, the NIC's role, its options, the cable's faults, and what must come of it.

A `Case` stands for one start of the simulator and one of the tool in the peer. Sets: "representative", "faults" for
trouble, "soak" for the whole matrix.
"""

import fnmatch
from dataclasses import dataclass, field

import frames

PINGPONG = ["ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong"]
ONE_SIDED = ["ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat"]
SEND = ["ib_send_bw", "ib_send_lat"]
ATOMIC = ["ib_atomic_bw", "ib_atomic_lat"]
TOOLS = [*PINGPONG, *ONE_SIDED, *SEND, *ATOMIC]
ROLES = ["server", "client"]  # of the NIC
MTUS = [256, 512, 1024, 2048, 4096]
GIDS = {0: "IPv6 link-local", 1: "IPv4", 2: "IPv6"}
ATOMIC_KINDS = {"FETCH_AND_ADD": "add", "CMP_AND_SWAP": "cas"}
KIB = 1024


@dataclass
class Case:
    tool: str
    role: str
    size: int = 64
    count: int = 5
    qps: int = 1
    mtu: int = 1024
    gid: int = 1
    options: str = ""  # further ones, of both sides
    peer_options: str = ""
    nic_options: str = ""
    tag: str = ""
    faults: list = field(default_factory=list)
    expect: str = "SUCCESS"  # first CQE of the NIC that is not SUCCESS
    peer_fails: bool = False  # the peer's tool must end with an error
    resent: dict | None = None  # {"nic": 1}: at least so many; None: none on either side
    deviation: str = ""  # a rule that the peer breaks in this case, and the NIC works all the same
    peer_counters: dict = field(default_factory=dict)  # of `rdma statistic`: at least so many
    wrong_key: bool = False  # the key that the server names is changed on its way to the client
    kill_after: int = 0  # the peer's tool is killed when so many frames have left the NIC
    beside: "Case | None" = None  # runs at the same time, must not be disturbed
    reset_after: int = 0
    patience: str = "3 s"
    limit: int = 0  # seconds of wall time, when longer than usual

    @property
    def name(self):
        parts = [self.tool, self.role, f"{self.size}B", f"mtu{self.mtu}", {0: "v6local", 1: "v4", 2: "v6"}[self.gid]]
        if self.qps > 1:
            parts.append(f"q{self.qps}")
        if self.tag:
            parts.append(self.tag)
        return "-".join(parts)

    @property
    def clean(self):
        """Nothing goes wrong on the wire or at the ends: no retransmission, no error counter."""
        return self.resent is None and not self.faults

    @property
    def reliable(self):
        """On RC QPs."""
        return not self.tool.startswith(("ibv_uc", "ibv_ud")) and "-c U" not in self.options

    def pingpong(self):
        return self.tool.startswith("ibv_")

    def command(self, port, host="", peer=False):
        """Command line of one side."""
        words = [self.tool]
        if self.pingpong():
            words += ["-g", self.gid, "-n", self.count, "-s", self.size]
            if self.tool != "ibv_ud_pingpong":
                words += ["-m", self.mtu]
        else:
            words += ["-x", self.gid, "-n", self.count, "-F"]
            if self.tool not in ATOMIC:
                words += ["-s", self.size]
            words += ["-m", self.mtu]
            if self.qps > 1:
                words += ["-q", self.qps]
        words += ["-p", port, self.options, self.peer_options if peer else self.nic_options, host]
        return " ".join(str(word) for word in words if word != "")


def both(tool, **keys):
    return [Case(tool, role, **keys) for role in ROLES]


def atomic(tool, kind, **keys):
    tag = "-".join(filter(None, [ATOMIC_KINDS[kind], keys.pop("tag", "")]))
    return {"tool": tool, "size": 8, "options": f"-A {kind}", "tag": tag, **keys}


def representative():
    """Every tool in both roles; every MTU, address family, several QPs, the smallest and largest sizes, inline once each."""
    cases = [
        *both("ibv_rc_pingpong", size=4096, mtu=1024),
        *both("ibv_uc_pingpong", size=4096, mtu=1024),
        *both("ibv_ud_pingpong", size=1024, mtu=1024),
        Case("ibv_rc_pingpong", "server", size=5000, mtu=256, gid=0),
        Case("ibv_rc_pingpong", "client", size=5000, mtu=4096, gid=2),
        Case("ibv_ud_pingpong", "client", size=700, gid=0),
        *both("ib_write_bw", size=1),
        *both("ib_write_bw", size=65536, mtu=4096),
        *both("ib_write_bw", size=3000, mtu=256, gid=0),
        *both("ib_write_bw", size=10000, mtu=2048, qps=4),
        Case("ib_write_bw", "client", size=1024 * KIB, mtu=4096, gid=2),
        Case("ib_write_bw", "server", size=1024 * KIB, mtu=4096),
        *both("ib_write_lat", size=8, options="-I 64", tag="inline"),
        *both("ib_read_bw", size=1),
        *both("ib_read_bw", size=65536, mtu=4096),
        *both("ib_read_bw", size=3000, mtu=512, gid=2),
        Case("ib_read_bw", "client", size=10000, mtu=2048, qps=4),
        *both("ib_read_lat", size=64),
        *both("ib_send_bw", size=1),
        *both("ib_send_bw", size=65536, mtu=4096),
        *both("ib_send_bw", size=3000, mtu=512, gid=0),
        Case("ib_send_bw", "server", size=10000, mtu=2048, qps=4),
        *both("ib_send_lat", size=32, options="-I 64", tag="inline"),
    ]
    for kind in ATOMIC_KINDS:
        cases += both(**atomic("ib_atomic_bw", kind))
        cases += both(**atomic("ib_atomic_lat", kind))
    return cases


def sizes():
    return [1, 2, 3, 4, 7, 8, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 16 * KIB, 65535, 256 * KIB, 1024 * KIB]


def soak():
    """Every tool and role over all sizes, MTUs with all address families, numbers of QPs."""
    cases = []
    for tool in [*ONE_SIDED, *SEND, "ibv_rc_pingpong", "ibv_uc_pingpong"]:
        for size in sizes():
            cases += both(tool, size=size)
        for mtu in MTUS:
            for gid in GIDS:
                cases += both(tool, size=2 * mtu + 1, mtu=mtu, gid=gid)
    for tool in ["ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw"]:
        for qps in (2, 3, 8, 16):
            cases += both(tool, size=8 if tool in ATOMIC else 5000, qps=qps)
    for size in (1, 2, 3, 4, 100, 1023, 1024):
        for gid in GIDS:
            cases += both("ibv_ud_pingpong", size=size, gid=gid)
    for tool in ATOMIC:
        for kind in ATOMIC_KINDS:
            for gid in GIDS:
                cases += both(**atomic(tool, kind, count=20, gid=gid))
    for tool in ("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat"):
        cases += both(tool, size=1024 * KIB, mtu=4096, options="-a", tag="all-sizes", limit=1200)
    for transport in ("UC", "UD"):
        for tool in SEND:
            cases += both(tool, size=1000, options=f"-c {transport}", tag=transport.lower())
    for tool in ("ib_write_bw", "ib_write_lat"):
        cases += both(tool, size=5000, options="-c UC", tag="uc")
    return unique([*representative(), *cases])


def unique(cases):
    return list({case.name: case for case in cases}.values())


VERBS = {
    "write": {"tool": "ib_write_bw", "size": 5000},
    "read": {"tool": "ib_read_bw", "size": 5000},
    "send": {"tool": "ib_send_bw", "size": 5000},
    "atomic": atomic("ib_atomic_bw", "FETCH_AND_ADD", count=20),
}
FAULTS = {
    "drop": {"do": "drop"},
    "duplicate": {"do": "duplicate"},
    "reorder": {"do": "reorder"},
    "corrupt": {"do": "corrupt", "fcs": "good"},
}


def wire_faults():
    """Loss, repeats, reordering and bit errors on the cable, in each direction, for each verb and role."""
    cases = []
    for verb, keys in VERBS.items():
        for fault, rule in FAULTS.items():
            for end, word in (("a", "out"), ("b", "in")):
                rules = [{**rule, "from": end, "packet": "roce", "nth": 2, "every": 5, "count": 3}]
                for role in ROLES:
                    # Linux 6.1 goes on where the first answer had come to.
                    resumed = (verb, fault, word, role) == ("read", "drop", "in", "client")
                    case = {**keys, "deviation": frames.HEADLESS if resumed else "", "tag": "-".join(filter(None, [keys.get("tag", ""), fault, word]))}
                    cases.append(Case(role=role, faults=rules, resent={}, patience="500 ms", **case))
    return cases


def trouble():
    """Receiver not ready, wrong keys, a peer that dies, a NIC that is reset."""
    return [
        Case("ib_send_bw", "client", size=2000, count=8, peer_options="-r 1", tag="rnr", resent={"nic": 1},
             peer_counters={"send_rnr_err": 1}),
        Case("ib_send_bw", "server", size=2000, count=40, nic_options="-r 1", tag="rnr", resent={"peer": 1},
             peer_counters={"rcvd_rnr_err": 1}),
        *(Case(tool, "client", size=3000, tag="wrong-key", wrong_key=True, expect="REM_ACCESS_ERR", resent={},
               peer_fails=True)
          for tool in ("ib_write_bw", "ib_read_bw")),
        *(Case(tool, "server", size=3000, tag="wrong-key", wrong_key=True, expect="REM_ACCESS_ERR", resent={},
               peer_fails=True)
          for tool in ("ib_write_bw", "ib_read_bw")),
        Case("ib_write_bw", "client", size=256 * KIB, tag="killed", kill_after=150, expect="RETRY_EXC_ERR",
             resent={}, patience="500 ms",
             beside=Case("ib_write_bw", "client", size=64 * KIB)),
        Case("ib_write_bw", "client", size=256 * KIB, tag="reset", reset_after=100, expect="RESET", resent={},
             patience="500 ms", peer_fails=True),
    ]  # fmt: skip


def faults():
    return unique([*wire_faults(), *trouble()])


def few_faults():
    """Trouble that the representative set has time for: every kind, verb and direction once."""
    chosen = ["ib_write_bw-client-5000B-mtu1024-v4-drop-out", "ib_read_bw-client-5000B-mtu1024-v4-drop-in",
              "ib_send_bw-server-5000B-mtu1024-v4-duplicate-in", "ib_write_bw-server-5000B-mtu1024-v4-reorder-in",
              "ib_read_bw-server-5000B-mtu1024-v4-corrupt-out", "ib_send_bw-client-5000B-mtu1024-v4-corrupt-in",
              "ib_atomic_bw-client-8B-mtu1024-v4-add-drop-out"]  # fmt: skip
    known = {case.name: case for case in faults()}
    return [known[name] for name in chosen]


SETS = {
    "representative": lambda: unique([*representative(), *few_faults()]),
    "faults": faults,
    "soak": lambda: unique([*soak(), *faults()]),
}


def matching(known, patterns):
    """Cases whose tool or name fits one of the patterns."""
    return [case for case in known
            if any(fnmatch.fnmatchcase(case.tool, p) or fnmatch.fnmatchcase(case.name, p) for p in patterns)]  # fmt: skip
