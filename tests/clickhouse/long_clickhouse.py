# SPDX-License-Identifier: Apache-2.0
"""xsp analyze clickhouse://… against the real engine: its answers are those of the same spans in a file."""
import glob
import json
import os
import pathlib
import random
import re
import unittest

import analysis_data
import clickhouse
import clickhouse_check
import otlp
import scripted
import trace_reader
from random_experiments import Generator

FOLDER = trace_reader.data_folder()
COUNT = int(os.environ.get("XSP_RANDOM_EXPERIMENTS", 12))
ANALYSES = ("L0", *(f"A{number}" for number in range(1, 16)), "A23", "T8", "T9", "T10", "T11")
STATISTICS = ("trimmed:0.2", "trimmed:0.2", "mean", "median", "p90", "trimmed-each:0.2")


def statement_of_docs():
    """The columns that docs/clickhouse.md offers."""
    text = (pathlib.Path(os.environ["XSP_SOURCE"]) / "docs" / "clickhouse.md").read_text()
    return text[text.index("    ALTER TABLE otel_traces\n"):text.index("\n\n`ALTER TABLE")]


def spans_of_run(stack=0):
    """Two observations of two layers, whose kernels are done after the observation; `stack`: how many spans are above each kernel,
    in its layer."""
    spans = []

    def add(start, end, **more):
        spans.append(otlp.span(len(spans) + 1, start=start, end=end, xsp__basis="explicit", **more))
        return len(spans)

    for observation in range(2):
        at = observation * 1_000_000
        net = add(at, at + 500_000, name="net", level="model", xsp__observation=observation)
        for layer in range(2):
            start = at + layer * 200_000
            above = add(start, start + 150_000, name=f"layer{layer}", parent=net, level="layer", xsp__layer_index=layer)
            for _ in range(stack):
                above = add(start, start + 150_000, name="call", parent=above, level="library")
            for kernel in range(2):
                late = at + 600_000 + (2 * layer + kernel) * 50_000
                add(late, late + 20_000 + layer * 1000, name=f"kernel{kernel}", parent=above, level="kernel", thread=None,
                    xsp__kind="execution", xsp__category="kernel", xsp__device_id=0, xsp__stream_id=7)
    return spans


def circle(first):
    """Two layers that are each other's parent."""
    return [otlp.span(first + i, f"layer{i}", 10_000, 60_000 + i, parent=first + 1 - i, level="layer", xsp__basis="explicit")
            for i in range(2)]


class EngineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = scripted.temporary_folder()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        cls.server = clickhouse.Server(cls.path / "engine")
        cls.addClassCleanup(cls.server.close)

    def table_of(self, file, has_columns=False):
        """The file's spans in a table of their own; its address."""
        exported = self.new_source()
        self.assertEqual(clickhouse_check.run("export", file, "--to", "otlp", "-o", exported)[0], 0)
        return self.loaded(exported, has_columns)

    def new_source(self):
        return self.path / f"t{len(list(self.path.glob('*.otlp')))}.otlp"

    def loaded(self, source, has_columns=False):
        self.server.query(clickhouse.TABLE.format(name=source.stem))
        if has_columns:
            self.server.query(statement_of_docs().replace("otel_traces", source.stem))
        self.server.load(source, source.stem)
        return f"{self.server.address}?table={source.stem}"

    def check(self, file, address, *arguments):
        with self.subTest(arguments=arguments):
            found = clickhouse_check.compare(file, address, *arguments)
            self.assertEqual(found[:5], [], f"{len(found)} differences: xsp analyze {' '.join(map(str, arguments))}")

    def bytes_of(self, address, analysis):
        return int(re.search(r"(\d+) bytes came back", clickhouse_check.run("analyze", analysis, address)[2])[1])

    def test_random_experiments(self):
        added_up = 0
        for seed in range(COUNT):
            choose = random.Random(seed)
            source, file = self.path / f"{seed}.jsonl", self.path / f"{seed}.xsp"
            source.write_text(analysis_data.to_otlp(Generator(seed).experiment))
            self.assertEqual(clickhouse_check.run("import", source, "-o", file)[0], 0)
            address = self.table_of(file, has_columns=seed % 2 == 0)
            for analysis in ANALYSES:
                with self.subTest(seed=seed):
                    self.check(file, address, analysis, "--stat", choose.choice(STATISTICS),
                               "--layer", choose.choice(("outermost", "innermost", "module")))
            added_up += self.bytes_of(address, "A2") < self.bytes_of(address, "A8")
        self.assertGreater(added_up, 1)  # else every run came back in full

    def test_collectives_of_libraries(self):
        """A1 has them in collective_ms; other calls of libraries do not come back."""
        spans = []
        for observation in range(2):
            at = observation * 1_000_000
            spans += [otlp.span(len(spans) + number, start=at + start, end=at + end, xsp__basis="explicit", **more)
                      for number, (start, end, more) in enumerate((
                          (0, 500_000, {"name": "step", "level": "model", "xsp__observation": observation}),
                          (100_000, 180_000, {"name": "MPI_Allreduce", "level": "library", "xsp__category": "collective"}),
                          (200_000, 300_000, {"name": "gemm", "level": "library"})), 1)]
        source, file = self.new_source(), self.path / "collectives.xsp"
        source.write_text(otlp.lines(otlp.request(spans, {"xsp.experiment": "net", "xsp.run": 1, "xsp.levels": "M/Lib"})))
        self.assertEqual(clickhouse_check.run("import", source, "-o", file)[0], 0)
        [row] = json.loads(clickhouse_check.run("analyze", "A1", file, "--json")[1])["rows"]
        self.assertEqual(row["collective_ms"], 0.08)
        address = self.loaded(source)
        self.check(file, address, "A1")
        self.assertLess(self.bytes_of(address, "A1"), self.bytes_of(address, "ranges"))

    def test_texts_that_look_like_numbers(self):
        """PyTorch's process groups are "0", "1" …, in which ranks meet apart; so are modules of nn.Sequential."""
        trace = scripted.Script()
        trace.experiment()
        trace.run(1, "M/L/Lib", batch=None)
        for rank in (0, 1):
            trace.track(rank + 1, f"rank {rank}", process=100 + rank, thread=100 + rank, rank=rank, world_size=2)
            for step in range(3):
                start = scripted.UNIX_START + step * 1_000_000
                trace.span("training step", start, 900_000, track=rank + 1, tags={"batch_size": 8})
                trace.span("linear", start, 50_000, "layer", track=rank + 1, tags={"module": "0"})
                for group in (0, 1):
                    at = start + 300_000 * group + 100_000 * (rank != group)
                    trace.span("gloo:all_reduce", at, start + 300_000 * group + 200_000 - at, "library", track=rank + 1,
                               category="collective", tags={"group": str(group), "sequence": step, "bytes": 64})
        file = trace.write(self.path / "groups.xsp")
        address = self.table_of(file)
        self.assertEqual([row["group"] for row in json.loads(clickhouse_check.run("analyze", "A24", file, "--json")[1])["rows"]], ["0", "1"])
        for analysis in ("A2", "A21", "A24", "A27"):
            self.check(file, address, analysis)

    def check_damaged(self, *batches):
        """A run without damage, and one whose spans come in these batches."""
        source, file = self.new_source(), self.path / "damaged.xsp"
        runs = [(1, spans_of_run()), *((2, batch) for batch in batches)]
        source.write_text(otlp.lines(*(otlp.request(spans, {"xsp.experiment": "net", "xsp.run": run, "xsp.levels": "M/L/K"})
                                       for run, spans in runs)))
        self.assertEqual(clickhouse_check.run("import", source, "-o", file, "--force")[0], 0)
        address = self.loaded(source)
        for analysis in ("L0", "A2", "A10", "A11", "A15"):  # one of each detail
            self.check(file, address, analysis)
        self.assertLess(self.bytes_of(address, "A10"), self.bytes_of(address, "A8"))  # run 1 was added up

    def test_spans_that_came_twice(self):
        spans = spans_of_run()
        self.check_damaged(spans, spans[:7])

    def test_parents_in_a_circle(self):
        spans = spans_of_run()
        self.check_damaged(spans + circle(len(spans) + 1))

    def test_deep_stacks(self):
        for stack in (100, 1100):
            self.check_damaged(spans_of_run(stack))

    @unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
    def test_real_traces(self):
        for pattern in ("kineto/hta__amd_trace__mi250*", "kineto/hta__critical_path__alexnet*",
                        "kineto/kineto__tb_plugin__*trace.json*", "ort/ort1.30_ppocr_cls_session.json",
                        "nsys/pipit__saxpy*"):
            [source] = glob.glob(os.path.join(FOLDER, pattern))
            file = self.path / f"{len(pattern)}-real.xsp"
            self.assertEqual(clickhouse_check.run("import", source, "-o", file, "--force")[0], 0)
            address = self.table_of(file)
            for analysis in ANALYSES:
                with self.subTest(source=os.path.basename(source)):
                    self.check(file, address, analysis)


if __name__ == "__main__":
    unittest.main()
