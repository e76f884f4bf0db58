# SPDX-License-Identifier: Apache-2.0
"""Real programs to be traced (examples/*.py) and what they need: models, an OpenCL device, caches inside the build folder.
Used by test_workloads.py; knows only the place of xsp."""
import functools
import json
import os
import pathlib
import subprocess
import sys

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
XSP = BUILD / "xsp"
OPENCV = SOURCE / "examples/opencv_dnn.py"
TINYGRAD = SOURCE / "examples/tinygrad_transformer.py"
TIMEOUT_S = 600


def environment():
    """With OpenCL on the CPU, and every cache in the build folder: kernels are built once, and nothing is left in the home.
    OpenCV's tuned kernels are kept too, so that each process chooses the same ones."""
    caches = BUILD / "test-caches"
    folders = {"POCL_CACHE_DIR": caches / "pocl", "OPENCV_OPENCL_CACHE_DIR": caches / "opencv",
               "OPENCV_OCL4DNN_CONFIG_PATH": caches / "opencv-tuned"}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    return {**os.environ, **{name: str(folder) for name, folder in folders.items()},
            "CACHEDB": str(caches / "tinygrad.db"), "DEV": "CL", "OPENCV_OPENCL_DEVICE": ":CPU:",
            "OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES": "1", "COLUMNS": "0"}


@functools.cache
def missing():
    """Why the programs cannot run here, or None."""
    if os.environ.get("XSP_SANITIZE"):
        return "a sanitizer's library would have to come first in Python, which is built without it"
    absent = [name for name in ("nvtx", "itt", "opencl") if not (BUILD / f"tracers/{name}.so").exists()]
    if absent:
        return f"built without the tracers {', '.join(absent)}"
    code = ("import cv2, nvtx, numpy, sys\n"
            "sys.exit(0 if cv2.ocl.useOpenCL() else 'OpenCV finds no OpenCL device: pocl-opencl-icd is not installed')")
    result = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=600)
    return None if result.returncode == 0 else (result.stderr.strip().splitlines() or ["?"])[-1]


@functools.cache
def missing_tinygrad():
    result = subprocess.run([sys.executable, "-c", "from tinygrad import Tensor; Tensor([1]).realize()"],
                            env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S)
    return None if result.returncode == 0 else (result.stderr.strip().splitlines() or ["?"])[-1]


def run(command, **options):
    result = subprocess.run([str(part) for part in command], env=environment(), capture_output=True, text=True,
                            timeout=TIMEOUT_S, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: status {result.returncode}: {result.stderr}")
    return result


def answer(result):
    """The JSON object that the program prints last: OpenCV prints lines of its own before."""
    return json.loads(result.stdout.splitlines()[-1])


def read(*arguments):
    return json.loads(run([XSP, *arguments, "--json"]).stdout)
