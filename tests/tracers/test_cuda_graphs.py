# SPDX-License-Identifier: Apache-2.0
"""Executions of CUDA graphs have the call path of the code that made their nodes, in every version, on a simulated GPU."""
import itertools
import json
import os
import pathlib
import re
import subprocess
import unittest

import cuda_simulator as gpu
from cuda_runs import MODES, CudaTest
from device_runs import UNSANITIZED, XSP

NODES = """
    select s.name, f.name as layer, p.name as caller, p.line,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'grid') as grid,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'graph_node') as node
    from span s left join context c using (context_id) left join frame f using (frame_id)
      left join context up on up.context_id = c.parent_id left join frame p on p.frame_id = up.frame_id
    where s.kind = 'execution' and s.category <> 'sync' order by s.start_ns"""


def documented(beginning):
    """The SQL of docs/importers.md that begins so."""
    lines = (pathlib.Path(os.environ["XSP_SOURCE"]) / "docs" / "importers.md").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.strip().startswith(beginning))
    return "\n".join(itertools.takewhile(str.strip, lines[first:]))


class GraphsTest(CudaTest):
    def table(self, analysis):
        done = subprocess.run([XSP, "analyze", analysis, self.out, "--json"], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)["rows"]

    @UNSANITIZED
    def test_nodes_have_the_path_of_their_maker(self):
        for version in gpu.VERSIONS:
            with self.subTest(version):
                self.traced("graph", version, preload=gpu.PLACE / "path_provider.so")
                rows = self.sql(NODES)
                outside = [row for row in rows if row["node"] is None]
                self.assertEqual([row["layer"] for row in outside], [None] * len(outside))
                nodes = {row["node"]: row for row in rows if row["node"] is not None}
                self.assertEqual(len([row for row in rows if row["node"] is not None]), len(nodes) * MODES["graph"])
                self.assertEqual({(row["caller"], row["line"]) for row in nodes.values()}, {("capture", 7)})
                layer = {node: int(re.fullmatch(r"layer (\d+)", row["layer"])[1]) for node, row in nodes.items()}
                self.assertEqual(len(set(layer.values())), len(nodes))  # each its own
                # The graph made by hand: its six nodes were made one after the other, with grids 1 to 6.
                by_hand = sorted((layer[node], row["grid"]) for node, row in nodes.items() if row["name"] == "vector_add")[-6:]
                first = by_hand[0][0]
                self.assertEqual(by_hand, [(first + i, f"[{i + 1},1,1]") for i in range(6)])

    @UNSANITIZED
    def test_nodes_are_made_in_layers(self):
        """The statement of docs/importers.md: three launches of a graph with one, two and three kernels of a layer."""
        for version in gpu.VERSIONS:
            with self.subTest(version):
                environment = self.environment(version, "")
                self.start((XSP, "run", "-f", "-t", "cuda,nvtx", "-o", self.out, "--"), "captured", environment)
                rows = self.sql(documented("with made as").replace("sum(k.duration_ns) as ns", "count(*) as kernels"))
                self.assertEqual({row["name"]: row["kernels"] for row in rows}, {"layer 0": 3, "layer 1": 6, "layer 2": 9})

    @UNSANITIZED
    def test_kernels_are_of_the_layer_that_captured_them(self):
        """Steps launch a graph of three layers, which were captured before the first step, from a layer of their own."""
        for version in gpu.VERSIONS:
            with self.subTest(version):
                command = (XSP, "run", "-f", "-t", "cuda,nvtx", "--model-range", "step *", "-o", self.out, "--")
                self.start(command, "replayed", self.environment(version, ""))
                calls, layers = self.table("A8"), self.table("A11")
                self.assertEqual([(row["layer_name"], row["launched_by"]) for row in calls],
                                 [(f"layer {i}", "replay") for i in (0, 1, 1, 2, 2, 2)])
                self.assertEqual([(row["layer_name"], row.get("launched_by"), row["count"]) for row in layers],
                                 [("replay", None, 0), ("layer 0", "replay", 1), ("layer 1", "replay", 2), ("layer 2", "replay", 3)])
                self.assertAlmostEqual(sum(row["kernel_latency_ms"] for row in layers), sum(row["latency_ms"] for row in calls))
                self.assertEqual([row["layer_name"] for row in self.table("A2")], ["replay"])

    def test_without_a_provider_there_is_none(self):
        self.traced("graph")
        self.assertEqual(self.sql("select name from span where context_id is not null"), [])


if __name__ == "__main__":
    unittest.main()
