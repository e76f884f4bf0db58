# SPDX-License-Identifier: Apache-2.0
"""The server's API: lists, downloads, uploads, questions about files, who may ask."""
import json
import os
import pathlib
import unittest

from otlp import request, span
from scripted import temporary_folder
from server import Server, wait_for


class ApiTest(unittest.TestCase):
    """One server for all tests of a class."""

    maxDiff = 4000
    options = ()
    environment = {}  # of the server, beside the test's own

    @classmethod
    def setUpClass(cls):
        parent = temporary_folder()
        cls.addClassCleanup(parent.cleanup)
        cls.parent = pathlib.Path(parent.name)
        cls.folder = cls.parent / "traces"
        cls.server = Server(cls.folder, *cls.options, env={**os.environ, **cls.environment})
        cls.addClassCleanup(cls.server.kill)
        cls.addClassCleanup(cls.stop)

    @classmethod
    def stop(cls):
        """After all tests the server must end well and have reported nothing."""
        found = cls.server.stop()
        if found != (0, ""):
            raise AssertionError(found)

    def get(self, path, status=200, headers=None, **more):
        """Headers and body of a reply that must have this status."""
        found, reply_headers, body = self.server.ask(None, headers or {}, path=path, method="GET", **more)
        self.assertEqual(found, status, body[:300])
        return reply_headers, body

    def json(self, path, status=200, **more):
        headers, body = self.get(path, status, **more)
        self.assertEqual(headers["Content-Type"], "application/json")
        return json.loads(body)

    def refused(self, path, status, method="GET", body=None, headers=None):
        found, reply_headers, text = self.server.ask(body, headers or {}, path=path, method=method)
        self.assertEqual(found, status, text)
        error = json.loads(text)["error"]
        self.assertEqual(error["status"], status)
        self.assertNotEqual(error["message"], "")
        return reply_headers, error["message"]

    def received(self, *spans):
        """The name of the file that has spans which were sent now."""
        known = set(os.listdir(self.folder))
        self.server.send(request(list(spans)))
        return wait_for(lambda: [name for name in os.listdir(self.folder)
                                 if name.endswith(".xsp") and name not in known], "a file")[0]


class Files(ApiTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.name = cls.received(cls(), span(1, name="first"))
        cls.bytes = (cls.folder / cls.name).read_bytes()

    def test_list(self):
        (self.folder / "other.txt").write_text("no trace")
        (self.folder / ".hidden.xsp").write_text("no trace")
        (self.folder / "link.xsp").symlink_to(self.folder / self.name)
        (self.folder / "folder.xsp").mkdir()
        found = self.json("/api/v1/files")["files"]
        self.assertEqual([file["name"] for file in found], [self.name])
        self.assertEqual(found[0]["size_bytes"], len(self.bytes))
        self.assertEqual(found[0]["state"], "growing")
        self.assertEqual(found[0]["changed_ns"], (self.folder / self.name).stat().st_mtime_ns)

    def test_download(self):
        headers, body = self.get(f"/api/v1/files/{self.name}")
        self.assertTrue(body == self.bytes)
        self.assertEqual(headers["Content-Disposition"], f'attachment; filename="{self.name}"')
        found, headers, body = self.server.ask(None, {}, path=f"/api/v1/files/{self.name}", method="HEAD")
        self.assertEqual((found, headers["Content-Length"], body), (200, str(len(self.bytes)), b""))

    def test_ranges(self):
        size = len(self.bytes)
        path = f"/api/v1/files/{self.name}"
        tag = self.get(path)[0]["ETag"]
        for given, first, last in (("0-15", 0, 15), ("16-", 16, size - 1), ("-10", size - 10, size - 1),
                                   (f"5-{size + 9}", 5, size - 1), (f"-{size + 9}", 0, size - 1)):
            with self.subTest(given):
                headers, body = self.get(path, 206, {"Range": f"bytes={given}", "If-Range": tag})
                self.assertTrue(body == self.bytes[first:last + 1])
                self.assertEqual(headers["Content-Range"], f"bytes {first}-{last}/{size}")
        for given in ("bytes=5-3", "bytes=a-b", "bytes=-", "lines=1-2", "bytes=0-1,4-5", "bytes=--1"):
            with self.subTest(given):
                self.assertTrue(self.get(path, 200, {"Range": given})[1] == self.bytes)
        self.assertEqual(self.get(path, 200, {"Range": "bytes=0-1", "If-Range": '"other"'})[1], self.bytes)
        for given in ("bytes=0-15", f"bytes={size}-"):  # ranges are of GET only
            found, headers, _ = self.server.ask(None, {"Range": given}, path=path, method="HEAD")
            self.assertEqual((found, headers["Content-Length"], headers["Content-Range"]), (200, str(size), None))
        headers, _ = self.refused(path, 416, headers={"Range": f"bytes={size}-"})
        self.assertEqual(headers["Content-Range"], f"bytes */{size}")

    def test_names_open_nothing_else(self):
        secret = self.parent / "secret.xsp"
        secret.write_text("secret")
        for path in ("../secret.xsp", "..%2fsecret.xsp", "%2e%2e/secret.xsp", "link.xsp/../../secret.xsp", ".hidden.xsp",
                     "other.txt", "%2fetc%2fpasswd", "folder.xsp", "link.xsp", "none.xsp", ".xsp-serve.lock", "a\\b.xsp"):
            with self.subTest(path):
                self.refused(f"/api/v1/files/{path}", 404)

    def test_methods_and_paths(self):
        headers, _ = self.refused("/api/v1/files", 405, method="DELETE")
        self.assertEqual(headers["Allow"], "GET, HEAD")
        self.assertEqual(self.server.ask(None, {}, path="/api/v1/files", method="OPTIONS")[0], 405)
        for path in ("/api", "/api/v1", "/api/v1/files/", "/api/v2/files", "/favicon.ico", "//api/v1/files"):
            self.refused(path, 404)
        for path in ("/api/v1/files?top=3", "/api/v1/files?%00", "/api/v1/files?a=%zz"):
            self.refused(path, 400)
        self.refused("/api/v1/files?" + "a" * 9000, 414)

    def test_long_heads(self):
        for kib, expected in ((16, 200), (32, 431)):
            status, _, _ = self.server.ask(None, {"X-Long": "a" * kib * 1024}, path="/api/v1/files", method="GET")
            self.assertEqual(status, expected)

    def test_a_body_that_nobody_asked_for(self):
        self.assertEqual(self.server.ask(b"x" * 100_000, {}, path="/api/v1/files", method="GET")[0], 200)


class Headers(ApiTest):
    def test_replies_stay_private(self):
        for path in ("/api/v1/files", "/api/v1/files/none.xsp", "/none"):
            headers = self.server.ask(None, {}, path=path, method="GET")[1]
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertIsNone(headers["Access-Control-Allow-Origin"])

    def test_other_sites(self):
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}):
            with self.subTest(headers):
                self.refused("/api/v1/files", 403, headers=headers)
        self.get("/api/v1/files", headers={"Sec-Fetch-Site": "none"})


class Token(ApiTest):
    @classmethod
    def setUpClass(cls):
        folder = temporary_folder()
        cls.addClassCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "token"
        file.write_text("s3cret")
        cls.options = ("--token-file", file)
        super().setUpClass()

    def test_all_need_it(self):
        for path in ("/api/v1/files", "/api/v1/files/none.xsp", "/none", "/"):
            with self.subTest(path):
                headers, _ = self.refused(path, 401)
                kinds = [kind.split()[0] for kind in headers.get_all("WWW-Authenticate")]
                self.assertEqual(sorted(kinds), ["Basic", "Bearer"])

    def test_as_bearer_or_as_password(self):
        self.get("/api/v1/files", headers={"Authorization": "Bearer s3cret"})
        self.get("/api/v1/files", headers={"Authorization": "Basic eHNwOnMzY3JldA=="})  # xsp:s3cret
        self.refused("/api/v1/files", 401, headers={"Authorization": "Basic eHNwOnMzY3JleA=="})


if __name__ == "__main__":
    unittest.main()
