# SPDX-License-Identifier: Apache-2.0
"""TensorRT's profiles, and layer information that describes them: two files of one call."""
import decimal
import json
import os
import unittest

from imported import Imported, real_file

PROFILE = [{"count": 100}, {"name": "conv", "timeMs": 12.5, "averageMs": 0.125, "medianMs": 0.124, "percentage": 80},
           {"name": "copy", "timeMs": 0, "averageMs": 0, "percentage": 0}, {"name": "copy", "timeMs": 1, "averageMs": 6.1e-05},
           {"name": "fc", "timeMs": 1, "averageMs": 0.5}]
LAYERS = {"Layers": [
    {"Name": "copy", "LayerType": "NoOp"}, {"Name": "copy", "LayerType": "Reformat"},
    {"Name": "conv", "LayerType": "CaskConvolution", "Inputs": [{"Name": "x", "Dimensions": [1, 3, 8, 8]}],
     "Outputs": [{"Name": "y", "Dimensions": [1, 4, 6, 6]}, {"Name": "z", "Dimensions": [1]}], "Kernel": [3, 3], "HasBias": True,
     "Weights": {"Type": "Half", "Count": 108}, "TacticName": "hmma"},
    {"Name": "gone", "LayerType": "NoOp"}], "Bindings": ["x", "y"]}


class TensorRt(Imported):
    def test_a_profile(self):
        report, spans = self.load(PROFILE)
        self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]), ("tensorrt", {"number of inferences": 1}))
        # 6.1e-05 ms are 61 ns
        self.assertEqual([(s["name"], s["start_ns"], s["duration_ns"]) for s in spans],
                         [("conv", 0, 125_000), ("copy", 125_000, 0), ("copy", 125_000, 61), ("fc", 125_061, 500_000)])
        self.assertEqual({(s["level"], s["basis"]) for s in spans}, {("layer", "none")})
        self.assertEqual(spans[0]["tags"], {"layer_index": 0, "median_ms": 0.124, "count": 100})
        self.assertIn("--exportLayerInfo", " ".join(report["files"][0]["notes"]))

    def test_a_described_profile(self):
        """Whichever comes first; layers of one name in their order; what the profile lacks is counted."""
        for contents in ((PROFILE, LAYERS), (LAYERS, PROFILE)):
            report, spans = self.load(*contents)
            described = report["files"][contents.index(LAYERS)]
            self.assertEqual((described["format"], described["events"], described["kept"], described["skipped"], described["run_ids"]),
                             ("tensorrt-layers", 4, 3, {"not in the trace": 1}, []))
            self.assertEqual(len(self.rows("select * from run")), 1)
            self.assertEqual([s["tags"].get("layer_type") for s in spans], ["CaskConvolution", "NoOp", "Reformat", None])
            conv = spans[0]["tags"]
            self.assertEqual((conv["layer_shape"], conv["input_shape"], conv["Kernel"], conv["HasBias"], conv["TacticName"]),
                             ("[1,4,6,6]", "[1,3,8,8]", "[3,3]", 1, "hmma"))
            self.assertEqual(json.loads(conv["Weights"]), {"Type": "Half", "Count": 108})
            notes = " ".join(report["files"][contents.index(PROFILE)]["notes"])
            self.assertIn("1 layers are not in", notes)
            self.assertNotIn("--profilingVerbosity", notes)

    def test_descriptions_belong_to_profiles_in_order(self):
        other = {"Layers": [{"Name": "conv", "LayerType": "Other"}]}
        _, spans = self.load(PROFILE, LAYERS, PROFILE[:2], other)
        self.assertEqual([(s["run_id"], s["tags"]["layer_type"]) for s in spans if s["name"] == "conv"],
                         [(1, "CaskConvolution"), (2, "Other")])

    def test_names_alone(self):
        """An engine that was built without --profilingVerbosity=detailed."""
        report, spans = self.load(PROFILE, {"Layers": ["conv", "fc"], "Bindings": []})
        self.assertEqual(report["files"][1]["kept"], 2)
        self.assertIn("--profilingVerbosity=detailed", " ".join(report["files"][0]["notes"]))
        self.assertNotIn("layer_type", spans[0]["tags"])

    def test_what_cannot_be_read(self):
        self.refuse(LAYERS, mentions=["describes a trace (tensorrt)"])
        self.refuse(LAYERS, LAYERS, PROFILE, mentions=["describes a trace"])
        self.refuse(json.dumps(PROFILE)[:-1], mentions=["byte"])
        self.refuse(json.dumps(PROFILE) + "x", mentions=["byte"])
        self.refuse([{"count": 1}, {"name": "a", "averageMs": 1e13, "timeMs": 1}, {"name": "b", "averageMs": 9e12, "timeMs": 1}],
                    mentions=["beyond 64 bits"])
        self.refuse([7, {"name": "a", "averageMs": 1, "timeMs": 1}], mentions=["byte 1"])
        self.refuse(PROFILE, {"Layers": [], "Bindings": []}, mentions=["1.dat", "no layers"])
        self.refuse(PROFILE, json.dumps(LAYERS)[:-9], mentions=["1.dat", "byte"])

    def test_a_published_profile(self):
        """36 layers in both files; means add up to 1.016832 ms."""
        path = real_file("trt", "examples__pytorch__resnet__A100__fp16__resnet.onnx.engine.profile.json")
        report, spans = self.load_files(path, path.replace("profile.json", "graph.json"))
        with open(path, encoding="utf-8") as file:
            expected = json.load(file, parse_float=decimal.Decimal)[1:]
        self.assertEqual([(s["name"], s["duration_ns"]) for s in spans],
                         [(row["name"], int(row["averageMs"] * 10**6)) for row in expected])
        self.assertEqual((len(spans), sum(s["duration_ns"] for s in spans), report["files"][1]["kept"]), (36, 1_016_832, 36))
        self.assertTrue(all("layer_type" in s["tags"] for s in spans))
        self.assertTrue(os.path.exists(self.out))


if __name__ == "__main__":
    unittest.main()
