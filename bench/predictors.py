# SPDX-License-Identifier: Apache-2.0
"""Cost of `xsp profile` per inference in each framework, next to the framework alone and to its own profiler.

For each framework with a Python environment (the long tests make them in XSP_TEST_CACHE or build/), the same model runs in
four processes: through the framework's interface alone (workloads/inferences.c), the same with its own profiler on, and under
xsp at M and at M/L. Processes take turns in pairs, one inference each, as the level sets of xsp do, so that all see the same
caches and clocks; the pairs take turns, too. One thread. The figure is the fastest inference of each way, which load on the
machine changes least. Prints JSON lines; called by bench/run.py."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
ROUNDS, INFERENCES, WARMUPS = 10, 30, 6
MODEL_TARGET, POINTS_OVER_OWN = 1.01, 0.01


# ---- the measurement -----------------------------------------------------------------------------------------------------
def places():
    for name in ("XSP_TEST_CACHE", "XSP_BUILD"):
        if os.environ.get(name):
            yield pathlib.Path(os.environ[name])
    yield SOURCE / "build"


def environment(name):
    for place in places():
        if (place / name / "complete").exists():
            return place / name
    return None


# framework: (its environment, its library there, the script for its models, the model, options for xsp)
SUBJECTS = {
    "onnxruntime": (None, "onnxruntime/capi/libonnxruntime.so*", "framework_models.py", "fixed.onnx", ["--batch", "2"]),
    "openvino": ("openvino", "openvino/libs/libopenvino_c.so*", "framework_models.py", "fixed.onnx", ["--batch", "2"]),
    "litert": ("litert", "ai_edge_litert/libLiteRt.so", "litert/tflite_models.py", "fixed.tflite", ["--batch", "2"]),
    "mxnet": ("mxnet", "mxnet/libmxnet.so", "mxnet/mxnet_models.py", "cnn-symbol.json",
              ["--batch", "2", "--dim", "H=96", "--dim", "W=96"]),
    "tensorflow": ("tensorflow-2.21.0", "tensorflow/libtensorflow_cc.so*", "tensorflow/tensorflow_models.py", "small_frozen.pb",
                   ["--batch", "4"]),
}


def alone(framework, home, library, model, options, folder):
    """{way: [ns]} of one round: an inference of each way in turn."""
    build = pathlib.Path(os.environ["XSP_BUILD"])
    batch, *rest = options[1:]
    printed = subprocess.run(
        [build / "bench-programs" / "inferences", str(INFERENCES), str(WARMUPS), batch, "--predictor", framework, "--model",
         model, "--library", library, "--threads", "1", "--control-fd", "0", "--tracer-directory", build / "tracers",
         "--work-directory", folder, *rest], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        timeout=300, env={**os.environ, "VIRTUAL_ENV": str(home)}).stdout
    return {way: list(map(int, values)) for way, *values in map(str.split, printed.splitlines())}


def by_xsp(framework, home, library, model, options, folder):
    output = folder / "bench.xsp"
    xsp = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
    subprocess.run([xsp, "profile", model, "--framework", framework, "--library", f"{framework}={library}", *options, "--levels",
                    "M,M/L", "--runs", str(INFERENCES), "--warmup", str(WARMUPS), "--threads", "1", "--quiet", "--force", "-o",
                    output], check=True, stdout=subprocess.DEVNULL, timeout=300,
                   env={**os.environ, "VIRTUAL_ENV": str(home), "XSP_PEAKS": "skip"})
    rows = json.loads(subprocess.run([xsp, "sql", output, "select r.levels, o.duration_ns from observation o join run r using"
                                      " (run_id) where not o.warmup", "--json"], check=True, capture_output=True).stdout)
    return {levels: [row["duration_ns"] for row in rows if row["levels"] == levels] for levels in ("M", "M/L")}


def line(bench, case, values, floors, target, peers):
    """The minimum of both over the rounds, and the range of the rounds' ratios, which shows the load of the machine."""
    ratios = [value / floor for value, floor in zip(values, floors)]
    return {"bench": bench, "case": case, "value": round(min(values), 1), "unit": "us/inference", "floor": round(min(floors), 1),
            "ratio": round(min(values) / min(floors), 4), "target": round(target, 4), "peers": peers,
            "ratio_range": [round(min(ratios), 4), round(max(ratios), 4)]}


def measure(framework, folder):
    name, pattern, script, model, options = SUBJECTS[framework]
    home = pathlib.Path(sys.executable).parent.parent if name is None else environment(name)
    library = next(home.glob(f"lib/python3*/site-packages/{pattern}"), None) if home is not None else None
    if library is None:
        print(f"predictors: {framework} skipped: its environment is not there (make test-all makes it)", file=sys.stderr)
        return []
    subprocess.run([home / "bin" / "python3", "-B", SOURCE / "tests" / "frameworks" / script, folder,
                    *(["small"] if framework == "tensorflow" else [])], check=True, timeout=600, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    best = {"plain": [], "own": [], "M": [], "M/L": []}  # us, of each round
    for number in range(ROUNDS):
        turns = [alone, by_xsp]
        for turn in turns if number % 2 == 0 else reversed(turns):
            for way, values in turn(framework, home, library, folder / model, options, folder).items():
                best[way].append(min(values) / 1000)
    case = f"{framework}, {model.split('-')[0]} at batch {options[1]}"
    peers = {"alone": round(min(best["plain"]), 1), "own profiler": round(min(best["own"]), 1)}
    # One per cent of the time of an inference alone.
    layer_target = 1 + POINTS_OVER_OWN * min(best["plain"]) / min(best["own"])
    return [line("predictors/models", case, best["M"], best["plain"], MODEL_TARGET, peers),
            line("predictors/layers", f"{case}, against its own profiler", best["M/L"], best["own"], layer_target, peers)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one framework")
    arguments = parser.parse_args()
    for framework in SUBJECTS:
        if arguments.only in (None, framework):
            with tempfile.TemporaryDirectory(prefix="xsp-bench-") as folder:
                for measured in measure(framework, pathlib.Path(folder)):
                    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
