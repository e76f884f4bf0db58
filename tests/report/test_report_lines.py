# SPDX-License-Identifier: Apache-2.0
"""The report's page of lines in real Chromium: source files as they are on this machine with the figures of A22, where they come
from and where they do not, and the ways from a line to the flame graph, the timeline and back."""
import os
import platform
import re
import unittest
import zlib

import browser
import report_files
from browser import rows_of
from scripted import UNIX_START, Script, xsp, xsp_json

MS = 1_000_000
SOURCE = "import time\n" + "\n" * 40 + "def load():\n    time.sleep(1)  # <b>&amp;\n\ndef step():\n    conv()\n"
SLEEP, CONV = 43, 46


def folder():
    made = report_files.folder() / "lines"
    made.mkdir(exist_ok=True)
    return made


def sampled(name, host=None, changed=False, text=SOURCE, ending=".py"):
    """A trace of a program whose line 43 waits and whose line 46 computes, and its source file; (trace, source)."""
    source = folder() / f"{name}{ending}"
    source.write_text(text)
    written_s = UNIX_START // 10**9 + (1 if changed else -1)
    os.utime(source, (written_s, written_s))
    script = Script()
    script.system(host=host or platform.node())
    script.experiment()
    script.run(1, "A/M/L", 1)
    script.track(1, "python3")
    load = script.context("load", file=str(source), line=SLEEP)
    step = script.context("step", file=str(source), line=CONV)
    conv = script.context("conv", caller=step, kind="framework")
    script.span("program", UNIX_START, 1000 * MS, "application")
    for number in range(4):
        start = UNIX_START + number * 200 * MS
        script.span("training step", start, 200 * MS)
        script.span("conv", start, 90 * MS + number, "layer", context=conv)
        script.sample("cpu", start + 45 * MS, 90 * MS, conv)
        script.sample("sleep", start + 199 * MS, 100 * MS, load)
    return script.write(folder() / f"{name}.xsp"), source


class ReportLinesTest(browser.BrowserTest):
    def lines(self, name, *options, fragment="", **facts):
        self.trace, self.source = sampled(name, **facts)
        return self.open(report_files.report(self.trace, f"lines-{name}", *options), "#page=lines" + fragment)

    def shown(self, window):
        """Texts of the lines in the document, by number."""
        return {int(row.get_attribute("data-line")): row.locator("td.code-text").inner_text()
                for row in window.page.locator("tr[data-line]").all()}

    def note(self, window):
        return window.page.locator(".code-panel .note").inner_text()

    def test_lines_have_the_figures_of_the_analysis(self):
        window = self.lines("figures", fragment=f"&x.lines.line={SLEEP}")
        answer = xsp_json("analyze", "A22", self.trace, "--json")
        labels = {column["key"]: column["label"] for column in answer["columns"]}
        rows = {row["line"]: row for row in answer["rows"]}
        for line in (SLEEP, CONV):
            cells = window.page.locator(f"tr[data-line='{line}'] td[title]").all()
            titles = [cell.get_attribute("title") for cell in cells]
            keys = ("time_ms", "python_ms", "native_ms", "operator_ms", "waiting_ms")
            self.assertEqual([float(title.removesuffix(" ms")) for title in titles[:5]], [rows[line][key] for key in keys])
        self.assertEqual(window.page.locator(".code-box th[scope=col]").all_inner_texts(),
                         ["line", *(f"{labels[key]} ms" for key in keys)])
        self.assertEqual(self.shown(window)[SLEEP], "    time.sleep(1)  # <b>&amp;")
        self.assertIn(f"{zlib.crc32(SOURCE.encode()):08x}", window.text())
        self.assertEqual(window.page.locator("tr.is-hot").count(), 2)
        self.assertEqual(window.page.locator(".code-panel .note").count(), 0)
        self.assertEqual(browser.violations(window) + window.cut_off(), [])

    def test_lines_without_time_open(self):
        window = self.lines("folds")
        self.assertNotIn(2, self.shown(window))
        window.page.get_by_role("button", name="36 lines without time").click()
        self.assertEqual(self.shown(window)[1], "import time")
        self.assertEqual(len(self.shown(window)), CONV)

    def test_from_a_line_to_contexts_and_spans(self):
        window = self.lines("ways", fragment=f"&x.lines.line={CONV}")
        window.page.get_by_role("button", name="Its samples in the flame graph").click()
        window.page.locator("main#page-flame").wait_for()
        figure = window.page.get_by_role("region", name="Flame graph")
        self.assertEqual(figure.get_attribute("data-value"), "cpu")
        self.assertIn("step", window.page.get_by_role("navigation").last.inner_text())
        window.page.go_back()
        window.page.get_by_role("button", name="Its longest span").click()
        window.page.locator("main#page-timeline").wait_for()
        details = window.page.get_by_role("region", name="Selected span")
        self.assertIn("90 ms", details.inner_text())
        details.get_by_role("button", name=f"{self.source.name}:{CONV}").click()  # and back
        window.page.locator("main#page-lines").wait_for()
        self.assertEqual(window.page.locator("tr.is-marked").get_attribute("data-line"), str(CONV))

    def test_a_row_of_the_table_leads_to_its_line(self):
        window = self.lines("rows")
        table = window.table("A22")
        labels = {column["key"]: column["label"] for column in xsp_json("analyze", "A22", self.trace, "--json")["columns"]}
        self.assertEqual(table["heads"], [labels[key] for key in table["keys"]])
        row = next(row for row in rows_of(table) if row["line"] == str(SLEEP))
        self.assertEqual(row["file"], str(self.source))
        window.section("A22").get_by_role("button", name=str(SLEEP), exact=True).click()
        region = window.page.get_by_role("region", name="Selected line")
        self.assertIn("of the program", region.inner_text())

    def test_what_changed_since_the_run_is_said(self):
        window = self.lines("changed", changed=True)
        self.assertIn("changed since", self.note(window))
        self.assertIn(SLEEP, self.shown(window))

    def test_what_is_not_on_the_page_and_why(self):
        for name, facts, why in (("elsewhere", {"host": "another-machine"}, "another machine"),
                                 ("large", {"text": SOURCE + "#" * (600 << 10)}, "too large")):
            window = self.lines(name, **facts)
            self.assertIn(why, self.note(window))
            self.assertEqual(self.shown(window), {})
        window = self.lines("unwanted", "--no-source")
        self.assertEqual((self.note(window), self.shown(window)), ("The source is not on this page.", {}))

    def test_without_samples_the_page_has_the_reason(self):
        window = self.open(report_files.written(report_files.many_kernels, "kernels")[1], "#page=lines")
        self.assertIn("no samples of threads", window.text())


class SourceFilesTest(unittest.TestCase):
    """Without a browser: which files of this machine a page may hold. Their names come from a trace, which may be a stranger's."""

    def assert_left_out(self, path, text, page):
        self.assertNotIn(text, page)
        self.assertIsNone(re.search(r'id="xsp-code"', page), path)

    def test_only_source_files_are_opened(self):
        for ending in ("", ".pem", ".env"):
            trace, source = sampled(f"secret{ending.replace('.', '-')}", ending=ending)
            page = report_files.report(trace, "secret").read_text()
            self.assert_left_out(source, "time.sleep", page)

    def test_no_server_gives_out_source(self):
        trace, _ = sampled("served")
        target = folder() / "served.parts"
        xsp("report", trace, "--parts", "-o", target, "--force", check=0)
        parts = target.read_bytes()
        self.assertIn(b"document\0\0", parts)
        self.assertNotIn(b"code\0\0", parts)


if __name__ == "__main__":
    unittest.main()
