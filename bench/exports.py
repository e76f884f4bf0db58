# SPDX-License-Identifier: Apache-2.0
"""Exports of 10^6 spans with four tags each, in every format: processor time a span, and the peak of memory. Called
by bench/run.py, or by hand with XSP_BUILD=build-bench and the number of spans; prints one JSON object per line. The floor of
time is the design's: a microsecond a span. That of memory is the same export of a tenth of the spans."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("XSP_BUILD", SOURCE / "build-bench"))
SPANS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
FORMATS = ["perfetto", "chrome", "otlp", "otlp-proto", "sqlite", "csv", "speedscope", "folded", "pprof"]
LIMIT_NS, REPETITIONS = 1000, 3


def put(what, case, value, unit, floor, target):
    print(json.dumps({"bench": f"export/{what}", "case": case, "value": round(value, 1), "unit": unit, "floor": floor,
                      "ratio": round(value / floor, 3), "target": target, "peers": {}}), flush=True)


def make(folder, spans):
    trace, file = folder / "trace.json", folder / f"{spans}.xsp"
    subprocess.run([BUILD / "bench-programs" / "make_kineto", str(spans), trace], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([BUILD / "xsp", "import", "-q", trace, "-o", file], check=True, stdout=subprocess.DEVNULL)
    trace.unlink()
    return file


def export(file, name):
    """Seconds of processor time, and MB of memory at the peak, at least those of this process, which it was before."""
    output = file.with_suffix(".out")
    process = subprocess.Popen([BUILD / "xsp", "export", "-q", file, "--to", name, "-o", output],
                               stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"exports: {name} ended with status {process.returncode}")
    output.unlink()
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def main():
    with tempfile.TemporaryDirectory(prefix="xsp-bench-", dir="/dev/shm") as folder:
        many, few = make(pathlib.Path(folder), SPANS), make(pathlib.Path(folder), SPANS // 10)
        for name in FORMATS:
            rounds = [export(many, name) for _ in range(REPETITIONS)]
            put("time", name, statistics.median(seconds for seconds, _ in rounds) * 1e9 / SPANS, "ns/span", LIMIT_NS, 1)
            put("memory", name, rounds[0][1], "MB", round(export(few, name)[1], 1), 1.5)


if __name__ == "__main__":
    main()
