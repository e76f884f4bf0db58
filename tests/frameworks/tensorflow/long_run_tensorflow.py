# SPDX-License-Identifier: Apache-2.0
"""TensorFlow inside unmodified programs: Keras, tf.function, SavedModels, sessions, operations one by one, and C. Layers that
`xsp profile` has, and the behaviour that programs have without xsp. Fetches packages through pip, so it belongs to
`make test-all`."""
import collections
import json
import pathlib
import subprocess
import textwrap
import unittest

from run_frameworks import COMPILER, XSP, RunFrameworkTest
from tensorflow_environment import tensorflow_environment

START = """
    import sys
    import tensorflow as tf, numpy as np
    folder = sys.argv[1]
    def image(batch=4):
        return tf.constant((np.arange(batch * 32 * 32 * 3) % 255 / 255.).astype("float32").reshape(batch, 32, 32, 3))
    def show(result):
        print(np.asarray(result).tobytes().hex()[:64])
    def network():
        tf.keras.utils.set_random_seed(0)
        layers = tf.keras.layers
        return tf.keras.Sequential([layers.Input((32, 32, 3)), layers.Conv2D(8, 3, name="first"),
                                    layers.BatchNormalization(name="norm"), layers.ReLU(), layers.Conv2D(8, 3, name="second"),
                                    layers.Flatten(), layers.Dense(10, name="dense")], name="net")
    """
MAKE = """
    model = network()
    layers = [layer for layer in model.layers if layer.name == "norm"]
    numbers = np.random.RandomState(0)
    layers[0].set_weights([numbers.uniform(.5, 1.5, old.shape) for old in layers[0].get_weights()])
    model.export(folder, verbose=False)
    """


class RunTensorflowTest(RunFrameworkTest):
    framework = "tensorflow"

    @classmethod
    def setUpClass(cls):
        cls.environment = tensorflow_environment()
        cls.python = cls.environment / "bin" / "python3"
        cls.library = next(cls.environment.glob("lib/python*/site-packages/tensorflow/libtensorflow_cc.so.2"))
        cls.saved = cls.environment / "run-models" / "saved"
        if not (cls.saved / "saved_model.pb").exists():
            subprocess.run([cls.python, "-c", textwrap.dedent(START) + textwrap.dedent(MAKE), cls.saved], check=True,
                           timeout=300, capture_output=True)

    def variables(self):
        return {**super().variables(), "TF_CPP_MIN_LOG_LEVEL": "1"}

    def program(self, text, **options):
        return self.script(textwrap.dedent(START) + textwrap.dedent(text), self.saved, **options)

    def check_convolutions(self, models, expected=2):
        for model in models:
            types = collections.Counter(kind for _, kind in model["layers"])
            self.assertEqual(sum(number for kind, number in types.items() if "Conv2D" in kind), expected, types)
            self.assertGreater(model["duration"], 0)

    def by_name(self):
        found = collections.defaultdict(list)
        for model in self.models():
            found[model["name"]].append(model)
        return found

    def test_python(self):
        outcome = self.check_same(self.program("""
            model = network()
            for i in range(3):
                show(model.predict(image(), verbose=0))
            function = tf.function(model)
            for i in range(3):
                show(function(image()))
            show(function(image(2)))
            loaded = tf.saved_model.load(folder)
            for i in range(2):
                show(loaded.serve(image()))
                show(list(loaded.signatures["serving_default"](image()).values())[0])
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        found = self.by_name()
        self.assertEqual({name: len(models) for name, models in found.items()},
                         {"one_step_on_data_distributed": 3, "function": 4, "restored_function_body": 2,
                          "signature_wrapper___call__": 2})
        for models in found.values():
            self.check_convolutions(models)
            self.assertEqual(len({frozenset(model["layers"]) for model in models[:3]}), 1)
        self.assertEqual([model["tags"]["batch_size"] for model in found["function"]], [4, 4, 4, 2])
        self.assertIn("net/first/BiasAdd", [name.replace("_1/", "/") for name, _ in found["function"][0]["layers"]])
        rows = self.sql("select s.name, t.value from span s join tag t using (run_id, span_id) join span p on"
                        " p.run_id = s.run_id and p.span_id = s.parent_id where t.key = 'layer_index' and p.name = 'function'")
        self.assertEqual(len({(row["name"], row["value"]) for row in rows}), len({row["name"] for row in rows}))

    def test_fit_and_evaluate_are_two_kinds(self):
        """Keras gives both functions one name; fit is passed the optimizer's variables, too."""
        outcome = self.check_same(self.program("""
            model = network()
            model.compile("adam", "mse")
            history = model.fit(image(), np.ones((4, 10)), epochs=3, verbose=0, shuffle=False)
            show(model.evaluate(image(), np.ones((4, 10)), verbose=0))
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        kinds = collections.Counter((model["name"], model["tags"]["signature"]) for model in self.models()
                                    if "initialize" not in model["name"])
        self.assertEqual(len({name for name, _ in kinds}), 1, kinds)
        self.assertEqual(sorted(kinds.values()), [1, 3], kinds)

    def sessions(self, output):
        """The layers of a run of the SavedModel: {(node, type)}. The recorder omits nodes that only pass values on."""
        rows = self.sql("select s.name, (select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and"
                        " key = 'node') as node, (select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id"
                        " and key = 'layer_type') as type from span s where level = 'layer'", output)
        return {(row["node"] or row["name"], row["type"]) for row in rows
                if row["type"] not in ("Const", "VarHandleOp", "NoOp")}

    def memory(self, output):
        """What layers allocated, as the recorder and as RunMetadata have it; others take over an input's memory at times."""
        rows = self.sql("select t.value as type, a.value as bytes from span s join tag t using (run_id, span_id) join tag a"
                        " using (run_id, span_id) where s.level = 'layer' and t.key = 'layer_type' and a.key = 'alloc_bytes'"
                        " and t.value like '%Fused%'", output)
        return {(row["type"], row["bytes"]) for row in rows}

    def test_sessions_have_the_layers_of_profile(self):
        expected = self.folder / "profile.xsp"
        self.profile(self.saved, "--batch", 4, "--levels", "M/L", "--runs", 2, output=expected)
        wanted, memory = self.sessions(expected), self.memory(expected)
        self.assertGreater(max(size for _, size in memory), 4 * 30 * 30 * 8 * 4)
        python = self.program("""
            graph = tf.Graph()
            with graph.as_default(), tf.compat.v1.Session(graph=graph) as session:
                tf.compat.v1.saved_model.load(session, ["serve"], folder)
                for i in range(3):
                    show(session.run("StatefulPartitionedCall_1:0", {"serving_default_keras_tensor:0": data}))
            """.replace("data}", "(np.arange(4 * 3072) % 255 / 255.).astype('float32').reshape(4, 32, 32, 3)}"))
        outcome = self.check_same(python)
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertEqual([(model["name"], model["tags"]["batch_size"]) for model in self.models()],
                         [("StatefulPartitionedCall_1", 4)] * 3)
        self.assertEqual(self.sessions(self.output), wanted)
        self.assertEqual(self.memory(self.output), memory)
        plain = self.program("""
            loaded = tf.saved_model.load(folder)
            for i in range(3):
                show(loaded.serve(image()))
            """)
        # oneDNN's allocator announces nothing of this size, TensorFlow's own does: of outputs alone, without scratch memory.
        for onednn, sizes in (("1", {size for _, size in memory}), ("0", {4 * 30 * 30 * 8 * 4, 4 * 28 * 28 * 8 * 4, 4 * 10 * 4})):
            self.check_same(plain, env={**self.variables(), "TF_ENABLE_ONEDNN_OPTS": onednn})
            self.assertEqual({size for _, size in self.memory(self.output)}, sizes)
        if COMPILER is None:
            self.skipTest("no C compiler")
        framework = self.library.parent / "libtensorflow_framework.so.2"
        for name, flags in (("looking", ["-ldl"]), ("linked", ["-DLINKED", self.library, framework,
                                                               f"-Wl,-rpath,{self.library.parent}"])):
            with self.subTest(name):
                program = self.new_folder() / name
                subprocess.run([COMPILER, "-o", program, pathlib.Path(__file__).parent / "run_tensorflow.c", *flags],
                               check=True, timeout=120)
                outcome = self.check_same([program, self.library, self.saved, "serving_default_keras_tensor",
                                           "StatefulPartitionedCall_1", 4, 3])
                self.assertEqual(outcome.status, 0, outcome.err)
                self.assertEqual([(model["name"], model["tags"]["batch_size"]) for model in self.models()], [("saved", 4)] * 3)
                self.assertEqual(self.sessions(self.output), wanted)

    def test_models_without_layers(self):
        self.check_same(self.program("""
            function = tf.function(network())
            for i in range(3):
                show(function(image()))
            show(network()(image()))
            """), "--levels", "M")
        self.assertEqual([(model["name"], model["layers"]) for model in self.models()], [("function", [])] * 3)
        self.assertEqual(self.sql("select count(*) as n from span where level = 'layer'"), [{"n": 0}])

    def test_operations_one_by_one(self):
        """Eager execution has no models: its operations are layers, in whatever range they ran."""
        self.check_same(self.program("""
            model = network()
            for i in range(3):
                show(model(image()))
            """))
        counts = {row["name"]: row["n"] for row in
                  self.sql("select name, count(*) as n from span where level = 'layer' group by 1")}
        self.assertEqual((counts["Conv2D"], counts["MatMul"]), (6, 3))
        self.assertEqual(self.models_alone(), 0)

    def models_alone(self):
        return self.sql("select count(*) as n from span where level = 'model'")[0]["n"]

    def test_training(self):
        outcome = self.check_same(self.program("""
            model = network()
            model.compile("sgd", "mse")
            history = model.fit(image(), np.ones((4, 10)), epochs=3, verbose=0, shuffle=False)
            print([f"{loss:.9f}" for loss in history.history["loss"]])
            show(model.predict(image(), verbose=0))
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        models = [model for model in self.models() if model["layers"]]
        self.assertEqual(len(models), 4)
        answer = subprocess.run([XSP, "analyze", "A1", self.output, "--json"], check=True, stdout=subprocess.PIPE)
        kinds = [(row["observations"], row["batch_size"]) for row in json.loads(answer.stdout)["rows"]]
        self.assertEqual(sorted(kinds), [(1, 4), (3, None)])

    def test_errors_show_as_ever(self):
        outcome = self.check_same(self.program("""
            import traceback
            loaded = tf.saved_model.load(folder)
            @tf.function
            def wrong(data):
                return tf.debugging.assert_less(data, 0.) or data
            for call in (lambda: wrong(image()), lambda: loaded.serve(3), lambda: tf.matmul(image(), image(2))):
                try:
                    call()
                except Exception as error:
                    print(type(error).__name__, str(error)[:60])
            show(loaded.serve(image()))
            sys.exit(7)
            """))
        self.assertEqual(outcome.status, 7)
        self.check_convolutions(self.models()[-1:])

    def test_results_of_a_failed_call_are_not_touched(self):
        """Their contents are those of the program."""
        if COMPILER is None:
            self.skipTest("no C compiler")
        program = self.new_folder() / "fails"
        subprocess.run([COMPILER, "-o", program, pathlib.Path(__file__).parent / "run_tensorflow_fails.c", self.library,
                        self.library.parent / "libtensorflow_framework.so.2", f"-Wl,-rpath,{self.library.parent}"],
                       check=True, timeout=120)
        outcome = self.check_same([program])
        self.assertEqual((outcome.status, outcome.out.split()), (0, ["0", "0", "3"]), outcome.err)
        self.assertEqual([model["name"] for model in self.models()], ["ff"])

    def test_own_profile(self):
        """A program that profiles itself gets its whole profile; meanwhile models have no layers."""
        outcome = self.check_same(self.program("""
            import os, glob
            function = tf.function(network())
            show(function(image()))
            tf.profiler.experimental.start("own")
            show(function(image()))
            tf.profiler.experimental.stop()
            show(function(image()))
            [path] = glob.glob("own/plugins/profile/*/*.xplane.pb")
            print(b"first" in open(path, "rb").read())
            """))
        self.assertIn("True", outcome.out)
        self.assertEqual([bool(model["layers"]) for model in self.models()], [True, False, True])
        self.assertIn("profiler itself", self.notes())

    def test_own_profile_during_a_prediction(self):
        """The program then owns the recorder, and the interrupted prediction has no layers."""
        outcome = self.check_same(self.program("""
            import glob, threading
            started = threading.Event()
            @tf.function
            def endless(data):
                while tf.py_function(lambda: started.set() or not done.is_set(), [], tf.bool):
                    data = tf.math.tanh(data)
                return data
            done = threading.Event()
            thread = threading.Thread(target=lambda: endless(tf.zeros((2, 2))).numpy())
            thread.start()
            started.wait()
            tf.profiler.experimental.start("own")
            done.set()
            thread.join()
            tf.profiler.experimental.stop()
            [path] = glob.glob("own/plugins/profile/*/*.xplane.pb")
            print(b"EagerPyFunc" in open(path, "rb").read())
            """))
        self.assertIn("True", outcome.out)
        self.assertEqual([bool(model["layers"]) for model in self.models()], [False])
        self.assertIn("profiler itself", self.notes())

    def test_input_pipelines_are_no_layers(self):
        self.check_same(self.program("""
            function = tf.function(network())
            data = tf.data.Dataset.from_tensor_slices(image(64)).map(lambda one: tf.math.sin(one) * 2.).batch(4).prefetch(2)
            for batch in data:
                show(function(batch))
            """))
        models = self.models()
        self.assertEqual(len(models), 16)
        self.check_convolutions(models)
        for model in models:
            self.assertNotIn("Sin", [kind for _, kind in model["layers"]])

    def test_threads(self):
        self.check_same(self.program("""
            import threading
            function = tf.function(network())
            function(image())
            gate = threading.Barrier(2)
            def work():
                for i in range(10):
                    gate.wait()
                    function(image()).numpy()
            threads = [threading.Thread(target=work) for i in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            """))
        models = self.models()
        self.assertEqual(len(models), 21)
        for model in models:
            if model["layers"]:
                self.check_convolutions([model])

    def test_layers_are_on_their_threads(self):
        """Branches run side by side, so their layers overlap in time; each has the calls of its own thread."""
        branches = self.program("""
            layers = tf.keras.layers
            start = layers.Input((32, 32, 3))
            ends = [layers.Conv2D(8, 3)(layers.Conv2D(8, 3)(start)) for i in range(4)]
            function = tf.function(tf.keras.Model(start, layers.Concatenate()(ends)))
            for i in range(10):
                show(function(image()))
            """)
        for env in ({}, {"TF_NUM_INTEROP_THREADS": "1"}):
            _, ambiguous = self.calls_inside_layers(branches, env=env)
            self.assertEqual(ambiguous, 0)
            self.assertEqual(self.sql("select count(*) as n from span s join track t using (run_id, track_id) where"
                                      " s.level = 'layer' and t.thread_id is null"), [{"n": 0}])

    def test_leveled(self):
        outcome = self.run_inside(self.program("""
            loaded = tf.saved_model.load(folder)
            for i in range(4):
                show(loaded.serve(image()))
            """), "--leveled", "--runs", 2, "--warmup", 1)
        self.assertEqual(outcome.status, 0, outcome.err)
        l0, a2 = self.analyze("L0", "A2")
        self.assertEqual({row["levels"] for row in l0["rows"]}, {"M", "M/L"})
        self.assertEqual(sum("Conv2D" in row["layer_type"] for row in a2["rows"]), 2)

    def test_check(self):
        found = json.loads(self.xsp("check", "tensorflow", "--json").stdout)
        self.assertEqual([(row["tracer"], row["usable"], row["version"][:2]) for row in found if "tracer" in row],
                         [("tensorflow", True, "2.")])


if __name__ == "__main__":
    unittest.main()
