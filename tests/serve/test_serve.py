# SPDX-License-Identifier: Apache-2.0
"""xsp serve as clients see it: statuses, replies, limits, who may send, starting and stopping."""
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import unittest
import warnings

import otlp
from otlp import request, span
from scripted import TIMEOUT_S, XSP, temporary_folder, xsp
from server import JSON, PROTO, Server, files, in_all_forms, names, wait_for

try:
    from google.rpc import status_pb2
except ImportError:
    status_pb2 = None
try:
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
except ImportError:
    trace_service_pb2 = None


class ServeTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.parent = pathlib.Path(folder.name)
        self.folder = self.parent / "traces"

    def server(self, *options, **more):
        server = Server(self.folder, *options, **more)
        self.addCleanup(server.kill)
        return server

    def certificate(self):
        certificate, key = self.parent / "cert.pem", self.parent / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                       capture_output=True, timeout=TIMEOUT_S)
        return certificate, key

    def stopped(self, server):
        status, errors = server.stop()
        self.assertEqual((status, errors), (0, ""))


class Replies(ServeTest):
    def test_every_form_is_stored(self):
        server = self.server()
        sent = []
        for number, (what, _, _) in enumerate(in_all_forms(request([]))):
            one = request([span(number + 1, name=what)], {"service.name": "forms"})
            _, body, headers = in_all_forms(one)[number]
            with self.subTest(what):
                status, reply_headers, reply = server.ask(body, headers)
                self.assertEqual(status, 200)
                self.assertEqual(reply_headers["Content-Type"], headers["Content-Type"])
                self.assertEqual(reply, b"{}" if headers["Content-Type"] == "application/json" else b"")
            sent.append(what)
        self.stopped(server)
        self.assertEqual(names(self.folder), sorted(sent))

    def test_an_empty_request_succeeds_and_leaves_no_file(self):
        server = self.server()
        for body, headers in ((b"", PROTO), (b"{}", JSON), (b'{"resourceSpans":[]}', JSON), (b"", JSON)):
            self.assertEqual(server.ask(body, headers)[0], 200)
        self.stopped(server)
        self.assertEqual(files(self.folder), [])

    def test_media_types_have_parameters_and_any_case(self):
        server = self.server()
        for type_name in ("application/json; charset=utf-8", "Application/JSON"):
            self.assertEqual(server.ask("{}", {"Content-Type": type_name})[0], 200)

    def test_rejected_spans(self):
        one = request([span(0), span(3, start=5, end=1), span(7, name="good"), span(8, level="attic")])
        server = self.server()
        status, _, body = server.ask(json.dumps(one), JSON)
        self.assertEqual(status, 200)
        partial = json.loads(body)["partialSuccess"]
        self.assertEqual(partial["rejectedSpans"], "3")
        for reason in ("1 no span id", "1 negative duration", "1 unknown level"):
            self.assertIn(reason, partial["errorMessage"])
        status, _, body = server.ask(otlp.to_proto(one), PROTO)
        if trace_service_pb2 is not None:
            reply = trace_service_pb2.ExportTraceServiceResponse.FromString(body)
            self.assertEqual(reply.partial_success.rejected_spans, 3)
            self.assertIn("no span id", reply.partial_success.error_message)
        self.stopped(server)
        self.assertEqual(names(self.folder), ["good"])

    def test_nothing_of_a_request_without_good_spans_is_kept(self):
        server = self.server()
        status, _, body = server.ask(json.dumps(request([span(0)])), JSON)
        self.assertEqual((status, json.loads(body)["partialSuccess"]["rejectedSpans"]), (200, "1"))
        self.stopped(server)
        self.assertEqual(files(self.folder), [])

    def refused(self, server, status, body, headers, **more):
        """The error must be in the request's encoding, as google.rpc.Status."""
        found, reply_headers, reply = server.ask(body, headers, **more)
        self.assertEqual(found, status, reply)
        type_name = reply_headers["Content-Type"]
        if "json" in headers.get("Content-Type", "").lower():
            self.assertEqual(type_name, "application/json")
            self.assertEqual(set(json.loads(reply)), {"code", "message"})
        elif "protobuf" in headers.get("Content-Type", ""):
            self.assertEqual(type_name, "application/x-protobuf")
            if status_pb2 is not None:
                self.assertNotEqual(status_pb2.Status.FromString(reply).message, "")
        return reply_headers, reply

    def test_malformed_bodies(self):
        server = self.server()
        good = json.dumps(request([span(1)])).encode()
        deep = request([span(1)], {})
        value = deep["resourceSpans"][0]["resource"]["attributes"]
        value += json.loads('[{"key":"a","value":' + '{"arrayValue":{"values":[' * 101 + "{}" + "]}}" * 101 + "}]")
        cases = [(good[:-3], JSON), (b"[]", JSON), (b"null", JSON), (good + b"x", JSON), (b"{}\0", JSON),
                 (good.replace(b'"1700', b'"99991700'), JSON), (json.dumps(deep), JSON),
                 (b"\x0a\xff", PROTO), (b"\x0b", PROTO), (otlp.to_proto(request([span(1)]))[:-1], PROTO),
                 (b"not gzip", {**JSON, "Content-Encoding": "gzip"}), (b"not zstd", {**PROTO, "Content-Encoding": "zstd"}),
                 (gzip.compress(good)[:-9], {**JSON, "Content-Encoding": "gzip"}),
                 (gzip.compress(good) + b"tail", {**JSON, "Content-Encoding": "gzip"})]
        for body, headers in cases:
            with self.subTest(body=body[:40]):
                self.refused(server, 400, body, headers)
        server.send(request([span(2, name="after")]))
        self.stopped(server)
        self.assertEqual(names(self.folder), ["after"])

    def test_what_is_asked(self):
        server = self.server()
        headers, _ = self.refused(server, 405, None, JSON, method="GET")
        self.assertEqual(headers["Allow"], "POST")
        self.refused(server, 405, b"{}", JSON, method="PUT")
        for path in ("/v1/metrics", "/v1/traces/", "/v1/../v1/traces", "/v1/traces%2f"):
            self.refused(server, 404, b"{}", JSON, path=path)
        self.refused(server, 400, b"{}", JSON, path="/v1/traces%00")
        self.refused(server, 400, b"{}", JSON, path="/v1/traces?top=3")
        self.refused(server, 415, b"{}", {"Content-Type": "text/plain"})
        self.refused(server, 415, b"{}", {})
        headers, _ = self.refused(server, 415, b"{}", {**JSON, "Content-Encoding": "br"})
        self.assertEqual(headers["Accept-Encoding"], "gzip, zstd")

    def raw(self, server, text, more=b""):
        """The reply to bytes as they are, up to the connection's end."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
            connection.sendall(text.replace("\n", "\r\n").encode() + more)
            connection.shutdown(socket.SHUT_WR)
            reply = b""
            while part := connection.recv(65536):
                reply += part
        return reply

    def test_length(self):
        server = self.server()
        head = "POST /v1/traces HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
        self.assertIn(b" 411 ", self.raw(server, head + "\n").split(b"\r\n")[0])
        chunked = self.raw(server, head + "Transfer-Encoding: chunked\nConnection: close\n\n2\n{}\n0\n\n")
        self.assertIn(b" 200 ", chunked.split(b"\r\n")[0])
        self.assertIn(b" 400 ", self.raw(server, head + "Content-Length: x\n\n").split(b"\r\n")[0])

    def test_too_large(self):
        server = self.server("--limit-body", "10000")
        padded = request([span(1, text="x" * 20000)])
        body = json.dumps(padded).encode()
        for headers, sent in ((JSON, body), ({**JSON, "Content-Encoding": "gzip"}, gzip.compress(body))):
            self.refused(server, 413, sent, headers)
        self.refused(server, 413, iter([body[:9000], body[9000:]]), JSON)  # chunks
        self.refused(server, 413, gzip.compress(otlp.to_proto(padded)), {**PROTO, "Content-Encoding": "gzip"})
        self.refused(server, 413, b"x" * 5_000_000, PROTO)  # sent as a whole before the reply is read
        expecting = self.raw(server, "POST /v1/traces HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
                                     "Content-Length: 999999\nExpect: 100-continue\n\n")
        self.assertIn(b" 413 ", expecting.split(b"\r\n")[0])
        server.send(request([span(1, name="small")]))
        self.stopped(server)
        self.assertEqual(names(self.folder), ["small"])

    def test_one_connection_takes_many_requests(self):
        server = self.server()
        connection = server.connect()
        for number in range(1, 50):
            server.send(request([span(number, name=f"{number:02}")]), connection)
            if number % 7 == 0:
                self.assertEqual(server.ask("{", JSON, connection=connection)[0], 400)
        connection.close()
        self.stopped(server)
        self.assertEqual(names(self.folder), [f"{number:02}" for number in range(1, 50)])


class Callers(ServeTest):
    def test_other_sites(self):
        server = self.server()
        own = f"127.0.0.1:{server.port}"
        for headers, status in (({"Host": "evil.example"}, 403), ({"Host": f"evil.example:{server.port}"}, 403),
                                ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403),
                                ({"Origin": f"http://{own}"}, 200), ({"Host": f"localhost:{server.port}"}, 200),
                                ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
                                ({"Sec-Fetch-Site": "same-origin"}, 200)):
            with self.subTest(headers):
                self.assertEqual(server.ask("{}", {**JSON, **headers})[0], status)

    def test_token(self):
        file = self.parent / "token"
        file.write_text("  s3cret\n")
        server = self.server("--token-file", file)
        for given, status in (("Bearer s3cret", 200), ("bearer s3cret", 200), ("Bearer s3cre", 401), ("Bearer ", 401),
                              ("Basic s3cret", 401), ("s3cret", 401)):
            with self.subTest(given):
                self.assertEqual(server.ask("{}", {**JSON, "Authorization": given})[0], status)
        status, headers, _ = server.ask("{}", JSON)
        self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
        self.assertEqual(server.ask("{}", {**JSON, "Authorization": "Bearer s3cret", "Host": "any.example"})[0], 200)
        self.assertEqual(server.ask("{}", JSON, path="/secret")[0], 401) # what there is is not shown either

    def test_elsewhere_only_with_a_token(self):
        result = xsp("serve", "--listen", "0.0.0.0:0", "--dir", self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"--token-file", result.stderr)
        self.assertFalse(self.folder.exists())
        file = self.parent / "token"
        file.write_text("t")
        server = self.server("--token-file", file, listen="0.0.0.0:0")
        self.assertEqual(server.ask("{}", {**JSON, "Authorization": "Bearer t"})[0], 200)

    def test_tls(self):
        certificate, key = self.certificate()
        server = self.server("--tls-cert", certificate, "--tls-key", key)
        self.assertTrue(server.about["url"].startswith("https://"))
        context = ssl.create_default_context(cafile=certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=TIMEOUT_S)
        for number in range(1, 4):
            server.send(request([span(number, name="x" * 300_000)]), connection)
        name = wait_for(lambda: [path.name for path in files(self.folder)], "a file")[0]
        status, _, body = server.ask(None, {}, path=f"/api/v1/files/{name}", method="GET", connection=connection)
        self.assertEqual((status, body[:15]), (200, b"SQLite format 3"))
        connection.close()
        self.stopped(server)
        self.assertEqual(len(names(self.folder)), 3)
        result = xsp("serve", "--listen", "127.0.0.1:0", "--dir", self.folder, "--tls-cert", key, "--tls-key", certificate)
        self.assertEqual(result.returncode, 2)


    def test_old_versions_of_tls(self):
        certificate, key = self.certificate()
        server = self.server("--tls-cert", certificate, "--tls-key", key)
        for version, is_taken in ((ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True),
                                  (ssl.TLSVersion.TLSv1_3, True)):
            with self.subTest(version), warnings.catch_warnings(), socket.create_connection(
                    ("127.0.0.1", server.port), timeout=TIMEOUT_S) as connection:
                warnings.simplefilter("ignore", DeprecationWarning)
                context = ssl.create_default_context(cafile=certificate)
                context.set_ciphers("ALL:@SECLEVEL=0")  # this client takes all of them
                context.minimum_version = context.maximum_version = version
                if is_taken:
                    context.wrap_socket(connection, server_hostname="127.0.0.1").close()
                else:
                    with self.assertRaises(ssl.SSLError):
                        context.wrap_socket(connection, server_hostname="127.0.0.1")


class Clients(ServeTest):
    def test_slow_ones_are_dropped(self):
        server = self.server("--timeout", "1")
        slow = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
        body = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
        body.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: 1000\r\n\r\n{")

        def is_closed():
            try:
                slow.send(b"P")  # a byte now and then: never idle
                return False
            except (BrokenPipeError, ConnectionResetError):
                return True
        wait_for(is_closed, "the end of a slow connection")
        for connection in (idle, body):
            self.assertEqual(connection.recv(1000), b"")
            connection.close()
        slow.close()
        server.send(request([span(1)]))

    def test_a_client_that_goes_away(self):
        server = self.server()
        body = json.dumps(request([span(1)])).encode()
        for cut in (1, 60, 150, 155):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
            connection.sendall((b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                b"Content-Length: %d\r\n\r\n" % len(body) + body)[:cut])
            connection.close()
        server.send(request([span(9, name="whole")]))
        self.stopped(server)
        self.assertEqual(names(self.folder), ["whole"])


class Life(ServeTest):
    def test_it_prints_where_it_listens(self):
        server = self.server()
        self.assertEqual(server.about["url"], f"http://127.0.0.1:{server.port}")
        self.assertEqual(server.about["dir"], str(self.folder))
        self.stopped(server)
        process = subprocess.Popen([os.path.join(os.environ["XSP_BUILD"], "xsp"), "serve", "--listen", "[::1]:0", "--dir",
                                    self.folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        line = process.stdout.readline()
        self.assertRegex(line, rb"^http://\[::1\]:\d+\n$")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=TIMEOUT_S), (b"", b""))
        self.assertEqual(process.returncode, 0)

    def test_wrong_use(self):
        cases = [(["--listen", "127.0.0.1"], 2), (["--listen", "127.0.0.1:99999"], 2), (["--listen", "::1:1"], 2),
                 (["--listen", ":1"], 2), (["--tls-key", "x"], 2), (["--token-file", self.parent / "none"], 2),
                 (["--limit-body", "101M"], 2), (["extra"], 2), (["--dir", "/dev/null/x"], 3),
                 (["--library", "microhttpd=/nowhere.so"], 3)]
        for options, status in cases:
            with self.subTest(options):
                result = xsp("serve", "--dir", self.folder, "--listen", "127.0.0.1:0", *options)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertEqual(result.stdout, b"")
                self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)

    def test_too_few_files_may_be_open(self):
        for verb in (["serve", "--dir", self.folder], ["agent", "--registry", "http://127.0.0.1:1"]):
            result = subprocess.run(["sh", "-c", 'ulimit -n 10; exec "$@"', "sh", XSP, *verb, "--listen", "127.0.0.1:0"],
                                    capture_output=True, timeout=TIMEOUT_S)
            self.assertEqual((result.returncode, result.stdout), (3, b""))
            self.assertRegex(result.stderr, rb"ulimit -n: .* 10 files")
            self.assertFalse(self.folder.exists())
        few = ["prlimit", "--nofile=100", XSP, "serve", "--listen", "127.0.0.1:0", "--dir", self.folder]
        with subprocess.Popen(few, stdout=subprocess.PIPE) as server:  # fewer places
            self.addCleanup(server.kill)
            port = int(server.stdout.readline().rsplit(b":", 1)[1])
            held = [socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) for _ in range(60)]

            def is_served():
                with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(
                        http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)) as connection:
                    connection.request("GET", "/api/v1/status")
                    return json.loads(connection.getresponse().read())["connections"] == 18
            wait_for(is_served, "a place")
            for connection in held:
                connection.close()
            server.terminate()

    def test_a_port_or_a_folder_is_taken(self):
        server = self.server()
        result = xsp("serve", "--dir", self.folder, "--listen", "127.0.0.1:0", check=3)
        self.assertIn(b"another xsp serve", result.stderr)
        xsp("serve", "--dir", self.parent / "other", "--listen", f"127.0.0.1:{server.port}", check=3)

    def test_requests_in_progress_are_answered(self):
        server = self.server()
        body = json.dumps(request([span(1, name="late")])).encode()
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)
        connection.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        self.assertIn(b" 100 ", connection.recv(1000))  # the head has come
        server.process.send_signal(signal.SIGTERM)

        def is_closed():
            try:
                socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
                return False
            except OSError:
                return True
        connection.sendall(body)
        self.assertIn(b" 200 ", connection.recv(1000))
        connection.close()
        self.assertEqual(server.process.wait(TIMEOUT_S), 0)
        self.assertTrue(is_closed())
        self.assertEqual(names(self.folder), ["late"])


if __name__ == "__main__":
    unittest.main()
