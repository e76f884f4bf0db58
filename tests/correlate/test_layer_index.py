# SPDX-License-Identifier: Apache-2.0
"""Layers that no source numbered: SQL shows their position, exports and analyses what was recorded."""
import os
import pathlib
import unittest

from otlp import lines, request, span
from scripted import temporary_folder, xsp, xsp_json

INDEXES = ("select s.name, t.value from tag t join span s using (run_id, span_id) where t.key = 'layer_index' "
           "order by t.span_id")


class LayerIndex(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def take(self, spans, name="a"):
        path, out = self.folder / f"{name}.jsonl", self.folder / f"{name}.xsp"
        path.write_text(lines(request(spans, {"xsp.experiment": "e"})))
        xsp("import", path, "-o", out, "--force", check=0)
        return out

    def indexes(self, file):
        return {row["name"]: row["value"] for row in xsp_json("sql", file, INDEXES, "--json")}

    def test_positions_within_observations(self):
        """By start, longer first, then file order; all finished layers count, those with an index of their own too."""
        unfinished = span(8, "open", 450, level="layer")
        del unfinished["endTimeUnixNano"]
        spans = [span(1, "step a", 0, 1000, level="model"), span(2, "step b", 2000, 3000, level="model"),
                 span(3, "late", 500, 600, level="layer"), span(4, "inner", 100, 200, level="layer"),
                 span(5, "twin", 100, 200, level="layer", thread=2), span(6, "outer", 100, 400, level="layer"),
                 span(7, "numbered", 300, 310, level="layer", xsp__layer_index=70), unfinished,
                 span(9, "other step", 2100, 2200, level="layer"), span(10, "outside", 1500, 1600, level="layer")]
        file = self.take(spans)
        self.assertEqual(self.indexes(file), {"outer": 0, "inner": 1, "twin": 2, "numbered": 70, "late": 4, "other step": 0})
        types = xsp_json("sql", file, "select distinct typeof(value) as type from tag where key = 'layer_index'", "--json")
        self.assertEqual(types, [{"type": "integer"}])
        self.assertEqual(xsp_json("sql", file, "select count(*) as n from tag where span_id = 6", "--json"), [{"n": 2}])

    def test_exports_have_what_is_recorded(self):
        file = self.take([span(1, "net", 0, 1000, level="model"), span(2, "conv", 10, 20, level="layer"),
                          span(3, "relu", 30, 40, level="layer", xsp__layer_index=5)])
        exported = self.folder / "exported.jsonl"
        xsp("export", file, "--to", "otlp", "-o", exported, check=0)
        self.assertEqual(exported.read_text().count('"xsp.layer_index"'), 1)
        again = self.folder / "again.xsp"
        xsp("import", exported, "-o", again, check=0)
        self.assertEqual(self.indexes(again), {"conv": 0, "relu": 5})
        for analysis in ("A2", "A6"):
            self.assertEqual(xsp_json("analyze", analysis, again, "--json"), xsp_json("analyze", analysis, file, "--json"))

    def test_layers_without_an_index_are_paired_by_name(self):
        """The second prediction lost its first layer: its "b" is still the other predictions' "b"."""
        spans = []
        for step in range(3):
            spans.append(span(10 * step + 1, "net", 1000 * step, 1000 * step + 900, level="model"))
            if step != 1:
                spans.append(span(10 * step + 2, "a", 1000 * step + 10, 1000 * step + 20, level="layer"))
            spans.append(span(10 * step + 3, "b", 1000 * step + 30, 1000 * step + 70, level="layer"))
        file = self.take(spans)
        rows = xsp_json("analyze", "A2", file, "--json", "--stat", "mean")["rows"]
        self.assertEqual([row["layer_name"] for row in rows], ["a", "b"])
        self.assertAlmostEqual(rows[1]["latency_ms"], 40e-6)

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
    def test_of_a_program(self):
        build = pathlib.Path(os.environ.get("XSP_BUILD", "build")).resolve()
        file = self.folder / "run.xsp"
        xsp("run", "-o", file, "--", build / "examples/annotated", check=0)
        self.assertEqual(self.indexes(file), {"conv1": 0})


if __name__ == "__main__":
    unittest.main()
