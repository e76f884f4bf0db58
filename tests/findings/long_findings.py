# SPDX-License-Identifier: Apache-2.0
"""Each pair of examples/findings: its finding is about the bad line of the bad program, is not about the mended one, and what
it says could be saved is no less than what mending gains. The bound of those on the simulated GPU, as well."""
import pathlib
import tempfile
import unittest

import cuda_simulator
import finding_pairs
import torch_environment
from run_programs import SANITIZED

NOISE = 1.1


@unittest.skipIf(SANITIZED, "times of sanitized programs")
class LongFindings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-findings-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_bound(self, found, command, **variables):
        savings_ms = [row["saving_ms"] for row in found if row["saving_ms"] is not None]
        if savings_ms:  # several findings of one id are about different operators
            gain = finding_pairs.gain(command, **variables)
            self.assertLessEqual(gain.least_ms, NOISE * sum(savings_ms), gain)

    def found(self, name, command, variant):
        """The pair's findings about the lines that are mended, or about no line."""
        file, lines = self.folder / f"{variant}.xsp", finding_pairs.bad_lines(name)
        finding_pairs.record(command(variant), file, *finding_pairs.TORCH_OPTIONS, *finding_pairs.OPTIONS.get(name, ()))
        return [row for row in finding_pairs.findings(file, "--only", finding_pairs.PAIRS[name])
                if row["line"] is None or row["line"] in lines and row["file"].endswith(f"{name}.py")]

    def check(self, name):
        command = finding_pairs.torch_command(torch_environment.torch_python(), name)
        for _ in range(3 if name == "overhead" else 1):  # other programs on the machine may hide a difference
            found = self.found(name, command, "bad")
            if found:
                break
        self.assertTrue(found, "nothing found")
        self.assertEqual(self.found(name, command, "mended"), [])
        self.check_bound(found, command)

    @unittest.skipIf(cuda_simulator.WHY_NOT, cuda_simulator.WHY_NOT)
    def check_device(self, name):
        command, environment = finding_pairs.device_command(name), finding_pairs.device_environment()
        finding_pairs.record(command("bad"), self.folder / "bad.xsp", **environment)
        found = finding_pairs.findings(self.folder / "bad.xsp", "--only", finding_pairs.DEVICE_PAIRS[name])
        self.check_bound(found, command, **environment)


def add(name, check):
    setattr(LongFindings, f"test_{name}", lambda self: check(self, name))


for pair in finding_pairs.PAIRS:
    add(pair, LongFindings.check)
for pair in finding_pairs.DEVICE_PAIRS:
    add(pair, LongFindings.check_device)

if __name__ == "__main__":
    unittest.main()
