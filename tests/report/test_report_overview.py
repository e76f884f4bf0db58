# SPDX-License-Identifier: Apache-2.0
"""The overview of the report's page in real Chromium: where the time goes comes first, figures that are not there are left
out, pages without data are grey with a reason for the program at hand, and no tab breaks a rule of accessibility."""
import unittest

import browser
import report_files
from browser import violations
from scripted import UNIX_START, Script, leveled, xsp

MS = 10**6


def launching(levels="M/L/K", framework="opencv", command=None):
    """Two layers whose calls take 1 ms each; at M/L/K their kernels then run for 30 and 60 of a prediction's 100 ms."""
    script = Script()
    script.experiment("launching", framework=framework)
    script.run(1, levels, None)
    script.track(1, "main")
    script.track(2, "queue", thread=None, device=0, stream=1)
    for observation in range(12):
        start = UNIX_START + observation * 1000 * MS
        script.span("net", start, 100 * MS)
        for number, (at, length) in enumerate(((0, 30), (1, 60))):
            begin, correlation = start + (1 + 2 * at) * MS, 2 * observation + number + 1
            script.span(f"conv{number}", begin, 1 * MS, "layer", tags={"layer_index": number, "layer_type": "Conv"})
            if levels == "M/L/K":
                script.span("enqueue", begin + 1000, 1000, "kernel", "launch", correlation=correlation, category="api")
                script.span(f"kernel{number}", start + (5 + 30 * at) * MS, length * MS, "kernel", "execution", track=2,
                            correlation=correlation, category="kernel")
    return script


def drifting():
    """M becomes slower by 4 % from its first third to its last, below the 5 % of L0; M/L takes 30 % more."""
    script = Script()
    script.experiment("drifting")
    for run_id, (levels, more) in enumerate((("M", 0), ("M/L", 30)), 1):
        script.run(run_id, levels, 1)
        script.track(1, "main", run_id=run_id)
        for number in range(12):
            start = UNIX_START + run_id * 10**11 + number * 10**9
            script.span("net", start, round((100 + number * 0.5 + more) * MS), run_id=run_id, tags={"batch_size": 1})
    return script


def late_layers():
    """Two layers after the only step."""
    script = Script()
    script.experiment("late")
    script.run(1, "M/L", None)
    script.track(1, "main")
    script.span("step", UNIX_START, 100 * MS)
    for number in range(2):
        script.span("empty", UNIX_START + (200 + number) * MS, 1 * MS, "layer")
    return script


def training():
    """Steps of 100 ms with their stages, and two operators of one name in different modules."""
    script = Script()
    script.experiment("training", framework="pytorch")
    script.run(1, "A/M/L", None)
    script.track(1, "main", thread=7)
    for number in range(4):
        start = UNIX_START + number * 1000 * MS
        script.span("training step", start, 100 * MS)
        for category, at, length in (("data", 0, 5), ("forward", 5, 30), ("backward", 40, 45), ("optimizer", 86, 10)):
            script.span(category, start + at * MS, length * MS, "application", category=category)
        for at, name, tags in ((6, "aten::conv2d", {"module": "stem"}), (20, "aten::conv2d", {"module": "head"})):
            script.span(name, start + at * MS, 10 * MS, "layer", tags={**tags, "sequence": at})
            script.span("autograd::engine::evaluate_function: ConvBackward0", start + (at + 35) * MS, 12 * MS, "layer", tags={"sequence": at, "forward_thread": 7})
    return script


class ReportOverviewTest(browser.BrowserTest):
    def reason(self, window, name):
        """The link's title if it is grey; the page then has the same text."""
        link = window.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name.capitalize(), exact=True)
        title = link.get_attribute("title")
        self.assertEqual("is-empty" in (link.get_attribute("class") or ""), title is not None, name)
        if title is not None:
            window.open_page(name)
            self.assertIn(title, window.text())
        return title

    def test_time_comes_before_its_recording(self):
        trace, page = report_files.written(launching, "launching")
        window = self.open(page)
        titles = window.page.locator("main section[aria-label]").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
        self.assertEqual(titles, ["What ran where", "Findings", "Where the time goes", "Device time by operator", "Layers",
                                  "Kernels", "Figures", "What recording cost", "What was recorded", "Noise", "Notes"])
        cause = xsp("analyze", trace, check=0).stdout.decode().splitlines()[0].removeprefix("cause").strip()
        self.assertEqual(window.page.locator(".lead-cause").inner_text().lower(), f"{cause}.".lower())
        # On the device: 30 + 60 of 100 ms.
        self.assertIn("device busy\n90 ms, 90 %", window.text())
        self.assertEqual(window.page.get_by_role("region", name="Device time by operator").locator("li").inner_text().split("\n"),
                         ["Conv", "90 ms", "100 %"])

    def test_without_a_device_layers_come_first(self):
        window = self.open(report_files.written(leveled, "leveled")[1])
        titles = window.page.locator("main section[aria-label]").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
        self.assertEqual(titles[1:5], ["Findings", "Where the time goes", "Layer types", "Layers"])

    def test_layers_that_launch_are_not_called_unattributed(self):
        """All kernels are in layers, which have their time; without kernels it is said what is not known."""
        window = self.open(report_files.written(launching, "launching")[1])
        self.assertNotIn("unattributed", window.text())
        self.assertRegex(window.text(), r"in layers\n9\d(\.\d+)? ms")
        self.assertIn("Each of the 2 kernels of an observation is in a layer", window.text())
        window = self.open(report_files.written(lambda: launching("M/L"), "launching_host")[1])
        self.assertIn("outside of layers\n98 ms, 98 %", window.text())
        self.assertIn("If these only launch work, a run with kernels shows whose it is.", window.text())
        self.assertNotIn("--levels", window.text())  # no option of an import
        self.assertNotIn("unattributed", window.text())

    def test_figures_without_a_value_are_left_out(self):
        window = self.open(report_files.written(launching, "launching")[1])
        figures = window.page.get_by_role("region", name="Figures")
        self.assertEqual(figures.locator(".figure > span").all_inner_texts(), ["latency", "layers", "kernels a prediction"])
        window = self.open(report_files.profiled()[1])
        labels = window.page.get_by_role("region", name="Figures").locator(".figure > span").all_inner_texts()
        self.assertTrue(any(label.startswith("throughput") for label in labels), labels)
        self.assertNotIn("–", window.page.get_by_role("region", name="Figures").locator("strong").all_inner_texts())

    def test_a_training_step_and_its_stages(self):
        window = self.open(report_files.written(training, "training_overview")[1])
        text = window.text()
        self.assertIn("of a step of 100 ms", text)
        self.assertNotIn("prediction", text)
        for stage in ("data\n5 ms, 5 %", "forward\n30 ms, 30 %", "backward\n45 ms, 45 %", "optimizer\n10 ms, 10 %",
                      "other\n10 ms, 10 %"):
            self.assertIn(stage, text)
        self.assertIn("aten::conv2d\n10 ms\n22.7 %\nmodule stem\naten::conv2d\n10 ms\n22.7 %\nmodule head", text)
        self.assertIn("\n…: ConvBackward0\n", text)  # what is at the end tells them apart
        window.go("#page=layers")
        for name, first in (("Forward and backward", "aten::conv2d"), ("By module", "head")):
            window.page.get_by_role("tab", name=name).click()
            self.assertIn(first, window.page.get_by_role("tabpanel").inner_text())

    def test_pages_without_data_have_a_reason(self):
        window = self.open(report_files.written(lambda: launching("M/L"), "launching_host")[1])
        self.assertEqual(self.reason(window, "kernels"),
                         "No span of the trace is marked as a kernel: no device was used, or the profiler recorded none or marks "
                         "none.")
        self.assertIn("layers have no shapes", self.reason(window, "roofline"))
        self.assertIn("xsp import --batch N", self.reason(window, "batch"))
        self.assertIn("no allocations of operators", self.reason(window, "memory"))
        for name in ("overview", "timeline", "flame", "layers", "runs"):
            self.assertIsNone(self.reason(window, name))

    def test_reasons_fit_the_program(self):
        """A profile at M alone lacks a level; one at all levels and two batch sizes lacks nothing."""
        script, path = report_files.folder() / "net.xspscript", report_files.folder() / "model.xsp"
        script.write_text(report_files.MODEL)
        xsp("profile", script, "--batch", "4", "--levels", "M", "--runs", "2", "--warmup", "0", "-o", path, "--force", check=0)
        window = self.open(report_files.report(path))
        self.assertIn("To measure it: --levels M,M/L", window.text())
        self.assertEqual(self.reason(window, "layers"), "Recorded at M only. With layers: --levels M,M/L.")
        self.assertEqual(self.reason(window, "batch"), "Only batch size 4 was measured: --batch 1,2,4,8 measures several.")
        self.assertIn("--levels M,M/L,M/L/K", self.reason(window, "kernels"))
        window = self.open(report_files.profiled()[1])
        for name in ("layers", "kernels", "batch", "memory"):
            self.assertIsNone(self.reason(window, name))

    def test_points_above_their_roof_blame_no_counter(self):
        """A peak of one flop per second: every point is above it."""
        window = self.open(report_files.written(lambda: report_files.many_kernels("M/L/K+metrics", peak=1), "low_roof")[1])
        window.open_page("roofline")
        self.assertIn("above the roofs that are listed", window.page.locator(".plot-legend").first.inner_text())
        self.assertNotIn("counters", window.text())

    def test_layers_outside_of_all_steps_are_counted(self):
        window = self.open(report_files.written(late_layers, "late_layers")[1])
        self.assertEqual(self.reason(window, "layers"), "2 layers are in no prediction or step.")

    def test_a_run_at_all_levels_lacks_none(self):
        """`xsp run` without --levels has all levels on: the reason is the program, whatever options its own command has.
        With --levels M the reason is the option, given once for layers and kernels."""
        def overview(name, *options):
            path = report_files.folder() / f"{name}.xsp"
            xsp("run", *options, "-q", "--force", "-o", path, "--", "sh", "-c", "true", "sh", "--levels", "M", check=0)
            window = self.open(report_files.report(path))
            return window, window.page.locator("main p.note").all_inner_texts()
        window, notes = overview("silent")
        self.assertEqual(notes, ["The program announced no layers. No tracer recorded a kernel: the program used no device, or "
                                 "one that xsp does not trace."])
        self.assertEqual(self.reason(window, "layers"), "The program announced no layers.")
        _, notes = overview("model_only", "--levels", "M")
        self.assertEqual(notes, ["Recorded at M only. With layers and kernels: --levels M,M/L,M/L/K."])

    def test_no_overhead_is_found_under_drift(self):
        window = self.open(report_files.written(drifting, "drifting")[1])
        self.assertIn("it became slower during the measurement", window.text())
        self.assertIn("+30 ms, 29.2 % over M", window.text())
        self.assertIn("not decided, it drifted", window.page.locator(".fall-figures [class^=mark-]").inner_text())
        self.assertEqual(window.page.locator(".fall-bar.is-noise").count(), 1)

    def test_every_tab_is_accessible(self):
        """Tabs within pages too, wide and narrow, light and dark; with steps merged, pages grey, and several files."""
        pages = [report_files.profiled()[1], report_files.written(report_files.metrics, "metrics")[1],
                 report_files.report([report_files.written(lambda: launching("M/L"), "launching_host")[0],
                                      report_files.written(leveled, "leveled")[0]], "tabs")]
        for page, (size, scheme) in zip(pages, (((1440, 900), "light"), ((390, 844), "dark"), ((390, 844), "light"))):
            window, found = self.open(page, size=size, scheme=scheme), []
            for name in browser.PAGES:
                window.open_page(name)
                tabs = window.page.locator("main").get_by_role("tab")
                for tab in range(max(1, tabs.count())):
                    if tabs.count():
                        tabs.nth(tab).click()
                        window.frames()
                    found += [f"{name} {tab}: {line}" for line in window.cut_off() + violations(window)]
            self.assertEqual(found, [], f"{page.name} {size} {scheme}")


if __name__ == "__main__":
    unittest.main()
