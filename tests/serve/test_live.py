# SPDX-License-Identifier: Apache-2.0
"""The live page of xsp serve: its tables are those of `xsp analyze` over the same spans, what may lack spans is in no statistic,
and Chromium follows a job that publishes while it looks."""
import gzip
import itertools
import json
import pathlib
import threading
import time
import unittest

import browser
from otlp import START, request, span
from page_parts import planes, spans_of
from scripted import temporary_folder, xsp_json
from server import JSON, Server, files, wait_for

LAYERS = 5
RESOURCE = {"service.name": "job"}
COUNTED = ("A1", "A2", "A3", "A4", "A5", "A6", "A7", "L0")


def observation(first_id, start):
    """A prediction of 1 ms with its layers, which are sent before it as they end before it."""
    layers = [span(first_id + 1 + i, f"layer_{i}", start + 10_000 + i * 190_000, start + 150_000 + i * 190_000 + first_id % 7, first_id,
                   level="layer", xsp__layer_index=i) for i in range(LAYERS)]
    return [*layers, span(first_id, "predict", start, start + 1_000_000, level="model")]


class LiveTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "traces"

    def server(self, *options):
        server = Server(self.folder, *options)
        self.addCleanup(server.kill)
        return server

    def document(self, server, after=0):
        """The next version and its number; None: there is none."""
        status, headers, body = server.ask(None, path=f"/live/parts/document?after={after}", method="GET")
        return None if status == 204 else (json.loads(gzip.decompress(body)), int(headers["ETag"].strip('"')))

    def shown(self, server, is_wanted):
        """The first version with what is wanted."""
        after = 0
        for _ in range(100):
            found = self.document(server, after)
            if found is not None:
                document, after = found
                if is_wanted(document):
                    return document, after
        raise AssertionError("no such version came")


class Figures(LiveTest):
    def test_tables_are_those_of_the_file(self):
        server = self.server()
        total = 40
        for number in range(total):
            server.send(request(observation(1 + number * 10, number * 1_100_000 + number % 5 * 7_000), RESOURCE))
        document, _ = self.shown(server, lambda one: one["runs"] and one["runs"][0]["recorded"] == total * (LAYERS + 1))
        self.assertEqual(server.stop()[0], 0)
        file, = files(self.folder)
        seen = set()
        for answer in document["analyses"]:
            table = answer["table"]
            if answer["by"] is not None or table["analysis"] not in COUNTED:
                continue
            seen.add(table["analysis"])
            self.assertEqual(table, xsp_json("analyze", table["analysis"], file, "--json"))
        self.assertEqual(seen, {"A1", "A2", "A3", "A5", "A6", "L0"})

    def test_observations_that_lack_spans_are_warm_ups(self):
        server = self.server("--live-spans", "100")
        total = 60
        for number in range(total):  # a request for each span: the oldest observation here is not whole
            for one in observation(1 + number * 10, number * 1_100_000):
                server.send(request([one], RESOURCE))
        document, version = self.shown(server, lambda one: one["runs"] and one["runs"][0]["recorded"] == 100)
        run = document["runs"][0]
        raw = {key: planes(gzip.decompress(server.ask(None, path=f"/live/parts/0-{key}?version={version}", method="GET")[2]), width)
               for key, width in run["columns"].items()}
        spans, _ = spans_of(run["rows"], document["names"], raw)
        whole = [sum(one["level"] == 2 and start <= one["start"] < start + duration for one in spans) == LAYERS
                 for start, duration in zip(itertools.accumulate(run["observations"]["start"]), run["observations"]["duration"])]
        warmup = [i in run["observations"]["warmup"] for i in range(len(whole))]
        self.assertEqual(len(whole), 17)
        self.assertEqual((whole.count(False), warmup.count(True)), (1, 1))
        self.assertEqual(whole.index(False), warmup.index(True))
        a1, = (one["table"] for one in document["analyses"] if one["table"]["analysis"] == "A1")
        self.assertEqual(a1["run_set"]["observations"], 16)

    def test_old_versions_go_and_waiting_ends(self):
        server = self.server()
        server.send(request(observation(1, 0), RESOURCE))
        document, version = self.shown(server, lambda one: bool(one["runs"]))
        self.assertEqual(server.ask(None, path=f"/live/parts/document?version={version}", method="GET")[0], 200)
        self.assertEqual(server.ask(None, path=f"/live/parts/document?version={version + 1}", method="GET")[0], 404)
        self.assertEqual(server.ask(None, path="/live/parts/document?after=x", method="GET")[0], 400)
        again, _ = self.document(server, after=version + 1000)  # of a server before this one
        self.assertEqual(again, document)
        waiting = server.connect()  # for a version that does not come
        waiting.request("GET", f"/live/parts/document?after={version}")
        self.assertEqual(server.stop()[0], 0)
        waiting.close()


class Job:
    """Publishes an observation every few milliseconds, until stopped. Use it in `with`."""

    def __init__(self, server):
        self.server, self.sent, self.is_over = server, 0, threading.Event()
        self.connection = server.connect()
        self.thread = threading.Thread(target=self.publish)

    def publish(self):
        for number in itertools.count():
            now = time.time_ns() - START
            self.server.ask(json.dumps(request(observation(1 + number * 10, now - 1_000_000), RESOURCE)), JSON, connection=self.connection)
            self.sent += 1
            if self.is_over.wait(0.005):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        self.connection.close()


class InTheBrowser(LiveTest, browser.BrowserTest):
    def setUp(self):
        browser.BrowserTest.setUp(self)
        LiveTest.setUp(self)

    def quiet(self):
        for window in self.windows:  # a version that is gone when a slow page asks for its columns: it takes a newer one
            window.problems = [problem for problem in window.problems if "status of 404" not in problem]
        super().quiet()

    def bar(self, window):
        version, until, text = window.page.get_by_role("group", name="Live").evaluate(  # at one moment: it changes at any
            "(bar) => [bar.dataset.version, bar.dataset.until, bar.innerText]")
        return int(version), int(until), text

    def later(self, window, version):
        window.page.wait_for_function("(version) => Number(document.querySelector('.live-bar').dataset.version) > version", arg=version)
        return self.bar(window)

    def test_it_follows_a_job(self):
        server = self.server()
        with Job(server) as job:
            window = self.open(f"{server.about['url']}/live", "#page=layers")
            version, until, _ = self.bar(window)
            for _ in range(3):
                version, newer, text = self.later(window, version)
                self.assertGreater(newer, until)
                self.assertIn("predictions", text)
                until = newer
            window.page.get_by_role("button", name="Live", exact=True).click()
            window.page.get_by_role("button", name="Paused").wait_for()
            window.frames()
            paused, sent = self.bar(window)[0], job.sent
            rows = window.tables()
            wait_for(lambda: job.sent > sent + 100, "further observations")
            window.frames()
            self.assertEqual((self.bar(window)[0], window.tables()), (paused, rows))
            window.page.get_by_role("button", name="Paused").click()
            self.later(window, paused)
            self.assertEqual(window.cut_off(), [])
        self.has_predictions(window, job.sent)

    def has_predictions(self, window, number):
        window.page.wait_for_function(f"() => document.querySelector('.live-bar').textContent.includes('{number:,} predictions')")

    def test_what_came_while_paused_is_shown_afterwards(self):
        server = self.server()
        for number in range(2):
            server.send(request(observation(1 + number * 10, number * 2_000_000), RESOURCE))
        window = self.open(f"{server.about['url']}/live", "#page=layers")
        self.has_predictions(window, 2)
        with window.page.expect_response(lambda reply: "parts/document" in reply.url and reply.status == 200):  # it was asked for before
            window.page.get_by_role("button", name="Live", exact=True).click()
            server.send(request(observation(21, 4_000_000), RESOURCE))
        window.frames()
        self.has_predictions(window, 2)
        window.page.get_by_role("button", name="Paused").click()
        self.has_predictions(window, 3)
        self.assertNotIn("xsp analyze", window.page.inner_text("main"))  # there is no file of the newest spans

    def test_views_stay_at_their_time(self):
        server = self.server("--live-spans", "12000")
        with Job(server) as job:
            window = self.open(f"{server.about['url']}/live", "#page=timeline")
            page = window.page
            wait_for(lambda: job.sent > 50, "observations")
            version = self.later(window, self.bar(window)[0])[0]
            details = page.get_by_role("region", name="Selected span")

            def select():  # in the newest observation; between two of its spans there is nothing
                page.get_by_role("application").first.hover()
                page.keyboard.press("[")
                box = page.get_by_role("application").first.bounding_box()
                page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 50)
                window.frames()
                return details.locator("h3").all_inner_texts()
            [name] = wait_for(select, "a selected span")
            wait_for(lambda: "view" in window.state(), "the range in the address")
            for _ in range(3):
                version = self.later(window, version)[0]
            self.assertEqual(details.locator("h3").all_inner_texts(), [name])
            self.assertIn("view", window.state())

    def test_it_waits_for_the_first_span(self):
        server = self.server()
        context = browser.chromium().new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(f"{server.about['url']}/live")
        page.wait_for_function("() => /Waiting for spans/.test(document.body.textContent)")
        server.send(request(observation(1, 0), RESOURCE))
        page.locator(".live-bar").wait_for()


if __name__ == "__main__":
    unittest.main()
