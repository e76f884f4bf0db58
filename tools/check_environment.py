# SPDX-License-Identifier: Apache-2.0
"""Fails if the running Python environment differs from the requirements file: another version, a file that is missing or
has another size than its package lists, or a module that does not load."""
import importlib
import importlib.metadata
import sys

for line in open(sys.argv[1], encoding="utf-8"):
    line = line.split("#")[0].strip()
    if not line:
        continue
    name, _, version = line.partition("==")
    package = importlib.metadata.distribution(name)
    if package.version != version:
        sys.exit(f"{name} is {package.version}, wanted {version}")
    for file in package.files or sys.exit(f"{name} has no list of its files"):
        if file.size is not None and file.locate().stat().st_size != file.size:
            sys.exit(f"{name}: {file} is damaged")
for module in ("numpy", "onnx", "onnxruntime", "google.protobuf", "perfetto.trace_processor",
               "opentelemetry.proto.trace.v1.trace_pb2", "cv2", "nvtx", "tinygrad", "playwright.sync_api",
               "axe_playwright_python.base", "pip"):
    importlib.import_module(module)
