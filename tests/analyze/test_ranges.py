# SPDX-License-Identifier: Apache-2.0
"""The analysis `ranges`: figures of a scripted program by hand, whose runs count, and files of services, which have no model."""
import json
import pathlib
import statistics
import unittest

import scripted
from scripted import UNIX_START, Script, xsp, xsp_json

MS = 1_000_000


class RangesTest(unittest.TestCase):
    def setUp(self):
        self.folder = scripted.temporary_folder()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "ranges.xsp"

    def rows(self, *options):
        return xsp_json("analyze", "ranges", self.path, "--json", *options)["rows"]

    def program(self, levels=("A/M",), lengths=(1, 2, 3, 4, 100), cold=()):
        """`load` of these lengths, each with `read` of half of it inside, and a call of a library; a process, an open span and a step are no ranges.
        `cold`: runs whose steps are first inferences of fresh processes."""
        script = Script()
        script.experiment()
        for run, one in enumerate(levels, 1):
            script.run(run, one, 1)
            script.track(1, "main", run_id=run)
            script.span("python3 train.py", UNIX_START, 10_000 * MS, "application", run_id=run, category="program")
            for number, length in enumerate(lengths):
                start = UNIX_START + 1000 * number * MS
                script.span("training step", start, 500 * MS, run_id=run, tags={"warmup": 1, "cold": 1} if run in cold else ())
                script.span("load", start, length * MS, "application", run_id=run)
                script.span("read", start, length * MS // 2, "application", run_id=run)
                script.span("gemm", start + 400 * MS, MS, "library", run_id=run)
        return script.write(self.path)

    def test_figures(self):
        self.program()
        load, read, gemm = self.rows()
        values = [1, 2, 3, 4, 100]
        percentiles = statistics.quantiles(values, n=100, method="inclusive")
        self.assertEqual((load["name"], load["level"], load["count"], load["service"]), ("load", "application", 5, None))
        for key, value in (("total_ms", 110), ("self_ms", 55), ("mean_ms", 22), ("p50_ms", 3), ("p95_ms", percentiles[94]),
                           ("p99_ms", percentiles[98])):
            self.assertAlmostEqual(load[key], value, msg=key)
        self.assertEqual((read["name"], read["level"], read["total_ms"], read["self_ms"]), ("read", "application", 55, 55))
        self.assertEqual((gemm["name"], gemm["level"], gemm["count"], gemm["total_ms"]), ("gemm", "library", 5, 5))

    def test_runs_at_fewer_levels_are_the_same_work_again(self):
        self.program(("A/M", "A/M/Lib"))
        self.assertEqual([row["count"] for row in self.rows()], [5, 5, 5])

    def test_first_inferences_of_fresh_processes_are_not_pooled(self):
        self.program(("A/M", "A/M"), cold=(2,))
        self.assertEqual([row["count"] for row in self.rows()], [5, 5, 5])
        self.program(("A/M", "A/M/Lib"), cold=(1,))
        self.assertEqual([row["count"] for row in self.rows("--cold")], [5, 5, 5])
        self.assertEqual(xsp_json("analyze", "ranges", self.path, "--json", "--cold")["run_set"]["run_ids"], [1])

    def test_top_and_sort(self):
        self.program()
        self.assertEqual([row["name"] for row in self.rows("--top", "1")], ["load"])
        self.assertEqual([row["name"] for row in self.rows("--sort", "self_ms", "--top", "2")], ["load", "read"])

    def test_without_ranges(self):
        self.program(lengths=())
        result = xsp("analyze", "ranges", self.path, check=1)
        self.assertIn(b"no range", result.stderr)

    def services(self, *more):
        def spans(name, lengths, first, instance="1"):
            attributes = {"service.name": name, "service.instance.id": instance}
            return {"resource": {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]},
                    "scopeSpans": [{"spans": [
                {"traceId": "1" * 32, "spanId": f"{first + number:016x}", "name": "GET /", "startTimeUnixNano": str(UNIX_START),
                 "endTimeUnixNano": str(UNIX_START + length * MS)} for number, length in enumerate(lengths)]}]}
        source = self.path.with_suffix(".json")
        source.write_text(json.dumps({"resourceSpans": [spans(*one) for one in (("shop", (10, 20, 30), 1), ("stock", (5,), 9), *more)]}))
        xsp("import", source, "-o", self.path, check=0)

    def test_services_are_told_apart(self):
        self.services()
        self.assertEqual([(row["service"], row["name"], row["count"], row["p50_ms"]) for row in self.rows()],
                         [("shop", "GET /", 3, 20), ("stock", "GET /", 1, 5)])

    def test_instances_of_a_service_are_one_row(self):
        self.services(("shop", (60, 70), 20, "2"))
        self.assertEqual([(row["service"], row["count"], row["p50_ms"]) for row in self.rows()], [("shop", 5, 30), ("stock", 1, 5)])

    def test_children_on_no_thread_are_no_time_of_their_parents(self):
        """What several cover at once counts once, and what comes after the parent's end not at all."""
        times = {"GET /": (0, 100, None), "read": (10, 40, 1), "write": (30, 60, 1), "log": (90, 130, 1), "disk": (15, 20, 2)}
        spans = [{"traceId": "1" * 32, "spanId": f"{number:016x}", "name": name, "startTimeUnixNano": str(UNIX_START + start * MS),
                  "endTimeUnixNano": str(UNIX_START + end * MS), **({"parentSpanId": f"{parent:016x}"} if parent else {})}
                 for number, (name, (start, end, parent)) in enumerate(times.items(), 1)]
        source = self.path.with_suffix(".json")
        source.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
        xsp("import", source, "-o", self.path, check=0)
        self.assertEqual({row["name"]: row["self_ms"] for row in self.rows()}, {"GET /": 40, "read": 25, "write": 30, "log": 40, "disk": 5})

    def test_the_summary_of_a_file_without_models_has_them(self):
        """No dead end: neither an error nor advice that does not suit a service."""
        self.services()
        result = xsp("analyze", self.path, check=0)
        self.assertNotIn(b"cannot answer", result.stderr)
        self.assertIn(b"stock", result.stdout)
        summary = xsp_json("analyze", self.path, "--json")
        self.assertEqual([row["service"] for row in summary["ranges"]["rows"]], ["shop", "stock"])
        self.program()
        self.assertNotIn("ranges", xsp_json("analyze", self.path, "--json"))


if __name__ == "__main__":
    unittest.main()
