# SPDX-License-Identifier: Apache-2.0
"""Stands between a perftest client and its server and changes the R_Key that the server names.

A key line is 108 bytes: LID:reads:QPN:PSN:R_Key:address:GID (16 x "xx:") SRQN: and a zero byte (59 bytes without GID).
Everything else passes as it is.
"""

import re
import select
import socket
import threading

KEY_LINE = re.compile(rb"([0-9a-f]{4}:[0-9a-f]{4}:[0-9a-f]{6}:[0-9a-f]{6}:)([0-9a-f]{8})(:[0-9a-f]{16}:)")


def change(data):
    """The same bytes with the key's upper 24 bits (its index) changed."""
    return KEY_LINE.sub(lambda m: m[1] + b"%08x" % (int(m[2], 16) ^ 0x5A5A5A00) + m[3], data)


class KeyChange:
    """Listens on a port of 127.0.0.1 for one client; `server_port` is the server's, which may come later."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.changed = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self):
        self.ended.set()
        self.thread.join(5)
        self.listener.close()

    def _serve(self):
        while not self.ended.is_set():
            if select.select([self.listener], [], [], 0.2)[0]:
                client, _ = self.listener.accept()
                with client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
                    self._pass(client, server)

    def _pass(self, client, server):
        other = {client: server, server: client}
        while not self.ended.is_set():
            for source in select.select([client, server], [], [], 0.2)[0]:
                data = source.recv(65536)
                if not data:
                    return
                if source is server:
                    changed = change(data)
                    self.changed += changed != data
                    data = changed
                other[source].sendall(data)
