# SPDX-License-Identifier: Apache-2.0
"""The page of `xsp report`: what is packed into it, unpacked again and compared with the file's rows. No browser needed."""
import base64
import gzip
import hashlib
import json
import pathlib
import re
import unittest

from scripted import UNIX_START, Script, asynchronous, leveled, temporary_folder, xsp, xsp_json

LEVELS = ("application", "model", "layer", "library", "kernel")
KINDS = ("sync", "launch", "execution")
BASES = ("none", "explicit", "correlation", "containment", "ambiguous")


def unzigzag(value):
    return value // 2 if value % 2 == 0 else -(value + 1) // 2


class Page:
    """A reader of report/page_columns.h's format that shares no code with it."""

    def __init__(self, path):
        self.html = pathlib.Path(path).read_text(encoding="utf-8")
        self.parts = {match[1]: gzip.decompress(base64.b64decode(match[2], validate=True)) for match in
                      re.finditer(r'<script type="application/octet-stream" id="([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>',
                                  self.html)}
        self.document = json.loads(self.parts["xsp-document"])

    def column(self, run, name):
        planes, count, width = self.parts[f"xsp-{run['run']}-{name}"], run["spans"], run["columns"][name]
        assert len(planes) == count * width
        return [sum(planes[plane * count + i] << (8 * plane) for plane in range(width)) for i in range(count)]

    def spans(self, run):
        starts, durations = [], self.column(run, "duration")
        gaps = [unzigzag(value) for value in self.column(run, "gap")]
        rows = [None] * run["spans"]
        for number, (_, _, first, count) in enumerate(run["rows"]):
            before = 0
            for i in range(first, first + count):
                starts.append(before + gaps[i])
                before = starts[-1] + durations[i]
                rows[i] = number
        parent, parents = 0, []
        for value in self.column(run, "parent"):
            parent += unzigzag(value)
            parents.append(parent)
        link, links = 0, []
        for value in self.column(run, "link"):
            link += unzigzag(value - 1) if value else 0
            links.append(link - 1 if value else None)
        return [{"start": starts[i], "duration": durations[i], "name": self.document["names"][name],
                 "parent": parents[i], "launch": links[i], "level": LEVELS[attributes & 7],
                 "kind": KINDS[attributes >> 3 & 3], "basis": BASES[attributes >> 5], "row": rows[i]}
                for i, (name, attributes) in enumerate(zip(self.column(run, "name"), self.column(run, "attributes")))]


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, script, *options):
        source, target = script.write(self.folder / "in.xsp"), self.folder / "out.html"
        xsp("report", source, "-o", target, "--force", *options, check=0)
        return source, Page(target)

    def test_every_span_is_there_with_its_parent(self):
        for script in (leveled(), asynchronous()):
            source, page = self.report(script)
            for run in page.document["runs"]:
                rows = xsp_json("sql", source, "select s.* from span s join track t using (run_id, track_id) "
                                               f"where run_id = {run['run_id']} and t.clock is null", "--json")
                spans, first = page.spans(run), int(run["first_ns"])
                by_id = {row["span_id"]: row for row in rows}
                key = lambda row: (row["name"], row["level"], row["kind"], row["basis"], row["start_ns"] - first,
                                   row["duration_ns"] or 0)
                expected = sorted((key(row), key(by_id[row["parent_id"]]) if row["parent_id"] in by_id else ())
                                  for row in rows)
                shown = lambda span: (span["name"], span["level"], span["kind"], span["basis"], span["start"],
                                      span["duration"])
                found = sorted((shown(span), shown(spans[span["parent"]]) if span["parent"] >= 0 else ())
                               for span in spans)
                self.assertEqual(found, expected)
                self.assertEqual(sum(run["levels_counted"]), len(rows) + run["spans_of_other_clocks"])

    def test_executions_know_their_launch(self):
        source, page = self.report(asynchronous())
        ids = {row["correlation_id"]: row["start_ns"] for row in
               xsp_json("sql", source, "select * from span where kind = 'launch'", "--json")}
        wanted = sorted(ids[row["correlation_id"]] for row in
                        xsp_json("sql", source, "select * from span where kind = 'execution'", "--json")
                        if row["correlation_id"] in ids)
        run = page.document["runs"][0]
        spans = page.spans(run)
        found = sorted(spans[span["launch"]]["start"] + int(run["first_ns"]) for span in spans
                       if span["launch"] is not None)
        self.assertEqual(found, wanted)
        self.assertGreater(len(found), 0)

    def test_spans_of_a_row_do_not_overlap(self):
        for script in (leveled(), asynchronous()):
            _, page = self.report(script)
            for run in page.document["runs"]:
                ends = {}
                for span in page.spans(run):
                    self.assertGreaterEqual(span["start"], ends.get(span["row"], span["start"]))
                    ends[span["row"]] = span["start"] + span["duration"]

    def test_tables_are_those_of_analyze(self):
        source, page = self.report(leveled())
        answers = page.document["analyses"]
        self.assertLessEqual({"A1", "A2", "A6", "L0"}, {answer["table"]["analysis"] for answer in answers})
        for name in ("A1", "L0"):
            expected = xsp_json("analyze", name, source, "--json")
            self.assertIn(expected, [answer["table"] for answer in answers if answer["by"] is None])

    def test_runs_beyond_the_limit_are_tables_only(self):
        _, page = self.report(leveled(), "--max-spans", "1")
        self.assertEqual({run["detail"] for run in page.document["runs"]}, {"none"})
        self.assertEqual([part for part in page.parts if part != "xsp-document"], [])
        self.assertGreater(len(page.document["analyses"]), 3)

    def test_names_are_never_markup(self):
        script = Script()
        script.experiment("</script><img src=x onerror=alert(1)>")
        script.run(1, "M")
        script.track(name="<b>bold</b>")
        script.span("</script><script>alert(1)</script>", UNIX_START, 50)
        _, page = self.report(script)
        self.assertEqual(page.spans(page.document["runs"][0])[0]["name"], "</script><script>alert(1)</script>")
        for text in ("alert(1)", "onerror", "<b>"):
            self.assertNotIn(text, page.html)

    def test_only_its_own_script_and_style_may_run(self):
        _, page = self.report(leveled())
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page.html)[1]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        for kind, pattern in (("script-src", r'<script type="module"[^>]*>([\s\S]*?)</script>'),
                              ("style-src", r"<style[^>]*>([\s\S]*?)</style>")):
            hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                      for text in re.findall(pattern, page.html)]
            self.assertEqual(re.search(rf"{kind} ([^;]*);", policy)[1].split(),
                             [f"'sha256-{value}'" for value in hashes])
        self.assertNotRegex(page.html, r'(src|href)="(https?:)?//')

    def test_an_existing_file_is_kept_without_force(self):
        source, target = leveled().write(self.folder / "in.xsp"), self.folder / "out.html"
        target.write_text("mine")
        self.assertEqual(xsp("report", source, "-o", target).returncode, 2)
        self.assertEqual(target.read_text(), "mine")
        self.assertEqual(xsp("report", source).returncode, 2)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.xsp", "out.html"])


if __name__ == "__main__":
    unittest.main()
