# SPDX-License-Identifier: Apache-2.0
"""oneDNN's verbose log, in the forms of MKL-DNN 0.18 to oneDNN 3.13. Lines have the form of what these versions print."""
import decimal
import unittest

from imported import Imported, real_file

INFO = """onednn_verbose,v1,info,oneDNN v3.13.3 (commit 0)
onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2
onednn_verbose,v1,info,cpu,isa:Intel AVX2
"""
CONVOLUTION = "cpu,convolution,jit:avx2,forward_training,src:f32::blocked:abcd::f0 wei:f32::blocked:Acdb16a::f0," \
              "attr-scratchpad:user,alg:convolution_direct,mb2_ic3oc16_ih32oh32kh3sh1dh0ph1_iw32ow32kw3sw1dw0pw1"
REORDER = "cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 dst:f32::blocked:Acdb16a::f0,,,16x3x3x3"
STAMPED = INFO + f"""onednn_verbose,v1,1700000000000.000244,primitive,create:cache_miss,{CONVOLUTION},0.25
onednn_verbose,v1,1700000000001.000000,primitive,exec,{REORDER},6.10352e-05
onednn_verbose,v1,1700000000002.500000,primitive,exec,{CONVOLUTION},1.75
"""


class OneDnn(Imported):
    def test_stamped_primitives(self):
        report, (create, reorder, convolution) = self.load(STAMPED)
        self.assertEqual((report["files"][0]["format"], report["files"][0]["version"]), ("onednn", "3.13.3"))
        self.assertEqual(report["files"][0]["skipped"], {"about the machine or the log": 3})
        # The stamp is the start, in milliseconds since 1970; 6.10352e-05 ms are 61 ns
        self.assertEqual((create["start_ns"], create["duration_ns"]), (1_700_000_000_000_000_244, 250_000))
        self.assertEqual((reorder["start_ns"], reorder["duration_ns"]), (1_700_000_000_001_000_000, 61))
        self.assertEqual((create["level"], create["category"], create["name"]), ("library", "create", "create convolution"))
        self.assertEqual(create["tags"]["cache"], "cache_miss")
        self.assertEqual((convolution["level"], convolution["kind"], convolution["category"]), ("kernel", "sync", "kernel"))
        self.assertEqual(convolution["name"], "convolution jit:avx2")
        self.assertEqual(convolution["tags"]["problem"], "mb2_ic3oc16_ih32oh32kh3sh1dh0ph1_iw32ow32kw3sw1dw0pw1")
        self.assertNotIn("prop_kind", reorder["tags"])  # undef
        self.assertEqual(self.rows("select epoch from run"), [{"epoch": "unix"}])
        self.assertIn("steps of 0.244 us", " ".join(report["files"][0]["notes"]))
        self.assertEqual(self.system(), {"onednn_version": "3.13.3", "onednn_threads": 2, "onednn_isa": "Intel AVX2"})

    def test_durations_only(self):
        """Without timestamps primitives are one after the other, and a note says what to set."""
        log = INFO + "".join(f"onednn_verbose,v1,primitive,exec,{CONVOLUTION},{ms}\n" for ms in ("1.5", "0.25", "2"))
        report, spans = self.load(log)
        self.assertEqual([(s["start_ns"], s["duration_ns"]) for s in spans],
                         [(0, 1_500_000), (1_500_000, 250_000), (1_750_000, 2_000_000)])
        self.assertIn("ONEDNN_VERBOSE_TIMESTAMP=1", " ".join(report["files"][0]["notes"]))
        self.assertEqual(self.rows("select epoch from run"), [{"epoch": "trace"}])

    def test_a_programs_own_output(self):
        """A program's lines, and one that ends without a line end before oneDNN's."""
        report, spans = self.load("epoch 1: loss 0.25\nstep 3 " + STAMPED + "onednn_verbose,v1,primitive,exec,cpu,conv\ndone\n")
        self.assertEqual(len(spans), 3)
        self.assertEqual(report["files"][0]["skipped"], {
            "not a line of oneDNN": 2, "about the machine or the log": 3, "another message, or a line that is not whole": 1})

    def test_older_forms(self):
        old = "mkldnn_verbose,info,Intel MKL-DNN v0.20.5\n" \
              "mkldnn_verbose,exec,reorder,simple:any,undef,in:f32_nchw out:f32_nChw8c,num:1,32x96x55x55,10.5\n"
        _, (span,) = self.load(old)
        self.assertEqual((span["name"], span["duration_ns"], span["tags"]["problem"]),
                         ("reorder simple:any", 10_500_000, "32x96x55x55"))
        _, (span,) = self.load(f"dnnl_verbose,exec,{CONVOLUTION},0.5\n")
        self.assertEqual((span["name"], span["duration_ns"]), ("convolution jit:avx2", 500_000))

    def test_partitions_of_graphs_enclose_primitives(self):
        graph = "onednn_verbose,v1,1700000000001.000000,graph,exec,cpu,100002,matmul_post_ops,aten::linear,,in0_f32:1:strided," \
                "fpm:strict,larger_partition_kernel_t,dnnl_backend,4\n"
        log = graph.replace("1.000000", "0.250000").replace("exec", "compile").replace("backend,4", "backend,0.5") + graph + STAMPED
        _, spans = self.load(log)
        self.assertEqual([(s["level"], s["name"]) for s in spans[:2]], [
            ("library", "compile matmul_post_ops"), ("library", "matmul_post_ops aten::linear")])
        self.assertEqual([s["parent_id"] for s in spans[2:]], [None, 2, 2])

    def test_what_cannot_be_read(self):
        self.refuse(f"onednn_verbose,v1,primitive,exec,{CONVOLUTION},99999999999999\n", mentions=["beyond 64 bits"])
        self.refuse(INFO, mentions=["no span"])
        report, spans = self.load(STAMPED + f"onednn_verbose,v1,primitive,exec,{CONVOLUTION},1\n"
                                  f"onednn_verbose,v1,1700000000009.0,primitive,exec,{CONVOLUTION},-1\n"
                                  f"onednn_verbose,v1,1700000000009.0,primitive,exec,{CONVOLUTION},much\n")
        self.assertEqual(len(spans), 3)
        self.assertEqual({key: value for key, value in report["files"][0]["skipped"].items() if "machine" not in key},
                         {"without a timestamp, unlike others": 1, "negative duration": 1, "no times": 1})

    def test_a_published_log(self):
        """Every line again, by other means."""
        path = real_file("onednn", "onednn2.6.3_debian12_conv.log")
        with open(path, encoding="utf-8") as file:
            lines = [line.split(",") for line in file.read().splitlines()]
        expected = [(int(decimal.Decimal(line[1]) * 10**6), int(decimal.Decimal(line[-1]) * 10**6))
                    for line in lines if line[2].startswith(("exec", "create"))]
        _, spans = self.load_files(path)
        self.assertEqual([(s["start_ns"], s["duration_ns"]) for s in spans], expected)
        self.assertEqual(len(spans), 3)


if __name__ == "__main__":
    unittest.main()
