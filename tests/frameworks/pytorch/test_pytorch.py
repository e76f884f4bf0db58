# SPDX-License-Identifier: Apache-2.0
"""The tracer of PyTorch without PyTorch: its doors, and layouts of at::RecordFunction that no version has."""
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import unittest

from run_programs import COMPILER, SANITIZED, XSP, sql

SOURCE = pathlib.Path(__file__).resolve().parent / "pytorch_stand_in.c"
WAIT_S = 600
HAS_HEADERS = pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()
LINKED = ["-L.", "-ltorch_cpu", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath,$ORIGIN/..", "-ldl"]
SPANS = """
    select s.name, s.level, s.category, p.name as parent,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'sequence') as sequence,
      (select value is not null from tag where run_id = s.run_id and span_id = s.span_id and key = 'forward_thread') as forward,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'alloc_bytes') as bytes
    from span s left join span p on p.run_id = s.run_id and p.span_id = s.parent_id
    where s.tracer = 'pytorch' order by s.start_ns, s.end_ns desc"""
STEP = "autograd::engine::evaluate_function: MmBackward0"
OPERATORS = [  # name, level, category, parent, sequence, has forward thread, bytes
    ("aten::linear", "layer", None, None, 5, None, 64), ("aten::mm", "layer", None, "aten::linear", 5, None, None),
    ("mine", "application", None, None, None, None, None), ("aten::relu", "layer", None, "mine", 6, None, 0),
    ("part 0", "application", None, None, None, None, None), ("part 1", "application", None, None, None, None, None),
    (STEP, "layer", "wrapper", None, 5, 1, 0), ("MmBackward0", "layer", "backward", STEP, 5, 1, None)]
MODULE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_C", .m_size = -1};
PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&definition); }
"""

INDUCTOR = {
    "_dynamo/callback.py": """
class Handler:
    def run_start_callbacks(self, arguments): pass
    def run_end_callbacks(self, arguments): pass
callback_handler = Handler()
""",
    "_inductor/async_compile.py": """
class AsyncCompile:
    def wait(self, scope):
        scope["is_complete"] = True
""",
    "_inductor/codegen/cpp.py": """
class CppScheduling:
    def define_kernel(self, source, nodes, arguments=None):
        return f"cpp_fused_{source}"
""",
}
DYNAMO = {
    "_dynamo/callback.py": INDUCTOR["_dynamo/callback.py"],
    "_dynamo/utils.py": "graph_break_reasons = []\n",
    "_dynamo/convert_frame.py": """
from torch._dynamo import utils
from torch._dynamo.callback import callback_handler
def get_and_maybe_log_recompilation_reasons(reasons):
    return reasons
def _compile(code, reasons, breaks=()):
    assert get_and_maybe_log_recompilation_reasons(reasons) is reasons
    callback_handler.run_start_callbacks(None)
    utils.graph_break_reasons.extend(breaks)
    callback_handler.run_end_callbacks(None)
    if breaks is DOUBLE:
        _compile(code, None)
        raise KeyError("as it was")
    return code
DOUBLE = []
""",
}
COMPILE = """
import torch
from types import SimpleNamespace as Thing
from torch._dynamo.convert_frame import DOUBLE, _compile as missed
from torch._dynamo import convert_frame
import csv  # any: the tracer is asked at each import

class Net:
    def forward(self):
        pass

code = Net.forward.__code__
at = [Thing(filename="lib.py", lineno=3), Thing(filename="net.py", lineno=12)]
assert convert_frame._compile(code, []) is code
convert_frame._compile(code, ["0/0: size of x", "1/0: y"])
convert_frame._compile(code, [7], [Thing(reason="item()\\nand more", user_stack=at), Thing(reason="later", user_stack=[])])
convert_frame._compile(Thing(co_name="old", co_firstlineno="?"), 5, [Thing(reason="print", user_stack=[])])
try:
    convert_frame._compile(code, ["0/1: z"], DOUBLE)
except KeyError as error:
    print(error)
convert_frame.callback_handler.run_start_callbacks(None)
convert_frame.callback_handler.run_end_callbacks(None)
"""
COMPILED = "select " + ", ".join(f"(select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and key = '{key}')"
                                 f" as {key}" for key in ("function", "line", "reason", "graph_break", "break_source")
                                 ) + " from span s where category = 'compile' order by start_ns"
FUSED = """
import torch
from types import SimpleNamespace as Thing
from torch._dynamo.callback import callback_handler as handler
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codegen.cpp import CppScheduling
import csv  # any: the tracer is asked at each import

def kernel(a, b):
    return a // b

def node(*origins):
    return Thing(node=Thing(origins=origins))

def origin(operator, *lines):
    stack = "".join(f'  File "{line[0]}", line {line[1]}, in forward\\n    h = h.f()\\n      ^^^\\n' for line in lines)
    return Thing(meta={"original_aten": Thing(_schema=Thing(name=operator)), "stack_trace": stack or None})

def load(**scope):
    AsyncCompile().wait(scope)
    assert scope["is_complete"]
    return scope

define = CppScheduling().define_kernel
handler.run_start_callbacks(Thing(compile_id="0/0", callback_trigger=Thing(name="DYNAMO")))
assert define("first_0", [
    node(origin("aten::sin", ("a net.py", 30), ("net.py", 12)), origin("aten::add", ("net.py", 9))),
    node(origin("aten::sin", ("net.py", 12)), origin("aten::mul")),
    node(Thing(), Thing(meta=3), Thing(meta={}), Thing(meta={"original_aten": 5, "stack_trace": 6})), Thing(), node(7)],
    None) == "cpp_fused_first_0"
define("first_0", [node(origin("aten::cos", ("net.py", 100)))])
define("stale_1", [node(origin("aten::cos"))])
define("odd_2", 8)
load(cpp_fused_early_3=kernel)["cpp_fused_early_3"](6, 2)
scope = load(cpp_fused_first_0=kernel, cpp_fused_odd_2=kernel, cpp_used_4=kernel)
handler.run_end_callbacks(None)
print(scope["cpp_fused_first_0"](6, 2), scope["cpp_fused_odd_2"](6, 3), scope["cpp_used_4"](6, 6))
try:
    scope["cpp_fused_first_0"](1, 0)
except ZeroDivisionError as error:
    print(error)
handler.run_start_callbacks(None)
handler.run_end_callbacks(None)
print(load(cpp_fused_stale_1=kernel)["cpp_fused_stale_1"](10, 2))
unknown = lambda: 5
print(load(cpp_fused_other_5=unknown)["cpp_fused_other_5"] is unknown)
"""
DISTRIBUTED = """
class Work:
    def wait(self, timeout=None):
        if timeout == 0:
            raise RuntimeError("too late")
        return timeout

def _new_process_group_helper(): pass
def new_subgroups_by_enumeration(): pass
"""
WAITS = """
import torch
from torch.distributed import distributed_c10d
import csv  # any: the tracer is asked at each import
print(distributed_c10d.Work().wait(timeout=7))
try:
    distributed_c10d.Work().wait(0)
except RuntimeError as error:
    print(error)
"""
GROUPS = """
class Group:
    def __init__(self, **names): self.__dict__.update(names)
    def size(self): return 2
    def rank(self): return 1

def _new_process_group_helper(size, rank, ranks, make): return make()
def new_subgroups_by_enumeration(): pass
"""
SCATTERS = """
import concurrent.futures, ctypes
import torch
from torch.distributed import distributed_c10d as c10d
import csv  # any: the tracer is asked at each import
worker = concurrent.futures.ThreadPoolExecutor(1)

def make():
    worker.submit(int).result()  # starts the thread of the group
    return c10d.Group(group_name="scatters"), None

def run(name, scope):
    ctypes.CDLL("libtorch_cpu.so").torch_run(name, scope, ctypes.c_int64(-1), ctypes.c_uint64(0), None)

c10d._new_process_group_helper(2, 1, [0, 1], make)
for names in ((b"mpi:reduce_scatter",), (b"ucc:reduce_scatter",), (b"gloo:all_reduce", b"gloo:all_reduce")):
    for _ in range(2):
        run(b"c10d::reduce_scatter_", 0)
    for name in 2 * names:
        worker.submit(run, name, 7).result()
"""
RANKED = """
import torch
from torch.distributed import distributed_c10d as c10d
import csv  # any: the tracer is asked at each import
c10d._new_process_group_helper(2, 1, [], lambda: {result})
"""
FUSED_SPANS = """
    select s.name, s.level, s.category, p.level as parent,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'operators') as operators,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'source') as source
    from span s left join span p on p.run_id = s.run_id and p.span_id = s.parent_id
    where s.name like 'cpp_%' order by s.start_ns"""


@unittest.skipIf(COMPILER is None or SANITIZED, "no C compiler, or preloading into programs that are not sanitized")
class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-pytorch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *command, **variables):
        environment = {**os.environ, **variables, "PYTHONPATH": str(self.folder)}
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=WAIT_S,
                              cwd=self.folder, env=environment)

    def traced(self, *command, levels="A/M/L", tracer="pytorch", **variables):
        path = self.folder / "trace.xsp"
        done = self.run_it(XSP, "run", "-f", "-t", tracer, "-o", path, "--levels", levels, "--", *command, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, path


    def build(self, *command):
        subprocess.run([COMPILER, "-D_GNU_SOURCE", *command], check=True, cwd=self.folder, timeout=WAIT_S)

    def module(self, package, *options):
        folder = self.folder / package
        folder.mkdir()
        (folder / "__init__.py").write_text("from . import _C\n", encoding="utf-8")
        (self.folder / "module.c").write_text(MODULE, encoding="utf-8")
        self.build("-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", "-o", folder / "_C.so", "module.c", *options)


class Layouts(Case):
    def setUp(self):
        super().setUp()
        self.build("-o", "libtorch_cpu.so", SOURCE, "-shared", "-fPIC")
        self.build("-o", "program", SOURCE, "-DPROGRAM", *LINKED)

    def spans(self, layout):
        done, path = self.traced("./program", STAND_IN_LAYOUT=layout)
        self.assertEqual(done.stdout, "1\n")
        rows = [tuple(row.values()) for row in sql(path, SPANS)]
        return done.stderr, [(*row[:3], None if row[3] == "program" else row[3], *row[4:]) for row in rows]

    def test_any_place(self):
        """Sequence numbers and forward threads are found wherever they are; nobody sees the objects made for that."""
        for layout in ("usual", "moved"):
            notes, spans = self.spans(layout)
            self.assertEqual(spans, OPERATORS, layout)
            self.assertNotIn("sequence numbers", notes)

    def test_forward_threads(self):
        for layout in ("usual", "moved"):
            _, path = self.traced("./program", "threads", STAND_IN_LAYOUT=layout)
            found = sql(path, "select b.name, f.name as forward from span b join span f on f.run_id = b.run_id and "
                              "f.span_id = b.forward_id order by b.start_ns")
            self.assertEqual([tuple(row.values()) for row in found],
                             [("MmBackward0", "aten::mm"), ("ReluBackward0", "aten::relu")], layout)

    def test_unknown_layouts(self):
        """No field like it, or one whose numbers are wrong: operators without numbers, and a note."""
        bare = [(*row[:4], None, None, row[6]) for row in OPERATORS]
        for layout in ("none", "wrong"):
            notes, spans = self.spans(layout)
            self.assertEqual(spans, bare, layout)
            self.assertIn("sequence numbers", notes)


    def test_memory_of_devices(self):
        """Each allocator has a total of its own; but for CPUs, tags name the device."""
        _, path = self.traced("./program", levels="A/M/L/Lib")
        tags = ", ".join(f"(select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and key = '{key}') as {key}"
                         for key in ("block_bytes", "total_bytes", "device_type", "device_index"))
        rows = sql(path, f"select name, {tags} from span s where category = 'memory' order by start_ns, span_id")
        self.assertEqual([tuple(row.values()) for row in rows], [
            ("allocate", 100, 100, None, None), ("allocate", 200, 200, 1, 0), ("allocate", 300, 300, 1, 1), ("free", 300, 0, 1, 1)])

    def test_blocks_that_are_released_soon_are_no_spans(self):
        """Of 10,000 blocks two stay; the release of one that another device has at the same address is its own."""
        query = ("select name, start_ns, (select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and "
                 "key = 'address') as address from span s where category = 'memory' order by start_ns")
        done, path = self.traced("./program", "blocks", levels="A/M/L/Lib")
        self.assertEqual(done.stdout, "1\n")
        rows = sql(path, query)
        self.assertEqual([(row["name"], row["address"]) for row in rows], [("allocate", 64), ("allocate", 128), ("free", 128)])
        done, path = self.traced("./program", "blocks", levels="A/M/L/Lib", tracer="pytorch:each_allocation=1")
        self.assertEqual(len(sql(path, query)), 20003)


    def test_blocks_and_a_fork(self):
        """The parent's blocks are published once, not by its child, too; a tracer does not learn of the child's end."""
        _, path = self.traced("./program", "fork", levels="A/M/L/Lib")
        rows = sql(path, "select s.name, t.value as address, count(distinct k.process_id) as processes, count(*) as n from span s"
                         " join tag t using (run_id, span_id) join track k using (run_id, track_id)"
                         " where category = 'memory' and key = 'address' group by 1, 2 order by 1, 2")
        self.assertEqual([tuple(row.values()) for row in rows], [
            ("allocate", 64, 1, 1), ("allocate", 128, 1, 1), ("free", 64, 1, 1)])


    def test_a_send_that_ends_in_another_range(self):
        """It lasts until its own end, below what posted it; the range around that end goes on, and so do later ones."""
        _, path = self.traced("./program", "exchange", levels="A/M/L/Lib")
        rows = sql(path, "select s.name, p.name as parent, s.duration_ns is null as is_open, k.name as track from span s"
                         " join track k using (run_id, track_id) left join span p on p.run_id = s.run_id and p.span_id = s.parent_id"
                         " where s.tracer = 'pytorch' order by s.start_ns")
        self.assertEqual([(row["name"], row["parent"], row["is_open"]) for row in rows], [
            ("c10d::send", "program", 0), ("gloo:send", "c10d::send", 0), ("mine", "program", 0), ("aten::mm", "mine", 0),
            ("part 0", "program", 0)])
        self.assertEqual(rows[1]["track"], "send and receive")
        [sent, mine] = sql(path, "select start_ns + duration_ns as end_ns, start_ns from span where name in ('gloo:send', 'mine')"
                                 " order by name")
        self.assertGreater(sent["end_ns"], mine["start_ns"])


    def test_what_collectives_are_for(self):
        """FSDP's ranges name the module; DistributedDataParallel reduces the gradients that are ready. Gloo scatters by an all-reduce."""
        _, path = self.traced("./program", "collectives", levels="A/M/L/Lib")
        tags = ", ".join(f"(select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and key = '{key}') as {key}"
                         for key in ("module", "parameters"))
        rows = sql(path, f"select s.name, p.name as parent, {tags} from span s join span p on p.run_id = s.run_id and"
                         " p.span_id = s.parent_id where s.category = 'collective' order by s.start_ns")
        self.assertEqual([tuple(row.values()) for row in rows], [
            ("gloo:all_gather", "c10d::_allgather_base_", "layers.0", None),
            ("gloo:all_reduce", "c10d::_reduce_scatter_base_", "layers.1", None),
            ("gloo:all_reduce", "c10d::allreduce_", None, 2), ("gloo:all_reduce", "c10d::allreduce_", None, None)])


class Doors(Case):
    def imported(self, package):
        done, _ = self.traced(sys.executable, "-B", "-c", f"import {package}; print({package}._C.__name__);"
                              "print('pytorch.so' in open('/proc/self/maps').read())")
        return done

    @unittest.skipUnless(HAS_HEADERS, "no headers of this Python")
    def test_modules_of_the_same_name(self):
        """Only a module of the folder torch loads the tracer; without PyTorch's library that is a note, and nothing else."""
        self.module("nottorch")
        self.assertEqual(self.imported("nottorch").stdout, "nottorch._C\nFalse\n")
        self.module("torch")
        done = self.imported("torch")
        self.assertEqual(done.stdout, "torch._C\nTrue\n")
        self.assertIn("not traced", done.stderr)

    def with_modules(self, files):
        """A package torch with these files, next to a library of PyTorch's."""
        self.build("-o", "libtorch_cpu.so", SOURCE, "-shared", "-fPIC")
        self.module("torch", "-Wl,--no-as-needed", *LINKED)
        for name, text in files.items():
            path = self.folder / "torch" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    @unittest.skipUnless(HAS_HEADERS, "no headers of this Python")
    def test_reasons_of_compilations(self):
        """A compilation has its function, the first guard that failed, and its first graph break; odd objects have none. The
        program sees its own exceptions."""
        self.with_modules(DYNAMO)
        done, path = self.traced(sys.executable, "-B", "-c", COMPILE)
        self.assertEqual(done.stdout, "'as it was'\n", done.stderr)
        function = "Net.forward" if sys.version_info >= (3, 11) else "forward"
        line = COMPILE.splitlines().index("    def forward(self):") + 1
        self.assertEqual([tuple(row.values()) for row in sql(path, COMPILED)], [
            (function, line, None, None, None), (function, line, "0/0: size of x", None, None),
            (function, line, None, "item()", "net.py:12"), ("old", None, None, "print", None),
            (function, line, "0/1: z", None, None), (function, line, None, None, None), (None, None, None, None, None)])

    @unittest.skipUnless(HAS_HEADERS, "no headers of this Python")
    def test_fused_kernels(self):
        """A kernel is a layer with the operators and lines that define_kernel had, each once and sorted; those of a compilation
        before are forgotten. Kernels that run in a compilation, and what is no kernel, are not recorded."""
        self.with_modules(INDUCTOR)
        done, path = self.traced(sys.executable, "-B", "-c", FUSED)
        self.assertTrue(done.stdout.startswith("3 2 1\ninteger division or modulo by zero\n5\nTrue\n"), done.stdout)
        first = ("cpp_fused_first_0", "layer", "fused", "application", "aten::add aten::cos aten::mul aten::sin",
                 "net.py:9, net.py:12, net.py:100")
        self.assertEqual([tuple(row.values()) for row in sql(path, FUSED_SPANS)], [
            first, ("cpp_fused_odd_2", "layer", "fused", "application", None, None), first,
            ("cpp_fused_stale_1", "layer", "fused", "application", None, None)])
        for note in ("unknown way", "TORCHINDUCTOR_FORCE_DISABLE_CACHES"):
            self.assertEqual(done.stderr.count(note), 1, done.stderr)

    @unittest.skipUnless(HAS_HEADERS, "no headers of this Python")
    def test_parts_of_a_reduce_scatter(self):
        """Gloo runs an all-reduce for each rank of the group; MPI and UCC run one reduce-scatter."""
        self.with_modules({"distributed/distributed_c10d.py": GROUPS})
        _, path = self.traced(sys.executable, "-B", "-c", SCATTERS, levels="A/M/L/Lib", LD_LIBRARY_PATH=str(self.folder))
        starts = [row["span_id"] for row in sql(path, "select span_id from span where name like 'c10d::%' order by start_ns")]
        runs = sql(path, "select name, parent_id from span where category = 'collective' order by start_ns")
        self.assertEqual([(row["name"], starts.index(row["parent_id"])) for row in runs], [
            ("mpi:reduce_scatter", 0), ("mpi:reduce_scatter", 1), ("ucc:reduce_scatter", 2), ("ucc:reduce_scatter", 3),
            ("gloo:all_reduce", 4), ("gloo:all_reduce", 4), ("gloo:all_reduce", 5), ("gloo:all_reduce", 5)])

    @unittest.skipUnless(HAS_HEADERS, "no headers of this Python")
    def test_waits_for_collectives(self):
        self.with_modules({"distributed/distributed_c10d.py": DISTRIBUTED})
        done, path = self.traced(sys.executable, "-B", "-c", WAITS)
        self.assertEqual(done.stdout, "7\ntoo late\n")
        self.assertEqual(sql(path, "select level, category, duration_ns > 0 as is_complete from span where name = 'c10d::wait'"),
                         2 * [{"level": "layer", "category": None, "is_complete": 1}])

    @unittest.skipUnless(HAS_HEADERS, "no headers of this Python")
    def test_ranks_of_groups(self):
        """In older versions of PyTorch a group has no name, and the function that makes it returns it alone."""
        self.with_modules({"distributed/distributed_c10d.py": GROUPS})
        for result in ("(c10d.Group(group_name='0'), None)", "(c10d.Group(), None)", "c10d.Group()"):
            with self.subTest(result):
                _, path = self.traced(sys.executable, "-B", "-c", RANKED.format(result=result))
                self.assertEqual(sql(path, "select distinct rank, world_size from track where rank is not null"), [{"rank": 1, "world_size": 2}])

    def test_program_without_pytorch(self):
        done, path = self.traced("cat", "/proc/self/maps")
        self.assertNotIn("pytorch.so", done.stdout)
        self.assertEqual(sql(path, SPANS), [])


if __name__ == "__main__":
    unittest.main()
