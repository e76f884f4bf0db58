# SPDX-License-Identifier: Apache-2.0
"""The analyses of kernels on real traces: sums equal those of plain SQL. test_random_experiments.py has every figure of
random experiments."""
import collections
import glob
import os
import pathlib
import unittest

import scripted
import trace_reader

FOLDER = trace_reader.data_folder()


@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RealTracesTest(unittest.TestCase):
    """Traces of one observation, where the analyses' sums equal those of plain SQL."""

    def setUp(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "real.xsp"

    def import_file(self, pattern):
        [path] = glob.glob(os.path.join(FOLDER, pattern))
        scripted.xsp("import", path, "-o", self.path, "--force", check=0)

    def sums(self, query):
        return {row["name"]: (row["count"], row["ns"]) for row in scripted.xsp_json("sql", self.path, query, "--json")}

    def added(self, rows, name, latency):
        """{name: (calls, ns)}; a row of A8 is one call."""
        found = collections.defaultdict(lambda: (0, 0))
        for row in rows:
            if row.get("count", 1):
                count, ns = found[row[name]]
                found[row[name]] = (count + row.get("count", 1), ns + round(row[latency] * 1e6))
        return dict(found)

    def test_sums_are_those_of_sql(self):
        for pattern in ("kineto/hta__critical_path__alexnet*", "kineto/hta__critical_path__cuda_event_sync*",
                        "kineto/hta__triton_example*", "nsys/nsys-ai__h100*", "nsys/pipit__saxpy*"):
            with self.subTest(pattern):
                self.import_file(pattern)
                kernels = "from span e where e.kind = 'execution' and e.category = 'kernel' group by 1"
                by_name = self.sums("select e.name, count(*) as count, sum(e.duration_ns) as ns " + kernels)
                a8 = scripted.xsp_json("analyze", "A8", self.path, "--layer", "innermost", "--json")
                self.assertEqual(self.added(a8["rows"], "kernel_name", "latency_ms"), by_name)
                a10 = scripted.xsp_json("analyze", "A10", self.path, "--json")
                self.assertEqual(self.added(a10["rows"], "kernel_name", "latency_ms"), by_name)
                self.assertEqual(a10["summary"]["kernels"], sum(count for count, _ in by_name.values()))
                by_layer = self.sums("select l.name, count(*) as count, sum(e.duration_ns) as ns from span e join span l"
                                     " on l.run_id = e.run_id and l.span_id = e.layer_id where e.kind = 'execution' and"
                                     " e.category = 'kernel' group by 1")
                if not by_layer:
                    scripted.xsp("analyze", "A11", self.path, check=1)
                    continue
                a11 = scripted.xsp_json("analyze", "A11", self.path, "--layer", "innermost", "--json")
                self.assertEqual(self.added(a11["rows"], "layer_name", "kernel_latency_ms"), by_layer)
                outside = sum(ns for _, ns in by_name.values()) - sum(ns for _, ns in by_layer.values())
                self.assertEqual(round(a11["summary"]["kernels_without_layer_ms"] * 1e6), outside)

    def test_what_is_known_of_these_traces(self):
        self.import_file("nsys/nsys-ai__h100*")
        a8 = scripted.xsp_json("analyze", "A8", self.path, "--json")
        self.assertEqual(a8["summary"]["kernels"], 3442)
        self.assertEqual(round(sum(row["latency_ms"] for row in a8["rows"]) * 1e6), 44829522)
        [a15] = scripted.xsp_json("analyze", "A15", self.path, "--json")["rows"]
        self.assertEqual(round(a15["kernel_latency_ms"] * 1e6), 44829522)
        self.assertIsNone(a15["model_latency_ms"])  # no model level
        self.import_file("kineto/hta__critical_path__alexnet*")
        a8 = scripted.xsp_json("analyze", "A8", self.path, "--layer", "innermost", "--json")
        self.assertEqual(a8["summary"]["kernels"], 79)
        self.assertEqual(round(sum(row["latency_ms"] for row in a8["rows"]) * 1e3), 10692)
        for analysis in ("A10", "A15", "A11"):
            answer = scripted.xsp_json("analyze", analysis, self.path, "--json")
            self.assertEqual({row["model_latency_from"] for row in answer["rows"]}, {"M/L/K"}, analysis)
            self.assertEqual({row["latency_from"] for row in answer["rows"]}, {"M/L/K"}, analysis)
            self.assertTrue(any("overhead" in note for note in answer["notes"]))

    def test_tables_shorten_names(self):
        self.import_file("kineto/hta__critical_path__alexnet*")
        text = scripted.xsp("analyze", "A10", self.path, check=0).stdout.decode()
        self.assertIn("at::native::vectorized_elementwise_kernel<…launch_clamp_scalar…>", text)
        self.assertNotIn("float const*", text)
        csv = scripted.xsp("analyze", "A10", self.path, "--format", "csv", check=0).stdout.decode()
        self.assertIn("void at::native::vectorized_elementwise_kernel<4, ", csv)


if __name__ == "__main__":
    unittest.main()
