# SPDX-License-Identifier: Apache-2.0
"""Model manifests: what `xsp profile X.yml` makes of them, where models come from, and that xsp and the JSON schema agree."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import jsonschema
import onnx
import yaml
from onnx import TensorProto, helper

import file_server
import strangers
from server import state_of

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
XSP = BUILD / "xsp"
SCHEMA = json.loads((SOURCE / "docs" / "manifest.schema.json").read_text())
SCRIPT = "input data float N,8\nlayer conv1 Conv 100us\nbatch-factor 0.25\n"
WAIT_S = 600

GENERATOR = """\
import pathlib, sys, time
arguments = sys.argv[1:]
output = pathlib.Path(arguments[arguments.index("--output") + 1])
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    calls.write(" ".join(arguments[:-2]) + "\\n")
if arguments[0] == "fail":
    output.write_text("half of it")
    print("a traceback\\n" * 10000, file=sys.stderr)
    sys.exit("no weights for you")
while arguments[0] == "wait" and not (here / "go").exists():
    time.sleep(0.01)
if arguments[0] != "nothing":
    output.write_text("input data float N,8\\nlayer conv1 Conv 100us\\n")
"""


def manifest(**changes):
    """A good one; a key whose value is None is left out."""
    whole = {"name": "Net", "version": "1.0", "task": "other", "framework": {"name": "script"},
             "model": {"path": "net.xspscript"}, **changes}
    return {key: value for key, value in whole.items() if value is not None}


class ManifestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, "XSP_MODEL_CACHE": str(self.cache)}
        (self.folder / "net.xspscript").write_text(SCRIPT)

    def xsp(self, *arguments, status=0, env=None, lines=1):
        result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                                env={**self.environment, **(env or {})}, errors="replace")
        self.assertEqual(result.returncode, status, f"xsp {arguments}\n{result.stderr[-2000:]}")
        if status != 0:
            messages = [line for line in result.stderr.splitlines() if not line.startswith("xsp: making")]
            self.assertEqual(len(messages), lines, result.stderr[-2000:])
            result.line = messages[-1]
        return result

    def write(self, content, name="net.yml"):
        path = self.folder / name
        if isinstance(content, dict):
            content = yaml.safe_dump(content, sort_keys=False)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    def profile(self, content, *options, status=0, env=None):
        path = content if isinstance(content, pathlib.Path) else self.write(content)
        return self.xsp("profile", path, "-q", "-f", "-o", self.output, "--runs", 1, "--warmup", 1, *options,
                        status=status, env=env)

    def sql(self, query):
        return json.loads(self.xsp("sql", self.output, query, "--json").stdout)

    def workload(self):
        return {row["key"]: row["value"] for row in self.sql("select key, value from workload")}

    def check(self, content, status=0, env=None):
        path = content if isinstance(content, pathlib.Path) else self.write(content)
        return json.loads(self.xsp("check", path, "--json", status=status, env=env).stdout)[0]


class FormatTest(ManifestCase):
    """The same manifests through xsp and through Python's jsonschema."""

    def agree(self, contents, good):
        """All of them in one xsp."""
        schema = jsonschema.Draft202012Validator(SCHEMA)
        paths = [self.write(content, f"{i}.yml") for i, content in enumerate(contents)]
        result = self.xsp("check", "--syntax", "--json", *paths, status=0 if good else 2, lines=len(paths))
        for path, entry in zip(paths, json.loads(result.stdout), strict=True):
            with self.subTest(path.read_text()):
                mentions = [error.message for error in schema.iter_errors(yaml.safe_load(path.read_text()))]
                self.assertEqual(good, not mentions, f"the schema says {mentions}")
                self.assertEqual(good, entry["usable"], entry["reason"])
                if not good:
                    self.assertRegex(entry["reason"], r"\Axsp: [^\n]*\S+/[0-9]+\.yml:[0-9]+: [^\n]+; try: [^\n]+\Z")

    def test_the_schema_is_one_and_knows_the_frameworks(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        known = {entry["predictor"] for entry in json.loads(self.xsp("check", "--json").stdout) if "predictor" in entry}
        pattern = SCHEMA["properties"]["framework"]["properties"]["name"]["pattern"]
        for name in known:
            self.assertTrue(re.match(pattern, name) and re.match(pattern, name.title()) and not re.match(pattern, name + "s"), name)
        self.assertEqual(len(known), pattern.count("|") + 1)

    def test_good_ones(self):
        tensor = {"name": "data", "type": "float32", "shape": ["N", 8]}
        self.agree([manifest(**changes) for changes in (
                {}, {"description": "d", "reference": "r", "license": "l"},
                *({"task": task} for task in SCHEMA["properties"]["task"]["enum"]),
                *({"framework": {"name": "script", "version": version}} for version in
                  (">=2.14", ">= 1.2, != 1.3,<2", "~=1.2", "==2.0rc1", "<3.0.dev1", "^1.x", "\u02c61.x", "~1.2", "1.0", "1.x.*", "*", "^0.1,<1",
                   1, 1.25)),
                *({"permissions": value} for value in ({"view": ["ann"]}, {"use": ["a.b-c_1", "bob"], "view": ["c" * 64]})),
                {"device": "cpu"}, {"device": "OpenVINO:NPU"}, {"accuracy": {"top1_pct": 76.1, "source": "the paper"}},
                {"accuracy": {"mask_map_pct": 34.6, "source": "s"}},
                {"accuracy": {"map_pct": 0, "cer_pct": 100, "source": "s", "data_set": "COCO"}},
                {"hardware": "gpus>=1"}, {"task": None}, {"version": 1}, {"version": 1.5}, {"framework": {"name": "Script"}}, {"framework": {"name": "MXNet"}},
                *({"element_type": kind, "inputs": [{"name": "a"}]} for kind in ("float32", "int8")),
                {"container": {"amd64": {"cpu": "mlmodelscope/mxnet:1-4-0_amd64-cpu", "gpu": "a@sha256:0f"}, "ppc64le": {"gpu": "b"}}},
                {"framework": {"name": "script", "container": {"arm64": {"cpu": "a/b"}}}},
                {"preprocess": "def f(env, data):\n  return data\n", "postprocess": "import os\ndef g(e, d): return d\n"},
                *({"attributes": attributes} for attributes in
                  ({}, {"training_dataset": [{"name": "ImageNet"}, {"version": "1.0.0"}]}, {"a": {"b": [1, 2.5, True], "c": {"d": "x"}}})),
                {"model": {"graph_path": "a.json"}}, {"model": {"graph_path": "a.json", "weights_path": "b/c.params", "weights_sha256": "0f" * 32}},
                {"outputs": [{"type": "feature", "parameters": {"url": "https://example.org/synset.txt"}}]},
                *({"inputs": [{**tensor, "type": kind}]} for kind in
                  SCHEMA["properties"]["inputs"]["items"]["anyOf"][0]["properties"]["type"]["enum"]),
                *({"inputs": [{**tensor, "fill": fill}]} for fill in
                  ("uniform", "zeros", "ones", {"constant": -1.5}, {"constant": 2}, {"uniform": [0, 1.5]},
                   {"integers": [-3, 3]}, {"file": "x.npy"})),
                {"inputs": [{"name": "a"}], "outputs": [{"name": "y", "shape": []}]},
                {"inputs": [tensor], "dims": None}, {"dims": {"sequence": 128, "x.1": 4}}, {"batches": [1, 2, 64]},
                {"model": {"package": "a-b.c_d==1.4.4", "file": "a/b.onnx", "sha256": "aA" * 32}},
                {"model": {"package": "a", "file": "..a/b..onnx"}},
                {"model": {"generator": "g/a.py", "produces": "x.pb", "arguments": ["a", "-b"], "uses": ["../c.py"],
                           "python": ["numpy", "onnx>=1,<9"]}},
                *({"inputs": [{"type": "image", "parameters": {"dimensions": [3, 227, 227], **more}}]} for more in
                  ({}, {"color_mode": "BGR", "layout": "NHWC"}, {"mean": [0, 0, 0]}, {"mean": -1.5, "scale": 2},
                   {"scale": [0.5, 1, 2]}, {"element_type": "uint8"}, {"resize": 256}, {"resize": [300, 200]}, {"resize": "none"},
                   {"filter": "lanczos"}, {"resize": "letterbox", "pad": 114}, {"resize": 8, "pad": 0})),
                {"inputs": [{"type": "image", "name": "a", "parameters": {"dimensions": [1, 8, 9], "color_mode": "GRAY"}}, tensor]},
                {"outputs": [{"type": "feature"}]}, {"outputs": [{"type": "feature", "name": "y", "parameters": {"labels": "x.txt"}}]},
                *({"outputs": [{"type": "boxes", "name": "y", "parameters": {"format": "cxcywh", **more}}]} for more in
                  ({}, *({"format": form} for form in ("xyxy", "yxyx", "xywh")), {"normalized": True, "transposed": False, "most": 1000},
                   {"columns": ["box", "objectness", "scores"], "score_threshold": -1.5, "iou_threshold": 0.45, "class_agnostic": True},
                   {"columns": ["item", "class", "score", "box"], "labels": "x.txt", "score_threshold": 1}, {"iou_threshold": 0},
                   {"scores": "s", "classes": "c"}, {"scores": "s", "transposed": True})),
                *({"outputs": [{"type": "instances", "parameters": {"format": "xyxy", "masks": "m", **more}}]} for more in
                  ({}, {"scores": "s", "classes": "c", "mask_threshold": 0, "mask_of": "input"}, {"mask_of": "box", "labels": "x.txt"})),
                *({"outputs": [{"type": "mask", "parameters": parameters}]} for parameters in
                  ({}, {"threshold": 0.3}, {"layout": "NHWC", "ignore": 255, "labels": "x.txt"})), {"outputs": [{"type": "mask"}]},
                *({"outputs": [{"type": "text", "parameters": {"vocabulary": "x.txt", **more}}]} for more in
                  ({}, {"decoding": "ctc", "blank": 5}, {"decoding": "greedy", "stop": 2, "separator": " "}, {"stop": 0})),
                {"version": "2024-01-01"}, {"name": "A" * 100}, {"inputs": [{"name": "a", "shape": [2147483647] * 16}]})], good=True)

    def test_bad_ones(self):
        tensor = {"name": "data", "type": "float32", "shape": ["N", 8]}
        sixty_five = [{"name": f"i{i}"} for i in range(65)]
        bad = [manifest(**changes) for changes in (
                *({key: None} for key in ("name", "version", "framework", "model")),
                *({"version": value} for value in (-1, True, [], {}, "")),
                *({key: value} for key in ("name", "task", "description", "reference", "license")
                  for value in (1, 1.5, True, [], {}, [1], "")),
                {"name": "a b"}, {"name": "a/b"}, {"name": "-a"}, {"name": "A" * 101}, {"task": "Text"}, {"unknown": 1},
                {"version": "1 0"}, {"framework": "script"}, {"framework": {}}, {"framework": {"name": "scrip"}},
                {"framework": {"name": "script", "versions": "1"}}, {"framework": {"version": ">=1"}},
                *({"framework": {"name": "script", "version": version}} for version in
                  (">=", "~=1", "=>1", ">=1,", ">=1 <2", "==1.*", "", "^", "^x", "1.x.2", "1.xx", "1rc1.x", True, [1], None)),
                {"framework": {"name": "mxnets"}}, {"framework": {"name": "script", "container": {"amd64": "a"}}},
                *({"element_type": kind} for kind in ("float", 1, ["float32"])),
                *({"container": container} for container in
                  ({}, [], "a", {"amd64": {}}, {"x86_64": {"cpu": "a"}}, {"amd64": {"tpu": "a"}}, {"amd64": {"cpu": ""}}, {"amd64": {"cpu": "-v"}},
                   {"amd64": {"cpu": "a b"}}, {"amd64": {"cpu": 1}})),
                *({key: value} for key in ("preprocess", "postprocess") for value in (1, [["code"]], "", "data * 2", "def f(): pass\n" + "#" * 65536)),
                *({"permissions": value} for value in ({}, [], "ann", {"run": ["ann"]}, {"use": []}, {"use": "ann"}, {"use": [1]}, {"view": [""]},
                                                       {"view": ["a b"]}, {"view": ["a,b"]}, {"use": ["c" * 65]})),
                *({"accuracy": value} for value in ({}, 76.1, {"top1_pct": 76.1}, {"source": "s", "data_set": "d"}, {"top1_pct": "76 %", "source": "s"},
                                                    {"top1_pct": 100.5, "source": "s"}, {"top1_pct": -1, "source": "s"}, {"top9_pct": 1, "source": "s"})),
                {"device": ""}, {"device": 1}, {"device": "/dev/gpu"}, {"hardware": 8}, {"hardware": ""}, {"attributes": "ImageNet"}, {"attributes": [1]},
                {"model": {"weights_path": "a"}}, {"model": {"graph_path": "a", "path": "b"}}, {"model": {"graph_path": "a", "graph_sha256": "ab"}},
                {"outputs": [{"type": "feature", "parameters": {"url": "a", "labels": "b"}}]},
                {"model": {}}, {"model": "x.onnx"}, {"model": []}, {"model": {"path": ""}}, {"model": {"path": 1}},
                {"model": {"path": "a", "package": "b", "file": "c"}}, {"model": {"file": "c"}},
                {"model": {"path": "a", "file": "c"}}, {"model": {"package": "a"}}, {"model": {"path": "a", "sha": "b"}},
                {"model": {"path": "a", "sha256": "ab"}}, {"model": {"path": "a", "sha256": "g" * 64}},
                {"model": {"package": "a b", "file": "c"}}, {"model": {"package": "a==", "file": "c"}},
                {"model": {"package": "a", "file": "../c"}}, {"model": {"package": "a", "file": "/c"}},
                {"model": {"package": "a", "file": "b/../c"}}, {"model": {"generator": "a.py"}},
                {"model": {"generator": "../a.py", "produces": "b"}}, {"model": {"generator": "/a.py", "produces": "b"}},
                {"model": {"generator": "a.py", "produces": "b/c"}}, {"model": {"generator": "a.py", "produces": ".."}},
                *({"model": {"generator": "a.py", "produces": "b", key: value}}
                  for key in ("arguments", "python", "uses") for value in ("x", [], [1], [""], ["a"] * 65)),
                {"model": {"generator": "a.py", "produces": "b", "python": ["a b"]}},
                {"inputs": {}}, {"inputs": []}, {"inputs": ["data"]}, {"inputs": [{}]}, {"inputs": sixty_five},
                {"outputs": sixty_five}, {"inputs": [{"type": "float32"}]},
                *({"inputs": [{**tensor, "type": kind}]} for kind in ("float", "double", "Float32", 1, None)),
                *({"inputs": [{**tensor, "shape": shape}]} for shape in
                  ("N", {}, [0], [-1], [2147483648], [1.5], [None], [True], [""], ["a b"], ["1"], [[1]], [1] * 17)),
                *({"inputs": [{**tensor, "fill": fill}]} for fill in
                  ("random", 0, [], {}, {"constant": "a"}, {"uniform": [1]}, {"uniform": [1, 2, 3]}, {"uniform": 1},
                   {"integers": [0.5, 1]}, {"file": 1}, {"zeros": 1}, {"constant": 1, "file": "x"})),
                {"outputs": [{"name": "y", "fill": "zeros"}]},
                *({"inputs": [{"type": "image", "parameters": parameters}]} for parameters in
                  (None, [], {}, {"dimensions": [3, 8]}, {"dimensions": [3, 8, 8, 8]}, {"dimensions": [4, 8, 8]},
                   {"dimensions": [3, 0, 8]}, {"dimensions": [3, 8, 65501]}, {"dimensions": "3"},
                   *({"dimensions": [3, 8, 8], **more} for more in
                     ({"color_mode": "rgb"}, {"layout": "CHW"}, {"mean": []}, {"mean": [1, 2]}, {"mean": "0"}, {"scale": 0},
                      {"scale": [1, 0, 1]}, {"element_type": "float16"}, {"resize": 0}, {"resize": [8]}, {"resize": "fit"},
                      {"filter": "cubic"}, {"shape": [1]}, {"pad": 3}, *({"resize": "letterbox", "pad": pad} for pad in (-1, 256, 0.5, "0")))))),
                {"inputs": [{"type": "image"}]}, {"inputs": [{"type": "image", "shape": [1], "parameters": {"dimensions": [3, 8, 8]}}]},
                {"outputs": [{"type": "image", "parameters": {"dimensions": [3, 8, 8]}}]}, {"inputs": [{"type": "feature"}]},
                {"outputs": [{"type": "feature", "parameters": {"label": "x"}}]}, {"outputs": [{"type": "feature", "parameters": {"labels": ""}}]},
                *({"outputs": [{"type": "boxes", "parameters": parameters}]} for parameters in
                  (None, {}, {"format": "xxyy"}, {"format": "XYXY"}, *({"format": "xyxy", **more} for more in
                    ({"normalized": "true"}, {"transposed": 1}, {"columns": []}, {"columns": "box"}, {"columns": ["box"]}, {"columns": ["scores"]},
                     {"columns": ["box", "score", "scores"]}, {"columns": ["box", "scores", "class"]}, {"columns": ["box", "box", "scores"]},
                     {"columns": ["box", "labels"]}, {"columns": ["box", "scores"], "scores": "s"}, {"classes": "c"}, {"scores": ""},
                     {"score_threshold": "0"}, {"iou_threshold": 1}, {"iou_threshold": -0.1}, {"most": 0}, {"most": 1001}, {"most": 1.5},
                     {"class_agnostic": True}, {"class_agnostic": 1, "iou_threshold": 0.5}, {"labels": 1}, {"threshold": 1})))),
                *({"outputs": [{"type": "instances", "parameters": parameters}]} for parameters in
                  (None, {}, {"format": "xyxy"}, {"masks": "m"}, *({"format": "xyxy", "masks": "m", **more} for more in
                    ({"masks": ""}, {"masks": 1}, {"mask_threshold": "0"}, {"mask_of": "picture"}, {"columns": ["box"]}, {"threshold": 0.5})))),
                {"outputs": [{"type": "boxes", "parameters": {"format": "xyxy", "masks": "m"}}]}, {"outputs": [{"type": "instances"}]},
                {"outputs": [{"type": "boxes"}]}, {"inputs": [{"type": "boxes", "parameters": {"format": "xyxy"}}]},
                *({"outputs": [{"type": "mask", "parameters": parameters}]} for parameters in
                  ([], {"threshold": "0"}, {"layout": "HWC"}, {"ignore": 256}, {"ignore": -1}, {"threshold": 0, "layout": "NCHW"}, {"format": "xyxy"})),
                *({"outputs": [{"type": "text", "parameters": parameters}]} for parameters in
                  (None, {}, {"vocabulary": ""}, *({"vocabulary": "x", **more} for more in
                    ({"decoding": "beam"}, {"blank": 0}, {"decoding": "ctc", "stop": 1}, {"decoding": "ctc", "blank": -1}, {"stop": 0.5},
                     {"separator": ""}, {"labels": "x"})))),
                {"outputs": [{"type": "text"}]},
                {"dims": {}}, {"dims": []}, {"dims": {"a": 0}}, {"dims": {"a": "1"}}, {"dims": {"a=b": 1}},
                {"dims": {"a": 2147483648}}, {"batches": []}, {"batches": 1}, {"batches": [0]}, {"batches": [1.5]},
                {"batches": ["1"]}, {"batches": [1048577]}, {"batches": [2, 2]}, {"batches": list(range(1, 66))})]
        self.agree(bad + ["[]", "name", "1", "~"], good=False)

    def test_types_of_plain_words_are_those_of_yaml(self):
        head = "version: '1'\ntask: other\nframework: {name: script}\nmodel: {path: a}\nname: "
        self.agree([head + word for word in ("no", "Off", "TRUE", "1", "1.0", "1_000", "0x1F", "017", "1:30", ".5", "1.e+3", ".inf", "~", "null",
                     "2024-01-01", "-1")], good=False)
        self.agree([head + word for word in ("y", "n", "nope", "1e3", "1.0.0", "0o17", "v1", "1-2", "'1.0'", '"no"', "12e03", "tRUE")], good=True)

    def test_the_examples_of_the_documentation(self):
        text = (SOURCE / "docs" / "manifests.md").read_text()
        blocks = re.findall(r"```yaml\n(.*?)```", text, re.S)
        whole = [block for block in blocks if block.startswith("name:")]
        parts = [block for block in blocks if block.startswith("model:")]
        parts += [block for block in blocks if block.startswith("preprocess:")]
        self.assertEqual((len(whole), len(parts)), (3, 3))
        self.agree(whole + [manifest(**yaml.safe_load(block)) for block in parts], good=True)

    def test_pictures_that_keys_together_cannot_make(self):
        """Beyond the schema."""
        def refused(reason, *entries):
            result = self.xsp("check", "--syntax", self.write(manifest(inputs=list(entries))), status=2)
            self.assertIn(reason, result.line)
        for reason, more in (("color_mode", {"color_mode": "GRAY"}), ("color_mode", {"dimensions": [1, 8, 8], "color_mode": "RGB"}),
                             ("channels", {"dimensions": [1, 8, 8], "mean": [1, 2, 3]}), ("channels", {"scale": [2]}),
                             ("uint8", {"element_type": "uint8", "mean": 3}), ("too large", {"dimensions": [3, 20000, 20000]})):
            with self.subTest(more):
                refused(reason, {"type": "image", "parameters": {"dimensions": [3, 8, 8], **more}})
        refused("each needs a name", {"type": "image", "parameters": {"dimensions": [3, 8, 8]}}, {"name": "b"})

    def test_the_manifests_of_this_checkout(self):
        self.agree([path.read_text() for path in sorted((SOURCE / "lab/models").glob("*.yml"))], good=True)

    def test_hostile_files(self):
        good = yaml.safe_dump(manifest(description="d" * 100))
        cases = {
            "NUL": (b"name: a\0b\n", "net.yml:1: .*control"),
            "no text": (b"name: a\n\xff\xfe\n", "net.yml:2: "),
            "UTF-16": (good.encode("utf-16"), "net.yml:1: "),
            "tab": ("name: a\n\tversion: 1\n", "tabs"),
            "deep": ("[" * 100000, "nested"),
            "deep blocks": ("\n".join(" " * i + "a:" for i in range(500)), "nested"),
            "bomb": ("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "anchors"),
            "alias": ("name: *a\n", "aliases"),
            "tag": ("name: !!python/object/apply:os.system [id]\n", "tags"),
            "two": (good + "---\n" + good, "second document"),
            "twice": (good + "name: b\n", "twice"),
            "huge size": (good + "inputs: [{name: a, shape: [" + "9" * 100 + "]}]\n", "whole number"),
            "huge number": (good + "inputs: [{name: a, fill: {constant: 1.0e+999}}]\n", "number"),
            "octal": (good + "batches: [010]\n", "whole number"),
            "octal value": (good + "inputs: [{name: a, fill: {constant: 010}}]\n", "number"),
            "long word": (good + "inputs: [{name: a, shape: [" + "a" * 100000 + "]}]\n", "net.yml"),
            "many": (good + "inputs: [" + "{name: a}," * 5000 + "]\n", "too many"),
            "escape": ('name: "a\\e[31m"\n', "net.yml:1: .*name"),
            "large": (b"# " + b"x" * 100_000_000, "256 KiB"),
            "empty": ("", "empty"),
            "comment": ("# nothing\n", "empty"),
        }
        for name, (content, reason) in cases.items():
            with self.subTest(name):
                result = self.xsp("check", self.write(content), status=2)
                self.assertRegex(result.line, reason)
                self.assertNotIn("\x1b", result.line)
                self.assertLess(len(result.line), 2000)
        cuts = [self.write(good[:cut], f"{cut}.yml") for cut in range(len(good) - 150)]
        for entry in json.loads(self.xsp("check", "--syntax", "--json", *cuts, status=2, lines=len(cuts)).stdout):
            self.assertFalse(entry["usable"])
        self.assertIn("manifest", self.xsp("check", self.folder / "missing.yml", status=2).line)
        folder = self.folder / "folder.yml"
        folder.mkdir()
        self.assertIn("manifest", self.xsp("check", folder, status=2).line)


class AddressTest(ManifestCase):
    """Models that are somewhere else: by HTTP, in a repository; a graph and its weights with checksums of their own."""

    def setUp(self):
        super().setUp()
        self.environment["XSP_ASSET_CACHE"] = str(self.folder / "assets")
        self.sha256 = hashlib.sha256(SCRIPT.encode()).hexdigest()
        (self.folder / "net.xspscript").unlink()

    def test_a_model_is_fetched_once(self):
        with file_server.FileServer() as server:
            place = server.places["/a/net.xspscript"] = file_server.Place(SCRIPT.encode())
            url = f"{server.url}/a/net.xspscript"
            for _ in range(2):
                self.profile(manifest(model={"path": url, "sha256": self.sha256}))
            self.assertEqual(len(place.requests), 1)
            self.assertEqual((self.workload()["source"], self.workload()["sha256"]), (f"path {url}", self.sha256))
            line = self.profile(manifest(model={"path": url, "sha256": "0f" * 32}), status=2).line
            self.assertIn(self.sha256, line)
            self.assertIn(f"{server.url}/b", self.profile(manifest(model={"path": f"{server.url}/b"}), status=2).line)

    def test_a_repository_is_a_folder_or_an_address(self):
        (self.folder / "repository" / "a").mkdir(parents=True)
        (self.folder / "repository" / "a" / "net.xspscript").write_text(SCRIPT)
        good = manifest(model={"graph_path": "repo://a/net.xspscript", "graph_sha256": self.sha256})
        self.profile(good, env={"XSP_REPOSITORY": str(self.folder / "repository")})
        with file_server.FileServer() as server:
            server.places["/there/a/net.xspscript"] = file_server.Place(SCRIPT.encode())
            self.profile(good, env={"XSP_REPOSITORY": f"{server.url}/there"})
        self.assertIn("XSP_REPOSITORY", self.profile(good, status=3).line)

    def test_checksums_of_graph_and_weights(self):
        (self.folder / "net.xspscript").write_text(SCRIPT)
        self.profile(manifest(model={"graph_path": "net.xspscript", "graph_sha256": self.sha256}))
        self.assertIn(self.sha256, self.profile(manifest(model={"graph_path": "net.xspscript", "graph_sha256": "0f" * 32}), status=2).line)
        (self.folder / "w.bin").write_bytes(b"w")
        self.assertIn("are not a graph and weights",
                      self.profile(manifest(model={"graph_path": "net.xspscript", "weights_path": "w.bin"}), status=2).line)


class ProfileTest(ManifestCase):
    def test_a_path_and_what_is_kept(self):
        sha256 = hashlib.sha256(SCRIPT.encode()).hexdigest()
        path = self.write(manifest(name="TinyNet", task="text", reference="nobody, 2026", batches=[1, 4],
                                   model={"path": "net.xspscript", "sha256": sha256.upper()}))
        self.profile(path)
        self.assertEqual(self.workload(), {
            "model_name": "TinyNet", "model_version": "1.0", "task": "text", "graph_bytes": len(SCRIPT), "sha256": sha256,
            "source": "path net.xspscript", "manifest": str(path), "reference": "nobody, 2026"})
        self.assertEqual(self.sql("select name from experiment"), [{"name": "TinyNet"}])
        self.assertRegex(self.xsp("info", self.output).stdout, r"\n  model +graph_bytes +[0-9.]+ .*\n +manifest ")
        self.assertEqual([row["batch_size"] for row in self.sql("select distinct batch_size from run order by 1")], [1, 4])
        self.profile(path, "--batch", "2")
        self.assertEqual(self.sql("select distinct batch_size from run"), [{"batch_size": 2}])

    def test_what_is_around_the_model_is_kept(self):
        """Containers of this machine, attributes by their path, the licence; a type for inputs that have none."""
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
        path = self.write(manifest(task=None, license="MIT", element_type="float32", inputs=[{"name": "data"}],
                                   container={machine: {"cpu": "net:cpu", "gpu": "net:gpu"}, "s390x": {"cpu": "other"}},
                                   accuracy={"top1_pct": 76.13, "source": "its authors", "data_set": "ImageNet"},
                                   attributes={"training_dataset": [{"name": "ImageNet"}, {"version": "1.0.0"}], "tags": ["a", 2]}))
        self.profile(path)
        kept = self.workload()
        self.assertEqual({key: kept[key] for key in kept if key.startswith(("attribute", "container", "license", "reported", "task"))}, {
            "reported.top1_pct": 76.13, "reported.source": "its authors", "reported.data_set": "ImageNet",
            "attribute.training_dataset.name": "ImageNet", "attribute.training_dataset.version": "1.0.0", "attribute.tags": "a, 2",
            "container_cpu": "net:cpu", "container_gpu": "net:gpu", "license": "MIT"})
        self.profile(manifest(hardware="cpus>=1,memory>=1MiB"))
        self.assertIn("this machine misses cpus>=100000", self.profile(manifest(hardware="cpus>=1,cpus>=100000"), status=3).line)
        self.assertIn("net.yml:8: hardware: ", self.profile(manifest(hardware="wheels>=4"), status=2).line)
        path = self.write(manifest(element_type="int64", inputs=[{"name": "data"}]))
        self.assertIn("int64", self.xsp("profile", path, "-q", "-o", self.folder / "no.xsp", status=2).line)

    def test_a_long_path_keeps_the_line(self):
        folder = self.folder
        for _ in range(4):
            folder = folder / ("d" * 200)
        folder.mkdir(parents=True)
        (folder / "net.yml").write_text("name: a\nversion: -1\n")
        self.assertRegex(self.xsp("check", folder / "net.yml", status=2).line, r": \.\.\.[d/]+net\.yml:2: version ")

    def test_a_plain_model_says_its_size(self):
        self.xsp("profile", self.folder / "net.xspscript", "-q", "-o", self.output, "--runs", 1)
        self.assertEqual(self.workload(), {"model_name": "net", "graph_bytes": len(SCRIPT),
                                           "source": f"path {self.folder}/net.xspscript"})

    def test_another_checksum_names_both(self):
        model = {"path": "net.xspscript", "sha256": "ab" * 32}
        line = self.profile(manifest(model=model), status=2).line
        self.assertIn("ab" * 32, line)
        self.assertIn(hashlib.sha256(SCRIPT.encode()).hexdigest(), line)
        self.assertRegex(line, r"net\.yml:8: sha256 ")
        self.assertFalse(self.output.exists())

    def test_frameworks_and_versions(self):
        line = self.profile(manifest(), "--framework", "onnxruntime", status=2).line
        self.assertRegex(line, "net.yml:5: .*script.* --framework .*onnxruntime")
        self.profile(manifest(), "--framework", "script")
        self.profile(manifest(framework={"name": "script", "version": ">=1"}))
        line = self.profile(manifest(framework={"name": "script", "version": ">=2,<3"}), status=3).line
        self.assertRegex(line, r"net\.yml:6: script 1 .*>=2,<3; try: .*--library script=")
        self.assertIn("try: script", self.profile(manifest(framework={"name": "scrip"}), status=2).line)
        line = self.profile(manifest(framework={"name": "onnxruntime", "version": ">=99"}),
                            "--library", "onnxruntime=/nowhere", status=3).line
        self.assertIn("/nowhere", line)

    def test_inputs_are_held_against_the_model(self):
        def inputs(**changes):
            return manifest(inputs=[{"name": "data", "type": "float32", "shape": ["N", 8], **changes}])
        self.profile(inputs())
        for changes, reason, advice in (
                ({"name": "dato"}, "no input dato", "data"),
                ({"type": "int8"}, "float32 .*int8", "type: float32"),
                ({"shape": ["N", 9]}, "dimension 1 .*8 .*9", "shape: [N,8]"),
                ({"shape": ["N", "x"]}, "8 .* x", "shape: [N,8]"),
                ({"shape": ["N"]}, "2 dimensions.* 1 ", "shape: [N,8]")):
            with self.subTest(changes):
                line = self.profile(inputs(**changes), status=2).line
                self.assertIn("net.yml:9: ", line)
                self.assertRegex(line, reason)
                self.assertIn("try: " + advice, line)
        (self.folder / "net.xspscript").write_text("input more float N\n" + SCRIPT)
        self.assertIn("an input more", self.profile(inputs(), status=2).line)
        self.assertRegex(self.profile(manifest(model={"path": "no.xspscript"}), status=2).line, "net.yml:[67]: .*model")

    def onnx_model(self, name="m.onnx"):
        value = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g",
                                  [value("x", TensorProto.FLOAT, ["batch", "rows", None])],
                                  [value("y", TensorProto.FLOAT, ["batch", "rows", None])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(model, self.folder / name)

    def test_the_examples_of_the_documentation_run(self):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("GlobalAveragePool", ["data"], ["mean"]), helper.make_node("Flatten", ["mean"], ["flat"]),
             helper.make_node("MatMul", ["flat", "weights"], ["probabilities"])], "g",
            [value("data", TensorProto.FLOAT, ["N", 3, 224, 224])], [value("probabilities", TensorProto.FLOAT, ["N", 1000])],
            [helper.make_tensor("weights", TensorProto.FLOAT, [3, 1000], b"\0" * 12000, raw=True)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
                  self.folder / "squeezenet.onnx")
        text = (SOURCE / "docs" / "manifests.md").read_text()
        for block in re.findall(r"```yaml\n(name: SqueezeNet.*?)```", text, re.S):
            self.profile(self.write(block), "--no-peaks")
            self.assertEqual(self.workload()["model_name"], "SqueezeNet_v1.1")
        self.assertEqual([row["batch_size"] for row in self.sql("select distinct batch_size from run order by 1")],
                         [1, 2, 4, 8])

    def test_dimensions_that_the_model_leaves_free(self):
        self.onnx_model()
        whole = manifest(framework={"name": "onnxruntime", "version": ">=1.20"}, model={"path": "m.onnx"},
                         inputs=[{"name": "x", "shape": ["N", "sequence", 4]}], dims={"sequence": 16},
                         outputs=[{"name": "y", "type": "float32"}])
        self.profile(whole)
        shapes = "select distinct value from tag where key='layer_shape'"
        self.assertEqual(self.sql(shapes), [{"value": "[1,16,4]"}])
        self.profile(whole, "--dim", "sequence=3", "--batch", "2")
        self.assertEqual(self.sql(shapes), [{"value": "[2,3,4]"}])
        self.assertEqual(self.check(whole)["inputs"],
                         [{"name": "x", "type": "float32", "shape": "[N,sequence,4]", "fill": "by type and name"}])
        del whole["dims"]
        self.assertIn('"sequence"', self.profile(whole, status=2).line)
        for output, reason in (({"name": "z"}, "no output z"),
                               ({"name": "y", "type": "int8"}, "output y .*float32"),
                               ({"name": "y", "shape": ["N"]}, "output y .*3 dimensions.* 1 ")):
            line = self.profile({**whole, "dims": {"sequence": 3}, "outputs": [output]}, status=2).line
            self.assertRegex(line, reason)

    def test_outputs_that_nobody_tells_are_said_to_be_unchecked(self):
        path = self.write(manifest(outputs=[{"name": "y"}]))
        result = self.xsp("profile", path, "-f", "-o", self.output, "--runs", 1)
        self.assertRegex(result.stderr, f"outputs .*{path} .*not checked: script")
        self.assertFalse(self.check(path)["outputs_checked"])
        self.assertIn("not checked: script", self.xsp("check", path).stdout)

    def test_values_come_from_a_file(self):
        import numpy
        numpy.save(self.folder / "x.npy", numpy.ones((1, 8), numpy.float32))
        self.profile(manifest(inputs=[{"name": "data", "fill": {"file": "x.npy"}}]))
        numpy.save(self.folder / "x.npy", numpy.ones((1, 9), numpy.float32))
        self.assertIn("x.npy", self.profile(manifest(inputs=[{"name": "data", "fill": {"file": "x.npy"}}]), status=2).line)
        numpy.save(self.folder / "y.npy", numpy.ones((1, 8), numpy.float32))
        self.profile(manifest(inputs=[{"name": "data", "fill": {"file": "x.npy"}}]), "--input",
                     f"data={self.folder}/y.npy")
        for fill in ("zeros", "ones", {"constant": 1.5}, {"uniform": [0, 1]}, {"integers": [0, 9]}):
            self.check(manifest(inputs=[{"name": "data", "fill": fill}]))

    def test_files_that_belong_to_a_model(self):
        weights = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], b"\0" * 16384, raw=True)
        value = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                                  [value("x", TensorProto.FLOAT, ["N", 64])],
                                  [value("y", TensorProto.FLOAT, ["N", 64])], [weights])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(model, self.folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
        (self.folder / "other.bin").write_bytes(b"not of this model")
        found = self.check(manifest(framework={"name": "onnxruntime"}, model={"path": "m.onnx"}))
        files = [self.folder / "m.onnx", self.folder / "w.bin"]
        self.assertEqual(found["graph_bytes"], sum(file.stat().st_size for file in files))
        listing = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
        self.assertEqual(found["sha256"], hashlib.sha256(listing.encode()).hexdigest())


class SourcesTest(ManifestCase):
    def environment_with(self, name, version, **files):
        """A Python environment in which the package is installed, for what reads its metadata."""
        packages = self.folder / "environment" / "lib" / "python3.11" / "site-packages"
        folder = packages / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: of nothing\n")
        for file, content in files.items():
            (packages / name).mkdir(exist_ok=True)
            (packages / name / file).write_text(content)
        return {"VIRTUAL_ENV": str(self.folder / "environment")}

    def test_a_file_of_an_installed_package(self):
        env = self.environment_with("Some.Models", "1.4.4", net_xspscript="")
        packages = self.folder / "environment" / "lib" / "python3.11" / "site-packages"
        (packages / "some_models").mkdir()
        (packages / "some_models" / "net.xspscript").write_text(SCRIPT)
        model = {"package": "some-models>=1.4,<2", "file": "some_models/net.xspscript"}
        self.profile(manifest(model=model), env=env)
        self.assertEqual(self.workload()["source"], "package some-models 1.4.4: some_models/net.xspscript")
        line = self.profile(manifest(model={**model, "package": "some-models==2.0"}), status=3, env=env).line
        self.assertRegex(line, r"net\.yml:7: some-models 1\.4\.4 .*==2\.0; try: pip install some-models==2\.0")
        line = self.profile(manifest(model={**model, "file": "some_models/no.xspscript"}), status=2, env=env).line
        self.assertIn("some_models/no.xspscript", line)
        line = self.profile(manifest(model={**model, "package": "some-model"}), status=3, env=env).line
        self.assertRegex(line, "some-model .*environment; try: pip install some-model")

    def test_a_model_that_the_test_environment_has(self):
        model = {"package": "onnxruntime", "file": "onnxruntime/datasets/mul_1.onnx"}
        self.profile(manifest(framework={"name": "onnxruntime"}, model=model,
                              inputs=[{"name": "X", "type": "float32", "shape": [3, 2], "fill": "ones"}],
                              outputs=[{"name": "Y", "type": "float32", "shape": [3, 2]}]), "--batch", "3")

    def generated(self, *arguments, **keys):
        (self.folder / "make.py").write_text(GENERATOR)
        return self.write(manifest(model={"generator": "make.py", "produces": "net.xspscript",
                                          "arguments": list(arguments), **keys}))

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def entries(self):
        return sorted(entry.name for entry in self.cache.iterdir())

    def test_a_generator_is_run_once(self):
        path = self.generated("well", "-x")
        self.assertIn("Net with make.py", self.xsp("check", path).stderr)
        self.profile(path)
        self.assertEqual(self.calls(), ["well -x"])
        self.assertRegex(self.entries()[0], r"\ANet-1\.0-[0-9a-f]{16}\Z")
        self.assertEqual(self.workload()["source"], "generator make.py well -x")
        self.profile(self.generated("well", "other"))
        self.assertEqual(len(self.entries()), 2)
        self.profile(self.generated("well", "-x"))
        (self.folder / "make.py").write_text(GENERATOR + "# changed\n")
        self.profile(path)
        self.assertEqual(self.calls(), ["well -x", "well other", "well -x"])
        self.assertFalse((self.folder / "__pycache__").exists())

    def test_a_generator_that_fails_leaves_nothing(self):
        line = self.profile(self.generated("fail"), status=3).line
        self.assertRegex(line, r"net\.yml:7: make\.py .*status 1; .*: no weights for you; try: python3")
        self.assertEqual(self.entries(), [])
        line = self.profile(self.generated("nothing"), status=3).line
        self.assertIn("net.xspscript", line)
        self.assertEqual(self.entries(), [])
        line = self.profile(self.generated("well", python=["numpy==0.1"]), status=3).line
        self.assertRegex(line, "==0.1; try: pip install numpy==0.1")
        self.assertFalse((self.folder / "never").exists())
        self.assertEqual(self.calls(), ["fail", "nothing"])

    def test_what_is_run_lies_in_the_manifests_folder(self):
        path = self.generated("well")
        inner = self.folder / "inner"
        inner.mkdir()
        (inner / "net.yml").write_text(path.read_text())
        (inner / "make.py").symlink_to("../make.py")
        line = self.profile(inner / "net.yml", status=2).line
        self.assertIn("make.py is outside", line)
        (inner / "make.py").unlink()
        (inner / "make.py").write_text(GENERATOR)
        line = self.profile(self.write(manifest(model={
            "generator": "make.py", "produces": "a.xspscript", "uses": ["../other.py"]}), "inner/net.yml"), status=2).line
        self.assertIn("../other.py", line)
        (inner / "other.py").symlink_to("../make.py")
        line = self.profile(self.write(manifest(framework={"name": "program"}, model={"path": "other.py"}), "inner/net.yml"),
                            status=2).line
        self.assertIn("other.py is outside", line)
        self.assertFalse((self.folder / "calls").exists())

    def start(self, path, *options):
        process = subprocess.Popen([XSP, "check", path, *options], env=self.environment, stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, WAIT_S)
        self.addCleanup(process.kill)
        return process

    def until(self, what):
        end = time.monotonic() + WAIT_S
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_what_a_generator_started_ends_with_it(self):
        child = self.folder / "child"
        (self.folder / "make.py").write_text(
            "import pathlib, subprocess\n"
            f"pathlib.Path({str(child)!r}).write_text(str(subprocess.Popen(['sleep', '600']).pid))\n" + GENERATOR)
        self.xsp("check", self.write(manifest(model={"generator": "make.py", "produces": "net.xspscript",
                                                     "arguments": ["well"]})))
        number = int(child.read_text())
        self.until(lambda: state_of(number) in (None, "Z"))

    def test_two_that_want_the_same_model_make_it_once(self):
        path = self.generated("wait")
        first = self.start(path)
        self.until(lambda: (self.folder / "calls").exists() and self.calls())
        second = self.start(path)
        self.assertIn("Net-1.0-", second.stderr.readline())
        (self.folder / "go").touch()
        self.assertEqual((first.wait(WAIT_S), second.wait(WAIT_S)), (0, 0))
        self.assertEqual(self.calls(), ["wait"])
        self.assertEqual(len(self.entries()), 1)

    def test_an_interrupted_one_leaves_nothing(self):
        for number, status in ((signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM)):
            process = self.start(self.generated("wait", number.name))
            self.until(lambda: (self.folder / "calls").exists() and self.calls()[-1:] == [f"wait {number.name}"])
            process.send_signal(number)
            self.assertEqual(process.wait(WAIT_S), status)
            self.assertEqual(self.entries(), [])

    def test_a_killed_one_is_cleared_by_the_next(self):
        path = self.generated("wait")
        process = self.start(path)
        self.until(lambda: (self.folder / "calls").exists() and self.calls())
        process.kill()
        process.wait(WAIT_S)
        making = next(self.cache.glob(".*.making"))
        (making / "net.xspscript").write_text("half")
        (self.folder / "go").touch()
        self.profile(path)
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(self.calls(), ["wait", "wait"])

    def test_a_made_model_of_others_is_not_used(self):
        path = self.generated("well")
        before = os.umask(0o002)  # of many systems, where each user has a group: a made model is the user's all the same
        try:
            self.profile(path)
            self.profile(path)
        finally:
            os.umask(before)
        made = self.cache / self.entries()[0]
        made.chmod(0o777)
        self.assertIn("other users can write to it", self.profile(path, status=3).line)
        made.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(made, strangers.STRANGER, -1)
            self.assertIn("not a folder of yours", self.profile(path, status=3).line)
        self.assertEqual(self.calls(), ["well"])

    def test_a_lock_that_is_a_link_is_not_followed(self):
        path = self.generated("well")
        self.profile(path)
        made = self.cache / self.entries()[0]
        made.rename(self.folder / "away")
        (self.cache / f".{made.name}.lock").symlink_to(self.folder / "victim")
        self.assertIn(".lock", self.profile(path, status=3).line)
        self.assertFalse((self.folder / "victim").exists())

    def test_a_cache_that_cannot_be_written(self):
        self.cache.write_text("a file in its place")
        line = self.profile(self.generated("well"), status=3).line
        self.assertIn("XSP_MODEL_CACHE", line)


if __name__ == "__main__":
    unittest.main()
