# SPDX-License-Identifier: Apache-2.0
"""What xsp serve keeps: files, journals, restarts after a kill, full disks, and the clients of OpenTelemetry's SDK."""
import json
import os
import random
import resource
import signal
import struct
import subprocess
import unittest

import otlp
from otlp import request, span
from scripted import leveled, xsp, xsp_json
from server import JSON, PROTO, Server, files, names, rows, wait_for
from test_serve import ServeTest

try:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
except ImportError:
    OTLPSpanExporter = None

SPANS = "select run_id, span_id, parent_id, name, level, start_ns, duration_ns, basis from span order by 1, 2"
TAGS = "select run_id, span_id, key, value from tag order by 1, 2, 3"


class Files(ServeTest):
    def test_the_same_as_an_import(self):
        """Requests in both encodings, of several resources and traces, give what an import of the same requests gives."""
        rng = random.Random(20)
        requests = []
        for number in range(40):
            spans = [span(number * 100 + at + 1, name=f"s{rng.randrange(5)}", start=at * 10, end=at * 10 + 9,
                          parent=number * 100 + 1 if at else None, level=rng.choice([None, "model", "layer", "kernel"]),
                          trace=f"{rng.randrange(1, 4):032x}", more={"n": at, "list": [1, {"a": "b"}]},
                          events=[(at, "event")]) for at in range(rng.randrange(1, 9))]
            requests.append(request(spans, {"service.name": rng.choice("ab"), "host.name": "h"}, scope="s"))
        server = self.server()
        for number, one in enumerate(requests):
            body, headers = (otlp.to_proto(one), PROTO) if number % 2 else (json.dumps(one).encode(), JSON)
            self.assertEqual(server.ask(body, headers)[0], 200)
        self.stopped(server)
        lines = self.parent / "spans.jsonl"
        lines.write_text(otlp.lines(*requests))
        xsp("import", lines, "-o", self.parent / "spans.xsp", check=0)
        file, = files(self.folder)
        for text in (SPANS, TAGS):
            self.assertEqual(xsp_json("sql", file, text, "--json"), xsp_json("sql", self.parent / "spans.xsp", text, "--json"))

    def test_what_xsp_publishes(self):
        """A file that is published to the server gives the same analyses there."""
        file = leveled().write(self.parent / "a.xsp")
        server = self.server()
        xsp("export", file, "--to", "otlp", "--publish", server.about["url"], check=0)
        self.stopped(server)
        received, = files(self.folder)
        for analysis in ("A1", "A2", "L0"):
            self.assertEqual(xsp_json("analyze", analysis, received, "--json"), xsp_json("analyze", analysis, file, "--json"))

    def test_rejected_are_those_that_an_import_skips(self):
        rng = random.Random(21)
        server = self.server()
        for trial in range(60):
            spans = []
            for at in range(12):
                one = span(at + 1, start=rng.randrange(5), end=rng.randrange(3, 9), more=rng.choice(
                    [{}, {}, {"xsp.start_ns": 5, "xsp.end_ns": 1}, {"xsp.start_ns": "7"}, {"xsp.end_ns": 1.5}, {"xsp.end_ns": 8.0},
                     {"xsp.start_ns": -3, "xsp.end_ns": 2**63 - 1}, {"xsp.start_ns": 2**62, "xsp.open": True},
                     {"xsp.end_ns": 3, "xsp.open": 0}, {"xsp.level": "attic"}, {"xsp.kind": 7}, {"xsp.level": 1, "xsp.kind": "x"}, {"xsp.kind": "launch"}]))
                one.update(rng.choice([{}, {}, {}, {"spanId": ""}, {"spanId": "0" * 18}, {"parentSpanId": "xyz"},
                                       {"traceId": "a" * 200}, {"traceId": "0" * 32}, {"endTimeUnixNano": 0}, {"spanId": "zz"}]))
                if rng.random() < 0.1:
                    del one["endTimeUnixNano"]
                spans.append(one)
            body = json.dumps(request(spans + [span(99)]))
            status, _, reply = server.ask(body, JSON)
            self.assertEqual(status, 200)
            file = self.parent / "one.json"
            # Of files any trace id is imported: here the server's rule counts, "bad trace id" by both.
            file.write_text(body.replace(json.dumps("0" * 32), json.dumps("a" * 200)))
            account = xsp_json("import", file, "-o", self.parent / "one.xsp", "--force", "--json")["files"][0]
            partial = json.loads(reply).get("partialSuccess", {})
            reasons = ", ".join(f"{count} {reason}" for reason, count in account["skipped"].items())
            self.assertEqual(int(partial.get("rejectedSpans", 0)), sum(account["skipped"].values()), body)
            self.assertEqual(set(partial.get("errorMessage", "").split(", ")), set(reasons.split(", ")), body)
        server.kill()

    def test_readable_while_it_runs(self):
        server = self.server()
        for number in range(1, 4):
            server.send(request([span(number, name=f"{number}")], {"service.name": "live"}))
            wait_for(lambda: files(self.folder) and len(names(self.folder)) == number, f"span {number} in the file")
            self.assertEqual(len(files(self.folder, ".journal")), 1)
        self.assertEqual(len(files(self.folder)), 1)

    def test_one_trace_of_several_processes_is_in_one_file(self):
        server = self.server()
        for process in range(1, 4):
            server.send(request([span(process, name=f"p{process}", parent=process - 1 or None)],
                                {"service.name": "s", "process.pid": process}))
        self.stopped(server)
        file, = files(self.folder)
        self.assertEqual(xsp_json("sql", file, "select name from experiment", "--json"), [{"name": file.stem}])
        self.assertEqual(len(xsp_json("sql", file, "select * from run", "--json")), 1)  # test_serve_joining.py
        self.assertEqual(len(xsp_json("sql", file, "select distinct text from trace", "--json")), 1)

    def test_a_file_ends_when_it_is_large(self):
        server = self.server("--file-bytes", "20K")
        for number in range(1, 201):
            server.send(request([span(number, name=f"{number:03}", text="x" * 500)]))
            if number % 20 == 0:  # no more journals than the server lets wait, however slow storing is
                wait_for(lambda: len(files(self.folder, ".journal")) <= 1, "closed journals to be stored")
        self.stopped(server)
        self.assertGreater(len(files(self.folder)), 4)
        self.assertEqual(names(self.folder), [f"{number:03}" for number in range(1, 201)])
        self.assertEqual(files(self.folder, ".journal"), [])

    def test_a_file_ends_when_it_is_quiet(self):
        server = self.server("--file-quiet", "1")
        for number in (1, 2):
            server.send(request([span(number, name=f"{number}")]))
            wait_for(lambda: len(files(self.folder)) == number and not files(self.folder, ".journal"), "the end of a file")
        self.stopped(server)
        self.assertEqual(names(self.folder), ["1", "2"])

    def test_a_file_ends_before_it_has_too_many_runs(self):
        server = self.server()
        for first in range(0, 2000, 400):
            server.send({"resourceSpans": [otlp.resource_spans([span(number + 1)], {"xsp.experiment": f"e{number}"})
                                           for number in range(first, first + 400)]})
        self.assertEqual(server.ask(json.dumps({"resourceSpans": [otlp.resource_spans([span(1)], {"a": number})
                                                                  for number in range(901)]}), JSON)[0], 400)
        self.stopped(server)
        self.assertEqual(len(files(self.folder)), 3)
        self.assertEqual(len(names(self.folder)), 2000)
        self.assertEqual(sum(count for count, in rows(self.folder, "select count(*) from experiment")), 2000)

    def test_a_journal_is_a_file_to_import(self):
        server = self.server()
        server.send(request([span(1, name="kept")]))
        server.kill()
        journal, = files(self.folder, ".journal")
        report = xsp_json("import", journal, "-o", self.parent / "out.xsp", "--json")
        self.assertEqual((report["files"][0]["format"], report["files"][0]["kept"]), ("otlp-journal", 1))


class Restarts(ServeTest):
    def test_a_continued_journal_ends_before_it_has_too_many_runs(self):
        server = self.server()
        for first in (0, 700):
            server.send({"resourceSpans": [otlp.resource_spans([span(number + 1)], {"xsp.experiment": f"e{number}"})
                                           for number in range(first, first + 700)]})
            if first == 0:
                server.kill()
                server = self.server()
        self.stopped(server)
        self.assertEqual(sorted(count for count, in rows(self.folder, "select count(*) from experiment")), [700, 700])

    def test_a_span_at_the_end_of_time(self):
        """Of a machine whose clock is far ahead: moved to the caller's clock it stays one, and the others are stored."""
        apart_ns, ahead_ns = 10**12, 7 * 10**18
        calls = [span(100 + k, start=k * apart_ns, end=k * apart_ns + 100) for k in range(5)]
        served = [span(200 + k, start=at, end=at + 10, parent=100 + k)
                  for k in range(5) for at in (k * apart_ns + ahead_ns - k * apart_ns * 4 // 10_000 + 45,)]
        served.append(span(300, "long", start=-otlp.START, end=2**63 - 1 - otlp.START))
        server = self.server()
        for spans, host in ((calls, "a"), (served, "b")):
            server.send(request(spans, {"service.name": host, "host.name": host}))
        self.stopped(server)
        self.assertEqual(len(names(self.folder)), 11)
        ((start, duration),) = rows(self.folder, "select start_ns, duration_ns from span where name = 'long'")
        self.assertTrue(duration >= 0 and start + duration < 2**63)

    def test_a_killed_server_loses_and_doubles_nothing(self):
        """Ten trials; long_serve.py has a thousand."""
        killed_servers(self, 10)

    def test_a_request_that_is_sent_again(self):
        """The reply was lost with the server: the client sends the same spans to the next one."""
        one = request([span(1, name="once"), span(2, name="twice")])
        server = self.server()
        server.send(one)
        server.kill()
        server = self.server()
        server.send(one)
        self.stopped(server)
        self.assertEqual(names(self.folder), ["once", "twice"])

    def test_a_torn_journal(self):
        server = self.server()
        for number in range(1, 4):
            server.send(request([span(number, name=f"{number}")]))
        server.kill()
        journal, = files(self.folder, ".journal")
        whole = journal.read_bytes()
        for torn in (whole + b"\x10\0\0\0", whole + struct.pack("<IIQ", 500, 1, 7) + b"x" * 100, whole + bytes(4096),
                     whole[:-1] + b"?"):
            with self.subTest(len(torn)):
                for file in files(self.folder):
                    file.unlink()
                journal.write_bytes(torn)
                server = self.server()
                server.send(request([span(9, name="9")]))
                self.stopped(server)
                self.assertEqual(names(self.folder), (["1", "2"] if torn[-1:] == b"?" else ["1", "2", "3"]) + ["9"])

    def test_an_empty_journal(self):
        """A server that is killed between two system calls leaves one: nothing in it was acknowledged."""
        self.folder.mkdir()
        (self.folder / "spans-20200101-000000-000.journal").touch()
        self.stopped(self.server())
        self.assertEqual([name for name in os.listdir(self.folder) if "spans" in name], [])

    def test_what_is_no_journal_is_set_aside(self):
        self.folder.mkdir()
        strange = self.folder / "spans-20200101-000000-000.journal"
        strange.write_bytes(b"something else")
        (self.folder / "notes.txt").write_text("mine")
        server = self.server()
        server.send(request([span(1, name="kept")]))
        status, errors = server.stop()
        self.assertEqual(status, 0)
        self.assertIn("not a journal", errors)
        self.assertEqual(names(self.folder), ["kept"])
        self.assertEqual((self.folder / (strange.name + ".refused")).read_bytes(), b"something else")
        self.assertEqual((self.folder / "notes.txt").read_text(), "mine")

    def test_several_journals(self):
        """Also those whose file was half made."""
        self.folder.mkdir()
        for number in range(6):
            server = self.server("--file-bytes", "1")
            server.send(request([span(number + 1, name=f"{number}")]))
            server.kill()
        (self.folder / "spans-20200101-000000-000.xsp.partial").write_bytes(b"half")
        server = self.server()
        self.stopped(server)
        self.assertEqual(names(self.folder), [f"{number}" for number in range(6)])
        self.assertEqual(files(self.folder, ".journal"), [])

    def test_sync(self):
        server = self.server("--sync", "--file-bytes", "5K")
        for number in range(1, 30):
            server.send(request([span(number, name=f"{number:02}", text="x" * 300)]))
        server.kill()
        server = self.server("--sync")
        self.stopped(server)
        self.assertEqual(names(self.folder), [f"{number:02}" for number in range(1, 30)])


def killed_servers(test, trials):
    """Sends until the server is killed, again and again into one folder. The last request of each server has no reply. It
    is sent again, as an exporter does, and stored once, unless files end quickly: then it is stored at most once."""
    rng = random.Random(int(os.environ.get("XSP_SEED", "20")))
    number, acknowledged, unknown = 0, set(), set()
    for _ in range(trials):
        are_small = rng.random() < 0.5
        options = ("--file-bytes", "3K", "--file-quiet", "1") if are_small else ()
        with Server(test.folder, *options) as server:
            connection = server.connect()
            for at in range(rng.randrange(30), -1, -1):
                number += 1
                name = f"{number:06}"
                one = request([span(number, name=name, text="x" * rng.randrange(300))], {"service.name": "k"})
                if at > 0:
                    wait_for(lambda: is_kept(server, one, connection), "a server that is not behind")
                    acknowledged.add(name)
            connection.request("POST", "/v1/traces", json.dumps(one), JSON)
            for _ in range(rng.randrange(3)):
                os.sched_yield()
            server.process.send_signal(signal.SIGKILL)
            server.kill()
            connection.close()
        with Server(test.folder) as server:
            if are_small:
                unknown.add(name)
            else:
                server.send(one)
                acknowledged.add(name)
            if rng.random() < 0.5:
                test.assertEqual(server.stop(), (0, ""))
    with Server(test.folder) as server:
        test.assertEqual(server.stop(), (0, ""))
    stored = names(test.folder)
    test.assertEqual(len(stored), len(set(stored)))
    test.assertEqual(acknowledged - set(stored), set())
    test.assertEqual(set(stored) - acknowledged - unknown, set())
    test.assertEqual(files(test.folder, ".journal"), [])


def is_kept(server, one, connection):
    status, headers, _ = server.ask(json.dumps(one), JSON, connection=connection)
    if status == 503 and int(headers["Retry-After"]) > 0:
        return False
    if status != 200:
        raise AssertionError(f"status {status}")
    return True


class FullDisk(ServeTest):
    def test_it_recovers(self):
        """A limit on the size of files stands for a disk without room."""
        server = self.server()
        server.send(request([span(1, name="before")]))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        large = request([span(2, name="large", text="x" * 2000)])
        for _ in range(3):
            status, headers, body = server.ask(json.dumps(large), JSON)
            self.assertEqual(status, 503, body)
            self.assertGreater(int(headers["Retry-After"]), 0)
            self.assertEqual(json.loads(body)["code"], 14)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        server.send(large)
        status, errors = server.stop()
        self.assertEqual(status, 0, errors)
        self.assertEqual(names(self.folder), ["before", "large"])

    @unittest.skipIf(os.geteuid() != 0, "only root may mount a small disk")
    def test_a_small_disk(self):
        """503 while it is full; what was acknowledged is stored, also by the next server, once there is room."""
        self.folder.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "xsp", self.folder], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mounting is not permitted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder], check=True)
        (self.folder / "other.bin").write_bytes(bytes(3 << 20))
        server, kept, number = self.server(), [], 0
        connection = server.connect()
        self.addCleanup(connection.close)
        while len(kept) == number:  # until one is refused
            number += 1
            one = request([span(number, name=f"{number:04}", text=os.urandom(10_000).hex())])
            if is_kept(server, one, connection):
                kept.append(f"{number:04}")
        self.assertGreater(len(kept), 10)
        status, headers, body = server.ask(json.dumps(one), JSON)
        self.assertEqual((status, int(headers["Retry-After"]) > 0), (503, True), body)
        server.kill()
        server = self.server()
        self.assertEqual(server.ask(json.dumps(one), JSON)[0], 503)
        (self.folder / "other.bin").unlink()
        server.send(one)
        status, errors = server.stop()
        self.assertEqual(status, 0, errors)
        self.assertEqual(names(self.folder), kept + [f"{number:04}"])
        self.assertEqual(files(self.folder, ".journal"), [])

    def test_files_cannot_be_made(self):
        """Received spans stay in their journal, the status is 3, and the next server stores them."""
        server = self.server()
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        server.send(request([span(1, name="kept")]))
        status, errors = server.stop()
        self.assertEqual(status, 3)
        self.assertIn(".journal", errors)
        self.assertEqual(len(files(self.folder, ".journal")), 1)
        self.assertEqual(files(self.folder), [])
        self.stopped(self.server())
        self.assertEqual(names(self.folder), ["kept"])


@unittest.skipIf(OTLPSpanExporter is None, "the exporter of OpenTelemetry is not installed")
class Sdk(ServeTest):
    def exported(self, server, compression, headers=None, count=3000, **more):
        exporter = OTLPSpanExporter(endpoint=f"{server.about['url']}/v1/traces", compression=compression, headers=headers, **more)
        provider = TracerProvider(resource=Resource.create({"service.name": f"sdk {compression.value}"}))
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=10000, max_export_batch_size=512))
        tracer = provider.get_tracer("test")
        with tracer.start_as_current_span("root"):
            for number in range(count - 1):
                with tracer.start_as_current_span(f"layer {number % 50}") as one:
                    one.set_attribute("xsp.level", "layer")
                    one.set_attribute("n", number)
        provider.shutdown()

    def test_python(self):
        token = self.parent / "token"
        token.write_text("abc")
        server = self.server("--token-file", token)
        for compression in (Compression.NoCompression, Compression.Gzip):
            self.exported(server, compression, headers={"authorization": "Bearer abc"})
        self.stopped(server)
        file, = files(self.folder)
        self.assertEqual(xsp_json("sql", file, "select run_id, count(*) as n, count(parent_id) as p from span group by 1", "--json"),
                         [{"run_id": run, "n": 3000, "p": 2999} for run in (1, 2)])
        self.assertEqual(rows(self.folder, "select count(*) from span where level = 'layer'"), [(2 * 2999,)])


if __name__ == "__main__":
    unittest.main()
