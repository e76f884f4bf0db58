"""Scripted traces for the whole-program tests: describes spans, has make_trace write the .xsp file, runs xsp."""
import json
import os
import pathlib
import subprocess
import tempfile
from urllib.parse import quote_from_bytes

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
XSP = BUILD / "xsp"
MAKE_TRACE = BUILD / "test-programs" / "make_trace"
UNIX_START = 1_700_000_000_000_000_000
TIMEOUT_S = 600
STEP = int(os.environ.get("XSP_TEST_STEP", 1))  # of hundreds of starts of xsp, each how many-th is made


def field(value):
    if value is None:
        return "-"
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return "%2D" if value == b"-" else quote_from_bytes(value, safe="/ _[],().:=")
    return str(value)


class Script:
    """Collects the lines of make_trace's description."""

    def __init__(self):
        self.lines = []
        self.next_span = {}
        self.contexts = self.counters = 0

    def put(self, *fields):
        self.lines.append("\t".join(field(value) for value in fields))

    def system(self, **values):
        """Numbers and texts of the next experiment's system."""
        for key, value in values.items():
            self.put("system", key, value, *(["text"] if isinstance(value, str) else []))

    def experiment(self, name="tiny", experiment_id=1, workload="/models/tiny.onnx", framework="onnxruntime",
                   version="1.31.1"):
        self.put("experiment", experiment_id, name, workload, framework, version)

    def workload(self, experiment_id=1, **values):
        """What is known of the experiment's model."""
        for key, value in values.items():
            self.put("workload", experiment_id, key, "text" if isinstance(value, str) else "int", value)

    def run(self, run_id=1, levels="M", batch=1, dropped=0, epoch="unix", experiment_id=1):
        self.lines.append("\t".join(map(str, ("run", run_id, experiment_id, levels, batch, dropped, epoch))))

    def track(self, track_id=1, name="main", host=None, clock=None, process=100, thread=100, device=None, stream=None,
              run_id=1, rank=None, world_size=None):
        self.put("track", run_id, track_id, name, host, clock, process, thread, device, stream, rank, world_size)

    def span(self, name, start_ns, duration_ns, level="model", kind="sync", track=1, run_id=1, parent=None,
             correlation=None, category=None, tracer="scripted", tags=(), flags=None, context=None):
        span_id = self.next_span.get(run_id, 1)
        self.next_span[run_id] = span_id + 1
        self.put("span", run_id, span_id, parent, start_ns, duration_ns, correlation, track, level, kind, category,
                 tracer, name, flags, context)
        for key, value in dict(tags).items():
            kind_name = "int" if isinstance(value, int) else "double" if isinstance(value, float) else "text"
            self.put("tag", run_id, span_id, key, kind_name, value)
        return span_id

    def sample(self, kind, time_ns, duration_ns, context=None, track=1, run_id=1, span=None):
        """Of a thread: cpu, sleep, lock, io or child."""
        self.put("sample", run_id, track, context, kind, time_ns, duration_ns, span)

    def counter(self, name, values, total=False, source=None, process=None, thread=None, device=None, run_id=1):
        """Over time: (time in ns, value), …"""
        self.counters += 1
        self.put("counter", run_id, self.counters, name, source, process, thread, device, "total" if total else "value")
        for time_ns, value in values:
            self.put("counter_value", run_id, self.counters, time_ns, value)

    def context(self, name, caller=None, kind="python", file=None, line=None, module=None, address=None):
        """A frame's call path; its id."""
        self.contexts += 1
        self.put("context", self.contexts, caller, kind, name, file, line, module, address)
        return self.contexts

    def write(self, path):
        text = "\n".join(self.lines) + "\n"
        subprocess.run([MAKE_TRACE, path], input=text.encode(), check=True, timeout=TIMEOUT_S)
        return path


def leveled(experiments=1, observations=5, layers=3):
    """One model at batch 1 and 4, at M and M/L, with known times: layer i of batch b takes b * (i + 1) ms."""
    script = Script()
    run_id = 0
    for experiment_id in range(1, experiments + 1):
        script.experiment("tiny" if experiment_id == 1 else f"tiny {experiment_id}", experiment_id)
        for levels in ("M", "M/L"):
            for batch in (1, 4):
                run_id += 1
                script.run(run_id, levels, batch, experiment_id=experiment_id)
                process = 100 + experiment_id * 10 + (levels == "M/L")
                script.track(1, "main", process=process, thread=process, run_id=run_id)
                for observation in range(observations):
                    start = UNIX_START + experiment_id * 10**11 + run_id * 10**10 + observation * 10**9
                    model_ns = batch * (10_000_000 + observation * 1000) + (500_000 if levels == "M/L" else 0)
                    tags = {"batch_size": batch, **({"warmup": 1} if observation == 0 else {})}
                    script.span("tiny", start, model_ns, run_id=run_id, tags=tags)
                    at = start + 1000
                    for layer in range(layers if levels == "M/L" else 0):
                        duration = batch * (layer + 1) * 1_000_000
                        script.span(f"block/conv_{layer}", at, duration, "layer", run_id=run_id, tags={
                            "layer_index": layer, "layer_type": "Conv" if layer else "Relu",
                            "layer_shape": f"[{batch},64,56,56]", "alloc_bytes": batch * (layer + 1) * 100_000})
                        at += duration + 1000
    return script


def asynchronous():
    """Launches on a thread, executions on a stream, a simulator's clock, spans that cross, a span that never ends."""
    script = Script()
    script.experiment("async")
    script.run(1, "M/L/K", 1)
    script.track(1, "main")
    script.track(2, "device 0 stream 7", thread=None, device=0, stream=7)
    script.track(3, "simulator", clock="sim", thread=None)
    start = UNIX_START
    script.span("net", start, 10_000, tags={"batch_size": 1})
    script.span("conv", start + 100, 900, "layer", tags={"layer_index": 0, "layer_type": "Conv"})
    for number in range(2):
        script.span("launchKernel", start + 200 + number * 100, 50, "kernel", "launch", correlation=number + 1,
                    category="api")
        script.span(f"kernel {number}", start + 2000 + number * 3000, 2500, "kernel", "execution", track=2,
                    correlation=number + 1, category="kernel", tags={"flops": 123, "achieved_occupancy_pct": 12.5})
    # A graph: one launch, two executions that cross each other on the stream.
    script.span("launchGraph", start + 400, 50, "kernel", "launch", correlation=3, category="api")
    script.span("graph a", start + 8000, 1000, "kernel", "execution", track=2, correlation=3, category="graph")
    script.span("graph b", start + 8500, 1000, "kernel", "execution", track=2, correlation=3, category="graph")
    script.span("cycle", 5, 10, "kernel", track=3)
    script.span("never done", start + 20_000, "open")
    return script


def ranges_in_steps():
    """Two model steps of 900 ns with application ranges inside, and calls recorded twice: in a program of 3,000 ns and,
    without a parent, on a track of their own."""
    script = Script()
    script.experiment("steps")
    script.run(1, "A/M/K", 1)
    script.track(1, "main")
    script.track(2, "worker", thread=101)
    script.span("program", UNIX_START, 3000, "application")
    for start in (UNIX_START, UNIX_START + 1000):
        script.span("step", start, 900)
        script.span("load", start + 10, 700, "application")
        script.span("shuffle", start + 20, 500, "application")
    for name in ("cudaFree", "cudaFree_v3020"):
        script.span(name, UNIX_START + 2100, 50, "kernel")
    for name in ("cudaMalloc", "cudaMalloc_v3020"):
        script.span(name, UNIX_START + 100, 100, "kernel", track=2)
    return script


# Its contexts: spans and own time by chain. 1150 = 3000 - 2 * 900 - 50; 400 = 2 * (900 - 700) = 2 * (700 - 500).
RANGES_IN_STEPS = {
    ("program",): [1, 1150],
    ("program", "step"): [2, 400],
    ("program", "step", "load"): [2, 400],
    ("program", "step", "load", "shuffle"): [2, 1000],
    ("program", "cudaFree"): [1, 0],
    ("program", "cudaFree", "cudaFree_v3020"): [1, 50],
    ("cudaMalloc",): [1, 0],
    ("cudaMalloc", "cudaMalloc_v3020"): [1, 100],
}


def kept_parents():
    """Spans that lie in others of their track and keep their parents in contexts."""
    script = Script()
    script.experiment()
    script.run(1, "A/M/K")
    for track in (1, 2, 3):
        script.track(track, f"thread {track}", thread=track)
    # An execution stays at the top and is not subtracted from the program. What is inside it stays in the program.
    script.span("program", UNIX_START, 100, "application")
    script.span("task", UNIX_START + 10, 50, "model", "execution")
    script.span("range", UNIX_START + 20, 30, "application")
    # "crossed" starts inside "early" and ends after it; "other" is the child of a span on another track.
    script.span("early", UNIX_START, 60, "model", track=2)
    script.span("crossed", UNIX_START + 40, 60, "application", track=2)
    script.span("other", UNIX_START + 10, 20, "application", track=2, parent=1)
    # The source names a parent with the times of its child, which comes first.
    script.span("child", UNIX_START, 70, "model", track=3, parent=8)
    script.span("parent", UNIX_START, 70, "model", track=3)
    return script


def xsp(*arguments, environment=None, check=None, **options):
    """Runs xsp; returns the completed process with text output. `check`: the exit status that must come back."""
    result = subprocess.run([XSP, *arguments], capture_output=True, timeout=TIMEOUT_S,
                            env={**os.environ, "COLUMNS": "0", **(environment or {})}, **options)
    if check is not None and result.returncode != check:
        raise AssertionError(f"xsp {' '.join(map(str, arguments))}: status {result.returncode}, not {check}: "
                             f"{result.stderr.decode(errors='replace')}")
    return result


def xsp_json(*arguments, check=0):
    return json.loads(xsp(*arguments, check=check).stdout)


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="xsp-test-")
