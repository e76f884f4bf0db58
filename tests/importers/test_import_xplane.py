# SPDX-License-Identifier: Apache-2.0
"""Profiles of XLA (JAX, TensorFlow): executions of modules, operations in loops that go on in other threads, fused operations
with their sources, compilations, streams of devices. Files are written field by field; the figures are worked out there."""
import json
import os
import unittest

import otlp
import xspace
from scripted import temporary_folder, xsp, xsp_json


class Xplane(unittest.TestCase):
    loop = None  # what is loaded of it, by the first test that asks

    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def write(self, content, name="vm.xplane.pb"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def load(self, content):
        self.out = os.path.join(self.folder, "t.xsp")
        report = xsp_json("import", self.write(content), "-o", self.out, "--force", "--json")
        spans = self.rows("select s.*, t.name as track, t.process_id, t.thread_id, t.device_id, t.stream_id from span s"
                          " join track t using (run_id, track_id) order by s.start_ns, s.duration_ns desc")
        tags = self.rows("select span_id, key, value from tag")
        for span in spans:
            span["tags"] = {tag["key"]: tag["value"] for tag in tags if tag["span_id"] == span["span_id"]}
        return report, spans

    def refused(self, path):
        out = os.path.join(self.folder, "no.xsp")
        message = xsp("import", path, "-o", out, check=2).stderr.decode()
        self.assertFalse(os.path.exists(out))
        return message

    def rows(self, sql):
        return xsp_json("sql", self.out, sql, "--json")

    def load_loop(self):
        if Xplane.loop is None:
            Xplane.loop = self.load(xspace.space(*xspace.loop_program()))
        return Xplane.loop

    def test_executions_of_a_module(self):
        report, spans = self.load_loop()
        self.assertEqual(report["files"][0]["format"], "xplane")
        first, second = [span for span in spans if span["level"] == "model"]
        start = 1_700_000_000_000_000_500
        self.assertEqual((first["name"], first["start_ns"], first["duration_ns"]), ("jit_loop", start, 14_000))
        self.assertEqual((second["start_ns"], second["duration_ns"]), (start + 100_000, 8_000))
        self.assertEqual((first["tags"]["program_id"], first["tags"]["run_id"]), (3, -5))
        self.assertEqual(first["tags"]["signature"], "f32[2,2]")
        self.assertEqual((first["process_id"], first["thread_id"]), (77, None))

    def test_the_parent_is_the_module_or_its_loop_whatever_the_time(self):
        _, spans = self.load_loop()
        names = {span["span_id"]: (span["name"], span["start_ns"] % 10**6) for span in spans}
        parents = [(span["name"], names[span["parent_id"]]) for span in spans if span["level"] == "layer"]
        self.assertEqual(parents[:8], [("copy.1", ("jit_loop", 500)), ("while.5", ("jit_loop", 500))]
                         + 3 * [("my_fusion", ("while.5", 2500)), ("add.1", ("while.5", 2500))])
        self.assertEqual({span["basis"] for span in spans if span["level"] == "layer"}, {"explicit"})

    def test_a_loop_ends_with_its_last_turn(self):
        _, spans = self.load_loop()
        loops = [span for span in spans if span["name"] == "while.5"]
        self.assertEqual([loop["duration_ns"] for loop in loops], [12_000, 6_000])  # the event of the first: 3,000
        self.assertEqual([loop["tags"]["iterations"] for loop in loops], [3, 3])

    def test_a_loop_that_the_recording_cuts(self):
        """It has no event, nor has the loop around it: operations of its turns are not the module's all the same."""
        host, modules, environment = xspace.Plane("/host:CPU"), xspace.Plane("/host:metadata"), xspace.Plane("Task Environment")
        host.line(9, "tf_XLAPjRtCpuClient/9", 0, [xspace.operation(name, at, 1, -5, at) for at, name in
                                                  enumerate(["add.1", "my_fusion", "add.1", "copy.1"], 1)])
        modules.add_module("jit_loop(3)", xspace.nested_module("jit_loop"))
        _, spans = self.load(xspace.space(host, modules, environment))
        names = {span["span_id"]: span["name"] for span in spans}
        layers = sorted((span["name"], span["start_ns"], span["duration_ns"], names[span["parent_id"]]) for span in spans
                        if span["level"] == "layer")
        self.assertEqual(layers, [("add.1", 1000, 1000, "while.5"), ("add.1", 3000, 1000, "while.5"), ("copy.1", 4000, 1000, "jit_loop"),
                                  ("my_fusion", 2000, 1000, "while.5"), ("while.5", 1000, 3000, "while.6"), ("while.6", 1000, 3000, "jit_loop")])
        loop = next(span for span in spans if span["name"] == "while.5")
        self.assertEqual((loop["tags"]["layer_type"], loop["thread_id"]), ("while", 9))
        self.assertNotIn("iterations", loop["tags"])  # some turns are not in the file

    def test_a_loop_that_is_cut_and_ends_last(self):
        """copy.1 begins last in the execution, but my_fusion goes on in another thread."""
        host, modules, environment = xspace.Plane("/host:CPU"), xspace.Plane("/host:metadata"), xspace.Plane("Task Environment")
        host.line(3, "tf_XLAEigen/3", 0, [xspace.end("my_fusion", 9, 1)])
        host.line(9, "tf_XLAPjRtCpuClient/9", 0, [xspace.operation("my_fusion", 1, 1, -5, 1), xspace.operation("copy.1", 3, 1, -5, 2)])
        modules.add_module("jit_loop(3)", xspace.loop_module())
        _, spans = self.load(xspace.space(host, modules, environment))
        durations = {span["name"]: span["duration_ns"] for span in spans}
        self.assertEqual(durations, {"my_fusion": 8_000, "copy.1": 1_000, "while.5": 8_000, "jit_loop": 8_000})

    def test_memory_that_is_donated(self):
        host, modules, environment = xspace.loop_program()
        modules.modules = [("jit_loop(3)", xspace.loop_module(donated=(0, 2)))]
        _, spans = self.load(xspace.space(host, modules, environment))
        self.assertEqual({span["tags"].get("donated") for span in spans if span["level"] == "model"}, {2})

    def test_a_module_that_came_from_a_cache(self):
        """It has another number in its description; which of two is meant is not known."""
        host, modules, environment = xspace.loop_program()
        for described, expected in ((["jit_loop(7)"], {"f32[2,2]"}), (["jit_loop(7)", "jit_loop(9)"], {None}), (["jit_loops(7)"], {None})):
            modules.modules = [(name, xspace.loop_module(name.partition("(")[0])) for name in described]
            _, spans = self.load(xspace.space(host, modules, environment))
            self.assertEqual({span["tags"].get("signature") for span in spans if span["level"] == "model"}, expected, described)

    def test_an_operation_ends_where_its_last_thread_ends_it(self):
        _, spans = self.load(xspace.space(*xspace.asynchronous_program()))
        durations = {span["name"]: span["duration_ns"] for span in spans}
        self.assertEqual(durations, {"copy.1": 3_000, "add.1": 2_000, "my_fusion": 10_000, "while.5": 14_000, "jit_loop": 17_000})

    def test_a_fused_operation_lists_its_sources(self):
        _, spans = self.load_loop()
        fused = next(span for span in spans if span["name"] == "my_fusion")
        self.assertEqual(fused["category"], "fused")
        self.assertEqual(fused["tags"]["source"], "dot_general train.py:8, sin layers.py:9")
        self.assertEqual((fused["tags"]["layer_type"], fused["tags"]["layer_shape"]), ("dot_general", "f32[2,2]"))
        add = next(span for span in spans if span["name"] == "add.1")
        self.assertEqual((add["tags"]["layer_type"], add["tags"]["source"]), ("add", "add train.py:7"))

    def test_a_long_list_of_sources_ends(self):
        """Operations share the text of a file's name: each of a million would write it out again."""
        for length, listed in ((10, 32), (300, 26), (9000, 0)):
            file = "f" * length
            fused = [xspace.instruction(f"sin.{at}", "sine", "jit(loop)/sin", at) for at in range(1, 41)]
            main = [xspace.instruction("my_fusion", "fusion", "jit(loop)/sin", 0, [1])]
            host, modules, environment = xspace.loop_program()
            modules.modules = [("jit_loop(3)", xspace.module("jit_loop", {1: fused, 2: main}, (), [(file, at, "f", 0) for at in range(1, 41)]))]
            _, spans = self.load(xspace.space(host, modules, environment))
            tags = next(span for span in spans if span["name"] == "my_fusion")["tags"]
            self.assertEqual(tags.get("source", ""), ", ".join(f"sin {file}:{at}" for at in range(1, listed + 1)))

    def test_layers_by_source(self):
        self.load(xspace.space(*xspace.loop_program()))
        table = xsp_json("analyze", "A2", self.out, "--by", "source", "--layer", "all", "--format", "json")
        rows = {row["layer_name"]: (row["source"], row["iterations"]) for row in table["rows"]}
        self.assertEqual(rows["my_fusion"], ("dot_general train.py:8, sin layers.py:9", None))
        self.assertEqual(rows["while.5"][1], 3)
        self.assertNotIn("source", xsp_json("analyze", "A2", self.out, "--format", "json")["rows"][0])

    def test_an_operation_has_the_call_path_that_made_it(self):
        self.load(xspace.space(*xspace.loop_program()))
        paths = self.rows("with recursive up(name, id, depth) as (select distinct s.name, s.context_id, 0 from span s"
                          " where s.name in ('my_fusion', 'add.1', 'copy.1') union all select u.name, c.parent_id, u.depth + 1"
                          " from up u join context c on c.context_id = u.id where c.parent_id is not null)"
                          " select u.name as span, f.name, f.file, f.line from up u join context c on c.context_id = u.id"
                          " join frame f using (frame_id) order by 1, u.depth desc")
        found = [(row["span"], row["name"], row["file"], row["line"]) for row in paths]
        self.assertEqual(found, [("add.1", "step", "train.py", 7), ("add.1", "add", None, None),
                                 ("my_fusion", "step", "train.py", 8), ("my_fusion", "sine", "layers.py", 9),
                                 ("my_fusion", "dot_general", None, None)])

    def test_a_compilation_begins_with_the_tracing(self):
        _, spans = self.load_loop()
        compilation, = [span for span in spans if span["category"] == "compile"]
        self.assertEqual(compilation["start_ns"] % 10**6, 1500)
        self.assertEqual(compilation["duration_ns"], 43_000)  # from 1 to 44 us
        self.assertEqual(compilation["tags"]["function"], "loop")
        self.assertEqual((compilation["tags"]["compile_id"], compilation["tags"]["signature"]), ("0/0", "f32[2,2]"))

    def recompiled(self, second):
        host, modules = xspace.Plane("/host:CPU"), xspace.Plane("/host:metadata")
        events = []
        for at in (0, 50):
            events += [("PjitFunction(<lambda>)", at * 10**6, 40 * 10**6, {}),
                       ("backend_compile_and_load", (at + 1) * 10**6, 10**6, {})]
        host.line(1, "python3", 0, events)
        modules.add_module("jit__lambda(2)", xspace.loop_module("jit__lambda"))
        modules.add_module("jit__lambda(4)", xspace.loop_module("jit__lambda", (second,)))
        _, spans = self.load(xspace.space(host, modules))
        return [span["tags"].get("reason") for span in spans if span["category"] == "compile"]

    def test_why_a_function_was_compiled_again(self):
        self.assertEqual(self.recompiled(xspace.shape(11, 9, 2)), [None, "other shapes or types"])
        self.assertIn("another function object", self.recompiled(xspace.shape(11, 2, 2))[1])

    def test_parts_that_follow_each_other_are_one_profile(self):
        second = 1_700_000_010_000_000_000
        _, spans = self.load(xspace.space(*xspace.loop_program()) + xspace.threads({9: 4711})
                             + xspace.space(*xspace.loop_program(second)) + xspace.threads({9: 4711}))
        runs = [span["start_ns"] for span in spans if span["name"] == "jit_loop" and span["category"] is None]
        # run ids are those of the first part again: one execution that goes on, as one that a part's end cuts
        self.assertEqual(runs, [1_700_000_000_000_000_500, 1_700_000_000_000_100_500])
        copies = [span for span in spans if span["name"] == "copy.1"]
        self.assertEqual([copy["start_ns"] // 10**10 for copy in copies], [170_000_000, 170_000_000, 170_000_001, 170_000_001])
        self.assertEqual(len({copy["track_id"] for copy in copies}), 1)
        self.assertEqual({copy["thread_id"] for copy in copies}, {4711})

    def test_no_step_has_the_time_between_parts(self):
        parts = b""
        for start_ns in (10**18, 2 * 10**18):
            host = xspace.Plane("/host:CPU", process_id=7)
            host.line(1, "python3", 0, [xspace.operation("a", at, 5, start_ns // 10**18 * 100 + at, at, "jit_train")
                                        for at in (0, 10)])
            parts += xspace.space(host, xspace.Plane("Task Environment", profile_start_time=start_ns))
        self.load(parts)
        self.assertEqual(self.rows("select start_ns % 1000000 as start_ns, duration_ns from observation order by observation"),
                         2 * [{"start_ns": 0, "duration_ns": 5000}, {"start_ns": 5000, "duration_ns": 10_000}])

    def test_ranges_and_what_is_left_out(self):
        report, spans = self.load_loop()
        mine = next(span for span in spans if span["name"] == "mine")
        self.assertEqual((mine["level"], mine["tags"], mine["track"]), ("application", {"k": 3, "text": "a b"}, "python3"))
        self.assertEqual({s["reason"]: s["count"] for s in xspace_skipped(report)},
                         {"end of an operation": 3, "mark of a thread pool": 1, "Python frame": 1})

    def test_numbers_of_every_length(self):
        """Of one to ten bytes, as values, starts and durations; names of values on both sides of 128."""
        numbers = [1 << bits for bits in range(0, 63, 3)] + [(1 << bits) - 1 for bits in range(7, 63, 7)] + [-1, -(1 << 62)]
        host = xspace.Plane("/host:CPU")
        host.line(1, "python3", 0, [(f"range {at}", abs(number) // 2, abs(number) // 4, {f"k{at}": number, f"text{at}": f"value {at}"})
                                    for at, number in enumerate(numbers + 50 * [7])])
        _, spans = self.load(xspace.space(host))
        found = {span["name"]: (span["start_ns"], span["duration_ns"], span["tags"]) for span in spans}
        for at, number in enumerate(numbers):
            start, duration = abs(number) // 2, abs(number) // 4
            self.assertEqual(found[f"range {at}"], (start // 1000, (start + duration) // 1000 - start // 1000,
                                                    {f"k{at}": number, f"text{at}": f"value {at}"}))

    def test_numbers_without_a_sign(self):
        """What no tag holds as a number is a text, as in other formats."""
        host = xspace.Plane("/host:CPU")
        host.line(1, "python3", 0, [("range", 0, 10**6, {"most": (1 << 64) - 1, "least": 1 << 63, "below": (1 << 63) - 1})])
        _, (span,) = self.load(xspace.space(host))
        self.assertEqual(span["tags"], {"most": "18446744073709551615", "least": "9223372036854775808", "below": (1 << 63) - 1})

    def test_planes_that_are_not_read_are_counted(self):
        host, other, tpu = (xspace.Plane(name) for name in ("/host:CPU", "/device:CUSTOM:Megascale Trace", "/device:TPU:0"))
        host.line(1, "python3", 0, [("range", 0, 10**6, {})])
        other.line(1, "sends", 0, [("send", 0, 10**6, {}), ("receive", 10**6, 10**6, {})])
        tpu.line(1, "Sparse Core Ops", 0, [("gather", 0, 10**6, {})])
        tpu.line(2, "Steps", 0, 3 * [("0", 0, 10**6, {})])
        report, spans = self.load(xspace.space(host, other, tpu))
        self.assertEqual([span["name"] for span in spans], ["range"])
        self.assertEqual({s["reason"]: s["count"] for s in xspace_skipped(report)},
                         {"of another plane": 2, "of a SparseCore": 1, "derived line": 3})

    def test_steps_are_the_module_that_is_repeated(self):
        host = xspace.Plane("/host:CPU")
        host.line(1, "python3", 0, [xspace.operation("a", at, 5, at, at, "jit_train") for at in (0, 10, 20)]
                  + [xspace.operation("b", at + 6, 1, at, 99 + at, "jit_small") for at in (0, 10, 20)])
        self.load(xspace.space(host))
        # the first begins with its execution, the others where the one before ended: what runs between is in them
        self.assertEqual(self.rows("select start_ns, duration_ns from observation order by 1"),
                         [{"start_ns": 0, "duration_ns": 5000}, {"start_ns": 5000, "duration_ns": 10_000},
                          {"start_ns": 15_000, "duration_ns": 10_000}])
        inside = self.rows("select s.name, p.start_ns as step from span s left join span p on p.span_id = s.parent_id"
                           " where s.level = 'model' and s.category is null order by s.start_ns")
        self.assertEqual([(row["name"], row["step"]) for row in inside], [
            ("jit_train", 0), ("jit_small", 5000), ("jit_train", 5000), ("jit_small", 15_000), ("jit_train", 15_000),
            ("jit_small", None)])
        marked = [("train", 0, 30 * 10**6, {"step_num": 4})]
        host.line(2, "main", 0, marked)
        _, spans = self.load(xspace.space(host))
        self.assertEqual(self.rows("select count(*) as n from observation"), [{"n": 1}])
        self.assertEqual(next(s for s in spans if s["name"] == "train")["tags"]["step_num"], 4)

    def test_collectives(self):
        """Processes count executions alike, so that this is a collective's number, but in a loop. Of groups only one is all devices."""
        _, spans = self.load(xspace.space(*xspace.collective_program()))
        found = [(span["name"], *(span["tags"].get(key) for key in ("collective", "bytes", "group", "sequence")))
                 for span in spans if span["category"] == "collective"]
        self.assertEqual(found, [("psum.1", "all_reduce", 16, "all", 40), ("psum.2", "all_reduce", 20, "all", 40), ("psum.3", "all_reduce", 36, "parts", 40),
                                 ("all_gather.1", "all_gather", 16, "parts", 40), ("ppermute.1", "permute", 16, "all", 40),
                                 ("psum.4", "all_reduce", 16, "all", 40),
                                 ("reduce_scatter.1", "reduce_scatter", 16, "parts", None),
                                 ("reduce_scatter.1", "reduce_scatter", 16, "parts", None)])

    def groups(self):
        groups = self.rows("select s.name, t.rank, g.value as ranks, count(*) as times from span s join track t using (run_id, track_id)"
                           " join tag g using (run_id, span_id) where g.key = 'group' group by 1, 2, 3 order by 1, 2")
        return [(row["name"], row["rank"], row["ranks"], row["times"]) for row in groups]

    def test_devices_of_a_process_are_ranks(self):
        self.load(xspace.space(*xspace.several_devices()))
        self.assertEqual(self.groups(),
                         [("all_gather.1", 0, "0,2", 3), ("all_gather.1", 1, "1,3", 3), ("all_gather.1", 2, "0,2", 3), ("all_gather.1", 3, "1,3", 3),
                          ("psum.1", 0, "0,3", 3), ("psum.1", 1, "1-2", 3), ("psum.1", 2, "1-2", 3), ("psum.1", 3, "0,3", 3),
                          *[("psum.2", rank, "0-3", 3) for rank in range(4)]])
        ranks = xsp_json("analyze", "A21", self.out, "--json")["rows"]
        self.assertEqual([(row["rank"], row["steps"]) for row in ranks], [("0", 3), ("1", 3), ("2", 3), ("3", 3), ("all", 12)])

    def test_groups_along_axes_of_a_mesh(self):
        """As JAX's NamedSharding writes them. The module's numbers 0 to 3 are devices 0, 2, 3, 1."""
        self.load(xspace.space(*xspace.several_devices(collectives=xspace.devices_of_axes())))
        self.assertEqual(self.groups(), [
            *[("sum.1", rank, "0-3", 3) for rank in range(4)],
            ("sum.2", 0, "0,3", 3), ("sum.2", 1, "1-2", 3), ("sum.2", 2, "1-2", 3), ("sum.2", 3, "0,3", 3),
            ("sum.3", 0, "0-1", 3), ("sum.3", 1, "0-1", 3), ("sum.3", 2, "2-3", 3), ("sum.3", 3, "2-3", 3)])

    def test_a_part_of_an_axis_is_not_all(self):
        self.load(xspace.space(*xspace.several_devices(devices=2, collectives=xspace.devices_of_axes())))
        self.assertEqual([row[:3] for row in self.groups()], [("sum.1", None, "all"), ("sum.2", None, "parts"), ("sum.3", None, "parts")])

    def test_devices_of_other_processes_are_missing(self):
        self.load(xspace.space(*xspace.several_devices(devices=2)))
        self.assertEqual(self.rows("select distinct t.rank, g.value as ranks from span s join track t using (run_id, track_id) join tag g using (run_id, span_id)"
                                   " where g.key = 'group' order by 2"), [{"rank": None, "ranks": "all"}, {"rank": None, "ranks": "parts"}])

    def test_streams_of_a_device_and_nothing_twice(self):
        report, spans = self.load(xspace.space(*xspace.device_program()))
        kernel, copy = [next(s for s in spans if s["category"] == category) for category in ("kernel", "memcpy")]
        self.assertEqual((kernel["start_ns"], kernel["duration_ns"], kernel["device_id"], kernel["stream_id"]),
                         (3000, 4000, 4, 134))
        self.assertEqual({key: kernel["tags"][key] for key in ("registers", "shared_bytes", "grid", "block", "hlo_op")},
                         {"registers": 38, "shared_bytes": 16, "grid": "[160,1,1]", "block": "[64,1,1]", "hlo_op": "fusion.1"})
        self.assertEqual((copy["tags"]["bytes"], copy["stream_id"]), (112, 135))
        layer = next(span for span in spans if span["level"] == "layer")
        self.assertEqual((layer["name"], layer["tags"]["layer_type"]), ("layer/MatMul:MatMul", "MatMul"))
        self.assertEqual((kernel["layer_id"], kernel["basis"]), (layer["span_id"], "correlation"))
        self.assertEqual({s["reason"]: s["count"] for s in xspace_skipped(report)}, {"derived line": 12})
        self.assertEqual([s["name"] for s in spans if s["level"] == "application"], ["Ns::Call"])
        self.assertEqual([s["tags"]["layer_type"] for s in spans if s["name"] == "n/_1:_FusedMatMul"], ["_FusedMatMul"])

    def test_a_start_and_its_done_are_one_execution(self):
        tpu = xspace.Plane("/device:TPU:0")
        tpu.line(1, "XLA Ops", 0, [("%copy-start.3 = (f32[8]{0}, u32[]) copy-start(f32[8]{0} %p)", 10**6, 10**5, {}), ("fusion.1", 2 * 10**6, 3 * 10**6, {}),
                                   ("all-reduce-start.1", 5 * 10**6, 10**5, {}), ("all-reduce-done.1", 6 * 10**6, 10**6, {}),
                                   ("%copy-done.9 = f32[8]{0} copy-done((f32[8]{0}, u32[]) %copy-start.3)", 8 * 10**6, 10**6, {}),
                                   ("copy-start.4", 10 * 10**6, 10**5, {"hlo_op": "copy-start.4"}), ("copy-done.5", 11 * 10**6, 10**6, {}),
                                   ("copy-start.4", 20 * 10**6, 10**5, {"hlo_op": "copy-start.4"}),
                                   ("copy-done.4", 21 * 10**6, 10**6, {"hlo_op": "copy-done.4"})])
        report, spans = self.load(xspace.space(tpu))
        self.assertEqual([(span["name"].split(" ")[0], span["start_ns"], span["duration_ns"], span["track"]) for span in spans], [
            ("%copy-start.3", 1000, 8000, "XLA Ops, asynchronous"), ("fusion.1", 2000, 3000, "XLA Ops"),
            ("all-reduce-start.1", 5000, 2000, "XLA Ops, asynchronous"),
            ("copy-start.4", 10_000, 100, "XLA Ops, asynchronous"), ("copy-done.5", 11_000, 1000, "XLA Ops"),
            ("copy-start.4", 20_000, 2000, "XLA Ops, asynchronous")])  # the one of 10,000 lost its end
        self.assertEqual([span["tags"].get("hlo_op") for span in spans if span["name"] == "copy-start.4"], 2 * ["copy-start.4"])
        self.assertEqual({span["kind"] for span in spans}, {"execution"})
        self.assertEqual(report["files"][0]["events"], 9)

    def test_remarks_of_the_profiler(self):
        report, _ = self.load(xspace.space(*xspace.loop_program(), warnings=["events were dropped"]))
        self.assertIn("events were dropped", report["files"][0]["notes"][0])

    def test_files_of_several_hosts(self):
        program = xspace.loop_program()
        files = [self.write(xspace.space(*program, host=host), f"{host}.xplane.pb") for host in ("alpha", "beta")]
        files.append(self.write(xspace.space(*program, host="alpha") + xspace.text(4, "beta"), "both.xplane.pb"))
        self.out = os.path.join(self.folder, "job.xsp")
        report = xsp_json("import", *files, "-o", self.out, "--json")
        self.assertEqual([len(file["run_ids"]) for file in report["files"]], [1, 1, 1])
        self.assertEqual(self.rows("select distinct run_id, host from track order by 1"),
                         [{"run_id": run, "host": host} for run, host in ((1, "alpha"), (2, "beta"), (3, None))])

    def test_damaged_files(self):
        good = xspace.space(*xspace.loop_program())
        cut = self.write(good[:-40])
        self.assertIn("byte", self.refused(cut))
        mangled = self.write(good.decode(errors="replace").encode())  # by a program that takes it for text
        self.assertIn("byte", self.refused(mangled))

    def test_a_damaged_module_costs_its_sources_only(self):
        host, modules, environment = xspace.loop_program()
        modules.modules = [("jit_loop(3)", otlp.field(1, otlp.field(3, b"\x12\x7f")))]
        report, spans = self.load(xspace.space(host, modules, environment))
        self.assertIn("jit_loop(3)", report["files"][0]["notes"][0])
        self.assertEqual(sum(span["level"] == "layer" for span in spans), 16)

    def test_the_other_form_of_a_profile(self):
        name = {"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}}
        event = {"ph": "X", "pid": 701, "tid": 1, "ts": 1, "dur": 2, "name": "copy.1"}
        report, _ = self.load(json.dumps({"traceEvents": [name, event]}).encode())
        self.assertIn("xplane.pb", report["files"][0]["notes"][0])
        self.assertEqual(len(report["files"][0]["notes"]), 1)
        many = json.dumps(event) + "," + (json.dumps({**event, "ph": "i"}) + ",") * 999_998
        report, _ = self.load(('{"traceEvents":[' + many + json.dumps(name) + "]}").encode())
        self.assertIn("million", "".join(report["files"][0]["notes"]))

    def test_a_pipe_is_refused_where_it_is_read_again(self):
        host = xspace.Plane("/host:CPU")
        host.line(1, "python3", 0, [(f"range {i} " + "x" * 1000, i, 1, {}) for i in range(2_000)])
        path = os.path.join(self.folder, "pipe")
        os.mkfifo(path)
        content = xspace.space(host)
        child = os.fork()
        if child == 0:
            try:
                with open(path, "wb") as file:
                    file.write(content)
            except BrokenPipeError:
                pass
            os._exit(0)
        self.assertIn("pipe", self.refused(path))
        os.waitpid(child, 0)


def xspace_skipped(report):
    return [{"reason": reason, "count": count} for reason, count in report["files"][0]["skipped"].items()]


if __name__ == "__main__":
    unittest.main()
