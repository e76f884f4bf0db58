# SPDX-License-Identifier: Apache-2.0
"""Pages of xsp serve: the parts are those of `xsp report`, windows of large runs are what SQL finds, and Chromium shows both."""
import atexit
import base64
import functools
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import unittest
import urllib.parse

import browser
import large_trace
import report_files
from page_parts import window_of
from scripted import temporary_folder, xsp, xsp_json
from server import Server, stopped_child, wait_for

PART = re.compile(r'<script type="application/octet-stream" id="xsp-([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>')
OBSERVATIONS = 3500  # of the large trace: more spans than a page gets at once


@functools.cache
def served():
    """A server's folder with a small trace of all levels and a large one."""
    made = temporary_folder()
    atexit.register(made.cleanup)
    folder = pathlib.Path(made.name) / "traces"
    folder.mkdir()
    shutil.copy(report_files.profiled()[0], folder / "small.xsp")
    large_trace.write(folder / "large.xsp", OBSERVATIONS)
    server = Server(folder)
    atexit.register(server.kill)
    return server


def get(path, **query):
    text = urllib.parse.urlencode(query)
    return served().ask(None, path=f"{path}?{text}" if text else path, method="GET")


def part(file, name):
    status, _, body = get(f"/files/{file}/page/parts/{name}")
    return gzip.decompress(body) if status == 200 else None


class Parts(unittest.TestCase):
    maxDiff = 4000

    def test_they_are_those_of_the_report(self):
        page = report_files.report(served().folder / "small.xsp").read_text()
        embedded = {name: gzip.decompress(base64.b64decode(text)) for name, text in PART.findall(page)}
        self.assertGreater(len(embedded), 10)
        document = json.loads(embedded.pop("document"))
        found = json.loads(part("small.xsp", "document"))
        self.assertEqual(found.pop("max_spans"), 300_000)
        document.pop("max_spans")
        document["files"][0]["name"] = found["files"][0]["name"]
        self.assertEqual(found, document)
        for name, content in embedded.items():
            self.assertEqual(part("small.xsp", name), content, name)

    def test_what_is_missing_or_malformed(self):
        for path, query, expected in (("/files/none.xsp/page/parts/document", {}, 404), ("/files/small.xsp/page/parts/0-none", {}, 404),
                                      ("/files/large.xsp/page/parts/0-level-0", {}, 404),
                                      ("/files/small.xsp/page/spans", {"run": 0, "from": 0, "to": 1}, 404),
                                      ("/files/large.xsp/page/spans", {"run": "x"}, 400),
                                      ("/files/large.xsp/page/spans", {"run": -1}, 400),
                                      ("/files/large.xsp/page/spans", {"run": 0, "most": 0}, 400),
                                      ("/files/large.xsp/page/spans", {"run": 0, "from": 2**63}, 400),
                                      ("/files/large.xsp/page/find", {"run": 0, "names": "5-1"}, 404),
                                      ("/files/large.xsp/page/find", {"run": 0, "names": "3-5,4"}, 404),
                                      ("/files/large.xsp/page/find", {"run": 0, "names": ",".join(["0-9"] * 50)}, 404),
                                      ("/files/large.xsp/page/tags", {"run_id": 1, "span_id": "1 or 1=1"}, 400)):
            with self.subTest(path=path, query=query):
                self.assertEqual(get(path, **query)[0], expected)

    def test_a_changed_file_is_shown_anew(self):
        folder = served().folder
        shutil.copy(folder / "small.xsp", folder / "changing.xsp")
        before = json.loads(part("changing.xsp", "document"))
        large_trace.write(folder / "next.xsp", 3)
        (folder / "next.xsp").rename(folder / "changing.xsp")
        after = json.loads(part("changing.xsp", "document"))
        self.assertNotEqual(before["runs"], after["runs"])
        kept = [path.name for path in (folder / ".pages").iterdir() if path.name.startswith("changing.xsp-")]
        self.assertEqual(len(kept), 1, kept)


class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = json.loads(part("large.xsp", "document"))
        cls.facts = cls.document["runs"][0]
        cls.first = int(cls.facts["first_ns"])
        cls.rows = xsp_json("sql", served().folder / "large.xsp",
                            "select span_id, parent_id, start_ns, duration_ns, name, level, kind from span order by start_ns", "--json")
        for row in cls.rows:
            row["from"] = row["start_ns"] - cls.first
            row["to"] = row["from"] + row["duration_ns"]
        cls.length = max(row["to"] for row in cls.rows)

    def window(self, start, end, **more):
        """The answer, its spans, and their parents."""
        status, _, body = get("/files/large.xsp/page/spans", run=0, **{"from": start, "to": end}, **more)
        self.assertEqual(status, 200, body)
        answer = json.loads(body)
        return answer, *window_of(answer, self.document["names"])

    def within(self, start, end):
        return [row for row in self.rows if row["from"] < end and (row["to"] > start or row["from"] >= start)]

    def test_the_document_has_an_overview(self):
        self.assertTrue(self.facts["has_windows"])
        self.assertEqual(self.facts["detail"], "merged")
        self.assertEqual(self.facts["recorded"], OBSERVATIONS * large_trace.IN_ONE)
        self.assertLess(self.facts["spans"], 40_001)

    def test_narrow_windows_have_each_span(self):
        chosen = random.Random(5)
        for _ in range(12):
            start = chosen.randrange(-1000, self.length)
            end = start + chosen.choice((1, 500, 60_000, 3_000_000, 40_000_000))
            (answer, spans, parents), expected = self.window(start, end), self.within(start, end)
            self.assertEqual(answer["detail"], "spans")
            self.assertEqual(sorted((one["id"], one["start"], one["duration"], one["name"]) for one in spans),
                             sorted((row["span_id"], row["from"], row["duration_ns"], row["name"]) for row in expected))
            known = {row["span_id"]: row["parent_id"] for row in expected}
            for one, parent in zip(spans, parents):
                recorded = known[one["id"]]
                self.assertEqual(spans[parent]["id"] if parent >= 0 else None, recorded if recorded in known else None)

    def test_wide_windows_have_rectangles_with_exact_sums(self):
        rows = {}
        for one in self.window(0, self.length, most=1_000_000)[1]:
            rows.setdefault(one["row"], []).append(one)
        self.assertEqual(sum(map(len, rows.values())), len(self.rows))
        for start, end, most in ((0, self.length, 40_000), (self.length // 3, self.length // 2, 10_000), (10**9, 1_100_000_000, 2_000)):
            answer, found, _ = self.window(start, end, most=most)
            self.assertEqual(answer["detail"], "merged")
            self.assertLess(answer["spans"], most + 1)
            self.assertGreater(answer["spans"], most // 8)
            for row in rows:
                merged = [one for one in found if one["row"] == row]
                low, high = merged[0]["start"], merged[-1]["start"] + merged[-1]["duration"]
                spans = [one for one in rows[row] if low <= one["start"] and one["start"] + one["duration"] <= high]
                self.assertEqual(sum(one["merged"] for one in merged), len(spans))
                self.assertEqual(sum(one["busy"] for one in merged), sum(one["duration"] for one in spans))

    def test_the_next_match(self):
        names = self.document["names"]
        wanted = [i for i, name in enumerate(names) if name == "gemm_3"]
        matches = sorted(row["from"] for row in self.rows if row["name"] == "gemm_3")
        chosen = random.Random(6)
        for at in [chosen.randrange(self.length) for _ in range(8)] + [-1, self.length + 1]:
            for back in (0, 1):
                found = json.loads(get("/files/large.xsp/page/find", run=0, names=str(wanted[0]), at=at, back="true" if back else "false")[2])
                later = [start for start in matches if start >= at] if back == 0 else [start for start in matches if start < at]
                expected = (later or matches)[-back]
                self.assertEqual((found["count"], found["start"]), (len(matches), expected))
                self.assertEqual(found["number"], matches.index(expected) + 1)

    def test_matches_of_more_names_than_there_are(self):
        found = json.loads(get("/files/large.xsp/page/find", run=0, names="0,1-67108863", at=-1)[2])
        self.assertEqual(found["count"], len(self.rows))

    def test_more_names_than_an_address_has_room_for(self):
        names = ",".join(map(str, range(len(self.document["names"]) + 5000)))
        query = {"run": 0, "at": self.length // 2}
        self.assertEqual(get("/files/large.xsp/page/find", names=names, **query)[0], 414)
        status, _, body = served().ask(names, path=f"/files/large.xsp/page/find?{urllib.parse.urlencode(query)}")
        self.assertEqual(status, 200, body)
        self.assertEqual(body, get("/files/large.xsp/page/find", names="0-67108863", **query)[2])
        self.assertEqual(served().ask(b"1," * (3 << 20), path="/files/large.xsp/page/find?run=0")[0], 413)

    def test_tags_of_a_span(self):
        layer = next(row for row in self.rows if row["level"] == "layer" and row["from"] > self.length // 2)
        found = json.loads(get("/files/large.xsp/page/tags", run_id=1, span_id=layer["span_id"])[2])
        expected = xsp_json("sql", served().folder / "large.xsp", f"select key, value from tag where span_id = {layer['span_id']}", "--json")
        self.assertEqual(found, [[row["key"], row["value"]] for row in expected])
        self.assertEqual(len(found), 2)


class Prepared(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "traces"

    def start(self, **environment):
        self.server = Server(self.folder, env={**os.environ, **environment})
        self.addCleanup(self.server.kill)

    def made(self):
        return [path.name for path in (self.folder / ".pages").iterdir() if path.suffix == ".parts"]

    def test_what_a_killed_server_left_is_removed(self):
        (self.folder / ".pages").mkdir(parents=True)
        for name in ("a.xsp-1.parts.77.partial", "b.xsp-1.parts"):
            (self.folder / ".pages" / name).touch()
        self.start()
        self.assertEqual(self.made(), ["b.xsp-1.parts"])
        self.assertEqual([path.name for path in (self.folder / ".pages").iterdir()], ["b.xsp-1.parts"])

    def test_parts_are_made_when_a_file_is_complete(self):
        self.start()
        large_trace.write(self.folder.parent / "next.xsp", 1500)
        (self.folder / "growing.journal").touch()  # a file with a journal will be made again
        shutil.copy(self.folder.parent / "next.xsp", self.folder / "growing.xsp~")
        (self.folder / "growing.xsp~").rename(self.folder / "growing.xsp")
        (self.folder.parent / "next.xsp").rename(self.folder / "moved.xsp")
        wait_for(self.made, "the parts")
        self.assertEqual([name.split("-")[0] for name in self.made()], ["moved.xsp"])
        (self.folder / "growing.journal").unlink()
        wait_for(lambda: len(self.made()) == 2, "the parts of the other one")
        self.assertEqual(self.server.stop(), (0, ""))

    def test_pages_of_other_files_do_not_wait(self):
        self.start(XSP_STOP="report")
        large_trace.write(self.folder.parent / "large.xsp", 1500)
        (self.folder.parent / "large.xsp").rename(self.folder / "large.xsp")
        child = stopped_child(self.server)  # it makes the parts ahead of time; so nothing else is made ahead of time
        shutil.copy(report_files.profiled()[0], self.folder / "small.xsp")
        asking = self.server.connect()
        asking.request("GET", "/files/small.xsp/page/parts/document")
        os.kill(stopped_child(self.server, but=child), signal.SIGCONT)
        self.assertEqual(asking.getresponse().status, 200)
        asking.close()
        self.assertEqual(self.server.ask(None, path="/files/small.xsp/page/parts/document", method="GET")[0], 200)
        waiting = self.server.connect()
        waiting.request("GET", "/files/large.xsp/page/parts/document")
        os.kill(child, signal.SIGCONT)
        self.assertEqual(waiting.getresponse().status, 200)  # of what that process made
        waiting.close()
        self.assertEqual(self.server.stop(), (0, ""))


class InTheBrowser(browser.BrowserTest):
    def open_page(self, file, fragment="", **options):
        return self.open(f"{served().about['url']}/files/{file}/page", fragment, **options)

    def test_all_pages_of_a_small_file(self):
        window = self.open_page("small.xsp")
        for name in browser.PAGES:
            window.open_page(name)
        self.assertEqual(window.cut_off(), [])
        self.assertEqual(browser.violations(window), [])

    def test_tables_and_tags_are_those_of_the_file(self):
        window = self.open_page("small.xsp", "#page=timeline&span=0")
        details = window.page.get_by_role("region", name="Selected span")
        file = self.open(report_files.report(served().folder / "small.xsp", "served"), "#page=timeline&span=0")
        expected = file.page.get_by_role("region", name="Selected span")
        self.assertEqual(details.locator(".tags").inner_text(), expected.locator(".tags").inner_text())
        window.open_page("layers")
        file.open_page("layers")
        self.assertEqual([(table["id"], table["rows"]) for table in window.tables()],
                         [(table["id"], table["rows"]) for table in file.tables()])

    def drawn(self, window):
        return window.page.locator(".timeline canvas").get_attribute("aria-label")

    def test_zooming_shows_each_span_and_the_selection_stays(self):
        window = self.open_page("large.xsp", "#page=timeline")
        page = window.page
        self.assertIn("rectangles", self.drawn(window))
        window.go("#page=timeline&view=1700000000-1702000000")
        page.wait_for_function("() => / spans on/.test(document.querySelector('.timeline canvas').ariaLabel)")
        box = page.get_by_role("application").first.bounding_box()
        page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 95)
        name = page.get_by_role("region", name="Selected span").locator("h3").inner_text()
        command = page.get_by_role("region", name="Selected span").locator("code").inner_text()
        span_id = int(re.search(r"span_id = (\d+)", command).group(1))
        row, = xsp_json("sql", served().folder / "large.xsp", f"select name, start_ns from span where span_id = {span_id}", "--json")
        self.assertEqual(row["name"], name)
        self.assertRegex(window.state()["span"], r"^\d+\.\d+$")
        for fragment in ("view=1600000000-1800000000", "view=1690000000-1710000000", "view=1700500000-1701500000"):
            window.go(f"#page=timeline&span={window.state()['span']}&{fragment}")
        page.wait_for_function("() => / spans on/.test(document.querySelector('.timeline canvas').ariaLabel)")
        window.frames()
        self.assertIn(f"span_id = {span_id}", page.get_by_role("region", name="Selected span").locator("code").inner_text())
        page.reload()
        window.wait()
        page.wait_for_function("(id) => document.querySelector('.span-details code')?.textContent.includes(`span_id = ${id}`)", arg=span_id)

    def test_the_search_goes_through_all_spans(self):
        window = self.open_page("large.xsp", "#page=timeline")
        page = window.page
        number = "Number(/^([^o]*) of /.exec(document.querySelector('.finder-found').textContent)?.[1].replace(/\\D/g, ''))"
        page.locator("#find").fill("softmax_9")
        page.keyboard.press("Enter")
        page.wait_for_function("(wanted) => (" + number + ") === wanted", arg=1)
        page.wait_for_function("() => document.querySelector('.span-details h3')?.textContent === 'softmax_9'")
        page.locator("#find").press("Shift+Enter")
        page.wait_for_function("(wanted) => (" + number + ") === wanted", arg=OBSERVATIONS)

    def test_a_search_that_thousands_of_names_match(self):
        window = self.open_page("large.xsp", "#page=timeline")
        page = window.page

        def with_more_names(route):
            reply = route.fetch()
            document = json.loads(gzip.decompress(reply.body()))
            document["names"] += [f"{('gemm', 'other')[i % 2]}_x{i}" for i in range(8000)]
            route.fulfill(response=reply, body=gzip.compress(json.dumps(document).encode()))
        page.route("**/large.xsp/page/parts/document*", with_more_names)
        page.reload()
        window.wait()
        page.locator("#find").fill("gemm_")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelector('.failure, .span-details h3') !== null")
        self.assertEqual(page.locator(".failure").count(), 0)
        self.assertIn("gemm_", page.locator(".span-details h3").inner_text())

    def test_narrow_screens(self):
        window = self.open_page("large.xsp", "#page=timeline", size=(390, 844))
        self.assertEqual(window.cut_off(), [])


if __name__ == "__main__":
    unittest.main()
