# SPDX-License-Identifier: Apache-2.0
"""Runs a PyTorch model for `xsp profile`: answers the requests of docs/predictor_protocol.md. Started by
guest/frameworks/pytorch/predictor.c as a guest of the capture session: publishes the model spans; tracer `pytorch`, if layers are
recorded, publishes those.

MODEL is a file of TorchScript or torch.export, or FILE.py:FUNCTION or PACKAGE.MODULE:FUNCTION, a function that returns a
torch.nn.Module, or the module and its example inputs. Files are opened by torch.jit.load and torch.export.load only."""
import ctypes
import importlib
import importlib.util
import inspect
import json
import mmap
import os
import re
import sys
import zipfile
from time import monotonic_ns

LEVEL_MODEL = 1
RETURNS = "a function that returns a torch.nn.Module, or the module and its example inputs"


KINDS = re.compile(r"bfloat16|bool|float(16|32|64)|u?int(8|16|32|64)")  # of tensors that the protocol has


class Refusal(Exception):
    """What xsp reports; an advice follows "; try: "."""


# ---- spans -----------------------------------------------------------------------------------------------------------------
class Span(ctypes.Structure):  # as in xsp/span.h
    _fields_ = [("start", ctypes.c_uint64), ("site", ctypes.c_uint32), ("id", ctypes.c_uint32)]


class Interval(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("track", ctypes.c_uint16), ("kind", ctypes.c_uint8), ("clock", ctypes.c_uint8),
                ("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("correlation_id", ctypes.c_uint64),
                ("parent_ring", ctypes.c_uint32), ("parent_id", ctypes.c_uint32)]


class Spans:
    """The model spans of this thread. libxsp's functions are called with the interpreter's lock held: they do not block."""

    def __init__(self, name, levels):
        self.library = ctypes.PyDLL(os.environ["XSP_LIBXSP"])
        self.ticks = self.library.xsp_clock_ticks
        self.ticks.restype = ctypes.c_uint64
        self.library.xsp_site_create.restype = ctypes.c_void_p
        self.library.xsp_span_emit.restype = Span
        self.library.xsp_span_emit.argtypes = [ctypes.c_void_p, ctypes.POINTER(Interval)]
        self.library.xsp_span_tag_int.argtypes = [ctypes.POINTER(Span), ctypes.c_char_p, ctypes.c_int64]
        # Without a session (`xsp check model.yml`) nothing is recorded.
        failed = self.library.xsp_attach(None) if os.environ.get("XSP_SESSION") else 0
        if failed:
            raise Refusal(f"cannot join the capture session: {os.strerror(-failed)}; try: room in /dev/shm")
        self.library.xsp_tracer_set_levels(b"*", levels)
        self.library.xsp_tracer_set_levels(b"pytorch", levels & ~(1 << LEVEL_MODEL))  # the model spans are these
        self.site = self.library.xsp_site_create(b"runner", LEVEL_MODEL, name.encode(), None)

    def publish(self, start, end, tags):
        interval = Interval(size=ctypes.sizeof(Interval), start=start, end=end)
        span = self.library.xsp_span_emit(self.site, interval)
        for key, value in tags.items():
            self.library.xsp_span_tag_int(span, key.encode(), value)
        self.library.xsp_tracers_flush()  # what belongs to this inference is read before the next


def kind_of(dtype):
    return str(dtype).removeprefix("torch.")


# ---- what the module is called with ------------------------------------------------------------------------------------------
class Input:
    """A tensor that the module takes. Its values are the example's, if there is one, unless the user gives others."""

    def __init__(self, name, dtype, shape, example=None):
        self.name, self.dtype, self.shape, self.example = name, dtype, shape, example

    def describe(self):
        kind = kind_of(self.dtype)
        if not KINDS.fullmatch(kind):
            raise Refusal(f"input {self.name} has elements of type {kind}, which no input of xsp has")
        return {"name": self.name, "type": kind, "shape": self.shape}

    def values(self, memory, info):
        if self.example is not None and not info["given"]:
            return repeated(self.example, info["shape"])
        count = 1
        for size in info["shape"]:
            count *= size
        if count == 0:
            return torch.empty(info["shape"], dtype=self.dtype)
        return torch.frombuffer(memory, dtype=self.dtype, offset=info["offset"], count=count).reshape(info["shape"]).clone()


def repeated(example, shape):
    """The example's rows in turn, until the batch is full."""
    if list(example.shape) == shape:
        return example
    if list(example.shape[1:]) != shape[1:]:
        raise Refusal(f"the example has shape {list(example.shape)}, not {shape}; try: --input NAME=FILE.npy")
    times = -(-shape[0] // example.shape[0])
    return example.repeat(times, *[1] * (example.dim() - 1))[:shape[0]].contiguous()


class Inputs:
    """Arguments of the module's call. Tensors in them are inputs, all else is passed on as it is."""

    def __init__(self, names, arguments, keywords, shapes=None):
        parts = list(zip(names, arguments)) + list(keywords.items())
        leaves = []
        for name, value in parts:
            flat = pytree.tree_flatten(value)[0]
            leaves += [(name if len(flat) == 1 else f"{name}.{index}", leaf) for index, leaf in enumerate(flat)]
        self.leaves, self.spec = pytree.tree_flatten((tuple(arguments), keywords))
        self.inputs = {}  # by position among the leaves
        for position, (name, leaf) in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                self.inputs[position] = Input(name, leaf.dtype, list(leaf.shape), leaf.detach())
        if shapes is None:
            self.free_batch()
        for position, shape in (shapes or {}).items():
            self.inputs[position].shape = shape

    def free_batch(self):
        """Dimension 0 of examples is the batch if all of them agree on its size."""
        shaped = [item for item in self.inputs.values() if item.shape]
        if shaped and len({item.shape[0] for item in shaped}) == 1:
            for item in shaped:
                item.shape[0] = "N"

    def call(self, memory, infos):
        leaves = list(self.leaves)
        for (position, item), info in zip(self.inputs.items(), infos):
            leaves[position] = item.values(memory, info)
        return pytree.tree_unflatten(leaves, self.spec)


def as_call(example):
    """(arguments, keywords) of what a program gives as example inputs: a tensor, a tuple, or a dict by parameters' names."""
    if callable(example) and not isinstance(example, torch.Tensor):
        example = example()
    if isinstance(example, dict):
        return (), example
    return (tuple(example), {}) if isinstance(example, (tuple, list)) else ((example,), {})


def parameter_names(module, count):
    if isinstance(module, torch.jit.ScriptModule):
        names = [argument.name for argument in module.forward.schema.arguments[1:]]
    else:
        names = [parameter.name for parameter in inspect.signature(module.forward).parameters.values()
                 if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    return (names + [f"input{position}" for position in range(len(names), count)])[:count]


# ---- models ------------------------------------------------------------------------------------------------------------------
def from_file(path):
    """A tensor with the shape and type of a .npy file."""
    import numpy
    values = numpy.load(path, mmap_mode="r", allow_pickle=False)
    return torch.empty(values.shape, dtype=getattr(torch, str(values.dtype)))


def torchscript_inputs(module, given):
    """As traced, which the file has if it was made by torch.jit.trace; else as in the files that the user gave."""
    arguments = []
    values = list(module.graph.inputs())[1:]
    for name, kind in zip(parameter_names(module, len(values)), (value.type() for value in values)):
        sizes = kind.sizes() if isinstance(kind, torch._C.TensorType) else None
        if sizes is not None and kind.dtype() is not None:
            arguments.append(torch.empty(sizes, dtype=kind.dtype()))
        elif name in given:
            arguments.append(from_file(given[name]))
        else:
            raise Refusal(f"the file has no shape of input {name}, and the module no example_inputs; try: --input "
                          f"{name}=FILE.npy, or FILE.py:FUNCTION, which returns torch.jit.load(…) and example inputs")
    inputs = Inputs(parameter_names(module, len(arguments)), arguments, {})
    for item in inputs.inputs.values():
        item.example = None  # the file has no values
    return inputs


def open_torchscript(path, given):
    shapes = {"_restore_shapes": True} if "_restore_shapes" in inspect.signature(torch.jit.load).parameters else {}
    module = torch.jit.load(path, map_location="cpu", **shapes).eval()
    if hasattr(module, "example_inputs"):
        arguments, keywords = as_call(module.example_inputs)
        return module, Inputs(parameter_names(module, len(arguments)), arguments, keywords)
    return module, torchscript_inputs(module, given)


def open_exported(path):
    importlib.import_module("torch.export")  # 2.1 and later
    program = torch.export.load(path)
    module = program.module()
    if program.example_inputs is None:
        raise Refusal("the file has no example inputs; try: torch.export.save of a newer PyTorch")
    arguments, keywords = program.example_inputs
    placeholders = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    shapes = {}
    for position, name in enumerate(program.graph_signature.user_inputs):
        value = placeholders.get(name) if isinstance(name, str) else None
        if isinstance(value, torch.Tensor):
            shapes[position] = [size if isinstance(size, int) else str(size) for size in value.shape]
    return module, Inputs(parameter_names(module, len(arguments)), arguments, keywords, shapes)


def archive_names(path):
    """What is in the zip archive; of another file nothing, also of a cut one whose last member is an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist() if any(member.header_offset == 0 for member in archive.infolist()) else []
    except zipfile.BadZipFile:
        return []


def open_file(path, given):
    names = archive_names(path)
    if any(re.search(r"(^|/)(archive_format|serialized_exported_program\.json)$", name) for name in names):
        return open_exported(path)
    if any("/code/" in name for name in names) and any(name.endswith("/constants.pkl") for name in names):
        return open_torchscript(path, given)
    if any(name.endswith("data.pkl") for name in names):
        raise Refusal("a pickle of torch.save, which is not opened: it can run any code; try: FILE.py:FUNCTION, " + RETURNS)
    raise Refusal("neither TorchScript nor torch.export; try: torch.export.save, torch.jit.save")


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
    code = import_source(source)
    make = code
    for part in function.split("."):
        make = getattr(make, part, None)
    if not callable(make):
        raise Refusal(f"{source} has no function {function}; try: {RETURNS}")
    made = make()
    module, *rest = made if isinstance(made, tuple) else (made,)
    if not isinstance(module, torch.nn.Module) or len(rest) > 1:
        raise Refusal(f"{function} returned {type(made).__name__}; try: {RETURNS}")
    example = rest[0] if rest else getattr(module, "example_inputs", getattr(code, "example_inputs", None))
    if example is None:
        raise Refusal(f"{function} returned no example inputs, and {source} has no example_inputs; try: {RETURNS}")
    arguments, keywords = as_call(example)
    module.eval()
    return module, Inputs(parameter_names(module, len(arguments)), arguments, keywords)


# ---- the requests --------------------------------------------------------------------------------------------------------------
def named_tensors(name, value):
    flat = pytree.tree_flatten(value)[0]
    return [(name if len(flat) == 1 else f"{name}.{place}", leaf) for place, leaf in enumerate(flat)
            if isinstance(leaf, torch.Tensor) and KINDS.fullmatch(kind_of(leaf.dtype))]


def write_outputs(outputs, layers):
    """Into the file that xsp reads; what the answer has of them."""
    file, offset, infos = int(os.environ["XSP_PREDICTOR_OUTPUTS_FD"]), 0, []
    os.ftruncate(file, 0)
    for name, tensor, *kind in [*outputs, *layers]:
        tensor = tensor.detach().cpu().contiguous()
        size = tensor.numel() * tensor.element_size()
        written = 0
        while written < size:
            written += os.pwrite(file, ctypes.string_at(tensor.data_ptr() + written, min(size - written, 1 << 26)), offset + written)
        infos.append({"name": name, "type": kind_of(tensor.dtype), "shape": list(tensor.shape), "offset": offset,
                      **({"layer_type": kind[0]} if kind else {})})
        offset += -(-size // 64) * 64
    return infos


def with_layers(module, layers):
    """The module, which also keeps what each operator of its graph returns; as it is, where it has no graph of torch.fx."""
    if not isinstance(module, torch.fx.GraphModule):
        return module

    class Keeper(torch.fx.Interpreter):
        def run_node(self, node):
            output = super().run_node(node)
            if node.op.startswith("call_"):
                kind = getattr(node.target, "overloadpacket", node.target)  # aten.relu.default is a relu
                kind = getattr(kind, "__name__", str(kind))
                # a copy: the next operator may work in place
                layers.extend((name, tensor.detach().clone(), kind) for name, tensor in named_tensors(node.name, output))
            return output

    return lambda *arguments, **keywords: Keeper(module).run(*arguments, *keywords.values())


def find_device(text):
    """cpu, gpu, gpu:N, or PyTorch's own name."""
    kind, _, number = text.lower().partition(":")
    gpus = [name for name in ("cuda", "xpu", "mps") if getattr(torch, name, None) is not None and getattr(torch, name).is_available()]
    if kind == "gpu" and not gpus:
        raise Refusal(f"torch has no '{text}' here, it has cpu; try: --device cpu")
    try:
        device = torch.device(gpus[0] if kind == "gpu" else kind, *[int(number)] if number else [])
        torch.empty(1, device=device)
    except Exception as error:
        raise Refusal(f"torch has no '{text}' here: {error}; try: --device cpu") from error
    return device


class Predictor:
    def __init__(self):
        self.layers = []  # (name, tensor, type of its module), where they are asked for

    def open(self, request):
        global torch, pytree
        import torch
        import torch.utils._pytree as pytree
        model = request["model"]
        if request["threads"]:
            torch.set_num_threads(request["threads"])
        if os.path.exists(model):
            name = os.path.splitext(os.path.basename(model))[0]
            self.module, self.inputs = open_file(model, request["given"])
        else:
            source, _, name = model.rpartition(":")
            self.module, self.inputs = open_function(source, name)
        self.spans = Spans(name, request["levels"])
        self.device = find_device(request["device"]) if "device" in request else None
        self.synchronize = None
        if self.device is not None:
            self.module.to(self.device)
            self.synchronize = getattr(getattr(torch, self.device.type, None), "synchronize", None)
        if request.get("layer_outputs"):
            self.module = with_layers(self.module, self.layers)
        return {"version": 2, "framework": "pytorch", "framework_version": torch.__version__, "clock": "monotonic",
                "device": str(self.device or "cpu"), "inputs": [item.describe() for item in self.inputs.inputs.values()]}

    def prepare(self, request):
        memory = mmap.mmap(int(os.environ["XSP_PREDICTOR_INPUTS_FD"]), request["bytes"])
        call = self.inputs.call(memory, request["inputs"])
        if self.device is not None:
            call = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to(self.device), call)
        self.arguments, self.keywords = call
        return {}

    def predict(self, request):
        with torch.inference_mode():
            start, start_ticks = monotonic_ns(), self.spans.ticks()
            output = self.module(*self.arguments, **self.keywords)
            if self.synchronize is not None:
                self.synchronize()  # a prediction ends when its result is there
            end_ticks, end = self.spans.ticks(), monotonic_ns()
        self.spans.publish(start_ticks, end_ticks, request["span"])
        answer = {"start": start, "end": end}
        if request.get("outputs"):
            answer["outputs"] = write_outputs(named_tensors("output", output), self.layers)
        self.layers.clear()
        return answer
