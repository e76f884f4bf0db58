# SPDX-License-Identifier: Apache-2.0
"""The manifests that come with xsp, and tools/zoo on scripted models: resuming, failures, the budget."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
XSP = BUILD / "xsp"
SCRIPT = "input data float N,8\nlayer conv Conv 200us\nlayer relu Relu 100us\n"


def load_zoo():
    loader = importlib.machinery.SourceFileLoader("zoo", str(SOURCE / "tools/zoo"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("zoo", loader))
    loader.exec_module(module)
    return module


zoo = load_zoo()


class ManifestTest(unittest.TestCase):
    manifests = sorted((SOURCE / "lab/models").glob("*.yml"))

    def test_all_are_valid(self):
        result = subprocess.run([XSP, "check", "--syntax", "--json", *self.manifests], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        for row in json.loads(result.stdout):
            name = f"{row['name'].lower().replace('-', '_')}_{row['framework']}.yml"
            self.assertEqual(pathlib.Path(row["manifest"]).name, name)
            self.assertIn(row["framework"], zoo.zoo_environments.FRAMEWORKS)

    def test_what_they_use_is_there(self):
        for path in self.manifests:
            for script in re.findall(r"generators/\w+\.py", path.read_text()):
                self.assertTrue((SOURCE / "lab/models" / script).exists(), f"{path.name}: {script}")

    def test_page_names_what_is_there(self):
        there = {path.name for path in self.manifests}
        named = set(re.findall(r"`([a-z][\w.]+\.yml)`", (SOURCE / "docs/studies/zoo.md").read_text()))
        self.assertGreater(len(named), 33)
        self.assertEqual(named - there, set())

    def test_a_network_of_one_name_is_one_task(self):
        tasks = {}
        for path in self.manifests:
            text = path.read_text()
            name, task = (re.search(f"^{key}: (.*)$", text, re.M)[1] for key in ("name", "task"))
            self.assertEqual(tasks.setdefault(name, task), task, path.name)


class PlanTest(unittest.TestCase):
    """What needs no clock."""

    def search(self, latency, maximum=64, left_s=1e9):
        search = zoo.Search(maximum, 20)
        while (batch := search.next(left_s)) is not None:
            search.add(batch, latency(batch))
        return search.batches()

    def test_stops_where_throughput_stops_rising(self):
        self.assertEqual(self.search(lambda batch: .01 * max(batch, 4)), [1, 2, 4, 8])
        self.assertEqual(self.search(lambda batch: .01 * batch), [1, 2])

    def test_stops_at_the_largest_batch(self):
        self.assertEqual(self.search(lambda batch: .01), [1, 2, 4, 8, 16, 32, 64])
        self.assertEqual(self.search(lambda batch: .01, maximum=1), [1])
        self.assertEqual(self.search(lambda batch: .01, maximum=24), [1, 2, 4, 8, 16])

    def test_stops_before_the_final_measurement_takes_too_long(self):
        self.assertEqual(self.search(lambda batch: 1.0, left_s=70), [1, 2])  # 20 s and 40 s at worst, and 8 s to find it
        search = zoo.Search(64, 20)
        search.add(1, .1, probe_s=30.4)
        self.assertAlmostEqual(search.final_s(), 2 + 60)  # both level sets' processes take 30 s to start
        self.assertIsNone(search.next(90))
        self.assertEqual(search.next(100), 2)

    def test_shares(self):
        self.assertEqual(zoo.share_s(3600, 100, 600), 72)
        self.assertEqual(zoo.share_s(3600, 2, 600), 600)
        self.assertEqual(zoo.share_s(3600, 1000, 600), zoo.LEAST_SHARE_S)
        self.assertEqual(zoo.share_s(50, 1, 600), 50)
        self.assertEqual(zoo.share_s(5, 1, 600), 0)
        self.assertEqual(zoo.share_s(-5, 1, 600), 0)


class ZooTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.models, self.output = self.folder / "models", self.folder / "zoo"
        self.models.mkdir()
        for name, script in (("one", SCRIPT), ("two", SCRIPT), ("broken", SCRIPT + "fault exit 7\n")):
            self.add(name, script)

    def add(self, name, script):
        (self.models / f"{name}.script.txt").write_text(script)
        (self.models / f"{name}_script.yml").write_text(
            f"name: {name}\nversion: \"1\"\ntask: other\nframework: {{name: script}}\nmodel: {{path: {name}.script.txt}}\n")

    def zoo(self, *options, status=0):
        result = subprocess.run(
            [sys.executable, "-B", SOURCE / "tools/zoo", "--models", self.models, "--runs", "2", "--warmup", "1",
             "--maximum-batch", "2", *map(str, options), self.output], capture_output=True, text=True, timeout=600,
            env={**os.environ, "XSP_ZOO_CACHE": str(self.folder / "cache")})
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def files(self):
        return sorted(path.name for path in self.output.iterdir()) if self.output.exists() else []

    def failures(self):
        return json.loads((self.output / "failures.json").read_text())

    def test_measures_goes_on_and_keeps_failures(self):
        self.output.mkdir()
        (self.output / ".script-one.partial.xsp").write_text("what an interrupted zoo left")
        (self.output / "script-two.xsp").write_text("measured before")
        result = self.zoo("--only", "one*")
        self.assertEqual(self.files(), ["failures.json", "script-one.xsp", "script-two.xsp"])
        self.assertIn("one", result.stdout)
        self.assertEqual((self.output / "script-two.xsp").read_text(), "measured before")

        (self.output / "script-two.xsp").unlink()
        before = (self.output / "script-one.xsp").stat().st_mtime_ns
        result = self.zoo(status=1)
        self.assertEqual(self.files(), ["failures.json", "script-one.xsp", "script-two.xsp"])
        self.assertEqual((self.output / "script-one.xsp").stat().st_mtime_ns, before)
        self.assertEqual(list(self.failures()), ["script-broken"])
        self.assertEqual(self.failures()["script-broken"]["manifest"], "broken_script.yml")
        self.assertRegex(self.failures()["script-broken"]["error"], "^xsp: .*exit status")
        self.assertIn("broken_script.yml: xsp: ", result.stderr)
        self.assertEqual(re.findall(r"^(one|two|broken) ", result.stdout, re.M), ["one", "two"])

        self.add("broken", SCRIPT)
        self.zoo()
        self.assertEqual(self.failures(), {})
        self.assertEqual(self.files(), ["failures.json", "script-broken.xsp", "script-one.xsp", "script-two.xsp"])

        runs = json.loads(subprocess.run([XSP, "sql", self.output / "script-one.xsp", "--json",
                                          "select distinct batch_size, levels from run order by 1, 2"],
                                         capture_output=True, check=True).stdout)
        self.assertEqual([(row["batch_size"], row["levels"]) for row in runs], [(1, "M"), (1, "M/L"), (2, "M"), (2, "M/L")])

    def test_a_spent_budget_begins_nothing(self):
        result = self.zoo("--budget", 0)
        self.assertEqual(self.files(), [])
        self.assertIn("0 models", result.stderr)
        self.assertIn("3 not ", result.stderr)

    def test_a_wrong_manifest_is_a_failure(self):
        (self.models / "wrong_script.yml").write_text("name: wrong\nversion: -1\n")
        self.zoo("--only", "wrong*", status=1)
        self.assertIn("wrong_script.yml:2", self.failures()["unknown-wrong"]["error"])

    def test_list(self):
        self.assertEqual(self.zoo("--list").stdout.split(), [
            "-", "script", "broken_script.yml", "-", "script", "one_script.yml", "-", "script", "two_script.yml"])
        self.assertEqual(self.files(), [])
        self.assertIn("no manifest", self.zoo("--list", "--only", "nothing", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
