# SPDX-License-Identifier: Apache-2.0
"""DeepContext's Figure 6 (figure6.py) of ten PyTorch models (workloads/*.py), with torch.profiler and under `xsp run`; and what an
operator and a collective cost. Called by bench/run.py; prints one JSON object per line."""
import json
import pathlib
import statistics
import tempfile

import figure6
from figure6 import FOLDER, run
from workloads import made_python

TRACED, COLLECTIVE_MOST_NS = ["-t", "pytorch"], 2000
WAYS = {"torch.profiler": (None, "torch", None, None),
        "torch.profiler with_stack": (None, "torch-stack", None, None),
        "records": ([*TRACED, "--call-paths", "none"], "none", 1.05, "torch.profiler"),
        "light": ([*TRACED, "--call-paths", "light"], "none", 1.08, "torch.profiler with_stack"),
        "full": ([*TRACED, "--call-paths", "full"], "none", 1.20, "torch.profiler with_stack"),
        "aggregate": ([*TRACED, "--aggregate"], "none", None, "torch.profiler")}


# ---- an operator -------------------------------------------------------------------------------------------------------------
def operator_lines(python, options, folder):
    """What an operator costs more than without a profiler, in a transformer of tiny operators."""
    program, arguments = [python, FOLDER / "pytorch_program.py"], {"torch.profiler": ["--own-profiler"],
                                                                   "torch.profiler with_stack": ["--own-stacks"]}
    times = {way: [] for way in ("none", *options.ways)}
    for number in range(3):
        for way in times if number % 2 == 0 else reversed(times):
            reported = run([*program, *arguments.get(way, [])], options.ways.get(way, [None])[0], folder / "bench.xsp")
            times[way].append(sorted(reported["cpu_ms"])[len(reported["cpu_ms"]) // 10])
            events = reported["events"]
    extra = {way: (statistics.median(times[way]) - statistics.median(times["none"])) * 1e6 / events for way in options.ways}
    kineto, stacks = extra.get("torch.profiler"), extra.get("torch.profiler with_stack")
    for way, floor, target in (("records", kineto, 0.6), ("light", kineto, 0.9), ("full", stacks, 0.5), ("aggregate", kineto, 0.9)):
        if way in extra and floor:
            yield {"bench": "pytorch/operator", "case": f"{way} against torch.profiler{' with_stack' if floor is stacks else ''}",
                   "value": round(extra[way], 1), "unit": "ns/operator", "floor": round(floor, 1),
                   "ratio": round(extra[way] / floor, 4), "target": target,
                   "peers": {name: round(extra[name], 1) for name in extra if name.startswith("torch")}}


# ---- a collective -------------------------------------------------------------------------------------------------------------
def collective_lines(python, options, folder):
    """What an all-reduce costs more than without a profiler: its operator, its run and the wait for it; and the run alone, the span of a
    collective, which is of the library level. Least of batches, in turns."""
    if "records" not in options.ways:
        return
    ways = {"none": (None,), "torch.profiler": (None, "--own-profiler"), "records": (options.ways["records"][0],),
            "without its run": ([*options.ways["records"][0], "--levels", "A/M/L"],)}
    least_ns = {way: [] for way in ways}
    for _ in range(5):
        for way, (xsp_options, *arguments) in ways.items():
            least_ns[way].append(run([python, FOLDER / "collectives.py", *arguments], xsp_options, folder / "bench.xsp")["cpu_ns"])
    extra, kineto, rest = (statistics.median(least_ns[way]) - statistics.median(least_ns["none"])
                           for way in ("records", "torch.profiler", "without its run"))
    yield {"bench": "pytorch/collective", "case": "its span, against the most that is allowed", "value": round(extra - rest, 1),
           "unit": "ns/collective", "floor": COLLECTIVE_MOST_NS, "ratio": round((extra - rest) / COLLECTIVE_MOST_NS, 4), "target": 1,
           "peers": {"torch.profiler, all three events": round(kineto, 1)}}
    yield {"bench": "pytorch/collective", "case": "records against torch.profiler", "value": round(extra, 1), "unit": "ns/collective",
           "floor": round(kineto, 1), "ratio": round(extra / kineto, 4), "target": 1.2, "peers": {"torch.profiler": round(kineto, 1)}}


# ---- many iterations ---------------------------------------------------------------------------------------------------------
def growth_lines(python, options, folder):
    """Peak memory of both processes and the file's size after many iterations, over those after few."""
    def figures(xsp_options, count, *arguments):
        command = [python, FOLDER / "pytorch_program.py", "--runs", count, *arguments]
        return run(command, xsp_options, folder / "bench.xsp")
    if "aggregate" not in options.ways:
        return
    few, many = (figures(options.ways["aggregate"][0], count) for count in (100, 10_000))
    peer = {f"torch.profiler, {count} iterations": round(figures(None, count, "--own-profiler")["peak_rss_bytes"] / 2**20, 1)
            for count in (100, 1000)}
    for case, key, peers in (("memory", "peak_rss_bytes", peer), ("file", "file_bytes", {})):
        yield {"bench": "pytorch/growth", "case": f"aggregate, {case}, 100 to 10,000 iterations",
               "value": round(many[key] / 2**20, 2), "unit": "MiB", "floor": round(few[key] / 2**20, 2),
               "ratio": round(many[key] / few[key], 4), "target": 1.05, "peers": peers}


def main():
    options, python = figure6.arguments(__doc__, WAYS), made_python("torch")
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as name:
        folder = pathlib.Path(name)
        for lines in (figure6.lines("pytorch", lambda model: [python, FOLDER / f"{model}.py"], options, folder),
                      operator_lines(python, options, folder), collective_lines(python, options, folder), growth_lines(python, options, folder)):
            for line in lines:
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    figure6.run_bench("pytorch", main)
