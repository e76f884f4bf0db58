# SPDX-License-Identifier: Apache-2.0
"""How often `xsp compare` is right: trials with known truth, of simulated observations and of real programs. The figures of
docs/compare.md are of the same kind; these go through the program."""
import os
import pathlib
import random
import subprocess
import sys
import unittest

import scripted
from compared import Side
from scripted import xsp, xsp_json
from test_compare import CompareTest, steady

TRIALS = 100
LAYERS = {f"conv{number}": 1.0 + number / 4 for number in range(8)}
TYPES = dict.fromkeys(LAYERS, "Conv")
OBSERVATIONS, NOISE = 30, 0.03

# A program whose steps take a known multiple of each other's work.
PROGRAM = """
import sys, nvtx
for step in range(12):
    with nvtx.annotate("step"):
        sum(i * i for i in range(int(60_000 * float(sys.argv[1]))))
"""


class Simulated(CompareTest):
    def side(self, layers, seed):
        """As a real model: the noise of an observation is common to its layers, and each has its own."""
        made, chance = Side(TYPES), random.Random(seed)
        observations = []
        for one in steady(layers, OBSERVATIONS, NOISE / 2 ** 0.5, seed):
            common = 1 + chance.gauss(0, NOISE / 2 ** 0.5)
            observations.append({layer: ms * common for layer, ms in one.items()})
        made.run(observations)
        return made

    def trials(self, scale=1.0):
        """Verdicts of the model, of layer conv3, whose time on side b is so many times a's, and of all other layers."""
        models, layers, others = [], [], []
        for trial in range(TRIALS):
            b = {**LAYERS, "conv3": LAYERS["conv3"] * scale}
            rows = self.compare(self.side(LAYERS, 2 * trial), self.side(b, 2 * trial + 1), check=None)["rows"]
            verdicts = {row["name"]: row["verdict"] for row in rows}
            models.append(verdicts.pop("net"))
            layers.append(verdicts.pop("conv3"))
            others += verdicts.values()
        return models, layers, others

    def test_the_same_program_is_the_same(self):
        models, layers, others = self.trials()
        print(f"\nequal: model {models.count('same')} of {TRIALS}, layers {others.count('same')} of {len(others)}", file=sys.stderr)
        self.assertGreaterEqual(models.count("same"), 0.95 * TRIALS)
        self.assertGreaterEqual((others + layers).count("same"), 0.95 * len(others + layers))

    def test_a_layer_that_is_slower_is_found(self):
        models, layers, others = self.trials(1.05)
        print(f"\n5 % slower: found {layers.count('slower')} of {TRIALS}, others called slower or faster "
              f"{len(others) - others.count('same') - others.count('not decided')} of {len(others)}", file=sys.stderr)
        self.assertGreaterEqual(layers.count("slower"), 0.95 * TRIALS)
        self.assertLessEqual(others.count("slower") + others.count("faster"), 0.02 * len(others))
        self.assertGreaterEqual(models.count("same"), 0.9 * TRIALS)  # a fifteenth of it takes 5 % longer


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "times of an instrumented build")
class Real(unittest.TestCase):
    """Five runs on each side, taking turns; the machine may be as noisy as it likes."""

    def setUp(self):
        temporary = scripted.temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "program.py").write_text(PROGRAM)

    def verdicts(self, trials, scale):
        found = []
        for trial in range(trials):
            for run in range(5):
                for side, work in (("a", 1.0), ("b", scale)):
                    folder = self.folder / f"{side}{trial}"
                    folder.mkdir(exist_ok=True)
                    subprocess.run([scripted.XSP, "run", "--model-range", "step", "-o", folder / f"{run}.xsp", "--", sys.executable,
                                    self.folder / "program.py", str(work)], check=True, timeout=300, capture_output=True)
            answer = xsp_json("compare", self.folder / f"a{trial}", self.folder / f"b{trial}", "--json", check=None)
            self.assertIn("runs", answer["rows"][0]["interval_from"])
            found.append(answer["verdict"])
        print(f"\n{scale} times the work: {found}", file=sys.stderr)
        return found

    def test_equal_programs(self):
        found = self.verdicts(6, 1.0)
        self.assertLessEqual(found.count("slower") + found.count("faster"), 1)

    def test_three_times_the_work(self):
        found = self.verdicts(4, 3.0)
        self.assertGreaterEqual(found.count("slower"), 3)
        self.assertNotIn("faster", found)


class ManyLayers(CompareTest):
    def test_ten_thousand_layers_with_names_of_their_own(self):
        """In less than a minute, in 1.5 GB."""
        count = 7000
        paths = []
        for which in ("a", "b"):
            names = [f"{which}{number}" for number in range(count)]
            side = Side(dict.fromkeys(names, "Conv"))
            side.run([{"model": count / 100, **dict.fromkeys(names, 0.001)}] * 3)
            paths.append(side.write(self.folder / f"{which}.xsp"))
        limit = f"ulimit -v 1500000; exec timeout 60 {scripted.XSP} compare {paths[0]} {paths[1]} --json --top 1"
        subprocess.run(["bash", "-c", limit], check=True, stdout=subprocess.DEVNULL)
        xsp("compare", *paths, check=0)


if __name__ == "__main__":
    unittest.main()
