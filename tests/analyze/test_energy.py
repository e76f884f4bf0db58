# SPDX-License-Identifier: Apache-2.0
"""joules_per_input of A1, T8 and T11: the energy of all meters while a script's observations ran, over their inputs."""
import pathlib
import unittest

from scripted import UNIX_START, Script, temporary_folder, xsp_json

MS = 10**6


class Energy(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.script = Script()
        self.script.experiment()
        self.script.run(1, "M", batch=4)
        self.script.track()
        for number in range(5):  # the first one is a warm-up: 10 ms each, 10 ms apart
            self.script.span("net", UNIX_START + 20 * number * MS, 10 * MS, tags={"warmup": 1} if number == 0 else {})

    def joules(self, analysis="A1"):
        [row] = xsp_json("analyze", analysis, self.script.write(self.folder / "energy.xsp"), "--json")["rows"]
        return row.get("joules_per_input")

    def meter(self, source, end_ms, watts, name="energy_j"):
        times = [(0, 0), (end_ms / 4, watts * end_ms / 4 / 1e3), (end_ms, watts * end_ms / 1e3)]
        self.script.counter(name, [(UNIX_START + round(ms * MS), joules) for ms, joules in times], total=True, source=source)

    def test_all_meters_of_the_machine(self):
        """During 40 ms, of 16 inputs; a part of a package is in the package."""
        self.meter("package-0", 200, watts=80)
        self.meter("dram-0", 200, watts=20)
        self.meter("core-0", 200, watts=70)
        self.meter("GPU 0", 100, watts=300)
        self.meter("package-0", 200, watts=1, name="other_j")
        for analysis in ("A1", "T11"):
            self.assertAlmostEqual(self.joules(analysis), 400 * 0.04 / 16)
        self.assertIsNone(self.joules("T8"))  # neither an optimal batch size nor 1

    def test_one_input(self):
        self.script = Script()
        self.script.experiment()
        self.script.run(1, "M", batch=1)
        self.script.track()
        self.script.span("net", UNIX_START, 10 * MS)
        self.script.span("net", UNIX_START + 5 * MS, 10 * MS, track=None)  # of its 10 ms 5 are within the first
        self.meter("package-0", 20, watts=100)
        self.assertAlmostEqual(self.joules("T8"), 100 * 0.015 / 2)

    def test_unknown(self):
        self.assertIsNone(self.joules())
        self.meter("package-0", 80, watts=80)  # not to the end
        self.assertIsNone(self.joules())


if __name__ == "__main__":
    unittest.main()
