# SPDX-License-Identifier: Apache-2.0
"""Spans that package xsp records, in every CPython 3.10 to 3.15 of this machine."""
import json
import shutil
import sys
import unittest

import package_case
from package_case import ENVIRONMENT, INTERPRETERS, PACKAGE, PROGRAM, run
from scripted import XSP, xsp_json


class Recording(package_case.PackageTest):
    def test_spans_of_a_program(self):
        for version, python in INTERPRETERS.items():
            with self.subTest(version=version):
                out = self.folder / f"{version}.xsp"
                done = run(XSP, "run", "-o", out, "--", python, PROGRAM, "record")
                self.assertEqual((done.returncode, done.stdout), (0, "recorded\n"), done.stderr)
                rows = xsp_json("sql", out, "select name, level, category, count(*) as n, count(duration_ns) as ended from "
                                "span where tracer = 'app' and name not glob 'name *' group by 1, 2, 3", "--json")
                found = {row["name"]: (row["level"], row["category"], row["n"], row["ended"]) for row in rows}
                elsewhere = found.pop("elsewhere")  # finished by another thread: open
                self.assertEqual(elsewhere, ("application", None, 1, 0))
                others = found.pop("(other names)")
                self.assertGreater(others[2], 4000)
                self.assertEqual(found, {
                    "step": ("model", "mine", 3, 3), "load": ("application", "load", 3, 3), "waits": ("application", None, 1, 1),
                    "values": ("application", None, 2, 2), "fails": ("application", None, 1, 1),
                    "over twice": ("application", None, 1, 1),
                    "counts": ("application", None, 2, 2), "counted": ("application", None, 2, 2)})
                within = xsp_json("sql", out, "select count(*) as n from span a join span b on b.name = 'counted' and a.name = 'counts'"
                                  " and b.start_ns between a.start_ns and a.start_ns + a.duration_ns", "--json")
                self.assertEqual(within, [{"n": 2}])
                tags = xsp_json("sql", out, "select s.name, key, value from tag join span s using (run_id, span_id) where key in "
                                "('number', 'text', 'half', 'big') order by s.start_ns, key", "--json")
                self.assertEqual([(tag["key"], tag["value"]) for tag in tags[:3]], [("number", 0), ("half", 0.5), ("text", "x")])
                self.assertEqual(tags[-1]["value"], str(1 << 70))

    def record(self, name, program, python=sys.executable):
        """The tags of its spans: (span, key) to value."""
        out = self.folder / f"{name}.xsp"
        done = run(XSP, "run", "-o", out, "--", python, "-c", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = xsp_json("sql", out, "select s.name, key, value from tag join span s using (run_id, span_id) where s.tracer = 'app'", "--json")
        return {(row["name"], row["key"]): row["value"] for row in rows}

    def test_numbers_of_other_types(self):
        """Of the standard library in each interpreter, of numpy where it is installed."""
        for version, python in INTERPRETERS.items():
            with self.subTest(version=version):
                tags = self.record(f"numbers-{version}", """
import decimal, fractions, xsp
class Whole:
    __index__ = lambda self: 3
class Broken:
    __index__ = lambda self: 1 // 0
    __str__ = lambda self: "broken"
class Ends:
    def __index__(self):
        ended.__exit__(None, None, None)
        return 1
try:
    import numpy
    whole, real, unsigned, flag = numpy.int64(3), numpy.float32(1.5), numpy.uint64((1 << 64) - 1), numpy.bool_(True)
except ImportError:
    whole, real, unsigned, flag = Whole(), fractions.Fraction(3, 2), (1 << 64) - 1, "True"
with xsp.span("a"):
    for key, value in {"whole": whole, "real": real, "unsigned": unsigned, "flag": flag, "index": Whole(), "broken": Broken(),
                       "ratio": fractions.Fraction(1, 4), "huge": fractions.Fraction(10**400), "money": decimal.Decimal("1.50")}.items():
        xsp.tag(key, value)
with xsp.span("b") as ended:
    xsp.tag("ends", Ends())
""", python)
                self.assertEqual({key: value for (_, key), value in tags.items()}, {
                    "whole": 3, "real": 1.5, "unsigned": str((1 << 64) - 1), "flag": "True", "index": 3, "broken": "broken", "ratio": 0.25,
                    "huge": "1" + "0" * 400, "money": "1.50"})

    def test_coroutines_tag_their_own_spans(self):
        """While all their spans are begun, each tags its own; `xsp.tag` tags the last."""
        tags = self.record("coroutines", """
import asyncio, xsp
async def task(number, begun, go):
    with xsp.span(f"task {number}") as span:
        begun.append(number)
        await go.wait()
        span.tag("own", number)
        if number == 0:
            xsp.tag("innermost", number)
async def main():
    begun, go = [], asyncio.Event()
    tasks = [asyncio.create_task(task(number, begun, go)) for number in range(3)]
    while len(begun) < 3:
        await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*tasks)
asyncio.run(main())
assert "coroutine" in xsp.tag.__doc__ and "innermost" in xsp.traceparent.__doc__
""")
        self.assertEqual(tags, {("task 0", "own"): 0, ("task 1", "own"): 1, ("task 2", "own"): 2, ("task 2", "innermost"): 0})

    def test_trace_context(self):
        """Within a span, outside of spans, of a caller; a header that is none."""
        out, caller = self.folder / "context.xsp", f"00-{'a' * 32}-{'b' * 16}-01"
        done = run(XSP, "run", "-o", out, "--", sys.executable, "-c", f"""
import xsp
print(xsp.traceparent())
with xsp.span("outer") as outer:
    print(xsp.traceparent())
    xsp.set_traceparent({caller!r})
    print(xsp.traceparent())
    try:
        xsp.set_traceparent("00-0")
    except ValueError:
        print("refused")
""", environment={**ENVIRONMENT, "PYTHONPATH": str(PACKAGE / "src")})
        self.assertEqual(done.returncode, 0, done.stderr)
        program, outer, called, refused = done.stdout.split()
        self.assertEqual(refused, "refused")
        self.assertEqual((called.split("-")[1], called.split("-")[2]), ("a" * 32, outer.split("-")[2]))
        run(XSP, "export", out, "--to", "otlp", "-o", self.folder / "context.jsonl")
        spans = {span["name"]: span for line in (self.folder / "context.jsonl").read_text().splitlines()
                 for group in json.loads(line)["resourceSpans"] for scope in group["scopeSpans"] for span in scope["spans"]}
        self.assertEqual((spans["outer"]["spanId"], spans["outer"]["parentSpanId"]), (outer.split("-")[2], "b" * 16))
        self.assertIn(program.split("-")[2], {span["spanId"] for span in spans.values()})

    def test_finds_the_recorder_of_the_xsp_that_runs_it(self):
        """The package from somewhere else, without xsp in PATH."""
        place = shutil.copytree(PACKAGE / "src" / "xsp", self.folder / "elsewhere" / "xsp").parent
        environment = {key: value for key, value in ENVIRONMENT.items() if not key.startswith("XSP_LIBRARY")}
        environment.update(PYTHONPATH=str(place), PATH="/usr/bin:/bin")
        done = run(XSP, "run", "-o", self.folder / "found.xsp", "--", sys.executable, "-c",
                   "import xsp; print(xsp.__file__, type(xsp.span('a')).__name__)", environment=environment)
        self.assertEqual(done.stdout, f"{place}/xsp/__init__.py Span\n", done.stderr)

    def test_nothing_is_recorded_elsewhere(self):
        self.all_pass("record")
        for version, python in INTERPRETERS.items():
            done = run(python, PROGRAM, "record", environment={**ENVIRONMENT, "XSP_LIBRARY_PYTHON": "/nowhere/xsp_python.so"})
            self.assertEqual((done.returncode, done.stdout), (0, "nothing\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
