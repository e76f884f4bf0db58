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
WAIT_S = 60
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
    (STEP, "layer", None, None, 5, 1, 0), ("MmBackward0", "layer", "backward", STEP, 5, 1, None)]
MODULE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_C", .m_size = -1};
PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&definition); }
"""


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

    def traced(self, *command, **variables):
        path = self.folder / "trace.xsp"
        done = self.run_it(XSP, "run", "-f", "-t", "pytorch", "-o", path, "--levels", "A/M/L", "--", *command, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, path


class Layouts(Case):
    def setUp(self):
        super().setUp()
        for name, options in (("libtorch_cpu.so", ["-shared", "-fPIC"]),
                              ("program", ["-DPROGRAM", "-L.", "-ltorch_cpu", "-Wl,-rpath,$ORIGIN", "-ldl"])):
            subprocess.run([COMPILER, "-D_GNU_SOURCE", "-o", name, SOURCE, *options], check=True, cwd=self.folder,
                           timeout=WAIT_S)

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

    def test_unknown_layouts(self):
        """No field like it, or one whose numbers are wrong: operators without numbers, and a note."""
        bare = [(*row[:4], None, None, row[6]) for row in OPERATORS]
        for layout in ("none", "wrong"):
            notes, spans = self.spans(layout)
            self.assertEqual(spans, bare, layout)
            self.assertIn("sequence numbers", notes)


class Doors(Case):
    def module(self, package, text=MODULE):
        folder = self.folder / package
        folder.mkdir()
        (folder / "__init__.py").write_text("from . import _C\n", encoding="utf-8")
        source = self.folder / "module.c"
        source.write_text(text, encoding="utf-8")
        subprocess.run([COMPILER, "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", "-o", folder / "_C.so", source],
                       check=True, timeout=WAIT_S)

    def imported(self, package):
        done, _ = self.traced(sys.executable, "-B", "-c", f"import {package}; print({package}._C.__name__);"
                              "print('pytorch.so' in open('/proc/self/maps').read())")
        return done

    @unittest.skipUnless(pathlib.Path(sysconfig.get_path("include"), "Python.h").exists(), "no headers of this Python")
    def test_modules_of_the_same_name(self):
        """Only a module of the folder torch loads the tracer; without PyTorch's library that is a note, and nothing else."""
        self.module("nottorch")
        self.assertEqual(self.imported("nottorch").stdout, "nottorch._C\nFalse\n")
        self.module("torch")
        done = self.imported("torch")
        self.assertEqual(done.stdout, "torch._C\nTrue\n")
        self.assertIn("not traced", done.stderr)

    def test_program_without_pytorch(self):
        done, path = self.traced("cat", "/proc/self/maps")
        self.assertNotIn("pytorch.so", done.stdout)
        self.assertEqual(sql(path, SPANS), [])


if __name__ == "__main__":
    unittest.main()
