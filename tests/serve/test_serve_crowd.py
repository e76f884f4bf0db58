# SPDX-License-Identifier: Apache-2.0
"""xsp serve with more clients than it can serve: who sends little is served, and who ignores Retry-After waits."""
import contextlib
import http.client
import json
import resource
import socket
import ssl
import threading
import unittest

from otlp import request, span
from scripted import TIMEOUT_S
from server import JSON, names, wait_for
from test_serve import ServeTest

LARGE = "x" * 20_000  # a request with it is not a small one


class CrowdTest(ServeTest):
    def status_of(self, server):
        status, _, body = server.ask(None, path="/api/v1/status", method="GET")
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def file_bytes(self, server, most):
        """A limit on the size of files stands for a disk without room."""
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def started(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        return thread


class Crowd(CrowdTest):
    def test_small_requests_pass_those_that_wait_for_the_disk(self):
        """While no file can be made, large requests wait instead of being refused at once; a small one is acknowledged."""
        server = self.server("--file-bytes", "1")
        self.file_bytes(server, 4096)  # journals can be written, files cannot
        for number in range(1, 11):
            server.send(request([span(number, name="first")]))
        counts = {"accepted": 0}

        def send(number):
            one, connection = json.dumps(request([span(number, name="large", text=LARGE)])), server.connect()
            while server.ask(one, JSON, connection=connection)[0] == 503:
                pass  # as a client that ignores Retry-After
            counts["accepted"] += 1
            connection.close()
        crowd = [self.started(send, number) for number in range(11, 31)]

        def all_wait():
            status = self.status_of(server)
            return status["requests_waiting"] + status["requests_held"] == len(crowd)
        wait_for(all_wait, "a crowd that waits")
        server.send(request([span(31, name="small")]))
        self.assertEqual(counts["accepted"], 0)
        self.file_bytes(server, resource.RLIM_INFINITY)
        for thread in crowd:
            thread.join()
        status = self.status_of(server)
        self.assertEqual((status["requests_waiting"], status["requests_held"]), (0, 0))
        status, errors = server.stop()
        self.assertEqual(status, 0, errors)
        self.assertEqual(names(self.folder), ["first"] * 10 + ["large"] * 20 + ["small"])

    def test_bytes_of_bodies_are_bounded(self):
        """More bytes at a time than the server takes: they wait, none is lost, and no more are in memory than it says."""
        server, sent = self.server("--limit-body", "1M"), 0

        def send(number):
            one, connection = json.dumps(request([span(number, text="x" * 900_000)])), server.connect()
            while server.ask(one, JSON, connection=connection)[0] == 503:
                pass
            connection.close()
        crowd = [self.started(send, number) for number in range(1, 41)]
        for thread in crowd:
            sent += 900_000
            thread.join()
        wait_for(lambda: self.status_of(server)["body_bytes"] == 0, "the end of all requests")
        status = self.status_of(server)
        self.assertEqual(status["body_bytes_most"], (1 << 20) + (20 << 20))
        self.assertGreater(sent, status["body_bytes_most"])
        self.assertGreater(status["body_bytes_peak"], 900_000)
        self.assertLessEqual(status["body_bytes_peak"], status["body_bytes_most"])
        self.stopped(server)
        self.assertEqual(len(names(self.folder)), 40)

    def test_who_ignores_retry_after_is_held(self):
        """Its next request waits, also on a server that has room again; others do not. A server that stops does not wait for it."""
        server = self.server()
        server.send(request([span(1, name="before")]))
        self.file_bytes(server, 1000)
        one, connection = json.dumps(request([span(2, name="refused", text=LARGE)])), server.connect()
        self.addCleanup(connection.close)
        status, headers, _ = server.ask(one, JSON, connection=connection)
        self.assertEqual(status, 503)
        self.assertGreater(int(headers["Retry-After"]), 1)
        replies = []
        again = self.started(lambda: replies.append(server.ask(one, JSON, connection=connection)[0]))
        wait_for(lambda: self.status_of(server)["requests_held"] == 1, "a request that is held")
        self.file_bytes(server, resource.RLIM_INFINITY)
        server.send(request([span(3, name="other", text=LARGE)]))
        status, errors = server.stop()
        self.assertEqual(status, 0, errors)
        again.join()
        self.assertIn(replies, ([503], [200]))  # 200: this machine took longer than Retry-After
        self.assertEqual(names(self.folder), ["before", "other"] + ["refused"] * (replies == [200]))


class Places(CrowdTest):
    """More connections than places, none of which is used: a client still gets in, and stays."""
    HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"

    def hold(self, server, count, data=b""):
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
            self.addCleanup(one.close)
            with contextlib.suppress(OSError):  # its place is taken already
                one.sendall(data)

    def is_sent(self, server, number, connection=None):
        try:
            server.send(request([span(number, name=f"{number}")]), connection)
            return True
        except (OSError, http.client.HTTPException):  # its place was taken before its head came: clients try again
            return False

    def test_held_connections(self):
        server = self.server("--limit-connections", "20", "--timeout", "600")
        self.hold(server, 200)
        self.hold(server, 100, self.HEAD[:50])
        wait_for(lambda: self.is_sent(server, 1), "a place")
        kept = server.connect()
        wait_for(lambda: self.is_sent(server, 2, kept), "a place")
        self.hold(server, 200)
        self.hold(server, 100, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")  # refused: no better
        server.send(request([span(3, name="3")]), kept)  # a connection that was of use is not the one that is closed
        self.assertLessEqual(self.status_of(server)["connections"], 20)
        kept.close()
        self.stopped(server)
        self.assertEqual(names(self.folder), ["1", "2", "3"])

    def test_slow_bodies(self):
        server = self.server("--limit-connections", "4", "--timeout", "600")
        self.hold(server, 4, self.HEAD + b"{")
        wait_for(lambda: self.is_sent(server, 1), "a place")

    def test_half_made_handshakes(self):
        certificate, key = self.certificate()
        server = self.server("--limit-connections", "20", "--timeout", "600", "--tls-cert", certificate, "--tls-key", key)
        self.hold(server, 150, b"\x16\x03\x01\x02\x00\x01")  # the beginning of a ClientHello
        context = ssl.create_default_context(cafile=certificate)

        def is_taken():
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=TIMEOUT_S)
            try:
                return self.is_sent(server, 1, connection)
            finally:
                connection.close()
        wait_for(is_taken, "a place")
        self.stopped(server)
        self.assertEqual(names(self.folder), ["1"])


if __name__ == "__main__":
    unittest.main()
