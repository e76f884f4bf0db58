# SPDX-License-Identifier: Apache-2.0
"""DeepContext's Figure 6 for this machine: time and peak memory of ten PyTorch models (workloads/*.py) plain, with
torch.profiler, and under `xsp run`; and what an operator costs. Called by bench/run.py; prints one JSON object per line.

The runs of a model follow each other, each in a new process, with a plain one first and last; ratios are to the mean of those
two. The time is the tenth percentile of the iterations' CPU times, all threads of the program (waiting for a core is not a
tracer's cost); `wall_ratio` is of the median wall times. The memory is the program's peak plus that of xsp: pages of the session that both have mapped
count twice. `operator_us` is the mean time of an outermost operator. Ways that this xsp does not have are left out."""
import argparse
import functools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from workloads import torch_python

BUILD, SOURCE = pathlib.Path(os.environ["XSP_BUILD"]), pathlib.Path(os.environ["XSP_SOURCE"])
XSP, FOLDER = BUILD / "xsp", SOURCE / "bench/workloads"
MODELS = ["conformer", "dlrm", "gemma", "gnn", "llama", "nanogpt", "resnet", "transformer_big", "unet", "vit"]
# way: (options of xsp run, None: without xsp; the workload's --profiler; target of the geometric mean; the way of torch.profiler to
# be below)
WAYS = {"torch.profiler": (None, "torch", None, None),
        "torch.profiler with_stack": (None, "torch-stack", None, None),
        "records": (["--call-paths", "none"], "none", 1.05, "torch.profiler"),
        "light": (["--call-paths", "light"], "none", 1.08, "torch.profiler with_stack"),
        "full": (["--call-paths", "full"], "none", 1.20, "torch.profiler with_stack"),
        "aggregate": (["--aggregate"], "none", None, "torch.profiler")}
LARGE_OPERATOR_US = 20
OUTERMOST = ("select count(*) as n, avg(s.duration_ns) / 1e3 as us from span s left join span p on p.run_id = s.run_id and"
             " p.span_id = s.parent_id where s.level = 'layer' and (p.level is null or p.level <> 'layer')")


@functools.cache
def ways():
    """Those that this xsp has. One without --call-paths records none."""
    options = subprocess.run([XSP, "help", "run"], capture_output=True, text=True, check=True).stdout
    found = {}
    for way, (xsp_options, *rest) in WAYS.items():
        if way == "records" and "--call-paths" not in options:
            xsp_options = []
        if not xsp_options or xsp_options[0] in options:
            found[way] = (xsp_options, *rest)
    return found


def peak_bytes(process):
    """The peak of a process that runs, 0 of one that has ended."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return int(found.group(1)) * 1024 if found else 0


def run(command, way, path):
    """What the program reports, with the peak memory of both processes."""
    xsp_options = ways()[way][0] if way in WAYS else None
    before = [] if xsp_options is None else [XSP, "run", "-t", "pytorch", *xsp_options, "--force", "-o", path, "--"]
    own = 0
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(part) for part in [*before, *command]], stdout=output, stderr=errors)
        started = time.monotonic()
        while process.poll() is None and time.monotonic() - started < 300:
            own = max(own, peak_bytes(process.pid))
            time.sleep(0.02)
        if process.poll() is None:
            process.kill()
        for file in (output, errors):
            file.seek(0)
        if process.wait() != 0:
            raise RuntimeError(f"{command[1].name}, {way}: status {process.returncode}: {errors.read()[-300:]}")
        reported = json.loads(output.read().splitlines()[-1])
    if not before:
        return reported
    return reported | recorded(path) | {"peak_rss_bytes": reported["peak_rss_bytes"] + own,
                                        "file_bytes": path.stat().st_size}


def recorded(path):
    rows = []
    for query in ("select sum(dropped_count) as dropped, (select count(*) from span) as spans from run", OUTERMOST):
        result = subprocess.run([XSP, "sql", path, query, "--json"], capture_output=True, text=True, check=True, timeout=60)
        rows += json.loads(result.stdout)
    return {"dropped": rows[0]["dropped"], "spans": rows[0]["spans"], "operators": rows[1]["n"], "operator_us": rows[1]["us"]}


# ---- ten models --------------------------------------------------------------------------------------------------------------
def measure(python, model, options, folder):
    """{way: [reported, …]}, the plain runs first and last in each round."""
    figures = {}
    for _ in range(options.rounds):
        for way in ("none", *options.ways, "none"):
            profiler = WAYS[way][1] if way in WAYS else "none"
            command = [python, FOLDER / f"{model}.py", "--iterations", options.iterations, "--mode", options.mode,
                       "--profiler", profiler, "--threads", options.threads]
            figures.setdefault(way, []).append(run(command, way, folder / "bench.xsp"))
    return figures


def mean(reports, key):
    return statistics.fmean(report[key] for report in reports)


def ratio(figures, way, key):
    return mean(figures[way], key) / mean(figures["none"], key)


def model_lines(model, options, figures):
    traced = [report for way in options.ways for report in figures[way] if report.get("operator_us")]
    operator_us = traced[0]["operator_us"] if traced else None
    for way in options.ways:
        peers = {peer: round(mean(figures[peer], "cpu_ms"), 4) for peer in figures if peer.startswith("torch") and peer != way}
        last = figures[way][-1]
        yield {"bench": "pytorch/time", "case": f"{model} {options.mode}, {way}", "value": round(mean(figures[way], "cpu_ms"), 4),
               "unit": "CPU ms/iteration", "floor": round(mean(figures["none"], "cpu_ms"), 4),
               "ratio": round(ratio(figures, way, "cpu_ms"), 4), "target": None, "peers": peers,
               "wall_ratio": round(ratio(figures, way, "ms"), 4), "operator_us": operator_us and round(operator_us, 2),
               **{key: last[key] for key in ("spans", "dropped") if key in last}}
        yield {"bench": "pytorch/memory", "case": f"{model} {options.mode}, {way}",
               "value": round(mean(figures[way], "peak_rss_bytes") / 2**20, 1), "unit": "MiB",
               "floor": round(mean(figures["none"], "peak_rss_bytes") / 2**20, 1),
               "ratio": round(ratio(figures, way, "peak_rss_bytes"), 4), "target": None, "peers": {}}


def geometric(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def mean_lines(options, measured):
    """The table's last rows: geometric means over the models, time of those with large operators against the targets."""
    def large(figures):
        return any((report.get("operator_us") or 0) >= LARGE_OPERATOR_US for way in options.ways for report in figures[way])
    groups = {"all models": measured, f"operators of {LARGE_OPERATOR_US} us or more":
              {model: figures for model, figures in measured.items() if large(figures)}}
    for group, models in groups.items():
        if not models:
            continue
        times = {way: geometric([ratio(figures, way, "cpu_ms") for figures in models.values()]) for way in options.ways}
        walls = {way: geometric([ratio(figures, way, "ms") for figures in models.values()]) for way in options.ways}
        memory = {way: geometric([ratio(figures, way, "peak_rss_bytes") for figures in models.values()])
                  for way in options.ways}
        for way in options.ways:
            line = {"bench": "pytorch/figure 6", "case": f"{way}, {group} ({len(models)})", "value": round(times[way], 4),
                    "unit": "x plain", "floor": 1, "ratio": round(times[way], 4),
                    "target": WAYS[way][2] if group != "all models" else None, "peers": {},
                    "wall_ratio": round(walls[way], 4), "memory_ratio": round(memory[way], 4)}
            yield line
            peer = WAYS[way][3]
            if group == "all models" and peer in times:
                yield line | {"case": f"{way} against {peer}, {group}", "floor": round(times[peer], 4),
                              "ratio": round(times[way] / times[peer], 4), "target": 1}


# ---- an operator -------------------------------------------------------------------------------------------------------------
def operator_lines(python, options, folder):
    """What an operator costs more than without a profiler, in a transformer of tiny operators."""
    program, arguments = [python, FOLDER / "pytorch_program.py"], {"torch.profiler": ["--own-profiler"],
                                                                   "torch.profiler with_stack": ["--own-stacks"]}
    times = {way: [] for way in ("none", *options.ways)}
    for number in range(3):
        for way in times if number % 2 == 0 else reversed(times):
            reported = run([*program, *arguments.get(way, [])], way, folder / "bench.xsp")
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


# ---- many iterations ---------------------------------------------------------------------------------------------------------
def growth_lines(python, options, folder):
    """Peak memory of both processes and the file's size after many iterations, over those after few."""
    def figures(way, count, *arguments):
        command = [python, FOLDER / "pytorch_program.py", "--runs", count, *arguments]
        return run(command, way, folder / "bench.xsp")
    if "aggregate" not in options.ways:
        return
    few, many = figures("aggregate", 100), figures("aggregate", 10_000)
    peer = {f"torch.profiler, {count} iterations": round(figures(None, count, "--own-profiler")["peak_rss_bytes"] / 2**20, 1)
            for count in (100, 1000)}
    for case, key, peers in (("memory", "peak_rss_bytes", peer), ("file", "file_bytes", {})):
        yield {"bench": "pytorch/growth", "case": f"aggregate, {case}, 100 to 10,000 iterations",
               "value": round(many[key] / 2**20, 2), "unit": "MiB", "floor": round(few[key] / 2**20, 2),
               "ratio": round(many[key] / few[key], 4), "target": 1.05, "peers": peers}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--mode", choices=("train", "infer"), default="train")
    parser.add_argument("--threads", type=int, default=1, help="of an operator; more compete with the rest of the machine")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--ways", help="some of: " + ", ".join(WAYS))
    options = parser.parse_args()
    python = torch_python()
    options.ways = [way for way in ways() if options.ways is None or way in options.ways.split(",")]
    measured = {}
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as name:
        folder = pathlib.Path(name)
        for model in filter(None, options.models.split(",")):
            measured[model] = measure(python, model, options, folder)
            for line in model_lines(model, options, measured[model]):
                print(json.dumps(line), flush=True)
        for line in (*mean_lines(options, measured), *operator_lines(python, options, folder),
                     *growth_lines(python, options, folder)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(json.dumps({"bench": "pytorch/figure 6", "case": "all", "value": None, "unit": "", "floor": None, "ratio": None,
                          "target": None, "peers": {}, "note": f"not measured: {error}"}))
        print(f"pytorch: {error}", file=sys.stderr)
