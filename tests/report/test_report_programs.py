# SPDX-License-Identifier: Apache-2.0
"""Pages about some programs in real Chromium: the input pipeline (A19), generations (A20) and compilation (A25), against `xsp
analyze`; programs
without them have no such pages."""
import unittest

import browser
import report_files
from scripted import UNIX_START, Script, xsp_json

MS = 1_000_000


def loading():
    """Steps of 100 ms that wait 40 ms for the batch of a worker."""
    script = Script()
    script.experiment("loading")
    script.run(1, "A/M/L", 4)
    script.track(1, "python3")
    script.track(2, "pt_data_worker", process=200, thread=200)
    for step in range(5):
        start = UNIX_START + step * 100 * MS
        script.span("training step", start, 100 * MS, tags={"batch_size": 4})
        script.span("next", start, 40 * MS, "application", category="data")
        script.span("Pictures.__getitem__", start, 90 * MS, "application", track=2, category="input",
                    tags={"file": "/home/me/train.py", "line": 12})
    return script


def decoding():
    """Three requests of a prompt of 8 tokens and 4 new ones; the last has no cache."""
    script = Script()
    script.experiment("decoding")
    script.run(1, "M", 1)
    script.track(1, "python3")
    start = UNIX_START
    for request in range(3):
        for call in range(4):
            tokens = 8 + call if request == 2 else 8 if call == 0 else 1
            duration = (20 if call == 0 else 5) * MS
            script.span("Llama", start, duration, tags={"batch_size": 1, "signature": f"int64[1,{tokens}]"})
            start += duration + MS
        start += 50 * MS
    return script


def job():
    """Two ranks with steps of 100 ms: rank 1 computes for 80 of them, rank 0 for 40, then both reduce."""
    script = Script()
    script.experiment("job")
    script.run(1, "A/M/L/Lib", batch=None)
    for rank, computes in enumerate((40, 80)):
        main, worker = 2 * rank + 1, 2 * rank + 2
        for track in (main, worker):
            script.track(track, "python3", process=100 + rank, thread=1000 + track, rank=rank, world_size=2)
        for step in range(10):
            start = UNIX_START + 100 * step * MS
            script.span("training step", start, 100 * MS, track=main)
            script.span("aten::mm", start, computes * MS, "layer", track=main)
            begin = start + computes * MS
            parent = script.span("c10d::all_reduce", begin, MS, "layer", track=main)
            script.span("gloo:all_reduce", begin + MS, (94 - computes) * MS, "library", track=worker, parent=parent,
                        category="collective", tags={"bytes": 4096, "group": "0", "sequence": step + 1})
    return script


def compiling():
    """Steps that compile for 30 ms of 40: the first time, then for another shape each."""
    script = Script()
    script.experiment("compiling")
    script.run(1, "A/M/L", 4)
    script.track(1, "python3")
    for step in range(4):
        start = UNIX_START + step * 100 * MS
        script.span("Net", start, 40 * MS, tags={"batch_size": 4})
        tags = {"compile_id": f"0/{step}", "function": "Net.forward", "file": "/home/me/net.py", "line": 7}
        if step > 0:
            tags["reason"] = f"0/{step - 1}: tensor 'x' size mismatch at index 0. expected {step}, actual {step + 1}"
        script.span("torch.compile", start, 30 * MS, "application", category="compile", tags=tags)
    return script


class ReportProgramsTest(browser.BrowserTest):
    def links(self, window):
        return window.page.get_by_role("navigation", name="Pages").get_by_role("link").all_inner_texts()

    def check_words(self, window, trace, *analyses):
        """The page's tables have the terminal's headings (A1 to A15 and L0: test_report_tables.py)."""
        for name in analyses:
            labels = {column["key"]: column["label"] for column in xsp_json("analyze", name, trace, "--json")["columns"]}
            table = window.table(name)
            self.assertEqual(table["heads"], [labels[key] for key in table["keys"]])

    def test_input(self):
        trace, page = report_files.written(loading, "loading-input")
        window = self.open(page)
        self.assertNotIn("Generations", self.links(window))
        window.open_page("input")
        table = xsp_json("analyze", "A19", trace, "--json")
        self.check_words(window, trace, "A19")
        self.assertIn("bound by their input", window.text())
        self.assertEqual(table["summary"]["workers"], 1)
        self.assertIn("1 worker made them", window.text())
        self.assertIn("40 ms, 40 %", window.text())
        rows = browser.rows_of(window.table("A19"))
        self.assertEqual([(row["function"], row["line"]) for row in rows], [("Pictures.__getitem__", "12")])
        self.assertEqual(browser.violations(window) + window.cut_off(), [])

    def test_generations(self):
        trace, page = report_files.written(decoding, "decoding")
        window = self.open(page, size=(400, 850), scheme="dark")
        self.assertNotIn("Input", self.links(window))
        window.open_page("generations")
        expected = xsp_json("analyze", "A20", trace, "--json")["rows"]
        rows = sorted(browser.rows_of(window.table("A20")), key=lambda row: int(row["request"]))
        self.assertEqual(len(expected), 3)
        for row, answer in zip(rows, expected):
            self.assertTrue(all(browser.is_value(row[key], answer[key]) for key in row), (row, answer))
        self.check_words(window, trace, "A20")
        self.assertIn("1 request decoded without a cache", window.text())
        self.assertEqual(window.page.locator("main .panel canvas").count(), 2)
        self.assertEqual(browser.violations(window) + window.cut_off(), [])

    def test_compilation(self):
        trace, page = report_files.written(compiling, "compiling")
        window = self.open(page)
        window.open_page("compilation")
        self.assertIn("3 times something was compiled again.", window.text())
        self.assertIn("90 ms, 75 %", window.text())
        self.check_words(window, trace, "A25")
        rows = browser.rows_of(window.table("A25"))
        self.assertEqual([(row["function"], row["kind"]) for row in rows],
                         [("Net.forward", "new shape"), ("Net.forward", "first")])
        for row, answer in zip(rows, xsp_json("analyze", "A25", trace, "--json")["rows"]):
            self.assertTrue(all(browser.is_value(row[key], answer[key]) for key in ("count", "total_ms", "max_ms")), row)
        self.assertEqual(browser.violations(window) + window.cut_off(), [])

    def test_ranks(self):
        trace, page = report_files.written(job, "job")
        for size, scheme in (((1280, 800), "light"), ((400, 850), "dark")):
            window = self.open(page, size=size, scheme=scheme)
            window.open_page("ranks")
            expected = xsp_json("analyze", "A21", trace, "--json")
            self.assertEqual(expected["summary"]["slowest_rank"], 1)
            for row in expected["rows"][:2]:
                cells = window.page.locator(f"tr[data-rank='{row['rank']}']")
                titles = cells.locator("td").evaluate_all("(all) => all.map((one) => Number(one.title))")
                keys = ("step_ms", "own_ms", "compute_ms", "communication_ms", "exposed_ms", "waiting_ms")
                self.assertEqual(titles, [row[key] for key in keys])
                self.assertEqual("slowest" in cells.inner_text(), row["rank"] == "1")
            self.assertEqual(len(browser.rows_of(window.table("A24"))), 1)
            self.check_words(window, trace, "A21", "A24", "A27")
            heads = window.page.locator(".rank-heat th[scope=col]").all_inner_texts()
            labels = {column["key"]: column["label"] for column in expected["columns"]}
            self.assertEqual(heads, ["rank", *(labels[key] for key in keys)])
            steps = xsp_json("analyze", "A27", trace, "--json")["rows"]
            titles = window.page.locator(".rank-steps span").evaluate_all("(all) => all.map((one) => one.title)")
            self.assertEqual([title.split(":")[0] for title in titles], [f"rank {row['rank']}, step {row['step']}" for row in steps])
            self.assertEqual(window.page.locator(".rank-steps b").all_inner_texts(), ["0", "1"])
            self.assertEqual(browser.violations(window) + window.cut_off(), [])

    def test_a_collective_is_joined_over_ranks(self):
        """Rank 0 is in the all-reduce of each step 40 ms before rank 1."""
        trace, page = report_files.written(job, "job")
        spans = xsp_json("sql", trace, "select s.name, t.rank from span s join track t using (run_id, track_id)"
                         " order by s.track_id, s.start_ns", "--json")
        place = next(i for i, span in enumerate(spans) if span == {"name": "gloo:all_reduce", "rank": 0})
        for size, scheme in (((1440, 900), "light"), ((390, 844), "dark")):
            window = self.open(page, f"#page=timeline&span={place}", size=size, scheme=scheme)
            details = window.page.get_by_role("region", name="Selected span")
            for other, text in ((1, "rank 1, began 40 ms later"), (0, "rank 0, began 40 ms earlier")):
                details.get_by_text(text).wait_for()
                window.page.keyboard.press("g")
            details.get_by_text("rank 1, began 40 ms later").wait_for()
            self.assertEqual(browser.violations(window), [])

    def test_a_link_to_such_a_page_has_the_reason(self):
        window = self.open(report_files.written(report_files.many_kernels, "kernels")[1], "#page=input")
        self.assertIn("No data loader", window.text())
        self.assertIn("Input", self.links(window))


if __name__ == "__main__":
    unittest.main()
