# SPDX-License-Identifier: Apache-2.0
"""Pairs of programs on the simulated GPU: the finding is about the bad one, not about the mended one."""
import pathlib
import tempfile
import unittest

import cuda_simulator
import finding_pairs
from run_programs import SANITIZED


@unittest.skipIf(cuda_simulator.WHY_NOT, cuda_simulator.WHY_NOT)
@unittest.skipIf(SANITIZED, "the simulator's programs are not sanitized")
class FindingPairs(unittest.TestCase):
    def found(self, name, variant, folder):
        file = pathlib.Path(folder) / f"{variant}.xsp"
        command = finding_pairs.device_command(name)(variant)
        finding_pairs.record(command, file, **finding_pairs.device_environment())
        return finding_pairs.findings(file, "--only", finding_pairs.DEVICE_PAIRS[name])

    def check(self, name):
        with tempfile.TemporaryDirectory(prefix="xsp-findings-") as folder:
            bad, mended = (self.found(name, variant, folder) for variant in ("bad", "mended"))
        self.assertEqual(len(bad), 1)
        self.assertEqual(mended, [])
        return bad[0]

    def test_host_bound(self):
        self.assertEqual(self.check("host_bound")["context"], "prepare")

    def test_copies(self):
        self.assertEqual(self.check("copies")["context"], "Memcpy HtoD (Pageable -> Device)")

    def test_waits(self):
        self.assertEqual(self.check("waits")["context"], "cuStreamSynchronize")

    def test_gaps(self):
        self.assertEqual(self.check("gaps")["context"], "cuLaunchKernel")


if __name__ == "__main__":
    unittest.main()
