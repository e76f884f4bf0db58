# SPDX-License-Identifier: Apache-2.0
"""Predictor programs for the tests: one keeps all rules of docs/predictor_protocol.md and logs what it sent; the
others break one rule each."""
import dataclasses
import os
import pathlib
import re
import subprocess

# The two seconds that the protocol gives a program for its end are too short on a busy machine.
CONFORMANCE = [pathlib.Path(os.environ["XSP_SOURCE"]) / "tools" / "predictor_conformance", "--end-timeout", "600"]
PROGRAM = """#!/usr/bin/env python3
import json, mmap, os, socket, sys, threading, time
connection = socket.socket(fileno=int(os.environ["XSP_PREDICTOR_FD"]))
inputs_fd = int(os.environ["XSP_PREDICTOR_INPUTS_FD"])
outputs_fd = int(os.environ["XSP_PREDICTOR_OUTPUTS_FD"])
log = open(@LOG@, "a") if @LOG@ else None
now = time.@CLOCK@_ns
untold, layers, count = @UNTOLD@, False, 0

def work(duration_ns):
    begin = now()
    while now() < begin + duration_ns:
        pass
    return begin, now()

def layer(name, kind, interval, parent=None):
    told = {"name": name, "type": kind, "thread": threading.get_native_id(), "shape": [2, 3], "alloc_bytes": 24,
            "index": len(told_layers), "tags": {"stride": 2, "algorithm": "direct"}}
    told.update({"duration": interval[1] - interval[0]} if "start" in untold else
                {"start": interval[0], "end": interval[1]})
    if parent is not None:
        told["parent"] = parent
    told_layers.append({key: value for key, value in told.items() if key not in untold})

for line in connection.makefile("rb"):
    request = json.loads(line)
    what, answer, raw = request["request"], {}, None
    if what == "open":
        layers = request["layers"]
        answer = {"version": 2, "framework": "testing", "framework_version": "7.5", "clock": "@CLOCK@",
                  "inputs": [{"name": "x", "type": "float32", "shape": ["N", 4]},
                             {"name": "mask", "type": "bool", "shape": ["N", -1, 2]}], "untold": untold, "note": "of the tests"}
    elif what == "prepare":
        memory = mmap.mmap(inputs_fd, request["bytes"])
        if log is not None:
            print(json.dumps([request, memory[:].hex()]), file=log, flush=True)
    elif what == "predict":
        told_layers = []
        before, first, inner, second = work(20_000), work(50_000), None, None
        inner = work(10_000)
        outer = (first[0], inner[1])
        second = work(30_000)
        after = work(15_000)
        layer("conv1", "Conv2d", outer)
        layer("conv1.inner", "Pad", inner, parent=0)
        layer("relu", "ReLU", second)
        answer = {"start": outer[0], "end": second[1], "preprocess": {"start": before[0], "end": before[1]},
                  "postprocess": {"start": after[0], "end": after[1]}}
        if layers:
            answer["layers"] = told_layers
        if request.get("outputs"):
            os.ftruncate(outputs_fd, 72)
            os.pwrite(outputs_fd, bytes(8), 64)
            answer["outputs"] = [{"name": "y", "type": "float32", "shape": [1, 2], "offset": 64}]
        count += 1
        if log is not None:
            print(json.dumps(answer), file=log, flush=True)
    if what == "close":
        pass
    @CODE@
    if what == "close":
        break
    connection.sendall(json.dumps(answer).encode() + b"\\n" if raw is None else raw)
@AFTER@
"""


@dataclasses.dataclass
class Fault:
    rule: str  # of docs/predictor_protocol.md
    when: str  # the request whose answer breaks it
    code: str  # run before the answer is sent
    mentions: str  # xsp's error matches it; "": xsp takes it
    after: str = ""


FAULTS = {
    # open
    "no-version": Fault("fields", "open", 'del answer["version"]', 'open: "version" .*missing'),
    "newer-version": Fault("version", "open", 'answer["version"] = 4', 'open: "version" is 4'),
    "early-simulation": Fault("fields", "open", 'answer["clock"] = "simulated"', 'open: "clock" is "simulated"'),
    "unknown-field": Fault("fields", "open", 'answer["frame_work"] = "x"', 'open: "frame_work" .*field'),
    "wrong-type": Fault("types", "open", 'answer["framework"] = 5', 'open: "framework" .*text'),
    "framework-name": Fault("types", "open", 'answer["framework"] = "a b"', 'open: "framework" .*characters'),
    "long-text": Fault("types", "open", 'answer["note"] = "n" * 1025', 'open: "note" .*1024'),
    "zero-byte": Fault("types", "open", 'answer["note"] = "a\\0b"', 'open: "note" .*zero byte'),
    "clock": Fault("types", "open", 'answer["clock"] = "tsc"', 'open: "clock" '),
    "input-twice": Fault("inputs", "open", 'answer["inputs"][1]["name"] = "x"', r'open: "inputs\[1\]" .*name'),
    "input-type": Fault("inputs", "open", 'answer["inputs"][0]["type"] = "float"',
                        r'open: "inputs\[0\].type" '),
    "input-rank": Fault("inputs", "open", 'answer["inputs"][0]["shape"] = [1] * 17',
                        r'open: "inputs\[0\].shape" .*16'),
    "input-size": Fault("inputs", "open", 'answer["inputs"][0]["shape"] = ["N", 0]',
                        r'open: "inputs\[0\].shape\[1\]" is 0'),
    "too-many-inputs": Fault(
        "inputs", "open", 'answer["inputs"] = [{"name": str(i), "type": "bool", "shape": []} for i in range(1025)]',
        'open: "inputs" .*1024'),
    "untold-word": Fault("types", "open", 'answer["untold"] = ["colour"]', r'open: "untold\[0\]" '),
    "exits": Fault("start", "open", 'sys.exit("no such model: x.pt")',
                   "open: .*exit status 1; .*no such model: x.pt"),
    "raises": Fault("start", "open", 'raise ValueError("a reason")',
                    "open: .*exit status 1; .*ValueError: a reason"),
    "aborts": Fault("start", "open", 'os.abort()', "open: .*signal 6"),
    "closes": Fault("start", "open", 'connection.shutdown(socket.SHUT_RDWR); time.sleep(60)',
                    "open: .*killed"),
    # any answer
    "no-json": Fault("json", "prepare", 'raw = b"done\\n"', "prepare: .*JSON.*byte 0"),
    "no-utf-8": Fault("json", "open", 'raw = json.dumps(answer).encode().replace(b"of the", b"\\xff") + b"\\n"',
                      "open: .*UTF-8.*byte "),
    "no-object": Fault("json", "prepare", 'raw = b"[]\\n"', "prepare: .*object"),
    "deep": Fault("json", "prepare", 'raw = b"{\\"a\\":" + b"[" * 200 + b"]" * 200 + b"}\\n"', 'prepare: "a" .*field'),
    "two-lines": Fault("one-line", "prepare", 'raw = b"{}\\n{}\\n"', "prepare: .*line"),
    "two-objects": Fault("json", "prepare", 'raw = b"{}{}\\n"', "prepare: .*JSON"),
    "endless": Fault("one-line", "prepare", 'raw = b"{}" + b" " * (17 << 20) + b"\\n"',
                     "prepare: .*16 MiB"),
    "half-a-line": Fault("one-line", "prepare", 'raw = b"{"; connection.sendall(raw); break',
                         "prepare: .*exit status 0"),
    "told-twice": Fault("fields", "predict", 'raw = json.dumps(answer).encode()[:-1] + b",\\"end\\":%d}\\n" % answer["end"]',
                        'predict: "end" .*twice'),
    "prepare-once": Fault("prepare", "prepare", 'if request["batch"] != 1: answer = {"error": "batch 1 only"}',
                          "cannot prepare: "),
    # predict
    "no-end": Fault("fields", "predict", 'del answer["end"]', 'predict: "end" .*missing'),
    "fraction": Fault("types", "predict", 'answer["end"] += 0.5', 'predict: "end" .*whole number'),
    "huge": Fault("types", "predict", 'answer["end"] = 10 ** 30', 'predict: "end" .*whole number'),
    "milliseconds": Fault("window", "predict", 'del answer["preprocess"]; answer["start"] //= 10 ** 6',
                          'predict: "start" is '),
    "other-clock": Fault("window", "predict", 'del answer["postprocess"]; answer["end"] = time.time_ns()',
                         'ns after .*clock'),
    "end-first": Fault("order", "predict", 'answer["start"], answer["end"] = answer["end"], answer["start"]',
                       'predict: "end" .*before .*"start"'),
    "preprocess-late": Fault("order", "predict", 'answer["preprocess"]["end"] = answer["end"]',
                             'predict: "preprocess.end" is after'),
    "postprocess-early": Fault("order", "predict", 'answer["postprocess"]["start"] = answer["start"]',
                               'predict: "postprocess.start" is before'),
    "layers-unasked": Fault("layers-asked", "predict", 'answer["layers"] = told_layers',
                            'predict: "layers" .*false'),
    "layers-missing": Fault("layers-asked", "predict", 'answer.pop("layers", 0)', 'predict: "layers" .*missing'),
    "layer-without-name": Fault("layers-told", "predict", 'del told_layers[1]["name"]',
                                r'predict: "layers\[1\].name" .*missing.*"untold"'),
    "layer-untold-told": Fault("layers-told", "predict", 'told_layers[0]["duration"] = 1',
                               r'predict: "layers\[0\].duration" '),
    "layer-end-first": Fault("order", "predict", 'told_layers[2]["end"] = told_layers[2]["start"] - 1',
                             r'predict: "layers\[2\].end" .*before .*"start"'),
    "layer-outside": Fault("order", "predict", 'told_layers[2]["end"] = answer["postprocess"]["end"]',
                           r'predict: "layers\[2\]" .*outside'),
    "layer-window": Fault("window", "predict", 'told_layers[2]["end"] = 1 << 62', r'predict: "layers\[2\].end" '),
    "layer-parent": Fault("parents", "predict", 'told_layers[1]["parent"] = 1',
                          r'predict: "layers\[1\].parent" is 1'),
    "layer-negative": Fault("types", "predict", 'told_layers[0]["alloc_bytes"] = -1',
                            r'predict: "layers\[0\].alloc_bytes" is -1'),
    "layer-tag": Fault("types", "predict", 'told_layers[0]["tags"] = {"layer_type": "x"}',
                       r'predict: "layers\[0\].tags.layer_type" .*key'),
    "layer-tag-zero-byte": Fault("types", "predict", 'told_layers[0]["tags"] = {"a\\0b": 1}',
                                 r'predict: "layers\[0\].tags.a" .*key'),
    "outputs-unasked": Fault("outputs", "predict", 'answer["outputs"] = []', 'predict: "outputs" is told, though'),
    "outputs-beyond": Fault("outputs", "predict", "os.ftruncate(outputs_fd, 71)", ""),
    "too-many-layers": Fault("fields", "predict", 'if layers: answer["layers"] = told_layers[2:] * 65537',
                             'predict: "layers" .*65536'),
    # the end, and what xsp itself cannot see
    "ignores-close": Fault("close", "close", "continue", ""),
    "outlives-the-socket": Fault("close", "none", "", "", after="time.sleep(60)"),
    "refuses-unknown": Fault("unknown", "open",
                             'if set(request) - {"request", "version", "model", "layers", "threads"}: sys.exit(1)', ""),
}
WITHOUT_LAYERS = {"layers-unasked"}  # seen where no layers are recorded


def one_a_rule():
    """A fault for each rule."""
    chosen = {}
    for name, fault in FAULTS.items():
        chosen.setdefault(fault.rule, name)
    return list(chosen.values())


def program(folder, fault=None, clock="monotonic", untold=(), log=None):
    """Writes a program into `folder`: with a fault, or with none. Its path."""
    broken = FAULTS.get(fault) or Fault("", "none", "pass", "")
    text = PROGRAM
    for key, value in {"@LOG@": repr(str(log) if log else ""), "@CLOCK@": "time" if clock == "realtime" else clock,
                       "@UNTOLD@": repr(list(untold)), "@AFTER@": broken.after,
                       "@CODE@": f'if what == "{broken.when}":\n        {broken.code or "pass"}'}.items():
        text = text.replace(key, value)
    text = text.replace('"clock": "time"', '"clock": "realtime"')
    path = pathlib.Path(folder) / f"{fault or 'good'}.py"
    path.write_text(text)
    return path


def judge(folder, fault):
    """Verdicts of xsp and tools/predictor_conformance on the program with this fault (None: no fault)."""
    path = program(folder, fault)
    output = path.with_suffix(".xsp")
    profile = [pathlib.Path(os.environ["XSP_BUILD"]) / "xsp", "profile", path, "--quiet", "-o", output, "--dim",
               "mask.1=1", "--runs", "1", "--batch", "1,2" if fault == "prepare-once" else "1", "--levels",
               "M" if fault in WITHOUT_LAYERS else "M/L"]
    conformance = [*CONFORMANCE, path, "--dim", "mask.1=1"]
    if fault and FAULTS[fault].rule in ("start", "close"):  # it may go on without an end
        conformance += ["--end-timeout", "2"]
    results = [subprocess.run(command, capture_output=True, text=True, timeout=600)
               for command in (profile, conformance)]
    return (*results, output.exists())


def check(test, fault, judged):
    """xsp accepts the program unless it can see the broken rule; then it prints one line and ends with status 2.
    The conformance test names exactly this rule."""
    profile, conformance, has_output = judged
    broken = FAULTS.get(fault)
    mentions = broken.mentions if broken else ""
    test.assertEqual((profile.returncode, has_output), (2, False) if mentions else (0, True), profile.stderr)
    if mentions:
        *notes, last = [line for line in profile.stderr.splitlines() if line.startswith("xsp: ")]
        test.assertTrue(all("measured until then" in note for note in notes), profile.stderr)
        test.assertRegex(last, mentions)
        test.assertIn(f"{fault}.py", last)
    test.assertEqual(conformance.stderr, "")
    test.assertEqual(re.findall(r"BROKEN  (\S+)", conformance.stdout), [broken.rule] if broken else [],
                     conformance.stdout)
    test.assertEqual(conformance.returncode, 1 if broken else 0)
