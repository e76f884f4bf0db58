# SPDX-License-Identifier: Apache-2.0
"""Files that an earlier xsp wrote: docs/compatibility.md promises that this one reads them. formats/N.xsp.gz has leveled() of
scripted.py as the first xsp of format N wrote it; a new format adds its own, and none is ever made again."""
import gzip
import json
import os
import pathlib
import re
import unittest

from scripted import temporary_folder, xsp

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
FORMATS = sorted((SOURCE / "tests/store/formats").glob("*.xsp.gz"))


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
            for arguments in (("report", trace, "-o", "page.html"), ("export", trace, "--to", "perfetto", "-o", "trace.pftrace"),
                              ("merge", trace, "-o", "merged.xsp"), ("compare", trace, trace), ("recover", trace, "-o", "again.xsp")):
                xsp(*arguments, check=0, cwd=self.folder)
            self.assertEqual(self.json("analyze", "A1", self.folder / "again.xsp")["rows"], self.json("analyze", "A1", trace)["rows"])


if __name__ == "__main__":
    unittest.main()
