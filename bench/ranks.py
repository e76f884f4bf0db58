# SPDX-License-Identifier: Apache-2.0
"""Findings of jobs of 1,000 ranks: peak memory and processor time a span, of 1,000 and 10,000 spans a rank. Called by bench/run.py, or by
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
MEMORY_MOST_MB = 500


def used_by(file):
    with subprocess.Popen([BUILD / "xsp", "analyze", "findings", file], stdout=subprocess.DEVNULL) as xsp:
        _, status, usage = os.wait4(xsp.pid, 0)
        xsp.returncode = os.waitstatus_to_exitcode(status)
    assert xsp.returncode == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def put(case, value, unit, floor, target):
    print(json.dumps({"bench": "ranks", "case": case, "value": round(value, 4), "unit": unit, "floor": round(floor, 4),
                      "ratio": round(value / floor, 4), "target": target}), flush=True)


def main():
    ns, peaks_mb = [], []
    with tempfile.TemporaryDirectory() as folder:
        for steps in STEPS:
            file = pathlib.Path(folder) / "job.xsp"
            make_many_ranks(file, RANKS, steps)
            seconds, peak_mb = used_by(file)
            ns.append(1e9 * seconds / (RANKS * steps * SPANS))
            peaks_mb.append(peak_mb)
    put(f"findings of {RANKS} x {STEPS[1] * SPANS} spans", ns[1], "ns/span", ns[0], 1)
    put(f"memory of findings of {RANKS} x {STEPS[1] * SPANS} spans", peaks_mb[1], "MB", peaks_mb[0],
        round(MEMORY_MOST_MB / peaks_mb[0], 4))


if __name__ == "__main__":
    main()
