# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow predictor without TensorFlow: files that are not models, wrong libraries, and, on a stand-in library
that returns a recorded RunMetadata, the calls of TensorFlow and the use of their results. The real library:
long_tensorflow.py."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
XSP = BUILD / "xsp"
STAND_IN = BUILD / "test-programs" / "libtensorflow_stand_in.so"
# The recorded models and the RunMetadata of the frozen one, each after one byte: relu(bias_add(conv2d(x, w), b)).
RECORDED = pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus" / "tensorflow"


class TensorFlowTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"
        self.log = self.folder / "log"
        self.frozen = self.recorded("frozen", "tiny.pb")
        self.metadata = self.recorded("metadata", "tiny.metadata")

    def recorded(self, name, path):
        target = self.folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((RECORDED / name).read_bytes()[1:])
        return target

    def xsp(self, *arguments, status=0, **environment):
        result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                                env={**os.environ, **{key: str(value) for key, value in environment.items()}})
        self.assertEqual(result.returncode, status, f"{arguments}\n{result.stderr}")
        return result

    def profile(self, model, *options, status=0, **environment):
        environment = {"XSP_STAND_IN_LOG": self.log, "XSP_STAND_IN_METADATA": self.metadata, **environment}
        return self.xsp("profile", model, "--quiet", "--library", f"tensorflow={STAND_IN}", "-o", self.output,
                        *options, status=status, **environment)

    def sql(self, query):
        return json.loads(self.xsp("sql", self.output, query, "--json").stdout)

    def fails(self, model, *options, status=2, **environment):
        """The one line that it ends with."""
        result = self.xsp("profile", model, "--quiet", "-o", self.output, *options, status=status, **environment)
        self.assertEqual((result.stdout, len(result.stderr.splitlines())), ("", 1), result.stderr)
        self.assertFalse(self.output.exists())
        return result.stderr

    def test_files_that_are_no_models_are_refused_before_the_library_is_looked_for(self):
        nowhere = ("--library", "tensorflow=/nowhere/libtensorflow.so")
        whole = self.frozen.read_bytes()
        cases = [("empty.pb", b"", "empty"), ("cut.pb", whole[:-9], "byte 481"),
                 ("text.pb", b"node {\n", "unknown"), ("nothing.pb", b"\x22\x00", "nodes"),
                 ("constant.pb", b"\x0a\x0a\x0a\x01c\x12\x05Const", "output")]
        for name, content, why in cases:
            path = self.folder / name
            path.write_bytes(content)
            with self.subTest(name):
                line = self.fails(path, *nowhere)
                self.assertRegex(line, f"^xsp: .*{path}: .*{why}")
        folder = self.folder / "saved"
        folder.mkdir()
        (folder / "saved_model.pb").write_bytes(whole)  # a frozen graph in its place
        self.assertIn("serving", self.fails(folder, *nowhere))
        self.assertIn("/nowhere/libtensorflow.so", self.fails(self.frozen, *nowhere, status=3))
        self.assertIn("unknown", self.fails(self.folder))
        self.assertIn("saved_model.pb", self.fails(self.folder))

    def test_a_library_that_is_none_is_named(self):
        other = next(BUILD.glob("libxsp.so*"))
        line = self.fails(self.frozen, "--library", f"tensorflow={other}", status=3)
        self.assertIn("TensorFlow", line)
        self.assertIn("tensorflow-cpu", line)
        self.xsp("check", "tensorflow", "--library", f"tensorflow={other}", status=3)

    def test_check_says_what_is_not_told(self):
        result = self.xsp("check", "tensorflow", "--json", XSP_LIBRARY_TENSORFLOW=STAND_IN)
        row, tracer = json.loads(result.stdout)
        self.assertEqual((row["predictor"], tracer["tracer"], tracer["usable"]), ("tensorflow", "tensorflow", False))
        self.assertEqual((row["usable"], row["version"], row["untold"]), (True, "0-stand-in", "thread"))
        rows = self.xsp("check", "tensorflow", "--format", "csv", XSP_LIBRARY_TENSORFLOW=STAND_IN).stdout.splitlines()
        self.assertTrue(rows[0].endswith(",untold") and rows[1].endswith(",thread"), rows)
        self.assertRegex(self.xsp("check", "tensorflow", XSP_LIBRARY_TENSORFLOW=STAND_IN).stdout, ": thread")

    def test_only_runs_with_layers_are_traced(self):
        result = self.profile(self.frozen, "--runs", 2, "--warmup", 1, "--batch", "1,2")
        self.assertNotIn("TensorFlow talks", result.stdout)
        lines = self.log.read_text().splitlines()
        self.assertEqual(lines.count("plain"), 6)
        self.assertEqual([line for line in lines if line != "plain"],
                         ["traced 08 01 28 01"] + 5 * ["traced 08 01"])  # SOFTWARE_TRACE; the executed graph once

    def test_layers_are_what_the_metadata_says(self):
        self.profile(self.frozen, "--runs", 2, "--warmup", 1)
        rows = self.sql("select l.name, l.category, l.basis, l.duration_ns, m.level as parent, t.name as track"
                        " from span l join span m on m.run_id=l.run_id and m.span_id=l.parent_id"
                        " join track t on t.run_id=l.run_id and t.track_id=l.track_id where l.level='layer'"
                        " order by l.span_id limit 6")
        self.assertEqual({(row["basis"], row["parent"], row["track"]) for row in rows},
                         {("explicit", "model", "tensorflow layers")})
        self.assertTrue(all(row["duration_ns"] > 0 for row in rows))
        layer = [row for row in rows if row["category"] is None][0]
        count, = self.sql(f"select count(*) as n from span where level='layer' and name='{layer['name']}'")
        self.assertEqual(count["n"], 3)
        tags = {row["key"]: row["value"] for row in self.sql(
            "select distinct t.key, t.value from tag t join span s using (run_id, span_id)"
            f" where s.level='layer' and s.name='{layer['name']}'")}
        self.assertEqual((layer["name"], tags["layer_type"], tags["untold"]), ("conv", "_MklNativeFusedConv2D", "thread"))
        self.assertEqual((tags["fused"], tags["fused_types"], tags["node"]),
                         ("conv bias relu", "Conv2D BiasAdd Relu", "relu"))
        self.assertEqual(tags["layer_shape"], "[1,2,2,2]")

    def test_options_are_passed_on(self):
        self.profile(self.frozen, "--runs", 1, "--levels", "M", "--threads", 300, "--unfused")
        self.assertIn("config 10 ac 02 52 04 52 02 70 02", self.log.read_text())

    def test_a_saved_model_is_a_folder(self):
        self.recorded("saved", "tiny/saved_model.pb")
        for path in (f"{self.folder / 'tiny'}/", self.folder / "tiny" / "saved_model.pb"):
            self.profile(path, "--runs", 1, "--force")
            self.assertIn(str(self.folder / "tiny"), self.log.read_text())
            self.log.unlink()
        workload, = self.sql("select name, framework from experiment")
        self.assertEqual(workload["framework"], "tensorflow")

    def test_errors_of_a_run(self):
        for error, status, why in [
                ("3 Shapes do not fit: [2] vs. [3]. See the C++ API.\n\t[[{{node y}}]]", 2,
                 r"Shapes do not fit: \[2\] vs. \[3\]; try: .*--dim"),
                ("8 OOM when allocating", 3, "OOM when allocating; try: .*batch"),
                ("9 Could not find variable v. This may mean", 2,
                 "Could not find variable v; try: .*frozen graph")]:
            with self.subTest(error):
                result = self.profile(self.frozen, "--runs", 1, status=status, XSP_STAND_IN_ERROR=error)
                self.assertRegex(result.stderr, f"xsp: .*{self.frozen}: {why}")

    def test_broken_metadata_is_an_error_of_the_environment(self):
        self.metadata.write_bytes(self.metadata.read_bytes()[:-7])
        result = self.profile(self.frozen, "--runs", 1, status=3)
        self.assertIn("metadata", result.stderr)

    def test_empty_metadata_gives_no_layers(self):
        self.metadata.write_bytes(b"")
        self.profile(self.frozen, "--runs", 1)
        self.assertEqual(self.sql("select count(*) as n from span where level='layer'"), [{"n": 0}])


if __name__ == "__main__":
    if STAND_IN.exists():
        unittest.main()
    else:
        print("no stand-in library was built")
