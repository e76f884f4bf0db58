# SPDX-License-Identifier: Apache-2.0
"""Assets: paths, packages, repositories and HTTP, through `xsp data fetch`, against a real server that misbehaves on demand."""
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import strangers
from file_server import FileServer, Place
from server import wait_for

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
BODY = random.Random(1).randbytes(3_000_001)
SUM = hashlib.sha256(BODY).hexdigest()


class AssetCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-assets-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache"
        self.server = self.enterContext(FileServer())
        self.places = self.server.places
        self.environment = {**os.environ, "XSP_ASSET_CACHE": str(self.cache), "no_proxy": "*", "NO_PROXY": "*"}

    def command(self, *arguments):
        return [XSP, "data", "fetch", "-q", *map(str, arguments)]

    def fetch(self, *arguments, status=0, mentions=(), **environment):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=600, check=False,
                              env={**self.environment, **environment})
        self.assertEqual(done.returncode, status, done.stderr)
        for text in mentions:
            self.assertIn(text, done.stderr)
        if status == 0:
            self.message = done.stderr
            return pathlib.Path(done.stdout.strip())
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def put(self, body=BODY, path="/models/net.onnx", **how):
        self.places[path] = Place(body, **how)
        return self.places[path], self.server.url + path

    def kept(self):
        """Files of the cache, without locks."""
        return sorted(path.name for path in self.cache.rglob("*") if path.is_file() and path.name != ".lock")

    def part(self):
        return next(self.cache.rglob(".part"))


class Local(AssetCase):
    def test_paths(self):
        file = self.folder / "a b.bin"
        file.write_bytes(BODY)
        for url in (file, f"file://{str(file).replace(' ', '%20')}", f"file://localhost{str(file).replace(' ', '%20')}"):
            self.assertEqual(self.fetch(url, "--sha256", SUM.upper()), file)
        self.fetch(file, "--sha256", "0" * 64, status=2, mentions=[SUM, "0" * 64])
        self.fetch(self.folder / "missing", status=2, mentions=["No such file"])
        self.assertFalse(self.cache.exists())

    def test_several(self):
        for name in "ab":
            (self.folder / name).write_text(name)
        done = subprocess.run(self.command(self.folder / "a", self.folder / "b", "--json"), capture_output=True, check=True, timeout=600)
        self.assertEqual([row["path"] for row in json.loads(done.stdout)["rows"]], [str(self.folder / "a"), str(self.folder / "b")])
        self.fetch(self.folder / "a", self.folder / "b", "--sha256", "0" * 64, status=2)

    def test_repository(self):
        (self.folder / "vision").mkdir()
        file = self.folder / "vision" / "a b.bin"
        file.write_bytes(BODY)
        url = "repo://vision/a%20b.bin"
        self.assertEqual(self.fetch(url, XSP_REPOSITORY=str(self.folder)), file)
        self.assertEqual(self.fetch(url, "--repository", self.folder), file)
        self.put(path="/base/vision/a%20b.bin")
        self.assertEqual(self.fetch(url, "--repository", self.server.url + "/base/").read_bytes(), BODY)
        self.fetch(url, status=3, mentions=["XSP_REPOSITORY"])
        self.fetch(url, "--repository", "repo://x", status=2)

    def test_packages(self):
        import numpy
        file = self.fetch("package://NumPy/numpy/version.py")
        self.assertTrue(file.samefile(pathlib.Path(numpy.__file__).parent / "version.py"))
        self.assertEqual(self.fetch(f"package://numpy=={numpy.__version__}/numpy/version.py"), file)
        self.fetch("package://numpy==0.1/numpy/version.py", status=3, mentions=[numpy.__version__, "pip install numpy==0.1"])
        self.fetch("package://no-such-thing/x", status=3, mentions=["pip install no-such-thing"])
        self.fetch("package://numpy/numpy/nothing.bin", status=2)

    def test_malformed_urls(self):
        for url in ("s3://bucket/x", "http://", "http:///x", "http://host/a b", "http://host/a\nb", "http://ä/", "file://host/x", "file://",
                    "file:///a%00b", "file:///a%2", "repo://", "repo://../x", "repo:///etc/passwd", "repo://a/%2e%2e/%2e%2e/x", "repo://a//b",
                    "package://", "package://x", "package:///x", "package://x/../y", "package://x==/y", "http://me:secret@host/x", ""):
            with self.subTest(url):
                self.assertNotIn("secret", self.fetch(url, status=2))
        self.fetch("x", "--sha256", "12", status=2)


class Http(AssetCase):
    def test_fetched_once_and_kept(self):
        place, url = self.put()
        path = self.fetch(url, "--sha256", SUM)
        self.assertEqual((path.name, path.read_bytes()), ("net.onnx", BODY))
        self.assertEqual(self.fetch(url, "--sha256", SUM.upper()), path)
        self.assertEqual(len(place.requests), 1)
        self.assertEqual(place.requests[0]["accept-encoding"], "identity")
        self.assertEqual(self.kept(), [".source", "net.onnx"])
        self.assertEqual((path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777), (0o600, 0o700))
        self.assertEqual(self.fetch(url, "--sha256", SUM, "--offline"), path)

    def test_offline(self):
        place, url = self.put()
        self.fetch(url, "--offline", status=3, mentions=["not in the cache"])
        path = self.fetch(url)
        self.assertEqual(self.fetch(url, "--offline"), path)
        self.assertEqual(len(place.requests), 1)

    def test_names(self):
        for path, name in (("/a.tar.gz?x=1", "a.tar.gz"), ("/", "asset"), ("/.hidden", "_hidden"), ("/%2e%2e%2fx", "_2e_2e_2fx"),
                           ("/" + "a" * 300 + ".onnx", "a" * 95 + ".onnx")):
            self.put(b"x", path)
            self.assertEqual(self.fetch(self.server.url + path).name, name)

    def test_empty_and_unknown_length(self):
        for body, has_length in ((b"", True), (b"", False), (BODY, False)):
            shutil.rmtree(self.cache, ignore_errors=True)
            place, url = self.put(body, has_length=has_length, etag=None)
            self.assertEqual(self.fetch(url).read_bytes(), body)
            self.assertEqual(self.fetch(url).read_bytes(), body)
            self.assertEqual(len(place.requests), 1)  # nothing to ask with

    def test_wrong_checksum(self):
        place, url = self.put()
        for _ in range(2):
            self.fetch(url, "--sha256", "0" * 64, status=2, mentions=[SUM, "0" * 64])
            self.assertEqual(self.kept(), [])
        self.assertEqual(place.sent, 2 * len(BODY))

    def test_statuses(self):
        for status, exit_status in ((404, 2), (410, 2), (403, 2), (400, 2), (500, 3), (503, 3), (429, 3)):
            self.put(b"an error's page", status=status)
            self.fetch(self.server.url + "/models/net.onnx", status=exit_status, mentions=[str(status)])
            self.assertEqual(self.kept(), [])

    def test_encoded_answers_are_refused(self):
        self.put(headers={"Content-Encoding": "gzip"})
        self.fetch(self.server.url + "/models/net.onnx", status=2, mentions=["gzip"])
        self.assertEqual(self.kept(), [])

    def test_size_limit(self):
        for has_length in (True, False):
            self.put(has_length=has_length)
            self.fetch(self.server.url + "/models/net.onnx", "--limit-bytes", "1M", status=2, mentions=["1048576"])
            self.assertEqual(self.kept(), [])

    def test_no_server(self):
        self.fetch("http://127.0.0.1:1/x", status=3, mentions=["127.0.0.1"])

    def test_a_server_that_stalls(self):
        place, url = self.put(hold=threading.Event())
        self.fetch(url, "--timeout", 4, status=3, mentions=["what came is kept"])  # it came within that time
        place.hold.set()
        self.assertEqual(self.fetch(url).read_bytes(), BODY)


class Redirects(AssetCase):
    def redirect(self, path, to):
        self.put(b"elsewhere", path, status=302, headers={"Location": to})
        return self.server.url + path

    def test_followed(self):
        self.put()
        path = self.fetch(self.redirect("/a.bin", self.redirect("/b", "/models/net.onnx")), "--sha256", SUM)
        self.assertEqual((path.name, path.read_bytes()), ("a.bin", BODY))

    def test_refused(self):
        secret = self.folder / "secret"
        secret.write_text("secret")
        for to in (f"file://{secret}", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "/loop"):
            with self.subTest(to):
                self.fetch(self.redirect("/loop", to), status=2, mentions=["redirects"])
                self.assertEqual(self.kept(), [])


class Resumed(AssetCase):
    def test_a_connection_that_is_cut(self):
        """Continued in the same call while each request brings something."""
        for validators in ({"etag": '"1"'}, {"etag": None, "modified": "Mon, 01 Jan 2024 00:00:00 GMT"}):
            shutil.rmtree(self.cache, ignore_errors=True)
            place, url = self.put(cut=1_000_000, **validators)
            self.assertEqual(self.fetch(url).read_bytes(), BODY)
            self.assertEqual([request.get("range") for request in place.requests],
                             [None, "bytes=1000000-", "bytes=2000000-", "bytes=3000000-"])
            self.assertEqual({request.get("if-range") for request in place.requests[1:]}, {validators["etag"] or validators["modified"]})
            self.assertEqual(place.sent, len(BODY))

    def test_without_a_validator(self):
        """Only the checksum can show that the parts belong together."""
        place, url = self.put(cut=2_000_000, etag=None)
        self.fetch(url, status=3)
        self.assertEqual(self.kept(), [])
        self.assertEqual(self.fetch(url, "--sha256", SUM).read_bytes(), BODY)
        place.requests.clear()
        self.put(cut=2_000_000, etag='W/"1"')
        shutil.rmtree(self.cache)
        self.fetch(url, status=3)  # a weak one is none

    def killed(self, *arguments):
        """A fetch is killed after its first bytes. (the place anew, its URL, bytes of the part)."""
        hold = threading.Event()
        _, url = self.put(hold=hold)
        process = subprocess.Popen(self.command(url, *arguments), env=self.environment)
        wait_for(lambda: any(path.stat().st_size > 0 for path in self.cache.rglob(".part")), "the first bytes")
        process.send_signal(signal.SIGKILL)
        process.wait(600)
        hold.set()
        self.assertEqual(self.kept(), [".part", ".part.source"])
        return *self.put(), self.part().stat().st_size

    def test_kill_9(self):
        place, url, had = self.killed()
        self.assertGreater(had, 0)
        path = self.fetch(url)
        self.assertEqual(path.read_bytes(), BODY)
        self.assertEqual(place.requests[0]["range"], f"bytes={had}-")
        self.assertEqual(place.sent, len(BODY) - had)
        self.assertEqual(self.kept(), [".source", "net.onnx"])

    def test_changed_meanwhile(self):
        for how in ({}, {"ranges": False}):
            place, url, _ = self.killed()
            place.body, place.etag, place.ranges = BODY[::-1], '"2"', how.get("ranges", True)
            self.assertEqual(self.fetch(url).read_bytes(), BODY[::-1])
            shutil.rmtree(self.cache)

    def test_servers_that_ignore_if_range(self):
        place, url, had = self.killed()
        changed = BODY[::-1]

        def reply(handler, place):
            place.send(handler, 206, {"ETag": '"2"', "Content-Range": f"bytes {had}-{len(changed) - 1}/{len(changed)}"}, changed[had:])
        place.reply = reply
        self.fetch(url, status=2, mentions=["changed on the server"])
        self.assertEqual(self.kept(), [])

    def test_answers_with_another_range(self):
        place, url, _ = self.killed()
        place.reply = lambda handler, place: place.send(handler, 206, {"Content-Range": f"bytes 5-{len(BODY) - 1}/{len(BODY)}"}, BODY[5:])
        self.fetch(url, status=2, mentions=["another part"])
        self.assertEqual(self.kept(), [])

    def test_a_part_that_is_longer_than_the_file(self):
        place, url, _ = self.killed()
        with open(self.part(), "ab") as part:
            part.write(BODY)
        self.assertEqual(self.fetch(url).read_bytes(), BODY)
        self.assertEqual([request.get("range") is not None for request in place.requests], [True, False])

    def test_a_part_with_wrong_bytes(self):
        _, url, _ = self.killed("--sha256", SUM)
        with open(self.part(), "r+b") as part:
            part.write(b"garbage")
        self.assertEqual(self.fetch(url, "--sha256", SUM).read_bytes(), BODY)


class Changes(AssetCase):
    """Without a checksum the first fetch is the reference."""

    def test_the_server_is_asked(self):
        for validators, header in (({"etag": 'W/"1"'}, "if-none-match"), ({"etag": None, "modified": "Mon, 01 Jan 2024 00:00:00 GMT"}, "if-modified-since")):
            shutil.rmtree(self.cache, ignore_errors=True)
            place, url = self.put(**validators)
            path = self.fetch(url)
            self.assertEqual(self.fetch(url), path)
            self.assertEqual(place.requests[1][header], validators["etag"] or validators["modified"])
            self.assertEqual(place.sent, len(BODY))

    def test_another_file_is_refused_unless_asked_for(self):
        place, url = self.put()
        path = self.fetch(url)
        place.body, place.etag = b"another file", '"2"'
        other = hashlib.sha256(place.body).hexdigest()
        for _ in range(2):
            self.fetch(url, status=2, mentions=[SUM, other])
            self.assertEqual((path.read_bytes(), self.kept()), (BODY, [".source", "net.onnx"]))
        self.assertEqual(self.fetch(url, "--offline").read_bytes(), BODY)
        self.assertEqual(self.fetch(url, "--update").read_bytes(), place.body)
        self.assertEqual(self.fetch(url).read_bytes(), place.body)

    def test_the_same_bytes_with_another_tag(self):
        place, url = self.put()
        path = self.fetch(url)
        place.etag = '"2"'
        for _ in range(2):
            self.assertEqual(self.fetch(url), path)
        self.assertEqual(place.sent, 2 * len(BODY))

    def test_a_server_that_is_gone(self):
        place, url = self.put()
        path = self.fetch(url)
        for status in (404, 503):
            place.status, place.etag = status, None
            self.assertEqual(self.fetch(url), path)
            self.assertIn("the copy in the cache is used", self.message)
        self.fetch(url, "--update", status=3)


class Concurrent(AssetCase):
    def test_two_processes_fetch_once(self):
        place, url = self.put(hold=threading.Event())
        processes = [subprocess.Popen(self.command(url, "--sha256", SUM), env=self.environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)]
        wait_for(lambda: place.sent > 0, "the first request")
        processes.append(subprocess.Popen(self.command(url, "--sha256", SUM), env=self.environment, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True))
        self.assertIn("waiting for another xsp", processes[1].stderr.readline())
        place.hold.set()
        answers = [process.communicate(timeout=600)[0] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0])
        self.assertEqual(answers[0], answers[1])
        self.assertEqual((len(place.requests), place.sent), (1, len(BODY)))


class Disk(AssetCase):
    def test_full(self):
        """No room by the length that is sent, by what comes, and by the limit of a file's size."""
        small = self.folder / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True, check=False)
        if mounted.returncode == 0:
            self.addCleanup(subprocess.run, ["umount", small], check=True)
            for has_length, word in ((True, "room for"), (False, "No space left")):
                _, url = self.put(has_length=has_length)
                self.fetch(url, status=3, mentions=[word], XSP_ASSET_CACHE=str(small))
                self.assertEqual([path.name for path in small.rglob("*") if path.is_file()], [".lock"])
        _, url = self.put()
        limited = subprocess.run(["sh", "-c", 'ulimit -f 1000; trap "" XFSZ; exec "$@"', "sh", *self.command(url)], env=self.environment,
                                 capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(limited.returncode, 3, limited.stderr)
        self.assertIn("File too large", limited.stderr)
        self.assertEqual(self.kept(), [])

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody else")
    def test_folders_of_others(self):
        _, url = self.put()
        path = self.fetch(url, "--sha256", SUM)
        os.chown(path.parent, strangers.STRANGER, -1)
        self.fetch(url, "--sha256", SUM, status=3, mentions=["not a folder of yours"])
        os.chown(path.parent, 0, -1)
        path.parent.chmod(0o777)
        self.fetch(url, "--sha256", SUM, status=3, mentions=["other users can write to it"])

    def test_a_place_that_is_not_a_folder(self):
        _, url = self.put()
        self.cache.write_text("a file")
        self.fetch(url, status=3, mentions=["XSP_ASSET_CACHE"])

    def test_links_are_not_followed(self):
        _, url = self.put()
        path = self.fetch(url)
        victim = self.folder / "victim"
        victim.write_text("keep me")
        path.unlink()
        (path.parent / ".part").symlink_to(victim)
        self.fetch(url, status=3)
        self.assertEqual(victim.read_text(), "keep me")

    def test_facts_of_another_url(self):
        """Who can rename folders of the cache cannot give one URL's file to another."""
        _, url = self.put()
        _, other = self.put(BODY[::-1], "/other/net.onnx")
        paths = [self.fetch(each, "--sha256", hashlib.sha256(body).hexdigest()) for each, body in ((url, BODY), (other, BODY[::-1]))]
        shutil.rmtree(paths[0].parent)
        paths[1].parent.rename(paths[0].parent)
        self.assertEqual(self.fetch(url, "--sha256", SUM).read_bytes(), BODY)


class Https(AssetCase):
    def test_certificates(self):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate,
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        with FileServer((certificate, key)) as server:
            server.places["/x"] = Place(BODY)
            self.put(path="/plain")
            server.places["/down"] = Place(status=302, headers={"Location": self.server.url + "/plain"})
            self.fetch(server.url + "/x", status=3, mentions=["certificate"])
            self.assertEqual(self.fetch(server.url + "/x", SSL_CERT_FILE=str(certificate)).read_bytes(), BODY)
            self.fetch(server.url + "/down", status=2, mentions=["redirects"], SSL_CERT_FILE=str(certificate))


if __name__ == "__main__":
    unittest.main()
