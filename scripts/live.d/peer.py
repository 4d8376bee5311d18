# SPDX-License-Identifier: Apache-2.0
"""The live peer: an emulated Linux machine with a software RoCEv2 device on an Ethernet link.

    with Peer(folder, run, say) as peer:      # boots
        peer.shell("rdma link")               # one command, (status, output)
        peer.start("server", "ib_write_bw -x 1 -n 5 -F")
        peer.wait("server", 30)               # (status, output)

Links of the machine: eth0, UNIX datagrams (one datagram, one frame), whose other end binds `link_here`; eth1, the tools'
TCP connections: the peer reaches this machine's 127.0.0.1 as GATEWAY, and `forwarded` ports here lead to it.
"""

import contextlib
import json
import os
import pathlib
import re
import select
import shlex
import socket
import time
import uuid

import image
import prepare
import process
from errors import LiveError, Unavailable

MAC = "52:54:00:77:00:0a"
IP4 = "10.77.0.10"
IP6 = "fd77::10"
LINK_LOCAL = "fe80::5054:ff:fe77:a"
GATEWAY = "10.0.2.2"
LINK_MTU = 4200  # room for a path MTU of 4096
MEMORY_MB = 384
ATTACHED = 24  # where the page of the held clock says that a simulator is there (harness/peerclock/page.hpp)


def free_ports(count):
    """Ports of 127.0.0.1 that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for entry in sockets:
        entry.bind(("127.0.0.1", 0))
    ports = [entry.getsockname()[1] for entry in sockets]
    for entry in sockets:
        entry.close()
    return ports


class Peer:
    def __init__(self, folder, run, say, holder):
        """`folder`: kernel and image; `run`: an empty folder for sockets and logs, whose path is short; `holder`: the
        library that holds the emulator's clock (harness/peerclock)."""
        self.holder = pathlib.Path(holder)
        self.folder = pathlib.Path(folder)
        self.run = pathlib.Path(run)
        self.say = say
        self.link_here = self.run / "nic.sock"
        self.link_there = self.run / "peer.sock"
        self.clock = self.run / "clock"
        self.console = self.run / "console.log"
        self.forwarded = free_ports(2)
        self.program = None
        self.control = None
        self.buffer = b""

    def command(self):
        forwards = "".join(f",hostfwd=tcp:127.0.0.1:{port}-:{port}" for port in self.forwarded)
        offloads = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,mrg_rxbuf=off"
        line = (f"console=ttyS0 quiet no_timer_check panic=-1 mitigations=off clocksource=hpet tsc=unstable nokaslr net.ifnames=0 rdinit=/init "
                f"peer.ip4={IP4}/24 peer.ip6={IP6}/64 peer.mtu={LINK_MTU}")
        return [
            prepare.EMULATOR, "-accel", "tcg,thread=single", "-cpu", "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+rdrand",
            "-m", str(MEMORY_MB), "-nodefaults", "-no-reboot", "-display", "none",
            "-kernel", str(self.folder / "vmlinuz"), "-initrd", str(self.run / "image.cpio"), "-append", line,
            "-serial", f"file:{self.console}",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=control,path={self.run}/control.sock",
            "-device", "virtserialport,chardev=control,name=control",
            "-netdev", f"dgram,id=link,local.type=unix,local.path={self.link_there},"
                       f"remote.type=unix,remote.path={self.link_here}",
            "-device", f"virtio-net-pci,netdev=link,mac={MAC},host_mtu=9000,{offloads}",
            "-netdev", f"user,id=way,ipv6=off{forwards}", "-device", "virtio-net-pci,netdev=way,mac=52:54:00:77:01:0a",
            "-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng",
        ]  # fmt: skip

    def __enter__(self):
        try:
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.control is not None:
            self.control.close()
        if self.program is not None:
            process.end(self.program)

    def boot(self, limit=600):
        began = time.monotonic()
        (self.run / "image.cpio").write_bytes((self.folder / "image.cpio").read_bytes() + image.guest_scripts())
        if not self.holder.exists():
            raise LiveError(f"{self.holder} is not built")
        listener = self._listen("control")
        with open(self.run / "emulator.log", "wb") as log:
            self.clock.write_bytes(bytes(4096))
            held = {**os.environ, "LD_PRELOAD": str(self.holder), "RNIC_PEER_CLOCK": str(self.clock)}
            self.program = process.start(self.command(), stdout=log, stderr=log, env=held)
        self.control = self._accept(listener, limit)
        while True:
            self.check_alive()
            with contextlib.suppress(TimeoutError):
                if "peer: up" in self.console_text():
                    self.shell("true", 20)
                    break
            if time.monotonic() - began > limit:
                raise Unavailable(f"the peer did not boot within {limit} s\n{self.console_text()[-2000:]}")
            time.sleep(0.2)
        if "peer: no" in self.console_text():
            raise LiveError("the peer is not complete:\n" + self.console_text()[-2000:])
        self.boot_seconds = time.monotonic() - began

    def _listen(self, name):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.run / f"{name}.sock"))
        listener.listen(1)
        return listener

    def _accept(self, listener, limit):
        end = time.monotonic() + limit
        with listener:
            listener.settimeout(0.5)
            while True:
                try:
                    return listener.accept()[0]
                except TimeoutError:
                    self.check_alive()
                    if time.monotonic() > end:
                        raise Unavailable("the emulator does not start") from None

    def check_alive(self):
        if self.program.poll() is not None:
            text = (self.run / "emulator.log").read_text(errors="replace").strip()
            raise Unavailable(f"the emulator ended with status {self.program.returncode}: {text[-1000:]}")

    def console_text(self):
        try:
            return self.console.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def thaw(self):
        """Lets the peer's time run, whatever the simulator left behind."""
        with open(self.clock, "r+b") as page:
            page.seek(ATTACHED)
            page.write(bytes(4))

    # The shell inside.

    def ask(self, function, *words, limit=60):
        """Calls a function of guest/control; returns (status, output)."""
        tag = uuid.uuid4().hex[:12]
        line = " ".join([function, tag, *(shlex.quote(word) for word in words)])
        if "\n" in line:
            raise ValueError(f"more than one line: {line!r}")
        try:
            self.control.sendall(line.encode() + b"\n")
        except BrokenPipeError:
            self.check_alive()
            raise
        pattern = re.compile(rb"\n%s (\d+)\n" % tag.encode())
        end = time.monotonic() + limit
        while not (found := pattern.search(self.buffer)):
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"peer: no answer within {limit} s: {line}")
            if select.select([self.control], [], [], min(left, 1.0))[0]:
                data = self.control.recv(65536)
                if not data:
                    self.check_alive()
                    raise LiveError("the peer's shell ended")
                self.buffer += data
            else:
                self.check_alive()
        output = self.buffer[: found.start()].decode(errors="replace")
        self.buffer = self.buffer[found.end() :]
        return int(found.group(1)), output

    def shell(self, command, limit=60):
        return self.ask("run", command, limit=limit)

    def start(self, job, command):
        self.ask("start", job, command)

    def status(self, job):
        """Exit status of a job that was started, None while it runs."""
        _, text = self.shell(f"cat /tmp/{job}.status")
        return int(text) if text.strip().isdigit() else None

    def output(self, job):
        return self.shell(f"cat /tmp/{job}.out")[1]

    def kill(self, job, signal="KILL"):
        self.shell(f"kill -{signal} $(cat /tmp/{job}.pid)")

    def state(self, job):
        """Where a job that runs is: twice its times and its system call, then the machine's connections and QPs."""
        look = f"cd /proc/$(cat /tmp/{job}.pid) && cut -d' ' -f3,14,15 stat; cat wchan stack syscall /proc/uptime"
        then = "cat /proc/net/tcp; rdma resource show qp; rdma statistic; cat /proc/interrupts"
        return self.shell(f"({look}); sleep 1; ({look}); {then}")[1]

    def wait(self, job, limit):
        end = time.monotonic() + limit
        while (status := self.status(job)) is None:
            if time.monotonic() > end:
                return None, self.output(job)
            time.sleep(0.2)
        return status, self.output(job)

    def wait_listening(self, port, job, limit=60):
        """Until somebody in the peer listens on a TCP port; False when the job has ended instead."""
        return self._wait_listening(f"cat /proc/net/tcp /proc/net/tcp6 | grep -qi ':{port:04X} .* 0A '", port, job, limit)

    def wait_cm_listening(self, port, job, limit=60):
        """The same on a port of rdma_cm."""
        return self._wait_listening(f"rdma resource show cm_id | grep -q 'state LISTEN .*:{port}'", port, job, limit)

    def _wait_listening(self, look, port, job, limit):
        end = time.monotonic() + limit
        while self.shell(look)[0] != 0:
            if self.status(job) is not None:
                return False
            if time.monotonic() > end:
                raise LiveError(f"the peer does not listen on port {port} after {limit} s")
            time.sleep(0.1)
        return True

    def counters(self):
        """Counters of the software RoCEv2 device as `rdma statistic` tells them."""
        status, text = self.shell("rdma -j statistic show link rxe0/1")
        if status != 0:
            raise LiveError(f"rdma statistic: {text.strip()}")
        entry = json.loads(text)[0]
        return {name: value for name, value in entry.items() if isinstance(value, int) and name not in ("ifindex", "port")}
