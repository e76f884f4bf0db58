# SPDX-License-Identifier: Apache-2.0
"""The page of `xsp report`: what is packed into it, unpacked again and compared with the file's rows. No browser needed."""
import base64
import gzip
import hashlib
import json
import os
import pathlib
import platform
import random
import re
import signal
import subprocess
import unittest

from scripted import (RANGES_IN_STEPS, UNIX_START, XSP, Script, asynchronous, leveled, ranges_in_steps,
                      temporary_folder, xsp, xsp_json)
from test_stacks import FORWARD, MAIN, STACKS, frames_and_kernel

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
LEVELS = ("application", "model", "layer", "library", "kernel")
KINDS = ("sync", "launch", "execution")
BASES = ("none", "explicit", "correlation", "containment", "ambiguous")
ALL_BATCHES = ("A1", "A15", "A25", "L0", "requests")  # they answer for all batch sizes at once


def unzigzag(value):
    return value // 2 if value % 2 == 0 else -(value + 1) // 2


def differences(values):
    total = 0
    for value in values:
        total += value
        yield total


class Page:
    """An independent reader of the format in report/page/columns.h."""

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
        parents = list(differences(unzigzag(value) for value in self.column(run, "parent")))
        ids = list(differences(unzigzag(value) for value in self.column(run, "id")))
        merged, busy = [1] * run["spans"], durations
        if run["detail"] == "merged":
            merged = self.column(run, "merged")
            busy = [duration - unzigzag(idle) for duration, idle in zip(durations, self.column(run, "idle"))]
        link, links = 0, []
        for value in self.column(run, "link"):
            link += unzigzag(value - 1) if value else 0
            links.append(link - 1 if value else None)
        return [{"start": starts[i], "duration": durations[i], "name": self.document["names"][name],
                 "parent": parents[i], "launch": links[i], "level": LEVELS[attributes & 7],
                 "kind": KINDS[attributes >> 3 & 3], "basis": BASES[attributes >> 5], "row": rows[i],
                 "id": ids[i], "merged": merged[i], "busy": busy[i], "lane": run["rows"][rows[i]][0]}
                for i, (name, attributes) in enumerate(zip(self.column(run, "name"), self.column(run, "attributes")))]

    def tags(self, run):
        """(place, key, value) of all blocks of a run."""
        found = []
        for block in range((run["spans"] + run["tag_block"] - 1) // run["tag_block"]):
            places = []
            for group in json.loads(self.parts.get(f"xsp-{run['run']}-tags-{block}", b"[]")):
                places = list(differences(group["places"])) if "places" in group else places
                if "integers" in group:
                    values = list(differences(group["integers"]))
                elif "texts" in group:
                    values = [group["texts"][value] for value in group["values"]]
                else:
                    values = group["numbers"] if "numbers" in group else [int(text) for text in group["digits"]]
                assert len(places) == len(values)
                found += [(block * run["tag_block"] + place, group["key"], value)
                          for place, value in zip(places, values)]
        return found

    def contexts(self, run):
        return json.loads(self.parts[f"xsp-{run['run']}-contexts"])


def crowded(spans=2000, runs=1):
    """A thread with many short spans of a few names in longer ones, launches, and a stream of executions."""
    script = Script()
    script.experiment("crowded")
    for run_id in range(1, runs + 1):
        script.run(run_id, "M/L/K", 1)
        script.track(1, "main", run_id=run_id)
        script.track(2, "stream", thread=None, device=0, stream=7, run_id=run_id)
        at, number = UNIX_START, 0
        while number < spans:
            script.span("step", at, 60_000, run_id=run_id, tags={"batch_size": 1})
            for layer in range(5):
                start = at + 1000 + layer * 10_000
                script.span(f"layer {layer}", start, 9000, "layer", run_id=run_id, tags={
                    "layer_index": layer, "note": "</script>", "share": layer / 3, "large": 2**60 + layer})
                script.span("launch", start + 100, 500 + number % 7, "kernel", "launch", run_id=run_id,
                            correlation=number + 1, category="api")
                script.span(f"kernel {number % 3}", start + 4000, 3000 + number % 11, "kernel", "execution", track=2,
                            run_id=run_id, correlation=number + 1, category="kernel")
                number += 3
            at += 100_000
    return script


def contexts_by_hand(rows):
    """Own time and count by chain of (name, level), from rows of table span whose tracks are their lanes."""
    by_id = {row["span_id"]: row for row in rows}
    own = {row["span_id"]: row["duration_ns"] or 0 for row in rows}
    for row in rows:
        parent = by_id.get(row["parent_id"])
        if parent and parent["track_id"] == row["track_id"] and row["kind"] != "execution":
            own[parent["span_id"]] -= row["duration_ns"] or 0
    found = {}
    for row in rows:
        chain, at = [], row
        while at:
            chain.append(at["name"])
            at = by_id.get(at["parent_id"])
        entry = found.setdefault(tuple(reversed(chain)), [0, 0])
        entry[0] += 1
        entry[1] += max(0, own[row["span_id"]])
    return found


def contexts_of(page, run):
    contexts, chains, found = page.contexts(run), [], {}
    for i, parent in enumerate(contexts["parent"]):
        around = chains[parent] if parent >= 0 else ()
        chains.append((*around, page.document["names"][contexts["name"][i]]))
        assert chains[-1] not in found
        found[chains[-1]] = [contexts["count"][i], contexts["own_ns"][i]]
    return found


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

    def test_two_files_have_the_causes_of_each(self):
        """The cause has texts that are freed with what the file's questions share; freed memory has other bytes here."""
        script = Script()
        script.experiment()
        for run_id, levels, model_ms in ((1, "M", 40), (2, "M/L", 100)):
            script.run(run_id, levels)
            script.track(1, run_id=run_id)
            for number in range(5):
                start = UNIX_START + (5 * run_id + number) * 10**9
                script.span("tiny", start, model_ms * 10**6, run_id=run_id)
                if run_id == 2:
                    script.span("conv", start, 90 * 10**6, "layer", run_id=run_id)
        source, page = self.report(script)
        cause = page.document["experiments"][0]["cause"]
        self.assertIn("the cost of recording M/L", cause)
        xsp("report", source, source, "-o", self.folder / "two.html", check=0, environment={"MALLOC_PERTURB_": "90"})
        self.assertEqual([one["cause"] for one in Page(self.folder / "two.html").document["experiments"]], 2 * [cause])

    def test_the_cause_quotes_its_line_unless_sources_stay_out(self):
        source = self.folder / "collects.py"
        source.write_text("import gc\n\ngc.collect()\n")
        os.utime(source, (0, 0))
        script = Script()
        script.system(host=platform.node())
        script.experiment("python3 collects.py")
        script.run(1, "A")
        script.track(1, "python3")
        line = script.context("<module>", file=str(source), line=3)
        script.span("collects.py", UNIX_START, 10**9, "application", category="program")
        for number in range(100):
            script.sample("cpu", UNIX_START + (number + 1) * 10**7, 10**7, line)
        trace, page = self.report(script)
        cause = page.document["experiments"][0]["cause"]
        self.assertRegex(cause, r": gc\.collect\(\)$")
        self.assertEqual(xsp("analyze", trace, check=0).stdout.decode().splitlines()[0].removeprefix("cause").strip(), cause)
        xsp("report", trace, "--no-source", "-o", self.folder / "bare.html", check=0)
        self.assertNotIn("gc.collect", Page(self.folder / "bare.html").parts["xsp-document"].decode())

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
        """Questions that share loaded rows answer as each does alone."""
        for script in (leveled(), leveled(experiments=2), asynchronous(), crowded(150, 2)):
            source, page = self.report(script)
            answers = page.document["analyses"]
            self.assertLessEqual({"A1", "A2", "A6", "L0"}, {answer["table"]["analysis"] for answer in answers})
            batches = {run["batch_size"] for run in page.document["runs"]}
            by_question = {}
            for answer in answers:
                question = (answer["table"]["analysis"], answer["table"]["run_set"]["batch_size"], answer["by"])
                by_question.setdefault(question, []).append(answer["table"])
            for (name, batch, by), tables in by_question.items():
                options = ("--batch", str(batch)) if batch in batches and name not in ALL_BATCHES or by else ()
                alone = xsp_json("analyze", name, source, *options, *(("--by", by) if by else ()), "--json")
                self.assertEqual(tables, alone if isinstance(alone, list) else [alone], name)

    def rows(self, source, run):
        return xsp_json("sql", source, "select s.* from span s join track t using (run_id, track_id) "
                                       f"where run_id = {run['run_id']} and t.clock is null", "--json")

    def test_a_run_of_too_many_spans_becomes_an_overview_with_exact_sums(self):
        for script, most in ((crowded(), 500), (crowded(), 60), (crowded(300, 3), 200), (asynchronous(), 8)):
            source, page = self.report(script, "--max-spans", str(most))
            self.assertLessEqual(sum(run["spans"] for run in page.document["runs"]), most)
            for run in page.document["runs"]:
                rows, spans = self.rows(source, run), page.spans(run)
                self.assertEqual((run["detail"], run["kept"]), ("merged", len(rows)))
                self.assertGreater(run["merged_below_ns"], 0)
                self.assertEqual(sum(span["merged"] for span in spans), len(rows))
                self.assertEqual(sum(span["busy"] for span in spans), sum(row["duration_ns"] or 0 for row in rows))
                names = {row["name"] for row in rows}
                by_id = {row["span_id"]: row for row in rows}
                for span in spans:
                    self.assertLessEqual(span["busy"], span["duration"])
                    if span["merged"] == 1:
                        row = by_id[span["id"]]
                        self.assertEqual((span["name"], span["duration"]), (row["name"], row["duration_ns"] or 0))
                        self.assertEqual(span["start"] + int(run["first_ns"]), row["start_ns"])
                    else:
                        self.assertEqual(span["id"], 0)
                        self.assertIn(span["name"].removesuffix(" and others"), names)
                        self.assertLess(span["duration"], 2 * run["merged_below_ns"])

    def test_rectangles_refer_to_what_all_their_spans_refer_to(self):
        source, page = self.report(crowded(), "--max-spans", "700")
        run = page.document["runs"][0]
        spans, rows = page.spans(run), self.rows(source, run)
        by_id, place = {row["span_id"]: row for row in rows}, {}
        first = int(run["first_ns"])
        for row in rows:  # the rectangle that a span lies in: of its track and level, by time
            kind = (row["track_id"] - 1, row["level"])
            place[row["span_id"]] = next(
                i for i, span in enumerate(spans) if span["lane"] == kind[0] and span["level"] == kind[1] and
                span["start"] <= row["start_ns"] - first <= span["start"] + span["duration"])
        members = {}
        for row in rows:
            members.setdefault(place[row["span_id"]], set()).add(place.get(row["parent_id"], -1))
        for i, span in enumerate(spans):
            self.assertEqual(span["parent"], members[i].pop() if len(members[i]) == 1 else -1)
        self.assertTrue(any(span["merged"] > 1 for span in spans))
        self.assertTrue(any(span["merged"] == 1 for span in spans))

    def test_contexts_and_names_of_an_overview_are_those_of_all_spans(self):
        for script, most in ((crowded(), 100), (leveled(), 30)):
            source, page = self.report(script, "--max-spans", str(most))
            merged = [run for run in page.document["runs"] if run["detail"] == "merged"]
            self.assertGreater(len(merged), 0)
            for run in merged:
                rows = self.rows(source, run)
                self.assertEqual(contexts_of(page, run), {chain: entry for chain, entry in
                                                          contexts_by_hand(rows).items()})
                contexts = page.contexts(run)
                self.assertEqual((contexts["folded"], contexts["left_out"]), (0, 0))
                totals, names = contexts["totals"], page.document["names"]
                found = {(names[name], LEVELS[level], KINDS[kind]): figures for name, level, kind, *figures in zip(
                    *(totals[key] for key in ("name", "level", "kind", "count", "total_ns", "least_ns", "most_ns")))}
                expected = {}
                for row in rows:
                    expected.setdefault((row["name"], row["level"], row["kind"]), []).append(row["duration_ns"] or 0)
                self.assertEqual(found, {key: [len(times), sum(times), min(times), max(times)]
                                         for key, times in expected.items()})

    def test_contexts_of_an_overview_nest_by_time(self):
        _, page = self.report(ranges_in_steps(), "--max-spans", "8")
        run, = page.document["runs"]
        self.assertEqual((run["detail"], contexts_of(page, run)), ("merged", RANGES_IN_STEPS))

    def test_contexts_of_an_overview_have_the_frames_of_call_paths(self):
        _, page = self.report(frames_and_kernel(times=20), "--max-spans", "40")
        run, = page.document["runs"]
        self.assertEqual(run["detail"], "merged")
        expected = {chain: [20 * count, 20 * own] for chain, (count, own) in STACKS.items()}
        self.assertEqual(contexts_of(page, run),
                         {**expected, ("program", MAIN): [0, 0], ("program", MAIN, FORWARD): [0, 0]})

    def test_room_is_shared_and_zero_leaves_tables_only(self):
        for most in ("0", "1"):
            _, page = self.report(leveled(), "--max-spans", most)
            self.assertEqual({run["detail"] for run in page.document["runs"]}, {"none"})
            self.assertEqual([part for part in page.parts if part != "xsp-document"], [])
            self.assertGreater(len(page.document["analyses"]), 3)
        # Runs of fewer spans than an equal share are whole, and what they leave goes to the others.
        _, page = self.report(leveled(observations=20), "--max-spans", "160")
        by_levels = {}
        for run in page.document["runs"]:
            by_levels.setdefault(run["levels"], []).append(run)
        self.assertEqual([(run["detail"], run["spans"]) for run in by_levels["M"]], [("spans", 20)] * 2)
        whole, merged = by_levels["M/L"]
        self.assertEqual((whole["detail"], whole["spans"], merged["detail"]), ("spans", 80, "merged"))
        self.assertLessEqual(merged["spans"], 40)

    def test_tags_and_ids_are_those_of_the_file(self):
        for script, options in ((leveled(), ()), (asynchronous(), ()), (crowded(), ()), (crowded(4500), ()),
                                (crowded(), ("--max-spans", "900"))):
            source, page = self.report(script, *options)
            for run in page.document["runs"]:
                spans = page.spans(run)
                found = sorted((spans[place]["id"], key, repr(value)) for place, key, value in page.tags(run))
                shown = {span["id"] for span in spans if span["merged"] == 1}
                rows = xsp_json("sql", source, f"select * from tag where run_id = {run['run_id']}", "--json")
                self.assertEqual(found, sorted((row["span_id"], row["key"], repr(row["value"])) for row in rows
                                               if row["span_id"] in shown))
                self.assertEqual(run["tags_left_out"], 0)

    def test_several_files_with_equal_run_ids(self):
        first, second = leveled().write(self.folder / "a.xsp"), asynchronous().write(self.folder / "<b>.xsp")
        target = self.folder / "out.html"
        xsp("report", first, second, first, "-o", target, check=0)
        page, alone = Page(target), [self.report(script)[1] for script in (leveled(), asynchronous())]
        self.assertEqual([file["name"] for file in page.document["files"]], ["a.xsp", "<b>.xsp", "a.xsp"])
        self.assertNotIn("<b>", page.html.split("<body")[1])
        runs = page.document["runs"]
        self.assertEqual([run["run"] for run in runs], list(range(9)))
        self.assertEqual([run["file"] for run in runs], [0] * 4 + [1] + [2] * 4)
        for run, other in zip(runs, [*alone[0].document["runs"], *alone[1].document["runs"],
                                     *alone[0].document["runs"]]):
            self.assertEqual(page.spans(run), alone[run["file"] == 1].spans(other))
            self.assertEqual(page.tags(run), alone[run["file"] == 1].tags(other))
        for key in ("experiments", "notes", "analyses"):
            for file, other in enumerate((*alone, alone[0])):
                self.assertEqual([{**one, "file": 0} for one in page.document[key] if one["file"] == file],
                                 other.document[key])

    def test_a_range_keeps_what_overlaps_it_and_what_is_above(self):
        script = crowded()
        for text, start, end in (("150us-260us", 150_000, 260_000), ("-40us", 0, 40_000), ("13ms-", 13_000_000, None),
                                 ("0.101ms-101us", 101_000, 101_000), ("1s-2s", 10**9, 2 * 10**9)):
            source, page = self.report(script, "--range", text)
            run = page.document["runs"][0]
            rows, first = self.rows(source, run), int(run["first_ns"])
            by_id, wanted = {row["span_id"]: row for row in rows}, set()
            for row in rows:
                begin = row["start_ns"] - first
                if (end is None or begin <= end) and begin + row["duration_ns"] >= start:
                    while row:
                        wanted.add(row["span_id"])
                        row = by_id.get(row["parent_id"])
            spans = page.spans(run) if run["detail"] == "spans" else []
            self.assertEqual({span["id"] for span in spans}, wanted)
            self.assertEqual((run["kept"], run["recorded"]), (len(wanted), len(rows)))
            by_place = {i: span["id"] for i, span in enumerate(spans)}
            for span in spans:
                self.assertEqual(by_place.get(span["parent"]), by_id[span["id"]]["parent_id"])
            self.assertEqual(page.document["range_ns"][0], start)
        for text in ("5", "2s-1s", "-", "1s-2", "1s-2h", ""):
            self.assertEqual(xsp("report", source, "-o", self.folder / "no.html", "--range", text).returncode, 2)
        self.assertFalse((self.folder / "no.html").exists())

    def test_only_runs_asked_for_have_spans(self):
        source, page = self.report(leveled(), "--run", "2", "--run", "4", "--max-spans", "30")
        self.assertEqual([run["spans"] for run in page.document["runs"]], [0, 5, 0, 20])
        self.assertEqual([run["detail"] for run in page.document["runs"]], ["none", "spans", "none", "spans"])
        self.assertEqual(page.document["run_ids"], [2, 4])
        for text in ("9", "0", "x", "1,"):
            self.assertEqual(xsp("report", source, "-o", self.folder / "no.html", "--run", text).returncode, 2)
        self.assertFalse((self.folder / "no.html").exists())

    def test_a_file_without_spans(self):
        script = Script()
        script.experiment("nothing")
        _, page = self.report(script)
        self.assertEqual((page.document["runs"], page.document["analyses"]), ([], []))
        script.run(1, "M")
        for options in ((), ("--range", "0-1s"), ("--max-spans", "0")):
            _, page = self.report(script, *options)
            self.assertEqual([run["spans"] for run in page.document["runs"]], [0])

    def test_times_at_the_ends_of_what_there_is(self):
        script = Script()
        script.experiment("extreme")
        script.run(1, "M/L")
        script.track()
        times = [(-2**62, 2**61), (-2**61 + 5, 0), (0, 2**62), (2**62, 2**62 - 1), (2**63 - 1, 0)]
        for number, (start, duration) in enumerate(times):
            script.span(f"span {number % 2}", start, duration, "layer" if number else "model")
        source, page = self.report(script)
        run = page.document["runs"][0]
        wrapped = lambda value: (value + 2**63) % 2**64 - 2**63
        found = sorted((span["id"], wrapped(span["start"] + int(run["first_ns"])), span["duration"])
                       for span in page.spans(run))
        self.assertEqual([time for _, *time in found], [list(time) for time in times])
        for options in (("--max-spans", "3"), ("--range", "1s-")):
            _, page = self.report(script, *options)
            run = page.document["runs"][0]
            self.assertEqual(sum(span["merged"] for span in page.spans(run)), run["kept"])

    def test_texts_are_never_markup(self):
        evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
        for value in (evil, "\0\x1f\u2028]]>-->", b"\xff\xfe</script>"):
            script = Script()
            script.put("system", "cores", 4)
            script.experiment(value)
            script.run(1, "M")
            script.track(name=value, host=value)
            script.track(2, name="other", host="other")
            script.span(value, UNIX_START, 50, category=value, tracer=value)
            script.put("tag", 1, 1, value, "text", value)
            _, page = self.report(script)
            spans = page.spans(page.document["runs"][0])
            text = value if isinstance(value, str) else value.decode(errors="replace")
            if "\0" not in text:
                self.assertEqual((spans[0]["name"], page.document["experiments"][0]["name"]), (text, text))
                self.assertIn((0, text, text), page.tags(page.document["runs"][0]))
            for piece in ("alert(1)", "onerror", "]]>", "\u2028"):
                self.assertNotIn(piece, page.html.split("xsp-data")[0] if piece in ("]]>", "\u2028") else page.html)

    def test_nothing_but_packed_parts_is_added_to_the_template(self):
        _, page = self.report(asynchronous())
        template = (SOURCE / "answers/report" / "page" / "template.html").read_text(encoding="utf-8")
        bare = re.sub(r'<script type="application/octet-stream" id="xsp-[a-z0-9-]+">[A-Za-z0-9+/=]*</script>\n', "",
                      page.html)
        self.assertEqual(bare, template.replace("<!--xsp-data-->", "", 1))

    def test_too_many_contexts_and_names_count_in_those_around_them(self):
        script, most = Script(), 100_000
        script.experiment("many")
        script.run(1, "M/L")
        script.track()
        script.span("net", UNIX_START, 10**9)
        for i in range(most + 20):
            script.span(f"layer {i}", UNIX_START + 10 + 100 * i, 50, "layer", tags={"layer_index": i} if i < 2 else {})
        _, page = self.report(script, "--max-spans", "1000")
        run = page.document["runs"][0]
        contexts = page.contexts(run)
        self.assertEqual((len(contexts["name"]), contexts["folded"], contexts["left_out"]), (most, 21, 0))
        self.assertEqual((page.document["names"][contexts["name"][0]], contexts["are_roots_joined"]), ("net", False))
        self.assertEqual((sum(contexts["count"]), contexts["count"][0]), (most + 21, 22))
        self.assertEqual(sum(contexts["own_ns"]), 10**9)
        self.assertEqual((sum(contexts["totals"]["count"]), contexts["totals"]["left_out"]), (most, 21))

    def test_steps_share_a_context_where_there_are_too_many(self):
        script, steps, names = Script(), 320, 320
        script.experiment("steps")
        script.run(1, "M/L")
        script.track()
        for step in range(steps):
            start = UNIX_START + step * 10**6
            script.span(f"step {step}", start, 900_000)
            for i in range(names):
                script.span(f"layer {i}", start + 10 + 100 * i, 50, "layer")
        _, page = self.report(script, "--max-spans", "1000")
        run = page.document["runs"][0]
        contexts, found = page.contexts(run), contexts_of(page, run)
        self.assertTrue(contexts["are_roots_joined"])
        self.assertEqual((contexts["folded"], contexts["left_out"]), (0, 0))
        around = "step 0 and others"
        self.assertEqual(found, {(around,): [steps, steps * (900_000 - 50 * names)],
                                 **{(around, f"layer {i}"): [steps, 50 * steps] for i in range(names)}})

    def test_tags_that_do_not_fit_are_counted(self):
        script, source = Script(), random.Random(6)
        script.experiment("heavy")
        script.run(1, "M")
        script.track()
        for i in range(4096 + 3):
            script.span("net", UNIX_START + 100 * i, 50, tags={"index": i} if i >= 4096 else {})
        for i in range(17):  # 2 MB each that hardly packs
            script.put("tag", 1, i + 1, "blob", "text", base64.b64encode(source.randbytes(1_500_000)))
        _, page = self.report(script)
        run = page.document["runs"][0]
        self.assertEqual((run["tags_left_out"], len(page.tags(run))), (3, 17))

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
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.xsp", "out.html"])

    def test_without_a_name_it_is_the_file_s_in_this_folder(self):
        source, here = leveled().write(self.folder / "in.v2.xsp"), self.folder / "here"
        here.mkdir()
        xsp("report", source, "--max-spans", "0", cwd=here, check=0)
        page = here / "in.v2.html"
        self.assertIn("<html", page.read_text(encoding="utf-8"))
        page.write_text("mine")
        xsp("report", source, cwd=here, check=2)
        self.assertEqual(page.read_text(), "mine")
        xsp("report", source, "--max-spans", "0", "--force", cwd=here, check=0)
        self.assertIn("<html", page.read_text(encoding="utf-8"))
        self.assertEqual([path.name for path in here.iterdir()], ["in.v2.html"])

    def test_open_gives_the_page_to_the_desktop(self):
        source, opener = leveled().write(self.folder / "in.xsp"), self.folder / "bin" / "xdg-open"
        opener.parent.mkdir()
        only_here = {"PATH": str(opener.parent)}
        absent = xsp("report", source, "--open", "-o", "-in.html", environment=only_here, cwd=self.folder, check=3)
        self.assertRegex(absent.stderr.decode(), "-in.html: xdg-open: .*; try: .*browser")
        page = self.folder / "-in.html"
        self.assertTrue(page.exists(), "the page is written all the same")
        opener.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{self.folder}/opened"\n')
        opener.chmod(0o755)
        xsp("report", source, "--open", "-o", "-in.html", "--force", environment=only_here, cwd=self.folder, check=0)
        self.assertEqual((self.folder / "opened").read_text(), f"{page.resolve()}\n")
        opener.write_text("#!/bin/sh\nexit 4\n")
        xsp("report", source, "--open", "--force", environment=only_here, cwd=self.folder, check=3)
        self.assertEqual(xsp("report", source, "--open", "-o", "-", check=2).stdout, b"")

    def test_nothing_is_left_where_it_fails(self):
        source, target = leveled().write(self.folder / "in.xsp"), self.folder / "out.html"
        (self.folder / "no.xsp").write_text("no database")
        self.assertEqual(xsp("report", source, self.folder / "no.xsp", "-o", target).returncode, 2)
        self.assertEqual(xsp("report", source, "-o", source, "--force").returncode, 2)
        other = asynchronous().write(self.folder / "other.xsp")
        self.assertEqual(xsp("report", source, other, "-o", other, "--force").returncode, 2)
        self.assertEqual(xsp("report", source, "-o", self.folder / "none" / "out.html").returncode, 3)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.xsp", "no.xsp", "other.xsp"])

    def test_nothing_is_left_where_it_is_interrupted(self):
        source, target = crowded(60_000).write(self.folder / "in.xsp"), self.folder / "out.html"
        target.write_text("mine")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            command = subprocess.Popen([XSP, "report", source, "-o", target, "--force"], stderr=subprocess.PIPE,
                                       preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL))
            with command:
                while not list(self.folder.glob("*.partial")) and command.poll() is None:
                    pass
                command.send_signal(number)
                command.communicate()
            self.assertEqual(command.returncode, -number)
            self.assertEqual(target.read_text(), "mine")
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.xsp", "out.html"])


if __name__ == "__main__":
    unittest.main()
