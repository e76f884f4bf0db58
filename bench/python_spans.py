# SPDX-License-Identifier: Apache-2.0
"""Spans recorded from Python (package xsp) in this interpreter, enter and exit, while xsp run drains them. Called by bench/run.py, or
by hand with XSP_BUILD=build-bench; prints one JSON object per line. Floors: the same program without a session, where a span is
the test of a flag; for the decorator, one that only calls."""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("XSP_BUILD", SOURCE / "build-bench")).resolve()
SPANS, REPEATS = 100_000, 9
TARGETS = {"with": 1.5, "decorator": 3.0}


def plain(function):
    @functools.wraps(function)
    def wrapper(*values, **named):
        return function(*values, **named)
    return wrapper


def work():
    pass


def median_ns(act):
    times = []
    for _ in range(REPEATS):
        start = time.thread_time_ns()
        act()
        times.append(time.thread_time_ns() - start)
    return sorted(times)[REPEATS // 2] / SPANS


def cost():
    """In a process of its own: ns of each case, without those of the loop."""
    import xsp
    span, traced, called = xsp.span, xsp.trace(work), plain(work)

    def empty():
        for _ in range(SPANS):
            pass

    def block():
        for _ in range(SPANS):
            with span("span"):
                pass

    def decorated(function):
        def act():
            for _ in range(SPANS):
                function()
        return act
    if type(span("span")).__name__ != "Span":
        sys.exit("the recorder was not loaded")
    loop = median_ns(empty)
    print(json.dumps({"with": median_ns(block) - loop, "decorator": median_ns(decorated(traced)) - loop,
                      "called": median_ns(decorated(called)) - loop}))


def measure(*prefix):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE / "answers/python" / "src"), "XSP_LIBRARY_PYTHON": str(BUILD / "xsp_python.so"),
                   "XSP_LIBRARY_READ": str(BUILD / "libxsp_read.so")}
    command = [*map(str, prefix), sys.executable, "-B", __file__, "cost"]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=200).stdout)


def main():
    off = measure()
    with tempfile.TemporaryDirectory(prefix="xsp-bench-spans-") as folder:
        on = measure(BUILD / "xsp", "run", "-o", f"{folder}/out.xsp", "--")
    floors = {"with": off["with"], "decorator": on["called"]}
    for case in TARGETS:
        print(json.dumps({"bench": "python/span", "case": "%d.%d, %s" % (*sys.version_info[:2], case), "unit": "ns/span",
                          "value": round(on[case], 1), "floor": round(floors[case], 1),
                          "ratio": round(on[case] / floors[case], 3), "target": TARGETS[case]}), flush=True)


if __name__ == "__main__":
    cost() if sys.argv[1:] == ["cost"] else main()
