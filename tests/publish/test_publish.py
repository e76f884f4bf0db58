# SPDX-License-Identifier: Apache-2.0
"""Spans sent by OTLP/HTTP to a receiver that is not ours: every clause of docs/publish.md."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import unittest

import scripted
from otlp_receiver import Answer, Receiver, decoded, names
from ports import unused_port
from scripted import XSP, Script, temporary_folder, xsp

SPANS = 1300  # three requests


def many(count=SPANS, name="span"):
    script = Script()
    script.experiment("many")
    script.run(1, "M")
    script.track(1, "main")
    for i in range(count):
        script.span(f"{name} {i}", scripted.UNIX_START + i * 1000, 500, tags={"number": i})
    return script


class PublishTest(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.files = temporary_folder()
        cls.file = many().write(pathlib.Path(cls.files.name) / "many.xsp")
        cls.small = many(3, "small").write(pathlib.Path(cls.files.name) / "small.xsp")

    @classmethod
    def tearDownClass(cls):
        cls.files.cleanup()

    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {"XDG_STATE_HOME": str(self.folder / "state"), "NO_PROXY": "*", "no_proxy": "*"}

    def publish(self, url, *arguments, file=None, status=0, timeout="600", environment=None):
        """The messages. Only a test of patience sets a timeout."""
        paths = [file] if file is not None else []
        result = xsp("export", *paths, "--publish", url, "--publish-timeout", timeout, *arguments, check=status,
                     environment={**self.environment, **(environment or {})})
        self.assertEqual(result.stdout, b"")
        return result.stderr.decode()

    def spool(self):
        return sorted((self.folder / "state/xsp/publish").glob("*/*.otlp"))

    @staticmethod
    def wanted(count=SPANS, name="span"):
        return [f"{name} {i}" for i in range(count)]


class Sent(PublishTest):
    def test_equals_the_export(self):
        for form in ("otlp", "otlp-proto"):
            with Receiver() as receiver:
                self.assertIn(f"published {SPANS} spans in 3 requests", self.publish(receiver.url, "--to", form, file=self.file))
                path = self.folder / form
                xsp("export", self.file, "--to", form, "-o", path, check=0)
                self.assertEqual(b"".join(body for _, _, body in receiver.seen), path.read_bytes())
                self.assertEqual(receiver.names(), self.wanted())
                self.assertEqual(receiver.connections, 1)
                place, headers, _ = receiver.seen[0]
                self.assertEqual((place, headers["Content-Encoding"]), ("/v1/traces", "gzip"))
                self.assertEqual(headers["Content-Type"],
                                 "application/json" if form == "otlp" else "application/x-protobuf")
            self.assertEqual(self.spool(), [])

    def test_paths(self):
        with Receiver() as receiver:
            for path, wanted in (("", "/v1/traces"), ("/", "/v1/traces"), ("/here", "/here"), ("/a/b/?key=1", "/a/b/?key=1")):
                self.publish(receiver.url + path, file=self.small)
                self.assertEqual(receiver.seen[-1][0], wanted)

    def test_environment(self):
        token = self.folder / "token"
        token.write_text("secret\n")
        variables = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b%2Cc, other=1"}
        with Receiver() as receiver:
            self.publish("env", file=self.small, environment={**variables, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url + "/base"})
            self.assertEqual(receiver.seen[-1][0], "/base/v1/traces")
            self.assertEqual((receiver.seen[-1][1]["api-key"], receiver.seen[-1][1]["other"]), ("a b,c", "1"))
            self.publish("env", file=self.small, environment={
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.url + "/t"})
            self.assertEqual(receiver.seen[-1][0], "/t")
            # The environment's keys are not for an address of the command line.
            self.publish(receiver.url, "--publish-token-file", token, file=self.small, environment=variables)
            self.assertNotIn("api-key", receiver.seen[-1][1])
            self.assertEqual(receiver.seen[-1][1]["Authorization"], "Bearer secret")

    def test_account(self):
        """--json: each span is in one of the counts."""
        def account(receiver, *arguments, status=0):
            result = xsp("export", *arguments, "--publish", receiver.url, "--publish-timeout", "600", "--json", check=status,
                         environment=self.environment)
            found = json.loads(result.stdout)
            self.assertEqual(found.pop("url"), receiver.url + "/v1/traces")
            return tuple(found.values())
        with Receiver([Answer(), Answer(rejected=2), Answer(400)]) as receiver:
            self.assertEqual(account(receiver, self.file, status=3), (2, 1022, 2, SPANS - 1024, 0))
            receiver.answers = [Answer(), Answer(503, headers={"Retry-After": "3600"})]
            self.assertEqual(account(receiver, self.file, status=3), (1, 512, 0, 0, SPANS - 512))
            self.assertEqual(account(receiver), (2, SPANS - 512, 0, 0, 0))
        xsp("export", self.file, "--to", "otlp", "-o", self.folder / "x", "--json", environment=self.environment, check=2)

    def test_nothing_is_sent_unasked(self):
        with Receiver() as receiver:
            xsp("export", self.small, "--to", "otlp", "-o", self.folder / "out.jsonl", check=0,
                environment={**self.environment, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url})
            self.assertEqual(receiver.seen, [])

    def test_partial_success(self):
        """Reported, and not sent again."""
        with Receiver([Answer(rejected=2, message="too old")]) as receiver:
            messages = self.publish(receiver.url, file=self.small)
            self.assertIn("rejected 2 of 3 spans: too old", messages)
            self.assertIn("published 1 span in 1 request", messages)
            self.assertEqual(len(receiver.seen), 1)
        self.assertEqual(self.spool(), [])

    def test_warning(self):
        with Receiver([Answer(rejected=0, message="clock is off")]) as receiver:
            self.assertIn("clock is off", self.publish(receiver.url, "--to", "otlp", file=self.small))

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
    def test_after_a_run(self):
        with Receiver() as receiver:
            result = xsp("run", "-q", "-o", self.folder / "run.xsp", "--publish", receiver.url, "--", "sh", "-c", "exit 7",
                         environment=self.environment, check=7)
            self.assertIn(b"published 1 span ", result.stderr)
            self.assertEqual(receiver.names(), ["sh"])
        result = xsp("run", "-q", "-o", self.folder / "again.xsp", "--publish", receiver.url, "--publish-timeout", "1",
                     "--", "sh", "-c", "exit 0", environment=self.environment, check=0)
        self.assertIn(b"1 spans wait in", result.stderr)
        self.assertTrue((self.folder / "again.xsp").exists())


    def test_after_a_profile(self):
        model, out = self.folder / "small.xspscript", self.folder / "profile.xsp"
        model.write_text("input data float N,8\nlayer a Conv 200us\nlayer b Relu 100us\n")
        with Receiver() as receiver:
            xsp("profile", model, "--levels", "M,M/L", "--runs", "2", "--no-peaks", "-o", out, "--publish", receiver.url,
                environment=self.environment, check=0)
            spans, = scripted.xsp_json("sql", out, "select count(*) as n from span", "--json")
            self.assertEqual(len(receiver.names()), spans["n"])
            self.assertGreater(receiver.names().count("a"), 1)


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
class SameTrace(PublishTest):
    TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

    def run_it(self, *options, caller=None):
        """What the program got in TRACEPARENT: a line for each execution."""
        got = self.folder / "got"
        caller = {"TRACEPARENT": f"00-{self.TRACE}-{self.CALLER}-01"} if caller else {"TRACEPARENT": ""}
        xsp("run", "-q", "-o", self.folder / "run.xsp", "--force", *options, "--", "sh", "-c",
            f'echo "$TRACEPARENT" >> {got}', environment={**self.environment, **caller}, check=0)
        return got.read_text().splitlines()

    @staticmethod
    def published(receiver):
        return [span for request in receiver.accepted for spans in request.resource_spans for scope in spans.scope_spans
                for span in scope.spans if span.name == "sh"]

    def test_the_program_gets_its_own_span(self):
        for caller in (False, True):
            with Receiver() as receiver:
                header = self.run_it("--publish", receiver.url, caller=caller)[-1]
                span, = self.published(receiver)
                self.assertEqual(header, f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01")
                self.assertEqual(span.parent_span_id.hex(), self.CALLER if caller else "")
                self.assertEqual(span.trace_id.hex() == self.TRACE, caller)

    def test_each_execution_has_its_own(self):
        with Receiver() as receiver:
            headers = self.run_it("--publish", receiver.url, "--runs", "3", caller=True)
            spans = self.published(receiver)
            self.assertEqual([header[36:52] for header in headers], [span.span_id.hex() for span in spans])
            self.assertEqual(len(set(headers)), 3)

    def test_not_without_publish(self):
        self.assertEqual(self.run_it(caller=True), [f"00-{self.TRACE}-{self.CALLER}-01"])


class Retries(PublishTest):
    def test_statuses_that_may_pass(self):
        answers = [Answer(code, "busy") for code in (429, 502, 503, 504)] + [Answer(close=True)]
        with Receiver(answers) as receiver:
            messages = self.publish(receiver.url, file=self.file, timeout="30")
            self.assertIn("status 429: busy", messages)
            self.assertEqual(receiver.names(), self.wanted())
            self.assertEqual(len(receiver.seen), 3 + len(answers))

    def test_retry_after(self):
        """In seconds or as a date: longer than the patience means that the spans stay here."""
        for when in ("3600", "Fri, 31 Dec 2999 23:59:59 GMT"):
            with Receiver([Answer(503, headers={"Retry-After": when})]) as receiver:
                self.assertIn("3 spans wait in", self.publish(receiver.url, file=self.small, status=3, timeout="60"))
                self.assertEqual(len(receiver.seen), 1)
        with Receiver([Answer(503, headers={"Retry-After": "1"})]) as receiver:
            self.publish(receiver.url, file=self.small, timeout="60")
            self.assertEqual(len(receiver.seen), 2)

    def test_statuses_that_do_not_pass(self):
        """That request is refused, once; the others are sent."""
        for code in (400, 500, 501):
            with Receiver([Answer(code, "no such thing")]) as receiver:
                messages = self.publish(receiver.url, file=self.file, status=3)
                self.assertIn(f"status {code}: no such thing", messages)
                self.assertIn("512 spans", messages)
                self.assertEqual(receiver.names(), self.wanted()[512:])
                self.assertEqual(len(receiver.seen), 3)
            self.assertEqual(self.spool(), [])

    def test_statuses_of_another_address(self):
        """Nothing is lost: the same spans go once the address or the token is right."""
        with Receiver() as receiver:
            for code in (401, 403, 404, 405, 415):
                receiver.answers = [Answer(code, "not here")]
                messages = self.publish(receiver.url, file=self.small, status=3)
                self.assertIn("not here", messages)
                self.assertIn("3 spans wait in", messages)
                self.assertEqual(receiver.accepted, [])
                self.publish(receiver.url)
                self.assertEqual(receiver.names(), self.wanted(3, "small"))
                receiver.accepted.clear()

    def test_too_large(self):
        """Halved until it fits, in order."""
        for form in ("otlp", "otlp-proto"):
            with Receiver(usual=lambda body: Answer(413) if len(body) > 20000 else Answer()) as receiver:
                self.publish(receiver.url, "--to", form, file=self.file)
                self.assertEqual(receiver.names(), self.wanted())
                self.assertGreater(len(receiver.accepted), 6)
                # Each part has the whole resource and scope.
                first = receiver.accepted[0].resource_spans[0]
                for request in receiver.accepted:
                    self.assertEqual(request.resource_spans[0].scope_spans[0].scope, first.scope_spans[0].scope)
                    self.assertGreater(len(request.resource_spans[0].resource.attributes), 5)

    @staticmethod
    def narrow(accepted, *later):
        """A receiver that takes 256 spans, then 128 at most, and gives `later` once it has accepted so many requests."""
        later = list(later)

        def usual(body):
            request = decoded(body, "application/x-protobuf")
            if len(names([request])) > (128 if receiver.accepted else 256):
                return Answer(413)
            return later.pop(0) if later and len(receiver.accepted) >= accepted else Answer()
        receiver = Receiver(usual=usual)
        return receiver

    def test_parts_are_sent_once(self):
        """What of a request was accepted is neither sent again nor counted as waiting."""
        for accepted, begun in ((1, 256), (2, 384), (3, 512)):
            with self.narrow(accepted, Answer(404)) as receiver:
                self.assertIn(f"{SPANS - begun} spans wait", self.publish(receiver.url, file=self.file, status=3))
                self.publish(receiver.url)
                self.assertEqual(receiver.names(), self.wanted())
        self.assertEqual(self.spool(), [])

    def test_a_part_is_refused_once(self):
        with self.narrow(1, Answer(400), Answer(404)) as receiver:
            self.publish(receiver.url, file=self.file, status=3)
            self.publish(receiver.url)
            self.assertEqual(receiver.names(), self.wanted()[:256] + self.wanted()[384:])

    def test_one_span_is_too_large(self):
        with Receiver(usual=lambda body: Answer(413, "1 KiB at most")) as receiver:
            messages = self.publish(receiver.url, file=self.small, status=3)
            self.assertIn("413: 1 KiB at most", messages)
            self.assertIn("3 spans", messages)


class Spool(PublishTest):
    def test_down_then_up(self):
        """Kept in order, sent once."""
        port = unused_port()
        url = f"http://127.0.0.1:{port}"
        self.assertIn(f"{SPANS} spans wait", self.publish(url, file=self.file, status=3, timeout="1"))
        self.assertIn(f"{SPANS + 3} spans wait", self.publish(url, file=self.small, status=3, timeout="1"))
        self.assertEqual(len(self.spool()), 2)
        with Receiver(port=port) as receiver:
            self.publish(url, "--to", "otlp", file=self.small)
            self.assertEqual(receiver.names(), self.wanted() + 2 * self.wanted(3, "small"))
            self.assertIn("published 0 spans", self.publish(url))
        self.assertEqual(self.spool(), [])

    def test_each_address_has_its_own(self):
        self.publish(f"http://127.0.0.1:{unused_port()}", file=self.small, status=3, timeout="1")
        with Receiver() as receiver:
            self.assertIn("published 0 spans", self.publish(receiver.url))
        self.assertEqual(len(self.spool()), 1)

    def test_goes_away_in_the_middle(self):
        with Receiver([Answer(), Answer(404)]) as receiver:
            self.publish(receiver.url, file=self.file, status=3)
            self.publish(receiver.url)
            self.assertEqual(receiver.names(), self.wanted())

    def start(self, url, file):
        return subprocess.Popen([XSP, "export", file, "--publish", url], stderr=subprocess.DEVNULL,
                                env={**os.environ, **self.environment})

    def test_kill(self):
        """Killed before an answer: that request alone is sent twice."""
        for number in range(3):
            process, started = None, threading.Event()

            def kill():
                started.wait(600)
                process.send_signal(signal.SIGKILL)
                process.wait()

            with Receiver([Answer()] * number + [Answer(then=kill)]) as receiver:
                process = self.start(receiver.url, self.file)
                started.set()
                self.assertEqual(process.wait(600), -signal.SIGKILL)
                self.publish(receiver.url)
                wanted, again = self.wanted(), self.wanted()[512 * number:512 * (number + 1)]
                # The receiver takes the dead one's request, too, at any time until the end.
                self.assertIn(sorted(receiver.names()), (sorted(wanted), sorted(wanted + again)))
            self.assertEqual(self.spool(), [])

    def test_kill_at_any_time(self):
        """All of the spans wait, or none: a publication is added as a whole."""
        large = many(20000).write(self.folder / "large.xsp")
        port = unused_port()
        for trial in range(12):
            process = self.start(f"http://127.0.0.1:{port}", large)
            try:
                process.wait(0.02 * (trial + 1))
            except subprocess.TimeoutExpired:
                process.kill()
            self.assertEqual(process.wait(600), -signal.SIGKILL)
            with Receiver(port=port) as receiver:
                self.publish(receiver.url)
                self.assertIn(receiver.names(), ([], self.wanted(20000)))

    def test_two_at_once(self):
        """One sends at a time: nothing is lost, nothing is sent twice."""
        with Receiver() as receiver:
            processes = [self.start(receiver.url, self.file) for _ in range(4)]
            self.assertEqual([process.wait(600) for process in processes], [0] * 4)
            self.assertEqual(receiver.names(), 4 * self.wanted())

    def test_damaged(self):
        url = f"http://127.0.0.1:{unused_port()}"
        self.publish(url, file=self.small, status=3, timeout="1")
        path, = self.spool()
        whole = path.read_bytes()
        for bytes_left in (0, 7, 15, 20, 40, len(whole) - 1):
            path.write_bytes(whole[:bytes_left])
            self.assertIn(str(path.name), self.publish(url, status=2))

    def test_folder_of_others(self):
        folder = self.folder / "spool"
        url = f"http://127.0.0.1:{unused_port()}"
        self.publish(url, "--spool", folder, file=self.small, status=3, timeout="1")
        mine, = folder.iterdir()
        self.assertEqual(mine.stat().st_mode & 0o777, 0o700)
        self.assertEqual({path.stat().st_mode & 0o777 for path in mine.iterdir()}, {0o600})
        mine.chmod(0o777)
        self.assertIn("other users", self.publish(url, "--spool", folder, file=self.small, status=3))


class Hostile(PublishTest):
    def test_silence(self):
        """A server that takes the connection and never answers: the patience ends it."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            messages = self.publish(f"http://127.0.0.1:{server.getsockname()[1]}", file=self.small, status=3, timeout="1")
            self.assertIn("3 spans wait", messages)

    def test_answers(self):
        for answer, word in ((Answer(endless=True), "longer than 4 MiB"),
                             (Answer(body=b"<html>", content_type="text/html"), "not as a receiver"),
                             (Answer(body=b"\xff\xff", content_type="application/x-protobuf"), "not as a receiver"),
                             (Answer(302, headers={"Location": "file:///etc/passwd"}), "not followed"),
                             (Answer(307, headers={"Location": "http://127.0.0.1:1/"}), "not followed")):
            with Receiver([answer]) as receiver:
                messages = self.publish(receiver.url, file=self.small, status=3)
                self.assertIn(word, messages)
                self.assertIn("3 spans wait", messages)
                self.assertEqual(len(receiver.seen), 1)

    def test_messages_are_escaped(self):
        with Receiver([Answer(400, "\x1b[31mred\n")]) as receiver:
            messages = self.publish(receiver.url, file=self.small, status=3)
            self.assertNotIn("\x1b", messages)
            self.assertIn("\\x1b[31mred", messages)

    def test_certificates(self):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                       capture_output=True)
        with Receiver(certificate=(certificate, key)) as receiver:
            messages = self.publish(receiver.url, file=self.small, status=3)
            self.assertIn("certificate", messages)
            self.assertEqual(receiver.seen, [])
            self.publish(receiver.url, environment={"OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificate)})
            self.assertEqual(receiver.names(), self.wanted(3, "small"))


class WrongUse(PublishTest):
    def test_options(self):
        token = self.folder / "token"
        token.write_text("two words")
        for arguments, word in ((["--publish", "localhost:4318"], "http"), (["--publish", "file:///etc/passwd"], "http"),
                                (["--publish", "http://"], "valid"), (["--publish", "http://a b"], "valid"),
                                (["--publish", "http://me:secret@host"], "credentials"),
                                (["--publish", "env"], "OTEL_EXPORTER_OTLP_ENDPOINT"),
                                (["--publish", "http://h", "--to", "csv"], "csv"),
                                (["--publish", "http://h", "-o", "x"], "output"),
                                (["--publish", "http://h", "--publish-token-file", token], "token"),
                                (["--spool", "x", "--to", "csv", "-o", "x"], "--publish")):
            result = xsp("export", self.small, *arguments, environment=self.environment, check=2)
            self.assertIn(word, result.stderr.decode())
        self.assertEqual(self.spool(), [])

    def test_headers(self):
        for headers in ("novalue", "a=%0d%0aHost: x", "a b=1", "a=%4"):
            self.assertIn("malformed", self.publish("env", file=self.small, status=2, environment={
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS": headers}))

    def test_before_the_program_runs(self):
        xsp("run", "--publish", "nowhere", "--", "touch", self.folder / "ran", environment=self.environment, check=125)
        self.assertFalse((self.folder / "ran").exists())

    def test_no_libcurl(self):
        message = self.publish("http://127.0.0.1:1", file=self.small, status=3,
                               environment={"XSP_LIBRARY_CURL": str(self.folder / "none.so")})
        self.assertIn("none.so", message)


if __name__ == "__main__":
    unittest.main()
