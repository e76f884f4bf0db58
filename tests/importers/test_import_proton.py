# SPDX-License-Identifier: Apache-2.0
"""Trees of Triton's profiler Proton: scopes and kernels with sums of times."""
import json
import os
import unittest

from imported import Imported
from scripted import xsp


def node(name, *children, **metrics):
    return {"children": list(children), "frame": {"name": name, "type": "function"},
            "metrics": {key.replace("time_ns", "time (ns)"): value for key, value in metrics.items()}}


MATMUL = node("matmul_kernel", count=10, device_id="0", device_type="CUDA", flops16=2_000_000, bytes=4096, time_ns=1500)
TREE = [node("ROOT", node("aten::linear", MATMUL, node("relu", count=2, time_ns=500.0)), node("load", node("copy", time_ns=7)),
             node("idle", score=0.5), count=0, time_ns=0), {"CUDA": {"0": {"arch": "90", "num_sms": 132}}}]


class Proton(Imported):
    def test_a_tree(self):
        report, spans = self.load(TREE)
        self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]), ("proton", {"root of a tree": 2}))
        named = {span["name"]: span for span in spans}
        self.assertEqual({name: (span["level"], span["start_ns"], span["duration_ns"]) for name, span in named.items()}, {
            "aten::linear": ("layer", 0, 2000), "matmul_kernel": ("kernel", 0, 1500), "relu": ("kernel", 1500, 500),
            "load": ("application", 2000, 7), "copy": ("kernel", 2000, 7), "idle": ("application", 2007, 0)})
        matmul = named["matmul_kernel"]
        self.assertEqual(matmul["tags"], {"count": 10, "flops_half": 2_000_000, "bytes": 4096})
        self.assertEqual((matmul["parent_id"], matmul["basis"]), (named["aten::linear"]["span_id"], "explicit"))
        self.assertEqual(named["copy"]["parent_id"], named["load"]["span_id"])
        self.assertEqual(named["idle"]["tags"], {"score": 0.5})

    def test_numbers_of_executions_come_back_by_pprof(self):
        self.load(TREE)
        profile = os.path.join(self.folder, "net.pb.gz")
        xsp("export", self.out, "-o", profile, check=0)
        _, spans = self.load_files(profile)
        counts = {span["name"]: span["tags"]["count"] for span in spans}
        self.assertEqual((counts["matmul_kernel"], counts["relu"]), (10, 2))
        self.assertNotIn("tag.count", {key for span in spans for key in span["tags"]})

    def test_a_scope_with_time_of_its_own(self):
        _, spans = self.load([node("ROOT", node("graph", MATMUL, time_ns=100))])
        self.assertEqual([(s["name"], s["level"], s["start_ns"], s["duration_ns"], s["parent_id"]) for s in spans],
                         [("graph", "application", 0, 1600, None), ("graph", "kernel", 0, 100, 1), ("matmul_kernel", "kernel", 100, 1500, 1)])

    def test_a_metric_without_a_name(self):
        _, (span,) = self.load([node("ROOT", node("a", **{"": 4, "time_ns": 3}))])
        self.assertEqual(span["tags"], {})

    def test_what_cannot_be_read(self):
        text = json.dumps(TREE)
        self.refuse(text[:-1], mentions=["byte"])
        self.refuse(text.replace('"children": []', '"children": [7]', 1), mentions=["byte"])
        deep = node("leaf", time_ns=1)
        for _ in range(70):
            deep = node("scope", deep)
        self.refuse([deep], mentions=["nested too deep"])
        self.refuse([node("ROOT", node("a", time_ns=1 << 62), node("b", time_ns=1 << 62))], mentions=["64 bits"])


if __name__ == "__main__":
    unittest.main()
