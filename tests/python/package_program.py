# SPDX-License-Identifier: Apache-2.0
"""package_program.py SCENARIO PATH…: uses package xsp in the interpreter that runs it. Run by test_package.py."""
import gc
import inspect
import json
import math
import sys
import threading

import xsp


def start(path):
    """A program of 100 µs whose first span begins after 60 µs and takes 30 µs, with or without a device."""
    made = xsp.open(path).tree()
    (program,) = made.root.children
    assert made.root.cpu_time == program.cpu_time == 40_000
    times = (20_000, 20_000) if path.endswith("device.xsp") else (40_000, 40_000)
    assert (made.root.time, program.time) == times and program.name == "python3 train.py"
    assert sum(node.self_time for node in made.nodes) == made.root.time


def tree(path):
    """Figures of the file of training_file.py, on a device and with call paths."""
    made = xsp.open(path).tree()
    by_name = {}
    for node in made.nodes:
        by_name.setdefault(node.name, node)
    assert made.root.time == 3 * (100 + 10 * 2 + 300) * 1000 and type(made.root.time) is xsp.Time
    assert [node.name for node in made.training] == ["training step"]
    assert [node.name for node in made.inference] == ["Net"]
    assert [node.name for node in made.forward] == ["Net", "loss_fn"]
    assert [node.name for node in made.backward] == ["backward"]
    assert [node.name for node in made.optimizer] == ["Optimizer.step#SGD.step"]
    assert [node.category for node in made.loss] == ["forward"]
    assert sorted(node.name for node in made.kernels) == ["gemm", "gemm_backward", "tiny"]
    linear, addmm, small = by_name["aten::linear"], by_name["aten::addmm"], by_name["aten::small"]
    for node in (linear, addmm):
        assert node.backward.time / node.forward.time == 3 and node.time == 300_000 and node.calls == 3
    assert linear.cpu_time == 3 * 40_000 and addmm.gpu_time == 300_000 and addmm.self_time == 0
    assert small.count == 30 and math.isnan(small.backward.time / small.forward.time)
    assert by_name["Optimizer.step#SGD.step"].cpu_time / by_name["Optimizer.step#SGD.step"].gpu_time == math.inf
    assert math.isnan(by_name["AddmmBackward0"].forward.time) and by_name["AddmmBackward0"].is_backward
    assert addmm.parent == linear and addmm in linear.children and linear.path[0] == made.root
    assert sum(node.self_time for node in made.nodes) == made.root.time
    if linear.context_id is not None:  # with call paths
        assert addmm.source == ("net.py", 5) and linear.parent.kind == "python" and linear.parent.calls == 0
        lines = [node for node in by_name["gemm"].children if node.line == 8]
        assert lines[0].stalls == 3 * 35 and lines[0].stalls.reasons == {"long_scoreboard": 90, "wait": 15}
        assert str(xsp.topk(lines, 1)) == "long_scoreboard" and xsp.topk([]) == []
    assert list(xsp.bfs(made.root))[0] == made.root and len(set(xsp.bfs(made.nodes))) == len(list(xsp.bfs(made.nodes))) == len(made.nodes)
    deepest = max(made.nodes, key=lambda node: len(node.path))
    assert len(deepest.path) > 2 and list(xsp.bfs([deepest, made.root])).count(deepest) == 1


def empty(path):
    """A run without spans."""
    made = xsp.open(path).tree()
    assert made.nodes == [] and made.root.time == 0 and made.root.count == 0
    assert math.isnan(made.root.gpu_time) and math.isnan(made.root.backward.time)
    assert made.kernels == made.training == made.loss == [] and list(xsp.open(path).spans()) == []


def figures(path, expected_path):
    """Equal to what xsp sql and xsp analyze print."""
    expected = json.load(open(expected_path))
    with xsp.open(path) as trace:
        spans = [span._asdict() for span in trace.spans()]
        assert spans == expected["spans"], (spans[0], expected["spans"][0])
        assert trace.analyze("A2") == expected["A2"] and trace.analyze("a10", top=2) == expected["A10"]
        assert trace.analyze("findings", only=["F1", "F2"], threshold="hotspot-share=20") == expected["findings"]
        assert [row._asdict() for row in trace.runs] == expected["runs"]
        assert len(trace.spans(level="layer")) == sum(span["level"] == "layer" for span in spans)
        names = trace.spans(run=1, kind="execution").table(["name", "duration_ns"])
        assert names["name"] == [span["name"] for span in spans if span["kind"] == "execution"]
        assert sum(names.array("duration_ns")) == sum(span["duration_ns"] for span in spans if span["kind"] == "execution")
        by_context = {row.context_id: row.sum for row in trace.sql(
            "select context_id, sum from context_metric where metric = 'device_ns'")}
        for node in trace.tree().nodes:  # each call path of a kernel is at one place here
            if node.context_id is not None and node._get("is_kernel"):
                assert node.gpu_time == by_context[node.context_id]


def table(path):
    trace = xsp.open(path)
    found = trace.sql("select column1 as m, 2 as i, 0.5 as r, 'a' as t, null as n from (values (1), (null), ('x'), (0.25), (x'00ff'))")
    trace.close()
    assert found["m"] == [1, None, "x", 0.25, b"\x00\xff"] and found["n"] == [None] * 5 and found["t"] == ["a"] * 5
    view = found.array("i")
    del found
    gc.collect()
    assert list(view) == [2] * 5  # the view keeps the table
    try:
        trace.runs
    except xsp.Error as why:
        assert "closed" in str(why)
    else:
        raise AssertionError("a closed file answers")
    empty = xsp.open(path).sql("select 1 as a, 'b' as b where 0")
    assert len(empty) == 0 and list(empty) == [] and empty["a"] == [] and empty.columns == ["a", "b"]


def errors(path, *broken):
    trace = xsp.open(path)
    for words, status, act in [("nowhere", 2, lambda: trace.sql("select * from nowhere")),
                              ("bach", 2, lambda: trace.analyze("A2", bach=1)), ("Z9", 2, lambda: trace.analyze("Z9")), ("run 99", 2, lambda: trace.tree(99)),
                              ("", 1, lambda: trace.analyze("L0", by="layer"))]:
        try:
            act()
        except xsp.Error as why:
            assert words in str(why) and why.status == status and "\n" not in str(why), (words, why, why.status)
        else:
            raise AssertionError(f"no error about {words}")
    for name in broken:
        try:
            opened = xsp.open(name)
            for run in opened.runs:  # what is broken may be found later only
                opened.tree(run.run_id), list(opened.spans())
        except xsp.Error as why:
            assert name in str(why), why
        else:
            raise AssertionError(f"{name} is read")


def wrong(path):
    """Arguments that no file could answer; each message has the word that is decisive."""
    trace = xsp.open(path)
    for kind, word, act in [
            (ValueError, "zero byte", lambda: xsp.open(f"{path}\0.txt")), (ValueError, "zero byte", lambda: xsp.open(path.encode() + b"\0")),
            (ValueError, "zero byte", lambda: trace.sql("select 1 as a\0 from nowhere")),
            (ValueError, "zero byte", lambda: trace.analyze("A2\0x")),
            (ValueError, "zero byte", lambda: trace.analyze("A2", by="layer\0")),
            (ValueError, "zero byte", lambda: xsp.evaluate("a\0.yml")),
            (ValueError, "64 bits", lambda: trace.tree((1 << 64) + 1)), (ValueError, "64 bits", lambda: trace.spans(run=-1 << 64)),
            (ValueError, "layer", lambda: trace.spans(level="")), (ValueError, "layer", lambda: trace.spans(level="layr")),
            (ValueError, "layer", lambda: trace.spans(level=["layer", "model"])), (ValueError, "launch", lambda: trace.spans(kind="")),
            (TypeError, "['name']", lambda: trace.spans().table("name")), (TypeError, "['name']", lambda: trace.spans().to_pandas("name")),
            (TypeError, "['name']", lambda: trace.spans().to_arrow(columns="name"))]:
        try:
            act()
        except kind as why:
            assert word in str(why), (word, why)
        else:
            raise AssertionError(f"no {kind.__name__} about {word}")
    assert len(trace.spans(run=(1 << 63) - 1)) == 0 and len(trace.spans(run=1, level="layer", kind="sync")) > 0


def threads(path):
    """One trace in several threads, and one in each."""
    shared, failures = xsp.open(path), []

    def work(trace):
        try:
            for _ in range(20):
                assert trace.sql("select count(*) as c from span")["c"][0] == len(list(trace.spans()))
                assert trace.tree().root.time == 1_260_000
        except BaseException as why:
            failures.append(why)
    running = [threading.Thread(target=work, args=(shared if i % 2 else xsp.open(path),)) for i in range(6)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures, failures


def frames(path):
    """pandas and Arrow, where they are installed."""
    trace = xsp.open(path)
    spans = list(trace.spans())
    equal = trace.sql("select cast(column1 as text) as t from (values (x'61ff'), ('b'), (null), (x'61fe'))")  # once they are decoded
    assert equal["t"] == ["a\ufffd", "b", None, "a\ufffd"]
    try:
        import pandas
    except ImportError:
        print("skipped: pandas is not installed")
    else:
        data = trace.spans().to_pandas()
        assert list(data.columns) == list(xsp.Span._fields) and len(data) == len(spans)
        assert data["name"].tolist() == [span.name for span in spans]
        assert data["start_ns"].dtype == "int64" and data["parent_id"].dtype == "Int64"
        assert [None if pandas.isna(value) else value for value in data["parent_id"]] == [span.parent_id for span in spans]
        twice = trace.sql("select 1 as a, 'x' as a, 2 as b").to_pandas()
        texts = equal.to_pandas()["t"]
        assert [None if pandas.isna(value) else value for value in texts] == equal["t"]
        assert list(texts.cat.categories) == ["a\ufffd", "b"]
        assert list(twice.columns) == ["a", "a", "b"] and twice.values.tolist() == [[1, "x", 2]], twice
        assert data[data.kind == "execution"].duration_ns.sum() == sum(
            span.duration_ns for span in spans if span.kind == "execution")
    try:
        import pyarrow
    except ImportError:
        print("skipped: pyarrow is not installed")
    else:
        data = trace.spans().to_arrow()
        data.validate(full=True)
        assert data.column("name").to_pylist() == [span.name for span in spans]
        assert data.column("parent_id").to_pylist() == [span.parent_id for span in spans]
        assert data.column("category").to_pylist() == [span.category for span in spans]
        assert pyarrow.types.is_dictionary(data.schema.field("name").type)
        moment = 1_764_000_000_123_456_789
        moments = trace.sql(f"select column1 as t, 1 as u from (values ({moment}), (null))").to_arrow()
        assert moments.column("t").to_pylist() == [moment, None]
        try:
            import pandas
        except ImportError:
            pass
        else:
            frame = moments.to_pandas()
            assert str(frame.t.dtype) == "Int64" and frame.t[0] == moment and pandas.isna(frame.t[1]), frame
            assert list(frame.columns) == ["t", "u"]
        texts = equal.to_arrow()
        texts.validate(full=True)
        assert texts.column("t").to_pylist() == equal["t"]
        assert texts.column("t").chunk(0).dictionary.to_pylist() == ["a\ufffd", "b"]
        twice = trace.sql("select 1 as a, 'x' as a").to_arrow()
        assert twice.column_names == ["a", "a"] and [column.to_pylist() for column in twice.columns] == [[1], ["x"]]
        mixed = trace.sql("select column1 as m from (values (1), (null), ('x'))").to_arrow()
        assert mixed.column("m").to_pylist() == ["1", None, "x"]


def record():
    """Spans of this program; in another order than a stack's, and ended by another thread."""
    @xsp.trace(level="model", category="mine")
    def step(number):
        xsp.tag("number", number)
        with xsp.span("load", category="load") as span:
            xsp.tag("text", "x")
            span.tag("half", 0.5)
        return number

    @xsp.trace
    def values():
        yield 1
        yield 2

    @xsp.trace(name="waits")
    async def wait():
        return 7

    @xsp.trace
    async def counts():
        got = []
        try:
            got.append((yield 1))
            with xsp.span("counted"):
                got.append((yield 2))
        except KeyError as thrown:
            yield got + [type(thrown)]

    async def count():
        assert inspect.isasyncgenfunction(counts)
        assert [value async for value in counts()] == [1, 2]
        asked = counts()
        assert [await asked.asend(None), await asked.asend("a")] == [1, 2]
        assert await asked.athrow(KeyError()) == ["a", KeyError]
        await asked.aclose()

    assert [step(number) for number in range(3)] == [0, 1, 2] and step.__name__ == "step"
    first, second = values(), values()
    assert [next(first), next(second), *first, *second] == [1, 1, 2, 2]
    import asyncio
    assert asyncio.run(wait()) == 7
    asyncio.run(count())
    try:
        with xsp.span("fails"):
            raise KeyError("passes")
    except KeyError:
        pass
    for wrong in [lambda: xsp.span(3), lambda: xsp.span("a", level="planet"), lambda: xsp.span("a", colour="red"),
                  lambda: xsp.span(), lambda: xsp.tag("a"), lambda: xsp.span("\ud800"), lambda: xsp.span("a", category="\ud800")]:
        try:
            wrong()
        except (TypeError, ValueError):
            continue
        if type(xsp.span("a")).__name__ == "Span":
            raise AssertionError("a wrong call is taken")
    xsp.span("never begun")
    held = xsp.span("over twice")
    with held:
        pass
    held.__exit__(None, None, None)
    away = xsp.span("elsewhere")
    away.__enter__()
    ender = threading.Thread(target=away.__exit__, args=(None, None, None))
    ender.start()
    ender.join()
    for number in range(70_000):
        with xsp.span(f"name {number}"):
            pass
    with xsp.span("naïve ✓") as span:
        xsp.tag("big", 1 << 70)
        xsp.tag("no UTF-8", "\udc80")  # what has no text has no tag

        class Ends:
            def __str__(self):
                span.__exit__(None, None, None)
                raise RuntimeError

        xsp.tag("ends", Ends())
    print("recorded" if type(xsp.span("a")).__name__ == "Span" else "nothing")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
