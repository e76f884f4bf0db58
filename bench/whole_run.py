# SPDX-License-Identifier: Apache-2.0
"""What a short program costs in all under `xsp run`: CPU time of the program and of xsp, until its summary is printed.
Called by bench/run.py; prints one JSON object per line.

`run/loop` is the program's loop alone, which tracing slows; `run/whole` is everything, imports and the summary included. The
program is workloads/tiny_operators.py: nothing has more spans for its time. Plain and traced runs take turns."""
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

from workloads import SOURCE, XSP, made_python

ROUNDS = 3
TARGETS = {"run/loop": 1.3, "run/whole": 1.4}


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command):
    """CPU seconds of the loop, and of all processes."""
    before = children_s()
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr[-300:])
    return float(ran.stdout), children_s() - before


def lines(folder):
    python = made_python("torch")
    for loop in ("optimizer", "items"):
        program = [python, SOURCE / "bench/workloads/tiny_operators.py", loop]
        ways = {"plain": program, "traced": [XSP, "run", "--force", "-o", folder / "loop.xsp", "--", *program]}
        found = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, command in ways.items():
                found[way].append(run(command))
        for at, (bench, target) in enumerate(TARGETS.items()):
            plain, traced = (statistics.median(times[at] for times in found[way]) for way in ways)
            yield {"bench": bench, "case": f"PyTorch, {loop}", "value": round(traced, 3), "unit": "CPU s",
                   "floor": round(plain, 3), "ratio": round(traced / plain, 3), "target": target, "peers": {}}


def main():
    with tempfile.TemporaryDirectory(prefix="xsp-bench-whole-run-") as name:
        try:
            for line in lines(pathlib.Path(name)):
                print(json.dumps(line), flush=True)
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            print(f"run/whole: {error}", file=sys.stderr)
            print(json.dumps({"bench": "run/whole", "case": "all", "value": None, "unit": "", "floor": None, "ratio": None,
                              "target": None, "peers": {}, "note": f"not measured: {error}"}), flush=True)


if __name__ == "__main__":
    main()
