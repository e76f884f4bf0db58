# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's SDK for JavaScript as a client of xsp serve: both of its exporters, its compression, its retries."""
import json
import pathlib
import resource
import subprocess
import unittest

from node_packages import node_with_packages
from scripted import TIMEOUT_S, xsp_json
from server import files
from test_serve import ServeTest

CLIENT = pathlib.Path(__file__).parent / "javascript"
FORMS = [(encoding, compression) for encoding in ("http", "proto") for compression in ("none", "gzip")]


class Javascript(ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.node, cls.environment = node_with_packages(CLIENT)

    def start(self, server, encoding, compression, count=3, **more):
        order = {"url": server.about["url"] + "/v1/traces", "encoding": encoding, "compression": compression, "headers": {},
                 "count": count, **more}
        process = subprocess.Popen([*self.node, CLIENT / "client.cjs", json.dumps(order)], env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def ended(self, process):
        """The statuses of all replies, the spans that the SDK had, and what it reported."""
        output, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, errors), (0, ""))
        *statuses, last = output.splitlines()
        return [int(line.removeprefix("status ")) for line in statuses], json.loads(last)

    def stored(self, text):
        return [row for file in files(self.folder) for row in xsp_json("sql", file, text, "--json")]

    def test_spans_are_those_of_the_sdk(self):
        token = self.parent / "token"
        token.write_text("abc")
        server = self.server("--token-file", token)
        had = []
        for encoding, compression in FORMS:
            statuses, ended = self.ended(self.start(server, encoding, compression, headers={"authorization": "Bearer abc"}))
            self.assertEqual((statuses, ended["reported"]), ([200], []))
            had += ended["spans"]
        self.stopped(server)
        self.assertEqual(len(had), 3 * len(FORMS))
        self.check_spans(had)
        self.check_tags(had)
        self.assertEqual(sorted((row["time_ns"], row["message"]) for row in self.stored("select time_ns, message from log")),
                         sorted((int(event["time"]), f"{event['name']} {json.dumps(event['attributes'], separators=(',', ':'))}")
                                for span in had for event in span["events"]))
        self.assertEqual({row["value"] for row in self.stored("select value from note where key = 'service.name'")},
                         {span["resource"]["service.name"] for span in had})

    def check_spans(self, had):
        names = {span["id"]: span["name"] for span in had}
        stored = self.stored("select t.text as trace, s.name, p.name as parent, s.start_ns, s.end_ns, s.level, s.tracer"
                             " from span s join trace t on t.run_id = s.run_id and t.trace_id = s.trace_id"
                             " left join span p on p.run_id = s.run_id and p.span_id = s.parent_id")
        self.assertEqual(sorted(tuple(row.values()) for row in stored if row["parent"]) +
                         sorted(tuple(row.values()) for row in stored if not row["parent"]),
                         sorted(self.row(span, names) for span in had if span["parent"]) +
                         sorted(self.row(span, names) for span in had if not span["parent"]))

    @staticmethod
    def row(span, names):
        return (span["trace"], span["name"], names.get(span["parent"]), int(span["start"]), int(span["end"]),
                span["attributes"]["xsp.level"], span["scope"])

    def check_tags(self, had):
        stored = {}
        for row in self.stored("select t.text as trace, s.name, g.key, g.value from tag g join span s using (run_id, span_id)"
                               " join trace t on t.run_id = s.run_id and t.trace_id = s.trace_id"):
            stored.setdefault((row["trace"], row["name"]), {})[row["key"]] = row["value"]
        for span in had:
            tags = stored[span["trace"], span["name"]]
            with self.subTest(span["name"]):
                if span["name"] == "root":
                    self.assertEqual(tags, {"span.kind": "server"})
                    continue
                attributes = span["attributes"]
                if span["links"]:
                    self.assertIn(span["links"][0], tags.pop("otel.links"))
                if "message" in span["status"]:
                    self.assertEqual(tags.pop("otel.status_description"), span["status"]["message"])
                    self.assertEqual(tags.pop("otel.status_code"), "ERROR")
                self.assertEqual(tags, {"layer_index": attributes["xsp.layer_index"], "ratio": attributes["ratio"],
                                        "on": int(attributes["on"]), "text": attributes["text"],
                                        "shape": json.dumps(attributes["shape"], separators=(",", ":"))})

    def test_many(self):
        """Several requests at a time."""
        server = self.server()
        statuses, _ = self.ended(self.start(server, "proto", "gzip", count=5000))
        self.assertEqual(statuses, [200] * 10)
        self.stopped(server)
        self.assertEqual(self.stored("select count(*) as spans, count(parent_id) as parents from span"),
                         [{"spans": 5000, "parents": 4999}])

    def test_it_sends_again_after_503(self):
        """A limit on the size of files stands for a disk without room. Both exporters share the code that sends."""
        server = self.server()
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        process = self.start(server, "proto", "gzip")
        self.assertEqual(process.stdout.readline(), "status 503\n")
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.assertEqual(self.ended(process)[0], [200])
        self.stopped(server)
        self.assertEqual(self.stored("select count(*) as spans from span"), [{"spans": 3}])

    def test_it_reports_rejected_spans(self):
        server = self.server()
        for encoding in ("http", "proto"):
            with self.subTest(encoding):
                statuses, ended = self.ended(self.start(server, encoding, "none", level="attic"))
                self.assertEqual(statuses, [200])
                self.assertIn("2 unknown level", " ".join(ended["reported"]))
        self.stopped(server)
        self.assertEqual(self.stored("select name from span"), [{"name": "root"}] * 2)


if __name__ == "__main__":
    unittest.main()
