# SPDX-License-Identifier: Apache-2.0
"""Forward operators of backward operators: by sequence number and thread, and as torch.profiler linked them."""
import decimal
import glob
import gzip
import json
import os
import sqlite3
import unittest

import trace_reader
from scripted import Script, temporary_folder, xsp_json

LINKS = ("select b.name as backward, f.span_id as forward from span b left join span f on f.run_id = b.run_id and "
         "f.span_id = b.forward_id where b.name like '%Backward%' order by b.span_id")
NOTES = "select value from note where key = 'forward_threads_unknown'"
EVALUATE = "autograd::engine::evaluate_function: "
FOLDER = trace_reader.data_folder()


class Case(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.script = Script()
        self.script.experiment()
        self.script.run(1, "L")
        for track, process, thread in ((1, 100, 100), (2, 100, 101), (3, 200, 100), (4, 100, 102)):
            self.script.track(track, f"thread {track}", process=process, thread=thread)

    def operator(self, start, duration=10, sequence=None, track=1, name="aten::op", level="layer", **tags):
        tags = {key: value for key, value in {"sequence": sequence, **tags}.items() if value is not None}
        return self.script.span(name, start, duration, level, track=track, tags=tags)

    def backward(self, start, sequence, thread=100, track=1, name="OpBackward0"):
        return self.operator(start, 10, sequence, track, name, forward_thread=thread)

    def numbered(self, start, sequence, number, track=1, name="OpBackward0"):
        return self.operator(start, 10, sequence, track, name, **{"Fwd thread id": number})

    def links(self):
        path = self.script.write(os.path.join(self.folder, "t.xsp"))
        return [row["forward"] for row in xsp_json("sql", path, LINKS, "--json")]


class Threads(Case):
    """The operator records the number that the system gives to the forward thread."""

    def test_the_last_one_that_begins_before(self):
        self.operator(0, 100, 7)            # around the others
        self.operator(10, 10, 7)            # sees the same number, since it needs no gradient
        found = self.operator(50, 20, 7)
        self.operator(60, 5, 8)
        self.backward(200, 7)
        self.operator(300, 10, 7)           # begins later
        self.assertEqual(self.links(), [found])

    def test_of_one_start_the_inner_one(self):
        self.operator(0, 100, 7)
        found = self.operator(0, 50, 7)
        self.backward(200, 7)
        self.assertEqual(self.links(), [found])

    def test_other_threads_and_processes_count_by_themselves(self):
        here = self.operator(0, 10, 7)
        self.operator(10, 10, 7, track=2)
        other = self.operator(20, 10, 7, track=3)
        self.backward(100, 7, track=2)      # autograd's own thread
        self.backward(100, 7, track=3)      # thread 100 of process 200
        self.backward(120, 7, thread=102)   # made nothing with this number
        self.backward(140, 7, thread=103)   # is not in the trace
        self.assertEqual(self.links(), [here, other, None, None])

    def test_no_forward_operators(self):
        self.operator(0, 10, -1)            # no number
        self.operator(20, 10, 7, level="library")
        self.backward(40, 7, name="FirstBackward0")
        self.backward(60, -1)
        self.backward(80, 7)                # the first backward operator is not its forward one
        self.assertEqual(self.links(), [None, None, None])

    def test_a_backward_operator_of_a_backward_operators_own(self):
        self.operator(0, 10, 7)
        self.operator(20, 50, 7, name="MulBackward0", forward_thread=100)
        inner = self.operator(30, 10, 8)    # with create_graph=True
        self.backward(100, 8)
        self.assertEqual(self.links(), [1, inner])


class Numbers(Case):
    """The operator records PyTorch's own number of the forward thread."""

    def test_one_thread_has_them_all(self):
        first = self.operator(0, 10, 7, **{"Fwd thread id": 0})
        second = self.operator(20, 10, 8, **{"Fwd thread id": 0})
        self.operator(0, 10, 7, track=2)    # has one of the two
        self.operator(0, 10, 8, track=3)    # of another process
        self.numbered(100, 8, 1, track=4)
        self.numbered(120, 7, 1, track=4)
        self.numbered(140, 6, 1, track=4)   # its forward operator is not in the trace
        self.assertEqual(self.links(), [second, first, None])

    def test_two_threads_have_them_all(self):
        for track in (1, 2):
            self.operator(0, 10, 7, track=track)
        self.numbered(100, 7, 1, track=4)
        self.assertEqual(self.links(), [None])

    def test_each_of_two_threads_has_one(self):
        self.operator(0, 10, 7, track=1)
        self.operator(0, 10, 8, track=2)
        self.numbered(100, 7, 1, track=4)
        self.numbered(120, 8, 1, track=4)
        self.assertEqual(self.links(), [None, None])

    def test_two_numbers_of_two_threads(self):
        first = self.operator(0, 10, 7, track=1)
        second = self.operator(0, 10, 8, track=2)
        self.numbered(100, 7, 1, track=4)
        self.numbered(120, 8, 2, track=4)
        self.assertEqual(self.links(), [first, second])

    def test_names_decide_between_threads_with_the_same_numbers(self):
        for track, names in ((1, ("aten::mul", "aten::relu_")), (2, ("aten::tanh", "aten::nll_loss_forward"))):
            for sequence, name in enumerate(names):
                self.operator(10 * sequence, 5, sequence, track, name)
        self.numbered(100, 1, 1, track=4, name="NllLossBackward0")
        self.numbered(120, 0, 1, track=4, name=EVALUATE + "TanhBackward0")
        self.numbered(140, 1, 2, track=4, name="ReluBackward0")
        self.numbered(160, 0, 3, track=4, name="ExpBackward0")  # its thread is not in the trace
        self.assertEqual(self.links(), [4, 3, 2, None])

    def test_a_thread_has_one_number(self):
        first = self.operator(0, 10, 7, track=1)
        self.numbered(20, 7, 1, track=4)            # the other thread had not begun
        second = self.operator(40, 10, 7, track=2)
        self.numbered(60, 7, 2, track=4)            # both have, but the first is another's
        self.assertEqual(self.links(), [first, second])

    def test_two_numbers_of_equal_right(self):
        self.operator(0, 10, 7, track=1)
        self.numbered(20, 7, 1, track=4)
        self.numbered(40, 7, 2, track=4)
        self.assertEqual(self.links(), [None, None])

    def test_later_operators_do_not_count(self):
        found = self.operator(0, 10, 7, track=1)
        self.numbered(100, 7, 1, track=4)
        self.operator(200, 10, 7, track=2)
        self.assertEqual(self.links(), [found])


class Files(Case):
    def kineto(self, threads):
        operators = [("aten::mul", thread, 10, {"Sequence number": 7, "Fwd thread id": 0}) for thread in threads]
        operators.append(("MulBackward0", 9, 50, {"Sequence number": 7, "Fwd thread id": 1}))
        path = os.path.join(self.folder, "t.json")
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "traceEvents": [
                {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": thread, "ts": start, "dur": 20, "args": args}
                for name, thread, start, args in operators]}, file)
        out = os.path.join(self.folder, "t.xsp")
        xsp_json("import", path, "-o", out, "--force", "--json")
        return out

    def test_an_import_stores_them(self):
        out = self.kineto([5])
        self.assertEqual([row["forward"] for row in xsp_json("sql", out, LINKS, "--json")], [1])
        self.assertEqual(xsp_json("sql", out, "select name from span where forward_id = 1", "--json"),
                         [{"name": "MulBackward0"}])
        self.assertEqual(xsp_json("sql", out, NOTES, "--json"), [])

    def test_unknown_threads_are_counted(self):
        out = self.kineto([5, 6])
        self.assertEqual([row["forward"] for row in xsp_json("sql", out, LINKS, "--json")], [None])
        self.assertEqual(xsp_json("sql", out, NOTES, "--json"), [{"value": "1"}])

    def test_files_without_such_operators(self):
        self.operator(0, 10, 7)
        path = self.script.write(os.path.join(self.folder, "t.xsp"))
        self.assertEqual(xsp_json("sql", path, "select forward_id from span", "--json"), [{"forward_id": None}])
        self.assertEqual(xsp_json("sql", path, "select name from span where forward_id = 1", "--json"), [])

    def without(self, columns):
        out = self.kineto([5])
        with sqlite3.connect(out) as file:
            file.execute(f"delete from chunk where series = 'span' and \"column\" in ({columns})")
        return [row["forward"] for row in xsp_json("sql", out, LINKS, "--json")]

    def test_files_that_nobody_correlated_are_read_alike(self):
        self.assertEqual(self.without("'parent_id', 'forward_id'"), [1])

    def test_files_of_earlier_versions(self):
        self.assertEqual(self.without("'forward_id'"), [None])


@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RecordedFlows(Case):
    """torch.profiler draws a flow from each forward operator to its backward operator."""

    def compare(self, name, flows):
        path, = glob.glob(os.path.join(FOLDER, "kineto", name + "*.gz"))
        with gzip.open(path, "rt") as file:
            trace = json.load(file, parse_float=decimal.Decimal)
        base_ns = int(trace["baseTimeNanoseconds"])
        ends = {"s": {}, "f": {}}
        for event in trace["traceEvents"]:
            if event.get("cat") == "fwdbwd":
                ends[event["ph"]][event["id"]] = (event["tid"], base_ns + int(event["ts"] * 1000))
        out = os.path.join(self.folder, "t.xsp")
        xsp_json("import", path, "-o", out, "--json")
        found = xsp_json("sql", out, "select bt.thread_id, b.start_ns, ft.thread_id as forward_thread, f.start_ns as "
                         "forward_ns from span b join span f on f.run_id = b.run_id and f.span_id = b.forward_id "
                         "join track bt on bt.track_id = b.track_id join track ft on ft.track_id = f.track_id "
                         f"where b.name not like '{EVALUATE}%'", "--json")
        self.assertEqual(sorted((ends["f"][flow], ends["s"][flow]) for flow in ends["f"]),
                         sorted(((row["thread_id"], row["start_ns"]), (row["forward_thread"], row["forward_ns"]))
                                for row in found))
        self.assertEqual(len(found), flows)

    def test_a_small_program(self):
        self.compare("hta__amd_trace__mi250", 4)

    def test_distributed_training(self):
        self.compare("hta__nccl_parser_config", 543)


if __name__ == "__main__":
    unittest.main()
