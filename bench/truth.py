# SPDX-License-Identifier: Apache-2.0
"""Are samples right? Runs workloads/known_parts.py under `xsp run`, py-spy and scalene, in turns, and compares what they give
with the program's own clocks. `truth.py [RUNS]`; called by bench/run.py; prints one JSON object per line.

`samples/outside`: of the part that did worst, in how many per cent of the runs it was outside of its 95 % error: `error_ms` of A22;
of py-spy, which states none, that of a share of its n samples. `samples/share`: the median, over runs, of the largest difference
of a part's share of the CPU time, in points. `samples/waits`: the same of a waiting time, in per cent of it. Peers that are
not installed are left out, and so is a Python without NumPy."""
import collections
import importlib.util
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from workloads import PYTHON, SOURCE, XSP

PROGRAM = str(SOURCE / "bench/workloads/known_parts.py")
CPU_PARTS = ("interpret", "sort_numbers", "hash_bytes", "touch_pages")
WAITING_PARTS = ("sleep_often", "wait_for_lock")
RATE, OUTSIDE_PCT, RUNS = "250", 5, 9  # a CPU clock's timer ticks 250 times a second on most kernels

Said = collections.namedtuple("Said", "cpu_ms error_ms waiting_ms", defaults=(None, None))


def run(*command):
    """What the program printed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def program_said(output):
    return json.loads(next(line for line in output.splitlines() if line.startswith('{"cpu_ms"')))


def ask_xsp(path):
    truth = program_said(run(XSP, "run", "-q", "-f", "-t", "cpu", "--sample-rate", RATE, "-o", path, "--", PYTHON, PROGRAM))
    rows = json.loads(run(XSP, "analyze", "lines", "--by", "function", path, "--json"))["rows"]
    parts = {row["function"]: row for row in rows if row["file"] == PROGRAM}
    return truth, Said({name: sum(parts[name][key] for key in ("python_ms", "native_ms", "operator_ms")) for name in CPU_PARTS},
                       {name: parts[name]["error_ms"] for name in CPU_PARTS},
                       {name: parts[name]["waiting_ms"] for name in WAITING_PARTS})


def ask_py_spy(path):
    truth = program_said(run("py-spy", "record", "--rate", RATE, "--format", "raw", "-o", path, "--", PYTHON, PROGRAM))
    counts = collections.Counter()
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        counts.update({name: int(count) for name in CPU_PARTS if f";{name} (" in stack})
    n, cpu_ms = counts.total(), sum(truth["cpu_ms"][name] for name in CPU_PARTS)
    share = {name: counts[name] / n for name in CPU_PARTS}
    return truth, Said({name: share[name] * cpu_ms for name in CPU_PARTS},
                       {name: 1.96 * cpu_ms * math.sqrt(share[name] * (1 - share[name]) / n) for name in CPU_PARTS})


def ask_scalene(path):
    truth = program_said(run(PYTHON, "-m", "scalene", "run", "--cpu-only", "--use-virtual-time", "--cpu-sampling-rate",
                             1 / int(RATE), "-o", path, PROGRAM))
    functions = json.loads(path.read_text())["files"][PROGRAM]["functions"]
    return truth, Said({row["line"]: sum(row[key] for key in ("n_cpu_percent_python", "n_cpu_percent_c", "n_sys_percent"))
                        for row in functions if row["line"] in CPU_PARTS})


def shares(times):
    total = sum(times.get(name, 0) for name in CPU_PARTS)
    return {name: times.get(name, 0) / total for name in CPU_PARTS}


def measure(ways, runs, folder):
    """By way, of each run: the parts outside of the stated error, the largest differences of shares and of waits."""
    found = {way: collections.defaultdict(list) for way in ways}
    for number in range(runs):
        for way, ask in ways.items():
            path = folder / f"{way}{number}.json"  # scalene adds the ending
            truth, said = ask(path)
            path.unlink()
            of_truth, of_said = shares(truth["cpu_ms"]), shares(said.cpu_ms)
            found[way]["share"].append(max(abs(of_truth[name] - of_said[name]) * 100 for name in CPU_PARTS))
            if said.error_ms:
                found[way]["outside"].append([name for name in CPU_PARTS if
                                              abs(said.cpu_ms[name] - truth["cpu_ms"][name]) > said.error_ms[name]])
            if said.waiting_ms:
                found[way]["waits"].append(max(abs(said.waiting_ms[name] / truth["waiting_ms"][name] - 1) * 100
                                               for name in WAITING_PARTS))
    return found


def outside_pct(outside):
    return max(100 * sum(name in run for run in outside) / len(outside) for name in CPU_PARTS)


def lines(runs, folder):
    ways = {"xsp": ask_xsp}
    if shutil.which("py-spy"):
        ways["py-spy"] = ask_py_spy
    if importlib.util.find_spec("scalene"):
        ways["scalene"] = ask_scalene
    found = measure(ways, runs, folder)
    for bench, key, unit, figure, floor in (("samples/outside", "outside", "% of runs", outside_pct, OUTSIDE_PCT),
                                            ("samples/share", "share", "points", statistics.median, None),
                                            ("samples/waits", "waits", "%", statistics.median, None)):
        values = {way: round(figure(found[way][key]), 2) for way in ways if found[way][key]}
        value = values.pop("xsp")
        yield {"bench": bench, "case": f"known parts, {runs} runs", "value": value, "unit": unit, "floor": floor,
               "ratio": round(value / floor, 3) if floor else None, "target": 1 if floor else None, "peers": values}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="xsp-bench-truth-") as name:
        try:
            for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS, pathlib.Path(name)):
                print(json.dumps(line), flush=True)
        except (OSError, RuntimeError, ValueError, LookupError, subprocess.SubprocessError) as error:
            print(json.dumps({"bench": "samples/outside", "case": "all", "value": None, "unit": "", "floor": None, "ratio": None,
                              "target": None, "peers": {}, "note": f"not measured: {error}"}))
