# SPDX-License-Identifier: Apache-2.0
"""What HTTP/1.1 and OTLP require of a receiver where clients are odd: heads, texts of errors, unknown fields, ids of traces."""
import contextlib
import json
import socket
import unittest

import otlp
from otlp import request, span
from scripted import TIMEOUT_S
from server import JSON, PROTO, names, rows
from test_serve import ServeTest, status_pb2


class Heads(ServeTest):
    def replies(self, server, *lines, body=b""):
        """Statuses of the replies to a head and what follows, up to the connection's end."""
        head = "".join(f"{line}\r\n" for line in lines) + "\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
            connection.sendall(head.encode() + body)
            connection.shutdown(socket.SHUT_WR)
            reply = b""
            while part := connection.recv(65536):
                reply += part
        return [int(part.split()[0]) for part in reply.split(b"HTTP/1.1 ")[1:]]

    def first_status(self, server, lines, body):
        """Of a request that may be refused while it is sent."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode() + body)
            return int(connection.recv(65536).split()[1])

    def test_a_target_with_an_authority(self):
        server = self.server()
        for target, host, status in (("http://localhost/api/v1/jobs", "localhost", 200),
                                     ("http://localhost/api/v1/jobs", "evil.example", 200),  # Host is ignored then
                                     ("http://evil.example/api/v1/jobs", "localhost", 403),
                                     ("http://localhost@evil.example/api/v1/jobs", "localhost", 403),
                                     ("HTTP://127.0.0.1:4318", "localhost", 200), ("http:///api/v1/jobs", "localhost", 400),
                                     ("http://localhost/api/v1/jobs?x=1", "localhost", 400)):
            with self.subTest(target, host=host):
                self.assertEqual(self.replies(server, f"GET {target} HTTP/1.1", f"Host: {host}"), [status])

    def test_host_is_there_once(self):
        server = self.server()
        get = "GET /api/v1/jobs HTTP/1.1"
        self.assertEqual(self.replies(server, get, "Host: localhost \t"), [200])
        self.assertEqual(self.replies(server, get, "Host: localhost", "Host: evil.example"), [400])
        self.assertEqual(self.replies(server, get, "host: localhost", "HOST: localhost"), [400])
        self.assertEqual(self.replies(server, get), [400])
        self.assertEqual(self.replies(server, "GET /api/v1/jobs HTTP/1.0"), [403])

    def test_a_body_has_one_length(self):
        """What follows a head that proxies may read in another way is not taken for a request."""
        server = self.server()
        post = ("POST /v1/traces HTTP/1.1", "Host: localhost", "Content-Type: application/json")
        hidden = b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"
        self.assertEqual(self.replies(server, *post, "Content-Length: 2", body=b"{}" + hidden), [200, 200])
        self.assertEqual(self.replies(server, *post, "Content-Length: 2", "Content-Length: 3", body=b"{} " + hidden), [400])
        self.assertEqual(self.replies(server, *post, "Content-Length: 5", "Transfer-Encoding: chunked",
                                      body=b"0\r\n\r\n" + hidden), [400])

    def test_headers_that_decide_are_there_once(self):
        server = self.server()
        own = f"http://127.0.0.1:{server.port}"
        for name, values in (("Origin", (own, own)), ("Origin", (own, "https://evil.example")), ("Sec-Fetch-Site", ("none", "cross-site")),
                             ("Sec-Fetch-Site", ("same-origin", "same-origin")), ("Authorization", ("Bearer a", "Bearer b")),
                             ("Content-Type", ("application/json", "text/plain")), ("Content-Encoding", ("gzip", "identity")),
                             ("Range", ("bytes=0-1", "bytes=2-3")), ("Transfer-Encoding", ("chunked", "chunked"))):
            with self.subTest(name, values=values):
                lines = [f"{name}: {value}" for value in values]
                self.assertEqual(self.replies(server, "GET /api/v1/jobs HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *lines), [400])

    def test_zero_bytes(self):
        """libmicrohttpd's texts end at a zero byte: what follows would be hidden."""
        server = self.server()
        get, host = "GET /api/v1/jobs HTTP/1.1", "Host: localhost"
        for lines in (("GET /api/v1/jobs\0 HTTP/1.1", host), ("GET /api/v1/jobs\0?x=1 HTTP/1.1", host),
                      ("GET /api/v1/runs?limit=1\0&x=1 HTTP/1.1", host), ("GET /api/v1/jobs\0HTTP/1.1 HTTP/1.1", host),
                      (get, "Host: localhost\0.evil.example"), (get, "Host: localhost\0"), (get, "Host: localhost\0", "A: b"),
                      (get, host, "A: b\0c", "D: e"), (get, host, "\0A: b", "D: e"), (get, "Host: local", " host")):
            with self.subTest(lines):
                self.assertEqual(self.replies(server, *lines), [400])
        many = [f"X-{number}: {'y' * 100}" for number in range(80)]
        for lines in ((), ("A:", "B: \t", "C: d"), many):
            self.assertEqual(self.replies(server, get, host, *lines), [200])

    def test_lines_that_may_be_read_in_two_ways(self):
        """RFC 9112, 5.1 and 2.2. libmicrohttpd takes `Origin ` for another header than Origin."""
        server = self.server()
        get, host = "GET /api/v1/jobs HTTP/1.1", "Host: localhost"
        for line in ("Origin : http://evil.example", "Origin\t: http://evil.example", "Sec-Fetch-Site : cross-site", "A\rB: c",
                     "A: b\rOrigin: http://evil.example", "Content-Length : 5"):
            with self.subTest(line):
                self.assertEqual(self.replies(server, get, host, line), [400])
        self.assertEqual(self.replies(server, get, host, "x-!#$%&'*+.^_`|~09: \t a b \t"), [200])

    def test_an_extension_of_a_chunk(self):
        """One that does not fit into a connection's memory ends it, by a reply of libmicrohttpd (0.9.75: 500), and nothing is stored."""
        server = self.server()
        post = ("POST /v1/traces HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Transfer-Encoding: chunked")
        for extension, statuses in ((b"x" * 1000, {200}), (b"x" * 200_000, {400, 413, 500})):
            body = json.dumps(request([span(1, name="one")])).encode()
            self.assertIn(self.first_status(server, post, b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(body), extension, body)), statuses)
        self.stopped(server)
        self.assertEqual(names(self.folder), ["one"])

    def test_white_space_after_a_value(self):
        server = self.server()
        self.assertEqual(self.replies(server, "POST /v1/traces HTTP/1.1", "Host: localhost", "Content-Length: 2",
                                      "Content-Type: application/json ", "Content-Encoding: identity ", body=b"{}"), [200])


class Texts(ServeTest):
    def test_errors_are_utf8(self):
        """Also where the text, which quotes the client, is cut."""
        server = self.server()
        for more in range(4):
            path = "/v1/traces?" + "x" * more + "%E2%82%AC" * 300 + "=1"
            for headers in (JSON, PROTO, {}):
                with self.subTest(headers, more=more):
                    status, _, body = server.ask(b"", headers, path=path)
                    self.assertEqual(status, 400)
                    if headers == PROTO:
                        self.assertIsNotNone(status_pb2)
                        body = status_pb2.Status.FromString(body).message.encode()
                    self.assertIn("€€", body.decode())
                    self.assertNotIn("\N{REPLACEMENT CHARACTER}", body.decode())


class Spans(ServeTest):
    def rejected(self, server, *spans):
        """By reason."""
        status, _, body = server.ask(json.dumps(request(spans)), JSON)
        self.assertEqual(status, 200, body)
        partial = json.loads(body).get("partialSuccess", {"errorMessage": ""})
        return partial["errorMessage"]

    def test_trace_ids(self):
        server = self.server()
        for number, trace in enumerate(("", "0" * 32, "abcd", "zz" * 16, "1" * 31, "1" * 33, "1" * 64), 1):
            with self.subTest(trace):
                self.assertEqual(self.rejected(server, span(number, trace=trace)), "1 bad trace id")
        without = [{key: value for key, value in span(1, name=name).items() if key != "traceId"} for name in "ab"]
        self.assertEqual(self.rejected(server, *without), "2 bad trace id")  # of equal ids, one would be lost
        self.assertEqual(self.rejected(server, span(20, name="capital", trace="AB" * 16)), "")
        self.assertEqual(self.rejected(server, span(21, name="named", trace="", xsp__trace="my trace")), "")
        self.assertEqual(self.rejected(server, span(22, trace="", xsp__trace=7)), "1 bad trace id")
        for number, size in enumerate((0, 15, 16, 17), 30):
            one = otlp.message(request([span(number, name=f"{size} bytes")]))
            one.resource_spans[0].scope_spans[0].spans[0].trace_id = b"\1" * size
            status, _, body = server.ask(one.SerializeToString(), PROTO)
            self.assertEqual((status, b"bad trace id" in body), (200, size != 16))
        self.stopped(server)
        self.assertEqual(names(self.folder), ["16 bytes", "capital", "named"])

    def test_times_in_attributes(self):
        server = self.server()
        self.assertEqual(self.rejected(server, span(1, xsp__start_ns=5, xsp__end_ns=1)), "1 negative duration")
        self.assertEqual(self.rejected(server, span(2, xsp__end_ns="1")), "1 negative duration")
        self.assertEqual(self.rejected(server, span(3, xsp__start_ns=-5, xsp__end_ns=2**63 - 1)), "1 duration beyond int64")
        self.assertEqual(self.rejected(server, span(4, name="early", xsp__start_ns=-5, xsp__end_ns=-1)), "")
        self.assertEqual(self.rejected(server, span(5, name="open", xsp__start_ns=5, xsp__end_ns=1, xsp__open=True)), "")
        self.stopped(server)
        self.assertEqual(names(self.folder), ["early", "open"])
        for note, in rows(self.folder, "select value from note where key = 'import'"):
            self.assertNotIn("skipped", note)

    def test_an_end_of_zero_is_none(self):
        server = self.server()
        for number, end in enumerate((0, "0"), 1):
            self.assertEqual(self.rejected(server, {**span(number, name="open"), "endTimeUnixNano": end}), "")
        self.stopped(server)
        self.assertEqual(rows(self.folder, "select distinct name, is_open from span"), [("open", 1)])

    def test_unknown_groups_are_skipped(self):
        server = self.server()
        group = otlp.field(100, otlp.field(1, otlp.varint(1), 0) + otlp.field(2, b"x") + otlp.field(101, b"", 3) +
                           otlp.field(101, b"", 4), 3) + otlp.field(100, b"", 4)
        body = group + otlp.to_proto(request([span(1, name="after")])) + group
        self.assertEqual(server.ask(body, PROTO)[0], 200)
        self.assertEqual(server.ask(body[:-1], PROTO)[0], 400)
        self.stopped(server)
        self.assertEqual(names(self.folder), ["after"])


if __name__ == "__main__":
    unittest.main()
