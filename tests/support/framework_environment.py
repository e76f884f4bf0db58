# SPDX-License-Identifier: Apache-2.0
"""Python environments with a framework for the long tests, and their shared parts: `xsp profile` on a model, its layers, and
the comparison with the framework's own profiler. An environment is made once, in XSP_TEST_CACHE or the build
folder."""
import fcntl
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("XSP_BUILD", "build")).resolve()
XSP = BUILD / "xsp"


def framework_python(name, *packages):
    """The interpreter of the environment with these packages; raises unittest.SkipTest if it cannot be made."""
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or BUILD).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    wanted = "\n".join(packages)
    with open(cache / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "complete"
        if not done.exists() or done.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            try:
                subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=600)
                subprocess.run([folder / "bin" / "python3", "-m", "pip", "install", "--quiet",
                                "--disable-pip-version-check", *packages], check=True, timeout=900)
            except (OSError, subprocess.SubprocessError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                raise unittest.SkipTest(f"{wanted} cannot be installed here: {error}") from error
            done.write_text(wanted)
    return folder / "bin" / "python3"


def tee_library(framework, real, folder):
    """A library that copies the output of this framework's profiler to files; see framework_tee.c."""
    source, made = pathlib.Path(__file__).with_name("framework_tee.c"), folder / f"tee-{framework}.so"
    compiler = shutil.which("cc")
    if compiler is None:
        raise unittest.SkipTest("no C compiler")
    # The real library is named by its path, as it has no name that the loader would search for.
    subprocess.run([compiler, "-std=gnu17", "-O1", "-shared", "-fPIC", f"-DTEE_{framework.upper()}", f'-DREAL="{real}"',
                    f"-I{source.parents[2]}", f"-I{source.parents[2]}/guest", f"-I{source.parents[2]}/trace", source, "-o", made, "-Wl,--no-as-needed", real,
                    f"-Wl,-rpath,{real.parent}", "-Wl,--allow-shlib-undefined"], check=True, timeout=600)
    return made


class FrameworkTest(unittest.TestCase):
    """`environment` is the folder of the framework's Python environment, set by each test class."""
    environment = None
    framework = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"

    def xsp(self, *arguments, status=0, env=None):
        result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                                env={**os.environ, "VIRTUAL_ENV": str(self.environment), **(env or {})})
        if result.returncode != status:
            raise AssertionError(f"xsp {arguments}: status {result.returncode}, not {status}\n{result.stderr}")
        return result

    def profile(self, model, *options, output=None, status=0, env=None):
        return self.xsp("profile", model, "--framework", self.framework, "--quiet", "--force", *options, "-o",
                        output or self.output, status=status, env=env)

    def profile_beside_its_own(self, library, model, *options, runs=20):
        """The output of the framework's profiler, one file after the other, while xsp profiled the model."""
        python = f"lib/python3*/site-packages/{library}"
        tee = tee_library(self.framework, next(self.environment.glob(python)), self.folder)
        self.profile(model, "--levels", "M/L", "--runs", runs, "--library", f"{self.framework}={tee}", *options,
                     env={"XSP_TEE": f"{self.folder}/own-"})
        return sorted(self.folder.glob("own-*"))

    def check_agreement(self, pairs, most_ns):
        """(their own, ours), ns of each layer of each inference. What differs comes from the units of time alone."""
        theirs, ours = (sum(column) for column in zip(*pairs))
        worst = max(abs(a - b) for a, b in pairs)
        print(f"{self.framework}: {len(pairs)} layers of the same run: {theirs / 1e3:.0f} us by its own profiler,"
              f" {ours / 1e3:.0f} us by xsp; the largest difference of one: {worst} ns", file=sys.stderr)
        self.assertLessEqual(worst, most_ns)

    def sql(self, query, path=None):
        return json.loads(self.xsp("sql", path or self.output, query, "--json").stdout)

    def analyze(self, *arguments, path=None):
        return json.loads(self.xsp("analyze", *arguments, path or self.output, "--json").stdout)

    def layers(self, path=None, batch=None):
        """[{name, parent level, start, duration and tags}] of all inferences that are no warm-up, in order of start."""
        rows = self.sql("select s.run_id, s.span_id, s.model_id, s.parent_id, s.name, s.start_ns, s.duration_ns, s.basis,"
                        " s.track_id, r.batch_size from span s join run r using (run_id) join observation o on"
                        " o.run_id = s.run_id and o.span_id = s.model_id where s.level = 'layer' and not o.warmup order by"
                        " s.start_ns, s.span_id", path)
        tags = {}
        for row in self.sql("select run_id, span_id, key, value from tag", path):
            tags.setdefault((row["run_id"], row["span_id"]), {})[row["key"]] = row["value"]
        for row in rows:
            row["tags"] = tags.get((row["run_id"], row["span_id"]), {})
        return [row for row in rows if batch is None or row["batch_size"] == batch]

    def medians(self, layers):
        """{name: median duration in us}"""
        by_name = {}
        for layer in layers:
            by_name.setdefault(layer["name"], []).append(layer["duration_ns"] / 1e3)
        return {name: statistics.median(values) for name, values in by_name.items()}

    def check_tables(self, batches=(1, 4)):
        """Checks L0, A1, A2 and A6 of the file."""
        l0, a1, a2, a6 = self.analyze("L0", "A1", "A2", "A6")
        self.assertEqual({(row["batch_size"], row["levels"]) for row in l0["rows"]},
                         {(batch, levels) for batch in batches for levels in ("M", "M/L")})
        self.assertEqual([row["batch_size"] for row in a1["rows"]], list(batches))
        self.assertTrue(all(row["latency_ms"] > 0 for row in a1["rows"]))
        self.assertGreater(len(a2["rows"]), 0)
        self.assertGreater(len(a6["rows"]), 0)
        return l0, a1, a2, a6

    def check_within_models(self, layers):
        """Each layer is a child of its inference, or of a layer, and no longer than that took."""
        models = {(row["run_id"], row["span_id"]): row for row in self.sql(
            "select run_id, span_id, start_ns, end_ns from span where level = 'model'")}
        for layer in layers:
            self.assertIsNotNone(layer["model_id"], layer["name"])
            model = models[layer["run_id"], layer["model_id"]]
            self.assertLessEqual(layer["duration_ns"], model["end_ns"] - model["start_ns"])

    def check_refused(self, model, *options, status=2, why=None):
        """One line on stderr, nothing on stdout, no file."""
        self.output.unlink(missing_ok=True)
        result = self.profile(model, "--runs", 1, "--warmup", 0, *options, status=status)
        self.assertEqual(result.stdout, "")
        self.assertFalse(self.output.exists())
        lines = [line for line in result.stderr.splitlines() if line.startswith("xsp: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn(str(model), lines[0] if why is None else lines[0] + str(model))
        if why is not None:
            self.assertRegex(lines[0], why)
        return result
