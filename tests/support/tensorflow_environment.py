# SPDX-License-Identifier: Apache-2.0
"""A Python environment with TensorFlow for the long tests (1.6 GB), made once, in XSP_TEST_CACHE or the build folder.

`python3 tensorflow_environment.py` makes it and prints its interpreter."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

TENSORFLOW = "2.21.0"


def make(folder):
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=600)
    python = folder / "bin" / "python3"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    f"tensorflow-cpu=={TENSORFLOW}"], check=True, timeout=1200)


def tensorflow_environment():
    """Its folder; raises unittest.SkipTest where it cannot be made (no network)."""
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or os.environ["XSP_BUILD"]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"tensorflow-{TENSORFLOW}"
    done = folder / "complete"
    with open(cache / "tensorflow.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                make(folder)
            except (OSError, subprocess.SubprocessError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                raise unittest.SkipTest(f"TensorFlow {TENSORFLOW} cannot be installed here: {error}") from error
            done.write_text("")
    return folder


if __name__ == "__main__":
    os.environ.setdefault("XSP_BUILD", "build")
    print(tensorflow_environment() / "bin" / "python3")
