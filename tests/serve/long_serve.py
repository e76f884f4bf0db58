# SPDX-License-Identifier: Apache-2.0
"""xsp serve for longer: a thousand kills, and a thousand connections with slow clients among them."""
import json
import resource
import socket
import unittest

from otlp import request, span
from scripted import TIMEOUT_S
from server import JSON, names, wait_for
from test_serve import ServeTest
from test_serve_keeping import killed_servers


class Long(ServeTest):
    def test_a_thousand_kills(self):
        killed_servers(self, 1000)

    def test_a_thousand_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        server = self.server("--timeout", "30")
        body = json.dumps(request([span(1)])).encode()
        head = (b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                % len(body))
        idle = [socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) for _ in range(500)]
        slow = [socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) for _ in range(500)]
        for at in range(0, len(head), 40):
            for one in slow:
                one.sendall(head[at:at + 40])
        for number in range(2, 102):  # the others are served meanwhile
            server.send(request([span(number, name="quick")]))
        for one in slow:
            one.sendall(body)
        for one in slow:
            self.assertIn(b" 200 ", one.recv(1000))
        memory = int(next(line for line in open(f"/proc/{server.process.pid}/status") if line.startswith("VmRSS")).split()[1])
        self.assertLess(memory, 150_000)  # kB
        for one in idle + slow:
            one.close()
        self.stopped(server)
        self.assertEqual(names(self.folder), ["quick"] * 100 + ["span"])


if __name__ == "__main__":
    unittest.main()
