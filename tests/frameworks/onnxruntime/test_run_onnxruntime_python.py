# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime inside unmodified Python programs: the layers that `xsp profile` gives, and the behaviour that they have
without xsp."""
import json
import pathlib
import subprocess
import sys
import sysconfig
import textwrap
import unittest

from run_programs import BUILD, COMPILER, XSP, Case, Trace, sql


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

    def test_signatures(self):
        """Names, types and shapes of the feed. Caches do not count, nor does a mask that is longer than the first input."""
        outcome, trace = self.check_same(self.script("""
            from onnx import TensorProto, helper
            kinds = {"past_key": (TensorProto.FLOAT, 3), "attention_mask": (TensorProto.INT64, 2), "ids": (TensorProto.INT64, 2)}
            inputs = [helper.make_tensor_value_info(name, kind, [None] * rank) for name, (kind, rank) in kinds.items()]
            outputs = [helper.make_tensor_value_info(f"{name}_out", kind, [None] * rank) for name, (kind, rank) in kinds.items()]
            nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in kinds]
            graph = helper.make_graph(nodes, "decoder", inputs, outputs)
            made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
            session = onnxruntime.InferenceSession(made.SerializeToString())
            for past, tokens in ((0, 5), (5, 1)):
                feed = {"past_key": numpy.ones((1, past, 2), numpy.float32),
                        "attention_mask": numpy.ones((1, past + tokens), numpy.int64), "ids": numpy.ones((1, tokens), numpy.int64)}
                show(session.run(None, feed))
                values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in feed.items()}
                show([value.numpy() for value in session.run_with_ort_values(None, values)])
            show(session.run(["ids_out"], {**feed, "ids": numpy.ones((1, 0), numpy.int64)}))
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        rows = sql(trace.path, "select value from tag where key = 'signature' order by span_id")
        own = "ids=tensor(int64)[1,5], attention_mask=tensor(int64)[1,5]"
        self.assertEqual([row["value"] for row in rows], [
            "ids=int64[1,5], attention_mask=int64[1,5]", own, "ids=int64[1,1]", "ids=tensor(int64)[1,1]", "ids=int64[1,0]"])
        rows = sql(trace.path, "select distinct value from tag where key = 'model'")
        self.assertEqual([row["value"] for row in rows], ["decoder"])

    def test_padding(self):
        """Of arrays of whole numbers: the mask counts, else the first ones. Other arrays, also of bytes, are no tokens."""
        outcome, trace = self.check_same(self.script("""
            from onnx import TensorProto, helper
            kinds = {"image": TensorProto.UINT8, "attention_mask": TensorProto.INT64, "ids": TensorProto.INT32, "weights": TensorProto.FLOAT}
            inputs = [helper.make_tensor_value_info(name, kind, [None, None]) for name, kind in kinds.items()]
            outputs = [helper.make_tensor_value_info(f"{name}_out", kind, [None, None]) for name, kind in kinds.items()]
            nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in kinds]
            graph = helper.make_graph(nodes, "encoder", inputs, outputs)
            made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
            session = onnxruntime.InferenceSession(made.SerializeToString())
            ids = numpy.zeros((2, 16), numpy.int32)
            ids[0, :4] = [5, 6, 7, 8]
            ids[1, :6] = [5, 6, 7, 8, 9, 10]
            mask = numpy.ones((2, 16), numpy.int64)
            weights = numpy.zeros((2, 16), numpy.float32)
            mask[:, 12:] = 0
            image = numpy.zeros((2, 16), numpy.uint8)
            image[:, :10] = 7
            narrow = numpy.ones((2, 1), numpy.int64)  # of a decoder's next token
            for mask in (mask, numpy.asfortranarray(mask), narrow):
                for tokens in (ids, numpy.asfortranarray(ids)):
                    show(session.run(None, {"image": image, "ids": tokens, "attention_mask": mask, "weights": weights}))
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        rows = sql(trace.path, "select value from tag where key in ('positions', 'padded', 'spare') order by span_id, key")
        self.assertEqual([row["value"] for row in rows], [8, 32, 8, 8, 32, 8, 22, 32, 20, 22, 32, 20])

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
        """The module's own classes, called in every wrong way: the same errors, with the same arguments in them.

        run_async takes None for its callback, calls it on a thread of its own, and aborts the program if the
        interpreter ends meanwhile, with or without xsp: what it accepts is left out.
        """
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
                    if name != "run_async" or len(wrong) < 5:
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
        """The runtime computes nodes in parallel: each names its inference, or is inside a node."""
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
        """More options and bindings than the tracer remembers at once: ended ones are forgotten."""
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

    def test_creation_of_sessions(self):
        """A25 has the sessions of a model, the first one apart, whether a file or bytes are opened."""
        path = self.new_folder() / "trace.xsp"
        done = subprocess.run([XSP, "run", "-o", path, "--", *self.script("""
            for given in (model, model, open(model, "rb").read()):
                show(onnxruntime.InferenceSession(given).run(None, {"image": image}))
            """)], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(subprocess.run([XSP, "analyze", "A25", path, "--json"], capture_output=True, timeout=600,
                                           check=True).stdout)
        named = {row["kind"]: row["count"] for row in answer["rows"] if row["function"] == "tiny"}
        self.assertEqual((named, answer["summary"]["compile_count"]), ({"first": 1, "new session": 2}, 3))

    def test_module_made_in_two_steps(self):
        """A module with multi-phase initialisation is traced once it is complete."""
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
        self.assertIn("ONNX Runtime 0.1.2 ", trace.messages)

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
        """Two copies of the runtime: the module's, and the library loaded by ctypes."""
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


if __name__ == "__main__":
    unittest.main()
