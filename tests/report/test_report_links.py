# SPDX-License-Identifier: Apache-2.0
"""Links within the report's page and its saved files, in real Chromium: layer to kernel to roofline and back, several
files on one page, and the files that it saves, against those of `xsp export`."""
import json
import re
import unittest

import browser
import report_files
from browser import rows_of
from scripted import asynchronous, kept_parents, leveled, ranges_in_steps, xsp, xsp_json
from test_stacks import frames_and_kernel

# What an editor's webview gives its page, and what editor/ relies on: one object, and the theme at the body.
EDITOR = """() => { window.messages = []; window.acquireVsCodeApi = () => ({postMessage: (message) => messages.push(message), getState: () => null, setState: () => {}});
  document.addEventListener("DOMContentLoaded", () => { document.body.dataset.vscodeThemeKind = "vscode-dark"; }); }"""


IDS = [*(f"A{number}" for number in range(1, 16)), "L0"]


class ReportLinksTest(browser.BrowserTest):
    def test_layer_to_kernel_to_roofline_and_back(self):
        path, page = report_files.written(report_files.metrics, "metrics")
        window = self.open(page, "#page=layers")
        rows = xsp_json("analyze", "A11", path, "--json")["rows"]
        layer = rows[3]
        window.section("A2").get_by_role("link", name=layer["layer_name"], exact=True).click()
        panel = window.page.get_by_role("complementary").or_(window.page.get_by_role("region", name=re.compile("^The layer ")))
        panel.first.wait_for()
        self.assertEqual(window.state()["focus"], f"layer:{layer['layer_index']}:{layer['layer_name']}")
        self.assertIn(layer["layer_name"], panel.first.inner_text())
        kernel = panel.first.get_by_role("link", name=re.compile(r"^kernel_\d+<3>$")).first
        name = kernel.inner_text().strip()
        kernel.click()
        window.frames(4)
        self.assertEqual(window.state()["focus"], f"kernel::{name}")
        window.open_page("kernels")
        marked = window.section("A10").locator("tr[aria-current=true]")
        marked.first.wait_for()
        self.assertIn(name, marked.first.inner_text())
        window.open_page("roofline")
        self.assertEqual(window.state()["focus"], f"kernel::{name}")
        text = window.page.locator("main").inner_text()
        self.assertIn(name, text)
        window.page.go_back()
        window.page.locator("main#page-kernels").wait_for()
        self.assertEqual(window.state()["focus"], f"kernel::{name}")

    def test_a_range_filters_the_flame_graph(self):
        path, page = report_files.written(report_files.many_kernels, "kernels")
        spans = xsp_json("sql", path, "select * from span", "--json")
        first = min(span["start_ns"] for span in spans)
        range_ns = (0, 40_000_000)  # a part of the first layer
        inside = {span["name"] for span in spans if span["start_ns"] - first < range_ns[1]}
        window = self.open(page, f"#page=flame&select={range_ns[0]}-{range_ns[1]}")
        window.page.locator("[data-table]").first.wait_for()
        names = {row.get("context", row.get("name")).split(" › ")[-1]
                 for table in window.tables() if table["id"] not in IDS for row in rows_of(table)}
        self.assertEqual(names, inside)
        self.assertIn("selected", window.page.inner_text("body"))

    def source_after_zoom(self, window, context):
        window.section("flame").locator("td:first-child").get_by_text(context, exact=True).click()  # other columns have callers
        window.page.get_by_role("button", name="On the timeline").wait_for()
        return window.page.locator(".flame-path .source")

    def test_a_context_has_the_line_of_its_nearest_frame(self):
        window = self.open(report_files.written(frames_and_kernel, "frames")[1], "#page=flame")
        for context, line in (("gemm", "net.py:9"), ("add [libtorch.so]", "train.py:3"), ("forward (net.py:9)", "net.py:9")):
            source = self.source_after_zoom(window, context)
            window.page.mouse.move(0, 0)
            window.page.locator(".flame-line strong").get_by_text(context, exact=True).wait_for()  # with its figures
            self.assertEqual((source.inner_text(), source.get_attribute("title")), (line, line))
            self.assertEqual(source.evaluate("(element) => element.tagName"), "CODE")  # no link before the reader wants it
        self.source_after_zoom(window, "program")
        self.assertEqual(window.page.locator(".flame-path .source").count(), 0)
        window.go("#page=flame&flame=bottom-up&" + report_files.flame_zoom("conv"))  # conv: its caller is below it
        window.page.locator(".flame-path .source").wait_for()
        self.assertEqual(window.page.locator(".flame-path .source").inner_text(), "net.py:9")
        window.go("#page=timeline&span=1")
        self.assertEqual(window.page.locator(".span-details .source").inner_text(), "net.py:9")

    def test_in_an_editor_a_click_opens_the_line(self):
        window = self.open(report_files.written(frames_and_kernel, "frames")[1])
        window.page.add_init_script(f"({EDITOR})()")
        window.page.reload()
        window.wait()
        self.assertEqual(window.page.locator("html").get_attribute("data-theme"), "dark")
        window.page.evaluate("document.body.dataset.vscodeThemeKind = 'vscode-light'")
        window.page.locator("html[data-theme=light]").wait_for()
        window.open_page("flame")
        canvas = window.page.locator(".flame-canvas").first
        canvas.wait_for()
        box = canvas.bounding_box()
        canvas.click(position={"x": 0.15 * box["width"], "y": 3.5 * 20})  # all, program, main, forward
        self.assertEqual(window.page.evaluate("messages"), [{"type": "xsp.source", "file": "net.py", "line": 9}])
        window.page.locator(".flame-path").get_by_role("button", name="net.py:9", exact=True).click()
        self.assertEqual(len(window.page.evaluate("messages")), 2)

    def test_files_of_one_page_are_told_apart(self):
        first, _ = report_files.written(leveled, "leveled")
        second, _ = report_files.written(asynchronous, "asynchronous")
        window = self.open(report_files.report([first, second], "both"), "#page=timeline")
        chooser = window.page.get_by_label("Experiment")
        options = chooser.locator("option").all_inner_texts()
        self.assertEqual(len(options), 2)
        counts = []
        for path, option in zip((first, second), options):
            self.assertIn(path.name, option)
            chooser.select_option(label=option)
            window.wait()
            window.frames(4)
            counts.append(sum(int(row["count"]) for row in rows_of(window.table("groups"))))
            runs = xsp_json("sql", path, "select run_id, count(*) as n from span join track using (run_id, track_id) "
                                         "where clock is null group by run_id", "--json")
            self.assertIn(counts[-1], [row["n"] for row in runs])
        self.assertEqual(browser.violations(window), [])

    def test_the_first_of_several_files_is_shown_first(self):
        """The other one has more levels."""
        deeper, _ = report_files.written(asynchronous, "asynchronous")
        model, _ = report_files.written(lambda: leveled(experiments=1), "leveled")
        for first, second in ((model, deeper), (deeper, model)):
            window = self.open(report_files.report([first, second], f"first_{first.stem}"))
            self.assertEqual(window.page.locator("footer span").first.inner_text(), first.name)

    def saved(self, window, name):
        window.page.get_by_role("button", name="Export").click()
        with window.page.expect_download() as download:
            window.page.get_by_role("button", name=re.compile(f"^Save {name}")).click()
        return download.value.path().read_text(encoding="utf-8")

    def exported(self, path, to):
        target = report_files.folder() / f"exported.{to}"
        xsp("export", path, "--to", to, "-o", target, "--force", check=0)
        return target.read_text(encoding="utf-8")

    def test_folded_stacks_are_those_of_export(self):
        for make, name in ((report_files.many_kernels, "kernels"), (asynchronous, "asynchronous"),
                           (ranges_in_steps, "ranges"), (kept_parents, "kept"), (frames_and_kernel, "frames")):
            path, page = report_files.written(make, name)
            window = self.open(page, "#page=timeline", accept_downloads=True)
            self.assertEqual(sorted(self.saved(window, "Folded").splitlines()),
                             sorted(self.exported(path, "folded").splitlines()))

    def test_chrome_trace_has_every_span(self):
        path, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=timeline", accept_downloads=True)
        complete = lambda text: sorted((event["name"], round(event["dur"] * 1000)) for event in
                                       json.loads(text)["traceEvents"] if event["ph"] == "X")
        saved = complete(self.saved(window, "Chrome"))
        spans = xsp_json("sql", path, "select name, duration_ns from span", "--json")
        self.assertEqual(saved, sorted((span["name"], span["duration_ns"]) for span in spans))

    def test_speedscope_file_is_whole(self):
        path, page = report_files.written(report_files.many_kernels, "kernels")
        window = self.open(page, "#page=timeline", accept_downloads=True)
        document = json.loads(self.saved(window, "speedscope"))
        self.assertEqual(document["$schema"], "https://www.speedscope.app/file-format-schema.json")
        opened = 0
        for profile in document["profiles"]:
            stack, last = [], profile["startValue"]
            for event in profile["events"]:
                self.assertGreaterEqual(event["at"], last)
                last = event["at"]
                if event["type"] == "O":
                    stack.append(event["frame"])
                    opened += 1
                else:
                    self.assertEqual(stack.pop(), event["frame"])
            self.assertEqual(stack, [])
        spans = xsp_json("sql", path, "select kind, count(*) as n from span group by kind", "--json")
        self.assertGreaterEqual(opened, sum(row["n"] for row in spans if row["kind"] != "launch"))


if __name__ == "__main__":
    unittest.main()
