# SPDX-License-Identifier: Apache-2.0
"""Fail where the running Python environment is not what the requirements file pins, or its packages do not load."""
import importlib
import importlib.metadata
import sys

for line in open(sys.argv[1], encoding="utf-8"):
    line = line.split("#")[0].strip()
    if line:
        name, _, version = line.partition("==")
        found = importlib.metadata.version(name)
        if found != version:
            sys.exit(f"{name} is {found}, wanted {version}")
for module in ("numpy", "onnx", "onnxruntime", "google.protobuf", "perfetto.trace_processor", "pip"):
    importlib.import_module(module)
