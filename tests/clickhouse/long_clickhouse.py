# SPDX-License-Identifier: Apache-2.0
"""xsp analyze clickhouse://… against the real engine: its answers are those of the same spans in a file."""
import glob
import os
import pathlib
import random
import re
import unittest

import analysis_data
import clickhouse
import clickhouse_check
import scripted
import trace_reader
from random_experiments import Generator

FOLDER = trace_reader.data_folder()
COUNT = int(os.environ.get("XSP_RANDOM_EXPERIMENTS", 12))
ANALYSES = ("L0", *(f"A{number}" for number in range(1, 16)), "T8", "T9", "T10", "T11")
STATISTICS = ("trimmed:0.2", "trimmed:0.2", "mean", "median", "p90", "trimmed-each:0.2")


def statement_of_docs():
    """The columns that docs/clickhouse.md offers."""
    text = (pathlib.Path(os.environ["XSP_SOURCE"]) / "docs" / "clickhouse.md").read_text()
    return text[text.index("    ALTER TABLE otel_traces\n"):text.index("\n\n`ALTER TABLE")]


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
        name = f"t{len(list(self.path.glob('*.otlp')))}"
        exported = self.path / f"{name}.otlp"
        self.assertEqual(clickhouse_check.run("export", file, "--to", "otlp", "-o", exported)[0], 0)
        self.server.query(clickhouse.TABLE.format(name=name))
        if has_columns:
            self.server.query(statement_of_docs().replace("otel_traces", name))
        self.server.load(exported, name)
        return f"{self.server.address}?table={name}"

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
