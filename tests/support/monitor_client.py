# SPDX-License-Identifier: Apache-2.0
"""A client of <xsp/monitor.h>, examples/monitor: it prints operators and calls of GPUs to stderr."""
import os
import pathlib
import shutil
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])


def made_in(folder):
    """Its path; skips the test where there is no C compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise unittest.SkipTest("no C compiler")
    client = pathlib.Path(folder) / "operators.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-fvisibility=hidden", "-I", SOURCE / "include", "-o", client,
                    SOURCE / "examples/monitor/operators.c", "-L", BUILD, "-lxsp"], check=True, timeout=600)
    return client


def calls(said, source):
    """Names of the source's calls in what was printed, by their begins; each begin has its end, and none is within another."""
    lines = [line for line in said.splitlines() if line.startswith(f"{source} ")]
    if [f"{line} returned " for line in lines[::2]] != lines[1::2]:
        raise AssertionError(f"begins without ends: {lines}")
    return [line.split()[1] for line in lines[::2]]
