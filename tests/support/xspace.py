# SPDX-License-Identifier: Apache-2.0
"""Writes profiles of XLA field by field, without XLA: an XSpace with planes, lines and events, and descriptions of modules
(HloProto). Numbers of fields are those of xplane.proto and hlo.proto."""
from otlp import field, varint


def number(key, value):
    return field(key, varint(value & (1 << 64) - 1), 0)


def text(key, value):
    return field(key, value.encode())


def shape(kind, *dimensions):
    """A ShapeProto; 11: f32, 4: s32, 13: a tuple."""
    return number(2, kind) + field(3, b"".join(map(varint, dimensions)))


def instruction(name, opcode, op_name="", frame=0, calls=(), of=None, more=b""):
    metadata = (text(2, op_name) if op_name else b"") + (number(15, frame) if frame else b"")
    called = field(38, b"".join(map(varint, calls))) if calls else b""
    return text(1, name) + text(2, opcode) + field(3, of or shape(11, 2, 2)) + field(7, metadata) + called + more


def module(name, computations, parameters=(), frames=(), donated=(), more=b""):
    """computations: {id: [instruction, ...]}; frames: (file, line, function, caller's number or 0) of frames 1, 2, ...;
    donated: numbers of parameters, the last one without a result of its shape."""
    out = text(1, name)
    if donated:
        out += field(8, b"".join(field(1, number(2, parameter)) for parameter in donated[:-1])) + field(18, field(1, number(1, donated[-1])))
    for key, instructions in computations.items():
        out += field(3, text(1, f"computation.{key}") + b"".join(field(2, i) for i in instructions) + number(5, key))
    out += field(4, b"".join(field(1, parameter) for parameter in parameters))
    files, functions = (sorted({frame[column] for frame in frames}) for column in (0, 2))
    index = b"".join(text(1, file) for file in files) + b"".join(text(2, function) for function in functions)
    index += b"".join(field(3, number(1, files.index(file) + 1) + number(2, functions.index(function) + 1) + number(3, line))
                      for file, line, function, _ in frames)
    index += b"".join(field(4, number(1, place + 1) + number(2, frame[3])) for place, frame in enumerate(frames))
    return field(1, out + field(17, index) + more)


class Plane:
    """events are (name, offset_ps, duration_ps, {stat: value}); a stat's text is written as a reference, bytes in place."""

    def __init__(self, name, **facts):
        self.name, self.events, self.stats, self.lines, self.facts, self.modules = name, {}, {}, [], facts, []

    def stat(self, key, value):
        out = number(1, self.stats.setdefault(key, len(self.stats) + 1))
        if isinstance(value, str):
            return out + number(7, self.stats.setdefault(value, len(self.stats) + 1))
        if isinstance(value, bytes):
            return out + field(5, value)
        return out + number(4 if value < 0 else 3, value)

    def line(self, key, name, timestamp_ns, events):
        out = number(1, key) + text(2, name) + number(3, timestamp_ns)
        for event, offset_ps, duration_ps, stats in events:
            out += field(4, number(1, self.events.setdefault(event, len(self.events) + 1)) + number(2, offset_ps)
                         + number(3, duration_ps) + b"".join(field(4, self.stat(*item)) for item in stats.items()))
        self.lines.append(out)

    def add_module(self, name, proto):  # "jit_f(3)"
        self.modules.append((name, proto))

    def encode(self):
        out = text(2, self.name) + b"".join(field(3, line) for line in self.lines)
        for name, key in self.events.items():
            out += field(4, number(1, key) + field(2, number(1, key) + text(2, name)))
        for key, (name, proto) in enumerate(self.modules):
            stat = number(1, self.stats.setdefault("Hlo Proto", len(self.stats) + 1)) + field(6, proto)
            out += field(4, number(1, key) + field(2, number(1, key) + text(2, name) + field(5, stat)))
        facts = b"".join(field(6, self.stat(*item)) for item in self.facts.items())
        for name, key in self.stats.items():
            out += field(5, number(1, key) + field(2, number(1, key) + text(2, name)))
        return out + facts


def space(*planes, warnings=(), host="box"):
    return (b"".join(field(1, plane.encode()) for plane in planes) + b"".join(text(3, w) for w in warnings) + text(4, host))


# ---- a program ------------------------------------------------------------------------------------------------------------

def operation(name, offset_us, duration_us, run, key, module_name="jit_loop", program=3, device=0):
    return (name, offset_us * 10**6, duration_us * 10**6,
            {"hlo_op": name, "hlo_module": module_name, "program_id": program, "run_id": run, "device_ordinal": device, "_p": key})


def end(name, offset_us, key):
    return (f"end: {name}", offset_us * 10**6, 0, {"_c": key})


FRAMES = [("train.py", 7, "step", 0), ("train.py", 8, "step", 0), ("layers.py", 9, "sine", 2)]


def loop_computations():
    """copy; then a loop of a fusion (dot, sine) and an add, with a fused condition."""
    fused = [instruction("p", "parameter"), instruction("dot.1", "dot", "jit(loop)/while/body/dot_general", 2),
             instruction("sin.1", "sine", "jit(loop)/while/body/sin", 3)]
    body = [instruction("arg", "parameter"), instruction("my_fusion", "fusion", "jit(loop)/while/body/sin", 3, [1]),
            instruction("add.1", "add", "jit(loop)/while/body/add", 1)]
    condition = [instruction("compare_fusion", "fusion", "jit(loop)/while/cond/lt", 1, [4])]
    main = [instruction("copy.1", "copy"), instruction("while.5", "while", "jit(loop)/while", 1, [2, 3])]
    compared = [instruction("lt.1", "compare", "jit(loop)/while/cond/lt", 1)]
    return {1: fused, 2: body, 3: condition, 4: compared, 5: main}


def loop_module(name="jit_loop", parameters=(shape(11, 2, 2),), donated=()):
    return module(name, loop_computations(), parameters, FRAMES, donated)


def nested_module(name):
    """The loop is within another one."""
    computations = loop_computations()
    copy, loop = computations[5]
    return module(name, computations | {5: [copy, instruction("while.6", "while", calls=[6])], 6: [loop]}, (), FRAMES)


def collective_program():
    """An execution of a module: all-reduces of 16 bytes, and of 20 and 36 along one axis of a mesh; a gather in two groups, a permutation, an
    all-reduce whose one group is there as older and as newer versions write it, and a reduce-scatter in each turn of a loop."""
    def named(key):
        return number(35, key)

    def of(*operands):
        return field(36, b"".join(map(varint, operands)))

    def along(axis, *mesh):
        return field(93, field(1, b"".join(field(1, number(2, size)) for size in mesh)) + field(2, number(1, axis)))

    main = [instruction("p.1", "parameter", more=named(7)), instruction("p.2", "parameter", of=shape(16, 10), more=named(1 << 33)),
            instruction("psum.1", "all-reduce", more=of(7) + field(87, field(1, field(1, b"\0\1")))),
            instruction("psum.2", "all-reduce-start", more=of(1 << 33) + along(0, 2, 1)),
            instruction("psum.3", "all-reduce", more=of(7, 1 << 33) + along(0, 2, 2)),
            instruction("all_gather.1", "all-gather", more=of(7) + 2 * field(49, field(1, b"\0\1"))),
            instruction("ppermute.1", "collective-permute", more=of(7)), instruction("while.1", "while", calls=[2])]
    main.append(instruction("psum.4", "all-reduce", more=of(7) + field(49, field(1, b"\0\1")) + field(87, field(1, field(1, b"\0\1")))))
    body = [instruction("arg", "parameter", more=named(9)), instruction("reduce_scatter.1", "reduce-scatter", more=of(9) + field(87, field(2, number(1, 2))))]
    names = "psum.1", "psum.2", "psum.3", "all_gather.1", "ppermute.1", "psum.4"
    host, modules = Plane("/host:CPU", process_id=77), Plane("/host:metadata")
    host.line(9, "tf_XLAPjRtCpuClient/9", 500, [operation(name, 10 * i, 5, 40, i + 1, "jit_f") for i, name in enumerate(names)] + [
        operation("while.1", 90, 20, 40, 20, "jit_f"), operation("reduce_scatter.1", 91, 2, 40, 21, "jit_f"),
        operation("reduce_scatter.1", 95, 2, 40, 22, "jit_f"), end("while.1", 110, 20)])
    modules.add_module("jit_f(3)", module("jit_f", {2: body, 1: main}))
    return host, modules


def mesh(*sizes, axis=0, part=b"", devices=b""):
    """Groups of an instruction along an axis of a mesh, or a part of it: the product of the sizes before it, and its size."""
    axes = b"".join(field(1, text(1, f"axis_{place}") + number(2, size)) for place, size in enumerate(sizes))
    return field(93, field(1, axes + devices) + field(2, (number(1, axis) if axis else b"") + (field(2, part) if part else b"")))


def devices_of_axes():
    """Four devices: all; every second one by an order that XLA writes as a transform; by their numbers, the second half of an axis's factors."""
    return [instruction("sum.1", "all-reduce", more=field(36, b"\7") + mesh(4, 1)),
            instruction("sum.2", "all-reduce", more=field(36, b"\7") + mesh(2, 1, 2, axis=2, devices=field(3, field(1, b"\2\2") + field(2, b"\1\0")))),
            instruction("sum.3", "all-reduce", more=field(36, b"\7") + mesh(4, part=number(1, 2) + number(2, 2), devices=field(2, b"\0\3\1\2")))]


def several_devices(devices=4, collectives=()):
    """Three executions of a module on each of four devices, on two threads: its devices 0 to 3 are 0, 2, 3 and 1. Its collectives, or a gather in
    listed groups, a reduction in groups by a rule (numbers 0 to 3 in rows of two, by columns), and one of all."""
    names = ("sum.1", "sum.2", "sum.3") if collectives else ("all_gather.1", "psum.1", "psum.2")
    main = [instruction("p.1", "parameter", more=number(35, 7)),
            instruction("all_gather.1", "all-gather", more=field(36, b"\7") + field(49, field(1, b"\0\1")) + field(49, field(1, b"\2\3"))),
            instruction("psum.1", "all-reduce", more=field(36, b"\7") + field(87, field(2, number(1, 2) + number(2, 2) + field(3, b"\2\2") + field(4, b"\1\0")))),
            instruction("psum.2", "all-reduce", more=field(36, b"\7") + field(49, field(1, b"\0\1\2\3")))]
    host, modules = Plane("/host:CPU", process_id=77), Plane("/host:metadata")
    for thread in range(2):
        host.line(9 + thread, f"tf_XLAPjRtCpuClient/{9 + thread}", 500, [
            operation(name, 1000 * run + 100 * device + 10 * i, 5, run, 100 * run + 10 * device + i + 1, "jit_f", device=device)
            for run in range(3) for device in range(thread, devices, 2) for i, name in enumerate(names)])
    assigned = field(15, number(1, 1) + number(2, 4) + b"".join(field(3, field(1, bytes([device]))) for device in (0, 2, 3, 1)))
    modules.add_module("jit_f(3)", module("jit_f", {1: [*main[:1], *collectives] if collectives else main}, more=assigned))
    return host, modules


def loop_program(start_ns=1_700_000_000_000_000_000):
    """Two executions of a module with a loop of three turns: in the first one, the loop's event ends within its body, which
    goes on in another thread."""
    host = Plane("/host:CPU", process_id=77)
    first = [operation("copy.1", 0, 2, -5, 1), operation("while.5", 2, 3, -5, 2), operation("my_fusion", 3, 1, -5, 3),
             end("my_fusion", 4, 3)]
    other = [operation("add.1", 6, 1, -5, 4), operation("my_fusion", 7, 2, -5, 5), operation("add.1", 9, 1, -5, 6),
             operation("my_fusion", 10, 2, -5, 7), operation("add.1", 12, 1, -5, 8), end("while.5", 14, 2)]
    second = [operation("copy.1", 100, 2, -4, 11), operation("while.5", 102, 6, -4, 12)]
    for turn in range(3):
        second += [operation("my_fusion", 102 + 2 * turn, 1, -4, 20 + turn), operation("add.1", 103 + 2 * turn, 1, -4, 30 + turn)]
    second.append(end("while.5", 108, 12))
    host.line(-3, "tf_XLAEigen/-3", 500, other)
    host.line(9, "tf_XLAPjRtCpuClient/9", 500, first + second)
    host.line(4, "python3", 500, [
        ("PjitFunction(loop)", 0, 80 * 10**6, {}), ("PjitFunction(loop)", 0, 80 * 10**6, {}),
        ("trace_to_jaxpr_dynamic", 10**6, 10**6, {}), ("backend_compile_and_load", 4 * 10**6, 40 * 10**6, {}),
        ("mine", 90 * 10**6, 10**6, {"k": 3, "text": b"a b"}),
        ("ThreadpoolListener::Record", 91 * 10**6, 0, {"_p": 9}), ("$train.py:3 main", 0, 99 * 10**6, {})])
    modules = Plane("/host:metadata", jax_version=b"0.10.2")
    modules.add_module("jit_loop(3)", loop_module())
    return host, modules, Plane("Task Environment", profile_start_time=start_ns)


def asynchronous_program():
    """Operations that their threads leave, as XLA's sorts. The thread that ends copy.1 runs add.1 before it marks the end; my_fusion
    is the last one."""
    host = Plane("/host:CPU")
    host.line(3, "tf_XLAEigen/3", 0, [operation("add.1", 6, 2, -5, 2), end("add.1", 7, 2), end("copy.1", 9, 1), end("my_fusion", 20, 3)])
    host.line(9, "tf_XLAPjRtCpuClient/9", 0, [operation("copy.1", 3, 1, -5, 1), operation("my_fusion", 10, 2, -5, 3)])
    modules = Plane("/host:metadata")
    modules.add_module("jit_loop(3)", loop_module())
    return host, modules


def device_program():
    """Streams of a GPU with derived lines next to them, and the calls of the host that launched their work."""
    host, gpu = Plane("/host:CPU"), Plane("/device:GPU:4", core_count=80, memory_size=17 << 30, clock_rate=1530000)
    host.line(1, "python3", 0, [("cuLaunchKernel", 10**6, 10**6, {"correlation_id": 7}),
                                ("layer/MatMul:MatMul", 0, 5 * 10**6, {}), ("Ns::Call", 10**7, 10**6, {}),
                                ("n/_1:_FusedMatMul", 2 * 10**7, 10**6, {})])
    kernel = ("gemm", 3 * 10**6, 4 * 10**6 + 999, {"correlation_id": 7, "kernel_details": "regs:38 shm:16 grid:160,1,1 block:64,1,1",
                                                   "hlo_op": "fusion.1", "hlo_module": "jit_f"})
    gpu.line(134, "Stream #134(Compute)", 0, [kernel])
    gpu.line(135, "Stream #135(MemcpyH2D)", 0, [("MemcpyH2D", 0, 10**6, {"memcpy_details": "size:112 dest:4 async:0"})])
    for key, name in enumerate(["TensorFlow Ops", "TensorFlow Name Scope", "Steps", "XLA Modules", "XLA Ops", "Source code"]):
        gpu.line(-key - 1, name, 0, [("gemm", 3 * 10**6, 4 * 10**6, {}), ("gemm", 8 * 10**6, 4 * 10**6, {})])
    return host, gpu


def threads(numbers):
    """The plane that `xsp run` writes after a profile: the kernel's number of each line's thread."""
    lines = b"".join(field(3, number(1, key) + number(10, thread)) for key, thread in numbers.items())
    return field(1, text(2, "/xsp:threads") + lines)
