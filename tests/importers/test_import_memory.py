# SPDX-License-Identifier: Apache-2.0
"""Allocations in PyTorch traces: alloc_bytes of the innermost operator around each, A4 and A7 over them."""
import collections
import glob
import gzip
import json
import os
import unittest

from test_import_kineto import FOLDER, Case, event, import_file, operator, rows
from scripted import xsp_json


def memory(ts, size, tid=100, **arguments):
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": tid, "ts": ts,
            "args": {"Device Type": 0, "Device Id": -1, "Bytes": size, **arguments}}


class Memory(Case):
    def allocated(self):
        return {row["name"]: row["value"] for row in rows(
            self.out, "select name, value from tag join span using (run_id, span_id) where key = 'alloc_bytes'")}

    def test_the_innermost_operator_of_the_thread(self):
        self.load([
            event("user_annotation", "step", 0, 1000), operator("outer", 100, 100), operator("inner", 120, 20),
            operator("next", 140, 10), operator("none", 300, 10), operator("elsewhere", 100, 100, tid=7),
            event("cuda_runtime", "cudaMalloc", 160, 10, correlation=1),
            memory(110, 1), memory(125, 2), memory(139, 4), memory(140, 8),  # at 140 inner ends, and next begins
            memory(165, 16),  # in a call of outer
            memory(200, 32), memory(150, -4096), memory(500, 64), memory(130, 1024, tid=7), memory(130, 0)])
        self.assertEqual(self.allocated(), {"outer": 1 + 16 + 32, "inner": 2 + 4, "next": 8, "none": 0, "elsewhere": 1024})
        file, = self.report["files"]
        self.assertEqual(file["skipped"], {"memory freed": 2, "memory allocated outside operators": 1})
        self.assertEqual((file["events"], file["kept"]), (17, 7 + 7))

    def test_crossing_operators(self):
        self.load([operator("a", 0, 100), operator("b", 50, 100), memory(60, 1), memory(120, 2), memory(200, 4)])
        self.assertEqual(self.allocated(), {"a": 0, "b": 3})

    def test_traces_without_memory_have_no_tags(self):
        self.load([operator("a", 0, 100), {"ph": "i", "name": "[memory]", "pid": 100, "tid": 100, "ts": 5, "args": {}}])
        self.assertEqual(self.allocated(), {})
        self.assertEqual(self.report["files"][0]["skipped"], {"instant": 1})

    def test_bytes_beyond_64_bits(self):
        self.load([operator("a", 0, 100), memory(1, 2**62), memory(2, 2**62), memory(3, 2**62), memory(4, 2**70)])
        self.assertEqual(self.allocated(), {"a": 2**63 - 1})

    def test_layers_count_what_is_allocated_in_them(self):
        """aten::conv2d allocates 5 bytes itself and 100 in aten::empty; aten::relu 20 of type relu."""
        self.load([event("user_annotation", "ProfilerStep#1", 0, 1000), operator("aten::conv2d", 100, 100),
                   operator("aten::empty", 120, 20), operator("aten::relu", 300, 50), memory(110, 5), memory(130, 100),
                   memory(310, 20)])
        answer = xsp_json("analyze", "A4", self.out, "--json")
        self.assertEqual([(row["layer_name"], row["alloc_bytes"]) for row in answer["rows"]],
                         [("aten::conv2d", 105), ("aten::relu", 20)])
        answer = xsp_json("analyze", "A7", self.out, "--layer", "innermost", "--json")
        self.assertEqual([(row["layer_type"], row["alloc_bytes"], row["alloc_pct"]) for row in answer["rows"]],
                         [("aten::empty", 100, 80), ("aten::relu", 20, 16), ("aten::conv2d", 5, 4)])


@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RealMemory(Case):
    def test_resnet50(self):
        """Six steps of training ResNet-50 by PyTorch: each allocation is given to the operator that a search over all
        operators of its thread finds."""
        path, = glob.glob(os.path.join(FOLDER, "kineto", "kineto__tb_plugin__samples__resnet50*.gz"))
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
        operators = collections.defaultdict(list)
        for one in events:
            if one.get("ph") == "X" and one["cat"] == "Operator" and not one["name"].startswith("ProfilerStep#"):
                operators[str(one["tid"])].append((one["ts"], one["ts"] + one["dur"], one["name"]))
        expected, total, outside = collections.Counter(), 0, 0
        allocations = [one for one in events if one["name"] == "[memory]" and one["args"]["Bytes"] > 0]
        for one in allocations:
            around = [o for o in operators[str(one["tid"])] if o[0] <= one["ts"] <= o[1]]
            outside += not around
            if around:
                expected[max(around, key=lambda o: (o[0], -o[1]))[2]] += one["args"]["Bytes"]
                total += one["args"]["Bytes"]
        report, out = import_file(path, self.folder.name)
        self.assertEqual(report["files"][0]["skipped"]["memory freed"], 12838 - len(allocations))
        self.assertEqual(report["files"][0]["skipped"].get("memory allocated outside operators", 0), outside)
        found = {row["name"]: row["bytes"] for row in rows(
            out, "select name, sum(value) as bytes from tag join span using (run_id, span_id) where key = 'alloc_bytes' "
                 "group by 1 having bytes > 0")}
        self.assertEqual(found, dict(expected))
        self.assertEqual(sum(found.values()), total)
        answer = xsp_json("analyze", "A4", "A7", out, "--stat", "mean", "--json")
        by_step = rows(out, """with recursive input(id) as (select span_id from span where name like 'enumerate(DataLoader)%'
            union all select span_id from span join input on parent_id = id) select observation, sum(value) as bytes from tag
            join span using (run_id, span_id) where key = 'alloc_bytes' and observation is not null and span_id not in
            (select id from input) group by 1""")  # operators of the loader are no layers
        mean = sum(row["bytes"] for row in by_step) / len(by_step)
        self.assertGreater(mean, 1e9)
        for one in answer:
            self.assertAlmostEqual(sum(row["alloc_bytes"] or 0 for row in one["rows"]) / mean, 1, places=9)


if __name__ == "__main__":
    unittest.main()
