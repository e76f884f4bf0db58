# SPDX-License-Identifier: Apache-2.0
"""The page without data, xsp.html: an .xsp file that is given to it in real Chromium shows the same spans, by every column, as the
page that xsp report makes of it. Broken and foreign files are refused in one line."""
import json
import os
import pathlib
import sqlite3
import unittest

import browser
import report_files
from scripted import UNIX_START, Script

PAGE = pathlib.Path(os.environ["XSP_SOURCE"]) / "answers" / "report" / "page" / "template.html"
PAGES = ("overview", "timeline", "flame", "layers", "kernels", "runs")


def crossing():
    """Everything that lays spans out: lanes that overlap, depths, processes, a device, open spans, times far apart."""
    script = Script()
    script.experiment("crossing")
    script.run(1, "A/M/L/K", 4)
    script.track(1, "main", process=7, thread=7)
    script.track(2, None, process=7, device=0, stream=3)
    for step in range(70):
        start = UNIX_START + step * 10_000_000_000
        script.span(f"step {step}", start, 9_000_000_000)
        layer = script.span("conv", start + 5, 4_000_000_000, "layer", tags={"layer_index": 0})
        script.span("relu", start + 1_000_000_000, 5_000_000_001, "layer")
        script.span("launch", start + 10, 100, "kernel", kind="launch", correlation=step + 1, parent=layer)
        script.span("sgemm", start + 500, 2_000_000_000, "kernel", track=2, kind="execution", correlation=step + 1)
        script.span("sgemm", start + 700, 3_000_000_000, "kernel", track=2, kind="execution")
    return script


def many():
    """More rows than a chunk has, and texts longer than a page of SQLite's."""
    script = Script()
    script.experiment("many")
    script.run(1, "A/M", 1)
    script.track(1, "main")
    for number in range(70_000):
        script.span("a" * 9000 if number == 3 else f"range {number % 90}", UNIX_START + number * 1000, 900, "application")
    return script


class ReportOpenedTest(browser.BrowserTest):
    def given(self, path):
        window = self.open(PAGE)
        window.page.locator("input[type=file]").set_input_files(path)
        return window

    def events(self, window, run):
        """What Chrome's form has of a run: made from all columns."""
        window.go(f"#page=timeline&run={run}")
        window.page.get_by_role("button", name="Export").click()
        with window.page.expect_download() as download:
            window.page.get_by_role("button", name="Chrome").click()
        events = json.loads(pathlib.Path(download.value.path()).read_text())["traceEvents"]
        return [event for event in events if event["name"] != "process_name"]

    def check_same(self, path, page, runs=(0,)):
        here, there = self.given(path), self.open(page, "#page=timeline")
        here.page.locator("main#page-timeline:not([aria-busy=true])").wait_for()
        for run in runs:
            mine, theirs = self.events(here, run), self.events(there, run)
            self.assertEqual(mine, theirs)
            self.assertGreater(len(mine), 3)
        return here

    def test_spans_are_those_of_the_report(self):
        path, page = report_files.written(crossing, "opened_crossing")
        window = self.check_same(path, page)
        for name in PAGES:
            window.go(f"#page={name}")
            self.assertEqual(window.cut_off(), [], name)
        self.assertIn("xsp report FILE", window.text() + window.page.locator("footer").inner_text())

    def test_chunks_and_long_rows(self):
        self.check_same(*report_files.written(many, "opened_many"))

    def test_runs_of_a_profile(self):
        path, page = report_files.profiled()
        runs = sqlite3.connect(path).execute("select count(*) from run").fetchone()[0]
        self.check_same(path, page, range(0, runs, 7))

    def test_no_xsp_file(self):
        path, _ = report_files.written(crossing, "opened_crossing")
        whole = path.read_bytes()
        folder = report_files.folder()
        other = sqlite3.connect(folder / "other.db")
        other.execute("create table x(y)")
        other.commit()
        newer = bytearray(whole)
        newer[60:64] = (9).to_bytes(4, "big")
        for name, data, said in (("text.xsp", b"hello", "not an .xsp file"), ("cut.xsp", whole[:len(whole) // 2], "not a whole .xsp file"),
                                 ("other.xsp", (folder / "other.db").read_bytes(), "not one of xsp"), ("newer.xsp", newer, "format 9")):
            (folder / name).write_bytes(data)
            window = self.given(folder / name)
            window.page.locator("[role=status]").get_by_text(said).wait_for()
            window.page.locator("input[type=file]").set_input_files(path) # and the next one is taken
            window.page.locator("main#page-timeline").wait_for()

    def test_a_damaged_file_ends_in_a_message(self):
        """Bytes anywhere in the file: it is shown, or refused in a line."""
        path, _ = report_files.written(crossing, "opened_crossing")
        whole = path.read_bytes()
        damaged = report_files.folder() / "damaged.xsp"
        for place in range(120, len(whole), len(whole) // 12):
            damaged.write_bytes(whole[:place] + bytes(byte ^ 0xa5 for byte in whole[place:place + 40]) + whole[place + 40:])
            window = self.given(damaged)
            window.page.locator("main#page-timeline, [role=alert]").or_(
                window.page.locator("[role=status]").get_by_text("damaged.xsp: ")).first.wait_for()
            window.close()


if __name__ == "__main__":
    unittest.main()
