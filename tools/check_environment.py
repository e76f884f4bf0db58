# SPDX-License-Identifier: Apache-2.0
"""check_environment.py FILE: fails if the running Python environment differs from the requirements file: another version, a
file that is missing or has another size than its package lists, or a module that does not load."""
import importlib
import importlib.metadata
import pathlib
import sys

from pip._vendor.packaging.requirements import Requirement

# A module of each package whose loading shows that it works.
MODULES = {"axe-playwright-python": "axe_playwright_python.base", "numpy": "numpy", "nvtx": "nvtx", "onnx": "onnx",
           "onnxruntime": "onnxruntime", "opencv-python-headless": "cv2",
           "opentelemetry-proto": "opentelemetry.proto.trace.v1.trace_pb2",
           "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http.trace_exporter",
           "perfetto": "perfetto.trace_processor",
           "playwright": "playwright.sync_api", "protobuf": "google.protobuf", "tinygrad": "tinygrad"}


def requirements(path):
    """(name, version) of each line that is meant for this Python; `-r` includes a file of the same folder."""
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("-r "):
            yield from requirements(path.parent / line[3:])
        elif line:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate():
                yield requirement.name, next(iter(requirement.specifier)).version


for name, version in requirements(pathlib.Path(sys.argv[1])):
    package = importlib.metadata.distribution(name)
    if package.version != version:
        sys.exit(f"{name} is {package.version}, wanted {version}")
    for file in package.files or sys.exit(f"{name} has no list of its files"):
        if file.size is not None and file.suffix != ".pyc" and file.locate().stat().st_size != file.size:
            sys.exit(f"{name}: {file} is damaged")
    if name in MODULES:
        importlib.import_module(MODULES[name])
