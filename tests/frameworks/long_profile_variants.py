# SPDX-License-Identifier: Apache-2.0
"""Several variants and cold starts with real frameworks: two versions of ONNX Runtime, and ONNX Runtime with OpenVINO, on one
model in one file; `xsp compare` of both versions. Fetches packages, so it belongs to `make test-all`."""
import json
import sys
import unittest

import framework_environment
import long_old_onnxruntime
import runner_session
from framework_environment import framework_python
from long_openvino import VERSION

OLD = "1.20.1"


class VariantsTest(framework_environment.FrameworkTest):
    environment = sys.prefix

    def profile(self, *options, **named):
        model = runner_session.test_models() / "squeezenet.onnx"
        return self.xsp("profile", model, "--quiet", "--force", *options, "-o", self.output, **named)

    def both(self, *variants):
        """Profiles them; what must hold of any two."""
        self.profile(*variants, "--batch", "1,2", "--runs", 6, "--cold", 2)
        experiments = self.sql("select experiment_id, framework, framework_version from experiment order by 1")
        self.assertEqual([row["experiment_id"] for row in experiments], [1, 2])
        order = self.sql("select r.experiment_id, r.levels, r.batch_size, o.warmup from observation o join run r using (run_id)"
                         " where r.run_id not in (select run_id from tag where key = 'cold') order by o.start_ns")
        self.assertEqual(len(order), 2 * 2 * 2 * 9)
        for repetition in range(0, len(order), 4):  # each visits both at both level sets
            visited = {(row["experiment_id"], row["levels"]) for row in order[repetition:repetition + 4]}
            self.assertEqual(len(visited), 4)
        for table in self.analyze("A1"):
            self.assertEqual([row["n"] for row in table["rows"]], [6, 6])
            summary = table["summary"]
            self.assertEqual(summary["cold_count"], 2)
            # A process loads the model, then makes its first inference, which is no faster than one that follows.
            self.assertGreater(summary["load_median_ms"], 0)
            self.assertGreater(summary["cold_start_median_ms"], summary["load_median_ms"])
            self.assertGreater(summary["cold_max_ms"], table["rows"][0]["min_ms"])
        self.assertEqual([len(table["rows"]) > 0 for table in self.analyze("L0")], [True, True])
        return experiments, self.analyze("A2")

    def test_two_versions_of_onnx_runtime(self):
        experiments, layers = self.both("--library", f"onnxruntime={long_old_onnxruntime.library(OLD)}",
                                        "--library", f"onnxruntime={sys.prefix}")
        self.assertEqual({row["framework"] for row in experiments}, {"onnxruntime"})
        self.assertEqual(experiments[0]["framework_version"], OLD)
        self.assertNotEqual(experiments[1]["framework_version"], OLD)
        self.assertEqual(*[[(row["layer_name"], row["layer_type"]) for row in table["rows"]] for table in layers])
        sources = self.sql("select distinct r.experiment_id, n.value from note n join run r using (run_id) where n.key ="
                           " 'layer_source' order by 1")
        self.assertEqual([row["value"] for row in sources], ["profile file", "listener"])
        # Whichever is slower: what counts is the pairing.
        answer = json.loads(self.xsp("compare", self.output, "--batch", 1, "--fail-above", 1_000_000, "--json").stdout)
        rows = [row for row in answer["rows"] if row["kind"] == "layer"]
        self.assertEqual((len(rows), {row["matched_by"] for row in rows}), (len(layers[0]["rows"]), {"name"}))
        self.assertEqual(answer["unpaired"], {"a": [], "b": []})
        self.assertIn({"key": "framework_version", "a": OLD, "b": experiments[1]["framework_version"]}, answer["systems"])

    def test_onnx_runtime_and_openvino(self):
        python = framework_python("openvino", f"openvino=={VERSION}", "onnx==1.23.2", "numpy==2.4.6")
        experiments, layers = self.both("--framework", "onnxruntime,openvino", "--library", f"openvino={python.parent.parent}")
        self.assertEqual([row["framework"] for row in experiments], ["onnxruntime", "openvino"])
        self.assertTrue(experiments[1]["framework_version"].startswith(VERSION.rsplit(".", 1)[0]))
        self.assertNotEqual(*[[row["layer_name"] for row in table["rows"]] for table in layers])
        table = self.analyze("T10")
        self.assertEqual([(row["framework"], row["base_framework"]) for row in table["rows"]], [("openvino", "onnxruntime")])

    def test_a_model_that_one_of_them_cannot_take(self):
        python = framework_python("litert", "ai-edge-litert==2.3.0", "numpy==2.4.6")
        result = self.profile("--framework", "onnxruntime,litert", "--library", f"litert={python.parent.parent}", status=2)
        self.assertRegex(result.stderr, "^xsp: litert: .*model")
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main()
