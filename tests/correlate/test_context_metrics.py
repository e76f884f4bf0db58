# SPDX-License-Identifier: Apache-2.0
"""Table context_metric against the rules of docs/format.md, by brute force on random spans: SQL, SQLite export, stored."""
import os
import pathlib
import random
import sqlite3
import statistics
import unittest

from scripted import Script, temporary_folder, xsp, xsp_json

CASES = int(os.environ.get("XSP_CONTEXT_CASES", "30"))
CONTAINS_BELOW = {"host_ns", "flops"}
ALL = ("select run_id, context_id, metric, count, sum, min, max, mean, variance, exclusive_sum from context_metric"
       " order by 1, 2, 3")


def random_trace(generator):
    """A trace, and what its spans say: {run: {context: {metric: samples}}}, {context: caller}."""
    script, own, caller = Script(), {}, {}
    script.experiment()
    for number in range(generator.randrange(1, 12)):
        around = generator.choice([None, *caller])
        caller[script.context(f"f{number}", caller=around)] = around
    for run_id in (1, 2):
        script.run(run_id, levels="L/K")
        script.track(run_id=run_id)
        samples = own.setdefault(run_id, {})
        for _ in range(generator.randrange(0, 40)):
            kind, duration = generator.choice(["sync", "launch", "execution"]), generator.choice(["open", 0, 7, 123456])
            context, category = generator.choice([None, *caller]), generator.choice(["memory", "sync", "samples", None])
            name, tags = generator.choice(["allocate", "free"]), {}
            if generator.random() < 0.5:
                tags["bytes"] = generator.randrange(1000)
            if generator.random() < 0.3:
                tags["alloc_own_bytes"] = generator.randrange(1000)
            if generator.random() < 0.3:
                tags["flops"] = generator.choice([5, 2.0, -1])
            tags.update(generator.choice([{}, {"grid": "[3,2,5]", "block": "[8,4,1]", "registers": 40, "shared_bytes": 0},
                                          {"grid": "[3,-2]", "block": "[4294967296,4294967296]", "registers": "x"},
                                          {"samples": 9, "samples_wait": 4, "samplesize": 1, "parallelism_ppm": 2_000_000}]))
            script.span(name, generator.randrange(1000), duration, level="layer", kind=kind, run_id=run_id,
                        category=category, tags=tags, context=context)
            if context is None or duration == "open":
                continue
            found = samples.setdefault(context, {})
            is_wait, is_samples = kind == "execution" and category == "sync", category == "samples"
            is_allocation = (category, name) == ("memory", "allocate")
            if not is_wait and not is_samples:
                found.setdefault("device_ns" if kind == "execution" else "host_ns", []).append(duration)
            if kind == "launch" and not is_samples:
                found.setdefault("launches", []).append(1)
            if kind == "execution" and not is_wait and not is_samples and not is_allocation:
                if tags.get("grid") == "[3,2,5]":
                    for metric, sample in (("grid_size", 30), ("block_size", 32), ("registers", 40), ("shared_bytes", 0)):
                        found.setdefault(metric, []).append(sample)
                if "parallelism_ppm" in tags:
                    found.setdefault("parallelism_ppm", []).append(2_000_000)
            if is_samples and "samples" in tags:
                found.setdefault("samples", []).append(9)
                found.setdefault("samples_wait", []).append(4)
            if "bytes" in tags and is_allocation:
                found.setdefault("bytes", []).append(tags["bytes"])
            if "alloc_own_bytes" in tags and kind != "execution" and not is_samples and not is_allocation:
                found.setdefault("bytes", []).append(tags["alloc_own_bytes"])
            if tags.get("flops", -1) >= 0:
                found.setdefault("flops", []).append(int(tags["flops"]))
    return script, own, caller


def expected_rows(own, caller):
    rows = []
    for run_id, contexts in own.items():
        for metric in {metric for samples in contexts.values() for metric in samples}:
            sets, sums = {}, {}
            for context in sorted(caller, reverse=True):
                below = [child for child in caller if caller[child] == context]
                mine, sum_below = contexts.get(context, {}).get(metric, []), sum(sums[child] for child in below)
                union = [sample for child in below for sample in sets[child]]
                if metric in CONTAINS_BELOW:
                    sets[context], sums[context] = mine or union, max(sum(mine), sum_below)
                else:
                    sets[context], sums[context] = mine + union, sum(mine) + sum_below
                samples = sets[context]
                if samples:
                    rows.append((run_id, context, metric, len(samples), sums[context], min(samples), max(samples),
                                 statistics.fmean(samples), statistics.pvariance(samples),
                                 sums[context] - sum_below))
    return sorted(rows)


class ContextMetrics(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.trace = self.folder / "x.xsp"

    def rows(self):
        return [tuple(row.values()) for row in xsp_json("sql", self.trace, ALL, "--json")]

    def check(self, rows, expected):
        self.assertEqual([row[:7] + row[9:] for row in rows], [row[:7] + row[9:] for row in expected])
        for row, other in zip(rows, expected):
            for at in (7, 8):
                self.assertAlmostEqual(row[at], other[at], delta=1e-9 * max(1, abs(other[at])))

    def test_random_spans(self):
        for seed in range(CASES):
            script, own, caller = random_trace(random.Random(seed))
            script.write(self.trace)
            with self.subTest(seed=seed):
                rows = self.rows()
                self.check(rows, expected_rows(own, caller))
                roots = {context for context in caller if caller[context] is None}
                self.assertEqual(sum(row[9] for row in rows), sum(row[4] for row in rows if row[1] in roots))

    def test_exported(self):
        script, own, caller = random_trace(random.Random(1))
        script.write(self.trace)
        xsp("export", self.trace, "--to", "sqlite", "-o", self.folder / "out.db", check=0)
        data = sqlite3.connect(self.folder / "out.db")
        self.check(data.execute(ALL).fetchall(), expected_rows(own, caller))
        data.close()

    def test_a_stored_table_stays(self):
        random_trace(random.Random(1))[0].write(self.trace)
        data = sqlite3.connect(self.trace)
        data.execute("create table context_metric(run_id, context_id, metric, count, sum, min, max, mean, variance,"
                     " exclusive_sum)")
        row = (1, 1, "host_ns", 2, 3, 1, 2, 1.5, 0.25, 3)
        data.execute("insert into context_metric values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        data.commit()
        data.close()
        self.assertEqual(self.rows(), [row])

    def sampled_contexts(self, script, operators, executions):
        """The path of an instruction of kernel `gemm`, which runs as `executions` say: in the operator of this number."""
        script.experiment()
        script.run(levels="L/K")
        script.track()
        script.track(2, device=0, stream=1)
        paths = [script.context(name, kind="framework") for name in operators]
        kernel = script.context("gemm", kind="device")
        line = script.context("gemm", kernel, "device", "gemm.cu", 12)
        instruction = script.context("+0x80", line, "device", module="cubin 1", address=128)
        for number, operator in enumerate(executions, 1):
            script.span("op", 1000 * number, 500, "layer", context=paths[operator] if operator is not None else None)
            script.span("launch", 1000 * number + 10, 5, "kernel", "launch", correlation=number)
            script.span("gemm", 1000 * number + 20, 100, "kernel", "execution", track=2, correlation=number, category="kernel")
        script.span("instruction samples", 9000, 0, "kernel", track=2, category="samples", tags={"samples": 7},
                    context=instruction)
        script.write(self.trace)
        rows = xsp_json("sql", self.trace, "with recursive path(context_id, depth, frame_id, parent_id) as (select c.context_id, 0, "
                        "c.frame_id, c.parent_id from context c join span s using (context_id) where s.category = 'samples' union all "
                        "select c.context_id, depth + 1, c.frame_id, c.parent_id from path p join context c on c.context_id = "
                        "p.parent_id) select f.name, f.line from path join frame f using (frame_id) order by depth desc", "--json")
        return [(row["name"], row["line"]) for row in rows]

    def test_samples_are_below_their_kernel(self):
        """In the operator that launched it, if there is one only: a sample does not say which launch it is of."""
        below = [("gemm", None), ("gemm", 12), ("+0x80", None)]
        self.assertEqual(self.sampled_contexts(Script(), ["mm", "conv"], [0, 0]), [("mm", None), *below])
        sums = xsp_json("sql", self.trace, "select f.name, f.line, m.metric, m.sum from context_metric m join context c using "
                        "(context_id) join frame f using (frame_id) where f.name in ('mm', 'gemm') and m.metric in "
                        "('samples', 'device_ns') order by 3, 1, 2", "--json")
        self.assertEqual([tuple(row.values()) for row in sums], [
            ("gemm", None, "device_ns", 200), ("mm", None, "device_ns", 200), ("gemm", None, "samples", 7),
            ("gemm", 12, "samples", 7), ("mm", None, "samples", 7)])
        for executions in ([0, 1], [0, None], [None], []):
            with self.subTest(executions=executions):
                self.assertEqual(self.sampled_contexts(Script(), ["mm", "conv"], executions), below)

    def test_executions_are_called_by_whoever_called_their_launch(self):
        """A launch's path has the launch itself or not; without one, the parent's path is left."""
        for launched_from, itself, operator, expected in (("step", True, None, "step"), ("step", False, None, "step"), ("step", True, "op", "step"),
                                                          (None, False, "op", "op"), (None, True, "op", "op"), (None, False, None, None)):
            with self.subTest(launched_from=launched_from, itself=itself, operator=operator):
                script = Script()
                script.experiment()
                script.run(levels="L/K")
                script.track()
                script.track(2, device=0, stream=1)
                main = script.context("main")
                path = script.context(launched_from, main) if launched_from else None
                if itself:
                    path = script.context("launch", path, "native")
                script.span("op", 0, 500, "layer", context=script.context(operator, main, "framework") if operator else None)
                script.span("launch", 10, 5, "kernel", "launch", correlation=1, context=path)
                script.span("gemm", 20, 100, "kernel", "execution", track=2, correlation=1)
                script.write(self.trace)
                callers = xsp_json("sql", self.trace, "select f.name as caller from span s join context c using (context_id) join context p on "
                                   "p.context_id = c.parent_id join frame f on f.frame_id = p.frame_id where s.name = 'gemm'", "--json")
                self.assertEqual([row["caller"] for row in callers], [expected] if expected else [])

    def test_without_call_paths(self):
        script = Script()
        script.experiment()
        script.run()
        script.track()
        script.span("predict", 0, 5)
        script.write(self.trace)
        self.assertEqual(self.rows(), [])


if __name__ == "__main__":
    unittest.main()
