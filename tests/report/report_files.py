# SPDX-License-Identifier: Apache-2.0
"""The traces of the tests of the report's page, made once per process: a leveled profile of a scripted model with
kernels, scripted ones whose numbers are known, hostile names, and traces of other profilers where they are at hand."""
import atexit
import functools
import os
import pathlib

import scripted
from scripted import UNIX_START, Script, xsp

DATA = pathlib.Path(os.environ["XSP_TEST_DATA"])
IMPORTED = {"kineto": "kineto/hta__critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz",
            "nsys": "nsys/pipit__saxpy-mpi-cuda_nsys_perlmutter0.sqlite",
            "ort": "ort/ort1.30_ppocr_cls_session.json"}
MODEL = """\
input data float N,8
layer stem/conv1 Conv 300us shape=N,64,112,112 alloc=3211264
kernel sgemm 200us
kernel bias 100us
layer stem/relu1 Relu 100us shape=N,64,112,112
kernel relu 50us
layer conv2 Conv 500us shape=N,64,56,56 alloc=802816
kernel sgemm 200us
batch-factor 0.25
"""
HOSTILE = ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</script><svg onload=alert(1)>",
           "javascript:alert(1)", "\"onmouseover=\"alert(1)", "'><iframe srcdoc='<script>alert(1)</script>'>",
           "&lt;b&gt;bold&lt;/b&gt;", "{{constructor.constructor('alert(1)')()}}", "]]><!--", "\u202eevil\u202c", "__proto__",
           "constructor", "<style>*{display:none}</style>")


@functools.cache
def folder():
    made = scripted.temporary_folder()
    atexit.register(made.cleanup)
    return pathlib.Path(made.name)


def report(source, name=None, *options):
    """The page of a file or of several."""
    sources = source if isinstance(source, (list, tuple)) else [source]
    target = folder() / f"{name or pathlib.Path(sources[0]).stem}.html"
    xsp("report", *sources, "-o", target, "--force", *options, check=0)
    return target


@functools.cache
def profiled():
    """A model at three level sets and two batch sizes; (trace, page)."""
    model, path = folder() / "net.xspscript", folder() / "profiled.xsp"
    model.write_text(MODEL)
    xsp("profile", model, "--batch", "1,4", "--levels", "M,M/L,M/L/K", "--tracer", "fake:kernel_delay_ns=10000", "--runs", "5",
        "--warmup", "1", "-o", path, "--force", check=0)
    return path, report(path)


@functools.cache
def imported(name):
    """A trace of another profiler; None where the folder of real traces is absent."""
    source = DATA / IMPORTED[name]
    if not source.exists():
        return None
    path = folder() / f"{name}.xsp"
    xsp("import", source, "-o", path, "--force", check=0)
    return path, report(path)


def many_kernels(levels="M/L/K", observations=4, layers=5, kernels=30, peak=1e12):
    """Layers that launch kernels on two streams: more rows than a table shows at once."""
    script = Script()
    script.system(peak_flops_per_s=peak, memory_bandwidth_bytes_per_s=1e11)
    script.experiment("kernels")
    script.run(1, levels, 2)
    script.track(1, "main")
    for stream in (0, 1):
        script.track(2 + stream, f"stream {stream}", thread=None, device=0, stream=stream)
    correlation = 0
    for observation in range(observations):
        start = UNIX_START + observation * 1_000_000_000
        script.span("net", start, 500_000_000 + observation, tags={"batch_size": 2})
        for layer in range(layers):
            begin = start + 1000 + layer * 80_000_000
            script.span(f"layer {layer}", begin, 70_000_000, "layer", tags={
                "layer_index": layer, "layer_type": "Conv" if layer % 2 else "Gemm", "layer_shape": "[2,3]"})
            for kernel in range(kernels):
                correlation += 1
                at = begin + 1000 + kernel * 2_000_000
                script.span("launch", at, 1000, "kernel", "launch", correlation=correlation, category="api")
                script.span(f"kernel_{kernel}<{layer}>", at + 5000, 1_000_000 + kernel * 1000 + layer, "kernel", "execution",
                            track=2 + kernel % 2, correlation=correlation, category="kernel",
                            tags={"flops": 1000 * (kernel + 1), "dram_read_bytes": 4096, "dram_write_bytes": 1024,
                                  "achieved_occupancy_pct": 25.0 + kernel})
    return script


def metrics():
    """The same, recorded with metrics: rooflines have points."""
    return many_kernels("M/L/K+metrics")


def hostile():
    """Every text of the trace is markup, script or a property name of JavaScript objects."""
    script = Script()
    script.experiment(HOSTILE[0])
    script.run(1, "M/L/K", 1)
    script.track(1, HOSTILE[1], host=HOSTILE[0])
    script.track(2, HOSTILE[2], thread=None, device=0, stream=1)
    for observation in range(3):
        start = UNIX_START + observation * 1_000_000
        script.span(HOSTILE[0], start, 900_000, tags={"batch_size": 1, HOSTILE[1]: HOSTILE[2]})
        for number, name in enumerate(HOSTILE):
            at = start + 1000 + number * 20_000
            script.span(name, at, 15_000, "layer", tags={"layer_index": number, "layer_type": HOSTILE[-1 - number],
                                                         "layer_shape": name, HOSTILE[number]: name})
            correlation = observation * 100 + number + 1
            script.span(name, at + 100, 500, "kernel", "launch", correlation=correlation, category="api")
            script.span(name, at + 1000, 9_000, "kernel", "execution", track=2, correlation=correlation, category="kernel",
                        tags={"flops": 10, "dram_read_bytes": 10, "dram_write_bytes": 10})
    return script


@functools.cache
def written(make, name):
    """(trace, page) of a scripted trace."""
    path = make().write(folder() / f"{name}.xsp")
    return path, report(path)


def flame_zoom(*names):
    """The part of a page's address that opens the flame graph at these contexts, the outermost first: their names' FNV-1a."""
    def key(name):
        hash = 0x811C9DC5
        for unit in name.encode("ascii"):
            hash = (hash ^ unit) * 0x01000193 % 2**32
        digits = ""
        while hash:
            hash, digit = divmod(hash, 36)
            digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        return digits
    return "x.flame.zoom=" + ".".join(key(name) for name in names)
