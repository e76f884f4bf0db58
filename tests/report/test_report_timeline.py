# SPDX-License-Identifier: Apache-2.0
"""The timeline of the report's page in real Chromium: zoom and pan by keys and wheel, the view in the URL, and search,
selected ranges and selected spans, against SQL on the same file."""
import collections
import re
import unittest

import browser
import report_files
from browser import range_ns, rows_of
from scripted import UNIX_START, Script, asynchronous, xsp_json


def overlapping():
    """Launches of 10 µs; one execution starts 4 µs before its launch has returned, one 7 µs after it."""
    script = Script()
    script.experiment("overlapping")
    script.run(1, "M/L/K", 1)
    script.track(1, "main")
    script.track(2, "stream", thread=None, device=0, stream=1)
    script.span("net", UNIX_START, 10**6)
    for number, begin in ((1, 6_000), (2, 17_000)):
        at = UNIX_START + number * 100_000
        script.span(f"launch {number}", at, 10_000, "kernel", "launch", correlation=number, category="api")
        script.span(f"kernel {number}", at + begin, 50_000, "kernel", "execution", track=2, correlation=number,
                    category="kernel")
    return script


def training():
    """A step of 1 ms with operators at its two ends: nothing is between aten::mul and its backward operator."""
    script = Script()
    script.experiment("training")
    script.run(1, "M/L", 1)
    script.track(1, "main", thread=7)
    script.span("training step", UNIX_START, 10**6)
    for name, start, duration, tags in (("aten::add", 50_000, 10_000, {}),
                                        ("aten::mul", 100_000, 10_000, {"sequence": 5, "module": "scale"}),
                                        ("MulBackward0", 900_000, 30_000, {"sequence": 5, "forward_thread": 7})):
        script.span(name, UNIX_START + start, duration, "layer", tags=tags)
    return script


def with_counters():
    """A run of 1 s: the machine is busy in its second half, a thread all the time; a quota that is never used up."""
    script = Script()
    script.experiment("counted")
    script.run(1, "M", 1)
    script.track(1, "main")
    second = 10**9
    script.span("net", UNIX_START, second)
    ends = UNIX_START, UNIX_START + second // 2, UNIX_START + second
    script.counter("busy_ns", list(zip(ends, (0, 0, second))), total=True)
    script.counter("rss_bytes", list(zip(ends, (2_000_000, 4_000_000, 4_000_000))), process=100)
    script.counter("cgroup_throttled_ns", list(zip(ends, (0, 0, 0))), total=True)
    script.counter("cpu_ns", list(zip(ends, (0, second // 2, second))), total=True, process=100, thread=100)
    script.counter("run_queue_ns", list(zip(ends, (0, 0, 1000))), total=True, process=100, thread=100)
    return script


# Of a canvas: how many pixels of the row of a counter (its middle) are filled in the first and in the second half of the run.
FILLED = """([row, rows]) => {
  const canvas = document.querySelector(".timeline-counters canvas"), { width, height } = canvas;
  const side = Math.round((216 / canvas.clientWidth) * width), half = (width - side) >> 1;
  const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(side, Math.floor(((row + 0.6) / rows) * height), 2 * half, 1).data;
  const alpha = Array.from({ length: 2 * half }, (_, i) => pixels[4 * i + 3] > 0);
  return [alpha.slice(5, half - 5), alpha.slice(half + 5, -10)].map((part) => part.filter(Boolean).length / part.length);
}"""

MIDDLE_OF_CANVAS = """() => {
  const canvas = document.querySelector(".timeline canvas"), { width, height } = canvas;
  const copy = Object.assign(document.createElement("canvas"), { width: Math.floor(0.1 * width), height });
  copy.getContext("2d").drawImage(canvas, -Math.floor(0.5 * width), 0);
  return copy.toDataURL();
}"""


# In the ruler's row of observations: how many pixels of the second half are at least half as dark as those of the first tenth.
SHADED = """() => {
  const canvas = document.querySelector(".timeline canvas"), { width, height } = canvas, scale = width / canvas.clientWidth;
  const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const side = Math.round(216 * scale), wide = width - side, row = copy.getImageData(side, Math.round(31 * scale), wide, 1).data;
  const between = 4 * Math.round(0.15 * wide), band = 4 * Math.round(0.08 * wide);
  const difference = (at) => [0, 1, 2, 3].reduce((sum, i) => sum + Math.abs(row[at + i] - row[between + i]), 0);
  return Array.from({ length: wide >> 1 }, (_, i) => difference(4 * ((wide >> 1) + i))).filter((it) => 2 * it >= difference(band) && it > 0).length;
}"""


def thin_observations():
    """One of 100 ms, and from 200 ms on 200 of 1 ms each 4 ms: of about one pixel."""
    script = Script()
    script.experiment()
    script.run(1, "M")
    script.track(1)
    for start_ms, duration_ms in ((0, 100), *((200 + 4 * i, 1) for i in range(200))):
        script.span("predict", UNIX_START + start_ms * 1_000_000, duration_ms * 1_000_000)
    return script


class ReportTimelineTest(browser.BrowserTest):
    def timeline(self, fragment="", files=None, **options):
        self.path, page = files or report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=timeline" + fragment, **options)
        self.canvas = window.page.get_by_role("application").first
        return window

    def sql(self, query):
        return xsp_json("sql", self.path, query, "--json")

    def spans(self, run=1):
        """Rows of table span as the page counts them: times from the run's first start, without other clocks."""
        rows = self.sql("select s.* from span s join track t using (run_id, track_id) "
                        f"where run_id = {run} and t.clock is null")
        first = min(row["start_ns"] for row in rows)
        for row in rows:
            row["from"], row["to"] = row["start_ns"] - first, row["start_ns"] - first + (row["duration_ns"] or 0)
        return rows

    def view(self, window):
        state = window.state()
        return range_ns(state["view"]) if "view" in state else None

    def test_counters_over_time(self):
        window = self.timeline(files=report_files.written(with_counters, "counters"))
        counters = window.page.locator(".timeline-counters")
        self.assertEqual(counters.locator("canvas").get_attribute("aria-label"),
                         "Counters over time: busy up to 200 %; rss up to 4 MB")
        window.frames(2)
        first, second = window.page.evaluate(FILLED, [0, 2])
        self.assertEqual((first, second), (0, 1))
        window.go("#page=timeline&view=0-400000000")
        window.frames(4)
        self.assertEqual(window.page.evaluate(FILLED, [0, 2]), [0, 0])
        counters.get_by_role("button", name="show 1 counter of threads").click()
        window.frames(2)
        self.assertIn("cpu, thread 100 up to 100 %", counters.locator("canvas").get_attribute("aria-label"))
        picture = 'document.querySelector(".timeline-counters canvas").toDataURL()'
        away, box = window.page.evaluate(picture), counters.locator("canvas").bounding_box()
        window.page.mouse.move(box["x"] + 300, box["y"] + 10)
        window.frames(2)
        self.assertNotEqual(window.page.evaluate(picture), away)  # a line, and the values at its time

    def test_thin_observations_are_shaded(self):
        window = self.timeline(files=report_files.written(thin_observations, "thin"))
        window.frames(4)
        self.assertGreater(window.page.evaluate(SHADED), 100)

    def test_keys_zoom_and_pan(self):
        window = self.timeline()
        self.assertIsNone(self.view(window))
        self.canvas.hover()
        window.page.keyboard.down("w")
        window.frames(12)
        window.page.keyboard.up("w")
        window.frames(20)
        zoomed = self.view(window)
        whole = max(span["to"] for span in self.spans())
        self.assertLess(zoomed[1] - zoomed[0], 0.95 * whole)
        window.page.keyboard.down("d")
        window.frames(12)
        window.page.keyboard.up("d")
        window.frames(20)
        panned = self.view(window)
        self.assertGreater(panned[0], zoomed[0])
        self.assertAlmostEqual((panned[1] - panned[0]) / (zoomed[1] - zoomed[0]), 1, places=3)
        window.page.keyboard.down("s")
        window.frames(12)
        window.page.keyboard.up("s")
        window.frames(20)
        wider = self.view(window)
        self.assertTrue(wider is None or wider[1] - wider[0] > panned[1] - panned[0])
        window.page.keyboard.press("0")
        self.assertIsNone(self.view(window))

    def test_wheel_zooms_with_control(self):
        window = self.timeline()
        self.canvas.hover()
        window.page.keyboard.down("Control")
        window.page.mouse.wheel(0, -400)
        window.page.keyboard.up("Control")
        window.frames(20)
        zoomed = self.view(window)
        self.assertIsNotNone(zoomed)
        self.assertLess(zoomed[1] - zoomed[0], max(span["to"] for span in self.spans()))

    def test_the_url_restores_everything(self):
        fragment = "&view=1000000-3590000000&select=2000000-600000000&span=3&find=kernel_1"
        window = self.timeline(fragment)
        before = window.state()
        self.assertEqual((before["view"], before["select"], before["span"], before["find"]),
                         ("1000000-3590000000", "2000000-600000000", "3", "kernel_1"))
        details = window.page.get_by_role("region", name="Selected span").inner_text()
        window.page.reload()
        window.wait()
        self.assertEqual(window.state(), before)
        self.assertEqual(window.page.get_by_role("region", name="Selected span").inner_text(), details)
        self.assertEqual(window.page.get_by_role("search").get_by_role("searchbox").input_value(), "kernel_1")

    def test_search_finds_what_sql_finds(self):
        for files in (report_files.written(report_files.many_kernels, "kernels"), report_files.imported("kineto")):
            if files is None:
                continue
            window = self.timeline(files=files)
            for wanted in ("kernel", "_1", "conv", "NET", "nothing of this name"):
                spans = self.spans()
                hits = [span for span in spans if wanted.lower() in span["name"].lower()]
                window.page.get_by_role("search").get_by_role("searchbox").fill(wanted)
                window.frames()
                reported = window.page.get_by_role("search").get_by_role("status").inner_text()
                if not hits:
                    self.assertIn("no span", reported)
                    continue
                self.assertTrue(reported.startswith(f"{len(hits):,} span"), f"{reported!r} instead of {len(hits)}")
                time_of = lambda rows: sum(span["duration_ns"] or 0 for span in rows if span["kind"] != "launch")
                levels = {span["level"] for span in hits if (span["duration_ns"] or 0) > 0 and span["kind"] != "launch"}
                share = 100 * time_of(hits) / max(1, time_of([span for span in spans if span["level"] in levels]))
                self.assertAlmostEqual(float(re.search(r"([0-9.,]+) %", reported)[1].replace(",", "")), share,
                                       delta=0.006 * share + 1e-9)

    def check_groups(self, window, spans, range_ns=None):
        """Table "groups" against a count by hand: spans that touch the range, and their time inside of it."""
        counted, inside = collections.Counter(), collections.Counter()
        for span in spans:
            if range_ns is not None and not (span["from"] < range_ns[1] and span["to"] > range_ns[0]):
                continue
            key = (span["name"], span["level"], span["kind"])
            counted[key] += 1
            low, high = range_ns or (span["from"], span["to"])
            inside[key] += min(high, span["to"]) - max(low, span["from"])
        rows = rows_of(window.table("groups"))
        self.assertEqual({(row["name"], row["level"], row["kind"]): int(row["count"]) for row in rows}, dict(counted))
        self.assertEqual({(row["name"], row["level"], row["kind"]): float(row["total_ns"]) for row in rows},
                         {key: float(value) for key, value in inside.items()})

    def test_a_range_counts_what_lies_in_it(self):
        window = self.timeline()
        spans = self.spans()
        self.check_groups(window, spans)
        for range_ns in ((0, 40_000_000), (250_000_500, 1_300_000_000), (3_000_000_000, 3_000_000_001)):
            window.go(f"#page=timeline&select={range_ns[0]}-{range_ns[1]}")
            window.frames()
            self.check_groups(window, spans, range_ns)

    def test_a_drag_selects_a_range(self):
        window = self.timeline()
        box = self.canvas.bounding_box()
        y = box["y"] + min(box["height"] / 2, 200)
        window.page.mouse.move(box["x"] + box["width"] * 0.5, y)
        window.page.mouse.down()
        window.page.mouse.move(box["x"] + box["width"] * 0.6, y, steps=4)
        window.page.mouse.move(box["x"] + box["width"] * 0.7, y, steps=4)
        window.page.mouse.up()
        window.frames(4)
        selected = range_ns(window.state()["select"])
        whole = max(span["to"] for span in self.spans())
        self.assertGreater(selected[1] - selected[0], 0.1 * whole)
        self.assertLess(selected[1] - selected[0], 0.5 * whole)
        self.check_groups(window, self.spans(), selected)
        window.page.keyboard.press("Escape")
        window.frames(4)
        self.assertNotIn("select", window.state())

    def details(self, window):
        return window.page.get_by_role("region", name="Selected span")

    def row_said(self, window):
        """The row of table span that the details name by a query."""
        query = re.search(r'"(select [^"]*)"', self.details(window).locator("code").inner_text())[1]
        [row] = self.sql(query)
        return row

    def check_details(self, window, by_id, first_ns):
        row = self.row_said(window)
        details = self.details(window)
        self.assertEqual(details.get_by_role("heading").inner_text().strip(), row["name"])
        titles = details.evaluate("(one) => [...one.querySelectorAll('dd[title]')].map((cell) => cell.title)")
        self.assertIn(f"{row['duration_ns'] or 0} ns", titles)
        self.assertIn(f"{row['start_ns'] - first_ns} ns from the run's first start", titles)
        text = details.inner_text()
        self.assertIn(row["level"], text)
        chain, parent = [], row["parent_id"]
        while parent in by_id:
            chain.insert(0, by_id[parent]["name"])
            parent = by_id[parent]["parent_id"]
        reported = details.evaluate("""(one) => [...one.querySelectorAll("dt")].filter((term) => term.innerText === "in")
            .flatMap((term) => [...term.parentElement.querySelectorAll("dd button")].map((button) => button.innerText.trim()))""")
        self.assertEqual(reported, chain)
        tags = self.sql(f"select key, value from tag where run_id = {row['run_id']} and span_id = {row['span_id']}")
        shown = details.evaluate("""(one) => Object.fromEntries([...one.querySelectorAll('[aria-label=Tags] dt')].map((term) =>
            [term.innerText, term.parentElement.querySelector("dd").title]))""")
        tags = [tag for tag in tags if tag["key"] in shown or tag["key"] != "layer_index"]  # the page has recorded ones
        self.assertEqual(set(shown), {tag["key"] for tag in tags})
        for tag in tags:
            value = tag["value"]
            self.assertTrue(shown[tag["key"]] == str(value) or float(shown[tag["key"]]) == float(value), (shown, tag))
        return row

    def test_a_span_shows_what_the_file_says_of_it(self):
        for files in (report_files.written(report_files.many_kernels, "kernels"), report_files.imported("kineto"),
                      report_files.written(asynchronous, "asynchronous")):
            if files is None:
                continue
            window = self.timeline(files=files)
            spans = self.spans()
            by_id = {span["span_id"]: span for span in spans}
            first_ns = min(span["start_ns"] for span in spans)
            seen = set()
            for place in sorted({0, 1, 3, len(spans) // 3, len(spans) // 2, len(spans) - 1}):
                window.go(f"#page=timeline&span={place}")
                self.details(window).locator("code").wait_for()
                seen.add(self.check_details(window, by_id, first_ns)["span_id"])
            self.assertGreater(len(seen), 4)

    def test_a_click_selects_the_span_under_it(self):
        window = self.timeline()
        spans = self.spans()
        model = next(span for span in spans if span["level"] == "model")
        window.go(f"#page=timeline&view={model['from']}-{model['to']}")
        window.frames(4)
        box = self.canvas.bounding_box()
        found = None
        for y in range(20, int(box["height"]), 6):
            window.page.mouse.click(box["x"] + box["width"] * 0.62, box["y"] + y)
            window.frames(1)
            if self.details(window).count():
                self.details(window).locator("code").wait_for()
                found = self.row_said(window)
                if found["level"] == "model":
                    break
        self.assertIsNotNone(found, "no click hit a span")
        self.assertEqual(found["level"], "model")
        self.assertIn("span", window.state())
        window.page.keyboard.press("Escape")
        self.details(window).wait_for(state="hidden")

    def test_walking_by_keys(self):
        window = self.timeline()
        spans = {span["span_id"]: span for span in self.spans()}
        window.go("#page=timeline&span=0")
        self.details(window).locator("code").wait_for()
        before = self.row_said(window)
        window.page.keyboard.press(".")
        window.frames(4)
        self.details(window).locator("code").wait_for()
        after = self.row_said(window)
        same = sorted((span["start_ns"], span["span_id"]) for span in spans.values()
                      if span["track_id"] == before["track_id"] and span["level"] == before["level"]
                      and span["kind"] == before["kind"])
        self.assertEqual(same.index((after["start_ns"], after["span_id"])), same.index((before["start_ns"], before["span_id"])) + 1)
        window.page.keyboard.press("f")
        window.page.keyboard.press("f")
        window.frames(30)
        low, high = self.view(window)
        self.assertLessEqual(low, spans[after["span_id"]]["from"])
        self.assertGreaterEqual(high, spans[after["span_id"]]["to"])

    def test_enter_goes_from_match_to_match(self):
        window = self.timeline()
        field = window.page.get_by_role("search").get_by_role("searchbox")
        field.fill("kernel_7<")
        hits = sorted((span["from"], span["span_id"]) for span in self.spans() if "kernel_7<" in span["name"])
        for wanted in (hits[0], hits[1], hits[2]):
            field.press("Enter")
            window.frames(4)
            self.details(window).locator("code").wait_for()
            self.assertEqual(self.row_said(window)["span_id"], wanted[1])

    def test_launches_and_executions_lead_to_each_other(self):
        window = self.timeline(files=report_files.written(asynchronous, "asynchronous"))
        spans = self.spans()
        graph = next(span for span in spans if span["name"] == "launchGraph")
        for place in range(len(spans)):
            window.go(f"#page=timeline&span={place}")
            self.details(window).locator("code").wait_for()
            row = self.row_said(window)
            text = self.details(window).inner_text()
            if row["kind"] == "execution" and row["correlation_id"]:
                launch = next(span for span in spans if span["kind"] == "launch" and span["correlation_id"] == row["correlation_id"])
                self.assertRegex(text, f"launched by\\s+{launch['name']}")
            if row["span_id"] == graph["span_id"]:
                self.assertRegex(text, "executed as\\s+graph a")
                self.assertIn("graph b", text)

    def test_forward_and_backward_operators_lead_to_each_other(self):
        window = self.timeline(files=report_files.written(training, "training"))
        said = {}
        for place in range(len(self.spans())):
            window.go(f"#page=timeline&span={place}")
            self.details(window).locator("code").wait_for()
            said[self.row_said(window)["name"]] = " ".join(self.details(window).inner_text().split())
        self.assertIn("backward in MulBackward0 30 µs", said["aten::mul"])
        self.assertIn("module scale", said["aten::mul"])
        self.assertIn("backward of aten::mul 10 µs", said["MulBackward0"])
        self.assertNotIn("backward", said["aten::add"])
        for text in said.values():
            self.assertNotIn("launched by", text)
            self.assertNotIn("executed as", text)

    def test_a_key_follows_a_backward_operator(self):
        window = self.timeline(files=report_files.written(training, "training"))
        place = next(i for i, span in enumerate(self.spans()) if span["name"] == "MulBackward0")
        window.go(f"#page=timeline&span={place}")
        self.details(window).locator("code").wait_for()
        for name in ("aten::mul", "MulBackward0"):
            window.page.keyboard.press("g")
            self.details(window).get_by_role("heading", name=name).wait_for()

    def test_the_forward_operator_of_a_selected_one_has_an_arrow(self):
        window = self.timeline(files=report_files.written(training, "training"))
        places = {span["name"]: i for i, span in enumerate(self.spans())}

        def middle(name):
            window.go(f"#page=timeline&span={places[name]}")
            self.details(window).locator("code").wait_for()
            window.frames(4)
            return window.page.evaluate(MIDDLE_OF_CANVAS)

        without = middle("aten::add")
        for name in ("aten::mul", "MulBackward0"):
            self.assertNotEqual(middle(name), without)

    def test_no_wait_is_negative(self):
        window = self.timeline(files=report_files.written(overlapping, "overlapping"))
        said = {}
        for place in range(len(self.spans())):
            window.go(f"#page=timeline&span={place}")
            self.details(window).locator("code").wait_for()
            said[self.row_said(window)["name"]] = " ".join(self.details(window).inner_text().split())
        self.assertIn("started 4 µs before its launch returned", said["kernel 1"])
        self.assertIn("waited 7 µs", said["kernel 2"])
        self.assertRegex(said["launch 1"], "kernel 1 4 µs before this returned")
        self.assertRegex(said["launch 2"], "kernel 2 7 µs later")
        for text in said.values():
            self.assertNotRegex(text, r"-\d")

    def test_merged_runs_say_so_and_count_all(self):
        path, _ = report_files.written(report_files.many_kernels, "kernels")
        page = report_files.report(path, "merged", "--max-spans", "200")
        window = self.timeline(files=(path, page))
        self.assertIn("xsp report", window.text())
        self.assertRegex(window.text(), "hatched rectangle")
        counted = collections.Counter((span["name"], span["level"], span["kind"]) for span in self.spans())
        reported = {(row["name"], row["level"], row["kind"]): int(row["count"]) for row in rows_of(window.table("groups"))}
        self.assertEqual(sum(reported.values()), sum(counted.values()))


if __name__ == "__main__":
    unittest.main()
