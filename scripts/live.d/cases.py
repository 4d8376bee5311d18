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
INLINED = ["ib_write_bw", "ib_write_lat", "ib_send_bw", "ib_send_lat"]
RPING = "rping"
TOOLS = [*PINGPONG, *ONE_SIDED, *SEND, *ATOMIC, RPING]
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
    stop_after: int = 0  # it is stopped then, until its device has told the NIC that no receive is ready
    beside: "Case | None" = None  # runs at the same time, must not be disturbed
    reset_after: int = 0
    afterwards: "Case | None" = None  # runs when the NIC is up again
    patience: str = "3 s"
    limit: int = 0  # seconds of wall time, when longer than usual
    nobody: bool = False  # the client asks at a port where nobody listens
    cm_response: int = 20  # live.cm_response
    datagrams: dict = field(default_factory=dict)  # of the connection managers: at least so many of each name
    by_data: bool = False  # an RTU is lost, the first data tell the NIC

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

    def pingpong(self):
        return self.tool.startswith("ibv_")

    @property
    def over_cm(self):
        """Connected by rdma_cm, on the RDMA link itself."""
        return self.tool == RPING or "-R" in self.options.split()

    def command(self, port, host="", peer=False):
        """Command line of one side."""
        words = [self.tool]
        if self.tool == RPING:
            words += ["-c" if host else "-s", "-C", self.count, "-S", self.size, "-V"]  # the client compares its data
            if host:
                words += ["-a", host]
            elif peer and self.gid != 1:
                words += ["-a", "::"]  # else Linux's server has IPv4 only
        elif self.pingpong():
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
        words += ["-p", port, self.options, self.peer_options if peer else self.nic_options]
        words += [host] if self.tool != RPING else []
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


CM_MTU = 4096  # what rdma_cm of the peer asks for, as its link allows


def over_cm():
    """rping and perftest over rdma_cm, in both roles: sizes, every verb, several QPs, UD; IPv6 with rping alone, since
    perftest 4.5 takes no IPv6 address with -R."""
    keys = {"mtu": CM_MTU, "tag": "R"}
    cases = [
        *both(RPING, size=26, mtu=CM_MTU),
        *both(RPING, size=5000, count=20, mtu=CM_MTU, gid=2),
        Case(RPING, "client", size=65535, mtu=256),
        Case(RPING, "server", size=65535, mtu=CM_MTU),
        *both("ib_write_bw", size=65536, options="-R", **keys),
        *both("ib_write_lat", size=8, options="-R", **keys),
        *both("ib_read_bw", size=10000, options="-R", **keys),
        Case("ib_read_lat", "client", size=64, options="-R", **{**keys, "mtu": 1024}),
        Case("ib_read_lat", "server", size=64, options="-R", **keys),
        *both("ib_send_bw", size=3000, options="-R", **keys),
        *both("ib_send_lat", size=32, options="-R", **keys),
        *both("ib_write_bw", size=1000, qps=3, options="-R", **keys),
        *both("ib_send_bw", size=1000, options="-R -c UD", **{**keys, "tag": "R-ud"}),
        *both("ib_send_lat", size=100, options="-R -c UD", **{**keys, "tag": "R-ud"}),
    ]
    for tool, kind in (("ib_atomic_bw", "FETCH_AND_ADD"), ("ib_atomic_lat", "CMP_AND_SWAP")):
        for role in ROLES:
            case = Case(role=role, mtu=CM_MTU, **atomic(tool, kind, tag="R"))
            case.options += " -R"
            cases.append(case)
    return cases


def few_over_cm():
    """What of it the representative set has time for: rping, every verb, several QPs, UD."""
    chosen = {"ib_write_bw-server-65536B-mtu4096-v4-R", "ib_write_bw-client-65536B-mtu4096-v4-R", "ib_read_bw-server-10000B-mtu4096-v4-R",
              "ib_read_lat-client-64B-mtu1024-v4-R", "ib_send_lat-server-32B-mtu4096-v4-R", "ib_send_bw-client-3000B-mtu4096-v4-R",
              "ib_atomic_bw-client-8B-mtu4096-v4-add-R", "ib_write_bw-server-1000B-mtu4096-v4-q3-R",
              "ib_send_lat-server-100B-mtu4096-v4-R-ud", "ib_send_bw-client-1000B-mtu4096-v4-R-ud"}  # fmt: skip
    return [case for case in over_cm() if case.tool == RPING or case.name in chosen]


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
    cases += [case for mtu in MTUS for case in both(**atomic("ib_atomic_bw", "FETCH_AND_ADD", mtu=mtu))]
    for tool in [*ONE_SIDED, *SEND]:
        cases += both(tool, size=8192 * KIB, mtu=4096, options="-a", tag="all-sizes", limit=1200)
    for tool in INLINED:
        for size in (1, 4, 31, 32, 33, 500, 912):
            cases += both(tool, size=size, options="-I 912", tag="inline-max")
    for transport in ("UC", "UD"):
        for tool in SEND:
            cases += both(tool, size=1000, options=f"-c {transport}", tag=transport.lower())
    for mtu in MTUS:
        for gid in GIDS:
            cases += both("ib_send_bw", size=mtu, mtu=mtu, gid=gid, options="-c UD", tag="ud")
    for tool in ("ib_write_bw", "ib_write_lat"):
        cases += both(tool, size=5000, options="-c UC", tag="uc")
    for size in (26, 64, 1000, 4096, 4097, 65535):
        for gid in (1, 2):
            cases += both(RPING, size=size, gid=gid, mtu=CM_MTU)
    return unique([*representative(), *over_cm(), *cases])


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


def late_faults():
    """Trouble beside one verb on one QP: frames that the MAC throws away, several QPs, the verbs of a ping."""
    cases = []
    for role in ROLES:
        for end, word in (("a", "out"), ("b", "in")):
            rule = {"from": end, "packet": "roce", "nth": 2, "every": 5, "count": 3}
            keys = {"role": role, "resent": {}, "patience": "500 ms"}
            cases += [
                Case("ib_send_bw", size=5000, tag=f"corrupt-fcs-{word}", faults=[{"do": "corrupt", **rule}], **keys),
                Case("ib_write_bw", size=5000, qps=4, tag=f"drop-{word}", faults=[{"do": "drop", **rule}], **keys),
                Case(RPING, size=5000, count=20, mtu=CM_MTU, tag=f"drop-{word}", faults=[{"do": "drop", **rule, "nth": 9}], **keys),
                Case(RPING, size=5000, count=20, mtu=CM_MTU, tag=f"corrupt-{word}",
                     faults=[{"do": "corrupt", "fcs": "good", **rule, "nth": 9}], **keys),
            ]  # fmt: skip
    return cases


def not_ready():
    return [
        Case("ib_send_bw", "client", size=2000, count=8, peer_options="-r 1", tag="rnr", stop_after=3, resent={"nic": 1},
             peer_counters={"send_rnr_err": 1}),
        Case("ib_send_bw", "server", size=2000, count=40, nic_options="-r 1", tag="rnr", resent={"peer": 1},
             peer_counters={"rcvd_rnr_err": 1}),
    ]  # fmt: skip


def wrong_keys():
    """The NIC's request is refused, or the NIC refuses that of the peer."""
    keys = {"wrong_key": True, "expect": "REM_ACCESS_ERR", "resent": {}, "peer_fails": True}
    cases = [case for tool in ("ib_write_bw", "ib_read_bw") for case in both(tool, size=3000, tag="wrong-key", **keys)]
    return [*cases, *both(**atomic("ib_atomic_bw", "FETCH_AND_ADD", tag="wrong-key", **keys))]


def killed():
    """The peer's tool goes in mid-message; another QP goes on.

    The frames of both QPs are counted: fewer than either has to send.
    """
    keys = {"expect": "RETRY_EXC_ERR", "resent": {}, "patience": "500 ms", "tag": "killed"}
    return [Case(tool, "client", size=32 * KIB, count=count, kill_after=150,
                 beside=Case("ib_write_bw", "client", size=32 * KIB), **keys)
            for tool, count in (("ib_write_bw", 5), ("ib_send_bw", 5), ("ib_read_bw", 200))]  # fmt: skip


def reset():
    """The NIC is reset in mid-message, as requester and as responder, and works again afterwards."""
    keys = {"size": 256 * KIB, "tag": "reset", "expect": "RESET", "resent": {}, "patience": "500 ms", "peer_fails": True}
    return [Case(tool, role, reset_after=frames_out, afterwards=Case("ib_write_bw", role, size=10000), **keys)
            for tool, role, frames_out in (("ib_write_bw", "client", 100), ("ib_send_bw", "client", 100), ("ib_read_bw", "client", 2),
                                           ("ib_write_bw", "server", 6), ("ib_read_bw", "server", 100))]  # fmt: skip


def trouble():
    """Receiver not ready, wrong keys, a peer that dies, a NIC that is reset."""
    return [*late_faults(), *not_ready(), *wrong_keys(), *killed(), *reset()]


def cm_faults():
    """Each datagram of a connection lost once, in both roles; all of them twice; nobody there; a peer that dies.

    Linux's rping is gone before it would repeat a DREQ: when that is lost its server never hears of the end, and a lost
    DREP is not asked for again.
    """
    keys = {"tool": RPING, "size": 200, "mtu": CM_MTU, "resent": {}, "patience": "500 ms", "cm_response": 17}
    cases = []
    for role in ROLES:
        active, passive = ("a", "b") if role == "client" else ("b", "a")
        for end, lost in ((active, [("REQ", 1), ("RTU", 2), ("DREQ", 3)]), (passive, [("REP", 1), ("DREP", 2)])):
            for name, nth in lost:
                rule = {"do": "drop", "from": end, "qpn": 1, "nth": nth}
                if (role, name) == ("server", "DREQ"):
                    continue
                said = {} if name == "RTU" or (role, name) == ("server", "DREP") else {name: 2}
                cases.append(Case(role=role, tag=f"lost-{name.lower()}", faults=[rule], datagrams=said,
                                  by_data=name == "RTU" and role == "server", **keys))  # fmt: skip
        cases.append(Case(role=role, tag="twice", faults=[{"do": "duplicate", "qpn": 1}], **keys))
    cases.append(Case(role="client", tag="nobody", nobody=True, expect="CM_REJECTED", peer_fails=True, **keys))
    cases.append(Case(role="server", tag="killed", kill_after=60, expect="CM_DISCONNECTED", **{**keys, "count": 100000}))
    return cases


def faults():
    return unique([*wire_faults(), *trouble(), *cm_faults()])


def few_faults():
    """Trouble that the representative set has time for: every kind, verb and direction once."""
    chosen = ["ib_write_bw-client-5000B-mtu1024-v4-drop-out", "ib_read_bw-client-5000B-mtu1024-v4-drop-in",
              "ib_send_bw-server-5000B-mtu1024-v4-duplicate-in", "ib_write_bw-server-5000B-mtu1024-v4-reorder-in",
              "ib_read_bw-server-5000B-mtu1024-v4-corrupt-out", "ib_send_bw-client-5000B-mtu1024-v4-corrupt-in",
              "ib_atomic_bw-client-8B-mtu1024-v4-add-drop-out",
              "ib_send_bw-client-2000B-mtu1024-v4-rnr", "ib_write_bw-server-3000B-mtu1024-v4-wrong-key",
              "ib_write_bw-client-32768B-mtu1024-v4-killed", "ib_write_bw-client-262144B-mtu1024-v4-reset",
              "rping-client-200B-mtu4096-v4-lost-req", "rping-server-200B-mtu4096-v4-lost-rtu",
              "rping-client-200B-mtu4096-v4-lost-rep", "rping-client-200B-mtu4096-v4-nobody"]  # fmt: skip
    known = {case.name: case for case in faults()}
    return [known[name] for name in chosen]


SETS = {
    "representative": lambda: unique([*representative(), *few_over_cm(), *few_faults()]),
    "faults": faults,
    "soak": lambda: unique([*soak(), *faults()]),
}


def matching(known, patterns):
    """Cases whose tool or name fits one of the patterns."""
    return [case for case in known
            if any(fnmatch.fnmatchcase(case.tool, p) or fnmatch.fnmatchcase(case.name, p) for p in patterns)]  # fmt: skip
