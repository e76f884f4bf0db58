# SPDX-License-Identifier: Apache-2.0
"""Tracings of tf.function without TensorFlow: its modules that make graphs, as far as xsp replaces them."""
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import unittest

from run_programs import COMPILER, SANITIZED, XSP

WAIT_S = 600
HAS_HEADERS = pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()
MODULE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_pywrap_checkpoint_reader", .m_size = -1};
PyMODINIT_FUNC PyInit__pywrap_checkpoint_reader(void) { return PyModule_Create(&definition); }
"""
TRACING = """
def _create_concrete_function(function_type, type_context, func_graph, tracing_options):
    return tracing_options.python_function()
"""
PROGRAM = """
import functools
from tensorflow.python.eager.polymorphic_function import tracing_compilation
from tensorflow.python.util import _pywrap_checkpoint_reader

class Options:
    scope_type = "no variables"
    def __init__(self, function):
        self.python_function, self.name = function, function.__name__

def trace(function, types):
    return tracing_compilation._create_concrete_function(types, None, None, Options(function))

def step():
    return 1

@functools.wraps(step)
def decorated():
    return step()

def login():
    return 3

def long():
    return 4

def fails():
    raise ValueError("fails")

X = "x: TensorSpec(shape=(2, %d), dtype=tf.float32, name=None)"
for types in ("(%s, rate: Literal[0.5])" % (X % 3), "(%s, rate: Literal[0.25])" % (X % 3), "(%s, rate: Literal[0.25])" % (X % 4)):
    print(trace(decorated, types))
for i in range(3):
    print(trace(lambda: 2, "()"))
for end in ("a", "b"):
    trace(login, "(s: Literal['%s-secret'])" % end)
    trace(long, "(" + "a: T[%s], " % ("x" * 2000) + "b: %s)" % end)
for i in range(20):  # each is freed before the next is made
    made = {}
    exec("def made(): return %d" % i, made)
    trace(made["made"], "()")
    made.clear()
try:
    trace(fails, "no signature")
except ValueError as error:
    print(error)
"""


@unittest.skipIf(COMPILER is None or not HAS_HEADERS or SANITIZED, "no compiler or headers, or a sanitizer")
class Tracing(unittest.TestCase):
    def test_functions_and_reasons(self):
        with tempfile.TemporaryDirectory(prefix="xsp-tensorflow-") as temporary:
            folder = pathlib.Path(temporary)
            eager, util = (folder / "tensorflow/python" / name for name in ("eager/polymorphic_function", "util"))
            eager.mkdir(parents=True)
            util.mkdir()
            (eager / "tracing_compilation.py").write_text(TRACING)
            (util / "module.c").write_text(MODULE)
            subprocess.run([COMPILER, "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", util / "module.c", "-o",
                            util / "_pywrap_checkpoint_reader.so"], check=True, timeout=WAIT_S)
            program, trace = folder / "program.py", folder / "trace.xsp"
            program.write_text(PROGRAM)
            environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
            printed = [subprocess.run([*prefix, sys.executable, program], capture_output=True, text=True, timeout=WAIT_S,
                                      env=environment, check=True).stdout
                       for prefix in ([], [XSP, "run", "-f", "-t", "tensorflow", "-o", trace, "--"])]
            self.assertEqual(printed[1], printed[0])
            answer = subprocess.run([XSP, "analyze", "A25", trace, "--json"], capture_output=True, text=True, timeout=WAIT_S,
                                    check=True)
        rows = {(row["function"], row["kind"]): row for row in json.loads(answer.stdout)["rows"]}
        self.assertEqual({key: row["count"] for key, row in rows.items()},
                         {("step", "first"): 1, ("step", "guard"): 1, ("step", "new shape"): 1,
                          ("<lambda>", "first"): 1, ("<lambda>", "new function"): 2, ("fails", "first"): 1,
                          ("login", "first"): 1, ("login", "guard"): 1, ("long", "first"): 1, ("long", "new shape"): 1,
                          ("made", "first"): 20})
        self.assertIn("argument rate == 0.5, now 0.25", rows["step", "guard"]["reason"])
        self.assertIn("argument x mismatch. expected TensorSpec(shape=(2, 3)", rows["step", "new shape"]["reason"])
        self.assertEqual(rows["login", "guard"]["reason"], "argument s: another text")
        self.assertEqual(rows["long", "new shape"]["reason"], "other shapes or types")
        self.assertEqual(pathlib.Path(rows["step", "first"]["function_file"]).name, "program.py")
        self.assertEqual(rows["step", "first"]["function_line"], PROGRAM.splitlines().index("def step():") + 1)


if __name__ == "__main__":
    unittest.main()
