# SPDX-License-Identifier: Apache-2.0
"""MXNet inside unmodified programs, in Python (Gluon, symbolic) and in C: the layers that `xsp profile` has, and the
behaviour that programs have without xsp. Fetches packages through pip, so it belongs to `make test-all`."""
import json
import pathlib
import subprocess
import unittest

from framework_environment import framework_python
from run_frameworks import COMPILER, RunFrameworkTest

START = """
    import sys
    import mxnet as mx, numpy
    from mxnet import gluon
    model = sys.argv[1]
    def image(batch=4):
        return mx.nd.array((numpy.arange(batch * 3 * 96 * 96) % 255 / 255.).reshape(batch, 3, 96, 96))
    def show(array):
        print(array.asnumpy().tobytes().hex()[:64])
    def block(**options):
        net = gluon.SymbolBlock.imports(model + "-symbol.json", ["data"], model + "-0000.params")
        net.hybridize(**options)
        return net
    """
FUSED = [*((f"sg_mkldnn_conv_bn_act_{i}", "_sg_mkldnn_conv") for i in range(3)), ("net_pool0_fwd", "Pooling"),
         ("net_flatten0_flatten0", "Flatten"), ("sg_mkldnn_fully_connected_0", "_sg_mkldnn_fully_connected")]
APART = [*((f"net_{name}{i}_fwd", kind) for i in range(3)
           for name, kind in (("conv", "Convolution"), ("batchnorm", "BatchNorm"), ("relu", "Activation"))),
         ("net_pool0_fwd", "Pooling"), ("net_flatten0_flatten0", "Flatten"), ("net_dense0_fwd", "FullyConnected")]
MODULE = """
    import collections
    symbol, arguments, auxiliary = mx.model.load_checkpoint(model, 0)
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", (4, 3, 96, 96))], for_training=False)
    module.set_params(arguments, auxiliary)
    Batch = collections.namedtuple("Batch", ["data"])
    for i in range(4):
        module.forward(Batch([image()]))
        show(module.get_outputs()[0])
    """


class RunMxnetTest(RunFrameworkTest):
    framework = "mxnet"

    @classmethod
    def setUpClass(cls):
        cls.python = framework_python("mxnet", "mxnet==1.9.1", "numpy<1.24")
        cls.environment = cls.python.parent.parent
        cls.model = cls.environment / "models" / "cnn"
        subprocess.run([cls.python, pathlib.Path(__file__).parent / "mxnet_models.py", cls.model.parent], check=True,
                       timeout=120, capture_output=True)
        cls.library = next(cls.environment.glob("lib/python*/site-packages/mxnet/libmxnet.so"))

    def program(self, text, **options):
        import textwrap
        return self.script(textwrap.dedent(START) + textwrap.dedent(text), self.model, **options)

    def without_first_time(self, layers):
        """The layers without those of first predictions only, which reorder weights."""
        return [layer for layer in layers if layer[1] != "Reorder"]

    def test_symbolic(self):
        outcome = self.check_same(self.program(MODULE))
        self.assertEqual(outcome.status, 0, outcome.err)
        models = self.models()
        self.assertEqual([(model["name"], model["tags"]["batch_size"]) for model in models], [("cnn", 4)] * 4)
        for model in models:
            self.assertEqual(model["layers"], FUSED)
        run = models
        self.profile(f"{self.model}-symbol.json", "--dim", "H=96", "--dim", "W=96", "--batch", 4, "--levels", "M/L",
                     "--runs", 3, "--warmup", 1)
        for model in self.models():
            self.assertEqual(model["layers"], run[0]["layers"])

    def test_gluon(self):
        for options in ("", "static_alloc=True, static_shape=True"):
            with self.subTest(options):
                outcome = self.check_same(self.program(f"""
                    net = block({options})
                    for i in range(4):
                        show(net(image()))
                    show(net(image(2)))
                    """))
                self.assertEqual(outcome.status, 0, outcome.err)
                models = self.models()
                self.assertEqual([(model["name"], model["tags"]["batch_size"]) for model in models],
                                 [("cnn", 4)] * 4 + [("cnn", 2)])
                for model in models:
                    self.assertEqual(self.without_first_time(model["layers"]), APART)
                indices = self.sql("select distinct s.name, t.value from span s join tag t using (run_id, span_id)"
                                   " where t.key = 'layer_index' and s.name != 'Reorder'")  # not numbered by MXNet
                self.assertEqual(len(indices), len(APART))  # the same in each prediction

    def test_c_programs(self):
        if COMPILER is None:
            self.skipTest("no C compiler")
        for name, flags in (("looking", ["-ldl"]), ("linked", ["-DLINKED", self.library,
                                                               f"-Wl,-rpath,{self.library.parent}"])):
            with self.subTest(name):
                program = self.new_folder() / name
                subprocess.run([COMPILER, "-o", program, pathlib.Path(__file__).parent / "run_mxnet.c", *flags],
                               check=True, timeout=600)
                outcome = self.check_same([program, self.library, f"{self.model}-symbol.json", f"{self.model}-0000.params",
                                           2, 5])
                self.assertEqual(outcome.status, 0, outcome.err)
                models = self.models()
                self.assertEqual([(model["name"], model["tags"]["batch_size"]) for model in models], [("net", 2)] * 5)
                for model in models:
                    self.assertEqual(model["layers"], FUSED)

    def test_models_without_layers(self):
        outcome = self.check_same(self.program("""
            import os
            print(os.environ.get("MXNET_EXEC_BULK_EXEC_INFERENCE"))
            net = block()
            for i in range(3):
                show(net(image()))
            """), "--levels", "M")
        self.assertIn("None\n", outcome.out)
        self.assertEqual([(model["name"], model["layers"]) for model in self.models()], [("cnn", [])] * 3)

    def test_many_predictions(self):
        """More predictions than can wait for their layers: they are read in between, so each has its own."""
        outcome = self.check_same(self.program("""
            net = block(static_alloc=True, static_shape=True)
            for i in range(700):
                net(image(1)).wait_to_read()
            """))
        self.assertEqual(outcome.status, 0, outcome.err)
        models = self.models()
        self.assertEqual(len(models), 700)
        for model in models:
            self.assertEqual(self.without_first_time(model["layers"]), APART)

    def test_one_wait_for_several_calls(self):
        self.check_same(self.program("""
            net = block()
            results = [net(image()) for i in range(3)]
            mx.nd.waitall()
            for result in results:
                show(result)
            show(net(image()))
            """))
        models = self.models()
        self.assertEqual([model["tags"].get("forward_calls") for model in models], [3, None])
        self.assertEqual([len(self.without_first_time(model["layers"])) for model in models], [36, 12])

    def test_errors_show_as_ever(self):
        outcome = self.check_same(self.program("""
            net = block()
            try:
                show(net(mx.nd.ones((1, 5, 96, 96))))
            except Exception as error:
                print(type(error).__name__)
            show(net(image()))
            sys.exit(7)
            """))
        self.assertEqual(outcome.status, 7)
        self.assertEqual(self.without_first_time(self.models()[-1]["layers"]), APART)

    def test_own_profile(self):
        outcome = self.check_same(self.program("""
            import json
            net = block()
            show(net(image()))
            mx.profiler.set_config(filename="own.json", profile_symbolic=True, profile_imperative=True)
            mx.profiler.set_state("run")
            show(net(image()))
            mx.profiler.set_state("stop")
            mx.profiler.dump()
            print(len(json.load(open("own.json"))["traceEvents"]) > 0)
            """), env={"MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": "0", "MXNET_EXEC_BULK_EXEC_INFERENCE": "0"})
        self.assertEqual(outcome.files, ["own.json"])
        self.assertIn("True", outcome.out)
        self.assertEqual([len(self.without_first_time(model["layers"])) for model in self.models()], [12, 0])
        self.assertIn("profiler itself", self.notes())

    def test_workers(self):
        self.check_same(self.program("""
            import multiprocessing
            def work(number):
                net = block()
                return [net(image()).asnumpy().tobytes().hex()[:32] for i in range(2)]
            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    for result in pool.map(work, range(2)):
                        print(result)
                    pool.close()
                    pool.join()
            """))
        models = self.models()
        self.assertEqual([len(self.without_first_time(model["layers"])) for model in models], [12] * 4)

    def test_threads(self):
        """Overlapping predictions keep their times; layers that could belong to either are left out and reported."""
        self.check_same(self.program("""
            import threading
            nets = [block() for i in range(2)]
            for net in nets:
                net(image()).wait_to_read()
            gate = threading.Barrier(2)
            def work(net):
                for i in range(10):
                    gate.wait()
                    net(image()).asnumpy()
            threads = [threading.Thread(target=work, args=(net,)) for net in nets]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            """))
        models = self.models()
        self.assertEqual(len(models), 22)
        for model in models:
            self.assertIn(len(self.without_first_time(model["layers"])), (0, 12))

    def test_layers_are_on_their_threads(self):
        """Of its worker, or of the caller with the naive engine, which records each operator once, too."""
        program = self.program(MODULE)
        for engine, is_main in (("ThreadedEnginePerDevice", 0), ("NaiveEngine", 1)):
            linked, ambiguous = self.calls_inside_layers(program, env={"MXNET_ENGINE_TYPE": engine})
            self.assertLess(ambiguous, linked)  # those in a microsecond that two layers have
            self.assertEqual([model["layers"] for model in self.models()], [FUSED] * 4)
            self.assertEqual(self.sql("select distinct t.thread_id = t.process_id as is_main from span s join track t"
                                      " using (run_id, track_id) where s.level = 'layer'"), [{"is_main": is_main}])

    def test_leveled(self):
        outcome = self.run_inside(self.program(MODULE), "--leveled", "--runs", 2, "--warmup", 1)
        self.assertEqual(outcome.status, 0, outcome.err)
        l0, a2 = self.analyze("L0", "A2")
        self.assertEqual({row["levels"] for row in l0["rows"]}, {"M", "M/L"})
        self.assertEqual([(row["layer_name"], row["layer_type"]) for row in sorted(a2["rows"], key=lambda row: row["layer_index"])], FUSED)

    def test_check(self):
        found = json.loads(self.xsp("check", "mxnet", "--json").stdout)
        self.assertEqual([(row.get("tracer"), row["usable"], row["version"]) for row in found if "tracer" in row],
                         [("mxnet", True, "1.9.1")])


if __name__ == "__main__":
    unittest.main()
