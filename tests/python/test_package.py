# SPDX-License-Identifier: Apache-2.0
"""Package xsp in every CPython 3.10 to 3.15 of this machine: the tree, the paper's listings, figures equal to those that xsp prints,
damaged files, threads, and its wheel in a fresh environment without a network."""
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

import package_case
from package_case import ENVIRONMENT, INTERPRETERS, PACKAGE, PROGRAM, SOURCE, run
from scripted import BUILD, Script, xsp_json

LISTINGS = pathlib.Path(__file__).parent / "listings.py"


class Reading(package_case.PackageTest):
    def test_tree(self):
        self.all_pass("tree", self.file)
        self.all_pass("tree", self.named)

    def test_what_comes_before_the_first_span_is_in_no_node(self):
        for name in ("host", "device"):
            script = Script()
            script.experiment()
            script.run(1, "A/M/L/K")
            script.track(1, thread=7)
            script.span("python3 train.py", 0, 100_000, "application", category="program")
            script.span("training step", 60_000, 30_000)
            if name == "device":
                script.track(2, "stream 7", thread=None, device=0, stream=7)
                script.span("cudaLaunchKernel", 61_000, 1000, "kernel", "launch", correlation=1, category="api")
                script.span("gemm", 65_000, 20_000, "kernel", "execution", track=2, correlation=1, category="kernel")
            self.all_pass("start", script.write(self.folder / f"{name}.xsp"))

    def test_empty_run(self):
        script = Script()
        script.experiment()
        script.run()
        self.all_pass("empty", script.write(self.folder / "empty.xsp"))

    def test_figures_equal_what_xsp_prints(self):
        expected = {"spans": xsp_json("sql", self.file, "select * from span order by span_id", "--json"),
                    "runs": xsp_json("sql", self.file, "select * from run", "--json"),
                    "A2": xsp_json("analyze", "A2", self.file, "--json"),
                    "findings": xsp_json("analyze", "findings", self.file, "--only", "F1,F2", "--threshold", "hotspot-share=20",
                                         "--json"),
                    "A10": xsp_json("analyze", "A10", self.file, "--top", "2", "--json")}
        (self.folder / "expected.json").write_text(json.dumps(expected))
        self.all_pass("figures", self.file, self.folder / "expected.json")

    def test_tables(self):
        self.all_pass("table", self.file)

    def test_wrong_arguments(self):
        self.all_pass("wrong", self.file)

    def test_threads(self):
        self.all_pass("threads", self.file)

    def test_damaged_files(self):
        whole = self.file.read_bytes()
        broken = {"text.xsp": b"no trace", "cut.xsp": whole[:len(whole) // 2], "empty.xsp": b"",
                  "overwritten.xsp": whole[:4096] + os.urandom(len(whole) - 4096)}
        for name, data in broken.items():
            (self.folder / name).write_bytes(data)
        self.all_pass("errors", self.file, self.folder / "missing.xsp", *(self.folder / name for name in broken))

    def test_frames(self):
        """In XSP_PANDAS_PYTHON as well: an interpreter with pandas and pyarrow."""
        found = list(self.scenario("frames", self.file))
        more = os.environ.get("XSP_PANDAS_PYTHON")
        if more:
            done = run(more, PROGRAM, "frames", self.file)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        elif all("skipped" in done.stdout for _, done in found):
            self.skipTest("no Python here has pandas and pyarrow; XSP_PANDAS_PYTHON names one")

    def test_a_library_that_is_named_and_missing(self):
        for version, python in INTERPRETERS.items():
            with self.subTest(version=version):
                done = run(python, "-c", "import xsp; xsp.open('a.xsp')",
                           environment={**ENVIRONMENT, "XSP_LIBRARY_READ": "/nowhere/libxsp_read.so"})
                self.assertEqual(done.returncode, 1)
                self.assertIn("/nowhere/libxsp_read.so", done.stderr)


class Findings(package_case.PackageTest):
    def findings(self, python, script, file):
        done = run(python, "-m", "xsp.findings", script, file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def test_listings(self):
        for version, python in INTERPRETERS.items():
            for file in (self.file, self.named):
                with self.subTest(version=version, file=file.name):
                    found, _ = self.findings(python, LISTINGS, file)
                    rules = {}
                    for finding in found:
                        rules.setdefault(finding["rule"], []).append(finding["context"])
                    self.assertEqual(set(rules.pop("hotspot")), {"gemm_backward", "gemm"})
                    self.assertLessEqual({"aten::small", "tiny", "loss_fn"}, set(rules.pop("Small_GPU_kernels")))
                    self.assertEqual(set(rules.pop("Backward_abnormality")), {"aten::linear", "aten::addmm"})
                    self.assertIn("Optimizer.step#SGD.step", rules.pop("CPU_time_abnormality"))
                    stalls = rules.pop("Kernel_is_mainly_stalled_by_{stall_reasons}", [])
                    self.assertEqual(len(stalls), 1 if file == self.file else 0)
                    self.assertEqual(rules, {})
                    self.check_keys(found)

    def check_keys(self, found):
        shares = [finding["share_pct"] for finding in found]
        self.assertEqual(shares, sorted(shares, reverse=True))
        for finding in found:
            self.assertEqual(finding["id"], "listings")
            self.assertLessEqual(len(finding["spans"]), 16)
            if finding["context_id"] is not None and finding["context"] == "aten::addmm":
                self.assertEqual((finding["file"], finding["line"], len(finding["spans"])), ("net.py", 5, 3))

    def test_a_function_prints_and_adds_numbers(self):
        script = self.folder / "mine.py"
        script.write_text("print('talk')\ndef analyze(trace):\n"
                          "  flag_issue(trace.tree().kernels[0], 'slow {why}', why='x', saving_ms=1.5, advice='stop',\n"
                          "             ratio=float('nan'))\n")
        (finding,), talk = self.findings(sys.executable, script, self.file)
        self.assertEqual((finding["id"], finding["saving_ms"], finding["advice"]), ("mine", 1.5, "stop"))
        self.assertEqual(finding["numbers"], {"why": "x", "ratio": None})
        self.assertTrue(finding["title"].startswith("slow x: "))
        self.assertEqual(talk, "talk\n")

    def test_braces_that_are_no_names_stay(self):
        """Kernels of C++ have them in their names."""
        texts = {"f<{lambda(c10::Half)#1}>": "f<{lambda(c10::Half)#1}>", "{node.name}": "{node.name}", "{": "{", "{}": "{}", "{0}": "{0}",
                 "a } {unknown} {pct:.1f}": "a } {unknown} 3.2", "{pct:q} {pct:}": "{pct:q} 3.25", "{{pct}}": "{3.25}",
                 "{why:>3}|{pct!r}": "  x|{pct!r}"}
        script = self.folder / "braces.py"
        script.write_text(f"why, node = 'x', call_tree.kernels[0]\nfor text in {list(texts)!r}:\n  flag_issue(node, text, pct=3.25)\n")
        found, _ = self.findings(sys.executable, script, self.file)
        self.assertEqual({finding["rule"]: finding["title"].rpartition(": ")[0] for finding in found}, texts)

    def test_numbers_of_other_types(self):
        """Of the standard library in each interpreter, of numpy where it is installed."""
        script = self.folder / "numbers.py"
        script.write_text("from decimal import Decimal\nfrom fractions import Fraction\n"
                          "try:\n  import numpy\n  real, whole = numpy.float32, numpy.int64\n"
                          "except ImportError:\n  real, whole = Fraction, int\n"
                          "flag_issue(call_tree.kernels[0], 'part', saving_ms=real(1.5), saving_pct=Decimal('2.5'), line=whole(7), share_pct=None,\n"
                          "           part=Fraction(1, 4), count=whole(3), size=real(0.5), cost=Decimal('nan'), is_hot=True)\n")
        for version, python in INTERPRETERS.items():
            with self.subTest(version=version):
                (finding,), _ = self.findings(python, script, self.file)
                self.assertEqual([finding[key] for key in ("saving_ms", "saving_pct", "line", "share_pct")], [1.5, 2.5, 7, None])
                self.assertEqual(json.dumps(finding["numbers"]),
                                 '{"part": 0.25, "count": 3, "size": 0.5, "cost": null, "is_hot": true}')

    def test_figures_that_are_no_numbers(self):
        script = self.folder / "text.py"
        script.write_text("flag_issue(call_tree.root, 'part', saving_ms='1.5')\n")
        done = run(sys.executable, "-m", "xsp.findings", script, self.file)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "TypeError: saving_ms .*str")

    def test_halves_of_surrogate_pairs(self):
        script = self.folder / "halves.py"
        script.write_text("flag_issue(call_tree.root, 'a \\udc80', advice='\\ud83d\\ude00', **{'k\\udfff': 1})\n")
        (finding,), _ = self.findings(sys.executable, script, self.file)
        self.assertEqual((finding["rule"], finding["advice"], finding["numbers"]), ("a \ufffd", "\U0001f600", {"k\ufffd": 1}))

    def test_severity_is_that_of_the_built_in_findings(self):
        script = self.folder / "severity.py"
        script.write_text("from types import SimpleNamespace as Node\nroot = call_tree.root\nfor pct in (10, 9.9, 3, 2.9):\n"
                          "    flag_issue(Node(time=root.time * pct / 100, tree=root.tree, source=(None, None), name='n',\n"
                          "                    context_id=None), 'part')\n")
        found, _ = self.findings(sys.executable, script, self.file)
        self.assertEqual([finding["severity"] for finding in found], ["high", "medium", "medium", "low"])

    def test_failures_end_with_status_1(self):
        for text, words in [("1 / 0", "ZeroDivisionError"), ("import sys; sys.exit(0)", "ended the program"), ("def", "SyntaxError")]:
            (self.folder / "bad.py").write_text(text)
            done = run(sys.executable, "-m", "xsp.findings", self.folder / "bad.py", self.file)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)


class Documentation(package_case.PackageTest):
    def test_examples_run(self):
        """Those of docs/python.md, but for pandas and evaluations (tests/evaluate/test_evaluate_interfaces.py)."""
        place = self.folder / "examples"
        place.mkdir()
        shutil.copy(self.file, place / "out.xsp")
        blocks = [block for block in re.findall(r"```python\n(.*?)```", (SOURCE / "docs" / "python.md").read_text(), re.DOTALL)
                  if "to_pandas" not in block and "xsp.evaluate" not in block]
        self.assertEqual(len(blocks), 3)
        for number, block in enumerate(blocks):
            (place / f"{number}.py").write_text(block)
            is_script = "flag_issue" in block
            command = ["-m", "xsp.findings", f"{number}.py", "out.xsp"] if is_script else [f"{number}.py"]
            done = run(sys.executable, *command, cwd=place)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout == "", "xsp.span" in block)


class Wheel(package_case.PackageTest):
    def test_fresh_environment_without_a_network(self):
        """Installed next to nothing: the package finds the libraries of the xsp in PATH."""
        prefix = self.folder / "prefix"
        for file, folder in [("xsp", "bin"), ("libxsp_read.so", "lib"), ("libxsp.so.0", "lib"), ("xsp_python.so", "lib/xsp")]:
            (prefix / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy2(BUILD / file, prefix / folder)
        environment = {key: value for key, value in ENVIRONMENT.items() if not key.startswith(("XSP_LIBRARY", "PYTHONPATH"))}
        environment.update(PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull,
                           PIP_DISABLE_PIP_VERSION_CHECK="1")
        environment["PIP_CACHE_DIR"] = str(self.folder / "cache")
        fresh = self.folder / "environment"
        done = run(sys.executable, "-m", "venv", "--without-pip", fresh)
        self.assertEqual(done.returncode, 0, done.stdout)
        python = fresh / "bin" / "python3"
        places = {"fresh": (python, [sys.executable, "-m", "pip", "--python", python, "install"], None)}
        for version, python in INTERPRETERS.items():  # a folder each: environments take long to make
            if run(python, "-c", "import pip").returncode == 0:
                folder = self.folder / f"environment-{version}"
                places[version] = python, [python, "-m", "pip", "install", "--target", folder], folder
        for name, (python, install, folder) in places.items():
            with self.subTest(place=name):
                source = shutil.copytree(PACKAGE, self.folder / f"source-{name}")
                done = run(*install, source, environment=environment)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                done = run(python, "-c", "import sys, xsp; assert 'environment' in xsp.__file__; "
                           "print(len(xsp.open(sys.argv[1]).tree()), type(xsp.span('a')).__name__)", self.file, cwd="/",
                           environment={**environment, **({"PYTHONPATH": str(folder)} if folder else {})})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.endswith(" Span\n") and done.stdout[0].isdigit(), done.stdout)


if __name__ == "__main__":
    unittest.main()
