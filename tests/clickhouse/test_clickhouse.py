# SPDX-License-Identifier: Apache-2.0
"""xsp analyze clickhouse://… without an engine: a server with scripted replies. The engine: long_clickhouse.py."""
import http.server
import json
import os
import threading
import unittest

import otlp
import scripted
from clickhouse_check import run

SPANS = [otlp.span(1, "net", 0, 3_000_000, level="model", xsp__basis="none", xsp__observation=0),
         otlp.span(2, "net", 4_000_000, 7_000_000, level="model", xsp__basis="none", xsp__observation=1)]
RUNS = b"7\t2\t2\t0\t0\t0\n"
REQUEST = otlp.lines(otlp.request(SPANS, {"xsp.experiment": "net", "xsp.run": 1, "xsp.levels": "M"})).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        query = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.requests.append((self.path, dict(self.headers), query))
        at = len(self.server.requests) - 1
        replies = [(200, self.server.columns), *self.server.replies] if self.server.columns else self.server.replies
        code, body = replies[min(at, len(replies) - 1)]
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) + self.server.missing))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.server.missing > 0

    def log_message(self, *arguments):
        pass


class ClickhouseTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.server.requests, self.server.missing = [], 0
        self.server.columns = b"Timestamp\tDateTime64(9)\nSpanAttributes\tMap(String, String)\n"
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(lambda: (self.server.shutdown(), thread.join(), self.server.server_close()))
        self.address = f"clickhouse://127.0.0.1:{self.server.server_port}"

    def analyze(self, *replies, analysis="A1", options="", address=None):
        self.server.replies = replies
        return run("analyze", analysis, (address or self.address) + options, "--json")

    def test_an_answer(self):
        status, out, stderr = self.analyze((200, RUNS), (200, REQUEST),
                                           options="/traces?table=spans&experiment=it's&from=2026-01-01")
        self.assertEqual(status, 0, stderr)
        self.assertEqual(json.loads(out)["rows"][0]["latency_ms"], 3)
        self.assertIn("2 spans of 1 runs", stderr)
        paths, headers, queries = zip(*self.server.requests)
        self.assertEqual(set(paths), {"/?wait_end_of_query=1&join_algorithm=hash"})
        self.assertEqual(len(queries), 3)
        for query in queries[1:]:
            self.assertIn("`traces`.`spans`", query)
            self.assertIn("ResourceAttributes['xsp.experiment'] = 'it\\'s'", query)
            self.assertIn("Timestamp >= parseDateTime64BestEffort('2026-01-01', 9, 'UTC')", query)
        self.assertNotIn("X-ClickHouse-Key", headers[0])

    def test_kernels_are_added_up_there(self):
        self.analyze((200, RUNS), (200, REQUEST), (200, b""), analysis="A10")
        self.assertEqual(len(self.server.requests), 4)
        self.assertNotIn("NOT IN (SELECT", self.server.requests[2][2])
        self.assertIn("condensed_calls", self.server.requests[3][2])

    def test_names_of_the_kernels_of_a_layer_come_back(self):
        """A11 adds up all kernels of a layer, which then have no name; A23 is about their names."""
        for analysis, replies, is_summed in (("A11", [RUNS, b"", REQUEST, b""], True), ("A23", [RUNS, REQUEST], False)):
            with self.subTest(analysis):
                self.server.requests.clear()
                _, _, stderr = self.analyze(*((200, reply) for reply in replies), analysis=analysis)
                self.assertIn(f"2 spans of 1 runs; {len(REQUEST)} bytes", stderr)
                self.assertEqual(any("condensed_calls" in query for _, _, query in self.server.requests), is_summed)

    def test_kernels_without_an_observation_come_back_one_by_one(self):
        refused = b"Code: 395. DB::Exception: xsp: a kernel is in no observation by its parents: while executing 'FUNCTION throwIf'"
        status, _, stderr = self.analyze((200, RUNS), (200, REQUEST), (500, refused), (200, b"7\t3\t0\t0\t0\t0\n"),
                                         (200, REQUEST), (200, b""), analysis="A10")
        self.assertIn(f"2 spans of 1 runs; {len(REQUEST)} bytes", stderr)
        self.assertEqual(len(self.server.requests), 7)
        self.assertIn("NOT IN (SELECT", self.server.requests[5][2])
        self.assertNotIn("throwIf(a.observation", self.server.requests[6][2])

    def test_a_user_who_may_only_read(self):
        refused = b"Code: 164. DB::Exception: Cannot modify 'join_algorithm' setting in readonly mode. (READONLY)"
        self.server.columns = None
        status, _, stderr = self.analyze((500, refused), (200, b"Timestamp\tDateTime64(9)\n"), (200, RUNS), (200, REQUEST))
        self.assertEqual(status, 0, stderr)
        self.assertEqual([path for path, _, _ in self.server.requests],
                         ["/?wait_end_of_query=1&join_algorithm=hash", *["/?wait_end_of_query=1"] * 3])

    def test_spans_that_came_twice(self):
        """Their run comes back in full where kernels would be added up; else the import takes each once."""
        for analysis, word in (("A10", "groupBitOr"), ("A2", "groupBitOr"), ("A1", "")):
            self.server.requests.clear()
            self.analyze((200, b"7\t4\t2\t0\t0\t1\n"), (200, REQUEST + REQUEST), analysis=analysis)
            self.assertEqual(len(self.server.requests), 3)
            self.assertEqual("groupBitOr" in self.server.requests[1][2], word != "")
            self.assertIn("run IN (7)", self.server.requests[2][2])

    def test_parents_that_cannot_be_followed(self):
        """Their run comes back in full; whichever query it is that the database refuses."""
        refused = b"Code: 395. DB::Exception: xsp: a span has too many above it: while executing 'FUNCTION throwIf'"
        for analysis, before in (("A10", [(200, REQUEST)]), ("A2", [])):
            self.server.requests.clear()
            status, _, stderr = self.analyze((200, RUNS), *before, (500, refused), (200, RUNS), (200, REQUEST), analysis=analysis)
            self.assertIn(f"2 spans of 1 runs; {len(REQUEST)} bytes", stderr)
            self.assertEqual(len(self.server.requests), 5 + len(before))
            self.assertNotIn("throwIf", self.server.requests[-2][2])
            self.assertIn("run IN (7)", self.server.requests[-1][2])
        self.server.requests.clear()
        status, _, stderr = self.analyze((200, RUNS), (500, refused), (200, b""), (500, refused), analysis="A2")
        self.assertEqual((status, len(self.server.requests)), (2, 5))
        self.assertIn("too many above", stderr)

    def test_metrics_are_of_single_kernels(self):
        self.analyze((200, b"7\t2\t2\t0\t1\t0\n"), (200, REQUEST), analysis="A10")
        self.assertEqual(len(self.server.requests), 3)
        self.assertIn("run IN (7)", self.server.requests[2][2])

    def test_credentials_of_the_environment(self):
        os.environ.update(CLICKHOUSE_USER="me", CLICKHOUSE_PASSWORD="secret")
        self.addCleanup(lambda: [os.environ.pop(name) for name in ("CLICKHOUSE_USER", "CLICKHOUSE_PASSWORD")])
        self.analyze((200, RUNS), (200, REQUEST))
        headers = {name.lower(): value for name, value in self.server.requests[0][1].items()}
        self.assertEqual((headers["x-clickhouse-user"], headers["x-clickhouse-key"]), ("me", "secret"))

    def test_a_password_in_the_address(self):
        status, out, stderr = self.analyze(address="clickhouse://me:secret@127.0.0.1")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("CLICKHOUSE_PASSWORD", stderr)
        self.assertNotIn("secret", stderr)

    def test_refusals(self):
        for replies, code, word in (
                (((404, b"Code: 60. DB::Exception: no table\nmore"),), 2, "DB::Exception: no table"),
                (((403, b"Code: 516. DB::Exception: who are you"),), 2, "CLICKHOUSE_USER"),
                (((200, RUNS), (500, b"\x1b[31mCode: 1\x00x")), 2, "status 500"),
                (((200, b""),), 2, "no such spans"),
                (((200, b"<html>a proxy</html>"),), 2, "not a list of runs"),
                (((200, RUNS), (200, b"{\"resourceSpans\":[{\"resource\":")), 2, "reply"),
                (((200, RUNS), (200, b"")), 2, "reply"),
                (((302, b""),), 2, "302")):
            with self.subTest(replies=replies):
                self.server.requests.clear()
                status, out, stderr = self.analyze(*replies)
                self.assertEqual((status, out), (code, ""), stderr)
                self.assertIn(word, stderr)
                self.assertEqual(len(stderr.splitlines()), 1)
                self.assertNotIn("\x1b", stderr)

    def test_no_connection(self):
        status, out, stderr = self.analyze(address="clickhouse://127.0.0.1:1/")
        self.assertEqual((status, out), (3, ""))
        self.assertIn("127.0.0.1:1", stderr)

    def test_a_connection_that_ends_early(self):
        self.server.missing = 10
        status, out, _ = self.analyze((200, RUNS))
        self.assertEqual((status, out), (3, ""))

    def test_nothing_is_left_behind(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = folder.name
        self.addCleanup(lambda: os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before))
        self.assertEqual(self.analyze((200, RUNS), (200, REQUEST))[0], 0)
        self.assertEqual(os.listdir(folder.name), [])


if __name__ == "__main__":
    unittest.main()
