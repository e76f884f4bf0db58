# SPDX-License-Identifier: Apache-2.0
"""Findings on the report's page, in real Chromium: the rows of `xsp analyze findings` on top of the overview, and their marks in
the flame graph."""
import unittest

import browser
import report_files
from browser import rows_of, violations
from scripted import UNIX_START, Script, xsp_json

US = 1000
LOSS, STEP = "loss (/home/me/loss.py:12)", "step (/home/me/train.py:40)"


def losses(small=12):
    """Steps of 10 ms: matmul takes 6 ms of each, and the function loss calls this many operators of 10 µs, and matmul for 50."""
    script = Script()
    script.experiment("losses", framework="pytorch")
    script.run(1, "M/L", 1)
    script.track(1, "main")
    step = script.context("step", file="/home/me/train.py", line=40)
    loss = script.context("loss", caller=step, file="/home/me/loss.py", line=12)
    matmul = script.context("matmul", caller=step, kind="framework")
    operators = [script.context(f"small{number}", caller=loss, kind="framework") for number in range(small)]
    other = script.context("matmul", caller=loss, kind="framework")
    for number in range(5):
        start = UNIX_START + number * 20_000 * US
        script.span("net", start, 10_000 * US)
        script.span("matmul", start + 6_500 * US, 50 * US, "layer", context=other, tags={"layer_index": 1})
        script.span("matmul", start + 100 * US, 6_000 * US, "layer", context=matmul, tags={"layer_index": 0})
        for place, context in enumerate(operators):
            script.span(f"small{place}", start + (7_000 + 100 * place) * US, 10 * US, "layer", context=context,
                        tags={"layer_index": 2 + place})
    return script


def even():
    """Eleven layers of one length: none takes a large share of the time, and none is small."""
    script = Script()
    script.experiment("even")
    script.run(1, "M/L", 1)
    script.track(1, "main")
    for number in range(5):
        start = UNIX_START + number * 20_000 * US
        script.span("net", start, 10_000 * US)
        for layer in range(11):
            script.span(f"layer{layer}", start + layer * 900 * US, 850 * US, "layer", tags={"layer_index": layer})
    return script


class ReportFindingsTest(browser.BrowserTest):
    def shown(self, fragment="", **options):
        trace, page = report_files.written(losses, "losses")
        return self.open(page, fragment, **options), xsp_json("analyze", "findings", trace, "--json")["rows"]

    def flame(self, window):
        window.page.locator("main#page-flame .flame-frame[data-marked]").first.wait_for()
        window.frames(4)
        return window.page.locator(".flame-frame").first

    def test_rows_of_the_analysis_are_on_the_overview(self):
        window, rows = self.shown("#x.findings=all")
        cards = window.page.locator("[data-finding]")
        self.assertGreaterEqual({row["id"] for row in rows}, {"F1", "F2"})
        self.assertEqual(cards.evaluate_all("(all) => all.map((one) => one.dataset.finding)"), [row["id"] for row in rows])
        for card, row in zip(cards.all_inner_texts(), rows, strict=True):
            for part in (row["severity"], row["title"], row["context"], row["advice"], row["threshold"], row["saving_basis"],
                         f"{row['saving_pct']:.3g} %"):
                self.assertIn(part, card)
        self.assertIn("loss.py:12", next(card for card in cards.all_inner_texts() if "small kernels" in card))
        self.assertEqual(window.page.locator("[data-finding] a").count(), 0)  # source lines are text until wanted

    def test_a_finding_leads_to_its_context(self):
        for rule, around, name, total_us in (("F1", STEP, "matmul", 30_000), ("F2", STEP, LOSS, 850)):
            window, rows = self.shown("#flame=time&select=0-9000000&x.flame.value=count")
            window.page.locator(f"[data-finding={rule}] .finding-place").first.click()
            frame = self.flame(window)
            self.assertEqual(frame.get_attribute("data-total"), str(total_us * US), rule)
            path = window.page.locator(".flame-path button.link").all_inner_texts()
            shown = [text.replace("/home/me/", "") for text in ([around, name] if name != around else [name])]
            self.assertEqual(path, ["all", "net", *shown])
            state = window.state()
            self.assertNotIn("x.flame.finding", state)  # the address has the context
            self.assertIn("x.flame.zoom", state)
            self.assertIn(next(row["title"] for row in rows if row["id"] == rule), self.tip(window, 0))

    def tip(self, window, row, share=0.3):
        """The tooltip of the box in this row of the flame graph."""
        box = window.page.locator(".flame-canvas").first.bounding_box()
        window.page.mouse.move(box["x"] + share * box["width"], box["y"] + 20 * row + 10)
        window.frames()
        return window.page.get_by_role("tooltip").inner_text()

    def test_contexts_with_findings_are_marked(self):
        window, rows = self.shown("#page=flame")
        frame = self.flame(window)
        self.assertEqual(frame.get_attribute("data-marked"), "2")  # matmul in step, and loss
        self.assertIn("has a finding", window.text())
        self.assertIn("F1", self.tip(window, 3, 0.1))  # all, net, step, matmul
        self.assertNotIn("F1", self.tip(window, 1, 0.1))
        pixel = window.page.evaluate(
            """() => { const c = document.querySelector(".flame-canvas"), r = c.width / c.clientWidth;
               return [...c.getContext("2d").getImageData(0.6 * c.width - 9 * r, (3 * 20 + 9.5) * r, 1, 1).data]; }""")
        self.assertLess(sum(pixel[:3]), 120)  # the dot at the end of matmul, 60 % of the width
        window.page.get_by_role("button", name="Bottom-up").click()
        window.frames(4)
        self.assertEqual(self.flame(window).get_attribute("data-marked"), "1")  # loss has no self time
        (row,) = [row for row in rows if row["id"] == "F1"]
        self.assertIn(row["title"], self.tip(window, 1, 0.5))

    def test_a_finding_leads_to_its_places_in_time(self):
        """Those of loss, in each step: 50 µs of matmul, and 12 operators of 10 µs 90 µs apart; steps are 20 ms apart."""
        window, rows = self.shown("#select=0-9000000")
        window.page.locator("[data-finding=F2]").get_by_role("button", name="on the timeline").click()
        bar = window.page.get_by_role("region", name="Finding on the timeline")
        bar.locator("[data-ranges]").wait_for()
        self.assertEqual(bar.locator("[data-ranges]").get_attribute("data-ranges"), str(5 * 13))
        self.assertIn("850 µs", bar.inner_text())
        self.assertIn("loss.py:12", bar.inner_text())
        self.assertNotIn("select", window.state())
        middles = []
        for name in ("Next place of the finding",) * 2 + ("Previous place of the finding",):
            bar.get_by_role("button", name=name).click()
            middles.append(sum(browser.range_ns(window.state()["view"])) // 2 // US)
        self.assertEqual(middles, [6_525, 7_005, 6_525])
        bar.get_by_role("combobox").select_option("")
        bar.locator("[data-ranges]").wait_for(state="detached")
        self.assertNotIn("x.timeline.finding", window.state())

    def test_spans_of_other_contexts_are_faded(self):
        window, rows = self.shown("#page=timeline&view=0-10000000")
        place = [row["id"] for row in rows].index("F2")
        bar = window.page.get_by_role("region", name="Finding on the timeline")

        def pixel():
            """Of matmul in step, which is no part of the finding about loss."""
            window.frames(4)
            return window.page.evaluate("""() => {
              const c = document.querySelector(".timeline canvas"), r = c.width / c.clientWidth, side = 216 * r;
              const copy = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
              copy.getContext("2d").drawImage(c, -side - 0.5 * (c.width - side), -(38 + 19 + 14) * r);
              return [...copy.getContext("2d").getImageData(0, 0, 1, 1).data]; }""")
        before = pixel()
        bar.get_by_role("combobox").select_option(str(place))
        bar.locator("[data-ranges]").wait_for()
        self.assertNotEqual(pixel(), before)
        bar.get_by_role("combobox").select_option("")
        self.assertEqual(pixel(), before)

    def test_one_line_where_there_are_none(self):
        trace, page = report_files.written(even, "even")
        window = self.open(page)
        self.assertIn("No findings at these thresholds.", window.text())
        self.assertEqual(window.page.get_by_role("heading", name="Findings").count(), 0)
        window.open_page("flame")
        self.assertEqual(self.flame(window).get_attribute("data-marked"), "0")
        self.assertNotIn("has a finding", window.text())

    def test_whole_and_accessible_at_every_width(self):
        for size in browser.SIZES:
            for scheme in ("light", "dark"):
                window, _ = self.shown("#x.findings=all", size=size, scheme=scheme)
                self.assertEqual(window.cut_off(), [])
                self.assertEqual(violations(window), [])
                window.open_page("flame")
                self.flame(window)
                self.assertEqual(violations(window), [])


if __name__ == "__main__":
    unittest.main()
