# SPDX-License-Identifier: Apache-2.0
"""The table of docs/importers.md: which analyses answer of each format, by the inputs of the fuzz corpora, and which writers are known
with which limits. test_import_formats.py compares it; `tests/run.py tests/importers/test_import_formats.py --update` writes it."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
PAGE = SOURCE / "docs" / "importers.md"
BEGIN, END = "<!-- formats: begin -->\n", "<!-- formats: end -->\n"
DESCRIBED = {"chakra": "kineto", "tensorrt-layers": "tensorrt"}
TIMEOUT_S = 600

# What is known of the programs that write a format: up to which version they were looked at, and what they leave out or get wrong.
WRITERS = {
    "kineto": ("PyTorch 1.8 to 2.15, PaddlePaddle 3.3", "an infinite bandwidth for a copy without time; ends up to 1 µs after the "
               "parent's; sequence numbers restart in each thread; generators are named by the line of their `yield`; PaddlePaddle cuts `ts` "
               "to µs and opens one step too many"),
    "chakra": ("PyTorch 2.15", "no times; nodes of threads have the number 0"),
    "ort": ("ONNX Runtime 1.30 to 1.32", "a million events, then silence; no time of recording; memory of nodes only from 1.30 on"),
    "nsys": ("Nsight Systems, schemas 2.9 to 3.25", "launches that came before the recording are missing; tables are renamed between versions"),
    "otlp": ("any SDK, OpenTelemetry Collector 0.161", "Go's marshaller writes unknown members of values"),
    "otlp-proto": ("any SDK, OpenTelemetry Collector 0.161", "none known"),
    "otlp-journal": ("xsp", "none known"),
    "caffe": ("Caffe 1.0, its published form; no file of its own was at hand", "means only, no starts, types or shapes"),
    "cntk": ("CNTK 2.0 to 2.4, its published form; no file of its own was at hand", "no times of layers; CNTK 2.5 and later write Chrome's form"),
    "loadgen": ("LoadGen 6.0.17", "texts in two pairs of quotes are no JSON"),
    "nvprof": ("nvprof, forms of published files", "no threads; metrics have no times; sizes are rounded"),
    "onednn": ("oneDNN 2.6.3 and 3.13.3, older forms as published", "times in steps of 0.244 µs; no threads; no starts without `ONEDNN_VERBOSE_TIMESTAMP=1`"),
    "tf-timeline": ("TensorFlow 1.0 and 2.21", "whole µs; each kernel twice, in its stream and in all; lanes are no threads"),
    "tf-metadata": ("TensorFlow 2.21", "no threads; no names of kernels"),
    "tensorrt": ("TensorRT 8, published files", "means only, no starts; layers that are fused have one name"),
    "tensorrt-layers": ("TensorRT 8, published files", "names alone without `--profilingVerbosity=detailed`"),
    "ncu": ("Nsight Compute, forms of published files", "no starts; clocks are locked and caches emptied, so durations are not those of the program"),
    "perf": ("perf, its default fields as published; no file of its own was at hand", "events other than clocks count no time"),
    "perfetto": ("xsp, Perfetto's own protobuf", "Chrome's older events (`legacy_event`) have times in whole µs where they are complete"),
    "etdump": ("ExecuTorch 1.5.1", "times without a unit; delegates count by clocks of their own, XNNPACK in whole µs"),
    "iree": ("IREE 3.13 on CPUs; on devices, its published form", "a dispatch's duration is wall time, its tiles' that of all threads together; "
             "`local-sync` gives dispatches no number"),
    "tvm": ("TVM 0.8 to 0.24, its published form; no file of its own was at hand", "no starts; TVM 0.25 and later have no profiler"),
    "pprof": ("xsp, Go 1.26", "sums by call path, no times; no threads"),
    "proton": ("Triton's Proton, the form of published files", "sums over all executions; no times, threads or order"),
    "rocprof": ("rocprofv3, its published form; no file of its own was at hand", "the order of its members varies; names are apart from records"),
    "rocpd": ("rocprofv3 of ROCm 7, schemas 3 and 4 as published; no file of its own was at hand", "counters lie apart from kernels; no Unix times"),
    "xplane": ("JAX 0.4 to 0.10, TensorFlow 2", "`trace.json.gz` beside it ends at a million events; the profile does not"),
    "horovod": ("Horovod 0.28, its published form; no file of its own was at hand", "whole µs; rank 0's view; no ticks of ranks where a "
                "collective is in its cache"),
    "chrome": ("any", "Python's `json.dump` writes NaN and Infinity, and rounds Unix times to 0.25 µs"),
}


def run(*arguments, **options):
    return subprocess.run([os.path.join(os.environ["XSP_BUILD"], "xsp"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False, **options)


def formats():
    """The names that `xsp help import` lists."""
    listed = run("help", "import").stdout.split("\n\n")[3]
    return re.findall(r"^  ([a-z][a-z-]*) ", listed, re.MULTILINE)


# Those that depend on what a format records: levels, metrics, memory, call paths, samples, ranks.
ANALYSES = [f"A{number}" for number in range(1, 18)] + ["A21", "A22", "A24"]


def answers(trace, ids, folder):
    """The analyses that a trace answers."""
    out = os.path.join(folder, "out.xsp")
    if run("import", *trace, "-o", out, "--force").returncode != 0:
        return set()
    text = run("analyze", *ids, out, "--json").stdout
    return {answer["analysis"] for answer in json.loads(text or "[]")}


def samples(name):
    folder = SOURCE / "fuzz" / "corpus" / ("import_" + name.replace("-", "_"))
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith("found_")] if folder.is_dir() else []


def table():
    ids, rows = ANALYSES, []
    with tempfile.TemporaryDirectory() as folder:
        for name in WRITERS:
            writers, limits = WRITERS[name]
            if name in DESCRIBED:
                gives = f"more of a `{DESCRIBED[name]}` trace"
            elif name.startswith("otlp"):
                gives = "what the spans have; all of what xsp exported"
            else:
                found = set().union(*(answers([sample], ids, folder) for sample in samples(name)))
                gives = ", ".join(id_ for id_ in ids if id_ in found) 
            rows.append(f"| `{name}` | {gives} | {writers} | {limits} |\n")
    return "| format | answers | writers that were looked at | their known limits |\n|---|---|---|---|\n" + "".join(rows)


def page_with(text, begin=BEGIN, end=END):
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(begin)
    return before + begin + text + end + rest.split(end)[1]
