# SPDX-License-Identifier: Apache-2.0
"""The report's pages of spans at the limits, in real Chromium: times years apart, spans of no length, links that ask for
nonsense, held keys, and sums over spans that overlap, against SQL on the same file."""
import re
import unittest

import browser
import report_files
from browser import rows_of
from scripted import UNIX_START, Script, asynchronous, xsp_json

YEAR_NS = 365 * 86_400 * 10 ** 9


def decade():
    """A span of ten years, and others of a nanosecond and of none in it."""
    script = Script()
    script.experiment("decade")
    script.run(1, "M/L", 1)
    script.track(1, "main")
    start = UNIX_START - 5 * YEAR_NS
    script.span("decade", start, 10 * YEAR_NS)
    script.span("first", start, 0, "layer")
    script.span("short", start + 5 * YEAR_NS, 1, "layer")
    return script


def instants():
    """Spans of no length: at the ends of the one around them, and inside."""
    script = Script()
    script.experiment("instants")
    script.run(1, "M/L", 1)
    script.track(1, "main")
    script.span("net", UNIX_START, 1000)
    for at in (0, 10, 20, 1000):
        script.span(f"at {at}", UNIX_START + at, 0, "layer")
    return script


def union_ns(intervals):
    covered, end = 0, 0
    for start, stop in sorted(intervals):
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    return covered


class ReportLimitsTest(browser.BrowserTest):
    def test_years_and_nanoseconds(self):
        _, page = report_files.written(decade, "decade")
        middle = 5 * YEAR_NS
        for fragment in ("#page=timeline&span=2", f"#page=timeline&view={middle}-{middle + 64}",
                         f"#page=flame&flame=time&view={middle}-{middle + 64}"):
            with self.subTest(fragment):
                window = self.open(page, fragment)
                for _ in range(2):
                    window.page.keyboard.press("f")
                window.page.keyboard.down("w")
                window.frames(20)
                window.page.keyboard.up("w")
                window.frames(4)
                self.assertIn("page", window.state())

    def test_links_that_ask_for_nonsense(self):
        _, page = report_files.written(instants, "instants")
        for wish in ("span=1.5", "span=99999", "span=-3", "span=x", "view=5-5", "view=9-1", "run=77",
                     "view=100000000000000000-100000000000000020", "x.timeline.mark=abc", "x.flame.zoom=9.x.-1",
                     "x.flame.name=1e9", "x.flame.track=-1", "x.flame.value=x"):
            for name in ("timeline", "flame"):
                with self.subTest(f"{name} {wish}"):
                    window = self.open(page, f"#page={name}&{wish}")
                    self.assertGreater(len(window.text()), 40)
                    self.assertEqual(window.page.get_by_role("alert").count(), 0)
                    window.close()

    def test_spans_of_no_length_count_where_they_start(self):
        _, page = report_files.written(instants, "instants")
        for range_ns, wanted in (((0, 10), {"net", "at 0"}), ((10, 20), {"net", "at 10"}), ((1, 9), {"net"}),
                                 ((0, 2000), {"net", "at 0", "at 10", "at 20", "at 1000"})):
            window = self.open(page, f"#page=timeline&select={range_ns[0]}-{range_ns[1]}")
            self.assertEqual({row["name"] for row in rows_of(window.table("groups"))}, wanted)
            window.go(f"#page=flame&select={range_ns[0]}-{range_ns[1]}&x.flame.value=count")
            window.page.locator("[data-total]").first.wait_for()
            reported = {row["context"]: row["own_spans"] for row in rows_of(window.table("flame"))}
            self.assertEqual({name for name, spans in reported.items() if spans != "0"}, wanted)

    def test_own_times_are_those_of_sql(self):
        for make, name in ((asynchronous, "asynchronous"), (instants, "instants")):
            path, page = report_files.written(make, name)
            own = {row["span_id"]: row["self_ns"] for row in xsp_json("sql", path, "select * from span", "--json")}
            window = self.open(page, "#page=timeline")
            for place in range(5):
                window.go(f"#page=timeline&span={place}")
                details = window.page.get_by_role("region", name="Selected span")
                details.locator("code").wait_for()
                span_id = int(re.search(r"span_id = (\d+)", details.locator("code").inner_text())[1])
                title = details.evaluate("""(one) => [...one.querySelectorAll("dt")].find((term) => term.innerText === "own time")
                    .parentElement.querySelector("dd").title""")
                self.assertEqual(int(title.split(" ")[0]), own[span_id] or 0)

    def test_spans_that_overlap_are_busy_once(self):
        path, page = report_files.written(asynchronous, "asynchronous")
        rows = xsp_json("sql", path, "select * from span where track_id = 2", "--json")
        first = xsp_json("sql", path, "select min(start_ns) first from span where track_id = 1", "--json")[0]["first"]
        for range_ns in (None, (2500, 8700)):
            low, high = range_ns or (0, 1 << 62)
            window = self.open(page, "#page=timeline&x.timeline.table=tracks" +
                               ("" if range_ns is None else f"&select={low}-{high}"))
            reported = [row for row in rows_of(window.table("tracks")) if row["track"].startswith("device")]
            self.assertEqual(len(reported), 1, reported)
            times = [(max(low, row["start_ns"] - first), min(high, row["start_ns"] - first + row["duration_ns"])) for row in rows]
            wanted = union_ns([one for one in times if one[0] < one[1]])
            self.assertEqual((float(reported[0]["any_ns"]), float(reported[0]["kernel_ns"])), (wanted, wanted))

    def test_a_held_key_switches_once(self):
        _, page = report_files.written(asynchronous, "asynchronous")
        window = self.open(page, "#page=timeline")
        for _ in range(4):  # what a keyboard sends while the key is down
            window.page.keyboard.down("l")
        window.page.keyboard.up("l")
        self.assertEqual(window.state().get("x.timeline.arrows"), "all")

    def test_back_finds_the_page_as_it_was_left(self):
        _, page = report_files.written(asynchronous, "asynchronous")
        window = self.open(page, "#page=timeline")
        window.page.evaluate("""() => { for (const key of ["l", "m", "2", "3"])
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})); }""")
        window.page.locator("main#page-flame").wait_for()
        window.page.go_back()
        window.page.locator("main#page-timeline").wait_for()
        self.assertEqual(window.state().get("x.timeline.arrows"), "all")

    def test_escape_gives_up_a_drag(self):
        _, page = report_files.written(asynchronous, "asynchronous")
        window = self.open(page, "#page=timeline&select=100-200")
        box = window.page.get_by_role("application").first.bounding_box()
        mouse, y = window.page.mouse, box["y"] + 60
        mouse.move(box["x"] + box["width"] * 0.5, y)
        mouse.down()
        mouse.move(box["x"] + box["width"] * 0.6, y, steps=3)
        window.page.keyboard.press("Escape")
        mouse.move(box["x"] + box["width"] * 0.7, y, steps=3)
        mouse.up()
        self.assertEqual(window.state()["select"], "100-200")

    def test_escape_leaves_the_search(self):
        """Once is enough, and what was found stays marked; then the page has the keys again."""
        _, page = report_files.written(asynchronous, "asynchronous")
        window = self.open(page, "#page=timeline")
        window.page.keyboard.press("/")
        window.page.keyboard.type("graph")
        window.page.keyboard.press("Escape")
        self.assertEqual(window.page.evaluate("() => document.activeElement.tagName"), "BODY")
        self.assertEqual(window.state()["find"], "graph")
        window.page.keyboard.press("1")
        window.page.locator("main#page-overview").wait_for()

    def test_keys_act_without_focus_and_on_other_keyboards(self):
        """The flame graph's keys too, capitals or not; where another script is typed, the keys in the same places."""
        _, page = report_files.written(asynchronous, "asynchronous")
        window = self.open(page, "#page=flame&flame=time")
        window.page.locator("canvas.flame-canvas").wait_for()
        window.page.keyboard.press("W")
        self.assertIn("view", window.state())
        window.page.keyboard.press("0")
        self.assertEqual(window.state()["view"], "all")  # the page opened on the predictions
        window.go("#page=timeline")
        window.page.evaluate("""async () => {
          const send = (type) => document.body.dispatchEvent(new KeyboardEvent(type, {key: "\u0446", code: "KeyW", bubbles: true}));
          send("keydown");
          for (let i = 0; i < 12; i++) await new Promise(requestAnimationFrame);
          send("keyup"); }""")
        window.frames(12)
        self.assertIn("view", window.state())

    def test_a_double_click_on_a_context_leads_to_its_span(self):
        """The first click shows it alone: the graph is lower then, and the second click may miss it."""
        _, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=flame")
        canvas = window.page.locator("canvas.flame-canvas")
        canvas.wait_for()
        window.frames(4)
        box = canvas.bounding_box()
        window.page.mouse.dblclick(box["x"] + box["width"] * 0.5, box["y"] + 50)
        window.page.locator("main#page-timeline").wait_for()
        self.assertIn("span", window.state())


if __name__ == "__main__":
    unittest.main()
