# SPDX-License-Identifier: Apache-2.0
"""The checks of test_workloads.py on longer programs: Inception-v1, where OpenCV itself waits for the device before the
last layers, and SqueezeNet in two threads at once, on OpenCV's one queue."""
import statistics
import unittest

import test_workloads
import workloads


class Inception(test_workloads.OpenCV):
    MODEL = "inception_v1.onnx"
    HAS_LAST_WORD = False  # its fully connected layer runs on the CPU and waits

    def test_opencv_blames_the_layer_that_waits(self):
        """By OpenCV's own profile one layer takes nearly all of the time; by ours it has no kernel at all."""
        reported = workloads.answer(self.traced)
        layers = sorted(reported["perf_profile_layers"], key=lambda layer: -layer[1])
        self.assertGreater(layers[0][1], sum(time for _, time in layers[1:]))
        rows = workloads.read("analyze", "A11", self.path)["rows"]
        [blamed] = [row for row in rows if row["layer_name"].endswith(layers[0][0])]
        self.assertEqual(blamed["count"], 0)
        self.assertGreater(blamed["layer_latency_ms"], statistics.median(row["layer_latency_ms"] for row in rows))


class Threads(test_workloads.OpenCV):
    OPTIONS = ("--threads", 2)
    THREADS = 2
    HAS_LAST_WORD = False  # two threads share two cores with PoCL



if __name__ == "__main__":
    unittest.main()
