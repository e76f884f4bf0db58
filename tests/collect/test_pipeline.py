# SPDX-License-Identifier: Apache-2.0
"""A script played by the fake tracer, through rings, collection, store and correlation, compared with the script."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
EPOCH = 1_700_000_000_000_000_000

SCRIPT = f"""
epoch {EPOCH}
track "gpu 0 stream 7" device=0 stream=7
track "simulated core" clock=cycles
thread python
"""


def model_script():
    """Three predictions of two layers, one kernel launched in each layer and executed later; launches overlap the
    executions of others. Returns the script and the rows it promises."""
    lines, rows = [SCRIPT], []

    def span(reference, name, level, start, end, parent, **fields):
        text = " ".join(f'{key}="{value}"' for key, value in fields.items())
        lines.append(f'span {reference} name="{name}" level={level} start={start} end={end} {text}')
        rows.append({"name": name, "level": level, "kind": fields.get("kind", "sync"), "start_ns": EPOCH + start,
                     "duration_ns": end - start, "parent_start_ns": None if parent is None else EPOCH + parent})

    for i in range(3):
        at = i * 1_000_000
        for j, layer in enumerate(("conv", "relu")):
            begin = at + 10_000 + j * 300_000
            span(f"x{i}{j}", f"{layer}_api", "kernel", begin + 1_000, begin + 5_000, begin, kind="launch",
                 category="api", correlation=100 * i + j + 1)
            span(f"l{i}{j}", layer, "layer", begin, begin + 290_000, at)
            lines.append(f"tag l{i}{j} layer_type {layer.upper()}")
            lines.append(f"tag l{i}{j} layer_index {j}")
            lines.append(f"tag l{i}{j} ratio {j + 0.25}")
            # The device is late: each execution ends in the next layer, or after the prediction.
            span(f"e{i}{j}", f"{layer}_kernel", "kernel", begin + 100_000, begin + 350_000, begin,
                 kind="execution", category="kernel", correlation=100 * i + j + 1, track="gpu 0 stream 7")
        span(f"m{i}", "model", "model", at, at + 900_000, None)
        lines.append(f"tag m{i} batch_size 8")
    lines.append("thread helper")
    span("h", "helper_work", "application", 0, 500_000, None)
    lines.append('span s name=tick level=kernel start=7 end=19 track="simulated core"')
    rows.append({"name": "tick", "level": "kernel", "kind": "sync", "start_ns": 7, "duration_ns": 12,
                 "parent_start_ns": None})
    return "\n".join(lines) + "\n", rows


class PipelineTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-pipeline-")
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def play(self, script, **environment):
        """Runs the script in a traced process without xsp, then recovers its session into a file."""
        (self.folder / "script.txt").write_text(script, encoding="utf-8")
        (self.folder / "progress").write_bytes(bytes(4096))
        session, out = self.folder / "session", self.folder / "out.xsp"
        tracer = f"{BUILD}/tracers/fake.so:script={self.folder}/script.txt"
        subprocess.run([BUILD / "test-programs" / "collect-traced-workload", self.folder / "progress", "1", "2"],
                       env={**os.environ, "XSP_SESSION": str(session), "XSP_TRACERS": tracer, **environment},
                       check=True, timeout=600)
        self.messages = subprocess.run([XSP, "recover", session, "-o", out], check=True, timeout=600,
                                   stderr=subprocess.PIPE).stderr.decode()
        self.assertFalse(session.exists())
        return out

    def sql(self, path, query):
        result = subprocess.run([XSP, "sql", path, query, "--json"], check=True, timeout=600, stdout=subprocess.PIPE)
        return json.loads(result.stdout)

    def test_every_row_is_as_the_script_says(self):
        script, rows = model_script()
        out = self.play(script)
        got = self.sql(out, "select s.name, s.level, s.kind, s.start_ns, s.duration_ns, p.start_ns as parent_start_ns"
                            " from span s left join span p on p.run_id = s.run_id and p.span_id = s.parent_id"
                            " where s.tracer = 'fake'")
        key = lambda row: (row["start_ns"], row["name"])
        self.assertEqual(sorted(got, key=key), sorted(rows, key=key))

    def test_bases_tags_and_tracks(self):
        out = self.play(model_script()[0])
        bases = {row["basis"]: row["n"] for row in
                 self.sql(out, "select basis, count(*) as n from span where tracer = 'fake' group by 1")}
        self.assertEqual(bases, {"containment": 12, "correlation": 6, "none": 5})
        tags = collections.defaultdict(list)
        for row in self.sql(out, "select s.name, t.key, t.value from tag t join span s on s.run_id = t.run_id and"
                                 " s.span_id = t.span_id where s.tracer = 'fake'"):
            tags[row["name"]].append((row["key"], row["value"]))
        self.assertEqual(tags["conv"], 3 * [("layer_type", "CONV"), ("layer_index", 0), ("ratio", 0.25)])
        self.assertEqual(tags["model"], 3 * [("batch_size", 8)])
        self.assertEqual(tags["relu_kernel"], [("recorded_correlation", number) for number in (2, 102, 202)])
        tracks = {row["name"]: row for row in self.sql(out, "select * from track")}
        self.assertEqual((tracks["gpu 0 stream 7"]["device_id"], tracks["gpu 0 stream 7"]["stream_id"]), (0, 7))
        self.assertIsNotNone(tracks["python"]["thread_id"])
        self.assertNotEqual(tracks["python"]["thread_id"], tracks["helper"]["thread_id"])
        self.assertIn("simulated core", tracks)

    def test_tracks_have_their_process_s_rank(self):
        query = "select distinct rank, local_rank, world_size from track"
        unknown = {"rank": None, "local_rank": None, "world_size": None}
        script = f"epoch {EPOCH}\nthread main\nspan a name=a level=model start=1 end=2\n"
        self.assertEqual(self.sql(self.play(script), query), [unknown])
        (self.folder / "out.xsp").unlink()
        out = self.play(script, RANK="3", LOCAL_RANK="1", WORLD_SIZE="4")
        self.assertEqual(self.sql(out, query), [{"rank": 3, "local_rank": 1, "world_size": 4}])

    def test_kernels_have_plain_names(self):
        names = {"_Z5scaleIfEvPT_": "void scale<float>(float*)", "_Zno": "_Zno", "ampere_sgemm_128x64_tn": "ampere_sgemm_128x64_tn"}
        script = f"epoch {EPOCH}\nthread main\n" + "".join(
            f'span {level}{i} name="{name}" level={level} start={i} end={i} category=kernel\n'
            for i, name in enumerate(names) for level in ("kernel", "library"))
        out = self.play(script)
        query = "select level, name from span where tracer = 'fake' order by level, start_ns"
        self.assertEqual([tuple(row.values()) for row in self.sql(out, query)],
                         [("kernel", name) for name in names.values()] + [("library", name) for name in names])

    def test_spans_that_another_thread_publishes(self):
        """Layers side by side, each on the thread that ran it, enclose only that thread's calls; one without a thread
        crosses them in time, so what it encloses as well is ambiguous."""
        layers = ("thread main\nspan a name=layer_a level=layer start=10 end=50 track=on_a\n"
                  "span b name=layer_b level=layer start=20 end=60 track=on_b\n")
        script = (f"epoch {EPOCH}\nthread a\ntrack on_a of=thread\nspan x name=call_a level=library start=25 end=30\n"
                  "thread b\ntrack on_b of=thread\nspan y name=call_b level=library start=25 end=30\n"
                  "span z name=late_b level=library start=55 end=58\n" + layers)
        lost = "track nowhere\nspan l name=layer_c level=layer start=52 end=70 track=nowhere\n"
        query = ("select s.name, p.name as parent, s.basis, t.name as thread from span s left join span p on"
                 " p.run_id = s.run_id and p.span_id = s.parent_id join track t on t.run_id = s.run_id and"
                 " t.track_id = s.track_id where s.tracer = 'fake' and s.level = 'library' order by 1")
        expected = [{"name": "call_a", "parent": "layer_a", "basis": "containment", "thread": "a"},
                    {"name": "call_b", "parent": "layer_b", "basis": "containment", "thread": "b"},
                    {"name": "late_b", "parent": "layer_b", "basis": "containment", "thread": "b"}]
        out = self.play(script)
        self.assertEqual(self.sql(out, query), expected)
        self.assertEqual(self.sql(out, "select s.name, t.name as thread from span s join track t using (run_id, track_id)"
                                       " where s.tracer = 'fake' and s.level = 'layer' order by 1"),
                         [{"name": "layer_a", "thread": "a"}, {"name": "layer_b", "thread": "b"}])
        out.unlink()
        expected[2].update(parent=None, basis="ambiguous")
        self.assertEqual(self.sql(self.play(script + lost), query), expected)

    def test_layers_of_a_profiler_with_whole_microseconds(self):
        """MXNet reports 100 to 150 and 150 to 170 µs, cut off: both layers may have had any part of the one microsecond."""
        calls = {"in_first": (149_000, 149_500), "into_shared": (149_900, 150_300), "in_shared": (150_400, 150_600),
                 "out_of_shared": (150_800, 151_200), "in_last_ns": (170_100, 170_999)}
        out = self.play(f"epoch {EPOCH}\nthread a\ntrack on_a of=thread\n" + "".join(
            f"span {name} name={name} level=library start={start} end={end}\n" for name, (start, end) in calls.items()) +
            "thread main\nspan l name=first level=layer start=100000 end=150999 track=on_a\n"
            "span m name=second level=layer start=150000 end=170999 track=on_a\n")
        rows = self.sql(out, "select s.name, p.name as parent from span s left join span p on p.run_id = s.run_id and"
                             " p.span_id = s.parent_id where s.tracer = 'fake' and s.level = 'library'")
        self.assertEqual({row["name"]: row["parent"] for row in rows},
                         {"in_first": "first", "into_shared": "first", "in_shared": None, "out_of_shared": "second",
                          "in_last_ns": "second"})
        self.assertEqual(self.sql(out, "select name from span where basis = 'ambiguous'"), [{"name": "in_shared"}])

    def test_device_time_by_layer(self):
        out = self.play(model_script()[0])
        rows = self.sql(out, "select l.name as name, sum(e.duration_ns) as ns from span e join span l on"
                             " l.run_id = e.run_id and l.span_id = e.layer_id where e.kind = 'execution' and"
                             " e.category = 'kernel' group by 1 order by 1")
        self.assertEqual({row["name"]: row["ns"] for row in rows},
                         {"conv": 750_000, "relu": 750_000})

    def test_analyses(self):
        out = self.play(model_script()[0])
        info = json.loads(subprocess.run([XSP, "info", out, "--json"], check=True, timeout=600,
                                         stdout=subprocess.PIPE).stdout)
        run = info["experiments"][0]["runs"][0]
        self.assertEqual(run["observations"], 3)
        self.assertEqual(run["spans"]["model"], 3)
        self.assertEqual(run["spans"]["layer"], 6 + 1)  # the host program's own outer span
        table = json.loads(subprocess.run([XSP, "analyze", "A2", out, "--json"], check=True, timeout=600,
                                          stdout=subprocess.PIPE).stdout)
        layers = [(row["layer_type"], row["latency_ms"]) for row in table["rows"]]
        # In µs from a prediction's start: conv is on the host from 10 to 300, its kernel runs from 110 to 360; relu from 310 to
        # 600 and 410 to 660. Each has 250 of its kernel, and the time without a kernel: 10 to 110, and 360 to 410.
        self.assertEqual(layers, [("CONV", 0.35), ("RELU", 0.3)])
        self.assertEqual([row["host_ms"] for row in table["rows"]], [0.29, 0.29])

    def test_live_spans_nest_and_open_ones_are_kept(self):
        script = "thread t\nbegin a name=a\nbegin b name=b level=layer\nlog b \"half way\"\nfinish b\n" \
                 "begin c name=c level=layer\ncorrelate c launch 7\nfinish c\n"
        out = self.play(script)
        rows = self.sql(out, "select s.name, p.name as parent, s.duration_ns, s.kind from span s left join span p on"
                             " p.run_id = s.run_id and p.span_id = s.parent_id where s.tracer = 'fake' order by"
                             " s.start_ns")
        self.assertEqual([row["name"] for row in rows], ["a", "b", "c"])
        self.assertIsNone(rows[0]["duration_ns"])
        self.assertEqual(rows[2]["kind"], "launch")
        self.assertIn("1 open", self.messages)
        log = self.sql(out, "select message, time_ns from log")
        self.assertEqual([row["message"] for row in log], ["half way"])
        self.assertTrue(1_500_000_000 * 10**9 < log[0]["time_ns"])

    def test_a_burst_is_kept_or_counted(self):
        # A ring that is not drained grows to its share of memory, then drops and counts.
        count = 20_000
        out = self.play(f"thread t\nburst {count} name=quick level=kernel\n", XSP_RING_RECORDS="256",
                        XSP_SESSION_LIMIT_BYTES=str(256 * 1024))
        kept = self.sql(out, "select count(*) as n from span where tracer = 'fake'")[0]["n"]
        dropped = self.sql(out, "select dropped_count as n from run")[0]["n"]
        self.assertLess(kept, count)
        self.assertGreater(kept, 100)
        self.assertEqual(kept + dropped, count + 2 - self.sql(
            out, "select count(*) as n from span where tracer = 'app'")[0]["n"])

    def test_flight_recorder_keeps_the_last(self):
        script = "thread t\n" + "".join(f"span s{i} name=n{i} level=kernel start={i} end={i + 1}\n" for i in range(1000))
        out = self.play(script, XSP_RING_RECORDS="256", XSP_FLIGHT_RECORDER="1")
        names = [row["name"] for row in self.sql(out, "select name from span where tracer = 'fake' order by start_ns")]
        self.assertEqual(names, [f"n{i}" for i in range(1000 - len(names), 1000)])
        self.assertGreaterEqual(len(names), 250)
        self.assertLessEqual(len(names), 256)

    def test_many_names(self):
        # More text than the catalog begins with: it grows, and every name is found.
        names = [f"{i:05d}" + "x" * 150 for i in range(4000)]
        script = "thread t\n" + "".join(f"span s name={name} start={i} end={i + 1}\n" for i, name in enumerate(names))
        out = self.play(script)
        self.assertEqual([row["name"] for row in self.sql(out, "select name from span where tracer = 'fake' order by"
                                                               " start_ns")], names)

    def test_a_wrong_line_is_named(self):
        self.play("thread t\nspan a name=a start=0 end=1\nspan\n")
        self.assertIn("line 3", self.messages)


if __name__ == "__main__":
    unittest.main()
