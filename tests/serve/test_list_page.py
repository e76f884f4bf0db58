# SPDX-License-Identifier: Apache-2.0
"""The server's list of files as a page: what it shows, without and in a real browser."""
import html
import pathlib
import re
import unittest

import browser
import report_files
from otlp import request, span
from scripted import UNIX_START, Script, temporary_folder
from server import Server
from test_api import ApiTest

HOSTILE = report_files.HOSTILE


class ListTest(ApiTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        hostile = Script()
        for number, text in enumerate(HOSTILE, 1):
            hostile.experiment(text, number, text, text, text)
            hostile.run(number, "M/L", experiment_id=number)
            hostile.track(run_id=number)
            hostile.span(text, UNIX_START, 1000, run_id=number)
        hostile.write(cls.folder / "hostile.xsp")
        long = Script()
        long.experiment("x" * 5000, 1, "/models/" + "y" * 5000, "z" * 5000)
        long.run()
        long.track()
        long.span("predict", UNIX_START, 1000)
        long.write(cls.folder / ("l" * 150 + ".xsp"))
        command = Script()
        command.experiment("python3", 1, "/usr/bin/python3 /home/ann/train.py -c open('a/b')")
        command.run()
        command.track()
        command.span("predict", UNIX_START, 1000)
        command.write(cls.folder / "command.xsp")
        (cls.folder / "net.xsp").write_bytes(report_files.profiled()[0].read_bytes())
        (cls.folder / "broken.xsp").write_bytes(b"SQLite format 3\0 and no more")
        cls.spans = cls.received(cls(), span(1))


class Text(ListTest):
    def rows(self, query=""):
        text = self.get(f"/{query}")[1].decode()
        cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)]
        return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in cells[1:]]

    def test_rows(self):
        rows = {row[0]: row for row in self.rows()}
        self.assertEqual(set(rows), {"hostile.xsp", "l" * 150 + ".xsp", "command.xsp", "net.xsp", "broken.xsp", self.spans})
        runs = [run for run in self.json("/api/v1/runs?limit=9999")["runs"] if run["file"] == "net.xsp"]
        self.assertEqual(rows["net.xsp"][1:5], ["net.xspscript", "script 1", "M, M/L, M/L/K",
                                                str(sum(run["spans"] for run in runs))])
        self.assertEqual(rows["command.xsp"][1], "python3 train.py -c open('a/b')")
        self.assertEqual(rows["net.xsp"][7], "complete")
        self.assertEqual(rows[self.spans][7], "growing")
        self.assertIn("truncated", rows["broken.xsp"][1])
        self.assertEqual(self.rows()[0][0], self.spans)  # the newest one

    def test_filter(self):
        self.assertEqual([row[0] for row in self.rows("?q=NET.xspscript")], ["net.xsp"])
        self.assertEqual([row[0] for row in self.rows("?q=hostile")], ["hostile.xsp"])
        self.assertEqual(self.rows("?q=nothing%20of%20this"), [])

    def test_texts_are_escaped(self):
        for path in ("/", "/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"):
            text = self.get(path)[1].decode()
            tags = set(re.findall(r"<(\w+)", text))
            self.assertLessEqual(tags, {"html", "head", "meta", "title", "link", "body", "header", "h1", "form", "input",
                                        "button", "main", "table", "thead", "tbody", "tr", "th", "td", "a", "span", "b", "p"})
            for tag in re.findall(r"<[^>]*>", text):
                self.assertNotRegex(tag, r"\b(?:on\w+|style|srcdoc)=")

    def test_policy(self):
        headers, _ = self.get("/")
        policy = headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("script-src", policy)
        self.assertEqual(self.get("/list.css")[0]["Content-Type"], "text/css; charset=utf-8")

    def test_nothing(self):
        with Server(self.parent / "empty") as server:
            text = server.ask(None, {}, path="/", method="GET")[2].decode()
            self.assertIn(f"curl -T out.xsp http://127.0.0.1:{server.port}/api/v1/files/", text)


class Window:
    """A page of the server; problems are what a reader would not see."""

    def __init__(self, test, url, size=(1440, 900), **context):
        self.problems = []
        context = browser.chromium().new_context(viewport={"width": size[0], "height": size[1]}, **context)
        test.addCleanup(context.close)
        context.set_default_timeout(browser.WAIT_MS)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.problems.append(dialog.message), dialog.dismiss()))
        self.page.goto(url)


class InBrowser(ListTest):
    def setUp(self):
        if browser.missing():
            self.skipTest(browser.missing())
        self.url = self.server.about["url"]

    def test_it_fits_and_is_accessible(self):
        for size in ((1440, 900), (390, 844)):
            for scheme in ("light", "dark"):
                with self.subTest(size=size, scheme=scheme):
                    window = Window(self, self.url, size, color_scheme=scheme)
                    self.assertEqual(window.page.evaluate(browser.CUT_OFF), [])
                    overlaps = window.page.evaluate("""() => [...document.querySelectorAll("td")].filter((cell) => {
                      const range = document.createRange(); range.selectNodeContents(cell);
                      const label = getComputedStyle(cell, "::before");
                      return label.content !== "none" && cell.innerText !== "" &&
                        range.getBoundingClientRect().left < cell.getBoundingClientRect().left + 100; }).length""")
                    self.assertEqual(overlaps, 0)
                    self.assertEqual(browser.violations(window), [])
                    self.assertEqual(window.problems, [])

    def test_from_the_list_to_a_page(self):
        window = Window(self, self.url)
        window.page.fill("input", "net.xspscript")
        window.page.click("button")
        window.page.click("tbody a >> text=net.xsp")
        window.page.locator("main:not([aria-busy=true])").first.wait_for()
        self.assertIn("conv2", window.page.inner_text("main"))
        self.assertEqual(window.problems, [])

    def test_download(self):
        window = Window(self, self.url)
        with window.page.expect_download() as download:
            window.page.click("[aria-label='Download net.xsp']")
        self.assertEqual(pathlib.Path(download.value.path()).read_bytes(), (self.folder / "net.xsp").read_bytes())

    def test_the_live_page_is_one_click_away(self):
        window = Window(self, self.url)
        window.page.click("header a")
        window.page.wait_for_url(f"{self.url}/live*")

    def test_a_browser_sends_the_token_as_a_password(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        token = pathlib.Path(folder.name) / "token"
        token.write_text("s3cret")
        with Server(pathlib.Path(folder.name) / "traces", "--token-file", token) as server:
            window = Window(self, server.about["url"], http_credentials={"username": "any", "password": "s3cret"})
            self.assertEqual(window.page.inner_text("h1"), "Traces")
            self.assertEqual(window.problems, [])

    def test_a_page_of_another_site_gets_nothing(self):
        """A page of another origin (the same machine, another port) that links to, embeds and asks for the list."""
        with Server(self.parent / "other") as other:
            window = Window(self, other.about["url"])
            window.page.set_content(f'<a href="{self.url}/">there</a><img src="{self.url}/list.css">')
            with window.page.expect_response(f"{self.url}/") as reply:
                window.page.click("a")
            self.assertEqual(reply.value.status, 403)


if __name__ == "__main__":
    unittest.main()
