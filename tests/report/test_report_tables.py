# SPDX-License-Identifier: Apache-2.0
"""The page's tables, in real Chromium, cell by cell against `xsp analyze --json`; sorting, filtering and copying them."""
import csv
import json
import re
import unittest

import browser
import report_files
from browser import is_value, rows_of
from scripted import UNIX_START, Script, leveled, xsp

IDS = [*(f"A{number}" for number in range(1, 16)), "L0"]
ALL_BATCHES_AT_ONCE = ("A1", "A15", "L0")
# The page sorts by these first; the others keep the analysis' own order.
MAIN_FIGURES = {**dict.fromkeys(("A2", "A3", "A8", "A9"), "latency_ms"), "A4": "alloc_bytes", "A11": "kernel_latency_ms",
                "A12": "flops", "A13": "layer_latency_ms", "A14": "layer_latency_ms"}
# The same in every row: the page draws them as roofs and names them above the chart.
ROOFS = ("peak_flops_per_s", "memory_bandwidth_bytes_per_s", "ideal_arithmetic_intensity")


# Separators, line ends, quotes, formulas and markup, which matter when pasted; and a plain number.
ODD_NAMES = ("=cmd|' /C calc'!A0", "a\tb\nc", '"q" x', "-1+2", "-3", "f<int, 2>*_")


def odd_names():
    script = Script()
    script.experiment("odd")
    script.run(1, "M/L", 1)
    script.track(1, "main")
    for observation in range(3):
        start = UNIX_START + observation * 10**9
        script.span("net", start, 10**7, tags={"batch_size": 1})
        for number, name in enumerate(ODD_NAMES):
            script.span(name, start + 1000 + number * 10**6, 900_000, "layer", tags={"layer_index": number})
    return script


# The second and third have the same short form but for a word.
TEMPLATES = ("void scale<float>(float*, int)", "void at::apply<4, at::AddFunctor<float>, float>(int, float)",
             "void at::apply<4, at::MulFunctor<float>, float>(int, float)")


def templates():
    script = Script()
    script.experiment("templates")
    script.run(1, "M/L/K", 1)
    script.track(1, "main")
    script.track(2, "stream", thread=None, device=0, stream=1)
    script.span("net", UNIX_START, 10**7, tags={"batch_size": 1})
    script.span("op", UNIX_START + 100, 9 * 10**6, "layer", tags={"layer_index": 0})
    for number, name in enumerate(TEMPLATES):
        at = UNIX_START + 1000 + number * 10**6
        script.span("launch", at, 500, "kernel", "launch", correlation=number + 1, category="api")
        script.span(name, at + 1000, 10**5 + number, "kernel", "execution", track=2, correlation=number + 1, category="kernel")
    return script


def answer(path, table_id, batch):
    """The answer of `xsp analyze`, or None if the trace has no data for it."""
    options = [] if batch is None or table_id in ALL_BATCHES_AT_ONCE else ["--batch", str(batch)]
    options += ["--sort", MAIN_FIGURES[table_id]] if table_id in MAIN_FIGURES else []
    result = xsp("analyze", table_id, path, *options, "--json")
    return json.loads(result.stdout) if result.returncode == 0 else None


class ReportTablesTest(browser.BrowserTest):
    def test_the_main_figure_of_an_analysis_has_the_bar(self):
        """The one that its rows are sorted by; of rows in an order of their own the first measure."""
        window = self.open(report_files.profiled()[1])
        for page, analysis, key in (("kernels", "A10", "latency_ms"), ("layers", "A2", "latency_ms"),
                                    ("memory", "A4", "alloc_bytes"), ("memory", "A7", "alloc_bytes")):
            window.open_page(page)
            bars = window.section(analysis).evaluate("""(one) => [...new Set([...one.querySelectorAll("td.has-bar")].map(
                (cell) => one.querySelectorAll("th")[cell.cellIndex].dataset.key))]""")
            self.assertEqual(bars, [key], analysis)

    def shown_tables(self, page, batch):
        """Of each analysis the fullest table, from whatever page it is on."""
        window = self.open(page, "#page=overview" + (f"&batch={batch}" if batch is not None else ""))
        found = {}
        for name in browser.PAGES:
            window.open_page(name)
            tabs = window.page.locator("main").get_by_role("tab")
            for tab in range(max(1, tabs.count())):
                if tabs.count():
                    tabs.nth(tab).click()
                    window.frames()
                for table in window.tables():
                    if table["id"] in IDS and len(table["keys"]) > len(found.get(table["id"], {"keys": ()})["keys"]):
                        found[table["id"]] = table
        return found

    def differences(self, table, expected):
        """Differences between a table of the page and that of `xsp analyze`, one line each."""
        name = expected["analysis"]
        if table is None:
            return [f"{name} is on no page"] if expected["rows"] else []
        known = [column["key"] for column in expected["columns"]
                 if any(row[column["key"]] is not None for row in expected["rows"])]
        found = [f"{name} lacks column {key}" for key in known
                 if key not in table["keys"] and key not in ROOFS]
        details = {column["key"] for column in expected["columns"] if column.get("detail")}
        order = [key for key in known if key in table["keys"] and key not in details] + [key for key in known if key in details]
        if [key for key in table["keys"] if key in known] != order:
            found.append(f"{name} has its columns in another order: {table['keys']}")
        heads, labels = dict(zip(table["keys"], table["heads"])), {column["key"]: column["label"] for column in expected["columns"]}
        found += [f"{name} calls {key} {heads[key]!r} instead of {labels[key]!r}"
                  for key in known if key in heads and heads[key] != labels[key]]
        rows = rows_of(table)
        if not len(rows) == table["total"] == len(expected["rows"]):
            return [*found, f"{name} shows {len(rows)} of {table['total']} rows instead of {len(expected['rows'])}"]
        return found + [f"{name} row {number} {key}: {shown[key]!r} instead of {wanted.get(key)!r}"
                        for number, (shown, wanted) in enumerate(zip(rows, expected["rows"])) for key in known
                        if key in shown and not is_value(shown[key], wanted[key])]

    def check_tables(self, path, page, batch=None):
        """Every analysis with an answer is on some page, with all its columns, under their names and in their order, and exact values."""
        found = self.shown_tables(page, batch)
        wrong, cells = [], 0
        for table_id in IDS:
            expected = answer(path, table_id, batch)
            if expected is None:
                self.assertNotIn(table_id, found, "analyze has no such table")
                continue
            wrong += self.differences(found.get(table_id), expected)
            cells += len(expected["rows"]) * len(expected["columns"])
        self.assertEqual(wrong[:20], [])
        return cells

    def test_of_a_profile(self):
        path, page = report_files.profiled()
        for batch in (1, 4):
            self.assertGreater(self.check_tables(path, page, batch), 100)

    def test_of_kernels_with_metrics(self):
        path, page = report_files.written(report_files.metrics, "metrics")
        self.assertGreater(self.check_tables(path, page), 1000)

    def test_of_imported_traces(self):
        for name in report_files.IMPORTED:
            with self.subTest(name):
                files = report_files.imported(name)
                if files is None:
                    self.skipTest(f"no real traces in {report_files.DATA}: set XSP_TEST_DATA")
                self.check_tables(*files)

    def test_what_is_not_measured_is_a_dash(self):
        path, page = report_files.written(leveled, "leveled")
        window = self.open(page, "#page=runs")
        table, dashes = window.table("L0"), 0
        for row, wanted in zip(table["rows"], answer(path, "L0", None)["rows"]):
            for key, cell in zip(table["keys"], row):
                if key in wanted:
                    self.assertEqual(cell["text"].strip() == "–", wanted[key] is None, (key, cell))
                    dashes += wanted[key] is None
        self.assertGreater(dashes, 0)

    def test_sorting_is_by_value_and_kept_in_the_url(self):
        path, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=layers")
        rows = answer(path, "A2", 2)["rows"]
        head = window.section("A2").locator('th[data-key="latency_ms"] button')
        for reverse in (True, False):  # the longest come first, before any click
            if not reverse:
                head.click()
                window.frames()
            shown = [float(row["latency_ms"]) for row in rows_of(window.table("A2"))]
            self.assertEqual(shown, sorted((row["latency_ms"] for row in rows), reverse=reverse))
        self.assertEqual(window.section("A2").locator('th[data-key="latency_ms"]').get_attribute("aria-sort"), "ascending")
        window.state()
        window.page.reload()
        window.wait()
        self.assertEqual(window.section("A2").locator('th[data-key="latency_ms"]').get_attribute("aria-sort"), "ascending")

    def test_layers_and_calls_are_by_time_first(self):
        """In neither file is the first layer or call the longest."""
        for page, table, file in (("layers", "A2", report_files.profiled()[1]),
                                  ("kernels", "A8", report_files.written(report_files.many_kernels, "kernels")[1])):
            window = self.open(file, f"#page={page}&x.kernels.tab=A8")
            shown = window.table(table)
            rows = [float(row["latency_ms"]) for row in rows_of(shown)]
            self.assertEqual(rows, sorted(rows, reverse=True))
            self.assertGreater(rows[0], rows[-1])
            command = window.section(table).locator(".command code").inner_text()
            self.assertTrue(command.endswith("--sort latency_ms"), command)

    def test_kernels_have_the_names_of_text_tables(self):
        """Short in the cell, whole in its title and in the panel; the same as `xsp analyze A10` prints."""
        path, page = report_files.written(templates, "templates")
        printed = xsp("analyze", "A10", path, "--format", "markdown", check=0).stdout.decode().replace("\\", "")
        window = self.open(page, "#page=kernels")
        table = window.table("A10")
        at = table["keys"].index("kernel_name")
        cells = [row[at] for row in table["rows"]]
        self.assertEqual(sorted(cell["title"] for cell in cells), sorted(TEMPLATES))
        for cell in cells:
            self.assertNotEqual(cell["text"], cell["title"])
            self.assertIn(f"| {cell['text']} |", printed)
        window.section("A10").get_by_role("link", name=cells[0]["text"], exact=True).click()
        self.assertEqual(window.page.locator(".focus-title").inner_text(), cells[0]["title"])
        self.assertEqual(window.page.locator(".kernel-rows a").first.inner_text(), cells[0]["text"])

    def test_filter_and_copy(self):
        path, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=kernels", permissions=["clipboard-read", "clipboard-write"])
        expected = answer(path, "A10", 2)
        wanted = [row["kernel_name"] for row in expected["rows"] if "kernel_7<" in row["kernel_name"]]
        section = window.section("A10")
        section.get_by_role("searchbox").fill("kernel_7<")
        window.frames()
        self.assertEqual([row["kernel_name"] for row in rows_of(window.table("A10"))], wanted)
        self.assertIn(f"{len(wanted)} of {len(expected['rows'])}", section.inner_text())
        section.get_by_role("button", name=re.compile("^Copy A10")).click()
        section.get_by_role("button", name=re.compile("TSV")).click()
        window.frames(4)
        lines = window.page.evaluate("() => navigator.clipboard.readText()").splitlines()
        keys = lines[0].split("\t")
        self.assertEqual(len(lines) - 1, len(wanted))
        for line in lines[1:]:
            row = dict(zip(keys, line.split("\t")))
            [match] = [one for one in expected["rows"] if one["kernel_name"] == row["kernel_name"]]
            self.assertEqual(float(row["latency_ms"]), match["latency_ms"])

    def copied(self, section, window, what):
        section.get_by_role("button", name=re.compile("^Copy A2")).click()
        section.get_by_role("button", name=re.compile(what)).click()
        window.frames(4)
        return window.page.evaluate("() => navigator.clipboard.readText()")

    def test_copies_keep_names_and_run_no_formula(self):
        path, page = report_files.written(odd_names, "odd")
        window = self.open(page, "#page=layers", permissions=["clipboard-read", "clipboard-write"])
        section = window.section("A2")
        rows = [line.split("\t") for line in self.copied(section, window, "TSV").split("\n")]
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        at = rows[0].index("layer_name")
        self.assertEqual([row[at] for row in rows[1:]], ["'=cmd|' /C calc'!A0", "a b c", '"""q"" x"', "'-1+2", "-3", "f<int, 2>*_"])
        markdown = self.copied(section, window, "Markdown").splitlines()
        self.assertTrue(any(r"f\<int, 2>\*\_" in line for line in markdown), markdown)
        self.assertTrue(any(r"=cmd\|' /C" in line for line in markdown), markdown)
        with window.page.expect_download() as download:
            section.get_by_role("button", name=re.compile("^Copy A2")).click()
            section.get_by_role("button", name=re.compile("CSV")).click()
        with open(download.value.path(), newline="", encoding="utf-8") as file:
            names = [row["layer_name"] for row in csv.DictReader(file)]
        self.assertEqual(names, ["'" + name if name in ("=cmd|' /C calc'!A0", "-1+2") else name for name in ODD_NAMES])

    def test_a_long_table_shows_every_row_once(self):
        path, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=kernels")
        window.page.get_by_role("tab", name="A8").or_(window.page.get_by_role("tab", name=re.compile("call", re.I))).first.click()
        window.frames()
        table = window.table("A8")
        expected = answer(path, "A8", 2)["rows"]
        self.assertGreater(len(expected), 100)
        self.assertEqual([row["kernel_name"] for row in rows_of(table)], [row["kernel_name"] for row in expected])


if __name__ == "__main__":
    unittest.main()
