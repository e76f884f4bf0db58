# SPDX-License-Identifier: Apache-2.0
"""The log of `caffe time`: mean times of layers."""
import unittest

from imported import Imported
from scripted import xsp_json

LINE = "I0913 10:35:19.123456  1234 caffe.cpp:{}] {}\n"
LAYERS = [("data", "0.25", "0.001"), ("conv1", "1.5", "2.75"), ("loss", "0.125", "0.0625")]


def log(layers=LAYERS, *, iteration="5"):
    text = "I0913 10:35:18.000000  1234 net.cpp:255] Network initialization done.\n" + LINE.format(412, "Average time per layer: ")
    for name, forward, backward in layers:
        text += LINE.format(415, f"{name:>10}\tforward: {forward} ms.") + LINE.format(418, f"{name:>10}\tbackward: {backward} ms.")
    return text + LINE.format(423, "Average Forward pass: 1.9 ms.") + LINE.format(427, f"Average Forward-Backward: {iteration} ms.")


class Caffe(Imported):
    def test_layers(self):
        """Forward in their order, backward in the opposite one, within an iteration of 5 ms."""
        report, spans = self.load(log())
        self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]), ("caffe", {"not a layer's time": 4}))
        layers = sorted((span for span in spans if span["level"] == "layer"), key=lambda span: span["tags"]["layer_index"])
        self.assertEqual([(s["name"], s["category"], s["start_ns"], s["duration_ns"]) for s in layers], [
            ("data", "forward", 0, 250_000), ("conv1", "forward", 250_000, 1_500_000), ("loss", "forward", 1_750_000, 125_000),
            ("loss", "backward", 1_875_000, 62_500), ("conv1", "backward", 1_937_500, 2_750_000), ("data", "backward", 4_687_500, 1_000)])
        model, = (span for span in spans if span["level"] == "model")
        self.assertEqual((model["name"], model["duration_ns"]), ("Forward-Backward", 5_000_000))
        self.assertEqual({span["parent_id"] for span in layers}, {model["span_id"]})
        self.assertEqual(xsp_json("analyze", "A1", self.out, "--json")["rows"][0]["latency_ms"], 5)

    def test_what_cannot_be_read(self):
        self.refuse(log([]), mentions=["no span"])
        self.refuse(log([("a", "9e15", "9e15")]), mentions=["beyond 64 bits"])
        report, spans = self.load(log([*LAYERS, ("odd", "-1", "much")]))
        self.assertEqual((len(spans), report["files"][0]["skipped"]), (7, {"not a layer's time": 4, "negative duration": 1, "no times": 1}))
        _, spans = self.load(log(iteration="1"))  # less than its layers: as long as they are
        self.assertEqual(max(span["duration_ns"] for span in spans), 4_688_500)


if __name__ == "__main__":
    unittest.main()
