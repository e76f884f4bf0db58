#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run.py FILE [ARGUMENTS]: runs a Python program of tests/, where each can import the modules of every folder.

CMake calls it for each test_*.py and long_*.py; by hand, the arguments of unittest select a part of a file:
    .venv/bin/python3 tests/run.py tests/launch/test_run.py RunTest.test_status
XSP_BUILD is build/ of this checkout if it is not set. XSP_TEST_DATA is a folder of real traces; tests of them are skipped
without it. XSP_TEST_SECONDS after its start, a program that still runs shows where it is, and ends."""
import faulthandler
import os
import pathlib
import runpy
import signal
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.dont_write_bytecode = True
    defaults = {"XSP_SOURCE": SOURCE, "XSP_BUILD": SOURCE / "build", "XSP_PYTHON": sys.executable,
                "XSP_TEST_DATA": os.devnull, "XSP_PEAKS": "skip", "ORT_DISABLE_TELEMETRY": "1"}
    for name, value in defaults.items():
        os.environ.setdefault(name, str(value))
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's "&" in a script: tests send it, and children would ignore it, too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "XSP_TEST_SECONDS" in os.environ:
        faulthandler.dump_traceback_later(int(os.environ["XSP_TEST_SECONDS"]), exit=True)
    # Module names are unique in tests/, as ctest's names are.
    sys.path[:1] = sorted({str(module.parent) for module in (SOURCE / "tests").rglob("*.py")})
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
