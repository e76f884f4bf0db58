# SPDX-License-Identifier: Apache-2.0
"""What it costs to sample ten PyTorch models (workloads/*.py) 999 times a second, as figure6.py measures: under `xsp run`, py-spy,
`perf record -g` and austin, where these are installed and may record. Called by bench/run.py; prints one JSON object per line. Samplers in a
process of their own stop the program, or not, and take their time there: see `tree_ratio`."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import figure6
from workloads import made_python

RATE, TARGET = 999, 1.01
PEERS = {"py-spy": lambda path: ["py-spy", "record", "--rate", RATE, "--format", "raw", "-o", path, "--"],
         "perf": lambda path: ["perf", "record", "-q", "-g", "-F", RATE, "-o", path, "--"],
         "austin": lambda path: ["austin", "-i", f"{1_000_000 // RATE}us", "-o", path]}


def is_usable(name, command):
    """Whether it may record here, as perf may not in many containers, and leaves the program's output alone."""
    if not shutil.which(name):
        return False
    program = [sys.executable, "-c", "print('{}', sum(range(10 ** 7)))"]  # py-spy does not find one that ends at once
    with tempfile.TemporaryDirectory(prefix="xsp-bench-samplers-") as folder:
        try:
            done = subprocess.run([str(part) for part in [*command(f"{folder}/try"), *program]], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"samplers: without {name}: {error}", file=sys.stderr)
            return False
    is_good = done.returncode == 0 and any(line.startswith("{") for line in done.stdout.splitlines())
    if not is_good:
        print(f"samplers: without {name}: status {done.returncode}: {done.stderr[-300:]}", file=sys.stderr)
    return is_good


def main():
    ways = {"xsp": (["-t", "cpu", "--sample-rate", str(RATE)], "none", TARGET, None)}
    ways |= {name: (command, "none", None, None) for name, command in PEERS.items() if is_usable(name, command)}
    options, python = figure6.arguments(__doc__, ways), made_python("torch")
    with tempfile.TemporaryDirectory(prefix="xsp-bench-samplers-") as name:
        for line in figure6.lines("samplers", lambda model: [python, figure6.FOLDER / f"{model}.py"], options, pathlib.Path(name)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    figure6.run_bench("samplers", main)
