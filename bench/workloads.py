# SPDX-License-Identifier: Apache-2.0
"""Cost of the tracers in real programs: each program plain, under `xsp run` at each level set, and with its framework's
own profiler, in turns, each time in a new process. Called by bench/run.py; prints one JSON object per line.

The program prints the figure itself: the tenth percentile of its inferences' CPU times over all threads (waiting for a
core is not a tracer's cost, and disturbances only add), or the median of its launches'. `value` is the median over the
rounds, `floor` the plain program's, `ratio` the median of the rounds' own ratios (drift of the machine falls on both
parts of each), `ratio_range` the least and the largest of these, `peers` the framework's own profiler. A program that
cannot run here has a note with the reason instead of a figure.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
XSP, PROGRAMS = BUILD / "xsp", BUILD / "bench-programs"
PYTHON = sys.executable
MODEL_TARGET, NVTX_TARGET = 1.01, 1.1


class Bench:
    """One program in several ways: {way: (command before the program's, arguments after it, variables)}."""

    def __init__(self, folder, program, ways, rounds, variables=None, key="cpu_ms"):
        self.folder, self.program, self.key = folder, [str(part) for part in program], key
        self.ways, self.variables = ways, variables or {}
        self.figures = {way: [] for way in ways}
        self.reported = {}
        for number in range(rounds):
            for way in list(ways) if number % 2 == 0 else reversed(list(ways)):
                self.run(way)

    def run(self, way):
        before, after, variables = self.ways[way]
        path = self.folder / "bench.xsp"
        path.unlink(missing_ok=True)
        if before:
            before = [str(XSP), "run", *before, "-o", str(path), "--"]
        result = subprocess.run([*before, *self.program, *after], capture_output=True, text=True, timeout=120,
                                cwd=self.folder, env={**os.environ, **self.variables, **variables})
        if result.returncode != 0:
            raise RuntimeError(f"{way}: status {result.returncode}: {result.stderr[-300:]}")
        reported = json.loads(result.stdout.splitlines()[-1])
        figure = reported[self.key]
        self.figures[way].append(sorted(figure)[len(figure) // 10] if isinstance(figure, list) else figure)
        self.reported.setdefault(way, []).append(reported | (self.recorded(path) if before else {}))

    def recorded(self, path):
        """Spans and drops of a traced run; a tracer that recorded nothing has no valid figure."""
        query = ("select (select count(*) from span) as spans, sum(dropped_count) as dropped, (select count(*) * 1.0 /"
                 " (select count(*) from observation) from span where kind = 'launch' and observation is not null) as launches"
                 " from run")
        out = subprocess.run([XSP, "sql", path, query, "--json"], capture_output=True, text=True, timeout=60, check=True)
        return json.loads(out.stdout)[0]

    def value(self, way):
        return statistics.median(self.figures[way])

    def median(self, way, key):
        return statistics.median(reported[key] for reported in self.reported[way])

    def ratios(self, way, over):
        return [a / b for a, b in zip(self.figures[way], self.figures[over])]

    def line(self, bench, case, way, unit, peers=(), target=None, over="plain"):
        reported = self.reported[way][-1]
        ratios = self.ratios(way, over)
        more = {key: reported[key] for key in ("spans", "samples", "dropped", "launches") if reported.get(key) is not None}
        if reported.get("launches") and "forward_ms" in self.reported["plain"][0]:
            more["launches_per_s"] = round(reported["launches"] * 1e3 / statistics.median(self.reported["plain"][-1]["forward_ms"]))
        return {"bench": bench, "case": case, "value": round(self.value(way), 4), "unit": unit,
                "floor": round(self.value(over), 4), "ratio": round(statistics.median(ratios), 4), "target": target,
                "ratio_range": [round(min(ratios), 4), round(max(ratios), 4)],
                "peers": {name: round(self.value(peer), 4) for name, peer in peers}, **more}


def opencl_variables():
    caches = BUILD / "bench-caches"
    variables = {"OPENCV_OPENCL_DEVICE": ":CPU:", "OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES": "1", "DEV": "CL",
                 "POCL_CACHE_DIR": caches / "pocl", "OPENCV_OPENCL_CACHE_DIR": caches / "opencv",
                 "OPENCV_OCL4DNN_CONFIG_PATH": caches / "opencv-tuned"}
    for name, path in variables.items():
        if isinstance(path, pathlib.Path):
            path.mkdir(parents=True, exist_ok=True)
    return {name: str(value) for name, value in variables.items()} | {"CACHEDB": str(caches / "tinygrad.db")}


def models():
    folder = BUILD / "test-models"
    subprocess.run([PYTHON, SOURCE / "tools/models.py", folder, "--set", "test"], check=True, capture_output=True)
    return folder


def traced(tracers, levels, *options):
    return ["-t", tracers, "--levels", levels, "--model-range", "inference", *options]


def onnxruntime(folder):
    bench = Bench(folder, [PYTHON, SOURCE / "bench/workloads/onnxruntime_program.py", models() / "squeezenet.onnx"],
                  {"plain": ([], [], {}), "M": (traced("nvtx,onnxruntime", "M"), [], {}),
                   "M/L": (traced("nvtx,onnxruntime", "M/L"), [], {}), "own": ([], ["--own-profiler"], {})}, 5)
    peers = [("its own profiler", "own")]
    return [bench.line("workload/onnxruntime", "squeezenet, M", "M", "CPU ms/inference", target=MODEL_TARGET),
            bench.line("workload/onnxruntime", "squeezenet, M/L", "M/L", "CPU ms/inference", peers),
            bench.line("workload/onnxruntime", "squeezenet, M/L against its own profiler", "M/L", "CPU ms/inference", peers,
                       MODEL_TARGET, "own")]


def opencv(folder):
    program = [PYTHON, SOURCE / "examples/opencv_dnn.py", models() / "squeezenet.onnx", "--runs", 6, "--json"]
    own = {"OPENCV_TRACE": "1", "OPENCV_TRACE_LOCATION": str(folder / "opencv-trace"), "OPENCV_TRACE_DEPTH_OPENCV": "5"}
    bench = Bench(folder, program,
                  {"plain": ([], [], {}), "M": (traced("nvtx,itt,opencl", "M"), [], {}),
                   "M/L": (traced("nvtx,itt,opencl", "M/L"), [], {}),
                   "M/L/K": (traced("nvtx,itt,opencl", "M/L/K"), [], {}), "own": ([], [], own)}, 3,
                  opencl_variables())
    peers = [("its own trace", "own")]
    return [bench.line("workload/opencv-opencl", f"squeezenet, {way}", way, "CPU ms/inference", peers if way != "M" else ()) for way in ("M", "M/L", "M/L/K")]


def tinygrad(folder):
    program = [PYTHON, SOURCE / "examples/tinygrad_transformer.py", "--runs", 30, "--json"]
    bench = Bench(folder, program, {"plain": ([], [], {}), "M": (traced("nvtx,opencl", "M"), [], {}),
                                    "M/K": (traced("nvtx,opencl", "M/K"), [], {})}, 3,
                  opencl_variables())
    return [bench.line("workload/tinygrad-opencl", f"transformer, {way}", way, "CPU ms/inference")
            for way in ("M", "M/K")]


def launches(folder):
    program = [PROGRAMS / "launches"]
    if not program[0].exists():
        raise RuntimeError("built without OpenCL")
    bench = Bench(folder, program, {"plain": ([], [], {}), "xsp": (traced("opencl", "K"), [], {}),
                                    "events": ([], ["--events"], {})}, 5, opencl_variables(), key="whole_ns")
    line = bench.line("tracer/opencl", "empty kernels, launch to finish", "xsp", "ns/launch",
                      [("the program's own events", "events")])
    line["launches_per_s"] = round(1e9 / bench.value("plain"))
    line["launch_call_ns"] = {way: bench.median(way, "launch_ns") for way in bench.ways}
    return [line]


def ranges(folder):
    program = [PROGRAMS / "ranges"]
    if not program[0].exists():
        raise RuntimeError("built without NVTX's headers")
    lines = []
    bench = Bench(folder, program, {"plain": ([], [], {}), "xsp": (["-t", "nvtx", "--levels", "A", "--flight-recorder", "16M"], [], {})}, 7,  # with room for all
                  key="registered_ns")
    for key, case in (("registered_ns", "registered string"), ("text_ns", "text")):
        ratios = [reported[key] / reported["span_ns"] for reported in bench.reported["xsp"]]
        lines.append({"bench": "tracer/nvtx", "case": f"push and pop, {case}, against a native span",
                      "value": bench.median("xsp", key), "unit": "ns/range", "floor": bench.median("xsp", "span_ns"),
                      "ratio": round(statistics.median(ratios), 4), "target": NVTX_TARGET,
                      "peers": {"nobody collects": bench.median("plain", key)},
                      **{name: bench.reported["xsp"][-1][name] for name in ("spans", "dropped")}})
    return lines


def made_python(framework):
    """From the environment of the long tests; PyTorch and JAX are too large to be fetched for a bench."""
    variable = f"XSP_{framework.upper()}_PYTHON"
    made = [path.parent / "bin/python3" for path in sorted(SOURCE.glob(f"build/{framework}-*/complete"))]
    if not os.environ.get(variable) and not made:
        raise RuntimeError(f"no {framework}: {variable} names no Python that has it, and `make test-all` has made none")
    return os.environ.get(variable) or made[-1]


def pytorch(folder):
    bench = Bench(folder, [made_python("torch"), SOURCE / "bench/workloads/pytorch_program.py"],
                  {"plain": ([], [], {}), "itt": (["-t", "itt", "--levels", "L"], ["--emit-itt"], {}),
                   "emit": ([], ["--emit-itt"], {}), "own": ([], ["--own-profiler"], {})}, 3)
    line = bench.line("workload/pytorch", "transformer, operators by ITT", "itt", "CPU ms/inference",
                      [("emit_itt, nobody collects", "emit"), ("torch.profiler", "own")])
    line["operator_ns"] = {way: round((bench.value(way) - bench.value("plain")) * 1e6 / bench.reported["plain"][-1]["events"])
                           for way in ("itt", "emit", "own")}
    return [line]


def main():
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as name:
        for measure in (ranges, launches, onnxruntime, opencv, tinygrad, pytorch):
            if len(sys.argv) > 1 and measure.__name__ not in sys.argv[1:]:
                continue
            try:
                lines = measure(pathlib.Path(name))
            except (OSError, RuntimeError, ValueError, LookupError, subprocess.SubprocessError) as error:
                lines = [{"bench": f"workload/{measure.__name__}", "case": "all", "value": None, "unit": "", "floor": None,
                          "ratio": None, "target": None, "peers": {}, "note": f"not measured: {error}"}]
                print(f"workloads: {measure.__name__}: {error}", file=sys.stderr)
            for line in lines:
                print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
