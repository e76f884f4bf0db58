# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate --scenario: queries arrive as they should, figures are those of the spans, and what is refused."""
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import numpy
import yaml
from PIL import Image

import test_evaluate

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
SIDE = test_evaluate.SIDE
NANO = 1e-9


def gaps(qps, count, drawn_before):
    """Distances between arrivals of a Poisson process, by xorshift64*: each query draws its picture, then the distance to the next one."""
    state, mask, found = 0x9e3779b97f4a7c15, (1 << 64) - 1, []
    for number in range(drawn_before + 2 * count):
        state ^= state >> 12
        state = (state ^ state << 25) & mask
        state ^= state >> 27
        if number >= drawn_before and (number - drawn_before) % 2 == 1:
            found.append(-math.log1p(-((state * 2685821657736338717 & mask) >> 11) / 2**53) / qps)
    return found


class ScenarioTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="xsp-scenarios-")
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        cls.output = cls.folder / "out.xsp"
        test_evaluate.model(cls.folder / "net.onnx")
        random = numpy.random.default_rng(5)
        (cls.folder / "set").mkdir()
        for number in range(5):
            Image.fromarray(random.integers(0, 256, (30, 30, 3), numpy.uint8)).save(cls.folder / "set" / f"{number}.png")
        (cls.folder / "net.yml").write_text(yaml.safe_dump({
            "name": "net", "version": 1, "framework": {"name": "onnxruntime"}, "model": {"path": "net.onnx"},
            "inputs": [{"type": "image", "parameters": {"dimensions": [3, SIDE, SIDE]}}], "outputs": [{"type": "feature"}]}))

    def evaluate(self, *arguments, status=0):
        done = subprocess.run([XSP, "evaluate", self.folder / "net.yml", "--data", self.folder / "set", "--json", "-q", "-f", "-o", self.output,
                               "--warmup", "2", *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)[1]["rows"] if status == 0 else done.stderr

    def sql(self, query):
        return json.loads(subprocess.run([XSP, "sql", self.output, query, "--json"], capture_output=True, check=True, timeout=600).stdout)

    def queries(self, scenario):
        """(arrival, start, end) of each, in seconds from the first start."""
        rows = self.sql("select start_ns, duration_ns, (select value from tag where tag.run_id = o.run_id and tag.span_id = o.span_id and "
                        "key = 'wait_ns') as wait from observation as o join note on note.run_id = o.run_id and note.key = 'scenario' "
                        f"and note.value = '{scenario}' where not warmup order by observation")
        base = rows[0]["start_ns"]
        return [((row["start_ns"] - base - (row["wait"] or 0)) * NANO, (row["start_ns"] - base) * NANO,
                 (row["start_ns"] - base + row["duration_ns"]) * NANO) for row in rows]

    def check_figures(self, row):
        queries = self.queries(row["scenario"])
        self.assertEqual(len(queries), row["queries"])
        latencies = [(end - arrival) * 1000 for arrival, _, end in queries]
        for key, percent in (("p50_ms", 50), ("p90_ms", 90), ("p95_ms", 95), ("p97_ms", 97), ("p99_ms", 99), ("p999_ms", 99.9)):
            self.assertAlmostEqual(row[key], numpy.percentile(latencies, percent), 5, key)
        self.assertAlmostEqual(row["latency_ms"], numpy.mean(latencies), 5)
        self.assertAlmostEqual(row["duration_s"], queries[-1][2] - queries[0][0], 6)
        self.assertAlmostEqual(row["samples_per_s"], row["batch"] * len(queries) / row["duration_s"], delta=1e-6 * row["samples_per_s"])
        for (_, _, end), (_, start, _) in zip(queries, queries[1:]):
            self.assertLessEqual(end, start)
        return queries

    def test_one_after_the_other(self):
        began, lasts_s = time.monotonic(), 0.5
        rows = self.evaluate("-s", "single-stream", "-s", "multi-stream", "-s", "offline", "--duration", lasts_s, "--queries", 20, "--batch", 2)
        self.assertGreaterEqual(time.monotonic() - began, 3 * lasts_s)  # a busy machine may begin the first query late, and end the last early
        self.assertEqual([(row["scenario"], row["batch"], row["metric"], row["is_valid"]) for row in rows],
                         [("single-stream", 1, "p90_ms", True), ("multi-stream", 8, "p99_ms", True), ("offline", 2, "samples_per_s", True)])
        for row, key in zip(rows, ("p90_ms", "p99_ms", "samples_per_s"), strict=True):
            self.check_figures(row)
            self.assertEqual(row["value"], row[key])
            self.assertGreaterEqual(row["queries"], 20)
        self.assertEqual({row["batch_size"] for row in self.sql("select distinct batch_size from run")}, {1, 2, 8})
        answer = json.loads(subprocess.run([XSP, "analyze", "A1", self.output, "--json"], capture_output=True, check=True, timeout=600).stdout)
        self.assertEqual([row["batch_size"] for row in answer["rows"]], [2])
        self.assertEqual(answer["run_set"]["observations"], 3)  # five pictures, in twos: no query of a scenario

    def test_a_server_gets_them_as_a_poisson_process(self):
        row, = self.evaluate("-s", "server", "--qps", 500, "--duration", 0.1, "--queries", 459, "--latency-bound", 1e6)
        queries = self.check_figures(row)
        self.assertEqual((row["qps"], row["value"], row["metric"], row["is_valid"]), (500, 500, "qps", True))
        arrivals = [arrival for arrival, _, _ in queries]
        wanted = gaps(500, len(queries) - 1, drawn_before=2)  # the pictures of two warm-ups
        for before, after, gap in zip(arrivals, arrivals[1:], wanted):
            self.assertAlmostEqual(after - before, gap, delta=50e-6)
        for arrival, start, _ in queries:
            self.assertGreaterEqual(start, arrival)
        self.assertAlmostEqual(row["wait_ms"], numpy.mean([start - arrival for arrival, start, _ in queries]) * 1000, 5)
        waited = [start - before for (_, _, before), (arrival, start, _) in zip(queries, queries[1:]) if arrival < before]
        self.assertAlmostEqual(row["queue_gap_ms"], numpy.mean(waited) * 1000, 5)
        for count, bound_ms in ((459, 1e-6), (458, 1e6)):  # late; without a late one, MLPerf takes 459
            row, = self.evaluate("-s", "server", "--qps", 2000, "--duration", 0, "--queries", count, "--latency-bound", bound_ms)
            self.assertFalse(row["is_valid"])

    def test_the_most_that_keeps_to_the_bound(self):
        row, = self.evaluate("-s", "server", "--duration", 0, "--queries", 459, "--latency-bound", 100000)
        self.assertTrue(row["is_valid"])
        tried = [float(one["value"]) for one in self.sql("select value from note where key = 'scenario_qps' order by run_id")]
        self.assertEqual(len(tried), 7)
        self.assertEqual(row["qps"], max(tried))  # all kept to the bound
        # Halfway to as many as follow each other without a gap, then half of what is left, and so on.
        for step, qps in enumerate(tried, 1):
            self.assertAlmostEqual(qps, 2 * tried[0] * (1 - 0.5 ** step), delta=1e-9 * qps)
        closed = self.sql("select sum(duration_ns) as ns, count(*) as n from observation where not warmup and run_id = "
                          "(select min(run_id) from note where key = 'scenario')")[0]
        self.assertEqual(closed["n"], 64)
        self.assertLess(2 * tried[0], closed["n"] / (closed["ns"] * NANO))  # each is asked for and answered, too
        self.assertNotIn("qps_upper", row)
        row, = self.evaluate("-s", "server", "--duration", 0, "--queries", 20, "--latency-bound", 1e-6)
        tried = [float(one["value"]) for one in self.sql("select value from note where key = 'scenario_qps' order by run_id")]
        self.assertFalse(row["is_valid"])
        self.assertEqual(row["qps_upper"], min(tried))

    def test_figures_are_kept(self):
        row, = self.evaluate("-s", "offline", "--duration", 0, "--queries", 3)
        kept = {one["key"]: one["value"] for one in self.sql("select key, value from evaluation where key like 'offline.%'")}
        self.assertEqual((kept["offline.metric"], kept["offline.queries"], kept["offline.is_valid"]), ("samples_per_s", 3, 1))
        self.assertEqual(kept["offline.value"], row["value"])

    def test_a_fixed_batch_size(self):
        """A scenario of other queries is refused before a picture is evaluated."""
        test_evaluate.model(self.folder / "fixed.onnx", batch=1)
        manifest = self.folder / "fixed.yml"
        manifest.write_text((self.folder / "net.yml").read_text().replace("net.onnx", "fixed.onnx"))
        arguments = [XSP, "evaluate", manifest, "--data", self.folder / "set", "--json", "-q", "-o", self.folder / "fixed.xsp", "--duration", "0"]
        refused = subprocess.run([*arguments, "-s", "single-stream", "-s", "multi-stream"], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual((refused.returncode, refused.stdout, len(refused.stderr.splitlines())), (2, "", 1), refused.stderr)
        self.assertIn("multi-stream: its queries are of 8 pictures", refused.stderr)
        self.assertEqual(list(self.folder.glob("fixed.xsp*")), [])
        done = subprocess.run([*arguments, "-s", "single-stream", "--queries", "3"], capture_output=True, check=True, timeout=600)
        self.assertTrue(json.loads(done.stdout)[1]["rows"][0]["is_valid"])

    def test_wrong_use(self):
        for arguments, reason in ((("-s", "batch"), "single-stream, multi-stream, server or offline"), (("-s", "server", "--qps", "0"), "qps"),
                                  (("-s", "server", "--queries", "0"), "queries"), (("--samples", "0"), "samples"),
                                  (("-s", "offline") * 5, "more than 4")):
            self.assertIn(reason, self.evaluate(*arguments, status=2))


if __name__ == "__main__":
    unittest.main()
