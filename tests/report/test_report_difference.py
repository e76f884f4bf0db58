# SPDX-License-Identifier: Apache-2.0
"""The differential flame graph of the report's page in real Chromium: two runs of one or two files, all figures by hand."""
import functools
import unittest

import browser
import report_files
import scripted
from browser import rows_of
from report_files import report
from scripted import UNIX_START, Script

MS = 10**6


def program(steps, layers, folder, line):
    """Steps, the first a warm-up of 500 ms, in a program that loads for 50 ms; layers of these times, in a function."""
    script = Script()
    script.experiment("train")
    forward = script.context("forward", file=f"{folder}/net.py", line=line)
    paths = {name: script.context(name, caller=forward, kind="framework") for name in layers}
    for run_id, factor in ((1, 1), (2, 2)):
        script.run(run_id, "A/M/L", 1)
        script.track(1, "main", run_id=run_id)
        script.span("main", UNIX_START, 3000 * MS, "application", run_id=run_id)
        script.span("load", UNIX_START, 50 * MS, "application", run_id=run_id)
        for number in range(steps + 1):
            start = UNIX_START + (100 + number * 600) * MS
            script.span(f"step#{number}", start, (500 if number == 0 else 100) * MS, run_id=run_id,
                        tags={"warmup": 1} if number == 0 else {})
            at = start
            for name, duration in layers.items():
                script.span(name, at, duration * MS * factor, "layer", run_id=run_id, context=paths[name])
                at += duration * MS * factor
    return script


@functools.cache
def files():
    """Before: 2 steps; after: 4. conv takes twice as long, relu half, pool is gone, gelu is new, add the same."""
    folder = report_files.folder()
    before = program(2, {"conv": 10, "relu": 8, "pool": 6, "add": 4}, "/old", 7).write(folder / "before.xsp")
    after = program(4, {"conv": 20, "relu": 4, "gelu": 3, "add": 4}, "/new/er", 9).write(folder / "after.xsp")
    return after, before


@functools.cache
def page():
    return report(files(), "difference")


class ReportDifferenceTest(browser.BrowserTest):
    def shown(self, fragment="&x.flame.with=2"):
        window = self.open(page(), f"#page=flame&run=0{fragment}")
        window.page.locator('[data-table="flame.difference"]').wait_for()
        window.frames(4)
        return window

    def differences(self, window, key="context"):
        return {row[key]: row for row in rows_of(window.table("flame.difference"))}

    def test_contexts_of_equal_names_are_compared_per_step(self):
        rows = self.differences(self.shown())
        figures = {name: (float(row["shown_own_ns"]) / MS, float(row["other_own_ns"]) / MS, row["only"]) for name, row in rows.items()}
        forward = "forward (/new/er/net.py:9)"
        self.assertEqual(figures, {
            "main": (0, 0, ""), "step#1…4": (69, 72, ""), forward: (0, 0, ""),
            "conv": (20, 10, ""), "relu": (4, 8, ""), "add": (4, 4, ""), "gelu": (3, 0, "shown"), "pool": (0, 6, "other")})
        changes = {name: row["change_pct"] for name, row in rows.items()}
        self.assertEqual((float(changes["conv"]), float(changes["relu"]), float(changes["add"])), (100, -50, 0))
        self.assertEqual((changes["gelu"], float(changes["pool"])), ("not measured", -100))
        self.assertEqual((float(rows[forward]["shown_ns"]) / MS, float(rows[forward]["other_ns"]) / MS), (31, 28))

    def test_runs_without_their_spans_are_divided_by_all_steps(self):
        """Of merged spans the page has totals of whole runs: 5 steps and 3, the first of 500 ms."""
        window = self.open(report(files(), "merged", "--max-spans", "32"), "#page=flame&run=0&x.flame.with=2")
        window.page.locator('[data-table="flame.difference"]').wait_for()
        self.assertIn("the whole run divided by its 5 steps, with warm-ups", window.text())
        rows = self.differences(window)
        step = rows["step#0…4"]
        self.assertAlmostEqual(float(step["shown_own_ns"]) / MS, (469 + 4 * 69) / 5)
        self.assertAlmostEqual(float(step["other_own_ns"]) / MS, (472 + 2 * 72) / 3)
        self.assertEqual((float(rows["conv"]["shown_own_ns"]) / MS, float(rows["conv"]["other_own_ns"]) / MS), (20, 10))
        self.assertIn("load", rows)

    def test_the_run_is_chosen_and_in_the_address(self):
        window = self.open(page(), "#page=flame&run=0")
        chooser = window.page.get_by_label("Compare with")
        self.assertEqual(chooser.locator("option").all_inner_texts()[1:],
                         [f"{file}: batch 1, A/M/L, run {run}" for file, run in (("after.xsp", 2), ("before.xsp", 1), ("before.xsp", 2))])
        chooser.select_option(label="after.xsp: batch 1, A/M/L, run 2")
        rows = self.differences(window)
        self.assertEqual((float(rows["conv"]["shown_own_ns"]) / MS, float(rows["conv"]["other_own_ns"]) / MS), (20, 40))
        self.assertEqual(window.state()["x.flame.with"], "1")
        chooser.select_option(label="no other run")
        window.page.locator("[data-table=flame]").wait_for()
        self.assertNotIn("x.flame.with", window.state())

    def widths(self, window):
        """Width of each context below "all", by moving the pointer along its row: {first words of the line below}."""
        window.page.locator(".flame-canvas").first.scroll_into_view_if_needed()
        box = window.page.locator(".flame-canvas").first.bounding_box()
        depth, found = round(box["height"] / 20), {}
        for x in range(4, int(box["width"]), 8):
            window.page.mouse.move(box["x"] + x, box["y"] + (depth - 0.5) * 20)
            window.frames()
            name = window.page.locator(".flame-line strong").all_inner_texts()
            if name:
                found[name[0]] = found.get(name[0], 0) + 8 / box["width"]
        return found

    def test_widths_are_of_the_run_shown_or_of_the_other(self):
        for fragment, expected in (("", {"conv": 0.20, "relu": 0.04, "gelu": 0.03, "add": 0.04}),
                                   ("&x.flame.width=other", {"conv": 0.10, "relu": 0.08, "pool": 0.06, "add": 0.04})):
            window = self.shown(f"&x.flame.with=2{fragment}")
            widths = self.widths(window)
            self.assertEqual(set(widths), set(expected), fragment)
            for name, width in expected.items():
                self.assertAlmostEqual(widths[name], width, delta=0.015, msg=f"{name} {fragment}")
            self.assertEqual(window.page.locator("[data-unseen]").get_attribute("data-unseen"), "1")

    def test_colours_follow_the_difference(self):
        """The pixel of a box: red where it is slower, blue where it is faster, grey where it is the same."""
        window = self.shown("&x.flame.with=2&flame=left-heavy")
        row = window.page.evaluate(
            """() => { const c = document.querySelector(".flame-canvas"), y = c.height * (1 - 18 / c.clientHeight);
               return [...c.getContext("2d").getImageData(0, y, c.width, 1).data]; }""")
        warmth = lambda share: row[4 * int(share * len(row) / 4)] - row[4 * int(share * len(row) / 4) + 2]  # red - blue
        self.assertGreater(warmth(0.1), 50)  # conv: 0 … 0.2
        faster, same = sorted((warmth(0.22), warmth(0.26)))  # relu and add are equally heavy
        self.assertLess(faster, -50)
        self.assertLess(abs(same), 12)

    def test_tooltip_has_both_times(self):
        window = self.shown()
        box = window.page.locator(".flame-canvas").first.bounding_box()
        window.page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + box["height"] - 10)
        tip = window.page.get_by_role("tooltip").inner_text()
        for part in ("20 ms", "10 ms", "+10 ms, +100 %"):
            self.assertIn(part, tip)

    def test_bottom_up_compares_names(self):
        rows = self.differences(self.shown("&x.flame.with=2&flame=bottom-up"), "name")
        self.assertEqual((float(rows["conv"]["own_difference_ns"]), float(rows["pool"]["own_difference_ns"])), (10 * MS, -6 * MS))

    def test_accessible_and_whole_at_every_width(self):
        for size in browser.SIZES:
            window = self.open(page(), "#page=flame&run=0&x.flame.with=2", size=size, scheme="dark" if size[0] < 500 else "light")
            window.page.locator('[data-table="flame.difference"]').wait_for()
            window.frames(4)
            self.assertEqual(window.cut_off(), [])
            self.assertEqual(browser.violations(window), [])

    def test_a_page_of_a_comparison(self):
        """It opens on the rows that xsp compare prints, and leads to the flame graph of b against a."""
        after, before = files()
        out = report_files.folder() / "comparison.html"
        scripted.xsp("compare", before, after, "-o", out, "--force")
        window = self.open(out)
        rows = {row["name"]: row for row in rows_of(window.table("compare"))}
        self.assertEqual((float(rows["conv"]["a_ms"]), float(rows["conv"]["b_ms"]), rows["conv"]["verdict"]), (15, 30, "slower"))
        self.assertEqual([row["name"] for row in rows_of(window.table("unpaired.a"))], ["pool"])
        self.assertEqual(window.page.locator("[data-verdict]").get_attribute("data-verdict"), "same")
        self.assertEqual(window.page.locator("main dd").all_inner_texts(), ["before.xsp", "after.xsp"])
        window.page.get_by_role("button", name="flame graph").click()
        window.page.locator('[data-table="flame.difference"]').wait_for()
        self.assertEqual(float(self.differences(window)["conv"]["change_pct"]), 100)
        self.assertEqual(browser.violations(window), [])
        for size in ((1440, 900), (390, 844)):
            small = self.open(out, size=size)
            self.assertEqual((small.cut_off(), browser.violations(small)), ([], []))
        self.assertNotIn("Comparison", self.shown().page.locator("nav").inner_text())

    def test_one_run_has_nothing_to_compare_with(self):
        window = self.open(report_files.written(report_files.many_kernels, "kernels")[1], "#page=flame")
        window.page.locator("[data-table=flame]").wait_for()
        self.assertEqual(window.page.get_by_label("Compare with").count(), 0)


if __name__ == "__main__":
    unittest.main()
