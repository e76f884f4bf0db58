#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU: an inference request has a property of profiling information, so one expects the times of
# that request's last inference. The counters belong to the compiled model's graph instead. A request that never ran
# reports the times of another request's inference, and after more inferences of either request both report the same
# figures.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python3" - <<'EOF'
import importlib.metadata, sys
import numpy as np, openvino as ov
from openvino import opset13 as operators

SIZE, ROWS = 1000, 2000  # a product that takes more than the counters' unit, a microsecond, on any processor
rows = operators.parameter([-1, SIZE], np.float32, name="rows")
product = operators.matmul(rows, operators.constant(np.ones((SIZE, SIZE), np.float32)), False, False)
model = ov.Model([operators.result(product)], [rows], "product")
compiled = ov.Core().compile_model(model, "CPU", {"PERF_COUNT": True, "NUM_STREAMS": 1})
used, idle = compiled.create_infer_request(), compiled.create_infer_request()


def counters(request):
    return [(node.node_name, node.status, node.real_time) for node in request.profiling_info]


def product_us(nodes):
    return sum(time.microseconds + 1_000_000 * time.seconds for name, _, time in nodes if name.startswith("MatMul"))


used.infer({0: np.ones((ROWS, SIZE), np.float32)})
first_used, first_idle = counters(used), counters(idle)
for _ in range(99):
    idle.infer({0: np.ones((1, SIZE), np.float32)})
then_used, then_idle = counters(used), counters(idle)
print("openvino", importlib.metadata.version("openvino"))
print("expected: no time in the request that never ran; the other's times stay those of its only inference")
print(f"seen:     {product_us(first_used)} us in the request that ran, {product_us(first_idle)} us in the other;")
print(f"          after 99 inferences of the other: {product_us(then_used)} us and {product_us(then_idle)} us")
sys.exit(not (product_us(first_idle) > 0 and first_idle == first_used and then_idle == then_used))
EOF
