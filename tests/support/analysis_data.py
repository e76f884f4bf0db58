# SPDX-License-Identifier: Apache-2.0
"""An experiment as plain objects: what the generator of random experiments makes, what the rules of analysis_rules.py are
applied to, and what is written as OTLP for `xsp import`. Parents are known here, whether the file names them or not."""
import dataclasses

import otlp


@dataclasses.dataclass(frozen=True)
class Track:
    number: int
    process: int = 1
    thread: int | None = None
    stream: int | None = None


@dataclasses.dataclass(eq=False)
class Span:
    """Times in ns. `launch`: the call that an execution belongs to. `row`: position in the file."""
    level: str
    name: str
    start: int
    end: int
    track: Track
    parent: "Span | None" = None
    kind: str = "sync"
    category: str | None = None
    launch: "Span | None" = None
    tags: dict = dataclasses.field(default_factory=dict)
    row: int = 0

    @property
    def ns(self):
        return self.end - self.start

    def ancestors(self):
        """The span itself, its parent, and so on."""
        span = self
        while span is not None:
            yield span
            span = span.parent


@dataclasses.dataclass(eq=False)
class Run:
    """`levels` as in the file: M/L/K, M/L/K@serial, M/L/K+metrics … `unfinished` spans are in the file and count nowhere."""
    levels: str
    batch: int
    spans: list = dataclasses.field(default_factory=list)
    unfinished: list = dataclasses.field(default_factory=list)
    number: int = 0
    names_parents: bool = True  # else the file has correlation ids and times only
    recorded: list | None = None  # (number, start, end, span) of its observations, where they are not the model spans

    def add(self, *arguments, **more):
        span = Span(*arguments, **more, row=len(self.spans))
        self.spans.append(span)
        return span


@dataclasses.dataclass(eq=False)
class Experiment:
    runs: list = dataclasses.field(default_factory=list)
    system: dict = dataclasses.field(default_factory=dict)

    def add(self, levels, batch, **more):
        self.runs.append(Run(levels, batch, number=len(self.runs) + 1, **more))
        return self.runs[-1]


# ---- as OTLP -----------------------------------------------------------------------------------------------------------
def attributes_of(run, span):
    found = {"xsp.kind": span.kind, "xsp.track": span.track.number, "xsp.process_id": span.track.process}
    for key, value in (("xsp.thread_id", span.track.thread), ("xsp.stream_id", span.track.stream),
                       ("xsp.device_id", None if span.track.stream is None else 0), ("xsp.category", span.category)):
        if value is not None:
            found[key] = value
    call = span if span.kind == "launch" else span.launch
    if call is not None:
        found["xsp.correlation_id"] = call.row + 1
    # Tags that contract.md does not list keep their own key.
    return found | {key if key.startswith("flops_") else f"xsp.{key}": value for key, value in span.tags.items()}


def resource_of(experiment, run):
    spans = [otlp.span(span.row + 1, span.name, span.start, span.end, trace=f"{run.number:032x}", level=span.level,
                       thread=None, more=attributes_of(run, span),
                       parent=span.parent.row + 1 if span.parent and run.names_parents else None) for span in run.spans]
    spans += [otlp.span(100_000, span.name, span.start, span.end, trace=f"{run.number:032x}", level=span.level, thread=None,
                        more=attributes_of(run, span) | {"xsp.open": True}) for span in run.unfinished]
    about = {"xsp.experiment": "random", "xsp.run": str(run.number), "xsp.levels": run.levels,
             "xsp.batch_size": run.batch, **{f"xsp.system.{key}": value for key, value in experiment.system.items()}}
    return otlp.request(spans, about)


def to_otlp(experiment):
    return otlp.lines(*(resource_of(experiment, run) for run in experiment.runs))
