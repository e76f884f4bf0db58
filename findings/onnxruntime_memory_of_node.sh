#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0: a profile has mem_in_use_delta for each node. One expects the bytes that the node allocated,
# hence the same figure for two equal nodes with tensors of equal shape. The figure is the size of the arena's chunks,
# which depends on earlier allocations: the second of two chained Sin nodes "uses" 62 % more. The request is in
# mem_requested_in_use_delta.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python3" - <<'EOF'
import json, sys
import numpy as np, onnxruntime
from onnx import TensorProto, helper

SHAPE = [100, 1000]
nodes = [helper.make_node("Sin", ["input"], ["middle"], "first"),
         helper.make_node("Sin", ["middle"], ["end"], "second"),
         helper.make_node("Concat", ["middle", "end"], ["output"], "both", axis=0)]  # keeps both results alive
graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("input", TensorProto.FLOAT, SHAPE)],
                          [helper.make_tensor_value_info("output", TensorProto.FLOAT, [200, 1000])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.enable_mem_pattern = False  # each node allocates for itself
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
session.run(None, {"input": np.ones(SHAPE, np.float32)})
with open(session.end_profiling(), encoding="utf-8") as file:
    args = {event["name"]: event["args"] for event in json.load(file)}
in_use, requested = ([int(args[f"{node}_kernel_time"][key]) for node in ("first", "second")]
                     for key in ("mem_in_use_delta", "mem_requested_in_use_delta"))
size = 4 * SHAPE[0] * SHAPE[1]
print("onnxruntime", onnxruntime.__version__)
print(f"expected: mem_in_use_delta of two Sin nodes with outputs of {size} bytes is equal")
print(f"seen:     mem_in_use_delta {in_use}, mem_requested_in_use_delta {requested}")
sys.exit(not (requested == [size, size] and in_use[0] >= size and in_use[1] > in_use[0]))
EOF
