# SPDX-License-Identifier: Apache-2.0
"""MXNet's predictor on the real library: tables, layers with names by their position, against MXNet's own profile in Python,
bad models. Fetches packages through pip, so it belongs to `make test-all`."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import numpy
from PIL import Image

import file_server

from framework_environment import FrameworkTest, framework_python

VERSION = "1.9.1"
SIZE = ("--dim", "H=96", "--dim", "W=96")

# MXNet's own profiler on the same model, as its documentation shows.
OWN_PROFILE = """
import json, os, sys
os.environ["MXNET_EXEC_BULK_EXEC_INFERENCE"] = "0"
import mxnet
symbol, arguments, auxiliary = mxnet.model.load_checkpoint(sys.argv[1], 0)
executor = symbol.simple_bind(mxnet.cpu(), grad_req="null", data=(4, 3, 96, 96))
executor.copy_params_from(arguments, auxiliary)
executor.arg_dict["data"][:] = mxnet.nd.random.uniform(shape=(4, 3, 96, 96))
for _ in range(5):
    executor.forward()[0].wait_to_read()
mxnet.profiler.set_config(filename=sys.argv[2], profile_symbolic=True, profile_imperative=False, profile_memory=False,
                          profile_api=False, continuous_dump=False)
mxnet.profiler.set_state("run")
for _ in range(20):
    executor.forward()[0].wait_to_read()
mxnet.profiler.set_state("stop")
mxnet.profiler.dump()
"""


# The best class of each picture of a .npy file, [N, 3, 227, 227], by MXNet in Python.
OWN_CLASSES = """
import json, sys
import mxnet, numpy
symbol = mxnet.sym.load(sys.argv[1])
parameters = mxnet.nd.load(sys.argv[2])
executor = symbol.simple_bind(mxnet.cpu(), grad_req="null", data=(1, 3, 227, 227))
executor.copy_params_from({key[4:]: value for key, value in parameters.items() if key.startswith("arg:")},
                          {key[4:]: value for key, value in parameters.items() if key.startswith("aux:")})
found = []
for values in numpy.load(sys.argv[3]):
    executor.arg_dict["data"][:] = values[None]
    found.append(int(executor.forward()[0].asnumpy().argmax()))
print(json.dumps(found))
"""


def operators(text):
    """(type, start, end) of each, in us, in the order of their ends."""
    found, begins = [], {}
    # From the second profile of a process on it begins with a comma too many.
    for event in json.loads(re.sub(r'("traceEvents": \[)\s*,', r"\1", text))["traceEvents"]:
        if event.get("cat") == "operator" and event["ph"] == "B":
            begins[event["name"]] = event["ts"]
        elif event.get("cat") == "operator" and event["ph"] == "E":
            found.append((event["name"], begins[event["name"]], event["ts"]))
    return found


class MxnetTest(FrameworkTest):
    framework = "mxnet"

    @classmethod
    def setUpClass(cls):
        cls.python = framework_python("mxnet", f"mxnet=={VERSION}", "numpy<1.24")
        cls.environment = cls.python.parent.parent
        cls.models = cls.environment / "models"
        subprocess.run([cls.python, pathlib.Path(__file__).parent / "mxnet_models.py", cls.models], check=True, timeout=120,
                       capture_output=True)

    def model(self, name):
        return self.models / f"{name}-symbol.json"

    def test_tables_and_layers(self):
        self.xsp("profile", self.model("cnn"), *SIZE, "--batch", "1,4", "--levels", "M,M/L", "--runs", 10, "--quiet", "-o",
                 self.output)
        self.check_tables()
        for batch in (1, 4):
            layers = self.layers(batch=batch)
            self.check_within_models(layers)
            self.assertEqual([(layer["name"], layer["tags"]["layer_type"], layer["tags"].get("fused"))
                              for layer in layers[:6]],
                             [*((f"sg_mkldnn_conv_bn_act_{i}", "_sg_mkldnn_conv",
                                 f"net_conv{i}_fwd,net_batchnorm{i}_fwd,net_relu{i}_fwd") for i in range(3)),
                              ("net_pool0_fwd", "Pooling", None), ("net_flatten0_flatten0", "Flatten", None),
                              ("sg_mkldnn_fully_connected_0", "_sg_mkldnn_fully_connected", "net_dense0_fwd")])
            self.assertEqual(len(layers), 60)
            for layer in layers:
                self.assertEqual((layer["tags"]["untold"], layer["tags"]["name_by"]),
                                 ("name", "position in the graph"))
                self.assertEqual(layer["basis"], "explicit")
        # It reports starts: within the inference, truncated to microseconds.
        models = {(row["run_id"], row["span_id"]): row for row in self.sql(
            "select run_id, span_id, start_ns, end_ns from span where level = 'model'")}
        for layer in self.layers():
            model = models[layer["run_id"], layer["model_id"]]
            self.assertGreaterEqual(layer["start_ns"], model["start_ns"] - 2000)
            self.assertLessEqual(layer["start_ns"] + layer["duration_ns"], model["end_ns"] + 2000)
        info = json.loads(self.xsp("info", self.output, "--json").stdout)
        self.assertEqual(info["experiments"][0]["framework_version"], VERSION)

    def test_the_papers_manifest_runs(self):
        """Listing 1 of MLModelScope, as docs/manifests.md has it: graph and weights from a repository, labels by HTTP."""
        text = (pathlib.Path(os.environ["XSP_SOURCE"]) / "docs" / "manifests.md").read_text(encoding="utf-8")
        listing = re.search(r"```yaml\n(name: AlexNet.*?)```", text, re.S)[1]
        random, pictures = numpy.random.default_rng(1), []
        (self.folder / "set").mkdir()
        for number in range(6):
            values = numpy.kron(random.integers(0, 256, (8, 8, 3), numpy.uint8), numpy.ones((32, 32, 1), numpy.uint8))[:227, :227]
            Image.fromarray(values).save(self.folder / "set" / f"{number}.png")
            pictures.append(values.transpose(2, 0, 1).astype(numpy.float32))
        numpy.save(self.folder / "pictures.npy", numpy.stack(pictures))
        own = json.loads(subprocess.run([self.python, "-c", OWN_CLASSES, self.models / "mxnet" / "alexnet.json",
                                         self.models / "mxnet" / "alexnet.params", self.folder / "pictures.npy"],
                                        check=True, timeout=300, capture_output=True).stdout)
        with file_server.FileServer() as server:
            server.places["/synset.txt"] = file_server.Place("".join(f"n{place:08} class {place}\n" for place in range(1000)).encode())
            listing = listing.replace("url: synset.txt", f"url: {server.url}/synset.txt")
            for name in ("graph", "weights"):
                listing = listing.replace(f"{name}_path: ", f"{name}_path: repo://mxnet/")
            (self.folder / "alexnet.yml").write_text(listing, encoding="utf-8")
            environment = {"XSP_REPOSITORY": str(self.models), "XSP_ASSET_CACHE": str(self.folder / "assets")}
            done = self.xsp("evaluate", self.folder / "alexnet.yml", "--data", self.folder / "set", "--items", "--json", "-q", "-o", self.output,
                            env=environment)
        accuracy, items = json.loads(done.stdout)
        self.assertEqual(accuracy["rows"][0]["inputs"], 6)
        self.assertEqual([row["place"] for row in items["rows"]], own)
        self.assertEqual([row["class"] for row in items["rows"]], [f"n{place:08} class {place}" for place in own])
        kept = {row["key"]: row["value"] for row in self.sql("select key, value from workload")}
        self.assertEqual((kept["model_version"], kept["attribute.training_dataset.name"]), ("1.0", "ImageNet"))

    def test_model_level_switches_nothing_on(self):
        self.profile(self.model("cnn"), *SIZE, "--levels", "M", "--runs", 3)
        self.assertEqual(self.sql("select distinct level from span where level = 'layer'"), [])

    def test_layers_are_those_of_its_own_profiler(self):
        trace = self.folder / "profile.json"
        subprocess.run([self.python, "-c", OWN_PROFILE, self.models / "cnn", trace], check=True, timeout=300,
                       capture_output=True)
        own = [(name, end - start) for name, start, end in operators(trace.read_text())]
        self.assertEqual(len(own), 20 * 6)
        self.profile(self.model("cnn"), *SIZE, "--batch", 4, "--runs", 20, "--levels", "M/L")
        layers = self.layers()
        self.assertEqual([layer["tags"]["layer_type"] for layer in layers], [name for name, _ in own])
        medians = self.medians(layers)
        print("us by its own profiler, by xsp:", [
            (sorted(own[i::6], key=lambda one: one[1])[10][1], round(medians[layers[i]["name"]])) for i in range(6)])

    def test_layers_take_as_long_as_its_own_profiler_says(self):
        own = [operator for path in self.profile_beside_its_own("mxnet/libmxnet.so", self.model("cnn"), *SIZE)
               for operator in operators(path.read_text())]
        layers = self.layers()
        self.assertEqual(len(layers), 20 * 6)
        theirs = own[-len(layers):]  # before these: warm-ups
        self.assertEqual([layer["tags"]["layer_type"] for layer in layers], [name for name, _, _ in theirs])
        self.check_agreement([((end - start) * 1000, layer["duration_ns"])
                              for (_, start, end), layer in zip(theirs, layers)], most_ns=2)
        # The distance between two starts is the same in both.
        self.assertLessEqual(max(abs(after["start_ns"] - before["start_ns"] - (later - earlier) * 1000) for
                                 before, after, (_, earlier, _), (_, later, _) in
                                 zip(layers, layers[1:], theirs, theirs[1:])), 1000)

    def test_devices(self):
        result = self.profile(self.model("cnn"), *SIZE, "--device", "cpu", "--runs", 3)
        self.assertIn("; on cpu(0)", result.stdout)
        for device in ("gpu", "gpu:1", "cuda"):
            self.check_refused(self.model("cnn"), *SIZE, "--device", device, why="it has cpu")

    def test_operators_apart(self):
        self.profile(self.model("cnn"), *SIZE, "--batch", "1,2", "--unfused", "--runs", 3)
        self.check_tables(batches=(1, 2))
        names = [layer["name"] for layer in self.layers()[:12]]
        self.assertEqual(names, [*(f"net_{kind}{i}_fwd" for i in range(3) for kind in ("conv", "batchnorm", "relu")),
                                 "net_pool0_fwd", "net_flatten0_flatten0", "net_dense0_fwd"])

    def test_inputs_threads_and_batches(self):
        self.profile(self.model("dense"), "--batch", "1,4", "--runs", 3, "--threads", 1)
        self.check_tables()
        self.profile(self.model("fixed"), "--batch", 2, "--runs", 3)
        self.check_refused(self.model("fixed"), "--batch", 3, why="batch")
        self.profile(self.model("inputs"), "--batch", "1,2", "--dim", "words.1=7", "--dim", "scale.1=7", "--runs", 3)
        self.assertEqual({layer["name"] for layer in self.layers()}, {"embedding", "multiply"})
        self.check_refused(self.model("cnn"), why='"H", "W"')

    def test_bad_models(self):
        for name, why in (("cut_symbol", "byte"), ("empty_symbol", "empty"), ("noise", "byte"), ("no_nodes", "nodes"),
                          ("cut_parameters", "Check failed"), ("empty_parameters", "Check failed"),
                          ("no_parameters", "0000.params"), ("operator", "Frobnicate"),
                          ("shape", "mismatch"), ("no_shape", "signature.json"), ("bad_signature", "signature"),
                          ("huge", "larger than")):
            with self.subTest(name):
                options = SIZE if name in ("cut_parameters", "empty_parameters", "operator", "no_parameters") else ()
                result = self.check_refused(self.model(name), *options, why=why)
                self.assertIn(f"/{name}-", result.stderr)
        other = self.folder / "net.json"
        other.write_text("{}")
        self.check_refused(other, why="symbol.json")
        self.check_refused(self.folder / "absent-symbol.json")

    def test_check(self):
        [found] = [row for row in json.loads(self.xsp("check", "mxnet", "--json").stdout) if "predictor" in row]
        self.assertTrue(found["usable"])
        self.assertEqual((found["version"], found["untold"]), (VERSION, "name"))


if __name__ == "__main__":
    unittest.main()
