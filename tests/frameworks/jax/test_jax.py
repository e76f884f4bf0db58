# SPDX-License-Identifier: Apache-2.0
"""The tracer of JAX without JAX: a jaxlib whose client is made in C, as jaxlib's is, and whose profiler returns a profile that is
written field by field. How programs end, fork, and use the profiler themselves."""
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import unittest

import xspace
from run_programs import COMPILER, SANITIZED, XSP, sql

WAIT_S = 600
HAS_HEADERS = pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()
MODULE = """
#include <Python.h>
static PyObject *client(PyObject *self, PyObject *arguments) { return PyUnicode_FromString("client"); }
static PyMethodDef methods[] = {{"get_tfrt_cpu_client", client, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "NAME", .m_size = -1, .m_methods = methods};
PyMODINIT_FUNC PyInit_NAME(void) { return PyModule_Create(&definition); }
"""
PROFILER = """
import os
import pathlib
import time
active = None
sessions = 0
class ProfileOptions:
    python_tracer_level = 1
class ProfilerSession:
    def __init__(self, options=None):
        global active, sessions
        if active is not None:
            raise RuntimeError("only one profile may be run at a time")
        sessions += 1
        active, self.level = self, options.python_tracer_level if options else 1
    def stop(self):
        global active
        assert active is self
        active = None
        return pathlib.Path(__file__).with_name("profile.pb").read_bytes()
def wait_for_sessions(count):
    end = time.monotonic() + 600
    while sessions < count and time.monotonic() < end:
        os.stat(".")  # lets others have the interpreter, as calls into XLA do
def wait_for_the_end():
    end = time.monotonic() + 600
    while active is not None and time.monotonic() < end:
        os.stat(".")
def start_server(port):
    ProfilerSession()
"""
# Of jaxlib 0.4: sessions import a part of TensorFlow.
OLD_PROFILER = PROFILER + """
import sys
def hook():
    try:
        __import__("tensorflow.python.profiler.trace")
        sys.modules["tensorflow.python.profiler.trace"].enabled = True
    except ImportError as error:
        print(error)
class ProfilerSession(ProfilerSession):
    def __init__(self, options=None):
        hook()
        super().__init__(options)
    def stop(self):
        hook()
        return super().stop()
"""
BEGIN = """
import os, sys
from jaxlib import _jax, _profiler
print(_jax.get_tfrt_cpu_client(), _jax.get_tfrt_cpu_client())
"""


@unittest.skipIf(COMPILER is None or not HAS_HEADERS or SANITIZED, "no compiler or headers, or a sanitizer")
class Jax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="xsp-jax-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        package = cls.folder / "jaxlib"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "_profiler.py").write_text(PROFILER)
        cls.make_module("_jax")
        cls.profile = package / "profile.pb"

    @classmethod
    def make_module(cls, name):
        package = cls.folder / "jaxlib"
        (package / "module.c").write_text(MODULE.replace("NAME", name))
        subprocess.run([COMPILER, "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", package / "module.c", "-o",
                        package / f"{name}.so"], check=True, timeout=WAIT_S)

    def setUp(self):
        self.profile.write_bytes(xspace.space(*xspace.loop_program()))

    def run_program(self, text, *options, status=0, tracer="jax", begin=BEGIN):
        """What it printed, which is what it prints without xsp; and xsp's own lines."""
        path = self.folder / "program.py"
        path.write_text(begin + text)
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
        self.trace = self.folder / "trace.xsp"
        command, results = [sys.executable, str(path)], []
        for prefix in ([], [XSP, "run", "-f", "-t", tracer, "-o", self.trace, *options, "--"]):
            done = subprocess.run([*prefix, *command], capture_output=True, text=True, timeout=WAIT_S, env=environment,
                                  stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, status, done.stderr)
            results.append(done)
        self.assertEqual(results[1].stdout, results[0].stdout)
        return results[1].stderr

    def levels(self):
        return {row["level"]: row["n"] for row in sql(
            self.trace, "select level, count(*) as n from span where tracer = 'jax' group by 1")}

    ALL = {"model": 2, "layer": 16, "application": 6}

    def test_a_program(self):
        self.run_program("print('done')")
        self.assertEqual(self.levels(), self.ALL)
        run, = sql(self.trace, "select count(distinct run_id) as runs, count(distinct span_id) = count(*) as are_distinct"
                               " from span")
        self.assertEqual(run, {"runs": 1, "are_distinct": 1})
        loop = sql(self.trace, "select p.name from span s join span p on p.span_id = s.parent_id where s.name = 'add.1'")
        self.assertEqual({row["name"] for row in loop}, {"while.5"})
        self.assertEqual(sql(self.trace, "select value from tag where key = 'iterations'"), 2 * [{"value": 3}])
        track, = sql(self.trace, "select distinct t.process_id from span s join track t using (run_id, track_id)"
                                 " where s.name = 'mine'")
        self.assertEqual(track["process_id"], 77)

    def test_a_process_of_a_job_has_its_rank(self):
        """The job is jax.distributed's, and the profile's tracks are of the rank, too."""
        support = pathlib.Path(xspace.__file__).parent
        begin = f"""
import os, pathlib, sys, types
sys.path.append({str(support)!r})
import xspace
from jaxlib import _jax, _profiler
sys.modules["jax._src.distributed"] = types.SimpleNamespace(global_state=types.SimpleNamespace(process_id=2, num_processes=4))
host, *others = xspace.loop_program()
host.facts["process_id"] = os.getpid()
pathlib.Path(_profiler.__file__).with_name("profile.pb").write_bytes(xspace.space(host, *others))
_jax.get_tfrt_cpu_client()
"""
        self.run_program("", begin=begin)
        ranks = sql(self.trace, "select distinct t.rank, t.world_size, s.tracer = 'jax' as is_of_profile from track t"
                                " join span s using (run_id, track_id) where t.process_id is not null order by 3")
        self.assertEqual([(row["rank"], row["world_size"]) for row in ranks], 2 * [(2, 4)])

    PARTS = "traced = 'XSP_SESSION' in os.environ\nif traced: _profiler.wait_for_sessions(COUNT)\n"

    def test_a_long_program_has_parts(self):
        self.run_program(self.PARTS.replace("COUNT", "3"), tracer="jax:part=0.01")
        self.assertEqual(self.levels()["layer"] % 16, 0)
        self.assertGreaterEqual(self.levels()["layer"], 3 * 16)

    def test_a_profile_ends_at_its_limit(self):
        text = self.run_program(self.PARTS.replace("COUNT", "1") + "if traced: _profiler.wait_for_the_end()",
                                tracer="jax:part=0.01:limit=100")
        self.assertIn("reached its limit", text)
        self.assertEqual(self.levels(), self.ALL)

    def test_a_profile_that_takes_long_to_write_has_pauses(self):
        text = self.run_program(self.PARTS.replace("COUNT", "1") + "if traced: _profiler.wait_for_the_end()",
                                tracer="jax:part=0.01:cost=0.0001")
        self.assertIn("(parts: 1)", text)
        self.assertEqual(self.levels(), self.ALL)

    def test_no_part_ends_within_a_compilation(self):
        self.run_program("""
def wakings():
    return sum(int(line.split()[1]) for task in os.listdir("/proc/self/task") if int(task) != os.getpid()
               for line in open(f"/proc/self/task/{task}/status") if line.startswith("voluntary"))
def from_hlo():
    most = wakings() + 60
    while wakings() < most:
        pass
if "XSP_SESSION" in os.environ:
    from_hlo()
    assert _profiler.sessions == 1, _profiler.sessions
    _profiler.wait_for_sessions(2)
""", tracer="jax:part=0.01")

    def test_threads_have_the_kernels_numbers(self):
        host, *rest = xspace.loop_program()
        self.profile.write_bytes(xspace.space(host, *rest) + xspace.threads({9: 4711}))
        self.run_program("")
        self.assertEqual({row["thread_id"] for row in sql(
            self.trace, "select t.thread_id from span s join track t using (run_id, track_id) where s.name = 'copy.1'")}, {4711})

    def test_it_ends_without_handlers(self):
        self.run_program("sys.stdout.flush()\nos._exit(3)", status=3)
        self.assertEqual(self.levels(), self.ALL)

    def test_it_ends_by_an_exception(self):
        self.run_program("raise SystemExit(4)", status=4)
        self.assertEqual(self.levels(), self.ALL)

    def test_a_forked_process_writes_no_profile(self):
        self.run_program("child = os.fork()\nif child == 0: sys.exit(0)\nos.waitpid(child, 0)")
        self.assertEqual(self.levels(), self.ALL)

    def test_the_program_profiles_itself(self):
        for text in ("session = _profiler.ProfilerSession()\nprint(session.level, len(session.stop()))",
                     "_profiler.start_server(9999)"):
            with self.subTest(text):
                self.assertIn("started JAX's profiler itself", self.run_program(text))
                self.assertEqual(self.levels(), self.ALL)

    def test_it_profiles_itself_from_the_beginning(self):
        path = self.folder / "jaxlib" / "__init__.py"
        path.write_text("from jaxlib import _profiler\nsession = _profiler.ProfilerSession()\n")
        self.addCleanup(path.write_text, "")
        self.assertIn("could not be started", self.run_program("import jaxlib\nprint(jaxlib.session.level)"))
        self.assertEqual(self.levels(), {})

    def test_what_is_no_file_of_the_tracer(self):
        link = "folder = os.environ.get('XSP_SESSION')\n" \
               "if folder: os.mkfifo(folder + '/tracer-1-0.xplane.pb'); " \
               "os.symlink(os.path.join(os.path.dirname(_profiler.__file__), 'profile.pb'), folder + '/tracer-1-1.xplane.pb')"
        self.assertIn("a profile is left out", self.run_program(link))
        self.assertEqual(self.levels(), self.ALL)

    def test_an_old_jaxlib(self):
        self.make_module("xla_extension")
        package = self.folder / "jaxlib"
        (package / "_profiler.py").rename(package / "kept.py")
        self.addCleanup((package / "kept.py").rename, package / "_profiler.py")
        (package / "old_profiler.py").write_text(OLD_PROFILER)
        (package / "__init__.py").write_text("__version__ = '0.4.38'\n")
        self.addCleanup((package / "__init__.py").write_text, "")
        begin = BEGIN.replace("_jax.", "xla_extension.").replace(
            "import _jax, _profiler", "import old_profiler, xla_extension\nxla_extension.profiler = old_profiler")
        self.run_program("print([name for name in sys.modules if 'tensorflow' in name])", begin=begin)
        self.assertEqual(self.levels(), self.ALL)

    def test_levels_that_are_off(self):
        self.run_program("", "--levels", "M")
        self.assertEqual(self.levels(), {"model": 2})

    def test_a_damaged_profile_costs_its_spans_only(self):
        self.profile.write_bytes(xspace.space(*xspace.loop_program())[:-30])
        self.assertIn("a profile is left out", self.run_program(""))
        self.assertEqual(sql(self.trace, "select count(*) as n from span where category = 'program'"), [{"n": 1}])


if __name__ == "__main__":
    unittest.main()
