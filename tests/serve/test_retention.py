# SPDX-License-Identifier: Apache-2.0
"""--retention: which files the server removes, and which never."""
import functools
import os
import pathlib
import resource
import shutil
import time
import unittest

import report_files
from otlp import request, span
from scripted import temporary_folder, xsp
from server import Server, wait_for


class Retention(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "traces"
        self.bytes = report_files.profiled()[0].read_bytes()

    def server(self, *options):
        server = Server(self.folder, *options)
        self.addCleanup(server.kill)
        return server

    def upload(self, server, name):
        self.assertEqual(server.ask(self.bytes, {}, path=f"/api/v1/files/{name}", method="PUT")[0], 201)

    def names(self):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".xsp"))

    def made_by_a_server(self):
        """A complete file of received spans, by a server that has ended."""
        server = self.server()
        server.send(request([span(1)]))
        self.assertEqual(server.stop(), (0, ""))
        return [name for name in self.names() if name.startswith("spans-")][-1]

    def age(self, name, days):
        when = time.time() - days * 86400
        os.utime(self.folder / name, (when, when))

    def test_old_files_that_the_server_made(self):
        old = self.made_by_a_server()
        young = self.made_by_a_server()
        shutil.copy(self.folder / old, self.folder / "mine.xsp")
        shutil.copy(self.folder / old, self.folder / "spans-mine.xsp")
        for name in (old, "mine.xsp", "spans-mine.xsp"):
            self.age(name, 8)
        self.age(young, 6)
        server = self.server("--retention", "7d")
        wait_for(lambda: old not in self.names(), "the removal")
        status, errors = server.stop()
        self.assertEqual(status, 0)
        self.assertEqual(self.names(), sorted([young, "mine.xsp", "spans-mine.xsp"]))
        self.assertEqual(errors.count("\n"), 1)
        self.assertIn(old, errors)

    def test_bytes(self):
        """The oldest uploads go; a file of the user's that is older stays, and does not count."""
        self.folder.mkdir()
        (self.folder / "mine.xsp").write_bytes(self.bytes)
        self.age("mine.xsp", 100)
        server = self.server()
        for name in ("a.xsp", "b.xsp", "c.xsp"):
            self.upload(server, name)
        self.assertEqual(server.stop(), (0, ""))
        server = self.server("--retention", f"{2 * len(self.bytes) // 1024 + 1}K")
        wait_for(lambda: "a.xsp" not in self.names(), "the removal")
        self.upload(server, "d.xsp")
        wait_for(lambda: "b.xsp" not in self.names(), "the second removal")
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual(self.names(), ["c.xsp", "d.xsp", "mine.xsp"])

    def test_an_upload_that_was_replaced_since_is_the_users(self):
        server = self.server()
        self.upload(server, "a.xsp")
        self.upload(server, "b.xsp")
        self.assertEqual(server.stop(), (0, ""))
        (self.folder / "a.xsp").write_bytes(self.bytes)
        self.age("a.xsp", 8)
        self.upload(self.server("--retention", "1K"), "c.xsp")
        wait_for(lambda: "b.xsp" not in self.names() and "c.xsp" not in self.names(), "the removals")
        self.assertEqual(self.names(), ["a.xsp"])

    def test_a_long_list_of_uploads(self):
        """Not each line for each file: that would be 6 thousand million comparisons, a minute of processor time."""
        self.folder.mkdir()
        lines = ["x 1 1\n" * 2_000_000]
        for number in range(3100):
            file = self.folder / f"upload{number}.xsp"
            file.write_bytes(b"x")
            lines.append(f"{file.name} 1 {file.stat().st_mtime_ns}\n")
        (self.folder / ".xsp-serve.uploads").write_text("".join(lines))
        self.age("upload7.xsp", 8)  # the user's since then
        limit = functools.partial(resource.setrlimit, resource.RLIMIT_CPU, (30, 30))
        server = Server(self.folder, "--retention", "7d,3K", preexec_fn=limit)
        self.addCleanup(server.kill)
        wait_for(lambda: len(self.names()) == 3073, "the removals")
        self.assertIn("upload7.xsp", self.names())
        self.assertEqual(server.process.poll(), None)

    def test_a_growing_file_stays(self):
        server = self.server("--retention", "1K")
        server.send(request([span(1, text="x" * 5000)]))
        wait_for(self.names, "the file")
        growing, = self.names()
        self.upload(server, "b.xsp")
        wait_for(lambda: "b.xsp" not in self.names(), "the removal")  # it came after the growing one
        self.assertEqual(self.names(), [growing])

    def test_a_file_that_is_read_stays(self):
        read, other = self.made_by_a_server(), self.made_by_a_server()
        os.truncate(self.folder / read, 64 << 20)  # more than sockets hold: a download goes on until it is read
        server = self.server("--retention", "7d")
        connection = server.connect()
        connection.request("GET", f"/api/v1/files/{read}")
        reply = connection.getresponse()
        self.age(read, 9)
        self.age(other, 8)
        wait_for(lambda: other not in self.names(), "the removal of the other one")  # after the turn of the older one
        self.assertEqual(self.names(), [read])
        self.assertEqual(len(reply.read()), 64 << 20)
        wait_for(lambda: not self.names(), "the removal, once it is read")
        connection.close()

    def test_wrong_use(self):
        for text in ("7", "d", "7d,8d", "1G,2G", "7d,", "-1d", "0d", "7x", "1.5d", ""):
            with self.subTest(text):
                xsp("serve", "--dir", self.folder, "--listen", "127.0.0.1:0", "--retention", text, check=2)


if __name__ == "__main__":
    unittest.main()
