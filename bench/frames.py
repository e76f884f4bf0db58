# SPDX-License-Identifier: Apache-2.0
"""Call paths of Python stacks (guest/tracers/frames) in this interpreter, with a session: a known stack, a new line in a known
stack, the innermost frame. Called by bench/run.py, or by hand with XSP_BUILD=build-bench; prints one JSON object per line.
Floors: the same stack read without hashing, a frame appended to a known path, the thread's state. Native stacks against
libunwind's unw_backtrace, which only gives addresses."""
import ctypes
import json
import os
import pathlib
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("XSP_BUILD", SOURCE / "build-bench"))
DEPTH, NEW_LINES = 20, 1000


def put(case, value, floor, target, bench="frames/python"):
    print(json.dumps({"bench": bench, "case": case, "value": round(value, 2), "unit": "ns", "floor": round(floor, 2),
                      "ratio": round(value / floor, 4), "target": target}), flush=True)


def main():
    module = ctypes.PyDLL(str(BUILD / "bench-programs" / "python_frames.so"))
    cost, native, median = module.frames_cost, module.frames_native_cost, module.frames_median
    cost.restype = native.restype = median.restype = ctypes.c_double
    cost.argtypes = native.argtypes = [ctypes.c_char]
    why = ctypes.create_string_buffer(256)
    with tempfile.TemporaryDirectory(prefix="xsp-bench-frames-", dir="/dev/shm") as folder:
        if not module.frames_begin(folder.encode(), why, ctypes.c_size_t(256)):
            sys.exit(f"frames bench: {why.value.decode()}")

        def measure():
            version = "%d.%d" % sys.version_info[:2]
            put(f"{version}, known stack of {DEPTH}", cost(b"p"), cost(b"r"), 3.0)
            put(f"{version}, innermost frame", cost(b"t"), cost(b"s"), 3.0)
            once, append = module.frames_once, module.frames_append
            for line in range(NEW_LINES):
                append(line)
            floor = median()
            lines = compile("\n".join(["once()"] * 20), "new lines", "exec")
            for i in range(NEW_LINES // 20):
                exec(lines.replace(co_filename=f"file {i}"), {"once": once})
            put(f"{version}, new line in a stack of {DEPTH}", median(), floor, None)

        def down(depth):
            return down(depth - 1) if depth > 0 else measure()
        peer = native(b"u")
        if peer:
            put(f"known stack of {DEPTH} against unw_backtrace", native(b"n"), peer, 1.2, "frames/native")
        else:
            print(json.dumps({"bench": "frames/native", "case": "known stack", "note": "libunwind.so.8 is not installed"}))
        down(DEPTH - 4)  # besides: <module>, main, and measure


if __name__ == "__main__":
    main()
