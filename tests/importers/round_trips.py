# SPDX-License-Identifier: Apache-2.0
"""What of a trace comes back when it is exported and imported again: a table of docs/importers.md, of one trace that has all kinds of
things. test_import_round_trips.py compares it; its --update writes it."""
import collections
import os
import re
import tempfile

import formats
from scripted import UNIX_START, Script, xsp, xsp_json

BEGIN, END = "<!-- round trips: begin -->\n", "<!-- round trips: end -->\n"
BY_SPAN = " from span s {} order by s.start_ns, s.duration_ns desc, s.level, s.name"
# The frames of each call path.
CHAINS = "with recursive chain(id, up, far, name, file, line) as (select context_id, parent_id, 0, name, file, line from context" \
         " join frame using (frame_id) union all select chain.id, c.parent_id, far + 1, f.name, f.file, f.line from chain" \
         " join context c on c.context_id = chain.up join frame f on f.frame_id = c.frame_id) "
# What is compared, in the order of the columns: a query of both files, of which a sum is compared where a format has sums only.
PARTS = {
    "names, times": "select s.name, s.start_ns, s.duration_ns" + BY_SPAN.format(""),
    "levels, kinds": "select s.name, s.level, s.kind, s.category, s.tracer, s.correlation_id" + BY_SPAN.format(""),
    "parents": "select s.name, p.name as parent" + BY_SPAN.format("left join span p on p.run_id = s.run_id and p.span_id = s.parent_id"),
    "places": "select s.name, t.process_id, t.thread_id, t.device_id, t.stream_id, t.name as track" +
              BY_SPAN.format("join track t using (run_id, track_id)"),
    "tags": "select s.name, t.key, t.value" + BY_SPAN.format("join tag t using (run_id, span_id)") + ", t.key",
    "call paths": CHAINS + "select s.name, chain.name as frame, file, line, far" +
                  BY_SPAN.format("join chain on chain.id = s.context_id") + ", far",
    "samples": "select s.time_ns, s.duration_ns, s.kind, f.name from sample s join context using (context_id) join frame f using (frame_id)"
               " order by s.time_ns",
    "runs": "select levels, batch_size, count(span_id) as spans from run left join span using (run_id) group by run.run_id order by 1",
    "system": "select key, value from system where key = 'gpu'",
}
SUMS = {
    "names, times": "select name, sum(duration_ns) as ns from span group by 1 order by 1",
    "levels, kinds": "select distinct name, level, coalesce(category, '') as category, kind = 'execution' as runs from span order by 1",
    "parents": "select distinct s.name, p.name as parent from span s left join span p on p.run_id = s.run_id and p.span_id = s.parent_id"
               " order by 1, 2",
    "tags": "select distinct s.name, t.key, t.value from span s join tag t using (run_id, span_id) where t.key <> 'count' order by 1, 2, 3",
    "call paths": CHAINS + "select distinct s.name, chain.name as frame, file, line from span s join chain on chain.id = s.context_id"
                           " where level = 'layer' and line is not null order by 2",
    "samples": "select f.name, s.kind <> 'cpu' as waits, sum(s.duration_ns) as ns from sample s join context using (context_id)"
               " join frame f using (frame_id) group by 1, 2 order by 1, 2",
    "runs": "select levels, batch_size from run order by batch_size",
}

# All spans and tags of an importer's input. Times of a file without a Unix epoch count from its first span on.
START = "s.start_ns - case r.epoch when 'unix' then 0 else (select min(f.start_ns) from span f where f.run_id = s.run_id) end"
SPANS_AND_TAGS = (f"select s.name, s.level, s.kind, s.category, s.tracer, {START} as start, s.duration_ns, p.name as parent from span s"
                  " join run r using (run_id) left join span p on p.run_id = s.run_id and p.span_id = s.parent_id"
                  " union all select s.name, t.key, t.value, '', '', 0, 0, '' from span s join tag t using (run_id, span_id)")
# Of pprof's form: how many spans a name stands for; tags, and those that all spans of a name have with one value.
COUNTS = ("select s.name, s.level, sum(coalesce(c.value, 1)) as spans from span s left join tag c on c.run_id = s.run_id and"
          " c.span_id = s.span_id and c.key = 'count' and exists (select 1 from note where value like '%(tag count)%') group by 1, 2")
TAGS = ("select s.name, t.key, t.value, count(distinct s.run_id || ' ' || s.span_id) as spans, (select count(*) from span o where o.name = s.name)"
        " as all_spans from span s join tag t using (run_id, span_id) where t.key not in ('count', 'tag.count', 'samples', 'layer_index')"
        " group by 1, 2, 3")


def everything():
    """A program with a model, layers with call paths, launches and kernels, in two runs; samples of its thread."""
    script = Script()
    script.system(gpu="a GPU")
    script.experiment()
    main = script.context("main", file="train.py", line=3)
    forward = script.context("forward", caller=main, file="net.py", line=9)
    conv = script.context("conv", caller=forward, kind="framework")
    for run_id, batch in ((1, 2), (2, 4)):
        start = UNIX_START + 100_000 * run_id
        script.run(run_id, "A/M/L/K", batch=batch)
        script.track(1, "main thread", run_id=run_id)
        script.track(3, "pool", thread=3_781_665_406, run_id=run_id)  # a number that no viewer can have
        script.track(2, "GPU 0 stream 7", process=None, thread=None, device=0, stream=7, run_id=run_id)
        script.span("program", start, 9000, level="application", run_id=run_id)
        script.span("serve", start + 4000, 4500, level="application", track=3, run_id=run_id)
        for number in range(2):
            at = start + 4000 * number
            script.span("predict", at + 100, 3000, run_id=run_id, tags={"batch_size": batch, "run_id": 7})  # also the name of an argument of its own
            script.span("conv", at + 200, 600, level="layer", run_id=run_id, context=conv, tags={"layer_type": "Conv", "loss": 0.5})
            script.span("launch", at + 300, 100, level="kernel", kind="launch", category="api", correlation=10 * run_id + number, run_id=run_id)
            script.span("gemm", at + 500, 800, level="kernel", kind="execution", category="kernel", correlation=10 * run_id + number,
                        track=2, run_id=run_id, tags={"grid": "[4,1,1]"})
        script.sample("cpu", start + 4000, 1000, forward, run_id=run_id)
        script.sample("lock", start + 6000, 500, main, run_id=run_id)
    return script


def linked():
    """Two runs with a step, and with parents that nesting does not give: named by the source, of a span on another thread; none within another span;
    of two that start at once, the later in the file; an execution's without a correlation id."""
    script = Script()
    for run_id in (1, 2):
        start = UNIX_START + 100_000 * run_id
        script.run(run_id, "M/L/K")
        script.track(1, "main", run_id=run_id)
        script.track(2, "pool", thread=101, run_id=run_id)
        script.track(3, "stream", process=None, thread=None, device=0, stream=7, run_id=run_id)
        script.span("fusion", start + 600, 100, level="layer", track=2, run_id=run_id, parent=4)
        script.span("predict", start, 2000, run_id=run_id)
        script.span("step", start + 3000, 100, run_id=run_id, flags="step")
        module = script.span("module", start + 500, 300, level="layer", run_id=run_id)
        script.span("while", start + 550, 250, level="layer", track=2, run_id=run_id, flags="basis=none")
        script.span("copy", start + 900, 0, level="layer", run_id=run_id, flags="placed")
        script.span("conv", start + 900, 400, level="layer", run_id=run_id, flags="placed")
        script.span("gemm", start + 1000, 500, level="kernel", kind="execution", track=3, run_id=run_id, parent=module)
    return script


def exports():
    """The formats that `xsp help export` lists."""
    return re.findall(r"^  ([a-z-]+) ", xsp("help", "export", check=0).stdout.decode().split("\n\n")[3], re.MULTILINE)


def inputs():
    """The inputs of the fuzz corpora that are traces: (format, path)."""
    corpora = {"otlp": "otlp_json"}
    for name in formats.WRITERS:
        if name not in formats.DESCRIBED:
            yield from ((name, path) for path in formats.samples(corpora.get(name, name)))


def rows_of(path, query):
    return collections.Counter(tuple(row.values()) for row in xsp_json("sql", path, query, "--json"))


def answers(path, queries):
    return {part: xsp_json("sql", path, query, "--json") for part, query in queries.items()}


def table():
    """A row an export, a column a part: "same", "sums", or "" where it is lost."""
    rows = ["| export | imported as | " + " | ".join(PARTS) + " |\n", "|---" * (len(PARTS) + 2) + "|\n"]
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "in.xsp"), os.path.join(folder, "out.xsp")
        everything().write(source)
        before, sums = answers(source, PARTS), answers(source, SUMS)
        assert all(before.values())
        for name in exports():
            file = os.path.join(folder, "file." + name)
            xsp("export", source, "--to", name, "-o", file, "--force", check=0)
            done = xsp("import", file, "-o", out, "--json", "--force")
            if done.returncode != 0:
                rows.append(f"| `{name}` | not read |" + " |" * len(PARTS) + "\n")
                continue
            kind = re.search(rb'"format": ?"([a-z-]+)"', done.stdout).group(1).decode()
            after, added = answers(out, PARTS), answers(out, SUMS)
            found = ["same" if after[part] == before[part] else "sums" if part in SUMS and added[part] == sums[part] else "" for part in PARTS]
            rows.append(f"| `{name}` | `{kind}` | " + " | ".join(found) + " |\n")
    return "".join(rows)
