# SPDX-License-Identifier: Apache-2.0
"""What a figure is called, and in which unit: the same in the terminal, Markdown, CSV, JSON, the C API and (test_report_tables.py)
the page."""
import csv
import io
import json
import os
import pathlib
import sys
import unittest

import report_files
import scripted

sys.path.insert(0, str(pathlib.Path(os.environ["XSP_SOURCE"]) / "answers/python" / "src"))
os.environ.setdefault("XSP_LIBRARY_READ", str(scripted.BUILD / "libxsp_read.so"))

IDS = [*(f"A{number}" for number in range(1, 17)), "L0", "T8", "T9", "T11"]
# How units look where figures are scaled.
SHOWN = {"ms": ("ns", "µs", "ms", "s"), "ns": ("ns", "µs", "ms", "s"), "bytes": ("B", "kB", "MB", "GB", "TB"),
         "bytes/s": ("kB/s", "MB/s", "GB/s"), "flops": ("flop", "kflop", "Mflop", "Gflop", "Tflop"),
         "flops/s": ("Mflop/s", "Gflop/s", "Tflop/s"), "flops/byte": ("flop/B",), "1/s": ("/s",), "%": ("%",), "": ("",),
         "ops": ("op", "kop", "Mop", "Gop", "Top")}


def xsp(*arguments, **options):
    return scripted.xsp(*arguments, text=True, **options)


class WordsTest(unittest.TestCase):
    def answers(self):
        """(file, analysis, its JSON) of every analysis that one of the files can answer."""
        found = 0
        for path in (report_files.profiled()[0], report_files.written(report_files.metrics, "metrics")[0]):
            for name in IDS:
                printed = xsp("analyze", name, path, "--json")
                if printed.returncode == 0:
                    found += 1
                    yield path, name, json.loads(printed.stdout)
        self.assertGreater(found, 25)

    def heads(self, name, path):
        """(label, unit) of each column that Markdown shows."""
        lines = xsp("analyze", name, path, "--format", "markdown").stdout.splitlines()
        row = next(line for line in lines if line.startswith("| "))
        return [(head.removesuffix(")").split(" (") + [""])[:2] for head in row.strip("| ").split(" | ")]

    def test_headings_are_the_labels_of_json_in_its_order(self):
        for path, name, answer in self.answers():
            labels = iter(answer["columns"])
            for label, unit in self.heads(name, path) if answer["rows"] else []:
                column = next((one for one in labels if one["label"] == label), None)
                self.assertIsNotNone(column, f"{name} has no column {label!r}, or not in this order")
                self.assertIn(unit, SHOWN[column["unit"]], (name, label))

    def test_the_terminal_has_the_headings_of_markdown(self):
        for path, name, answer in self.answers():
            lines = xsp("analyze", name, path).stdout.splitlines()
            if not answer["rows"]:
                continue
            at = next(number for number, line in enumerate(lines) if line.startswith("─"))
            shown = [line for line in lines[:at] if all(label in line for label, _ in self.heads(name, path))]
            self.assertEqual(len(shown), 1, name)

    def test_csv_has_the_keys_of_json(self):
        for path, name, answer in self.answers():
            head = next(csv.reader(io.StringIO(xsp("analyze", name, path, "--format", "csv").stdout, newline="")))
            self.assertEqual(head, [column["key"] for column in answer["columns"]], name)

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "Python cannot load a library that is built with a sanitizer")
    def test_the_c_api_has_the_columns_of_json(self):
        import xsp as package
        for path, name, answer in self.answers():
            self.assertEqual(package.open(str(path)).analyze(name), answer, name)

    def test_summaries_have_labels_too(self):
        for path, name, answer in self.answers():
            columns = answer["summary_columns"]
            self.assertEqual([column["key"] for column in columns], list(answer["summary"]), name)
            lines = xsp("analyze", name, path).stdout.splitlines()
            labels = {column["label"] for column in columns}
            below = lines[max((number for number, line in enumerate(lines) if line.startswith("─")), default=0):]
            entries = below[below.index("", len(answer["rows"])) + 1:] if "" in below else []
            for line in entries[:entries.index("") if "" in entries else None]:
                self.assertTrue(line.startswith("note: ") or any(line.startswith(label) for label in labels), (name, line))

    def test_a_heading_sorts_as_its_key_does(self):
        path = report_files.written(report_files.metrics, "metrics")[0]
        for name in ("A10", "A13", "A14"):
            answer = json.loads(xsp("analyze", name, path, "--json").stdout)
            labels = [column["label"] for column in answer["columns"]]
            for column in answer["columns"]:
                if labels.count(column["label"]) == 1:
                    self.assertEqual(xsp("analyze", name, path, "--json", "--sort", column["label"]).stdout,
                                     xsp("analyze", name, path, "--json", "--sort", column["key"]).stdout)

    def test_shares_say_of_what(self):
        for path, name, answer in self.answers():
            for column in answer["columns"]:
                if "of" in column:
                    self.assertEqual(column["unit"], "%", name)
                    self.assertTrue(column["label"].endswith(f"of {column['of']}"), (name, column))


if __name__ == "__main__":
    unittest.main()
