# SPDX-License-Identifier: Apache-2.0
"""Input without a byte, wherever xsp reads: files, bodies of requests, replies of servers. Each gives an answer or one error, never a crash."""
import gzip
import http.server
import json
import pathlib
import threading
import unittest

from scripted import temporary_folder, xsp
from server import JSON, PROTO, Server, zstd

# FILE is an empty file whose name ends as the verb wants it.
COMMANDS = [
    *(f"{verb} FILE.xsp" for verb in ("info", "analyze L0", "history", "check --links", "recover -o OUT.xsp", "report -o OUT.html", "export --to csv -o OUT.csv")),
    "sql FILE.xsp x", "compare FILE.xsp FILE.xsp", "publish OUT FILE.xsp", "merge FILE.xsp FILE.xsp -o OUT.xsp",
    *(f"import --format {name} FILE -o OUT.xsp" for name in ("kineto", "ort", "nsys", "otlp", "otlp-proto", "otlp-journal", "nvprof", "chrome")),
    *(f"import FILE.{ending} -o OUT.xsp" for ending in ("json", "gz", "zst", "sqlite", "csv")),
    *(f"profile FILE.{ending} -o OUT.xsp" for ending in ("onnx", "yml", "xspscript")),
    "check FILE.yml", "data info FILE.xspd", "data extract FILE.xspd -o OUT", *(f"data make OUT.xspd FILE.{ending}" for ending in ("xspd", "csv")),
    "agent --registry http://127.0.0.1:9 --token-file FILE", "serve --dir OUT --listen 127.0.0.1:0 --token-file FILE",
    "serve --dir OUT --listen 127.0.0.1:0 --tls-cert FILE --tls-key FILE",
]


class Files(unittest.TestCase):
    def test_each_verb_reports_it_once(self):
        for number, command in enumerate(COMMANDS):
            with self.subTest(command), temporary_folder() as name:
                folder = pathlib.Path(name)
                words = [word.replace("OUT", str(folder / f"out{number}")) for word in command.split()]
                for place, word in enumerate(words):
                    if word.startswith("FILE"):
                        words[place] = str(folder / word.replace("FILE", "empty"))
                        pathlib.Path(words[place]).touch()
                if "--links" in words:
                    words[1:] = [f"--links={words[2]}"]
                done = xsp(*words, check=2)
                self.assertEqual((done.stdout, done.stderr.count(b"\n"), done.stderr[:5]), (b"", 1, b"xsp: "))

    def test_pictures_without_a_byte_are_kept_and_come_back(self):
        with temporary_folder() as name:
            folder = pathlib.Path(name)
            (folder / "set" / "a").mkdir(parents=True)
            (folder / "set" / "a" / "0.png").touch()
            xsp("data", "make", folder / "one.xspd", folder / "set", check=0)
            xsp("data", "extract", folder / "one.xspd", "-o", folder / "back", check=0)
            self.assertEqual((folder / "back" / "a" / "0.png").stat().st_size, 0)


class Bodies(unittest.TestCase):
    """Of requests to xsp serve; those to an agent: tests/agent/test_agent_requests.py."""

    def test_a_request_without_spans_is_acknowledged_and_all_else_refused(self):
        with temporary_folder() as folder, Server(folder) as server:
            for headers in (JSON, PROTO):
                for coding, body in (("identity", b""), ("gzip", b""), ("zstd", b""), ("gzip", gzip.compress(b"")), ("zstd", zstd(b""))):
                    with self.subTest(headers=headers, coding=coding, body=body):
                        self.assertEqual(server.ask(body, {**headers, "Content-Encoding": coding})[0], 200)
            for method, path, headers in (("POST", "/api/v1/jobs/one", JSON), ("PUT", "/api/v1/jobs/one/levels", JSON),
                                          ("PUT", "/api/v1/files/one.xsp", {"Content-Type": "application/vnd.sqlite3"})):
                with self.subTest(path):
                    status, _, reply = server.ask(b"", headers, path, method)
                    self.assertEqual((status, json.loads(reply)["error"]["status"]), (400, 400))
            self.assertEqual(server.stop()[0], 0)


class Replies(unittest.TestCase):
    """Of servers that xsp asks: with each status, and no body."""

    def setUp(self):
        class Silent(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            status = 200

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(self.status)
                self.send_header("Content-Length", "0")
                self.end_headers()
            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass
        self.handler = Silent
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.shutdown)

    def test_each_client_reports_it_once(self):
        place = f"127.0.0.1:{self.server.server_address[1]}"
        for status in (200, 204, 500):
            self.handler.status = status
            for command in (f"agent --list --registry http://{place}", f"evaluate net --data set --registry http://{place}", f"analyze A1 clickhouse://{place}/default"):
                with self.subTest(command, status=status):
                    done = xsp(*command.split())
                    self.assertIn(done.returncode, (2, 3))
                    self.assertEqual((done.stdout, done.stderr.count(b"\n"), done.stderr[:5]), (b"", 1, b"xsp: "))


if __name__ == "__main__":
    unittest.main()
