# SPDX-License-Identifier: Apache-2.0
"""The flame graph of the report's page in real Chromium: numbered steps are one context until they are asked for apart."""
import unittest

import browser
import report_files
from browser import rows_of
from scripted import RANGES_IN_STEPS, UNIX_START, Script, ranges_in_steps
from test_stacks import ADD, CPU_TIME, FORWARD, MAIN, SAMPLED, STACKS, WAITS, frames_and_kernel, sampled, threads

MS = 10**6


def steps():
    """Steps 5 to 8 of 10 ms with a layer of 4 ms; two models whose names end in numbers of their own."""
    script = Script()
    script.experiment("steps")
    script.run(1, "M/L", 1)
    script.track(1, "main")
    for number in range(5, 9):
        start = UNIX_START + number * 100 * MS
        script.span(f"ProfilerStep#{number}", start, 10 * MS)
        script.span("conv1", start + 1000, 4 * MS, "layer", tags={"layer_index": 0})
        script.span("conv2", start + 5 * MS, 1 * MS, "layer", tags={"layer_index": 1})
    for place, name in enumerate(("resnet50", "resnet101")):
        script.span(name, UNIX_START + (1000 + 100 * place) * MS, 20 * MS)
    return script


class ReportFlameTest(browser.BrowserTest):
    def contexts(self, window):
        window.page.locator("[data-table=flame]").wait_for()
        window.frames(4)
        return {(row["context"], row["in"]): (int(row["count"]), int(row["own_ns"])) for row in rows_of(window.table("flame"))}

    def test_numbered_steps_are_one_context(self):
        window = self.open(report_files.written(steps, "steps")[1], "#page=flame")
        models = {("resnet50", "all"): (1, 20 * MS), ("resnet101", "all"): (1, 20 * MS)}
        merged = self.contexts(window)
        self.assertEqual(merged, {("ProfilerStep#5…8", "all"): (4, 20 * MS), ("conv1", "ProfilerStep#5…8"): (4, 16 * MS),
                                  ("conv2", "ProfilerStep#5…8"): (4, 4 * MS), **models})
        window.page.get_by_label("Merge numbered steps").uncheck()
        apart = self.contexts(window)
        self.assertEqual(apart, {**models, **{(f"ProfilerStep#{n}", "all"): (1, 5 * MS) for n in range(5, 9)},
                                 **{("conv1", f"ProfilerStep#{n}"): (1, 4 * MS) for n in range(5, 9)},
                                 **{("conv2", f"ProfilerStep#{n}"): (1, 1 * MS) for n in range(5, 9)}})
        self.assertEqual(window.state()["x.flame.steps"], "apart")

    def test_a_merged_context_is_found_and_leads_to_a_span(self):
        window = self.open(report_files.written(steps, "steps")[1], "#page=flame&find=Step%237")
        window.page.locator("[data-match-total]").wait_for()
        self.assertEqual(window.page.locator("[data-match-total]").get_attribute("data-match-total"), str(40 * MS))
        window.section("flame").get_by_role("cell", name="conv1").first.click()
        window.page.get_by_role("button", name="On the timeline").click()
        window.page.locator("main#page-timeline").wait_for()
        self.assertIn("span", window.state())

    def test_a_span_inside_one_of_a_lower_level_counts_once(self):
        window = self.open(report_files.written(ranges_in_steps, "ranges")[1], "#page=flame")
        self.assertEqual(self.contexts(window), {(chain[-1], chain[-2] if len(chain) > 1 else "all"): (count, own)
                                                 for chain, (count, own) in RANGES_IN_STEPS.items()})

    def test_functions_operators_and_kernels_are_one_stack(self):
        window = self.open(report_files.written(frames_and_kernel, "frames")[1], "#page=flame")
        expected = {**STACKS, ("program", MAIN): (0, 0), ("program", MAIN, FORWARD): (0, 0)}
        self.assertEqual(self.contexts(window), {(chain[-1], chain[-2] if len(chain) > 1 else "all"): figures
                                                 for chain, figures in expected.items()})

    def test_a_function_leads_to_the_longest_span_that_it_calls(self):
        for names, place in (((MAIN,), 5), ((MAIN, FORWARD, "conv"), 1), ((MAIN, ADD), 2)):  # the kernel takes 400 ns, conv 300
            zoom = report_files.flame_zoom("program", *names)
            window = self.open(report_files.written(frames_and_kernel, "frames")[1], f"#page=flame&{zoom}")
            self.contexts(window)
            window.page.get_by_role("button", name="On the timeline").click()
            window.page.locator("main#page-timeline").wait_for()
            self.assertEqual(window.state()["span"], str(place), names)

    def test_an_address_shows_the_same_context_of_a_file_recorded_anew(self):
        def later():
            script = frames_and_kernel()
            script.context("more", file="train.py", line=1)  # numbered before program
            return script
        window = self.open(report_files.written(frames_and_kernel, "frames")[1], "#page=flame")
        window.section("flame").locator("td:first-child").get_by_text("gemm", exact=True).click()
        path = window.page.locator(".flame-path").inner_text()
        address = "&".join(f"{key}={value}" for key, value in window.state().items())
        window = self.open(report_files.written(later, "later")[1], f"#{address}")
        window.page.locator(".flame-path [aria-current]").get_by_text("gemm").wait_for()
        self.assertEqual(window.page.locator(".flame-path").inner_text(), path)

    def test_samples_of_instructions_are_a_value(self):
        """The figures of `xsp export --metric samples`; in time there are none of them."""
        window = self.open(report_files.written(sampled, "sampled")[1], "#page=flame")
        self.contexts(window)
        window.page.get_by_label("Value").select_option(label="Samples of instructions")
        window.page.locator(".flame-panel[data-value=samples]").wait_for()
        window.frames(4)
        rows = {(row["context"], row["in"]): int(row["own_samples"]) for row in rows_of(window.table("flame"))}
        self.assertEqual({key: own for key, own in rows.items() if own > 0},
                         {chain[-2:][::-1]: samples for chain, samples in SAMPLED.items()})
        self.assertEqual(window.page.locator(".flame-frame").first.get_attribute("data-total"), str(sum(SAMPLED.values())))
        self.assertEqual(window.state()["x.flame.value"], "samples")
        self.assertNotIn("span", window.page.locator(".flame-frame").first.get_attribute("aria-label"))
        window.page.get_by_role("button", name="Bottom-up").click()
        names = {row["name"]: int(row["own_samples"]) for row in rows_of(window.table("flame.names")) if row["own_samples"] != "0"}
        self.assertEqual(names, {chain[-1]: samples for chain, samples in SAMPLED.items()})

    def test_samples_of_threads_are_values(self):
        """CPU time and waits, each a tree of its own; the time of spans has none of them."""
        window = self.open(report_files.written(threads, "threads")[1], "#page=flame")
        self.contexts(window)
        whole = window.page.locator(".flame-frame").first.get_attribute("data-total")
        self.assertEqual(whole, str(sum(own for _, own in STACKS.values())))
        for label, value, figures in (("CPU time of samples", "cpu", CPU_TIME), ("Waits of samples", "wait", WAITS)):
            window.page.get_by_label("Value").select_option(label=label)
            window.page.locator(f".flame-panel[data-value={value}]").wait_for()
            window.frames(len(figures))
            rows = {row["context"]: int(row["own_ns"]) for row in rows_of(window.table("flame"))}
            self.assertEqual(rows, {chain[-1]: own for chain, own in figures.items()})
            self.assertEqual(window.page.locator(".flame-frame").first.get_attribute("data-total"),
                             str(sum(figures.values())))
            self.assertEqual(window.state()["x.flame.value"], value)

    def test_a_file_without_samples_has_no_such_value(self):
        window = self.open(report_files.written(frames_and_kernel, "frames")[1], "#page=flame&x.flame.value=samples")
        self.contexts(window)
        self.assertEqual(window.page.locator(".flame-panel").get_attribute("data-value"), "both")

    def test_a_file_without_steps_has_no_such_choice(self):
        window = self.open(report_files.written(report_files.many_kernels, "kernels")[1], "#page=flame")
        self.contexts(window)
        self.assertEqual(window.page.get_by_label("Merge numbered steps").count(), 0)


if __name__ == "__main__":
    unittest.main()
