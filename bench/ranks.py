# SPDX-License-Identifier: Apache-2.0
"""A21 and findings of jobs of 1,000 ranks: peak memory and processor time a span, of 1,000 and 10,000 spans a rank. Called by bench/run.py, or by
hand with XSP_BUILD=build-bench; prints one JSON object per line. The floor is the smaller job."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.setdefault("XSP_BUILD", str(SOURCE / "build-bench")))
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from many_ranks import SPANS, make_many_ranks  # noqa: E402

RANKS, STEPS = 1000, (20, int(os.environ.get("XSP_BENCH_STEPS", "200")))
MEMORY_MOST_MB = {"A21": 100, "findings": 250}


def used_by(analysis, file):
    with subprocess.Popen([BUILD / "xsp", "analyze", analysis, file], stdout=subprocess.DEVNULL) as xsp:
        _, status, usage = os.wait4(xsp.pid, 0)
        xsp.returncode = os.waitstatus_to_exitcode(status)
    assert xsp.returncode == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def put(case, value, unit, floor, target):
    print(json.dumps({"bench": "ranks", "case": case, "value": round(value, 4), "unit": unit, "floor": round(floor, 4),
                      "ratio": round(value / floor, 4), "target": target}), flush=True)


def main():
    used = {analysis: [] for analysis in MEMORY_MOST_MB}
    with tempfile.TemporaryDirectory() as folder:
        for steps in STEPS:
            file = pathlib.Path(folder) / "job.xsp"
            make_many_ranks(file, RANKS, steps)
            for analysis, figures in used.items():
                seconds, peak_mb = used_by(analysis, file)
                figures.append((1e9 * seconds / (RANKS * steps * SPANS), peak_mb))
    for analysis, ((floor_ns, floor_mb), (ns, peak_mb)) in used.items():
        put(f"{analysis} of {RANKS} x {STEPS[1] * SPANS} spans", ns, "ns/span", floor_ns, 1)
        put(f"memory of {analysis} of {RANKS} x {STEPS[1] * SPANS} spans", peak_mb, "MB", floor_mb,
            round(MEMORY_MOST_MB[analysis] / floor_mb, 4))


if __name__ == "__main__":
    main()
