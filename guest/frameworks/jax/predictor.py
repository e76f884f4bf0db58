# SPDX-License-Identifier: Apache-2.0
"""Runs a JAX model for `xsp profile`: answers the requests of docs/predictor_protocol.md. Started by
guest/frameworks/jax/predictor.c. If layers are recorded, each prediction has a session of JAX's profiler, which is read outside
of the prediction's time.

MODEL is a file of jax.export, or FILE.py:FUNCTION or PACKAGE.MODULE:FUNCTION, a function that returns a function of arrays and its
example inputs."""
import importlib
import importlib.util
import inspect
import json
import mmap
import os
import re
import sys
from time import time_ns

RETURNS = "a function that returns a function of arrays, and its example inputs"
KINDS = re.compile(r"bfloat16|bool|float(16|32|64)|u?int(8|16|32|64)")  # of arrays that the protocol has
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?(?P<name>[\w.-]+) = (?:\w+\[(?P<shape>[\d,]*)\]\S*|\(.*?\)) (?P<opcode>[\w-]+)\(")
PRODUCTS = {"dot": "dot_general", "convolution": "conv_general_dilated"}  # XLA names them after what they took in


class Refusal(Exception):
    """What xsp reports; an advice follows "; try: "."""


# ---- what the function is called with ------------------------------------------------------------------------------------------
class Input:
    """An array that the function takes. Its values are the example's, if there is one, unless the user gives others."""

    def __init__(self, name, dtype, shape, example=None):
        self.name, self.dtype, self.shape, self.example = name, dtype, list(shape), example
        if not KINDS.fullmatch(str(dtype)):
            raise Refusal(f"input {name} has elements of type {dtype}, which no input of xsp has")

    def values(self, memory, info):
        if self.example is not None and not info["given"]:
            return self.repeated(info["shape"])
        count = 1
        for size in info["shape"]:
            count *= size
        return numpy.frombuffer(memory, self.dtype, count, info["offset"]).reshape(info["shape"]).copy()

    def repeated(self, shape):
        """The example's rows in turn, until the batch is full."""
        example = numpy.asarray(self.example)
        if list(example.shape) == shape:
            return example
        if list(example.shape[1:]) != shape[1:]:
            raise Refusal(f"the example has shape {list(example.shape)}, not {shape}; try: --input NAME=FILE.npy")
        times = -(-shape[0] // example.shape[0])
        return numpy.concatenate([example] * times)[:shape[0]]


def leaf_names(names, arguments, keywords):
    """(name, leaf) of each leaf, in JAX's order."""
    named = []
    for name, value in [*zip(names, arguments), *sorted(keywords.items())]:
        leaves = jax.tree_util.tree_leaves(value)
        named += [(name if len(leaves) == 1 else f"{name}.{place}", leaf) for place, leaf in enumerate(leaves)]
    return named


class Inputs:
    """Arguments of the function's call. Arrays in them are inputs, all else is passed on as it is."""

    def __init__(self, named, tree, shapes=None):
        self.leaves, self.tree = [leaf for _, leaf in named], tree
        self.inputs = {place: Input(name, leaf.dtype, shapes[place] if shapes else leaf.shape, None if shapes else leaf)
                       for place, (name, leaf) in enumerate(named) if hasattr(leaf, "dtype") and hasattr(leaf, "shape")}
        batched = [item for item in self.inputs.values() if item.shape]
        if not shapes and len({item.shape[0] for item in batched}) == 1:  # dimension 0 is the batch if all agree on its size
            for item in batched:
                item.shape[0] = "N"

    def describe(self):
        return [{"name": item.name, "type": str(item.dtype), "shape": item.shape} for item in self.inputs.values()]

    def call(self, memory, infos):
        leaves = list(self.leaves)
        for (place, item), info in zip(self.inputs.items(), infos):
            leaves[place] = jax.device_put(item.values(memory, info))
        return jax.tree_util.tree_unflatten(self.tree, leaves)


# ---- models ------------------------------------------------------------------------------------------------------------------
def open_exported(path):
    from jax import export
    with open(path, "rb") as file:
        try:
            exported = export.deserialize(bytearray(file.read()))
        except ImportError as error:
            raise Refusal(f"{error}; try: pip install flatbuffers, into the Python that has JAX") from None
        except Exception as error:
            raise Refusal(f"not a file of jax.export: {error}; try: FILE.py:FUNCTION, {RETURNS}") from None
    arguments, keywords = jax.tree_util.tree_unflatten(exported.in_tree, exported.in_avals)
    shapes = [[size if isinstance(size, int) else str(size) for size in value.shape] for value in exported.in_avals]
    named = leaf_names([f"input{place}" for place in range(len(arguments))], arguments, keywords)
    return exported.call, Inputs(named, exported.in_tree, shapes)


def import_source(source):
    if not source.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(source)
    if not os.path.isfile(source):
        raise Refusal(f"no such file: {source}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(source)))
    name = os.path.splitext(os.path.basename(source))[0]
    spec = importlib.util.spec_from_file_location(name, source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def open_function(source, function):
    make = import_source(source)
    for part in function.split("."):
        make = getattr(make, part, None)
    if not callable(make):
        raise Refusal(f"{source} has no function {function}; try: {RETURNS}")
    made = make()
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[0]):
        raise Refusal(f"{function} returned {type(made).__name__}; try: {RETURNS}")
    model, example = made
    arguments, keywords = ((), example) if isinstance(example, dict) else \
        (tuple(example) if isinstance(example, (tuple, list)) else (example,), {})
    try:
        names = list(inspect.signature(model).parameters)
    except ValueError:
        names = []
    names += [f"input{place}" for place in range(len(names), len(arguments))]
    return model, Inputs(leaf_names(names, arguments, keywords), jax.tree_util.tree_structure((arguments, keywords)))


# ---- layers --------------------------------------------------------------------------------------------------------------------
class Layers:
    """Operations of a compiled module, from a session of JAX's profiler. The loops, branches and calls around others are none."""

    def __init__(self, compiled):
        self.facts, bodies = {}, set()
        text = compiled.as_text()
        for line in text.splitlines():
            found = INSTRUCTION.match(line)
            if not found:
                continue
            operation = re.search(r'op_name="([^"]*)"', line)
            primitive = operation.group(1).rsplit("/", 1)[-1] if operation else ""
            if found["opcode"] in ("while", "conditional"):
                bodies.add(found["name"])
            kind = PRODUCTS.get(found["opcode"]) or primitive or found["opcode"]
            shape = [int(size) for size in found["shape"].split(",") if size] if found["shape"] is not None else None
            self.facts[found["name"]] = {"name": found["name"], "type": kind, **({"shape": shape} if shape is not None else {})}
        self.left_out = bodies

    @staticmethod
    def session():
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        return profiler.ProfilerSession(options)

    def read(self, profile, start, end):
        data = jax.profiler.ProfileData.from_serialized_xspace(profile)
        began = next((int(value) for plane in data.planes if plane.name == "Task Environment"
                      for name, value in plane.stats if name == "profile_start_time"), 0)
        lines = [[(event, dict(event.stats)) for event in line.events] for plane in data.planes for line in plane.lines]
        ends = {facts["_c"]: (event.start_ns, line) for line in lines for event, facts in line
                if event.name.startswith("end: ") and "_c" in facts}
        layers = []
        for event, facts in (pair for line in lines for pair in line):
            name = facts.get("hlo_op")
            if name is None or name in self.left_out:
                continue
            offset = began if event.start_ns < began else 0
            last_ns, (marked_ns, line) = event.end_ns, ends.get(facts.get("_p"), (0, ()))
            if marked_ns > last_ns:  # another thread ended it, which runs what comes next before it marks the end
                next_ns = [other.start_ns for other, its in line if "hlo_op" in its and other.start_ns > event.start_ns]
                last_ns = max(last_ns, min([marked_ns, *next_ns]))
            at, until = max(int(event.start_ns) + offset, start), min(int(last_ns) + offset, end)
            if at <= until:
                layers.append({**self.facts.get(name, {"name": name, "type": "unknown"}), "start": at, "end": until})
        return sorted(layers, key=lambda layer: layer["start"])


# ---- the requests --------------------------------------------------------------------------------------------------------------
def write_outputs(value):
    """Into the file that xsp reads; what the answer has of them."""
    file, offset, infos = int(os.environ["XSP_PREDICTOR_OUTPUTS_FD"]), 0, []
    os.ftruncate(file, 0)
    leaves = jax.tree_util.tree_leaves(value)
    for place, leaf in enumerate(leaves):
        array = numpy.ascontiguousarray(leaf)
        if not KINDS.fullmatch(str(array.dtype)):
            continue
        content = memoryview(array.tobytes())
        written = 0
        while written < len(content):
            written += os.pwrite(file, content[written:written + (1 << 26)], offset + written)
        infos.append({"name": "output" if len(leaves) == 1 else f"output.{place}", "type": str(array.dtype),
                      "shape": list(array.shape), "offset": offset})
        offset += -(-len(content) // 64) * 64
    return infos


def find_device(text):
    """cpu, gpu, gpu:N, or a backend of JAX's: cuda, rocm, tpu."""
    kind, _, number = text.lower().partition(":")
    try:
        return jax.devices(kind)[int(number or 0)]
    except (RuntimeError, ValueError, IndexError) as error:
        present = ", ".join(sorted({device.platform for device in jax.devices()} | {"cpu"}))
        raise Refusal(f"jax has no '{text}' here, it has {present}: {error}; try: --device cpu") from None


class Predictor:
    def open(self, request):
        global jax, numpy, profiler
        import jax
        import numpy
        if request["layers"]:
            try:
                from jaxlib import _profiler as profiler
                jax.profiler.ProfileData
            except (ImportError, AttributeError):
                raise Refusal(f"JAX {jax.__version__} cannot read its own profiles; try: JAX 0.10, or --levels M") from None
        device = jax.devices()[0]
        if "device" in request:
            device = find_device(request["device"])
            jax.config.update("jax_default_device", device)
        self.has_layers, model = request["layers"], request["model"]
        if os.path.exists(model):
            self.model, self.inputs = open_exported(model)
        else:
            source, _, name = model.rpartition(":")
            self.model, self.inputs = open_function(source, name)
        kind, colon, _ = str(device).partition(":")  # "cuda:0"; of JAX's older CPUs "TFRT_CPU_0"
        return {"version": 2, "framework": "jax", "framework_version": jax.__version__, "clock": "realtime",
                "untold": ["thread"], "device": f"{kind if colon else device.platform}:{device.id}", "inputs": self.inputs.describe()}

    def prepare(self, request):
        memory = mmap.mmap(int(os.environ["XSP_PREDICTOR_INPUTS_FD"]), request["bytes"])
        self.arguments, self.keywords = self.inputs.call(memory, request["inputs"])
        self.compiled = jax.jit(self.model).lower(*self.arguments, **self.keywords).compile()
        self.layers = Layers(self.compiled) if self.has_layers else None
        return {}

    def predict(self, request):
        session = self.layers.session() if self.has_layers else None
        start = time_ns()
        output = jax.block_until_ready(self.compiled(*self.arguments, **self.keywords))
        end = time_ns()
        answer = {"start": start, "end": end}
        if self.has_layers:
            answer["layers"] = self.layers.read(session.stop(), start, end)
        if request.get("outputs"):
            answer["outputs"] = write_outputs(output)
        return answer
