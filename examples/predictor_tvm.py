#!/usr/bin/env python3
"""Models of ONNX, compiled by TVM, for `xsp profile`: `xsp profile net.onnx --framework program --library
program=examples/predictor_tvm.py`. Layers are the compiled functions that TVM's virtual machine calls, by its instrument; its own work
(`vm.builtin.…`) is left out."""
import threading
from time import monotonic_ns as now

import onnx
import tvm
from predictor_serve import serve
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

model, machine, values, layers = None, None, [], []


def describe(path, threads):
    global model
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    return {"framework": "tvm", "framework_version": tvm.__version__.split("+")[0],
            "inputs": [{"name": value.name, "type": onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name,
                        "shape": [size.dim_value or size.dim_param or -1 for size in value.type.tensor_type.shape.dim]}
                       for value in model.graph.input if value.name not in weights]}


def prepare(inputs):
    """Compiles for these shapes."""
    global machine, values
    module = relax.get_pipeline("zero")(from_onnx(model, shape_dict={name: list(array.shape) for name, array in inputs.items()}))
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    values = [tvm.runtime.tensor(array) for array in inputs.values()]


def watch(_, name, is_before, __, *arguments):
    if name.startswith("vm.builtin."):
        return
    if is_before:
        shape = [int(size) for size in getattr(arguments[-1], "shape", [])] if arguments else []
        layers.append({"name": name, "type": name.rstrip("0123456789"), "shape": shape, "thread": threading.get_native_id(),
                       "start": now()})
    else:
        layers[-1]["end"] = now()


def predict(wants_layers):
    layers.clear()
    if wants_layers:
        machine.set_instrument(watch)
    start = now()
    machine["main"](*values)
    return start, now(), layers


serve(describe, prepare, predict)
