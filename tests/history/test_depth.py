# SPDX-License-Identifier: Apache-2.0
"""Tables IX and X of the XSP paper, entered as files, come back from a history of them, and from T9 and T10 alike."""
import unittest

import paper_depth
from history_files import HistoryTest
from scripted import xsp_json

COLUMNS = ("latency_ms", "gpu_pct", "flops", "dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct", "arithmetic_intensity",
           "arithmetic_throughput_flops_per_s", "bound", "precision", "peak_flops_per_s", "memory_bandwidth_bytes_per_s")


class Papers(HistoryTest):
    def test_models_in_depth(self):
        for row in paper_depth.TABLE_IX:
            paper_depth.write_tensorflow(row, self.files)
        rows = {row["model"]: row for row in self.rows(self.files, "--table", "depth")}
        self.assertEqual(list(rows), sorted(rows))
        expected = {row["model_name"]: row for row in xsp_json("analyze", "T9", self.files, "--json")["rows"]}
        self.assertEqual({name: (row["batch"], *(row[key] for key in COLUMNS)) for name, row in rows.items()},
                         {name: (row["batch_size"], *(row[key] for key in COLUMNS)) for name, row in expected.items()})
        for number, latency, gpu, gflop, *_, bound in paper_depth.TABLE_IX:
            row = rows[paper_depth.NAMES[number]]
            self.assertEqual((row["batch"], row["bound"]), (paper_depth.TABLE_VIII[number][2], bound))
            for found, printed in ((row["latency_ms"], latency), (row["gpu_pct"], gpu), (row["flops"], gflop * 1e9)):
                self.assertAlmostEqual(found / printed, 1, 5)

    def test_framework_against_framework(self):
        for row in paper_depth.TABLE_X:
            paper_depth.write_pair(row, self.files)
        rows = {row["model"]: row for row in self.rows(self.files, "--table", "frameworks", "--base", "TensorFlow")}
        self.assertEqual(len(rows), len(paper_depth.TABLE_X))
        for number, online, batch, maximum, gpu, *_, bound in paper_depth.TABLE_X:
            row = rows[paper_depth.NAMES[number]]
            self.assertEqual((row["framework"], row["base_framework"], row["optimal_batch"], row["bound"], round(row["base_gpu_pct"], 3)),
                             ("MXNet", "TensorFlow", batch, bound, 90))
            for found, printed in ((row["normalized_online_latency"], online), (row["normalized_maximum_throughput"], maximum),
                                   (row["gpu_pct"], gpu)):
                self.assertAlmostEqual(found / printed, 1, 4)
        reverse = self.rows(self.files, "--table", "frameworks", "--base", "mxnet")
        self.assertEqual([row["framework"] for row in reverse], ["TensorFlow"] * len(rows))
        self.refused("'JAX'", "history", self.files, "--table", "frameworks", "--base", "JAX")


if __name__ == "__main__":
    unittest.main()
