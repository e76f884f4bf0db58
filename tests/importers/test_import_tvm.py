# SPDX-License-Identifier: Apache-2.0
"""Reports of TVM's profiler in their published form; figures by hand."""
import json
import os
import pathlib
import unittest

from imported import Imported

REPORT = json.loads((pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus" / "import_tvm" / "report").read_text(encoding="utf-8"))


def report(*durations, **more):
    return {"calls": [{"Name": "a", "Duration (us)": {"microseconds": duration}} for duration in durations], "device_metrics": more}


class Tvm(Imported):
    def test_a_report(self):
        account, spans = self.load(REPORT)
        self.assertEqual((account["files"][0]["format"], account["files"][0]["skipped"]), ("tvm", {}))
        model, *calls = sorted(spans, key=lambda span: span["span_id"])
        self.assertEqual((model["level"], model["start_ns"], model["duration_ns"]), ("model", 0, 40_000))
        self.assertEqual([(span["name"], span["level"], span["start_ns"], span["duration_ns"], span["parent_id"]) for span in calls],
                         [("tvmgen_default_fused_nn_conv2d_add_nn_relu_1", "layer", 0, 12_250, 1), ("VM::AllocTensor", "library", 12_250, 500, 1),
                          ("softmax", "layer", 12_750, 7_500, 1)])
        self.assertEqual(calls[0]["tags"], {"layer_index": 0, "layer_type": "nn_conv2d_add_nn_relu", "count": 1, "device": "cpu0", "Hash": "8a1b",
                                            "input_shape": "float32[1, 3, 8, 8], float32[4, 3, 3, 3], float32[1, 4, 6, 6]"})
        self.assertEqual(calls[2]["tags"], {"layer_index": 1, "layer_type": "softmax", "count": 1, "device": "cpu0", "perf::CYCLES": 9000})

    def test_calls_that_add_up_to_more_than_their_device(self):
        """On two devices side by side: the model is as long as what is laid out in it."""
        account, spans = self.load(report(3, -1, 1.5e1, cpu0={"Duration (us)": {"microseconds": 10}}, cuda0={"Duration (us)": {"microseconds": 12}}))
        self.assertEqual([span["duration_ns"] for span in spans], [18_000, 3000, 15_000])
        self.assertEqual((account["files"][0]["kept"], account["files"][0]["skipped"]), (3, {"negative duration": 1}))

    def test_a_metric_without_a_name(self):
        _, spans = self.load({"calls": [{"Name": "a", "": {"count": 1}, "Duration (us)": {"microseconds": 2}}]})
        self.assertEqual(spans[1]["tags"], {"layer_index": 0, "layer_type": "a"})

    def test_a_metric_in_microseconds(self):
        """The call's own duration stays, whichever comes first."""
        for names in (["Duration (us)", "Wait"], ["Wait", "Duration (us)"]):
            durations = {"Duration (us)": {"microseconds": 2}, "Wait": {"microseconds": 7.5}}
            _, spans = self.load({"calls": [{"Name": "a", **{name: durations[name] for name in names}}]})
            self.assertEqual((spans[1]["duration_ns"], spans[1]["tags"]), (2000, {"layer_index": 0, "layer_type": "a", "Wait": 7.5}))

    def test_what_cannot_be_read(self):
        text = json.dumps(REPORT)
        self.refuse(text[:-1], mentions=["byte"])
        self.refuse(text.replace('"calls": [', '"calls": [7, '), mentions=["byte"])
        self.refuse(report(-1), mentions=["no span"])
        self.refuse(report(5e15, 5e15), mentions=["64 bits"])


if __name__ == "__main__":
    unittest.main()
