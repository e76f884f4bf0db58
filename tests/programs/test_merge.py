# SPDX-License-Identifier: Apache-2.0
"""xsp merge: files that have parts of the same traces become one."""
import pathlib
import unittest

import otlp
from otlp import START, request, span
from scripted import UNIX_START, Script, temporary_folder, xsp, xsp_json

TREE = "select s.run_id, s.name, p.name as parent, s.start_ns from span s left join span p on p.run_id = s.run_id and " \
       "p.span_id = s.parent_id order by s.start_ns, s.name"
TOP = 1 << 63  # half of all random ids have it


class Merge(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, *requests):
        lines = self.folder / f"{name}.jsonl"
        lines.write_text(otlp.lines(*requests))
        xsp("import", lines, "-o", self.folder / f"{name}.xsp", check=0)
        return self.folder / f"{name}.xsp"

    def merge(self, *files, name="merged"):
        path = self.folder / f"{name}.xsp"
        account = xsp_json("merge", *files, "-o", path, "--json")
        self.assertEqual(account["files"][0]["format"], "merged")
        return xsp_json("sql", path, TREE, "--json"), account["files"][0], path

    def parts(self):
        app = self.file("app", request([span(TOP + 1, name="app", end=100)], {"service.name": "app"}))
        model = self.file("model", request([span(7, name="model", parent=TOP + 1, start=10, end=50, level="model", events=[(11, "hi")]),
                                            span(8, name="layer", parent=7, start=20, end=30, level="layer", n=5)],
                                           {"service.name": "model"}))
        return app, model

    def test_the_order_does_not_matter(self):
        app, model = self.parts()
        for number, files in enumerate(((app, model), (model, app))):
            rows, account, path = self.merge(*files, name=number)
            self.assertEqual([(row["run_id"], row["name"], row["parent"]) for row in rows],
                             [(1, "app", None), (1, "model", "app"), (1, "layer", "model")])
            self.assertEqual(xsp_json("sql", path, "select key, value from tag where key = 'n'", "--json"), [{"key": "n", "value": 5}])
            self.assertEqual(xsp_json("sql", path, "select message, time_ns from log", "--json"), [{"message": "hi", "time_ns": START + 11}])
            self.assertEqual((account["kept"], account["path"]), (3, str(path)))

    def test_each_span_is_kept_once(self):
        app, model = self.parts()
        _, _, first = self.merge(app, model)
        rows, account, _ = self.merge(first, model, app, first, name="again")
        self.assertEqual([(row["run_id"], row["name"], row["parent"]) for row in rows],
                         [(1, "app", None), (1, "model", "app"), (1, "layer", "model")])
        self.assertEqual(account["skipped"], {"duplicate id": 6})

    def test_what_spans_cannot_carry_is_named(self):
        script = Script()
        script.experiment()
        script.run(1, "A")
        script.track(1)
        script.span("program", UNIX_START, 1000, level="application")
        script.sample("cpu", UNIX_START + 500, 400, script.context("main", file="train.py", line=3))
        sampled = script.write(self.folder / "sampled.xsp")
        said = xsp("merge", sampled, "-o", self.folder / "merged.xsp", check=0).stderr.decode()
        for what in ("call paths", "samples of threads"):
            self.assertIn(f"{sampled}: its {what} are not in the merged file", said)
        self.assertEqual(xsp_json("sql", self.folder / "merged.xsp", "select name from span", "--json"), [{"name": "program"}])

    def rank(self, number, ranks=2, of=1, framework=None):
        """Steps of 100 ms; the rank comes 30 ms per number late to an all-reduce that ends at 90."""
        script = Script()
        script.experiment(f"train {of} on host{number}", framework=framework)
        script.run(1, "M/Lib")
        script.track(1, host=f"host{number}", process=100, thread=100, rank=number, world_size=ranks)
        for step in range(5):
            start = UNIX_START + 100_000_000 * step
            script.span("training step", start, 100_000_000, "model", track=1)
            script.span("gloo:all_reduce", start + 10_000_000 + 30_000_000 * number, 80_000_000 - 30_000_000 * number, "library", track=1,
                        category="collective", tags={"sequence": step + 1, "group": "0", "bytes": 8})
        return script.write(self.folder / f"rank{of}.{number}.xsp")

    def test_ranks_on_several_hosts_are_one_job(self):
        _, account, path = self.merge(self.rank(0), self.rank(1))
        self.assertEqual(xsp_json("sql", path, "select experiment_id, count(*) as runs from run group by 1", "--json"),
                         [{"experiment_id": 1, "runs": 2}])
        self.assertEqual([note for note in account["notes"] if "one job" in note],
                         ['"train 1 on host0" and "train 1 on host1" are taken as hosts of one job of 2 ranks, which has the facts of the first'])
        self.assertEqual([(row["rank"], row["host"], row["waiting_ms"]) for row in xsp_json("analyze", "A21", path, "--json")["rows"]],
                         [("0", "host0", 30), ("1", "host1", 0), ("all", None, 15)])

    def test_a_rank_that_comes_again_is_of_another_job(self):
        """So is one of a job of another size or framework."""
        _, _, path = self.merge(self.rank(0), self.rank(1), self.rank(1, of=2), self.rank(2, ranks=3))
        self.assertEqual(xsp_json("sql", path, "select count(*) as runs from run group by experiment_id order by 1", "--json"),
                         [{"runs": 1}, {"runs": 1}, {"runs": 2}])
        _, account, path = self.merge(self.rank(0, framework="pytorch"), self.rank(1, framework="jax"), name="two")
        self.assertEqual(xsp_json("sql", path, "select count(distinct experiment_id) as jobs from run", "--json"), [{"jobs": 2}])
        self.assertFalse(any("one job" in note for note in account["notes"]))

    def test_processes_with_the_same_track_and_correlation_ids(self):
        def process(number, parent):
            facts = {"xsp.track": 1, "xsp.correlation_id": 9}
            return request([span(number, name=f"p{number}", parent=parent, level="model", thread=None, more={"xsp.track": 1,
                                 "xsp.process_id": number, "xsp.thread_id": number}),
                            span(number + 1, name="launch", parent=number, start=1, end=2, level="kernel", thread=None,
                                 more={**facts, "xsp.kind": "launch", "xsp.category": "api"}),
                            span(number + 2, name=f"k{number}", start=2, end=9, level="kernel", thread=None,
                                 more={"xsp.track": 2, "xsp.stream_id": 7, "xsp.device_id": 0, "xsp.correlation_id": 9,
                                       "xsp.kind": "execution"})], {"xsp.experiment": f"e{number}", "xsp.run": 1})
        rows, _, path = self.merge(self.file("a", process(10, None)), self.file("b", process(20, 10)))
        parents = {row["name"]: row["parent"] for row in rows}
        self.assertEqual((parents["k10"], parents["k20"], parents["p20"]), ("p10", "p20", "p10"))
        self.assertEqual(len(xsp_json("sql", path, "select * from track", "--json")), 4)

    def test_errors(self):
        app, _ = self.parts()
        self.assertEqual(xsp("merge", app, check=None).returncode, 2)
        self.assertEqual(xsp("merge", self.folder / "none.xsp", "-o", self.folder / "o.xsp", check=None).returncode, 2)
        self.assertEqual([path.name for path in self.folder.iterdir() if "o.xsp" in path.name], [])
        broken = self.folder / "broken.xsp"
        broken.write_bytes(app.read_bytes()[:5000])
        self.assertEqual(xsp("merge", broken, "-o", self.folder / "o.xsp", check=None).returncode, 2)


if __name__ == "__main__":
    unittest.main()
