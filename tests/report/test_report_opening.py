# SPDX-License-Identifier: Apache-2.0
"""What the report's timeline shows at first, in real Chromium: the observations, where much of the run is outside of them,
with a way to the whole run and back; processes and threads by what they are for."""
import json
import unittest

import browser
import report_files
from scripted import UNIX_START, Script, xsp

SECOND = 1_000_000_000


def late(observations=4, imports_s=8, end_s=1):
    """A program that imports for seconds and then trains for nearly a second a step."""
    script = Script()
    script.experiment("late")
    script.run(1, "A/M/L", 1)
    script.track(1, "main")
    script.span("python3 train.py", UNIX_START, (imports_s + observations + end_s) * SECOND, "application")
    for step in range(observations):
        start = UNIX_START + (imports_s + step) * SECOND
        script.span("training step", start, SECOND * 9 // 10)
        script.span("aten::mul", start + 1000, SECOND // 4, "layer", tags={"layer_index": 0, "layer_type": "mul"})
    return script


def loading():
    """A training with two workers that load its data, a thread of autograd and one of a pool."""
    script = Script()
    script.experiment("loading")
    script.run(1, "A/M/L", 1)
    tracks = (("python3", 100, 100), ("pt_autograd_0", 100, 101), ("python3", 100, 102), ("pt_data_worker", 200, 200),
              ("pt_data_worker", 300, 300), ("sh", 400, 400))
    for number, (name, process, thread) in enumerate(tracks, 1):
        script.track(number, name, process=process, thread=thread)
    script.span("training step", UNIX_START, SECOND)
    script.span("aten::mul", UNIX_START + 1000, 1000, "layer")
    for track in (2, 3):
        script.span("MulBackward0", UNIX_START + 5000, 1000, "layer", track=track)
    for track in (4, 5):
        script.span("Pictures.__getitem__", UNIX_START, SECOND // 2, "application", track=track, category="input")
    script.span("sleep", UNIX_START, SECOND // 2, "application", track=6)
    return script


class ReportOpeningTest(browser.BrowserTest):
    STEPS = (8 * SECOND, 11 * SECOND + SECOND * 9 // 10)

    def opened(self, make, name, fragment="#page=timeline"):
        return self.open(report_files.written(make, name)[1], fragment)

    def in_view(self, window):
        """The range in view, as the overview strip has it."""
        window.frames(4)
        return window.page.locator(".minimap").get_attribute("data-view")

    def button(self, window, name):
        return window.page.get_by_role("button", name=name, exact=True)

    def assert_opens_on_steps(self, window):
        low, high = browser.range_ns(self.in_view(window))
        self.assertLess(low, self.STEPS[0])
        self.assertGreater(low, self.STEPS[0] - SECOND)
        self.assertGreater(high, self.STEPS[1])
        self.assertLess(high, self.STEPS[1] + SECOND)
        self.assertEqual(self.button(window, "Steps").get_attribute("aria-pressed"), "true")

    def test_opens_on_steps_and_leads_to_the_whole_and_back(self):
        window = self.opened(late, "late")
        self.assert_opens_on_steps(window)
        self.assertNotIn("view", window.state())
        self.button(window, "All").click()
        low, high = browser.range_ns(self.in_view(window))
        self.assertLess(low, 0)
        self.assertGreater(high, 13 * SECOND)
        self.assertEqual(window.state()["view"], "all")
        window.page.reload()
        window.wait()
        self.assertEqual(browser.range_ns(self.in_view(window)), (low, high))
        self.button(window, "Steps").click()
        self.assert_opens_on_steps(window)
        window.page.keyboard.press("0")
        self.assertEqual(browser.range_ns(self.in_view(window)), (low, high))
        window.page.keyboard.press("0")
        self.assert_opens_on_steps(window)

    def test_opens_on_all_where_steps_are_nearly_all(self):
        window = self.opened(lambda: late(imports_s=0, end_s=0), "early")
        self.assertLess(browser.range_ns(self.in_view(window))[0], 0)
        self.assertEqual(self.button(window, "Steps").count(), 0)
        self.assertNotIn("view", window.state())

    def test_opens_on_the_range_that_the_page_was_made_for(self):
        trace, _ = report_files.written(late, "late")
        window = self.open(report_files.report(trace, "part", "--range", "9s-10s"), "#page=timeline")
        self.assertEqual(self.in_view(window), f"{9 * SECOND}-{10 * SECOND}")
        self.button(window, "All").click()
        self.assertLess(browser.range_ns(self.in_view(window))[0], 0)
        self.button(window, "Range").click()
        self.assertEqual(self.in_view(window), f"{9 * SECOND}-{10 * SECOND}")

    def test_time_order_follows_the_selected_range_first(self):
        """The opening is nobody's choice: a range that the reader selects comes before it."""
        window = self.opened(late, "late", "#page=flame&flame=time")
        drawn = window.page.locator("main [role=application]").first
        low, _ = browser.range_ns(drawn.get_attribute("data-view"))
        self.assertGreater(low, self.STEPS[0] - SECOND)
        window.go("#page=flame&flame=time&select=1000000000-2000000000")
        self.assertEqual(drawn.get_attribute("data-view"), "1000000000-2000000000")

    def test_a_compiled_region_opens_to_its_kernels(self):
        """By name, that with the most time first; eight names, of which six are shown at first."""
        def compiled():
            script = Script()
            script.experiment("compiled")
            script.run(1, "M/L", 1)
            script.track(1, "main")
            script.span("net", UNIX_START, SECOND)
            region = script.span("Torch-Compiled Region: 0/0", UNIX_START, SECOND, "layer")
            for number in range(16):
                script.span(f"cpp_fused_{number % 8}", UNIX_START + number * 1_000_000, (number % 8 + 1) * 100_000, "layer",
                            parent=region)
            return script
        window = self.opened(compiled, "compiled", "#page=timeline&span=1")
        details = window.page.get_by_role("region", name="Selected span")
        kernels = details.get_by_role("button", name="cpp_fused_")
        self.assertEqual(kernels.all_inner_texts(), [f"cpp_fused_{number}" for number in (7, 6, 5, 4, 3, 2)])
        self.assertIn("16 children", details.inner_text())
        self.assertIn("2× 1.6 ms", details.inner_text())
        details.get_by_role("button", name="and 2 more names").click()
        self.assertEqual(kernels.count(), 8)
        kernels.first.click()
        self.assertIn("800 µs", details.inner_text())

    def test_processes_and_threads_have_the_names_of_their_roles(self):
        window = self.opened(loading, "loading")
        groups = [text.split("\n") for text in window.page.locator(".side-group").all_inner_texts()]
        self.assertEqual([group[0] for group in groups], ["python3, pid 100", "loader worker 1", "loader worker 2", "sh, pid 400"])
        threads = window.page.locator(".side-track .side-name").all_inner_texts()
        self.assertEqual([text.strip() for text in threads], ["main", "autograd", "pool", "main", "main", "main"])
        titles = [box.get_attribute("title") for box in window.page.locator(".side-group").all()]
        self.assertIn("pid 200", titles[1])

    def test_processes_of_a_job_have_their_ranks(self):
        """A worker that a rank started inherits the rank."""
        def job():
            script = Script()
            script.experiment("job")
            script.run(1, "A/M", 1)
            for rank in (0, 1):
                script.track(rank + 1, "python3", process=100 + rank, thread=100 + rank, rank=rank, world_size=2)
                script.span("training step", UNIX_START, SECOND, track=rank + 1)
            script.track(3, "pt_data_worker", process=200, thread=200, rank=1, world_size=2)
            script.span("Pictures.__getitem__", UNIX_START, SECOND, "application", track=3, category="input")
            return script
        window = self.opened(job, "job")
        groups = [text.split("\n")[0] for text in window.page.locator(".side-group").all_inner_texts()]
        self.assertEqual(groups, ["rank 0", "rank 1", "loader worker 1 of rank 1"])

    def test_processes_that_serve_requests_are_servers(self):
        """By the loop of a server on the main thread, or on one that runs the model; not by one of metrics beside a training."""
        def served():
            script = Script()
            script.experiment("served")
            script.run(1, "A/M", 1)
            base = script.context("<module>", file="/app/main.py", line=3)
            loops = [script.context(name, base, file=f"/usr/lib/python3.11/{file}", line=9) for name, file in (
                ("Server.run", "site-packages/uvicorn/server.py"), ("Arbiter.run", "site-packages/gunicorn/arbiter.py"),
                ("BaseServer.serve_forever", "socketserver.py"), ("ThreadingMixIn.process_request_thread", "socketserver.py"))]
            worker = script.context("SyncWorker.run", loops[1], file="/venv/gunicorn/workers/sync.py", line=9)
            at = script.context("predict", worker, file="/app/main.py", line=7)
            tracks = ((100, 100, loops[0]), (200, 200, loops[1]), (300, 300, at), (400, 400, base), (400, 401, loops[2]),
                      (500, 500, base), (500, 501, loops[3]))
            for number, (process, thread, context) in enumerate(tracks, 1):
                script.track(number, "python3", process=process, thread=thread)
                level = "model" if thread in (400, 501) else "application"
                script.span("work", UNIX_START, SECOND, level, track=number)
                script.sample("cpu", UNIX_START + 1000, 1000, context, track=number)
            return script
        window = self.opened(served, "served")
        groups = [text.split("\n")[0] for text in window.page.locator(".side-group").all_inner_texts()]
        self.assertEqual(groups, ["server", "server 2", "server worker 1", "python3, pid 400", "server 3"])

    def test_runs_of_services_have_their_names(self):
        span = {"traceId": "1" * 32, "name": "GET /", "startTimeUnixNano": str(UNIX_START), "endTimeUnixNano": str(UNIX_START + 1000)}
        resources = [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]},
                      "scopeSpans": [{"spans": [{**span, "spanId": f"{number:016x}"}]}]}
                     for number, name in enumerate(("shop", "stock"), 1)]
        source, path = report_files.folder() / "services.json", report_files.folder() / "services.xsp"
        source.write_text(json.dumps({"resourceSpans": resources}))
        xsp("import", source, "-o", path, "--force", check=0)
        window = self.open(report_files.report(path))
        self.assertEqual(window.page.locator("header select").first.locator("option").all_inner_texts(),
                         ["shop, A, run 1", "stock, A, run 2"])
        self.assertEqual([row["service"] for row in browser.rows_of(window.table("ranges"))], ["shop", "stock"])
        chrome = path.with_suffix(".json")
        xsp("export", path, "--to", "chrome", "-o", chrome, "--force", check=0)
        self.assertEqual([event["args"]["name"].split(" of ")[0] for event in json.loads(chrome.read_text())["traceEvents"]
                          if event["name"] == "process_name"], ["shop", "stock"])
        self.assertEqual(window.cut_off(), [])


if __name__ == "__main__":
    unittest.main()
