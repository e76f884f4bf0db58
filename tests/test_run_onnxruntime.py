# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime inside unmodified programs: a C program, linked or looking the library up, and Python scripts give the
layers that `xsp profile` gives, and behave in every respect as they do without xsp."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import unittest

import runner_session
from runner_session import BUILD, SOURCE

XSP = BUILD / "xsp"
WAIT_S = 120
COMPILER = shutil.which(os.environ.get("CC", "cc"))
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
# kernel_shape: xsp profile reads it from the model file.
LAYERS = """
    select s.span_id, s.parent_id, s.name, p.name as parent, p.level as parent_level,
           (select group_concat(key || '=' || value, ' ') from tag t where t.run_id = s.run_id and t.span_id = s.span_id
              and key != 'kernel_shape') as tags
    from span s left join span p on p.run_id = s.run_id and p.span_id = s.parent_id
    where s.level = 'layer' order by s.start_ns, s.span_id"""
MODELS = """
    select s.span_id, s.name, s.tracer,
           (select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and key = 'batch_size') as batch
    from span s where s.level = 'model' order by s.start_ns, s.span_id"""


def runtime_library():
    """The library of the Python environment's wheel; a tracer that is older than the listener needs is no use here."""
    import onnxruntime
    return next((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"))


def sql(path, query):
    done = subprocess.run([XSP, "sql", path, query, "--json"], capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()] if not done.stdout.startswith("[") else \
        json.loads(done.stdout)


class Trace:
    def __init__(self, path):
        self.layers = sql(path, LAYERS)
        self.models = sql(path, MODELS)
        self.messages = ""
        self.dropped = sql(path, "select sum(dropped_count) as dropped from run")[0]["dropped"]

    def names(self):
        return collections.Counter(model["name"] for model in self.models)

    def batches(self):
        return [None if model["batch"] is None else int(model["batch"]) for model in self.models]

    def by_model(self):
        """The layers of each model span, in order of their start, with the name of what they lie in."""
        found = {model["span_id"]: [] for model in self.models}
        place = {layer["span_id"]: layer["parent_id"] for layer in self.layers}
        for layer in self.layers:
            top = layer["parent_id"]
            while top in place:
                top = place[top]
            found.setdefault(top, []).append((layer["name"], layer["parent"] if layer["parent_level"] == "layer" else "",
                                              layer["tags"]))
        return list(found.values())


class Result:
    def __init__(self, status, out, err, folder):
        self.status, self.out, self.err, self.folder = status, out, err, folder

    def same(self):
        """What must be the same in every run: not the times in ONNX Runtime's log lines and file names."""
        error = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", "TIME", self.err)
        error = re.sub(r"[0-9a-f]{6,}", "HEX", error)
        files = sorted({re.sub(r"_\d{4}-\d\d.*", "", path.name) for path in self.folder.iterdir()})
        return self.status, self.out, error, files


@unittest.skipIf(SANITIZED, "preloading into programs that are not sanitized")
class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.library = runtime_library()
        except (ImportError, StopIteration):
            raise unittest.SkipTest("no onnxruntime in this Python environment")
        cls.models = runner_session.test_models()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="xsp-run-onnxruntime-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.count = 0

    def new_folder(self):
        type(self).count += 1
        folder = self.folder / f"{self.count}"
        folder.mkdir()
        return folder

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XSP_") and name != "LD_PRELOAD"}
        return {**kept, "ORT_LIBRARY": str(self.library), "ORT_DISABLE_TELEMETRY": "1", "VIRTUAL_ENV": sys.prefix}

    def run_program(self, command, environment, cwd):
        done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True,
                              timeout=WAIT_S, stdin=subprocess.DEVNULL)
        return Result(done.returncode, done.stdout, done.stderr, cwd)

    def without(self, command):
        return self.run_program(command, self.environment(), self.new_folder())

    def inside(self, command, levels="M/L"):
        """The program in a session of our own: its outcome, and its trace (None: it left none)."""
        session = self.new_folder() / "session"
        preload = f"{BUILD / 'libxsp.so'}:{BUILD / 'tracers/frameworks.so'}"
        outcome = self.run_program(command, {**self.environment(), "XSP_SESSION": str(session), "XSP_LEVELS": levels,
                                             "XSP_TRACERS": str(BUILD / "tracers/onnxruntime.so"),
                                             "LD_PRELOAD": preload}, self.new_folder())
        path = session.parent / "trace.xsp"
        done = subprocess.run([XSP, "recover", session, "-o", path], capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = Trace(path)
        trace.messages = done.stderr
        return outcome, trace

    def check_same(self, command, levels="M/L"):
        """Runs it without and inside, compares the outcomes, and returns the outcome and the trace."""
        before = self.without(command)
        after, trace = self.inside(command, levels)
        self.assertEqual(after.same(), before.same())
        self.assertEqual(trace.dropped, 0)
        orphans = [layer for layer in trace.layers if layer["parent_id"] is None]
        self.assertEqual(orphans, [])
        return after, trace

    def check_layers(self, trace, expected, inferences):
        """As many inferences, each with the same layers; with the tags, but for what differs between inferences."""
        found = trace.by_model()
        self.assertEqual(len(found), inferences)
        for layers in found:
            self.assertEqual(sorted(layers), sorted(expected))

    def profile(self, model, options=()):
        path = self.new_folder() / "profile.xsp"
        done = subprocess.run([XSP, "profile", self.models / model, "--batch", "1", "--levels", "M/L", "--runs", "3",
                               "--warmup", "1", "-o", path, *options], capture_output=True, text=True, timeout=WAIT_S,
                              env={**os.environ, "VIRTUAL_ENV": sys.prefix})
        self.assertEqual(done.returncode, 0, done.stderr)
        return Trace(path)

    def xsp_run(self, command, *options):
        path = self.new_folder() / "run.xsp"
        done = subprocess.run([XSP, "run", "-t", "onnxruntime", "-o", path, *options, "--", *map(str, command)],
                              capture_output=True, text=True, timeout=WAIT_S, env=self.environment(),
                              cwd=self.new_folder())
        return done, path


@unittest.skipIf(COMPILER is None, "no C compiler")
class CProgram(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "libonnxruntime.so").symlink_to(cls.library)
        (cls.folder / "libonnxruntime.so.1").symlink_to(cls.library)
        cls.looking = cls.build("looking")
        cls.linked = cls.build("linked", "-DLINKED", f"-L{cls.folder}", "-lonnxruntime", f"-Wl,-rpath,{cls.folder}")

    @classmethod
    def build(cls, name, *options):
        program = cls.folder / name
        subprocess.run([COMPILER, "-D_GNU_SOURCE", "-O1", f"-I{SOURCE}", f"-I{SOURCE}/include",
                        SOURCE / "tests/run_onnxruntime.c", "-o", program, *options, "-ldl", "-lpthread"], check=True)
        return program

    def modes(self, mode, model="tiny.onnx", inferences=4, batch=2):
        """Both programs: (outcome, trace) of each."""
        return [self.check_same([program, mode, self.models / model, inferences, batch])
                for program in (self.looking, self.linked)]

    def test_layers_are_those_of_profile(self):
        for model in ("squeezenet.onnx", "branches.onnx"):
            expected = self.profile(model).by_model()
            self.assertEqual(len(expected), 4)
            for _, trace in self.modes("plain", model, batch=1):
                self.assertEqual([sorted(layers) for layers in trace.by_model()],
                                 [sorted(layers) for layers in expected])
                self.assertEqual([[name for name, _, _ in layers] for layers in trace.by_model()],
                                 [[name for name, _, _ in layers] for layers in expected])
                self.assertEqual(trace.names(), {model.removesuffix(".onnx"): 4})

    def test_xsp_run(self):
        expected = self.profile("squeezenet.onnx").by_model()
        for program in (self.looking, self.linked):
            command = [program, "plain", self.models / "squeezenet.onnx", 4, 1]
            done, path = self.xsp_run(command, "--levels", "M/L")
            self.assertEqual((done.returncode, done.stdout), (0, self.without(command).out))
            self.assertEqual(Trace(path).by_model(), expected)

    def test_level_sets(self):
        done, path = self.xsp_run([self.looking, "plain", self.models / "tiny.onnx", 4, 2], "--levels", "M,M/L",
                                  "--runs", "2", "--warmup", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = sql(path, """select r.levels, s.level, count(*) as n from span s join run r using (run_id)
                              where s.level in ('model', 'layer') group by 1, 2 order by 1, 2""")
        self.assertEqual([tuple(row.values()) for row in counts],
                         [("M", "model", 8), ("M/L", "layer", 24), ("M/L", "model", 8)])

    def test_models_without_layers(self):
        for program in (self.looking, self.linked):
            _, trace = self.check_same([program, "options", self.models / "tiny.onnx", 4, 2], levels="M")
            self.assertEqual((trace.names(), trace.layers), ({"tiny": 24}, []))
            self.assertEqual(set(trace.batches()), {2})

    def test_batch(self):
        for _, trace in self.modes("plain", batch=5):
            self.assertEqual(trace.batches(), [5] * 4)

    def test_ways_to_run(self):
        layers = next(iter(self.profile("tiny.onnx").by_model()))
        names = sorted(name for name, _, _ in layers)
        for mode, inferences in (("options", 24), ("threads", 16), ("binding", 4), ("async", 4), ("many", 60),
                                 ("array", 4)):
            for _, trace in self.modes(mode):
                self.assertEqual([sorted(name for name, _, _ in found) for found in trace.by_model()],
                                 [names] * inferences)
                self.assertEqual(trace.batches(), [2] * inferences)

    def test_name_of_the_graph(self):
        import onnx
        graph = onnx.load(self.models / "tiny.onnx").graph.name
        for _, trace in self.modes("array"):
            self.assertEqual(trace.names(), {graph: 4})

    def test_errors(self):
        for _, trace in self.modes("wrong"):
            self.assertEqual(trace.names(), {"tiny": 5})  # the one that failed is one, too
            self.assertEqual(sorted(len(layers) for layers in trace.by_model()), [0, 3, 3, 3, 3])

    def test_own_profile(self):
        """The program's own profiling: its file, with its content, and no warning that two profile at once."""
        for outcome, trace in self.modes("profile"):
            events = json.loads((outcome.folder / "own.json").read_text())
            self.assertEqual(sum(event["cat"] == "Node" for event in events), 8 * 3)
            self.assertIn('ended again: ""', outcome.out)
            single = list(outcome.folder.glob("single_*.json"))
            self.assertTrue(single)
            self.assertEqual(len(trace.layers), 20 * 3)
            self.assertEqual(len(trace.models), 20)

    def test_devices(self):
        for outcome, _ in self.modes("devices"):
            self.assertNotIn("Xsp", outcome.out)

    def test_forks(self):
        for mode in ("fork-first", "fork-later"):
            for _, trace in self.modes(mode):
                self.assertEqual((len(trace.models), len(trace.layers)), (8, 24))

    def test_library_that_is_opened_again(self):
        for _, trace in self.modes("again"):
            self.assertEqual((len(trace.models), len(trace.layers)), (24, 72))

    def test_library_of_a_plugin(self):
        """A library that was linked against the runtime and is opened out of sight of the program."""
        plugin, host = self.folder / "plugin.so", self.folder / "host"
        self.build("plugin.so", "-DLINKED", "-Dmain=plugin_main", "-shared", "-fPIC", f"-L{self.folder}", "-lonnxruntime",
                   f"-Wl,-rpath,{self.folder}")
        (self.folder / "host.c").write_text(textwrap.dedent(f"""
            #include <dlfcn.h>
            int main(int count, char **arguments)
            {{
              void *plugin = dlopen("{plugin}", RTLD_NOW | RTLD_LOCAL);
              return plugin == 0 ? 9 : ((int (*)(int, char **))dlsym(plugin, "plugin_main"))(count, arguments);
            }}
            """))
        subprocess.run([COMPILER, self.folder / "host.c", "-o", host, "-ldl"], check=True)
        outcome, trace = self.check_same([host, "plain", self.models / "tiny.onnx", 4, 2])
        self.assertEqual((outcome.status, len(trace.models), len(trace.layers)), (0, 4, 12), outcome.out)

    def test_killed(self):
        for outcome, trace in self.modes("killed"):
            self.assertEqual(outcome.status, -9)
            self.assertEqual((len(trace.models), len(trace.layers)), (4, 12))

    def test_memory_does_not_grow(self):
        """Profiling of a session would keep 1.8 kB an event: 60 MB here."""
        outcome, _ = self.inside([self.looking, "grow", self.models / "branches.onnx", 4000, 1])
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertLess(int(re.search(r"grew by (-?\d+) kB", outcome.out)[1]), 8192)


class PythonProgram(Case):
    START = """
        import sys, numpy, onnxruntime
        model = sys.argv[1]
        image = (numpy.arange(2 * 3 * 16 * 16, dtype=numpy.float32).reshape(2, 3, 16, 16) % 255) / 255
        def show(outputs):
            print([output.tobytes().hex()[:64] for output in outputs])
        """

    def script(self, text, model="tiny.onnx", options=(), python=sys.executable):
        path = self.new_folder() / "script.py"
        path.write_text(textwrap.dedent(self.START) + textwrap.dedent(text))
        return [python, "-B", *options, path, self.models / model]

    def test_layers_are_those_of_profile(self):
        text = """
            session = onnxruntime.InferenceSession(model)
            [one] = session.get_inputs()
            feed = {one.name: numpy.ones([size if isinstance(size, int) else 1 for size in one.shape], numpy.float32)}
            for i in range(4):
                show(session.run(None, feed))
            """
        for model in ("squeezenet.onnx", "branches.onnx"):
            expected = self.profile(model).by_model()
            command = self.script(text, model)
            outcome, trace = self.check_same(command)
            self.assertEqual(outcome.status, 0, outcome.err)
            self.assertEqual(trace.names(), {model.removesuffix(".onnx"): 4})
            self.assertEqual([sorted(layers) for layers in trace.by_model()], [sorted(layers) for layers in expected])
            done, path = self.xsp_run(command, "--levels", "M/L")
            self.assertEqual((done.returncode, done.stdout), (0, outcome.out))
            self.assertEqual([sorted(layers) for layers in Trace(path).by_model()],
                             [sorted(layers) for layers in expected])

    EVERY_WAY = """
        import threading
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        show(session.run(None, {"image": image}))
        options = onnxruntime.RunOptions()
        options.logid = "mine"
        for i in range(3):
            show(session.run(names, {"image": image}, options))
        del options
        show(session.run(None, {"image": image}, onnxruntime.RunOptions()))
        show(session.run(None, {"image": image}, run_options=onnxruntime.RunOptions()))
        binding = session.io_binding()
        binding.bind_cpu_input("image", image)
        binding.bind_output(names[0])
        session.run_with_iobinding(binding)
        show(binding.copy_outputs_to_cpu())
        value = onnxruntime.OrtValue.ortvalue_from_numpy(image)
        binding = session.io_binding()
        binding.bind_ortvalue_input("image", value)
        binding.bind_output(names[0])
        session.run_with_iobinding(binding, onnxruntime.RunOptions())
        show(binding.copy_outputs_to_cpu())
        show([output.numpy() for output in session.run_with_ort_values(names, {"image": value})])
        done = threading.Event()
        def callback(results, data, error):
            show(results)
            print(data, error)
            done.set()
        session_options = onnxruntime.SessionOptions()
        session_options.intra_op_num_threads = 2
        other = onnxruntime.InferenceSession(model, session_options)
        other.run_async(None, {"image": image}, callback, "data")
        done.wait()
        from_bytes = onnxruntime.InferenceSession(open(model, "rb").read())
        show(from_bytes.run(None, {"image": image}))
        session.set_providers(["CPUExecutionProvider"])
        show(session.run(None, {"image": image}))
        """

    def test_every_way_to_run(self):
        outcome, trace = self.check_same(self.script(self.EVERY_WAY))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual(sum(trace.names().values()), 12)
        self.assertEqual(trace.batches(), [2] * 12)
        self.assertEqual([len(layers) for layers in trace.by_model()], [3] * 12)

    def test_models_without_layers(self):
        outcome, trace = self.check_same(self.script(self.EVERY_WAY), levels="M")
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual((len(trace.models), trace.layers), (12, []))

    def test_nothing_shows(self):
        outcome, _ = self.check_same(self.script("""
            session = onnxruntime.InferenceSession(model)
            print(session.get_providers(), session.get_provider_options(), onnxruntime.get_available_providers())
            print([device.ep_name for device in onnxruntime.get_ep_devices()])
            from onnxruntime.capi import onnxruntime_pybind11_state as C
            for name in dir(C.InferenceSession):
                print(name, type(getattr(C.InferenceSession, name)).__name__)
            print(sorted(sys.modules))
            """))
        self.assertEqual(outcome.status, 0, outcome.err)

    def test_errors_show_as_ever(self):
        outcome, trace = self.check_same(self.script("""
            import traceback
            session = onnxruntime.InferenceSession(model)
            for feed in ({"nothing": image}, {"image": image.astype(numpy.float64)}, {}, {"image": 3}, [image], None):
                try:
                    session.run(None, feed)
                except Exception:
                    traceback.print_exc()
            for arguments in (("/nowhere.onnx",), (b"no model",), (model, None, ["NoSuchProvider"]), (3,)):
                try:
                    onnxruntime.InferenceSession(*arguments)
                except Exception:
                    traceback.print_exc()
            show(session.run(None, {"image": image}))
            session.run(None, {"image": image[0]})
            """))
        self.assertEqual(outcome.status, 1)
        self.assertIn("InvalidArgument", outcome.err)

    def test_wrong_use_of_the_classes(self):
        """The module's own classes, called in every wrong way: the same errors, with the same arguments in them."""
        outcome, _ = self.check_same(self.script("""
            import re
            from onnxruntime.capi import onnxruntime_pybind11_state as C
            session = onnxruntime.InferenceSession(model)
            own = session._sess
            def attempt(function, *arguments):
                try:
                    print("done", re.sub("0x[0-9a-f]+", "P", repr(function(*arguments))))
                except Exception as error:
                    print(type(error).__name__, re.sub("0x[0-9a-f]+", "P", str(error)))
            for wrong in ((), (1,), (1, 2), (None, {}), ("a", "b", "c"), (1, 2, 3, 4), ([], {}, None, None, None),
                          ([], {"image": "no"}), ("names", {"image": image}), ([], {"image": image}, 5)):
                for name in ("run", "run_async", "run_with_ort_values", "run_with_iobinding", "run_with_ortvaluevector",
                             "initialize_session", "get_providers", "get_provider_options"):
                    attempt(getattr(C.InferenceSession, name), *wrong)
                    attempt(getattr(own, name), *wrong)
                for name in ("InferenceSession", "SessionIOBinding", "RunOptions", "SessionOptions"):
                    attempt(getattr(C, name), *wrong)
                    attempt(getattr(C, name).__init__, *wrong)
            """))
        self.assertEqual(outcome.status, 0, outcome.err)

    def test_exit_status(self):
        outcome, trace = self.check_same(self.script("""
            show(onnxruntime.InferenceSession(model).run(None, {"image": image}))
            sys.exit(7)
            """))
        self.assertEqual((outcome.status, len(trace.models), len(trace.layers)), (7, 1, 3))

    def test_isolated_interpreter(self):
        for options in (("-I",), ("-E", "-s"), ("-P", "-X", "dev"), ("-O",)):
            outcome, trace = self.check_same(self.script("""
                show(onnxruntime.InferenceSession(model).run(None, {"image": image}))
                """, options=options))
            self.assertEqual((outcome.status, len(trace.models), len(trace.layers)), (0, 1, 3), outcome.err)

    def test_threads_and_sessions(self):
        outcome, trace = self.check_same(self.script("""
            import threading
            def work(session, options):
                for i in range(20):
                    session.run(None, {"image": image}, options)
            def make():
                work(onnxruntime.InferenceSession(model), None)
            shared, options = onnxruntime.InferenceSession(model), onnxruntime.RunOptions()
            threads = [threading.Thread(target=work, args=(shared, options if i % 2 else None)) for i in range(4)]
            threads += [threading.Thread(target=make) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for i in range(30):
                make()
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual(len(trace.models), (4 + 4 + 30) * 20)
        self.assertEqual({len(layers) for layers in trace.by_model()}, {3})

    def test_nodes_on_other_threads(self):
        """The runtime computes nodes side by side: each names the inference that it belongs to, or lies in a node."""
        text = """
            options = onnxruntime.SessionOptions()
            options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
            options.inter_op_num_threads = 3
            session = onnxruntime.InferenceSession(model, options)
            [one] = session.get_inputs()
            feed = {one.name: numpy.ones([size if isinstance(size, int) else 1 for size in one.shape], numpy.float32)}
            for i in range(4):
                show(session.run(None, feed))
            """
        for model in ("inception_v1.onnx", "branches.onnx"):
            expected = self.profile(model).by_model()
            outcome, trace = self.check_same(self.script(text, model))
            self.assertEqual(outcome.status, 0, outcome.err)
            self.assertEqual([sorted((name, parent) for name, parent, _ in layers) for layers in trace.by_model()],
                             [sorted((name, parent) for name, parent, _ in layers) for layers in expected])

    def test_workers(self):
        for method in ("spawn", "fork", "forkserver"):
            outcome, trace = self.check_same(self.script(f"""
                import multiprocessing
                def work(number):
                    options = onnxruntime.SessionOptions()
                    options.intra_op_num_threads = 1
                    session = onnxruntime.InferenceSession(model, options)
                    return [session.run(None, {{"image": image + number}})[0].tobytes() for i in range(3)]
                if __name__ == "__main__":
                    with multiprocessing.get_context("{method}").Pool(2) as pool:
                        print([result[0].hex()[:32] for result in pool.map(work, range(4))])
                        pool.close()
                        pool.join()
                """))
            self.assertEqual(outcome.status, 0, outcome.err)
            self.assertEqual((len(trace.models), len(trace.layers)), (12, 36), method)

    def test_own_profile(self):
        outcome, trace = self.check_same(self.script("""
            import json, os
            options = onnxruntime.SessionOptions()
            options.enable_profiling = True
            options.profile_file_prefix = "own"
            session = onnxruntime.InferenceSession(model, options)
            for run_options in (None, onnxruntime.RunOptions()):
                show(session.run(None, {"image": image}, run_options))
            path = session.end_profiling()
            print(path[:4], sum(event["cat"] == "Node" for event in json.load(open(path))))
            show(session.run(None, {"image": image}))
            print(options.enable_profiling, options.profile_file_prefix, session.get_session_options().enable_profiling)
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertIn("own_ 6", outcome.out)
        self.assertEqual((len(trace.models), len(trace.layers)), (3, 9))

    def test_options_that_name_providers(self):
        outcome, trace = self.check_same(self.script("""
            [device] = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "CPUExecutionProvider"]
            options = onnxruntime.SessionOptions()
            options.add_provider_for_devices([device], {})
            for i in range(3):
                session = onnxruntime.InferenceSession(model, options)
                show(session.run(None, {"image": image}))
                print(session.get_providers(), session.get_provider_options(), options.has_providers())
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            show(session.run(None, {"image": image}))
            options = onnxruntime.SessionOptions()
            options.set_provider_selection_policy(onnxruntime.OrtExecutionProviderDevicePolicy.PREFER_CPU)
            session = onnxruntime.InferenceSession(model, options)
            show(session.run(None, {"image": image}))
            print(session.get_providers(), options.has_providers())
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual([len(layers) for layers in trace.by_model()], [3, 3, 3, 3, 0])

    SWITCHED = """
        import ctypes
        paths = [line.split()[-1] for line in open("/proc/self/maps") if "/libxsp.so" in line]
        def levels(mask):
            if paths:
                ctypes.CDLL(paths[0]).xsp_tracer_set_levels(b"onnxruntime", mask)
        session, options = onnxruntime.InferenceSession(model), onnxruntime.RunOptions()
        for mask in (6, 2, 0, 6):
            levels(mask)
            show(session.run(None, {"image": image}))
            show(session.run(None, {"image": image}, options))
        """

    def test_levels_that_are_switched(self):
        """Models and layers, models alone, nothing, and again, while the program runs."""
        outcome, trace = self.check_same(self.script(self.SWITCHED))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual([len(layers) for layers in trace.by_model()], [3, 3, 0, 0, 3, 3])

    def test_many_short_lived_objects(self):
        """More options and bindings than are kept in mind at a time, at whatever addresses: what ended is forgotten."""
        outcome, trace = self.check_same(self.script("""
            session = onnxruntime.InferenceSession(model)
            for i in range(3):
                many = [(onnxruntime.RunOptions(), session.io_binding()) for j in range(6000)]
                del many
            for options in [onnxruntime.RunOptions() for j in range(60)]:
                session.run(None, {"image": image}, options)
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual([len(layers) for layers in trace.by_model()], [3] * 60)

    def test_module_made_in_two_steps(self):
        """A module whose entrance gives a definition (as later makers of modules do) is met when it is complete."""
        headers = sysconfig.get_paths()["include"]
        if COMPILER is None or not pathlib.Path(headers, "Python.h").exists():
            self.skipTest("no headers of Python")
        folder = self.new_folder()
        (folder / "module.c").write_text(textwrap.dedent("""
            #include <Python.h>
            static PyObject *version(PyObject *self, PyObject *arguments) { return PyUnicode_FromString("0.1.2"); }
            static PyMethodDef methods[] = {{"get_version_string", version, METH_NOARGS, NULL},
                                            {"get_available_providers", version, METH_NOARGS, "names"}, {NULL}};
            static int execute(PyObject *module) { return PyModule_AddIntConstant(module, "executed", 1); }
            static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};
            static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "onnxruntime_pybind11_state", NULL, 0, methods,
                                                    slots, NULL, NULL, NULL};
            PyMODINIT_FUNC PyInit_onnxruntime_pybind11_state(void) { return PyModuleDef_Init(&definition); }
            """))
        subprocess.run([COMPILER, "-shared", "-fPIC", f"-I{headers}", folder / "module.c", "-o",
                        folder / "onnxruntime_pybind11_state.so"], check=True)
        script = folder / "script.py"
        script.write_text(textwrap.dedent(f"""
            import importlib, sys
            sys.path.insert(0, {str(folder)!r})
            import onnxruntime_pybind11_state as module
            print(module.executed, module.get_available_providers(), module.get_available_providers.__doc__)
            print(importlib.reload(module).get_available_providers())
            """))
        outcome, trace = self.check_same([sys.executable, "-B", script])
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertIn("ONNX Runtime 0.1.2 in Python calls no listener", trace.messages)

    def test_listener_of_its_own(self):
        """A program that registers the listener itself, as the documentation shows, is recorded once."""
        outcome, trace = self.inside(self.script(f"""
            onnxruntime.register_execution_provider_library("xsp", "{BUILD / 'tracers/onnxruntime.so'}")
            options = onnxruntime.SessionOptions()
            options.enable_profiling = True
            devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "XspListenerExecutionProvider"]
            print(len(devices))
            session = onnxruntime.InferenceSession(model, options)
            show(session.run(None, {{"image": image}}))
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual((len(trace.models), len(trace.layers)), (1, 3))

    def test_module_and_library_in_one_process(self):
        """Two copies of the runtime: the module's, and the library beside it through ctypes."""
        outcome, trace = self.check_same(self.script(f"""
            import ctypes
            session = onnxruntime.InferenceSession(model)
            show(session.run(None, {{"image": image}}))
            library = ctypes.CDLL("{self.library}")
            class Base(ctypes.Structure):
                _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)),
                            ("version", ctypes.CFUNCTYPE(ctypes.c_char_p))]
            library.OrtGetApiBase.restype = ctypes.POINTER(Base)
            base = library.OrtGetApiBase().contents
            table = ctypes.cast(base.get_api(22), ctypes.POINTER(ctypes.c_void_p))
            def call(slot, *arguments):
                status = ctypes.CFUNCTYPE(ctypes.c_void_p, *[type(argument) for argument in arguments])(table[slot])(
                    *arguments)
                assert not status
            env, made = ctypes.c_void_p(), ctypes.c_void_p()
            call(3, ctypes.c_int(3), ctypes.c_char_p(b"x"), ctypes.pointer(env))
            call(7, env, ctypes.c_char_p(model.encode()), ctypes.c_void_p(), ctypes.pointer(made))
            show(session.run(None, {{"image": image}}))
            print(base.version())
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual((len(trace.models), len(trace.layers)), (2, 6))


@unittest.skipIf(COMPILER is None or SANITIZED, "no C compiler, or preloading sanitized libraries")
class Lookups(unittest.TestCase):
    """dlsym is the loader's, whoever calls it and however."""

    def test_every_way_to_look_up(self):
        with tempfile.TemporaryDirectory() as name:
            program, wrapper = pathlib.Path(name) / "lookups", pathlib.Path(name) / "wrapper.so"
            source = SOURCE / "tests/run_lookups.c"
            subprocess.run([COMPILER, "-D_GNU_SOURCE", "-rdynamic", source, "-o", program, "-ldl", "-lpthread"],
                           check=True)
            subprocess.run([COMPILER, "-D_GNU_SOURCE", "-DWRAPPER", "-shared", "-fPIC", source, "-o", wrapper, "-ldl"],
                           check=True)
            ours = f"{BUILD / 'libxsp.so'} {BUILD / 'tracers/frameworks.so'}"
            for argument in ((), ("",), ("x",)):
                results = {}
                for preload in ("", f"{wrapper}", ours, f"{wrapper} {ours}", f"{ours} {wrapper}"):
                    done = subprocess.run([program, *argument], capture_output=True, text=True, timeout=WAIT_S,
                                          env={**os.environ, "LD_PRELOAD": preload})
                    # The one difference: who did not find it.
                    out = re.sub(r"error \S*: undefined symbol: OrtGetApiBase", "error: OrtGetApiBase", done.stdout)
                    results.setdefault("wrapper" in preload, []).append((done.returncode, out, done.stderr))
                for found in results.values():
                    self.assertIn("thread: ", found[0][1])
                    for other in found[1:]:
                        self.assertEqual(other, found[0])


if __name__ == "__main__":
    unittest.main()
