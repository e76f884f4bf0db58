# SPDX-License-Identifier: Apache-2.0
"""The tracer of PyTorch, against torch.profiler in the same run of the same program."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import pytorch_programs
import torch_environment
from run_programs import COMPILER, SANITIZED, XSP, sql
from scripted import xsp_json

WAIT_S = 600
EVALUATE = "autograd::engine::evaluate_function: "
OPERATORS = """
    select s.span_id, s.parent_id, s.name, s.category, s.level, s.start_ns, s.end_ns, t.thread_id as thread,
           (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'sequence') as sequence,
           (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'forward_thread') as forward,
           (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'module') as module
    from span s join track t on t.run_id = s.run_id and t.track_id = s.track_id
    where s.tracer = 'pytorch' order by s.start_ns, s.end_ns desc"""


def nested(events):
    """Of one thread's (name, start, end, …): the same with the names around each, in order of their start."""
    around, found = [], []
    for event in sorted(events, key=lambda event: (event[1], -event[2])):
        while around and around[-1][2] < event[2]:
            around.pop()
        found.append((*(outer[0] for outer in around), event[0], *event[3:]))
        around.append(event)
    return found


@unittest.skipIf(SANITIZED, "preloading into programs that are not sanitized")
class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_environment.torch_python()
        folder = tempfile.TemporaryDirectory(prefix="xsp-pytorch-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def program(self, text):
        path = self.folder / f"{self.id().split('.')[-1]}.py"
        path.write_text(text, encoding="utf-8")
        return path

    def run_it(self, *command):
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=WAIT_S,
                              cwd=self.folder, env=environment, stdin=subprocess.DEVNULL)

    def traced(self, command, *options):
        """What the program printed, and its trace; checks that nothing was lost."""
        path = self.folder / "trace.xsp"
        done = self.run_it(XSP, "run", "-q", "-f", "-t", "pytorch", "-o", path, *options, "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sql(path, "select sum(dropped_count) as dropped from run")[0]["dropped"], 0)
        return done.stdout, path


class Profiled(Case):
    def window(self, events):
        """The layers in the range "window", on its thread: torch.profiler does not see the program's other threads."""
        window, = [event for event in events if event["name"] == "window"]
        return [(event["name"], event["start_ns"], event["end_ns"],
                 -1 if event["sequence"] is None else event["sequence"], event["forward"] is not None)
                for event in events if event["level"] == "layer" and event["thread"] == window["thread"]
                and window["start_ns"] <= event["start_ns"] <= window["end_ns"]]

    def profiled(self):
        """The same of torch.profiler's own events."""
        events = json.loads((self.folder / "events.json").read_text(encoding="utf-8"))
        window, = [event for event in events if event["name"] == "window"]
        return [(event["name"], event["start"], event["start"] + event["duration"], event["sequence"], event["forward"] > 0)
                for event in events if event["scope"] != 7 and event["name"] != "[memory]"
                and event["thread"] == window["thread"]
                and window["start"] <= event["start"] <= window["start"] + window["duration"]]

    def check_equal(self, text):
        program = self.program(text)
        plain = self.run_it(self.python, program)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        out, path = self.traced([self.python, program, self.folder / "events.json"])
        self.assertEqual(out, plain.stdout)
        events = sql(path, OPERATORS)
        ours, theirs = nested(self.window(events)), nested(self.profiled())
        self.assertEqual(len(ours), len(theirs))
        self.assertEqual(ours, theirs)
        self.assertGreater(sum(event[-2] >= 0 for event in ours), 5)
        self.assertGreater(sum(event[-1] for event in ours), 3)
        return events


class Operators(Profiled):
    def test_training(self):
        events = self.check_equal(pytorch_programs.TRAIN)
        modules = {event["module"] for event in events}
        self.assertLessEqual({"conv1", "layer1.0.conv1", "layer1.0.bn1", "layer1.1.conv1", "layer1.1", "fc", "Net"}, modules)
        linked = [event for event in events if event["forward"] is not None]
        self.assertEqual({event["module"] for event in linked if event["name"] == "NativeBatchNormBackward0"},
                         {"layer1.0.bn1", "layer1.1.bn1"})
        self.assertEqual({event["forward"] for event in linked}, {event["thread"] for event in linked})

    def test_odd_programs(self):
        self.check_equal(pytorch_programs.ODD)


class Paths(Case):
    PATHS = """
        with recursive caller(span_id, context_id, depth, kind, name, line) as (
          select s.span_id, c.parent_id, 0, f.kind, f.name, f.line from span s
            join context c on c.context_id = s.context_id join frame f on f.frame_id = c.frame_id where s.level = 'layer'
          union all
          select caller.span_id, c.parent_id, depth + 1, f.kind, f.name, f.line from caller
            join context c on c.context_id = caller.context_id join frame f on f.frame_id = c.frame_id)
        select span_id, kind, name, line from caller order by span_id, depth desc"""

    def paths(self, path):
        """Of each layer: the Python functions, and the operators, of its path."""
        names = {span["span_id"]: span["name"] for span in sql(path, "select span_id, name from span where level = 'layer'")}
        found = {}
        for frame in sql(path, self.PATHS):
            python, operators = found.setdefault(frame["span_id"], ([], []))
            if frame["kind"] == "python":
                python.append((frame["name"].split(".")[-1], frame["line"]))
            elif frame["kind"] == "framework":
                operators.append(frame["name"])
        return [(names[span], *frames) for span, frames in found.items()]

    def test_equal_traceback(self):
        self.check_traceback()

    def test_native_functions(self):
        """They are between Python and the operator; of each other's they have those that were entered since."""
        path = self.check_traceback("--call-paths", "full")
        chains = {}
        for frame in sql(path, self.PATHS):
            chains.setdefault(frame["span_id"], []).append((frame["kind"], frame["name"] or ""))
        erf, = [chain for chain in chains.values() if chain[-1] == ("framework", "aten::erf")]
        kinds = [kind for kind, _ in erf]
        self.assertEqual(kinds, sorted(kinds, key=["python", "native", "framework"].index))
        first = erf[kinds.index("native")][1]
        self.assertIn("THPVariable_erf", first)
        self.assertEqual([], [name for chain in chains.values() for kind, name in chain
                              if kind == "native" and name.startswith(("_PyEval", "PyObject_Call", "xsp_"))])
        nested = [chain for chain in chains.values() if [kind for kind, _ in chain].count("framework") == 2
                  and not any(name.startswith(EVALUATE) for _, name in chain)]  # these are where the forward operator was
        self.assertGreater(len(nested), 3)
        for chain in nested:
            self.assertEqual([kind for kind, _ in chain[-2:]], ["native", "framework"], chain)
        modules = [frame["module"] for frame in sql(path, "select module from frame where kind = 'native'")]
        self.assertGreater(len(modules), 20)
        self.assertEqual([], [module for module in modules if "libpython" in module or "xsp" in module.split("/")[-1]])

    def check_traceback(self, *options):
        """Python frames equal traceback's. Returns the trace."""
        _, path = self.traced([self.python, self.program(pytorch_programs.PATHS), self.folder / "stacks.json"], *options)
        stacks = {name: [tuple(frame) for frame in stack]
                  for name, stack in json.loads((self.folder / "stacks.json").read_text(encoding="utf-8")).items()}
        self.assertEqual(set(stacks), {"erf", "trunc", "round", "acosh", "tan", "sinh"})
        paths = self.paths(path)
        forward = {}
        for name, stack in stacks.items():
            (_, python, operators), = [item for item in paths if item[0] == f"aten::{name}"]
            forward[name] = python
            if name != "round":  # runs in the backward pass: on the thread's stack, and below the forward operator's
                self.assertEqual(python, stack, name)
            self.assertEqual(operators[-1], f"aten::{name}")
        for name in ("Erf", "Acosh", "Tan"):
            for found in [item for item in paths if item[0].endswith(f"{name}Backward0")]:
                self.assertEqual(found[1], forward[name.lower()], found)
        self.assertEqual(forward["round"][-1], stacks["round"][-1])
        return path

    def test_none(self):
        _, path = self.traced([self.python, self.program(pytorch_programs.TRAIN)], "--call-paths", "none")
        self.assertEqual(sql(path, "select count(*) as n from span where context_id is not null")[0]["n"], 0)


class Modules(Case):
    def test_unusual_calls(self):
        command = [self.python, self.program(pytorch_programs.MODULES)]
        out, path = self.traced(command)
        self.assertEqual(out, self.run_it(*command).stdout)
        rows = sql(path, """
            select r.name as range, s.name, (select value from tag where run_id = s.run_id and span_id = s.span_id
              and key = 'module') as module
            from span s join span r on r.run_id = s.run_id and r.tracer = 'pytorch' and r.level = 'application'
              and s.start_ns between r.start_ns and r.end_ns
            where s.level = 'layer' and s.name = 'aten::linear' order by s.start_ns""")
        self.assertEqual([(row["range"], row["module"]) for row in rows],
                         [("called", "part"), ("part", "part"), ("alone", "Linear"), ("held", "0"), ("late", "late"),
                          ("copy", "late"), ("after", None)])
        odd = sql(path, """
            select distinct (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'module')
              as module from span s where s.name in ('aten::relu', 'aten::linear')""")
        self.assertLessEqual({row["module"] for row in odd}, {"0", "1", "part", "Linear", "late", None})

    def test_lazy_objects(self):
        """The attribute __class__ of a proxy is code, which may load what it stands for: nobody but the program runs it."""
        out, _ = self.traced([self.python, self.program(pytorch_programs.LAZY)])
        self.assertEqual(out, "0\n")


class Processes(Case):
    def test_workers(self):
        command = [self.python, self.program(pytorch_programs.WORKERS)]
        out, path = self.traced(command)
        self.assertEqual(out, self.run_it(*command).stdout)
        rows = sql(path, """
            select s.name, count(distinct t.process_id) as processes, count(*) as n from span s
              join track t on t.run_id = s.run_id and t.track_id = s.track_id
            where s.name in ('aten::square', 'aten::cosh', 'aten::tanh') group by s.name order by s.name""")
        found = {row["name"]: (row["processes"], row["n"]) for row in rows}
        self.assertEqual(found, {"aten::cosh": (2, 4), "aten::square": (2, 8), "aten::tanh": (1, 1)})

    def test_compiled(self):
        """The tracer breaks no graph of torch.compile."""
        command = [self.python, self.program(pytorch_programs.COMPILED)]
        out, _ = self.traced(command)
        self.assertEqual(out, self.run_it(*command).stdout)
        self.assertIn("'graph_break': {}", out)

    @unittest.skipIf(COMPILER is None, "no C compiler")
    def test_linked_program(self):
        library = pathlib.Path(self.run_it(self.python, "-c", "import torch; print(torch.__file__)").stdout).parent / "lib"
        source, program = self.folder / "linked.c", self.folder / "linked"
        source.write_text(pytorch_programs.LINKED, encoding="utf-8")
        subprocess.run([COMPILER, "-o", program, source, f"-L{library}", "-ltorch_cpu", f"-Wl,-rpath,{library}",
                        "-Wl,--allow-shlib-undefined"], check=True, timeout=WAIT_S)
        out, path = self.traced([program])
        self.assertEqual(out, "0\n0\n0\n")
        rows = sql(path, "select name, count(*) as n from span where tracer = 'pytorch' group by name order by name")
        self.assertEqual({row["name"]: row["n"] for row in rows}, {"aten::zero_": 3})

    def test_isolated(self):
        program = self.program("import torch; print(torch.ones(2).cosh().sum().item())\n")
        for options in (["-I"], ["-S", "-c", "import sys; print(sys.flags.no_site)"], ["-B", "-X", "importtime"]):
            command = [self.python, *options] + ([] if "-c" in options else [program])
            out, path = self.traced(command)
            self.assertEqual(out, self.run_it(*command).stdout)
            seen = sql(path, "select count(*) as n from span where name = 'aten::cosh'")[0]["n"]
            self.assertEqual(seen, 0 if "-c" in options else 1)


class Shapes(Case):
    KEYS = ("Concrete Inputs", "Input Dims", "Input Strides", "Input type")

    def tags(self, path, window):
        rows = sql(path, f"""
            select s.span_id, s.name, t.key, t.value from span s
              left join tag t on t.run_id = s.run_id and t.span_id = s.span_id and t.key in {self.KEYS}
            where s.level = 'layer' {window} order by s.start_ns, s.end_ns desc, s.span_id, t.key""")
        found = {}
        for row in rows:
            found.setdefault(row["span_id"], [row["name"]]).append((row["key"], row["value"]))
        return list(found.values())

    def test_equal_torch_profiler(self):
        """The same tags as xsp makes of torch.profiler's own file, written by the same run."""
        _, path = self.traced([self.python, self.program(pytorch_programs.SHAPES), self.folder / "shapes.json"], "--shapes")
        imported = self.folder / "imported.xsp"
        done = self.run_it(XSP, "import", "--force", self.folder / "shapes.json", "-o", imported)
        self.assertEqual(done.returncode, 0, done.stderr)
        window = "and s.start_ns between (select start_ns from span where name = 'window') and " \
                 "(select end_ns from span where name = 'window')"
        ours, theirs = self.tags(path, window), self.tags(imported, "")
        self.assertGreater(len(ours), 100)
        self.assertEqual(ours, theirs)
        self.assertEqual({key for tags in self.tags(path, "") for key, _ in tags[1:]}, {*self.KEYS, None})


class Memory(Case):
    OWN = """
        select sum(t.value) as bytes from tag t join span s on s.run_id = t.run_id and s.span_id = t.span_id
          join span w on w.run_id = s.run_id and w.name = 'window' and s.start_ns between w.start_ns and w.end_ns
        where t.key = 'alloc_own_bytes'"""

    def test_equals_torch_profiler(self):
        """Each allocation and release, with the allocator's own total after it; operators have the allocations' sums."""
        command = [self.python, self.program(pytorch_programs.MEMORY), self.folder / "trace.json"]
        _, path = self.traced(command, "-t", "pytorch:each_allocation=1")
        events = json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
        theirs = [(event["args"]["Bytes"], event["args"]["Total Allocated"]) for event in
                  sorted((event for event in events if event["name"] == "[memory]"), key=lambda event: float(event["ts"]))]
        ours = sql(path, """
            select s.name, s.duration_ns, b.value as bytes, t.value as total from span s
              join span w on w.run_id = s.run_id and w.name = 'window' and s.start_ns between w.start_ns and w.end_ns
              join tag b on b.run_id = s.run_id and b.span_id = s.span_id and b.key = 'block_bytes'
              join tag t on t.run_id = s.run_id and t.span_id = s.span_id and t.key = 'total_bytes'
            where s.level = 'library' and s.category = 'memory' order by s.start_ns""")
        self.assertEqual({event["duration_ns"] for event in ours}, {0})
        sizes = [(event["bytes"] if event["name"] == "allocate" else -event["bytes"], event["total"]) for event in ours]
        self.assertGreater(len(sizes), 100)
        self.assertEqual(sizes, theirs)
        allocated = sum(size for size, _ in sizes if size > 0)
        self.assertEqual(sql(path, self.OWN)[0]["bytes"], allocated)
        _, path = self.traced(command, "--levels", "A/M/L")  # without spans of single allocations
        self.assertEqual(sql(path, self.OWN)[0]["bytes"], allocated)
        self.assertEqual(sql(path, "select count(*) as n from span where level = 'library'")[0]["n"], 0)


class Steps(Case):
    def test_training_and_inference(self):
        _, path = self.traced([self.python, self.program(pytorch_programs.TRAIN)])
        models = sql(path, "select s.name, t.value as batch from span s left join tag t on t.run_id = s.run_id and "
                           "t.span_id = s.span_id and t.key = 'batch_size' where s.level = 'model' order by s.start_ns")
        self.assertEqual([(model["name"], model["batch"]) for model in models], [("training step", 4)] * 6 + [("Net", 2)])
        parts = sql(path, """
            select m.span_id, p.category, p.name from span p join span m on m.run_id = p.run_id and m.level = 'model'
              and p.start_ns >= m.start_ns and p.end_ns <= m.end_ns
            where p.tracer = 'pytorch' and p.level = 'application' order by m.start_ns, p.start_ns""")
        by_step = collections.defaultdict(list)
        for part in parts:
            by_step[part["span_id"]].append((part["category"], part["name"].split("#")[0]))
        step = [("data", "enumerate(DataLoader)"), ("input", "TensorDataset.__getitem__"),
                ("optimizer", "Optimizer.zero_grad"), ("forward", "Net"), ("backward", "backward"),
                ("optimizer", "Optimizer.step")]
        # The second epoch's first step begins when the loader has found the first epoch's end.
        self.assertEqual(list(by_step.values()), [step] * 3 + [step[:1] + step] + [step] * 2)
        self.check_analyses(path)

    def test_a_step_that_begins_with_the_backward_pass(self):
        _, path = self.traced([self.python, self.program(pytorch_programs.WITHOUT_MODULES)])
        parts = sql(path, "select observation, category from span where category in ('backward', 'optimizer') and "
                          "level = 'application' order by start_ns")
        self.assertEqual([(part["observation"], part["category"]) for part in parts],
                         [(step, category) for step in range(3) for category in ("backward", "optimizer")])

    def check_analyses(self, path):
        """The inference is no observation. Figures are those of the spans."""
        steps = sql(path, "select s.name from observation o join span s on s.run_id = o.run_id and s.span_id = o.span_id")
        self.assertEqual([step["name"] for step in steps], ["training step"] * 6)
        answer, = xsp_json("analyze", "A1", path, "--stat", "mean", "--json")["rows"]
        spans = sql(path, "select category, sum(duration_ns) / 6e6 as ms from span where tracer = 'pytorch' and "
                          "level = 'application' and observation is not null and category <> 'input' group by 1")
        for row in spans:
            self.assertAlmostEqual(answer[f"{row['category']}_ms"], row["ms"], 9, row["category"])
        answer = xsp_json("analyze", "A16", path, "--stat", "mean", "--json")
        self.assertEqual(answer["summary"]["without_forward"], 0)
        backward = sql(path, f"select sum(duration_ns) / 6e6 as ms from span where name like '{EVALUATE}%' and "
                             "forward_id is not null")
        self.assertAlmostEqual(answer["summary"]["backward_ms"], backward[0]["ms"], 9)
        forward = sql(path, "select sum(duration_ns) / 6e6 as ms from span where span_id in (select forward_id from span)")
        self.assertAlmostEqual(answer["summary"]["forward_ms"], forward[0]["ms"], 9)
        modules = xsp_json("analyze", "A16", path, "--by", "module", "--json")["rows"]
        self.assertLessEqual({row["module"] for row in modules} - {None}, {row["value"] for row in sql(
            path, "select distinct value from tag where key = 'module'")})


if __name__ == "__main__":
    unittest.main()
