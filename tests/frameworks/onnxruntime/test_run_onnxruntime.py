# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime inside unmodified C programs, linked or looking the library up: the layers that `xsp profile` gives, and the
behaviour that they have without xsp."""
import json
import pathlib
import re
import subprocess
import textwrap
import unittest

from run_programs import COMPILER, SOURCE, Case, Trace, sql


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
        subprocess.run([COMPILER, "-D_GNU_SOURCE", "-O1", f"-I{SOURCE}", f"-I{SOURCE}/trace", f"-I{SOURCE}/guest", f"-I{SOURCE}/include",
                        SOURCE / "tests/frameworks/onnxruntime/run_onnxruntime.c", "-o", program, *options, "-ldl", "-lpthread"], check=True)
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

    def test_model_range_picks_a_model(self):
        """With two models in one program, one model's inferences are the observations; the other's are in none."""
        script = self.folder / "two.sh"
        script.write_text(f'"$1" plain {self.models}/tiny.onnx 3 1\n"$1" plain {self.models}/branches.onnx 2 1\n')
        done, _ = self.xsp_run(["sh", script, self.looking], "--levels", "M/L")
        self.assertRegex(done.stderr, r"(?m)^models .*3 of tiny, 2 of branches")
        done, path = self.xsp_run(["sh", script, self.looking], "--levels", "M/L", "--model-range", "bran*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sql(path, """select s.name, count(*) as n from observation o join span s using (run_id, span_id)
                                      group by 1"""), [{"name": "branches", "n": 2}])
        self.assertEqual(sql(path, "select count(*) as n from span where level = 'model'"), [{"n": 5}])

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
        """Session profiling would hold 1.8 kB per event: 60 MB here."""
        outcome, _ = self.inside([self.looking, "grow", self.models / "branches.onnx", 4000, 1])
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertLess(int(re.search(r"grew by (-?\d+) kB", outcome.out)[1]), 8192)


if __name__ == "__main__":
    unittest.main()
