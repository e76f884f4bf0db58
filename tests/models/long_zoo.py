# SPDX-License-Identifier: Apache-2.0
"""The generators of models/ with the real packages: a small manifest of each framework fits the model that is made by it, and
the same model is made each time. Fetches packages through pip, so it belongs to `make test-all`."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
from framework_environment import framework_python
from PIL import Image
from tensorflow_environment import tensorflow_environment
from torch_environment import torch_python

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
MODELS = pathlib.Path(os.environ["XSP_SOURCE"]) / "lab/models"


def environment_of(python):
    return python.parent.parent


class GeneratorTest(unittest.TestCase):
    def check(self, manifest, environment, *options):
        """The same checksum, twice, each in a cache of its own."""
        sums = set()
        for _ in range(2):
            with tempfile.TemporaryDirectory() as cache:
                result = subprocess.run([BUILD / "xsp", "check", MODELS / manifest, "--json", *options], capture_output=True,
                                        text=True, timeout=600,
                                        env={**os.environ, "VIRTUAL_ENV": str(environment), "XSP_MODEL_CACHE": cache})
                self.assertEqual(result.returncode, 0, result.stderr)
                row = json.loads(result.stdout)[0]
                self.assertTrue(row["usable"], row["reason"])
                self.assertGreater(row["graph_bytes"], 100_000)
                sums.add(row["sha256"])
        self.assertEqual(len(sums), 1)

    def library(self, framework, environment, place):
        found = sorted(environment.glob(f"lib/python*/site-packages/{place}"))
        return f"--library={framework}={found[0]}"

    def test_keras_frozen(self):
        environment = tensorflow_environment()
        for name in ("mobilenet_v1_0.25_128", "inception_v1", "ssd_mobilenet_v1_300_like", "srgan"):
            self.check(f"{name}_tensorflow.yml", environment)

    def test_keras_tflite(self):
        litert = environment_of(framework_python("litert", "ai-edge-litert==2.3.0", "numpy==2.4.6"))
        self.check("mobilenet_v1_0.25_128_litert.yml", tensorflow_environment(),
                   self.library("litert", litert, "ai_edge_litert/libLiteRt.so"))

    def test_mxnet(self):
        self.check("mobilenet_v1_0.25_224_mxnet.yml", environment_of(framework_python("mxnet", "mxnet==1.9.1", "numpy<1.24")))

    def test_onnx(self):
        environment = environment_of(pathlib.Path(os.environ["XSP_PYTHON"]))
        self.check("squeezenet_1.1_onnxruntime.yml", environment)
        self.check("resnet50_v1_onnxruntime.yml", environment)

    def test_onnx_for_openvino(self):
        environment = environment_of(framework_python("openvino", "openvino==2026.4.1", "onnx==1.23.2", "numpy==2.4.6"))
        self.check("squeezenet_1.1_openvino.yml", environment)

    def test_a_trained_model_of_instances(self):
        """On pictures that it has not seen: a bright rectangle or ellipse in noise."""
        random = numpy.random.default_rng(5)
        data = {"images": [], "annotations": [], "categories": [{"id": 0, "name": "rectangle"}, {"id": 1, "name": "ellipse"}]}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for number in range(1, 41):
                width, height, kind = (*map(int, random.integers(8, 17, 2)), int(random.integers(2)))
                left, top = int(random.integers(33 - width)), int(random.integers(33 - height))
                y, x = ((numpy.arange(32) + .5 - first - size / 2) / (size / 2) for first, size in ((top, height), (left, width)))
                distance = x[None] ** 2 + y[:, None] ** 2 if kind else numpy.maximum(abs(x)[None], abs(y)[:, None])
                mask = distance <= 1
                values = random.random((32, 32, 3)) * 127 + 128 * mask[..., None]
                Image.fromarray(values.astype(numpy.uint8)).save(folder / f"{number}.png")
                turns = numpy.flatnonzero(numpy.diff(numpy.concatenate([[0], mask.T.reshape(-1)])))
                data["images"].append({"id": number, "file_name": f"{number}.png", "width": 32, "height": 32})
                data["annotations"].append({"id": number, "image_id": number, "category_id": kind, "bbox": [left, top, width, height], "iscrowd": 0, "segmentation":
                                            {"size": [32, 32], "counts": numpy.diff([0, *turns, 1024]).tolist()}})
            (folder / "set.json").write_text(json.dumps(data))
            done = subprocess.run([BUILD / "xsp", "evaluate", MODELS / "toy_mask_rcnn_pytorch.yml", "--data", folder / "set.json", "-o", folder / "out.xsp", "--json", "-q"],
                                  capture_output=True, text=True, timeout=1200, check=False,
                                  env={**os.environ, "VIRTUAL_ENV": str(environment_of(torch_python())), "XSP_MODEL_CACHE": str(folder)})
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = json.loads(done.stdout)[0]["rows"]
        print({key: value for key, value in row.items() if "map" in key or "ap" in key})
        self.assertGreater(row["ap50_pct"], 60)
        self.assertGreater(row["mask_ap50_pct"], 60)


if __name__ == "__main__":
    unittest.main()
