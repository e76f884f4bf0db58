# SPDX-License-Identifier: Apache-2.0
"""DeepContext's Figure 6 for this machine, of the models of one framework: time and peak memory of each plain, with the framework's
own profiler, and under `xsp run`. Used by pytorch.py and jax_models.py.

The runs of a model follow each other, each in a new process, with a plain one first and last; ratios are to the mean of those
two. The time is the tenth percentile of the iterations' CPU times, all threads of the program (waiting for a core is not a
tracer's cost); `wall_ratio` is of the median wall times. The memory is the program's peak plus that of xsp: pages of the session that both have mapped
count twice. `operator_us` is the mean time of an outermost operator. `tree_ratio` is of the CPU times of all processes from begin to
end: what a profiler does in a process of its own, and after the program, is in it."""
import argparse
import json
import math
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BUILD, SOURCE = pathlib.Path(os.environ["XSP_BUILD"]), pathlib.Path(os.environ["XSP_SOURCE"])
XSP, FOLDER = BUILD / "xsp", SOURCE / "bench/workloads"
MODELS = ["conformer", "dlrm", "gemma", "gnn", "llama", "nanogpt", "resnet", "transformer_big", "unet", "vit"]
LARGE_OPERATOR_US = 20
OUTERMOST = ("select count(*) as n, avg(s.duration_ns) / 1e3 as us from span s left join span p on p.run_id = s.run_id and"
             " p.span_id = s.parent_id where s.level = 'layer' and (p.level is null or p.level <> 'layer')")


def arguments(description, ways):
    """Of a bench. `ways`: {way: (options of xsp run, None: without xsp, a function: another profiler's command, which writes into the
    path that it is given; the workload's --profiler; target of the geometric mean; the
    way of the framework's profiler to be below)}"""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--mode", choices=("train", "infer"), default="train")
    parser.add_argument("--threads", type=int, default=1, help="of an operator; more compete with the rest of the machine")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--ways", help="some of: " + ", ".join(ways))
    options = parser.parse_args()
    options.ways = {way: rest for way, rest in ways.items() if options.ways is None or way in options.ways.split(",")}
    return options


def peak_bytes(process):
    """The peak of a process that runs, 0 of one that has ended."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return int(found.group(1)) * 1024 if found else 0


def tree_cpu_ms():
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def run(command, way, path):
    """What the program reports, with the peak memory of both processes. `way`: see arguments."""
    is_peer = way is None or callable(way)
    before = [XSP, "run", *way, "--force", "-o", path, "--"] if not is_peer else way(path) if way else []
    own, cpu_before_ms = 0, tree_cpu_ms()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(part) for part in [*before, *command]], stdout=output, stderr=errors)
        started = time.monotonic()
        while process.poll() is None and time.monotonic() - started < 600:
            own = max(own, peak_bytes(process.pid))
            time.sleep(0.02)
        if process.poll() is None:
            process.kill()
        for file in (output, errors):
            file.seek(0)
        if process.wait() != 0:
            raise RuntimeError(f"{command[1].name}: status {process.returncode}: {errors.read()[-300:]}")
        figures = [line for line in output.read().splitlines() if line.startswith("{")]
        if not figures:
            raise RuntimeError(f"{command[1].name}: no figures are in what it printed")
        reported = json.loads(figures[-1])
        reported["tree_cpu_ms"] = tree_cpu_ms() - cpu_before_ms
    if is_peer:
        return reported | {"peak_rss_bytes": reported["peak_rss_bytes"] + (own if before else 0)}
    return reported | recorded(path) | {"peak_rss_bytes": reported["peak_rss_bytes"] + own,
                                        "file_bytes": path.stat().st_size}


def recorded(path):
    rows = []
    for query in ("select sum(dropped_count) as dropped, (select count(*) from span) as spans from run", OUTERMOST):
        result = subprocess.run([XSP, "sql", path, query, "--json"], capture_output=True, text=True, check=True, timeout=60)
        rows += json.loads(result.stdout)
    return {"dropped": rows[0]["dropped"], "spans": rows[0]["spans"], "operators": rows[1]["n"], "operator_us": rows[1]["us"]}


def measure(program, options, folder):
    """{way: [reported, …]}, the plain runs first and last in each round."""
    figures = {}
    for _ in range(options.rounds):
        for way in ("none", *options.ways, "none"):
            xsp_options, profiler, *_ = options.ways.get(way, (None, "none"))
            command = [*program, "--iterations", options.iterations, "--mode", options.mode, "--profiler", profiler,
                       "--threads", options.threads]
            figures.setdefault(way, []).append(run(command, xsp_options, folder / "bench.xsp"))
    return figures


def mean(reports, key):
    return statistics.fmean(report[key] for report in reports)


def ratio(figures, way, key):
    return mean(figures[way], key) / mean(figures["none"], key)


def peers_of(options, way):
    return [peer for peer, (profiler, *_) in options.ways.items() if (profiler is None or callable(profiler)) and peer != way]


def model_lines(bench, model, options, figures):
    traced = [report for way in options.ways for report in figures[way] if report.get("operator_us")]
    operator_us = traced[0]["operator_us"] if traced else None
    for way in options.ways:
        peers = {peer: round(mean(figures[peer], "cpu_ms"), 4) for peer in peers_of(options, way)}
        last = figures[way][-1]
        yield {"bench": f"{bench}/time", "case": f"{model} {options.mode}, {way}", "value": round(mean(figures[way], "cpu_ms"), 4),
               "unit": "CPU ms/iteration", "floor": round(mean(figures["none"], "cpu_ms"), 4),
               "ratio": round(ratio(figures, way, "cpu_ms"), 4), "target": None, "peers": peers,
               "wall_ratio": round(ratio(figures, way, "ms"), 4), "tree_ratio": round(ratio(figures, way, "tree_cpu_ms"), 4),
               "operator_us": operator_us and round(operator_us, 2),
               **{key: last[key] for key in ("spans", "dropped") if key in last}}
        yield {"bench": f"{bench}/memory", "case": f"{model} {options.mode}, {way}",
               "value": round(mean(figures[way], "peak_rss_bytes") / 2**20, 1), "unit": "MiB",
               "floor": round(mean(figures["none"], "peak_rss_bytes") / 2**20, 1),
               "ratio": round(ratio(figures, way, "peak_rss_bytes"), 4), "target": None, "peers": {}}


def geometric(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def mean_lines(bench, options, measured):
    """The table's last rows: geometric means over the models. Targets are of those with large operators, where there are any."""
    def large(figures):
        return any((report.get("operator_us") or 0) >= LARGE_OPERATOR_US for way in options.ways for report in figures[way])
    groups = {"all models": measured, f"operators of {LARGE_OPERATOR_US} us or more":
              {model: figures for model, figures in measured.items() if large(figures)}}
    groups = {group: models for group, models in groups.items() if models}
    for group, models in groups.items():
        times = {way: geometric([ratio(figures, way, "cpu_ms") for figures in models.values()]) for way in options.ways}
        trees = {way: geometric([ratio(figures, way, "tree_cpu_ms") for figures in models.values()]) for way in options.ways}
        walls = {way: geometric([ratio(figures, way, "ms") for figures in models.values()]) for way in options.ways}
        memory = {way: geometric([ratio(figures, way, "peak_rss_bytes") for figures in models.values()])
                  for way in options.ways}
        for way in options.ways:
            line = {"bench": f"{bench}/figure 6", "case": f"{way}, {group} ({len(models)})", "value": round(times[way], 4),
                    "unit": "x plain", "floor": 1, "ratio": round(times[way], 4),
                    "target": options.ways[way][2] if group == list(groups)[-1] else None,
                    "peers": {peer: round(times[peer], 4) for peer in peers_of(options, way)},
                    "wall_ratio": round(walls[way], 4), "tree_ratio": round(trees[way], 4), "memory_ratio": round(memory[way], 4)}
            yield line
            peer = options.ways[way][3]
            if group == "all models" and peer in times:
                yield line | {"case": f"{way} against {peer}, {group}", "floor": round(times[peer], 4),
                              "ratio": round(times[way] / times[peer], 4), "target": 1}


def lines(bench, program, options, folder):
    """All lines of the figure; `program(model)` is the command of one."""
    measured = {}
    for model in filter(None, options.models.split(",")):
        measured[model] = measure(program(model), options, folder)
        yield from model_lines(bench, model, options, measured[model])
    yield from mean_lines(bench, options, measured)


def run_bench(bench, main):
    """Where it cannot be measured, a line says why."""
    try:
        main()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(json.dumps({"bench": f"{bench}/figure 6", "case": "all", "value": None, "unit": "", "floor": None, "ratio": None,
                          "target": None, "peers": {}, "note": f"not measured: {error}"}))
        print(f"{bench}: {error}", file=sys.stderr)
