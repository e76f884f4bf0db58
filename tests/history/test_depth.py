# SPDX-License-Identifier: Apache-2.0
"""Tables IX and X of the XSP paper, entered as files, come back from a history of them, and from T9 and T10 alike."""
import math
import sqlite3
import unittest
import xml.etree.ElementTree

import paper_depth
import scripted
from history_files import HistoryTest, write
from scripted import xsp_json
from site_files import HOSTILE, Page

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

    def test_rooflines(self):
        """A point for each model, on or below the roof in the picture; the same on the site's page."""
        for row in paper_depth.TABLE_IX:
            paper_depth.write_tensorflow(row, self.files)
        path = self.folder / "roofline.svg"
        self.assertIn(f"xsp: wrote {path}", self.run_xsp("history", self.files, "--plot", "roofline", "-o", path).stderr)
        self.refused("exists", "history", self.files, "--plot", "roofline", "-o", path)
        self.assertEqual(self.run_xsp("history", self.files, "--plot", "roofline", "-o", "-").stdout, path.read_text())
        root = xml.etree.ElementTree.parse(path).getroot()
        name = "{http://www.w3.org/2000/svg}"
        roof, = (line.get("points") for line in root.iter(f"{name}polyline"))
        (left, low), (corner, top), (_, end) = [tuple(map(float, point.split(","))) for point in roof.split()]
        points = [(float(circle.get("cx")), float(circle.get("cy"))) for circle in root.iter(f"{name}circle") if circle.find(f"{name}title") is not None]
        self.assertEqual((len(points), top), (len(paper_depth.TABLE_IX), end))
        for x, y in points:  # y grows downwards
            self.assertGreater(y, top if x > corner else low + (top - low) * (x - left) / (corner - left))
        titles = [circle.findtext(f"{name}title") for circle in root.iter(f"{name}circle")]
        alexnet, = (title for title in titles if title and "AlexNet" in title)
        *_, intensity, throughput, _ = next(row for row in paper_depth.TABLE_IX if paper_depth.NAMES[row[0]].startswith("BVLC AlexNet"))
        found = alexnet.split(": ")[1].split(", ")
        self.assertTrue(math.isclose(float(found[1].split()[0]), intensity, rel_tol=0.01), alexnet)
        self.assertTrue(math.isclose(float(found[2].split()[0]), throughput * 1000, rel_tol=0.01), alexnet)
        self.run_xsp("publish", self.folder / "site", self.files, "--without-reports")
        page = Page(self.folder / "site" / "index.html")
        self.assertEqual(sum(tag == "polyline" for tag, _ in page.tags), 1)
        self.assertEqual(len(page.tables["depth"]), 1 + len(paper_depth.TABLE_IX))

    def test_a_trace_without_batch_sizes(self):
        """As most imports: its kernels are of no known batch size. The list does not have the figures."""
        path = scripted.asynchronous().write(self.files / "a.xsp")
        row, = self.rows(path, "--table", "depth")
        self.assertEqual((row["batch"], row["model"]), (1, "async"))
        self.assertGreater(row["kernel_latency_ms"], 0)
        script = scripted.Script()
        script.experiment("plain")
        script.run(1, "M/K", 0)
        script.track(1)
        script.span("step", scripted.UNIX_START, 10_000)
        script.span("kernel", scripted.UNIX_START + 100, 5_000, "kernel", category="kernel")
        row, = self.rows(script.write(self.files / "b.xsp"), "--table", "depth")
        self.assertEqual((row["batch"], row["kernel_latency_ms"]), (None, 0.005))
        self.assertEqual([key for key in self.rows(path)[0] if key.startswith("depth")], [])

    def test_heat_map(self):
        self.zoo()
        svg = self.run_xsp("history", self.files, "--plot", "systems", "--framework", "openvino", "--model", "resnet").stdout
        name = "{http://www.w3.org/2000/svg}"
        root = xml.etree.ElementTree.fromstring(svg)
        self.assertEqual([cell.get("class") for cell in root.iter(f"{name}rect") if cell.get("class")], ["slower3"] * 3)
        texts = [text.text for text in root.iter(f"{name}text")]
        self.assertEqual(texts, ["relative to alpha", "beta", "resnet, openvino, batch 1", "3", "resnet, openvino, batch 2", "3",
                                 "resnet, openvino, batch 4", "3"])
        self.refused("two hosts", "history", self.files, "--plot", "systems", "--system", "beta", status=1)

    def test_roofs_of_several_hosts(self):
        """A roof has the name of its host, and none where it is that of several."""
        labels = []
        for number, host in enumerate(("alpha", "alpha", "beta", "alpha")):
            before = set(self.files.iterdir())
            paper_depth.write_tensorflow(paper_depth.TABLE_IX[number], self.files)
            for path in set(self.files.iterdir()) - before:
                with sqlite3.connect(path) as database:
                    database.execute("insert or replace into system values (1, 'host', ?)", (host,))
                database.close()
            root = xml.etree.ElementTree.fromstring(self.run_xsp("history", self.files, "--plot", "roofline").stdout)
            label, = {title.text for title in root.iter("{http://www.w3.org/2000/svg}title") if title.text.startswith("roof")}
            labels.append(label.split(":")[0])
        self.assertEqual(labels, ["roof on alpha", "roof on alpha", "roof", "roof"])

    def test_times_of_a_few_seconds_have_labels_of_their_own(self):
        for seconds in (0.5, 3):
            for number in range(2):
                write(self.files / f"{number}.xsp", [3.0] * 9, number * seconds / 86400)
            root = xml.etree.ElementTree.fromstring(self.run_xsp("history", self.files, "--plot", "time").stdout)
            labels = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.text.startswith("10-09")]
            self.assertEqual((len(labels), len(set(labels))), (4, 4), labels)

    def test_plots_of_strangers_and_none(self):
        for number, name in enumerate(HOSTILE):
            write(self.files / f"{number}.xsp", [3.0] * 9, name=name[:200], batch=number + 1)
        root = xml.etree.ElementTree.fromstring(self.run_xsp("history", self.files, "--plot", "batches").stdout)
        self.assertEqual({element.tag.split("}")[1] for element in root.iter()},
                         {"svg", "title", "style", "rect", "line", "text", "polyline", "circle"})
        for plot, table in {"accuracy": "models", "throughput": "list", "roofline": "depth", "time": "series", "systems": "systems"}.items():
            self.refused(f"--table {table} ", "history", self.files, "--plot", plot, status=1)
        self.refused("--plot=none", "history", self.files, "--plot", "none")
        self.refused("-o", "history", self.files, "-o", self.folder / "x.svg")


if __name__ == "__main__":
    unittest.main()
