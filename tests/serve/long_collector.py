# SPDX-License-Identifier: Apache-2.0
"""The OpenTelemetry Collector on both sides: as a client of xsp serve, and as the server of xsp's --publish."""
import json
import os
import resource
import signal
import unittest
import urllib.request

import otlp
from collector import Collector, collector_program
from otlp import request, span
from ports import unused_port
from scripted import UNIX_START, leveled, xsp, xsp_json
from server import JSON, Server, files, names, rows, wait_for
from test_serve import ServeTest

FAST = {"retry_on_failure": {"initial_interval": "50ms", "max_interval": "200ms"}}
# Batches overtake each other, so numbers of spans differ.
SPANS = ("select s.name, p.name as parent, s.level, s.start_ns, s.duration_ns, s.basis from span s left join span p"
         " on p.run_id = s.run_id and p.span_id = s.parent_id order by 1")
TAGS = "select s.name, key, value from tag join span s using (run_id, span_id) order by 1, 2, 3"
BATCH = {"batch": {"timeout": "50ms", "send_batch_size": 512}}


def to_server(port, **more):
    return {"otlp_http": {"endpoint": f"http://127.0.0.1:{port}", **FAST, **more}}


def post(collector, *requests):
    """They are acknowledged by the Collector, which sends them on later."""
    connection = Server.connect(collector)
    for one in requests:
        connection.request("POST", "/v1/traces", json.dumps(one), JSON)
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise AssertionError(f"status {reply.status}: {body}")
    connection.close()


def numbered(first, last):
    """Each request has a span, most of them a parent in another one."""
    return [request([span(number, name=f"{number:05}", n=number, parent=number - 1 if number % 10 else None)],
                    {"service.name": "collected"}) for number in range(first, last)]


class CollectorTest(ServeTest):
    @classmethod
    def setUpClass(cls):
        collector_program()

    def collector(self, exporters, **more):
        collector = Collector(self.parent, exporters, **more)
        self.addCleanup(collector.kill)
        return collector

    def logged(self, collector, text):
        return [message for message in collector.messages() if text in json.dumps(message)]


class AsClient(CollectorTest):
    def arrives(self, count):
        """A collector that is stopped gives up what it tries again."""
        wait_for(lambda: files(self.folder) and len(names(self.folder)) >= count, "all spans in the file")

    def test_what_it_sends_is_what_was_sent_to_it(self):
        """Batches of several requests, in both encodings and both codings."""
        for encoding, compression in (("proto", "gzip"), ("json", "zstd")):
            with self.subTest(encoding):
                self.folder = self.parent / encoding
                server = self.server()
                requests = numbered(1, 1501)
                with self.collector(to_server(server.port, encoding=encoding, compression=compression),
                                    processors=BATCH) as collector:
                    post(collector, *requests)
                    self.assertEqual(collector.stop(), 0)
                    self.assertEqual(self.logged(collector, "rror"), [])
                self.stopped(server)
                lines = self.parent / f"{encoding}.jsonl"
                lines.write_text(otlp.lines(*requests))
                xsp("import", lines, "-o", self.parent / f"{encoding}.xsp", check=0)
                file, = files(self.folder)
                for text in (SPANS, TAGS):
                    self.assertEqual(xsp_json("sql", file, text, "--json"),
                                     xsp_json("sql", self.parent / f"{encoding}.xsp", text, "--json"))

    def test_xsp_on_both_sides(self):
        """A leveled experiment that goes through the Collector has the same analyses."""
        file = leveled().write(self.parent / "a.xsp")
        server = self.server()
        with self.collector(to_server(server.port), processors=BATCH) as collector:
            xsp("export", file, "--publish", collector.url, "--spool", self.parent / "spool", check=0)
            self.assertEqual(collector.stop(), 0)
        self.stopped(server)
        received, = files(self.folder)
        for analysis in ("A1", "A2", "L0"):
            self.assertEqual(xsp_json("analyze", analysis, received, "--json"), xsp_json("analyze", analysis, file, "--json"))

    def test_the_server_is_down_at_first(self):
        port = unused_port()
        with self.collector(to_server(port)) as collector:
            post(collector, *numbered(1, 101))
            wait_for(lambda: self.logged(collector, "Will retry"), "a retry of the collector")
            server = self.server(listen=f"127.0.0.1:{port}")
            self.arrives(100)
        self.stopped(server)
        self.assertEqual(names(self.folder), [f"{number:05}" for number in range(1, 101)])

    def test_the_server_is_killed_again_and_again(self):
        """What the Collector took from its clients is stored, each span once: it repeats requests without a reply."""
        port, last = unused_port(), 1
        with self.collector(to_server(port)) as collector:
            for _ in range(10):
                with Server(self.folder, listen=f"127.0.0.1:{port}") as server:
                    post(collector, *numbered(last, last + 40))
                    last += 40
                    server.process.send_signal(signal.SIGKILL)
            server = self.server(listen=f"127.0.0.1:{port}")
            self.arrives(last - 1)
        self.stopped(server)
        self.assertEqual(names(self.folder), [f"{number:05}" for number in range(1, last)])

    def test_the_disk_is_full(self):
        """503 with Retry-After; a limit on the size of files stands for it."""
        server = self.server()
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        with self.collector(to_server(server.port)) as collector:
            post(collector, *numbered(1, 11))
            wait_for(lambda: self.logged(collector, "503"), "a 503 in the collector's log")
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.arrives(10)
        self.stopped(server)

    def test_rejected_spans_are_in_its_log(self):
        server = self.server()
        with self.collector(to_server(server.port)) as collector:
            post(collector, request([span(1, level="attic"), span(2, name="good")]))
            found = wait_for(lambda: self.logged(collector, "1 unknown level"), "a warning of the collector")
            self.assertIn('"dropped_spans": 1', json.dumps(found))
        self.stopped(server)
        self.assertEqual(names(self.folder), ["good"])


class AsServer(CollectorTest):
    def setUp(self):
        super().setUp()
        self.file = self.parent / "collected.jsonl"
        self.environment = {"XDG_STATE_HOME": str(self.parent / "state"), "NO_PROXY": "*", "no_proxy": "*"}

    def to_file(self, **more):
        return self.collector({"file": {"path": str(self.file)}}, **more)

    def spans_of(self, text):
        """Each span with its resource and scope, as the official package writes them. The Collector writes an empty status."""
        found = []
        for line in text.splitlines():
            for group in otlp.message(json.loads(line)).resource_spans:
                for scope in group.scope_spans:
                    for one in scope.spans:
                        if one.status.ByteSize() == 0:
                            one.ClearField("status")
                        found.append(tuple(part.SerializeToString(deterministic=True)
                                           for part in (group.resource, scope.scope, one)))
        return sorted(found)

    def published(self, *arguments, **more):
        return xsp(*arguments, environment=self.environment, **more)

    def check_collected(self, source):
        out = self.parent / "export.jsonl"
        xsp("export", source, "--to", "otlp", "-o", out, "--force", check=0)
        wanted = self.spans_of(out.read_text())
        self.assertEqual(self.spans_of(self.file.read_text()), wanted)
        self.assertEqual(len(wanted), xsp_json("sql", source, "select count(*) as n from span", "--json")[0]["n"])

    def test_export(self):
        """Also what the Collector batched anew."""
        source = leveled().write(self.parent / "a.xsp")
        for form, processors in (("otlp", None), ("otlp-proto", BATCH)):
            with self.subTest(form):
                self.file.unlink(missing_ok=True)
                with self.to_file(processors=processors) as collector:
                    self.published("export", source, "--to", form, "--publish", collector.url, check=0)
                    self.assertEqual(collector.stop(), 0)
                self.check_collected(source)

    def test_profiles(self):
        """What `xsp export --to otlp-profiles` writes is a request. The Collector rewrites the dictionary, not the samples."""
        script = leveled()
        script.context("main", file="train.py", line=3)
        for number in range(3):
            script.sample("cpu", UNIX_START + 100 * number, 40 + number, 1, span=1)
        source, profiles = script.write(self.parent / "a.xsp"), self.parent / "a.otlp-profiles"
        xsp("export", source, "-o", profiles, check=0)
        with self.to_file(signal="profiles") as collector:
            request = urllib.request.Request(f"{collector.url}/v1development/profiles", profiles.read_bytes(),
                                             {"Content-Type": "application/x-protobuf"})
            urllib.request.urlopen(request, timeout=60).close()
            self.assertEqual(collector.stop(), 0)
        collected = json.loads(self.file.read_text())
        [sample] = [sample for resource in collected["resourceProfiles"] for scope in resource["scopeProfiles"]
                    for profile in scope.get("profiles", []) for sample in profile["samples"]]
        self.assertEqual([int(value) for value in sample["values"]], [40, 41, 42])
        self.assertEqual([int(time) - UNIX_START for time in sample["timestampsUnixNano"]], [0, 100, 200])
        self.assertIn("train.py", collected["dictionary"]["stringTable"])
        link = collected["dictionary"]["linkTable"][sample["linkIndex"]]
        self.assertEqual(int(link["spanId"], 16), 1)

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
    def test_run(self):
        source = self.parent / "run.xsp"
        with self.to_file() as collector:
            self.published("run", "-q", "-o", source, "--publish", collector.url, "--runs", "3", "--", "true", check=0)
            self.assertEqual(collector.stop(), 0)
        self.check_collected(source)

    def test_it_is_down_at_first(self):
        source = leveled().write(self.parent / "a.xsp")
        port = unused_port()
        url = f"http://127.0.0.1:{port}"
        self.published("export", source, "--publish", url, "--publish-timeout", "1", check=3)
        with self.to_file(port=port) as collector:
            self.published("export", "--publish", url, check=0)
            self.assertEqual(collector.stop(), 0)
        self.check_collected(source)


if __name__ == "__main__":
    unittest.main()
