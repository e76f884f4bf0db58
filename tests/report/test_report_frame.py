# SPDX-License-Identifier: Apache-2.0
"""The frame of the report's page in real Chromium: its exports equal those of `xsp export`, the trace goes to Perfetto's
tab only on a click, tables filter, move by keys and copy, a column has one unit, licences are in the page."""
import json
import pathlib
import re
import unittest

import browser
import report_files
from scripted import leveled, xsp
from test_stacks import frames_and_kernel

PERFETTO = "https://ui.perfetto.dev/"
STAND_IN = """<!doctype html><script>
addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", "*");
  else window.got = {title: event.data.perfetto.title, text: new TextDecoder().decode(event.data.perfetto.buffer)};
});
</script>"""


def folded(text):
    return sorted(line.rsplit(" ", 1) for line in text.splitlines())


def events_of(text):
    """Spans of a Chrome trace with the members that every reader uses."""
    return sorted((one["name"], one["cat"], round(one["ts"] * 1000), round(one["dur"] * 1000))
                  for one in json.loads(text)["traceEvents"] if one["ph"] == "X")


def profiles_of(text):
    """speedscope's profiles with names in place of numbers, times from the first event; checked as its reader does."""
    whole = json.loads(text)
    frames, found = [frame["name"] for frame in whole["shared"]["frames"]], []
    assert whole["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    for profile in whole["profiles"]:
        assert (profile["type"], profile["unit"]) == ("evented", "nanoseconds")
        stack, last = [], profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= last, "not in order of time"
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"], "not nested"
        assert not stack and last <= profile["endValue"]
        first = profile["events"][0]["at"]
        found.append([(event["type"], frames[event["frame"]], event["at"] - first) for event in profile["events"]])
    return found


class ReportFrameTest(browser.BrowserTest):
    def saved(self, window, name):
        window.page.get_by_role("button", name="Export", exact=True).click()
        with window.page.expect_download() as download:
            window.page.get_by_role("button", name=f"Save {name}").click()
        return pathlib.Path(download.value.path()).read_text(encoding="utf-8")

    def exported(self, trace, form):
        target = report_files.folder() / f"frame.{form}"
        xsp("export", trace, "--to", form, "-o", target, "--force", check=0)
        return target.read_text(encoding="utf-8")

    def test_exports_are_those_of_the_program(self):
        trace, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page)
        self.assertEqual(folded(self.saved(window, "Folded stacks")), folded(self.exported(trace, "folded")))
        self.assertEqual(events_of(self.saved(window, "Chrome trace")), events_of(self.exported(trace, "chrome")))
        self.assertEqual(profiles_of(self.saved(window, "speedscope")), profiles_of(self.exported(trace, "speedscope")))

    def test_call_paths_are_in_stacks(self):
        trace, page = report_files.written(frames_and_kernel, "frames")
        window = self.open(page)
        self.assertEqual(folded(self.saved(window, "Folded stacks")), folded(self.exported(trace, "folded")))
        without_place = lambda profiles: [[(kind, name.split(" (")[0].split(" [")[0], at) for kind, name, at in events]
                                          for events in profiles]  # the page has file and line in the name
        self.assertEqual(without_place(profiles_of(self.saved(window, "speedscope"))),
                         profiles_of(self.exported(trace, "speedscope")))

    def test_a_selected_range_is_exported_alone(self):
        _, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=timeline&select=0-600000000")
        names = {event[0] for event in events_of(self.saved(window, "Chrome trace"))}
        self.assertEqual(len([name for name in names if name.startswith("kernel_")]), 150)
        models = [event for event in events_of(self.saved(window, "Chrome trace")) if event[0] == "net"]
        self.assertEqual(len(models), 1)

    def test_perfetto_gets_the_trace_by_a_click_only(self):
        _, page = report_files.written(leveled, "leveled")
        window = self.open(page)
        asked = []
        window.context.on("request", lambda request: asked.append(request.url))
        window.context.route(PERFETTO + "**", lambda route: route.fulfill(body=STAND_IN, content_type="text/html"))
        for name in browser.PAGES:
            window.open_page(name)
        window.page.get_by_role("button", name="Export", exact=True).click()
        self.assertEqual(asked, [])
        with window.context.expect_page() as opened:
            window.page.get_by_role("button", name="Open in Perfetto").click()
        opened.value.wait_for_function("window.got")
        got = opened.value.evaluate("window.got")
        self.assertIn("leveled.xsp", got["title"])
        self.assertTrue(events_of(got["text"]))
        window.page.get_by_text("Sent to Perfetto's tab").wait_for()
        self.assertEqual([url for url in asked if not re.match("data:|blob:", url)], [PERFETTO])

    def test_tables_filter_by_columns_and_numbers(self):
        trace, page = report_files.written(report_files.many_kernels, "kernels")
        rows = json.loads(xsp("analyze", "A10", trace, "--json", check=0).stdout)["rows"]
        middle = sorted(row["latency_ms"] for row in rows)[len(rows) // 2]
        window = self.open(page, "#page=kernels")
        field = window.section("A10").get_by_role("searchbox")
        for line, holds in ((f"latency_ms>{middle}", lambda row: row["latency_ms"] > middle),
                            (f"latency_ms<={middle} kernel:_1", lambda row: row["latency_ms"] <= middle
                             and "_1" in row["kernel_name"]),
                            ("-kernel_1 -kernel_2", lambda row: not re.match("kernel_[12]", row["kernel_name"])),
                            ('"kernel_7<3>"', lambda row: row["kernel_name"] == "kernel_7<3>"),
                            ("::", lambda row: False)):
            with self.subTest(line):
                field.fill(line)
                window.frames()
                shown = {row["kernel_name"] for row in browser.rows_of(window.table("A10"))}
                self.assertEqual(shown, {row["kernel_name"] for row in rows if holds(row)})
        field.fill("kernel_7<3>")
        fragment = "#" + "&".join(f"{key}={value}" for key, value in window.state().items())
        again = self.open(page, fragment.replace("<", "%3C").replace(">", "%3E"))
        self.assertEqual(again.table("A10")["total"], 1)

    def test_rows_are_walked_by_keys(self):
        _, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=kernels")
        section = window.section("A10")
        widths = "(one) => [...one.querySelectorAll('th')].map((head) => head.offsetWidth)"
        before = section.evaluate(widths)
        section.locator(".table-box").focus()
        at = "() => Number(document.activeElement.dataset.row)"
        for key, row in (("ArrowDown", 0), ("ArrowDown", 1), ("End", 149), ("ArrowUp", 148), ("Home", 0)):
            window.page.keyboard.press(key)
            window.page.wait_for_function(f"() => document.activeElement.dataset.row === '{row}'")
            self.assertEqual(window.page.evaluate(at), row)
            inside = window.page.evaluate("""() => {
              const row = document.activeElement.getBoundingClientRect();
              const box = document.activeElement.closest(".table-box").getBoundingClientRect();
              return row.top >= box.top && row.bottom <= box.bottom + 1; }""")
            self.assertTrue(inside, f"{key}: row {row} is not in view")
        self.assertEqual(section.evaluate(widths), before, "columns moved while scrolling")

    def test_tables_are_copied_exactly(self):
        trace, page = report_files.written(leveled, "leveled")
        rows = json.loads(xsp("analyze", "A2", trace, "--sort", "latency_ms", "--json", check=0).stdout)["rows"]
        window = self.open(page, "#page=layers")
        window.context.grant_permissions(["clipboard-read", "clipboard-write"])
        window.section("A2").get_by_role("button", name="Copy A2").click()
        window.page.get_by_role("button", name="Copy for spreadsheets").click()
        window.page.get_by_text("copied as TSV").wait_for()
        head, *lines = window.page.evaluate("() => navigator.clipboard.readText()").split("\n")
        keys = head.split("\t")
        self.assertEqual(len(lines), len(rows))
        for line, row in zip(lines, rows):
            for key, text in zip(keys, line.split("\t")):
                value = "" if row[key] is None else row[key]
                self.assertEqual(float(text) if isinstance(value, (int, float)) else text, value, key)

    def test_a_table_names_the_command_that_prints_it(self):
        trace, page = report_files.profiled()
        window = self.open(page, "#page=layers&batch=4&sort.A2=-latency_ms")
        command = window.section("A2").locator(".command code").inner_text()
        self.assertEqual(command, f"xsp analyze A2 {trace.name} --batch 4 --sort latency_ms")
        arguments = [str(trace) if part == trace.name else part for part in command.split()[1:]]
        rows = json.loads(xsp(*arguments, "--json", check=0).stdout)["rows"]
        for shown, row in zip(browser.rows_of(window.table("A2")), rows, strict=True):
            for key, title in shown.items():
                self.assertTrue(key is None or browser.is_value(title, row[key]), f"{key}: {title} and {row[key]}")

    def test_figures_of_one_unit_are_alike(self):
        """One unit and as many decimals for latency, minimum and maximum, and nothing measured is shown as 0."""
        _, page = report_files.profiled()
        window = self.open(page, "#page=layers")
        table = window.table("A2")
        at = [table["keys"].index(key) for key in ("latency_ms", "min_ms", "max_ms")]
        heads = [head.rstrip("▼\n") for head in window.section("A2").locator("th").all_inner_texts()]
        self.assertEqual(len({heads[place].split()[-1] for place in at}), 1, heads)
        factor = {"s": 1e-3, "ms": 1, "µs": 1e3, "ns": 1e6}[heads[at[0]].split()[-1]]
        for row in table["rows"]:
            for place in at:
                exact, text = float(row[place]["title"]) * factor, row[place]["text"].replace(",", "")
                self.assertNotEqual(float(text), 0)
                self.assertAlmostEqual(float(text), exact, delta=0.5001 * 10 ** -len(text.partition(".")[2]))

    def test_licences_of_what_is_bundled_are_in_the_page(self):
        _, page = report_files.written(leveled, "leveled")
        text = re.search(r'<script type="text/plain" id="xsp-licences">(.*?)</script>', page.read_text("utf-8"), re.S)[1]
        for package in ("preact", "@preact/signals", "@tanstack/virtual-core", "uplot"):
            self.assertRegex(text, rf"(?m)^{package} [0-9.]+: MIT$")
        self.assertGreaterEqual(text.count("Permission is hereby granted"), 4)
        window = self.open(page)
        window.page.keyboard.press("?")
        window.page.get_by_text("Licences of the software").click()
        self.assertIn("Permission is hereby granted", window.page.get_by_role("dialog").inner_text())

    def test_filters_are_chips_that_can_be_removed(self):
        _, page = report_files.profiled()
        window = self.open(page, "#page=layers&select=0-1000000&find=conv&focus=layer:0:stem/conv1")
        chips = window.page.get_by_role("group", name="Filters").get_by_role("button")
        self.assertEqual(chips.count(), 3)
        for left in (2, 1, 0):
            chips.first.click()
            window.frames()
            self.assertEqual(chips.count(), left)
        self.assertFalse({"select", "find", "focus"} & set(window.state()))

    def test_an_old_browser_is_told_so(self):
        _, page = report_files.written(leveled, "leveled")
        context = browser.chromium().new_context()
        self.addCleanup(context.close)
        shown = context.new_page()
        shown.add_init_script("delete window.DecompressionStream")
        shown.goto(page.resolve().as_uri())
        self.assertIn("DecompressionStream", shown.get_by_role("alert").inner_text())


if __name__ == "__main__":
    unittest.main()
