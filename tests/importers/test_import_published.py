# SPDX-License-Identifier: Apache-2.0
"""Published files and small cases: totals as an independent reader computes them."""
import json
import os
import unittest

from imported import Imported, real_file
from scripted import xsp, xsp_json

US = 1000


class Published(Imported):
    def load_case(self, name):
        """The report; {span: (µs, its parent)}."""
        report = xsp_json("import", real_file("cases", name + ".json"), "-o", self.out, "--force", "--json")
        rows = self.rows("select s.name, s.duration_ns, p.name as parent from span s left join span p on p.run_id = s.run_id and"
                         " p.span_id = s.parent_id order by s.run_id, s.span_id")
        return report, {row["name"]: (row["duration_ns"] / US, row["parent"]) for row in rows}

    def notes(self, report):
        return " ".join(report["files"][0]["notes"])

    # ---- published files

    def test_a_profile_of_eight_gpus(self):
        """Two compute; lines that repeat others by operator or scope do not count again."""
        report, _ = self.load_files(real_file("xplane", "xprof__demo_GPU-multi-worker.xplane.pb"))
        self.assertEqual(self.rows("select t.device_id as d, t.name, count(*) as n, sum(duration_ns) as ns from span join track t using"
                                   " (run_id, track_id) where category = 'kernel' group by 1, 2 order by 1"),
                         [{"d": 4, "name": "Stream #134(Compute)", "n": 665, "ns": 14_825_385},
                          {"d": 6, "name": "Stream #142(Compute)", "n": 665, "ns": 14_865_363}])
        self.assertEqual(self.rows("select count(distinct thread_id) as n from track where device_id is null"), [{"n": 22}])
        self.assertGreater(report["files"][0]["skipped"]["derived line"], 0)

    def test_a_damaged_profile(self):
        """It was read as text once: bytes that are no UTF-8 are lost."""
        path = real_file("xplane", "xprof__tpu_inference_2_CORRUPT.xplane.pb")
        error = xsp("import", path, "-o", self.out, check=2).stderr.decode()
        self.assertEqual(error.count("\n"), 1, error)
        self.assertFalse(os.path.exists(self.out))

    def test_an_old_trace_of_pytorch(self):
        """Operators nest as an independent pairing of their times has them; there are no kernels."""
        path = real_file("torch", "torch1.13_debian12_legacy_autograd_cpu.json")
        with open(path, encoding="utf-8") as file:
            events = [event for event in json.load(file) if event.get("ph") == "X"]
        report, spans = self.load_files(path)
        self.assertEqual((len(spans), report["spans"].get("kernel", 0)), (len(events), 0))
        by_id = {span["span_id"]: span for span in spans}
        nested = [span for span in spans if span["parent_id"] is not None]
        self.assertGreater(len(nested), 50)
        for span in nested:
            parent = by_id[span["parent_id"]]
            self.assertEqual(parent["thread_id"], span["thread_id"])
            self.assertLessEqual(parent["start_ns"], span["start_ns"])
            self.assertGreaterEqual(parent["start_ns"] + parent["duration_ns"] + US, span["start_ns"] + span["duration_ns"])  # times are in µs

    # ---- small cases

    def test_values_that_are_no_json(self):
        for name in ("nan", "infinity"):
            with self.subTest(name):
                report, spans = self.load_case(name)
                self.assertEqual(spans, {"aten::copy_": (60, None), "cudaMemcpyAsync": (20, "aten::copy_"),
                                         "cudaLaunchKernel": (5, "aten::copy_"), "copy_kernel": (7, "aten::copy_"),
                                         "Memcpy HtoD (Pageable -> Device)": (0, "aten::copy_")})
                self.assertIn({"value": 200}, self.rows("select value from tag where key = 'bytes'"))
                self.assertIn("NaN or infinite", self.notes(report))

    def test_kernels_that_overlap_on_one_stream(self):
        _, spans = self.load_case("overlap_one_stream")
        kernels = {"gemm_a": (10, "aten::mm"), "add_b": (12.25, "aten::add"), "mul_c": (2, "aten::mul"), "sub_d": (3, "aten::sub")}
        self.assertEqual({name: spans[name] for name in kernels}, kernels)
        folded = os.path.join(self.folder, "out.folded")
        xsp("export", self.out, "--to", "folded", "-o", folded, check=0)
        with open(folded, encoding="utf-8") as file:
            self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in file), 147_250)

    def test_a_call_that_ends_after_its_parent(self):
        _, spans = self.load_case("call_ends_after_parent")
        self.assertEqual(spans["layer_norm_grad"], (40, "aten::native_layer_norm_backward"))
        self.assertEqual(spans["aten::inner"], (5.002, "aten::outer"))

    def test_begins_and_ends(self):
        _, spans = self.load_case("begin_end_any_order")
        self.assertEqual(spans, {"late": (10, None), "second": (13, None)})
        report, spans = self.load_case("begin_end_names")
        self.assertEqual(spans, {"alpha": (10, None), "beta": (8, "alpha")})
        self.assertIn("no open span's name", self.notes(report))
        _, spans = self.load_case("async_by_name")
        self.assertEqual(spans, {"queue": (110, None), "infer": (900, None)})

    def test_no_length_where_others_end_and_begin(self):
        _, spans = self.load_case("zero_length_at_tie")
        self.assertEqual(spans, {"A": (100, None), "B": (100, "A"), "C": (50, "B"), "D": (0, "B"), "E": (50, "B"), "F": (0, "B"), "G": (50, None)})

    def test_values_of_another_marshaller(self):
        report, spans = self.load_case("otlp_go_values")
        self.assertEqual(spans, {"Simple": (11.75, None), "Child": (1, "Simple")})
        self.assertIn("Value of AnyValue", self.notes(report))

    def test_ids_that_repeat(self):
        _, spans = self.load_case("one_correlation_two_kernels")
        self.assertEqual(spans["gemm_x"][1], "aten::mm")
        self.assertNotEqual(spans["add_y"][1], "aten::mm")
        for name in ("merged", "merged_ext"):
            with self.subTest(name):
                _, spans = self.load_case(name)
                for kernel in ("mm", "add", "conv", "relu"):
                    self.assertIn(spans["k_" + kernel][1], ("aten::" + kernel, None))
                tracks = self.rows("select distinct process_id from track where thread_id is not null order by 1")
                self.assertEqual(tracks, [{"process_id": 100}, {"process_id": 200}])

    def test_axes_of_models(self):
        """`--batch` is the batch's axis alone: the length of a sequence is asked for."""
        if xsp("check", "onnxruntime").returncode != 0:
            self.skipTest("ONNX Runtime is for another processor: xsp is run by QEMU")
        for name, axis in (("position_ids", "sequence"), ("dims", "seq len/2")):
            with self.subTest(name):
                error = xsp("profile", real_file("cases", name + ".onnx"), "--batch", "8", "-o", self.out, check=2).stderr.decode()
                self.assertIn("--dim", error)
                self.assertIn(axis, error)


if __name__ == "__main__":
    unittest.main()
