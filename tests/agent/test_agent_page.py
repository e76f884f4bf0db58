# SPDX-License-Identifier: Apache-2.0
"""The agent's page in Chromium: starts evaluations, shows how far they are, lays results side by side."""
import os
import pathlib
import unittest

import browser
import scripted
from agent_case import AgentTest
from agents import manifest
from scripted import temporary_folder
from server import Server, wait_for

SHOTS = os.environ.get("XSP_SCREENSHOTS")


@unittest.skipIf(browser.missing(), browser.missing())
class PageTest(AgentTest):
    def setUp(self):
        (self.folder / "models" / "dark.yml").write_text(manifest("dark", "2.0").replace("mean: 127.5", "mean: 0"))
        self.agent_process = self.agent()
        self.wait_for_models("dark", "net")
        (self.folder / "models" / "hidden.yml").write_text(manifest("hidden", permissions={"view": ["ann"]}))  # not registered
        context = browser.chromium().new_context(viewport={"width": 1440, "height": 900})
        self.addCleanup(context.close)
        self.page, self.problems = context.new_page(), []
        self.page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(self.agent_process.url)
        self.page.wait_for_selector("body[data-state=current]")
        self.page.wait_for_selector("#models input")

    def tearDown(self):
        self.assertEqual(self.problems, [])

    def choose(self, *models, data="set", **values):
        for box in self.page.query_selector_all("#models input"):
            box.set_checked(box.get_attribute("value").split("==")[0] in models)
        self.page.select_option("#data", data)
        for name, value in values.items():
            self.page.fill(f"#{name}", str(value))
        self.page.click("#start > button")

    def results(self):
        heads, *rows = self.page.evaluate('''() => [...document.querySelectorAll("#results tr")].map((row) =>
                                                [...row.cells].map((cell) => cell.innerText))''')  # at once: the page may replace it
        return [dict(zip(heads, row, strict=True)) for row in rows]

    def test_start_watch_and_compare(self):
        offered = [box.get_attribute("value") for box in self.page.query_selector_all("#models input")]
        self.assertEqual(offered, ["dark==2.0", "hidden==1.0", "net==1.0"])
        self.choose("net", batch=3)
        self.page.wait_for_selector("#jobs li[data-state=done]")
        self.choose("net", "dark", batch=3)
        wait_for(lambda: len(self.results()) == 3, "three rows")
        rows = self.results()
        self.assertEqual(sorted(row["model"] for row in rows), ["dark", "net", "net"])
        self.assertEqual({row["inputs"] for row in rows}, {"12"})
        jobs = self.agent_process.ask("GET", "/evaluations")[2]["evaluations"]
        truth = [row for job in jobs for row in self.look_rows(job["id"])]
        self.assertEqual([float(row["top1 pct"].split()[0]) for row in rows], [float(f"{row['top1_pct']:.4g}") for row in truth])
        self.assertTrue(any("%" in row["latency ms"] for row in rows))
        self.page.check("#results tbody tr:nth-child(2) input")
        self.assertNotIn("%", self.results()[1]["latency ms"])
        self.assertIn("%", self.results()[0]["latency ms"])
        self.assertRegex(self.page.query_selector("#jobs a").get_attribute("href"), "^evaluations/[0-9a-f]{32}/file$")
        for width in (1440, 390):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.assertEqual(self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), True, width)
            if SHOTS:
                self.page.locator("main").screenshot(path=pathlib.Path(SHOTS) / f"agent-{width}.png")
        self.assertEqual(browser.violations(self), [])
        self.page.click("#jobs li:first-child button")
        wait_for(lambda: len(self.results()) < 3, "fewer rows")

    def look_rows(self, number):
        result = self.agent_process.look(number)["result"]
        return (result[0] if isinstance(result, list) else result)["rows"]

    def test_spans_while_it_runs(self):
        """The evaluation of one model is on the live page of the server that gets its spans."""
        with temporary_folder() as folder, Server(folder) as server:
            self.choose("net", data="many.csv", spans=server.about["url"])
            address = self.page.inner_text("#jobs li[data-state=running] .spans").removeprefix("spans: ")
            self.assertEqual(address, f"{server.about['url']}/live")
            live = self.page.context.new_page()
            live.goto(address)
            live.wait_for_function("() => /[1-9][0-9,]* predictions/.test(document.querySelector('.live-bar')?.textContent)")
            job, = self.agent_process.ask("GET", "/evaluations")[2]["evaluations"]
            self.assertEqual(job["state"], "running")
            live.close()
            self.page.click("#jobs button")
            self.wait_for_state(self.agent_process, job["id"], "cancelled")

    def test_times_at_levels_of_a_device(self):
        """A profile: levels and a device are chosen; what is of data is not asked for. Its spans go to a server while it runs."""
        server = self.enterContext(Server(self.enterContext(temporary_folder())))
        for key, value in (("verb", "profile"), ("device", "cpu")):
            self.page.select_option(f"#{key}", value)
        self.assertEqual([self.page.evaluate("(id) => document.getElementById(id).disabled", key) for key in ("data", "limit", "scenarios", "metrics")], [True, True, True, False])
        self.assertFalse(self.page.is_visible("#metrics"))  # there is no GPU
        self.page.fill("#batch", "1,2")
        self.page.fill("#levels", "M,M/L")
        self.page.fill("#spans", server.about["url"])
        for box in self.page.query_selector_all("#models input"):
            box.set_checked(box.get_attribute("value") == "net==1.0")
        self.page.click("#start > button")
        self.page.wait_for_selector("#results tbody tr:nth-child(2)")
        self.assertEqual([(row["model"], row["batch size"]) for row in self.results()], [("net", "1"), ("net", "2")])
        job, = self.agent_process.ask("GET", "/evaluations")[2]["evaluations"]
        self.assertEqual(self.page.evaluate("(id) => localStorage.getItem(`spans ${id}`)", job["id"]), f"{server.about['url']}/live")
        path = self.folder / "trace.xsp"
        path.write_bytes(self.agent_process.ask("GET", f"/evaluations/{job['id']}/file")[2])
        rows = scripted.xsp_json("sql", path, "select distinct levels from run order by 1", "--json")
        self.assertEqual([row["levels"] for row in rows], ["M", "M/L"])

    def test_manifests_are_the_owners(self):
        self.assertFalse(self.page.is_visible("#publish"))
        self.assertTrue(self.page.is_visible("#no-publishing"))
        (self.folder / "token").write_text("secret\n")
        owned = self.agent("--token-file", self.folder / "token", name="two")
        context = browser.chromium().new_context(http_credentials={"username": "any", "password": "secret"})
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(owned.url)
        page.wait_for_selector("#publish")

        def listed():
            return page.locator("#manifests strong").all_inner_texts()
        wait_for(lambda: "net" in listed(), "the manifests")
        page.fill("#file", "fresh")
        page.fill("#manifest", "nonsense: [")
        page.click("#publish > button")
        wait_for(lambda: page.inner_text("#publish-problem") != "", "why it is refused")
        page.fill("#manifest", manifest("fresh", "3.0"))
        page.click("#publish > button")
        wait_for(lambda: "fresh" in listed(), "the new one")
        self.assertEqual(page.inner_text("#publish-problem"), "")
        self.assertIn("fresh==3.0", [box.get_attribute("value") for box in page.query_selector_all("#models input")])
        page.click("[aria-label='Remove fresh']")
        wait_for(lambda: "fresh" not in listed(), "its end")
        self.assertFalse((self.folder / "models" / "fresh.yml").exists())

    def test_one_that_runs_shows_its_progress_and_can_be_ended(self):
        self.choose("net", data="many.csv")
        wait_for(lambda: "inference" in (self.page.text_content("#jobs") or ""), "its progress")
        self.choose("net")
        wait_for(lambda: "place 1 in the queue" in (self.page.text_content("#jobs") or ""), "the place of the next one")
        self.page.click("#jobs li button")
        self.page.wait_for_selector("#jobs li[data-state=cancelled]")

    def test_keys_reach_what_changes(self):
        for count in (1, 2):
            self.choose("net")
            wait_for(lambda: self.page.locator("#results tbody tr").count() == count, "the results")
        self.page.focus("#results input:checked")
        self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("ArrowUp")
        self.assertTrue(self.page.is_checked("#results tbody tr:first-child input"))
        self.choose("net", data="many.csv")
        last = self.page.locator("#jobs li").nth(2)
        wait_for(lambda: "inference" in last.inner_text(), "its progress")
        last.locator("button").focus()
        before = last.inner_text()
        wait_for(lambda: last.inner_text() != before, "its progress after that")
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("#jobs li[data-state=cancelled]")

    def test_what_is_refused_is_said(self):
        self.choose(data="set")
        self.assertEqual(self.page.inner_text("#problem"), "choose a model")
        (self.folder / "models" / "dark.yml").unlink()
        self.wait_for_models("net")
        self.choose("dark")
        wait_for(lambda: "there is no model" in self.page.inner_text("#problem"), "the reason")
        self.problems.clear()  # the browser reports the reply's status

    def test_without_data_sets_it_says_what_is_missing(self):
        (self.folder / "empty").mkdir()
        self.page.goto(self.agent("--data", self.folder / "empty", name="two").url)
        self.page.wait_for_selector("#models input")
        self.assertIn("--data", self.page.inner_text("#data"))

    def test_an_agent_that_goes_away(self):
        self.agent_process.stop()
        self.page.wait_for_selector("body[data-state=away]")
        self.assertIn("does not answer", self.page.inner_text("#problem"))
        (self.folder / "models" / "later.yml").write_text(manifest("later"))
        self.addCleanup((self.folder / "models" / "later.yml").unlink)
        self.agent("--listen", self.agent_process.url.removeprefix("http://"))
        self.page.wait_for_selector("body[data-state=current]")
        self.assertEqual(self.page.inner_text("#problem"), "")
        self.assertIn("later==1.0", [box.get_attribute("value") for box in self.page.query_selector_all("#models input")])
        self.problems.clear()


if __name__ == "__main__":
    unittest.main()
