# SPDX-License-Identifier: Apache-2.0
"""Links from source lines of the report's page to VS Code, in real Chromium: none before the reader wants them, and
remembered for one file only."""
import shutil
import unittest

import browser
import report_files
from browser import rows_of
from scripted import UNIX_START, Script

LINK = "vscode://file/home/me/my%20net%23.py:9"


def functions():
    """main, whose file has a relative path, calls forward, whose path is absolute; forward calls an operator."""
    script = Script()
    script.experiment()
    script.run(1, "A/L", 1)
    script.track(1, "main")
    main = script.context("main", file="train.py", line=3)
    forward = script.context("forward", caller=main, file="/home/me/my net#.py", line=9)
    conv = script.context("conv", caller=forward, kind="framework")
    script.span("program", UNIX_START, 1000, level="application")
    script.span("conv", UNIX_START + 100, 300, level="layer", context=conv)
    return script


class ReportSourceTest(browser.BrowserTest):
    def page_of(self, name):
        """A copy of its own for each test: the browser remembers by path."""
        return shutil.copy(report_files.written(functions, "functions")[1], report_files.folder() / f"{name}.html")

    def links(self, window):
        window.page.locator("[data-table=flame]").wait_for()
        window.frames(4)
        return window.page.locator("[data-table=flame] a").evaluate_all("(all) => all.map((one) => one.href)")

    def switch(self, window):
        window.page.keyboard.press("?")
        return window.page.get_by_label("Source lines are links")

    def test_lines_are_text_until_links_are_wanted(self):
        window = self.open(self.page_of("text"), f"#page=flame&{report_files.flame_zoom('program')}")
        self.assertEqual(self.links(window), [])
        rows = {row["context"]: row["source"] for row in rows_of(window.table("flame"))}
        self.assertEqual(rows["conv"], "/home/me/my net#.py:9")  # of its nearest caller
        self.assertEqual(rows["program"], "not measured")
        self.assertFalse(self.switch(window).is_checked())
        self.assertEqual(browser.violations(window), [])

    def test_links_that_are_switched_on_are_remembered_for_this_file(self):
        page = self.page_of("links")
        window = self.open(page, "#page=flame")
        self.switch(window).check()
        window.page.keyboard.press("Escape")
        self.assertEqual(self.links(window), [LINK, LINK])  # forward and conv; train.py's folder is not known
        self.assertFalse(any("link" in key for key in window.state()))
        window.page.reload()
        window.wait()
        self.assertEqual(self.links(window), [LINK, LINK])
        # Another file in the same browser has none.
        window.url = self.page_of("mailed").resolve().as_uri()
        window.page.goto(window.url + "#page=flame")
        window.wait()
        self.assertEqual(self.links(window), [])

    def test_a_file_without_source_lines_has_no_switch(self):
        window = self.open(report_files.written(report_files.many_kernels, "kernels")[1], "#page=flame")
        self.assertEqual(self.switch(window).count(), 0)
        self.assertEqual(window.page.get_by_role("heading", name="Keys").count(), 1)


if __name__ == "__main__":
    unittest.main()
