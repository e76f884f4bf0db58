# SPDX-License-Identifier: Apache-2.0
"""The pairs of examples/findings: which finding each shows, its runs with and without xsp, and what mending it gains."""
import collections
import os
import pathlib
import re
import statistics
import subprocess

import cuda_simulator
from scripted import XSP, xsp_json

FOLDER = pathlib.Path(os.environ["XSP_SOURCE"]) / "examples" / "findings"
RUNS = 6  # of pairs, the smallest and the largest of 6 enclose the median with 97 % probability
WAIT_S = 600
PAIRS = {  # of PyTorch: the id of the finding
    "hotspot": "F1", "small_operators": "F2", "index_backward": "F3", "input_pipeline": "F6", "too_many_workers": "F6",
    "layout": "F9", "odd_layer": "F12", "memory_growth": "F13", "overhead": "F14", "varying_layer": "F16",
    "recompilation": "F25", "straggler": "F31", "padding": "F34", "micro_batches": "F35", "small_collectives": "F36",
    "late_reduction": "F37", "server_turns": "F40", "server_threads": "F41", "server_rows": "F42"}

DEVICE_PAIRS = {"host_bound": "F5", "copies": "F7", "waits": "F8", "gaps": "F15"}  # of tests/findings/finding_pair.c
KERNEL_NS = 300_000
# What a step of each takes, bad and mended, where nothing disturbs it: six kernels, copies, and sleeps of 0.4 ms.
DEVICE_STEPS_MS = {"host_bound": (9.9, 1.8), "copies": (1.14, 0.64), "waits": (4.2, 2.4), "gaps": (4.2, 1.8)}
Gain = collections.namedtuple("Gain", "bad_ms mended_ms least_ms low_pct pct high_pct")


def bad_lines(name):
    """The numbers of the lines that a finding may name."""
    lines = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# bad")]


# Threads of OpenMP that wait do not spin: other programs on the machine would multiply their waits.
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")},
               "OMP_WAIT_POLICY": "PASSIVE", "PYTHONDONTWRITEBYTECODE": "1"}


def printed_ms(command, **variables):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=WAIT_S,
                          stdin=subprocess.DEVNULL, check=False, env={**ENVIRONMENT, **variables})
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr}")
    return float(re.fullmatch(r"([\d.]+) ms a step\n", done.stdout)[1])


def gain(command_of, runs=RUNS, **variables):
    """What `command_of("mended")` gains over `command_of("bad")`: of runs in turns, also in per cent of the bad one's step."""
    pairs = [[printed_ms(command_of(variant), **variables) for variant in ("bad", "mended")] for _ in range(runs)]
    gains = sorted(100 * (1 - mended_ms / bad_ms) for bad_ms, mended_ms in pairs)
    bad_ms, mended_ms = (statistics.median(times) for times in zip(*pairs))
    least_ms = min(bad_ms - mended_ms for bad_ms, mended_ms in pairs)
    return Gain(bad_ms, mended_ms, least_ms, gains[0], statistics.median(gains), gains[-1])


def record(command, file, *options, **variables):
    return printed_ms([XSP, "run", "-q", "-f", "-o", file, *options, "--", *command], **variables)


def findings(file, *options):
    return xsp_json("analyze", "findings", file, *options, "--json")["rows"]


def torch_command(python, name):
    return lambda variant: [python, "-W", "ignore", FOLDER / f"{name}.py", variant]


TORCH_OPTIONS = ("-t", "pytorch", "--call-paths", "light", "--model-range", "step")
SAMPLED = ("-t", "pytorch,cpu")
OPTIONS = {"odd_layer": ("--shapes",), "overhead": ("--leveled", "--runs", "10", "--shapes"),  # of one pair
           "straggler": SAMPLED, "server_turns": SAMPLED, "server_threads": SAMPLED, "server_rows": SAMPLED}


def device_command(name, times=1):
    return lambda variant: [cuda_simulator.PLACE / "finding_pair", name, variant, times]


def device_environment(times=1):
    version, library = "13.1", cuda_simulator.VERSIONS["13.1"][1]
    return {**cuda_simulator.environment(version, kernel_ns=times * KERNEL_NS), "XSP_LIBRARY_CUPTI": str(library)}
