# SPDX-License-Identifier: Apache-2.0
"""Files that an earlier xsp wrote: docs/compatibility.md promises that this one reads them. formats/N.xsp.gz has leveled() of
scripted.py as the first xsp of format N wrote it; a new format adds its own, and none is ever made again."""
import contextlib
import gzip
import json
import os
import pathlib
import re
import sqlite3
import unittest

from scripted import temporary_folder, xsp

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
FORMATS = sorted((SOURCE / "tests/store/formats").glob("*.xsp.gz"))
# What format 1 got after its first files, without a number of its own.
LATER = [*(f"drop table {table}" for table in ("workload", "evaluation", "output", "frame", "context")),
         *(f"alter table track drop column {column}" for column in ("rank", "local_rank", "world_size"))]


class EarlierFiles(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def each(self):
        for path in FORMATS:
            with self.subTest(path.name):
                trace = self.folder / path.name.removesuffix(".gz")
                trace.write_bytes(gzip.decompress(path.read_bytes()))
                yield trace
        first = self.folder / "first.xsp"
        first.write_bytes((self.folder / "1.xsp").read_bytes())
        with contextlib.closing(sqlite3.connect(first, isolation_level=None)) as data:
            for statement in LATER:
                data.execute(statement)
        with self.subTest(first.name):
            yield first

    def json(self, *arguments):
        return json.loads(xsp(*arguments, "--json", check=0).stdout)

    def test_there_is_one_of_each_format(self):
        newest = int(re.search(r"STORE_FORMAT_VERSION (\d+)", (SOURCE / "trace/store/store.h").read_text(encoding="utf-8"))[1])
        self.assertEqual([path.name for path in FORMATS], [f"{number}.xsp.gz" for number in range(1, newest + 1)])

    def test_what_they_say(self):
        for trace in self.each():
            runs = self.json("info", trace)["experiments"][0]["runs"]
            self.assertEqual([(run["levels"], run["batch_size"], run["spans"].get("layer", 0)) for run in runs],
                             [(["model"], 1, 0), (["model"], 4, 0), (["model", "layer"], 1, 15), (["model", "layer"], 4, 15)])
            layers = self.json("analyze", "A2", trace, "--batch", "4")["rows"]
            self.assertEqual([(row["layer_name"], row["latency_ms"]) for row in layers],
                             [(f"block/conv_{layer}", 4.0 * (layer + 1)) for layer in range(3)])
            spans = self.json("sql", trace, "select count(*) as spans, sum(duration_ns) as ns from span where level = 'layer'")
            self.assertEqual(spans, [{"spans": 30, "ns": 5 * 5 * 6 * 10**6}])

    def test_they_go_on(self):
        for trace in self.each():
            for arguments in (("report", trace, "-fo", "page.html"), ("export", trace, "--to", "perfetto", "-fo", "trace.pftrace"),
                              ("merge", trace, "-fo", "merged.xsp"), ("compare", trace, trace), ("recover", trace, "-fo", "again.xsp")):
                xsp(*arguments, check=0, cwd=self.folder)
            self.assertEqual(self.json("analyze", "A1", self.folder / "again.xsp")["rows"], self.json("analyze", "A1", trace)["rows"])


if __name__ == "__main__":
    unittest.main()
